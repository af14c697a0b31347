//! Imports configurations of TIPSY (main.json: `benchmark`, `default`, `visualize`) as scenarios, one per benchmark.
//!
//! Every point is written as a row of a joint sweep, so that TIPSY's scales need no equivalent key. Scale `none` uses
//! the first value of each list. Scale `joint` combines the lists of a section by position, up to the shortest list.
//! Scale `outer` combines all values. Sections are always combined with each other.
//!
//! Settings without an equivalent are reported by name.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Map, Value};

/// Maximum size of a configuration, in bytes.
pub(crate) const CONFIG_BYTES_MAX: usize = 4 << 20;
/// Maximum number of points of a benchmark.
const POINTS_MAX: usize = 4_096;
/// Maximum number of benchmarks.
const BENCHMARKS_MAX: usize = 256;
/// Sections of a benchmark, in the order of the sweep.
const SECTIONS: [&str; 4] = ["pipeline", "traffic", "sut", "tester"];
/// Parameters of pipelines that a scenario sets under the same name.
const PARAMETERS: [&str; 29] = [
    "upstream-table-size",
    "downstream-table-size",
    "fluct-table",
    "upstream-l3-table-size",
    "upstream-group-table-size",
    "downstream-l3-table-size",
    "downstream-group-table-size",
    "fluct-l3-table",
    "fluct-group-table",
    "rule-num",
    "seed-file",
    "range-port-min",
    "range-port-max",
    "user",
    "bst",
    "cpe",
    "server",
    "nhop",
    "user-conn",
    "fw-rules",
    "rate-limit",
    "fluct-user",
    "handover",
    "fluct-server",
    "fakedrop",
    "name",
    "station",
    "endpoint",
    "vm",
];
/// Pipelines whose users have tunnels. TIPSY uses VXLAN by default.
const TUNNELLED: [&str; 2] = ["mgw", "bng"];
/// TIPSY's names of switches, and ranlab's names of the same kind of switch.
const ENGINES: [(&str, &str); 7] = [
    ("ovs", "ovs-dpdk"),
    ("bess", "bess"),
    ("vpp", "vpp"),
    ("erfs", "eswitch"),
    ("lagopus", "lagopus"),
    ("openflow", "openflow"),
    ("native", "native"),
];

/// The reason why a configuration cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ImportError {
    /// The text is not JSON, or does not have the structure of a configuration.
    #[error("not a configuration of TIPSY: {0}")]
    Form(String),
    /// A value has no equivalent in ranlab.
    #[error("benchmark {benchmark}: {what} \"{value}\" has no counterpart; allowed are {allowed}")]
    Unknown {
        /// Number of the benchmark, from 0.
        benchmark: usize,
        /// Name of the setting.
        what: &'static str,
        /// Value of the setting.
        value: String,
        /// Allowed values of the setting.
        allowed: String,
    },
    /// Too many points or benchmarks.
    #[error("{what}: {value}; at most {most} are allowed")]
    Many {
        /// Name of the quantity.
        what: &'static str,
        /// Value of the quantity.
        value: usize,
        /// Maximum of the quantity.
        most: usize,
    },
}

/// A scenario made of a benchmark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Imported {
    /// Name of the scenario's file, without an extension.
    pub(crate) name: String,
    /// Text of the scenario.
    pub(crate) text: String,
    /// Settings of TIPSY that the scenario omits.
    pub(crate) left_out: Vec<String>,
}

/// A point, as settings of the scenario.
type Row = BTreeMap<String, Value>;

/// Imports a configuration. `stem` is the base of the scenario names of benchmarks without an id.
///
/// # Errors
///
/// The text is not a configuration, or contains a setting without an equivalent.
pub(crate) fn import(text: &str, stem: &str) -> Result<Vec<Imported>, ImportError> {
    let form = |what: &str| ImportError::Form(what.to_owned());
    let root: Value = serde_json::from_str(text).map_err(|error| ImportError::Form(error.to_string()))?;
    let root = root.as_object().ok_or_else(|| form("it is not an object"))?;
    let empty = Map::new();
    let default = root.get("default").and_then(Value::as_object).unwrap_or(&empty);
    let benchmarks = match root.get("benchmark") {
        Some(Value::Array(all)) => all.clone(),
        Some(one @ Value::Object(_)) => vec![one.clone()],
        _ => return Err(form("`benchmark` is missing: a list of benchmarks")),
    };
    if benchmarks.is_empty() || benchmarks.len() > BENCHMARKS_MAX {
        return Err(ImportError::Many { what: "benchmarks", value: benchmarks.len(), most: BENCHMARKS_MAX });
    }
    let plots: Vec<Value> = match root.get("visualize") {
        Some(Value::Array(all)) => all.clone(),
        Some(one @ Value::Object(_)) => vec![one.clone()],
        _ => Vec::new(),
    };
    let mut used: Vec<String> = Vec::new();
    let mut all = Vec::new();
    for (number, benchmark) in benchmarks.iter().enumerate() {
        let benchmark = benchmark.as_object().ok_or_else(|| form("a benchmark is not an object"))?;
        let id = benchmark.get("id").and_then(Value::as_str).unwrap_or_default();
        let mut name = plain(if id.is_empty() { stem } else { id });
        if used.contains(&name) {
            name = format!("{name}-{number}");
        }
        used.push(name.clone());
        all.push(One { number, benchmark, default, left_out: Vec::new() }.import(name, id, &plots)?);
    }
    Ok(all)
}

/// Returns a name that is valid as a file name on every system.
fn plain(name: &str) -> String {
    let one = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let name: String = name.chars().take(64).map(one).collect();
    if name.is_empty() { "tipsy".to_owned() } else { name }
}

struct One<'a> {
    number: usize,
    benchmark: &'a Map<String, Value>,
    default: &'a Map<String, Value>,
    left_out: Vec<String>,
}

impl One<'_> {
    fn import(mut self, name: String, id: &str, plots: &[Value]) -> Result<Imported, ImportError> {
        let scale = self.benchmark.get("scale").or_else(|| self.default.get("scale"));
        let scale = scale.and_then(Value::as_str).unwrap_or("none").to_owned();
        let mut points: Vec<Row> = vec![Row::new()];
        for section in SECTIONS {
            let rows = self.section(section, &scale)?;
            let count = points.len().saturating_mul(rows.len());
            if count > POINTS_MAX {
                return Err(ImportError::Many { what: "points", value: count, most: POINTS_MAX });
            }
            let join = |point: &Row| {
                let point = point.clone();
                rows.iter()
                    .map(move |row| point.clone().into_iter().chain(row.clone()).collect())
                    .collect::<Vec<Row>>()
            };
            points = points.iter().flat_map(join).collect();
        }
        let mut rows = Vec::new();
        for point in points {
            rows.extend(self.point(&point)?);
        }
        if rows.is_empty() {
            let allowed = ENGINES.map(|(theirs, _)| theirs).join(", ");
            let what = "every sut.type";
            return Err(ImportError::Unknown {
                benchmark: self.number,
                what,
                value: "of it".to_owned(),
                allowed,
            });
        }
        self.left_out.sort();
        self.left_out.dedup();
        let mut text = String::new();
        let title = if id.is_empty() { "imported from TIPSY" } else { id };
        let _ = writeln!(text, "title = {}\nrig = \"pipeline\"", toml_of(&Value::from(title)));
        write_rows(&rows, &mut text);
        self.plots(plots, id, &rows, &mut text);
        self.left_out.sort();
        self.left_out.dedup();
        Ok(Imported { name, text, left_out: self.left_out })
    }

    /// Returns the rows of a section, with keys of the form `section.name`.
    fn section(&mut self, section: &str, scale: &str) -> Result<Vec<Row>, ImportError> {
        let mut all: BTreeMap<String, Value> = BTreeMap::new();
        for from in [self.default, self.benchmark] {
            if let Some(given) = from.get(section).and_then(Value::as_object) {
                all.extend(given.iter().map(|(key, value)| (key.clone(), value.clone())));
            }
        }
        let lists: Vec<(String, Vec<Value>)> = all
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| {
                let values = match value {
                    Value::Array(values) => values,
                    one => vec![one],
                };
                (format!("{section}.{key}"), values)
            })
            .filter(|(_, values)| !values.is_empty())
            .collect();
        let row = |pick: &dyn Fn(&Vec<Value>) -> Option<Value>| -> Row {
            lists.iter().filter_map(|(key, values)| Some((key.clone(), pick(values)?))).collect()
        };
        match scale {
            "none" => Ok(vec![row(&|values| values.first().cloned())]),
            "joint" => {
                // A list with a single value is repeated.
                let several = lists.iter().map(|(_, values)| values.len()).filter(|count| *count > 1);
                let count = several.min().unwrap_or(1);
                let at = |index: usize| {
                    row(&|values| values.get(if values.len() == 1 { 0 } else { index }).cloned())
                };
                Ok((0..count).map(at).collect())
            }
            "outer" => {
                let mut rows = vec![Row::new()];
                for (key, values) in &lists {
                    let count = rows.len().saturating_mul(values.len());
                    if count > POINTS_MAX {
                        return Err(ImportError::Many { what: "points", value: count, most: POINTS_MAX });
                    }
                    let with = |row: &Row| {
                        let row = row.clone();
                        values
                            .iter()
                            .map(move |value| {
                                let mut row = row.clone();
                                row.insert(key.clone(), value.clone());
                                row
                            })
                            .collect::<Vec<_>>()
                    };
                    rows = rows.iter().flat_map(with).collect();
                }
                Ok(rows)
            }
            other => Err(ImportError::Unknown {
                benchmark: self.number,
                what: "scale",
                value: other.to_owned(),
                allowed: "none, joint, outer".to_owned(),
            }),
        }
    }

    /// Returns the settings of a point, or `None` if its switch has no equivalent.
    fn point(&mut self, point: &Row) -> Result<Option<Row>, ImportError> {
        let mut row = Row::new();
        for (key, value) in point {
            let (section, name) = key.split_once('.').unwrap_or((key, ""));
            let to = match (section, name) {
                ("pipeline", "name") => {
                    row.insert("pipeline.name".to_owned(), self.pipeline(value)?.into());
                    continue;
                }
                ("pipeline", "core") => "sut.cores".to_owned(),
                ("pipeline", name) if PARAMETERS.contains(&name) => key.clone(),
                ("traffic", "pkt-size" | "pkt-num" | "dir") => format!("load.{name}"),
                ("traffic", "random-seed") => "measure.seed".to_owned(),
                ("traffic", "tunneling-method") => "pipeline.tunneling-method".to_owned(),
                ("sut", "type") => {
                    let name = value.as_str().unwrap_or_default();
                    let Some((_, ours)) = ENGINES.iter().find(|(theirs, _)| *theirs == name) else {
                        self.left_out
                            .push(format!("sut.type {name}: this version does not support this switch"));
                        return Ok(None);
                    };
                    row.insert("sut.engine".to_owned(), (*ours).into());
                    continue;
                }
                ("tester", "test-time") => {
                    row.insert("measure.duration".to_owned(), format!("{value}s").into());
                    continue;
                }
                _ => {
                    self.left_out.push(key.clone());
                    continue;
                }
            };
            row.insert(to, value.clone());
        }
        let name = row.entry("pipeline.name".to_owned()).or_insert_with(|| "mgw".into()).clone();
        let tunnelled = name.as_str().is_some_and(|name| TUNNELLED.contains(&name));
        if tunnelled {
            row.entry("pipeline.tunneling-method".to_owned()).or_insert_with(|| "vxlan".into());
        } else {
            row.remove("pipeline.tunneling-method");
        }
        row.entry("sut.engine".to_owned()).or_insert_with(|| "native".into());
        // By default, traces of TIPSY and ranlab have one packet per table entry, and at least 1,024.
        row.entry("load.pkt-num".to_owned()).or_insert_with(|| 0.into());
        Ok(Some(row))
    }

    fn pipeline(&self, value: &Value) -> Result<String, ImportError> {
        const KNOWN: [&str; 7] = ["portfwd", "l2fwd", "l3fwd", "nat", "mgw", "bng", "acl"];
        let name = value.as_str().unwrap_or_default();
        let name = if name == "fw" { "acl" } else { name };
        if KNOWN.contains(&name) {
            return Ok(name.to_owned());
        }
        Err(ImportError::Unknown {
            benchmark: self.number,
            what: "pipeline.name",
            value: name.to_owned(),
            allowed: format!("fw, {}", KNOWN.join(", ")),
        })
    }

    /// Writes the plots of this benchmark.
    fn plots(&mut self, plots: &[Value], id: &str, rows: &[Row], text: &mut String) {
        for plot in plots.iter().filter_map(Value::as_object) {
            let filter = plot.get("filter").and_then(Value::as_object);
            let of = filter.and_then(|filter| filter.get("id")).and_then(Value::as_str);
            if of.is_some_and(|of| of != id) {
                continue;
            }
            let kind = plot.get("type").and_then(Value::as_str).unwrap_or("simple");
            let axis = |name: &str| {
                let value = plot.get(name)?;
                axis(value.as_str().or_else(|| value.get(0).and_then(Value::as_str))?, rows)
            };
            let kinds = [("simple", "lines"), ("contour", "heat"), ("USL", "usl")];
            let written = kinds.iter().find(|(theirs, _)| *theirs == kind).and_then(|(_, ours)| {
                let x = axis("x-axis")?;
                let y = axis("y-axis")?;
                let z = axis("z-axis");
                (*ours != "heat" || z.is_some()).then_some((*ours, x, y, z))
            });
            let Some((ours, x, y, z)) = written else {
                self.left_out.push(format!("visualize of type {kind}"));
                continue;
            };
            let _ = writeln!(text, "\n[[plot]]\ntype = \"{ours}\"\nx = \"{x}\"\ny = \"{y}\"");
            if let Some(z) = z {
                let _ = writeln!(text, "z = \"{z}\"");
            }
            if let Some(group) = axis("group-by").filter(|group| ours == "lines" && *group != x) {
                let _ = writeln!(text, "group_by = \"{group}\"");
            }
        }
    }
}

/// Returns the setting or metric of an axis: either a swept setting, or the rate.
fn axis(name: &str, rows: &[Row]) -> Option<String> {
    let (section, rest) = name.split_once('.')?;
    let ours = match (section, rest) {
        ("out", rest) if rest.starts_with("throughput.") => return Some("mpps".to_owned()),
        ("out", _) => return None,
        ("pipeline", "core") => "sut.cores".to_owned(),
        ("sut", "type") => "sut.engine".to_owned(),
        ("traffic", rest) => format!("load.{rest}"),
        _ => name.to_owned(),
    };
    let first = rows.first()?.get(&ours);
    rows.iter().any(|row| row.get(&ours) != first).then_some(ours)
}

/// Writes the settings that all points share, and the other settings as a joint sweep.
fn write_rows(rows: &[Row], text: &mut String) {
    let mut keys: Vec<&String> = rows.iter().flat_map(Row::keys).collect();
    keys.sort();
    keys.dedup();
    let varies = |key: &str| rows.iter().any(|row| row.get(key) != rows[0].get(key));
    let mut section = "";
    for key in keys.iter().filter(|key| !varies(key)) {
        let (of, name) = key.split_once('.').unwrap_or(("", key));
        if of != section {
            let _ = writeln!(text, "\n[{of}]");
            section = of;
        }
        if let Some(value) = rows[0].get(*key) {
            let _ = writeln!(text, "{name} = {}", toml_of(value));
        }
    }
    let axes: Vec<&&String> = keys.iter().filter(|key| varies(key)).collect();
    if axes.is_empty() {
        return;
    }
    text.push_str("\n[sweep]\nmode = \"joint\"\n\n[sweep.axes]\n");
    for key in axes {
        let values: Vec<String> =
            rows.iter().map(|row| row.get(*key).map_or_else(|| "0".to_owned(), toml_of)).collect();
        let _ = writeln!(text, "\"{key}\" = [{}]", values.join(", "));
    }
}

/// Writes a number, text or truth value as TOML. A JSON string is also a basic string of TOML.
fn toml_of(value: &Value) -> String {
    value.to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such
mod tests {
    use super::*;
    use ranlab_campaign::plan::Plan;
    use ranlab_campaign::scenario::{Overrides, Scenario};

    fn points(text: &str) -> Vec<BTreeMap<String, ranlab_campaign::value::Value>> {
        use ranlab_lab::experiment::harness::Experiment;
        let rig = crate::rig::Pipeline.describe();
        let scenario =
            Scenario::parse(text, "imported.toml", &Overrides::default(), std::slice::from_ref(&rig))
                .unwrap();
        Plan::new(&scenario, &rig).points.into_iter().map(|point| point.settings).collect()
    }

    const MAIN: &str = r#"{
        "benchmark": [
            { "id": "all", "scale": "joint",
              "pipeline": { "name": "mgw", "core": [1, 2, 3], "user": [300, 600, 900], "bst": 40, "rate-limit": 40000000000 },
              "sut": { "type": ["ovs", "t4p4s", "vpp"], "hostname": "sut.local" } },
            { "id": "all", "scale": "outer",
              "pipeline": { "name": "fw", "rule-num": [10, 100], "implementation-type": "acl" },
              "traffic": { "pkt-size": [64, 128], "dir": "downlink" } },
            { "pipeline": { "name": "l3fwd", "upstream-l3-table-size": [10, 20], "fluct-l3-table": 5 } } ],
        "default": { "tester": { "type": "moongen", "test-time": 10 }, "traffic": { "pkt-size": 64 } },
        "visualize": [
            { "type": "USL", "x-axis": "pipeline.core", "y-axis": "out.throughput.RX.PacketRate", "filter": { "id": "all" } },
            { "type": "simple", "x-axis": "pipeline.rule-num", "y-axis": ["out.throughput.RX.PacketRate"], "group-by": "traffic.pkt-size" },
            { "type": "table", "x-axis": "pipeline.user", "y-axis": "out.x" } ]
    }"#;

    #[test]
    fn tipsy_scales_become_points() {
        let all = import(MAIN, "main").unwrap();
        let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["all", "all-1", "main"]);
        let joint = points(&all[0].text);
        let of =
            |settings: &BTreeMap<String, ranlab_campaign::value::Value>, key: &str| settings[key].to_string();
        // Sections are combined with each other, and T4P4S has no equivalent.
        assert_eq!(joint.len(), 6);
        let engines: Vec<String> = joint.iter().map(|point| of(point, "sut.engine")).collect();
        assert_eq!(engines.iter().filter(|engine| engine.contains("vpp")).count(), 3);
        assert!(joint.iter().all(|point| of(point, "pipeline.tunneling-method").contains("vxlan")));
        assert!(
            joint.iter().any(|point| of(point, "sut.cores") == "3" && of(point, "pipeline.user") == "900")
        );
        assert!(all[0].left_out.iter().any(|what| what.contains("t4p4s")), "{:?}", all[0].left_out);
        assert!(all[0].left_out.contains(&"sut.hostname".to_owned()));
        assert!(all[0].text.contains("type = \"usl\""), "{}", all[0].text);
        let outer = points(&all[1].text);
        assert_eq!(outer.len(), 4);
        assert!(outer.iter().all(|point| of(point, "pipeline.name").contains("acl")));
        assert!(
            all[1].text.contains("x = \"pipeline.rule-num\"")
                && all[1].text.contains("group_by = \"load.pkt-size\"")
        );
        assert!(all[1].left_out.contains(&"pipeline.implementation-type".to_owned()));
        let first = points(&all[2].text);
        assert_eq!((first.len(), of(&first[0], "pipeline.upstream-l3-table-size").as_str()), (1, "10"));
    }

    #[test]
    fn settings_without_equivalent_are_rejected_by_name() {
        let refused = |text: &str| import(text, "main").unwrap_err();
        assert!(matches!(refused("no JSON"), ImportError::Form(_)));
        assert!(matches!(refused("[]"), ImportError::Form(_)));
        assert!(matches!(refused(r#"{"benchmark": []}"#), ImportError::Many { .. }));
        let name = r#"{"benchmark": [{"pipeline": {"name": "vmgw"}}]}"#;
        assert!(matches!(refused(name), ImportError::Unknown { what: "pipeline.name", .. }));
        let scale = r#"{"benchmark": [{"scale": "inner"}]}"#;
        assert!(matches!(refused(scale), ImportError::Unknown { what: "scale", .. }));
        let switch = r#"{"benchmark": [{"sut": {"type": "ofdpa"}}]}"#;
        assert!(matches!(refused(switch), ImportError::Unknown { what: "every sut.type", .. }));
        let list: Vec<u32> = (0..100).collect();
        let many = serde_json::json!({"benchmark": [{"scale": "outer", "pipeline": {"name": "mgw", "user": list, "bst": list}}]});
        assert!(matches!(refused(&many.to_string()), ImportError::Many { value: 10_000, .. }));
    }
}
