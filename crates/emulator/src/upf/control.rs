//! The control thread: PFCP in, rules out.
use super::workers::Planes;
use super::{BATCH, MAX_DATAGRAM, UpfConfig, UpfError, UpfReport, pin};
use crate::upf::packets::rules;
use ranlab_dataplane::upf::{Meter, PlaneEvent};
use ranlab_machines::Time;
use ranlab_machines::n4::{Mock, UpfEvent, UpfInput, UpfOutput};
use ranlab_net::{ReceiveBatch, Rest, SendBatch, exact_timers, monotonic_ns, thread_cpu_time};
use ranlab_wire::pfcp::*;
use std::collections::HashMap;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// The longest rest without anything to do.
const REST: Duration = Duration::from_millis(20);
/// With packet threads, their notices are looked for this often.
const NOTICE: Duration = Duration::from_millis(1);
/// Seconds between the epochs of NTP (1900) and Unix (1970).
const NTP_OFFSET: u64 = 2_208_988_800;

/// A usage rule and what of it has been reported.
#[derive(Debug)]
struct Account {
    meter: Meter,
    reported: [u64; 4],
    sequence: u32,
    since: u32,
}

/// The control thread.
#[derive(Debug)]
pub(super) struct Control {
    config: UpfConfig,
    mock: Mock,
    socket: UdpSocket,
    received: ReceiveBatch,
    to_send: SendBatch,
    planes: Planes,
    accounts: HashMap<u64, Vec<Account>>,
    live: Arc<AtomicUsize>,
    crashed_at: Option<u64>,
    unsent: u64,
    rest: Rest,
}

impl Control {
    pub(super) fn new(config: UpfConfig, socket: UdpSocket, planes: Planes, live: Arc<AtomicUsize>) -> Self {
        Self {
            mock: Mock::new(config.mock, config.settings.clone()),
            config,
            socket,
            received: ReceiveBatch::merging(MAX_DATAGRAM),
            to_send: SendBatch::segmenting(BATCH, MAX_DATAGRAM),
            planes,
            accounts: HashMap::new(),
            live,
            crashed_at: None,
            unsent: 0,
            rest: Rest::default(),
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
            self.outputs(now_ns)?;
            self.live.store(self.mock.upf().sessions(), Relaxed);
            if !worked && !self.config.busy_poll {
                self.rest(now_ns)?;
            }
        }
        let (requests, sessions) = (self.mock.upf().counters(), self.mock.upf().sessions());
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
        let until_ns = self.mock.wake_at().map_or(u64::MAX, Time::as_nanos);
        let mut descriptors = vec![self.socket.as_fd()];
        descriptors.extend(self.planes.descriptors());
        let most_ns = now_ns + most.as_nanos() as u64;
        self.rest.wait(&descriptors, now_ns, until_ns.min(most_ns)).map(drop)
    }

    /// Receives requests; whether there were any.
    fn requests(&mut self, now_ns: u64) -> io::Result<bool> {
        let now = Time::from_nanos(now_ns);
        let Self { mock, socket, received, accounts, .. } = self;
        let came = received.receive(socket)?;
        let mut usage = |seid| last_reports(accounts, seid);
        // Service times begin when a request has come, not when this thread has woken up for it.
        for (from, datagram, at_ns) in received.stamped() {
            mock.handle_metered(Time::from_nanos(at_ns), UpfInput::Received(from, datagram), &mut usage);
        }
        if came == 0 && mock.wake_at().is_some_and(|at| at <= now) {
            mock.handle_metered(now, UpfInput::Wake, &mut usage);
        }
        self.revive(now_ns);
        Ok(came > 0)
    }

    fn revive(&mut self, now_ns: u64) {
        if !self.mock.is_crashed() {
            return;
        }
        let since = *self.crashed_at.get_or_insert_with(|| {
            tracing::warn!("the mock has crashed, as it was told to");
            // Its packets die with it.
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

    /// What the machine wants: answers go out after the rules that they promise are in.
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
            UpfEvent::Established(seid) => self.install(now_ns, seid, Vec::new()),
            UpfEvent::Modified { seid, end_markers, drop_buffered } => {
                if drop_buffered {
                    self.planes.drop_buffered(seid);
                }
                self.install(now_ns, seid, end_markers);
            }
            UpfEvent::EstablishedAlike { seid, shape, teid, ue } => {
                self.planes.install_like(shape, seid, teid, ue, self.mock.upf().prototype(shape));
            }
            UpfEvent::Redirected { seid, teid, peer, left } => {
                self.planes.redirect(seid, teid, peer, left);
            }
            UpfEvent::Deleted(seid) => {
                self.planes.remove(seid);
                self.accounts.remove(&seid);
            }
            UpfEvent::Associated(peer) => tracing::info!(%peer, "associated"),
            UpfEvent::Released(peer, sessions) => tracing::info!(%peer, sessions, "released"),
            UpfEvent::Reported(_) => {}
        }
    }

    fn install(&mut self, now_ns: u64, seid: u64, end_markers: Vec<OuterHeaderCreation>) {
        let Some(session) = self.mock.upf().session(seid) else { return };
        let mut meters = Vec::new();
        if !session.urrs.is_empty() {
            let before = self.accounts.remove(&seid).unwrap_or_default();
            let old: Vec<Meter> = before.iter().map(|account| account.meter.clone()).collect();
            meters = rules(session).meters(&old);
            let account = |meter: &Meter| {
                let known = before.iter().find(|account| account.meter.urr_id == meter.urr_id);
                Account {
                    meter: meter.clone(),
                    reported: known.map_or([0; 4], |account| account.reported),
                    sequence: known.map_or(0, |account| account.sequence),
                    since: known.map_or_else(ntp_seconds, |account| account.since),
                }
            };
            self.accounts.insert(seid, meters.iter().map(account).collect());
        }
        self.planes.install(now_ns, seid, session, &meters, end_markers);
    }

    /// What packets have to say; whether there was anything.
    fn notices(&mut self, now_ns: u64) -> bool {
        let now = Time::from_nanos(now_ns);
        let mut any = false;
        while let Some(event) = self.planes.event() {
            any = true;
            let upf = self.mock.upf_mut();
            match event {
                PlaneEvent::DownlinkData { seid, pdr_id } => {
                    upf.report_downlink_data(now, seid, PdrId(pdr_id));
                }
                PlaneEvent::Threshold { seid, urr_id } => {
                    let accounts = self.accounts.get_mut(&seid);
                    let account = accounts.and_then(|all| all.iter_mut().find(|a| a.meter.urr_id == urr_id));
                    if let Some(account) = account {
                        let report = SessionReportRequest {
                            report_type: ReportType::new(ReportType::USAR),
                            usage_reports: vec![account.report(UsageReportTrigger::VOLTH)],
                            ..Default::default()
                        };
                        upf.report(now, seid, report);
                    }
                }
                PlaneEvent::ErrorIndication { seid, teid, peer } => {
                    let f_teid = FTeid::Assigned { teid, addresses: peer.into() };
                    let report = SessionReportRequest {
                        report_type: ReportType::new(ReportType::ERIR),
                        error_indication_report: Some(ErrorIndicationReport {
                            remote_f_teids: vec![f_teid],
                            ..Default::default()
                        }),
                        ..Default::default()
                    };
                    upf.report(now, seid, report);
                }
            }
        }
        any
    }
}

/// What a session has used since the last report, for its deletion.
fn last_reports(accounts: &mut HashMap<u64, Vec<Account>>, seid: u64) -> Vec<UsageReport> {
    let accounts = accounts.get_mut(&seid).map(|accounts| accounts.iter_mut()).into_iter().flatten();
    accounts.map(|account| account.report(UsageReportTrigger::TERMR)).collect()
}

impl Account {
    fn report(&mut self, trigger: u128) -> UsageReport {
        let read = self.meter.usage.read();
        let before = std::mem::replace(&mut self.reported, read);
        let [up, up_packets, down, down_packets] = std::array::from_fn(|n| read[n] - before[n]);
        let volume = |uplink: u64, downlink: u64| Volume {
            total: Some(uplink + downlink),
            uplink: Some(uplink),
            downlink: Some(downlink),
        };
        let (start, end) = (self.since, ntp_seconds());
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        self.since = end;
        UsageReport {
            urr_id: UrrId(self.meter.urr_id),
            ur_seqn: UrSeqn(sequence),
            usage_report_trigger: UsageReportTrigger::new(trigger),
            start_time: Some(NtpSeconds(start)),
            end_time: Some(NtpSeconds(end)),
            volume_measurement: Some(VolumeMeasurement {
                octets: volume(up, down),
                packets: volume(up_packets, down_packets),
            }),
            ..Default::default()
        }
    }
}

/// Seconds since 1900, as PFCP counts them; they wrap in 2036.
pub fn ntp_seconds() -> u32 {
    let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    ntp_of_unix(unix.as_secs())
}

/// Seconds since 1970 as a Recovery Time Stamp has them.
pub(crate) fn ntp_of_unix(seconds: u64) -> u32 {
    (seconds + NTP_OFFSET) as u32
}
