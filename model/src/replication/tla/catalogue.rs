//! The constants under which the modules are exhausted: `replication/tla-parity/VARIANT/R-LOG-RECORDS-EPOCHS`, the last
//! three being `LogSize`, `MaxRecords` and `MaxLeaderEpoch`.

use std::fmt;

use super::base::Constants;
use super::invariants;
use super::module::{Module, Tla};
use super::state::State;
use super::variants::{self, Mutation, Replication, Step, Variant};
use super::words;
use crate::protocol::{Claim, Configuration, Tier};

impl Variant {
    /// All, the oldest first.
    pub const ALL: [Self; 5] = [Self::HighWatermark, Self::Kip101, Self::Kip279, Self::Kip320FirstTry, Self::Kip320];

    /// Its name in a configuration's.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HighWatermark => "high-watermark",
            Self::Kip101 => "kip-101",
            Self::Kip279 => "kip-279",
            Self::Kip320FirstTry => "kip-320-first-try",
            Self::Kip320 => "kip-320",
        }
    }
}

impl Mutation {
    const fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::UnfencedTruncation => "+unfenced-truncation",
            Self::EarlyExpansion => "+early-expansion",
            Self::ClampedTruncation => "+clamped-truncation",
        }
    }
}

const SMALLEST: &str = "the fewest records and epochs with which a variant is known to fail";
const TWO: &str = "two replicas, two records: where KIP-101 fails and KIP-279 no longer does";
const SAME: &str = "the constants at which the five variants are compared";
const GROWING: &str = "a whole state space that TLC has counted";
const MUTATED: &str = "one guard taken away, at the constants around the first failure";
const NO_DIFFERENCE: &str = "what Kafka does where the module has no step";

/// Replicas, `LogSize`, `MaxRecords`, `MaxLeaderEpoch`.
type Numbers = [u8; 4];

fn configuration(
    tier: Tier,
    (variant, mutation): (Variant, Mutation),
    numbers: Numbers,
    reason: &'static str,
) -> Configuration<Tla<Replication>> {
    let [replicas, log_size, max_records, max_leader_epoch] = numbers;
    let (of, plus) = (variant.name(), mutation.name());
    let constants = Constants { replicas, log_size, max_records, max_leader_epoch };
    Configuration {
        name: format!("replication/tla-parity/{of}{plus}/{replicas}-{log_size}-{max_records}-{max_leader_epoch}"),
        tier,
        reason,
        walks: None,
        protocol: Tla::new(Replication { variant, mutation, constants }),
    }
}

fn configurations() -> Vec<Configuration<Tla<Replication>>> {
    use Mutation::{ClampedTruncation, EarlyExpansion, UnfencedTruncation};
    use Tier::{Full, Smoke};
    use Variant::{HighWatermark, Kip101, Kip279, Kip320, Kip320FirstTry};
    let mut list = Vec::new();
    let mut add = |tier, variant, numbers: &[Numbers], reason| {
        list.extend(numbers.iter().map(|numbers| configuration(tier, variant, *numbers, reason)));
    };
    add(Smoke, (HighWatermark, Mutation::None), &[[2, 2, 1, 1]], SMALLEST);
    for variant in Variant::ALL {
        let plain = (variant, Mutation::None);
        add(Smoke, plain, &[[2, 2, 2, 2]], TWO);
        add(Smoke, plain, &[[3, 2, 1, 1]], SMALLEST);
        add(Smoke, plain, &[[3, 2, 1, 2]], SAME);
    }
    add(Full, (Kip101, Mutation::None), &[[2, 2, 1, 3]], SMALLEST);
    add(Full, (Kip320FirstTry, Mutation::None), &[[2, 3, 3, 3]], GROWING);
    for variant in [Kip279, Kip320] {
        add(Full, (variant, Mutation::None), &[[2, 2, 2, 3], [2, 3, 3, 3], [3, 2, 2, 2]], GROWING);
    }
    add(Full, (Kip320, Mutation::None), &[[3, 2, 1, 3], [3, 3, 3, 2]], GROWING);
    add(Smoke, (Kip320, EarlyExpansion), &[[3, 2, 1, 1]], MUTATED);
    add(Full, (Kip320, UnfencedTruncation), &[[3, 2, 1, 1], [3, 2, 1, 2], [3, 2, 1, 3], [3, 2, 2, 2]], MUTATED);
    add(Smoke, (Kip101, ClampedTruncation), &[[2, 2, 2, 2]], NO_DIFFERENCE);
    add(Full, (Kip101, ClampedTruncation), &[[3, 2, 1, 2]], NO_DIFFERENCE);
    list
}

impl Module for Replication {
    type State = State;
    type Step = Step;

    const NAME: &'static str = "tla-parity";
    const LABELS: &'static [&'static str] = variants::LABELS;
    const CLAIMS: &'static [Claim<Tla<Self>>] = invariants::CLAIMS;

    fn initial(&self) -> State {
        State::initial(self.constants.replicas)
    }
    fn enabled(&self, state: &State, each: &mut dyn FnMut(Step)) {
        self.disjuncts(state, each);
    }
    fn next(&self, state: &State, step: Step) -> Option<State> {
        self.taken(state, step)
    }
    fn label(state: &State, step: Step) -> u16 {
        variants::label(state, step)
    }
    fn describe(state: &State, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        words::state(state, formatter)
    }
    fn describe_step(&self, step: Step) -> String {
        words::step(step)
    }
    fn configurations() -> Vec<Configuration<Tla<Self>>> {
        configurations()
    }
}
