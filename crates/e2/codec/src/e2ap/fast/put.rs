//! Writing of messages in their usual form: templates of which a few bytes are replaced.
use super::{len_len, request_id_octets};
use crate::e2ap::RicRequestId;

/// Template of a long RICindication with a sequence number, up to its header.
#[rustfmt::skip]
pub(super) const USUAL_INDICATION: [u8; 64] = usual([
    0, 5, 0x40, 0, 0, 0, 0, 7, 0, 29, 0, 5, 0, 0, 0, 0, 0, 0, 5, 0, 2, 0, 0,
    0, 15, 0, 1, 0, 0, 27, 0, 2, 0, 0, 0, 28, 0, 1, 0,
], 25);
/// Template of a long RICcontrolRequest, up to its header.
pub(super) const USUAL_CONTROL: [u8; 64] =
    usual([0, 4, 0, 0, 0, 0, 0, 0, 0, 29, 0, 5, 0, 0, 0, 0, 0, 0, 5, 0, 2, 0, 0], 22);

/// Returns a template. It starts with `elements` and the id of the header's element. The remainder is room for the header and for the start
/// of the message's element, whose id is `header_id + 1`.
const fn usual<const N: usize>(elements: [u8; N], header_id: u8) -> [u8; 64] {
    let mut template = [0; 64];
    let mut i = 0;
    while i < N {
        template[i] = elements[i];
        i += 1;
    }
    template[N + 1] = header_id;
    template
}

/// Appends a message whose header element starts at byte `at` of `template`. Returns the start of the PDU, so that the caller can fill in
/// the first elements. Returns `None` if the header is too long or the message is too short. The head and the message are appended with one
/// call each, because each append checks the buffer's capacity; a write to a slice does not.
#[inline]
pub(super) fn put_usual<'o>(
    out: &'o mut Vec<u8>,
    template: &[u8; 64],
    at: usize,
    header: &[u8],
    message: &[u8],
) -> Option<&'o mut [u8; 64]> {
    let n = header.len();
    let m = message.len();
    let start = out.len();
    let contents = at + 5 + n;
    if contents + 7 > template.len() || m < 128 {
        return None;
    }
    out.extend_from_slice(template);
    out.truncate(start + contents + 7);
    out.extend_from_slice(message);
    let head = out.get_mut(start..)?.first_chunk_mut::<64>()?;
    head[at + 3..at + 5].copy_from_slice(&[n as u8 + 1, n as u8]);
    match header {
        // For the frequent lengths 0 and 8, a call of the general copy function would cost more than the copy itself.
        [] => {}
        &[a, b, c, d, e, f, g, h] => head[at + 5..at + 13].copy_from_slice(&[a, b, c, d, e, f, g, h]),
        _ => head[at + 5..contents].copy_from_slice(header),
    }
    head[contents..contents + 3].copy_from_slice(&[0, template[at + 1] + 1, 0]);
    head[contents + 3..contents + 5].copy_from_slice(&long_len(len_len(m) + m));
    head[contents + 5..contents + 7].copy_from_slice(&long_len(m));
    Some(head)
}

/// Appends a template and returns it, so that the caller can fill it in. Writing bytes directly to their position is cheaper than copying
/// them from elsewhere, because reading back single-byte stores stalls the processor.
#[inline]
pub(super) fn put<'o, const N: usize>(out: &'o mut Vec<u8>, template: &[u8; N]) -> &'o mut [u8; N] {
    out.extend_from_slice(template);
    // Cannot fail: N bytes were just appended.
    out.last_chunk_mut().expect("the output must end with the template, because it was just appended")
}

/// Writes the envelope, the number of elements, and the first two elements of both messages.
#[inline]
pub(super) fn put_head(
    out: &mut Vec<u8>,
    envelope: [u8; 3],
    body: usize,
    count: u8,
    id: RicRequestId,
    function: u16,
) {
    let [x, code, criticality] = envelope;
    let ies = if body < 128 {
        let head =
            put(out, &[x, code, criticality, 0, 0, 0, 0, 0, 29, 0, 5, 0, 0, 0, 0, 0, 0, 5, 0, 2, 0, 0]);
        head[3] = body as u8;
        &mut head[4..]
    } else {
        let head =
            put(out, &[x, code, criticality, 0, 0, 0, 0, 0, 0, 29, 0, 5, 0, 0, 0, 0, 0, 0, 5, 0, 2, 0, 0]);
        head[3..5].copy_from_slice(&long_len(body));
        &mut head[5..]
    };
    ies[2] = count;
    ies[8..12].copy_from_slice(&request_id_octets(id));
    ies[16..].copy_from_slice(&function.to_be_bytes());
}

/// Writes an element that contains an OCTET STRING: one length for the open type, one for the string.
#[inline]
pub(super) fn put_string(out: &mut Vec<u8>, id: u8, string: &[u8]) {
    let n = string.len();
    let value = len_len(n) + n;
    match n {
        0..127 => put(out, &[0, id, 0, 0, 0])[3..].copy_from_slice(&[value as u8, n as u8]),
        127 => out.extend_from_slice(&[0, id, 0, 0x80, 128, 127]),
        _ => {
            let head = put(out, &[0, id, 0, 0, 0, 0, 0]);
            head[3..5].copy_from_slice(&long_len(value));
            head[5..].copy_from_slice(&long_len(n));
        }
    }
    out.extend_from_slice(string);
}

/// Returns a length of 128 to 16,383 in two bytes.
#[inline]
pub(super) const fn long_len(n: usize) -> [u8; 2] {
    (0x8000 | n as u16).to_be_bytes()
}
