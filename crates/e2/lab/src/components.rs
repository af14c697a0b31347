//! Component tables of E2: RICs, controllers, base stations, xApps and relays.

use crate::{
    AssociationComponent, FleetComponent, MonitorComponent, PingComponent, RelayComponent, Ric, RicComponent,
    RunningFleet, RunningMonitor, RunningPing, SliceXappComponent, SlicingComponent, TrafficComponent,
    TrafficXapp, TrafficXappComponent, VirtComponent, relay, rigs, xapp_slice,
};
use ranlab_lab::component::{Component, ComponentType, Domain, RigType, Started};
use ranlab_lab::divide::stations;
use ranlab_lab::experiment::harness::RunningExperiment;
use ranlab_lab::worker::{ComponentError, WorkerTrust};

/// Components for RICs, controllers and xApps.
pub static RIC: Domain = Domain {
    name: "ric",
    components: &[
        ComponentType::new::<RicComponent>(),
        ComponentType::new::<MonitorComponent>(),
        ComponentType::new::<PingComponent>(),
        ComponentType::new::<RelayComponent>(),
        ComponentType::new::<AssociationComponent>(),
        ComponentType::new::<SlicingComponent>(),
        ComponentType::new::<TrafficComponent>(),
        ComponentType::new::<VirtComponent>(),
        ComponentType::new::<SliceXappComponent>(),
        ComponentType::new::<TrafficXappComponent>(),
    ],
    rigs: &[],
};

/// Components for base stations.
pub static RAN: Domain =
    Domain { name: "ran", components: &[ComponentType::new::<FleetComponent>()], rigs: &[] };

/// Rigs for experiments with RICs and base stations.
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

impl Component for RicComponent {
    const TYPE: &'static str = "ric";

    async fn start(&self, _trust: WorkerTrust) -> Started {
        Ok(Box::new(Ric::start(self).await?))
    }
}

impl Component for FleetComponent {
    const TYPE: &'static str = "fleet";

    async fn start(&self, _trust: WorkerTrust) -> Started {
        let mut stations = RunningFleet::new(self)?;
        stations.ramp_up().await?;
        Ok(Box::new(stations))
    }

    fn divide(&self, places: usize) -> Result<Vec<Self>, ComponentError> {
        let shares = stations(self.nodes, self.first, self.ramp, places)?;
        Ok(shares.map(|(nodes, first, ramp)| Self { nodes, first, ramp, ..self.clone() }).collect())
    }
}

impl Component for MonitorComponent {
    const TYPE: &'static str = "monitor";

    async fn start(&self, _trust: WorkerTrust) -> Started {
        Ok(Box::new(RunningMonitor::start(self)?))
    }
}

impl Component for PingComponent {
    const TYPE: &'static str = "ping";

    async fn start(&self, _trust: WorkerTrust) -> Started {
        Ok(Box::new(RunningPing::start(self).await?))
    }
}

impl Component for RelayComponent {
    const TYPE: &'static str = "relay";

    async fn start(&self, _trust: WorkerTrust) -> Started {
        Ok(Box::new(relay::Relay::start(self.clone()).await?))
    }
}

impl Component for AssociationComponent {
    const TYPE: &'static str = "association";

    async fn start(&self, _trust: WorkerTrust) -> Started {
        Ok(Box::new(self.serve().await?))
    }
}

impl Component for SlicingComponent {
    const TYPE: &'static str = "slicing";

    async fn start(&self, _trust: WorkerTrust) -> Started {
        Ok(Box::new(self.serve().await?))
    }
}

impl Component for TrafficComponent {
    const TYPE: &'static str = "traffic";

    async fn start(&self, _trust: WorkerTrust) -> Started {
        Ok(Box::new(self.serve().await?))
    }
}

impl Component for VirtComponent {
    const TYPE: &'static str = "virt";

    async fn start(&self, _trust: WorkerTrust) -> Started {
        Ok(Box::new(self.serve().await?))
    }
}

impl Component for SliceXappComponent {
    const TYPE: &'static str = "slice_xapp";

    async fn start(&self, _trust: WorkerTrust) -> Started {
        Ok(Box::new(xapp_slice::SliceXapp::start(self.clone()).await?))
    }
}

impl Component for TrafficXappComponent {
    const TYPE: &'static str = "traffic_xapp";

    async fn start(&self, _trust: WorkerTrust) -> Started {
        Ok(Box::new(TrafficXapp::start(self).await?))
    }
}
