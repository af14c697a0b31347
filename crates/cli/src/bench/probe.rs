//! What `bench check` tries on this machine: addresses that will be bound or reached, and programs that will be run.
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::path::Path;
use std::time::Duration;

use ranlab_campaign::plan::{Plan, Point};
use ranlab_campaign::rig::RigDescription;
use ranlab_campaign::value::Value;
use ranlab_rigs::{Host, Planned};

/// How long a worker elsewhere may take to accept.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Points that are looked at; larger sweeps repeat the same addresses.
const POINTS_MAX: usize = 1_000;
/// Addresses that a rig's own processes bind, unless the system under test is external.
const BOUND: [&str; 5] = ["sut.n4", "sut.n3", "load.smf", "load.gnb", "load.network"];

/// What is missing here for a scenario, a line each.
pub(super) fn missing(plan: &Plan, rig: &RigDescription, commands: &[Planned]) -> Vec<String> {
    let mut found: Vec<String> = rig
        .needs
        .iter()
        .filter_map(|need| Some(format!("{}: {}", need.what, need.met.as_ref().err()?)))
        .collect();
    let mut tried = BTreeSet::new();
    for point in plan.points.iter().take(POINTS_MAX) {
        for (path, value) in &point.settings {
            if !tried.insert((path.clone(), value.to_string(), is_external(point))) {
                continue;
            }
            found.extend(address(point, path, value).map(|why| format!("{path} = {value}: {why}")));
        }
    }
    let programs: BTreeSet<&String> = commands
        .iter()
        .filter(|command| command.at == "local")
        .filter_map(|command| command.argv.first())
        .collect();
    let absent = programs.into_iter().filter(|program| !is_program(program));
    found.extend(absent.map(|program| format!("{program}: there is no such program")));
    found
}

/// Whether the system under test runs already.
fn is_external(point: &Point) -> bool {
    ["sut.design", "sut.type"].iter().any(|path| {
        point.settings.get(*path).and_then(Value::text).is_some_and(|design| design == "external")
    })
}

/// Why an address of a setting cannot be used here; `None` if it can, or if the value is not an address.
fn address(point: &Point, path: &str, value: &Value) -> Option<String> {
    if path.ends_with(".at") {
        let text = value.to_string();
        return text.trim_matches(['[', ']']).split(',').find_map(|place| worker(place.trim()));
    }
    let side = path.split('.').next()?;
    let is_elsewhere = point
        .settings
        .get(&format!("{side}.at"))
        .is_some_and(|at| !matches!(at.to_string().trim_matches(['[', ']']), "local" | ""));
    if is_elsewhere || point.settings.contains_key(&format!("{side}.netns")) || !BOUND.contains(&path) {
        return None;
    }
    let address: SocketAddr = value.text()?.parse().ok()?;
    let tried = if side == "sut" && is_external(point) {
        let any: IpAddr =
            if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        UdpSocket::bind((any, 0))
            .and_then(|socket| socket.connect(address))
            .map_err(|error| ("reached", error))
    } else {
        UdpSocket::bind(address).map(drop).map_err(|error| ("bound", error))
    };
    tried.err().map(|(verb, error)| format!("cannot be {verb}: {error}"))
}

/// Why a worker cannot be had at a place.
fn worker(place: &str) -> Option<String> {
    match place.parse::<Host>() {
        Err(error) => Some(error.to_string()),
        Ok(Host::Tcp { address }) => {
            let resolved = address.to_socket_addrs().map(|mut all| all.next());
            match resolved {
                Err(error) => Some(format!("{address} is not known: {error}")),
                Ok(None) => Some(format!("{address} has no address")),
                Ok(Some(first)) => TcpStream::connect_timeout(&first, CONNECT_TIMEOUT)
                    .err()
                    .map(|error| format!("no worker listens at {address}: {error}")),
            }
        }
        Ok(Host::Ssh { .. }) if !is_program("ssh") => Some("there is no program ssh".to_owned()),
        Ok(_) => None,
    }
}

/// Whether a program can be run: a path that is a file, or a name on the search path.
fn is_program(program: &str) -> bool {
    if program.contains('/') {
        return Path::new(program).is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(settings: &[(&str, &str)]) -> Point {
        let settings =
            settings.iter().map(|(path, value)| ((*path).to_owned(), Value::from(*value))).collect();
        Point { index: 0, axes: Vec::new(), settings }
    }

    fn tried(settings: &[(&str, &str)], path: &str) -> Option<String> {
        let point = point(settings);
        address(&point, path, &point.settings[path])
    }

    #[test]
    fn an_address_that_cannot_be_bound_is_named() {
        // TEST-NET-1: no machine has it.
        let foreign = ("sut.n4", "192.0.2.1:8805");
        assert!(tried(&[foreign], "sut.n4").unwrap().contains("cannot be bound"));
        assert_eq!(tried(&[("sut.n4", "127.0.0.1:0")], "sut.n4"), None);
        let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap().to_string();
        assert!(tried(&[("sut.n4", address.as_str())], "sut.n4").is_some());
        // Elsewhere, or of a system that runs already, it is not bound here.
        assert_eq!(tried(&[foreign, ("sut.at", "tcp://lab:7000")], "sut.n4"), None);
        assert_eq!(tried(&[("sut.n4", "127.0.0.1:1"), ("sut.design", "external")], "sut.n4"), None);
    }

    #[test]
    fn a_worker_that_does_not_listen_is_named() {
        assert!(worker("tcp://127.0.0.1:1").unwrap().contains("no worker listens"));
        assert_eq!(worker("local"), None);
        assert!(worker("nowhere").is_some());
    }

    #[test]
    fn programs_are_found_by_path_and_by_name() {
        assert!(is_program("sh") && is_program("/bin/sh"));
        assert!(!is_program("no-such-program-here") && !is_program("/no/such/program"));
    }
}
