//! Port forwarding: what enters one port leaves the other; the baseline of every comparison.
use super::{Flow, ParameterError, Reference};
use crate::declare::{Declaration, Decomposition, Direction, DropReason, Element, Port, Tables};
use crate::random::Random;
use crate::reference::{Step, destination_mac};
use crate::trace::frames::Packet;
use ranlab_wire::packet::Mac;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// Parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Portfwd {
    /// Cores of the system under test.
    pub core: u16,
    /// Unmatched packets leave by the other port; here nothing is matched.
    pub fakedrop: bool,
    /// Source MAC to write on the way up.
    #[serde(with = "super::gateway::mac_text_option")]
    pub mac_swap_upstream: Option<Mac>,
    /// Source MAC to write on the way down.
    #[serde(with = "super::gateway::mac_text_option")]
    pub mac_swap_downstream: Option<Mac>,
    /// Division into blocks.
    pub decomposition: Decomposition,
}

impl Default for Portfwd {
    fn default() -> Self {
        Self {
            core: 1,
            fakedrop: false,
            mac_swap_upstream: None,
            mac_swap_downstream: None,
            decomposition: Decomposition::Block,
        }
    }
}

impl Portfwd {
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        Ok(())
    }

    pub(super) fn build(&self) -> Declaration {
        let path = |port, source| self.decomposition.divide(vec![Element::Emit { port, source }]);
        Declaration {
            tables: Tables::default(),
            uplink: path(Port::Core, self.mac_swap_upstream),
            downlink: path(Port::Access, self.mac_swap_downstream),
            fakedrop: self.fakedrop,
        }
    }

    pub(super) fn table_entries(&self, _: Direction) -> u64 {
        1
    }

    pub(super) fn frame(&self, _: Flow, random: &mut Random, bytes: usize) -> Vec<u8> {
        let address = |random: &mut Random| Ipv4Addr::from_bits(random.next() as u32);
        let (src, dst) = (address(random), address(random));
        let (src_port, dst_port) = (random.next() as u16, random.next() as u16);
        Packet::udp((src, src_port), (dst, dst_port)).frame(Mac([0x02, 0, 0, 0, 0, 2]), bytes)
    }

    pub(super) fn oracle(&self) -> PortfwdOracle {
        PortfwdOracle(self.clone())
    }
}

pub(super) struct PortfwdOracle(Portfwd);

impl Reference for PortfwdOracle {
    fn process(&mut self, _: u64, ingress: Port, frame: &mut Vec<u8>) -> Step<Port> {
        let source = match ingress {
            Port::Access => self.0.mac_swap_upstream,
            Port::Core => self.0.mac_swap_downstream,
        };
        if let Some(source) = source {
            destination_mac(frame).map_err(|_| DropReason::Malformed)?;
            frame[6..12].copy_from_slice(&source.0);
        }
        Ok(ingress.other())
    }
}
