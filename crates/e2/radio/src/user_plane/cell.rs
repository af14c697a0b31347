//! A cell of the user plane, simulated slot by slot.

use std::sync::Arc;

use super::carrier::{Blocks, Carrier, CarrierError, Direction, SlotKind};
use super::channel::Link;
use super::flow::Flow;
use super::leg::{BearerDirection, SlotContext};
use super::math::from_db;
use super::mcs::Decoder;
use super::random::{Purpose, Stream};
use super::rlc::{Packet, Rlc};
use super::slice::{SliceError, SliceSet, Slices};
use super::tc::{StageRole, Tc, TcStage};
use super::ue::{AttachError, RrcEvent, RrcKind, Ue, UeConfig, UeContext};
use crate::{PDCP_HEADER_BYTES, UeIdentity};

/// Maximum number of UEs of a cell.
pub const UES_MAX: usize = 1024;
/// Maximum number of unread RRC events. At the limit, the oldest are dropped and counted.
pub const EVENTS_MAX: usize = 4096;

/// Configuration of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellConfig {
    /// Identity of the cell, and upper half of its UEs' tunnel endpoint identifiers.
    pub cell_id: u16,
    /// First C-RNTI of the cell's UEs, 1 to 64,495. Cells of one base station use disjoint ranges.
    pub first_rnti: u16,
    /// Carrier of the cell.
    pub carrier: Carrier,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Start time of the cell, in µs.
    pub start_us: u64,
    /// Round-trip time between the base station and the servers, in µs, at most [`WIRE_US_MAX`].
    pub wire_us: u64,
    /// Number of slots between two channel quality reports, 1 to 1000.
    pub cqi_slots: u16,
    /// Number of slots between two scheduling request opportunities of a UE, 1 to 100.
    pub sr_slots: u16,
    /// Reduction of the uplink SINR compared with the downlink, in dB, 0 to 40.
    pub uplink_loss_db: f32,
    /// Slices of the downlink.
    pub down: SliceSet,
    /// Slices of the uplink.
    pub up: SliceSet,
}

/// Maximum round-trip time to a server, in µs.
pub const WIRE_US_MAX: u64 = 1_000_000;

impl CellConfig {
    /// Returns a cell without slices, with proportional fair downlink, round robin uplink, and servers at 10 ms.
    pub fn new(carrier: Carrier) -> Self {
        let mut up = SliceSet::default();
        up.slices[0].scheduler = super::UeScheduler::RoundRobin;
        let sr_slots = (20_000 / carrier.slot_us()) as u16;
        Self {
            cell_id: 0,
            first_rnti: 1,
            carrier,
            seed: 0,
            start_us: 0,
            wire_us: 10_000,
            cqi_slots: 5,
            sr_slots,
            uplink_loss_db: 3.0,
            down: SliceSet::default(),
            up,
        }
    }

    /// Checks that the configuration is valid.
    pub fn check(&self) -> Result<(), CellError> {
        self.carrier.check()?;
        self.down.check(self.carrier.prbs)?;
        self.up.check(self.carrier.prbs)?;
        let times = (1..=1000).contains(&self.cqi_slots) && (1..=100).contains(&self.sr_slots);
        if !times || self.wire_us > WIRE_US_MAX || !(0.0..=40.0).contains(&self.uplink_loss_db) {
            return Err(CellError::Times);
        }
        Ok(())
    }
}

/// Reason why a cell is invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CellError {
    /// The carrier is invalid.
    #[error(transparent)]
    Carrier(#[from] CarrierError),
    /// The slices are invalid.
    #[error(transparent)]
    Slices(#[from] SliceError),
    /// A period, the round-trip time or the uplink loss is out of bounds.
    #[error(
        "allowed are cqi_slots 1 to 1000, sr_slots 1 to 100, wire_us up to {WIRE_US_MAX} and uplink_loss_db 0 to 40"
    )]
    Times,
}

/// Tables that cells with the same carrier share.
#[derive(Debug, Clone)]
pub(crate) struct Common {
    pub(crate) carrier: Carrier,
    pub(crate) blocks: Arc<Blocks>,
    pub(crate) decoder: Arc<Decoder>,
}

impl Common {
    pub(crate) fn new(carrier: &Carrier) -> Self {
        let blocks = Blocks::new(carrier);
        let decoder = Decoder::new(carrier.table);
        Self { carrier: *carrier, blocks: Arc::new(blocks), decoder: Arc::new(decoder) }
    }
}

/// A cell and its UEs, advanced slot by slot to a time that the caller gives.
///
/// In each slot, flows send packets, traffic control forwards packets to RLC, channels change, channel quality is
/// reported, and each direction is scheduled. The same configuration, commands and times give the same result on
/// every machine.
#[derive(Debug)]
pub struct Cell {
    pub(super) config: CellConfig,
    common: Common,
    pub(super) ues: Vec<Option<Box<Ue>>>,
    pub(super) links: Vec<Link>,
    due: Vec<u64>,
    due_first: u64,
    pub(super) down: BearerDirection,
    pub(super) up: BearerDirection,
    pub(super) uplink_factor: f32,
    slot: u64,
    events: std::collections::VecDeque<RrcEvent>,
    events_lost: u64,
    scratch: Vec<Packet>,
}

impl Cell {
    /// Creates a cell without UEs.
    pub fn new(config: CellConfig) -> Result<Self, CellError> {
        config.check()?;
        Ok(Self::with(Common::new(&config.carrier), config))
    }

    /// Creates a cell from a checked configuration.
    pub(crate) fn with(common: Common, config: CellConfig) -> Self {
        let slices = |set: &SliceSet, direction| slices(&config.carrier, set.clone(), direction);
        Self {
            down: BearerDirection::new(Direction::Down, slices(&config.down, Direction::Down)),
            up: BearerDirection::new(Direction::Up, slices(&config.up, Direction::Up)),
            uplink_factor: from_db(f64::from(-config.uplink_loss_db)) as f32,
            common,
            ues: Vec::new(),
            links: Vec::new(),
            due: Vec::new(),
            due_first: u64::MAX,
            slot: 0,
            events: std::collections::VecDeque::new(),
            events_lost: 0,
            scratch: Vec::new(),
            config,
        }
    }

    /// Returns the configuration of the cell, with the current slices.
    pub fn config(&self) -> &CellConfig {
        &self.config
    }

    /// Returns the number of the next slot, counted from the start.
    pub fn slot(&self) -> u64 {
        self.slot
    }

    /// Returns the start time of the next slot, in µs.
    pub fn now_us(&self) -> u64 {
        self.config.start_us + self.slot * self.config.carrier.slot_us()
    }

    /// Attaches a UE, and returns its C-RNTI.
    pub fn attach(&mut self, config: UeConfig) -> Result<u16, AttachError> {
        config.check(self.config.carrier.table.highest())?;
        let now_us = self.now_us();
        let id = u64::from(config.id);
        let flows = (config.flows.iter().enumerate())
            .map(|(index, flow)| Flow::new(flow.clone(), index as u16, self.config.seed, id, now_us))
            .collect();
        let context = UeContext { config, flows, tc: None, down: Vec::new(), up: Vec::new() };
        self.place(context, RrcKind::Attach)
    }

    /// Attaches a UE from another cell, with its state from that cell.
    pub fn admit(&mut self, context: UeContext) -> Result<u16, AttachError> {
        self.place(context, RrcKind::HandoverIn)
    }

    /// Removes a UE that moves to another cell. Its bearers are suspended until the other cell admits it.
    pub fn hand_over(&mut self, rnti: u16) -> Option<UeContext> {
        self.remove(rnti, RrcKind::HandoverOut)
    }

    /// Releases a UE. Returns whether the UE existed.
    pub fn release(&mut self, rnti: u16) -> bool {
        self.remove(rnti, RrcKind::Release).is_some()
    }

    /// Returns the RRC events since the last call, in order.
    pub fn take_events(&mut self) -> impl Iterator<Item = RrcEvent> {
        self.events.drain(..)
    }

    /// Returns the number of RRC events that were dropped because they were not read in time.
    pub fn events_lost(&self) -> u64 {
        self.events_lost
    }

    /// Loads a custom stage into a UE's traffic control, or removes it. Returns whether the UE exists.
    pub fn load_stage(&mut self, rnti: u16, role: StageRole, stage: Option<Box<dyn TcStage>>) -> bool {
        let now_us = self.now_us();
        let Some(ue) = self.index(rnti).and_then(|ue| self.ues[ue].as_mut()) else { return false };
        ue.tc.get_or_insert_with(|| Box::new(Tc::new(now_us))).load(role, stage);
        true
    }

    /// Changes the mean SINR of a fading UE. Returns whether the UE exists.
    pub fn set_mean_sinr(&mut self, rnti: u16, mean_db: f64) -> bool {
        let found = self.index(rnti);
        if let Some(ue) = found {
            self.links[ue].set_mean(from_db(mean_db.clamp(-30.0, 60.0)) as f32);
        }
        found.is_some()
    }

    /// Advances virtual time to `now_us`, in whole slots.
    pub fn advance(&mut self, now_us: u64) {
        let slot_us = self.config.carrier.slot_us();
        let end = now_us.saturating_sub(self.config.start_us) / slot_us;
        while self.slot < end {
            self.step();
        }
    }

    fn step(&mut self) {
        let slot = self.slot;
        let now_us = self.now_us();
        let end_us = now_us + self.config.carrier.slot_us();
        if self.due_first <= now_us {
            self.send_due(now_us);
        }
        self.pull(now_us);
        for link in &mut self.links {
            link.advance(slot);
        }
        self.report_quality(slot);
        let common = &self.common;
        let sr_slots = u64::from(self.config.sr_slots);
        for (leg, direction, factor) in
            [(&mut self.down, Direction::Down, 1.0), (&mut self.up, Direction::Up, self.uplink_factor)]
        {
            let kind = common.carrier.kind(slot, direction);
            let sizes = common.blocks.sizes(direction, kind);
            let decoder = &*common.decoder;
            let carrier = &common.carrier;
            let air = SlotContext { slot, end_us, carrier, kind, sizes, decoder, links: &self.links, factor };
            leg.pass(&air, sr_slots);
        }
        self.slot += 1;
        self.process_outcomes(Direction::Down, end_us);
        self.process_outcomes(Direction::Up, end_us);
    }

    /// Sends the packets whose flow has reached their time.
    fn send_due(&mut self, now_us: u64) {
        let mut packets = std::mem::take(&mut self.scratch);
        for index in 0..self.due.len() {
            if self.due[index] > now_us {
                continue;
            }
            let count = self.ues[index].as_ref().map_or(0, |ue| ue.flows.len());
            for flow in 0..count {
                let Some(ue) = &mut self.ues[index] else { break };
                if ue.flows[flow].due() > now_us {
                    continue;
                }
                ue.flows[flow].poll(now_us, &mut packets);
                let direction = ue.flows[flow].config.direction;
                for packet in packets.drain(..) {
                    let answers_up = packet.answer && direction == Direction::Down;
                    let data_up = !packet.answer && direction == Direction::Up;
                    let way = if answers_up || data_up { Direction::Up } else { Direction::Down };
                    self.enter(index, way, packet, now_us);
                }
            }
            self.due[index] = self.ues[index].as_ref().map_or(u64::MAX, |ue| first_due(&ue.flows));
        }
        self.scratch = packets;
        self.due_first = self.due.iter().copied().min().unwrap_or(u64::MAX);
    }

    /// Processes a packet that enters the bearer.
    fn enter(&mut self, index: usize, way: Direction, mut packet: Packet, now_us: u64) {
        packet.queued_us = packet.queued_us.max(now_us);
        let Some(ue) = &mut self.ues[index] else { return };
        let taken = match (way, &mut ue.tc) {
            (Direction::Down, Some(tc)) => {
                let tuple = &ue.flows[usize::from(packet.flow)].config.tuple;
                tc.push(tuple, packet, now_us)
            }
            (Direction::Down, None) => self.down.enqueue(index, pdu(packet), self.slot, 0),
            (Direction::Up, _) => {
                self.up.enqueue(index, pdu(packet), self.slot, u64::from(self.config.sr_slots))
            }
        };
        if !taken {
            self.drop_packet(index, &packet, now_us);
        }
    }

    fn drop_packet(&mut self, index: usize, packet: &Packet, now_us: u64) {
        if let Some(ue) = &mut self.ues[index] {
            let flow = &mut ue.flows[usize::from(packet.flow)];
            flow.dropped(packet, now_us);
            let due = flow.due();
            self.wake(index, due);
        }
    }

    fn wake(&mut self, index: usize, due: u64) {
        self.due[index] = self.due[index].min(due);
        self.due_first = self.due_first.min(due);
    }

    /// Passes packets to RLC while the pacers of traffic control admit them.
    fn pull(&mut self, now_us: u64) {
        let mut dropped = Vec::new();
        for (index, ue) in self.ues.iter_mut().enumerate() {
            let Some(ue) = ue else { continue };
            let Some(tc) = ue.tc.as_mut().filter(|tc| tc.waits()) else { continue };
            let leg = &mut self.down;
            let slot = self.slot;
            let held = u64::from(leg.bearers[index].rlc.backlog());
            let mut full = Vec::new();
            let pass = |packet: Packet| {
                let packet = Packet { queued_us: now_us, ..packet };
                if !leg.enqueue(index, pdu(packet), slot, 0) {
                    full.push(packet);
                }
                packet.bytes
            };
            tc.pull(held, now_us, pass, |packet| dropped.push((index, packet)));
            dropped.extend(full.into_iter().map(|packet| (index, packet)));
        }
        for (index, packet) in dropped {
            self.drop_packet(index, &packet, now_us);
        }
    }

    /// Reports the channel quality of the UEs whose report period ends.
    fn report_quality(&mut self, slot: u64) {
        let period = usize::from(self.config.cqi_slots);
        let first = (slot % period as u64) as usize;
        for ue in (first..self.links.len()).step_by(period) {
            self.adapt(ue);
        }
    }

    /// Performs the link adaptation of a UE for both directions.
    fn adapt(&mut self, ue: usize) {
        let link = &self.links[ue];
        let decoder = &self.common.decoder;
        let blocks = &self.common.blocks;
        for (leg, direction, factor) in
            [(&mut self.down, Direction::Down, 1.0), (&mut self.up, Direction::Up, self.uplink_factor)]
        {
            let hot = &mut leg.hot[ue];
            hot.cqi = decoder.cqi(link.sinr * factor, hot.cqi);
            hot.mcs = link.fixed_mcs.unwrap_or_else(|| decoder.mcs(hot.cqi));
            let is_reached = link.fixed_mcs.is_some() || hot.cqi > 0;
            let bytes = blocks.sizes(direction, SlotKind::Full).whole(hot.mcs);
            hot.rate = if is_reached { bytes as f32 } else { 0.0 };
        }
    }

    /// Processes the delivered and lost packets of a direction.
    fn process_outcomes(&mut self, way: Direction, end_us: u64) {
        let (leg, other) = match way {
            Direction::Down => (&mut self.down, &mut self.up),
            Direction::Up => (&mut self.up, &mut self.down),
        };
        for ue in leg.polled.drain(..) {
            other.owe_status(ue);
        }
        if leg.delivered.is_empty() && leg.lost.is_empty() {
            return;
        }
        let mut delivered = std::mem::take(&mut leg.delivered);
        let mut lost = std::mem::take(&mut leg.lost);
        for (ue, packet) in lost.drain(..) {
            self.drop_packet(ue as usize, &packet, end_us);
        }
        for (ue, packet) in &delivered {
            self.arrive(*ue as usize, way, sdu(*packet), end_us);
        }
        // TCP sends one acknowledgement for all segments of a flow in a slot.
        for (ue, packet) in delivered.drain(..) {
            if !packet.answer {
                self.acknowledge(ue as usize, way, packet.flow, end_us);
            }
        }
        let leg = if way == Direction::Down { &mut self.down } else { &mut self.up };
        (leg.delivered, leg.lost) = (delivered, lost);
    }

    /// Processes a packet that has crossed the air interface.
    fn arrive(&mut self, index: usize, way: Direction, packet: Packet, now_us: u64) {
        let wire_us = self.config.wire_us;
        let Some(ue) = &mut self.ues[index] else { return };
        let flow = &mut ue.flows[usize::from(packet.flow)];
        match (way, packet.answer) {
            (Direction::Down, true) => flow.answered(&packet, now_us),
            (Direction::Up, true) => flow.send_on(packet, now_us + wire_us),
            (_, false) => {
                if let Some(answer) = flow.delivered(packet, now_us) {
                    self.answer(index, way, answer, now_us);
                    return;
                }
            }
        }
        let due = flow.due();
        self.wake(index, due);
    }

    fn acknowledge(&mut self, index: usize, way: Direction, flow: u16, now_us: u64) {
        let Some(ue) = &mut self.ues[index] else { return };
        if let Some(answer) = ue.flows[usize::from(flow)].flush(now_us) {
            self.answer(index, way, answer, now_us);
        }
    }

    /// Sends a response to data of direction `way`.
    fn answer(&mut self, index: usize, way: Direction, answer: Packet, now_us: u64) {
        if way == Direction::Down {
            return self.enter(index, Direction::Up, answer, now_us);
        }
        let at = now_us + self.config.wire_us;
        if let Some(ue) = &mut self.ues[index] {
            ue.flows[usize::from(answer.flow)].send_on(answer, at);
            self.wake(index, at);
        }
    }

    pub(super) fn index(&self, rnti: u16) -> Option<usize> {
        self.ues.iter().position(|ue| ue.as_ref().is_some_and(|ue| ue.identity.rnti == rnti))
    }

    fn place(&mut self, context: UeContext, kind: RrcKind) -> Result<u16, AttachError> {
        let UeContext { config, flows, tc, down, up } = context;
        let here = |ue: &Ue| ue.config.id == config.id;
        if self.ues.iter().flatten().any(|ue| here(ue)) {
            return Err(AttachError::Here(config.id));
        }
        let index = self.ues.iter().position(Option::is_none).unwrap_or(self.ues.len());
        if index >= UES_MAX {
            return Err(AttachError::Full(UES_MAX));
        }
        let taken = |rnti: &u16| self.ues.iter().flatten().any(|ue| ue.identity.rnti == *rnti);
        // The range leaves enough C-RNTIs for all UEs after the first one.
        let first = self.config.first_rnti.clamp(1, crate::RNTI_MAX - UES_MAX as u16);
        let rnti = (first..=crate::RNTI_MAX).find(|rnti| !taken(rnti)).unwrap_or(crate::RNTI_MAX);
        let seed = self.config.seed;
        let id = u64::from(config.id);
        let processes = self.config.carrier.harq_processes();
        let here = u64::from(self.config.cell_id) << 32 | id;
        let link = Link::new(&config.channel, &self.common.decoder, seed, here);
        let phase = Stream::new(seed, Purpose::Phase, id).bits(0) % u64::from(self.config.sr_slots);
        for (leg, rlc, purpose) in [
            (&mut self.down, config.rlc_down, Purpose::DecodeDown),
            (&mut self.up, config.rlc_up, Purpose::DecodeUp),
        ] {
            leg.insert(index, Rlc::new(rlc), processes, Stream::new(seed, purpose, here), phase);
        }
        let identity = UeIdentity::new(self.config.cell_id, rnti);
        let due = first_due(&flows);
        let ue = Some(Box::new(Ue { config, identity, flows, tc }));
        if index < self.ues.len() {
            (self.ues[index], self.links[index], self.due[index]) = (ue, link, due);
        } else {
            self.ues.push(ue);
            self.links.push(link);
            self.due.push(due);
        }
        self.due_first = self.due_first.min(due);
        self.adapt(index);
        self.push_event(index, kind);
        // Data forwarded from the other cell precedes the packets in traffic control.
        let sr_slots = u64::from(self.config.sr_slots);
        for (packets, leg) in [(down, &mut self.down), (up, &mut self.up)] {
            for packet in packets {
                if !leg.enqueue(index, packet, self.slot, sr_slots) {
                    leg.lost.push((index as u32, packet));
                }
            }
        }
        Ok(rnti)
    }

    fn remove(&mut self, rnti: u16, kind: RrcKind) -> Option<UeContext> {
        let index = self.index(rnti)?;
        self.push_event(index, kind);
        let down = self.down.remove(index);
        let up = self.up.remove(index);
        let now_us = self.now_us();
        for leg in [Direction::Down, Direction::Up] {
            let lost = if leg == Direction::Down { &mut self.down.lost } else { &mut self.up.lost };
            for (ue, packet) in std::mem::take(lost) {
                self.drop_packet(ue as usize, &packet, now_us);
            }
        }
        self.due[index] = u64::MAX;
        let ue = self.ues[index].take()?;
        let Ue { config, flows, tc, .. } = *ue;
        Some(UeContext { config, flows, tc, down, up })
    }

    fn push_event(&mut self, index: usize, kind: RrcKind) {
        let at_us = self.now_us();
        let Some(ue) = &self.ues[index] else { return };
        if self.events.len() >= EVENTS_MAX {
            self.events.pop_front();
            self.events_lost += 1;
        }
        let plmn = ue.config.plmn;
        let snssai = ue.config.snssai;
        self.events.push_back(RrcEvent {
            at_us,
            kind,
            ue: ue.config.id,
            rnti: ue.identity.rnti,
            plmn,
            snssai,
        });
    }

    /// Returns the scheduler state of slices for a direction of this cell.
    pub(super) fn slices(&self, set: SliceSet, direction: Direction) -> Slices {
        slices(&self.config.carrier, set, direction)
    }

    /// Returns whether no data is queued and no transport block is in flight.
    pub fn is_idle(&self) -> bool {
        self.down.is_idle() && self.up.is_idle()
    }
}

/// Returns a packet with its PDCP header, as seen by RLC.
fn pdu(packet: Packet) -> Packet {
    Packet { bytes: packet.bytes + PDCP_HEADER_BYTES as u32, ..packet }
}

/// Returns a packet without its PDCP header.
fn sdu(packet: Packet) -> Packet {
    Packet { bytes: packet.bytes.saturating_sub(PDCP_HEADER_BYTES as u32), ..packet }
}

fn first_due(flows: &[Flow]) -> u64 {
    flows.iter().map(Flow::due).min().unwrap_or(u64::MAX)
}

pub(super) fn slices(carrier: &Carrier, set: SliceSet, direction: Direction) -> Slices {
    // The factor converts bytes of a slot that has the direction to a rate over all slots.
    let mbps_per_byte = 8.0 / carrier.slot_us() as f64 * carrier.share(direction);
    Slices::new(set, carrier.prbs, mbps_per_byte)
}
