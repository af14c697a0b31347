//! A folder for the Unix sockets and files of one part.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use ranlab_sdk::transport::Address;

use crate::worker::Trouble;
use crate::{Listen, environment};

/// What the names of our folders begin with.
const PREFIX: &str = "ranlab-part-";

/// Made when something first needs it, of this user alone, and removed with the part.
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

    /// Where it is; it is made if it is not there yet.
    pub(crate) fn made(&mut self) -> Result<PathBuf, Trouble> {
        let base = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
        self.made_below(&base, 0o700)
    }

    /// One that others may pass through, where they could reach it: `/run`, or the folder of temporary files.
    pub(crate) fn passable(&mut self) -> Result<PathBuf, Trouble> {
        let run = Path::new("/run");
        self.made_below(run, 0o711).or_else(|_| self.made_below(&std::env::temp_dir(), 0o711))
    }

    fn made_below(&mut self, base: &Path, mode: u32) -> Result<PathBuf, Trouble> {
        use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
        static MADE: AtomicU32 = AtomicU32::new(0);
        if let Some(path) = &self.0 {
            return Ok(path.clone());
        }
        sweep(base);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = base.join(format!("{PREFIX}{}-{number}", std::process::id()));
        // A leftover of an earlier process of that number is ours; anybody else's cannot be removed and is an error.
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
            // Nobody else's; an empty folder left in /tmp hurts nobody.
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

/// Removes what processes that are no more left: those that were killed. Whatever cannot be removed is not ours.
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
    fn folders_go_with_their_owners_and_those_of_the_dead_with_the_next() {
        let (mut first, mut second) = (Folder::default(), Folder::default());
        let path = first.made().unwrap();
        // No process has this number: the greatest that Linux gives is 2^22.
        let (dead, other) =
            (path.with_file_name(format!("{PREFIX}4194305-0")), path.with_file_name("ranlab-partly-1"));
        std::fs::create_dir_all(dead.join("below")).unwrap();
        std::fs::create_dir_all(&other).unwrap();
        assert_ne!(second.made().unwrap(), path);
        assert!(!dead.exists() && other.exists() && path.exists());
        std::fs::remove_dir(other).unwrap();
        drop(first);
        assert!(!path.exists());
    }
}
