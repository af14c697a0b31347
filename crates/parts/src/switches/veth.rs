//! Virtual Ethernet pairs between a tester in a namespace without a name and a switch in another: functional, and for switches
//! that read sockets. Both namespaces go with the processes that hold them.

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
use crate::worker::Trouble;
use crate::{environment, rig};

/// Every EtherType.
const ALL: u16 = 3;
/// Packets that are sent without a pause, which any queue on the way holds.
const AT_ONCE: usize = 8;
/// The pause after these.
const PAUSE: Duration = Duration::from_millis(4);
/// What a socket holds of what left.
const BUFFER_BYTES: usize = 8 << 20;
/// How long nothing may come before a pass is over.
const QUIET: Duration = Duration::from_millis(300);
/// How long something may come that nobody has sent: what a slow switch still held of a campaign that was killed.
const LATE_MAX: Duration = Duration::from_secs(5);
/// The longest frame.
const FRAME_BYTES_MAX: usize = 2_048;
/// How long a namespace may take to be there.
const WAIT: Duration = Duration::from_secs(5);

/// Two wires; the tester's ends are sockets.
pub(super) struct Wires {
    sockets: Arc<[OwnedFd; 2]>,
    /// The tester's namespace, if it has one of its own.
    _holder: Option<Daemon>,
}

impl Wires {
    /// Lays two pairs to the namespace of a process, where their ends are called as ports are.
    pub(super) fn to(switch: u32) -> Result<Self, Trouble> {
        let mut command = tools::program("unshare");
        command.args(["--net", "--", "sleep", "infinity"]);
        let holder = Daemon::start("the tester's namespace", &mut command)?;
        let own = holder.pid();
        apart(own)?;
        // No neighbour discovery: every frame is ours.
        for pid in [own, switch] {
            inside(pid, || std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1").or(Ok(())))?;
        }
        for port in [Port::Access, Port::Core] {
            let name = port_name(port);
            let (here, there) = (own.to_string(), switch.to_string());
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

    /// Takes two interfaces of our own namespace, access first, which lead to a switch that is there already.
    pub(super) fn here(interfaces: &[String; 2]) -> Result<Self, Trouble> {
        let end = |name: &String| {
            // What the kernel says by itself would be taken for the switch's.
            let file = Path::new("/proc/sys/net/ipv6/conf").join(name).join("disable_ipv6");
            if std::fs::read_to_string(file).is_ok_and(|text| text.trim() == "0") {
                return Err(environment(format!(
                    "the interface `{name}` is the kernel's, too, which sends neighbour discovery by it: \
                     `sysctl -w net.ipv6.conf.{name}.disable_ipv6=1` and no addresses leave it to the tester"
                )));
            }
            let failed = |error: std::io::Error| environment(format!("the interface `{name}`: {error}"));
            let socket = open(name).map_err(failed)?;
            take_all(&socket, name).map_err(failed)?;
            Ok(socket)
        };
        Ok(Self { sockets: Arc::new([end(&interfaces[0])?, end(&interfaces[1])?]), _holder: None })
    }

    /// Waits until nothing comes any more by either port.
    pub(super) fn quiet(&self) -> Result<(), Trouble> {
        let (begun, mut buffer) = (Instant::now(), [0; FRAME_BYTES_MAX]);
        for socket in self.sockets.iter() {
            while receive_stamped(socket, &mut buffer).is_ok() {
                if begun.elapsed() > LATE_MAX {
                    return Err(environment(format!(
                        "frames come that nobody has sent, for {LATE_MAX:?} by now: the interfaces are not the tester's alone"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Sends packets through, not faster than any queue takes them; what left by either port.
    pub(super) fn pass(&self, trace: &Trace, equivalences: &[Equivalence]) -> Result<Outcomes, Trouble> {
        let over = AtomicBool::new(false);
        let mut outcomes = Outcomes::default();
        std::thread::scope(|scope| {
            let receivers = [Port::Access, Port::Core].map(|port| {
                let (socket, over) = (&self.sockets[port as usize], &over);
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
    ) -> Result<(), Trouble> {
        for (index, (port, frame)) in trace.iter().enumerate() {
            let mut frame = frame.to_vec();
            normalise(&mut frame, input(equivalences));
            send_frame(&self.sockets[port as usize], &frame).map_err(environment)?;
            each(index);
        }
        Ok(())
    }

    /// Sends one packet and waits for what leaves by the other port; `None`: nothing for a while.
    pub(super) fn one(&self, port: Port, frame: &[u8]) -> Result<Option<(Port, Vec<u8>)>, Trouble> {
        let (out, mut buffer) = (port.other(), [0; FRAME_BYTES_MAX]);
        send_frame(&self.sockets[port as usize], frame).map_err(environment)?;
        let Ok(stamped) = receive_stamped(&self.sockets[out as usize], &mut buffer) else { return Ok(None) };
        Ok(Some((out, buffer[..stamped.bytes.min(FRAME_BYTES_MAX)].to_vec())))
    }

    /// Sends a trace again and again until the flow is dropped.
    pub(super) fn flow(&self, trace: &Trace, equivalences: &[Equivalence]) -> Flow {
        let mut frames = Vec::with_capacity(trace.len());
        for (port, frame) in trace.iter() {
            let mut frame = frame.to_vec();
            normalise(&mut frame, input(equivalences));
            frames.push((port, frame));
        }
        let (stop, sockets) = (Arc::new(AtomicBool::new(false)), Arc::clone(&self.sockets));
        let (stopped, cpu_ns) = (Arc::clone(&stop), Arc::new(AtomicU64::new(0)));
        let cost = Arc::clone(&cpu_ns);
        let thread = std::thread::spawn(move || {
            for (index, (port, frame)) in frames.iter().cycle().enumerate() {
                // A full queue is the switch's loss, which its counters show by what it did not take in.
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

/// Packets under way.
pub(super) struct Flow {
    stop: Arc<AtomicBool>,
    cpu_ns: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Flow {
    /// CPU time of the thread that sends, ns.
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

/// Frames until it is over and nothing came for a while.
fn received(socket: &OwnedFd, over: &AtomicBool) -> Vec<Vec<u8>> {
    let (mut frames, mut buffer) = (Vec::new(), vec![0; FRAME_BYTES_MAX]);
    loop {
        match receive_stamped(socket, &mut buffer) {
            Ok(stamped) => frames.push(buffer[..stamped.bytes.min(FRAME_BYTES_MAX)].to_vec()),
            Err(_) if over.load(Ordering::Relaxed) => return frames,
            Err(_) => {}
        }
    }
}

/// One end of a wire. What a socket sends it does not see itself, and everything else that passes it does.
fn open(interface: &str) -> std::io::Result<OwnedFd> {
    let socket = open_frames(interface, ALL)?;
    stamp_received(&socket, BUFFER_BYTES, QUIET)?;
    Ok(socket)
}

/// The file of a process's namespace.
pub(super) fn namespace(pid: u32) -> PathBuf {
    Path::new("/proc").join(pid.to_string()).join("ns/net")
}

/// Waits until a process that was told to leave our namespace has.
pub(super) fn apart(pid: u32) -> Result<(), Trouble> {
    let link = |path: &Path| std::fs::read_link(path).ok();
    let (ours, deadline) = (link(Path::new("/proc/self/ns/net")), Instant::now() + WAIT);
    while link(&namespace(pid)).is_none_or(|its| Some(its) == ours) {
        if Instant::now() >= deadline {
            return Err(environment("network namespaces are not possible here: `unshare --net` makes none"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Does something in a process's namespace, in a thread that ends with it.
fn inside<T: Send>(pid: u32, work: impl FnOnce() -> std::io::Result<T> + Send) -> Result<T, Trouble> {
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

fn ip(words: &[&str]) -> Result<(), Trouble> {
    let mut command = tools::program("ip");
    tools::run(command.args(words)).map(drop).map_err(|trouble| environment(trouble.what))
}
