//! A proxy: what connects to one address and begins to speak is passed on to another, message by message.

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

/// Connections that are passed on at a time; further ones are closed at once and told of.
const MAX_CONNECTIONS: usize = 4096;
/// Wait before the next connection when the system has no room for one.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);

/// Who looks at what passes.
pub trait Tap {
    /// Messages of one direction in their order, of one read at most. What is left in `batch` goes on.
    fn pass(&self, passage: &Passage, batch: &mut Vec<Bytes>);

    /// A connection was refused, or did not come to its regular end; `peer` is whoever connected, if that is known.
    fn trouble(&self, peer: Option<&str>, why: &ProxyError) {
        let _ = (peer, why);
    }
}

/// One direction of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Passage {
    /// Number of the connection, from 1.
    pub connection: u64,
    /// Who connected sends; otherwise it receives.
    pub forth: bool,
    /// Who sends, if its stream has addresses.
    pub from: Option<SocketAddr>,
    /// Who receives, if its stream has addresses.
    pub to: Option<SocketAddr>,
}

/// Why something was not passed on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// Nobody could be accepted.
    #[error(transparent)]
    Accept(#[from] AcceptError),
    /// There are too many at a time.
    #[error("{MAX_CONNECTIONS} connections are open, further ones are refused")]
    Full,
    /// The other address does not answer.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A length that is none.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// An end within a message.
    #[error("the connection closed in the middle of a message")]
    Unfinished,
    /// Nothing more can be sent.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The system's word.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A proxy between whoever connects to its listener and an address.
#[derive(Debug)]
pub struct Proxy {
    listener: Listener,
    connect: Address,
    options: SocketOptions,
    open: Cell<usize>,
    connections: Cell<u64>,
}

impl Proxy {
    /// Passes on to `connect` what `listener` accepts, once [`Proxy::serve`] is awaited.
    pub fn new(listener: Listener, connect: Address, options: SocketOptions) -> Rc<Self> {
        Rc::new(Self { listener, connect, options, open: Cell::default(), connections: Cell::default() })
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        self.listener.address()
    }

    /// Connections that it took so far, whatever became of them.
    pub fn connections(&self) -> u64 {
        self.connections.get()
    }

    /// Accepts for ever. Connections run as tasks of the `LocalSet` that this is awaited in, and outlive the call.
    pub async fn serve(self: &Rc<Self>, tap: Rc<impl Tap + 'static>) {
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

    fn admit(self: &Rc<Self>, near: Stream, peer: String, tap: &Rc<impl Tap + 'static>) {
        if self.open.get() >= MAX_CONNECTIONS {
            return tap.trouble(None, &ProxyError::Full);
        }
        self.open.set(self.open.get() + 1);
        let number = self.connections.get() + 1;
        self.connections.set(number);
        let (proxy, tap) = (Rc::clone(self), Rc::clone(tap));
        tokio::task::spawn_local(async move {
            let outcome = proxy.relay(&near, number, &*tap).await;
            proxy.open.set(proxy.open.get() - 1);
            if let Err(why) = outcome {
                tap.trouble(Some(&peer), &why);
            }
        });
    }

    /// Passes on in both directions until either end closes. Who connects and says nothing is nobody to the other address:
    /// systems exist that end themselves at an association that only ends.
    async fn relay(&self, near: &Stream, connection: u64, tap: &impl Tap) -> Result<(), ProxyError> {
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
        let (from, to) = (near.peer_address(), far.peer_address());
        let forth = Passage { connection, forth: true, from, to };
        let back = Passage { connection, forth: false, from: to, to: from };
        tokio::select! {
            ended = pump(from_near, near, &far, &forth, tap) => ended,
            ended = pump(from_far, &far, near, &back, tap) => ended,
        }
    }
}

/// One direction. Nothing more is read before all that was read has been passed on, so no memory piles up.
async fn pump(
    mut reader: FrameReader,
    from: &Stream,
    to: &Stream,
    passage: &Passage,
    tap: &impl Tap,
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

    /// Turns every message around and remembers it.
    #[derive(Default)]
    struct Reverser {
        seen: RefCell<Vec<(Passage, Bytes)>>,
        troubles: RefCell<Vec<String>>,
    }

    impl Tap for Reverser {
        fn pass(&self, passage: &Passage, batch: &mut Vec<Bytes>) {
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
    fn what_passes_is_seen_changed_and_passed_on_and_one_end_closes_the_other() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let (server, options) = (bound().await, SocketOptions::default());
            let proxy = Proxy::new(bound().await, server.address().clone(), options.clone());
            let tap = Rc::new(Reverser::default());
            let (serving, looking) = (Rc::clone(&proxy), Rc::clone(&tap));
            let task = tokio::task::spawn_local(async move { serving.serve(looking).await });

            let near = connect(proxy.address(), &options).await.unwrap();
            let (mut at_far, mut at_near) = (FrameReader::default(), FrameReader::default());
            let (mut by_near, mut by_far) = (FrameWriter::default(), FrameWriter::default());
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
                let ((forth, _), (back, _)) = (&seen[0], &seen[1]);
                assert_eq!((forth.connection, forth.forth, back.forth), (1, true, false));
                assert_eq!((forth.from, forth.to), (back.to, back.from));
                assert!(forth.from.is_some() && forth.to.is_some());
            }
            drop(near);
            assert_eq!(receive(&far, &mut at_far).await, None);
            assert!(proxy.connections() == 1 && tap.troubles.borrow().is_empty());

            // Who only looks whether somebody is there is nobody to the other address: the next that comes is who speaks.
            drop(connect(proxy.address(), &options).await.unwrap());
            // An end within a message, and an address where nobody listens any more.
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
