//! Functions that add parties to a world.
use crate::host::{AgentHost, Kind, MakeAgent, Party, SubscriptionGoal, XappHost};
use crate::party::PartyId;
use crate::tracer_function::TracerLog;
use crate::world::World;
use ranlab_e2::Time;
use ranlab_e2::agent::Agent;
use ranlab_e2::ric::{Ric, XappGrant};
use ranlab_e2::xapp::{Xapp, XappConfig};
use ranlab_e2_codec::e2ap::GlobalE2NodeId;

impl World {
    /// Adds a RIC with an address, and starts it. `make` is called for each of its incarnations, numbered from 1.
    pub fn ric(&mut self, address: &str, make: impl Fn(u32) -> Ric + 'static) -> PartyId {
        self.add(address, Kind::Ric(Box::new(make)))
    }

    /// Adds an agent that connects to `rics`. `make` is called with the time and number (from 1) of each incarnation,
    /// and must add the controllers. The logbook is for the agent's [`TracerFunction`](crate::TracerFunction)s.
    pub fn agent(
        &mut self,
        name: &str,
        node_id: GlobalE2NodeId,
        rics: &[&str],
        make: impl Fn(Time, u32, TracerLog) -> Agent + 'static,
    ) -> PartyId {
        let rics = rics.iter().map(|&r| r.to_owned()).collect();
        let logbook = TracerLog::default();
        self.add(name, Kind::Agent(AgentHost { make: Box::new(make), node_id, rics, logbook, judged: true }))
    }

    /// Adds an agent with functions chosen by the caller. Its reports are delivered but not checked.
    pub fn node(
        &mut self,
        name: &str,
        node_id: GlobalE2NodeId,
        make: impl Fn(Time, u32) -> Agent + 'static,
    ) -> PartyId {
        let make: MakeAgent = Box::new(move |now, life, _| make(now, life));
        let rics = Vec::new();
        let logbook = TracerLog::default();
        self.add(name, Kind::Agent(AgentHost { make, node_id, rics, logbook, judged: false }))
    }

    /// Adds an xApp. `grant` is the policy of the RICs for this xApp; deliveries are checked against it.
    pub fn xapp(
        &mut self,
        name: &str,
        config: XappConfig,
        grant: XappGrant,
        wishes: Vec<SubscriptionGoal>,
    ) -> PartyId {
        let wishes = wishes.into_iter().map(|wish| (wish, true)).collect();
        self.add(name, Kind::Xapp(Box::new(XappHost { config, grant, wishes, made: Vec::new() })))
    }

    /// Adds an xApp with subscriptions chosen by the caller. Its events are not checked; the caller takes them with
    /// [`take_heard`](World::take_heard). `make` is called with the time and number (from 1) of each incarnation.
    pub fn client(&mut self, name: &str, make: impl Fn(Time, u32) -> Xapp + 'static) -> PartyId {
        self.add(name, Kind::Client(Box::new(make)))
    }

    /// Adds an xApp that attacks other xApps at a RIC. The policy must not show it any nodes; `nodes` are its targets.
    pub fn impostor(&mut self, name: &str, address: &str, nodes: Vec<GlobalE2NodeId>) -> PartyId {
        self.add(name, Kind::Impostor(address.to_owned(), nodes))
    }

    /// Returns the number of the next party to be added.
    pub fn next_party(&self) -> u32 {
        self.hosts.len() as u32
    }

    fn add(&mut self, name: &str, kind: Kind) -> PartyId {
        self.hosts.push(Party::new(name.to_owned(), kind));
        let party = self.hosts.len() - 1;
        self.start(party);
        PartyId(party)
    }
}
