//! The association controller (FlexRIC §4.1.2, figure 4): which controllers see which UEs, by what UEs chose.
//!
//! It is the default controller of base stations that several operators or services share. A CU's RRC events tell it what
//! a UE selected when it attached; by rules it tells all parts of the base station, by the association control, to
//! expose that UE to further controllers, which it gives them where they lack them.
//!
//! | resource | GET | PUT | DELETE |
//! |---|---|---|---|
//! | `nodes` | all parts of base stations | | |
//! | `nodes/NODE` | one: its UEs, and who sees them | | |
//! | `nodes/NODE/controllers/ADDRESS` | | | parts it from a controller |
//! | `policy` | the rules | other rules | |
mod north;
mod policy;

pub use north::{PolicyResource, RuleResource};

use crate::north::Commands;
use crate::ues::{Choice, Ues};
use crate::watch::{RETRY, Watch};
use bytes::Bytes;
use policy::Step;
use ranlab_e2::Time;
use ranlab_e2::ric::{IApp, IAppInput, IAppOutbox, NodeInfo, NorthboundReply};
use ranlab_wire::e2ap::{GlobalE2NodeId, RanFunctionId};
use ranlab_wire::e2sm::association::OID;
use ranlab_wire::e2sm::rrc::{Rrc, RrcChange, RrcEvent, RrcIndication, RrcTrigger};
use ranlab_wire::e2sm::{Encoding, Octets, ServiceModel, SmError};
use std::collections::{BTreeMap, BTreeSet};

/// Its resources, in the terms of OpenAPI 3.1.
pub const OPENAPI: &str = include_str!("../../openapi/association.json");
/// The name under which it is asked.
pub const NAME: &str = "association";
/// The timer after which what was refused is tried again.
const REFUSED_TIMER: u64 = 1;

/// A rule that was read.
#[derive(Debug)]
struct Rule {
    choice: Choice,
    controllers: Vec<String>,
}

/// A part of a base station, or a whole one, and what it was told.
#[derive(Debug, Default)]
struct Part {
    connected: bool,
    /// By which it is told; `None` if it takes no such commands.
    function: Option<RanFunctionId>,
    /// Further controllers that it has.
    given: BTreeSet<String>,
    /// By RNTI, who sees a UE.
    seen: BTreeMap<u16, BTreeSet<String>>,
    /// Who may see a UE or not: the part was away, or another UE came while it was being told.
    doubtful: BTreeSet<(u16, String)>,
    /// UEs to look at.
    look: BTreeSet<u16>,
    /// What it is being told, and whether it is still about the same UE.
    under_way: Option<(Step, bool)>,
    /// What it did not do, and why; tried again in a while.
    refused: BTreeMap<Step, String>,
    /// Reports that were none.
    malformed: u64,
}

/// For whom a command is.
#[derive(Debug)]
enum Waiting {
    /// For the rules.
    Policy(GlobalE2NodeId),
    /// For a northbound request, by its token: to part from a controller.
    North { node: GlobalE2NodeId, token: u64, address: String },
}

/// The association controller.
#[derive(Debug)]
pub struct Association {
    watch: Watch,
    parts: BTreeMap<GlobalE2NodeId, Part>,
    ues: Ues,
    policy: PolicyResource,
    rules: Vec<Rule>,
    commands: Commands<Waiting>,
    retry_set: bool,
}

impl Association {
    /// A controller without rules.
    ///
    /// # Errors
    /// None that is known: RRC has a trigger for its events.
    pub fn new() -> Result<Self, SmError> {
        let rrc = RrcTrigger::EVENTS.to_octets(Encoding::Per)?;
        Ok(Self {
            watch: Watch::new(vec![(Rrc::OID, rrc)]),
            parts: BTreeMap::new(),
            ues: Ues::default(),
            policy: PolicyResource::default(),
            rules: Vec::new(),
            commands: Commands::default(),
            retry_set: false,
        })
    }

    /// A part came, or changed.
    fn meet(&mut self, now: Time, node: &NodeInfo, out: &mut IAppOutbox) {
        let part = self.parts.entry(node.id).or_default();
        let function = node.function_by_oid(OID).map(|function| function.id);
        let is_back = node.connected && !part.connected;
        let is_new = function.is_some() && part.function.is_none();
        (part.connected, part.function) = (node.connected, function);
        if is_back || is_new {
            part.doubt();
            part.look.extend(self.ues.of(&node.id).map(|ue| ue.rnti));
            self.go_on(now, node.id, out);
        }
    }

    fn forget(&mut self, id: &GlobalE2NodeId) {
        self.parts.remove(id);
        let base = id.base_station();
        if self.parts.keys().all(|other| other.base_station() != base) {
            self.ues.forget(id);
        }
    }

    /// A part says who came and went.
    fn hear(&mut self, now: Time, id: GlobalE2NodeId, message: &[u8], out: &mut IAppOutbox) {
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
        let (rnti, is_another) = (event.rnti, event.change != RrcChange::Connected);
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

    /// What was refused is tried again after a while.
    fn retry_later(&mut self, now: Time, out: &mut IAppOutbox) {
        if !std::mem::replace(&mut self.retry_set, true) {
            out.wake_at(now + RETRY, REFUSED_TIMER);
        }
    }

    fn retry(&mut self, now: Time, out: &mut IAppOutbox) {
        self.retry_set = false;
        for (id, part) in self.parts.iter_mut().filter(|(_, part)| !part.refused.is_empty()) {
            part.refused.clear();
            // It may have forgotten them.
            part.given.clear();
            part.look.extend(self.ues.of(id).map(|ue| ue.rnti));
        }
        for id in self.parts.keys().copied().collect::<Vec<_>>() {
            self.go_on(now, id, out);
        }
    }
}

impl Part {
    /// It may have lost what it was told.
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

    /// Whoever it was before with this RNTI, it is another now, or nobody.
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
            IAppInput::NodeAdded(node) | IAppInput::NodeChanged(node) => self.meet(now, node, out),
            IAppInput::NodeRemoved(node) => self.forget(&node.id),
            IAppInput::Indication { subscription, indication, .. } => {
                if let Some((id, _)) = self.watch.of(subscription) {
                    self.hear(now, id, indication.message, out);
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
            IAppInput::Northbound(request) => {
                let done = self.northbound(now, request, out);
                crate::north::conclude(request, done, out);
            }
            _ => {}
        }
    }
}
