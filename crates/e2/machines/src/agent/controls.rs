//! Controls with a deferred response, for RAN functions that depend on another component.
use super::core::Core;
use super::{ControlOutcome, ControlTicket, ControllerId, cause};
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{
    Cause, Message, RanFunctionId, RicControlAcknowledge, RicControlFailure, RicControlStatus, RicRequestId,
    Version,
};
use std::collections::BTreeMap;

/// Maximum number of deferred controls over all functions.
pub(super) const OPEN_CONTROLS_MAX: usize = 1_024;

/// A control whose response has not been sent yet.
#[derive(Debug)]
pub(super) struct OpenControl {
    pub(super) controller: ControllerId,
    pub(super) request_id: RicRequestId,
    pub(super) function_id: RanFunctionId,
    pub(super) call_process_id: Option<Bytes>,
    pub(super) wants_ack: bool,
}

/// The controls whose responses have not been sent yet.
#[derive(Debug, Default)]
pub(super) struct Controls {
    last: u64,
    /// The control that a function is handling, and its ticket if the response is deferred.
    current: Option<(OpenControl, Option<ControlTicket>)>,
    open: BTreeMap<ControlTicket, OpenControl>,
}

impl Controls {
    pub(super) fn begin(&mut self, control: OpenControl) {
        self.current = Some((control, None));
    }

    /// Returns whether the current control may be deferred.
    pub(super) fn has_room(&self) -> bool {
        self.current.is_some() && self.open.len() < OPEN_CONTROLS_MAX
    }

    /// Defers the current control. Returns `None` if no control is being handled or too many are deferred.
    pub(super) fn defer(&mut self) -> Option<ControlTicket> {
        if !self.has_room() {
            return None;
        }
        let (_, ticket) = self.current.as_mut()?;
        if ticket.is_none() {
            self.last += 1;
            *ticket = Some(ControlTicket(self.last));
        }
        *ticket
    }

    /// Ends the callback. Returns the control if its response is due now, which is always the case for a refusal.
    pub(super) fn end(&mut self, accepted: bool) -> Option<OpenControl> {
        match self.current.take()? {
            (control, Some(ticket)) if accepted => {
                self.open.insert(ticket, control);
                None
            }
            (control, _) => Some(control),
        }
    }

    pub(super) fn take(&mut self, ticket: ControlTicket, function: RanFunctionId) -> Option<OpenControl> {
        self.open.get(&ticket).filter(|control| control.function_id == function)?;
        self.open.remove(&ticket)
    }

    /// Discards the deferred controls for which `is` returns true.
    pub(super) fn forget(&mut self, is: impl Fn(&OpenControl) -> bool) {
        self.open.retain(|_, control| !is(control));
    }
}

impl Core {
    /// Sends the response to a control, if the controller requested one.
    pub(super) fn answer_control(&mut self, control: OpenControl, answer: Result<ControlOutcome, Cause>) {
        let OpenControl { controller, request_id, function_id, call_process_id, wants_ack } = control;
        let version = self.link(controller).map_or(Version::V2_03, |l| l.version);
        let message = match answer {
            Ok(done) => {
                self.counters.controls += 1;
                if !wants_ack {
                    return;
                }
                Message::RicControlAcknowledge(RicControlAcknowledge {
                    request_id,
                    function_id,
                    call_process_id,
                    status: (version == Version::V1_01).then_some(RicControlStatus::Success),
                    outcome: done.outcome,
                })
            }
            Err(cause) => {
                self.counters.controls_refused += 1;
                Message::RicControlFailure(RicControlFailure {
                    request_id,
                    function_id,
                    call_process_id,
                    cause: cause::fit(cause, version),
                    outcome: self.explanation.take(),
                    diagnostics: None,
                })
            }
        };
        self.send(controller, &message);
    }
}
