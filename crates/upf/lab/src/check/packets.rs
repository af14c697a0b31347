//! The data network of a check, and the packets recorded for a capture.
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

use crate::load::{Network, TracedMessage};

use super::UpfCheck;
use crate::components::load::{NetworkSummary, UpfLoadComponent, data_network, run_data_network};
use ranlab_lab::rig;
use ranlab_lab::worker::ComponentError;

/// Maximum number of sessions that the data network distinguishes.
const SESSIONS: u64 = 16;

/// The emulated data network, which reflects packets during a check.
pub(super) struct Reflector {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<NetworkSummary, ComponentError>>,
}

impl Reflector {
    /// Starts the emulated data network. Returns `None` if a third-party data network is used. The address is bound when this function
    /// returns, so that the kernel answers no packet with an ICMP error.
    pub(super) fn start(config: &UpfCheck) -> Result<Option<Self>, ComponentError> {
        if config.n6 == Network::None {
            return Ok(None);
        }
        let part = UpfLoadComponent {
            n6: config.n6,
            ue: config.ue,
            sessions: Some(SESSIONS),
            ..UpfLoadComponent::default()
        };
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let network = data_network(&part)?;
        let thread = std::thread::Builder::new().spawn(move || run_data_network(network, &stopped));
        let thread =
            thread.map_err(|error| rig(format!("cannot start the thread of the data network: {error}")))?;
        Ok(Some(Self { stop, thread }))
    }

    /// Stops the data network. Returns the number of packets received.
    pub(super) fn end(self) -> Result<u64, ComponentError> {
        self.stop.store(true, Relaxed);
        let report = self.thread.join().map_err(|_| rig("the data network's thread panicked"))??;
        Ok(report.received)
    }
}

/// Packets on N3, recorded for a capture.
#[derive(Default)]
pub(super) struct Trace(Vec<TracedMessage>);

impl Trace {
    pub(super) fn note(&mut self, from: SocketAddr, to: SocketAddr, octets: &[u8]) {
        let at_ns = ranlab_net::monotonic_ns();
        self.0.push(TracedMessage { at_ns, from, to, octets: octets.to_vec() });
    }

    /// Returns and removes the recorded packets.
    pub(super) fn take(&mut self) -> Vec<TracedMessage> {
        std::mem::take(&mut self.0)
    }
}

impl<'a> IntoIterator for &'a Trace {
    type Item = &'a TracedMessage;
    type IntoIter = std::slice::Iter<'a, TracedMessage>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
