//! Connection to the NATS servers: credentials, choice of server, and connection events.
use async_nats::{Client, Event, ReconnectToServer, Server, ServerInfo};
use ranlab_e2::ric::directory::StoreEvent;
use ranlab_transport::nats::{NatsConfig, NatsError, open, pause};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::sync::mpsc;

/// Connects to one of the servers; `forwarder` receives disconnects and reconnects.
pub(super) async fn connect(config: &NatsConfig, forwarder: EventForwarder) -> Result<Client, NatsError> {
    let next = forwarder.clone();
    open(config, |options| {
        options
            .reconnect_to_server_callback(move |servers, last| {
                let next = next.next(&servers, &last);
                async move { next }
            })
            .event_callback(move |event| {
                let forwarder = forwarder.clone();
                async move { forwarder.on_event(&event).await }
            })
    })
    .await
}

/// Forwards connection events to the RIC, once the bucket is open.
#[derive(Clone)]
pub(super) struct EventForwarder {
    pub(super) news: mpsc::Sender<StoreEvent>,
    pub(super) joined: Arc<AtomicBool>,
    /// Number of connection attempts since the last connection.
    pub(super) tries: Arc<AtomicUsize>,
}

impl EventForwarder {
    /// Selects the server to connect to. The server that was lost comes last, because it may be silent rather
    /// than gone. Before the bucket is open, the client itself chooses and tries all servers.
    fn next(&self, servers: &[Server], last: &ServerInfo) -> Option<ReconnectToServer> {
        if !self.joined.load(Ordering::Relaxed) {
            return None;
        }
        let tries = self.tries.fetch_add(1, Ordering::Relaxed);
        let is_last = |it: &Server| it.addr.port() == last.port && it.addr.host() == last.host;
        let place = turn(&servers.iter().map(is_last).collect::<Vec<_>>(), tries)?;
        let addr = servers.get(place)?.addr.clone();
        // The first round tries all servers without delay; later rounds have growing delays.
        let round = tries / servers.len().max(1);
        Some(ReconnectToServer { addr, delay: Some(pause(if round == 0 { 0 } else { tries })) })
    }

    async fn on_event(&self, event: &Event) {
        let news = match event {
            Event::Connected => {
                self.tries.store(0, Ordering::Relaxed);
                StoreEvent::There
            }
            Event::Disconnected => {
                StoreEvent::Away { why: "the connection to the NATS server is lost".to_owned() }
            }
            _ => return,
        };
        if self.joined.load(Ordering::Relaxed) {
            // The RIC may have been dropped.
            let _ = self.news.send(news).await;
        }
    }
}

/// Returns the index of the server for an attempt. All other servers come first, then the lost server. Then the order
/// repeats.
fn turn(is_last: &[bool], tries: usize) -> Option<usize> {
    let places =
        |last: bool| is_last.iter().enumerate().filter(move |(_, it)| **it == last).map(|(place, _)| place);
    let order: Vec<_> = places(false).chain(places(true)).collect();
    order.get(tries.checked_rem(order.len())?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reconnect_tries_the_lost_server_last() {
        let turns = |is_last: &[bool]| (0..4).map(|tries| turn(is_last, tries)).collect::<Vec<_>>();
        assert_eq!(turns(&[true, false, false]), [Some(1), Some(2), Some(0), Some(1)]);
        // If no address matches the server's own name, all are tried in order.
        assert_eq!(turns(&[false, false]), [Some(0), Some(1), Some(0), Some(1)]);
        assert_eq!(turns(&[]), [None; 4]);
    }
}
