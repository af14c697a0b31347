//! The base station behind RC: quotas become slices of the network virtualization substrate, a handover is one.
use super::control::Station;
use super::{Moved, SharedRadio, hand_over};
use ranlab_machines::southbound::CellControl;
use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::functions::rc::RcControl;
use ranlab_sdk::wire::e2ap::Plmn;
use ranlab_sdk::wire::e2sm::common::{NrCgi, Snssai};
use ranlab_sdk::wire::e2sm::control::{Reason, Refusal};
use ranlab_sdk::wire::e2sm::kpm::DEFAULT_SLICE;
use ranlab_sdk::wire::e2sm::rc::commands::{Order, SliceQuota};
use ranlab_sdk::wire::e2sm::slice::{
    Slice, SliceAlgorithm, SliceCommand, SliceParameters, SliceSet, UeScheduler, UeSlice, WHOLE_PPM,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Bits of a cell's identity that are the cell's at its gNB.
const CELL_BITS: u32 = 4;

/// The radios of a fleet by their cells' identities: where UEs can be handed over to.
pub type Neighbours = Arc<Mutex<BTreeMap<NrCgi, SharedRadio>>>;

/// The cell of a gNB, which has one: its 32 bits first.
pub fn cell_of(plmn: Plmn, gnb: u32) -> NrCgi {
    NrCgi { plmn, cell: u64::from(gnb) << CELL_BITS }
}

/// A radio as RC has it.
pub(crate) struct Steered {
    pub(crate) radio: SharedRadio,
    pub(crate) neighbours: Neighbours,
}

impl RcControl for Steered {
    fn obey(&mut self, _: Time, number: u32, order: &Order) -> Result<(), Refusal> {
        match order {
            Order::SliceQuotas(quotas) => self.share(quotas),
            Order::Handover(cell) => self.hand_over(number, cell),
            Order::QosFlows { .. } => {
                Err(Refusal::new(Reason::NotSupported, "a UE has one bearer, with all its flows"))
            }
        }
    }
}

/// Slices, numbered from 1, of as many quotas; UEs of none are in slice 0, which has what is left, or if nothing is in
/// the first one.
///
/// Either each is guaranteed its least and what is not used goes round (all maxima are 100 %), or each has its most and
/// no more, whether others use theirs or not.
fn slices(quotas: &[SliceQuota]) -> Result<SliceSet, Refusal> {
    let sharing = quotas.iter().all(|quota| quota.max == 100);
    // What is kept for a slice alone is within its least (TS 28.541 §4.3.36), but srsRAN's xApps ask for 100 % of it always, and
    // its base stations take that: only the least counts here too.
    if let Some(quota) = quotas.iter().find(|it| it.min > it.max) {
        let why = format!("slice {}: at most {} %, at least {} %", quota.slice, quota.max, quota.min);
        return Err(Refusal::new(Reason::Invalid, why));
    }
    // A share of nothing is no share: one that is promised nothing gets what nobody misses.
    let ppm = |quota: &SliceQuota| {
        let percent = u32::from(if sharing { quota.min } else { quota.max });
        (percent * (WHOLE_PPM / 100)).max(1)
    };
    let left = WHOLE_PPM.checked_sub(quotas.iter().map(ppm).sum());
    let left = left.ok_or_else(|| Refusal::new(Reason::Overcommitted, "more than 100 % in all"))?;
    let slice = |id: u16, label: String, ppm: u32| Slice {
        id,
        label,
        scheduler: UeScheduler::ProportionalFair,
        parameters: SliceParameters::Capacity(ppm),
    };
    let of = |(id, quota): (u16, &SliceQuota)| slice(id, quota.slice.to_string(), ppm(quota));
    let rest = (left > 0).then(|| slice(0, "rest".to_owned(), left));
    let slices: Vec<_> = rest.into_iter().chain((1..).zip(quotas).map(of)).collect();
    Ok(SliceSet { algorithm: SliceAlgorithm::Nvs, sharing, slices })
}

impl Steered {
    fn share(&self, quotas: &[SliceQuota]) -> Result<(), Refusal> {
        let set = slices(quotas)?;
        let first = set.slices.first().map_or(0, |slice| slice.id);
        let mut station = Station(Arc::clone(&self.radio));
        CellControl::command(&mut station, &SliceCommand::Configure(set))?;
        let is = |wanted: Snssai, has: &Snssai| {
            has.sst == wanted.sst && wanted.sd.is_none_or(|sd| has.sd == Some(sd))
        };
        let slice_of = |chosen: &[Snssai]| {
            let chosen = if chosen.is_empty() { &[DEFAULT_SLICE][..] } else { chosen };
            let place = quotas.iter().position(|quota| chosen.iter().any(|it| is(quota.slice, it)));
            // There are at most 16 slices.
            place.map_or(first, |place| place as u16 + 1)
        };
        let there = station.radio().slices();
        let ues: Vec<_> =
            there.iter().map(|(rnti, chosen)| UeSlice { rnti: *rnti, slice: slice_of(chosen) }).collect();
        if ues.is_empty() {
            Ok(())
        } else {
            CellControl::command(&mut station, &SliceCommand::Associate(ues))
        }
    }

    fn hand_over(&self, number: u32, cell: &NrCgi) -> Result<(), Refusal> {
        let unknown = |what: String| Refusal::new(Reason::UnknownUe, what);
        let rnti = u16::try_from(number).map_err(|_| unknown(format!("there is no UE {number}")))?;
        let neighbours = self.neighbours.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(target) = neighbours.get(cell) else {
            return Err(Refusal::new(
                Reason::Invalid,
                format!("there is no cell {:09x} of {}", cell.cell, cell.plmn),
            ));
        };
        let moved = hand_over(&self.radio, target, rnti)?;
        tell(&self.radio, [moved.source]);
        tell(target, moved.target);
        Ok(())
    }
}

/// The agents of a radio are told with its next pass.
fn tell(radio: &SharedRadio, moved: impl IntoIterator<Item = Moved>) {
    radio.lock().unwrap_or_else(PoisonError::into_inner).moved.extend(moved);
}

#[cfg(test)]
mod tests {
    use super::super::{FlowPlan, Radio, RadioConfig, What};
    use super::*;
    use ranlab_model::user_plane::Carrier;

    const PLMN: Plmn = Plmn([0x00, 0xf1, 0x10]);

    /// Two cells of two UEs each that want all they can get, the first in slice 1, the second in slice 2.
    fn two() -> [Steered; 2] {
        let flows = vec![FlowPlan::new(What::Full)];
        let snssais = vec![Snssai { sst: 1, sd: None }, Snssai { sst: 2, sd: Some(7) }];
        let config = RadioConfig { flows, snssais, ..RadioConfig::new(Carrier::lte(25), 2) };
        let neighbours = Neighbours::default();
        [1, 2].map(|gnb: u16| {
            let radio = Radio::new(&config, (gnb, 1), PLMN, 0, 0).unwrap();
            let radio = Arc::new(Mutex::new(radio));
            neighbours.lock().unwrap().insert(cell_of(PLMN, gnb.into()), Arc::clone(&radio));
            Steered { radio, neighbours: Arc::clone(&neighbours) }
        })
    }

    fn pass(station: &Steered, ms: std::ops::Range<u64>) -> Vec<Moved> {
        let mut radio = station.radio.lock().unwrap();
        ms.flat_map(|ms| radio.pass(Time::from_nanos(ms * 1_000_000))).collect()
    }

    /// Resource blocks of both UEs, by the first ones' share of them, %.
    fn share_of_first(station: &Steered) -> f64 {
        let radio = station.radio.lock().unwrap();
        let prbs: Vec<_> =
            radio.rntis().values().map(|rnti| radio.cell().report(*rnti).unwrap().dl.prbs).collect();
        100.0 * prbs[0] as f64 / prbs.iter().sum::<u64>() as f64
    }

    fn quota(sst: u8, min: u8, max: u8) -> SliceQuota {
        SliceQuota { plmn: PLMN, slice: Snssai { sst, sd: None }, min, max, dedicated: 0 }
    }

    #[test]
    fn quotas_share_the_carrier_among_the_ues_that_chose_the_slices() {
        for (quotas, expected) in [
            ([quota(1, 80, 100), quota(2, 20, 100)], 80.0),
            ([quota(1, 0, 30), quota(2, 0, 60)], 100.0 / 3.0),
        ] {
            let [mut station, _] = two();
            pass(&station, 0..2);
            station.obey(Time::ZERO, 0, &Order::SliceQuotas(quotas.to_vec())).unwrap();
            pass(&station, 2..3_000);
            let share = share_of_first(&station);
            assert!((share - expected).abs() < 3.0, "{share} % of {quotas:?}");
        }
        let [mut station, _] = two();
        for quotas in [vec![quota(1, 0, 60), quota(2, 0, 50)], vec![quota(1, 60, 50)]] {
            assert!(station.obey(Time::ZERO, 0, &Order::SliceQuotas(quotas)).is_err());
        }
    }

    #[test]
    fn a_handover_moves_the_ue_and_both_agents_hear_of_it() {
        let [mut here, there] = two();
        for station in [&here, &there] {
            pass(station, 0..10);
        }
        let rnti = *here.radio.lock().unwrap().rntis().values().next().unwrap();
        here.obey(Time::ZERO, rnti.into(), &Order::Handover(cell_of(PLMN, 2))).unwrap();
        assert!(matches!(pass(&here, 10..12)[..], [Moved::Went { rnti: it, .. }] if it == rnti));
        assert!(matches!(pass(&there, 10..12)[..], [Moved::Came { .. }]));
        assert_eq!([&here, &there].map(|it| it.radio.lock().unwrap().rntis().len()), [1, 3]);
        for (number, cell) in
            [(u32::from(rnti), cell_of(PLMN, 2)), (1 << 16, cell_of(PLMN, 2)), (2, cell_of(PLMN, 9))]
        {
            assert!(here.obey(Time::ZERO, number, &Order::Handover(cell)).is_err());
        }
    }
}
