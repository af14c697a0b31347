//! Damages valid frames in the same ways as a malicious or defective sender.
use ranlab_machine::Random;
use ranlab_packet::checksum;

/// Offsets of IP headers in the frames of the pipelines: the outer header, and inner headers after GRE, GTP-U and
/// VXLAN.
const HEADERS: [usize; 4] = [14, 42, 58, 64];

/// Changes a frame in one of many ways, some of which are harmless.
pub(crate) fn damage(frame: &mut Vec<u8>, random: &mut Random) {
    let header = HEADERS[random.below(4) as usize];
    let has_header = frame.len() >= header + 20 && frame[header] >> 4 == 4;
    let has_header6 = frame.len() >= header + 48 && frame[header] >> 4 == 6;
    let field = |random: &mut Random| random.next() as u8;
    match random.below(30) {
        0 => frame.truncate(random.below(frame.len() as u64 + 1) as usize),
        1 => frame.truncate(14 + random.below(60) as usize),
        2 => {
            let at = random.below(frame.len().max(1) as u64) as usize;
            if let Some(byte) = frame.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        3 => frame.iter_mut().for_each(|b| *b = field(random)),
        4 => frame.extend((0..random.below(40)).map(|_| 0xee)),
        5 if frame.len() > 6 => frame[random.below(6) as usize] ^= 0x10,
        6 if frame.len() > 14 => frame[12..14].copy_from_slice(&[0x81, 0]),
        7 if frame.len() > 14 => frame[12..14].copy_from_slice(&[0x86, 0xdd]),
        8 if has_header => frame[header + 10] ^= 0x55,
        9 if has_header => set(frame, header, 8, &[random.below(2) as u8]),
        10 if has_header => set(frame, header, 6, &[0x20, 0]),
        11 if has_header => set(frame, header, 6, &[0, field(random)]),
        12 if has_header => set(frame, header, 9, &[[1, 6, 17, 47, 132][random.below(5) as usize]]),
        13 if has_header => set(frame, header, 2, &[0, field(random)]),
        14 if has_header => {
            let at = if random.below(2) == 0 { 12 } else { 16 };
            let low = field(random);
            set(frame, header, at + 2 + random.below(2) as usize, &[low]);
        }
        15 if has_header => options(frame, header, random),
        16 if has_header => set(frame, header, 0, &[0x40 | field(random) & 15]),
        // Damages flags, type and length of GTP-U, VXLAN or GRE, or the outer UDP header.
        17 if frame.len() > 50 => {
            frame[42] = [0x30, 0x32, 0x34, 0x35, 0x36, 0x50, 0x20, 0][random.below(8) as usize]
        }
        18 if frame.len() > 60 => frame[34 + random.below(24) as usize] = field(random),
        19 if frame.len() > 60 => frame[44 + random.below(6) as usize] ^= 1 << random.below(8),
        20 if frame.len() > 60 => extension(frame, random),
        // Clears the UDP checksum, in either position.
        21 if has_header => {
            if let Some(sum) = frame.get_mut(header + 26..header + 28) {
                sum.fill(0);
            }
        }
        // Changes IPv6 fields: next header, hop limit, length, network or host of the address, or a missing UDP
        // checksum.
        22 if has_header6 => frame[header + 6] = [0, 6, 17, 44, 58][random.below(5) as usize],
        23 if has_header6 => frame[header + 7] = random.below(2) as u8,
        24 if has_header6 => frame[header + 5] = field(random),
        25 if has_header6 => frame[header + 8 + random.below(32) as usize] = field(random),
        26 if has_header6 => frame[header + 46..header + 48].fill(0),
        // Changes the ports of an IPv6 packet.
        27 if has_header6 => frame[header + 40 + random.below(4) as usize] = field(random) & 1,
        // Sets the address of a gateway's server that is added and removed.
        28 if has_header => set(frame, header, 16, &[5, 0, 1 + random.below(30) as u8, 2]),
        29 if has_header6 => {
            let upper = [0x20, 1, 0x0d, 0xbc, 0, 0, 0, random.below(30) as u8];
            frame[header + 24..header + 32].copy_from_slice(&upper);
        }
        _ => {}
    }
}

/// Writes bytes of an IPv4 header and corrects its checksum.
fn set(frame: &mut [u8], header: usize, at: usize, value: &[u8]) {
    frame[header + at..header + at + value.len()].copy_from_slice(value);
    seal(frame, header);
}

fn seal(frame: &mut [u8], header: usize) {
    let end = (header + usize::from(frame[header] & 15) * 4).clamp(header + 20, frame.len());
    frame[header + 10..header + 12].fill(0);
    let sum = checksum::checksum(&frame[header..end]);
    frame[header + 10..header + 12].copy_from_slice(&sum.to_be_bytes());
}

/// Adds options to an IPv4 header. The lengths of the surrounding headers are updated, so the packet stays valid.
fn options(frame: &mut Vec<u8>, header: usize, random: &mut Random) {
    let words = 1 + random.below(10) as usize;
    for _ in 0..words * 4 {
        frame.insert(header + 20, 1);
    }
    frame[header] = 0x45 + words as u8;
    let grown = words as u16 * 4;
    grow(frame, header + 2, grown);
    seal(frame, header);
    if header > 14 {
        grow(frame, 16, grown);
        seal(frame, 14);
        if header != 42 {
            grow(frame, 38, grown);
        }
        if header == 58 {
            grow(frame, 44, grown);
        }
    }
}

/// Adds a second GTP-U extension header of 1 to 3 units, or an invalid one of 0 units.
fn extension(frame: &mut Vec<u8>, random: &mut Random) {
    let units = random.below(4) as u8;
    for _ in 0..units * 4 {
        frame.insert(58, 0);
    }
    frame[57] = 0x40;
    if units > 0 {
        frame[58] = units;
    }
    for at in [16, 38, 44] {
        grow(frame, at, u16::from(units) * 4);
    }
    seal(frame, 14);
}

fn grow(frame: &mut [u8], at: usize, by: u16) {
    let old = u16::from_be_bytes([frame[at], frame[at + 1]]);
    frame[at..at + 2].copy_from_slice(&old.wrapping_add(by).to_be_bytes());
}
