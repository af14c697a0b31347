//! An assembler for the kernel's packet programs, as small as two programs need: labels, and one method for each form.

/// A register.
pub(super) type Reg = u8;
/// Where the frame pointer is.
pub(super) const FRAME: Reg = 10;

/// Octets of a memory access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    One = 0x10,
    Two = 0x08,
    Four = 0x00,
    Eight = 0x18,
}

/// Operations on registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Add = 0x00,
    Sub = 0x10,
    And = 0x50,
    RightShift = 0x70,
    Xor = 0xa0,
    Move = 0xb0,
}

/// Conditions of jumps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum If {
    Equal = 0x10,
    Greater = 0x20,
    NotEqual = 0x50,
}

/// A place to jump to, forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label(usize);

#[derive(Debug, Default)]
pub(super) struct Assembler {
    code: Vec<u64>,
    /// By label: where it is, and who jumps there.
    labels: Vec<(Option<usize>, Vec<usize>)>,
}

impl Assembler {
    fn put(&mut self, code: u8, to: Reg, from: Reg, offset: i16, immediate: i32) {
        let registers = u64::from(from) << 4 | u64::from(to);
        let low = u64::from(code) | registers << 8 | u64::from(offset as u16) << 16;
        self.code.push(low | u64::from(immediate as u32) << 32);
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels.push((None, Vec::new()));
        Label(self.labels.len() - 1)
    }

    /// The label is here.
    pub(super) fn place(&mut self, label: Label) {
        self.labels[label.0].0 = Some(self.code.len());
    }

    /// 64-bit operation with a number.
    pub(super) fn number(&mut self, op: Op, to: Reg, number: i32) {
        self.put(op as u8 | 0x07, to, 0, 0, number);
    }

    /// 64-bit operation with a register.
    pub(super) fn register(&mut self, op: Op, to: Reg, from: Reg) {
        self.put(op as u8 | 0x0f, to, from, 0, 0);
    }

    /// `to = *(from + offset)`
    pub(super) fn load(&mut self, size: Size, to: Reg, from: Reg, offset: i16) {
        self.put(size as u8 | 0x61, to, from, offset, 0);
    }

    /// `*(to + offset) = from`
    pub(super) fn store(&mut self, size: Size, to: Reg, offset: i16, from: Reg) {
        self.put(size as u8 | 0x63, to, from, offset, 0);
    }

    /// `*(to + offset) = number`
    pub(super) fn store_number(&mut self, size: Size, to: Reg, offset: i16, number: i32) {
        self.put(size as u8 | 0x62, to, 0, offset, number);
    }

    /// `*(to + offset) += from`, eight octets, whoever else does the same.
    pub(super) fn add_atomically(&mut self, to: Reg, offset: i16, from: Reg) {
        self.put(0xdb, to, from, offset, 0);
    }

    /// Between the network's order and the machine's, two octets.
    pub(super) fn swap16(&mut self, register: Reg) {
        self.put(0xdc, register, 0, 0, 16);
    }

    pub(super) fn jump_if(&mut self, condition: If, register: Reg, number: i32, label: Label) {
        self.labels[label.0].1.push(self.code.len());
        self.put(condition as u8 | 0x05, register, 0, 0, number);
    }

    /// The lower four octets are compared.
    pub(super) fn jump_if_word(&mut self, condition: If, register: Reg, number: i32, label: Label) {
        self.labels[label.0].1.push(self.code.len());
        self.put(condition as u8 | 0x06, register, 0, 0, number);
    }

    pub(super) fn jump_if_register(&mut self, condition: If, register: Reg, other: Reg, label: Label) {
        self.labels[label.0].1.push(self.code.len());
        self.put(condition as u8 | 0x0d, register, other, 0, 0);
    }

    /// `to` = the map of this descriptor.
    pub(super) fn map(&mut self, to: Reg, descriptor: i32) {
        self.put(0x18, to, 1, 0, descriptor);
        self.put(0, 0, 0, 0, 0);
    }

    /// One of the kernel's helpers, by its number.
    pub(super) fn call(&mut self, helper: i32) {
        self.put(0x85, 0, 0, 0, helper);
    }

    pub(super) fn end(&mut self, answer: i32) {
        self.number(Op::Move, 0, answer);
        self.exit();
    }

    /// Ends with what is in register 0.
    pub(super) fn exit(&mut self) {
        self.put(0x95, 0, 0, 0, 0);
    }

    /// The instructions. Labels that were never placed lead to the end, which the kernel refuses.
    pub(super) fn finish(mut self) -> Vec<u64> {
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
    fn instructions_are_the_kernels() {
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
