//! Checks whether a bearer configuration is possible. Code that executes commands calls these checks first. A refusal therefore changes
//! nothing and is the same everywhere.

use crate::e2sm::control::{Reason, Refusal};

use super::{
    DEFAULT_QUEUE, Discipline, FILTERS_MAX, MODULE_BYTES_MAX, Pacer, QUEUES_MAX, Queue, QueueScheduler,
    Stage, TrafficAction, TrafficConfig,
};

/// Capacity of a queue without configuration, bytes: the size of a large RLC buffer.
pub const DEFAULT_CAPACITY_BYTES: u32 = 10 << 20;

impl Default for TrafficConfig {
    fn default() -> Self {
        let discipline = Discipline::Fifo(DEFAULT_CAPACITY_BYTES);
        Self {
            queues: vec![Queue { id: DEFAULT_QUEUE, discipline, shaper: None, policer: None }],
            filters: Vec::new(),
            scheduler: QueueScheduler::RoundRobin(0),
            pacer: Pacer::default(),
        }
    }
}

fn refuse<T>(reason: Reason, detail: impl AsRef<str>) -> Result<T, Refusal> {
    Err(Refusal::new(reason, detail))
}

/// Replaces the element that `is_same` matches by `new`, or appends `new` if the list is not full.
fn put<T>(list: &mut Vec<T>, new: T, most: usize, is_same: impl Fn(&T) -> bool) -> Result<(), Refusal> {
    let room = list.len() < most;
    match list.iter_mut().find(|known| is_same(known)) {
        Some(known) => *known = new,
        None if room => list.push(new),
        None => {
            return refuse(Reason::TooMany, format!("a bearer can have at most {most} queues or filters"));
        }
    }
    Ok(())
}

impl TrafficConfig {
    fn has_queue(&self, id: u8) -> Result<(), Refusal> {
        match self.queues.iter().any(|queue| queue.id == id) {
            true => Ok(()),
            false => refuse(Reason::UnknownQueue, format!("there is no queue {id}")),
        }
    }

    /// Returns the configuration after a change.
    ///
    /// # Errors
    /// Fails with the reason if the change is not possible.
    pub fn after(&self, action: &TrafficAction) -> Result<Self, Refusal> {
        let mut next = self.clone();
        match action {
            TrafficAction::PutQueue(queue) => {
                put(&mut next.queues, *queue, QUEUES_MAX, |known| known.id == queue.id)?;
            }
            TrafficAction::DeleteQueue(DEFAULT_QUEUE) => {
                let what = format!(
                    "queue {DEFAULT_QUEUE} receives packets that match no filter, so it cannot be deleted"
                );
                return refuse(Reason::InUse, what);
            }
            TrafficAction::DeleteQueue(id) => {
                self.has_queue(*id)?;
                if let Some(filter) = self.filters.iter().find(|filter| filter.queue == *id) {
                    return refuse(Reason::InUse, format!("filter {} uses queue {id}", filter.id));
                }
                if matches!(&self.scheduler, QueueScheduler::Priority(order) if order.contains(id)) {
                    return refuse(Reason::InUse, format!("the scheduler uses queue {id}"));
                }
                next.queues.retain(|queue| queue.id != *id);
            }
            TrafficAction::PutFilter(filter) => {
                self.has_queue(filter.queue)?;
                put(&mut next.filters, *filter, FILTERS_MAX, |known| known.id == filter.id)?;
            }
            TrafficAction::DeleteFilter(id) => {
                next.filters.retain(|filter| filter.id != *id);
                if next.filters.len() == self.filters.len() {
                    return refuse(Reason::UnknownFilter, format!("there is no filter {id}"));
                }
            }
            TrafficAction::SetScheduler(scheduler) => {
                if let QueueScheduler::Priority(order) = scheduler {
                    order.iter().try_for_each(|id| self.has_queue(*id))?;
                    if (1..order.len()).any(|n| order[..n].contains(&order[n])) {
                        return refuse(Reason::Invalid, "the scheduler names a queue twice");
                    }
                }
                next.scheduler = scheduler.clone();
            }
            TrafficAction::SetPacer(Pacer { bdp: Some(bdp) }) if bdp.floor_bytes > bdp.cap_bytes => {
                return refuse(Reason::Invalid, "a pacer's floor must be at most its cap");
            }
            TrafficAction::SetPacer(pacer) => next.pacer = *pacer,
            TrafficAction::SetStage(Stage { module: Some(module), .. })
                if !(1..=MODULE_BYTES_MAX).contains(&module.wasm.len()) =>
            {
                return refuse(Reason::Invalid, format!("a module must have 1 to {MODULE_BYTES_MAX} bytes"));
            }
            // A stage replaces the configured scheduler or pacer, but does not change the configuration.
            TrafficAction::SetStage(_) => {}
        }
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BdpPacer, BearerId, Filter, TrafficCommand};
    use super::*;
    use crate::e2sm::{Encoding, Octets};

    const FILTER: Filter = Filter {
        id: 7,
        source: None,
        destination: None,
        source_port: None,
        destination_port: Some(2_112),
        protocol: Some(17),
        queue: 1,
    };

    fn queue(id: u8) -> TrafficAction {
        let discipline = Discipline::Fifo(1_000);
        TrafficAction::PutQueue(Queue { id, discipline, shaper: None, policer: None })
    }

    #[test]
    fn queue_filter_and_pacer_are_added_and_removed_in_order() {
        let before = TrafficConfig::default();
        let filter = TrafficAction::PutFilter(FILTER);
        assert_eq!(before.after(&filter).unwrap_err().reason, Reason::UnknownQueue);
        let config = before.after(&queue(1)).and_then(|c| c.after(&filter)).unwrap();
        let config = config.after(&TrafficAction::SetPacer(Pacer::bdp())).unwrap();
        assert_eq!(
            (config.queues.len(), &config.filters[..], config.pacer),
            (2, &[FILTER][..], Pacer::bdp())
        );
        let why = |action| config.after(&action).unwrap_err().reason;
        assert_eq!(why(TrafficAction::DeleteQueue(1)), Reason::InUse);
        assert_eq!(why(TrafficAction::DeleteQueue(0)), Reason::InUse);
        assert_eq!(why(TrafficAction::DeleteQueue(9)), Reason::UnknownQueue);
        assert_eq!(why(TrafficAction::DeleteFilter(8)), Reason::UnknownFilter);
        let order = |order: &[u8]| TrafficAction::SetScheduler(QueueScheduler::Priority(order.to_vec()));
        assert_eq!(why(order(&[1, 0, 1])), Reason::Invalid);
        assert_eq!(why(order(&[2])), Reason::UnknownQueue);
        let ordered = config.after(&order(&[1, 0])).unwrap();
        let floor = BdpPacer { cap_bytes: 1_500, floor_bytes: 1_501 };
        assert_eq!(why(TrafficAction::SetPacer(Pacer { bdp: Some(floor) })), Reason::Invalid);
        let undone = ordered.after(&TrafficAction::DeleteFilter(7)).unwrap();
        assert_eq!(undone.after(&TrafficAction::DeleteQueue(1)).unwrap_err().reason, Reason::InUse);
    }

    #[test]
    fn queue_and_filter_lists_have_a_maximum_length() {
        let mut config = TrafficConfig::default();
        for id in 1..QUEUES_MAX as u8 {
            config = config.after(&queue(id)).unwrap();
        }
        assert_eq!(config.after(&queue(99)).unwrap_err().reason, Reason::TooMany);
        assert!(
            config.after(&queue(3)).is_ok(),
            "an existing queue must be changeable when the limit is reached"
        );
        for id in 0..FILTERS_MAX as u16 {
            config = config.after(&TrafficAction::PutFilter(Filter { id, ..FILTER })).unwrap();
        }
        let one_more = TrafficAction::PutFilter(Filter { id: 999, ..FILTER });
        assert_eq!(config.after(&one_more).unwrap_err().reason, Reason::TooMany);
    }

    #[test]
    fn command_matches_the_byte_vector() {
        let bearer = BearerId { rnti: 0x4601, rbid: 1 };
        let command = TrafficCommand { bearer, action: TrafficAction::SetPacer(Pacer::default()) };
        let octets = command.to_octets(Encoding::Per).unwrap();
        // Two bits for no additions; the RNTI; the bearer; alternative 5 of 0 to 5, `setPacer` (0 101); a pacer without
        // additions and without `bdp` (00).
        assert_eq!(octets[..], [0x00, 0x46, 0x01, 0x01, 0x50], "{octets:02x?}");
        assert_eq!(TrafficCommand::decode_as(Encoding::Per, &octets), Ok(command));
    }
}
