//! Configurations of switches that no package contains. They are compared with golden files (`RANLAB_BLESS=1` writes
//! them) and checked as far as possible without the switch. If a compiler or interpreter is installed, it also reads
//! them.
#![allow(clippy::unwrap_used, clippy::panic)] // a test may panic if it cannot continue

use ranlab_pipeline::backends::{self, Backend, BackendRequest, Equivalence};
use ranlab_pipeline::declare::Direction;
use ranlab_pipeline::pipelines::Pipeline;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const BOTH: &[Direction] = &[Direction::Uplink, Direction::Downlink];
const WRITERS: [&str; 3] = ["vpp", "bess", "p4"];

/// A user-defined router with access control lists and translations.
const ROUTER: &str = r#"
fakedrop = false
[next-hop.out]
port = "core"
dst = "02:00:00:00:01:01"
src = "02:00:00:00:02:02"
[next-hop.back]
port = "access"
dst = "02:00:00:00:01:02"
[acl.list]
rules = [
    { src = "10.0.0.0/8", dst = "192.0.2.0/24", dst-ports = "80", action = "deny" },
    { src = "10.1.0.0/16", action = "permit" },
]
[nat.out]
generate = { count = 2, from = "10.0.0.0/24", to = "198.51.100.0/24" }
[nat.back]
reverse = "out"
[route.out]
entries = [{ prefix = "0.0.0.0/0", next-hop = "out" }, { prefix = "192.0.2.128/25", next-hop = "out" }]
[route.back]
entries = [{ prefix = "10.0.0.0/8", next-hop = "back" }]
[uplink]
elements = [{ element = "admit", mac = "02:00:00:00:02:01" }, { element = "acl", table = "list" }, NAT
    { element = "route", table = "out" }, { element = "forward" }]
[downlink]
elements = [{ element = "admit", mac = "02:00:00:00:02:02" }, TAN
    { element = "route", table = "back" }, { element = "forward" }]
"#;

fn router(translates: bool) -> Pipeline {
    let element = |name: &str, table: &str| {
        if translates {
            format!("{{ element = \"nat-{name}\", table = \"{table}\" }},")
        } else {
            String::new()
        }
    };
    let text =
        ROUTER.replace("NAT", &element("source", "out")).replace("TAN", &element("destination", "back"));
    serde_json::from_value(serde_json::json!({ "name": "own", "file": "router.toml", "text": text })).unwrap()
}

/// Returns small pipelines with every element that at least one of the three backends can express.
fn small() -> Vec<(String, Pipeline)> {
    let published = [
        r#"{"name":"portfwd"}"#,
        r#"{"name":"l2fwd"}"#,
        r#"{"name":"l3fwd","upstream-l3-table-size":3}"#,
        r#"{"name":"encap","station":2}"#,
        r#"{"name":"rlimit","user":2}"#,
        r#"{"name":"acl","rule-num":4,"seed-file":"ipc1","fakedrop":false}"#,
        r#"{"name":"nat","range-port-min":1000,"range-port-max":1001,"fakedrop":false}"#,
        r#"{"name":"dcgw","vm":2,"vm-conn":1}"#,
        r#"{"name":"mgw","user":2,"bst":2,"server":2}"#,
        r#"{"name":"bng","user":2,"cpe":2,"server":2,"fw-rules":2}"#,
    ];
    let own = [("router".to_owned(), router(false)), ("router-nat".to_owned(), router(true))];
    let published = published.map(|json| serde_json::from_str::<Pipeline>(json).unwrap());
    published.into_iter().map(|pipeline| (pipeline.name().to_owned(), pipeline)).chain(own).collect()
}

fn written(backend: &dyn Backend, pipeline: &Pipeline) -> Option<Vec<backends::Text>> {
    let declaration = pipeline.build().unwrap();
    let request = BackendRequest { declaration: &declaration, directions: BOTH };
    backend.translate(&request).ok().map(|translation| translation.texts)
}

/// Returns everything that a backend generates for the small pipelines.
fn all_of(name: &str) -> Vec<(String, Vec<backends::Text>)> {
    let backend = backends::named(name).unwrap();
    small().into_iter().filter_map(|(name, pipeline)| Some((name, written(backend, &pipeline)?))).collect()
}

#[test]
fn configurations_match_golden_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/backends");
    for writer in WRITERS {
        let mut names = Vec::new();
        for (name, texts) in all_of(writer) {
            let found: String = texts.iter().map(|text| format!("# {}\n{}", text.name, text.text)).collect();
            let path = folder.join(format!("{writer}-{name}.txt"));
            if std::env::var_os("RANLAB_BLESS").is_some() {
                std::fs::write(&path, &found).unwrap();
            }
            let expected =
                std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            assert!(expected == found, "{} differs:\n{found}", path.display());
            names.push(name);
        }
        let file_names: &[&str] = match writer {
            "vpp" => &[
                "portfwd",
                "l2fwd",
                "l3fwd",
                "encap",
                "rlimit",
                "acl",
                "nat",
                "mgw",
                "bng",
                "router",
                "router-nat",
            ],
            "bess" => &["portfwd", "l2fwd", "l3fwd", "encap", "router"],
            _ => &[
                "portfwd",
                "l2fwd",
                "l3fwd",
                "encap",
                "rlimit",
                "acl",
                "nat",
                "dcgw",
                "mgw",
                "bng",
                "router",
                "router-nat",
            ],
        };
        assert_eq!(names, file_names, "{writer}");
    }
}

/// Returns the lines of all of VPP's scripts for a pipeline, in order.
fn lines_of(texts: &[backends::Text]) -> Vec<&str> {
    texts.iter().flat_map(|text| text.text.lines()).collect()
}

/// A VPP script refers only to objects that it has already created: next hops are neighbours, and tunnels and policers
/// exist. No line is repeated.
#[test]
fn vpp_scripts_refer_to_created_objects() {
    for (name, texts) in all_of("vpp") {
        let mut neighbours = BTreeSet::new();
        let mut made: BTreeSet<String> = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut lists = 0;
        let mut tables = 0;
        for line in lines_of(&texts) {
            assert!(seen.insert(line), "{name}: the line {line} occurs twice");
            let words: Vec<&str> = line.split_whitespace().collect();
            let behind = |word: &str| words.iter().position(|one| *one == word).map(|at| words[at + 1]);
            let known = |made: &BTreeSet<String>, what: &str| assert!(made.contains(what), "{name}: {line}");
            match words[..] {
                ["create", "interface", "memif", ..] => {
                    made.insert(format!("memif{}/0", behind("socket-id").unwrap()));
                }
                ["set", "interface", "name", old, new] => {
                    known(&made, old);
                    made.insert(new.to_owned());
                }
                ["create", "gtpu", "tunnel", ..] => {
                    let number = made.iter().filter(|one| one.starts_with("gtpu")).count();
                    made.insert(format!("gtpu_tunnel{number}"));
                }
                ["create", "gre", "tunnel", ..] => {
                    made.insert(format!("gre{}", behind("instance").unwrap()));
                }
                ["create", "vxlan", "tunnel", ..] => {
                    made.insert(format!("vxlan_tunnel{}", behind("instance").unwrap()));
                }
                ["policer", "add", ..] => {
                    made.insert(behind("name").unwrap().to_owned());
                }
                ["policer", _, "name", policer, interface] => {
                    known(&made, policer);
                    known(&made, interface);
                }
                ["classify", "table", ..] => tables += 1,
                ["classify", "session", "policer-hit-next", policer, ..] => {
                    known(&made, policer);
                    assert!(
                        behind("table-index").unwrap().parse::<i32>().unwrap() < tables,
                        "{name}: {line}"
                    );
                }
                ["set", "ip", "neighbor", interface, address, ..] => {
                    known(&made, interface);
                    neighbours.insert((interface, address));
                }
                ["ip", "route", "add", ..] => {
                    let via = behind("via").unwrap();
                    match words.last() {
                        Some(tunnel) if *tunnel == via => known(&made, via),
                        Some(interface) => assert!(neighbours.contains(&(*interface, via)), "{name}: {line}"),
                        None => {}
                    }
                }
                ["set", "acl-plugin", "acl", ..] => lists += 1,
                ["set", "acl-plugin", "interface", interface, _, "acl", list] => {
                    known(&made, interface);
                    assert!(list.parse::<i32>().unwrap() < lists, "{name}: {line}");
                }
                ["set", "interface", "mac", "address", interface, _]
                | ["set", "interface", "state", interface, _]
                | ["set", "interface", "nat44", "ei", "in", interface]
                | ["set", "interface", "l2", "bridge", interface, ..] => known(&made, interface),
                _ => {}
            }
        }
        assert!(made.contains("access") && made.contains("core"), "{name}");
    }
}

/// Each of these lines was generated once and had the wrong effect, although VPP 26.06 loaded it without an error.
#[test]
fn vpp_scripts_avoid_ambiguous_syntax() {
    let both = |json: &str, directions: &'static [Direction]| {
        let declaration = serde_json::from_str::<Pipeline>(json).unwrap().build().unwrap();
        let request = BackendRequest { declaration: &declaration, directions };
        let backend = backends::named("vpp").unwrap();
        let translation = backend.translate(&request).unwrap();
        let lines = lines_of(&translation.texts).into_iter().map(str::to_owned).collect::<Vec<_>>();
        (lines, backend.equivalences(&request))
    };
    let has = |lines: &[String], start: &str| lines.iter().any(|line| line.starts_with(start));
    // Without this line, VPP chooses a random address for the other port.
    let (router, same) = both(r#"{"name":"l3fwd"}"#, &[Direction::Uplink]);
    assert!(
        has(&router, "set interface mac address core ") && has(&router, "set interface mac address access ")
    );
    assert!(same.contains(&Equivalence::PortMac));
    // Without this mode at both ports, frames to the other port are dropped.
    let (wire, _) = both(r#"{"name":"portfwd"}"#, &[Direction::Uplink]);
    assert!(has(&wire, "set interface l2 xconnect core access"));
    // The session container is written, and a routed packet's TTL is decremented.
    let (gateway, same) = both(r#"{"name":"mgw","user":2}"#, &[Direction::Downlink]);
    assert!(gateway.iter().any(|line| line.starts_with("create gtpu tunnel") && line.contains(" qfi ")));
    assert!(same.contains(&Equivalence::InnerHop) && !same.contains(&Equivalence::GtpContainer));
    // The endpoint-dependent NAT would create sessions, and reject connections that begin without SYN.
    let (nat, _) = both(r#"{"name":"nat"}"#, BOTH);
    assert!(has(&nat, "nat44 ei plugin enable static-mapping-only connection-tracking"));
    assert!(!has(&nat, "nat44 plugin enable") && !has(&nat, "nat44 add"));
    // After a translation, routes are looked up in the table of the other side.
    let default = |table: u32, port: &str| {
        let start = format!("ip route add 0.0.0.0/0 table {table} via ");
        nat.iter().any(|line| line.starts_with(&start) && line.ends_with(port))
    };
    assert!(default(1, "core") && default(2, "core"));
    // With `fakedrop`, denied packets are sent.
    let (list, _) = both(r#"{"name":"acl","rule-num":50}"#, &[Direction::Uplink]);
    let rules = list.iter().find(|line| line.starts_with("set acl-plugin acl ")).unwrap();
    assert!(!rules.contains("deny") && rules.split(", ").count() > 50);
    let (list, _) = both(r#"{"name":"acl","rule-num":50,"fakedrop":false}"#, &[Direction::Uplink]);
    assert!(list.iter().any(|line| line.contains("deny src")));
    assert!(has(&list, "set acl-plugin l4-match-nonfirst-fragment 0"));
    // If a prefix occurs several times, the last entry is used. VPP would balance between the entries, also after a
    // change.
    let twice = r#"
[next-hop.a]
port = "core"
dst = "02:00:00:00:00:01"
[next-hop.b]
port = "core"
dst = "02:00:00:00:00:02"
[route.all]
entries = [{ prefix = "10.0.0.0/8", next-hop = "a" }, { prefix = "10.9.9.9/8", next-hop = "b" }]
[uplink]
elements = [{ element = "admit" }, { element = "route", table = "all" }, { element = "forward" }]
[downlink]
elements = [{ element = "emit", port = "access" }]"#;
    let twice = serde_json::json!({ "name": "own", "file": "twice.toml", "text": twice }).to_string();
    let (routes, _) = both(&twice, &[Direction::Uplink]);
    let ten: Vec<&String> =
        routes.iter().filter(|line| line.starts_with("ip route add 10.0.0.0/8 ")).collect();
    assert!(ten.len() == 1 && ten[0].contains(" via 100.96.0.3 "), "{ten:?}");
    // GRE tunnels have keys, and each user without a tunnel has a policer.
    let (bng, _) = both(r#"{"name":"bng","user":2}"#, BOTH);
    assert!(
        bng.iter()
            .any(|line| line.starts_with("create gre tunnel") && line.contains("outer-table-id 1 key "))
    );
    assert!(has(&bng, "set interface nat44 ei in gre0") && has(&bng, "set interface nat44 ei out core"));
    let (limiter, _) = both(r#"{"name":"rlimit","user":2}"#, &[Direction::Uplink]);
    assert!(has(
        &limiter,
        "classify session policer-hit-next user0 exceed-color table-index 0 match l3 ip4 src "
    ));
    let (tunnels, _) = both(r#"{"name":"encap","station":2}"#, BOTH);
    assert!(
        tunnels.iter().any(|line| line.starts_with("create vxlan tunnel") && line.ends_with("decap-next l2"))
    );
}

/// BESS modules, as far as a script uses them. Each gate leads to one module, and every gate that a match can select is
/// connected.
const MODULES: &str = r"
import sys
class Module:
    def __init__(self, **arguments):
        self.name, self.gates, self.chosen, self.arguments = 'module', {}, set(), arguments
        all_modules.append(self)
    def connect(self, next_mod, ogate=0, igate=0):
        assert isinstance(next_mod, Module), next_mod
        assert ogate not in self.gates, ('gate is joined twice', ogate)
        self.gates[ogate] = next_mod
    def add(self, gate=0, fields=None, **key):
        if fields is not None:
            assert len(fields) == len(self.arguments['fields']), fields
            for said, of in zip(fields, self.arguments['fields']):
                assert len(said['value_bin']) == of['num_bytes'], (said, of)
        self.chosen.add(gate)
    def set_default_gate(self, gate):
        self.chosen.add(gate)
class Bess:
    def add_worker(self, wid, core):
        assert wid == 0 and core >= 0
    def resume_all(self):
        for module in all_modules:
            for gate in module.chosen:
                assert gate in module.gates, ('gate leads nowhere', module.__class__.__name__, gate)
        names = {module.__class__.__name__ for module in all_modules}
        assert {'PortInc', 'PortOut'} <= names, names
        for module in all_modules:
            if isinstance(module, scope['PortInc']):
                assert module.gates, 'a port leads nowhere'
        print('whole')
all_modules, scope = [], {'bess': Bess()}
for name in ['PMDPort', 'PortInc', 'PortOut', 'Sink', 'Merge', 'ExactMatch', 'IPLookup', 'Update', 'UpdateTTL', 'ACL',
             'VXLANDecap', 'VXLANEncap', 'IPEncap', 'EtherEncap', 'SetMetadata']:
    scope[name] = type(name, (Module,), {})
exec(compile(sys.stdin.read(), 'ranlab.bess', 'exec'), scope)
";

#[test]
fn bess_scripts_are_valid_python_with_connected_gates() {
    if Command::new("python3").arg("--version").output().is_err() {
        ranlab_host::doctor::skipped("python3 is not installed, so scripts of BESS are not checked");
        return;
    }
    for (name, texts) in all_of("bess") {
        let mut python = Command::new("python3");
        python.args(["-c", MODULES]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = python.spawn().unwrap();
        child.stdin.take().unwrap().write_all(texts[0].text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout);
        let complained = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && stdout.trim() == "whole", "{name}: {complained}");
    }
}

#[test]
fn p4_programs_compile_if_compiler_is_installed() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let Some(compiler) =
        std::env::split_paths(&path).map(|folder| folder.join("p4c-bm2-ss")).find(|path| path.is_file())
    else {
        ranlab_host::doctor::skipped(
            "p4c-bm2-ss is not installed (https://github.com/p4lang/p4c; no Debian 12 package): programs are generated but not compiled",
        );
        return;
    };
    let folder = std::env::temp_dir().join(format!("ranlab-p4-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, texts) in all_of("p4") {
        let program: PathBuf = folder.join(format!("{name}.p4"));
        std::fs::write(&program, &texts[0].text).unwrap();
        let output =
            Command::new(&compiler).arg("-o").arg(folder.join("out.json")).arg(&program).output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
