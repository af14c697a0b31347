use super::*;
use crate::declare::{DropReason, Port, TcpFlags, Verdict};
use crate::engine::{BURST, Burst, Engine, Isa};
use crate::pipelines::Pipeline;
use crate::trace::frames::Packet;
use crate::trace::{Directions, Headers, Trace, Traffic};
use ranlab_packet::Protocol;
use std::fmt::Write;
use std::net::IpAddr;

mod inputs;

fn file(name: &str) -> String {
    let path = format!("{}/../../../docs/own-pipelines/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

fn edge(with: &[(&str, u64)]) -> Source {
    let text = file("edge.toml");
    let names = files("edge.toml", &text).unwrap();
    assert_eq!(names, [("edge.rules".to_owned(), FILTER_SET_BYTES_MAX)]);
    Source {
        file: "edge.toml".to_owned(),
        text,
        files: names.into_iter().map(|(name, _)| (name.clone(), file(&name))).collect(),
        with: with.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        ..Source::default()
    }
}

fn read_pipeline(text: &str) -> Result<Pipeline, OwnError> {
    let source = Source { file: "own.toml".to_owned(), text: text.to_owned(), ..Source::default() };
    Own::try_from(source).map(Pipeline::Own)
}

fn trace(pipeline: &Pipeline, packets: u64, seed: u64) -> Trace {
    let traffic = Traffic {
        pkt_num: packets,
        dir: Directions::Bidir,
        thread: 1,
        random_seed: seed,
        ..Traffic::default()
    };
    Trace::generate(pipeline, &traffic).unwrap()
}

/// Runs engine and oracle over a trace, with a changed byte in every third packet. Returns the number of packets by
/// verdict.
fn engine_equals_oracle(pipeline: &Pipeline, packets: u64, seed: u64, isa: Isa) -> BTreeMap<String, u64> {
    let (mut engines, _control) = Engine::start(&pipeline.build().unwrap(), 1, isa).unwrap();
    let mut oracle = pipeline.oracle().unwrap();
    let mut burst = Burst::new();
    let mut fates = BTreeMap::new();
    let mut random = Random::stream(seed, 3);
    let trace = trace(pipeline, packets, seed);
    let mut frames: Vec<_> = trace.iter().map(|(port, frame)| (port, frame.to_vec())).collect();
    for (_, frame) in frames.iter_mut().step_by(3) {
        let at = random.below(frame.len().min(70) as u64) as usize;
        frame[at] ^= 1 << random.below(8);
    }
    for (number, chunk) in frames.chunks_mut(BURST).enumerate() {
        chunk.sort_by_key(|(port, _)| *port as usize);
        burst.clear();
        chunk.iter().for_each(|(port, frame)| burst.push(*port, frame).unwrap());
        let now_ns = number as u64 * 3_000;
        engines[0].process(now_ns, &mut burst);
        for (i, (port, received)) in chunk.iter().enumerate() {
            let mut frame = received.clone();
            let verdict = oracle.process(now_ns, *port, &mut frame);
            *fates.entry(format!("{verdict:?}")).or_default() += 1;
            assert_eq!(burst.fate(i), Some(verdict), "{pipeline:?}\n{port:?} {received:02x?}");
            if matches!(verdict, Verdict::Sent(_)) {
                assert_eq!(burst.frame(i), frame, "{pipeline:?}\n{port:?} {received:02x?}");
            }
        }
    }
    fates
}

/// The element-wise oracle gives the same results as the oracles of TIPSY's pipelines, which are implemented
/// independently.
#[test]
fn element_wise_oracle_equals_tipsy_pipeline_oracles() {
    for (seed, pipeline) in (1..).zip(Pipeline::all()) {
        let declaration = pipeline.build().unwrap();
        let mut theirs = pipeline.oracle().unwrap();
        let mut walked = oracle_of(&declaration);
        let mut random = Random::stream(seed, 9);
        let mut sent = 0;
        for (number, (port, frame)) in (0..).zip(trace(&pipeline, 4_000, seed).iter()) {
            let mut frame = frame.to_vec();
            if number % 3 == 0 {
                let at = random.below(frame.len().min(70) as u64) as usize;
                frame[at] ^= 1 << random.below(8);
            }
            let mut other = frame.clone();
            let fates = (
                theirs.process(number * 500, port, &mut frame),
                walked.process(number * 500, port, &mut other),
            );
            assert_eq!(fates.0, fates.1, "{} packet {number}", pipeline.name());
            if matches!(fates.0, Verdict::Sent(_)) {
                assert_eq!(frame, other, "{} packet {number}", pipeline.name());
                sent += 1;
            }
        }
        assert!(sent > 100, "{}: {sent}", pipeline.name());
    }
}

#[test]
fn example_forwards_like_oracle() {
    for (size, decomposition) in [(16, Decomposition::Block), (300, Decomposition::Chain)] {
        let source = Source { decomposition, ..edge(&[("size", size)]) };
        let pipeline = Pipeline::Own(Own::try_from(source).unwrap());
        let blocks = pipeline.build().unwrap().uplink.blocks.len();
        assert_eq!(blocks, if decomposition == Decomposition::Block { 3 } else { 7 });
        // The translations are the largest table, apart from the routes to the Internet.
        assert_eq!(pipeline.table_entries(Direction::Downlink), size * 4);
        assert_eq!(pipeline.table_entries(Direction::Uplink), (size * 4).max(1_001));
        for isa in [Isa::Baseline, Isa::detect()] {
            let fates = engine_equals_oracle(&pipeline, 6_000, size, isa);
            let met = |verdict: Verdict| fates.get(&format!("{verdict:?}")).copied().unwrap_or(0);
            for port in [Port::Access, Port::Core] {
                assert!(met(Verdict::Sent(port)) > 600, "{fates:?}");
            }
            assert!(met(Verdict::Dropped(DropReason::Denied)) > 100, "{fates:?}");
            assert!(met(Verdict::Dropped(DropReason::Miss)) > 5, "{fates:?}");
        }
    }
}

/// The example of the documentation is a valid pipeline whose packets match its tables.
#[test]
fn documented_example_forwards() {
    let page = include_str!("../../../../../../docs/how-to/own-pipelines.md");
    let text = page.split_once("```toml\n").and_then(|(_, rest)| rest.split_once("```")).unwrap().0;
    let pipeline = read_pipeline(text).unwrap();
    let fates = engine_equals_oracle(&pipeline, 2_000, 1, Isa::detect());
    let met = |verdict: Verdict| fates.get(&format!("{verdict:?}")).copied().unwrap_or(0);
    assert!(met(Verdict::Sent(Port::Core)) > 250, "{fates:?}");
    assert!(met(Verdict::Dropped(DropReason::Denied)) > 20, "{fates:?}");
    // The documentation states the same limits as the code.
    for sentence in
        ["2,097,152 entries", "100,000 rules", "64 elements", "64 tables", "16 files", "16,383 next hops"]
    {
        assert!(page.contains(sentence), "{sentence}");
    }
    assert_eq!(
        (ENTRIES_MAX, RULES_MAX, ELEMENTS_MAX, TABLES_MAX, FILES_MAX),
        (2_097_152, 100_000, 64, 64, 16)
    );
}

#[test]
fn text_of_pipeline_file_is_unchanged_by_serialization() {
    let pipeline = Pipeline::Own(Own::try_from(edge(&[("size", 5)])).unwrap());
    let json = serde_json::to_string(&pipeline).unwrap();
    let same: Pipeline = serde_json::from_str(&json).unwrap();
    assert_eq!(same, pipeline);
    assert_eq!(same.build().unwrap().tables.users.len(), 5);
    let broken = json.replace("user-by-source", "user-by-sauce");
    let error = serde_json::from_str::<Pipeline>(&broken).unwrap_err().to_string();
    assert!(
        error.contains("edge.toml:") && error.contains("there is no element \"user-by-sauce\""),
        "{error}"
    );
}

/// Returns a file with the text `before`, followed by the paths of both directions. `up` contains the elements of the
/// uplink.
fn with(before: &str, up: &str) -> String {
    format!(
        "{before}\n[uplink]\nelements = [{up}]\n[downlink]\nelements = [{{ element = \"emit\", port = \"access\" }}]\n"
    )
}

#[test]
fn errors_contain_line_and_allowed_values() {
    let emit = "{ element = \"emit\", port = \"core\" }";
    let admit = "{ element = \"admit\" }";
    let cases: [(String, &str); 27] = [
        ("x = [".to_owned(), "own.toml:1: not TOML"),
        (String::new(), "the file lacks `uplink`"),
        (with("[frobnicate]", emit), "own.toml:1: there is no field \"frobnicate\"; allowed are about"),
        (
            with("", "{ element = \"teleport\" }"),
            "own.toml:3: there is no element \"teleport\"; allowed are admit, bridge",
        ),
        (with("", "{ element = \"emit\" }"), "emit lacks `port`; expected access or core"),
        (
            with("", "{ element = \"emit\", port = \"left\" }"),
            "there is no port \"left\"; allowed are access, core",
        ),
        (with("", "{ element = \"admit\", mac = \"x\" }"), "`mac` must be a MAC address"),
        (with("", "{ element = \"admit\", ipv6 = 6 }"), "`ipv6` must be true or false"),
        (
            with("", "{ element = \"admit\", colour = 1 }"),
            "there is no field \"colour\"; allowed are element, mac, ipv6",
        ),
        (with("", admit), "uplink sends nothing"),
        (with("", &format!("{emit}, {admit}")), "`admit` is never reached: `emit` before it"),
        (with("", "{ element = \"meter\" }"), "before `meter`, an element must find the user"),
        (with("", "{ element = \"forward\" }"), "before `forward`, `route` or `bridge` is required"),
        (
            with("[route.r]", "{ element = \"route\", table = \"r\" }"),
            "before `route`, `admit` must check IP headers",
        ),
        (
            with("", &format!("{admit}, {{ element = \"route\", table = \"r\" }}")),
            "there is no route table \"r\"; the file declares none",
        ),
        (
            with(
                "[block.a]\nelements = [{ element = \"block\", name = \"b\" }]\n[block.b]\nelements = [{ element = \"block\", name = \"a\" }]",
                "{ element = \"block\", name = \"a\" }",
            ),
            "own.toml:4: block \"a\" contains itself",
        ),
        (with("", "{ element = \"block\", name = \"a\" }"), "there is no block \"a\""),
        (
            with("", &vec!["{ element = \"admit\" }"; 65].join(", ")),
            "elements of a direction: 65; allowed are 0 to 64",
        ),
        (
            with("[users]\ngenerate = { count = 3_000_000 }", emit),
            "own.toml:2: `count`: 3000000; allowed are 1 to 2097152",
        ),
        (
            with("[users]\ngenerate = { count = \"many\" }", emit),
            "there is no parameter \"many\"; the file declares none",
        ),
        (
            with("[parameters]\nmany = 9_000_000\n[users]\ngenerate = { count = \"many\" }", emit),
            "own.toml:4: `count`: 9000000",
        ),
        (
            with(
                "[users]\nlist = [{}]\n[exact.u]\nkeys = \"mac\"\nto = \"users\"",
                &format!("{admit}, {{ element = \"user-by-source\", table = \"u\" }}"),
            ),
            "`user-by-source` cannot use table \"u\": its `keys` must be \"address\"",
        ),
        (
            with("[exact.u]\nkeys = \"mac\"\nto = \"users\"", emit),
            "`to` is \"users\", but the file has no users in [users]",
        ),
        (
            with(
                "[users]\nlist = [{}]\n[exact.u]\nkeys = \"address\"\nto = \"users\"\ngenerate = { count = 300, within = \"10.0.0.0/24\" }",
                emit,
            ),
            "own.toml:6: `count` for this `within`: 300; allowed are 1 to 256",
        ),
        (
            with("[acl.a]\nclassbench = { file = \"x.rules\" }", emit),
            "own.toml:2: there is no filter set \"x.rules\"",
        ),
        (
            with("[acl.a]\nrules = [{ src = \"10.0.0.0/33\", action = \"deny\" }]", emit),
            "own.toml:2: `src` must be a prefix",
        ),
        (
            with("[nat.n]\nentries = [{ from = \"10.0.0.1:5\", to = \"[2001:db8::1]:5\" }]", emit),
            "own.toml:2: a translation keeps the IP version",
        ),
    ];
    for (text, expected) in cases {
        let error = read_pipeline(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\nis not: {expected}\n{text}");
    }
    let unknown = Own::try_from(edge(&[("breadth", 1)])).unwrap_err().to_string();
    assert!(unknown.contains("there is no parameter \"breadth\"; allowed are size"), "{unknown}");
    let huge = "#".repeat(FILE_BYTES_MAX + 1);
    assert!(
        read_pipeline(&huge)
            .unwrap_err()
            .to_string()
            .contains("octets of a pipeline file: 1048577; allowed are 1 to 1048576")
    );
}

#[test]
fn filter_sets_parse() {
    let sound = "# a comment\n\n@192.151.11.17/32\t15.0.120.4/32\t10 : 655\t1221 : 1221\t0x06/0xFF\t0x0000/0x0200\n\
        @0.0.0.0/0 10.0.0.0/8 0 : 65535 0 : 65535 0x00/0x00\n@2001:db8::/32 ::/0 0 : 0 1 : 2 17/0xFF\n";
    let rules = |text: &str| classbench::rules("x.rules", text).map(|(rules, _)| rules);
    let error = rules(sound).err().unwrap().to_string();
    assert!(
        error.starts_with("x.rules:5: invalid rule of a filter set: \"17/0xFF\" is not a value and mask"),
        "{error}"
    );
    let rules_of = rules(&sound.replace("17/0xFF", "0x11/0xFF")).ok().unwrap();
    assert_eq!(rules_of.len(), 3);
    let classbench::Rule::V4(first) = &rules_of[0] else { panic!("the rule should be an IPv4 rule") };
    assert_eq!((first.src_ports, first.dst_ports, first.protocol), ((10, 655), (1221, 1221), Some(6)));
    assert_eq!(first.flags, TcpFlags { value: 0, mask: 0x200 });
    assert_eq!((first.src.length, first.dst.address.to_string()), (32, "15.0.120.4".to_owned()));
    assert!(matches!(&rules_of[1], classbench::Rule::V4(rule) if rule.protocol.is_none()));
    assert!(matches!(&rules_of[2], classbench::Rule::V6(rule) if rule.protocol == Some(17)));
    for (line, expected) in [
        ("192.0.2.1/32 1.1.1.1/32 0 : 1 0 : 1 0x06/0xFF", "it does not begin with @"),
        ("@1.1.1.1/32 2.2.2.2/32 0 : 1", "it is not @src/len"),
        ("@1.1.1.1/33 2.2.2.2/32 0 : 1 0 : 1 0x06/0xFF", "\"1.1.1.1/33\" is not a prefix"),
        ("@1.1.1.1/32 2.2.2.2/32 5 : 1 0 : 1 0x06/0xFF", "the range of ports 5 : 1 is in descending order"),
        ("@1.1.1.1/32 2.2.2.2/32 0 : 65536 0 : 1 0x06/0xFF", "port \"65536\" is not within 0 to 65535"),
        ("@1.1.1.1/32 2.2.2.2/32 0 : 1 0 : 1 0x06/0x0F", "protocol mask 0x0f; allowed are"),
        ("@1.1.1.1/32 2001:db8::/32 0 : 1 0 : 1 0x06/0xFF", "different IP versions"),
        ("@1.1.1.1/32 2.2.2.2/32 0 : 1 0 : 1 0x06/0xFF 0x10000/0xFFFF", "is not a value and mask"),
    ] {
        let error = rules(line).err().unwrap().to_string();
        assert!(error.starts_with("x.rules:1:") && error.contains(expected), "{error}");
    }
    assert!(rules("# nothing\n").is_err());
    let long = format!("@{}", "1".repeat(600));
    assert!(rules(&long).err().unwrap().to_string().contains("the line has 601 bytes"));
    let many = "@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 0x00/0x00\n".repeat(RULES_MAX + 1);
    assert!(
        rules(&many)
            .err()
            .unwrap()
            .to_string()
            .contains("rules of a filter set: 100001; allowed are 1 to 100000")
    );
}

/// classbench-ng writes rules as `field=value` lines if its seed file has OpenFlow fields.
#[test]
fn openflow_rules_parse_and_note_lists_unmatched_fields() {
    let text = "nw_src=10.0.0.0/8, nw_proto=6, tp_dst=80..90, in_port=3\ntp_src=0x50, nw_proto=17\n\
                dl_src=00:11:22:33:44:55, eth_type=0x0800, nw_dst=192.0.2.0/24\n";
    let (rules, note) = classbench::rules("of.rules", text).ok().unwrap();
    let classbench::Rule::V4(first) = &rules[0] else { panic!("the rule should be an IPv4 rule") };
    assert_eq!((first.src.length, first.protocol, first.dst_ports), (8, Some(6), (80, 90)));
    let classbench::Rule::V4(second) = &rules[1] else { panic!("the rule should be an IPv4 rule") };
    assert_eq!((second.src_ports, second.protocol), ((80, 80), Some(17)));
    let note = note.unwrap();
    assert!(note.contains("2 of 3 rules of of.rules also require dl_src, in_port"), "{note}");
    for (line, expected) in [
        ("nw_src=10.0.0.0/8, teapot=1", "there is no field \"teapot\""),
        ("eth_type=0x86dd, nw_proto=6", "EtherType 0x86dd"),
        ("tp_dst=90..80", "in descending order"),
    ] {
        let error = classbench::rules("of.rules", line).err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Reading a damaged file gives either a pipeline or an error with a line number of the file.
#[test]
fn damaged_files_never_panic() {
    let sound = edge(&[]);
    let lines = sound.text.lines().count() as u32;
    let mut faults = 0;
    let mut pipelines = 0;
    for seed in 0..300 {
        let mut random = Random::stream(seed, 4);
        let mut source = sound.clone();
        let target =
            if seed % 4 == 0 { source.files.get_mut("edge.rules").unwrap() } else { &mut source.text };
        let mut octets = target.clone().into_bytes();
        for _ in 0..=random.below(3) {
            let at = random.below(octets.len() as u64) as usize;
            match random.below(3) {
                0 => octets[at] = b" \"[]{}=,.0123456789abcxyz\n"[random.below(26) as usize],
                1 => drop(octets.drain(at..(at + random.below(40) as usize).min(octets.len()))),
                _ => {
                    let again = octets[at..(at + 30).min(octets.len())].to_vec();
                    octets.splice(at..at, again);
                }
            }
        }
        *target = String::from_utf8_lossy(&octets).into_owned();
        match Own::try_from(source) {
            Ok(_) => pipelines += 1,
            Err(error) => {
                assert!(error.line <= lines + 40 && !error.file.is_empty(), "{error}");
                faults += 1;
            }
        }
    }
    assert!(faults > 60 && pipelines > 5, "{faults} faults, {pipelines} pipelines");
}

/// Returns a pipeline with elements in a random valid order, and random tables that match its traffic.
fn random_pipeline(random: &mut Random) -> String {
    let mut text = format!("fakedrop = {}\n", random.below(2) == 0);
    let kind = ["gtp", "gre", "vxlan"][random.below(3) as usize];
    let _ = write!(
        text,
        "[next-hop.out]\nport = \"core\"\ndst = \"02:00:00:00:01:01\"\ncount = 3\n[next-hop.back]\nport = \"access\"\nsrc = \"02:00:00:00:02:01\"\n\
         [tunnel.site]\nkind = \"{kind}\"\nlocal = \"200.0.0.1\"\nremote = \"1.1.0.1\"\ndst = \"02:00:00:00:03:01\"\nsrc = \"02:00:00:00:04:01\"\ncount = 4\n\
         [users]\ngenerate = {{ count = 20, key = 7, tunnel = \"site\"{} }}\n\
         [exact.keys]\nkeys = \"tunnel-key\"\nto = \"users\"\ngenerate = {{ count = 20 }}\n\
         [exact.hosts]\nkeys = \"address\"\nto = \"users\"\ngenerate = {{ count = 20, within = \"10.0.0.0/24\" }}\n\
         [exact.stations]\nkeys = \"mac\"\nto = \"users\"\ngenerate = {{ count = 20, within = \"02:11:22:00:00:00\" }}\n\
         [exact.ports]\nkeys = \"mac\"\nto = \"next-hops\"\ngenerate = {{ count = 20, within = \"02:11:22:00:00:00\" }}\n\
         [route.all]\nentries = [{{ prefix = \"0.0.0.0/0\", next-hop = \"out\" }}]\ngenerate = {{ count = 50, within = \"64.0.0.0/3\", length = 20 }}\n\
         [route.six]\ngenerate = {{ count = 50, within = \"2001:db8::/32\", length = 48 }}\n\
         [acl.some]\ngenerate = {{ count = 30, like = \"fw1\", seed = 3 }}\n\
         [nat.out]\ngenerate = {{ count = 20, from = \"10.0.0.0/24\", to = \"192.0.2.0/24\", ports-per-address = 3 }}\n[nat.back]\nreverse = \"out\"\n",
        if random.below(2) == 0 { ", rate = 20000, burst = 2000" } else { "" }
    );
    let deep = format!(
        "{{ element = \"decap\", kind = \"{kind}\", local = \"200.0.0.1\", ipv6 = {} }}",
        random.below(2) == 0
    );
    for direction in ["uplink", "downlink"] {
        let mut all = vec![format!("{{ element = \"admit\", ipv6 = {} }}", random.below(2) == 0)];
        let mut user = false;
        let mut hop = false;
        if random.below(2) == 0 {
            all.push(deep.clone());
            if random.below(3) > 0 {
                all.push("{ element = \"user-by-tunnel-key\", table = \"keys\" }".to_owned());
                user = true;
            }
        }
        for _ in 0..random.below(5) {
            let (element, finds, leads) = [
                ("\"user-by-source\", table = \"hosts\"", true, false),
                ("\"user-by-destination\", table = \"hosts\"", true, false),
                ("\"acl\", table = \"some\"", false, false),
                ("\"nat-source\", table = \"out\"", false, false),
                ("\"nat-destination\", table = \"back\"", false, false),
                ("\"route\", table = \"all\"", false, true),
                ("\"route\", table = \"six\"", false, true),
                ("\"meter\"", false, false),
            ][random.below(8) as usize];
            if element == "\"meter\"" && !user {
                continue;
            }
            (user, hop) = (user | finds, hop | leads);
            all.push(format!("{{ element = {element} }}"));
        }
        all.push(match random.below(4) {
            0 if user => "{ element = \"encap\" }".to_owned(),
            1 if hop => "{ element = \"forward\" }".to_owned(),
            2 if hop => "{ element = \"deliver\" }".to_owned(),
            _ => "{ element = \"emit\", port = \"core\", source = \"02:00:00:00:05:01\" }".to_owned(),
        });
        let _ = writeln!(text, "[{direction}]\nelements = [{}]", all.join(", "));
    }
    text
}

/// Engine and oracle also agree for orders of elements that no TIPSY pipeline has.
#[test]
fn random_pipelines_forward_like_oracles() {
    let mut fates = BTreeMap::new();
    for seed in 0..if cfg!(miri) { 4 } else { 120 } {
        let text = random_pipeline(&mut Random::stream(seed, 8));
        let pipeline = read_pipeline(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let isa = if seed % 2 == 0 { Isa::Baseline } else { Isa::detect() };
        for (verdict, count) in engine_equals_oracle(&pipeline, 256, seed, isa) {
            *fates.entry(verdict).or_insert(0) += count;
        }
    }
    let sent: u64 =
        fates.iter().filter(|(verdict, _)| verdict.starts_with("Sent")).map(|(_, count)| count).sum();
    assert!(cfg!(miri) || sent > 6_000, "{fates:?}");
}
