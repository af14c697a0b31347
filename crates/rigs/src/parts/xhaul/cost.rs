//! What a path costs for each packet: CPU time of the sender's system call, which on veth is the whole path.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use super::topology::{Lab, in_namespace};
use crate::parts::environment;
use crate::worker::Trouble;

/// Packets of a batch: short enough that some batches are never interrupted.
const BATCH: u32 = 64;
/// Octets of a packet's Ethernet frame without check sequence, as published for the background.
const FRAME_BYTES: usize = 996;
/// Headers in front of the UDP payload.
const HEADER_BYTES: usize = 14 + 28;
/// Nobody listens there but a socket whose buffer is full.
const PORT: u16 = 9;
/// Batches between two rests, so that no other work is starved.
const REST_AFTER: u32 = 50;

/// The least cost of a packet from vBBU to DU and back, ns: (metric, value).
pub(super) fn measure(lab: &Lab, batches: u32) -> Result<Vec<(&'static str, f64)>, Trouble> {
    if batches == 0 {
        return Ok(Vec::new());
    }
    let mut costs = Vec::new();
    for (name, from, to) in [("cost_ns_dl", "v1", "du"), ("cost_ns_ul", "du", "v1")] {
        let (from, to) = (lab.get(from)?, lab.get(to)?);
        let _sink = in_namespace(&to.namespace, || {
            let sink = UdpSocket::bind(("0.0.0.0", PORT)).map_err(environment)?;
            ranlab_net::bound_buffers(&sink, 4096, 2048).map_err(environment)?;
            Ok(sink)
        })?;
        let least = in_namespace(&from.namespace, || {
            let socket = UdpSocket::bind("0.0.0.0:0").map_err(environment)?;
            socket.connect((to.ip, PORT)).map_err(environment)?;
            Ok(least_ns(&socket, batches))
        })?;
        costs.push((name, least));
    }
    Ok(costs)
}

fn least_ns(socket: &UdpSocket, batches: u32) -> f64 {
    let last = std::thread::available_parallelism().map_or(1, usize::from) - 1;
    // Elsewhere the least is the same, found later.
    let _ = ranlab_net::pin_thread(last);
    let packet = vec![0; FRAME_BYTES - HEADER_BYTES];
    let mut least = f64::INFINITY;
    for batch in 0..batches {
        let begun = Instant::now();
        let sent = (0..BATCH).filter(|_| socket.send(&packet).is_ok()).count();
        let each = begun.elapsed().as_nanos() as f64 / f64::from(BATCH);
        // The first ones ask for the neighbour's address.
        if batch > 0 && sent == BATCH as usize {
            least = least.min(each);
        }
        if batch % REST_AFTER == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    least
}
