//! The controller: the partition's record, the registrations, elections, and the check of `AlterPartition`
//! (`docs/replication.md` 4.7; `ReplicationControlManager`, `PartitionChangeBuilder`).

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::bounds::{Metadata, Setting};
use super::labels::{Label, Trail};
use super::log::{BROKERS, Epoch, MAX_BROKERS};
use super::message::{Altered, Election, Msg, Refusal, Timer};
use super::mutant::Mutant;

/// No broker.
pub const NOBODY: u8 = 0xf;

/// The brokers of a set, ascending.
pub fn members(set: u8) -> impl Iterator<Item = u8> {
    BROKERS.into_iter().filter(move |broker| set >> broker & 1 == 1)
}

/// The set of one broker.
#[must_use]
pub fn bit(broker: u8) -> u8 {
    if usize::from(broker) < MAX_BROKERS { 1 << broker } else { 0 }
}

/// What the controller's log says after one of its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Image {
    /// How many records there are up to here.
    pub index: u8,
    /// The leader, or [`NOBODY`].
    pub leader: u8,
    /// The leader epoch.
    pub epoch: Epoch,
    /// The partition epoch.
    pub partition_epoch: Epoch,
    /// The in-sync replicas, a bit each.
    pub isr: u8,
    /// The eligible leader replicas.
    pub elr: u8,
    /// Who led last, where nobody does (KIP-966).
    pub last_leader: u8,
    /// Whether the leader was elected uncleanly and has not said yet that it has recovered.
    pub recovering: bool,
    /// The brokers that are fenced.
    pub fenced: u8,
    /// The brokers that are shutting down.
    pub shutting: u8,
    /// The broker epochs.
    pub broker_epochs: [u8; MAX_BROKERS],
}

impl Image {
    /// The bytes that are hashed.
    #[must_use]
    pub fn image(&self) -> [u8; 16] {
        let [a, b, c, d] = self.broker_epochs;
        [
            self.index,
            self.leader,
            self.epoch.cast_unsigned(),
            self.partition_epoch.cast_unsigned(),
            self.isr,
            self.elr,
            self.last_leader,
            u8::from(self.recovering),
            self.fenced,
            self.shutting,
            a,
            b,
            c,
            d,
            0,
            0,
        ]
    }

    /// Whether a broker is alive, for all that the controller knows.
    #[must_use]
    pub fn is_active(&self, broker: u8) -> bool {
        (self.fenced | self.shutting) & bit(broker) == 0
    }
}

/// The controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Controller {
    /// The state now.
    pub now: Image,
    /// The states after earlier records that some broker has not applied yet, ascending; the last is [`Self::now`].
    pub log: SmallVec<[Image; 4]>,
    /// How often each kind of thing was done: preferred, chosen, unclean, fences, unfences, shutdowns.
    pub spent: [u8; 6],
    /// Ghost: whether an election was unclean.
    pub unclean: bool,
    /// Ghost: losses that are more than the assumption LOSSY allows.
    pub beyond: bool,
    /// Ghost: how many last in-sync replicas lost records.
    pub last_lost: u8,
}

/// What a step of the controller gives.
#[derive(Clone, Debug, Default)]
pub struct Ruling {
    /// The messages that go out.
    pub sends: SmallVec<[(u8, Msg); 4]>,
    /// The rows that it went through.
    pub trail: Trail,
}

/// How a broker becomes leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Elected {
    leader: u8,
    /// Not out of the in-sync replicas.
    from_elr: bool,
    unclean: bool,
}

impl Controller {
    /// The controller after the setup.
    #[must_use]
    pub fn new(setting: &Setting) -> Self {
        let now = Image {
            index: 1,
            leader: setting.bounds.start.leader,
            epoch: 0,
            partition_epoch: 0,
            isr: setting.bounds.start.isr,
            elr: 0,
            last_leader: NOBODY,
            recovering: false,
            fenced: 0,
            shutting: 0,
            broker_epochs: [1; MAX_BROKERS],
        };
        Self {
            now,
            log: match setting.bounds.metadata {
                Metadata::Log => SmallVec::from_slice(&[now]),
                Metadata::Messages => SmallVec::new(),
            },
            spent: [0; 6],
            unclean: false,
            beyond: false,
            last_lost: 0,
        }
    }

    /// An election is asked for.
    pub fn elect(&mut self, setting: &Setting, election: Election) -> Ruling {
        let mut ruling = Ruling::default();
        let mut next = self.now;
        match election {
            Election::Preferred => {
                self.spent[0] += 1;
                self.change(setting, &mut next, self.now.isr, Some(election), &mut ruling.trail);
            }
            Election::Chosen(_) => {
                self.spent[1] += 1;
                self.change(setting, &mut next, self.now.isr, Some(election), &mut ruling.trail);
            }
            Election::Unclean => {
                self.spent[2] += 1;
                self.change(setting, &mut next, self.now.isr, Some(election), &mut ruling.trail);
            }
        }
        self.publish(setting, next, &mut ruling);
        ruling
    }

    /// A broker is taken for dead.
    pub fn fence(&mut self, setting: &Setting, broker: u8) -> Ruling {
        let mut ruling = Ruling::default();
        self.spent[3] += 1;
        ruling.trail.mark(Label::Fenced);
        let next = self.without(setting, broker, true, &mut ruling.trail);
        self.publish(setting, next, &mut ruling);
        ruling
    }

    /// A broker is taken for alive.
    pub fn unfence(&mut self, setting: &Setting, broker: u8) -> Ruling {
        let mut ruling = Ruling::default();
        self.spent[4] += 1;
        ruling.trail.mark(Label::Unfenced);
        let mut next = self.now;
        next.fenced &= !bit(broker);
        if next.leader == NOBODY {
            self.change(setting, &mut next, self.now.isr, None, &mut ruling.trail);
        }
        self.publish(setting, next, &mut ruling);
        ruling
    }

    /// A broker leaves in an orderly way.
    pub fn shut_down(&mut self, setting: &Setting, broker: u8) -> Ruling {
        let mut ruling = Ruling::default();
        self.spent[5] += 1;
        ruling.trail.mark(Label::ShutDown);
        let next = self.without(setting, broker, false, &mut ruling.trail);
        self.publish(setting, next, &mut ruling);
        ruling
    }

    fn without(&self, setting: &Setting, broker: u8, fenced: bool, trail: &mut Trail) -> Image {
        let mut next = self.now;
        if fenced {
            next.fenced |= bit(broker);
        } else {
            next.shutting |= bit(broker);
        }
        self.change(setting, &mut next, self.now.isr & !bit(broker), None, trail);
        next
    }

    /// A broker comes up again, with a new broker epoch. The old one's session ends first, where it has not yet.
    pub fn register(&mut self, setting: &Setting, broker: u8, broker_epoch: u8, lost: bool) -> Ruling {
        let mut ruling = Ruling::default();
        if self.now.is_active(broker) && !setting.has(Mutant::RegistersUnfenced) {
            ruling.trail.mark(Label::RegisterFences);
            let next = self.without(setting, broker, true, &mut ruling.trail);
            self.publish(setting, next, &mut ruling);
        }
        ruling.trail.mark(Label::Registered);
        if lost && (self.now.isr | self.now.elr) & bit(broker) != 0 {
            // The last in-sync replica comes back without what only it had.
            self.last_lost += 1;
            self.beyond |= !setting.bounds.elr || self.last_lost >= setting.bounds.min_isr;
        }
        let mut next = self.now;
        next.fenced |= bit(broker);
        next.shutting &= !bit(broker);
        next.broker_epochs[usize::from(broker)] = broker_epoch;
        if keeps_elr(setting) && (next.isr | next.elr) & bit(broker) != 0 {
            ruling.trail.mark(Label::RegisterLeavesIsr);
            next.elr &= !bit(broker);
            self.change(setting, &mut next, self.now.isr & !bit(broker), None, &mut ruling.trail);
            next.elr &= !bit(broker);
        }
        self.publish(setting, next, &mut ruling);
        ruling
    }

    /// Elects if need be, and changes the record: the leader epoch rises if the leader does change, the partition epoch
    /// with every change.
    fn change(&self, setting: &Setting, next: &mut Image, target: u8, election: Option<Election>, trail: &mut Trail) {
        let before = self.now;
        let elected = elect(setting, next, target, election, trail);
        let keeps_elr = keeps_elr(setting);
        let mut isr = target;
        let leader = elected.map_or(NOBODY, |elected| elected.leader);
        match elected {
            Some(Elected { leader, unclean: true, .. }) => {
                isr = bit(leader);
                next.elr = 0;
                next.recovering = true;
            }
            Some(Elected { leader, from_elr: true, .. }) => {
                isr = bit(leader);
                next.elr &= !bit(leader);
            }
            _ => {}
        }
        if isr == 0 && !keeps_elr {
            // Without eligible leader replicas the set never becomes empty.
            trail.mark(Label::IsrKeepsLast);
            isr = before.isr;
        }
        if keeps_elr && !elected.is_some_and(|elected| elected.unclean) {
            if isr.count_ones() < setting.bounds.effective_min_isr() {
                let left = (next.elr | before.isr) & !isr;
                if left & !next.elr != 0 {
                    trail.mark(Label::ElrGrows);
                }
                next.elr = left;
            } else if next.elr != 0 {
                trail.mark(Label::ElrCleared);
                next.elr = 0;
            }
        }
        if leader != before.leader {
            trail.mark(Label::LeaderChanges);
            next.epoch += 1;
            next.leader = leader;
            next.last_leader = if leader == NOBODY { before.leader } else { NOBODY };
        }
        next.isr = isr;
        let partition = |image: &Image| (image.leader, image.epoch, image.isr, image.elr, image.recovering);
        if partition(next) != partition(&before) {
            next.partition_epoch = before.partition_epoch + 1;
        }
    }

    /// Appends a record, if something changed.
    fn publish(&mut self, setting: &Setting, mut next: Image, ruling: &mut Ruling) {
        if next == self.now {
            return;
        }
        self.unclean |= next.recovering && next.epoch != self.now.epoch;
        next.index = self.now.index + 1;
        self.now = next;
        match setting.bounds.metadata {
            Metadata::Log => self.log.push(next),
            Metadata::Messages => {
                self.log.clear();
                ruling.sends.extend((0..setting.bounds.brokers).map(|broker| (broker, Msg::Metadata { image: next })));
            }
        }
    }

    /// A leader proposes an in-sync set.
    #[allow(clippy::too_many_arguments, reason = "they are the request's fields")]
    pub fn alter(
        &mut self,
        setting: &Setting,
        from: u8,
        epoch: Epoch,
        partition_epoch: Epoch,
        isr: u8,
        broker_epochs: [u8; MAX_BROKERS],
        broker_epoch: u8,
    ) -> Ruling {
        let mut ruling = Ruling::default();
        let checked = validate(setting, &self.now, from, (epoch, partition_epoch), isr, broker_epochs, broker_epoch);
        let answer = if let Err((refusal, label)) = checked {
            if let Some(label) = label {
                ruling.trail.mark(label);
            }
            Err(refusal)
        } else {
            let mut next = self.now;
            next.recovering = false;
            self.change(setting, &mut next, isr, None, &mut ruling.trail);
            ruling.trail.mark(Label::AlterApplied);
            self.publish(setting, next, &mut ruling);
            let Image { leader, epoch, partition_epoch, isr, .. } = self.now;
            Ok(Altered { leader, epoch, partition_epoch, isr })
        };
        ruling.sends.push((from, Msg::AlterPartitionReply { broker_epoch, answer }));
        ruling
    }
}

fn keeps_elr(setting: &Setting) -> bool {
    setting.bounds.elr && !setting.has(Mutant::NoElr)
}

/// Checks a proposed in-sync set: the table of 4.7, in its order.
fn validate(
    setting: &Setting,
    now: &Image,
    from: u8,
    (epoch, partition_epoch): (Epoch, Epoch),
    isr: u8,
    broker_epochs: [u8; MAX_BROKERS],
    broker_epoch: u8,
) -> Result<(), (Refusal, Option<Label>)> {
    let eligible = |member: u8| {
        let place = usize::from(member);
        let known = broker_epochs[place];
        let same = known == 0 || known == now.broker_epochs[place] || setting.has(Mutant::BrokerEpochUnchecked);
        (now.is_active(member) || setting.has(Mutant::FencedMayJoin)) && same
    };
    if broker_epoch != now.broker_epochs[usize::from(from)] {
        Err((Refusal::StaleBrokerEpoch, Some(Label::AlterStaleBroker)))
    } else if epoch > now.epoch || partition_epoch > now.partition_epoch {
        Err((Refusal::NotController, None))
    } else if epoch < now.epoch {
        Err((Refusal::FencedLeaderEpoch, Some(Label::AlterFenced)))
    } else if from != now.leader {
        Err((Refusal::InvalidRequest, None))
    } else if partition_epoch < now.partition_epoch && !setting.has(Mutant::PartitionEpochUnchecked) {
        Err((Refusal::InvalidUpdateVersion, Some(Label::AlterOldVersion)))
    } else if isr & bit(now.leader) == 0 {
        Err((Refusal::InvalidRequest, None))
    } else if !members(isr).all(eligible) {
        Err((Refusal::IneligibleReplica, Some(Label::AlterIneligible)))
    } else {
        Ok(())
    }
}

/// Who leads: the rules of 4.7, in their order.
fn elect(
    setting: &Setting,
    image: &Image,
    target: u8,
    election: Option<Election>,
    trail: &mut Trail,
) -> Option<Elected> {
    let from_elr = target == 0;
    let electable = if from_elr { image.elr } else { target };
    let valid = |broker: u8| electable & bit(broker) != 0 && image.is_active(broker);
    let current = image.leader;
    let clean = |leader| Some(Elected { leader, from_elr, unclean: false });
    match election {
        Some(Election::Chosen(broker)) if valid(broker) => {
            trail.mark(Label::ElectChosen);
            return clean(broker);
        }
        Some(Election::Preferred) if valid(0) => {
            trail.mark(Label::ElectPreferred);
            return clean(0);
        }
        _ => {}
    }
    if valid(current) {
        trail.mark(Label::ElectCurrent);
        return clean(current);
    }
    if let Some(broker) = (0..setting.bounds.brokers).find(|broker| valid(*broker)) {
        trail.mark(if from_elr { Label::ElectFromElr } else { Label::ElectFirst });
        return clean(broker);
    }
    let stored = image.last_leader;
    if keeps_elr(setting) && electable == 0 && stored != NOBODY && image.is_active(stored) {
        trail.mark(Label::ElectLastKnown);
        return Some(Elected { leader: stored, from_elr: false, unclean: true });
    }
    if election == Some(Election::Unclean)
        && let Some(broker) = (0..setting.bounds.brokers).find(|broker| image.is_active(*broker))
    {
        trail.mark(Label::ElectUnclean);
        return Some(Elected { leader: broker, from_elr: false, unclean: true });
    }
    trail.mark(Label::ElectNobody);
    None
}

impl Controller {
    /// A message arrives.
    pub fn receive(&mut self, setting: &Setting, from: u8, msg: Msg) -> Ruling {
        match msg {
            Msg::Register { broker_epoch, lost } => self.register(setting, from, broker_epoch, lost),
            Msg::AlterPartition { epoch, partition_epoch, isr, broker_epochs, broker_epoch } => {
                self.alter(setting, from, epoch, partition_epoch, isr, broker_epochs, broker_epoch)
            }
            _ => Ruling::default(),
        }
    }

    /// Something happens of its own accord.
    pub fn time_out(&mut self, setting: &Setting, timer: Timer) -> Ruling {
        match timer {
            Timer::Elect(election) => self.elect(setting, election),
            Timer::Fence(broker) => self.fence(setting, broker),
            Timer::Unfence(broker) => self.unfence(setting, broker),
            Timer::ShutDown(broker) => self.shut_down(setting, broker),
            _ => Ruling::default(),
        }
    }
}
