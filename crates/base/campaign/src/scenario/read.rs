//! Checks the tree of a scenario file, whose nodes carry their position in the file, and creates the scenario. Errors
//! in settings are collected; each is one sentence.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::description::RigDescription;
use crate::schema::{Key, Presence, listed, nearest};
use crate::value::Value;

use self::rename::Rename;
use super::tree::{self, Node, Tree};
use super::{
    Axis, Expect, Law, Measure, Order, Overrides, POINTS_MAX, Paper, Scenario, ScenarioError, ScenarioErrors,
    Sweep, SweepMode, core,
};

/// Maximum number of listed errors; a longer list is no help.
const ERRORS_MAX: usize = 20;

pub(super) fn finish(
    mut root: Node,
    overrides: &Overrides,
    rigs: &[RigDescription],
) -> Result<Scenario, ScenarioErrors> {
    let mut sets = overrides.sets.clone();
    let mut rig = {
        let mut root = root.clone();
        sets.iter().try_for_each(|set| tree::set(&mut root, set))?;
        find_rig(&root, rigs)?.clone()
    };
    let mut rename = Rename::new(&rig);
    rename.file(&mut root)?;
    for set in &mut sets {
        rename.path(set);
        tree::set(&mut root, set)?;
    }
    // A value from the command line may also be the earlier name of a setting or metric, so names are replaced once
    // more.
    rename.file(&mut root)?;
    let renamed = rename.used();
    if let Some(search) = root.child("search") {
        let kind = search.child("type").and_then(Node::value);
        let kind = kind.as_ref().and_then(Value::text).unwrap_or_default();
        let seen = search::seen_after(search, &rig);
        let goals = if kind == "mlr" { crate::search::mlr::GOALS_MAX } else { 0 };
        rig.metrics.extend(super::search::metrics(goals, kind == "plr", seen));
    }
    // Settings on the command line replace a sweep of the same key.
    let fixed = sets.iter().filter_map(|set| Some(set.split_once('=')?.0.trim())).collect();
    let published = root.child("paper").is_some();
    let mut reader = Reader { rig: &rig, fixed, published, errors: Vec::new() };
    let scenario = reader.scenario(&root);
    reader.errors.truncate(ERRORS_MAX);
    match scenario {
        Some(mut scenario) if reader.errors.is_empty() => {
            scenario.renamed = renamed;
            if overrides.quick {
                shrink(&mut scenario);
            }
            Ok(scenario)
        }
        _ => Err(ScenarioErrors(reader.errors)),
    }
}

fn find_rig<'a>(root: &Node, rigs: &'a [RigDescription]) -> Result<&'a RigDescription, ScenarioError> {
    let names: Vec<&str> = rigs.iter().map(|rig| rig.name.as_str()).collect();
    let Some(node) = root.child("rig") else {
        let there: Vec<&str> = root.entries().iter().map(|(key, _)| key.as_str()).collect();
        let hint =
            nearest("rig", there).map(|key| format!(" (`{key}` may be a misspelling)")).unwrap_or_default();
        return Err(root.error(format!("`rig` is missing{hint}; `rig` must be one of {}", quoted(&names))));
    };
    let name = node.value();
    let found = name.as_ref().and_then(Value::text).and_then(|name| rigs.iter().find(|rig| rig.is(name)));
    found.ok_or_else(|| {
        let name = name.map(|name| name.to_string()).unwrap_or_default();
        let hint = nearest(&name, names.iter().copied())
            .map(|near| format!(" (the nearest name is `{near}`)"))
            .unwrap_or_default();
        node.error(format!("there is no rig `{name}`{hint}; `rig` must be one of {}", quoted(&names)))
    })
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

mod refer;
mod rename;
mod search;

type Values = BTreeMap<String, Value>;

struct Reader<'a> {
    rig: &'a RigDescription,
    /// Paths that the command line sets.
    fixed: Vec<&'a str>,
    /// Whether the scenario reproduces a published work.
    published: bool,
    errors: Vec<ScenarioError>,
}

impl Reader<'_> {
    fn scenario(&mut self, root: &Node) -> Option<Scenario> {
        self.sections(root);
        let mut top = Vec::new();
        let mut own = Vec::new();
        for (key, node) in root.entries() {
            let entry =
                Node { place: node.place.clone(), tree: Tree::Table(vec![(key.clone(), node.clone())]) };
            match key.as_str() {
                "title" | "about" | "rig" | "paper" => entry.flatten("", &mut top),
                key if self.rig.keys.iter().any(|rig_key| rig_key.section() == key) => {
                    entry.flatten("", &mut own)
                }
                _ => {}
            }
        }
        let top = self.check(root, &top, &core::top(), &[]);
        let sweep = self.sweep(root);
        let search = self.search(root);
        let swept: Vec<String> = search::swept_paths(sweep.as_ref(), search.as_ref());
        let keys = self.rig.keys.clone();
        let settings = self.check(root, &own, &keys, &swept);
        let measure = self.measure(root);
        if let Some((search, measure)) = root.child("search").zip(measure.as_ref()) {
            self.trial_length(search, measure.windows().1, &settings);
        }
        let plots = self.list(root, "plot").iter().filter_map(|node| self.plot(node)).collect();
        let expects = self.list(root, "expect").iter().filter_map(|node| self.expect(node)).collect();
        self.conditions(&own, &settings, sweep.as_ref());
        let text = |key: &str| top.get(key).map(Value::to_string);
        Some(Scenario {
            title: text("title")?,
            about: text("about").unwrap_or_default(),
            paper: text("paper.work").map(|work| Paper {
                work,
                figure: text("paper.figure"),
                table: text("paper.table"),
            }),
            rig: text("rig")?,
            settings,
            sweep: sweep?,
            searched: search::searched(self.rig, search.as_ref()),
            search,
            measure: measure?,
            plots,
            expects,
            quick: false,
            renamed: Vec::new(),
        })
    }

    /// Rejects unknown top-level keys.
    fn sections(&mut self, root: &Node) {
        let mut known: Vec<&str> =
            core::SECTIONS.iter().copied().filter(|section| *section != "settings").collect();
        for key in &self.rig.keys {
            if !known.contains(&key.section()) {
                known.push(key.section());
            }
        }
        for (key, node) in root.entries() {
            if !known.contains(&key.as_str()) {
                self.errors.push(node.error(unknown(key, &known)));
            }
        }
    }

    fn measure(&mut self, root: &Node) -> Option<Measure> {
        let values = self.section(root, "measure", &core::measure());
        let span = |key: &str| values.get(key).and_then(Value::span);
        let measure = Measure {
            duration: span("measure.duration")?,
            warm_up: span("measure.warm_up")?,
            trim: span("measure.trim")?,
            repeats: whole(&values, "measure.repeats")?,
            timeout: span("measure.timeout"),
            seed: whole(&values, "measure.seed")?,
            order: if text(&values, "measure.order")? == "random" { Order::Random } else { Order::Given },
            confidence: values.get("measure.confidence")?.number()?,
            paired: values.get("measure.paired") == Some(&Value::Bool(true)),
        };
        let node = root.child("measure").unwrap_or(root);
        if measure.duration.is_zero() {
            self.errors.push(node.error("`measure.duration` must be longer than 0s"));
        }
        if measure.trim * 2 >= measure.duration && !measure.trim.is_zero() {
            self.errors.push(node.child("trim").unwrap_or(node).error(format!(
                "`measure.trim` is cut from both ends and must be less than half of `measure.duration` ({})",
                crate::value::format_span(measure.duration)
            )));
        }
        Some(measure)
    }

    fn sweep(&mut self, root: &Node) -> Option<Sweep> {
        let Some(node) = root.child("sweep") else {
            return Some(Sweep { mode: SweepMode::None, axes: Vec::new() });
        };
        let values = self.section_but(root, "sweep", &core::sweep(), "axes");
        let mode = SweepMode::from_name(text(&values, "sweep.mode")?)?;
        let mut entries = Vec::new();
        if let Some(axes) = node.child("axes") {
            axes.flatten("", &mut entries);
        }
        entries.retain(|(path, _)| !self.fixed.contains(&path.as_str()));
        let axes: Vec<Axis> = entries.iter().filter_map(|(path, node)| self.axis(path, node, mode)).collect();
        if axes.len() < entries.len() {
            return None;
        }
        if mode == SweepMode::Joint
            && axes.windows(2).any(|pair| pair[0].values.len() != pair[1].values.len())
        {
            let lengths: Vec<_> =
                axes.iter().map(|axis| format!("{} has {}", axis.path, axis.values.len())).collect();
            let sentence = format!("axes of a joint sweep must be of one length: {}", lengths.join(", "));
            self.errors.push(node.error(sentence));
        } else if let Some(second) = (mode == SweepMode::Joint).then(|| repeated(&axes)).flatten() {
            let values = axes.iter().map(|axis| format!("{} = {}", axis.path, axis.values[second]));
            let point = values.collect::<Vec<_>>().join(", ");
            self.errors.push(node.error(format!("the joint sweep has the point {point} twice")));
        }
        let points = axes.iter().fold(1_usize, |points, axis| points.saturating_mul(axis.values.len()));
        if mode == SweepMode::Outer && points > POINTS_MAX {
            self.errors.push(node.error(format!("the sweep has {points} points; {POINTS_MAX} are allowed")));
        }
        Some(Sweep { mode, axes })
    }

    fn axis(&mut self, path: &str, node: &Node, mode: SweepMode) -> Option<Axis> {
        let Some(key) = self.rig.keys.iter().find(|key| key.path == path) else {
            let known: Vec<&str> = self.rig.keys.iter().map(|key| key.path.as_str()).collect();
            self.errors.push(node.error(unknown(path, &known)));
            return None;
        };
        let Tree::List(list) = &node.tree else {
            self.errors
                .push(node.error(format!("axis `{path}` must be a list of values, such as [1, 10, 100]")));
            return None;
        };
        if list.is_empty() {
            self.errors.push(node.error(format!("axis `{path}` is empty; it must have at least one value")));
            return None;
        }
        let mut values: Vec<Value> = Vec::with_capacity(list.len());
        for entry in list {
            match entry.value().map(|value| key.kind.accept(&value)) {
                // An axis of a joint sweep may repeat a value, because only the points must differ. Example: `system` =
                // [a, a, b, b] with `size` = [64, 1500, 64, 1500].
                Some(Ok(value))
                    if mode != SweepMode::Joint && values.iter().any(|earlier| earlier.same(&value)) =>
                {
                    self.errors.push(entry.error(format!("axis `{path}` has the value {value} twice")));
                    return None;
                }
                Some(Ok(value)) => values.push(value),
                _ => {
                    let sentence = format!("a value of axis `{path}` must be {}", key.kind.allowed());
                    self.errors.push(entry.error(sentence));
                    return None;
                }
            }
        }
        let unit = key.unit.clone();
        let about = key.comment.clone();
        Some(Axis { path: path.to_owned(), values, unit, about, apart: key.apart })
    }

    fn list<'n>(&mut self, root: &'n Node, key: &str) -> &'n [Node] {
        match root.child(key).map(|node| (node, &node.tree)) {
            None => &[],
            Some((_, Tree::List(list))) => list,
            Some((node, _)) => {
                self.errors.push(node.error(format!("`{key}` is a list: write [[{key}]]")));
                &[]
            }
        }
    }

    fn section(&mut self, root: &Node, name: &str, keys: &[Key]) -> Values {
        self.section_but(root, name, keys, "")
    }

    fn section_but(&mut self, root: &Node, name: &str, keys: &[Key], except: &str) -> Values {
        match root.child(name) {
            Some(node) if !matches!(node.tree, Tree::Table(_)) => {
                self.errors.push(node.error(format!("`{name}` is a section: write [{name}]")));
                Values::new()
            }
            Some(node) => self.entry(node, name, keys, &[except]),
            None => self.check(root, &[], keys, &[]),
        }
    }

    /// Reads the keys of one table. The caller reads the keys in `except`.
    fn entry(&mut self, node: &Node, name: &str, keys: &[Key], except: &[&str]) -> Values {
        let mut kept = node.clone();
        if let Tree::Table(entries) = &mut kept.tree {
            entries.retain(|(key, _)| !except.contains(&key.as_str()));
        }
        let mut entries = Vec::new();
        kept.flatten(name, &mut entries);
        let mut known = keys.to_vec();
        // The keys in `except` (such as `knobs`) count as known, so that an error can suggest them for a mistyped key.
        // Their entries were removed above, because the caller reads them.
        known.extend(
            except
                .iter()
                .filter(|key| !key.is_empty())
                .map(|key| Key::new(&format!("{name}.{key}"), crate::schema::Kind::Text, "").optional()),
        );
        self.check(node, &entries, &known, &[])
    }

    /// Returns the values of the written keys and the defaults of the others. The keys in `given` are set elsewhere, by
    /// axes.
    fn check(&mut self, home: &Node, entries: &[(String, Node)], keys: &[Key], given: &[String]) -> Values {
        let mut values = Values::new();
        for (path, node) in entries {
            let Some(key) = keys.iter().find(|key| key.path == *path) else {
                let known: Vec<&str> = keys.iter().map(|key| key.path.as_str()).collect();
                self.errors.push(node.error(unknown(path, &known)));
                continue;
            };
            let value = node.value().ok_or_else(|| key.kind.allowed());
            match value.and_then(|value| key.kind.accept(&value)) {
                Ok(value) => drop(values.insert(path.clone(), value)),
                Err(allowed) => {
                    let unit = if key.unit.is_empty() { String::new() } else { format!(" ({})", key.unit) };
                    self.errors.push(node.error(format!("`{path}` must be {allowed}{unit}")));
                }
            }
        }
        for key in keys {
            if entries.iter().any(|(path, _)| *path == key.path) || !applies(key, &values, keys) {
                continue;
            }
            match &key.presence {
                Presence::Default(value) => drop(values.insert(key.path.clone(), value.clone())),
                Presence::Required if !given.contains(&key.path) => {
                    let sentence = format!(
                        "`{}` is missing: {}; it must be {}",
                        key.path,
                        key.comment,
                        key.kind.allowed()
                    );
                    self.errors.push(home.error(sentence));
                }
                Presence::Required | Presence::Optional => {}
            }
        }
        values
    }

    /// Rejects a key that depends on another key's value, if neither the settings nor any axis gives that other key a
    /// suitable value.
    fn conditions(&mut self, entries: &[(String, Node)], settings: &Values, sweep: Option<&Sweep>) {
        for (path, node) in entries {
            let Some((on, values)) =
                self.rig.keys.iter().find(|key| key.path == *path).and_then(|key| key.when.clone())
            else {
                continue;
            };
            let mut chosen: Vec<String> = settings.get(&on).iter().map(|value| value.to_string()).collect();
            let axis = sweep.and_then(|sweep| sweep.axes.iter().find(|axis| axis.path == on));
            chosen.extend(axis.iter().flat_map(|axis| axis.values.iter().map(Value::to_string)));
            if !chosen.iter().any(|chosen| values.contains(chosen)) {
                let allowed: Vec<&str> = values.iter().map(String::as_str).collect();
                let is = chosen.first().map_or_else(|| "absent".to_owned(), |is| format!("\"{is}\""));
                let one_of = if allowed.len() > 1 { "one of " } else { "" };
                let sentence = format!(
                    "`{path}` is allowed only if `{on}` is {one_of}{}, but `{on}` is {is}",
                    quoted(&allowed)
                );
                self.errors.push(node.error(sentence));
            }
        }
    }
}

/// Whether a key exists in combination with these values.
pub(crate) fn applies(key: &Key, values: &Values, keys: &[Key]) -> bool {
    let Some((on, allowed)) = &key.when else { return true };
    let default = || {
        keys.iter().find(|key| key.path == *on).and_then(|key| match &key.presence {
            Presence::Default(value) => Some(value.to_string()),
            Presence::Required | Presence::Optional => None,
        })
    };
    values.get(on).map(Value::to_string).or_else(default).is_some_and(|value| allowed.contains(&value))
}

fn unknown(path: &str, known: &[&str]) -> String {
    let leaf = path.rsplit('.').next().unwrap_or(path);
    let near = nearest(path, known.iter().copied())
        .or_else(|| known.iter().copied().find(|key| key.rsplit('.').next() == Some(leaf)));
    match near {
        Some(near) => format!("unknown key `{path}`; `{near}` is the nearest"),
        None => format!("unknown key `{path}`; known are {}", listed(path, known)),
    }
}

/// Returns the position of a point of a joint sweep that equals an earlier point. All axes have the same length.
fn repeated(axes: &[Axis]) -> Option<usize> {
    let count = axes.first()?.values.len();
    let same = |a: usize, b: usize| axes.iter().all(|axis| axis.values[a].same(&axis.values[b]));
    (1..count).find(|&later| (0..later).any(|earlier| same(earlier, later)))
}

fn text<'v>(values: &'v Values, key: &str) -> Option<&'v str> {
    values.get(key).and_then(Value::text)
}

fn whole<T: TryFrom<i64>>(values: &Values, key: &str) -> Option<T> {
    if let Some(Value::Int(int)) = values.get(key) { T::try_from(*int).ok() } else { None }
}

/// Reduces a scenario to a smoke run: a second per point, and one repeat. The ends of each axis and the points of
/// required expectations remain.
fn shrink(scenario: &mut Scenario) {
    scenario.quick = true;
    scenario.measure.duration = scenario.measure.duration.min(Duration::from_secs(1));
    scenario.measure.warm_up = scenario.measure.warm_up.min(Duration::from_millis(200));
    scenario.measure.trim = Duration::ZERO;
    scenario.measure.repeats = 1;
    let needed: Vec<&Expect> = scenario.expects.iter().filter(|expect| expect.required).collect();
    // Values of a joint sweep stay together: an index that one axis keeps is kept for all axes.
    let keep = |axis: &Axis, index: usize| {
        let value = &axis.values[index];
        let named = |filter: &Values| filter.get(&axis.path).is_some_and(|named| named.same(value));
        index == 0
            || index + 1 == axis.values.len()
            || needed.iter().any(|expect| match &expect.law {
                Law::Ratio { against, .. } => named(&expect.filter) || named(against),
                Law::Order { along, .. } | Law::Shape { along, .. } => {
                    *along == axis.path || named(&expect.filter)
                }
                Law::Value { .. } | Law::Bounds { .. } => named(&expect.filter),
            })
    };
    let axes = scenario.sweep.axes.clone();
    let joint = scenario.sweep.mode == SweepMode::Joint;
    for axis in &mut scenario.sweep.axes {
        let kept = (0..axis.values.len())
            .filter(
                |&index| if joint { axes.iter().any(|axis| keep(axis, index)) } else { keep(axis, index) },
            )
            .map(|index| axis.values[index].clone())
            .collect();
        axis.values = kept;
    }
    if let Some(search) = &mut scenario.search {
        search::shrink(search);
    }
}
