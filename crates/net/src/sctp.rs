//! SCTP, where the kernel has it (E2AP's transport: O-RAN.WG3.E2AP §8, payload protocol identifier 70).

use std::io;

use socket2::{Domain, Protocol, Socket, Type};

/// Why there is no SCTP here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SctpUnavailable {
    /// The kernel was built without SCTP, or its module is not loaded.
    #[error("this kernel has no SCTP (try `modprobe sctp`)")]
    NotInKernel,
    /// A sandbox forbids it.
    #[error("opening an SCTP socket is not permitted here")]
    Forbidden,
    /// The kernel gave another reason.
    #[error("cannot open an SCTP socket: {0}")]
    Other(#[source] io::Error),
}

/// Asks the kernel for a one-to-one SCTP socket and closes it again.
pub fn sctp_support() -> Result<(), SctpUnavailable> {
    match Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::SCTP)) {
        Ok(_) => Ok(()),
        Err(error) => Err(unavailable(error)),
    }
}

fn unavailable(error: io::Error) -> SctpUnavailable {
    match error.raw_os_error() {
        Some(libc::EPROTONOSUPPORT | libc::ESOCKTNOSUPPORT | libc::EAFNOSUPPORT) => {
            SctpUnavailable::NotInKernel
        }
        Some(libc::EPERM | libc::EACCES) => SctpUnavailable::Forbidden,
        _ => SctpUnavailable::Other(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_apart() {
        let of = |code| unavailable(io::Error::from_raw_os_error(code)).to_string();
        assert!(of(libc::EPROTONOSUPPORT).contains("modprobe"));
        assert!(of(libc::EPERM).contains("not permitted"));
        assert!(of(libc::EMFILE).contains("cannot open"));
    }
}
