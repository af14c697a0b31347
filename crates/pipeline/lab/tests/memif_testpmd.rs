//! Tests of ranlab's memif with DPDK's, in both roles. `dpdk-testpmd` forwards between two ports, ranlab's tester uses
//! both ports, and the counters of both sides agree. The tests are skipped unless the program is installed (`apt
//! install dpdk-dev`).
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ranlab_host::doctor::skipped;
use ranlab_pipeline::pipelines::Pipeline;
use ranlab_pipeline::tester::DeviceCounters;
use ranlab_pipeline::trace::{Directions, Trace, Traffic};
use ranlab_pipeline_lab::memif::tester::{Load, run};
use ranlab_pipeline_lab::memif::{Port, Role, Settings};

const UP: Duration = Duration::from_secs(30);
/// Time limit for the exit of testpmd.
const END: Duration = Duration::from_secs(20);

/// Process of testpmd, which is killed on drop.
struct Testpmd(Child);

impl Testpmd {
    /// Starts testpmd without huge pages, network cards and leftover files. It forwards packets from one port to the
    /// other from the first packet on. By default, testpmd would discard packets that arrive before forwarding starts,
    /// and would not count them.
    fn start(folder: &std::path::Path, role: &str, queues: u16) -> Self {
        let device = |index: u8| {
            let socket = folder.join(format!("{index}.sock"));
            format!("--vdev=net_memif{index},role={role},id=0,socket={},socket-abstract=no", socket.display())
        };
        let prefix = format!("--file-prefix=ranlab{}{role}{queues}", std::process::id());
        let mut command = Command::new("dpdk-testpmd");
        command.args(["-l", "0-1", "--no-huge", "-m", "128", "--no-pci", "--no-telemetry", &prefix]);
        command.args([device(0), device(1)]);
        command.args([
            "--",
            "--forward-mode=io",
            "--no-flush-rx",
            "--nb-cores=1",
            "--no-lsc-interrupt",
            "--total-num-mbufs=4096",
        ]);
        command.args([format!("--rxq={queues}"), format!("--txq={queues}")]);
        // Redirects files that testpmd would leave in /run.
        command.env("RUNTIME_DIRECTORY", folder);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        Self(piped.spawn().unwrap())
    }

    /// Ends testpmd by its command. Returns the numbers of packets received and sent per port.
    fn end(mut self) -> [[u64; 2]; 2] {
        self.0.stdin.take().unwrap().write_all(b"\n").unwrap();
        let mut output = self.0.stdout.take().unwrap();
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            output.read_to_string(&mut text).unwrap();
            text
        });
        let began = Instant::now();
        while self.0.try_wait().unwrap().is_none() {
            assert!(began.elapsed() < END, "testpmd must end in time");
            std::thread::sleep(Duration::from_millis(20));
        }
        let text = reader.join().unwrap();
        [0, 1].map(|port| {
            let section = text.split(&format!("Forward statistics for port {port}")).nth(1).expect(&text);
            ["RX-packets:", "TX-packets:"].map(|name| {
                let number = section.split(name).nth(1).unwrap().split_whitespace().next().unwrap();
                number.parse().unwrap()
            })
        })
    }
}

impl Drop for Testpmd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn installed() -> bool {
    let found =
        Command::new("dpdk-testpmd").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    match found {
        Err(error) => skipped(format!("dpdk-testpmd: {error} (apt install dpdk-dev)")),
        Ok(_) if cores < 2 => skipped("dpdk-testpmd needs two cores"),
        Ok(_) => return true,
    }
    false
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("ranlab-testpmd-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn packets_are_carried_and_counted(role: Role, theirs: &str, queues: u16) {
    let folder = folder(&format!("{theirs}-{queues}"));
    let settings = Settings::new(role, 0).each_way(queues);
    let open =
        || [0, 1].map(|index| Port::new(&folder.join(format!("{index}.sock")), settings.clone()).unwrap());
    let (program, mut ports);
    if role == Role::Master {
        ports = open();
        program = Testpmd::start(&folder, theirs, queues);
    } else {
        program = Testpmd::start(&folder, theirs, queues);
        ports = open();
    }
    ports.iter_mut().for_each(|port| port.bring_up(UP).unwrap());
    assert!(ports[0].peer().contains("DPDK"), "{:?}", ports[0].peer());
    let traffic = Traffic { pkt_size: 128, pkt_num: 1024, dir: Directions::Bidir, ..Traffic::default() };
    let trace = Trace::generate(&Pipeline::all()[0], &traffic).unwrap();
    let late_after = Duration::from_millis(100);
    let drain = Duration::from_secs(2);
    let load = Load { late_after, drain, ..Load::new(20_000, Duration::from_secs(1)) };
    let outcome = run(&mut ports, &trace, &load).unwrap();
    // testpmd's counters belong to the connection and would be lost with it, so testpmd ends first.
    let [[rx0, tx0], [rx1, tx1]] = program.end();
    ports.iter_mut().for_each(Port::stop);
    let tally = outcome.tally;
    println!("{theirs}: {tally:?}", tally = (tally.sent, tally.late, tally.ring_full, tally.received));
    assert_eq!(rx0 + rx1, tally.sent, "testpmd received every packet that the tester sent");
    assert_eq!(tx0 + tx1, tally.received, "the tester received every packet that testpmd sent");
    // testpmd received these packets and did not send them, because the tester's ring was full.
    let ledger = DeviceCounters { ring_full: rx0 + rx1 - tx0 - tx1, ..DeviceCounters::default() };
    assert_eq!(ledger.unknown(&tally), Ok(0));
    assert!(tally.received > 1_000 && tally.unknown + tally.duplicated + tally.malformed == 0);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn testpmd_connects_to_tester() {
    if installed() {
        packets_are_carried_and_counted(Role::Master, "client", 1);
        packets_are_carried_and_counted(Role::Master, "client", 2);
    }
}

#[test]
fn tester_connects_to_testpmd() {
    if installed() {
        packets_are_carried_and_counted(Role::Slave, "server", 1);
        packets_are_carried_and_counted(Role::Slave, "server", 2);
    }
}
