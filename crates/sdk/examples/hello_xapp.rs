//! An xApp that prints the MAC statistics of every base station: `cargo run --example hello_xapp`, beside
//! `ranlab ric` and `ranlab emulate`.
use ranlab_sdk::e2::xapp::{XappConfig, XappEvent};
use ranlab_sdk::transport::SocketOptions;
use ranlab_sdk::wire::e2ap::ActionToBeSetup;
use ranlab_sdk::wire::e2sm::mac::{self, MacView};
use ranlab_sdk::wire::e2sm::plain::EventTrigger;
use ranlab_sdk::{XappHandle, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(async {
        let xapp = XappHandle::start(XappConfig::new("tcp://127.0.0.1:36422"), SocketOptions::default());
        let every_second = EventTrigger { period_ms: 1_000 }.encode().to_vec().into();
        xapp.subscribe_all(mac::OID, every_second, vec![ActionToBeSetup::report(0)])?;
        loop {
            match xapp.next().await {
                XappEvent::Indication { node, indication, .. } => {
                    for ue in MacView::new(&indication.message)?.iter() {
                        println!("{node}: UE {:5}  CQI {:2}  {} bytes", ue.rnti, ue.wb_cqi, ue.dl_aggr_tbs);
                    }
                }
                event => println!("{event:?}"),
            }
        }
    })
}
