//! O-RAN SC's RMR interface, without transport ([`crate::rmr`]): indications for clients of
//! `/ric/v1/subscriptions`, and controls that arrive as RMR messages.
use super::{Console, reply_octets};
use crate::northbound::{COMMANDS_MAX, Call, Completion, Fault};
use bytes::Bytes;
use core::net::SocketAddr;
use ranlab_e2::ric::{ControlDetails, NorthboundReply, Outcome};
use ranlab_e2_codec::e2ap::{
    Cause, CauseRicRequest, Message as E2ap, RicControlAckRequest, RicControlAcknowledge, RicControlFailure,
    RicControlRequest, RicControlStatus, RicRequestId, Version, decode, encode, fast,
};
use ranlab_e2_codec::rmr::{INDICATION, Message};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// Maximum number of xApps with queued messages. Messages to further xApps are dropped.
const LINKS_MAX: usize = 64;
/// Maximum number of messages queued for an xApp.
const MESSAGES_MAX: usize = 1_024;
/// Maximum number of bytes queued for an xApp. Beyond this limit or [`MESSAGES_MAX`], the oldest messages are dropped.
/// For comparison: the ring of librmr holds 4,096 messages and drops without a report.
const BYTES_MAX: usize = 4 << 20;
/// Requestor id that O-RAN SC's subscription manager uses in all its requests.
const REQUESTOR: u16 = 123;

/// RMR counters since the start of the RIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RmrCounts {
    /// Messages written to an xApp's socket; whether its library processes them is unknown.
    pub sent: u64,
    /// Messages dropped because the xApp did not read or was unreachable.
    pub dropped: u64,
    /// Messages received.
    pub received: u64,
    /// Messages received with an unsupported type.
    pub ignored: u64,
    /// Connections refused, or closed because of malformed data.
    pub refused: u64,
}

#[derive(Debug, Default)]
struct Link {
    waiting: VecDeque<Vec<u8>>,
    bytes: usize,
    waker: Option<Waker>,
}

#[derive(Debug, Default)]
struct Links {
    /// Address for responses of xApps. `None` while no transport is open; then no messages are produced.
    source: Option<String>,
    links: BTreeMap<SocketAddr, Link>,
    fresh: VecDeque<SocketAddr>,
    waker: Option<Waker>,
    counts: RmrCounts,
}

/// Queues of outgoing RMR messages; clones share state.
#[derive(Debug, Clone, Default)]
pub struct Rmr(Arc<Mutex<Links>>);

impl Rmr {
    /// Enables RMR; `source` is the address for responses of xApps.
    pub fn open(&self, source: String) {
        crate::lock(&self.0).source = Some(source);
    }

    /// Returns the address for responses of xApps; `None` while RMR is disabled.
    pub fn source(&self) -> Option<String> {
        crate::lock(&self.0).source.clone()
    }

    /// Returns the counters.
    pub fn counts(&self) -> RmrCounts {
        crate::lock(&self.0).counts
    }

    /// Updates the counters.
    pub fn count(&self, what: impl FnOnce(&mut RmrCounts)) {
        what(&mut crate::lock(&self.0).counts);
    }

    /// Queues a message for the xApp at `to`.
    pub fn send(&self, to: SocketAddr, message: &Message) {
        let encoded = message.encode();
        let mut all = crate::lock(&self.0);
        let Links { links, fresh, waker, counts, .. } = &mut *all;
        let room = links.contains_key(&to) || links.len() < LINKS_MAX;
        let (Ok(encoded), true) = (encoded, room) else {
            counts.dropped += 1;
            return;
        };
        let link = links.entry(to).or_insert_with(|| {
            fresh.push_back(to);
            waker.take().into_iter().for_each(Waker::wake);
            Link::default()
        });
        link.bytes += encoded.len();
        link.waiting.push_back(encoded);
        while link.waiting.len() > MESSAGES_MAX || link.bytes > BYTES_MAX {
            let Some(oldest) = link.waiting.pop_front() else { break };
            link.bytes -= oldest.len();
            counts.dropped += 1;
        }
        link.waker.take().into_iter().for_each(Waker::wake);
    }

    /// Polls for an xApp with queued messages that has no sender task yet.
    pub fn poll_fresh(&self, cx: &mut Context<'_>) -> Poll<SocketAddr> {
        let mut all = crate::lock(&self.0);
        if let Some(to) = all.fresh.pop_front() {
            return Poll::Ready(to);
        }
        all.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Polls for the next message to an xApp.
    pub fn poll_next(&self, to: SocketAddr, cx: &mut Context<'_>) -> Poll<Vec<u8>> {
        let mut all = crate::lock(&self.0);
        let Some(link) = all.links.get_mut(&to) else { return Poll::Pending };
        if let Some(message) = link.waiting.pop_front() {
            link.bytes -= message.len();
            return Poll::Ready(message);
        }
        link.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Removes the queue of an xApp. Its messages and `lost` further messages count as dropped.
    pub fn close(&self, to: SocketAddr, lost: u64) {
        let mut all = crate::lock(&self.0);
        let waiting = all.links.remove(&to).map_or(0, |link| link.waiting.len() as u64);
        all.counts.dropped += waiting + lost;
    }
}

/// Control that arrived as an RMR message.
#[derive(Debug)]
pub(super) struct RmrControl {
    token: u64,
    request: RicControlRequest,
    version: Version,
}

impl Console {
    /// Queues an indication of an O-RAN SC subscription.
    pub(super) fn tell_rmr(&self, group: u32, ours: u32, indication: &fast::Indication<'_>) {
        let Some((to, meid)) = self.rmr_of(group) else { return };
        let Some(source) = self.rmr.source() else { return };
        // Subscription ids fit 16 bits.
        let request_id = RicRequestId { requestor: REQUESTOR, instance: ours as u16 };
        let mut pdu = Vec::new();
        if (fast::Indication { request_id, ..*indication }).encode(&mut pdu).is_err() {
            return self.rmr.count(|counts| counts.dropped += 1);
        }
        let subscription = i32::try_from(ours).ok();
        let meid = meid.to_owned();
        let message = Message {
            kind: INDICATION,
            subscription,
            source,
            meid,
            payload: pdu.into(),
            ..Message::default()
        };
        self.rmr.send(to, &message);
    }

    /// Sends a control. The request body is the whole PDU; the response body is the node's PDU with the
    /// client's request id.
    pub(super) fn rmr_control(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let control = call.request;
        let wrong = |error: String| Fault::new(400, error);
        let (node, version) = self.node(call.parameters.text("meid")).map(|node| (node.id, node.version))?;
        let decoded = decode(&control.body, version).map_err(|error| wrong(error.to_string()))?;
        let E2ap::RicControlRequest(request) = decoded.message else {
            return Err(wrong(format!(
                "the PDU must be a RICcontrolRequest, not {}",
                decoded.message.name()
            )));
        };
        let details = ControlDetails {
            call_process_id: request.call_process_id.clone(),
            header: request.header.clone(),
            message: request.message.clone(),
            ack_request: request.ack_request,
        };
        let token = control.token;
        let function = request.function_id;
        let party = control.party.clone();
        let control = RmrControl { token, request, version };
        let refuse = |cause| reply_octets(token, 409, control.failure(cause, None));
        let info = self.nodes.get(&node);
        if info.and_then(|info| info.function(function)).is_none() {
            let cause = Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid);
            call.out.reply(refuse(cause));
        } else if !info.is_some_and(|info| info.connected) || self.rmr_controls.len() >= COMMANDS_MAX {
            call.out.reply(refuse(Cause::RicRequest(CauseRicRequest::SystemNotReady)));
        } else {
            let handle = call.out.control_for(party, node, function, details);
            self.rmr_controls.insert(handle, control);
        }
        Ok(Completion::Later)
    }
}

impl RmrControl {
    fn failure(&self, cause: Cause, outcome: Option<Bytes>) -> Option<Bytes> {
        let RicControlRequest { request_id, function_id, call_process_id, .. } = self.request.clone();
        let failure =
            RicControlFailure { request_id, function_id, call_process_id, cause, outcome, diagnostics: None };
        encode(&E2ap::RicControlFailure(failure), self.version).ok().map(Bytes::from)
    }

    /// Returns the response to the client; `None` for an acknowledgement that it did not request.
    pub(super) fn answered(self, outcome: &Outcome) -> NorthboundReply {
        match outcome {
            Outcome::Failed { cause, outcome } => {
                reply_octets(self.token, 409, self.failure(*cause, outcome.clone()))
            }
            Outcome::Done(_) if self.request.ack_request == Some(RicControlAckRequest::NoAck) => {
                reply_octets(self.token, 204, None)
            }
            Outcome::Done(words) => {
                let RicControlRequest { request_id, function_id, call_process_id, .. } = self.request;
                let outcome = words.clone();
                // E2AP v1.01 requires the control status.
                let status = (self.version == Version::V1_01).then_some(RicControlStatus::Success);
                let done =
                    RicControlAcknowledge { request_id, function_id, call_process_id, status, outcome };
                let pdu = encode(&E2ap::RicControlAcknowledge(done), self.version).ok().map(Bytes::from);
                reply_octets(self.token, 200, pdu)
            }
        }
    }
}
