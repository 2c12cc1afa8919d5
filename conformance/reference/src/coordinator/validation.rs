//! What a heartbeat must not say, before any state is read (docs/fencing.md 2.1; Kafka
//! `GroupCoordinatorService#throwIfConsumerGroupHeartbeatRequestIsInvalid`).

use crate::coordinator::assignor::Assignor;
use crate::coordinator::error::ErrorCode;
use crate::coordinator::mutation::Mutation;
use crate::coordinator::names::Epoch;
use crate::coordinator::request::HeartbeatRequest;
use crate::coordinator::rules::Rules;

/// Refuses a request that contradicts itself.
pub(crate) fn validate(rules: &Rules, request: &HeartbeatRequest) -> Result<(), ErrorCode> {
    if rules.slips(Mutation::RequestsNotValidated) {
        return Ok(());
    }
    let epoch = request.member_epoch;
    let leaves = epoch == Epoch::LEAVE;
    if request.member_id.is_empty() && (request.api_version >= 1 || epoch > Epoch::JOIN || leaves) {
        return Err(ErrorCode::InvalidRequest);
    }
    let empty = |text: Option<&str>| text.is_some_and(str::is_empty);
    if request.group_id.is_empty()
        || empty(request.instance_id.as_ref().map(crate::coordinator::InstanceId::as_str))
        || empty(request.rack_id.as_deref())
    {
        return Err(ErrorCode::InvalidRequest);
    }
    let owns_nothing = request.owned.as_ref().is_some_and(std::collections::BTreeSet::is_empty);
    let subscribes = request.subscribed_topic_names.is_some() || request.subscribed_topic_regex.is_some();
    if epoch == Epoch::JOIN && (request.rebalance_timeout_ms == -1 || !owns_nothing || !subscribes) {
        return Err(ErrorCode::InvalidRequest);
    }
    if epoch == Epoch::LEAVE_TEMPORARILY && request.instance_id.is_none() {
        return Err(ErrorCode::InvalidRequest);
    }
    if epoch < Epoch::LEAVE_TEMPORARILY {
        return Err(ErrorCode::InvalidRequest);
    }
    match request.server_assignor.as_deref() {
        Some(name) if Assignor::by_name(name).is_none() => Err(ErrorCode::UnsupportedAssignor),
        _ => Ok(()),
    }
}
