//! Common functions of long-running verbs: limits, end conditions, folders, screen updates.
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::exit::Failure;

/// Raises the limit of open files to the maximum, because each connection needs one.
pub fn raise_limits() {
    if let Err(error) = ranlab_net::raise_open_files() {
        eprintln!("ranlab: cannot raise the limit of open files: {error}");
    }
}

/// Unmaps code that is not needed any more: the code that starts a server, and the code that sets up connections. Called
/// when the server listens, and when no connection has been opened or closed for a while.
pub fn unmap_unused_code() {
    match ranlab_host::unmap_unused_code() {
        Ok(bytes) => tracing::debug!(bytes, "unmapped code"),
        // A failure only means that the program uses more memory.
        Err(error) => tracing::debug!(%error, "unused code stays mapped"),
    }
}

/// Resolves at Ctrl-C, at SIGTERM or after `duration`.
pub async fn end(duration: Option<Duration>) {
    let timer = async {
        match duration {
            Some(duration) => tokio::time::sleep(duration).await,
            None => std::future::pending().await,
        }
    };
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = timer => {}
        _ = tokio::signal::ctrl_c() => {}
        () = terminated => {}
    }
}

/// Calls `on_second` about once per second, with the time since the last call in seconds, until [`end`] resolves
/// or `on_second` fails.
pub async fn each_second(
    duration: Option<Duration>,
    on_second: impl FnMut(f64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    until(std::pin::pin!(end(duration)), on_second).await
}

/// Like [`each_second`], but runs until the given future resolves instead of [`end`].
pub async fn until(
    mut end: std::pin::Pin<&mut impl Future<Output = ()>>,
    mut on_second: impl FnMut(f64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    tick.tick().await;
    let mut at = Instant::now();
    loop {
        tokio::select! {
            biased;
            () = &mut end => return Ok(()),
            _ = tick.tick() => {}
        }
        on_second(at.elapsed().as_secs_f64())?;
        at = Instant::now();
    }
}

/// Display that replaces its previous content on a terminal; otherwise each update is appended.
#[derive(Debug, Default)]
pub struct LiveView {
    /// Number of lines that the next update replaces.
    lines: usize,
}

impl LiveView {
    /// Returns the text of an update, without final line feed. Lines are cut to the width of the terminal, so
    /// that none wraps.
    pub fn render(&mut self, lines: &[String], columns: usize) -> String {
        // Moves to the first line of the last update and erases from there (ECMA-48 CPL, ED).
        let over = if self.lines > 0 { format!("\x1b[{}F\x1b[J", self.lines) } else { String::new() };
        self.lines = lines.len();
        let cut = |line: &String| line.chars().take(columns).collect::<String>();
        over + &lines.iter().map(cut).collect::<Vec<_>>().join("\n")
    }
}

/// Returns a folder for sockets that only this user can access.
pub fn runtime_folder() -> io::Result<PathBuf> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
    let base = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let me = std::fs::metadata("/proc/self")?.uid();
    let folder = base.join(format!("ranlab-{me}"));
    match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // In a shared /tmp, another user could have created a folder with this name.
    let found = std::fs::symlink_metadata(&folder)?;
    if !found.is_dir() || found.uid() != me || found.permissions().mode() & 0o077 != 0 {
        let why =
            format!("{} exists, but it is not a folder that only this user can access", folder.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn update_replaces_previous_line_without_wrapping() {
        let mut screen = LiveView::default();
        let lines = |all: &[&str]| all.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        assert_eq!(screen.render(&lines(&["äbcdef", "g"]), 4), "äbcd\ng");
        assert_eq!(screen.render(&lines(&["h"]), 4), "\x1b[2F\x1b[Jh");
        assert_eq!(screen.render(&lines(&["i"]), 4), "\x1b[1F\x1b[Ji");
    }
}
