//! RICs with their controllers, and the agents of a virtualization controller towards its operators.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use ranlab_machine::lock;
use ranlab_ric::bus::Bus;
use ranlab_ric::virt::{BrokerTask, TenantBroker, TenantNodeId, Virt};
use ranlab_ric::xapps::Registry;
use ranlab_sdk::e2::agent::{Agent, AgentConfig};
use ranlab_sdk::e2::ric::{IApp, IAppId, Ric, RicConfig};
use ranlab_sim::{PartyId, World};

use super::refused;
use crate::{BusUrl, RicComponent, SlicingComponent, TrafficComponent, VirtComponent};
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{AnyComponent, rig};

/// Messages that a controller has published, stored until the network delivers them.
#[derive(Clone, Default)]
pub(super) struct ControllerOutbox(Arc<Mutex<Vec<Bytes>>>);

impl ControllerOutbox {
    pub(super) fn take(&self) -> Vec<Bytes> {
        std::mem::take(&mut lock(&self.0))
    }
}

impl Bus for ControllerOutbox {
    fn publish(&mut self, _: &str, message: Bytes) {
        lock(&self.0).push(message);
    }
}

/// Creates the RIC's configuration and its iApp. Called for each restart.
fn brain(
    controller: &AnyComponent,
    post: &ControllerOutbox,
    desk: Option<&TenantBroker>,
) -> Result<(RicConfig, Option<Box<dyn IApp>>), ComponentError> {
    if let Some(part) = controller.get::<VirtComponent>() {
        let desk = desk.ok_or_else(|| refused(controller, "controller", "`virt` with a tenant broker"))?;
        return Ok((part.ric().machine()?, Some(Box::new(Virt::behind(desk, part.period).map_err(rig)?))));
    }
    if let Some(part) = controller.get::<SlicingComponent>() {
        return Ok((part.ric().machine()?, Some(Box::new(part.iapp()?))));
    }
    if let Some(part) = controller.get::<TrafficComponent>() {
        if part.bus != BusUrl::Local {
            return Err(rig(format!("bus {} is not supported in virtual time; use `bus` = local", part.bus)));
        }
        return Ok((part.ric().machine()?, Some(Box::new(part.iapp(Box::new(post.clone()))?))));
    }
    match controller.get::<RicComponent>() {
        Some(part) if part.threads != 1 => {
            Err(rig(format!("`threads` must be 1 in virtual time, not {}", part.threads)))
        }
        Some(part) if part.manifests.is_some() => {
            Err(rig("`manifests` is not supported in virtual time, because hosted xApps are processes"))
        }
        Some(part) if part.iapp.is_empty() => Ok((part.machine()?, None)),
        _ => Err(refused(controller, "controller", "`slicing`, `traffic`, `virt` or `ric` without iApps")),
    }
}

/// A RIC with its controller.
pub(super) struct Controller {
    pub(super) name: String,
    pub(super) ric: PartyId,
    /// Id of the iApp that serves REST. It changes at each restart.
    pub(super) iapp: Rc<Cell<Option<IAppId>>>,
    pub(super) post: ControllerOutbox,
    shared: Option<Shared>,
}

/// Additional state of a virtualization controller.
struct Shared {
    desk: TenantBroker,
    /// Names of the operators' RICs.
    operators: Vec<String>,
    faces: BTreeMap<TenantNodeId, PartyId>,
}

impl Shared {
    fn new(part: &VirtComponent) -> Result<Self, ComponentError> {
        let (_, desk) = part.iapp()?;
        Ok(Self { desk, operators: part.controllers(), faces: BTreeMap::new() })
    }

    /// Starts an agent towards an operator. The agent restarts together with its controller.
    fn start(&self, world: &mut World, name: &str, face: TenantNodeId) -> Option<PartyId> {
        let (id, tenant) = self.desk.face(face)?;
        let operator = self.operators.get(tenant)?.clone();
        let name = format!("{name} of {id} towards {operator}");
        let desk = self.desk.clone();
        let first = self.desk.agent(face)?;
        let first = Cell::new(Some(first));
        let make = move |now, _| {
            let born = first.take().or_else(|| desk.agent(face));
            // Agents towards operators are never removed, so the agent exists.
            let mut agent = born.unwrap_or_else(|| Agent::new(AgentConfig::new(id, Vec::new())));
            desk.tend(face, &mut agent, now);
            if desk.is_open(face) {
                let added = agent.add_controller(now, operator.clone());
                debug_assert!(added.is_ok(), "{added:?}");
            }
            agent
        };
        Some(world.node(&name, id, make))
    }
}

impl Controller {
    /// Starts the RIC under its name.
    pub(super) fn new(world: &mut World, name: &str, part: &AnyComponent) -> Result<Self, ComponentError> {
        let post = ControllerOutbox::default();
        let iapp = Rc::new(Cell::new(None));
        let shared = part.get::<VirtComponent>().map(Shared::new).transpose()?;
        let desk = shared.as_ref().map(|shared| shared.desk.clone());
        // The configuration is validated here, because each restart uses it again.
        brain(part, &post, desk.as_ref())?;
        let part = part.clone();
        let letters = post.clone();
        let hosted = iapp.clone();
        let ric = world.ric(name, move |life| {
            let (mut config, iapp) = brain(&part, &letters, desk.as_ref()).unwrap_or_default();
            config.first_instance = u16::try_from(life).unwrap_or(u16::MAX);
            let mut ric = Ric::new(config);
            ric.add_iapp(Box::new(Registry::new().0));
            hosted.set(iapp.map(|iapp| ric.add_iapp(iapp)));
            ric
        });
        Ok(Self { name: name.to_owned(), ric, iapp, post, shared })
    }

    /// Returns the agents towards operators for connected base stations, or `None` if the controller has no operators.
    pub(super) fn faces(&self) -> Option<impl ExactSizeIterator<Item = PartyId> + use<>> {
        let shared = self.shared.as_ref()?;
        let open = shared.faces.iter().filter(|(face, _)| shared.desk.is_open(**face));
        Some(open.map(|(_, party)| *party).collect::<Vec<_>>().into_iter())
    }

    /// Executes pending requests of the virtualization controller.
    pub(super) fn run_errands(&mut self, world: &mut World) {
        let Some(shared) = &mut self.shared else { return };
        while let Some(errand) = shared.desk.next_errand() {
            match errand {
                BrokerTask::Open(face) => match shared.faces.get(&face) {
                    Some(party) => {
                        let operator = shared.desk.face(face).and_then(|(_, it)| shared.operators.get(it));
                        let operator = operator.cloned().unwrap_or_default();
                        // A restarted agent already has this connection, so the error is ignored.
                        world.with_agent(*party, |agent, now| drop(agent.add_controller(now, operator)));
                    }
                    None => {
                        let party = shared.start(world, &self.name, face);
                        shared.faces.extend(party.map(|party| (face, party)));
                    }
                },
                BrokerTask::Close(face) => {
                    let Some(party) = shared.faces.get(&face) else { continue };
                    world.with_agent(*party, |agent, now| {
                        for id in agent.controllers().map(|(id, _)| id).collect::<Vec<_>>() {
                            let _ = agent.remove_controller(now, id);
                        }
                    });
                }
                BrokerTask::Tend(face) => {
                    let Some(party) = shared.faces.get(&face) else { continue };
                    world.with_agent(*party, |agent, now| shared.desk.tend(face, agent, now));
                }
                BrokerTask::Rouse => {
                    if let Some(iapp) = self.iapp.get() {
                        world.with_ric(self.ric, |ric, now| ric.wake_iapp(now, iapp));
                    }
                }
            }
        }
    }
}
