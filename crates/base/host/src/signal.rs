//! Sends signals that make a process exit.
use std::io;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Sends SIGTERM: the process exits by itself after its last output. It must be a child that was not waited for yet, so
/// that its number is not reused yet.
///
/// # Errors
/// There is no such process, or it belongs to another user.
pub fn ask_to_end(pid: u32) -> io::Result<()> {
    send(pid, Signal::TERM, false)
}

/// Kills a whole process group at once (SIGKILL): a child that was started in its own group, and all its descendants.
/// The child must not have been waited for yet, so that the group's number is not reused yet.
///
/// # Errors
/// There is no such group, or it belongs to another user.
pub fn kill_group(pid: u32) -> io::Result<()> {
    send(pid, Signal::KILL, true)
}

/// Sends a signal to a process, or to the group that it leads.
pub(crate) fn send(pid: u32, signal: Signal, group: bool) -> io::Result<()> {
    // 0 would be this process's group, -1 all processes, and 1 is not a child.
    let pid = i32::try_from(pid).ok().filter(|pid| *pid > 1).and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::InvalidInput)?;
    Ok(if group { kill_process_group(pid, signal) } else { kill_process(pid, signal) }?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn killing_group_kills_its_descendants() {
        use std::io::Read;
        use std::os::unix::process::CommandExt;
        // The grandchild holds the pipe: it closes when both are gone.
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "sleep 60 & sleep 60"]).stdout(std::process::Stdio::piped()).process_group(0);
        let mut child = command.spawn().unwrap();
        kill_group(child.id()).unwrap();
        assert_eq!(child.stdout.take().unwrap().read(&mut [0; 8]).unwrap(), 0);
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::KILL.as_raw()));
        assert_eq!(kill_group(0).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(kill_group(1).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn child_gets_signal_and_groups_do_not() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        ask_to_end(child.id()).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
        assert_eq!(ask_to_end(0).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(ask_to_end(u32::MAX).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
