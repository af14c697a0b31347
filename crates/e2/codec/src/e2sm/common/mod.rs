//! Common part of O-RAN's service models (E2SM common, clause 6.2 of E2SM v2 and later): cells, base stations, UEs of
//! every node type, slices, and the name of a RAN function. It also detects variants of the ASN.1 text.
//!
//! Each octet string contains exactly one value in aligned PER. Builds of FlexRIC before 2025 use ASN.1 texts whose
//! extension marks follow the additions. This variant is tried if the standard text does not match the bytes
//! ([`per::decode_either`](super::per::decode_either)).

mod cell;
mod join;
mod snssai;
mod ue;

use bytes::Bytes;

use super::SmError;
use super::octets::Code;
use super::per::{Text, by_names, decode_either, decode_in, encode};
use crate::per::{
    Codec, DecodeError, EncodeError, Fixed, Form, Notation, Opt, Per, Source, Str, Unconstrained, Writer,
};
use crate::sequence;

pub use cell::*;
pub use join::*;
pub use snssai::{NotAnSnssai, Snssai};
pub use ue::*;

/// Maximum length of a name in a RAN function definition, in characters.
pub const NAME_MAX: u64 = 150;
/// Codec of a name in a RAN function definition.
pub type Name = Str<1, NAME_MAX>;

sequence! {
    /// Name and OID of a RAN function.
    #[derive(Eq, Hash)]
    FunctionName "RANfunction-Name" {
        short_name: String [Name] "ranFunction-ShortName", "Short name, for example `ORAN-E2SM-KPM`.",
        oid: String [Str<1, 1_000>] "ranFunction-E2SM-OID", "Object identifier of the service model, as text.",
        description: String [Name] "ranFunction-Description", "Description for display.",
        instance: Option<i64> [Opt<Unconstrained>] "ranFunction-Instance", "Instance, if the node has several.",
    }
}

/// Codec of [`Snssai`] (`S-NSSAI`): SST and SD as octet strings.
#[derive(Debug)]
pub struct SnssaiCodec;

impl Codec<Snssai> for SnssaiCodec {
    fn encode(value: &Snssai, w: &mut Writer) -> Result<(), EncodeError> {
        w.bit(false);
        w.bit(value.sd.is_some());
        <Fixed as Codec<[u8; 1]>>::encode(&[value.sst], w)?;
        value.sd.map_or(Ok(()), |sd| match sd.to_be_bytes() {
            [0, high, mid, low] => <Fixed as Codec<[u8; 3]>>::encode(&[high, mid, low], w),
            _ => Err(EncodeError::OutOfRange { what: "sD", value: sd.into(), low: 0, high: 0xff_ffff }),
        })
    }

    fn decode<S: Source>(r: &mut S) -> Result<Snssai, DecodeError> {
        let extended = r.begin()?;
        let has_sd = r.presence("sD")?;
        r.component("sST");
        let [sst] = <Fixed as Codec<[u8; 1]>>::decode(r)?;
        r.component("sD");
        let sd = if has_sd { Some(<Fixed as Codec<[u8; 3]>>::decode(r)?) } else { None };
        if extended {
            r.named_additions(&[], |_, _| Ok(()))?;
        }
        r.finish()?;
        Ok(Snssai::new(sst, sd.map(|[high, mid, low]| u32::from_be_bytes([0, high, mid, low]))))
    }

    fn show(value: &Snssai, n: &mut Notation) {
        n.braces(|n| {
            n.field("sST", |n| n.octets(&[value.sst]));
            if let Some(sd) = value.sd {
                n.field("sD", |n| n.octets(&sd.to_be_bytes()[1..]));
            }
        });
    }
}

/// Defines an extensible SEQUENCE of one component. In Rust, the value of that component is used directly.
macro_rules! sole_component {
    ($($name:ident $asn:literal $t:ty [$c:ty];)+) => { $(
        #[doc = concat!("SEQUENCE with the sole component `", $asn, "`.")]
        #[derive(Debug)]
        pub struct $name;

        impl $crate::per::Codec<$t> for $name {
            fn encode(value: &$t, w: &mut $crate::per::Writer) -> Result<(), $crate::per::EncodeError> {
                w.bit(false);
                <$c as $crate::per::Codec<$t>>::encode(value, w)
            }
            fn decode<S: $crate::per::Source>(r: &mut S) -> Result<$t, $crate::per::DecodeError> {
                let extended = r.begin()?;
                r.component($asn);
                let value = <$c as $crate::per::Codec<$t>>::decode(r).map_err(|e| e.within($asn))?;
                if extended {
                    r.named_additions(&[], |_, _| Ok(()))?;
                }
                r.finish()?;
                Ok(value)
            }
            fn show(value: &$t, n: &mut $crate::per::Notation) {
                n.braces(|n| n.field($asn, |n| <$c as $crate::per::Codec<$t>>::show(value, n)));
            }
        }
    )+ };
}
pub(super) use sole_component;

/// Defines an extensible SEQUENCE of one OPTIONAL component. In Rust, it is an `Option` of that component.
macro_rules! sole_optional {
    ($($name:ident $asn:literal $t:ty [$c:ty];)+) => { $(
        #[doc = concat!("SEQUENCE with the sole and optional component `", $asn, "`.")]
        #[derive(Debug)]
        pub struct $name;

        impl $crate::per::Codec<Option<$t>> for $name {
            fn encode(
                value: &Option<$t>,
                w: &mut $crate::per::Writer,
            ) -> Result<(), $crate::per::EncodeError> {
                w.bit(false);
                w.bit(value.is_some());
                value.as_ref().map_or(Ok(()), |it| <$c as $crate::per::Codec<$t>>::encode(it, w))
            }
            fn decode<S: $crate::per::Source>(
                r: &mut S,
            ) -> Result<Option<$t>, $crate::per::DecodeError> {
                let extended = r.begin()?;
                let present = r.presence($asn)?;
                r.component($asn);
                let read = |r: &mut S| <$c as $crate::per::Codec<$t>>::decode(r).map_err(|e| e.within($asn));
                let value = if present { Some(read(r)?) } else { None };
                if extended {
                    r.named_additions(&[], |_, _| Ok(()))?;
                }
                r.finish()?;
                Ok(value)
            }
            fn show(value: &Option<$t>, n: &mut $crate::per::Notation) {
                n.braces(|n| {
                    if let Some(it) = value {
                        n.field($asn, |n| <$c as $crate::per::Codec<$t>>::show(it, n));
                    }
                });
            }
        }
    )+ };
}
pub(super) use sole_optional;

/// Aligned PER of O-RAN's service models: like [`Aligned`](super::per::Aligned), but also reads the modified text
/// ([`Text`](super::per::Text)).
#[derive(Debug)]
pub(super) struct Oran;

impl<T: Per> Code<T> for Oran {
    fn encode(value: &T, out: &mut Vec<u8>) -> Result<(), SmError> {
        Ok(encode(value, out)?)
    }

    fn decode(octets: &Bytes) -> Result<T, SmError> {
        Ok(decode_either(octets)?.0)
    }

    fn decode_in(octets: &Bytes, text: &mut Text) -> Result<T, SmError> {
        Ok(decode_in(octets, text)?)
    }

    fn from_form(form: Form) -> Result<T, SmError> {
        by_names(form)
    }

    fn to_form(value: &T) -> Result<Form, SmError> {
        Ok(Notation::form(|n| value.show(n)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::e2sm::per::{decode, sample};

    /// Encodes a single value.
    fn alone<T, C: Codec<T>>(value: &T) -> Result<Vec<u8>, EncodeError> {
        let mut w = Writer::new(Vec::new(), crate::e2ap::Version::V2_03);
        C::encode(value, &mut w).map(|()| w.into_vec())
    }

    #[test]
    fn slice_encoding_round_trips() {
        for (slice, octets) in [
            (Snssai { sst: 1, sd: None }, &[0x00, 0x40][..]),
            (Snssai { sst: 1, sd: Some(0x10203) }, &[0x40, 0x40, 1, 2, 3][..]),
        ] {
            assert_eq!(alone::<_, SnssaiCodec>(&slice).unwrap(), octets);
            let mut reader = crate::e2sm::per::reader(Bytes::copy_from_slice(octets));
            assert_eq!(<SnssaiCodec as Codec<Snssai>>::decode(&mut reader), Ok(slice));
        }
        assert!(alone::<_, SnssaiCodec>(&Snssai { sst: 1, sd: Some(1 << 24) }).is_err());
        let octets = Bytes::from_static(&[0x40, 0x40, 0xff, 0xff, 0xff]);
        let slice = <SnssaiCodec as Codec<Snssai>>::decode(&mut crate::e2sm::per::reader(octets));
        assert_eq!(slice, Ok(Snssai { sst: 1, sd: None }), "FFFFFF is no differentiator");
    }

    #[test]
    fn identities_of_ues_and_cells_round_trip() {
        fn comes_back<T: Per + PartialEq + std::fmt::Debug>() {
            for seed in 0..300 {
                let value: T = sample(seed).unwrap();
                let mut out = Vec::new();
                encode(&value, &mut out).unwrap();
                assert_eq!(decode::<T>(out.into()).as_ref(), Ok(&value));
            }
        }
        comes_back::<UeId>();
        comes_back::<Cgi>();
        comes_back::<FunctionName>();
        comes_back::<GlobalNgRanNode>();
    }
}
