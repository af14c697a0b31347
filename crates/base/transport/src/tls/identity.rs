//! TLS identity of this process, and its trusted authority.
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use super::super::Unsupported;

/// Identity of the process, used for all `tls://` addresses.
static OWN: RwLock<Option<Identity>> = RwLock::new(None);

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

/// Reason why an identity is invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// A file is missing or invalid.
    #[error("{}: {what}", file.display())]
    File {
        /// File.
        file: PathBuf,
        /// Fault.
        what: String,
    },
    /// Certificate and key do not match, or the authority is invalid.
    #[error("certificate, key and authority make no identity for TLS: {0}")]
    Odd(String),
}

impl Identity {
    /// Reads PEM files: the certificate chain, its private key, and the certificate of the authority. Only this
    /// authority is trusted, not those of the system.
    ///
    /// # Errors
    /// Returns an error if a file is missing or invalid, or if key and certificate do not match.
    pub fn read(certificate: &Path, key: &Path, authority: &Path) -> Result<Self, IdentityError> {
        let odd = |error: &dyn fmt::Display| IdentityError::Odd(error.to_string());
        let mut roots = RootCertStore::empty();
        for root in certificates(authority)? {
            roots.add(root).map_err(|error| odd(&error))?;
        }
        let own = certificates(certificate)?;
        let key = PrivateKeyDer::from_pem_file(key).map_err(|error| IdentityError::File {
            file: key.to_owned(),
            what: format!("no key: {error}"),
        })?;
        let provider = Arc::new(default_provider());
        let roots = Arc::new(roots);
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
        Ok(found) if found.is_empty() => Err(wrong("it holds no certificate".to_owned())),
        Ok(found) => Ok(found),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// Sets the identity of this process from now on.
pub fn identify(identity: Identity) {
    *OWN.write().unwrap_or_else(PoisonError::into_inner) = Some(identity);
}

pub(super) fn own() -> Result<Identity, Unsupported> {
    OWN.read().unwrap_or_else(PoisonError::into_inner).clone().ok_or(Unsupported::NoIdentity)
}
