//! Divides a load among several locations. The shares add up to the whole load, and each base station, UE and session
//! is at one location only.

use std::time::Duration;

use crate::rig;
use crate::worker::Trouble;

/// Maximum number of locations of a load.
pub const PLACES_MAX: usize = 128;

/// Returns one location's share of a total. The shares differ by at most one.
pub(crate) fn share(total: u64, place: usize, places: usize) -> u64 {
    let until = |place: usize| u128::from(total) * place as u128 / places.max(1) as u128;
    // The difference is at most the total, which is a u64.
    (until(place + 1) - until(place)) as u64
}

/// Checks that each location gets at least one.
pub(crate) fn divisible(what: &str, total: u64, places: usize) -> Result<(), Trouble> {
    if total >= places as u64 {
        return Ok(());
    }
    Err(rig(format!("{total} {what} cannot be divided among {places} places; at least {places} are needed")))
}

/// Returns number, first index and start times of a location's base stations. All locations share the ramp time.
/// Identities, seeds and UEs follow from the index of a base station.
pub(crate) fn stations(
    nodes: u32,
    first: u32,
    ramp: Option<Duration>,
    places: usize,
) -> Result<impl Iterator<Item = (u32, u32, Option<Duration>)>, Trouble> {
    divisible("base stations", nodes.into(), places)?;
    let ramp = ramp.unwrap_or_else(|| Duration::from_millis(nodes.into()));
    let mut next = first;
    Ok((0..places).map(move |place| {
        let share = share(nodes.into(), place, places) as u32;
        let first = next;
        next += share;
        (share, first, Some(ramp))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FleetPart, Part, PingPart, Seed, SouthFleetPart};

    #[test]
    fn shares_add_up_and_differ_by_at_most_one() {
        for (total, places) in [(10, 3), (3, 3), (2, 3), (0, 2), (u64::MAX, 7)] {
            let shares: Vec<_> = (0..places).map(|place| share(total, place, places)).collect();
            assert_eq!(shares.iter().map(|share| u128::from(*share)).sum::<u128>(), total.into());
            assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1, "{shares:?}");
        }
    }

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
}
