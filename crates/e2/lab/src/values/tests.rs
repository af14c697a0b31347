use super::*;
use ranlab_sdk::wire::e2ap::Plmn;
use ranlab_sdk::wire::e2sm::hw::Hw;
use ranlab_sdk::wire::e2sm::mac::{Mac, MacUe};
use ranlab_sdk::wire::e2sm::plain::{INDICATION_HEADER, PlainElement, encode_list};
use ranlab_sdk::wire::e2sm::rlc::{Rlc, RlcBearer, RlcMode};
use ranlab_sdk::wire::e2sm::{INSPECTED, MODELS, Octets, ServiceModel};

const EPOCH_US: i64 = 1_700_000_000_000_000;

fn node(number: u32) -> GlobalE2NodeId {
    GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), number, 32)
}

fn functions(models: &[&'static dyn Model]) -> Vec<RanFunctionItem> {
    let function = |model: &&'static dyn Model| RanFunctionItem {
        id: model.default_function_id(),
        definition: Bytes::new(),
        revision: 1,
        oid: Some(model.oid().to_owned()),
    };
    models.iter().map(function).collect()
}

fn values(models: &[&'static dyn Model], ue: Option<u32>) -> Values {
    let mut values = Values::new(models, None, ue);
    (1..=3).for_each(|number| values.learn(node(number), &functions(models)));
    values
}

/// Passes a report to the store, and the rows of the report to `each`.
fn apply_report<M: ServiceModel>(
    values: &mut Values,
    from: u32,
    message: &Bytes,
    each: impl FnMut(&Line<'_>),
) {
    let header = Bytes::from_static(&INDICATION_HEADER);
    let of = (SubscriptionHandle(u64::from(M::DEFAULT_FUNCTION_ID)), 0);
    values.nodes.get_mut(&node(from)).unwrap().add_subscription(of, || None);
    let report = Report { of, header: &header, message, received_us: EPOCH_US };
    let received = values.on_report(node(from), M::DEFAULT_FUNCTION_ID, report).unwrap();
    let table = received.table().unwrap();
    let received_us = table.tstamp_us.unwrap() + 250;
    received.lines(&table, received_us).collect::<Vec<_>>().iter().for_each(each);
}

fn report<E: PlainElement>(second: i64, elements: Vec<E>) -> Bytes {
    let mut out = Vec::new();
    encode_list(&mut out, elements, EPOCH_US + second * 1_000_000).unwrap();
    out.into()
}

fn ue(rnti: u32, dl_aggr_tbs: u64) -> MacUe {
    MacUe { rnti, dl_aggr_tbs, pusch_snr: 21.25, wb_cqi: 15, dl_mcs1: 27, ..MacUe::default() }
}

fn bearer(rnti: u32, rbid: u8, waiting: u32) -> RlcBearer {
    let mode = RlcMode::Unacknowledged;
    RlcBearer { rnti, rbid, txbuf_occ_bytes: waiting, mode, ..RlcBearer::default() }
}

/// Creates a store and screen for two base stations with two reports each, one second apart. UE 2 of the first base
/// station has two bearers.
fn watched(ue_alone: Option<u32>) -> (Values, Screen) {
    let mut values = values(&[&Mac, &Rlc], ue_alone);
    let mut screen = Screen::default();
    for (second, sent) in [(0, 0), (1, 2_500_000)] {
        apply_report::<Mac>(&mut values, 1, &report(second, vec![ue(1, 10), ue(2, sent)]), |_| {});
        apply_report::<Rlc>(
            &mut values,
            1,
            &report(second, vec![bearer(2, 1, 40), bearer(2, 2, 900)]),
            |_| {},
        );
        apply_report::<Mac>(&mut values, 3, &report(second, vec![ue(7, 1_000 - sent.min(1_000))]), |_| {});
        if second == 0 {
            // The growth of a counter needs a previous value.
            let _ = screen.lines(&values);
        }
    }
    (values, screen)
}

#[test]
fn terminal_table_has_expected_layout() {
    let (values, mut screen) = watched(None);
    let table = screen.table(&values, Room { lines: 20, columns: 78 });
    let expected = [
        "                         mac",
        "node          ue dl_aggr_tbs ul_aggr_tbs pusch_snr dl_bler    bsr wb_cqi",
        "                         B/s         B/s        dB              B",
        "gnb 505.01 1   1           0           0      21.2       0      0     15",
        "             2/1       2.50M           0      21.2       0      0     15",
        "             2/2           -           -         -       -      -      -",
        "gnb 505.01 3   7           -           0      21.2       0      0     15",
        "… 5 more columns require a wider terminal",
    ];
    assert_eq!(table, expected, "{}", table.join("\n"));
    // Without a new report, the table is unchanged.
    assert_eq!(screen.table(&values, Room { lines: 20, columns: 78 }), expected);
    let wide = screen.table(&values, Room { lines: 20, columns: 160 });
    assert!(
        wide[0].contains("rlc") && wide[4].ends_with("0              40           0"),
        "{}",
        wide.join("\n")
    );
    assert!(wide.iter().all(|line| line.len() <= 160));
}

#[test]
fn small_terminal_shows_number_of_omitted_lines() {
    let (values, mut screen) = watched(None);
    let table = screen.table(&values, Room { lines: 6, columns: 30 });
    assert_eq!(table.len(), 6, "{}", table.join("\n"));
    assert!(table[5].starts_with("… 2 more lines; --ue shows one UE"), "{}", table[5]);
    let (values, mut screen) = watched(Some(7));
    let table = screen.table(&values, Room { lines: 20, columns: 78 });
    assert_eq!(table.len(), 5, "{}", table.join("\n"));
    assert!(table[3].starts_with("gnb 505.01 3  7"), "{}", table[3]);
    assert!(screen.table(&Values::new(&[&Mac], None, None), Room { lines: 20, columns: 78 }).is_empty());
}

#[test]
fn lines_for_a_pipe_name_node_ue_and_columns() {
    let (values, mut screen) = watched(Some(2));
    assert_eq!(
        screen.lines(&values),
        [
            "gnb 505.01 1  ue 2/1  mac dl_aggr_tbs=2.50M B/s ul_aggr_tbs=0 B/s pusch_snr=21.2 dB dl_bler=0 bsr=0 B \
             wb_cqi=15 dl_mcs1=27 ul_mcs1=0  rlc txpdu_retx_pkts=0 /s txbuf_occ_bytes=40 B txsdu_wt_us=0 us",
            "gnb 505.01 1  ue 2/2  rlc txpdu_retx_pkts=0 /s txbuf_occ_bytes=900 B txsdu_wt_us=0 us",
        ]
    );
}

#[test]
fn every_model_becomes_json_and_file_rows() {
    let folder = std::env::temp_dir().join(format!("ranlab-values-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("all.csv");
    let mut recorder = Recorder::create(&path, MODELS).unwrap();
    let mut values = values(MODELS, None);
    let mut rows = 0;
    for &model in INSPECTED {
        for seed in 0..20 {
            let (header, message, table) = model.sample(model.encoding(), seed).unwrap();
            let of = (SubscriptionHandle(model.default_function_id().into()), 0);
            values.nodes.get_mut(&node(1)).unwrap().add_subscription(of, || None);
            let report = Report { of, header: &header, message: &message, received_us: EPOCH_US };
            let received = values.on_report(node(1), model.default_function_id(), report).unwrap();
            let received_table = received.table().unwrap();
            assert!(received_table.rows().eq(table.rows()), "{}", model.name());
            for line in received.lines(&table, 5) {
                recorder.row(&line).unwrap();
                let json = serde_json::to_value(&line).unwrap();
                let object = json.as_object().unwrap();
                let keys = identity(line.key).iter().filter(|(_, value)| value.is_some()).count();
                // A column with the name of a common field would reduce the number of fields.
                assert_eq!(object.len(), 4 + keys + model.columns().len(), "{model}");
                assert_eq!(
                    (object["sm"].as_str(), object["received_us"].as_i64()),
                    (Some(model.name()), Some(5))
                );
                rows += 1;
            }
        }
    }
    assert_eq!(recorder.finish().unwrap(), rows);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len() as u64, rows + 2);
    let columns = 7 + MODELS.iter().map(|model| model.columns().len()).sum::<usize>();
    // Text with commas is quoted in CSV.
    let fields =
        |line: &str| 1 + line.split('"').step_by(2).map(|bare| bare.matches(',').count()).sum::<usize>();
    let odd = lines[1..].iter().find(|line| fields(line) != columns);
    assert_eq!(odd, None);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn recorded_file_contains_received_values() {
    let folder = std::env::temp_dir().join(format!("ranlab-record-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("some.csv");
    let mut values = values(&[&Mac, &Rlc], Some(2));
    let mut recorder = Recorder::create(&path, &[&Mac, &Rlc]).unwrap();
    let mut row = |line: &Line<'_>| recorder.row(line).unwrap();
    apply_report::<Mac>(&mut values, 1, &report(0, vec![ue(1, 10), ue(2, 77)]), &mut row);
    apply_report::<Rlc>(&mut values, 1, &report(1, vec![bearer(2, 4, 900), bearer(3, 4, 1)]), &mut row);
    recorder.flush().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines = text.lines();
    let about = lines.next().unwrap();
    assert!(about.starts_with("# ") && about.contains("mac_pusch_snr dB, ") && about.contains("time_us us"));
    let names: Vec<_> = lines.next().unwrap().split(',').collect();
    let cell = |line: &str, name: &str| {
        let at = names.iter().position(|other| *other == name).unwrap();
        line.split(',').nth(at).unwrap().to_owned()
    };
    let [mac, rlc] = lines.collect::<Vec<_>>()[..] else { panic!("{text}") };
    for (line, name, expected) in [
        (mac, "time_us", EPOCH_US.to_string()),
        (mac, "received_us", (EPOCH_US + 250).to_string()),
        (mac, "node", "gnb 505.01 1".to_owned()),
        (mac, "sm", "mac".to_owned()),
        (mac, "ue", "2".to_owned()),
        (mac, "bearer", String::new()),
        (mac, "mac_dl_aggr_tbs", "77".to_owned()),
        (mac, "mac_pusch_snr", "21.25".to_owned()),
        (mac, "rlc_mode", String::new()),
        (rlc, "sm", "rlc".to_owned()),
        (rlc, "bearer", "4".to_owned()),
        (rlc, "rlc_txbuf_occ_bytes", "900".to_owned()),
        (rlc, "rlc_mode", "um".to_owned()),
        (rlc, "mac_pusch_snr", String::new()),
    ] {
        assert_eq!(cell(line, name), expected, "{name}");
    }
    assert_eq!(recorder.finish().unwrap(), 2);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn unsupported_file_type_is_rejected() {
    let Err(refused) = Recorder::create("values.xlsx".as_ref(), MODELS) else { panic!("created") };
    assert!(refused.to_string().ends_with("allowed are .csv and .parquet"), "{refused}");
    let Err(refused) = Recorder::create("/nowhere/values.csv".as_ref(), MODELS) else { panic!("created") };
    assert!(matches!(refused, RecordError::Medium { .. }), "{refused}");
}

#[test]
fn store_is_bounded_and_forgets_disconnected_nodes() {
    let mut values = Values::new(&[&Mac], None, None);
    let message = report(0, vec![ue(1, 10)]);
    for number in 0..=NODES_MAX as u32 {
        values.learn(node(number), &functions(&[&Mac]));
        apply_report::<Mac>(&mut values, number, &message, |_| {});
    }
    assert_eq!((values.latest.len(), values.beyond), (NODES_MAX, true));
    values.forget(&node(5));
    assert_eq!((values.latest.len(), values.nodes.len()), (NODES_MAX - 1, NODES_MAX));
    let header = Bytes::from_static(&INDICATION_HEADER);
    let of = (SubscriptionHandle(Mac::DEFAULT_FUNCTION_ID.into()), 0);
    let report_of = |message| Report { of, header: &header, message, received_us: EPOCH_US };
    assert!(values.on_report(node(5), Mac::DEFAULT_FUNCTION_ID, report_of(&message)).is_none());
    assert!(values.on_report(node(6), Hw::DEFAULT_FUNCTION_ID, report_of(&message)).is_none());
    // A report that is too long to be stored is still streamed and recorded.
    let long = report(0, vec![ue(1, 10); 2_000]);
    let mut rows = 0;
    apply_report::<Mac>(&mut values, 6, &long, |_| rows += 1);
    let kept = &values.latest[&node(6)][&(0, (SubscriptionHandle(Mac::DEFAULT_FUNCTION_ID.into()), 0))];
    assert_eq!((rows, &kept.message[..]), (2_000, &message[..]));
}

#[test]
fn stale_values_and_lost_reports_are_marked() {
    let (values, mut screen) = watched(Some(7));
    let mut values = values.with_period(Duration::from_millis(100));
    let second = |seconds: i64| EPOCH_US + seconds * 1_000_000;
    screen.set_now(second(3));
    assert!(
        !screen.lines(&values)[0].contains('('),
        "a value of exactly three seconds must not be marked as stale"
    );
    screen.set_now(second(5));
    values.take_losses(|_| Some(12));
    let line = screen.lines(&values).remove(0);
    assert!(line.starts_with("gnb 505.01 3  ue 7  (stale 5 s, 12 lost)  mac"), "{line}");
    let table = screen.table(&values, Room { lines: 20, columns: 120 });
    assert!(table[1].contains(" note ") && table[3].contains("stale 5 s, 12 lost"), "{}", table.join("\n"));
    // With a report period of 10 s, values become stale after three periods.
    let values = values.with_period(Duration::from_secs(10));
    assert!(!screen.lines(&values)[0].contains("stale"));
}

/// KPM reports of the CU-CP, the CU-UP and the DU of a base station show the same UE number.
#[test]
fn nodes_of_a_base_station_share_ue_number() {
    use ranlab_sdk::wire::e2ap::E2NodeGnb;
    use ranlab_sdk::wire::e2sm::common::UeNumbers;
    use ranlab_sdk::wire::e2sm::kpm;
    let GlobalE2NodeId::Gnb(gnb) = node(1) else { panic!("not a gNB") };
    let nodes = [
        GlobalE2NodeId::Gnb(gnb),
        GlobalE2NodeId::Gnb(E2NodeGnb { cu_up_id: Some(1), ..gnb }),
        GlobalE2NodeId::Gnb(E2NodeGnb { du_id: Some(1), ..gnb }),
    ];
    let mut values = Values::new(&[&kpm::Kpm], None, None);
    let function = kpm::DEFAULT_FUNCTION_ID;
    for (handle, node) in (0..).zip(nodes) {
        values.learn(node, &functions(&[&kpm::Kpm]));
        let numbers: UeNumbers = "f1ap=3,e1ap=9,amf=1099511627000,guami=505.01/1/1/0".parse().unwrap();
        let info = kpm::MeasurementInfo::plain("DRB.UEThpDl");
        let report = kpm::Report {
            records: vec![kpm::Record { values: vec![kpm::Measured::Integer(8)], incomplete: false }],
            infos: Some(vec![info]),
            granularity_ms: None,
        };
        let ue = kpm::UeReport { ue: numbers.name_at(&node).unwrap(), report };
        let message = kpm::IndicationMessage::from(kpm::MessageFormat::Ues(vec![ue]));
        let message = message.to_octets(Encoding::Per).unwrap();
        let header = kpm::IndicationHeader::from(kpm::TimeStamp::ntp(EPOCH_US));
        let header = header.to_octets(Encoding::Per).unwrap();
        let of = (SubscriptionHandle(handle), 0);
        values.nodes.get_mut(&node).unwrap().add_subscription(of, || None);
        let report = Report { of, header: &header, message: &message, received_us: EPOCH_US };
        values.on_report(node, function, report).unwrap();
    }
    let lines = Screen::default().lines(&values);
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines.iter().all(|line| line.contains("  ue 3  kpm")), "{lines:?}");
    let ues = values.ues();
    assert_eq!((ues.len(), ues[0].nodes.len(), ues[0].number()), (1, 3, 3));
}
