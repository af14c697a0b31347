//! TLS identity of this process, and its trusted authority.
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use super::super::{Unsupported, Watched};

/// Identity of the process, used for all `tls://` addresses.
static OWN: RwLock<Option<WatchedIdentity>> = RwLock::new(None);

/// A certificate, its key, and the only trusted authority. Used as client and as server.
#[derive(Clone)]
pub struct Identity {
    pub(super) client: Arc<ClientConfig>,
    pub(super) server: Arc<ServerConfig>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

/// Identity whose files may be replaced; later connections use the new content.
pub type WatchedIdentity = Arc<Watched<Identity, IdentityError>>;

/// Reason why an identity is invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// A file is missing or invalid.
    #[error("{}: {what}", file.display())]
    File {
        /// Path of the file.
        file: PathBuf,
        /// Description of the error in the file.
        what: String,
    },
    /// Certificate and key do not match, or the authority is invalid.
    #[error("certificate, key and authority are not a valid TLS identity: {0}")]
    Odd(String),
}

impl Identity {
    /// Reads PEM files: the certificate chain, its private key, and the certificate of the authority. Only this
    /// authority is trusted, not those of the system.
    ///
    /// # Errors
    /// Returns an error if a file is missing or invalid, or if key and certificate do not match.
    pub fn watch(certificate: &Path, key: &Path, authority: &Path) -> Result<WatchedIdentity, IdentityError> {
        let files = [certificate, key, authority].map(Path::to_owned);
        let [certificate, key, authority] = files.clone();
        let read = move || Self::read(&certificate, &key, &authority);
        Ok(Arc::new(Watched::open(files.to_vec(), read)?))
    }

    fn read(certificate: &Path, key: &Path, authority: &Path) -> Result<Self, IdentityError> {
        let odd = |error: &dyn fmt::Display| IdentityError::Odd(error.to_string());
        let roots = Arc::new(roots(authority)?);
        let own = certificates(certificate)?;
        let key = private_key(key)?;
        let provider = Arc::new(default_provider());
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| odd(&error))?
            .with_root_certificates(Arc::clone(&roots))
            .with_client_auth_cert(own.clone(), key.clone_key())
            .map_err(|error| odd(&error))?;
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider));
        let server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| odd(&error))?
            .with_client_cert_verifier(verifier.build().map_err(|error| odd(&error))?)
            .with_single_cert(own, key)
            .map_err(|error| odd(&error))?;
        Ok(Self { client: Arc::new(client), server: Arc::new(server) })
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
    let wrong = |what: String| IdentityError::File { file: file.to_owned(), what };
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(found) if found.is_empty() => Err(wrong("the file contains no certificate".to_owned())),
        Ok(found) => Ok(found),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// Reads the configuration of an HTTPS server from PEM files: the certificate chain and its private key. Clients need no
/// certificate.
///
/// # Errors
/// Returns an error if a file is missing or invalid, or if key and certificate do not match.
pub fn https_server(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, IdentityError> {
    let odd = |error: &dyn fmt::Display| IdentityError::Odd(error.to_string());
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| odd(&error))?
        .with_no_client_auth()
        .with_single_cert(certificates(certificate)?, private_key(key)?)
        .map_err(|error| odd(&error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Reads the configuration of an HTTPS client from a PEM file: the only trusted authority.
///
/// # Errors
/// Returns an error if the file is missing or invalid.
pub fn https_client(authority: &Path) -> Result<Arc<ClientConfig>, IdentityError> {
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| IdentityError::Odd(error.to_string()))?
        .with_root_certificates(roots(authority)?)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn roots(authority: &Path) -> Result<RootCertStore, IdentityError> {
    let mut roots = RootCertStore::empty();
    for root in certificates(authority)? {
        roots.add(root).map_err(|error| IdentityError::Odd(error.to_string()))?;
    }
    Ok(roots)
}

fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, IdentityError> {
    PrivateKeyDer::from_pem_file(file).map_err(|error| IdentityError::File {
        file: file.to_owned(),
        what: format!("the file contains no private key: {error}"),
    })
}

/// Sets the identity of this process from now on.
pub fn identify(identity: WatchedIdentity) {
    *OWN.write().unwrap_or_else(PoisonError::into_inner) = Some(identity);
}

pub(super) fn own() -> Result<WatchedIdentity, Unsupported> {
    OWN.read().unwrap_or_else(PoisonError::into_inner).clone().ok_or(Unsupported::NoIdentity)
}
