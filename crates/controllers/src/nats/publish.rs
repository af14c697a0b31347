//! What a monitor takes, on NATS subjects: at most once, and to whoever listens.
use super::connection::open;
use super::{NatsConfig, NatsError};
use crate::monitor::Messages;
use async_nats::Client;
use std::thread;
use tokio::sync::oneshot;

/// Messages that wait in the client while a server is away. More of them would be old news when it is back.
const WAITING_MAX: usize = 256;

/// Publishes what a monitor takes, from threads of its own, for as long as that is there. Servers that are away, at the beginning too,
/// are reached again; what finds no room meanwhile is dropped and counted. What was on its way when a connection broke is lost, and
/// seen as a gap in `sequence`.
///
/// # Errors
/// What trying again does not mend: addresses or files are none, or the servers let this client not in.
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
            // Whoever waits for it may have gone; then nobody will say that it ends.
            if begun.send(client).is_ok() {
                let _ = ends.await;
            }
        });
    })?;
    let gone = || NatsError::Thread(std::io::Error::other("it has ended"));
    let (client, runtime) = begins.await.map_err(|_| gone())??;
    // Reading the reports is work, and the connection is not to wait for it.
    thread::Builder::new().name("kpis".to_owned()).spawn(move || {
        let handle = messages.handle();
        for message in messages {
            handle.told(runtime.block_on(client.publish(message.subject, message.json)).is_ok());
        }
        // What it has taken goes out, if a server is there.
        let _ = runtime.block_on(tokio::time::timeout(super::PATIENCE, client.flush()));
        drop(end);
    })?;
    Ok(())
}

async fn connect(config: &NatsConfig) -> Result<Client, NatsError> {
    match open(config, |options| options.client_capacity(WAITING_MAX)).await {
        Err(error @ NatsError::Unreachable { .. }) => {
            tracing::warn!(%error, servers = config.servers, "nobody takes statistics yet; it is tried on");
            open(config, |options| options.client_capacity(WAITING_MAX).retry_on_initial_connect()).await
        }
        other => other,
    }
}
