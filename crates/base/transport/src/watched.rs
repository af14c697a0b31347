//! Values read from files that an operator replaces while the program runs: certificates and tokens.
use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Minimum interval between two checks of the files.
const INTERVAL: Duration = Duration::from_secs(1);

/// Distinguishes two contents of a file without reading them: time of the last change, and size.
type Stamp = Option<(SystemTime, u64)>;

/// Value read from files, and read again after a file has changed.
pub struct Watched<T, E> {
    files: Vec<PathBuf>,
    read: Box<dyn Fn() -> Result<T, E> + Send + Sync>,
    state: Mutex<State<T>>,
}

struct State<T> {
    value: T,
    stamps: Vec<Stamp>,
    looked: Instant,
}

impl<T: Clone, E: fmt::Display> Watched<T, E> {
    /// Reads a value from files.
    ///
    /// # Errors
    /// Returns the error of the first reading.
    pub fn open(
        files: Vec<PathBuf>,
        read: impl Fn() -> Result<T, E> + Send + Sync + 'static,
    ) -> Result<Self, E> {
        // Takes the stamps before it reads the content. A change in between is then detected at the next check.
        let stamps = stamps(&files);
        let value = read()?;
        let state = Mutex::new(State { value, stamps, looked: Instant::now() });
        Ok(Self { files, read: Box::new(read), state })
    }

    /// Returns the value. A change of a file takes effect within a second; if the new content is invalid, the previous value
    /// stays in use, and the reason is logged.
    pub fn get(&self) -> T {
        self.get_at(Instant::now())
    }

    fn get_at(&self, now: Instant) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if now.saturating_duration_since(state.looked) >= INTERVAL {
            state.looked = now;
            let stamps = stamps(&self.files);
            if stamps != state.stamps {
                state.stamps = stamps;
                match (self.read)() {
                    Ok(value) => {
                        state.value = value;
                        tracing::info!(files = ?self.files, "changed files were read again");
                    }
                    Err(error) => {
                        tracing::error!(%error, "a changed file is invalid; the former content stays in use")
                    }
                }
            }
        }
        state.value.clone()
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Stamp> {
    let stamp = |file: &PathBuf| {
        let metadata = std::fs::metadata(file).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    files.iter().map(stamp).collect()
}

impl<T, E> fmt::Debug for Watched<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("files", &self.files).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_change_is_loaded_and_invalid_change_ignored() {
        let file = std::env::temp_dir().join(format!("ranlab-watched-{}", std::process::id()));
        std::fs::write(&file, "1").unwrap();
        let read = {
            let file = file.clone();
            move || std::fs::read_to_string(&file).unwrap_or_default().parse::<u32>()
        };
        let watched = Watched::open(vec![file.clone()], read).unwrap();
        let begun = Instant::now();
        assert_eq!(watched.get_at(begun), 1);
        std::fs::write(&file, "23").unwrap();
        assert_eq!(watched.get_at(begun), 1, "the file is not read again immediately");
        assert_eq!(watched.get_at(begun + 2 * INTERVAL), 23);
        std::fs::write(&file, "words").unwrap();
        assert_eq!(watched.get_at(begun + 4 * INTERVAL), 23);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(watched.get_at(begun + 6 * INTERVAL), 23);
        std::fs::write(&file, "456").unwrap();
        assert_eq!(watched.get_at(begun + 8 * INTERVAL), 456);
        std::fs::remove_file(&file).unwrap();
    }
}
