//! Cells, flows and streams of a network file.

use std::path::Path;

use ranlab_packet::pcap::{Event, Fault, LinkType};
use ranlab_xhaul::{
    DelayWindow, Demand, Direction, INTER_FRAME_GAP_BYTES, Load, NS, Pattern, Ps, S, Split, TAG_BYTES, Tdd,
    TokenBucket, WIRE_GAP_BYTES, control_pattern,
};

use super::build::{Builder, value};
use super::file::{self, CellRow, Copies, File, FlowRow, Time, unknown};
use super::{OwnError, tables};
use crate::rig::budget::{Limits, Profile, Window, budget};
use crate::rig::pcap::Framing;
use crate::rig::settings::{self, CARRIERS, SPLITS};
use crate::rig::setup::{self, User};

const PATTERNS: [&str; 5] = ["periodic", "poisson", "iperf", "tdd", "trace"];
/// Scenario key with the number of cells, for files that do not define the number.
pub(super) const COPIES: &str = "cells.count";
/// Maximum number of cells of a row.
const COPIES_MAX: u64 = 500;
const PACINGS: [&str; 2] = ["burst", "spread"];

/// Adds the cells. Each cell has a downlink and an uplink flow.
pub(super) fn cells(builder: &mut Builder<'_>, file: &File) -> Result<(), OwnError> {
    let scenario = builder.setup.cells.count;
    let of_scenario = |row: &CellRow| matches!(row.copies, Some(Copies::Of(_)));
    if scenario > 1 && !file.cells.iter().any(of_scenario) {
        return Err(OwnError::Replaced { key: COPIES.to_owned() });
    }
    let mut rows = Vec::new();
    for row in &file.cells {
        rows.extend(copies(row, scenario)?);
    }
    let mut controls = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let of = format!("cell \"{}\"", row.name);
        let du = row.du.clone().unwrap_or_else(|| row.name.clone());
        if let Some(at) = &row.at {
            if !builder.has(at) {
                return Err(value(&of, format!("`at` names the node \"{at}\", which does not exist")));
            }
            builder.end(&du);
            builder.fibre(&du, at, row.link_mbps, row.metres)?;
        } else if row.metres.is_some() || row.link_mbps.is_some() {
            return Err(value(
                &of,
                "`metres` and `link_mbps` describe the fibre to the node `at`, but `at` is missing"
                    .to_owned(),
            ));
        }
        for node in [&du, &row.cu] {
            if !builder.has(node) {
                return Err(value(
                    &of,
                    format!("there is no node \"{node}\"; a DU without `at` must be an end of a link"),
                ));
            }
        }
        // Captures store the number of the cell in eight bits.
        controls.extend(cell(builder, row, (number % 256) as u16, &of, &du)?);
    }
    for (demand, framing) in controls {
        builder.topology.demands.push(demand);
        builder.framings.push(framing);
    }
    Ok(())
}

/// Returns the cells of a row. Each cell has a separate fibre, and its number is appended to the name.
fn copies(row: &CellRow, scenario: u64) -> Result<Vec<CellRow>, OwnError> {
    let of = || format!("cell \"{}\"", row.name);
    let count = match &row.copies {
        None => return Ok(vec![row.clone()]),
        Some(Copies::Number(count)) => *count,
        Some(Copies::Of(key)) if key == COPIES => scenario,
        Some(Copies::Of(key)) => {
            return Err(value(of(), format!("`copies` must be a number or \"{COPIES}\", not \"{key}\"")));
        }
    };
    if !(1..=COPIES_MAX).contains(&count) {
        return Err(value(of(), format!("`copies` must be 1 to {COPIES_MAX}, not {count}")));
    }
    if row.du.is_some() {
        return Err(value(
            of(),
            "`copies` needs `at` instead of `du`, because each copy has a separate DU".to_owned(),
        ));
    }
    Ok((1..=count).map(|number| CellRow { name: format!("{}{number}", row.name), ..row.clone() }).collect())
}

/// Adds the flows of a cell. Returns the flows of its control messages.
fn cell(
    builder: &mut Builder<'_>,
    row: &CellRow,
    number: u16,
    of: &str,
    du: &str,
) -> Result<Vec<(Demand, Framing)>, OwnError> {
    let cells = setup_of(row, of)?;
    let framing = |way: Direction, split: Split| Framing {
        split: Some(split),
        control: None,
        down: way == Direction::Down,
        carrier: cells.carrier,
        tdd: cells.tdd.clone(),
        cell: number,
        vlan: cells.vlan,
        class: cells.class,
    };
    let offset_ps = row.offset.map_or(0, |time| time.0) + cells.control_ahead_ps.unwrap_or(0);
    let mut controls = Vec::new();
    let ways = [(Direction::Down, cells.down, &*row.cu, du), (Direction::Up, cells.up, du, &*row.cu)];
    for (way, split, from, to) in ways {
        let mtu = builder.setup.net.mtu;
        let load = match &cells.tdd {
            Some(tdd) => split.load_in(&cells.carrier, mtu, tdd, way),
            None => split.load(&cells.carrier, mtu),
        };
        let load = load.map_err(|error| value(of, error.to_string()))?;
        let load = if cells.vlan.is_some() { load.tagged() } else { load };
        let letters = if way == Direction::Down { "DL" } else { "UL" };
        let name = format!("{} {letters}", row.name);
        if let Some(over) = load.fragmented_by {
            builder.warnings.push(format!(
                "{name}: packets are {over} bytes longer than the MTU of {mtu} and are fragmented"
            ));
        }
        let mut pattern = load.pattern.clone();
        if cells.spread {
            crate::rig::build::spread(&mut pattern);
        }
        let (budget_ps, window) = limits(&cells, &load, way, split);
        builder.profiles.extend(cells.limits.profile.map(|profile| (name.clone(), profile)));
        builder.topology.demands.push(Demand {
            name,
            from: from.to_owned(),
            to: to.to_owned(),
            class: cells.class,
            pattern,
            offset_ps,
            regulator: None,
            budget_ps: Some(budget_ps),
            window,
            paths: row.paths.unwrap_or(1),
            route: Vec::new(),
        });
        builder.loads.push(load);
        builder.framings.push(framing(way, split));
        if cells.control_ahead_ps.is_some() {
            let name = format!("{} C {letters}", row.name);
            let framing = Framing { control: Some(way), down: true, ..framing(way, split) };
            controls.push((control(name, row, &cells, way, du), framing));
        }
    }
    Ok(controls)
}

/// Returns the budget and the receive window of a cell's flow.
fn limits(cells: &setup::Cells, load: &Load, way: Direction, split: Split) -> (Ps, Option<DelayWindow>) {
    let window = match way {
        Direction::Down => cells.limits.down,
        Direction::Up => cells.limits.up,
    };
    let window = window.delays(way).filter(|_| matches!(split, Split::SevenTwo { .. }));
    let own = cells.limits.budget_ps.unwrap_or(load.budget_ps);
    (window.map_or(own, |window| u64::try_from(window.to_ps).unwrap_or(0)), window)
}

/// Returns the control messages of a cell's data in one direction.
fn control(name: String, row: &CellRow, cells: &setup::Cells, way: Direction, du: &str) -> Demand {
    let mut pattern = control_pattern(&cells.carrier, cells.tdd.as_ref(), way);
    if cells.vlan.is_some() {
        pattern.lengthen(TAG_BYTES);
    }
    Demand {
        name,
        from: row.cu.clone(),
        to: du.to_owned(),
        class: cells.class,
        pattern,
        offset_ps: row.offset.map_or(0, |time| time.0),
        regulator: None,
        budget_ps: None,
        window: None,
        paths: row.paths.unwrap_or(1),
        route: Vec::new(),
    }
}

/// Converts a cell to the settings of a scenario's section `cells`.
fn setup_of(row: &CellRow, of: &str) -> Result<setup::Cells, OwnError> {
    let default = settings::Cells::default();
    let choice = |key: &str, given: Option<&String>, otherwise: String, known: &[&str]| match given {
        Some(name) if known.contains(&name.as_str()) => Ok(name.clone()),
        Some(name) => Err(value(of, format!("`{key}`: {}", unknown("value", name, known.iter().copied())))),
        None => Ok(otherwise),
    };
    let cells = settings::Cells {
        split: choice("split", Some(&row.split), String::new(), &SPLITS)?,
        carrier: choice("carrier", row.carrier.as_ref(), default.carrier.clone(), &CARRIERS)?,
        pacing: choice("pacing", row.pacing.as_ref(), default.pacing.clone(), &PACINGS)?,
        layers: row.layers,
        tdd: row.tdd.clone(),
        tdd_special: row.tdd_special.clone().unwrap_or_else(|| default.tdd_special.clone()),
        class: row.class.unwrap_or(default.class),
        mantissa_bits: row.mantissa_bits.unwrap_or(default.mantissa_bits),
        mbps: row.mbps,
        mbps_up: row.mbps_up,
        vlan: row.vlan,
        tcp_adv_dl: row.tcp_adv_dl.map(|time| std::time::Duration::from_nanos(time.0 / NS)),
        ..default
    };
    let named = |key: &str, text: &String| budget(key, text).map_err(|why| value(of, why));
    let window = |sent: Option<Time>, received: Option<[Time; 2]>| -> Result<Window, OwnError> {
        if let Some([least, most]) = received
            && least.0 > most.0
        {
            return Err(value(of, "the first time of a window must be the earlier one".to_owned()));
        }
        let received_ps = received.map(|[least, most]| (least.0, most.0));
        Ok(Window { sent_ps: sent.map(|time| time.0), received_ps })
    };
    let limits = Limits {
        budget_ps: row.budget.as_ref().map(|text| named("budget", text)).transpose()?,
        profile: row.budget.as_deref().and_then(Profile::named),
        down: window(row.t1a_up, row.t2a_up)?,
        up: window(row.ta3_up, row.ta4_up)?,
    };
    if (limits.down != Window::default() || limits.up != Window::default()) && row.split != "7.2x" {
        return Err(value(
            of,
            format!(
                "`t1a_up`, `t2a_up`, `ta3_up` and `ta4_up` apply to split \"7.2x\", not to \"{}\"",
                row.split
            ),
        ));
    }
    setup::cells(&cells, &limits, &User::None).map_err(|why| value(of, why))
}

/// Adds the flows.
pub(super) fn flows(builder: &mut Builder<'_>, file: &File) -> Result<(), OwnError> {
    for row in &file.flows {
        let of = format!("flow \"{}\"", row.name);
        let pattern = pattern(builder.path, row, &of)?;
        let budget_ps = row.budget.as_ref().map(|text| budget("budget", text)).transpose();
        let profile = row.budget.as_deref().and_then(Profile::named);
        builder.profiles.extend(profile.map(|profile| (row.name.clone(), profile)));
        let regulator = match (row.burst_bytes, row.shaped_mbps) {
            (None, None) => None,
            (Some(burst_bytes), Some(mbps)) if mbps > 0.0 => {
                Some(TokenBucket { burst_bytes, rate_bps: (mbps * 1e6).round() as u64 })
            }
            _ => {
                return Err(value(
                    of,
                    "`burst_bytes` and `shaped_mbps` must be given together, and `shaped_mbps` must be above 0".to_owned(),
                ));
            }
        };
        let paths = row.paths.unwrap_or(1);
        let route = row.route.clone().unwrap_or_default();
        if paths > 1 && !route.is_empty() {
            return Err(value(
                of,
                "`route` sets one path, and `paths` above 1 asks for several: only one of the two is allowed"
                    .to_owned(),
            ));
        }
        builder.topology.demands.push(Demand {
            name: row.name.clone(),
            from: row.from.clone(),
            to: row.to.clone(),
            class: row.class.unwrap_or(0),
            pattern,
            offset_ps: row.offset.map_or(0, |time| time.0),
            regulator,
            budget_ps: budget_ps.map_err(|why| value(&of, why))?,
            window: None,
            paths,
            route,
        });
    }
    Ok(())
}

fn pattern(file: &Path, row: &FlowRow, of: &str) -> Result<Pattern, OwnError> {
    let implied = if row.trace.is_some() { "trace" } else { "periodic" };
    let name = row.pattern.as_deref().unwrap_or(implied);
    if name == "trace" {
        let trace = row
            .trace
            .as_ref()
            .ok_or_else(|| value(of, "pattern \"trace\" needs `trace`, the name of its file".to_owned()))?;
        return trace_of(&file::beside(file, trace), of);
    }
    if row.trace.is_some() {
        return Err(value(of, format!("`trace` belongs to pattern \"trace\", not to \"{name}\"")));
    }
    let bytes = row.bytes.ok_or_else(|| {
        value(
            of,
            "`bytes` is missing: the size of the flow's frames, including the check sequence".to_owned(),
        )
    })?;
    let frame = bytes.saturating_add(WIRE_GAP_BYTES);
    let gap_ps = || match (row.mbps, row.period) {
        (Some(mbps), None) if mbps > 0.0 => Ok((f64::from(bytes) * 8.0 * 1e6 / mbps).round().max(1.0) as Ps),
        (None, Some(period)) => Ok(period.0),
        _ => Err(value(
            of,
            "a flow must have either `period` or `mbps` (the rate of its MAC frames, above 0)".to_owned(),
        )),
    };
    match name {
        "periodic" => {
            let count = row.count.unwrap_or(1);
            let gap_ps = gap_ps()?;
            let period_ps = if row.mbps.is_some() { gap_ps.saturating_mul(count.into()) } else { gap_ps };
            let jitter_ps = row.jitter.map_or(0, |time| time.0);
            // `Pattern::check` rejects a pattern with more frames than a release allows.
            let frames = vec![frame; (count as usize).min(20_000)];
            Ok(Pattern::Periodic { period_ps, releases: 1, frames, jitter_ps })
        }
        "poisson" => Ok(Pattern::Poisson { gap_ps: gap_ps()?, frame }),
        "iperf" => {
            let timer_ps = row.timer.map_or(S / 1000, |time| time.0);
            Ok(Pattern::Timer { timer_ps, gap_ps: gap_ps()?, frame })
        }
        "tdd" => {
            let slots = row.tdd.as_deref().unwrap_or("DDDSU");
            let tdd = Tdd::parse(slots, row.tdd_special.as_deref().unwrap_or("10:2:2"));
            let tdd = tdd.map_err(|error| value(of, error.to_string()))?;
            let way = match row.direction.as_deref() {
                Some("up") => Direction::Up,
                None | Some("down") => Direction::Down,
                Some(other) => {
                    return Err(value(
                        of,
                        format!("`direction` must be \"down\" or \"up\", not \"{other}\""),
                    ));
                }
            };
            let slot_ps = row.slot.map_or(S / 2000, |time| time.0);
            let frames = vec![frame; row.count.unwrap_or(1).min(20_000) as usize];
            let period_ps = slot_ps.saturating_mul(tdd.slots() as u64);
            Ok(Pattern::Tdd { period_ps, slots: tdd.symbols(way), together: 1, frames })
        }
        other => Err(value(of, unknown("pattern", other, PATTERNS.into_iter()))),
    }
}

/// Returns a trace pattern from a CSV table (time_ns, octets or bytes) or from a capture. The first frame of a capture has time zero.
fn trace_of(path: &Path, of: &str) -> Result<Pattern, OwnError> {
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv")) {
        return tables::trace(path);
    }
    let failed = |why: String| OwnError::Read { file: path.display().to_string(), why };
    let source = std::fs::File::open(path).map_err(|error| failed(error.to_string()))?;
    let mut frames: Vec<(Ps, u32)> = Vec::new();
    let mut first = None;
    let mut wrong = None;
    let read = ranlab_packet::pcap::read(source, |event| match event {
        Event::Packet(packet) if packet.link_type != LinkType::ETHERNET => {
            wrong.get_or_insert_with(|| format!("packet {} is not an Ethernet frame", packet.number));
        }
        Event::Packet(packet) => {
            let Some(time_ns) = packet.time_ns else { return };
            let start = *first.get_or_insert(time_ns);
            // A capture does not include the frame check sequence.
            let wire = packet.whole_bytes.max(60).saturating_add(4 + WIRE_GAP_BYTES);
            frames.push((time_ns.saturating_sub(start).saturating_mul(NS), wire));
        }
        // A truncated packet is no error, because the capture also contains its original size, which is used above.
        Event::Fault(Fault::PacketCut, _) => {}
        Event::Fault(fault, number) => {
            wrong.get_or_insert_with(|| format!("packet {number}: {fault}"));
        }
    });
    read.map_err(|error| failed(error.to_string()))?;
    if let Some(why) = wrong {
        return Err(value(of, format!("{}: {why}", path.display())));
    }
    if frames.is_empty() {
        return Err(value(of, format!("{} has no packet with a time", path.display())));
    }
    frames.sort_by_key(|(time, _)| *time);
    Ok(Pattern::Trace(frames))
}

/// Adds the streams of a CSV table.
pub(super) fn streams(builder: &mut Builder<'_>, file: &File) -> Result<(), OwnError> {
    let Some(name) = &file.csv.streams else { return Ok(()) };
    for row in tables::streams(&file::beside(builder.path, name))? {
        let frames = vec![row.octets.saturating_add(INTER_FRAME_GAP_BYTES)];
        let jitter_ps = tables::ps("jitter_ns", row.jitter_ns.unwrap_or(0))?;
        let period_ps = tables::ps("period_ns", row.period_ns)?;
        let pattern = Pattern::Periodic { period_ps, releases: 1, frames, jitter_ps };
        builder.topology.demands.push(Demand {
            name: format!("stream {}", row.stream),
            from: row.src,
            to: row.dst,
            class: row.class,
            pattern,
            offset_ps: tables::ps("offset_ns", row.offset_ns)?,
            regulator: None,
            budget_ps: row.deadline_ns.map(|ns| tables::ps("deadline_ns", ns)).transpose()?,
            window: None,
            paths: 1,
            route: Vec::new(),
        });
    }
    Ok(())
}
