//! Checks Parquet with an independent reader: DuckDB returns every value. Runs when `RANLAB_PYTHON` names a
//! Python that has duckdb, as `make test` arranges.
#![allow(clippy::unwrap_used, reason = "test helpers may unwrap, like tests")]

use std::path::Path;
use std::process::Command;

use ranlab_campaign::export::{
    Column, FileKind, ROW_GROUP_ROWS, Table, distributions, parquet, points, repeats, series, write,
};
use ranlab_campaign::mock::MockRig;
use ranlab_campaign::plan::Plan;
use ranlab_campaign::results::{MemoryJournal, Results};
use ranlab_campaign::rig::{Rig, Stop};
use ranlab_campaign::run::run;
use ranlab_campaign::scenario::{Overrides, Scenario};

/// Prints the file: a line of JSON with the types, then one for each row. Numbers are printed as bits, because decimal
/// notation may lose the last bit.
const READ: &str = "
import duckdb, json, struct, sys
def plain(value):
    return struct.unpack('<q', struct.pack('<d', value))[0] if isinstance(value, float) else value
rows = duckdb.sql(f\"select * from '{sys.argv[1]}'\")
print(json.dumps([[name, str(kind)] for name, kind in zip(rows.columns, rows.types)]))
for row in rows.fetchall():
    print(json.dumps([plain(value) for value in row], ensure_ascii=False))
";

fn types(table: &Table) -> serde_json::Value {
    let kind = |column: &Column| match column {
        Column::Bool(_) => "BOOLEAN",
        Column::Int(_) => "BIGINT",
        Column::Float(_) => "DOUBLE",
        Column::Text(_) => "VARCHAR",
    };
    table.columns.iter().map(|(name, column)| serde_json::json!([name, kind(column)])).collect()
}

fn value(column: &Column, row: usize) -> serde_json::Value {
    match column {
        Column::Bool(values) => serde_json::json!(values[row]),
        Column::Int(values) => serde_json::json!(values[row]),
        Column::Float(values) => serde_json::json!(values[row].map(|value| value.to_bits() as i64)),
        Column::Text(values) => serde_json::json!(values[row]),
    }
}

#[track_caller]
fn read_back(name: &str, table: &Table) {
    let Some(python) = std::env::var_os("RANLAB_PYTHON") else {
        ranlab_host::doctor::skipped(
            "DuckDB: RANLAB_PYTHON must name a Python that has it (make test installs one)",
        );
        return;
    };
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.parquet"));
    std::fs::write(&path, parquet(table)).unwrap();
    let output = Command::new(python).args(["-c", READ]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    assert_eq!(lines.next().unwrap(), types(table), "{name}");
    let mut rows = 0;
    for (row, line) in lines.enumerate() {
        let ours: serde_json::Value = table.columns.iter().map(|(_, column)| value(column, row)).collect();
        assert_eq!(line, ours, "{name}, row {row}");
        rows += 1;
    }
    assert_eq!(rows, table.rows(), "{name}");
}

#[test]
fn all_types_and_nulls_round_trip_over_row_groups() {
    let rows = ROW_GROUP_ROWS + 77;
    let some = |row: usize, every: usize| !row.is_multiple_of(every);
    let table = Table {
        columns: vec![
            ("kept?".to_owned(), Column::Bool((0..rows).map(|r| some(r, 3).then_some(r % 2 == 0)).collect())),
            ("n".to_owned(), Column::Int((0..rows).map(|r| some(r, 5).then_some(r as i64 - 1000)).collect())),
            (
                "x".to_owned(),
                Column::Float((0..rows).map(|r| some(r, 7).then_some(r as f64 / 7.0 - 3.0)).collect()),
            ),
            (
                "text".to_owned(),
                Column::Text((0..rows).map(|r| some(r, 11).then(|| format!("µ {r} \"q\"\n"))).collect()),
            ),
            ("never".to_owned(), Column::Int(vec![None; rows])),
        ],
    };
    read_back("types", &table);
    let extremes = [i64::MIN, i64::MAX, 0].map(Some).to_vec();
    read_back("extremes", &Table { columns: vec![("n".to_owned(), Column::Int(extremes))] });
}

#[test]
fn duckdb_reads_campaign_tables() {
    let text = "title = \"t\"\nrig = \"mock\"\n[sweep.axes]\n\"load.workers\" = [1, 2, 4]\n\"sut.build\" = [\"a\", \"b\"]\n\
                \"load.takes\" = [\"0s\", \"1ms\"]\n\"load.fails\" = [\"never\", \"crash\"]\n[measure]\nrepeats = 2\n";
    let rig = MockRig::default();
    let description = rig.describe();
    let rigs = std::slice::from_ref(&description);
    let scenario = Scenario::parse(text, "t.toml", &Overrides::default(), rigs).unwrap();
    let plan = Plan::new(&scenario, &description);
    let mut journal = MemoryJournal::default();
    run(Box::new(rig), &scenario, &plan, &mut journal, &Stop::never(), &mut |_| {}).unwrap();
    let results = Results::new(scenario, description.metrics, plan.points, journal.finished);
    let table = points(&results);
    assert_eq!(table.rows(), 24);
    assert!(table.columns.iter().any(|(name, _)| name == "load.takes_s"), "lengths of time are seconds");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tables");
    for (ending, kind) in FileKind::ALL.map(|kind| (kind.name(), kind)) {
        let written = write(&results, kind, &folder).unwrap();
        assert_eq!(written.len(), 4, "{written:?}");
        assert!(written.iter().all(|path| path.extension().is_some_and(|own| own == ending)));
    }
    for (name, table) in [
        ("points", table),
        ("repeats", repeats(&results)),
        ("series", series(&results)),
        ("distributions", distributions(&results)),
    ] {
        assert!(table.rows() >= 24, "{name}");
        read_back(name, &table);
    }
}
