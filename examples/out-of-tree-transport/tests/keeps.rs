//! Runs the conformance suite of all transports, and E2 and E42, over the ring transport.
use out_of_tree_transport::Ring;
use ranlab_sdk::e2::agent::{Agent, AgentConfig};
use ranlab_sdk::e2::functions::hw::Hw as HwFunction;
use ranlab_sdk::e2::ric::{ListenerProtocol, RicConfig};
use ranlab_sdk::e2::xapp::XappConfig;
use ranlab_sdk::transport::{Address, RegisterError, SocketOptions, register, suite};
use ranlab_sdk::wire::e2ap::{
    ComponentConfigItem, ComponentConfiguration, ComponentId, ComponentInterfaceType, GlobalE2NodeId,
    InterfaceNg, Plmn,
};
use ranlab_sdk::wire::e2sm::hw::{self, Hw};
use ranlab_sdk::{AgentHandle, DurationExt, RicHandle, TypedSubscribe, XappHandle, run};
use std::sync::Once;
use std::time::Duration;

/// Returns an address of the ring transport, which is registered once in this process.
fn ring(name: &str) -> Address {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        assert!(
            "ring://early".parse::<Address>().is_err(),
            "the scheme must be unknown before its registration"
        );
        register(Ring::default()).unwrap();
        assert_eq!(register(Ring::default()), Err(RegisterError::Taken("ring".to_owned())));
    });
    format!("ring://{name}").parse().unwrap()
}

#[test]
fn ring_passes_transport_conformance_suite() {
    assert_eq!(run(suite::check(&ring("suite"))), Ok(()));
}

#[test]
fn agent_ric_and_xapp_communicate_over_ring() {
    let node = GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 7, 32);
    let ng = ComponentConfigItem {
        interface: ComponentInterfaceType::Ng,
        id: ComponentId::Ng(InterfaceNg { amf_name: "amf".to_owned() }),
        configuration: ComponentConfiguration::default(),
    };
    let mut agent = Agent::new(AgentConfig::new(node, vec![ng]));
    agent.register(Box::new(HwFunction::new()), Some(hw::DEFAULT_FUNCTION_ID)).unwrap();
    let story = async {
        let options = SocketOptions::default;
        let ric = RicHandle::start(RicConfig::default(), options());
        ric.listen(ListenerProtocol::E2, &ring("e2"), |peer| peer == "ring://e2").await.unwrap();
        ric.listen(ListenerProtocol::E42, &ring("e42"), |_| true).await.unwrap();
        let agent = AgentHandle::start(agent, options());
        agent.connect(&ring("e2")).await.unwrap();
        let xapp = XappHandle::connect(XappConfig::new("ring://e42"), options()).await.unwrap();
        let mut pings = xapp.subscribe_all(Hw::every(2.ms())).unwrap();
        for seq in 0..100 {
            assert_eq!(pings.next().await.unwrap().message.seq, seq);
        }
    };
    run(async { tokio::time::timeout(Duration::from_secs(30), story).await })
        .expect("100 pings must arrive within 30 s");
}
