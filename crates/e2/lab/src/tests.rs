//! Tests of fleets: division over workers, and radio settings.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use std::time::Duration;

use ranlab_lab::worker::FaultOwner;
use ranlab_lab::{AnyComponent, Config, PLACES_MAX, Seed};
use ranlab_ran::node::NodeKind;
use ranlab_ran::radio::Fidelity;

use super::*;

#[test]
fn base_stations_are_numbered_consecutively_over_one_ramp() {
    let fleet = FleetComponent { nodes: 10, first: 5, ..FleetComponent::default() };
    let shares = AnyComponent::from(fleet.clone()).divide(3).unwrap();
    let mut next = 5;
    for share in &shares {
        let Some(share) = share.get::<FleetComponent>() else { panic!("{share:?}") };
        assert_eq!((share.first, share.ramp), (next, Some(Duration::from_millis(10))));
        // All shares of the fleet have the same seed, because a base station's own seed follows from its index, not
        // from its location.
        assert_eq!((share.seed, share.ues), (Seed(1), fleet.ues));
        next += share.nodes;
    }
    assert_eq!((next, shares.len()), (15, 3));
}

#[test]
fn indivisible_load_is_rejected() {
    let why = |part: AnyComponent, places| part.divide(places).unwrap_err().what;
    let two = FleetComponent { nodes: 2, ..FleetComponent::default() };
    let error = why(AnyComponent::from(two.clone()), 3);
    assert_eq!(error, "2 base stations cannot be divided among 3 places; at least 3 are needed");
    assert!(why(AnyComponent::from(PingComponent::default()), 2).contains("cannot be divided among 2"));
    assert!(why(AnyComponent::from(two), PLACES_MAX + 1).contains("1 to 128 places"));
}

#[test]
fn radio_settings_survive_serialization_and_require_a_radio() {
    let mut part = FleetComponent { sm: vec!["kpm".to_owned()], ..FleetComponent::default() };
    for (name, text) in [
        ("radio", "lte:25"),
        ("fidelity", "fluid"),
        ("channel", "sinr:12.5"),
        ("flows", "1=udp:80:6s:1min"),
        ("stay", "2-3@1s-2s"),
        ("moves", "1=000000020@5s"),
        ("snssai", "1-0000ff"),
        ("plmn", "001.01"),
        ("stage_key", "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"),
    ] {
        part.set(name, &text.into()).unwrap();
    }
    let json = serde_json::to_string(&part).unwrap();
    assert_eq!(serde_json::from_str::<FleetComponent>(&json).unwrap(), part, "{json}");
    let slots = FleetComponent { fidelity: Fidelity::Slot, ..part.clone() };
    for wrong in [
        FleetComponent { radio: None, ..slots.clone() },
        FleetComponent { radio: None, fidelity: Fidelity::Fluid, ..FleetComponent::default() },
        FleetComponent { kind: NodeKind::Mixed, ..slots.clone() },
        FleetComponent { kind: NodeKind::Split, ..part.clone() },
        FleetComponent { dus: 2, nodes: 4, ..slots.clone() },
        FleetComponent { kind: NodeKind::Split, dus: 2, nodes: 6, ..slots.clone() },
        FleetComponent { kind: NodeKind::Split, dus: 2, nodes: 4, ..FleetComponent::default() },
        // Mobility is not supported by the fluid model.
        part,
        FleetComponent { sm: vec!["mac".to_owned()], ..slots.clone() },
        FleetComponent { sm: vec!["rc".to_owned()], ..FleetComponent::default() },
        FleetComponent { sm: vec!["ccc".to_owned()], ..FleetComponent::default() },
        FleetComponent { sm: vec!["ni".to_owned()], ..FleetComponent::default() },
        FleetComponent { sm: vec!["kpm".to_owned(), "ni".to_owned()], kind: NodeKind::Enb, ..slots.clone() },
        FleetComponent { sm: vec!["kpm".to_owned(), "ccc".to_owned()], kind: NodeKind::Enb, ..slots.clone() },
    ] {
        let trouble = RunningFleet::new(&wrong).err().unwrap_or_else(|| panic!("{wrong:?} must be rejected"));
        assert_eq!(trouble.fault, FaultOwner::Rig);
    }
    assert!(RunningFleet::new(&FleetComponent { kind: NodeKind::Enb, ..slots.clone() }).is_ok());
    assert!(RunningFleet::new(&FleetComponent { kind: NodeKind::Split, ..slots.clone() }).is_err());
    assert!(RunningFleet::new(&FleetComponent { kind: NodeKind::Split, moves: Vec::new(), ..slots }).is_ok());
}

/// The texts of radio settings and scenario files have the same units of time.
#[test]
fn radio_texts_use_time_units_of_scenarios() {
    for text in
        ["0", "5s", "1.5 ms", "2min", "3m", "1h", "1d", "7us", "9ns", "", "5", "s", "1.2.3s", ".5s", "1e9s"]
    {
        assert_eq!(ranlab_ran::text::span(text), ranlab_campaign::value::parse_span(text), "{text}");
    }
}
