//! Manifest of a hosted xApp: a TOML file named after the xApp.
use super::supervisor::{Restart, RestartPolicy};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Maximum size of a manifest, in bytes.
pub const MANIFEST_BYTES_MAX: u64 = 64 << 10;
/// Maximum length of an xApp name, in characters.
const NAME_MAX: usize = 32;
/// Prefix of environment variables that the host sets; manifests must not set them.
const OURS: &str = "RANLAB_";

/// Manifest of an xApp that the host may start.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// Name of the xApp: the file name without `.toml`.
    pub name: String,
    /// Content of the file.
    pub said: ManifestKeys,
}

/// Keys of a manifest.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestKeys {
    /// Absolute path of the program, which is started without a shell.
    pub command: PathBuf,
    /// Command-line arguments.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Names of environment variables inherited from the RIC; no others are inherited.
    #[serde(default)]
    pub environment: Vec<String>,
    /// Further environment variables.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// User (name or number) that the xApp runs as; no other process may run as this user.
    pub user: String,
    /// Working directory.
    #[serde(default = "root")]
    pub folder: PathBuf,
    /// `name` of the `[[rule]]` in the RIC's rules that grants access to this xApp.
    pub rule: String,
    /// Whether to start the xApp with the RIC.
    #[serde(default = "yes")]
    pub start: bool,
    /// Whether the xApp shares the network namespace of the host; otherwise it has only its own sockets.
    #[serde(default)]
    pub network: bool,
    /// Resource limits.
    #[serde(default)]
    pub limits: LimitsTable,
    /// Restart policy.
    #[serde(default)]
    pub restart: RestartTable,
    /// Log file.
    #[serde(default)]
    pub log: LogTable,
}

/// `[limits]`: limits of all processes of the xApp together, except `open_files`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsTable {
    /// Memory, in MiB.
    pub memory_mib: u64,
    /// CPU time, in CPUs.
    pub cpus: f64,
    /// Number of processes and threads.
    pub processes: u64,
    /// Number of open files per process.
    pub open_files: u64,
}

/// `[restart]`: restart policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RestartTable {
    /// Restart policy: `always`, `failure` or `never`.
    pub when: RestartPolicy,
    /// Delay before the first restart, in milliseconds; doubles with each restart.
    pub first_ms: u64,
    /// Maximum delay before a restart, in milliseconds.
    pub longest_ms: u64,
    /// Number of exits within `within_s` after which the xApp is given up.
    pub times: u32,
    /// Period over which exits are counted, in seconds; a run of this length resets the count and the delay.
    pub within_s: u64,
    /// Time between SIGTERM and SIGKILL, in milliseconds.
    pub grace_ms: u64,
}

/// `[log]`: log file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogTable {
    /// Path of the file; `None`: a file in the RIC's directory for hosted xApps.
    pub file: Option<PathBuf>,
    /// Maximum size in KiB; a full file is renamed to `FILE.1`, which replaces the previous one.
    pub file_kib: u64,
    /// Maximum rate at which output is read, in KiB per second; a faster writer blocks.
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
            when: RestartPolicy::Failure,
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

/// Error in a manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The name is not a valid xApp name.
    #[error(
        "{0:?} is not a valid xApp name; expected 1 to {NAME_MAX} characters of a-z, 0-9 and -, beginning with a letter"
    )]
    Name(String),
    /// The file is not valid TOML, or has unknown keys or values of the wrong type.
    #[error("line {line}: {why}")]
    Toml {
        /// Line number, from 1.
        line: usize,
        /// Description of the fault.
        why: String,
    },
    /// A path is not absolute.
    #[error("{key} = {path:?} must be an absolute path (/...)")]
    Path {
        /// Key.
        key: &'static str,
        /// Value.
        path: PathBuf,
    },
    /// A number is out of range.
    #[error("{key} = {value} must be {least} to {most}")]
    Range {
        /// Key.
        key: &'static str,
        /// Value.
        value: String,
        /// Minimum.
        least: u64,
        /// Maximum.
        most: u64,
    },
    /// An environment variable has an invalid or reserved name.
    #[error(
        "{0:?} cannot be set in the environment; names may have A-Z, a-z, 0-9 and _, and must not begin with {OURS} or LD_"
    )]
    Environment(String),
}

/// Returns whether a text is a valid xApp name; it is used in file names, directory names, addresses and
/// keys.
pub fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.len() <= NAME_MAX
        && text.bytes().all(fits)
        && text.starts_with(|first: char| first.is_ascii_lowercase())
}

impl Manifest {
    /// Parses the manifest of the xApp `name`.
    ///
    /// # Errors
    /// Returns a [`ManifestError`] that names the faulty key and the allowed values.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, ManifestError> {
        if !is_name(name) {
            return Err(ManifestError::Name(name.to_owned()));
        }
        let line = |at: usize| text.bytes().take(at).filter(|octet| *octet == b'\n').count() + 1;
        let said: ManifestKeys = toml::from_str(text).map_err(|error| ManifestError::Toml {
            line: line(error.span().map_or(0, |span| span.start)),
            why: error.message().to_owned(),
        })?;
        said.check()?;
        Ok(Self { name: name.to_owned(), said })
    }

    /// Returns the restart policy.
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

impl ManifestKeys {
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
            let key = "cpus";
            let value = cpus.to_string();
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
    fn manifest_is_parsed_with_defaults() {
        let least = Manifest::from_toml("mon", LEAST).unwrap();
        assert_eq!((least.said.start, least.said.network, least.said.limits.processes), (true, false, 32));
        assert_eq!(least.restart().grace, Duration::from_secs(2));
        let text = format!(
            "{LEAST}arguments = [\"-u\"]\nenvironment = [\"TZ\"]\nset = {{ MODE = \"x\" }}\nnetwork = true\n\
             [limits]\ncpus = 2\n[restart]\nwhen = \"always\"\n[log]\nfile_kib = 8\n"
        );
        let more = Manifest::from_toml("mon-2", &text).unwrap();
        assert_eq!((more.said.limits.cpus, more.restart().when), (2.0, RestartPolicy::Always));
    }

    #[test]
    fn errors_name_line_and_allowed_values() {
        for name in ["", "../mon", "Mon", "mon/..", "-mon", "mön", &"m".repeat(33), "mon.toml"] {
            assert!(matches!(Manifest::from_toml(name, LEAST), Err(ManifestError::Name(_))), "{name}");
        }
        assert!(wrong("shell = true\n").starts_with("line 4: unknown field `shell`"));
        assert_eq!(wrong("folder = \"tmp\"\n"), "folder = \"tmp\" must be an absolute path (/...)");
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
