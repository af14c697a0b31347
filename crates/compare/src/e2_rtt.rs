//! Rig `e2-rtt`: round-trip time of pings with the service model HW, over one hop (iApp) or two (xApp through
//! the RIC).

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use crate::PingFlexranPart;
use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{
    LimitViolation, Metric, Outcome, RepeatTime, ResponseTimeout, RigDescription, RigError, Run,
};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_campaign::value::Value;
use ranlab_campaign::{keys, metrics};
use ranlab_e2_codec::flat::Coding;
use ranlab_e2_lab::rigs::e2_keys;
use ranlab_e2_lab::{
    E2Names, ECHO_WAIT, FleetComponent, HW, HostedIApp, PingComponent, RicComponent, control_bytes,
    indication_bytes,
};
use ranlab_lab::experiment::account;
use ranlab_lab::worker::Report;
use ranlab_lab::{AnyComponent, As, Config};
use ranlab_sdran_lab::{Protocol, SouthFleetComponent};
use ranlab_transport::Address;

use ranlab_e2_lab::rigs::sut;
use ranlab_lab::experiment::harness::{self, BACKLOG_AT_MOST, Deployment, Experiment, Judged, Window, copy};
use ranlab_lab::experiment::{keys, noise, readback, wire};

/// Time limit for the setup of the base station and the first echo.
const SET_UP: Duration = Duration::from_secs(20);

/// Value of the encoding key that selects the FlexRAN protocol.
const FLEXRAN: &str = "flexran";

/// Roles of the components.
const CONTROLLER: &str = "FlexRAN controller";
const NODE: &str = "base station";
const XAPP: &str = "xApp";

/// Rig `e2-rtt`.
pub(crate) struct E2Rtt;

/// Component that sends the pings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pinging {
    /// An xApp, through the RIC.
    Xapp,
    /// An iApp in the RIC.
    IApp,
    /// A FlexRAN controller.
    Flexran,
}

impl Pinging {
    fn from_run(run: &Run<'_>) -> Result<Self, RigError> {
        let iapp = keys::text(run, "load.path")? == "iapp";
        let flexran = run.text("sut.encoding") == Some(FLEXRAN);
        if (iapp || flexran) && run.text("sut.type") != Some("ranlab") {
            return Err(RigError::Rig(
                "an iApp runs only in ranlab's RIC, and FlexRAN's echo only in ranlab's controller: `sut.type` must be \"ranlab\""
                    .to_owned(),
            ));
        }
        match (flexran, iapp) {
            (true, true) => Ok(Self::Flexran),
            (true, false) => Err(RigError::Rig(
                "FlexRAN's controller pings its agent itself: `load.path` must be \"iapp\"".to_owned(),
            )),
            (false, true) => Ok(Self::IApp),
            (false, false) => Ok(Self::Xapp),
        }
    }
}

impl Pinging {
    /// Returns the role of the component that sends pings.
    fn role(self) -> &'static str {
        match self {
            Self::Xapp => XAPP,
            Self::IApp => sut::RIC,
            Self::Flexran => CONTROLLER,
        }
    }
}

/// Starts the RIC with a pinging iApp. Returns its address for base stations.
fn ric_with_iapp(
    run: &Run<'_>,
    stage: &mut Deployment<'_>,
    ping: &PingComponent,
) -> Result<Address, RigError> {
    let size = ping.size;
    let interval = ping.interval;
    let window = ping.window;
    let iapp = vec![HostedIApp::Ping];
    let sm_encoding = ping.sm_encoding;
    let part = RicComponent { iapp, size, interval, window, sm_encoding, ..sut::ric_part(run)? };
    account::address(&stage.sut(sut::RIC, "sut.at", AnyComponent::from(part))?.ready.addresses, "e2")
}

/// Starts a FlexRAN controller that sends pings. Returns its address for agents.
fn flexran(run: &Run<'_>, stage: &mut Deployment<'_>) -> Result<Address, RigError> {
    if keys::text(run, "sut.transport")? != "tcp" {
        return Err(RigError::Rig("FlexRAN runs over TCP: `sut.transport` must be \"tcp\"".to_owned()));
    }
    let listen = SocketAddr::new(account::ip(run)?, 0);
    let part = PingFlexranPart { listen, ..PingFlexranPart::read(run, "load")? };
    let controller = stage.sut(CONTROLLER, "sut.at", AnyComponent::from(part))?;
    account::address(&controller.ready.addresses, "southbound")
}

/// Returns the E2 base station. It has no UEs, because echoes do not need them.
fn base_station(run: &Run<'_>, connect: &Address) -> Result<AnyComponent, RigError> {
    let (e2ap, encoding) = sut::language(run)?;
    let part = e2_keys::fleet(run, connect, e2ap, encoding)?;
    let sm = vec![HW.to_owned()];
    let ramp = Some(Duration::ZERO);
    let sm_encoding = Some(keys::setting_as::<E2Names, Coding>(run, "load.encoding")?.into());
    Ok(AnyComponent::from(FleetComponent { nodes: 1, ues: 0, sm, sm_encoding, ramp, ..part }))
}

impl Experiment for E2Rtt {
    fn describe(&self) -> RigDescription {
        let mut keys = sut::keys();
        if let Some(encoding) = keys.iter_mut().find(|key| key.path == "sut.encoding") {
            *encoding = Key::new(
                "sut.encoding",
                Kind::choice(&["per", "flat", FLEXRAN]),
                "encoding of E2AP: aligned PER or FlatBuffers; flexran: FlexRAN's echo in protobuf instead of E2, without an inner encoding",
            )
            .or("per");
        }
        keys.extend(keys! {
            ("load.path", Kind::choice(&["iapp", "xapp"]), "iapp: RIC to base station, one hop; xapp: xApp to base station through the RIC, two hops").or("xapp");
        });
        let paced = "interval of pings, at least 100 us; 0s: each ping follows the previous echo";
        let ping = PingComponent::keys("load")
            .or("interval", Duration::from_millis(1))
            .change("interval", |key| Key { comment: paced.to_owned(), ..key });
        keys.extend(ping.keys());
        keys.extend(keys! {
            ("load.encoding", <E2Names as As<Coding>>::kind(), "encoding of the service model").or("per");
        });
        keys.extend([
            // The key accepts several locations, so that the rig can reject them with a reason.
            Key { kind: Kind::OneOrMore(Box::new(Kind::Text)), ..keys::place("load.at", "the base station") },
            keys::place("xapp.at", "the xApp"),
        ]);
        keys.extend(keys::host());
        RigDescription {
            name: "e2-rtt".to_owned(),
            aliases: Vec::new(),
            comment: "round trips of pings through a base station's service model HW, one hop or two"
                .to_owned(),
            keys,
            metrics: metrics(),
            needs: Vec::new(),
            set_up: Duration::from_secs(1),
            repeat_time: RepeatTime::Windows,
            response_timeout: Some(ResponseTimeout { setting: None, default: ECHO_WAIT }),
            starter: include_str!("starters/e2-rtt.toml"),
        }
    }

    fn send_delay_at_most(&self, _run: &Run<'_>) -> Option<Duration> {
        Some(harness::SEND_DELAY)
    }

    fn preview(&self, settings: &BTreeMap<String, Value>) -> Option<Result<String, String>> {
        sut::preview(settings)
    }

    fn bring_up(&self, run: &Run<'_>, stage: &mut Deployment<'_>) -> Result<(), RigError> {
        let kind = Pinging::from_run(run)?;
        let sm_encoding = keys::setting_as::<E2Names, _>(run, "load.encoding")?;
        if kind == Pinging::Flexran && sm_encoding != Coding::Per {
            let why = "FlexRAN's echo has no service model inside that could be encoded";
            return Err(RigError::Environment(why.to_owned()));
        }
        let ping = PingComponent { punctual: true, sm_encoding, ..PingComponent::read(run, "load")? };
        let up = |stage: &mut Deployment<'_>, name: &'static str| {
            stage.wait(NODE, "the base station up", SET_UP, |numbers| numbers.get(name) == Some(&1.0))
        };
        match kind {
            Pinging::Flexran => {
                let agent = SouthFleetComponent::one(Protocol::Flexran, flexran(run, stage)?);
                stage.tool(NODE, "load.at", AnyComponent::from(agent))?;
                up(stage, "connected")?;
            }
            Pinging::IApp => {
                let e2 = ric_with_iapp(run, stage, &ping)?;
                stage.tool(NODE, "load.at", base_station(run, &e2)?)?;
                up(stage, "alive")?;
            }
            Pinging::Xapp => {
                let sut = sut::place(run, stage)?;
                stage.tool(NODE, "load.at", base_station(run, &sut.e2)?)?;
                up(stage, "alive")?;
                let (e2ap, encoding) = sut::language(run)?;
                let dialect = sut.dialect;
                let part = PingComponent { connect: sut.e42, e2ap, encoding, dialect, ..ping };
                stage.tool(XAPP, "xapp.at", AnyComponent::from(part))?;
            }
        }
        stage.wait(kind.role(), "the first echo", SET_UP, |numbers| {
            numbers.get("received").is_some_and(|received| *received > 0.0)
        })
    }

    fn record(&self, run: &Run<'_>, window: &Window<'_>, recorder: &mut Recorder) -> Judged {
        let kind = Pinging::from_run(run)?;
        let pings = window.report(kind.role())?;
        let node = window.report(NODE)?;
        wire::record(recorder, "e2", node);
        if kind == Pinging::Xapp {
            wire::record(recorder, "e42", pings);
        }
        let octets = Octets::from_reports(run, kind, pings, node)?;
        record(recorder, &octets, pings, window.sut_cpu_s())
    }
}

fn metrics() -> Vec<Metric> {
    let mut metrics = metrics! {
        Histogram Lower "rtt_us" "us" "round-trip time from the scheduled send time to the echo";
        Histogram Lower "rtt_us_service" "us" "round-trip time from the actual send time to the echo";
        Scalar Higher "pings_per_s" "1/s" "number of echoes received";
        Scalar Neither "messages_per_s" "1/s" "E2AP messages between base station and RIC, both directions";
        Scalar Neither "e2_kbps_down" "kbit/s" "E2AP (or FlexRAN) messages to the base station, without transport headers";
        Scalar Neither "e2_kbps_up" "kbit/s" "E2AP messages from the base station";
        Scalar Neither "signalling_kbps" "kbit/s" "E2AP (or FlexRAN) messages in both directions together" .counted();
        Scalar Neither "e2_bytes_per_control" "B" "size of the E2AP (or FlexRAN) message with a ping" .exact_when("sut.encoding", &["per", "flat"]);
        Scalar Neither "e2_bytes_per_indication" "B" "size of the E2AP (or FlexRAN) message with an echo" .exact_when("sut.encoding", &["per", "flat"]);
        Scalar Lower "backlog_ratio" "" "growth of the number of pending pings in the second half of the window, divided by the pings sent then; above 0.01 the RIC does not keep up";
        Scalar Lower "late_ratio" "" "share of pings whose echo arrived after more than 2 s; their round trip counts as 2 s";
        Scalar Lower "loss_ratio" "" "the larger of the share of pings without echo, among those sent more than 2 s before the end, and of a backlog_ratio above 0.01";
        Scalar Lower "sut.cpu_us_per_ping" "us" "CPU time of the RIC per ping; with an iApp, including the sending of pings";
        Scalar Neither "tool.cpu_cores" "cores" "CPU cores used by base station and xApp";
        Histogram Neither "tool.send_delay_us" "us" "send delay of pings" .formerly("tool.lateness_us");
        Scalar Neither "tool.skipped_ratio" "" "pings due but not sent" .unsent_share();
    };
    metrics.extend(account::metrics());
    metrics.extend(wire::metrics("e2", "the base station"));
    metrics.extend(wire::metrics("e42", "the xApp"));
    metrics.extend(readback::metrics());
    metrics.extend(noise::metrics());
    metrics
}

/// Bytes of signalling in total and per message, without transport headers.
struct Octets {
    down: f64,
    up: f64,
    each_down: f64,
    each_up: f64,
}

impl Octets {
    fn from_reports(run: &Run<'_>, kind: Pinging, pings: &Report, node: &Report) -> Result<Self, RigError> {
        let sent = pings.number("sent")?;
        let received = pings.number("received")?;
        if kind == Pinging::Flexran {
            let down = pings.number("octets_down")?;
            let up = pings.number("octets_up")?;
            return Ok(Self { down, up, each_down: down / sent.max(1.0), each_up: up / received.max(1.0) });
        }
        let size: u32 = keys::int(run, "load.size")?;
        let odd = || RigError::Rig("a ping of this size cannot be encoded".to_owned());
        let (e2ap, encoding) = sut::language(run)?;
        let codings = [encoding, keys::setting_as::<E2Names, _>(run, "load.encoding")?];
        let each_down = control_bytes(size, e2ap, codings).ok_or_else(odd)? as f64;
        let each_up = indication_bytes(size, codings).ok_or_else(odd)? as f64;
        // The base station counts the bytes that it sends. The bytes that it receives are the number of pings,
        // multiplied by the size that the codec computes.
        Ok(Self { down: each_down * sent, up: node.number("sent_bytes")?, each_down, each_up })
    }
}

fn record(
    recorder: &mut Recorder,
    octets: &Octets,
    pings: &Report,
    cpu_s: Option<f64>,
) -> Result<Outcome, RigError> {
    let sent = pings.number("sent")?;
    let received = pings.number("received")?;
    let lost = pings.number("lost")?;
    let unsent = pings.number("unsent")?;
    let late = pings.number("late")?;
    let backlog_ratio = (pings.number("backlog")? / (sent / 2.0).max(1.0)).min(1.0);
    let behind = if backlog_ratio > BACKLOG_AT_MOST { backlog_ratio } else { 0.0 };
    let loss_ratio = (lost / sent.max(1.0)).max(behind);
    let seconds = pings.wall_s.max(1e-3);
    let kbps = |bytes: f64| bytes * 8e-3 / seconds;
    recorder.scalar("pings_per_s", received / seconds);
    recorder.scalar("messages_per_s", (sent + received) / seconds);
    recorder.scalar("e2_kbps_down", kbps(octets.down));
    recorder.scalar("e2_kbps_up", kbps(octets.up));
    recorder.scalar("signalling_kbps", kbps(octets.down + octets.up));
    recorder.scalar("e2_bytes_per_control", octets.each_down);
    recorder.scalar("e2_bytes_per_indication", octets.each_up);
    recorder.scalar("backlog_ratio", backlog_ratio);
    recorder.scalar("late_ratio", late / sent.max(1.0));
    recorder.scalar("loss_ratio", loss_ratio);
    if let Some(cpu_s) = cpu_s.filter(|_| received > 0.0) {
        recorder.scalar("sut.cpu_us_per_ping", cpu_s * 1e6 / received);
    }
    recorder.scalar("tool.skipped_ratio", unsent / (sent + unsent).max(1.0));
    for (name, theirs) in
        [("rtt_us", "rtt_us"), ("rtt_us_service", "rtt_us_service"), ("tool.send_delay_us", "lateness_us")]
    {
        copy(recorder, name, pings, theirs);
    }
    Ok(recorder.judge([
        (Outcome::Overloaded, LimitViolation::said(received == 0.0, "no echo was received")),
        (Outcome::Overloaded, LimitViolation::above("backlog_ratio", backlog_ratio, BACKLOG_AT_MOST)),
        (Outcome::Degraded, LimitViolation::above("loss_ratio", loss_ratio, 0.0)),
        (Outcome::Degraded, LimitViolation::above("late_ratio", late / sent.max(1.0), 0.0)),
    ]))
}
