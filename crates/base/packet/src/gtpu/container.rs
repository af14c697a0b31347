//! PDU session container (TS 38.415 §5.5): the QoS flow of a packet, and delays measured on its path.
use super::{GtpuError, split};

/// User plane information of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PduSession {
    /// DL PDU SESSION INFORMATION: from the user plane function.
    Dl(DlPduSession),
    /// UL PDU SESSION INFORMATION: from the base station.
    Ul(UlPduSession),
}

/// DL PDU SESSION INFORMATION (§5.5.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DlPduSession {
    /// QoS flow identifier, 0 to 63.
    pub qfi: u8,
    /// Reflective QoS indication: the UE applies this flow to the opposite direction.
    pub rqi: bool,
    /// Paging policy indicator, 0 to 7.
    pub ppi: Option<u8>,
    /// Transmission time of the packet, NTP format; requests delay reports from the base station.
    pub sent_ntp: Option<u64>,
    /// Sequence number within the flow, 24 bits.
    pub sequence: Option<u32>,
}

/// UL PDU SESSION INFORMATION (§5.5.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UlPduSession {
    /// QoS flow identifier, 0 to 63.
    pub qfi: u8,
    /// Timestamps for QoS monitoring.
    pub times: Option<UlTimes>,
    /// Downlink delay on the air interface, milliseconds.
    pub dl_delay_ms: Option<u32>,
    /// Uplink delay on the air interface, milliseconds.
    pub ul_delay_ms: Option<u32>,
    /// Sequence number within the flow, 24 bits.
    pub sequence: Option<u32>,
    /// Delay on N3 or N9, milliseconds.
    pub n3_delay_ms: Option<u32>,
}

/// Timestamps of an uplink packet, NTP format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UlTimes {
    /// Transmission time of the downlink packet, copied from that packet.
    pub dl_sent_ntp: u64,
    /// Arrival time of the downlink packet.
    pub dl_received_ntp: u64,
    /// Transmission time of this packet.
    pub ul_sent_ntp: u64,
}

const QFI: u8 = 0x3f;

impl PduSession {
    /// Returns a downlink container with the QoS flow only.
    pub fn dl(qfi: u8) -> Self {
        Self::Dl(DlPduSession { qfi, ..Default::default() })
    }

    /// Returns an uplink container with the QoS flow only.
    pub fn ul(qfi: u8) -> Self {
        Self::Ul(UlPduSession { qfi, ..Default::default() })
    }

    /// Returns the QoS flow identifier.
    pub fn qfi(&self) -> u8 {
        match self {
            Self::Dl(dl) => dl.qfi,
            Self::Ul(ul) => ul.qfi,
        }
    }

    /// Decodes the content of an extension header of type 0x85. Trailing bytes (padding, later releases) are ignored.
    pub fn decode(content: &[u8]) -> Result<Self, GtpuError> {
        let (&[first, second], rest) = split::<2>(WHAT, content)?;
        match first >> 4 {
            0 => decode_dl(first, second, rest).map(Self::Dl),
            1 => decode_ul(first, second, rest).map(Self::Ul),
            other => Err(GtpuError::PduType(other)),
        }
    }

    /// Appends the content of an extension header: 4n - 2 bytes. Numbers are truncated to their width.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        match self {
            Self::Dl(dl) => encode_dl(dl, out),
            Self::Ul(ul) => encode_ul(ul, out),
        }
        while (out.len() - start) % 4 != 2 {
            out.push(0);
        }
    }
}

const WHAT: &str = "PDU session container";

fn decode_dl(first: u8, second: u8, mut rest: &[u8]) -> Result<DlPduSession, GtpuError> {
    let mut dl = DlPduSession { qfi: second & QFI, rqi: second & 0x40 != 0, ..Default::default() };
    if second & 0x80 != 0 {
        dl.ppi = Some(take::<1>(&mut rest)?[0] >> 5);
    }
    if first & 0x08 != 0 {
        dl.sent_ntp = Some(u64::from_be_bytes(take(&mut rest)?));
    }
    if first & 0x04 != 0 {
        dl.sequence = Some(u24(take(&mut rest)?));
    }
    Ok(dl)
}

fn encode_dl(dl: &DlPduSession, out: &mut Vec<u8>) {
    out.push(bit(0x08, dl.sent_ntp.is_some()) | bit(0x04, dl.sequence.is_some()));
    out.push(bit(0x80, dl.ppi.is_some()) | bit(0x40, dl.rqi) | dl.qfi & QFI);
    out.extend(dl.ppi.map(|ppi| ppi << 5));
    out.extend(dl.sent_ntp.iter().flat_map(|time| time.to_be_bytes()));
    out.extend(dl.sequence.iter().flat_map(|n| n.to_be_bytes().into_iter().skip(1)));
}

fn decode_ul(first: u8, second: u8, mut rest: &[u8]) -> Result<UlPduSession, GtpuError> {
    let mut ul = UlPduSession { qfi: second & QFI, ..Default::default() };
    if first & 0x08 != 0 {
        ul.times = Some(UlTimes {
            dl_sent_ntp: u64::from_be_bytes(take(&mut rest)?),
            dl_received_ntp: u64::from_be_bytes(take(&mut rest)?),
            ul_sent_ntp: u64::from_be_bytes(take(&mut rest)?),
        });
    }
    if first & 0x04 != 0 {
        ul.dl_delay_ms = Some(u32::from_be_bytes(take(&mut rest)?));
    }
    if first & 0x02 != 0 {
        ul.ul_delay_ms = Some(u32::from_be_bytes(take(&mut rest)?));
    }
    if first & 0x01 != 0 {
        ul.sequence = Some(u24(take(&mut rest)?));
    }
    if second & 0x80 != 0 {
        ul.n3_delay_ms = Some(u32::from_be_bytes(take(&mut rest)?));
    }
    Ok(ul)
}

fn encode_ul(ul: &UlPduSession, out: &mut Vec<u8>) {
    out.push(
        0x10 | bit(0x08, ul.times.is_some())
            | bit(0x04, ul.dl_delay_ms.is_some())
            | bit(0x02, ul.ul_delay_ms.is_some())
            | bit(0x01, ul.sequence.is_some()),
    );
    out.push(bit(0x80, ul.n3_delay_ms.is_some()) | ul.qfi & QFI);
    if let Some(times) = &ul.times {
        for time in [times.dl_sent_ntp, times.dl_received_ntp, times.ul_sent_ntp] {
            out.extend(time.to_be_bytes());
        }
    }
    out.extend(ul.dl_delay_ms.iter().chain(&ul.ul_delay_ms).flat_map(|ms| ms.to_be_bytes()));
    out.extend(ul.sequence.iter().flat_map(|n| n.to_be_bytes().into_iter().skip(1)));
    out.extend(ul.n3_delay_ms.iter().flat_map(|ms| ms.to_be_bytes()));
}

fn take<const N: usize>(octets: &mut &[u8]) -> Result<[u8; N], GtpuError> {
    let (head, rest) = split::<N>(WHAT, octets)?;
    *octets = rest;
    Ok(*head)
}

fn u24([a, b, c]: [u8; 3]) -> u32 {
    u32::from_be_bytes([0, a, b, c])
}

fn bit(mask: u8, set: bool) -> u8 {
    if set { mask } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sessions() -> impl Strategy<Value = PduSession> {
        let sequence = prop::option::of(0u32..1 << 24);
        let dl = (0u8..64, any::<bool>(), prop::option::of(0u8..8), any::<Option<u64>>(), sequence.clone());
        let times = any::<Option<(u64, u64, u64)>>();
        let ul = (0u8..64, times, any::<Option<u32>>(), any::<Option<u32>>(), sequence, any::<Option<u32>>());
        prop_oneof![
            dl.prop_map(|(qfi, rqi, ppi, sent_ntp, sequence)| PduSession::Dl(DlPduSession {
                qfi,
                rqi,
                ppi,
                sent_ntp,
                sequence
            })),
            ul.prop_map(|(qfi, times, dl_delay_ms, ul_delay_ms, sequence, n3_delay_ms)| {
                let times = times.map(|(dl_sent_ntp, dl_received_ntp, ul_sent_ntp)| UlTimes {
                    dl_sent_ntp,
                    dl_received_ntp,
                    ul_sent_ntp,
                });
                PduSession::Ul(UlPduSession { qfi, times, dl_delay_ms, ul_delay_ms, sequence, n3_delay_ms })
            }),
        ]
    }

    proptest! {
        #[test]
        fn any_container_round_trips(session in sessions()) {
            let mut out = Vec::new();
            session.encode(&mut out);
            prop_assert_eq!(out.len() % 4, 2);
            prop_assert_eq!(PduSession::decode(&out), Ok(session));
        }
    }

    #[test]
    fn truncated_container_is_refused() {
        for content in [&[0x10][..], &[0x18, 9], &[0x00, 0x80], &[0x11, 9, 0, 0]] {
            assert!(matches!(PduSession::decode(content), Err(GtpuError::Truncated { .. })));
        }
        assert_eq!(PduSession::decode(&[0x20, 9]), Err(GtpuError::PduType(2)));
    }
}
