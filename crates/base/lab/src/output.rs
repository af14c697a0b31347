//! Output of third-party programs. It is written to a log file of limited size, and its last lines are kept in memory.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use regex::Regex;

/// Maximum size of a log file, in bytes. A larger file is renamed to `FILE.1`, which replaces the previous one.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// Maximum length of a line, in bytes. Longer lines are split.
const LINE_BYTES_MAX: u64 = 4 << 10;
/// Number of lines that are quoted.
const LAST_LINES: usize = 5;
/// Duration of output by which a program may exceed its rate limit in a burst.
const BURST: Duration = Duration::from_secs(1);
/// Maximum number of characters per quoted line.
const QUOTED_CHARS: usize = 160;

/// Limits of the kept output and of the reading rate.
#[derive(Debug, Clone, Copy)]
pub struct OutputLimits {
    /// Maximum size of the log file, in bytes, before it is renamed.
    pub file_bytes: u64,
    /// Number of last lines kept in memory.
    pub lines: usize,
    /// Maximum number of characters per line.
    pub chars: usize,
    /// Reading rate, in bytes per second. A program that prints more has to wait. `None` for no limit.
    pub bytes_per_s: Option<u64>,
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self { file_bytes: FILE_BYTES_MAX, lines: LAST_LINES, chars: QUOTED_CHARS, bytes_per_s: None }
    }
}

/// A pattern for an awaited line.
pub struct ExpectedLine(Regex);

impl ExpectedLine {
    /// Parses the pattern.
    ///
    /// # Errors
    /// The pattern is invalid.
    pub fn new(pattern: &str) -> Result<Self, regex::Error> {
        Regex::new(pattern).map(Self)
    }
}

/// A pattern with the number of matching lines.
pub struct Counted {
    pattern: Regex,
    count: u64,
}

impl Counted {
    /// Parses the pattern.
    ///
    /// # Errors
    /// The pattern is invalid.
    pub fn new(pattern: &str) -> Result<Self, regex::Error> {
        Ok(Self { pattern: Regex::new(pattern)?, count: 0 })
    }
}

/// The output of a program.
pub struct Output {
    kept: Mutex<OutputState>,
}

struct OutputState {
    file: Option<(PathBuf, File, u64)>,
    last: VecDeque<String>,
    wanted: Option<ExpectedLine>,
    counted: Vec<Counted>,
    keep: OutputLimits,
}

impl Output {
    /// Adds patterns whose matching lines are counted.
    pub fn counting(self, counted: Vec<Counted>) -> Self {
        self.kept().counted = counted;
        self
    }

    /// Returns the number of matching lines per pattern, in the order of the patterns.
    pub fn counts(&self) -> Vec<u64> {
        self.kept().counted.iter().map(|one| one.count).collect()
    }

    /// Stores the output in `file`. An existing file is renamed.
    pub fn new(file: Option<PathBuf>, wanted: Option<ExpectedLine>) -> io::Result<Self> {
        let open = |path: PathBuf| {
            let file = OpenOptions::new().create(true).append(true).open(&path);
            let file =
                file.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())));
            let file = file?;
            let length = file.metadata()?.len();
            Ok::<_, io::Error>((path, file, length))
        };
        Ok(Self::with_open_file(file.map(open).transpose()?, wanted, OutputLimits::default()))
    }

    /// Stores the output in an open file, within the given limits.
    pub fn keeping(path: PathBuf, file: File, keep: OutputLimits) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self::with_open_file(Some((path, file, length)), None, keep))
    }

    fn with_open_file(
        file: Option<(PathBuf, File, u64)>,
        wanted: Option<ExpectedLine>,
        keep: OutputLimits,
    ) -> Self {
        Self {
            kept: Mutex::new(OutputState { file, last: VecDeque::new(), wanted, counted: Vec::new(), keep }),
        }
    }

    /// Returns the last lines, oldest first.
    pub fn last_lines(&self) -> Vec<String> {
        self.kept().last.iter().cloned().collect()
    }

    /// Like [`spawn`](Self::spawn), with standard output and standard error merged in order.
    pub fn spawn_as_one(self: &Arc<Self>, mut command: Command) -> io::Result<Child> {
        let (reader, writer) = io::pipe()?;
        let child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
        self.read(Some(reader));
        Ok(child)
    }

    fn kept(&self) -> MutexGuard<'_, OutputState> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a command and stores its output. Reads until all writers have closed the output, so that no process
    /// blocks.
    pub fn spawn(self: &Arc<Self>, command: &mut Command) -> io::Result<Child> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        self.read(child.stdout.take());
        self.read(child.stderr.take());
        Ok(child)
    }

    fn read(self: &Arc<Self>, from: Option<impl Read + Send + 'static>) {
        let (Some(from), own) = (from, self.clone()) else { return };
        std::thread::spawn(move || {
            let mut from = BufReader::new(from);
            let mut line = Vec::new();
            let mut pace = own.kept().keep.bytes_per_s.map(ReadRate::new);
            while matches!(from.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line), Ok(1..)) {
                own.kept().line(&line);
                if let Some(pace) = &mut pace {
                    pace.wait(line.len() as u64);
                }
                line.clear();
            }
        });
    }

    /// Returns whether the awaited line has appeared, or no line is awaited.
    pub fn line_came(&self) -> bool {
        self.kept().wanted.is_none()
    }

    /// Returns `; last output: "…"`, or an empty string.
    pub fn last_words(&self) -> String {
        let kept = self.kept();
        let quoted: Vec<_> = kept.last.iter().map(|line| format!("\"{line}\"")).collect();
        let file = kept.file.as_ref().map_or_else(String::new, |(path, ..)| format!(" ({})", path.display()));
        if quoted.is_empty() { String::new() } else { format!("; last output{file}: {}", quoted.join(" / ")) }
    }
}

/// Limits the reading rate, in bytes per second. Bursts of one second are allowed.
struct ReadRate {
    per_s: u64,
    begun: Instant,
    read: u64,
}

impl ReadRate {
    fn new(per_s: u64) -> Self {
        Self { per_s: per_s.max(1), begun: Instant::now(), read: 0 }
    }

    fn wait(&mut self, read: u64) {
        self.read += read;
        let due = Duration::from_secs_f64(self.read as f64 / self.per_s as f64);
        let passed = self.begun.elapsed();
        if passed > due + BURST {
            // A quiet period does not allow a longer burst afterwards.
            (self.begun, self.read) = (Instant::now(), 0);
        } else if let Some(early) = due.checked_sub(passed + BURST) {
            std::thread::sleep(early);
        }
    }
}

impl OutputState {
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

    /// Writes a line. If the file can no longer be written, logging ends. The program is not affected.
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
    fn long_log_is_rotated_and_last_lines_are_kept() {
        let path = std::env::temp_dir().join(format!("ranlab-output-{}", std::process::id()));
        let output =
            Output::new(Some(path.clone()), Some(ExpectedLine::new("^line 7\\d*$").unwrap())).unwrap();
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
        assert!(ExpectedLine::new("(").is_err());
    }
}
