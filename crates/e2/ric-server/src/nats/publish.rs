//! Publishes the monitor's reports on NATS subjects, with at-most-once delivery.
use super::{NatsConfig, NatsError};
use async_nats::Client;
use ranlab_ric::monitor::Messages;
use ranlab_transport::nats::open;
use std::thread;
use tokio::sync::oneshot;

/// Maximum number of messages buffered in the client while disconnected; more would be outdated after a
/// reconnect.
const WAITING_MAX: usize = 256;

/// Publishes the monitor's reports from separate threads, until the monitor is dropped. Connects again if a server is
/// unreachable at first or the connection is lost. Messages without room are dropped and counted. Messages in flight
/// when a connection breaks are lost, which receivers see as a gap in `sequence`.
///
/// # Errors
/// Fails on permanent errors: invalid addresses or files, or rejected credentials.
pub async fn publish(config: NatsConfig, messages: Messages) -> Result<(), NatsError> {
    let (begun, begins) = oneshot::channel();
    let (end, ends) = oneshot::channel::<()>();
    thread::Builder::new().name("publish".to_owned()).spawn(move || {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return drop(begun.send(Err(NatsError::Thread(error)))),
        };
        runtime.block_on(async move {
            let client = connect(&config).await.map(|client| (client, tokio::runtime::Handle::current()));
            // If the caller has been dropped, nothing signals the end, so the thread does not wait for it.
            if begun.send(client).is_ok() {
                let _ = ends.await;
            }
        });
    })?;
    let gone = || NatsError::Thread(std::io::Error::other("the thread that publishes reports has ended"));
    let (client, runtime) = begins.await.map_err(|_| gone())??;
    // Decoding takes time and must not delay the connection.
    thread::Builder::new().name("kpis".to_owned()).spawn(move || {
        let handle = messages.handle();
        for message in messages {
            handle.count_result(runtime.block_on(client.publish(message.subject, message.json)).is_ok());
        }
        // Flushes buffered messages if a server is connected.
        let _ = runtime.block_on(tokio::time::timeout(super::PATIENCE, client.flush()));
        drop(end);
    })?;
    Ok(())
}

async fn connect(config: &NatsConfig) -> Result<Client, NatsError> {
    match open(config, |options| options.client_capacity(WAITING_MAX)).await {
        Err(error @ NatsError::Unreachable { .. }) => {
            tracing::warn!(%error, servers = config.servers, "no NATS server is reachable for statistics; retrying");
            open(config, |options| options.client_capacity(WAITING_MAX).retry_on_initial_connect()).await
        }
        other => other,
    }
}
