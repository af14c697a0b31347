//! KPM: comparison with the bytes of another codec, round trips, and comparison of its two decoders.

#![allow(clippy::unwrap_used)] // clippy does not recognise test helpers

mod golden;

use std::fmt::Debug;
use std::path::Path;

use bytes::Bytes;
use golden::{agrees, vector};
use ranlab_e2_codec::e2sm::common::UeId;
use ranlab_e2_codec::e2sm::kpm::*;
use ranlab_e2_codec::e2sm::{Context, Encoding, Model, Octets, ServiceModel, SmError, Value, per};
use ranlab_e2_codec::per::Per;

/// Number of random values of each type.
const SEEDS: u64 = 400;

#[test]
fn kpm_vectors_of_pycrate_and_asn1tools_round_trip() {
    agrees::<EventTrigger>("kpm_event_trigger", Per::show);
    for name in ["f1", "f1_cell", "f2_du", "f3", "f4", "f5"] {
        agrees::<ActionDefinition>(&format!("kpm_v203_actdef_{name}"), Per::show);
    }
    for name in ["f1", "f2", "f3"] {
        agrees::<IndicationMessage>(&format!("kpm_v203_ind_msg_{name}"), Per::show);
    }
    for version in ["v203", "v300"] {
        agrees::<IndicationHeader>(&format!("kpm_{version}_ind_hdr"), IndicationHeader::show);
    }
    agrees::<FunctionDescription>("kpm_v203_ranfunc", Per::show);
}

#[test]
fn header_length_determines_its_version() {
    let start = |name| IndicationHeader::decode_as(Encoding::Per, &vector(name)).unwrap().start;
    assert_eq!(start("kpm_v203_ind_hdr.bin"), TimeStamp::V2(0xe8d4_a510));
    assert_eq!(start("kpm_v300_ind_hdr.bin"), TimeStamp::V3(0xe8d4_a510 << 32));
}

#[test]
fn flexric_definition_round_trips() {
    let octets = vector("flexric_v2_kpm_ranfunc.bin");
    let description = FunctionDescription::decode_as(Encoding::Per, &octets).unwrap();
    assert_eq!(description.to_octets(Encoding::Per).unwrap(), octets);
    assert_eq!(description.name.short_name, "ORAN-E2SM-KPM");
    let action = Kpm.action(Encoding::Per, &octets, std::time::Duration::from_secs(1)).unwrap().unwrap();
    let action = ActionDefinition::decode_as(Encoding::Per, &action).unwrap();
    assert!(matches!(&action.format, ActionFormat::MatchingUes(it) if it.measurements.infos.len() > 3));
}

#[test]
fn modified_text_vectors_round_trip() {
    fn again<T: Per + Debug>(name: &str) -> T {
        let octets = vector(name);
        let (value, text) = per::decode_either::<T>(&octets).unwrap();
        assert_eq!(text, per::Text::Modified, "{name}");
        let mut written = Vec::new();
        per::encode_in(&value, text, &mut written).unwrap();
        assert_eq!(written, octets, "{name}");
        value
    }
    again::<ActionDefinition>("flexric_modified_kpm_v203_actdef_f4.bin");
    for kind in ["ind_msg_f1", "ind_msg_f3"] {
        let name = format!("flexric_modified_kpm_v203_{kind}.bin");
        again::<IndicationMessage>(&name);
        MessageView::read(&vector(&name)).unwrap();
    }
}

/// In the modified text, the additions to the CHOICE ENB-ID stay additions. The index of the two root alternatives has
/// one bit.
#[test]
fn enb_id_of_the_modified_text_is_decoded() {
    let octets = vector("flexric_modified_kpm_v203_emu_ind_msg_f2_enb.bin");
    let (value, text) = per::decode_either::<IndicationMessage>(&octets).unwrap();
    assert_eq!(text, per::Text::Modified);
    let mut written = Vec::new();
    per::encode_in(&value, text, &mut written).unwrap();
    let mut again = text;
    assert_eq!(per::decode_in(&written.into(), &mut again), Ok(value));
    MessageView::read(&octets).unwrap();
}

/// FlexRIC writes the REAL 117 with a mantissa of two bytes, `00 75`; X.690 §11.3.1 requires one byte. The values are
/// equal.
#[test]
fn mantissa_with_leading_zero_byte_is_decoded() {
    let octets = vector("flexric_modified_kpm_v203_emu_ind_msg_f2.bin");
    let (value, text) = per::decode_either::<IndicationMessage>(&octets).unwrap();
    assert_eq!(text, per::Text::Modified);
    let MessageFormat::Conditional(report) = &value.format else { panic!("{value:?}") };
    assert_eq!(report.records[0].values, [Measured::Real(117.0)]);
    let mut written = Vec::new();
    per::encode_in(&value, text, &mut written).unwrap();
    assert_eq!((&octets[6..11], &written[6..10]), (&[4, 0x80, 0, 0, 0x75][..], &[3, 0x80, 0, 0x75][..]));
    assert_eq!((&octets[..6], &octets[11..]), (&written[..6], &written[10..]));
}

/// O-RAN SC's kpimon-go (8bbbbbb) requests every measurement of a node with KPM 2.00, whose conditions are a CHOICE.
#[test]
fn conditions_of_kpm_2_00_are_decoded() {
    let octets: &[u8] = b"\x00\x01\x03@\x00\x07\x00\xa0DRB.UEThpDl\x00\x00\x10\x00\x00\x00PDRB.UEThpUl\x00\x00\x10\x00\x00\x00\
          XRRU.PrbTotDl\x00\x00\x10\x00\x00\x00XRRU.PrbTotUl\x00\x00\x10\x00\x00\x00`RRU.PrbUsedDl\x00\x00\x10\
          \x00\x00\x00\x90DRB.PdcpSduVolumeDL\x00\x00\x10\x00\x00\x00\x90DRB.PdcpSduVolumeUL\x00\x00\x10\x00\
          \x00\x00\x80DRB.RlcSduDelayDl\x00\x00\x10\x00\x00 '\x0f";
    let (value, text) = per::decode_either::<ActionDefinition>(&Bytes::from_static(octets)).unwrap();
    assert_eq!((text, value.style), (per::Text::Early, 3));
    let ActionFormat::Conditional(it) = &value.format else { panic!("{value:?}") };
    let anybody = Matching { condition: MatchingCondition::Label(Label::none()), or: false };
    assert_eq!((it.measurements.len(), it.granularity_ms), (8, 10_000));
    assert!(it.measurements.iter().all(|it| it.conditions == [anybody.clone()]));
    let mut written = Vec::new();
    per::encode_in(&value, text, &mut written).unwrap();
    assert_eq!(written, octets);
}

/// Each value round-trips in the text in which it was encoded; if both texts fit the bytes, the standard one is used.
#[test]
fn asn1_text_that_consumes_all_bytes_is_used() {
    let mut modified = 0;
    for seed in 0..SEEDS {
        let value: IndicationMessage = per::sample(seed).unwrap();
        for text in [per::Text::Standard, per::Text::Modified] {
            let mut octets = Vec::new();
            per::encode_in(&value, text, &mut octets).unwrap();
            let (read, found) = per::decode_either::<IndicationMessage>(&octets.into()).unwrap();
            match found == text {
                true => assert_eq!(read, value, "seed {seed}"),
                false => assert_eq!(found, per::Text::Standard, "seed {seed}"),
            }
            modified += u32::from(found == per::Text::Modified);
        }
    }
    assert!(modified > 0);
}

#[test]
fn our_kpm_definition_fits_buffers_of_flexric() {
    let octets =
        FunctionDescription::new(&UE_MEASUREMENTS, &NODE_MEASUREMENTS).to_octets(Encoding::Per).unwrap();
    if std::env::var_os("RANLAB_BLESS").is_some() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/e2sm/kpm/definition.per");
        std::fs::write(file, &octets).unwrap();
    }
    assert_eq!(
        Kpm.definition(),
        &octets[..],
        "our definition has changed; RANLAB_BLESS=1 writes the file again"
    );
    assert!(octets.len() < 1_023, "FlexRIC crashes at {} bytes", octets.len());
}

fn round_trips<T: Per + Octets + PartialEq + Debug>() {
    for seed in 0..SEEDS {
        let value: T = per::sample(seed).unwrap();
        let octets = value.to_octets(Encoding::Per).unwrap();
        assert_eq!(T::decode_as(Encoding::Per, &octets).as_ref(), Ok(&value), "seed {seed}");
        for end in 0..octets.len() {
            assert!(per::decode::<T>(octets.slice(..end)).is_err(), "seed {seed}, {end}");
        }
    }
}

#[test]
fn random_values_round_trip_and_prefixes_fail() {
    round_trips::<EventTrigger>();
    round_trips::<ActionDefinition>();
    round_trips::<IndicationMessage>();
    round_trips::<FunctionDescription>();
}

/// Additions are tested separately, because random values contain none.
#[test]
fn kpm_additions_round_trip() {
    let bin = |index| Bin { index, start: BinValue::Int(-3), end: BinValue::Real(0.5) };
    let bins = BinRanges { x: vec![bin(1), bin(65_535)], y: None, z: Some(vec![bin(2)]) };
    let label = Label { ssb: Some(3), mimo: Some(2), ..Label::none() };
    let info =
        MeasurementInfo { measurement: Measurement::Id(65_536), labels: vec![label, Label::default()] };
    let measured = MeasurementBins { measurement: "CARR.PDSCHMCSDist".into(), bins };
    let measurements =
        Measurements { infos: vec![info], granularity_ms: 100, cell: None, bins: Some(vec![measured]) };
    let or = |or| UeMatching { test: Test::slice(DEFAULT_SLICE), or };
    let conditions = vec![or(Some(())), or(None)];
    let format = ActionFormat::MatchingUes(MatchingUeMeasurements { conditions, measurements });
    let action = ActionDefinition::from(format);
    let octets = action.to_octets(Encoding::Per).unwrap();
    assert_eq!(ActionDefinition::decode_as(Encoding::Per, &octets), Ok(action));
}

/// Converts a view to a message.
fn from_view(view: &MessageView) -> MessageFormat {
    let view = match view {
        MessageView::Conditional(report) => return MessageFormat::Conditional(report.clone()),
        MessageView::Reports(view) => view,
    };
    let report = |view: ReportView<'_>| {
        let record =
            |(values, incomplete): (&[Measured], bool)| Record { values: values.to_vec(), incomplete };
        let info = |(measurement, label): (&MeasurementRef, &Label)| MeasurementInfo {
            measurement: match measurement {
                MeasurementRef::Name(_) => measurement.name().unwrap().into(),
                MeasurementRef::Id(id) => Measurement::Id(*id),
            },
            labels: vec![label.clone()],
        };
        Report {
            records: view.records().map(record).collect(),
            infos: view.measurements().map(|all| all.map(info).collect()),
            granularity_ms: view.granularity_ms(),
        }
    };
    let reports: Vec<_> = view.reports().collect();
    match reports[..] {
        [only] if only.ue().is_none() => MessageFormat::Node(report(only)),
        _ => {
            let of = |it: &ReportView<'_>| UeReport { ue: it.ue().unwrap().clone(), report: report(*it) };
            MessageFormat::Ues(reports.iter().map(of).collect())
        }
    }
}

/// Splits a measurement with several labels into measurements with one label each.
fn flat(format: MessageFormat) -> MessageFormat {
    let one = |report: Report| {
        let each = |info: MeasurementInfo| {
            let MeasurementInfo { measurement, labels } = info;
            let of = move |label| MeasurementInfo { measurement: measurement.clone(), labels: vec![label] };
            labels.into_iter().map(of).collect::<Vec<_>>()
        };
        Report { infos: report.infos.map(|infos| infos.into_iter().flat_map(each).collect()), ..report }
    };
    match format {
        MessageFormat::Node(report) => MessageFormat::Node(one(report)),
        MessageFormat::Ues(ues) => {
            MessageFormat::Ues(ues.into_iter().map(|it| UeReport { report: one(it.report), ..it }).collect())
        }
        other => other,
    }
}

/// Returns a report by UE with `ues` UEs: two lists of measurements alternate, and repeat for some UEs.
fn by_ue(ues: u32) -> MessageFormat {
    let names = ["DRB.UEThpDl", "DRB.UEThpUl", "RRU.PrbTotDl", "DRB.PdcpSduVolumeDL"];
    let report = |ue: u32| {
        let list = &names[(ue / 3 % 2) as usize..];
        let value = |place| match place % 3 {
            0 => Measured::Real(f64::from(ue) + 0.1),
            1 => Measured::Integer(ue * 1_000),
            _ => Measured::NoValue(()),
        };
        let values = (0..list.len()).map(value).collect();
        let records = vec![Record { values, incomplete: ue.is_multiple_of(2) }];
        let infos = Some(list.iter().map(|name| MeasurementInfo::plain(name)).collect());
        Report { records, infos, granularity_ms: (!ue.is_multiple_of(5)).then_some(100 + ue) }
    };
    let ue = |ue| UeReport { ue: UeId::du(ue), report: report(ue) };
    MessageFormat::Ues((0..ues).map(ue).collect())
}

#[test]
fn view_and_message_decoders_agree() {
    let random = (0..SEEDS).map(|seed| per::sample::<IndicationMessage>(seed).unwrap().format);
    // The last format requires fragments.
    for format in random.chain([1, 2, 9, 400].map(by_ue)) {
        let message = IndicationMessage::from(format);
        let octets = message.to_octets(Encoding::Per).unwrap();
        let view = MessageView::read(&octets).unwrap();
        assert_eq!(from_view(&view), flat(message.format));
        for end in (0..octets.len()).step_by(1 + octets.len() / 300) {
            // A message that is truncated in one text can be complete in the other.
            let part = octets.slice(..end);
            let whole = per::decode_either::<IndicationMessage>(&part).is_ok();
            assert_eq!(MessageView::read(&part).is_ok(), whole, "{end} of {}", octets.len());
        }
    }
}

#[test]
fn record_that_does_not_match_its_list_yields_no_row() {
    let report = |values| Report {
        records: vec![Record { values, incomplete: false }],
        infos: Some(vec![MeasurementInfo::plain("RRU.PrbTotDl"), MeasurementInfo::plain("DRB.UEThpDl")]),
        granularity_ms: None,
    };
    let table = |values| {
        let header = IndicationHeader::from(TimeStamp::ntp(5)).to_octets(Encoding::Per).unwrap();
        let message = IndicationMessage::from(MessageFormat::Node(report(values)));
        Kpm.table(Encoding::Per, &header, &message.to_octets(Encoding::Per).unwrap()).unwrap()
    };
    let seven = Measured::Integer(7);
    let none = Measured::NoValue(());
    assert_eq!(table(vec![seven]).left_out.as_deref(), Some("1 value for 2 labels"));
    assert!(table(vec![seven]).is_empty());
    let whole = table(vec![seven, none]);
    let rows: Vec<_> =
        whole.rows().map(|(_, values)| values.iter().map(ToString::to_string).collect::<Vec<_>>()).collect();
    assert_eq!(rows[0], ["node", "RRU.PrbTotDl", "", "7", "%", "", "0", ""]);
    assert_eq!(rows[1], ["node", "DRB.UEThpDl", "", "NaN", "kbit/s", "noValue", "0", ""]);
    assert_eq!(whole.tstamp_us, Some(5));
}

/// Returns a message of format 1 without names, with these values.
fn unnamed(values: &[u32]) -> Bytes {
    let values = values.iter().map(|value| Measured::Integer(*value)).collect();
    let records = vec![Record { values, incomplete: false }];
    let report = Report { records, infos: None, granularity_ms: None };
    IndicationMessage::from(MessageFormat::Node(report)).to_octets(Encoding::Per).unwrap()
}

fn subscribed(format: ActionFormat) -> Context {
    let action = ActionDefinition::from(format).to_octets(Encoding::Per).unwrap();
    Context::new(Bytes::from_static(Kpm::DEFINITION), action)
}

fn named_rows(context: &mut Context, message: &Bytes) -> Vec<[String; 4]> {
    let model: &dyn Model = &Kpm;
    let header = IndicationHeader::from(TimeStamp::ntp(1_700_000_000_000_000));
    let header = header.to_octets(Encoding::Per).unwrap();
    let table = model.table_in(Encoding::Per, context, &header, message).unwrap();
    let cells = |(_, row): (_, &[Value])| [0, 1, 2, 3].map(|column: usize| row[column].to_string());
    table.rows().map(cells).collect()
}

#[test]
fn values_without_names_get_names_of_subscription_and_definition() {
    let sum = Label { sum: true, ..Label::default() };
    let by_number = MeasurementInfo { measurement: Measurement::Id(1), labels: vec![Label::none(), sum] };
    let infos = vec![MeasurementInfo::plain("RRU.PrbTotDl"), by_number];
    let measurements = Measurements { infos, ..Measurements::plain([], 100) };
    let mut context = subscribed(ActionFormat::Node(measurements.clone()));
    let rows = named_rows(&mut context, &unnamed(&[7, 8, 9]));
    let named = |of: &str, name: &str, label: &str, value: &str| [of, name, label, value].map(str::to_owned);
    let expected = [
        named("node", "RRU.PrbTotDl", "", "7"),
        named("node", "DRB.UEThpDl", "", "8"),
        named("node", "DRB.UEThpDl", "sum", "9"),
    ];
    assert_eq!(rows, expected);
    // One UE of a subscription of style 2.
    let ue = UeId::du(5);
    let mut of_ue = subscribed(ActionFormat::Ue(UeMeasurements { ue: ue.clone(), measurements }));
    assert_eq!(named_rows(&mut of_ue, &unnamed(&[7, 8, 9]))[0][0], ue.to_string());
    // Without a subscription, the position is the name.
    assert_eq!(named_rows(&mut Context::default(), &unnamed(&[7]))[0], named("node", "value 1", "", "7"));
}

#[test]
fn record_shorter_than_its_subscription_is_left_out_with_a_reason() {
    let model: &dyn Model = &Kpm;
    let measurements = Measurements::plain(["DRB.UEThpDl", "RRU.PrbTotDl"], 100);
    let mut context = subscribed(ActionFormat::Node(measurements));
    let header = IndicationHeader::from(TimeStamp::V3(0)).to_octets(Encoding::Per).unwrap();
    let message = unnamed(&[7]);
    assert!(named_rows(&mut context, &message).is_empty());
    let checked = model.check_in(Encoding::Per, &mut context, &header, &message);
    assert!(matches!(checked, Err(SmError::LeftOut(_))), "{checked:?}");
}

/// A message that is complete in both texts is decoded in the text that the node has used so far.
#[test]
fn asn1_text_of_a_node_is_kept_until_a_message_contradicts_it() {
    let modified = vector("flexric_modified_kpm_v203_ind_msg_f3.bin");
    let standard = unnamed(&[7]);
    let mut context = Context::default();
    let header = IndicationHeader::from(TimeStamp::V2(1)).to_octets(Encoding::Per).unwrap();
    let model: &dyn Model = &Kpm;
    for (message, text) in [(&standard, per::Text::Standard), (&modified, per::Text::Modified)] {
        model.table_in(Encoding::Per, &mut context, &header, message).unwrap();
        assert_eq!(context.text, text);
    }
    for seed in 0..SEEDS {
        let value: IndicationMessage = per::sample(seed).unwrap();
        let mut octets = Vec::new();
        per::encode_in(&value, per::Text::Modified, &mut octets).unwrap();
        let octets = octets.into();
        let mut text = per::Text::Modified;
        assert_eq!(
            per::decode_in::<IndicationMessage>(&octets, &mut text).as_ref(),
            Ok(&value),
            "seed {seed}"
        );
        assert_eq!(text, per::Text::Modified);
    }
}
