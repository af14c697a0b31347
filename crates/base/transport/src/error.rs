//! Errors of connecting, listening and accepting.

use std::io;
use std::time::Duration;

use super::Address;

/// Reason why a connection failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The host responds, but nothing listens at the address, or its accept queue is full.
    #[error("no program listens at {address}")]
    Refused {
        /// Address to connect to.
        address: Address,
    },
    /// The address is unreachable.
    #[error("{address} is unreachable: {source}")]
    Unreachable {
        /// Address to connect to.
        address: Address,
        /// Error of the operating system.
        source: io::Error,
    },
    /// No response arrived in time.
    #[error("{address} did not answer within {}", seconds(*.after))]
    TimedOut {
        /// Address to connect to.
        address: Address,
        /// Timeout of the attempt.
        after: Duration,
    },
    /// The host name cannot be resolved.
    #[error("the host of {address} has no address: {source}")]
    UnknownHost {
        /// Address to connect to.
        address: Address,
        /// Error of the resolver.
        source: io::Error,
    },
    /// The Unix path does not exist.
    #[error("there is no socket at {address}")]
    NoSuchPath {
        /// Address to connect to.
        address: Address,
    },
    /// The operating system denies permission.
    #[error("no permission to connect to {address}")]
    Permission {
        /// Address to connect to.
        address: Address,
    },
    /// The transport is not available.
    #[error("cannot connect to {address}: {why}")]
    Unsupported {
        /// Address to connect to.
        address: Address,
        /// Reason why the transport is not available.
        #[source]
        why: Unsupported,
    },
    /// Any other error.
    #[error("cannot connect to {address}: {source}")]
    Io {
        /// Address to connect to.
        address: Address,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl ConnectError {
    /// Converts an error of the operating system.
    pub(super) fn from_io(address: &Address, source: io::Error) -> Self {
        use io::ErrorKind as Kind;
        let address = address.clone();
        match source.kind() {
            Kind::ConnectionRefused => Self::Refused { address },
            // A Unix listener with a full queue returns EAGAIN, where TCP would keep the connection waiting.
            Kind::WouldBlock => Self::Refused { address },
            Kind::NetworkUnreachable | Kind::HostUnreachable => Self::Unreachable { address, source },
            Kind::PermissionDenied => Self::Permission { address },
            Kind::NotFound if matches!(address, Address::Unix(_)) => Self::NoSuchPath { address },
            _ => Self::Io { address, source },
        }
    }

    /// Creates the error for an unavailable transport.
    pub(super) fn unsupported(address: &Address, why: Unsupported) -> Self {
        Self::Unsupported { address: address.clone(), why }
    }
}

/// Reason why listening at an address failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// Another listener uses the address.
    #[error("{address} is in use by another listener")]
    InUse {
        /// Address to listen at.
        address: Address,
    },
    /// The host is not this machine.
    #[error("{address} is not an address of this machine")]
    NotLocal {
        /// Address to listen at.
        address: Address,
    },
    /// The host name cannot be resolved.
    #[error("the host of {address} has no address: {source}")]
    UnknownHost {
        /// Address to listen at.
        address: Address,
        /// Error of the resolver.
        source: io::Error,
    },
    /// Permission denied, for example a port below 1024 or a read-only directory.
    #[error("no permission to listen at {address}")]
    Permission {
        /// Address to listen at.
        address: Address,
    },
    /// The Unix path exists and is not a socket. The file is not replaced.
    #[error("{address} exists and is not a socket")]
    NotASocket {
        /// Address to listen at.
        address: Address,
    },
    /// The directory of the Unix path does not exist.
    #[error("the directory of {address} does not exist")]
    NoDirectory {
        /// Address to listen at.
        address: Address,
    },
    /// The transport is not available.
    #[error("cannot listen at {address}: {why}")]
    Unsupported {
        /// Address to listen at.
        address: Address,
        /// Reason why the transport is not available.
        #[source]
        why: Unsupported,
    },
    /// Any other error.
    #[error("cannot listen at {address}: {source}")]
    Io {
        /// Address to listen at.
        address: Address,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl BindError {
    /// Converts an error of the operating system.
    pub(super) fn from_io(address: &Address, source: io::Error) -> Self {
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

    /// Creates the error for an unavailable transport.
    pub(super) fn unsupported(address: &Address, why: Unsupported) -> Self {
        Self::Unsupported { address: address.clone(), why }
    }
}

/// Reason why a connection could not be accepted. The listener stays usable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcceptError {
    /// No file descriptor or memory is left. Wait before accepting again; otherwise the loop spins.
    #[error("no room for another connection: {0}")]
    Exhausted(#[source] io::Error),
    /// Any other error; the connection is lost.
    #[error("a connection could not be accepted: {0}")]
    Io(#[source] io::Error),
}

impl AcceptError {
    pub(super) fn from_io(error: io::Error) -> Self {
        /// `ENFILE`, `EMFILE`, `ENOMEM`, `ENOBUFS` of Linux. The standard library has no error kinds for the first
        /// two and the last.
        const EXHAUSTION: [i32; 4] = [23, 24, 12, 105];
        match error.raw_os_error() {
            Some(code) if EXHAUSTION.contains(&code) => Self::Exhausted(error),
            _ => Self::Io(error),
        }
    }
}

/// Reason why the transport of an address is not available.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// The machine has no SCTP.
    #[error(
        "{0}; use tcp:// or unix:// between ranlab's programs, and shim:// towards a program with the preload library (`make preload`)"
    )]
    NoSctp(#[source] ranlab_net::SctpUnavailable),
    /// No transport is registered for the scheme.
    #[error("no transport is registered for its scheme")]
    Unregistered,
    /// TLS is not included in this build.
    #[error("TLS is not built into this program (feature `tls`); use tcp:// or unix://")]
    Tls,
    /// The process has no TLS identity.
    #[error(
        "TLS needs a certificate, its key and the certificate authority of the peer; tcp:// and unix:// need none"
    )]
    NoIdentity,
}

impl Unsupported {
    pub(super) fn from_address(address: &Address) -> Self {
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
    fn each_error_is_one_sentence_with_address() {
        let tcp: Address = "tcp://ric:36421".parse().unwrap();
        let unix: Address = "unix:///run/ric".parse().unwrap();
        let message =
            |address: &Address, kind: io::ErrorKind| ConnectError::from_io(address, kind.into()).to_string();
        assert_eq!(message(&tcp, io::ErrorKind::ConnectionRefused), "no program listens at tcp://ric:36421");
        assert_eq!(message(&unix, io::ErrorKind::NotFound), "there is no socket at unix:///run/ric");
        assert_eq!(
            message(&unix, io::ErrorKind::PermissionDenied),
            "no permission to connect to unix:///run/ric"
        );
        assert!(
            message(&tcp, io::ErrorKind::HostUnreachable).starts_with("tcp://ric:36421 is unreachable: ")
        );
        assert!(message(&tcp, io::ErrorKind::Other).starts_with("cannot connect to tcp://ric:36421: "));
        let late = ConnectError::TimedOut { address: tcp, after: Duration::from_millis(1500) };
        assert_eq!(late.to_string(), "tcp://ric:36421 did not answer within 1.5 s");
    }
}
