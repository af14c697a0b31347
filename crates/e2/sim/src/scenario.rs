//! The standard trial: agents, xApps of two tenants, an impostor and an iApp, under all kinds of faults.
use crate::fault::{Disturbance, Fault};
use crate::host::SubscriptionGoal;
use crate::link::LinkProfile;
use crate::party::PartyId;
use crate::tracer_function::TracerFunction;
use crate::watcher::Watcher;
use crate::world::{Violation, World};
use ranlab_e2::agent::{Agent, AgentConfig};
use ranlab_e2::ric::*;
use ranlab_e2::xapp::XappConfig;
use ranlab_e2::{OutboxLimits, Time};
use ranlab_e2_codec::e2ap::*;
use std::collections::BTreeMap;
use std::time::Duration;

/// Object identifiers of the tracer functions of each node.
const OIDS: [&str; 2] = ["1.3.6.1.4.1.53148.7.1", "1.3.6.1.4.1.53148.7.2"];
/// The xApps of the trial: name, tenant, and the networks that the xApp may see.
const XAPPS: [(&str, &str, &[u16]); 3] =
    [("xapp-0", "north", &[1]), ("xapp-1", "north", &[1, 2]), ("xapp-2", "south", &[2])];
const IMPOSTOR: &str = "impostor";
/// Returns the limits of every outbox. They are small, so that the trial reaches them.
fn outbox() -> OutboxLimits {
    OutboxLimits::default().with(|it| {
        (it.control_bytes, it.indication_bytes) = (256 << 10, 2 << 10);
        it.indication_age = Duration::from_millis(2_000);
    })
}

/// Size of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    /// Number of base stations.
    pub agents: u32,
    /// Number of random faults.
    pub faults: usize,
    /// Period in which faults occur.
    pub trouble: Duration,
    /// Time from the start of the last fault until all parties must have recovered.
    pub recovery: Duration,
}

impl Default for Trial {
    /// Returns 20 agents, 40 faults in 90 seconds, and 60 seconds to recover.
    fn default() -> Self {
        let trouble = Duration::from_secs(90);
        let recovery = Duration::from_secs(60);
        Self { agents: 20, faults: 40, trouble, recovery }
    }
}

/// Result of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Digest of the world; see [`World::digest`].
    pub digest: u64,
    /// Number of delivered PDUs.
    pub delivered: u64,
    /// Number of indications that xApps received.
    pub indications: u64,
    /// Number of indications dropped in the final phase with slow links.
    pub dropped: u64,
    /// Simulated duration of the trial.
    pub lasted: Duration,
}

/// Peers by name, each with its grant.
#[derive(Debug, Clone, Default)]
pub struct Directory(pub BTreeMap<String, XappGrant>);

impl XappPolicy for Directory {
    fn admit(&self, peer: &PeerInfo<'_>) -> Result<XappGrant, Cause> {
        self.0.get(peer.peer).cloned().ok_or(Cause::Misc(CauseMisc::OmIntervention))
    }
}

impl Trial {
    /// Runs the trial of a seed.
    pub fn run(&self, seed: u64) -> Result<Outcome, Violation> {
        self.run_in(World::new(seed, LinkProfile::default()))
    }

    /// Runs the trial in an empty world that the caller supplies, such as a traced one.
    pub fn run_in(&self, mut world: World) -> Result<Outcome, Violation> {
        let parties = self.populate(&mut world);
        let from = Time::ZERO;
        let until = Time::ZERO + self.trouble;
        world.disturb(Disturbance {
            from,
            until,
            faults: self.faults,
            away: Duration::from_secs(8),
            lasting: Duration::from_secs(12),
        });
        self.pass(&mut world, self.trouble + self.recovery)?;
        world.check_settled(1)?;
        world.watch();
        self.pass(&mut world, Duration::from_secs(10))?;
        world.check_delivered()?;
        let dropped = self.squeeze(&mut world, &parties)?;
        world.check_settled(1)?;
        let impostor = parties[parties.len() - 1];
        if world.attacks_refused(impostor) == 0 {
            return Err(world.violation("no attack was refused, so the impostor cannot have attacked".into()));
        }
        Ok(Outcome {
            digest: world.digest(),
            delivered: world.delivered(),
            indications: world.indications(),
            dropped,
            lasted: world.now().since(Time::ZERO),
        })
    }

    /// Slows the links without any other fault. Each gap must match a counted drop, and each counted drop must match a
    /// gap.
    fn squeeze(&self, world: &mut World, parties: &[PartyId]) -> Result<u64, Violation> {
        let before = world.losses();
        for &party in parties {
            if world.chance.happens(30) {
                let bytes_per_second = 30;
                let lasting = Duration::from_secs(10);
                world.plan(world.now, Fault::Throttle { party, bytes_per_second, lasting });
            }
        }
        // Data in flight arrives at the slow rate. After that, each subscription reports once more.
        let drain = LinkProfile::default().window_bytes as u64 / 30 + 20;
        self.pass(world, Duration::from_secs(10 + drain))?;
        world.check_losses(&before)?;
        Ok(world.losses().dropped() - before.dropped())
    }

    /// Lets time pass and checks the invariants that hold at any time.
    fn pass(&self, world: &mut World, duration: Duration) -> Result<(), Violation> {
        let end = world.now() + duration;
        while world.now() < end {
            world.run_until(end.min(world.now() + Duration::from_secs(5)))?;
            world.check_always(outbox().control_bytes + outbox().indication_bytes)?;
        }
        Ok(())
    }

    /// Adds the parties. One world in four has two RICs, and the second RIC serves the last xApp. The impostor is
    /// added last.
    fn populate(&self, world: &mut World) -> Vec<PartyId> {
        let rics: &[&str] = if world.chance.happens(25) { &["ric-0", "ric-1"] } else { &["ric-0"] };
        let mut parties = Vec::new();
        let directory = directory();
        for name in rics {
            let directory = directory.clone();
            parties.push(world.ric(name, move |_| ric(directory.clone())));
        }
        let mut nodes = Vec::new();
        for n in 0..self.agents {
            let id = GlobalE2NodeId::gnb(plmn(1 + (n % 2) as u16), n, 32);
            nodes.push(id);
            parties.push(add_agent(world, id, &format!("agent-{n}"), rics));
        }
        for (i, (name, ..)) in XAPPS.iter().enumerate() {
            let address = if i + 1 == XAPPS.len() { rics[rics.len() - 1] } else { rics[0] };
            let mut config = XappConfig::new(address);
            config.seed = world.chance.seed();
            config.limits.outbox = outbox();
            parties.push(world.xapp(name, config, directory.0[*name].clone(), wishes(i, &nodes)));
        }
        parties.push(world.impostor(IMPOSTOR, rics[0], nodes));
        parties
    }
}

fn plmn(network: u16) -> Plmn {
    Plmn::new(505, network, 2)
}

fn directory() -> Directory {
    let grant = |tenant: &str, networks: &[u16]| XappGrant {
        tenant: Tenant::new(tenant),
        nodes: NodeFilter::Plmns(networks.iter().map(|n| plmn(*n)).collect()),
        ..XappGrant::default()
    };
    let xapps = XAPPS.iter().map(|(name, tenant, networks)| ((*name).to_owned(), grant(tenant, networks)));
    Directory(xapps.chain([(IMPOSTOR.to_owned(), grant("mallory", &[]))]).collect())
}

/// Returns the requests of an xApp. The first two xApps share subscriptions with the same tag. The two tenants share
/// no subscription, although both request the same reports.
fn wishes(xapp: usize, nodes: &[GlobalE2NodeId]) -> Vec<SubscriptionGoal> {
    let wish = |oid: usize, period_ms, tag, node| SubscriptionGoal {
        oid: OIDS[oid].to_owned(),
        period_ms,
        tag,
        node,
    };
    let at = |i: usize| nodes.get(i).copied();
    match xapp {
        0 => vec![wish(0, 2_000, 1, None), wish(1, 3_000, 2, at(0)), wish(0, 500, 3, at(2))],
        1 => vec![wish(0, 2_000, 1, None), wish(1, 3_000, 4, None)],
        _ => vec![wish(0, 2_000, 1, None), wish(1, 1_000, 5, at(1)), wish(1, 3_000, 6, None)],
    }
}

fn ric(directory: Directory) -> Ric {
    let mut config = RicConfig::default().with(|it| it.policy = Box::new(directory));
    (config.limits.agent_outbox, config.limits.xapp_outbox) = (outbox(), outbox());
    let mut ric = Ric::new(config);
    ric.add_iapp(Box::new(Watcher::new(OIDS[0], 4_000, 90)));
    ric
}

fn add_agent(world: &mut World, id: GlobalE2NodeId, name: &str, rics: &[&str]) -> PartyId {
    let party = world.next_party();
    let seed = world.chance.seed();
    let version = if world.chance.happens(20) { Version::V3_01 } else { Version::V2_03 };
    let addresses: Vec<String> = rics.iter().map(|&r| r.to_owned()).collect();
    world.agent(name, id, rics, move |now, life, logbook| {
        let component = ComponentConfigItem {
            interface: ComponentInterfaceType::Ng,
            id: ComponentId::Ng(InterfaceNg { amf_name: "amf".into() }),
            configuration: ComponentConfiguration::default(),
        };
        let mut config = AgentConfig::new(id, vec![component]);
        (config.seed, config.version) = (seed.wrapping_add(life.into()), version);
        config.limits.outbox = outbox();
        let mut agent = Agent::new(config);
        for (i, oid) in OIDS.iter().enumerate() {
            // In every third incarnation the functions have each other's ids, because no party may rely on the ids.
            let place = if life % 3 == 2 { OIDS.len() - i } else { i + 1 };
            let beacon = TracerFunction::new(oid, party, life, logbook.clone());
            let registered = agent.register(Box::new(beacon), Some(place as RanFunctionId));
            debug_assert!(registered.is_ok(), "{registered:?}");
        }
        for address in &addresses {
            let added = agent.add_controller(now, address.clone());
            debug_assert!(added.is_ok(), "{added:?}");
        }
        agent
    })
}
