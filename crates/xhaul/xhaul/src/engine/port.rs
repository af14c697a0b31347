//! State of a port during a simulation: queues, the line, preemption.

use rand_chacha::ChaCha8Rng;

use super::super::network::Port;
use super::super::pattern::{INTER_FRAME_GAP_BYTES, WIRE_GAP_BYTES};
use super::super::scheduler::{CLASSES, Scheduler, TokenBucket};
use super::super::time::Ps;
use super::Packet;
use super::queues::Queues;
use super::shaping::{Picked, Shaping};

/// Size of preamble and start delimiter, in bytes.
const PREAMBLE_BYTES: u32 = WIRE_GAP_BYTES - INTER_FRAME_GAP_BYTES;
/// Size of the check sequence of a fragment and of the gap after it, in bytes.
const FRAGMENT_END_BYTES: u64 = 4 + 12;
/// Minimum size of a fragment without its check sequence (64 bytes with it).
const FRAGMENT_BYTES_MIN: u64 = 60;
/// Minimum remainder of a frame that can be interrupted, in bytes, including its check sequence.
const REST_BYTES_MIN: u64 = 64;

#[derive(Debug)]
pub(super) struct PortState<'n> {
    pub(super) config: &'n Port,
    pub(super) ps_per_byte: Ps,
    pub(super) backlog_max: u64,
    pub(super) dropped: u64,
    queues: Queues,
    queued_bytes: [u64; CLASSES],
    line: Option<Sending>,
    /// Frame that is partly sent. No other preemptable frame may be sent before its remainder.
    interrupted: Option<u32>,
    mark: u32,
    wake_at: Ps,
    /// Time at which the last frame reached the next queue. It ensures that the link keeps the order of frames.
    arrival_at: Ps,
    shaping: Shaping,
    random: ChaCha8Rng,
}

#[derive(Debug, Clone, Copy)]
struct Sending {
    id: u32,
    since: Ps,
    /// Whether the arrival at the far end is already scheduled.
    forwarded: bool,
    /// Whether the transmission was interrupted.
    cut: bool,
}

/// Outcome of an attempt to send.
pub(super) enum TransmitOutcome {
    /// The port is busy or has no frame to send.
    Nothing,
    /// No frame may be sent before this time.
    Wait(Ps),
    /// A frame is on the line. `end` is the time when the line is free. For a frame that can be interrupted, it is the time of the last
    /// bit.
    Frame { id: u32, end: Ps, mark: u32, interruptible: bool },
}

/// Meaning of an event at the end of the line's work.
pub(super) enum Ended {
    /// An interruption replaced this event.
    Replaced,
    /// The line is free.
    Free,
    /// The last bit of an interruptible frame was sent. The line is free at `free_at`.
    LastBit { id: u32, free_at: Ps, mark: u32 },
}

impl<'n> PortState<'n> {
    pub(super) fn new(config: &'n Port, random: ChaCha8Rng) -> Self {
        Self {
            config,
            ps_per_byte: config.ps_per_byte(),
            backlog_max: 0,
            dropped: 0,
            queues: Queues::default(),
            queued_bytes: [0; CLASSES],
            line: None,
            interrupted: None,
            mark: 0,
            wake_at: Ps::MAX,
            arrival_at: 0,
            shaping: Shaping::new(config),
            random,
        }
    }

    /// Adds a packet from stage `from` to its queue. Returns `false` if the queue has no room.
    pub(super) fn enqueue(
        &mut self,
        now: Ps,
        id: u32,
        from: (u32, Option<TokenBucket>),
        packets: &mut [Packet],
    ) -> bool {
        let packet = &mut packets[id as usize];
        let class = self.config.scheduler.queue(packet.class);
        if self.queued_bytes[class] + u64::from(packet.wire) > self.config.queue_bytes_max {
            self.dropped += 1;
            return false;
        }
        packet.eligible = self.shaping.eligible(now, packet, from);
        self.shaping.enqueued(now, class, self.queues.by_class[class].is_empty());
        self.queued_bytes[class] += u64::from(packet.wire);
        self.backlog_max = self.backlog_max.max(self.queued_bytes[class]);
        // Groups of several reception ports share a queue. The first eligible frame is sent first.
        let later = |other: &u32| packets[*other as usize].eligible > packets[id as usize].eligible;
        let behind = match self.config.scheduler {
            Scheduler::Asynchronous => {
                self.queues.by_class[class].iter().rev().take_while(|other| later(other)).count()
            }
            _ => 0,
        };
        self.queues.push(class, id, behind);
        true
    }

    /// Interrupts the current frame for the express packet `id`, if this is allowed. Returns the time at which the line is free.
    pub(super) fn preempt(&mut self, now: Ps, id: u32, packets: &mut [Packet]) -> Option<(Ps, u32)> {
        let Scheduler::Preemption { express_from } = self.config.scheduler else { return None };
        let line = self.line.as_mut()?;
        // A forwarded frame is an express frame. Its packet already belongs to the next stage.
        if line.cut || line.forwarded || packets[id as usize].class < express_from {
            return None;
        }
        if packets[line.id as usize].class >= express_from {
            return None;
        }
        let left = u64::from(packets[line.id as usize].left);
        let sent = (now - line.since).div_ceil(self.ps_per_byte).saturating_sub(u64::from(PREAMBLE_BYTES));
        let fragment = sent.max(FRAGMENT_BYTES_MIN);
        if left < fragment + REST_BYTES_MIN {
            return None;
        }
        line.cut = true;
        // The remainder is at most the size of a frame, 9216 bytes.
        packets[line.id as usize].left = (left - fragment) as u32;
        self.mark = self.mark.wrapping_add(1);
        let bytes = u64::from(PREAMBLE_BYTES) + fragment + FRAGMENT_END_BYTES;
        Some((line.since + bytes * self.ps_per_byte, self.mark))
    }

    /// Starts the next frame if the line is free and a frame may be sent.
    pub(super) fn start(&mut self, now: Ps, packets: &mut [Packet]) -> TransmitOutcome {
        if self.line.is_some() {
            return TransmitOutcome::Nothing;
        }
        let id = match self.next(now, packets) {
            Picked::Class(class) => {
                let Some(id) = self.queues.pop(class) else { return TransmitOutcome::Nothing };
                let wire = u64::from(packets[id as usize].wire);
                self.queued_bytes[class] -= wire;
                self.shaping.started(
                    now,
                    class,
                    wire * self.ps_per_byte,
                    self.queues.filled >> class & 1 == 1,
                );
                id
            }
            Picked::Interrupted(id) => {
                self.interrupted = None;
                id
            }
            Picked::Later(at) => {
                if at >= self.wake_at {
                    return TransmitOutcome::Nothing;
                }
                self.wake_at = at;
                return TransmitOutcome::Wait(at);
            }
            Picked::Nothing => return TransmitOutcome::Nothing,
        };
        let interruptible = self.config.interrupts(packets[id as usize].class);
        let overhead = if interruptible { PREAMBLE_BYTES } else { WIRE_GAP_BYTES };
        let bytes = u64::from(packets[id as usize].left + overhead);
        self.line = Some(Sending { id, since: now, forwarded: false, cut: false });
        self.mark = self.mark.wrapping_add(1);
        TransmitOutcome::Frame { id, end: now + bytes * self.ps_per_byte, mark: self.mark, interruptible }
    }

    fn next(&mut self, now: Ps, packets: &[Packet]) -> Picked {
        if let Some(id) = self.interrupted {
            let express = match self.config.scheduler {
                Scheduler::Preemption { express_from } => self.queues.filled >> express_from,
                _ => 0,
            };
            if express == 0 {
                return Picked::Interrupted(id);
            }
        }
        if self.queues.filled == 0 {
            return Picked::Nothing;
        }
        self.shaping.pick(now, &self.queues, packets, self.ps_per_byte)
    }

    /// Records that the arrival of the current frame at the far end is planned.
    pub(super) fn forwarded(&mut self) {
        if let Some(line) = &mut self.line {
            line.forwarded = true;
        }
    }

    /// Completes the line's current work.
    pub(super) fn done(&mut self, now: Ps, mark: u32) -> Ended {
        if mark != self.mark {
            return Ended::Replaced;
        }
        match &mut self.line {
            Some(line) if !line.cut && !line.forwarded => {
                line.forwarded = true;
                self.mark = self.mark.wrapping_add(1);
                let free_at = now + u64::from(INTER_FRAME_GAP_BYTES) * self.ps_per_byte;
                Ended::LastBit { id: line.id, free_at, mark: self.mark }
            }
            Some(line) => {
                if line.cut {
                    self.interrupted = Some(line.id);
                }
                self.line = None;
                Ended::Free
            }
            None => Ended::Replaced,
        }
    }

    /// Returns the time at which the far end has received a frame that leaves the line at `out`.
    pub(super) fn arrival(&mut self, out: Ps) -> Ps {
        let forwarding = self.config.forwarding.sample(&mut self.random);
        self.arrival_at = self.arrival_at.max(out + self.config.propagation_ps + forwarding);
        self.arrival_at
    }

    /// Returns whether the link is cut at any time of a transmission.
    pub(super) fn is_cut(&self, since: Ps, sending: Ps) -> bool {
        self.config.cut_ps.is_some_and(|(from, until)| since < until && since + sending > from)
    }

    pub(super) fn woken(&mut self, now: Ps) {
        if now >= self.wake_at {
            self.wake_at = Ps::MAX;
        }
    }
}

impl Port {
    /// Returns the number of bytes after which `next` may forward a frame. `None`: it stores the frame.
    pub(in super::super) fn cuts_through(&self, next: &Self, class: u8, wire: u32) -> Option<u32> {
        let header = self.cut_through_bytes?;
        let early = header < wire - INTER_FRAME_GAP_BYTES;
        (early && !self.interrupts(class) && next.rate_bps <= self.rate_bps).then_some(header)
    }

    /// Returns whether frames of `class` can be interrupted.
    fn interrupts(&self, class: u8) -> bool {
        matches!(self.scheduler, Scheduler::Preemption { express_from } if class < express_from)
    }
}
