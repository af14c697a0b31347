//! Effect of a control as text and JSON: totals, by slice, by UE.
use std::collections::BTreeMap;

use ranlab_sdk::e2::effect::{Change, Halves};
use serde::Serialize;

/// Maximum number of UEs per KPI in text output. The ndjson format has all UEs.
const UES_SHOWN: usize = 32;

/// Value before and after the control.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct BeforeAfter {
    before: Option<f64>,
    after: Option<f64>,
}

impl From<Halves> for BeforeAfter {
    fn from(Halves { before, after }: Halves) -> Self {
        Self { before, after }
    }
}

/// KPI before and after the control, in the form of the REST API.
#[derive(Debug, Serialize)]
pub(super) struct Kpi {
    unit: String,
    total: &'static str,
    #[serde(flatten)]
    all: BeforeAfter,
    slices: BTreeMap<String, BeforeAfter>,
    ues: BTreeMap<String, BeforeAfter>,
    left_out: u64,
}

/// KPIs of an effect, by name.
pub(super) type Effect = BTreeMap<String, Kpi>;

/// Converts an effect to the printed form.
pub(super) fn effect(changes: Vec<Change>) -> Effect {
    let groups =
        |groups: Vec<(String, Halves)>| groups.into_iter().map(|(name, it)| (name, it.into())).collect();
    let kpi = |change: Change| {
        let kpi = Kpi {
            unit: change.unit,
            total: change.summary.name(),
            all: change.total.into(),
            slices: groups(change.slices),
            ues: groups(change.ues),
            left_out: change.left_out,
        };
        (change.name, kpi)
    };
    changes.into_iter().map(kpi).collect()
}

/// Returns text lines: a table per KPI.
pub(super) fn lines(effect: &Effect) -> Vec<String> {
    effect.iter().flat_map(|(name, kpi)| of_kpi(name, kpi)).collect()
}

fn of_kpi(name: &str, kpi: &Kpi) -> Vec<String> {
    let unit = if kpi.unit.is_empty() { String::new() } else { format!(" [{}]", kpi.unit) };
    let total = format!("all ({})", kpi.total);
    let slices = kpi.slices.iter().map(|(slice, it)| (format!("slice {slice}"), *it));
    let ues = kpi.ues.iter().take(UES_SHOWN).map(|(ue, it)| (format!("ue {ue}"), *it));
    let rows: Vec<(String, BeforeAfter)> =
        std::iter::once((total, kpi.all)).chain(slices).chain(ues).collect();
    let width = rows.iter().map(|row| row.0.len()).max().unwrap_or(0);
    let mut lines = vec![format!("  {name}{unit}")];
    for (group, it) in rows {
        let number = |value: Option<f64>| value.map_or_else(|| "?".to_owned(), |value| format!("{value:.1}"));
        let [before, after] = [it.before, it.after].map(number);
        let percent = percent(it).map_or_else(String::new, |percent| format!("  {percent:+.1} %"));
        lines.push(format!("    {group:<width$}  {before:>10} before  {after:>10} after{percent}"));
    }
    let more = kpi.ues.len().saturating_sub(UES_SHOWN) as u64 + kpi.left_out;
    if more > 0 {
        lines.push(format!("    {more} more UEs: --format ndjson"));
    }
    lines
}

/// Returns the relative change in percent.
fn percent(it: BeforeAfter) -> Option<f64> {
    let (before, after) = it.before.zip(it.after)?;
    (before != 0.0).then(|| (after - before) / before * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_sdk::wire::e2sm::kpm::Summary;

    #[test]
    fn effect_text_has_totals_slices_ues_and_units() {
        let halves = |before, after| Halves { before: Some(before), after: Some(after) };
        let change = Change {
            name: "RRU.PrbTotDl".to_owned(),
            unit: "%".to_owned(),
            summary: Summary::Sum,
            total: halves(100.0, 100.0),
            slices: vec![("1".to_owned(), halves(50.0, 70.0))],
            ues: vec![("f1ap=1".to_owned(), Halves { before: Some(50.0), after: None })],
            left_out: 2,
        };
        let expected = [
            "  RRU.PrbTotDl [%]",
            "    all (sum)       100.0 before       100.0 after  +0.0 %",
            "    slice 1          50.0 before        70.0 after  +40.0 %",
            "    ue f1ap=1        50.0 before           ? after",
            "    2 more UEs: --format ndjson",
        ];
        assert_eq!(lines(&effect(vec![change])), expected);
    }
}
