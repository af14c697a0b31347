//! Sessions of a capture, repeated towards the UPF.
use super::arrivals::Schedule;
use super::cycles::{Cycles, Loop, REST};
use super::load_run::LoadRun;
use super::n4::N4;
use super::report::LoadReport;
use super::{LoadConfig, LoadError, Mode};
use ranlab_machine::Time;
use ranlab_net::thread_cpu_time;
use ranlab_upf::n4::replay::{Addressing, Ended, Ending, Recording, Replay};
use ranlab_upf::n4::{Kind, SmfEvent};
use ranlab_upf::pfcp::ReportType;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Plan of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayPlan {
    /// Sessions of the capture.
    pub recording: Arc<Recording>,
    /// Number of repetitions of each session.
    pub times: u64,
    /// Rule that determines when repetitions begin.
    pub begin: Loop,
    /// Whether the requests of a session keep their intervals in the capture. Otherwise each request follows the previous response.
    pub keeps_gaps: bool,
}

/// Time without a response after which a replay is given up, if no request is scheduled.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time for outstanding responses after a stop.
const GRACE: Duration = Duration::from_secs(2);

fn addressing(config: &LoadConfig, first_teid: u32) -> Addressing {
    let mut ue_v4 = Ipv4Addr::new(10, 60, 0, 1);
    let mut ue_v6 = Ipv6Addr::new(0x2001, 0xdb8, 0x60, 0, 0, 0, 0, 1);
    match config.ue {
        IpAddr::V4(v4) => ue_v4 = v4,
        IpAddr::V6(v6) => ue_v6 = v6,
    }
    Addressing { n3: config.n3.ip(), gnb: config.gnb.ip(), smf: config.smf.ip(), ue_v4, ue_v6, first_teid }
}

impl LoadRun<'_> {
    pub(super) fn replay(&mut self, stop: &AtomicBool, report: &mut LoadReport) -> Result<(), LoadError> {
        let config = self.config;
        let Mode::Replay(plan) = &config.mode else { return Ok(()) };
        report.control = self.answering(|bench| {
            let begin = Instant::now();
            let cpu = thread_cpu_time();
            bench.measure_from_here();
            bench.cycles[0].replay(plan, config, &|| stop.load(Relaxed))?;
            Ok(bench.summary(begin.elapsed(), thread_cpu_time().saturating_sub(cpu)))
        })?;
        self.take_down(&mut report.control)
    }
}

/// State of a running replay.
struct Repeating<'a> {
    plan: &'a ReplayPlan,
    replay: Replay,
    total: u64,
    schedule: Option<Schedule>,
    begin: Time,
    due: Option<Time>,
    /// Time of the stop, or of the UPF's restart.
    stopped: Option<Time>,
}

impl Repeating<'_> {
    fn next_due(&mut self) {
        let at = self.schedule.as_mut().map(Schedule::next_ns);
        self.due = at.map(|at| self.begin + Duration::from_nanos(at));
    }

    /// Returns the scheduled start of the next repetition, if it is due.
    fn wanted(&self, now: Time) -> Option<Time> {
        match self.plan.begin {
            Loop::Closed { window } => (self.replay.under_way() < window).then_some(now),
            _ => self.due.filter(|due_at| *due_at <= now),
        }
    }
}

impl Cycles {
    fn replay(
        &mut self,
        plan: &ReplayPlan,
        config: &LoadConfig,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), LoadError> {
        ranlab_net::exact_timers();
        let begin = N4::now();
        let addressing = addressing(config, self.teid_base);
        let mut state = Repeating {
            plan,
            replay: Replay::new(Arc::clone(&plan.recording), addressing, plan.keeps_gaps),
            total: plan.times.saturating_mul(plan.recording.scripts.len() as u64),
            schedule: match plan.begin {
                Loop::Open(arrivals) => Some(Schedule::new(arrivals, config.run.into(), 0)),
                _ => None,
            },
            begin,
            due: None,
            stopped: None,
        };
        self.provision(&state)?;
        state.begin = N4::now();
        state.next_due();
        let mut last_received = state.begin;
        loop {
            let came = self.n4.pump()?;
            let now = N4::now();
            last_received = if came { now } else { last_received };
            self.repeat_events(&mut state);
            if stop() {
                state.stopped.get_or_insert(now);
            }
            let sent = state.replay.send_due(now, &mut self.n4.smf);
            self.report.refused += u64::from(!sent);
            self.begin_repetitions(&mut state, now);
            self.n4.flush()?;
            let all = self.report.started >= state.total || state.stopped.is_some();
            let waits = state.replay.next_due();
            let given_up = match state.stopped {
                Some(since) => now.since(since) > GRACE,
                None => waits.is_none() && all && now.since(last_received) > PATIENCE,
            };
            if given_up || all && state.replay.under_way() == 0 {
                return Ok(());
            }
            if !came {
                let next = [state.due.filter(|_| !all), waits].into_iter().flatten().min();
                self.n4.rest(next.unwrap_or(now + REST).min(now + REST))?;
            }
        }
    }

    /// Provisions the applications of the capture, and waits for the responses.
    fn provision(&mut self, state: &Repeating<'_>) -> Result<(), LoadError> {
        let provisioned = state.replay.provision(N4::now(), &mut self.n4.smf);
        provisioned.map_err(|why| LoadError::Refused(why.to_string()))?;
        self.n4.flush()?;
        while self.n4.smf.ledger().counts(Kind::Association).pending > 0 {
            if !self.n4.pump()? {
                self.n4.rest(N4::now() + REST)?;
            }
        }
        Ok(())
    }

    fn begin_repetitions(&mut self, state: &mut Repeating<'_>, now: Time) {
        while self.report.started < state.total && state.stopped.is_none() {
            let Some(intended) = state.wanted(now) else { return };
            if state.replay.begin(now, intended, &mut self.n4.smf).is_err() {
                self.report.refused += 1;
                return;
            }
            self.report.due += 1;
            self.report.started += 1;
            self.report.lag.record(now.since(intended).as_nanos() as u64);
            state.next_due();
        }
    }

    fn repeat_events(&mut self, state: &mut Repeating<'_>) {
        while let Some(event) = self.n4.event() {
            let now = N4::now();
            match &event {
                SmfEvent::Done(done) => self.record(done),
                SmfEvent::PeerRestarted { .. } => {
                    self.report.restarts += 1;
                    self.report.restarted += state.replay.clear() as u64;
                    // The sessions are lost, and so is the association. Further sessions cannot be established.
                    state.stopped.get_or_insert(now);
                }
                SmfEvent::Report(_, report) => self.count_report(report.report_type),
                _ => {}
            }
            if let Some(Ended { ending, intended }) = state.replay.on_event(now, &event, &mut self.n4.smf) {
                match ending {
                    Ending::Failed => self.report.failed += 1,
                    Ending::Completed => self.repetition_completed(intended, now),
                }
            }
        }
    }

    /// Counts a completed session. If it ended within the sending window, also counts it there.
    pub(super) fn repetition_completed(&mut self, intended: Time, ended: Time) {
        self.report.completed += 1;
        self.report.cycle.record(ended.since(intended).as_nanos() as u64);
        self.second(ended, |second| second.cycles += 1);
    }

    pub(super) fn count_report(&mut self, report_type: ReportType) {
        self.report.usage_reports += u64::from(report_type.contains(ReportType::USAR));
        self.report.data_reports += u64::from(report_type.contains(ReportType::DLDR));
    }
}
