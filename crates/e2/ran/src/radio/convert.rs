//! Conversions between configurations and commands of controllers and those of the radio model.
use ranlab_e2_codec::e2ap::Plmn;
use ranlab_e2_codec::e2sm::common::Snssai;
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::slice::{
    Slice, SliceAlgorithm, SliceAllocation, SliceParameters, SliceSet, UeAllocation, UeScheduler, WHOLE_PPM,
};
use ranlab_e2_codec::e2sm::traffic::{
    Discipline, Filter, Pacer, Queue, QueueScheduler, RateLimit, TrafficAction, TrafficConfig,
};
use ranlab_radio::user_plane as up;

/// Number of the model's only slice while no controller has configured slices. A controller cannot use this number.
const NO_SLICE: u32 = 1 << 16;

/// Converts a rejection of the model to one for a controller.
pub fn refusal(why: &up::Refusal) -> Refusal {
    use up::{SliceError as S, TcError as T};
    let reason = match why {
        up::Refusal::NoUe(_) => Reason::UnknownUe,
        up::Refusal::Allocated(_) => Reason::Exists,
        up::Refusal::Slices(S::Sum(_) | S::Overlap(..)) => Reason::Overcommitted,
        up::Refusal::Slices(S::NoSlice(_)) => Reason::UnknownSlice,
        up::Refusal::Slices(S::Count(_)) | up::Refusal::Tc(T::TooMany) => Reason::TooMany,
        up::Refusal::Tc(T::NoQueue(_)) => Reason::UnknownQueue,
        up::Refusal::Tc(T::NoRule(_)) => Reason::UnknownFilter,
        _ => Reason::Invalid,
    };
    Refusal::new(reason, why.to_string())
}

/// Converts a slice number of the model to a controller's number, or `None` for the model's only slice.
pub fn slice_id(slice_down: u32) -> Option<u16> {
    u16::try_from(slice_down).ok()
}

/// Returns whether slices are in use.
pub(super) fn is_sliced(set: &SliceSet) -> bool {
    set.algorithm != SliceAlgorithm::None && !set.slices.is_empty()
}

/// Converts a division of the downlink. Without an algorithm or without slices, the result is one pool.
pub(super) fn slices(set: &SliceSet) -> up::SliceSet {
    let algorithm = match set.algorithm {
        SliceAlgorithm::Static => up::SliceAlgorithm::Static,
        SliceAlgorithm::Nvs => up::SliceAlgorithm::Nvs,
        SliceAlgorithm::Edf => up::SliceAlgorithm::Edf,
        SliceAlgorithm::None => up::SliceAlgorithm::None,
    };
    if !is_sliced(set) {
        let mut pool = up::SliceSet::default();
        pool.slices[0].id = NO_SLICE;
        pool.slices[0].scheduler = set.slices.first().map_or_else(Default::default, scheduler);
        return pool;
    }
    up::SliceSet { algorithm, sharing: set.sharing, slices: set.slices.iter().map(slice).collect() }
}

fn slice(slice: &Slice) -> up::SliceSpec {
    let params = match slice.parameters {
        SliceParameters::Capacity(ppm) => up::SliceParams::Capacity(f64::from(ppm) / f64::from(WHOLE_PPM)),
        SliceParameters::Rate(rate) => up::SliceParams::Rate {
            required_mbps: f64::from(rate.reserved_kbps) / 1e3,
            reference_mbps: f64::from(rate.reference_kbps) / 1e3,
        },
        SliceParameters::Static(range) => up::SliceParams::Static { first: range.low, last: range.high },
        SliceParameters::Deadline(edf) => up::SliceParams::Edf {
            deadline_slots: edf.deadline_slots,
            guaranteed_prbs: edf.guaranteed_prbs,
            max_replenish: edf.max_replenish,
        },
    };
    up::SliceSpec { id: slice.id.into(), label: slice.label.clone(), params, scheduler: scheduler(slice) }
}

/// Converts an allocation within a slice. If no slices are in use, all UEs are in the model's only slice.
pub(super) fn allocation(of: &SliceAllocation, set: &SliceSet) -> up::SliceAllocation {
    let one = |ue: &UeAllocation| up::Allocation { rnti: ue.rnti, prbs: ue.prbs, mcs: ue.mcs };
    up::SliceAllocation {
        direction: up::Direction::Down,
        slice: if is_sliced(set) { of.slice.into() } else { NO_SLICE },
        slot: of.slot,
        slots: of.slots,
        allocations: of.ues.iter().map(one).collect(),
    }
}

fn scheduler(slice: &Slice) -> up::UeScheduler {
    match slice.scheduler {
        UeScheduler::RoundRobin => up::UeScheduler::RoundRobin,
        UeScheduler::ProportionalFair => up::UeScheduler::default(),
        UeScheduler::MaxThroughput => up::UeScheduler::MaxThroughput,
        UeScheduler::Remote => up::UeScheduler::Remote,
    }
}

/// Converts a change of a bearer with configuration `config`. Returns `None` for a stage, because stages are not part
/// of the configuration.
pub(super) fn traffic(action: &TrafficAction, config: &TrafficConfig) -> Option<up::TcCommand> {
    Some(match action {
        TrafficAction::SetStage(_) => return None,
        TrafficAction::PutQueue(queue) => up::TcCommand::PutQueue(self::queue(queue)),
        TrafficAction::DeleteQueue(id) => up::TcCommand::DeleteQueue((*id).into()),
        TrafficAction::PutFilter(filter) => match config.filters.iter().any(|known| known.id == filter.id) {
            true => up::TcCommand::ModifyRule(rule(filter)),
            false => up::TcCommand::AddRule(rule(filter)),
        },
        TrafficAction::DeleteFilter(id) => up::TcCommand::DeleteRule((*id).into()),
        TrafficAction::SetScheduler(QueueScheduler::RoundRobin(_)) => {
            up::TcCommand::Scheduler(up::TcScheduler::RoundRobin)
        }
        TrafficAction::SetScheduler(QueueScheduler::Priority(order)) => {
            let order = order.iter().map(|id| (*id).into()).collect();
            up::TcCommand::Scheduler(up::TcScheduler::Priority(order))
        }
        TrafficAction::SetPacer(Pacer { bdp }) => up::TcCommand::Pacer(bdp.map_or(up::Pacer::Dummy, |bdp| {
            up::Pacer::Bdp { cap_bytes: bdp.cap_bytes, floor_bytes: bdp.floor_bytes }
        })),
    })
}

/// Converts a queue.
pub(super) fn queue(queue: &Queue) -> up::QueueSpec {
    let (kind, capacity) = match queue.discipline {
        Discipline::Fifo(capacity) => (up::QueueKind::Fifo, capacity),
        Discipline::Codel(codel) => {
            let target_us = codel.target_us;
            let interval_us = codel.interval_us;
            (up::QueueKind::CoDel { target_us, interval_us }, codel.capacity_bytes)
        }
    };
    // Converts a bucket's depth to a time at the bucket's rate, with the model's minimum as the lower bound.
    let window_ms = |limit: RateLimit| {
        let ms = u64::from(limit.burst_bytes) * 8 / u64::from(limit.rate_kbps.max(1));
        u32::try_from(ms.max(1)).unwrap_or(u32::MAX)
    };
    up::QueueSpec {
        id: queue.id.into(),
        kind,
        capacity_bytes: capacity.into(),
        shaper: queue.shaper.map(|it| up::Shaper { kbps: it.rate_kbps, window_ms: window_ms(it) }),
        policer: queue.policer.map(|it| up::Policer {
            drop_kbps: it.rate_kbps,
            window_ms: window_ms(it),
            deviate: None,
        }),
    }
}

fn rule(filter: &Filter) -> up::Rule {
    let fields = up::Filter {
        source: filter.source.map(u32::from_be_bytes),
        destination: filter.destination.map(u32::from_be_bytes),
        source_port: filter.source_port,
        destination_port: filter.destination_port,
        protocol: filter.protocol,
    };
    up::Rule { id: filter.id.into(), filter: fields, queue: filter.queue.into() }
}

/// Converts a slice identifier to the model's type.
pub(super) fn snssai(it: Snssai) -> up::Snssai {
    up::Snssai { sst: it.sst, sd: it.sd }
}

/// Converts a network identifier to the model's type.
pub(super) fn plmn(plmn: Plmn) -> up::Plmn {
    let number = |digits: &[u8]| digits.iter().fold(0, |sum, digit| sum * 10 + u16::from(*digit));
    let (mcc, mnc) = plmn.digits();
    up::Plmn { mcc: number(&mcc), mnc: number(&mnc), mnc_digits: mnc.len() as u8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plmns_with_two_and_three_digit_mnc_convert() {
        for (mcc, mnc, mnc_digits) in [(505, 1, 2), (1, 1, 2), (310, 260, 3), (999, 9, 3)] {
            assert_eq!(plmn(Plmn::new(mcc, mnc, mnc_digits)), up::Plmn { mcc, mnc, mnc_digits });
        }
    }
}
