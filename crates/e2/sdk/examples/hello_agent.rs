//! A base station's agent with the HW function: `cargo run --example hello_agent [ADDRESS]`. Start `hello_ric` first.
use ranlab_sdk::e2::agent::{Agent, AgentConfig};
use ranlab_sdk::e2::functions::hw::Hw;
use ranlab_sdk::transport::SocketOptions;
use ranlab_sdk::wire::e2ap::{
    ComponentConfigItem, ComponentConfiguration, ComponentId, ComponentInterfaceType, GlobalE2NodeId,
    InterfaceNg, Plmn,
};
use ranlab_sdk::wire::e2sm::hw;
use ranlab_sdk::{AgentHandle, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "tcp://127.0.0.1:36421".to_owned());
    let ng = ComponentConfigItem {
        interface: ComponentInterfaceType::Ng,
        id: ComponentId::Ng(InterfaceNg { amf_name: "amf".to_owned() }),
        configuration: ComponentConfiguration::default(),
    };
    let node_id = GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 7, 32);
    let mut agent = Agent::new(AgentConfig::new(node_id, vec![ng]));
    agent.register(Box::new(Hw::new()), Some(hw::DEFAULT_FUNCTION_ID))?;
    run(async {
        let agent = AgentHandle::start(agent, SocketOptions::default());
        agent.add_controller(&address.parse()?)?;
        loop {
            println!("{:?}", agent.next().await);
        }
    })
}
