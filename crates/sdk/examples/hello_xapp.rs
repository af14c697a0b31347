//! An xApp that has every base station send it a ping each second: `cargo run --example hello_xapp [ADDRESS]`, beside
//! `hello_ric` or `ranlab ric`.
use ranlab_sdk::e2::xapp::{XappConfig, XappEvent};
use ranlab_sdk::transport::SocketOptions;
use ranlab_sdk::wire::e2ap::ActionToBeSetup;
use ranlab_sdk::wire::e2sm::hw::{self, HwPeriodic, HwTrigger, Ping};
use ranlab_sdk::wire::e2sm::per;
use ranlab_sdk::{XappHandle, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "tcp://127.0.0.1:36422".to_owned());
    let mut every_second = Vec::new();
    per::encode(&HwTrigger::Periodic(HwPeriodic { period_ms: 1_000, payload_size: 5 }), &mut every_second)?;
    run(async {
        let xapp = XappHandle::start(XappConfig::new(address), SocketOptions::default());
        xapp.subscribe_all_raw(hw::OID, every_second.into(), vec![ActionToBeSetup::report(0)])?;
        loop {
            match xapp.next().await {
                XappEvent::Indication { node, indication, .. } => {
                    let ping: Ping = per::decode(indication.message)?;
                    println!("{node}: ping {} with {} bytes", ping.seq, ping.payload.len());
                }
                event => println!("{event:?}"),
            }
        }
    })
}
