//! Locations of workers, on which the components of an experiment run, and settings shared by all rigs.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use ranlab_campaign::rig::{Need, RigError};

use crate::discovery;

/// Settings shared by all rigs, such as the program that runs as worker.
#[derive(Debug, Clone)]
pub struct RigContext {
    /// Path of the `ranlab` binary on this machine.
    pub program: PathBuf,
    /// The secure shell client.
    pub ssh: PathBuf,
    /// Existing network namespace in which workers on this machine are started. `None` for the namespace of this
    /// program.
    pub netns: Option<String>,
    /// Whether commands of a profile may be run.
    pub commands: bool,
    /// Folder for the output of third-party programs. If it is `None`, only their last lines are kept.
    pub folder: Option<PathBuf>,
}

impl RigContext {
    /// Creates a laboratory whose components on this machine are processes of `program`.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let program = program.into();
        let ssh = PathBuf::from("ssh");
        Self { program, ssh, netns: None, commands: false, folder: None }
    }

    /// Returns the same laboratory with its workers in another network namespace.
    pub fn within(&self, netns: Option<&str>) -> Self {
        Self { netns: netns.map(str::to_owned), ..self.clone() }
    }

    /// Returns the requirements of every rig that uses workers.
    pub fn needs(&self) -> Vec<Need> {
        let there = self.program.is_file();
        vec![Need {
            what: format!("the program {}", self.program.display()),
            why: "each part of an experiment is a process of it".to_owned(),
            met: if there {
                Ok(())
            } else {
                Err("build it with `cargo build --release -p ranlab`".to_owned())
            },
        }]
    }
}

/// The location of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerLocation {
    /// This machine.
    Local,
    /// Another machine, connected over ssh. `program` is the path of `ranlab` there.
    Ssh {
        /// The destination for ssh: a name from its configuration, or `user@host`.
        destination: String,
        /// Path of `ranlab` there.
        program: String,
    },
    /// Another machine on which `ranlab worker --listen` runs.
    Tcp {
        /// Address of the worker, `host:port`.
        address: String,
    },
    /// Machines found through a bus, on which `ranlab worker --listen --bus` runs.
    Bus {
        /// Address of the NATS server, `nats://host:port`.
        server: String,
        /// The group of workers.
        group: String,
    },
}

/// The text is not a valid location.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is not a worker location; allowed are \"local\", \"ssh://[user@]host[/path/to/ranlab]\", \"tcp://host:port\" \
     and \"nats://host:port[/group]\""
)]
pub struct HostError(String);

impl FromStr for WorkerLocation {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let wrong = || HostError(text.to_owned());
        // A leading dash would be an option of ssh.
        let plain = |word: &str| {
            !word.is_empty() && !word.starts_with('-') && !word.contains(|c: char| c.is_whitespace())
        };
        if text == "local" {
            return Ok(Self::Local);
        }
        if let Some(rest) = text.strip_prefix("ssh://") {
            let (destination, path) = rest.split_once('/').unwrap_or((rest, ""));
            if !plain(destination)
                || path.contains(|c: char| !c.is_ascii_alphanumeric() && !"/._-".contains(c))
            {
                return Err(wrong());
            }
            let program = if path.is_empty() { "ranlab".to_owned() } else { format!("/{path}") };
            return Ok(Self::Ssh { destination: destination.to_owned(), program });
        }
        let address = |text: &str| {
            let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
            // The part before an @ would be a password, which must not be in a scenario.
            let good = plain(host) && !host.contains('@') && port.parse::<u16>().is_ok();
            good.then(|| text.to_owned()).ok_or_else(wrong)
        };
        if let Some(rest) = text.strip_prefix("nats://") {
            let (place, group) = rest.split_once('/').unwrap_or((rest, discovery::GROUP));
            if !discovery::is_group(group) {
                return Err(wrong());
            }
            return Ok(Self::Bus { server: format!("nats://{}", address(place)?), group: group.to_owned() });
        }
        Ok(Self::Tcp { address: address(text.strip_prefix("tcp://").ok_or_else(wrong)?)? })
    }
}

impl WorkerLocation {
    /// Resolves the location. For a bus, returns the workers that answer now.
    ///
    /// # Errors
    /// No worker answers.
    pub fn resolve(self) -> Result<Vec<Self>, RigError> {
        match self {
            Self::Bus { server, group } => {
                discovery::workers(&server, &group).map_err(|error| RigError::Environment(error.to_string()))
            }
            host => Ok(vec![host]),
        }
    }
}

impl fmt::Display for WorkerLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Ssh { destination, program } if program == "ranlab" => write!(f, "ssh://{destination}"),
            Self::Ssh { destination, program } => write!(f, "ssh://{destination}{program}"),
            Self::Tcp { address } => write!(f, "tcp://{address}"),
            Self::Bus { server, group } if group == discovery::GROUP => f.write_str(server),
            Self::Bus { server, group } => write!(f, "{server}/{group}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_round_trip() {
        for text in [
            "local",
            "ssh://lab7",
            "ssh://me@lab7/opt/ranlab",
            "tcp://10.0.0.7:7000",
            "tcp://[::1]:7",
            "nats://a:4222",
            "nats://a:4222/lab",
        ] {
            assert_eq!(text.parse::<WorkerLocation>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn options_and_commands_are_rejected() {
        for text in [
            "",
            "lab7",
            "ssh://",
            "ssh://-oProxyCommand=x",
            "ssh://a b",
            "ssh://a/x;y",
            "tcp://a",
            "tcp://:1",
            "tcp://a:x",
            "nats://a",
            "nats://me:secret@a:4222",
            "nats://a:4222/x.y",
        ] {
            let error = text.parse::<WorkerLocation>().unwrap_err().to_string();
            assert!(error.contains("allowed are"), "{text}: {error}");
        }
    }
}
