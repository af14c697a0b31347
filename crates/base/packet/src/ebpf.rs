//! An assembler for the kernel's packet programs (eBPF, RFC 9669), with labels and one method per instruction form.
//! The programs of the user plane function and of pipelines use it.

mod headers;

pub use headers::{CONTEXT, Field, GTPU, LENGTH, PACKET, ipv4_sum};

/// XDP verdict: drop the packet.
pub const DROP: i32 = 1;
/// XDP verdict: pass the packet to the kernel.
pub const PASS: i32 = 2;
/// Kernel helper `bpf_map_lookup_elem`.
pub const MAP_LOOKUP: i32 = 1;
/// Kernel helper `bpf_ktime_get_ns`.
pub const NOW: i32 = 5;
/// Kernel helper `bpf_redirect`.
pub const REDIRECT: i32 = 23;
/// Kernel helper `bpf_xdp_adjust_head`.
pub const ADJUST_HEAD: i32 = 44;
/// Kernel helper `bpf_xdp_adjust_tail`.
pub const ADJUST_TAIL: i32 = 65;
/// Kernel helper `bpf_xdp_store_bytes`.
pub const STORE_BYTES: i32 = 190;

/// Returns two bytes of a packet as a number in the machine's byte order.
pub const fn read16(bytes: [u8; 2]) -> i32 {
    u16::from_ne_bytes(bytes) as i32
}

/// Returns four bytes of a packet as a number in the machine's byte order.
pub const fn read32(bytes: [u8; 4]) -> i32 {
    i32::from_ne_bytes(bytes)
}

/// Number of a register, 0 to 10.
pub type Reg = u8;
/// Register of the frame pointer.
pub const FRAME: Reg = 10;

/// Size of a memory access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// 1 byte.
    One = 0x10,
    /// 2 bytes.
    Two = 0x08,
    /// 4 bytes.
    Four = 0x00,
    /// 8 bytes.
    Eight = 0x18,
}

/// Operations on registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// `to += from`
    Add = 0x00,
    /// `to -= from`
    Sub = 0x10,
    /// `to *= from`
    Multiply = 0x20,
    /// `to |= from`
    Or = 0x40,
    /// `to &= from`
    And = 0x50,
    /// `to <<= from`
    LeftShift = 0x60,
    /// `to >>= from`, unsigned.
    RightShift = 0x70,
    /// `to = -to`
    Negate = 0x80,
    /// `to ^= from`
    Xor = 0xa0,
    /// `to = from`
    Move = 0xb0,
    /// `to >>= from`, signed.
    Arithmetic = 0xc0,
}

/// Conditions of jumps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum If {
    /// `==`
    Equal = 0x10,
    /// `>`, unsigned.
    Greater = 0x20,
    /// `>=`, unsigned.
    NotLess = 0x30,
    /// `!=`
    NotEqual = 0x50,
    /// `<`, unsigned.
    Less = 0xa0,
}

/// Target of a jump or a function call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(usize);

/// Program under construction.
#[derive(Debug, Default)]
pub struct Assembler {
    code: Vec<u64>,
    /// Position of each label, and positions of the jumps to it.
    labels: Vec<(Option<usize>, Vec<usize>)>,
    /// Calls: position and label.
    calls: Vec<(usize, usize)>,
    /// Whether the current position is unreachable. Code written there is omitted, because the kernel rejects unreachable code.
    dead: bool,
}

impl Assembler {
    fn put(&mut self, code: u8, to: Reg, from: Reg, offset: i16, immediate: i32) {
        if self.dead {
            return;
        }
        let registers = u64::from(from) << 4 | u64::from(to);
        let low = u64::from(code) | registers << 8 | u64::from(offset as u16) << 16;
        self.code.push(low | u64::from(immediate as u32) << 32);
    }

    /// Creates a label; [`place`](Self::place) sets its position.
    pub fn label(&mut self) -> Label {
        self.labels.push((None, Vec::new()));
        Label(self.labels.len() - 1)
    }

    /// Returns whether the current position is reachable.
    pub const fn is_reached(&self) -> bool {
        !self.dead
    }

    fn jumps_to(&mut self, label: Label) {
        if !self.dead {
            self.labels[label.0].1.push(self.code.len());
        }
    }

    /// Places the label at the current position.
    pub fn place(&mut self, label: Label) {
        let called = self.calls.iter().any(|(_, to)| *to == label.0);
        self.dead &= self.labels[label.0].1.is_empty() && !called;
        self.labels[label.0].0 = Some(self.code.len());
    }

    /// Writes a 64-bit operation with a number.
    pub fn number(&mut self, op: Op, to: Reg, number: i32) {
        self.put(op as u8 | 0x07, to, 0, 0, number);
    }

    /// Writes a 64-bit operation with a register.
    pub fn register(&mut self, op: Op, to: Reg, from: Reg) {
        self.put(op as u8 | 0x0f, to, from, 0, 0);
    }

    /// Writes a 32-bit operation with a number; the upper half becomes zero.
    pub fn word_number(&mut self, op: Op, to: Reg, number: i32) {
        self.put(op as u8 | 0x04, to, 0, 0, number);
    }

    /// Writes a 32-bit operation with a register; the upper half becomes zero.
    pub fn word_register(&mut self, op: Op, to: Reg, from: Reg) {
        self.put(op as u8 | 0x0c, to, from, 0, 0);
    }

    /// Writes `to = *(from + offset)`.
    pub fn load(&mut self, size: Size, to: Reg, from: Reg, offset: i16) {
        self.put(size as u8 | 0x61, to, from, offset, 0);
    }

    /// Writes `*(to + offset) = from`.
    pub fn store(&mut self, size: Size, to: Reg, offset: i16, from: Reg) {
        self.put(size as u8 | 0x63, to, from, offset, 0);
    }

    /// Writes `*(to + offset) = number`.
    pub fn store_number(&mut self, size: Size, to: Reg, offset: i16, number: i32) {
        self.put(size as u8 | 0x62, to, 0, offset, number);
    }

    /// Writes `*(to + offset) += from` for eight bytes, atomically.
    pub fn add_atomically(&mut self, to: Reg, offset: i16, from: Reg) {
        self.put(0xdb, to, from, offset, 0);
    }

    /// Converts two bytes between network byte order and the machine's.
    pub fn swap16(&mut self, register: Reg) {
        self.put(0xdc, register, 0, 0, 16);
    }

    /// Writes an unconditional jump.
    pub fn jump(&mut self, label: Label) {
        self.jumps_to(label);
        self.put(0x05, 0, 0, 0, 0);
        self.dead = true;
    }

    /// Calls the function at the label. Registers 1 to 5 contain its arguments; registers 6 to 9 are preserved.
    pub fn call_function(&mut self, label: Label) {
        if !self.dead {
            self.calls.push((self.code.len(), label.0));
        }
        self.put(0x85, 0, 1, 0, 0);
    }

    /// Writes a jump that is taken if the condition holds for the 64 bits of a register and a number.
    pub fn jump_if(&mut self, condition: If, register: Reg, number: i32, label: Label) {
        self.jumps_to(label);
        self.put(condition as u8 | 0x05, register, 0, 0, number);
    }

    /// Like [`jump_if`](Self::jump_if), for the lower 32 bits.
    pub fn jump_if_word(&mut self, condition: If, register: Reg, number: i32, label: Label) {
        self.jumps_to(label);
        self.put(condition as u8 | 0x06, register, 0, 0, number);
    }

    /// Writes a jump that is taken if the condition holds for the 64 bits of two registers.
    pub fn jump_if_register(&mut self, condition: If, register: Reg, other: Reg, label: Label) {
        self.jumps_to(label);
        self.put(condition as u8 | 0x0d, register, other, 0, 0);
    }

    /// Returns the number of instructions.
    pub fn len(&self) -> usize {
        self.code.len()
    }

    /// Returns whether there are no instructions yet.
    pub fn is_empty(&self) -> bool {
        self.code.is_empty()
    }

    /// Loads the map that has this file descriptor into `to`.
    pub fn map(&mut self, to: Reg, descriptor: i32) {
        self.put(0x18, to, 1, 0, descriptor);
        self.put(0, 0, 0, 0, 0);
    }

    /// Calls a kernel helper by its number.
    pub fn call(&mut self, helper: i32) {
        self.put(0x85, 0, 0, 0, helper);
    }

    /// Ends the program with this result.
    pub fn end(&mut self, answer: i32) {
        self.number(Op::Move, 0, answer);
        self.exit();
    }

    /// Ends the program with the result in register 0.
    pub fn exit(&mut self) {
        self.put(0x95, 0, 0, 0, 0);
        self.dead = true;
    }

    /// Returns the instructions. Jumps to labels without a position lead to the end, which the kernel rejects.
    pub fn finish(mut self) -> Vec<u64> {
        for (from, label) in std::mem::take(&mut self.calls) {
            let at = self.labels[label].0.unwrap_or(self.code.len());
            let offset = (at as i64 - from as i64 - 1) as i32;
            self.code[from] |= u64::from(offset as u32) << 32;
        }
        for (at, jumps) in std::mem::take(&mut self.labels) {
            let at = at.unwrap_or(self.code.len());
            for from in jumps {
                let offset = (at as i64 - from as i64 - 1) as i16;
                self.code[from] |= u64::from(offset as u16) << 16;
            }
        }
        self.code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreachable_code_is_omitted() {
        let mut code = Assembler::default();
        let function = code.label();
        let never = code.label();
        code.call_function(function);
        code.exit();
        code.jump(never);
        code.place(never);
        code.end(7);
        assert!(!code.is_reached());
        code.place(function);
        code.end(3);
        assert_eq!(code.finish(), [0x0000_0001_0000_1085, 0x95, 0x0000_0003_0000_00b7, 0x95]);
    }

    #[test]
    fn instructions_match_the_kernel_encoding() {
        let mut code = Assembler::default();
        let label = code.label();
        code.jump_if(If::Equal, 1, 5, label);
        code.load(Size::Four, 2, 1, 4);
        code.place(label);
        code.end(2);
        assert_eq!(
            code.finish(),
            [0x0000_0005_0001_0115, 0x0000_0000_0004_1261, 0x0000_0002_0000_00b7, 0x95]
        );
    }
}
