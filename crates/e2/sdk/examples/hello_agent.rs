//! A base station's agent with the HW function: `cargo run --example hello_agent [ADDRESS]`. Start `hello_ric` first.
use ranlab_sdk::e2::functions::hw::Hw;
use ranlab_sdk::prelude::*;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "tcp://127.0.0.1:36421".to_owned());
    let identity = NodeIdentity::gnb("505.01".parse()?, 7).build()?;
    let agent = Agent::builder(identity)
        .component(ComponentConfigItem::ng("amf"))
        .function(e2sm::hw::DEFAULT_FUNCTION_ID, Hw::new())
        .start()
        .await?;
    let mut events = agent.events();
    agent.add_controller(&address.parse()?).await?;
    while let Some(event) = events.next().await {
        println!("{event:?}");
    }
    Ok(())
}
