//! An iApp that pings a base station, over one hop in each direction. Like every iApp, it shares a process with the
//! RIC under test.

use std::time::Instant;

use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::ric::{
    ControlDetails, IApp, IAppId, IAppInput, IAppOutbox, Method, NodeInfo, NorthboundReply, NorthboundRequest,
};
use ranlab_sdk::wire::e2ap::{
    ActionToBeSetup, GlobalE2NodeId, RanFunctionId, RicControlAckRequest, RicSubscriptionDetails,
};
use ranlab_sdk::wire::e2sm::hw::{self, HwTrigger};
use ranlab_sdk::wire::e2sm::per;
use ranlab_sdk::{Bytes, RicHandle};

use crate::pinger::{Pace, Pinger, Shared, Tick, Times};
use ranlab_lab::Task;
use ranlab_lab::worker::ComponentError;
use ranlab_machine::lock;

/// Adds the iApp to a RIC. The iApp pings as long as the returned task exists.
pub(crate) fn start(ric: &RicHandle, pace: Pace) -> Result<(Shared, Task), ComponentError> {
    let pinger = Pinger::new(pace)?;
    let iapp = PingIApp { pinger: pinger.clone(), target: None, subscribed: false };
    let iapp = ric.add_iapp(Box::new(iapp));
    let task = Task::spawn(notify_when_due(ric.clone(), iapp, pinger.clone()));
    Ok((pinger, task))
}

/// Notifies the iApp when a ping is scheduled to be sent.
async fn notify_when_due(ric: RicHandle, iapp: IAppId, pinger: Shared) {
    let notify = |path: &str| {
        let request = NorthboundRequest {
            token: u64::MAX,
            method: Method::Get,
            path: path.to_owned(),
            body: Bytes::new(),
            party: None,
        };
        ric.with(|ric, now| ric.northbound(now, iapp, request));
    };
    let mut times = Times::new(&pinger);
    loop {
        match times.next().await {
            Tick::Due(due) => {
                lock(&pinger).next_due = Some(due);
                notify("due");
            }
            Tick::GiveUp => {
                let lost = lock(&pinger).give_up();
                (0..lost).for_each(|_| notify("again"));
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
        // The event trigger is a constant, so encoding cannot fail.
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
        let ping = lock(&self.pinger).ping(intended);
        let Some((_, message)) = ping else { return };
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
                let pace = *lock(&self.pinger).pace();
                if pace.interval.is_zero() {
                    (0..pace.window).for_each(|_| self.send(Instant::now(), out));
                }
            }
            IAppInput::Indication { indication, .. } => {
                let (echoed, flat_out) = {
                    let mut pinger = lock(&self.pinger);
                    (pinger.echo(indication.message), pinger.pace().interval.is_zero())
                };
                if echoed && flat_out {
                    self.send(Instant::now(), out);
                }
            }
            IAppInput::Northbound(request) => {
                let (due, flat_out) = {
                    let mut pinger = lock(&self.pinger);
                    (pinger.next_due.take(), pinger.pace().interval.is_zero())
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
