//! Live measurement of a mobile transport network (Xhaul) on this machine. The scenario defines network namespaces that are connected by
//! veth pairs, bridges and macvlan. Paced senders send the frames of the functional splits, and receivers use kernel time stamps.
//!
//! Before links are shaped, the cost of the path per packet is measured. On veth the whole path runs in the sender's system call. The
//! minimum over many short batches is therefore the cost of the path, independent of other load. As the reference, a dedicated switch port
//! is measured in alternation. Then every link is limited to its rate and the flows start.

mod cable;
mod clocks;
mod cost;
mod delays;
mod ports;
mod sharing;
mod split_hosts;
mod tap;
mod tools;
mod topology;
mod traffic;
mod vbbu;
mod wakeup;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ranlab_campaign::schema::Kind;
use ranlab_host::cgroup::CpuQuota;
use ranlab_host::netns::QueueCounters;
pub use ranlab_host::netns::RankOrder;
use serde::{Deserialize, Serialize};

use cable::{CableSeen, CaptureThreads, StampedLink};
pub use delays::{LATE, numbers, seen_by_user};
use ranlab_lab::field::JsonField;
use ranlab_lab::worker::{ComponentError, Report};
use ranlab_lab::{RunningComponent, config};
pub use sharing::{
    Origin, ROUNDS, SharingCost, SharingError, SharingKind, SharingProfile, measure as measure_sharing,
};
use split_hosts::Epoch;
pub use split_hosts::{OneEnd, WINDOW_MIN as APART_WINDOW_MIN};
use tap::{TapDelays, Taps};
pub use tools::Tool;
use tools::{PacketCapture, ToolResult};
use topology::LiveTopology;
use traffic::{Arrived, Departed, Pair};
pub use vbbu::VbbuPart;
use vbbu::{CapturedFrames, Vbbu};
pub use wakeup::{WAKEUPS, Wakeup, WakeupKind};

/// Time after the senders have stopped in which packets may still arrive.
const DRAIN: Duration = Duration::from_millis(150);

/// Maximum wait for packets in a slower network, as a multiple of [`DRAIN`].
const DRAINS_MAX: u32 = 20;

config! {
    /// A network of namespaces and its traffic.
    pub struct XhaulComponent {
        /// mechanism by which the CU's containers share its network card
        sharing: JsonField<LiveSharing> = JsonField::default(), wiring();
        /// connect DUs and CU by a switch instead of cables
        midhaul_switch: bool = true, wiring();
        /// connect CU and server by a switch instead of a cable
        backhaul_switch: bool = true, wiring();
        /// rate of each link
        rate_bps: u64 = 1_000_000_000, wiring(), unit("bit/s");
        /// capacity of the queue of each link
        queue_bytes: u64 = 500_000, wiring(), unit("B");
        /// priorities of senders and the order of service on every link; without it, each link has a single queue
        classes: Option<JsonField<Classes>> = None, wiring();
        /// number of batches of 64 packets in each direction that measure the cost of the path, in alternation with a
        /// dedicated port; 0: none
        cost_batches: u32 = 4000, range(0, 1_000_000);
        /// also capture the cell's frames at both ports of the switch, to locate the delay; adds some load
        taps: bool = false;
        /// additional work on the CU's core: period and busy time, in nanoseconds
        busy_ns: Option<JsonField<(u64, u64)>> = None, wiring();
        /// live: share of a CPU that the threads of the first vBBU may use (sender, receiver, additional work), limited by a cgroup; 0:
        /// unlimited
        cpu_quota: f64 = 0.0, kind(Kind::share()), local();
        /// third-party measurement programs that run in addition to the probe
        tools: JsonField<Vec<Tool>> = JsonField::default(), local();
        /// third-party CU and DU that send in place of the cell's flows
        vbbu: Option<JsonField<VbbuPart>> = None, local();
        /// interface of the CU towards the midhaul and the interface at the other end of its cable, where the switch
        /// is: "enp1s0f0 enp2s0f0"
        midhaul_ports: Option<String> = None, local();
        /// the interfaces at both ends of the backhaul's cable, as in --midhaul-ports; default: a backhaul emulated in software
        backhaul_ports: Option<String> = None, local();
        /// live, with --midhaul-ports: source of time stamps on the midhaul: card (required), kernel, none, or auto
        /// (the cards if both support it)
        stamps: String = "auto".to_owned(), kind(Kind::choice(&cable::STAMPS));
        /// live: factor by which periods are longer and rates lower, for a machine that is emulated in software
        slowdown: u32 = 1, range(1, 10_000);
        /// live: the clock counts instructions (QEMU's `-icount shift=0`), so the cost of a path is in instructions
        /// instead of nanoseconds
        instructions: bool = false;
        /// time by which the cell's sender passes packets to the kernel ahead of their launch time, in nanoseconds
        launch_lead_ns: Option<u64> = None, wiring();
        /// the end of the midhaul cable that this machine has, if the other end is at another machine
        end: Option<JsonField<OneEnd>> = None, wiring();
        /// traffic flows to send
        flows: JsonField<Vec<LiveFlow>> = JsonField::default(), wiring();
    }
}

/// Priorities (IEEE 802.1Q, 7 is the highest) by sender. The measured flow has the priority of the cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Classes {
    /// Priority of the cell.
    pub cell: u8,
    /// Priority of the other vBBU and its DU.
    pub neighbour: u8,
    /// Priority of the background load.
    pub background: u8,
    /// Order in which ranks are served. Rank 0 is class 7.
    pub order: RankOrder,
}

/// Mechanism of the kernel by which containers share a network card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LiveSharing {
    /// A switch port for each container. Without a physical port, virtual functions are replaced by such ports, too. Real functions would
    /// share the rate of one port.
    #[default]
    OwnPorts,
    /// macvlan in bridge mode on one port.
    Macvlan,
    /// A software bridge with veth pairs on one port.
    Bridge,
    /// A virtual function of the port for each container.
    Functions,
    /// ipvlan in layer-2 mode on one port: containers share its hardware address and differ by IP address.
    Ipvlan,
}

/// A traffic flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LiveFlow {
    /// Role of the flow, which is the prefix of its metrics.
    pub role: String,
    /// Source and destination of the flow.
    pub way: Segment,
    /// Whether the flow consists of raw frames with IF4p5. Otherwise it consists of UDP datagrams.
    pub raw: bool,
    /// Bytes of samples (raw frames) or of UDP payload, for each packet of a release.
    pub payloads: Vec<usize>,
    /// Duration of `releases` releases, in nanoseconds.
    pub period_ns: u64,
    /// Number of releases per period.
    pub releases: u32,
    /// Period of a timer that wakes up the sender, in nanoseconds. If it is 0, the sender wakes up at each release.
    pub timer_ns: u64,
    /// One-way delay budget, in nanoseconds.
    pub budget_ns: Option<u64>,
}

/// Source and destination of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Segment {
    /// Cell traffic from the vBBU to the DU.
    CellDown,
    /// Cell traffic from the DU to the vBBU.
    CellUp,
    /// Traffic from the other vBBU to the other DU.
    NeighbourDown,
    /// Traffic from the other DU to the other vBBU.
    NeighbourUp,
    /// Background traffic from the CU to the midhaul.
    BackgroundDown,
    /// Background traffic from the midhaul to the CU.
    BackgroundUp,
    /// User traffic from the server to the DU, routed by the vBBU.
    User,
    /// Echo requests from the DU to the server and back, routed by the vBBU.
    Echo,
}

/// A running network.
pub(super) struct RunningNetwork {
    // The processes are declared before the lab. On drop, processes end first, then sockets close, then the namespaces are removed.
    vbbu: Option<Vbbu>,
    pairs: Vec<Pair>,
    taps: Option<Taps>,
    cable: Option<StampedLink>,
    /// Observer of iperf3's packets, if iperf3 runs.
    witness: Option<PacketCapture>,
    /// CPU quota of the vBBU's threads.
    quota: Option<Arc<CpuQuota>>,
    lab: LiveTopology,
    part: XhaulComponent,
    costs: Vec<(&'static str, f64)>,
    window: Option<Window>,
    /// Reason why an additional program gave no result.
    failed: Option<String>,
}

/// Threads that run during a measurement window.
struct Window {
    begun: Instant,
    /// Throttled time of the vBBU's threads before the window, in nanoseconds.
    throttled_ns: u64,
    queues: Option<[QueueCounters; 2]>,
    sending: Arc<AtomicBool>,
    receiving: Arc<AtomicBool>,
    senders: Vec<JoinHandle<Departed>>,
    receivers: Vec<JoinHandle<Arrived>>,
    taps: Vec<JoinHandle<TapDelays>>,
    caught: Vec<JoinHandle<CapturedFrames>>,
    cable: Option<CaptureThreads>,
    /// Start of the window, in nanoseconds since 1970.
    base_ns: u64,
    tools: Vec<JoinHandle<ToolResult>>,
    witness: Option<JoinHandle<ranlab_xhaul::Delays>>,
    helpers: Vec<JoinHandle<()>>,
}

impl RunningNetwork {
    pub(super) fn start(part: &XhaulComponent) -> Result<Self, ComponentError> {
        let part = &part.slowed();
        part.tools.0.iter().try_for_each(Tool::find)?;
        let quota = (part.cpu_quota > 0.0).then(|| CpuQuota::new(part.cpu_quota)).transpose();
        let quota =
            quota.map_err(|why| ranlab_lab::environment(format!("`cu.cpu_quota`: {why}")))?.map(Arc::new);
        let mut lab = LiveTopology::build(part)?;
        // With a physical card, the path does not run in the sender's system call. The time of the call is therefore not the cost of the
        // path.
        let costs = if lab.borrows() { Vec::new() } else { cost::measure(&lab, part, part.cost_batches)? };
        lab.shape(part)?;
        let cable = StampedLink::open(&mut lab, part)?;
        let ours = |flow: &&LiveFlow| {
            part.vbbu.is_none() || !matches!(flow.way, Segment::CellDown | Segment::CellUp)
        };
        let pairs = part
            .flows
            .0
            .iter()
            .filter(ours)
            .map(|flow| Pair::open(&lab, part, flow))
            .collect::<Result<_, _>>()?;
        let raw = part.flows.0.iter().any(|flow| flow.raw && flow.way == Segment::CellDown);
        let taps = part.taps.then(|| Taps::open(&lab, raw)).transpose()?;
        let witnessed = part.tools.0.iter().any(|tool| matches!(tool, Tool::Iperf3 { .. }));
        let witness = witnessed.then(|| PacketCapture::open(&lab)).transpose()?;
        let vbbu = part.vbbu.as_ref().map(|own| Vbbu::start(&lab, &own.0)).transpose()?;
        Ok(Self {
            vbbu,
            pairs,
            taps,
            cable,
            witness,
            quota,
            lab,
            part: part.clone(),
            costs,
            window: None,
            failed: None,
        })
    }

    fn throttled_ns(&self) -> u64 {
        self.quota.as_ref().and_then(|quota| quota.throttled_ns()).unwrap_or(0)
    }

    fn halt(&mut self) -> Option<WindowResult> {
        let mut window = self.window.take()?;
        let queues = window.queues.zip(self.lab.queues());
        let seconds = window.begun.elapsed().as_secs_f64();
        let throttled_ns = self.throttled_ns().saturating_sub(window.throttled_ns);
        window.sending.store(false, Ordering::Relaxed);
        let stopped_ns = ranlab_net::stamped::real_ns().saturating_sub(window.base_ns);
        let departed = window.senders.into_iter().filter_map(|thread| thread.join().ok()).collect();
        let tool_results = window.tools.into_iter().filter_map(|thread| thread.join().ok()).collect();
        let mut stamped = CableSeen::default();
        window.cable.iter_mut().for_each(|cable| cable.sent(&mut stamped));
        std::thread::sleep(DRAIN * self.part.slowdown.min(DRAINS_MAX));
        window.receiving.store(false, Ordering::Relaxed);
        let arrived = window.receivers.into_iter().filter_map(|thread| thread.join().ok()).collect();
        let seen = window.taps.into_iter().filter_map(|thread| thread.join().ok()).collect();
        let caught = window.caught.into_iter().filter_map(|thread| thread.join().ok()).collect();
        if let Some(cable) = window.cable {
            cable.came(&mut stamped);
        }
        for helper in window.helpers {
            let _ = helper.join();
        }
        let witness = window.witness.and_then(|thread| thread.join().ok());
        Some(WindowResult {
            departed,
            arrived,
            seen,
            caught,
            stamped,
            stopped_ns,
            told: tool_results,
            witness,
            queues,
            throttled_ns,
            seconds,
        })
    }
}

/// Results of a measurement window.
struct WindowResult {
    departed: Vec<Departed>,
    arrived: Vec<Arrived>,
    seen: Vec<TapDelays>,
    caught: Vec<CapturedFrames>,
    stamped: CableSeen,
    /// Time at which senders were stopped, in nanoseconds since the start of the window.
    stopped_ns: u64,
    told: Vec<ToolResult>,
    witness: Option<ranlab_xhaul::Delays>,
    /// Counters of the CU's queues before and after the window.
    queues: Option<([QueueCounters; 2], [QueueCounters; 2])>,
    throttled_ns: u64,
    seconds: f64,
}

impl WindowResult {
    /// Adds the results of additional programs. Returns the error of a program that failed.
    fn tools(&self, put: &mut dyn FnMut(String, f64)) -> Option<String> {
        let mut failed = None;
        for result in &self.told {
            match result {
                Ok(found) => found.iter().for_each(|(name, value)| put((*name).to_owned(), *value)),
                Err(why) => failed = Some(why.clone()),
            }
        }
        if let Some(delays) = self.witness.as_ref().filter(|delays| delays.count() > 0) {
            put("iperf3.kernel_jitter_ms".to_owned(), delays.jitter_ps() / 1e9);
        }
        failed
    }

    /// Adds the packet rates of the CU's two queues, and the numbers of times that they exceeded their limit.
    fn queues(&self, put: &mut dyn FnMut(String, f64)) {
        let Some((before, after)) = self.queues else { return };
        for ((name, before), after) in ["cu_dl", "cu_ul"].into_iter().zip(before).zip(after) {
            let rate = |count: fn(&QueueCounters) -> u64| {
                count(&after).saturating_sub(count(&before)) as f64 / self.seconds.max(1e-3)
            };
            put(format!("{name}.mbps"), rate(|queue| queue.bytes) * 8e-6);
            put(format!("{name}.waits_per_s"), rate(|queue| queue.waits));
            put(format!("{name}.dropped_per_s"), rate(|queue| queue.dropped));
        }
    }
}

impl RunningComponent for RunningNetwork {
    fn check(&mut self) -> Result<(), ComponentError> {
        self.vbbu.as_mut().map_or(Ok(()), Vbbu::check)?;
        self.failed.take().map_or(Ok(()), |why| Err(ranlab_lab::environment(why)))
    }

    fn begin(&mut self) {
        let _ = self.halt();
        let flags = [true, true].map(|on| Arc::new(AtomicBool::new(on)));
        let [sending, receiving] = flags;
        let mut window = Window {
            begun: Instant::now(),
            throttled_ns: self.throttled_ns(),
            queues: self.lab.queues(),
            sending: Arc::clone(&sending),
            receiving: Arc::clone(&receiving),
            senders: Vec::new(),
            receivers: Vec::new(),
            taps: Vec::new(),
            caught: Vec::new(),
            cable: None,
            base_ns: 0,
            tools: Vec::new(),
            witness: self.witness.as_ref().map(|witness| witness.watch(&receiving)),
            helpers: Vec::new(),
        };
        self.failed = None;
        for tool in &self.part.tools.0 {
            match tool.begin(&self.lab, &sending) {
                Ok(thread) => window.tools.push(thread),
                Err(trouble) => self.failed = Some(trouble.what),
            }
        }
        let ends = self.vbbu.as_ref().map(|vbbu| (vbbu, Vbbu::open(&self.lab)));
        let base_ns = ranlab_net::stamped::real_ns();
        window.base_ns = base_ns;
        match ends {
            Some((vbbu, Ok(ends))) => window.caught = vbbu.watch(ends, base_ns, &receiving),
            Some((_, Err(trouble))) => self.failed = Some(trouble.what),
            None => {}
        }
        window.cable = self.cable.as_ref().map(|cable| cable.watch(&sending, &receiving));
        if let Some(taps) = &self.taps {
            window.taps = taps.watch(base_ns, &receiving);
        }
        let epoch = Epoch { base_ns, ahead_ns: self.lab.apart.map(|end| end.ahead_ns) };
        for pair in &self.pairs {
            window.receivers.extend(pair.receive(epoch, &receiving, self.quota.as_ref()));
            window.helpers.extend(pair.help(&receiving));
        }
        // If a peer does not respond, no further peer is contacted.
        let met = self.pairs.iter_mut().try_for_each(|pair| pair.resolve_receiver(&self.lab));
        self.failed = self.failed.take().or_else(|| met.err().map(|trouble| trouble.what));
        for pair in self.pairs.iter().filter(|_| self.failed.is_none()) {
            window.senders.extend(pair.send(epoch, &sending, self.quota.as_ref()));
        }
        if let Some(JsonField((period, busy))) = self.part.busy_ns {
            let stop = Arc::clone(&sending);
            let quota = self.quota.clone();
            window.helpers.push(std::thread::spawn(move || {
                if let Some(quota) = quota {
                    let _ = quota.hold_this_thread();
                }
                burn(period, busy, &stop);
            }));
        }
        self.window = Some(window);
    }

    fn end(&mut self, report: &mut Report) {
        let Some(ended) = self.halt() else { return };
        ended.queues(&mut |name, value| {
            report.numbers.insert(name, value);
        });
        let failed = ended.tools(&mut |name, value| {
            report.numbers.insert(name, value);
        });
        // A single clock takes all stamps, unless network cards take them.
        for name in ["live.clock", "live.clock_error_us"] {
            report.numbers.insert(name.to_owned(), 0.0);
        }
        let stamped = self.cable.as_ref().map_or(Ok(()), |cable| cable.add_results(&ended.stamped, report));
        self.failed = self.failed.take().or(failed).or_else(|| stamped.err().map(|trouble| trouble.what));
        if self.quota.is_some() {
            let share = ended.throttled_ns as f64 / 1e9 / ended.seconds.max(1e-3);
            report.numbers.insert("cu.throttled_share".to_owned(), share);
        }
        if let Some(vbbu) = &mut self.vbbu {
            vbbu.add_results(&ended.caught, ended.stopped_ns, &self.part.flows.0, report);
        }
        let WindowResult { departed, arrived, seen, .. } = ended;
        for (name, value) in &self.costs {
            report.numbers.insert((*name).to_owned(), *value);
        }
        for flow in &self.part.flows.0 {
            let sent = departed.iter().find(|sent| sent.role == flow.role);
            let got = arrived.iter().find(|got| got.role == flow.role);
            told_of(flow, sent, got, &seen, report);
        }
        let rungs = arrived.iter().filter_map(|got| got.rung);
        if let Some(rung) = rungs.min() {
            report.numbers.insert("live.timestamp_source".to_owned(), f64::from(rung as u8));
        }
        report.numbers.insert("live.namespaces".to_owned(), self.lab.namespaces() as f64);
        self.lab.report_ports(&self.part, report);
    }
}

impl Drop for RunningNetwork {
    fn drop(&mut self) {
        let _ = self.halt();
    }
}

/// Adds the results of a flow from both ends, or from the end on this machine. In the latter case, the machine of the sender reports the
/// sent packets.
fn told_of(
    flow: &LiveFlow,
    sent: Option<&Departed>,
    got: Option<&Arrived>,
    seen: &[TapDelays],
    report: &mut Report,
) {
    let mut put = |name: &str, value: f64| {
        report.numbers.insert(format!("{}.{name}", flow.role), value);
    };
    if let Some(sent) = sent {
        put("sender_late_us_p99", sent.late.quantile_ps(0.99) as f64 / 1e6);
        put("sent", sent.packets as f64);
    }
    let Some(got) = got else { return };
    let count = got.delays.count();
    let packets = sent.map_or(count, |sent| sent.packets);
    numbers(
        &got.delays,
        (packets, packets.saturating_sub(count)),
        flow.budget_ns.map(|ns| ns * 1000),
        &mut put,
    );
    put("malformed", got.malformed as f64);
    if sent.is_none() {
        put("early", got.early as f64);
    }
    if matches!(flow.way, Segment::CellDown | Segment::CellUp) {
        let segments = tap::segments(seen, flow.way == Segment::CellDown, got.delays.mean_ps());
        segments.into_iter().flatten().for_each(|(name, value)| put(name, value));
    }
    let distribution = got.delays.buckets().map(|(ps, count)| (ps / 1000, count)).collect();
    report.distributions.insert(format!("{}_ns", flow.role), distribution);
    if matches!(flow.way, Segment::Echo | Segment::User) {
        seen_by_user(&got.delays, flow.way == Segment::Echo, &mut |name, value| {
            report.numbers.insert(name.to_owned(), value);
        });
    }
}

/// Simulates the processing of a vBBU on the first core, which is busy for a fraction of each period.
fn burn(period_ns: u64, busy_ns: u64, go: &AtomicBool) {
    let _ = ranlab_net::pin_thread(0);
    let begun = Instant::now();
    let mut next = Duration::ZERO;
    while go.load(Ordering::Relaxed) {
        let until = next + Duration::from_nanos(busy_ns);
        while begun.elapsed() < until {
            std::hint::spin_loop();
        }
        next += Duration::from_nanos(period_ns);
        std::thread::sleep(next.saturating_sub(begun.elapsed()));
    }
}

/// Maps an error of the namespaces to an environment error.
fn lab_trouble(error: ranlab_host::netns::NetnsError) -> ComponentError {
    ranlab_lab::environment(error)
}

#[cfg(test)]
mod orders;
#[cfg(test)]
mod tests;
