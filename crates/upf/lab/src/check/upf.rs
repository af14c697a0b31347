//! Conformance checks of a UPF for PFCP and GTP-U, including known defects of implementations.
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::load::{
    LoadError, N4, Network, PROBE_BYTES, Probe, Process, TracedMessage, UePool, default_gnb, default_smf,
    nth, write_packet,
};
use crate::upf::ntp_seconds;
use ranlab_packet::gtpu::{self, GpduTemplate, PduSession};
use ranlab_upf::n4::*;
use ranlab_upf::pfcp::*;

use super::clauses::{ASSOCIATION, CHECKS, CHOSEN_TEID, SESSION, SHARING};
use super::packets::{Reflector, Trace};
use super::scene::ue_port;
use crate::fields::UpfNames;
use ranlab_lab::check::{CaseFailure, CheckTarget, Outcome, Verdict, chosen, fails, folder, listed, run};
use ranlab_lab::config;
use ranlab_lab::field::Text;
use ranlab_lab::worker::ComponentError;

config! {
    /// Settings of a UPF check.
    pub struct UpfCheck {
        /// address and port of the UPF's N3; if set, packets are checked, too
        n3: Option<SocketAddr> = None, wiring();
        /// address and port of the emulated base station. Default: 127.0.1.1:2152 for a UPF on this machine,
        /// otherwise the address from which this machine reaches the UPF's N3
        gnb: Option<SocketAddr> = None;
        /// address and port of the first emulated SMF; further SMFs use the next addresses of this machine. Keep port
        /// 8805: some UPFs always send responses to it. Default: a fixed address for each check of a UPF on loopback,
        /// otherwise the address from which this machine reaches the UPF
        smf: Option<SocketAddr> = None;
        /// emulated data network, which reflects packets: none (the UPF is connected to another data network), udp://LOCAL,UPF or
        /// routed://ADDRESS
        n6: Network as Text = Network::None, wiring();
        /// address and port of the server that UEs send to; it must reflect UDP. A routed data network must have this
        /// address
        server: SocketAddr = SocketAddr::from(([10, 45, 0, 1], 9));
        /// address and port of the server that dual-stack UEs send IPv6 packets to; it must reflect UDP. Without it, or
        /// with a routed data network, 2001:db8:45::1 port 9 in a data network that reflects all packets
        server6: SocketAddr = SocketAddr::from(([0x2001, 0xdb8, 0x45, 0, 0, 0, 0, 1], 9));
        /// address of the first UE, in the UPF's pool
        ue: IpAddr = IpAddr::from([10, 60, 0, 1]);
        /// dialect of the UPF, from which the checks start
        dialect: Dialect as UpfNames = Dialect::STRICT_REL17;
        /// maximum time to wait for a response
        patience: Duration = Duration::from_millis(500);
        /// run only checks whose names contain one of these words, e.g. trap 3,echo; without it, all checks run
        only: Vec<String> = Vec::new();
        /// skip checks whose names contain one of these words, e.g. those that end the UPF
        except: Vec<String> = Vec::new();
        /// also send truncated and random messages, which have crashed UPFs
        hostile: bool = false;
        /// process id of the UPF; its exit is reported for the check that caused it
        upf_pid: Option<u32> = None, local();
        /// folder in which a capture of each failed check is written
        captures: PathBuf = PathBuf::from("."), local();
    }
}

impl From<LoadError> for CaseFailure {
    fn from(error: LoadError) -> Self {
        Self::Trouble(error.into())
    }
}

/// Checks the UPF whose N4 is at `address`, clause by clause. Calls `on_verdict` with each verdict.
///
/// # Errors
/// An address cannot be bound, no check has the given name, or `on_verdict` returned an error.
pub fn check_upf<E: From<ComponentError>>(
    address: SocketAddr,
    config: &UpfCheck,
    on_verdict: impl FnMut(&Verdict) -> Result<(), E>,
) -> Result<Vec<Verdict>, E> {
    let mut cases = chosen(CHECKS, &config.only)?;
    if !config.except.is_empty() {
        let left_out = chosen(CHECKS, &config.except)?;
        cases.retain(|(number, _)| left_out.iter().all(|(other, _)| number != other));
    }
    folder(&config.captures)?;
    let rig = CheckRun::new(address, config).map_err(ComponentError::from)?;
    run(&Shared(Rc::new(rig)), cases, &config.captures, on_verdict)
}

/// Returns name and clause of each UPF check, in order.
#[must_use]
pub fn upf_checks() -> Vec<(&'static str, &'static str)> {
    listed(CHECKS)
}

/// The UPF under test, as the target of checks. The emulated SMFs ([`Peer`]) share the state of the run.
struct Shared(Rc<CheckRun>);

impl CheckTarget for Shared {
    type Peer = Peer;
    const CAPTURE: (&'static str, &'static str) = ("check-upf", "pcap");

    fn ended(&self) -> Option<&'static str> {
        let dead = self.0.process.is_some_and(|process| !process.lives());
        dead.then_some("the UPF's process has ended")
    }

    fn peer(&self, number: usize) -> Result<Peer, ComponentError> {
        Ok(Peer::new(&self.0, self.0.config.dialect, self.0.smf(number))?)
    }

    fn leave(&self, peer: &mut Peer) -> Result<(), ComponentError> {
        peer.leave()
    }

    fn answers(&self, peer: &mut Peer) -> Result<bool, ComponentError> {
        peer.is_answered()
    }

    fn capture(&self, peer: &Peer, file: &Path) -> std::io::Result<()> {
        super::capture::write(file, peer.traced().iter())
    }
}

/// State shared by the checks of a run.
pub(super) struct CheckRun {
    address: SocketAddr,
    pub(super) config: UpfCheck,
    /// Address of the first emulated SMF.
    smf: SocketAddr,
    /// Address of the emulated base station.
    pub(super) gnb: SocketAddr,
    /// Whether every check uses its own addresses, so that its leftovers at the UPF do not affect other checks.
    pub(super) own_addresses: bool,
    /// Sequence number of the last request.
    sequence: Cell<u32>,
    /// Start time reported by the SMFs. If it changes, the UPF deletes their sessions.
    pub(super) recovery: Cell<u32>,
    /// Whether packets of a complete session come back; `None` until tried.
    pub(super) reflects: Cell<Option<bool>>,
    process: Option<Process>,
}

/// Number of addresses per check: one for its SMF, and two for additional SMFs.
const ADDRESSES: usize = 3;
/// Number of addresses reserved for the checks of one UPF.
const BLOCK: u32 = 256;
const _: () = assert!(CHECKS.len() * ADDRESSES < BLOCK as usize);

impl CheckRun {
    fn new(address: SocketAddr, config: &UpfCheck) -> Result<Self, LoadError> {
        let (smf, own_addresses) = match (config.smf, address.ip()) {
            (Some(smf), _) => (smf, false),
            // Each run uses the same addresses, because some UPFs store at most 64 peers and never remove one. The checks of each UPF use
            // another block of addresses.
            (None, IpAddr::V4(v4)) if v4.is_loopback() => {
                let block =
                    u32::from(v4).wrapping_add(u32::from(address.port())).wrapping_mul(0x9e37_79b1) >> 18;
                let ip = Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 64, 0, 1)) + BLOCK * block);
                (SocketAddr::new(ip.into(), PFCP_PORT), true)
            }
            (None, _) => (default_smf(address)?, false),
        };
        let find = |pid| Process::find(pid).ok_or(LoadError::NoProcess { pid });
        Ok(Self {
            address,
            config: config.clone(),
            smf,
            gnb: config.gnb.map_or_else(|| default_gnb(config.n3.unwrap_or(address)), Ok)?,
            own_addresses,
            sequence: Cell::new(ranlab_net::monotonic_ns() as u32 >> 4),
            recovery: Cell::new(ntp_seconds()),
            reflects: Cell::new(None),
            process: config.upf_pid.map(find).transpose()?,
        })
    }

    /// Returns the SMF address of a check.
    fn smf(&self, number: usize) -> SocketAddr {
        let sharing = CHECKS.iter().take(number + 1).filter(|(name, ..)| SHARING.contains(name)).count();
        if self.own_addresses { nth(self.smf, (number - sharing) * ADDRESSES) } else { self.smf }
    }
}

/// An emulated SMF, whose messages a check composes.
pub(super) struct Peer {
    pub(super) n4: N4,
    pub(super) packets: Trace,
    pub(super) dialect: Dialect,
    pub(super) templates: SessionTemplates,
    pub(super) run: Rc<CheckRun>,
    /// Address of this SMF, which is also its Node ID.
    smf: SocketAddr,
    /// Number that is part of this SMF's SEIDs and tunnels, so that they differ from the SEIDs and tunnels of other checks.
    own: u32,
    pub(super) associated: bool,
    /// SEIDs of the sessions to delete at the end, as chosen by the UPF.
    pub(super) sessions: Vec<u64>,
    pub(super) unread: VecDeque<Vec<u8>>,
    /// SEIDs of each established session, as chosen by the SMF and by the UPF.
    pub(super) named: Vec<(u64, u64)>,
    /// Session reports that were received and answered.
    pub(super) reported: Vec<SessionReportRequest>,
    /// Messages of other SMFs of this check.
    others: Rc<RefCell<Vec<TracedMessage>>>,
    /// Whether this is an additional SMF.
    is_further: bool,
}

impl Drop for Peer {
    /// Adds the messages of an additional SMF to the capture of the check, however the check ends.
    fn drop(&mut self) {
        if self.is_further {
            let own = self.n4.trace.take().into_iter().flatten();
            self.others.borrow_mut().extend(own.chain(self.packets.take()));
        }
    }
}

fn profile(address: SocketAddr, config: &UpfCheck) -> SessionProfile {
    SessionProfile {
        upf_n3: config.n3.unwrap_or(address).ip(),
        ipv6: config.ue.is_ipv6(),
        volume_threshold: Some(1 << 40),
        ..Default::default()
    }
}

impl Peer {
    fn new(run: &Rc<CheckRun>, dialect: Dialect, smf: SocketAddr) -> Result<Self, LoadError> {
        let settings = SmfSettings::new(smf.ip(), dialect);
        let mut n4 = N4::new(smf, run.address, settings, profile(run.address, &run.config))?;
        n4.trace = Some(VecDeque::new());
        let templates = n4.smf.templates().clone();
        Ok(Self {
            n4,
            dialect,
            templates,
            run: Rc::clone(run),
            smf,
            packets: Trace::default(),
            own: (ranlab_net::monotonic_ns() >> 13) as u32,
            associated: false,
            sessions: Vec::new(),
            unread: VecDeque::new(),
            named: Vec::new(),
            reported: Vec::new(),
            others: Rc::default(),
            is_further: false,
        })
    }

    /// Returns an SMF with the same address and another port.
    pub(super) fn at_another_port(&self) -> Result<Self, CaseFailure> {
        let mut further = Self::new(&self.run, self.dialect, SocketAddr::new(self.smf.ip(), 0))?;
        further.templates = self.templates.clone();
        further.others = Rc::clone(&self.others);
        further.is_further = true;
        Ok(further)
    }

    /// Returns an additional SMF. It uses the first or second available address (`which`) after the address of this SMF.
    pub(super) fn other(&self, which: usize) -> Result<Self, CaseFailure> {
        const TRIES: usize = 16;
        let mut had = 0;
        for n in 1..=TRIES {
            match Self::new(&self.run, self.run.config.dialect, nth(self.smf, n)) {
                Err(LoadError::Bind { .. }) => {}
                Ok(_) if had + 1 < which => had += 1,
                other => {
                    let mut further = other?;
                    further.others = Rc::clone(&self.others);
                    further.is_further = true;
                    return Ok(further);
                }
            }
        }
        Err(CaseFailure::Skipped(
            "an additional SMF needs one of the addresses that follow the address of the first SMF (--smf), and none of them is available",
        ))
    }

    /// Ends an additional SMF. Its messages become part of this check's capture.
    pub(super) fn joined_by(&self, mut other: Self) -> Outcome {
        other.leave().map_err(CaseFailure::Trouble)
    }

    /// Returns the recorded messages on N4 and N3, ordered by time.
    fn traced(&self) -> Vec<TracedMessage> {
        let own = self.n4.trace.iter().flatten().chain(&self.packets).cloned();
        let mut all: Vec<_> = own.chain(self.others.borrow().iter().cloned()).collect();
        all.sort_by_key(|traced| traced.at_ns);
        all
    }

    /// Changes the form of the messages that the SMF sends.
    pub(super) fn speaking(&mut self, change: impl FnOnce(&mut SmfMessageStyle)) -> Result<(), LoadError> {
        change(&mut self.dialect.sends);
        self.templates = SessionTemplates::new(
            profile(self.run.address, &self.run.config),
            self.dialect.sends,
            self.smf.ip(),
        )
        .ok_or(LoadError::Profile)?;
        Ok(())
    }

    /// Continues with sequence numbers far from `sequence`.
    pub(super) fn leap(&self, sequence: u32) {
        self.run.sequence.set(sequence ^ 0x5a_5a5a);
    }

    pub(super) fn number(&self) -> u32 {
        let next = self.run.sequence.get().wrapping_add(1) & MAX_SEQUENCE;
        self.run.sequence.set(next);
        next
    }

    pub(super) fn ask(
        &mut self,
        message: impl Into<Message>,
        seid: Option<u64>,
    ) -> Result<Option<Message>, CaseFailure> {
        let sequence = self.number();
        let octets =
            encode(message, seid, sequence).map_err(|error| CaseFailure::Fails(error.to_string()))?;
        let answer = self.ask_raw(&octets, sequence)?;
        answer.map(|octets| read(&octets)).transpose()
    }

    pub(super) fn setup(&self) -> AssociationSetupRequest {
        AssociationSetupRequest {
            node_id: self.smf.ip().into(),
            recovery_time_stamp: RecoveryTimeStamp(self.run.recovery.get()),
            cp_function_features: Some(CpFunctionFeatures::default()),
            ..Default::default()
        }
    }

    /// Sets up the association that a check needs.
    pub(super) fn associate(&mut self) -> Result<AssociationSetupResponse, CaseFailure> {
        match self.try_associate() {
            Err(CaseFailure::Fails(why)) => Err(CaseFailure::Needs(ASSOCIATION, why)),
            other => other,
        }
    }

    pub(super) fn try_associate(&mut self) -> Result<AssociationSetupResponse, CaseFailure> {
        match self.ask(self.setup(), None)? {
            Some(Message::AssociationSetupResponse(response)) if response.cause.is_accepted() => {
                self.associated = true;
                let features = response.up_function_features.unwrap_or_default();
                // If the UPF cannot choose tunnels, the SMF chooses them. Only the check of this feature still requests a choice.
                if !features.contains(UpFunctionFeatures::FTUP) {
                    self.speaking(|sends| sends.teid = TeidChoice::Smf)?;
                }
                // The UPF may have kept the association of an earlier run. This heartbeat reports the restart of the SMF before sessions
                // exist.
                let recovery_time_stamp = RecoveryTimeStamp(self.run.recovery.get());
                self.ask(HeartbeatRequest { recovery_time_stamp, ..Default::default() }, None)?;
                Ok(response)
            }
            Some(Message::AssociationSetupResponse(response)) => fails(format!("cause {}", response.cause.0)),
            Some(other) => {
                fails(format!("a message of type {} answers an association setup", other.message_type()))
            }
            None => fails("an association setup went unanswered"),
        }
    }

    /// Requests the release of the association. Returns the response, if there is one.
    pub(super) fn release(&mut self) -> Result<Option<Message>, CaseFailure> {
        self.associated = false;
        let node_id = self.smf.ip().into();
        self.ask(AssociationReleaseRequestMessage { node_id, ..Default::default() }, None)
    }

    /// Deletes the sessions of this SMF and releases its association. The check does not evaluate the responses.
    pub(super) fn leave(&mut self) -> Result<(), ComponentError> {
        let over = |result| match result {
            Err(CaseFailure::Trouble(trouble)) => Err(trouble),
            _ => Ok(()),
        };
        for seid in std::mem::take(&mut self.sessions) {
            over(self.ask(SessionDeletionRequest::default(), Some(seid)).map(drop))?;
        }
        if std::mem::take(&mut self.associated) {
            let node_id = self.smf.ip().into();
            let release = AssociationReleaseRequestMessage { node_id, ..Default::default() };
            over(self.ask(release, None).map(drop))?;
        }
        Ok(())
    }

    /// Returns our SEID of session `n`.
    pub(super) fn cp_seid(&self, n: usize) -> u64 {
        u64::from(self.own) << 32 | (n as u64 + 1)
    }

    pub(super) fn spec(&self, n: usize) -> SessionSpec {
        let ue = UePool { first: self.run.config.ue }.address(n);
        SessionSpec { ue, uplink_teid: 0x7e00_0000 | (self.own & 0xffff) << 8 | n as u32 }
    }

    /// Sends an establishment request for session `n`. Returns the response, if there is one.
    pub(super) fn try_establish(
        &mut self,
        n: usize,
    ) -> Result<Option<SessionEstablishmentResponse>, CaseFailure> {
        let request = self.templates.establishment(self.cp_seid(n), self.spec(n));
        match self.ask(request, Some(0))? {
            Some(Message::SessionEstablishmentResponse(response)) => Ok(Some(response)),
            Some(other) => fails(format!("message type {} answers an establishment", other.message_type())),
            None => Ok(None),
        }
    }

    /// Establishes session `n`, on which a check depends. Returns the UPF's SEID and the uplink tunnel.
    pub(super) fn establish(&mut self, n: usize) -> Result<(u64, u32), CaseFailure> {
        let missing = |why: &str| Err(CaseFailure::Needs(SESSION, why.to_owned()));
        let Some(response) = self.try_establish(n)? else {
            return missing("an establishment went unanswered");
        };
        if !response.cause.is_accepted() {
            return missing(&format!("an establishment was refused with cause {}", response.cause.0));
        }
        let Some(f_seid) = response.up_f_seid else {
            return missing("an accepted establishment has no UP F-SEID");
        };
        let chosen = response.created_pdrs.iter().find_map(|pdr| match pdr.f_teid {
            Some(FTeid::Assigned { teid, .. }) => Some(teid),
            _ => None,
        });
        if self.dialect.sends.teid == TeidChoice::Upf && chosen.is_none() {
            return Err(CaseFailure::Needs(
                CHOSEN_TEID,
                "the SMF requested a tunnel, but the UPF chose none".into(),
            ));
        }
        Ok((f_seid.seid, chosen.unwrap_or_else(|| self.spec(n).uplink_teid)))
    }

    pub(super) fn modify(&mut self, seid: u64, teid: u32) -> Result<Cause, CaseFailure> {
        let tunnel = Tunnel { teid, peer: self.run.gnb.ip() };
        let request = self.templates.modification(Change::Downlink { tunnel, end_marker: false });
        match self.ask(request, Some(seid))? {
            Some(Message::SessionModificationResponse(response)) => Ok(response.cause),
            _ => Err(CaseFailure::Needs(SESSION, "a modification went unanswered".into())),
        }
    }

    pub(super) fn delete(&mut self, seid: u64) -> Result<SessionDeletionResponse, CaseFailure> {
        self.sessions.retain(|own| *own != seid);
        let request = self.templates.deletion();
        match self.ask(request, Some(seid))? {
            Some(Message::SessionDeletionResponse(response)) => Ok(response),
            _ => Err(CaseFailure::Needs(SESSION, "a deletion went unanswered".into())),
        }
    }

    /// Sends an uplink packet of a session. Returns how far it came, and whether a reflected packet came back. The packet is repeated,
    /// because the first one may wait for ARP.
    pub(super) fn try_packet(
        &mut self,
        n: usize,
        uplink_teid: u32,
        downlink_teid: u32,
    ) -> Result<PacketReach, CaseFailure> {
        const TRIES: u64 = 3;
        let (socket, n3) = self.n3()?;
        let reflector = Reflector::start(&self.run.config).map_err(CaseFailure::Trouble)?;
        let ue = SocketAddr::new(self.spec(n).ue, 4_000);
        let server = match self.run.config.n6 {
            Network::Routed(address) => address,
            _ => self.run.config.server,
        };
        let template =
            GpduTemplate::new(Some(PduSession::ul(9))).map_err(|e| CaseFailure::Fails(e.to_string()))?;
        let mut back = false;
        let astray = Cell::new(None);
        for number in 0..TRIES {
            let probe = Probe { run: 0x0c4e_c4ed, flags: 1, stream: n as u32, number, intended_ns: 0 };
            let mut packet = [0; 128 + PROBE_BYTES];
            let len = write_packet(ue, server, 0, &probe, &mut packet).unwrap_or(0);
            let mut datagram = vec![0; template.len()];
            template.write(uplink_teid, len, &mut datagram);
            datagram.extend(&packet[..len]);
            back = self.exchange(&socket, n3, &datagram, |packet| {
                let is_packet = packet.message_type == gtpu::message_type::G_PDU;
                if is_packet && packet.teid != downlink_teid {
                    astray.set(Some(packet.teid));
                }
                is_packet && packet.teid == downlink_teid && ue_port(packet.payload).is_some()
            })?;
            if back {
                break;
            }
        }
        let up = reflector.map(Reflector::end).transpose().map_err(CaseFailure::Trouble)?;
        Ok(PacketReach { up: up.map(|count| count > 0), back, astray: astray.get() })
    }

    /// Sends a datagram on N3. Returns whether a packet arrived that `matches` accepts.
    pub(super) fn exchange(
        &mut self,
        socket: &UdpSocket,
        n3: SocketAddr,
        datagram: &[u8],
        matches: impl Fn(&gtpu::Packet<'_>) -> bool,
    ) -> Result<bool, CaseFailure> {
        let own = socket.local_addr().map_err(LoadError::from)?;
        socket.send_to(datagram, n3).map_err(LoadError::from)?;
        self.packets.note(own, n3, datagram);
        let end = Instant::now() + self.run.config.patience;
        while Instant::now() < end {
            let mut room = [0; 2_048];
            let Ok((len, from)) = socket.recv_from(&mut room) else { continue };
            self.packets.note(from, own, &room[..len]);
            if gtpu::Packet::parse(&room[..len]).is_ok_and(|packet| matches(&packet)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn n3(&self) -> Result<(UdpSocket, SocketAddr), CaseFailure> {
        let n3 = self.run.config.n3.ok_or(CaseFailure::Skipped("packets are checked only with --n3"))?;
        let address = self.run.gnb;
        let socket = UdpSocket::bind(address).map_err(|source| LoadError::Bind {
            what: "base station",
            address,
            source,
        })?;
        socket.set_read_timeout(Some(Duration::from_millis(20))).map_err(LoadError::from)?;
        Ok((socket, n3))
    }
}

/// Points that a test packet of a session has reached.
pub(super) struct PacketReach {
    /// Whether the packet reached the data network. `None` if a third-party data network is used.
    pub(super) up: Option<bool>,
    /// Whether the packet was reflected to the base station.
    pub(super) back: bool,
    /// Unexpected tunnel through which the packet came back.
    pub(super) astray: Option<u32>,
}

pub(super) fn read(octets: &[u8]) -> Result<Message, CaseFailure> {
    match decode(octets) {
        Ok((pdu, _)) => Ok(pdu.message),
        Err(error) => match refusal(octets) {
            Some((_, cause)) => fails(format!(
                "the request is refused with cause {}, but the response is invalid: {error}",
                cause.0
            )),
            None => fails(format!("a response cannot be decoded: {error}")),
        },
    }
}
