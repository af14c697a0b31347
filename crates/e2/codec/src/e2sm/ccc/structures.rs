//! Configuration structures: attributes as they came, and those of a few structures with their meaning.
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::messages::PlmnId;
use crate::e2sm::common::Snssai;

/// The structure of a policy that shares resource blocks among slices.
pub const RRM_POLICY_RATIO: &str = "O-RRMPolicyRatio";
/// The structure of a cell of a DU.
pub const NR_CELL_DU: &str = "O-NRCellDU";
/// The structure of a bandwidth part.
pub const BWP: &str = "O-BWP";
/// The structure of a base station's DU.
pub const GNB_DU: &str = "O-GNBDUFunction";

/// Whether two spellings name the same structure: they differ in case alone (`O-NrCellDu`, `O-Bwp` in OCUDU's source).
pub fn is_structure(name: &str, other: &str) -> bool {
    name.eq_ignore_ascii_case(other)
}

/// Attributes by name, as they came: those that are not known are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Attributes(pub Map<String, Value>);

impl Attributes {
    /// Of these.
    pub fn of<const N: usize>(attributes: [(&str, Value); N]) -> Self {
        Self(attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Those of a structure with a meaning; what that lacks is left out.
    pub fn from_structure(structure: &impl Serialize) -> Self {
        match serde_json::to_value(structure) {
            Ok(Value::Object(map)) => Self(map),
            _ => Self::default(),
        }
    }

    /// Those of these names alone; all if there are none.
    pub fn only(&self, names: &[String]) -> Self {
        let wanted = |name: &String| names.is_empty() || names.contains(name);
        Self(self.0.iter().filter(|(name, _)| wanted(name)).map(|(n, v)| (n.clone(), v.clone())).collect())
    }

    /// Their meaning as a structure's.
    ///
    /// # Errors
    /// An attribute that the structure needs is missing or of another type, or one is not its own: which, in words.
    pub fn meaning<T: for<'a> Deserialize<'a>>(&self) -> Result<T, String> {
        serde_json::from_value(Value::Object(self.0.clone())).map_err(|error| error.to_string())
    }
}

/// What a policy's ratios are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResourceType {
    /// Resource blocks of the downlink.
    #[serde(rename = "PRB_DL")]
    PrbDl,
    /// Resource blocks of the uplink.
    #[serde(rename = "PRB_UL")]
    PrbUl,
    /// Bearers.
    #[serde(rename = "DRB")]
    Drb,
    /// Connections of RRC.
    #[serde(rename = "RRC")]
    Rrc,
}

/// A slice as CCC names it.
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
    /// The slice; `None` if its differentiator is not six hexadecimal digits.
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

/// A slice of a network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyMember {
    /// The network.
    pub plmn_id: PlmnId,
    /// The slice.
    pub snssai: SliceId,
}

/// [`RRM_POLICY_RATIO`]: what some slices get of a resource, % (TS 28.541 §4.3.36).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RrmPolicyRatio {
    /// Of which.
    #[serde(rename = "resourceType")]
    pub resource: ResourceType,
    /// The slices.
    #[serde(rename = "rRMPolicyMemberList")]
    pub members: Vec<PolicyMember>,
    /// What they can have at most.
    #[serde(rename = "rRMPolicyMaxRatio")]
    pub max: u8,
    /// What they can have at least if they want it.
    #[serde(rename = "rRMPolicyMinRatio")]
    pub min: u8,
    /// What is kept for them, used or not.
    #[serde(rename = "rRMPolicyDedicatedRatio")]
    pub dedicated: u8,
}

/// Attributes of [`RRM_POLICY_RATIO`] that are ratios, in rising order.
const RATIOS: [&str; 3] = ["rRMPolicyDedicatedRatio", "rRMPolicyMinRatio", "rRMPolicyMaxRatio"];

/// Whether the attributes of a policy have the types and the order of the schema; attributes may be missing.
///
/// # Errors
/// The attribute, its value and what is allowed.
pub(super) fn check_ratio(attributes: &Attributes) -> Result<(), String> {
    let Attributes(members) = attributes;
    let mut ratios = Vec::new();
    for name in RATIOS {
        let Some(value) = members.get(name) else { continue };
        let ratio = value.as_u64().filter(|ratio| *ratio <= 100);
        let ratio =
            ratio.ok_or_else(|| format!("{name} is {value}; a whole number from 0 to 100 is allowed"))?;
        ratios.push((name, ratio));
    }
    let falls = |pair: &&[(&str, u64)]| pair[0].1 > pair[1].1;
    if let Some([(low, lower), (high, upper)]) = ratios.windows(2).find(falls) {
        return Err(format!("{low} is {lower}, {high} is {upper}; the first must not exceed the second"));
    }
    if let Some(value) = members.get("resourceType")
        && serde_json::from_value::<ResourceType>(value.clone()).is_err()
    {
        return Err(format!("resourceType is {value}; PRB_DL, PRB_UL, DRB or RRC is allowed"));
    }
    let Some(list) = members.get("rRMPolicyMemberList") else { return Ok(()) };
    let list: Vec<PolicyMember> = serde_json::from_value(list.clone())
        .map_err(|fault| format!("rRMPolicyMemberList is {list}: {fault}"))?;
    let is_valid = |it: &&PolicyMember| it.plmn_id.plmn().is_some() && it.snssai.slice().is_some();
    match list.iter().find(|it| !is_valid(it)) {
        Some(PolicyMember { plmn_id: PlmnId { mcc, mnc }, snssai }) => Err(format!(
            "rRMPolicyMemberList has network {mcc}.{mnc}, slice {}, sd {:?}; three digits, two or three digits and six \
             hexadecimal digits are allowed",
            snssai.sst, snssai.sd
        )),
        None => Ok(()),
    }
}

/// A network's slice in a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlmnInfo {
    /// The network.
    pub plmn_id: PlmnId,
    /// The slice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snssai: Option<SliceId>,
}

/// [`NR_CELL_DU`], as far as a radio model knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NrCellDu {
    /// The cell's number at its base station.
    pub cell_local_id: u16,
    /// `ENABLED` or `DISABLED`.
    pub operational_state: String,
    /// `LOCKED`, `SHUTTINGDOWN` or `UNLOCKED`.
    pub administrative_state: String,
    /// `IDLE`, `INACTIVE` or `ACTIVE`.
    pub cell_state: String,
    /// Networks and slices that it serves.
    pub plmn_info_list: Vec<PlmnInfo>,
}

/// [`BWP`], as far as a radio model knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bwp {
    /// `DL`, `UL` or `SUL`.
    pub bwp_context: String,
    /// `INITIAL`, `OTHER` or `SUL`.
    pub is_initial_bwp: String,
    /// kHz.
    pub sub_carrier_spacing: u32,
    /// First resource block.
    #[serde(rename = "startRB")]
    pub start_rb: u16,
    /// Resource blocks.
    #[serde(rename = "numberOfRBs")]
    pub number_of_rbs: u16,
}

/// [`GNB_DU`], as far as a node knows itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GnbDu {
    /// The DU's number; none at a whole base station.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gnb_du_id: Option<u64>,
    /// The base station's identity.
    pub gnb_id: u64,
    /// Bits of it, 22 to 32.
    pub gnb_id_length: u8,
}
