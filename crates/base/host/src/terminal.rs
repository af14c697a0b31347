//! Size of the terminal.
use std::os::fd::AsFd;

/// Returns the lines and columns of the terminal behind a descriptor; `None` if it is not a terminal, or does not
/// report a size.
pub fn terminal_size(of: impl AsFd) -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(of).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then(|| (size.ws_row.into(), size.ws_col.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_not_a_terminal() {
        assert_eq!(terminal_size(std::fs::File::open("/dev/null").unwrap()), None);
    }
}
