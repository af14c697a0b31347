//! Finds the expectations and figures of a scenario for which its points have no data.

use std::collections::BTreeMap;

use crate::plan::Point;
use crate::value::Value;

use super::{Expect, Law, Plot, Scenario, Shape};

/// An expectation or a figure for which the points of a scenario have no data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unanswered {
    /// No point has the settings of an expectation or a figure.
    #[error("{what}: no point of the sweep has {filter}")]
    NoPoint {
        /// The expectation or the figure.
        what: String,
        /// Settings that no point has.
        filter: String,
    },
    /// No point has any value of a setting.
    #[error("{what}: no point has the setting `{path}`; vary it in [sweep.axes], or set it")]
    NoSetting {
        /// The expectation or the figure.
        what: String,
        /// Path of the setting.
        path: String,
    },
    /// A shape or a figure needs more values of a setting than the points have.
    #[error(
        "{what}: needs {needed} values of `{path}`, and the points have {found}; vary it in [sweep.axes]"
    )]
    TooFewValues {
        /// The expectation or the figure.
        what: String,
        /// Path of the setting.
        path: String,
        /// The required number.
        needed: usize,
        /// The available number.
        found: usize,
    },
}

type Settings = BTreeMap<String, Value>;

/// Returns the plots and expectations for which these points have no data, in the order of the file.
pub fn unanswered(scenario: &Scenario, points: &[Point]) -> Vec<Unanswered> {
    // A setting varied by a search has every value.
    let searched = scenario.searched.as_ref().map(|axis| axis.path.as_str());
    let query = UnansweredQuery { points, searched };
    let plots = scenario.plots.iter().enumerate().filter_map(|(index, plot)| query.plot(index, plot));
    let expects =
        scenario.expects.iter().enumerate().filter_map(|(index, expect)| query.expect(index, expect));
    plots.chain(expects).collect()
}

struct UnansweredQuery<'a> {
    points: &'a [Point],
    searched: Option<&'a str>,
}

impl UnansweredQuery<'_> {
    fn has_point(&self, what: &str, filter: &Settings) -> Option<Unanswered> {
        if self.points.iter().any(|point| point.matches(filter)) {
            return None;
        }
        let words = filter.iter().map(|(path, value)| format!("{path} = {value}"));
        Some(Unanswered::NoPoint { what: what.to_owned(), filter: words.collect::<Vec<_>>().join(", ") })
    }

    /// Returns the different values of a setting among the points of a filter.
    fn values(&self, filter: &Settings, path: &str) -> Vec<&Value> {
        let mut values: Vec<&Value> = Vec::new();
        let matching = self.points.iter().filter(|point| point.matches(filter));
        for value in matching.filter_map(|point| point.settings.get(path)) {
            if !values.iter().any(|known| known.same(value)) {
                values.push(value);
            }
        }
        values
    }

    fn needs(&self, what: &str, filter: &Settings, path: &str, needed: usize) -> Option<Unanswered> {
        if self.searched == Some(path) {
            return None;
        }
        let what = what.to_owned();
        let path = path.to_owned();
        match self.values(filter, &path).len() {
            0 => Some(Unanswered::NoSetting { what, path }),
            found if found < needed => Some(Unanswered::TooFewValues { what, path, needed, found }),
            _ => None,
        }
    }

    fn expect(&self, index: usize, expect: &Expect) -> Option<Unanswered> {
        let what = format!("expectation {} ({})", index + 1, expect.metric);
        if let Some(none) = self.has_point(&what, &expect.filter) {
            return Some(none);
        }
        match &expect.law {
            Law::Value { .. } | Law::Bounds { .. } => None,
            Law::Ratio { against, .. } => {
                let mut filter = expect.filter.clone();
                filter.extend(against.clone());
                self.has_point(&what, &filter)
            }
            Law::Order { along, order } => order.iter().find_map(|value| {
                let mut filter = expect.filter.clone();
                filter.insert(along.clone(), value.clone());
                self.has_point(&what, &filter)
            }),
            Law::Shape { along, shape, .. } => {
                let needed = if *shape == Shape::Peaked { 3 } else { 2 };
                self.needs(&what, &expect.filter, along, needed)
            }
        }
    }

    fn plot(&self, index: usize, plot: &Plot) -> Option<Unanswered> {
        let what = format!("figure {}", index + 1);
        self.has_point(&what, &plot.filter).or_else(|| {
            // Without a second value of the grouping axis, the figure would have only one series.
            let group = plot.group_by.as_deref()?;
            self.needs(&what, &plot.filter, group, 2)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::MockRig;
    use crate::plan::Plan;
    use crate::rig::Rig;
    use crate::scenario::Overrides;

    fn found(text: &str) -> Vec<Unanswered> {
        let rig = MockRig::default().describe();
        let text = format!("title = \"t\"\nrig = \"mock\"\n[sweep.axes]\n\"load.workers\" = [1, 2]\n{text}");
        let scenario =
            Scenario::parse(&text, "t", &Overrides::default(), std::slice::from_ref(&rig)).unwrap();
        unanswered(&scenario, &Plan::new(&scenario, &rig).points)
    }

    #[test]
    fn plots_and_expectations_with_points_are_accepted() {
        let plot = "[[plot]]\nx = \"load.workers\"\ny = \"throughput\"\n";
        let expect = "[[expect]]\nmetric = \"throughput\"\nalong = \"load.workers\"\norder = [2, 1]\n\
                      [[expect]]\nmetric = \"throughput\"\nalong = \"load.workers\"\nshape = \"increasing\"\n";
        assert_eq!(found(&format!("{plot}{expect}")), []);
    }

    #[test]
    fn plots_and_expectations_without_points_are_reported() {
        let expect = |law: &str| found(&format!("[[expect]]\nmetric = \"throughput\"\n{law}\n"));
        for (law, filter) in [
            ("where = { \"load.workers\" = 3 }\nat_least = 1", "load.workers = 3"),
            (
                "where = { \"load.workers\" = 1 }\nagainst = { \"load.workers\" = 5 }\nat_least = 1",
                "load.workers = 5",
            ),
            ("along = \"load.workers\"\norder = [2, 4]", "load.workers = 4"),
        ] {
            match &expect(law)[..] {
                [Unanswered::NoPoint { filter: found, .. }] => assert_eq!(found, filter),
                other => panic!("{law}: {other:?}"),
            }
        }
        let peaked = expect("along = \"load.workers\"\nshape = \"peaked\"");
        assert!(matches!(peaked[..], [Unanswered::TooFewValues { needed: 3, found: 2, .. }]), "{peaked:?}");
        let group = found("[[plot]]\nx = \"load.workers\"\ny = \"throughput\"\ngroup_by = \"sut.build\"\n");
        assert!(matches!(group[..], [Unanswered::TooFewValues { needed: 2, found: 1, .. }]), "{group:?}");
        let absent = found("[[plot]]\nx = \"load.workers\"\ny = \"throughput\"\ngroup_by = \"sut.stall\"\n");
        assert!(matches!(absent[..], [Unanswered::NoSetting { .. }]), "{absent:?}");
    }
}
