//! UEs of an emulated base station.
use crate::Time;
use std::collections::BTreeMap;

/// Radio state of a UE, which is copied into reports unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Radio {
    /// Wideband CQI, 0 to 15.
    pub cqi: u8,
    /// Rank of the transmission.
    pub rank: u8,
    /// Uplink signal to interference and noise in dB.
    pub sinr_db: i8,
    /// Power headroom in dB.
    pub headroom_db: i8,
    /// RSRP in dBm.
    pub rsrp_dbm: i16,
    /// RSRQ in dB.
    pub rsrq_db: i8,
    /// Bytes in the downlink queue.
    pub queue_bytes: u32,
    /// Age of the oldest byte in the downlink queue, in ms.
    pub queue_ms: u32,
    /// Buffer status index of the uplink, 0 to 63.
    pub bsr: u8,
    /// Resource blocks that the UE used since the last report.
    pub prbs: u16,
}

impl Default for Radio {
    /// Returns the state of a UE near the base station with empty queues, as in all of MARC's reports.
    fn default() -> Self {
        Self {
            cqi: 15,
            rank: 0,
            sinr_db: 0,
            headroom_db: 0,
            rsrp_dbm: -80,
            rsrq_db: -3,
            queue_bytes: 0,
            queue_ms: 0,
            bsr: 0,
            prbs: 0,
        }
    }
}

/// A UE of an emulated base station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ue {
    /// IMSI as a number, unique in the network.
    pub imsi: u64,
    /// TMSI of the UE.
    pub tmsi: u32,
    /// C-RNTI assigned by the cell under the agent. `None`: the agent assigns one.
    pub rnti: Option<u16>,
    /// Radio state of the UE.
    pub radio: Radio,
}

/// Change of a UE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UeChange {
    /// The UE was activated.
    Activated(Ue),
    /// The UE was deactivated.
    Deactivated,
    /// The radio state of the UE changed.
    Updated(Radio),
    /// The UE was handed over from another base station.
    Arrived {
        /// State of the UE.
        ue: Ue,
        /// Previous base station.
        station: u64,
        /// Physical identity of the previous cell.
        pci: u16,
        /// C-RNTI in the previous cell.
        rnti: u16,
    },
}

/// An event of the data plane, with UE and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UeEvent {
    /// Time of the change.
    pub at: Time,
    /// IMSI of the UE.
    pub imsi: u64,
    /// Change of the UE.
    pub change: UeChange,
}

/// First C-RNTI to assign. Lower values are reserved (TS 36.321 table 7.1-1).
const FIRST_RNTI: u16 = 0x003d;
/// Last C-RNTI to assign.
const LAST_RNTI: u16 = 0xfff3;

/// Active UEs by C-RNTI. C-RNTIs are unique within the base station. A C-RNTI is only reused after all others were used.
#[derive(Debug)]
pub struct UeTable {
    by_rnti: BTreeMap<u16, Ue>,
    rnti_of: BTreeMap<u64, u16>,
    next: u16,
    limit: usize,
}

impl UeTable {
    /// Creates a table for at most `limit` UEs.
    pub fn new(limit: usize) -> Self {
        let limit = limit.min(usize::from(LAST_RNTI - FIRST_RNTI) + 1);
        Self { by_rnti: BTreeMap::new(), rnti_of: BTreeMap::new(), next: FIRST_RNTI, limit }
    }

    /// Adds a UE and returns its C-RNTI. Returns `None` if the table is full, or already has the UE or its C-RNTI.
    pub fn add(&mut self, ue: Ue) -> Option<u16> {
        if self.by_rnti.len() >= self.limit || self.rnti_of.contains_key(&ue.imsi) {
            return None;
        }
        let rnti = match ue.rnti {
            Some(rnti) if self.by_rnti.contains_key(&rnti) => return None,
            Some(rnti) => rnti,
            None => self.free(),
        };
        self.by_rnti.insert(rnti, ue);
        self.rnti_of.insert(ue.imsi, rnti);
        Some(rnti)
    }

    fn free(&mut self) -> u16 {
        // The loop ends, because there are fewer UEs than C-RNTIs.
        while self.by_rnti.contains_key(&self.next) {
            self.next = following(self.next);
        }
        let rnti = self.next;
        self.next = following(rnti);
        rnti
    }

    /// Removes a UE. Returns it with its C-RNTI, if it was active.
    pub fn remove(&mut self, imsi: u64) -> Option<(u16, Ue)> {
        let rnti = self.rnti_of.remove(&imsi)?;
        self.by_rnti.remove(&rnti).map(|ue| (rnti, ue))
    }

    /// Updates the radio state of a UE. Returns its C-RNTI, if the UE is active.
    pub fn update(&mut self, imsi: u64, radio: Radio) -> Option<u16> {
        let rnti = *self.rnti_of.get(&imsi)?;
        self.by_rnti.get_mut(&rnti)?.radio = radio;
        Some(rnti)
    }

    /// Returns the UE with a C-RNTI.
    pub fn get(&self, rnti: u16) -> Option<&Ue> {
        self.by_rnti.get(&rnti)
    }

    /// Returns all UEs in the order of their C-RNTIs.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u16, &Ue)> {
        self.by_rnti.iter().map(|(rnti, ue)| (*rnti, ue))
    }

    /// Returns the number of active UEs.
    pub fn len(&self) -> usize {
        self.by_rnti.len()
    }

    /// Returns whether no UE is active.
    pub fn is_empty(&self) -> bool {
        self.by_rnti.is_empty()
    }
}

fn following(rnti: u16) -> u16 {
    if rnti >= LAST_RNTI { FIRST_RNTI } else { rnti + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ue(imsi: u64) -> Ue {
        Ue { imsi, tmsi: 0, rnti: None, radio: Radio::default() }
    }

    #[test]
    fn rntis_are_unique_and_reused_last() {
        let mut table = UeTable::new(3);
        assert_eq!((table.add(ue(1)), table.add(ue(2)), table.add(ue(1))), (Some(61), Some(62), None));
        assert_eq!(table.remove(1).map(|(rnti, _)| rnti), Some(61));
        assert_eq!((table.add(ue(3)), table.add(ue(4)), table.add(ue(5))), (Some(63), Some(64), None));
        assert_eq!((table.remove(9), table.update(9, Radio::default())), (None, None));
        assert_eq!(table.len(), 3);
        table.remove(3);
        let of_a_cell = |rnti| Ue { rnti: Some(rnti), ..ue(7) };
        assert_eq!((table.add(of_a_cell(62)), table.add(of_a_cell(1))), (None, Some(1)));
        assert_eq!((table.get(1).map(|ue| ue.imsi), table.add(ue(7))), (Some(7), None));
    }

    #[test]
    fn rntis_wrap_around_to_next_free_one() {
        let mut table = UeTable::new(usize::MAX);
        assert_eq!(table.add(ue(0)), Some(61));
        for imsi in 1..60_000 {
            assert!(table.add(ue(imsi)).is_some());
            table.remove(imsi);
        }
        for imsi in 60_000..70_000 {
            let rnti = table.add(ue(imsi)).unwrap();
            assert!(rnti != 61 && (61..=0xfff3).contains(&rnti));
        }
        assert_eq!(table.len(), 10_001);
    }
}
