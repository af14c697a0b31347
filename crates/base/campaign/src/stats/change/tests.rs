use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::*;

fn between(a: &[f64], b: &[f64]) -> Change {
    Change::between(&Repeats::new(a).unwrap(), &Repeats::new(b).unwrap())
}

struct Draw(ChaCha8Rng);

impl Draw {
    fn values(&mut self, mean: f64, deviation: f64, n: usize) -> Vec<f64> {
        (0..n)
            .map(|_| mean * (1.0 + deviation * Distribution::<f64>::sample(&StandardNormal, &mut self.0)))
            .collect()
    }
}

#[test]
fn welch_agrees_with_scipy() {
    let a = [0.1001, 0.0999, 0.1003, 0.0998, 0.1, 0.1002, 0.0997, 0.1001, 0.1, 0.1001];
    let b = [0.1012, 0.1009, 0.1015, 0.101, 0.1011, 0.1013, 0.1008, 0.1014, 0.1012, 0.1014];
    let change = between(&a, &b);
    // scipy.stats.ttest_ind(a, b, equal_var=False).
    assert!((change.p.unwrap() / 4.944_632_059e-10 - 1.0).abs() < 1e-6, "{change:?}");
    assert_eq!(change.method, Method::Welch);
    assert!((change.share(change.estimate.value) - 0.0116).abs() < 1e-4);
    let (low, high) = change.interval(0.95).unwrap();
    assert!(low > 0.0094 && high < 0.0138, "{low} {high}");
}

#[test]
fn ratios_are_symmetric_on_the_log_scale() {
    let a = [1.0, 1.1, 0.9, 1.05];
    let b = [2.0, 2.2, 1.8, 2.1];
    let up = between(&a, &b);
    let down = between(&b, &a);
    assert!((up.estimate.value + down.estimate.value).abs() < 1e-12);
    assert!(
        (up.share(up.estimate.value) - 1.0).abs() < 1e-9
            && (down.share(down.estimate.value) + 0.5).abs() < 1e-9
    );
}

#[test]
fn one_outlier_of_twenty_changes_no_finding() {
    let a: Vec<f64> = [
        100.1, 99.2, 100.9, 99.6, 100.3, 99.9, 100.4, 99.4, 100.2, 99.8, 100.6, 99.7, 100.0, 99.5, 100.5,
        99.3, 100.7, 100.15, 99.85, 100.25,
    ]
    .to_vec();
    let mut b: Vec<f64> = a.iter().map(|value| value * 1.01).collect();
    b[7] = 400.0;
    let change = between(&a, &b);
    // scipy.stats.ttest_ind(ln b, ln a, equal_var=False, trim=0.2).
    assert!((change.p.unwrap() / 3.157_963_147e-6 - 1.0).abs() < 1e-6, "{change:?}");
    assert_eq!((change.method, change.outliers), (Method::Yuen, 1));
    assert!((change.estimate.value - 0.0107).abs() < 1e-4 && change.floor.unwrap() < 0.01);
    let mut same = a.clone();
    same[3] = 400.0;
    let same = between(&a, &same);
    assert!(same.p.unwrap() > 0.3 && same.estimate.value.abs() < 0.003, "{same:?}");
    let mut far: Vec<f64> = a.iter().map(|value| value * 1.16).collect();
    far[0] = 10.0;
    assert!(between(&a, &far).p.unwrap() < 1e-9);
}

#[test]
fn aa_spread_is_never_wider_than_interval() {
    let mut draw = Draw(ChaCha8Rng::seed_from_u64(5));
    for _ in 0..500 {
        let change = between(&draw.values(100.0, 0.05, 5), &draw.values(100.0, 0.02, 5));
        if change.method == Method::Welch {
            let half = change.estimate.half_width(0.95).unwrap();
            assert!(change.floor.unwrap() <= half * 1.01, "{change:?}");
        }
    }
}

/// Returns the share of `seeds` draws in which a change is found at 5 %.
fn found(seeds: u64, n: usize, shift: f64, outlier_share: f64) -> f64 {
    let mut draw = Draw(ChaCha8Rng::seed_from_u64(7));
    let mut spoil = |values: &mut [f64], draw: &mut Draw| {
        for value in values {
            let [u] = draw.values(0.5, 1.0, 1)[..] else { continue };
            // 0.5 (1 + z) exceeds this limit with probability `outlier_share`.
            let limit = 0.5 * (1.0 + student_quantile(1.0 - outlier_share, 1e6));
            *value *= if outlier_share > 0.0 && u > limit { 4.0 } else { 1.0 };
        }
    };
    let one = |draw: &mut Draw, spoil: &mut dyn FnMut(&mut [f64], &mut Draw)| {
        let mut a = draw.values(100.0, 0.01, n);
        let mut b = draw.values(100.0 * (1.0 + shift), 0.01, n);
        spoil(&mut a, draw);
        spoil(&mut b, draw);
        let change = between(&a, &b);
        change.p.unwrap() < 0.05 && change.floor.is_none_or(|floor| change.estimate.value.abs() > floor)
    };
    (0..seeds).filter(|_| one(&mut draw, &mut spoil)).count() as f64 / seeds as f64
}

#[test]
fn small_changes_are_found_and_equal_sides_rarely_differ() {
    for (n, outlier_share) in [(5, 0.0), (10, 0.0), (20, 0.0), (20, 0.05), (10, 0.05), (5, 0.05)] {
        let claimed = found(1000, n, 0.0, outlier_share);
        assert!(
            claimed <= 0.07,
            "of equal sides with {n} repeats and an outlier share of {outlier_share}, a share of {claimed} differs"
        );
    }
    let power = found(1000, 5, -0.05, 0.0);
    assert!(power >= 0.93, "a decrease of 5 % is found in a share of {power} only");
    let power = found(300, 20, 0.02, 0.05);
    assert!(power >= 0.93, "with 5 % outliers, an increase of 2 % is found in a share of {power} only");
}

#[test]
fn detectable_change_is_found_with_stated_power() {
    let mut draw = Draw(ChaCha8Rng::seed_from_u64(11));
    let sizes: Vec<f64> = (0..200)
        .map(|_| {
            between(&draw.values(100.0, 0.01, 5), &draw.values(100.0, 0.01, 5)).detectable(0.05).unwrap()
        })
        .collect();
    let size = sizes.iter().sum::<f64>() / sizes.len() as f64;
    let power = found(1000, 5, size, 0.0);
    assert!(
        (POWER - 0.07..POWER + 0.07).contains(&power),
        "a change of {size} is found with probability {power}, not {POWER}"
    );
}

#[test]
fn zero_and_negative_values_have_difference_without_logarithm() {
    let change = between(&[-1.0, -1.1, -0.9], &[1.0, 1.1, 0.9]);
    assert!(!change.logarithmic && (change.estimate.value - 2.0).abs() < 1e-9);
    let from_zero = between(&[0.0, 0.0, 0.0], &[0.1, 0.2, 0.15]);
    assert_eq!(from_zero.estimate.value, f64::INFINITY);
    assert!(from_zero.p.unwrap() < 0.05 && from_zero.p_beyond(0.05, true).unwrap() < 0.05);
    assert_eq!(from_zero.p_beyond(-0.05, false), Some(1.0));
    assert_eq!(between(&[0.0, 0.0], &[0.0, 0.0]).p, Some(1.0));
}

#[test]
fn bounds_differ_only_if_intervals_are_disjoint() {
    let open = |value: f64| Repeats {
        estimate: Estimate { value, error: Some(0.0), freedom: 4.0, n: 5, below: 0.0, above: f64::INFINITY },
        values: Some(vec![value; 5]),
    };
    assert_eq!(Change::between(&open(100.0), &open(200.0)).p, Some(1.0));
    let known = Repeats::new(&[50.0, 51.0, 49.0, 50.5, 49.5]).unwrap();
    // A bound "at least 100" is certainly more than 50, and 50 is certainly less than it.
    assert!(Change::between(&known, &open(100.0)).p.unwrap() < 1e-6);
    assert!(Change::between(&open(100.0), &known).p.unwrap() < 1e-6);
    assert!(Change::between(&open(10.0), &known).p.unwrap() > 0.99);
}
