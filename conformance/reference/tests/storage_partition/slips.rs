//! Each slip that the choice of a log and the end of a round can have (docs/compaction.md 5.1) shows.

use fencepost_reference::storage::fs::{FileSystem, read_all};
use fencepost_reference::storage::log_rules::{LogConfig, LogRules};
use fencepost_reference::storage::mutation::Mutation;
use fencepost_reference::storage::names::{Millis, Offset};
use fencepost_reference::storage::segment_files::FileKind;

use crate::support::{Driven, config};

fn with(mutation: Option<Mutation>) -> Driven {
    let mut rules = LogRules::kafka_4_4();
    rules.cleaner.mutation = mutation;
    Driven::new(rules, 100)
}

fn write_checkpoint(driven: &Driven, offset: i64) {
    let path = std::path::Path::new("/logs/cleaner-offset-checkpoint");
    driven.fs.create(path).expect("created");
    driven.fs.append(path, format!("0\n1\nt 0 {offset}\n").as_bytes()).expect("written");
}

/// What can be seen of a log in the situation that the slip is about.
fn seen(slip: Mutation, mutation: Option<Mutation>) -> String {
    let mut driven = with(mutation);
    driven.put("a", Some("1"));
    match slip {
        Mutation::CleansAboveHighWatermark => {
            driven.partition.roll().expect("rolled");
            format!("{}", driven.round().is_some())
        }
        Mutation::BoundBelowFirstDirty => {
            // KAFKA-9826: F lies in the active segment, above everything that may be cleaned.
            driven.settle();
            driven.put("b", Some("1"));
            driven.settle();
            driven.put("c", Some("1"));
            write_checkpoint(&driven, 2);
            driven.partition.set_high_watermark(Offset(1));
            let chosen = fencepost_reference::storage::cleaner_manager::log_to_clean(
                driven.partition.log(),
                driven.partition.first_dirty().expect("read"),
                driven.partition.now(),
            );
            format!("{:?}", chosen.expect("chosen").upper_bound)
        }
        Mutation::CheckpointNotReset => {
            driven.settle();
            write_checkpoint(&driven, 99);
            format!("{:?}", driven.round().map(|round| round.chosen.first_dirty))
        }
        Mutation::CorrectedCheckpointNotWritten => {
            driven.partition.set_config(LogConfig { min_cleanable_dirty_ratio: 1.0, ..config() });
            write_checkpoint(&driven, 99);
            let _ = driven.round();
            let bytes = read_all(&*driven.fs, std::path::Path::new("/logs/cleaner-offset-checkpoint"));
            format!("{:?}", bytes.expect("read"))
        }
        Mutation::UncleanableNotMarked => {
            driven.settle();
            let path = driven.partition.log().segments().next().expect("a segment").path(FileKind::Log);
            driven.fs.damage(&path, |bytes| bytes[16] = 9);
            let _ = driven.partition.clean();
            format!("{}", driven.partition.clean().is_ok_and(|round| round.is_some()))
        }
        Mutation::MaxCompactionLagIgnored => {
            let lazy = LogConfig { min_cleanable_dirty_ratio: 1.0, max_compaction_lag_ms: Millis(1000), ..config() };
            driven.partition.set_config(lazy);
            driven.settle();
            driven.clock(9000);
            format!("{}", driven.round().is_some())
        }
        other => panic!("{other} is a slip of a pass"),
    }
}

#[test]
fn each_slip_of_the_choice_or_of_the_end_of_a_round_shows() {
    for slip in [
        Mutation::CleansAboveHighWatermark,
        Mutation::BoundBelowFirstDirty,
        Mutation::CheckpointNotReset,
        Mutation::CorrectedCheckpointNotWritten,
        Mutation::UncleanableNotMarked,
        Mutation::MaxCompactionLagIgnored,
    ] {
        assert_ne!(seen(slip, None), seen(slip, Some(slip)), "{slip}");
    }
}
