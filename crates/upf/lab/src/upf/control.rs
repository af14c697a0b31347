//! The control thread: receives PFCP and installs rules.
use super::accounts::{Accounts, Expired};
use super::workers::PacketWorkers;
use super::{BATCH, MAX_DATAGRAM, UpfConfig, UpfError, UpfReport, pin};
use crate::upf::packets::rules;
use ranlab_machine::Time;
use ranlab_net::{PreciseSleep, ReceiveBatch, SendBatch, exact_timers, monotonic_ns, thread_cpu_time};
use ranlab_upf::forwarding::{PlaneEvent, Refusal, UserPlane};
use ranlab_upf::n4::{DataPlane, Mock, RuleFault, Session, UpfEvent, UpfInput, UpfOutput, UsageQuery};
use ranlab_upf::pfcp::*;
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Maximum sleep without work.
const REST: Duration = Duration::from_millis(20);
/// Polling interval for notices of packet threads.
const NOTICE: Duration = Duration::from_millis(1);
/// Seconds between the epochs of NTP (1900) and Unix (1970).
const NTP_OFFSET: u64 = 2_208_988_800;

/// Data plane that the state machine uses while it processes a request.
struct Plane<'a> {
    accounts: &'a mut Accounts,
    now_ns: u64,
}

impl DataPlane for Plane<'_> {
    fn check(&mut self, session: &Session) -> Result<(), RuleFault> {
        UserPlane::check(&rules(session)).map_err(|refusal| {
            tracing::info!(%refusal, "a session's rules are refused");
            let Refusal { cause, failed, .. } = refusal;
            RuleFault { cause, failed: Some(failed) }
        })
    }

    fn check_application(&mut self, application: &ApplicationPfds) -> Result<(), Cause> {
        UserPlane::check_application(application).map_err(|error| {
            tracing::info!(%error, "packet flow descriptions are refused");
            Cause::MANDATORY_IE_INCORRECT
        })
    }

    fn usage(&mut self, seid: u64, query: UsageQuery<'_>) -> Vec<UsageReport> {
        self.accounts.query(self.now_ns, seid, query)
    }
}

/// The control thread.
#[derive(Debug)]
pub(super) struct Control {
    config: UpfConfig,
    mock: Mock,
    socket: UdpSocket,
    received: ReceiveBatch,
    to_send: SendBatch,
    planes: PacketWorkers,
    accounts: Accounts,
    live: Arc<AtomicUsize>,
    crashed_at: Option<u64>,
    unsent: u64,
    rest: PreciseSleep,
}

impl Control {
    pub(super) fn new(
        config: UpfConfig,
        socket: UdpSocket,
        planes: PacketWorkers,
        live: Arc<AtomicUsize>,
    ) -> Self {
        Self {
            mock: Mock::new(config.mock, config.settings.clone()),
            config,
            socket,
            received: ReceiveBatch::merging(MAX_DATAGRAM),
            to_send: SendBatch::segmenting(BATCH, MAX_DATAGRAM),
            planes,
            accounts: Accounts::default(),
            live,
            crashed_at: None,
            unsent: 0,
            rest: PreciseSleep::default(),
        }
    }

    pub(super) fn run(mut self, stop: &AtomicBool) -> Result<UpfReport, UpfError> {
        pin(&self.config.pin, 0);
        exact_timers();
        while !stop.load(Relaxed) {
            let now_ns = monotonic_ns();
            let mut worked = self.requests(now_ns)?;
            worked |= self.planes.turn(now_ns)?;
            worked |= self.notices(now_ns);
            worked |= self.timers(now_ns);
            self.outputs(now_ns)?;
            self.live.store(self.mock.upf().sessions(), Relaxed);
            if !worked && !self.config.busy_poll {
                self.rest(now_ns)?;
            }
        }
        let requests = self.mock.upf().counters();
        let sessions = self.mock.upf().sessions();
        let mock_lost = self.mock.lost + self.mock.overflowed;
        let cpu = thread_cpu_time();
        let done = self.planes.end()?;
        Ok(UpfReport {
            requests,
            packets: done.counters,
            sessions,
            mock_lost,
            handoff_dropped: done.handoff_dropped,
            unsent: self.unsent + done.unsent,
            n6_strangers: done.strangers,
            cpu: cpu + done.cpu,
            xdp: done.xdp,
        })
    }

    fn rest(&mut self, now_ns: u64) -> io::Result<()> {
        let most = if self.planes.has_threads() { NOTICE } else { REST };
        let mock_ns = self.mock.wake_at().map(Time::as_nanos);
        let until_ns = [mock_ns, self.accounts.due_ns()].into_iter().flatten().min().unwrap_or(u64::MAX);
        let mut descriptors = vec![self.socket.as_fd()];
        descriptors.extend(self.planes.descriptors());
        let most_ns = now_ns + most.as_nanos() as u64;
        self.rest.wait(&descriptors, now_ns, until_ns.min(most_ns)).map(drop)
    }

    /// Receives and processes requests. Returns whether a datagram was received.
    fn requests(&mut self, now_ns: u64) -> io::Result<bool> {
        let now = Time::from_nanos(now_ns);
        let Self { mock, socket, received, accounts, .. } = self;
        let came = received.receive(socket)?;
        let mut plane = Plane { accounts, now_ns };
        // The service time of a request begins with its arrival, not when this thread wakes up.
        for (from, datagram, at_ns) in received.stamped() {
            mock.handle_with(Time::from_nanos(at_ns), UpfInput::Received(from, datagram), &mut plane);
        }
        if came == 0 && mock.wake_at().is_some_and(|at| at <= now) {
            mock.handle_with(now, UpfInput::Wake, &mut plane);
        }
        self.revive(now_ns);
        Ok(came > 0)
    }

    fn revive(&mut self, now_ns: u64) {
        if !self.mock.is_crashed() {
            return;
        }
        let since = *self.crashed_at.get_or_insert_with(|| {
            tracing::warn!("the mock has crashed, as configured");
            // The data plane crashes together with the control plane.
            self.planes.clear();
            now_ns
        });
        let passed = Duration::from_nanos(now_ns.saturating_sub(since));
        if self.config.restart_after.is_some_and(|after| passed >= after) {
            self.mock.restart();
            self.accounts.clear();
            self.crashed_at = None;
        }
    }

    /// Executes the outputs of the state machine. Responses are sent after the rules that they confirm are installed.
    fn outputs(&mut self, now_ns: u64) -> io::Result<()> {
        while let Some(output) = self.mock.poll() {
            match output {
                UpfOutput::Send(to, datagram) => {
                    if self.to_send.is_full() {
                        self.send()?;
                    }
                    self.to_send.copy(Some(to), &datagram);
                    self.mock.upf_mut().recycle(datagram);
                }
                UpfOutput::Event(event) => self.apply(now_ns, event),
            }
        }
        self.planes.send()?;
        self.send()
    }

    fn send(&mut self) -> io::Result<()> {
        if !self.to_send.is_empty() {
            let waiting = self.to_send.len();
            let sent = self.to_send.send(&self.socket)?;
            self.unsent += (waiting - sent.datagrams) as u64;
            self.to_send.clear();
        }
        Ok(())
    }

    fn apply(&mut self, now_ns: u64, event: UpfEvent) {
        match event {
            UpfEvent::Established(seid) => self.install(now_ns, seid, Vec::new(), &[]),
            UpfEvent::Modified { seid, end_markers, drop_buffered, granted } => {
                if drop_buffered {
                    self.planes.drop_buffered(seid);
                }
                self.install(now_ns, seid, end_markers, &granted);
            }
            UpfEvent::EstablishedAlike { seid, shape, teid, ue } => {
                self.planes.install_like(shape, seid, teid, ue, self.mock.upf().prototype(shape));
            }
            UpfEvent::Redirected { seid, teid, peer, left } => {
                self.planes.redirect(seid, teid, peer, left);
            }
            UpfEvent::DropBuffered(seid) => self.planes.drop_buffered(seid),
            UpfEvent::Deleted(seid) => {
                self.planes.remove(seid);
                self.accounts.remove(seid);
            }
            UpfEvent::Associated(peer) => tracing::info!(%peer, "associated"),
            UpfEvent::Released(peer, sessions) => tracing::info!(%peer, sessions, "released"),
            UpfEvent::Reported(_) => {}
        }
    }

    fn install(&mut self, now_ns: u64, seid: u64, end_markers: Vec<OuterHeaderCreation>, granted: &[UrrId]) {
        let Some(session) = self.mock.upf().session(seid) else { return };
        let meters = self.accounts.install(now_ns, seid, session, granted);
        self.planes.install(now_ns, seid, session, &meters, end_markers);
    }

    fn report_usage(&mut self, now_ns: u64, seid: u64, usage_reports: Vec<UsageReport>) {
        if !usage_reports.is_empty() {
            let report_type = ReportType::new(ReportType::USAR);
            let report = SessionReportRequest { report_type, usage_reports, ..Default::default() };
            self.mock.upf_mut().report(Time::from_nanos(now_ns), seid, report);
        }
    }

    /// Sends reports that are due. Returns whether a report was due.
    fn timers(&mut self, now_ns: u64) -> bool {
        let mut any = false;
        while let Some(Expired { seid, reports, inactive }) = self.accounts.expired(now_ns) {
            any = true;
            self.report_usage(now_ns, seid, reports);
            if inactive {
                let report_type = ReportType::new(ReportType::UPIR);
                let report = SessionReportRequest { report_type, ..Default::default() };
                self.mock.upf_mut().report(Time::from_nanos(now_ns), seid, report);
            }
        }
        any
    }

    /// Processes notices of the packet threads. Returns whether there was a notice.
    fn notices(&mut self, now_ns: u64) -> bool {
        let now = Time::from_nanos(now_ns);
        let mut any = false;
        while let Some(event) = self.planes.event() {
            any = true;
            match event {
                PlaneEvent::DownlinkData { seid, pdr_id } => {
                    self.mock.upf_mut().report_downlink_data(now, seid, PdrId(pdr_id));
                }
                PlaneEvent::Usage { seid, urr_id, crossed, read } => {
                    let reports = self.accounts.crossed(now_ns, seid, urr_id, crossed, read);
                    self.report_usage(now_ns, seid, reports);
                }
                PlaneEvent::ErrorIndication { teid, peer } => self.report_error(now, teid, peer),
            }
        }
        any
    }

    /// Reports an Error Indication from the remote end of a tunnel. The report belongs to the session that sends into the tunnel.
    fn report_error(&mut self, now: Time, teid: u32, peer: IpAddr) {
        let Some(seid) = self.mock.upf().by_downlink_tunnel(teid, peer) else { return };
        let f_teid = FTeid::Assigned { teid, addresses: peer.into() };
        let error_indication_report =
            Some(ErrorIndicationReport { remote_f_teids: vec![f_teid], ..Default::default() });
        let report_type = ReportType::new(ReportType::ERIR);
        let report = SessionReportRequest { report_type, error_indication_report, ..Default::default() };
        self.mock.upf_mut().report(now, seid, report);
    }
}

/// Returns the seconds since 1900, as PFCP uses them. The number wraps in 2036.
pub fn ntp_seconds() -> u32 {
    let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    ntp_of_unix(unix.as_secs())
}

/// Converts seconds since 1970 to the form of a Recovery Time Stamp.
pub(crate) fn ntp_of_unix(seconds: u64) -> u32 {
    (seconds + NTP_OFFSET) as u32
}
