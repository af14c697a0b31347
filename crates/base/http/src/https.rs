//! HTTPS: the certificate of the listeners of this process, and the authority that the clients of this process trust.
use std::io;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

#[cfg(feature = "tls")]
pub use secured::configure;
#[cfg(feature = "tls")]
pub(crate) use secured::handshake;

/// Byte stream of a connection, with or without TLS.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// Connection to a server, or connection accepted from a client.
pub type Connection = Box<dyn ByteStream>;

/// Reason why HTTPS cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpsError {
    /// No authority is trusted.
    #[error("https:// needs --https-authority FILE, with the authority of the server's certificate")]
    NoAuthority,
    /// The name of the server is neither a DNS name nor an IP address.
    #[error("\"{0}\" cannot be the name in a certificate")]
    Name(String),
    /// This program has no TLS.
    #[error("this program was built without the feature tls, which https:// needs")]
    NotBuilt,
}

/// Returns the scheme of the listeners' addresses: `https` after [`configure`] with a certificate, otherwise `http`.
pub fn scheme() -> &'static str {
    #[cfg(feature = "tls")]
    if secured::serves() {
        return "https";
    }
    "http"
}

/// Connects to a server over TLS.
///
/// # Errors
/// The server cannot be reached, it shows no valid certificate, or no authority is configured (the inner error is then
/// a [`HttpsError`]).
pub async fn connect(host: &str, port: u16) -> io::Result<Connection> {
    #[cfg(feature = "tls")]
    return secured::connect(host, port).await;
    #[cfg(not(feature = "tls"))]
    {
        let _ = (host, port);
        Err(io::Error::new(io::ErrorKind::Unsupported, HttpsError::NotBuilt))
    }
}

#[cfg(not(feature = "tls"))]
pub(crate) async fn handshake(socket: TcpStream) -> io::Result<Connection> {
    Ok(Box::new(socket))
}

#[cfg(feature = "tls")]
mod secured {
    use super::{Connection, HttpsError, TcpStream, io};
    use ranlab_transport::{IdentityError, Watched, https_client, https_server};
    use std::path::Path;
    use std::sync::{Arc, OnceLock};
    use tokio_rustls::rustls::pki_types::ServerName;
    use tokio_rustls::rustls::{ClientConfig, ServerConfig};
    use tokio_rustls::{TlsAcceptor, TlsConnector};

    static SERVER: OnceLock<Watched<Arc<ServerConfig>, IdentityError>> = OnceLock::new();
    static CLIENT: OnceLock<Arc<ClientConfig>> = OnceLock::new();

    /// Makes the listeners of this process use HTTPS (PEM files of certificate chain and private key), and its clients trust
    /// an authority. Connections after a change of the certificate's files use the new content. Later calls change nothing.
    ///
    /// # Errors
    /// A file is missing or invalid, or certificate and key do not match.
    pub fn configure(server: Option<(&Path, &Path)>, authority: Option<&Path>) -> Result<(), IdentityError> {
        if let Some((certificate, key)) = server {
            let files = [certificate, key].map(Path::to_owned);
            let [certificate, key] = files.clone();
            let config = Watched::open(files.to_vec(), move || https_server(&certificate, &key))?;
            let _ = SERVER.set(config);
        }
        if let Some(authority) = authority {
            let _ = CLIENT.set(https_client(authority)?);
        }
        Ok(())
    }

    pub(super) fn serves() -> bool {
        SERVER.get().is_some()
    }

    pub(crate) async fn handshake(socket: TcpStream) -> io::Result<Connection> {
        Ok(match SERVER.get() {
            Some(config) => Box::new(TlsAcceptor::from(config.get()).accept(socket).await?),
            None => Box::new(socket),
        })
    }

    pub(super) async fn connect(host: &str, port: u16) -> io::Result<Connection> {
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
        let config = CLIENT.get().ok_or_else(|| invalid(HttpsError::NoAuthority))?.clone();
        let name = host.trim_start_matches('[').trim_end_matches(']');
        let name =
            ServerName::try_from(name.to_owned()).map_err(|_| invalid(HttpsError::Name(host.to_owned())))?;
        let socket = TcpStream::connect(format!("{host}:{port}")).await?;
        Ok(Box::new(TlsConnector::from(config).connect(name, socket).await?))
    }
}
