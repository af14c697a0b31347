//! Systems with a known answer in real time: real processes, sockets and clocks.
//!
//! A campaign that other processes on the machine disturb is not counted. It is repeated, with at most [`ATTEMPTS_MAX`]
//! attempts.

use ranlab_campaign::answer::Answer;
use ranlab_campaign::results::Results;
use ranlab_campaign::rig::{DISTURBED, Rig};
use ranlab_cli::domains::by_name;
use ranlab_lab::RigContext;

use super::campaigns::{campaign, mock};
use super::{Counts, Row};
use crate::process::ranlab;

/// Number of campaigns per row.
const CAMPAIGNS: u64 = 3;
/// Maximum number of attempts to obtain undisturbed campaigns.
const ATTEMPTS_MAX: u64 = 6;
/// Time that the UPF needs per PFCP message, in microseconds.
const SERVICE_US: f64 = 100.0;
/// File whose size is known.
const FILE: &str = "/bin/sh";
/// PFCP messages per session: establishment, modification, deletion.
const MESSAGES: f64 = 3.0;

/// Question with a known answer.
struct Question {
    name: &'static str,
    rig: &'static str,
    text: String,
    metric: &'static str,
    truth: f64,
    /// Maximum relative deviation of the answer from the truth.
    within: f64,
}

fn questions() -> Vec<Question> {
    let upf = "[load]\nmode = \"control\"\narrivals = \"constant\"\n";
    let window = "[measure]\nwarm_up = \"500ms\"\nduration = \"3s\"\nrepeats = 3\n";
    let measure = format!("{window}[host]\nwhen_noisy = \"warn\"\n");
    let live = |name, rig, text: &str, metric, truth, within| Question {
        name,
        rig,
        text: format!("{text}{measure}"),
        metric,
        truth,
        within,
    };
    let size = std::fs::metadata(FILE).map_or(f64::NAN, |file| file.len() as f64 / 1e6);
    vec![
        Question {
            name: "live, upf: NDR at a service time of 100 us",
            rig: "upf",
            text: format!(
                "[sut]\nservice = \"{SERVICE_US}us\"\n{upf}{measure}[search]\ntype = \"ndr\"\naxis = \"load.rate\"\n\
                 min = 1000\nmax = 10000\nprecision = 0.02\n"
            ),
            metric: "search.load",
            truth: 1e6 / (MESSAGES * SERVICE_US),
            within: 0.05,
        },
        live(
            "live, upf: 2 % of requests lost, none repeated",
            "upf",
            &format!("[sut]\nloss_permille = 20\n{upf}rate = 2000\nn1 = 0\n"),
            "requests_lost_ratio",
            0.02,
            0.15,
        ),
        live(
            "live, e2-statistics: 10 nodes at 10 ms",
            "e2-statistics",
            "[load]\nnodes = 10\nues = 8\nperiod = \"10ms\"\nsm = [\"mac\"]\n",
            "indications_per_s",
            1_000.0,
            0.01,
        ),
        live(
            "live, e2-rtt: a ping every 2 ms",
            "e2-rtt",
            "[load]\ninterval = \"2ms\"\n",
            "pings_per_s",
            500.0,
            0.01,
        ),
        live(
            "live, base-station: four models at 10 ms",
            "base-station",
            "[sut]\nagent = \"e2\"\n[load]\nperiod = \"10ms\"\n",
            "reports_per_s",
            400.0,
            0.01,
        ),
        live(
            "live, pipeline: 1,000 handovers a second",
            "pipeline",
            "[pipeline]\nname = \"mgw\"\nhandover = 1000\n[load]\ndir = \"downlink\"\n",
            "updates_per_s",
            1_000.0,
            0.01,
        ),
        live(
            "live, sd-ran: 10 base stations at 50 ms",
            "sd-ran",
            "[sut]\ntype = \"ric\"\n[load]\nnodes = 10\nues = 2\nperiod = \"50ms\"\nsm = [\"mac\"]\npatience = \"0s\"\n",
            "rx_messages_per_s",
            200.0,
            0.01,
        ),
        // The size of a file does not depend on the load of the machine, so this rig has no settings for a busy
        // machine.
        Question {
            name: "live, footprint: size of a file",
            rig: "footprint",
            text: format!("[sut]\ncomponent = \"file\"\npath = \"{FILE}\"\n{window}"),
            metric: "size_mb",
            truth: size,
            within: 1e-6,
        },
    ]
}

fn rig(name: &str) -> Box<dyn Rig> {
    by_name(&RigContext::new(ranlab()), name).unwrap_or_else(mock)
}

fn disturbed(results: &Results) -> bool {
    let runs = || results.points.iter().flat_map(|point| &point.runs);
    let marked = |name: &str, value: f64| name == DISTURBED && value > 0.0;
    runs().next().is_none()
        || runs().any(|run| run.recording.metrics.iter().any(|(name, value)| marked(name, *value)))
}

fn answer(question: &Question, results: &Results) -> Option<Answer> {
    results.answer(results.points.first()?, question.metric)
}

fn row(question: &Question) -> Row {
    let mut measured = 0;
    let mut near = 0;
    for attempt in 0..ATTEMPTS_MAX {
        if measured == CAMPAIGNS {
            break;
        }
        let results = campaign(&question.text, attempt, || rig(question.rig));
        // A campaign without an answer is a miss, even on a busy machine.
        let Some((answer, disturbed)) =
            results.and_then(|all| Some((answer(question, &all)?, disturbed(&all))))
        else {
            eprintln!("{}: the campaign gave no result", question.name);
            measured += 1;
            continue;
        };
        let remark = if disturbed { " (disturbed)" } else { "" };
        eprintln!("{}: {:.6}{remark}", question.name, answer.value);
        if disturbed {
            continue;
        }
        measured += 1;
        near += u64::from((answer.value / question.truth - 1.0).abs() <= question.within);
    }
    Row {
        name: question.name.to_owned(),
        truth: format!(
            "{} {:.4} ± {} %",
            question.metric,
            question.truth,
            (question.within * 1e8).round() / 1e6
        ),
        seeds: CAMPAIGNS,
        count: near,
        counts: Counts::Covered,
        width: None,
        disturbed: CAMPAIGNS - measured,
    }
}

/// Returns all live rows. The number of seeds is fixed, because each takes real time.
pub(super) fn rows(_seeds: u64) -> Vec<Row> {
    questions().iter().map(row).collect()
}
