//! Connection to the NATS servers: credentials, choice of server, and connection events.
use super::{NatsConfig, NatsError, PATIENCE, checked};
use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event, ReconnectToServer, Server, ServerInfo};
use ranlab_e2::ric::directory::BusNews;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

/// Interval of pings; a silent server is detected after three.
const PING: Duration = Duration::from_secs(1);
/// First delay between connection attempts; doubles with each attempt. Also used for the bucket.
const PAUSE: Duration = Duration::from_millis(10);
/// Maximum delay between attempts, and thus the longest delay after the servers are back.
const PAUSE_MAX: Duration = Duration::from_secs(1);

fn read(file: &Path) -> Result<String, NatsError> {
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| NatsError::File { file: file.to_owned(), why: error.to_string() })?;
    let text = text.trim().to_owned();
    if text.is_empty() || text.contains('\n') {
        let why = "one line is expected: USER:PASSWORD, a token, or the seed of an nkey".to_owned();
        return Err(NatsError::File { file: file.to_owned(), why });
    }
    Ok(text)
}

/// Returns the client options for credentials and reconnects.
async fn options(config: &NatsConfig) -> Result<ConnectOptions, NatsError> {
    let mut options = ConnectOptions::new()
        .name(&config.name)
        .ping_interval(PING)
        .connection_timeout(PATIENCE)
        .request_timeout(Some(PATIENCE))
        .reconnect_delay_callback(pause);
    if let Some(file) = &config.credentials {
        let wrong = |error: std::io::Error| NatsError::File { file: file.clone(), why: error.to_string() };
        options = options.credentials_file(file).await.map_err(wrong)?;
    }
    if let Some(file) = &config.password {
        let text = read(file)?;
        options = match text.split_once(':') {
            Some((user, password)) => options.user_and_password(user.to_owned(), password.to_owned()),
            None => options.token(text),
        };
    }
    if let Some(file) = &config.nkey {
        let seed = read(file)?;
        if !is_seed(&seed) {
            let why = "the seed of a user's nkey is expected: SU and 56 letters and digits".to_owned();
            return Err(NatsError::File { file: file.clone(), why });
        }
        options = options.nkey(seed);
    }
    if let Some(file) = &config.ca {
        options = options.add_root_certificates(file.clone()).require_tls(true);
    }
    if let Some((certificate, key)) = &config.certificate {
        options = options.add_client_certificate(certificate.clone(), key.clone()).require_tls(true);
    }
    Ok(options)
}

/// Returns whether a text looks like a user's seed: base32 with the prefix `SU`.
fn is_seed(text: &str) -> bool {
    let base32 = |octet: u8| octet.is_ascii_uppercase() || (b'2'..=b'7').contains(&octet);
    text.len() == 58 && text.starts_with("SU") && text.bytes().all(base32)
}

/// Connects to the NATS servers; all NATS clients of this crate use it. `set` adds options of this client.
///
/// # Errors
/// Fails if addresses or files are invalid, no server is reachable, or the credentials are rejected.
pub async fn open(
    config: &NatsConfig,
    set: impl FnOnce(ConnectOptions) -> ConnectOptions,
) -> Result<Client, NatsError> {
    let unreachable = |why: String| NatsError::Unreachable { servers: config.servers.clone(), why };
    let addresses: Result<Vec<async_nats::ServerAddr>, _> =
        checked(&config.servers)?.iter().map(|it| it.parse()).collect();
    let addresses = addresses.map_err(|error| unreachable(error.to_string()))?;
    let options = set(options(config).await?);
    options.connect(addresses).await.map_err(|error| match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            NatsError::Refused { servers: config.servers.clone(), why: error.to_string() }
        }
        _ => unreachable(error.to_string()),
    })
}

/// Connects to one of the servers; `heard` receives disconnects and reconnects.
pub(super) async fn connect(config: &NatsConfig, heard: Heard) -> Result<Client, NatsError> {
    let next = heard.clone();
    open(config, |options| {
        options
            .reconnect_to_server_callback(move |servers, last| {
                let next = next.next(&servers, &last);
                async move { next }
            })
            .event_callback(move |event| {
                let heard = heard.clone();
                async move { heard.hear(&event).await }
            })
    })
    .await
}

/// Returns the delay before an attempt: 0 for the first, at most [`PAUSE_MAX`].
pub(super) fn pause(attempts: usize) -> Duration {
    let doubled = u32::try_from(attempts.saturating_sub(2)).unwrap_or(u32::MAX);
    if attempts <= 1 {
        Duration::ZERO
    } else {
        PAUSE.saturating_mul(2_u32.saturating_pow(doubled)).min(PAUSE_MAX)
    }
}

/// Forwards connection events to the RIC, once the bucket is open.
#[derive(Clone)]
pub(super) struct Heard {
    pub(super) news: mpsc::Sender<BusNews>,
    pub(super) joined: Arc<AtomicBool>,
    /// Number of connection attempts since the last connection.
    pub(super) tries: Arc<AtomicUsize>,
}

impl Heard {
    /// Selects the server to connect to. The server that was lost comes last, because it may be silent rather
    /// than gone. Before the bucket is open, the client itself chooses and tries all servers.
    fn next(&self, servers: &[Server], last: &ServerInfo) -> Option<ReconnectToServer> {
        if !self.joined.load(Ordering::Relaxed) {
            return None;
        }
        let tries = self.tries.fetch_add(1, Ordering::Relaxed);
        let is_last = |it: &Server| it.addr.port() == last.port && it.addr.host() == last.host;
        let place = turn(&servers.iter().map(is_last).collect::<Vec<_>>(), tries)?;
        let addr = servers.get(place)?.addr.clone();
        // The first round tries all servers without delay; later rounds have growing delays.
        let round = tries / servers.len().max(1);
        Some(ReconnectToServer { addr, delay: Some(pause(if round == 0 { 0 } else { tries })) })
    }

    async fn hear(&self, event: &Event) {
        let news = match event {
            Event::Connected => {
                self.tries.store(0, Ordering::Relaxed);
                BusNews::There
            }
            Event::Disconnected => {
                BusNews::Away { why: "the connection to the NATS server is lost".to_owned() }
            }
            _ => return,
        };
        if self.joined.load(Ordering::Relaxed) {
            // The RIC may have been dropped.
            let _ = self.news.send(news).await;
        }
    }
}

/// Returns the index of the server for an attempt: first all other servers, then the last one, and so on.
fn turn(is_last: &[bool], tries: usize) -> Option<usize> {
    let places =
        |last: bool| is_last.iter().enumerate().filter(move |(_, it)| **it == last).map(|(place, _)| place);
    let order: Vec<_> = places(false).chain(places(true)).collect();
    order.get(tries.checked_rem(order.len())?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_between_attempts_grows() {
        let all: Vec<_> = (0..11).map(|attempts| pause(attempts).as_millis()).collect();
        assert_eq!(all, [0, 0, 10, 20, 40, 80, 160, 320, 640, 1_000, 1_000]);
        assert_eq!(pause(usize::MAX), PAUSE_MAX);
    }

    #[test]
    fn lost_server_is_tried_last() {
        let turns = |is_last: &[bool]| (0..4).map(|tries| turn(is_last, tries)).collect::<Vec<_>>();
        assert_eq!(turns(&[true, false, false]), [Some(1), Some(2), Some(0), Some(1)]);
        // If no address matches the server's own name, all are tried in order.
        assert_eq!(turns(&[false, false]), [Some(0), Some(1), Some(0), Some(1)]);
        assert_eq!(turns(&[]), [None; 4]);
    }

    #[test]
    fn secret_is_one_line_and_absent_from_errors() {
        let folder = std::env::temp_dir().join(format!("ranlab-nats-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("secret");
        std::fs::write(&file, "user:hidden\n").unwrap();
        assert_eq!(read(&file).unwrap(), "user:hidden");
        std::fs::write(&file, "user:hidden\nmore\n").unwrap();
        assert!(!read(&file).unwrap_err().to_string().contains("hidden"));
        assert!(read(&folder.join("none")).is_err());
        assert!(is_seed(&format!("SU{}", "A2".repeat(28))));
        for wrong in ["", "user:hidden", &format!("SA{}", "A2".repeat(28)), &format!("SU{}", "a2".repeat(28))]
        {
            assert!(!is_seed(wrong), "{wrong}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
