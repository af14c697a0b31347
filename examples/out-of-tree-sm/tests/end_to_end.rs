//! Agent, RIC with the iApp, and xApp in one process over memory transport.
use out_of_tree_sm::{CellTemperature, Guardian, Policy, Reaction, Temperature, Thermometers, hottest};
use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::agent::{Agent, AgentConfig};
use ranlab_sdk::e2::ric::{ListenerProtocol, RicConfig};
use ranlab_sdk::e2::xapp::XappConfig;
use ranlab_sdk::transport::SocketOptions;
use ranlab_sdk::wire::e2ap::{
    ComponentConfigItem, ComponentConfiguration, ComponentId, ComponentInterfaceType, GlobalE2NodeId,
    InterfaceNg, Plmn,
};
use ranlab_sdk::wire::e2sm::{Encoding, Inspect};
use ranlab_sdk::{AgentHandle, Ask, RicHandle, Span, XappHandle, run};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const COOL: (u16, u16) = (1, 2_950);
const HOT: (u16, u16) = (2, 3_600);

/// Two cells, and the throttling applied to them.
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
fn reports_arrive_and_policy_throttles_the_hot_cell() {
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
        for (side, address) in
            [(ListenerProtocol::E2, "mem://temperature-e2"), (ListenerProtocol::E42, "mem://temperature-e42")]
        {
            ric.listen(side, &address.parse().unwrap(), |_| true).await.unwrap();
        }
        let agent = AgentHandle::start(agent, options());
        agent.add_controller(&"mem://temperature-e2".parse().unwrap()).unwrap();
        let config = XappConfig::new("mem://temperature-e42");
        let xapp = XappHandle::connect(config, options()).await.unwrap();
        let mut reports = xapp.subscribe_all(Temperature::every(5.ms())).unwrap();
        let ten = async {
            let mut count = 0;
            loop {
                let (from, cell) = hottest(&mut reports).await.unwrap();
                let cell = cell.unwrap();
                assert_eq!((from, cell.id, cell.temperature_dk), (node, HOT.0, HOT.1));
                count += 1;
                if count >= 10 && cell.throttled {
                    break;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(30), ten).await.expect("ten reports in 30 s");
        assert_eq!(*throttled.lock().unwrap(), [(HOT.0, true)]);
    });
}

#[test]
fn model_list_contains_this_model() {
    let model: &dyn Inspect = &Temperature;
    let (header, message, table) = model.sample(Encoding::Per, 7).unwrap();
    assert_eq!(model.table(Encoding::Per, &header, &message).unwrap(), table);
    assert_eq!(model.columns().len(), 3);
    assert!(model.periodic(Encoding::Per, Duration::from_secs(3_601)).is_err());
    assert_eq!(
        model.transcode(Encoding::Plain, Encoding::Per, &message).unwrap_err().to_string(),
        "the service model has no encoding plain; allowed: per"
    );
}
