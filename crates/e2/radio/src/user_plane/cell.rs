//! A cell, slot by slot.

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

/// Maximum UEs of a cell.
pub const UES_MAX: usize = 1024;
/// Maximum unread RRC events; beyond it, the oldest are dropped and counted.
pub const EVENTS_MAX: usize = 4096;

/// Configuration of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellConfig {
    /// Identity, the upper half of its UEs' tunnel endpoint identifiers.
    pub cell_id: u16,
    /// The first C-RNTI of the cell's UEs, 1 to 64,495. Cells of one base station use disjoint ranges.
    pub first_rnti: u16,
    /// Carrier.
    pub carrier: Carrier,
    /// Seed of everything random.
    pub seed: u64,
    /// Start time, µs.
    pub start_us: u64,
    /// Round trip between the base station and the servers, µs, at most [`WIRE_US_MAX`].
    pub wire_us: u64,
    /// Slots between two reports of channel quality, 1 to 1000.
    pub cqi_slots: u16,
    /// Slots between two chances of a UE to send a scheduling request, 1 to 100.
    pub sr_slots: u16,
    /// Reduction of the uplink SINR compared with the downlink, dB, 0 to 40.
    pub uplink_loss_db: f32,
    /// Slices of the downlink.
    pub down: SliceSet,
    /// Slices of the uplink.
    pub up: SliceSet,
}

/// Longest round trip to a server, µs.
pub const WIRE_US_MAX: u64 = 1_000_000;

impl CellConfig {
    /// A cell without slices, proportional fair down and round robin up, with servers 10 ms away.
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
    /// Its carrier.
    #[error(transparent)]
    Carrier(#[from] CarrierError),
    /// Its slices.
    #[error(transparent)]
    Slices(#[from] SliceError),
    /// Its periods.
    #[error(
        "reports of channel quality come each 1 to 1000 slots, requests each 1 to 100; a wire of at most {WIRE_US_MAX} us, an uplink 0 to 40 dB worse"
    )]
    Times,
}

/// Tables shared by cells of the same carrier.
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

/// A cell and its UEs, advanced slot by slot to a time that the caller names.
///
/// A slot: flows send, traffic control hands on, channels move, channel quality is reported, and each direction is
/// scheduled. The same configuration, commands and times give the same cell on every machine.
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
    /// A cell without UEs.
    pub fn new(config: CellConfig) -> Result<Self, CellError> {
        config.check()?;
        Ok(Self::with(Common::new(&config.carrier), config))
    }

    /// A cell of a configuration that was checked.
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

    /// Configuration that the cell was created with; its slices are the current ones.
    pub fn config(&self) -> &CellConfig {
        &self.config
    }

    /// The next slot, counted from the start.
    pub fn slot(&self) -> u64 {
        self.slot
    }

    /// Start of the next slot, µs.
    pub fn now_us(&self) -> u64 {
        self.config.start_us + self.slot * self.config.carrier.slot_us()
    }

    /// Attaches a UE; returns its C-RNTI.
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

    /// Attaches a UE from another cell with its state from there.
    pub fn admit(&mut self, context: UeContext) -> Result<u16, AttachError> {
        self.place(context, RrcKind::HandoverIn)
    }

    /// A UE leaves for another cell: its bearers are suspended until it is admitted there.
    pub fn hand_over(&mut self, rnti: u16) -> Option<UeContext> {
        self.remove(rnti, RrcKind::HandoverOut)
    }

    /// A UE leaves.
    pub fn release(&mut self, rnti: u16) -> bool {
        self.remove(rnti, RrcKind::Release).is_some()
    }

    /// Returns the RRC events since the last call, in order.
    pub fn take_events(&mut self) -> impl Iterator<Item = RrcEvent> {
        self.events.drain(..)
    }

    /// Number of RRC events that were dropped because they were not read in time.
    pub fn events_lost(&self) -> u64 {
        self.events_lost
    }

    /// Loads a custom stage into a UE's traffic control, or removes it; false if there is no such UE.
    pub fn load_stage(&mut self, rnti: u16, role: StageRole, stage: Option<Box<dyn TcStage>>) -> bool {
        let now_us = self.now_us();
        let Some(ue) = self.index(rnti).and_then(|ue| self.ues[ue].as_mut()) else { return false };
        ue.tc.get_or_insert_with(|| Box::new(Tc::new(now_us))).load(role, stage);
        true
    }

    /// Moves the mean of a fading UE's SINR; false if there is no such UE.
    pub fn set_mean_sinr(&mut self, rnti: u16, mean_db: f64) -> bool {
        let found = self.index(rnti);
        if let Some(ue) = found {
            self.links[ue].set_mean(from_db(mean_db.clamp(-30.0, 60.0)) as f32);
        }
        found.is_some()
    }

    /// Lets virtual time pass until `now_us`, in whole slots.
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

    /// Sends the packets of flows that are due.
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

    /// A packet enters the bearer.
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

    /// Passes the packets on that the pacers of traffic control admit.
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

    /// Reports the channel quality of the UEs that are due.
    fn report_quality(&mut self, slot: u64) {
        let period = usize::from(self.config.cqi_slots);
        let first = (slot % period as u64) as usize;
        for ue in (first..self.links.len()).step_by(period) {
            self.adapt(ue);
        }
    }

    /// Link adaptation of a UE, both directions.
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
        // TCP acknowledges a slot's segments of a flow by one packet.
        for (ue, packet) in delivered.drain(..) {
            if !packet.answer {
                self.acknowledge(ue as usize, way, packet.flow, end_us);
            }
        }
        let leg = if way == Direction::Down { &mut self.down } else { &mut self.up };
        (leg.delivered, leg.lost) = (delivered, lost);
    }

    /// A packet is at the other side of the air.
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

    /// Sends a response to data that went `way`.
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
        // Enough C-RNTIs for all UEs follow the first one.
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
        // Forwarded data precedes the packets in traffic control.
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

    /// Slices as a direction of this cell needs them.
    pub(super) fn slices(&self, set: SliceSet, direction: Direction) -> Slices {
        slices(&self.config.carrier, set, direction)
    }

    /// Whether no data is queued and no transport block is in flight.
    pub fn is_idle(&self) -> bool {
        self.down.is_idle() && self.up.is_idle()
    }
}

/// With PDCP's header, as seen by RLC.
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
    // Bytes of a slot that has the direction, as a rate over all slots.
    let mbps_per_byte = 8.0 / carrier.slot_us() as f64 * carrier.share(direction);
    Slices::new(set, carrier.prbs, mbps_per_byte)
}
