//! Components of E2: RICs, controllers, base stations, xApps and relays.

use crate::{
    AssociationPart, FleetPart, MonitorPart, PingPart, Pinging, RelayPart, Ric, RicPart, SliceXappPart,
    SlicingPart, Stations, TrafficPart, TrafficXapp, TrafficXappPart, VirtPart, Watcher, relay, rigs,
    xapp_slice,
};
use ranlab_lab::component::{Component, ComponentType, Domain, RigType, Started};
use ranlab_lab::divide::stations;
use ranlab_lab::experiment::harness::RunningExperiment;
use ranlab_lab::worker::{Trouble, Trust};

/// RICs, controllers and xApps.
pub static RIC: Domain = Domain {
    name: "ric",
    components: &[
        ComponentType::new::<RicPart>(),
        ComponentType::new::<MonitorPart>(),
        ComponentType::new::<PingPart>(),
        ComponentType::new::<RelayPart>(),
        ComponentType::new::<AssociationPart>(),
        ComponentType::new::<SlicingPart>(),
        ComponentType::new::<TrafficPart>(),
        ComponentType::new::<VirtPart>(),
        ComponentType::new::<SliceXappPart>(),
        ComponentType::new::<TrafficXappPart>(),
    ],
    rigs: &[],
};

/// Base stations.
pub static RAN: Domain = Domain { name: "ran", components: &[ComponentType::new::<FleetPart>()], rigs: &[] };

/// Experiments with RICs and base stations.
pub static E2: Domain = Domain {
    name: "e2",
    components: &[],
    rigs: &[
        RigType {
            place: 20,
            make: |lab| Box::new(RunningExperiment::new(lab, rigs::controller::Controller)),
        },
        RigType { place: 40, make: |lab| Box::new(RunningExperiment::new(lab, rigs::footprint::Footprint)) },
        RigType { place: 60, make: |lab| Box::new(RunningExperiment::new(lab, rigs::radio::Radio)) },
        RigType { place: 80, make: |lab| Box::new(RunningExperiment::new(lab, rigs::tenants::Tenants)) },
    ],
};

impl Component for RicPart {
    const TYPE: &'static str = "ric";

    async fn start(&self, _trust: Trust) -> Started {
        Ok(Box::new(Ric::start(self).await?))
    }
}

impl Component for FleetPart {
    const TYPE: &'static str = "fleet";

    async fn start(&self, _trust: Trust) -> Started {
        let mut stations = Stations::new(self)?;
        stations.ramp_up().await?;
        Ok(Box::new(stations))
    }

    fn divide(&self, places: usize) -> Result<Vec<Self>, Trouble> {
        let shares = stations(self.nodes, self.first, self.ramp, places)?;
        Ok(shares.map(|(nodes, first, ramp)| Self { nodes, first, ramp, ..self.clone() }).collect())
    }
}

impl Component for MonitorPart {
    const TYPE: &'static str = "monitor";

    async fn start(&self, _trust: Trust) -> Started {
        Ok(Box::new(Watcher::start(self)?))
    }
}

impl Component for PingPart {
    const TYPE: &'static str = "ping";

    async fn start(&self, _trust: Trust) -> Started {
        Ok(Box::new(Pinging::start(self).await?))
    }
}

impl Component for RelayPart {
    const TYPE: &'static str = "relay";

    async fn start(&self, _trust: Trust) -> Started {
        Ok(Box::new(relay::Relay::start(self.clone()).await?))
    }
}

impl Component for AssociationPart {
    const TYPE: &'static str = "association";

    async fn start(&self, _trust: Trust) -> Started {
        Ok(Box::new(self.serve().await?))
    }
}

impl Component for SlicingPart {
    const TYPE: &'static str = "slicing";

    async fn start(&self, _trust: Trust) -> Started {
        Ok(Box::new(self.serve().await?))
    }
}

impl Component for TrafficPart {
    const TYPE: &'static str = "traffic";

    async fn start(&self, _trust: Trust) -> Started {
        Ok(Box::new(self.serve().await?))
    }
}

impl Component for VirtPart {
    const TYPE: &'static str = "virt";

    async fn start(&self, _trust: Trust) -> Started {
        Ok(Box::new(self.serve().await?))
    }
}

impl Component for SliceXappPart {
    const TYPE: &'static str = "slice_xapp";

    async fn start(&self, _trust: Trust) -> Started {
        Ok(Box::new(xapp_slice::SliceXapp::start(self.clone()).await?))
    }
}

impl Component for TrafficXappPart {
    const TYPE: &'static str = "traffic_xapp";

    async fn start(&self, _trust: Trust) -> Started {
        Ok(Box::new(TrafficXapp::start(self).await?))
    }
}
