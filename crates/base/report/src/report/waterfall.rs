//! A sum in steps: the share of each component on top of the previous ones, with the upper bound of the sum.

use std::collections::BTreeMap;

use ranlab_campaign::expect::short;
use ranlab_campaign::results::Results;
use ranlab_campaign::scenario::Plot;
use ranlab_campaign::stats::summarise;

use super::figure::{Across, Bound, Figure, Form, Sample, Series};
use super::pooled::{Group, together};
use super::words;

/// Name of the last bar.
const IN_ALL: &str = "in all";

/// Adds a bar for each metric of the stack, starting at the sum of the previous ones, and one bar for the total.
/// Components without any share are omitted. The bound of a group is the largest bound of its points' repeats.
pub(super) fn falls(results: &Results, plot: &Plot, groups: &[Group<'_>], figure: &mut Figure) {
    let metrics: Vec<&str> = plot.stacked().collect();
    let of = |group: &Group<'_>, metric: &str| summarise(&together(results, &group.1, metric), 0.95);
    // Share of each component, for each group.
    let added: Vec<Vec<Option<f64>>> = groups
        .iter()
        .map(|group| metrics.iter().map(|metric| of(group, metric).map(|summary| summary.mean)).collect())
        .collect();
    let adds = |station: &usize| added.iter().any(|own| own[*station].is_some_and(|mean| mean != 0.0));
    let stations: Vec<usize> = (0..metrics.len()).filter(adds).collect();
    let names = distinguishing_words(&metrics);
    let shown = stations.iter().map(|station| names[*station].clone());
    figure.x = Across::Names(shown.chain([IN_ALL.to_owned()]).collect());
    figure.x_label.clone_from(&plot.x);
    figure.y_label = words::in_unit("adding up", &words::unit(results, &plot.y, false));
    // Stacked heights start at 0 and add up on a linear axis only.
    (figure.zero.1, figure.log_y) = (true, false);
    for (color, (name, _)) in groups.iter().enumerate() {
        let mut edge = 0.0;
        let mut samples = Vec::new();
        for (place, station) in stations.iter().enumerate() {
            let Some(mean) = added[color][*station] else { continue };
            samples.push(bar(place, mean, (edge, edge + mean)));
            edge += mean;
        }
        if !samples.is_empty() {
            samples.push(bar(stations.len(), edge, (0.0, edge)));
        }
        figure.series.push(Series { name: name.clone(), color, form: Form::Falls, samples });
    }
    figure.caption.push_str("The bars are stacked; means over repeats. ");
    if let Some(bound) = &plot.z {
        let most = |group: &Group<'_>| of(group, bound).map(|summary| summary.max);
        bounds(&groups.iter().map(most).collect::<Vec<_>>(), figure);
        let comment = results.metric(bound).map_or(bound.as_str(), |metric| &metric.comment);
        figure.caption.push_str(&format!("Line across: {comment}."));
    }
}

fn bar(place: usize, y: f64, ends: (f64, f64)) -> Sample {
    Sample { x: place as f64, y, low: ends.0, high: ends.1, ends }
}

/// Adds a line for each bound; groups with the same bound share one line in a neutral colour.
fn bounds(most: &[Option<f64>], figure: &mut Figure) {
    let mut lines: BTreeMap<u64, (f64, Vec<usize>)> = BTreeMap::new();
    for (color, most) in most.iter().enumerate() {
        // Bounds are above 0, so their bits sort like their values.
        let Some(most) = most.filter(|most| *most > 0.0) else { continue };
        lines.entry(most.to_bits()).or_insert((most, Vec::new())).1.push(color);
    }
    for (y, colors) in lines.into_values() {
        let alone = colors.len() == 1 && most.len() > 1;
        let name = format!("never above {}", short(y));
        figure.bounds.push(Bound { y, color: alone.then(|| colors[0]), name });
    }
}

/// Returns the distinguishing words of names, without the common beginning and end. A single name is unchanged.
fn distinguishing_words(names: &[&str]) -> Vec<String> {
    let parts: Vec<Vec<&str>> = names.iter().map(|name| name.split_inclusive(['.', '_']).collect()).collect();
    let shortest = parts.iter().map(Vec::len).min().unwrap_or(0);
    let shared = |at: &dyn Fn(&[&str]) -> usize| {
        names.len() > 1 && parts.iter().all(|own| own[at(own)] == parts[0][at(&parts[0])])
    };
    let end = (1..shortest).take_while(|back| shared(&|own: &[&str]| own.len() - back)).count();
    let begin = (0..shortest.saturating_sub(end + 1)).take_while(|at| shared(&|_: &[&str]| *at)).count();
    let words = |own: &Vec<&str>| {
        let text = own[begin..own.len() - end].concat();
        text.trim_end_matches(['.', '_']).replace(['.', '_'], " ")
    };
    parts.iter().map(words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_campaign::mock::MockRig;
    use ranlab_campaign::plan::Plan;
    use ranlab_campaign::results::MemoryJournal;
    use ranlab_campaign::rig::{Rig, Stop};
    use ranlab_campaign::scenario::{Overrides, Scenario};

    const TEXT: &str = "title = \"t\"\nrig = \"mock\"\n[sweep.axes]\n\"sut.build\" = [\"a\", \"b\"]\n[measure]\nrepeats = 2\n\
                        [[plot]]\ntype = \"waterfall\"\nx = \"station\"\ny = \"rtt_us_p50\"\n\
                        stack = [\"rtt_us_service_p50\", \"send_delay_us_p50\"]\nz = \"rtt_us_p99\"\ngroup_by = \"sut.build\"\n";

    fn results() -> Results {
        let rig = MockRig::default();
        let description = rig.describe();
        let rigs = std::slice::from_ref(&description);
        let scenario = Scenario::parse(TEXT, "t", &Overrides::default(), rigs).unwrap();
        let plan = Plan::new(&scenario, &description);
        let mut journal = MemoryJournal::default();
        ranlab_campaign::run::run(Box::new(rig), &scenario, &plan, &mut journal, &Stop::never(), &mut |_| {})
            .unwrap();
        Results::new(scenario, description.metrics, plan.points, journal.finished)
    }

    #[test]
    fn bars_stack_and_bound_is_a_line() {
        let mut results = results();
        // Two repeats of two builds: the share of each component, and the upper bound of the sum.
        for (point, more) in [(0, 0.0), (1, 10.0)] {
            for (run, off) in results.points[point].runs.iter_mut().zip([-1.0, 1.0]) {
                let numbers = [
                    ("rtt_us_p50", 20.0 + off),
                    ("rtt_us_service_p50", 5.0 + more),
                    ("send_delay_us_p50", 0.0),
                    ("rtt_us_p99", 90.0 + off + more),
                ];
                run.recording.metrics.extend(numbers.map(|(name, value)| (name.to_owned(), value)));
            }
        }
        let figure = &crate::report::figures(&results)[0];
        // The third component is always 0, so it has no bar.
        assert_eq!(figure.x, Across::Names(["rtt us", "rtt us service", IN_ALL].map(str::to_owned).to_vec()));
        let bars = |series: usize| -> Vec<(f64, f64, f64)> {
            figure.series[series].samples.iter().map(|s| (s.low, s.high, s.y)).collect()
        };
        assert_eq!(bars(0), [(0.0, 20.0, 20.0), (20.0, 25.0, 5.0), (0.0, 25.0, 25.0)]);
        assert_eq!(bars(1), [(0.0, 20.0, 20.0), (20.0, 35.0, 15.0), (0.0, 35.0, 35.0)]);
        let bounds: Vec<_> =
            figure.bounds.iter().map(|bound| (bound.y, bound.color, bound.name.as_str())).collect();
        assert_eq!(bounds, [(91.0, Some(0), "never above 91"), (101.0, Some(1), "never above 101")]);
        assert!(figure.zero.1 && !figure.log_y && figure.missing.is_empty(), "{}", figure.missing);
        let drawn = crate::report::svg(figure).unwrap();
        assert!(drawn.contains("never above 91") && drawn.matches("<rect").count() >= 6, "{drawn}");
    }

    #[test]
    fn equal_bounds_share_a_neutral_line() {
        let mut results = results();
        for run in results.points.iter_mut().flat_map(|point| &mut point.runs) {
            run.recording.metrics.insert("rtt_us_p99".to_owned(), 80.0);
        }
        let figure = &crate::report::figures(&results)[0];
        assert_eq!(figure.bounds, [Bound { y: 80.0, color: None, name: "never above 80".to_owned() }]);
    }

    #[test]
    fn metrics_that_cannot_be_added_are_refused() {
        let error = |from: &str, to: &str| {
            let rig = MockRig::default().describe();
            let text = TEXT.replace(from, to);
            Scenario::parse(&text, "t", &Overrides::default(), &[rig]).unwrap_err().to_string()
        };
        assert!(error("send_delay_us_p50", "throughput").contains("in another unit than `y`"));
        assert!(error("send_delay_us_p50", "rtt_us_p50").contains("occurs twice"));
        assert!(
            error("send_delay_us_p50", "send_dlay_us_p50").contains("`send_delay_us_p50` is the nearest")
        );
        assert!(error("\"rtt_us_p99\"", "\"loss_ratio\"").contains("`z`: `loss_ratio` is in another unit"));
    }

    #[test]
    fn components_have_distinguishing_names() {
        let words = |names: &[&str]| distinguishing_words(names);
        let ways = ["cell_dl.at_host_us", "cell_dl.at_midhaul_queue_us", "cell_dl.at_air_us"];
        assert_eq!(words(&ways), ["host", "midhaul queue", "air"]);
        assert_eq!(words(&["a_us", "a_b_us"]), ["a", "a b"]);
        assert_eq!(words(&["rate"]), ["rate"]);
        assert_eq!(words(&["x.a", "y.a"]), ["x", "y"]);
    }
}
