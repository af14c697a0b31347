//! The virtualization controller as a component: a RIC towards base stations, and an agent towards each operator for
//! each base station.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ranlab_campaign::schema::Kind;
use ranlab_ric::virt::{self, BrokerTask, Tenant, TenantBroker, TenantNodeId, Virt};
use ranlab_ric_server::rest::Resources;
use ranlab_sdk::AgentHandle;
use ranlab_sdk::e2::ric::IAppId;
use ranlab_sdk::transport::{Address, SocketOptions};
use ranlab_sdk::wire::e2ap::Version;
use tokio::sync::Notify;

use crate::e2_fields::E2Names;
use crate::ric::HttpListener;
use crate::{E2_PORT, Ric, RicComponent};
use ranlab_lab::field::{Each, Text};
use ranlab_lab::worker::{ComponentError, Counters, Report};
use ranlab_lab::{AllowedPeer, Listen, RunningComponent, Task, config, loopback, rig};
use ranlab_ran::{Spell, Spelled};

/// Default port of the virtualization controller.
pub const VIRT_PORT: u16 = 8094;

config! {
    /// The virtualization controller.
    pub struct VirtComponent {
        /// address on which the controller accepts base stations; repeatable
        e2: Vec<Listen> = vec![Listen::At(loopback(E2_PORT))], wiring();
        /// address of the HTTP server, which serves /v1/tenants, /v1/nodes and /openapi.json
        http: SocketAddr = SocketAddr::from(([127, 0, 0, 1], VIRT_PORT)), wiring();
        /// file with the bearer token that HTTP requests must carry; required on a non-loopback address
        http_token_file: Option<PathBuf> = None, local();
        /// additional host name accepted in the Host header of HTTP requests, besides IP addresses and localhost;
        /// repeatable
        host: Vec<String> = Vec::new(), wiring();
        /// accept TCP connections of base stations only from these addresses; repeatable [default: all]
        allow: Vec<AllowedPeer> = Vec::new(), wiring();
        /// E2AP version towards base stations: 1.01, 2.03 or 3.01; with 3.01, nodes that set up with version 2 or later
        /// are treated as version 3
        e2ap: Version as E2Names = Version::V2_03;
        /// operator, as NAME:SHARE:SUBSCRIBERS@ADDRESS: its share of every carrier, the networks and slices of its UEs,
        /// and the address of its controller, e.g. A:0.5:001.01+1-0000ff@tcp://127.0.0.1:36431; repeatable
        tenant: Vec<Spelled<TenantPlan>> as Each<Text> = Vec::new();
        /// whether other operators may use the unused share of an operator
        sharing: bool = true, kind(Kind::Bool);
        /// number of slice ids per operator, counted from 0; an operator that hosts further operators needs more
        ids: u16 = 10, range(1, 30_000);
        /// report period requested from base stations, which is also the maximum age of the operators' statistics
        period: Duration = Duration::from_millis(100);
    }
}

/// The text form of an operator.
#[derive(Debug, Clone, PartialEq)]
pub struct TenantPlan {
    /// Display name of the operator.
    pub name: String,
    /// Share of every carrier that the operator gets, 0 to 1.
    pub share: f64,
    /// Networks and slices whose UEs belong to the operator.
    pub subscribers: Vec<String>,
    /// Address of the operator's controller. In virtual time, it is the name of the operator's RIC.
    pub controller: String,
}

impl Spell for TenantPlan {
    const ALLOWED: &'static str =
        "NAME:SHARE:SUBSCRIBERS@ADDRESS, e.g. A:0.5:001.01+1-0000ff@tcp://127.0.0.1:36431";

    fn spell(text: &str) -> Option<Self> {
        let (agreed, controller) = text.split_once('@').unwrap_or((text, ""));
        let mut words = agreed.split(':');
        let (name, share, subscribers, None) = (words.next()?, words.next()?, words.next()?, words.next())
        else {
            return None;
        };
        let subscribers = subscribers.split('+').map(str::to_owned).collect();
        let name = name.to_owned();
        let controller = controller.to_owned();
        Some(Self { name, share: share.parse().ok()?, subscribers, controller })
            .filter(|it| !it.name.is_empty())
    }
}

impl VirtComponent {
    /// Returns the settings of the RIC towards base stations.
    pub(crate) fn ric(&self) -> RicComponent {
        RicComponent {
            e2: self.e2.clone(),
            allow: self.allow.clone(),
            e2ap: self.e2ap,
            ..RicComponent::default()
        }
    }

    /// Returns the iApp, and its mailbox towards the operators' agents.
    ///
    /// # Errors
    ///
    /// Returns an error if the operators' shares are invalid.
    pub(crate) fn iapp(&self) -> Result<(Virt, TenantBroker), ComponentError> {
        let tenant = |plan: &Spelled<TenantPlan>| {
            let TenantPlan { name, share, subscribers, .. } = &plan.value;
            let subscribers: Vec<_> = subscribers.iter().map(String::as_str).collect();
            Tenant::new(name, *share, &subscribers)
        };
        let tenants = self.tenant.iter().map(tenant).collect::<Result<Vec<_>, _>>().map_err(rig)?;
        Virt::new(&tenants, self.sharing, self.ids, self.period).map_err(rig)
    }

    /// Returns the addresses of the operators' controllers, in the order of the operators.
    pub(crate) fn controllers(&self) -> Vec<String> {
        self.tenant.iter().map(|plan| plan.value.controller.clone()).collect()
    }

    /// Listens, serves and connects to the operators. Must be called inside a `LocalSet`. The RIC's `bound` also
    /// contains `http`.
    ///
    /// # Errors
    ///
    /// Returns an error if an address cannot be bound, or the shares or an address of an operator are invalid.
    pub async fn serve(&self) -> Result<Shared, ComponentError> {
        let address = |plan: &Spelled<TenantPlan>| {
            let wrong = |error| rig(format!("`tenant` {}: its controller: {error}", plan.value.name));
            plan.value.controller.parse::<Address>().map_err(wrong)
        };
        let operators = self.tenant.iter().map(address).collect::<Result<Vec<_>, _>>()?;
        let (iapp, desk) = self.iapp()?;
        let mut ric = Ric::start(&self.ric()).await?;
        let iapp = ric.handle.add_iapp(Box::new(iapp));
        let resources = Resources { iapp: virt::NAME, document: virt::DOCUMENT, events: None };
        let door = HttpListener::new(self.http, &self.host, self.http_token_file.as_deref())?;
        ric.serve("http", door, Some(resources)).await?;
        let faces = Rc::<RefCell<BTreeMap<_, _>>>::default();
        let runner = Runner { desk, operators, faces: Rc::clone(&faces), ric: ric.handle.clone(), iapp };
        let task = Task::spawn(runner.run());
        Ok(Shared { ric, faces, _task: task })
    }
}

/// Agents towards operators, by base station and operator.
type Faces = Rc<RefCell<BTreeMap<TenantNodeId, AgentHandle>>>;

/// A running virtualization controller.
pub struct Shared {
    /// RIC to which the base stations connect.
    pub ric: Ric,
    faces: Faces,
    _task: Task,
}

/// Executes the controller's requests.
struct Runner {
    desk: TenantBroker,
    operators: Vec<Address>,
    faces: Faces,
    ric: ranlab_sdk::RicHandle,
    iapp: IAppId,
}

impl Runner {
    async fn run(self) {
        let called = Arc::new(Notify::new());
        let call = Arc::clone(&called);
        self.desk.on_errand(move || call.notify_one());
        loop {
            while let Some(errand) = self.desk.next_errand() {
                self.run_errand(errand);
            }
            called.notified().await;
        }
    }

    fn run_errand(&self, errand: BrokerTask) {
        match errand {
            BrokerTask::Open(face) => {
                let known = self.faces.borrow().get(&face).cloned();
                let agent = known.or_else(|| {
                    let agent = AgentHandle::start(self.desk.agent(face)?, SocketOptions::default());
                    self.faces.borrow_mut().insert(face, agent.clone());
                    Some(agent)
                });
                let operator = self.desk.face(face).and_then(|(_, tenant)| self.operators.get(tenant));
                if let (Some(agent), Some(operator)) = (agent, operator) {
                    // Adding the controller cannot fail, because the agent has no other controller.
                    let _ = agent.add_controller(operator);
                }
            }
            BrokerTask::Close(face) => {
                let Some(agent) = self.faces.borrow().get(&face).cloned() else { return };
                let all: Vec<_> = agent.read(|agent| agent.controllers().map(|(id, _)| id).collect());
                for id in all {
                    let _ = agent.remove_controller(id);
                }
            }
            BrokerTask::Tend(face) => {
                let agent = self.faces.borrow().get(&face).cloned();
                agent.into_iter().for_each(|it| it.with(|agent, now| self.desk.tend(face, agent, now)));
            }
            BrokerTask::Rouse => self.ric.with(|ric, now| ric.wake_iapp(now, self.iapp)),
        }
    }
}

impl RunningComponent for Shared {
    fn addresses(&self) -> BTreeMap<String, String> {
        self.ric.addresses()
    }

    fn counters(&mut self) -> Counters {
        let mut numbers = self.ric.counters();
        let up = |agent: &AgentHandle| agent.read(|it| it.controllers().any(|(id, _)| it.is_up(id)));
        let faces = self.faces.borrow().values().filter(|agent| up(agent)).count();
        numbers.insert("faces".to_owned(), faces as f64);
        numbers
    }

    fn begin(&mut self) {
        self.ric.begin();
    }

    fn end(&mut self, report: &mut Report) {
        self.ric.end(report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operator_text_parses_or_is_rejected() {
        let plan = TenantPlan::spell("A:0.5:001.01+1-0000ff@tcp://127.0.0.1:36431").unwrap();
        assert_eq!((plan.name.as_str(), plan.share), ("A", 0.5));
        assert_eq!(plan.subscribers, ["001.01", "1-0000ff"]);
        assert_eq!(plan.controller, "tcp://127.0.0.1:36431");
        for text in ["", "A", "A:0.5", ":0.5:001.01", "A:half:001.01", "A:0.5:001.01:x"] {
            assert_eq!(TenantPlan::spell(text), None, "{text}");
        }
        for (tenants, why) in [
            (vec![], "1 to 15 operators"),
            (vec!["A:0.5:001.01", "A:0.5:001.02"], "two operators have the name A"),
            (vec!["A:0.6:001.01", "B:0.5:001.02"], "more than 1"),
            (vec!["A:0:001.01"], "above 0"),
            (vec!["A:1:everybody"], "write a network"),
        ] {
            let tenant = tenants.iter().map(|text| text.parse().unwrap()).collect();
            let refused = VirtComponent { tenant, ..VirtComponent::default() }.iapp().err().unwrap();
            assert!(refused.what.contains(why), "{}", refused.what);
        }
    }
}
