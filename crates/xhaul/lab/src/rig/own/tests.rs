//! Tests of network files: routes, patterns, gates, redundancy, errors.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ranlab_campaign::plan::Point;
use ranlab_campaign::record::{Recorder, Recording};
use ranlab_campaign::rig::{Outcome, Rig, RigError, Run};
use ranlab_campaign::value::Value;
use ranlab_lab::RigContext;
use ranlab_lab::experiment::fake;
use ranlab_lab::experiment::harness::{Experiment, RunningExperiment};
use ranlab_packet::pcap::{LinkType, PcapngWriter};
use ranlab_packet::{EtherType, Mac, write_ethernet};
use ranlab_xhaul::cus::{Application, ControlPlane, sequence_id};
use ranlab_xhaul::ecpri::{Message, Stream};

use super::draw;
use crate::rig::Xhaul;
use crate::rig::setup::Setup;

/// Temporary folder with the files of a test. It is removed when the value is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let path = std::env::temp_dir().join(format!("ranlab-own-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        for (file, text) in files {
            std::fs::write(path.join(file), text).unwrap();
        }
        Self(path)
    }

    fn file(&self) -> String {
        self.0.join("network.toml").to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn settings(file: &str, set: &[(&str, Value)]) -> BTreeMap<String, Value> {
    let all = [&[("net.file", Value::Text(file.to_owned()))], set].concat();
    fake::point(&RunningExperiment::new(&RigContext::new("ranlab"), Xhaul), &all).settings
}

fn measure_for(
    file: &str,
    set: &[(&str, Value)],
    duration: Duration,
) -> (Result<Outcome, RigError>, Recording) {
    let point = Point { index: 0, axes: Vec::new(), settings: settings(file, set) };
    let run = Run::new(&point, 0, 7, duration);
    let mut recorder = Recorder::default();
    let mut rig = RunningExperiment::new(&RigContext::new("ranlab"), Xhaul);
    let outcome = rig.prepare(&run).and_then(|()| rig.measure(&run, &mut recorder));
    rig.tear_down();
    (outcome, recorder.finish())
}

/// Measures the network of a file for 20 ms, with the settings `set`.
fn measure(file: &str, set: &[(&str, Value)]) -> (Result<Outcome, RigError>, Recording) {
    measure_for(file, set, Duration::from_millis(20))
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

/// Measures the network of a file with this text. Returns the metrics.
fn of_text(name: &str, file: &str) -> BTreeMap<String, f64> {
    let folder = Folder::new(name, &[("network.toml", file)]);
    let (outcome, recording) = measure(&folder.file(), &[]);
    assert!(matches!(outcome, Ok(Outcome::Ok | Outcome::Degraded | Outcome::MissesBudget)), "{outcome:?}");
    recording.metrics
}

/// Returns the reason why a file is rejected.
fn refused(name: &str, file: &str) -> String {
    let folder = Folder::new(name, &[("network.toml", file)]);
    Xhaul.preview(&settings(&folder.file(), &[])).unwrap().unwrap_err()
}

const TABLES: &str = "[csv]\nlinks = \"links.csv\"\nstreams = \"streams.csv\"\n";
const LINKS: &str = "link,rate_bps,t_proc_ns,t_prop_ns\n10-1,1000000000,0,100\n1-11,1000000000,0,100\n";
const STREAMS: &str = "stream,src,dst,octets,period_ns,offset_ns,class\n0,10,11,130,1000000000,0,7\n";
const GATES: &str = "link,class,start_ns,end_ns,cycle_ns\n1-11,7,0,1040,97720\n";

#[test]
fn tsn_tool_tables_yield_expected_delays() {
    let gated = format!("{TABLES}gates = \"gates.csv\"\n");
    let files = [
        ("network.toml", gated.as_str()),
        ("links.csv", LINKS),
        ("streams.csv", STREAMS),
        ("gates.csv", GATES),
    ];
    let folder = Folder::new("tsn", &files);
    let (outcome, recording) = measure(&folder.file(), &[]);
    assert_eq!(outcome, Ok(Outcome::Ok));
    assert_eq!(recording.metrics["flow.stream_0.delay_us_max"], 98.86);
    let bound = recording.metrics["flow.stream_0.bound_us"];
    assert!((98.86..101.0).contains(&bound), "{bound}");
    std::fs::write(folder.0.join("network.toml"), TABLES).unwrap();
    let (_, recording) = measure(&folder.file(), &[("sut.scheduler", text("strict"))]);
    assert_eq!(recording.metrics["flow.stream_0.delay_us_max"], 2.28);
    assert_eq!(recording.metrics["flow.stream_0.bound_us"], 2.28);
    // Errors: an unknown column, and a gate of a link that does not exist.
    std::fs::write(folder.0.join("streams.csv"), STREAMS.replace("octets", "octet")).unwrap();
    let why = Xhaul.preview(&settings(&folder.file(), &[])).unwrap().unwrap_err();
    assert!(why.contains("unknown column `octet`; `octets` is the nearest"), "{why}");
}

#[test]
fn bridge_chain_delay_is_forwarding_plus_processing() {
    let file = "[[switches]]\nname = \"b1\"\n[[switches]]\nname = \"b2\"\n\
                [[links]]\na = \"x\"\nb = \"b1\"\nmetres = 0\n[[links]]\na = \"b1\"\nb = \"b2\"\nmetres = 0\n\
                [[links]]\na = \"b2\"\nb = \"y\"\nmetres = 0\n\
                [[flows]]\nname = \"f\"\nfrom = \"x\"\nto = \"y\"\nbytes = 512\nperiod = \"200us\"\nbudget = \"high25\"\n";
    let metrics = of_text("line", file);
    let of = |name: &str| metrics[&format!("flow.f.{name}")];
    assert_eq!(
        (of("delay_us_max"), of("delay_us_min"), of("pdv_us_max"), of("bound_us")),
        (16.48, 16.48, 0.0, 16.48)
    );
    assert_eq!((metrics["network.missed"], metrics["network.flows"], of("budget_us")), (0.0, 1.0, 25.0));
}

#[test]
fn frame_that_does_not_fit_its_window_waits() {
    let file = |offset: &str| {
        format!(
            "[[links]]\na = \"x\"\nb = \"y\"\nmetres = 0\n\
             [[ports]]\nfrom = \"x\"\nto = \"y\"\ngates = [{{open = [7], duration = \"10us\"}}, {{open = [0, 1], duration = \"90us\"}}]\n\
             [[flows]]\nname = \"f\"\nfrom = \"x\"\nto = \"y\"\nbytes = 792\nclass = 7\nperiod = \"10ms\"\noffset = \"{offset}\"\n"
        )
    };
    // The frame has 800 bytes with preamble, i.e. 6.4 us. It is released 5 us before the gate closes and arrives at 106.4 us.
    assert_eq!(of_text("window", &file("5us"))["flow.f.delay_us_max"], 101.4);
    assert_eq!(of_text("window-fits", &file("3600ns"))["flow.f.delay_us_max"], 6.4);
}

#[test]
fn patterns_send_expected_number_of_frames() {
    let flow = |more: &str| {
        format!(
            "[[links]]\na = \"x\"\nb = \"y\"\nmetres = 0\n[[flows]]\nname = \"f\"\nfrom = \"x\"\nto = \"y\"\n{more}\n"
        )
    };
    let sent = |name: &str, more: &str| of_text(name, &flow(more))["flow.f.sent"];
    assert_eq!(sent("periodic", "bytes = 1000\nperiod = \"1ms\"\ncount = 3"), 60.0);
    assert_eq!(sent("rate", "bytes = 1000\nmbps = 80.0"), 200.0);
    assert_eq!(sent("iperf", "pattern = \"iperf\"\nbytes = 1000\nmbps = 80.0"), 191.0);
    // 52 downlink and 16 uplink symbols of the 70 symbols in 2.5 ms, for 20 ms.
    assert_eq!(sent("tdd-down", "pattern = \"tdd\"\nbytes = 1000"), 52.0 * 8.0);
    assert_eq!(sent("tdd-up", "pattern = \"tdd\"\nbytes = 1000\ndirection = \"up\""), 16.0 * 8.0);
    let poisson = sent("poisson", "pattern = \"poisson\"\nbytes = 1000\nmbps = 80.0");
    assert!((140.0..260.0).contains(&poisson), "{poisson}");
    let trace = flow("trace = \"frames.csv\"");
    let files =
        [("network.toml", trace.as_str()), ("frames.csv", "time_ns,octets\n0,130\n5000,520\n5100,130\n")];
    let folder = Folder::new("trace", &files);
    let (outcome, recording) = measure(&folder.file(), &[]);
    let of = |name: &str| recording.metrics[&format!("flow.f.{name}")];
    // The third frame waits for the second frame and its gap: 4.16 + 0.096 - 0.1 + 1.04 us.
    assert_eq!((outcome, of("sent"), of("delay_us_max")), (Ok(Outcome::Ok), 3.0, 5.196));
    assert!(!recording.metrics.contains_key("flow.f.bound_us"));
}

/// Returns a ring of six switches with a CU and the DUs of twelve cells.
fn ring() -> String {
    let mut file = "[[rings]]\nname = \"s\"\nswitches = 6\nmbps = 100000\nmetres = 5000\n\
                    [[links]]\na = \"cu\"\nb = \"s1\"\nmbps = 400000\nmetres = 10\n"
        .to_owned();
    let splits = ["7.2x", "7.1", "2", "6", "7.1-if4p5", "8"];
    for index in 0..12 {
        let split = splits[index % 6];
        let carrier = if matches!(split, "7.2x" | "2" | "6") { "nr-100" } else { "lte-20" };
        let window =
            if split == "7.2x" { "t1a_up = \"330us\"\nt2a_up = [\"80us\", \"330us\"]\n" } else { "" };
        file += &format!(
            "[[cells]]\nname = \"du{index}\"\ncu = \"cu\"\nat = \"s{}\"\nmetres = {}\nlink_mbps = 25000\nsplit = \"{split}\"\n\
             carrier = \"{carrier}\"\npacing = \"spread\"\n{window}",
            index % 6 + 1,
            100 + 1500 * index
        );
    }
    file
}

#[test]
fn ring_with_mixed_splits_is_checked_and_simulated_quickly() {
    let folder = Folder::new("ring", &[("network.toml", &ring())]);
    let jumbo = [("net.mtu", Value::Int(9000)), ("sut.scheduler", text("strict"))];
    let begun = Instant::now();
    let preview = Xhaul.preview(&settings(&folder.file(), &jumbo)).unwrap().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert!(
        preview.contains("du11 UL") && preview.contains("s1>s2") && preview.contains("5125.1"),
        "{preview}"
    );
    let begun = Instant::now();
    let (outcome, recording) = measure_for(&folder.file(), &jumbo, Duration::from_millis(5));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let metrics = &recording.metrics;
    assert_eq!((metrics["network.flows"], metrics["network.lost"]), (24.0, 0.0), "{outcome:?}");
    assert!(metrics.contains_key("network.bound_of_budget"), "{metrics:?}");
    assert_eq!((metrics["flow.du0_dl.window_early"], metrics["flow.du2_dl.budget_us"]), (0.0, 1500.0));
}

#[test]
fn redundant_flow_loses_no_frame_in_cut_ring() {
    let file = "[[rings]]\nname = \"s\"\nswitches = 6\nmetres = 1000\n\
                [[links]]\na = \"du\"\nb = \"s3\"\n[[links]]\na = \"cu\"\nb = \"s1\"\n[[links]]\na = \"other\"\nb = \"s2\"\n\
                [[flows]]\nname = \"safe\"\nfrom = \"du\"\nto = \"cu\"\nbytes = 500\nperiod = \"100us\"\nclass = 6\npaths = 2\nbudget = \"high100\"\n\
                [[flows]]\nname = \"plain\"\nfrom = \"du\"\nto = \"cu\"\nbytes = 500\nperiod = \"100us\"\noffset = \"50us\"\nclass = 6\n\
                [[flows]]\nname = \"away\"\nfrom = \"other\"\nto = \"cu\"\nbytes = 500\nperiod = \"100us\"\n\
                [[cuts]]\na = \"s3\"\nb = \"s2\"\nfrom = \"5ms\"\nuntil = \"7ms\"\n";
    let metrics = of_text("cut", file);
    let of = |flow: &str, name: &str| metrics[&format!("flow.{flow}.{name}")];
    assert_eq!((of("safe", "sent"), of("safe", "lost"), of("safe", "duplicates")), (200.0, 0.0, 180.0));
    // The plain flow sends one frame each 100 us during the cut, from 5 to 7 ms.
    assert_eq!((of("plain", "lost"), of("away", "lost"), metrics["network.lost"]), (20.0, 0.0, 20.0));
    assert!(of("safe", "delay_us_max") > of("plain", "delay_us_max"));
    let why = refused("no-second", &file.replace("paths = 2", "paths = 3"));
    assert!(
        why.contains(
            "3 paths are required that share no link and no switch, but only 2 exist between s3 and s1"
        ),
        "{why}"
    );
}

#[test]
fn invalid_files_are_rejected_with_reason() {
    let link = "[[links]]\na = \"x\"\nb = \"y\"\n";
    let flow = "[[flows]]\nname = \"f\"\nfrom = \"x\"\nto = \"y\"\nbytes = 100\nperiod = \"1ms\"\n";
    for (index, (file, why)) in [
        (format!("{link}meters = 5\n{flow}"), "unknown key `meters`; `metres` is the nearest"),
        (format!("[[link]]\na = \"x\"\nb = \"y\"\n{flow}"), "unknown table `link`; `links` is the nearest"),
        (
            format!("{link}scheduler = \"strickt\"\n{flow}"),
            "unknown scheduler `strickt`; `strict` is the nearest",
        ),
        (format!("{link}scheduler = \"gates\"\n{flow}"), "needs a gate list"),
        (format!("{link}mbps = 0.5\n{flow}"), "`mbps` must be 1 to 800000, not 0.5"),
        (format!("{link}{flow}to2 = \"z\"\n"), "`flows` \"f\": unknown key `to2`"),
        (format!("{link}{}", flow.replace("\"y\"", "\"z\"")), "flow f names the node \"z\""),
        (format!("{link}{flow}budget = \"soon\"\n"), "a budget must be a time such as \"100us\""),
        (format!("{link}{flow}period2 = 1\n"), "unknown key `period2`; `period` is the nearest"),
        (format!("{link}{}", flow.replace("1ms", "1 fortnight")), "is not a time such as"),
        (link.to_owned(), "it has no cell, flow, stream or capture"),
        (
            format!("{link}[[cells]]\nname = \"c\"\ncu = \"x\"\ndu = \"y\"\nsplit = \"7.3\"\n"),
            "`split`: unknown value `7.3`",
        ),
        (
            format!(
                "{link}[[cells]]\nname = \"c\"\ncu = \"x\"\ndu = \"y\"\nsplit = \"2\"\nt1a_up = \"100us\"\n"
            ),
            "apply to split \"7.2x\", not to \"2\"",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let message = refused(&format!("wrong-{index}"), &file);
        assert!(message.contains(why), "{why}: {message}");
    }
    let folder = Folder::new("replaced", &[("network.toml", &format!("{link}{flow}"))]);
    let with = |key: &str, value: Value| Xhaul.preview(&settings(&folder.file(), &[(key, value)])).unwrap();
    assert!(
        with("cells.split", text("2")).unwrap_err().contains("`cells.split` does not apply with `net.file`")
    );
    assert!(with("sut.tier", text("live")).unwrap_err().contains("allowed: sim, bound"));
    assert!(with("net.mbps", Value::Float(100.0)).is_ok());
    let missing = Xhaul.preview(&settings("/no/such/network.toml", &[])).unwrap().unwrap_err();
    assert!(missing.contains("/no/such/network.toml cannot be read"), "{missing}");
}

#[test]
fn picture_shows_every_node_and_cut() {
    let cut = "[[cuts]]\na = \"s1\"\nb = \"s2\"\nfrom = \"1ms\"\n";
    let folder = Folder::new("picture", &[("network.toml", &format!("{}{cut}", ring()))]);
    let set = settings(&folder.file(), &[("net.mtu", Value::Int(9000))]);
    let point = Point { index: 0, axes: Vec::new(), settings: set };
    let run = Run::new(&point, 0, 0, Duration::ZERO);
    let own = super::read(&run, &Setup::read(&run).unwrap()).unwrap().unwrap();
    let svg = draw::svg(&own.topology, &own.network);
    assert!(Path::new(&folder.file()).exists() && svg.ends_with("</svg>\n"));
    for words in [">s6</text>", ">du11</text>", ">cu</text>", "stroke-dasharray", "24 flows"] {
        assert!(svg.contains(words), "{words}");
    }
}

#[test]
fn capture_of_a_fronthaul_becomes_flows() {
    // The simulation writes the capture, with four layers down and up.
    let folder = Folder::new("capture", &[]);
    let file = folder.0.join("ru.pcapng").to_string_lossy().into_owned();
    let set = [
        ("sut.sharing", text("none")),
        ("cells.split", text("7.2x")),
        ("cells.carrier", text("nr-100")),
        ("net.mbps", Value::Float(25_000.0)),
        ("net.mtu", Value::Int(9000)),
        ("sim.pcap", text(&file)),
    ];
    let point = fake::point(&RunningExperiment::new(&RigContext::new("ranlab"), Xhaul), &set);
    let run = Run::new(&point, 0, 7, Duration::from_millis(10));
    let mut rig = RunningExperiment::new(&RigContext::new("ranlab"), Xhaul);
    rig.prepare(&run).and_then(|()| rig.measure(&run, &mut Recorder::default())).unwrap();
    let network = "[[links]]\na = \"du\"\nb = \"ru\"\nmbps = 25000\n\
                   [[captures]]\nname = \"site\"\nfile = \"ru-0.pcapng\"\ndu = \"du\"\nru = \"ru\"\nbudget = \"high100\"\n";
    std::fs::write(folder.file(), network).unwrap();
    let preview = Xhaul.preview(&settings(&folder.file(), &[])).unwrap().unwrap();
    assert!(
        preview.contains("site 0x0003 U DL: 208 frames of 7680 to 7680 bytes in the capture"),
        "{preview}"
    );
    assert!(preview.contains("mantissa 9 bits, arrivals within ") && !preview.contains("gaps"), "{preview}");
    let (outcome, recording) = measure(&folder.file(), &[]);
    assert_eq!((outcome, recording.metrics["network.flows"]), (Ok(Outcome::Ok), 8.0));
    // 52 downlink and 16 uplink symbols of the 70 symbols in 2.5 ms, for 10 ms.
    let sent = |flow: &str| recording.metrics[&format!("flow.{flow}.sent")];
    assert_eq!((sent("site_0x0000_u_dl"), sent("site_0x0002_u_ul")), (208.0, 64.0));
    std::fs::write(folder.0.join("ru-0.pcapng"), [0_u8; 40]).unwrap();
    let why = Xhaul.preview(&settings(&folder.file(), &[])).unwrap().unwrap_err();
    assert!(why.contains("the file is damaged after byte 0"), "{why}");
}

/// Time 2022-12-15, 12:22:48.144 UTC, in nanoseconds of the Unix epoch. Subframe 4 of frame 118 (modulo 256) begins at this time.
const AIR_NS: u64 = 1_671_106_968_144_000_000;

/// Writes a capture as if it were taken between a 20 MHz radio unit and its DU. Control messages have the highest priority, and each
/// schedules an uplink slot. The samples are uncompressed and have no compression header. The capture ends with a PTP frame.
fn site_capture(file: &Path, begin_ns: u64) {
    let out = std::fs::File::create(file).unwrap();
    let mut out = PcapngWriter::new(out).unwrap();
    out.interface(LinkType::ETHERNET, "tap").unwrap();
    let mac = |last| Mac([2, 0, 0, 0, 0, last]);
    let mut frame = |at_ns: u64, priority: u16, message: &Message<'_>| {
        let mut octets = write_ethernet(mac(1), mac(2), EtherType::VLAN).to_vec();
        octets.extend((priority << 13 | 100).to_be_bytes());
        octets.extend(ranlab_xhaul::ecpri::ETHERTYPE.to_be_bytes());
        message.encode(false, &mut octets).unwrap();
        octets.resize(octets.len().max(60), 0);
        out.packet(0, at_ns, &octets, octets.len()).unwrap();
    };
    for slot in 0..2_u64 {
        let at = Application { down: false, filter: 0, frame: 118, subframe: 4, slot: slot as u8, symbol: 0 };
        let mut data = Vec::new();
        ControlPlane::of_symbols(at, 14, 51, 16).encode(&mut data);
        let message = Message::RealTimeControl(Stream { id: 1, sequence: sequence_id(slot), data: &data });
        frame(begin_ns + slot * 500_000 - 5_000, 7, &message);
        for symbol in 0..14_u8 {
            let at = Application { symbol, ..at };
            let mut data = at.encode().to_vec();
            data.extend([0, 0, 0, 51]);
            data.extend((0..51 * 48).map(|index| (index * 37 % 251) as u8 | 1));
            let sequence = sequence_id(slot * 14 + u64::from(symbol));
            let message = Message::IqData(Stream { id: 1, sequence, data: &data });
            // The time is relative to the first symbol of the slot. The headers name the slot that begins at AIR_NS.
            let since = at.air_ns(2) - Application { slot: 0, symbol: 0, ..at }.air_ns(2);
            frame(begin_ns + since + 128_900, 0, &message);
        }
    }
    let sync = [write_ethernet(mac(1), mac(3), EtherType(0x88F7)).to_vec(), vec![0; 46]].concat();
    out.packet(0, begin_ns + 2_000_000, &sync, sync.len()).unwrap();
}

#[test]
fn capture_of_a_radio_unit_yields_flows_and_windows() {
    let folder = Folder::new("site", &[]);
    let network = |more: &str| {
        let text = format!(
            "[[links]]\na = \"du\"\nb = \"ru\"\nmbps = 10000\n\
             [[captures]]\nname = \"site\"\nfile = \"ru.pcapng\"\ndu = \"du\"\nru = \"ru\"\n{more}"
        );
        std::fs::write(folder.file(), text).unwrap();
        Xhaul.preview(&settings(&folder.file(), &[])).unwrap()
    };
    site_capture(&folder.0.join("ru.pcapng"), AIR_NS);
    let windows = "t2a_cp_ul = [\"2us\", \"100us\"]\nta4_up = [\"100us\", \"400us\"]\n";
    let outcome_text = network(windows).unwrap();
    for words in [
        "site: the capture's clock follows the radio frames (UTC)",
        "site: not part of a flow: 1 frames of other protocols",
        "site 0x0001 C UL: 2 frames of 64 to 64 bytes in the capture, 1.3 Mbit/s on the wire, priority 7, 5.0 to 5.0 us before their symbols",
        "site 0x0001 U UL: 28 frames of 2486 to 2486 bytes",
        "priority 0, samples of 16 bits, static, 128.9 to 128.9 us after the start of their symbols, control messages 133.9 to 133.9 us ahead",
    ] {
        assert!(outcome_text.contains(words), "{words}: {outcome_text}");
    }
    let (outcome, recording) = measure(&folder.file(), &[]);
    let of = |flow: &str, name: &str| recording.metrics[&format!("flow.site_0x0001_{flow}.{name}")];
    // Frames of the radio unit arrive after 2 us and the delay of a cable, well within 100 to 400 us. Control messages are sent 5 us before
    // their symbols, and must arrive at least 2 us before them. Their delay may therefore be up to 3 us.
    assert_eq!((outcome, recording.metrics["network.flows"]), (Ok(Outcome::Ok), 2.0));
    assert_eq!((of("c_ul", "budget_us"), of("u_ul", "budget_us")), (3.0, 271.1));
    assert_eq!((of("u_ul", "window_early"), of("u_ul", "window_late")), (0.0, 0.0));
    network("t2a_cp_ul = [\"4900ns\", \"100us\"]\n").unwrap();
    assert_eq!(measure(&folder.file(), &[]).0, Ok(Outcome::MissesBudget));
    for (more, why) in [
        (
            "spacing_khz = 15\n",
            "is for slot 1 of a subframe, but with `spacing_khz = 15` the number of slots is 1",
        ),
        ("spacing_khz = 20\n", "`spacing_khz` must be 15, 30, 60, 120 or 240, not 20"),
        ("ta4_up = [\"400us\", \"100us\"]\n", "the first time of `ta4_up` must be the earlier one"),
    ] {
        let outcome_text = network(more).unwrap_err();
        assert!(outcome_text.contains(why), "{why}: {outcome_text}");
    }
    // The clock is half a second off, so it matches neither UTC nor TAI.
    site_capture(&folder.0.join("ru.pcapng"), AIR_NS + 500_000_000);
    let outcome_text = network("").unwrap();
    assert!(
        outcome_text.contains("arrivals within 0.0 us of their symbols, control messages 133.9"),
        "{outcome_text}"
    );
    assert!(!outcome_text.contains("follows the radio frames"), "{outcome_text}");
    let why = network(windows).unwrap_err();
    assert!(why.contains("needs a capture whose clock follows the radio frames"), "{why}");
    std::fs::write(folder.0.join("ru.pcapng"), &std::fs::read(folder.0.join("ru.pcapng")).unwrap()[..9000])
        .unwrap();
    let why = network("").unwrap_err();
    assert!(why.contains("the file ends in the middle of a packet"), "{why}");
}
