//! Division of base stations.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use std::time::Duration;

use ranlab_lab::{PLACES_MAX, Part, Seed};

use super::*;

#[test]
fn base_stations_are_numbered_consecutively_over_one_ramp() {
    let fleet = FleetPart { nodes: 10, first: 5, ..FleetPart::default() };
    let shares = Part::from(fleet.clone()).divide(3).unwrap();
    let mut next = 5;
    for share in &shares {
        let Some(share) = share.get::<FleetPart>() else { panic!("{share:?}") };
        assert_eq!((share.first, share.ramp), (next, Some(Duration::from_millis(10))));
        // All shares have the same seed. A base station's seed follows from its index, independent of its location.
        assert_eq!((share.seed, share.ues), (Seed(1), fleet.ues));
        next += share.nodes;
    }
    assert_eq!((next, shares.len()), (15, 3));
    let second = Some(Duration::from_secs(1));
    let south = SouthFleetPart { nodes: 4, ramp: second, ..SouthFleetPart::default() };
    let shares = Part::from(south).divide(2).unwrap();
    let [Some(a), Some(b)] = [0, 1].map(|place| shares[place].get::<SouthFleetPart>()) else {
        panic!("two shares")
    };
    assert_eq!((a.nodes, a.first, b.nodes, b.first, b.ramp), (2, 0, 2, 2, second));
}

#[test]
fn indivisible_load_is_rejected() {
    let why = |part: Part, places| part.divide(places).unwrap_err().what;
    let two = FleetPart { nodes: 2, ..FleetPart::default() };
    let told = why(Part::from(two.clone()), 3);
    assert_eq!(told, "2 base stations cannot be divided among 3 places; at least 3 are needed");
    assert!(why(Part::from(PingPart::default()), 2).contains("is one and cannot be divided"));
    assert!(why(Part::from(two), PLACES_MAX + 1).contains("1 to 128 places"));
}
