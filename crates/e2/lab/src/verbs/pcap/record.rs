//! `ranlab pcap record`: a transparent proxy that records the messages.
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use ranlab_e2_capture::{E42_PORT, Endpoint, Flow, Recorder, Side, Transport};
use ranlab_transport::{Listener, Proxy, ProxyDirection, ProxyError, ProxyObserver, SocketOptions};
use serde::Serialize;

use ranlab_command::args::{self, Address};
use ranlab_command::exit::Failure;
use ranlab_command::live;
use ranlab_command::output::{Format, Output};

/// Maximum delay until recorded messages are written to the file.
const FLUSH_PERIOD: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Example (agents connect to port 36431 instead of 36421):
  ranlab pcap record --listen tcp://127.0.0.1:36431 --connect tcp://127.0.0.1:36421 --out e2.pcapng";

/// Arguments of `pcap record`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Address on which agents or xApps are accepted
    #[arg(long, value_name = "URL")]
    listen: Address,
    /// Address of the RIC
    #[arg(long, value_name = "URL")]
    connect: Address,
    /// Protocol of the messages; default: e42 if either address has port 36422, otherwise e2
    #[arg(long, value_parser = super::side())]
    side: Option<Side>,
    /// pcapng file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Duration of the recording; default: until Ctrl-C
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

/// Final summary of a recording.
#[derive(Debug, Default, Clone, Serialize)]
struct Summary {
    out: String,
    connections: u64,
    refused: u64,
    broken: u64,
    pdus: u64,
    bytes: u64,
    seconds: f64,
}

/// Records until the duration is over or a signal arrives.
pub(super) fn run(arguments: &Arguments, format: Format) -> Result<(), Failure> {
    for address in [&arguments.listen, &arguments.connect] {
        if matches!(address, Address::Memory(_)) {
            return Err(Failure::Usage(format!(
                "{address} is reachable only within one process; use tcp:// or unix://"
            )));
        }
    }
    let summary = ranlab_sdk::run(record(arguments))?;
    let mut output = Output::new(format);
    output.text(format_args!(
        "recorded {} PDUs ({} bytes) of {} connections to {}; {} connections were refused, {} were broken",
        summary.pdus, summary.bytes, summary.connections, summary.out, summary.refused, summary.broken
    ))?;
    output.finish(&summary)
}

async fn record(arguments: &Arguments) -> Result<Summary, Failure> {
    let options = SocketOptions::default();
    let listener = Listener::bind(&arguments.listen, &options).await?;
    let out = arguments.out.display().to_string();
    let unwritable = |error: io::Error| Failure::Usage(format!("cannot write {out}: {error}"));
    let file = File::create(&arguments.out).map_err(unwritable)?;
    let recorder = Recorder::new(BufWriter::new(file)).map_err(unwritable)?;
    let side = arguments.side.unwrap_or_else(|| side_of(listener.address(), &arguments.connect));
    let summary = Summary { out: out.clone(), ..Summary::default() };
    let state = State { recorder, summary, failed: None, last_told: String::new() };
    let recording = Rc::new(Recording { side, state: RefCell::new(state) });
    eprintln!(
        "listening on {}, forwarding to {}, recording {} to {out}",
        listener.address(),
        arguments.connect,
        side.name()
    );
    let began = Instant::now();
    let proxy = Proxy::new(listener, arguments.connect.clone(), options);
    tokio::select! {
        () = proxy.serve(Rc::clone(&recording)) => {}
        () = live::end(arguments.duration) => {}
        () = keep(&recording) => {}
    }
    let mut state = recording.state.borrow_mut();
    let flushed = state.recorder.flush();
    let failed = state.failed.take().map_or(flushed, Err);
    failed.map_err(|error| Failure::Environment(format!("cannot write {out}: {error}")))?;
    let connections = proxy.connections();
    let seconds = began.elapsed().as_secs_f64();
    Ok(Summary { connections, seconds, ..std::mem::take(&mut state.summary) })
}

fn side_of(listen: &Address, connect: &Address) -> Side {
    let is_e42 = |address: &Address| matches!(address, Address::Tcp { port: E42_PORT, .. });
    if is_e42(listen) || is_e42(connect) { Side::E42 } else { Side::E2 }
}

/// Flushes the file periodically. Returns when the file cannot be written.
async fn keep(recording: &Recording) {
    let mut flush = tokio::time::interval(FLUSH_PERIOD);
    while recording.state.borrow().failed.is_none() {
        flush.tick().await;
        let mut state = recording.state.borrow_mut();
        let flushed = state.recorder.flush();
        state.failed = state.failed.take().or_else(|| flushed.err());
    }
}

/// Writer of the recording.
struct Recording {
    side: Side,
    /// State of the recording. It is never borrowed across an await.
    state: RefCell<State>,
}

struct State {
    recorder: Recorder<BufWriter<File>>,
    summary: Summary,
    failed: Option<io::Error>,
    last_told: String,
}

impl ProxyObserver for Recording {
    fn pass(&self, passage: &ProxyDirection, batch: &mut Vec<Bytes>) {
        let mut state = self.state.borrow_mut();
        // Unix sockets have no ports. The default port therefore identifies the RIC, and the number of the connection
        // identifies the peer.
        let peer = Endpoint { address: None, port: passage.connection as u16 };
        let ric = Endpoint { address: None, port: self.side.port() };
        let (from, to) = if passage.forth { (peer, ric) } else { (ric, peer) };
        let source = passage.from.map_or(from, Endpoint::from);
        let destination = passage.to.map_or(to, Endpoint::from);
        // Only TCP peers have addresses here.
        let transport = if source.address.is_some() { Transport::Tcp } else { Transport::Exported };
        let flow = Flow { transport, source, destination };
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        for pdu in batch {
            if state.failed.is_some() {
                return;
            }
            match state.recorder.write(self.side, since.as_nanos() as u64, &flow, pdu) {
                Ok(()) => {
                    state.summary.pdus += 1;
                    state.summary.bytes += pdu.len() as u64;
                }
                Err(error) => state.failed = Some(error),
            }
        }
    }

    /// Prints a problem to stderr, unless the previous line reported the same problem.
    fn trouble(&self, peer: Option<&str>, why: &ProxyError) {
        let what = peer.map_or_else(|| why.to_string(), |peer| format!("{peer}: {why}"));
        let mut state = self.state.borrow_mut();
        match why {
            ProxyError::Accept(_) => {}
            ProxyError::Full => state.summary.refused += 1,
            _ => state.summary.broken += 1,
        }
        if state.last_told != what {
            eprintln!("ranlab: {what}");
            state.last_told = what;
        }
    }
}
