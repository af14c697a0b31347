//! Where a party listens or connects to, as people write it.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use super::registry::registered;

/// The forms an address takes, for messages and help texts.
pub const SCHEMES: &str =
    "tcp://host:port, unix:///path, mem://name, sctp://host:port, shim:///folder/ip:port or tls://host:port";

/// A place to listen at or to connect to. Parsing and [`fmt::Display`] are inverse to each other.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Address {
    /// `tcp://host:port`; an IPv6 host is written in brackets, here it has none.
    Tcp {
        /// A name or a literal IP address.
        host: String,
        /// 0 lets the kernel choose one for a listener.
        port: u16,
    },
    /// `unix:///path`: a Unix stream socket.
    Unix(PathBuf),
    /// `mem://name`: within this process.
    Memory(String),
    /// `shim:///folder/ip:port`: towards programs whose SCTP sockets our library carries (`bindings/preload`). The folder
    /// stands for the network; the address in it need not be the machine's.
    Shim {
        /// What `RANLAB_SCTP` names for them.
        folder: PathBuf,
        /// Where the listener is, as SCTP would say it.
        at: SocketAddr,
    },
    /// `sctp://host:port`: carried where the kernel can. Several addresses of one host, the paths to it, have commas between
    /// them: `sctp://10.0.1.1,10.0.2.1:36421`, `sctp://[fd01::1,fd02::1]:36421`.
    Sctp {
        /// Names or literal IP addresses.
        host: String,
        /// The SCTP port; E2AP's is 36421.
        port: u16,
    },
    /// `scheme://place` of a transport that was [registered](super::register).
    Other {
        /// Whose.
        scheme: String,
        /// Where, in that transport's words.
        place: String,
    },
    /// `tls://host:port`: TCP under mutual TLS (feature `tls`).
    Tls {
        /// A name or a literal IP address.
        host: String,
        /// The TCP port under TLS.
        port: u16,
    },
}

/// Why a text is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// There is no `scheme://` in front.
    #[error("\"{text}\" has no scheme; write {}{SCHEMES}", example(text))]
    NoScheme {
        /// What was given.
        text: String,
    },
    /// The scheme is none of ours, nor registered.
    #[error("\"{scheme}://\" is no transport of ours; write {SCHEMES}")]
    UnknownScheme {
        /// What stood before `://`.
        scheme: String,
    },
    /// Host or port are missing or malformed.
    #[error("\"{text}\" is not HOST:PORT with a port from 0 to 65535 (an IPv6 host stands in brackets)")]
    HostPort {
        /// What stood behind `://`.
        text: String,
    },
    /// A Unix path that is empty or too long for the kernel.
    #[error("a unix:// path has 1 to {MAX_UNIX_PATH_BYTES} bytes, \"{text}\" has {}", text.len())]
    UnixPath {
        /// What stood behind `://`.
        text: String,
    },
    /// Not a folder and an address within.
    #[error(
        "shim:// needs a folder and an address in it, as shim:///run/e2/127.0.0.1:36421, and no more than {MAX_UNIX_PATH_BYTES} bytes; \"{text}\" is none"
    )]
    Shim {
        /// What stood behind `://`.
        text: String,
    },
    /// `mem://` without a name.
    #[error("mem:// needs a name behind it")]
    NoName,
}

/// What a text without a scheme most likely means.
fn example(text: &str) -> String {
    match host_port(text, false) {
        Ok((host, port)) => format!("{}, or one of ", Address::Tcp { host, port }),
        Err(_) => String::new(),
    }
}

/// `sockaddr_un` has 108 bytes including the final zero (unix(7)).
const MAX_UNIX_PATH_BYTES: usize = 107;

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(AddressError::NoScheme { text: text.to_owned() });
        };
        match scheme {
            "tcp" => host_port(rest, false).map(|(host, port)| Self::Tcp { host, port }),
            "sctp" => host_port(rest, true).map(|(host, port)| Self::Sctp { host, port }),
            "tls" => host_port(rest, false).map(|(host, port)| Self::Tls { host, port }),
            "unix" if rest.is_empty() || rest.len() > MAX_UNIX_PATH_BYTES || rest.contains('\0') => {
                Err(AddressError::UnixPath { text: rest.to_owned() })
            }
            "unix" => Ok(Self::Unix(PathBuf::from(rest))),
            "shim" => shim(rest),
            "mem" if rest.is_empty() => Err(AddressError::NoName),
            "mem" => Ok(Self::Memory(rest.to_owned())),
            _ if registered(scheme).is_some() => {
                Ok(Self::Other { scheme: scheme.to_owned(), place: rest.to_owned() })
            }
            _ => Err(AddressError::UnknownScheme { scheme: scheme.to_owned() }),
        }
    }
}

fn shim(text: &str) -> Result<Address, AddressError> {
    let wrong = || AddressError::Shim { text: text.to_owned() };
    let (folder, at) = text.rsplit_once('/').ok_or_else(wrong)?;
    let at = at.parse::<SocketAddr>().map_err(|_| wrong())?;
    // As long as the socket's path is going to be: an address may have been written longer than it prints.
    let fits = text.len().max(folder.len() + 1 + at.to_string().len()) <= MAX_UNIX_PATH_BYTES;
    match !folder.is_empty() && fits && !folder.contains('\0') && at.port() > 0 {
        true => Ok(Address::Shim { folder: folder.into(), at }),
        false => Err(wrong()),
    }
}

/// `several`: a host of several addresses has commas between them.
fn host_port(text: &str, several: bool) -> Result<(String, u16), AddressError> {
    let wrong = || AddressError::HostPort { text: text.to_owned() };
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    // `u16::from_str` takes a leading '+', which no one writes on purpose and which would not print back.
    if !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let port = port.parse().map_err(|_| wrong())?;
    let bare = host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    let fits = |host: &str| match bare {
        Some(_) => host.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.chars().all(allowed),
    };
    let host = bare.unwrap_or(host);
    let mut hosts = host.splitn(if several { usize::MAX } else { 1 }, ',');
    if hosts.all(fits) { Ok((host.to_owned(), port)) } else { Err(wrong()) }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, host, port) = match self {
            Self::Tcp { host, port } => ("tcp", host, port),
            Self::Sctp { host, port } => ("sctp", host, port),
            Self::Tls { host, port } => ("tls", host, port),
            Self::Unix(path) => return write!(f, "unix://{}", path.display()),
            Self::Memory(name) => return write!(f, "mem://{name}"),
            Self::Shim { folder, at } => return write!(f, "shim://{}/{at}", folder.display()),
            Self::Other { scheme, place } => return write!(f, "{scheme}://{place}"),
        };
        match host.contains(':') {
            true => write!(f, "{scheme}://[{host}]:{port}"),
            false => write!(f, "{scheme}://{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_parsed_prints_back() {
        for text in [
            "tcp://127.0.0.1:36421",
            "tcp://[::1]:0",
            "tcp://ric.example:65535",
            "unix:///run/ranlab/e2.sock",
            "unix://e2.sock",
            "mem://ric-1",
            "sctp://10.0.0.1:36421",
            "sctp://10.0.1.1,10.0.2.1:36421",
            "sctp://[fd01::1,fd02::1]:0",
            "tls://ric:36421",
            "shim:///run/e2/10.0.0.1:36421",
            "shim://e2/[::1]:36421",
        ] {
            assert_eq!(text.parse::<Address>().map(|address| address.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn refusals_name_what_is_allowed() {
        let refusal = |text: &str| text.parse::<Address>().map_err(|error| error.to_string()).unwrap_err();
        assert!(refusal("127.0.0.1:36421").contains("tcp://host:port"));
        assert!(refusal("udp://127.0.0.1:1").contains("unix:///path"));
        let bad_ports = ["tcp://host", "tcp://host:", "tcp://host:65536", "tcp://host:+1", "tcp://:1"];
        for text in bad_ports.iter().chain(&[
            "tcp://::1:80",
            "tcp://[x]:1",
            "tcp://a,b:1",
            "sctp://a,:1",
            "sctp://[::1,x]:1",
            "tcp://a b:1",
            "tcp://a/b:1",
        ]) {
            assert!(refusal(text).contains("HOST:PORT"), "{text}");
        }
        assert!(refusal("unix://").contains("1 to 107"));
        assert!(refusal(&format!("unix:///{}", "x".repeat(107))).contains("has 108"));
        assert!(refusal("mem://").contains("name"));
        let far = format!("shim:///{}/1.2.3.4:5", "x".repeat(100));
        for text in [
            "shim://",
            "shim:///run",
            "shim:///run/ric:1",
            "shim:///1.2.3.4:5",
            "shim:///run/1.2.3.4:0",
            &far,
        ] {
            assert!(refusal(text).contains("folder and an address"), "{text}");
        }
    }
}
