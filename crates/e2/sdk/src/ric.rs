//! RIC on sockets.
use crate::events::{EventHub, OTHERS_MAX_OF_A_RIC, PendingReplies};
use crate::handle::Handle;
use crate::threads::{RemoteLink, STATIONS, ThreadReport, Threads, XAPPS};
use crate::transport::driver::{Driver, ReadInterest};
use crate::transport::{Address, BindError, Listener, SocketOptions};
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::directory::{StoreEvent, StoreRequest};
use ranlab_e2::ric::{
    ConnId, IApp, IAppId, ListenerProtocol, Method, NorthboundReply, NorthboundRequest, Party, Ric,
    RicConfig, RicEvent, RicInput,
};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A running RIC.
pub type RicHandle = Handle<Ric, RicShared>;

/// Maximum number of queued operations for the shared store. If the queue is full, the oldest operation is dropped,
/// and the machine receives no result for it.
const ASKS_MAX: usize = 16_384;

/// Queued operations for the shared store.
#[derive(Default)]
struct StoreRequests {
    waiting: RefCell<VecDeque<StoreRequest>>,
    arrival: tokio::sync::Notify,
}

impl StoreRequests {
    fn push(&self, ask: StoreRequest) {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.len() >= ASKS_MAX {
            waiting.pop_front();
        }
        waiting.push_back(ask);
        self.arrival.notify_one();
    }
}

/// State shared by the RIC handles: northbound replies, operations for the shared store, and threads.
pub struct RicShared {
    asks: Rc<StoreRequests>,
    /// Pending waits for northbound replies.
    replies: Rc<PendingReplies<u64, NorthboundReply>>,
    next_token: Cell<u64>,
    next_conn: Rc<Cell<u64>>,
    /// Additional threads that serve sockets.
    threads: Option<Threads>,
}

/// Returns the index of the link kind that a listener accepts, for the link counts of each thread.
fn kind_of(side: ListenerProtocol) -> usize {
    match side {
        ListenerProtocol::E2 => STATIONS,
        ListenerProtocol::E42 => XAPPS,
    }
}

/// Returns a first instance derived from the current time in seconds. Processes started in adjacent seconds get
/// distant instances.
fn instance_of_this_life() -> u16 {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    (seconds as u16).wrapping_mul(0x9e37)
}

impl RicHandle {
    /// Starts a RIC. It serves no peers before [`listen`](Self::listen). If `config.first_instance` is 0, a value is
    /// derived from the current time, so that it differs from the instances of earlier processes.
    pub fn start(config: RicConfig, options: SocketOptions) -> Self {
        Self::start_with(config, options, None)
    }

    /// Starts a RIC like [`start`](Self::start), with `threads` threads for its links. The machine runs on the
    /// calling thread. Each other thread has a runtime, and transfers bytes between sockets and bounded queues. One
    /// thread is equivalent to [`start`](Self::start).
    ///
    /// # Errors
    ///
    /// Returns an error if the system cannot create another thread or its epoll instance.
    pub fn start_on(threads: NonZeroUsize, config: RicConfig, options: SocketOptions) -> io::Result<Self> {
        Self::start_on_as_loaded(threads, 0.0, config, options)
    }

    /// Starts a RIC like [`start_on`](Self::start_on), but uses only as many of the threads as the load requires.
    /// Another thread is used once the CPU load of each active thread exceeds `above` (1 is a full core). It is
    /// released when it is no longer needed. Fewer threads cost less at a moderate load. If `above` is 0, links are
    /// spread evenly over all threads from the start.
    ///
    /// # Errors
    ///
    /// Returns an error like [`start_on`](Self::start_on).
    pub fn start_on_as_loaded(
        threads: NonZeroUsize,
        above: f64,
        config: RicConfig,
        options: SocketOptions,
    ) -> io::Result<Self> {
        let workers = threads.get() - 1;
        let start = || Threads::start("ric", workers, config.limits.pdu_bytes, above);
        let threads = (workers > 0).then(start).transpose()?;
        Ok(Self::start_with(config, options, threads))
    }

    /// Returns the load of each thread, starting with the machine's thread. The list is empty if there is only one thread.
    pub fn threads(&self) -> Vec<ThreadReport> {
        self.own().threads.as_ref().map(Threads::report).unwrap_or_default()
    }

    fn start_with(mut config: RicConfig, options: SocketOptions, threads: Option<Threads>) -> Self {
        if config.first_instance == 0 {
            config.first_instance = instance_of_this_life();
        }
        let events = Rc::new(EventHub::keeping(OTHERS_MAX_OF_A_RIC));
        let replies = Rc::new(PendingReplies::default());
        let sink = Rc::clone(&events);
        let waiting = replies.clone();
        let asks = Rc::new(StoreRequests::default());
        let store_requests = Rc::clone(&asks);
        let max_pdu = config.limits.pdu_bytes;
        let driver = Driver::start(Ric::new(config), options, max_pdu, move |event| {
            match event {
                RicEvent::Reply(reply) => waiting.resolve(reply.token, reply),
                RicEvent::Bus(ask) => store_requests.push(ask),
                event => sink.push(event),
            }
            ReadInterest::GoesOn
        });
        driver.on_attach(|ric, conn, stream| {
            if let Some(far) = RemoteLink::from_stream(stream) {
                far.register_fast_path(ric, conn);
            }
        });
        let next_conn = Rc::new(Cell::new(1));
        Self::new(driver, events, RicShared { asks, replies, next_token: Cell::new(0), next_conn, threads })
    }

    /// Opens a listener. Returns its address; port 0 is replaced by the port that the system chose.
    ///
    /// `allow` decides which peers may connect. Other connections are closed immediately.
    pub async fn listen(
        &self,
        side: ListenerProtocol,
        address: &Address,
        allow: impl Fn(&str) -> bool + 'static,
    ) -> Result<Address, BindError> {
        self.listen_for(side, address, None, allow).await
    }

    /// Opens a listener like [`listen`](Self::listen) for untrusted peers, with at most `most` simultaneous connections
    /// and about 50 new connections per second.
    pub async fn listen_within(
        &self,
        side: ListenerProtocol,
        address: &Address,
        most: usize,
        allow: impl Fn(&str) -> bool + 'static,
    ) -> Result<Address, BindError> {
        self.listen_for(side, address, Some(most), allow).await
    }

    async fn listen_for(
        &self,
        side: ListenerProtocol,
        address: &Address,
        most: Option<usize>,
        allow: impl Fn(&str) -> bool + 'static,
    ) -> Result<Address, BindError> {
        let next_conn = self.own().next_conn.clone();
        let admit = move |ric: &mut Ric, now: Time, peer: &str| {
            if !allow(peer) {
                return None;
            }
            let conn = ConnId(next_conn.get());
            next_conn.set(conn.0 + 1);
            ric.handle(now, RicInput::Connected { conn, side, peer: peer.to_owned() });
            Some(conn)
        };
        let options = self.driver().options();
        let listener = match &self.own().threads {
            Some(threads) => threads.listener(kind_of(side), address, options).await?,
            None => Listener::bind(address, options).await?,
        };
        Ok(match most {
            Some(most) => self.driver().listen_within(listener, most, admit),
            None => self.driver().listen_at(listener, admit),
        })
    }

    /// Waits for the next operation for the shared store of several RICs ([`RicConfig::directory`]). Cancel-safe.
    pub async fn next_ask(&self) -> StoreRequest {
        let asks = &self.own().asks;
        loop {
            if let Some(ask) = asks.waiting.borrow_mut().pop_front() {
                return ask;
            }
            asks.arrival.notified().await;
        }
    }

    /// Passes notifications of the shared store to the RIC.
    pub fn bus(&self, news: impl IntoIterator<Item = StoreEvent>) {
        self.with(|ric, now| ric.bus_all(now, news));
    }

    /// Adds an iApp.
    pub fn add_iapp(&self, iapp: Box<dyn IApp>) -> IAppId {
        self.with(|ric, now| {
            let id = ric.add_iapp(iapp);
            ric.handle(now, RicInput::Wake);
            id
        })
    }

    /// Sends a request to an iApp and waits for its reply. Returns `None` if the RIC ends first. An iApp may never
    /// reply to a request that it does not know. Cancel-safe.
    pub async fn northbound(
        &self,
        iapp: IAppId,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Option<NorthboundReply> {
        self.northbound_for(iapp, None, method, path, body).await
    }

    /// Sends a request like [`northbound`](Self::northbound) on behalf of a client, whose permissions apply to the
    /// resulting controls.
    pub async fn northbound_for(
        &self,
        iapp: IAppId,
        party: Option<Party>,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Option<NorthboundReply> {
        let token = self.own().next_token.get();
        self.own().next_token.set(token + 1);
        let reply = self.own().replies.wait(token);
        let request = NorthboundRequest { token, method, path: path.to_owned(), body, party };
        self.with(|ric, now| ric.northbound(now, iapp, request));
        reply.await
    }
}
