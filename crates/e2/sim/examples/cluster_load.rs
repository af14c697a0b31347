//! Counts the messages of several RICs in virtual time, and computes from their cost how far the RICs scale:
//! `cargo run -p ranlab-sim --example cluster_load -- NODES XAPPS RICS[,RICS...] [US]`.
//!
//! `US` is the cost of a message in microseconds, or four costs separated by commas:
//!
//! - cost of a report read from its base station;
//! - cost of a report read from another RIC (one read returns many reports);
//! - cost of a report of the RIC's base station written to an xApp (one report per write);
//! - cost of a report of another RIC written to xApps (many reports per write).
use ranlab_campaign::usl;
use ranlab_sim::cluster::{ClusterLoad, ClusterLoadOutcome};
use std::process::ExitCode;
use std::time::Duration;

const CONFIDENCE: f64 = 0.95;

struct LoadArguments {
    nodes: u32,
    xapps: usize,
    rics: Vec<usize>,
    us: Option<Kinds>,
}

/// Messages per report: read from base stations, read from RICs, written from base stations, written from RICs.
type Kinds = [f64; 4];

fn costs(word: &str) -> Option<Kinds> {
    let all: Option<Vec<f64>> = word.split(',').map(|it| it.parse().ok()).collect();
    let all = all
        .filter(|all| all.iter().all(|us| us.is_finite() && *us >= 0.0) && all.iter().any(|us| *us > 0.0))?;
    match all[..] {
        [us] => Some([us; 4]),
        _ => all.try_into().ok(),
    }
}

fn parse_arguments(words: &[String]) -> Option<LoadArguments> {
    let [nodes, xapps, rics, rest @ ..] = words else { return None };
    let rics: Option<Vec<usize>> =
        rics.split(',').map(|it| it.parse().ok().filter(|n| (1..=16).contains(n))).collect();
    let us = match rest {
        [] => None,
        [us] => Some(costs(us)?),
        _ => return None,
    };
    Some(LoadArguments { nodes: nodes.parse().ok()?, xapps: xapps.parse().ok()?, rics: rics?, us })
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(LoadArguments { nodes, xapps, rics, us }) = parse_arguments(&words) else {
        eprintln!("usage: cluster_load NODES XAPPS RICS[,RICS...] [US|US,US,US,US]; 1 to 16 RICs");
        return 2.into();
    };
    let mut points = Vec::new();
    for rics in rics {
        let settle = Duration::from_secs(5);
        let counted = Duration::from_secs(10);
        let outcome = match (ClusterLoad { rics, nodes, xapps, settle, counted }).run(1) {
            Ok(outcome) => outcome,
            Err(violation) => {
                eprintln!("{violation}");
                return 1.into();
            }
        };
        let kinds = print_counts(rics, xapps, &outcome);
        if let Some(us) = us {
            let per_report: f64 = us.iter().zip(kinds).map(|(us, count)| us * count).sum();
            println!("{{\"rics\": {rics}, \"predicted_us_per_report\": {per_report:.2}}}");
            // Reports per second that a number of RICs can process, each on its own processor, with evenly
            // distributed base stations.
            points.push((rics as f64, rics as f64 * 1e6 / per_report));
        }
    }
    if us.is_some() {
        law(&points);
    }
    0.into()
}

/// Prints a line with the counts, and returns the messages of each kind per report of a base station.
fn print_counts(rics: usize, xapps: usize, outcome: &ClusterLoadOutcome) -> Kinds {
    let reports = outcome.delivered as f64 / xapps as f64;
    let per_report = outcome.messages() as f64 / reports;
    let busiest = outcome.rics.iter().map(|ric| ric.read + ric.written).max().unwrap_or(0);
    let share = busiest as f64 / outcome.messages() as f64;
    let read = outcome.rics.iter().map(|ric| ric.read).sum::<u64>() as f64 / reports;
    // A RIC that receives a report from another RIC sends it to its own xApps; each RIC serves an equal share
    // of the xApps.
    let relayed = (read - 1.0).max(0.0);
    let written = per_report - read;
    let written_on = relayed * xapps as f64 / rics as f64;
    println!(
        "{{\"rics\": {rics}, \"reports\": {reports}, \"messages_per_report\": {per_report:.3}, \"read_per_report\": {read:.3}, \
         \"relayed_written_per_report\": {written_on:.3}, \"busiest_share\": {share:.3}}}"
    );
    [1.0, relayed, written - written_on, written_on]
}

fn law(points: &[(f64, f64)]) {
    for (rics, reports) in points {
        println!("{{\"rics\": {rics}, \"predicted_reports_per_s\": {reports:.0}}}");
    }
    match usl::fit(points, CONFIDENCE, None) {
        Ok(fit) => {
            let usl = fit.usl;
            println!(
                "scaling law: {:.0} n / (1 + {:.4} (n - 1) + {:.6} n (n - 1)) reports per second of n RICs; R^2 {:.4}",
                usl.lambda, usl.sigma, usl.kappa, fit.r_squared
            );
            fit.flags.iter().for_each(|flag| println!("  {}", flag.sentence()));
        }
        Err(error) => println!("no scaling law fits: {error}"),
    }
}
