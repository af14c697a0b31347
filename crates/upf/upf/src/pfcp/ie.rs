//! Information elements (§8.1) with type, length and value, and the macros that declare groups and messages.
use super::{Fault, FaultKind, Random};
use bytes::Bytes;

/// Element that is stored without being decoded. Its type is unknown or unexpected, or it is repeated, or it is optional and cannot be
/// decoded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RawIe {
    /// Type of the element. Bit 15 marks a vendor-specific element, whose value starts with an enterprise number.
    pub ie_type: u16,
    /// Bytes of the value.
    pub value: Bytes,
}

/// Iterator over the elements of a message or a group.
#[derive(Debug, Clone, Copy)]
pub struct Ies<'a> {
    rest: &'a [u8],
}

impl<'a> Ies<'a> {
    /// Creates an iterator over the elements in these bytes.
    pub fn new(octets: &'a [u8]) -> Self {
        Self { rest: octets }
    }
}

impl<'a> Iterator for Ies<'a> {
    type Item = Result<(u16, &'a [u8]), Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let Some((&[t1, t2, l1, l2], rest)) = self.rest.split_first_chunk::<4>() else {
            self.rest = &[];
            return Some(Err(FaultKind::Length.on_element(0)));
        };
        let ie_type = u16::from_be_bytes([t1, t2]);
        let len = usize::from(u16::from_be_bytes([l1, l2]));
        let Some((value, rest)) = rest.split_at_checked(len) else {
            self.rest = &[];
            return Some(Err(FaultKind::Length.on_element(ie_type)));
        };
        self.rest = rest;
        Some(Ok((ie_type, value)))
    }
}

/// Buffer for elements, which records whether an element was too long.
#[derive(Debug, Default)]
pub struct Writer {
    pub(super) out: Vec<u8>,
    pub(super) too_long: Option<usize>,
}

impl Writer {
    /// Appends bytes.
    pub fn put(&mut self, octets: &[u8]) {
        self.out.extend_from_slice(octets);
    }

    /// Appends an element whose value `content` writes.
    pub fn element(&mut self, ie_type: u16, content: impl FnOnce(&mut Self)) {
        self.put(&ie_type.to_be_bytes());
        let at = self.out.len();
        self.put(&[0, 0]);
        content(self);
        self.length(at, at + 2);
    }

    /// Sets the length field at `at` to the number of bytes written since `from`.
    pub(super) fn length(&mut self, at: usize, from: usize) {
        let len = self.out.len() - from;
        match u16::try_from(len) {
            Ok(short) => self.out[at..at + 2].copy_from_slice(&short.to_be_bytes()),
            Err(_) => self.too_long = self.too_long.or(Some(len)),
        }
    }
}

/// Fault of a truncated value. The caller sets the element type.
const CUT_SHORT: Fault = Fault { ie_type: 0, kind: FaultKind::Length };

/// Unread bytes of a value.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(octets: &'a [u8]) -> Self {
        Self { rest: octets }
    }

    /// Returns the next `N` bytes. Fails with a length fault if the value is shorter.
    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (head, rest) = self.rest.split_first_chunk().ok_or(CUT_SHORT)?;
        self.rest = rest;
        Ok(*head)
    }

    pub(super) fn octet(&mut self) -> Result<u8, Fault> {
        self.take::<1>().map(|[octet]| octet)
    }

    pub(super) fn slice(&mut self, len: usize) -> Result<&'a [u8], Fault> {
        let (head, rest) = self.rest.split_at_checked(len).ok_or(CUT_SHORT)?;
        self.rest = rest;
        Ok(head)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Returns `N` bytes if `flag` is set.
    pub(super) fn when<const N: usize>(&mut self, flag: bool) -> Result<Option<[u8; N]>, Fault> {
        if flag { self.take().map(Some) } else { Ok(None) }
    }
}

/// Value of an information element, with encoder, decoder and random generator.
pub trait IeValue: Sized {
    /// Appends the value's bytes.
    fn put(&self, writer: &mut Writer);
    /// Decodes the value. Additional bytes belong to later releases and are ignored (§8.1.1).
    fn take(reader: &mut Reader<'_>) -> Result<Self, Fault>;
    /// Returns a random valid value.
    fn random(random: &mut Random) -> Self;
}

/// Decodes one element. Sets the element type in a fault that has none.
pub(super) fn take_value<T: IeValue>(ie_type: u16, octets: &[u8]) -> Result<T, Fault> {
    T::take(&mut Reader::new(octets)).map_err(|fault| match fault.ie_type {
        0 => Fault { ie_type, ..fault },
        _ => fault,
    })
}

/// Stores a value, unless a value is already stored. Only the first of repeated elements is used (§7.6.10).
pub(super) fn set<T>(
    slot: &mut Option<T>,
    value: Result<T, Fault>,
    raw: impl FnOnce() -> RawIe,
) -> DecodedIe {
    match value {
        Ok(_) if slot.is_some() => Ok(Some(raw())),
        Ok(value) => {
            *slot = Some(value);
            Ok(None)
        }
        Err(fault) => Err(fault),
    }
}

/// Result of decoding an element: decoded, stored undecoded, or a fault for which the message is refused.
pub(super) type DecodedIe = Result<Option<RawIe>, Fault>;

/// Declares groups of elements, or messages, with one line per element: `number => field: presence Type,
/// "description";`. Presence values, following the tables of TS 29.244:
///
/// * `M` mandatory: if the element is missing or undecodable, the message is refused;
/// * `C` conditional: an `Option`; if unreadable, the message is refused; `check` decides when it must be present;
/// * `O` optional: an `Option`; if unreadable, it is kept in `others`;
/// * `List` any number, `List1` at least one.
///
/// With `changes Rule`, the elements of the group replace those of a rule.
macro_rules! table {
    ($(
        $(#[$meta:meta])*
        $name:ident {
            $( $number:literal => $field:ident : $presence:ident $type:ty, $doc:literal; )*
            $( check $check:expr; )?
            $( changes $rule:ident; )?
        }
    )*) => { $(
        $crate::pfcp::ie::table!(@changes $name [$($rule)?] $( $presence $field )*);
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        pub struct $name {
            $( #[doc = $doc] pub $field: $crate::pfcp::ie::table!(@type $presence $type), )*
            /// Elements that are unknown, repeated, or optional and undecodable. They have no effect, and are encoded again.
            pub others: Vec<$crate::pfcp::RawIe>,
        }

        impl $name {
            /// Types of the information elements that the codec decodes into fields.
            pub const ELEMENTS: &'static [u16] = &[$( $number, )*];
        }

        impl $crate::pfcp::ie::IeValue for $name {
            fn put(&self, writer: &mut $crate::pfcp::ie::Writer) {
                $( $crate::pfcp::ie::table!(@put $presence self.$field, $number, writer); )*
                for other in &self.others {
                    writer.element(other.ie_type, |writer| writer.put(&other.value));
                }
            }

            fn take(reader: &mut $crate::pfcp::ie::Reader<'_>) -> Result<Self, $crate::pfcp::Fault> {
                $( let mut $field: $crate::pfcp::ie::table!(@slot $presence $type) = Default::default(); )*
                let mut others = Vec::new();
                for element in $crate::pfcp::Ies::new(reader.rest()) {
                    let (number, octets) = element?;
                    let raw = || $crate::pfcp::RawIe {
                        ie_type: number,
                        value: bytes::Bytes::copy_from_slice(octets),
                    };
                    let other = match number {
                        $( $number => $crate::pfcp::ie::table!(@take $presence $type, $field, $number, octets, raw)?, )*
                        _ => Some(raw()),
                    };
                    others.extend(other);
                }
                let group = Self {
                    $( $field: $crate::pfcp::ie::table!(@done $presence $field, $number), )*
                    others,
                };
                $( $crate::pfcp::ie::check::<Self>($check, &group)?; )?
                Ok(group)
            }

            fn random(random: &mut $crate::pfcp::Random) -> Self {
                let make = |random: &mut $crate::pfcp::Random| Self {
                    $( $field: $crate::pfcp::ie::table!(@random $presence random), )*
                    others: random.others(),
                };
                let group = make(random);
                $( if $crate::pfcp::ie::check::<Self>($check, &group).is_err() {
                    return random.with_every_option(make);
                } )?
                group
            }
        }
    )* };
    (@changes $name:ident [] $($rest:tt)*) => {};
    (@changes $name:ident [$rule:ident] $( $presence:ident $field:ident )*) => {
        impl $name {
            /// Replaces the values of a rule for which this group has an element. The rule's id stays.
            pub(crate) fn change(self, rule: &mut $rule) {
                $( $crate::pfcp::ie::table!(@change $presence rule.$field, self.$field); )*
            }
        }
    };
    (@change M $old:expr, $new:expr) => {};
    (@change List $old:expr, $new:expr) => {
        if !$new.is_empty() {
            $old = $new;
        }
    };
    (@change $any:ident $old:expr, $new:expr) => {
        if let Some(new) = $new {
            $old = new.into();
        }
    };
    (@type M $type:ty) => { $type };
    (@type C $type:ty) => { Option<$type> };
    (@type O $type:ty) => { Option<$type> };
    (@type List $type:ty) => { Vec<$type> };
    (@type List1 $type:ty) => { Vec<$type> };
    (@slot M $type:ty) => { Option<$type> };
    (@slot C $type:ty) => { Option<$type> };
    (@slot O $type:ty) => { Option<$type> };
    (@slot List $type:ty) => { Vec<$type> };
    (@slot List1 $type:ty) => { Vec<$type> };
    (@put M $value:expr, $number:literal, $writer:ident) => {
        $writer.element($number, |writer| $crate::pfcp::ie::IeValue::put(&$value, writer))
    };
    (@put $any:ident $value:expr, $number:literal, $writer:ident) => {
        for value in $value.iter() {
            $writer.element($number, |writer| $crate::pfcp::ie::IeValue::put(value, writer));
        }
    };
    (@take O $type:ty, $field:ident, $number:literal, $octets:ident, $raw:ident) => {
        match $crate::pfcp::ie::take_value::<$type>($number, $octets) {
            Ok(value) => $crate::pfcp::ie::set(&mut $field, Ok(value), $raw),
            Err(_) => Ok(Some($raw())),
        }
    };
    (@take List $type:ty, $field:ident, $number:literal, $octets:ident, $raw:ident) => {{
        let _ = $raw;
        $crate::pfcp::ie::take_value::<$type>($number, $octets).map(|value| {
            $field.push(value);
            None
        })
    }};
    (@take List1 $type:ty, $field:ident, $number:literal, $octets:ident, $raw:ident) => {
        $crate::pfcp::ie::table!(@take List $type, $field, $number, $octets, $raw)
    };
    (@take $any:ident $type:ty, $field:ident, $number:literal, $octets:ident, $raw:ident) => {
        $crate::pfcp::ie::set(&mut $field, $crate::pfcp::ie::take_value::<$type>($number, $octets), $raw)
    };
    (@done M $field:ident, $number:literal) => {
        $field.ok_or_else(|| $crate::pfcp::FaultKind::MissingMandatory.on_element($number))?
    };
    (@done List1 $field:ident, $number:literal) => {
        if $field.is_empty() {
            return Err($crate::pfcp::FaultKind::MissingMandatory.on_element($number));
        } else {
            $field
        }
    };
    (@done $any:ident $field:ident, $number:literal) => { $field };
    (@random M $random:ident) => { $crate::pfcp::ie::IeValue::random($random) };
    (@random List $random:ident) => { $random.list(0) };
    (@random List1 $random:ident) => { $random.list(1) };
    (@random $any:ident $random:ident) => { $random.option() };
}
pub(super) use table;

/// Runs the check of a group. Returns a fault if an element is missing that another element requires.
pub(super) fn check<T>(missing: impl FnOnce(&T) -> Option<u16>, group: &T) -> Result<(), Fault> {
    match missing(group) {
        Some(ie_type) => Err(FaultKind::MissingConditional.on_element(ie_type)),
        None => Ok(()),
    }
}
