//! Configuration of a radio, and the planned events of its UEs.
use super::{RadioError, convert};
use ranlab_e2_codec::e2ap::Plmn;
use ranlab_e2_codec::e2sm::common::NrCgi;
use ranlab_e2_codec::e2sm::common::Snssai;
use ranlab_radio::user_plane::{
    Carrier, Channel, Direction, FiveTuple, FlowConfig, RlcConfig, Traffic, UES_MAX, UeConfig,
};
use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;
use std::time::Duration;

/// Configuration of a base station's radio.
#[derive(Debug, Clone, PartialEq)]
pub struct RadioConfig {
    /// Level of detail of the model.
    pub fidelity: super::Fidelity,
    /// Carrier of the cell.
    pub carrier: Carrier,
    /// Channel model of each UE.
    pub channel: Channel,
    /// Size of the RLC buffer per UE, in bytes.
    pub rlc_buffer_bytes: u32,
    /// Number of UEs. They are numbered from 1.
    pub ues: u32,
    /// Number of cells of a split base station, each in a separate DU; at most [`DUS_MAX`]. UEs are distributed over
    /// the cells in rotation.
    pub dus: u32,
    /// Traffic flows.
    pub flows: Vec<FlowPlan>,
    /// Attachment times of UEs. UEs without an entry are attached from the start.
    pub stays: Vec<UePresence>,
    /// Times at which the base station decides to hand UEs over.
    pub moves: Vec<PlannedHandover>,
    /// Slices that UEs request, in rotation. If the list is empty, UEs request no slice.
    pub snssais: Vec<Snssai>,
    /// Ed25519 public keys. The base station accepts traffic control stages that are signed with one of these keys.
    pub stage_keys: Vec<[u8; 32]>,
    /// Networks that UEs select, in rotation. If the list is empty, UEs select the base station's network.
    pub plmns: Vec<Plmn>,
}

/// Maximum number of DUs per base station.
pub const DUS_MAX: u32 = 8;
/// Number of C-RNTIs per cell of a base station.
const RNTIS: u16 = 8_000;

/// Identity of a cell, and its place in the base station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellPlacement {
    /// Number of the cell.
    pub cell_id: u16,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Number of the DU, from 0. The DU serves every n-th UE. Its C-RNTIs differ from those of the other DUs of the
    /// base station.
    pub du: u32,
    /// Number of the base station's first UE.
    pub first_ue: u32,
}

impl CellPlacement {
    pub(super) fn first_rnti(self) -> u16 {
        // The value fits in 16 bits, because the DU number is at most 7.
        1 + self.du.min(DUS_MAX - 1) as u16 * RNTIS
    }
}

/// Converts a cell number and a seed to the placement of a base station's only cell.
impl From<(u16, u64)> for CellPlacement {
    fn from((cell_id, seed): (u16, u64)) -> Self {
        Self { cell_id, seed, du: 0, first_ue: super::first_ue(cell_id) }
    }
}

/// A traffic flow of one or more UEs.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowPlan {
    /// UEs that have the flow; `None`: all UEs.
    pub ues: Option<RangeInclusive<u32>>,
    /// Kind of the flow.
    pub what: TrafficKind,
    /// Whether the UE sends the data. Calls have data in both directions, whatever this value is.
    pub uplink: bool,
    /// Start of the flow, since the start of the cell.
    pub from: Duration,
    /// End of the flow, since the start of the cell.
    pub until: Option<Duration>,
}

/// Kind of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrafficKind {
    /// A call whose packets are echoed over UDP to port 2112, as with irtt.
    Voip,
    /// A TCP connection with CUBIC to port 5201 that always has data to send. The value is the receive window, in bytes.
    Tcp(u32),
    /// A UDP flow to port 5201 at a constant rate. The values are the rate in kbit/s, and optionally the on and off times.
    Udp(u32, Option<(Duration, Duration)>),
    /// A buffer that is never empty.
    Full,
}

impl TrafficKind {
    /// Returns the name of the kind: `voip`, `tcp`, `udp` or `full`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Voip => "voip",
            Self::Tcp(_) => "tcp",
            Self::Udp(..) => "udp",
            Self::Full => "full",
        }
    }
}

/// Attachment and release times of UEs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UePresence {
    /// UEs to which the times apply.
    pub ues: RangeInclusive<u32>,
    /// Time of attachment, since the start of the cell.
    pub from: Duration,
    /// Time of release, since the start of the cell.
    pub until: Option<Duration>,
}

/// A handover decision of a base station.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedHandover {
    /// UEs that are handed over.
    pub ues: RangeInclusive<u32>,
    /// 36-bit identity of the target cell, within the base station's network.
    pub cell: u64,
    /// Time of the decision, since the start of the cell.
    pub at: Duration,
}

/// A planned event of a UE.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PlannedEvent {
    Come(Box<UeConfig>),
    Go(u32),
    Move(u32, NrCgi),
}

/// Length of UDP packets with IP headers, in bytes.
const PACKET_BYTES: u32 = 1500;
const UDP: u8 = 17;
const TCP: u8 = 6;

fn us(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn ms(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

/// Returns the list entry for a UE; entries are assigned in rotation.
pub(super) fn of_ue<T>(list: &[T], ue: u32) -> Option<&T> {
    let index = (ue.max(1) - 1) as usize;
    list.get(index.checked_rem(list.len())?)
}

impl FlowPlan {
    /// Returns a flow without an end that applies to all UEs.
    pub const fn new(what: TrafficKind) -> Self {
        Self { ues: None, what, uplink: false, from: Duration::ZERO, until: None }
    }

    /// Returns the name of the flow's kind, with the prefix `up-` if the UE sends the data.
    pub const fn name(&self) -> &'static str {
        match (self.uplink, self.what) {
            (true, TrafficKind::Tcp(_)) => "up-tcp",
            (true, TrafficKind::Udp(..)) => "up-udp",
            (true, TrafficKind::Full) => "up-full",
            (_, what) => what.name(),
        }
    }

    pub(super) fn is_of(&self, ue: u32) -> bool {
        self.ues.as_ref().is_none_or(|ues| ues.contains(&ue))
    }

    fn config(&self, start_us: u64) -> FlowConfig {
        let (protocol, destination_port, traffic) = match self.what {
            TrafficKind::Voip => (UDP, 2112, Traffic::Voip),
            TrafficKind::Tcp(receive_window_bytes) => {
                (TCP, 5201, Traffic::GreedyTcp { receive_window_bytes })
            }
            TrafficKind::Udp(kbps, turns) => {
                let (on, off) = turns.unwrap_or((Duration::from_secs(1), Duration::ZERO));
                let on_ms = ms(on);
                let off_ms = ms(off);
                let traffic =
                    Traffic::OnOff { kbps, packet_bytes: PACKET_BYTES, on_ms, off_ms, random: false };
                (UDP, 5201, traffic)
            }
            TrafficKind::Full => (UDP, 5201, Traffic::FullBuffer),
        };
        FlowConfig {
            tuple: FiveTuple { destination_port, protocol, ..FiveTuple::default() },
            start_us: start_us.saturating_add(us(self.from)),
            stop_us: self.until.map_or(u64::MAX, |until| start_us.saturating_add(us(until))),
            measured: true,
            direction: if self.uplink { Direction::Up } else { Direction::Down },
            ..FlowConfig::new(traffic)
        }
    }
}

impl RadioConfig {
    /// Returns a configuration with MCS 20, no traffic, and buffers of the size that OpenAirInterface uses.
    pub fn new(carrier: Carrier, ues: u32) -> Self {
        Self {
            fidelity: super::Fidelity::Slot,
            carrier,
            channel: Channel::Fixed { mcs: 20, bler: 0.0 },
            rlc_buffer_bytes: RlcConfig::default().buffer_bytes,
            ues,
            dus: 1,
            flows: Vec::new(),
            stays: Vec::new(),
            moves: Vec::new(),
            snssais: Vec::new(),
            plmns: Vec::new(),
            stage_keys: Vec::new(),
        }
    }

    /// Returns the UEs of a cell, as numbered in the configuration.
    fn ues_at(&self, place: CellPlacement) -> impl Iterator<Item = u32> + use<> {
        let dus = self.dus.max(1);
        (1..=self.ues).filter(move |ue| (ue - 1) % dus == place.du)
    }

    /// Returns the names of the UEs' flows, by number.
    pub(super) fn whats(&self, place: CellPlacement) -> BTreeMap<u32, Vec<&'static str>> {
        let of = |ue| self.flows.iter().filter(|flow| flow.is_of(ue)).map(FlowPlan::name).collect();
        self.ues_at(place).map(|ue| (place.first_ue + ue - 1, of(ue))).collect()
    }

    pub(super) fn check(&self) -> Result<(), RadioError> {
        let flows = self.flows.iter().filter_map(|flow| Some(("a flow", flow.ues.clone()?)));
        let stays = self.stays.iter().map(|stay| ("a stay", stay.ues.clone()));
        let moves = self.moves.iter().map(|it| ("a move", it.ues.clone()));
        let beyond = |ues: &RangeInclusive<u32>| {
            [*ues.start(), *ues.end()].into_iter().find(|ue| !(1..=self.ues).contains(ue))
        };
        if self.ues as usize > UES_MAX {
            return Err(ranlab_radio::user_plane::AttachError::Full(UES_MAX).into());
        }
        match flows.chain(stays).chain(moves).find_map(|(what, ues)| beyond(&ues).map(|ue| (what, ue))) {
            Some((what, ue)) => Err(RadioError::NoUe { what, ue, ues: self.ues }),
            None => Ok(()),
        }
    }

    /// Returns the configuration of a UE. `ue` is its number in the configuration, and `number` its number in the network.
    pub(super) fn ue(&self, ue: u32, number: u32, plmn: Plmn, start_us: u64) -> UeConfig {
        let flows = self.flows.iter().filter(|flow| flow.is_of(ue));
        let mut config = UeConfig::fixed(number, 0, flows.map(|flow| flow.config(start_us)).collect());
        config.channel = self.channel.clone();
        config.rlc_down.buffer_bytes = self.rlc_buffer_bytes;
        config.plmn = convert::plmn(*of_ue(&self.plmns, ue).unwrap_or(&plmn));
        config.snssai = of_ue(&self.snssais, ue).map_or_else(Default::default, |it| convert::snssai(*it));
        config
    }

    /// Returns the planned events of UEs.
    pub(super) fn plan(
        &self,
        place: CellPlacement,
        plmn: Plmn,
        start_us: u64,
    ) -> Result<VecDeque<(u64, PlannedEvent)>, RadioError> {
        self.check()?;
        let mut turns = Vec::new();
        for ue in self.ues_at(place) {
            let number = place.first_ue + ue - 1;
            let config = self.ue(ue, number, plmn, start_us);
            let mut stays = self.stays.iter().filter(|stay| stay.ues.contains(&ue)).peekable();
            if stays.peek().is_none() {
                turns.push((start_us, PlannedEvent::Come(Box::new(config.clone()))));
            }
            let at = |time| start_us.saturating_add(us(time));
            for it in self.moves.iter().filter(|it| it.ues.contains(&ue)) {
                let cell = NrCgi { plmn, cell: it.cell };
                turns.push((at(it.at), PlannedEvent::Move(number, cell)));
            }
            for stay in stays {
                turns.push((at(stay.from), PlannedEvent::Come(Box::new(config.clone()))));
                turns.extend(stay.until.map(|until| (at(until), PlannedEvent::Go(number))));
            }
        }
        turns.sort_by_key(|(at_us, _)| *at_us);
        Ok(turns.into())
    }
}
