//! Tests that the checks of `check upf` can fail: each UPF here has one fault, which a check must detect.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, like tests")]

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ranlab_lab::check::Verdict;
use ranlab_lab::worker::{ComponentError, FaultOwner};
use ranlab_machine::Time;
use ranlab_upf::forwarding::{Refusal, Rules, UserPlane};
use ranlab_upf::n4::{
    DataPlane, Dialect, Mock, MockSettings, RuleFault, Session, UpfInput, UpfOutput, UpfSettings, UsageQuery,
};
use ranlab_upf::pfcp::{
    ApplicationPfds, Cause, Header, Ies, SessionDeletionResponse, UsageReport, encode, message_type,
};
use ranlab_upf_lab::check::{UpfCheck, check_upf};

fn at(test: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([127, 65, test, 8], port))
}

/// Function that modifies a response, or suppresses it by returning `None`.
type Habit = fn(Vec<u8>) -> Option<Vec<u8>>;

/// Control plane of a UPF with a fault.
struct Faulty {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Data plane that accepts the same rules as ranlab's UPF, and always has usage to report.
struct Metered;

impl DataPlane for Metered {
    fn check(&mut self, session: &Session) -> Result<(), RuleFault> {
        let rules = Rules {
            pdrs: &session.pdrs,
            fars: &session.fars,
            qers: &session.qers,
            urrs: &session.urrs,
            bar: session.bar.as_ref(),
            applications: &session.applications,
        };
        let fault = |refusal: Refusal| RuleFault { cause: refusal.cause, failed: Some(refusal.failed) };
        UserPlane::check(&rules).map_err(fault)
    }
    fn check_application(&mut self, application: &ApplicationPfds) -> Result<(), Cause> {
        UserPlane::check_application(application).map_err(|_| Cause::MANDATORY_IE_INCORRECT)
    }
    fn usage(&mut self, _: u64, _: UsageQuery<'_>) -> Vec<UsageReport> {
        vec![UsageReport::default()]
    }
}

impl Faulty {
    fn start(test: u8, settings: UpfSettings, habit: Habit) -> Self {
        let socket = UdpSocket::bind(at(test, 8805)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut upf = Mock::new(MockSettings::default(), settings);
            let begin = Instant::now();
            let mut room = [0; 4_096];
            while !stopped.load(Relaxed) {
                let now = Time::from_nanos(begin.elapsed().as_nanos() as u64);
                let input = match socket.recv_from(&mut room) {
                    Ok((len, from)) => UpfInput::Received(from, &room[..len]),
                    Err(_) => UpfInput::Wake,
                };
                upf.handle_with(now, input, &mut Metered);
                while let Some(output) = upf.poll() {
                    if let UpfOutput::Send(to, answer) = output
                        && let Some(answer) = habit(answer)
                    {
                        socket.send_to(&answer, to).unwrap();
                    }
                }
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn strict(test: u8) -> UpfSettings {
    UpfSettings::new(at(test, 0).ip(), Dialect::STRICT_REL17)
}

/// Runs the checks without N3. Returns the verdicts.
fn checked(test: u8, settings: UpfSettings, habit: Habit) -> Vec<Verdict> {
    let captures = std::env::temp_dir().join(format!("ranlab-check-{}-{test}", std::process::id()));
    let dialect = settings.dialect;
    let upf = Faulty::start(test, settings, habit);
    let patience = Duration::from_millis(500);
    let config = UpfCheck { dialect, patience, captures: captures.clone(), ..UpfCheck::default() };
    let verdicts = check_upf::<ComponentError>(at(test, 8805), &config, |_| Ok(())).unwrap();
    drop(upf);
    for verdict in &verdicts {
        assert_eq!(verdict.verdict == "failed", verdict.capture.as_ref().is_some_and(|file| file.is_file()));
    }
    std::fs::remove_dir_all(captures).unwrap();
    verdicts
}

fn why<'a>(verdicts: &'a [Verdict], name: &str) -> (&'static str, &'a str) {
    let found = verdicts.iter().find(|verdict| verdict.name.contains(name));
    let found = found.unwrap_or_else(|| panic!("there is no check {name}"));
    (found.verdict, found.why.as_deref().unwrap_or(""))
}

/// Returns the offset of the value of a top-level information element.
fn element(answer: &[u8], number: u16) -> Option<usize> {
    let (_, body, _) = Header::read(answer).ok()?;
    let start = answer.len() - body.len();
    let mut at = start;
    for (own, value) in Ies::new(body).flatten() {
        if own == number {
            return Some(at + 4);
        }
        at += 4 + value.len();
    }
    None
}

/// Replaces one cause (element 19) with another one.
fn recaused(mut answer: Vec<u8>, from: u8, to: u8) -> Vec<u8> {
    if let Some(at) = element(&answer, 19).filter(|at| answer[*at] == from) {
        answer[at] = to;
    }
    answer
}

#[test]
fn correct_upf_passes_and_packet_checks_are_skipped_without_n3() {
    let verdicts = checked(1, strict(1), Some);
    for verdict in &verdicts {
        assert_ne!(verdict.verdict, "failed", "{}: {:?}", verdict.name, verdict.why);
    }
    let (verdict, reason) = why(&verdicts, "works in both directions");
    assert_eq!((verdict, reason), ("skipped", "packets are checked only with --n3"));
    assert_eq!(why(&verdicts, "an echo request on N3 is answered").0, "skipped");
}

#[test]
fn silent_upf_fails_association_check() {
    let verdicts = checked(2, strict(2), |_| None);
    let stopped = "it stopped answering: an association setup went unanswered";
    assert_eq!(why(&verdicts, "association"), ("failed", stopped));
    let since = "it has not answered since the check \"association\"";
    for verdict in &verdicts[1..] {
        assert_eq!((verdict.verdict, verdict.why.as_deref()), ("skipped", Some(since)), "{}", verdict.name);
    }
}

#[test]
fn changing_recovery_time_stamp_is_detected() {
    static BEATS: AtomicU32 = AtomicU32::new(0);
    let verdicts = checked(3, strict(3), |mut answer| {
        if answer[1] == message_type::HEARTBEAT_RESPONSE
            && let Some(at) = element(&answer, 96)
        {
            answer[at + 3] = answer[at + 3].wrapping_add(BEATS.fetch_add(1, Relaxed) as u8);
        }
        Some(answer)
    });
    let (verdict, reason) = why(&verdicts, "constant recovery time stamp");
    assert!(verdict == "failed" && reason.contains("without a restart"), "{reason}");
}

#[test]
fn duplicate_execution_is_detected() {
    let verdicts = checked(4, UpfSettings { held_answers: 0, ..strict(4) }, Some);
    let (verdict, reason) = why(&verdicts, "trap 6");
    assert!(verdict == "failed" && reason.contains("carried out twice"), "{reason}");
}

#[test]
fn wrong_cause_is_reported_with_expected_cause() {
    let verdicts =
        checked(5, strict(5), |answer| Some(recaused(recaused(recaused(answer, 65, 64), 72, 73), 66, 69)));
    assert_eq!(why(&verdicts, "cause 65"), ("failed", "a modification: cause 64 instead of 65"));
    assert!(why(&verdicts, "cause 72").1.contains("cause 73 instead of 72"));
    assert!(why(&verdicts, "cause 66").1.contains("cause 69 instead of 66"));
}

#[test]
fn missing_usage_report_is_detected_at_deletion() {
    let verdicts = checked(6, strict(6), |answer| {
        let (header, ..) = Header::read(&answer).unwrap();
        if header.message_type != message_type::SESSION_DELETION_RESPONSE {
            return Some(answer);
        }
        let bare = SessionDeletionResponse { cause: Cause::ACCEPTED, ..Default::default() };
        encode(bare, header.seid, header.sequence).ok()
    });
    let (verdict, reason) = why(&verdicts, "usage is reported");
    assert!(verdict == "failed" && reason.contains("without a usage report"), "{reason}");
}

#[test]
fn announced_tunnel_choice_is_verified() {
    let verdicts = checked(7, strict(7), |mut answer| {
        if answer[1] == message_type::SESSION_ESTABLISHMENT_RESPONSE
            && let Some(at) = element(&answer, 8)
        {
            // The type of the Created PDR is changed to an unknown element.
            answer[at - 4] = 0x7f;
        }
        Some(answer)
    });
    let (verdict, reason) = why(&verdicts, "trap 8");
    assert!(verdict == "failed" && reason.contains("chose no tunnel"), "{reason}");
}

#[test]
fn sessions_outliving_smf_restart_are_detected() {
    let verdicts = checked(8, UpfSettings::new(at(8, 0).ip(), Dialect::EUPF), Some);
    assert_eq!(why(&verdicts, "trap 5"), ("failed", "the session still exists after a restart of its SMF"));
}

#[test]
fn repeated_runs_agree_although_upf_keeps_association() {
    let captures = std::env::temp_dir().join(format!("ranlab-check-twice-{}", std::process::id()));
    let smf = SocketAddr::from(([127, 66, 10, 1], 8805));
    for (dialect, smf) in [(Dialect::EUPF, Some(smf)), (Dialect::EUPF, None), (Dialect::OPEN5GS, None)] {
        let upf = Faulty::start(10, UpfSettings::new(at(10, 0).ip(), dialect), Some);
        let only = ["association", "trap 5", "another SMF"].map(str::to_owned).to_vec();
        let captures = captures.clone();
        let config = UpfCheck { smf, only, dialect, captures, ..UpfCheck::default() };
        let run = || {
            let verdicts = check_upf::<ComponentError>(at(10, 8805), &config, |_| Ok(())).unwrap();
            verdicts
                .into_iter()
                .map(|verdict| (verdict.name, verdict.verdict, verdict.why))
                .collect::<Vec<_>>()
        };
        let first = run();
        assert!(first.contains(&("no association: cause 72", "passed", None)), "{first:?}");
        assert_eq!(run(), first, "{smf:?}");
        drop(upf);
    }
    std::fs::remove_dir_all(captures).unwrap();
}

#[test]
fn checks_are_selected_by_substring() {
    let captures = std::env::temp_dir();
    let upf = Faulty::start(11, strict(11), Some);
    let run = |only: &[&str]| {
        let only = only.iter().map(|part| (*part).to_owned()).collect();
        let config = UpfCheck { only, captures: captures.clone(), ..UpfCheck::default() };
        check_upf::<ComponentError>(at(11, 8805), &config, |_| Ok(()))
    };
    let names: Vec<_> = run(&["Trap 6", "cause 65"]).unwrap().iter().map(|verdict| verdict.name).collect();
    assert_eq!(names.len(), 2);
    assert!(names[0].starts_with("trap 6") && names[1].ends_with("cause 65"), "{names:?}");
    let error = run(&["trap 99"]).unwrap_err();
    assert!(
        error.fault == FaultOwner::Rig
            && error.what.contains("trap 99")
            && error.what.contains("an echo request on N3 is answered")
    );
    drop(upf);
}

#[test]
fn checks_stop_when_upf_process_ends() {
    let mut process = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let upf = Faulty::start(12, strict(12), Some);
    let only = vec!["association".to_owned(), "cause 65".to_owned()];
    let upf_pid = Some(process.id());
    let config = UpfCheck { only, upf_pid, captures: std::env::temp_dir(), ..UpfCheck::default() };
    let mut kill = |_: &Verdict| process.kill().and_then(|()| process.wait().map(drop));
    let on_verdict = |verdict: &Verdict| {
        kill(verdict).map_err(|error| ComponentError { fault: FaultOwner::Rig, what: error.to_string() })
    };
    let verdicts = check_upf::<ComponentError>(at(12, 8805), &config, on_verdict).unwrap();
    assert_eq!(why(&verdicts, "association"), ("passed", ""));
    assert_eq!(why(&verdicts, "cause 65"), ("skipped", "the UPF's process has ended"));
    let gone = check_upf::<ComponentError>(at(12, 8805), &config, |_| Ok(())).unwrap_err();
    assert!(gone.what.contains("no process"), "{gone}");
    drop(upf);
}

#[test]
fn observer_can_stop_checks_and_missing_folder_is_an_error() {
    let upf = Faulty::start(9, strict(9), Some);
    let tired =
        |_: &Verdict| Err(ComponentError { fault: FaultOwner::Environment, what: "enough".to_owned() });
    let captures = std::env::temp_dir();
    let config = UpfCheck { captures, ..UpfCheck::default() };
    assert_eq!(check_upf(at(9, 8805), &config, tired).unwrap_err().what, "enough");
    let config = UpfCheck { captures: "/dev/null/captures".into(), ..UpfCheck::default() };
    let error = check_upf::<ComponentError>(at(9, 8805), &config, |_| Ok(())).unwrap_err();
    assert!(error.fault == FaultOwner::Rig && error.what.contains("/dev/null/captures"), "{error}");
    drop(upf);
}
