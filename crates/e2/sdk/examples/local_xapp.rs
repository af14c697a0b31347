//! Prints the same pings as `hello_xapp`, but uses the handle for one thread, which saves the switch between threads:
//! `cargo run --example local_xapp [ADDRESS]`.
use ranlab_sdk::prelude::*;
use ranlab_sdk::wire::e2sm::hw::{Hw, HwPeriodic, HwTrigger};
use ranlab_sdk::{XappHandle, run};

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
