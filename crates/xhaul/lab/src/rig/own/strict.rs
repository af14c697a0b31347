//! Finds rows of a network file that contradict one another, and keys without effect.

use std::collections::BTreeMap;

use ranlab_campaign::value::Value;
use ranlab_lab::Config as _;
use ranlab_xhaul::Demand;

use super::OwnError;
use super::build::value;
use super::file::{CellRow, File, FlowRow, PortRow};
use super::predictions::prefix;
use crate::rig::settings;

/// Keys that apply only to some patterns.
const OF_PATTERN: [(&str, &[&str]); 9] = [
    ("period", &["periodic", "poisson", "iperf"]),
    ("mbps", &["periodic", "poisson", "iperf"]),
    ("count", &["periodic", "tdd"]),
    ("jitter", &["periodic"]),
    ("timer", &["iperf"]),
    ("tdd", &["tdd"]),
    ("tdd_special", &["tdd"]),
    ("slot", &["tdd"]),
    ("direction", &["tdd"]),
];

/// Rejects rows of a file that contradict one another.
pub(super) fn check(file: &File) -> Result<(), OwnError> {
    let cables = file.links.iter().map(|row| (&row.a, &row.b));
    once("link", cables, |(a, b)| if a < b { format!("{a}-{b}") } else { format!("{b}-{a}") })?;
    once("port", file.ports.iter(), |row| format!("{}>{}", row.from, row.to))?;
    let cuts = file.cuts.iter().map(|row| (&row.a, &row.b));
    once("cut", cuts, |(a, b)| if a < b { format!("{a}-{b}") } else { format!("{b}-{a}") })?;
    file.ports.iter().try_for_each(port)?;
    file.cells.iter().try_for_each(cell)?;
    file.flows.iter().try_for_each(flow)
}

/// Rejects flows whose metrics would have the same names.
pub(super) fn names(demands: &[Demand]) -> Result<(), OwnError> {
    let mut known: BTreeMap<String, &str> = BTreeMap::new();
    for demand in demands {
        if let Some(other) = known.insert(prefix(&demand.name), &demand.name) {
            let why = format!("its metrics have the same names as those of \"{other}\": {}", prefix(other));
            return Err(value(format!("flow \"{}\"", demand.name), why));
        }
    }
    Ok(())
}

/// Rejects a second row for the same object.
fn once<T>(what: &str, rows: impl Iterator<Item = T>, name: impl Fn(T) -> String) -> Result<(), OwnError> {
    let mut known = std::collections::BTreeSet::new();
    for name in rows.map(name) {
        if known.contains(&name) {
            return Err(value(format!("{what} {name}"), "there are two rows for it".to_owned()));
        }
        known.insert(name);
    }
    Ok(())
}

/// Rejects settings that do not belong to the row's scheduler.
fn port(row: &PortRow) -> Result<(), OwnError> {
    let of = format!("port {}>{}", row.from, row.to);
    let set = [
        ("gates", !row.gates.is_empty(), "gates"),
        ("quanta", row.quanta.is_some(), "drr"),
        ("idle_mbps", !row.idle_mbps.is_empty(), "cbs"),
        ("express_from", row.express_from.is_some(), "preemption"),
    ];
    for (key, set, scheduler) in set {
        if let Some(own) = row.scheduler.as_deref().filter(|own| set && *own != scheduler) {
            return Err(value(of, format!("`{key}` belongs to scheduler \"{scheduler}\", not to \"{own}\"")));
        }
    }
    match row.express_from {
        Some(class) if !(1..=7).contains(&class) => {
            Err(value(of, format!("`express_from` must be 1 to 7, not {class}")))
        }
        _ => Ok(()),
    }
}

fn cell(row: &CellRow) -> Result<(), OwnError> {
    let of = format!("cell \"{}\"", row.name);
    let numbers = [
        ("layers", row.layers.map(i64::from)),
        ("class", row.class.map(i64::from)),
        ("mantissa_bits", row.mantissa_bits.map(i64::from)),
        ("vlan", row.vlan.map(i64::from)),
    ];
    let numbers = numbers.into_iter().map(|(key, number)| (key, number.map(Value::Int)));
    let rates = [("mbps", row.mbps.map(Value::Float)), ("mbps_up", row.mbps_up.map(Value::Float))];
    let keys = settings::Cells::keys("cells").keys();
    for (name, number) in numbers.chain(rates) {
        let key = keys.iter().find(|key| key.name() == name);
        if let (Some(number), Some(key)) = (number, key) {
            let wrong = |_| value(&of, format!("`{name}` must be {}, not {number}", key.kind.allowed()));
            key.kind.accept(&number).map_err(wrong)?;
        }
    }
    for (sent, received, both) in [
        (row.t1a_up.is_some(), row.t2a_up.is_some(), "`t1a_up` and `t2a_up`"),
        (row.ta3_up.is_some(), row.ta4_up.is_some(), "`ta3_up` and `ta4_up`"),
    ] {
        // For other splits, another check rejects these columns.
        if sent != received && row.split == "7.2x" {
            return Err(value(
                of,
                format!("{both} must be given together: the times when frames are sent and received"),
            ));
        }
    }
    paths(&of, row.paths)
}

fn flow(row: &FlowRow) -> Result<(), OwnError> {
    let of = format!("flow \"{}\"", row.name);
    let implied = if row.trace.is_some() { "trace" } else { "periodic" };
    let pattern = row.pattern.as_deref().unwrap_or(implied);
    let set = [
        row.period.is_some(),
        row.mbps.is_some(),
        row.count.is_some(),
        row.jitter.is_some(),
        row.timer.is_some(),
        row.tdd.is_some(),
        row.tdd_special.is_some(),
        row.slot.is_some(),
        row.direction.is_some(),
    ];
    let wrong = OF_PATTERN.iter().zip(set).find(|((_, patterns), set)| *set && !patterns.contains(&pattern));
    if let Some(((key, patterns), _)) = wrong {
        let known = patterns.join(", ");
        return Err(value(of, format!("`{key}` belongs to pattern {known}, not to \"{pattern}\"")));
    }
    if row.bytes.is_some() && pattern == "trace" {
        return Err(value(
            of,
            "`bytes` does not belong to pattern \"trace\": its file has the sizes".to_owned(),
        ));
    }
    paths(&of, row.paths)
}

fn paths(of: &str, paths: Option<usize>) -> Result<(), OwnError> {
    match paths {
        Some(0) => Err(value(of, "`paths` must be 1 or more, not 0".to_owned())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let file: File = toml::from_str(text).unwrap();
        check(&file).unwrap_err().to_string()
    }

    #[test]
    fn second_row_for_same_object_is_refused() {
        let link = "[[links]]\na = \"x\"\nb = \"y\"\n";
        let back = "[[links]]\na = \"y\"\nb = \"x\"\nmbps = 100.0\n";
        let port = "[[ports]]\nfrom = \"x\"\nto = \"y\"\n";
        let cut = |from: &str| format!("[[cuts]]\na = \"x\"\nb = \"y\"\nfrom = \"{from}\"\n");
        for (text, why) in [
            (format!("{link}{back}"), "link x-y: there are two rows for it"),
            (format!("{port}{port}"), "port x>y: there are two rows for it"),
            (format!("{}{}", cut("1ms"), cut("5ms")), "cut x-y: there are two rows for it"),
        ] {
            let message = refused(&text);
            assert!(message.contains(why), "{why}: {message}");
        }
        // The two directions of a link are two different ports.
        let ports = format!("{port}[[ports]]\nfrom = \"y\"\nto = \"x\"\n");
        assert_eq!(check(&toml::from_str(&ports).unwrap()), Ok(()));
    }

    #[test]
    fn keys_without_effect_are_refused() {
        let port = "[[ports]]\nfrom = \"x\"\nto = \"y\"\n";
        let flow = "[[flows]]\nname = \"f\"\nfrom = \"x\"\nto = \"y\"\nbytes = 100\n";
        let cell = "[[cells]]\nname = \"c\"\ncu = \"x\"\ndu = \"y\"\nsplit = \"7.2x\"\n";
        for (text, why) in [
            (
                format!("{port}scheduler = \"strict\"\ngates = [{{ open = [7], duration = \"10us\" }}]\n"),
                "`gates` belongs to scheduler \"gates\", not to \"strict\"",
            ),
            (
                format!("{port}scheduler = \"fifo\"\nidle_mbps = [{{ class = 7, mbps = 100.0 }}]\n"),
                "`idle_mbps` belongs to scheduler \"cbs\", not to \"fifo\"",
            ),
            (format!("{port}express_from = 0\n"), "`express_from` must be 1 to 7, not 0"),
            (
                format!("{flow}period = \"1ms\"\ntimer = \"100ms\"\n"),
                "`timer` belongs to pattern iperf, not to \"periodic\"",
            ),
            (
                format!("{flow}pattern = \"tdd\"\nmbps = 100.0\n"),
                "`mbps` belongs to pattern periodic, poisson, iperf, not to \"tdd\"",
            ),
            (format!("{flow}pattern = \"poisson\"\nmbps = 1.0\njitter = \"1us\"\n"), "`jitter` belongs to"),
            (format!("{flow}trace = \"t.csv\"\n"), "`bytes` does not belong to pattern \"trace\""),
            (format!("{flow}period = \"1ms\"\npaths = 0\n"), "`paths` must be 1 or more, not 0"),
            (
                format!("{cell}t2a_up = [\"80us\", \"160us\"]\n"),
                "`t1a_up` and `t2a_up` must be given together",
            ),
            (format!("{cell}ta3_up = \"50us\"\n"), "`ta3_up` and `ta4_up` must be given together"),
            (format!("{cell}vlan = 4095\n"), "`vlan` must be a whole number from 1 to 4094, not 4095"),
            (format!("{cell}layers = 0\n"), "`layers` must be a whole number from 1 to 64, not 0"),
            (format!("{cell}class = 8\n"), "`class` must be a whole number from 0 to 7, not 8"),
            (format!("{cell}mbps = -1.0\n"), "`mbps` must be a number from 0 to 800000"),
        ] {
            let message = refused(&text);
            assert!(message.contains(why), "{why}: {message}");
        }
    }

    #[test]
    fn flows_with_equal_metric_names_are_refused() {
        let demand = |name: &str| Demand {
            name: name.to_owned(),
            from: "x".to_owned(),
            to: "y".to_owned(),
            class: 0,
            pattern: ranlab_xhaul::Pattern::constant(ranlab_xhaul::MS, 84),
            offset_ps: 0,
            regulator: None,
            budget_ps: None,
            window: None,
            paths: 1,
            route: Vec::new(),
        };
        assert_eq!(names(&[demand("a 1"), demand("a 2")]), Ok(()));
        let why = names(&[demand("a-1"), demand("A 1")]).unwrap_err().to_string();
        assert!(why.contains("flow \"A 1\"") && why.contains("those of \"a-1\": flow.a_1"), "{why}");
    }
}
