//! Port forwarding: packets that arrive at one port leave by the other port. This pipeline is the baseline of every
//! comparison.
use super::{Flow, ParameterError, Reference, parameters};
use crate::declare::{Declaration, Direction, DropReason, Element, Port, Tables};
use crate::reference::{Step, destination_mac};
use crate::trace::frames::Packet;
use ranlab_machine::Random;
use ranlab_packet::Mac;
use std::net::Ipv4Addr;

parameters! {
    /// Parameters of pipeline `portfwd`. Nothing is matched, so `fakedrop` has no effect.
    Portfwd, fakedrop false {
        #[serde(with = "super::gateway::mac_text_option")]
        mac_swap_upstream: Option<Mac> = None, "Source MAC address that is written into uplink packets.";
        #[serde(with = "super::gateway::mac_text_option")]
        mac_swap_downstream: Option<Mac> = None, "Source MAC address that is written into downlink packets.";
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
        let src = address(random);
        let dst = address(random);
        let src_port = random.next() as u16;
        let dst_port = random.next() as u16;
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
