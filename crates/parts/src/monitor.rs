//! An xApp that takes statistics from every base station, as a part.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hdrhistogram::Histogram;
use ranlab_sdk::XappHandle;
use ranlab_sdk::e2::xapp::{Dialect, XappConfig, XappEvent};
use ranlab_sdk::transport::SocketOptions;
use ranlab_sdk::wire::e2ap::ActionToBeSetup;
use ranlab_sdk::wire::e2sm::{Model, plain::tstamp_us};
use serde::{Deserialize, Serialize};

use super::{LEAVE_WAIT, Running, counts, parse, rig};
use crate::worker::{Numbers, Report, Trouble};

/// Greatest age that is told apart: an hour.
const LATENCY_US_MAX: u64 = 3_600_000_000;
/// Events taken in one go before others get their turn.
const BATCH: usize = 256;

/// An xApp that subscribes at every base station.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MonitorPart {
    /// The RIC's listener for xApps.
    pub connect: String,
    /// Service models by name.
    pub sm: Vec<String>,
    /// Report period, us.
    pub period_us: u64,
    /// Version of E2AP whose numbering is spoken.
    pub e2ap: String,
    /// The RIC is a FlexRIC: ask for nothing that it does not know.
    pub flexric: bool,
    /// This machine's clock minus the base stations', us: taken from each age.
    pub ahead_us: f64,
}

/// An xApp that runs.
pub(crate) struct Watcher {
    xapp: XappHandle,
    counted: Rc<RefCell<Counted>>,
    lost_at_begin: Option<u64>,
    messages_at_begin: (u64, u64),
    flexric: bool,
    task: tokio::task::JoinHandle<()>,
}

struct Counted {
    latency_us: Histogram<u64>,
    indications: u64,
    bytes: u64,
    disconnects: u64,
    /// Ages below zero: the clocks disagree by more than the way takes.
    early: u64,
    ahead_us: i64,
}

impl Watcher {
    pub(crate) fn start(part: &MonitorPart) -> Result<Self, Trouble> {
        let period = Duration::from_micros(part.period_us);
        let dialect = if part.flexric { Dialect::FlexRic } else { Dialect::Ranlab };
        let config = XappConfig { version: parse(&part.e2ap)?, dialect, ..XappConfig::new(&part.connect) };
        let xapp = XappHandle::start(config, SocketOptions::default());
        for name in &part.sm {
            let model: &dyn Model = parse::<&'static dyn Model>(name)?;
            let trigger = model.periodic(model.encoding(), period).map_err(rig)?;
            xapp.subscribe_all_raw(model.oid(), trigger, vec![ActionToBeSetup::report(0)]).map_err(rig)?;
        }
        let latency_us = Histogram::new_with_bounds(1, LATENCY_US_MAX, 3).map_err(rig)?;
        let ahead_us = part.ahead_us as i64;
        let counted = Counted { latency_us, indications: 0, bytes: 0, disconnects: 0, early: 0, ahead_us };
        let counted = Rc::new(RefCell::new(counted));
        let task = tokio::task::spawn_local(take(xapp.clone(), counted.clone()));
        let flexric = part.flexric;
        Ok(Self { xapp, counted, lost_at_begin: None, messages_at_begin: (0, 0), flexric, task })
    }
}

async fn take(xapp: XappHandle, counted: Rc<RefCell<Counted>>) {
    loop {
        let event = xapp.next().await;
        counted.borrow_mut().take(&event);
        // What is there already needs no wait.
        for _ in 0..BATCH {
            let Some(event) = xapp.try_next() else { break };
            counted.borrow_mut().take(&event);
        }
        tokio::task::yield_now().await;
    }
}

impl Counted {
    fn take(&mut self, event: &XappEvent) {
        match event {
            XappEvent::Indication { indication, .. } => {
                self.indications += 1;
                self.bytes += indication.message.len() as u64;
                if let Some(sent) = tstamp_us(&indication.message) {
                    let age = unix_us().saturating_sub(self.ahead_us).saturating_sub(sent);
                    self.early += u64::from(age < 0);
                    self.latency_us.saturating_record(u64::try_from(age).unwrap_or(0).max(1));
                }
            }
            XappEvent::Disconnected { .. } => self.disconnects += 1,
            _ => {}
        }
    }
}

/// Messages that an xApp sent and received since its birth.
pub(crate) fn messages(xapp: &XappHandle) -> (u64, u64) {
    xapp.read(|xapp| {
        let sent = xapp.outbox_counters();
        (sent.control + sent.indications, xapp.counters().received)
    })
}

fn unix_us() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_micros()).unwrap_or(i64::MAX)
}

impl Running for Watcher {
    fn look(&mut self) -> Numbers {
        let (nodes, active) = self.xapp.read(|xapp| (xapp.nodes().count(), xapp.subscriptions().0));
        let counted = self.counted.borrow();
        [
            ("nodes", nodes as f64),
            ("subscriptions", active as f64),
            ("indications", counted.indications as f64),
            ("disconnects", counted.disconnects as f64),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    fn begin(&mut self) {
        self.lost_at_begin = self.xapp.read(|xapp| xapp.lost_total());
        self.messages_at_begin = messages(&self.xapp);
        let mut counted = self.counted.borrow_mut();
        counted.latency_us.reset();
        (counted.indications, counted.bytes, counted.disconnects, counted.early) = (0, 0, 0, 0);
    }

    fn end(&mut self, report: &mut Report) {
        let lost = self.xapp.read(|xapp| xapp.lost_total());
        let (sent, received) = messages(&self.xapp);
        let counted = self.counted.borrow();
        for (name, value) in [
            ("messages_sent", (sent - self.messages_at_begin.0) as f64),
            ("messages_received", (received - self.messages_at_begin.1) as f64),
            ("indications", counted.indications as f64),
            ("bytes", counted.bytes as f64),
            ("disconnects", counted.disconnects as f64),
            ("early", counted.early as f64),
            ("subscriptions", self.xapp.read(|xapp| xapp.subscriptions().0) as f64),
        ] {
            report.numbers.insert(name.to_owned(), value);
        }
        if let Some((then, now)) = self.lost_at_begin.zip(lost) {
            report.numbers.insert("lost".to_owned(), now.saturating_sub(then) as f64);
        }
        report.distributions.insert("latency_us".to_owned(), counts(&counted.latency_us));
    }

    fn leave(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        self.task.abort();
        Box::pin(async {
            if self.flexric {
                // It keeps what an xApp leaves behind, and works for it: the next repeat would pay.
                self.xapp.leave(LEAVE_WAIT).await;
            }
        })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}
