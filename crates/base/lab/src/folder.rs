//! A folder for the Unix sockets and files of one component.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use ranlab_transport::Address;

use crate::worker::ComponentError;
use crate::{Listen, environment};

/// Prefix of folder names.
const PREFIX: &str = "ranlab-part-";

/// A folder that is created on first use, with access for this user only, and removed when the component is dropped.
#[derive(Debug, Default)]
pub struct Folder(Option<PathBuf>);

impl Folder {
    /// Returns the address on which to listen. `name` is the file name of a socket in the folder.
    pub fn place(&mut self, listen: &Listen, name: &str) -> Result<Address, ComponentError> {
        match listen {
            Listen::At(address) => Ok(address.clone()),
            Listen::Own => Ok(Address::Unix(self.made()?.join(name))),
        }
    }

    /// Returns the path of the folder. Creates it if necessary.
    pub fn made(&mut self) -> Result<PathBuf, ComponentError> {
        let base = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
        self.made_below(&base, 0o700)
    }

    /// Like [`made`](Self::made), but other users may access files in it by name. The folder is in `/run` or in the
    /// folder of temporary files.
    pub fn passable(&mut self) -> Result<PathBuf, ComponentError> {
        let run = Path::new("/run");
        self.made_below(run, 0o711).or_else(|_| self.made_below(&std::env::temp_dir(), 0o711))
    }

    fn made_below(&mut self, base: &Path, mode: u32) -> Result<PathBuf, ComponentError> {
        use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
        static MADE: AtomicU32 = AtomicU32::new(0);
        if let Some(path) = &self.0 {
            return Ok(path.clone());
        }
        sweep(base);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = base.join(format!("{PREFIX}{}-{number}", std::process::id()));
        // A leftover of an earlier process with the same id belongs to us. A folder of another user cannot be removed,
        // and creating it fails.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .and_then(|()| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)))
            .map_err(|error| environment(format!("cannot make {}: {error}", path.display())))?;
        Ok(self.0.insert(path).clone())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // The folder belongs to this component. An empty folder left behind does no harm.
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

/// Removes the folders of processes that no longer exist. Folders of other users cannot be removed and are skipped.
fn sweep(base: &Path) {
    for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_removed_on_drop_and_stale_ones_swept() {
        let mut first = Folder::default();
        let mut second = Folder::default();
        let path = first.made().unwrap();
        // No process has this id: Linux assigns at most 2^22.
        let dead = path.with_file_name(format!("{PREFIX}4194305-0"));
        let other = path.with_file_name("ranlab-partly-1");
        std::fs::create_dir_all(dead.join("below")).unwrap();
        std::fs::create_dir_all(&other).unwrap();
        assert_ne!(second.made().unwrap(), path);
        assert!(!dead.exists() && other.exists() && path.exists());
        std::fs::remove_dir(other).unwrap();
        drop(first);
        assert!(!path.exists());
    }
}
