//! CELL as packed structs.

use super::{CELL_SIZE, CellIndication, CellLoad};
use crate::e2sm::plain::{PlainElement, PlainView, plain_element, plain_indication};

/// A borrowed CELL indication message.
pub type CellView<'a> = PlainView<'a, CellLoad>;

plain_indication!(CellIndication, cells: CellLoad);

const _: () = assert!(CellLoad::SIZE == CELL_SIZE);
plain_element!(CellLoad, 64, {
    0 => aggr_prb: u64,
    8 => dl_aggr_prb: u64,
    16 => ul_aggr_prb: u64,
    24 => dl_aggr_tbs: u64,
    32 => ul_aggr_tbs: u64,
    40 => dl_queue_bytes: u64,
    48 => ul_queue_bytes: u64,
    56 => prb: u16,
    58 => cell_id: u16,
    60 => ues: u16,
    // 62..64: padding
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_octets_of_a_cell() {
        let cell =
            CellLoad { aggr_prb: 1, ul_queue_bytes: 2, prb: 106, cell_id: 3, ues: 4, ..CellLoad::default() };
        let message = CellIndication { cells: vec![cell], tstamp_us: 5 };
        let mut octets = Vec::new();
        message.encode(&mut octets);
        assert_eq!(octets.len(), 4 + CELL_SIZE + 8);
        assert_eq!(
            (octets[0], octets[4], octets[52], octets[60], octets[62], octets[64]),
            (1, 1, 2, 106, 3, 4)
        );
        assert_eq!(octets[66..], [0, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(CellIndication::decode(&octets), Ok(message));
        assert_eq!(CellView::new(&octets).unwrap().at(0), Some(cell));
    }
}
