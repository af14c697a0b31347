//! Reads the PFCP sessions of a capture that a load repeats.
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ranlab_packet::pcap::{Skipped, read_datagrams};
use ranlab_upf::n4::replay::{Recorder, Recording};
use ranlab_upf::pfcp::PORT;

use ranlab_lab::environment;
use ranlab_lab::worker::ComponentError;

/// Reason why a capture cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ReplayError {
    /// The file of the capture cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// Path of the capture.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The capture has no session.
    #[error(
        "{} has no PFCP session to repeat: a session needs an establishment on UDP port {PORT} and a response that accepts it ({found})",
        path.display()
    )]
    NoSession {
        /// Path of the capture.
        path: PathBuf,
        /// Summary of the capture's content.
        found: String,
    },
}

/// Reads the PFCP sessions of a capture.
pub(super) fn recording(path: &Path) -> Result<Recording, ComponentError> {
    read(path).map_err(environment)
}

fn read(path: &Path) -> Result<Recording, ReplayError> {
    let failed = |source| ReplayError::Io { path: path.to_owned(), source };
    let file = BufReader::new(File::open(path).map_err(failed)?);
    let mut recorder = Recorder::default();
    let skipped = read_datagrams(file, PORT, |datagram| {
        let at = Duration::from_micros(datagram.time_us.unwrap_or(0));
        recorder.datagram(at, datagram.source.ip(), datagram.destination.ip(), datagram.payload);
    })
    .map_err(failed)?;
    let recording = recorder.finish();
    if recording.scripts.is_empty() {
        let found = remark(&recording).unwrap_or_else(|| nothing(skipped));
        return Err(ReplayError::NoSession { path: path.to_owned(), found });
    }
    Ok(recording)
}

/// Describes a capture without a PFCP message.
fn nothing(skipped: Skipped) -> String {
    let Skipped { fragments, cut, unreadable, faults } = skipped;
    format!(
        "no PFCP message was found; {fragments} fragments, {cut} cut packets, {unreadable} unreadable packets, {faults} faults of the file"
    )
}

/// Returns a remark about messages of a capture that are not repeated; `None` if all messages are repeated.
pub(super) fn remark(recording: &Recording) -> Option<String> {
    let ignored = recording.ignored;
    let counts = [
        (ignored.unreadable, "messages that cannot be decoded"),
        (ignored.not_established, "establishments without an accepting response"),
        (ignored.other_sessions, "requests of sessions whose establishment is missing"),
        (ignored.retransmissions, "retransmissions"),
        (ignored.node_messages, "messages between nodes"),
        (ignored.beyond_limit, "requests beyond the limit"),
    ];
    let parts: Vec<_> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    (!parts.is_empty()).then(|| format!("these parts of the capture are not repeated: {}", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_packet::pcap::{LinkType, PcapWriter};
    use ranlab_packet::{udp_headers_bytes, write_udp};
    use ranlab_upf::pfcp::*;
    use std::net::{IpAddr, SocketAddr};

    fn capture(name: &str, messages: &[(bool, Vec<u8>)]) -> PathBuf {
        let path = std::env::temp_dir().join(format!("ranlab-replay-{}-{name}.pcap", std::process::id()));
        let mut out = PcapWriter::new(File::create(&path).unwrap(), LinkType::RAW).unwrap();
        let smf: SocketAddr = "10.0.0.1:8805".parse().unwrap();
        let upf: SocketAddr = "10.0.0.2:8805".parse().unwrap();
        for (at, (from_smf, octets)) in messages.iter().enumerate() {
            let (from, to) = if *from_smf { (smf, upf) } else { (upf, smf) };
            let mut packet = vec![0; udp_headers_bytes(to.ip())];
            write_udp(from, to, 64, octets, &mut packet).unwrap();
            packet.extend(octets);
            out.packet(at as u64 * 1_000_000, &packet).unwrap();
        }
        out.flush().unwrap();
        path
    }

    fn establishment() -> Vec<u8> {
        let pdr = CreatePdr { far_id: Some(FarId(1)), ..Default::default() };
        let request = SessionEstablishmentRequest {
            cp_f_seid: FSeid { seid: 1, addresses: IpAddr::from([10, 0, 0, 1]).into() },
            create_pdrs: vec![pdr],
            create_fars: vec![CreateFar { far_id: FarId(1), ..Default::default() }],
            ..Default::default()
        };
        encode(request, Some(0), 1).unwrap()
    }

    #[test]
    fn sessions_of_a_capture_are_found() {
        let response = SessionEstablishmentResponse {
            cause: Cause::ACCEPTED,
            up_f_seid: Some(FSeid { seid: 9, addresses: IpAddr::from([10, 0, 0, 2]).into() }),
            ..Default::default()
        };
        let heartbeat = encode(HeartbeatRequest::default(), None, 2).unwrap();
        let path = capture(
            "whole",
            &[
                (true, heartbeat),
                (true, establishment()),
                (false, encode(response, Some(1), 1).unwrap()),
                (true, encode(SessionDeletionRequest::default(), Some(9), 3).unwrap()),
            ],
        );
        let recording = read(&path).unwrap();
        assert_eq!((recording.scripts.len(), recording.scripts[0].ends()), (1, true));
        assert_eq!(recording.scripts[0].steps[0].after, Duration::from_millis(2));
        assert_eq!(
            remark(&recording).unwrap(),
            "these parts of the capture are not repeated: 1 messages between nodes"
        );
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn error_for_capture_without_sessions_describes_its_content() {
        let path = capture("half", &[(true, establishment())]);
        let error = read(&path).unwrap_err();
        let ReplayError::NoSession { found, .. } = &error else { panic!("{error}") };
        assert!(found.contains("1 establishments without an accepting response"), "{found}");
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(read(&path), Err(ReplayError::Io { .. })));
    }
}
