//! The numbers and names of replication that must not be mixed up (docs/replication.md 0.3). Offsets and leader epochs are
//! the log's.

use std::fmt;

pub use crate::storage::names::{LeaderEpoch, Offset};

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident($inner:ty);)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
            pub struct $name(pub $inner);

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.0.fmt(f)
                }
            }
        )*
    };
}

numbers! {
    /// A broker.
    BrokerId(i32);
    /// The incarnation of a broker's process, given when it registers. [`BrokerEpoch::UNKNOWN`] is of an old version.
    BrokerEpoch(i64);
    /// The version of a partition's record at the controller.
    PartitionEpoch(i32);
    /// The number by which a sender knows the reply to its request.
    Correlation(u64);
    /// A produce request, as its sender calls it.
    ProduceId(u64);
    /// A span of `replica.lag.time.max.ms`. Time passes nowhere else.
    LagPeriod(u64);
}

impl BrokerEpoch {
    /// The request is of a version that has no broker epoch.
    pub const UNKNOWN: Self = Self(-1);
}

impl PartitionEpoch {
    /// No record yet.
    pub const NONE: Self = Self(-1);

    /// The next version.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// Who sends or receives a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// A broker.
    Broker(BrokerId),
    /// The active controller.
    Controller,
}
