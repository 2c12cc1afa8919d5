package fencepost.kafka;

import static fencepost.kafka.Conversation.configured;
import static fencepost.kafka.Conversation.json;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import org.junit.jupiter.api.Test;

class DriverProtocolTest {
    private final Conversation driver = new Conversation();

    @Test
    void hello_names_the_release_and_its_first_epoch() {
        JsonNode hello = driver.say("{'cmd':'hello','protocol_version':0}").get("hello");
        boolean early = KafkaRelease.version().startsWith("4.1") || KafkaRelease.version().startsWith("4.2");
        assertEquals(0, hello.get("protocol_version").asInt());
        assertEquals(KafkaRelease.version(), hello.get("version").asText());
        assertEquals(json("['fencing','compaction','replication','consumer']"), hello.get("protocols"));
        // A new group starts at epoch 1 from 4.3 on (KAFKA-20268).
        assertEquals(early ? 1 : 2, hello.get("first_epoch").asInt());
    }

    @Test
    void hello_in_the_middle_of_a_trace_leaves_the_trace_alone() {
        Conversation group = configured("{'topics':{'t':1}}");
        group.answer("{'target':{'a':['t-0']}}");
        group.say("{'cmd':'hello','protocol_version':0}");
        assertEquals(json("['t-0']"), group.join("a").get("assigned"));
    }

    @Test
    void an_answer_echoes_the_trace_and_the_step() {
        driver.say("{'cmd':'reset','trace':'x/y','configure':{'topics':{'t':1}}}");
        JsonNode answer = driver.say("{'cmd':'step','trace':'x/y','at':[3,1],'do':{'target':{}},'observe':false}");
        assertEquals(json("{'trace':'x/y','at':[3,1],'ok':{}}"), answer);
    }

    @Test
    void a_new_coordinator_has_no_group_and_no_offsets() {
        assertEquals(json("{'offsets':{},'staged':{}}"), configured("{'topics':{'t':1}}").state());
    }

    @Test
    void a_reset_leaves_nothing_of_the_trace_before() {
        Conversation group = configured("{'topics':{'t':1}}");
        group.answer("{'target':{'a':['t-0']}}");
        group.join("a");
        group.say("{'cmd':'reset','trace':'test','configure':{'topics':{'t':1}}}");
        assertEquals(json("{'offsets':{},'staged':{}}"), group.state());
        assertEquals(json("[]"), group.join("a").get("assigned"));
    }

    @Test
    void what_is_no_request_is_answered_all_the_same() {
        assertTrue(driver.say("{'cmd':").has("broken"));
        assertTrue(driver.say("{'cmd':'dance'}").has("broken"));
        assertTrue(driver.say("[]").has("broken"));
        assertTrue(driver.say("{'cmd':'step','trace':'never-reset','at':[1],'do':{'target':{}}}").has("broken"));
        Conversation group = configured("{'topics':{'t':1}}");
        assertTrue(group.say("{'cmd':'step','trace':'another','at':[1],'do':{'target':{}}}").has("broken"));
        assertTrue(group.step("{}").has("broken"));
        assertTrue(group.step("{'heartbeat':7}").has("broken"));
        assertTrue(group.step("{'sing':{}}").has("skipped"));
    }

    @Test
    void bye_has_no_answer() {
        assertNull(new DriverProtocol(Conversation.LOGS, Hello.CLASSIC).answer("{\"cmd\":\"bye\"}"));
    }
}
