//! `ranlab worker`: runs a component of an experiment for a remote campaign.
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::Duration;

use crate::domains::REGISTRY;
use ranlab_campaign::rig::Stop;
use ranlab_command::verb::{Context, Run};
use ranlab_lab::child::Child;
use ranlab_lab::worker::{Worker, WorkerTrust, grace, serve};
use ranlab_lab::{AllowedPeer, RigContext, WorkerLocation, discovery};

use crate::exit::Failure;
use crate::output::{Format, Output};

/// Maximum number of components per listener; further connections are closed immediately.
const PARTS_MAX: usize = 64;

/// Arguments of `worker`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ssh lab7 ranlab worker\n  ranlab worker --listen 10.0.0.7:7000 --allow 10.0.0.0/24\n  \
                  ranlab worker --listen 10.0.0.7:7000 --allow 10.0.0.0/24 --bus nats://10.0.0.1:4222\n  \
                  ranlab worker --find nats://10.0.0.1:4222\n\n\
                  A scenario gives the location of a component: `load.at = \"ssh://lab7\"`, \
                  `load.at = \"tcp://10.0.0.7:7000\"`, or `load.at = \"nats://10.0.0.1:4222\"` for all announced workers."
)]
pub struct Arguments {
    /// Address on which campaigns are accepted; without it, one campaign uses standard input and output
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = crate::args::socket_address)]
    listen: Option<SocketAddr>,
    /// Accept connections only from these addresses; repeatable; required on a non-loopback address
    #[arg(long, value_name = "IP[/BITS]")]
    allow: Vec<AllowedPeer>,
    /// NATS server on which this worker announces itself
    #[arg(long, value_name = "nats://HOST:PORT[/GROUP]", requires = "listen")]
    bus: Option<WorkerGroupAddress>,
    /// With --bus: address at which campaigns reach this worker [default: --listen]
    #[arg(long, value_name = "HOST:PORT", requires = "bus")]
    advertise: Option<String>,
    /// List the workers announced on a NATS server, with the errors of their clocks
    #[arg(long, value_name = "nats://HOST:PORT[/GROUP]", conflicts_with_all = ["listen", "socket"])]
    find: Option<WorkerGroupAddress>,
    /// Serve the socket that is the standard input and output
    #[arg(long, hide = true, conflicts_with = "listen")]
    socket: bool,
}

/// Time limit for a component to end after the campaign has disconnected, unless the component has a longer limit ([`grace`]).
const GRACE: Duration = Duration::from_secs(5);

/// Input from a campaign. After the input ends, this process exits within [`GRACE`] or the component's time limit. All processes that it
/// started end with it (by the kernel's parent-death signal).
///
/// The time limit is needed because a starting component may wait much longer for a program without reading the input.
struct ParentWatch<R>(R);

impl<R: Read> Read for ParentWatch<R> {
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

/// NATS server for worker discovery.
#[derive(Debug, Clone)]
struct WorkerGroupAddress {
    server: String,
    group: String,
}

impl FromStr for WorkerGroupAddress {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        // Only NATS is supported, so the scheme is optional.
        let url = if text.contains("://") { text.to_owned() } else { format!("nats://{text}") };
        match url.parse() {
            Ok(WorkerLocation::Bus { server, group }) => Ok(Self { server, group }),
            _ => Err("expected nats://HOST:PORT[/GROUP], for example nats://10.0.0.1:4222".to_owned()),
        }
    }
}

impl Run for Arguments {
    fn run(self, context: &Context) -> Result<(), Failure> {
        run(&self, context.format)
    }
}

/// Serves until the input ends, or forever.
fn run(arguments: &Arguments, format: Format) -> Result<(), Failure> {
    if let Some(bus) = &arguments.find {
        return find(bus, format);
    }
    match arguments.listen {
        Some(address) => listen(address, arguments, format),
        None => {
            let trust = if arguments.socket { WorkerTrust::PartsOnly } else { WorkerTrust::Full };
            match serve(ParentWatch(io::stdin()), io::stdout().lock(), trust, REGISTRY) {
                // The campaign has disconnected.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                Err(error) => Err(Failure::of_output(&error)),
                Ok(()) => Ok(()),
            }
        }
    }
}

/// Starts a process per connection, as ssh does. The component therefore ends with its connection.
fn listen(address: SocketAddr, arguments: &Arguments, format: Format) -> Result<(), Failure> {
    let allow = &arguments.allow;
    if allow.is_empty() && !address.ip().is_loopback() {
        return Err(Failure::Usage(format!(
            "refusing to listen on the non-loopback address {address} without --allow"
        )));
    }
    let failed = |error: io::Error| Failure::Environment(format!("cannot listen at {address}: {error}"));
    let listener = TcpListener::bind(address).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let program = crate::program::path().map_err(failed)?;
    if let Some(bus) = &arguments.bus {
        let at = arguments.advertise.clone().unwrap_or_else(|| bound.to_string());
        if arguments.advertise.is_none() && bound.ip().is_unspecified() {
            return Err(Failure::Usage(format!(
                "{bound} is not reachable from other machines; set the address for campaigns with --advertise"
            )));
        }
        discovery::announce(&bus.server, &bus.group, &format!("tcp://{at}"))
            .map_err(|error| Failure::Environment(error.to_string()))?;
    }
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
        if !AllowedPeer::any(allow, &format!("tcp://{peer}")) {
            eprintln!("ranlab worker: {peer} is not on the list of allowed peers");
            continue;
        }
        if children.len() >= PARTS_MAX {
            eprintln!("ranlab worker: {PARTS_MAX} components run already; {peer} is refused");
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

/// Lists the workers that respond, with their features and clock errors.
fn find(bus: &WorkerGroupAddress, format: Format) -> Result<(), Failure> {
    let hosts = discovery::workers(&bus.server, &bus.group)
        .map_err(|error| Failure::Environment(error.to_string()))?;
    let lab =
        RigContext::new(crate::program::path().map_err(|error| Failure::Environment(error.to_string()))?);
    let mut output = Output::new(format);
    let mut good = 0_usize;
    let mut worst = 0.0_f64;
    for host in &hosts {
        match Worker::start_idle(&lab, host, "campaign", &Stop::never()) {
            Ok(worker) => {
                good += 1;
                worst = worst.max(worker.clock_error_us);
                let offset = worker.clock_offset_us;
                let error = worker.clock_error_us;
                output.text(format_args!(
                    "{host}  clock offset {offset:+.0} us, with an error of up to {error:.0} us"
                ))?;
                output.item(&serde_json::json!({
                    "worker": host.to_string(), "clock_offset_us": offset, "clock_error_us": error,
                }))?;
            }
            Err(error) => {
                output.text(format_args!("{host}  cannot be reached: {error}"))?;
                output
                    .item(&serde_json::json!({ "worker": host.to_string(), "error": error.to_string() }))?;
            }
        }
    }
    output.text(format_args!(
        "{good} of {} workers are available; no clock offset is wrong by more than {worst:.0} us",
        hosts.len()
    ))?;
    output
        .finish(&serde_json::json!({ "workers": good, "answered": hosts.len(), "clock_error_us_max": worst }))
}
