//! Test with a controller that accepts one connection each time the listener becomes readable (edge-triggered epoll),
//! like O-RAN SC's E2 termination.
#![allow(clippy::unwrap_used)] // in a test a panic is the report
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use bytes::Bytes;
use ranlab_e2_lab::{Fleet, FleetConfig};
use ranlab_ran::node::NodeTemplate;
use ranlab_sdk::transport::SocketOptions;
use ranlab_sdk::wire::e2ap::*;
use ranlab_sdk::wire::per::ShortBits;
use tokio::io::unix::AsyncFd;

const NODES: u32 = 20;
/// Time between a readiness event and the accept call. Connections that arrive in this time cause no further event.
const SLOW: Duration = Duration::from_millis(5);
/// Time limit of the test. Nodes whose setup was not answered reconnect after 3 s.
const PATIENCE: Duration = Duration::from_secs(60);

/// Accepts one connection per readiness event (edge), even if more connections are pending.
async fn accept_one_per_edge(listener: TcpListener) {
    listener.set_nonblocking(true).unwrap();
    // The successor of the deprecated `AsyncFd::new` (`AsyncFd::register`) requires unsafe code. A std listener keeps
    // its descriptor, as `new` requires.
    #[allow(deprecated)]
    let listener = AsyncFd::new(listener).unwrap();
    loop {
        let mut edge = listener.readable().await.unwrap();
        // The flag is cleared before the accept call, so that a new connection causes another readiness event.
        edge.clear_ready();
        drop(edge);
        tokio::time::sleep(SLOW).await;
        if let Ok((stream, _)) = listener.get_ref().accept() {
            stream.set_nonblocking(false).unwrap();
            std::thread::spawn(move || answer_setup(stream));
        }
    }
}

/// Returns the acknowledgement of a component.
fn ack_of(c: &ComponentConfigItem) -> ComponentAckItem {
    let ack = ComponentAck { outcome: UpdateOutcome::Success, cause: None };
    ComponentAckItem { interface: c.interface, id: c.id.clone(), ack }
}

/// Accepts a setup and keeps the connection until the node closes it.
fn answer_setup(mut stream: TcpStream) {
    let mut length = [0; 4];
    if stream.read_exact(&mut length).is_err() {
        return;
    }
    let mut pdu = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut pdu).unwrap();
    let decoded = decode(&Bytes::from(pdu), Version::V2_03).unwrap();
    let Message::E2SetupRequest(request) = decoded.message else { panic!("expected an E2 setup request") };
    let response = Message::E2SetupResponse(E2SetupResponse {
        transaction_id: request.transaction_id,
        ric_id: GlobalRicId { plmn: Plmn::new(505, 1, 2), ric_id: ShortBits::new(1, 20) },
        accepted: None,
        rejected: None,
        components_v1: None,
        components: Some(request.components.iter().flatten().map(ack_of).collect()),
    });
    let pdu = encode(&response, Version::V2_03).unwrap();
    stream.write_all(&(pdu.len() as u32).to_be_bytes()).unwrap();
    stream.write_all(&pdu).unwrap();
    let _ = stream.read(&mut [0; 1]);
}

#[test]
fn all_nodes_connect_although_one_connection_is_accepted_per_edge() {
    ranlab_sdk::run(async {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("tcp://{}", listener.local_addr().unwrap()).parse().unwrap();
        tokio::task::spawn_local(accept_one_per_edge(listener));
        let mut fleet = Fleet::new(FleetConfig {
            controllers: vec![address],
            one_of: false,
            nodes: NODES,
            stations: NodeTemplate { ues: 1, ..NodeTemplate::default() },
            ramp: Duration::from_millis(NODES.into()),
            gentle: true,
            first: 0,
            ahead_us: 0,
            sockets: SocketOptions::default(),
        });
        fleet.ramp_up().await.unwrap();
        let until = Instant::now() + PATIENCE;
        while fleet.report().alive < NODES && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let report = fleet.report();
        assert_eq!((report.alive, report.never_set_up), (NODES, 0), "{report:?}");
        assert!(report.connects < 2 * u64::from(NODES), "{report:?}");
        assert!(fleet.setup_failures().is_empty());
    });
}
