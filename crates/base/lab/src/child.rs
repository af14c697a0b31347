//! Child processes: workers and third-party programs.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ChildStdin, Command, ExitStatus};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

/// Timeout after a process is asked to end.
const END_WAIT: Duration = Duration::from_secs(1);
/// Polling interval while waiting for the exit of a process.
const POLL: Duration = Duration::from_millis(5);
/// Maximum number of unread output lines. At this number, the process blocks.
const LINES_MAX: usize = 64;

/// A child process that ends when this value is dropped.
#[derive(Debug)]
pub struct Child {
    child: std::process::Child,
    /// Whether the process leads a process group, which ends with it.
    group: bool,
}

impl Child {
    /// Starts a process in this process's group.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        Ok(Self { child: command.spawn()?, group: false })
    }

    /// Starts a process in a separate group. Ctrl-C then reaches this process only, which ends the child in order.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start_apart(command: &mut Command) -> io::Result<Self> {
        Ok(Self { child: command.process_group(0).spawn()?, group: true })
    }

    /// Wraps a process that was started in a separate group.
    pub fn apart(child: std::process::Child) -> Self {
        Self { child, group: true }
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the standard input of the process, if that is a pipe. Returns `None` on further calls.
    pub fn input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Returns the lines of the standard output of the process. Returns `None` on further calls.
    pub fn lines(&mut self, bytes_max: usize) -> Option<Receiver<io::Result<String>>> {
        self.child.stdout.take().map(|output| lines(output, bytes_max))
    }

    /// Returns the lines of the standard error of the process. Returns `None` on further calls.
    pub fn complaints(&mut self, bytes_max: usize) -> Option<Receiver<io::Result<String>>> {
        self.child.stderr.take().map(|output| lines(output, bytes_max))
    }

    /// Returns how the process ended, as half a sentence (see [`how_ended`]), or `None` if it is running.
    pub fn ended(&mut self) -> Option<String> {
        self.ended_as().map(|(_, how)| how)
    }

    /// Returns whether the process succeeded, and how it ended; see [`ended`](Self::ended).
    pub fn ended_as(&mut self) -> Option<(bool, String)> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some((status.success(), how_ended(status))),
            Err(error) => Some((false, format!("waiting for its exit failed: {error}"))),
        }
    }

    /// Waits for the exit of the process. Returns `None` on timeout.
    pub fn wait(&mut self, patience: Duration) -> Option<String> {
        let deadline = Instant::now() + patience;
        loop {
            match self.ended() {
                None if Instant::now() < deadline => std::thread::sleep(POLL),
                ended => return ended,
            }
        }
    }

    /// Asks the process to end, and kills it if it does not.
    pub fn end(&mut self) {
        if self.ended().is_none() {
            let result = ranlab_host::ask_to_end(self.child.id());
            if result.is_err() || self.wait(END_WAIT).is_none() {
                let _ = if self.group { ranlab_host::kill_group(self.child.id()) } else { self.child.kill() };
                let _ = self.child.wait();
            }
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}

/// Describes an exit status: `it exited with code 1`, `it was killed by signal 9`.
pub fn how_ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it exited with code {code}"),
        (None, Some(signal)) => format!("it was killed by signal {signal}"),
        (None, None) => "it ended".to_owned(),
    }
}

/// Reads lines in a separate thread until the input ends or the receiver is dropped. A line longer than `bytes_max` is
/// an error and ends reading, because the following bytes belong to the same line.
pub fn lines(from: impl Read + Send + 'static, bytes_max: usize) -> Receiver<io::Result<String>> {
    let (sink, lines) = sync_channel(LINES_MAX);
    std::thread::spawn(move || {
        let mut reader = BufReader::new(from);
        while let Some(line) = next_line(&mut reader, bytes_max).transpose() {
            let last = line.is_err();
            if sink.send(line).is_err() || last {
                return;
            }
        }
    });
    lines
}

/// Returns the next line without its line end, or `None` at the end of the input.
///
/// # Errors
/// The line is longer than `bytes_max`, or the input cannot be read.
pub fn next_line(from: &mut impl BufRead, bytes_max: usize) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    // One more byte for the line end.
    from.by_ref().take(bytes_max as u64 + 1).read_until(b'\n', &mut line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() > bytes_max {
        let what = format!("a line of more than {bytes_max} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    } else if line.is_empty() {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    fn shell(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Child::start_apart(&mut command).unwrap()
    }

    #[test]
    fn reading_stops_at_overlong_line() {
        let all = |input: &'static str| -> Vec<Result<String, String>> {
            lines(input.as_bytes(), 4).iter().map(|line| line.map_err(|error| error.to_string())).collect()
        };
        assert_eq!(
            all("one\n\nfour\nend"),
            [Ok("one".into()), Ok("".into()), Ok("four".into()), Ok("end".into())]
        );
        let cut = all("one\nfiver\nsix\n");
        assert_eq!(cut, [Ok("one".to_owned()), Err("a line of more than 4 bytes".to_owned())]);
        assert!(all("").is_empty());
        let odd = lines(&b"\xff\n"[..], 4).recv().unwrap().unwrap();
        assert_eq!(odd, "\u{fffd}");
    }

    #[test]
    fn exit_status_is_described() {
        let patience = Duration::from_secs(60);
        assert_eq!(shell("exit 3").wait(patience).as_deref(), Some("it exited with code 3"));
        assert_eq!(shell("kill -9 $$").wait(patience).as_deref(), Some("it was killed by signal 9"));
        let mut waits = shell("read line; echo $line; echo oh >&2");
        assert_eq!(waits.ended(), None);
        drop(waits.input());
        assert_eq!(waits.lines(9).unwrap().recv().unwrap().unwrap(), "");
        assert_eq!(waits.complaints(9).unwrap().recv().unwrap().unwrap(), "oh");
        assert!(waits.lines(9).is_none() && waits.input().is_none());
    }

    #[test]
    fn stubborn_process_is_killed_with_its_group() {
        let mut stubborn = shell("trap '' TERM; echo up; while :; do sleep 60; done");
        let output = stubborn.lines(9).unwrap();
        assert_eq!(output.recv().unwrap().unwrap(), "up");
        stubborn.end();
        assert_eq!(stubborn.ended().as_deref(), Some("it was killed by signal 9"));
        // The pipe closes when the `sleep` process has ended, too.
        assert!(output.recv().is_err());
        let mut willing = shell("echo up; exec sleep 60");
        assert_eq!(willing.lines(9).unwrap().recv().unwrap().unwrap(), "up");
        willing.end();
        assert_eq!(willing.ended().as_deref(), Some("it was killed by signal 15"));
    }
}
