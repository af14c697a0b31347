//! Control plane load. Sessions are established, get a tunnel, are held, moved and deleted.
use super::LoadConfig;
use super::arrivals::{Arrivals, Schedule};
use super::flows::Flows;
use super::n4::N4;
use super::outcome::{CycleReport, Second, SendingWindow};
use super::table::{Cycle, Phase, Table};
use super::tunnels::Tunnels;
use ranlab_machine::Time;
use ranlab_upf::n4::{
    Change, Counts, Kind, Outcome, Refused, RequestEnd, SessionId, SessionSpec, SmfEvent, Tunnel,
};
use ranlab_upf::pfcp::{Cause, FTeid, ReportType};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Rule that determines when sessions begin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loop {
    /// A fixed number of concurrent cycles. The end of a cycle starts the next cycle.
    Closed {
        /// Number of concurrent cycles.
        window: usize,
    },
    /// A schedule that responses cannot delay.
    Open(Arrivals),
    /// Sessions begin at random times within a round. All of them end with the round.
    Rounds {
        /// Sessions per round.
        sessions: usize,
        /// Duration of a round.
        period: Duration,
    },
}

/// Plan of session cycles.
#[derive(Debug, Clone)]
pub struct CyclePlan {
    /// Rule that determines when sessions begin.
    pub begin: Loop,
    /// Maximum number of cycles. `None`: only the duration limits the number.
    pub cycles: Option<u64>,
    /// Time during which new cycles begin.
    pub duration: Duration,
    /// Time from the creation of a session's tunnel to the deletion of the session.
    pub hold: Duration,
    /// Whether sessions remain instead of being deleted.
    pub keep: bool,
    /// Range of session numbers that may be used.
    pub flows: std::ops::Range<usize>,
    /// Seed of the schedule.
    pub seed: u64,
    /// Number of this sender, if there are several senders.
    pub sender: u64,
}

/// Runs cycles over one [`N4`].
#[derive(Debug)]
pub struct Cycles {
    /// SMF that sends the requests.
    pub n4: N4,
    flows: Arc<Flows>,
    gnbs: Vec<IpAddr>,
    /// First uplink TEID, if the SMF chooses TEIDs.
    pub(super) teid_base: u32,
    /// Settings of the uplink tunnels, such as the N3 address of the UPF.
    n3: Tunnels,
    running: Table,
    /// Free session numbers. The next one is taken from the back.
    free: VecDeque<usize>,
    /// Numbers of sessions that may still exist at the UPF. A new session with such a number could conflict.
    doubtful: BTreeSet<usize>,
    ends: BinaryHeap<Reverse<(Time, u64)>>,
    /// Results since the last reset.
    pub report: CycleReport,
    began: Time,
    run_began: Time,
    /// State of the sending window, for which rates are computed. `None` if no plan runs or the window has ended.
    sending: Option<Sending>,
    ask_again: Option<Time>,
    /// Numbers of begun, completed and failed sessions that the observer has received.
    told: [u64; 3],
}

/// Interval between association setup requests after a restart of the UPF.
const ASK_AGAIN: Duration = Duration::from_millis(250);

impl Cycles {
    /// Creates a driver without cycles.
    pub fn new(n4: N4, flows: Arc<Flows>, gnbs: Vec<IpAddr>, teid_base: u32, config: &LoadConfig) -> Self {
        Self {
            n4,
            flows,
            gnbs,
            teid_base,
            n3: Tunnels::from_config(config),
            running: Table::default(),
            free: VecDeque::new(),
            doubtful: BTreeSet::new(),
            ends: BinaryHeap::new(),
            report: CycleReport::default(),
            began: N4::now(),
            run_began: N4::now(),
            sending: None,
            ask_again: None,
            told: [0; 3],
        }
    }

    /// Returns the number of sessions that have begun and not ended.
    pub fn under_way(&self) -> usize {
        self.running.len()
    }

    /// Returns the sessions that remain, with their numbers.
    pub fn kept(&self) -> Vec<(SessionId, usize)> {
        let kept = self.running.iter().filter(|cycle| cycle.phase == Phase::Kept);
        let mut kept: Vec<_> = kept.map(|cycle| (SessionId(cycle.id), cycle.flow)).collect();
        kept.sort_unstable_by_key(|(_, flow)| *flow);
        kept
    }

    /// Resets the results and restarts their clock.
    pub fn restart_report(&mut self) {
        self.update_observer();
        self.report = CycleReport::default();
        self.told = [0; 3];
        self.began = N4::now();
    }

    /// Runs a plan until its duration or number of cycles is reached, and every session that does not remain has ended. `stop` ends the
    /// plan early.
    pub fn run(&mut self, plan: &CyclePlan, stop: &dyn Fn() -> bool) -> io::Result<()> {
        ranlab_net::exact_timers();
        let free = plan.flows.clone().rev().filter(|n| self.flows.live(*n).is_none());
        let (doubtful, good): (Vec<_>, Vec<_>) = free.partition(|n| self.doubtful.contains(n));
        self.free = doubtful.into_iter().chain(good).collect();
        let seed = plan.seed;
        let sender = plan.sender;
        let mut schedule = match plan.begin {
            Loop::Open(arrivals) => Some(Schedule::new(arrivals, seed, sender)),
            Loop::Rounds { sessions, period } => Some(Schedule::rounds(sessions, period, seed, sender)),
            Loop::Closed { .. } => None,
        };
        let begin = N4::now();
        self.run_began = begin;
        let end = begin + plan.duration;
        self.sending = Some(Sending::new(self, plan, begin));
        let due_at = |schedule: &mut Option<Schedule>| {
            schedule.as_mut().map(|schedule| begin + Duration::from_nanos(schedule.next_ns()))
        };
        let mut next_due = due_at(&mut schedule);
        let mut started = 0;
        loop {
            let came = self.n4.pump()?;
            self.events(plan)?;
            self.update_observer();
            let now = N4::now();
            self.note_waiting(now);
            let more = now < end && plan.cycles.is_none_or(|most| started < most) && !stop();
            while more && plan.cycles.is_none_or(|most| started < most) {
                let next_start = match (plan.begin, next_due) {
                    (Loop::Closed { window }, _) => (self.busy() < window).then_some(now),
                    (_, next_due) => next_due.filter(|due_at| *due_at <= now && *due_at < end),
                };
                let Some(intended) = next_start else { break };
                if !self.begin(now, intended, plan.keep) {
                    break;
                }
                started += 1;
                self.report.due += 1;
                if schedule.is_some() {
                    next_due = due_at(&mut schedule);
                }
            }
            self.n4.flush()?;
            if !more && !stop() {
                // Counts the sessions that were due but did not begin.
                while plan.cycles.is_none_or(|most| started < most) && next_due.is_some_and(|at| at < end) {
                    (started, next_due) = (started + 1, due_at(&mut schedule));
                    self.report.due += 1;
                }
            }
            // If a closed loop has a fixed number of sessions, its window lasts until the last session has ended.
            let by_number = matches!(plan.begin, Loop::Closed { .. }) && now < end && !stop();
            if !more && !by_number {
                self.end_window(now.min(end));
            }
            // Deletions that are due at the end of the window are not counted in it.
            self.end_held(now)?;
            self.n4.flush()?;
            if !more && (self.running.len() == self.running.in_phase(Phase::Kept) || self.given_up(end)) {
                self.end_window(now.min(end));
                return Ok(());
            }
            if !came {
                let next = self.ends.peek().map(|Reverse((at, _))| *at);
                let until = [next_due.filter(|_| more), next].into_iter().flatten().min();
                self.n4.rest(until.unwrap_or(now + REST).min(now + REST))?;
            }
        }
    }

    /// Returns three counts since the start: requests, requests that the kernel did not accept, and answered requests.
    pub(super) fn requests(&self) -> [u64; 3] {
        let ledger = self.n4.smf.ledger();
        [ledger.total(|counts| counts.sent), self.n4.unsent, ledger.total(Counts::answered)]
    }

    /// Records the number of sessions that are waiting for a response.
    fn note_waiting(&mut self, now: Time) {
        let waiting = self.busy() as u64;
        if let Some(sending) = &self.sending {
            let share = now.since(sending.begin).as_secs_f64() / sending.length.as_secs_f64().max(1e-9);
            self.report.window.waiting(share, waiting);
        }
    }

    /// Ends the sending window. Later responses do not count for rates.
    fn end_window(&mut self, at: Time) {
        let now = self.requests();
        let Some(sending) = self.sending.as_mut().filter(|sending| sending.ended.is_none()) else { return };
        sending.ended = Some(at);
        let [made, unsent, answered]: [u64; 3] = std::array::from_fn(|n| now[n] - sending.before[n]);
        let held_back = if sending.full { self.report.due.saturating_sub(self.report.started) } else { 0 };
        let window = &mut self.report.window;
        window.length = at.since(sending.begin);
        window.made = made;
        window.unsent = unsent;
        window.answered = answered;
        window.held_back = held_back;
    }

    /// Calls `count` for a session that ended at `ended`, if the sending window includes this time.
    fn count_in_window(&mut self, ended: Time, count: impl FnOnce(&mut SendingWindow)) {
        if self.sending.as_ref().is_some_and(|sending| sending.includes(ended)) {
            count(&mut self.report.window);
        }
    }

    /// Updates the observer.
    fn update_observer(&mut self) {
        if let Some(glance) = self.flows.glance() {
            let CycleReport { started, completed, failed, .. } = self.report;
            let now = [started, completed, failed];
            glance.sessions(std::array::from_fn(|n| now[n] - self.told[n]));
            self.told = now;
        }
    }

    /// Returns whether to stop waiting for pending requests. The wait is long enough for all retransmissions of a request.
    fn given_up(&self, end: Time) -> bool {
        const PATIENCE: Duration = Duration::from_secs(60);
        N4::now().since(end) > PATIENCE
    }

    /// Returns the number of cycles that are waiting for a response. Only these count towards the window of a closed loop.
    fn busy(&self) -> usize {
        self.running.in_phase(Phase::Opening) + self.running.in_phase(Phase::Closing)
    }

    /// Begins a session. Returns `false` if that is not possible now.
    fn begin(&mut self, now: Time, intended: Time, keep: bool) -> bool {
        let Some(flow) = self.free.pop_back() else {
            self.sending.iter_mut().for_each(|sending| sending.full = true);
            self.report.refused += 1;
            return false;
        };
        let uplink_teid = self.teid_base.wrapping_add(flow as u32);
        let spec = SessionSpec { ue: self.flows.ue(flow).ip(), uplink_teid };
        match self.n4.smf.establish(now, intended, spec) {
            Ok(id) => {
                self.flows.set_uplink(flow, uplink_teid);
                self.flows.set_end(flow, None);
                self.flows.attach(flow, flow % self.gnbs.len().max(1));
                let phase = Phase::Opening;
                let has_tunnel = !self.n3.upf_chooses;
                self.running.insert(Cycle {
                    id: id.0,
                    flow,
                    intended,
                    phase,
                    keep,
                    failed: false,
                    has_tunnel,
                });
                self.report.started += 1;
                self.sending.iter_mut().for_each(|sending| sending.full = false);
                self.report.lag.record(now.since(intended).as_nanos() as u64);
                true
            }
            Err(refused) => {
                self.sending
                    .iter_mut()
                    .for_each(|sending| sending.full = matches!(refused, Refused::Full(_)));
                self.report.refused += 1;
                self.free.push_back(flow);
                false
            }
        }
    }

    /// Deletes sessions whose hold time has passed.
    fn end_held(&mut self, now: Time) -> io::Result<()> {
        while let Some(&Reverse((at, id))) = self.ends.peek() {
            if at > now {
                break;
            }
            self.ends.pop();
            let Some(cycle) = self.running.get(id).copied() else { continue };
            self.flows.set_live(cycle.flow, false);
            match self.n4.smf.delete(now, at, SessionId(id)) {
                Ok(()) => {
                    self.running.change(id, |cycle| cycle.phase = Phase::Closing);
                    self.report.lag.record(now.since(at).as_nanos() as u64);
                }
                Err(Refused::Full(_)) => {
                    self.report.refused += 1;
                    self.ends.push(Reverse((at, id)));
                    break;
                }
                Err(_) => {
                    let again = u64::from(!cycle.failed);
                    self.forget(id, false, |report| report.failed += again);
                }
            }
        }
        Ok(())
    }

    /// Handles events and starts the next steps.
    pub fn events(&mut self, plan: &CyclePlan) -> io::Result<()> {
        while let Some(event) = self.n4.event() {
            match event {
                SmfEvent::Done(done) => self.done(plan, done),
                SmfEvent::Tunnel(id, tunnel) => self.tunnel(id, tunnel.f_teid),
                SmfEvent::PeerRestarted { .. } => self.restarted(),
                SmfEvent::Report(id, report) => self.reported(id, report.report_type),
                SmfEvent::Associated { .. } => self.ask_again = None,
                SmfEvent::NodeReport(_) | SmfEvent::ReleaseRequested | SmfEvent::Malformed(_) => {}
            }
        }
        let now = N4::now();
        if !self.n4.smf.is_associated() && self.ask_again.is_none_or(|at| at <= now) {
            self.ask_again = Some(now + ASK_AGAIN);
            // If the request table is full, the association setup is repeated after its timers have expired.
            let _ = self.n4.smf.associate(now);
        }
        self.n4.flush()
    }

    /// Records the tunnel that the UPF has chosen.
    fn tunnel(&mut self, id: SessionId, f_teid: Option<FTeid>) {
        let (Some(cycle), Some(FTeid::Assigned { teid, addresses })) = (self.running.get(id.0), f_teid)
        else {
            return;
        };
        let Tunnels { address: n3, only_there, .. } = self.n3;
        let same = if n3.is_ipv4() { addresses.v4.map(IpAddr::from) } else { addresses.v6.map(IpAddr::from) };
        let flow = cycle.flow;
        // The base stations cannot reach a tunnel with an address of the other IP version.
        let usable = same.filter(|address| teid != 0 && (*address == n3 || !only_there));
        let Some(address) = usable else { return };
        self.flows.set_uplink(flow, teid);
        if self.flows.set_end(flow, Some(address).filter(|address| *address != n3)) {
            self.running.change(id.0, |cycle| cycle.has_tunnel = true);
        }
    }

    /// Handles a restart of the UPF, which has lost all sessions. Established sessions are removed; pending ones end
    /// with their requests.
    fn restarted(&mut self) {
        self.report.restarts += 1;
        let gone: Vec<u64> = self.running.iter().map(|cycle| cycle.id).collect();
        for id in gone {
            self.forget(id, true, |report| report.restarted += 1);
        }
    }

    fn reported(&mut self, id: SessionId, report_type: ReportType) {
        self.count_report(report_type);
        if report_type.contains(ReportType::DLDR) {
            let now = N4::now();
            if let Some(cycle) = self.running.get(id.0) {
                // Emulates paging: the UE responds, and its base station assigns a tunnel.
                let change = self.downlink(cycle.flow, false);
                let _ = self.n4.smf.modify(now, now, id, change);
            }
        }
    }

    fn downlink(&self, flow: usize, end_marker: bool) -> Change {
        let gnb = self.flows.gnb(flow) % self.gnbs.len().max(1);
        let peer = self.gnbs.get(gnb).copied().unwrap_or(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));
        Change::Downlink { tunnel: Tunnel { teid: self.flows.downlink_teid(flow), peer }, end_marker }
    }

    /// Moves a session to another base station.
    pub fn hand_over(&mut self, now: Time, intended: Time, id: SessionId, gnb: usize) -> bool {
        let Some(cycle) = self.running.get(id.0).copied() else { return false };
        self.flows.hand_over(cycle.flow, gnb, now.as_nanos());
        let change = self.downlink(cycle.flow, true);
        self.report.lag.record(now.since(intended).as_nanos() as u64);
        self.n4.smf.modify(now, intended, id, change).is_ok()
    }

    /// Makes a session idle.
    pub fn idle(&mut self, now: Time, id: SessionId) -> bool {
        self.n4.smf.modify(now, now, id, Change::Buffer).is_ok()
    }

    /// Turns remaining sessions into cycles that are being closed. They do not count as completed.
    pub(super) fn close_kept(&mut self) {
        for (id, flow) in self.kept() {
            self.running
                .change(id.0, |cycle| *cycle = Cycle { phase: Phase::Closing, failed: true, ..*cycle });
            self.flows.set_live(flow, false);
        }
    }

    /// Removes cycles whose deletion failed.
    pub(super) fn forget_closing(&mut self) {
        let closing = self.running.iter().filter(|cycle| cycle.phase == Phase::Closing);
        for id in closing.map(|cycle| cycle.id).collect::<Vec<_>>() {
            self.forget(id, false, |_| {});
        }
    }

    fn done(&mut self, plan: &CyclePlan, done: RequestEnd<Option<SessionId>>) {
        self.record(&done);
        let Some(id) = done.about else { return };
        let Some(cycle) = self.running.get(id.0).copied() else { return };
        let accepted = matches!(done.outcome, Outcome::Ok | Outcome::Retransmitted);
        if let Outcome::Late(_) = done.outcome {
            return;
        }
        if done.outcome == Outcome::Rejected(Cause::NO_ASSOCIATION) {
            // The UPF has restarted. Only one association setup is sent at a time, because each setup deletes sessions.
            let now = N4::now();
            if self.ask_again.is_none_or(|at| at <= now) {
                self.ask_again = Some(now + ASK_AGAIN);
                let _ = self.n4.smf.associate(now);
            }
        }
        match (done.kind, accepted) {
            (Kind::Establishment, true) if !cycle.has_tunnel => {
                self.report.without_tunnel += 1;
                self.discard(id, done.ended);
            }
            (Kind::Establishment, true) => {
                let change = self.downlink(cycle.flow, false);
                let now = N4::now();
                if self.n4.smf.modify(now, now, id, change).is_err() {
                    self.report.refused += 1;
                    self.forget(id.0, false, |report| report.failed += 1);
                }
            }
            (Kind::Modification, true) if cycle.keep => {
                if cycle.phase == Phase::Opening {
                    self.completed(cycle, done.ended);
                }
                self.running.change(id.0, |cycle| cycle.phase = Phase::Kept);
                self.flows.set_live(cycle.flow, true);
            }
            (Kind::Modification, true) => {
                self.flows.set_live(cycle.flow, true);
                // The hold time does not count as latency.
                let hold = match plan.begin {
                    Loop::Rounds { period, .. } => self.to_round_end(cycle.intended, period, done.ended),
                    _ => plan.hold,
                };
                let intended = cycle.intended + hold;
                self.running.change(id.0, |cycle| *cycle = Cycle { phase: Phase::Held, intended, ..*cycle });
                self.ends.push(Reverse((done.ended + hold, id.0)));
            }
            (Kind::Modification, false) if cycle.phase == Phase::Kept => self.report.failed += 1,
            (Kind::Modification, false) => self.discard(id, done.ended),
            (Kind::Deletion, true) => {
                if !cycle.failed {
                    self.completed(cycle, done.ended);
                }
                self.forget(id.0, true, |_| {});
            }
            (kind, _) => {
                let gone = match done.outcome {
                    Outcome::Rejected(cause) => {
                        kind == Kind::Establishment || cause == Cause::CONTEXT_NOT_FOUND
                    }
                    _ => false,
                };
                let counted = kind == Kind::Deletion && cycle.failed;
                self.forget(id.0, gone, |report| report.failed += u64::from(!counted));
            }
        }
    }

    /// Counts a session without a usable tunnel as failed, and deletes it.
    fn discard(&mut self, id: SessionId, ended: Time) {
        self.report.failed += 1;
        self.running.change(id.0, |cycle| *cycle = Cycle { phase: Phase::Held, failed: true, ..*cycle });
        self.ends.push(Reverse((ended, id.0)));
    }

    /// Returns the time until the end of the round in which a session was due.
    fn to_round_end(&self, intended: Time, period: Duration, now: Time) -> Duration {
        let period_ns = (period.as_nanos() as u64).max(1);
        let round = intended.since(self.run_began).as_nanos() as u64 / period_ns;
        let end = self.run_began + Duration::from_nanos((round + 1).saturating_mul(period_ns));
        end.since(now)
    }

    fn completed(&mut self, cycle: Cycle, ended: Time) {
        self.count_in_window(ended, |window| window.completed += 1);
        self.repetition_completed(cycle.intended, ended);
    }

    pub(super) fn record(&mut self, done: &RequestEnd<Option<SessionId>>) {
        if matches!(done.outcome, Outcome::Lost) {
            return;
        }
        let latency = done.ended.since(done.intended).as_nanos() as u64;
        self.report.latency.record(done.kind, latency);
        if let Some(glance) = self.flows.glance() {
            glance.answered(latency);
        }
        let service = done.ended.since(done.sent).as_nanos() as u64;
        self.report.service.record(done.kind, service);
        let live = self.n4.smf.live_sessions();
        self.report.live_peak = self.report.live_peak.max(live);
        self.second(done.ended, |second| {
            second.answers += 1;
            second.latency_us_sum += latency as f64 / 1_000.0;
            second.live = live;
        });
    }

    pub(super) fn second(&mut self, at: Time, change: impl FnOnce(&mut Second)) {
        let index = at.since(self.began).as_secs() as usize;
        // The list covers one day. Later values are only in the totals.
        if index < 86_400 {
            if self.report.seconds.len() <= index {
                self.report.seconds.resize(index + 1, Second::default());
            }
            change(&mut self.report.seconds[index]);
        }
    }

    /// Removes a session. `gone` is set if the UPF has certainly deleted the session.
    fn forget(&mut self, id: u64, gone: bool, count: impl FnOnce(&mut CycleReport)) {
        if let Some(cycle) = self.running.remove(id) {
            self.flows.set_live(cycle.flow, false);
            if gone {
                self.doubtful.remove(&cycle.flow);
                self.free.push_back(cycle.flow);
            } else {
                self.doubtful.insert(cycle.flow);
                self.free.push_front(cycle.flow);
            }
            count(&mut self.report);
        }
    }
}

/// The part of a plan for which rates are computed.
#[derive(Debug)]
struct Sending {
    begin: Time,
    /// Planned length of the window. The plan may end earlier.
    length: Duration,
    ended: Option<Time>,
    hold: Duration,
    /// Counters of [`Cycles::requests`] at the start of the window.
    before: [u64; 3],
    /// Whether the last due session could not begin because too many sessions were waiting for responses.
    full: bool,
}

impl Sending {
    fn new(cycles: &Cycles, plan: &CyclePlan, begin: Time) -> Self {
        let before = cycles.requests();
        Self { begin, length: plan.duration, ended: None, hold: plan.hold, before, full: false }
    }

    /// Returns whether `ended` is at most one hold time after the end of the window.
    fn includes(&self, ended: Time) -> bool {
        ended <= self.ended.unwrap_or(self.begin + self.length) + self.hold
    }
}

/// Maximum sleep without work.
pub(super) const REST: Duration = Duration::from_millis(20);
