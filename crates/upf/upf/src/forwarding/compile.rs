//! Compiles rules. A rule is either supported exactly as given, or rejected with a cause and the rule's id.
use super::flow::{Filter, FlowError};
use super::inner::ue_key;
use super::marks::Marks;
use super::rules::{Action, Rule, Rules, Source, Ues, measures_before_qos};
use crate::pfcp::{
    ApplicationPfds, ApplyAction, Cause, CreateFar, CreatePdr, FTeid, FailedRuleId, ForwardingParameters,
    Interface, OuterHeaderCreation, OuterHeaderRemoval, PfdContents,
};
use std::net::IpAddr;

/// Reason why a session's rules are rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{failed:?} is refused with cause {}: {why}", cause.0)]
pub struct Refusal {
    /// Cause that the response contains.
    pub cause: Cause,
    /// Rule that the element Failed Rule ID names.
    pub failed: FailedRuleId,
    /// The unsupported feature of the rule.
    pub why: Unsupported,
}

/// An unsupported feature of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// A source or destination interface that the packet engine does not support.
    #[error("interface {0}; allowed are Access (0), Core (1), N6-LAN (2) and CP-function (3)")]
    Interface(u8),
    /// An SDF filter that cannot be compared with packets.
    #[error("an SDF filter of the rule is invalid")]
    Filter,
    /// An application and SDF filters in one rule. A packet is detected either by an application or by filters (TS 29.244 §7.5.2.2).
    #[error("the rule has both an application and SDF filters")]
    TwoDetections,
    /// An Application ID without configured filters.
    #[error("the application of the rule is not configured")]
    Application,
    /// A predefined rule. This UPF has no predefined rules.
    #[error("the predefined rule is not configured")]
    Predefined,
    /// An IPv6 prefix that is not a /64.
    #[error("the UE prefix of the rule is not a /64")]
    Prefix,
    /// A rule that no packet can match. Neither the rule nor another rule of the session has a tunnel or a UE address.
    #[error("no packet can match the rule: it has neither a tunnel nor a UE address")]
    Unreachable,
    /// An Outer Header Removal other than GTP-U.
    #[error("outer header removal {0}; allowed are 0, 1 and 6")]
    Removal(u8),
    /// An Outer Header Creation other than GTP-U.
    #[error("outer header creation {0:#06x}; allowed are 0x0100 and 0x0200")]
    Creation(u16),
    /// An Apply Action with an unsupported flag, or without exactly one of drop, forward and buffer.
    #[error("apply action {0:#x}; allowed is exactly one of DROP, FORW and BUFF, with or without NOCP")]
    Action(u128),
    /// Forwarding without a tunnel, either to the control plane, or from the data network back to the data network.
    #[error("the rule forwards to the control plane without a tunnel, or from the data network back to it")]
    NoTunnel,
    /// A QER that requests marks in the PDU session container, but names no QoS flow.
    #[error("the QER requests reflective QoS or a paging policy, but names no QoS flow")]
    NoFlow,
}

/// Compiles all rules of a session.
///
/// # Errors
/// The first unsupported rule.
pub(super) fn compile_rules(rules: &Rules<'_>) -> Result<Vec<Rule>, Refusal> {
    for far in rules.fars {
        action_of(far).map_err(|why| refuse(FailedRuleId::Far(far.far_id), why))?;
    }
    for qer in rules.qers {
        Marks::from_qer(qer).map_err(|why| refuse(FailedRuleId::Qer(qer.qer_id), why))?;
    }
    rules
        .pdrs
        .iter()
        .map(|pdr| compile_rule(pdr, rules).map_err(|why| refuse(FailedRuleId::Pdr(pdr.pdr_id), why)))
        .collect()
}

fn refuse(failed: FailedRuleId, why: Unsupported) -> Refusal {
    let cause = match why {
        Unsupported::Application => Cause::UNKNOWN_APPLICATION_ID,
        Unsupported::Predefined => Cause::UNKNOWN_PREDEFINED_RULE,
        Unsupported::Interface(_) | Unsupported::Prefix => Cause::SERVICE_NOT_SUPPORTED,
        _ => Cause::RULE_FAILURE,
    };
    Refusal { cause, failed, why }
}

fn compile_rule(pdr: &CreatePdr, rules: &Rules<'_>) -> Result<Rule, Unsupported> {
    let interface = pdr.pdi.source_interface;
    if interface > Interface::CP_FUNCTION {
        return Err(Unsupported::Interface(interface.0));
    }
    if !pdr.activate_predefined_rules.is_empty() {
        return Err(Unsupported::Predefined);
    }
    let source = source_of(pdr, rules)?;
    let ues = ues_of(pdr)?;
    if source == Source::N6 && ues.first.is_none() && !rules.pdrs.iter().any(names_ue) {
        return Err(Unsupported::Unreachable);
    }
    let removal = pdr.outer_header_removal.unwrap_or(OuterHeaderRemoval::GTPU_UDP_IP);
    if source != Source::N6 && !matches!(removal.description, 0 | 1 | 6) {
        return Err(Unsupported::Removal(removal.description));
    }
    let action = rules.far(pdr.far_id).map_or(Ok(Action::Drop), action_of)?;
    if source == Source::N6 && action == Action::N6 {
        // The data network would receive its own packet.
        return Err(Unsupported::NoTunnel);
    }
    let way = rules.far(pdr.far_id).and_then(|far| far.forwarding_parameters.as_ref());
    let marking = way.and_then(|way| way.transport_level_marking).map_or(0, |marking| marking.0);
    let qers = rules.qers.iter().enumerate().filter(|(_, qer)| pdr.qer_ids.contains(&qer.qer_id));
    // The QER of an application takes precedence over the QER of the session, which names no QoS flow or QoS flow 0.
    let named: Vec<Marks> =
        qers.clone().filter_map(|(_, qer)| Marks::from_qer(qer).transpose()).collect::<Result<_, _>>()?;
    let marks = named.into_iter().reduce(|first, next| if first.qfi == 0 { next } else { first });
    let urrs = rules.urrs.iter().enumerate().filter(|(_, urr)| pdr.urr_ids.contains(&urr.urr_id));
    Ok(Rule {
        pdr_id: pdr.pdr_id.0,
        precedence: pdr.precedence.0,
        source,
        uplink: interface == Interface::ACCESS,
        qfis: pdr.pdi.qfis.iter().fold(0, |bits, qfi| bits | 1 << (qfi.0 & 63)),
        ues,
        filters: filters_of(pdr, rules)?,
        action,
        tos: (marking >> 8) as u8 & marking as u8,
        strips_container: removal.extension_headers.is_some_and(|headers| headers & 1 != 0),
        marks,
        is_marked: marks.is_some(),
        qers: qers.map(|(at, _)| at as u8).collect(),
        measures_before_qos: urrs.clone().any(|(_, urr)| measures_before_qos(urr)),
        meters: urrs.map(|(at, _)| at as u8).collect(),
    })
}

fn names_ue(pdr: &CreatePdr) -> bool {
    !pdr.pdi.ue_ip_addresses.is_empty()
}

/// Returns the source of the rule's packets. Only the data network has no tunnel. At other interfaces, a rule without F-TEID matches
/// packets of all tunnels that the session has at the interface.
fn source_of(pdr: &CreatePdr, rules: &Rules<'_>) -> Result<Source, Unsupported> {
    let interface = pdr.pdi.source_interface;
    let from_n6 = interface == Interface::CORE || interface == Interface::N6_LAN;
    match teid_of(pdr) {
        Some(teid) => Ok(Source::Tunnel(teid)),
        None if from_n6 => Ok(Source::N6),
        None => {
            let same = rules.pdrs.iter().filter(|other| other.pdi.source_interface == interface);
            let teids: Box<[u32]> = same.filter_map(teid_of).collect();
            if teids.is_empty() { Err(Unsupported::Unreachable) } else { Ok(Source::Tunnels(teids)) }
        }
    }
}

/// Returns the rule's tunnel, or 0 if it has not been chosen yet.
fn teid_of(pdr: &CreatePdr) -> Option<u32> {
    pdr.pdi.f_teid.map(|f_teid| match f_teid {
        FTeid::Assigned { teid, .. } => teid,
        FTeid::Choose { .. } => 0,
    })
}

fn ues_of(pdr: &CreatePdr) -> Result<Ues, Unsupported> {
    let mut keys = Vec::new();
    let mut destination = pdr.pdi.source_interface != Interface::ACCESS;
    for ue in &pdr.pdi.ue_ip_addresses {
        if ue.prefix_delegation_bits.is_some_and(|bits| bits > 0)
            || ue.prefix_len.is_some_and(|len| len != 64)
        {
            return Err(Unsupported::Prefix);
        }
        destination |= ue.destination;
        keys.extend(ue.addresses.v4.map(IpAddr::from).map(ue_key));
        keys.extend(ue.addresses.v6.map(IpAddr::from).map(ue_key));
    }
    let mut keys = keys.into_iter();
    Ok(Ues { first: keys.next(), more: keys.collect(), destination })
}

fn filters_of(pdr: &CreatePdr, rules: &Rules<'_>) -> Result<Box<[Filter]>, Unsupported> {
    let mut filters = Vec::new();
    if let Some(id) = &pdr.pdi.application_id {
        if !pdr.pdi.sdf_filters.is_empty() {
            return Err(Unsupported::TwoDetections);
        }
        let mut known = rules.applications.iter();
        let application = known.find(|own| own.application_id == *id).ok_or(Unsupported::Application)?;
        return application_filters(application).map_err(|_| Unsupported::Filter);
    }
    for filter in &pdr.pdi.sdf_filters {
        let known = rules.pdrs.iter().flat_map(|pdr| &pdr.pdi.sdf_filters);
        filters.extend(Filter::compile(filter, known).map_err(|_| Unsupported::Filter)?);
    }
    Ok(filters.into())
}

/// Compiles the filters of an application. An application without flow descriptions matches no packets.
pub(super) fn application_filters(application: &ApplicationPfds) -> Result<Box<[Filter]>, FlowError> {
    let contents = application.pfd_contexts.iter().flat_map(|context| &context.contents);
    let flows = contents.flat_map(PfdContents::flows).map(|flow| Filter::from_flow(flow));
    let filters: Vec<Filter> = flows.collect::<Result<_, _>>()?;
    Ok(if filters.is_empty() { Box::new([Filter::of_nothing()]) } else { filters.into() })
}

/// Returns the action of a forwarding rule.
fn action_of(far: &CreateFar) -> Result<Action, Unsupported> {
    let flags = far.apply_action.bits();
    match flags & !ApplyAction::NOCP {
        ApplyAction::DROP => Ok(Action::Drop),
        ApplyAction::BUFF => Ok(Action::Buffer { notify: far.apply_action.contains(ApplyAction::NOCP) }),
        ApplyAction::FORW => far.forwarding_parameters.as_ref().ok_or(Unsupported::NoTunnel).and_then(way_of),
        _ => Err(Unsupported::Action(flags)),
    }
}

fn way_of(way: &ForwardingParameters) -> Result<Action, Unsupported> {
    let interface = way.destination_interface;
    if interface > Interface::CP_FUNCTION {
        return Err(Unsupported::Interface(interface.0));
    }
    let Some(header) = &way.outer_header_creation else {
        let to_n6 = interface == Interface::CORE || interface == Interface::N6_LAN;
        // The SMF of free5GC forwards from the start, but names the base station's tunnel later.
        let later = interface == Interface::ACCESS;
        return match (to_n6, later) {
            (true, _) => Ok(Action::N6),
            (_, true) => Ok(Action::NoTunnel),
            _ => Err(Unsupported::NoTunnel),
        };
    };
    let refused = Unsupported::Creation(header.description);
    if header.description & !(OuterHeaderCreation::GTPU_UDP_IPV4 | OuterHeaderCreation::GTPU_UDP_IPV6) != 0 {
        return Err(refused);
    }
    let v6 = header.addresses.v6.map(IpAddr::from);
    let peer = header.addresses.v4.map(IpAddr::from).or(v6).ok_or(refused)?;
    Ok(Action::Tunnel { teid: header.teid.ok_or(refused)?, peer })
}
