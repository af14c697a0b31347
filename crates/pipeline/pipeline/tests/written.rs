//! Configurations that are generated but not run here: compared with golden files (`RANLAB_BLESS=1` writes them), and
//! checked as far as possible without the switch. An installed compiler or interpreter reads them, too.
#![allow(clippy::unwrap_used, clippy::panic)] // a test that cannot go on fails

use ranlab_pipeline::backends::{self, Backend, BackendRequest};
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

/// Small pipelines with every element that one of the three backends can express.
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
    let asked = BackendRequest { declaration: &declaration, directions: BOTH };
    backend.translate(&asked).ok().map(|translation| translation.texts)
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
        let wanted: &[&str] = match writer {
            "vpp" => &["portfwd", "l2fwd", "l3fwd", "acl", "mgw", "router", "router-nat"],
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
        assert_eq!(names, wanted, "{writer}");
    }
}

/// A VPP script refers only to objects that it has created before (next hops are neighbours, tunnels and policers
/// exist), and no line is repeated.
#[test]
fn vpp_scripts_refer_to_created_objects() {
    for (name, texts) in all_of("vpp") {
        let mut neighbours = BTreeSet::new();
        let mut made = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut lists = 0;
        for line in texts[0].text.lines() {
            assert!(seen.insert(line), "{name}: {line} stands twice");
            let words: Vec<&str> = line.split_whitespace().collect();
            let behind = |word: &str| words.iter().position(|one| *one == word).map(|at| words[at + 1]);
            match words[..] {
                ["create", "interface", "memif", ..] => {
                    made.insert(format!("memif{}/0", behind("socket-id").unwrap()));
                }
                ["create", "gtpu", "tunnel", ..] => {
                    let number = made.iter().filter(|one| one.starts_with("gtpu")).count();
                    made.insert(format!("gtpu_tunnel{number}"));
                }
                ["policer", "add", ..] => {
                    made.insert(behind("name").unwrap().to_owned());
                }
                ["policer", _, "name", policer, interface] => {
                    assert!(made.contains(policer) && made.contains(interface), "{name}: {line}");
                }
                ["set", "ip", "neighbor", interface, address, ..] => {
                    assert!(made.contains(interface), "{name}: {line}");
                    neighbours.insert((interface, address));
                }
                ["ip", "route", "add", ..] => {
                    let via = behind("via").unwrap();
                    match words.last() {
                        Some(tunnel) if *tunnel == via => assert!(made.contains(via), "{name}: {line}"),
                        Some(interface) => assert!(neighbours.contains(&(*interface, via)), "{name}: {line}"),
                        None => {}
                    }
                }
                ["set", "acl-plugin", "acl", ..] => lists += 1,
                ["set", "acl-plugin", "interface", .., list] => {
                    assert!(list.parse::<i32>().unwrap() < lists, "{name}: {line}")
                }
                ["set", "interface", _, interface, ..] if interface.starts_with("memif") => {
                    assert!(made.contains(interface), "{name}: {line}");
                }
                _ => {}
            }
        }
        assert!(made.contains("memif1/0") && made.contains("memif2/0"), "{name}");
    }
}

/// BESS modules as far as a script uses them: each gate leads to one module, and every gate that a match can select is
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
        ranlab_host::doctor::skipped("python3 is not here, which reads scripts of BESS");
        return;
    }
    for (name, texts) in all_of("bess") {
        let mut python = Command::new("python3");
        python.args(["-c", MODULES]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = python.spawn().unwrap();
        child.stdin.take().unwrap().write_all(texts[0].text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let (said, complained) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && said.trim() == "whole", "{name}: {complained}");
    }
}

#[test]
fn p4_programs_compile_if_compiler_is_installed() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let Some(compiler) =
        std::env::split_paths(&path).map(|folder| folder.join("p4c-bm2-ss")).find(|path| path.is_file())
    else {
        ranlab_host::doctor::skipped(
            "p4c-bm2-ss is not here (https://github.com/p4lang/p4c; no Debian 12 package): programs are written and not compiled",
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
