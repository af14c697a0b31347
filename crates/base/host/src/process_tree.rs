//! Finds all descendants of a program, asks them to exit, and kills them, even if they outlive the first process.
//!
//! A process that adopts orphans ([`adopt_orphans`]) is an ancestor of every process that it ever started.
//! Only its own children are signalled here, because their numbers are not reused until they are waited for.
#![allow(unsafe_code, reason = "a closure between fork and exec")]

use std::collections::BTreeSet;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{
    Pid, Signal, WaitOptions, getppid, set_child_subreaper, set_parent_process_death_signal, waitpid,
};

use crate::signal::send;

/// Maximum descendants of a process; a larger tree is cut.
const KIN_MAX: usize = 4_096;

/// Makes this process the parent of orphans among its descendants (`PR_SET_CHILD_SUBREAPER`).
///
/// # Errors
/// The kernel does not support it (before Linux 3.4).
pub fn adopt_orphans() -> io::Result<()> {
    // Any process number is taken as "yes".
    Ok(set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Kills the process that this command starts (SIGKILL) when the thread that starts it ends for any reason.
pub fn die_with_us(command: &mut Command) -> &mut Command {
    let own = std::process::id();
    // SAFETY: between fork and exec there are only two system calls with numbers, which are async-signal-safe.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have ended before the line above.
            if getppid().and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok()) == Some(own) {
                Ok(())
            } else {
                Err(io::ErrorKind::NotFound.into())
            }
        })
    }
}

/// Returns all descendants of a process, its children first, without the process itself.
pub fn below(pid: u32) -> Vec<u32> {
    let mut all = children(pid);
    let mut at = 0;
    while at < all.len() && all.len() < KIN_MAX {
        all.extend(children(all[at]));
        at += 1;
    }
    all.truncate(KIN_MAX);
    all
}

/// Returns the children of a process. They are read from each of its threads (`/proc/PID/task/TID/children`, since
/// Linux 4.2). If this file does not exist, the parent of every process is read.
fn children(pid: u32) -> Vec<u32> {
    let mut pids = BTreeSet::new();
    for thread in std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        match std::fs::read_to_string(thread.path().join("children")) {
            Ok(text) => pids.extend(text.split_whitespace().filter_map(|word| word.parse::<u32>().ok())),
            // The thread is gone, or the kernel was built without this file.
            Err(_) if thread.path().join("stat").exists() => return by_parent(pid),
            Err(_) => {}
        }
    }
    pids.into_iter().collect()
}

fn by_parent(parent: u32) -> Vec<u32> {
    let folders = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = folders.filter_map(|folder| folder.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| stat(*pid).is_some_and(|(_, of)| of == parent)).collect()
}

/// Returns state and parent of a process; `None` if it does not exist. The name in front of them may contain any
/// characters.
fn stat(pid: u32) -> Option<(char, u32)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut words = text.rsplit_once(')')?.1.split_whitespace();
    Some((words.next()?.chars().next()?, words.next()?.parse().ok()?))
}

/// State of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessState {
    /// The process runs or waits.
    Lives,
    /// Stopped by a signal (SIGSTOP), or by a debugger.
    Stopped,
    /// The process has ended, whether it was waited for or not.
    Gone,
}

/// Returns the state of a process.
pub fn standing(pid: u32) -> ProcessState {
    match stat(pid) {
        Some(('T' | 't', _)) => ProcessState::Stopped,
        Some(('Z' | 'X' | 'x', _)) | None => ProcessState::Gone,
        Some(_) => ProcessState::Lives,
    }
}

/// Returns the name of a process in the kernel; empty if it does not exist.
pub fn name_of(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
}

/// Asks a child of this process to exit, together with the group that it leads. A stopped child is resumed.
pub fn ask_child(pid: u32) {
    for signal in [Signal::TERM, Signal::CONT] {
        let _ = send(pid, signal, true).or_else(|_| send(pid, signal, false));
    }
}

/// Kills the children of this process (SIGKILL), except those in `but`, and waits for them. Continues with the orphans
/// that they leave until none is left. Returns `false` if a process remains that cannot be killed.
pub fn end_children(but: &BTreeSet<u32>) -> bool {
    // Each round kills at least one generation.
    for _ in 0..KIN_MAX {
        let pids = own_children(but);
        if pids.is_empty() {
            return true;
        }
        pids.iter().for_each(|pid| drop(send(*pid, Signal::KILL, false)));
        if !pids.iter().all(|pid| wait_for(*pid, WaitOptions::empty())) {
            return false;
        }
    }
    false
}

/// Reaps ended children of this process, except those in `but`. A process that adopts orphans has to do this.
pub fn bury(but: &BTreeSet<u32>) {
    for pid in own_children(but) {
        wait_for(pid, WaitOptions::NOHANG);
    }
}

/// Returns the children of this process, including ended ones, except those in `but`.
pub fn own_children(but: &BTreeSet<u32>) -> Vec<u32> {
    children(std::process::id()).into_iter().filter(|pid| !but.contains(pid)).collect()
}

fn wait_for(pid: u32, options: WaitOptions) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    matches!(waitpid(Some(pid), options), Ok(_) | Err(rustix::io::Errno::CHILD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_and_stopped_ones_reported() {
        let mut shell = Command::new("sh").args(["-c", "sleep 60 & sleep 61 & wait"]).spawn().unwrap();
        let all = loop {
            let all = below(shell.id());
            if all.len() == 2 {
                break all;
            }
            std::thread::yield_now();
        };
        assert!(below(std::process::id()).contains(&shell.id()));
        assert_eq!(by_parent(shell.id()).into_iter().collect::<BTreeSet<_>>(), all.iter().copied().collect());
        send(all[0], Signal::STOP, false).unwrap();
        while standing(all[0]) != ProcessState::Stopped {
            std::thread::yield_now();
        }
        assert_eq!((standing(all[1]), name_of(shell.id()).as_str()), (ProcessState::Lives, "sh"));
        all.iter().for_each(|pid| send(*pid, Signal::KILL, false).unwrap());
        shell.wait().unwrap();
        assert_eq!(standing(shell.id()), ProcessState::Gone);
    }
}
