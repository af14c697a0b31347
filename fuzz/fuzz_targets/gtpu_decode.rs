//! Decodes GTP-U. Every datagram is decoded or rejected, and decoded datagrams encode and decode to the same value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ranlab_packet::gtpu::{Extension, Header, Packet, decode_message};

fuzz_target!(|datagram: &[u8]| {
    let Ok(packet) = Packet::parse(datagram) else { return };
    let extensions: Vec<Extension<'_>> = packet.extensions.collect();
    let header = Header {
        message_type: packet.message_type,
        teid: packet.teid,
        sequence: packet.sequence,
        n_pdu: packet.n_pdu,
        extensions: &extensions,
    };
    let mut again = Vec::new();
    header.encode(packet.payload, &mut again).expect("a decoded message can be encoded");
    let same = Packet::parse(&again).expect("an encoded message can be decoded");
    assert_eq!((same.teid, same.sequence, same.n_pdu), (packet.teid, packet.sequence, packet.n_pdu));
    assert_eq!(same.extensions.collect::<Vec<_>>(), extensions);
    assert_eq!(same.payload, packet.payload);
    let _ = (packet.pdu_session(), decode_message(&packet));
});
