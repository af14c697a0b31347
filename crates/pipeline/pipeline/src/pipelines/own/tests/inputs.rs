//! Inputs taken from real networks: routing tables, recorded updates, fragments, header traces.
use super::*;

/// Returns a pipeline file with the tables `middle`, and an uplink of `admit` and `element`. The downlink sends all
/// packets unchanged.
fn uplink(middle: &str, element: &str) -> String {
    format!(
        "{middle}\n[uplink]\nelements = [{{ element = \"admit\", ipv6 = true }}, {element}]\n\
         [downlink]\nelements = [{{ element = \"emit\", port = \"access\" }}]\n"
    )
}

fn with_files(text: String, files: &[(&str, &str)], updates: Option<Recorded>) -> Result<Own, OwnError> {
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    Own::try_from(Source { file: "own.toml".to_owned(), text, files, updates, ..Source::default() })
}

/// Returns the destination MAC of a packet to `dst` after forwarding, or `None` if it is dropped. Engine and oracle
/// must agree.
fn next_hop_of(pipeline: &Pipeline, applied: &[crate::declare::Event], dst: &str) -> Option<String> {
    let packet = Packet::udp((dst.parse::<IpAddr>().unwrap(), 1), (dst.parse::<IpAddr>().unwrap(), 2));
    let frame = packet.frame(crate::pipelines::GW_MAC, 80);
    let mut oracle = pipeline.oracle().unwrap();
    let (mut engines, mut control) = Engine::start(&pipeline.build().unwrap(), 1, Isa::Baseline).unwrap();
    for event in applied {
        oracle.apply(event.what);
        control.send(&event.changes).unwrap();
        engines[0].process(0, &mut Burst::new());
    }
    let mut expected = frame.clone();
    let verdict = oracle.process(0, Port::Access, &mut expected);
    let mut burst = Burst::new();
    burst.push(Port::Access, &frame).unwrap();
    engines[0].process(0, &mut burst);
    assert_eq!(burst.fate(0), Some(verdict), "{dst}");
    let Verdict::Sent(_) = verdict else { return None };
    assert_eq!(burst.frame(0), expected, "{dst}");
    Some(expected[..6].iter().map(|octet| format!("{octet:02x}")).collect())
}

const ROUTED: &str = "{ element = \"route\", table = \"fib\" }, { element = \"forward\" }";

#[test]
fn file_may_declare_many_next_hops() {
    let hops: String = (0..300)
        .map(|i| {
            format!(
                "[next-hop.h{i}]\nport = \"core\"\ndst = \"02:00:00:00:{:02x}:{:02x}\"\n",
                i / 256,
                i % 256
            )
        })
        .collect();
    let routes: Vec<String> = (0..300)
        .map(|i| format!("{{ prefix = \"10.{}.{}.0/24\", next-hop = \"h{i}\" }}", i / 256, i % 256))
        .collect();
    let text = uplink(&format!("{hops}[route.fib]\nentries = [{}]", routes.join(",")), ROUTED);
    let pipeline = read_pipeline(&text).unwrap();
    assert_eq!(next_hop_of(&pipeline, &[], "10.1.43.9").unwrap(), "02000000012b");
}

/// Reads a table as routers print it. Addresses in the table become next hops. Names refer to next hops in the pipeline
/// file.
#[test]
fn routing_table_is_read_from_a_file() {
    let text = uplink(
        "[next-hop.named]\nport = \"core\"\ndst = \"02:aa:00:00:00:01\"\n[route.fib]\nfile = \"fib.txt\"",
        ROUTED,
    );
    assert_eq!(files("own.toml", &text).unwrap(), [("fib.txt".to_owned(), ROUTES_BYTES_MAX)]);
    let fib = "# a comment\n10.0.0.0/8 192.0.2.1\n10.1.0.0/16\tvia 192.0.2.74 dev eth0\n\n2001:db8::/32 2001:db8::1\n\
               192.0.2.9 named\n2001:db8:1::/48 192.0.2.1\n10.1.2.3/32 192.0.2.74\n";
    let pipeline = Pipeline::Own(with_files(text.clone(), &[("fib.txt", fib)], None).unwrap());
    let hop = |dst: &str| next_hop_of(&pipeline, &[], dst);
    assert_eq!(hop("10.9.9.9").unwrap(), "0200c0000201");
    assert_eq!(hop("10.1.9.9").unwrap(), "0200c000024a");
    assert_eq!(hop("192.0.2.9").unwrap(), "02aa00000001");
    assert_eq!(hop("2001:db8:2::1").unwrap(), "020600000003");
    assert_eq!(hop("2001:db8:1::1").unwrap(), "0200c0000201");
    assert_eq!(hop("11.0.0.1"), None);
    assert_eq!(pipeline.build().unwrap().tables.next_hops.len(), 4);
    for (line, expected) in [
        ("10.0.0.0/33 192.0.2.1", "fib.txt:1: invalid route: \"10.0.0.0/33\" is not a prefix"),
        ("10.0.0.0/8 elsewhere", "next hop \"elsewhere\" is not an IP address"),
        ("10.0.0.0/8", "a prefix and its next hop are required"),
        ("# nothing", "the file has no route"),
    ] {
        let error = with_files(text.clone(), &[("fib.txt", line)], None).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let long = format!("10.0.0.0/8 {}", "1".repeat(300));
    let error = with_files(text, &[("fib.txt", &long)], None).unwrap_err().to_string();
    assert!(error.contains("the line has 311 bytes"), "{error}");
}

/// Collectors record announced and withdrawn routes. Updates are replayed at the times of the file, or at a fixed rate
/// per second.
#[test]
fn recorded_updates_change_the_first_table() {
    let text = uplink("[route.fib]\nfile = \"fib.txt\"", ROUTED);
    let fib = "198.51.100.0/24 192.0.2.1\n0.0.0.0/0 192.0.2.254\n";
    let recorded = "100 w 198.51.100.0/24 0.0.0.0\n100.5 a 198.51.100.0/24 192.0.2.74\n100 a 203.0.113.0/25 192.0.2.9\n\
                    102 w 203.0.113.0/25\n102 a 203.0.113.0/24 192.0.2.9\n103 w 192.0.2.0/30\n";
    for (per_s, counts) in [(0, [3, 0, 2, 1, 0]), (4, [4, 2, 0, 0, 0])] {
        let file = "updates.txt".to_owned();
        let recorded = Recorded { file, text: recorded.to_owned(), per_s };
        let pipeline = Pipeline::Own(with_files(text.clone(), &[("fib.txt", fib)], Some(recorded)).unwrap());
        let seconds: Vec<_> = (0..5).map(|second| pipeline.events(second).unwrap()).collect();
        assert_eq!(seconds.iter().map(Vec::len).collect::<Vec<_>>(), counts, "{per_s}");
        let all: Vec<_> = seconds.into_iter().flatten().collect();
        let hop = |dst: &str| next_hop_of(&pipeline, &all, dst).unwrap();
        assert_eq!(hop("198.51.100.1"), "0200c000024a");
        assert_eq!(
            (hop("203.0.113.1"), hop("203.0.113.200")),
            ("0200c0000209".to_owned(), "0200c0000209".to_owned())
        );
        assert_eq!(hop("192.0.2.1"), "0200c00002fe");
        assert_eq!(next_hop_of(&pipeline, &all[..1], "198.51.100.1").unwrap(), "0200c00002fe");
    }
    for (line, expected) in [
        ("0 x 10.0.0.0/8 192.0.2.1", "SECONDS a PREFIX NEXTHOP"),
        ("now a 10.0.0.0/8 192.0.2.1", "\"now\" is not a number of seconds"),
        ("5 w 10.0.0.0/8\n4 w 10.0.0.0/8", "u.txt:2: invalid update of a route: second 4 is before"),
    ] {
        let recorded = Recorded { file: "u.txt".to_owned(), text: line.to_owned(), per_s: 0 };
        let error = with_files(text.clone(), &[("fib.txt", fib)], Some(recorded)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Pipeline `l3fwd` also replays such files. The next hops are then entries of its group table.
#[test]
fn recorded_updates_change_pipeline_l3fwd() {
    let recorded =
        "0 a 203.0.113.0/25 192.0.2.9\n0 a 203.0.113.0/24 192.0.2.74\n1 w 203.0.113.0/25 0.0.0.0\n";
    let pipeline: Pipeline = serde_json::from_value(serde_json::json!({
        "name": "l3fwd", "fakedrop": false, "upstream-group-table-size": 4, "downlink-mac": "aa:22:bb:44:cc:66",
        "updates": { "file": "u.txt", "text": recorded },
    }))
    .unwrap();
    let events: Vec<_> = (0..2).flat_map(|second| pipeline.events(second).unwrap()).collect();
    assert_eq!(events.len(), 3);
    let hop = |applied: usize, dst: &str| next_hop_of(&pipeline, &events[..applied], dst);
    assert_eq!(hop(0, "203.0.113.1"), None);
    assert_ne!(hop(2, "203.0.113.1"), hop(2, "203.0.113.200"));
    assert_eq!(hop(3, "203.0.113.1"), hop(2, "203.0.113.200"));
    let json = serde_json::to_string(&pipeline).unwrap();
    assert_eq!(serde_json::from_str::<Pipeline>(&json).unwrap(), pipeline);
}

/// A rule that restricts ports or flags does not match packets without them. Later fragments pass a list that denies
/// ports 0 to 1023. A TCP segment passes a rule that denies flags which the segment does not have. Truncated headers and
/// fragments of IPv6 behave in the same way.
#[test]
fn rules_do_not_match_absent_fields() {
    let list = |rule: &str| {
        let text = uplink(
            &format!("[acl.set]\ndefault = \"permit\"\nrules = [{{ {rule}, action = \"deny\" }}]"),
            "{ element = \"acl\", table = \"set\" }, { element = \"emit\", port = \"core\" }",
        );
        read_pipeline(&text).unwrap()
    };
    let v4 = |protocol: Protocol, offset: u16| {
        let packet = Packet::new(protocol, ([192, 0, 2, 1].into(), 40_000), ([192, 0, 2, 2].into(), 80));
        let mut frame = packet.frame(crate::pipelines::GW_MAC, 100);
        frame[20..22].copy_from_slice(&((0x2000 * u16::from(offset == 0)) | offset).to_be_bytes());
        frame[24..26].fill(0);
        let sum = ranlab_packet::checksum::checksum(&frame[14..34]).to_be_bytes();
        frame[24..26].copy_from_slice(&sum);
        frame
    };
    let denied = |pipeline: &Pipeline, frame: &[u8]| {
        let (mut engines, _control) = Engine::start(&pipeline.build().unwrap(), 1, Isa::detect()).unwrap();
        let verdict = pipeline.oracle().unwrap().process(0, Port::Access, &mut frame.to_vec());
        let mut burst = Burst::new();
        burst.push(Port::Access, frame).unwrap();
        engines[0].process(0, &mut burst);
        assert_eq!(burst.fate(0), Some(verdict));
        verdict == Verdict::Dropped(DropReason::Denied)
    };
    let ports = list("dst-ports = \"0-1023\", protocol = \"udp\"");
    assert!(denied(&ports, &v4(Protocol::UDP, 0)));
    assert!(!denied(&ports, &v4(Protocol::UDP, 185)));
    assert!(!denied(&ports, &v4(Protocol::TCP, 0)));
    let any = list("dst-ports = \"0-1023\"");
    assert!(denied(&any, &v4(Protocol::TCP, 0)) && !denied(&any, &v4(Protocol(1), 0)));
    let all = list("protocol = \"udp\"");
    assert!(denied(&all, &v4(Protocol::UDP, 185)));
    let six =
        Packet::new(Protocol(44), ("2001:db8::1".parse().unwrap(), 1), ("2001:db8::2".parse().unwrap(), 2));
    let six = six.frame(crate::pipelines::GW_MAC, 100);
    assert!(!denied(&list("src = \"::/0\", dst-ports = \"0-1023\""), &six));
    assert!(denied(&list("src = \"::/0\", protocol = \"44\""), &six));
    // The generated TCP segments have only the flag ACK.
    assert!(!denied(&list("flags = \"0x002/0x002\""), &v4(Protocol::TCP, 0)));
    assert!(denied(&list("flags = \"0x010/0x012\""), &v4(Protocol::TCP, 0)));
    assert!(!denied(&list("flags = \"0x000/0x200\""), &v4(Protocol::UDP, 0)));
    assert!(denied(&list("flags = \"0x000/0x200\""), &v4(Protocol::TCP, 0)));
    assert!(!denied(&list("flags = \"0x000/0x200\""), &v4(Protocol::TCP, 9)));
}

/// Packets of a header trace match the rules that the trace names, even if rules differ only in their flags. Generated
/// packets have the flags that a rule requires.
#[test]
fn header_trace_matches_its_rules() {
    let set = "@10.0.0.1/32 192.0.2.1/32 0 : 65535 80 : 80 0x06/0xFF 0x0000/0x0200\n\
               @10.0.0.1/32 192.0.2.1/32 0 : 65535 80 : 80 0x06/0xFF 0x1000/0x1000\n\
               @10.0.0.1/32 192.0.2.1/32 0 : 65535 80 : 80 0x06/0xFF 0x0000/0x0000\n\
               @10.0.0.0/8 192.0.2.0/24 0 : 65535 0 : 65535 0x11/0xFF 0x0000/0x0000\n\
               @0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 0x00/0x00 0x0000/0x0000\n";
    let text = uplink(
        "[acl.set]\nclassbench = { file = \"set.rules\", action = \"alternate\" }",
        "{ element = \"acl\", table = \"set\" }, { element = \"emit\", port = \"core\" }",
    );
    let pipeline = Pipeline::Own(with_files(text, &[("set.rules", set)], None).unwrap());
    let host = u32::from_be_bytes([10, 0, 0, 1]);
    let server = u32::from_be_bytes([192, 0, 2, 1]);
    let line = |protocol: u32, flags: u32, rule: u32| {
        format!("{host}\t{server}\t7\t80\t{protocol}\t{flags}\t{rule}\n")
    };
    let headers = [
        line(6, 0x0000_0200, 0),
        line(6, 0x1000_1000, 1),
        line(6, 0, 2),
        line(6, u32::MAX, 2),
        line(17, 0, 3),
        line(1, 0, 4),
    ]
    .concat();
    assert!(crate::trace::are_headers(headers.as_bytes()));
    let declaration = pipeline.build().unwrap();
    let read = Headers::read(&headers, &declaration, Direction::Uplink, 64).unwrap();
    assert_eq!((read.trace.len(), read.without_ports), (5, 1));
    let found = read.matches(&pipeline, Direction::Uplink).unwrap();
    assert_eq!((found.named, found.matching, found.first), (5, 5, 5));
    let wrong = headers.replace("\t3\n", "\t2\n");
    let wrong = Headers::read(&wrong, &declaration, Direction::Uplink, 64).unwrap();
    let found = wrong.matches(&pipeline, Direction::Uplink).unwrap();
    assert_eq!((found.named, found.matching, found.first), (5, 4, 4));
    // The last rule matches everything, but an earlier rule decides.
    let hidden =
        Headers::read(&headers.replace("\t2\n", "\t4\n"), &declaration, Direction::Uplink, 64).unwrap();
    let found = hidden.matches(&pipeline, Direction::Uplink).unwrap();
    assert_eq!((found.named, found.matching, found.first), (5, 5, 3));
    let error = Headers::read("1 2 3 4 6\n1 2 3 70000 6\n", &declaration, Direction::Uplink, 64).unwrap_err();
    assert_eq!(error, crate::trace::HeadersError::Line { line: 2 });
    for text in ["0 w 10.0.0.0/8", "\u{d4}\u{c3}", "1 2 3 4", ""] {
        assert!(!crate::trace::are_headers(text.as_bytes()), "{text}");
    }
    let fates = engine_equals_oracle(&pipeline, 1_000, 3, Isa::detect());
    // Rules 0, 2 and 4 deny, rules 1 and 3 permit.
    assert!(
        fates.get(&format!("{:?}", Verdict::Sent(Port::Core))).is_some_and(|count| *count > 60),
        "{fates:?}"
    );
}
