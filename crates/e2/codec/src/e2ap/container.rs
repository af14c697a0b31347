//! `protocolIEs`: the list of (identifier, criticality, open type) in every message and list item.
//!
//! A container is described by a table of [`IeSpec`]s. Differences of a received container from the standard encoding
//! (criticality, order, unknown elements) are kept as a [`Deviation`], so that a message can be forwarded exactly as
//! it was received.
use super::{Criticality, TypeOfError, Version};
use crate::per::{DecodeError, DecodeFault, EncodeError, Notation, Source, Writer};
use bytes::Bytes;

/// Presence of an element in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The element is always present.
    Mandatory,
    /// The element may be present.
    Optional,
    /// The version does not define the element in this message.
    Absent,
}

/// One row of a message's table in the specification.
#[derive(Debug, Clone, Copy)]
pub struct IeSpec {
    /// ProtocolIE-ID.
    pub id: u16,
    /// Criticality assigned by the standard.
    pub criticality: Criticality,
    /// Presence in v1.01, v2.03, v3.01.
    pub presence: [Presence; 3],
    /// Name of the ASN.1 type.
    pub name: &'static str,
}

impl IeSpec {
    /// Returns the presence in one version.
    pub fn presence_in(&self, version: Version) -> Presence {
        self.presence[version as usize]
    }
}

/// A container that differs from the standard encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deviation {
    /// Index of the container, in the order in which containers are encoded.
    pub container: usize,
    /// Elements as received.
    pub ies: Vec<ReceivedIe>,
    /// Descriptions of the differences, for logs.
    pub notes: Vec<String>,
}

/// One element as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedIe {
    /// ProtocolIE-ID.
    pub id: u16,
    /// Criticality.
    pub criticality: Criticality,
    /// The value, if the element is unknown.
    pub unknown: Option<Bytes>,
}

/// An invalid or unexpected element of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IeDiagnostic {
    /// ProtocolIE-ID.
    pub id: u16,
    /// Criticality of the element.
    pub criticality: Criticality,
    /// Type of the error.
    pub error: TypeOfError,
}

/// Deviations to reproduce while encoding.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    deviations: Vec<Deviation>,
    next_container: usize,
}

impl Replay {
    pub(crate) fn new(deviations: Vec<Deviation>) -> Self {
        Self { deviations, next_container: 0 }
    }

    fn enter(&mut self) -> Option<Vec<ReceivedIe>> {
        let container = self.next_container;
        self.next_container += 1;
        self.deviations.iter().find(|d| d.container == container).map(|d| d.ies.clone())
    }
}

/// Writes a container. `count` returns the number of occurrences of an element; `each` writes one of them.
pub(crate) fn encode_container(
    w: &mut Writer,
    specs: &[IeSpec],
    count: impl Fn(u16) -> usize,
    mut each: impl FnMut(u16, &mut Writer) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let version = w.version();
    for spec in specs {
        let element = spec.name;
        let version_name = version.name();
        match (spec.presence_in(version), count(spec.id)) {
            (Presence::Absent, 1..) => {
                return Err(EncodeError::NotInVersion { element, version: version_name });
            }
            (Presence::Mandatory, 0) => {
                return Err(EncodeError::MissingInVersion { element, version: version_name });
            }
            _ => {}
        }
    }
    let as_received = w.replay().and_then(Replay::enter);
    let ies = as_received.unwrap_or_else(|| {
        let ies = specs.iter().flat_map(|s| std::iter::repeat_n(s, count(s.id)));
        ies.map(|s| ReceivedIe { id: s.id, criticality: s.criticality, unknown: None }).collect()
    });
    w.constrained("number of information elements", ies.len() as u64, 0, 65_535)?;
    for ie in &ies {
        match &ie.unknown {
            Some(octets) => {
                put_ie_head(w, ie.id, ie.criticality)?;
                w.octets(octets); // unchanged, even if empty: `open` would write the byte that the standard requires
            }
            None => put_ie(w, ie.id, ie.criticality, |w| each(ie.id, w))?,
        }
    }
    Ok(())
}

/// Writes a list item: a container of exactly one element, without a count.
pub(crate) fn encode_single(
    w: &mut Writer,
    id: u16,
    criticality: Criticality,
    value: impl FnOnce(&mut Writer) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let as_received = w.replay().and_then(Replay::enter);
    let criticality = as_received.and_then(|ies| ies.first().map(|ie| ie.criticality)).unwrap_or(criticality);
    put_ie(w, id, criticality, value)
}

fn put_ie(
    w: &mut Writer,
    id: u16,
    criticality: Criticality,
    value: impl FnOnce(&mut Writer) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    put_ie_head(w, id, criticality)?;
    w.open(value)
}

fn put_ie_head(w: &mut Writer, id: u16, criticality: Criticality) -> Result<(), EncodeError> {
    w.constrained("ProtocolIE-ID", u64::from(id), 0, 65_535)?;
    w.bits(criticality as u64, 2);
    Ok(())
}

/// Reads a container. `each` reads the value of one known element; a `repeatable` element may occur several times.
///
/// Unknown elements are skipped unless their criticality is reject. All errors are recorded in the source; the first
/// fatal one is returned.
pub(crate) fn decode_container<S: Source>(
    r: &mut S,
    specs: &[IeSpec],
    repeatable: &[u16],
    mut each: impl FnMut(u16, &mut S) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    if let Some(ids) = r.choose_ies(specs) {
        return ids.into_iter().try_for_each(|id| each(id, r));
    }
    let container = r.next_container();
    let version = r.version();
    let count = r.constrained(0, 65_535)?;
    let mut ies: Vec<ReceivedIe> = Vec::with_capacity(specs.len().min(count as usize));
    let mut notes = Vec::new();
    let mut fatal = None;
    let mut last_rank = 0;
    for _ in 0..count {
        let (id, criticality) = r.ie_header()?;
        let criticality = Criticality::from_index(criticality);
        let rank = specs.iter().position(|s| s.id == id && s.presence_in(version) != Presence::Absent);
        let mut unknown = None;
        match rank {
            None => {
                unknown = Some(r.open(|r| Ok(r.rest()))?);
                notes.push(format!("unknown information element {id}, criticality {}", criticality.name()));
                if criticality != Criticality::Ignore {
                    r.diagnose(IeDiagnostic { id, criticality, error: TypeOfError::NotUnderstood });
                }
                if criticality == Criticality::Reject {
                    fatal = fatal.or_else(|| Some(r.fault(DecodeFault::UnknownIe(id))));
                }
            }
            Some(_) if !repeatable.contains(&id) && ies.iter().any(|ie| ie.id == id) => {
                r.diagnose(IeDiagnostic { id, criticality, error: TypeOfError::NotUnderstood });
                fatal = fatal.or_else(|| Some(r.fault(DecodeFault::DuplicateIe(id))));
                r.open(|_| Ok(()))?;
            }
            Some(rank) => {
                let spec = &specs[rank];
                note_deviations(&mut notes, spec, criticality, rank < last_rank);
                last_rank = rank.max(last_rank);
                r.open(|r| each(id, r)).map_err(|e| e.within(spec.name))?;
            }
        }
        ies.push(ReceivedIe { id, criticality, unknown });
    }
    for spec in specs.iter().filter(|s| s.presence_in(version) == Presence::Mandatory) {
        let optional_repeat = repeatable.contains(&spec.id);
        if !optional_repeat && !ies.iter().any(|ie| ie.id == spec.id) {
            let id = spec.id;
            let criticality = spec.criticality;
            r.diagnose(IeDiagnostic { id, criticality, error: TypeOfError::Missing });
            fatal = fatal.or_else(|| Some(r.fault(DecodeFault::Missing(spec.name))));
        }
    }
    if let Some(fault) = fatal {
        return Err(fault);
    }
    if !notes.is_empty() {
        r.deviation(Deviation { container, ies, notes });
    }
    Ok(())
}

fn note_deviations(notes: &mut Vec<String>, spec: &IeSpec, received: Criticality, misordered: bool) {
    if received != spec.criticality {
        let received = received.name();
        let standard = spec.criticality.name();
        notes.push(format!("{} has criticality {received}; the standard requires {standard}", spec.name));
    }
    if misordered {
        notes.push(format!("{} is out of order", spec.name));
    }
}

/// Reads a list item.
pub(crate) fn decode_single<S: Source, T>(
    r: &mut S,
    expected: u16,
    standard: Criticality,
    name: &'static str,
    value: impl FnOnce(&mut S) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    if r.choose_ies(&[]).is_some() {
        return value(r);
    }
    let container = r.next_container();
    let (id, criticality) = r.ie_header()?;
    let criticality = Criticality::from_index(criticality);
    if id != expected {
        r.diagnose(IeDiagnostic { id, criticality, error: TypeOfError::NotUnderstood });
        return Err(r.fault(DecodeFault::UnknownIe(id)).within(name));
    }
    let value = r.open(value).map_err(|e| e.within(name))?;
    if criticality != standard {
        let notes = vec![format!(
            "{name} has criticality {}; the standard requires {}",
            criticality.name(),
            standard.name()
        )];
        r.deviation(Deviation { container, ies: vec![ReceivedIe { id, criticality, unknown: None }], notes });
    }
    Ok(value)
}

/// Writes a container in value notation.
pub(crate) fn show_container(
    n: &mut Notation,
    specs: &[IeSpec],
    count: impl Fn(u16) -> usize,
    mut each: impl FnMut(u16, &mut Notation),
) {
    n.braces(|n| {
        n.field("protocolIEs", |n| {
            n.braces(|n| {
                for spec in specs.iter().flat_map(|s| std::iter::repeat_n(s, count(s.id))) {
                    n.element(|n| show_ie(n, spec.id, spec.criticality, spec.name, |n| each(spec.id, n)));
                }
            });
        });
    });
}

/// Writes one element in value notation.
pub(crate) fn show_ie(
    n: &mut Notation,
    id: u16,
    criticality: Criticality,
    name: &str,
    value: impl FnOnce(&mut Notation),
) {
    n.braces(|n| {
        n.field("id", |n| n.value(id));
        n.field("criticality", |n| n.text(criticality.name()));
        n.field("value", |n| {
            n.value(format_args!("{name}: "));
            value(n);
        });
    });
}

/// Defines messages, with one line per information element as in the table of the specification: `field: Type [Codec]
/// "TypeName" = id criticality [presence in 1.01, 2.03, 3.01], "meaning";`. A presence is `M`, `O` or `-`.
///
/// A field that is mandatory in every version is a plain `T`; any other is an `Option<T>`.
macro_rules! messages {
    ($( $(#[$m:meta])* $name:ident $asn:literal {
        $( $f:ident : $t:ty [$c:ty] $fname:literal = $id:literal $crit:ident [$p1:tt $p2:tt $p3:tt], $doc:literal; )*
    } )*) => { $(
        $(#[$m])* #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name { $( #[doc = $doc] pub $f: $t, )* }

        impl $name {
            /// Table of the message in the specification.
            pub const IES: &'static [$crate::e2ap::IeSpec] = &[$( $crate::e2ap::IeSpec {
                id: $id,
                criticality: $crate::e2ap::Criticality::$crit,
                presence: [messages!(@p $p1), messages!(@p $p2), messages!(@p $p3)],
                name: $fname,
            } ),*];

            fn has(&self, id: u16) -> bool {
                match id {
                    $( $id => <$c as $crate::e2ap::messages::Slot<$t>>::is_present(&self.$f), )*
                    _ => false,
                }
            }
        }

        impl $crate::per::Per for $name {
            fn encode(&self, w: &mut $crate::per::Writer) -> Result<(), $crate::per::EncodeError> {
                w.bit(false);
                $crate::e2ap::encode_container(w, Self::IES, |id| usize::from(self.has(id)), |id, w| match id {
                    $( $id => <$c as $crate::e2ap::messages::Slot<$t>>::put(&self.$f, w), )*
                    _ => Ok(()),
                })
            }
            fn decode<S: $crate::per::Source>(r: &mut S) -> Result<Self, $crate::per::DecodeError> {
                let extended = r.extended()?;
                $( let mut $f = None; )*
                $crate::e2ap::decode_container(r, Self::IES, &[], |id, r| {
                    match id {
                        $( $id => $f = Some(<$c as $crate::e2ap::messages::Slot<$t>>::take(r)?), )*
                        _ => {}
                    }
                    Ok(())
                })?;
                if extended {
                    r.additions(0, |_, _| Ok(()))?;
                }
                Ok(Self { $(
                    $f: <$c as $crate::e2ap::messages::Slot<$t>>::finish($f)
                        .ok_or_else(|| r.fault($crate::per::DecodeFault::Missing($fname)))?,
                )* })
            }
            fn show(&self, n: &mut $crate::per::Notation) {
                $crate::e2ap::show_container(n, Self::IES, |id| usize::from(self.has(id)), |id, n| match id {
                    $( $id => <$c as $crate::e2ap::messages::Slot<$t>>::print(&self.$f, n), )*
                    _ => {}
                });
            }
        }
    )* };
    (@p M) => { $crate::e2ap::Presence::Mandatory };
    (@p O) => { $crate::e2ap::Presence::Optional };
    (@p -) => { $crate::e2ap::Presence::Absent };
}

/// Defines the codec of a list element with its own container (ProtocolIE-SingleContainer).
macro_rules! list_item {
    ($(#[$m:meta])* $codec:ident $t:ty: $c:ty, $id:expr, $crit:ident $name:literal) => {
        $(#[$m])*
        #[doc = concat!("List element `", $name, "` in its single container.")]
        #[derive(Debug)]
        pub struct $codec;

        impl $crate::per::Codec<$t> for $codec {
            fn encode(value: &$t, w: &mut $crate::per::Writer) -> Result<(), $crate::per::EncodeError> {
                $crate::e2ap::container::encode_single(w, $id, $crate::e2ap::Criticality::$crit, |w| {
                    <$c as $crate::per::Codec<$t>>::encode(value, w)
                })
            }
            fn decode<S: $crate::per::Source>(r: &mut S) -> Result<$t, $crate::per::DecodeError> {
                $crate::e2ap::container::decode_single(r, $id, $crate::e2ap::Criticality::$crit, $name, |r| {
                    <$c as $crate::per::Codec<$t>>::decode(r)
                })
            }
            fn show(value: &$t, n: &mut $crate::per::Notation) {
                $crate::e2ap::container::show_ie(n, $id, $crate::e2ap::Criticality::$crit, $name, |n| {
                    <$c as $crate::per::Codec<$t>>::show(value, n);
                });
            }
        }
    };
    ($codec:ident $t:ident $id:path, $crit:ident $name:literal) => {
        $crate::e2ap::container::list_item!($codec $t: $crate::per::SelfCoded, $id, $crit $name);
    };
}
pub(crate) use list_item;
