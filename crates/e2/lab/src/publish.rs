//! Publication of decoded statistics by a RIC.
use std::fmt;
use std::str::FromStr;

use ranlab_ric::monitor::{Messages, PublicationHandle};

use crate::influx::Influx;
use crate::ric::RicComponent;
use ranlab_lab::worker::ComponentError;

/// Servers to which statistics are published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broker {
    /// NATS servers: `nats://HOST:PORT` or `tls://HOST:PORT`; several servers are separated by commas.
    Nats(String),
    /// A Redis server: `redis://HOST:PORT`.
    Redis(String),
    /// An InfluxDB database, in line protocol.
    Influx(Influx),
}

ranlab_lab::setting_by_text!(Broker);

impl FromStr for Broker {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once("://") {
            Some(("nats" | "tls", _)) => Ok(Self::Nats(text.to_owned())),
            Some(("redis", _)) => Ok(Self::Redis(text.to_owned())),
            Some(("influx", _)) => text.parse().map(Self::Influx),
            _ => Err(format!(
                "\"{text}\" is not a server for reports: expected nats://HOST:PORT, tls://HOST:PORT, redis://HOST:PORT or \
                 influx://HOST:PORT/DATABASE, for example nats://127.0.0.1:4222"
            )),
        }
    }
}

impl fmt::Display for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nats(url) | Self::Redis(url) => f.write_str(url),
            Self::Influx(influx) => influx.fmt(f),
        }
    }
}

/// Publishes the monitor's measurements to a server. Unreachable servers are retried.
///
/// # Errors
///
/// Returns an error if this build lacks the client, the address is invalid, or the server rejects this RIC.
pub(crate) async fn start(
    broker: &Broker,
    part: &RicComponent,
    messages: Messages,
) -> Result<PublicationHandle, ComponentError> {
    // The check is made only here, because the error message shows the address of a Redis server as it was written.
    if broker.to_string().contains('@') {
        return Err(ranlab_lab::rig(
            "--publish takes no password, because other users of this machine would see it; use \
             --bus-password-file, --bus-nkey-file or --bus-credentials-file for NATS, --publish-token-file for InfluxDB",
        ));
    }
    let handle = messages.handle();
    match broker {
        Broker::Nats(servers) => crate::ric_bus::publish(servers, part, messages).await?,
        Broker::Redis(url) => redis(url, messages)?,
        Broker::Influx(influx) => crate::influx::start(influx, part.publish_token_file.as_deref(), messages)?,
    }
    Ok(handle)
}

#[cfg(feature = "redis")]
fn redis(url: &str, messages: Messages) -> Result<(), ComponentError> {
    ranlab_ric_server::redis::publish(url, messages).map_err(ranlab_lab::rig)
}

#[cfg(not(feature = "redis"))]
fn redis(url: &str, _: Messages) -> Result<(), ComponentError> {
    Err(ranlab_lab::environment(format!(
        "{url} needs a Redis client, which this build lacks: build it with --features redis, or use nats://"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_scheme_selects_server() {
        let nats: Broker = "nats://a:4222,nats://b:4222".parse().unwrap();
        assert_eq!(nats.to_string(), "nats://a:4222,nats://b:4222");
        assert_eq!("redis://a:6379".parse(), Ok(Broker::Redis("redis://a:6379".to_owned())));
        for wrong in ["kafka://a:1", "a:6379", ""] {
            assert!(wrong.parse::<Broker>().unwrap_err().contains("expected nats://"), "{wrong}");
        }
    }
}
