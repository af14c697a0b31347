//! Benchmark of the two handles of an xApp: round trips with the handle for a single thread, and with the handle for any
//! thread.
use crate::report::{Bar, Line, Report};
use ranlab_sdk::e2::functions::hw::Hw as Function;
use ranlab_sdk::prelude::*;
use ranlab_sdk::wire::e2sm::hw::{self, Ping};
use ranlab_sdk::wire::e2sm::per;
use ranlab_sdk::{XappHandle, run};
use std::time::{Duration, Instant};

/// Number of rounds. The kernel places the threads again in each round, and the placement decides how long a switch between them
/// takes, so that the median round counts.
const ROUNDS: usize = 7;
/// Number of round trips with each handle in a round.
const COUNT: usize = 500;
/// Number of round trips before the measurement.
const WARM_UP: usize = 100;
/// Limit for the cost of switching to the xApp's thread and back, in microseconds.
const SWITCH_US_MAX: f64 = 20.0;

/// Measures acknowledged controls over TCP to a base station. RIC and base station run on threads of this process. The
/// handles alternate, so that both are measured under the same conditions.
pub(crate) fn bench_handles(report: &mut Report) {
    let rounds: Result<Vec<_>, _> = (0..ROUNDS).map(|_| run(medians_us())).collect();
    let rounds = rounds.unwrap_or_else(|error| {
        report.note(format!("handles of an xApp: {error}"));
        vec![Round { local_us: f64::NAN, remote_us: f64::NAN }]
    });
    report.add(Line {
        name: "control by the handle for any thread, median".to_owned(),
        measured: median(&rounds, |round| round.remote_us),
        floor: Some(median(&rounds, |round| round.local_us)),
        unit: "us",
        bar: Bar::None,
    });
    report.add(Line {
        name: "additional time of the handle for any thread".to_owned(),
        measured: median(&rounds, |round| round.remote_us - round.local_us),
        floor: None,
        unit: "us",
        bar: Bar::AtMost(SWITCH_US_MAX),
    });
}

/// Median round trips of one round.
struct Round {
    /// With the local handle.
    local_us: f64,
    /// With the handle for any thread.
    remote_us: f64,
}

fn median(rounds: &[Round], value: impl Fn(&Round) -> f64) -> f64 {
    let mut values: Vec<f64> = rounds.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Measures one round, with a RIC and a base station that are started for it.
async fn medians_us() -> Result<Round, Box<dyn std::error::Error>> {
    let any: Address = "tcp://127.0.0.1:0".parse()?;
    let ric = Ric::start(RicConfig::default(), SocketOptions::default()).await?;
    let e2 = ric.listen(ListenerProtocol::E2, &any).await?;
    let e42 = ric.listen(ListenerProtocol::E42, &any).await?.to_string();
    let agent = Agent::builder(NodeIdentity::gnb(Plmn::new(505, 1, 2), 7).build()?)
        .component(ComponentConfigItem::ng("amf"))
        .function(hw::DEFAULT_FUNCTION_ID, Function::new());
    let agent = agent.start().await?;
    agent.connect(&e2).await?;

    let local = XappHandle::connect(XappConfig::new(e42.clone()), SocketOptions::default()).await?;
    let remote = Xapp::connect(e42).await?;
    let node = remote.node_with(hw::OID).await?;
    while local.read(|xapp| xapp.node(&node).is_none()) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let mut message = Vec::new();
    per::encode(&Ping { seq: 1, t_send_ns: 0, payload: vec![0; 64].into() }, &mut message)?;
    let message = Bytes::from(message);

    let mut local_us = Vec::new();
    let mut remote_us = Vec::new();
    for _ in 0..WARM_UP + COUNT {
        let begin = Instant::now();
        local.control(node, hw::OID, Bytes::new(), message.clone()).await?;
        local_us.push(begin.elapsed());
        let begin = Instant::now();
        remote.control(node, hw::OID, Bytes::new(), message.clone()).await?;
        remote_us.push(begin.elapsed());
    }
    Ok(Round { local_us: median_us(local_us), remote_us: median_us(remote_us) })
}

fn median_us(mut times: Vec<Duration>) -> f64 {
    times.drain(..WARM_UP);
    times.sort_unstable();
    times[times.len() / 2].as_nanos() as f64 / 1_000.0
}
