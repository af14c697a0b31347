//! Sessions that a check composes, and packets that it sends through them.
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use crate::load::LoadError;
use crate::load::{Network, PROBE_BYTES, Probe, UePool, least_packet, write_packet};
use ranlab_packet::gtpu::{self, GpduTemplate, PduSession};
use ranlab_packet::{Ip, Protocol, Udp, checksum};
use ranlab_upf::n4::*;
use ranlab_upf::pfcp::*;

use super::clauses::{BOTH_DIRECTIONS, CHOSEN_TEID, SESSION};
use super::packets::Reflector;
use super::upf::Peer;
use ranlab_lab::check::{CaseFailure, fails};

/// QoS flow identifier of the uplink packets of every session.
pub(super) const QFI: u8 = 9;
/// Id of the uplink rule of every session made by [`Peer::plan`].
pub(super) const UPLINK: u16 = 1;
pub(super) const DOWNLINK: u16 = 2;
/// Default UDP port of the UE's packets.
pub(super) const UE_PORT: u16 = 4_000;
/// 3GPP Interface Type of N9 (TS 29.244 §8.2.118).
const N9: InterfaceType = InterfaceType(15);
/// Maximum length of a received datagram, in bytes.
const MAX_DATAGRAM: usize = 2_048;

/// A session that the UPF has accepted.
pub(super) struct Created {
    /// SEID chosen by the UPF.
    pub(super) seid: u64,
    tunnels: Vec<(PdrId, u32)>,
}

impl Created {
    /// Returns the TEID of the uplink tunnel that the UPF assigned to a rule.
    pub(super) fn teid(&self, pdr: u16) -> u32 {
        self.tunnels.iter().find(|(id, _)| id.0 == pdr).map_or(0, |(_, teid)| *teid)
    }
}

/// A datagram received by the emulated base station.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) kind: u8,
    pub(super) teid: u32,
    /// PDU session container of the packet.
    pub(super) session: Option<PduSession>,
    pub(super) payload: Vec<u8>,
    /// Type of service or traffic class of the outer header.
    pub(super) class: Option<u8>,
}

impl Received {
    pub(super) fn is_packet(&self, teid: u32) -> bool {
        self.kind == gtpu::message_type::G_PDU && self.teid == teid
    }

    /// Returns the UE's port, if the packet was reflected to the UE. Returns `None` for other packets, such as ICMP errors.
    pub(super) fn ue_port(&self) -> Option<u16> {
        ue_port(&self.payload)
    }
}

/// Returns the destination port of a UDP packet.
pub(super) fn ue_port(packet: &[u8]) -> Option<u16> {
    let ip = Ip::parse_captured(packet).ok().filter(|ip| ip.protocol == Protocol::UDP)?;
    Udp::parse(ip.payload).ok().map(|udp| udp.dst_port)
}

/// Socket of the emulated base station, and the emulated data network, which runs until this value is dropped.
pub(super) struct Wire {
    pub(super) socket: UdpSocket,
    pub(super) n3: SocketAddr,
    reflector: Option<Reflector>,
}

impl Drop for Wire {
    fn drop(&mut self) {
        if let Some(reflector) = self.reflector.take() {
            // If the data network failed, packets are missing, and the check reports that.
            let _ = reflector.end();
        }
    }
}

/// Returns the TEID of tunnel number `which` of session `n` at the emulated base station. The second tunnel is used for handovers.
pub(super) fn downlink(n: usize, which: u32) -> u32 {
    0x0100 * which + n as u32
}

impl Peer {
    /// Returns F-TEID number `which` of session `n`. The UPF or the SMF chooses it, depending on the dialect. Rules with the same number
    /// share the F-TEID.
    pub(super) fn tunnel(&self, n: usize, which: u8) -> FTeid {
        let n3 = self.run.config.n3.map_or_else(|| IpAddr::from([127, 0, 0, 8]), |n3| n3.ip());
        match self.dialect.sends.teid {
            TeidChoice::Upf => FTeid::Choose { v4: n3.is_ipv4(), v6: n3.is_ipv6(), id: Some(which) },
            TeidChoice::Smf => {
                let teid = self.spec(n).uplink_teid ^ u32::from(which) << 24;
                FTeid::Assigned { teid, addresses: n3.into() }
            }
        }
    }

    /// Returns a rule that forwards to an interface. If `tunnel` is given, the packets enter this tunnel at the emulated base station.
    pub(super) fn forward(&self, id: u16, interface: Interface, tunnel: Option<u32>) -> CreateFar {
        let kind = match (interface, tunnel) {
            (Interface::ACCESS, _) => Some(InterfaceType::N3_3GPP),
            (Interface::CORE, Some(_)) => Some(N9),
            (Interface::CORE, None) => Some(InterfaceType::N6),
            _ => None,
        };
        let gnb = self.run.gnb.ip();
        let model = self.templates.establishment(0, self.spec(0));
        let instance = model.create_fars.first().and_then(|far| far.forwarding_parameters.as_ref());
        CreateFar {
            far_id: FarId(id.into()),
            apply_action: self.action(ApplyAction::FORW),
            forwarding_parameters: Some(ForwardingParameters {
                destination_interface: interface,
                network_instance: instance.and_then(|way| way.network_instance.clone()),
                outer_header_creation: tunnel.map(|teid| OuterHeaderCreation::gtpu(teid, gnb)),
                destination_interface_type: kind.filter(|_| self.dialect.sends.interface_type),
                ..Default::default()
            }),
            ..Default::default()
        }
    }

    pub(super) fn action(&self, flags: u128) -> ApplyAction {
        ApplyAction::in_octets(flags, self.dialect.sends.apply_action_octets)
    }

    /// Returns a forwarding rule that drops or buffers packets, as `flags` specify.
    pub(super) fn hold(&self, id: u16, flags: u128) -> CreateFar {
        CreateFar { far_id: FarId(id.into()), apply_action: self.action(flags), ..Default::default() }
    }

    pub(super) fn triggers(&self, flags: u128) -> ReportingTriggers {
        ReportingTriggers::in_octets(flags, self.dialect.sends.reporting_triggers_octets)
    }

    /// Returns the establishment request of session `n`, without usage rules. Downlink packets enter a tunnel at the emulated base station
    /// from the start.
    pub(super) fn plan(&self, n: usize) -> SessionEstablishmentRequest {
        let mut request = self.templates.establishment(self.cp_seid(n), self.spec(n));
        request.create_urrs.clear();
        request.create_pdrs.iter_mut().for_each(|pdr| pdr.urr_ids.clear());
        if let Some(uplink) = request.create_pdrs.first_mut() {
            uplink.pdi.f_teid = Some(self.tunnel(n, 1));
        }
        if let Some(far) = request.create_fars.get_mut(1) {
            *far = self.forward(DOWNLINK, Interface::ACCESS, Some(downlink(n, 1)));
        }
        request
    }

    /// Returns the request of [`plan`](Self::plan) with a usage rule for both directions.
    pub(super) fn metered(&self, n: usize, urr: CreateUrr) -> SessionEstablishmentRequest {
        let mut request = self.plan(n);
        request.create_pdrs.iter_mut().for_each(|pdr| pdr.urr_ids.push(urr.urr_id));
        request.create_urrs.push(urr);
        request
    }

    /// Returns another detection rule for uplink packets of session `n`. It refers to forwarding rule `far`.
    pub(super) fn rule(&self, n: usize, id: u16, precedence: u32, far: u16) -> CreatePdr {
        let model = self.plan(n).create_pdrs.into_iter().next().unwrap_or_default();
        CreatePdr {
            pdr_id: PdrId(id),
            far_id: Some(FarId(far.into())),
            precedence: Precedence(precedence),
            ..model
        }
    }

    /// Establishes a session composed by the check.
    pub(super) fn create(&mut self, request: SessionEstablishmentRequest) -> Result<Created, CaseFailure> {
        let requested: Vec<_> = request.create_pdrs.iter().map(|pdr| (pdr.pdr_id, pdr.pdi.f_teid)).collect();
        let Some(response) = self.try_create(request)? else {
            return Err(CaseFailure::Needs(SESSION, "an establishment went unanswered".into()));
        };
        if !response.cause.is_accepted() {
            let rule = response.failed_rule_id.map_or(String::new(), |rule| format!(" ({rule:?})"));
            return Err(CaseFailure::Refused(format!(
                "the UPF refuses the session with cause {}{rule}",
                response.cause.0
            )));
        }
        let Some(seid) = response.up_f_seid.map(|f_seid| f_seid.seid) else {
            return Err(CaseFailure::Needs(SESSION, "an accepted establishment has no UP F-SEID".into()));
        };
        let mut tunnels = Vec::new();
        for (pdr_id, f_teid) in requested {
            let created = response.created_pdrs.iter().find(|created| created.pdr_id == pdr_id);
            match (f_teid, created.and_then(|created| created.f_teid)) {
                (Some(FTeid::Assigned { teid, .. }), _)
                | (Some(FTeid::Choose { .. }), Some(FTeid::Assigned { teid, .. })) => {
                    tunnels.push((pdr_id, teid));
                }
                (Some(FTeid::Choose { .. }), _) => {
                    let why = format!("no tunnel was chosen for rule {}", pdr_id.0);
                    return Err(CaseFailure::Needs(CHOSEN_TEID, why));
                }
                (None, _) => {}
            }
        }
        Ok(Created { seid, tunnels })
    }

    /// Sends an establishment request composed by the check. Returns the response, if there is one.
    pub(super) fn try_create(
        &mut self,
        request: SessionEstablishmentRequest,
    ) -> Result<Option<SessionEstablishmentResponse>, CaseFailure> {
        match self.ask(request, Some(0))? {
            Some(Message::SessionEstablishmentResponse(response)) => Ok(Some(response)),
            Some(other) => fails(format!("message type {} answers an establishment", other.message_type())),
            None => Ok(None),
        }
    }

    /// Modifies a session. Returns the response if it is accepted.
    pub(super) fn change(
        &mut self,
        seid: u64,
        request: SessionModificationRequest,
    ) -> Result<SessionModificationResponse, CaseFailure> {
        match self.ask(request, Some(seid))? {
            Some(Message::SessionModificationResponse(response)) if response.cause.is_accepted() => {
                Ok(response)
            }
            Some(Message::SessionModificationResponse(response)) => Err(CaseFailure::Refused(format!(
                "the UPF refuses the change with cause {}",
                response.cause.0
            ))),
            _ => Err(CaseFailure::Needs(SESSION, "a modification went unanswered".into())),
        }
    }

    /// Opens the socket of the emulated base station, and the emulated data network if there is one.
    pub(super) fn wire(&self) -> Result<Wire, CaseFailure> {
        let (socket, n3) = self.n3()?;
        ranlab_net::report_classes(&socket).map_err(LoadError::from)?;
        Ok(Wire { socket, n3, reflector: Reflector::start(&self.run.config).map_err(CaseFailure::Trouble)? })
    }

    /// Checks that packets of a session come back from the data network, then calls [`wire`](Self::wire).
    pub(super) fn reflecting(&mut self) -> Result<Wire, CaseFailure> {
        self.n3()?;
        if self.run.reflects.get().is_none() {
            super::clauses::plain(self)?;
        }
        if self.run.reflects.get() == Some(false) {
            return Err(CaseFailure::Needs(BOTH_DIRECTIONS, "packets do not come back".into()));
        }
        self.wire()
    }

    /// Returns a UDP packet from the UE of session `n` to the server that reflects packets.
    pub(super) fn packet(&self, n: usize, port: u16) -> Vec<u8> {
        let server = match self.run.config.n6 {
            Network::Routed(address) => address,
            _ => self.run.config.server,
        };
        probe(SocketAddr::new(self.spec(n).ue, port), server, n)
    }

    /// Returns a packet with the address of another UE.
    pub(super) fn packet_of_another_ue(&self, n: usize) -> Vec<u8> {
        let ue = UePool { first: self.run.config.ue }.address(n + 200);
        probe(SocketAddr::new(ue, UE_PORT), self.run.config.server, n)
    }

    /// Sends a packet of the UE into a tunnel of the UPF.
    pub(super) fn uplink(&mut self, wire: &Wire, teid: u32, packet: &[u8]) -> Result<(), CaseFailure> {
        self.tunnelled(wire, teid, PduSession::ul(QFI), packet)
    }

    pub(super) fn tunnelled(
        &mut self,
        wire: &Wire,
        teid: u32,
        session: PduSession,
        packet: &[u8],
    ) -> Result<(), CaseFailure> {
        let template = GpduTemplate::new(Some(session)).map_err(|e| CaseFailure::Fails(e.to_string()))?;
        let mut datagram = vec![0; template.len()];
        template.write(teid, packet.len(), &mut datagram);
        datagram.extend(packet);
        self.send_n3(wire, &datagram)
    }

    pub(super) fn send_n3(&mut self, wire: &Wire, datagram: &[u8]) -> Result<(), CaseFailure> {
        wire.socket.send_to(datagram, wire.n3).map_err(LoadError::from)?;
        self.packets.note(wire.socket.local_addr().map_err(LoadError::from)?, wire.n3, datagram);
        Ok(())
    }

    /// Receives datagrams at the emulated base station until `enough` returns `true` or the response timeout has passed.
    pub(super) fn collect(
        &mut self,
        wire: &Wire,
        enough: impl Fn(&[Received]) -> bool,
    ) -> Result<Vec<Received>, CaseFailure> {
        let own = wire.socket.local_addr().map_err(LoadError::from)?;
        let end = Instant::now() + self.run.config.patience;
        let mut all = Vec::new();
        while Instant::now() < end && !enough(&all) {
            let Ok(class) = ranlab_net::peek_class(&wire.socket) else { continue };
            let mut room = [0; MAX_DATAGRAM];
            let Ok((len, from)) = wire.socket.recv_from(&mut room) else { continue };
            self.packets.note(from, own, &room[..len]);
            let Ok(packet) = gtpu::Packet::parse(&room[..len]) else { continue };
            all.push(Received {
                kind: packet.message_type,
                teid: packet.teid,
                session: packet.pdu_session().and_then(Result::ok),
                payload: packet.payload.to_vec(),
                class,
            });
        }
        Ok(all)
    }

    /// Sends one packet from each of these UE ports. Returns the ports whose packets came back through the tunnel.
    pub(super) fn come_back(
        &mut self,
        wire: &Wire,
        n: usize,
        teid: u32,
        ports: &[u16],
    ) -> Result<Vec<u16>, CaseFailure> {
        for port in ports {
            let packet = self.packet(n, *port);
            self.uplink(wire, teid, &packet)?;
        }
        let is_one = |one: &Received| one.is_packet(downlink(n, 1)) && one.ue_port().is_some();
        let all = self.collect(wire, |all| all.iter().filter(|one| is_one(one)).count() >= ports.len())?;
        Ok(all.iter().filter(|one| is_one(one)).filter_map(Received::ue_port).collect())
    }

    /// Collects session reports of the UPF until `enough` returns `true`, and answers each report.
    pub(super) fn reports(
        &mut self,
        wait: Duration,
        enough: impl Fn(&[SessionReportRequest]) -> bool,
    ) -> Result<Vec<SessionReportRequest>, CaseFailure> {
        let end = Instant::now() + wait;
        loop {
            self.listen()?;
            if enough(&self.reported) || Instant::now() >= end {
                return Ok(std::mem::take(&mut self.reported));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Returns a user packet that requests reflection by the data network.
pub(super) fn probe(from: SocketAddr, to: SocketAddr, n: usize) -> Vec<u8> {
    let probe = Probe { run: 0x0c4e_c4ed, flags: 1, stream: n as u32, number: 0, intended_ns: 0 };
    let mut packet = vec![0; least_packet(true) + PROBE_BYTES];
    let len = write_packet(from, to, 0, &probe, &mut packet).unwrap_or(0);
    packet.truncate(len);
    packet
}

/// Sets the type of service or traffic class of an IP packet.
pub(super) fn set_class(packet: &mut [u8], class: u8) {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 => {
            packet[1] = class;
            packet[10..12].fill(0);
            let sum = checksum::checksum(&packet[..20]);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        Some(6) => {
            packet[0] = packet[0] & 0xf0 | class >> 4;
            packet[1] = packet[1] & 0x0f | class << 4;
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_udp_packets_have_a_port() {
        let [server, ue] = ["10.45.0.1:9", "10.60.0.1:4001"].map(|address| address.parse().unwrap());
        let mut packet = probe(server, ue, 1);
        assert_eq!(ue_port(&packet), Some(4_001));
        // An ICMP error quotes the packet that caused it.
        packet[9] = 1;
        assert_eq!(ue_port(&packet), None);
        let [server, ue] = ["[fd00::1]:9", "[fd00::2]:4001"].map(|address| address.parse().unwrap());
        assert_eq!(ue_port(&probe(server, ue, 1)), Some(4_001));
        assert_eq!(ue_port(&[]), None);
    }
}
