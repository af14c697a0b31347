//! The slicing controller (FlexRIC §6.1.2): slices by REST and by policy, whatever the radio access technology.
//!
//! It hears of UEs from RRC events, and of slices from SLICE reports, and commands by SLICE. It keeps no configuration of
//! its own but the policy, and whom somebody has put somewhere by hand, which it hands over among several RICs: what a base station says
//! is how it is.
//!
//! | resource | GET | PUT | DELETE |
//! |---|---|---|---|
//! | `nodes` | all base stations | | |
//! | `nodes/NODE` | one | | |
//! | `nodes/NODE/slices` | its slices | all of them anew | |
//! | `nodes/NODE/slices/ID` | a slice | makes or changes it | ends it |
//! | `nodes/NODE/ues/RNTI` | a UE | into a slice | |
//! | `nodes/NODE/ues/RNTI/cell` | where it is | hands it over | |
//! | `policy` | the rules | other rules | |
mod handover;
mod north;
mod policy;
mod resources;

pub use resources::{
    AlgorithmName, DeadlineResource, PolicyResource, PrbResource, RateResource, RuleResource, SchedulerName,
    SliceResource, SliceSetResource,
};

use crate::north::Commands;
use crate::ues::Ues;
use crate::watch::Watch;
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::{IApp, IAppInput, IAppOutbox, Keeps};
use ranlab_wire::e2ap::GlobalE2NodeId;
use ranlab_wire::e2sm::rrc::{Rrc, RrcChange, RrcEvent, RrcIndication, RrcTrigger};
use ranlab_wire::e2sm::slice::{SliceCommand, SliceIndication, SliceModel};
use ranlab_wire::e2sm::{Encoding, Octets, ServiceModel, SmError};
use resources::Rule;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Its resources, in the terms of OpenAPI 3.1.
pub const OPENAPI: &str = include_str!("../../openapi/slicing.json");
/// The name under which it is asked.
pub const NAME: &str = "slicing";

/// Which of the watched models.
const SLICE: usize = 0;
const RRC: usize = 1;

/// A base station and what it says.
#[derive(Debug, Default)]
struct Node {
    /// Its last report; `None` before the first.
    report: Option<SliceIndication>,
    /// Reports that were none.
    malformed: u64,
    /// Another RIC serves it, whose controller follows the policy there.
    elsewhere: bool,
    /// UEs that were put somewhere by hand: the policy leaves them alone.
    by_hand: BTreeSet<u16>,
    /// What the policy wanted and the base station refused; asked again with the next policy, and when slices change.
    refused: BTreeMap<u16, String>,
}

/// For whom a command is.
#[derive(Debug)]
enum Waiting {
    /// For a northbound request, by its token.
    North { node: GlobalE2NodeId, token: u64, command: SliceCommand },
    /// To hand a UE over, for a northbound request, by its token.
    HandOver { token: u64 },
    /// For the policy, and for these UEs.
    Policy { node: GlobalE2NodeId, command: SliceCommand, rntis: Vec<u16> },
}

/// The slicing controller.
#[derive(Debug)]
pub struct Slicing {
    watch: Watch,
    nodes: BTreeMap<GlobalE2NodeId, Node>,
    ues: Ues,
    policy: PolicyResource,
    rules: Vec<Rule>,
    commands: Commands<Waiting>,
}

impl Slicing {
    /// A controller that asks base stations for reports so often.
    ///
    /// # Errors
    /// There is no such period.
    pub fn new(period: Duration) -> Result<Self, SmError> {
        let slice = SliceModel::periodic(period)?.to_octets(Encoding::Per)?;
        let rrc = RrcTrigger::EVENTS.to_octets(Encoding::Per)?;
        Ok(Self {
            watch: Watch::new(vec![(SliceModel::OID, slice), (Rrc::OID, rrc)]),
            nodes: BTreeMap::new(),
            ues: Ues::default(),
            policy: PolicyResource::default(),
            rules: Vec::new(),
            commands: Commands::default(),
        })
    }

    /// A node says something.
    fn hear(&mut self, id: GlobalE2NodeId, model: usize, message: &[u8], out: &mut IAppOutbox) {
        let message = Bytes::copy_from_slice(message);
        let heard = match model {
            SLICE => SliceIndication::decode_as(Encoding::Per, &message).map(|report| {
                let node = self.nodes.entry(id).or_default();
                if node.report.as_ref().is_some_and(|last| last.set != report.set) {
                    // What could not be among other slices may be now.
                    node.refused.clear();
                }
                node.report = Some(report);
            }),
            _ => {
                RrcIndication::decode_as(Encoding::Per, &message).map(|news| self.learn(id, news.events, out))
            }
        };
        match heard {
            Ok(()) => self.follow_policy_around(id, out),
            Err(_) => self.nodes.entry(id).or_default().malformed += 1,
        }
    }

    fn learn(&mut self, id: GlobalE2NodeId, events: Vec<RrcEvent>, out: &mut IAppOutbox) {
        let base = id.base_station();
        for event in events {
            let parts = self.nodes.iter_mut().filter(|(part, _)| part.base_station() == base);
            if event.change != RrcChange::Connected {
                // Whoever it was before with this RNTI, it is another now.
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

    /// What a command has changed is known before the next report says so.
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
                if let Some(known) = self.nodes.get_mut(&node.id) {
                    known.elsewhere = node.relayed;
                }
            }
            IAppInput::Indication { subscription, indication, .. } => {
                if let Some((id, model)) = self.watch.of(subscription) {
                    self.hear(id, model, indication.message, out);
                }
            }
            IAppInput::NodeRemoved(node) => self.forget(&node.id),
            IAppInput::ControlDone { request, outcome } => {
                if let Some((waiting, ended)) = self.commands.done(request, outcome) {
                    self.ended(waiting, ended, out);
                }
            }
            IAppInput::Northbound(request) => {
                let done = self.northbound(request, out);
                crate::north::conclude(request, done, out);
            }
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
