//! Splits a stream that arrives in arbitrary pieces into frames. Frames and errors must be the same as for the whole
//! stream.
//!
//! The input is the maximum PDU length (2 bytes), the size of the pieces (1 byte), whether frames are kept alive (1
//! byte), and the stream.
#![no_main]

use std::io::IoSlice;

use libfuzzer_sys::fuzz_target;
use ranlab_sdk::transport::{FrameError, FrameReader, ReadOutcome, Stream, duplex};

fuzz_target!(|input: &[u8]| {
    let Some((&[hi, lo, piece, keep], stream)) = input.split_first_chunk::<4>() else { return };
    let max_pdu = usize::from(u16::from_be_bytes([hi, lo]));
    let (frames, complaint, left) = expected(stream, max_pdu);

    let (near, far) = duplex(usize::from(piece) + 1);
    let near = Stream::Memory(near);
    let far = Stream::Memory(far);
    let mut reader = FrameReader::new(max_pdu);
    let mut sent = 0;
    let mut seen = 0;
    let mut kept = Vec::new();
    loop {
        if sent < stream.len() {
            sent += near
                .try_write_vectored(&[IoSlice::new(&stream[sent..])])
                .expect("the reader drains the pipe");
        }
        match reader.fill(&far).expect("memory does not fail") {
            ReadOutcome::Bytes(_) => {}
            ReadOutcome::WouldBlock if sent == stream.len() => break,
            outcome => panic!("{outcome:?}"),
        }
        loop {
            match reader.next() {
                Ok(Some(frame)) => {
                    assert_eq!(frame, frames[seen]);
                    seen += 1;
                    if keep & 1 == 1 {
                        kept.push(frame);
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    assert_eq!((Some(error), seen), (complaint, frames.len()));
                    return;
                }
            }
        }
    }
    assert_eq!((seen, complaint, reader.unfinished_bytes()), (frames.len(), None, left));
    assert!(kept.is_empty() || kept.iter().zip(&frames).all(|(kept, frame)| kept == frame));
});

/// Returns the frames, the error after the last frame, and the number of remaining bytes.
fn expected(mut stream: &[u8], limit: usize) -> (Vec<&[u8]>, Option<FrameError>, usize) {
    let mut frames = Vec::new();
    while let Some((head, rest)) = stream.split_first_chunk::<4>() {
        let announced = u32::from_be_bytes(*head) as usize;
        if announced == 0 {
            return (frames, Some(FrameError::Empty), 0);
        }
        if announced > limit {
            return (frames, Some(FrameError::TooLong { announced, limit }), 0);
        }
        let Some((frame, rest)) = rest.split_at_checked(announced) else { break };
        frames.push(frame);
        stream = rest;
    }
    (frames, None, stream.len())
}
