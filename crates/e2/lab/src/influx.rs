//! Writes the reports of a monitor to InfluxDB, in line protocol over HTTP. A separate thread sends the requests.
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use ranlab_ric::monitor::Messages;

use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, rig};
use ranlab_machine::routes::encode;

/// Maximum number of reports per request.
const BATCH: u64 = 1_000;
/// Maximum time for which reports are collected for one request.
const COLLECT: Duration = Duration::from_millis(500);
/// Timeout of a request.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum length of a token, in bytes.
const TOKEN_BYTES: usize = 4 << 10;

/// A database of an InfluxDB server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Influx {
    place: String,
    /// Path elements of the target: a database (InfluxDB 1), or an organization and a bucket (InfluxDB 2 and 3).
    path: Vec<String>,
}

impl FromStr for Influx {
    type Err = String;

    /// Parses `influx://HOST:PORT/DATABASE` or `influx://HOST:PORT/ORG/BUCKET`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "\"{text}\" is not an InfluxDB database: expected influx://HOST:PORT/DATABASE or influx://HOST:PORT/ORG/BUCKET, \
                 for example influx://127.0.0.1:8086/ranlab"
            )
        };
        let mut segments = text.strip_prefix("influx://").ok_or_else(wrong)?.split('/');
        let place = segments.next().unwrap_or_default();
        let port = place.rsplit_once(':').filter(|(host, _)| !host.is_empty() && !host.contains('@'));
        port.and_then(|(_, port)| port.parse::<u16>().ok()).ok_or_else(wrong)?;
        let path: Vec<String> = segments.map(str::to_owned).collect();
        let is_path = (1..=2).contains(&path.len()) && path.iter().all(|segment| !segment.is_empty());
        if is_path { Ok(Self { place: place.to_owned(), path }) } else { Err(wrong()) }
    }
}

impl fmt::Display for Influx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "influx://{}/{}", self.place, self.path.join("/"))
    }
}

impl Influx {
    fn target(&self) -> String {
        match &self.path[..] {
            [org, bucket] => {
                format!("/api/v2/write?org={}&bucket={}&precision=ns", encode(org), encode(bucket))
            }
            path => format!("/write?db={}&precision=ns", encode(&path.join("/"))),
        }
    }

    /// Writes lines to the database.
    ///
    /// # Errors
    ///
    /// Returns an error if the server is unreachable, or its status is not 2xx.
    fn write(&self, token: Option<&str>, lines: &str) -> Result<(), ureq::Error> {
        let agent: ureq::Agent = ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).build().into();
        let url = format!("http://{}{}", self.place, self.target());
        let mut request = agent.post(url).header("content-type", "text/plain; charset=utf-8");
        if let Some(token) = token {
            request = request.header("authorization", format!("Token {token}"));
        }
        request.send(lines).map(drop)
    }
}

/// Writes every report until the monitor ends. A batch that the server rejects is counted and not retried, so memory
/// use stays bounded while the server is unreachable.
///
/// # Errors
///
/// Returns an error if the token file cannot be read, or the thread cannot be created.
pub(crate) fn start(
    server: &Influx,
    token_file: Option<&Path>,
    messages: Messages,
) -> Result<(), ComponentError> {
    let token = token_file.map(token).transpose()?;
    let server = server.clone();
    let handle = messages.handle();
    let serve = move || {
        let mut is_away = false;
        while let Some((lines, reports)) = messages.next_lines(BATCH, COLLECT) {
            let written = server.write(token.as_deref(), &lines);
            handle.count(written.is_ok(), reports);
            if let Err(error) = &written
                && !is_away
            {
                tracing::warn!(%server, %error, "cannot write reports to InfluxDB");
            }
            is_away = written.is_err();
        }
    };
    std::thread::Builder::new()
        .name("influx".to_owned())
        .spawn(serve)
        .map(drop)
        .map_err(|error| environment(format!("cannot start a thread for InfluxDB: {error}")))
}

fn token(file: &Path) -> Result<String, ComponentError> {
    let text = std::fs::read_to_string(file).map_err(|error| rig(format!("{}: {error}", file.display())))?;
    let token = text.trim();
    let is_token =
        (1..=TOKEN_BYTES).contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_graphic());
    match is_token {
        true => Ok(token.to_owned()),
        false => Err(rig(format!("{}: expected a token of visible ASCII characters", file.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    #[test]
    fn influx_addresses_name_a_database_or_a_bucket() {
        for (text, target) in [
            ("influx://127.0.0.1:8086/ranlab", "/write?db=ranlab&precision=ns"),
            ("influx://[::1]:8086/my org/kpi", "/api/v2/write?org=my%20org&bucket=kpi&precision=ns"),
        ] {
            let influx: Influx = text.parse().unwrap();
            assert_eq!((influx.to_string().as_str(), influx.target().as_str()), (text, target));
        }
        for wrong in [
            "influx://h/db",
            "influx://h:1",
            "influx://h:1/",
            "influx://h:1/a/b/c",
            "influx://u:p@h:1/a",
            "h:1/a",
        ] {
            assert!(
                wrong.parse::<Influx>().unwrap_err().contains("expected influx://HOST:PORT/DATABASE"),
                "{wrong}"
            );
        }
    }

    /// Starts a server that answers one request with a status. The thread returns the received request.
    fn server(status: &'static str) -> (Influx, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let influx = format!("influx://{}/db", listener.local_addr().unwrap()).parse().unwrap();
        let serve = move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
            let mut read: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
            read.push(lines.next().unwrap());
            write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").unwrap();
            read
        };
        (influx, std::thread::spawn(serve))
    }

    #[test]
    fn influx_lines_are_posted_with_token() {
        let (influx, served) = server("204 No Content");
        influx.write(Some("secret"), "ranlab_mac,node=a ues=1 7000\n").unwrap();
        let read = served.join().unwrap();
        assert_eq!(read[0], "POST /write?db=db&precision=ns HTTP/1.1");
        assert!(read.iter().any(|line| line.eq_ignore_ascii_case("authorization: token secret")), "{read:?}");
        assert_eq!(read.last().unwrap(), "ranlab_mac,node=a ues=1 7000");
    }

    #[test]
    fn rejected_influx_lines_return_an_error() {
        let (influx, served) = server("401 Unauthorized");
        assert!(influx.write(None, "m f=1\n").unwrap_err().to_string().contains("401"));
        served.join().unwrap();
    }
}
