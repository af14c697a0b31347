//! Messages of several RICs, counted in virtual time; with what one message costs, how far they scale:
//! `cargo run -p ranlab-sim --example cluster_load -- NODES XAPPS RICS[,RICS...] [US_PER_MESSAGE]`.
use ranlab_campaign::usl;
use ranlab_sim::cluster::{ClusterLoad, ClusterLoadOutcome};
use std::process::ExitCode;
use std::time::Duration;

const CONFIDENCE: f64 = 0.95;

struct Asked {
    nodes: u32,
    xapps: usize,
    rics: Vec<usize>,
    us: Option<f64>,
}

fn asked(words: &[String]) -> Option<Asked> {
    let [nodes, xapps, rics, rest @ ..] = words else { return None };
    let rics: Option<Vec<usize>> =
        rics.split(',').map(|it| it.parse().ok().filter(|n| (1..=16).contains(n))).collect();
    let us = match rest {
        [] => None,
        [us] => Some(us.parse().ok().filter(|us| *us > 0.0)?),
        _ => return None,
    };
    Some(Asked { nodes: nodes.parse().ok()?, xapps: xapps.parse().ok()?, rics: rics?, us })
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(Asked { nodes, xapps, rics, us }) = asked(&words) else {
        eprintln!("usage: cluster_load NODES XAPPS RICS[,RICS...] [US_PER_MESSAGE]; 1 to 16 RICs");
        return 2.into();
    };
    let mut points = Vec::new();
    for rics in rics {
        let (settle, counted) = (Duration::from_secs(5), Duration::from_secs(10));
        let outcome = match (ClusterLoad { rics, nodes, xapps, settle, counted }).run(1) {
            Ok(outcome) => outcome,
            Err(violation) => {
                eprintln!("{violation}");
                return 1.into();
            }
        };
        let per_report = tell(rics, xapps, &outcome);
        // Reports per second that so many RICs can take, each with a processor of its own, if base stations are shared out evenly.
        points.extend(us.map(|us| (rics as f64, rics as f64 * 1e6 / us / per_report)));
    }
    if us.is_some() {
        law(&points);
    }
    0.into()
}

/// A line of what was counted; messages per report of a base station.
fn tell(rics: usize, xapps: usize, outcome: &ClusterLoadOutcome) -> f64 {
    let reports = outcome.delivered as f64 / xapps as f64;
    let per_report = outcome.messages() as f64 / reports;
    let busiest = outcome.rics.iter().map(|ric| ric.read + ric.written).max().unwrap_or(0);
    let share = busiest as f64 / outcome.messages() as f64;
    println!(
        "{{\"rics\": {rics}, \"reports\": {reports}, \"messages_per_report\": {per_report:.3}, \"busiest_share\": {share:.3}}}"
    );
    per_report
}

fn law(points: &[(f64, f64)]) {
    for (rics, reports) in points {
        println!("{{\"rics\": {rics}, \"predicted_reports_per_s\": {reports:.0}}}");
    }
    match usl::fit(points, CONFIDENCE, None) {
        Ok(fit) => {
            let usl = fit.usl;
            println!(
                "law: {:.0} n / (1 + {:.4} (n - 1) + {:.6} n (n - 1)) reports per second of n RICs; R^2 {:.4}",
                usl.lambda, usl.sigma, usl.kappa, fit.r_squared
            );
            fit.flags.iter().for_each(|flag| println!("  {}", flag.sentence()));
        }
        Err(error) => println!("no law: {error}"),
    }
}
