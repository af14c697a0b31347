//! Slicing controller (FlexRIC §6.1.2): slices by REST and by policy, for any radio access technology.
//!
//! Inputs are RRC events (UEs) and SLICE reports (slices); outputs are SLICE controls. The controller stores only the policy and the UEs
//! that a REST request associated with a slice, and hands these over between RICs. All other state comes from reports of base stations.
//!
//! | resource | GET | PUT | DELETE |
//! |---|---|---|---|
//! | `nodes` | all base stations | | |
//! | `nodes/NODE` | one base station | | |
//! | `nodes/NODE/slices` | its slices | replaces all slices | |
//! | `nodes/NODE/slices/ID` | a slice | creates or changes it | deletes it |
//! | `nodes/NODE/quotas` | | quotas by S-NSSAI, where there is no SLICE | |
//! | `nodes/NODE/ues/RNTI` | a UE | associates it with a slice | |
//! | `nodes/NODE/ues/RNTI/cell` | its cell | hands it over | |
//! | `policy` | the rules | replaces the rules | |
mod handover;
mod northbound;
mod policy;
mod quotas;
mod resources;

pub use resources::{
    AlgorithmName, DeadlineResource, PolicyResource, PrbResource, RateResource, RuleResource, SchedulerName,
    SliceResource, SliceSetResource,
};

use crate::northbound::PendingCommands;
use crate::ues::Ues;
use crate::watch::SubscriptionTracker;
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::{IApp, IAppInput, IAppOutbox, Keeps};
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use ranlab_e2_codec::e2sm::rrc::{Rrc, RrcChange, RrcEvent, RrcIndication, RrcTrigger};
use ranlab_e2_codec::e2sm::slice::{SliceCommand, SliceIndication, SliceModel};
use ranlab_e2_codec::e2sm::{Encoding, Octets, ServiceModel, SmError};
use ranlab_machine::routes::{Document, Routed};
use resources::Rule;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Routes of this iApp, and the additions to their OpenAPI description.
pub const DOCUMENT: Document =
    Document { routes: Slicing::ROUTES, details: include_str!("../../openapi/slicing.json") };
/// Name of this iApp, in northbound paths.
pub const NAME: &str = "slicing";

/// Index of the watched service model.
const SLICE: usize = 0;
const RRC: usize = 1;

/// E2 node and its reported slices.
#[derive(Debug, Default)]
struct Node {
    /// Last SLICE report; `None` before the first.
    report: Option<SliceIndication>,
    /// Number of SLICE reports that could not be decoded.
    malformed: u64,
    /// Whether another RIC serves this node and applies the policy there.
    elsewhere: bool,
    /// RNTIs that a REST request associated with a slice; the policy does not move them.
    by_hand: BTreeSet<u16>,
    /// RNTIs whose association was refused, and the reason; retried when the policy or the slices change.
    refused: BTreeMap<u16, String>,
}

/// Origin of a pending control.
#[derive(Debug)]
enum Waiting {
    /// Sent for the northbound request with this token.
    North { node: GlobalE2NodeId, token: u64, command: SliceCommand },
    /// Handover for the northbound request with this token.
    HandOver { token: u64 },
    /// Sent for the northbound request with this token: sets quotas at a base station without SLICE.
    /// `refusal` is the reason if the station refuses; `instead` is the control that is sent after a refusal.
    Quotas { token: u64, refusal: Option<&'static str>, instead: Option<Box<quotas::Control>> },
    /// Sent by the policy for these UEs.
    Policy { node: GlobalE2NodeId, command: SliceCommand, rntis: Vec<u16> },
}

/// iApp that manages slices.
#[derive(Debug)]
pub struct Slicing {
    watch: SubscriptionTracker,
    nodes: BTreeMap<GlobalE2NodeId, Node>,
    /// Base stations without SLICE.
    others: BTreeMap<GlobalE2NodeId, quotas::Other>,
    ues: Ues,
    policy: PolicyResource,
    rules: Vec<Rule>,
    commands: PendingCommands<Waiting>,
}

impl Slicing {
    /// Returns a controller that requests SLICE reports every `period`.
    ///
    /// # Errors
    /// Fails if the service model does not support the period.
    pub fn new(period: Duration) -> Result<Self, SmError> {
        let slice = SliceModel::periodic(period)?.to_octets(Encoding::Per)?;
        let rrc = RrcTrigger::EVENTS.to_octets(Encoding::Per)?;
        Ok(Self {
            watch: SubscriptionTracker::new(vec![(SliceModel::OID, slice), (Rrc::OID, rrc)]),
            nodes: BTreeMap::new(),
            others: BTreeMap::new(),
            ues: Ues::default(),
            policy: PolicyResource::default(),
            rules: Vec::new(),
            commands: PendingCommands::default(),
        })
    }

    /// Applies an indication of an E2 node.
    fn on_indication(&mut self, id: GlobalE2NodeId, model: usize, message: &[u8], out: &mut IAppOutbox) {
        let message = Bytes::copy_from_slice(message);
        let decoded = match model {
            SLICE => SliceIndication::decode_as(Encoding::Per, &message).map(|report| {
                let node = self.nodes.entry(id).or_default();
                if node.report.as_ref().is_some_and(|last| last.set != report.set) {
                    // With other slices, a refused association may now succeed.
                    node.refused.clear();
                }
                node.report = Some(report);
            }),
            _ => {
                RrcIndication::decode_as(Encoding::Per, &message).map(|news| self.learn(id, news.events, out))
            }
        };
        match decoded {
            Ok(()) => self.follow_policy_around(id, out),
            Err(_) => self.nodes.entry(id).or_default().malformed += 1,
        }
    }

    fn learn(&mut self, id: GlobalE2NodeId, events: Vec<RrcEvent>, out: &mut IAppOutbox) {
        let base = id.base_station();
        for event in events {
            let parts = self.nodes.iter_mut().filter(|(part, _)| part.base_station() == base);
            if event.change != RrcChange::Connected {
                // The RNTI now belongs to another UE or to no UE.
                for (part, node) in parts {
                    if node.by_hand.remove(&event.rnti) {
                        out.save(Some(*part));
                    }
                    node.refused.remove(&event.rnti);
                }
            }
            self.ues.learn(&id, event);
        }
    }

    /// Applies a confirmed control to the last report, before the next report arrives.
    fn took_effect(&mut self, id: &GlobalE2NodeId, command: &SliceCommand) {
        let report = self.nodes.get_mut(id).and_then(|node| node.report.as_mut());
        let Some(report) = report else { return };
        if let Ok(next) = report.set.after(command, report.prbs) {
            report.set = next;
        }
        if let SliceCommand::Associate(ues) = command {
            report.ues.retain(|known| ues.iter().all(|ue| ue.rnti != known.rnti));
            report.ues.extend(ues);
        }
        let set = &report.set;
        report.ues.retain(|ue| set.slice(ue.slice).is_some());
    }

    fn forget(&mut self, id: &GlobalE2NodeId) {
        self.nodes.remove(id);
        self.others.remove(id);
        let base = id.base_station();
        if self.nodes.keys().all(|other| other.base_station() != base) {
            self.ues.forget(id);
        }
    }
}

impl IApp for Slicing {
    fn name(&self) -> &str {
        NAME
    }

    fn handle(&mut self, now: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        for (id, _) in self.watch.handle(now, &input, out) {
            self.nodes.entry(id).or_default();
        }
        match input {
            IAppInput::NodeAdded(node) | IAppInput::NodeChanged(node) => {
                match quotas::Other::new(node) {
                    Some(other) => drop(self.others.insert(node.id, other)),
                    None => drop(self.others.remove(&node.id)),
                }
                if let Some(known) = self.nodes.get_mut(&node.id) {
                    known.elsewhere = node.relayed;
                }
            }
            IAppInput::Indication { subscription, indication, .. } => {
                if let Some((id, model)) = self.watch.node_of(subscription) {
                    self.on_indication(id, model, indication.message, out);
                }
            }
            IAppInput::NodeRemoved(node) => self.forget(&node.id),
            IAppInput::ControlDone { request, outcome } => {
                if let Some((waiting, ended)) = self.commands.done(request, outcome) {
                    self.ended(waiting, ended, out);
                }
            }
            IAppInput::Northbound(request) => crate::northbound::serve(self, now, request, out),
            _ => {}
        }
    }

    fn keeps(&self) -> Option<Keeps> {
        Some(handover::KEEPS)
    }

    fn snapshot(&self, about: Option<&GlobalE2NodeId>) -> Bytes {
        self.known(about)
    }

    fn restore(
        &mut self,
        _: Time,
        about: Option<&GlobalE2NodeId>,
        snapshot: &Bytes,
        out: &mut IAppOutbox,
    ) -> Result<(), String> {
        self.take_over(about, snapshot, out)
    }
}
