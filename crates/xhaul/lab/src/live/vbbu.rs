//! Third-party vBBU on the live network. Its CU and DU run as processes in the nodes' namespaces and replace our senders and receivers.
//! Their frames are counted and timed when they leave the interface of one container and reach the interface of the other.
//!
//! Each process is the first of a process namespace (`unshare`). All processes that it starts end with it, and it ends with this process,
//! even after SIGKILL. Third-party frames carry no sequence number. An arriving frame is therefore matched with the earliest frame with the
//! same bytes that was sent and has not arrived yet.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hasher};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ranlab_host::process_tree;
use ranlab_net::stamped::{open_frames, receive_stamped, stamp_received, urgent_thread};
use ranlab_xhaul::Delays;
use serde::{Deserialize, Serialize};

use super::delays::numbers;
use super::topology::{LiveTopology, MIDHAUL, in_namespace};
use ranlab_lab::vbbu::{OwnProcess, OwnVbbu};

use super::traffic::{BUFFER_BYTES, PRIORITIES, WAIT};
use super::{LiveFlow, Segment};
use ranlab_lab::child::Child;
use ranlab_lab::output::{ExpectedLine, Output};
use ranlab_lab::worker::{ComponentError, Report};
use ranlab_lab::{environment, rig, sut};

/// Maximum number of frames recorded per window and end. Each record has 32 bytes.
const FRAMES_MAX: usize = 2_000_000;
/// Protocol number for all types of frames: ETH_P_ALL of packet(7).
const ALL_TYPES: u16 = 3;
/// Length of an Ethernet header, in bytes: two addresses and a type.
const ETHERNET_BYTES: usize = 14;
/// Minimum length of a frame without FCS, in bytes.
const SHORTEST: usize = 60;
/// EtherType of ARP. ARP frames are sent by the kernel, not by the vBBU.
const ARP: [u8; 2] = [0x08, 0x06];
/// Polling interval for the state of a process.
const POLL: Duration = Duration::from_millis(10);
/// Minimum run time after which a process counts as started, if its profile names no output line.
const UP: Duration = Duration::from_millis(100);

/// Configuration of a third-party vBBU for a live network.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VbbuPart {
    /// Name used in messages.
    pub name: String,
    /// Processes of the vBBU.
    pub own: OwnVbbu,
    /// Folder for the output of the processes. Without a folder, only the last lines are stored.
    pub log: Option<PathBuf>,
}

/// A running CU and DU.
pub(super) struct Vbbu {
    name: String,
    // DU first, CU second: the DU is stopped first.
    processes: Vec<Process>,
    /// Hardware addresses of the CU's container and of the DU.
    ends: [[u8; 6]; 2],
    /// The reason why the last window has no result.
    fault: Option<ComponentError>,
}

/// A process that ends when this value is dropped.
struct Process {
    role: &'static str,
    child: Child,
    output: Arc<Output>,
    grace: Duration,
}

impl Vbbu {
    pub(super) fn start(lab: &LiveTopology, part: &VbbuPart) -> Result<Self, ComponentError> {
        let ends = [lab.hardware("v1")?, lab.hardware("du")?];
        let mut vbbu = Self { name: part.name.clone(), processes: Vec::new(), ends, fault: None };
        for (role, node, process) in [("CU", "v1", &part.own.cu), ("DU", "du", &part.own.du)] {
            let started = Process::start((role, &lab.get(node)?.namespace), part, process)?;
            vbbu.processes.insert(0, started);
            vbbu.processes[0].until_up(&part.name, process)?;
        }
        Ok(vbbu)
    }

    /// Checks that both processes run and that the last window had frames. The error contains the last output lines of
    /// a process that ended.
    pub(super) fn check(&mut self) -> Result<(), ComponentError> {
        let name = &self.name;
        self.processes.iter_mut().try_for_each(|process| process.check(name))?;
        self.fault.take().map_or(Ok(()), Err)
    }

    /// Opens taps at both ends, CU and DU. Frames before the second tap is open are not counted.
    pub(super) fn open(lab: &LiveTopology) -> Result<[OwnedFd; 2], ComponentError> {
        let open = |node: &str| {
            in_namespace(&lab.get(node)?.namespace, || {
                let socket = open_frames(MIDHAUL, ALL_TYPES).map_err(environment)?;
                stamp_received(&socket, BUFFER_BYTES, WAIT).map_err(environment)?;
                Ok(socket)
            })
        };
        Ok([open("v1")?, open("du")?])
    }

    /// Watches both ends until `go` is cleared.
    pub(super) fn watch(
        &self,
        sockets: [OwnedFd; 2],
        base_ns: u64,
        go: &Arc<AtomicBool>,
    ) -> Vec<JoinHandle<CapturedFrames>> {
        let watch = |socket: OwnedFd| {
            let go = Arc::clone(go);
            let ends = self.ends;
            std::thread::spawn(move || {
                let _ = urgent_thread(PRIORITIES.0);
                capture_frames(&socket, ends, base_ns, &go)
            })
        };
        sockets.into_iter().map(watch).collect()
    }

    /// Adds the window's results as the cell's two flows, in the same form as for our own senders. Frames sent after
    /// `until_ns` may still have been in flight and are not counted.
    pub(super) fn add_results(
        &mut self,
        caught: &[CapturedFrames],
        until_ns: u64,
        flows: &[LiveFlow],
        report: &mut Report,
    ) {
        let [cu, du] = caught else { return };
        if cu.more + du.more > 0 {
            self.fault = Some(environment(format!(
                "a window has more than {FRAMES_MAX} frames, which is the maximum: set a shorter `measure.duration`"
            )));
            return;
        }
        let mut frames = 0;
        let seconds = until_ns as f64 / 1e9;
        for (role, way) in [("cell_dl", Segment::CellDown), ("cell_ul", Segment::CellUp)] {
            let down = way == Segment::CellDown;
            let (left, reached) = if down { (cu, du) } else { (du, cu) };
            let found = matched(left, reached, down, until_ns);
            frames += found.sent;
            let budget_ns = flows.iter().find(|flow| flow.way == way).and_then(|flow| flow.budget_ns);
            let delays = found.delays(budget_ns);
            let lost = found.sent.saturating_sub(delays.count());
            let mut put = |name: &str, value: f64| {
                report.numbers.insert(format!("{role}.{name}"), value);
            };
            put("mbps", found.bytes as f64 * 8e-6 / seconds.max(1e-3));
            put("malformed", found.unknown as f64);
            if found.sent == 0 {
                put("sent", 0.0);
                continue;
            }
            numbers(&delays, (found.sent, lost), budget_ns.map(|ns| ns * 1000), &mut put);
            let distribution = delays.buckets().map(|(ps, count)| (ps / 1000, count)).collect();
            report.distributions.insert(format!("{role}_ns"), distribution);
        }
        if frames == 0 {
            let words: Vec<_> = self.processes.iter().map(|process| process.output.last_words()).collect();
            let why = format!("CU and DU of {} exchanged no frames{}", self.name, words.concat());
            self.fault = Some(sut(why));
        }
    }
}

impl Process {
    fn start(
        (role, namespace): (&'static str, &str),
        part: &VbbuPart,
        process: &OwnProcess,
    ) -> Result<Self, ComponentError> {
        let line = Some(&process.line).filter(|line| !line.is_empty());
        let expected = line.map(|line| ExpectedLine::new(line)).transpose().map_err(rig)?;
        let log = part.log.as_ref().map(|folder| folder.join(format!("{}-{role}.log", part.name)));
        let output = Arc::new(Output::new(log, expected).map_err(environment)?);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace]);
        command.args(["unshare", "--pid", "--fork", "--kill-child=SIGKILL", "--"]).args(&process.start);
        command.envs(&part.own.environment).stdin(Stdio::null());
        if let Some(folder) = &part.own.folder {
            command.current_dir(folder);
        }
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        process_tree::die_with_us(&mut command);
        let child = output.spawn(&mut command).map_err(|error| {
            environment(format!("{role} of {}: `ip netns exec` does not run: {error}", part.name))
        })?;
        let grace = part.own.grace.0.unwrap_or(Duration::from_secs(2));
        Ok(Self { role, child: Child::apart(child), output, grace })
    }

    fn check(&mut self, name: &str) -> Result<(), ComponentError> {
        let Some(how) = self.child.ended() else { return Ok(()) };
        Err(sut(format!("{} of {name}: {how}{}", self.role, self.output.last_words())))
    }

    fn until_up(&mut self, name: &str, process: &OwnProcess) -> Result<(), ComponentError> {
        let begun = Instant::now();
        let within = process.within.0.unwrap_or(Duration::from_secs(30));
        loop {
            self.check(name)?;
            let is_up = if process.line.is_empty() { begun.elapsed() > UP } else { self.output.line_came() };
            if is_up {
                return Ok(());
            }
            if begun.elapsed() > within {
                let role = self.role;
                let words = self.output.last_words();
                return Err(sut(format!(
                    "{role} of {name} did not start within {} s: no line of its output matches \"{}\"{words}",
                    within.as_secs_f64(),
                    process.line
                )));
            }
            std::thread::sleep(POLL);
        }
    }
}

impl Drop for Process {
    /// The user's process is the child of `unshare`, which ignores signals. Processes that the user's process leaves behind end with the
    /// process namespace.
    fn drop(&mut self) {
        if let Some(&first) = process_tree::below(self.child.id()).first() {
            let _ = ranlab_host::ask_to_end(first);
            let _ = self.child.wait(self.grace);
        }
        if self.child.ended().is_none() {
            let _ = ranlab_host::kill_group(self.child.id());
        }
    }
}

/// Record of a frame between CU and DU.
#[derive(Debug, Clone, Copy)]
struct FrameStamp {
    down: bool,
    at_ns: u64,
    /// Hash of the frame type and all bytes after it.
    hash: u64,
    bytes: u32,
}

/// Frames recorded at one end.
#[derive(Debug, Default)]
pub(super) struct CapturedFrames {
    frames: Vec<FrameStamp>,
    /// Number of frames beyond [`FRAMES_MAX`].
    more: u64,
}

fn capture_frames(socket: &OwnedFd, ends: [[u8; 6]; 2], base_ns: u64, go: &AtomicBool) -> CapturedFrames {
    let mut room = vec![0; 65_536 + ETHERNET_BYTES];
    let mut caught = CapturedFrames::default();
    while go.load(Ordering::Relaxed) {
        let Ok(stamped) = receive_stamped(socket, &mut room) else { continue };
        let Some(at_ns) = stamped.at_ns.checked_sub(base_ns) else { continue };
        let Some(seen) = seen(&room[..stamped.bytes.min(room.len())], ends, at_ns) else { continue };
        if caught.frames.len() < FRAMES_MAX { caught.frames.push(seen) } else { caught.more += 1 }
    }
    caught
}

/// Returns the record of a frame. `None` if the frame is not between CU and DU, or is ARP.
fn seen(frame: &[u8], [cu, du]: [[u8; 6]; 2], at_ns: u64) -> Option<FrameStamp> {
    let to = frame.get(..6)?;
    let from = frame.get(6..12)?;
    let kind = frame.get(12..ETHERNET_BYTES)?;
    let down = match (from, to) {
        _ if kind == ARP => return None,
        pair if pair == (&cu, &du) => true,
        pair if pair == (&du, &cu) => false,
        _ => return None,
    };
    let mut hasher = DefaultHasher::new();
    hasher.write(&frame[12..]);
    // Network cards pad short frames; software does not.
    hasher.write(&[0; SHORTEST][frame.len().min(SHORTEST)..]);
    Some(FrameStamp {
        down,
        at_ns,
        hash: hasher.finish(),
        bytes: u32::try_from(frame.len()).unwrap_or(u32::MAX),
    })
}

/// Frames of one direction, matched between both ends.
#[derive(Debug, Default)]
struct Matched {
    /// Number of frames sent in the window, and their bytes.
    sent: u64,
    bytes: u64,
    /// Arrived frames: number, send time, arrival time.
    arrived: Vec<(u64, u64, u64)>,
    /// Number of frames that arrived without a recorded departure.
    unknown: u64,
}

fn matched(left: &CapturedFrames, reached: &CapturedFrames, down: bool, until_ns: u64) -> Matched {
    let mut found = Matched::default();
    let mut waiting: HashMap<u64, VecDeque<(u64, u64)>> = HashMap::new();
    for stamp in left.frames.iter().filter(|stamp| stamp.down == down) {
        if stamp.at_ns <= until_ns {
            found.bytes += u64::from(stamp.bytes);
            waiting.entry(stamp.hash).or_default().push_back((found.sent, stamp.at_ns));
            found.sent += 1;
        } else {
            // Frames sent late are matched with their arrivals, but not counted.
            waiting.entry(stamp.hash).or_default().push_back((u64::MAX, stamp.at_ns));
        }
    }
    for stamp in reached.frames.iter().filter(|stamp| stamp.down == down) {
        match waiting.get_mut(&stamp.hash).and_then(VecDeque::pop_front) {
            Some((u64::MAX, _)) => {}
            Some((number, at_ns)) => found.arrived.push((number, at_ns, stamp.at_ns)),
            None => found.unknown += 1,
        }
    }
    found
}

impl Matched {
    fn delays(&self, budget_ns: Option<u64>) -> Delays {
        let mut delays = Delays::new();
        for &(number, left_ns, at_ns) in &self.arrived {
            delays.record(number, left_ns * 1000, at_ns * 1000, budget_ns.map(|ns| ns * 1000));
        }
        delays
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CU: [u8; 6] = [2, 0, 0, 0, 0, 1];
    const DU: [u8; 6] = [2, 0, 0, 0, 0, 2];

    fn frame(from: [u8; 6], to: [u8; 6], kind: [u8; 2], payload: &[u8]) -> Vec<u8> {
        [to.as_slice(), &from, &kind, payload].concat()
    }

    fn caught(frames: &[(&[u8], u64)]) -> CapturedFrames {
        let of = |&(payload, at_ns): &(&[u8], u64)| {
            seen(&frame(CU, DU, [0x08, 0x0A], payload), [CU, DU], at_ns).unwrap()
        };
        CapturedFrames { frames: frames.iter().map(of).collect(), more: 0 }
    }

    #[test]
    fn only_frames_between_cu_and_du_are_recorded() {
        let of = |from, to, kind| seen(&frame(from, to, kind, b"x"), [CU, DU], 5).map(|seen| seen.down);
        assert_eq!((of(CU, DU, [8, 0]), of(DU, CU, [8, 0])), (Some(true), Some(false)));
        assert_eq!(of(DU, CU, ARP), None);
        assert_eq!((of(CU, [0xFF; 6], [8, 0]), of([9; 6], DU, [8, 0])), (None, None));
        let short = frame(CU, DU, [8, 0], b"xy");
        let filled = [short.as_slice(), &[0; SHORTEST - 16]].concat();
        let hash = |octets: &[u8]| seen(octets, [CU, DU], 5).unwrap().hash;
        assert_eq!(hash(&short), hash(&filled));
        assert_ne!(hash(&short), hash(&frame(CU, DU, [8, 0], b"xz")));
        assert!(seen(&[0; 9], [CU, DU], 5).is_none());
    }

    #[test]
    fn arrival_matches_earliest_equal_frame() {
        let left = caught(&[(b"a", 10), (b"b", 20), (b"a", 30), (b"lost", 40), (b"a", 99)]);
        let reached = caught(&[(b"b", 25), (b"a", 27), (b"stranger", 28), (b"a", 35), (b"a", 120)]);
        let found = matched(&left, &reached, true, 50);
        assert_eq!((found.sent, found.unknown), (4, 1));
        assert_eq!(found.arrived, [(1, 20, 25), (0, 10, 27), (2, 30, 35)]);
        let delays = found.delays(Some(10));
        assert_eq!((delays.count(), delays.max_ps(), delays.own_misses()), (3, 17_000, 1));
        assert_eq!(matched(&left, &reached, false, 50).sent, 0);
    }

    #[test]
    fn missing_program_and_invalid_pattern_are_rejected() {
        let of = |start: &str, line: &str| OwnProcess {
            start: vec![start.to_owned()],
            line: line.to_owned(),
            ..OwnProcess::default()
        };
        let check = |cu, du| OwnVbbu { cu, du, ..OwnVbbu::default() }.check();
        assert_eq!(check(of("x", ""), of("y", "up$")), Ok(()));
        assert!(check(of("x", ""), OwnProcess::default()).unwrap_err().contains("`vbbu.du.start`"));
        assert!(check(of("x", "("), of("y", "")).unwrap_err().contains("`vbbu.cu.line`"));
    }
}
