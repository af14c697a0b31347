//! Detects whether a program is ready, without connecting to it.

use crate::output::Output;
use crate::program::ReadyWhen;
use crate::readback;

/// The kernel's socket tables, and the state of a listening socket.
const TABLES: [(&str, &[&str], Option<&str>); 2] = [
    ("tcp", &["/proc/net/tcp", "/proc/net/tcp6"], Some("0A")),
    ("udp", &["/proc/net/udp", "/proc/net/udp6"], None),
];

/// Returns the first readiness condition that is not met yet. `None` if all are met; a command is checked elsewhere.
pub fn lacks(when: &ReadyWhen, output: &Output) -> Option<String> {
    if !when.line.is_empty() && !output.line_came() {
        return Some(format!("no line of its output matches \"{}\"", when.line));
    }
    if let Some(port) = when.ports.iter().find(|port| !open(port)) {
        return Some(format!("{port} is not open"));
    }
    if when.url.is_empty() {
        return None;
    }
    readback::ask(&when.url).err()
}

/// Returns a port that is already open before the program is started. Otherwise it would be mistaken for a port of the
/// program.
pub fn taken(when: &ReadyWhen) -> Option<&String> {
    when.ports.iter().find(|port| open(port))
}

/// Returns a TCP port that an old connection still occupies. Without SO_REUSEADDR, a program cannot listen on it for up
/// to a minute after the connection ended.
pub fn kept(when: &ReadyWhen) -> Option<&String> {
    when.ports.iter().find(|text| {
        let Ok(("tcp", port)) = port(text) else { return false };
        let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
        TABLES[0].1.iter().any(|file| in_table(&read(file), port, None))
    })
}

/// Parses a port such as `tcp:2210`.
///
/// # Errors
/// The text after "must be".
pub fn port(text: &str) -> Result<(&str, u16), String> {
    let wrong = || "such as \"tcp:2210\", \"udp:8805\" or \"sctp:36421\"".to_owned();
    let (kind, port) = text.split_once(':').ok_or_else(wrong)?;
    match (["tcp", "udp", "sctp"].contains(&kind), port.parse()) {
        (true, Ok(port)) => Ok((kind, port)),
        _ => Err(wrong()),
    }
}

fn open(text: &str) -> bool {
    let Ok((kind, port)) = port(text) else { return false };
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    match TABLES.iter().find(|(own, ..)| *own == kind) {
        Some((_, files, state)) => files.iter().any(|file| in_table(&read(file), port, *state)),
        // This file is not documented in proc(5). It lists endpoints, with the local port in the sixth column.
        None => read("/proc/net/sctp/eps")
            .lines()
            .any(|line| line.split_whitespace().nth(5) == Some(port.to_string().as_str())),
    }
}

/// Whether a table contains the port in this state. The format is that of proc_pid_net(5): `sl local_address
/// rem_address st`, with ports in hexadecimal.
fn in_table(table: &str, port: u16, state: Option<&str>) -> bool {
    let ending = format!(":{port:04X}");
    table.lines().any(|line| {
        let mut words = line.split_whitespace().skip(1);
        let local = words.next().is_some_and(|local| local.ends_with(&ending));
        local && state.is_none_or(|state| words.nth(1) == Some(state))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_port_is_detected_without_connecting() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let tcp = listener.local_addr().unwrap().port();
        let udp = socket.local_addr().unwrap().port();
        assert!(open(&format!("tcp:{tcp}")) && open(&format!("udp:{udp}")));
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err(), "the check must not connect to the port");
        // Another program may listen on a port that was just freed.
        let closes = |_| {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            drop(listener);
            !open(&format!("tcp:{port}"))
        };
        assert!((0..10).any(closes));
        for wrong in ["2210", "tcp:", "dccp:1", "tcp:70000"] {
            assert!(port(wrong).unwrap_err().contains("sctp:36421"), "{wrong}");
        }
    }

    #[test]
    fn port_of_recently_closed_connection_is_reported_as_occupied() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let when = ReadyWhen { ports: vec![format!("tcp:{}", address.port())], ..ReadyWhen::default() };
        let client = std::net::TcpStream::connect(address).unwrap();
        drop(listener.accept().unwrap());
        drop(listener);
        // The peer closes after it has seen the end.
        std::io::copy(&mut &client, &mut std::io::sink()).unwrap();
        drop(client);
        assert_eq!(kept(&when), when.ports.first());
        assert_eq!(kept(&ReadyWhen { ports: vec!["tcp:1".to_owned()], ..when }), None);
    }

    #[test]
    fn connection_is_not_a_listener() {
        let table = "  sl  local_address rem_address   st\n   0: 0100007F:08A2 0100007F:D4A8 01 0:0\n";
        assert!(!in_table(table, 2210, Some("0A")));
        assert!(in_table(&table.replace(" 01 ", " 0A "), 2210, Some("0A")));
    }
}
