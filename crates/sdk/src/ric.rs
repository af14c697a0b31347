//! A RIC on sockets.
use crate::driver::{Action, Driver, Machine, Reading};
use crate::events::{EventStream, Hub};
use crate::transport::{Address, BindError, SocketOptions};
use bytes::Bytes;
use futures_core::Stream;
use ranlab_e2::ric::{
    ConnId, IApp, IAppId, Method, NorthboundReply, NorthboundRequest, Ric, RicConfig, RicEvent, RicInput,
    RicOutput, Side,
};
use ranlab_e2::{Frame, LinkLoss, Time};
use ranlab_wire::e2ap::{self, Cause, CauseProtocol, ErrorIndication, Message, Version};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::oneshot;

impl Machine for Ric {
    type Key = ConnId;
    type Event = RicEvent;

    fn received(&mut self, now: Time, conn: ConnId, pdu: Bytes) {
        self.handle(now, RicInput::Received { conn, pdu });
    }
    fn disconnected(&mut self, now: Time, conn: ConnId, why: LinkLoss) {
        tracing::debug!(?conn, %why, "disconnected");
        self.handle(now, RicInput::Disconnected { conn });
    }
    fn closed(&mut self, now: Time, conn: ConnId) {
        self.handle(now, RicInput::Disconnected { conn });
    }
    fn wake(&mut self, now: Time) {
        self.handle(now, RicInput::Wake);
    }
    fn wake_at(&self) -> Option<Time> {
        Self::wake_at(self)
    }
    fn poll(&mut self) -> Option<Action<ConnId, RicEvent>> {
        Some(match Self::poll(self)? {
            RicOutput::Transmit(conn) => Action::Transmit(conn),
            RicOutput::Close { conn, reason } => Action::Close { key: conn, reason },
            RicOutput::Event(event) => Action::Event(event),
        })
    }
    fn transmit(&mut self, now: Time, conn: ConnId) -> Option<Frame> {
        Self::transmit(self, now, conn)
    }
    fn transport_full(&mut self, conn: ConnId) {
        Self::transport_full(self, conn);
    }
    fn farewell(&mut self, why: &str) -> Option<Bytes> {
        tracing::warn!(why, "a peer broke the framing");
        let indication = ErrorIndication {
            transaction_id: None,
            request_id: None,
            function_id: None,
            cause: Some(Cause::Protocol(CauseProtocol::TransferSyntaxError)),
            diagnostics: None,
        };
        e2ap::encode(&Message::ErrorIndication(indication), Version::V2_03).ok().map(Bytes::from)
    }
}

/// A running RIC. Dropping every handle of it ends it.
///
/// Lives on one thread inside a `tokio::task::LocalSet`; [`run`](crate::run) provides both.
#[derive(Clone)]
pub struct RicHandle(Rc<Shared>);

struct Shared {
    driver: Driver<Ric>,
    events: Rc<Hub<RicEvent>>,
    replies: Rc<Replies>,
    next_conn: Rc<Cell<u64>>,
}

/// Who waits for which northbound reply.
#[derive(Default)]
struct Replies {
    next: Cell<u64>,
    waiting: RefCell<BTreeMap<u64, oneshot::Sender<NorthboundReply>>>,
}

/// Another number for each second in which a RIC may start, far from those of the seconds around it.
fn instance_of_this_life() -> u16 {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    (seconds as u16).wrapping_mul(0x9e37)
}

/// Somebody asks, as long as this lives.
struct Asked<'a> {
    replies: &'a Replies,
    token: u64,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.replies.waiting.borrow_mut().remove(&self.token);
    }
}

impl RicHandle {
    /// Starts a RIC; it serves nobody before [`listen`](Self::listen). A first instance of 0 is replaced by one that the
    /// processes before it did not have.
    pub fn start(mut config: RicConfig, options: SocketOptions) -> Self {
        if config.first_instance == 0 {
            config.first_instance = instance_of_this_life();
        }
        let (events, replies) = (Rc::new(Hub::new()), Rc::new(Replies::default()));
        let (sink, waiting) = (Rc::clone(&events), replies.clone());
        let max_pdu = config.limits.pdu_bytes;
        let driver = Driver::start(Ric::new(config), options, max_pdu, move |event| {
            match event {
                RicEvent::Reply(reply) => {
                    if let Some(asker) = waiting.waiting.borrow_mut().remove(&reply.token) {
                        // Who asked may have gone; then nobody wants the reply.
                        let _ = asker.send(reply);
                    }
                }
                event => sink.push(event),
            }
            Reading::GoesOn
        });
        let next_conn = Rc::new(Cell::new(1));
        Self(Rc::new(Shared { driver, events, replies, next_conn }))
    }

    /// Opens a listener; returns its address, with the port that the system chose if it was 0.
    ///
    /// `allow` says which peers may connect; others are closed at once.
    pub async fn listen(
        &self,
        side: Side,
        address: &Address,
        allow: impl Fn(&str) -> bool + 'static,
    ) -> Result<Address, BindError> {
        let next_conn = self.0.next_conn.clone();
        let admit = move |ric: &mut Ric, now: Time, peer: &str| {
            if !allow(peer) {
                return None;
            }
            let conn = ConnId(next_conn.get());
            next_conn.set(conn.0 + 1);
            ric.handle(now, RicInput::Connected { conn, side, peer: peer.to_owned() });
            Some(conn)
        };
        self.0.driver.listen(address, admit).await
    }

    /// Adds an iApp.
    pub fn add_iapp(&self, iapp: Box<dyn IApp>) -> IAppId {
        self.0.driver.with(|ric, now| {
            let id = ric.add_iapp(iapp);
            ric.handle(now, RicInput::Wake);
            id
        })
    }

    /// Asks an iApp something and waits for its reply; `None` if the RIC ends before. An iApp that knows no such request
    /// may never reply. Cancel-safe.
    pub async fn northbound(
        &self,
        iapp: IAppId,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Option<NorthboundReply> {
        let replies = &self.0.replies;
        let token = replies.next.get();
        replies.next.set(token + 1);
        let (asker, reply) = oneshot::channel();
        replies.waiting.borrow_mut().insert(token, asker);
        let _forgotten = Asked { replies, token };
        let request = NorthboundRequest { token, method, path: path.to_owned(), body };
        self.0.driver.with(|ric, now| ric.northbound(now, iapp, request));
        reply.await.ok()
    }

    /// Acts on the machine.
    pub fn with<T>(&self, change: impl FnOnce(&mut Ric, Time) -> T) -> T {
        self.0.driver.with(change)
    }

    /// Looks at the machine: nodes, xApps, counters.
    pub fn read<T>(&self, look: impl FnOnce(&Ric) -> T) -> T {
        self.0.driver.read(look)
    }

    /// The next event. Cancel-safe. Nobody is obliged to listen: of what nobody takes the latest 1,024 stay. Whoever calls
    /// this takes from the same queue; further listeners have [`events`](Self::events).
    pub async fn next(&self) -> RicEvent {
        self.0.events.next().await
    }

    /// All events from now on, for one more listener.
    pub fn events(&self) -> EventStream<RicEvent> {
        self.0.events.listen()
    }

    /// Events that [`next`](Self::next) has missed because nobody took them.
    pub fn lagged(&self) -> u64 {
        self.0.events.own.lagged()
    }
}

/// As [`RicHandle::next`]; it does not end.
impl Stream for RicHandle {
    type Item = RicEvent;
    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<RicEvent>> {
        self.0.events.own.poll(cx)
    }
}
