//! What `ranlab load upf` is told.
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use clap::ValueEnum;
use ranlab_emulator::load::{
    Arrivals, LoadConfig, LoadError, Loop, Mode, N3Io, Network, Traffic, default_smf,
};
use ranlab_machines::n4::{Dialect, Retransmission, SessionProfile};
use ranlab_wire::pfcp::BitRates;

use crate::args;
use crate::exit::Failure;
use crate::upf::dialect;

/// Arguments of `load upf`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples (with `ranlab upf` in another terminal):
  ranlab load upf --mode control --window 64 --duration 10s
  ranlab load upf --mode control --arrivals poisson --rate 2000 --duration 30s --live 10000
  ranlab load upf --mode sessions --sessions 1000 --uplink 50000 --reflect-every 1
  ranlab load upf --mode qos --mbr 10M --offered 7M,12M,30M --n6 udp://127.0.0.10:2153,127.0.0.8:2153
  ranlab load upf --mode calibrate
The data network is ours with --n6 udp://LOCAL,UPF (as `ranlab upf --n6 udp://UPF,LOCAL`) or --n6 routed://ADDRESS
where the kernel routes between UEs and that address; without it the UPF has to reflect for packets to be seen.")]
pub struct UpfArguments {
    /// What to do
    #[arg(long, value_enum, default_value_t = ModeName::Control)]
    mode: ModeName,
    /// all, or the data network alone (on another host)
    #[arg(long, value_enum, default_value_t = Role::All)]
    role: Role,
    /// The UPF's N4
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.8:8805")]
    n4: SocketAddr,
    /// The UPF's N3
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.8:2152")]
    n3: SocketAddr,
    /// Our data network: none, udp://LOCAL,UPF or routed://ADDRESS
    #[arg(long, value_parser = network, default_value = "none")]
    n6: Network,
    /// The first SMF; each further one has the next address. Keep port 8805, where some UPFs answer whichever port asked.
    /// Without this: 127.0.2.1:8805 for a UPF on loopback, else the address from which this machine reaches it
    #[arg(long, value_name = "ADDRESS")]
    smf: Option<SocketAddr>,
    /// SMFs, a thread and an association each
    #[arg(long, default_value_t = 1)]
    smfs: usize,
    /// The first base station; each further one has the next address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.1.1:2152")]
    gnb: SocketAddr,
    /// Base stations
    #[arg(long, default_value_t = 2)]
    gnbs: usize,
    /// Threads that send and receive packets
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// How base stations' packets leave and come in: sockets, or af-xdp[:DEVICE][,native][,zero-copy] past the kernel's stack
    #[arg(long, value_parser = n3_io, default_value = "sockets")]
    io: N3Io,
    /// CPUs, in the order SMF, data threads, data network
    #[arg(long, value_delimiter = ',')]
    pin: Vec<usize>,
    /// The first UE's address; each further one has the next (IPv6: /64)
    #[arg(long, default_value = "10.60.0.1")]
    ue: IpAddr,
    /// The server that UEs speak to; with routed:// it is that address
    #[arg(long, default_value = "10.45.0.1:9")]
    server: SocketAddr,
    /// What the UPF insists on: strict-rel15, strict-rel17, open5gs, eupf
    #[arg(long, value_parser = dialect, default_value = "strict-rel17")]
    dialect: Dialect,
    /// Data network name
    #[arg(long, default_value = "internet")]
    dnn: String,
    /// Maximum bit rate in each direction, as 10M or 500k; without it there is no QER
    #[arg(long, value_parser = bits_per_s)]
    mbr: Option<f64>,
    /// Usage reports at this many octets
    #[arg(long)]
    volume_threshold: Option<u64>,
    /// How sessions begin (control)
    #[arg(long, value_enum, default_value_t = ArrivalsName::Closed)]
    arrivals: ArrivalsName,
    /// Sessions (control), handovers or pages per second
    #[arg(long, default_value_t = 1000.0)]
    rate: f64,
    /// Sessions per second at the end of a ramp
    #[arg(long)]
    rate_to: Option<f64>,
    /// Sessions of one burst
    #[arg(long, default_value_t = 100)]
    burst: u32,
    /// Cycles under way in a closed loop
    #[arg(long, default_value_t = 64)]
    window: usize,
    /// Cycles at most (control); sessions (all other modes)
    #[arg(long)]
    sessions: Option<u64>,
    /// Sessions that are established before and stay (control)
    #[arg(long, default_value_t = 0)]
    live: usize,
    /// Between a session's tunnel and its end (control)
    #[arg(long, value_parser = args::duration, default_value = "0s")]
    hold: Duration,
    /// How long (mixed: t1; qos: each rate)
    #[arg(long, value_parser = args::duration, default_value = "5s")]
    duration: Duration,
    /// mixed: sessions that come and go (n2)
    #[arg(long, default_value_t = 10)]
    dynamic: usize,
    /// mixed: one round (t2)
    #[arg(long, value_parser = args::duration, default_value = "1s")]
    round: Duration,
    /// mixed: before the first round
    #[arg(long, value_parser = args::duration, default_value = "5s")]
    lead: Duration,
    /// blind: between two messages
    #[arg(long, value_parser = args::duration, default_value = "100us")]
    delay: Duration,
    /// Uplink packets per second of all sessions together, or max
    #[arg(long, value_parser = packets_per_s)]
    uplink: Option<f64>,
    /// Downlink packets per second of all sessions together, or max
    #[arg(long, value_parser = packets_per_s)]
    downlink: Option<f64>,
    /// Octets of a user's IP packet
    #[arg(long, default_value_t = 100)]
    octets: usize,
    /// Every so many uplink packets one is to be reflected; 0: none
    #[arg(long, default_value_t = 100)]
    reflect_every: u64,
    /// qos: rates to offer, as 7M,12M,30M
    #[arg(long, value_delimiter = ',', value_parser = bits_per_s, default_values = ["7M", "12M", "30M"])]
    offered: Vec<f64>,
    /// T1: time without an answer
    #[arg(long, value_parser = args::duration, default_value = "1s")]
    t1: Duration,
    /// N1: further sendings; 0 turns retransmission off (but for the sessions' deletion when all is over)
    #[arg(long, default_value_t = 0)]
    n1: u8,
    /// Heartbeats before the first session and at this interval, which also notice a restart; 0s sends none
    #[arg(long, value_parser = args::duration, default_value = "1s")]
    heartbeat: Duration,
    /// Skip the packet in each direction that is sent before anything is measured
    #[arg(long)]
    no_smoke: bool,
    /// The UPF's process: its CPU time is reported beside the figures, and its end ends the run
    #[arg(long)]
    upf_pid: Option<u32>,
    /// Come as SMFs that have just started: most UPFs delete the sessions that earlier runs left behind
    #[arg(long)]
    anew: bool,
    /// Names the run and seeds its arrivals; without it, the time does
    #[arg(long)]
    run: Option<u32>,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ModeName {
    /// Sessions come and go, no packets
    Control,
    /// The same without waiting for any answer, at a fixed distance
    Blind,
    /// Sessions are set up, then send
    Sessions,
    /// Static sessions send while dynamic ones come and go
    Mixed,
    /// Sessions send and are handed over
    Handover,
    /// Sessions fall idle and are paged
    Paging,
    /// Rates below and above the maximum
    Qos,
    /// What this machine can do at best, and the generator beside it
    Calibrate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Role {
    All,
    DataNetwork,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ArrivalsName {
    /// A window of cycles, each ending begins the next
    Closed,
    /// At equal distances
    Constant,
    /// With exponential distances
    Poisson,
    /// So many at once
    Burst,
    /// From --rate to --rate-to over the duration
    Ramp,
}

fn network(text: &str) -> Result<Network, String> {
    let wrong = || {
        format!(
            "\"{text}\" is no data network of ours; allowed are none, udp://LOCAL,UPF and routed://ADDRESS"
        )
    };
    let address = |text: &str| text.parse().map_err(|_| wrong());
    if text == "none" {
        return Ok(Network::None);
    }
    if let Some(rest) = text.strip_prefix("udp://") {
        let (local, upf) = rest.split_once(',').ok_or_else(wrong)?;
        return Ok(Network::Ip { local: address(local)?, upf: address(upf)? });
    }
    text.strip_prefix("routed://").ok_or_else(wrong).and_then(address).map(Network::Routed)
}

fn n3_io(text: &str) -> Result<N3Io, String> {
    let wrong = || {
        format!(
            "\"{text}\" is no way for packets; allowed are sockets and af-xdp[:DEVICE][,native][,zero-copy]"
        )
    };
    if text == "sockets" {
        return Ok(N3Io::Sockets);
    }
    let mut parts = text.split(',');
    let first = parts.next().and_then(|first| first.strip_prefix("af-xdp")).ok_or_else(wrong)?;
    let interface = match first.strip_prefix(':') {
        Some(device) if !device.is_empty() => Some(device.to_owned()),
        None if first.is_empty() => None,
        _ => return Err(wrong()),
    };
    let (mut native, mut zero_copy) = (false, false);
    for part in parts {
        match part {
            "native" => native = true,
            // Which is the driver's as well.
            "zero-copy" => (native, zero_copy) = (true, true),
            _ => return Err(wrong()),
        }
    }
    Ok(N3Io::AfXdp { interface, native, zero_copy })
}

fn bits_per_s(text: &str) -> Result<f64, String> {
    let wrong = || format!("\"{text}\" is no bit rate; write a number and one of k, M, G, e.g. 10M");
    let (number, unit) = match text.chars().last() {
        Some('k') => (&text[..text.len() - 1], 1e3),
        Some('M') => (&text[..text.len() - 1], 1e6),
        Some('G') => (&text[..text.len() - 1], 1e9),
        _ => (text, 1.0),
    };
    let rate: f64 = number.parse().map_err(|_| wrong())?;
    if rate.is_finite() && rate > 0.0 { Ok(rate * unit) } else { Err(wrong()) }
}

fn packets_per_s(text: &str) -> Result<f64, String> {
    let wrong = || format!("\"{text}\" is no packet rate; allowed are a number above 0 and max");
    match text {
        "max" => Ok(f64::INFINITY),
        _ => text.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0).ok_or_else(wrong),
    }
}

/// Sessions where none are asked for.
const SESSIONS: u64 = 100;

impl UpfArguments {
    pub(super) fn mode(&self) -> ModeName {
        self.mode
    }

    pub(super) fn role(&self) -> Role {
        self.role
    }

    pub(super) fn sessions(&self) -> usize {
        usize::try_from(self.sessions.unwrap_or(SESSIONS)).unwrap_or(usize::MAX)
    }

    pub(super) fn window(&self) -> usize {
        self.window
    }

    pub(super) fn pins(&self) -> &[usize] {
        &self.pin
    }

    pub(super) fn upf_pid(&self) -> Option<u32> {
        self.upf_pid
    }

    /// The data network alone ends after the duration, which others may want longer.
    pub(super) fn role_duration(&self) -> Option<Duration> {
        (!self.duration.is_zero()).then_some(self.duration)
    }

    /// A closed loop of control messages, for the calibration.
    pub(super) fn control_config(&self, duration: Duration) -> Result<LoadConfig, Failure> {
        let begin = Loop::Closed { window: self.window };
        let mode = Mode::Control { begin, cycles: None, duration, hold: Duration::ZERO, live: 0 };
        Ok(LoadConfig { mode, smoke: false, ..self.config()? })
    }

    pub(super) fn config(&self) -> Result<LoadConfig, Failure> {
        if !(self.rate.is_finite() && self.rate > 0.0) {
            return Err(Failure::Usage(format!("--rate {} is not above 0", self.rate)));
        }
        let kbps = |rate: f64| (rate / 1e3).round() as u64;
        let traffic = |rate: Option<f64>| {
            rate.map(|packets_per_s| Traffic {
                packets_per_s,
                octets: self.octets,
                reflect_every: self.reflect_every,
            })
        };
        let packets = matches!(
            self.mode,
            ModeName::Sessions | ModeName::Mixed | ModeName::Handover | ModeName::Paging | ModeName::Qos
        );
        let server = match self.n6 {
            Network::Routed(address) => address,
            _ => self.server,
        };
        if self.io != N3Io::Sockets && (self.role == Role::DataNetwork || self.mode == ModeName::Calibrate) {
            let why = "--io af-xdp is for base stations, which neither --role data-network nor --mode calibrate has";
            return Err(Failure::Usage(why.to_owned()));
        }
        if server.is_ipv4() != self.ue.is_ipv4() {
            let why = format!("UEs ({}) and their server ({server}) are of different IP versions", self.ue);
            return Err(Failure::Usage(why));
        }
        Ok(LoadConfig {
            n4: self.n4,
            n3: self.n3,
            smf: self.smf.map_or_else(|| default_smf(self.n4), Ok)?,
            smfs: self.smfs,
            gnb: self.gnb,
            gnbs: self.gnbs,
            threads: self.threads,
            pin: self.pin.clone(),
            network: self.n6,
            server,
            ue: self.ue,
            dialect: self.dialect,
            profile: SessionProfile {
                dnn: self.dnn.clone(),
                upf_n3: self.n3.ip(),
                ipv6: self.ue.is_ipv6(),
                mbr: self.mbr.map(|rate| BitRates { uplink_kbps: kbps(rate), downlink_kbps: kbps(rate) }),
                volume_threshold: self.volume_threshold,
                buffer: self.mode == ModeName::Paging,
                ..SessionProfile::default()
            },
            retransmission: Retransmission { t1: self.t1, n1: self.n1 },
            window: 1 << 16,
            heartbeat: (!self.heartbeat.is_zero()).then_some(self.heartbeat),
            n3_io: self.io.clone(),
            uplink: traffic(self.uplink.or_else(|| (packets && self.downlink.is_none()).then_some(1_000.0))),
            downlink: traffic(self.downlink),
            smoke: !self.no_smoke && self.mode != ModeName::Calibrate,
            run: self.run.unwrap_or_else(|| ranlab_net::monotonic_ns() as u32),
            upf_pid: self.upf_pid,
            anew: self.anew,
            mode: self.load_mode()?,
        })
    }

    fn load_mode(&self) -> Result<Mode, Failure> {
        let (sessions, duration, rate) = (self.sessions(), self.duration, self.rate);
        Ok(match self.mode {
            ModeName::Calibrate | ModeName::Control => Mode::Control {
                begin: self.begin()?,
                cycles: self.sessions,
                duration,
                hold: self.hold,
                live: self.live,
            },
            ModeName::Blind => Mode::Blind { delay: self.delay, sessions: self.sessions.unwrap_or(SESSIONS) },
            ModeName::Sessions => Mode::Sessions { sessions, duration },
            ModeName::Mixed => {
                let (dynamic, round, lead) = (self.dynamic, self.round, self.lead);
                Mode::Mixed { fixed: sessions, dynamic, duration, round, lead }
            }
            ModeName::Handover => Mode::Handover { sessions, rate, duration },
            ModeName::Paging => Mode::Paging { sessions, rate, duration },
            ModeName::Qos => {
                // One session unless said otherwise: the maximum is each one's.
                let sessions = if self.sessions.is_some() { sessions } else { 1 };
                Mode::Qos { offered_bps: self.offered.clone(), sessions, duration }
            }
        })
    }

    fn begin(&self) -> Result<Loop, Failure> {
        if self.window == 0 {
            return Err(Failure::from(LoadError::Bounds {
                what: "cycles under way",
                given: 0,
                least: 1,
                most: 1 << 16,
            }));
        }
        let rate = self.rate;
        Ok(match self.arrivals {
            ArrivalsName::Closed => Loop::Closed { window: self.window },
            ArrivalsName::Constant => Loop::Open(Arrivals::Constant { rate }),
            ArrivalsName::Poisson => Loop::Open(Arrivals::Poisson { rate }),
            ArrivalsName::Burst => Loop::Open(Arrivals::Burst { rate, size: self.burst }),
            ArrivalsName::Ramp => {
                let to = self.rate_to.unwrap_or(rate * 2.0);
                Loop::Open(Arrivals::Ramp { from: rate, to, over: self.duration })
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_or_the_allowed_forms_are_named() {
        assert_eq!(bits_per_s("10M"), Ok(1e7));
        assert_eq!(bits_per_s("0.5k"), Ok(500.0));
        assert_eq!(packets_per_s("max"), Ok(f64::INFINITY));
        for text in ["", "M", "-1M", "0", "infM", "10m"] {
            assert!(bits_per_s(text).unwrap_err().contains("10M"), "{text}");
        }
        assert!(packets_per_s("inf").unwrap_err().contains("max"));
        let af_xdp = |interface: Option<&str>, native, zero_copy| {
            Ok(N3Io::AfXdp { interface: interface.map(str::to_owned), native, zero_copy })
        };
        assert_eq!(n3_io("sockets"), Ok(N3Io::Sockets));
        assert_eq!(n3_io("af-xdp"), af_xdp(None, false, false));
        assert_eq!(n3_io("af-xdp:n3,native"), af_xdp(Some("n3"), true, false));
        assert_eq!(n3_io("af-xdp,zero-copy"), af_xdp(None, true, true));
        for text in ["", "socket", "af-xdp:", "af-xdpn3", "af-xdp:n3,fast", "sockets,native"] {
            assert!(n3_io(text).unwrap_err().contains("af-xdp[:DEVICE]"), "{text}");
        }
        assert!(network("tcp://x").unwrap_err().contains("routed"));
    }
}
