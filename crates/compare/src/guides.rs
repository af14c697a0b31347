//! Design guidelines for controllers: symptoms in the counters of a controller under load, with advice (MARC
//! paper, sections V and VI).

use ranlab_campaign::expect::short;
use ranlab_campaign::results::{PointResult, Results};

/// Bound beyond which a metric shows a symptom.
#[derive(Debug, Clone, Copy)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// Symptom in the counters, with the resulting advice.
struct Guide {
    metric: &'static str,
    bound: Bound,
    /// Additional condition on another metric.
    premise: Option<(&'static str, Bound)>,
    /// Description of the symptom.
    sign: &'static str,
    advice: &'static str,
    /// Section of the MARC paper that gives the advice.
    section: &'static str,
}

/// Guides in order of importance for the reader: losses first, costs last.
const GUIDES: [Guide; 7] = [
    Guide {
        metric: "overload_drops",
        bound: Bound::AtLeast(0.5),
        premise: None,
        sign: "drops messages",
        advice: "The updater gets too little time to process what the controller receives: raise its share (sut.rib_share; \
                 AltFlexRAN has 0.8, \"adaptive\" follows the queue), or slow base stations down with sut.queue = \
                 \"bounded\", so that they detect the overload.",
        section: "V-C",
    },
    Guide {
        metric: "overload_memory_grows",
        bound: Bound::AtLeast(0.5),
        premise: None,
        sign: "lets its memory grow without bound",
        advice: "The controller must free dropped messages and bound its queue; until then only a load below the bottleneck is safe.",
        section: "V-D",
    },
    Guide {
        metric: "overload_declares_dead",
        bound: Bound::AtLeast(0.5),
        premise: None,
        sign: "declares connected base stations dead",
        advice: "Keep-alives wait behind reports: process them on reception, or request longer intervals while the \
                 queue is long.",
        section: "V-C",
    },
    Guide {
        metric: "overload_starves",
        bound: Bound::AtLeast(0.5),
        premise: None,
        sign: "makes its applications wait in more cycles than they run",
        advice: "Updater and applications have fixed shares of a cycle, which do not fit the load: divide the cycle by demand.",
        section: "VI",
    },
    Guide {
        metric: "init_delay_ms",
        bound: Bound::AtLeast(1_000.0),
        premise: Some(("nodes_alive_ratio", Bound::AtLeast(0.5))),
        sign: "takes a second or more to initialise an additional base station",
        advice: "Initialisation waits in the queue of the reports: use a separate queue, or a longer reporting period \
                 (load.period, sut.slow_period).",
        section: "V-B",
    },
    Guide {
        metric: "rx_bytes_per_message",
        bound: Bound::AtMost(128.0),
        premise: Some(("sut.cpu_cores", Bound::AtLeast(0.5))),
        sign: "receives small messages",
        advice: "The cost depends on the number of messages, not of bytes: one message with the reports of all UEs of a \
                 base station costs less than one message per UE.",
        section: "V-C, V-E",
    },
    Guide {
        metric: "sut.cpu_cores",
        bound: Bound::AtLeast(0.9),
        premise: None,
        sign: "keeps a core busy",
        advice: "More load needs more instances, a longer reporting period, or cheaper messages.",
        section: "V-C",
    },
];

/// Returns one to three sentences per symptom, or a single sentence if there is no symptom.
pub(crate) fn sentences(results: &Results) -> Vec<String> {
    let seen: Vec<String> = GUIDES.iter().filter_map(|guide| guide.sentence(results)).collect();
    if !seen.is_empty() || results.points.iter().all(|point| point.runs.is_empty()) {
        return seen;
    }
    vec![format!("None of the {} known symptoms of a bottleneck was found.", GUIDES.len())]
}

impl Guide {
    /// Returns the metric's value at a point if it shows the symptom.
    fn seen(&self, point: &PointResult, confidence: f64) -> Option<f64> {
        let within = |metric: &str, bound: Bound| {
            let mean = point.summary(metric, confidence)?.mean;
            match bound {
                Bound::AtLeast(bound) => mean >= bound,
                Bound::AtMost(bound) => mean <= bound,
            }
            .then_some(mean)
        };
        let holds = self.premise.is_none_or(|(metric, bound)| within(metric, bound).is_some());
        within(self.metric, self.bound).filter(|_| holds)
    }

    fn sentence(&self, results: &Results) -> Option<String> {
        let confidence = results.scenario.measure.confidence;
        let with_value = |point| Some((point, self.seen(point, confidence)?));
        let seen: Vec<(&PointResult, f64)> = results.points.iter().filter_map(with_value).collect();
        let (first, value) = seen.first()?;
        // The value of a yes/no metric has no unit and adds no information.
        let value = match results.unit(self.metric) {
            "" => String::new(),
            unit => format!(", {} {unit} of {}", short(*value), self.metric),
        };
        Some(format!(
            "Guideline: the controller {} at {} of {} points (first at {}{value}). {} (MARC §{})",
            self.sign,
            seen.len(),
            results.points.len(),
            first.point.label(),
            self.advice,
            self.section,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_campaign::plan::Plan;
    use ranlab_campaign::record::Recorder;
    use ranlab_campaign::results::Finished;
    use ranlab_campaign::rig::{Outcome, RigDescription};
    use ranlab_campaign::scenario::{Overrides, Scenario};
    use ranlab_lab::RigContext;
    use std::time::Duration;

    const REGISTRY: ranlab_lab::Registry = ranlab_lab::Registry(&[&crate::COMPARE]);

    fn rig() -> RigDescription {
        REGISTRY.rig(&RigContext::new("ranlab"), "southbound").unwrap().describe()
    }

    /// Returns results of two points, with 10 and 50 base stations and these values of a metric.
    fn results(metric: &str, values: [f64; 2]) -> Results {
        results_with(metric, values, &[])
    }

    /// Returns the same results as [`results`], with further metrics at both points.
    fn results_with(metric: &str, values: [f64; 2], others: &[(&str, f64)]) -> Results {
        let text = "title = \"t\"\nrig = \"southbound\"\n[sweep.axes]\n\"load.nodes\" = [10, 50]\n[measure]\nrepeats = 1";
        let over = Overrides { sets: Vec::new(), quick: false };
        let scenario = Scenario::parse(text, "t", &over, &[rig()]).unwrap();
        let plan = Plan::new(&scenario, &rig());
        let runs = values.into_iter().enumerate().map(|(point, value)| {
            let mut recorder = Recorder::default();
            recorder.scalar(metric, value);
            others.iter().for_each(|(metric, value)| recorder.scalar(metric, *value));
            Finished {
                point,
                repeat: 0,
                position: 0,
                outcome: Outcome::Ok,
                reason: String::new(),
                recording: recorder.finish(),
                started_unix_ms: 0,
                elapsed: Duration::from_secs(1),
            }
        });
        Results::new(scenario, rig().metrics, plan.points, runs.collect())
    }

    #[test]
    fn every_guide_uses_a_metric_of_the_rig() {
        for guide in &GUIDES {
            assert!(rig().metric(guide.metric).is_some(), "{}", guide.metric);
            assert!(
                guide.premise.is_none_or(|(metric, _)| rig().metric(metric).is_some()),
                "{}",
                guide.metric
            );
        }
    }

    #[test]
    fn symptom_is_reported_with_its_point() {
        let lines = sentences(&results("overload_drops", [0.0, 1.0]));
        assert_eq!(lines.len(), 1);
        assert!(lines[0].contains("drops messages at 1 of 2 points (first at "), "{}", lines[0]);
        assert!(lines[0].contains("50"), "{}", lines[0]);
        let busy = [("sut.cpu_cores", 0.6)];
        let lines = sentences(&results_with("rx_bytes_per_message", [60.0, 9_000.0], &busy));
        assert!(
            lines[0].contains("small messages at 1 of 2 points") && lines[0].contains("60 B"),
            "{}",
            lines[0]
        );
        // Small messages are only a symptom together with another condition. The same applies to unrequested reports
        // without a delay.
        for (metric, values, others) in [
            ("rx_bytes_per_message", [60.0, 60.0], &[("sut.cpu_cores", 0.01)][..]),
            ("rx_bytes_per_message", [60.0, 60.0], &[]),
            ("init_delay_ms", [15e3, 15e3], &[("nodes_alive_ratio", 0.0)]),
        ] {
            let lines = sentences(&results_with(metric, values, others));
            assert!(lines[0].starts_with("None of the"), "{lines:?}");
        }
        let lines = sentences(&results("init_delay_ms", [5.0, 8.0]));
        assert_eq!(lines, ["None of the 7 known symptoms of a bottleneck was found."]);
    }
}
