//! Rig `upf`: loads a UPF with sessions and packets. The UPF is ranlab's in one of its designs, a mock, or one that already runs.
//!
//! UPF and load generator are components in separate workers, on this machine or others. Before measuring, the load generator sends test
//! packets and sets up its sessions. It ends by itself.

mod describe;
mod record;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::load::{Network, nth};
use crate::upf::N6;
use crate::{UpfComponent, UpfLoadComponent, UpfLoadReport};
use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{RepeatTime, ResponseTimeout, RigDescription, RigError, Run};
use ranlab_lab::worker::Worker;
use ranlab_lab::{AnyComponent, Config, WorkerLocation};

use describe::EXTERNAL;
use ranlab_lab::experiment::harness::{self, Account, Deployment, Experiment, Judged, Window};
use ranlab_lab::experiment::profile::SystemProfile;
use ranlab_lab::experiment::{keys, third_party};

/// UDP port of GTP-U (TS 29.281 4.4.2.0).
const GTPU: u16 = 2152;
const UPF: &str = "UPF";
const LOAD: &str = "load";

/// Scenario that decides whether a UPF passes, for a CI job (`bench new gate`).
pub const GATE: &str = include_str!("gate.toml");

/// Rig `upf`.
pub(crate) struct Upf;

impl Experiment for Upf {
    fn describe(&self) -> RigDescription {
        RigDescription {
            name: "upf".to_owned(),
            aliases: Vec::new(),
            comment: "a user plane function under sessions (N4) and packets (N3, N6)".to_owned(),
            keys: describe::keys(),
            metrics: describe::metrics(),
            needs: Vec::new(),
            set_up: Duration::from_millis(500),
            repeat_time: RepeatTime::Window,
            response_timeout: Some(ResponseTimeout {
                setting: Some("load.t1"),
                default: UpfLoadComponent::default().t1,
            }),
            starter: include_str!("starter.toml"),
        }
    }

    fn warms_up(&self, _run: &Run<'_>) -> bool {
        false
    }

    /// A closed loop has no schedule, and therefore no send delay.
    fn send_delay_at_most(&self, run: &Run<'_>) -> Option<Duration> {
        let open = run.text("load.arrivals") != Some("closed") || run.text("load.mode") != Some("control");
        open.then_some(harness::SEND_DELAY)
    }

    fn each_window_anew(&self) -> bool {
        true
    }

    fn bring_up(&self, run: &Run<'_>, stage: &mut Deployment<'_>) -> Result<(), RigError> {
        let own = own()?;
        let upf = stage.sut(UPF, "sut.at", upf(run, own)?)?;
        let load = load(run, own)?;
        let host = upf.host.clone();
        let pid = upf.ready.pid;
        // If both run on one machine, the load generator itself measures the UPF's process and detects its exit.
        let load = |worker: &Worker| {
            let beside = worker.host == host && !matches!(host, WorkerLocation::Tcp { .. });
            AnyComponent::from(UpfLoadComponent { upf_pid: pid.filter(|_| beside), ..load.clone() })
        };
        stage.place(Account::Tool, LOAD, "load.at", &load).map(drop)
    }

    fn load(&self, run: &Run<'_>) -> Result<Option<AnyComponent>, RigError> {
        load(run, 0).map(|part| Some(AnyComponent::from(part)))
    }

    fn record(&self, run: &Run<'_>, window: &Window<'_>, recorder: &mut Recorder) -> Judged {
        let mut places = window.details::<UpfLoadReport>(LOAD)?.into_iter();
        let report =
            places.next().ok_or_else(|| RigError::Rig("the load generator sent no report".to_owned()))?;
        let report = places.fold(report, |mut all, more| {
            all.join(&more);
            all
        });
        if let Some(died_s) = report.load.upf_died_s {
            return Err(RigError::Sut(format!("the UPF's process ended {died_s:.2} s into the run")));
        }
        used(window, recorder, &report)?;
        Ok(record::record(run, recorder, &report.load))
    }
}

/// Returns the N6 address of ranlab's UPF. Its port is the N3 port plus one.
fn n6_of(n3: SocketAddr) -> SocketAddr {
    SocketAddr::new(n3.ip(), n3.port() + 1)
}

/// Maximum number of concurrent campaigns of this rig on one machine, each with its own loopback addresses.
const CAMPAIGNS_MAX: u8 = 64;

/// Returns the number that selects this campaign's loopback addresses.
fn own() -> Result<u8, RigError> {
    ranlab_net::own_loopback(8, CAMPAIGNS_MAX).map_err(|error| {
        let why = format!(
            "no loopback addresses are left for another campaign: {error}; at most {CAMPAIGNS_MAX} campaigns can run at once"
        );
        RigError::Environment(why)
    })
}

/// Maps a default address (127.8.0.0/24) to the address that this campaign uses. Returns other addresses unchanged.
fn of_own(address: SocketAddr, own: u8) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(v4) if v4.octets()[..3] == [127, 8, 0] => {
            SocketAddr::from(([127, 8, own, v4.octets()[3]], address.port()))
        }
        _ => address,
    }
}

/// Returns the UPF as configured by the point of the sweep. For an external UPF, returns a component that runs or observes it.
fn upf(run: &Run<'_>, own: u8) -> Result<AnyComponent, RigError> {
    if keys::text(run, "sut.design")? == EXTERNAL {
        return third_party::component(run);
    }
    let mut part = UpfComponent::read(run, "sut")?;
    part.n4 = of_own(part.n4, own);
    part.n3 = of_own(part.n3, own);
    if part.loss_permille > 0 {
        // Each repeat loses different messages. If all repeats lost the same messages, they would agree on a wrong ratio.
        part.seed = run.seed;
    }
    part.n6 = match keys::text(run, "sut.n6")? {
        "own" => {
            let peer = of_own(keys::parsed(run, "load.network")?, own);
            let server = UpfLoadComponent::read(run, "load")?.server;
            // Each location of the load has its own data network and server.
            let route = |place| (nth(server, place).ip(), nth(peer, place));
            let routes = (1..keys::places(run, "load.at")?.len()).map(route).collect();
            N6::Udp { local: n6_of(part.n3), peer, routes }
        }
        _ => keys::parsed(run, "sut.n6")?,
    };
    Ok(AnyComponent::from(part))
}

/// Returns the load generator as configured by the point of the sweep.
fn load(run: &Run<'_>, own: u8) -> Result<UpfLoadComponent, RigError> {
    let mut part = UpfLoadComponent::read(run, "load")?;
    let address = |path: &str, default, of: fn(&SystemProfile) -> &str| {
        let text = third_party::said(run, path, default, of)?;
        text.parse().map_err(|error| RigError::Rig(format!("`{path}`: {error}")))
    };
    part.n4 = address("sut.n4", describe::N4, |peer| &peer.addresses.n4)?;
    part.n3 = address("sut.n3", describe::N3, |peer| &peer.addresses.n3)?;
    let mut network: SocketAddr = keys::parsed(run, "load.network")?;
    // An external UPF has a fixed address.
    if keys::text(run, "sut.design")? != EXTERNAL {
        let ours = of_own(part.n4, 1) != part.n4;
        (part.n4, part.n3, network) = (of_own(part.n4, own), of_own(part.n3, own), of_own(network, own));
        if ours {
            part.smf.get_or_insert_with(|| SocketAddr::from(([127, 9, own, 1], part.n4.port())));
        }
        if ours && run.value("load.gnb").is_none() {
            // The factor of four allows for up to 1,000 base stations.
            part.gnb = Some(SocketAddr::from(([127, 10, own * 4, 1], GTPU)));
        }
    }
    let habits = third_party::said(run, "sut.dialect", describe::DIALECT, |peer| &peer.dialect.n4)?;
    part.set("dialect", &habits.as_str().into()).map_err(|error| RigError::Rig(error.to_string()))?;
    // An external UPF gets a data network only if the scenario names one.
    let default = if keys::text(run, "sut.design")? == EXTERNAL { "none" } else { "own" };
    part.n6 = match run.text("load.n6").unwrap_or(default) {
        "none" => Network::None,
        "own" => Network::Ip { local: network, upf: n6_of(part.n3) },
        text => text.parse().map_err(|error| RigError::Rig(format!("`load.n6`: {error}")))?,
    };
    (part.duration, part.run) = (run.duration, Some(run.seed as u32));
    Ok(part)
}

/// Records the CPU usage of the UPF.
fn used(window: &Window<'_>, recorder: &mut Recorder, report: &UpfLoadReport) -> Result<(), RigError> {
    let Some(process) = &window.report(UPF)?.process else { return Ok(()) };
    recorder.scalar("sut.rss_mb", process.rss_bytes as f64 / 1e6);
    let control = &report.load.control;
    let whole = control.completed + report.load.set_up.as_ref().map_or(0, |set_up| set_up.completed);
    // If the load generator measured the CPU time without the setup, this value is used.
    let measured = control.upf_cpu_s.filter(|_| control.completed > 0);
    let (cpu_s, sessions) = measured.map_or((process.cpu_s, whole), |cpu_s| (cpu_s, control.completed));
    if sessions > 0 {
        recorder.scalar("sut.cpu_us_per_session", cpu_s * 1e6 / sessions as f64);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
