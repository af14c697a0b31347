//! A TUN device: IP packets between the kernel and this process.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// Opens (and creates, with permission) the TUN device `name`, non-blocking and without packet information:
/// one read is one IP packet, as is one write. The caller configures addresses, routes and `up`.
pub fn open_tun(name: &str) -> io::Result<File> {
    if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.contains(['/', '\0']) {
        let why = format!(
            "\"{name}\" is not a name of a network device; 1 to {} characters are allowed",
            libc::IFNAMSIZ - 1
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let file =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    // SAFETY: all zeroes is a valid `ifreq`; the name fits with its zero; the request reads and writes an `ifreq`, which
    // outlives the call.
    let result = unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &mut request)
    };
    if result == 0 { Ok(file) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_device_name_is_refused() {
        for name in ["", "a-name-that-is-too-long", "a/b"] {
            assert_eq!(open_tun(name).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }
}
