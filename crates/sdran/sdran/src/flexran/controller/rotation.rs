//! Application that periodically hands one UE over from a base station to the next one, in rotation.
use super::rib::Rib;
use ranlab_machine::Time;
use std::time::Duration;

/// Handover to command: identity of the source base station, C-RNTI, identity of the target base station.
pub(super) type HandoverCommand = (u64, u16, u64);

/// Application with its state.
#[derive(Debug, Default)]
pub(super) struct Rotation {
    every: Option<Duration>,
    due: Option<Time>,
    turn: usize,
}

impl Rotation {
    pub(super) fn new(every: Option<Duration>) -> Self {
        Self { every, ..Self::default() }
    }

    /// Returns the next handover, if it is due.
    pub(super) fn run(&mut self, rib: &Rib, now: Time) -> Option<HandoverCommand> {
        let every = self.every?;
        let due_at = *self.due.get_or_insert(now + every);
        if now < due_at {
            return None;
        }
        // Missed handovers are skipped.
        self.due = Some((due_at + every).max(now));
        let here: Vec<_> = rib.agents().values().filter(|agent| agent.alive).collect();
        if here.len() < 2 {
            return None;
        }
        let source = self.turn % here.len();
        self.turn = self.turn.wrapping_add(1);
        let target = here[(source + 1) % here.len()];
        let rnti = here[source].ues.keys().find_map(|rnti| u16::try_from(*rnti).ok())?;
        Some((here[source].config.enb_id?, rnti, target.config.enb_id?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flexran::FlexranEvent;
    use crate::flexran::protocol::{EnbConfigReply, UeConfig, UeConfigReply};

    #[test]
    fn base_stations_rotate_and_missed_handovers_are_skipped() {
        let mut rib = Rib::new(false);
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let mut rotation = Rotation::new(Some(Duration::from_millis(10)));
        for (id, ues) in [(0, vec![5, 6]), (1, vec![]), (2, vec![1])] {
            let config = EnbConfigReply { enb_id: Some(id + 1), ..EnbConfigReply::default() };
            let ue = |rnti| UeConfig { rnti: Some(rnti), ..UeConfig::default() };
            let ues = UeConfigReply { ue_config: ues.into_iter().map(ue).collect(), header: None };
            rib.take(id, at(0), FlexranEvent::Known(config));
            rib.take(id, at(0), FlexranEvent::Ues(ues));
        }
        assert_eq!((rotation.run(&rib, at(0)), rotation.run(&rib, at(9))), (None, None));
        assert_eq!(rotation.run(&rib, at(10)), Some((1, 5, 2)));
        assert_eq!(
            (rotation.run(&rib, at(11)), rotation.run(&rib, at(20))),
            (None, None),
            "the second base station has no UE, so no handover must be requested"
        );
        assert_eq!(rotation.run(&rib, at(500)), Some((3, 1, 1)));
        assert_eq!((rotation.run(&rib, at(500)), rotation.run(&rib, at(501))), (Some((1, 5, 2)), None));
        assert_eq!(Rotation::new(None).run(&rib, at(600)), None);
    }
}
