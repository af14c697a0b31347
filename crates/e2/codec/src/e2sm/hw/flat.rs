//! Pings in FlatBuffers: table `Ping` of the schema.
use bytes::Bytes;
use planus::{Builder, ReadAsRoot};

use super::{PAYLOAD_SIZE_MAX, Ping};
use crate::e2sm::SmError;
use crate::e2sm::octets::Code;
use crate::flat::{FlatError, generated::e2};

/// FlatBuffers encoding of pings.
pub(super) struct Flat;

/// Maximum size of a ping in addition to its payload, in bytes; used to size buffers.
const ROOM: usize = 64;

impl Code<Ping> for Flat {
    fn encode(ping: &Ping, out: &mut Vec<u8>) -> Result<(), SmError> {
        bounded(ping.payload.len())?;
        let mut builder = Builder::with_capacity(ping.payload.len() + ROOM);
        let root = e2::Ping::create(&mut builder, ping.seq, ping.t_send_ns, &ping.payload[..]);
        out.extend_from_slice(builder.finish(root, None));
        Ok(())
    }

    fn decode(octets: &Bytes) -> Result<Ping, SmError> {
        let ping = e2::PingRef::read_as_root(octets).map_err(FlatError::from)?;
        let payload = ping.payload().map_err(FlatError::from)?;
        bounded(payload.len())?;
        let seq = ping.seq().map_err(FlatError::from)?;
        let t_send_ns = ping.t_send_ns().map_err(FlatError::from)?;
        Ok(Ping { seq, t_send_ns, payload: octets.slice_ref(payload) })
    }
}

fn bounded(have: usize) -> Result<(), FlatError> {
    let limit = PAYLOAD_SIZE_MAX;
    if have > limit { Err(FlatError::TooLong { have, limit }) } else { Ok(()) }
}
