//! Our RIC with an iApp that pings a base station: one hop each way. The system under test and the pinging share a
//! process, as an iApp does.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::ric::{
    ControlDetails, IApp, IAppId, IAppInput, IAppOutbox, NodeInfo, NorthboundReply, NorthboundRequest,
    RicConfig, Side,
};
use ranlab_sdk::transport::{Address, SocketOptions};
use ranlab_sdk::wire::e2ap::{
    ActionToBeSetup, GlobalE2NodeId, RanFunctionId, RicControlAckRequest, RicSubscriptionDetails,
};
use ranlab_sdk::wire::e2sm::hw::{self, HwTrigger};
use ranlab_sdk::wire::e2sm::per;
use ranlab_sdk::{Bytes, RicHandle};
use serde::{Deserialize, Serialize};

use super::pinger::{Pace, Pinger, Shared, lock, ticks, wait_awake};
use super::process::folder_for;
use super::{Running, environment, parse};
use crate::worker::{Numbers, Report, Trouble};

/// How often echoes are looked for that will not come.
const GIVE_UP: Duration = Duration::from_millis(100);

/// A RIC with a pinging iApp.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PingRicPart {
    /// Listener for base stations; port 0: the system's choice, `unix`: a socket in a folder of the worker's.
    pub e2: String,
    /// Version of E2AP.
    pub e2ap: String,
    /// What to send when.
    pub pace: Pace,
}

/// A RIC that runs.
pub(crate) struct PingingRic {
    ric: RicHandle,
    address: Address,
    folder: Option<PathBuf>,
    pinger: Shared,
    task: tokio::task::JoinHandle<()>,
}

impl PingingRic {
    pub(crate) async fn start(part: PingRicPart) -> Result<Self, Trouble> {
        let folder = folder_for([&part.e2])?;
        let listen = match &folder {
            Some(folder) => Address::Unix(folder.join("e2")),
            None => parse(&part.e2)?,
        };
        let config = RicConfig { version: parse(&part.e2ap)?, ..RicConfig::default() };
        let ric = RicHandle::start(config, SocketOptions::default());
        let address = ric.listen(Side::E2, &listen, |_| true).await.map_err(environment)?;
        let pinger = Pinger::new(part.pace)?;
        let iapp =
            ric.add_iapp(Box::new(PingIApp { pinger: pinger.clone(), target: None, subscribed: false }));
        let task = tokio::task::spawn_local(pace(ric.clone(), iapp, pinger.clone()));
        Ok(Self { ric, address, folder, pinger, task })
    }
}

/// Tells the iApp when a ping is due.
async fn pace(ric: RicHandle, iapp: IAppId, pinger: Shared) {
    let tell = |path: &str| {
        let request = NorthboundRequest { token: u64::MAX, path: path.to_owned(), body: Bytes::new() };
        ric.with(|ric, now| ric.northbound(now, iapp, request));
    };
    let interval = Duration::from_micros(lock(&pinger).pace().interval_us);
    let mut ticks = (!interval.is_zero()).then(|| ticks(interval, &pinger));
    let mut give_up = tokio::time::interval(GIVE_UP);
    loop {
        tokio::select! {
            biased;
            due = async { match &mut ticks { Some(ticks) => ticks.recv().await, None => std::future::pending().await } } => {
                let Some(due) = due else { return };
                wait_awake(due);
                lock(&pinger).next_due = Some(due);
                tell("due");
            }
            _ = give_up.tick() => {
                let lost = lock(&pinger).give_up();
                (0..lost).for_each(|_| tell("again"));
            }
        }
    }
}

/// Pings the first base station that offers HW.
struct PingIApp {
    pinger: Shared,
    target: Option<(GlobalE2NodeId, RanFunctionId)>,
    subscribed: bool,
}

impl PingIApp {
    fn aim(&mut self, node: &NodeInfo, out: &mut IAppOutbox) {
        let Some(function) = node.function_by_oid(hw::OID).filter(|_| node.connected) else { return };
        if self.target.is_some() {
            return;
        }
        let mut event_trigger = Vec::new();
        // A constant that encodes.
        if per::encode(&HwTrigger::OnControl, &mut event_trigger).is_err() {
            return;
        }
        let actions = vec![ActionToBeSetup::report(0)];
        let details = RicSubscriptionDetails { event_trigger: event_trigger.into(), actions };
        self.target = Some((node.id, function.id));
        out.subscribe(node.id, function.id, details);
    }

    fn send(&self, intended: Instant, out: &mut IAppOutbox) {
        let Some((node, function)) = self.target.filter(|_| self.subscribed) else { return };
        let message = lock(&self.pinger).ping(intended);
        let Some(message) = message else { return };
        let details = ControlDetails {
            call_process_id: None,
            header: Bytes::new(),
            message,
            ack_request: Some(RicControlAckRequest::NoAck),
        };
        out.control(node, function, details);
    }
}

impl IApp for PingIApp {
    fn name(&self) -> &str {
        "ping"
    }

    fn handle(&mut self, _: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        match input {
            IAppInput::NodeAdded(node) | IAppInput::NodeChanged(node) => self.aim(node, out),
            IAppInput::Subscribed { .. } => {
                self.subscribed = true;
                let pace = lock(&self.pinger).pace().clone();
                if pace.interval_us == 0 {
                    (0..pace.window).for_each(|_| self.send(Instant::now(), out));
                }
            }
            IAppInput::Indication { indication, .. } => {
                let (echoed, flat_out) = {
                    let mut pinger = lock(&self.pinger);
                    (pinger.echo(indication.message), pinger.pace().interval_us == 0)
                };
                if echoed && flat_out {
                    self.send(Instant::now(), out);
                }
            }
            IAppInput::Northbound(request) => {
                let (due, flat_out) = {
                    let mut pinger = lock(&self.pinger);
                    (pinger.next_due.take(), pinger.pace().interval_us == 0)
                };
                if request.path == "due" || flat_out {
                    self.send(due.unwrap_or_else(Instant::now), out);
                }
                out.reply(NorthboundReply { token: request.token, status: 204, body: Bytes::new() });
            }
            _ => {}
        }
    }
}

impl Running for PingingRic {
    fn addresses(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("e2".to_owned(), self.address.to_string())])
    }

    fn look(&mut self) -> Numbers {
        let mut numbers = lock(&self.pinger).look();
        let nodes =
            self.ric.read(|ric| ric.snapshot().nodes.iter().filter(|node| node.info.connected).count());
        numbers.insert("nodes".to_owned(), nodes as f64);
        numbers
    }

    fn begin(&mut self) {
        lock(&self.pinger).begin();
    }

    fn end(&mut self, report: &mut Report) {
        lock(&self.pinger).end(report);
    }
}

impl Drop for PingingRic {
    fn drop(&mut self) {
        self.task.abort();
        if let Some(folder) = &self.folder {
            // Nobody else's; an empty folder left in /tmp hurts nobody.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
