//! xApps over E42 in virtual time. Like agents and RICs, they are parties of the simulated world: their messages use
//! links, and planned faults affect them.

use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::xapp::{Xapp, XappConfig};
use ranlab_sim::{PartyId, World};

use crate::monitor::MonitorCounters;
use crate::values::Values;
use crate::{MonitorComponent, MonitorReport};
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{AnyComponent, Component, rig, sut};

/// Results of an xApp over E42 in a window.
#[derive(Debug, Clone)]
pub struct ClientReport {
    /// Name of the xApp.
    pub name: String,
    /// Counters of the xApp. Indications and ages are counted since the start of the window, gaps since the start of
    /// the xApp.
    pub report: MonitorReport,
    /// Distribution of the age of statistics, as pairs of microseconds and count.
    pub ages_us: Vec<(u64, u64)>,
}

struct Client {
    name: String,
    part: MonitorComponent,
    /// Name of the xApp's RIC.
    ric: String,
    party: Option<PartyId>,
    counted: MonitorCounters,
    lost_at_begin: u64,
}

/// All xApps over E42 of a network.
#[derive(Default)]
pub(super) struct Clients(Vec<Client>);

impl Clients {
    /// Selects the xApps that use E42. They are started later.
    pub(super) fn new<'a>(
        xapps: impl Iterator<Item = &'a (String, AnyComponent, String)>,
    ) -> Result<Self, ComponentError> {
        let client = |(name, part, ric): &(String, AnyComponent, String)| {
            let Some(part) = part.get::<MonitorComponent>() else { return Ok(None) };
            if part.at_most.is_some() {
                let why = format!(
                    "`at_most` of component `{}` is not supported in virtual time",
                    MonitorComponent::TYPE
                );
                return Err(rig(format!("{why}; a fault `slow:agent:…` makes a peer read slowly")));
            }
            // The configuration is validated here, because each restart uses it again.
            part.machine(ric, 0)?;
            let counted =
                MonitorCounters::new(part, Values::passing(&part.models()?, part.sm_encoding), None)?;
            let name = name.clone();
            let part = part.clone();
            let ric = ric.clone();
            Ok(Some(Client { name, part, ric, party: None, counted, lost_at_begin: 0 }))
        };
        Ok(Self(xapps.filter_map(|xapp| client(xapp).transpose()).collect::<Result<_, ComponentError>>()?))
    }

    pub(super) fn start(&mut self, world: &mut World) {
        for client in &mut self.0 {
            let part = client.part.clone();
            let ric = client.ric.clone();
            let make = move |_: Time, life| {
                // The configuration was validated before, so creation cannot fail.
                part.machine(&ric, life).unwrap_or_else(|_| Xapp::new(XappConfig::new(ric.clone())))
            };
            client.party = Some(world.client(&client.name, make));
        }
    }

    /// Counts the events that the xApps received.
    pub(super) fn count_events(&mut self, world: &mut World) {
        for (party, event) in world.take_heard() {
            let Some(client) = self.0.iter_mut().find(|it| it.party == Some(party)) else { continue };
            let now_us = i64::try_from(world.now().as_nanos() / 1_000).unwrap_or(i64::MAX);
            let Some(xapp) = world.look_at_client(party) else { continue };
            client.counted.take(xapp, &event, || now_us);
        }
    }

    /// Starts a measurement window.
    pub(super) fn begin(&mut self, world: &World) {
        for client in &mut self.0 {
            client.counted.begin();
            let lost = client.party.and_then(|it| world.look_at_client(it)?.lost_total());
            client.lost_at_begin = lost.unwrap_or(0);
        }
    }

    pub(super) fn heard(&self, world: &World) -> Vec<ClientReport> {
        let one = |client: &Client| {
            let mut report = client.counted.report(world.look_at_client(client.party?)?);
            report.lost = report.lost.map(|lost| lost.saturating_sub(client.lost_at_begin));
            Some(ClientReport { name: client.name.clone(), report, ages_us: client.counted.ages() })
        };
        self.0.iter().filter_map(one).collect()
    }

    /// Returns an error if an xApp was started but never set up.
    pub(super) fn check(&self) -> Result<(), ComponentError> {
        match self.0.iter().find(|it| it.party.is_some() && !it.counted.has_joined()) {
            Some(client) => {
                Err(sut(format!("the RIC of xApp {} never accepted its setup: {}", client.name, client.ric)))
            }
            None => Ok(()),
        }
    }
}
