//! The virtualization controller (FlexRIC §6.2, appendix B): operators share base stations without seeing each other.
//!
//! ```text
//! slicing controller of A   slicing controller of B      each sees base stations with its own UEs, and 100 % of a carrier
//!            ‖ E2                     ‖ E2                that is its share of the real one
//!         agents ─── Desk ─── Virt (an iApp) ─── RIC
//!                                                 ‖ E2
//!                                            base station
//! ```
//!
//! Towards base stations it is a RIC with [`Virt`] inside; towards each operator it is an agent for each base station
//! ([`Desk::agent`]). Both ends meet in the [`Desk`], which says by [`Errand`]s what its owner has to do: a driver on
//! sockets, or one in virtual time. It is nothing but a controller below and base stations above: it can be put on itself.
//!
//! Operators' UEs are those that selected their networks or slices. Resources are shared as NVS does, scaled by the
//! operator's share ([`Lease`]). What an operator commands is answered when the base station has answered. All that is
//! known is what base stations say, and what operators commanded since they came: after a restart operators command anew.
//!
//! A CU-CP, CU-UP and one DU are told as one base station; with n DUs as n base stations.
//!
//! | resource | GET |
//! |---|---|
//! | `tenants` | the operators: shares, subscribers, slice ids |
//! | `nodes` | base stations as operators see them, and what each has there |
mod desk;
mod functions;
mod lease;
mod station;
mod tenants;

pub use desk::{Desk, Errand, FaceId, STATIONS_MAX};
pub use lease::Lease;
pub use tenants::{TENANTS_MAX, Tenant, VirtError};

use crate::north::{Done, Fault, missing, segments};
use crate::watch::{RETRY, Watch};
use desk::State;
use ranlab_e2::Time;
use ranlab_e2::ric::{
    ControlDetails, IApp, IAppInput, IAppOutbox, Method, NodeInfo, NodeKind, NorthboundRequest, Outcome,
};
use ranlab_wire::e2ap::{Cause, GlobalE2NodeId, RicControlAckRequest};
use ranlab_wire::e2sm::control::{Reason, Refusal};
use ranlab_wire::e2sm::plain::EventTrigger;
use ranlab_wire::e2sm::rrc::{Rrc, RrcChange, RrcCommand, RrcEvent, RrcIndication, RrcTrigger};
use ranlab_wire::e2sm::slice::{SliceIndication, SliceModel};
use ranlab_wire::e2sm::{Encoding, Octets, ServiceModel, gtp, mac, pdcp, rlc};
use station::Command;
use std::collections::BTreeMap;
use std::time::Duration;
use tenants::Tenants;

/// Its resources, in the terms of OpenAPI 3.1.
pub const OPENAPI: &str = include_str!("../../openapi/virt.json");
/// The name under which it is asked.
pub const NAME: &str = "virt";

/// The timer after which base stations are asked again for what they refused.
const REFUSED_TIMER: u64 = 1;
/// Which of the watched models; behind them are the statistics.
const SLICE: usize = 0;
const RRC: usize = 1;
/// The statistics that are partitioned.
const STATISTICS: [&str; 4] = [mac::OID, rlc::OID, pdcp::OID, gtp::OID];

/// The virtualization controller's iApp.
#[derive(Debug)]
pub struct Virt {
    watch: Watch,
    desk: Desk,
    /// Connected UEs of base stations as RRC told of them last, by RNTI.
    ues: BTreeMap<GlobalE2NodeId, BTreeMap<u16, RrcEvent>>,
    /// Parts, to know what they offer.
    parts: BTreeMap<GlobalE2NodeId, NodeInfo>,
    /// Base stations of which nothing is missing, and their parts.
    complete: BTreeMap<GlobalE2NodeId, Vec<(GlobalE2NodeId, NodeKind)>>,
    retry_set: bool,
}

impl Virt {
    /// A controller for operators that share every base station; `sharing`: what one does not use the others get; `ids`:
    /// slice ids of each; statistics are taken each `period`.
    ///
    /// # Errors
    /// Their shares, subscribers or ids cannot be, or the period cannot.
    pub fn new(
        tenants: &[Tenant],
        sharing: bool,
        ids: u16,
        period: Duration,
    ) -> Result<(Self, Desk), VirtError> {
        let desk = Desk::new(State::new(Tenants::new(tenants, sharing, ids)?));
        let virt = Self::behind(&desk, period)?;
        Ok((virt, desk))
    }

    /// A further life behind a desk, whose operators' agents stay.
    ///
    /// # Errors
    /// The period cannot be.
    pub fn behind(desk: &Desk, period: Duration) -> Result<Self, VirtError> {
        let slice = SliceModel::periodic(period)?.to_octets(Encoding::Per)?;
        let rrc = RrcTrigger::EVENTS.to_octets(Encoding::Per)?;
        let every = EventTrigger::every(period)?.to_octets(Encoding::Plain)?;
        let mut wanted = vec![(SliceModel::OID, slice), (Rrc::OID, rrc)];
        wanted.extend(STATISTICS.map(|oid| (oid, every.clone())));
        desk.state().forget_all();
        Ok(Self {
            watch: Watch::new(wanted),
            desk: desk.clone(),
            ues: BTreeMap::new(),
            parts: BTreeMap::new(),
            complete: BTreeMap::new(),
            retry_set: false,
        })
    }

    /// A base station is complete: its parts that share carriers are base stations to the operators, as soon as they offer
    /// to be told how.
    fn meet(&mut self, base: &GlobalE2NodeId) {
        let Some(complete) = self.complete.get(base) else { return };
        let parts = || complete.iter().filter_map(|(id, kind)| Some((self.parts.get(id)?, kind)));
        let offers_rrc = |(part, _): &(&NodeInfo, _)| part.function_by_oid(Rrc::OID).is_some();
        let Some((cu, _)) = parts().find(offers_rrc) else { return };
        let carriers: Vec<_> =
            parts().filter(|(_, kind)| matches!(kind, NodeKind::Whole | NodeKind::Du)).collect();
        let mut state = self.desk.state();
        for (n, (part, _)) in (0..).zip(&carriers) {
            let id = if carriers.len() == 1 { Some(*base) } else { state.identity_of(base, &part.id, n) };
            if let Some(id) = id.filter(|_| part.function_by_oid(SliceModel::OID).is_some()) {
                state.meet(id, (part.id, cu.id), &cu.components);
            }
        }
    }

    /// A part says something.
    fn hear(&mut self, part: GlobalE2NodeId, model: usize, message: &[u8]) {
        let message = bytes::Bytes::copy_from_slice(message);
        match model {
            SLICE => {
                let Ok(report) = SliceIndication::decode_as(Encoding::Per, &message) else { return };
                let mut state = self.desk.state();
                let known = self.ues.get(&part.base_station());
                let cells = report.ues.iter().filter_map(|ue| Some(known?.get(&ue.rnti)?.cell_id)).collect();
                if state.report(&part, report, cells) {
                    known.into_iter().flat_map(BTreeMap::values).for_each(|ue| state.place(&part, ue));
                }
            }
            RRC => {
                let Ok(news) = RrcIndication::decode_as(Encoding::Per, &message) else { return };
                let ues = self.ues.entry(part.base_station()).or_default();
                let mut state = self.desk.state();
                for event in news.events {
                    if event.change == RrcChange::Release {
                        ues.remove(&event.rnti);
                        state.lose(&part, &event);
                    } else {
                        state.place(&part, &event);
                        let known = RrcEvent { change: RrcChange::Connected, other: None, ..event };
                        ues.insert(known.rnti, known);
                    }
                }
            }
            statistics => {
                let oid = STATISTICS.get(statistics - RRC - 1).copied().unwrap_or_default();
                self.desk.state().keep(&part, oid, message);
            }
        }
    }

    /// Does at each base station what is to be done next.
    fn go_on(&mut self, now: Time, out: &mut IAppOutbox) {
        let watch = &self.watch;
        let mut state = self.desk.state();
        state.go_on(|station, command| {
            let (part, model, message) = match command {
                Command::Slice(command) => (station.part, SLICE, command.to_octets(Encoding::Per)),
                Command::HandOver(it) => {
                    (station.cu, RRC, RrcCommand::Handover(*it).to_octets(Encoding::Per))
                }
            };
            let (function, message) = (watch.function(&part, model)?, message.ok()?);
            let ack_request = Some(RicControlAckRequest::Ack);
            let header = bytes::Bytes::new();
            let details = ControlDetails { call_process_id: None, header, message, ack_request };
            Some(out.control(part, function, details))
        });
        if state.is_refused() && !std::mem::replace(&mut self.retry_set, true) {
            out.wake_at(now + RETRY, REFUSED_TIMER);
        }
    }

    fn northbound(&self, request: &NorthboundRequest) -> Result<Done, Fault> {
        let path = segments(&request.path)?;
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        match (&path[..], request.method) {
            (["tenants"], Method::Get) => Ok(Done::Answer(self.desk.state().tenants.as_json())),
            (["nodes"], Method::Get) => Ok(Done::Answer(self.desk.state().stations_as_json())),
            (["tenants" | "nodes"], _) => Err(Fault::method("GET")),
            _ => Err(missing("resource", &request.path, "tenants and nodes")),
        }
    }
}

/// How a control of ours ended.
fn end(outcome: &Outcome) -> Result<(), Refusal> {
    let unsaid = |cause: &Cause| Refusal::new(Reason::NotSupported, format!("it says no more than: {cause}"));
    match outcome {
        Outcome::Done(_) => Ok(()),
        Outcome::Failed { outcome: Some(words), cause } => {
            Err(Refusal::decode_as(Encoding::Per, words).unwrap_or_else(|_| unsaid(cause)))
        }
        Outcome::Failed { cause, .. } => Err(unsaid(cause)),
    }
}

impl IApp for Virt {
    fn name(&self) -> &str {
        NAME
    }

    fn handle(&mut self, now: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        self.watch.handle(now, &input, out);
        match input {
            IAppInput::NodeAdded(node) | IAppInput::NodeChanged(node) => {
                self.parts.insert(node.id, node.clone());
                if node.connected {
                    self.meet(&node.id.base_station());
                } else {
                    self.desk.state().lose_part(&node.id);
                }
            }
            IAppInput::NodeRemoved(node) => {
                self.parts.remove(&node.id);
                let base = node.id.base_station();
                if self.parts.keys().all(|part| part.base_station() != base) {
                    self.ues.remove(&base);
                }
                self.desk.state().lose_part(&node.id);
            }
            IAppInput::RanComplete(ran) => {
                self.complete.insert(ran.id, ran.parts.clone());
                self.meet(&ran.id);
            }
            IAppInput::RanIncomplete(ran) => {
                self.complete.remove(&ran.id);
                self.desk.state().lose_base(&ran.id);
            }
            IAppInput::Indication { subscription, indication, .. } => {
                if let Some((part, model)) = self.watch.of(subscription) {
                    self.hear(part, model, indication.message);
                }
            }
            IAppInput::ControlDone { request, outcome } => self.desk.state().done(request, &end(outcome)),
            IAppInput::Timer(REFUSED_TIMER) => {
                self.retry_set = false;
                self.desk.state().try_again();
            }
            IAppInput::Northbound(request) => {
                crate::north::conclude(request, self.northbound(request), out);
            }
            _ => {}
        }
        self.go_on(now, out);
    }
}
