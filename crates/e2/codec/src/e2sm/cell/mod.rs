//! CELL: the load of a base station's cells, a statistics model of ranlab. No other implementation knows it, so it
//! must be selected explicitly.
//!
//! It has the format of FlexRIC's models: event trigger, indication header and list of elements as in [`plain`](super::plain), with a
//! [`CellLoad`] each. "Aggregated" counters are zero when the cell starts.

use std::convert::Infallible;

use super::RowKey;
use super::statistics::statistics_model;
use super::table::row;

statistics_model! {
    /// The CELL service model.
    CellStats "cell": "0.0.0.0.0.0.0.0.1.141.0", 141, b"CELL_STATS_V0", revision 1, customary false, Infallible;
    /// The load of all cells of a node.
    #[derive(Debug, Clone, PartialEq, Eq, Default)]
    CellIndication CellView { cells: CellLoad, "One entry for each cell." }
}

row! {
    /// Load of one cell. Only UEs that the requesting controller sees are counted.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    CellLoad, _cell => RowKey::Node, 64 octets {
        0 aggr_prb: u64 [counter], "Aggregated resource blocks offered by the cell, per direction.";
        8 dl_aggr_prb: u64 [counter headline], "Aggregated downlink resource blocks given to UEs, retransmissions included.";
        16 ul_aggr_prb: u64 [counter headline], "Aggregated uplink resource blocks given to UEs, retransmissions included.";
        24 dl_aggr_tbs: u64 [counter "B" headline], "Aggregated downlink transport block sizes, bytes.";
        32 ul_aggr_tbs: u64 [counter "B" headline], "Aggregated uplink transport block sizes, bytes.";
        40 dl_queue_bytes: u64 [gauge "B" headline], "Bytes queued for the downlink.";
        48 ul_queue_bytes: u64 [gauge "B"], "Bytes queued for the uplink.";
        56 prb: u16 [gauge], "Resource blocks per slot, per direction.";
        58 cell_id: u16 [label], "Number of the cell at its node.";
        60 ues: u16 [gauge headline], "Connected UEs.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_encoding_matches_layout() {
        let cell =
            CellLoad { aggr_prb: 1, ul_queue_bytes: 2, prb: 106, cell_id: 3, ues: 4, ..CellLoad::default() };
        let message = CellIndication { cells: vec![cell], tstamp_us: 5 };
        let mut octets = Vec::new();
        message.encode(&mut octets);
        assert_eq!(octets.len(), 4 + 64 + 8);
        assert_eq!(
            (octets[0], octets[4], octets[52], octets[60], octets[62], octets[64]),
            (1, 1, 2, 106, 3, 4)
        );
        assert_eq!(octets[66..], [0, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(CellIndication::decode(&octets), Ok(message));
        assert_eq!(CellView::new(&octets).unwrap().at(0), Some(cell));
    }
}
