//! One scenario over every transport: an agent with the HW function, a RIC with an iApp that pings it, and an xApp
//! that pings it through the RIC.
#![allow(clippy::unwrap_used)] // test helpers may unwrap, like tests

mod lab;

use lab::{agent, encoded, within_patience};
use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::ric::{ControlDetails, IApp, IAppInput, IAppOutbox, ListenerProtocol, RicConfig};
use ranlab_sdk::e2::xapp::{XappConfig, XappEvent};
use ranlab_sdk::transport::{Address, SocketOptions};
use ranlab_sdk::wire::e2ap::*;
use ranlab_sdk::wire::e2sm::hw::{self, HwTrigger, Ping};
use ranlab_sdk::wire::e2sm::per;
use ranlab_sdk::{AgentHandle, Bytes, RicHandle, XappHandle};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PINGS: u32 = 50;
/// Length of the payload. It exceeds the first segment of any socket buffer, so that frames arrive in pieces.
const PAYLOAD: usize = 60_000;

fn ping(seq: u32) -> Bytes {
    encoded(&Ping { seq, t_send_ns: 0, payload: vec![seq as u8; PAYLOAD].into() })
}

fn echo_of(message: Bytes) -> Option<u32> {
    let ping: Ping = per::decode(message).unwrap();
    assert_eq!(ping.payload, vec![ping.seq as u8; PAYLOAD]);
    Some(ping.seq)
}

/// iApp that sends pings to the node, one at a time. The sequence numbers of the xApp start at [`PINGS`], and those
/// of this iApp at zero.
struct Pinger {
    target: Option<(GlobalE2NodeId, RanFunctionId)>,
    echoed: Arc<Mutex<Vec<u32>>>,
}

impl Pinger {
    fn send(&self, seq: u32, out: &mut IAppOutbox) {
        let (node, function) = self.target.unwrap();
        let header = Bytes::new();
        let message = ping(seq);
        let ack_request = Some(RicControlAckRequest::NoAck);
        out.control(node, function, ControlDetails { call_process_id: None, header, message, ack_request });
    }
}

impl IApp for Pinger {
    fn name(&self) -> &str {
        "pinger"
    }
    fn handle(&mut self, _: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        match input {
            IAppInput::NodeAdded(node) => {
                let function = node.function_by_oid(hw::OID).unwrap().id;
                self.target = Some((node.id, function));
                let event_trigger = encoded(&HwTrigger::OnControl);
                let actions = vec![ActionToBeSetup::report(0)];
                out.subscribe(node.id, function, RicSubscriptionDetails { event_trigger, actions });
            }
            IAppInput::Subscribed { .. } => self.send(0, out),
            IAppInput::Indication { indication, .. } => {
                let seq = echo_of(Bytes::copy_from_slice(indication.message));
                let Some(seq) = seq.filter(|seq| *seq < PINGS) else { return };
                self.echoed.lock().unwrap().push(seq);
                if seq + 1 < PINGS {
                    self.send(seq + 1, out);
                }
            }
            _ => {}
        }
    }
}

/// Sends pings through the RIC one at a time. Returns the echoed sequence numbers.
async fn pings_of_an_xapp(xapp: &XappHandle) -> Vec<u32> {
    xapp.subscribe_all_raw(hw::OID, encoded(&HwTrigger::OnControl), vec![ActionToBeSetup::report(0)])
        .unwrap();
    let send = |node, seq| xapp.send_control(node, hw::OID, Bytes::new(), ping(seq), false).unwrap();
    let mut echoed = Vec::new();
    while echoed.len() < PINGS as usize {
        match xapp.next().await {
            XappEvent::Subscribed { node, .. } => drop(send(node, PINGS)),
            XappEvent::Indication { node, indication, .. } => {
                let seq = echo_of(indication.message).filter(|seq| *seq >= PINGS);
                let Some(seq) = seq else { continue };
                echoed.push(seq);
                if seq + 1 < 2 * PINGS {
                    send(node, seq + 1);
                }
            }
            _ => {}
        }
    }
    echoed
}

async fn scenario(e2: &Address, e42: &Address) {
    let options = SocketOptions::default;
    let echoed = Arc::new(Mutex::new(Vec::new()));
    let ric = RicHandle::start(RicConfig::default(), options());
    ric.add_iapp(Box::new(Pinger { target: None, echoed: echoed.clone() }));
    let e2 = ric.listen(ListenerProtocol::E2, e2, |_| true).await.unwrap();
    let e42 = ric.listen(ListenerProtocol::E42, e42, |_| true).await.unwrap();
    let agent = AgentHandle::start(agent(), options());
    agent.add_controller(&e2).unwrap();
    let xapp = XappHandle::start(XappConfig::new(e42.to_string()), options());
    assert!(pings_of_an_xapp(&xapp).await.into_iter().eq(PINGS..2 * PINGS), "{e2}: xApp");
    while echoed.lock().unwrap().len() < PINGS as usize {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(echoed.lock().unwrap().iter().copied().eq(0..PINGS), "{e2}: iApp");
}

fn run_scenario(e2: &str, e42: &str) {
    let e2 = e2.parse().unwrap();
    let e42 = e42.parse().unwrap();
    within_patience(scenario(&e2, &e42));
}

#[test]
fn ping_over_tcp() {
    run_scenario("tcp://127.0.0.1:0", "tcp://127.0.0.1:0");
}

#[test]
fn ping_over_unix_sockets() {
    let folder = std::env::temp_dir().join(format!("ranlab-transports-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let address = |name: &str| format!("unix://{}", folder.join(name).display());
    run_scenario(&address("e2"), &address("e42"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn ping_over_memory() {
    run_scenario("mem://transports-e2", "mem://transports-e42");
}
