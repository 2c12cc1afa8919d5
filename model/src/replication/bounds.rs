//! A configuration: the rules of each broker, the slip if any, and how much of each kind of thing may happen.

use super::log::MAX_BROKERS;
use super::mutant::Mutant;
use super::rules::Rules;

/// How brokers learn of the controller's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metadata {
    /// A broker reads the controller's log, from where it is up to any later record, in one step.
    Log,
    /// Each record is a message to each broker, and late ones are passed over. The states of the actors are the same
    /// (a test shows it), but there are more messages in flight: this is for the comparison with `ActorModel`, whose
    /// actors see their own state only.
    Messages,
}

/// Where a behaviour begins: after the setup that its trace has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Who leads, in epoch 0. The first replica is the preferred one.
    pub leader: u8,
    /// Records of epoch 0 that it has appended, and that everybody has, committed, and knows to be committed.
    pub records: u8,
    /// The in-sync replicas, a bit each. A broker that is not among them has not heard of the partition yet.
    pub isr: u8,
    /// Whether the high watermarks are written down.
    pub checkpointed: bool,
}

/// How often each kind of thing may happen in a behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each says whether one kind of thing happens at all")]
pub struct Bounds {
    /// Brokers: 1 to 4.
    pub brokers: u8,
    /// `min.insync.replicas`.
    pub min_isr: u8,
    /// Whether eligible leader replicas are kept (KIP-966).
    pub elr: bool,
    /// Where a behaviour begins.
    pub start: Start,
    /// How many records each broker may append.
    pub writes: [u8; MAX_BROKERS],
    /// Where a log ends at most: nothing is produced at this offset or above.
    pub offsets: u8,
    /// The last leader epoch: no election after it.
    pub epochs: u8,
    /// Elections by preference.
    pub preferred: u8,
    /// Elections of whom the operator names, out of the in-sync replicas.
    pub chosen: u8,
    /// Unclean elections.
    pub unclean: u8,
    /// How often the controller takes a broker for dead, and of which ones it may, a bit each.
    pub fences: u8,
    /// See `fences`.
    pub fenced: u8,
    /// How often a fenced broker is taken for alive again.
    pub unfences: u8,
    /// Controlled shutdowns.
    pub shutdowns: u8,
    /// How often each broker may go down.
    pub crashes: [u8; MAX_BROKERS],
    /// Which brokers may stop in an orderly way instead, a bit each.
    pub stops: u8,
    /// Which brokers may find their `leader-epoch-checkpoint` damaged when they come up, a bit each.
    pub damages: u8,
    /// Whether a broker that went down comes up again.
    pub restarts: bool,
    /// Which brokers may lose records by a crash, a bit each, down to the offset `flushed`.
    pub lossy: u8,
    /// See `lossy`.
    pub flushed: u8,
    /// How often each broker may give up a request.
    pub fails: [u8; MAX_BROKERS],
    /// How often the lag time passes at a leader.
    pub shrinks: u8,
    /// Whether the wait time of parked fetches runs out.
    pub expires: bool,
    /// Whether high watermarks are written down; else only a clean stop does.
    pub checkpoints: bool,
    /// How many records a broker may pass over in one step: 1 is "one by one".
    pub batch: u8,
    /// How brokers learn of the controller's records.
    pub metadata: Metadata,
    /// Which brokers append batches of two records, a bit each. The others append single ones.
    pub pairs: u8,
    /// Which brokers have a message format before 0.11, a bit each: what they append has no epoch, and they keep none.
    pub old_formats: u8,
    /// Of which brokers the replica moves to another disk, once, a bit each.
    pub moves: u8,
    /// How often the disk of a future replica goes offline.
    pub outages: u8,
}

impl Bounds {
    /// Two brokers, one record, and nothing that happens to them.
    pub const BASE: Self = Self {
        brokers: 2,
        min_isr: 1,
        elr: false,
        start: Start { leader: 0, records: 0, isr: 0b11, checkpointed: false },
        writes: [1, 0, 0, 0],
        offsets: 8,
        epochs: 6,
        preferred: 0,
        chosen: 0,
        unclean: 0,
        fences: 0,
        fenced: 0b1111,
        unfences: 0,
        shutdowns: 0,
        crashes: [0; MAX_BROKERS],
        stops: 0,
        damages: 0,
        restarts: true,
        lossy: 0,
        flushed: 0,
        fails: [0; MAX_BROKERS],
        shrinks: 0,
        expires: false,
        checkpoints: false,
        batch: u8::MAX,
        metadata: Metadata::Log,
        pairs: 0,
        old_formats: 0,
        moves: 0,
        outages: 0,
    };

    /// Three brokers.
    pub const THREE: Self = Self {
        brokers: 3,
        min_isr: 2,
        start: Start { leader: 0, records: 0, isr: 0b111, checkpointed: false },
        ..Self::BASE
    };

    /// The effective `min.insync.replicas` (4.6).
    #[must_use]
    pub fn effective_min_isr(&self) -> u32 {
        u32::from(self.min_isr.min(self.brokers))
    }
}

/// The rules, the slip, and the bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The rules of each broker.
    pub rules: [Rules; MAX_BROKERS],
    /// The variant of each broker that does not run the configuration's.
    pub others: [Option<&'static str>; MAX_BROKERS],
    /// The slip.
    pub mutant: Mutant,
    /// The bounds.
    pub bounds: Bounds,
}

impl Setting {
    /// The rules of a broker.
    #[must_use]
    pub fn rules(&self, broker: u8) -> &Rules {
        &self.rules[usize::from(broker) % MAX_BROKERS]
    }

    /// Whether a broker has a message format without epochs.
    #[must_use]
    pub fn is_old_format(&self, broker: u8) -> bool {
        self.bounds.old_formats & super::controller::bit(broker) != 0
    }

    /// Whether the configuration has this slip.
    #[must_use]
    pub fn has(&self, mutant: Mutant) -> bool {
        self.mutant == mutant
    }
}
