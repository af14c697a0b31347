//! Control messages of split 7.2x (O-RAN.WG4.CUS clause 7). For each slot with symbols of a direction and each layer, one message precedes
//! the data.

use super::cus::{APPLICATION_SIZE, ControlPlane};
use super::pattern::Pattern;
use super::split::{Carrier, wire_bytes};
use super::tdd::{Direction, SYMBOLS, Tdd};
use super::time::MS;

/// Bytes of an 802.1Q tag.
pub const TAG_BYTES: u32 = 4;
/// Total size of the eCPRI header, RTC_ID and SEQ_ID, in bytes.
const ECPRI_BYTES: u32 = 8;
const _: () = assert!(APPLICATION_SIZE == 4);

/// Returns the pattern of control messages for a carrier's data in one direction. All control messages are sent to the radio unit.
pub fn control_pattern(carrier: &Carrier, tdd: Option<&Tdd>, way: Direction) -> Pattern {
    let frames = vec![wire_bytes(ECPRI_BYTES + ControlPlane::SIZE as u32); usize::from(carrier.ports)];
    let slot_ps = MS * 15 / u64::from(carrier.spacing_khz.max(1));
    match tdd {
        None => Pattern::Periodic { period_ps: slot_ps, releases: 1, frames, jitter_ps: 0 },
        Some(tdd) => {
            let slots: Vec<bool> =
                tdd.symbols(way).chunks(SYMBOLS).map(|slot| slot.contains(&true)).collect();
            Pattern::Tdd { period_ps: slot_ps * tdd.slots() as u64, slots, together: 1, frames }
        }
    }
}

/// Returns the first symbol and the number of symbols of a direction in a slot.
pub fn control_symbols(tdd: Option<&Tdd>, way: Direction, slot: u64) -> (u8, u8) {
    let Some(tdd) = tdd else { return (0, SYMBOLS as u8) };
    let symbols = tdd.symbols(way);
    let at = (slot % tdd.slots() as u64) as usize * SYMBOLS;
    let own = symbols.get(at..at + SYMBOLS).unwrap_or_default();
    let first = own.iter().position(|&symbol| symbol).unwrap_or(0);
    // The number is at most 14.
    (first as u8, own.iter().filter(|&&symbol| symbol).count() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slot_has_one_control_message_per_layer() {
        let tdd = Tdd::parse("DDDSU", "10:2:2").unwrap();
        let carrier =
            Carrier { prbs: 273, spacing_khz: 30, ports: 4, sampling_hz: 122_880_000, transport_bits: 1 };
        let of = |way| match control_pattern(&carrier, Some(&tdd), way) {
            Pattern::Tdd { period_ps, slots, frames, .. } => {
                (period_ps, slots.iter().filter(|&&own| own).count(), frames)
            }
            other => panic!("{other:?}"),
        };
        // The special slot has symbols of both directions. The frames have the minimum size.
        assert_eq!(of(Direction::Down), (5 * MS / 2, 4, vec![84; 4]));
        assert_eq!(of(Direction::Up).1, 2);
        let symbols = |way, slot| control_symbols(Some(&tdd), way, slot);
        assert_eq!([0, 3, 8].map(|slot| symbols(Direction::Down, slot)), [(0, 14), (0, 10), (0, 10)]);
        assert_eq!([3, 4, 0].map(|slot| symbols(Direction::Up, slot)), [(12, 2), (0, 14), (0, 0)]);
        assert_eq!(control_symbols(None, Direction::Up, 7), (0, 14));
        let fdd = control_pattern(&carrier, None, Direction::Up);
        assert_eq!(fdd, Pattern::burst(MS / 2, 4, 84));
    }
}
