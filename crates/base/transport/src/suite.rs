//! Conformance suite for all transports, built-in and third-party.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;

use super::{
    Address, BindError, ConnectError, Frame, FrameReader, FrameWriter, Listener, ReadOutcome, SocketOptions,
    Stream, connect,
};

/// Maximum time of a step.
const PATIENCE: Duration = Duration::from_secs(30);
/// Lengths of the PDUs sent in each direction, in bytes.
const PDUS: [usize; 6] = [1, 2, 255, 1_500, 20_000, 60_000];
/// Maximum number of bytes that a writer may send before a peer that does not read blocks it.
const HELD_BACK_BYTES: usize = 64 << 20;

/// Maximum number of PDUs that a full connection may be offered before it refuses one.
const REFUSED_WITHIN: usize = 100;

/// Checks a transport at an address without a listener. Returns a sentence that names the first violated requirement.
///
/// - PDUs arrive complete and in order in both directions.
/// - A peer that does not read blocks the writer, without loss of data.
/// - The end of the stream follows the last PDU.
/// - An address has only one listener. When the listener has ended, the address is free and refuses connections.
pub async fn check(address: &Address) -> Result<(), String> {
    let options = SocketOptions::default();
    let listener = Listener::bind(address, &options).await.map_err(|error| error.to_string())?;
    let bound = listener.address().clone();
    let near = in_time("connecting", connect(&bound, &options)).await?.map_err(|error| error.to_string())?;
    let (far, peer) = in_time("accepting", listener.accept()).await?.map_err(|error| error.to_string())?;
    // Tries a second listener only after the first connection was accepted, because `bind` itself connects to a Unix
    // socket to look for a listener.
    match Listener::bind(&bound, &options).await {
        Err(BindError::InUse { .. }) => {}
        Err(error) => {
            return Err(format!("an occupied address is reported as \"{error}\", not as BindError::InUse"));
        }
        Ok(_) => return Err(format!("two listeners share {bound}")),
    }
    if !peer.contains("://") {
        return Err(format!("the name of a peer must begin like an address, not {peer:?}"));
    }
    both_ways(&near, &far).await?;
    held_back(&near, &far).await?;
    drop(near);
    let mut reader = FrameReader::with_framer(super::MAX_PDU_BYTES, far.framer());
    if let Some(pdu) = next(&far, &mut reader).await? {
        return Err(format!("a PDU of {} bytes arrived after the last PDU", pdu.len()));
    }
    drop((far, listener));
    match in_time("connecting without a listener", connect(&bound, &options)).await? {
        Err(ConnectError::Refused { .. } | ConnectError::NoSuchPath { .. }) => Ok(()),
        Err(error) => {
            Err(format!("a missing listener is reported as \"{error}\", not as ConnectError::Refused"))
        }
        Ok(_) => Err(format!("{bound} accepts connections after its listener was dropped")),
    }
}

async fn in_time<T>(what: &str, step: impl Future<Output = T>) -> Result<T, String> {
    tokio::time::timeout(PATIENCE, step).await.map_err(|_| format!("{what} takes longer than {PATIENCE:?}"))
}

async fn both_ways(near: &Stream, far: &Stream) -> Result<(), String> {
    for (from, to) in [(near, far), (far, near)] {
        let bodies: Vec<Bytes> = PDUS.iter().map(|len| Bytes::from(vec![*len as u8; *len])).collect();
        let mut reader = FrameReader::with_framer(super::MAX_PDU_BYTES, to.framer());
        let read = async {
            for body in &bodies {
                // Head and body of a frame form one PDU.
                let expected = [b"head", &body[..]].concat();
                match next(to, &mut reader).await? {
                    Some(pdu) if pdu == expected => {}
                    Some(pdu) => {
                        return Err(format!(
                            "a PDU of {} bytes arrived as {} different bytes",
                            expected.len(),
                            pdu.len()
                        ));
                    }
                    None => return Err("the stream ended before the last PDU".to_owned()),
                }
            }
            Ok(())
        };
        let (sent, read) = tokio::join!(send(from, &bodies), read);
        sent.and(read)?;
    }
    Ok(())
}

/// Sends all PDUs.
async fn send(stream: &Stream, bodies: &[Bytes]) -> Result<(), String> {
    let frames: Vec<Frame<'_>> = bodies.iter().map(|body| Frame { head: b"head", body }).collect();
    let mut writer = FrameWriter::with_framer(super::MAX_PDU_BYTES, stream.framer());
    let mut taken = 0;
    while taken < frames.len() || writer.rest_bytes() > 0 {
        let outcome = writer.write(stream, &frames[taken..]).map_err(|error| error.to_string())?;
        taken += outcome.taken;
        if outcome.blocked {
            in_time("waiting for room to write", stream.writable())
                .await?
                .map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

async fn held_back(near: &Stream, far: &Stream) -> Result<(), String> {
    let body = Bytes::from(vec![7; 10_000]);
    let mut writer = FrameWriter::with_framer(super::MAX_PDU_BYTES, near.framer());
    let mut sent = 0;
    // The writer counts as blocked if it stays blocked for a while; at first, the kernel may still find more room.
    while tokio::time::timeout(Duration::from_millis(100), near.writable()).await.is_ok() {
        let frames = [Frame { head: &[], body: &body }];
        let frames = if writer.rest_bytes() > 0 { &[][..] } else { &frames[..] };
        sent += writer.write(near, frames).map_err(|error| error.to_string())?.taken;
        if sent * body.len() > HELD_BACK_BYTES {
            return Err(format!("a peer that does not read has been sent {} bytes", sent * body.len()));
        }
    }
    // A connection that is not writable must also refuse data, although it may accept a little more first.
    let mut refused = false;
    for _ in 0..REFUSED_WITHIN {
        let frames = [Frame { head: &[], body: &body }];
        let frames = if writer.rest_bytes() > 0 { &[][..] } else { &frames[..] };
        let outcome = writer.write(near, frames).map_err(|error| error.to_string())?;
        sent += outcome.taken;
        refused |= outcome.blocked;
        if refused {
            break;
        }
    }
    if !refused {
        return Err("a connection that is not writable accepts data".to_owned());
    }
    let flush = async {
        while writer.rest_bytes() > 0 {
            in_time("waiting for room to write", near.writable())
                .await?
                .map_err(|error| error.to_string())?;
            writer.write(near, &[]).map_err(|error| error.to_string())?;
        }
        Ok(())
    };
    let mut reader = FrameReader::with_framer(super::MAX_PDU_BYTES, far.framer());
    let read = async {
        for n in 0..sent {
            match next(far, &mut reader).await? {
                Some(pdu) if pdu == body => {}
                _ => return Err(format!("of {sent} PDUs that waited for their reader, number {n} is lost")),
            }
        }
        Ok(())
    };
    let (flushed, read): (Result<(), String>, _) = tokio::join!(flush, read);
    flushed.and(read)
}

/// Returns the next PDU, or `None` at the end.
async fn next(stream: &Stream, reader: &mut FrameReader) -> Result<Option<Bytes>, String> {
    loop {
        if let Some(pdu) = reader.next().map_err(|error| error.to_string())? {
            return Ok(Some(pdu));
        }
        match reader.fill(stream).map_err(|error| error.to_string())? {
            ReadOutcome::Bytes(_) => {}
            ReadOutcome::Closed => return Ok(None),
            ReadOutcome::WouldBlock => {
                in_time("waiting for data to read", stream.readable())
                    .await?
                    .map_err(|error| error.to_string())?;
            }
        }
    }
}
