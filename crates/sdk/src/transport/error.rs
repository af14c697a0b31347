//! Why there is no connection, no listener, no newcomer: one sentence each.

use std::io;
use std::time::Duration;

use super::Address;

/// Why there is no connection: one sentence each.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The machine answers, but nobody listens there (or its queue of newcomers is full).
    #[error("nobody listens at {address}")]
    Refused {
        /// Where to.
        address: Address,
    },
    /// No way leads there.
    #[error("{address} is unreachable: {source}")]
    Unreachable {
        /// Where to.
        address: Address,
        /// The system's word.
        source: io::Error,
    },
    /// No answer in time.
    #[error("{address} did not answer within {}", seconds(*.after))]
    TimedOut {
        /// Where to.
        address: Address,
        /// How long was waited.
        after: Duration,
    },
    /// The host name has no address.
    #[error("the host of {address} has no address: {source}")]
    UnknownHost {
        /// Where to.
        address: Address,
        /// The resolver's word.
        source: io::Error,
    },
    /// A Unix path that is not there.
    #[error("there is no socket at {address}")]
    NoSuchPath {
        /// Where to.
        address: Address,
    },
    /// The caller may not.
    #[error("no permission to connect to {address}")]
    Permission {
        /// Where to.
        address: Address,
    },
    /// The transport is not available here.
    #[error("cannot connect to {address}: {why}")]
    Unsupported {
        /// Where to.
        address: Address,
        /// What is missing.
        #[source]
        why: Unsupported,
    },
    /// Anything else, in the system's words.
    #[error("cannot connect to {address}: {source}")]
    Io {
        /// Where to.
        address: Address,
        /// The system's word.
        source: io::Error,
    },
}

impl ConnectError {
    /// What the system says of an attempt.
    pub(super) fn of(address: &Address, source: io::Error) -> Self {
        use io::ErrorKind as Kind;
        let address = address.clone();
        match source.kind() {
            Kind::ConnectionRefused => Self::Refused { address },
            // A Unix listener with a full queue says EAGAIN where TCP would let the newcomer wait.
            Kind::WouldBlock => Self::Refused { address },
            Kind::NetworkUnreachable | Kind::HostUnreachable => Self::Unreachable { address, source },
            Kind::PermissionDenied => Self::Permission { address },
            Kind::NotFound if matches!(address, Address::Unix(_)) => Self::NoSuchPath { address },
            _ => Self::Io { address, source },
        }
    }

    /// The address of a transport that is not here.
    pub(super) fn unsupported(address: &Address, why: Unsupported) -> Self {
        Self::Unsupported { address: address.clone(), why }
    }
}

/// Why one cannot listen there: one sentence each.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// Somebody listens there.
    #[error("{address} is in use by another listener")]
    InUse {
        /// Where.
        address: Address,
    },
    /// The host is not this machine.
    #[error("{address} is not an address of this machine")]
    NotLocal {
        /// Where.
        address: Address,
    },
    /// The host name has no address.
    #[error("the host of {address} has no address: {source}")]
    UnknownHost {
        /// Where.
        address: Address,
        /// The resolver's word.
        source: io::Error,
    },
    /// A port below 1024, or a directory that may not be written.
    #[error("no permission to listen at {address}")]
    Permission {
        /// Where.
        address: Address,
    },
    /// The Unix path exists and is no socket: it is somebody's file and stays.
    #[error("{address} exists and is not a socket")]
    NotASocket {
        /// Where.
        address: Address,
    },
    /// The directory of the Unix path is missing.
    #[error("the directory of {address} does not exist")]
    NoDirectory {
        /// Where.
        address: Address,
    },
    /// The transport is not available here.
    #[error("cannot listen at {address}: {why}")]
    Unsupported {
        /// Where.
        address: Address,
        /// What is missing.
        #[source]
        why: Unsupported,
    },
    /// Anything else, in the system's words.
    #[error("cannot listen at {address}: {source}")]
    Io {
        /// Where.
        address: Address,
        /// The system's word.
        source: io::Error,
    },
}

impl BindError {
    /// What the system says of an attempt.
    pub(super) fn of(address: &Address, source: io::Error) -> Self {
        use io::ErrorKind as Kind;
        let address = address.clone();
        match source.kind() {
            Kind::AddrInUse => Self::InUse { address },
            Kind::AddrNotAvailable => Self::NotLocal { address },
            Kind::PermissionDenied => Self::Permission { address },
            Kind::NotFound | Kind::NotADirectory if matches!(address, Address::Unix(_)) => {
                Self::NoDirectory { address }
            }
            _ => Self::Io { address, source },
        }
    }

    /// The address of a transport that is not here.
    pub(super) fn unsupported(address: &Address, why: Unsupported) -> Self {
        Self::Unsupported { address: address.clone(), why }
    }
}

/// Why a newcomer could not be let in. The listener itself stays usable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcceptError {
    /// No descriptor or memory is left: wait before accepting again, or the loop spins.
    #[error("no room for another connection: {0}")]
    Exhausted(#[source] io::Error),
    /// Anything else; the newcomer is gone.
    #[error("a connection could not be accepted: {0}")]
    Io(#[source] io::Error),
}

impl AcceptError {
    pub(super) fn of(error: io::Error) -> Self {
        /// `ENFILE`, `EMFILE`, `ENOMEM`, `ENOBUFS` of Linux; std has no kinds for the first two and the last.
        const EXHAUSTION: [i32; 4] = [23, 24, 12, 105];
        match error.raw_os_error() {
            Some(code) if EXHAUSTION.contains(&code) => Self::Exhausted(error),
            _ => Self::Io(error),
        }
    }
}

/// Why an address that parses cannot be used here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// The machine has no SCTP.
    #[error(
        "{0}; use tcp:// or unix:// between programs of ours, and shim:// towards a preloaded one (`make preload`)"
    )]
    NoSctp(#[source] ranlab_net::SctpUnavailable),
    /// No transport is registered for it.
    #[error("no transport is registered for its scheme")]
    Unregistered,
    /// TLS is not part of this build.
    #[error("TLS is not built into this program (feature `tls`); use tcp:// or unix://")]
    Tls,
    /// Nobody has said who we are.
    #[error(
        "TLS needs a certificate, its key and the authority that the peer's is of; tcp:// and unix:// do not"
    )]
    NoIdentity,
}

impl Unsupported {
    pub(super) fn of(address: &Address) -> Self {
        match address {
            Address::Tls { .. } => Self::Tls,
            _ => Self::Unregistered,
        }
    }
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_is_one_sentence_that_names_the_address() {
        let tcp: Address = "tcp://ric:36421".parse().unwrap();
        let unix: Address = "unix:///run/ric".parse().unwrap();
        let told =
            |address: &Address, kind: io::ErrorKind| ConnectError::of(address, kind.into()).to_string();
        assert_eq!(told(&tcp, io::ErrorKind::ConnectionRefused), "nobody listens at tcp://ric:36421");
        assert_eq!(told(&unix, io::ErrorKind::NotFound), "there is no socket at unix:///run/ric");
        assert_eq!(
            told(&unix, io::ErrorKind::PermissionDenied),
            "no permission to connect to unix:///run/ric"
        );
        assert!(told(&tcp, io::ErrorKind::HostUnreachable).starts_with("tcp://ric:36421 is unreachable: "));
        assert!(told(&tcp, io::ErrorKind::Other).starts_with("cannot connect to tcp://ric:36421: "));
        let late = ConnectError::TimedOut { address: tcp, after: Duration::from_millis(1500) };
        assert_eq!(late.to_string(), "tcp://ric:36421 did not answer within 1.5 s");
    }
}
