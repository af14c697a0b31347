//! Reads plots and expectations, which refer to settings and metrics.

use crate::description::RigDescription;
use crate::rig::MetricKind;
use crate::schema::{Kind, listed, nearest};
use crate::value::Value;

use super::super::tree::{Node, Tree};
use super::super::{Class, Expect, Law, Plot, PlotKind, Shape, core};
use super::{Reader, Values, text};

/// Maximum number of distinguishable areas.
const AREAS_MAX: usize = 8;

impl Reader<'_> {
    pub(super) fn plot(&mut self, node: &Node) -> Option<Plot> {
        let before = self.errors.len();
        let values = self.entry(node, "plot", &core::plot(), &["filter"]);
        let filter = self.filter(node, "filter");
        let x = text(&values, "plot.x")?.to_owned();
        let y = text(&values, "plot.y")?.to_owned();
        let written = text(&values, "plot.type").and_then(PlotKind::from_name);
        let stack: Vec<String> = match values.get("plot.stack") {
            Some(Value::List(list)) => list.iter().map(Value::to_string).collect(),
            _ => Vec::new(),
        };
        let kind = written.unwrap_or_else(|| self.form(&x));
        let axis_or_metric =
            |reader: &mut Self, key: &str, name: &str| reader.axis_or_metric(node, key, name);
        match kind {
            // The horizontal axis shows the values of the metric, or the time.
            PlotKind::Cdf | PlotKind::Series => {
                self.declared(node, "y", &y);
            }
            PlotKind::Areas => self.stack(node, &y, &stack),
            // The horizontal axis consists of the metrics themselves.
            PlotKind::Waterfall => self.steps(node, &y, &stack, text(&values, "plot.z")),
            PlotKind::Heat | PlotKind::Iso => {
                axis_or_metric(self, "x", &x);
                axis_or_metric(self, "y", &y);
                let lacks = match kind {
                    PlotKind::Heat => "a heat map needs `z`, the metric of its colour",
                    _ => "lines of equal value need `z`, the metric that is equal along them",
                };
                match text(&values, "plot.z") {
                    Some(z) => drop(self.metric(node, "z", z)),
                    None => self.errors.push(node.error(lacks)),
                }
            }
            // A box shows the quartiles of the distribution itself.
            PlotKind::Box if self.rig.metrics.iter().any(|metric| metric.name == y) => {
                axis_or_metric(self, "x", &x);
            }
            _ => {
                axis_or_metric(self, "x", &x);
                self.metric(node, "y", &y);
            }
        }
        let group_by = text(&values, "plot.group_by").map(str::to_owned);
        if let Some(group) = &group_by {
            self.setting(node, "group_by", group);
        }
        let plot = Plot {
            title: text(&values, "plot.title").unwrap_or_default().to_owned(),
            kind,
            x,
            y,
            group_by,
            z: text(&values, "plot.z").map(str::to_owned),
            levels: match values.get("plot.levels") {
                Some(Value::List(list)) => list.iter().filter_map(Value::number).collect(),
                _ => Vec::new(),
            },
            stack,
            log: text(&values, "plot.log").unwrap_or_default().to_owned(),
            zero: text(&values, "plot.zero").unwrap_or_default().to_owned(),
            filter,
        };
        (self.errors.len() == before).then_some(plot)
    }

    /// Returns the default form: lines over numbers, bars over other values.
    fn form(&self, x: &str) -> PlotKind {
        match self.rig.keys.iter().find(|key| key.path == x).map(|key| &key.kind) {
            Some(Kind::Bool | Kind::Text | Kind::Choice(_) | Kind::List(_) | Kind::OneOrMore(_)) => {
                PlotKind::Bars
            }
            _ => PlotKind::Lines,
        }
    }

    pub(super) fn expect(&mut self, node: &Node) -> Option<Expect> {
        let before = self.errors.len();
        let values = self.entry(node, "expect", &core::expect(), &["where", "against", "order"]);
        let filter = self.filter(node, "where");
        let against = self.filter(node, "against");
        let metric = self.metric(node, "metric", text(&values, "expect.metric")?);
        let law = self.law(node, &values, against);
        let required = values.get("expect.required") == Some(&Value::Bool(true));
        let source = text(&values, "expect.source").unwrap_or_default().to_owned();
        let class = self.class(node, &values);
        let word = |key: &str| text(&values, key).unwrap_or_default().to_owned();
        let tuned = word("expect.tuned");
        let cause = word("expect.cause");
        (self.errors.len() == before).then_some(())?;
        Some(Expect { filter, metric: metric?, law: law?, source, class, tuned, cause, required })
    }

    /// Reads the source of an expectation: the published work or the author.
    fn class(&mut self, node: &Node, values: &Values) -> Class {
        let written = text(values, "expect.class").and_then(Class::from_name);
        let has_source = text(values, "expect.source").is_some_and(|source| !source.is_empty());
        let has_tuned = text(values, "expect.tuned").is_some_and(|tuned| !tuned.is_empty());
        let class = match written {
            Some(class) => class,
            None if has_tuned => Class::Tuned,
            None if self.published && has_source => Class::Paper,
            None => Class::Own,
        };
        let offence = match class {
            Class::Paper | Class::Tuned if !has_source => {
                "an expectation of class `paper` or `tuned` needs `source`: the statement and its place"
            }
            Class::Tuned if !has_tuned => {
                "an expectation of class `tuned` needs `tuned`: the setting that was chosen to meet it"
            }
            Class::Paper | Class::Own if has_tuned => "`tuned` belongs to an expectation of class `tuned`",
            _ => return class,
        };
        self.errors.push(node.child("class").unwrap_or(node).error(offence));
        class
    }

    fn law(&mut self, node: &Node, values: &Values, against: Values) -> Option<Law> {
        let number = |key: &str| values.get(key).and_then(Value::number);
        let at_least = number("expect.at_least");
        let at_most = number("expect.at_most");
        let tolerance = number("expect.tolerance")?;
        let along = text(values, "expect.along").map(str::to_owned);
        if let Some(along) = &along {
            self.setting(node, "along", along);
        }
        let bounded = at_least.is_some() || at_most.is_some();
        let law = match (number("expect.value"), number("expect.ratio"), text(values, "expect.shape"), along)
        {
            (Some(value), None, None, None) if !bounded && against.is_empty() => {
                Law::Value { value, tolerance }
            }
            (None, ratio, None, None) if !against.is_empty() && (ratio.is_some() || bounded) => {
                Law::Ratio { against, ratio, tolerance, at_least, at_most }
            }
            (None, None, None, None) if bounded => Law::Bounds { at_least, at_most },
            (None, None, Some(shape), Some(along)) => {
                Law::Shape { along, shape: Shape::from_name(shape)?, tolerance }
            }
            (None, None, None, Some(along)) if node.child("order").is_some() => {
                let order = node.child("order")?;
                let key = self.rig.keys.iter().find(|key| key.path == along)?;
                let Some(Value::List(list)) = order.value() else {
                    self.errors.push(
                        order.error("`order` must be a list of values of the axis, the largest metric first"),
                    );
                    return None;
                };
                let list: Result<Vec<_>, _> = list.iter().map(|value| key.kind.accept(value)).collect();
                match list {
                    Ok(list) if list.len() >= 2 => Law::Order { along, order: list },
                    Ok(_) => {
                        self.errors.push(order.error("`order` must name at least two values"));
                        return None;
                    }
                    Err(allowed) => {
                        self.errors.push(order.error(format!("a value of `order` must be {allowed}")));
                        return None;
                    }
                }
            }
            _ => {
                self.errors.push(node.error(
                    "an expectation states exactly one of: `value`; `at_least`/`at_most`; `ratio` or bounds with \
                     `against`; `shape` with `along`; `order` with `along`",
                ));
                return None;
            }
        };
        Some(law)
    }

    /// Reads a table of settings and the values that points must have.
    fn filter(&mut self, node: &Node, key: &str) -> Values {
        let mut entries = Vec::new();
        if let Some(filter) = node.child(key) {
            if !matches!(filter.tree, Tree::Table(_)) {
                let sentence =
                    format!("`{key}` must be a table of settings, such as {{ \"load.nodes\" = 10 }}");
                self.errors.push(filter.error(sentence));
            }
            filter.flatten("", &mut entries);
        }
        let mut filter = Values::new();
        for (path, node) in entries {
            let Some(kind) =
                self.rig.keys.iter().find(|rig_key| rig_key.path == path).map(|key| key.kind.clone())
            else {
                self.setting(&node, key, &path);
                continue;
            };
            match node.value().map(|value| kind.accept(&value)) {
                Some(Ok(value)) => drop(filter.insert(path, value)),
                _ => self.errors.push(node.error(format!("`{key}`: `{path}` must be {}", kind.allowed()))),
            }
        }
        filter
    }

    pub(super) fn metric(&mut self, node: &Node, key: &str, name: &str) -> Option<String> {
        let known = self.rig.metric_names();
        if known.iter().any(|known| known == name) {
            return Some(name.to_owned());
        }
        self.no_such(node, key, "metric", name, &known);
        None
    }

    /// Checks that the rig declares a metric of exactly this name, for plots of whole distributions and series.
    fn declared(&mut self, node: &Node, key: &str, name: &str) {
        let known: Vec<String> = self.rig.metrics.iter().map(|metric| metric.name.clone()).collect();
        if !known.iter().any(|known| known == name) {
            self.no_such(node, key, "metric", name, &known);
        }
    }

    /// Checks that all series have the same unit, and that each occurs once.
    fn stack(&mut self, node: &Node, y: &str, stack: &[String]) {
        let unit = |name: &str| {
            let metric = self.rig.metrics.iter().find(|metric| metric.name == name);
            metric.filter(|metric| metric.kind == MetricKind::Series).map(|metric| metric.unit.clone())
        };
        if stack.len() >= AREAS_MAX {
            let sentence =
                format!("`stack`: at most {} series can be distinguished on top of `y`", AREAS_MAX - 1);
            self.errors.push(node.child("stack").unwrap_or(node).error(sentence));
        }
        let names: Vec<&str> = std::iter::once(y).chain(stack.iter().map(String::as_str)).collect();
        for (at, name) in names.iter().enumerate() {
            let key = if at == 0 { "y" } else { "stack" };
            let offence = match unit(name) {
                None => {
                    let all = self.rig.metrics.iter().filter(|metric| metric.kind == MetricKind::Series);
                    let all: Vec<&str> = all.map(|metric| metric.name.as_str()).collect();
                    format!("there is no series `{name}`; rig \"{}\" has {}", self.rig.name, all.join(", "))
                }
                Some(_) if names[..at].contains(name) => format!("`{name}` is stacked twice"),
                Some(own) if unit(y).is_some_and(|unit| unit != own) => {
                    format!("`{name}` is in another unit than `{y}` and cannot be stacked upon it")
                }
                Some(_) => continue,
            };
            self.errors.push(node.child(key).unwrap_or(node).error(format!("`{key}`: {offence}")));
            return;
        }
    }

    /// Checks that all metrics of a waterfall, and the bound of their sum, have the same unit and occur once.
    fn steps(&mut self, node: &Node, y: &str, stack: &[String], bound: Option<&str>) {
        if stack.len() >= AREAS_MAX {
            let sentence = format!("`stack`: at most {} metrics come behind `y`", AREAS_MAX - 1);
            self.errors.push(node.child("stack").unwrap_or(node).error(sentence));
        }
        let unit = |rig: &RigDescription, name: &str| rig.metric(name).map(|metric| metric.unit.clone());
        let behind = stack.iter().map(|name| ("stack", name.as_str()));
        let names: Vec<(&str, &str)> =
            std::iter::once(("y", y)).chain(behind).chain(bound.map(|name| ("z", name))).collect();
        for (at, (key, name)) in names.iter().enumerate() {
            if self.metric(node, key, name).is_none() {
                return;
            }
            let offence = if names[..at].iter().any(|(_, before)| before == name) {
                "occurs twice"
            } else if unit(self.rig, name) != unit(self.rig, y) {
                "is in another unit than `y`, and cannot be added to it"
            } else {
                continue;
            };
            let sentence = format!("`{key}`: `{name}` {offence}");
            self.errors.push(node.child(key).unwrap_or(node).error(sentence));
            return;
        }
    }

    pub(super) fn setting(&mut self, node: &Node, key: &str, path: &str) {
        let known: Vec<String> = self.rig.keys.iter().map(|key| key.path.clone()).collect();
        if !known.iter().any(|known| known == path) {
            self.no_such(node, key, "setting", path, &known);
        }
    }

    fn axis_or_metric(&mut self, node: &Node, key: &str, name: &str) {
        let mut known: Vec<String> = self.rig.keys.iter().map(|key| key.path.clone()).collect();
        known.extend(self.rig.metric_names());
        if !known.iter().any(|known| known == name) {
            self.no_such(node, key, "setting or metric", name, &known);
        }
    }

    fn no_such(&mut self, node: &Node, key: &str, what: &str, name: &str, known: &[String]) {
        let hint = match nearest(name, known.iter().map(String::as_str)) {
            Some(near) => format!("; `{near}` is the nearest"),
            None => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                format!("; rig \"{}\" has {}", self.rig.name, listed(name, &known))
            }
        };
        let node = node.child(key).unwrap_or(node);
        self.errors.push(node.error(format!("`{key}`: there is no {what} `{name}`{hint}")));
    }
}
