//! A life of a partition: its steps, each of which is taken on files and then held against an oracle that forgets nothing
//! (docs/compaction.md 7.1, 7.2).
//!
//! | What | Where |
//! | --- | --- |
//! | S1, S2, S4, S5, S7 to S11, S14, S17 | [`Oracle::check`], after every step |
//! | S6, S13, L3 | [`Oracle::check_round`], after every whole round |
//! | S12, S15, S18, L5, and S3 by a consumer that lags | [`promises`](crate::promises) |
//! | S16 | `Op::ReplayProducers` |
//! | L1, L2, L4 | [`Life::end`] |

use fencepost_reference::storage::batch_builder::BatchHeader;
use fencepost_reference::storage::cleaner::{CleaningHook, NoHook};
use fencepost_reference::storage::control::Marker;
use fencepost_reference::storage::fs::remove_if_exists;
use fencepost_reference::storage::log::Log;
use fencepost_reference::storage::log_error::LogError;
use fencepost_reference::storage::log_rules::{LogConfig, LogRules};
use fencepost_reference::storage::memory_fs::{Loss, MemoryFs};
use fencepost_reference::storage::names::{Millis, Offset, ProducerEpoch, ProducerId, Sequence};
use fencepost_reference::storage::partition::{Partition, PartitionSetup, Round, RoundEnd};
use fencepost_reference::storage::producer_append::TransactionProtocol;
use fencepost_reference::storage::round::{Progress, RoundError};

use crate::files::Files;
use crate::oracle::{Event, Oracle};
use crate::promises::{self, Consumer};
use crate::support::{NOW, record, setup};

#[derive(Debug, Clone)]
pub(crate) enum Op {
    Put {
        key: u8,
        tombstone: bool,
    },
    PutInTransaction {
        producer: u8,
        key: u8,
        tombstone: bool,
    },
    End {
        producer: u8,
        commit: bool,
    },
    Roll,
    Clock {
        add: i64,
    },
    Clean {
        map: usize,
    },
    /// The same, after everything was made cleanable.
    RollAndClean {
        map: usize,
    },
    CleanWithoutCheckpoint {
        map: usize,
    },
    CleanAborted {
        map: usize,
        at: u32,
    },
    /// The same, while the high watermark is behind: these records are not replicated yet.
    CleanBehind {
        keys: Vec<(u8, bool)>,
        map: usize,
    },
    /// The same, then the checkpoint is lost, and a round has everything to map once more (S18).
    CleanTwice {
        map: usize,
    },
    ConsumerBegins,
    ConsumerReads {
        bytes: usize,
    },
    /// A start without the snapshots of producers (S16).
    ReplayProducers,
    Expire,
    Checkpoint,
    Close,
    Stop {
        loss: Loss,
    },
    /// The power goes off during the next operation.
    PowerOff {
        after: u64,
        loss: Loss,
    },
}

impl Op {
    pub(crate) fn is_round(&self) -> bool {
        matches!(
            self,
            Self::Clean { .. }
                | Self::RollAndClean { .. }
                | Self::CleanWithoutCheckpoint { .. }
                | Self::CleanAborted { .. }
        )
    }

    /// Whether a round may swap a group and leave F where it was.
    pub(crate) fn may_end_a_round_early(&self) -> bool {
        matches!(self, Self::CleanWithoutCheckpoint { .. } | Self::CleanAborted { .. } | Self::PowerOff { .. })
    }
}

/// How a life is run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mode {
    pub(crate) rules: LogRules,
    pub(crate) protocol: TransactionProtocol,
    pub(crate) ample_map: bool,
}

pub(crate) struct Life {
    mode: Mode,
    files: Files,
    setup: PartitionSetup,
    pub(crate) partition: Option<Partition>,
    oracle: Oracle,
    epochs: [i16; 2],
    sequences: [i32; 2],
    values: u32,
    now: Millis,
    pub(crate) power_off: Option<Loss>,
    /// E of the round that was just run.
    cleaned_to: Option<Offset>,
    consumer: Option<Consumer>,
    /// What was done, to do it once more without the crash (S15).
    past: Vec<Op>,
    /// Where among it a stop was ordered since the last start, and where before that one.
    orders: Vec<usize>,
    carried_out: Vec<usize>,
    /// Whether this life is such a repetition.
    repeats: bool,
}

impl Life {
    pub(crate) fn new(mode: Mode) -> Self {
        Self::on(mode, Files::in_memory())
    }

    pub(crate) fn on(mode: Mode, files: Files) -> Self {
        let mut setup = setup(mode.rules, 100);
        setup.config = LogConfig { segment_bytes: 400, file_delete_delay_ms: Millis(30), ..setup.config };
        let partition = Partition::open(files.shared(), &files.log_dir(), setup.clone(), NOW).expect("opens");
        let (oracle, epochs, sequences) = (Oracle::default(), [0; 2], [0; 2]);
        let partition = Some(partition);
        Self {
            mode,
            files,
            setup,
            partition,
            oracle,
            epochs,
            sequences,
            values: 0,
            now: NOW,
            power_off: None,
            cleaned_to: None,
            consumer: None,
            past: Vec::new(),
            orders: Vec::new(),
            carried_out: Vec::new(),
            repeats: false,
        }
    }

    /// The files, of a life in memory.
    pub(crate) fn memory(&self) -> &MemoryFs {
        match &self.files {
            Files::Memory(fs) => fs,
            Files::Machine(..) => panic!("this life is not in memory"),
        }
    }

    /// Opens what is on the disk after a loss.
    fn reopen(&mut self, loss: Loss) -> Result<(), String> {
        let durable = self.partition.take().map_or(Offset(0), |partition| partition.log().recovery_point());
        self.files.start_again(loss);
        self.carried_out = std::mem::take(&mut self.orders);
        let opened = Partition::open(self.files.shared(), &self.files.log_dir(), self.setup.clone(), self.now);
        let partition = opened.map_err(|e| format!("it does not open: {e}"))?;
        let end = partition.log().end_offset();
        if end < durable || usize::try_from(end.0).is_ok_and(|end| end > self.oracle.history.len()) {
            return Err(format!("the log ends at {end}; {durable} was durable, {} written", self.oracle.history.len()));
        }
        self.oracle.cut(end);
        self.consumer = self.consumer.take().filter(|consumer| consumer.position() <= end);
        self.partition = Some(partition);
        self.power_off = None;
        self.settle()
    }

    /// Everything is durable and replicated: the high watermark is the end.
    fn settle(&mut self) -> Result<(), String> {
        let Some(partition) = &mut self.partition else { return Ok(()) };
        partition.flush().map_err(|e| e.to_string())?;
        let end = partition.log().end_offset();
        partition.set_high_watermark(end);
        if let Some(cleaned_to) = self.cleaned_to.take() {
            self.oracle.check_round(partition, &self.oracle.horizons(), cleaned_to)?;
        }
        self.oracle.check(partition)
    }

    pub(crate) fn run(&mut self, op: &Op) -> Result<(), String> {
        let done = self.take(op);
        if let Op::PowerOff { .. } = op {
            self.orders.push(self.past.len());
        }
        self.past.push(op.clone());
        done
    }

    fn take(&mut self, op: &Op) -> Result<(), String> {
        match op {
            Op::Stop { loss } => return self.reopen(*loss),
            Op::Close => {
                if let Some(partition) = self.partition.take() {
                    match partition.close() {
                        Ok(()) => return self.reopen(Loss::Everything),
                        Err(e) if e.is_power_cut() => return self.reopen(self.power_off.unwrap_or(Loss::Nothing)),
                        Err(e) => return Err(e.to_string()),
                    }
                }
            }
            Op::PowerOff { after, loss } => {
                self.files.stop_after(*after);
                self.power_off = Some(*loss);
                return Ok(());
            }
            Op::ReplayProducers => return self.replay_producers(),
            _ => {}
        }
        self.cleaned_to = None;
        let before = if op.is_round() && self.power_off.is_some() { self.batches().ok() } else { None };
        let done = self.operate(op);
        let stopped = match (done, self.power_off) {
            (Err(e), Some(loss)) if e.is_power_cut() => Some(loss),
            (Err(e), _) => return Err(format!("{op:?}: {e}")),
            (Ok(()), Some(loss)) if self.files.has_stopped() => Some(loss),
            (Ok(()), None) => return self.settle(),
            (Ok(()), Some(loss)) => match self.settle() {
                Err(_) if self.files.has_stopped() => Some(loss),
                other => return other,
            },
        };
        let Some(loss) = stopped else { return Ok(()) };
        self.reopen(loss)?;
        match before {
            Some(before) if !self.repeats => promises::s15(&before, &self.batches()?, &self.without_the_crash(op)?),
            _ => Ok(()),
        }
    }

    /// What the log would be if nothing had stopped the last operation.
    fn without_the_crash(&self, op: &Op) -> Result<Vec<Vec<u8>>, String> {
        let mut other = Self { repeats: true, ..Self::on(self.mode, self.files.others()) };
        for (_, past) in self.past.iter().enumerate().filter(|(at, _)| !self.carried_out.contains(at)) {
            other.run(past)?;
        }
        other.run(op)?;
        other.batches()
    }

    fn batches(&self) -> Result<Vec<Vec<u8>>, String> {
        let segments = match &self.partition {
            Some(partition) => partition.dump().map_err(|e| e.to_string())?,
            None => Vec::new(),
        };
        Ok(segments.into_iter().flat_map(|segment| segment.batches).map(|batch| batch.bytes).collect())
    }

    /// S16: a start that has no snapshot learns the sequences from the log.
    fn replay_producers(&mut self) -> Result<(), String> {
        let sequences = |life: &Self| {
            let producers = life.partition.iter().flat_map(|partition| partition.log().producers().producers());
            let known = producers.filter(|(_, entry)| entry.last_data_offset().is_some());
            known.map(|(id, entry)| (*id, entry.last_sequence())).collect::<Vec<_>>()
        };
        let before = sequences(self);
        let (fs, directory) = (self.files.shared(), self.files.log_dir().join("t-0"));
        let removed = fs.list(&directory).and_then(|names| {
            let snapshots = names.iter().filter(|name| name.ends_with(".snapshot"));
            for name in snapshots {
                remove_if_exists(&*fs, &directory.join(name))?;
            }
            fs.sync_dir(&directory)
        });
        match (removed, self.power_off) {
            (Err(e), None) => return Err(e.to_string()),
            (Err(_), Some(loss)) => return self.reopen(loss),
            (Ok(()), _) => self.reopen(Loss::Nothing)?,
        }
        let after = sequences(self);
        match before.iter().find(|known| !after.contains(known)) {
            Some(forgotten) => Err(format!("S16: {forgotten:?} is not in the log: {after:?}")),
            None => Ok(()),
        }
    }

    /// Ends all transactions and cleans for longer than anything may wait, then without producers. What is left is the newest
    /// value of each key with its transaction's marker, and nothing of what is deleted (L1, L2, L4).
    pub(crate) fn end(mut self) -> Result<(), String> {
        self.reopen(Loss::Nothing)?;
        for producer in 0..2 {
            if self.oracle.is_open(i64::from(producer)) {
                self.run(&Op::End { producer, commit: false })?;
            }
        }
        for round in 0..9 {
            // Headers and emptied markers wait for their producers.
            if round == 4 {
                self.run(&Op::Clock { add: 1 + self.setup.config.producer_id_expiration_ms.0 })?;
                self.run(&Op::Expire)?;
            }
            self.run(&Op::Put { key: 9, tombstone: false })?;
            self.run(&Op::Clock { add: 100 })?;
            self.run(&Op::RollAndClean { map: 2 })?;
            let first_dirty = |life: &Self| life.partition.as_ref().map(Partition::first_dirty);
            loop {
                let before = first_dirty(&self);
                self.run(&Op::Clean { map: 2 })?;
                if first_dirty(&self) == before {
                    break;
                }
            }
        }
        let partition = self.partition.as_ref().ok_or("it is closed")?;
        self.oracle.check_rest(partition)
    }

    fn operate(&mut self, op: &Op) -> Result<(), LogError> {
        let Some(partition) = &mut self.partition else { return Ok(()) };
        match op {
            Op::Put { key, tombstone } => {
                self.values += 1;
                let (key, value) = (format!("k{key}"), (!tombstone).then(|| self.values.to_string()));
                let header = BatchHeader::plain(Offset(0));
                let record = record(&key, value.as_deref(), self.now);
                self.oracle.history.push(Event::Data { producer: None, key, value });
                partition.append(header, vec![record]).map(drop)
            }
            Op::PutInTransaction { producer, key, tombstone } => {
                self.values += 1;
                let of = usize::from(*producer);
                let (key, value) = (format!("k{key}"), (!tombstone).then(|| self.values.to_string()));
                let id = ProducerId(i64::from(*producer));
                // A producer goes on where the partition has it, as it would after an error.
                let known = partition.log().producers().producers().get(&id);
                let last = known.filter(|entry| entry.epoch.0 == self.epochs[of]).map(|entry| entry.last_sequence().0);
                self.sequences[of] = last.map_or(0, |last| last + 1);
                let header = BatchHeader {
                    transactional: true,
                    producer_id: id,
                    producer_epoch: ProducerEpoch(self.epochs[of]),
                    base_sequence: Sequence(self.sequences[of]),
                    ..BatchHeader::plain(Offset(0))
                };
                let record = record(&key, value.as_deref(), self.now);
                self.oracle.history.push(Event::Data { producer: Some(id.0), key, value });
                partition.append(header, vec![record]).map(drop)
            }
            Op::End { producer, commit } => {
                let (of, id) = (usize::from(*producer), i64::from(*producer));
                if !self.oracle.is_open(id) && *commit {
                    // Half of the markers without data, to have some.
                    return Ok(());
                }
                if self.mode.protocol == TransactionProtocol::Two {
                    self.epochs[of] += 1;
                }
                let marker = Marker { commit: *commit, coordinator_epoch: 0 };
                self.oracle.history.push(Event::Marker { producer: id, commit: *commit });
                let epoch = ProducerEpoch(self.epochs[of]);
                partition.end_transaction(ProducerId(id), epoch, marker, self.mode.protocol).map(drop)
            }
            Op::Roll => partition.roll(),
            Op::Clock { add } => {
                self.now = Millis(self.now.0 + add);
                partition.set_clock(self.now)
            }
            Op::ConsumerBegins => {
                self.consumer = Some(Consumer::default());
                Ok(())
            }
            Op::ConsumerReads { bytes } => match &mut self.consumer {
                Some(consumer) => breach(consumer.read(partition, &self.oracle, *bytes)?),
                None => Ok(()),
            },
            Op::Expire => {
                partition.expire_producers();
                Ok(())
            }
            Op::Checkpoint => partition.checkpoint(),
            _ => self.clean(op),
        }
    }

    fn clean(&mut self, op: &Op) -> Result<(), LogError> {
        let map = |entries: usize| if self.mode.ample_map { 100 } else { entries };
        let Some(partition) = &mut self.partition else { return Ok(()) };
        match op {
            Op::RollAndClean { map: entries } => {
                partition.roll()?;
                partition.set_high_watermark(partition.log().end_offset());
                partition.set_map_entries(map(*entries));
                self.cleaned_to = round(&self.oracle, partition, &mut NoHook, RoundEnd::Checkpointed)?;
                Ok(())
            }
            Op::CleanBehind { keys, map: entries } => {
                for (key, tombstone) in keys {
                    self.values += 1;
                    let (key, value) = (format!("k{key}"), (!tombstone).then(|| self.values.to_string()));
                    let record = record(&key, value.as_deref(), self.now);
                    self.oracle.history.push(Event::Data { producer: None, key, value });
                    partition.append(BatchHeader::plain(Offset(0)), vec![record])?;
                    partition.roll()?;
                }
                partition.set_map_entries(map(*entries));
                self.cleaned_to = round(&self.oracle, partition, &mut NoHook, RoundEnd::Checkpointed)?;
                Ok(())
            }
            Op::CleanTwice { map: entries } => {
                partition.roll()?;
                partition.set_high_watermark(partition.log().end_offset());
                partition.set_map_entries(map(*entries));
                if let Some(cleaned_to) = round(&self.oracle, partition, &mut NoHook, RoundEnd::Checkpointed)? {
                    breach(self.oracle.check_round(partition, &self.oracle.horizons(), cleaned_to))?;
                }
                let before = partition.dump()?;
                let first_dirty = partition.first_dirty()?;
                let fs = self.files.shared();
                remove_if_exists(&*fs, &self.files.log_dir().join("cleaner-offset-checkpoint"))?;
                fs.sync_dir(&self.files.log_dir())?;
                // Later, so that a horizon that is counted anew is another one.
                self.now = Millis(self.now.0 + 1);
                partition.set_clock(self.now)?;
                round(&self.oracle, partition, &mut NoHook, RoundEnd::Checkpointed)?;
                let whole = first_dirty == Some(partition.log().end_offset());
                if whole { breach(promises::s18(&before, &partition.dump()?, self.now)) } else { Ok(()) }
            }
            Op::Clean { map: entries } => {
                partition.set_map_entries(map(*entries));
                self.cleaned_to = round(&self.oracle, partition, &mut NoHook, RoundEnd::Checkpointed)?;
                Ok(())
            }
            Op::CleanWithoutCheckpoint { map: entries } => {
                partition.set_map_entries(map(*entries));
                self.cleaned_to = round(&self.oracle, partition, &mut NoHook, RoundEnd::WithoutCheckpoint)?;
                Ok(())
            }
            Op::CleanAborted { map: entries, at } => {
                partition.set_map_entries(map(*entries));
                let mut left = *at;
                let mut hook = |_: &mut Log, _: Progress| {
                    let stop = left == 0;
                    left = left.saturating_sub(1);
                    if stop { Err(LogError::CleaningAborted) } else { Ok(()) }
                };
                self.cleaned_to = round(&self.oracle, partition, &mut hook, RoundEnd::Checkpointed)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// A round, held to its bound (S12) and to its progress (L5). E, if it was a whole one.
fn round(
    oracle: &Oracle,
    partition: &mut Partition,
    hook: &mut dyn CleaningHook,
    end: RoundEnd,
) -> Result<Option<Offset>, LogError> {
    let (before, stable) = (partition.dump()?, oracle.last_stable().min(partition.log().high_watermark()));
    let Some(round) = partition.clean_with(hook, end)? else { return Ok(None) };
    breach(promises::s12(&before, &partition.dump()?, &round, stable))?;
    let cleaned_to = finished(&round)?;
    breach(cleaned_to.map_or(Ok(()), |cleaned_to| promises::l5(&round, cleaned_to)))?;
    Ok(cleaned_to)
}

/// A promise that was broken, as the error that ends an operation.
fn breach(kept: Result<(), String>) -> Result<(), LogError> {
    kept.map_err(|fault| LogError::Corrupt { file: "promise".into(), position: 0, fault })
}

/// E of a whole round. One may be aborted or lose its power, and nothing else.
fn finished(round: &Round) -> Result<Option<Offset>, LogError> {
    match &round.outcome {
        Err(RoundError::Storage(LogError::CleaningAborted)) => Ok(None),
        Ok(outcome) => Ok(Some(outcome.cleaned_to)),
        Err(RoundError::Storage(error)) => Err(error.clone()),
        Err(other) => Err(LogError::Corrupt { file: "round".into(), position: 0, fault: other.to_string() }),
    }
}

/// A whole life.
pub(crate) fn live(mode: Mode, ops: &[Op]) -> Result<(), String> {
    live_on(mode, Files::in_memory(), ops)
}

/// The same, on these files.
pub(crate) fn live_on(mode: Mode, files: Files, ops: &[Op]) -> Result<(), String> {
    let mut life = Life::on(mode, files);
    for (step, op) in ops.iter().enumerate() {
        life.run(op).map_err(|e| format!("step {step}, {op:?}: {e}"))?;
    }
    life.end().map_err(|e| format!("at the end: {e}"))
}
