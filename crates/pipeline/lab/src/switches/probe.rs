//! Measures the time from a change until the switch processes packets accordingly. The switch may confirm a change
//! before it has an effect. A probe packet is therefore sent repeatedly until its result differs. The oracle selects
//! the packet and its expected output.

use std::time::{Duration, Instant};

use crate::memif::Port as RingPort;
use hdrhistogram::Histogram;
use ranlab_pipeline::backends::{Equivalence, Translation, input, normalise};
use ranlab_pipeline::declare::{EventKind, Port, Verdict};
use ranlab_pipeline::pipelines::{Oracle, Pipeline};
use ranlab_pipeline::trace::Trace;

use super::{Switch, SwitchJob};
use crate::pipeline::histogram;
use crate::ring;
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{rig, sut};

/// Maximum number of changes that are probed.
const PROBES: u64 = 16;
/// Maximum number of changes that are applied for probing. Changes that affect no packet of the trace are applied but
/// not probed.
const EVENTS_MAX: usize = 64;
/// Number of trace packets that are searched for a probe.
const PACKETS: usize = 512;
/// Time limit for a change to take effect.
pub(super) const SEEN: Duration = Duration::from_secs(5);
/// Time limit for the return of a sent packet.
const BACK: Duration = Duration::from_millis(20);

/// Returns whether packets of the trace can show the effect of this event. Users that are added or removed have no
/// packets in the trace.
fn moves(what: EventKind) -> bool {
    matches!(what, EventKind::Handover { .. } | EventKind::GroupChanges { .. })
}

/// Returns whether a pipeline has changes that can be probed.
pub(super) fn any(pipeline: &Pipeline) -> bool {
    pipeline.events(0).is_ok_and(|events| events.iter().any(|event| moves(event.what)))
}

/// Runs [`visible`] for a switch whose memif ports are connected to the tester's ports.
pub(super) fn by_rings(
    job: &SwitchJob<'_>,
    pipeline: &Pipeline,
    switch: &mut dyn Switch,
    ports: &mut [RingPort; 2],
) -> Result<Histogram<u64>, ComponentError> {
    let mut apply_change = |change: &Translation| switch.update(change);
    visible(job, pipeline, SEEN, &mut apply_change, &mut |port, frame| ring::one(ports, port, frame, BACK))
}

/// Port and content of a packet that left the switch, or `None` if no packet left.
pub(super) type ProbeResult = Option<(Port, Vec<u8>)>;
/// A function that applies a change. Returns after the switch has confirmed it.
pub(super) type InstallFn<'a> = &'a mut (dyn FnMut(&Translation) -> Result<(), ComponentError> + Send);
/// A function that sends one packet through the switch.
pub(super) type ProbeFn<'a> = &'a mut dyn FnMut(Port, &[u8]) -> Result<ProbeResult, ComponentError>;

/// Applies the first changes of a pipeline that are visible in packets of the trace, one after the other.
///
/// For each change, records the time in nanoseconds from the start of the command until a packet is processed
/// accordingly. The result is empty if there are no such changes.
///
/// # Errors
///
/// A change is not visible within `patience`, or the switch rejected it.
pub(super) fn visible(
    job: &SwitchJob<'_>,
    pipeline: &Pipeline,
    patience: Duration,
    apply_change: InstallFn<'_>,
    pass: ProbeFn<'_>,
) -> Result<Histogram<u64>, ComponentError> {
    let equivalences = job.backend.equivalences(&job.request());
    let mut seen = histogram();
    let mut then = pipeline.oracle().map_err(rig)?;
    let mut now = pipeline.oracle().map_err(rig)?;
    let events = pipeline.events(0).map_err(rig)?;
    // Users that are added or removed have no packets in the trace.
    let moves = |what: EventKind| matches!(what, EventKind::Handover { .. } | EventKind::GroupChanges { .. });
    for event in events.iter().filter(|event| moves(event.what)).take(EVENTS_MAX) {
        let Ok(change) = job.backend.update(&job.request(), &event.changes) else { break };
        now.apply(event.what);
        match probe(job.trace, (&mut then, &mut now), &equivalences) {
            Some(probe) => {
                let took = until_seen(&probe, &equivalences, patience, &mut || apply_change(&change), pass)?;
                seen.saturating_record(took.as_nanos() as u64);
            }
            None => apply_change(&change)?,
        }
        then.apply(event.what);
        if seen.len() >= PROBES {
            break;
        }
    }
    Ok(seen)
}

/// A packet whose processing shows the effect of a change.
struct Probe {
    port: Port,
    frame: Vec<u8>,
    after: ProbeResult,
}

/// Returns the first packet that the oracle processes differently after a change.
fn probe(trace: &Trace, oracles: (&mut Oracle, &mut Oracle), equivalences: &[Equivalence]) -> Option<Probe> {
    let (then, now) = oracles;
    trace.range(0, PACKETS).find_map(|(port, frame)| {
        let mut frame = frame.to_vec();
        normalise(&mut frame, input(equivalences));
        let treated = |oracle: &mut Oracle| {
            let mut left = frame.clone();
            match oracle.process(0, port, &mut left) {
                Verdict::Sent(out) => alike(Some((out, left)), equivalences),
                Verdict::Dropped(_) => None,
            }
        };
        let before = treated(then);
        let after = treated(now);
        (before != after).then_some(Probe { port, frame, after })
    })
}

fn alike(treated: ProbeResult, equivalences: &[Equivalence]) -> ProbeResult {
    treated.map(|(port, mut frame)| {
        normalise(&mut frame, equivalences);
        (port, frame)
    })
}

/// Applies a change in a separate thread, and repeats the probe packet until its result is as expected.
fn until_seen(
    probe: &Probe,
    equivalences: &[Equivalence],
    patience: Duration,
    apply_change: &mut (dyn FnMut() -> Result<(), ComponentError> + Send),
    pass: ProbeFn<'_>,
) -> Result<Duration, ComponentError> {
    std::thread::scope(|scope| {
        let begun = Instant::now();
        let applying = scope.spawn(apply_change);
        let seen = loop {
            let treated = alike(pass(probe.port, &probe.frame)?, equivalences);
            let took = begun.elapsed();
            if treated == probe.after {
                break Ok(took);
            }
            if took >= patience {
                let s = patience.as_secs_f64();
                break Err(sut(format!(
                    "no packet was affected by a change within {s} s after the command of the change"
                )));
            }
        };
        applying.join().map_err(|_| rig("the thread that sends changes died"))??;
        seen
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use ranlab_pipeline::backends::named;
    use ranlab_pipeline::declare::Direction;
    use ranlab_pipeline::trace::Traffic;

    use super::*;

    /// Runs the probe with an oracle as the switch. The oracle applies a change some time after its confirmation, or
    /// never if `takes` is false.
    fn seen_of(takes: bool, patience: Duration) -> Result<Histogram<u64>, ComponentError> {
        let json = r#"{"name":"l3fwd","upstream-l3-table-size":8,"upstream-group-table-size":2,"fluct-group-table":3}"#;
        let pipeline: Pipeline = serde_json::from_str(json).unwrap();
        let declaration = pipeline.build().unwrap();
        let mut oracle = pipeline.oracle().unwrap();
        let trace = Trace::generate(&pipeline, &Traffic { pkt_num: 64, ..Traffic::default() }).unwrap();
        let job = SwitchJob {
            backend: named("xdp").unwrap(),
            declaration: &declaration,
            directions: &[Direction::Uplink],
            trace: &trace,
            folder: std::path::Path::new(""),
            far: None,
            build: None,
            ring: 4,
            connects: false,
        };
        let events = pipeline.events(0).unwrap();
        let changes = AtomicUsize::new(0);
        let mut applied = 0;
        let mut since = None;
        let mut apply_change = |_: &Translation| {
            changes.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        let mut pass = |port: Port, frame: &[u8]| {
            let late = Duration::from_millis(30);
            if takes
                && applied < changes.load(Ordering::SeqCst)
                && since.get_or_insert_with(Instant::now).elapsed() >= late
            {
                oracle.apply(events[applied].what);
                (applied, since) = (applied + 1, None);
            }
            let mut frame = frame.to_vec();
            Ok(match oracle.process(0, port, &mut frame) {
                Verdict::Sent(out) => Some((out, frame)),
                Verdict::Dropped(_) => None,
            })
        };
        visible(&job, &pipeline, patience, &mut apply_change, &mut pass)
    }

    #[test]
    fn change_is_timed_until_first_changed_packet() {
        let seen = seen_of(true, Duration::from_secs(20)).unwrap();
        assert_eq!(seen.len(), 3);
        assert!(seen.min() >= 29_000_000, "{} ns", seen.min());
    }

    #[test]
    fn confirmed_change_without_effect_is_an_error() {
        let trouble = seen_of(false, Duration::from_millis(50)).err().unwrap();
        assert!(trouble.what.contains("no packet was affected by a change within 0.05 s"), "{trouble}");
    }
}
