//! Seeded tests with simulated clocks of known offset, drift, wander and steps.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use super::*;

/// A portable random number generator (Vigna's splitmix64).
struct Seeded(u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
}

/// Start of a window, in nanoseconds since 1970.
const BEGUN: u64 = 1_800_000_000_000_000_000;
/// Interval between two readings, in nanoseconds.
const EACH: u64 = 50_000_000;

/// The simulated clock of a card.
struct Card {
    zero: u64,
    ppm: f64,
    /// Amplitude and period of a slow oscillation, both in nanoseconds. It simulates, for example, a processor that warms up.
    wander: (f64, f64),
    /// Size and time of a forward step, both in nanoseconds.
    step: (u64, u64),
}

impl Card {
    fn seeded(seeded: &mut Seeded) -> Self {
        Self {
            zero: seeded.below(2 * BEGUN),
            ppm: seeded.below(200_001) as f64 / 1e3 - 100.0,
            wander: (seeded.below(300) as f64, 1e9 + seeded.below(4_000_000_000) as f64),
            step: (u64::MAX, 0),
        }
    }

    fn at(&self, true_ns: u64) -> u64 {
        let since = (true_ns - BEGUN) as f64;
        let (most, period) = self.wander;
        let paced = since * (1.0 + self.ppm * 1e-6) + most * (since * std::f64::consts::TAU / period).sin();
        self.zero + paced.round() as u64 + if true_ns >= self.step.0 { self.step.1 } else { 0 }
    }

    /// Returns readings over a window of two seconds. Some are interrupted.
    fn readings(&self, seeded: &mut Seeded) -> Vec<CrossReading> {
        (0..40).map(|index| self.reading(BEGUN + 1 + index * EACH + seeded.below(EACH / 2), seeded)).collect()
    }

    fn reading(&self, true_ns: u64, seeded: &mut Seeded) -> CrossReading {
        let times = if seeded.below(20) == 0 { 100 } else { 1 };
        let before = seeded.below(400) * times;
        let after = seeded.below(400) * times;
        CrossReading {
            before_ns: true_ns.saturating_sub(before),
            card_ns: self.at(true_ns),
            after_ns: true_ns + after,
        }
    }
}

#[test]
fn card_time_converts_within_error_bound() {
    let mut widest = 0;
    for seed in 0..500 {
        let mut seeded = Seeded(seed);
        let card = Card::seeded(&mut seeded);
        let readings = card.readings(&mut seeded);
        let line = ClockMap::through(&readings).unwrap();
        widest = widest.max(line.error_ns);
        for _ in 0..200 {
            let true_ns = BEGUN + seeded.below(2_000_000_000);
            let converted_ns = line.system_ns(card.at(true_ns)).unwrap();
            let wrong = converted_ns.abs_diff(true_ns.cast_signed());
            assert!(wrong <= line.error_ns, "seed {seed}: {wrong} ns, stated {}", line.error_ns);
        }
        assert!((line.drift_ppm() + card.ppm).abs() < 2.0, "seed {seed}: {} {}", line.drift_ppm(), card.ppm);
    }
    // The bound is tight, because readings took about 400 ns, and the clock wandered by up to 300 ns.
    assert!(widest < 6_000, "{widest}");
}

#[test]
fn clock_step_stays_within_error_bound() {
    for seed in 0..300 {
        let mut seeded = Seeded(seed);
        let step = (BEGUN + 100_000_000 + seeded.below(1_700_000_000), 1_000 + seeded.below(1_000_000_000));
        let card = Card { step, ..Card::seeded(&mut seeded) };
        let line = ClockMap::through(&card.readings(&mut seeded)).unwrap();
        assert!(line.error_ns >= step.1 / 2, "seed {seed}: {} {}", line.error_ns, step.1);
        for _ in 0..200 {
            let true_ns = BEGUN + seeded.below(2_000_000_000);
            let Some(converted_ns) = line.system_ns(card.at(true_ns)) else { continue };
            let wrong = converted_ns.abs_diff(true_ns.cast_signed());
            assert!(wrong <= line.error_ns, "seed {seed}: {wrong} ns, stated {}", line.error_ns);
        }
    }
}

#[test]
fn too_few_readings_give_no_conversion() {
    let card = Card { zero: 5, ppm: 10.0, wander: (0.0, 1e9), step: (u64::MAX, 0) };
    let readings = card.readings(&mut Seeded(7));
    assert!(ClockMap::through(&[]).is_none() && ClockMap::through(&readings[..2]).is_none());
    // The clock was set back.
    let back: Vec<_> = readings.iter().rev().copied().collect();
    assert!(ClockMap::through(&back).is_none());
    let line = ClockMap::through(&readings).unwrap();
    assert_eq!(line.system_ns(card.at(BEGUN + (1 << 62))), None);
    assert!(line.system_ns(card.at(BEGUN + 2_010_000_000)).is_some());
}

/// Returns frames between two cards over a cable with a delay of `takes` ns. Some frames are lost, duplicated or without stamps.
fn frames(seeded: &mut Seeded, from: &Card, to: &Card, takes: u64) -> (Vec<TxStamp>, Vec<RxStamp>, u64) {
    let mut sent = Vec::new();
    let mut came = Vec::new();
    let mut whole = 0;
    for sequence in 0..90 {
        let true_ns = BEGUN + 20_000_000 * (sequence + 1) + seeded.below(1_000_000);
        let failure = seeded.below(20);
        sent.push(TxStamp { sequence, left_ns: (failure != 0).then(|| from.at(true_ns)) });
        if failure == 1 {
            continue;
        }
        let stamped = (failure != 2).then(|| to.at(true_ns + takes));
        came.push(RxStamp { sequence, came_ns: stamped });
        if failure == 3 {
            came.push(RxStamp { sequence, came_ns: Some(to.at(true_ns + 10 * takes)) });
        }
        whole += u64::from(failure != 0 && failure != 2);
    }
    (sent, came, whole)
}

#[test]
fn delays_match_cable_within_error_bound() {
    for seed in 0..300 {
        let mut seeded = Seeded(seed);
        let near = Card::seeded(&mut seeded);
        let far = Card::seeded(&mut seeded);
        let line = |card: &Card, seeded: &mut Seeded| ClockMap::through(&card.readings(seeded)).unwrap();
        let clocks = Clocks::Two { from: line(&near, &mut seeded), to: line(&far, &mut seeded) };
        let takes = 1 + seeded.below(100_000);
        let (sent, came, whole) = frames(&mut seeded, &near, &far, takes);
        let crossing = StampMatch::match_stamps(&sent, &came, &clocks);
        assert_eq!((crossing.sent, crossing.stamped), (90, whole));
        assert_eq!((crossing.unordered, crossing.early), (0, 0), "seed {seed}");
        let lost = 90 - crossing.arrived;
        assert!(lost < 20 && crossing.arrived >= whole, "seed {seed}: {crossing:?}");
        for delay in &crossing.delays_ns {
            // The tolerance is 2 ns, because clocks count whole nanoseconds.
            let wrong = delay.abs_diff(takes.cast_signed());
            assert!(wrong <= clocks.error_ns() + 2, "seed {seed}: {wrong} ns, stated {}", clocks.error_ns());
        }
    }
}

#[test]
fn inconsistent_clocks_are_counted() {
    let frame = |sequence, left: u64, came: u64| {
        (TxStamp { sequence, left_ns: Some(left) }, RxStamp { sequence, came_ns: Some(came) })
    };
    // The second frame arrives before its departure. The stamps of the third frame are earlier than those of the second frame at both ends.
    let (sent, came): (Vec<_>, Vec<_>) =
        [frame(0, 100, 130), frame(1, 300, 250), frame(2, 200, 240)].into_iter().unzip();
    let crossing = StampMatch::match_stamps(&sent, &came, &Clocks::One);
    assert_eq!((crossing.early, crossing.unordered), (1, 2));
    assert_eq!(crossing.delays_ns, [-50, 30, 40]);
    let mut metrics = BTreeMap::new();
    crossing.numbers(&mut |name, value| {
        metrics.insert(name.to_owned(), value);
    });
    assert_eq!(
        (metrics["delay_us_min"], metrics["delay_us_p50"], metrics["delay_us_max"]),
        (-0.05, 0.03, 0.04)
    );
    let none = StampMatch::match_stamps(&sent, &[], &Clocks::One);
    let mut metrics = BTreeMap::new();
    none.numbers(&mut |name, value| {
        metrics.insert(name.to_owned(), value);
    });
    assert_eq!(
        (metrics["lost_ratio"], metrics["stamped_ratio"], metrics.contains_key("delay_us_min")),
        (1.0, 0.0, false)
    );
}
