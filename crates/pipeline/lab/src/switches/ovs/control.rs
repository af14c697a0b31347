//! A client for the control socket of Open vSwitch's daemons (JSON-RPC). It replaces one `ovs-appctl` process per
//! command.

use std::io::{BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, sut};

/// Timeout of a response.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum length of a response, in bytes.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// A connection to a daemon.
pub(super) struct Control {
    stream: UnixStream,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    result: Option<String>,
    #[serde(default)]
    error: Value,
}

impl Control {
    /// Connects to the control socket of a daemon.
    pub(super) fn connect(path: &Path) -> Result<Self, ComponentError> {
        let failed = |error: std::io::Error| environment(format!("{}: {error}", path.display()));
        let stream = UnixStream::connect(path).map_err(failed)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
        Ok(Self { stream })
    }

    /// Runs a command with its arguments. Returns the daemon's response.
    pub(super) fn say(&mut self, command: &str) -> Result<String, ComponentError> {
        let mut words = command.split_whitespace();
        let method = words.next().unwrap_or("");
        let params = words.collect::<Vec<_>>();
        let question = json!({ "id": 0, "method": method, "params": params }).to_string();
        let lost =
            |error: &dyn std::fmt::Display| sut(format!("the switch does not answer `{command}`: {error}"));
        self.stream.write_all(question.as_bytes()).map_err(|error| lost(&error))?;
        let reader = BufReader::new(Read::take(&self.stream, ANSWER_BYTES_MAX));
        let answer = serde_json::Deserializer::from_reader(reader).into_iter::<Answer>().next();
        match answer {
            None => Err(lost(&"it closed the connection")),
            Some(Err(error)) => Err(lost(&error)),
            Some(Ok(Answer { error: Value::Null, result })) => Ok(result.unwrap_or_default()),
            Some(Ok(answer)) => Err(sut(format!("`{command}` is refused: {}", answer.error))),
        }
    }
}
