//! RAN function description: capabilities of a node on its interfaces (E2SM-NI §8.2.2.1).
use super::OID;
use super::messages::{ADD_TIMESTAMP, COMPLETE, PARTIAL, TARGET_IE};
use super::parameter::*;
use crate::ap::Interface;
use crate::e2sm::common::{FunctionName, Name};
use crate::e2sm::octets::octets;
use crate::e2sm::per::Aligned;
use crate::per::{List, Opt, SelfCoded, Unconstrained};
use crate::sequence;

/// Maximum number of interfaces, and of styles of one type.
pub const STYLES_MAX: u64 = 63;

octets! {
    FunctionDescription: Per => Aligned;
}

/// Codec of an optional list of styles.
type Styles = Opt<List<1, STYLES_MAX>>;

sequence! {
    /// RAN function description.
    #[derive(Eq, Hash)]
    FunctionDescription "E2SM-NI-RANfunction-Description" {
        name: FunctionName [SelfCoded] "ranFunction-Name", "Name and OID.",
        interfaces: Option<Vec<KnownInterface>> [Styles] "ni-Type-List", "Interfaces.",
    }
    /// Capabilities on an interface.
    #[derive(Eq, Hash)]
    KnownInterface "E2SM-NI-RANfunction-Item" {
        interface: Interface [SelfCoded] "interface-type", "Type of the interface.",
        triggers: Option<Vec<TriggerStyle>> [Styles] "ric-EventTriggerStyle-List", "Event trigger styles.",
        reports: Option<Vec<ReportStyle>> [Styles] "ric-ReportStyle-List", "Report styles.",
        inserts: Option<Vec<InsertStyle>> [Styles] "ric-InsertStyle-List", "Insert styles.",
        controls: Option<Vec<ControlStyle>> [Styles] "ric-ControlStyle-List", "Control styles.",
        policies: Option<Vec<PolicyStyle>> [Styles] "ric-PolicyStyle-List", "Policy styles.",
    }
    /// An event trigger style.
    #[derive(Eq, Hash)]
    TriggerStyle "RIC-EventTriggerStyle-List" {
        style: i64 [Unconstrained] "ric-EventTriggerStyle-Type", "Style number.",
        name: String [Name] "ric-EventTriggerStyle-Name", "Name for display.",
        format: i64 [Unconstrained] "ric-EventTriggerFormat-Type", "Format of the event trigger.",
    }
    /// A report style.
    #[derive(Eq, Hash)]
    ReportStyle "RIC-ReportStyle-List" {
        style: i64 [Unconstrained] "ric-ReportStyle-Type", "Style number.",
        name: String [Name] "ric-ReportStyle-Name", "Name for display.",
        action_format: i64 [Unconstrained] "ric-ReportActionFormat-Type", "Format of the action definition.",
        parameters: Vec<KnownParameter> [Parameters] "ric-ReportRanParameterDef-List", "Parameters.",
        header_format: i64 [Unconstrained] "ric-IndicationHeaderFormat-Type", "Format of the indication header.",
        message_format: i64 [Unconstrained] "ric-IndicationMessageFormat-Type", "Format of the indication message.",
    }
    /// An insert style.
    #[derive(Eq, Hash)]
    InsertStyle "RIC-InsertStyle-List" {
        style: i64 [Unconstrained] "ric-InsertStyle-Type", "Style number.",
        name: String [Name] "ric-InsertStyle-Name", "Name for display.",
        action_format: i64 [Unconstrained] "ric-InsertActionFormat-Type", "Format of the action definition.",
        parameters: Vec<KnownParameter> [Parameters] "ric-InsertRanParameterDef-List", "Parameters.",
        header_format: i64 [Unconstrained] "ric-IndicationHeaderFormat-Type", "Format of the indication header.",
        message_format: i64 [Unconstrained] "ric-IndicationMessageFormat-Type", "Format of the indication message.",
        call_process_format: i64 [Unconstrained] "ric-CallProcessIDFormat-Type", "Format of the call process id.",
    }
    /// A control style.
    #[derive(Eq, Hash)]
    ControlStyle "RIC-ControlStyle-List" {
        style: i64 [Unconstrained] "ric-ControlStyle-Type", "Style number.",
        name: String [Name] "ric-ControlStyle-Name", "Name for display.",
        format: i64 [Unconstrained] "ric-ControlFormat-Type", "Format of the control.",
        header_format: i64 [Unconstrained] "ric-ControlHeaderFormat-Type", "Format of the control header.",
        message_format: i64 [Unconstrained] "ric-ControlMessageFormat-Type", "Format of the control message.",
        call_process_format: i64 [Unconstrained] "ric-CallProcessIDFormat-Type", "Format of the call process id.",
        outcome_format: i64 [Unconstrained] "ric-ControlOutcomeFormat-Type", "Format of the outcome.",
        outcome: Vec<KnownParameter> [Parameters] "ric-ControlOutcomeRanParaDef-List", "Parameters of the outcome.",
    }
    /// A policy style.
    #[derive(Eq, Hash)]
    PolicyStyle "RIC-PolicyStyle-List" {
        style: i64 [Unconstrained] "ric-PolicyStyle-Type", "Style number.",
        name: String [Name] "ric-PolicyStyle-Name", "Name for display.",
        action_format: i64 [Unconstrained] "ric-PolicyActionFormat-Type", "Format of the action definition.",
        parameters: Vec<KnownParameter> [Parameters] "ric-PolicyRanParameterDef-List", "Parameters.",
    }
}

impl FunctionDescription {
    /// Creates a description with the usual name. It offers reports of whole messages and of parts of messages on these
    /// interfaces.
    pub fn of_reports(interfaces: &[Interface]) -> Self {
        let known = |id, name: &str, of| KnownParameter { id, name: name.to_owned(), of };
        let time = || known(ADD_TIMESTAMP, "AddTimestamp", ParameterType::Boolean);
        let target = known(TARGET_IE, "Target Protocol IE Identifier", ParameterType::Integer);
        let report = |style, name: &str, parameters| ReportStyle {
            style,
            name: name.to_owned(),
            action_format: 1,
            parameters,
            header_format: 1,
            message_format: 1,
        };
        let reports = vec![
            report(COMPLETE, "Complete message", vec![time()]),
            report(PARTIAL, "Partial message", vec![time(), target]),
        ];
        let triggers = vec![TriggerStyle { style: 1, name: "Interface Message Event".to_owned(), format: 1 }];
        let one = |interface: &Interface| KnownInterface {
            interface: *interface,
            triggers: Some(triggers.clone()),
            reports: Some(reports.clone()),
            inserts: None,
            controls: None,
            policies: None,
        };
        Self {
            name: FunctionName {
                short_name: "ORAN-E2SM-NI".to_owned(),
                oid: OID.to_owned(),
                description: "Network Interface".to_owned(),
                instance: None,
            },
            interfaces: (!interfaces.is_empty()).then(|| interfaces.iter().map(one).collect()),
        }
    }

    /// Returns whether whole messages of an interface can be reported.
    pub fn reports(&self, interface: Interface) -> bool {
        let of = self.interfaces.iter().flatten().find(|it| it.interface == interface);
        of.is_some_and(|it| it.reports.iter().flatten().any(|style| style.style == COMPLETE))
    }
}
