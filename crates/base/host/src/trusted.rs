//! Checks of files that control this process. Only root and this process's own user may be able to write or replace
//! such files.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Reason to distrust a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UntrustedFile {
    /// The file cannot be read.
    #[error("{}: {why}", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        why: io::Error,
    },
    /// The file is a symbolic link.
    #[error("{} is a symbolic link; a regular file is required", .0.display())]
    Symlink(PathBuf),
    /// The file is of another kind.
    #[error("{} is not {wanted}", path.display())]
    Kind {
        /// Path of the file.
        path: PathBuf,
        /// Expected kind: `a file`, `an executable file`, `a folder`.
        wanted: &'static str,
    },
    /// The file belongs to another user.
    #[error("{} belongs to user {uid}; it must be root's or of the user that runs this (chown)", path.display())]
    Owner {
        /// Path of the file.
        path: PathBuf,
        /// Owner of the file, as user id.
        uid: u32,
    },
    /// Other users may write the file.
    #[error("{} is writable by its group or by all users (mode {mode:04o}); remove that permission (chmod go-w)", path.display())]
    Writable {
        /// Path of the file.
        path: PathBuf,
        /// Mode of the file.
        mode: u32,
    },
    /// Other users may read the file.
    #[error("{} can be read by other users (mode {mode:04o}); remove that permission (chmod 0600)", path.display())]
    Readable {
        /// Path of the file.
        path: PathBuf,
        /// Mode of the file.
        mode: u32,
    },
    /// The file is longer than allowed.
    #[error("{} has more than {most} bytes", path.display())]
    TooLong {
        /// Path of the file.
        path: PathBuf,
        /// Maximum size, in bytes.
        most: u64,
    },
}

/// Returns the user that this process runs as.
pub fn own_uid() -> u32 {
    fs::metadata("/proc/self").map_or(u32::MAX, |own| own.uid())
}

/// Checks that a file and all folders above it are trusted.
///
/// # Errors
/// The reason for distrust.
pub fn check_file(path: &Path) -> Result<(), UntrustedFile> {
    let parent =
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    check_folder(parent)?;
    let found = fs::metadata(path).map_err(|why| UntrustedFile::Unreadable { path: path.to_owned(), why })?;
    check(path, &found)
}

/// Reads a file if it and all folders above it are trusted.
///
/// # Errors
/// The file is not trusted, cannot be read, or is longer than `most`.
pub fn read(path: &Path, most: u64) -> Result<String, UntrustedFile> {
    let unreadable = |why: io::Error| UntrustedFile::Unreadable { path: path.to_owned(), why };
    let parent =
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    check_folder(parent)?;
    if fs::symlink_metadata(path).map_err(unreadable)?.is_symlink() {
        return Err(UntrustedFile::Symlink(path.to_owned()));
    }
    // The checks apply to the opened file, even if its name changes in the meantime. Without O_NONBLOCK, opening a pipe
    // would block.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(unreadable)?;
    let found = file.metadata().map_err(unreadable)?;
    if !found.is_file() {
        return Err(UntrustedFile::Kind { path: path.to_owned(), wanted: "a file" });
    }
    check(path, &found)?;
    let mut text = String::new();
    file.take(most + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > most {
        return Err(UntrustedFile::TooLong { path: path.to_owned(), most });
    }
    Ok(text)
}

/// Opens a file for appending, in a trusted folder; it is created for this user only.
///
/// # Errors
/// The folder is not trusted, the file is a link, or it cannot be written.
pub fn append(path: &Path) -> Result<fs::File, UntrustedFile> {
    check_folder(path.parent().unwrap_or_else(|| Path::new("/")))?;
    let unreadable = |why: io::Error| UntrustedFile::Unreadable { path: path.to_owned(), why };
    // Without O_NONBLOCK, opening a pipe would block.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new().create(true).append(true).mode(0o600).custom_flags(flags).open(path);
    let file = file.map_err(unreadable)?;
    let found = file.metadata().map_err(unreadable)?;
    if !found.is_file() {
        return Err(UntrustedFile::Kind { path: path.to_owned(), wanted: "a file" });
    }
    check(path, &found)?;
    Ok(file)
}

/// Checks that only this user and root can access a file with a secret.
///
/// # Errors
/// Another user may read or write it, or it cannot be examined.
pub fn is_secret(path: &Path) -> Result<(), UntrustedFile> {
    let found = fs::metadata(path).map_err(|why| UntrustedFile::Unreadable { path: path.to_owned(), why })?;
    check(path, &found)?;
    if found.mode() & 0o077 != 0 {
        return Err(UntrustedFile::Readable { path: path.to_owned(), mode: found.mode() & 0o7777 });
    }
    Ok(())
}

/// Checks a program and returns its real path: links are followed, and their targets are checked.
///
/// # Errors
/// The program is not trusted, or is not an executable file.
pub fn program(path: &Path) -> Result<PathBuf, UntrustedFile> {
    let unreadable = |why: io::Error| UntrustedFile::Unreadable { path: path.to_owned(), why };
    // A user who can write the folder of a link can change its target, so this folder is checked as well.
    check_folder(path.parent().unwrap_or_else(|| Path::new("/")))?;
    let real = fs::canonicalize(path).map_err(unreadable)?;
    let found = fs::metadata(&real).map_err(unreadable)?;
    if !found.is_file() || found.mode() & 0o111 == 0 {
        return Err(UntrustedFile::Kind { path: real, wanted: "an executable file" });
    }
    check(&real, &found)?;
    check_folder(real.parent().unwrap_or_else(|| Path::new("/")))?;
    Ok(real)
}

/// Checks that a folder and all folders above it are trusted.
///
/// # Errors
/// The folder is not trusted, or is not a folder.
pub fn check_folder(path: &Path) -> Result<(), UntrustedFile> {
    let unreadable = |why: io::Error| UntrustedFile::Unreadable { path: path.to_owned(), why };
    let real = fs::canonicalize(path).map_err(unreadable)?;
    for folder in real.ancestors() {
        let found = fs::symlink_metadata(folder).map_err(unreadable)?;
        if !found.is_dir() {
            return Err(UntrustedFile::Kind { path: folder.to_owned(), wanted: "a folder" });
        }
        check(folder, &found)?;
    }
    Ok(())
}

fn check(path: &Path, found: &Metadata) -> Result<(), UntrustedFile> {
    if found.uid() != 0 && found.uid() != own_uid() {
        return Err(UntrustedFile::Owner { path: path.to_owned(), uid: found.uid() });
    }
    // In a folder with the sticky bit, such as /tmp, users cannot remove files of other users.
    let is_shared = found.is_dir() && found.mode() & 0o1000 != 0;
    if found.mode() & 0o022 != 0 && !is_shared {
        return Err(UntrustedFile::Writable { path: path.to_owned(), mode: found.mode() & 0o7777 });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    #[test]
    fn only_trusted_files_are_read() {
        let folder = std::env::temp_dir().join(format!("ranlab-trusted-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        mode(&folder, 0o755);
        let file = folder.join("a.toml");
        fs::write(&file, "name").unwrap();
        mode(&file, 0o644);
        assert_eq!(read(&file, 9).unwrap(), "name");
        assert!(matches!(read(&file, 3), Err(UntrustedFile::TooLong { most: 3, .. })));
        for wrong in [0o646, 0o664, 0o666, 0o777] {
            mode(&file, wrong);
            assert!(matches!(read(&file, 9), Err(UntrustedFile::Writable { .. })), "{wrong:o}");
        }
        mode(&file, 0o644);
        assert!(matches!(is_secret(&file), Err(UntrustedFile::Readable { mode: 0o644, .. })));
        mode(&file, 0o600);
        assert!(is_secret(&file).is_ok());
        mode(&file, 0o644);
        assert!(append(&file).is_ok());
        for wrong in [Path::new("/dev/null"), &folder.join("pipe")] {
            if !wrong.exists() {
                assert!(std::process::Command::new("mkfifo").arg(wrong).status().unwrap().success());
            }
            assert!(append(wrong).is_err(), "{}", wrong.display());
        }
        let link = folder.join("b.toml");
        symlink(&file, &link).unwrap();
        assert!(matches!(read(&link, 9), Err(UntrustedFile::Symlink(_))));
        assert!(matches!(read(&folder, 9), Err(UntrustedFile::Kind { .. })));
        assert!(matches!(read(&folder.join("none"), 9), Err(UntrustedFile::Unreadable { .. })));
        assert!(matches!(program(&file), Err(UntrustedFile::Kind { .. })));
        mode(&file, 0o755);
        assert_eq!(program(&link).unwrap(), fs::canonicalize(&file).unwrap());
        mode(&folder, 0o777);
        assert!(
            matches!(read(&file, 9), Err(UntrustedFile::Writable { .. })),
            "a file that other users could replace must be refused"
        );
        mode(&folder, 0o1777);
        assert_eq!(read(&file, 9).unwrap(), "name");
        mode(&folder, 0o755);
        if own_uid() == 0 {
            chown(&file, Some(65_001), None).unwrap();
            assert!(matches!(read(&file, 9), Err(UntrustedFile::Owner { uid: 65_001, .. })));
            assert!(matches!(program(&file), Err(UntrustedFile::Owner { .. })));
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
