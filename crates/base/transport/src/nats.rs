//! Connections to NATS servers: addresses, credentials, and the delays between attempts. Needs the feature `nats`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_nats::{Client, ConnectErrorKind, ConnectOptions};

/// Timeout of one request to the servers.
pub const PATIENCE: Duration = Duration::from_secs(1);
/// Interval of pings. A server that does not respond to three pings is considered lost.
const PING: Duration = Duration::from_secs(1);
/// First delay between two attempts to connect or to open the bucket. The delay doubles with each attempt.
const PAUSE: Duration = Duration::from_millis(10);
/// Maximum delay between two attempts. After the servers are available again, this is the longest time until the next attempt.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Servers, bucket and credentials.
#[derive(Debug, Clone, Default)]
pub struct NatsConfig {
    /// Addresses `nats://HOST:PORT` or `tls://HOST:PORT`, separated by commas.
    pub servers: String,
    /// Name of the bucket.
    pub bucket: String,
    /// Number of replicas if the bucket has to be created: 3, or 1 on a single server.
    pub replicas: usize,
    /// Name of this client.
    pub name: String,
    /// File with a user's JWT and seed, as written by `nsc`.
    pub credentials: Option<PathBuf>,
    /// File with `USER:PASSWORD` or a token.
    pub password: Option<PathBuf>,
    /// File with the seed of an nkey, as written by `nk`.
    pub nkey: Option<PathBuf>,
    /// File with the CA certificates for the servers' certificates.
    pub ca: Option<PathBuf>,
    /// Files with the client certificate and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// Error of the connection to NATS servers, or of the bucket.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    /// Invalid server addresses.
    #[error(
        "NATS servers are nats://HOST:PORT or tls://HOST:PORT, separated by commas; {0:?} is not a valid address"
    )]
    Address(String),
    /// A password in an address is visible to all users of this machine.
    #[error(
        "an address of NATS servers takes no password, which all users of this machine could see; use a file \
         (ranlab ric --bus-password-file, elsewhere RANLAB_BUS_PASSWORD_FILE)"
    )]
    Secret,
    /// A file with credentials cannot be read.
    #[error("{}: {why}", .file.display())]
    File {
        /// Path of the file.
        file: PathBuf,
        /// Reason why the file cannot be read.
        why: String,
    },
    /// The servers reject the credentials.
    #[error("the NATS servers at {servers} reject the credentials: {why}")]
    Refused {
        /// Addresses of the servers.
        servers: String,
        /// Reason given by the servers.
        why: String,
    },
    /// No server is reachable.
    #[error("no NATS server at {servers}: {why}")]
    Unreachable {
        /// Addresses of the servers.
        servers: String,
        /// Reason why no server is reachable.
        why: String,
    },
    /// The bucket cannot be opened or created.
    #[error("cannot open or create the bucket {bucket} at {servers}: {why}")]
    Bucket {
        /// Name of the bucket.
        bucket: String,
        /// Addresses of the servers.
        servers: String,
        /// Reason why the bucket cannot be used.
        why: String,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread for NATS: {0}")]
    Thread(#[from] std::io::Error),
}

impl NatsConfig {
    /// Returns a configuration with credentials from environment variables, for programs without flags for
    /// them.
    ///
    /// The variables name files: `RANLAB_BUS_CREDENTIALS_FILE`, `RANLAB_BUS_PASSWORD_FILE`,
    /// `RANLAB_BUS_NKEY_FILE`, `RANLAB_BUS_CA_FILE`, and `RANLAB_BUS_CERTIFICATE_FILE` with
    /// `RANLAB_BUS_KEY_FILE`. An empty variable is ignored.
    pub fn from_environment(servers: &str, name: &str) -> Self {
        let file = |what: &str| {
            let value = std::env::var_os(format!("RANLAB_BUS_{what}_FILE"))?;
            (!value.is_empty()).then(|| PathBuf::from(value))
        };
        Self {
            servers: servers.to_owned(),
            name: name.to_owned(),
            credentials: file("CREDENTIALS"),
            password: file("PASSWORD"),
            nkey: file("NKEY"),
            ca: file("CA"),
            certificate: file("CERTIFICATE").zip(file("KEY")),
            ..Self::default()
        }
    }
}

impl NatsError {
    /// Returns whether the error is permanent, so that a retry cannot succeed.
    pub fn lasts(&self) -> bool {
        !matches!(self, Self::Unreachable { .. } | Self::Bucket { .. })
    }
}

fn checked(servers: &str) -> Result<Vec<String>, NatsError> {
    let all: Vec<_> = servers.split(',').map(|it| it.trim().to_owned()).collect();
    for server in &all {
        let wrong = || NatsError::Address(server.split('@').next_back().unwrap_or_default().to_owned());
        let place =
            server.strip_prefix("nats://").or_else(|| server.strip_prefix("tls://")).ok_or_else(wrong)?;
        if place.contains('@') {
            return Err(NatsError::Secret);
        }
        let port = place.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port);
        port.and_then(|port| port.parse::<u16>().ok()).ok_or_else(wrong)?;
    }
    Ok(all)
}

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

/// Connects to the NATS servers; all NATS clients of the workspace use it. `set` adds options of this client.
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

/// Returns the delay before an attempt: 0 for the first, at most one second.
pub fn pause(attempts: usize) -> Duration {
    let doubled = u32::try_from(attempts.saturating_sub(2)).unwrap_or(u32::MAX);
    if attempts <= 1 {
        Duration::ZERO
    } else {
        PAUSE.saturating_mul(2_u32.saturating_pow(doubled)).min(PAUSE_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_port_and_no_password() {
        assert_eq!(checked("nats://a:1, tls://[::1]:2").unwrap(), ["nats://a:1", "tls://[::1]:2"]);
        for wrong in ["", "a:1", "nats://a", "nats://:1", "nats://a:x", "redis://a:1", "nats://a:1,"] {
            assert!(matches!(checked(wrong), Err(NatsError::Address(_))), "{wrong}");
        }
        let error = checked("nats://user:secret@a:1").unwrap_err();
        assert!(matches!(error, NatsError::Secret) && !error.to_string().contains("secret@"), "{error}");
        assert!(!checked("foo://user:secret@a:1").unwrap_err().to_string().contains("secret"));
    }

    #[test]
    fn delay_between_attempts_grows() {
        let all: Vec<_> = (0..11).map(|attempts| pause(attempts).as_millis()).collect();
        assert_eq!(all, [0, 0, 10, 20, 40, 80, 160, 320, 640, 1_000, 1_000]);
        assert_eq!(pause(usize::MAX), PAUSE_MAX);
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
