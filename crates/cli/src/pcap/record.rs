//! `ranlab pcap record`: a proxy that passes everything on as it is, and writes it down.
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use ranlab_sdk::transport::{
    AcceptError, Frame, FrameError, FrameReader, FrameWriter, Listener, ReadOutcome, SocketOptions, Stream,
    WriteError, connect,
};
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::LocalSet;

use crate::args::{self, Address};
use crate::exit::Failure;
use crate::output::{Format, Output};
use ranlab_capture::writer::{PcapngWriter, Record};
use ranlab_capture::{E42_PORT, Endpoint, Side, Transport};

/// Connections that are passed on at a time; further ones are closed at once and counted as refused.
const MAX_CONNECTIONS: usize = 4096;
/// What is recorded reaches the file after this long at the latest.
const FLUSH_PERIOD: Duration = Duration::from_secs(1);
/// Wait before the next connection when the system has no room for one.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);

const EXAMPLES: &str = "\
Example (agents connect to port 36431 instead of 36421):
  ranlab pcap record --listen tcp://127.0.0.1:36431 --connect tcp://127.0.0.1:36421 --out e2.pcapng";

/// Arguments of `pcap record`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Where agents or xApps connect to
    #[arg(long, value_name = "ADDRESS")]
    listen: Address,
    /// Where the RIC listens
    #[arg(long, value_name = "ADDRESS")]
    connect: Address,
    /// What passes; default: e42 if either address has port 36422, else e2
    #[arg(long, value_parser = super::side())]
    side: Option<Side>,
    /// The pcapng file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Stop after this long; default: at Ctrl-C
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

/// What the verb ends with.
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

/// Records until the duration is over or a signal comes.
pub(super) fn run(arguments: &Arguments, format: Format) -> Result<(), Failure> {
    for address in [&arguments.listen, &arguments.connect] {
        if matches!(address, Address::Memory(_)) {
            return Err(Failure::Usage(format!("{address} is within one process; use tcp:// or unix://")));
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Environment(format!("cannot start: {error}")))?;
    let summary = LocalSet::new().block_on(&runtime, record(arguments))?;
    let mut output = Output::new(format);
    output.text(format_args!(
        "recorded {} PDUs ({} bytes) of {} connections to {}; {} refused, {} broken",
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
    let writer = PcapngWriter::new(BufWriter::new(file)).map_err(unwritable)?;
    let side = arguments.side.unwrap_or_else(|| side_of(listener.address(), &arguments.connect));
    let summary = Summary { out: out.clone(), ..Summary::default() };
    let shared = Rc::new(Shared {
        side,
        connect: arguments.connect.clone(),
        options,
        state: RefCell::new(State { writer, summary, open: 0, failed: None, last_told: String::new() }),
    });
    eprintln!(
        "listening on {}, forwarding to {}, recording {} to {out}",
        listener.address(),
        arguments.connect,
        side.name()
    );
    let began = Instant::now();
    let stopped = serve(&listener, &shared, arguments.duration).await;
    let mut state = shared.state.borrow_mut();
    let flushed = state.writer.flush();
    let failed = state.failed.take().map_or(flushed, Err);
    failed.map_err(|error| Failure::Environment(format!("cannot write {out}: {error}")))?;
    stopped.map_err(|error| Failure::Environment(format!("cannot wait for signals: {error}")))?;
    state.summary.seconds = began.elapsed().as_secs_f64();
    Ok(state.summary.clone())
}

fn side_of(listen: &Address, connect: &Address) -> Side {
    let is_e42 = |address: &Address| matches!(address, Address::Tcp { port: E42_PORT, .. });
    if is_e42(listen) || is_e42(connect) { Side::E42 } else { Side::E2 }
}

/// What all connections share.
struct Shared {
    side: Side,
    connect: Address,
    options: SocketOptions,
    /// Never borrowed across an await.
    state: RefCell<State>,
}

struct State {
    writer: PcapngWriter<BufWriter<File>>,
    summary: Summary,
    open: usize,
    failed: Option<io::Error>,
    last_told: String,
}

impl State {
    /// On the standard error, once in a row.
    fn tell(&mut self, what: String) {
        if self.last_told != what {
            eprintln!("ranlab: {what}");
            self.last_told = what;
        }
    }
}

/// Accepts until the time is over, a signal comes or the file cannot be written.
async fn serve(listener: &Listener, shared: &Rc<Shared>, duration: Option<Duration>) -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut flush = tokio::time::interval(FLUSH_PERIOD);
    let over = tokio::time::sleep(duration.unwrap_or(args::MAX_DURATION));
    tokio::pin!(over);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((client, peer)) => shared.admit(client, peer),
                Err(error) => {
                    shared.state.borrow_mut().tell(error.to_string());
                    if matches!(error, AcceptError::Exhausted(_)) {
                        tokio::time::sleep(EXHAUSTED_PAUSE).await;
                    }
                }
            },
            _ = flush.tick() => {
                let mut state = shared.state.borrow_mut();
                if let Err(error) = state.writer.flush() {
                    state.failed = Some(error);
                }
                if state.failed.is_some() {
                    return Ok(());
                }
            }
            _ = interrupt.recv() => return Ok(()),
            _ = terminate.recv() => return Ok(()),
            () = &mut over => return Ok(()),
        }
    }
}

impl Shared {
    fn admit(self: &Rc<Self>, client: Stream, peer: String) {
        let mut state = self.state.borrow_mut();
        if state.open >= MAX_CONNECTIONS {
            state.summary.refused += 1;
            return state.tell(format!("{MAX_CONNECTIONS} connections are open, further ones are refused"));
        }
        state.open += 1;
        state.summary.connections += 1;
        let number = state.summary.connections;
        let shared = Rc::clone(self);
        tokio::task::spawn_local(async move {
            let outcome = shared.relay(&client, number).await;
            let mut state = shared.state.borrow_mut();
            state.open -= 1;
            if let Err(why) = outcome {
                state.summary.broken += 1;
                state.tell(format!("{peer}: {why}"));
            }
        });
    }

    /// Passes on in both directions until either end closes.
    async fn relay(&self, client: &Stream, number: u64) -> Result<(), RelayError> {
        let ric = connect(&self.connect, &self.options).await?;
        // Unix sockets have no ports: the customary one stands for the RIC, the connection's number for its peer.
        let near = endpoint(client).unwrap_or(Endpoint { address: None, port: number as u16 });
        let far = endpoint(&ric).unwrap_or_else(|| Endpoint { address: None, port: self.side.port() });
        tokio::select! {
            ended = self.pump(client, &ric, near, far) => ended,
            ended = self.pump(&ric, client, far, near) => ended,
        }
    }

    /// One direction. Nothing more is read before all that was read has been passed on, so no memory piles up.
    async fn pump(
        &self,
        from: &Stream,
        to: &Stream,
        source: Endpoint,
        destination: Endpoint,
    ) -> Result<(), RelayError> {
        let (mut reader, mut writer) = (FrameReader::default(), FrameWriter::default());
        let mut batch = Vec::new();
        loop {
            match reader.fill(from)? {
                ReadOutcome::WouldBlock => from.readable().await?,
                ReadOutcome::Closed if reader.unfinished_bytes() > 0 => return Err(RelayError::Unfinished),
                ReadOutcome::Closed => return Ok(()),
                ReadOutcome::Bytes(_) => {
                    let ended = loop {
                        match reader.next() {
                            Ok(Some(pdu)) => batch.push(pdu),
                            Ok(None) => break Ok(()),
                            Err(error) => break Err(error),
                        }
                    };
                    self.write_down(&batch, source, destination);
                    send(&mut writer, to, &batch).await?;
                    batch.clear();
                    ended?;
                }
            }
        }
    }

    fn write_down(&self, batch: &[Bytes], source: Endpoint, destination: Endpoint) {
        let mut state = self.state.borrow_mut();
        // Addresses come with TCP alone here.
        let transport = if source.address.is_some() { Transport::Tcp } else { Transport::Exported };
        let time = SystemTime::now();
        for pdu in batch {
            if state.failed.is_some() {
                return;
            }
            let record = Record { side: self.side, time, transport, source, destination, pdu };
            match state.writer.write(&record) {
                Ok(()) => {
                    state.summary.pdus += 1;
                    state.summary.bytes += pdu.len() as u64;
                }
                Err(error) => state.failed = Some(error),
            }
        }
    }
}

/// Why a connection was not passed on to its regular end.
#[derive(Debug, thiserror::Error)]
enum RelayError {
    #[error(transparent)]
    Connect(#[from] ranlab_sdk::transport::ConnectError),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("the connection closed in the middle of a message")]
    Unfinished,
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

async fn send(writer: &mut FrameWriter, to: &Stream, batch: &[Bytes]) -> Result<(), RelayError> {
    let frames: Vec<_> = batch.iter().map(|body| Frame { head: &[], body }).collect();
    let mut taken = 0;
    while taken < frames.len() || writer.rest_bytes() > 0 {
        let outcome = writer.write(to, &frames[taken..])?;
        taken += outcome.taken;
        if outcome.blocked {
            to.writable().await?;
        }
    }
    Ok(())
}

fn endpoint(stream: &Stream) -> Option<Endpoint> {
    match stream {
        Stream::Tcp(stream) => stream.peer_addr().ok().map(Endpoint::from),
        _ => None,
    }
}
