//! Reachability of the store, as reported by the driver. Ownership does not depend on it.
use super::io::DirectoryOutput;
use super::machine::Directory;

impl Directory {
    /// Returns whether a server of the store was reachable at the last report of the driver, or `None` before the
    /// first report.
    pub fn reached(&self) -> Option<bool> {
        self.reached
    }

    /// Restarts the watch and writes a heartbeat immediately after a reconnect, instead of waiting for their
    /// deadlines.
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
