//! Messages: triggers, actions, indications, controls and their outcomes.
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::structures::Attributes;
use crate::e2ap::Plmn;
use crate::e2sm::common::{Cgi, EutraCgi, NrCgi};
use crate::e2sm::kpm::TimeStamp;

/// Style of reports and controls for the node.
pub const NODE_STYLE: i64 = 1;
/// Style of reports and controls for cells.
pub const CELL_STYLE: i64 = 2;

/// A PLMN in digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PlmnId {
    /// Mobile country code, three digits.
    pub mcc: String,
    /// Mobile network code, two or three digits.
    pub mnc: String,
}

impl From<Plmn> for PlmnId {
    fn from(plmn: Plmn) -> Self {
        let text = plmn.to_string();
        let (mcc, mnc) = text.split_once('.').unwrap_or((&text, ""));
        Self { mcc: mcc.to_owned(), mnc: mnc.to_owned() }
    }
}

impl PlmnId {
    /// Returns the PLMN, or `None` if the digits are invalid.
    pub fn plmn(&self) -> Option<Plmn> {
        format!("{}.{}", self.mcc, self.mnc).parse().ok()
    }
}

/// A cell.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CellId {
    /// NR cell.
    Nr {
        /// PLMN.
        #[serde(rename = "plmnIdentity")]
        plmn: PlmnId,
        /// Cell identity: 36 bits as nine hexadecimal digits.
        #[serde(rename = "nRCellIdentity")]
        cell: String,
    },
    /// LTE cell.
    Eutra {
        /// PLMN.
        #[serde(rename = "plmnIdentity")]
        plmn: PlmnId,
        /// Cell identity: 28 bits as seven hexadecimal digits.
        #[serde(rename = "eUTRACellIdentity")]
        cell: String,
    },
}

impl From<Cgi> for CellId {
    fn from(cell: Cgi) -> Self {
        match cell {
            Cgi::Nr(NrCgi { plmn, cell }) => Self::Nr { plmn: plmn.into(), cell: format!("{cell:09X}") },
            Cgi::Eutra(EutraCgi { plmn, cell }) => {
                Self::Eutra { plmn: plmn.into(), cell: format!("{cell:07X}") }
            }
        }
    }
}

impl CellId {
    /// Returns the cell, or `None` if its PLMN or its digits are invalid.
    pub fn cell(&self) -> Option<Cgi> {
        let number = |text: &String, digits: usize| {
            let hex = text.len() == digits && text.bytes().all(|it| it.is_ascii_hexdigit());
            hex.then(|| u64::from_str_radix(text, 16).ok()).flatten()
        };
        match self {
            Self::Nr { plmn, cell } => Some(Cgi::Nr(NrCgi { plmn: plmn.plmn()?, cell: number(cell, 9)? })),
            Self::Eutra { plmn, cell } => {
                let cell = u32::try_from(number(cell, 7)?).ok()?;
                Some(Cgi::Eutra(EutraCgi { plmn: plmn.plmn()?, cell }))
            }
        }
    }
}

/// Member that contains the attributes of a structure.
const WRAPPER: &str = "ranConfigurationStructure";

/// Values of a structure's attributes.
///
/// The decoder also accepts attributes outside of the member `ranConfigurationStructure`, as some base stations send
/// them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Attributes")]
pub struct Values {
    /// Values by attribute name.
    #[serde(rename = "ranConfigurationStructure")]
    pub attributes: Attributes,
}

impl From<Attributes> for Values {
    fn from(Attributes(mut members): Attributes) -> Self {
        match members.remove(WRAPPER) {
            Some(Json::Object(wrapped)) => members.extend(wrapped),
            // OCUDU writes null if there are no values.
            Some(Json::Null) | None => {}
            // A member with this name that is not an object is an attribute.
            Some(other) => drop(members.insert(WRAPPER.to_owned(), other)),
        }
        Self { attributes: Attributes(members) }
    }
}

/// Name of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttributeName {
    /// Name.
    #[serde(rename = "attributeName")]
    pub name: String,
}

/// Amount of data to report about a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReportType {
    /// All requested attributes.
    #[default]
    All,
    /// Only changed attributes.
    Change,
}

/// A requested structure and its attributes; an empty list requests all attributes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedStructure {
    /// Amount of data to report.
    #[serde(rename = "reportType", default)]
    pub report: ReportType,
    /// Name.
    #[serde(rename = "ranConfigurationStructureName")]
    pub name: String,
    /// Attributes.
    #[serde(rename = "listOfAttributes", default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<AttributeName>,
}

/// A structure whose change triggers a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedStructure {
    /// Name.
    #[serde(rename = "ranConfigurationStructureName")]
    pub name: String,
    /// Watched attributes; an empty list watches all.
    #[serde(rename = "listOfAttributes", default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<AttributeName>,
}

/// A cell whose structures trigger reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedCell {
    /// Cell; `None` means every cell.
    #[serde(rename = "cellGlobalId", default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<CellId>,
    /// Structures.
    #[serde(rename = "listOfRANConfigurationStructuresForEventTrigger")]
    pub structures: Vec<WatchedStructure>,
}

/// Event trigger definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventTrigger {
    /// One of three formats.
    #[serde(rename = "eventTriggerDefinitionFormat")]
    pub format: TriggerFormat,
}

/// Format of the event trigger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TriggerFormat {
    /// Format 1: changes of the node's structures.
    Node {
        /// Structures.
        #[serde(rename = "listOfNodeLevelConfigurationStructuresForEventTrigger")]
        structures: Vec<WatchedStructure>,
    },
    /// Format 2: changes of cells' structures.
    Cells {
        /// Cells.
        #[serde(rename = "listOfCellLevelConfigurationStructuresForEventTrigger")]
        cells: Vec<WatchedCell>,
    },
    /// Format 3: periodic.
    Periodic {
        /// Period in ms.
        period: u32,
    },
}

/// A requested cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedCell {
    /// Cell; `None` means every cell.
    #[serde(rename = "cellGlobalId", default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<CellId>,
    /// Structures.
    #[serde(rename = "listOfCellLevelRANConfigurationStructuresForADF")]
    pub structures: Vec<WantedStructure>,
}

/// Action definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionDefinition {
    /// [`NODE_STYLE`] or [`CELL_STYLE`].
    #[serde(rename = "ricStyleType")]
    pub style: i64,
    /// One of two formats.
    #[serde(rename = "actionDefinitionFormat")]
    pub format: ActionFormat,
}

/// Format of the action definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ActionFormat {
    /// Format 1: the node.
    Node {
        /// Structures.
        #[serde(rename = "listOfNodeLevelRANConfigurationStructuresForADF")]
        structures: Vec<WantedStructure>,
    },
    /// Format 2: cells.
    Cells {
        /// Cells.
        #[serde(rename = "listOfCellConfigurationsToBeReportedForADF")]
        cells: Vec<WantedCell>,
    },
}

/// Reason of an indication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reason {
    /// The subscription started.
    UponSubscription,
    /// A watched structure changed.
    UponChange,
    /// The report period ended.
    Periodic,
}

/// Indication header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndicationHeader {
    /// The only format.
    #[serde(rename = "indicationHeaderFormat")]
    pub format: HeaderFormat,
}

/// Reason and time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderFormat {
    /// Reason.
    #[serde(rename = "indicationReason")]
    pub reason: Reason,
    /// Time: an NTP timestamp as 16 hexadecimal digits.
    #[serde(rename = "eventTime")]
    pub time: String,
}

impl HeaderFormat {
    /// Creates a header with a time in microseconds since the Unix epoch.
    pub fn new(reason: Reason, unix_us: i64) -> Self {
        let ntp = match TimeStamp::ntp(unix_us) {
            TimeStamp::V3(ntp) => ntp,
            TimeStamp::V2(seconds) => u64::from(seconds) << 32,
        };
        Self { reason, time: format!("{ntp:016X}") }
    }

    /// Returns the time in microseconds since the Unix epoch, or `None` if the text is invalid.
    pub fn unix_us(&self) -> Option<i64> {
        let digits = self.time.len() == 16 && self.time.bytes().all(|it| it.is_ascii_hexdigit());
        let ntp = digits.then(|| u64::from_str_radix(&self.time, 16).ok()).flatten()?;
        TimeStamp::V3(ntp).unix_us()
    }
}

/// Change of a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeType {
    /// No change.
    None,
    /// Modified.
    Modification,
    /// Added.
    Addition,
    /// Deleted.
    Deletion,
}

impl ChangeType {
    /// Returns the name used in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Modification => "modification",
            Self::Addition => "addition",
            Self::Deletion => "deletion",
        }
    }
}

/// A reported structure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reported {
    /// Change.
    #[serde(rename = "changeType")]
    pub change: ChangeType,
    /// Name.
    #[serde(rename = "ranConfigurationStructureName")]
    pub name: String,
    /// Current values.
    #[serde(rename = "valuesOfAttributes")]
    pub values: Values,
    /// Previous values.
    #[serde(rename = "oldValuesOfAttributes", default, skip_serializing_if = "Option::is_none")]
    pub old: Option<Values>,
}

/// A reported cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellReported {
    /// Cell.
    #[serde(rename = "cellGlobalId")]
    pub cell: CellId,
    /// Structures.
    #[serde(rename = "listOfConfigurationStructuresReported")]
    pub structures: Vec<Reported>,
}

/// Indication message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndicationMessage {
    /// One of two formats.
    #[serde(rename = "indicationMessageFormat")]
    pub format: MessageFormat,
}

/// Format of the indication message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MessageFormat {
    /// Format 1: the node.
    Node {
        /// Structures.
        #[serde(rename = "listOfConfigurationStructuresReported")]
        structures: Vec<Reported>,
    },
    /// Format 2: cells.
    Cells {
        /// Cells.
        #[serde(rename = "listOfCellsReported")]
        cells: Vec<CellReported>,
    },
}

/// Control header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlHeader {
    /// The only format.
    #[serde(rename = "controlHeaderFormat")]
    pub format: ControlStyleHeader,
}

impl ControlHeader {
    /// Returns the header of a control of this style.
    pub const fn of_style(style: i64) -> Self {
        Self { format: ControlStyleHeader { style } }
    }
}

/// Style of a control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlStyleHeader {
    /// [`NODE_STYLE`] or [`CELL_STYLE`].
    #[serde(rename = "ricStyleType")]
    pub style: i64,
}

/// A structure to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// Name.
    #[serde(rename = "ranConfigurationStructureName")]
    pub name: String,
    /// Expected current values.
    #[serde(rename = "oldValuesOfAttributes", default)]
    pub old: Values,
    /// New values.
    #[serde(rename = "newValuesOfAttributes")]
    pub new: Values,
}

/// A cell whose structures are to be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellControlled {
    /// Cell.
    #[serde(rename = "cellGlobalId")]
    pub cell: CellId,
    /// Structures.
    #[serde(rename = "listOfConfigurationStructures")]
    pub structures: Vec<Write>,
}

/// Control message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlMessage {
    /// One of two formats.
    #[serde(rename = "controlMessageFormat")]
    pub format: ControlFormat,
}

/// Format of the control message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ControlFormat {
    /// Format 1: the node.
    Node {
        /// Structures.
        #[serde(rename = "listOfConfigurationStructures")]
        structures: Vec<Write>,
    },
    /// Format 2: cells.
    Cells {
        /// Cells.
        #[serde(rename = "listOfCellsControlled")]
        cells: Vec<CellControlled>,
    },
}

/// Reason why a structure was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// The structure does not exist or is read-only.
    NotSupported,
    /// Not available at the moment.
    NotAvailable,
    /// Not possible in the current state.
    IncompatibleState,
    /// The JSON does not match the structure.
    JsonError,
    /// The values contradict each other, or the old values differ from the current ones.
    SemanticError,
    /// Any other reason.
    Unspecified,
}

/// A structure that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// Name.
    #[serde(rename = "ranConfigurationStructureName")]
    pub name: String,
    /// Previous values.
    #[serde(rename = "oldValuesOfAttributes")]
    pub old: Values,
    /// Current values.
    #[serde(rename = "currentValuesOfAttributes")]
    pub current: Values,
    /// Time of the change.
    #[serde(rename = "appliedTimestamp", default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<String>,
}

/// A structure that was not written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// Name.
    #[serde(rename = "ranConfigurationStructureName")]
    pub name: String,
    /// Current values.
    #[serde(rename = "oldValuesOfAttributes")]
    pub old: Values,
    /// Requested values.
    #[serde(rename = "requestedValuesOfAttributes")]
    pub requested: Values,
    /// Reason.
    pub cause: Cause,
}

/// Results of writing structures.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Outcomes {
    /// Structures that were written.
    #[serde(
        rename = "ranConfigurationStructuresAcceptedList",
        default,
        skip_serializing_if = "Vec::is_empty"
    )]
    pub accepted: Vec<Accepted>,
    /// Structures that were not written.
    #[serde(rename = "ranConfigurationStructuresFailedList", default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Failed>,
}

/// Results of writing a cell's structures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellOutcome {
    /// Cell.
    #[serde(rename = "cellGlobalId")]
    pub cell: CellId,
    /// Results.
    #[serde(flatten)]
    pub outcomes: Outcomes,
}

/// Control outcome. It is read with or without the outer object, which OCUDU leaves out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "AnyOutcome")]
pub struct ControlOutcome {
    /// One of two formats.
    #[serde(rename = "controlOutcomeFormat")]
    pub format: OutcomeFormat,
}

/// Format of the control outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OutcomeFormat {
    /// Format 2: cells.
    Cells {
        /// Time of receipt.
        #[serde(rename = "receivedTimestamp", default, skip_serializing_if = "Option::is_none")]
        received: Option<String>,
        /// Cells.
        #[serde(rename = "listOfCellsForControlOutcome")]
        cells: Vec<CellOutcome>,
    },
    /// Format 1: the node.
    Node {
        /// Time of receipt.
        #[serde(rename = "receivedTimestamp", default, skip_serializing_if = "Option::is_none")]
        received: Option<String>,
        /// Results.
        #[serde(flatten)]
        outcomes: Outcomes,
    },
}

/// Control outcome as it is received.
#[derive(Deserialize)]
#[serde(untagged)]
enum AnyOutcome {
    Whole {
        #[serde(rename = "controlOutcomeFormat")]
        format: OutcomeFormat,
    },
    Inner(OutcomeFormat),
}

impl TryFrom<AnyOutcome> for ControlOutcome {
    type Error = &'static str;

    fn try_from(any: AnyOutcome) -> Result<Self, Self::Error> {
        match any {
            AnyOutcome::Whole { format } => Ok(Self { format }),
            // Any object parses as format 1 without results, so this does not count as an outcome.
            AnyOutcome::Inner(OutcomeFormat::Node { outcomes, .. }) if outcomes == Outcomes::default() => {
                Err("controlOutcomeFormat is missing")
            }
            AnyOutcome::Inner(format) => Ok(Self { format }),
        }
    }
}
