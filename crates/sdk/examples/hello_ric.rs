//! A RIC with one iApp that greets every base station: `cargo run --example hello_ric`.
use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::ric::{IApp, IAppInput, IAppOutbox, RicConfig, Side};
use ranlab_sdk::transport::SocketOptions;
use ranlab_sdk::{RicHandle, run};

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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(async {
        let ric = RicHandle::start(RicConfig::default(), SocketOptions::default());
        ric.add_iapp(Box::new(Greeter));
        let e2 = ric.listen(Side::E2, &"tcp://127.0.0.1:36421".parse()?, |_peer| true).await?;
        println!("waiting for base stations at {e2}");
        loop {
            println!("{:?}", ric.next().await);
        }
    })
}
