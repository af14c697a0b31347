#![allow(unreachable_pub, reason = "config! makes public types")]

use super::*;

crate::config! {
    /// A configuration for tests.
    pub struct Example {
        /// number of things
        count: u32 = 3, range(1, 9), unit("things");
        /// time between two things
        period: Duration = Duration::from_millis(50);
        /// names of further things
        others: Vec<String> = vec!["a".to_owned()];
        /// seed of all random values
        seed: Seed = Seed(1);
        /// address of the peer
        connect: Option<SocketAddr> = None, wiring();
        /// output file
        file: Option<PathBuf> = None, local(), flag("record");
    }
}

#[test]
fn config_reads_its_own_output_and_rejects_other_input() {
    let mut example = Example::default();
    example.set("seed", &Seed(u64::MAX).to_value().unwrap()).unwrap();
    example.set("file", &"/dev/null".into()).unwrap();
    let text = serde_json::to_string(&example).unwrap();
    assert!(text.contains(r#""period":"50ms""#) && !text.contains("connect"), "{text}");
    assert_eq!(serde_json::from_str::<Example>(&text).unwrap(), example);
    for (text, why) in [
        (r#"{"count":10}"#, "`count` must be a whole number from 1 to 9; it is 10"),
        (r#"{"coutn":1}"#, "there is no `coutn`; the nearest name is `count`"),
        (r#"{"connect":"here"}"#, "expected ADDRESS:PORT, for example 127.0.0.1:8080"),
    ] {
        let error = serde_json::from_str::<Example>(text).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn fractional_search_value_is_rounded() {
    let mut example = Example::default();
    example.set("count", &Value::Float(4.4)).unwrap();
    assert_eq!(example.count, 4);
}

#[test]
fn keys_exclude_wiring_and_can_be_adapted() {
    let keys = Example::keys("load").without(&["seed"]).or("count", 5_i64).keys();
    let paths: Vec<_> = keys.iter().map(|key| key.path.as_str()).collect();
    assert_eq!(paths, ["load.count", "load.period", "load.others", "load.file"]);
    assert_eq!(keys[0].presence, Presence::Default(Value::Int(5)));
    assert_eq!(keys[3].presence, Presence::Optional);
    assert_eq!((keys[0].comment.as_str(), keys[0].unit.as_str()), ("number of things", "things"));
}

#[test]
fn local_fields_are_listed() {
    let mut example = Example::default();
    assert!(example.locals().is_empty());
    example.file = Some("x".into());
    assert_eq!(example.locals(), ["file"]);
}
