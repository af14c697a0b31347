//! Agent, RIC with the guardian, and xApp, in one process over memory.
use out_of_tree_sm::{Cell, CellTemperature, Guardian, Policy, Reaction, Thermometers, report_of, watch};
use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::agent::{Agent, AgentConfig};
use ranlab_sdk::e2::ric::{RicConfig, Side};
use ranlab_sdk::e2::xapp::XappConfig;
use ranlab_sdk::transport::SocketOptions;
use ranlab_sdk::wire::e2ap::{
    ComponentConfigItem, ComponentConfiguration, ComponentId, ComponentInterfaceType, GlobalE2NodeId,
    InterfaceNg, Plmn,
};
use ranlab_sdk::{AgentHandle, RicHandle, XappHandle, run};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const COOL: (u16, u16) = (1, 2_950);
const HOT: (u16, u16) = (2, 3_600);

/// Two cells, and what was done to them.
struct Cabinet(Arc<Mutex<Vec<(u16, bool)>>>);

impl Thermometers for Cabinet {
    fn read(&mut self, _: Time) -> Vec<(u16, u16)> {
        vec![COOL, HOT]
    }
    fn throttle(&mut self, cell: u16, on: bool) {
        self.0.lock().unwrap().push((cell, on));
    }
}

#[test]
fn reports_arrive_and_the_policy_throttles_the_hot_cell() {
    let node = GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 7, 32);
    let ng = ComponentConfigItem {
        interface: ComponentInterfaceType::Ng,
        id: ComponentId::Ng(InterfaceNg { amf_name: "amf".to_owned() }),
        configuration: ComponentConfiguration::default(),
    };
    let throttled = Arc::new(Mutex::new(Vec::new()));
    let mut agent = Agent::new(AgentConfig::new(node, vec![ng]));
    agent.register(Box::new(CellTemperature::new(Cabinet(throttled.clone()))), None).unwrap();
    let policy = Policy { threshold_dk: 3_500, reaction: Reaction::Throttle };
    run(async {
        let options = SocketOptions::default;
        let ric = RicHandle::start(RicConfig::default(), options());
        ric.add_iapp(Box::new(Guardian::new(10, policy).unwrap()));
        for (side, address) in [(Side::E2, "mem://temperature-e2"), (Side::E42, "mem://temperature-e42")] {
            ric.listen(side, &address.parse().unwrap(), |_| true).await.unwrap();
        }
        let agent = AgentHandle::start(agent, options());
        agent.add_controller(&"mem://temperature-e2".parse().unwrap()).unwrap();
        let xapp = XappHandle::start(XappConfig::new("mem://temperature-e42"), options());
        watch(&xapp, 5).unwrap();

        let reports = async {
            let mut reports = 0;
            loop {
                let Some((from, report)) = report_of(&xapp.next().await) else { continue };
                assert_eq!(from, node);
                let held_back = report.cells[1].throttled;
                let cell = |(id, temperature_dk), throttled| Cell { id, temperature_dk, throttled };
                assert_eq!(report.cells, [cell(COOL, false), cell(HOT, held_back)]);
                reports += 1;
                if reports >= 10 && held_back {
                    break;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(30), reports).await.expect("ten reports in 30 s");
        assert_eq!(*throttled.lock().unwrap(), [(HOT.0, true)]);
    });
}
