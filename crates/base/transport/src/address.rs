//! Addresses to listen at or to connect to, in text form.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use super::registry::registered;

/// Accepted forms of an address, for messages and help texts.
pub const SCHEMES: &str =
    "tcp://host:port, unix:///path, mem://name, sctp://host:port, shim:///folder/ip:port or tls://host:port";

/// An address to listen at or to connect to. Parsing and [`fmt::Display`] are inverse to each other.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Address {
    /// `tcp://host:port`. An IPv6 host is written in brackets, which `host` does not contain.
    Tcp {
        /// Host name or IP address.
        host: String,
        /// Port; 0 lets the kernel choose one for a listener.
        port: u16,
    },
    /// `unix:///path`: a Unix stream socket.
    Unix(PathBuf),
    /// `mem://name`: a pipe within this process.
    Memory(String),
    /// `shim:///folder/ip:port`: connects to programs whose SCTP sockets ranlab's preloaded library emulates
    /// (`bindings/preload`). The folder represents the network; the IP address need not belong to the machine.
    Shim {
        /// Folder that represents the network, as set in the environment variable `RANLAB_SCTP` of these programs.
        folder: PathBuf,
        /// SCTP address of the listener.
        at: SocketAddr,
    },
    /// `sctp://host:port`: SCTP of the kernel, if available. A multi-homed host has several addresses, separated by
    /// commas: `sctp://10.0.1.1,10.0.2.1:36421`, `sctp://[fd01::1,fd02::1]:36421`.
    Sctp {
        /// Host names or IP addresses.
        host: String,
        /// SCTP port; the port of E2AP is 36421.
        port: u16,
    },
    /// `scheme://place` of a [registered](super::register) transport.
    Other {
        /// Scheme of the transport.
        scheme: String,
        /// Location, in the format of the transport.
        place: String,
    },
    /// `tls://host:port`: TCP under mutual TLS (feature `tls`).
    Tls {
        /// Host name or IP address.
        host: String,
        /// TCP port.
        port: u16,
    },
}

/// Reason why a text is not an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// The text does not begin with `scheme://`.
    #[error("\"{text}\" has no scheme; write {}{SCHEMES}", example(text))]
    NoScheme {
        /// The text that is not a valid address.
        text: String,
    },
    /// The scheme is neither built in nor registered.
    #[error("\"{scheme}://\" is not a transport; write {SCHEMES}")]
    UnknownScheme {
        /// Text before `://`.
        scheme: String,
    },
    /// Host or port is missing or malformed.
    #[error("\"{text}\" is not HOST:PORT with a port from 0 to 65535 (write an IPv6 host in brackets)")]
    HostPort {
        /// Text after `://`.
        text: String,
    },
    /// The Unix path is empty or too long for the kernel.
    #[error("a unix:// path has 1 to {MAX_UNIX_PATH_BYTES} bytes, \"{text}\" has {}", text.len())]
    UnixPath {
        /// Text after `://`.
        text: String,
    },
    /// The text after `shim://` is not a folder followed by an address.
    #[error(
        "\"{text}\" is not a shim:// address: expected a folder and an address in it, as shim:///run/e2/127.0.0.1:36421, in at most {MAX_UNIX_PATH_BYTES} bytes"
    )]
    Shim {
        /// Text after `://`.
        text: String,
    },
    /// `mem://` has no name.
    #[error("mem:// needs a name after it")]
    NoName,
}

/// Returns the most likely intended address for a text without a scheme.
fn example(text: &str) -> String {
    match host_port(text, false) {
        Ok((host, port)) => format!("{}, or one of ", Address::Tcp { host, port }),
        // The text is a bare IP address or host name, which lacks only the port.
        Err(_) if text.contains('.') && host_port(&format!("{text}:0"), false).is_ok() => {
            format!("tcp://{text}:PORT, or one of ")
        }
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
    // The printed form becomes the path of the socket. It may be longer than the given text, so both must fit.
    let fits = text.len().max(folder.len() + 1 + at.to_string().len()) <= MAX_UNIX_PATH_BYTES;
    match !folder.is_empty() && fits && !folder.contains('\0') && at.port() > 0 {
        true => Ok(Address::Shim { folder: folder.into(), at }),
        false => Err(wrong()),
    }
}

/// Parses host and port. With `several`, the host may be a list of addresses separated by commas.
fn host_port(text: &str, several: bool) -> Result<(String, u16), AddressError> {
    let wrong = || AddressError::HostPort { text: text.to_owned() };
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    // `u16::from_str` accepts a leading '+', which would not be printed again.
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
    fn parsed_address_prints_back() {
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
    fn errors_name_allowed_values() {
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
