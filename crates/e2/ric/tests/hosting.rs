//! Rules of hosted xApps, and their northbound interface.
#![allow(clippy::unwrap_used)] // helpers, too
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::*;
use ranlab_ric::hosting::{
    Host, HostingHandle, ProcessRequest, Restart, RestartPolicy, Supervisor, XappSpec,
};
use ranlab_ric::xapps::XappRules;
use std::sync::Arc;
use std::time::Duration;

const RULES: &str = r#"
    [[rule]]
    name = "slicers"
    models = ["slice"]
    priority = 4

    [[rule]]
    peer = "tcp://127.0.0.1:*"
    name = "local"
    tenant = "local"
    control = false

    [[rule]]
    peer = "http://10.0.0.9"
    tenant = "guests"
    priority = 2
"#;

fn rules() -> XappRules {
    let mut rules = XappRules::from_toml(RULES).unwrap();
    rules.host("slicer", "unix:///run/x/slicer/e42.sock", "slicers").unwrap();
    rules
}

fn admitted(rules: &XappRules, peer: &str) -> Option<usize> {
    rules.admit(&PeerInfo { peer, functions: &[] }).ok().map(|grant| grant.rule)
}

#[test]
fn hosted_xapp_is_identified_by_its_address() {
    let rules = rules();
    assert_eq!(admitted(&rules, "unix:///run/x/slicer/e42.sock pid 7"), Some(0));
    assert_eq!(admitted(&rules, "unix:///run/x/slicer/e42.sock"), Some(0));
    for other in [
        "unix:///run/x/slicer/e42.sock2",
        "unix:///run/x/other/e42.sock pid 7",
        "",
        "slicers",
        "tcp://10.0.0.1:1",
    ] {
        assert_eq!(admitted(&rules, other), None, "{other}");
    }
    assert_eq!(admitted(&rules, "tcp://127.0.0.1:5"), Some(1));
    let missing = XappRules::from_toml(RULES).unwrap().host("x", "unix:///x", "slicer").unwrap_err();
    assert_eq!(missing.to_string(), "no [[rule]] has the name \"slicer\"; names of rules: local, slicers");
}

#[test]
fn http_clients_without_a_rule_have_the_operators_permissions() {
    let rules = rules();
    let priority = |who: &str| rules.party(who).ok().map(|grant| (grant.priority, grant.is_operator()));
    assert_eq!(priority("xapp://slicer"), Some((4, false)));
    assert_eq!(priority("xapp://other"), None);
    assert_eq!(priority("http://10.0.0.9"), Some((2, false)));
    assert_eq!(priority("http://127.0.0.1"), Some((255, true)));
    assert_eq!(priority("iapp://slicing"), Some((255, true)));
    // O-RAN SC's xApps without a matching rule may not control.
    assert_eq!(priority("rmr://127.0.0.1"), None);
    let all = XappRules::from_toml("[[rule]]\npeer = \"*\"\npriority = 7\n").unwrap();
    assert_eq!(all.party("rmr://127.0.0.1").unwrap().priority, 7);
    assert!(
        all.party("http://127.0.0.1").unwrap().is_operator(),
        "the pattern * must match only xApps, not HTTP clients"
    );
}

#[test]
fn rule_needs_peer_or_unique_name() {
    let error = |text: &str| XappRules::from_toml(text).unwrap_err().to_string();
    assert!(error("[[rule]]\npriority = 1\n").contains("has neither `peer`"));
    assert!(
        error("[[rule]]\nname = \"a\"\n[[rule]]\nname = \"a\"\n")
            .starts_with("line 3: rule 2 has the name \"a\"")
    );
}

/// RIC with a host; the test acts on its orders.
struct Hosted {
    ric: Ric,
    iapp: IAppId,
    desk: HostingHandle,
}

impl Hosted {
    fn new() -> Self {
        let restart = Restart {
            when: RestartPolicy::Failure,
            first: Duration::from_secs(1),
            longest: Duration::from_secs(1),
            times: 2,
            within: Duration::from_secs(60),
            grace: Duration::from_secs(1),
        };
        let spec = |name: &str| XappSpec { name: name.to_owned(), restart, start: false };
        let supervisor = Supervisor::new(Time::ZERO, vec![spec("one"), spec("two")]);
        let tail = |line: &'static str| -> Arc<dyn Fn() -> Vec<String> + Send + Sync> {
            Arc::new(move || vec![line.to_owned()])
        };
        let desk = HostingHandle::new(supervisor.statuses(), vec![tail("first"), tail("second")]);
        let mut ric = Ric::new(RicConfig::default());
        let iapp = ric.add_iapp(Box::new(Host::new(desk.clone())));
        Self { ric, iapp, desk }
    }

    fn ask(&mut self, method: Method, path: &str) -> (u16, String) {
        let body = Bytes::from_static(b"{\"command\": \"/bin/sh\"}");
        let request = NorthboundRequest { token: 1, method, path: path.to_owned(), body, party: None };
        self.ric.northbound(Time::ZERO, self.iapp, request);
        let mut replies = std::iter::from_fn(|| self.ric.poll()).filter_map(|output| match output {
            RicOutput::Event(RicEvent::Reply(reply)) => Some(reply),
            _ => None,
        });
        let reply = replies.next().unwrap();
        (reply.status, String::from_utf8(reply.body.to_vec()).unwrap())
    }
}

#[test]
fn only_installed_xapps_can_be_started_or_stopped() {
    let mut h = Hosted::new();
    assert!(h.ask(Method::Get, "").1.contains("\"two\""));
    assert_eq!(h.ask(Method::Get, "two/log"), (200, "{\"lines\":[\"second\"]}".to_owned()));
    assert_eq!(h.ask(Method::Post, "two/start").0, 202);
    assert_eq!(h.desk.next_order(), Some(("two".to_owned(), ProcessRequest::Start)));
    for path in [
        "three/start",
        "../two/start",
        "%2e%2e%2ftwo/start",
        "two/../one/start",
        "two%00/start",
        "two/start/x",
        "/bin/sh/start",
    ] {
        let (status, reply) = h.ask(Method::Post, path);
        assert_eq!(status, 404, "{path}: {reply}");
    }
    assert!(h.ask(Method::Post, "three/start").1.contains("installed: one, two"));
    for (method, path) in
        [(Method::Post, ""), (Method::Put, "one"), (Method::Delete, "one"), (Method::Get, "one/start")]
    {
        assert_eq!(h.ask(method, path).0, 405, "{path}");
    }
    assert_eq!(h.ask(Method::Get, "%zz").0, 400);
    assert_eq!(h.desk.next_order(), None, "invalid requests must not become orders");
}

#[test]
fn pending_orders_are_bounded() {
    let mut h = Hosted::new();
    let taken = (0..1_000).filter(|_| h.ask(Method::Post, "one/restart").0 == 202).count();
    assert_eq!(taken, 64);
    assert_eq!(h.ask(Method::Post, "two/stop").0, 503);
    while h.desk.next_order().is_some() {}
    assert_eq!(h.ask(Method::Post, "two/stop").0, 202);
}
