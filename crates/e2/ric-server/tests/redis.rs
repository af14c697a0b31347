//! Tests of the bus and the shared data layer with a real Redis server: `REDIS_SERVER`, or `redis-server` on
//! the path.
#![cfg(feature = "redis")]
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

#[path = "../../ric/tests/lab/mod.rs"]
mod lab;

use lab::Lab;
use prost::Message;
use ranlab_e2_codec::e2ap::{GlobalE2NodeId, Plmn};
use ranlab_e2_codec::e2sm::slice::SliceModel;
use ranlab_e2_codec::rnib::{Configuration, ConnectionStatus, NbIdentity, NodebInfo};
use ranlab_ric::bus::Bus;
use ranlab_ric::monitor::{Monitor, MonitorConfig};
use ranlab_ric_server::redis::{RedisBus, listen};
use ranlab_ric_server::sdl::Sdl;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn server(port: u16) -> Option<Server> {
    let program = std::env::var("REDIS_SERVER").unwrap_or_else(|_| "redis-server".to_owned());
    let mut command = Command::new(program);
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
    command.stdout(Stdio::null()).spawn().ok().map(Server)
}

fn patiently<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(done) = attempt() {
            return done;
        }
        assert!(Instant::now() < end, "timed out waiting for the effect of the Redis server");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn redis_bus_recovers_after_a_server_restart() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("redis://127.0.0.1:{port}");
    assert!(RedisBus::connect(&url).is_err(), "connecting must fail without a server");
    let Some(first) = server(port) else {
        return ranlab_host::doctor::skipped("no redis-server, and REDIS_SERVER is not set");
    };
    let mut bus = patiently(|| RedisBus::connect(&url).ok());
    let (sender, received) = channel();
    listen(&url, &["ranlab.traffic"], move |message| sender.send(message.to_vec()).is_ok()).unwrap();
    // A subscriber receives only messages published after its subscription.
    let hears = |bus: &mut RedisBus, text: &'static str| {
        patiently(|| {
            bus.publish("ranlab.rlc", "message on another subject".into());
            bus.publish("ranlab.traffic", text.into());
            received
                .recv_timeout(Duration::from_millis(200))
                .ok()
                .filter(|message| message == text.as_bytes())
        });
    };
    hears(&mut bus, "{\"n\":1}");
    drop(first);
    bus.publish("ranlab.traffic", "lost".into());
    patiently(|| (bus.missed() > 0).then_some(()));
    let _second = server(port).unwrap();
    hears(&mut bus, "{\"n\":2}");
}

#[test]
fn reports_are_published_once_the_server_starts() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("redis://127.0.0.1:{port}");
    let (mut monitor, _) = Monitor::new(MonitorConfig { models: vec![&SliceModel], period_ms: 10 }).unwrap();
    let messages = monitor.publish();
    let published = messages.handle();
    ranlab_ric_server::redis::publish(&url, messages).unwrap();
    let mut lab = Lab::new(Box::new(monitor));
    lab.station(GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 5, 32));
    let Some(_server) = server(port) else {
        return ranlab_host::doctor::skipped("no redis-server, and REDIS_SERVER is not set");
    };
    let (sender, received) = channel();
    patiently(|| {
        let sender = sender.clone();
        listen(&url, &["ranlab.kpi.slice.gnb_505-01_5"], move |message| sender.send(message.to_vec()).is_ok())
            .ok()
    });
    let report: serde_json::Value = patiently(|| {
        lab.pass(Duration::from_millis(20));
        serde_json::from_slice(&received.recv_timeout(Duration::from_millis(200)).ok()?).ok()
    });
    assert_eq!((&report["node"], &report["model"]), (&"gnb 505.01 5".into(), &"slice".into()));
    assert!(report["rows"].is_array(), "{report}");
    patiently(|| (published.counts().published > 0).then_some(()));
}

/// The list must have the form that O-RAN SC's xApps read: a set of identities, and one key per base station.
#[test]
fn sdl_lists_base_stations_after_a_server_restart() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("redis://127.0.0.1:{port}");
    assert!(Sdl::connect(&url, None).is_err(), "connecting must fail without a server");
    let Some(first) = server(port) else {
        return ranlab_host::doctor::skipped("no redis-server, and REDIS_SERVER is not set");
    };
    let mut lab = Lab::new(Box::new(patiently(|| Sdl::connect(&url, None).ok())));
    let read = || {
        let mut connection = redis::Client::open(&*url).ok()?.get_connection().ok()?;
        let mut ask = |command: &str, key: &str| redis::cmd(command).arg(key).query(&mut connection).ok();
        let members: Vec<Vec<u8>> = redis::from_redis_value(ask("SMEMBERS", "{e2Manager},GNB")?).ok()?;
        let [info, by_id] = [
            "{e2Manager},RAN:gnb_505_001_00000005".to_owned(),
            format!("{{e2Manager}},GNB:05F510:{:032b}", 5),
        ]
        .map(|key| redis::from_redis_value::<Option<Vec<u8>>>(ask("GET", &key)?).ok());
        let info = info?;
        assert_eq!(info, by_id?);
        Some((members, info.and_then(|info| NodebInfo::decode(&info[..]).ok())))
    };
    let plmn = Plmn::new(505, 1, 2);
    let number = lab.station(GlobalE2NodeId::gnb(plmn, 5, 32));
    let is = |status: ConnectionStatus| {
        patiently(|| {
            let (members, info) = read()?;
            let [member] = &members[..] else { return None };
            let identity = NbIdentity::decode(&member[..]).ok()?;
            let info = info?;
            (identity.connection_status() == status && info.connection_status() == status)
                .then_some((identity, info))
        })
    };
    let (identity, info) = is(ConnectionStatus::Connected);
    assert_eq!(
        (&*identity.inventory_name, &*info.ran_name),
        ("gnb_505_001_00000005", "gnb_505_001_00000005")
    );
    assert_eq!(identity.global_nb_id.unwrap().plmn_id, "05F510");
    let Some(Configuration::Gnb(gnb)) = info.configuration else { panic!("no gNB: {info:?}") };
    assert!(gnb.ran_functions.iter().any(|function| !function.oid.is_empty()));
    drop(first);
    lab.cut(number, 0);
    let _second = server(port).unwrap();
    is(ConnectionStatus::Disconnected);
    lab.stations.clear();
    lab.pass(Duration::from_secs(700));
    patiently(|| read().filter(|(members, info)| members.is_empty() && info.is_none()));
}
