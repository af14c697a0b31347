//! A run: what is asked for is checked, a bench is built, the mode's steps are done, the report is judged.
use super::bench::Bench;
use super::data::MAX_THREADS;
use super::flows::{Flows, MAX_FLOWS, UePool};
use super::network::{Network, NetworkPlan, NetworkReport, NetworkThread};
use super::process::Process;
use super::report::LoadReport;
use super::sizes::capacity;
use super::{LoadConfig, LoadError, MAX_GNBS, MAX_SMFS, Mode, blind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// Does what `config` says; `stop` ends it early, with a report of what was done. It is set if the UPF's process ends.
pub fn run(config: &LoadConfig, stop: &AtomicBool) -> Result<LoadReport, LoadError> {
    check(config)?;
    let find = |pid| Process::find(pid).ok_or(LoadError::NoProcess { pid });
    let process = config.upf_pid.map(find).transpose()?;
    let begin = Instant::now();
    let over = &AtomicBool::new(false);
    let (result, died) = std::thread::scope(|scope| {
        let watch = process.map(|process| scope.spawn(move || process.death(begin, stop, over)));
        let result = load(config, process, stop);
        over.store(true, Relaxed);
        (result, watch.and_then(|watch| watch.join().ok().flatten()))
    });
    match (result, config.upf_pid.zip(died)) {
        (Ok(mut report), died) => {
            report.upf_died_s = died.map(|(_, after)| after.as_secs_f64());
            report.judge();
            Ok(report)
        }
        (Err(then), Some((pid, after))) => Err(LoadError::Died { pid, after, then: Box::new(then) }),
        (Err(error), None) => Err(error),
    }
}

fn load(config: &LoadConfig, process: Option<Process>, stop: &AtomicBool) -> Result<LoadReport, LoadError> {
    let mut bench = Bench::new(config, process)?;
    let mut report =
        LoadReport { mode: name(&config.mode).to_owned(), run: config.run, ..Default::default() };
    if config.smoke {
        report.smoke = bench.smoke()?;
    }
    match &config.mode {
        Mode::Control { .. } => bench.control(stop, &mut report)?,
        Mode::Blind { delay, sessions } => {
            report.control = blind::run(config, *delay, *sessions, std::mem::take(&mut bench.cycles), stop)?
        }
        Mode::Sessions { .. } | Mode::Mixed { .. } | Mode::Handover { .. } | Mode::Paging { .. } => {
            bench.packets(stop, &mut report)?;
        }
        Mode::Qos { .. } => bench.qos(stop, &mut report)?,
    }
    report.af_xdp = bench.af_xdp();
    Ok(report)
}

fn name(mode: &Mode) -> &'static str {
    match mode {
        Mode::Control { .. } => "control",
        Mode::Blind { .. } => "blind",
        Mode::Sessions { .. } => "sessions",
        Mode::Mixed { .. } => "mixed",
        Mode::Handover { .. } => "handover",
        Mode::Paging { .. } => "paging",
        Mode::Qos { .. } => "qos",
    }
}

fn check(config: &LoadConfig) -> Result<(), LoadError> {
    let bounds = |what, given: usize, most| {
        let good = (1..=most).contains(&given);
        if good { Ok(()) } else { Err(LoadError::Bounds { what, given, least: 1, most }) }
    };
    bounds("base stations", config.gnbs, MAX_GNBS)?;
    bounds("data threads", config.threads, MAX_THREADS)?;
    bounds("SMFs", config.smfs, MAX_SMFS)?;
    bounds("sessions", capacity(config), MAX_FLOWS)?;
    if let Mode::Handover { .. } = config.mode {
        let least = 2 * config.threads;
        if config.gnbs < least {
            return Err(LoadError::Bounds {
                what: "base stations (a session is handed over within its thread's)",
                given: config.gnbs,
                least,
                most: MAX_GNBS,
            });
        }
    }
    let downlink = config.network != Network::None;
    let lacking = |mode, lacking| Err(LoadError::Lacking { mode, lacking });
    match config.mode {
        Mode::Qos { .. } if !downlink => lacking("the mode qos", "a data network of ours (--n6)"),
        Mode::Qos { .. } if config.profile.mbr.is_none() => {
            lacking("the mode qos", "a maximum bit rate (--mbr)")
        }
        Mode::Handover { .. } | Mode::Paging { .. } if config.downlink.is_none() || !downlink => {
            lacking("this mode", "downlink packets (--downlink) from a data network of ours (--n6)")
        }
        _ => Ok(()),
    }
}

/// The data network alone, as a role on another host: it counts, reflects, and sends to `sessions` UEs, until `stop`.
pub fn data_network(
    config: &LoadConfig,
    sessions: usize,
    stop: &AtomicBool,
) -> Result<NetworkReport, LoadError> {
    let flows = Arc::new(Flows::new(
        sessions.clamp(1, MAX_FLOWS),
        UePool { first: config.ue },
        super::bench::UE_PORT,
    ));
    let plan = NetworkPlan {
        streams: flows.len() * config.threads.clamp(1, MAX_THREADS),
        flows,
        // Whose packets they are is not known here.
        run: None,
        server: config.server,
        downlink: config.downlink,
        all_live: true,
        cpu: config.pin.clone(),
    };
    let lacking = LoadError::Lacking { mode: "the role of a data network", lacking: "its address (--n6)" };
    let thread = NetworkThread::new(config.network, plan)?.ok_or(lacking)?;
    let go = AtomicBool::new(true);
    Ok(thread.run(&go, stop)?.1)
}
