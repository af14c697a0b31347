//! RMR over TCP for O-RAN SC's xApps: indications for clients of `/ric/v1/subscriptions`, and controls.
//!
//! RMR has no authentication. Beyond loopback, only trusted addresses are accepted, and responses go to the
//! sender's address, regardless of the host named in its message.
use ranlab_e2_codec::rmr::{CONTROL_ACKNOWLEDGE, CONTROL_FAILURE, CONTROL_REQUEST, MESSAGE_MAX, Message};
use ranlab_http::token::TrustedNetworks;
use ranlab_machine::routes::encode;
use ranlab_ric::console::{self, ConsoleHandle, Rmr};
use ranlab_sdk::RicHandle;
use ranlab_sdk::e2::ric::Method;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Maximum number of connections; further ones are closed.
const CONNECTIONS_MAX: usize = 64;
/// Maximum number of pending controls per connection. At the limit, the connection is not read.
const CONTROLS_MAX: usize = 64;
/// Timeout for connecting to an xApp, and for sending it one message.
const PATIENCE: Duration = Duration::from_secs(5);
/// Delay before the next attempt to reach an xApp; messages are dropped in the meantime.
const RETRY: Duration = Duration::from_secs(1);
/// Idle time after which a connection is closed; it is reopened when needed.
const IDLE: Duration = Duration::from_secs(60);
/// Timeout for the response of a base station, which has 5 s for a control.
const REPLY_PATIENCE: Duration = Duration::from_secs(8);

/// Configuration of the server.
#[derive(Debug, Clone)]
pub struct RmrConfig {
    /// Address to listen on.
    pub address: SocketAddr,
    /// Trusted addresses beyond loopback.
    pub trust: Option<TrustedNetworks>,
    /// Console of the RIC.
    pub console: ConsoleHandle,
}

/// Starts the server, which runs until the RIC ends; needs a `LocalSet`. Returns the bound address.
///
/// # Errors
/// Fails if the address cannot be bound, or is beyond loopback and there are no trusted addresses.
pub async fn serve(ric: RicHandle, config: RmrConfig) -> io::Result<SocketAddr> {
    let RmrConfig { address, trust, console } = config;
    if !address.ip().is_loopback() && trust.is_none() {
        let why = "refusing to listen on a non-loopback address without --trust";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let listener = TcpListener::bind(address).await?;
    let bound = listener.local_addr()?;
    let rmr = console.rmr;
    rmr.open(bound.to_string());
    let carried = rmr.clone();
    tokio::task::spawn_local(async move {
        loop {
            let to = poll_fn(|cx| carried.poll_fresh(cx)).await;
            tokio::task::spawn_local(carry(carried.clone(), to));
        }
    });
    tokio::task::spawn_local(async move {
        let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            let Ok((stream, peer)) = listener.accept().await else {
                tokio::time::sleep(RETRY).await;
                continue;
            };
            let is_trusted = TrustedNetworks::holds(trust.as_ref(), peer.ip());
            let Some(seat) = room.clone().try_acquire_owned().ok().filter(|_| is_trusted) else {
                rmr.count(|counts| counts.refused += 1);
                continue;
            };
            let ric = ric.clone();
            let rmr = rmr.clone();
            tokio::task::spawn_local(async move {
                serve_connection(&ric, &rmr, stream, peer).await;
                drop(seat);
            });
        }
    });
    Ok(bound)
}

/// Sends the queued messages of an xApp, until the connection is idle for long or fails.
async fn carry(rmr: Rmr, to: SocketAddr) {
    let Ok(Ok(mut stream)) = timeout(PATIENCE, TcpStream::connect(to)).await else {
        tracing::warn!(%to, "an RMR connection to an xApp failed");
        tokio::time::sleep(RETRY).await;
        return rmr.close(to, 0);
    };
    let _ = stream.set_nodelay(true);
    let mut buffer = [0; 64];
    loop {
        let (reading, writing) = stream.split();
        let next = tokio::select! {
            next = timeout(IDLE, poll_fn(|cx| rmr.poll_next(to, cx))) => next,
            // The peer sends nothing on this connection; a read only detects its end.
            ended = async { let mut reading = reading; reading.read(&mut buffer).await } => match ended {
                Ok(1..) => continue,
                _ => return rmr.close(to, 0),
            },
        };
        let Ok(message) = next else { return rmr.close(to, 0) };
        let mut writing = writing;
        let sent = timeout(PATIENCE, writing.write_all(&message)).await;
        if !matches!(sent, Ok(Ok(()))) {
            tracing::warn!(%to, "an xApp does not read its RMR messages");
            return rmr.close(to, 1);
        }
        rmr.count(|counts| counts.sent += 1);
    }
}

/// Reads the messages of a connection until it ends.
async fn serve_connection(ric: &RicHandle, rmr: &Rmr, mut stream: TcpStream, peer: SocketAddr) {
    let controls = Arc::new(Semaphore::new(CONTROLS_MAX));
    let mut octets = Vec::new();
    let mut chunk = vec![0; 16 << 10];
    loop {
        match Message::decode(&octets) {
            Ok(Some((message, len))) => {
                octets.drain(..len);
                rmr.count(|counts| counts.received += 1);
                if message.kind != CONTROL_REQUEST {
                    rmr.count(|counts| counts.ignored += 1);
                    continue;
                }
                let Ok(permit) = controls.clone().acquire_owned().await else { return };
                let ric = ric.clone();
                let rmr = rmr.clone();
                tokio::task::spawn_local(async move {
                    command(&ric, &rmr, peer, message).await;
                    drop(permit);
                });
            }
            Ok(None) => match stream.read(&mut chunk).await {
                Ok(read @ 1..) => octets.extend_from_slice(&chunk[..read]),
                _ => return,
            },
            Err(error) => {
                tracing::warn!(%peer, %error, most = MESSAGE_MAX, "the connection is closed, because its data are not RMR messages");
                return rmr.count(|counts| counts.refused += 1);
            }
        }
    }
}

/// Handles one control; the response goes to the port named in the message.
async fn command(ric: &RicHandle, rmr: &Rmr, peer: SocketAddr, message: Message) {
    let iapp = ric.read(|ric| ric.iapp(console::NAME));
    let Some(iapp) = iapp else { return };
    let path = format!("rmr/{}", encode(&message.meid));
    let party = Some(format!("rmr://{}", peer.ip().to_canonical()).into());
    let pending = ric.northbound_for(iapp, party, Method::Post, &path, message.payload.clone());
    let Ok(Some(reply)) = timeout(REPLY_PATIENCE, pending).await else { return };
    let kind = match reply.status {
        200 => CONTROL_ACKNOWLEDGE,
        409 => CONTROL_FAILURE,
        204 => return,
        _ => {
            let why = String::from_utf8_lossy(&reply.body).into_owned();
            tracing::warn!(%peer, meid = message.meid, why, "a control over RMR was refused");
            return rmr.count(|counts| counts.ignored += 1);
        }
    };
    let port = message.source.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    let Some((port, source)) = port.zip(rmr.source()) else { return };
    rmr.send(SocketAddr::new(peer.ip(), port), &message.answer(kind, source, reply.body));
}
