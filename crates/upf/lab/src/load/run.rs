//! A run: validates the configuration, opens the resources, executes the mode's steps, and assesses the results.
use super::data::MAX_THREADS;
use super::flows::{Flows, MAX_FLOWS, UePool};
use super::gate::StartGate;
use super::load_run::LoadRun;
use super::n3_io::N3Io;
use super::network::{Network, NetworkPlan, NetworkReport, NetworkThread};
use super::process::Process;
use super::report::LoadReport;
use super::sizes::{PacketSizes, capacity};
use super::{LoadConfig, LoadError, MAX_GNBS, MAX_SMFS, Mode, open_loop};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// Runs a load. Setting `stop` ends the load early, with a report of the completed work. The function also sets `stop` if the UPF's process
/// exits.
pub fn run(config: &LoadConfig, stop: &AtomicBool) -> Result<LoadReport, LoadError> {
    run_when_told(config, stop, &StartGate::default())
}

/// Like [`run`], with the same errors. After its sessions are set up, the load waits at a gate.
pub fn run_when_told(
    config: &LoadConfig,
    stop: &AtomicBool,
    gate: &StartGate,
) -> Result<LoadReport, LoadError> {
    check(config)?;
    let find = |pid| Process::find(pid).ok_or(LoadError::NoProcess { pid });
    let process = config.upf_pid.map(find).transpose()?;
    let begin = Instant::now();
    let over = &AtomicBool::new(false);
    let (result, died) = std::thread::scope(|scope| {
        let watch = process.map(|process| scope.spawn(move || process.death(begin, stop, over)));
        let result = load(config, process, stop, gate);
        over.store(true, Relaxed);
        (result, watch.and_then(|watch| watch.join().ok().flatten()))
    });
    match (result, config.upf_pid.zip(died)) {
        (Ok(mut report), died) => {
            // An exited UPF is not reported as silent.
            report.silence = report.silence.filter(|_| died.is_none());
            report.upf_died_s = died.map(|(_, after)| after.as_secs_f64());
            report.judge();
            if !config.distributions {
                report.forget_distributions();
            }
            Ok(report)
        }
        (Err(then), Some((pid, after))) => Err(LoadError::Died { pid, after, then: Box::new(then) }),
        (Err(error), None) => Err(error),
    }
}

fn load(
    config: &LoadConfig,
    process: Option<Process>,
    stop: &AtomicBool,
    gate: &StartGate,
) -> Result<LoadReport, LoadError> {
    let mut bench = LoadRun::new(config, process, gate)?;
    let mut report =
        LoadReport { mode: name(&config.mode).to_owned(), run: config.run, ..Default::default() };
    if config.smoke {
        report.smoke = bench.smoke()?;
    }
    let lives = || process.is_none_or(Process::lives);
    match &config.mode {
        Mode::Control { .. } => bench.control(stop, &mut report)?,
        Mode::Blind { delay, sessions } => {
            report.control = bench.answering(|bench| {
                open_loop::run(config, *delay, *sessions, &mut bench.cycles, &lives, stop)
            })?;
        }
        Mode::Sessions { .. } | Mode::Mixed { .. } | Mode::Handover { .. } | Mode::Paging { .. } => {
            bench.packets(stop, &mut report)?;
        }
        Mode::Qos { .. } => bench.qos(stop, &mut report)?,
        Mode::Replay(_) => bench.replay(stop, &mut report)?,
    }
    report.silence = bench.silence();
    report.af_xdp = bench.af_xdp();
    report.n3 = bench.n3.summary();
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
        Mode::Replay(_) => "replay",
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
                what: "base stations for handovers (--gnbs: at least two per thread, because a session moves between base stations of its thread; each needs an address of this machine)",
                given: config.gnbs,
                least,
                most: MAX_GNBS,
            });
        }
    }
    if config.echo.is_some() && config.n3_io != N3Io::Sockets {
        return Err(LoadError::Lacking { mode: "supervision of N3 (--echo)", lacking: "sockets (--io)" });
    }
    let downlink = config.network != Network::None;
    let lacking = |mode, lacking| Err(LoadError::Lacking { mode, lacking });
    match config.mode {
        Mode::Replay(_) if config.smfs > 1 => lacking("the repetition of a capture", "one SMF (--smfs 1)"),
        Mode::Qos { .. } if !downlink => lacking("the mode qos", "an emulated data network (--n6)"),
        Mode::Qos { .. } if config.profile.mbr.is_none() => {
            lacking("the mode qos", "a maximum bit rate (--mbr)")
        }
        Mode::Qos { .. }
            if [config.uplink, config.downlink]
                .iter()
                .flatten()
                .any(|one| one.octets == PacketSizes::Imix) =>
        {
            lacking("the mode qos", "packets of one size (--sizes fixed)")
        }
        Mode::Handover { .. } | Mode::Paging { .. } if config.downlink.is_none() || !downlink => {
            lacking("this mode", "downlink packets (--downlink) from an emulated data network (--n6)")
        }
        _ => Ok(()),
    }
}

/// A data network that runs on another host, without the other parts of a load. It counts packets, reflects them, and sends packets to UEs.
#[derive(Debug)]
pub struct DataNetwork(NetworkThread);

impl DataNetwork {
    /// Binds the address of the data network. From then on, the kernel does not reject packets for it.
    pub fn open(config: &LoadConfig, sessions: usize) -> Result<Self, LoadError> {
        let plan = plan_alone(config, sessions);
        let lacking = LoadError::Lacking {
            mode: "the role of a data network",
            lacking: "the address of the data network (--n6)",
        };
        NetworkThread::new(config.network, plan)?.map(Self).ok_or(lacking)
    }

    /// Runs the data network until `stop` is set.
    pub fn run(self, stop: &AtomicBool) -> Result<NetworkReport, LoadError> {
        let go = AtomicBool::new(true);
        Ok(self.0.run(&go, stop)?.1)
    }
}

fn plan_alone(config: &LoadConfig, sessions: usize) -> NetworkPlan {
    let flows = Arc::new(Flows::new(
        sessions.clamp(1, MAX_FLOWS),
        UePool { first: config.ue },
        super::flows::UE_PORT,
    ));
    NetworkPlan {
        streams: flows.len() * config.threads.clamp(1, MAX_THREADS),
        flows,
        // Packets of any run are accepted, because this process does not know the number of the run.
        run: None,
        server: config.server,
        downlink: config.downlink,
        all_live: true,
        cpu: config.pin.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::Traffic;
    use super::super::tests::config;
    use super::*;
    use ranlab_upf::pfcp::BitRates;
    use std::time::Duration;

    const SECOND: Duration = Duration::from_secs(1);

    fn refused(config: &LoadConfig) -> String {
        check(config).unwrap_err().to_string()
    }

    #[test]
    fn out_of_range_values_are_named_with_limits() {
        let good = config(Mode::Sessions { sessions: 10, duration: SECOND });
        assert!(check(&good).is_ok());
        for (wrong, what) in [
            (LoadConfig { gnbs: 0, ..good.clone() }, "0 base stations; 1 to 1024 are allowed"),
            (LoadConfig { gnbs: MAX_GNBS + 1, ..good.clone() }, "1025 base stations; 1 to 1024"),
            (LoadConfig { threads: 65, ..good.clone() }, "65 data threads; 1 to 64"),
            (LoadConfig { smfs: 0, ..good.clone() }, "0 SMFs; 1 to 64"),
        ] {
            assert!(refused(&wrong).contains(what), "{}", refused(&wrong));
        }
        let sessions = |sessions| config(Mode::Sessions { sessions, duration: SECOND });
        assert!(check(&sessions(MAX_FLOWS)).is_ok());
        assert!(refused(&sessions(MAX_FLOWS + 1)).contains("4194304 sessions; 1 to 4194303"));
        assert!(refused(&sessions(0)).contains("0 sessions"));
    }

    #[test]
    fn supervision_of_n3_needs_sockets() {
        let sessions = config(Mode::Sessions { sessions: 10, duration: SECOND });
        let n3_io = "af-xdp".parse().unwrap();
        assert!(check(&LoadConfig { echo: Some(SECOND), ..sessions.clone() }).is_ok());
        let error = check(&LoadConfig { echo: Some(SECOND), n3_io, ..sessions });
        assert!(matches!(error, Err(LoadError::Lacking { lacking: "sockets (--io)", .. })));
    }

    #[test]
    fn handover_requires_second_base_station_per_thread() {
        let downlink =
            Some(Traffic { packets_per_s: 1.0, octets: PacketSizes::Fixed(100), reflect_every: 0 });
        let local = "127.0.0.10:1".parse().unwrap();
        let upf = "127.0.0.8:1".parse().unwrap();
        let network = Network::Ip { local, upf };
        let mode = Mode::Handover { sessions: 5, rate: 1.0, duration: SECOND };
        let good = LoadConfig { downlink, network, ..config(mode) };
        assert!(check(&good).is_ok());
        assert!(refused(&LoadConfig { gnbs: 3, ..good.clone() }).contains("3 base stations for handovers"));
        for lacking in [
            LoadConfig { downlink: None, ..good.clone() },
            LoadConfig { network: Network::None, ..good.clone() },
            LoadConfig {
                network: Network::None,
                mode: Mode::Paging { sessions: 5, rate: 1.0, duration: SECOND },
                ..good
            },
        ] {
            assert!(refused(&lacking).contains("needs downlink packets"), "{}", refused(&lacking));
        }
    }

    #[test]
    fn qos_mode_requires_maximum_rate() {
        let mode = Mode::Qos { offered_bps: vec![1e6], sessions: 1, duration: SECOND };
        let network = Network::Routed("127.0.0.10:1".parse().unwrap());
        let mut qos = config(mode);
        assert!(refused(&qos).contains("emulated data network"));
        qos.network = network;
        assert!(refused(&qos).contains("a maximum bit rate (--mbr)"));
        qos.profile.mbr = Some(BitRates { uplink_kbps: 1, downlink_kbps: 1 });
        assert!(check(&qos).is_ok());
    }

    #[test]
    fn data_network_needs_address_and_stops() {
        let alone = config(Mode::Sessions { sessions: 1, duration: SECOND });
        let error = DataNetwork::open(&alone, 1).unwrap_err().to_string();
        assert!(error.contains("needs the address of the data network (--n6)"), "{error}");
        let network = Network::Routed("127.0.0.1:0".parse().unwrap());
        let data_network = DataNetwork::open(&LoadConfig { network, ..alone }, 3).unwrap();
        let report = data_network.run(&AtomicBool::new(true)).unwrap();
        // There is one tally per session and sender.
        assert_eq!((report.uplink.len(), report.sent.len(), report.strangers), (6, 3, 0));
    }

    #[test]
    fn invalid_config_and_missing_process_are_rejected() {
        let stop = AtomicBool::new(false);
        let wrong = LoadConfig { gnbs: 0, ..config(Mode::Sessions { sessions: 1, duration: SECOND }) };
        assert!(matches!(run(&wrong, &stop), Err(LoadError::Bounds { .. })));
        let nobody = LoadConfig { upf_pid: Some(u32::MAX), gnbs: 4, ..wrong };
        assert!(matches!(run(&nobody, &stop), Err(LoadError::NoProcess { pid: u32::MAX })));
    }
}
