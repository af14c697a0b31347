//! ASN.1 value notation (X.680): how a decoded message is shown to people and compared with other codecs.

/// An indenting writer of ASN.1 value notation.
#[derive(Debug, Default)]
pub struct Notation {
    out: String,
    depth: usize,
    /// Whether the innermost braces hold nothing yet.
    empty: bool,
}

impl Notation {
    /// The notation of whatever `show` writes.
    pub fn of(show: impl FnOnce(&mut Self)) -> String {
        let mut n = Self::default();
        show(&mut n);
        n.out
    }

    /// Verbatim text.
    pub fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// A number or another value whose display is its notation.
    pub fn value(&mut self, value: impl std::fmt::Display) {
        use std::fmt::Write;
        // Writing to a String cannot fail.
        let _ = write!(self.out, "{value}");
    }

    /// `{ ... }` around what `contents` writes with [`field`](Self::field) or [`element`](Self::element).
    pub fn braces(&mut self, contents: impl FnOnce(&mut Self)) {
        self.out.push('{');
        self.depth += 1;
        let outer = std::mem::replace(&mut self.empty, true);
        contents(self);
        self.depth -= 1;
        if self.empty {
            self.out.push(' ');
        } else {
            self.newline();
        }
        self.empty = outer;
        self.out.push('}');
    }

    /// One element of a list, or one component that writes its own name.
    pub fn element(&mut self, contents: impl FnOnce(&mut Self)) {
        if !self.empty {
            self.out.push(',');
        }
        self.newline();
        contents(self);
        self.empty = false;
    }

    /// One named component.
    pub fn field(&mut self, name: &str, contents: impl FnOnce(&mut Self)) {
        self.element(|n| {
            n.text(name);
            n.text(" ");
            contents(n);
        });
    }

    /// An OCTET STRING.
    pub fn octets(&mut self, octets: &[u8]) {
        self.text("'");
        for o in octets {
            self.value(format_args!("{o:02X}"));
        }
        self.text("'H");
    }

    /// A BIT STRING given as whole octets (the last one padded): in hexadecimal when its length allows it.
    pub fn bits(&mut self, octets: &[u8], len_bits: usize) {
        self.text("'");
        let hex = len_bits > 0 && len_bits.is_multiple_of(4);
        let (step, count) = if hex { (4, len_bits / 4) } else { (1, len_bits) };
        for i in 0..count {
            let at = i * step;
            let digit = (octets[at / 8] >> (8 - step - at % 8)) & ((1 << step) - 1);
            self.value(format_args!("{digit:X}"));
        }
        self.text(if hex { "'H" } else { "'B" });
    }

    fn newline(&mut self) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n("  ", self.depth));
    }
}
