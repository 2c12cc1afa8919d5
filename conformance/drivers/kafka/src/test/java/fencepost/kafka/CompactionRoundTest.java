package fencepost.kafka;

import static fencepost.kafka.CompactionFindingsTest.append;
import static fencepost.kafka.CompactionFindingsTest.at;
import static fencepost.kafka.CompactionFindingsTest.records;
import static fencepost.kafka.CompactionFindingsTest.upTo;
import static fencepost.kafka.Conversation.json;
import static fencepost.kafka.Conversation.ofLog;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Rounds in steps, aborted, and cut short by a crash (docs/compaction.md 2.7, 2.8). */
class CompactionRoundTest {
    private static final String ROLL = "{'roll':{}}";
    private static final String START = "{'start_round':{}}";
    private static final String MAP = "{'build_map':{}}";
    private static final String GROUP = "{'clean_group':{}}";
    private static final String FINISH = "{'finish_round':{}}";
    /** The first two segments fit into one of this size, the third makes a group of its own. */
    private static final String TWO_GROUPS = ",'segment_bytes':150";

    /** Segments at 0, 1 and 2, the last of which supersedes both others. */
    private static Conversation threeSegments(String more) {
        return ofLog(10, 2, more).after(
            append("a", "1"), ROLL, append("k", "1"), ROLL, append("k", "2"), ROLL, upTo(3));
    }

    private static JsonNode segments(Conversation log) {
        return log.state().get("segments");
    }

    @Test
    void a_round_in_steps_is_a_whole_round() {
        Conversation log = threeSegments(TWO_GROUPS);
        assertEquals(json("{'from':0,'bound':3}"), log.answer(START));
        assertEquals(json("{'cleaned_to':3,'map_entries':2}"), log.answer(MAP));
        assertEquals(json("[0,1,2,3]"), segments(log));
        log.after(GROUP);
        assertEquals(json("[0,2,3]"), segments(log));
        assertEquals(json("[[0,'a','1'],[2,'k','2']]"), records(log));
        log.after(GROUP);
        assertEquals(0, log.state().get("first_dirty").asInt());
        log.after(FINISH);
        assertEquals(3, log.state().get("first_dirty").asInt());
        Conversation whole = threeSegments(TWO_GROUPS).after("{'clean':{}}");
        assertEquals(whole.state(), log.state());
    }

    @Test
    void a_round_has_no_more_groups_than_it_has() {
        Conversation log = threeSegments("").after(START);
        assertTrue(log.step(GROUP).has("skipped"));
        log.after(MAP);
        assertTrue(log.step(FINISH).has("skipped"));
        log.after(GROUP);
        assertTrue(log.step(GROUP).has("skipped"));
        log.after(FINISH);
        assertTrue(log.step(GROUP).has("skipped"));
    }

    @Test
    void a_log_in_a_round_is_not_chosen_for_another() {
        Conversation log = threeSegments("").after(START);
        assertTrue(log.answer("{'clean':{}}").isMissingNode());
        log.after("{'abort_round':{}}");
        assertEquals(3, log.answer("{'clean':{}}").get("cleaned_to").asInt());
    }

    @Test
    void an_aborted_round_keeps_the_groups_that_were_swapped_and_the_checkpoint() {
        Conversation log = threeSegments(TWO_GROUPS).after(START, MAP, GROUP, "{'abort_round':{}}");
        assertEquals(json("[0,2,3]"), segments(log));
        assertEquals(0, log.state().get("first_dirty").asInt());
        assertEquals(json("[[0,'a','1'],[2,'k','2']]"), records(log));
    }

    @Test
    void a_truncation_below_the_active_segment_aborts_the_round() {
        Conversation log = threeSegments("").after(START, MAP, "{'truncate':2}");
        assertTrue(log.step(GROUP).has("skipped"));
        assertEquals(json("[[0,'a','1'],[1,'k','1']]"), records(log));
    }

    @Test
    void a_crash_between_two_groups_leaves_the_first_one_swapped() {
        Conversation log = threeSegments(TWO_GROUPS).after(START, MAP, GROUP, "{'crash':{}}", upTo(3));
        assertEquals(json("[0,2,3]"), segments(log));
        assertEquals(0, log.state().get("first_dirty").asInt());
        assertEquals(3, log.answer("{'clean':{}}").get("cleaned_to").asInt());
    }

    @ParameterizedTest
    @CsvSource({"cleaned,'[0,1,2,3]'", "swap_named,'[0,2,3]'", "first_deleted,'[0,2,3]'", "all_deleted,'[0,2,3]'", "renamed,'[0,2,3]'"})
    void a_crash_in_a_swap_leaves_the_old_group_or_the_new_one(String last, String segments) {
        // The second segment keeps an emptied header, its producer's last batch: so the new one ends where the group does.
        Conversation log = ofLog(10, 2, TWO_GROUPS).after(append("a", "1"), ROLL,
            append("k", "1").replace("'records'", "'producer':'p','records'"), ROLL, append("k", "2"), ROLL, upTo(3),
            START, MAP, "{'crash':{'during_swap':'" + last + "'}}", upTo(3));
        assertEquals(json(segments), segments(log));
        boolean isOld = last.equals("cleaned");
        assertEquals(json(isOld ? "[[0,'a','1'],[1,'k','1'],[2,'k','2']]" : "[[0,'a','1'],[2,'k','2']]"), records(log));
        assertEquals(0, log.state().get("first_dirty").asInt());
    }

    @ParameterizedTest
    @CsvSource({"cleaned,true", "swap_named,true", "first_deleted,true", "all_deleted,false", "renamed,false"})
    void old_segments_above_what_is_left_of_the_group_come_back_until_all_are_deleted(String last, boolean isBack) {
        // Nothing is left of the second segment: the new one ends with offset 0.
        Conversation log = threeSegments(TWO_GROUPS).after(START, MAP, "{'crash':{'during_swap':'" + last + "'}}", upTo(3));
        assertEquals(json(isBack ? "[0,1,2,3]" : "[0,2,3]"), segments(log));
        log.after("{'clean':{}}");
        assertEquals(json("[[0,'a','1'],[2,'k','2']]"), records(log));
    }

    @Test
    void the_second_group_of_a_round_can_be_the_one_in_whose_swap_it_dies() {
        Conversation log = threeSegments(TWO_GROUPS)
            .after(START, MAP, GROUP, "{'crash':{'during_swap':'swap_named'}}", upTo(3));
        assertEquals(json("[0,2,3]"), segments(log));
        assertEquals(json("[[0,'a','1'],[2,'k','2']]"), records(log));
    }

    @Test
    void without_a_round_there_is_no_swap_to_die_in() {
        Conversation log = threeSegments("");
        assertTrue(log.step("{'crash':{'during_swap':'cleaned'}}").has("skipped"));
    }

    @Test
    void the_end_of_the_log_that_was_not_flushed_is_lost_and_the_checkpoint_is_not_lowered() {
        Conversation log = threeSegments("").after("{'clean':{}}", append("y", "1"), "{'crash':{'loses_from':1}}");
        assertEquals(json("[0]"), segments(log));
        assertEquals(1, log.state().get("log_end").asInt());
        assertEquals(3, log.state().get("first_dirty").asInt());
    }

    @Test
    void a_restart_keeps_the_producers_and_forgets_the_high_watermark() {
        Conversation log = ofLog(10, 2, "").after(append("a", "1").replace("'records'", "'producer':'p','records'"), upTo(1));
        JsonNode before = log.state();
        log.after("{'restart':{}}");
        assertEquals(0, log.state().get("last_stable").asInt());
        log.after(upTo(1));
        assertEquals(before, log.state());
        log.after(append("a", "2"));
        assertEquals(json("[0]"), segments(log));
    }

    @Test
    void the_clock_of_a_round_is_that_of_its_start() {
        Conversation log = ofLog(10, 2, "").after(append("k", null), ROLL, upTo(1), START, at(9000), MAP, GROUP, FINISH);
        assertEquals(5100, log.state().get("log").get(0).get("horizon_ms").asLong());
    }
}
