//! The bus over a real Redis server, where `REDIS_SERVER` names one or the path has `redis-server`.
#![cfg(feature = "redis")]
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use ranlab_controllers::bus::Bus;
use ranlab_controllers::redis::{RedisBus, listen};
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
        assert!(Instant::now() < end, "it never comes");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn what_is_published_is_heard_and_again_after_the_server_was_away() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("redis://127.0.0.1:{port}");
    assert!(RedisBus::connect(&url).is_err(), "there is no server yet");
    let Some(first) = server(port) else {
        return ranlab_host::doctor::skipped("no redis-server, and REDIS_SERVER names none");
    };
    let mut bus = patiently(|| RedisBus::connect(&url).ok());
    let (sender, heard) = channel();
    listen(&url, &["ranlab.traffic"], move |message| sender.send(message.to_vec()).is_ok()).unwrap();
    // Who subscribes hears what is published from then on.
    let hears = |bus: &mut RedisBus, text: &'static str| {
        patiently(|| {
            bus.publish("ranlab.rlc", "another subject".into());
            bus.publish("ranlab.traffic", text.into());
            heard.recv_timeout(Duration::from_millis(200)).ok().filter(|message| message == text.as_bytes())
        });
    };
    hears(&mut bus, "{\"n\":1}");
    drop(first);
    bus.publish("ranlab.traffic", "lost".into());
    patiently(|| (bus.missed() > 0).then_some(()));
    let _second = server(port).unwrap();
    hears(&mut bus, "{\"n\":2}");
}
