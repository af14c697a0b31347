//! Two sides of a comparison in pictures, with one picture for each value of a setting, for example for each pipeline.

use std::collections::BTreeMap;

use crate::compare::{COMPARED, together};
use ranlab_campaign::results::Results;
use ranlab_campaign::scenario::{Plot, PlotKind};
use ranlab_campaign::value::Value;

use super::build::figures;
use super::figure::Figure;

/// Maximum number of pictures, in the order of the first side's points.
const PICTURES_MAX: usize = 32;

/// Returns a picture of `metric` for each value of the setting `per` (without `per`, one picture of all points). Each
/// entry has the value and the picture. A picture shows both sides over the first axis that has several values there,
/// or as bars. The result is empty if the two sides share no point.
pub fn beside(
    a: (&str, &Results),
    b: (&str, &Results),
    metric: &str,
    per: Option<&str>,
) -> Vec<(String, Figure)> {
    let mut all = together(a, b);
    let mut values: Vec<Option<Value>> = Vec::new();
    for point in &all.points {
        let value = per.and_then(|per| point.point.settings.get(per)).cloned();
        if !values.contains(&value) && values.len() < PICTURES_MAX {
            values.push(value);
        }
    }
    let mut pictures = Vec::new();
    for value in values {
        let name = value.as_ref().map_or_else(|| "all".to_owned(), Value::to_string);
        let filter: BTreeMap<String, Value> =
            per.zip(value).map(|(per, value)| (per.to_owned(), value)).into_iter().collect();
        all.scenario.plots = vec![plot(&all, metric, filter, &name)];
        // A setting whose values are separate measurements has a picture for each value.
        for (number, figure) in figures(&all).into_iter().enumerate() {
            let name = if number == 0 { name.clone() } else { format!("{name}-{}", number + 1) };
            pictures.push((name, figure));
        }
    }
    pictures
}

fn plot(all: &Results, metric: &str, filter: BTreeMap<String, Value>, name: &str) -> Plot {
    let points: Vec<_> = all.matching(&filter).collect();
    let axes = points.first().map_or(&[][..], |point| &point.point.axes);
    let varies = |path: &str| {
        let mut values = points.iter().filter_map(|point| point.point.settings.get(path));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let across = axes.iter().map(|(path, _)| path.as_str()).find(|path| varies(path));
    let x = across.unwrap_or(COMPARED).to_owned();
    let number = |point: &&ranlab_campaign::results::PointResult| {
        point.point.settings.get(&x).and_then(Value::number).filter(|value| *value > 0.0)
    };
    let numbers: Vec<f64> = points.iter().filter_map(number).collect();
    let numeric = numbers.len() == points.len() && across.is_some();
    // If the largest value is more than a hundred times the smallest, the axis is logarithmic.
    let (least, most) = numbers.iter().fold((f64::INFINITY, 0.0_f64), |(l, m), v| (l.min(*v), m.max(*v)));
    Plot {
        title: format!("{name}: {metric}"),
        kind: if numeric { PlotKind::Lines } else { PlotKind::Bars },
        x,
        y: metric.to_owned(),
        group_by: Some(COMPARED.to_owned()),
        z: None,
        levels: Vec::new(),
        stack: Vec::new(),
        log: if numeric && most >= 100.0 * least { "x".to_owned() } else { String::new() },
        zero: "xy".to_owned(),
        filter,
    }
}
