//! Tables of a repeat: states of UEs, and controls with their effects. docs/explanation/virtual-time.md describes the
//! columns.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::virtual_time::{Control, UeState};
use ranlab_campaign::export::{Column, Table};

use super::{KeptRecords, PERIOD, RepeatResult};

/// Number of a base station, and number of a UE.
type UeKey = (usize, u32);

/// Activity of a UE in a period.
#[derive(Debug, Clone, Copy)]
struct UePeriod {
    rnti: u16,
    slice: Option<u16>,
    mbps: f64,
    prbs: u64,
    backlog_bytes: u64,
}

/// States of the UEs at a time.
type State = (Duration, Vec<UeState>);

/// End of a period, and the activity of each UE in it.
type Period = (Duration, BTreeMap<UeKey, UePeriod>);

fn periods(kept: &KeptRecords) -> Vec<Period> {
    let pairs = kept.states.iter().zip(kept.states.iter().skip(1));
    let one = |((from, then), (until, now)): (&State, &State)| {
        let seconds = until.saturating_sub(*from).as_secs_f64().max(1e-9);
        let did = |it: &UeState| {
            // The counters of a UE that arrived in the meantime, or returned with another RNTI, start at 0.
            let same = |old: &&UeState| (old.station, old.ue, old.rnti) == (it.station, it.ue, it.rnti);
            let (bytes, prbs) = then.iter().find(same).map_or((0, 0), |old| (old.bytes, old.prbs));
            let did = UePeriod {
                rnti: it.rnti,
                slice: it.slice,
                mbps: it.bytes.saturating_sub(bytes) as f64 * 8e-6 / seconds,
                prbs: it.prbs.saturating_sub(prbs),
                backlog_bytes: it.backlog_bytes,
            };
            ((it.station, it.ue), did)
        };
        (*until, now.iter().map(did).collect())
    };
    pairs.map(one).collect()
}

/// Returns mean throughput, PRBs and backlog of a UE over some periods, or `None` values if the UE was absent.
fn means<'a>(periods: impl Iterator<Item = &'a Period>, who: UeKey) -> [Option<f64>; 3] {
    let there: Vec<&UePeriod> = periods.filter_map(|(_, ues)| ues.get(&who)).collect();
    let mean = |of: fn(&UePeriod) -> f64| {
        (!there.is_empty()).then(|| there.iter().map(|did| of(did)).sum::<f64>() / there.len() as f64)
    };
    [mean(|did| did.mbps), mean(|did| did.prbs as f64), mean(|did| did.backlog_bytes as f64)]
}

fn put_int(column: &mut Column, number: Option<impl TryInto<i64>>) {
    if let Column::Int(column) = column {
        column.push(number.map(|number| number.try_into().unwrap_or(i64::MAX)));
    }
}

fn put_float(column: &mut Column, number: Option<f64>) {
    if let Column::Float(column) = column {
        column.push(number);
    }
}

fn put_text(column: &mut Column, text: Option<&str>) {
    if let Column::Text(column) = column {
        column.push(text.map(str::to_owned));
    }
}

const INT: Column = Column::Int(Vec::new());
const FLOAT: Column = Column::Float(Vec::new());
const TEXT: Column = Column::Text(Vec::new());

/// Columns of the states. Seeds are texts, because seeds have 64 bits and table numbers have fewer.
const STATES: [(&str, Column); 11] = [
    ("point", INT),
    ("seed", TEXT),
    ("world", TEXT),
    ("at_s", FLOAT),
    ("station", INT),
    ("ue", INT),
    ("rnti", INT),
    ("slice", INT),
    ("mbps", FLOAT),
    ("prbs", INT),
    ("backlog_bytes", INT),
];
const CONTROLS: [(&str, Column); 20] = [
    ("point", INT),
    ("seed", TEXT),
    ("control", INT),
    ("at_s", FLOAT),
    ("by", TEXT),
    ("method", TEXT),
    ("path", TEXT),
    ("body", TEXT),
    ("refused", TEXT),
    ("station", INT),
    ("ue", INT),
    ("mbps_before", FLOAT),
    ("mbps_after", FLOAT),
    ("mbps_without", FLOAT),
    ("prbs_before", FLOAT),
    ("prbs_after", FLOAT),
    ("prbs_without", FLOAT),
    ("backlog_bytes_before", FLOAT),
    ("backlog_bytes_after", FLOAT),
    ("backlog_bytes_without", FLOAT),
];

fn table(columns: &[(&str, Column)]) -> Table {
    Table { columns: columns.iter().map(|(name, of)| ((*name).to_owned(), of.clone())).collect() }
}

/// Point and seed of a repeat.
type RepeatKey<'a> = (usize, &'a str);

/// Rows of both tables.
#[derive(Debug)]
pub struct Tables {
    span: usize,
    states: Table,
    controls: Table,
}

impl Tables {
    /// Returns empty tables. Effects are means over `span` periods.
    pub fn new(span: usize) -> Self {
        Self { span, states: table(&STATES), controls: table(&CONTROLS) }
    }

    /// Adds a recorded repeat, and the paired run in which a component is omitted, if there is one.
    pub fn take(&mut self, point: usize, seed: u64, with: &RepeatResult, without: Option<&RepeatResult>) {
        let own = periods(&with.kept);
        let other = without.map(|without| periods(&without.kept));
        let which = (point, &*seed.to_string());
        self.put_states(which, "with", &own);
        if let Some(other) = &other {
            self.put_states(which, "without", other);
        }
        for (number, control) in with.kept.controls.iter().enumerate() {
            self.put_control(which, number, control, &own, other.as_deref().unwrap_or_default());
        }
    }

    fn put_states(&mut self, (point, seed): RepeatKey<'_>, world: &str, periods: &[Period]) {
        for (at, ((station, ue), did)) in
            periods.iter().flat_map(|(at, ues)| ues.iter().map(move |ue| (at, ue)))
        {
            let mut columns = self.states.columns.iter_mut().map(|(_, column)| column);
            // Values are added in the order of the columns, all of which exist.
            let mut next = |put: &mut dyn FnMut(&mut Column)| columns.next().map_or((), put);
            next(&mut |c| put_int(c, Some(point)));
            next(&mut |c| put_text(c, Some(seed)));
            next(&mut |c| put_text(c, Some(world)));
            next(&mut |c| put_float(c, Some(at.as_secs_f64())));
            next(&mut |c| put_int(c, Some(*station)));
            next(&mut |c| put_int(c, Some(*ue)));
            next(&mut |c| put_int(c, Some(did.rnti)));
            next(&mut |c| put_int(c, did.slice));
            next(&mut |c| put_float(c, Some(did.mbps)));
            next(&mut |c| put_int(c, Some(did.prbs)));
            next(&mut |c| put_int(c, Some(did.backlog_bytes)));
        }
    }

    fn put_control(
        &mut self,
        (point, seed): RepeatKey<'_>,
        number: usize,
        (at, control): &(Duration, Control),
        own: &[Period],
        other: &[Period],
    ) {
        let is_after = |(end, _): &&Period| end.saturating_sub(PERIOD) >= *at;
        let ues: BTreeSet<UeKey> = own.iter().flat_map(|(_, ues)| ues.keys().copied()).collect();
        for who in ues {
            let before = means(own.iter().rev().filter(|(end, _)| end <= at).take(self.span), who);
            let after = means(own.iter().filter(is_after).take(self.span), who);
            let without = means(other.iter().filter(is_after).take(self.span), who);
            let mut columns = self.controls.columns.iter_mut().map(|(_, column)| column);
            let mut next = |put: &mut dyn FnMut(&mut Column)| columns.next().map_or((), put);
            next(&mut |c| put_int(c, Some(point)));
            next(&mut |c| put_text(c, Some(seed)));
            next(&mut |c| put_int(c, Some(number)));
            next(&mut |c| put_float(c, Some(at.as_secs_f64())));
            for text in [&*control.by, control.method, &control.path, &control.body] {
                next(&mut |c| put_text(c, Some(text)));
            }
            next(&mut |c| put_text(c, control.refused.as_deref()));
            next(&mut |c| put_int(c, Some(who.0)));
            next(&mut |c| put_int(c, Some(who.1)));
            for kpi in 0..before.len() {
                for mean in [before[kpi], after[kpi], without[kpi]] {
                    next(&mut |c| put_float(c, mean));
                }
            }
        }
    }

    /// Returns both tables, each with its name.
    pub fn named(&self) -> [(&'static str, &Table); 2] {
        [("states", &self.states), ("controls", &self.controls)]
    }
}
