//! What may happen at an actor of its own accord, in the order of [`Timer`].

use super::bounds::{Bounds, Metadata, Setting};
use super::broker::{Broker, Parked, Phase, Role};
use super::controller::{Controller, Image, NOBODY, bit};
use super::future::Disk;
use super::message::{Damage, Election, Timer};

/// Whether a broker can apply this record of the controller: it is alive, it has not applied it, and it is registered.
#[must_use]
pub fn can_apply(me: u8, broker: &Broker, image: &Image) -> bool {
    broker.up && image.index > broker.index && image.broker_epochs[usize::from(me)] == broker.broker_epoch
}

/// Calls `each` for everything that may happen at a broker now. The records that it may apply are the controller's.
pub fn at_broker(setting: &Setting, me: u8, broker: &Broker, log: &[Image], each: &mut dyn FnMut(Timer)) {
    let bounds = &setting.bounds;
    let place = usize::from(me);
    if !broker.up {
        if bounds.restarts {
            let end = broker.log.end;
            if bounds.lossy & bit(me) != 0 {
                let flushed = bounds.flushed.cast_signed().max(broker.log.start);
                // A batch that is torn is not there.
                let whole = |keep: &i8| broker.log.base_of(*keep) == *keep;
                (flushed..end).filter(whole).for_each(|keep| each(Timer::Start { keep }));
            }
            each(Timer::Start { keep: end });
            if bounds.damages & bit(me) != 0 {
                for damage in Damage::ALL {
                    each(Timer::StartDamaged(damage));
                }
            }
        }
        return;
    }
    // While the fetcher waits for ListOffsets it holds the lock that applying metadata needs.
    let locked = matches!(broker.entry.phase, Phase::Latest | Phase::Earliest);
    if bounds.metadata == Metadata::Log && !locked {
        let ready = log.iter().filter(|image| can_apply(me, broker, image));
        ready.take(usize::from(bounds.batch)).for_each(|image| each(Timer::Apply(*image)));
    }
    let written = bounds.writes[place] + if me == bounds.start.leader { bounds.start.records } else { 0 };
    let pair = bounds.pairs & bit(me) != 0;
    let ready = broker.role == Role::Leader && broker.isr.count_ones() >= bounds.effective_min_isr();
    let fits = |records: u8| {
        let end = broker.log.end + records.cast_signed();
        broker.written + records <= written && end <= bounds.offsets.cast_signed() && broker.log.has_room_for(records)
    };
    if ready && !pair && fits(1) {
        each(Timer::Produce);
    }
    let owed = |peer: u8| broker.outstanding.get(usize::from(peer)).is_some_and(|round| *round != 0);
    let fetches = broker.role == Role::Follower && broker.leader != NOBODY;
    if fetches && !matches!(broker.entry.phase, Phase::Idle | Phase::Failed) && !owed(broker.leader) {
        each(Timer::Poll);
    }
    if broker.round - broker.crashes < bounds.fails[place] {
        (0..bounds.brokers).filter(|peer| owed(*peer)).for_each(|peer| each(Timer::Fail { peer }));
    }
    if bounds.expires {
        for (place, parked) in (0..).zip(&broker.parked) {
            if *parked != Parked::NONE {
                each(Timer::Expire { place });
            }
        }
    }
    if broker.role == Role::Leader && broker.lags < bounds.shrinks {
        each(Timer::ShrinkIsr);
    }
    if bounds.checkpoints && broker.checkpoint != broker.high {
        each(Timer::Checkpoint);
    }
    if broker.crashes < bounds.crashes[place] {
        each(Timer::Crash);
        if bounds.stops & bit(me) != 0 {
            each(Timer::Stop);
        }
    }
    if ready && pair && fits(2) {
        each(Timer::ProducePair);
    }
    at_future(bounds, me, broker, each);
}

/// What may happen to a future replica (2.10).
fn at_future(bounds: &Bounds, me: u8, broker: &Broker, each: &mut dyn FnMut(Timer)) {
    let future = &broker.future;
    match future.disk {
        Disk::None if broker.role != Role::None && bounds.moves & bit(me) != 0 && future.moves == 0 => {
            each(Timer::AlterLogDirs);
        }
        Disk::None => {}
        Disk::Here => {
            each(Timer::Copy);
            if future.outages < bounds.outages {
                each(Timer::DiskOffline);
            }
        }
        Disk::Away => each(Timer::DiskOnline),
    }
}

/// Calls `each` for everything that the controller may do now.
pub fn at_controller(setting: &Setting, controller: &Controller, each: &mut dyn FnMut(Timer)) {
    let (bounds, now) = (&setting.bounds, &controller.now);
    let [preferred, chosen, unclean, fences, unfences, shutdowns] = controller.spent;
    let more_epochs = now.epoch < bounds.epochs.cast_signed();
    let ready = |broker: u8| now.isr & bit(broker) != 0 && now.is_active(broker) && now.leader != broker;
    let brokers = 0..bounds.brokers;
    if more_epochs && preferred < bounds.preferred && ready(0) {
        each(Timer::Elect(Election::Preferred));
    }
    if more_epochs && unclean < bounds.unclean && now.leader == NOBODY && brokers.clone().any(|one| now.is_active(one))
    {
        each(Timer::Elect(Election::Unclean));
    }
    if more_epochs && chosen < bounds.chosen {
        brokers.clone().filter(|one| ready(*one)).for_each(|one| each(Timer::Elect(Election::Chosen(one))));
    }
    if fences < bounds.fences {
        let alive = |one: &u8| bounds.fenced & !now.fenced & bit(*one) != 0 && (more_epochs || now.leader != *one);
        brokers.clone().filter(alive).for_each(|one| each(Timer::Fence(one)));
    }
    if unfences < bounds.unfences && (more_epochs || now.leader != NOBODY) {
        brokers.clone().filter(|one| now.fenced & bit(*one) != 0).for_each(|one| each(Timer::Unfence(one)));
    }
    if shutdowns < bounds.shutdowns {
        let staying = |one: &u8| now.shutting & bit(*one) == 0 && (more_epochs || now.leader != *one);
        brokers.filter(staying).for_each(|one| each(Timer::ShutDown(one)));
    }
}
