package dev.fencepost.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.protocol.Errors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Against a real broker. What it must answer is from docs/fencing.md, under the numbers given; epochs are as the broker
 * numbers them, from 2.
 */
@Tag("broker")
class BrokerTest {
    private static WireTarget target;
    private final ObjectMapper json = new ObjectMapper();

    @BeforeAll
    static void start() {
        target = new WireTarget();
    }

    @AfterAll
    static void stop() throws Exception {
        Path directory = target.broker().directory();
        assertTrue(Files.exists(directory));
        target.close();
        assertFalse(Files.exists(directory), "the broker's directory is left behind");
    }

    private void reset(String configure) throws Exception {
        assertEquals(Optional.empty(), target.reset(read(configure)));
    }

    private com.fasterxml.jackson.databind.JsonNode read(String relaxed) throws IOException {
        return json.readTree(relaxed.replace('\'', '"'));
    }

    private String step(String operation) throws Exception {
        Outcome outcome = target.step(read(operation));
        if (outcome instanceof Outcome.Done done) {
            return done.answer() == null ? "ok" : done.answer().toString().replace('"', '\'');
        }
        return outcome instanceof Outcome.Refused refused ? refused.error().name() : outcome.toString();
    }

    /** a owns t-0 and t-1 at 3, b is idle at 3. */
    private void bothStable() throws Exception {
        reset("{'topics':{'t':2}}");
        step("{'target':{'a':['t-0','t-1'],'b':[]}}");
        assertEquals("{'epoch':2,'assigned':[]}", step("{'heartbeat':{'member':'b','epoch':0,'owned':[]}}"));
        assertEquals("{'epoch':3,'assigned':['t-0','t-1']}", step("{'heartbeat':{'member':'a','epoch':0,'owned':[]}}"));
        assertEquals("{'epoch':3,'assigned':null}", step("{'heartbeat':{'member':'b','epoch':2,'owned':null}}"));
    }

    /** t-1 goes from a to b, and a is asked for t-0 as well before it has acknowledged that, if {@code twice}. */
    private void handOver(boolean twice) throws Exception {
        bothStable();
        step("{'target':{'a':['t-0'],'b':['t-1']}}");
        assertEquals("{'epoch':3,'assigned':['t-0']}", step("{'heartbeat':{'member':'a','epoch':3,'owned':null}}"));
        if (twice) {
            step("{'target':{'a':[],'b':['t-0','t-1']}}");
        }
        assertEquals(twice ? "{'epoch':3,'assigned':[]}" : "{'epoch':4,'assigned':null}",
                step("{'heartbeat':{'member':'a','epoch':3,'owned':['t-0']}}"));
        int epoch = twice ? 5 : 4;
        assertEquals("{'epoch':" + epoch + ",'assigned':['t-1']}",
                step("{'heartbeat':{'member':'b','epoch':3,'owned':null}}"));
        assertEquals("{'committed':['t-1']}",
                step("{'commit':{'member':'b','epoch':" + epoch + ",'offsets':{'t-1':100}}}"));
    }

    private String fetch() throws Exception {
        return step("{'fetch':{'member':null,'epoch':-1,'partitions':['t-1'],'require_stable':true}}");
    }

    @Test
    void h1_a_late_commit_after_a_second_revocation_is_accepted_and_the_offset_goes_back() throws Exception {
        handOver(true);
        assertEquals("{'committed':['t-1']}", step("{'commit':{'member':'a','epoch':3,'offsets':{'t-1':50}}}"));
        assertEquals("{'offsets':{'t-1':50}}", fetch());
    }

    @Test
    void h1_so_is_one_in_a_transaction() throws Exception {
        handOver(true);
        assertEquals("{'staged':['t-1']}",
                step("{'txn_commit':{'producer':'p','member':'a','epoch':3,'offsets':{'t-1':50}}}"));
        assertEquals("{'offsets':{},'refused':{'t-1':'UNSTABLE_OFFSET_COMMIT'}}", fetch());
        assertEquals("{}", step("{'end_transaction':{'producer':'p','result':'commit'}}"));
        assertEquals("{'offsets':{'t-1':50}}", fetch());
    }

    @Test
    void h1_without_the_second_revocation_both_are_refused() throws Exception {
        handOver(false);
        assertEquals(Errors.STALE_MEMBER_EPOCH.name(),
                step("{'commit':{'member':'a','epoch':3,'offsets':{'t-1':50}}}"));
        assertEquals(Errors.STALE_MEMBER_EPOCH.name(),
                step("{'txn_commit':{'producer':'p','member':'a','epoch':3,'offsets':{'t-1':50}}}"));
        assertEquals("{'offsets':{'t-1':100}}", fetch());
    }

    @Test
    void h2_a_late_commit_after_a_subscription_shrank_within_the_interval_is_accepted() throws Exception {
        reset("{'topics':{'t':2,'u':1},'assignment_interval_ms':1000}");
        step("{'target':{'a':['t-1','u-0']}}");
        step("{'heartbeat':{'member':'a','epoch':0,'owned':[]}}");
        step("{'heartbeat':{'member':'b','epoch':0,'owned':[]}}");
        step("{'expire':{'timer':'assignment_interval'}}");
        step("{'target':{'a':['t-1','u-0']}}");
        assertEquals("{'epoch':4,'assigned':null}", step("{'heartbeat':{'member':'b','epoch':2,'owned':null}}"));
        assertEquals("{'epoch':4,'assigned':null}", step("{'heartbeat':{'member':'a','epoch':2,'owned':null}}"));
        step("{'target':{'a':['u-0'],'b':['t-1']}}");
        assertEquals("{'epoch':4,'assigned':['u-0']}",
                step("{'heartbeat':{'member':'a','epoch':4,'owned':['t-1','u-0'],'topics':['u']}}"));
        assertEquals("{'epoch':4,'assigned':null}",
                step("{'heartbeat':{'member':'a','epoch':4,'owned':['u-0'],'topics':['u']}}"));
        step("{'expire':{'timer':'assignment_interval'}}");
        assertEquals("{'epoch':5,'assigned':['t-1']}", step("{'heartbeat':{'member':'b','epoch':4,'owned':null}}"));
        assertEquals("{'committed':['t-1']}", step("{'commit':{'member':'b','epoch':5,'offsets':{'t-1':100}}}"));
        assertEquals("{'committed':['t-1']}", step("{'commit':{'member':'a','epoch':4,'offsets':{'t-1':50}}}"));
        assertEquals("{'offsets':{'t-1':50}}", fetch());
    }

    @Test
    void two_targets_before_a_heartbeat_raise_the_group_epoch_once() throws Exception {
        bothStable();
        step("{'target':{'a':['t-0'],'b':['t-1']}}");
        step("{'target':{'a':['t-0','t-1'],'b':[]}}");
        assertEquals("{'epoch':4,'assigned':null}", step("{'heartbeat':{'member':'a','epoch':3,'owned':null}}"));
    }

    @Test
    void a_fail_over_keeps_epochs_offsets_and_the_target_that_no_heartbeat_has_seen() throws Exception {
        bothStable();
        step("{'commit':{'member':'a','epoch':3,'offsets':{'t-1':7}}}");
        step("{'target':{'a':['t-0'],'b':['t-1']}}");
        step("{'fail_over':{}}");
        assertEquals("{'offsets':{'t-1':7}}", fetch());
        assertEquals("{'epoch':3,'assigned':['t-0']}", step("{'heartbeat':{'member':'a','epoch':3,'owned':null}}"));
    }

    @Test
    void a_request_that_no_state_can_make_valid_is_refused() throws Exception {
        reset("{'topics':{'t':1}}");
        assertEquals("INVALID_REQUEST", step("{'heartbeat':{'member':'a','epoch':0,'owned':['t-0']}}"));
        assertEquals("UNSUPPORTED_ASSIGNOR",
                step("{'heartbeat':{'member':'a','epoch':0,'owned':[],'assignor':'sticky'}}"));
    }

    /** A driver as the replayer starts it, which is told to stop in the middle of a trace. */
    @Test
    void an_interrupted_driver_leaves_nothing_behind(@TempDir Path temporary) throws Exception {
        Process driver = new ProcessBuilder(ProcessHandle.current().info().command().orElseThrow(),
                "-Djava.io.tmpdir=" + temporary, "-cp", System.getProperty("java.class.path"),
                BrokerDriver.class.getName()).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        try (OutputStream lines = driver.getOutputStream(); BufferedReader answers = new BufferedReader(
                new InputStreamReader(driver.getInputStream(), StandardCharsets.UTF_8))) {
            lines.write("{\"cmd\":\"reset\",\"trace\":\"x\",\"configure\":{\"topics\":{\"t\":1}}}\n"
                    .getBytes(StandardCharsets.UTF_8));
            lines.flush();
            assertEquals("{\"trace\":\"x\",\"ok\":{}}", answers.readLine());
            try (var files = Files.list(temporary)) {
                assertTrue(files.anyMatch(file -> file.getFileName().toString().startsWith("fencepost-")));
            }
            driver.destroy();
            assertTrue(driver.waitFor(30, TimeUnit.SECONDS), "the driver does not stop");
        } finally {
            driver.destroyForcibly();
        }
        try (var files = Files.list(temporary)) {
            assertFalse(files.anyMatch(file -> file.getFileName().toString().startsWith("fencepost-")));
        }
    }
}
