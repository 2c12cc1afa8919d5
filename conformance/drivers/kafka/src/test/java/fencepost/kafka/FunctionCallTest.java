package fencepost.kafka;

import static fencepost.kafka.Conversation.json;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import org.junit.jupiter.api.Test;

/** One decision at a time (the tables 2.3, 2.5, 3.3, and the record of 4.1). */
class FunctionCallTest {
    private static final String OWNER =
        "{'a':{'epoch':5,'previous_epoch':4,'state':'stable','assigned':{'t-0':3,'t-1':5},'pending_revocation':{}}}";

    private JsonNode call(String members, String call) {
        JsonNode answer = new Conversation().say(
            "{'cmd':'step','trace':'f','at':[1],'given':{'members':" + members + "},'call':" + call + "}");
        assertTrue(answer.has("ok") || answer.has("error"), answer::toString);
        return answer.has("ok") ? answer.get("ok").get("outcome") : answer.get("error");
    }

    @Test
    void an_epoch_before_the_last_is_fenced() {
        assertEquals(json("'FENCED_MEMBER_EPOCH'"), call(OWNER, "{'epoch_check':{'member':'a','epoch':3,'owned':[]}}"));
        assertEquals(json("{'accepted':[]}"), call(OWNER, "{'epoch_check':{'member':'a','epoch':4,'owned':['t-0']}}"));
        assertEquals(json(
            "'FENCED_MEMBER_EPOCH'"), call(OWNER, "{'epoch_check':{'member':'a','epoch':4,'owned':null}}"));
    }

    @Test
    void an_older_commit_is_accepted_from_the_partitions_assignment_epoch_on() {
        assumeTrue(KafkaRelease.hasAssignmentEpochs());
        String commit = "{'commit_check':{'member':'a','epoch':3,'partitions':['%s'],'transactional':false}}";
        assertEquals(json("{'accepted':['t-0']}"), call(OWNER, commit.formatted("t-0")));
        assertEquals(json("'STALE_MEMBER_EPOCH'"), call(OWNER, commit.formatted("t-1")));
    }

    @Test
    void what_another_owns_is_waited_for() {
        JsonNode next = call(OWNER, "{'next':{'member':'a','epoch':5,'target_epoch':7,"
            + "'target':['t-0','t-1','t-2','u-0'],'owned':null,'taken':['t-2']}}").get("member");
        assertEquals("unreleased", next.get("state").asText());
        assertEquals(7, next.get("epoch").asInt());
        assertEquals(5, next.get("previous_epoch").asInt());
        assertTrue(next.get("assigned").has("u-0"));
        assertTrue(!next.get("assigned").has("t-2"));
    }

    @Test
    void a_member_at_the_target_is_left_alone() {
        JsonNode member = call(OWNER, "{'reconcile':{'member':'a','target_epoch':5,'target':['t-0'],'topics':['t'],"
            + "'subscription_changed':false,'owned':null,'taken':[]}}").get("member");
        assertEquals(4, member.get("previous_epoch").asInt());
        assertEquals(2, member.get("assigned").size());
    }

    @Test
    void an_unknown_state_is_left_by_a_member_that_owns_nothing_alone() {
        String unknown = OWNER.replace("stable", "unknown");
        String call = "{'reconcile':{'member':'a','target_epoch':7,'target':['t-0'],'topics':['t'],"
            + "'subscription_changed':false,'owned':%s,'taken':[]}}";
        assertEquals(json("'FENCED_MEMBER_EPOCH'"), call(unknown, call.formatted("['t-0']")));
        assertEquals(json("7"), call(unknown, call.formatted("[]")).get("member").get("epoch"));
    }

    /** The value was written out by hand from the schema of 4.1. */
    @Test
    void the_record_of_a_member_is_read_and_written_with_its_assignment_epochs() {
        assumeTrue(KafkaRelease.hasAssignmentEpochs());
        String value = "0000" + "00000005" + "00000004" + "00"
            + "02" + "0000000000000000" + "0000000000000074" + "03" + "00000000" + "00000001"
            + "01" + "00" + "09" + "03" + "00000003" + "00000005"
            + "01" + "00";
        assertEquals(json(OWNER).get("a"), call("{}", "{'load_assignment':{'value':'" + value + "'}}").get("member"));
        assertEquals(value, call(OWNER, "{'write_assignment':{'member':'a'}}").get("bytes").asText());
    }
}
