//! Tests that flags, scenario keys and worker messages give the same configuration of a RAN component.

use std::time::Duration;

use crate::*;
use ranlab_e2_lab::*;
use ranlab_lab::*;
use ranlab_sdran_lab::*;
use serde::{Deserialize, Serialize};

/// Checks that flags, scenario keys and worker messages set the same values, and that an invalid value is reported with
/// the field's name.
fn is_the_same_by_all_ways<C>(fields: &[(&str, &str)])
where
    C: Config + PartialEq + std::fmt::Debug + Serialize + for<'de> Deserialize<'de>,
{
    use ranlab_campaign::plan::Point;
    use ranlab_campaign::rig::Run;
    use ranlab_campaign::schema::Kind;
    use ranlab_campaign::value::Value;
    let described = C::fields();
    let value = |name: &str, text: &str| -> Value {
        let field = described.iter().find(|field| field.name == name).unwrap();
        match &field.key.kind {
            Kind::Int { .. } => Value::Int(text.parse().unwrap()),
            Kind::Bool => Value::Bool(text == "true"),
            Kind::List(_) => Value::List(text.split(',').map(Value::from).collect()),
            _ => text.into(),
        }
    };
    let mut set = C::default();
    let mut json = serde_json::Map::new();
    for (name, text) in fields {
        set.set(name, &value(name, text)).unwrap_or_else(|error| panic!("{name}: {error}"));
        json.insert((*name).to_owned(), serde_json::to_value(value(name, text)).unwrap());
        assert_ne!(set.get(name), C::default().get(name), "the test value of {name} is its default");
    }
    // Reads and writes the worker message.
    assert_eq!(serde_json::from_value::<C>(json.into()).unwrap(), set);
    let text = serde_json::to_string(&set).unwrap();
    assert_eq!(serde_json::from_str::<C>(&text).unwrap(), set, "{text}");
    // Reads the fields from a scenario point. Fields without a scenario key (the rig sets them) keep their defaults.
    let keys: Vec<String> = C::keys("load").keys().into_iter().map(|key| key.path).collect();
    let settings = fields.iter().map(|(name, text)| (format!("load.{name}"), value(name, text)));
    let point = Point { index: 0, axes: Vec::new(), settings: settings.collect() };
    let read = C::read(&Run::new(&point, 0, 1, Duration::ZERO), "load").unwrap();
    for field in &described {
        let from = if keys.contains(&format!("load.{}", field.name)) { &set } else { &C::default() };
        assert_eq!(read.get(field.name), from.get(field.name), "{}", field.name);
        assert!(!field.key.comment.is_empty(), "{} has no comment", field.name);
        if let Kind::Int { min, .. } = field.key.kind
            && min > i64::MIN
        {
            let error = C::default().set(field.name, &Value::Int(min - 1)).unwrap_err().to_string();
            assert!(error.contains(&format!("`{}` must be", field.name)), "{error}");
        }
    }
    assert!(C::default().set("no-such-field", &Value::Int(1)).is_err());
}

#[test]
fn configs_are_the_same_from_flags_keys_and_messages() {
    is_the_same_by_all_ways::<RicComponent>(&[
        ("e2", "unix,tcp://[::1]:7"),
        ("http", "127.0.0.1:80"),
        ("allow", "10.0.0.0/8,fd00::/8,192.0.2.7"),
        ("e2ap", "3.01"),
        ("max_nodes", "7"),
        ("iapp", "monitor"),
        ("sm", "mac"),
        ("period", "20ms"),
        ("window", "4"),
    ]);
    is_the_same_by_all_ways::<AttachComponent>(&[("pid", "1"), ("command", "x"), ("cgroup", "y")]);
    is_the_same_by_all_ways::<MonitorComponent>(&[
        ("connect", "unix:///x"),
        ("sm", "hw,gtp"),
        ("period", "1s"),
        ("dialect", "flexric"),
        ("flexric", "true"),
        ("at_most", "5"),
        ("slow_until", "1min"),
        ("ahead_us", "-7"),
    ]);
    is_the_same_by_all_ways::<PingComponent>(&[
        ("connect", "tcp://a:1"),
        ("size", "0"),
        ("count", "9"),
        ("interval", "1500us"),
        ("window", "1024"),
        ("insert", "true"),
        ("punctual", "true"),
    ]);
    is_the_same_by_all_ways::<PingFlexranPart>(&[("listen", "10.0.0.1:1"), ("size", "1"), ("window", "2")]);
    is_the_same_by_all_ways::<RelayComponent>(&[
        ("listen", "tcp://a:0"),
        ("language", "e42"),
        ("e2ap", "1.01"),
    ]);
    is_the_same_by_all_ways::<GatewayComponent>(&[
        ("listen", "tcp://a:0"),
        ("connect", "shim:///e/1.2.3.4:5"),
    ]);
}

#[test]
fn configs_of_sdran_are_the_same_from_flags_keys_and_messages() {
    is_the_same_by_all_ways::<FlexranComponent>(&[
        ("listen", "127.0.0.1:1"),
        ("rib_share", "adaptive"),
        ("queue", "bounded"),
        ("queue_messages", "1"),
        ("leak_limit_mib", "0"),
        ("threads", "inline"),
        ("slow_period", "1s"),
        ("forget_dead", "true"),
    ]);
    is_the_same_by_all_ways::<EmpowerComponent>(&[
        ("listen", "127.0.0.1:1"),
        ("openempower", "2"),
        ("registered", "/x"),
        ("message_cost", "350us"),
    ]);
    is_the_same_by_all_ways::<SouthFleetComponent>(&[
        ("connect", "tcp://a:1"),
        ("nodes", "3"),
        ("ues", "0"),
        ("ramp", "1s"),
        ("seed", "-1"),
        ("protocol", "empower2"),
        ("period", "honour"),
        ("service", "mmtc-burst"),
        ("activation", "exponential:1s"),
        ("holding", "constant:2s"),
        ("trace", "/x"),
        ("events", "-"),
        ("delegation", "exponential:60s"),
        ("taken_back", "constant:5s"),
        ("sources", "127.0.1.1-127.0.1.9"),
    ]);
}

#[test]
fn text_values_round_trip_and_errors_list_allowed_values() {
    fn both<T: std::str::FromStr<Err: std::fmt::Display> + std::fmt::Display>(
        good: &[&str],
        bad: &[(&str, &str)],
    ) {
        for text in good {
            let read = text.parse::<T>().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(read.to_string(), *text);
        }
        for (text, reason) in bad {
            let error = text.parse::<T>().err().unwrap_or_else(|| panic!("{text} was read")).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
    both::<Listen>(&["unix", "unix:///x", "tcp://127.0.0.1:0"], &[("nowhere", "tcp://host:port")]);
    both::<Share>(
        &["adaptive", "0.2", "0.999"],
        &[("2", "0.001 to 0.999"), ("0", "adaptive"), ("much", "is not a share"), ("NaN", "is not a share")],
    );
    both::<Period>(
        &["honour", "50ms", "1s", "1ms"],
        &[
            ("0s", "period must be at least 1ms"),
            ("50", "or honour"),
            ("999us", "period must be at least 1ms"),
        ],
    );
    both::<Events>(&["-", "127.0.0.1:7"], &[("here", "neither - nor IP:PORT"), ("127.0.0.1", "IP:PORT")]);
    both::<AllowedPeer>(
        &["10.0.0.0/8", "fd00::/8", "192.0.2.7/32"],
        &[("10.0.0.0/33", "neither an IP address")],
    );
    let mut part = FlexranComponent::default();
    let error = part.set("queue", &"tight".into()).unwrap_err().to_string();
    assert_eq!(error, "`queue` must be one of \"leaky\", \"bounded\"; it is \"tight\"");
}
