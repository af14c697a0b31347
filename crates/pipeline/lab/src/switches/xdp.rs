//! The kernel's XDP programs as a switch. The maps and programs of a pipeline run on frames in memory
//! (`BPF_PROG_TEST_RUN`).
//!
//! In one thread, the kernel passes the trace to the programs, packet by packet. The cost is the CPU time of this
//! thread. Changes are map updates while the thread runs.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use hdrhistogram::Histogram;
use ranlab_net::{BpfProgram, BpfTable, BpfTableKind, XdpError};
use ranlab_pipeline::backends::xdp::{Feed, MapEntry, MapId, MapKind, MapShape, Program};
use ranlab_pipeline::backends::{Outcomes, Translation};
use ranlab_pipeline::declare::{Direction, Port};
use ranlab_pipeline::pipelines::Pipeline;

use super::dpdk::{self, Resources};
use super::{Driver, Switch, SwitchCounters, SwitchJob, probe};
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, rig, sut};

/// The backend's name.
pub(super) const NAME: &str = "xdp";
/// CPU time of one round, in nanoseconds, after which the packets' verdicts are read. Starting and ending a round costs
/// several hundred microseconds, because the kernel patches its code for the program. It also takes milliseconds of
/// waiting, which is not CPU time. In rounds of this length, the cost is negligible.
const ROUND_NS: u64 = 20_000_000;
/// Numbers of packets in the first round, and in the longest round.
const PACKETS: u32 = 1 << 14;
const PACKETS_MAX: u32 = 1 << 20;
/// XDP verdicts for the same port, and for the other port.
const TX: u32 = 3;
const REDIRECT: u32 = 4;
/// Key of a map with a single entry.
const FIRST: [u8; 4] = [0; 4];
/// Maximum length of a frame that fits into a page next to the kernel's own data, in bytes.
const FRAME_BYTES_MAX: usize = 3_072;

/// Driver for XDP programs.
pub(super) struct Xdp;

impl Driver for Xdp {
    fn name(&self) -> &'static str {
        NAME
    }

    fn runs_in_worker(&self) -> bool {
        true
    }

    /// Returns the same limit as for DPDK programs, so that the results are comparable.
    fn packets_max(&self) -> usize {
        dpdk::PACKETS_MAX
    }

    fn ready(&self) -> Result<(), ComponentError> {
        // The program consists of `r0 = XDP_DROP; exit`.
        BpfProgram::load(&[0x0000_0001_0000_00b7, 0x95]).map(drop).map_err(|error| {
            environment(format!(
                "`sut.engine` \"{NAME}\": {error}: it requires root (or CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON) and a kernel with eBPF"
            ))
        })
    }

    fn replay(&self, job: &SwitchJob<'_>) -> Result<Outcomes, ComponentError> {
        let judges = VerdictPrograms::from_job(job)?;
        let equivalences = job.backend.equivalences(&job.request());
        let mut outcomes = Outcomes::default();
        for (port, frame) in job.trace.iter() {
            if let Some((port, left)) = judges.process(port, frame)? {
                outcomes.sent(port, left, &equivalences);
            }
        }
        Ok(outcomes)
    }

    fn start(&self, job: &SwitchJob<'_>) -> Result<Box<dyn Switch>, ComponentError> {
        let (maps, _) = Maps::from_job(job)?;
        Ok(Box::new(TestRunThread::start(job, maps, true)?))
    }

    fn visible(&self, job: &SwitchJob<'_>, pipeline: &Pipeline) -> Result<Histogram<u64>, ComponentError> {
        let judges = VerdictPrograms::from_job(job)?;
        let mut apply_change = |change: &Translation| {
            change.object.as_ref().map_or(Ok(()), |object| judges.maps.change(&object.entries))
        };
        probe::visible(job, pipeline, probe::SEEN, &mut apply_change, &mut |port, frame| {
            judges.process(port, frame)
        })
    }

    fn io_ns(&self, job: &SwitchJob<'_>, length: Duration) -> Result<Option<f64>, ComponentError> {
        let mut feeding = TestRunThread::start(job, Maps::default(), false)?;
        let before = feeding.read()?;
        std::thread::sleep(length);
        let after = feeding.read()?;
        feeding.check()?;
        let packets = after.received.saturating_sub(before.received);
        if packets == 0 {
            return Err(sut(format!("the kernel moved no packet within {} ms", length.as_millis())));
        }
        Ok(Some(after.cpu_ns.saturating_sub(before.cpu_ns) as f64 / packets as f64))
    }
}

/// The maps of a pipeline.
#[derive(Default)]
struct Maps {
    tables: BTreeMap<MapId, BpfTable>,
}

impl Maps {
    /// Creates and fills the maps of a job. Returns the maps and the job's programs, by port.
    fn from_job(job: &SwitchJob<'_>) -> Result<(Self, [Option<Program>; 2]), ComponentError> {
        let translation = job.backend.translate(&job.request()).map_err(environment)?;
        let object = translation.object.ok_or_else(|| rig("a backend of the kernel has no programs"))?;
        let mut maps = Self::default();
        object.maps.iter().try_for_each(|shape| maps.make(shape))?;
        maps.change(&object.entries)?;
        Ok((maps, object.programs))
    }

    fn make(&mut self, shape: &MapShape) -> Result<(), ComponentError> {
        let kind = match shape.kind {
            MapKind::Array => BpfTableKind::Array,
            MapKind::Hash => BpfTableKind::Hash,
            MapKind::LpmTrie => BpfTableKind::LpmTrie,
        };
        let table = BpfTable::new(kind, shape.key_bytes, shape.value_bytes, shape.entries)
            .map_err(|error| environment(format!("the kernel cannot create map {:?}: {error}", shape.id)))?;
        self.tables.insert(shape.id, table);
        Ok(())
    }

    fn change(&self, entries: &[MapEntry]) -> Result<(), ComponentError> {
        for entry in entries {
            let table = self.tables.get(&entry.map).ok_or_else(|| rig(format!("no map {:?}", entry.map)))?;
            let done = match &entry.value {
                Some(value) => table.set(&entry.key, value),
                None => table.remove(&entry.key),
            };
            done.map_err(|error| sut(format!("map {:?}: {error}", entry.map)))?;
        }
        Ok(())
    }

    fn load(&self, program: &Program) -> Result<BpfProgram, ComponentError> {
        let code = program.linked(|id| self.tables.get(&id).map(BpfTable::descriptor));
        let code = code.ok_or_else(|| rig("a program refers to a missing map"))?;
        BpfProgram::load(&code).map_err(|error| match error {
            XdpError::Program { .. } => sut(error.to_string()),
            _ => environment(error),
        })
    }
}

/// The programs that return the verdict on a single frame, by input port.
struct VerdictPrograms {
    programs: [Option<BpfProgram>; 2],
    /// Maps of the programs, which must exist as long as the programs.
    maps: Maps,
}

impl VerdictPrograms {
    fn from_job(job: &SwitchJob<'_>) -> Result<Self, ComponentError> {
        let (maps, [access, core]) = Maps::from_job(job)?;
        let load = |program: Option<Program>| program.map(|program| maps.load(&program)).transpose();
        Ok(Self { programs: [load(access)?, load(core)?], maps })
    }

    /// Processes a frame. Returns its egress port and its content, or `None` if the frame is dropped.
    fn process(&self, port: Port, frame: &[u8]) -> Result<Option<(Port, Vec<u8>)>, ComponentError> {
        let program = self.programs[port as usize].as_ref().ok_or_else(|| rig("no program of a port"))?;
        let (verdict, left) = program.run(frame).map_err(|error| sut(format!("a program: {error}")))?;
        Ok(match verdict {
            TX => Some((port, left)),
            REDIRECT => Some((port.other(), left)),
            _ => None,
        })
    }
}

/// Results of the thread that runs the program.
#[derive(Default)]
struct TestRunMessage {
    reading: SwitchCounters,
    trouble: Option<io::Error>,
}

/// A thread in which the kernel passes packets to a program.
struct TestRunThread {
    maps: Arc<Maps>,
    said: Arc<Mutex<TestRunMessage>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl TestRunThread {
    fn start(job: &SwitchJob<'_>, mut maps: Maps, pipeline: bool) -> Result<Self, ComponentError> {
        let enters = |direction: &Direction| direction.ingress();
        let ports: Vec<_> = job.directions.iter().map(enters).collect();
        let frames: Vec<_> = job.trace.iter().filter(|(port, _)| ports.contains(port)).collect();
        let longest = frames.iter().map(|(_, frame)| frame.len()).max().unwrap_or(0);
        if longest == 0 || longest > FRAME_BYTES_MAX {
            return Err(environment(format!(
                "the kernel accepts frames of 1 to {FRAME_BYTES_MAX} bytes, but the longest frame of the trace has {longest} bytes"
            )));
        }
        let feed = Feed { frames: frames.len() as u32, frame_bytes_max: longest as u32 };
        feed.maps().iter().try_for_each(|shape| maps.make(shape))?;
        let entry = |(at, (port, frame)): (u32, &(_, &[u8]))| MapEntry {
            map: MapId::Trace,
            key: at.to_ne_bytes().to_vec(),
            value: Some(feed.value(*port, frame)),
        };
        let entries: Vec<_> = (0..).zip(&frames).map(entry).collect();
        maps.change(&entries)?;
        let program = maps.load(&feed.program(&job.request(), pipeline))?;
        let maps = Arc::new(maps);
        let said = Arc::<Mutex<TestRunMessage>>::default();
        let stop = Arc::new(AtomicBool::new(false));
        let cpu = Resources::here()?.forward_cpu;
        let its = Arc::clone(&maps);
        let told = Arc::clone(&said);
        let stopped = Arc::clone(&stop);
        let first = vec![0; longest.max(64)];
        let work = move || {
            let _ = ranlab_net::pin_thread(cpu);
            let ended = feed_until(&stopped, &program, &first, &its, &told);
            told.lock().unwrap_or_else(PoisonError::into_inner).trouble = ended.err();
        };
        let thread = std::thread::Builder::new().name("xdp-feeder".to_owned()).spawn(work);
        Ok(Self { maps, said, stop, thread: Some(thread.map_err(environment)?) })
    }
}

/// Runs the program round after round until `stop` is set. Publishes the packet counters after each round.
fn feed_until(
    stop: &AtomicBool,
    program: &BpfProgram,
    first: &[u8],
    maps: &Maps,
    report: &Mutex<TestRunMessage>,
) -> io::Result<()> {
    let mut packets = PACKETS;
    let mut begun_ns = ranlab_host::thread_cpu_ns().unwrap_or(0);
    while !stop.load(Ordering::Relaxed) {
        program.repeat(first, packets)?;
        let cpu_ns = ranlab_host::thread_cpu_ns().unwrap_or(0);
        let took_ns = cpu_ns.saturating_sub(begun_ns);
        begun_ns = cpu_ns;
        if took_ns < ROUND_NS / 2 {
            packets = (packets * 2).min(PACKETS_MAX);
        } else if took_ns > ROUND_NS * 2 {
            packets = (packets / 2).max(PACKETS);
        }
        let state = maps.tables.get(&MapId::State).map(|table| table.get(&FIRST)).transpose()?.flatten();
        let (received, sent) = Feed::counted(&state.unwrap_or_default());
        report.lock().unwrap_or_else(PoisonError::into_inner).reading =
            SwitchCounters { received, sent, cpu_ns, slow: None };
    }
    Ok(())
}

impl Switch for TestRunThread {
    fn read(&mut self) -> Result<SwitchCounters, ComponentError> {
        Ok(self.said.lock().unwrap_or_else(PoisonError::into_inner).reading)
    }

    fn update(&mut self, change: &Translation) -> Result<(), ComponentError> {
        change.object.as_ref().map_or(Ok(()), |object| self.maps.change(&object.entries))
    }

    fn check(&mut self) -> Result<(), ComponentError> {
        match self.said.lock().unwrap_or_else(PoisonError::into_inner).trouble.take() {
            Some(error) => Err(sut(format!("the kernel stopped running the program: {error}"))),
            None => Ok(()),
        }
    }

    fn huge_page_ratio(&self) -> f64 {
        0.0
    }
}

impl Drop for TestRunThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::SMALL;
    use super::*;
    use ranlab_machine::Random;
    use ranlab_pipeline::backends::named;
    use ranlab_pipeline::declare::Verdict;
    use ranlab_pipeline::pipelines::Pipeline;
    use ranlab_pipeline::trace::{Directions, Trace, Traffic};

    /// Damages a frame: changes bytes, truncates it, or adds padding.
    fn damage(random: &mut Random, frame: &mut Vec<u8>) {
        for _ in 0..=random.below(2) {
            match random.below(8) {
                0 => frame.truncate(14 + random.below(frame.len() as u64 - 13) as usize),
                1 => frame.extend(vec![0; random.below(20) as usize]),
                // These offsets are within headers.
                2 | 3 => {
                    let at = random.below(frame.len().min(90) as u64) as usize;
                    frame[at] = random.next() as u8;
                }
                4 => {
                    let at = random.below(frame.len() as u64) as usize;
                    frame[at] ^= 1 << random.below(8);
                }
                _ => {}
            }
        }
    }

    /// Returns whether a frame may contain IPv4 with options, which the programs drop ([`Equivalence::Options`]). The
    /// header may be outside of a tunnel, or in GRE, VXLAN, or GTP-U with or without an extension header.
    fn optional(frame: &[u8]) -> bool {
        [14, 42, 50, 58, 64].iter().any(|at| frame.get(*at).is_some_and(|first| (0x46..0x50).contains(first)))
    }

    #[test]
    fn damaged_frames_get_oracle_verdicts() {
        if let Err(trouble) = Xdp.ready() {
            ranlab_host::doctor::skipped(trouble.to_string());
            return;
        }
        let mut random = Random::stream(7, 0);
        let families = ["ipv4", "dual"];
        for (json, family) in SMALL.iter().flat_map(|json| families.map(|family| (json, family))) {
            let known = ["l3fwd", "acl", "portfwd", "l2fwd"].iter().any(|name| json.contains(name));
            let json = if known {
                (*json).to_owned()
            } else {
                json.replacen('{', &format!("{{\"family\":\"{family}\","), 1)
            };
            let pipeline: Pipeline = serde_json::from_str(&json).unwrap();
            let declaration = pipeline.build().unwrap();
            let traffic = Traffic { pkt_num: 256, dir: Directions::Bidir, ..Traffic::default() };
            let trace = Trace::generate(&pipeline, &traffic).unwrap();
            let directions = &[Direction::Uplink, Direction::Downlink];
            let folder = std::path::Path::new("/nonexistent");
            let backend = named(NAME).unwrap();
            let job = SwitchJob {
                backend,
                declaration: &declaration,
                directions,
                trace: &trace,
                folder,
                ring: 0,
                far: None,
                build: None,
                connects: false,
            };
            let judges = VerdictPrograms::from_job(&job).unwrap();
            let mut oracle = pipeline.oracle().unwrap();
            let mut left = 0;
            let frames: Vec<_> = trace.iter().collect();
            for (index, (port, frame)) in frames.iter().cycle().take(2_000).enumerate() {
                let port = *port;
                let mut frame = frame.to_vec();
                if index >= trace.len() {
                    damage(&mut random, &mut frame);
                }
                if optional(&frame) {
                    continue;
                }
                let was = frame.clone();
                let found = judges.process(port, &frame).unwrap();
                let expected = match oracle.process(0, port, &mut frame) {
                    Verdict::Sent(port) => Some((port, frame)),
                    Verdict::Dropped(_) => None,
                };
                left += u32::from(expected.is_some());
                let text =
                    |frame: &[u8]| frame.iter().map(|octet| format!("{octet:02x}")).collect::<String>();
                let shown = |one: &Option<(Port, Vec<u8>)>| {
                    one.as_ref().map(|(port, frame)| format!("{port:?} {}", text(frame)))
                };
                assert_eq!(shown(&found), shown(&expected), "{json} {port:?} {index}: {}", text(&was));
            }
            assert!(left >= 256, "{json}");
        }
    }
}
