//! Validated setup of a point, read from its settings.

use std::time::Duration;

use crate::XhaulComponent;
use crate::live::SharingKind;
use ranlab_campaign::rig::{RigError, Run};
use ranlab_xhaul::{
    AirInterface, Carrier, Direction, Duration as Drawn, MS, NS, Ps, S, Split, Tdd, TddError, US,
};

use super::budget::Limits;
use super::settings::{self, Programs, Settings, Sim};
use super::sharing::Sharing;

/// Traffic class of the other vBBU in the rows of the published testbed.
const NEIGHBOUR_CLASS: u8 = 4;
/// Default UDP payload of packets over split 2, in bytes. It is the payload of iperf3 on Ethernet.
pub(super) const USER_BYTES: u16 = 1470;
/// Maximum time between control messages and their data.
const CONTROL_AHEAD_MAX: Duration = Duration::from_millis(10);
/// Rate of a split-2 cell in addition to the measured flow, if this flow is the cell's downlink data: F1 control and other traffic, in
/// bit/s.
const F1_REST_BPS: u64 = 100_000;

/// Validated settings of one point of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Setup {
    pub(super) tier: String,
    pub(super) scheduler: String,
    pub(super) sharing: Sharing,
    /// Simulated cost of sharing the card per frame, to and from the vBBU.
    pub(super) sharing_cost: [Drawn; 2],
    pub(super) cells: Cells,
    /// Splits of the other vBBU (down, up), and its traffic class.
    pub(super) neighbour: Option<(Split, Split, u8)>,
    /// Data of the other vBBU's users, if a sender's timer paces the data: (bit/s, timer).
    pub(super) neighbour_user: Option<(u64, Ps)>,
    pub(super) background: Background,
    pub(super) user: User,
    pub(super) air: Option<(AirInterface, AirInterface)>,
    pub(super) net: Net,
    pub(super) host_service_ps: Ps,
    /// Wake-up latency of the vBBU's thread.
    pub(super) wakeup: Drawn,
    /// Work with precedence on the CU's core: (period, busy time, offset).
    pub(super) contention: Option<(Ps, Ps, Ps)>,
    pub(super) turnaround_ps: Ps,
    pub(super) sim: Sim,
    /// Settings of the live network.
    pub(super) live: XhaulComponent,
    pub(super) programs: Programs,
}

/// Evaluated cells.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cells {
    pub(super) name: String,
    pub(super) down: Split,
    pub(super) up: Split,
    pub(super) carrier: Carrier,
    pub(super) count: u64,
    pub(super) class: u8,
    /// Whether the symbols of a TTI are sent at their due times, rather than back to back.
    pub(super) spread: bool,
    /// Whether the TTIs of the cells are staggered, rather than simultaneous.
    pub(super) staggered: bool,
    /// TDD pattern. `None`: FDD.
    pub(super) tdd: Option<Tdd>,
    /// Budget and receive windows.
    pub(super) limits: Limits,
    /// VLAN of the frames. `None`: the frames have no tag.
    pub(super) vlan: Option<u16>,
    /// Time by which control messages precede their data. `None`: no control messages.
    pub(super) control_ahead_ps: Option<Ps>,
}

/// Background load.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Background {
    pub(super) up: bool,
    pub(super) down: bool,
    pub(super) bps: u64,
    /// Size of a frame, including check sequence, in bytes.
    pub(super) frame: u32,
    pub(super) class: u8,
}

/// Measured flow of a user.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum User {
    None,
    /// Downlink UDP, as sent by iperf3.
    Udp {
        bps: u64,
        bytes: u16,
        timer_ps: Ps,
    },
    /// Echo requests of the UE: size of the Ethernet frame, in bytes.
    Ping {
        bytes: u16,
        interval_ps: Ps,
    },
}

/// Switches and links.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Net {
    pub(super) midhaul_switches: usize,
    pub(super) backhaul_switch: bool,
    pub(super) forwarding_ps: Ps,
    pub(super) cut_through_bytes: Option<u32>,
    pub(super) rate_bps: u64,
    pub(super) metres: u32,
    pub(super) mtu: u32,
    pub(super) queue_bytes: u64,
}

impl Setup {
    /// Reads the settings of a point.
    pub(crate) fn read(run: &Run<'_>) -> Result<Self, RigError> {
        Self::from_settings(&Settings::read(run)?).map_err(RigError::Rig)
    }

    fn from_settings(from: &Settings) -> Result<Self, String> {
        let user = user(&from.user)?;
        let mut setup = Self {
            tier: from.sut.tier.clone(),
            scheduler: from.sut.scheduler.clone(),
            sharing: Sharing::named(&from.sut.sharing),
            sharing_cost: [Drawn::Constant(0), Drawn::Constant(0)],
            cells: cells(&from.cells, &from.limits, &user)?,
            neighbour: neighbour(&from.neighbour),
            neighbour_user: None,
            background: background(&from.background),
            air: air(&from.air),
            net: net(&from.net)?,
            host_service_ps: from.cu.service_ns * NS,
            wakeup: Drawn::Constant(0),
            contention: contention(&from.cu)?,
            turnaround_ps: ps(from.user.turnaround)?,
            sim: from.sim.clone(),
            live: from.live.clone(),
            programs: from.programs.clone(),
            user,
        };
        if let Some(row) = Row::named(&from.net.testbed) {
            row.apply(&mut setup, &from.neighbour);
        }
        if setup.tier != "live" {
            if matches!(setup.scheduler.as_str(), "mqprio" | "etf") {
                return Err(format!(
                    "`sut.scheduler` \"{}\" exists in the kernel and the card only: set `sut.tier` \"live\"; \"strict\", \"gates\" and \
                     \"cbs\" are simulated",
                    setup.scheduler
                ));
            }
            setup.sharing_cost = setup.sharing.cost(&from.sut)?;
            setup.wakeup = super::sharing::wakeup(&from.sut, &from.cu)?;
        }
        setup.neighbour_user = neighbour_user(&setup, &from.neighbour);
        if let (Some(_), Some((Split::Two { user_bps, .. }, ..))) =
            (setup.neighbour_user, &mut setup.neighbour)
        {
            // The data is the measured flow, which must not be sent twice.
            *user_bps = F1_REST_BPS;
        }
        Ok(setup)
    }

    /// Returns whether each container has a separate port.
    pub(super) fn own_ports(&self) -> bool {
        self.sharing == Sharing::Kind(SharingKind::Dedicated)
    }

    /// Returns whether the card contains a switch, i.e. each container has separate queues behind a shared port.
    pub(super) fn own_functions(&self) -> bool {
        self.sharing == Sharing::Kind(SharingKind::SrIov)
    }

    /// Returns whether the CU schedules the radio. For lower-layer splits (6 to 8), the DU receives radio blocks
    /// or symbols and no user packets.
    pub(super) fn scheduled_at_cu(&self) -> bool {
        self.air.is_some() && !matches!(self.cells.down, Split::Two { .. })
    }

    /// Returns the duration of a TTI or slot of the cells.
    pub(super) fn tti_ps(&self) -> Ps {
        MS * 15 / u64::from(self.cells.carrier.spacing_khz.max(1))
    }

    /// Returns the time after which the cells' symbols repeat: a slot, or the TDD pattern.
    pub(super) fn cycle_ps(&self) -> Ps {
        self.cells.tdd.as_ref().map_or(1, |tdd| tdd.slots() as u64) * self.tti_ps()
    }
}

/// Row of the published testbed: sharing of the network card, and other traffic.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Row {
    baseline: bool,
    sharing: SharingKind,
    up: bool,
    down: bool,
}

impl Row {
    /// Returns the row with this name. `None` for a custom row, for which every setting applies unchanged.
    fn named(name: &str) -> Option<Self> {
        if name == "baseline" {
            return Some(Self { baseline: true, sharing: SharingKind::Dedicated, up: false, down: false });
        }
        let (sharing, background) = name.rsplit_once('-')?;
        let sharing = match sharing {
            "sriov" => SharingKind::SrIov,
            "macvlan" => SharingKind::Macvlan,
            "bridge" => SharingKind::Bridge,
            _ => return None,
        };
        Some(Self { baseline: false, sharing, up: background == "a", down: background == "d" })
    }

    fn apply(self, setup: &mut Setup, from: &settings::Neighbour) {
        setup.sharing = Sharing::Kind(self.sharing);
        (setup.background.up, setup.background.down) = (self.up, self.down);
        if self.baseline {
            setup.net.midhaul_switches = 0;
            setup.net.backhaul_switch = false;
            setup.neighbour = None;
        } else if setup.neighbour.is_none() {
            // The other vBBU uses a different split.
            let two = matches!(setup.cells.down, Split::Two { .. });
            let name = if two { "7.1-if4p5" } else { "2" };
            let of = |bps| split(name, bps, USER_BYTES, 9);
            let bps = bps(from.mbps);
            setup.neighbour = Some((of(bps), of((bps / 26).max(F1_REST_BPS)), NEIGHBOUR_CLASS));
        }
    }
}

fn bps(mbps: f64) -> u64 {
    (mbps * 1e6).round() as u64
}

fn ps(span: Duration) -> Result<Ps, String> {
    let ps = u64::try_from(span.as_nanos()).ok().and_then(|ns| ns.checked_mul(NS));
    ps.ok_or_else(|| format!("{} s is too long for a simulation", span.as_secs()))
}

fn split(name: &str, user_bps: u64, user_bytes: u16, mantissa_bits: u8) -> Split {
    match name {
        "8" => Split::Eight,
        "7.1-if4p5" => Split::If4p5 { udp: false },
        "7.1-if4p5-udp" => Split::If4p5 { udp: true },
        "7.1" => Split::SevenOne,
        "7.2x" => Split::SevenTwo { mantissa_bits },
        "6" => Split::Six,
        _ => Split::Two { user_bps, user_bytes },
    }
}

pub(super) fn cells(from: &settings::Cells, limits: &Limits, user: &User) -> Result<Cells, String> {
    let of = |bps: u64| split(&from.split, bps.max(10_000), USER_BYTES, from.mantissa_bits);
    let carrier = carrier(&from.carrier, from.layers);
    let tdd = tdd(from)?;
    let peak = |way| carrier.user_bps(tdd.as_ref(), way);
    // If the measured flow is the downlink of a split-2 cell, it must not be sent twice.
    let down = match from.mbps {
        _ if matches!(user, User::Udp { .. }) => F1_REST_BPS,
        Some(mbps) => bps(mbps),
        None => peak(Direction::Down),
    };
    Ok(Cells {
        down: of(down),
        up: of(from.mbps_up.map_or_else(|| peak(Direction::Up), bps)),
        carrier,
        count: from.count,
        class: from.class,
        spread: from.pacing == "spread",
        staggered: from.phase == "staggered",
        name: from.split.clone(),
        tdd,
        limits: *limits,
        vlan: from.vlan,
        control_ahead_ps: control_ahead(from)?,
    })
}

/// Returns the time by which control messages precede their data.
fn control_ahead(from: &settings::Cells) -> Result<Option<Ps>, String> {
    let Some(ahead) = from.tcp_adv_dl else { return Ok(None) };
    if from.split != "7.2x" {
        return Err(format!("`cells.tcp_adv_dl` applies to split \"7.2x\", not to \"{}\"", from.split));
    }
    if ahead > CONTROL_AHEAD_MAX {
        return Err(format!("`cells.tcp_adv_dl` must be at most {CONTROL_AHEAD_MAX:?}, not {ahead:?}"));
    }
    ps(ahead).map(Some)
}

/// Returns the TDD pattern of the cells. NR carriers have a pattern unless TDD is off.
fn tdd(from: &settings::Cells) -> Result<Option<Tdd>, String> {
    let slots = match from.tdd.as_deref() {
        Some("off") => return Ok(None),
        Some(slots) => slots,
        None if from.carrier.starts_with("nr") => "DDDSU",
        None => return Ok(None),
    };
    Tdd::parse(slots, &from.tdd_special).map(Some).map_err(|error| {
        let key = if matches!(error, TddError::Special(_)) { "tdd_special" } else { "tdd" };
        format!("`cells.{key}`: {error}")
    })
}

/// Returns a carrier by name, with the given number of layers.
fn carrier(name: &str, layers: Option<u8>) -> Carrier {
    let carrier = match name {
        "lte-20" => {
            Carrier { prbs: 100, spacing_khz: 15, ports: 2, sampling_hz: 30_720_000, transport_bits: 150_752 }
        }
        "nr-20" => {
            Carrier { prbs: 51, spacing_khz: 30, ports: 2, sampling_hz: 30_720_000, transport_bits: 118_000 }
        }
        "nr-100" => Carrier {
            prbs: 273,
            spacing_khz: 30,
            ports: 4,
            sampling_hz: 122_880_000,
            transport_bits: 1_280_000,
        },
        _ => Carrier::LTE_5,
    };
    let Some(ports) = layers else { return carrier };
    // The product fits: it is at most 64 layers of 640 kbit.
    let bits = u64::from(carrier.transport_bits) * u64::from(ports) / u64::from(carrier.ports);
    Carrier { ports, transport_bits: bits.min(16_000_000) as u32, ..carrier }
}

fn neighbour(from: &settings::Neighbour) -> Option<(Split, Split, u8)> {
    let bps = bps(from.mbps);
    let of = |bps: u64| split(&from.split, bps.max(F1_REST_BPS), USER_BYTES, 9);
    (from.split != "none").then(|| (of(bps), of(bps / 26), from.class))
}

/// Returns the data of the other vBBU's users if a sender's timer paces the data. It is used together with a measured flow.
fn neighbour_user(setup: &Setup, from: &settings::Neighbour) -> Option<(u64, Ps)> {
    let timer_ps = timer_ps(&from.timer);
    let sent = timer_ps > 0 && setup.neighbour.is_some() && setup.user != User::None;
    sent.then(|| (bps(from.mbps).max(F1_REST_BPS), timer_ps))
}

/// Returns the interval of a sender's timer. 0: a timer per packet.
fn timer_ps(name: &str) -> Ps {
    match name {
        "100ms" => 100 * MS,
        "1ms" => MS,
        _ => 0,
    }
}

fn background(from: &settings::Background) -> Background {
    Background {
        up: matches!(from.direction.as_str(), "up" | "both"),
        down: matches!(from.direction.as_str(), "down" | "both"),
        bps: bps(from.mbps).max(1),
        frame: from.bytes,
        class: from.class,
    }
}

fn user(from: &settings::Measured) -> Result<User, String> {
    Ok(match from.kind.as_str() {
        "udp" => {
            User::Udp { bps: bps(from.mbps).max(10_000), bytes: from.bytes, timer_ps: timer_ps(&from.timer) }
        }
        "ping" => User::Ping { bytes: from.bytes, interval_ps: ps(from.interval)?.max(US) },
        _ => User::None,
    })
}

/// Returns downlink and uplink of the radio, if enabled.
fn air(from: &settings::Radio) -> Option<(AirInterface, AirInterface)> {
    let error_ppm = (from.bler * 1e6).round() as u32;
    let with = |air: AirInterface| AirInterface { error_ppm, ..air };
    from.on.then(|| (with(AirInterface::lte_5_mhz_downlink()), with(AirInterface::lte_5_mhz_uplink())))
}

fn net(from: &settings::Network) -> Result<Net, String> {
    Ok(Net {
        midhaul_switches: from.midhaul_switches,
        backhaul_switch: from.backhaul_switch,
        forwarding_ps: ps(from.forwarding)?,
        cut_through_bytes: (from.cut_through_bytes > 0).then_some(from.cut_through_bytes),
        rate_bps: bps(from.mbps),
        metres: from.metres,
        mtu: from.mtu,
        queue_bytes: from.queue_bytes,
    })
}

fn contention(from: &settings::Cu) -> Result<Option<(Ps, Ps, Ps)>, String> {
    let period = ps(from.busy_period)?;
    let busy = (period as f64 * from.busy_share) as Ps;
    if busy == 0 {
        return Ok(None);
    }
    if busy >= period || period > S {
        return Err("`cu.busy_share` leaves no free time on the core, or `cu.busy_period` is longer than 1s"
            .to_owned());
    }
    Ok(Some((period, busy, 0)))
}
