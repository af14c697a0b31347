//! Encodes series and distributions as bytes. Differences of neighbours are stored in LEB128, so most take one or two
//! bytes.

use std::time::Duration;

use ranlab_campaign::record::Distribution;

/// Encodes pairs of (ascending value, count) as differences of values, and counts.
pub(super) fn of_distribution(distribution: &Distribution) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(distribution.counts.len() * 3);
    let mut last = 0;
    for (value, count) in &distribution.counts {
        write(&mut bytes, value - last);
        write(&mut bytes, *count);
        last = *value;
    }
    bytes
}

pub(super) fn distribution_of(mut bytes: &[u8]) -> Option<Distribution> {
    let mut counts = Vec::new();
    let mut last = 0_u64;
    while !bytes.is_empty() {
        last = last.checked_add(read(&mut bytes)?)?;
        counts.push((last, read(&mut bytes)?));
    }
    Some(Distribution { counts })
}

/// Encodes pairs of (offset in ns, value): the offset, then the value as 8 bytes.
pub(super) fn of_series(samples: &[(Duration, f64)]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(samples.len() * 12);
    for (at, value) in samples {
        write(&mut bytes, u64::try_from(at.as_nanos()).unwrap_or(u64::MAX));
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    bytes
}

pub(super) fn series_of(mut bytes: &[u8]) -> Option<Vec<(Duration, f64)>> {
    let mut samples = Vec::new();
    while !bytes.is_empty() {
        let at = Duration::from_nanos(read(&mut bytes)?);
        let (value, rest) = bytes.split_first_chunk::<8>()?;
        samples.push((at, f64::from_le_bytes(*value)));
        bytes = rest;
    }
    Some(samples)
}

fn write(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn read(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f).checked_shl(shift)?;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn blob_round_trips(mut values in proptest::collection::btree_map(any::<u64>(), 1..u64::MAX, 0..50),
                                     samples in proptest::collection::vec((any::<u64>(), any::<f64>()), 0..50)) {
            values.insert(0, 1);
            let distribution = Distribution { counts: values.into_iter().collect() };
            prop_assert_eq!(distribution_of(&of_distribution(&distribution)), Some(distribution));
            let samples: Vec<_> = samples.into_iter().map(|(at, v)| (Duration::from_nanos(at), v)).collect();
            let back = series_of(&of_series(&samples)).unwrap();
            prop_assert!(back.iter().zip(&samples).all(|(a, b)| a.0 == b.0 && a.1.to_bits() == b.1.to_bits()));
            prop_assert_eq!(back.len(), samples.len());
        }

        #[test]
        fn damaged_blob_is_rejected_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = (distribution_of(&bytes), series_of(&bytes));
        }
    }
}
