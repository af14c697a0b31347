//! What a node can tell and write: the RAN function definition.
use serde::{Deserialize, Serialize};

use crate::e2sm::Offer;

use super::messages::{ActionFormat, CellId, WantedStructure};
use super::structures::Attributes;

/// Who a RAN function is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionName {
    /// E.g. `ORAN-E2SM-CCC`.
    #[serde(rename = "ranFunctionShortName")]
    pub short_name: String,
    /// Object identifier, as text.
    #[serde(rename = "ranFunctionServiceModelOID")]
    pub oid: String,
    /// For people.
    #[serde(rename = "ranFunctionDescription")]
    pub description: String,
    /// Which one, where a node has several.
    #[serde(rename = "ranFunctionInstance", default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<i64>,
}

/// An attribute that is supported, and by which services.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupportedAttribute {
    /// Its name.
    #[serde(rename = "attributeName")]
    pub name: String,
    /// Services, as they came: `eventTrigger`, `reportService`, `controlService` with their styles.
    #[serde(rename = "supportedServices", default)]
    pub services: Attributes,
}

/// A structure that is supported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupportedStructure {
    /// Its name.
    #[serde(rename = "ranConfigurationStructureName")]
    pub name: String,
    /// Its attributes.
    #[serde(rename = "listOfSupportedAttributes", default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<SupportedAttribute>,
}

/// A cell with its structures. Here the text writes `cellGlobalID`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribedCell {
    /// Which.
    #[serde(rename = "cellGlobalID", alias = "cellGlobalId")]
    pub cell: CellId,
    /// Its structures.
    #[serde(
        rename = "listOfSupportedCellLevelRANConfigurationStructures",
        default,
        skip_serializing_if = "Vec::is_empty"
    )]
    pub structures: Vec<SupportedStructure>,
}

/// The RAN function definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionDefinition {
    /// Who it is.
    #[serde(rename = "ranFunctionName")]
    pub name: FunctionName,
    /// Structures of the node.
    #[serde(
        rename = "listOfSupportedNodeLevelConfigurationStructures",
        default,
        skip_serializing_if = "Vec::is_empty"
    )]
    pub node: Vec<SupportedStructure>,
    /// Its cells.
    #[serde(rename = "listOfCellsForRANFunctionDefinition", default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<DescribedCell>,
}

impl FunctionDefinition {
    /// Structures of the node and of its cells, each once.
    pub(super) fn structures(&self) -> Vec<Offer> {
        let all = self.node.iter().chain(self.cells.iter().flat_map(|cell| &cell.structures));
        let mut offers: Vec<Offer> = Vec::new();
        for it in all.filter(|it| !it.name.is_empty()) {
            if !offers.iter().any(|other| other.name == it.name) {
                let attributes = it.attributes.iter().map(|attribute| attribute.name.clone());
                offers.push(Offer::new("structure", "", &it.name, attributes));
            }
        }
        offers
    }

    /// Whether it lists a structure that an action wants, at the node or at a cell that is meant.
    pub fn offers(&self, wanted: &ActionFormat) -> bool {
        let has = |listed: &[SupportedStructure], wanted: &[WantedStructure]| {
            wanted.iter().any(|want| listed.iter().any(|it| super::is_structure(&it.name, &want.name)))
        };
        match wanted {
            ActionFormat::Node { structures } => has(&self.node, structures),
            ActionFormat::Cells { cells } => cells.iter().any(|want| {
                let meant = |it: &&DescribedCell| want.cell.as_ref().is_none_or(|cell| *cell == it.cell);
                self.cells.iter().filter(meant).any(|it| has(&it.structures, &want.structures))
            }),
        }
    }
}
