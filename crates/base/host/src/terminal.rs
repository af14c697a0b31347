//! Size of the terminal.
#![allow(unsafe_code, reason = "a system call that std lacks")]

use std::os::fd::{AsFd, AsRawFd};

/// Lines and columns of the terminal behind a descriptor; `None` if it is not a terminal, or does not report
/// a size.
pub fn terminal_size(of: impl AsFd) -> Option<(usize, usize)> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the descriptor is open while it is borrowed, and TIOCGWINSZ writes one `winsize` to the given
    // address.
    let asked = unsafe { libc::ioctl(of.as_fd().as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    (asked == 0 && size.ws_row > 0 && size.ws_col > 0).then(|| (size.ws_row.into(), size.ws_col.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_no_terminal() {
        assert_eq!(terminal_size(std::fs::File::open("/dev/null").unwrap()), None);
    }
}
