//! Tests of each row of X.691: known bytes for rows with a distinct form, round trips for the rest.
#![allow(unreachable_pub, irrefutable_let_patterns)] // the macros declare items for users of a crate, and larger types
use super::*;
use crate::e2ap::{self, Message, Version};
use crate::{choice, enumerated, sequence};
use bytes::Bytes;
use proptest::prelude::*;

/// Lengths around every change of form, including the fourth fragment unit and beyond.
const LENGTHS: [usize; 17] = [
    0, 1, 127, 128, 129, 16_383, 16_384, 16_385, 32_767, 32_768, 49_151, 49_152, 65_535, 65_536, 65_537,
    81_920, 131_073,
];
const ROOMY: Limits = Limits { elements: 1_000_000, depth: 16 };

fn writer() -> Writer {
    Writer::new(Vec::new(), Version::V3_01)
}

fn reader(octets: impl Into<Bytes>) -> Reader {
    Reader::with_limits(octets.into(), Version::V3_01, ROOMY)
}

/// Returns the encoding after one set bit, which makes alignment visible.
fn behind_a_bit<T, C: Codec<T>>(value: &T) -> Result<Vec<u8>, EncodeError> {
    let mut w = writer();
    w.bit(true);
    C::encode(value, &mut w)?;
    Ok(w.into_vec())
}

/// Decodes all bytes that [`behind_a_bit`] wrote.
fn read_behind_a_bit<T, C: Codec<T>>(octets: Vec<u8>) -> Result<T, DecodeError> {
    let mut r = reader(octets);
    assert!(r.flag()?);
    let value = C::decode(&mut r)?;
    assert_eq!(r.remaining(), 0);
    Ok(value)
}

fn round_trips<T: PartialEq + std::fmt::Debug, C: Codec<T>>(value: &T) {
    let octets = behind_a_bit::<T, C>(value).unwrap();
    assert_eq!(read_behind_a_bit::<T, C>(octets).as_ref(), Ok(value));
}

fn integer<const LOW: u64, const HIGH: u64>(value: u64, octets: &[u8]) {
    assert_eq!(behind_a_bit::<u64, Int<LOW, HIGH>>(&value).unwrap(), octets, "{value} of {LOW}..{HIGH}");
    assert_eq!(read_behind_a_bit::<u64, Int<LOW, HIGH>>(octets.to_vec()), Ok(value));
}

#[test]
fn integers_of_every_range_class_have_expected_encoding() {
    integer::<3, 3>(3, &[0x80]);
    integer::<0, 1>(1, &[0xc0]);
    integer::<5, 9>(9, &[0b1100_0000]);
    integer::<0, 254>(254, &[0xff, 0x00]); // the last range in a bit field
    integer::<0, 255>(254, &[0x80, 0xfe]); // one aligned byte
    integer::<1, 257>(258 - 1, &[0x80, 0x01, 0x00]); // two bytes
    integer::<0, 65_535>(258, &[0x80, 0x01, 0x02]);
    integer::<0, 65_536>(258, &[0b1010_0000, 0x01, 0x02]); // a length, then the minimum number of bytes
    integer::<0, 65_536>(0, &[0b1000_0000, 0x00]);
    integer::<0, 0xffff_ffff>(0xffff_ffff, &[0b1110_0000, 0xff, 0xff, 0xff, 0xff]);
    integer::<0, { u64::MAX }>(258, &[0b1001_0000, 0x01, 0x02]);
    integer::<0, { u64::MAX }>(u64::MAX, &[0xf0, 255, 255, 255, 255, 255, 255, 255, 255]);
}

#[test]
fn out_of_range_integers_are_refused() {
    assert_eq!(
        behind_a_bit::<u8, Int<1, 4>>(&5),
        Err(EncodeError::OutOfRange { what: "integer", value: 5, low: 1, high: 4 })
    );
    assert!(behind_a_bit::<u8, Int<1, 4>>(&0).is_err());
    let outside = |octets: &[u8]| read_behind_a_bit::<u64, Int<0, 4>>(octets.to_vec()).unwrap_err().fault;
    assert_eq!(outside(&[0b1101_0000]), DecodeFault::OutOfRange { value: 5, low: 0, high: 4 });
    // The length has two bits, so it can be four bytes, but the range needs at most three.
    let fault = read_behind_a_bit::<u64, Int<0, 65_536>>(vec![0b1110_0000, 0, 0, 0, 1]).unwrap_err().fault;
    assert_eq!(fault, DecodeFault::InvalidLength);
}

#[test]
fn extensible_integer_outside_its_root_is_unconstrained() {
    assert_eq!(behind_a_bit::<u16, IntExt<0, 255>>(&7).unwrap(), [0x80, 7]);
    assert_eq!(behind_a_bit::<u16, IntExt<0, 255>>(&256).unwrap(), [0xc0, 2, 1, 0]);
    assert_eq!(read_behind_a_bit::<u16, IntExt<0, 255>>(vec![0xc0, 2, 1, 0]), Ok(256));
    for refused in [vec![0xc0, 1, 0xff], vec![0xc0, 3, 1, 0, 0], vec![0xc0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 1]] {
        assert!(read_behind_a_bit::<u16, IntExt<0, 255>>(refused).is_err());
    }
}

/// Independent implementation of X.691 §11.9.3: pieces with their lengths.
fn in_fragments(contents: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = contents;
    while rest.len() >= 16 * 1024 {
        let units = (rest.len() / (16 * 1024)).min(4);
        let (piece, after) = rest.split_at(units * 16 * 1024);
        out.push(0b1100_0000 + units as u8);
        out.extend(piece);
        rest = after;
    }
    match rest.len() {
        n @ 0..128 => out.push(n as u8),
        n => out.extend([0b1000_0000 + (n / 256) as u8, (n % 256) as u8]),
    }
    out.extend(rest);
    out
}

fn contents(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i % 251) as u8).collect()
}

#[test]
fn octet_strings_open_types_and_lists_round_trip_at_every_length() {
    type Octets = List<0, 200_000, Int<0, 255>>;
    for n in LENGTHS {
        let contents = contents(n);
        let expected = in_fragments(&contents);
        let mut w = writer();
        w.octets(&contents);
        assert_eq!(w.into_vec(), expected, "octet string of {n}");
        assert_eq!(reader(expected.clone()).octets().unwrap(), contents);

        let mut w = writer();
        <Octets as Codec<Vec<u8>>>::encode(&contents, &mut w).unwrap();
        assert_eq!(w.into_vec(), expected, "list of {n}");
        assert_eq!(<Octets as Codec<Vec<u8>>>::decode(&mut reader(expected.clone())), Ok(contents.clone()));

        let mut w = writer();
        w.open(|w| {
            w.octets_raw(&contents);
            Ok(())
        })
        .unwrap();
        let expected = if n == 0 { vec![1, 0] } else { expected }; // an open type is never empty
        assert_eq!(w.into_vec(), expected, "open type of {n}");
        let inside = reader(expected).open(|r| Ok(r.rest())).unwrap();
        assert_eq!(inside, if n == 0 { vec![0] } else { contents });
    }
}

#[test]
fn truncated_and_invalid_lengths_are_refused() {
    for n in [1, 127, 128, 16_384, 16_385, 65_537] {
        let octets = in_fragments(&contents(n));
        for cut in [1, n.min(2), octets.len() / 2 + 1] {
            let fault = reader(octets[..octets.len() - cut].to_vec()).octets().unwrap_err().fault;
            assert_eq!(fault, DecodeFault::Truncated, "{n} less {cut}");
        }
    }
    for first in [0xc0, 0xc5, 0xff] {
        assert_eq!(reader(vec![first; 9]).octets().unwrap_err().fault, DecodeFault::InvalidLength);
    }
}

sequence! {
    /// Definition of a newer peer.
    Newer "Sequence" { a: u8 [Int<0, 255>] "a"; b: u16 [Int<0, 65_535>] "b", c: bool [Unconstrained] "c" }
}
sequence! {
    /// Our definition.
    Older "Sequence" { a: u8 [Int<0, 255>] "a" }
}
choice! {
    /// Definition of a newer peer.
    NewerChoice "Choice" { A(u8) [Int<0, 255>] "a"; B(u16) [Int<0, 65_535>] "b" }
}
choice! {
    /// Our definition.
    OlderChoice "Choice" { A(u8) [Int<0, 255>] "a" }
}
enumerated! {
    /// Definition of a newer peer.
    NewerEnum "Enum" { A "a", B "b"; C "c" }
}
enumerated! {
    /// Our definition.
    OlderEnum "Enum" { A "a", B "b" }
}

#[test]
fn known_additions_round_trip_and_unknown_ones_are_skipped() {
    for (b, c) in [(None, None), (Some(513), None), (None, Some(true)), (Some(0), Some(false))] {
        let newer = Newer { a: 7, b, c };
        round_trips::<Newer, SelfCoded>(&newer);
        let octets = behind_a_bit::<Newer, SelfCoded>(&newer).unwrap();
        assert_eq!(read_behind_a_bit::<Older, SelfCoded>(octets), Ok(Older { a: 7 }));
    }
    let older = behind_a_bit::<Older, SelfCoded>(&Older { a: 9 }).unwrap();
    assert_eq!(read_behind_a_bit::<Newer, SelfCoded>(older), Ok(Newer { a: 9, b: None, c: None }));
    // An extension bit and an aligned byte; a bitmap (7 bits for its size, then two set bits); two open types.
    let octets = behind_a_bit::<Newer, SelfCoded>(&Newer { a: 7, b: Some(513), c: Some(true) }).unwrap();
    assert_eq!(octets, [0xc0, 7, 0b0000_0011, 0b1000_0000, 2, 2, 1, 1, 0x80]);
}

#[test]
fn more_than_64_additions_have_their_own_length() {
    for n in [64, 65, 200] {
        let present: Vec<_> = (0..n).map(|i| i % 3 == 0).collect();
        let mut w = writer();
        w.additions(&present, |i, w| w.constrained("addition", i as u64, 0, 255)).unwrap();
        let octets = w.into_vec();
        let mut seen = Vec::new();
        let mut r = reader(octets);
        r.additions(100, |i, r| {
            seen.push((i, r.constrained(0, 255)?));
            Ok(())
        })
        .unwrap();
        let expected: Vec<_> = (0..n.min(100)).filter(|i| i % 3 == 0).map(|i| (i, i as u64)).collect();
        assert_eq!((seen, r.remaining()), (expected, 0));
    }
}

#[test]
fn unknown_alternatives_are_refused_by_number() {
    round_trips::<NewerChoice, SelfCoded>(&NewerChoice::A(3));
    round_trips::<NewerChoice, SelfCoded>(&NewerChoice::B(3));
    let octets = behind_a_bit::<NewerChoice, SelfCoded>(&NewerChoice::B(3)).unwrap();
    let fault = read_behind_a_bit::<OlderChoice, SelfCoded>(octets).unwrap_err().fault;
    assert_eq!(fault, DecodeFault::UnknownAlternative(1));

    for value in [NewerEnum::A, NewerEnum::B, NewerEnum::C] {
        round_trips::<NewerEnum, SelfCoded>(&value);
    }
    let octets = behind_a_bit::<NewerEnum, SelfCoded>(&NewerEnum::C).unwrap();
    let fault = read_behind_a_bit::<OlderEnum, SelfCoded>(octets).unwrap_err().fault;
    assert_eq!(fault, DecodeFault::UnknownAlternative(2));
    // An index of 64 bits must not cause an overflow.
    let absurd = vec![0b1110_0000, 8, 255, 255, 255, 255, 255, 255, 255, 255];
    let fault = read_behind_a_bit::<OlderEnum, SelfCoded>(absurd).unwrap_err().fault;
    assert_eq!(fault, DecodeFault::UnknownAlternative(u64::MAX));
}

#[test]
fn bit_strings_align_from_17_bits_on() {
    let bits = |n| ShortBits::new(u64::MAX, n);
    assert_eq!(behind_a_bit::<_, Bits<16, 16>>(&bits(16)).unwrap(), [0xff, 0xff, 0x80]);
    assert_eq!(behind_a_bit::<_, Bits<17, 17>>(&bits(17)).unwrap(), [0x80, 0xff, 0xff, 0x80]);
    // For the sizes 22 to 32, the length has four bits, and the contents are aligned.
    assert_eq!(behind_a_bit::<_, Bits<22, 32>>(&bits(23)).unwrap(), [0b1000_1000, 0xff, 0xff, 0xfe]);
    for n in 22..=32 {
        round_trips::<_, Bits<22, 32>>(&bits(n));
    }
    assert!(behind_a_bit::<_, Bits<22, 32>>(&bits(33)).is_err());
    for n in 0..400 {
        let mut octets = contents(usize::div_ceil(n, 8));
        if n % 8 != 0
            && let Some(last) = octets.last_mut()
        {
            *last &= 0xff << (8 - n % 8);
        }
        round_trips::<_, BitsExt<1, 160>>(&BitString { octets, len_bits: n });
    }
}

#[test]
fn nesting_depth_and_list_length_are_limited() {
    let nested = (0..20).fold(vec![0], |inner: Vec<u8>, _| in_fragments(&inner));
    fn descend(r: &mut Reader, levels: usize) -> Result<(), DecodeError> {
        if levels == 0 { Ok(()) } else { r.open(|r| descend(r, levels - 1)) }
    }
    assert_eq!(descend(&mut Reader::new(nested.clone().into(), Version::V2_03), 16), Ok(()));
    let fault = descend(&mut Reader::new(nested.into(), Version::V2_03), 17).unwrap_err().fault;
    assert_eq!(fault, DecodeFault::TooDeep(16));

    type Short = List<0, 255, Int<0, 0>>;
    let limits = Limits { elements: 300, ..Limits::default() };
    let mut r = Reader::with_limits(vec![200, 100, 1].into(), Version::V2_03, limits);
    assert_eq!(<Short as Codec<Vec<u8>>>::decode(&mut r).map(|l| l.len()), Ok(200));
    assert_eq!(<Short as Codec<Vec<u8>>>::decode(&mut r).map(|l| l.len()), Ok(100));
    let fault = <Short as Codec<Vec<u8>>>::decode(&mut r).unwrap_err().fault;
    assert_eq!(fault, DecodeFault::TooManyElements(300));
    // The elements have no bits, and the list has endless fragments. The limit applies to all fragments together.
    type Long = List<0, 100_000, Int<0, 0>>;
    let fault = <Long as Codec<Vec<u8>>>::decode(&mut Reader::new(vec![0xc4; 99].into(), Version::V2_03));
    assert_eq!(fault.unwrap_err().fault, DecodeFault::TooManyElements(65_536));
}

#[test]
fn encoding_fails_or_keeps_each_element_in_every_version() {
    let mut kept = 0;
    let mut refused = 0;
    for (newer, older) in
        [(Version::V2_03, Version::V1_01), (Version::V3_01, Version::V1_01), (Version::V3_01, Version::V2_03)]
    {
        for name in Message::NAMES {
            for message in (0..200).filter_map(|seed| Message::random(name, seed, newer)) {
                match e2ap::encode(&message, older) {
                    Ok(octets) => {
                        assert!(older >= message.since(), "{name} in {older}");
                        let decoded = e2ap::decode(&octets.into(), older).unwrap();
                        assert_eq!(decoded.message, message, "{name} {newer} in {older}");
                        kept += 1;
                    }
                    Err(EncodeError::NotInVersion { .. }) => refused += 1,
                    // v1.01 requires elements that later versions made optional or removed.
                    Err(EncodeError::MissingInVersion { .. }) if older == Version::V1_01 => refused += 1,
                    Err(other) => panic!("{name} {newer} in {older}: {other}"),
                }
            }
        }
    }
    assert!(
        kept > 1_000 && refused > 1_000,
        "the test must see both outcomes: {kept} kept, {refused} refused"
    );
}

proptest! {
    #[test]
    fn integers_round_trip(v: u64, signed: i64, shift in 0u32..64) {
        round_trips::<u64, Int<0, { u64::MAX }>>(&(v >> shift));
        round_trips::<u64, Int<7, 0xff_ffff_ffff>>(&(7 + (v >> shift.max(24))));
        round_trips::<u32, Int<0, 0xffff_ffff>>(&((v >> shift) as u32));
        round_trips::<u16, IntExt<10, 300>>(&((v >> shift) as u16));
        round_trips::<i64, Unconstrained>(&(signed >> shift));
    }

    #[test]
    fn reals_round_trip(bits: u64) {
        let value = f64::from_bits(bits);
        let octets = behind_a_bit::<f64, Unconstrained>(&value).unwrap();
        let back = read_behind_a_bit::<f64, Unconstrained>(octets).unwrap();
        prop_assert!(back.to_bits() == value.to_bits() || (back.is_nan() && value.is_nan()), "{} {}", value, back);
    }

    #[test]
    fn strings_round_trip(text in "[ -~]{0,300}", octets: [u8; 3], pair: [u8; 2]) {
        round_trips::<String, Str<1, 150>>(&text);
        round_trips::<[u8; 3], Fixed>(&octets);
        round_trips::<[u8; 2], Fixed>(&pair);
    }
}
