//! Types with one value: NULL, and the ENUMERATED whose presence means true.
use super::{Codec, Component, DecodeError, DecodeFault, EncodeError, Notation, Source, VersionTag, Writer};

/// NULL.
#[derive(Debug)]
pub struct Null;

impl Codec<()> for Null {
    fn encode(_: &(), _: &mut Writer) -> Result<(), EncodeError> {
        Ok(())
    }
    fn decode<S: Source>(_: &mut S) -> Result<(), DecodeError> {
        Ok(())
    }
    fn show(_: &(), n: &mut Notation) {
        n.text("NULL");
    }
}

/// ENUMERATED {true, ...}: a value as the alternative of a CHOICE, and a `bool` as an OPTIONAL component.
#[derive(Debug)]
pub struct EnumeratedTrue;

impl Codec<()> for EnumeratedTrue {
    fn encode(_: &(), w: &mut Writer) -> Result<(), EncodeError> {
        w.bit(false);
        Ok(())
    }
    fn decode<S: Source>(r: &mut S) -> Result<(), DecodeError> {
        match r.enumerated(&["true"], &[])? {
            (false, _) => Ok(()),
            (true, i) => Err(r.fault(DecodeFault::UnknownAlternative(i))),
        }
    }
    fn show(_: &(), n: &mut Notation) {
        n.text("true");
    }
}

impl Component<bool> for EnumeratedTrue {
    fn has_bit<S: VersionTag>(_: &S) -> bool {
        true
    }
    fn is_present(value: &bool) -> bool {
        *value
    }
    fn encode(value: &bool, _: &'static str, w: &mut Writer) -> Result<(), EncodeError> {
        if *value { <Self as Codec<()>>::encode(&(), w) } else { Ok(()) }
    }
    fn decode<S: Source>(r: &mut S, present: bool) -> Result<bool, DecodeError> {
        if present {
            <Self as Codec<()>>::decode(r)?;
        }
        Ok(present)
    }
    fn show(value: &bool, name: &str, n: &mut Notation) {
        if *value {
            n.field(name, |n| <Self as Codec<()>>::show(&(), n));
        }
    }
}
