//! Where the parts of an experiment run.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use ranlab_campaign::rig::{Need, RigError};

use crate::found;

/// What all rigs share: the program whose verb `worker` runs the parts.
#[derive(Debug, Clone)]
pub struct Lab {
    /// The binary `ranlab` on this machine.
    pub program: PathBuf,
    /// The secure shell client.
    pub ssh: PathBuf,
    /// The network namespace, made before, in which workers of this machine are started; none: this program's.
    pub netns: Option<String>,
    /// Whether commands of a profile may be run.
    pub commands: bool,
    /// The folder that keeps what programs of others print; none: only their last lines are kept.
    pub folder: Option<PathBuf>,
}

impl Lab {
    /// A laboratory whose parts on this machine are processes of `program`.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let (program, ssh) = (program.into(), PathBuf::from("ssh"));
        Self { program, ssh, netns: None, commands: false, folder: None }
    }

    /// The same laboratory with its workers in another network namespace.
    pub fn within(&self, netns: Option<&str>) -> Self {
        Self { netns: netns.map(str::to_owned), ..self.clone() }
    }

    /// What every rig needs whose parts are workers.
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

/// A machine of the laboratory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// This one.
    Local,
    /// Another one, reached by ssh; `program` is its binary `ranlab`.
    Ssh {
        /// As ssh takes it: a name of its configuration, `user@host`.
        destination: String,
        /// Path of `ranlab` there.
        program: String,
    },
    /// Another one, where `ranlab worker --listen` waits.
    Tcp {
        /// `host:port`.
        address: String,
    },
    /// Those others that a bus tells of: `ranlab worker --listen --bus`.
    Bus {
        /// `nats://host:port`.
        server: String,
        /// Which of them.
        group: String,
    },
}

/// The text names no machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is no place for a worker; allowed are \"local\", \"ssh://[user@]host[/path/to/ranlab]\", \"tcp://host:port\" \
     and \"nats://host:port[/group]\""
)]
pub struct HostError(String);

impl FromStr for Host {
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
            // What is before an @ would be a password, which belongs into no scenario.
            let good = plain(host) && !host.contains('@') && port.parse::<u16>().is_ok();
            good.then(|| text.to_owned()).ok_or_else(wrong)
        };
        if let Some(rest) = text.strip_prefix("nats://") {
            let (place, group) = rest.split_once('/').unwrap_or((rest, found::GROUP));
            if !found::is_group(group) {
                return Err(wrong());
            }
            return Ok(Self::Bus { server: format!("nats://{}", address(place)?), group: group.to_owned() });
        }
        Ok(Self::Tcp { address: address(text.strip_prefix("tcp://").ok_or_else(wrong)?)? })
    }
}

impl Host {
    /// The machines themselves: those of a bus are the ones that answer there now.
    ///
    /// # Errors
    /// None answers.
    pub fn met(self) -> Result<Vec<Self>, RigError> {
        match self {
            Self::Bus { server, group } => found::workers(&server, &group).map_err(RigError::Environment),
            host => Ok(vec![host]),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Ssh { destination, program } if program == "ranlab" => write!(f, "ssh://{destination}"),
            Self::Ssh { destination, program } => write!(f, "ssh://{destination}{program}"),
            Self::Tcp { address } => write!(f, "tcp://{address}"),
            Self::Bus { server, group } if group == found::GROUP => f.write_str(server),
            Self::Bus { server, group } => write!(f, "{server}/{group}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_read_as_they_are_written() {
        for text in [
            "local",
            "ssh://lab7",
            "ssh://me@lab7/opt/ranlab",
            "tcp://10.0.0.7:7000",
            "tcp://[::1]:7",
            "nats://a:4222",
            "nats://a:4222/lab",
        ] {
            assert_eq!(text.parse::<Host>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_would_be_an_option_or_a_command_is_refused() {
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
            let error = text.parse::<Host>().unwrap_err().to_string();
            assert!(error.contains("allowed are"), "{text}: {error}");
        }
    }
}
