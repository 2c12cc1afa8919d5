//! The replica that is to replace this one on another disk of the same broker.

use super::broker::BrokerSetup;
use super::names::{LeaderEpoch, Offset};
use super::observe::FutureState;
use super::process::Process;
use crate::storage::fs::SharedFs;
use crate::storage::log_error::LogError;

/// The future replica, if there is one.
#[derive(Debug, Default)]
pub(super) struct Future {}

impl Future {
    pub(super) fn open(_setup: &BrokerSetup, _fs: &SharedFs) -> Result<Self, LogError> {
        Ok(Self {})
    }
    pub(super) fn observe(&self) -> Result<Option<FutureState>, LogError> {
        Ok(None)
    }
    pub(super) fn follow_epoch(&mut self, _epoch: LeaderEpoch) {}
    pub(super) fn on_high_watermark(&mut self, _offset: Offset) {}
    pub(super) fn on_truncated(&mut self, _offset: Offset) {}
}

impl Process {
    pub(super) fn alter_log_dirs(&mut self) -> Result<(), LogError> {
        Ok(())
    }
    pub(super) fn copy(&mut self) -> Result<(), LogError> {
        Ok(())
    }
    pub(super) fn disk_offline(&mut self) {}
    pub(super) fn disk_online(&mut self) -> Result<(), LogError> {
        Ok(())
    }
}
