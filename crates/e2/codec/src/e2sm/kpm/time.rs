//! Start time of a collection, the only difference between versions: 2.x has four bytes, 3.00 and later eight. The
//! length of a header determines the version; the OID does not.
use bytes::Bytes;

use super::message::IndicationHeader;
use crate::e2sm::SmError;
use crate::e2sm::octets::{Code, octets};
use crate::e2sm::per;
use crate::per::{
    Codec, Component, DecodeError, EncodeError, Fixed, Form, Notation, Opt, Per, Source, Str, Writer,
};

/// Seconds from 1900, the epoch of NTP, to 1970.
const NTP_TO_UNIX_S: i64 = 2_208_988_800;
/// Minimum value that counts as NTP seconds (January 1968). As Unix seconds, it would be in the year 2038.
const NTP_FROM_S: u64 = 1 << 31;
const US_PER_S: i64 = 1_000_000;

/// A timestamp in the format of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeStamp {
    /// Version 2.01 to 2.03: seconds since 1970 (OpenAirInterface) or 1900.
    V2(u32),
    /// Version 3.00 and later: 64-bit NTP time (seconds since 1900 and their fraction) as specified, or microseconds
    /// since 1970 (OpenAirInterface).
    V3(u64),
}

impl TimeStamp {
    /// Returns an eight-byte NTP timestamp.
    pub fn ntp(unix_us: i64) -> Self {
        let seconds = (unix_us.div_euclid(US_PER_S) + NTP_TO_UNIX_S) as u64;
        // Rounded up, so that converting back yields the same microsecond.
        let fraction = ((unix_us.rem_euclid(US_PER_S) as u64) << 32).div_ceil(US_PER_S as u64);
        Self::V3(seconds << 32 | fraction)
    }

    /// Returns the resolution of this timestamp, in microseconds.
    pub const fn step_us(self) -> i64 {
        match self {
            Self::V2(_) => US_PER_S,
            Self::V3(_) => 1,
        }
    }

    /// Returns microseconds since 1970, using the epoch that the value makes likely, or `None` if it is out of range.
    pub fn unix_us(self) -> Option<i64> {
        let since_1900 = |s: u64, us: i64| (s as i64 - NTP_TO_UNIX_S) * US_PER_S + us;
        match self {
            Self::V2(s) if u64::from(s) >= NTP_FROM_S => Some(since_1900(s.into(), 0)),
            Self::V2(s) => Some(i64::from(s) * US_PER_S),
            Self::V3(ntp) if ntp >> 32 >= NTP_FROM_S => {
                let fraction = ntp & 0xffff_ffff;
                Some(since_1900(ntp >> 32, ((fraction * US_PER_S as u64) >> 32) as i64))
            }
            Self::V3(us) => i64::try_from(us).ok(),
        }
    }
}

/// A header whose timestamp has `N` bytes.
struct WithTime<const N: usize>(IndicationHeader);

type File = Opt<Str<0, 15>>;
type Sender = Opt<Str<0, 400>>;
type Kind = Opt<Str<0, 8>>;
type Vendor = Opt<Str<0, 32>>;

/// Codec of the header, whose length determines the format of the timestamp.
#[derive(Debug)]
struct Settled;

/// Writes a header in the format that its timestamp's version requires.
fn write(header: &IndicationHeader, w: &mut Writer) -> Result<(), EncodeError> {
    let texts = [&header.file_format, &header.sender, &header.sender_type, &header.vendor];
    // Three extension or index bits, all zero: no additions to the header, format 1, no additions to its contents.
    w.bits(0, 3);
    texts.iter().for_each(|text| w.bit(text.is_some()));
    match header.start {
        TimeStamp::V2(time) => <Fixed as Codec<_>>::encode(&time.to_be_bytes(), w)?,
        TimeStamp::V3(time) => <Fixed as Codec<_>>::encode(&time.to_be_bytes(), w)?,
    }
    <File as Component<_>>::encode(&header.file_format, "", w)?;
    <Sender as Component<_>>::encode(&header.sender, "", w)?;
    <Kind as Component<_>>::encode(&header.sender_type, "", w)?;
    <Vendor as Component<_>>::encode(&header.vendor, "", w)
}

impl<const N: usize> Per for WithTime<N> {
    fn encode(&self, w: &mut Writer) -> Result<(), EncodeError> {
        write(&self.0, w)
    }

    fn decode<S: Source>(r: &mut S) -> Result<Self, DecodeError> {
        let outer = r.extended()?;
        r.index(1, 0, true).map_err(|e| e.within("indicationHeader-formats"))?;
        let inner = r.extended()?;
        let [file, sender, kind, vendor] = [r.flag()?, r.flag()?, r.flag()?, r.flag()?];
        let octets = r.octets_fixed(N).map_err(|e| e.within("colletStartTime"))?;
        let time = octets.iter().fold(0, |time, octet| time << 8 | u64::from(*octet));
        let header = IndicationHeader {
            start: if N == 4 { TimeStamp::V2(time as u32) } else { TimeStamp::V3(time) },
            file_format: <File as Component<_>>::decode(r, file)
                .map_err(|e| e.within("fileFormatversion"))?,
            sender: <Sender as Component<_>>::decode(r, sender).map_err(|e| e.within("senderName"))?,
            sender_type: <Kind as Component<_>>::decode(r, kind).map_err(|e| e.within("senderType"))?,
            vendor: <Vendor as Component<_>>::decode(r, vendor).map_err(|e| e.within("vendorName"))?,
        };
        for extended in [inner, outer] {
            if extended {
                r.additions(0, |_, _| Ok(()))?;
            }
        }
        Ok(Self(header))
    }

    fn show(&self, n: &mut Notation) {
        self.0.show(n);
    }
}

impl IndicationHeader {
    /// Writes the header in ASN.1 value notation.
    pub fn show(&self, n: &mut Notation) {
        n.braces(|n| {
            n.field("indicationHeader-formats", |n| {
                n.text("indicationHeader-Format1 : ");
                n.braces(|n| {
                    n.field("colletStartTime", |n| match self.start {
                        TimeStamp::V2(time) => n.octets(&time.to_be_bytes()),
                        TimeStamp::V3(time) => n.octets(&time.to_be_bytes()),
                    });
                    <File as Component<_>>::show(&self.file_format, "fileFormatversion", n);
                    <Sender as Component<_>>::show(&self.sender, "senderName", n);
                    <Kind as Component<_>>::show(&self.sender_type, "senderType", n);
                    <Vendor as Component<_>>::show(&self.vendor, "vendorName", n);
                });
            })
        });
    }

    /// Returns a random header of 3.00; the same seed yields the same header.
    pub(super) fn sample(seed: u64) -> Result<Self, DecodeError> {
        per::sample::<WithTime<8>>(seed).map(|it| it.0)
    }
}

impl Code<IndicationHeader> for Settled {
    fn encode(value: &IndicationHeader, out: &mut Vec<u8>) -> Result<(), SmError> {
        Ok(per::encode_by(out, |w| write(value, w))?)
    }

    /// Decodes as the version that consumes exactly all bytes, or as the later one if both do.
    fn decode(octets: &Bytes) -> Result<IndicationHeader, SmError> {
        let later = per::decode::<WithTime<8>>(octets.clone()).map(|it| it.0);
        later.or_else(|fault| {
            per::decode::<WithTime<4>>(octets.clone()).map(|it| it.0).map_err(|_| fault.into())
        })
    }

    fn to_form(value: &IndicationHeader) -> Result<Form, SmError> {
        let time = match value.start {
            TimeStamp::V2(time) => format!("{time:08x}"),
            TimeStamp::V3(time) => format!("{time:016x}"),
        };
        let texts = [
            ("fileFormatversion", &value.file_format),
            ("senderName", &value.sender),
            ("senderType", &value.sender_type),
            ("vendorName", &value.vendor),
        ];
        let texts = texts.into_iter().filter_map(|(name, text)| Some((name, text.clone()?)));
        let fields = std::iter::once(("colletStartTime", time)).chain(texts);
        let fields = fields.map(|(name, text)| (name.to_owned(), Form::Text(text))).collect();
        let one = |name: &str, form| Form::Fields(vec![(name.to_owned(), form)]);
        Ok(one("indicationHeader-formats", one("indicationHeader-Format1", Form::Fields(fields))))
    }
}
octets! {
    IndicationHeader: Per => Settled;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::e2sm::{Encoding, Octets};

    #[test]
    fn fields_of_kpm_header_have_names_in_form() {
        let header = IndicationHeader { sender: Some("du".to_owned()), ..TimeStamp::V2(16).into() };
        let form = serde_json::Value::from(header.to_form().unwrap());
        let expected = serde_json::json!({ "indicationHeader-formats": { "indicationHeader-Format1": {
            "colletStartTime": "00000010", "senderName": "du",
        } } });
        assert_eq!(form, expected);
    }

    #[test]
    fn times_round_trip_to_microsecond_for_all_epochs() {
        for us in [0, 1, 999_999, 1_700_000_000_123_457] {
            assert_eq!(TimeStamp::ntp(us).unix_us(), Some(us));
        }
        let s = 1_700_000_000;
        let us = 1_700_000_000_000_000;
        assert_eq!(TimeStamp::V2(s).unix_us(), Some(us));
        assert_eq!(TimeStamp::V2(s + NTP_TO_UNIX_S as u32).unix_us(), Some(us));
        assert_eq!(TimeStamp::V3(us as u64 + 5).unix_us(), Some(us + 5));
    }

    #[test]
    fn time_length_determines_kpm_version() {
        for start in [TimeStamp::V2(0xe8d4_a510), TimeStamp::V3(0xe8d4_a510 << 32)] {
            let header = IndicationHeader { sender: Some("ranlab".to_owned()), ..start.into() };
            let octets = header.to_octets(Encoding::Per).unwrap();
            assert_eq!(IndicationHeader::decode_as(Encoding::Per, &octets), Ok(header));
            assert!(IndicationHeader::decode_as(Encoding::Per, &octets.slice(..octets.len() - 1)).is_err());
        }
    }
}
