//! `ranlab xapp ping`: control, and the echo as an indication.
use std::time::Duration;

use bytes::Bytes;
use hdrhistogram::Histogram;
use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::xapp::{ControlError, SubscriptionHandle, XappConfig, XappEvent};
use ranlab_sdk::transport::SocketOptions;
use ranlab_sdk::wire::e2ap::{ActionToBeSetup, GlobalE2NodeId, RicActionType};
use ranlab_sdk::wire::e2sm::hw::{self, HwTrigger, Ping};
use ranlab_sdk::wire::e2sm::per;
use ranlab_sdk::{XappHandle, now};
use serde::Serialize;

use crate::args::{self, Address};
use crate::exit::Failure;
use crate::live;
use crate::output::{Format, Output};

/// How long a base station with HW may take to appear, or to come back.
const NODE_WAIT: Duration = Duration::from_secs(30);
/// Between two tries to send a ping while the RIC or the base station is away.
const RETRY: Duration = Duration::from_millis(50);
/// Pings where neither a number nor a time is given.
const COUNT: u32 = 1000;
/// How long an echo may take; then the ping is lost.
const ECHO_WAIT: Duration = Duration::from_secs(2);
/// Greatest round trip that is told apart.
const RTT_NS_MAX: u64 = 10_000_000_000;

/// Arguments of `xapp ping`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  ranlab xapp ping --connect tcp://127.0.0.1:36422 --size 1500 --count 1000"
)]
pub struct Arguments {
    /// The RIC's listener for xApps
    #[arg(long, value_name = "ADDRESS", default_value = "tcp://127.0.0.1:36422")]
    connect: Address,
    /// Payload in bytes
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u32).range(0..=hw::PAYLOAD_SIZE_MAX as i64))]
    size: u32,
    /// Pings [default: 1000, or as many as fit into --duration]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    count: Option<u32>,
    /// End after this long, if not by --count; Ctrl-C ends it too, with the same summary
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
    /// Time between two pings; 0s: the next one follows the echo
    #[arg(long, default_value = "0s", value_parser = args::duration)]
    interval: Duration,
    /// Let the base station ask (insert) instead of report
    #[arg(long)]
    insert: bool,
}

#[derive(Debug, Serialize)]
struct Summary {
    node: String,
    sent: u32,
    received: u32,
    rtt_us: Rtt,
}

#[derive(Debug, Serialize)]
struct Rtt {
    min: f64,
    p50: f64,
    p99: f64,
    max: f64,
}

pub(super) async fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    super::must_listen(&arguments.connect).await?;
    let xapp = XappHandle::start(XappConfig::new(arguments.connect.to_string()), SocketOptions::default());
    let (node, subscription) = subscribe(&xapp, arguments.insert).await?;
    let mut pinger = Pinger {
        xapp,
        node,
        subscription,
        payload: Bytes::from(vec![0x5a; arguments.size as usize]),
        interval: arguments.interval,
        sent: 0,
        rtts: histogram(),
    };
    let unless_told = if arguments.duration.is_some() { u32::MAX } else { COUNT };
    let count = arguments.count.unwrap_or(unless_told);
    let ended = tokio::select! {
        () = live::end(arguments.duration) => Ok(()),
        ended = pinger.ping(count) => ended,
    };
    finish(format, &pinger)?;
    ended
}

/// An empty one.
fn histogram() -> Histogram<u64> {
    // Bounds and precision are constants that the histogram accepts.
    #[allow(clippy::expect_used)]
    Histogram::new_with_bounds(1, RTT_NS_MAX, 3).expect("constant bounds")
}

/// Pings, and what became of them.
struct Pinger {
    xapp: XappHandle,
    node: GlobalE2NodeId,
    subscription: SubscriptionHandle,
    payload: Bytes,
    interval: Duration,
    /// Those that were answered or given up; one under way at the end is neither.
    sent: u32,
    rtts: Histogram<u64>,
}

impl Pinger {
    async fn ping(&mut self, count: u32) -> Result<(), Failure> {
        for seq in 0..count {
            let begin = self.send(seq).await?;
            let echo = tokio::time::timeout(ECHO_WAIT, self.echo(seq)).await;
            self.sent += 1;
            if echo.is_ok() {
                let rtt = now().since(begin);
                self.rtts.saturating_record(u64::try_from(rtt.as_nanos()).unwrap_or(u64::MAX));
                let rest = self.interval.saturating_sub(rtt);
                if !rest.is_zero() {
                    tokio::time::sleep(rest).await;
                }
            }
        }
        Ok(())
    }

    /// Sends a ping, as soon as RIC and base station are there: when it was.
    async fn send(&self, seq: u32) -> Result<Time, Failure> {
        let deadline = now() + NODE_WAIT;
        loop {
            let begin = now();
            let ping = Ping { seq, t_send_ns: begin.as_nanos(), payload: self.payload.clone() };
            let mut message = Vec::with_capacity(self.payload.len() + 32);
            per::encode(&ping, &mut message).map_err(|e| Failure::Usage(e.to_string()))?;
            let sent = self.xapp.send_control(self.node, hw::OID, Bytes::new(), message.into(), false);
            let Err(error) = sent else { return Ok(begin) };
            let away = matches!(
                error,
                ControlError::NotReady | ControlError::UnknownNode | ControlError::UnknownFunction
            );
            if !away || begin > deadline {
                return Err(Failure::Environment(format!("ping {seq} cannot be sent: {error}")));
            }
            while self.xapp.try_next().is_some() {}
            tokio::time::sleep(RETRY).await;
        }
    }

    async fn echo(&self, seq: u32) {
        loop {
            if let XappEvent::Indication { handle, indication, .. } = self.xapp.next().await
                && handle == self.subscription
                && per::decode::<Ping>(indication.message).is_ok_and(|ping| ping.seq == seq)
            {
                return;
            }
        }
    }
}

/// Finds a base station with HW and subscribes to its echoes.
async fn subscribe(xapp: &XappHandle, insert: bool) -> Result<(GlobalE2NodeId, SubscriptionHandle), Failure> {
    let lacking = |what: &str| Failure::Environment(format!("{what} within {} s", NODE_WAIT.as_secs()));
    let found = tokio::time::timeout(NODE_WAIT, async {
        loop {
            let node = xapp.read(|x| {
                x.nodes().find(|(_, info)| info.find(&hw::OID.into()).is_some()).map(|(id, _)| *id)
            });
            if let Some(node) = node {
                return node;
            }
            xapp.next().await;
        }
    });
    let node = found.await.map_err(|_| lacking("no base station with the HW function came"))?;
    let kind = if insert { RicActionType::Insert } else { RicActionType::Report };
    let action = ActionToBeSetup { kind, ..ActionToBeSetup::report(0) };
    let mut trigger = Vec::new();
    per::encode(&HwTrigger::OnControl, &mut trigger).map_err(|e| Failure::Usage(e.to_string()))?;
    let handle = xapp
        .request_subscription(node, hw::OID, trigger.into(), vec![action])
        .map_err(|error| Failure::Environment(error.to_string()))?;
    let admitted = tokio::time::timeout(NODE_WAIT, async {
        loop {
            match xapp.next().await {
                XappEvent::Subscribed { handle: h, .. } if h == handle => return Ok(()),
                XappEvent::SubscriptionFailed { handle: h, failure, .. } if h == handle => {
                    return Err(failure);
                }
                _ => {}
            }
        }
    });
    match admitted.await {
        Ok(Ok(())) => Ok((node, handle)),
        Ok(Err(failure)) => {
            Err(Failure::Environment(format!("{node} refuses the subscription: {failure:?}")))
        }
        Err(_) => Err(lacking("the subscription was not answered")),
    }
}

fn finish(format: Format, pinger: &Pinger) -> Result<(), Failure> {
    let Pinger { node, sent, rtts, .. } = pinger;
    let us = |ns: u64| ns as f64 / 1_000.0;
    let rtt_us = Rtt {
        min: us(rtts.min()),
        p50: us(rtts.value_at_quantile(0.5)),
        p99: us(rtts.value_at_quantile(0.99)),
        max: us(rtts.max()),
    };
    let received = u32::try_from(rtts.len()).unwrap_or(u32::MAX);
    let mut output = Output::new(format);
    output.text(format_args!(
        "{node}: {sent} sent, {received} received, round trip min {:.1} us, median {:.1} us, p99 {:.1} us, max {:.1} us",
        rtt_us.min, rtt_us.p50, rtt_us.p99, rtt_us.max
    ))?;
    output.finish(&Summary { node: node.to_string(), sent: *sent, received, rtt_us })?;
    if received == 0 {
        return Err(Failure::Check("no ping came back".to_owned()));
    }
    Ok(())
}
