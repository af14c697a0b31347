//! An xApp to which every base station sends a ping each second: `cargo run --example hello_xapp [ADDRESS]`. Start
//! `hello_ric` or `ranlab ric` first. Use `mac::Mac::every(10.ms())` to get the statistics of each UE instead.
use ranlab_sdk::e2::xapp::XappConfig;
use ranlab_sdk::transport::SocketOptions;
use ranlab_sdk::wire::e2sm::hw::{Hw, HwPeriodic, HwTrigger};
use ranlab_sdk::{Ask, XappHandle, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "tcp://127.0.0.1:36422".to_owned());
    run(async {
        let xapp = XappHandle::connect(XappConfig::new(address), SocketOptions::default()).await?;
        let every_second = HwTrigger::Periodic(HwPeriodic { period_ms: 1_000, payload_size: 5 });
        let mut pings = xapp.subscribe_all(Hw::when(every_second))?;
        loop {
            let ping = pings.next().await?;
            println!("{}: ping {} with {} bytes", ping.node, ping.message.seq, ping.message.payload.len());
        }
    })
}
