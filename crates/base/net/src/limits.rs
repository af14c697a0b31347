//! Limits of the process.
#![allow(unsafe_code)]

use std::io;

/// Limit of open files of the process, before and after [`raise_open_files`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFiles {
    /// The soft limit before.
    pub before: u64,
    /// The soft limit now: the hard limit, unless the kernel refused.
    pub after: u64,
}

/// Raises the soft limit of open files (`RLIMIT_NOFILE`) to the hard limit.
///
/// Distributions keep the soft limit at 1024 for the sake of `select(2)`, which nothing here uses.
pub fn raise_open_files() -> io::Result<OpenFiles> {
    let mut limit = read()?;
    let before = limit.rlim_cur;
    if limit.rlim_cur < limit.rlim_max {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: `limit` is a valid `rlimit` that outlives the call; the kernel only reads it.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(OpenFiles { before, after: read()?.rlim_cur })
}

fn read() -> io::Result<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid `rlimit` that outlives the call; the kernel only writes it.
    match unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } {
        0 => Ok(limit),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_raise_has_no_effect() {
        let first = raise_open_files().unwrap();
        assert!(first.after >= first.before);
        let second = raise_open_files().unwrap();
        assert_eq!((second.before, second.after), (first.after, first.after));
        assert_eq!(read().unwrap().rlim_cur, read().unwrap().rlim_max);
    }
}
