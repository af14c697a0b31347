//! Runs an agent, a RIC with the iApp, and an xApp in one process, each on its own thread.
use out_of_tree_sm::{CellTemperature, Guardian, Policy, Reaction, Temperature, Thermometers, hottest};
use ranlab_sdk::prelude::*;
use ranlab_sdk::wire::e2sm::{Encoding, Inspect};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const COOL: (u16, u16) = (1, 2_950);
const HOT: (u16, u16) = (2, 3_600);

/// Two cells, and a record of the throttling of cells.
struct Cabinet(Arc<Mutex<Vec<(u16, bool)>>>);

impl Thermometers for Cabinet {
    fn read(&mut self, _: Time) -> Vec<(u16, u16)> {
        vec![COOL, HOT]
    }
    fn throttle(&mut self, cell: u16, on: bool) {
        self.0.lock().unwrap().push((cell, on));
    }
}

#[tokio::test]
async fn reports_arrive_and_policy_throttles_the_hot_cell() {
    let any: Address = "tcp://127.0.0.1:0".parse().unwrap();
    let policy = Policy { threshold_dk: 3_500, reaction: Reaction::Throttle };
    let ric = Ric::start(RicConfig::default(), SocketOptions::default()).await.unwrap();
    ric.add_iapp(Guardian::new(10, policy).unwrap()).await.unwrap();
    let e2 = ric.listen(ListenerProtocol::E2, &any).await.unwrap();
    let e42 = ric.listen(ListenerProtocol::E42, &any).await.unwrap();

    let node = NodeIdentity::gnb(Plmn::new(505, 1, 2), 7).build().unwrap();
    let throttled = Arc::new(Mutex::new(Vec::new()));
    let agent = Agent::builder(node)
        .component(ComponentConfigItem::ng("amf"))
        .function(Temperature::DEFAULT_FUNCTION_ID, CellTemperature::new(Cabinet(throttled.clone())));
    let agent = agent.start().await.unwrap();
    agent.add_controller(&e2).await.unwrap();

    let xapp = Xapp::connect(e42.to_string()).await.unwrap();
    let reports = xapp.subscribe_all(Temperature::every(5.ms())).await.unwrap();
    let ten = async {
        let mut count = 0;
        loop {
            let (from, cell) = hottest(&reports).await.unwrap().unwrap();
            let cell = cell.unwrap();
            assert_eq!((from, cell.id, cell.temperature_dk), (node, HOT.0, HOT.1));
            count += 1;
            if count >= 10 && cell.throttled {
                break;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), ten)
        .await
        .expect("ten reports, the last one throttled, must arrive within 30 s");
    assert_eq!(*throttled.lock().unwrap(), [(HOT.0, true)]);
}

#[test]
fn model_list_contains_this_model() {
    let model: &dyn Inspect = &Temperature;
    let (header, message, table) = model.sample(Encoding::Per, 7).unwrap();
    assert_eq!(model.table(Encoding::Per, &header, &message).unwrap(), table);
    assert_eq!(model.columns().len(), 2);
    assert!(model.periodic(Encoding::Per, Duration::from_secs(3_601)).is_err());
    assert_eq!(
        model.transcode(Encoding::Plain, Encoding::Per, &message).unwrap_err().to_string(),
        "the service model has no encoding plain; allowed: per"
    );
}
