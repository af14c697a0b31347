//! Data plane in the kernel: two XDP programs, one at the N3 and one at the N6 device, and their maps with an entry for each session that
//! they support.
use super::packets::rules;
use super::{UpfConfig, UpfError};
use ranlab_lab::text::TextError;
use ranlab_net::{BpfMap, XdpProgram};
use ranlab_upf::forwarding::xdp::{KEY, VALUE, counted, downlink, offload, uplink};
use ranlab_upf::n4::Session;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

/// Devices of the XDP programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XdpDevices {
    /// Device towards base stations.
    pub n3: String,
    /// Device towards the data network.
    pub n6: String,
    /// Whether the drivers run the programs. Otherwise the kernel runs them on socket buffers.
    pub native: bool,
}

impl FromStr for XdpDevices {
    type Err = TextError;

    /// Parses `N3,N6` or `N3,N6,native`.
    fn from_str(text: &str) -> Result<Self, TextError> {
        let parts: Vec<_> = text.split(',').collect();
        match &parts[..] {
            [n3, n6, rest @ ..]
                if !n3.is_empty() && !n6.is_empty() && (rest.is_empty() || rest == ["native"]) =>
            {
                Ok(Self { n3: (*n3).to_owned(), n6: (*n6).to_owned(), native: !rest.is_empty() })
            }
            _ => Err(TextError::new(text, "pair of devices", "N3,N6 and N3,N6,native")),
        }
    }
}

impl fmt::Display for XdpDevices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}{}", self.n3, self.n6, if self.native { ",native" } else { "" })
    }
}

/// Counters of the data plane in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct XdpCounters {
    /// Session changes installed as map entries.
    pub installed: u64,
    /// Session changes that the programs do not support. The packet engine handles these sessions.
    pub left: u64,
    /// Session changes that the kernel rejected. The packet engine also handles these sessions.
    pub refused: u64,
    /// Numbers of uplink packets and bytes.
    pub uplink: (u64, u64),
    /// Numbers of downlink packets and bytes.
    pub downlink: (u64, u64),
}

#[derive(Debug)]
pub(super) struct XdpPlane {
    /// The programs are declared before the maps, so that they are dropped first. No program runs without its map.
    _programs: [XdpProgram; 2],
    uplink: BpfMap<KEY, VALUE>,
    downlink: BpfMap<KEY, VALUE>,
    n3: Ipv4Addr,
    sessions: HashMap<u64, [[u8; KEY]; 2]>,
    counters: XdpCounters,
}

impl XdpPlane {
    pub(super) fn start(config: &UpfConfig) -> Result<Option<Self>, UpfError> {
        let Some(devices) = &config.xdp else { return Ok(None) };
        let IpAddr::V4(n3) = config.n3.ip() else { return Err(UpfError::XdpAddress(config.n3)) };
        let entries = u32::try_from(config.settings.max_sessions).unwrap_or(u32::MAX).max(1);
        let map = || BpfMap::hash(entries).map_err(UpfError::XdpMap);
        let up = map()?;
        let down = map()?;
        let at = |device: &str, program: &[u64]| {
            let attached = XdpProgram::attach(device, program, devices.native);
            attached.map_err(UpfError::Xdp)
        };
        let programs = [
            at(&devices.n3, &uplink(up.descriptor(), n3))?,
            at(&devices.n6, &downlink(down.descriptor(), n3))?,
        ];
        let sessions = HashMap::new();
        let counters = XdpCounters::default();
        Ok(Some(Self { _programs: programs, uplink: up, downlink: down, n3, sessions, counters }))
    }

    /// Installs new or changed rules of a session.
    pub(super) fn install(&mut self, seid: u64, session: &Session) {
        let Some(plain) = offload(&rules(session), self.n3) else {
            self.counters.left += 1;
            self.remove(seid);
            return;
        };
        let keys = [plain.uplink.0, plain.downlink.0];
        if self.sessions.get(&seid).is_some_and(|before| *before != keys) {
            self.remove(seid);
        }
        // The entries' counters are added to the totals first, because they are lost when an entry is replaced.
        self.count(&keys);
        let set = self.uplink.set(&keys[0], &plain.uplink.1);
        match set.and_then(|()| self.downlink.set(&keys[1], &plain.downlink.1)) {
            Ok(()) => {
                self.counters.installed += 1;
                self.sessions.insert(seid, keys);
            }
            Err(error) => {
                tracing::warn!(%error, "the kernel refuses an entry; the packet engine handles the session");
                self.counters.refused += 1;
                self.count(&keys);
                self.sessions.remove(&seid);
            }
        }
    }

    /// Removes entries, and adds their counters to the totals.
    fn count(&mut self, keys: &[[u8; KEY]; 2]) {
        let add_counters =
            |map: &BpfMap<KEY, VALUE>, key: &[u8; KEY], sum: &mut (u64, u64)| -> io::Result<()> {
                if let Some(value) = map.take(key)? {
                    let (packets, octets) = counted(&value);
                    *sum = (sum.0 + packets, sum.1 + octets);
                }
                Ok(())
            };
        let up = add_counters(&self.uplink, &keys[0], &mut self.counters.uplink);
        let down = add_counters(&self.downlink, &keys[1], &mut self.counters.downlink);
        if let Err(error) = up.and(down) {
            tracing::warn!(%error, "an entry of the kernel's data plane could not be removed");
        }
    }

    pub(super) fn remove(&mut self, seid: u64) {
        if let Some(keys) = self.sessions.remove(&seid) {
            self.count(&keys);
        }
    }

    pub(super) fn clear(&mut self) {
        let all: Vec<_> = std::mem::take(&mut self.sessions).into_values().collect();
        all.iter().for_each(|keys| self.count(keys));
    }

    /// Removes all entries. Returns the counters of the data plane.
    pub(super) fn end(mut self) -> XdpCounters {
        self.clear();
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_net::XdpError;

    #[test]
    fn kernel_accepts_both_programs_or_denies_permission() {
        let Ok(map) = BpfMap::<KEY, VALUE>::hash(1) else { return };
        let n3 = Ipv4Addr::new(10, 0, 0, 2);
        for program in [uplink(map.descriptor(), n3), downlink(map.descriptor(), n3)] {
            match XdpProgram::check(&program) {
                Ok(()) => {}
                Err(XdpError::Program { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => {
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}
