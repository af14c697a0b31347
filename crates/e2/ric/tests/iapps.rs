//! Tests of the iApps in a RIC, with scripted agents and xApps, in virtual time.
#![allow(clippy::unwrap_used)]
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::*;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e2sm::mac::MacUe;
use ranlab_e2_codec::e2sm::pdcp::Pdcp;
use ranlab_e2_codec::e2sm::rlc::RlcBearer;
use ranlab_e2_codec::e2sm::{Encoding, Model, Octets, RowKey, SmError, Value, kpm, mac, plain, rlc};
use ranlab_e2_codec::e42;
use ranlab_ric::monitor::{Monitor, MonitorConfig, Totals};
use ranlab_ric::xapps::{Registry, XappRule, XappRuleError, XappRules};
use serde_json::Value as Json;
use std::time::Duration;

struct IAppDriver {
    ric: Ric,
    now: Time,
    replies: Vec<Bytes>,
}

const AGENT: ConnId = ConnId(1);

impl IAppDriver {
    fn new(config: RicConfig) -> Self {
        Self { ric: Ric::new(config), now: Time::from_nanos(1), replies: Vec::new() }
    }

    fn connect(&mut self, conn: ConnId, side: ListenerProtocol, peer: &str) {
        self.ric.handle(self.now, RicInput::Connected { conn, side, peer: peer.into() });
    }

    fn send(&mut self, message: Message) {
        let pdu = encode(&message, Version::V2_03).unwrap().into();
        self.send_bytes(AGENT, pdu);
    }

    fn send_bytes(&mut self, conn: ConnId, pdu: Bytes) {
        self.ric.handle(self.now, RicInput::Received { conn, pdu });
        self.collect();
    }

    fn collect(&mut self) {
        while let Some(output) = self.ric.poll() {
            let RicOutput::Transmit(conn) = output else { continue };
            while let Some(frame) = self.ric.transmit(self.now, conn) {
                self.replies.push(frame.to_bytes());
            }
        }
    }

    fn pass(&mut self, duration: Duration) {
        self.now += duration;
        self.ric.handle(self.now, RicInput::Wake);
        self.collect();
    }

    fn got(&mut self) -> Vec<Message> {
        let replies = std::mem::take(&mut self.replies);
        replies.iter().map(|b| decode(b, Version::V2_03).unwrap().message).collect()
    }

    fn set_up(&mut self, oids: &[&str]) {
        let item = |(i, oid): (usize, &&str)| RanFunctionItem {
            id: 200 + i as u16,
            definition: Bytes::new(),
            revision: 1,
            oid: Some((*oid).to_owned()),
        };
        let component = ComponentConfigItem {
            interface: ComponentInterfaceType::Ng,
            id: ComponentId::Ng(InterfaceNg { amf_name: "amf".into() }),
            // An emulated agent of ranlab, which accepts several procedures at the same time.
            configuration: ComponentConfiguration {
                request_part: Bytes::from_static(ranlab_e2::fingerprint::MARK),
                response_part: Bytes::from_static(ranlab_e2::fingerprint::MARK),
            },
        };
        self.send(Message::E2SetupRequest(E2SetupRequest {
            transaction_id: Some(0),
            node_id: GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 5, 32),
            functions: Some(oids.iter().enumerate().map(item).collect()),
            components_v1: None,
            components: Some(vec![component]),
        }));
    }

    /// Admits all pending requests; returns their ids by RAN function.
    fn admit(&mut self) -> Vec<(RanFunctionId, RicRequestId)> {
        let mut ids = Vec::new();
        for message in self.got() {
            let Message::RicSubscriptionRequest(r) = message else { continue };
            ids.push((r.function_id, r.request_id));
            self.send(Message::RicSubscriptionResponse(RicSubscriptionResponse {
                request_id: r.request_id,
                function_id: r.function_id,
                admitted: vec![0],
                not_admitted: None,
            }));
        }
        ids
    }

    fn indicate(
        &mut self,
        (function_id, request_id): (RanFunctionId, RicRequestId),
        sn: u16,
        message: Vec<u8>,
    ) {
        self.send(Message::RicIndication(RicIndication {
            request_id,
            function_id,
            action_id: 0,
            sn: Some(sn),
            kind: RicIndicationType::Report,
            header: Bytes::from_static(&plain::INDICATION_HEADER),
            message: message.into(),
            call_process_id: None,
        }));
    }
}

#[test]
fn monitor_keeps_the_latest_report_of_every_ue() {
    let mut b = IAppDriver::new(RicConfig::default());
    let (mut monitor, handle) =
        Monitor::new(MonitorConfig { period_ms: 10, ..MonitorConfig::default() }).unwrap();
    let messages = monitor.publish();
    b.ric.add_iapp(Box::new(monitor));
    b.connect(AGENT, ListenerProtocol::E2, "agent");
    b.set_up(&["1.2.3", mac::OID, rlc::OID]);
    let ids = b.admit();
    assert_eq!(ids.iter().map(|i| i.0).collect::<Vec<_>>(), [201, 202]);
    let report = |rntis: &[u32], tbs: u64, tstamp: i64| {
        let mut out = Vec::new();
        let ues = rntis.iter().map(|&rnti| MacUe { rnti, dl_aggr_tbs: tbs, ..MacUe::default() });
        plain::encode_list(&mut out, ues.collect::<Vec<_>>(), tstamp).unwrap();
        out
    };
    b.indicate(ids[0], 0, report(&[1, 2], 100, 7));
    b.indicate(ids[0], 3, report(&[2, 3], 200, 8));
    let mut bearers = Vec::new();
    plain::encode_list(&mut bearers, vec![RlcBearer { rnti: 2, ..RlcBearer::default() }; 2], 9).unwrap();
    b.indicate(ids[1], 0, bearers);
    b.indicate(ids[1], 1, vec![1, 2, 3]);
    let snapshot = handle.snapshot();
    let node = &snapshot[0];
    // The second report omits UE 1; UE 2 has both kinds of rows.
    assert_eq!(node.ues().into_iter().collect::<Vec<_>>(), [2, 3]);
    let of_ue = |model: &dyn Model| node.rows(model, 2).collect::<Vec<_>>();
    let mac = of_ue(&mac::Mac);
    assert_eq!((mac.len(), mac[0].0, &mac[0].1[0]), (1, RowKey::Ue { rnti: 2 }, &Value::Unsigned(200)));
    assert_eq!((of_ue(&rlc::Rlc).len(), of_ue(&Pdcp).len()), (2, 0));
    let [(mac, _), (rlc, _)] = &node.reports[..] else { panic!("{node:?}") };
    assert_eq!((mac.model.name(), mac.lost, mac.tstamp_us), ("mac", Some(2), Some(8)));
    assert_eq!((rlc.malformed, handle.totals()), (1, Totals { reports: 4, malformed: 1, lost: 2 }));
    // All decodable reports are published completely. Dropping the monitor ends the stream of messages.
    drop(b);
    let published: Vec<(String, Json)> =
        messages.map(|it| (it.subject, serde_json::from_slice(&it.json).unwrap())).collect();
    let subjects: Vec<_> = published.iter().map(|(subject, _)| subject.split('.').nth(2).unwrap()).collect();
    assert_eq!(subjects, ["mac", "mac", "rlc"]);
    let (_, second) = &published[1];
    assert_eq!((&second["sequence"], &second["tstamp_us"]), (&2.into(), &8.into()));
    assert_eq!(second["rows"][1]["rnti"], 3);
    assert_eq!(second["rows"][1]["dl_aggr_tbs"], 200);
}

/// Sends three KPM reports, one per second, whose time stamp is `before_us` earlier than their arrival. Returns the times
/// that the monitor shows, relative to the arrivals.
fn monitored_kpm_times(before_us: i64) -> Vec<Option<i64>> {
    const UNIX_S: u64 = 1_700_000_000;
    let mut b = IAppDriver::new(RicConfig::default());
    let config = MonitorConfig { models: vec![&kpm::Kpm], period_ms: 1_000 };
    let (monitor, handle) = Monitor::new(config).unwrap();
    b.ric.add_iapp(Box::new(monitor));
    b.connect(AGENT, ListenerProtocol::E2, "agent");
    b.set_up(&[kpm::OID]);
    let (function_id, request_id) = b.admit()[0];
    handle.set_clock(b.now, Duration::from_secs(UNIX_S));
    let records = vec![kpm::Record { values: vec![kpm::Measured::Integer(7)], incomplete: false }];
    let report = kpm::Report { records, infos: None, granularity_ms: Some(1_000) };
    let message = kpm::IndicationMessage::from(kpm::MessageFormat::Node(report));
    let mut times = Vec::new();
    for second in 1..=3 {
        b.pass(Duration::from_secs(1));
        let arrival_us = (UNIX_S as i64 + second) * 1_000_000;
        let header = kpm::IndicationHeader::from(kpm::TimeStamp::ntp(arrival_us - before_us));
        b.send(Message::RicIndication(RicIndication {
            request_id,
            function_id,
            action_id: 0,
            sn: None,
            kind: RicIndicationType::Report,
            header: header.to_octets(Encoding::Per).unwrap(),
            message: message.to_octets(Encoding::Per).unwrap(),
            call_process_id: None,
        }));
        let (stats, _) = &handle.snapshot()[0].reports[0];
        times.push(stats.tstamp_us.map(|at_us| at_us - arrival_us));
    }
    times
}

#[test]
fn kpm_times_are_never_after_arrival() {
    // The time stamp is the start of the collection, as the standard defines it: the end is 300 us before the arrival.
    assert_eq!(monitored_kpm_times(1_000_300), [Some(-300); 3]);
    // The time stamp is the time of sending, as in OCUDU and srsRAN.
    assert_eq!(monitored_kpm_times(300), [Some(-300); 3]);
    // The node's clock is ahead: the time is unknown.
    assert_eq!(monitored_kpm_times(-50_000_000), [None; 3]);
}

#[test]
fn unsupported_period_is_rejected() {
    let config = MonitorConfig { period_ms: plain::PERIOD_MS_MAX + 1, ..MonitorConfig::default() };
    assert!(matches!(Monitor::new(config), Err(SmError::Period { .. })));
}

#[test]
fn monitor_retries_failed_subscriptions() {
    let mut b = IAppDriver::new(RicConfig::default());
    let (monitor, _handle) = Monitor::new(MonitorConfig::default()).unwrap();
    b.ric.add_iapp(Box::new(monitor));
    b.connect(AGENT, ListenerProtocol::E2, "agent");
    b.set_up(&[mac::OID]);
    let got = b.got();
    let Some(Message::RicSubscriptionRequest(r)) = got.last() else { panic!("{got:?}") };
    b.send(Message::RicSubscriptionFailure(RicSubscriptionFailure {
        request_id: r.request_id,
        function_id: r.function_id,
        not_admitted: None,
        cause: Some(Cause::Misc(CauseMisc::Unspecified)),
        diagnostics: None,
    }));
    assert!(b.got().is_empty());
    b.pass(Duration::from_secs(5));
    assert_eq!(b.admit().len(), 1);
    // After a second E2 Setup of the node there is still one subscription.
    b.set_up(&[mac::OID]);
    assert_eq!(b.admit().len(), 1);
    assert_eq!(b.ric.snapshot().nodes[0].subscriptions.len(), 1);
}

fn rule(peer: &str, tenant: &str) -> XappRule {
    XappRule {
        peer: peer.into(),
        tenant: tenant.into(),
        plmns: Vec::new(),
        nodes: Vec::new(),
        subscriptions: None,
        requests: None,
        control: true,
        models: Vec::new(),
        priority: 0,
        name: String::new(),
        reads: Vec::new(),
        writes: Vec::new(),
    }
}

#[test]
fn rules_control_admission_and_visibility() {
    let local =
        XappRule { plmns: vec!["505.01".into()], control: false, ..rule("tcp://127.0.0.1:*", "local") };
    let remote = XappRule { nodes: vec!["gnb 505.01 6".into()], ..rule("tcp://10.*", "remote") };
    let policy = XappRules::new(&[local.clone(), remote]).unwrap();
    let mut b = IAppDriver::new(RicConfig::default().with(|it| {
        it.policy = Box::new(policy);
        it.timers.e42_hold = Duration::ZERO;
    }));
    let (registry, list) = Registry::new();
    b.ric.add_iapp(Box::new(registry));
    b.connect(AGENT, ListenerProtocol::E2, "agent");
    b.set_up(&[mac::OID]);
    b.got();
    let functions =
        vec![RanFunctionItem { id: 1, definition: Bytes::new(), revision: 0, oid: Some("1".into()) }];
    let request = e42::Message::SetupRequest(e42::SetupRequest { functions, wants_node_events: false });
    let request: Bytes = e42::encode(&request, Version::V2_03).unwrap().into();
    let mut join = |n: u64, peer: &str| {
        b.connect(ConnId(n), ListenerProtocol::E42, peer);
        b.send_bytes(ConnId(n), request.clone());
        let reply = b.replies.pop().unwrap();
        match e42::decode(&reply, Version::V2_03).unwrap().message {
            e42::Message::SetupResponse(r) => Some(r.nodes.len()),
            _ => None,
        }
    };
    assert_eq!(
        (join(2, "tcp://127.0.0.1:9"), join(3, "tcp://10.0.0.1:9"), join(4, "tcp://192.0.2.1:9")),
        (Some(1), Some(0), None)
    );
    let tenants: Vec<_> = list.xapps().iter().map(|x| (x.id, x.tenant.name().to_owned())).collect();
    assert_eq!(tenants, [(7, "local".to_owned()), (8, "remote".to_owned())]);
    let control = e42::Message::ControlRequest(e42::ControlRequest {
        xapp_id: 7,
        node_id: GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 5, 32),
        request_id: RicRequestId { requestor: 1, instance: 0 },
        function_id: 200,
        call_process_id: None,
        header: Bytes::new(),
        message: Bytes::new(),
        ack_request: None,
    });
    b.send_bytes(ConnId(2), e42::encode(&control, Version::V2_03).unwrap().into());
    assert!(matches!(b.got()[..], [Message::RicControlFailure(_)]));
    b.ric.handle(b.now, RicInput::Disconnected { conn: ConnId(2), why: ranlab_e2::LinkLoss::ClosedByPeer });
    assert_eq!(list.xapps().len(), 1);

    let bad = XappRule { plmns: vec!["505".into()], ..rule("*", "") };
    assert_eq!(XappRules::new(&[bad]).unwrap_err(), XappRuleError::Plmn { rule: 1, text: "505".into() });
    let other = XappRule { control: true, ..local.clone() };
    assert!(matches!(XappRules::new(&[local, other]), Err(XappRuleError::Control { rule: 2, .. })));
}

#[test]
fn rules_file_errors_name_line_and_allowed_values() {
    let error = |text: &str| XappRules::from_toml(text).unwrap_err().to_string();
    let cases = [
        ("\n[[rule]]\npier = \"*\"\n", "line 3: unknown field `pier`, expected one of `peer`, `tenant`"),
        ("[[rule]]\npeer = \"*\"\ncontrol = 7\n", "line 3: invalid type: integer `7`, expected a boolean"),
        ("[[rules]]\npeer = \"*\"\n", "line 1: unknown field `rules`, expected `rule` or `conflicts`"),
        (
            "[conflicts]\nhold_s = 0\n[[rule]]\npeer = \"*\"\n",
            "line 1: hold_s = 0 is not a valid hold time; expected seconds, more than 0 and at most 86400",
        ),
        (
            "[[rule]]\npeer = \"*\"\nmodels = [\"mak\"]\n",
            "line 1: rule 1: unknown service model \"mak\"; allowed:",
        ),
        ("[[rule]]\ntenant = \"a\"\n", "line 1: rule 1 has neither `peer`"),
        ("# nobody\n", "line 1: the file has no rule"),
        (
            "[[rule]]\npeer = \"*\"\n\n[[rule]]\npeer = \"10.0.0.1:*\"\n",
            "line 4: rule 2: \"10.0.0.1:*\" matches no peer; write tcp://IP:PORT",
        ),
        (
            "[[rule]]\npeer = \"*\"\nplmns = [\"505\"]\n",
            "line 1: rule 1: \"505\" is not a PLMN; expected MCC.MNC",
        ),
    ];
    for (text, expected) in cases {
        assert!(error(text).starts_with(expected), "{} instead of {expected}", error(text));
    }
}
