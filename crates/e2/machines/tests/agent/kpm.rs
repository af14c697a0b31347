//! KPM at an agent: each report style, and refusals.
use crate::driver::*;
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::agent::*;
use ranlab_e2::functions::kpm::{self, Channel, KpmSource, Reading, Station, UeReading};
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e2sm::common::{Cgi, NrCgi, Snssai, UeId as Name};
use ranlab_e2_codec::e2sm::kpm::*;
use ranlab_e2_codec::e2sm::per::{Text, decode_either, encode_in};
use ranlab_e2_codec::e2sm::{Encoding, Octets};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const PERIOD_MS: u32 = 100;

/// UEs 1 to 4. UE `n` receives `n` Mbit/s and uses `n` of 10 resource blocks of the downlink. Each uses a fifth of the
/// uplink, which has half of the slots. Odd UEs are in slice 1, even ones in slice 2.
struct Four;

impl KpmSource for Four {
    fn read(&mut self, now: Time, reading: &mut Reading) {
        assert!(reading.ues.is_empty());
        let us = now.as_nanos() / 1_000;
        let ue = |number: u32| {
            let n = u64::from(number);
            UeReading {
                number,
                slices: [Snssai { sst: if n % 2 == 1 { 1 } else { 2 }, sd: None }].into_iter().collect(),
                delivered_bytes: [us * n / 8, 0],
                pdcp_sdu_bytes: [us * n / 8, 0],
                prbs: [us * n, us],
                rlc_delay_us: 100.0 * n as f64,
                channel: Some(Channel { cqi: 3 * number as u8, snr_db: 5.0 * n as f64 }),
                ..UeReading::default()
            }
        };
        (reading.at_us, reading.prbs, reading.prbs_offered) = (us, 10, [us * 10, us * 5]);
        // The reading is not sorted, and contains UE 3 twice.
        reading.ues.extend([3, 1, 4, 2, 3].map(ue));
    }

    fn name(&self, number: u32) -> Name {
        Name::du(number)
    }

    fn tstamp_us(&self, now: Time) -> i64 {
        now.as_nanos() as i64 / 1_000
    }
}

/// Like [`Four`], but UE 3 is missing at the end of the second period.
struct Three;

impl KpmSource for Three {
    fn read(&mut self, now: Time, reading: &mut Reading) {
        Four.read(now, reading);
        let away = now == Time::ZERO + 2 * PERIOD_MS * MS;
        reading.ues.retain(|ue| !away || ue.number != 3);
    }

    fn name(&self, number: u32) -> Name {
        Four.name(number)
    }

    fn tstamp_us(&self, now: Time) -> i64 {
        Four.tstamp_us(now)
    }
}

/// Like [`Four`], with a cell and a network.
struct Located;

const PLMN: Plmn = Plmn([0x05, 0xf5, 0x10]);

fn cell(identity: u64) -> Cgi {
    Cgi::Nr(NrCgi { plmn: PLMN, cell: identity })
}

impl KpmSource for Located {
    fn read(&mut self, now: Time, reading: &mut Reading) {
        Four.read(now, reading);
    }

    fn name(&self, number: u32) -> Name {
        Four.name(number)
    }

    fn tstamp_us(&self, now: Time) -> i64 {
        Four.tstamp_us(now)
    }

    fn station(&self) -> Station {
        Station { cell: Some(cell(0x10)), plmn: Some(PLMN), has_channel: true }
    }
}

fn bench() -> AgentDriver {
    speaking(Version::V2_03)
}

fn speaking(version: Version) -> AgentDriver {
    driver(Four, version)
}

fn driver(source: impl KpmSource + 'static, version: Version) -> AgentDriver {
    let mut agent = Agent::new(config().with(|it| it.version = version));
    agent.register(kpm::function(source), Some(DEFAULT_FUNCTION_ID)).unwrap();
    let mut bench = AgentDriver::up(agent, version);
    (1..=4).for_each(|ue| bench.agent.ue_arrived(UeId(ue)).unwrap());
    bench
}

fn asking(formats: impl IntoIterator<Item = ActionFormat>) -> Message {
    let octets = |format| ActionDefinition::from(format).to_octets(Encoding::Per).unwrap();
    let action =
        |(id, format)| ActionToBeSetup { definition: Some(octets(format)), ..ActionToBeSetup::report(id) };
    let event_trigger = EventTrigger { period_ms: PERIOD_MS }.to_octets(Encoding::Per).unwrap();
    let actions = (0..).zip(formats).map(action).collect();
    Message::RicSubscriptionRequest(RicSubscriptionRequest {
        request_id: request_id(1),
        function_id: DEFAULT_FUNCTION_ID,
        details: RicSubscriptionDetails { event_trigger, actions },
        start_time: None,
        end_time: None,
    })
}

fn heard(sent: &[Message]) -> Vec<(IndicationHeader, MessageFormat)> {
    let one = |message: &Message| match message {
        Message::RicIndication(m) => {
            let header = IndicationHeader::decode_as(Encoding::Per, &m.header).unwrap();
            (header, IndicationMessage::decode_as(Encoding::Per, &m.message).unwrap().format)
        }
        other => panic!("{other:?}"),
    };
    sent.iter().map(one).collect()
}

/// Returns the first report of one action.
fn first(format: ActionFormat) -> MessageFormat {
    first_of(bench(), format)
}

fn first_of(mut bench: AgentDriver, format: ActionFormat) -> MessageFormat {
    bench.ask(C0, &asking([format]));
    bench.pass(PERIOD_MS * MS);
    let mut reports = heard(&bench.take(C0));
    assert_eq!(reports.len(), 1);
    reports.remove(0).1
}

fn measurements(granularity_ms: u32) -> Measurements {
    Measurements::plain(["DRB.UEThpDl", "RRU.PrbTotDl", "RRU.PrbUsedDl", "DRB.RlcSduDelayDl"], granularity_ms)
}

fn values(report: &Report) -> Vec<Vec<f64>> {
    report.records.iter().map(|it| it.values.iter().filter_map(|v| v.number()).collect()).collect()
}

#[test]
fn node_measurements_have_one_record_per_granularity_period() {
    let mut bench = bench();
    bench.ask(C0, &asking([ActionFormat::Node(measurements(50))]));
    bench.pass(2 * PERIOD_MS * MS);
    let reports = heard(&bench.take(C0));
    assert_eq!(reports.len(), 2);
    for ((header, format), begun_us) in reports.iter().zip([0, 100_000]) {
        assert_eq!(header.start.unix_us(), Some(begun_us));
        let MessageFormat::Node(report) = format else { panic!("{format:?}") };
        assert_eq!(values(report), [[10_000.0, 100.0, 10.0, 2.5]; 2]);
        assert_eq!(report.granularity_ms, Some(50));
    }
    bench.ask(C0, &deletion(1, DEFAULT_FUNCTION_ID));
    bench.pass(PERIOD_MS * MS);
    assert!(bench.take(C0).is_empty() && bench.agent.wake_at().is_none());
}

#[test]
fn uplink_shares_refer_to_uplink_resource_blocks() {
    let requested = Measurements::plain(["RRU.PrbTotUl", "RRU.PrbUsedUl"], PERIOD_MS);
    let MessageFormat::Node(report) = first(ActionFormat::Node(requested)) else { panic!() };
    assert_eq!(values(&report), [[80.0, 8.0]]);
}

#[test]
fn one_ue_listed_ues_and_ues_of_a_slice_are_reported_separately() {
    let of = |ue: f64| [[1_000.0 * ue, 10.0 * ue, ue, ue]];
    let one = UeMeasurements { ue: Name::du(3), measurements: measurements(PERIOD_MS) };
    let MessageFormat::Node(report) = first(ActionFormat::Ue(one)) else { panic!() };
    assert_eq!(values(&report), of(3.0));
    let listed = vec![Name::du(4), Name::du(9), Name::du(1)];
    let several = UesMeasurements { ues: listed, measurements: measurements(PERIOD_MS) };
    let slice = ActionFormat::of_slice(Snssai { sst: 2, sd: None }, measurements(PERIOD_MS));
    for (format, expected) in [(ActionFormat::Ues(several), [1, 4]), (slice, [2, 4])] {
        let MessageFormat::Ues(ues) = first(format) else { panic!() };
        assert_eq!(ues.iter().map(|it| it.ue.number()).collect::<Vec<_>>(), expected);
        for (ue, number) in ues.iter().zip(expected) {
            assert_eq!(values(&ue.report), of(number.into()));
        }
    }
}

/// FlexRIC 2.0's xApps use the modified ASN.1 text.
#[test]
fn reports_use_asn1_version_of_action_definition() {
    let slice = || ActionFormat::of_slice(Snssai { sst: 2, sd: None }, measurements(PERIOD_MS));
    for text in [Text::Standard, Text::Modified] {
        let mut definition = Vec::new();
        encode_in(&ActionDefinition::from(slice()), text, &mut definition).unwrap();
        let Message::RicSubscriptionRequest(mut request) = asking([slice()]) else { panic!() };
        request.details.actions[0].definition = Some(definition.into());
        let mut bench = bench();
        bench.ask(C0, &Message::RicSubscriptionRequest(request));
        bench.pass(PERIOD_MS * MS);
        let sent = bench.take(C0);
        let [Message::RicIndication(indication)] = &sent[..] else { panic!("{sent:?}") };
        let (message, found) = decode_either::<IndicationMessage>(&indication.message).unwrap();
        assert_eq!(found, text);
        assert!(matches!(message.format, MessageFormat::Ues(ues) if ues.len() == 2));
    }
}

/// O-RAN SC's kpimon-go uses the ASN.1 text of KPM 2.00, with a label as the condition. It gets a value for each UE.
#[test]
fn kpm_2_00_definition_gets_kpm_2_00_report() {
    let anybody = vec![Matching { condition: MatchingCondition::Label(Label::none()), or: false }];
    let of = |name: &str| ConditionalMeasurement {
        measurement: name.into(),
        conditions: anybody.clone(),
        bins: None,
    };
    let measurements = vec![of("DRB.UEThpDl"), of("RRU.PrbUsedDl")];
    let requested = ConditionalMeasurements { measurements, granularity_ms: PERIOD_MS, cell: None };
    let mut definition = Vec::new();
    let requested = || ActionFormat::Conditional(requested.clone());
    encode_in(&ActionDefinition::from(requested()), Text::Early, &mut definition).unwrap();
    let Message::RicSubscriptionRequest(mut request) = asking([requested()]) else { panic!() };
    request.details.actions[0].definition = Some(definition.into());
    let mut bench = bench();
    bench.ask(C0, &Message::RicSubscriptionRequest(request));
    bench.pass(PERIOD_MS * MS);
    let sent = bench.take(C0);
    let [Message::RicIndication(indication)] = &sent[..] else { panic!("{sent:?}") };
    let (message, text) = decode_either::<IndicationMessage>(&indication.message).unwrap();
    let MessageFormat::Conditional(report) = message.format else { panic!("{message:?}") };
    assert_eq!((text, report.records[0].values.len()), (Text::Early, 8));
}

#[test]
fn measurements_can_be_requested_by_identifier() {
    let by_id = |id| MeasurementInfo { measurement: Measurement::Id(id), labels: vec![Label::none()] };
    let requested = |ids: [u32; 2]| Measurements { infos: ids.map(by_id).into(), ..measurements(PERIOD_MS) };
    let MessageFormat::Node(report) = first(ActionFormat::Node(requested([1, 5]))) else { panic!() };
    assert_eq!(values(&report), [[10_000.0, 10.0]]);
    let names = report.infos.unwrap().into_iter().map(|it| it.measurement);
    assert!(names.eq(["DRB.UEThpDl", "RRU.PrbUsedDl"].map(Measurement::from)));
}

#[test]
fn conditions_apply_per_measurement_and_can_be_joined_by_or() {
    let condition =
        |sst, or| Matching { condition: MatchingCondition::Test(Test::slice(Snssai { sst, sd: None })), or };
    let of =
        |name: &str, conditions| ConditionalMeasurement { measurement: name.into(), conditions, bins: None };
    let measurements = vec![
        of("RRU.PrbUsedDl", vec![condition(1, false)]),
        of("DRB.UEThpDl", vec![condition(1, true), condition(2, false)]),
        of("RRU.PrbTotDl", vec![condition(1, false), condition(2, false)]),
    ];
    let conditional = ConditionalMeasurements { measurements, granularity_ms: PERIOD_MS, cell: None };
    let MessageFormat::Conditional(report) = first(ActionFormat::Conditional(conditional)) else { panic!() };
    let matched = |it: &MatchedMeasurement| it.ues.iter().flatten().map(Name::number).collect::<Vec<_>>();
    let matched: Vec<_> = report.measurements.iter().map(matched).collect();
    assert_eq!(matched, [vec![1, 3], vec![1, 2, 3, 4], vec![]]);
    let values: Vec<_> = report.records[0].values.iter().filter_map(|value| value.number()).collect();
    assert_eq!(values, [1.0, 3.0, 1_000.0, 2_000.0, 3_000.0, 4_000.0]);
}

/// Reused memory must not contain old values. One UE is missing in the second of three periods.
#[test]
fn absent_ue_is_not_reported() {
    let test = Test { of: TestType::Snssai(()), expression: Some(TestExpression::Present), value: None };
    let anybody = MatchingUeMeasurements {
        conditions: vec![UeMatching { test: test.clone(), or: None }],
        measurements: measurements(PERIOD_MS / 2),
    };
    let conditions = vec![Matching { condition: MatchingCondition::Test(test), or: false }];
    let used = ConditionalMeasurement { measurement: "RRU.PrbUsedDl".into(), conditions, bins: None };
    let by_measurement =
        ConditionalMeasurements { measurements: vec![used], granularity_ms: PERIOD_MS, cell: None };
    let mut bench = driver(Three, Version::V2_03);
    bench.ask(C0, &asking([ActionFormat::MatchingUes(anybody), ActionFormat::Conditional(by_measurement)]));
    bench.pass(3 * PERIOD_MS * MS);
    let mut reported = Vec::new();
    for (_, format) in heard(&bench.take(C0)) {
        reported.push(match format {
            MessageFormat::Ues(ues) => {
                let records = |it: &UeReport| (it.ue.number(), values(&it.report).len());
                ues.iter().map(records).collect::<Vec<_>>()
            }
            MessageFormat::Conditional(report) => {
                let number = |it: &Name| (it.number(), 1);
                let reported = report.measurements[0].ues.iter().flatten().map(number).collect::<Vec<_>>();
                let [record] = &report.records[..] else { panic!("{report:?}") };
                assert_eq!(record.values.len(), reported.len());
                reported
            }
            MessageFormat::Node(_) => panic!("{format:?}"),
        });
    }
    let of = |ues: &[u32], records| ues.iter().map(|ue| (*ue, records)).collect::<Vec<_>>();
    // A UE that is missing at the end of a period was present in the middle of it.
    let second = vec![(1, 2), (2, 2), (3, 1), (4, 2)];
    let all = [1, 2, 3, 4];
    assert_eq!(reported, [of(&all, 2), of(&all, 1), second, of(&[1, 2, 4], 1), of(&all, 2), of(&all, 1)]);
}

#[test]
fn controller_gets_reports_of_visible_ues_only() {
    let mut bench = bench();
    let c1 = bench.add("b");
    bench.set_up(c1);
    bench.agent.associate_ue(UeId(2), c1).unwrap();
    let slice = |sst| ActionFormat::of_slice(Snssai { sst, sd: None }, measurements(PERIOD_MS));
    bench.ask(c1, &asking([slice(1), slice(2)]));
    bench.pass(PERIOD_MS * MS);
    let reports = heard(&bench.take(c1));
    let [(_, MessageFormat::Ues(ues))] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(ues.iter().map(|it| it.ue.number()).collect::<Vec<_>>(), [2]);
}

#[test]
fn labels_and_cells_select_values() {
    let located = || driver(Located, Version::V2_03);
    let slice = |sst| Label { slice: Some(Snssai { sst, sd: None }), ..Label::default() };
    let network = Label { plmn: Some(PLMN), five_qi: Some(9), ..Label::default() };
    let labels = vec![Label::none(), slice(1), slice(2), slice(7), network];
    let info = MeasurementInfo { measurement: "DRB.UEThpDl".into(), labels: labels.clone() };
    let requested = |cell| Measurements { infos: vec![info.clone()], cell, ..measurements(PERIOD_MS) };
    let format = first_of(located(), ActionFormat::Node(requested(Some(cell(0x10)))));
    let MessageFormat::Node(report) = format else { panic!("{format:?}") };
    assert_eq!(values(&report), [[10_000.0, 4_000.0, 6_000.0, 0.0, 10_000.0]]);
    assert_eq!(report.infos.unwrap()[0].labels, labels, "the report must repeat the labels of the request");
    let one = UeMeasurements { ue: Name::du(3), measurements: requested(None) };
    let MessageFormat::Node(report) = first_of(located(), ActionFormat::Ue(one)) else { panic!() };
    let of_ue: Vec<_> = report.records[0].values.iter().map(|value| value.number()).collect();
    assert_eq!(of_ue, [Some(3_000.0), Some(3_000.0), None, None, Some(3_000.0)]);
    let answers = located().ask(C0, &asking([ActionFormat::Node(requested(Some(cell(0x20))))]));
    assert!(
        matches!(&answers[..], [Message::RicSubscriptionFailure(_)]),
        "measurements of another cell must be refused: {answers:?}"
    );
}

#[test]
fn channel_conditions_select_ues() {
    let test =
        |of, expression, value| Test { of, expression: Some(expression), value: Some(TestValue::Int(value)) };
    // UE n has CQI 3 n and a signal-to-noise ratio of 5 n dB.
    for (test, expected) in [
        (test(TestType::UlRsrp(()), TestExpression::LessThan, 1_000), vec![1, 2, 3, 4]),
        (test(TestType::Cqi(()), TestExpression::GreaterThan, 6), vec![3, 4]),
        (test(TestType::Rsrp(()), TestExpression::LessThan, -113), vec![1, 2]),
    ] {
        let conditions = vec![UeMatching { test: test.clone(), or: None }];
        let wanted = Measurements::plain(["CQI", "RSRP"], PERIOD_MS);
        let matching = MatchingUeMeasurements { conditions, measurements: wanted };
        let format = first_of(driver(Located, Version::V2_03), ActionFormat::MatchingUes(matching));
        let MessageFormat::Ues(ues) = format else { panic!("{format:?}") };
        assert_eq!(ues.iter().map(|it| it.ue.number()).collect::<Vec<_>>(), expected, "{test:?}");
        for ue in &ues {
            let [cqi, rsrp] = values(&ue.report)[0][..] else { panic!("{ue:?}") };
            assert_eq!(cqi, 3.0 * f64::from(ue.ue.number()));
            assert!((-125.0..-100.0).contains(&rsrp), "{rsrp}");
        }
    }
}

#[test]
fn partly_unavailable_action_is_refused() {
    let labelled = Measurements {
        infos: vec![MeasurementInfo {
            measurement: "RRU.PrbTotDl".into(),
            labels: vec![Label { bin_x: Some(9), ..Label::default() }],
        }],
        ..measurements(PERIOD_MS)
    };
    let strong = Test { of: TestType::Rsrp(()), expression: Some(TestExpression::GreaterThan), value: None };
    let conditions = vec![UeMatching { test: strong, or: None }];
    let by_rsrp = MatchingUeMeasurements { conditions, measurements: measurements(PERIOD_MS) };
    let node_of_ue = Measurements::plain(["RRC.ConnMean"], PERIOD_MS);
    let one = UeMeasurements { ue: Name::du(1), measurements: node_of_ue };
    let refused = [
        ActionFormat::Node(Measurements::plain(["DRB.UEThpDl", "RRU.Nothing"], PERIOD_MS)),
        ActionFormat::Node(labelled),
        ActionFormat::Node(measurements(33)),
        ActionFormat::MatchingUes(by_rsrp),
        ActionFormat::Ue(one),
    ];
    // Only this version has a cause for event triggers.
    let mut bench = speaking(Version::V3_01);
    for format in refused {
        let answers = bench.ask(C0, &asking([format.clone()]));
        let [Message::RicSubscriptionFailure(m)] = &answers[..] else { panic!("{format:?}: {answers:?}") };
        assert_eq!(m.cause, Some(Cause::RicRequest(CauseRicRequest::ActionNotSupported)));
    }
    let Message::RicSubscriptionRequest(mut request) = asking([]) else { panic!() };
    request.details.actions = vec![ActionToBeSetup::report(0)];
    request.details.event_trigger = Bytes::from_static(&[100, 0, 0, 0]);
    let answers = bench.ask(C0, &Message::RicSubscriptionRequest(request));
    let [Message::RicSubscriptionFailure(m)] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!(m.cause, Some(Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported)));
    assert_eq!(bench.agent.wake_at(), None);
}
