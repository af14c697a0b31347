//! Captures of eCPRI and of the O-RAN fronthaul as flows: one for each eAxC (PC_ID), direction and plane.

use std::collections::BTreeMap;
use std::path::Path;

use ranlab_packet::pcap::{Event, Packet, read};
use ranlab_xhaul::cus::UserPlane;
use ranlab_xhaul::ecpri::{ETHERTYPE, Message};
use ranlab_xhaul::{Demand, NS, Pattern, Ps, US, WIRE_GAP_BYTES};

use super::OwnError;
use super::build::{Builder, value};
use super::file::{self, CaptureRow, File};
use crate::rig::budget::budget;

/// Symbols of 256 frames at 15 kHz, after which the numbers of the header repeat.
const SYMBOLS: u64 = 256 * 10 * 14;
/// Maximum flows of a capture.
const FLOWS_MAX: usize = 1024;
/// Smallest frame without check sequence.
const FRAME_BYTES_MIN: u32 = 60;

/// A series of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Series {
    id: u16,
    down: bool,
    control: bool,
}

/// What a capture has of a series.
#[derive(Debug, Default)]
struct SeriesRecord {
    frames: Vec<(Ps, u32)>,
    /// Earliest and latest time of a frame against the symbol that its header names.
    against_symbol: Option<(i64, i64)>,
    /// Messages whose sequence number does not follow that of the message before.
    gaps: u64,
    last: Option<u8>,
    mantissa_bits: Option<u8>,
}

/// Adds the flows of all captures.
pub(super) fn add(builder: &mut Builder<'_>, file: &File) -> Result<(), OwnError> {
    for row in &file.captures {
        let of = format!("capture \"{}\"", row.name);
        let path = file::beside(builder.path, &row.file);
        let found = series(&path, row, &of)?;
        let budget_ps = row.budget.as_ref().map(|text| budget("budget", text)).transpose();
        let budget_ps = budget_ps.map_err(|why| value(&of, why))?;
        for (series, record) in found {
            let name = series.name(&row.name);
            builder.warnings.push(format!("{name}: {}", record.words()));
            let (from, to) = if series.down { (&row.du, &row.ru) } else { (&row.ru, &row.du) };
            builder.topology.demands.push(Demand {
                name,
                from: from.clone(),
                to: to.clone(),
                class: row.class.unwrap_or(7),
                pattern: Pattern::Trace(record.frames),
                offset_ps: 0,
                regulator: None,
                budget_ps,
                window: None,
                paths: 1,
                route: Vec::new(),
            });
        }
    }
    Ok(())
}

fn series(path: &Path, row: &CaptureRow, of: &str) -> Result<BTreeMap<Series, SeriesRecord>, OwnError> {
    let failed =
        |error: std::io::Error| OwnError::Read { file: path.display().to_string(), why: error.to_string() };
    let slots_per_ms = u64::from(row.spacing_khz.unwrap_or(30) / 15).max(1);
    let source = std::fs::File::open(path).map_err(failed)?;
    let mut all: BTreeMap<Series, SeriesRecord> = BTreeMap::new();
    let mut first = None;
    read(source, |event| {
        let Event::Packet(packet) = event else { return };
        let Some(time_us) = packet.time_us else { return };
        let at_us = time_us.saturating_sub(*first.get_or_insert(time_us));
        let Some((series, sequence, header)) = message(&packet) else { return };
        if all.len() >= FLOWS_MAX && !all.contains_key(&series) {
            return;
        }
        let bytes = u32::try_from(packet.data.len()).unwrap_or(u32::MAX).max(FRAME_BYTES_MIN);
        // A capture has no check sequence.
        let wire = bytes.saturating_add(4 + WIRE_GAP_BYTES);
        all.entry(series).or_default().add(at_us, wire, sequence, header, slots_per_ms);
    })
    .map_err(failed)?;
    if all.is_empty() {
        return Err(value(
            of,
            format!("{} has no eCPRI message of type 0 or 2 in Ethernet frames with a time", path.display()),
        ));
    }
    for record in all.values_mut() {
        record.frames.sort_by_key(|(time, _)| *time);
    }
    Ok(all)
}

/// The series of a packet, its sequence number, and the header of the user plane if it has one.
fn message(packet: &Packet<'_>) -> Option<(Series, u8, Option<UserPlane>)> {
    let mut rest = packet.data.get(12..)?;
    // VLAN tags: 802.1Q and 802.1ad.
    while matches!(rest.get(..2)?, [0x81, 0x00] | [0x88, 0xA8]) {
        rest = rest.get(4..)?;
    }
    if rest.get(..2)? != ETHERTYPE.to_be_bytes() {
        return None;
    }
    let (stream, control) = match Message::decode(rest.get(2..)?).ok()?.0 {
        Message::IqData(stream) => (stream, false),
        Message::RealTimeControl(stream) => (stream, true),
        _ => return None,
    };
    // The direction of the data is the first bit in both planes; control goes down in any case.
    let header = if control { None } else { UserPlane::decode(stream.data).ok().map(|(header, _)| header) };
    let down = control || header.is_some_and(|header| header.down);
    Some((Series { id: stream.id, down, control }, (stream.sequence >> 8) as u8, header))
}

impl Series {
    fn name(self, of: &str) -> String {
        let plane = if self.control { "C" } else { "U" };
        let way = if self.down { "DL" } else { "UL" };
        format!("{of} {:#06x} {plane} {way}", self.id)
    }
}

impl SeriesRecord {
    fn add(&mut self, at_us: u64, wire: u32, sequence: u8, header: Option<UserPlane>, slots_per_ms: u64) {
        self.frames.push((at_us * 1000 * NS, wire));
        if self.last.is_some_and(|last| last.wrapping_add(1) != sequence) {
            self.gaps += 1;
        }
        self.last = Some(sequence);
        let Some(header) = header else { return };
        self.mantissa_bits = Some(header.mantissa_bits);
        // Both clocks start at the first message of the series; differences stay within half of their period.
        let period_us = (SYMBOLS * 1000 / 14) as i64;
        let due_us = (header.symbol_number(slots_per_ms) * 1000 / (14 * slots_per_ms)) as i64;
        let apart = (at_us as i64 - due_us).rem_euclid(period_us);
        let (least, most) = self.against_symbol.unwrap_or((apart, apart));
        let near = if apart - least > period_us / 2 { apart - period_us } else { apart };
        let near = if least - near > period_us / 2 { near + period_us } else { near };
        self.against_symbol = Some((least.min(near), most.max(near)));
    }

    /// What the capture shows: frames, sizes, rate, sequence, and the window that the arrivals need.
    fn words(&self) -> String {
        let sizes = || self.frames.iter().map(|(_, wire)| wire - WIRE_GAP_BYTES);
        let least = sizes().min().unwrap_or(0);
        let most = sizes().max().unwrap_or(0);
        let bytes: u64 = self.frames.iter().map(|(_, wire)| u64::from(*wire)).sum();
        let span_us = self.frames.last().map_or(0, |(time, _)| time / US).max(1);
        let mut words = format!(
            "{} frames of {least} to {most} bytes in the capture, {:.1} Mbit/s on the wire",
            self.frames.len(),
            bytes as f64 * 8.0 / span_us as f64
        );
        if let Some(bits) = self.mantissa_bits {
            words += &format!(", mantissa {bits} bits");
        }
        if let Some((least, most)) = self.against_symbol {
            words += &format!(", arrivals within {} us of their symbols", most - least);
        }
        if self.gaps > 0 {
            words += &format!(", {} gaps in the sequence numbers", self.gaps);
        }
        words
    }
}
