//! The future replica and cuts inside a batch, step by step (`docs/replication.md` 2.8, 2.10).

use fencepost_model::replication::Replication;
use fencepost_model::replication::bounds::{Bounds, Setting, Start};
use fencepost_model::replication::broker::{Broker, Phase};
use fencepost_model::replication::catalogue::ORACLE;
use fencepost_model::replication::future::Disk;
use fencepost_model::replication::log::{Epoch, Log, Offset, Record};
use fencepost_model::replication::message::{Election, Timer};
use fencepost_model::replication::mutant::Mutant;
use fencepost_model::replication::rules::rules;
use fencepost_model::world::{Action, World, WorldState};
use stateright::Model;

const B: u8 = 1;
const CONTROLLER: u8 = 2;

struct Cluster {
    world: World<Replication>,
    state: WorldState<Replication>,
}

impl Cluster {
    fn new(variant: &str, bounds: Bounds) -> Self {
        let rules = rules(variant).expect("a variant");
        let setting = Setting { rules: [rules; 4], others: [None; 4], mutant: Mutant::None, bounds };
        let world = World::new(Replication::new(setting));
        let state = world.init_states().remove(0);
        Self { world, state }
    }

    fn broker(&self, id: u8) -> &Broker {
        &self.state.actors.all[usize::from(id)]
    }

    fn take(&mut self, action: Action<fencepost_model::replication::message::Msg, Timer>) {
        let mut enabled = Vec::new();
        self.world.actions(&self.state, &mut enabled);
        assert!(enabled.contains(&action), "{action:?} is not among {enabled:?}");
        self.state = self.world.next_state(&self.state, action).expect("a step");
    }

    fn at(&mut self, id: u8, timer: Timer) {
        self.take(Action::Timeout(id, timer));
    }

    /// The broker applies all that the controller has decided.
    fn apply(&mut self, id: u8) {
        let newest = *self.state.actors.controller.log.last().expect("a record");
        self.at(id, Timer::Apply(newest));
    }

    /// Everything that is on its way arrives, until nothing is.
    fn arrive(&mut self) {
        while let Some(envelope) = self.state.network.first().copied() {
            self.take(Action::Deliver(envelope));
        }
    }
}

fn epochs(log: &Log) -> Vec<(Offset, Epoch)> {
    log.iter().map(|(offset, record)| (offset, record.epoch())).collect()
}

/// B leads with two records that A lacks. Its future replica has the first when A is elected; B truncates and copies.
fn current_replica_is_replaced(variant: &str, disk_away: bool) -> Cluster {
    let start = Start { leader: B, ..Bounds::BASE.start };
    let outages = u8::from(disk_away);
    let bounds = Bounds { start, chosen: 1, epochs: 1, writes: [2, 2, 0, 0], moves: 0b10, outages, ..Bounds::BASE };
    let mut cluster = Cluster::new(variant, bounds);
    cluster.at(B, Timer::Produce);
    cluster.at(B, Timer::Produce);
    cluster.at(B, Timer::AlterLogDirs);
    while cluster.broker(B).future.log.end < 1 {
        cluster.at(B, Timer::Copy);
    }
    if disk_away {
        cluster.at(B, Timer::DiskOffline);
    }
    cluster.at(CONTROLLER, Timer::Elect(Election::Chosen(0)));
    cluster.apply(0);
    cluster.at(0, Timer::Produce);
    cluster.apply(B);
    cluster.arrive();
    if disk_away {
        cluster.at(B, Timer::DiskOnline);
    }
    assert_eq!(epochs(&cluster.broker(B).log), [(0, 1)]);
    assert_eq!(epochs(&cluster.broker(B).future.log), [(0, 0)]);
    cluster
}

#[test]
fn a_future_replica_is_told_when_the_current_one_truncates() {
    for variant in [ORACLE, "future-replica-marked"] {
        let mut cluster = current_replica_is_replaced(variant, false);
        while cluster.broker(B).future.disk == Disk::Here {
            cluster.at(B, Timer::Copy);
        }
        assert_eq!(epochs(&cluster.broker(B).log), [(0, 1)], "{variant}");
    }
}

#[test]
fn a_future_replica_whose_disk_was_away_has_to_ask() {
    for (variant, kept) in [(ORACLE, 1), ("future-replica-marked", 0)] {
        let mut cluster = current_replica_is_replaced(variant, true);
        while cluster.broker(B).future.disk == Disk::Here {
            cluster.at(B, Timer::Copy);
        }
        assert_eq!(epochs(&cluster.broker(B).log), [(0, kept)], "{variant}");
    }
}

#[test]
fn an_epoch_without_records_goes_with_the_swap() {
    // KAFKA-15608: without it the leader would not know the epoch that it leads in.
    let bounds = Bounds { chosen: 1, epochs: 1, writes: [0; 4], moves: 0b10, start: with_records(1), ..Bounds::BASE };
    let mut cluster = Cluster::new(ORACLE, bounds);
    cluster.at(CONTROLLER, Timer::Elect(Election::Chosen(B)));
    cluster.apply(B);
    cluster.at(B, Timer::AlterLogDirs);
    cluster.at(B, Timer::Copy);
    cluster.at(B, Timer::Copy);
    assert_eq!(cluster.broker(B).future.disk, Disk::None);
    assert!(cluster.broker(B).epochs.iter().eq([(0, 0), (1, 1)]));
    assert_eq!(cluster.broker(B).high, 1);
}

fn with_records(records: u8) -> Start {
    Start { records, ..Bounds::BASE.start }
}

#[test]
fn a_log_cut_inside_a_batch_loses_the_whole_batch_and_ends_where_it_was_told() {
    let mut log = Log::empty(0);
    log.append(Record::new(0, 0, 0, false));
    log.append(Record::new(0, 0, 1, false));
    log.append(Record::new(0, 0, 2, true));
    assert_eq!(log.base_of(2), 1);
    log.cut(log.base_of(2));
    log.end_at(2);
    assert_eq!((log.end, log.iter().count()), (2, 1));
    assert_eq!(log.get(1), None);
}

#[test]
fn after_a_cut_inside_a_batch_kafkas_follower_fails_and_one_that_goes_back_to_the_base_does_not() {
    for (variant, end, phase) in [(ORACLE, 1, Phase::Failed), ("batch-base-after-cut", 2, Phase::Fetching)] {
        let bounds = Bounds {
            start: Start { leader: B, records: 1, isr: 0b10, checkpointed: true },
            old_formats: 0b10,
            pairs: 0b01,
            writes: [2, 0, 0, 0],
            fences: 1,
            unclean: 1,
            unfences: 2,
            crashes: [0, 1, 0, 0],
            epochs: 3,
            ..Bounds::BASE
        };
        let mut cluster = Cluster::new(variant, bounds);
        // A is elected without B's record, so that B loses it; the checkpoint of B's high watermark remembers it.
        cluster.at(CONTROLLER, Timer::Fence(B));
        cluster.at(CONTROLLER, Timer::Elect(Election::Unclean));
        cluster.at(CONTROLLER, Timer::Unfence(B));
        cluster.apply(0);
        cluster.apply(B);
        cluster.arrive();
        assert_eq!(cluster.broker(B).log.end, 0);
        cluster.at(0, Timer::ProducePair);
        cluster.arrive();
        assert_eq!(cluster.broker(B).log.end, 2);
        cluster.at(B, Timer::Crash);
        cluster.at(B, Timer::Start { keep: 2 });
        cluster.arrive();
        cluster.apply(B);
        cluster.arrive();
        assert_eq!((cluster.broker(B).log.end, cluster.broker(B).entry.phase), (end, phase), "{variant}");
    }
}
