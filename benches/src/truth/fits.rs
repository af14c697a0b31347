//! Fits of a scaling law with known parameters.

use ranlab_campaign::usl;

use super::campaigns::{campaign, mock};
use super::{Counts, Row, each_seed};

/// Parameters λ, σ and κ of the mock's law.
const LAW: usl::Usl = usl::Usl { lambda: 1000.0, sigma: 0.05, kappa: 0.002 };

pub(super) fn rows(seeds: u64) -> Vec<Row> {
    let text = "[sut]\nnoise = 0.02\n[load]\nrate = 100.0\n[sweep.axes]\n\"load.workers\" = [1, 2, 4, 8, 16, 32]\n[measure]\nrepeats = 5\n";
    let covered = each_seed(seeds, |seed| {
        let results = campaign(text, seed, mock)?;
        let samples: Vec<(f64, f64)> = results
            .points
            .iter()
            .filter_map(|point| Some((point.point.settings.get("load.workers")?.number()?, point)))
            .flat_map(|(workers, point)| point.values("throughput").into_iter().map(move |x| (workers, x)))
            .collect();
        let fit = usl::fit(&samples, 0.95, None).ok()?;
        let within = |(low, high): (f64, f64), truth: f64| (low..=high).contains(&truth);
        let all = [(fit.lambda, LAW.lambda), (fit.sigma, LAW.sigma), (fit.kappa, LAW.kappa)];
        Some(all.into_iter().all(|(interval, truth)| within(interval, truth)))
    });
    vec![Row {
        name: "mock: scaling law (USL), six concurrencies".to_owned(),
        truth: "lambda 1000, sigma 0.05, kappa 0.002".to_owned(),
        seeds,
        count: covered.iter().filter(|covered| **covered == Some(true)).count() as u64,
        counts: Counts::Covered,
        width: None,
        disturbed: 0,
    }]
}
