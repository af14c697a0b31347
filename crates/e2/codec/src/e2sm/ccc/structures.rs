//! Configuration structures: unparsed attributes, and typed values for a few structures.
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::messages::PlmnId;
use crate::e2sm::common::Snssai;

/// Name of the structure for the sharing of resource blocks among slices.
pub const RRM_POLICY_RATIO: &str = "O-RRMPolicyRatio";
/// Name of the structure for a cell of a DU.
pub const NR_CELL_DU: &str = "O-NRCellDU";
/// Name of the structure for a bandwidth part.
pub const BWP: &str = "O-BWP";
/// Name of the structure for the centralized energy saving of a cell.
pub const CES: &str = "O-CESManagementFunction";
/// Name of the structure for the DU of a base station.
pub const GNB_DU: &str = "O-GNBDUFunction";

/// Returns whether two spellings name the same structure: they may differ in case (`O-NrCellDu`, `O-Bwp` in OCUDU's
/// source).
pub fn is_structure(name: &str, other: &str) -> bool {
    name.eq_ignore_ascii_case(other)
}

/// Attributes by name in their original format. Unknown ones are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Attributes(pub Map<String, Value>);

impl Attributes {
    /// Creates attributes from a list.
    pub fn from_list<const N: usize>(attributes: [(&str, Value); N]) -> Self {
        Self(attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Creates attributes from a typed structure. Absent values are omitted.
    pub fn from_structure(structure: &impl Serialize) -> Self {
        match serde_json::to_value(structure) {
            Ok(Value::Object(map)) => Self(map),
            _ => Self::default(),
        }
    }

    /// Returns only the attributes with these names, or all if the list is empty.
    pub fn only(&self, names: &[String]) -> Self {
        let wanted = |name: &String| names.is_empty() || names.contains(name);
        Self(self.0.iter().filter(|(name, _)| wanted(name)).map(|(n, v)| (n.clone(), v.clone())).collect())
    }

    /// Converts the attributes to a typed structure.
    ///
    /// # Errors
    /// Fails if a required attribute is missing, has another type, or is unknown to the structure.
    pub fn meaning<T: for<'a> Deserialize<'a>>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_value(Value::Object(self.0.clone()))
    }
}

/// Resource to which the ratios of a policy apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResourceType {
    /// Downlink resource blocks.
    #[serde(rename = "PRB_DL")]
    PrbDl,
    /// Uplink resource blocks.
    #[serde(rename = "PRB_UL")]
    PrbUl,
    /// Bearers.
    #[serde(rename = "DRB")]
    Drb,
    /// RRC connections.
    #[serde(rename = "RRC")]
    Rrc,
}

/// A slice in the format of CCC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceId {
    /// Slice/service type.
    pub sst: u8,
    /// Slice differentiator, six hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sd: Option<String>,
}

impl From<Snssai> for SliceId {
    fn from(Snssai { sst, sd }: Snssai) -> Self {
        Self { sst, sd: sd.map(|sd| format!("{sd:06X}")) }
    }
}

impl SliceId {
    /// Returns the slice, or `None` if its differentiator is not six hexadecimal digits.
    pub fn slice(&self) -> Option<Snssai> {
        let hex = |sd: &String| {
            let digits = sd.len() == 6 && sd.bytes().all(|it| it.is_ascii_hexdigit());
            digits.then(|| u32::from_str_radix(sd, 16).ok()).flatten()
        };
        let sd = match &self.sd {
            Some(sd) => Some(hex(sd)?),
            None => None,
        };
        Some(Snssai::new(self.sst, sd))
    }
}

/// A slice within a PLMN.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyMember {
    /// PLMN.
    pub plmn_id: PlmnId,
    /// Slice.
    pub snssai: SliceId,
}

/// [`RRM_POLICY_RATIO`]: shares of a resource for some slices, in % (TS 28.541 §4.3.36).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RrmPolicyRatio {
    /// Resource.
    #[serde(rename = "resourceType")]
    pub resource: ResourceType,
    /// Slices.
    #[serde(rename = "rRMPolicyMemberList")]
    pub members: Vec<PolicyMember>,
    /// Maximum share.
    #[serde(rename = "rRMPolicyMaxRatio")]
    pub max: u8,
    /// Guaranteed share.
    #[serde(rename = "rRMPolicyMinRatio")]
    pub min: u8,
    /// Dedicated share, reserved even if unused.
    #[serde(rename = "rRMPolicyDedicatedRatio")]
    pub dedicated: u8,
}

/// A slice of a PLMN in a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlmnInfo {
    /// PLMN.
    pub plmn_id: PlmnId,
    /// Slice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snssai: Option<SliceId>,
}

/// [`NR_CELL_DU`], with the attributes that a radio model has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NrCellDu {
    /// Number of the cell at its base station.
    pub cell_local_id: u16,
    /// `ENABLED` or `DISABLED`.
    pub operational_state: String,
    /// `LOCKED`, `SHUTTINGDOWN` or `UNLOCKED`.
    pub administrative_state: String,
    /// `IDLE`, `INACTIVE` or `ACTIVE`.
    pub cell_state: String,
    /// PLMNs and slices that the cell serves.
    pub plmn_info_list: Vec<PlmnInfo>,
}

/// [`CES`], with the attributes that a radio model has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CesManagement {
    /// Whether energy saving is allowed.
    pub ces_switch: bool,
    /// `isEnergySaving` or `isNotEnergySaving`.
    pub energy_saving_state: String,
    /// `toBeEnergySaving` or `toBeNotEnergySaving`.
    pub energy_saving_control: String,
}

/// [`BWP`], with the attributes that a radio model has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bwp {
    /// `DL`, `UL` or `SUL`.
    pub bwp_context: String,
    /// `INITIAL`, `OTHER` or `SUL`.
    pub is_initial_bwp: String,
    /// Subcarrier spacing in kHz.
    pub sub_carrier_spacing: u32,
    /// First resource block.
    #[serde(rename = "startRB")]
    pub start_rb: u16,
    /// Number of resource blocks.
    #[serde(rename = "numberOfRBs")]
    pub number_of_rbs: u16,
}

/// [`GNB_DU`], with the attributes that a node has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GnbDu {
    /// Number of the DU; `None` for a complete base station.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gnb_du_id: Option<u64>,
    /// Identity of the base station.
    pub gnb_id: u64,
    /// Length of the identity in bits, 22 to 32.
    pub gnb_id_length: u8,
}
