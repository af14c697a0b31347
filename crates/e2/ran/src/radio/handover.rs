//! Handover of a UE between two radios. Its flows continue, and buffered data is forwarded.
use super::{Radio, SharedRadio, UeMovement};
use ranlab_e2::Time;
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::rrc::{RrcCell, RrcChange};
use ranlab_machine::lock;
use ranlab_radio::user_plane::{RrcKind, UES_MAX};
use std::sync::Arc;

/// UE movements that a handover caused at both radios, for their agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandedOver {
    /// Departure of the UE from the source.
    pub source: UeMovement,
    /// Movements at the target until the handover, followed by the arrival of the UE.
    pub target: Vec<UeMovement>,
}

/// Hands a UE over. Controllers of the source receive a release that names the target, and controllers of the target
/// a handover that names the source.
///
/// # Errors
///
/// Returns an error if the UE does not exist, or the target cannot accept it. In this case nothing changes.
pub fn hand_over(source: &SharedRadio, target: &SharedRadio, rnti: u16) -> Result<HandedOver, Refusal> {
    if Arc::ptr_eq(source, target) {
        return Err(Refusal::new(Reason::InUse, format!("UE {rnti} is already in that cell")));
    }
    let mut both = [source, target].map(|radio| lock(radio));
    let [source, target] = both.each_mut().map(|radio| &mut **radio);
    let Some(number) = source.number(rnti) else {
        return Err(Refusal::new(Reason::UnknownUe, format!("there is no UE {rnti}")));
    };
    // The target is advanced, so that data does not arrive before it was sent.
    let mut moved = target.follow(source.cell.now_us());
    if target.rntis.len() >= UES_MAX || target.rntis.contains_key(&number) {
        return Err(Refusal::new(
            Reason::TooMany,
            format!("cell {} has the maximum number of UEs", target.cell_id),
        ));
    }
    if !target.power.admits() {
        let state = target.power.admin.name();
        let why = format!("cell {} accepts no UEs, because it is {state} or saves energy", target.cell_id);
        return Err(Refusal::new(Reason::NotSupported, why));
    }
    let config = source.power.configs.remove(&number);
    let whats = source.meter.leave(&source.cell, number, rnti);
    source.take_out_stages(rnti);
    let Some(context) = source.cell.hand_over(rnti) else {
        return Err(Refusal::new(Reason::UnknownUe, format!("there is no UE {rnti}")));
    };
    let bearer = source.forget(number, rnti).unwrap_or_default();
    let from = RrcCell { cell_id: source.cell_id, rnti };
    // Admission cannot fail for lack of capacity, which was checked above.
    let Ok(there) = target.cell.admit(context) else {
        return Err(Refusal::new(Reason::TooMany, format!("cell {} refuses the UE", target.cell_id)));
    };
    target.rntis.insert(number, there);
    target.power.configs.extend(config.map(|config| (number, config)));
    target.bearers.insert(there, bearer);
    target.settle_by_quota(number, there);
    target.meter.arrive(&target.cell, number, there, whats);
    target.drain_events(|event| {
        let came = event.change == RrcChange::Handover && event.rnti == there;
        event.other = came.then_some(from).or(event.other);
    });
    let to = RrcCell { cell_id: target.cell_id, rnti: there };
    source.drain_events(|event| event.other = (event.rnti == rnti).then_some(to).or(event.other));
    target.calls.between(there, (source.calls.called, rnti));
    source.calls.between(rnti, (target.calls.called, there));
    moved.push(UeMovement::Came { ue: number, rnti: there });
    Ok(HandedOver { source: UeMovement::Went { ue: number, rnti }, target: moved })
}

impl Radio {
    fn number(&self, rnti: u16) -> Option<u32> {
        self.rntis.iter().find(|(_, known)| **known == rnti).map(|(number, _)| *number)
    }

    /// Advances the radio to at least `until_us`, and returns the UE movements.
    fn follow(&mut self, until_us: u64) -> Vec<UeMovement> {
        let mut moved = Vec::new();
        let slot_us = self.cell.config().carrier.slot_us();
        while self.cell.now_us() < until_us {
            let end_us = until_us + slot_us;
            moved.extend(self.pass(Time::from_nanos(end_us.saturating_mul(1_000))));
        }
        moved
    }
}

/// Reporting of RRC events; `add_details` adds the details of handovers.
impl Radio {
    pub(super) fn drain_events(&mut self, add_details: impl Fn(&mut ranlab_e2_codec::e2sm::rrc::RrcEvent)) {
        let events: Vec<_> = self.cell.take_events().collect();
        for event in events {
            let kind = event.kind;
            let of = (event.rnti, event.ue);
            self.mobility.on_rrc_event(kind, event.rnti);
            let is_handover = matches!(kind, RrcKind::HandoverIn | RrcKind::HandoverOut);
            let mut event = self.event(kind, event.rnti, event.ue);
            self.calls.record(self.cell.now_us(), kind, of, event.plmn);
            if is_handover {
                add_details(&mut event);
            }
            self.news.push(event);
        }
        let beyond = self.news.len().saturating_sub(ranlab_radio::user_plane::EVENTS_MAX);
        self.news.drain(..beyond);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FlowPlan, RadioConfig, TrafficKind};
    use super::*;
    use ranlab_e2_codec::e2ap::Plmn;
    use ranlab_radio::user_plane::Carrier;
    use std::sync::Mutex;

    fn radio(cell_id: u16, start_us: u64) -> SharedRadio {
        let flows = vec![FlowPlan::new(TrafficKind::Udp(1_000, None))];
        let config = RadioConfig { flows, ..RadioConfig::new(Carrier::lte(25), 2) };
        Arc::new(Mutex::new(Radio::new(&config, (cell_id, 1), Plmn::new(1, 1, 2), start_us, 0).unwrap()))
    }

    /// Advances both radios to a number of milliseconds.
    fn pass(radios: [&SharedRadio; 2], ms: std::ops::Range<u64>) {
        for ms in ms {
            for radio in radios {
                radio.lock().unwrap().pass(Time::from_nanos(ms * 1_000_000));
            }
        }
    }

    #[test]
    fn handover_is_reported_at_both_ends_without_loss() {
        // The slots of the second radio begin half a slot later.
        let a = radio(0, 0);
        let b = radio(1, 500);
        pass([&a, &b], 0..1_000);
        for radio in [&a, &b] {
            radio.lock().unwrap().news.clear();
        }
        let moved = hand_over(&a, &b, 2).unwrap();
        assert_eq!(moved.source, UeMovement::Went { ue: 2, rnti: 2 });
        assert_eq!(moved.target, [UeMovement::Came { ue: 2, rnti: 3 }]);
        let reported = |radio: &SharedRadio| {
            let news = std::mem::take(&mut radio.lock().unwrap().news);
            news.into_iter().map(|event| (event.change, event.rnti, event.other)).collect::<Vec<_>>()
        };
        let cell = |cell_id, rnti| Some(RrcCell { cell_id, rnti });
        assert_eq!(reported(&a), [(RrcChange::Release, 2, cell(1, 3))]);
        assert_eq!(reported(&b), [(RrcChange::Handover, 3, cell(0, 2))]);
        pass([&a, &b], 1_000..3_000);
        let meter = b.lock().unwrap().meter();
        let of_2 = meter.flows.iter().find(|flow| flow.ue == 2).unwrap();
        let mbps = of_2.bytes as f64 * 8e-6 / 2.0;
        assert!((mbps - 1.0).abs() < 0.05 && of_2.dropped == 0, "{of_2:?}");
        for (source, rnti, why) in [(&a, 2, "no UE 2"), (&b, 9, "no UE 9")] {
            let refused = hand_over(source, if Arc::ptr_eq(source, &a) { &b } else { &a }, rnti).unwrap_err();
            assert!(refused.detail.contains(why), "{refused:?}");
        }
        assert!(hand_over(&a, &a, 1).unwrap_err().detail.contains("in that cell"));
        assert_eq!(
            (reported(&a), reported(&b)),
            (vec![], vec![]),
            "a refused handover must not cause an RRC event"
        );
    }
}
