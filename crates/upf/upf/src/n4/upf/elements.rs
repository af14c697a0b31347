//! Support of each information element of session requests. Rejections and the UP Function Features follow from this
//! table.
//!
//! Elements of later releases and of vendors are not in the table. They are ignored, as TS 29.244 §7.6.5 requires.
use crate::n4::dialect::UpfRequirements;
use crate::n4::rules::{INACTIVITY, RuleFault};
use crate::pfcp::*;

/// Support of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// The UPF applies it.
    Acted,
    /// The element is informative and has no effect on packets.
    Informative,
    /// The UPF rejects the rule or the request.
    Refused,
}
use Support::{Acted, Informative, Refused};

/// Message or grouped element that contains an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Session Establishment Request.
    Establishment,
    /// Session Modification Request.
    Modification,
    /// Create PDR, Update PDR.
    Pdr,
    /// Packet Detection Information (PDI).
    Pdi,
    /// Create FAR, Update FAR.
    Far,
    /// Forwarding Parameters, Update Forwarding Parameters.
    Forwarding,
    /// Create URR, Update URR.
    Urr,
    /// Create QER, Update QER.
    Qer,
    /// Create BAR, Update BAR.
    Bar,
}

/// Information element in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element {
    /// Group that contains the element.
    pub group: Group,
    /// IE type of the element.
    pub ie_type: u16,
    /// Name of the element in TS 29.244.
    pub name: &'static str,
    /// Support by this UPF.
    pub support: Support,
    /// UP Function Feature that announces the element. 0: no feature.
    pub feature: u128,
}

macro_rules! elements {
    ($( $group:ident { $( $ie_type:literal $name:literal $support:ident $(announces $feature:ident)?; )* } )*) => {
        /// All elements, by group.
        pub const ELEMENTS: &[Element] = &[$( $( Element {
            group: Group::$group,
            ie_type: $ie_type,
            name: $name,
            support: $support,
            feature: 0 $( | UpFunctionFeatures::$feature )?,
        }, )* )*];
    };
}

elements! {
    Establishment {
        60 "Node ID" Acted;
        57 "CP F-SEID" Acted;
        1 "Create PDR" Acted;
        3 "Create FAR" Acted;
        6 "Create URR" Acted;
        7 "Create QER" Acted;
        85 "Create BAR" Acted;
        113 "PDN Type" Acted;
        65 "FQ-CSID" Acted;
        96 "Recovery Time Stamp" Informative;
        117 "User Plane Inactivity Timer" Acted;
        127 "Create Traffic Endpoint" Refused;
        141 "User ID" Informative;
        152 "Trace Information" Refused;
        159 "APN/DNN" Informative;
        165 "Create MAR" Refused;
        186 "PFCPSEReq-Flags" Informative;
        194 "Create Bridge Info for TSC" Refused;
        257 "S-NSSAI" Informative;
    }
    Modification {
        57 "CP F-SEID" Acted;
        15 "Remove PDR" Acted;
        16 "Remove FAR" Acted;
        17 "Remove URR" Acted;
        18 "Remove QER" Acted;
        87 "Remove BAR" Acted;
        1 "Create PDR" Acted;
        3 "Create FAR" Acted;
        6 "Create URR" Acted;
        7 "Create QER" Acted;
        85 "Create BAR" Acted;
        9 "Update PDR" Acted;
        10 "Update FAR" Acted;
        13 "Update URR" Acted;
        14 "Update QER" Acted;
        86 "Update BAR" Acted;
        49 "PFCPSMReq-Flags" Acted;
        60 "Node ID" Acted;
        77 "Query URR" Acted;
        117 "User Plane Inactivity Timer" Acted;
        127 "Create Traffic Endpoint" Refused;
        129 "Update Traffic Endpoint" Refused;
        130 "Remove Traffic Endpoint" Refused;
        152 "Trace Information" Refused;
        165 "Create MAR" Refused;
    }
    Pdr {
        56 "PDR ID" Acted;
        29 "Precedence" Acted;
        2 "PDI" Acted;
        95 "Outer Header Removal" Acted;
        108 "FAR ID" Acted;
        81 "URR ID" Acted;
        109 "QER ID" Acted;
        106 "Activate Predefined Rules" Refused;
        107 "Deactivate Predefined Rules" Refused;
        163 "Activation Time" Refused;
        164 "Deactivation Time" Refused;
        170 "MAR ID" Refused;
        179 "Packet Replication and Detection Carry-On Information" Refused;
    }
    Pdi {
        20 "Source Interface" Acted;
        21 "F-TEID" Acted announces FTUP;
        22 "Network Instance" Informative;
        23 "SDF Filter" Acted;
        24 "Application ID" Acted announces PFDM;
        93 "UE IP Address" Acted;
        124 "QFI" Acted;
        131 "Traffic Endpoint ID" Refused;
        132 "Ethernet Packet Filter" Refused;
        142 "Ethernet PDU Session Information" Refused;
        153 "Framed-Route" Refused;
        154 "Framed-Routing" Refused;
        155 "Framed-IPv6-Route" Refused;
        160 "3GPP Interface Type" Informative;
        188 "IP Multicast Addressing Info" Refused;
        255 "Redundant Transmission Detection Parameters" Refused;
    }
    Far {
        108 "FAR ID" Acted;
        44 "Apply Action" Acted;
        4 "Forwarding Parameters" Acted;
        5 "Duplicating Parameters" Refused;
        11 "Update Forwarding Parameters" Acted;
        88 "BAR ID" Acted;
        105 "Update Duplicating Parameters" Refused;
    }
    Forwarding {
        42 "Destination Interface" Acted;
        22 "Network Instance" Informative;
        30 "Transport Level Marking" Acted;
        38 "Redirect Information" Refused;
        41 "Forwarding Policy" Refused;
        49 "PFCPSMReq-Flags" Acted announces EMPU;
        84 "Outer Header Creation" Acted;
        98 "Header Enrichment" Refused;
        131 "Linked Traffic Endpoint ID" Refused;
        137 "Proxying" Refused;
        160 "Destination Interface Type" Informative;
    }
    Urr {
        81 "URR ID" Acted;
        62 "Measurement Method" Acted;
        37 "Reporting Triggers" Acted;
        64 "Measurement Period" Acted;
        31 "Volume Threshold" Acted;
        73 "Volume Quota" Acted;
        32 "Time Threshold" Acted;
        74 "Time Quota" Acted;
        71 "Quota Holding Time" Acted;
        181 "Quota Validity Time" Acted;
        82 "Linked URR ID" Acted;
        36 "Inactivity Detection Time" Acted;
        148 "Event Quota" Acted;
        149 "Event Threshold" Acted;
        100 "Measurement Information" Acted announces MNOP;
        33 "Monitoring Time" Refused;
        34 "Subsequent Volume Threshold" Refused;
        35 "Subsequent Time Threshold" Refused;
        72 "Dropped DL Traffic Threshold" Refused;
        108 "FAR ID for Quota Action" Refused;
        115 "Time Quota Mechanism" Refused;
        118 "Aggregated URRs" Refused;
        121 "Subsequent Volume Quota" Refused;
        122 "Subsequent Time Quota" Refused;
        146 "Ethernet Inactivity Timer" Refused;
        147 "Additional Monitoring Time" Refused;
        150 "Subsequent Event Quota" Refused;
        151 "Subsequent Event Threshold" Refused;
    }
    Qer {
        109 "QER ID" Acted;
        25 "Gate Status" Acted;
        26 "Maximum Bitrate" Acted;
        27 "Guaranteed Bitrate" Informative;
        28 "QER Correlation ID" Refused;
        94 "Packet Rate" Refused;
        97 "DL Flow Level Marking" Refused;
        123 "RQI" Acted;
        124 "QoS Flow Identifier" Acted;
        157 "Averaging Window" Informative;
        158 "Paging Policy Indicator" Acted;
        251 "QER Control Indications" Refused;
    }
    Bar {
        88 "BAR ID" Acted;
        46 "Downlink Data Notification Delay" Refused;
        47 "DL Buffering Duration" Informative;
        48 "DL Buffering Suggested Packet Count" Acted;
        140 "Suggested Buffering Packets Count" Acted;
    }
}

/// Reporting triggers that the usage meter supports.
const TRIGGERS: u128 = ReportingTriggers::PERIO
    | ReportingTriggers::VOLTH
    | ReportingTriggers::TIMTH
    | ReportingTriggers::QUHTI
    | ReportingTriggers::START
    | ReportingTriggers::STOPT
    | ReportingTriggers::LIUSA
    | ReportingTriggers::VOLQU
    | ReportingTriggers::TIMQU
    | ReportingTriggers::EVETH
    | ReportingTriggers::EVEQU
    | ReportingTriggers::QUVTI;
/// Measurement methods that the usage meter supports.
const METHODS: u128 = MeasurementMethod::DURAT | MeasurementMethod::VOLUM | MeasurementMethod::EVENT;
/// Measurement information flags that the usage meter supports.
const MEASUREMENTS: u128 =
    MeasurementInformation::MBQE | MeasurementInformation::ISTM | MeasurementInformation::MNOP;

/// Returns the UP Function Features that the table announces.
pub(super) fn features(demands: &UpfRequirements) -> UpFunctionFeatures {
    let acted = ELEMENTS.iter().filter(|element| element.support == Acted);
    let all = acted.fold(0, |features, element| features | element.feature);
    let withheld = if demands.chooses_teid { 0 } else { UpFunctionFeatures::FTUP };
    UpFunctionFeatures::new(all & !withheld)
}

fn support(group: Group, ie_type: u16) -> Option<Support> {
    let mut elements = ELEMENTS.iter().filter(|element| element.group == group);
    elements.find(|element| element.ie_type == ie_type).map(|element| element.support)
}

/// Rejects unsupported elements of a group that the codec does not decode.
fn check_raw(group: Group, others: &[RawIe]) -> Result<(), Cause> {
    let refused = others.iter().any(|ie| support(group, ie.ie_type) == Some(Refused));
    if refused { Err(Cause::SERVICE_NOT_SUPPORTED) } else { Ok(()) }
}

/// Rejects a decoded element if the table declares it as refused.
fn check_field(group: Group, ie_type: u16, is_set: bool) -> Result<(), Cause> {
    if is_set && support(group, ie_type) == Some(Refused) {
        Err(Cause::SERVICE_NOT_SUPPORTED)
    } else {
        Ok(())
    }
}

fn check_flags(given: u128, allowed: u128) -> Result<(), Cause> {
    if given & !allowed == 0 { Ok(()) } else { Err(Cause::SERVICE_NOT_SUPPORTED) }
}

fn named(failed: FailedRuleId) -> impl Fn(Cause) -> RuleFault {
    move |cause| RuleFault { cause, failed: Some(failed) }
}

/// Rejects an establishment that requests an unsupported feature.
pub(super) fn check_establishment(request: &SessionEstablishmentRequest) -> Result<(), RuleFault> {
    check_raw(Group::Establishment, &request.others)?;
    request.create_pdrs.iter().try_for_each(check_pdr)?;
    request.create_fars.iter().try_for_each(check_far)?;
    request.create_urrs.iter().try_for_each(check_urr)?;
    request.create_qers.iter().try_for_each(check_qer)?;
    request.create_bar.iter().try_for_each(check_bar)
}

/// Rejects a modification that requests an unsupported feature.
pub(super) fn check_modification(request: &SessionModificationRequest) -> Result<(), RuleFault> {
    check_raw(Group::Modification, &request.others)?;
    request.create_pdrs.iter().try_for_each(check_pdr)?;
    request.create_fars.iter().try_for_each(check_far)?;
    request.create_urrs.iter().try_for_each(check_urr)?;
    request.create_qers.iter().try_for_each(check_qer)?;
    request.create_bar.iter().try_for_each(check_bar)?;
    for pdr in &request.update_pdrs {
        let pdi = pdr.pdi.iter().try_for_each(check_pdi);
        let raw = pdi.and_then(|()| check_raw(Group::Pdr, &pdr.others));
        raw.map_err(named(FailedRuleId::Pdr(pdr.pdr_id)))?;
        if !pdr.activate_predefined_rules.is_empty() || !pdr.deactivate_predefined_rules.is_empty() {
            return Err(named(FailedRuleId::Pdr(pdr.pdr_id))(Cause::UNKNOWN_PREDEFINED_RULE));
        }
    }
    for far in &request.update_fars {
        let way = far.update_forwarding_parameters.as_ref().map_or(&[][..], |way| &way.others);
        let raw = check_raw(Group::Far, &far.others).and_then(|()| check_raw(Group::Forwarding, way));
        raw.map_err(named(FailedRuleId::Far(far.far_id)))?;
    }
    for urr in &request.update_urrs {
        let raw = check_raw(Group::Urr, &urr.others)
            .and_then(|()| check_flags(urr.reporting_triggers.map_or(0, |flags| flags.bits()), TRIGGERS))
            .and_then(|()| check_flags(urr.measurement_method.map_or(0, |flags| flags.bits()), METHODS))
            .and_then(|()| check_flags(urr.measurement_information.map_or(0, |f| f.bits()), MEASUREMENTS));
        raw.map_err(named(FailedRuleId::Urr(urr.urr_id)))?;
    }
    for qer in &request.update_qers {
        let raw = check_raw(Group::Qer, &qer.others)
            .and_then(|()| check_field(Group::Qer, 28, qer.qer_correlation_id.is_some()));
        raw.map_err(named(FailedRuleId::Qer(qer.qer_id)))?;
    }
    request.update_bar.iter().try_for_each(|bar| {
        let delays = bar.notification_delay.is_some_and(|delay| delay.0 != 0);
        let raw = check_raw(Group::Bar, &bar.others).and_then(|()| check_field(Group::Bar, 46, delays));
        raw.map_err(named(FailedRuleId::Bar(bar.bar_id)))
    })
}

fn check_pdi(pdi: &Pdi) -> Result<(), Cause> {
    check_raw(Group::Pdi, &pdi.others)
}

fn check_pdr(pdr: &CreatePdr) -> Result<(), RuleFault> {
    let failed = named(FailedRuleId::Pdr(pdr.pdr_id));
    if !pdr.activate_predefined_rules.is_empty() {
        return Err(failed(Cause::UNKNOWN_PREDEFINED_RULE));
    }
    check_pdi(&pdr.pdi).and_then(|()| check_raw(Group::Pdr, &pdr.others)).map_err(failed)
}

fn check_far(far: &CreateFar) -> Result<(), RuleFault> {
    let way = far.forwarding_parameters.as_ref().map_or(&[][..], |way| &way.others);
    let raw = check_raw(Group::Far, &far.others).and_then(|()| check_raw(Group::Forwarding, way));
    raw.map_err(named(FailedRuleId::Far(far.far_id)))
}

fn check_urr(urr: &CreateUrr) -> Result<(), RuleFault> {
    if urr.urr_id == INACTIVITY {
        return Err(named(FailedRuleId::Urr(urr.urr_id))(Cause::RULE_FAILURE));
    }
    let measurements = urr.measurement_information.map_or(0, MeasurementInformation::bits);
    check_raw(Group::Urr, &urr.others)
        .and_then(|()| check_flags(urr.reporting_triggers.bits(), TRIGGERS))
        .and_then(|()| check_flags(urr.measurement_method.bits(), METHODS))
        .and_then(|()| check_flags(measurements, MEASUREMENTS))
        .map_err(named(FailedRuleId::Urr(urr.urr_id)))
}

fn check_qer(qer: &CreateQer) -> Result<(), RuleFault> {
    check_raw(Group::Qer, &qer.others)
        .and_then(|()| check_field(Group::Qer, 28, qer.qer_correlation_id.is_some()))
        .map_err(named(FailedRuleId::Qer(qer.qer_id)))
}

fn check_bar(bar: &CreateBar) -> Result<(), RuleFault> {
    let delays = bar.notification_delay.is_some_and(|delay| delay.0 != 0);
    check_raw(Group::Bar, &bar.others)
        .and_then(|()| check_field(Group::Bar, 46, delays))
        .map_err(named(FailedRuleId::Bar(bar.bar_id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If an element of the codec were missing in the table, it would be silently accepted.
    #[test]
    fn every_element_of_the_codec_is_declared() {
        let groups: [(&[Group], &[u16]); 15] = [
            (&[Group::Establishment], SessionEstablishmentRequest::ELEMENTS),
            (&[Group::Modification], SessionModificationRequest::ELEMENTS),
            (&[Group::Pdr], CreatePdr::ELEMENTS),
            (&[Group::Pdr], UpdatePdr::ELEMENTS),
            (&[Group::Pdi], Pdi::ELEMENTS),
            (&[Group::Far], CreateFar::ELEMENTS),
            (&[Group::Far], UpdateFar::ELEMENTS),
            (&[Group::Forwarding], ForwardingParameters::ELEMENTS),
            (&[Group::Forwarding], UpdateForwardingParameters::ELEMENTS),
            (&[Group::Urr], CreateUrr::ELEMENTS),
            (&[Group::Urr], UpdateUrr::ELEMENTS),
            (&[Group::Qer], CreateQer::ELEMENTS),
            (&[Group::Qer], UpdateQer::ELEMENTS),
            (&[Group::Bar], CreateBar::ELEMENTS),
            (&[Group::Bar], UpdateBar::ELEMENTS),
        ];
        for (group, elements) in groups {
            for ie_type in elements {
                assert!(group.iter().any(|group| support(*group, *ie_type).is_some()), "{group:?} {ie_type}");
            }
        }
        for (at, element) in ELEMENTS.iter().enumerate() {
            let same = |other: &Element| (other.group, other.ie_type) == (element.group, element.ie_type);
            assert!(!ELEMENTS[..at].iter().any(same), "{element:?} is declared twice");
        }
    }

    #[test]
    fn refused_elements_name_their_rule() {
        let raw = |ie_type| vec![RawIe { ie_type, value: b"\x01"[..].into() }];
        for element in ELEMENTS.iter().filter(|element| element.support == Refused) {
            let others = raw(element.ie_type);
            let fault = match element.group {
                Group::Pdr => check_pdr(&CreatePdr { others, ..Default::default() }),
                Group::Pdi => {
                    check_pdr(&CreatePdr { pdi: Pdi { others, ..Default::default() }, ..Default::default() })
                }
                Group::Far => check_far(&CreateFar { others, ..Default::default() }),
                Group::Forwarding => {
                    let way = ForwardingParameters { others, ..Default::default() };
                    check_far(&CreateFar { forwarding_parameters: Some(way), ..Default::default() })
                }
                Group::Urr => check_urr(&CreateUrr { others, ..Default::default() }),
                Group::Qer => check_qer(&CreateQer { others, ..Default::default() }),
                Group::Bar => check_bar(&CreateBar { others, ..Default::default() }),
                Group::Establishment => {
                    let request = SessionEstablishmentRequest { others, ..Default::default() };
                    assert!(check_establishment(&request).is_err(), "{element:?}");
                    continue;
                }
                Group::Modification => {
                    let request = SessionModificationRequest { others, ..Default::default() };
                    assert!(check_modification(&request).is_err(), "{element:?}");
                    continue;
                }
            };
            assert!(fault.is_err_and(|fault| fault.failed.is_some()), "{element:?}");
        }
        let vendor = CreatePdr { others: raw(0x8006), ..Default::default() };
        assert_eq!(check_pdr(&vendor), Ok(()));
    }

    #[test]
    fn documentation_contains_element_table() {
        let documented = include_str!("../../../../../../docs/reference/upf-elements.md");
        let rows: Vec<&str> =
            documented.lines().filter(|line| line.matches('|').count() == 5).skip(2).collect();
        let row = |element: &Element| {
            let support = format!("{:?}", element.support).to_lowercase();
            format!("| {:?} | {} | {} | {support} |", element.group, element.ie_type, element.name)
        };
        assert_eq!(rows, ELEMENTS.iter().map(row).collect::<Vec<_>>());
    }

    #[test]
    fn features_are_derived_from_element_table() {
        let demands = crate::n4::Dialect::STRICT_REL17.demands;
        let announced = features(&demands);
        assert!(announced.contains(UpFunctionFeatures::FTUP | UpFunctionFeatures::EMPU));
        let withheld = features(&UpfRequirements { chooses_teid: false, ..demands });
        assert!(!withheld.contains(UpFunctionFeatures::FTUP));
        assert!(announced.contains(UpFunctionFeatures::PFDM));
        assert!(!announced.contains(UpFunctionFeatures::FRRT));
    }
}
