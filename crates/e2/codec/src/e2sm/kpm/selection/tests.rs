use super::*;
use crate::e2ap::{E2NodeGnb, Plmn};

const UE: [&str; 5] = [
    "DRB.UEThpDl",
    "RRU.PrbTotDl",
    "DRB.RlcSduTransmittedVolumeDL",
    "DRB.PacketSuccessRateUlgNBUu",
    "DRB.RlcPacketDropRateDl",
];

fn node() -> GlobalE2NodeId {
    GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 1, 22)
}

fn theirs() -> Bytes {
    FunctionDescription::new(&UE, &["RACH.PreambleDedCell"]).to_octets(Encoding::Per).unwrap()
}

fn chosen(names: &[&str]) -> Selection {
    Selection { measurements: names.iter().map(|it| (*it).to_owned()).collect(), ..Selection::default() }
}

fn infos(format: &ActionFormat) -> Vec<String> {
    match format {
        ActionFormat::Node(it) => it.infos.iter().map(|it| it.measurement.to_string()).collect(),
        ActionFormat::MatchingUes(it) => infos(&ActionFormat::Node(it.measurements.clone())),
        ActionFormat::Ue(it) => infos(&ActionFormat::Node(it.measurements.clone())),
        ActionFormat::Ues(it) => infos(&ActionFormat::Node(it.measurements.clone())),
        ActionFormat::Conditional(it) => {
            it.measurements.iter().map(|it| it.measurement.to_string()).collect()
        }
    }
}

#[test]
fn default_selection_has_all_measurements_up_to_limit_of_peer() {
    let actions = Selection::default().actions(&node(), &theirs(), 1_000).unwrap();
    let got: Vec<_> = actions.iter().map(|it| (it.style, infos(&it.format))).collect();
    let all: Vec<String> = got.iter().flat_map(|it| it.1.clone()).collect();
    assert!(all.iter().eq(UE.iter().chain(&["RACH.PreambleDedCell"])), "{all:?}");
    assert_eq!(got.iter().map(|it| it.0).collect::<Vec<_>>(), [4, 4, 1]);
    let budget = PEER_REPORT_BYTES / PEER_UES;
    let bytes = |it: &(i64, Vec<String>)| it.1.iter().map(|it| it.len() + MEASUREMENT_BYTES).sum::<usize>();
    assert!(got.iter().filter(|it| it.0 == 4).all(|it| bytes(it) <= budget), "{got:?}");
    let ours = Bytes::from_static(Kpm::DEFINITION);
    let actions = Selection::default().actions(&node(), &ours, 1_000).unwrap();
    assert_eq!(actions.iter().map(|it| it.style).collect::<Vec<_>>(), [4, 1]);
    let ActionFormat::MatchingUes(it) = &actions[0].format else { panic!("{actions:?}") };
    assert_eq!(it.conditions[0].test, Test::any_slice(), "UEs of all slices");
}

#[test]
fn selection_of_ues_determines_report_style() {
    let styles = |selection: &Selection| {
        let actions = selection.actions(&node(), &theirs(), 1_000).unwrap();
        actions.iter().map(|it| (it.style, infos(&it.format).len())).collect::<Vec<_>>()
    };
    assert_eq!(styles(&chosen(&["DRB.UEThpDl"])), [(4, 1)]);
    assert_eq!(styles(&chosen(&["RACH.PreambleDedCell"])), [(1, 1)]);
    assert_eq!(styles(&chosen(&["RACH.PreambleDedCell", "DRB.UEThpDl"])), [(4, 1), (1, 1)]);
    let ue = |number| UeNumbers::from_number(number);
    assert_eq!(styles(&Selection { ues: vec![ue(1)], ..chosen(&["DRB.UEThpDl"]) }), [(2, 1)]);
    assert_eq!(styles(&Selection { ues: vec![ue(1), ue(2)], ..chosen(&["DRB.UEThpDl"]) }), [(5, 1)]);
    assert_eq!(styles(&Selection { style: Some(3), ..chosen(&["DRB.UEThpDl"]) }), [(3, 1)]);
}

#[test]
fn selected_slices_become_conditions_or_labels() {
    let slice = Snssai::new(1, Some(0x10203));
    let at = |style| {
        let selection = Selection { style: Some(style), slice: Some(slice), ..chosen(&["DRB.UEThpDl"]) };
        selection.actions(&node(), &theirs(), 1_000).unwrap().remove(0).format
    };
    let ActionFormat::Node(it) = at(1) else { panic!() };
    assert_eq!(it.infos[0].labels, [Label { slice: Some(slice), ..Label::default() }]);
    let ActionFormat::MatchingUes(it) = at(4) else { panic!() };
    assert_eq!(
        (it.conditions[0].test.wants_slice(), &it.measurements.infos[0].labels[0]),
        (Some(slice), &Label::none())
    );
}

#[test]
fn third_party_nodes_get_one_subscription_per_conditional_measurement() {
    let styles = |definition: &Bytes| {
        let selection = Selection { style: Some(3), ..chosen(&["DRB.UEThpDl", "RRU.PrbTotDl"]) };
        let actions = selection.actions(&node(), definition, 1_000).unwrap();
        actions.iter().map(|it| infos(&it.format)).collect::<Vec<_>>()
    };
    assert_eq!(styles(&theirs()), [["DRB.UEThpDl"], ["RRU.PrbTotDl"]]);
    assert_eq!(styles(&Bytes::from_static(Kpm::DEFINITION)).len(), 1);
}

#[test]
fn third_party_cu_ups_get_one_subscription_per_measurement() {
    let names = ["DRB.PdcpReordDelayUl", "DRB.PacketSuccessRateUlgNBUu"];
    let definition = FunctionDescription::new(&["DRB.UEThpDl"], &names).to_octets(Encoding::Per).unwrap();
    let GlobalE2NodeId::Gnb(gnb) = node() else { panic!() };
    let cu_up = GlobalE2NodeId::Gnb(E2NodeGnb { cu_up_id: Some(0), ..gnb });
    let selection = Selection { style: Some(1), ..chosen(&names) };
    let count = |node| selection.actions(node, &definition, 1_000).unwrap().len();
    assert_eq!((count(&cu_up), count(&node())), (2, 1));
}

/// With two cells, OCUDU 26.04 ended by a segmentation fault when it reported `RRU.PrbTotDl` in style 4.
#[test]
fn ocudu_reports_scheduler_measurements_only_in_safe_styles() {
    let names = ["DRB.RlcDelayUl", "DRB.UEThpDl", "RRU.PrbTotDl", "DRB.AirIfDelayUl"];
    let definition =
        FunctionDescription::new(&names, &["RACH.PreambleDedCell"]).to_octets(Encoding::Per).unwrap();
    let ue = UeNumbers::from_number;
    let styles = |selection: &Selection| {
        let actions = selection.actions(&node(), &definition, 1_000).unwrap();
        actions.iter().map(|it| (it.style, infos(&it.format).join(" "))).collect::<Vec<_>>()
    };
    let each = |style, name: &str| (style, name.to_owned());
    let together = each(4, "DRB.RlcDelayUl DRB.UEThpDl");
    let alone = [each(3, "RRU.PrbTotDl"), each(3, "DRB.AirIfDelayUl")];
    let node_wide = each(1, "RACH.PreambleDedCell");
    let expected = [together.clone(), alone[0].clone(), alone[1].clone(), node_wide];
    assert_eq!(styles(&Selection::default()), expected);
    let four = Selection { style: Some(4), ..chosen(&["RRU.PrbTotDl"]) };
    assert_eq!(styles(&four), alone[..1]);
    let two = Selection { ues: vec![ue(1), ue(2)], ..chosen(&["RRU.PrbTotDl"]) };
    assert_eq!(styles(&two), [each(2, "RRU.PrbTotDl"), each(2, "RRU.PrbTotDl")]);

    let single = |selection: &Selection| selection.action(&node(), &definition, 1_000);
    assert_eq!(infos(&single(&Selection::default()).unwrap().format).join(" "), together.1);
    assert_eq!(single(&four).unwrap().style, 3);
    let both = single(&chosen(&["DRB.UEThpDl", "RRU.PrbTotDl"])).unwrap_err();
    assert!(matches!(both, SelectionError::Scheduler { style: 4, names, .. } if names == "RRU.PrbTotDl"));
    assert_eq!(single(&Selection { style: Some(1), ..chosen(&["RRU.PrbTotDl"]) }).unwrap().style, 1);
    // Other vendors' nodes report them together.
    assert_eq!(chosen(&["RRU.PrbTotDl", "DRB.UEThpDl"]).action(&node(), &theirs(), 1_000).unwrap().style, 4);
}

#[test]
fn selection_skips_measurements_not_offered() {
    let offered = |names: &[&str]| chosen(names).actions_offered(&node(), &theirs(), 1_000);
    let (actions, left_out) = offered(&["RRC.ConnMean", "DRB.UEThpDl", "DRB.Nothing"]).unwrap();
    assert_eq!(actions.iter().map(|it| infos(&it.format)).collect::<Vec<_>>(), [["DRB.UEThpDl"]]);
    let Some(SelectionError::Measurement { name, style: 4, .. }) = left_out else { panic!() };
    assert_eq!(name, "RRC.ConnMean, DRB.Nothing");
    assert_eq!(offered(&["DRB.UEThpDl"]).unwrap().1, None);
    let none = offered(&["RRC.ConnMean", "DRB.Nothing"]).unwrap_err();
    assert!(matches!(none, SelectionError::Measurement { name, .. } if name == "RRC.ConnMean, DRB.Nothing"));
}

#[test]
fn error_names_unavailable_measurement() {
    let fails = |selection: &Selection| selection.actions(&node(), &theirs(), 1_000).unwrap_err();
    let unknown = fails(&chosen(&["DRB.Nothing"]));
    assert!(matches!(&unknown, SelectionError::Measurement { name, .. } if name == "DRB.Nothing"));
    assert!(unknown.to_string().contains("DRB.UEThpDl, RRU.PrbTotDl"), "{unknown}");
    assert!(matches!(
        fails(&Selection { style: Some(7), ..Selection::default() }),
        SelectionError::Style { .. }
    ));
    assert!(matches!(
        fails(&Selection { style: Some(2), ..Selection::default() }),
        SelectionError::Ues { .. }
    ));
    let ues = vec![UeNumbers::from_number(1)];
    assert!(matches!(
        fails(&Selection { style: Some(4), ues, ..Selection::default() }),
        SelectionError::Ues { .. }
    ));
    let granularity_ms = Some(300);
    assert!(matches!(
        fails(&Selection { granularity_ms, ..Selection::default() }),
        SelectionError::Granularity { .. }
    ));
    let definition = Selection::default().actions(&node(), &Bytes::from_static(b"x"), 1_000);
    assert!(matches!(definition, Err(SelectionError::Definition(_))));
}
