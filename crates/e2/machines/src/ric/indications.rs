//! The hot path of indications. The request id in the first bytes selects the subscription, and the indication is
//! forwarded to every owner. For an xApp only the bytes of the request id are replaced; nothing is decoded or
//! allocated.
use super::{IAppInput, Owner, Ric, SubscriptionHandle};
use crate::{Frame, Time};
use bytes::Bytes;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::flat;

impl Ric {
    /// Delivers an indication in its usual form. Returns whether the PDU was an indication in this form.
    pub(super) fn indication(&mut self, now: Time, place: usize, pdu: &Bytes) -> bool {
        let Some(head) = fast::Head::peek(pdu) else { return false };
        let Some(node) = self.nodes.at_mut(place) else { return false };
        let found = node.subscriptions.find_mut(head.request_id).filter(|s| s.function == head.function_id);
        let Some(subscription) = found else {
            // Only a complete indication counts as stray; a truncated one is a fault.
            if fast::Indication::decode(pdu).is_none() {
                return false;
            }
            self.counters.indications_stray += 1;
            self.stray(now, place, head.request_id, head.function_id);
            return true;
        };
        let mut view = None;
        self.counters.indications += 1;
        let ends_a_silence = subscription.on_indication(now);
        if ends_a_silence {
            self.links.hints.clear_silence(&node.info.id, subscription.function);
        }
        for sink in &subscription.sinks {
            match sink.owner {
                Owner::Xapp { conn, .. } => {
                    let frame = Frame::patched(pdu, head.request_id_at, &sink.patch);
                    let Some(frame) = frame else { return false };
                    if self.links.push_indication(now, conn, sink.flow, frame) {
                        self.counters.indications_forwarded += 1;
                    }
                }
                Owner::IApp(iapp) => {
                    if view.is_none() {
                        view = fast::Indication::decode(pdu);
                    }
                    // The indication cannot be decoded in place, so the general decoder handles it.
                    let Some(indication) = view else { return false };
                    self.counters.indications_to_iapps += 1;
                    let subscription = SubscriptionHandle::from_request_id(sink.request_id);
                    let input =
                        IAppInput::Indication { subscription, node: &node.info, pdu: Some(pdu), indication };
                    self.iapp_outbox.current = iapp;
                    self.iapps[iapp].handle(now, input, &mut self.iapp_outbox);
                }
            }
        }
        if ends_a_silence {
            self.route_again(place, head.request_id);
        }
        true
    }

    /// Delivers an indication in FlatBuffers. Returns whether the PDU was an indication.
    pub(super) fn flat_indication(&mut self, now: Time, place: usize, pdu: &Bytes) -> bool {
        let Ok(Some(indication)) = flat::indication(pdu) else { return false };
        self.deliver(now, place, indication, Some(pdu));
        true
    }

    /// Delivers an indication that only the general decoder could read.
    pub(super) fn unusual_indication(&mut self, now: Time, place: usize, m: &RicIndication) {
        let indication = fast::Indication {
            request_id: m.request_id,
            function_id: m.function_id,
            action_id: m.action_id,
            sn: m.sn,
            kind: m.kind,
            header: &m.header,
            message: &m.message,
            call_process_id: m.call_process_id.as_deref(),
        };
        self.deliver(now, place, indication, None);
    }

    /// Delivers a decoded indication; `pdu` contains its bytes if it was decoded in place.
    fn deliver(&mut self, now: Time, place: usize, indication: fast::Indication<'_>, pdu: Option<&Bytes>) {
        let Some(node) = self.nodes.at_mut(place) else { return };
        let request = indication.request_id;
        let function = indication.function_id;
        let found = node.subscriptions.find_mut(request).filter(|s| s.function == function);
        let Some(subscription) = found else {
            self.counters.indications_stray += 1;
            return self.stray(now, place, request, function);
        };
        self.counters.indications += 1;
        let ends_a_silence = subscription.on_indication(now);
        if ends_a_silence {
            self.links.hints.clear_silence(&node.info.id, subscription.function);
        }
        for sink in &subscription.sinks {
            match sink.owner {
                Owner::Xapp { conn, .. } => {
                    let own = fast::Indication { request_id: sink.request_id, ..indication };
                    if self.links.push_written(now, conn, sink.flow, &own) {
                        self.counters.indications_forwarded += 1;
                    }
                }
                Owner::IApp(iapp) => {
                    self.counters.indications_to_iapps += 1;
                    let subscription = SubscriptionHandle::from_request_id(sink.request_id);
                    let input = IAppInput::Indication { subscription, node: &node.info, pdu, indication };
                    self.iapp_outbox.current = iapp;
                    self.iapps[iapp].handle(now, input, &mut self.iapp_outbox);
                }
            }
        }
        if ends_a_silence {
            self.route_again(place, request);
        }
    }

    fn route_again(&mut self, place: usize, id: RicRequestId) {
        if let Some(slot) = self.nodes.at(place).and_then(|node| node.subscriptions.slot_of(id)) {
            self.route(place, slot);
        }
    }
}
