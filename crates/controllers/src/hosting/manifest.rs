//! What the operator says about one xApp: a file of TOML, called as the xApp.
use super::supervisor::{Restart, When};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Octets of the longest manifest.
pub const MANIFEST_BYTES_MAX: u64 = 64 << 10;
/// Characters of the longest name.
const NAME_MAX: usize = 32;
/// Names of the environment that the host sets, and a manifest does not.
const OURS: &str = "RANLAB_";

/// An xApp that the host may start.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// Its name: the file's, without `.toml`.
    pub name: String,
    /// What its file says.
    pub said: Said,
}

/// The keys of a manifest.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    /// The program, by its whole path. There is no shell.
    pub command: PathBuf,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Names of the RIC's environment that it gets; nothing else is inherited.
    #[serde(default)]
    pub environment: Vec<String>,
    /// Further variables.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// As whom it runs: a user that nothing else runs as, by name or number.
    pub user: String,
    /// Its working folder.
    #[serde(default = "root")]
    pub folder: PathBuf,
    /// Which `[[rule]]` of the RIC's rules says what it may: the rule's `name`.
    pub rule: String,
    /// Whether it is started with the RIC.
    #[serde(default = "yes")]
    pub start: bool,
    /// Whether it sees this machine's network, rather than its own sockets alone.
    #[serde(default)]
    pub network: bool,
    /// What it may use.
    #[serde(default)]
    pub limits: LimitsTable,
    /// What follows its end.
    #[serde(default)]
    pub restart: RestartTable,
    /// Where its output is kept.
    #[serde(default)]
    pub log: LogTable,
}

/// `[limits]`: of all its processes together, but for open files.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsTable {
    /// Memory.
    pub memory_mib: u64,
    /// CPUs.
    pub cpus: f64,
    /// Processes and threads.
    pub processes: u64,
    /// Open files of each process.
    pub open_files: u64,
}

/// `[restart]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RestartTable {
    /// `always`, `failure` or `never`.
    pub when: When,
    /// Before the first restart, milliseconds; doubled from one to the next.
    pub first_ms: u64,
    /// At most, milliseconds.
    pub longest_ms: u64,
    /// Ends within `within_s` after which it is given up.
    pub times: u32,
    /// In so many seconds. Who runs for so long begins anew.
    pub within_s: u64,
    /// How long it may take to end when it is asked, milliseconds; then it is killed.
    pub grace_ms: u64,
}

/// `[log]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogTable {
    /// The file; none: the RIC's own folder for hosted xApps.
    pub file: Option<PathBuf>,
    /// Kibibytes of the file; then it is put aside as `FILE.1`, and the one before that goes.
    pub file_kib: u64,
    /// Kibibytes a second that are read; who writes more waits.
    pub kib_per_s: u64,
}

impl Default for LimitsTable {
    fn default() -> Self {
        Self { memory_mib: 256, cpus: 0.5, processes: 32, open_files: 256 }
    }
}

impl Default for RestartTable {
    fn default() -> Self {
        Self {
            when: When::Failure,
            first_ms: 200,
            longest_ms: 30_000,
            times: 5,
            within_s: 60,
            grace_ms: 2_000,
        }
    }
}

impl Default for LogTable {
    fn default() -> Self {
        Self { file: None, file_kib: 4_096, kib_per_s: 256 }
    }
}

fn root() -> PathBuf {
    PathBuf::from("/")
}

fn yes() -> bool {
    true
}

/// A manifest that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The name is none.
    #[error(
        "{0:?} is no name of an xApp; 1 to {NAME_MAX} of a-z, 0-9 and -, beginning with a letter, are allowed"
    )]
    Name(String),
    /// It is no TOML, or has keys or values that a manifest does not have.
    #[error("line {line}: {why}")]
    Toml {
        /// Where, from one.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// A path that begins nowhere.
    #[error("{key} = {path:?} must be a whole path (/...)")]
    Path {
        /// Which key.
        key: &'static str,
        /// What it says.
        path: PathBuf,
    },
    /// A number out of its range.
    #[error("{key} = {value} must be {least} to {most}")]
    Range {
        /// Which key.
        key: &'static str,
        /// What it says.
        value: String,
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// A name that the environment cannot have, or that the host sets.
    #[error(
        "{0:?} cannot be set in the environment; names of A-Z, a-z, 0-9 and _ are allowed, but for {OURS}* and LD_*"
    )]
    Environment(String),
}

/// Whether a text may be an xApp's name: of a file, a folder, a part of an address and of a key.
pub fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.len() <= NAME_MAX
        && text.bytes().all(fits)
        && text.starts_with(|first: char| first.is_ascii_lowercase())
}

impl Manifest {
    /// Reads what the file of that name says.
    ///
    /// # Errors
    /// It cannot be; what, and what is allowed.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, ManifestError> {
        if !is_name(name) {
            return Err(ManifestError::Name(name.to_owned()));
        }
        let line = |at: usize| text.bytes().take(at).filter(|octet| *octet == b'\n').count() + 1;
        let said: Said = toml::from_str(text).map_err(|error| ManifestError::Toml {
            line: line(error.span().map_or(0, |span| span.start)),
            why: error.message().to_owned(),
        })?;
        said.check()?;
        Ok(Self { name: name.to_owned(), said })
    }

    /// When it is restarted.
    pub fn restart(&self) -> Restart {
        let table = self.said.restart;
        Restart {
            when: table.when,
            first: Duration::from_millis(table.first_ms),
            longest: Duration::from_millis(table.longest_ms),
            times: table.times,
            within: Duration::from_secs(table.within_s),
            grace: Duration::from_millis(table.grace_ms),
        }
    }
}

impl Said {
    fn check(&self) -> Result<(), ManifestError> {
        let paths = [
            ("command", Some(&self.command)),
            ("folder", Some(&self.folder)),
            ("file", self.log.file.as_ref()),
        ];
        for (key, path) in paths {
            if let Some(path) = path.filter(|path| !path.is_absolute()) {
                return Err(ManifestError::Path { key, path: path.clone() });
            }
        }
        let LimitsTable { memory_mib, cpus, processes, open_files } = self.limits;
        if !(0.01..=1_024.0).contains(&cpus) {
            let (key, value) = ("cpus", cpus.to_string());
            return Err(ManifestError::Range { key, value, least: 0, most: 1_024 });
        }
        let restart = self.restart;
        for (key, value, least, most) in [
            ("memory_mib", memory_mib, 4, 1 << 20),
            ("processes", processes, 1, 4_096),
            ("open_files", open_files, 8, 65_536),
            ("first_ms", restart.first_ms, 10, 60_000),
            ("longest_ms", restart.longest_ms, restart.first_ms, 3_600_000),
            ("times", restart.times.into(), 1, 1_000),
            ("within_s", restart.within_s, 1, 86_400),
            ("grace_ms", restart.grace_ms, 0, 60_000),
            ("file_kib", self.log.file_kib, 4, 1 << 20),
            ("kib_per_s", self.log.kib_per_s, 1, 65_536),
        ] {
            if !(least..=most).contains(&value) {
                return Err(ManifestError::Range { key, value: value.to_string(), least, most });
            }
        }
        let fits = |name: &str| {
            let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            !name.is_empty() && letters && !name.starts_with(OURS) && !name.starts_with("LD_")
        };
        let wrong = self.environment.iter().chain(self.set.keys()).find(|name| !fits(name));
        wrong.map_or(Ok(()), |name| Err(ManifestError::Environment(name.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = "command = \"/usr/bin/true\"\nuser = \"65001\"\nrule = \"observers\"\n";

    fn wrong(text: &str) -> String {
        Manifest::from_toml("mon", &format!("{LEAST}{text}")).unwrap_err().to_string()
    }

    #[test]
    fn a_manifest_says_what_is_started_and_within_which_bounds() {
        let least = Manifest::from_toml("mon", LEAST).unwrap();
        assert_eq!((least.said.start, least.said.network, least.said.limits.processes), (true, false, 32));
        assert_eq!(least.restart().grace, Duration::from_secs(2));
        let text = format!(
            "{LEAST}arguments = [\"-u\"]\nenvironment = [\"TZ\"]\nset = {{ MODE = \"x\" }}\nnetwork = true\n\
             [limits]\ncpus = 2\n[restart]\nwhen = \"always\"\n[log]\nfile_kib = 8\n"
        );
        let more = Manifest::from_toml("mon-2", &text).unwrap();
        assert_eq!((more.said.limits.cpus, more.restart().when), (2.0, When::Always));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_what_is_allowed() {
        for name in ["", "../mon", "Mon", "mon/..", "-mon", "mön", &"m".repeat(33), "mon.toml"] {
            assert!(matches!(Manifest::from_toml(name, LEAST), Err(ManifestError::Name(_))), "{name}");
        }
        assert!(wrong("shell = true\n").starts_with("line 4: unknown field `shell`"));
        assert_eq!(wrong("folder = \"tmp\"\n"), "folder = \"tmp\" must be a whole path (/...)");
        assert_eq!(wrong("[limits]\nprocesses = 0\n"), "processes = 0 must be 1 to 4096");
        assert_eq!(wrong("[limits]\ncpus = nan\n"), "cpus = NaN must be 0 to 1024");
        assert!(
            wrong("[restart]\nwhen = \"often\"\n").contains("expected one of `always`, `failure`, `never`")
        );
        for name in ["LD_PRELOAD", "RANLAB_TOKEN", "", "A B", "A=B"] {
            let text = format!("environment = [\"{name}\"]\n");
            assert!(wrong(&text).contains("cannot be set"), "{name}");
        }
        assert!(wrong("set = { LD_PRELOAD = \"/x\" }\n").contains("cannot be set"));
    }
}
