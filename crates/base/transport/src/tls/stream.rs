//! A TLS connection: plaintext for the application, records on the socket.
use ranlab_machine::lock;
use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::BytesMut;
use rustls::{CertificateError, Connection as Session, Error};
use tokio::net::TcpStream;

use super::super::Connection;

/// Maximum number of plaintext bytes that are accepted before the socket accepts their records.
const AHEAD_BYTES: usize = 64 << 10;
/// Time for queued records to be sent when the connection is closed.
const LINGER: Duration = Duration::from_secs(5);
/// Maximum time for a server to accept the client's certificate, after the client has completed its handshake (TLS
/// 1.3 has no message for this).
const BELIEVED: Duration = Duration::from_secs(2);

/// A TLS connection.
#[derive(Debug)]
pub(super) struct Secured(Arc<Inner>);

struct Inner {
    socket: TcpStream,
    state: Mutex<State>,
}

struct State {
    session: Session,
    /// Whether plaintext is available.
    readable: bool,
    /// Whether a task writes the records that the socket did not accept.
    flushing: bool,
    /// Task that waits until all records are written.
    writer: Option<Waker>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secured").field("socket", &self.socket).finish_non_exhaustive()
    }
}

/// Adapter through which rustls reads and writes a socket.
struct Records<'a>(&'a TcpStream);

impl Read for Records<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

impl Write for Records<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.0.try_write(buffer)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Converts a TLS error to a one-sentence I/O error.
pub(super) fn refusal(error: &(dyn std::error::Error + 'static)) -> io::Error {
    let what = match error.downcast_ref::<Error>() {
        Some(Error::InvalidCertificate(why)) => match why {
            CertificateError::UnknownIssuer => "the peer's certificate is signed by an unknown authority",
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the peer's certificate has expired"
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "the peer's certificate is not valid yet"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "the peer's certificate does not contain the name in the address"
            }
            other => return invalid_data(format!("the peer's certificate is refused: {other}")),
        },
        Some(Error::NoCertificatesPresented) => "the peer shows no certificate",
        Some(Error::AlertReceived(alert)) => {
            use rustls::AlertDescription as Alert;
            match alert {
                Alert::UnknownCA => "the authority of our certificate is unknown to the peer",
                Alert::CertificateExpired => "the peer reports that our certificate has expired",
                Alert::CertificateRequired => "the peer requires a client certificate",
                other => return invalid_data(format!("the peer rejects the connection: {other:?}")),
            }
        }
        Some(Error::InvalidMessage(_)) => "the peer does not speak TLS",
        _ => return invalid_data(format!("TLS failed: {error}")),
    };
    invalid_data(what.to_owned())
}

fn invalid_data(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Writes records. Returns whether some are left because the socket is full.
    fn flush(&self, state: &mut State) -> io::Result<bool> {
        while state.session.wants_write() {
            match state.session.write_tls(&mut Records(&self.socket)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Reads records with one read of the socket.
    fn fill(&self, state: &mut State) -> io::Result<usize> {
        let read = state.session.read_tls(&mut Records(&self.socket))?;
        match state.session.process_new_packets() {
            Ok(_) => Ok(read),
            Err(error) => {
                // Sends the alert to the peer if it still reads.
                let _ = self.flush(state);
                Err(refusal(&error))
            }
        }
    }

    /// Starts a task that writes the remaining records, because the application may not call again.
    fn flush_later(self: &Arc<Self>, state: &mut State) {
        if std::mem::replace(&mut state.flushing, true) {
            return;
        }
        let inner = Arc::clone(self);
        tokio::spawn(async move {
            loop {
                let writable = inner.socket.writable().await;
                let mut state = inner.state();
                if writable.is_ok() && matches!(inner.flush(&mut state), Ok(true)) {
                    continue;
                }
                state.flushing = false;
                if let Some(waker) = state.writer.take() {
                    waker.wake();
                }
                return;
            }
        });
    }
}

impl Secured {
    pub(super) fn new(socket: TcpStream, mut session: Session) -> Self {
        session.set_buffer_limit(Some(AHEAD_BYTES));
        let state = State { session, readable: false, flushing: false, writer: None };
        Self(Arc::new(Inner { socket, state: Mutex::new(state) }))
    }

    /// Performs the handshake. `as_client` also waits until the server has accepted the client's certificate, if it
    /// confirms this.
    pub(super) async fn shake_hands(&self, as_client: bool) -> io::Result<()> {
        let inner = &self.0;
        loop {
            let (blocked, shaking) = {
                let mut state = inner.state();
                (inner.flush(&mut state)?, state.session.is_handshaking())
            };
            if blocked {
                inner.socket.writable().await?;
                continue;
            }
            if !shaking {
                break;
            }
            inner.socket.readable().await?;
            self.take(as_client)?;
        }
        if !as_client {
            return Ok(());
        }
        let believed = async {
            loop {
                if matches!(&inner.state().session, Session::Client(client) if client.tls13_tickets_received() > 0)
                {
                    return Ok(());
                }
                inner.socket.readable().await?;
                self.take(true)?;
            }
        };
        tokio::time::timeout(BELIEVED, believed).await.unwrap_or(Ok(()))
    }

    /// Processes received handshake messages.
    fn take(&self, as_client: bool) -> io::Result<()> {
        let mut state = self.0.state();
        match self.0.fill(&mut state) {
            Ok(0) if as_client => {
                Err(invalid_data("the peer ends the connection instead of speaking TLS".to_owned()))
            }
            Ok(0) => {
                Err(invalid_data("the peer ends the connection before it has shown a certificate".to_owned()))
            }
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => {
                state.readable = true;
                Ok(())
            }
        }
    }

    /// Returns the first name in the peer's certificate.
    pub(super) fn peer_name(&self) -> Option<String> {
        let state = self.0.state();
        let certificate = state.session.peer_certificates()?.first()?;
        let certificate = webpki::EndEntityCert::try_from(certificate).ok()?;
        certificate.valid_dns_names().next().map(str::to_owned)
    }
}

impl Connection for Secured {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.0.state().readable {
            return Poll::Ready(Ok(()));
        }
        self.0.socket.poll_read_ready(cx)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.0.state();
        if state.flushing {
            state.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        drop(state);
        self.0.socket.poll_write_ready(cx)
    }

    fn try_read(&self, buf: &mut BytesMut) -> io::Result<usize> {
        let mut state = self.0.state();
        loop {
            let room = buf.capacity() - buf.len();
            let begin = buf.len();
            buf.resize(begin + room, 0);
            let read = state.session.reader().read(&mut buf[begin..]);
            buf.truncate(begin + read.as_ref().map_or(0, |read| *read));
            match read {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err(io::Error::new(
                        io::ErrorKind::ConnectionReset,
                        "the peer closed the connection without a TLS close message",
                    ));
                }
                other => {
                    state.readable = true;
                    return other;
                }
            }
            state.readable = false;
            let filled = self.0.fill(&mut state);
            if self.0.flush(&mut state)? {
                self.0.flush_later(&mut state);
            }
            filled?;
        }
    }

    fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut state = self.0.state();
        if state.flushing || self.0.flush(&mut state)? {
            self.0.flush_later(&mut state);
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let taken = state.session.writer().write_vectored(slices)?;
        if self.0.flush(&mut state)? {
            self.0.flush_later(&mut state);
        }
        Ok(taken)
    }
}

impl Drop for Secured {
    /// Sends a close notification after all written data.
    fn drop(&mut self) {
        let inner = &self.0;
        let mut state = inner.state();
        state.session.send_close_notify();
        if !matches!(inner.flush(&mut state), Ok(true)) || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        // The flushing task keeps the socket open, at most until its timeout.
        inner.flush_later(&mut state);
        let inner = Arc::clone(inner);
        tokio::spawn(async move {
            tokio::time::sleep(LINGER).await;
            let _ = socket2::SockRef::from(&inner.socket).shutdown(std::net::Shutdown::Both);
        });
    }
}
