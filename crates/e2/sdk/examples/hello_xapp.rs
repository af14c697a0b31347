//! An xApp with two tasks: one prints a ping of every base station each second, the other sends a control to the
//! first base station. Run it with `cargo run --example hello_xapp [ADDRESS]`, after `hello_ric` or `ranlab ric`. Use
//! `mac::Mac::every(10.ms())` to get the statistics of each UE instead.
use ranlab_sdk::prelude::*;
use ranlab_sdk::wire::e2sm::hw::{self, Hw, HwPeriodic, HwTrigger, Ping};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "tcp://127.0.0.1:36422".to_owned());
    let xapp = Xapp::connect(address).await?;
    let every_second = HwTrigger::Periodic(HwPeriodic { period_ms: 1_000, payload_size: 5 });
    let pings = xapp.subscribe_all(Hw::when(every_second)).await?;

    let controller = tokio::spawn(async move {
        let node = xapp.node_with(hw::OID).await?;
        let ping = Ping { seq: 7, t_send_ns: 0, payload: Bytes::from_static(b"hello") };
        xapp.control_model::<Hw>(node, &(), &ping).await?;
        println!("{node} has executed the control");
        Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    });
    while let Some(ping) = pings.next().await {
        let ping = ping?;
        println!("{}: ping {} with {} bytes", ping.node, ping.message.seq, ping.message.payload.len());
    }
    controller.await?.map_err(|error| error as _)
}
