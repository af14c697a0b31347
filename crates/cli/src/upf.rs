//! `ranlab upf`: a user plane function to load, to learn from, and to measure the measuring with.
use std::net::SocketAddr;
use std::time::Duration;

use clap::ValueEnum;
use ranlab_emulator::upf::{Design, N6, UpfConfig, UpfReport, UpfServer, XdpDevices, ntp_seconds};
use ranlab_machines::n4::{Dialect, MockSettings, UpfSettings};
use serde::Serialize;
use std::collections::BTreeMap;

use crate::args;
use crate::exit::Failure;
use crate::live;
use crate::output::{Format, Output};

/// UDP port of GTP-U.
const GTPU: u16 = ranlab_wire::gtpu::PORT;

/// Arguments of `upf`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab upf --n4 127.0.0.8:8805 --n3 127.0.0.8:2152 --n6 reflect\n  ranlab upf --n6 udp://127.0.0.8:2153,127.0.0.10:2153 --design software --workers 2\n  ranlab upf --service 1ms --loss-permille 10      # a mock whose behaviour is known"
)]
pub struct Arguments {
    /// Where SMFs speak to
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.8:8805")]
    n4: SocketAddr,
    /// Where base stations send to
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.8:2152")]
    n3: SocketAddr,
    /// The data network: sink, reflect, udp://LOCAL,PEER (IP packets in UDP), tun://NAME
    #[arg(long, value_parser = n6, default_value = "reflect")]
    n6: N6,
    /// Who does what
    #[arg(long, value_enum, default_value_t = DesignName::CpOffload)]
    design: DesignName,
    /// Workers of the design software
    #[arg(long, default_value_t = 1)]
    workers: usize,
    /// dp-offload: further time that each change of rules takes
    #[arg(long, value_parser = args::duration, default_value = "0s")]
    install: Duration,
    /// dp-offload: the data plane in the kernel (XDP), at these devices towards N3 and N6; what it cannot carry takes
    /// the way of --n6 (tun://…). Append ,native for the drivers' own mode
    #[arg(long, value_name = "N3,N6", value_parser = xdp)]
    xdp: Option<XdpDevices>,
    /// What it insists on: strict-rel15, strict-rel17, open5gs, eupf
    #[arg(long, value_parser = dialect, default_value = "strict-rel17")]
    dialect: Dialect,
    /// Sessions at most
    #[arg(long, default_value_t = 1 << 20)]
    max_sessions: usize,
    /// Answers held at most, to answer retransmissions with
    #[arg(long, default_value_t = 1 << 16)]
    held_answers: usize,
    /// mock: time that each PFCP message takes, one after the other
    #[arg(long, value_parser = args::duration, default_value = "0s")]
    service: Duration,
    /// mock: further time for each live session
    #[arg(long, value_parser = args::duration, default_value = "0s")]
    scan: Duration,
    /// mock: PFCP messages lost of a thousand
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1000))]
    loss_permille: u16,
    /// mock: PFCP messages that wait at most
    #[arg(long, default_value_t = 1 << 16)]
    queue: usize,
    /// mock: it dies after so many PFCP messages
    #[arg(long)]
    crash_after: Option<u64>,
    /// mock: it starts anew so long after it has died
    #[arg(long, value_parser = args::duration)]
    restart_after: Option<Duration>,
    /// CPUs, in the order control, workers
    #[arg(long, value_delimiter = ',')]
    pin: Vec<usize>,
    /// Spin instead of sleeping when there is nothing to do
    #[arg(long)]
    busy_poll: bool,
    /// Ends after so long; without it, at Ctrl-C
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DesignName {
    /// One polling worker runs PFCP and packets to completion
    CpOffload,
    /// A master receives all and hands it to workers
    Software,
    /// No UPF: sessions are accepted, packets passed on unread, which is the most that sockets allow
    Bare,
    /// A data thread apart; each rule is in before its answer goes out
    DpOffload,
}

/// `strict-rel15`, `strict-rel17`, `open5gs`, `eupf`.
pub fn dialect(text: &str) -> Result<Dialect, String> {
    Dialect::named(text).ok_or_else(|| {
        let known = Dialect::ALL.map(|dialect| dialect.name).join(", ");
        format!("\"{text}\" is no dialect; allowed are {known}")
    })
}

fn n6(text: &str) -> Result<N6, String> {
    let wrong = || {
        format!("\"{text}\" is no data network; allowed are sink, reflect, udp://LOCAL,PEER and tun://NAME")
    };
    if let Some(rest) = text.strip_prefix("udp://") {
        let (local, peer) = rest.split_once(',').ok_or_else(wrong)?;
        let address = |text: &str| text.parse().map_err(|_| wrong());
        return Ok(N6::Udp { local: address(local)?, peer: address(peer)? });
    }
    match (text, text.strip_prefix("tun://")) {
        ("sink", _) => Ok(N6::Sink),
        ("reflect", _) => Ok(N6::Reflect),
        (_, Some(name)) if !name.is_empty() => Ok(N6::Tun(name.to_owned())),
        _ => Err(wrong()),
    }
}

fn xdp(text: &str) -> Result<XdpDevices, String> {
    let parts: Vec<_> = text.split(',').map(str::to_owned).collect();
    match &parts[..] {
        [n3, n6, rest @ ..]
            if !n3.is_empty() && !n6.is_empty() && (rest.is_empty() || rest == ["native"]) =>
        {
            Ok(XdpDevices { n3: n3.clone(), n6: n6.clone(), native: !rest.is_empty() })
        }
        _ => Err(format!("\"{text}\" are no two devices; write N3,N6 or N3,N6,native")),
    }
}

#[derive(Debug, Serialize)]
struct Xdp {
    installed: u64,
    left: u64,
    refused: u64,
    uplink: u64,
    downlink: u64,
}

#[derive(Debug, Serialize)]
struct Listening {
    n4: SocketAddr,
    n3: SocketAddr,
    n6: Option<SocketAddr>,
}

#[derive(Debug, Serialize)]
struct Summary {
    requests: u64,
    refused: u64,
    duplicates: u64,
    silent: u64,
    unreadable: u64,
    mock_lost: u64,
    sessions_left: usize,
    n3_received: u64,
    n6_received: u64,
    uplink: u64,
    downlink: u64,
    buffered: u64,
    unknown_tunnels: u64,
    path_messages: u64,
    dropped: BTreeMap<&'static str, u64>,
    handoff_dropped: u64,
    unsent: u64,
    xdp: Option<Xdp>,
    cpu_s: f64,
    cpu_us_per_request: Option<f64>,
    rate_layer: &'static str,
}

impl From<UpfReport> for Summary {
    fn from(report: UpfReport) -> Self {
        let requests = report.requests.requests;
        Self {
            requests,
            refused: report.requests.refused,
            duplicates: report.requests.duplicates,
            silent: report.requests.silent,
            unreadable: report.requests.dropped,
            mock_lost: report.mock_lost,
            sessions_left: report.sessions,
            n3_received: report.packets.n3_received,
            n6_received: report.packets.n6_received,
            uplink: report.packets.uplink,
            downlink: report.packets.downlink,
            buffered: report.packets.buffered,
            unknown_tunnels: report.packets.unknown_tunnels,
            path_messages: report.packets.path_messages,
            dropped: report.drops().filter(|(_, count)| *count > 0).collect(),
            handoff_dropped: report.handoff_dropped,
            unsent: report.unsent,
            xdp: report.xdp.map(|xdp| Xdp {
                installed: xdp.installed,
                left: xdp.left,
                refused: xdp.refused,
                uplink: xdp.uplink.0,
                downlink: xdp.downlink.0,
            }),
            cpu_s: report.cpu.as_secs_f64(),
            cpu_us_per_request: (requests > 0).then(|| report.cpu.as_secs_f64() * 1e6 / requests as f64),
            rate_layer: ranlab_dataplane::upf::RATE_LAYER,
        }
    }
}

/// Runs the verb.
pub fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    let duration = arguments.duration;
    if arguments.xdp.is_some() && !matches!(arguments.design, DesignName::DpOffload) {
        return Err(Failure::Usage("--xdp is the data plane of --design dp-offload".to_owned()));
    }
    let server =
        UpfServer::start(config(arguments)).map_err(|error| Failure::Environment(error.to_string()))?;
    let mut output = Output::new(format);
    let listening = Listening { n4: server.n4(), n3: server.n3(), n6: server.n6() };
    output.text(format_args!("N4 {}  N3 {}  N6 {:?}", listening.n4, listening.n3, listening.n6))?;
    output.item(&listening)?;
    output.flush()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Environment(error.to_string()))?;
    runtime.block_on(live::end(duration));
    let report = server.stop().map_err(|error| Failure::Environment(error.to_string()))?;
    let summary = Summary::from(report);
    output.text(format_args!(
        "{} requests ({} refused), {} packets up, {} down, {} dropped, {} sessions left, {:.2} s CPU",
        summary.requests,
        summary.refused,
        summary.uplink,
        summary.downlink,
        summary.dropped.values().sum::<u64>(),
        summary.sessions_left,
        summary.cpu_s
    ))?;
    if let Some(xdp) = &summary.xdp {
        output.text(format_args!(
            "in the kernel: {} packets up, {} down; {} changes installed, {} left to the packet engine, {} refused",
            xdp.uplink, xdp.downlink, xdp.installed, xdp.left, xdp.refused
        ))?;
    }
    output.finish(&summary)
}

fn config(arguments: Arguments) -> UpfConfig {
    let design = match arguments.design {
        DesignName::CpOffload => Design::CpOffload,
        DesignName::Software => Design::Software { workers: arguments.workers },
        DesignName::Bare => Design::Bare,
        DesignName::DpOffload => Design::DpOffload { install: arguments.install },
    };
    UpfConfig {
        n4: arguments.n4,
        n3: arguments.n3,
        n6: arguments.n6,
        design,
        settings: UpfSettings {
            recovery_time_stamp: ntp_seconds(),
            max_sessions: arguments.max_sessions,
            held_answers: arguments.held_answers,
            recognise: true,
            ..UpfSettings::new(arguments.n3.ip(), arguments.dialect)
        },
        mock: MockSettings {
            service: arguments.service,
            scan_per_session: arguments.scan,
            queue: arguments.queue,
            loss_permille: arguments.loss_permille,
            crash_after: arguments.crash_after,
            seed: 1,
        },
        restart_after: arguments.restart_after,
        pin: arguments.pin,
        gtpu_port: GTPU,
        busy_poll: arguments.busy_poll,
        xdp: arguments.xdp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_network_is_read_or_the_allowed_ones_are_named() {
        assert_eq!(n6("sink"), Ok(N6::Sink));
        assert_eq!(n6("tun://upf0"), Ok(N6::Tun("upf0".to_owned())));
        let (local, peer) = ("127.0.0.8:1".parse().unwrap(), "127.0.0.9:2".parse().unwrap());
        assert_eq!(n6("udp://127.0.0.8:1,127.0.0.9:2"), Ok(N6::Udp { local, peer }));
        for text in ["", "udp://127.0.0.8:1", "tun://", "veth"] {
            assert!(n6(text).unwrap_err().contains("reflect"), "{text}");
        }
        assert!(dialect("rel15").unwrap_err().contains("strict-rel15, strict-rel17, open5gs, eupf"));
    }
}
