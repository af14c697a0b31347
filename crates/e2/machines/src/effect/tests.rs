use super::*;
use ranlab_e2_codec::e2sm::Row;
use ranlab_e2_codec::e2sm::common::UeId;
use ranlab_e2_codec::e2sm::kpm::MeasurementRow;

/// A UE with a gauge and a counter.
struct Ue(u32, f64, u64);

impl Row for Ue {
    fn columns() -> Vec<Column> {
        let column = |name: &'static str, unit, kind, of| Column {
            name: name.into(),
            unit,
            kind,
            of,
            headline: false,
        };
        vec![
            column("load", "us", Kind::Gauge, Type::Float),
            column("bytes", "B", Kind::Counter, Type::Unsigned),
            column("cell", "", Kind::Label, Type::Unsigned),
        ]
    }
    fn key(&self) -> RowKey {
        RowKey::Ue { rnti: self.0 }
    }
    fn values(&self, out: &mut Vec<Value>) {
        out.extend([Value::Double(self.1), Value::Unsigned(self.2), Value::Unsigned(7)]);
    }
}

fn table<R: Row>(rows: &[R]) -> Table {
    let mut table = Table::default();
    rows.iter().for_each(|row| table.push(row));
    table
}

fn new(kpis: &[&str], periods: u32) -> Result<Effect, EffectError> {
    Effect::new(&Ue::columns(), &[], kpis, periods)
}

fn halves(before: f64, after: f64) -> Halves {
    Halves { before: Some(before), after: Some(after) }
}

/// Reports two UEs with the same load, and a third UE that no earlier report contains.
fn report(effect: &mut Effect, load: f64, bytes: u64) -> Next {
    let newcomer = Ue(bytes as u32 + 3, load, u64::MAX);
    effect.report(&table(&[Ue(1, load, bytes), Ue(2, load, bytes + 7), newcomer]))
}

#[test]
fn counters_add_up_and_delays_are_averaged() {
    let mut effect = new(&["bytes", "load"], 2).unwrap();
    // The first report yields no increase of the counters.
    assert_eq!(report(&mut effect, 50.0, 100), Next::Report);
    assert_eq!(report(&mut effect, 10.0, 200), Next::Report);
    assert_eq!(report(&mut effect, 20.0, 400), Next::Command);
    assert_eq!(
        report(&mut effect, 90.0, 10_000),
        Next::Report,
        "a report during the control's execution must not count"
    );
    effect.commanded();
    // An increase while the control is executed counts neither before nor after the control.
    assert_eq!(report(&mut effect, 30.0, 10_000), Next::Report);
    assert_eq!(report(&mut effect, 40.0, 10_010), Next::Done);
    assert_eq!(report(&mut effect, 1.0, 1), Next::Report, "reports after the last period must be ignored");
    let changes = effect.changes();
    let [bytes, load] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!((bytes.total, bytes.summary, &*bytes.unit), (halves(300.0, 10.0), Summary::Sum, "B"));
    assert_eq!((load.total, load.summary, &*load.unit), (halves(15.0, 35.0), Summary::Mean, "us"));
    let ue = |name: &str| bytes.ues.iter().find(|it| it.0 == name).map(|it| it.1);
    assert_eq!((ue("1"), ue("2")), (Some(halves(150.0, 5.0)), Some(halves(150.0, 5.0))));
}

fn measured(ue: u32, label: &str, value: f64) -> MeasurementRow {
    MeasurementRow {
        ue: Some(UeId::du(ue)),
        measurement: "RRU.PrbTotDl".to_owned(),
        label: label.to_owned(),
        value,
        absent: "",
        incomplete: false,
    }
}

#[test]
fn effect_is_reported_per_slice() {
    let mut effect = Effect::new(&MeasurementRow::columns(), &[], &["RRU.PrbTotDl"], 1).unwrap();
    let report = |gold: f64, silver: f64| {
        table(&[measured(1, "", gold / 2.0), measured(2, "", gold / 2.0), measured(3, "", silver)])
    };
    effect.members("1", &table(&[measured(1, "", 0.0), measured(2, "", 0.0)]));
    effect.members("2-000001", &table(&[measured(3, "", 0.0)]));
    effect.report(&report(50.0, 50.0));
    assert_eq!(effect.report(&report(50.0, 50.0)), Next::Command);
    effect.commanded();
    assert_eq!(effect.report(&report(70.0, 30.0)), Next::Done);
    let change = &effect.changes()[0];
    assert_eq!((change.total, &*change.unit), (halves(100.0, 100.0), "%"));
    let slices = [("1".to_owned(), halves(50.0, 70.0)), ("2-000001".to_owned(), halves(50.0, 30.0))];
    assert_eq!(change.slices, slices);
    let ues: Vec<&str> = change.ues.iter().map(|it| &*it.0).collect();
    assert_eq!(ues, ["f1ap=1", "f1ap=2", "f1ap=3"]);
    assert_eq!(change.ues[0].1, halves(25.0, 35.0));
}

#[test]
fn ues_without_known_slice_are_grouped_as_other() {
    let mut effect = Effect::new(&MeasurementRow::columns(), &[], &["RRU.PrbTotDl"], 1).unwrap();
    effect.members("1", &table(&[measured(1, "", 0.0)]));
    let rows = || table(&[measured(1, "", 10.0), measured(2, "", 20.0)]);
    effect.report(&rows());
    effect.report(&rows());
    let slices: Vec<_> = effect.changes()[0].slices.iter().map(|it| (it.0.clone(), it.1.before)).collect();
    assert_eq!(slices, [("1".to_owned(), Some(10.0)), (OTHER_SLICES.to_owned(), Some(20.0))]);
}

#[test]
fn slice_labels_group_rows_and_kpi_label_selects_rows() {
    let kpis = ["RRU.PrbTotDl", "RRU.PrbTotDl slice=1"];
    let mut effect = Effect::new(&MeasurementRow::columns(), &[], &kpis, 1).unwrap();
    let report = |scale: f64| {
        table(&[measured(1, "slice=1", 10.0 * scale), measured(2, "plmn=505.01 slice=2", 30.0 * scale)])
    };
    effect.report(&report(9.0));
    assert_eq!(effect.report(&report(1.0)), Next::Command);
    effect.commanded();
    assert_eq!(effect.report(&report(0.5)), Next::Done);
    let changes = effect.changes();
    assert_eq!(changes[0].total, halves(40.0, 20.0));
    assert_eq!(
        changes[0].slices,
        [("1".to_owned(), halves(10.0, 5.0)), ("2".to_owned(), halves(30.0, 15.0))]
    );
    assert_eq!(changes[1].total, halves(10.0, 5.0));
}

#[test]
fn decreased_counters_and_missing_values_have_no_effect() {
    let mut effect = new(&["bytes", "load"], 1).unwrap();
    for row in [Ue(1, f64::NAN, 10), Ue(1, f64::NAN, 5)] {
        effect.report(&table(&[row]));
    }
    effect.commanded();
    assert_eq!(effect.report(&Table::default()), Next::Done);
    assert!(effect.changes().iter().all(|it| it.total == Halves::default()), "{effect:?}");
}

#[test]
fn early_command_is_ignored() {
    let mut effect = new(&["load"], 1).unwrap();
    effect.commanded();
    effect.report(&table(&[Ue(1, 1.0, 1)]));
    assert_eq!(effect.report(&table(&[Ue(1, 1.0, 1)])), Next::Command);
}

#[test]
fn ues_beyond_limit_are_counted() {
    let mut effect = new(&["load"], 1).unwrap();
    let ues = GROUPS_MAX as u32 + 10;
    let rows: Vec<Ue> = (0..ues).map(|ue| Ue(ue, 1.0, 0)).collect();
    effect.report(&table(&rows));
    effect.report(&table(&rows));
    let change = &effect.changes()[0];
    assert_eq!(change.ues.len() as u64 + change.left_out, u64::from(ues));
    assert!(change.left_out > 0 && change.total.before == Some(1.0));
}

#[test]
fn error_for_unknown_kpi_lists_known_kpis() {
    assert_eq!(new(&[], 1).unwrap_err(), EffectError::Kpis);
    assert_eq!(new(&["load"; KPIS_MAX + 1], 1).unwrap_err(), EffectError::Kpis);
    assert_eq!(new(&["load"], 0).unwrap_err(), EffectError::Periods);
    for name in ["cell", "speed", ""] {
        let there = "load, bytes".to_owned();
        assert_eq!(new(&[name], 1).unwrap_err(), EffectError::Unknown { name: name.to_owned(), there });
    }
    let offered = ["DRB.UEThpDl".to_owned(), "RRU.PrbTotDl".to_owned()];
    let of_kpm = |name: &str| Effect::new(&MeasurementRow::columns(), &offered, &[name], 1).map(drop);
    assert_eq!((of_kpm("DRB.UEThpDl"), of_kpm("RRU.PrbTotDl slice=1")), (Ok(()), Ok(())));
    for name in ["DRB.UEThpDL", "speed", "value", ""] {
        let there = offered.join(", ");
        assert_eq!(of_kpm(name), Err(EffectError::Unknown { name: name.to_owned(), there }));
    }
}
