//! Measures round trips: to a bare echo process, of an iApp and of an xApp.
use crate::process::{Process, command_on, free_address, own, ranlab};
use bytes::Bytes;
use ranlab_e2_lab::{HostedIApp, Ric, RicComponent};
use ranlab_lab::Listen;
use ranlab_sdk::transport::{
    Address, Frame, FrameReader, FrameWriter, ReadOutcome, SocketOptions, Stream, connect,
};
use std::process::Stdio;
use std::time::{Duration, Instant};

const COUNT: u32 = 3_000;
const SIZE: usize = 1_500;
/// Number of bytes that a ping's E2AP message adds to the payload.
const OVERHEAD: usize = 70;
const PATIENCE: Duration = Duration::from_secs(20);

fn median_us(mut rtts: Vec<Duration>) -> Option<f64> {
    rtts.sort_unstable();
    rtts.get(rtts.len() / 2).map(|rtt| rtt.as_nanos() as f64 / 1_000.0)
}

/// CPUs of the processes.
///
/// Two hops on one CPU cost half of two hops between CPUs, and the scheduler's choice varies between runs. Neighbours
/// in a path therefore run on different CPUs, as on different machines.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    /// CPU of the calling thread, and of every second process on the path from it.
    pub(crate) near: Option<usize>,
    /// CPU of the remaining processes.
    pub(crate) far: Option<usize>,
}

/// Measures a round trip to an echo process, over the transport of the SDK.
pub(crate) fn echo_rtt_us(places: Places) -> Option<f64> {
    let address = free_address();
    let _echo = Process::start_on(places.far, &own(), &["echo", &address.to_string()]);
    ranlab_sdk::run(async {
        let stream = dial(&address).await?;
        let mut reader = FrameReader::default();
        let mut writer = FrameWriter::default();
        let body = Bytes::from(vec![0x5a; SIZE + OVERHEAD]);
        let mut rtts = Vec::new();
        for _ in 0..COUNT {
            let begin = Instant::now();
            writer.write(&stream, &[Frame { head: &[], body: &body }]).ok()?;
            one_frame(&stream, &mut reader).await?;
            rtts.push(begin.elapsed());
        }
        median_us(rtts)
    })
}

async fn dial(address: &Address) -> Option<Stream> {
    for _ in 0..250 {
        if let Ok(stream) = connect(address, &SocketOptions::default()).await {
            return Some(stream);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    None
}

async fn one_frame(stream: &Stream, reader: &mut FrameReader) -> Option<Bytes> {
    loop {
        if let Some(frame) = reader.next().ok()? {
            return Some(frame);
        }
        stream.readable().await.ok()?;
        if reader.fill(stream).ok()? == ReadOutcome::Closed {
            return None;
        }
    }
}

/// Measures a round trip of an iApp in a RIC in this process. The node is a separate process.
pub(crate) fn iapp_rtt_us(places: Places) -> Option<f64> {
    ranlab_sdk::run(async {
        let address = free_address();
        let e2 = vec![Listen::At(address.clone())];
        let iapp = vec![HostedIApp::Ping];
        let part =
            RicComponent { e2, iapp, size: SIZE as u32, interval: Duration::ZERO, ..RicComponent::default() };
        let ric = Ric::start(&part).await.ok()?;
        let _node = Process::start_on(
            places.far,
            &ranlab(),
            &["emulate", "--connect", &address.to_string(), "--ues", "0", "--duration", "20s"],
        );
        let begin = Instant::now();
        while ric.pings()?.received < u64::from(COUNT) && begin.elapsed() < PATIENCE {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        ric.pings().filter(|pings| pings.received > 0).map(|pings| pings.rtt_us.p50)
    })
}

/// Measures a round trip through three processes: xApp, RIC and node.
pub(crate) fn xapp_rtt_us(places: Places) -> Option<f64> {
    let e2 = free_address();
    let e42 = free_address();
    let ric = ["ric", "--e2", &e2.to_string(), "--e42", &e42.to_string()];
    let _ric = Process::start_on(places.far, &ranlab(), &ric);
    wait_for(&e2);
    let _node = Process::start_on(
        places.near,
        &ranlab(),
        &["emulate", "--connect", &e2.to_string(), "--ues", "0", "--duration", "20s"],
    );
    let count = COUNT.to_string();
    let size = SIZE.to_string();
    let arguments = [
        "xapp",
        "ping",
        "--connect",
        &e42.to_string(),
        "--size",
        &size,
        "--count",
        &count,
        "--format",
        "json",
    ];
    let mut xapp = command_on(places.near, &ranlab());
    let output = xapp.args(arguments).stdin(Stdio::null()).output().ok()?;
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    summary.pointer("/rtt_us/p50")?.as_f64()
}

fn wait_for(address: &Address) {
    let Address::Tcp { host, port } = address else { return };
    for _ in 0..250 {
        if std::net::TcpStream::connect((host.as_str(), *port)).is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
