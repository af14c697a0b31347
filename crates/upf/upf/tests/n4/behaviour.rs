//! Tests of handovers, reports, restarts, and faulty or malicious peers.
use super::*;
use ranlab_upf::pfcp::*;

/// Returns the UPF's response to bytes sent from a port of the SMF's host.
fn answer(pair: &mut Pair, port: u16, octets: &[u8]) -> Option<Vec<u8>> {
    answer_to(pair, std::net::SocketAddr::new(Pair::SMF_ADDRESS.ip(), port), octets)
}

/// Returns the UPF's response to bytes from `from`.
fn answer_to(pair: &mut Pair, from: std::net::SocketAddr, octets: &[u8]) -> Option<Vec<u8>> {
    pair.upf.handle(pair.now, UpfInput::Received(from, octets));
    pair.upf.handle(pair.now, UpfInput::Wake);
    let mut sent = None;
    while let Some(output) = pair.upf.poll() {
        if let UpfOutput::Send(to, datagram) = output {
            assert_eq!(to, from);
            sent = Some(datagram);
        }
    }
    sent
}

#[test]
fn handover_event_names_tunnel_for_end_marker() {
    let mut pair = associated(Dialect::STRICT_REL17, Dialect::STRICT_REL17);
    let (id, seid) = session(&mut pair, 7);
    let tunnel = Tunnel { teid: 8, peer: [10, 0, 0, 4].into() };
    pair.smf.modify(pair.now, pair.now, id, Change::Downlink { tunnel, end_marker: true }).unwrap();
    pair.upf_events.clear();
    assert_eq!(outcomes(&mut pair, 1), [(Kind::Modification, Outcome::Ok)]);
    let end_markers = vec![OuterHeaderCreation::gtpu(7, [10, 0, 0, 3].into())];
    assert_eq!(
        pair.upf_events,
        [UpfEvent::Modified { seid, end_markers, drop_buffered: false, granted: Vec::new() }]
    );
    let far = pair.upf.upf().session(seid).unwrap().far(Direction::Downlink).unwrap();
    let header = far.forwarding_parameters.as_ref().unwrap().outer_header_creation.unwrap();
    assert_eq!(header, OuterHeaderCreation::gtpu(8, [10, 0, 0, 4].into()));
}

#[test]
fn idle_session_reports_buffered_packets() {
    let mut pair = associated(Dialect::STRICT_REL17, Dialect::STRICT_REL17);
    let (id, seid) = session(&mut pair, 1);
    pair.smf.modify(pair.now, pair.now, id, Change::Buffer).unwrap();
    outcomes(&mut pair, 1);
    assert_eq!(forwards(&pair, seid), (true, false));
    let mut upf = Upf::new(upf_settings(Dialect::STRICT_REL17));
    assert!(!upf.report_downlink_data(pair.now, 77, PdrId(2)));
    // The test composes the report itself, with the bytes that the UPF of the pair would send.
    let Some(SmfEvent::Done(_)) = pair.smf_events.last() else { panic!() };
    let report = SessionReportRequest {
        report_type: ReportType::new(ReportType::DLDR),
        downlink_data_report: Some(DownlinkDataReport { pdr_ids: vec![PdrId(2)], ..Default::default() }),
        ..Default::default()
    };
    let octets = encode(report.clone(), Some(id.0), 1).unwrap();
    for _ in 0..2 {
        pair.smf.handle(pair.now, SmfInput::Received(&octets));
    }
    let outputs: Vec<_> = std::iter::from_fn(|| pair.smf.poll()).collect();
    let [SmfOutput::Event(event), SmfOutput::Send(first), SmfOutput::Send(second)] = &outputs[..] else {
        panic!("{outputs:?}")
    };
    assert_eq!(*event, SmfEvent::Report(id, report.into()));
    assert_eq!(first, second);
    let (pdu, _) = decode(first).unwrap();
    assert_eq!(pdu.header.seid, Some(seid));
    assert!(matches!(pdu.message, Message::SessionReportResponse(r) if r.cause == Cause::ACCEPTED));
}

#[test]
fn upf_report_is_answered_or_lost() {
    let mut upf = Upf::new(upf_settings(Dialect::STRICT_REL17));
    let mut smf = Smf::new(smf_settings(Dialect::STRICT_REL17), profile()).unwrap();
    let mut now = at(0);
    let exchange = |smf: &mut Smf, upf: &mut Upf| {
        let mut reported = Vec::new();
        for _ in 0..4 {
            while let Some(output) = smf.poll() {
                if let SmfOutput::Send(datagram) = output {
                    upf.handle(at(0), UpfInput::Received(Pair::SMF_ADDRESS, &datagram));
                }
            }
            while let Some(output) = upf.poll() {
                match output {
                    UpfOutput::Send(_, datagram) => smf.handle(at(0), SmfInput::Received(&datagram)),
                    UpfOutput::Event(UpfEvent::Reported(done)) => reported.push(done.outcome),
                    UpfOutput::Event(_) => {}
                }
            }
        }
        reported
    };
    smf.associate(now).unwrap();
    exchange(&mut smf, &mut upf);
    smf.establish(now, now, spec(1)).unwrap();
    exchange(&mut smf, &mut upf);
    assert!(upf.report_downlink_data(now, 1, PdrId(2)));
    assert_eq!(exchange(&mut smf, &mut upf), [Outcome::Ok]);
    assert!(upf.report_downlink_data(now, 1, PdrId(2)));
    while upf.poll().is_some() {}
    for _ in 0..4 {
        now = upf.wake_at().unwrap();
        upf.handle(now, UpfInput::Wake);
    }
    let lost = std::iter::from_fn(|| upf.poll()).filter_map(|output| match output {
        UpfOutput::Event(UpfEvent::Reported(done)) => Some((done.outcome, done.attempts)),
        _ => None,
    });
    assert_eq!(lost.collect::<Vec<_>>(), [(Outcome::Lost, 4)]);
    assert!(upf.ledger().balanced());
}

#[test]
fn restart_of_upf_is_detected_and_sessions_can_be_reestablished() {
    let settings =
        SmfSettings { heartbeat: Some(Duration::from_millis(500)), ..smf_settings(Dialect::STRICT_REL17) };
    let mock = MockSettings { crash_after: Some(5), ..Default::default() };
    let mut pair = pair_of(settings, upf_settings(Dialect::STRICT_REL17), mock, Impairments::delay(DELAY));
    pair.smf.associate(pair.now).unwrap();
    pair.run_until(at(1));
    session(&mut pair, 1);
    session(&mut pair, 2);
    pair.smf.establish(pair.now, pair.now, spec(3)).unwrap();
    assert_eq!(outcomes(&mut pair, 450), [(Kind::Establishment, Outcome::Lost)]);
    assert!(pair.upf.is_crashed());
    pair.upf.restart();
    outcomes(&mut pair, 1_000);
    assert!(pair.smf_events.contains(&SmfEvent::PeerRestarted { sessions: 2 }));
    assert_eq!((pair.smf.live_sessions(), pair.smf.is_associated()), (0, false));
    pair.smf.associate(pair.now).unwrap();
    outcomes(&mut pair, 1);
    let (_, seid) = session(&mut pair, 1);
    assert_eq!(forwards(&pair, seid), (true, true));
}

#[test]
fn seid_of_another_peer_has_no_effect() {
    let mut pair = associated(Dialect::STRICT_REL17, Dialect::STRICT_REL17);
    let (_, seid) = session(&mut pair, 1);
    let thief = std::net::SocketAddr::from(([10, 0, 0, 99], 8805));
    let before = pair.upf.upf().session(seid).cloned();
    let theft = encode(pair.smf.templates().modification(downlink(66)), Some(seid), 9).unwrap();
    let end = encode(SessionDeletionRequest::default(), Some(seid), 10).unwrap();
    for octets in [theft, end] {
        let answer = answer_to(&mut pair, thief, &octets).unwrap();
        let fast = Response::read(&answer).unwrap();
        assert_eq!((fast.cause, fast.seid), (Some(Cause::CONTEXT_NOT_FOUND), Some(0)));
    }
    assert_eq!(pair.upf.upf().session(seid).cloned(), before);
    // A request from another address must not establish a session, whatever its Node ID is.
    let spoofed = encode(pair.smf.templates().establishment(1, spec(2)), Some(0), 11).unwrap();
    let fast = answer_to(&mut pair, thief, &spoofed).unwrap();
    assert_eq!(Response::read(&fast).unwrap().cause, Some(Cause::NO_ASSOCIATION));
    assert_eq!(pair.upf.upf().sessions(), 1);
}

/// An SMF may use any source port for a request (TS 29.244 §4.2.2).
#[test]
fn requests_from_any_port_of_smf_are_accepted() {
    let mut pair = associated(Dialect::STRICT_REL17, Dialect::STRICT_REL17);
    let request = encode(pair.smf.templates().establishment(1, spec(2)), Some(0), 11).unwrap();
    let established = answer(&mut pair, 40_001, &request).unwrap();
    let response = Response::read(&established).unwrap();
    assert_eq!(response.cause, Some(Cause::ACCEPTED));
    let seid = response.up_seid;
    let request = encode(pair.smf.templates().modification(downlink(66)), seid, 12).unwrap();
    let modified = answer(&mut pair, 40_002, &request).unwrap();
    assert_eq!(Response::read(&modified).unwrap().cause, Some(Cause::ACCEPTED));
    assert!(pair.upf.upf_mut().report_downlink_data(at(3), seid.unwrap(), PdrId(2)));
    let to = std::iter::from_fn(|| pair.upf.poll()).find_map(|output| match output {
        UpfOutput::Send(to, _) => Some(to),
        UpfOutput::Event(_) => None,
    });
    assert_eq!(to, Some(Pair::SMF_ADDRESS), "reports are sent to the PFCP port");
}

#[test]
fn malformed_requests_get_matching_cause_and_change_nothing() {
    let mut pair = associated(Dialect::STRICT_REL17, Dialect::STRICT_REL17);
    let (_, seid) = session(&mut pair, 1);
    let before = pair.upf.upf().session(seid).cloned();
    let port = Pair::SMF_ADDRESS.port();
    let good = encode(pair.smf.templates().modification(downlink(2)), Some(seid), 100).unwrap();
    // The message is truncated: the header announces more bytes than there are.
    let fast = answer(&mut pair, port, &good[..good.len() - 1]).unwrap();
    let fast = Response::read(&fast).unwrap();
    assert_eq!((fast.cause, fast.sequence), (Some(Cause::INVALID_LENGTH), 100));
    // An Update FAR lacks the FAR ID.
    let mut bare = vec![0x21, 52, 0, 16];
    bare.extend(seid.to_be_bytes());
    bare.extend([0, 0, 101, 0, 0, 10, 0, 0]);
    let reply = answer(&mut pair, port, &bare).unwrap();
    let Message::SessionModificationResponse(reply) = decode(&reply).unwrap().0.message else { panic!() };
    assert_eq!((reply.cause, reply.offending_ie), (Cause::MANDATORY_IE_MISSING, Some(OffendingIe(108))));
    // A request updates a rule that does not exist.
    let update_fars = vec![UpdateFar { far_id: FarId(9), ..Default::default() }];
    let wrong = SessionModificationRequest { update_fars, ..Default::default() };
    let reply = answer(&mut pair, port, &encode(wrong, Some(seid), 102).unwrap()).unwrap();
    let Message::SessionModificationResponse(reply) = decode(&reply).unwrap().0.message else { panic!() };
    assert_eq!((reply.cause, reply.failed_rule_id), (Cause::RULE_FAILURE, Some(FailedRuleId::Far(FarId(9)))));
    // A request has another protocol version.
    let mut version = good.clone();
    version[0] = 0x41;
    version[14] = 103;
    let reply = answer(&mut pair, port, &version).unwrap();
    assert!(matches!(decode(&reply).unwrap().0.message, Message::VersionNotSupportedResponse(_)));
    // These datagrams get no response.
    for noise in [&[][..], &[0x21], &[0x21, 99, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]] {
        assert_eq!(answer(&mut pair, port, noise), None);
    }
    assert_eq!(pair.upf.upf().session(seid).cloned(), before);
}

#[test]
fn tunnel_of_another_session_is_rejected() {
    let mut pair = associated(Dialect::OPEN5GS, Dialect::OPEN5GS);
    let (id, _) = session(&mut pair, 1);
    pair.smf.establish(pair.now, pair.now, spec(1)).unwrap();
    let ended = outcomes(&mut pair, 1);
    assert_eq!(ended, [(Kind::Establishment, Outcome::Rejected(Cause::RULE_FAILURE))]);
    pair.smf.delete(pair.now, pair.now, id).unwrap();
    outcomes(&mut pair, 1);
    session(&mut pair, 1);
}

#[test]
fn unsolicited_responses_have_no_effect_except_counters() {
    let mut pair = associated(Dialect::STRICT_REL17, Dialect::STRICT_REL17);
    let (id, _) = session(&mut pair, 1);
    let deleted = SessionDeletionResponse { cause: Cause::ACCEPTED, ..Default::default() };
    let responses = pair.smf.ledger().responses;
    for (seid, sequence) in [(id.0, 77_777), (id.0, 3), (id.0 + 1, 3)] {
        let octets = encode(deleted.clone(), Some(seid), sequence).unwrap();
        pair.smf.handle(pair.now, SmfInput::Received(&octets));
    }
    pair.smf.handle(pair.now, SmfInput::Received(&[0x21, 55, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0]));
    let ledger = pair.smf.ledger();
    assert_eq!((ledger.responses - responses, ledger.unexpected, ledger.malformed), (4, 3, 1));
    assert!(ledger.balanced());
    assert_eq!(pair.smf.live_sessions(), 1);
}

#[test]
fn release_ends_sessions_at_smf_and_upf() {
    let mut pair = associated(Dialect::STRICT_REL17, Dialect::STRICT_REL17);
    session(&mut pair, 1);
    pair.smf.release(pair.now).unwrap();
    assert_eq!(outcomes(&mut pair, 1), [(Kind::Release, Outcome::Ok)]);
    assert_eq!((pair.smf.live_sessions(), pair.upf.upf().sessions()), (0, 0));
    assert!(pair.upf_events.contains(&UpfEvent::Released(Pair::SMF_ADDRESS, 1)));
}

#[test]
fn deletion_response_reports_usage() {
    let mut pair = associated(Dialect::STRICT_REL17, Dialect::STRICT_REL17);
    let (_, seid) = session(&mut pair, 1);
    struct Metered(Vec<u64>, UsageReport);
    impl DataPlane for Metered {
        fn check(&mut self, _: &Session) -> Result<(), RuleFault> {
            Ok(())
        }
        fn check_application(&mut self, _: &ApplicationPfds) -> Result<(), Cause> {
            Ok(())
        }
        fn usage(&mut self, seid: u64, query: UsageQuery<'_>) -> Vec<UsageReport> {
            assert_eq!(query, UsageQuery { urrs: None, trigger: UsageReportTrigger::TERMR });
            self.0.push(seid);
            vec![self.1.clone()]
        }
    }
    let report = UsageReport { urr_id: UrrId(7), ..Default::default() };
    let mut plane = Metered(Vec::new(), report.clone());
    let mut deletion = Vec::new();
    pair.smf.templates().write_deletion(99, seid, &mut deletion);
    let received = UpfInput::Received(Pair::SMF_ADDRESS, &deletion);
    pair.upf.handle_with(pair.now, received, &mut plane);
    assert_eq!(plane.0, [seid]);
    let sent = std::iter::from_fn(|| pair.upf.poll()).find_map(|output| match output {
        UpfOutput::Send(_, datagram) => Some(datagram),
        UpfOutput::Event(_) => None,
    });
    let (pdu, _) = decode(&sent.unwrap()).unwrap();
    let Message::SessionDeletionResponse(response) = pdu.message else { panic!() };
    assert_eq!(response.usage_reports, [report]);
}

/// Starts the next run at an address, while the user plane still stores the sessions of the previous run.
fn next_run(pair: &mut Pair, change: impl FnOnce(&mut SmfSettings)) {
    let mut settings = SmfSettings { first_sequence: 5_000, ..smf_settings(Dialect::OPEN5GS) };
    change(&mut settings);
    pair.smf = Smf::new(settings, profile()).unwrap();
    pair.smf.associate(pair.now).unwrap();
    outcomes(pair, 1);
}

/// Exchanges a heartbeat, leaves one session at the UPF, and sends a release that gets no response.
fn left_behind(demands: Dialect) -> Pair {
    let mut pair = associated(Dialect::OPEN5GS, demands);
    pair.smf.heartbeat(pair.now).unwrap();
    outcomes(&mut pair, 1);
    session(&mut pair, 1);
    pair.smf.release(pair.now).unwrap();
    pair
}

#[test]
fn unanswered_release_keeps_association() {
    let mut pair = left_behind(Dialect::OPEN5GS);
    assert_eq!(outcomes(&mut pair, 1_000), [(Kind::Release, Outcome::Lost)]);
    assert_eq!(
        (pair.smf.ledger().counts(Kind::Release).lost, pair.smf.ledger().counts(Kind::Association).lost),
        (1, 0)
    );
    assert_eq!(pair.upf.upf().sessions(), 1);
}

#[test]
fn newer_time_stamp_deletes_sessions() {
    for (newer, kept) in [(0, 2), (1, 0)] {
        let mut pair = left_behind(Dialect::OPEN5GS);
        outcomes(&mut pair, 1_000);
        next_run(&mut pair, |settings| {
            settings.recovery_time_stamp += newer;
            settings.first_generation = 77;
        });
        session(&mut pair, 2);
        pair.smf.heartbeat(pair.now).unwrap();
        assert_eq!(outcomes(&mut pair, 1), [(Kind::Heartbeat, Outcome::Ok)]);
        assert_eq!(pair.upf.upf().sessions(), kept, "a stamp newer by {newer}");
    }
}

#[test]
fn new_association_deletes_earlier_sessions() {
    let mut pair = left_behind(Dialect::STRICT_REL17);
    // The release is lost, and the next run has the same time stamp.
    next_run(&mut pair, |_| {});
    assert_eq!(pair.upf.upf().sessions(), 0);
    assert!(
        Dialect::ALL.iter().all(|dialect| dialect.demands.purges != AssociationReset::Standard
            || !dialect.demands.ignores_release)
    );
}

#[test]
fn seids_of_two_runs_differ() {
    let mut pair = associated(Dialect::OPEN5GS, Dialect::OPEN5GS);
    let (first, _) = session(&mut pair, 1);
    next_run(&mut pair, |settings| settings.first_generation = 9);
    let (second, _) = session(&mut pair, 2);
    assert_eq!((first, second), (SessionId(1 << 32 | 1), SessionId(9 << 32 | 1)));
}

#[test]
fn late_retransmission_resends_pending_requests() {
    let settings = SmfSettings {
        retransmission: Retransmission { t1: Duration::from_millis(100), n1: 0 },
        ..smf_settings(Dialect::STRICT_REL17)
    };
    let deaf = MockSettings { crash_after: Some(3), ..Default::default() };
    let mut pair = pair_of(settings, upf_settings(Dialect::STRICT_REL17), deaf, Impairments::delay(DELAY));
    pair.smf.associate(pair.now).unwrap();
    outcomes(&mut pair, 1);
    let one = spec(1);
    let two = spec(2);
    let ids = [one, two].map(|spec| pair.smf.establish(pair.now, pair.now, spec).unwrap());
    outcomes(&mut pair, 1);
    assert_eq!(pair.smf.deletable(), ids);
    pair.smf.delete(pair.now, pair.now, ids[0]).unwrap();
    assert_eq!(pair.smf.retransmit(2), 0);
    pair.smf.delete(pair.now, pair.now, ids[1]).unwrap();
    assert_eq!(pair.smf.deletable(), []);
    assert_eq!(outcomes(&mut pair, 1_000), [(Kind::Deletion, Outcome::Lost); 2]);
    assert_eq!(pair.smf.ledger().counts(Kind::Deletion).retransmissions, 2);
    assert_eq!(pair.smf.deletable(), ids);
}

#[test]
fn responses_may_go_to_pfcp_port() {
    let mut smf = Smf::new(smf_settings(Dialect::OPEN5GS), profile()).unwrap();
    smf.associate(at(0)).unwrap();
    let Some(SmfOutput::Send(setup)) = smf.poll() else { panic!() };
    let from = std::net::SocketAddr::new(NODE.into(), 40_000);
    for (dialect, port) in [(Dialect::OPEN5GS, PFCP_PORT), (Dialect::STRICT_REL17, 40_000)] {
        let mut upf = Upf::new(upf_settings(dialect));
        upf.handle(at(0), UpfInput::Received(from, &setup));
        let to = std::iter::from_fn(|| upf.poll()).find_map(|output| match output {
            UpfOutput::Send(to, _) => Some(to.port()),
            UpfOutput::Event(_) => None,
        });
        assert_eq!(to, Some(port), "{}", dialect.name);
    }
}

#[test]
fn rejection_without_node_id_counts_as_rejection() {
    let mut pair = associated(Dialect::OPEN5GS, Dialect::OPEN5GS);
    let id = pair.smf.establish(pair.now, pair.now, spec(1)).unwrap();
    // Open5GS and eUPF send only a header and cause 75. Sequence number 2 belongs to the establishment.
    let mut refused = vec![0x21, 51, 0, 17];
    refused.extend(id.0.to_be_bytes());
    refused.extend([0, 0, 2, 0, 0, 19, 0, 1, 75]);
    pair.smf.handle(pair.now, SmfInput::Received(&refused));
    let ledger = pair.smf.ledger();
    assert_eq!(
        (ledger.counts(Kind::Establishment).rejected, ledger.malformed, ledger.causes.get(&75)),
        (1, 0, Some(&1))
    );
    assert!(ledger.balanced() && pair.smf.live_sessions() == 0);
}
