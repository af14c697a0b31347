//! Comparisons of two campaigns with a known difference. Counts wrong and correct decisions about the difference.

use ranlab_report::compare::{Finding, Options, compare};

use super::campaigns::{campaign, mock};
use super::{Counts, Row, each_seed};

/// Returns the findings from two campaigns with five repeats at six points. The second campaign is faster by `factor`.
fn findings(seed: u64, factor: f64) -> Vec<Finding> {
    let text = |lambda: f64| {
        format!(
            "[sut]\nlambda = {lambda}\nnoise = 0.01\n[load]\nrate = 100.0\n[sweep.axes]\n\"load.workers\" = [1, 2, 3, 4, 5, 6]\n\
             [measure]\nrepeats = 5\n"
        )
    };
    let both =
        campaign(&text(1000.0), 2 * seed, mock).zip(campaign(&text(1000.0 * factor), 2 * seed + 1, mock));
    let Some((a, b)) = both else { return Vec::new() };
    let options = Options { metrics: vec!["throughput".to_owned()], ..Options::default() };
    compare(&a, &b, &options).rows.into_iter().map(|row| row.finding).collect()
}

pub(super) fn rows(seeds: u64) -> Vec<Row> {
    let equal = each_seed(seeds, |seed| findings(seed, 1.0));
    let slower = each_seed(seeds, |seed| findings(seed, 0.95));
    let claims = |finding: &Finding| matches!(finding, Finding::Better | Finding::Worse);
    let row = |name: &str, truth: &str, count: usize, counts| Row {
        name: name.to_owned(),
        truth: truth.to_owned(),
        seeds,
        count: count as u64,
        counts,
        width: None,
        disturbed: 0,
    };
    vec![
        row(
            "compare: two equal campaigns, six points",
            "no difference",
            equal.iter().filter(|all| all.is_empty() || all.iter().any(claims)).count(),
            Counts::False,
        ),
        row(
            "compare: 5 % slower, five repeats, noise 1 %",
            "worse at each point",
            slower
                .iter()
                .filter(|all| !all.is_empty() && all.iter().all(|own| *own == Finding::Worse))
                .count(),
            Counts::Found,
        ),
    ]
}
