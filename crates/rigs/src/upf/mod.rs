//! Rig `upf`: a user plane function (ours in one of its designs, a mock, or one that runs already) under sessions and
//! packets. Both ends are parts in workers of their own, on this machine or others. The load sends its smoke packets and
//! sets its sessions up before it measures, and ends by itself.

mod describe;
mod record;

use std::net::SocketAddr;
use std::time::Duration;

use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Outcome, RigDescription, RigError, Run};
use ranlab_emulator::load::Network;
use ranlab_emulator::upf::N6;
use ranlab_parts::worker::Worker;
use ranlab_parts::{AttachPart, Config, Host, Part, UpfLoadPart, UpfLoadReport, UpfPart};

use crate::harness::{Experiment, Stage, Window};
use crate::keys;
use describe::EXTERNAL;

const UPF: &str = "UPF";
const LOAD: &str = "load";

/// The rig.
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
            set_up: Duration::from_secs(3),
            starter: include_str!("../starters/upf.toml"),
        }
    }

    fn warms_up(&self) -> bool {
        false
    }

    fn each_window_anew(&self) -> bool {
        true
    }

    fn bring_up(&self, run: &Run<'_>, stage: &mut Stage<'_>) -> Result<(), RigError> {
        let upf = stage.sut(UPF, "sut.at", upf(run)?)?;
        let load = load(run, upf)?;
        stage.tool(LOAD, "load.at", load).map(drop)
    }

    fn record(
        &self,
        run: &Run<'_>,
        window: &Window<'_>,
        recorder: &mut Recorder,
    ) -> Result<Outcome, RigError> {
        let told: UpfLoadReport = window.report(LOAD)?.detail()?;
        if let Some(died_s) = told.load.upf_died_s {
            return Err(RigError::Sut(format!("the UPF's process ended {died_s:.2} s into the run")));
        }
        used(window, recorder, &told)?;
        Ok(record::record(run, recorder, &told.load))
    }
}

/// N6 of a UPF of ours, beside its N3.
fn n6_of(n3: SocketAddr) -> SocketAddr {
    SocketAddr::new(n3.ip(), n3.port() + 1)
}

/// The UPF as the point says, or what meters it.
fn upf(run: &Run<'_>) -> Result<Part, RigError> {
    if keys::text(run, "sut.design")? == EXTERNAL {
        return Ok(Part::Attach(AttachPart::read(run, "sut")?));
    }
    let mut part = UpfPart::read(run, "sut")?;
    part.n6 = match keys::text(run, "sut.n6")? {
        "own" => N6::Udp { local: n6_of(part.n3), peer: keys::parsed(run, "load.network")? },
        _ => keys::parsed(run, "sut.n6")?,
    };
    Ok(Part::Upf(Box::new(part)))
}

/// The load as the point says, on a UPF that is up.
fn load(run: &Run<'_>, upf: &Worker) -> Result<Part, RigError> {
    let mut part = UpfLoadPart::read(run, "load")?;
    (part.n4, part.n3) = (keys::parsed(run, "sut.n4")?, keys::parsed(run, "sut.n3")?);
    let habits = keys::text(run, "sut.dialect")?;
    part.set("dialect", &habits.into()).map_err(|error| RigError::Rig(error.to_string()))?;
    part.n6 = match keys::text(run, "load.n6")? {
        "own" => Network::Ip { local: keys::parsed(run, "load.network")?, upf: n6_of(part.n3) },
        _ => keys::parsed(run, "load.n6")?,
    };
    (part.duration, part.run) = (run.duration, Some(run.seed as u32));
    // Where both are on one machine, the load itself sees what the UPF costs it, and its end.
    let beside = keys::host_of(run, "load.at")? == upf.host && !matches!(upf.host, Host::Tcp { .. });
    part.upf_pid = upf.ready.pid.filter(|_| beside);
    Ok(Part::UpfLoad(Box::new(part)))
}

/// Records what the UPF used.
fn used(window: &Window<'_>, recorder: &mut Recorder, told: &UpfLoadReport) -> Result<(), RigError> {
    let Some(process) = &window.report(UPF)?.process else { return Ok(()) };
    recorder.scalar("sut.rss_mb", process.rss_bytes as f64 / 1e6);
    let control = &told.load.control;
    let whole = control.completed + told.load.set_up.as_ref().map_or(0, |set_up| set_up.completed);
    // Where the load tells apart what setting up has cost, only the rest counts.
    let measured = control.upf_cpu_s.filter(|_| control.completed > 0);
    let (cpu_s, sessions) = measured.map_or((process.cpu_s, whole), |cpu_s| (cpu_s, control.completed));
    if sessions > 0 {
        recorder.scalar("sut.cpu_us_per_session", cpu_s * 1e6 / sessions as f64);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
