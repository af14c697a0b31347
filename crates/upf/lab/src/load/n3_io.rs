//! Text form of the I/O methods of base stations.
use ranlab_lab::text::TextError;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// I/O method of base stations' datagrams.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum N3Io {
    /// Sockets with `sendmmsg` and `recvmmsg`.
    #[default]
    Sockets,
    /// AF_XDP sockets, which bypass the kernel's network stack.
    AfXdp {
        /// Name of the device towards the UPF. Default: the device of the kernel's route.
        interface: Option<String>,
        /// Whether the driver runs the XDP program. Otherwise the kernel runs it on socket buffers.
        native: bool,
        /// Whether the driver accesses our memory directly. Requires `native`.
        zero_copy: bool,
    },
    /// Shared-memory rings (memif). The UPF listens at the path of the control channel.
    Memif {
        /// Path of the control channel's socket.
        path: PathBuf,
    },
}

impl FromStr for N3Io {
    type Err = TextError;

    /// Parses `sockets`, `af-xdp[:DEVICE][,native][,zero-copy]` or `memif:PATH`.
    fn from_str(text: &str) -> Result<Self, TextError> {
        let wrong = || {
            TextError::new(text, "I/O method", "sockets, af-xdp[:DEVICE][,native][,zero-copy] and memif:PATH")
        };
        if text == "sockets" {
            return Ok(Self::Sockets);
        }
        if let Some(path) = text.strip_prefix("memif:").filter(|path| !path.is_empty()) {
            return Ok(Self::Memif { path: path.into() });
        }
        let mut parts = text.split(',');
        let first = parts.next().and_then(|first| first.strip_prefix("af-xdp")).ok_or_else(wrong)?;
        let interface = match first.strip_prefix(':') {
            Some(device) if !device.is_empty() => Some(device.to_owned()),
            None if first.is_empty() => None,
            _ => return Err(wrong()),
        };
        let mut native = false;
        let mut zero_copy = false;
        for part in parts {
            match part {
                "native" => native = true,
                // Zero copy implies native mode.
                "zero-copy" => (native, zero_copy) = (true, true),
                _ => return Err(wrong()),
            }
        }
        Ok(Self::AfXdp { interface, native, zero_copy })
    }
}

impl fmt::Display for N3Io {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (interface, native, zero_copy) = match self {
            Self::Sockets => return f.write_str("sockets"),
            Self::Memif { path } => return write!(f, "memif:{}", path.display()),
            Self::AfXdp { interface, native, zero_copy } => (interface, native, zero_copy),
        };
        f.write_str("af-xdp")?;
        if let Some(device) = interface {
            write!(f, ":{device}")?;
        }
        f.write_str(match (native, zero_copy) {
            (_, true) => ",zero-copy",
            (true, false) => ",native",
            (false, false) => "",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_method_text_forms_round_trip() {
        let af_xdp = |interface: Option<&str>, native, zero_copy| N3Io::AfXdp {
            interface: interface.map(str::to_owned),
            native,
            zero_copy,
        };
        for (text, way) in [
            ("sockets", N3Io::Sockets),
            ("af-xdp", af_xdp(None, false, false)),
            ("af-xdp:n3,native", af_xdp(Some("n3"), true, false)),
            ("af-xdp,zero-copy", af_xdp(None, true, true)),
            ("memif:/run/n3", N3Io::Memif { path: "/run/n3".into() }),
        ] {
            assert_eq!((text.parse(), way.to_string()), (Ok(way), text.to_owned()));
        }
        assert_eq!("af-xdp:a,native,zero-copy".parse(), Ok(af_xdp(Some("a"), true, true)));
        for text in ["", "socket", "af-xdp:", "af-xdpn3", "af-xdp:n3,fast", "sockets,native", "memif:"] {
            let error = text.parse::<N3Io>().unwrap_err().to_string();
            assert!(error.contains("af-xdp[:DEVICE]"), "{text}: {error}");
        }
    }
}
