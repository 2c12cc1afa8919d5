//! What holds of a client under chosen faults (docs/consumers.md 6), and that the checker sees what does not.

use fencepost_reference::client::rules::{ResetPolicy, Rules};
use proptest::prelude::*;

use crate::world::{Elections, Op, World};

pub(crate) fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        2 => any::<u8>().prop_map(Op::Elect),
        3 => any::<u8>().prop_map(Op::Follow),
        4 => any::<u8>().prop_map(Op::Append),
        2 => any::<u8>().prop_map(Op::RaiseHighWatermark),
        2 => any::<u8>().prop_map(Op::Hear),
        4 => Just(Op::HearNow),
        8 => any::<u8>().prop_map(Op::Exchange),
        4 => any::<u8>().prop_map(Op::Serve),
        4 => any::<u8>().prop_map(Op::Answer),
        1 => any::<u8>().prop_map(Op::Lose),
        2 => Just(Op::Poll),
        2 => Just(Op::Elapse),
        1 => Just(Op::Restart),
    ];
    prop::collection::vec(op, 0..120)
}

pub(crate) fn policies() -> impl Strategy<Value = ResetPolicy> {
    prop_oneof![Just(ResetPolicy::None), Just(ResetPolicy::Earliest), Just(ResetPolicy::Latest)]
}

fn run(mut world: World, ops: &[Op]) -> Result<World, String> {
    for op in ops {
        world.step(op)?;
    }
    Ok(world)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    /// P5-told and P5-calm under the strict rule, whatever elections there are.
    #[test]
    fn whoever_loses_what_it_has_read_is_told_and_nobody_else(policy in policies(), ops in ops()) {
        let world = World::new(Rules::STRICT, policy, Elections::Any);
        prop_assert!(run(world, &ops).is_ok_and(|mut world| world.settle() == Ok(true)));
    }

    /// P5-CL under the rules that there are: with clean elections nothing that was read is replaced, and nobody is told.
    #[test]
    fn under_clean_elections_nothing_is_replaced(policy in policies(), ops in ops(), strict in any::<bool>()) {
        let rules = if strict { Rules::STRICT } else { Rules::KIP_320 };
        let world = World::new(rules, policy, Elections::Clean);
        let told = run(world, &ops);
        prop_assert!(told.is_ok(), "{:?}", told.err());
    }
}

/// Broker 0 writes two records of epoch 0, of which broker 1 has one; it leads uncleanly, writes one, and the client reads.
fn replaced() -> Vec<Op> {
    vec![
        Op::Append(0),
        Op::Follow(1),
        Op::Append(0),
        Op::Elect(1),
        Op::Append(1),
        Op::Hear(1),
        Op::Serve(0),
        Op::Answer(0),
    ]
}

#[test]
fn the_checker_sees_s15() {
    let mut ops = replaced();
    // The next fetch to 1 is lost. Broker 0, which never heard of 1, leads again and has as many records.
    ops.extend([Op::Elect(0), Op::Append(0), Op::Hear(2)]);
    ops.extend((0..4).flat_map(|_| [Op::Serve(1), Op::Answer(1), Op::Serve(0), Op::Answer(0)]));
    let found = run(World::new(Rules::KIP_320, ResetPolicy::None, Elections::Any), &ops);
    assert!(found.err().is_some_and(|found| found.starts_with("P5-told")));
    let strict = run(World::new(Rules::STRICT, ResetPolicy::None, Elections::Any), &ops).expect("nothing is broken");
    assert_eq!((strict.told, strict.setup().policy), (1, ResetPolicy::None));
}

/// A committed pair has the epoch of a record, and not that of the leader under which it was read. A new process that hears of a
/// leader from before that asks one who never had the record, and is told that it is gone; under clean elections too.
#[test]
fn a_new_process_that_hears_of_an_earlier_leader_is_alarmed_for_nothing() {
    let ops = [
        Op::Append(0),
        Op::Follow(1),
        // Broker 2 has nothing, and nothing is committed. Then broker 1 leads, and commits the record of epoch 0.
        Op::Elect(2),
        Op::Elect(1),
        Op::Follow(0),
        Op::RaiseHighWatermark(0),
        Op::HearNow,
        Op::Exchange(0),
        Op::Restart,
        Op::HearOld(1),
        // The other request is of the process before.
        Op::Exchange(1),
    ];
    for rules in [Rules::KIP_320, Rules::STRICT] {
        let found = run(World::new(rules, ResetPolicy::None, Elections::Clean), &ops);
        assert!(found.err().is_some_and(|found| found.contains("P5-calm")), "{rules:?}");
    }
}

/// KIP-320, as Kafka has it, takes the committed epoch for nothing that metadata could be older than; the strict rule waits for
/// a leader of that epoch or a later one.
#[test]
fn a_new_process_takes_the_committed_epoch_for_seen() {
    let ops = [
        Op::Elect(1),
        Op::Append(1),
        Op::Follow(2),
        Op::RaiseHighWatermark(2),
        Op::HearNow,
        Op::Exchange(0),
        Op::Restart,
        // Broker 0, which led in epoch 0 and has heard of nothing since.
        Op::HearOld(0),
        Op::Exchange(1),
    ];
    let kafka = run(World::new(Rules::KIP_320, ResetPolicy::None, Elections::Clean), &ops);
    assert!(kafka.err().is_some_and(|found| found.contains("P5-calm")));
    let strict = run(World::new(Rules::STRICT, ResetPolicy::None, Elections::Clean), &ops).expect("nothing is broken");
    assert_eq!((strict.handed_out, strict.told), (1, 0));
}

#[test]
fn without_epochs_nobody_is_told() {
    let mut ops = replaced();
    ops.extend([Op::Elect(0), Op::Append(0), Op::Hear(2)]);
    ops.extend((0..4).flat_map(|_| [Op::Serve(1), Op::Answer(1), Op::Serve(0), Op::Answer(0)]));
    let found = run(World::new(Rules::NO_EPOCH, ResetPolicy::None, Elections::Any), &ops);
    assert!(found.err().is_some_and(|found| found.starts_with("P5-told")));
}

#[test]
fn the_schedules_get_somewhere() {
    let mut world = World::new(Rules::STRICT, ResetPolicy::None, Elections::Any);
    for op in replaced() {
        world.step(&op).expect("nothing is broken");
    }
    assert_eq!((world.handed_out, world.told), (2, 0));
    assert_eq!(world.settle(), Ok(true));
}
