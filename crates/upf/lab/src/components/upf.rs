//! ranlab's user plane function (UPF) as a component.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use crate::load::N3Io;
use crate::upf::{Design, N6, UpfConfig, UpfReport, UpfServer, XdpDevices, ntp_seconds};
use ranlab_upf::forwarding::PlaneCounters;
use ranlab_upf::n4::{Dialect, MockSettings, UePool, UpfFault, UpfSettings};
use serde::Serialize;

use crate::Cpus;
use crate::fields::UpfNames;
use ranlab_lab::choices;
use ranlab_lab::field::{Maybe, Text};
use ranlab_lab::worker::{ComponentError, Counters, Report};
use ranlab_lab::{RunningComponent, config, environment, rig, sut};

/// UDP port of GTP-U.
const GTPU: u16 = ranlab_packet::gtpu::PORT;

choices! {
    /// Threading designs of a UPF.
    pub enum UpfDesign {
        /// One polling worker runs PFCP and packets to completion.
        CpOffload = "cp-offload",
        /// A master thread receives all packets and distributes them to workers.
        Software = "software",
        /// A separate data thread processes packets. Rules are installed there before the response is sent.
        DpOffload = "dp-offload",
        /// Not a UPF: accepts sessions and forwards packets unread. Shows the maximum rate of the sockets.
        Bare = "bare",
    }
}

config! {
    /// Settings of a UPF.
    pub struct UpfComponent {
        /// division of work: cp-offload (one worker runs PFCP and packets to completion), software (a master
        /// distributes packets to workers), dp-offload (a separate data thread; rules are installed before the response
        /// is sent), bare (forwards packets unread)
        design: UpfDesign = UpfDesign::CpOffload;
        /// address and port of N4
        n4: SocketAddr = SocketAddr::from(([127, 0, 0, 8], 8805));
        /// address and port of N3
        n3: SocketAddr = SocketAddr::from(([127, 0, 0, 8], GTPU));
        /// packet I/O of N3: sockets, or memif:PATH, shared-memory rings to which `load upf --io memif:PATH` connects
        n3_io: N3Io as Text = N3Io::Sockets, local();
        /// data network: sink, reflect, udp://LOCAL,PEER (IP packets in UDP), tun://NAME
        n6: N6 as Text = N6::Reflect, wiring();
        /// PFCP dialect that the UPF requires: strict-rel15, strict-rel17, open5gs, eupf
        dialect: Dialect as UpfNames = Dialect::STRICT_REL17;
        /// with --design software: number of workers
        workers: usize = 1;
        /// pool of UE addresses that the UPF assigns at the request of an SMF, e.g. 10.60.0.0/16; the first and the
        /// last address are not assigned
        ue_pool: Option<UePool> as Maybe<Text> = None, wiring();
        /// PFCP messages dropped on purpose, per thousand
        loss_permille: u16 = 0, range(0, 1_000);
        /// seed that selects which messages are dropped on purpose; each repeat of a campaign uses another one
        seed: u64 = 1, wiring();
        /// maximum number of sessions
        max_sessions: usize = 1 << 20;
        /// with --design dp-offload: additional time for each change of rules
        install: Duration = Duration::ZERO;
        /// processing time of each PFCP message; messages are processed one at a time
        service: Duration = Duration::ZERO;
        /// additional processing time of each PFCP message per established session
        scan: Duration = Duration::ZERO;
        /// XDP devices of N3 and N6 for forwarding in the kernel, as n3,n6 or n3,n6,native (XDP in the driver); packets
        /// that XDP cannot forward use --n6
        xdp: Option<XdpDevices> as Maybe<Text> = None, local(), when("design", &["dp-offload"]);
        /// name of a fault that the UPF has on purpose, to test UPF checks (docs/explanation/upf.md)
        fault: Option<UpfFault> as Maybe<UpfNames> = None, wiring();
        /// CPUs of the UPF, e.g. 0,1: first the control thread, then workers
        pin: Cpus = Cpus::default();
        /// maximum number of responses that are stored to answer retransmitted requests
        held_answers: usize = 1 << 16;
        /// maximum number of waiting PFCP messages
        queue: usize = 1 << 16;
        /// number of PFCP messages after which the UPF stops responding
        crash_after: Option<u64> = None;
        /// time from a stop by --crash-after to the restart of the UPF
        restart_after: Option<Duration> = None;
        /// poll without sleeping when idle
        busy_poll: bool = false;
    }
}

impl UpfComponent {
    fn upf(&self) -> Result<UpfConfig, ComponentError> {
        if self.xdp.is_some() && self.design != UpfDesign::DpOffload {
            return Err(rig("`xdp` requires the design dp-offload"));
        }
        let n3_memif = match &self.n3_io {
            N3Io::Sockets => None,
            N3Io::Memif { .. } if self.design == UpfDesign::Bare || self.xdp.is_some() => {
                return Err(rig("`n3_io` = memif cannot be combined with the design bare or with `xdp`"));
            }
            N3Io::Memif { path } => Some(path.clone()),
            N3Io::AfXdp { .. } => return Err(rig("`n3_io` is sockets or memif:PATH; `xdp` names devices")),
        };
        Ok(UpfConfig {
            n3_memif,
            n4: self.n4,
            n3: self.n3,
            n6: self.n6.clone(),
            design: match self.design {
                UpfDesign::CpOffload => Design::CpOffload,
                UpfDesign::Software => Design::Software { workers: self.workers },
                UpfDesign::DpOffload => Design::DpOffload { install: self.install },
                UpfDesign::Bare => Design::Bare,
            },
            settings: UpfSettings {
                recovery_time_stamp: ntp_seconds(),
                max_sessions: self.max_sessions,
                held_answers: self.held_answers,
                recognise: true,
                ue_pool: self.ue_pool,
                n3: self.n3.ip(),
                // If N4 listens on a wildcard address, the Node ID is the N3 address, which an SMF can reach.
                ..UpfSettings::new(
                    if self.n4.ip().is_unspecified() { self.n3.ip() } else { self.n4.ip() },
                    self.dialect,
                )
            },
            mock: MockSettings {
                service: self.service,
                scan_per_session: self.scan,
                queue: self.queue,
                loss_permille: self.loss_permille,
                crash_after: self.crash_after,
                seed: self.seed,
                fault: self.fault,
            },
            restart_after: self.restart_after,
            pin: self.pin.0.clone(),
            gtpu_port: GTPU,
            busy_poll: self.busy_poll,
            xdp: self.xdp.clone(),
        })
    }
}

/// A running UPF.
pub struct Upf(UpfServer);

impl Upf {
    /// Binds the sockets of the UPF and starts its threads.
    ///
    /// # Errors
    /// The settings contradict each other, or this machine lacks a required feature.
    pub fn start(part: &UpfComponent) -> Result<Self, ComponentError> {
        UpfServer::start(part.upf()?).map(Self).map_err(environment)
    }

    /// Returns the UPF's addresses for SMFs and base stations, and its address for the data network if N6 is a socket.
    pub fn listening(&self) -> UpfListening {
        UpfListening { n4: self.0.n4(), n3: self.0.n3(), n6: self.0.n6() }
    }

    /// Stops the UPF and returns its counters.
    ///
    /// # Errors
    /// A socket or a thread failed while the UPF ran.
    pub fn stop(self) -> Result<UpfSummary, ComponentError> {
        self.0.stop().map(UpfSummary::from).map_err(environment)
    }
}

impl RunningComponent for Upf {
    fn addresses(&self) -> BTreeMap<String, String> {
        let UpfListening { n4, n3, n6 } = self.listening();
        let all = [("n4", Some(n4)), ("n3", Some(n3)), ("n6", n6)];
        all.into_iter().filter_map(|(name, at)| Some((name.to_owned(), at?.to_string()))).collect()
    }

    fn check(&mut self) -> Result<(), ComponentError> {
        self.0.check().map_err(sut)
    }

    fn counters(&mut self) -> Counters {
        [("sessions".to_owned(), self.0.sessions() as f64)].into()
    }

    fn end(&mut self, report: &mut Report) {
        report.numbers = self.counters();
    }
}

/// Listening addresses of a UPF.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct UpfListening {
    /// N4, for SMFs.
    pub n4: SocketAddr,
    /// N3, for base stations.
    pub n3: SocketAddr,
    /// N6, for the data network, if that is a socket.
    pub n6: Option<SocketAddr>,
}

/// Counters of the data plane in the kernel.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct XdpSummary {
    /// Session changes installed in the kernel.
    pub installed: u64,
    /// Session changes that the programs in the kernel do not support. The packet engine handles these sessions.
    pub left: u64,
    /// Session changes rejected by the kernel.
    pub refused: u64,
    /// Uplink packets.
    pub uplink: u64,
    /// Downlink packets.
    pub downlink: u64,
}

/// Counters of a UPF.
#[derive(Debug, Clone, Serialize)]
pub struct UpfSummary {
    /// PFCP requests.
    pub requests: u64,
    /// Requests rejected.
    pub refused: u64,
    /// Repeated requests, which get the same response again.
    pub duplicates: u64,
    /// Requests that the UPF did not answer, as its dialect requires.
    pub silent: u64,
    /// Datagrams that are not valid PFCP.
    pub unreadable: u64,
    /// Datagrams dropped on purpose, or because the queue was full.
    pub mock_lost: u64,
    /// Sessions at the end.
    pub sessions_left: usize,
    /// Packet counters.
    #[serde(flatten)]
    pub packets: PlaneCounters,
    /// Packets dropped, by reason. Reasons without packets are left out.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Batches dropped because a worker's queue was full.
    pub handoff_dropped: u64,
    /// Datagrams that the kernel did not accept.
    pub unsent: u64,
    /// Counters of the data plane in the kernel, if XDP is used.
    pub xdp: Option<XdpSummary>,
    /// CPU time of control thread and workers, in seconds.
    pub cpu_s: f64,
    /// CPU time per request, in microseconds.
    pub cpu_us_per_request: Option<f64>,
    /// Protocol layer to which the UPF's bit rates refer.
    pub rate_layer: &'static str,
}

impl From<UpfReport> for UpfSummary {
    fn from(report: UpfReport) -> Self {
        let requests = report.requests.requests;
        Self {
            requests,
            refused: report.requests.refused,
            duplicates: report.requests.duplicates,
            silent: report.requests.silent,
            unreadable: report.requests.dropped,
            mock_lost: report.mock_lost,
            sessions_left: report.sessions,
            packets: report.packets,
            dropped: report.drops().filter(|(_, count)| *count > 0).collect(),
            handoff_dropped: report.handoff_dropped,
            unsent: report.unsent,
            xdp: report.xdp.map(|xdp| XdpSummary {
                installed: xdp.installed,
                left: xdp.left,
                refused: xdp.refused,
                uplink: xdp.uplink.0,
                downlink: xdp.downlink.0,
            }),
            cpu_s: report.cpu.as_secs_f64(),
            cpu_us_per_request: (requests > 0).then(|| report.cpu.as_secs_f64() * 1e6 / requests as f64),
            rate_layer: ranlab_upf::forwarding::RATE_LAYER,
        }
    }
}
