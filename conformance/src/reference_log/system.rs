//! The partition with its replicas and its clients, as a behaviour meets them.

use fencepost_fixtures::compaction::{
    AbortedTransaction, Answer, Append, AppendBytes, Batch, BytesOrigin, Compaction, Configure, EndTransaction,
    NoFields, Operation, ProducerState, State, TransactionResult,
};
use fencepost_fixtures::names::{BrokerName, ProducerName};
use fencepost_reference::storage::batch_builder::{BatchBuilder, BatchHeader};
use fencepost_reference::storage::control::Marker;
use fencepost_reference::storage::log_append::Appended;

use fencepost_reference::storage::log_rules::LogRules;
use fencepost_reference::storage::names::{Millis, Offset, ProducerEpoch, ProducerId, Sequence};
use fencepost_reference::storage::partition::{DumpedBatch, Partition};
use fencepost_reference::storage::producer_append::{AppendOrigin, TransactionProtocol};
use fencepost_reference::storage::producer_entry::ProducerEntry;
use fencepost_reference::storage::record::Record;

use super::hex;
use super::replica::{Done, Refused, Replica, codec, record};
use crate::target::{Answered, Fault, Reply};

/// The id of the first producer that is not called by a number.
const FIRST_PRODUCER: i64 = 1000;

/// A partition.
#[derive(Debug)]
pub(super) struct System {
    /// By name; the first is the leader. The one replica of a partition without followers has no name.
    replicas: Vec<(Option<BrokerName>, Replica)>,
    protocol: TransactionProtocol,
    /// Whether a removal waits until every replica has what is to be removed.
    waits_for_replicas: bool,
    /// In the order in which they came up.
    producers: Vec<ProducerName>,
}

impl System {
    pub(super) fn new(configure: &Configure, rules: LogRules, waits_for_replicas: bool) -> Result<Self, Fault> {
        let names: Vec<Option<BrokerName>> = match &configure.replicas {
            Some(replicas) if !replicas.is_empty() => replicas.iter().cloned().map(Some).collect(),
            _ => vec![None],
        };
        let replicas = names.into_iter().map(|name| Ok((name, Replica::new(configure, rules)?)));
        Ok(Self {
            replicas: replicas.collect::<Result<_, Fault>>()?,
            protocol: if configure.transaction_protocol == 1 {
                TransactionProtocol::One
            } else {
                TransactionProtocol::Two
            },
            waits_for_replicas,
            producers: Vec::new(),
        })
    }

    /// Does one operation.
    pub(super) fn apply(&mut self, at: Option<&BrokerName>, operation: &Operation) -> Result<Reply<Compaction>, Fault> {
        let place = self.place(at)?;
        self.tell_what_is_replicated()?;
        let done = match operation {
            // The clock is that of all replicas.
            Operation::ClockMs(now) => {
                self.replicas.iter_mut().try_for_each(|(_, replica)| replica.clock(*now)).map(|()| None)
            }
            Operation::Fetch(NoFields {}) => self.fetch(place),
            _ => self.at(place, operation),
        };
        match done {
            Ok(Some(answer)) => Ok(Reply::new(Answered::Answer(answer))),
            Ok(None) => Ok(Reply::new(Answered::Nothing)),
            Err(Refused::Error(name)) => Ok(Reply::new(Answered::Error(name.to_owned()))),
            Err(Refused::Fault(message)) => Err(Fault::broken(message)),
        }
    }

    /// Up to where every replica has the log: what a broker would learn from its followers' fetches.
    fn tell_what_is_replicated(&mut self) -> Result<(), Fault> {
        if !self.waits_for_replicas {
            return Ok(());
        }
        let mut ends = Vec::new();
        for (_, replica) in &mut self.replicas {
            ends.push(replica.partition().map_err(fault)?.log().end_offset());
        }
        let everywhere = ends.into_iter().min().unwrap_or(Offset(i64::MAX));
        for (_, replica) in &mut self.replicas {
            replica.partition().map_err(fault)?.set_replicated(everywhere);
        }
        Ok(())
    }

    fn place(&self, at: Option<&BrokerName>) -> Result<usize, Fault> {
        match at {
            None => Ok(0),
            Some(at) => self
                .replicas
                .iter()
                .position(|(name, _)| name.as_ref() == Some(at))
                .ok_or_else(|| Fault::broken(format!("there is no replica {at}"))),
        }
    }

    fn replica(&mut self, place: usize) -> Result<&mut Replica, Refused> {
        let replica = self.replicas.get_mut(place).map(|(_, replica)| replica);
        replica.ok_or_else(|| Refused::Fault("there is no such replica".to_owned()))
    }

    fn at(&mut self, place: usize, operation: &Operation) -> Done {
        match operation {
            Operation::Append(append) => return self.append(place, append),
            Operation::EndTransaction(end) => return self.end_transaction(place, end),
            _ => {}
        }
        let replica = self.replica(place)?;
        match operation {
            Operation::AppendBytes(AppendBytes { bytes, origin }) => {
                let bytes = hex::decode(bytes).map_err(Refused::Fault)?;
                let partition = replica.partition()?;
                return Ok(Some(appended(match origin {
                    BytesOrigin::Client => partition.append_batches(&bytes, AppendOrigin::Client)?,
                    BytesOrigin::Leader => partition.append_as_follower(&bytes)?,
                })));
            }
            Operation::Clean(_) => return replica.clean(),
            Operation::StartRound(_) => return replica.start_round(),
            Operation::BuildMap(_) => return replica.build_map(),
            Operation::Read(read) => return replica.read(read),
            Operation::LookUpMs(timestamp) => return replica.look_up(*timestamp),
            Operation::CleanGroup(_) => {
                replica.group()?;
            }
            Operation::FinishRound(_) => replica.end_round(false)?,
            Operation::AbortRound(_) => replica.end_round(true)?,
            Operation::Roll(_) => replica.partition()?.roll()?,
            Operation::HighWatermark(offset) => replica.partition()?.set_high_watermark(Offset(*offset)),
            Operation::Crash(crash) => replica.crash(crash)?,
            Operation::Restart(_) => replica.restart()?,
            Operation::LoseCheckpoint(_) => replica.lose_checkpoint()?,
            Operation::Truncate(offset) => replica.truncate(*offset)?,
            Operation::DeleteRecords(offset) => replica.partition()?.delete_records(Offset(*offset))?,
            Operation::DeleteSegments(_) => {
                replica.partition()?.retain()?;
            }
            Operation::Alter(alter) => replica.alter(alter)?,
            Operation::ExpireProducers(_) => replica.partition()?.expire_producers(),
            Operation::Append(_) | Operation::EndTransaction(_) | Operation::ClockMs(_) | Operation::Fetch(_) => {}
        }
        Ok(None)
    }

    /// What the replica at `place` does not have of the one that it follows.
    fn fetch(&mut self, place: usize) -> Done {
        let leader = usize::from(place == 0);
        let from = self.replica(place)?.partition()?.log().end_offset();
        let leader = self.replica(leader)?;
        let start = leader.partition()?.log().log_start();
        let batches = leader.batches_from(from)?;
        self.replica(place)?.follow(&batches, start)
    }

    /// The id of a producer. A number is its own.
    fn producer_id(&mut self, name: &ProducerName) -> ProducerId {
        if let Ok(id) = name.as_str().parse::<i64>() {
            return ProducerId(id);
        }
        let place = self.producers.iter().position(|known| known == name).unwrap_or_else(|| {
            self.producers.push(name.clone());
            self.producers.len() - 1
        });
        ProducerId(FIRST_PRODUCER.saturating_add(i64::try_from(place).unwrap_or(i64::MAX)))
    }

    fn append(&mut self, place: usize, append: &Append) -> Done {
        let producer = append.producer.as_ref().map(|name| self.producer_id(name));
        let partition = self.replica(place)?.partition()?;
        let mut header = BatchHeader {
            transactional: append.transactional,
            compression: codec(append.compression.unwrap_or(fencepost_fixtures::compaction::Compression::None)),
            ..BatchHeader::plain(Offset(0))
        };
        if let Some(producer) = producer {
            let known = known_epoch(partition, producer);
            let epoch = append.epoch.map_or(known, ProducerEpoch);
            let entry = partition.log().producers().producers().get(&producer).filter(|entry| entry.epoch == epoch);
            let next = match entry.map(ProducerEntry::last_sequence) {
                None | Some(Sequence::NONE) => Sequence(0),
                Some(last) => last.plus(1),
            };
            header.producer_id = producer;
            header.producer_epoch = epoch;
            header.base_sequence = append.sequence.map_or(next, Sequence);
        }
        let now = partition.now();
        let records = append.records.iter().map(|record| {
            let bytes = |name: &Option<fencepost_fixtures::names::RecordName>| {
                name.as_ref().map(|name| name.as_str().as_bytes().to_vec())
            };
            let timestamp = record.timestamp_ms.map_or(now, Millis);
            let (key, value) = (bytes(&record.key), bytes(&record.value));
            Record::new(Offset(0), timestamp, key.as_deref(), value.as_deref())
        });
        let numbered = (0..).zip(records).map(|(offset, record)| Record { offset: Offset(offset), ..record });
        let batch = BatchBuilder::new(header).delete_horizon(append.horizon_ms.map(Millis)).records(numbered).build();
        let batch = batch.map_err(|error| Refused::Fault(format!("the batch of the trace: {error}")))?;
        Ok(Some(appended(partition.append_batches(&batch, AppendOrigin::Client)?)))
    }

    fn end_transaction(&mut self, place: usize, end: &EndTransaction) -> Done {
        let producer = self.producer_id(&end.producer);
        let protocol = self.protocol;
        let partition = self.replica(place)?.partition()?;
        let known = known_epoch(partition, producer);
        let epoch = match protocol {
            TransactionProtocol::One => known,
            TransactionProtocol::Two => ProducerEpoch(known.0.saturating_add(1)),
        };
        let marker = Marker { commit: end.result == TransactionResult::Commit, coordinator_epoch: 0 };
        Ok(Some(appended(partition.end_transaction(producer, epoch, marker, protocol)?)))
    }

    /// The whole state of a replica.
    pub(super) fn state(&mut self, at: Option<&BrokerName>) -> Result<State, Fault> {
        let place = self.place(at)?;
        self.observe(place).map_err(fault)
    }

    fn observe(&mut self, place: usize) -> Result<State, Refused> {
        let names = self.producers.clone();
        let producer = |id: ProducerId| named(&names, id);
        let partition = self.replica(place)?.partition()?;
        let log = partition.log();
        let producers = log.producers().producers().values().map(|entry| {
            let state = ProducerState {
                epoch: entry.epoch.0,
                last_data: entry.last_data_offset().map_or(-1, |offset| offset.0),
                last_sequence: entry.last_sequence().0,
            };
            Ok((producer(entry.producer)?, state))
        });
        let producers = producers.collect::<Result<_, Refused>>()?;
        let (log_start, log_end) = (log.log_start().0, log.end_offset().0);
        let last_stable = log.last_stable_offset().0;
        let first_dirty = partition.first_dirty()?.map_or(log_start, |offset| offset.0);
        let segments = partition.dump()?;
        let (mut batches, mut bytes, mut aborted) = (Vec::new(), Vec::new(), Vec::new());
        for segment in &segments {
            for dumped in &segment.batches {
                batches.push(batch(dumped, &producer)?);
                bytes.push(hex::encode(&dumped.bytes));
            }
            for entry in &segment.aborted {
                aborted.push(AbortedTransaction {
                    producer: producer(entry.producer_id)?,
                    first: entry.first_offset.0,
                    last: entry.last_offset.0,
                    last_stable: entry.last_stable_offset.0,
                });
            }
        }
        Ok(State {
            log: Some(batches),
            bytes: Some(bytes),
            segments: Some(segments.iter().map(|segment| segment.base.0).collect()),
            aborted: Some(aborted),
            producers: Some(producers),
            log_start: Some(log_start),
            log_end: Some(log_end),
            last_stable: Some(last_stable),
            first_dirty: Some(first_dirty),
        })
    }
}

/// What no trace expects.
fn fault(refused: Refused) -> Fault {
    match refused {
        Refused::Error(name) => Fault::broken(name.to_owned()),
        Refused::Fault(message) => Fault::broken(message),
    }
}

/// The newest epoch that the log knows of a producer; a new one's is 0.
fn known_epoch(partition: &Partition, producer: ProducerId) -> ProducerEpoch {
    let entry = partition.log().producers().producers().get(&producer);
    entry.map_or(ProducerEpoch(0), |entry| entry.epoch.max(ProducerEpoch(0)))
}

fn named(names: &[ProducerName], id: ProducerId) -> Result<ProducerName, Refused> {
    let place = usize::try_from(id.0.saturating_sub(FIRST_PRODUCER)).ok();
    match place.and_then(|place| names.get(place)) {
        Some(name) => Ok(name.clone()),
        None => id.0.to_string().parse().map_err(Refused::Fault),
    }
}

fn appended(appended: Appended) -> Answer {
    Answer { first: Some(appended.first_offset.0), last: Some(appended.last_offset.0), ..Answer::default() }
}

fn batch(
    dumped: &DumpedBatch,
    producer: &dyn Fn(ProducerId) -> Result<ProducerName, Refused>,
) -> Result<Batch, Refused> {
    let marker = match (dumped.control, dumped.records.first()) {
        (true, Some(record)) => Marker::of(record)
            .map_err(|error| Refused::Fault(error.to_string()))?
            .map(|marker| if marker.commit { TransactionResult::Commit } else { TransactionResult::Abort }),
        _ => None,
    };
    let records = if dumped.control { &[] } else { dumped.records.as_slice() };
    Ok(Batch {
        first: dumped.first.0,
        last: dumped.last.0,
        horizon_ms: dumped.delete_horizon.map(|horizon| horizon.0),
        producer: if dumped.producer == ProducerId::NONE { None } else { Some(producer(dumped.producer)?) },
        transactional: dumped.transactional,
        emptied_marker: dumped.control && dumped.records.is_empty(),
        marker,
        records: records.iter().map(record).collect::<Result<_, _>>()?,
    })
}
