//! Tests of split-7.2x captures with independent decoders.

use super::*;

/// Writes a capture of split 7.2x and returns its path.
fn fronthaul_capture(name: &str, more: &[(&str, Value)]) -> String {
    let file = std::env::temp_dir().join(format!("ranlab-{name}-{}.pcapng", std::process::id()));
    let set = [
        ("sut.sharing", text("none")),
        ("cells.split", text("7.2x")),
        ("cells.carrier", text("nr-100")),
        ("net.mbps", Value::Float(25_000.0)),
        ("sim.pcap", text(&file.to_string_lossy())),
    ];
    assert_eq!(measure(&[&set[..], more].concat()).0, Ok(Outcome::Ok));
    file.with_extension("").to_string_lossy().into_owned() + "-0.pcapng"
}

#[test]
fn split_7_2x_capture_has_oran_user_plane_messages() {
    let file = fronthaul_capture("cus", &[("net.mtu", Value::Int(9000))]);
    let mut sequences = BTreeMap::new();
    let mut first = Vec::new();
    let read = ranlab_packet::pcap::read(std::fs::File::open(&file).unwrap(), |event| {
        let ranlab_packet::pcap::Event::Packet(packet) = event else { panic!("{event:?}") };
        let (message, rest) = ranlab_xhaul::ecpri::Message::decode(&packet.data[14..]).unwrap();
        let ranlab_xhaul::ecpri::Message::IqData(stream) = message else { panic!("{message:?}") };
        let (header, samples) = ranlab_xhaul::cus::UserPlane::decode(stream.data).unwrap();
        assert!(rest.is_none() && samples.len() == 273 * 28 && header.prbs == 0 && header.mantissa_bits == 9);
        // Sequence numbers are independent per layer and direction.
        let next: &mut u64 = sequences.entry((header.at.down, stream.id)).or_default();
        assert_eq!(stream.sequence, ranlab_xhaul::cus::sequence_id(*next));
        *next += 1;
        if first.len() < 5 && header.at.down {
            first.push((packet.data[14..32].to_vec(), header.at.symbol));
        }
    });
    std::fs::remove_file(&file).unwrap();
    read.unwrap();
    let ids: Vec<_> = sequences.keys().copied().collect();
    assert_eq!(ids, [false, true].map(|down| [0, 1, 2, 3].map(|layer| (down, layer))).concat());
    // Expected bytes: eCPRI header, then frame, subframe, slot and symbol 0, all PRBs, 9-bit block floating point.
    let octets = [0x10, 0, 0x1D, 0xEA, 0, 0, 0, 0x80, 0x90, 0, 0, 0, 0, 0, 0, 0, 0x91, 0];
    assert_eq!(first[0], (octets.to_vec(), 0));
    assert_eq!((first[3].0[5], first[4].0[5], first[4].0[6], first[4].1), (3, 0, 1, 1));
}

#[test]
fn tshark_decodes_captures_of_split_7_2x() {
    let version = std::process::Command::new("tshark").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        ranlab_host::doctor::skipped("no tshark on this machine");
        return;
    }
    for (name, mtu, mantissa_bits) in [("jumbo", 9000, 9), ("parts", 1500, 9), ("wide", 9000, 14)] {
        let set = [("net.mtu", Value::Int(mtu)), ("cells.mantissa_bits", Value::Int(mantissa_bits))];
        let file = fronthaul_capture(name, &set);
        let mut tshark = std::process::Command::new("tshark");
        tshark.args(["-r", &file, "-c", "100", "-T", "fields", "-E", "separator=;"]);
        let width = |way: &str| format!("oran_fh_cus.oran.iq_bitwidth_{way}:{mantissa_bits}");
        let header = |way: &str| format!("oran_fh_cus.oran.ud_comp_hdr_{way}:TRUE");
        for preference in [width("up"), width("down"), header("up"), header("down")] {
            tshark.args(["-o", &preference]);
        }
        let fields = ["ru_port_id", "numPrbu", "udCompHdrWidth"].map(|field| format!("oran_fh_cus.{field}"));
        for field in fields.iter().map(String::as_str).chain(["_ws.malformed", "_ws.expert.message"]) {
            tshark.args(["-e", field]);
        }
        let output = tshark.output().unwrap();
        std::fs::remove_file(&file).unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let why = || {
            format!(
                "{name}: {} {}",
                text.lines().take(8).collect::<Vec<_>>().join("\n"),
                String::from_utf8_lossy(&output.stderr)
            )
        };
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(';').collect()).collect();
        assert_eq!(lines.len(), 100, "{}", why());
        let ports: std::collections::BTreeSet<_> = lines.iter().map(|line| line[0]).collect();
        assert_eq!(ports.into_iter().collect::<Vec<_>>(), ["0", "1", "2", "3"], "{}", why());
        let width = mantissa_bits.to_string();
        assert!(lines.iter().all(|line| line[2] == width && line[3..] == ["", ""]), "{}", why());
        let whole = lines.iter().all(|line| line[1] == "0");
        assert_eq!(whole, name == "jumbo", "{}", why());
    }
}

/// Message of a capture as tshark decodes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Decoded {
    control: bool,
    down: bool,
    layer: u8,
    /// Numbers of frame, subframe and slot.
    slot: [u8; 3],
    first_symbol: u8,
    at_ns: u64,
}

#[test]
fn tshark_sees_control_messages_ahead_of_their_data() {
    let version = std::process::Command::new("tshark").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        ranlab_host::doctor::skipped("no tshark on this machine");
        return;
    }
    let set = [
        ("net.mtu", Value::Int(9000)),
        ("cells.pacing", text("spread")),
        ("cells.vlan", Value::Int(100)),
        ("cells.tcp_adv_dl", Value::Span(Duration::from_micros(125))),
    ];
    let file = fronthaul_capture("control", &set);
    let mut tshark = std::process::Command::new("tshark");
    tshark.args(["-r", &file, "-T", "fields", "-E", "separator=;"]);
    for way in ["up", "down"] {
        tshark.args(["-o", &format!("oran_fh_cus.oran.iq_bitwidth_{way}:9")]);
        tshark.args(["-o", &format!("oran_fh_cus.oran.ud_comp_hdr_{way}:TRUE")]);
    }
    let own =
        ["data_direction", "ru_port_id", "frameId", "subframe_id", "slotId", "startSymbolId", "symbolId"];
    let fields = own.map(|field| format!("oran_fh_cus.{field}"));
    let around =
        ["ecpri.type", "frame.time_epoch", "vlan.id", "vlan.priority", "_ws.malformed", "_ws.expert.message"];
    for field in around.into_iter().chain(fields.iter().map(String::as_str)) {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().unwrap();
    std::fs::remove_file(&file).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let decoded = text.lines().map(|line| {
        let cells: Vec<&str> = line.split(';').collect();
        assert_eq!(cells[2..6], ["100", "7", "", ""], "{line}");
        let number = |at: usize| cells[at].parse::<u8>().unwrap_or_else(|_| panic!("{at}: {line}"));
        let control = cells[0] == "0x02";
        let (seconds, nanos) = cells[1].split_once('.').unwrap();
        Decoded {
            control,
            down: number(6) == 1,
            layer: number(7),
            slot: [8, 9, 10].map(number),
            // Depending on its version, tshark uses a different field name in data messages.
            first_symbol: number(if cells[11].is_empty() { 12 } else { 11 }),
            at_ns: seconds.parse::<u64>().unwrap() * 1_000_000_000 + nanos.parse::<u64>().unwrap(),
        }
    });
    let all: Vec<Decoded> = decoded.collect();
    let of = |control, down| all.iter().filter(move |one| one.control == control && one.down == down);
    // Within 20 ms there are 8 DDDSU patterns. In each, 4 slots have downlink symbols and 2 slots have uplink symbols. There are 4 layers.
    assert_eq!((of(true, true).count(), of(true, false).count()), (128, 64));
    for data in of(false, true).filter(|data| data.first_symbol == 0) {
        let ahead = of(true, true).find(|one| one.layer == data.layer && one.slot == data.slot).unwrap();
        // A data message has longer frames and arrives later after its release: four frames of 2.5 us each, over two links.
        let lead_us = (data.at_ns - ahead.at_ns) / 1000;
        assert!((125..145).contains(&lead_us), "{lead_us} us: {ahead:?} {data:?}");
    }
    for data in of(false, false) {
        assert!(
            of(true, false)
                .any(|one| one.layer == data.layer && one.slot == data.slot && one.at_ns < data.at_ns)
        );
    }
}

#[test]
fn only_split_7_2x_has_control_messages() {
    let preview = |set: &[(&str, Value)]| {
        let point = fake::point(&RunningExperiment::new(&RigContext::new("ranlab"), Xhaul), set);
        Xhaul.preview(&point.settings).unwrap()
    };
    let ahead = |us| ("cells.tcp_adv_dl", Value::Span(Duration::from_micros(us)));
    let why = preview(&[("cells.split", text("7.1")), ahead(125)]).unwrap_err();
    assert!(why.contains("`cells.tcp_adv_dl` applies to split \"7.2x\", not to \"7.1\""), "{why}");
    let oran = [("cells.split", text("7.2x")), ("cells.carrier", text("nr-20"))];
    let why = preview(&[&oran[..], &[ahead(20_000)]].concat()).unwrap_err();
    assert!(why.contains("at most 10ms"), "{why}");
    let words = preview(&[&oran[..], &[ahead(125), ("cells.vlan", Value::Int(7))]].concat()).unwrap();
    assert!(words.contains("control cell1 DL") && words.contains("control cell1 UL"), "{words}");
}

#[test]
fn profiles_of_802_1cm_warn_about_ports_and_frames() {
    let warnings = |set: &[(&str, Value)]| {
        let common =
            [("cells.split", text("7.2x")), ("cells.carrier", text("nr-20")), ("sut.sharing", text("none"))];
        let point = fake::point(
            &RunningExperiment::new(&RigContext::new("ranlab"), Xhaul),
            &[&common[..], set].concat(),
        );
        let preview = Xhaul.preview(&point.settings).unwrap().unwrap();
        preview.lines().filter(|line| line.contains("of 802.1CM")).map(str::to_owned).collect::<Vec<_>>()
    };
    let a = ("cells.budget", text("802.1cm-a"));
    let b = ("cells.budget", text("802.1cm-b"));
    let scheduler = |name: &str| ("sut.scheduler", text(name));
    assert_eq!(warnings(&[a.clone(), scheduler("strict")]), Vec::<String>::new());
    assert_eq!(warnings(&[b.clone(), scheduler("preemption")]), Vec::<String>::new());
    assert!(
        warnings(&[a.clone(), scheduler("fifo")])[0]
            .contains("profile A of 802.1CM requires strict priority")
    );
    assert!(warnings(&[b, scheduler("strict")])[0].contains("profile B of 802.1CM requires preemption"));
    let jumbo = [
        a,
        scheduler("strict"),
        ("net.mtu", Value::Int(9000)),
        ("background.bytes", Value::Int(9000)),
        ("background.mbps", Value::Float(50.0)),
    ];
    let down = [&jumbo[..], &[("background.direction", text("down"))]].concat();
    assert!(
        warnings(&down)[0].contains("at most 2000 bytes, but background down has 9000"),
        "{:?}",
        warnings(&down)
    );
}
