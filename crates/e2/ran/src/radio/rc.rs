//! The base station side of RC. It executes quotas as slices of the scheduler NVS, and hands UEs over. It reports the
//! RRC states of UEs and the handover decisions of the base station.
use super::neighbours::NeighbourTable;
use super::{Radio, SharedRadio, UeMovement, hand_over};
use crate::stats::UeIdType;
use ranlab_e2::Time;
use ranlab_e2::functions::rc::{CarrierQuotas, RcControl, RcEvent, RcMobility};
use ranlab_e2_codec::e2ap::Plmn;
use ranlab_e2_codec::e2sm::common::{Cgi, NrCgi, Snssai, UeId as Name};
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::rc::RrcState;
use ranlab_e2_codec::e2sm::rc::commands::Order;
use ranlab_e2_codec::e2sm::rc::messages::CopiedMessage;
use ranlab_e2_codec::e2sm::rc::neighbours::NeighbourRelations;
use ranlab_e2_codec::e2sm::rc::reports::HandedOver;
use ranlab_e2_codec::e2sm::slice::SliceSet;
use ranlab_machine::lock;
use ranlab_radio::user_plane::{EVENTS_MAX, RrcKind};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Number of bits in a cell identity that distinguish the cells of a gNB.
const CELL_BITS: u32 = 4;

/// Radios of a fleet by cell identity: the targets of handovers.
pub type Neighbours = Arc<Mutex<BTreeMap<NrCgi, SharedRadio>>>;

/// Returns the identity of a gNB's only cell. Its upper 32 bits are the gNB number.
pub fn cell_of(plmn: Plmn, gnb: u32) -> NrCgi {
    NrCgi { plmn, cell: u64::from(gnb) << CELL_BITS }
}

/// A radio in the form that RC uses.
pub(crate) struct RcSource {
    pub(crate) radio: SharedRadio,
    pub(crate) neighbours: Neighbours,
    /// Identity of the radio's cell.
    pub(crate) cell: Cgi,
    /// Type of the node's UE identifiers.
    pub(crate) names: UeIdType,
    /// Network of the base station.
    pub(crate) plmn: Plmn,
}

/// Events and decisions that RC has not fetched yet. At the cell's limit of events, the oldest are dropped.
#[derive(Debug, Default)]
pub(super) struct Mobility {
    events: Vec<RcEvent>,
    decisions: Vec<(u32, NrCgi)>,
    pub(super) known: NeighbourTable,
}

impl Mobility {
    /// Records an RRC event. A UE that moves to another cell stays connected.
    pub(super) fn on_rrc_event(&mut self, kind: RrcKind, rnti: u16) {
        let number = rnti.into();
        let (message, state) = match kind {
            RrcKind::Attach => (CopiedMessage::SetupComplete, Some(RrcState::Connected)),
            RrcKind::Release => (CopiedMessage::Release, Some(RrcState::Idle)),
            RrcKind::HandoverIn => (CopiedMessage::ReconfigurationComplete, None),
            RrcKind::HandoverOut => return,
        };
        self.push_event(RcEvent::Message { number, said: message });
        state.into_iter().for_each(|state| self.push_event(RcEvent::State { number, state }));
    }

    fn push_event(&mut self, event: RcEvent) {
        self.events.push(event);
        let beyond = self.events.len().saturating_sub(EVENTS_MAX);
        self.events.drain(..beyond);
    }

    /// Records a handover decision of the base station.
    pub(super) fn decide(&mut self, rnti: Option<u16>, cell: NrCgi) {
        self.decisions.extend(rnti.map(|rnti| (rnti.into(), cell)));
        let beyond = self.decisions.len().saturating_sub(EVENTS_MAX);
        self.decisions.drain(..beyond);
    }
}

impl RcControl for RcSource {
    fn execute(&mut self, _: Time, number: u32, order: &Order) -> Result<(), Refusal> {
        match order {
            // These quotas replace all earlier quotas, in both directions.
            Order::SliceQuotas(quotas) => {
                self.divide(&CarrierQuotas { down: quotas.clone(), up: quotas.clone() })
            }
            Order::Handover(cell) => self.hand_over(number, cell),
            Order::QosFlows { .. } => Err(Refusal::new(
                Reason::NotSupported,
                "a UE has only one bearer, which carries all its flows",
            )),
        }
    }

    fn share(&mut self, _: Time, _: u32, quotas: &CarrierQuotas) -> Result<(), Refusal> {
        self.divide(quotas)
    }

    /// Returns the quotas that [`divide`](RcSource::divide) set, if they still apply.
    fn quotas(&mut self) -> Option<CarrierQuotas> {
        let radio = self.locked();
        let none = || (radio.set == SliceSet::default()).then(CarrierQuotas::default);
        radio.quotas_in_force().cloned().or_else(none)
    }

    fn could(&self, order: &Order) -> Result<(), Refusal> {
        if let Order::SliceQuotas(quotas) = order {
            self.locked().check_quotas(quotas).map(drop)
        } else {
            Ok(())
        }
    }

    /// Returns false for a DU, because RRC terminates in the CU.
    fn knows_rrc(&self) -> bool {
        self.names != UeIdType::GnbDu
    }

    fn mobility(&mut self) -> Option<&mut dyn RcMobility> {
        self.knows_rrc().then_some(self)
    }
}

impl RcMobility for RcSource {
    fn name(&self, number: u32) -> Name {
        self.names.name(self.plmn, number)
    }

    fn ues(&mut self) -> Vec<(u32, Cgi)> {
        let cell = self.cell;
        self.locked().rntis().values().map(|rnti| (u32::from(*rnti), cell)).collect()
    }

    fn slices(&mut self, number: u32) -> Vec<Snssai> {
        let radio = self.locked();
        let ue = radio.rntis().iter().find(|(_, rnti)| u32::from(**rnti) == number);
        ue.map(|(ue, _)| radio.snssais_of(*ue)).unwrap_or_default()
    }

    fn cells(&mut self) -> Vec<Cgi> {
        vec![self.cell]
    }

    fn neighbours(&mut self, cell: &Cgi) -> Option<NeighbourRelations> {
        if *cell == self.cell { self.relations() } else { None }
    }

    fn events(&mut self, _: Time) -> Vec<RcEvent> {
        let near = self.has_new_neighbours().then_some(RcEvent::Neighbours(self.cell));
        let mut events = std::mem::take(&mut self.locked().mobility.events);
        events.extend(near);
        events
    }

    fn decisions(&mut self, _: Time) -> Vec<(u32, NrCgi)> {
        let here = self.cell;
        let mut decisions = std::mem::take(&mut self.locked().mobility.decisions);
        // All base stations of a fleet have the same plan, so decisions for UEs that are already in the target cell
        // are dropped.
        decisions.retain(|(_, cell)| Cgi::Nr(*cell) != here);
        decisions
    }

    fn decides(&self) -> bool {
        let radio = self.locked();
        !radio.mobility.decisions.is_empty() || radio.will_move()
    }
}

impl RcSource {
    /// Locks the radio. The radio is still usable after another thread panicked while holding the lock.
    pub(super) fn locked(&self) -> MutexGuard<'_, Radio> {
        lock(&self.radio)
    }

    pub(super) fn hand_over(&self, number: u32, cell: &NrCgi) -> Result<(), Refusal> {
        let unknown = |what: String| Refusal::new(Reason::UnknownUe, what);
        let rnti = u16::try_from(number).map_err(|_| unknown(format!("there is no UE {number}")))?;
        let neighbours = lock(&self.neighbours);
        let Some(target) = neighbours.get(cell) else {
            return Err(Refusal::new(
                Reason::Invalid,
                format!("there is no cell {:09x} of {}", cell.cell, cell.plmn),
            ));
        };
        let moved = hand_over(&self.radio, target, rnti)?;
        let there = moved.target.iter().rev().find_map(|it| match (*it, moved.source) {
            (UeMovement::Came { ue, rnti }, UeMovement::Went { ue: gone, .. }) if ue == gone => Some(rnti),
            _ => None,
        });
        if let Some(there) = there {
            // A handover target is a gNB, or a DU of a gNB.
            let names = if self.names == UeIdType::GnbDu { UeIdType::GnbDu } else { UeIdType::Gnb };
            let ue = names.name(cell.plmn, there.into());
            let old = self.name(number);
            let handed_over = HandedOver { ue, old, cell: Cgi::Nr(*cell) };
            self.locked().mobility.push_event(RcEvent::HandedOver { number, told: Box::new(handed_over) });
        }
        self.locked().mobility.known.validate(*cell);
        notify_agents(&self.radio, [moved.source]);
        notify_agents(target, moved.target);
        Ok(())
    }
}

/// Stores UE movements at a radio. Its next pass notifies the agents of them.
fn notify_agents(radio: &SharedRadio, moved: impl IntoIterator<Item = UeMovement>) {
    lock(radio).moved.extend(moved);
}

#[cfg(test)]
mod tests {
    use super::super::{FlowPlan, PlannedHandover, RadioConfig, TrafficKind};
    use super::*;
    use ranlab_e2_codec::e2sm::rc::commands::SliceQuota;
    use ranlab_e2_codec::e2sm::rc::neighbours::{Neighbour, ServingPci, Truth};
    use ranlab_radio::user_plane::Carrier;

    const PLMN: Plmn = Plmn([0x00, 0xf1, 0x10]);

    /// Creates two cells with two UEs each, whose traffic fills the capacity. The first UE is in slice 1, the second
    /// in slice 2.
    fn two() -> [RcSource; 2] {
        two_with(Vec::new())
    }

    fn two_with(moves: Vec<PlannedHandover>) -> [RcSource; 2] {
        let flows = vec![FlowPlan::new(TrafficKind::Full)];
        let snssais = vec![Snssai { sst: 1, sd: None }, Snssai { sst: 2, sd: Some(7) }];
        let config = RadioConfig { flows, snssais, moves, ..RadioConfig::new(Carrier::lte(25), 2) };
        let neighbours = Neighbours::default();
        [1, 2].map(|gnb: u16| {
            let radio = Radio::new(&config, (gnb, 1), PLMN, 0, 0).unwrap();
            let radio = Arc::new(Mutex::new(radio));
            let cell = cell_of(PLMN, gnb.into());
            neighbours.lock().unwrap().insert(cell, Arc::clone(&radio));
            let neighbours = Arc::clone(&neighbours);
            RcSource { radio, neighbours, cell: Cgi::Nr(cell), names: UeIdType::Gnb, plmn: PLMN }
        })
    }

    fn pass(station: &RcSource, ms: std::ops::Range<u64>) -> Vec<UeMovement> {
        let mut radio = station.radio.lock().unwrap();
        ms.flat_map(|ms| radio.pass(Time::from_nanos(ms * 1_000_000))).collect()
    }

    /// Returns the first UE's share of the resource blocks, in percent.
    fn share_of_first(station: &RcSource) -> f64 {
        let radio = station.radio.lock().unwrap();
        let prbs: Vec<_> =
            radio.rntis().values().map(|rnti| radio.cell().report(*rnti).unwrap().dl.prbs).collect();
        100.0 * prbs[0] as f64 / prbs.iter().sum::<u64>() as f64
    }

    fn quota(sst: u8, min: u8, max: u8) -> SliceQuota {
        SliceQuota { plmn: PLMN, slice: Snssai { sst, sd: None }, min, max, dedicated: 0 }
    }

    #[test]
    fn contradictory_and_unknown_quotas_are_rejected() {
        let [mut station, _] = two();
        let elsewhere = SliceQuota { plmn: Plmn::new(310, 410, 3), ..quota(1, 0, 10) };
        let unknown = SliceQuota { slice: Snssai { sst: 2, sd: Some(8) }, ..quota(2, 0, 10) };
        for (quotas, reason) in [
            (vec![quota(1, 60, 100), quota(2, 50, 100)], Reason::Overcommitted),
            (vec![quota(1, 60, 50)], Reason::Invalid),
            (vec![quota(1, 0, 50), quota(1, 0, 60)], Reason::Invalid),
            (vec![quota(7, 0, 50)], Reason::UnknownSlice),
            (vec![unknown], Reason::UnknownSlice),
            (vec![elsewhere], Reason::UnknownSlice),
        ] {
            let refused = station.execute(Time::ZERO, 0, &Order::SliceQuotas(quotas.clone())).unwrap_err();
            assert_eq!(refused.reason, reason, "{quotas:?}: {}", refused.detail);
            assert!(!refused.detail.is_empty());
        }
        assert_eq!(station.quotas_now(), CarrierQuotas::default());
    }

    #[test]
    fn ues_attached_later_are_in_their_slices() {
        let [mut station, _] = two();
        station.execute(Time::ZERO, 0, &Order::SliceQuotas(vec![quota(2, 0, 20)])).unwrap();
        pass(&station, 0..3_000);
        let share = share_of_first(&station);
        assert!((share - 80.0).abs() < 1.0, "{share} %");
        // A quota without a limit and without a guarantee has no effect.
        station.execute(Time::ZERO, 0, &Order::SliceQuotas(vec![quota(2, 0, 100)])).unwrap();
        assert_eq!(station.quotas(), Some(CarrierQuotas::default()));
    }

    #[test]
    fn handover_moves_ue_and_notifies_both_agents() {
        let [mut here, there] = two();
        for station in [&here, &there] {
            pass(station, 0..10);
        }
        let rnti = *here.radio.lock().unwrap().rntis().values().next().unwrap();
        here.execute(Time::ZERO, rnti.into(), &Order::Handover(cell_of(PLMN, 2))).unwrap();
        assert!(matches!(pass(&here, 10..12)[..], [UeMovement::Went { rnti: it, .. }] if it == rnti));
        assert!(matches!(pass(&there, 10..12)[..], [UeMovement::Came { .. }]));
        assert_eq!([&here, &there].map(|it| it.radio.lock().unwrap().rntis().len()), [1, 3]);
        for (number, cell) in
            [(u32::from(rnti), cell_of(PLMN, 2)), (1 << 16, cell_of(PLMN, 2)), (2, cell_of(PLMN, 9))]
        {
            assert!(here.execute(Time::ZERO, number, &Order::Handover(cell)).is_err());
        }
    }

    #[test]
    fn decisions_and_events_are_reported_once() {
        let at = std::time::Duration::from_millis(20);
        let to = cell_of(PLMN, 2);
        let [mut here, mut there] = two_with(vec![PlannedHandover { ues: 1..=2, cell: to.cell, at }]);
        for station in [&here, &there] {
            pass(station, 0..10);
        }
        let attached = |number| {
            let message = RcEvent::Message { number, said: CopiedMessage::SetupComplete };
            [message, RcEvent::State { number, state: RrcState::Connected }]
        };
        assert_eq!(here.events(Time::ZERO), [attached(1), attached(2)].concat());
        assert_eq!((here.events(Time::ZERO), here.decisions(Time::ZERO)), (vec![], vec![]));
        assert!(here.decides() && there.decides());
        for station in [&here, &there] {
            pass(station, 10..25);
        }
        assert_eq!(here.decisions(Time::ZERO), [(1, to), (2, to)]);
        assert_eq!(
            there.decisions(Time::ZERO),
            [],
            "UEs that are already in the target cell must not be handed over"
        );
        assert!(!here.decides() && !there.decides());
        there.events(Time::ZERO);
        here.execute(Time::ZERO, 1, &Order::Handover(to)).unwrap();
        let events = here.events(Time::ZERO);
        let [RcEvent::HandedOver { number: 1, told }, RcEvent::Neighbours(of)] = &events[..] else {
            panic!("{events:?}")
        };
        assert_eq!(*of, here.cell, "the successful handover must validate the relation to the other cell");
        let table = here.relations().unwrap();
        let [Neighbour::Nr(other)] = &table.neighbours[..] else { panic!("{table:?}") };
        assert_eq!((other.cell, other.pci, other.handover, other.version), (to, 2, Truth::True, 2));
        assert_eq!(table.pci, ServingPci::Nr(1));
        assert_eq!((told.old.number(), told.cell), (1, Cgi::Nr(to)));
        assert!(there.ues().contains(&(told.ue.number(), Cgi::Nr(to))));
        let came =
            RcEvent::Message { number: told.ue.number(), said: CopiedMessage::ReconfigurationComplete };
        assert_eq!(there.events(Time::ZERO), [came], "the handover must not change the RRC state of the UE");
        let further = cell_of(PLMN, 3);
        there.neighbours.lock().unwrap().insert(further, Arc::clone(&here.radio));
        for station in [&mut here, &mut there] {
            let of = RcEvent::Neighbours(station.cell);
            assert_eq!((station.events(Time::ZERO), station.events(Time::ZERO)), (vec![of], vec![]));
        }
        assert!(here.ues().iter().all(|(number, _)| *number != 1));
        here.names = UeIdType::GnbDu;
        assert!(here.mobility().is_none());
    }
}
