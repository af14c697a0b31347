//! Components of FlexRAN and 5G-EmPOWER: controllers and base stations.

use crate::{EmpowerComponent, Events, FlexranComponent, SouthController, SouthFleet, SouthFleetComponent};
use ranlab_lab::component::{Component, ComponentType, Domain, Started};
use ranlab_lab::divide::stations;
use ranlab_lab::rig;
use ranlab_lab::worker::{ComponentError, WorkerTrust};

/// Components and rigs of the SD-RAN domain.
pub static SDRAN: Domain = Domain {
    name: "sdran",
    components: &[
        ComponentType::new::<FlexranComponent>(),
        ComponentType::new::<EmpowerComponent>(),
        ComponentType::new::<SouthFleetComponent>(),
    ],
    rigs: &[],
};

impl Component for FlexranComponent {
    const TYPE: &'static str = "flexran";

    async fn start(&self, _trust: WorkerTrust) -> Started {
        Ok(Box::new(SouthController::flexran(self).await?))
    }
}

impl Component for EmpowerComponent {
    const TYPE: &'static str = "empower";

    async fn start(&self, _trust: WorkerTrust) -> Started {
        Ok(Box::new(SouthController::empower(self).await?))
    }
}

impl Component for SouthFleetComponent {
    const TYPE: &'static str = "south_fleet";

    async fn start(&self, _trust: WorkerTrust) -> Started {
        if self.events == Some(Events::Stdin) {
            return Err(rig(
                "`events` of a worker must be an IP:PORT, because the campaign uses the worker's standard input",
            ));
        }
        let mut fleet = SouthFleet::new(self)?;
        fleet.ramp_up().await?;
        Ok(Box::new(fleet))
    }

    fn divide(&self, places: usize) -> Result<Vec<Self>, ComponentError> {
        let shares = stations(self.nodes, self.first, self.ramp, places)?;
        Ok(shares.map(|(nodes, first, ramp)| Self { nodes, first, ramp, ..self.clone() }).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ranlab_lab::AnyComponent;

    use super::*;

    #[test]
    fn sdran_base_stations_are_numbered_consecutively() {
        let second = Some(Duration::from_secs(1));
        let south = SouthFleetComponent { nodes: 4, ramp: second, ..SouthFleetComponent::default() };
        let shares = AnyComponent::from(south).divide(2).unwrap();
        let [Some(a), Some(b)] = [0, 1].map(|place| shares[place].get::<SouthFleetComponent>()) else {
            panic!("the component must be divided into two shares")
        };
        assert_eq!((a.nodes, a.first, b.nodes, b.first, b.ramp), (2, 0, 2, 2, second));
    }
}
