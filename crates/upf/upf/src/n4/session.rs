//! Session requests of an SMF, as typed messages and as templates. Templates produce the same bytes faster.
use super::dialect::{SmfMessageStyle, TeidChoice};
use crate::pfcp::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Properties that all sessions of a run share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionProfile {
    /// Data network name, and the default network instance.
    pub dnn: String,
    /// Network Instance towards base stations.
    pub access_instance: Option<String>,
    /// Network Instance towards the data network.
    pub core_instance: Option<String>,
    /// Interface towards the data network: Core, or SGi-LAN/N6-LAN, which some user planes require.
    pub core_interface: Interface,
    /// N3 address of the user plane, for TEIDs that the SMF chooses.
    pub upf_n3: IpAddr,
    /// Whether UEs have IPv6 addresses instead of IPv4 addresses.
    pub ipv6: bool,
    /// QoS flow identifier.
    pub qfi: u8,
    /// Maximum bit rate. `None`: the session has no QER.
    pub mbr: Option<BitRates>,
    /// Volume after which usage is reported, in bytes. `None`: the session has no URR.
    pub volume_threshold: Option<u64>,
    /// Whether the UPF buffers downlink packets until the first tunnel is known, and reports them. Otherwise the UPF drops these packets.
    pub buffer: bool,
    /// Additional flows of the uplink rule, as IPFilterRules.
    pub flows: Vec<String>,
}

impl Default for SessionProfile {
    /// Returns the profile of IPv4 sessions without a rate limit.
    fn default() -> Self {
        Self {
            dnn: "internet".into(),
            access_instance: None,
            core_instance: None,
            core_interface: Interface::CORE,
            upf_n3: Ipv4Addr::new(127, 0, 0, 8).into(),
            ipv6: false,
            qfi: 9,
            mbr: None,
            volume_threshold: None,
            buffer: false,
            flows: Vec::new(),
        }
    }
}

impl SessionProfile {
    fn access(&self, sends: &SmfMessageStyle) -> NetworkName {
        sends.name_form.write(self.access_instance.as_ref().unwrap_or(&self.dnn))
    }

    fn core(&self, sends: &SmfMessageStyle) -> NetworkName {
        sends.name_form.write(self.core_instance.as_ref().unwrap_or(&self.dnn))
    }
}

/// Properties of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionSpec {
    /// Address of the UE, in the IP version of the profile.
    pub ue: IpAddr,
    /// Uplink TEID at the UPF. Unused if the UPF chooses the TEID.
    pub uplink_teid: u32,
}

/// A tunnel at a base station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tunnel {
    /// TEID at the base station.
    pub teid: u32,
    /// N3 address of the base station.
    pub peer: IpAddr,
}

/// A modification of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Sends downlink packets into a tunnel. This is the first tunnel, or the new one after a handover. After a handover, end markers can
    /// be requested for the old tunnel.
    Downlink {
        /// New tunnel.
        tunnel: Tunnel,
        /// Whether end markers are requested.
        end_marker: bool,
    },
    /// Makes the UE idle. Packets are buffered, and the first one is reported.
    Buffer,
}

/// Identifiers of the rules in every session.
pub(super) const UPLINK: u16 = 1;
pub(super) const DOWNLINK: u16 = 2;

/// Messages of a profile in a dialect, as templates.
#[derive(Debug, Clone)]
pub struct SessionTemplates {
    profile: SessionProfile,
    sends: SmfMessageStyle,
    node: IpAddr,
    establishment: Template,
    cp_seid: Slot,
    uplink_teid: Option<Slot>,
    ue: [Slot; 2],
    /// Downlink templates, indexed by IP version of the base station (IPv4, IPv6) and by end markers (without, with).
    downlink: [[(Template, Slot, Slot); 2]; 2],
    buffer: Template,
    deletion: Template,
}

impl SessionTemplates {
    /// Encodes the messages. Returns `None` if a message does not fit into a datagram.
    pub fn new(profile: SessionProfile, sends: SmfMessageStyle, node: IpAddr) -> Option<Self> {
        let any_ue: IpAddr =
            if profile.ipv6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        let any = SessionSpec { ue: any_ue, uplink_teid: 0 };
        let establishment = Template::new(establishment(&profile, &sends, node, 0, any)).ok()?;
        let version = |ipv6: bool| if ipv6 { Part::V6 } else { Part::V4 };
        let ue_at = |pdr| establishment.slot(&[(1, pdr), (2, 0), (93, 0)], version(profile.ipv6));
        let downlink = |ipv6: bool, end_marker: bool| {
            let peer: IpAddr = if ipv6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
            let change = Change::Downlink { tunnel: Tunnel { teid: 0, peer }, end_marker };
            let template = Template::new(modification(&profile, &sends, change)).ok()?;
            let header = [(10, 0), (11, 0), (84, 0)];
            let teid = template.slot(&header, Part::Teid)?;
            let address = template.slot(&header, version(ipv6))?;
            Some((template, teid, address))
        };
        Some(Self {
            cp_seid: establishment.slot(&[(57, 0)], Part::Seid)?,
            uplink_teid: establishment.slot(&[(1, 0), (2, 0), (21, 0)], Part::Teid),
            ue: [ue_at(0)?, ue_at(1)?],
            downlink: [
                [downlink(false, false)?, downlink(false, true)?],
                [downlink(true, false)?, downlink(true, true)?],
            ],
            buffer: Template::new(modification(&profile, &sends, Change::Buffer)).ok()?,
            deletion: Template::new(deletion(&sends, node)).ok()?,
            establishment,
            profile,
            sends,
            node,
        })
    }

    /// Writes an establishment. Returns `false` if the UE's address is not of the profile's IP version.
    #[must_use]
    pub fn write_establishment(
        &self,
        sequence: u32,
        cp_seid: u64,
        spec: SessionSpec,
        out: &mut Vec<u8>,
    ) -> bool {
        self.establishment.write(0, sequence, out);
        let ue_fits = self.ue.iter().all(|slot| put_address(slot, out, spec.ue));
        let teid_fits = match &self.uplink_teid {
            Some(slot) => slot.put(out, &spec.uplink_teid.to_be_bytes()),
            None => true,
        };
        ue_fits && teid_fits && self.cp_seid.put(out, &cp_seid.to_be_bytes())
    }

    /// Writes a modification.
    pub fn write_modification(&self, sequence: u32, up_seid: u64, change: Change, out: &mut Vec<u8>) {
        match change {
            Change::Buffer => self.buffer.write(up_seid, sequence, out),
            Change::Downlink { tunnel, end_marker } => {
                let by_version = &self.downlink[usize::from(tunnel.peer.is_ipv6())];
                let (template, teid, address) = &by_version[usize::from(end_marker)];
                template.write(up_seid, sequence, out);
                // Writing cannot fail, because the slots belong to this template, and the address has its IP version.
                let _fits =
                    teid.put(out, &tunnel.teid.to_be_bytes()) && put_address(address, out, tunnel.peer);
            }
        }
    }

    /// Writes a deletion.
    pub fn write_deletion(&self, sequence: u32, up_seid: u64, out: &mut Vec<u8>) {
        self.deletion.write(up_seid, sequence, out);
    }

    /// Returns the establishment as a typed message, from which the template is made.
    pub fn establishment(&self, cp_seid: u64, spec: SessionSpec) -> SessionEstablishmentRequest {
        establishment(&self.profile, &self.sends, self.node, cp_seid, spec)
    }

    /// Returns the modification as a typed message.
    pub fn modification(&self, change: Change) -> SessionModificationRequest {
        modification(&self.profile, &self.sends, change)
    }

    /// Returns the deletion as a typed message.
    pub fn deletion(&self) -> SessionDeletionRequest {
        deletion(&self.sends, self.node)
    }
}

fn put_address(slot: &Slot, out: &mut [u8], address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => slot.put(out, &v4.octets()),
        IpAddr::V6(v6) => slot.put(out, &v6.octets()),
    }
}

fn action(sends: &SmfMessageStyle, flags: u128) -> ApplyAction {
    ApplyAction::in_octets(flags, sends.apply_action_octets)
}

fn idle_action(profile: &SessionProfile, sends: &SmfMessageStyle) -> ApplyAction {
    let waits = ApplyAction::BUFF | ApplyAction::NOCP;
    action(sends, if profile.buffer { waits } else { ApplyAction::DROP })
}

fn establishment(
    profile: &SessionProfile,
    sends: &SmfMessageStyle,
    node: IpAddr,
    cp_seid: u64,
    spec: SessionSpec,
) -> SessionEstablishmentRequest {
    let interface_type = |kind| sends.interface_type.then_some(kind);
    let uplink_far = CreateFar {
        far_id: FarId(UPLINK.into()),
        apply_action: action(sends, ApplyAction::FORW),
        forwarding_parameters: Some(ForwardingParameters {
            destination_interface: profile.core_interface,
            network_instance: Some(profile.core(sends)),
            destination_interface_type: interface_type(InterfaceType::N6),
            ..Default::default()
        }),
        ..Default::default()
    };
    let downlink_far = CreateFar {
        far_id: FarId(DOWNLINK.into()),
        apply_action: idle_action(profile, sends),
        bar_id: profile.buffer.then_some(BarId(1)),
        ..Default::default()
    };
    let urr = |octets| CreateUrr {
        urr_id: UrrId(1),
        measurement_method: MeasurementMethod::new(MeasurementMethod::VOLUM),
        reporting_triggers: ReportingTriggers::in_octets(
            ReportingTriggers::VOLTH,
            sends.reporting_triggers_octets,
        ),
        volume_threshold: Some(Volume { total: Some(octets), ..Default::default() }),
        ..Default::default()
    };
    let qer = |rates| CreateQer {
        qer_id: QerId(1),
        gate_status: GateStatus::OPEN,
        maximum_bit_rate: Some(rates),
        qfi: Some(Qfi(profile.qfi)),
        ..Default::default()
    };
    let pdn_type = if profile.ipv6 { PdnType::IPV6 } else { PdnType::IPV4 };
    SessionEstablishmentRequest {
        node_id: node.into(),
        cp_f_seid: FSeid { seid: cp_seid, addresses: node.into() },
        create_pdrs: vec![uplink_pdr(profile, sends, spec), downlink_pdr(profile, sends, spec)],
        create_fars: vec![uplink_far, downlink_far],
        create_urrs: profile.volume_threshold.map(urr).into_iter().collect(),
        create_qers: profile.mbr.map(qer).into_iter().collect(),
        create_bar: profile.buffer.then(|| CreateBar { bar_id: BarId(1), ..Default::default() }),
        pdn_type: sends.pdn_type.then_some(pdn_type),
        apn_dnn: Some(NetworkName::labels(&profile.dnn)),
        ..Default::default()
    }
}

fn rule(profile: &SessionProfile, number: u16, pdi: Pdi) -> CreatePdr {
    CreatePdr {
        pdr_id: PdrId(number),
        precedence: Precedence(255),
        pdi,
        far_id: Some(FarId(number.into())),
        urr_ids: profile.volume_threshold.map(|_| UrrId(1)).into_iter().collect(),
        qer_ids: profile.mbr.map(|_| QerId(1)).into_iter().collect(),
        ..Default::default()
    }
}

fn uplink_pdr(profile: &SessionProfile, sends: &SmfMessageStyle, spec: SessionSpec) -> CreatePdr {
    let f_teid = match sends.teid {
        TeidChoice::Smf => FTeid::Assigned { teid: spec.uplink_teid, addresses: profile.upf_n3.into() },
        TeidChoice::Upf => {
            FTeid::Choose { v4: profile.upf_n3.is_ipv4(), v6: profile.upf_n3.is_ipv6(), id: None }
        }
    };
    let removal = if profile.upf_n3.is_ipv4() {
        OuterHeaderRemoval::GTPU_UDP_IPV4
    } else {
        OuterHeaderRemoval::GTPU_UDP_IPV6
    };
    let pdi = Pdi {
        source_interface: Interface::ACCESS,
        f_teid: Some(f_teid),
        network_instance: Some(profile.access(sends)),
        ue_ip_addresses: vec![UeIpAddress { addresses: spec.ue.into(), ..Default::default() }],
        sdf_filters: profile.flows.iter().map(|flow| SdfFilter::flow(flow)).collect(),
        qfis: vec![Qfi(profile.qfi)],
        source_interface_type: sends.interface_type.then_some(InterfaceType::N3_3GPP),
        ..Default::default()
    };
    CreatePdr { outer_header_removal: Some(removal), ..rule(profile, UPLINK, pdi) }
}

fn downlink_pdr(profile: &SessionProfile, sends: &SmfMessageStyle, spec: SessionSpec) -> CreatePdr {
    let ue = UeIpAddress { addresses: spec.ue.into(), destination: true, ..Default::default() };
    let pdi = Pdi {
        source_interface: profile.core_interface,
        network_instance: Some(profile.core(sends)),
        ue_ip_addresses: vec![ue],
        source_interface_type: sends.interface_type.then_some(InterfaceType::N6),
        ..Default::default()
    };
    rule(profile, DOWNLINK, pdi)
}

fn modification(
    profile: &SessionProfile,
    sends: &SmfMessageStyle,
    change: Change,
) -> SessionModificationRequest {
    let far = match change {
        Change::Buffer => UpdateFar {
            apply_action: Some(action(sends, ApplyAction::BUFF | ApplyAction::NOCP)),
            ..Default::default()
        },
        Change::Downlink { tunnel, end_marker } => UpdateFar {
            apply_action: Some(action(sends, ApplyAction::FORW)),
            update_forwarding_parameters: Some(UpdateForwardingParameters {
                destination_interface: Some(Interface::ACCESS),
                network_instance: Some(profile.access(sends)),
                outer_header_creation: Some(OuterHeaderCreation::gtpu(tunnel.teid, tunnel.peer)),
                sm_req_flags: end_marker.then(|| SmReqFlags::new(SmReqFlags::SNDEM)),
                destination_interface_type: sends.interface_type.then_some(InterfaceType::N3_3GPP),
                ..Default::default()
            }),
            ..Default::default()
        },
    };
    let update_fars = vec![UpdateFar { far_id: FarId(DOWNLINK.into()), ..far }];
    SessionModificationRequest { update_fars, ..Default::default() }
}

fn deletion(sends: &SmfMessageStyle, node: IpAddr) -> SessionDeletionRequest {
    SessionDeletionRequest { node_id: sends.node_id_in_deletion.then(|| node.into()), ..Default::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::n4::Dialect;

    #[test]
    fn profile_sets_network_instances_and_interface() {
        let profile = SessionProfile {
            access_instance: Some("access".into()),
            core_instance: Some("sgi".into()),
            core_interface: Interface::N6_LAN,
            qfi: 5,
            ..Default::default()
        };
        let node: IpAddr = [10, 0, 0, 1].into();
        let sends =
            SmfMessageStyle { name_form: super::super::NameForm::Text, ..Dialect::STRICT_REL17.sends };
        let templates = SessionTemplates::new(profile, sends, node).unwrap();
        let spec = SessionSpec { ue: [10, 60, 0, 1].into(), uplink_teid: 1 };
        let request = templates.establishment(1, spec);
        let [up, down] = [&request.create_pdrs[0].pdi, &request.create_pdrs[1].pdi];
        let name = |pdi: &Pdi| pdi.network_instance.as_ref().map(NetworkName::name);
        assert_eq!([name(up), name(down)], [Some("access".into()), Some("sgi".into())]);
        assert_eq!([up.source_interface, down.source_interface], [Interface::ACCESS, Interface::N6_LAN]);
        assert_eq!(up.qfis, [Qfi(5)]);
        let way = request.create_fars[0].forwarding_parameters.clone().unwrap_or_default();
        assert_eq!(way.destination_interface, Interface::N6_LAN);
        assert_eq!(way.network_instance, Some(NetworkName::text("sgi")));
        let change = Change::Downlink { tunnel: Tunnel { teid: 7, peer: node }, end_marker: false };
        let update = templates.modification(change).update_fars.remove(0).update_forwarding_parameters;
        let instance = update.and_then(|way| way.network_instance);
        assert_eq!(instance, Some(NetworkName::text("access")));
    }

    #[test]
    fn template_equals_encoded_message() {
        let node: IpAddr = [10, 0, 0, 1].into();
        let v6: IpAddr = Ipv6Addr::LOCALHOST.into();
        let rich = SessionProfile {
            mbr: Some(BitRates { uplink_kbps: 10_000, downlink_kbps: 10_000 }),
            volume_threshold: Some(1 << 20),
            buffer: true,
            flows: vec!["permit out ip from any to assigned".into()],
            ..Default::default()
        };
        let six = SessionProfile { ipv6: true, upf_n3: v6, ..Default::default() };
        for dialect in Dialect::ALL {
            for profile in [SessionProfile::default(), rich.clone(), six.clone()] {
                let ue = if profile.ipv6 { [0x20; 16].into() } else { [10, 60, 0, 1].into() };
                let templates = SessionTemplates::new(profile, dialect.sends, node).unwrap();
                let spec = SessionSpec { ue, uplink_teid: 0xdead_beef };
                let mut out = Vec::new();
                assert!(templates.write_establishment(7, 0x1_0000_0002, spec, &mut out));
                // If the UPF chooses the TEID (CH), neither the template nor the typed message has one.
                assert_eq!(out, encode(templates.establishment(0x1_0000_0002, spec), Some(0), 7).unwrap());
                for (peer, end_marker) in [(node, false), (v6, true)] {
                    let change = Change::Downlink { tunnel: Tunnel { teid: 77, peer }, end_marker };
                    templates.write_modification(8, 99, change, &mut out);
                    assert_eq!(out, encode(templates.modification(change), Some(99), 8).unwrap());
                }
                templates.write_modification(9, 99, Change::Buffer, &mut out);
                assert_eq!(out, encode(templates.modification(Change::Buffer), Some(99), 9).unwrap());
                templates.write_deletion(9, 99, &mut out);
                assert_eq!(out, encode(templates.deletion(), Some(99), 9).unwrap());
                let foreign = SessionSpec { ue: if ue.is_ipv4() { v6 } else { node }, ..spec };
                assert!(!templates.write_establishment(7, 1, foreign, &mut out));
            }
        }
    }
}
