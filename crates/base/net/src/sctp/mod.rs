//! Kernel SCTP, the transport of E2AP (O-RAN.WG3.E2AP §8, payload protocol identifier 70).
//!
//! One-to-one sockets, one E2AP PDU per message. Tests cover all code that needs no kernel with SCTP; the
//! system calls themselves run only if [`sctp_support`] is `Ok`.

mod ancillary;
mod association;
mod message;
mod options;

use std::io;

use socket2::{Domain, Protocol, Socket, Type};

pub use association::{Association, Listener, Received};
pub use message::{MessageInfo, Notification};

/// The payload protocol identifier that IANA assigned to E2AP. It is used until the peer sends another identifier. Any
/// identifier is accepted: FlexRIC sends 0.
pub const E2AP_PPID: u32 = 70;

/// Reason for the lack of SCTP.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SctpUnavailable {
    /// The kernel was built without SCTP, or its module is not loaded.
    #[error("this kernel has no SCTP{}", if *.module { " yet: try `modprobe sctp`" } else { " and no module for it" })]
    NotInKernel {
        /// Whether a loadable module is installed.
        module: bool,
    },
    /// A sandbox forbids it.
    #[error("opening an SCTP socket is not permitted here")]
    Forbidden,
    /// The kernel gave another reason.
    #[error("cannot open an SCTP socket: {0}")]
    Other(#[source] io::Error),
}

/// Opens and closes a one-to-one SCTP socket to check for support.
pub fn sctp_support() -> Result<(), SctpUnavailable> {
    open(Domain::IPV4).map(drop)
}

fn open(domain: Domain) -> Result<Socket, SctpUnavailable> {
    Socket::new(domain, Type::STREAM, Some(Protocol::SCTP)).map_err(unavailable)
}

fn unavailable(error: io::Error) -> SctpUnavailable {
    match error.raw_os_error() {
        Some(libc::EPROTONOSUPPORT | libc::ESOCKTNOSUPPORT | libc::EAFNOSUPPORT) => {
            SctpUnavailable::NotInKernel { module: has_module() }
        }
        Some(libc::EPERM | libc::EACCES) => SctpUnavailable::Forbidden,
        _ => SctpUnavailable::Other(error),
    }
}

/// Whether the module folder of the running kernel contains SCTP. A container does not have that folder, so a
/// hint to load the module would not help there.
fn has_module() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let list = std::fs::read_to_string(format!("/lib/modules/{}/modules.dep", release.trim()));
    list.is_ok_and(|list| list.lines().any(|line| line.split(':').next().is_some_and(is_sctp)))
}

fn is_sctp(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|file| file.starts_with("sctp.ko"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_distinguished() {
        let of = |code| unavailable(io::Error::from_raw_os_error(code)).to_string();
        let text = |module| SctpUnavailable::NotInKernel { module }.to_string();
        assert!(text(true).contains("modprobe") && !text(false).contains("modprobe"));
        assert_eq!(of(libc::EPROTONOSUPPORT), text(has_module()));
        assert!(is_sctp("kernel/net/sctp/sctp.ko.xz") && !is_sctp("kernel/net/sctp/sctp_diag.ko"));
        assert!(of(libc::EPERM).contains("not permitted"));
        assert!(of(libc::EMFILE).contains("cannot open"));
    }

    #[test]
    fn every_call_reports_missing_sctp() {
        let place = "127.0.0.1:0".parse().unwrap();
        match (sctp_support(), Listener::bind(&[place])) {
            (Ok(()), Ok(_)) => {}
            (Err(probed), Err(error)) => {
                let text = Association::connect(&[place]).unwrap_err().to_string();
                assert_eq!((text, error.to_string()), (probed.to_string(), probed.to_string()));
            }
            (probe, bound) => panic!("the probe reports {probe:?}, but binding gives {bound:?}"),
        }
    }
}
