//! The program that redirects datagrams for this process from the device's queues to AF_XDP sockets.
use super::XskSocket;
use crate::bpf::{BpfMap, XdpError, XdpProgram};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};

const XDP_PASS: i32 = 2;
const REDIRECT_MAP: i32 = 51;
/// `struct xdp_md`: start of the packet, its end, and its queue.
const DATA: i16 = 0;
const DATA_END: i16 = 4;
const RX_QUEUE: i16 = 16;
const ETHERNET: i16 = 14;
const UDP_BYTES: i16 = 8;
const UDP: i32 = 17;

/// Datagrams to redirect: UDP to one of `count` addresses from `first` on, and to `port`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XskTarget {
    /// The first address; IPv6 counts within the last 32 bits.
    pub first: IpAddr,
    /// Number of addresses.
    pub count: u32,
    /// Destination port of UDP.
    pub port: u16,
}

/// The program at its device, and its table of sockets by queue. Dropping it removes both.
#[derive(Debug)]
pub struct XskSteering {
    /// The program is dropped before the map, because no program may run without its map.
    program: XdpProgram,
    sockets: BpfMap<4, 4>,
}

impl XskSteering {
    /// Attaches the program to the device `name`, with room for `queues` sockets. The kernel keeps all frames that do
    /// not match `target` or arrive at a queue without a socket. It also keeps fragments, and frames with IPv4 options,
    /// IPv6 extension headers or a VLAN tag.
    pub fn attach(name: &str, target: XskTarget, queues: u32, native: bool) -> Result<Self, XdpError> {
        let sockets = BpfMap::sockets(queues)
            .map_err(|source| XdpError::Program { source, log: "no table of AF_XDP sockets".to_owned() })?;
        let program = XdpProgram::attach(name, &redirect(sockets.descriptor(), &target), native)?;
        Ok(Self { program, sockets })
    }

    /// Redirects matching frames of this queue to this socket from now on.
    pub fn steer(&self, queue: u32, socket: &XskSocket) -> io::Result<()> {
        let descriptor = socket.as_fd().as_raw_fd();
        self.sockets.set(&queue.to_ne_bytes(), &descriptor.to_ne_bytes())
    }

    /// Returns whether the driver runs the program.
    pub fn is_native(&self) -> bool {
        self.program.native
    }
}

/// Instructions whose failed checks all jump to the end.
#[derive(Default)]
struct Code {
    instructions: Vec<u64>,
    to_end: Vec<usize>,
}

impl Code {
    /// Appends one instruction (`struct bpf_insn`).
    fn put(&mut self, code: u8, to: u8, from: u8, offset: i16, immediate: i32) {
        let low = u64::from(code) | u64::from(from << 4 | to) << 8 | u64::from(offset as u16) << 16;
        self.instructions.push(low | u64::from(immediate as u32) << 32);
    }

    /// Writes `to = from` for eight bytes.
    fn copy(&mut self, to: u8, from: u8) {
        self.put(0xbf, to, from, 0, 0);
    }

    /// Writes `to = number`.
    fn number(&mut self, to: u8, number: i32) {
        self.put(0xb7, to, 0, 0, number);
    }

    /// Writes `to = *(from + offset)`, with the width of the load instruction.
    fn load(&mut self, load: u8, to: u8, from: u8, offset: i16) {
        self.put(load, to, from, offset, 0);
    }

    /// Jumps to the end if the comparison `jump` of the lower four bytes of register 5 with the number is true.
    fn leave_if(&mut self, jump: u8, number: i32) {
        self.to_end.push(self.instructions.len());
        self.put(jump, 5, 0, 0, number);
    }

    /// Loads bytes of the packet into register 5. Jumps to the end if they are not `value`.
    fn require(&mut self, load: u8, at: i16, value: i32) {
        self.load(load, 5, 2, at);
        self.leave_if(IF_NOT, value);
    }

    fn finish(mut self) -> Vec<u64> {
        let end = self.instructions.len();
        for at in self.to_end {
            let offset = (end - at - 1) as u16;
            self.instructions[at] |= u64::from(offset) << 16;
        }
        self.instructions.extend([0x0000_0002_0000_00b7, 0x95]);
        self.instructions
    }
}

/// Operation codes: loads of one, two and four bytes, and jumps that compare four bytes.
const ONE: u8 = 0x71;
const TWO: u8 = 0x69;
const FOUR: u8 = 0x61;
const IF_NOT: u8 = 0x56;
const IF_AT_LEAST: u8 = 0x36;

/// Returns the program. `map` is the descriptor of the table.
fn redirect(map: i32, target: &XskTarget) -> Vec<u64> {
    let mut code = Code::default();
    let network16 = |value: u16| i32::from(u16::from_ne_bytes(value.to_be_bytes()));
    let (ip_bytes, destination) = if target.first.is_ipv4() { (20, 30) } else { (40, 38) };
    code.copy(6, 1);
    code.load(FOUR, 2, 1, DATA);
    code.load(FOUR, 3, 1, DATA_END);
    // Register 4 is the end of the UDP header. A shorter frame is left to the kernel.
    code.copy(4, 2);
    code.put(0x07, 4, 0, 0, i32::from(ETHERNET + ip_bytes + UDP_BYTES));
    code.to_end.push(code.instructions.len());
    code.put(0x2d, 4, 3, 0, 0);
    match target.first {
        IpAddr::V4(first) => {
            code.require(TWO, 12, network16(0x0800));
            code.require(ONE, 14, 0x45);
            // Leaves fragments to the kernel.
            code.load(TWO, 5, 2, 20);
            code.put(0x57, 5, 0, 0, network16(0x3fff));
            code.leave_if(IF_NOT, 0);
            code.require(ONE, 23, UDP);
            in_range(&mut code, destination, u32::from(first), target.count);
        }
        IpAddr::V6(first) => {
            code.require(TWO, 12, network16(0x86dd));
            code.require(ONE, 20, UDP);
            let [a, b, c, last] = std::array::from_fn(|n| (u128::from(first) >> (96 - 32 * n)) as u32);
            for (word, at) in [a, b, c].into_iter().zip([38, 42, 46]) {
                code.require(FOUR, at, i32::from_ne_bytes(word.to_be_bytes()));
            }
            in_range(&mut code, destination + 12, last, target.count);
        }
    }
    code.require(TWO, ETHERNET + ip_bytes + 2, network16(target.port));
    // Calls bpf_redirect_map(table, queue, verdict if the queue has no entry).
    code.load(FOUR, 2, 6, RX_QUEUE);
    code.put(0x18, 1, 1, 0, map);
    code.put(0, 0, 0, 0, 0);
    code.number(3, XDP_PASS);
    code.put(0x85, 0, 0, 0, REDIRECT_MAP);
    code.put(0x95, 0, 0, 0, 0);
    code.finish()
}

/// Jumps to the end, unless the address at `at` is one of `count` from `first` on.
fn in_range(code: &mut Code, at: i16, first: u32, count: u32) {
    code.load(FOUR, 5, 2, at);
    // Converts the address to the machine's byte order and subtracts `first`, in four bytes. Addresses below `first`
    // become very large numbers.
    code.put(0xdc, 5, 0, 0, 32);
    code.put(0x14, 5, 0, 0, first as i32);
    code.leave_if(IF_AT_LEAST, count as i32);
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: u16 = 2_152;
    const REDIRECT: u32 = 4;

    fn v4(to: [u8; 4], port: u16) -> Vec<u8> {
        let mut frame = vec![0; 14 + 20 + 8 + 40];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[14] = 0x45;
        frame[16..18].copy_from_slice(&68_u16.to_be_bytes());
        frame[23] = 17;
        frame[30..34].copy_from_slice(&to);
        frame[36..38].copy_from_slice(&port.to_be_bytes());
        frame
    }

    fn v6(to: &str, port: u16) -> Vec<u8> {
        let mut frame = vec![0; 14 + 40 + 8 + 40];
        frame[12..14].copy_from_slice(&[0x86, 0xdd]);
        (frame[14], frame[20]) = (0x60, 17);
        frame[38..54].copy_from_slice(&to.parse::<std::net::Ipv6Addr>().unwrap().octets());
        frame[56..58].copy_from_slice(&port.to_be_bytes());
        frame
    }

    /// Returns the kernel's verdict for a frame; `None` if this user may not run the test. The table is empty, so a
    /// frame to be redirected gets the fallback verdict. All other frames would get the same verdict, so the fallback
    /// is changed.
    fn verdict(target: XskTarget, frame: &[u8]) -> Option<u32> {
        let map = match BpfMap::sockets(4) {
            Ok(map) => map,
            Err(error) => {
                ranlab_host::doctor::skipped(format_args!(
                    "the kernel lets this user have no maps ({error})"
                ));
                return None;
            }
        };
        let mut code = redirect(map.descriptor(), &target);
        let fallback = code.len() - 5;
        assert_eq!(code[fallback], 0x0000_0002_0000_03b7);
        // The fallback becomes XDP_TX (3), which the program returns in no other case.
        code[fallback] = 0x0000_0003_0000_03b7;
        let (verdict, out) = XdpProgram::try_on(&code, frame).unwrap();
        assert_eq!(out, frame, "the program must not change the frame");
        assert_ne!(verdict, REDIRECT, "nothing may be redirected while the table of sockets is empty");
        Some(verdict)
    }

    #[test]
    fn only_datagrams_to_target_are_redirected() {
        let target = XskTarget { first: [10, 0, 0, 254].into(), count: 4, port: PORT };
        let Some(ours) = verdict(target, &v4([10, 0, 0, 254], PORT)) else { return };
        assert_eq!(ours, 3);
        for to in [[10, 0, 0, 255], [10, 0, 1, 0], [10, 0, 1, 1]] {
            assert_eq!(verdict(target, &v4(to, PORT)), Some(3), "{to:?}");
        }
        for to in [[10, 0, 0, 253], [10, 0, 1, 2], [11, 0, 0, 254], [254, 0, 0, 10]] {
            assert_eq!(verdict(target, &v4(to, PORT)), Some(2), "{to:?}");
        }
        let good = v4([10, 0, 0, 255], PORT);
        assert_eq!(verdict(target, &v4([10, 0, 0, 255], 2_153)), Some(2));
        // Another EtherType, IPv4 options, the first and a later fragment, TCP; then a truncated frame.
        for (at, octet) in [(12, 0x86), (14, 0x46), (20, 0x20), (21, 1), (23, 6)] {
            let mut frame = good.clone();
            frame[at] = octet;
            assert_eq!(verdict(target, &frame), Some(2), "octet {at}");
        }
        assert_eq!(verdict(target, &good[..41]), Some(2));
        // "Do not fragment" is not a fragment.
        let mut frame = good.clone();
        frame[20] = 0x40;
        assert_eq!(verdict(target, &frame), Some(3));
    }

    #[test]
    fn only_ipv6_datagrams_to_target_are_redirected() {
        let target = XskTarget { first: "fd00::10:fffe".parse().unwrap(), count: 3, port: PORT };
        let Some(ours) = verdict(target, &v6("fd00::10:fffe", PORT)) else { return };
        assert_eq!((ours, verdict(target, &v6("fd00::11:0", PORT))), (3, Some(3)));
        for other in ["fd00::10:fffd", "fd00::11:1", "fd01::10:fffe", "fd00::1:0:10:fffe"] {
            assert_eq!(verdict(target, &v6(other, PORT)), Some(2), "{other}");
        }
        assert_eq!(verdict(target, &v6("fd00::10:ffff", PORT + 1)), Some(2));
        let mut frame = v6("fd00::10:ffff", PORT);
        frame[20] = 44;
        assert_eq!(
            verdict(target, &frame),
            Some(2),
            "a packet with a fragment header must not be redirected"
        );
        assert_eq!(verdict(target, &v4([10, 0, 0, 1], PORT)), Some(2));
    }
}
