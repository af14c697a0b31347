//! Ports that share their rate by round robin, by credit, or with regulators.

use super::super::network::{Network, StageId};
use super::super::scheduler::CLASSES;
use super::super::time::Ps;
use super::curve::{Sum, Work};
use super::server::{DrrService, Server, Service, longest};
use super::{BoundError, StageFlow, Theorem};

/// Rounding error of credit in whole picoseconds.
const ROUNDING_PS: Ps = 8;

/// Returns the service of deficit round robin by three methods. The first uses the guaranteed rounds of a class. The second also takes into
/// account classes that do not fill their rounds. The third is the guarantee of any work-conserving scheduler to its lowest class. `base`
/// is strict priority.
pub(super) fn round_robin(
    network: &Network,
    quanta: &[u32; CLASSES],
    guest: &StageFlow,
    guests: &[StageFlow],
    waits: &[Ps; CLASSES],
    base: Server,
) -> Vec<Server> {
    let work = base.work;
    let undisturbed = base.undisturbed;
    let class = usize::from(guest.class);
    let quantum = |class: usize| work.of_frame(quanta[class]);
    // The deficit after a round is smaller than the frame that did not fit, in whole bytes.
    let left = |class: usize| {
        longest(guests, work, |other| usize::from(other) == class).saturating_sub(work.of_frame(1))
    };
    let of_class = |class: usize| guests.iter().filter(move |guest| usize::from(guest.class) == class);
    let others: Vec<usize> =
        (0..CLASSES).filter(|&other| other != class && of_class(other).next().is_some()).collect();
    // Work that leaves within a window arrived within a longer window. The difference is the class's delay at this port.
    let brought = |other: usize| Sum::new(network, of_class(other), work, waits[other]);
    let fills = |other: usize| {
        waits[other] == 0 || brought(other).at(0, false) >= quantum(other).saturating_add(left(other))
    };
    let by_turns = |with_turns: &dyn Fn(usize) -> bool| {
        let turning = || others.iter().copied().filter(|&other| with_turns(other));
        let higher = others.iter().filter(|&&other| !with_turns(other));
        Server {
            own: Sum::new(network, of_class(class), work, 0),
            higher: higher.fold(Sum::default(), |sum, &other| sum.and(brought(other))),
            blocking: 0,
            undisturbed,
            service: Service::Turns(DrrService {
                quantum: quantum(class),
                left: left(class),
                others: turning().map(quantum).sum(),
                others_left: turning().map(left).sum(),
            }),
            work,
            theorem: Theorem::Rounds,
        }
    };
    // Treats all other classes as classes of higher priority. The link is idle before, so no frame is in transmission.
    let rest = guests.iter().filter(|other| other.class != guest.class);
    let higher = Sum::new(network, rest, work, 0);
    let last = Server { higher, blocking: 0, theorem: Theorem::WorkConserving, ..base };
    let mut servers = vec![by_turns(&|_| true), last];
    if !others.iter().all(|&other| fills(other)) {
        servers.push(by_turns(&fills));
    }
    servers
}

/// Idle slopes of a port, and the classes that share its line.
pub(super) struct Slopes<'p> {
    pub(super) idle_bps: &'p [Option<u64>; CLASSES],
    pub(super) link_bps: u64,
    pub(super) guests: &'p [StageFlow],
    /// Maximum delay of each class at this port. 0: not known yet.
    pub(super) waits: &'p [Ps; CLASSES],
    pub(super) work: Work,
}

/// Upper bound of the line's use by classes of higher priority: a burst, and a rate in bit/s.
#[derive(Debug, Clone, Copy, Default)]
struct HigherPriorityShare {
    at_once: Ps,
    bps: u64,
}

impl Slopes<'_> {
    fn idle_slope(&self, class: u8) -> Option<u64> {
        self.idle_bps[usize::from(class)]
    }

    /// Returns the use of the line by a shaped class, from its credit: its maximum credit, its slope, and at most one further frame.
    fn by_credit(&self, class: u8, idle: u64) -> Option<HigherPriorityShare> {
        let frame = longest(self.guests, self.work, |other| other == class);
        let debt = (u128::from(frame) * u128::from(self.link_bps - idle)).div_ceil(u128::from(self.link_bps));
        let most = self.credit_max(class, idle)?;
        // The debt is the time of a frame in ps.
        Some(HigherPriorityShare { at_once: most + debt as Ps + ROUNDING_PS, bps: idle })
    }

    /// Returns the use of the line by a class, from its arrivals. Work that leaves within a window arrived within a longer window. The
    /// difference is the class's delay.
    fn by_arrivals(&self, class: u8) -> HigherPriorityShare {
        let mut share = HigherPriorityShare::default();
        for guest in self.guests.iter().filter(|guest| guest.class == class) {
            let envelope = &guest.arrival.envelope;
            let release = u128::from(self.work.of_release(envelope));
            let period = u128::from(envelope.period_ps);
            let longer = u128::from(envelope.jitter_ps.saturating_add(self.waits[usize::from(class)]));
            let at_once = release + (release * longer).div_ceil(period);
            share.at_once = share.at_once.saturating_add(Ps::try_from(at_once).unwrap_or(Ps::MAX));
            let bps = (release * u128::from(self.link_bps)).div_ceil(period);
            share.bps = share.bps.saturating_add(u64::try_from(bps).unwrap_or(u64::MAX));
        }
        share
    }

    /// Returns the maximum credit of a shaped class, as time on the line. The credit grows while the class waits for a frame that has
    /// started and for higher classes. `None` if higher classes may use all of the rate that the class's slope leaves.
    fn credit_max(&self, class: u8, idle: u64) -> Option<Ps> {
        let lower = longest(self.guests, self.work, |other| other < class);
        let has = |class| self.guests.iter().any(|guest| guest.class == class);
        let urgent = || (class + 1..CLASSES as u8).filter(|&other| has(other));
        let sum = |all: &dyn Fn(u8) -> Option<HigherPriorityShare>| -> Option<Ps> {
            let mut at_once = lower;
            let mut bps = idle;
            for other in urgent() {
                let share = all(other)?;
                at_once = at_once.saturating_add(share.at_once);
                bps = bps.saturating_add(share.bps);
            }
            (bps <= self.link_bps).then_some(at_once.saturating_add(ROUNDING_PS))
        };
        let arrivals = |other: u8| Some(self.by_arrivals(other));
        let mixed = |other: u8| match self.idle_slope(other) {
            Some(idle) => self.by_credit(other, idle),
            None => arrivals(other),
        };
        [sum(&mixed), sum(&arrivals)].into_iter().flatten().min()
    }
}

/// Returns the service of credit-based shapers (IEEE 802.1Q 8.6.8.2): De Azua and Boyer, "Complete modelling of AVB in Network Calculus
/// Framework" (2014). The maximum credit of every class follows from the traffic that may precede it. `base` is strict priority.
pub(super) fn credit_based(network: &Network, slopes: &Slopes<'_>, class: u8, base: Server) -> Vec<Server> {
    let &Slopes { guests, waits, work, .. } = slopes;
    let own = || Sum::new(network, guests.iter().filter(|other| other.class == class), work, 0);
    if let Some(idle) = slopes.idle_slope(class) {
        // Consider the time since the queue was last empty with a credit of at least zero. In this time, the class received the service of
        // its slope, except for the part that its current credit represents.
        let most = slopes.credit_max(class, idle);
        let server = most.map(|ahead| Server {
            own: own(),
            higher: Sum::default(),
            blocking: 0,
            service: Service::Share { ahead, of: idle, all: slopes.link_bps },
            theorem: Theorem::Credit,
            ..base
        });
        return server.into_iter().collect();
    }
    let unshaped = || {
        let of =
            guests.iter().filter(|other| other.class > class && slopes.idle_slope(other.class).is_none());
        Sum::new(network, of, work, 0)
    };
    let shaped: Vec<u8> = (class + 1..CLASSES as u8)
        .filter(|&other| {
            slopes.idle_slope(other).is_some() && guests.iter().any(|guest| guest.class == other)
        })
        .collect();
    // Bounds higher classes by their arrivals: a shaped class may have queued frames before this class became backlogged.
    let higher = shaped.iter().fold(unshaped(), |sum, &other| {
        let of_class = guests.iter().filter(|guest| guest.class == other);
        sum.and(Sum::new(network, of_class, work, waits[usize::from(other)]))
    });
    let blocking = base.blocking;
    let undisturbed = base.undisturbed;
    let theorem = Theorem::CreditArrivals;
    let by_arrivals =
        Server { own: own(), higher, blocking, undisturbed, service: Service::Always, work, theorem };
    let shares: Option<Vec<HigherPriorityShare>> =
        shaped.iter().map(|&other| slopes.by_credit(other, slopes.idle_slope(other)?)).collect();
    let by_credit = shares.and_then(|shares| {
        let bps = shares.iter().map(|share| share.bps).sum::<u64>();
        let at_once = shares.iter().map(|share| share.at_once).fold(blocking, Ps::saturating_add);
        let of = slopes.link_bps.checked_sub(bps).filter(|&of| of > 0)?;
        let service = Service::Share { ahead: 0, of, all: slopes.link_bps };
        let theorem = Theorem::Credit;
        Some(Server {
            own: own(),
            higher: unshaped(),
            blocking: at_once,
            undisturbed,
            service,
            work,
            theorem,
        })
    });
    [Some(by_arrivals), by_credit].into_iter().flatten().collect()
}

/// Returns the additional time that each flow may wait at an asynchronous shaper until it is eligible. Consider regulators after a stage
/// that keeps the order of frames. If every flow conformed before that stage, the regulators delay no frame beyond the stage's maximum
/// delay. If every flow still conforms after it, they add no delay at all. Le Boudec, "A Theory of Traffic Regulators for Deterministic
/// Networks with Application to Interleaved Regulators" (2018).
pub(super) fn regulate(
    network: &Network,
    stage: StageId,
    guests: &mut [StageFlow],
) -> Result<Vec<Ps>, BoundError> {
    let before: Vec<StageFlow> = guests.to_vec();
    let mut held = Vec::with_capacity(guests.len());
    for guest in guests {
        let bucket = network.flows[guest.flow].regulator;
        let unshaped = |flow: usize| BoundError::Unshaped {
            flow: network.flows[flow].name.clone(),
            stage: network.stages[usize::from(stage)].name().to_owned(),
        };
        let more = match guest.from {
            // A flow that starts at this stage is a separate group.
            None => bucket
                .map_or(Some(0), |bucket| guest.arrival.held_by(bucket))
                .ok_or_else(|| unshaped(guest.flow))?,
            Some(_) => {
                let from = guest.from;
                let class = guest.class;
                let of_group = |other: &&StageFlow| other.from == from && other.class == class;
                let group = || before.iter().filter(of_group);
                let waits = |other: &&StageFlow| {
                    let bucket = network.flows[other.flow].regulator;
                    bucket.is_some_and(|bucket| !other.arrival.conforms(bucket))
                };
                let unconformed =
                    |other: &&StageFlow| network.flows[other.flow].regulator.is_some() && !other.conformed;
                if group().any(|other| waits(&other)) {
                    if let Some(other) = group().find(unconformed) {
                        return Err(unshaped(other.flow));
                    }
                    // Frames that waited for one another leave together, i.e. faster than the link that brought them.
                    guest.from = None;
                    let latest = group().map(|other| other.latest_ps).max().unwrap_or(0);
                    latest - guest.latest_ps
                } else {
                    // No flow of the group waits.
                    0
                }
            }
        };
        guest.arrival = match bucket {
            Some(bucket) => guest.arrival.regulated(bucket, more),
            None => guest.arrival.later(more),
        };
        held.push(more);
    }
    Ok(held)
}
