//! Captures of eCPRI and of the O-RAN fronthaul as flows. There is one flow per eAxC (PC_ID), plane and direction of the data.

mod read;
mod timing;

use ranlab_xhaul::{DelayWindow, Demand, Pattern, WIRE_GAP_BYTES};

use super::OwnError;
use super::build::{Builder, value};
use super::file::{self, CaptureRow, File, Time};
use crate::rig::budget::budget;
use read::{Capture, Series, SeriesRecord};
use timing::{Reference, Spread};

/// Class of frames without a priority tag.
const UNTAGGED_CLASS: u8 = 7;

/// Adds the flows of all captures.
pub(super) fn add(builder: &mut Builder<'_>, file: &File) -> Result<(), OwnError> {
    for row in &file.captures {
        let of = format!("capture \"{}\"", row.name);
        let capture = read::read(&file::beside(builder.path, &row.file), row, &of)?;
        let reference = Reference::find(capture.series.values().flat_map(|record| &record.marks));
        builder.warnings.extend(capture.words(&row.name, reference));
        let budget_ps = row.budget.as_ref().map(|text| budget("budget", text)).transpose();
        let budget_ps = budget_ps.map_err(|why| value(&of, why))?;
        let spreads: Vec<(Series, Option<Spread>)> = capture
            .series
            .iter()
            .map(|(series, record)| (*series, Spread::over(&record.marks, reference)))
            .collect();
        for ((series, record), (_, spread)) in capture.series.iter().zip(&spreads) {
            let name = series.name(&row.name);
            let lead = lead(*series, &spreads);
            builder.warnings.push(format!("{name}: {}", words(*series, record, reference, lead)));
            let window = window(*series, row, reference, *spread).map_err(|why| value(&of, why))?;
            let late_ps = window.map(|window| u64::try_from(window.to_ps).unwrap_or(0));
            let (from, to) = if series.goes_down() { (&row.du, &row.ru) } else { (&row.ru, &row.du) };
            builder.topology.demands.push(Demand {
                name,
                from: from.clone(),
                to: to.clone(),
                class: row.class.or(record.priority).unwrap_or(UNTAGGED_CLASS),
                pattern: Pattern::Trace(record.frames.clone()),
                offset_ps: 0,
                regulator: None,
                budget_ps: late_ps.or(budget_ps),
                window,
                paths: 1,
                route: Vec::new(),
            });
        }
    }
    Ok(())
}

/// Returns the receive window of a series as a range of delays, if the file defines a window. The range applies to all frames, regardless
/// of their send times.
fn window(
    series: Series,
    row: &CaptureRow,
    reference: Reference,
    spread: Option<Spread>,
) -> Result<Option<DelayWindow>, String> {
    let (key, ends) = match (series.control, series.down) {
        (false, true) => ("t2a_up", row.t2a_up),
        (false, false) => ("ta4_up", row.ta4_up),
        (true, true) => ("t2a_cp_dl", row.t2a_cp_dl),
        (true, false) => ("t2a_cp_ul", row.t2a_cp_ul),
    };
    let (Some([least, most]), Some(spread)) = (ends, spread) else { return Ok(None) };
    if least.0 > most.0 {
        return Err(format!("the first time of `{key}` must be the earlier one"));
    }
    if !reference.is_aligned() {
        return Err(format!(
            "`{key}` needs a capture whose clock follows the radio frames (UTC or TAI); the clock of this capture does not"
        ));
    }
    let signed = |time: Time| i64::try_from(time.0).unwrap_or(i64::MAX);
    // Times relative to the symbol, in ps. For downlink frames they are negative.
    let first = spread.least_ns.saturating_mul(1000);
    let last = spread.most_ns.saturating_mul(1000);
    Ok(Some(match series.goes_down() {
        true => DelayWindow {
            from_ps: first.saturating_neg().saturating_sub(signed(most)),
            to_ps: last.saturating_neg().saturating_sub(signed(least)),
        },
        false => DelayWindow {
            from_ps: signed(least).saturating_sub(first),
            to_ps: signed(most).saturating_sub(last),
        },
    }))
}

/// Returns the minimum and the maximum time by which control messages precede the data of the same symbol, in ns. `series` is the data of
/// an eAxC in one direction; `None` for all other series.
fn lead(series: Series, all: &[(Series, Option<Spread>)]) -> Option<(i64, i64)> {
    let of =
        |series_key: Series| all.iter().find(|(own, _)| *own == series_key).and_then(|(_, spread)| *spread);
    if series.control {
        return None;
    }
    let data = of(series)?;
    let control = of(Series { control: true, ..series })?;
    Some((data.least_ns - control.most_ns, data.most_ns - control.least_ns))
}

/// Describes a series: frames, sizes, rate, sequence numbers, and the receive window that its arrivals need.
fn words(series: Series, record: &SeriesRecord, reference: Reference, lead: Option<(i64, i64)>) -> String {
    let sizes = || record.frames.iter().map(|(_, wire)| wire - WIRE_GAP_BYTES);
    let least = sizes().min().unwrap_or(0);
    let most = sizes().max().unwrap_or(0);
    let mut words = format!("{} frames of {least} to {most} bytes in the capture", record.frames.len());
    if let Some(mbps) = record.mbps() {
        words += &format!(", {mbps:.1} Mbit/s on the wire");
    }
    if let Some(class) = record.priority {
        words += &format!(", priority {class}");
    }
    if let Some(format) = record.format {
        let how = if format.stated { "" } else { ", static" };
        words += &match (format.bits, format.parameter) {
            (16, false) => format!(", samples of 16 bits{how}"),
            (bits, _) => format!(", mantissa {bits} bits{how}"),
        };
    }
    if let Some(spread) = Spread::over(&record.marks, reference) {
        words += &match (reference.is_aligned(), series.goes_down()) {
            (true, true) => format!(", {} before their symbols", us(-spread.most_ns, -spread.least_ns)),
            (true, false) => {
                format!(", {} after the start of their symbols", us(spread.least_ns, spread.most_ns))
            }
            (false, _) => format!(
                ", arrivals within {:.1} us of their symbols",
                (spread.most_ns - spread.least_ns) as f64 / 1e3
            ),
        };
    }
    if let Some((least, most)) = lead {
        words += &format!(", control messages {} ahead", us(least, most));
    }
    if record.filtered > 0 {
        words +=
            &format!(", {} messages with a filter other than the standard channel (PRACH)", record.filtered);
    }
    if record.gaps > 0 {
        words += &format!(", {} gaps in the sequence numbers", record.gaps);
    }
    words
}

fn us(least_ns: i64, most_ns: i64) -> String {
    format!("{:.1} to {:.1} us", least_ns as f64 / 1e3, most_ns as f64 / 1e3)
}

impl Capture {
    /// Describes the time reference of the capture and the frames that belong to no flow.
    fn words(&self, name: &str, reference: Reference) -> Vec<String> {
        let mut all = Vec::new();
        if let Some(clock) = reference.clock() {
            all.push(format!("{name}: the capture's clock follows the radio frames ({clock})"));
        }
        for (skipped, count) in &self.skipped {
            all.push(format!("{name}: not part of a flow: {count} {skipped}"));
        }
        if self.cut > 0 {
            all.push(format!(
                "{name}: {} frames are cut off in the file; their original sizes are used",
                self.cut
            ));
        }
        all
    }
}
