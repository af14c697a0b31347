//! Policies, which are the text in an [`AgentReconfiguration`](super::AgentReconfiguration). FlexRAN writes policies in YAML. This module
//! supports the subset of YAML that they use: maps by indentation, a list item as wrapper, `[a, b]`, and tags such as `!!int`.
//!
//! ```yaml
//! mac:
//!  - dl_scheduler:
//!     behavior : flexran_schedule_ue_spec_remote
//!     parameters:
//!       n_active_slices : !!int 2
//!       slice_percentage : [!!float 0.6, !!float 0.4, !!float 0.0, !!float 0.0]
//!       slice_maxmcs : [!!int 28, !!int 28, !!int 28, !!int 28]
//! ```

use std::fmt;

/// Maximum number of slices in a policy of FlexRAN 0.x.
pub const POLICY_SLICES_MAX: usize = 4;
/// Share of the complete cell, in parts per million.
const WHOLE_PPM: u32 = 1_000_000;

/// Configuration of the downlink scheduler. Absent fields stay unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// Name of the scheduling function in the base station's code, such as [`LOCAL`](Self::LOCAL).
    pub behavior: Option<String>,
    /// Number of active slices.
    pub active_slices: Option<u32>,
    /// Share of the resource blocks for each slice, in parts per million.
    pub shares_ppm: Option<Vec<u32>>,
    /// Highest MCS for each slice.
    pub max_mcs: Option<Vec<u32>>,
}

/// Names of predefined behaviours of FlexRAN.
impl Policy {
    /// Behaviour in which the base station schedules.
    pub const LOCAL: &'static str = "flexran_schedule_ue_spec_default";
    /// Behaviour in which the controller schedules each subframe.
    pub const REMOTE: &'static str = "flexran_schedule_ue_spec_remote";

    /// Returns a policy that selects the scheduling function.
    pub fn of_behavior(name: &str) -> Self {
        Self { behavior: Some(name.to_owned()), ..Self::default() }
    }
}

/// Error: the text is not a valid policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the policy: {what}")]
pub struct PolicyError {
    line: usize,
    what: String,
}

impl std::str::FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let mut policy = Self::default();
        let mut place: Vec<&str> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let wrong = |what: String| PolicyError { line: index + 1, what };
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() || line == "---" {
                continue;
            }
            let line = line.strip_prefix('-').unwrap_or(line).trim();
            let (key, value) = line
                .split_once(':')
                .ok_or_else(|| wrong(format!("{line:?} is not of the form `name : value`")))?;
            let key = key.trim();
            let value = value.trim();
            match (key, value.is_empty()) {
                ("mac", true) => place = vec!["mac"],
                ("dl_scheduler", true) if place.first() == Some(&"mac") => {
                    place = vec!["mac", "dl_scheduler"]
                }
                ("parameters", true) if place.len() == 2 => {}
                _ if place.len() != 2 => {
                    return Err(wrong(format!(
                        "unknown key {key:?}: only settings of `dl_scheduler` below `mac` are supported"
                    )));
                }
                ("behavior", false) => policy.behavior = Some(value.to_owned()),
                ("n_active_slices", false) => policy.active_slices = Some(number(value).map_err(wrong)?),
                ("slice_percentage", false) => policy.shares_ppm = Some(list(value, share).map_err(wrong)?),
                ("slice_maxmcs", false) => policy.max_mcs = Some(list(value, number).map_err(wrong)?),
                _ => return Err(wrong(format!("the downlink scheduler has no setting {key:?}"))),
            }
        }
        Ok(policy)
    }
}

/// Removes a tag such as `!!int`.
fn untagged(text: &str) -> &str {
    match text.trim().strip_prefix('!') {
        Some(tag) => tag.split_once(char::is_whitespace).map_or("", |(_, value)| value.trim()),
        None => text.trim(),
    }
}

fn number(text: &str) -> Result<u32, String> {
    untagged(text).parse().map_err(|_| format!("{text:?} is not a whole number"))
}

fn share(text: &str) -> Result<u32, String> {
    let share: f64 = untagged(text).parse().map_err(|_| format!("{text:?} is not a number"))?;
    if !(0.0..=1.0).contains(&share) {
        return Err(format!("a share must be 0 to 1, not {text:?}"));
    }
    // The value is between 0 and one million.
    Ok((share * f64::from(WHOLE_PPM)).round() as u32)
}

fn list<T>(text: &str, item: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let inner = inner.ok_or_else(|| format!("{text:?} is not a list, [a, b]"))?;
    let items = inner.split(',').map(item).collect::<Result<Vec<_>, _>>()?;
    if items.len() > POLICY_SLICES_MAX {
        return Err(format!("at most {POLICY_SLICES_MAX} slices are allowed"));
    }
    Ok(items)
}

/// Writes the format that agents of FlexRAN read.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("mac:\n - dl_scheduler:\n")?;
        if let Some(behavior) = &self.behavior {
            writeln!(f, "    behavior : {behavior}")?;
        }
        if self.active_slices.is_some() || self.shares_ppm.is_some() || self.max_mcs.is_some() {
            f.write_str("    parameters:\n")?;
        }
        if let Some(count) = self.active_slices {
            writeln!(f, "      n_active_slices : !!int {count}")?;
        }
        let joined = |items: Vec<String>| items.join(", ");
        if let Some(shares) = &self.shares_ppm {
            let share = |ppm: &u32| format!("!!float {}", f64::from(*ppm) / f64::from(WHOLE_PPM));
            writeln!(f, "      slice_percentage : [{}]", joined(shares.iter().map(share).collect()))?;
        }
        if let Some(most) = &self.max_mcs {
            let mcs = |mcs: &u32| format!("!!int {mcs}");
            writeln!(f, "      slice_maxmcs : [{}]", joined(most.iter().map(mcs).collect()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_policies_round_trip() {
        let remote: Policy =
            "mac:\n - dl_scheduler:\n    behavior : flexran_schedule_ue_spec_remote\n".parse().unwrap();
        assert_eq!(remote, Policy::of_behavior(Policy::REMOTE));
        let sliced: Policy = "# two slices\nmac:\n  - dl_scheduler:\n      parameters:\n        n_active_slices : !!int 2\n\
                              \t\tslice_percentage : [!!float 0.6, 0.4, !!float 0.0]\n  slice_maxmcs : [!!int 28, !int 28]"
            .parse()
            .unwrap();
        assert_eq!((sliced.active_slices, sliced.max_mcs.as_deref()), (Some(2), Some(&[28, 28][..])));
        assert_eq!(sliced.shares_ppm.as_deref(), Some(&[600_000, 400_000, 0][..]));
        for policy in [remote, sliced, Policy::default()] {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
    }

    #[test]
    fn invalid_policy_error_contains_line() {
        for (text, what) in [
            ("rrc:\n", "line 1"),
            ("mac:\n - ul_scheduler:\n", "line 2"),
            ("mac:\n - dl_scheduler:\n    behavior", "not of the form `name : value`"),
            ("mac:\n - dl_scheduler:\n   parameters:\n    selected_subframe : !!int 0", "selected_subframe"),
            ("mac:\n - dl_scheduler:\n    n_active_slices : two", "not a whole number"),
            ("mac:\n - dl_scheduler:\n    slice_percentage : 0.5", "not a list"),
            ("mac:\n - dl_scheduler:\n    slice_percentage : [1.5]", "0 to 1"),
            ("mac:\n - dl_scheduler:\n    slice_percentage : [NaN]", "0 to 1"),
            ("mac:\n - dl_scheduler:\n    slice_percentage : [0, 0, 0, 0, 0]", "at most 4"),
        ] {
            let error = text.parse::<Policy>().unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
