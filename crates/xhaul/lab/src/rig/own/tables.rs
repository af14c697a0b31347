//! Links, streams and gate lists as CSV files, with the columns that TSN tools exchange.

use std::collections::BTreeMap;
use std::path::Path;

use ranlab_xhaul::{CLASSES, Clock, GateEntry, Gates, INTER_FRAME_GAP_BYTES, NS, Pattern, Ps, Scheduler};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::OwnError;
use super::build::value;
use super::file::{text, unknown};

/// Maximum time in a table, in nanoseconds: one hour.
const TIME_NS_MAX: u64 = 3_600_000_000_000;

/// Row of the table `links`: one direction of a cable.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct LinkRow {
    /// Name of the link: `FROM-TO`.
    pub(super) link: String,
    pub(super) rate_bps: u64,
    /// Processing time at the receiving node, in nanoseconds.
    pub(super) t_proc_ns: u64,
    pub(super) t_prop_ns: u64,
}

/// Row of the table `streams`. `octets` includes the preamble, as the time on the line does.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct StreamRow {
    pub(super) stream: String,
    pub(super) src: String,
    pub(super) dst: String,
    pub(super) octets: u32,
    pub(super) period_ns: u64,
    #[serde(default)]
    pub(super) offset_ns: u64,
    pub(super) class: u8,
    #[serde(default)]
    pub(super) deadline_ns: Option<u64>,
    #[serde(default)]
    pub(super) jitter_ns: Option<u64>,
}

/// Row of the table `gates`: a window of a class in each cycle of a link.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct GateRow {
    pub(super) link: String,
    pub(super) class: u8,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) cycle_ns: u64,
}

/// Row of a trace: time and size of a frame.
#[derive(Debug, Clone, Deserialize)]
struct TraceRow {
    time_ns: u64,
    /// Frame size with preamble.
    octets: Option<u32>,
    /// Frame size from the destination address to the check sequence.
    bytes: Option<u32>,
}

pub(super) fn links(path: &Path) -> Result<Vec<LinkRow>, OwnError> {
    read(path, &["link", "rate_bps", "t_proc_ns", "t_prop_ns"], &[])
}

pub(super) fn streams(path: &Path) -> Result<Vec<StreamRow>, OwnError> {
    let optional = ["offset_ns", "deadline_ns", "jitter_ns"];
    read(path, &["stream", "src", "dst", "octets", "period_ns", "class"], &optional)
}

pub(super) fn gates(path: &Path) -> Result<Vec<GateRow>, OwnError> {
    read(path, &["link", "class", "start_ns", "end_ns", "cycle_ns"], &[])
}

/// Reads times and sizes of frames, and returns them as a pattern.
pub(super) fn trace(path: &Path) -> Result<Pattern, OwnError> {
    let rows: Vec<TraceRow> = read(path, &["time_ns"], &["octets", "bytes"])?;
    let at = |line: usize, why: &str| OwnError::Content {
        file: path.display().to_string(),
        why: format!("line {}: {why}", line + 2),
    };
    let wire = |(line, row): (usize, &TraceRow)| match (row.octets, row.bytes) {
        (Some(octets), None) => {
            Ok((ps("time_ns", row.time_ns)?, octets.saturating_add(INTER_FRAME_GAP_BYTES)))
        }
        (None, Some(bytes)) => {
            Ok((ps("time_ns", row.time_ns)?, bytes.saturating_add(ranlab_xhaul::WIRE_GAP_BYTES)))
        }
        _ => Err(at(
            line,
            "a frame must have a size either in `octets` (with preamble) or in `bytes` (without preamble)",
        )),
    };
    if rows.is_empty() {
        let why = "the table has no frame".to_owned();
        return Err(OwnError::Content { file: path.display().to_string(), why });
    }
    let mut frames: Vec<(Ps, u32)> = rows.iter().enumerate().map(wire).collect::<Result<_, _>>()?;
    frames.sort_by_key(|(time, _)| *time);
    Ok(Pattern::Trace(frames))
}

fn read<T: DeserializeOwned>(path: &Path, required: &[&str], optional: &[&str]) -> Result<Vec<T>, OwnError> {
    let text = text(path)?;
    let wrong = |why: String| OwnError::Content { file: path.display().to_string(), why };
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| wrong(error.to_string()))?.clone();
    let known = || required.iter().chain(optional).copied();
    for column in &header {
        if !known().any(|own| own == column) {
            return Err(wrong(unknown("column", column, known())));
        }
    }
    if let Some(missing) = required.iter().find(|name| !header.iter().any(|column| column == **name)) {
        return Err(wrong(format!("the column `{missing}` is missing; columns: {}", required.join(", "))));
    }
    reader.deserialize().map(|row| row.map_err(|error| wrong(error.to_string()))).collect()
}

/// Returns the gate lists of each link, built from the windows of classes. At each link, classes without a window are open outside all
/// windows.
pub(super) fn schedules(rows: &[GateRow]) -> Result<BTreeMap<String, Scheduler>, String> {
    let mut by_link: BTreeMap<String, Vec<&GateRow>> = BTreeMap::new();
    for row in rows {
        by_link.entry(row.link.clone()).or_default().push(row);
    }
    by_link.into_iter().map(|(link, rows)| Ok((link.clone(), schedule(&link, &rows)?))).collect()
}

fn schedule(link: &str, rows: &[&GateRow]) -> Result<Scheduler, String> {
    let cycle = rows.first().map_or(0, |row| row.cycle_ns);
    if cycle > TIME_NS_MAX {
        return Err(format!("gates of link {link}: a cycle must be at most {TIME_NS_MAX} ns, not {cycle}"));
    }
    for row in rows {
        let window =
            format!("gate of link {link}, class {}, {} to {} ns", row.class, row.start_ns, row.end_ns);
        if usize::from(row.class) >= CLASSES {
            return Err(format!("{window}: the class must be 0 to 7"));
        }
        if row.cycle_ns != cycle {
            return Err(format!(
                "{window}: its cycle is {} ns, but the cycle of the link is {cycle} ns",
                row.cycle_ns
            ));
        }
        if row.start_ns >= row.end_ns || row.end_ns > cycle {
            return Err(format!(
                "{window}: the window must begin before its end, and end within the cycle of {cycle} ns"
            ));
        }
    }
    let named = rows.iter().fold(0_u8, |classes, row| classes | 1 << row.class);
    let mut corners: Vec<u64> =
        rows.iter().flat_map(|row| [row.start_ns, row.end_ns]).chain([0, cycle]).collect();
    corners.sort_unstable();
    corners.dedup();
    let entries = corners.windows(2).map(|ends| {
        let inside = rows.iter().filter(|row| row.start_ns <= ends[0] && row.end_ns >= ends[1]);
        let open = inside.fold(0_u8, |classes, row| classes | 1 << row.class);
        GateEntry { duration_ps: (ends[1] - ends[0]) * NS, open: if open == 0 { !named } else { open } }
    });
    Ok(Scheduler::Gates(Gates { entries: entries.collect(), clock: Clock::default() }))
}

/// Returns both ends of a link named `FROM-TO`. The nodes must have these names.
pub(super) fn ends<'n>(link: &str, nodes: impl Iterator<Item = &'n str> + Clone) -> Option<(String, String)> {
    let known = |name: &str| nodes.clone().any(|node| node == name);
    let cuts = link.char_indices().filter(|(_, letter)| matches!(letter, '-' | '>'));
    let pairs = cuts.map(|(at, letter)| (&link[..at], &link[at + letter.len_utf8()..]));
    let mut fitting = pairs.clone().filter(|(from, to)| known(from) && known(to));
    fitting.next().or_else(|| pairs.clone().next()).map(|(from, to)| (from.to_owned(), to.to_owned()))
}

/// Converts a time of a table to ps.
pub(super) fn ps(column: &str, ns: u64) -> Result<Ps, OwnError> {
    if ns > TIME_NS_MAX {
        return Err(value("csv", format!("`{column}` must be at most {TIME_NS_MAX} ns (an hour), not {ns}")));
    }
    Ok(ns * NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_become_a_gate_control_list() {
        let row = |class, start_ns, end_ns| GateRow {
            link: "a-b".to_owned(),
            class,
            start_ns,
            end_ns,
            cycle_ns: 100,
        };
        let lists = schedules(&[row(7, 0, 10), row(6, 20, 40), row(5, 30, 40)]).unwrap_or_default();
        let Some(Scheduler::Gates(gates)) = lists.get("a-b") else { panic!("{lists:?}") };
        let entries: Vec<_> =
            gates.entries.iter().map(|entry| (entry.duration_ps / NS, entry.open)).collect();
        assert_eq!(entries, [(10, 0x80), (10, 0x1F), (10, 0x40), (10, 0x60), (60, 0x1F)]);
        for wrong in [row(8, 0, 10), row(7, 10, 10), row(7, 50, 101)] {
            assert!(schedules(&[wrong]).is_err());
        }
        let other = GateRow { cycle_ns: 50, ..row(6, 0, 10) };
        assert!(schedules(&[row(7, 0, 10), other]).is_err_and(|why| why.contains("its cycle is 50 ns")));
    }

    #[test]
    fn link_name_is_split_at_known_nodes() {
        let nodes = || ["du-1", "s", "1", "11"].into_iter();
        assert_eq!(ends("du-1-s", nodes()), Some(("du-1".to_owned(), "s".to_owned())));
        assert_eq!(ends("1-11", nodes()), Some(("1".to_owned(), "11".to_owned())));
        assert_eq!(ends("s", nodes()), None);
    }
}
