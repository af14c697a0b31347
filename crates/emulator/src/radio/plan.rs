//! What a radio is made of, and what its UEs do and when.
use super::{RadioError, convert};
use ranlab_radio::user_plane::{
    Carrier, Channel, FiveTuple, FlowConfig, RlcConfig, Traffic, UES_MAX, UeConfig,
};
use ranlab_sdk::wire::e2ap::Plmn;
use ranlab_sdk::wire::e2sm::common::NrCgi;
use ranlab_sdk::wire::e2sm::rrc::Snssai;
use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;
use std::time::Duration;

/// A radio of its own for a base station.
#[derive(Debug, Clone, PartialEq)]
pub struct RadioConfig {
    /// How closely it is looked at.
    pub fidelity: super::Fidelity,
    /// Carrier.
    pub carrier: Carrier,
    /// Channel of each UE.
    pub channel: Channel,
    /// What RLC buffers for a UE, bytes.
    pub rlc_buffer_bytes: u32,
    /// UEs, numbered from 1.
    pub ues: u32,
    /// Cells of a base station in parts, each at a DU of its own, at most [`DUS_MAX`]; UEs attach there in turn.
    pub dus: u32,
    /// What they send and receive.
    pub flows: Vec<FlowPlan>,
    /// When some of them come and go; the others are there from the start.
    pub stays: Vec<Stay>,
    /// When the base station decides to hand some of them over.
    pub moves: Vec<Move>,
    /// Slices that they ask for, in turn; none: they ask for none.
    pub snssais: Vec<Snssai>,
    /// Public keys, Ed25519, of whom the base station takes stages of traffic control from.
    pub stage_keys: Vec<[u8; 32]>,
    /// Networks that they select, in turn; none: that of the base station.
    pub plmns: Vec<Plmn>,
}

/// DUs of a base station, at most.
pub const DUS_MAX: u32 = 8;
/// C-RNTIs of each cell of a base station.
const RNTIS: u16 = 8_000;

/// Which cell a radio is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its number.
    pub cell_id: u16,
    /// Seed of everything random.
    pub seed: u64,
    /// The DU's, from 0: its UEs are those whose turn it is, and C-RNTIs are distinct among the DUs of a base station.
    pub du: u32,
    /// Number of the base station's first UE.
    pub first_ue: u32,
}

impl Place {
    pub(super) fn first_rnti(self) -> u16 {
        // At most the last of eight.
        1 + self.du.min(DUS_MAX - 1) as u16 * RNTIS
    }
}

/// A base station's only cell, and its seed.
impl From<(u16, u64)> for Place {
    fn from((cell_id, seed): (u16, u64)) -> Self {
        Self { cell_id, seed, du: 0, first_ue: super::first_ue(cell_id) }
    }
}

/// A flow of some UEs.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowPlan {
    /// Of which UEs; none: of all.
    pub ues: Option<RangeInclusive<u32>>,
    /// What.
    pub what: What,
    /// From when on, since the cell began.
    pub from: Duration,
    /// Until when.
    pub until: Option<Duration>,
}

/// What a flow is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A call whose packets are echoed: UDP to port 2112, as irtt has it.
    Voip,
    /// TCP with CUBIC that always has something to send, to port 5201; the receive window in bytes.
    Tcp(u32),
    /// UDP at a constant rate, to port 5201: kbit/s, and times on and off if it pauses.
    Udp(u32, Option<(Duration, Duration)>),
    /// The buffer is never empty.
    Full,
}

impl What {
    /// `voip`, `tcp`, `udp` or `full`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Voip => "voip",
            Self::Tcp(_) => "tcp",
            Self::Udp(..) => "udp",
            Self::Full => "full",
        }
    }
}

/// When UEs are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stay {
    /// Which.
    pub ues: RangeInclusive<u32>,
    /// They attach so long after the cell began.
    pub from: Duration,
    /// They are released so long after the cell began.
    pub until: Option<Duration>,
}

/// When a base station decides to hand UEs over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// Which.
    pub ues: RangeInclusive<u32>,
    /// The cell's 36 bits, within the network of the base station.
    pub cell: u64,
    /// So long after the cell began.
    pub at: Duration,
}

/// A UE comes, goes or is to be handed over.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Turn {
    Come(Box<UeConfig>),
    Go(u32),
    Move(u32, NrCgi),
}

/// IP packets of UDP, bytes.
const PACKET_BYTES: u32 = 1500;
const UDP: u8 = 17;
const TCP: u8 = 6;

fn us(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn ms(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

/// What a UE has of a list that UEs take in turn.
pub(super) fn of_ue<T>(list: &[T], ue: u32) -> Option<&T> {
    let index = (ue.max(1) - 1) as usize;
    list.get(index.checked_rem(list.len())?)
}

impl FlowPlan {
    /// A flow of all UEs, for ever.
    pub const fn new(what: What) -> Self {
        Self { ues: None, what, from: Duration::ZERO, until: None }
    }

    pub(super) fn is_of(&self, ue: u32) -> bool {
        self.ues.as_ref().is_none_or(|ues| ues.contains(&ue))
    }

    fn config(&self, start_us: u64) -> FlowConfig {
        let (protocol, destination_port, traffic) = match self.what {
            What::Voip => (UDP, 2112, Traffic::Voip),
            What::Tcp(receive_window_bytes) => (TCP, 5201, Traffic::GreedyTcp { receive_window_bytes }),
            What::Udp(kbps, turns) => {
                let (on, off) = turns.unwrap_or((Duration::from_secs(1), Duration::ZERO));
                let (on_ms, off_ms) = (ms(on), ms(off));
                let traffic =
                    Traffic::OnOff { kbps, packet_bytes: PACKET_BYTES, on_ms, off_ms, random: false };
                (UDP, 5201, traffic)
            }
            What::Full => (UDP, 5201, Traffic::FullBuffer),
        };
        FlowConfig {
            tuple: FiveTuple { destination_port, protocol, ..FiveTuple::default() },
            start_us: start_us.saturating_add(us(self.from)),
            stop_us: self.until.map_or(u64::MAX, |until| start_us.saturating_add(us(until))),
            measured: true,
            ..FlowConfig::new(traffic)
        }
    }
}

impl RadioConfig {
    /// UEs with MCS 20 and no traffic, OpenAirInterface's buffers.
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

    /// UEs of the cell, as the config counts them.
    fn ues_at(&self, place: Place) -> impl Iterator<Item = u32> + use<> {
        let dus = self.dus.max(1);
        (1..=self.ues).filter(move |ue| (ue - 1) % dus == place.du)
    }

    /// Names of the UEs' flows, by number.
    pub(super) fn whats(&self, place: Place) -> BTreeMap<u32, Vec<&'static str>> {
        let of = |ue| self.flows.iter().filter(|flow| flow.is_of(ue)).map(|flow| flow.what.name()).collect();
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

    /// A UE by its number in the config; `number` is that which it has.
    pub(super) fn ue(&self, ue: u32, number: u32, plmn: Plmn, start_us: u64) -> UeConfig {
        let flows = self.flows.iter().filter(|flow| flow.is_of(ue));
        let mut config = UeConfig::fixed(number, 0, flows.map(|flow| flow.config(start_us)).collect());
        config.channel = self.channel.clone();
        config.rlc_down.buffer_bytes = self.rlc_buffer_bytes;
        config.plmn = convert::plmn(*of_ue(&self.plmns, ue).unwrap_or(&plmn));
        config.snssai = of_ue(&self.snssais, ue).map_or_else(Default::default, |it| convert::snssai(*it));
        config
    }

    /// Who comes and goes when.
    pub(super) fn plan(
        &self,
        place: Place,
        plmn: Plmn,
        start_us: u64,
    ) -> Result<VecDeque<(u64, Turn)>, RadioError> {
        self.check()?;
        let mut turns = Vec::new();
        for ue in self.ues_at(place) {
            let number = place.first_ue + ue - 1;
            let config = self.ue(ue, number, plmn, start_us);
            let mut stays = self.stays.iter().filter(|stay| stay.ues.contains(&ue)).peekable();
            if stays.peek().is_none() {
                turns.push((start_us, Turn::Come(Box::new(config.clone()))));
            }
            let at = |time| start_us.saturating_add(us(time));
            for it in self.moves.iter().filter(|it| it.ues.contains(&ue)) {
                let cell = NrCgi { plmn, cell: it.cell };
                turns.push((at(it.at), Turn::Move(number, cell)));
            }
            for stay in stays {
                turns.push((at(stay.from), Turn::Come(Box::new(config.clone()))));
                turns.extend(stay.until.map(|until| (at(until), Turn::Go(number))));
            }
        }
        turns.sort_by_key(|(at_us, _)| *at_us);
        Ok(turns.into())
    }
}
