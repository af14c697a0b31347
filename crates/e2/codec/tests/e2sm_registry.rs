//! Tests of every service model through the registry only.

#![allow(clippy::unwrap_used)] // clippy does not recognise test helpers

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use ranlab_e2_codec::e2sm::hw::{Hw, HwTrigger};
use ranlab_e2_codec::e2sm::mac::Mac;
use ranlab_e2_codec::e2sm::plain::{EventTrigger, PlainError, Word};
use ranlab_e2_codec::e2sm::{
    Encoding, INSPECTED, Inspect, Kind, MODELS, Model, Octets, RowKey, ServiceModel, SmError, Type,
    UnknownModel, Value, by_oid, customary, mac,
};

/// Number of random indications for each model and encoding.
const SEEDS: u64 = 200;

#[test]
fn names_oids_and_function_ids_are_unique_and_find_the_model() {
    let mut seen = BTreeSet::new();
    for &model in MODELS {
        assert!(seen.insert(model.name().to_owned()), "{model}");
        assert!(seen.insert(model.oid().to_owned()), "{model}");
        assert!(seen.insert(model.default_function_id().to_string()), "{model}");
        assert_eq!(by_oid(model.oid()), Some(model));
        assert_eq!(model.name().to_uppercase().parse(), Ok(model));
        assert!(model.name().bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()), "{model}");
        assert!(!model.encodings().is_empty() && !model.definition().is_empty(), "{model}");
    }
    assert_eq!(by_oid("1.2.3"), None);
    let unknown = "kpn".parse::<&'static dyn Model>().unwrap_err();
    assert_eq!(unknown, UnknownModel("kpn".to_owned()));
    let names: Vec<_> = MODELS.iter().map(|model| model.name()).collect();
    assert!(unknown.to_string().ends_with(&format!("allowed are {}", names.join(", "))), "{unknown}");
}

/// Known peers abort on unknown functions, so the models offered by default are listed explicitly.
#[test]
fn models_offered_by_default_are_known_to_flexric() {
    let names: Vec<_> = customary().map(|model| model.name()).collect();
    assert_eq!(names, ["mac", "rlc", "pdcp", "gtp"]);
}

#[test]
fn columns_are_unique_and_every_row_has_all_values() {
    for &model in INSPECTED {
        let columns = model.columns();
        let names: BTreeSet<_> = columns.iter().map(|column| &column.name).collect();
        assert_eq!(names.len(), columns.len(), "{model}");
        assert!(columns.iter().any(|column| column.headline), "{model}: a narrow table would be empty");
        for seed in 0..SEEDS {
            let (.., table) = model.sample(model.encoding(), seed).unwrap();
            for (_, values) in table.rows() {
                assert_eq!(values.len(), columns.len(), "{model}");
                for (column, value) in columns.iter().zip(values) {
                    let of = match value {
                        Value::Unsigned(_) => Type::Unsigned,
                        Value::Signed(_) => Type::Signed,
                        Value::Single(_) | Value::Double(_) => Type::Float,
                        Value::Text(_) => Type::Text,
                    };
                    assert_eq!(of, column.of, "{model} {}", column.name);
                    assert!(of != Type::Text || column.kind == Kind::Label, "{model} {}", column.name);
                }
            }
        }
    }
}

#[test]
fn random_indications_round_trip_with_equal_rows() {
    for &model in INSPECTED {
        let mut rows = 0;
        for &encoding in model.encodings() {
            for seed in 0..SEEDS {
                let (header, message, table) = model.sample(encoding, seed).unwrap();
                assert_eq!(model.table(encoding, &header, &message).unwrap(), table, "{model} {seed}");
                // A random report can have more values than labels. Its table then has a reason why some values have no
                // row.
                let checked = model.check(encoding, &header, &message);
                let left_out = table.left_out.clone().map(SmError::LeftOut);
                assert!(checked.is_ok() || checked.err() == left_out, "{model} {seed}");
                assert_eq!(model.tstamp_us(encoding, &header, &message), table.tstamp_us, "{model} {seed}");
                for &to in model.encodings() {
                    let other = model.transcode(encoding, to, &message).unwrap();
                    let header = model.sample(to, seed).unwrap().0;
                    assert_eq!(model.table(to, &header, &other).unwrap(), table, "{model} {seed}");
                }
                rows += table.len();
            }
        }
        assert!(rows > SEEDS as usize / 2, "{model}: {rows} rows");
    }
}

#[test]
fn invalid_indications_are_errors() {
    for &model in INSPECTED {
        for &encoding in model.encodings() {
            for seed in 0..20 {
                let (header, message, _) = model.sample(encoding, seed).unwrap();
                let longer: Bytes = [&message[..], &[0]].concat().into();
                let mut wrong: Vec<_> = (0..message.len()).map(|length| message.slice(..length)).collect();
                // FlatBuffers have no end: bytes without a reference to them are not read.
                if encoding != Encoding::Flat {
                    wrong.push(longer);
                }
                for octets in wrong {
                    assert!(model.table(encoding, &header, &octets).is_err(), "{model} {octets:?}");
                    assert!(model.check(encoding, &header, &octets).is_err(), "{model} {octets:?}");
                    assert!(model.transcode(encoding, encoding, &octets).is_err(), "{model} {octets:?}");
                }
                let header: Bytes = [&header[..], &[0]].concat().into();
                assert!(model.table(encoding, &header, &message).is_err(), "{model}");
            }
        }
        for encoding in [Encoding::Plain, Encoding::Per] {
            if !model.encodings().contains(&encoding) {
                let refused = model.table(encoding, &Bytes::new(), &Bytes::new()).unwrap_err();
                let header_first = matches!(refused, SmError::Encoding { asked, .. } if asked == encoding);
                assert!(header_first, "{model}: {refused}");
            }
        }
    }
}

#[test]
fn triggers_round_trip_with_their_period() {
    for &model in MODELS {
        let encoding = model.encoding();
        let trigger = model.periodic(encoding, Duration::from_millis(1)).unwrap();
        if model.period(encoding, &trigger) == Ok(None) {
            assert!(
                ["rc", "ni"].contains(&model.name()),
                "{model}: only RC and NI may have reports without a period"
            );
            continue;
        }
        for ms in [1, 10, 1_000, 60_000] {
            let period = Duration::from_millis(ms);
            let octets = model.periodic(encoding, period).unwrap();
            assert_eq!(model.period(encoding, &octets), Ok(Some(period)), "{model}");
            assert!(model.period(encoding, &octets.slice(..octets.len() - 1)).is_err(), "{model}");
        }
        for period in [Duration::ZERO, Duration::from_micros(999), Duration::from_secs(86_400)] {
            let refused = model.periodic(encoding, period).unwrap_err();
            assert!(matches!(refused, SmError::Period { .. }), "{model}: {refused}");
        }
    }
    let on_control = HwTrigger::OnControl.to_octets(Encoding::Per).unwrap();
    assert_eq!(Hw.period(Encoding::Per, &on_control), Ok(None));
    assert_eq!(Mac.periodic(Encoding::Plain, Duration::from_millis(10)).unwrap()[..], [10, 0, 0, 0]);
    let refused = EventTrigger::every(Duration::ZERO).unwrap_err().to_string();
    assert_eq!(refused, "a report period must be 1ms to 60s, not 0ns");
}

#[test]
fn absent_octet_strings_are_empty() {
    type Control<M> = <M as ServiceModel>::Control;
    let word = Control::<Mac>::decode_as(Encoding::Plain, &Bytes::from_static(&mac::CONTROL_MESSAGE));
    assert_eq!(word, Ok(Word(42)));
    let short = Control::<Mac>::decode_as(Encoding::Plain, &Bytes::from_static(&[42]));
    assert!(matches!(short, Err(SmError::Plain(PlainError::WrongSize { need: 4, have: 1, .. }))));
    type Outcome<M> = <M as ServiceModel>::Outcome;
    assert!(matches!(Outcome::<Mac>::decode_as(Encoding::Plain, &Bytes::new()), Err(SmError::Absent(_))));
    assert_eq!(<()>::decode_as(Encoding::Per, &Bytes::from_static(b"x")), Err(SmError::NotEmpty { have: 1 }));
}

#[test]
fn row_keys_are_not_table_columns() {
    let (_, message, table) = Mac.sample(Encoding::Plain, 3).unwrap();
    let view = mac::MacView::new(&message).unwrap();
    assert!(table.len() > 1);
    for ((key, values), ue) in table.rows().zip(view.iter()) {
        assert_eq!((key, key.ue()), (RowKey::Ue { rnti: ue.rnti }, Some(ue.rnti)));
        assert_eq!(values[0], Value::Unsigned(ue.dl_aggr_tbs));
        // Each HARQ round has a column. 8 columns with integers and 4 with floats precede them.
        assert_eq!(values[12], Value::Unsigned(ue.dl_harq[0].into()));
    }
    let columns = Mac.columns();
    assert_eq!((columns[12].name.as_ref(), columns[16].name.as_ref()), ("dl_harq_0", "dl_harq_4"));
    assert!(columns.iter().all(|column| column.name != "rnti"));
}

/// Number of samples per model of those whose messages may be converted to rows only in part.
const SAMPLES: u64 = 400;

#[test]
fn indications_have_rows_or_a_reason() {
    for name in ["kpm", "rc", "ccc", "ni"] {
        let model = INSPECTED.iter().find(|it| it.name() == name).unwrap();
        for seed in 0..SAMPLES {
            let (header, message, table) = model.sample(model.encoding(), seed).unwrap();
            assert!(!table.is_empty() || table.left_out.is_some(), "{name}, seed {seed}");
            let read = model.table(model.encoding(), &header, &message).unwrap();
            assert!(!read.is_empty() || read.left_out.is_some(), "{name}, seed {seed}");
        }
    }
}

/// A record of three values for two measurements, as srsRAN and OCUDU send it.
#[test]
fn kpm_record_that_does_not_fit_is_left_out_with_a_reason() {
    use ranlab_e2_codec::e2sm::kpm::Kpm;
    let octets = |text: &str| {
        let digits = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
        Bytes::from(digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect::<Vec<_>>())
    };
    let header = octets("00eeb3be394657b000");
    let message = octets(
        "0c00000003000100020003000100a04452422e5545546870446c0120000000b05252552e507262546f74446c012000004003e7",
    );
    let model: &dyn Model = &Kpm;
    let table = model.table(model.encoding(), &header, &message).unwrap();
    assert!(table.is_empty());
    assert_eq!(table.left_out.as_deref(), Some("3 values for 2 labels"));
    let checked = model.check(model.encoding(), &header, &message);
    assert!(
        matches!(&checked, Err(SmError::LeftOut(reason)) if reason == "3 values for 2 labels"),
        "{checked:?}"
    );
}
