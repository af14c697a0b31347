//! Reader of a growing capture. It waits for more data at the end of the file.
use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use ranlab_e2_capture::dissect::Dissected;
use ranlab_e2_capture::sequence::Sequence;
use ranlab_e2_capture::{Problem, Summary};
use ranlab_http::board::StatusBoard;
use ranlab_machine::lock;

use ranlab_command::exit::Failure;
use ranlab_command::live;
use ranlab_command::web::{CurrentValues, WebArguments, introduce, publish_finished};

/// Interval at which the reader checks whether the file has grown.
const LOOK: Duration = Duration::from_millis(100);
/// Interval of page updates.
const TELL: Duration = Duration::from_secs(1);
/// Number of bytes that identify the capture format. Reading starts when the file has this size.
const BEGINNING: u64 = 28;

/// Reader of a growing file. At the current end of the file it returns [`io::ErrorKind::WouldBlock`] once, then waits
/// for more data.
pub(super) struct Follow<F> {
    file: File,
    over: Arc<AtomicBool>,
    /// Callback that runs between two checks.
    idle: F,
    /// Whether data was read since the reader last returned `WouldBlock`.
    fresh: bool,
}

impl<F: FnMut()> Follow<F> {
    /// Waits until the capture has begun. Once `over` is set, the end of the file is the end of the capture.
    ///
    /// # Errors
    ///
    /// Returns the system's error.
    pub(super) fn begin(file: File, over: Arc<AtomicBool>, mut idle: F) -> io::Result<Self> {
        while file.metadata()?.len() < BEGINNING && !over.load(Ordering::Relaxed) {
            idle();
            std::thread::sleep(LOOK);
        }
        Ok(Self { file, over, idle, fresh: false })
    }
}

impl<F: FnMut()> Read for Follow<F> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        loop {
            // The flag is read before the data, so that data written before the end is not missed.
            let over = self.over.load(Ordering::Relaxed);
            let read = self.file.read(buf)?;
            if read > 0 || over {
                self.fresh = true;
                return Ok(read);
            }
            if std::mem::take(&mut self.fresh) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            (self.idle)();
            std::thread::sleep(LOOK);
        }
    }
}

/// A growing capture, with its page if requested.
#[derive(Clone)]
pub(super) struct Growing {
    seen: Arc<Mutex<(Sequence, Summary)>>,
    title: String,
    board: Option<StatusBoard>,
    /// Whether messages arrived since the last page update.
    fresh: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
    last_update: Arc<Mutex<Instant>>,
}

impl Growing {
    /// Opens the page, if requested. Runs until Ctrl-C or SIGTERM.
    ///
    /// # Errors
    ///
    /// Returns an error like [`Web::open`].
    pub(super) fn open(web: &WebArguments, title: &str) -> Result<Self, Failure> {
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        std::thread::spawn(move || {
            ranlab_sdk::run(live::end(None));
            ends.store(true, Ordering::Relaxed);
        });
        let growing = Self {
            seen: Arc::new(Mutex::new((Sequence::newest(), Summary::default()))),
            title: title.to_owned(),
            board: web.open()?,
            fresh: Arc::new(AtomicBool::new(true)),
            over,
            last_update: Arc::new(Mutex::new(Instant::now())),
        };
        if let Some(board) = &growing.board {
            introduce(board, title, "Capture", &[], &[], "");
            let own = growing.clone();
            board.document(move || {
                // The lock is held only while the state is copied.
                let (sequence, account) = {
                    let (sequence, account) = &*own.seen();
                    let Summary { pdus, undecodable, .. } = *account;
                    let messages = account.messages.clone();
                    (sequence.clone(), Summary { pdus, undecodable, messages, ..Summary::default() })
                };
                sequence.finish(&own.title, &account).json()
            });
        }
        growing.publish();
        Ok(growing)
    }

    fn seen(&self) -> MutexGuard<'_, (Sequence, Summary)> {
        lock(&self.seen)
    }

    /// Returns a reader of the growing file.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(super) fn source(&self, file: File) -> io::Result<impl Read + Send + use<>> {
        let own = self.clone();
        Follow::begin(file, Arc::clone(&self.over), move || own.tell_at_times())
    }

    /// Adds the next message.
    pub(super) fn take(&self, dissected: &Dissected, problem: Option<&Problem>) {
        let (sequence, account) = &mut *self.seen();
        sequence.take(dissected, problem);
        account.pdus += 1;
        match &dissected.message {
            Ok(decoded) => *account.messages.entry(decoded.message.name()).or_default() += 1,
            Err(_) => account.undecodable += 1,
        }
        self.fresh.store(true, Ordering::Relaxed);
    }

    /// Updates the page, at most once per second.
    pub(super) fn tell_at_times(&self) {
        let mut last_update = lock(&self.last_update);
        if last_update.elapsed() < TELL || !self.fresh.swap(false, Ordering::Relaxed) {
            return;
        }
        *last_update = Instant::now();
        self.publish();
        if let Some(board) = &self.board {
            board.document_again();
        }
    }

    fn publish(&self) {
        let Some(board) = &self.board else { return };
        let words = "The capture is shown while it is written, until Ctrl-C.".to_owned();
        CurrentValues { phase: "running", words, tiles: self.tiles(), ..CurrentValues::default() }
            .publish(board);
    }

    fn tiles(&self) -> Vec<(String, String, String, bool)> {
        let (_, account) = &*self.seen();
        let pdus = account.pdus;
        let undecodable = account.undecodable;
        vec![
            ("Messages".to_owned(), pdus.to_string(), String::new(), false),
            ("Undecodable".to_owned(), undecodable.to_string(), String::new(), undecodable > 0),
        ]
    }

    /// Ends the capture with its summary. Connected pages receive the final state. Returns the whole sequence.
    pub(super) fn end(self, summary: &Summary) -> Sequence {
        let sequence = self.seen().0.clone();
        if let Some(board) = &self.board {
            let json = sequence.clone().finish(&self.title, summary).json();
            board.document(move || json.clone());
            publish_finished(board, "The capture is no longer followed.", self.tiles());
        }
        sequence
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn data_written_later_is_read_until_the_end() {
        let folder = std::env::temp_dir().join(format!("ranlab-follow-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("growing.pcap");
        let mut writer = File::create(&path).unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let reader = File::open(&path).unwrap();
        let ends = Arc::clone(&over);
        let mut looks = 0;
        // The data is written in the reader's idle callback, so the test does not depend on timing.
        let idle = move || {
            looks += 1;
            match looks {
                2 => writer.write_all(&[1; 30]).unwrap(),
                4 => writer.write_all(&[2; 5]).unwrap(),
                6 => ends.store(true, Ordering::Relaxed),
                _ => {}
            }
        };
        let mut follow = Follow::begin(reader, over, idle).unwrap();
        let mut all = Vec::new();
        let mut pauses = 0;
        let mut buf = [0; 64];
        loop {
            match follow.read(&mut buf) {
                Ok(0) => break,
                Ok(read) => all.extend_from_slice(&buf[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => pauses += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!((all.len(), pauses), (35, 2));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
