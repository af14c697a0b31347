//! Network file: reads its tables from TOML. Errors about unknown keys name the nearest known key.

use std::path::{Path, PathBuf};

use ranlab_campaign::schema::nearest;
use ranlab_campaign::value::parse_span;
use ranlab_xhaul::Ps;
use serde::{Deserialize, Deserializer};

use super::OwnError;

/// Maximum size of a network file or CSV file, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// A network file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct File {
    pub(super) csv: Tables,
    pub(super) switches: Vec<SwitchRow>,
    pub(super) nodes: Vec<NodeRow>,
    pub(super) links: Vec<LinkRow>,
    pub(super) rings: Vec<RingRow>,
    pub(super) trees: Vec<TreeRow>,
    pub(super) ports: Vec<PortRow>,
    pub(super) cells: Vec<CellRow>,
    pub(super) flows: Vec<FlowRow>,
    pub(super) captures: Vec<CaptureRow>,
    pub(super) cuts: Vec<CutRow>,
}

/// CSV files in the folder of the network file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tables {
    pub(super) links: Option<String>,
    pub(super) streams: Option<String>,
    pub(super) gates: Option<String>,
}

/// A time, from text such as "2us".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Time(pub(super) Ps);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let text = String::deserialize(source)?;
        let wrong =
            || serde::de::Error::custom(format!("\"{text}\" is not a time such as \"2us\" or \"10ms\""));
        let time = parse_span(&text).ok_or_else(wrong)?;
        let ps = u64::try_from(time.as_nanos()).ok().and_then(|ns| ns.checked_mul(1000));
        Ok(Self(ps.ok_or_else(wrong)?))
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct SwitchRow {
    pub(super) name: String,
    pub(super) forwarding: Option<Time>,
    pub(super) cut_through_bytes: Option<u32>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct NodeRow {
    pub(super) name: String,
    pub(super) service: Option<Time>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct LinkRow {
    pub(super) a: String,
    pub(super) b: String,
    pub(super) mbps: Option<f64>,
    pub(super) metres: Option<f64>,
    pub(super) delay: Option<Time>,
    pub(super) processing: Option<Time>,
    pub(super) scheduler: Option<String>,
    pub(super) queue_bytes: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct RingRow {
    pub(super) name: String,
    pub(super) switches: usize,
    pub(super) mbps: Option<f64>,
    pub(super) metres: Option<f64>,
    pub(super) forwarding: Option<Time>,
    pub(super) scheduler: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct TreeRow {
    pub(super) name: String,
    pub(super) levels: usize,
    pub(super) branches: usize,
    pub(super) mbps: Option<f64>,
    pub(super) metres: Option<f64>,
    pub(super) forwarding: Option<Time>,
    pub(super) scheduler: Option<String>,
}

/// One direction of a link.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct PortRow {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) scheduler: Option<String>,
    pub(super) mbps: Option<f64>,
    pub(super) queue_bytes: Option<u64>,
    pub(super) express_from: Option<u8>,
    pub(super) quanta: Option<[u32; 8]>,
    #[serde(default)]
    pub(super) idle_mbps: Vec<IdleRow>,
    #[serde(default)]
    pub(super) gates: Vec<GateRow>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct IdleRow {
    pub(super) class: u8,
    pub(super) mbps: f64,
}

/// Entry of a gate control list: the classes that may send, and the duration.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct GateRow {
    pub(super) open: Vec<u8>,
    pub(super) duration: Time,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct CellRow {
    pub(super) name: String,
    pub(super) cu: String,
    pub(super) du: Option<String>,
    pub(super) at: Option<String>,
    pub(super) metres: Option<f64>,
    pub(super) link_mbps: Option<f64>,
    pub(super) split: String,
    pub(super) carrier: Option<String>,
    pub(super) layers: Option<u8>,
    pub(super) tdd: Option<String>,
    pub(super) tdd_special: Option<String>,
    pub(super) mantissa_bits: Option<u8>,
    pub(super) pacing: Option<String>,
    pub(super) class: Option<u8>,
    pub(super) mbps: Option<f64>,
    pub(super) mbps_up: Option<f64>,
    pub(super) budget: Option<String>,
    pub(super) t1a_up: Option<Time>,
    pub(super) t2a_up: Option<[Time; 2]>,
    pub(super) ta3_up: Option<Time>,
    pub(super) ta4_up: Option<[Time; 2]>,
    pub(super) offset: Option<Time>,
    pub(super) paths: Option<usize>,
    pub(super) vlan: Option<u16>,
    pub(super) tcp_adv_dl: Option<Time>,
    pub(super) copies: Option<Copies>,
}

/// Number of equal cells that a row describes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum Copies {
    /// Number from the file.
    Number(u64),
    /// Key of the scenario that defines the number.
    Of(String),
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct FlowRow {
    pub(super) name: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) pattern: Option<String>,
    pub(super) class: Option<u8>,
    pub(super) bytes: Option<u32>,
    pub(super) period: Option<Time>,
    pub(super) count: Option<u32>,
    pub(super) jitter: Option<Time>,
    pub(super) mbps: Option<f64>,
    pub(super) timer: Option<Time>,
    pub(super) tdd: Option<String>,
    pub(super) tdd_special: Option<String>,
    pub(super) slot: Option<Time>,
    pub(super) direction: Option<String>,
    pub(super) trace: Option<String>,
    pub(super) offset: Option<Time>,
    pub(super) budget: Option<String>,
    pub(super) paths: Option<usize>,
    pub(super) route: Option<Vec<String>>,
    pub(super) burst_bytes: Option<u32>,
    pub(super) shaped_mbps: Option<f64>,
}

/// Capture of a fronthaul. Each eAxC and direction is a flow.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct CaptureRow {
    pub(super) name: String,
    pub(super) file: String,
    pub(super) du: String,
    pub(super) ru: String,
    pub(super) spacing_khz: Option<u32>,
    pub(super) class: Option<u8>,
    pub(super) budget: Option<String>,
    pub(super) t2a_up: Option<[Time; 2]>,
    pub(super) t2a_cp_dl: Option<[Time; 2]>,
    pub(super) t2a_cp_ul: Option<[Time; 2]>,
    pub(super) ta4_up: Option<[Time; 2]>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct CutRow {
    pub(super) a: String,
    pub(super) b: String,
    pub(super) from: Time,
    pub(super) until: Option<Time>,
}

/// Known keys of each table.
const TABLES: [(&str, &[&str]); 11] = [
    ("csv", &["links", "streams", "gates"]),
    ("switches", &["name", "forwarding", "cut_through_bytes"]),
    ("nodes", &["name", "service"]),
    ("links", &["a", "b", "mbps", "metres", "delay", "processing", "scheduler", "queue_bytes"]),
    ("rings", &["name", "switches", "mbps", "metres", "forwarding", "scheduler"]),
    ("trees", &["name", "levels", "branches", "mbps", "metres", "forwarding", "scheduler"]),
    (
        "ports",
        &["from", "to", "scheduler", "mbps", "queue_bytes", "express_from", "quanta", "idle_mbps", "gates"],
    ),
    (
        "cells",
        &[
            "name",
            "cu",
            "du",
            "at",
            "metres",
            "link_mbps",
            "split",
            "carrier",
            "layers",
            "tdd",
            "tdd_special",
            "mantissa_bits",
            "pacing",
            "class",
            "mbps",
            "mbps_up",
            "budget",
            "t1a_up",
            "t2a_up",
            "ta3_up",
            "ta4_up",
            "offset",
            "paths",
            "vlan",
            "tcp_adv_dl",
            "copies",
        ],
    ),
    (
        "flows",
        &[
            "name",
            "from",
            "to",
            "pattern",
            "class",
            "bytes",
            "period",
            "count",
            "jitter",
            "mbps",
            "timer",
            "tdd",
            "tdd_special",
            "slot",
            "direction",
            "trace",
            "offset",
            "budget",
            "paths",
            "route",
            "burst_bytes",
            "shaped_mbps",
        ],
    ),
    (
        "captures",
        &[
            "name",
            "file",
            "du",
            "ru",
            "spacing_khz",
            "class",
            "budget",
            "t2a_up",
            "t2a_cp_dl",
            "t2a_cp_ul",
            "ta4_up",
        ],
    ),
    ("cuts", &["a", "b", "from", "until"]),
];
/// Known keys of tables within tables.
const INNER: [(&str, &[&str]); 2] = [("gates", &["open", "duration"]), ("idle_mbps", &["class", "mbps"])];

/// Reads a network file.
pub(super) fn read(path: &Path) -> Result<File, OwnError> {
    let text = text(path)?;
    let at = |why: String| OwnError::Content { file: path.display().to_string(), why };
    let table: toml::Table =
        text.parse().map_err(|error: toml::de::Error| at(error.to_string().trim().to_owned()))?;
    for (name, value) in &table {
        let Some((_, known)) = TABLES.iter().find(|(table, _)| table == name) else {
            return Err(at(unknown("table", name, TABLES.iter().map(|(table, _)| *table))));
        };
        for row in rows(value) {
            check_row(name, row, known).map_err(at)?;
        }
    }
    table.try_into().map_err(|error: toml::de::Error| at(error.to_string().trim().to_owned()))
}

fn rows(value: &toml::Value) -> Vec<&toml::Table> {
    match value {
        toml::Value::Table(table) => vec![table],
        toml::Value::Array(all) => all.iter().filter_map(toml::Value::as_table).collect(),
        _ => Vec::new(),
    }
}

fn check_row(table: &str, row: &toml::Table, known: &[&str]) -> Result<(), String> {
    let name = row.get("name").and_then(toml::Value::as_str);
    let place = name.map_or_else(|| format!("`{table}`"), |name| format!("`{table}` \"{name}\""));
    for (key, value) in row {
        if !known.contains(&key.as_str()) {
            return Err(format!("{place}: {}", unknown("key", key, known.iter().copied())));
        }
        if let Some((_, known)) = INNER.iter().find(|(inner, _)| inner == key) {
            for inner in rows(value) {
                check_row(key, inner, known).map_err(|why| format!("{place}: {why}"))?;
            }
        }
    }
    Ok(())
}

/// Returns an error message about an unknown name.
pub(super) fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match nearest(name, known.clone()) {
        Some(near) => format!("unknown {what} `{name}`; `{near}` is the nearest"),
        None => format!("unknown {what} `{name}`; known: {}", known.collect::<Vec<_>>().join(", ")),
    }
}

/// Reads a text file of limited size.
pub(super) fn text(path: &Path) -> Result<String, OwnError> {
    let failed =
        |source: std::io::Error| OwnError::Read { file: path.display().to_string(), why: source.to_string() };
    let about = std::fs::metadata(path).map_err(failed)?;
    if !about.is_file() || about.len() > FILE_BYTES_MAX {
        let why = format!("a network file is a file of at most {FILE_BYTES_MAX} bytes");
        return Err(OwnError::Read { file: path.display().to_string(), why });
    }
    std::fs::read_to_string(path).map_err(failed)
}

/// Returns the path of a file whose name is relative to the folder of the network file.
pub(super) fn beside(file: &Path, name: &str) -> PathBuf {
    file.parent().unwrap_or_else(|| Path::new("")).join(name)
}
