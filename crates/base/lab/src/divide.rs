//! Divides a load among several locations. The shares add up to the whole load, and each base station, UE and session
//! is at one location only.

use std::time::Duration;

use crate::rig;
use crate::worker::ComponentError;

/// Maximum number of locations of a load.
pub const PLACES_MAX: usize = 128;

/// Returns one location's share of a total. The shares differ by at most one.
pub fn share(total: u64, place: usize, places: usize) -> u64 {
    let until = |place: usize| u128::from(total) * place as u128 / places.max(1) as u128;
    // The difference is at most the total, which is a u64.
    (until(place + 1) - until(place)) as u64
}

/// Checks that each location gets at least one of `total` items. `what` names the items in the error.
pub fn divisible(what: &str, total: u64, places: usize) -> Result<(), ComponentError> {
    if total >= places as u64 {
        return Ok(());
    }
    Err(rig(format!("{total} {what} cannot be divided among {places} places; at least {places} are needed")))
}

/// Returns the number, the first index and the ramp time of each location's base stations. The ramp time is the same at
/// all locations. Identities, seeds and UEs follow from the index of a base station.
pub fn stations(
    nodes: u32,
    first: u32,
    ramp: Option<Duration>,
    places: usize,
) -> Result<impl Iterator<Item = (u32, u32, Option<Duration>)>, ComponentError> {
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

    #[test]
    fn shares_add_up_and_differ_by_at_most_one() {
        for (total, places) in [(10, 3), (3, 3), (2, 3), (0, 2), (u64::MAX, 7)] {
            let shares: Vec<_> = (0..places).map(|place| share(total, place, places)).collect();
            assert_eq!(shares.iter().map(|share| u128::from(*share)).sum::<u128>(), total.into());
            assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1, "{shares:?}");
        }
    }
}
