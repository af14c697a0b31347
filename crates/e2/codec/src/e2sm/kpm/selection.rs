//! Selection of measurements by name, and the actions that request them.
use bytes::Bytes;

use super::action::{
    ActionDefinition, ActionFormat, ConditionalMeasurements, MatchingUeMeasurements, Measurements,
    UeMatching, UeMeasurements, UesMeasurements,
};
use super::function::{FunctionDescription, ReportStyle};
use super::measure::{
    ConditionalMeasurement, Label, Matching, MatchingCondition, Measurement, MeasurementInfo, Test,
    TestExpression, TestType,
};
use super::names::UNLISTED_MEASUREMENTS;
use super::{DEFAULT_SLICE, Kpm};
use crate::e2ap::GlobalE2NodeId;
use crate::e2sm::common::{Cgi, NrCgi, Snssai, UeNumbers};
use crate::e2sm::{Encoding, Octets, Offer, ServiceModel, SmError};

/// Maximum size of a report PDU at OCUDU and srsRAN, which drop larger ones (9,100 bytes), less the overhead of the
/// message.
const PEER_REPORT_BYTES: usize = 8_900;
/// Number of UEs for which a report of a third-party node is sized.
const PEER_UES: usize = 64;
/// Size of a UE's data in a report besides its measurements, in bytes: identity and lists.
const UE_BYTES: usize = 30;
/// Size of a measurement besides its name, in bytes: lengths, label, value.
const MEASUREMENT_BYTES: usize = 12;

/// Measurements of the scheduler. The DU of OCUDU and srsRAN keeps those of one cell only. With a second cell, it accesses
/// memory out of bounds and ends when it reports them in style 4 or 5. Styles 2 and 3 omit missing values instead.
const SCHEDULER_MEASUREMENTS: [&str; 7] = [
    "DRB.AirIfDelayUl",
    "RRU.PrbAvailDl",
    "RRU.PrbAvailUl",
    "RRU.PrbTotDl",
    "RRU.PrbTotUl",
    "RRU.PrbUsedDl",
    "RRU.PrbUsedUl",
];
/// A measurement that only OCUDU and srsRAN offer.
const OCUDU_MEASUREMENT: &str = "DRB.RlcDelayUl";

/// A selection of measurements. The default is every measurement of all UEs of a node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Report style, 1 to 5. The default is 2 for one UE, 5 for several UEs, otherwise 4 if the node offers the
    /// measurements per UE, otherwise 1.
    pub style: Option<i64>,
    /// Names of measurements; empty for all.
    pub measurements: Vec<String>,
    /// UEs for styles 2 and 5.
    pub ues: Vec<UeNumbers>,
    /// Slice: a condition in styles 3 and 4, a label in all other styles.
    pub slice: Option<Snssai>,
    /// Cell.
    pub cell: Option<NrCgi>,
    /// Granularity period in milliseconds; the default is the report period.
    pub granularity_ms: Option<u32>,
}

/// Reason why a [`Selection`] cannot be requested from a node.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// The RAN function definition is not a KPM definition.
    #[error("the RAN function definition cannot be read: {0}")]
    Definition(SmError),
    /// The node does not offer the style.
    #[error("{node} has no KPM report style {style}; it has {offered}")]
    Style {
        /// The node.
        node: Box<GlobalE2NodeId>,
        /// The style.
        style: i64,
        /// Styles offered by the node.
        offered: String,
    },
    /// The node does not offer the measurement.
    #[error("{node} does not offer {name:?} in KPM report style {style}; it offers {offered}")]
    Measurement {
        /// The node.
        node: Box<GlobalE2NodeId>,
        /// The measurement.
        name: String,
        /// The style.
        style: i64,
        /// Measurements offered by the node in this style.
        offered: String,
    },
    /// The style does not accept this number of UEs.
    #[error("KPM report style {style} requires {needed}, not {given}")]
    Ues {
        /// The style.
        style: i64,
        /// `one UE`, `two UEs or more`, `no UE`.
        needed: &'static str,
        /// Number of selected UEs.
        given: usize,
    },
    /// The UE lacks the identifier that the node uses.
    #[error("the UE lacks the identifier that {node} uses")]
    UeNumber {
        /// The node.
        node: Box<GlobalE2NodeId>,
    },
    /// The node would end if it reported these measurements in a single action.
    #[error(
        "{node} is OCUDU or srsRAN, which can end when it reports {names} in style {style}: request each in style 3 by a separate subscription, or all in style 1"
    )]
    Scheduler {
        /// The node.
        node: Box<GlobalE2NodeId>,
        /// The style.
        style: i64,
        /// The measurements.
        names: String,
    },
    /// The granularity period does not divide the report period.
    #[error("a granularity of {granularity_ms} ms does not divide the report period of {period_ms} ms")]
    Granularity {
        /// Granularity period, in milliseconds.
        granularity_ms: u32,
        /// Report period, in milliseconds.
        period_ms: u32,
    },
}

/// Number of the report style for a node. The style's action format has the same number.
const NODE: i64 = 1;
const ONE_UE: i64 = 2;
const CONDITIONAL: i64 = 3;
const MATCHING_UES: i64 = 4;
const UES: i64 = 5;

/// Properties of a node for a selection.
struct Peer<'a> {
    node: &'a GlobalE2NodeId,
    styles: Vec<ReportStyle>,
    /// Whether the node has ranlab's definition, so that its conditions and names can be used.
    ours: bool,
}

impl Peer<'_> {
    fn style(&self, style: i64) -> Option<&ReportStyle> {
        self.styles.iter().find(|it| it.style == style)
    }

    /// Returns the measurements of a style, including the unlisted ones of a ranlab node.
    fn names<'a>(&self, style: &'a ReportStyle) -> impl Iterator<Item = &'a str> + use<'a> {
        let unlisted: &[_] = if self.ours { &UNLISTED_MEASUREMENTS } else { &[] };
        style.measurements.iter().map(|it| it.name.as_str()).chain(unlisted.iter().copied())
    }

    fn offers(&self, style: i64, name: &str) -> bool {
        self.style(style).is_some_and(|style| self.names(style).any(|it| it == name))
    }

    /// Returns whether the node may end if it reports this measurement in this style.
    fn may_end(&self, style: &ReportStyle, name: &str) -> bool {
        !self.ours
            && matches!(style.style, MATCHING_UES | UES)
            && SCHEDULER_MEASUREMENTS.contains(&name)
            && self.offers(style.style, OCUDU_MEASUREMENT)
    }

    fn unoffered(&self, style: &ReportStyle, name: &str) -> SelectionError {
        SelectionError::Measurement {
            node: Box::new(*self.node),
            name: name.to_owned(),
            style: style.style,
            offered: self.names(style).collect::<Vec<_>>().join(", "),
        }
    }

    fn no_style(&self, style: i64) -> SelectionError {
        let offered = self.styles.iter().map(|it| it.style.to_string()).collect::<Vec<_>>().join(", ");
        SelectionError::Style { node: Box::new(*self.node), style, offered }
    }
}

impl Selection {
    /// Returns the actions of the selection, each for a separate subscription. A report of `PEER_UES` UEs of a
    /// third-party node stays below the PDU limit of OCUDU and srsRAN. Measurements that are only offered for the
    /// node as a whole form an action of style 1.
    ///
    /// # Errors
    /// Returns an error that names what the node offers if the selection is not available.
    pub fn actions(
        &self,
        node: &GlobalE2NodeId,
        definition: &Bytes,
        period_ms: u32,
    ) -> Result<Vec<ActionDefinition>, SelectionError> {
        let granularity_ms = self.granularity(period_ms)?;
        let peer = Self::peer(node, definition)?;
        let ours = peer.ours;
        let mut actions = Vec::new();
        for (style, names) in self.styles(&peer)? {
            let (alone, names): (Vec<_>, Vec<_>) =
                names.into_iter().partition(|name| peer.may_end(style, name));
            let groups = match style.action_format {
                _ if names.is_empty() => Vec::new(),
                _ if ours => vec![&names[..]],
                // OCUDU's CU-UP omits the value of DRB.PdcpReordDelayUl if nothing was reordered. The other values of the same report could
                // then not be assigned to measurements.
                NODE if node.part_ids().0.is_some() => names.chunks(1).collect(),
                NODE | ONE_UE => vec![&names[..]],
                // OCUDU and srsRAN report only the first measurement of a conditional action.
                CONDITIONAL => names.chunks(1).collect(),
                _ => split(&names),
            };
            for names in groups {
                let format = self.format(&peer, style, names, granularity_ms)?;
                actions.push(ActionDefinition { style: style.style, format });
            }
            // Safe styles for the remaining measurements.
            let each_ue = self.ues.iter().map(|ue| Self { ues: vec![ue.clone()], ..self.clone() });
            for name in alone {
                if self.ues.is_empty() {
                    actions.push(self.action_in(CONDITIONAL, &peer, &[name], granularity_ms)?);
                    continue;
                }
                for one in each_ue.clone() {
                    actions.push(one.action_in(ONE_UE, &peer, &[name], granularity_ms)?);
                }
            }
        }
        Ok(actions)
    }

    fn action_in(
        &self,
        style: i64,
        peer: &Peer<'_>,
        names: &[&str],
        granularity_ms: u32,
    ) -> Result<ActionDefinition, SelectionError> {
        let style = peer.style(style).ok_or_else(|| peer.no_style(style))?;
        let format = self.format(peer, style, names, granularity_ms)?;
        Ok(ActionDefinition { style: style.style, format })
    }

    /// Returns actions like [`actions`](Self::actions), but only for the selected measurements that the node offers. CU-CP, CU-UP and DU of
    /// one base station offer different measurements. Also returns an error that names the omitted measurements, if any.
    ///
    /// # Errors
    /// Returns an error if the node offers none of the measurements, or for the reasons of [`actions`](Self::actions).
    pub fn actions_offered(
        &self,
        node: &GlobalE2NodeId,
        definition: &Bytes,
        period_ms: u32,
    ) -> Result<(Vec<ActionDefinition>, Option<SelectionError>), SelectionError> {
        let mut selection = self.clone();
        let mut missing: Vec<String> = Vec::new();
        let mut left_out = None;
        loop {
            match selection.actions(node, definition, period_ms) {
                Err(SelectionError::Measurement { node, name, style, offered }) => {
                    selection.measurements.retain(|it| *it != name);
                    missing.push(name);
                    let name = missing.join(", ");
                    let fault = SelectionError::Measurement { node, name, style, offered };
                    // An empty selection would select all measurements.
                    if selection.measurements.is_empty() {
                        return Err(fault);
                    }
                    left_out = Some(fault);
                }
                other => return Ok((other?, left_out)),
            }
        }
    }

    /// Returns a single action for the selection, regardless of the size of its reports. The style is 1 if only style 1
    /// has all measurements. An empty selection stands for all measurements of one style that the node can report together.
    ///
    /// # Errors
    /// Returns the same errors as [`actions`](Self::actions), and an error if the node would end with this action.
    pub fn action(
        &self,
        node: &GlobalE2NodeId,
        definition: &Bytes,
        period_ms: u32,
    ) -> Result<ActionDefinition, SelectionError> {
        let granularity_ms = self.granularity(period_ms)?;
        let peer = Self::peer(node, definition)?;
        let mut styles = self.styles(&peer)?;
        if self.measurements.is_empty() {
            styles.truncate(1);
        }
        let [(style, names)] = &styles[..] else {
            let whole = Self { style: Some(NODE), ..self.clone() };
            return whole.action(node, definition, period_ms);
        };
        let (alone, together): (Vec<_>, Vec<_>) = names.iter().partition(|name| peer.may_end(style, name));
        match &alone[..] {
            [] => {}
            _ if self.measurements.is_empty() => {
                return self.action_in(style.style, &peer, &together, granularity_ms);
            }
            [name] if together.is_empty() && self.ues.is_empty() => {
                return self.action_in(CONDITIONAL, &peer, &[*name], granularity_ms);
            }
            _ => {
                let names = alone.join(", ");
                return Err(SelectionError::Scheduler { node: Box::new(*node), style: style.style, names });
            }
        }
        self.action_in(style.style, &peer, names, granularity_ms)
    }

    fn granularity(&self, period_ms: u32) -> Result<u32, SelectionError> {
        let granularity_ms = self.granularity_ms.unwrap_or(period_ms);
        if granularity_ms == 0 || !period_ms.is_multiple_of(granularity_ms) {
            return Err(SelectionError::Granularity { granularity_ms, period_ms });
        }
        Ok(granularity_ms)
    }

    fn peer<'a>(node: &'a GlobalE2NodeId, definition: &Bytes) -> Result<Peer<'a>, SelectionError> {
        let description = FunctionDescription::decode_as(Encoding::Per, definition);
        let description = description.map_err(SelectionError::Definition)?;
        let ours = definition[..] == *Kpm::DEFINITION;
        Ok(Peer { node, styles: description.reports.unwrap_or_default(), ours })
    }

    /// Returns the names of all measurements that a node offers in any style, without duplicates; empty if the
    /// definition cannot be decoded.
    pub fn names_offered(node: &GlobalE2NodeId, definition: &Bytes) -> Vec<String> {
        let Ok(peer) = Self::peer(node, definition) else { return Vec::new() };
        let mut names: Vec<String> = Vec::new();
        for name in peer.styles.iter().flat_map(|style| peer.names(style)) {
            if !names.iter().any(|it| it == name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Returns styles and their measurements.
    fn styles<'a>(
        &'a self,
        peer: &'a Peer<'_>,
    ) -> Result<Vec<(&'a ReportStyle, Vec<&'a str>)>, SelectionError> {
        let chosen = self.style.or(match self.ues.len() {
            0 => None,
            1 => Some(ONE_UE),
            _ => Some(UES),
        });
        if let Some(number) = chosen {
            let style = peer.style(number).ok_or_else(|| peer.no_style(number))?;
            return Ok(vec![(style, self.names(peer, style)?)]);
        }
        let by_ue = peer.style(MATCHING_UES);
        let of_node = peer.style(NODE);
        let Some(first) = by_ue.or(of_node) else { return Err(peer.no_style(MATCHING_UES)) };
        if self.measurements.is_empty() {
            let all = self.names(peer, first)?;
            let further = of_node.filter(|style| style.style != first.style);
            let further = further.map(|style| {
                let names = style.measurements.iter().map(|it| it.name.as_str());
                (style, names.filter(|name| !peer.offers(first.style, name)).collect::<Vec<_>>())
            });
            return Ok(std::iter::once((first, all)).chain(further.filter(|it| !it.1.is_empty())).collect());
        }
        let names: Vec<&str> = self.measurements.iter().map(String::as_str).collect();
        let (first_names, rest): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|name| peer.offers(first.style, name));
        let mut styles = Vec::new();
        if !first_names.is_empty() {
            styles.push((first, first_names));
        }
        if let Some(missing) = rest.iter().find(|name| !peer.offers(NODE, name)) {
            return Err(peer.unoffered(first, missing));
        }
        if let Some(style) = of_node.filter(|_| !rest.is_empty()) {
            styles.push((style, rest));
        }
        Ok(styles)
    }

    /// Returns the selected measurements, all of which a style must offer.
    fn names<'a>(&'a self, peer: &Peer<'_>, style: &'a ReportStyle) -> Result<Vec<&'a str>, SelectionError> {
        if self.measurements.is_empty() {
            return Ok(style.measurements.iter().map(|it| it.name.as_str()).collect());
        }
        let offered = |name: &'a String| {
            if peer.offers(style.style, name) { Ok(name.as_str()) } else { Err(peer.unoffered(style, name)) }
        };
        self.measurements.iter().map(offered).collect()
    }

    fn format(
        &self,
        peer: &Peer<'_>,
        style: &ReportStyle,
        names: &[&str],
        granularity_ms: u32,
    ) -> Result<ActionFormat, SelectionError> {
        let needed = match style.action_format {
            ONE_UE => Some("one UE").filter(|_| self.ues.len() != 1),
            UES => Some("two UEs or more").filter(|_| self.ues.len() < 2),
            _ => Some("no UE").filter(|_| !self.ues.is_empty()),
        };
        if let Some(needed) = needed {
            return Err(SelectionError::Ues { style: style.style, needed, given: self.ues.len() });
        }
        let lacking = || SelectionError::UeNumber { node: Box::new(*peer.node) };
        let name = |ue: &UeNumbers| ue.name_at(peer.node).ok_or_else(lacking);
        let cell = self.cell.map(Cgi::Nr);
        let by_condition = matches!(style.action_format, CONDITIONAL | MATCHING_UES);
        let label = || Label { no_label: self.slice.is_none(), slice: self.slice, ..Label::default() };
        let labels = || vec![if by_condition { Label::none() } else { label() }];
        let info = |name: &&str| MeasurementInfo { measurement: (*name).into(), labels: labels() };
        let measurements =
            || Measurements { infos: names.iter().map(info).collect(), granularity_ms, cell, bins: None };
        Ok(match style.action_format {
            ONE_UE => {
                let ue = self.ues.first().map(name).transpose()?.ok_or_else(lacking)?;
                ActionFormat::Ue(UeMeasurements { ue, measurements: measurements() })
            }
            UES => {
                let ues = self.ues.iter().map(name).collect::<Result<_, _>>()?;
                ActionFormat::Ues(UesMeasurements { ues, measurements: measurements() })
            }
            CONDITIONAL => {
                let condition = || MatchingCondition::Test(self.test(peer));
                let conditions = || vec![Matching { condition: condition(), or: false }];
                let measurement = |name: &&str| ConditionalMeasurement {
                    measurement: Measurement::from(*name),
                    conditions: conditions(),
                    bins: None,
                };
                let measurements = names.iter().map(measurement).collect();
                ActionFormat::Conditional(ConditionalMeasurements { measurements, granularity_ms, cell })
            }
            MATCHING_UES => {
                let conditions = vec![UeMatching { test: self.test(peer), or: None }];
                ActionFormat::MatchingUes(MatchingUeMeasurements { conditions, measurements: measurements() })
            }
            _ => ActionFormat::Node(measurements()),
        })
    }

    /// Returns the condition on UEs: the selected slice, otherwise any slice. From third-party nodes, the UEs of SST 1
    /// are requested instead of any slice, because agents of OpenAirInterface and FlexRIC abort on any other condition;
    /// OCUDU and srsRAN report all UEs in any case.
    fn test(&self, peer: &Peer<'_>) -> Test {
        match self.slice {
            Some(slice) => Test::slice(slice),
            None if peer.ours => Test::any_slice(),
            None => Test::slice(DEFAULT_SLICE),
        }
    }
}

/// Returns the report styles of a definition and their measurements, including the unlisted ones of a ranlab node.
pub(super) fn offers(definition: &Bytes) -> Result<Vec<Offer>, SmError> {
    let description = FunctionDescription::decode_as(Encoding::Per, definition)?;
    let ours = definition[..] == *Kpm::DEFINITION;
    let unlisted: &[_] = if ours { &UNLISTED_MEASUREMENTS } else { &[] };
    let offer = |style: ReportStyle| {
        let names = style.measurements.into_iter().map(|it| it.name);
        let names = names.chain(unlisted.iter().map(|name| (*name).to_owned()));
        Offer::new("report", style.style, &style.name, names)
    };
    Ok(description.reports.into_iter().flatten().map(offer).collect())
}

impl Test {
    /// Returns the condition that a UE has any slice.
    pub fn any_slice() -> Self {
        Self { of: TestType::Snssai(()), expression: Some(TestExpression::Present), value: None }
    }
}

/// Returns groups of measurements such that a report of many UEs fits into the PDU of a third-party node.
fn split<'a, 'b>(names: &'b [&'a str]) -> Vec<&'b [&'a str]> {
    let budget = PEER_REPORT_BYTES / PEER_UES - UE_BYTES;
    let mut groups = Vec::new();
    let mut start = 0;
    let mut bytes = 0;
    for (at, name) in names.iter().enumerate() {
        let more = name.len() + MEASUREMENT_BYTES;
        if at > start && bytes + more > budget {
            groups.push(&names[start..at]);
            start = at;
            bytes = 0;
        }
        bytes += more;
    }
    groups.push(&names[start..]);
    groups
}

#[cfg(test)]
mod tests;
