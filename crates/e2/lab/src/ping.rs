//! An xApp that pings a base station through the RIC: two hops in each direction.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ranlab_sdk::e2::xapp::{ControlError, Dialect, SubscriptionHandle, Xapp, XappConfig, XappEvent};
use ranlab_sdk::transport::{Address, SocketOptions};
use ranlab_sdk::wire::e2ap::{ActionToBeSetup, GlobalE2NodeId, RicActionType, Version};
use ranlab_sdk::wire::e2sm::hw::{self, HwTrigger};
use ranlab_sdk::wire::e2sm::per;
use ranlab_sdk::wire::flat::Coding;
use ranlab_sdk::{Bytes, XappHandle};

use crate::E42_PORT;
use crate::e2_fields::E2Names;
use crate::monitor::messages;
use crate::pinger::{GIVE_UP, Pace, PingReport, Pinger, Shared, Tick, Times};
use ranlab_lab::field::Text;
use ranlab_lab::worker::{ComponentError, Counters, Report};
use ranlab_lab::{RunningComponent, Task, config, loopback, rig, sut};
use ranlab_machine::lock;

/// Time limit for a base station with HW to appear, accept the subscription, or reconnect.
const NODE_WAIT: Duration = Duration::from_secs(30);
/// Retry interval while the RIC or the base station is unreachable.
const RETRY: Duration = Duration::from_millis(50);

config! {
    /// An xApp that pings.
    pub struct PingComponent {
        /// address of the RIC's listener for xApps
        connect: Address = loopback(E42_PORT), wiring();
        /// payload of a ping, in bytes
        size: u32 = 1_500, range(0, hw::PAYLOAD_SIZE_MAX as i64), unit("B");
        /// number of pings [default: 1000, or as many as fit into --duration]
        count: Option<u32> = None, range(1, i64::from(u32::MAX)), wiring();
        /// time between two pings; 0s: each ping follows an echo
        interval: Duration = Duration::ZERO;
        /// number of pending pings if each ping follows an echo
        window: u32 = 1, range(1, 1_024);
        /// let the base station start each exchange (RIC insert) instead of reporting
        insert: bool = false, wiring();
        /// E2AP version of the RIC, which determines the numbering of messages: 1.01, 2.03 or 3.01
        e2ap: Version as E2Names = Version::V2_03, wiring();
        /// encoding of E2AP: per (aligned PER) or flat (FlatBuffers, supported only by ranlab's RIC)
        encoding: Coding as E2Names = Coding::Per, wiring();
        /// encoding of the pings, as configured at the base station
        sm_encoding: Coding as E2Names = Coding::Per, wiring();
        /// dialect of E42: ranlab, flexric, or auto, which starts with FlexRIC's until the RIC identifies itself as
        /// ranlab
        dialect: Dialect as Text = Dialect::Auto, wiring();
        /// same as --dialect flexric
        flexric: bool = false, wiring();
        /// send each ping at its scheduled time even if earlier echoes are missing (open loop)
        punctual: bool = false, inner();
    }
}

/// A running ping xApp.
pub struct RunningPing {
    /// Base station that is pinged.
    pub node: GlobalE2NodeId,
    xapp: XappHandle,
    messages_at_begin: (u64, u64),
    pinger: Shared,
    ended: Rc<RefCell<Option<Result<(), ComponentError>>>>,
    task: Task,
}

impl RunningPing {
    /// Finds a base station with HW, subscribes to its echoes, and pings until the count is reached or this value is
    /// dropped.
    ///
    /// # Errors
    ///
    /// Returns an error if no such base station appears in time, or it rejects the subscription.
    pub async fn start(part: &PingComponent) -> Result<Self, ComponentError> {
        let dialect = if part.flexric { Dialect::FlexRic } else { part.dialect };
        let config = XappConfig::new(part.connect.to_string()).with(|it| {
            it.version = part.e2ap;
            it.dialect = dialect;
            it.coding = part.encoding;
        });
        let size = part.size;
        let coding = part.sm_encoding;
        let pinger = Pinger::new(Pace { size, interval: part.interval, window: part.window, coding })?;
        let xapp = XappHandle::start(config, SocketOptions::default());
        crate::joined(&xapp).await.map_err(sut)?;
        let (node, subscription) = subscribe(&xapp, part.insert).await?;
        let sender = Sender { xapp: xapp.clone(), node, subscription, pinger: pinger.clone() };
        let ended: Rc<RefCell<_>> = Rc::default();
        let part = part.clone();
        let outcome = ended.clone();
        let task = Task::spawn(async move {
            let result = sender.run(&part).await;
            outcome.replace(Some(result));
        });
        Ok(Self { node, xapp, messages_at_begin: (0, 0), pinger, ended, task })
    }

    /// Waits until all pings are sent and their results are known.
    ///
    /// # Errors
    ///
    /// Returns an error if the RIC or the base station did not return in time.
    pub async fn done(&mut self) -> Result<(), ComponentError> {
        // An error means that the task panicked, which the runtime has logged.
        let _ = (&mut self.task.0).await;
        self.check()
    }

    /// Returns the results so far.
    pub fn report(&self) -> PingReport {
        lock(&self.pinger).report()
    }
}

/// Finds a base station with HW and subscribes to its echoes.
async fn subscribe(
    xapp: &XappHandle,
    insert: bool,
) -> Result<(GlobalE2NodeId, SubscriptionHandle), ComponentError> {
    let late = |what: &str| sut(format!("{what} within {} s", NODE_WAIT.as_secs()));
    let found = async {
        loop {
            let with_hw = |xapp: &Xapp| {
                xapp.nodes().find(|(_, info)| info.find(&hw::OID.into()).is_some()).map(|(id, _)| *id)
            };
            if let Some(node) = xapp.read(with_hw) {
                return node;
            }
            xapp.next().await;
        }
    };
    let node = tokio::time::timeout(NODE_WAIT, found);
    let node = node.await.map_err(|_| late("no base station with the service model HW connected"))?;
    let mut trigger = Vec::new();
    per::encode(&HwTrigger::OnControl, &mut trigger).map_err(rig)?;
    let kind = if insert { RicActionType::Insert } else { RicActionType::Report };
    let action = ActionToBeSetup { kind, ..ActionToBeSetup::report(0) };
    let handle = xapp.request_subscription(node, hw::OID, trigger.into(), vec![action]).map_err(rig)?;
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

struct Sender {
    xapp: XappHandle,
    node: GlobalE2NodeId,
    subscription: SubscriptionHandle,
    pinger: Shared,
}

impl Sender {
    async fn run(&self, part: &PingComponent) -> Result<(), ComponentError> {
        match part.punctual && !part.interval.is_zero() {
            true => self.when_due().await,
            false => self.after_echoes(part).await,
        }
    }

    /// Sends pings in an open loop. A ping scheduled while the RIC is unreachable counts as lost.
    async fn when_due(&self) -> Result<(), ComponentError> {
        let mut times = Times::new(&self.pinger);
        loop {
            tokio::select! {
                biased;
                tick = times.next() => match tick {
                    Tick::Due(due) => {
                        let ping = lock(&self.pinger).ping(due);
                        if let Some((_, message)) = ping {
                            let _ = self.control(message);
                        }
                    }
                    Tick::GiveUp => {
                        lock(&self.pinger).give_up();
                    }
                },
                event = self.xapp.next() => {
                    self.echoed(&event);
                }
            }
        }
    }

    /// Sends pings in a closed loop. Each ping follows an echo or a lost ping, at least one interval after the
    /// previous ping.
    async fn after_echoes(&self, part: &PingComponent) -> Result<(), ComponentError> {
        let window = part.window as usize;
        let mut free = window;
        let mut left = part.count.map_or(u64::MAX, u64::from);
        let mut next_at = Instant::now();
        let mut give_up = tokio::time::interval(GIVE_UP);
        while left > 0 || free < window {
            let sends = left > 0 && free > 0;
            if sends && Instant::now() >= next_at {
                next_at = Instant::now() + part.interval;
                (free, left) = (free - 1, left - 1);
                free += self.send().await?;
                continue;
            }
            tokio::select! {
                event = self.xapp.next() => free += usize::from(self.echoed(&event)),
                _ = give_up.tick() => free += lock(&self.pinger).give_up(),
                () = tokio::time::sleep_until(next_at.into()), if sends => {}
            }
        }
        Ok(())
    }

    /// Sends a ping as soon as the RIC and the base station are reachable. Returns the number of echoes received in
    /// the meantime.
    async fn send(&self) -> Result<usize, ComponentError> {
        let deadline = Instant::now() + NODE_WAIT;
        let mut echoes = 0;
        loop {
            let ping = lock(&self.pinger).ping(Instant::now());
            let Some((number, message)) = ping else { return Ok(echoes) };
            let Err(error) = self.control(message) else { return Ok(echoes) };
            lock(&self.pinger).unsent(number);
            let away = matches!(
                error,
                ControlError::NotReady | ControlError::UnknownNode | ControlError::UnknownFunction
            );
            if !away || Instant::now() > deadline {
                return Err(sut(format!("a ping cannot be sent: {error}")));
            }
            while let Some(event) = self.xapp.try_next() {
                echoes += usize::from(self.echoed(&event));
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    fn control(&self, message: Bytes) -> Result<(), ControlError> {
        self.xapp.send_control(self.node, hw::OID, Bytes::new(), message, false).map(drop)
    }

    /// Returns whether an event is an expected echo.
    fn echoed(&self, event: &XappEvent) -> bool {
        match event {
            XappEvent::Indication { handle, indication, .. } if *handle == self.subscription => {
                lock(&self.pinger).echo(&indication.message)
            }
            _ => false,
        }
    }
}

impl RunningComponent for RunningPing {
    fn check(&mut self) -> Result<(), ComponentError> {
        self.ended.borrow().clone().unwrap_or(Ok(()))
    }

    fn counters(&mut self) -> Counters {
        let mut numbers = lock(&self.pinger).counters();
        let rtt_us = self.report().rtt_us;
        numbers.extend(
            [("rtt_us_p50", rtt_us.p50), ("rtt_us_p99", rtt_us.p99)]
                .map(|(name, value)| (name.to_owned(), value)),
        );
        numbers
    }

    fn begin(&mut self) {
        self.messages_at_begin = messages(&self.xapp);
        lock(&self.pinger).begin();
    }

    fn end(&mut self, report: &mut Report) {
        let (sent, received) = messages(&self.xapp);
        let sent = sent - self.messages_at_begin.0;
        let received = received - self.messages_at_begin.1;
        report.put([("messages_sent", sent), ("messages_received", received)]);
        lock(&self.pinger).end(report);
    }
}
