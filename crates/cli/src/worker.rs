//! `ranlab worker`: holds a part of an experiment for a campaign that runs elsewhere.
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::Duration;

use ranlab_parts::Allowed;
use ranlab_parts::child::Child;
use ranlab_parts::worker::{Trust, grace, serve};

use crate::exit::Failure;
use crate::output::{Format, Output};

/// Parts held at the same time by one listener; a connection beyond is closed at once.
const PARTS_MAX: usize = 64;

/// Arguments of `worker`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ssh lab7 ranlab worker\n  ranlab worker --listen 10.0.0.7:7000 --allow 10.0.0.0/24\n\n\
                  A scenario names the place: `load.at = \"ssh://lab7\"` or `load.at = \"tcp://10.0.0.7:7000\"`."
)]
pub struct Arguments {
    /// Wait for campaigns here; without it, one campaign talks over the standard input and output
    #[arg(long, value_name = "IP:PORT")]
    listen: Option<SocketAddr>,
    /// Only these peers may connect; required beside loopback
    #[arg(long, value_name = "IP[/BITS]")]
    allow: Vec<Allowed>,
    /// Serve the socket that is the standard input and output
    #[arg(long, hide = true, conflicts_with = "listen")]
    socket: bool,
}

/// How long what is held may take to end in order once the campaign has gone, if it has no [`grace`] of its own.
const GRACE: Duration = Duration::from_secs(5);

/// The input of a campaign. With its end this process ends too, within [`GRACE`] or its part's own, and with it, by the kernel's word, what it has
/// started: a part that is being brought up may wait for a program far longer than that, and does not look at the input.
struct Watched<R>(R);

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer);
        if matches!(read, Ok(0)) && !buffer.is_empty() {
            std::thread::spawn(|| {
                std::thread::sleep(GRACE.max(grace()));
                std::process::exit(0);
            });
        }
        read
    }
}

/// Serves until the input ends, or for ever.
pub fn run(arguments: &Arguments, format: Format) -> Result<(), Failure> {
    match arguments.listen {
        Some(address) => listen(address, &arguments.allow, format),
        None => {
            let trust = if arguments.socket { Trust::PartsOnly } else { Trust::Full };
            match serve(Watched(io::stdin()), io::stdout().lock(), trust) {
                // The campaign has gone.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                Err(error) => Err(Failure::of_output(&error)),
                Ok(()) => Ok(()),
            }
        }
    }
}

/// Each connection gets a process of its own, as with ssh: what it holds ends with it.
fn listen(address: SocketAddr, allow: &[Allowed], format: Format) -> Result<(), Failure> {
    if allow.is_empty() && !address.ip().is_loopback() {
        return Err(Failure::Usage(format!(
            "a worker at {address} would serve everybody who reaches it: name those that may with --allow"
        )));
    }
    let failed = |error: io::Error| Failure::Environment(format!("cannot listen at {address}: {error}"));
    let listener = TcpListener::bind(address).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let program = crate::program::path().map_err(failed)?;
    let mut output = Output::new(format);
    output.text(format_args!("worker tcp://{bound}"))?;
    output.item(&serde_json::json!({ "listening": "worker", "address": format!("tcp://{bound}") }))?;
    output.flush()?;
    let mut children: Vec<Child> = Vec::new();
    loop {
        let Ok((stream, peer)) = listener.accept() else {
            std::thread::sleep(Duration::from_millis(100));
            continue;
        };
        children.retain_mut(|child| child.ended().is_none());
        if !Allowed::any(allow, &format!("tcp://{peer}")) {
            eprintln!("ranlab worker: {peer} is not on the list of allowed peers");
            continue;
        }
        if children.len() >= PARTS_MAX {
            eprintln!("ranlab worker: {PARTS_MAX} parts are held already; {peer} is refused");
            continue;
        }
        let start = || {
            stream.set_nodelay(true)?;
            let input: OwnedFd = stream.try_clone()?.into();
            let output: OwnedFd = stream.into();
            let mut command = Command::new(&program);
            command.args(["worker", "--socket"]).stdin(Stdio::from(input)).stdout(Stdio::from(output));
            Child::start(&mut command)
        };
        match start() {
            Ok(child) => children.push(child),
            Err(error) => eprintln!("ranlab worker: cannot serve {peer}: {error}"),
        }
    }
}
