//! Measures the maximum rate of this machine with plain `sendmmsg` and `recvmmsg` calls and an echo thread.
use super::LoadError;
use crate::upf::pin;
use ranlab_net::{
    DatagramOptions, ReceiveBatch, SendBatch, bind_datagrams, monotonic_ns, thread_cpu_time, wait_readable,
};
use serde::Serialize;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Length of a request (an establishment), in bytes.
const REQUEST: usize = 260;
const RESPONSE: usize = 50;
const BATCH: usize = 64;
/// Time without a response after which pending requests count as lost.
const PATIENCE_NS: u64 = 200_000_000;

/// Result of [`bare_loop`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BareLoop {
    /// Round trips.
    pub round_trips: u64,
    /// Requests without a response.
    pub lost: u64,
    /// Round trips per second of wall time.
    pub per_s: f64,
    /// Round trips per second of the sender's CPU time.
    pub per_cpu_s: f64,
}

/// Sends requests with the size of a PFCP session message over loopback to an echo thread for `duration`. `window`
/// requests are pending at any time.
pub fn bare_loop(window: usize, duration: Duration, pins: &[usize]) -> Result<BareLoop, LoadError> {
    let bind = || {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        bind_datagrams(address, DatagramOptions::default()).map_err(|source| LoadError::Bind {
            what: "bare loop",
            address,
            source,
        })
    };
    let client = bind()?;
    let server = bind()?;
    let to = server.local_addr()?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let echo = scope.spawn(|| {
            pin(pins, 1);
            echo(&server, &stop)
        });
        let sender = scope.spawn(|| {
            pin(pins, 0);
            let result = send(&client, to, window.clamp(1, 4_096), duration);
            stop.store(true, Relaxed);
            result
        });
        let result = sender.join().map_err(|_| LoadError::Panicked)?;
        echo.join().map_err(|_| LoadError::Panicked)??;
        Ok(result?)
    })
}

fn echo(socket: &UdpSocket, stop: &AtomicBool) -> std::io::Result<()> {
    let mut received = ReceiveBatch::new(BATCH, REQUEST);
    let mut to_send = SendBatch::new(BATCH, REQUEST);
    while !stop.load(Relaxed) {
        if received.receive(socket)? == 0 {
            wait_readable(&[socket.as_fd()], Duration::from_millis(5))?;
            continue;
        }
        for (from, request) in received.datagrams() {
            to_send.copy(Some(from), &request[..RESPONSE]);
        }
        to_send.send(socket)?;
        to_send.clear();
    }
    Ok(())
}

fn send(socket: &UdpSocket, to: SocketAddr, window: usize, duration: Duration) -> std::io::Result<BareLoop> {
    let mut received = ReceiveBatch::new(BATCH, REQUEST);
    let mut to_send = SendBatch::new(BATCH, REQUEST);
    let cpu = thread_cpu_time();
    let begin_ns = monotonic_ns();
    let end_ns = begin_ns + duration.as_nanos() as u64;
    let mut sent = 0_u64;
    let mut round_trips = 0_u64;
    let mut lost = 0_u64;
    let mut last_ns = begin_ns;
    // Send times of the requests, by their number modulo the window.
    let mut times = vec![0_u64; window];
    loop {
        let now_ns = monotonic_ns();
        if now_ns >= end_ns {
            break;
        }
        while sent - round_trips - lost < window as u64 && !to_send.is_full() {
            times[sent as usize % window] = now_ns;
            to_send.push(Some(to), |room| {
                room[..8].copy_from_slice(&sent.to_be_bytes());
                Some(REQUEST)
            });
            sent += 1;
        }
        if !to_send.is_empty() {
            to_send.send(socket)?;
        }
        if received.receive(socket)? == 0 {
            wait_readable(&[socket.as_fd()], Duration::from_millis(5))?;
            if now_ns - last_ns > PATIENCE_NS {
                (lost, last_ns) = (sent - round_trips, now_ns);
            }
            continue;
        }
        last_ns = now_ns;
        for (_, response) in received.datagrams() {
            let number = response.first_chunk().map_or(0, |eight| u64::from_be_bytes(*eight));
            round_trips += u64::from(times[number as usize % window] <= now_ns);
        }
    }
    let wall_s = (monotonic_ns() - begin_ns) as f64 / 1e9;
    let cpu_s = (thread_cpu_time() - cpu).as_secs_f64();
    let per_cpu_s = round_trips as f64 / cpu_s.max(1e-9);
    Ok(BareLoop { round_trips, lost, per_s: round_trips as f64 / wall_s, per_cpu_s })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_loop_completes_round_trips() {
        let result = bare_loop(8, Duration::from_millis(50), &[]).unwrap();
        assert!(result.round_trips > 8 && result.per_cpu_s > 0.0);
    }
}
