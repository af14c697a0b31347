//! A message proxy: forwards connections from a listener to another address, message by message.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;

use super::{
    AcceptError, Address, ConnectError, Frame, FrameError, FrameReader, FrameWriter, Listener, MAX_PDU_BYTES,
    ReadOutcome, SocketOptions, Stream, WriteError, connect,
};

/// Maximum number of simultaneous connections. Further ones are closed immediately and reported.
const MAX_CONNECTIONS: usize = 4096;
/// Pause before accepting the next connection when the system has no resources left.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);

/// Observer of the forwarded messages.
pub trait ProxyObserver {
    /// Receives the messages of one read in one direction, in order. The messages left in `batch` are forwarded.
    fn pass(&self, passage: &ProxyDirection, batch: &mut Vec<Bytes>);

    /// Reports that a connection was refused or ended with an error; `peer` is the connecting side, if known.
    fn trouble(&self, peer: Option<&str>, why: &ProxyError) {
        let _ = (peer, why);
    }
}

/// One direction of a connection.
#[derive(Debug, Clone, Copy)]
pub struct ProxyDirection {
    /// Number of the connection, from 1.
    pub connection: u64,
    /// Whether the data flows from the connecting side to the target.
    pub forth: bool,
    /// Sender's address, if its stream has addresses.
    pub from: Option<SocketAddr>,
    /// Receiver's address, if its stream has addresses.
    pub to: Option<SocketAddr>,
}

/// Reason why a connection or message was not forwarded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// No connection could be accepted.
    #[error(transparent)]
    Accept(#[from] AcceptError),
    /// The limit of connections is reached.
    #[error("{MAX_CONNECTIONS} connections are open, further ones are refused")]
    Full,
    /// The target does not respond.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The length of a frame is invalid.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The stream ended within a message.
    #[error("the connection closed in the middle of a message")]
    Unfinished,
    /// The receiver accepts no more data.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Error of the operating system.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A proxy between a listener and a target address.
#[derive(Debug)]
pub struct Proxy {
    listener: Listener,
    connect: Address,
    options: SocketOptions,
    open: Cell<usize>,
    connections: Cell<u64>,
}

impl Proxy {
    /// Creates a proxy from `listener` to `connect`. It forwards once [`Proxy::serve`] is awaited.
    pub fn new(listener: Listener, connect: Address, options: SocketOptions) -> Rc<Self> {
        Rc::new(Self { listener, connect, options, open: Cell::default(), connections: Cell::default() })
    }

    /// Returns the address of the listener.
    pub fn address(&self) -> &Address {
        self.listener.address()
    }

    /// Returns the number of accepted connections.
    pub fn connections(&self) -> u64 {
        self.connections.get()
    }

    /// Accepts connections forever. The connections run as tasks of the current `LocalSet`, and outlive this call.
    pub async fn serve(self: &Rc<Self>, tap: Rc<impl ProxyObserver + 'static>) {
        loop {
            match self.listener.accept().await {
                Ok((near, peer)) => self.admit(near, peer, &tap),
                Err(error) => {
                    let exhausted = matches!(error, AcceptError::Exhausted(_));
                    tap.trouble(None, &error.into());
                    if exhausted {
                        tokio::time::sleep(EXHAUSTED_PAUSE).await;
                    }
                }
            }
        }
    }

    fn admit(self: &Rc<Self>, near: Stream, peer: String, tap: &Rc<impl ProxyObserver + 'static>) {
        if self.open.get() >= MAX_CONNECTIONS {
            return tap.trouble(None, &ProxyError::Full);
        }
        self.open.set(self.open.get() + 1);
        let number = self.connections.get() + 1;
        self.connections.set(number);
        let proxy = Rc::clone(self);
        let tap = Rc::clone(tap);
        tokio::task::spawn_local(async move {
            let outcome = proxy.relay(&near, number, &*tap).await;
            proxy.open.set(proxy.open.get() - 1);
            if let Err(why) = outcome {
                tap.trouble(Some(&peer), &why);
            }
        });
    }

    /// Forwards in both directions until either side closes. The target is connected only when the client sends data,
    /// because some systems abort if an association ends without data.
    async fn relay(
        &self,
        near: &Stream,
        connection: u64,
        tap: &impl ProxyObserver,
    ) -> Result<(), ProxyError> {
        let mut from_near = FrameReader::with_framer(MAX_PDU_BYTES, near.framer());
        loop {
            match from_near.fill(near)? {
                ReadOutcome::WouldBlock => near.readable().await?,
                ReadOutcome::Closed => return Ok(()),
                ReadOutcome::Bytes(_) => break,
            }
        }
        let far = connect(&self.connect, &self.options).await?;
        let from_far = FrameReader::with_framer(MAX_PDU_BYTES, far.framer());
        let from = near.peer_address();
        let to = far.peer_address();
        let forth = ProxyDirection { connection, forth: true, from, to };
        let back = ProxyDirection { connection, forth: false, from: to, to: from };
        tokio::select! {
            ended = pump(from_near, near, &far, &forth, tap) => ended,
            ended = pump(from_far, &far, near, &back, tap) => ended,
        }
    }
}

/// Forwards one direction. Reads only after all earlier data has been forwarded, so memory use is bounded.
async fn pump(
    mut reader: FrameReader,
    from: &Stream,
    to: &Stream,
    passage: &ProxyDirection,
    tap: &impl ProxyObserver,
) -> Result<(), ProxyError> {
    let mut writer = FrameWriter::with_framer(MAX_PDU_BYTES, to.framer());
    let mut batch = Vec::new();
    loop {
        let ended = loop {
            match reader.next() {
                Ok(Some(pdu)) => batch.push(pdu),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        tap.pass(passage, &mut batch);
        send(&mut writer, to, &batch).await?;
        batch.clear();
        ended?;
        match reader.fill(from)? {
            ReadOutcome::WouldBlock => from.readable().await?,
            ReadOutcome::Closed if reader.unfinished_bytes() > 0 => return Err(ProxyError::Unfinished),
            ReadOutcome::Closed => return Ok(()),
            ReadOutcome::Bytes(_) => {}
        }
    }
}

async fn send(writer: &mut FrameWriter, to: &Stream, batch: &[Bytes]) -> Result<(), ProxyError> {
    let frames: Vec<_> = batch.iter().map(|body| Frame { head: &[], body }).collect();
    let mut taken = 0;
    while taken < frames.len() || writer.rest_bytes() > 0 {
        let outcome = writer.write(to, &frames[taken..])?;
        taken += outcome.taken;
        if outcome.blocked {
            to.writable().await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Tap for tests: reverses and records every message.
    #[derive(Default)]
    struct Reverser {
        seen: RefCell<Vec<(ProxyDirection, Bytes)>>,
        troubles: RefCell<Vec<String>>,
    }

    impl ProxyObserver for Reverser {
        fn pass(&self, passage: &ProxyDirection, batch: &mut Vec<Bytes>) {
            for pdu in batch {
                self.seen.borrow_mut().push((*passage, pdu.clone()));
                *pdu = pdu.iter().rev().copied().collect();
            }
        }

        fn trouble(&self, _: Option<&str>, why: &ProxyError) {
            self.troubles.borrow_mut().push(why.to_string());
        }
    }

    async fn receive(stream: &Stream, reader: &mut FrameReader) -> Option<Bytes> {
        loop {
            if let Some(pdu) = reader.next().unwrap() {
                return Some(pdu);
            }
            match reader.fill(stream).unwrap() {
                ReadOutcome::WouldBlock => stream.readable().await.unwrap(),
                ReadOutcome::Closed => return None,
                ReadOutcome::Bytes(_) => {}
            }
        }
    }

    async fn bound() -> Listener {
        Listener::bind(&"tcp://127.0.0.1:0".parse().unwrap(), &SocketOptions::default()).await.unwrap()
    }

    #[test]
    fn proxy_forwards_changed_messages_and_closes_both_connections() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let server = bound().await;
            let options = SocketOptions::default();
            let proxy = Proxy::new(bound().await, server.address().clone(), options.clone());
            let tap = Rc::new(Reverser::default());
            let serving = Rc::clone(&proxy);
            let looking = Rc::clone(&tap);
            let task = tokio::task::spawn_local(async move { serving.serve(looking).await });

            let near = connect(proxy.address(), &options).await.unwrap();
            let mut at_far = FrameReader::default();
            let mut at_near = FrameReader::default();
            let mut by_near = FrameWriter::default();
            let mut by_far = FrameWriter::default();
            let pdus = [Bytes::from_static(b"abc"), Bytes::from(vec![7; 300_000])];
            send(&mut by_near, &near, &pdus[..1]).await.unwrap();
            let (far, _) = server.accept().await.unwrap();
            assert_eq!(receive(&far, &mut at_far).await.as_deref(), Some(&b"cba"[..]));
            let (there, back) =
                tokio::join!(send(&mut by_far, &far, &pdus[1..]), receive(&near, &mut at_near));
            there.unwrap();
            assert_eq!(back, Some(pdus[1].clone()));
            {
                let seen = tap.seen.borrow();
                assert_eq!(seen.iter().map(|(_, pdu)| pdu.clone()).collect::<Vec<_>>(), pdus);
                let (forth, _) = &seen[0];
                let (back, _) = &seen[1];
                assert_eq!((forth.connection, forth.forth, back.forth), (1, true, false));
                assert_eq!((forth.from, forth.to), (back.to, back.from));
                assert!(forth.from.is_some() && forth.to.is_some());
            }
            drop(near);
            assert_eq!(receive(&far, &mut at_far).await, None);
            assert!(proxy.connections() == 1 && tap.troubles.borrow().is_empty());

            // A client that connects and sends nothing is not forwarded; the target sees the next client only.
            drop(connect(proxy.address(), &options).await.unwrap());
            // The next client ends its stream within a message. The last client connects when the target has no
            // listener.
            let near = connect(proxy.address(), &options).await.unwrap();
            let cut = io::IoSlice::new(&[0, 0, 0, 9, 1]);
            near.try_write_vectored(&[cut]).unwrap();
            drop(near);
            let (far, _) = server.accept().await.unwrap();
            assert_eq!(receive(&far, &mut FrameReader::default()).await, None);
            drop((server, far));
            let near = connect(proxy.address(), &options).await.unwrap();
            send(&mut by_near, &near, &pdus[..1]).await.unwrap();
            assert_eq!(receive(&near, &mut FrameReader::default()).await, None);
            assert_eq!((proxy.connections(), tap.troubles.borrow().len()), (4, 2));
            assert!(tap.troubles.borrow()[0].contains("in the middle of a message"));
            task.abort();
        });
    }
}
