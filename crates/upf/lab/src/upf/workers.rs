//! Packet processing: in the control thread, in workers behind a master, or in a separate data thread.
use super::owners::Owners;
use super::packets::{PacketWorker, Side, rules};
use super::xdp::{XdpCounters, XdpPlane};
use super::{BATCH, Design, MAX_DATAGRAM, UpfConfig, UpfError, pin};
use ranlab_net::{ReceiveBatch, monotonic_ns, thread_cpu_time, wait_readable};
use ranlab_upf::forwarding::{HEADROOM, Meter, PlaneCounters, PlaneEvent};
use ranlab_upf::n4::Session;
use ranlab_upf::pfcp::OuterHeaderCreation;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Maximum number of queued batches per worker. Further batches are dropped and counted, as in the ring of a NIC.
const MAX_HANDOFF: usize = 256;
/// Maximum number of queued events for the control thread.
const MAX_EVENTS: usize = 1 << 12;
/// Maximum sleep of an idle worker.
const REST: Duration = Duration::from_millis(5);

/// Datagrams with their senders.
type Datagrams = Vec<(SocketAddr, Vec<u8>)>;

/// A session change that is passed to the packet workers.
#[derive(Debug)]
struct Change {
    seid: u64,
    session: Session,
    meters: Vec<Meter>,
    end_markers: Vec<OuterHeaderCreation>,
}

#[derive(Debug)]
enum Job {
    Install(Box<Change>),
    Remove(u64),
    DropBuffered(u64),
    Clear,
    Packets(Side, Vec<(SocketAddr, Vec<u8>)>),
}

/// Counters of a packet thread.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WorkerResult {
    pub(super) counters: PlaneCounters,
    pub(super) unsent: u64,
    pub(super) strangers: u64,
    pub(super) handoff_dropped: u64,
    pub(super) cpu: Duration,
    pub(super) xdp: Option<XdpCounters>,
}

type Thread = JoinHandle<io::Result<WorkerResult>>;

#[derive(Debug)]
pub(super) struct Worker {
    jobs: SyncSender<Job>,
    thread: Thread,
}

/// The packet workers, as used by the control thread.
#[derive(Debug)]
pub(super) enum PacketWorkers {
    Own(Box<PacketWorker>),
    Workers {
        /// Packet worker of the master, which only receives.
        master: Box<PacketWorker>,
        received: ReceiveBatch,
        workers: Vec<Worker>,
        owners: Owners,
        events: Receiver<PlaneEvent>,
        handoff_dropped: u64,
    },
    Offload {
        worker: Worker,
        installed: Receiver<()>,
        events: Receiver<PlaneEvent>,
        install: Duration,
        /// Data plane in the kernel. The worker handles packets that the kernel does not forward.
        xdp: Option<Box<XdpPlane>>,
    },
}

impl PacketWorkers {
    pub(super) fn start(
        config: &UpfConfig,
        packets: PacketWorker,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, UpfError> {
        let (event_sender, events) = sync_channel(MAX_EVENTS);
        Ok(match config.design {
            Design::CpOffload => Self::Own(Box::new(packets)),
            Design::Bare => {
                let mut packets = packets;
                packets.lay_bare();
                Self::Own(Box::new(packets))
            }
            Design::Software { workers } => {
                let packets = packets.share_ring();
                let start = |index: usize| {
                    let (jobs, inbox) = sync_channel(MAX_HANDOFF);
                    let packets = packets.sibling();
                    let event_sender = event_sender.clone();
                    let pins = config.pin.clone();
                    let stop = Arc::clone(stop);
                    let thread = std::thread::Builder::new().name(format!("upf-worker-{index}"));
                    let thread = thread.spawn(move || {
                        pin(&pins, index + 1);
                        work(packets, &inbox, &event_sender, &stop)
                    })?;
                    Ok(Worker { jobs, thread })
                };
                let workers = (0..workers).map(start).collect::<io::Result<_>>()?;
                let received = ReceiveBatch::new(BATCH, MAX_DATAGRAM + HEADROOM);
                let owners = Owners::default();
                Self::Workers {
                    master: Box::new(packets),
                    received,
                    workers,
                    owners,
                    events,
                    handoff_dropped: 0,
                }
            }
            Design::DpOffload { install } => {
                let (jobs, inbox) = sync_channel(MAX_HANDOFF);
                let (done, installed) = sync_channel(1);
                let pins = config.pin.clone();
                let stop = Arc::clone(stop);
                let thread = std::thread::Builder::new().name("upf-data".to_owned());
                let thread = thread.spawn(move || {
                    pin(&pins, 1);
                    forward(packets, &inbox, &done, &event_sender, &stop)
                })?;
                let xdp = XdpPlane::start(config)?.map(Box::new);
                Self::Offload { worker: Worker { jobs, thread }, installed, events, install, xdp }
            }
        })
    }

    /// Returns the descriptors to wait for, in addition to N4.
    pub(super) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Self::Own(packets) => packets.descriptors(),
            Self::Workers { master, .. } => master.descriptors(),
            Self::Offload { .. } => Vec::new(),
        }
    }

    /// Returns whether events arrive through a channel. A thread cannot wait for a channel and sockets at the same time.
    pub(super) fn has_threads(&self) -> bool {
        !matches!(self, Self::Own(_))
    }

    /// Processes received packets. Returns whether a packet was received.
    pub(super) fn turn(&mut self, now_ns: u64) -> io::Result<bool> {
        match self {
            Self::Own(packets) => packets.turn(now_ns),
            Self::Offload { .. } => Ok(false),
            Self::Workers { master, received, workers, owners, handoff_dropped, .. } => {
                let count = workers.len();
                let mut batches: Vec<[Datagrams; 2]> = (0..count).map(|_| Default::default()).collect();
                master.receive(received, &mut |_, side, from, packet| {
                    let of_side = &mut batches[owners.of_packet(side, packet)];
                    of_side[usize::from(side == Side::N6)].push((from, packet.to_vec()));
                })?;
                let mut worked = false;
                for (worker, [n3, n6]) in workers.iter().zip(batches) {
                    for (side, batch) in [(Side::N3, n3), (Side::N6, n6)] {
                        if batch.is_empty() {
                            continue;
                        }
                        worked = true;
                        if let Err(TrySendError::Full(_)) = worker.jobs.try_send(Job::Packets(side, batch)) {
                            *handoff_dropped += 1;
                        }
                    }
                }
                Ok(worked)
            }
        }
    }

    pub(super) fn install(
        &mut self,
        now_ns: u64,
        seid: u64,
        session: &Session,
        meters: &[Meter],
        end_markers: Vec<OuterHeaderCreation>,
    ) {
        if let Self::Own(packets) = self {
            packets.mark_ends(&end_markers);
            packets.install(now_ns, seid, session, meters);
            return;
        }
        let change = Change { seid, session: session.clone(), meters: meters.to_vec(), end_markers };
        let change = Box::new(change);
        let index = match self {
            Self::Workers { owners, workers, .. } => owners.install(seid, session, workers.len()),
            _ => 0,
        };
        self.job(index, Job::Install(change));
        if let Self::Offload { xdp: Some(xdp), .. } = self {
            xdp.install(seid, session);
        }
        self.wait_installed();
    }

    /// Installs a session that is similar to an earlier one. Only used without packet threads; see [`UpfConfig`].
    pub(super) fn install_like(
        &mut self,
        shape: usize,
        seid: u64,
        teid: u32,
        ue: Ipv4Addr,
        prototype: Option<&Session>,
    ) {
        let (Self::Own(packets), Some(prototype)) = (self, prototype) else { return };
        if !packets.plane.has_prototype(shape) {
            packets.plane.learn(shape, &rules(prototype));
        }
        packets.plane.install_like(shape, seid, teid, ue.into());
    }

    /// Changes the downlink tunnel of a session that was installed by [`install_like`](Self::install_like).
    pub(super) fn redirect(
        &mut self,
        seid: u64,
        teid: u32,
        peer: Ipv4Addr,
        left: Option<OuterHeaderCreation>,
    ) {
        let Self::Own(packets) = self else { return };
        packets.mark_ends(left.as_slice());
        packets.plane.redirect(seid, teid, peer.into());
    }

    fn workers(&self) -> &[Worker] {
        match self {
            Self::Own(_) => &[],
            Self::Workers { workers, .. } => workers,
            Self::Offload { worker, .. } => std::slice::from_ref(worker),
        }
    }

    /// Sends a job that must not be lost. Blocks while the queue is full.
    fn job(&self, index: usize, job: Job) {
        // The error of a worker that has ended is returned when the worker is joined.
        let _ = self.workers()[index].jobs.send(job);
    }

    fn everywhere(&self, job: impl Fn() -> Job) {
        (0..self.workers().len()).for_each(|index| self.job(index, job()));
    }

    fn wait_installed(&self) {
        if let Self::Offload { installed, install, .. } = self {
            // After this call, either the rule is installed or the data thread has ended.
            let _ = installed.recv();
            if !install.is_zero() {
                std::thread::sleep(*install);
            }
        }
    }

    pub(super) fn remove(&mut self, seid: u64) {
        match self {
            Self::Own(packets) => packets.plane.remove(seid),
            _ => {
                let mut index = 0;
                match self {
                    Self::Offload { xdp: Some(xdp), .. } => xdp.remove(seid),
                    Self::Workers { owners, workers, .. } => {
                        owners.remove(seid);
                        index = Owners::of_session(seid, workers.len());
                    }
                    _ => {}
                }
                self.job(index, Job::Remove(seid));
                self.wait_installed();
            }
        }
    }

    pub(super) fn drop_buffered(&mut self, seid: u64) {
        match self {
            Self::Own(packets) => packets.plane.drop_buffered(seid),
            _ => self.job(Owners::of_session(seid, self.workers().len()), Job::DropBuffered(seid)),
        }
    }

    /// Removes all sessions, as after a crash.
    pub(super) fn clear(&mut self) {
        match self {
            Self::Own(packets) => packets.plane.clear(),
            _ => {
                match self {
                    Self::Offload { xdp: Some(xdp), .. } => xdp.clear(),
                    Self::Workers { owners, .. } => owners.clear(),
                    _ => {}
                }
                self.everywhere(|| Job::Clear);
            }
        }
    }

    pub(super) fn event(&mut self) -> Option<PlaneEvent> {
        match self {
            Self::Own(packets) => packets.plane.event(),
            Self::Workers { events, .. } | Self::Offload { events, .. } => events.try_recv().ok(),
        }
    }

    /// Sends the packets of the worker that runs in the control thread.
    pub(super) fn send(&mut self) -> io::Result<()> {
        match self {
            Self::Own(packets) => packets.send(),
            _ => Ok(()),
        }
    }

    /// Waits for the end of the threads, which have been requested to stop.
    pub(super) fn end(self) -> io::Result<WorkerResult> {
        let (mut sum, threads) = match self {
            Self::Own(packets) => return Ok(done(&packets)),
            Self::Workers { master, workers, handoff_dropped, .. } => (
                WorkerResult { handoff_dropped, strangers: master.strangers, ..WorkerResult::default() },
                workers,
            ),
            Self::Offload { worker, xdp, .. } => {
                (WorkerResult { xdp: xdp.map(|xdp| xdp.end()), ..WorkerResult::default() }, vec![worker])
            }
        };
        for Worker { jobs, thread } in threads {
            drop(jobs);
            let ended = thread.join().map_err(|_| io::Error::other("a packet thread panicked"))??;
            sum.counters.add(&ended.counters);
            sum.unsent += ended.unsent;
            sum.strangers += ended.strangers;
            sum.cpu += ended.cpu;
        }
        Ok(sum)
    }
}

fn done(packets: &PacketWorker) -> WorkerResult {
    let counters = *packets.plane.counters();
    let unsent = packets.unsent;
    let strangers = packets.strangers;
    WorkerResult { counters, unsent, strangers, ..WorkerResult::default() }
}

/// Executes one job. Returns whether it was a rule change.
fn carry_out(packets: &mut PacketWorker, job: Job) -> bool {
    let now_ns = monotonic_ns();
    match job {
        Job::Install(change) => {
            packets.mark_ends(&change.end_markers);
            packets.install(now_ns, change.seid, &change.session, &change.meters);
            return true;
        }
        Job::Remove(seid) => {
            packets.plane.remove(seid);
            return true;
        }
        Job::DropBuffered(seid) => packets.plane.drop_buffered(seid),
        Job::Clear => packets.plane.clear(),
        Job::Packets(Side::N3, batch) => {
            batch.iter().for_each(|(from, datagram)| packets.take_n3(now_ns, *from, datagram));
        }
        Job::Packets(Side::N6, batch) => batch.iter().for_each(|(_, packet)| packets.take_n6(now_ns, packet)),
    }
    false
}

fn send_events(packets: &mut PacketWorker, event_sender: &SyncSender<PlaneEvent>) {
    while let Some(event) = packets.plane.event() {
        // If the channel is full, thousands of notices are pending. The next packet generates another notice.
        let _ = event_sender.try_send(event);
    }
}

/// Runs a worker of the software design.
fn work(
    mut packets: PacketWorker,
    inbox: &Receiver<Job>,
    event_sender: &SyncSender<PlaneEvent>,
    stop: &AtomicBool,
) -> io::Result<WorkerResult> {
    loop {
        match inbox.recv_timeout(REST) {
            Ok(job) => {
                carry_out(&mut packets, job);
                while let Ok(job) = inbox.try_recv() {
                    carry_out(&mut packets, job);
                }
                packets.send()?;
                send_events(&mut packets, event_sender);
            }
            Err(RecvTimeoutError::Timeout) if !stop.load(Relaxed) => {}
            Err(_) => break,
        }
    }
    Ok(WorkerResult { cpu: thread_cpu_time(), ..done(&packets) })
}

/// Runs the data thread of the offload design.
fn forward(
    mut packets: PacketWorker,
    inbox: &Receiver<Job>,
    installed: &SyncSender<()>,
    event_sender: &SyncSender<PlaneEvent>,
    stop: &AtomicBool,
) -> io::Result<WorkerResult> {
    // Rules arrive through a channel that poll(2) cannot observe. This interval limits their delay.
    const LOOK: Duration = Duration::from_micros(20);
    while !stop.load(Relaxed) {
        let mut worked = packets.turn(monotonic_ns())?;
        while let Ok(job) = inbox.try_recv() {
            worked = true;
            if carry_out(&mut packets, job) && installed.send(()).is_err() {
                return Ok(WorkerResult { cpu: thread_cpu_time(), ..done(&packets) });
            }
        }
        packets.send()?;
        send_events(&mut packets, event_sender);
        if !worked {
            wait_readable(&packets.descriptors(), LOOK)?;
        }
    }
    Ok(WorkerResult { cpu: thread_cpu_time(), ..done(&packets) })
}
