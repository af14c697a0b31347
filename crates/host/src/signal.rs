//! Asking a process to end.
#![allow(unsafe_code, reason = "a system call that std lacks")]

use std::io;

/// Sends SIGTERM: the process ends by itself and says what it has to say. It must be a child that was not waited for
/// yet, so that its number is still its own.
///
/// # Errors
/// There is no such process, or it is somebody else's.
pub fn ask_to_end(pid: u32) -> io::Result<()> {
    let pid = libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 0).ok_or(io::ErrorKind::InvalidInput)?;
    // SAFETY: kill(2) takes two numbers; one above 0 names a single process and no group.
    match unsafe { libc::kill(pid, libc::SIGTERM) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_child_is_asked_and_groups_are_not() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        ask_to_end(child.id()).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
        assert_eq!(ask_to_end(0).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(ask_to_end(u32::MAX).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
