//! Runs ping and iperf3 in addition to our own probe. Parses their output, and measures the delays of iperf3's packets with kernel time
//! stamps.

use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ranlab_net::stamped::{open_tap, real_ns, receive_stamped, stamp_received, urgent_thread};
use ranlab_packet::EtherType;
use ranlab_xhaul::Delays;
use serde::{Deserialize, Serialize};

use super::topology::{LiveTopology, MIDHAUL, in_namespace};
use super::traffic::{BUFFER_BYTES, PRIORITIES, WAIT, datagram};
use ranlab_lab::child::Child;
use ranlab_lab::environment;
use ranlab_lab::worker::ComponentError;

/// UDP port of the iperf3 server.
const PORT: u16 = 5301;
/// Time that a program may run after the end of the window.
const GRACE: Duration = Duration::from_secs(3);
/// Maximum length of the output that is read, in bytes.
const OUTPUT_BYTES_MAX: usize = 1 << 20;
/// Polling interval while waiting for the exit of the program.
const POLL: Duration = Duration::from_millis(10);
/// Time that iperf3's server needs until it listens. A client that finds no server also waits this long before it retries.
const LISTENING: Duration = Duration::from_millis(200);
const ATTEMPTS: u32 = 5;

/// An additional measuring program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// Echoes from the DU to the server.
    Ping {
        /// Bytes after the ICMP header.
        bytes: u32,
        /// Interval between two requests, in nanoseconds.
        interval_ns: u64,
        /// Number of requests.
        count: u64,
    },
    /// UDP from the server to the DU.
    Iperf3 {
        /// Payload rate, in bit/s.
        bps: u64,
        /// Payload of a packet, in bytes.
        bytes: u32,
        /// Duration, in seconds.
        seconds: u64,
    },
}

/// Results of a program as (metric, value) pairs, or an error message.
pub(super) type ToolResult = Result<Vec<(&'static str, f64)>, String>;

impl Tool {
    fn program(&self) -> &'static str {
        match self {
            Self::Ping { .. } => "ping",
            Self::Iperf3 { .. } => "iperf3",
        }
    }

    /// Checks that the program is installed. The error states how to install it.
    pub(super) fn find(&self) -> Result<(), ComponentError> {
        let program = self.program();
        let package = if program == "ping" { "iputils-ping" } else { "iperf3" };
        let mut command = Command::new(program);
        let version = if program == "ping" { "-V" } else { "--version" };
        let found = command.arg(version).stdout(Stdio::null()).stderr(Stdio::null()).status();
        found.map(drop).map_err(|error| {
            environment(format!(
                "`live.{program}`: the command `{program}` does not run ({error}): install {package}"
            ))
        })
    }

    /// Returns the client's command line. `to` is the address of the server.
    fn words(&self, to: Ipv4Addr) -> Vec<String> {
        let text = match self {
            Self::Ping { bytes, interval_ns, count } => {
                let interval = *interval_ns as f64 / 1e9;
                format!("ping -n -q -c {count} -i {interval} -W 1 -s {bytes} {to}")
            }
            Self::Iperf3 { bps, bytes, seconds } => {
                format!("iperf3 -c {to} -p {PORT} -u -b {bps} -l {bytes} -t {seconds} -i 0 --json")
            }
        };
        text.split(' ').map(str::to_owned).collect()
    }

    /// Starts the program. The returned thread ends with the program, at the latest a few seconds after `go` is cleared.
    pub(super) fn begin(
        &self,
        lab: &LiveTopology,
        go: &Arc<AtomicBool>,
    ) -> Result<JoinHandle<ToolResult>, ComponentError> {
        let (from, to) = match self {
            Self::Ping { .. } => ("du", "server"),
            Self::Iperf3 { .. } => ("server", "du"),
        };
        let from = lab.get(from)?.clone();
        let to = lab.get(to)?.clone();
        let tool = self.clone();
        let go = Arc::clone(go);
        Ok(std::thread::spawn(move || {
            let client = || run(&from.namespace, &tool.words(to.ip), &go);
            match &tool {
                Self::Ping { .. } => ping(&client()?),
                Self::Iperf3 { .. } => {
                    let words = format!("iperf3 -s -1 -p {PORT} -B {}", to.ip);
                    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
                    let mut server = spawn(&to.namespace, &words)?;
                    let result = (0..ATTEMPTS).find_map(|attempt| {
                        std::thread::sleep(LISTENING);
                        let result = client().and_then(|text| iperf3(&text));
                        let refused = result.as_ref().is_err_and(|why| why.contains("refused"));
                        (!refused || attempt + 1 == ATTEMPTS).then_some(result)
                    });
                    server.end();
                    result.unwrap_or_else(|| Err("iperf3: no attempt was made".to_owned()))
                }
            }
        }))
    }
}

fn spawn(namespace: &str, words: &[String]) -> Result<Child, String> {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]).args(words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // The program belongs to the worker's process group and is killed with the group.
    Child::start(&mut command).map_err(|error| format!("{}: {error}", words.join(" ")))
}

/// Runs the program and returns its output.
fn run(namespace: &str, words: &[String], go: &AtomicBool) -> Result<String, String> {
    let message = |what: &str| format!("`{}`: {what}", words.join(" "));
    let mut child = spawn(namespace, words)?;
    let outputs = [child.lines(OUTPUT_BYTES_MAX), child.complaints(OUTPUT_BYTES_MAX)];
    let texts = std::thread::spawn(move || outputs.map(|lines| text(lines.into_iter().flatten())));
    let mut over: Option<Instant> = None;
    while child.ended().is_none() {
        std::thread::sleep(POLL);
        if !go.load(Ordering::Relaxed) && over.get_or_insert_with(Instant::now).elapsed() > GRACE {
            return Err(message("the program still ran after the end of the measurement"));
        }
    }
    let [printed, complained] = texts.join().unwrap_or_default();
    if printed.trim().is_empty() { Err(message(complained.trim())) } else { Ok(printed) }
}

/// Joins lines to a text, up to a length that these programs never reach.
fn text(lines: impl Iterator<Item = std::io::Result<String>>) -> String {
    lines.map_while(Result::ok).fold(String::new(), |mut text, line| {
        if text.len() < OUTPUT_BYTES_MAX {
            text = text + &line + "\n";
        }
        text
    })
}

/// Parses ping's summary: `5 packets transmitted, 4 received, ...`, `rtt min/avg/max/mdev = 0.038/0.052/0.065/0.008 ms`. BusyBox prints no
/// `mdev`; then the result has no standard deviation.
fn ping(text: &str) -> ToolResult {
    let unknown =
        || format!("ping: its output has no summary: {:?}", text.chars().take(200).collect::<String>());
    let count = |before: &str| -> Option<f64> {
        let head = text.split(before).next().filter(|head| head.len() < text.len())?;
        head.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let sent = count(" packets transmitted").ok_or_else(unknown)?;
    let got = count(" received").or_else(|| count(" packets received")).ok_or_else(unknown)?;
    let mut found = vec![("ping.sent", sent), ("ping.lost_ratio", 1.0 - got / sent.max(1.0))];
    let times = text.split("min/avg/max").nth(1).and_then(|rest| rest.split(" = ").nth(1));
    let times = times.and_then(|rest| rest.split(' ').next()).unwrap_or("");
    let names = ["ping.rtt_ms_min", "ping.rtt_ms", "ping.rtt_ms_max", "ping.rtt_ms_mdev"];
    found.extend(names.into_iter().zip(times.split('/').map_while(|word| word.trim().parse::<f64>().ok())));
    Ok(found)
}

/// Parses the receiver's results in iperf3's JSON output.
fn iperf3(text: &str) -> ToolResult {
    let json: serde_json::Value = serde_json::from_str(text).map_err(|error| format!("iperf3: {error}"))?;
    if let Some(why) = json.get("error").and_then(serde_json::Value::as_str) {
        return Err(format!("iperf3: {why}"));
    }
    // Older versions store the receiver's results in `sum`.
    let end = &json["end"];
    let received = end.get("sum_received").filter(|sum| sum.get("jitter_ms").is_some());
    let sum = received.unwrap_or_else(|| &end["sum"]);
    let number = |name: &str| {
        let value = sum.get(name).and_then(serde_json::Value::as_f64);
        value.ok_or_else(|| format!("iperf3: its result has no `{name}`"))
    };
    Ok(vec![
        ("iperf3.sent", number("packets")?),
        ("iperf3.lost_ratio", number("lost_percent")? / 100.0),
        ("iperf3.jitter_ms", number("jitter_ms")?),
        ("iperf3.mbps", number("bits_per_second")? / 1e6),
    ])
}

/// Observes iperf3's packets at the DU with kernel time stamps.
pub(super) struct PacketCapture(Arc<OwnedFd>);

impl PacketCapture {
    pub(super) fn open(lab: &LiveTopology) -> Result<Self, ComponentError> {
        in_namespace(&lab.get("du")?.namespace, || {
            let socket = open_tap(MIDHAUL, EtherType::IPV4.0).map_err(environment)?;
            stamp_received(&socket, BUFFER_BYTES, WAIT).map_err(environment)?;
            Ok(Self(Arc::new(socket)))
        })
    }

    /// Observes packets until `go` is cleared.
    pub(super) fn watch(&self, go: &Arc<AtomicBool>) -> JoinHandle<Delays> {
        let socket = Arc::clone(&self.0);
        let go = Arc::clone(go);
        // Offset between the clock that iperf3 uses and the clock of kernel stamps.
        let between_ns = real_ns().saturating_sub(ranlab_net::monotonic_ns());
        std::thread::spawn(move || {
            let _ = urgent_thread(PRIORITIES.0);
            let mut delays = Delays::new();
            let mut room = vec![0; 65_536];
            while go.load(Ordering::Relaxed) {
                let Ok(stamped) = receive_stamped(&*socket, &mut room) else { continue };
                let Some((.., PORT, payload)) = datagram(&room[..stamped.bytes]) else { continue };
                let Some((sequence, sent_ns)) = mark(payload) else { continue };
                // iperf3 versions before about 3.8 stamp with the time of day.
                let wall = sent_ns > between_ns;
                let at_ns = if wall { stamped.at_ns } else { stamped.at_ns.saturating_sub(between_ns) };
                let start = if wall { between_ns } else { 0 };
                delays.record(sequence, (sent_ns - start) * 1000, (at_ns.saturating_sub(start)) * 1000, None);
            }
            delays
        })
    }
}

/// Parses iperf3's datagram header: seconds, microseconds, sequence number; in network byte order.
fn mark(payload: &[u8]) -> Option<(u64, u64)> {
    let word = |at: usize| Some(u64::from(u32::from_be_bytes(payload.get(at..at + 4)?.try_into().ok()?)));
    let seconds = word(0)?;
    let micros = word(4)?;
    let number = word(8)?;
    // The first datagram requests the connection and carries no header.
    (micros < 1_000_000 && number < 1 << 31).then_some((number, seconds * 1_000_000_000 + micros * 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PING: &str = "PING 10.78.0.1 (10.78.0.1) 956(984) bytes of data.\n\n--- 10.78.0.1 ping statistics ---\n\
        50 packets transmitted, 48 received, 4% packet loss, time 222ms\nrtt min/avg/max/mdev = 0.038/0.052/0.065/0.008 ms\n";
    const BUSYBOX: &str = "--- 10.78.0.1 ping statistics ---\n3 packets transmitted, 3 packets received, 0% packet loss\n\
        round-trip min/avg/max = 0.045/0.060/0.071 ms\n";
    const IPERF3: &str = r#"{"start": {"version": "iperf 3.12"}, "intervals": [], "end": {"streams": [],
        "sum": {"bits_per_second": 8931166.7, "jitter_ms": 0.0228, "lost_packets": 7, "packets": 700, "lost_percent": 1, "sender": true},
        "sum_sent": {"bits_per_second": 8931166.7, "jitter_ms": 0, "lost_packets": 0, "packets": 700, "lost_percent": 0, "sender": true},
        "sum_received": {"bits_per_second": 8895208.1, "jitter_ms": 0.0228, "lost_packets": 7, "packets": 700, "lost_percent": 1, "sender": false}}}"#;

    fn close(found: &ToolResult, name: &str, value: f64) {
        let found = found.iter().flatten().find(|(of, _)| *of == name);
        assert!(found.is_some_and(|(_, found)| (found - value).abs() < 1e-6), "{name}: {found:?}");
    }

    #[test]
    fn ping_summary_parses() {
        let found = ping(PING);
        close(&found, "ping.sent", 50.0);
        close(&found, "ping.lost_ratio", 0.04);
        for (name, value) in [("", 0.052), ("_min", 0.038), ("_max", 0.065), ("_mdev", 0.008)] {
            close(&found, &format!("ping.rtt_ms{name}"), value);
        }
        let found = ping(BUSYBOX);
        close(&found, "ping.rtt_ms_max", 0.071);
        close(&found, "ping.lost_ratio", 0.0);
        assert!(!found.unwrap().iter().any(|(name, _)| name.ends_with("mdev")));
        let none = ping("5 packets transmitted, 0 received, 100% packet loss, time 4ms\n");
        close(&none, "ping.lost_ratio", 1.0);
        assert_eq!(none.unwrap().len(), 2);
        assert!(ping("ping: unknown host").unwrap_err().contains("unknown host"));
    }

    #[test]
    fn iperf3_result_parses() {
        let found = iperf3(IPERF3);
        close(&found, "iperf3.jitter_ms", 0.0228);
        close(&found, "iperf3.lost_ratio", 0.01);
        close(&found, "iperf3.mbps", 8.8952081);
        close(&found, "iperf3.sent", 700.0);
        let refused = r#"{"end": {}, "error": "unable to connect to server: Connection refused"}"#;
        assert!(iperf3(refused).unwrap_err().contains("refused"));
        assert!(iperf3(r#"{"end": {"sum": {}}}"#).unwrap_err().contains("packets"));
        assert!(iperf3("no json").is_err());
    }

    #[test]
    fn iperf3_datagram_header_parses() {
        let mut payload = vec![0; 1470];
        payload[..4].copy_from_slice(&12_u32.to_be_bytes());
        payload[4..8].copy_from_slice(&345_678_u32.to_be_bytes());
        payload[8..12].copy_from_slice(&9_u32.to_be_bytes());
        assert_eq!(mark(&payload), Some((9, 12_345_678_000)));
        // The first datagram contains a magic number, which is little endian on most machines.
        assert_eq!(mark(&0x3936_3735_u32.to_be_bytes()), None);
        payload[4..8].copy_from_slice(&1_000_000_u32.to_be_bytes());
        assert_eq!(mark(&payload), None);
    }

    #[test]
    fn command_lines_follow_scenario() {
        let to = Ipv4Addr::new(10, 78, 0, 1);
        let words = |tool: &Tool| tool.words(to).join(" ");
        let ping = Tool::Ping { bytes: 954, interval_ns: 20_000_000, count: 50 };
        assert_eq!(words(&ping), "ping -n -q -c 50 -i 0.02 -W 1 -s 954 10.78.0.1");
        let iperf3 = Tool::Iperf3 { bps: 9_000_000, bytes: 1470, seconds: 2 };
        assert_eq!(words(&iperf3), "iperf3 -c 10.78.0.1 -p 5301 -u -b 9000000 -l 1470 -t 2 -i 0 --json");
    }
}
