//! ASN.1 value notation (X.680), for display and for comparison with other codecs.
//!
//! The functions of this module are marked as cold. They are not generic, except for thin wrappers around the caller's closure. Every
//! message type has a function `show`, which is never called while messages are forwarded. The compiler therefore keeps this code small and
//! apart from hot code.
use super::{Form, real};

/// Indenting writer of ASN.1 value notation.
#[derive(Debug, Default)]
pub struct Notation {
    out: String,
    depth: usize,
    /// Whether the innermost braces are still empty.
    empty: bool,
    /// Named values, collected instead of text.
    tree: Option<Tree>,
}

/// Named value under construction.
#[derive(Debug, Default)]
struct Tree {
    /// Value that was shown last.
    shown: Option<Form>,
    /// Enclosing values.
    open: Vec<Vec<(String, Form)>>,
}

impl Notation {
    /// Returns the notation that `show` writes.
    pub fn collect(show: impl FnOnce(&mut Self)) -> String {
        let mut n = Self::default();
        show(&mut n);
        n.out
    }

    /// Returns the value that `show` writes, as a [`Form`] with names.
    pub fn form(show: impl FnOnce(&mut Self)) -> Form {
        let mut n = Self { tree: Some(Tree::default()), ..Self::default() };
        show(&mut n);
        n.tree.and_then(|tree| tree.shown).unwrap_or(Form::Null)
    }

    /// Puts a value into the tree. Returns whether there is a tree.
    fn put(&mut self, form: impl FnOnce() -> Form) -> bool {
        let Some(tree) = &mut self.tree else { return false };
        tree.shown = Some(form());
        true
    }

    /// Writes verbatim text.
    #[cold]
    pub fn text(&mut self, text: &str) {
        if !self.put(|| Form::Text(text.to_owned())) {
            self.out.push_str(text);
        }
    }

    /// Writes a BOOLEAN.
    #[cold]
    pub fn flag(&mut self, value: bool) {
        if !self.put(|| Form::Bool(value)) {
            self.out.push_str(if value { "TRUE" } else { "FALSE" });
        }
    }

    /// Writes a REAL.
    #[cold]
    pub fn real(&mut self, value: f64) {
        if !self.put(|| if value.is_finite() { Form::Real(value) } else { Form::Text(value.to_string()) }) {
            self.out.push_str(&real::notation(value));
        }
    }

    /// Writes a character string.
    #[cold]
    pub fn string(&mut self, text: &str) {
        if !self.put(|| Form::Text(text.to_owned())) {
            self.value(format_args!("{text:?}"));
        }
    }

    /// Writes the alternative of a CHOICE.
    pub fn alternative(&mut self, name: &str, contents: impl FnOnce(&mut Self)) {
        self.begin_alternative(name);
        contents(self);
        self.end_alternative(name);
    }

    #[cold]
    fn begin_alternative(&mut self, name: &str) {
        match &mut self.tree {
            Some(tree) => tree.open.push(Vec::new()),
            None => {
                self.out.push_str(name);
                self.out.push_str(" : ");
            }
        }
    }

    #[cold]
    fn end_alternative(&mut self, name: &str) {
        if self.tree.is_some() {
            self.attach(name);
            let fields = self.grown();
            self.put(|| Form::Fields(fields));
        }
    }

    /// Returns the components that were attached to the innermost value of the tree, and closes it.
    fn grown(&mut self) -> Vec<(String, Form)> {
        self.tree.as_mut().and_then(|tree| tree.open.pop()).unwrap_or_default()
    }

    /// Attaches the value that was shown last to the innermost value of the tree.
    fn attach(&mut self, name: &str) {
        if let Some(Tree { shown, open }) = &mut self.tree
            && let (Some(value), Some(fields)) = (shown.take(), open.last_mut())
        {
            fields.push((name.to_owned(), value));
        }
    }

    /// Writes a number or another value whose display is its notation.
    pub fn value(&mut self, value: impl std::fmt::Display) {
        self.display(&value);
    }

    #[cold]
    fn display(&mut self, value: &dyn std::fmt::Display) {
        use std::fmt::Write;
        if self.tree.is_some() {
            let text = value.to_string();
            let number = text.parse().ok().filter(|value: &f64| value.is_finite());
            let number = text.parse().map(Form::Integer).ok().or_else(|| number.map(Form::Real));
            self.put(|| number.unwrap_or(Form::Text(text)));
            return;
        }
        // Writing to a String cannot fail.
        let _ = write!(self.out, "{value}");
    }

    /// Writes `{ ... }` around the output of `contents`, which uses [`field`](Self::field) or
    /// [`element`](Self::element).
    pub fn braces(&mut self, contents: impl FnOnce(&mut Self)) {
        let outer = self.begin_braces();
        contents(self);
        self.end_braces(outer);
    }

    /// Writes `{ ... }` around the elements of a list, which `contents` writes with [`element`](Self::element) only.
    pub fn list(&mut self, contents: impl FnOnce(&mut Self)) {
        let outer = self.begin_braces();
        contents(self);
        self.end_list(outer);
    }

    /// Returns whether the enclosing braces are still empty.
    #[cold]
    fn begin_braces(&mut self) -> bool {
        if let Some(tree) = &mut self.tree {
            tree.open.push(Vec::new());
            return self.empty;
        }
        self.out.push('{');
        self.depth += 1;
        std::mem::replace(&mut self.empty, true)
    }

    #[cold]
    fn end_braces(&mut self, outer: bool) {
        if self.tree.is_some() {
            let fields = self.grown();
            self.put(|| Form::Fields(fields));
            return;
        }
        self.depth -= 1;
        if self.empty {
            self.out.push(' ');
        } else {
            self.newline();
        }
        self.empty = outer;
        self.out.push('}');
    }

    #[cold]
    fn end_list(&mut self, outer: bool) {
        if self.tree.is_none() {
            return self.end_braces(outer);
        }
        let elements = self.grown().into_iter().map(|(_, element)| element).collect();
        self.put(|| Form::List(elements));
    }

    /// Writes one element of a list, or one component that writes its own name.
    pub fn element(&mut self, contents: impl FnOnce(&mut Self)) {
        self.begin_line("");
        contents(self);
        self.end_line("");
    }

    /// Writes one named component.
    pub fn field(&mut self, name: &str, contents: impl FnOnce(&mut Self)) {
        self.begin_line(name);
        contents(self);
        self.end_line(name);
    }

    #[cold]
    fn begin_line(&mut self, name: &str) {
        if self.tree.is_some() {
            return;
        }
        if !self.empty {
            self.out.push(',');
        }
        self.newline();
        if !name.is_empty() {
            self.out.push_str(name);
            self.out.push(' ');
        }
    }

    #[cold]
    fn end_line(&mut self, name: &str) {
        if self.tree.is_some() {
            self.attach(name);
        } else {
            self.empty = false;
        }
    }

    /// Writes an OCTET STRING.
    #[cold]
    pub fn octets(&mut self, octets: &[u8]) {
        if self.put(|| Form::Text(octets.iter().map(|o| format!("{o:02x}")).collect())) {
            return;
        }
        self.text("'");
        for o in octets {
            self.value(format_args!("{o:02X}"));
        }
        self.text("'H");
    }

    /// Writes a BIT STRING from whole bytes (the last one padded): in hexadecimal if its length allows it.
    #[cold]
    pub fn bits(&mut self, octets: &[u8], len_bits: usize) {
        let digit = |at: usize| if octets[at / 8] >> (7 - at % 8) & 1 == 1 { '1' } else { '0' };
        if self.put(|| Form::Text((0..len_bits).map(digit).collect())) {
            return;
        }
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
