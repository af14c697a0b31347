//! Limits of the process.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Limit of open files of the process, before and after [`raise_open_files`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFiles {
    /// Soft limit before the call.
    pub before: u64,
    /// Soft limit after the call: the hard limit, unless the kernel refused.
    pub after: u64,
}

/// Raises the soft limit of open files (`RLIMIT_NOFILE`) to the hard limit.
///
/// Distributions keep the soft limit at 1024 for the sake of `select(2)`, which nothing here uses.
pub fn raise_open_files() -> io::Result<OpenFiles> {
    // A process without a limit has `None`.
    let soft = || getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let before = soft();
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    }
    Ok(OpenFiles { before, after: soft() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raising_the_limit_twice_has_no_effect() {
        let first = raise_open_files().unwrap();
        assert!(first.after >= first.before);
        let second = raise_open_files().unwrap();
        assert_eq!((second.before, second.after), (first.after, first.after));
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
