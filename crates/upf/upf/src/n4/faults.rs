//! Faults of user planes, injected one at a time. Each fault modifies requests and responses between SMF and UPF.
//!
//! The faults have been observed in implementations. Checks and monitoring are tested with them. Faults that concern
//! packets are applied by the forwarding code: [`UpfFault::is_of_packets`].
use super::dialect::{AssociationReset, UpfRequirements};
use crate::pfcp::*;
use bytes::Bytes;
use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;

macro_rules! faults {
    ($( $member:ident $name:literal $doc:literal; )*) => {
        /// One defect of a user plane.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum UpfFault {
            $( #[doc = $doc] $member, )*
        }

        impl UpfFault {
            /// All faults, with name and description.
            pub const ALL: &[(Self, &str, &str)] = &[$( (Self::$member, $name, $doc), )*];
        }
    };
}

faults! {
    Association "association" "Association setups are refused.";
    Heartbeat "heartbeat" "Each heartbeat has a different Recovery Time Stamp.";
    Modification "modification" "Modifications go unanswered.";
    NarrowAction "narrow-action" "A request whose Apply Action has one byte is not answered.";
    TextNames "text-names" "A network instance that is not DNS labels is refused with cause 75.";
    InterfaceType "interface-type" "Without 3GPP Interface Type uplink packets are dropped.";
    NodeIdInDeletion "node-id-in-deletion" "A deletion with a Node ID goes unanswered.";
    OldSessions "old-sessions" "Sessions outlive a changed Recovery Time Stamp.";
    Duplicates "duplicates" "A repeated request is carried out again.";
    PdnType "pdn-type" "Without PDN Type downlink packets are dropped.";
    NoTunnel "no-tunnel" "A request to choose a TEID is accepted without the feature FTUP, but no TEID is chosen.";
    NarrowTriggers "narrow-triggers" "A request whose Reporting Triggers have two bytes is not answered.";
    WrongTunnel "wrong-tunnel" "Downlink packets are sent into a tunnel other than the one set by the modification.";
    NoAssociation "no-association" "An establishment without association is refused with cause 64.";
    UnknownSession "unknown-session" "A request about an unknown session is refused with cause 64.";
    MissingElement "missing-element" "A missing element is refused with cause 69.";
    WrongLength "wrong-length" "An element of wrong length is refused with cause 69.";
    Version "version" "A request of another PFCP version is not answered.";
    AnyOwner "any-owner" "Requests about a session are accepted from any SMF.";
    SourcePort "source-port" "Requests from a source port other than 8805 are not answered.";
    ReportDestination "report-destination" "Reports go to the source address of the establishment.";
    SetDeletion "set-deletion" "A session set deletion deletes nothing.";
    Release "release" "An association release goes unanswered.";
    UeAddress "ue-address" "A request to choose a UE address is accepted, but no address is chosen.";
    Ports "ports" "Ports of a flow description are ignored.";
    BadFlow "bad-flow" "A flow description that cannot be read is accepted.";
    EmptyFlow "empty-flow" "A rule with an empty flow description matches no packets.";
    TypeOfService "type-of-service" "Filters by type of service are ignored.";
    N9 "n9" "Packets for an N9 tunnel go to the data network.";
    CpFunction "cp-function" "Packets for the SMF go to the data network.";
    DualStack "dual-stack" "For a UE with an IPv4 and an IPv6 address, only IPv4 works.";
    Ethernet "ethernet" "Ethernet sessions are accepted, but their frames are dropped.";
    Gate "gate" "Gates are always open.";
    QosFlow "qos-flow" "Downlink packets are marked with the QFI of the uplink.";
    Marking "marking" "Transport Level Marking is ignored.";
    Application "application" "A rule for an application matches every packet.";
    UnknownApplication "unknown-application" "A rule for an unknown application is accepted.";
    UsageAtDeletion "usage-at-deletion" "Deletions are answered without usage.";
    Threshold "threshold" "Volume thresholds are not reported.";
    ChangedThreshold "changed-threshold" "A changed volume threshold is ignored.";
    Quota "quota" "Volume quotas are ignored.";
    GrantedAgain "granted-again" "A new volume quota is ignored.";
    Query "query" "Query URR and QAURR are ignored.";
    Removed "removed" "The removal of a usage rule is answered without its usage.";
    Periodic "periodic" "Periodic usage reports are not sent.";
    TimeThreshold "time-threshold" "Time thresholds are not reported.";
    TimeQuota "time-quota" "Time quotas are ignored.";
    HoldingTime "holding-time" "Quota holding times are ignored.";
    InactivityDetection "inactivity-detection" "Inactivity Detection Time is ignored: time without packets is measured, too.";
    Start "start" "The start of traffic is not reported.";
    Stop "stop" "The stop of traffic is not reported.";
    Linked "linked" "Linked usage rules do not report.";
    Echo "echo" "Echo requests go unanswered.";
    UnknownTunnel "unknown-tunnel" "Packets into unknown tunnels are dropped silently.";
    TeidZero "teid-zero" "Packets with TEID 0 are answered with an error indication.";
    OffFilter "off-filter" "Packets that match no rule are answered with an error indication.";
    ErrorIndication "error-indication" "Error indications are not reported.";
    Paging "paging" "Buffered downlink packets are not reported.";
    Buffering "buffering" "A modification drops buffered packets.";
    EndMarker "end-marker" "Two end markers are sent.";
    Garbage "garbage" "The tenth request that cannot be read ends the user plane.";
}

impl UpfFault {
    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(fault, ..)| *fault == self).map_or("", |(_, name, _)| name)
    }

    /// Returns the fault with this name, or `None`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, own, _)| *own == name).map(|(fault, ..)| *fault)
    }

    /// Returns whether the fault concerns packets.
    pub fn is_of_packets(self) -> bool {
        use UpfFault::{Echo, EndMarker, OffFilter, TeidZero, UnknownTunnel};
        matches!(self, Echo | UnknownTunnel | TeidZero | OffFilter | EndMarker)
    }

    /// Applies a fault that can be expressed as [`UpfRequirements`]. Other faults have no effect in this function.
    pub(super) fn apply(self, demands: &mut UpfRequirements) {
        match self {
            Self::NarrowAction => demands.apply_action_least = 2,
            Self::NarrowTriggers => demands.reporting_triggers_least = 3,
            Self::TextNames => demands.labels = true,
            Self::NodeIdInDeletion => demands.no_node_id_in_deletion = true,
            Self::OldSessions => demands.purges = AssociationReset::Never,
            Self::Release => demands.ignores_release = true,
            Self::AnyOwner => demands.any_owner = true,
            Self::Duplicates => demands.holding = std::time::Duration::ZERO,
            _ => {}
        }
    }
}

/// A fault that modifies messages between the network and a correct user plane.
#[derive(Debug)]
pub(super) struct Meddler {
    fault: UpfFault,
    /// Source address of each session's establishment, indexed by the SEID of the SMF.
    origins: HashMap<u64, SocketAddr>,
    /// Applications that PFD Management has provisioned.
    provisioned: HashSet<Bytes>,
    beats: u32,
    unreadable: u32,
}

/// Maximum number of sessions whose source address is stored.
const MAX_ORIGINS: usize = 1 << 16;
/// Number of undecodable requests after which [`UpfFault::Garbage`] crashes the user plane.
const FATAL: u32 = 10;
/// PDN type of an Ethernet session.
const ETHERNET: PdnType = PdnType(5);
const ETHERNET_PDU_SESSION_INFORMATION: u16 = 142;
/// Flow that matches no packet of a UE.
const NO_FLOW: &str = "permit out 255 from 192.0.2.255 to assigned";

impl Meddler {
    pub(super) fn new(fault: UpfFault) -> Self {
        Self { fault, origins: HashMap::new(), provisioned: HashSet::new(), beats: 0, unreadable: 0 }
    }

    /// Returns whether a request crashes the user plane.
    pub(super) fn is_fatal(&mut self, datagram: &[u8]) -> bool {
        self.unreadable += u32::from(decode(datagram).is_err());
        self.fault == UpfFault::Garbage && self.unreadable >= FATAL
    }

    /// Returns the modified request that the user plane receives, or `None` if the request is lost.
    pub(super) fn request(&mut self, from: SocketAddr, datagram: &[u8]) -> Option<Vec<u8>> {
        if self.fault == UpfFault::SourcePort && from.port() != super::PFCP_PORT {
            return None;
        }
        let Ok((mut pdu, _)) = decode(datagram) else { return Some(datagram.to_vec()) };
        match &mut pdu.message {
            Message::SessionEstablishmentRequest(request) => {
                if self.origins.len() < MAX_ORIGINS {
                    self.origins.insert(request.cp_f_seid.seid, from);
                }
                self.establishment(request);
            }
            Message::PfdManagementRequest(request) => {
                let ids = request.applications.iter().map(|application| application.application_id.0.clone());
                self.provisioned.extend(ids.take(MAX_ORIGINS));
            }
            Message::SessionModificationRequest(request) => {
                if self.fault == UpfFault::Modification {
                    return None;
                }
                self.modification(request);
            }
            _ => {}
        }
        let mut out = Vec::new();
        Some(pdu.encode(&mut out).map_or_else(|_| datagram.to_vec(), |()| out))
    }

    fn establishment(&self, request: &mut SessionEstablishmentRequest) {
        match self.fault {
            UpfFault::PdnType if request.pdn_type.is_none() => {
                let downlink = request.create_pdrs.iter_mut().filter(|rule| !is_uplink(rule));
                downlink.for_each(|rule| rule.pdi.sdf_filters = vec![SdfFilter::flow(NO_FLOW)]);
            }
            UpfFault::SetDeletion => request.fq_csids.clear(),
            UpfFault::Ethernet if request.pdn_type == Some(ETHERNET) => {
                request.pdn_type = Some(PdnType::IPV4)
            }
            _ => {}
        }
        request.create_pdrs.iter_mut().for_each(|rule| self.rule(rule));
        request.create_fars.iter_mut().for_each(|far| self.forwarding(far));
        request.create_urrs.iter_mut().for_each(|urr| self.usage(urr));
        for qer in &mut request.create_qers {
            match self.fault {
                UpfFault::Gate => qer.gate_status = GateStatus::OPEN,
                UpfFault::QosFlow => qer.qfi = None,
                _ => {}
            }
        }
    }

    fn rule(&self, rule: &mut CreatePdr) {
        let untyped = rule.pdi.source_interface_type.is_none() && is_uplink(rule);
        match self.fault {
            UpfFault::InterfaceType if untyped => rule.pdi.sdf_filters = vec![SdfFilter::flow(NO_FLOW)],
            UpfFault::DualStack => {
                for ue in &mut rule.pdi.ue_ip_addresses {
                    ue.addresses.v6 = ue.addresses.v6.filter(|_| ue.addresses.v4.is_none());
                }
            }
            UpfFault::Ethernet => {
                rule.pdi.others.retain(|ie| ie.ie_type != ETHERNET_PDU_SESSION_INFORMATION);
            }
            UpfFault::NoTunnel => {
                if let Some(FTeid::Choose { .. }) = rule.pdi.f_teid {
                    let teid = 0x6000_0000 | u32::from(rule.pdr_id.0);
                    let addresses = Addresses { v4: Some([127, 0, 0, 1].into()), v6: None };
                    rule.pdi.f_teid = Some(FTeid::Assigned { teid, addresses });
                }
            }
            // Unknown applications are still refused, because accepting them is a different fault.
            UpfFault::Application
                if rule.pdi.application_id.as_ref().is_some_and(|id| self.provisioned.contains(&id.0)) =>
            {
                rule.pdi.application_id = None;
            }
            UpfFault::TypeOfService => {
                rule.pdi.sdf_filters.retain(|filter| filter.tos_traffic_class.is_none());
            }
            UpfFault::EmptyFlow | UpfFault::Ports => {
                rule.pdi.sdf_filters.iter_mut().for_each(|filter| self.filter(filter));
            }
            _ => {}
        }
    }

    fn filter(&self, filter: &mut SdfFilter) {
        let Some(text) = filter.flow_description.as_ref().and_then(|text| std::str::from_utf8(text).ok())
        else {
            return;
        };
        let text = match self.fault {
            UpfFault::EmptyFlow if text.is_empty() => NO_FLOW.to_owned(),
            // In such a description, each word of digits after an address is a port.
            UpfFault::Ports if text.starts_with("permit out 17 ") => {
                let is_port = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit()) && word != "17";
                text.split(' ').filter(|word| !is_port(word)).collect::<Vec<_>>().join(" ")
            }
            _ => return,
        };
        filter.flow_description = Some(Bytes::from(text));
    }

    fn forwarding(&self, far: &mut CreateFar) {
        let Some(way) = &mut far.forwarding_parameters else { return };
        match (self.fault, way.destination_interface) {
            (UpfFault::N9, Interface::CORE) => way.outer_header_creation = None,
            (UpfFault::CpFunction, Interface::CP_FUNCTION) => {
                way.outer_header_creation = None;
                way.destination_interface = Interface::CORE;
            }
            (UpfFault::Marking, _) => way.transport_level_marking = None,
            _ => {}
        }
    }

    fn usage(&self, urr: &mut CreateUrr) {
        let silent = match self.fault {
            UpfFault::Threshold => ReportingTriggers::VOLTH,
            UpfFault::Periodic => ReportingTriggers::PERIO,
            UpfFault::TimeThreshold => ReportingTriggers::TIMTH,
            UpfFault::Start => ReportingTriggers::START,
            UpfFault::Stop => ReportingTriggers::STOPT,
            UpfFault::Linked => ReportingTriggers::LIUSA,
            fault => {
                ignore_time_or_quota(fault, urr);
                return;
            }
        };
        let triggers = urr.reporting_triggers;
        urr.reporting_triggers = ReportingTriggers::in_octets(triggers.bits() & !silent, triggers.octets());
    }

    fn modification(&self, request: &mut SessionModificationRequest) {
        match self.fault {
            UpfFault::Query => {
                request.query_urrs.clear();
                request.sm_req_flags = None;
            }
            UpfFault::ChangedThreshold => {
                request.update_urrs.iter_mut().for_each(|urr| urr.volume_threshold = None)
            }
            UpfFault::GrantedAgain => request.update_urrs.iter_mut().for_each(|urr| urr.volume_quota = None),
            UpfFault::Buffering => {
                let flags = request.sm_req_flags.map_or(0, SmReqFlags::bits);
                request.sm_req_flags = Some(SmReqFlags::new(flags | SmReqFlags::DROBU));
            }
            UpfFault::WrongTunnel => {
                let ways = request
                    .update_fars
                    .iter_mut()
                    .filter_map(|far| far.update_forwarding_parameters.as_mut());
                for header in ways.filter_map(|way| way.outer_header_creation.as_mut()) {
                    header.teid = header.teid.map(|teid| teid ^ 1 << 20);
                }
            }
            _ => {}
        }
    }

    /// Returns the modified datagram with its destination, or `None` if nothing is sent.
    pub(super) fn output(&mut self, to: SocketAddr, datagram: Vec<u8>) -> Option<(SocketAddr, Vec<u8>)> {
        let Ok((mut pdu, _)) = decode(&datagram) else { return Some((to, datagram)) };
        let seid = pdu.header.seid.unwrap_or(0);
        let mut receiver = to;
        match &mut pdu.message {
            Message::VersionNotSupportedResponse(_) if self.fault == UpfFault::Version => return None,
            Message::SessionReportRequest(report) => {
                let silent = match self.fault {
                    UpfFault::Paging => report.downlink_data_report.is_some(),
                    UpfFault::ErrorIndication => report.error_indication_report.is_some(),
                    _ => false,
                };
                if silent {
                    return None;
                }
                if self.fault == UpfFault::ReportDestination {
                    receiver = self.origins.get(&seid).copied().unwrap_or(to);
                }
            }
            message => self.response(message),
        }
        let mut out = Vec::new();
        Some((receiver, pdu.encode(&mut out).map_or(datagram, |()| out)))
    }

    fn response(&mut self, message: &mut Message) {
        match (self.fault, message) {
            (UpfFault::Association, Message::AssociationSetupResponse(response)) => {
                response.cause = Cause::REJECTED
            }
            (UpfFault::NoTunnel, Message::AssociationSetupResponse(response)) => {
                let features = response.up_function_features.map_or(0, UpFunctionFeatures::bits);
                response.up_function_features =
                    Some(UpFunctionFeatures::new(features & !UpFunctionFeatures::FTUP));
            }
            (UpfFault::Heartbeat, Message::HeartbeatResponse(response)) => {
                self.beats += 1;
                response.recovery_time_stamp.0 = response.recovery_time_stamp.0.wrapping_add(self.beats);
            }
            (UpfFault::UsageAtDeletion, Message::SessionDeletionResponse(response)) => {
                response.usage_reports.clear();
            }
            (UpfFault::Removed, Message::SessionModificationResponse(response)) => {
                let ended =
                    |report: &UsageReport| report.usage_report_trigger.contains(UsageReportTrigger::TERMR);
                response.usage_reports.retain(|report| !ended(report));
            }
            (UpfFault::UnknownSession, Message::SessionModificationResponse(response)) => {
                replace(&mut response.cause, Cause::CONTEXT_NOT_FOUND, Cause::REJECTED);
            }
            (UpfFault::UnknownSession, Message::SessionDeletionResponse(response)) => {
                replace(&mut response.cause, Cause::CONTEXT_NOT_FOUND, Cause::REJECTED);
            }
            (fault, Message::SessionEstablishmentResponse(response)) => established(fault, response),
            _ => {}
        }
    }
}

fn ignore_time_or_quota(fault: UpfFault, urr: &mut CreateUrr) {
    match fault {
        UpfFault::Quota => urr.volume_quota = None,
        UpfFault::TimeQuota => urr.time_quota = None,
        UpfFault::HoldingTime => urr.quota_holding_time = None,
        UpfFault::InactivityDetection if urr.measurement_method.contains(MeasurementMethod::DURAT) => {
            urr.inactivity_detection_time = None;
        }
        _ => {}
    }
}

fn is_uplink(rule: &CreatePdr) -> bool {
    rule.pdi.source_interface == Interface::ACCESS
}

fn replace(cause: &mut Cause, from: Cause, to: Cause) {
    if *cause == from {
        *cause = to;
    }
}

fn established(fault: UpfFault, response: &mut SessionEstablishmentResponse) {
    let cause = &mut response.cause;
    let accepts = match fault {
        UpfFault::NoAssociation => {
            replace(cause, Cause::NO_ASSOCIATION, Cause::REJECTED);
            false
        }
        UpfFault::MissingElement => {
            replace(cause, Cause::MANDATORY_IE_MISSING, Cause::MANDATORY_IE_INCORRECT);
            false
        }
        UpfFault::WrongLength => {
            replace(cause, Cause::INVALID_LENGTH, Cause::MANDATORY_IE_INCORRECT);
            false
        }
        UpfFault::BadFlow => *cause == Cause::RULE_FAILURE,
        UpfFault::UnknownApplication => *cause == Cause::UNKNOWN_APPLICATION_ID,
        UpfFault::UeAddress => {
            response.created_pdrs.iter_mut().for_each(|created| created.ue_ip_addresses.clear());
            *cause == Cause::SERVICE_NOT_SUPPORTED && response.failed_rule_id.is_none()
        }
        _ => false,
    };
    if accepts {
        let addresses = Addresses { v4: Some([127, 0, 0, 1].into()), v6: None };
        response.cause = Cause::ACCEPTED;
        response.failed_rule_id = None;
        response.up_f_seid = Some(FSeid { seid: 1 << 62, addresses });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_names_are_unique_and_resolve() {
        for (at, (fault, name, _)) in UpfFault::ALL.iter().enumerate() {
            assert_eq!(UpfFault::named(name), Some(*fault));
            assert_eq!(fault.name(), *name);
            assert!(!UpfFault::ALL[..at].iter().any(|(_, other, _)| other == name), "{name}");
        }
        assert_eq!(UpfFault::named("none"), None);
    }

    #[test]
    fn undecodable_requests_pass_unchanged() {
        let mut meddler = Meddler::new(UpfFault::N9);
        let from = SocketAddr::from(([127, 0, 0, 1], 8_805));
        assert_eq!(meddler.request(from, &[0x20, 1]), Some(vec![0x20, 1]));
        assert_eq!(meddler.output(from, vec![1, 2]), Some((from, vec![1, 2])));
    }
}
