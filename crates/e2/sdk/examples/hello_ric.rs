//! A RIC with one iApp that greets every base station: `cargo run --example hello_ric [E2-ADDRESS [E42-ADDRESS]]`.
use ranlab_sdk::prelude::*;

struct Greeter;

impl IApp for Greeter {
    fn name(&self) -> &str {
        "greeter"
    }
    fn handle(&mut self, _now: Time, input: IAppInput<'_>, _out: &mut IAppOutbox) {
        if let IAppInput::NodeAdded(node) = input {
            println!("hello, {} with {} RAN functions", node.id, node.functions.len());
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let e2 = args.next().unwrap_or_else(|| "tcp://127.0.0.1:36421".to_owned());
    let e42 = args.next().unwrap_or_else(|| "tcp://127.0.0.1:36422".to_owned());
    let ric = Ric::start(RicConfig::default(), SocketOptions::default()).await?;
    let mut events = ric.events();
    ric.add_iapp(Greeter).await?;
    let e2 = ric.listen(ListenerProtocol::E2, &e2.parse()?).await?;
    let e42 = ric.listen(ListenerProtocol::E42, &e42.parse()?).await?;
    println!("waiting for base stations at {e2}, for xApps at {e42}");
    while let Some(event) = events.next().await {
        println!("{event:?}");
    }
    Ok(())
}
