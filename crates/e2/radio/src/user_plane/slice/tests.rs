use super::*;

fn spec(id: u32, params: SliceParams) -> SliceSpec {
    SliceSpec { id, label: String::new(), params, scheduler: UeScheduler::default() }
}

fn nvs(params: &[SliceParams], sharing: bool) -> SliceSet {
    let slices = params.iter().enumerate().map(|(id, params)| spec(id as u32, *params)).collect();
    SliceSet { algorithm: SliceAlgorithm::Nvs, sharing, slices }
}

/// Returns the slice of each slot, or `None` for an unused slot. The link carries `mbps`; `active` returns the slices
/// with data as bits.
fn run(set: &SliceSet, mbps: f64, slots: u64, active: impl Fn(u64) -> u32) -> Vec<Option<u8>> {
    set.check(100).unwrap();
    let mut slices = Slices::new(set.clone(), 100, mbps / 1000.0);
    let mut grants = Vec::new();
    let slot = |slot| {
        let active = active(slot);
        slices.grant(active, &mut grants);
        let grant = grants.first().copied()?;
        let sends = active & (1 << grant.slice) != 0;
        slices.served(grant, if sends { grant.prbs } else { 0 }, if sends { 1000 } else { 0 });
        Some(grant.slice)
    };
    (0..slots).map(slot).collect()
}

fn shares(chosen: &[Option<u8>]) -> Vec<f64> {
    (0..3)
        .map(|slice| chosen.iter().filter(|one| **one == Some(slice)).count() as f64 / chosen.len() as f64)
        .collect()
}

fn assert_shares(set: &SliceSet, mbps: f64, expected: &[f64]) {
    let found = shares(&run(set, mbps, 60_000, |_| u32::MAX));
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() < 0.005,
            "a slice gets a share of {found} of the slots instead of {expected}: {set:?}"
        );
    }
}

use SliceParams::{Capacity, Rate};

#[test]
fn backlogged_slices_get_their_reserved_share() {
    for sharing in [true, false] {
        assert_shares(&nvs(&[Capacity(0.66), Capacity(0.34)], sharing), 50.0, &[0.66, 0.34]);
        assert_shares(&nvs(&[Capacity(0.1), Capacity(0.2), Capacity(0.7)], sharing), 50.0, &[0.1, 0.2, 0.7]);
        assert_shares(&nvs(&[Capacity(0.5), Capacity(0.3)], sharing), 50.0, &[0.625, 0.375]);
    }
}

#[test]
fn rate_slice_reaches_rate_on_reference_channel() {
    let rate = |required_mbps, reference_mbps| Rate { required_mbps, reference_mbps };
    assert_shares(&nvs(&[rate(5.0, 50.0), Capacity(0.9)], true), 50.0, &[0.1, 0.9]);
    // On a worse channel, the slice gets its share of the slots instead of its rate.
    assert_shares(&nvs(&[rate(20.0, 100.0), Capacity(0.8)], true), 50.0, &[0.2, 0.8]);
    // On a better channel, the slice gets its rate with fewer slots. The other slice gets the rest.
    assert_shares(&nvs(&[rate(20.0, 100.0), Capacity(0.8)], true), 200.0, &[0.112, 0.888]);
}

#[test]
fn idle_share_is_lost_or_redistributed() {
    let params = [Capacity(0.66), Capacity(0.34)];
    let gray = |sharing| shares(&run(&nvs(&params, sharing), 50.0, 10_000, |_| 0b01))[0];
    assert!((gray(false) - 0.66).abs() < 0.005, "{}", gray(false));
    assert!((gray(true) - 1.0).abs() < 1e-9, "{}", gray(true));
}

#[test]
fn slice_gets_all_slots_at_first_after_idle_time() {
    let set = nvs(&[Capacity(0.66), Capacity(0.34)], true);
    let chosen = run(&set, 50.0, 40_000, |slot| if (10_000..20_000).contains(&slot) { 0b01 } else { 0b11 });
    let alone = chosen[20_000..].iter().take_while(|slice| **slice == Some(1)).count();
    // The number of slots is ln(a / (b + a²)) / ln(1 - β), with a = 0.66 and b = 0.34.
    assert!(
        (160..=162).contains(&alone),
        "after its return, slice 1 must get 160 to 162 consecutive slots, not {alone}"
    );
    let after = shares(&chosen[21_000..]);
    assert!((after[0] - 0.66).abs() < 0.01, "{after:?}");
}

#[test]
fn share_of_slots_is_kept_in_every_window_of_100_slots() {
    let chosen = run(&nvs(&[Capacity(0.66), Capacity(0.34)], true), 50.0, 20_000, |_| u32::MAX);
    for window in chosen.chunks(100) {
        let count = window.iter().filter(|slice| **slice == Some(1)).count();
        assert!((32..=36).contains(&count), "the slice got {count} of 100 slots");
    }
}

#[test]
fn backlogged_slice_gets_prbs_before_deadline() {
    let edf = |deadline_slots, guaranteed_prbs| SliceParams::Edf {
        deadline_slots,
        guaranteed_prbs,
        max_replenish: 0,
    };
    let params = [edf(20, 1000), edf(5, 150), edf(40, 800)];
    let slices = params.iter().enumerate().map(|(id, params)| spec(id as u32, *params)).collect();
    let set = SliceSet { algorithm: SliceAlgorithm::Edf, sharing: false, slices };
    set.check(100).unwrap();
    let mut slices = Slices::new(set, 100, 0.0);
    let mut got = vec![[0_u64; 3]; 400];
    let mut grants = Vec::new();
    for slot in &mut got {
        slices.grant(0b111, &mut grants);
        assert!(grants.iter().map(|grant| grant.prbs).sum::<u16>() <= 100);
        for grant in &grants {
            slices.served(*grant, grant.prbs, 0);
            slot[usize::from(grant.slice)] += u64::from(grant.prbs);
        }
    }
    for (slice, (window, guaranteed)) in [(20, 1000), (5, 150), (40, 800)].into_iter().enumerate() {
        for slots in got.chunks(window) {
            let sum: u64 = slots.iter().map(|slot| slot[slice]).sum();
            assert!(sum >= guaranteed, "slice {slice} got only {sum} PRBs in {window} slots");
        }
    }
}

#[test]
fn invalid_sets_are_refused_with_reason() {
    let reason = |set: SliceSet| set.check(100).unwrap_err().to_string();
    assert!(reason(nvs(&[Capacity(0.7), Capacity(0.4)], true)).contains("110.00 %"));
    nvs(&[Capacity(0.1); 10], true).check(100).unwrap();
    for share in [0.0, -0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert!(reason(nvs(&[Capacity(share)], true)).contains("share"), "{share}");
    }
    let rate = |required_mbps, reference_mbps| nvs(&[Rate { required_mbps, reference_mbps }], true);
    for (required, reference) in
        [(f64::NAN, 1.0), (0.0, 1.0), (2.0, 1.0), (1.0, f64::NAN), (1.0, f64::INFINITY)]
    {
        assert!(reason(rate(required, reference)).contains("rate"));
    }
    let range = |first, last| SliceParams::Static { first, last };
    let fixed = |params: &[SliceParams]| SliceSet { algorithm: SliceAlgorithm::Static, ..nvs(params, false) };
    assert!(reason(fixed(&[range(0, 49), range(49, 99)])).contains("in common"));
    assert!(reason(fixed(&[range(0, 100)])).contains("last PRB"));
    assert!(reason(fixed(&[Capacity(0.5)])).contains("not of the algorithm"));
    fixed(&[range(0, 49), range(50, 99)]).check(100).unwrap();
    let mut twice = nvs(&[Capacity(0.1), Capacity(0.1)], true);
    twice.slices[1].id = 0;
    assert!(reason(twice).contains("twice"));
}

#[test]
fn unused_guarantee_goes_to_other_slices() {
    let quota = |dedicated, min, max| SliceParams::Quota { dedicated, min, max };
    for (first, second, expected) in [
        // The first slice has data for 10 % of the carrier, and the second slice gets the rest. The rest is reduced
        // by the unused dedicated part, or by the limit of the second slice.
        (quota(0.0, 0.6, 1.0), quota(0.0, 0.0, 1.0), [10.0, 90.0]),
        (quota(0.3, 0.6, 1.0), quota(0.0, 0.0, 1.0), [10.0, 70.0]),
        (quota(0.0, 0.6, 1.0), quota(0.0, 0.0, 0.4), [10.0, 40.0]),
    ] {
        let set = SliceSet {
            algorithm: SliceAlgorithm::Quota,
            sharing: true,
            slices: vec![spec(0, first), spec(1, second)],
        };
        let mut slices = Slices::new(set, 100, 0.0);
        let mut demands = [0; SLICES_MAX];
        let mut prbs = [0_u32; 2];
        let mut waiting = 0_u16;
        let mut grants = Vec::new();
        for _ in 0..20_000 {
            waiting += 10;
            demands[..2].copy_from_slice(&[1, 1]);
            slices.grant_by_demand(&demands, &mut grants);
            let mut left = 100;
            for grant in &grants {
                let used = if grant.slice == 0 { waiting.min(left) } else { left };
                waiting -= if grant.slice == 0 { used } else { 0 };
                slices.served(*grant, used, 0);
                prbs[usize::from(grant.slice)] += u32::from(used);
                left -= used;
            }
        }
        for (got, expected) in prbs.iter().zip(expected) {
            let got = f64::from(*got) / 20_000.0;
            assert!(
                (got - expected).abs() < 1.0,
                "a slice gets {got} % instead of {expected} %: {first:?} {second:?}"
            );
        }
    }
}

#[test]
fn quotas_with_wrong_order_or_excessive_sum_are_refused() {
    let quotas = |params: &[SliceParams]| SliceSet { algorithm: SliceAlgorithm::Quota, ..nvs(params, true) };
    let quota = |dedicated, min, max| SliceParams::Quota { dedicated, min, max };
    for wrong in [quota(0.3, 0.2, 1.0), quota(0.0, 0.6, 0.3), quota(0.0, 0.0, 2.0), quota(f64::NAN, 0.0, 1.0)]
    {
        assert!(matches!(quotas(&[wrong]).check(100), Err(SliceError::Number { .. })), "{wrong:?}");
    }
    let halves = quota(0.0, 0.6, 1.0);
    assert!(matches!(quotas(&[halves, halves]).check(100), Err(SliceError::Sum(_))));
}
