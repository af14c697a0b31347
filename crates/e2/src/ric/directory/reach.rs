//! Whether there is a server of the store at all, as the driver says; what is owned does not depend on it.
use super::io::DirectoryOutput;
use super::machine::Directory;

impl Directory {
    /// Whether a server of the store is there, as the driver has said last; `None`: it has said nothing yet.
    pub fn reached(&self) -> Option<bool> {
        self.reached
    }

    /// Whoever comes back need not wait for what is due by and by: it watches, and gives a sign of life.
    pub(super) fn on_there(&mut self) {
        if self.reached.replace(true) == Some(true) {
            return;
        }
        self.watch_delay = self.config.timers.watch;
        (self.watch_at, self.next_beat) = (self.now, self.now);
        self.outputs.push_back(DirectoryOutput::Reach(Ok(())));
    }

    pub(super) fn on_away(&mut self, why: String) {
        self.counters.unreached += 1;
        if self.reached.replace(false) != Some(false) {
            self.outputs.push_back(DirectoryOutput::Reach(Err(why)));
        }
    }
}
