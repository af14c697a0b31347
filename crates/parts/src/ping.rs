//! An xApp that pings a base station through the RIC: two hops each way.

use std::time::{Duration, Instant};

use ranlab_sdk::e2::xapp::{Dialect, SubscriptionHandle, XappConfig, XappEvent};
use ranlab_sdk::transport::SocketOptions;
use ranlab_sdk::wire::e2ap::{ActionToBeSetup, GlobalE2NodeId};
use ranlab_sdk::wire::e2sm::hw::{self, HwTrigger};
use ranlab_sdk::wire::e2sm::per;
use ranlab_sdk::{Bytes, XappHandle};
use serde::{Deserialize, Serialize};

use super::monitor::messages;
use super::pinger::{Pace, Pinger, Shared, lock, ticks, wait_awake};
use super::{Running, parse, rig, sut};
use crate::worker::{Numbers, Report, Trouble};

/// How long a base station with HW may take to appear, and to admit the subscription.
const NODE_WAIT: Duration = Duration::from_secs(10);
/// How often echoes are looked for that will not come.
const GIVE_UP: Duration = Duration::from_millis(100);

/// An xApp that pings.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PingPart {
    /// The RIC's listener for xApps.
    pub connect: String,
    /// Version of E2AP whose numbering is spoken.
    pub e2ap: String,
    /// The RIC is a FlexRIC.
    pub flexric: bool,
    /// What to send when.
    pub pace: Pace,
}

/// An xApp that runs.
pub(crate) struct Pinging {
    xapp: XappHandle,
    messages_at_begin: (u64, u64),
    pinger: Shared,
    task: tokio::task::JoinHandle<()>,
}

impl Pinging {
    pub(crate) async fn start(part: PingPart) -> Result<Self, Trouble> {
        let dialect = if part.flexric { Dialect::FlexRic } else { Dialect::Ranlab };
        let config = XappConfig { version: parse(&part.e2ap)?, dialect, ..XappConfig::new(&part.connect) };
        let pinger = Pinger::new(part.pace)?;
        let xapp = XappHandle::start(config, SocketOptions::default());
        let (node, subscription) = subscribe(&xapp).await?;
        let task = tokio::task::spawn_local(send(xapp.clone(), node, subscription, pinger.clone()));
        Ok(Self { xapp, messages_at_begin: (0, 0), pinger, task })
    }
}

/// Finds a base station with HW and subscribes to its echoes.
async fn subscribe(xapp: &XappHandle) -> Result<(GlobalE2NodeId, SubscriptionHandle), Trouble> {
    let late = |what: &str| sut(format!("{what} within {} s", NODE_WAIT.as_secs()));
    let found = async {
        loop {
            let with_hw = |xapp: &ranlab_sdk::e2::xapp::Xapp| {
                xapp.nodes().find(|(_, info)| info.find(&hw::OID.into()).is_some()).map(|(id, _)| *id)
            };
            if let Some(node) = xapp.read(with_hw) {
                return node;
            }
            xapp.next().await;
        }
    };
    let node = tokio::time::timeout(NODE_WAIT, found);
    let node = node.await.map_err(|_| late("no base station with the HW function came"))?;
    let mut trigger = Vec::new();
    per::encode(&HwTrigger::OnControl, &mut trigger).map_err(rig)?;
    let handle = xapp
        .request_subscription(node, hw::OID, trigger.into(), vec![ActionToBeSetup::report(0)])
        .map_err(rig)?;
    let admitted = async {
        loop {
            match xapp.next().await {
                XappEvent::Subscribed { handle: of, .. } if of == handle => return Ok(()),
                XappEvent::SubscriptionFailed { handle: of, failure, .. } if of == handle => {
                    return Err(sut(format!("{node} refuses the subscription: {failure:?}")));
                }
                _ => {}
            }
        }
    };
    let admitted = tokio::time::timeout(NODE_WAIT, admitted);
    admitted.await.map_err(|_| late("the subscription was not answered"))??;
    Ok((node, handle))
}

async fn send(xapp: XappHandle, node: GlobalE2NodeId, subscription: SubscriptionHandle, pinger: Shared) {
    let ping = |intended: Instant| {
        let message = lock(&pinger).ping(intended);
        if let Some(message) = message {
            // A RIC that is away makes the ping one that is lost.
            let _ = xapp.send_control(node, hw::OID, Bytes::new(), message, false);
        }
    };
    let pace = lock(&pinger).pace().clone();
    let paced = pace.interval_us > 0;
    let mut ticks = paced.then(|| ticks(Duration::from_micros(pace.interval_us), &pinger));
    if !paced {
        (0..pace.window).for_each(|_| ping(Instant::now()));
    }
    let mut give_up = tokio::time::interval(GIVE_UP);
    loop {
        tokio::select! {
            biased;
            due = async { match &mut ticks { Some(ticks) => ticks.recv().await, None => std::future::pending().await } } => {
                let Some(due) = due else { return };
                wait_awake(due);
                ping(due);
            }
            event = xapp.next() => {
                let XappEvent::Indication { handle, indication, .. } = event else { continue };
                let echoed = handle == subscription && lock(&pinger).echo(&indication.message);
                if echoed && !paced {
                    ping(Instant::now());
                }
            }
            _ = give_up.tick() => {
                let lost = lock(&pinger).give_up();
                if !paced {
                    (0..lost).for_each(|_| ping(Instant::now()));
                }
            }
        }
    }
}

impl Running for Pinging {
    fn look(&mut self) -> Numbers {
        lock(&self.pinger).look()
    }

    fn begin(&mut self) {
        self.messages_at_begin = messages(&self.xapp);
        lock(&self.pinger).begin();
    }

    fn end(&mut self, report: &mut Report) {
        let (sent, received) = messages(&self.xapp);
        for (name, value) in [
            ("messages_sent", sent - self.messages_at_begin.0),
            ("messages_received", received - self.messages_at_begin.1),
        ] {
            report.numbers.insert(name.to_owned(), value as f64);
        }
        lock(&self.pinger).end(report);
    }
}

impl Drop for Pinging {
    fn drop(&mut self) {
        self.task.abort();
    }
}
