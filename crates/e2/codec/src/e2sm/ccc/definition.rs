//! RAN function definition: structures that a node can report and write.
use serde::{Deserialize, Serialize};

use crate::e2sm::Offer;

use super::messages::{ActionFormat, CellId, WantedStructure};
use super::structures::Attributes;

/// Name and OID of a RAN function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionName {
    /// Short name, for example `ORAN-E2SM-CCC`.
    #[serde(rename = "ranFunctionShortName")]
    pub short_name: String,
    /// Object identifier, as text.
    #[serde(rename = "ranFunctionServiceModelOID")]
    pub oid: String,
    /// Description for display.
    #[serde(rename = "ranFunctionDescription")]
    pub description: String,
    /// Instance, if the node has several.
    #[serde(rename = "ranFunctionInstance", default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<i64>,
}

/// A supported attribute and its services.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupportedAttribute {
    /// Name.
    #[serde(rename = "attributeName")]
    pub name: String,
    /// Services in their original format: `eventTrigger`, `reportService`, `controlService` with their styles.
    #[serde(rename = "supportedServices", default)]
    pub services: Attributes,
}

/// A supported structure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupportedStructure {
    /// Name.
    #[serde(rename = "ranConfigurationStructureName")]
    pub name: String,
    /// Attributes.
    #[serde(rename = "listOfSupportedAttributes", default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<SupportedAttribute>,
}

/// A cell and its structures. The specification uses the spelling `cellGlobalID` here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribedCell {
    /// Cell.
    #[serde(rename = "cellGlobalID", alias = "cellGlobalId")]
    pub cell: CellId,
    /// Structures of the cell.
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
    /// Name and OID.
    #[serde(rename = "ranFunctionName")]
    pub name: FunctionName,
    /// Structures of the node.
    #[serde(
        rename = "listOfSupportedNodeLevelConfigurationStructures",
        default,
        skip_serializing_if = "Vec::is_empty"
    )]
    pub node: Vec<SupportedStructure>,
    /// Cells.
    #[serde(rename = "listOfCellsForRANFunctionDefinition", default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<DescribedCell>,
}

impl FunctionDefinition {
    /// Returns the structures of the node and of its cells, without duplicates.
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

    /// Returns the cells that list a structure.
    pub fn cells_with(&self, structure: &str) -> Vec<CellId> {
        let lists =
            |cell: &&DescribedCell| cell.structures.iter().any(|it| super::is_structure(&it.name, structure));
        self.cells.iter().filter(lists).map(|cell| cell.cell.clone()).collect()
    }

    /// Returns whether the definition lists a structure that an action requests, at the node or at a selected cell.
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
