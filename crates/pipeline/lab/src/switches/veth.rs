//! Virtual Ethernet pairs between a tester and a switch, each in an unnamed network namespace. They are used for
//! functional tests, and for switches that read sockets. A namespace disappears with its last process.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ranlab_net::stamped::{
    enter_namespace, open_frames, receive_stamped, send_frame, stamp_received, take_all,
};
use ranlab_pipeline::backends::{Equivalence, Outcomes, input, normalise, port_name};
use ranlab_pipeline::declare::Port;
use ranlab_pipeline::trace::Trace;

use super::tools::{self, Daemon};
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, rig};

/// Protocol number that selects every EtherType.
const ALL: u16 = 3;
/// Number of packets sent without a pause. Any queue on the path has space for this number.
const AT_ONCE: usize = 8;
/// Pause after a burst.
const PAUSE: Duration = Duration::from_millis(4);
/// Size of the receive buffer of a socket, in bytes.
const BUFFER_BYTES: usize = 8 << 20;
/// Time without packets after which a pass is complete.
const QUIET: Duration = Duration::from_millis(300);
/// Maximum time for discarding late packets. A slow switch may still send packets of a campaign that was killed.
const LATE_MAX: Duration = Duration::from_secs(5);
/// Maximum length of a frame, in bytes.
const FRAME_BYTES_MAX: usize = 2_048;
/// Timeout until a namespace exists.
const WAIT: Duration = Duration::from_secs(5);

/// Two links, whose ends at the tester are sockets.
pub(super) struct Wires {
    sockets: Arc<[OwnedFd; 2]>,
    /// Process that keeps the tester's namespace alive, if the tester has one.
    _holder: Option<Daemon>,
}

impl Wires {
    /// Creates two pairs that lead to the network namespace of the process `switch`. Their ends in that namespace have
    /// the names of the ports.
    pub(super) fn to(switch: u32) -> Result<Self, ComponentError> {
        let mut command = tools::program("unshare");
        command.args(["--net", "--", "sleep", "infinity"]);
        let holder = Daemon::start("the tester's namespace", &mut command)?;
        let own = holder.pid();
        apart(own)?;
        // Neighbour discovery is disabled, so that all frames are from the tester.
        for pid in [own, switch] {
            inside(pid, || std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1").or(Ok(())))?;
        }
        for port in [Port::Access, Port::Core] {
            let name = port_name(port);
            let here = own.to_string();
            let there = switch.to_string();
            let words =
                ["link", "add", name, "netns", &here, "type", "veth", "peer", "name", name, "netns", &there];
            ip(&words)?;
            for pid in [own, switch] {
                let file = format!("--net={}", namespace(pid).display());
                let mut command = tools::program("nsenter");
                tools::run(command.args([&file, "--", "ip", "link", "set", name, "mtu", "2000", "up"]))
                    .map_err(|trouble| environment(trouble.what))?;
            }
        }
        let open = || Ok([open(port_name(Port::Access))?, open(port_name(Port::Core))?]);
        Ok(Self { sockets: Arc::new(inside(own, open)?), _holder: Some(holder) })
    }

    /// Opens two interfaces of the local namespace, access first, that lead to an existing switch.
    pub(super) fn here(interfaces: &[String; 2]) -> Result<Self, ComponentError> {
        let end = |name: &String| {
            // Frames that the kernel itself sends would be attributed to the switch.
            let file = Path::new("/proc/sys/net/ipv6/conf").join(name).join("disable_ipv6");
            if std::fs::read_to_string(file).is_ok_and(|text| text.trim() == "0") {
                return Err(environment(format!(
                    "the kernel also uses the interface `{name}`, and sends neighbour discovery on it: \
                     set `sysctl -w net.ipv6.conf.{name}.disable_ipv6=1` and remove its addresses"
                )));
            }
            let failed = |error: std::io::Error| environment(format!("the interface `{name}`: {error}"));
            let socket = open(name).map_err(failed)?;
            take_all(&socket, name).map_err(failed)?;
            Ok(socket)
        };
        Ok(Self { sockets: Arc::new([end(&interfaces[0])?, end(&interfaces[1])?]), _holder: None })
    }

    /// Waits until no packets arrive on either port.
    pub(super) fn quiet(&self) -> Result<(), ComponentError> {
        let begun = Instant::now();
        let mut buffer = [0; FRAME_BYTES_MAX];
        for socket in self.sockets.iter() {
            while receive_stamped(socket, &mut buffer).is_ok() {
                if begun.elapsed() > LATE_MAX {
                    return Err(environment(format!(
                        "unexpected frames have arrived for {LATE_MAX:?}: another program uses these interfaces"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Sends the packets of a trace, at a rate that any queue can take. Returns the packets that left by either port.
    pub(super) fn pass(
        &self,
        trace: &Trace,
        equivalences: &[Equivalence],
    ) -> Result<Outcomes, ComponentError> {
        let over = AtomicBool::new(false);
        let mut outcomes = Outcomes::default();
        std::thread::scope(|scope| {
            let receivers = [Port::Access, Port::Core].map(|port| {
                let socket = &self.sockets[port as usize];
                let over = &over;
                (port, scope.spawn(move || received(socket, over)))
            });
            let sent = self.send(trace, equivalences, &mut |index| {
                if index % AT_ONCE == AT_ONCE - 1 {
                    std::thread::sleep(PAUSE);
                }
            });
            over.store(true, Ordering::Relaxed);
            for (port, receiver) in receivers {
                let frames = receiver.join().map_err(|_| rig("a thread that receives died"))?;
                frames.into_iter().for_each(|frame| outcomes.sent(port, frame, equivalences));
            }
            sent
        })?;
        Ok(outcomes)
    }

    fn send(
        &self,
        trace: &Trace,
        equivalences: &[Equivalence],
        each: &mut dyn FnMut(usize),
    ) -> Result<(), ComponentError> {
        for (index, (port, frame)) in trace.iter().enumerate() {
            let mut frame = frame.to_vec();
            normalise(&mut frame, input(equivalences));
            send_frame(&self.sockets[port as usize], &frame).map_err(environment)?;
            each(index);
        }
        Ok(())
    }

    /// Sends one packet and waits for the packet that leaves by the other port. Returns `None` after a timeout.
    pub(super) fn one(&self, port: Port, frame: &[u8]) -> Result<Option<(Port, Vec<u8>)>, ComponentError> {
        let out = port.other();
        let mut buffer = [0; FRAME_BYTES_MAX];
        send_frame(&self.sockets[port as usize], frame).map_err(environment)?;
        let Ok(stamped) = receive_stamped(&self.sockets[out as usize], &mut buffer) else { return Ok(None) };
        Ok(Some((out, buffer[..stamped.bytes.min(FRAME_BYTES_MAX)].to_vec())))
    }

    /// Sends a trace in a loop until the returned flow is dropped.
    pub(super) fn flow(&self, trace: &Trace, equivalences: &[Equivalence]) -> Flow {
        let mut frames = Vec::with_capacity(trace.len());
        for (port, frame) in trace.iter() {
            let mut frame = frame.to_vec();
            normalise(&mut frame, input(equivalences));
            frames.push((port, frame));
        }
        let stop = Arc::new(AtomicBool::new(false));
        let sockets = Arc::clone(&self.sockets);
        let stopped = Arc::clone(&stop);
        let cpu_ns = Arc::new(AtomicU64::new(0));
        let cost = Arc::clone(&cpu_ns);
        let thread = std::thread::spawn(move || {
            for (index, (port, frame)) in frames.iter().cycle().enumerate() {
                // A packet that a full queue drops is missing in the switch's receive counter. This is sufficient to
                // notice it.
                let _ = send_frame(&sockets[*port as usize], frame);
                if index % AT_ONCE == 0 {
                    cost.store(ranlab_host::thread_cpu_ns().unwrap_or(0), Ordering::Relaxed);
                    if stopped.load(Ordering::Relaxed) {
                        return;
                    }
                }
            }
        });
        Flow { stop, cpu_ns, thread: Some(thread) }
    }
}

/// A trace that is sent in a loop by a separate thread.
pub(super) struct Flow {
    stop: Arc<AtomicBool>,
    cpu_ns: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Flow {
    /// Returns the CPU time of the sending thread, in nanoseconds.
    pub(super) fn cpu_ns(&self) -> u64 {
        self.cpu_ns.load(Ordering::Relaxed)
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Receives frames until `over` is set and no more frames arrive.
fn received(socket: &OwnedFd, over: &AtomicBool) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let mut buffer = vec![0; FRAME_BYTES_MAX];
    loop {
        match receive_stamped(socket, &mut buffer) {
            Ok(stamped) => frames.push(buffer[..stamped.bytes.min(FRAME_BYTES_MAX)].to_vec()),
            Err(_) if over.load(Ordering::Relaxed) => return frames,
            Err(_) => {}
        }
    }
}

/// Opens a socket on one end of a link. It receives every frame on the link, except the frames that it sends.
fn open(interface: &str) -> std::io::Result<OwnedFd> {
    let socket = open_frames(interface, ALL)?;
    stamp_received(&socket, BUFFER_BYTES, QUIET)?;
    Ok(socket)
}

/// Returns the path of a process's network namespace.
pub(super) fn namespace(pid: u32) -> PathBuf {
    Path::new("/proc").join(pid.to_string()).join("ns/net")
}

/// Waits until a process has left the current network namespace.
pub(super) fn apart(pid: u32) -> Result<(), ComponentError> {
    let link = |path: &Path| std::fs::read_link(path).ok();
    let ours = link(Path::new("/proc/self/ns/net"));
    let deadline = Instant::now() + WAIT;
    while link(&namespace(pid)).is_none_or(|its| Some(its) == ours) {
        if Instant::now() >= deadline {
            return Err(environment("network namespaces are not available here: `unshare --net` fails"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Runs `work` inside a process's network namespace, on a temporary thread.
fn inside<T: Send>(pid: u32, work: impl FnOnce() -> std::io::Result<T> + Send) -> Result<T, ComponentError> {
    let file = namespace(pid);
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            enter_namespace(&file)?;
            work()
        });
        let done = inside.join().map_err(|_| rig("a thread in a namespace died"))?;
        done.map_err(|error| environment(format!("{}: {error}", file.display())))
    })
}

fn ip(words: &[&str]) -> Result<(), ComponentError> {
    let mut command = tools::program("ip");
    tools::run(command.args(words)).map(drop).map_err(|trouble| environment(trouble.what))
}
