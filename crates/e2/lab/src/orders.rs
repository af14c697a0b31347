//! An xApp that sends numbered control requests to all base stations in rotation and records the outcome of each
//! request. It creates load and observes outcomes in runs in which RICs crash, are partitioned or are restarted.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ranlab_sdk::e2::xapp::{ControlHandle, XappConfig, XappEvent};
use ranlab_sdk::transport::{Address, SocketOptions};
use ranlab_sdk::wire::e2ap::GlobalE2NodeId;
use ranlab_sdk::wire::e2sm::{Encoding, Octets, hw};
use ranlab_sdk::{Bytes, XappHandle};
use serde::Serialize;

use crate::joined;
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{rig, sut};

/// Maximum rate, in orders per second.
pub const RATE_MAX: u32 = 10_000;

/// Settings of an order sender.
#[derive(Debug, Clone)]
pub struct OrdersPlan {
    /// Address of the RIC.
    pub connect: Address,
    /// Addresses of further RICs on the same bus.
    pub or_at: Vec<Address>,
    /// Orders per second, 1 to [`RATE_MAX`].
    pub rate: u32,
    /// Number of the first order. Further orders are numbered consecutively.
    pub first: u32,
}

/// The outcome of an order.
#[derive(Debug, Clone, Serialize)]
pub struct OrderOutcome {
    /// Number of the order.
    pub order: u32,
    /// Base station to which the order was sent.
    pub node: String,
    /// Whether the base station has acknowledged the order.
    pub acknowledged: bool,
    /// Reason of a missing acknowledgement. The order may have been executed nevertheless, unless it was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Time from the order to its response, in milliseconds.
    pub ms: f64,
}

/// Outcomes of all orders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct OrdersReport {
    /// Number of orders sent.
    pub sent: u64,
    /// Number of orders acknowledged.
    pub acknowledged: u64,
    /// Number of orders that were rejected, or whose outcome is unknown.
    pub failed: u64,
    /// Number of orders that were not sent at their time, because no base station was connected or too many orders
    /// were pending.
    pub unsent: u64,
}

/// A running order sender.
pub struct RunningControlLoad {
    xapp: XappHandle,
    next: u32,
    period: Duration,
    last: Option<GlobalE2NodeId>,
    under_way: BTreeMap<ControlHandle, (u32, GlobalE2NodeId, Instant)>,
    report: OrdersReport,
}

impl RunningControlLoad {
    /// Connects, and waits until a RIC has accepted the setup.
    ///
    /// # Errors
    ///
    /// Returns an error if the rate is invalid, or no RIC accepts the setup.
    pub async fn start(plan: &OrdersPlan) -> Result<Self, ComponentError> {
        if plan.rate == 0 || plan.rate > RATE_MAX {
            return Err(rig(format!(
                "the rate must be 1 to {RATE_MAX} orders per second, not {}",
                plan.rate
            )));
        }
        let config = XappConfig::new(plan.connect.to_string())
            .with(|it| it.or_at = plan.or_at.iter().map(ToString::to_string).collect());
        let xapp = XappHandle::start(config, SocketOptions::default());
        joined(&xapp).await.map_err(sut)?;
        let under_way = BTreeMap::new();
        let report = OrdersReport::default();
        let period = Duration::from_secs(1) / plan.rate;
        Ok(Self { xapp, next: plan.first, period, last: None, under_way, report })
    }

    /// Sends orders at their scheduled times, independent of earlier outcomes, and calls `on_outcome` with each outcome.
    /// The future never completes; drop it to stop.
    pub async fn run(&mut self, mut on_outcome: impl FnMut(&OrderOutcome)) {
        let mut timer = tokio::time::interval(self.period);
        timer.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = timer.tick() => self.send(),
                event = self.xapp.next() => self.on_event(&event, &mut on_outcome),
            }
        }
    }

    /// Waits for pending outcomes until the timeout. Orders that are still pending at the timeout have failed.
    pub async fn conclude(
        &mut self,
        patience: Duration,
        mut on_outcome: impl FnMut(&OrderOutcome),
    ) -> OrdersReport {
        let rest = async {
            while !self.under_way.is_empty() {
                let event = self.xapp.next().await;
                self.on_event(&event, &mut on_outcome);
            }
        };
        if tokio::time::timeout(patience, rest).await.is_err() {
            for handle in self.under_way.keys().copied().collect::<Vec<_>>() {
                self.finish(
                    handle,
                    Some("the xApp ended before the response to the order arrived".to_owned()),
                    &mut on_outcome,
                );
            }
        }
        self.report
    }

    /// Returns the next base station of the rotation, in the order of identities.
    fn next_node(&self) -> Option<GlobalE2NodeId> {
        self.xapp.read(|xapp| {
            let with_hw =
                || xapp.nodes().filter(|(_, info)| info.find(&hw::OID.into()).is_some()).map(|(id, _)| *id);
            with_hw().find(|id| self.last.is_none_or(|last| *id > last)).or_else(|| with_hw().next())
        })
    }

    fn send(&mut self) {
        let Some(node) = self.next_node() else {
            self.report.unsent += 1;
            return;
        };
        self.last = Some(node);
        let ping = hw::Ping { seq: self.next, t_send_ns: 0, payload: Bytes::new() };
        let sent = ping
            .to_octets(Encoding::Per)
            .ok()
            .and_then(|message| self.xapp.send_control(node, hw::OID, Bytes::new(), message, true).ok());
        match sent {
            Some(handle) => {
                self.under_way.insert(handle, (self.next, node, Instant::now()));
                self.next = self.next.wrapping_add(1);
                self.report.sent += 1;
            }
            None => self.report.unsent += 1,
        }
    }

    fn on_event(&mut self, event: &XappEvent, on_outcome: &mut impl FnMut(&OrderOutcome)) {
        match event {
            XappEvent::ControlAcknowledged { handle, .. } => self.finish(*handle, None, on_outcome),
            XappEvent::ControlFailed { handle, failure, .. } => {
                self.finish(*handle, Some(failure.to_string()), on_outcome);
            }
            _ => {}
        }
    }

    fn finish(
        &mut self,
        handle: ControlHandle,
        why: Option<String>,
        on_outcome: &mut impl FnMut(&OrderOutcome),
    ) {
        let Some((order, node, sent)) = self.under_way.remove(&handle) else { return };
        let acknowledged = why.is_none();
        self.report.acknowledged += u64::from(acknowledged);
        self.report.failed += u64::from(!acknowledged);
        let ms = sent.elapsed().as_secs_f64() * 1e3;
        on_outcome(&OrderOutcome { order, node: node.to_string(), acknowledged, why, ms });
    }
}
