//! What a program of somebody else prints: kept in a file that does not grow without a bound, its last lines at hand.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use regex::Regex;

/// Octets of a file; then it is put aside as `FILE.1`, and the one before that goes.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// A longer line is kept in pieces.
const LINE_BYTES_MAX: u64 = 4 << 10;
/// Lines that are quoted.
const LAST_LINES: usize = 5;
/// Of a bounded program this much is read ahead of its pace.
const BURST: Duration = Duration::from_secs(1);
/// Characters of each.
const QUOTED_CHARS: usize = 160;

/// What is kept of what a program prints, and how fast it is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keep {
    /// Octets of its file; then that is put aside.
    pub(crate) file_bytes: u64,
    /// Last lines at hand.
    pub(crate) lines: usize,
    /// Characters of each.
    pub(crate) chars: usize,
    /// Octets a second that are read; who prints more waits. `None`: as fast as they come.
    pub(crate) bytes_per_s: Option<u64>,
}

impl Default for Keep {
    fn default() -> Self {
        Self { file_bytes: FILE_BYTES_MAX, lines: LAST_LINES, chars: QUOTED_CHARS, bytes_per_s: None }
    }
}

/// A line that is waited for.
pub(crate) struct Wanted(Regex);

impl Wanted {
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        Regex::new(pattern).map(Self).map_err(|error| format!("`ready.line`: {error}"))
    }
}

/// A line that is counted.
pub(crate) struct Counted {
    pattern: Regex,
    count: u64,
}

impl Counted {
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        let pattern = Regex::new(pattern).map_err(|error| format!("`warn.line`: {error}"))?;
        Ok(Self { pattern, count: 0 })
    }
}

/// What a program printed.
pub(crate) struct Output {
    kept: Mutex<Kept>,
}

struct Kept {
    file: Option<(PathBuf, File, u64)>,
    last: VecDeque<String>,
    wanted: Option<Wanted>,
    counted: Vec<Counted>,
    keep: Keep,
}

impl Output {
    /// The same, and lines that match are counted.
    pub(crate) fn counting(self, counted: Vec<Counted>) -> Self {
        self.kept().counted = counted;
        self
    }

    /// How many lines matched each pattern, in the order in which these were given.
    pub(crate) fn counts(&self) -> Vec<u64> {
        self.kept().counted.iter().map(|one| one.count).collect()
    }

    /// Kept in `file`, anew.
    pub(crate) fn new(file: Option<PathBuf>, wanted: Option<Wanted>) -> io::Result<Self> {
        let open = |path: PathBuf| {
            let file = OpenOptions::new().create(true).append(true).open(&path);
            let file =
                file.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())));
            let file = file?;
            let length = file.metadata()?.len();
            Ok::<_, io::Error>((path, file, length))
        };
        Ok(Self::of(file.map(open).transpose()?, wanted, Keep::default()))
    }

    /// Kept in this open file of that path, within such bounds.
    pub(crate) fn keeping(path: PathBuf, file: File, keep: Keep) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self::of(Some((path, file, length)), None, keep))
    }

    fn of(file: Option<(PathBuf, File, u64)>, wanted: Option<Wanted>, keep: Keep) -> Self {
        Self { kept: Mutex::new(Kept { file, last: VecDeque::new(), wanted, counted: Vec::new(), keep }) }
    }

    /// The last lines, oldest first.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        self.kept().last.iter().cloned().collect()
    }

    /// As [`spawn`](Self::spawn), with both of the command's outputs as one.
    pub(crate) fn spawn_as_one(self: &Arc<Self>, mut command: Command) -> io::Result<Child> {
        let (reader, writer) = io::pipe()?;
        let child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
        self.read(Some(reader));
        Ok(child)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a command whose output is kept. It is read until all that hold it are gone, so that nobody ever waits for us.
    pub(crate) fn spawn(self: &Arc<Self>, command: &mut Command) -> io::Result<Child> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        self.read(child.stdout.take());
        self.read(child.stderr.take());
        Ok(child)
    }

    fn read(self: &Arc<Self>, from: Option<impl Read + Send + 'static>) {
        let (Some(from), own) = (from, self.clone()) else { return };
        std::thread::spawn(move || {
            let (mut from, mut line) = (BufReader::new(from), Vec::new());
            let mut pace = own.kept().keep.bytes_per_s.map(Pace::new);
            while matches!(from.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line), Ok(1..)) {
                own.kept().line(&line);
                if let Some(pace) = &mut pace {
                    pace.wait(line.len() as u64);
                }
                line.clear();
            }
        });
    }

    /// Whether no line is waited for any more.
    pub(crate) fn line_came(&self) -> bool {
        self.kept().wanted.is_none()
    }

    /// `; it last said: "…"`, or nothing.
    pub(crate) fn last_words(&self) -> String {
        let kept = self.kept();
        let quoted: Vec<_> = kept.last.iter().map(|line| format!("\"{line}\"")).collect();
        let file = kept.file.as_ref().map_or_else(String::new, |(path, ..)| format!(" ({})", path.display()));
        if quoted.is_empty() {
            String::new()
        } else {
            format!("; it last said{file}: {}", quoted.join(" / "))
        }
    }
}

/// Reads no faster than so many octets a second; a second's worth may come at once.
struct Pace {
    per_s: u64,
    begun: Instant,
    read: u64,
}

impl Pace {
    fn new(per_s: u64) -> Self {
        Self { per_s: per_s.max(1), begun: Instant::now(), read: 0 }
    }

    fn wait(&mut self, read: u64) {
        self.read += read;
        let due = Duration::from_secs_f64(self.read as f64 / self.per_s as f64);
        let passed = self.begun.elapsed();
        if passed > due + BURST {
            // Quiet before is no right to a flood now.
            (self.begun, self.read) = (Instant::now(), 0);
        } else if let Some(early) = due.checked_sub(passed + BURST) {
            std::thread::sleep(early);
        }
    }
}

impl Kept {
    fn line(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end();
        if self.wanted.as_ref().is_some_and(|wanted| wanted.0.is_match(text)) {
            self.wanted = None;
        }
        for one in &mut self.counted {
            one.count += u64::from(one.pattern.is_match(text));
        }
        if !text.is_empty() {
            let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(self.keep.chars);
            self.last.push_back(plain.collect());
        }
        if self.last.len() > self.keep.lines {
            self.last.pop_front();
        }
        self.write(line);
    }

    /// A file that cannot be written any more is given up: the program is not to suffer from it.
    fn write(&mut self, line: &[u8]) {
        let Some((path, file, length)) = &mut self.file else { return };
        *length += line.len() as u64;
        let mut written = file.write_all(line);
        if *length >= self.keep.file_bytes {
            let mut aside = path.clone().into_os_string();
            aside.push(".1");
            written = std::fs::rename(&*path, aside).and_then(|()| {
                *file = File::create(&*path)?;
                *length = 0;
                Ok(())
            });
        }
        if written.is_err() {
            self.file = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matching_lines_are_counted_by_pattern() {
        let patterns = ["setattr failed$", "^never"].map(|pattern| Counted::new(pattern).unwrap());
        let output = Output::new(None, None).unwrap().counting(patterns.into());
        for line in ["sched_setattr failed\n", "served\n", "sched_setattr failed\n"] {
            output.kept().line(line.as_bytes());
        }
        assert_eq!(output.counts(), [2, 0]);
        assert!(Counted::new("(").is_err());
    }

    #[test]
    fn a_file_is_put_aside_when_it_is_long_and_the_last_lines_stay_at_hand() {
        let path = std::env::temp_dir().join(format!("ranlab-output-{}", std::process::id()));
        let output = Output::new(Some(path.clone()), Some(Wanted::new("^line 7\\d*$").unwrap())).unwrap();
        assert!(output.last_words().is_empty() && !output.line_came());
        let long = vec![b'x'; FILE_BYTES_MAX as usize - 8];
        output.kept().line(&long);
        output.kept().line(b"\n");
        output.kept().line(b"line 71\n");
        output.kept().line(b"after\x1b[0m\n");
        assert!(output.line_came());
        let words = output.last_words();
        assert!(
            words.ends_with("/ \"line 71\" / \"after [0m\"") || words.ends_with("\"after [0m\""),
            "{words}"
        );
        assert!(words.len() < 600, "{words}");
        assert_eq!(std::fs::read(&path).unwrap(), b"after\x1b[0m\n");
        let aside = path.with_extension("1");
        assert!(std::fs::metadata(&aside).unwrap().len() < FILE_BYTES_MAX + LINE_BYTES_MAX);
        let _ = (std::fs::remove_file(path), std::fs::remove_file(aside));
        assert!(Wanted::new("(").is_err());
    }
}
