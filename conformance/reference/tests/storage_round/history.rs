//! A random life of a log: its steps, and a history of everything that was ever appended.

use std::collections::{BTreeMap, BTreeSet};

use fencepost_reference::storage::names::Millis;
use fencepost_reference::storage::rules::Rules;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::log::Log;
use crate::properties::{offsets, s6_stamping};

#[derive(Debug, Clone)]
pub(crate) enum Step {
    Append(Vec<(u8, bool)>),
    AppendIn(i64, Vec<(u8, bool)>),
    End(i64, bool),
    Roll,
    Tick(i64),
    Expire(i64),
    Clean,
    /// A round that is stopped at its n-th check.
    Stopped(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let records = || vec((0..2_u8, prop::bool::weighted(0.6)), 1..3);
    prop_oneof![
        3 => records().prop_map(Step::Append),
        4 => (1..3_i64, records()).prop_map(|(producer, records)| Step::AppendIn(producer, records)),
        4 => (1..3_i64, any::<bool>()).prop_map(|(producer, commit)| Step::End(producer, commit)),
        3 => Just(Step::Roll),
        2 => (0..60_i64).prop_map(Step::Tick),
        1 => (1..3_i64).prop_map(Step::Expire),
        5 => Just(Step::Clean),
        1 => (0..8_usize).prop_map(Step::Stopped),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Open,
    Committed,
    Aborted,
}

#[derive(Debug, Clone)]
pub(crate) struct Past {
    pub(crate) key: u8,
    pub(crate) is_value: bool,
    pub(crate) transaction: Option<usize>,
}

#[derive(Debug, Clone)]
pub(crate) struct Transaction {
    pub(crate) producer: i64,
    pub(crate) outcome: Outcome,
    pub(crate) marker: Option<i64>,
    /// The first offsets of its batches.
    pub(crate) batches: Vec<i64>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) rules: Rules,
    pub(crate) map: usize,
    /// Whether a marker raises the epoch (KIP-890).
    pub(crate) raises_epoch: bool,
    pub(crate) transactions: bool,
}

pub(crate) struct Walk {
    pub(crate) log: Log,
    pub(crate) setting: Setting,
    pub(crate) records: BTreeMap<i64, Past>,
    pub(crate) transactions: Vec<Transaction>,
    pub(crate) open: BTreeMap<i64, usize>,
    pub(crate) epochs: BTreeMap<i64, i16>,
    pub(crate) horizons: BTreeMap<i64, i64>,
}

impl Walk {
    pub(crate) fn new(setting: Setting) -> Self {
        let mut log = Log::new(setting.rules);
        log.map = setting.map;
        log.segment_bytes = 400;
        Self {
            log,
            setting,
            records: BTreeMap::new(),
            transactions: Vec::new(),
            open: BTreeMap::new(),
            epochs: BTreeMap::new(),
            horizons: BTreeMap::new(),
        }
    }

    pub(crate) fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Append(records) => self.append(None, records),
            Step::AppendIn(_, records) if !self.setting.transactions => self.append(None, records),
            Step::AppendIn(producer, records) => self.append(Some(*producer), records),
            Step::End(producer, commit) if self.setting.transactions => self.end(*producer, *commit),
            Step::Roll if self.log.segments.last().is_some_and(|active| !active.bytes.is_empty()) => self.log.roll(),
            Step::Tick(by) => self.log.now = Millis(self.log.now.0 + by),
            Step::Expire(producer) if !self.log.is_open(*producer) => self.log.expire(*producer),
            Step::End(..) | Step::Roll | Step::Expire(_) => {}
            Step::Clean => return self.clean(None),
            Step::Stopped(at) => return self.clean(Some(*at)),
        }
        Ok(())
    }

    fn append(&mut self, producer: Option<i64>, records: &[(u8, bool)]) {
        let names: Vec<String> = records.iter().map(|(key, _)| key.to_string()).collect();
        let given: Vec<_> =
            names.iter().zip(records).map(|(name, (_, is_value))| (name.as_str(), is_value.then_some("v"))).collect();
        let (first, transaction) = match producer {
            None => (self.log.append(&given), None),
            Some(producer) => {
                let epoch = *self.epochs.entry(producer).or_insert(0);
                let first = self.log.append_in((producer, epoch), &given);
                let id = *self.open.entry(producer).or_insert(self.transactions.len());
                if id == self.transactions.len() {
                    let outcome = Outcome::Open;
                    self.transactions.push(Transaction { producer, outcome, marker: None, batches: Vec::new() });
                }
                self.transactions[id].batches.push(first);
                (first, Some(id))
            }
        };
        for (offset, (key, is_value)) in (first..).zip(records) {
            self.records.insert(offset, Past { key: *key, is_value: *is_value, transaction });
        }
    }

    fn end(&mut self, producer: i64, commit: bool) {
        let epoch = self.epochs.entry(producer).or_insert(0);
        if self.setting.raises_epoch {
            *epoch += 1;
        }
        let marker = self.log.end((producer, *epoch), commit);
        let outcome = if commit { Outcome::Committed } else { Outcome::Aborted };
        match self.open.remove(&producer) {
            Some(id) => {
                self.transactions[id].outcome = outcome;
                self.transactions[id].marker = Some(marker);
            }
            None => {
                self.transactions.push(Transaction { producer, outcome, marker: Some(marker), batches: Vec::new() });
            }
        }
    }

    pub(crate) fn outcome(&self, past: &Past) -> Outcome {
        past.transaction.map_or(Outcome::Committed, |id| self.transactions[id].outcome)
    }

    pub(crate) fn newest(&self, key: u8, below: i64) -> Option<(i64, &Past)> {
        self.records
            .range(..below)
            .rev()
            .map(|(offset, past)| (*offset, past))
            .find(|(_, past)| past.key == key && self.outcome(past) == Outcome::Committed)
    }

    pub(crate) fn clean(&mut self, stop_at: Option<usize>) -> Result<(), String> {
        if self.log.bound() <= self.log.first_dirty {
            return Ok(());
        }
        let before = self.log.dump();
        self.log.abort_at = stop_at;
        let ended = self.log.clean();
        self.log.abort_at = None;
        let mapped = match ended {
            Ok(outcome) => outcome.mapped.map(|offset| offset.0),
            Err(error) if stop_at.is_none() => return Err(format!("the round fails: {error:?}")),
            Err(_) => None,
        };
        let after = self.log.dump();
        self.s4_subsequence(&after)?;
        self.s5_horizons(&after)?;
        self.s7_not_before_time(&before, &after)?;
        self.s8_markers(&after)?;
        self.s9_s11_index(&after)?;
        self.s16_producers(&after)?;
        self.s17_end(&after)?;
        self.s1_s2_newest(&after)?;
        if let Some(mapped) = mapped {
            s6_stamping(&before, &after, mapped)?;
            self.s13_unique(&after)?;
            self.l3_aborted(&after)?;
        }
        Ok(())
    }

    fn until_all_is_mapped(&mut self) -> Result<(), String> {
        let mut from = -1;
        while self.log.first_dirty < self.log.bound() {
            if self.log.first_dirty.0 <= from {
                return Err(format!("L5: a round that ends where the last one did, at {from}"));
            }
            from = self.log.first_dirty.0;
            self.clean(None)?;
        }
        Ok(())
    }

    /// Ends all transactions and cleans for longer than anything may wait, first with the producers, then without. What is left is the
    /// newest value of each key with its transaction's marker, and nothing of what is deleted.
    pub(crate) fn end_of_walk(mut self) -> Result<(), String> {
        for producer in self.open.keys().copied().collect::<Vec<_>>() {
            self.end(producer, false);
        }
        for round in 0..9 {
            // Headers and emptied markers wait for their producers.
            if round == 4 {
                self.log.producers.clear();
            }
            self.append(None, &[(9, true)]);
            self.step(&Step::Roll)?;
            self.log.now = Millis(self.log.now.0 + 100);
            self.until_all_is_mapped()?;
        }
        let left = self.log.dump();
        let newest: BTreeSet<_> = [0, 1, 9]
            .into_iter()
            .filter_map(|key| self.newest(key, i64::MAX))
            .filter_map(|(offset, past)| past.is_value.then_some(offset))
            .collect();
        // A marker stays as long as data of its transaction do.
        let markers = newest.iter().filter_map(|offset| {
            let transaction = self.records.get(offset)?.transaction?;
            self.transactions[transaction].marker
        });
        let expected: BTreeSet<_> = newest.iter().copied().chain(markers).collect();
        if offsets(&left) != expected || left.iter().any(|batch| batch.records.is_empty()) {
            return Err(format!("L1, L2, L4: {expected:?} should be left, and {left:?} is"));
        }
        Ok(())
    }
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    vec(step(), 0..40)
}
