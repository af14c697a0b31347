//! Association controller (FlexRIC §4.1.2, figure 4): exposes UEs to controllers by the network and slice
//! that they selected.
//!
//! The association controller is the default controller of base stations that several operators or services
//! share. RRC events of the CU report the PLMN and slices that a UE selected at attach. Rules map these to
//! further controllers. For each match, the iApp sends association controls to all E2 nodes of the base
//! station: connect to the controller if needed, and expose the UE to it.
//!
//! | resource | GET | PUT | DELETE |
//! |---|---|---|---|
//! | `nodes` | all E2 nodes | | |
//! | `nodes/NODE` | one E2 node: its UEs and the controllers that see them | | |
//! | `nodes/NODE/controllers/ADDRESS` | | | disconnects the E2 node from a controller |
//! | `policy` | the rules | replaces the rules | |
mod northbound;
mod policy;

pub use northbound::{PolicyResource, RuleResource};

use crate::northbound::{FaultReply as _, PendingCommands};
use crate::ues::{UeSelector, Ues};
use crate::watch::{RETRY, SubscriptionTracker};
use bytes::Bytes;
use policy::UnitCommand;
use ranlab_e2::Time;
use ranlab_e2::ric::{IApp, IAppInput, IAppOutbox, NodeInfo, NorthboundReply};
use ranlab_e2_codec::e2ap::{GlobalE2NodeId, RanFunctionId};
use ranlab_e2_codec::e2sm::association::OID;
use ranlab_e2_codec::e2sm::rrc::{Rrc, RrcChange, RrcEvent, RrcIndication, RrcTrigger};
use ranlab_e2_codec::e2sm::{Encoding, Octets, ServiceModel, SmError};
use ranlab_machine::routes::{Document, Routed};
use std::collections::{BTreeMap, BTreeSet};

/// Routes of this iApp, and the additions to their OpenAPI description.
pub const DOCUMENT: Document =
    Document { routes: Association::ROUTES, details: include_str!("../../openapi/association.json") };
/// Name of this iApp, in northbound paths.
pub const NAME: &str = "association";
/// Timer that retries refused controls.
const REFUSED_TIMER: u64 = 1;

/// Rule after validation.
#[derive(Debug)]
struct Rule {
    choice: UeSelector,
    controllers: Vec<String>,
}

/// E2 node and the associations that it has confirmed.
#[derive(Debug, Default)]
struct StationUnit {
    connected: bool,
    /// RAN function that accepts association controls; `None` if the E2 node does not offer it.
    function: Option<RanFunctionId>,
    /// Further controllers that the E2 node is connected to.
    given: BTreeSet<String>,
    /// Controllers that see a UE, by RNTI.
    seen: BTreeMap<u16, BTreeSet<String>>,
    /// Associations of unknown state: the E2 node was disconnected, or the RNTI was reused while a control
    /// was pending.
    doubtful: BTreeSet<(u16, String)>,
    /// RNTIs whose associations have to be compared with the policy.
    look: BTreeSet<u16>,
    /// Pending control. The flag becomes `false` if the RNTI is reused or the E2 node is disconnected.
    under_way: Option<(UnitCommand, bool)>,
    /// Refused steps, each with its reason. They are retried after a delay.
    refused: BTreeMap<UnitCommand, String>,
    /// Number of RRC indications that could not be decoded.
    malformed: u64,
}

/// Origin of a pending control.
#[derive(Debug)]
enum Waiting {
    /// Sent by the policy.
    Policy(GlobalE2NodeId),
    /// Sent for the northbound request with this token: disconnect the E2 node from a controller.
    North { node: GlobalE2NodeId, token: u64, address: String },
}

/// iApp that exposes UEs to further controllers by policy.
#[derive(Debug)]
pub struct Association {
    watch: SubscriptionTracker,
    parts: BTreeMap<GlobalE2NodeId, StationUnit>,
    ues: Ues,
    policy: PolicyResource,
    rules: Vec<Rule>,
    commands: PendingCommands<Waiting>,
    retry_set: bool,
}

impl Association {
    /// Returns a controller without rules.
    ///
    /// # Errors
    /// Fails if the RRC event trigger cannot be encoded, which is not expected.
    pub fn new() -> Result<Self, SmError> {
        let rrc = RrcTrigger::EVENTS.to_octets(Encoding::Per)?;
        Ok(Self {
            watch: SubscriptionTracker::new(vec![(Rrc::OID, rrc)]),
            parts: BTreeMap::new(),
            ues: Ues::default(),
            policy: PolicyResource::default(),
            rules: Vec::new(),
            commands: PendingCommands::default(),
            retry_set: false,
        })
    }

    /// Registers an E2 node, or an update of its RAN functions.
    fn on_node_added(&mut self, now: Time, node: &NodeInfo, out: &mut IAppOutbox) {
        let part = self.parts.entry(node.id).or_default();
        let function = node.function_by_oid(OID).map(|function| function.id);
        let is_back = node.connected && !part.connected;
        let is_new = function.is_some() && part.function.is_none();
        (part.connected, part.function) = (node.connected, function);
        if is_back || is_new {
            part.doubt();
            part.look.extend(self.ues.of_station(&node.id).map(|ue| ue.rnti));
            self.go_on(now, node.id, out);
        }
    }

    fn on_node_removed(&mut self, id: &GlobalE2NodeId) {
        self.parts.remove(id);
        let base = id.base_station();
        if self.parts.keys().all(|other| other.base_station() != base) {
            self.ues.forget(id);
        }
    }

    /// Applies an RRC indication of an E2 node.
    fn on_indication(&mut self, now: Time, id: GlobalE2NodeId, message: &[u8], out: &mut IAppOutbox) {
        match RrcIndication::decode_as(Encoding::Per, &Bytes::copy_from_slice(message)) {
            Ok(news) => {
                news.events.into_iter().for_each(|event| self.learn(id, event));
                for part in self.parts_of(&id) {
                    self.go_on(now, part, out);
                }
            }
            Err(_) => self.parts.entry(id).or_default().malformed += 1,
        }
    }

    fn learn(&mut self, id: GlobalE2NodeId, event: RrcEvent) {
        let rnti = event.rnti;
        let is_another = event.change != RrcChange::Connected;
        self.ues.learn(&id, event);
        for part in self.parts_of(&id) {
            let Some(part) = self.parts.get_mut(&part) else { continue };
            if is_another {
                part.another(rnti);
            }
            part.look.insert(rnti);
        }
    }

    fn parts_of(&self, id: &GlobalE2NodeId) -> Vec<GlobalE2NodeId> {
        let base = id.base_station();
        self.parts.keys().filter(|part| part.base_station() == base).copied().collect()
    }

    /// Starts the retry timer, unless it is running.
    fn retry_later(&mut self, now: Time, out: &mut IAppOutbox) {
        if !std::mem::replace(&mut self.retry_set, true) {
            out.wake_at(now + RETRY, REFUSED_TIMER);
        }
    }

    fn retry(&mut self, now: Time, out: &mut IAppOutbox) {
        self.retry_set = false;
        for (id, part) in self.parts.iter_mut().filter(|(_, part)| !part.refused.is_empty()) {
            part.refused.clear();
            // The E2 node may have lost these connections.
            part.given.clear();
            part.look.extend(self.ues.of_station(id).map(|ue| ue.rnti));
        }
        for id in self.parts.keys().copied().collect::<Vec<_>>() {
            self.go_on(now, id, out);
        }
    }
}

impl StationUnit {
    /// Marks all confirmed associations as unknown.
    fn doubt(&mut self) {
        let seen = std::mem::take(&mut self.seen).into_iter();
        self.doubtful.extend(seen.flat_map(|(rnti, by)| by.into_iter().map(move |address| (rnti, address))));
        self.look.extend(self.doubtful.iter().map(|(rnti, _)| *rnti));
        if let Some((_, is_same)) = &mut self.under_way {
            *is_same = false;
        }
        self.given.clear();
        self.refused.clear();
    }

    /// Drops the state of an RNTI that was released or reassigned to another UE.
    fn another(&mut self, rnti: u16) {
        self.seen.remove(&rnti);
        self.refused.retain(|step, _| step.rnti() != Some(rnti));
        if let Some((step, is_same)) = &mut self.under_way
            && step.rnti() == Some(rnti)
        {
            *is_same = false;
        }
    }
}

impl IApp for Association {
    fn name(&self) -> &str {
        NAME
    }

    fn handle(&mut self, now: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        self.watch.handle(now, &input, out);
        match input {
            IAppInput::NodeAdded(node) | IAppInput::NodeChanged(node) => self.on_node_added(now, node, out),
            IAppInput::NodeRemoved(node) => self.on_node_removed(&node.id),
            IAppInput::Indication { subscription, indication, .. } => {
                if let Some((id, _)) = self.watch.node_of(subscription) {
                    self.on_indication(now, id, indication.message, out);
                }
            }
            IAppInput::ControlDone { request, outcome } => match self.commands.done(request, outcome) {
                Some((Waiting::Policy(node), ended)) => self.ended(now, node, ended, out),
                Some((Waiting::North { node, token, address }, ended)) => {
                    out.reply(match ended {
                        Ok(()) => {
                            self.parted(&node, &address);
                            NorthboundReply { token, status: 200, body: "{}".into() }
                        }
                        Err(fault) => fault.reply(token),
                    });
                }
                None => {}
            },
            IAppInput::Timer(REFUSED_TIMER) => self.retry(now, out),
            IAppInput::Northbound(request) => crate::northbound::serve(self, now, request, out),
            _ => {}
        }
    }
}
