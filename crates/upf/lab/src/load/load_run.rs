//! Sockets, threads and sessions of a run.
use super::arrivals::Paced;
use super::carrier::{self, PacketIo};
use super::cycles::{CyclePlan, Cycles, Loop};
use super::data::{DataReport, GnbThread, Shared, Traffic};
use super::flows::{Flows, MAX_FLOWS, UE_PORT, UePool};
use super::frames::AfXdpSummary;
use super::fresh;
use super::gate::StartGate;
use super::n4::N4;
use super::network::{NetworkPlan, NetworkReport, NetworkThread};
use super::outcome::CycleReport;
use super::paths::PathReport;
use super::process::Process;
use super::report::{ControlSummary, Direction, LoadReport, Sides, Smoke, StepSummary, control};
use super::sizes::{QOS_OCTETS, capacity, least_of};
use super::tunnels::Tunnels;
use super::unresponsive::Unresponsive;
use super::{LoadConfig, LoadError, Mode, nth};
use crate::upf::pin;
use ranlab_machine::Time;
use ranlab_net::thread_cpu_time;
use ranlab_upf::n4::{Kind, SessionId, SmfSettings};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Timeout of an association setup.
const ASSOCIATION: Duration = Duration::from_secs(5);
/// Timeout of a smoke packet. It is sent several times, because the first may wait for ARP.
const SMOKE: Duration = Duration::from_millis(300);
const SMOKE_TRIES: usize = 5;
/// Time after the last packet in which packets in flight may still arrive.
const DRAIN: Duration = Duration::from_millis(300);
/// Number of concurrent cycles during setup.
const SET_UP_WINDOW: usize = 64;
/// Maximum duration of setup and of teardown.
const SET_UP: Duration = Duration::from_secs(600);
/// Basic polling interval. Requests and packets may start and end this much later than planned.
const TICK: Duration = Duration::from_millis(1);

/// The resources of a run.
pub(super) struct LoadRun<'a> {
    pub(super) config: &'a LoadConfig,
    gate: &'a StartGate,
    process: Option<Process>,
    began: Time,
    /// Whether a test packet came back, which shows that there is a reflector.
    reflected: bool,
    /// Counters returned by [`Self::made`] before the measured part.
    pub(super) before: [u64; 3],
    flows: Arc<Flows>,
    /// I/O of each data thread. The thread owns it during a step.
    pub(super) carriers: Vec<PacketIo>,
    network: Option<NetworkThread>,
    pub(super) cycles: Vec<Cycles>,
    /// Counters of the N3 paths.
    pub(super) n3: PathReport,
    steps: u32,
}

impl<'a> LoadRun<'a> {
    pub(super) fn new(
        config: &'a LoadConfig,
        process: Option<Process>,
        gate: &'a StartGate,
    ) -> Result<Self, LoadError> {
        let flows = Flows::new(capacity(config), UePool { first: config.ue }, UE_PORT);
        let flows = Arc::new(flows.watched(config.onlooker.0.clone()));
        let packets = config.smoke
            || config.echo.is_some()
            || !matches!(config.mode, Mode::Control { .. } | Mode::Blind { .. });
        let carriers = carrier::open(config, packets)?;
        let plan = NetworkPlan {
            flows: Arc::clone(&flows),
            streams: flows.len() * config.threads,
            run: Some(config.run),
            server: config.server,
            downlink: None,
            all_live: false,
            cpu: config.pin.get(config.threads + 1).copied().into_iter().collect(),
        };
        let network = NetworkThread::new(config.network, plan)?;
        let gnbs: Vec<_> = (0..config.gnbs).map(|n| nth(config.gnb, n).ip()).collect();
        let mut cycles = Vec::new();
        let first_teid = fresh::first_teid();
        for n in 0..config.smfs {
            let bind = nth(config.smf, n);
            let settings = SmfSettings {
                retransmission: config.retransmission,
                window: config.window,
                max_sessions: MAX_FLOWS,
                heartbeat: config.heartbeat,
                ..SmfSettings::new(bind.ip(), config.dialect)
            };
            let settings = fresh::settings(settings, config.anew);
            let n4 = N4::new(bind, config.n4, settings, config.profile.clone())?;
            cycles.push(Cycles::new(n4, Arc::clone(&flows), gnbs.clone(), first_teid, config));
        }
        for one in &mut cycles {
            one.n4.associate(ASSOCIATION)?;
        }
        let began = N4::now();
        Ok(Self {
            config,
            gate,
            process,
            began,
            reflected: false,
            before: [0; 3],
            flows,
            carriers,
            network,
            cycles,
            n3: PathReport::default(),
            steps: 0,
        })
    }

    fn plan(&self, smf: usize) -> CyclePlan {
        let flows = self.flows.len();
        let smfs = self.config.smfs;
        CyclePlan {
            begin: Loop::Closed { window: SET_UP_WINDOW },
            cycles: None,
            duration: SET_UP,
            hold: Duration::ZERO,
            keep: false,
            flows: flows * smf / smfs..flows * (smf + 1) / smfs,
            seed: self.config.run.into(),
            sender: smf as u64,
        }
    }

    /// Returns the shared state of a step. Each step has another run number, so that packets of earlier steps are not
    /// counted.
    pub(super) fn shared(&mut self, all_sessions: bool, reflect_every: u64) -> Arc<Shared> {
        self.steps += 1;
        let config = self.config;
        Arc::new(Shared {
            flows: Arc::clone(&self.flows),
            n3: config.n3,
            server: config.server,
            run: config.run.wrapping_add(self.steps),
            threads: config.threads,
            all_sessions,
            qfi: config.profile.qfi,
            reflect_every,
            pin: config.pin.clone(),
            echo: config.echo,
            quiet: false,
            go: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        })
    }

    /// Sends one packet in each direction through one session, because a UPF may accept rules and not forward.
    pub(super) fn smoke(&mut self) -> Result<Smoke, LoadError> {
        let plan = CyclePlan { cycles: Some(1), keep: true, flows: 0..1, ..self.plan(0) };
        let none = || false;
        self.cycles[0].run(&CyclePlan { duration: Duration::from_secs(10), ..plan.clone() }, &none)?;
        if self.flows.live(0).is_none() {
            return Err(self.sessions_missing(1));
        }
        let shared = self.shared(true, 1);
        let thread = self.flows.gnb(0) % self.config.threads;
        // The packet may come back to any base station.
        let mut gnbs = self.gnb_threads(&shared, None)?;
        if let Some(network) = &mut self.network {
            network.set_step(shared.run, None);
        }
        let mut smoke = Smoke::default();
        for _ in 0..SMOKE_TRIES {
            gnbs[thread].send_one(0, 0)?;
            if let Some(network) = &mut self.network {
                network.send_one(0, 0)?;
            }
            let end = Instant::now() + SMOKE;
            while Instant::now() < end && (smoke.uplink, smoke.downlink) != (Some(true), Some(true)) {
                if let Some(network) = &mut self.network {
                    network.receive()?;
                }
                for gnb in &mut gnbs {
                    gnb.receive()?;
                }
                self.cycles[0].n4.pump()?;
                smoke = self.seen(&gnbs);
                std::thread::sleep(TICK / 4);
            }
        }
        self.carriers = gnbs.into_iter().map(GnbThread::into_carrier).collect();
        self.cycles[0].delete_all(&plan)?;
        self.measure_from_here();
        if let Some(network) = &mut self.network {
            network.take_report();
        }
        match smoke {
            Smoke { uplink: Some(false), .. } => Err(LoadError::Smoke { way: "uplink", ue: self.config.ue }),
            Smoke { downlink: Some(false), .. } => {
                Err(LoadError::Smoke { way: "downlink, but not in the uplink", ue: self.config.ue })
            }
            smoke => {
                self.reflected = smoke.uplink == Some(true);
                Ok(smoke)
            }
        }
    }

    fn seen(&self, gnbs: &[GnbThread]) -> Smoke {
        let came = |tallies: &[super::Tally]| tallies.iter().any(|tally| tally.received > 0);
        let back = gnbs.iter().any(|gnb| came(&gnb.report().reflected));
        let down = gnbs.iter().any(|gnb| came(&gnb.report().downlink));
        match &self.network {
            Some(network) => {
                Smoke { uplink: Some(came(&network.report().uplink)), downlink: Some(back || down) }
            }
            // Without an emulated data network, only a reflected packet shows that forwarding works. A UPF without a reflector may still
            // forward.
            None => Smoke { uplink: back.then_some(true), downlink: back.then_some(true) },
        }
    }

    fn sessions_missing(&self, wanted: usize) -> LoadError {
        let ledgers: Vec<_> = self.cycles.iter().map(|one| one.n4.smf.ledger()).collect();
        let lost: u64 = ledgers.iter().map(|ledger| ledger.total(|counts| counts.lost)).sum();
        let mut why = format!("{lost} requests were lost");
        for ledger in ledgers {
            for (cause, count) in &ledger.causes {
                why.push_str(&format!(", {count} requests were rejected with cause {cause}"));
            }
        }
        why.push_str(&Tunnels::missing(&self.cycles));
        let established = self.cycles.iter().map(|one| one.n4.smf.live_sessions()).sum();
        LoadError::Sessions { established, wanted, why }
    }

    /// Establishes sessions that remain, divided among the SMFs. Returns the results.
    fn set_up(&mut self, sessions: usize, stop: &AtomicBool) -> Result<Option<ControlSummary>, LoadError> {
        if sessions == 0 {
            self.measure_from_here();
            return Ok(None);
        }
        let smfs = self.config.smfs;
        let plans = (0..smfs).map(|smf| CyclePlan {
            cycles: Some((sessions * (smf + 1) / smfs - sessions * smf / smfs) as u64),
            keep: true,
            ..self.plan(smf)
        });
        let plans: Vec<_> = plans.collect();
        let summary = self.drive(&plans, stop)?;
        let kept: usize = self.cycles.iter().map(|one| one.kept().len()).sum();
        if kept < sessions && !stop.load(Relaxed) {
            return Err(self.sessions_missing(sessions));
        }
        self.measure_from_here();
        Ok(Some(summary))
    }

    /// Runs the plans of all SMFs, each in a separate thread.
    pub(super) fn drive_all(
        &mut self,
        plans: &[CyclePlan],
        stop: &AtomicBool,
    ) -> Result<ControlSummary, LoadError> {
        let begin = Instant::now();
        let pins = &self.config.pin;
        let cpus = std::thread::scope(|scope| {
            let threads: Vec<_> = self
                .cycles
                .iter_mut()
                .zip(plans)
                .enumerate()
                .map(|(n, (cycles, plan))| {
                    scope.spawn(move || {
                        pin(pins, n);
                        cycles.run(plan, &|| stop.load(Relaxed))?;
                        io::Result::Ok(thread_cpu_time())
                    })
                })
                .collect();
            let ended = threads.into_iter().map(|thread| thread.join().map_err(|_| LoadError::Panicked));
            ended.map(|result| Ok(result??)).collect::<Result<Vec<Duration>, LoadError>>()
        })?;
        Ok(self.summary(begin.elapsed(), cpus.iter().sum()))
    }

    pub(super) fn summary(&self, wall: Duration, cpu: Duration) -> ControlSummary {
        let mut report = CycleReport::default();
        self.cycles.iter().for_each(|one| report.add(&one.report));
        let ledgers: Vec<_> = self.cycles.iter().map(|one| one.n4.smf.ledger().clone()).collect();
        let mut summary = control(&report, &ledgers, wall, cpu);
        let now = self.made();
        let before = self.before;
        let window = report.window;
        match window.length.is_zero() {
            true => summary.account(now[0] - before[0], now[1] - before[1], now[2] - before[2]),
            false => summary.account(window.made, window.unsent, window.answered),
        }
        summary
    }

    pub(super) fn take_down(&mut self, summary: &mut ControlSummary) -> Result<(), LoadError> {
        self.answering(|bench| bench.delete_everything(summary))
    }

    /// Deletes sessions and releases associations, unless the UPF has exited. Reports the requests that the UPF did not confirm.
    fn delete_everything(&mut self, summary: &mut ControlSummary) -> Result<(), LoadError> {
        if self.process.is_some_and(|process| !process.lives()) {
            return Ok(());
        }
        for smf in 0..self.cycles.len() {
            let plan = self.plan(smf);
            summary.left_behind += self.cycles[smf].delete_all(&plan)? as u64;
            summary.releases_unanswered += u64::from(!self.cycles[smf].release()?);
        }
        self.ledgers(summary);
        Ok(())
    }

    /// Returns the longest silence of the UPF on a socket. A silence that has not ended takes precedence.
    pub(super) fn silence(&self) -> Option<Unresponsive> {
        let now = N4::now();
        let patience = self.config.retransmission.t1;
        let outages =
            self.cycles.iter().filter_map(|one| one.n4.hearing.unresponsive_for(now, self.began, patience));
        outages.reduce(Unresponsive::worse)
    }

    pub(super) fn control(&mut self, stop: &AtomicBool, report: &mut LoadReport) -> Result<(), LoadError> {
        let Mode::Control { begin, cycles, duration, hold, live } = self.config.mode.clone() else {
            return Ok(());
        };
        report.set_up = self.set_up(live, stop)?;
        self.wait(stop)?;
        let smfs = self.config.smfs;
        let begin = match begin {
            Loop::Closed { window } => Loop::Closed { window: window.div_ceil(smfs) },
            Loop::Open(arrivals) => Loop::Open(arrivals.shared(smfs)),
            Loop::Rounds { sessions, period } => Loop::Rounds { sessions: sessions.div_ceil(smfs), period },
        };
        let of_smf = |smf: u64| cycles.map(|all| all * (smf + 1) / smfs as u64 - all * smf / smfs as u64);
        let plans: Vec<_> = (0..smfs)
            .map(|smf| CyclePlan { begin, cycles: of_smf(smf as u64), duration, hold, ..self.plan(smf) })
            .collect();
        let cpu_s = |process: Option<Process>| process.and_then(Process::cpu_s);
        let before = cpu_s(self.process);
        report.control = self.drive(&plans, stop)?;
        report.control.held(hold);
        let after = cpu_s(self.process);
        report.control.upf_cpu_s = before.zip(after).map(|(before, after)| after - before);
        self.take_down(&mut report.control)?;
        Ok(())
    }

    /// Fills in the request counters after teardown.
    fn ledgers(&self, summary: &mut ControlSummary) {
        let wall = Duration::from_secs_f64(summary.wall_s);
        let cpu = Duration::from_secs_f64(summary.generator_cpu_s);
        let last = self.summary(wall, cpu);
        for (kind, counts) in last.requests {
            let times = summary
                .requests
                .get(&kind)
                .map(|of_kind| (of_kind.latency_us.clone(), of_kind.service_us.clone()));
            let mut counts = counts;
            // The latencies cover only the measured part of the run.
            (counts.latency_us, counts.service_us) = times.unwrap_or_default();
            summary.requests.insert(kind, counts);
        }
        (summary.causes, summary.responses) = (last.causes, last.responses);
        (summary.unexpected, summary.malformed) = (last.unexpected, last.malformed);
        summary.balanced = last.balanced;
        (summary.restarts, summary.restarted) = (last.restarts, last.restarted);
    }

    pub(super) fn packets(&mut self, stop: &AtomicBool, report: &mut LoadReport) -> Result<(), LoadError> {
        let mode = self.config.mode.clone();
        let sessions = match mode {
            Mode::Mixed { fixed, .. } => fixed,
            Mode::Sessions { sessions, .. }
            | Mode::Handover { sessions, .. }
            | Mode::Paging { sessions, .. } => sessions,
            _ => 0,
        };
        report.set_up = self.set_up(sessions, stop)?;
        self.wait(stop)?;
        let all_sessions = matches!(mode, Mode::Mixed { .. });
        let up = self.config.uplink;
        let down = self.config.downlink;
        let mut paced = Paced::default();
        let mut step = self.step(up, down, all_sessions, |bench| {
            paced = bench.meanwhile(&mode, stop)?;
            Ok(())
        })?;
        (step.handovers, step.handovers_due, step.handovers_tried) = (paced.done, paced.due, paced.tried);
        step.spacing_us = down.map(|traffic| sessions as f64 * 1e6 / traffic.packets_per_s);
        // Handovers stop before the packets do, because packets continue until the last handover is completed.
        let sent = Duration::from_secs_f64(step.seconds);
        let sent = match mode {
            Mode::Handover { duration, .. } | Mode::Paging { duration, .. } => sent.min(duration),
            _ => sent,
        };
        report.steps.push(step);
        report.control = self.summary(sent, Duration::ZERO);
        self.take_down(&mut report.control)?;
        Ok(())
    }

    /// Runs the control plane actions of a mode while packets are sent.
    fn meanwhile(&mut self, mode: &Mode, stop: &AtomicBool) -> Result<Paced, LoadError> {
        let plan = CyclePlan { keep: true, ..self.plan(0) };
        match *mode {
            Mode::Mixed { dynamic, duration, round, lead, .. } => {
                self.attend(&plan, lead, stop)?;
                let begin = Loop::Rounds { sessions: dynamic, period: round };
                let plan = CyclePlan { begin, duration, keep: false, ..plan };
                if dynamic > 0 {
                    self.cycles[0].run(&plan, &|| stop.load(Relaxed))?;
                } else {
                    self.attend(&plan, duration, stop)?;
                }
                Ok(Paced::default())
            }
            Mode::Handover { rate, duration, .. } => {
                let gnbs = self.config.gnbs;
                let threads = self.config.threads;
                self.at_rate(&plan, rate, duration, stop, |cycles, flows, now, due, (id, flow)| {
                    let gnb = (flows.gnb(flow) + threads) % gnbs;
                    // In the last round, the base station may belong to another thread. The first base station of this thread is used then.
                    let gnb = if gnb % threads == flow % threads { gnb } else { flow % threads };
                    cycles.hand_over(now, due, id, gnb)
                })
            }
            Mode::Paging { rate, duration, .. } => {
                self.at_rate(&plan, rate, duration, stop, |cycles, _, now, _, (id, _)| cycles.idle(now, id))
            }
            Mode::Sessions { duration, .. } => self.attend(&plan, duration, stop).map(|()| Paced::default()),
            _ => Ok(Paced::default()),
        }
    }

    /// Answers the UPF's requests for a duration.
    fn attend(&mut self, plan: &CyclePlan, duration: Duration, stop: &AtomicBool) -> Result<(), LoadError> {
        let end = Instant::now() + duration;
        self.attend_while(plan, || Instant::now() < end && !stop.load(Relaxed))
    }

    /// Answers the UPF's requests until the gate opens.
    fn wait(&mut self, stop: &AtomicBool) -> Result<(), LoadError> {
        let gate = self.gate;
        if !gate.holds(stop) {
            return Ok(());
        }
        let plan = CyclePlan { keep: true, ..self.plan(0) };
        self.answering(|bench| bench.attend_while(&plan, || gate.holds(stop)))
    }

    fn attend_while(&mut self, plan: &CyclePlan, wait: impl Fn() -> bool) -> Result<(), LoadError> {
        while wait() {
            let mut came = false;
            for cycles in &mut self.cycles {
                came |= cycles.n4.pump()?;
                cycles.events(plan)?;
            }
            if !came {
                std::thread::sleep(TICK);
            }
        }
        Ok(())
    }

    fn at_rate(
        &mut self,
        plan: &CyclePlan,
        rate: f64,
        duration: Duration,
        stop: &AtomicBool,
        act: impl Fn(&mut Cycles, &Flows, Time, Time, (SessionId, usize)) -> bool,
    ) -> Result<Paced, LoadError> {
        let flows = Arc::clone(&self.flows);
        let cycles = &mut self.cycles[0];
        let kept = cycles.kept();
        let begin = N4::now();
        let mut count = 0_u64;
        let mut done = 0;
        loop {
            let due_at = begin + Duration::from_secs_f64(count as f64 / rate.max(1e-6));
            let now = N4::now();
            if now.since(begin) >= duration || kept.is_empty() || stop.load(Relaxed) {
                break;
            }
            if due_at <= now {
                done += u64::from(act(cycles, &flows, now, due_at, kept[count as usize % kept.len()]));
                count += 1;
            } else if !cycles.n4.pump()? {
                cycles.n4.rest(due_at.min(now + TICK * 5))?;
            }
            cycles.events(plan)?;
        }
        self.attend(plan, DRAIN, stop)?;
        let due = if kept.is_empty() { 0 } else { (rate * duration.as_secs_f64()) as u64 };
        Ok(Paced { due, tried: count, done })
    }

    /// Creates the data threads with their I/O.
    pub(super) fn gnb_threads(
        &mut self,
        shared: &Arc<Shared>,
        up: Option<Traffic>,
    ) -> Result<Vec<GnbThread>, LoadError> {
        let carriers = std::mem::take(&mut self.carriers).into_iter().enumerate();
        let gnbs = carriers.map(|(n, carrier)| GnbThread::new(Arc::clone(shared), n, up, carrier));
        gnbs.collect::<Option<_>>().ok_or(LoadError::Profile)
    }

    /// Returns the AF_XDP statistics.
    pub(super) fn af_xdp(&self) -> Option<AfXdpSummary> {
        PacketIo::af_xdp(&self.carriers)
    }

    /// Sends packets while `during` runs.
    fn step(
        &mut self,
        up: Option<Traffic>,
        down: Option<Traffic>,
        all_sessions: bool,
        during: impl FnOnce(&mut Self) -> Result<(), LoadError>,
    ) -> Result<StepSummary, LoadError> {
        let shared = self.shared(all_sessions, up.map_or(0, |traffic| traffic.reflect_every));
        let mut network = self.network.take();
        if let Some(network) = &mut network {
            network.set_step(shared.run, down);
        }
        let gnbs = self.gnb_threads(&shared, up)?;
        let (result, seconds, threads, ended_at) = std::thread::scope(|scope| {
            let threads: Vec<_> = gnbs.into_iter().map(|gnb| scope.spawn(move || gnb.run())).collect();
            let network = network.take().map(|network| scope.spawn(|| network.run(&shared.go, &shared.stop)));
            let begin = Instant::now();
            shared.go.store(true, Relaxed);
            let result = during(self);
            shared.go.store(false, Relaxed);
            let seconds = begin.elapsed().as_secs_f64();
            // Requests of the UPF, such as heartbeats, are not answered during this sleep, which is short enough.
            std::thread::sleep(DRAIN);
            shared.stop.store(true, Relaxed);
            let threads: Vec<_> = threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
            (result, seconds, threads, network.map(std::thread::ScopedJoinHandle::join))
        });
        let mut gnb = DataReport::new(self.flows.len(), self.config.threads);
        for ended in threads {
            let (report, carrier) = ended.map_err(|_| LoadError::Panicked)??;
            self.n3.add(&report.paths);
            gnb.add(&report);
            self.carriers.push(carrier);
        }
        let mut seen_by_network: Option<NetworkReport> = None;
        if let Some(ended) = ended_at {
            let (thread, report) = ended.map_err(|_| LoadError::Panicked)??;
            self.network = Some(thread);
            seen_by_network = Some(report);
        }
        result?;
        let network = seen_by_network.as_ref();
        Ok(Sides { gnb: &gnb, network, reflected: self.reflected, seconds }.step(up, down))
    }

    pub(super) fn qos(&mut self, stop: &AtomicBool, report: &mut LoadReport) -> Result<(), LoadError> {
        let Mode::Qos { offered_bps, sessions, duration } = self.config.mode.clone() else { return Ok(()) };
        report.set_up = self.set_up(sessions, stop)?;
        self.wait(stop)?;
        let rates = self.config.profile.mbr.unwrap_or_default();
        let traffic = self.config.uplink.or(self.config.downlink);
        let octets = traffic.map_or(QOS_OCTETS, |traffic| traffic.octets.most());
        let octets = least_of(octets, self.config.ue.is_ipv6());
        let mut sent = Duration::ZERO;
        for direction in [Direction::Uplink, Direction::Downlink] {
            for offered in &offered_bps {
                let packets_per_s = offered / (octets as f64 * 8.0);
                let traffic = Some(Traffic::unreflected(packets_per_s, octets));
                let (up, down, kbps) = match direction {
                    Direction::Uplink => (traffic, None, rates.uplink_kbps),
                    Direction::Downlink => (None, traffic, rates.downlink_kbps),
                };
                let plan = CyclePlan { keep: true, ..self.plan(0) };
                let mut step = self.step(up, down, false, |bench| bench.attend(&plan, duration, stop))?;
                sent += Duration::from_secs_f64(step.seconds);
                step.qos = Some((direction, *offered, kbps as f64 * 1_000.0 * sessions as f64));
                report.steps.push(step);
            }
        }
        report.control = self.summary(sent, Duration::ZERO);
        self.take_down(&mut report.control)?;
        Ok(())
    }
}

/// The kinds of requests whose latencies make up a session's cycle.
pub(super) const CYCLE: [Kind; 3] = [Kind::Establishment, Kind::Modification, Kind::Deletion];
