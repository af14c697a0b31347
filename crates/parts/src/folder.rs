//! A folder for the Unix sockets of one part.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use ranlab_sdk::transport::Address;

use crate::worker::Trouble;
use crate::{Listen, environment};

/// Made when the first socket needs it, of this user alone, and removed with the part.
#[derive(Debug, Default)]
pub(crate) struct Folder(Option<PathBuf>);

impl Folder {
    /// Where to listen; `name` is that of a socket in the folder, if it is to be there.
    pub(crate) fn place(&mut self, listen: &Listen, name: &str) -> Result<Address, Trouble> {
        match listen {
            Listen::At(address) => Ok(address.clone()),
            Listen::Own => Ok(Address::Unix(self.made()?.join(name))),
        }
    }

    fn made(&mut self) -> Result<PathBuf, Trouble> {
        use std::os::unix::fs::DirBuilderExt;
        static MADE: AtomicU32 = AtomicU32::new(0);
        if let Some(path) = &self.0 {
            return Ok(path.clone());
        }
        let base = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = base.join(format!("ranlab-part-{}-{number}", std::process::id()));
        // A leftover of an earlier process of that number is ours; anybody else's cannot be removed and is an error.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|error| environment(format!("cannot make {}: {error}", path.display())))?;
        Ok(self.0.insert(path).clone())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Nobody else's; an empty folder left in /tmp hurts nobody.
            let _ = std::fs::remove_dir_all(path);
        }
    }
}
