//! Encoding of PDUs on a connection.
use ranlab_e2_codec::e2ap::Version;
use ranlab_e2_codec::flat::{Coding, from_per};
use ranlab_machine::Frame;

/// Converts a PDU to the encoding of its connection. The given PDU is in PER, or already in FlatBuffers.
pub(crate) fn in_coding(frame: Frame, coding: Coding, version: Version) -> Frame {
    match coding {
        Coding::Per => frame,
        Coding::Flat if frame.head().is_empty() && Coding::detect(frame.body()) == Coding::Flat => frame,
        Coding::Flat => Frame::whole(from_per(&frame.to_bytes(), version)),
    }
}
