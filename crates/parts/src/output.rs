//! What a program of somebody else prints: kept in a file that does not grow without a bound, its last lines at hand.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use regex::Regex;

/// Octets of a file; then it is put aside as `FILE.1`, and the one before that goes.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// A longer line is kept in pieces.
const LINE_BYTES_MAX: u64 = 4 << 10;
/// Lines that are quoted.
const LAST_LINES: usize = 5;
/// Characters of each.
const QUOTED_CHARS: usize = 160;

/// A line that is waited for.
pub(crate) struct Wanted(Regex);

impl Wanted {
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        Regex::new(pattern).map(Self).map_err(|error| format!("`ready.line`: {error}"))
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
}

impl Output {
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
        let kept = Kept { file: file.map(open).transpose()?, last: VecDeque::new(), wanted };
        Ok(Self { kept: Mutex::new(kept) })
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
            while matches!(from.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line), Ok(1..)) {
                own.kept().line(&line);
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

impl Kept {
    fn line(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end();
        if self.wanted.as_ref().is_some_and(|wanted| wanted.0.is_match(text)) {
            self.wanted = None;
        }
        if !text.is_empty() {
            let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(QUOTED_CHARS);
            self.last.push_back(plain.collect());
        }
        if self.last.len() > LAST_LINES {
            self.last.pop_front();
        }
        self.write(line);
    }

    /// A file that cannot be written any more is given up: the program is not to suffer from it.
    fn write(&mut self, line: &[u8]) {
        let Some((path, file, length)) = &mut self.file else { return };
        *length += line.len() as u64;
        let mut written = file.write_all(line);
        if *length >= FILE_BYTES_MAX {
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
