//! Rate limiter: a token bucket for each user, found by address. Frames are not modified.
use super::gateway::{self, Subscriber, Subscribers};
use super::l3fwd::Family;
use super::{Flow, ParameterError, Reference, TABLE_MAX, addressing, bounded, parameters};
use crate::declare::{Declaration, Direction, Element, ExactId, ExactTable, Port, Tables};
use crate::reference::{Step, TokenBucket, admit, destination, source};
use crate::trace::frames::Packet;
use ranlab_machine::Random;
use std::net::IpAddr;

parameters! {
    /// Parameters of pipeline `rlimit`.
    Rlimit, fakedrop true {
        user: u32 = 1, "Number of users.";
        family: Family = Family::Ipv4, "IP version of the users.";
        rate_limit: u64 = gateway::RATE_LIMIT, "Rate of a user, in bytes per second.";
        rate_burst: u32 = gateway::RATE_BURST, "Size of a user's token bucket, in bytes.";
    }
}

impl Rlimit {
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        bounded("user", self.user, 1, TABLE_MAX)
    }

    pub(super) fn build(&self) -> Declaration {
        let entries = (0..self.user).map(|u| (gateway::key_of(self.family, u), u)).collect();
        let path = |find, port| {
            let admit = Element::Admit { mac: None, ipv6: self.family != Family::Ipv4 };
            self.decomposition.divide(vec![admit, find, Element::Meter, Element::Emit { port, source: None }])
        };
        Declaration {
            tables: Tables {
                exact: vec![ExactTable { entries }],
                users: (0..self.user)
                    .map(|u| gateway::user(u, 0, self.rate_limit, self.rate_burst))
                    .collect(),
                ..Tables::default()
            },
            uplink: path(Element::FindUserBySource(ExactId(0)), Port::Core),
            downlink: path(Element::FindUserByDestination(ExactId(0)), Port::Access),
            fakedrop: self.fakedrop,
        }
    }

    pub(super) fn table_entries(&self, _: Direction) -> u64 {
        self.user.into()
    }

    pub(super) fn frame(&self, (direction, flow): Flow, random: &mut Random, bytes: usize) -> Vec<u8> {
        let index = (flow % u64::from(self.user.max(1))) as u32;
        let (user, server): (IpAddr, IpAddr) = if self.family.is_ipv6(index) {
            let user = addressing::host6(addressing::user6(index), random.next());
            (user.into(), addressing::server6(random.index(1 << 16)).into())
        } else {
            (addressing::user(index).into(), addressing::server(random.index(1 << 16)).into())
        };
        let (src, dst) = if direction == Direction::Uplink { (user, server) } else { (server, user) };
        let src_port = random.next() as u16;
        let dst_port = random.next() as u16;
        Packet::udp((src, src_port), (dst, dst_port)).frame(gateway::GW_MAC, bytes)
    }

    pub(super) fn oracle(&self) -> RlimitOracle {
        let mut users = Subscribers::default();
        for u in 0..self.user {
            let bucket = TokenBucket::full(self.rate_limit, self.rate_burst);
            let address = gateway::key_of(self.family, u);
            users.insert(Subscriber { address, tunnel_key: u, station: 0, bucket });
        }
        RlimitOracle { users, ipv6: self.family != Family::Ipv4 }
    }
}

pub(super) struct RlimitOracle {
    users: Subscribers,
    ipv6: bool,
}

impl Reference for RlimitOracle {
    fn process(&mut self, now_ns: u64, ingress: Port, frame: &mut Vec<u8>) -> Step<Port> {
        admit(frame, None, self.ipv6)?;
        let user = if ingress == Port::Access { source(frame)? } else { destination(frame)? };
        self.users.by_address(user)?.bucket.charge(now_ns, frame)?;
        Ok(ingress.other())
    }
}
