//! Load generator: nodes send indications (3.3 kB on average) through the component under test to an xApp.
//!
//! The generator uses blocking sockets, with one thread for all nodes and one thread for the xApp. Its cost is
//! therefore the same for each component. RIC and relay forward the same bytes.
use ranlab_sdk::transport::Address;
use ranlab_sdk::wire::e2ap::fast::Indication;
use ranlab_sdk::wire::e2ap::{
    self, ActionToBeSetup, ComponentConfigItem, ComponentConfiguration, ComponentId, ComponentInterfaceType,
    E2SetupRequest, GlobalE2NodeId, InterfaceNg, Message, Plmn, RanFunctionItem, RicIndicationType,
    RicRequestId, RicSubscriptionDetails, RicSubscriptionResponse, Version,
};
use ranlab_sdk::wire::e42;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const V2: Version = Version::V2_03;
const MAC: u16 = 142;
/// Number of nodes that share the load.
const NODES: u32 = 10;
/// Payloads of the four statistics models with 32 UEs. Their mean is 3,276 bytes.
const PAYLOADS: [usize; 4] = [5_644, 4_876, 2_188, 396];
/// Time for connections, buffers and caches to reach a steady state.
const WARM_UP: Duration = Duration::from_millis(700);

/// Rate and duration of a load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// Indications per second over all nodes, or `None` for the maximum that is accepted.
    pub(crate) per_second: Option<u32>,
    pub(crate) duration: Duration,
}

/// Component under test, with its addresses.
#[derive(Debug, Clone)]
pub(crate) enum Rig {
    Ric { e2: Address, e42: Address },
    Relay { upstream: Address, downstream: Address },
}

/// A load that is running: the threads that send and receive.
pub(crate) struct Run {
    load: Load,
    received: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Rig {
    /// Connects nodes and xApp, subscribes and starts sending.
    pub(crate) fn connect(self, load: Load) -> Option<Run> {
        let (mut nodes, sink, ids) = match &self {
            Self::Ric { e2, e42 } => {
                let mut nodes: Vec<_> = (1..=NODES).map(|id| set_up_node(e2, id)).collect::<Option<_>>()?;
                let (sink, ids) = subscribe(e42, &mut nodes)?;
                (nodes, sink, ids)
            }
            Self::Relay { upstream, downstream } => {
                let sink = dial(downstream)?;
                let nodes: Vec<_> = (0..NODES).map(|_| dial(upstream)).collect::<Option<_>>()?;
                (nodes, sink, vec![RicRequestId { requestor: 1021, instance: 0 }; NODES as usize])
            }
        };
        let received = Arc::new(AtomicU64::new(0));
        let stop = Arc::new(AtomicBool::new(false));
        let batches: Vec<Vec<u8>> = ids.iter().map(|&id| batch(id)).collect();
        let counted = received.clone();
        let ended = stop.clone();
        let reader = std::thread::spawn(move || take(sink, &counted, &ended));
        let ended = stop.clone();
        let writer = std::thread::spawn(move || send(&mut nodes, &batches, load, &ended));
        Some(Run { load, received, stop, threads: vec![reader, writer] })
    }
}

impl Run {
    pub(crate) fn warm_up(&self) {
        std::thread::sleep(WARM_UP);
    }

    /// Returns the number of indications that arrived within the load's duration.
    pub(crate) fn measure(&mut self) -> u64 {
        let before = self.received.load(Ordering::Relaxed);
        std::thread::sleep(self.load.duration);
        self.received.load(Ordering::Relaxed) - before
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // If a thread failed, no indications arrive, and the measured number shows this.
            let _ = thread.join();
        }
    }
}

fn dial(address: &Address) -> Option<TcpStream> {
    let Address::Tcp { host, port } = address else { return None };
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        match TcpStream::connect((host.as_str(), *port)) {
            Ok(stream) => {
                stream.set_nodelay(true).ok()?;
                stream.set_read_timeout(Some(Duration::from_millis(500))).ok()?;
                stream.set_write_timeout(Some(Duration::from_millis(500))).ok()?;
                return Some(stream);
            }
            Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(20)),
            Err(_) => return None,
        }
    }
}

fn put(stream: &mut TcpStream, pdu: &[u8]) -> Option<()> {
    stream.write_all(&[&(pdu.len() as u32).to_be_bytes(), pdu].concat()).ok()
}

fn get(stream: &mut TcpStream) -> Option<bytes::Bytes> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut pdu = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut pdu).ok()?;
    Some(pdu.into())
}

fn function() -> RanFunctionItem {
    RanFunctionItem {
        id: MAC,
        definition: "MAC".into(),
        revision: 0,
        oid: Some("0.0.0.0.0.0.0.0.1.142.0".to_owned()),
    }
}

fn node_id(id: u32) -> GlobalE2NodeId {
    GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), id, 32)
}

fn set_up_node(e2: &Address, id: u32) -> Option<TcpStream> {
    let mut stream = dial(e2)?;
    let ng = ComponentConfigItem {
        interface: ComponentInterfaceType::Ng,
        id: ComponentId::Ng(InterfaceNg { amf_name: "amf".to_owned() }),
        configuration: ComponentConfiguration::default(),
    };
    let setup = Message::E2SetupRequest(E2SetupRequest {
        transaction_id: Some(1),
        node_id: node_id(id),
        functions: Some(vec![function()]),
        components_v1: None,
        components: Some(vec![ng]),
    });
    put(&mut stream, &e2ap::encode(&setup, V2).ok()?)?;
    get(&mut stream)?;
    Some(stream)
}

/// Subscribes once at each node. Returns the xApp's connection, and the request ids selected by the RIC.
fn subscribe(e42: &Address, nodes: &mut [TcpStream]) -> Option<(TcpStream, Vec<RicRequestId>)> {
    let mut xapp = dial(e42)?;
    let setup = e42::SetupRequest { functions: vec![function()], wants_node_events: false };
    put(&mut xapp, &e42::encode(&e42::Message::SetupRequest(setup), V2).ok()?)?;
    let e42::Message::SetupResponse(response) = e42::decode(&get(&mut xapp)?, V2).ok()?.message else {
        return None;
    };
    let mut ids = Vec::new();
    for (i, node) in nodes.iter_mut().enumerate() {
        let request = e42::SubscriptionRequest {
            xapp_id: response.xapp_id,
            node_id: node_id(i as u32 + 1),
            request_id: RicRequestId { requestor: i as u16 + 1, instance: 0 },
            function_id: MAC,
            details: RicSubscriptionDetails {
                event_trigger: vec![1, 0, 0, 0].into(),
                actions: vec![ActionToBeSetup::report(0)],
            },
        };
        put(&mut xapp, &e42::encode(&e42::Message::SubscriptionRequest(request), V2).ok()?)?;
        let Message::RicSubscriptionRequest(request) = e2ap::decode(&get(node)?, V2).ok()?.message else {
            return None;
        };
        let admitted = Message::RicSubscriptionResponse(RicSubscriptionResponse {
            request_id: request.request_id,
            function_id: request.function_id,
            admitted: vec![0],
            not_admitted: None,
        });
        put(node, &e2ap::encode(&admitted, V2).ok()?)?;
        get(&mut xapp)?;
        ids.push(request.request_id);
    }
    Some((xapp, ids))
}

/// Returns one report of each statistics model, framed.
fn batch(request_id: RicRequestId) -> Vec<u8> {
    let mut out = Vec::new();
    for size in PAYLOADS {
        let message = vec![0x5a; size];
        let mut pdu = Vec::new();
        let indication = Indication {
            request_id,
            function_id: MAC,
            action_id: 0,
            sn: None,
            kind: RicIndicationType::Report,
            header: &[0; 4],
            message: &message,
            call_process_id: None,
        };
        // Encoding cannot fail, because every value is within its bounds.
        let _ = indication.encode(&mut pdu);
        out.extend_from_slice(&(pdu.len() as u32).to_be_bytes());
        out.extend_from_slice(&pdu);
    }
    out
}

/// Sends batches to the nodes in rotation, at their scheduled times.
fn send(nodes: &mut [TcpStream], batches: &[Vec<u8>], load: Load, stop: &AtomicBool) {
    let gap = load.per_second.map(|rate| Duration::from_secs_f64(PAYLOADS.len() as f64 / f64::from(rate)));
    let mut next = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        for (node, batch) in nodes.iter_mut().zip(batches) {
            if let Some(gap) = gap {
                next += gap;
                std::thread::sleep(next.saturating_duration_since(Instant::now()));
            }
            if node.write_all(batch).is_err() {
                return;
            }
        }
    }
}

/// Counts complete frames.
fn take(mut sink: TcpStream, received: &AtomicU64, stop: &AtomicBool) {
    let mut buf = vec![0; 1 << 20];
    let mut held = 0;
    while !stop.load(Ordering::Relaxed) {
        match sink.read(&mut buf[held..]) {
            Ok(0) => return,
            Ok(n) => held += n,
            Err(_) => continue,
        }
        let mut at = 0;
        let mut frames = 0;
        while let Some(head) = buf[at..held].first_chunk::<4>() {
            let whole = 4 + u32::from_be_bytes(*head) as usize;
            if held - at < whole {
                break;
            }
            at += whole;
            frames += 1;
        }
        buf.copy_within(at..held, 0);
        held -= at;
        received.fetch_add(frames, Ordering::Relaxed);
    }
}
