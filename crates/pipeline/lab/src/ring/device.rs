//! The device under test of tier `ring`: ranlab's packet engine, or a plain cross-connect, behind two memif ports. The
//! cross-connect measures the rings themselves.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::memif::Role;
use crate::memif::device::{Core, Device, Work};
use ranlab_pipeline::backends::port_name;
use ranlab_pipeline::declare::Port as Side;
use ranlab_pipeline::engine::{Control, Engine};
use ranlab_pipeline::pipelines::Pipeline;
use ranlab_pipeline::rss::{Balance, RssHash};

use super::{RingCounters, Shape, device_cpus, ports, rings, sockets};
use crate::captured;
use crate::pipeline::{Changes, PipelineComponent, change, isa, verify};
use ranlab_lab::field::JsonField;
use ranlab_lab::folder::Folder;
use ranlab_lab::worker::{ComponentError, Report};
use ranlab_lab::{RunningComponent, counts, rig};

/// Value of `sut.engine` for a device that forwards without reading packets.
pub(crate) const BARE: &str = "bare";
/// Timeout of a request for the device's counters. The device replies between two bursts.
const ANSWER: Duration = Duration::from_secs(10);
/// Polling interval while the device waits for a peer.
const LOOK: Duration = Duration::from_millis(1);

/// A device that runs in its own thread.
pub(crate) struct RingDevice {
    sockets: [PathBuf; 2],
    thread: Option<JoinHandle<()>>,
    pause: Arc<AtomicBool>,
    /// Channel for requests for counters. Dropping the sender ends the thread.
    asks: Option<Sender<SyncSender<CounterReply>>>,
    before: Option<CounterReply>,
    churn: Option<Churn>,
    verified: usize,
    frame_bytes_mean: f64,
    trouble: Option<ComponentError>,
    _folder: Folder,
}

/// The reply to a request for counters.
struct CounterReply {
    counters: RingCounters,
    changes_refused: u64,
}

/// Changes of an engine's tables during a window.
struct Churn {
    pipeline: Pipeline,
    control: Option<Control>,
    stop: Arc<AtomicBool>,
    running: Option<JoinHandle<(Control, Changes)>>,
}

impl RingDevice {
    pub(crate) fn start(part: &PipelineComponent) -> Result<Self, ComponentError> {
        let rings = rings(part.cores)?;
        let Some(JsonField(pipeline)) = &part.pipeline else { return Err(rig("no pipeline was named")) };
        let trace = captured::trace(pipeline, &part.traffic.0, &part.trace)?;
        let octets: usize = trace.iter().map(|(_, frame)| frame.len()).sum();
        let mut verified = 0;
        let mut churn = None;
        let works = if part.engine == BARE {
            (0..part.cores).map(|_| Work::Cross).collect()
        } else {
            let isa = isa(part)?;
            let declaration = pipeline.build().map_err(rig)?;
            let spread = RssHash::new(&declaration, part.cores).map_err(rig)?;
            let (mut verifying, _control) = Engine::start(&declaration, part.cores, isa).map_err(rig)?;
            verified = verify(pipeline, &trace, (&spread, &mut verifying), part.verify)?;
            let (engines, control) = Engine::start(&declaration, part.cores, isa).map_err(rig)?;
            let pipeline = pipeline.clone();
            let stop = Arc::new(AtomicBool::new(false));
            churn = Some(Churn { pipeline, control: Some(control), stop, running: None });
            engines.into_iter().map(|engine| Work::Pipeline(Box::new(engine))).collect()
        };
        let mut folder = Folder::default();
        let sockets = sockets(&folder.made()?);
        let ports = ports(&sockets, Role::Master, Shape::each_way(part.ring, rings))?;
        let device = Device::of_cores(ports, works).faulty(part.drop_every, part.hang_after);
        let device = device.on(device_cpus());
        let pause = Arc::new(AtomicBool::new(false));
        let (asks, requests) = channel();
        let paused = Arc::clone(&pause);
        let thread = std::thread::spawn(move || serve(device, &requests, &paused));
        Ok(Self {
            sockets,
            thread: Some(thread),
            pause,
            asks: Some(asks),
            before: None,
            churn,
            verified,
            frame_bytes_mean: octets as f64 / trace.len().max(1) as f64,
            trouble: None,
            _folder: folder,
        })
    }

    /// Requests the counters from the device's thread.
    fn look_in(&self) -> Result<CounterReply, ComponentError> {
        let gone = || rig("the thread of the device under test has ended");
        let (reply_sender, answer) = sync_channel(1);
        self.pause.store(true, Ordering::Relaxed);
        self.asks.as_ref().ok_or_else(gone)?.send(reply_sender).map_err(|_| gone())?;
        answer.recv_timeout(ANSWER).map_err(|_| gone())
    }

    fn end_window(&mut self, report: &mut Report) -> Result<(), ComponentError> {
        let Some(before) = self.before.take() else { return Ok(()) };
        let now = self.look_in()?;
        let window = now.counters.since(&before.counters);
        report.detail = serde_json::to_value(&window).map_err(rig)?;
        let changes = match &mut self.churn {
            Some(churn) => churn.end()?,
            None => None,
        };
        let changes = changes.unwrap_or_else(Changes::none);
        let mut set = |name: &str, value: f64| report.numbers.insert(name.to_owned(), value);
        set("verified_packets", self.verified as f64);
        set("frame_bytes_mean", self.frame_bytes_mean);
        set("cpus_allowed", device_cpus().len() as f64);
        if !window.cores.is_empty() {
            let balance = Balance::of_counts(window.cores.iter().map(|core| core.received));
            set("core_imbalance", balance.busiest_over_mean());
        }
        set("updates_due", changes.due.max(changes.sent) as f64);
        set("updates_sent", changes.sent as f64);
        set("updates_late", changes.late as f64);
        set("updates_refused", changes.refused as f64);
        set("changes_refused", now.changes_refused.saturating_sub(before.changes_refused) as f64);
        report.distributions.insert("update_applied_ns".to_owned(), counts(&changes.visible_ns));
        Ok(())
    }
}

impl Churn {
    fn begin(&mut self) {
        let Some(control) = self.control.take() else { return };
        self.stop = Arc::new(AtomicBool::new(false));
        let pipeline = self.pipeline.clone();
        let stopped = Arc::clone(&self.stop);
        self.running = Some(std::thread::spawn(move || change(&pipeline, control, &stopped)));
    }

    fn end(&mut self) -> Result<Option<Changes>, ComponentError> {
        let Some(thread) = self.running.take() else { return Ok(None) };
        self.stop.store(true, Ordering::Relaxed);
        let (control, changes) = thread.join().map_err(|_| rig("the thread that changes tables died"))?;
        self.control = Some(control);
        Ok(Some(changes))
    }
}

/// Forwards until the request channel closes. When a peer disconnects, the next tester may connect.
fn serve(mut device: Device, requests: &Receiver<SyncSender<CounterReply>>, pause: &AtomicBool) {
    loop {
        match requests.try_recv() {
            Ok(reply_sender) => {
                pause.store(false, Ordering::Relaxed);
                let of = |core: &Core| {
                    RingCounters::from_ledger(core.ledger(), core.drops(), core.received(), core.malformed())
                };
                let counters = RingCounters::of_cores(device.cores().iter().map(of).collect());
                let changes_refused = device.cores().iter().map(Core::changes_refused).sum();
                let seen = CounterReply { counters, changes_refused };
                // The requester may have timed out.
                let _ = reply_sender.send(seen);
            }
            Err(TryRecvError::Disconnected) => return,
            Err(TryRecvError::Empty) => {}
        }
        match device.connect() {
            // A disconnect is an error of the peer, and the tester reports it.
            Ok(true) => drop(device.serve(pause)),
            Ok(false) | Err(_) => std::thread::sleep(LOOK),
        }
    }
}

impl RunningComponent for RingDevice {
    fn addresses(&self) -> BTreeMap<String, String> {
        let name = |port: Side| port_name(port).to_owned();
        let both = [Side::Access, Side::Core].into_iter().zip(&self.sockets);
        both.map(|(port, path)| (name(port), path.display().to_string())).collect()
    }

    fn check(&mut self) -> Result<(), ComponentError> {
        match self.trouble.take() {
            Some(trouble) => Err(trouble),
            None if self.thread.as_ref().is_some_and(JoinHandle::is_finished) => {
                Err(rig("the thread of the device under test has ended"))
            }
            None => Ok(()),
        }
    }

    fn begin(&mut self) {
        match self.look_in() {
            Ok(seen) => self.before = Some(seen),
            Err(trouble) => self.trouble = Some(trouble),
        }
        if let Some(churn) = &mut self.churn {
            let _ = churn.end();
            churn.begin();
        }
    }

    fn end(&mut self, report: &mut Report) {
        if let Err(trouble) = self.end_window(report) {
            self.trouble = Some(trouble);
        }
    }
}

impl Drop for RingDevice {
    fn drop(&mut self) {
        if let Some(churn) = &mut self.churn {
            let _ = churn.end();
        }
        drop(self.asks.take());
        self.pause.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
