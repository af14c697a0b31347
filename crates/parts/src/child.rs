//! Processes that this one starts: workers, and programs of others.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ChildStdin, Command, ExitStatus};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

/// How long a process may take to end when it is asked.
const END_WAIT: Duration = Duration::from_secs(1);
/// How often it is looked whether it has.
const POLL: Duration = Duration::from_millis(5);
/// Lines that wait for who reads them; then the process waits.
const LINES_MAX: usize = 64;

/// A process that goes when this value does.
#[derive(Debug)]
pub struct Child {
    child: std::process::Child,
    /// It and what it starts are a group, and go together.
    group: bool,
}

impl Child {
    /// Starts a process in this one's group.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        Ok(Self { child: command.spawn()?, group: false })
    }

    /// Starts a process in a group of its own: Ctrl-C is for this one, which then takes the other down in order.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start_apart(command: &mut Command) -> io::Result<Self> {
        Ok(Self { child: command.process_group(0).spawn()?, group: true })
    }

    /// A process that was started in a group of its own.
    pub fn apart(child: std::process::Child) -> Self {
        Self { child, group: true }
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its input, if that is a pipe that nobody has taken yet.
    pub fn input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// The lines of its output, likewise.
    pub fn lines(&mut self, bytes_max: usize) -> Option<Receiver<io::Result<String>>> {
        self.child.stdout.take().map(|output| lines(output, bytes_max))
    }

    /// The lines that it complains in, likewise.
    pub fn complaints(&mut self, bytes_max: usize) -> Option<Receiver<io::Result<String>>> {
        self.child.stderr.take().map(|output| lines(output, bytes_max))
    }

    /// How it has ended, as half a sentence; `None`: it lives.
    pub fn ended(&mut self) -> Option<String> {
        self.ended_as().map(|(_, how)| how)
    }

    /// The same, and whether with success.
    pub fn ended_as(&mut self) -> Option<(bool, String)> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some((status.success(), how_ended(status))),
            Err(error) => Some((false, format!("it cannot be waited for: {error}"))),
        }
    }

    /// Waits for its end; `None`: it has not come by then.
    pub fn wait(&mut self, patience: Duration) -> Option<String> {
        let deadline = Instant::now() + patience;
        loop {
            match self.ended() {
                None if Instant::now() < deadline => std::thread::sleep(POLL),
                ended => return ended,
            }
        }
    }

    /// Asks it to end, and ends it if it does not.
    pub fn end(&mut self) {
        if self.ended().is_none() {
            let asked = ranlab_host::ask_to_end(self.child.id());
            if asked.is_err() || self.wait(END_WAIT).is_none() {
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

/// `it exited with code 1`, `it was killed by signal 9`.
pub fn how_ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it exited with code {code}"),
        (None, Some(signal)) => format!("it was killed by signal {signal}"),
        (None, None) => "it ended".to_owned(),
    }
}

/// Reads lines in a thread of its own, until the input ends or nobody listens. A line that is longer than `bytes_max` is
/// an error and the last one: what follows it would be its rest.
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

/// The next line without its end; `None`: there are no more.
///
/// # Errors
/// It is longer than `bytes_max`, or the input cannot be read.
pub(crate) fn next_line(from: &mut impl BufRead, bytes_max: usize) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    // One more for the end of the line itself.
    from.by_ref().take(bytes_max as u64 + 1).read_until(b'\n', &mut line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() > bytes_max {
        let what = format!("a line of more than {bytes_max} octets");
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
    fn lines_are_read_until_one_is_too_long() {
        let all = |input: &'static str| -> Vec<Result<String, String>> {
            lines(input.as_bytes(), 4).iter().map(|line| line.map_err(|error| error.to_string())).collect()
        };
        assert_eq!(
            all("one\n\nfour\nend"),
            [Ok("one".into()), Ok("".into()), Ok("four".into()), Ok("end".into())]
        );
        let cut = all("one\nfiver\nsix\n");
        assert_eq!(cut, [Ok("one".to_owned()), Err("a line of more than 4 octets".to_owned())]);
        assert!(all("").is_empty());
        let odd = lines(&b"\xff\n"[..], 4).recv().unwrap().unwrap();
        assert_eq!(odd, "\u{fffd}");
    }

    #[test]
    fn a_process_says_how_it_ended() {
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
    fn one_that_does_not_want_to_end_is_ended_with_what_it_started() {
        let mut stubborn = shell("trap '' TERM; echo up; while :; do sleep 60; done");
        let output = stubborn.lines(9).unwrap();
        assert_eq!(output.recv().unwrap().unwrap(), "up");
        stubborn.end();
        assert_eq!(stubborn.ended().as_deref(), Some("it was killed by signal 9"));
        // The pipe closes when the sleep is gone, too.
        assert!(output.recv().is_err());
        let mut willing = shell("echo up; exec sleep 60");
        assert_eq!(willing.lines(9).unwrap().recv().unwrap().unwrap(), "up");
        willing.end();
        assert_eq!(willing.ended().as_deref(), Some("it was killed by signal 15"));
    }
}
