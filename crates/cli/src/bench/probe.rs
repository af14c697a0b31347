//! Checks of `bench check` on this machine: whether addresses can be bound or reached, and whether programs exist.
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::path::Path;
use std::time::Duration;

use ranlab_campaign::plan::{Plan, Point};
use ranlab_campaign::rig::RigDescription;
use ranlab_campaign::value::Value;
use ranlab_lab::{WorkerLocation, experiment::third_party::PlannedCommand};

/// Time limit for a connection to a remote worker.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of points that are checked. Larger sweeps repeat the same addresses.
const POINTS_MAX: usize = 1_000;
/// Keys of UDP addresses that a rig's processes bind, unless the system under test is external.
const BOUND: [&str; 5] = ["sut.n4", "sut.n3", "load.smf", "load.gnb", "load.network"];
/// Keys of addresses at which an external system must be reachable.
const REACHED: [&str; 4] = ["sut.e2", "sut.e42", "sut.address", "sut.rest"];
/// Keys whose value is a program. `PROGRAMS_IF`: keys that switch a function on, and the program that each of them needs.
const PROGRAMS: [&str; 2] = ["sut.plugin", "load.plugin"];
const PROGRAMS_IF: [(&str, &str); 2] = [("live.ping", "ping"), ("live.iperf3", "iperf3")];

/// Returns the requirements of a scenario that this machine does not meet, one line each.
pub(super) fn missing(plan: &Plan, rig: &RigDescription, commands: &[PlannedCommand]) -> Vec<String> {
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
            // If a profile's commands start the system, it does not accept connections yet.
            let reached = if commands.is_empty() { connection(point, path, value) } else { None };
            let why = address(point, path, value).or(reached).or_else(|| program(point, path, value));
            found.extend(why.map(|why| format!("{path} = {value}: {why}")));
        }
    }
    let programs: BTreeSet<&String> = commands
        .iter()
        .filter(|command| command.at == "local")
        .filter_map(|command| command.argv.first())
        .collect();
    let absent = programs.into_iter().filter(|program| !is_program(program));
    found.extend(absent.map(|program| format!("{program}: the program does not exist")));
    found
}

/// Returns whether the system under test already runs and is not started by the rig.
fn is_external(point: &Point) -> bool {
    ["sut.design", "sut.type"].iter().any(|path| {
        point.settings.get(*path).and_then(Value::text).is_some_and(|design| design == "external")
    })
}

/// Returns the reason why an address cannot be used here. Returns `None` if the address is usable, or if the value is not an address.
fn address(point: &Point, path: &str, value: &Value) -> Option<String> {
    if path.ends_with(".at") {
        let text = value.to_string();
        return text.trim_matches(['[', ']']).split(',').find_map(|place| worker(place.trim()));
    }
    let side = path.split('.').next()?;
    if !is_here(point, side) {
        return None;
    }
    if path == "sut.listen" {
        let ip: IpAddr = value.text()?.parse().ok()?;
        return TcpListener::bind((ip, 0)).err().map(|error| format!("cannot be bound: {error}"));
    }
    if path == "load.sources" {
        return sources(value.text()?);
    }
    if !BOUND.contains(&path) {
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

/// Returns whether the processes of a side (`sut`, `load`) run on this machine, in this network namespace.
fn is_here(point: &Point, side: &str) -> bool {
    let at = point.settings.get(&format!("{side}.at"));
    let is_local = at.is_none_or(|at| matches!(at.to_string().trim_matches(['[', ']']), "local" | ""));
    is_local && !point.settings.contains_key(&format!("{side}.netns"))
}

/// Returns the reason why an address range such as `127.0.1.1-127.0.1.50` does not belong to this machine;
/// its two ends are checked.
fn sources(range: &str) -> Option<String> {
    let ends = range.split('-').filter_map(|end| end.trim().parse::<IpAddr>().ok());
    ends.into_iter().find_map(|end| {
        UdpSocket::bind((end, 0)).err().map(|error| format!("{end} cannot be bound: {error}"))
    })
}

/// Returns the reason why an external system does not accept connections.
fn connection(point: &Point, path: &str, value: &Value) -> Option<String> {
    if !REACHED.contains(&path) || !is_here(point, "load") || !is_here(point, "sut") {
        return None;
    }
    let text = value.text().filter(|text| !text.is_empty())?;
    let openflow = || text.strip_prefix("tcp:").map(|rest| ("tcp", rest));
    let (scheme, rest) = text.split_once("://").or_else(openflow).unwrap_or(("tcp", text));
    match scheme {
        "unix" => (!Path::new(rest).exists()).then(|| "the socket does not exist".to_owned()),
        "tcp" | "http" => {
            let host = rest.split('/').next()?;
            let first = host.to_socket_addrs().ok()?.next()?;
            let refused = TcpStream::connect_timeout(&first, CONNECT_TIMEOUT).err()?;
            Some(format!("no system accepts connections at this address: {refused}"))
        }
        // For other transports, the rig reports what is missing.
        _ => None,
    }
}

/// Returns the reason why a program cannot be run here.
fn program(point: &Point, path: &str, value: &Value) -> Option<String> {
    if !is_here(point, path.split('.').next()?) {
        return None;
    }
    let named = PROGRAMS.contains(&path).then(|| value.text()).flatten();
    let needed = PROGRAMS_IF.iter().find(|(setting, _)| *setting == path && *value == Value::Bool(true));
    let name = named.or_else(|| needed.map(|(_, name)| *name)).filter(|name| !name.is_empty())?;
    (!is_program(name)).then(|| format!("there is no program {name}"))
}

/// Returns the reason why a worker cannot be used.
fn worker(place: &str) -> Option<String> {
    match place.parse::<WorkerLocation>() {
        Err(error) => Some(error.to_string()),
        Ok(WorkerLocation::Tcp { address }) => {
            let resolved = address.to_socket_addrs().map(|mut all| all.next());
            match resolved {
                Err(error) => Some(format!("{address} is not known: {error}")),
                Ok(None) => Some(format!("{address} has no address")),
                Ok(Some(first)) => TcpStream::connect_timeout(&first, CONNECT_TIMEOUT)
                    .err()
                    .map(|error| format!("no worker listens at {address}: {error}")),
            }
        }
        Ok(WorkerLocation::Ssh { .. }) if !is_program("ssh") => Some("there is no program ssh".to_owned()),
        Ok(_) => None,
    }
}

/// Returns whether a program exists: as a file, or on the search path.
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
    fn unbindable_address_is_named() {
        // TEST-NET-1 (RFC 5737), which no machine has.
        let foreign = ("sut.n4", "192.0.2.1:8805");
        assert!(tried(&[foreign], "sut.n4").unwrap().contains("cannot be bound"));
        assert_eq!(tried(&[("sut.n4", "127.0.0.1:0")], "sut.n4"), None);
        let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap().to_string();
        assert!(tried(&[("sut.n4", address.as_str())], "sut.n4").is_some());
        // The address is not bound here if the system runs elsewhere or is external.
        assert_eq!(tried(&[foreign, ("sut.at", "tcp://lab:7000")], "sut.n4"), None);
        assert_eq!(tried(&[("sut.n4", "127.0.0.1:1"), ("sut.design", "external")], "sut.n4"), None);
    }

    #[test]
    fn unreachable_external_system_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let open = format!("tcp://{}", listener.local_addr().unwrap());
        let tried = |path: &str, text: &str| {
            let point = point(&[(path, text)]);
            connection(&point, path, &point.settings[path])
        };
        assert_eq!(tried("sut.e2", &open), None);
        assert_eq!(tried("sut.address", open.trim_start_matches("tcp://")), None);
        assert_eq!(tried("sut.rest", &format!("http{}/x", &open[3..])), None);
        for closed in [
            "tcp://127.0.0.1:1",
            "tcp:127.0.0.1:1",
            "127.0.0.1:1",
            "http://127.0.0.1:1/x",
            "unix:///no/socket",
        ] {
            assert!(tried("sut.e42", closed).is_some(), "{closed}");
        }
        assert_eq!(tried("sut.e2", "shim:///run/e2/127.0.0.1:1"), None);
        let elsewhere = point(&[("sut.e2", "tcp://127.0.0.1:1"), ("load.at", "tcp://lab:7000")]);
        assert_eq!(connection(&elsewhere, "sut.e2", &elsewhere.settings["sut.e2"]), None);
    }

    #[test]
    fn listen_and_source_addresses_are_checked() {
        assert_eq!(tried(&[("sut.listen", "127.0.0.1")], "sut.listen"), None);
        assert!(tried(&[("sut.listen", "192.0.2.1")], "sut.listen").is_some());
        assert_eq!(tried(&[("load.sources", "127.0.1.1-127.0.1.50")], "load.sources"), None);
        assert!(
            tried(&[("load.sources", "127.0.1.1-192.0.2.1")], "load.sources").unwrap().contains("192.0.2.1")
        );
    }

    #[test]
    fn missing_programs_are_named() {
        let needed = |path: &str, value: Value| {
            let point =
                Point { index: 0, axes: Vec::new(), settings: [(path.to_owned(), value.clone())].into() };
            program(&point, path, &value)
        };
        assert_eq!(needed("sut.plugin", Value::from("sh")), None);
        assert!(needed("load.plugin", Value::from("/no/such/program")).is_some());
        assert_eq!(needed("live.ping", Value::Bool(false)), None);
        assert_eq!(needed("sut.n4", Value::from("/no/such/program")), None);
    }

    #[test]
    fn unreachable_worker_is_named() {
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
