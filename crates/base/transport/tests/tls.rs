//! TCP with mutual TLS: the conformance suite, and refused certificates. There is only one test, because the identity
//! is global to the process.
#![allow(clippy::unwrap_used)] // Helpers outside #[test] functions are tests too.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ranlab_transport::*;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};

/// A certificate authority and its file.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    file: PathBuf,
    folder: PathBuf,
}

impl Authority {
    fn new(folder: &Path, name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let file = folder.join(format!("{name}.pem"));
        fs::write(&file, params.self_signed(&key).unwrap().pem()).unwrap();
        Self { issuer: Issuer::new(params, key), file, folder: folder.to_owned() }
    }

    /// Returns an identity with a certificate of this authority for these names, which trusts `trusted`.
    fn identity(&self, names: &[&str], expired: bool, trusted: &Self) -> WatchedIdentity {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names.clone()).unwrap();
        if expired {
            (params.not_before, params.not_after) = (date_time_ymd(2019, 1, 1), date_time_ymd(2020, 1, 1));
        }
        let key = KeyPair::generate().unwrap();
        let stem = self.folder.join(format!("{}-{expired}", names.join("-")));
        let certificate = stem.with_extension("crt");
        let secret = stem.with_extension("key");
        fs::write(&certificate, params.signed_by(&key, &self.issuer).unwrap().pem()).unwrap();
        fs::write(&secret, key.serialize_pem()).unwrap();
        Identity::watch(&certificate, &secret, &trusted.file).unwrap()
    }
}

/// Returns the error of a client that connects as `client` to `address`, from connecting or from its first read.
async fn client_error(client: WatchedIdentity, address: &Address) -> Result<(), String> {
    identify(client);
    let stream = connect(address, &SocketOptions::default()).await.map_err(|error| error.to_string())?;
    let mut reader = FrameReader::default();
    let read = async {
        loop {
            match reader.fill(&stream).map_err(|error| error.to_string())? {
                ReadOutcome::WouldBlock => stream.readable().await.map_err(|error| error.to_string())?,
                _ => return Ok(()),
            }
        }
    };
    tokio::time::timeout(Duration::from_millis(300), read).await.unwrap_or(Ok(()))
}

#[test]
fn only_valid_certificates_are_accepted() {
    let folder = std::env::temp_dir().join(format!("ranlab-tls-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let ours = Authority::new(&folder, "ours");
    let others = Authority::new(&folder, "others");
    let ric = ours.identity(&["127.0.0.1", "ric.lab"], false, &ours);
    let node = || ours.identity(&["gnb-1.lab"], false, &ours);
    let address: Address = "tls://127.0.0.1:0".parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // Without an identity, listening and connecting fail.
        let options = SocketOptions::default();
        let error = Listener::bind(&address, &options).await.unwrap_err().to_string();
        assert!(error.contains("needs a certificate"), "{error}");

        identify(ric.clone());
        assert_eq!(suite::check(&address).await, Ok(()));

        let listener = Listener::bind(&address, &options).await.unwrap();
        let bound = listener.address().clone();
        // An accepted peer is named by its certificate.
        let ((), arrived) =
            tokio::join!(async { client_error(node(), &bound).await.unwrap() }, listener.accept());
        let (_stream, peer) = arrived.unwrap();
        assert!(peer.starts_with("tls://127.0.0.1:") && peer.ends_with(" as gnb-1.lab"), "{peer}");

        let refused = async {
            let assert_refused = |client, words: &'static str| {
                let bound = &bound;
                async move {
                    let error = client_error(client, bound).await.unwrap_err();
                    assert!(error.contains(words), "{error}");
                }
            };
            assert_refused(
                ours.identity(&["late.lab"], true, &ours),
                "reports that our certificate has expired",
            )
            .await;
            assert_refused(others.identity(&["gnb-2.lab"], false, &ours), "is unknown to the peer").await;
            assert_refused(ours.identity(&["gnb-3.lab"], false, &others), "signed by an unknown authority")
                .await;
            // A peer without TLS shows no certificate; the listener keeps working.
            let Address::Tls { port, .. } = bound else { unreachable!() };
            let plain: Address = format!("tcp://127.0.0.1:{port}").parse().unwrap();
            let plain = connect(&plain, &options).await.unwrap();
            plain.try_write_vectored(&[std::io::IoSlice::new(&[0, 0, 0, 1, 7])]).unwrap();
            bare(port).await;
            client_error(node(), &bound).await.unwrap();
        };
        let arrival = async {
            let (_stream, peer) = listener.accept().await.unwrap();
            assert!(peer.ends_with(" as gnb-1.lab"), "{peer} was accepted");
            tokio::time::sleep(Duration::from_millis(500)).await;
        };
        tokio::join!(refused, arrival);

        // The certificate of the listener must match the host of the address and be valid.
        for (wrong, words) in [
            (ours.identity(&["elsewhere.lab"], false, &ours), "does not contain the name"),
            (ours.identity(&["127.0.0.1"], true, &ours), "certificate has expired"),
        ] {
            identify(wrong);
            let listener = Listener::bind(&address, &options).await.unwrap();
            let bound = listener.address().clone();
            let error = async { client_error(node(), &bound).await.unwrap_err() };
            let error = tokio::select! {
                error = error => error,
                _ = listener.accept() => panic!("a client has accepted an invalid certificate"),
            };
            assert!(error.contains(words) && error.contains("tls://127.0.0.1"), "{error}");
        }
    });
    let error = Identity::watch(&folder.join("nobody"), &folder.join("nobody"), &ours.file).unwrap_err();
    assert!(error.to_string().contains("nobody"), "{error}");
    fs::remove_dir_all(folder).unwrap();
}

/// Connects a client that shows no certificate.
async fn bare(port: u16) {
    use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
    let folder = std::env::temp_dir().join(format!("ranlab-tls-{}", std::process::id()));
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(folder.join("ours.pem")).unwrap()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
    let received = tokio::task::spawn_blocking(move || {
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let mut session = rustls::ClientConnection::new(std::sync::Arc::new(config), name).unwrap();
        let mut socket = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        let mut stream = rustls::Stream::new(&mut session, &mut socket);
        std::io::Read::read(&mut stream, &mut [0; 1]).unwrap_err().to_string()
    });
    let received = received.await.unwrap();
    assert!(received.contains("CertificateRequired"), "{received}");
}
