//! What travels: triggers, actions, indications, controls and their outcomes, the RAN function definition.
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::structures::Attributes;
use crate::e2ap::Plmn;
use crate::e2sm::common::{Cgi, EutraCgi, NrCgi};
use crate::e2sm::kpm::TimeStamp;

/// Style of reports and controls about the node.
pub const NODE_STYLE: i64 = 1;
/// Style of reports and controls about cells.
pub const CELL_STYLE: i64 = 2;

/// A network, in digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PlmnId {
    /// Three digits.
    pub mcc: String,
    /// Two digits or three.
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
    /// The network; `None` if these are not its digits.
    pub fn plmn(&self) -> Option<Plmn> {
        format!("{}.{}", self.mcc, self.mnc).parse().ok()
    }
}

/// A cell.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CellId {
    /// Of NR.
    Nr {
        /// Its network.
        #[serde(rename = "plmnIdentity")]
        plmn: PlmnId,
        /// Its 36 bits, nine hexadecimal digits.
        #[serde(rename = "nRCellIdentity")]
        cell: String,
    },
    /// Of LTE.
    Eutra {
        /// Its network.
        #[serde(rename = "plmnIdentity")]
        plmn: PlmnId,
        /// Its 28 bits, seven hexadecimal digits.
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
    /// The cell; `None` if its network or its digits are none.
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

/// The member that holds the attributes of a structure.
const WRAPPER: &str = "ranConfigurationStructure";

/// The values of a structure's attributes.
///
/// Read are also attributes outside the member `ranConfigurationStructure`, as some base stations write them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Attributes")]
pub struct Values {
    /// By name.
    #[serde(rename = "ranConfigurationStructure")]
    pub attributes: Attributes,
}

impl From<Attributes> for Values {
    fn from(Attributes(mut members): Attributes) -> Self {
        match members.remove(WRAPPER) {
            Some(Json::Object(wrapped)) => members.extend(wrapped),
            // A member of this name that is not an object is an attribute.
            Some(other) => drop(members.insert(WRAPPER.to_owned(), other)),
            None => {}
        }
        Self { attributes: Attributes(members) }
    }
}

/// An attribute by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttributeName {
    /// Its name.
    #[serde(rename = "attributeName")]
    pub name: String,
}

/// What of a structure is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReportType {
    /// All its wanted attributes.
    #[default]
    All,
    /// Those that changed.
    Change,
}

/// A structure that is watched or wanted, with the attributes that are; none named: all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedStructure {
    /// What is told of it.
    #[serde(rename = "reportType", default)]
    pub report: ReportType,
    /// Its name.
    #[serde(rename = "ranConfigurationStructureName")]
    pub name: String,
    /// The attributes.
    #[serde(rename = "listOfAttributes", default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<AttributeName>,
}

/// A structure whose change triggers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedStructure {
    /// Its name.
    #[serde(rename = "ranConfigurationStructureName")]
    pub name: String,
    /// The attributes that count; none named: all.
    #[serde(rename = "listOfAttributes", default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<AttributeName>,
}

/// A cell whose structures trigger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedCell {
    /// Which; none: each.
    #[serde(rename = "cellGlobalId", default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<CellId>,
    /// Its structures.
    #[serde(rename = "listOfRANConfigurationStructuresForEventTrigger")]
    pub structures: Vec<WatchedStructure>,
}

/// When to report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventTrigger {
    /// In one of three forms.
    #[serde(rename = "eventTriggerDefinitionFormat")]
    pub format: TriggerFormat,
}

/// When to report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TriggerFormat {
    /// Format 1: when structures of the node change.
    Node {
        /// Which.
        #[serde(rename = "listOfNodeLevelConfigurationStructuresForEventTrigger")]
        structures: Vec<WatchedStructure>,
    },
    /// Format 2: when structures of cells change.
    Cells {
        /// Which.
        #[serde(rename = "listOfCellLevelConfigurationStructuresForEventTrigger")]
        cells: Vec<WatchedCell>,
    },
    /// Format 3: at intervals.
    Periodic {
        /// ms.
        period: u32,
    },
}

/// A cell that is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedCell {
    /// Which; none: each.
    #[serde(rename = "cellGlobalId", default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<CellId>,
    /// Its structures.
    #[serde(rename = "listOfCellLevelRANConfigurationStructuresForADF")]
    pub structures: Vec<WantedStructure>,
}

/// What to report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionDefinition {
    /// [`NODE_STYLE`] or [`CELL_STYLE`].
    #[serde(rename = "ricStyleType")]
    pub style: i64,
    /// In one of two forms.
    #[serde(rename = "actionDefinitionFormat")]
    pub format: ActionFormat,
}

/// What to report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ActionFormat {
    /// Format 1: of the node.
    Node {
        /// Its structures.
        #[serde(rename = "listOfNodeLevelRANConfigurationStructuresForADF")]
        structures: Vec<WantedStructure>,
    },
    /// Format 2: of cells.
    Cells {
        /// They.
        #[serde(rename = "listOfCellConfigurationsToBeReportedForADF")]
        cells: Vec<WantedCell>,
    },
}

/// Why there is an indication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reason {
    /// The subscription began.
    UponSubscription,
    /// Something changed.
    UponChange,
    /// The period is over.
    Periodic,
}

/// Header of an indication.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndicationHeader {
    /// In its one form.
    #[serde(rename = "indicationHeaderFormat")]
    pub format: HeaderFormat,
}

/// Why and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderFormat {
    /// Why.
    #[serde(rename = "indicationReason")]
    pub reason: Reason,
    /// When: a time stamp of NTP, 16 hexadecimal digits.
    #[serde(rename = "eventTime")]
    pub time: String,
}

impl HeaderFormat {
    /// At a time of day, microseconds since the Unix epoch.
    pub fn new(reason: Reason, unix_us: i64) -> Self {
        let ntp = match TimeStamp::ntp(unix_us) {
            TimeStamp::V3(ntp) => ntp,
            TimeStamp::V2(seconds) => u64::from(seconds) << 32,
        };
        Self { reason, time: format!("{ntp:016X}") }
    }

    /// The time of day, microseconds since the Unix epoch; `None` if the text is none.
    pub fn unix_us(&self) -> Option<i64> {
        let digits = self.time.len() == 16 && self.time.bytes().all(|it| it.is_ascii_hexdigit());
        let ntp = digits.then(|| u64::from_str_radix(&self.time, 16).ok()).flatten()?;
        TimeStamp::V3(ntp).unix_us()
    }
}

/// What became of a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeType {
    /// Nothing.
    None,
    /// It is another.
    Modification,
    /// It is new.
    Addition,
    /// It is no more.
    Deletion,
}

impl ChangeType {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Modification => "modification",
            Self::Addition => "addition",
            Self::Deletion => "deletion",
        }
    }
}

/// A structure that is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reported {
    /// What became of it.
    #[serde(rename = "changeType")]
    pub change: ChangeType,
    /// Its name.
    #[serde(rename = "ranConfigurationStructureName")]
    pub name: String,
    /// Its values.
    #[serde(rename = "valuesOfAttributes")]
    pub values: Values,
    /// What they were.
    #[serde(rename = "oldValuesOfAttributes", default, skip_serializing_if = "Option::is_none")]
    pub old: Option<Values>,
}

/// A cell that is told of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellReported {
    /// Which.
    #[serde(rename = "cellGlobalId")]
    pub cell: CellId,
    /// Its structures.
    #[serde(rename = "listOfConfigurationStructuresReported")]
    pub structures: Vec<Reported>,
}

/// What is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndicationMessage {
    /// In one of two forms.
    #[serde(rename = "indicationMessageFormat")]
    pub format: MessageFormat,
}

/// What is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MessageFormat {
    /// Format 1: of the node.
    Node {
        /// Its structures.
        #[serde(rename = "listOfConfigurationStructuresReported")]
        structures: Vec<Reported>,
    },
    /// Format 2: of cells.
    Cells {
        /// They.
        #[serde(rename = "listOfCellsReported")]
        cells: Vec<CellReported>,
    },
}

/// Header of a control.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlHeader {
    /// In its one form.
    #[serde(rename = "controlHeaderFormat")]
    pub format: ControlStyleHeader,
}

/// The style of a control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlStyleHeader {
    /// [`NODE_STYLE`] or [`CELL_STYLE`].
    #[serde(rename = "ricStyleType")]
    pub style: i64,
}

/// A structure that is to be another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// Its name.
    #[serde(rename = "ranConfigurationStructureName")]
    pub name: String,
    /// What it is thought to be.
    #[serde(rename = "oldValuesOfAttributes", default)]
    pub old: Values,
    /// What it is to be.
    #[serde(rename = "newValuesOfAttributes")]
    pub new: Values,
}

/// A cell whose structures are to be others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellControlled {
    /// Which.
    #[serde(rename = "cellGlobalId")]
    pub cell: CellId,
    /// Its structures.
    #[serde(rename = "listOfConfigurationStructures")]
    pub structures: Vec<Write>,
}

/// What is to be configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlMessage {
    /// In one of two forms.
    #[serde(rename = "controlMessageFormat")]
    pub format: ControlFormat,
}

/// What is to be configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ControlFormat {
    /// Format 1: of the node.
    Node {
        /// Its structures.
        #[serde(rename = "listOfConfigurationStructures")]
        structures: Vec<Write>,
    },
    /// Format 2: of cells.
    Cells {
        /// They.
        #[serde(rename = "listOfCellsControlled")]
        cells: Vec<CellControlled>,
    },
}

/// Why a structure is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// Nobody has such a structure, or it is read alone.
    NotSupported,
    /// Not now.
    NotAvailable,
    /// Not as things are.
    IncompatibleState,
    /// It is not written as the structure is.
    JsonError,
    /// Its values contradict each other or the old ones what there is.
    SemanticError,
    /// Something else.
    Unspecified,
}

/// A structure that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// Its name.
    #[serde(rename = "ranConfigurationStructureName")]
    pub name: String,
    /// What it was.
    #[serde(rename = "oldValuesOfAttributes")]
    pub old: Values,
    /// What it is.
    #[serde(rename = "currentValuesOfAttributes")]
    pub current: Values,
    /// When it was.
    #[serde(rename = "appliedTimestamp", default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<String>,
}

/// A structure that was not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// Its name.
    #[serde(rename = "ranConfigurationStructureName")]
    pub name: String,
    /// What it is.
    #[serde(rename = "oldValuesOfAttributes")]
    pub old: Values,
    /// What it should have been.
    #[serde(rename = "requestedValuesOfAttributes")]
    pub requested: Values,
    /// Why not.
    pub cause: Cause,
}

/// What became of structures.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Outcomes {
    /// Those that were written.
    #[serde(
        rename = "ranConfigurationStructuresAcceptedList",
        default,
        skip_serializing_if = "Vec::is_empty"
    )]
    pub accepted: Vec<Accepted>,
    /// Those that were not.
    #[serde(rename = "ranConfigurationStructuresFailedList", default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Failed>,
}

/// What became of a cell's structures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellOutcome {
    /// Which cell.
    #[serde(rename = "cellGlobalId")]
    pub cell: CellId,
    /// Its structures.
    #[serde(flatten)]
    pub outcomes: Outcomes,
}

/// What came of a control.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlOutcome {
    /// In one of two forms.
    #[serde(rename = "controlOutcomeFormat")]
    pub format: OutcomeFormat,
}

/// What came of a control.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OutcomeFormat {
    /// Format 2: of cells.
    Cells {
        /// When it came.
        #[serde(rename = "receivedTimestamp", default, skip_serializing_if = "Option::is_none")]
        received: Option<String>,
        /// They.
        #[serde(rename = "listOfCellsForControlOutcome")]
        cells: Vec<CellOutcome>,
    },
    /// Format 1: of the node.
    Node {
        /// When it came.
        #[serde(rename = "receivedTimestamp", default, skip_serializing_if = "Option::is_none")]
        received: Option<String>,
        /// Its structures.
        #[serde(flatten)]
        outcomes: Outcomes,
    },
}
