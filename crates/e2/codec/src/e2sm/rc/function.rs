//! RAN function definition: capabilities of a node (E2SM-RC clause 8.2.2.1).
use super::commands::ORDERS;
use super::parameter::*;
use super::policy::{self, CONDITIONS};
use super::reports::*;
use super::{LIST_MAX, OID, STYLES_MAX};
use crate::e2sm::Offer;
use crate::e2sm::common::{FunctionName, Name, Oran, sole_component};
use crate::e2sm::octets::octets;
use crate::per::{List, Opt, SelfCoded, Unconstrained};
use crate::sequence;

octets! {
    FunctionDefinition: Per => Oran;
}

/// Codec of an optional list of parameters.
type Known = Opt<List<1, LIST_MAX>>;

sequence! {
    /// RAN function definition.
    FunctionDefinition "E2SM-RC-RANFunctionDefinition" {
        name: FunctionName [SelfCoded] "ranFunction-Name", "Name and OID.",
        triggers: Option<Triggers> [Opt] "ranFunctionDefinition-EventTrigger", "Event trigger styles.",
        reports: Option<Vec<ReportStyle>> [Opt<Reports>] "ranFunctionDefinition-Report", "Report styles.",
        inserts: Option<Vec<InsertStyle>> [Opt<Inserts>] "ranFunctionDefinition-Insert", "Insert styles.",
        controls: Option<Vec<ControlStyle>> [Opt<Controls>] "ranFunctionDefinition-Control", "Control styles.",
        policies: Option<Vec<PolicyStyle>> [Opt<PolicyStyles>] "ranFunctionDefinition-Policy", "Policy styles.",
    }
    /// Event triggers.
    Triggers "RANFunctionDefinition-EventTrigger" {
        styles: Vec<TriggerStyle> [List<1, STYLES_MAX>] "ric-EventTriggerStyle-List", "Event trigger styles.",
        l2: Option<Vec<KnownParameter>> [Known] "ran-L2Parameters-List", "Parameters of layer 2.",
        processes: Option<Vec<Process>> [Opt<List<1, LIST_MAX>>] "ran-CallProcessTypes-List", "Processes.",
        ues: Option<Vec<KnownParameter>> [Known] "ran-UEIdentificationParameters-List", "Parameters by which UEs are chosen.",
        cells: Option<Vec<KnownParameter>> [Known] "ran-CellIdentificationParameters-List", "Parameters by which cells are chosen.",
    }
    /// An event trigger style.
    #[derive(Eq, Hash)]
    TriggerStyle "RANFunctionDefinition-EventTrigger-Style-Item" {
        style: i64 [Unconstrained] "ric-EventTriggerStyle-Type", "Style number.",
        name: String [Name] "ric-EventTriggerStyle-Name", "Name for display.",
        format: i64 [Unconstrained] "ric-EventTriggerFormat-Type", "Format of the event trigger.",
    }
    /// A call process type.
    Process "RANFunctionDefinition-EventTrigger-CallProcess-Item" {
        id: u16 [Number] "callProcessType-ID", "Id of the call process type.",
        name: String [Name] "callProcessType-Name", "Name for display.",
        breakpoints: Vec<Breakpoint> [List<1, LIST_MAX>] "callProcessBreakpoints-List", "Breakpoints.",
    }
    /// A breakpoint of a call process.
    Breakpoint "RANFunctionDefinition-EventTrigger-Breakpoint-Item" {
        id: u16 [Number] "callProcessBreakpoint-ID", "Id of the breakpoint.",
        name: String [Name] "callProcessBreakpoint-Name", "Name for display.",
        parameters: Option<Vec<KnownParameter>> [Known] "ran-CallProcessBreakpointParameters-List", "Parameters available at the breakpoint.",
    }
    /// A report style.
    ReportStyle "RANFunctionDefinition-Report-Item" {
        style: i64 [Unconstrained] "ric-ReportStyle-Type", "Style number.",
        name: String [Name] "ric-ReportStyle-Name", "Name for display.",
        trigger_style: i64 [Unconstrained] "ric-SupportedEventTriggerStyle-Type", "Event trigger style.",
        action_format: i64 [Unconstrained] "ric-ReportActionFormat-Type", "Format of the action definition.",
        header_format: i64 [Unconstrained] "ric-IndicationHeaderFormat-Type", "Format of the indication header.",
        message_format: i64 [Unconstrained] "ric-IndicationMessageFormat-Type", "Format of the indication message.",
        parameters: Option<Vec<KnownParameter>> [Known] "ran-ReportParameters-List", "Reportable parameters.",
    }
    /// An insert style.
    InsertStyle "RANFunctionDefinition-Insert-Item" {
        style: i64 [Unconstrained] "ric-InsertStyle-Type", "Style number.",
        name: String [Name] "ric-InsertStyle-Name", "Name for display.",
        trigger_style: i64 [Unconstrained] "ric-SupportedEventTriggerStyle-Type", "Event trigger style.",
        action_format: i64 [Unconstrained] "ric-ActionDefinitionFormat-Type", "Format of the action definition.",
        indications: Option<Vec<KnownInsert>> [Opt<List<1, LIST_MAX>>] "ric-InsertIndication-List", "Insert indications.",
        header_format: i64 [Unconstrained] "ric-IndicationHeaderFormat-Type", "Format of the indication header.",
        message_format: i64 [Unconstrained] "ric-IndicationMessageFormat-Type", "Format of the indication message.",
        call_process_format: i64 [Unconstrained] "ric-CallProcessIDFormat-Type", "Format of the call process id.",
    }
    /// An insert indication.
    KnownInsert "RANFunctionDefinition-Insert-Indication-Item" {
        id: u16 [Number] "ric-InsertIndication-ID", "Id of the insert indication.",
        name: String [Name] "ric-InsertIndication-Name", "Name for display.",
        parameters: Option<Vec<KnownParameter>> [Known] "ran-InsertIndicationParameters-List", "Parameters of the indication.",
    }
    /// A control style.
    ControlStyle "RANFunctionDefinition-Control-Item" {
        style: i64 [Unconstrained] "ric-ControlStyle-Type", "Style number.",
        name: String [Name] "ric-ControlStyle-Name", "Name for display.",
        actions: Option<Vec<KnownControl>> [Opt<List<1, LIST_MAX>>] "ric-ControlAction-List", "Control actions.",
        header_format: i64 [Unconstrained] "ric-ControlHeaderFormat-Type", "Format of the control header.",
        message_format: i64 [Unconstrained] "ric-ControlMessageFormat-Type", "Format of the control message.",
        call_process_format: Option<i64> [Opt<Unconstrained>] "ric-CallProcessIDFormat-Type", "Format of the call process id.",
        outcome_format: i64 [Unconstrained] "ric-ControlOutcomeFormat-Type", "Format of the outcome.",
        outcome: Option<Vec<KnownParameter>> [Opt<List<1, 255>>] "ran-ControlOutcomeParameters-List", "Parameters of the outcome.",
    }
    /// A control action.
    KnownControl "RANFunctionDefinition-Control-Action-Item" {
        id: u16 [Number] "ric-ControlAction-ID", "Id of the control action.",
        name: String [Name] "ric-ControlAction-Name", "Name for display.",
        parameters: Option<Vec<KnownParameter>> [Known] "ran-ControlActionParameters-List", "Parameters.",
    }
    /// A policy style.
    PolicyStyle "RANFunctionDefinition-Policy-Item" {
        style: i64 [Unconstrained] "ric-PolicyStyle-Type", "Style number.",
        name: String [Name] "ric-PolicyStyle-Name", "Name for display.",
        trigger_style: i64 [Unconstrained] "ric-SupportedEventTriggerStyle-Type", "Event trigger style.",
        actions: Option<Vec<KnownPolicy>> [Opt<List<1, LIST_MAX>>] "ric-PolicyAction-List", "Policy actions.",
    }
    /// A policy action.
    KnownPolicy "RANFunctionDefinition-Policy-Action-Item" {
        id: u16 [Number] "ric-PolicyAction-ID", "Id of the policy action.",
        name: String [Name] "ric-PolicyAction-Name", "Name for display.",
        action_format: i64 [Unconstrained] "ric-ActionDefinitionFormat-Type", "Format of the action definition.",
        parameters: Option<Vec<KnownParameter>> [Known] "ran-PolicyActionParameters-List", "Parameters.",
        conditions: Option<Vec<KnownParameter>> [Known] "ran-PolicyConditionParameters-List", "Parameters for conditions.",
    }
}

impl FunctionDefinition {
    /// Returns report styles, inserts, control actions and policies.
    pub(super) fn offers(self) -> Vec<Offer> {
        let names = |list: Option<Vec<KnownParameter>>| list.into_iter().flatten().map(|it| it.name);
        let mut offers = Vec::new();
        for it in self.reports.into_iter().flatten() {
            offers.push(Offer::new("report", it.style, &it.name, names(it.parameters)));
        }
        for style in self.inserts.into_iter().flatten() {
            for it in style.indications.into_iter().flatten() {
                let number = format!("{}/{}", style.style, it.id);
                offers.push(Offer::new("insert", number, &it.name, names(it.parameters)));
            }
        }
        for style in self.controls.into_iter().flatten() {
            for it in style.actions.into_iter().flatten() {
                let number = format!("{}/{}", style.style, it.id);
                offers.push(Offer::new("control", number, &it.name, names(it.parameters)));
            }
        }
        for style in self.policies.into_iter().flatten() {
            for it in style.actions.into_iter().flatten() {
                let number = format!("{}/{}", style.style, it.id);
                offers.push(Offer::new("policy", number, &it.name, names(it.parameters)));
            }
        }
        offers
    }
}

sole_component! {
    Reports "ric-ReportStyle-List" Vec<ReportStyle> [List<1, STYLES_MAX>];
    Inserts "ric-InsertStyle-List" Vec<InsertStyle> [List<1, STYLES_MAX>];
    Controls "ric-ControlStyle-List" Vec<ControlStyle> [List<1, STYLES_MAX>];
    PolicyStyles "ric-PolicyStyle-List" Vec<PolicyStyle> [List<1, STYLES_MAX>];
}

/// A control: number and name of its style, number and name of its action, ids and names of its parameters.
pub type Offered<'a> = (i64, &'a str, u16, &'a str, &'a [(u32, &'a str)]);

fn known(parameters: &[(u32, &str)]) -> Option<Vec<KnownParameter>> {
    let one =
        |(id, name): &(u32, &str)| KnownParameter { id: *id, name: (*name).to_owned(), definition: None };
    (!parameters.is_empty()).then(|| parameters.iter().map(one).collect())
}

impl FunctionDefinition {
    /// Creates a definition with the usual name and these controls only.
    pub fn of_controls(styles: &[Offered<'_>]) -> Self {
        let style = |(style, name, id, action, parameters): &Offered<'_>| ControlStyle {
            style: *style,
            name: (*name).to_owned(),
            actions: Some(vec![KnownControl {
                id: *id,
                name: (*action).to_owned(),
                parameters: known(parameters),
            }]),
            header_format: 1,
            message_format: 1,
            call_process_format: None,
            outcome_format: 1,
            outcome: None,
        };
        Self {
            name: FunctionName {
                short_name: "ORAN-E2SM-RC".to_owned(),
                oid: OID.to_owned(),
                description: "RAN Control".to_owned(),
                instance: None,
            },
            triggers: None,
            reports: None,
            inserts: None,
            controls: Some(styles.iter().map(style).collect()),
            policies: None,
        }
    }

    /// Creates the definition of ranlab's base stations, which offer the controls in [`ORDERS`]. If the RRC states of
    /// UEs are known, they also offer the reports and the insert of [`reports`](super::reports), and the policies of
    /// [`policy`].
    pub fn of_station(knows_rrc: bool) -> Self {
        let controls = Self::of_controls(&ORDERS);
        if !knows_rrc {
            return controls;
        }
        let mut definition = Self {
            triggers: Some(triggers()),
            reports: Some(report_styles()),
            inserts: Some(insert_styles()),
            policies: Some(policy_styles()),
            ..controls
        };
        // A handover control may respond to an insert, so its style has a call process id.
        let answers = definition.controls.iter_mut().flatten().filter(|it| it.style == MOBILITY_REQUEST);
        answers.for_each(|style| style.call_process_format = Some(1));
        definition
    }
}

fn triggers() -> Triggers {
    let style = |style: i64, name: &str| TriggerStyle { style, name: name.to_owned(), format: style };
    let id = HANDOVER_PREPARATION;
    let breakpoint = Breakpoint { id, name: "Handover Preparation".to_owned(), parameters: None };
    let name = "Mobility Management".to_owned();
    Triggers {
        styles: vec![
            style(MESSAGE_COPY, "Message Event"),
            style(PROCESS_OUTCOME, "Call Process"),
            style(NODE_INFORMATION, "E2 Node Information"),
            style(UE_INFORMATION, "UE Information"),
            style(ON_DEMAND, "On Demand"),
        ],
        l2: None,
        processes: Some(vec![Process { id: MOBILITY, name, breakpoints: vec![breakpoint] }]),
        ues: None,
        cells: None,
    }
}

fn report_styles() -> Vec<ReportStyle> {
    let style = |style: i64, name: &str, message_format, parameters| ReportStyle {
        style,
        name: name.to_owned(),
        trigger_style: style,
        action_format: 1,
        header_format: 1,
        message_format,
        parameters: known(parameters),
    };
    vec![
        style(MESSAGE_COPY, "Message Copy", 1, &MESSAGE_PARAMETERS),
        style(PROCESS_OUTCOME, "Call Process Outcome", 2, &PROCESS_PARAMETERS),
        style(NODE_INFORMATION, "E2 Node Information", 3, &[]),
        style(UE_INFORMATION, "UE Information", 2, &UE_PARAMETERS),
        style(ON_DEMAND, "On Demand Report", 4, &[]),
    ]
}

fn insert_styles() -> Vec<InsertStyle> {
    vec![InsertStyle {
        style: MOBILITY_REQUEST,
        name: "Connected Mode Mobility Control Request".to_owned(),
        trigger_style: PROCESS_OUTCOME,
        action_format: 3,
        indications: Some(vec![KnownInsert {
            id: HANDOVER_REQUEST,
            name: "Handover Control Request".to_owned(),
            parameters: known(&HANDOVER_PARAMETERS),
        }]),
        header_format: 2,
        message_format: 5,
        call_process_format: 1,
    }]
}

/// Returns the policy styles, which have the actions of the controls. Quotas apply when a UE connects or leaves; handovers apply when a
/// handover is prepared.
fn policy_styles() -> Vec<PolicyStyle> {
    // The names are short, because FlexRIC accepts a definition of at most 1,023 bytes.
    let style = |(style, _, id, _, parameters): &Offered<'_>| PolicyStyle {
        style: *style,
        name: if *style == policy::RESOURCES { "Resource Allocation" } else { "Mobility" }.to_owned(),
        trigger_style: if *style == policy::RESOURCES { UE_INFORMATION } else { PROCESS_OUTCOME },
        actions: Some(vec![KnownPolicy {
            id: *id,
            name: if *style == policy::RESOURCES { "PRB quota" } else { "Handover" }.to_owned(),
            action_format: 2,
            parameters: known(parameters),
            conditions: known(&CONDITIONS),
        }]),
    };
    ORDERS.iter().map(style).collect()
}
