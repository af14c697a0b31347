//! Types and ranges of the attributes that controls write (TS 28.541 clause 4.4.1). The types are checked here because existing base
//! stations crash on a value of another JSON type.
use serde_json::Value;

use super::messages::PlmnId;
use super::structures::{
    Attributes, BWP, CES, NR_CELL_DU, PlmnInfo, PolicyMember, RRM_POLICY_RATIO, ResourceType, is_structure,
};

/// JSON type of an attribute.
#[derive(Debug, Clone, Copy)]
enum Type {
    /// A whole number in a range.
    Integer(u64, u64),
    /// One of these texts.
    Text(&'static [&'static str]),
    /// `true` or `false`.
    Boolean,
    /// A list of networks with slices.
    Plmns,
}

/// Allowed texts in the spelling of E2SM-CCC, then in the spelling of TS 28.541.
const ENERGY_SAVING_CONTROL: [&str; 4] =
    ["toBeEnergySaving", "toBeNotEnergySaving", "TO_BE_ENERGY_SAVING", "TO_BE_NOT_ENERGY_SAVING"];
const ENERGY_SAVING_STATE: [&str; 4] =
    ["isEnergySaving", "isNotEnergySaving", "IS_ENERGY_SAVING", "IS_NOT_ENERGY_SAVING"];

/// Types of attributes, by structure. Attributes that are not listed are not checked.
const TYPES: &[(&str, &[(&str, Type)])] = &[
    (
        NR_CELL_DU,
        &[
            ("cellLocalId", Type::Integer(0, 16_383)),
            ("administrativeState", Type::Text(&["LOCKED", "SHUTTINGDOWN", "UNLOCKED"])),
            ("nRPCI", Type::Integer(0, 1_007)),
            ("arfcnDL", Type::Integer(0, 3_279_165)),
            ("arfcnUL", Type::Integer(0, 3_279_165)),
            ("arfcnSUL", Type::Integer(0, 3_279_165)),
            ("bSChannelBwDL", Type::Integer(0, 2_000)),
            ("bSChannelBwUL", Type::Integer(0, 2_000)),
            ("plmnInfoList", Type::Plmns),
        ],
    ),
    (
        BWP,
        &[
            ("bwpContext", Type::Text(&["DL", "UL", "SUL"])),
            ("isInitialBwp", Type::Text(&["INITIAL", "OTHER", "SUL"])),
            ("subCarrierSpacing", Type::Integer(15, 960)),
            ("startRB", Type::Integer(0, 274)),
            ("numberOfRBs", Type::Integer(1, 275)),
        ],
    ),
    (
        CES,
        &[
            ("cesSwitch", Type::Boolean),
            ("energySavingControl", Type::Text(&ENERGY_SAVING_CONTROL)),
            ("energySavingState", Type::Text(&ENERGY_SAVING_STATE)),
        ],
    ),
];

/// Checks that attributes to be written have the types of their structure. Unknown structures are accepted.
///
/// # Errors
/// Returns a text with the attribute, its value and the allowed values.
pub(super) fn check(structure: &str, attributes: &Attributes) -> Result<(), String> {
    if is_structure(structure, RRM_POLICY_RATIO) {
        return check_ratio(attributes);
    }
    let Some((_, types)) = TYPES.iter().find(|(name, _)| is_structure(name, structure)) else {
        return Ok(());
    };
    types.iter().try_for_each(|(name, of)| {
        attributes
            .0
            .get(*name)
            .map_or(Ok(()), |value| of.check(value).map_err(|it| format!("{name} is {it}")))
    })
}

impl Type {
    /// Checks that a value is of this type. The error is a text with the value and the allowed values.
    fn check(self, value: &Value) -> Result<(), String> {
        match self {
            Self::Integer(low, high) => match value.as_u64() {
                Some(number) if (low..=high).contains(&number) => Ok(()),
                _ => Err(format!("{value}; a whole number from {low} to {high} is allowed")),
            },
            Self::Text(allowed) => match value.as_str() {
                Some(text) if allowed.contains(&text) => Ok(()),
                _ => Err(format!("{value}; {} is allowed", allowed.join(", "))),
            },
            Self::Boolean if value.is_boolean() => Ok(()),
            Self::Boolean => Err(format!("{value}; true or false is allowed")),
            Self::Plmns => match serde_json::from_value::<Vec<PlmnInfo>>(value.clone()) {
                Ok(_) => Ok(()),
                Err(fault) => Err(format!("{value}: {fault}")),
            },
        }
    }
}

/// Attributes of [`RRM_POLICY_RATIO`] that are ratios. None may exceed the next one.
const RATIOS: [&str; 3] = ["rRMPolicyDedicatedRatio", "rRMPolicyMinRatio", "rRMPolicyMaxRatio"];

/// Checks the types of a policy's attributes, and that no ratio exceeds the next one in [`RATIOS`]. Attributes may be
/// missing.
///
/// # Errors
/// Returns a text with the attribute, its value and the allowed values.
fn check_ratio(attributes: &Attributes) -> Result<(), String> {
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
            "rRMPolicyMemberList has network {mcc}.{mnc}, slice {}, sd {:?}; allowed: an MCC of three digits, an MNC of \
             two or three digits, an sd of six hexadecimal digits",
            snssai.sst, snssai.sd
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn error_names_attribute_with_invalid_value() {
        let member =
            |sst: Value| json!([{ "plmnId": { "mcc": "505", "mnc": "01" }, "snssai": { "sst": sst } }]);
        for (structure, attribute, value, allowed) in [
            (RRM_POLICY_RATIO, "rRMPolicyMemberList", member(json!("1")), false),
            (RRM_POLICY_RATIO, "rRMPolicyMemberList", member(json!(1)), true),
            (RRM_POLICY_RATIO, "rRMPolicyMaxRatio", json!("30"), false),
            (RRM_POLICY_RATIO, "rRMPolicyMaxRatio", json!(101), false),
            (NR_CELL_DU, "administrativeState", json!("LOCKED"), true),
            (NR_CELL_DU, "administrativeState", json!("locked"), false),
            (NR_CELL_DU, "administrativeState", json!(0), false),
            ("O-NrCellDu", "cellLocalId", json!("3"), false),
            (NR_CELL_DU, "nRPCI", json!(1_008), false),
            (NR_CELL_DU, "plmnInfoList", member(json!("1")), false),
            (NR_CELL_DU, "plmnInfoList", member(json!(1)), true),
            (BWP, "numberOfRBs", json!(0), false),
            (CES, "cesSwitch", json!("on"), false),
            (CES, "cesSwitch", json!(true), true),
            (NR_CELL_DU, "vendorAttribute", json!([null]), true),
            ("O-Unknown", "administrativeState", json!(0), true),
        ] {
            let checked = check(structure, &Attributes::from_list([(attribute, value.clone())]));
            assert_eq!(checked.is_ok(), allowed, "{structure} {attribute} {value}: {checked:?}");
            if let Err(words) = checked {
                assert!(words.starts_with(attribute), "{words}");
            }
        }
    }
}
