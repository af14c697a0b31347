use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal, Poisson};

use super::*;

const RANGE: (f64, f64) = (1e5, 2e6);
const CAPACITY: f64 = 1e6;

/// A device with a known mean loss ratio at each load.
#[derive(Clone, Copy)]
enum Curve {
    /// One of the search's functions, with a spread.
    Own(Shape, f64),
    /// Exactly the packets beyond the capacity are lost.
    Knee,
    /// A power of the load, which neither function matches.
    Power(i32),
    /// A capacity that changes each second, normally distributed about the mean with this standard deviation. A second
    /// with a small capacity has many losses, and another second has none.
    Wavering(f64),
}

impl Curve {
    fn ratio(self, load: f64) -> f64 {
        match self {
            Self::Own(shape, spread) => {
                (spread.ln() + shape.ln_loss((load - CAPACITY) / spread)).exp() / load
            }
            Self::Wavering(spread) => Self::Own(Shape::Erf, spread).ratio(load),
            Self::Knee => (1.0 - CAPACITY / load).max(0.0),
            Self::Power(power) => (0.01 * (load / CAPACITY).powi(power)).min(1.0),
        }
    }

    /// Returns the load with this loss ratio, by bisection.
    fn critical(self, target: f64) -> f64 {
        let mut low = 1.0;
        let mut high = 1e8;
        for _ in 0..200 {
            let middle = f64::midpoint(low, high);
            *(if self.ratio(middle) < target { &mut low } else { &mut high }) = middle;
        }
        low
    }

    fn lost(self, load: f64, seconds: f64, rng: &mut ChaCha8Rng) -> f64 {
        if let Self::Wavering(spread) = self {
            let capacity = Normal::new(CAPACITY, spread).unwrap();
            let second = |_| (1.0 - capacity.sample(rng) / load).max(0.0);
            return (0..seconds as u32).map(second).sum::<f64>() / seconds;
        }
        let mean = self.ratio(load) * load * seconds;
        let lost: f64 = if mean > 0.0 { Poisson::new(mean).unwrap().sample(rng) } else { 0.0 };
        (lost / (load * seconds)).min(1.0)
    }
}

/// Runs a hundred searches with different seeds. Returns three values: the number of searches whose interval contains the
/// true critical load, the mean width of the interval, and the mean error of the estimate. Width and error are relative to
/// the true critical load.
fn of_100(curve: Curve, target: f64, trials: u32) -> (u32, f64, f64) {
    let truth = curve.critical(target);
    let mut within = 0;
    let mut width = 0.0;
    let mut error = 0.0;
    let mut wavers = 0;
    for seed in 0..100 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut search = PlrSearch::new(RANGE, false, target, trials, 1.0);
        while let Some(trial) = search.next_trial() {
            search.report(Reply::Loss(curve.lost(trial.load, 1.0, &mut rng)));
        }
        assert_eq!(search.trials(), trials);
        let found = search.found().unwrap();
        within += u32::from(found.low <= truth && truth <= found.high);
        wavers += u32::from(found.wavers.is_some());
        width += (found.high - found.low) / truth / 100.0;
        error += (found.load / truth - 1.0).abs() / 100.0;
    }
    println!(
        "{within} of 100 intervals contain the critical load, mean width {:.3} %, mean error {:.3} %; \
         {wavers} of 100 searches find a varying capacity",
        width * 100.0,
        error * 100.0
    );
    (within, width, error)
}

/// Checks the claim in SPECIFICATION: `cargo test -p ranlab-campaign plr -- --nocapture` prints what each test asserts.
fn holds(name: &str, curve: Curve, target: f64, width_at_most: f64) {
    print!("{name}, critical load of a loss ratio of {target:e}, from 60 trials of 1 s: ");
    let (within, width, _) = of_100(curve, target, 60);
    assert!(within >= 95, "{name}: only {within} of 100 intervals contain the critical load");
    assert!(width <= width_at_most, "{name}: the mean interval is wider ({width}) than {width_at_most}");
}

#[test]
fn critical_load_is_found_for_modelled_losses() {
    holds("stretch, spread 1 %", Curve::Own(Shape::Stretch, 1e4), 1e-3, 0.05);
    holds("erf, spread 1 %", Curve::Own(Shape::Erf, 1e4), 1e-4, 0.05);
}

#[test]
fn critical_load_is_found_for_unmodelled_losses() {
    holds("no loss up to the capacity", Curve::Knee, 1e-4, 0.02);
    holds("loss as the 40th power of the load", Curve::Power(40), 1e-4, 0.2);
}

/// Each trial has another capacity, so the losses come in groups.
#[test]
fn critical_load_is_found_if_device_varies_per_trial() {
    holds("another capacity each second, deviation 0.5 %", Curve::Wavering(5e3), 1e-3, 0.05);
}

#[test]
fn search_continues_below_loads_that_cannot_be_sent() {
    let search = |most: f64, capacity: f64| {
        let mut search = PlrSearch::new((100.0, 1e6), true, 1e-3, 40, 1.0);
        while let Some(trial) = search.next_trial() {
            assert_eq!(trial.load, trial.load.round());
            let loss = (1.0 - capacity / trial.load).max(0.0);
            search.report(if trial.load > most { Reply::Unsent } else { Reply::Loss(loss) });
        }
        (search.unsent(), search.found(), search.trials())
    };
    let (unsent, found, _) = search(1e5, 5e4);
    let found = found.unwrap();
    assert!(
        unsent.is_some_and(|unsent| unsent > 1e5) && found.low < 5.005e4 && found.high > 5e4,
        "{found:?}"
    );
    // If no packet is lost up to the largest possible load, the result is open above.
    let (unsent, found, trials) = search(1e5, 1e9);
    assert!(found.unwrap().high > 1e5 && unsent.is_some_and(|unsent| unsent < 1.1e5), "{found:?} {unsent:?}");
    assert_eq!(trials, 40);
    assert_eq!(search(1.0, 1.0).1, None, "not even the smallest load can be sent");
}

#[test]
fn critical_load_outside_range_is_reported_as_open() {
    let search = |loss: f64| {
        let mut search = PlrSearch::new(RANGE, false, 1e-3, 30, 1.0);
        while search.next_trial().is_some() {
            search.report(Reply::Loss(loss));
        }
        let found = search.found().unwrap();
        (search.open(&found), found)
    };
    assert_eq!(search(0.0).0, (true, false), "{:?}", search(0.0));
    assert_eq!(search(0.5).0, (false, true), "{:?}", search(0.5));
    assert_eq!(PlrSearch::new(RANGE, false, 1e-3, 30, 1.0).found(), None);
}

/// Prints a table for the calibration of the constants. Run it manually: it takes minutes. The environment variable
/// `CURVE` selects the curves whose names contain it. `CURVE=` (empty) selects all curves. If `CURVE` is not set, no curve
/// is selected.
#[test]
#[ignore = "prints a table, which takes minutes"]
fn print_calibration_table() {
    for (name, curve) in [
        ("stretch 1 %", Curve::Own(Shape::Stretch, 1e4)),
        ("erf 1 %", Curve::Own(Shape::Erf, 1e4)),
        ("knee", Curve::Knee),
        ("power 40", Curve::Power(40)),
        ("power 10", Curve::Power(10)),
        ("wavering", Curve::Wavering(5e3)),
    ]
    .into_iter()
    .filter(|(name, _)| std::env::var("CURVE").is_ok_and(|only| name.contains(&only)))
    {
        for target in [1e-3, 1e-4, 1e-5, 1e-7] {
            for trials in [60, 240] {
                print!("{name} {target:e} {trials}: ");
                of_100(curve, target, trials);
            }
        }
    }
}
