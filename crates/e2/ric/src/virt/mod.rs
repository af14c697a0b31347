//! Virtualization controller (FlexRIC §6.2, appendix B): operators share base stations without seeing each
//! other.
//!
//! ```text
//! slicing controller of A   slicing controller of B      each sees base stations with its own UEs and a
//!            ‖ E2                     ‖ E2               virtual carrier: its share of the real one
//!    agents ── TenantBroker ── Virt (an iApp) ── RIC
//!                                                 ‖ E2
//!                                            base station
//! ```
//!
//! Towards base stations it is a RIC with the iApp [`Virt`]; towards each operator it is one agent per base
//! station ([`TenantBroker::agent`]). Both sides exchange data through the [`TenantBroker`], which hands [`BrokerTask`]s to its
//! owner: a driver on sockets, or a simulation in virtual time. Virtualization controllers can be nested.
//!
//! A UE belongs to the operator whose PLMN or slice it selected. Resources are shared as in NVS, scaled by the
//! operator's share ([`TenantShare`]). An operator's control gets its response when the base station has responded. The
//! only state is the reports of base stations, and the operators' controls since they connected. After a restart,
//! operators have to send their controls again.
//!
//! A CU-CP, a CU-UP and one DU are shown as one base station; with n DUs, as n base stations.
//!
//! | resource | GET |
//! |---|---|
//! | `tenants` | the operators: shares, subscribers, slice ids |
//! | `nodes` | base stations as operators see them, with each operator's slices and UEs |
mod broker;
mod functions;
mod lease;
mod station;
mod tenants;

pub use broker::{BrokerTask, STATIONS_MAX, TenantBroker, TenantNodeId};
pub use lease::TenantShare;
pub use tenants::{TENANTS_MAX, Tenant, VirtError};

use crate::northbound::{Call, Completion, Fault, Handler};
use crate::watch::{RETRY, SubscriptionTracker};
use broker::State;
use ranlab_e2::Time;
use ranlab_e2::ric::{ControlDetails, IApp, IAppInput, IAppOutbox, NodeInfo, NodeKind, Outcome};
use ranlab_e2_codec::e2ap::{Cause, GlobalE2NodeId, RicControlAckRequest};
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::plain::EventTrigger;
use ranlab_e2_codec::e2sm::rrc::{Rrc, RrcChange, RrcCommand, RrcEvent, RrcIndication, RrcTrigger};
use ranlab_e2_codec::e2sm::slice::{SliceIndication, SliceModel};
use ranlab_e2_codec::e2sm::{Encoding, Octets, ServiceModel, gtp, mac, pdcp, rlc};
use ranlab_machine::routes::{Document, Routed};
use station::Command;
use std::collections::BTreeMap;
use std::time::Duration;
use tenants::Tenants;

/// Routes of this iApp, and the additions to their OpenAPI description.
pub const DOCUMENT: Document =
    Document { routes: Virt::ROUTES, details: include_str!("../../openapi/virt.json") };
/// Name of this iApp, in northbound paths.
pub const NAME: &str = "virt";

/// Timer that retries refused controls.
const REFUSED_TIMER: u64 = 1;
/// Index of SLICE among the watched models. RRC follows, then [`STATISTICS`].
const SLICE: usize = 0;
const RRC: usize = 1;
/// Statistics models that are partitioned by operator.
const STATISTICS: [&str; 4] = [mac::OID, rlc::OID, pdcp::OID, gtp::OID];

/// iApp of the virtualization controller.
#[derive(Debug)]
pub struct Virt {
    watch: SubscriptionTracker,
    desk: TenantBroker,
    /// Last RRC event of each connected UE, by base station and RNTI.
    ues: BTreeMap<GlobalE2NodeId, BTreeMap<u16, RrcEvent>>,
    /// E2 nodes and their RAN functions.
    parts: BTreeMap<GlobalE2NodeId, NodeInfo>,
    /// Base stations whose E2 nodes are all connected, with these E2 nodes.
    complete: BTreeMap<GlobalE2NodeId, Vec<(GlobalE2NodeId, NodeKind)>>,
    retry_set: bool,
}

impl Virt {
    /// Returns a controller for operators that share every base station.
    ///
    /// With `sharing`, resources that one operator leaves idle go to the others. `ids` is the number of slice
    /// ids per operator. Statistics are requested every `period`.
    ///
    /// # Errors
    /// Fails if the shares, subscribers, ids or the period are invalid.
    pub fn new(
        tenants: &[Tenant],
        sharing: bool,
        ids: u16,
        period: Duration,
    ) -> Result<(Self, TenantBroker), VirtError> {
        let desk = TenantBroker::new(State::new(Tenants::new(tenants, sharing, ids)?));
        let virt = Self::behind(&desk, period)?;
        Ok((virt, desk))
    }

    /// Returns a restarted controller for an existing mailbox, whose operators' agents stay connected.
    ///
    /// # Errors
    /// Fails if the period is not supported.
    pub fn behind(desk: &TenantBroker, period: Duration) -> Result<Self, VirtError> {
        let slice = SliceModel::periodic(period)?.to_octets(Encoding::Per)?;
        let rrc = RrcTrigger::EVENTS.to_octets(Encoding::Per)?;
        let every = EventTrigger::every(period)?.to_octets(Encoding::Plain)?;
        let mut triggers = vec![(SliceModel::OID, slice), (Rrc::OID, rrc)];
        triggers.extend(STATISTICS.map(|oid| (oid, every.clone())));
        desk.state().forget_all();
        Ok(Self {
            watch: SubscriptionTracker::new(triggers),
            desk: desk.clone(),
            ues: BTreeMap::new(),
            parts: BTreeMap::new(),
            complete: BTreeMap::new(),
            retry_set: false,
        })
    }

    /// Shows a complete base station to the operators, one per E2 node that schedules carriers and supports
    /// SLICE.
    fn on_node_complete(&mut self, base: &GlobalE2NodeId) {
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
                state.on_station_complete(id, part.id, cu.id, &cu.components);
            }
        }
    }

    /// Applies an indication of an E2 node.
    fn on_indication(&mut self, part: GlobalE2NodeId, model: usize, message: &[u8]) {
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

    /// Sends the next control to each base station.
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
            let function = watch.function(&part, model)?;
            let message = message.ok()?;
            let ack_request = Some(RicControlAckRequest::Ack);
            let header = bytes::Bytes::new();
            let details = ControlDetails { call_process_id: None, header, message, ack_request };
            Some(out.control(part, function, details))
        });
        if state.is_refused() && !std::mem::replace(&mut self.retry_set, true) {
            out.wake_at(now + RETRY, REFUSED_TIMER);
        }
    }

    fn tenants(&mut self, _: &mut Call<'_>) -> Result<Completion, Fault> {
        Ok(Completion::Answer(self.desk.state().tenants.as_json()))
    }

    fn nodes(&mut self, _: &mut Call<'_>) -> Result<Completion, Fault> {
        Ok(Completion::Answer(self.desk.state().stations_as_json()))
    }
}

ranlab_machine::routes! {
    impl Virt: Handler<Virt>, at "/v1/", faults [405, 421, 503, 504] {
        Get "tenants" tenants -> 200: Tenants, Operator, "the operators";
        Get "nodes" nodes -> 200: Nodes, Operator, "base stations as operators see them";
    }
}

/// Converts the outcome of a control sent by this controller.
fn end(outcome: &Outcome) -> Result<(), Refusal> {
    let refusal = |cause: &Cause| {
        Refusal::new(
            Reason::NotSupported,
            format!("the base station refused the command without details: {cause}"),
        )
    };
    match outcome {
        Outcome::Done(_) => Ok(()),
        Outcome::Failed { outcome: Some(words), cause } => {
            Err(Refusal::decode_as(Encoding::Per, words).unwrap_or_else(|_| refusal(cause)))
        }
        Outcome::Failed { cause, .. } => Err(refusal(cause)),
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
                    self.on_node_complete(&node.id.base_station());
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
                self.on_node_complete(&ran.id);
            }
            IAppInput::RanIncomplete(ran) => {
                self.complete.remove(&ran.id);
                self.desk.state().lose_base(&ran.id);
            }
            IAppInput::Indication { subscription, indication, .. } => {
                if let Some((part, model)) = self.watch.node_of(subscription) {
                    self.on_indication(part, model, indication.message);
                }
            }
            IAppInput::ControlDone { request, outcome } => self.desk.state().done(request, &end(outcome)),
            IAppInput::Timer(REFUSED_TIMER) => {
                self.retry_set = false;
                self.desk.state().try_again();
            }
            IAppInput::Northbound(request) => crate::northbound::serve(self, now, request, out),
            _ => {}
        }
        self.go_on(now, out);
    }
}
