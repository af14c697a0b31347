//! Tests of the fit: intervals on simulated samples, and doubts about it.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::*;

/// Comparison of a published n_max with the published parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
struct PrintedPeak {
    /// Peak computed from the published parameters; `None` if σ ≥ 1.
    formula: Option<f64>,
    /// Whether the computed peak, rounded down, equals the published one.
    agrees: bool,
    /// Whether some parameters that round to the published ones give the published peak.
    within_rounding: bool,
}

/// Checks whether published parameters give the published peak. `sigma_unit` and `kappa_unit` are the units of the last
/// digits.
fn check_printed(sigma: f64, sigma_unit: f64, kappa: f64, kappa_unit: f64, printed: f64) -> PrintedPeak {
    let peak = |sigma: f64, kappa: f64| Usl { lambda: 1.0, sigma, kappa }.n_max();
    let range = peak(sigma + sigma_unit / 2.0, kappa + kappa_unit / 2.0)
        .zip(peak((sigma - sigma_unit / 2.0).max(0.0), (kappa - kappa_unit / 2.0).max(1e-12)));
    let formula = peak(sigma, kappa);
    let within_rounding = range.is_some_and(|(low, high)| printed >= low.floor() && printed <= high.floor());
    PrintedPeak { formula, agrees: formula.map(f64::floor) == Some(printed), within_rounding }
}

fn noisy(law: Usl, noise: f64, repeats: usize, seed: u64) -> Vec<(f64, f64)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (1..=16)
        .flat_map(|n| std::iter::repeat_n(f64::from(n), repeats))
        .map(|n| (n, law.at(n) * (1.0 + noise * Distribution::<f64>::sample(&StandardNormal, &mut rng))))
        .collect()
}

#[test]
fn parameters_are_recovered_within_the_stated_intervals() {
    for law in [
        Usl { lambda: 2.5, sigma: 0.002, kappa: 0.008 },
        Usl { lambda: 2.9, sigma: 0.32, kappa: 0.007 },
        Usl { lambda: 0.6, sigma: 1.09, kappa: 0.02 },
        Usl { lambda: 6.1, sigma: 0.06, kappa: 0.016 },
        Usl { lambda: 1e6, sigma: 0.1, kappa: 0.0 },
    ] {
        let held = (0..100)
            .filter(|&seed| {
                let fit = fit(&noisy(law, 0.03, 3, seed), 0.95, None).unwrap();
                let inside = |(low, high): (f64, f64), truth: f64| low <= truth && truth <= high;
                inside(fit.lambda, law.lambda) && inside(fit.sigma, law.sigma) && inside(fit.kappa, law.kappa)
            })
            .count();
        assert!(held >= 93, "{law:?}: only {held} of 100 fits contain all parameters in their intervals");
    }
}

#[test]
fn exact_data_give_exact_parameters() {
    let law = Usl { lambda: 995.65, sigma: 0.0267, kappa: 0.000_769 };
    let fit = fit(&noisy(law, 0.0, 1, 0), 0.95, None).unwrap();
    assert!((fit.usl.lambda / law.lambda - 1.0).abs() < 1e-6);
    assert!((fit.usl.sigma - law.sigma).abs() < 1e-6 && (fit.usl.kappa - law.kappa).abs() < 1e-6);
    assert!(fit.r_squared > 0.999_999);
    assert_eq!(fit.flags, [UslFlag::PeakExtrapolated]);
}

/// TIPSY, §V-C: the parameters and n_max of Figure 12 as printed.
#[test]
fn tipsy_peaks_are_compared_with_formula() {
    let ovs = check_printed(0.002, 0.001, 0.008, 0.001, 10.0);
    assert!((ovs.formula.unwrap() - 11.17).abs() < 0.01);
    assert_eq!(
        (ovs.agrees, ovs.within_rounding),
        (false, true),
        "the formula gives 11, and with κ rounded as printed, 10 is possible"
    );
    let bess = check_printed(0.32, 0.01, 0.007, 0.001, 9.0);
    assert!((bess.formula.unwrap() - 9.86).abs() < 0.01 && bess.agrees);
    let lagopus = check_printed(1.09, 0.01, 0.020, 0.001, 2.0);
    assert_eq!((lagopus.formula, lagopus.agrees), (None, false), "σ above 1 has no peak");
    let eswitch = check_printed(0.06, 0.01, 0.016, 0.001, 5.0);
    assert!((eswitch.formula.unwrap() - 7.66).abs() < 0.01);
    assert_eq!(
        (eswitch.agrees, eswitch.within_rounding),
        (false, false),
        "the cap of the link limits the printed peak"
    );
}

#[test]
fn points_at_known_cap_are_left_out_and_reported() {
    let law = Usl { lambda: 6.1, sigma: 0.02, kappa: 0.004 };
    let samples: Vec<(f64, f64)> =
        noisy(law, 0.002, 3, 7).into_iter().map(|(n, x)| (n, x.min(22.4))).collect();
    let fitted = fit(&samples, 0.95, Some(22.4)).unwrap_err();
    assert_eq!(fitted, UslError::TooFew(3), "three points below the cap are too few");
    let samples: Vec<(f64, f64)> =
        noisy(law, 0.002, 3, 7).into_iter().map(|(n, x)| (n, x.min(35.0))).collect();
    let fitted = fit(&samples, 0.95, Some(35.0)).unwrap();
    assert!((fitted.usl.sigma - law.sigma).abs() < 0.01, "{fitted:?}");
    assert!(matches!(fitted.flags[0], UslFlag::Capped { .. }));
    let unaware = fit(&samples, 0.95, None).unwrap();
    assert!(unaware.flags.contains(&UslFlag::Plateau), "{unaware:?}");
}

#[test]
fn fit_without_peak_reports_no_peak() {
    let points = [(1.0, 70.0), (16.0, 845.92), (32.0, 1302.93), (64.0, 1682.19), (96.0, 1762.85)];
    let rest = [(128.0, 1734.55), (192.0, 1583.56)];
    let fit = fit(&[&points[..], &rest[..]].concat(), 0.95, None).unwrap();
    assert!((fit.usl.sigma - 0.02).abs() < 1e-5 && (fit.usl.kappa - 1e-4).abs() < 1e-7, "{fit:?}");
    let Peak::At { n, low, high } = fit.peak else { panic!("{fit:?}") };
    assert!((n - 98.99).abs() < 0.05 && low < n && n < high && high - low < 0.5, "{fit:?}");
    for kappa in [0.0, 1e-18] {
        for sigma in [0.0, 0.03, 0.5] {
            let law = Usl { lambda: 995.65, sigma, kappa };
            let rounded = |noise: f64, seed: u64| -> Vec<(f64, f64)> {
                noisy(law, noise, 1, seed)
                    .into_iter()
                    .map(|(n, x)| (n, (x * 100.0).round() / 100.0))
                    .collect()
            };
            for (noise, seed) in [(0.0, 0), (0.01, 1), (0.01, 2), (0.01, 3)] {
                let fit = super::fit(&rounded(noise, seed), 0.95, None).unwrap();
                assert!(matches!(fit.peak, Peak::NotShown { .. }), "{noise} {seed}: {fit:?}");
            }
        }
    }
}

#[test]
fn interval_contains_the_true_peak() {
    let law = Usl { lambda: 100.0, sigma: 0.05, kappa: 0.01 };
    let truth = law.n_max().unwrap();
    let covered = (0..300)
        .filter(|&seed| match fit(&noisy(law, 0.03, 3, seed), 0.95, None).unwrap().peak {
            Peak::At { low, high, .. } => (low..=high).contains(&truth),
            _ => false,
        })
        .count();
    assert!((275..=296).contains(&covered), "{covered} of 300 intervals contain the true peak");
}

#[test]
fn unreliable_fits_are_flagged() {
    assert_eq!(fit(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)], 0.95, None), Err(UslError::TooFew(3)));
    assert_eq!(fit(&[(0.0, 1.0)], 0.95, None), Err(UslError::NotPositive));
    let serial = fit(&noisy(Usl { lambda: 0.6, sigma: 1.3, kappa: 0.02 }, 0.01, 2, 1), 0.95, None).unwrap();
    assert!(serial.flags.contains(&UslFlag::SigmaAtLeastOne) && serial.peak == Peak::First);
    let samples: Vec<(f64, f64)> = (1..=8).map(|n| (f64::from(n), f64::from(n).powf(1.3))).collect();
    assert!(fit(&samples, 0.95, None).unwrap().flags.contains(&UslFlag::Superlinear));
    let clean = fit(&noisy(Usl { lambda: 2.5, sigma: 0.02, kappa: 0.01 }, 0.01, 3, 3), 0.95, None).unwrap();
    assert_eq!(clean.flags, []);
}
