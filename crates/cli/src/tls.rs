//! `ranlab tls`: a small certificate authority, and certificates for `tls://` addresses.
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

use ranlab_command::verb::{Context, Run};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use serde::Serialize;
use time::{Duration, OffsetDateTime};

use crate::exit::Failure;
use crate::output::Output;

/// Common name of the authority. The first bytes of its public key are appended, so that two authorities have different names.
const AUTHORITY: &str = "ranlab authority";
/// File name of the authority's certificate and key, without extension.
const AUTHORITY_FILE: &str = "authority";
/// Names in the RIC's certificate without --name: the loopback names of this machine.
const LOCAL: [&str; 3] = ["127.0.0.1", "::1", "localhost"];
/// Validity of the authority, in days.
const AUTHORITY_DAYS: i64 = 3_650;
/// Time by which the validity of a certificate starts before its creation, because the clocks of two machines differ.
const CLOCK_MARGIN: Duration = Duration::hours(1);

/// Arguments of `tls init`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab tls init certificates --name 10.0.0.1\n  ranlab ric --e2 tls://10.0.0.1:36421 --tls-certificate certificates/ric.pem --tls-key certificates/ric.key --tls-authority certificates/authority.pem"
)]
pub struct InitArguments {
    /// Folder for the files; it is created if missing. Existing files are not replaced
    folder: PathBuf,
    /// IP addresses or host names by which clients reach the RIC; repeatable [default: this machine's loopback]
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
    /// Validity of the certificates of RIC, node and xApp
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=3_650))]
    days: u32,
}

/// Arguments of `tls issue`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ranlab tls issue certificates gnb-7 --name gnb-7.lab")]
pub struct IssueArguments {
    /// Folder of the authority, as made by tls init
    folder: PathBuf,
    /// File name of the certificate and key, without extension
    file: String,
    /// IP addresses or host names in the certificate; repeatable [default: the file name]
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
    /// Validity of the certificate
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=3_650))]
    days: u32,
}

/// A created certificate.
#[derive(Debug, Serialize)]
struct Created {
    certificate: PathBuf,
    key: PathBuf,
    names: Vec<String>,
}

impl Run for InitArguments {
    fn run(self, context: &Context) -> Result<(), Failure> {
        std::fs::create_dir_all(&self.folder).map_err(|error| cannot("create", &self.folder, &error))?;
        let key = KeyPair::generate().map_err(failed)?;
        let params = authority(&key).map_err(failed)?;
        let certificate = params.self_signed(&key).map_err(failed)?;
        let mut created = vec![write(&self.folder, AUTHORITY_FILE, &certificate.pem(), &key, Vec::new())?];
        let issuer = Issuer::new(params, key);
        let ric = if self.name.is_empty() { LOCAL.map(str::to_owned).to_vec() } else { self.name };
        for (file, names) in
            [("ric", ric), ("node", vec!["node".to_owned()]), ("xapp", vec!["xapp".to_owned()])]
        {
            created.push(issue(&issuer, &self.folder, file, names, self.days)?);
        }
        print(context, &created)
    }
}

impl Run for IssueArguments {
    fn run(self, context: &Context) -> Result<(), Failure> {
        if self.file.contains(['/', '\0']) || self.file.is_empty() || self.file.starts_with('.') {
            return Err(Failure::Usage(format!(
                "\"{}\" is not a file name without extension, e.g. gnb-7",
                self.file
            )));
        }
        let path = self.folder.join(AUTHORITY_FILE).with_extension("key");
        let text = std::fs::read_to_string(&path).map_err(|error| cannot("read", &path, &error))?;
        let key = KeyPair::from_pem(&text).map_err(failed)?;
        let issuer = Issuer::new(authority(&key).map_err(failed)?, key);
        let names = if self.name.is_empty() { vec![self.file.clone()] } else { self.name };
        print(context, &[issue(&issuer, &self.folder, &self.file, names, self.days)?])
    }
}

/// Returns the content of the certificate of an authority with this key, without the validity dates.
fn authority(key: &KeyPair) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    let beginning: String =
        key.public_key_raw().iter().skip(1).take(8).map(|byte| format!("{byte:02x}")).collect();
    params.distinguished_name.push(DnType::CommonName, format!("{AUTHORITY} {beginning}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    valid(&mut params, AUTHORITY_DAYS);
    Ok(params)
}

fn valid(params: &mut CertificateParams, days: i64) {
    let now = OffsetDateTime::now_utc();
    (params.not_before, params.not_after) = (now - CLOCK_MARGIN, now + Duration::days(days));
}

/// Creates a certificate for both a TLS server and a TLS client.
fn issue(
    issuer: &Issuer<'_, KeyPair>,
    folder: &Path,
    file: &str,
    names: Vec<String>,
    days: u32,
) -> Result<Created, Failure> {
    let wrong = |error: rcgen::Error| {
        Failure::Usage(format!("{} cannot be in a certificate: {error}", names.join(", ")))
    };
    let mut params = CertificateParams::new(names.clone()).map_err(wrong)?;
    params.distinguished_name.push(DnType::CommonName, file);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params.use_authority_key_identifier_extension = true;
    valid(&mut params, days.into());
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = params.signed_by(&key, issuer).map_err(failed)?;
    write(folder, file, &certificate.pem(), &key, names)
}

/// Writes a certificate and its key. Only this user may read the key. Existing files are not replaced.
fn write(
    folder: &Path,
    file: &str,
    certificate: &str,
    key: &KeyPair,
    names: Vec<String>,
) -> Result<Created, Failure> {
    use std::os::unix::fs::OpenOptionsExt;
    let path = |extension| folder.join(format!("{file}.{extension}"));
    let created = Created { certificate: path("pem"), key: path("key"), names };
    for (path, text, mode) in
        [(&created.key, key.serialize_pem(), 0o600), (&created.certificate, certificate.to_owned(), 0o644)]
    {
        let opened = std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
        let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| cannot("create", path, &error))?;
    }
    Ok(created)
}

fn print(context: &Context, created: &[Created]) -> Result<(), Failure> {
    let mut output = Output::new(context.format);
    for it in created {
        output.text(format_args!(
            "{}  {}  {}",
            it.certificate.display(),
            it.key.display(),
            it.names.join(", ")
        ))?;
        output.item(it)?;
    }
    output.finish(&serde_json::json!({ "created": created }))
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::Environment(format!("cannot {what} {}: {error}", path.display()))
}

fn failed(error: impl fmt::Display) -> Failure {
    Failure::Environment(format!("a certificate cannot be created: {error}"))
}
