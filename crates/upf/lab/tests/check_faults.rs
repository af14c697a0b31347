//! Runs `check upf` on our UPF. A correct UPF passes all checks. A UPF with a single fault fails only the check of that fault.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, like tests")]

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use ranlab_lab::check::Verdict;
use ranlab_lab::worker::ComponentError;
use ranlab_upf::n4::UpfFault;
use ranlab_upf_lab::check::{UpfCheck, check_upf, upf_checks};
use ranlab_upf_lab::upf::N6;
use ranlab_upf_lab::{Upf, UpfComponent, UpfDesign};

/// Check that detects each fault.
const CLAUSES: &[(UpfFault, &str)] = &[
    (UpfFault::Association, "association"),
    (UpfFault::Heartbeat, "heartbeat with a constant recovery time stamp"),
    (UpfFault::Modification, "a session is established, modified and deleted"),
    (UpfFault::NarrowAction, "trap 1: Apply Action of one and of two octets is answered"),
    (UpfFault::TextNames, "trap 2: Network Instance as labels and as text"),
    (UpfFault::InterfaceType, "trap 3: an accepted rule without interface types forwards"),
    (UpfFault::NodeIdInDeletion, "trap 4: a deletion with Node ID is answered"),
    (UpfFault::OldSessions, "trap 5: a changed recovery time stamp ends the sessions"),
    (UpfFault::Duplicates, "trap 6: a repeated request gets the same answer and is carried out once"),
    (UpfFault::PdnType, "trap 7: an accepted rule without PDN Type forwards downlink"),
    (UpfFault::NoTunnel, "trap 8: TEIDs are chosen as the features announce"),
    (UpfFault::NarrowTriggers, "trap 9: Reporting Triggers of two and of three octets are answered"),
    (UpfFault::WrongTunnel, "a session works in both directions"),
    (UpfFault::NoAssociation, "no association: cause 72"),
    (UpfFault::UnknownSession, "an unknown session: cause 65"),
    (UpfFault::MissingElement, "a missing mandatory element: cause 66 and its number"),
    (UpfFault::WrongLength, "an element of wrong length: cause 68"),
    (UpfFault::Version, "another version: Version Not Supported"),
    (UpfFault::AnyOwner, "a session of another SMF cannot be deleted"),
    (UpfFault::SourcePort, "requests from any port are accepted"),
    (UpfFault::ReportDestination, "reports go to the CP F-SEID's address, port 8805"),
    (UpfFault::SetDeletion, "a set deletion deletes only the sessions of its sets"),
    (UpfFault::Release, "an association release is answered and ends the sessions"),
    (UpfFault::UeAddress, "a UE address is chosen as the features announce"),
    (UpfFault::Ports, "rules with flow descriptions are tried in order of precedence value"),
    (UpfFault::BadFlow, "a flow description that cannot be read: cause 73 and the rule"),
    (UpfFault::EmptyFlow, "an empty flow description excludes nothing"),
    (UpfFault::TypeOfService, "a filter by type of service matches only packets of this type"),
    (UpfFault::N9, "N9: packets are forwarded between tunnels in both directions"),
    (UpfFault::CpFunction, "CP function: packets between UE and SMF are forwarded"),
    (UpfFault::DualStack, "a dual-stack UE uses both IP versions in both directions"),
    (UpfFault::Ethernet, "an Ethernet session forwards or is refused"),
    (UpfFault::Gate, "a closed gate stops packets, an opened one lets them pass"),
    (UpfFault::QosFlow, "downlink packets carry the QFI of the QER"),
    (UpfFault::Marking, "Transport Level Marking is the DSCP of the outer header"),
    (UpfFault::Application, "an application is detected by the flow descriptions of PFD Management"),
    (UpfFault::UnknownApplication, "an unknown application: cause 81"),
    (UpfFault::UsageAtDeletion, "usage is reported at deletion"),
    (UpfFault::Threshold, "reaching a volume threshold is reported with the volume"),
    (UpfFault::ChangedThreshold, "a changed volume threshold counts from the last report"),
    (UpfFault::Quota, "a used-up volume quota stops packets and is reported"),
    (UpfFault::GrantedAgain, "a new quota lets packets pass again"),
    (UpfFault::Query, "Query URR and QAURR are answered with the usage"),
    (UpfFault::Removed, "a removed URR reports its usage"),
    (UpfFault::Periodic, "usage is reported periodically"),
    (UpfFault::TimeThreshold, "reaching a time threshold is reported"),
    (UpfFault::TimeQuota, "a used-up time quota stops packets and is reported"),
    (UpfFault::HoldingTime, "a quota that is not used for its holding time is reported"),
    (UpfFault::InactivityDetection, "time without packets is not measured after Inactivity Detection Time"),
    (UpfFault::Start, "the start of traffic is reported once"),
    (UpfFault::Stop, "the stop of traffic is reported"),
    (UpfFault::Linked, "a URR reports when the URR it is linked to reports"),
    (UpfFault::Echo, "an echo request on N3 is answered"),
    (UpfFault::UnknownTunnel, "an unknown tunnel: error indication"),
    (UpfFault::TeidZero, "TEID 0: no error indication"),
    (UpfFault::OffFilter, "packets that match no rule are dropped silently"),
    (UpfFault::ErrorIndication, "an error indication is reported"),
    (UpfFault::Paging, "buffered packets are reported"),
    (UpfFault::Buffering, "buffered packets are sent in their order of arrival"),
    (UpfFault::EndMarker, "a handover sends one end marker"),
    (UpfFault::Garbage, "the UPF survives truncated and random messages"),
];

/// Number of UPFs checked in parallel. A check mostly waits.
const AT_ONCE: usize = 18;

fn at(test: u8, host: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([127, 67, test, host], port))
}

fn checked(test: u8, fault: Option<UpfFault>, design: UpfDesign, patience: Duration) -> Vec<Verdict> {
    let part = UpfComponent {
        n4: at(test, 8, 8805),
        n3: at(test, 8, 2152),
        n6: N6::Reflect,
        fault,
        design,
        workers: 4,
        ..UpfComponent::default()
    };
    let captures = std::env::temp_dir().join(format!("ranlab-faults-{}-{test}", std::process::id()));
    let config = UpfCheck {
        n3: Some(at(test, 8, 2152)),
        gnb: Some(at(test, 1, 2152)),
        patience,
        hostile: true,
        captures: captures.clone(),
        ..UpfCheck::default()
    };
    let upf = Upf::start(&part).unwrap();
    let verdicts = check_upf::<ComponentError>(at(test, 8, 8805), &config, |_| Ok(())).unwrap();
    upf.stop().unwrap();
    for verdict in verdicts.iter().filter(|verdict| verdict.verdict == "failed") {
        let file = verdict.capture.as_ref().unwrap();
        assert!(std::fs::metadata(file).unwrap().len() > 24, "{}: the capture is empty", verdict.name);
    }
    std::fs::remove_dir_all(captures).unwrap();
    verdicts
}

fn failed(verdicts: &[Verdict]) -> Vec<String> {
    let failed = verdicts.iter().filter(|verdict| verdict.verdict == "failed");
    failed.map(|verdict| format!("{}: {}", verdict.name, verdict.why.as_deref().unwrap_or(""))).collect()
}

#[test]
fn every_fault_has_a_check_and_vice_versa() {
    for (fault, name, _) in UpfFault::ALL {
        assert!(CLAUSES.iter().any(|(own, _)| own == fault), "no clause for the fault {name}");
    }
    for (name, _) in upf_checks() {
        assert!(CLAUSES.iter().any(|(_, own)| *own == name), "no fault for the check \"{name}\"");
    }
}

#[test]
fn correct_upf_passes_every_check_in_three_designs() {
    let designs = [UpfDesign::CpOffload, UpfDesign::Software, UpfDesign::DpOffload];
    std::thread::scope(|scope| {
        for (test, design) in (100..).zip(designs) {
            scope.spawn(move || {
                for verdict in checked(test, None, design, Duration::from_secs(2)) {
                    assert_eq!(verdict.verdict, "passed", "{design:?} {}: {:?}", verdict.name, verdict.why);
                }
            });
        }
    });
}

/// A busy machine may miss a deadline. An unexpected result is therefore repeated once with longer timeouts.
#[test]
fn upf_with_one_fault_fails_only_its_check() {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut wrong = Vec::new();
        while let Some((fault, clause)) = CLAUSES.get(next.fetch_add(1, Relaxed)) {
            let test = 1 + CLAUSES.iter().position(|(own, _)| own == fault).unwrap() as u8;
            let try_with = |patience| {
                let failed = failed(&checked(test, Some(*fault), UpfDesign::CpOffload, patience));
                let exactly = failed.len() == 1 && failed[0].starts_with(&format!("{clause}: "));
                if exactly { None } else { Some(format!("{}: {failed:#?}", fault.name())) }
            };
            let first = try_with(Duration::from_millis(400));
            wrong.extend(first.and_then(|_| try_with(Duration::from_millis(1_500))));
        }
        wrong
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}
