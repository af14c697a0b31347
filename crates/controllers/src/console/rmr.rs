//! Indications and controls in O-RAN SC's form: RMR messages for who subscribed at `/ric/v1/subscriptions`, and controls that come
//! as such. Here is what is said; [`crate::rmr`] carries it.
use super::{Console, reply_octets};
use crate::north::{COMMANDS_MAX, Done, Fault};
use bytes::Bytes;
use core::net::SocketAddr;
use ranlab_e2::ric::{ControlDetails, IAppOutbox, NorthboundReply, NorthboundRequest, Outcome};
use ranlab_wire::e2ap::{
    Cause, CauseRicRequest, Message as E2ap, RicControlAckRequest, RicControlAcknowledge, RicControlFailure,
    RicControlRequest, RicControlStatus, RicRequestId, Version, decode, encode, fast,
};
use ranlab_wire::rmr::{INDICATION, Message};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// xApps to which messages are under way at once; messages to a further one are dropped.
const LINKS_MAX: usize = 64;
/// Messages that wait for one of them ...
const MESSAGES_MAX: usize = 1_024;
/// ... and their octets; beyond either, the oldest are dropped. librmr's own ring has 4,096 messages, and tells nobody of more.
const BYTES_MAX: usize = 4 << 20;
/// As O-RAN SC's subscription manager has it in all its requests.
const REQUESTOR: u16 = 123;

/// What was counted of RMR since the RIC began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RmrCounts {
    /// Messages that an xApp's socket took. What its library does with them is not seen here.
    pub sent: u64,
    /// Messages dropped: the xApp did not read, or could not be reached.
    pub dropped: u64,
    /// Messages received.
    pub received: u64,
    /// Received messages of types that nobody here answers.
    pub ignored: u64,
    /// Connections ended because their octets were no messages, or refused.
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
    /// Where answers are to go; `None`: nobody carries messages, and none are made.
    source: Option<String>,
    links: BTreeMap<SocketAddr, Link>,
    fresh: VecDeque<SocketAddr>,
    waker: Option<Waker>,
    counts: RmrCounts,
}

/// What waits to be carried.
#[derive(Debug, Clone, Default)]
pub struct Rmr(Arc<Mutex<Links>>);

impl Rmr {
    /// Messages are carried from now on; `source` is where xApps may answer.
    pub fn open(&self, source: String) {
        crate::lock(&self.0).source = Some(source);
    }

    /// Where xApps may answer; `None`: nobody carries messages.
    pub fn source(&self) -> Option<String> {
        crate::lock(&self.0).source.clone()
    }

    /// What was counted.
    pub fn counts(&self) -> RmrCounts {
        crate::lock(&self.0).counts
    }

    /// Counts something.
    pub fn count(&self, what: impl FnOnce(&mut RmrCounts)) {
        what(&mut crate::lock(&self.0).counts);
    }

    /// A message for who listens there.
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

    /// An xApp to which nobody carries messages yet.
    pub fn poll_fresh(&self, cx: &mut Context<'_>) -> Poll<SocketAddr> {
        let mut all = crate::lock(&self.0);
        if let Some(to) = all.fresh.pop_front() {
            return Poll::Ready(to);
        }
        all.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// The next message for an xApp.
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

    /// Nobody carries messages there any more; those that wait, and `lost` more, are counted as dropped.
    pub fn close(&self, to: SocketAddr, lost: u64) {
        let mut all = crate::lock(&self.0);
        let waiting = all.links.remove(&to).map_or(0, |link| link.waiting.len() as u64);
        all.counts.dropped += waiting + lost;
    }
}

/// A control that came as an RMR message.
#[derive(Debug)]
pub(super) struct Asked {
    token: u64,
    request: RicControlRequest,
    version: Version,
}

impl Console {
    /// An indication of a subscription in O-RAN SC's form.
    pub(super) fn tell_rmr(&self, group: u32, ours: u32, indication: &fast::Indication<'_>) {
        let Some((to, meid)) = self.rmr_of(group) else { return };
        let Some(source) = self.rmr.source() else { return };
        // Numbers of subscriptions are within 16 bits.
        let request_id = RicRequestId { requestor: REQUESTOR, instance: ours as u16 };
        let mut pdu = Vec::new();
        if (fast::Indication { request_id, ..*indication }).encode(&mut pdu).is_err() {
            return self.rmr.count(|counts| counts.dropped += 1);
        }
        let (subscription, meid) = (i32::try_from(ours).ok(), meid.to_owned());
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

    /// A control: the whole PDU is the body, and the answer's is the base station's with the asker's own request id.
    pub(super) fn rmr_control(
        &mut self,
        meid: &str,
        asked: &NorthboundRequest,
        out: &mut IAppOutbox,
    ) -> Result<Done, Fault> {
        let wrong = |error: String| Fault::new(400, error);
        let (node, version) = self.node(meid).map(|node| (node.id, node.version))?;
        let decoded = decode(&asked.body, version).map_err(|error| wrong(error.to_string()))?;
        let E2ap::RicControlRequest(request) = decoded.message else {
            return Err(wrong(format!("a RICcontrolRequest is expected, not {}", decoded.message.name())));
        };
        let details = ControlDetails {
            call_process_id: request.call_process_id.clone(),
            header: request.header.clone(),
            message: request.message.clone(),
            ack_request: request.ack_request,
        };
        let (token, function, party) = (asked.token, request.function_id, asked.party.clone());
        let asked = Asked { token, request, version };
        let refuse = |cause| reply_octets(token, 409, asked.failure(cause, None));
        let info = self.nodes.get(&node);
        if info.and_then(|info| info.function(function)).is_none() {
            let cause = Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid);
            out.reply(refuse(cause));
        } else if !info.is_some_and(|info| info.connected) || self.rmr_controls.len() >= COMMANDS_MAX {
            out.reply(refuse(Cause::RicRequest(CauseRicRequest::SystemNotReady)));
        } else {
            let handle = out.control_for(party, node, function, details);
            self.rmr_controls.insert(handle, asked);
        }
        Ok(Done::Later)
    }
}

impl Asked {
    fn failure(&self, cause: Cause, outcome: Option<Bytes>) -> Option<Bytes> {
        let RicControlRequest { request_id, function_id, call_process_id, .. } = self.request.clone();
        let failure =
            RicControlFailure { request_id, function_id, call_process_id, cause, outcome, diagnostics: None };
        encode(&E2ap::RicControlFailure(failure), self.version).ok().map(Bytes::from)
    }

    /// What the asker hears; `None` of an acknowledgement that it did not want.
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
                // v1.01 must say how it ended.
                let status = (self.version == Version::V1_01).then_some(RicControlStatus::Success);
                let done =
                    RicControlAcknowledge { request_id, function_id, call_process_id, status, outcome };
                let pdu = encode(&E2ap::RicControlAcknowledge(done), self.version).ok().map(Bytes::from);
                reply_octets(self.token, 200, pdu)
            }
        }
    }
}
