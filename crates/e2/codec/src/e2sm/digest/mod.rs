//! DIGEST: the few numbers per UE that a scheduler of slices or of traffic needs. It is a statistics model of ranlab. One element has 64
//! bytes. MAC and RLC together have 328 bytes for a UE with one bearer. No other implementation knows the model, so it must be selected
//! explicitly.
//!
//! It has the format of FlexRIC's models: event trigger, indication header and list of elements as in
//! [`plain`](super::plain), with a [`UeDigest`] each. "Aggregated" counters are zero when the UE attaches.

use std::convert::Infallible;

use super::RowKey;
use super::statistics::statistics_model;
use super::table::row;

statistics_model! {
    /// The DIGEST service model.
    Digest "digest": "0.0.0.0.0.0.0.0.1.135.0", 135, b"DIGEST_STATS_V0", revision 1, customary false, Infallible;
    /// The digests of all UEs of a cell.
    #[derive(Debug, Clone, PartialEq, Default)]
    DigestIndication DigestView { ues: UeDigest, "One entry for each connected UE." }
}

row! {
    /// Digest of one UE.
    #[derive(Debug, Clone, Copy, PartialEq, Default)]
    UeDigest, ue => RowKey::Ue { rnti: ue.rnti.into() }, 64 octets {
        0 dl_aggr_bytes: u64 [counter "B" headline], "Aggregated bytes of downlink RLC SDUs, transmitted completely.";
        8 ul_aggr_bytes: u64 [counter "B" headline], "Aggregated bytes of uplink RLC SDUs, transmitted completely.";
        16 dl_aggr_prb: u64 [counter], "Aggregated downlink resource blocks, retransmissions included.";
        24 ul_aggr_prb: u64 [counter], "Aggregated uplink resource blocks, retransmissions included.";
        32 dl_queue_bytes: u32 [gauge "B" headline], "Bytes queued for the downlink.";
        36 ul_queue_bytes: u32 [gauge "B"], "Bytes queued for the uplink.";
        40 dl_delay_us: u32 [gauge "us" headline], "Moving average of the time that downlink RLC SDUs wait.";
        44 ul_delay_us: u32 [gauge "us"], "Moving average of the time that uplink RLC SDUs wait.";
        48 dl_dropped_sdus: u32 [counter], "Downlink RLC SDUs dropped because the queue was full.";
        52 ul_dropped_sdus: u32 [counter], "Uplink RLC SDUs dropped because the queue was full.";
        56 dl_bler: f32 [gauge], "Downlink block error rate, 0 to 1.";
        60 rnti: u16 [key], "C-RNTI.";
        62 cqi: u8 [gauge headline], "Wideband channel quality indicator, 1 to 15.";
        63 dl_mcs: u8 [gauge], "Downlink modulation and coding scheme, table 1.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_encoding_matches_layout() {
        let ue = UeDigest {
            dl_aggr_bytes: 1,
            dl_queue_bytes: 2,
            rnti: 3,
            cqi: 4,
            dl_mcs: 5,
            ..UeDigest::default()
        };
        let message = DigestIndication { ues: vec![ue], tstamp_us: 6 };
        let mut octets = Vec::new();
        message.encode(&mut octets);
        assert_eq!(octets.len(), 4 + 64 + 8);
        assert_eq!((octets[0], octets[4], octets[36], octets[64]), (1, 1, 2, 3));
        assert_eq!(octets[65..], [0, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(DigestIndication::decode(&octets), Ok(message));
        assert_eq!(DigestView::new(&octets).unwrap().at(0), Some(ue));
    }
}
