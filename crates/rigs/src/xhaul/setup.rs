//! What a point asks for, read from its settings and checked; and the network that follows.

use std::collections::BTreeMap;

use ranlab_campaign::value::Value;
use ranlab_model::xhaul::{Air, Carrier, MS, NS, NicSharing, Ps, S, Split, US};

/// Classes of the paper's testbed that the switch cannot tell apart by itself are given here.
const NEIGHBOUR_CLASS: u8 = 4;
/// UDP payload of the packets behind split 2 where nothing else is said: iperf3's on Ethernet.
const USER_BYTES: u16 = 1470;
/// User data of a split-2 cell whose downlink is the measured flow itself: F1 control and what else there is, bit/s.
const F1_REST_BPS: u64 = 100_000;

/// Settings by path.
pub(super) type Values = BTreeMap<String, Value>;

/// A point of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Setup {
    pub(super) tier: String,
    pub(super) scheduler: String,
    pub(super) sharing: NicSharing,
    /// Containers share the card by ipvlan: its cost is given where it is simulated, its device made where it is live.
    pub(super) ipvlan: bool,
    pub(super) cells: Cells,
    /// Splits of the other vBBU, down and up, and its class.
    pub(super) neighbour: Option<(Split, Split, u8)>,
    pub(super) background: Background,
    pub(super) user: User,
    pub(super) air: Option<(Air, Air)>,
    pub(super) net: Net,
    pub(super) host_service_ps: Ps,
    /// Work that goes first on the CU's core: (period, busy, offset).
    pub(super) contention: Option<(Ps, Ps, Ps)>,
    pub(super) turnaround_ps: Ps,
    pub(super) phases: u64,
    pub(super) threads: usize,
    pub(super) search_rounds: u32,
    pub(super) cost_batches: u32,
    pub(super) taps: bool,
    /// Of one CPU, for the vBBU's threads where it is live; 0: all that there is.
    pub(super) cpu_quota: f64,
    /// Programs that run beside our own probe.
    pub(super) ping: bool,
    pub(super) iperf3: bool,
    pub(super) pcap: Option<String>,
}

/// The cells that are evaluated.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cells {
    pub(super) name: String,
    pub(super) down: Split,
    pub(super) up: Split,
    pub(super) carrier: Carrier,
    pub(super) count: u64,
    pub(super) class: u8,
    /// The symbols of a TTI are sent when they are due, not back to back.
    pub(super) spread: bool,
    /// TTIs begin one after the other and not all at once.
    pub(super) staggered: bool,
}

/// What loads the network besides.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Background {
    pub(super) up: bool,
    pub(super) down: bool,
    pub(super) bps: u64,
    /// Octets of a frame, check sequence included.
    pub(super) frame: u32,
    pub(super) class: u8,
}

/// The measured flow of a user.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum User {
    None,
    /// Downlink UDP as iperf3 sends it.
    Udp {
        bps: u64,
        bytes: u16,
        timer_ps: Ps,
    },
    /// Echo requests from the UE: octets of the Ethernet frame.
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

struct Reader<'a>(&'a dyn Fn(&str) -> Option<Value>);

impl Reader<'_> {
    fn text(&self, path: &str) -> Result<String, String> {
        let value = (self.0)(path).ok_or_else(|| missing(path))?;
        value.text().map(str::to_owned).ok_or_else(|| missing(path))
    }

    fn number(&self, path: &str) -> Result<f64, String> {
        (self.0)(path).and_then(|value| value.number()).ok_or_else(|| missing(path))
    }

    /// A whole number within the bounds of its key.
    fn int<T: TryFrom<i64>>(&self, path: &str) -> Result<T, String> {
        T::try_from(self.number(path)?.round() as i64).map_err(|_| missing(path))
    }

    fn flag(&self, path: &str) -> Result<bool, String> {
        match (self.0)(path) {
            Some(Value::Bool(flag)) => Ok(flag),
            _ => Err(missing(path)),
        }
    }

    fn span_ps(&self, path: &str) -> Result<Ps, String> {
        let span = (self.0)(path).and_then(|value| value.span()).ok_or_else(|| missing(path))?;
        u64::try_from(span.as_nanos()).ok().and_then(|ns| ns.checked_mul(NS)).ok_or_else(|| missing(path))
    }

    fn bps(&self, path: &str) -> Result<u64, String> {
        Ok((self.number(path)? * 1e6).round() as u64)
    }
}

fn missing(path: &str) -> String {
    format!("`{path}` is not set, or not within its bounds")
}

impl Setup {
    /// Reads what is set at a point.
    pub(crate) fn of(settings: &Values) -> Result<Self, String> {
        Self::read(&|path| settings.get(path).cloned())
    }

    /// Reads through `look`.
    pub(super) fn read(look: &dyn Fn(&str) -> Option<Value>) -> Result<Self, String> {
        let from = Reader(look);
        let row = Row::named(&from.text("net.row")?);
        let user = user(&from)?;
        let cells = cells(&from, &user)?;
        let mut setup = Self {
            tier: from.text("sut.tier")?,
            scheduler: from.text("sut.scheduler")?,
            sharing: sharing(&from.text("sut.sharing")?, from.int("sut.sharing_cost_ns")?),
            ipvlan: from.text("sut.sharing")? == "ipvlan",
            neighbour: neighbour(&from)?,
            background: background(&from)?,
            air: air(&from)?,
            net: net(&from)?,
            host_service_ps: from.int::<u64>("cu.service_ns")? * NS,
            contention: contention(&from)?,
            turnaround_ps: from.span_ps("user.turnaround")?,
            phases: from.int("sim.phases")?,
            threads: from.int("sim.threads")?,
            search_rounds: from.int("sim.search_rounds")?,
            cost_batches: from.int("live.cost_batches")?,
            taps: from.flag("live.taps")?,
            cpu_quota: from.number("cu.cpu_quota")?,
            ping: from.flag("live.ping")?,
            iperf3: from.flag("live.iperf3")?,
            pcap: look("sim.pcap").and_then(|value| value.text().map(str::to_owned)),
            cells,
            user,
        };
        if let Some(row) = row {
            row.apply(&mut setup, &from)?;
        }
        if setup.ipvlan && setup.tier == "sim" && setup.sharing == (NicSharing::Measured { cost_ns: 0 }) {
            return Err(
                "`sut.sharing` \"ipvlan\" is simulated with a measured cost: set `sut.sharing_cost_ns`"
                    .to_owned(),
            );
        }
        Ok(setup)
    }

    /// Whether each container has a port of its own.
    pub(super) fn own_ports(&self) -> bool {
        self.sharing == NicSharing::Dedicated
    }

    /// The duration of a TTI or slot of the cells: how often their symbols come at once.
    pub(super) fn tti_ps(&self) -> Ps {
        MS * 15 / u64::from(self.cells.carrier.spacing_khz.max(1))
    }
}

/// A row of the published testbed: how the network card is shared, and what else runs.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Row {
    baseline: bool,
    sharing: NicSharing,
    up: bool,
    down: bool,
}

impl Row {
    /// `None`: a custom one, every setting as it is written.
    fn named(name: &str) -> Option<Self> {
        if name == "baseline" {
            return Some(Self { baseline: true, sharing: NicSharing::Dedicated, up: false, down: false });
        }
        let (sharing, background) = name.rsplit_once('-')?;
        let sharing = match sharing {
            "sriov" => NicSharing::SrIov,
            "macvlan" => NicSharing::Macvlan,
            "bridge" => NicSharing::Bridge,
            _ => return None,
        };
        Some(Self { baseline: false, sharing, up: background == "a", down: background == "d" })
    }

    fn apply(self, setup: &mut Setup, from: &Reader<'_>) -> Result<(), String> {
        (setup.sharing, setup.ipvlan) = (self.sharing, false);
        (setup.background.up, setup.background.down) = (self.up, self.down);
        if self.baseline {
            setup.net.midhaul_switches = 0;
            setup.net.backhaul_switch = false;
            setup.neighbour = None;
        } else if setup.neighbour.is_none() {
            // The other vBBU has the other split.
            let two = matches!(setup.cells.down, Split::Two { .. });
            let name = if two { "7.1-if4p5" } else { "2" };
            let of = |bps| split(name, bps, USER_BYTES, 9);
            let bps = from.bps("neighbour.mbps")?;
            setup.neighbour = Some((of(bps), of((bps / 26).max(F1_REST_BPS)), NEIGHBOUR_CLASS));
        }
        Ok(())
    }
}

fn sharing(name: &str, cost_ns: u32) -> NicSharing {
    match name {
        "sr-iov" => NicSharing::SrIov,
        "macvlan" => NicSharing::Macvlan,
        "bridge" => NicSharing::Bridge,
        "measured" | "ipvlan" => NicSharing::Measured { cost_ns },
        _ => NicSharing::Dedicated,
    }
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

fn cells(from: &Reader<'_>, user: &User) -> Result<Cells, String> {
    let name = from.text("cells.split")?;
    let mantissa = from.int("cells.mantissa_bits")?;
    let of = |bps: u64| split(&name, bps.max(10_000), USER_BYTES, mantissa);
    // The measured flow is the downlink of a split-2 cell: it is not sent twice.
    let down = if matches!(user, User::Udp { .. }) { F1_REST_BPS } else { from.bps("cells.mbps")? };
    let carrier = match from.text("cells.carrier")?.as_str() {
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
    Ok(Cells {
        down: of(down),
        up: of(from.bps("cells.mbps_up")?),
        carrier,
        count: from.int("cells.count")?,
        class: from.int("cells.class")?,
        spread: from.text("cells.pacing")? == "spread",
        staggered: from.text("cells.phase")? == "staggered",
        name,
    })
}

fn neighbour(from: &Reader<'_>) -> Result<Option<(Split, Split, u8)>, String> {
    let name = from.text("neighbour.split")?;
    if name == "none" {
        return Ok(None);
    }
    let bps = from.bps("neighbour.mbps")?;
    let of = |bps: u64| split(&name, bps.max(F1_REST_BPS), USER_BYTES, 9);
    Ok(Some((of(bps), of(bps / 26), from.int("neighbour.class")?)))
}

fn background(from: &Reader<'_>) -> Result<Background, String> {
    let direction = from.text("background.direction")?;
    Ok(Background {
        up: matches!(direction.as_str(), "up" | "both"),
        down: matches!(direction.as_str(), "down" | "both"),
        bps: from.bps("background.mbps")?.max(1),
        frame: from.int("background.bytes")?,
        class: from.int("background.class")?,
    })
}

fn user(from: &Reader<'_>) -> Result<User, String> {
    Ok(match from.text("user.kind")?.as_str() {
        "udp" => User::Udp {
            bps: from.bps("user.mbps")?.max(10_000),
            bytes: from.int("user.bytes")?,
            timer_ps: match from.text("user.timer")?.as_str() {
                "100ms" => 100 * MS,
                "1ms" => MS,
                _ => 0,
            },
        },
        "ping" => {
            User::Ping { bytes: from.int("user.bytes")?, interval_ps: from.span_ps("user.interval")?.max(US) }
        }
        _ => User::None,
    })
}

/// Downlink and uplink of the radio, if there is one.
fn air(from: &Reader<'_>) -> Result<Option<(Air, Air)>, String> {
    if !from.flag("air.on")? {
        return Ok(None);
    }
    let error_ppm = (from.number("air.bler")? * 1e6).round() as u32;
    let down = Air { error_ppm, ..Air::lte_5_mhz_downlink() };
    Ok(Some((down, Air { error_ppm, ..Air::lte_5_mhz_uplink() })))
}

fn net(from: &Reader<'_>) -> Result<Net, String> {
    let cut: u32 = from.int("net.cut_through_bytes")?;
    Ok(Net {
        midhaul_switches: from.int("net.midhaul_switches")?,
        backhaul_switch: from.flag("net.backhaul_switch")?,
        forwarding_ps: from.span_ps("net.forwarding")?,
        cut_through_bytes: (cut > 0).then_some(cut),
        rate_bps: from.bps("net.mbps")?,
        metres: from.int("net.metres")?,
        mtu: from.int("net.mtu")?,
        queue_bytes: from.int("net.queue_bytes")?,
    })
}

fn contention(from: &Reader<'_>) -> Result<Option<(Ps, Ps, Ps)>, String> {
    let (share, period) = (from.number("cu.busy_share")?, from.span_ps("cu.busy_period")?);
    let busy = (period as f64 * share) as Ps;
    if busy == 0 {
        return Ok(None);
    }
    if busy >= period || period > S {
        return Err("`cu.busy_share` leaves no time, or `cu.busy_period` is longer than 1s".to_owned());
    }
    Ok(Some((period, busy, 0)))
}
