//! Tests of links between threads, run on one thread. The executor picks the next task by a seed, and detects tasks
//! that are never woken.
mod past;

use super::link_task::LinkTask;
use super::placement::{Place, Placement};
use super::remote_link::{Counts, KINDS, LinkCountGuard, RemoteLink, Shared, XappOutboxes};
use super::*;
use crate::transport::{
    Connection, Frame, FrameReader, FrameWriter, Framer, MAX_PDU_BYTES, MessageBoundaries, ReadOutcome,
    duplex,
};
use bytes::{Bytes, BytesMut};
use ranlab_machine::Random;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::io::IoSlice;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::task::{Wake, Waker};

/// Number of messages in each direction of a link that moves.
const MOVED: u32 = 20_000;

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Task {
    future: Pin<Box<dyn Future<Output = ()>>>,
    flag: Arc<Flag>,
}

/// Executor that runs tasks in an order determined by a seed, until no task is woken.
struct Executor {
    dice: Random,
    tasks: BTreeMap<usize, Task>,
    named: usize,
}

impl Executor {
    fn new(seed: u64) -> Self {
        Self { dice: Random::stream(seed, 0), tasks: BTreeMap::new(), named: 0 }
    }

    fn spawn(&mut self, future: impl Future<Output = ()> + 'static) -> usize {
        let flag = Arc::new(Flag(AtomicBool::new(true)));
        self.tasks.insert(self.named, Task { future: Box::pin(future), flag });
        self.named += 1;
        self.named - 1
    }

    /// Runs at most `steps` steps. Returns whether any task is still woken.
    fn run(&mut self, steps: usize) -> bool {
        for _ in 0..steps {
            let woken: Vec<usize> = self
                .tasks
                .iter()
                .filter(|(_, task)| task.flag.0.load(Ordering::Relaxed))
                .map(|(name, _)| *name)
                .collect();
            if woken.is_empty() {
                return false;
            }
            let name = woken[self.dice.index(woken.len() as u32) as usize];
            let task = self.tasks.get_mut(&name).unwrap();
            task.flag.0.store(false, Ordering::Relaxed);
            let waker = Waker::from(task.flag.clone());
            if task.future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                self.tasks.remove(&name);
            }
        }
        true
    }
}

fn held() -> LinkCountGuard {
    let mut placement = Placement::<KINDS>::new(1);
    placement.add(0, Place::Worker(0));
    let place = Arc::new(Mutex::new(Some(Place::Worker(0))));
    LinkCountGuard { placement: Arc::new(Mutex::new(placement)), kind: 0, place }
}

fn far(shared: Arc<Shared>, framer: &'static dyn Framer) -> Stream {
    let conn = OnceLock::new();
    Stream::Other(Box::new(RemoteLink {
        shared,
        framer,
        mouths: XappOutboxes::default(),
        conn,
        _held: held(),
    }))
}

/// Creates a link whose peer is a pipe with this capacity. Returns the peer's end, the machine's end, and the
/// worker's task.
fn link(capacity: usize, counts: &Arc<Counts>) -> (Stream, Stream, LinkTask) {
    let (peer, socket) = duplex(capacity);
    let stream = Stream::Memory(socket);
    let framer = stream.framer();
    let shared = Shared::new(framer, counts.clone());
    let pump = LinkTask::new(stream, MAX_PDU_BYTES, shared.clone());
    (Stream::Memory(peer), far(shared, framer), pump)
}

async fn send(stream: &Stream, writer: &mut FrameWriter, pdu: &Bytes) -> bool {
    let mut taken = 0;
    loop {
        let frame = [Frame { head: b"", body: pdu }];
        match writer.write(stream, &frame[taken..]) {
            Ok(outcome) => {
                taken += outcome.taken;
                if taken == 1 && !outcome.blocked && writer.rest_bytes() == 0 {
                    return true;
                }
            }
            Err(_) => return false,
        }
        if stream.writable().await.is_err() {
            return false;
        }
    }
}

async fn receive(stream: &Stream, reader: &mut FrameReader) -> io::Result<Option<Bytes>> {
    loop {
        if let Some(pdu) = reader.next().map_err(io::Error::other)? {
            return Ok(Some(pdu));
        }
        match reader.fill(stream)? {
            ReadOutcome::Closed => return Ok(None),
            ReadOutcome::WouldBlock => stream.readable().await?,
            ReadOutcome::Bytes(_) => {}
        }
    }
}

fn numbered(subscription: u8, number: u32, length: usize) -> Bytes {
    let mut pdu = vec![subscription; 5 + length];
    pdu[1..5].copy_from_slice(&number.to_be_bytes());
    pdu.into()
}

/// Number of subscriptions per agent.
const SUBSCRIPTIONS: u8 = 3;
/// Number of reports per subscription.
const REPORTS: u32 = 40;

/// Sequence numbers of reports by agent and subscription.
type Arrived = BTreeMap<(usize, u8), Vec<u32>>;

/// Agents send reports through workers to a machine, which forwards them to one xApp through another worker. Returns
/// the reports at the xApp by agent and subscription, and how each agent's link ended.
fn forwarded(seed: u64, agents: usize, dead: Option<usize>) -> (Arrived, Vec<bool>) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    // Entering the runtime allows timers to be created. They never expire, because the time does not advance.
    let _entered = runtime.enter();
    let mut world = Executor::new(seed);
    let counts = Arc::<Counts>::default();
    let (xapp, to_xapp, pump) = link(1 + world.dice.index(4_000) as usize, &counts);
    world.spawn(pump);
    let to_xapp = Rc::new(to_xapp);
    let open = Rc::new(Cell::new(agents));
    let turn = Rc::new(Cell::new(Some(FrameWriter::default())));
    let ends = Rc::new(RefCell::new(vec![false; agents]));
    let mut doomed = None;
    for agent in 0..agents {
        let (peer, near, pump) = link(1 + world.dice.index(100_000) as usize, &counts);
        let task = world.spawn(pump);
        if dead == Some(agent) {
            doomed = Some(task);
        }
        let length = world.dice.index(9_000) as usize;
        world.spawn(async move {
            let mut writer = FrameWriter::default();
            for number in 0..REPORTS {
                for subscription in 0..SUBSCRIPTIONS {
                    if !send(&peer, &mut writer, &numbered(subscription, number, length)).await {
                        return;
                    }
                }
            }
        });
        let to_xapp = to_xapp.clone();
        let open = open.clone();
        let turn = turn.clone();
        let ends = ends.clone();
        world.spawn(async move {
            let mut reader = FrameReader::default();
            let broken = loop {
                match receive(&near, &mut reader).await {
                    Ok(Some(pdu)) => {
                        let marked = Bytes::from([&[agent as u8], &pdu[..]].concat());
                        // The writer is used by one task at a time, like on the machine's thread. A task that waits
                        // for room keeps the writer.
                        let mut writer = loop {
                            match turn.take() {
                                Some(writer) => break writer,
                                None => yielded().await,
                            }
                        };
                        assert!(send(&to_xapp, &mut writer, &marked).await, "the xApp's link broke");
                        turn.set(Some(writer));
                    }
                    Ok(None) => break false,
                    Err(error) => {
                        assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted, "{error}");
                        break true;
                    }
                }
            };
            ends.borrow_mut()[agent] = broken;
            open.set(open.get() - 1);
        });
    }
    drop(to_xapp);
    let got = Rc::new(RefCell::new(Arrived::new()));
    let taken = got.clone();
    world.spawn(async move {
        let mut reader = FrameReader::default();
        while let Some(pdu) = receive(&xapp, &mut reader).await.unwrap() {
            let number = u32::from_be_bytes(pdu[2..6].try_into().unwrap());
            taken.borrow_mut().entry((usize::from(pdu[0]), pdu[1])).or_default().push(number);
        }
    });
    let before = world.dice.index(3_000) as usize;
    world.run(before);
    if let Some(task) = doomed {
        world.tasks.remove(&task);
    }
    assert!(!world.run(10_000_000), "seed {seed}: the tasks must end within the maximum number of steps");
    assert!(
        world.tasks.is_empty(),
        "seed {seed}: all tasks must end, but {} are never woken",
        world.tasks.len()
    );
    assert_eq!((open.get(), counts.pumps.load(Ordering::Relaxed)), (0, 0));
    (got.take(), ends.take())
}

/// Yields to other tasks.
async fn yielded() {
    let mut first = true;
    std::future::poll_fn(|cx| {
        if std::mem::take(&mut first) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}

#[test]
fn reports_are_complete_and_in_order_per_subscription() {
    for seed in 1..=60 {
        let agents = 1 + seed as usize % 5;
        let (got, broken) = forwarded(seed, agents, None);
        assert!(broken.iter().all(|broken| !broken));
        assert_eq!(got.len(), agents * usize::from(SUBSCRIPTIONS), "seed {seed}");
        for (of, numbers) in got {
            assert!(numbers.iter().copied().eq(0..REPORTS), "seed {seed}, {of:?}: {numbers:?}");
        }
    }
}

#[test]
fn ended_thread_breaks_only_its_own_links_with_reason() {
    let mut cut = 0;
    for seed in 1..=60 {
        let (got, broken) = forwarded(seed, 3, Some(1));
        assert!(!broken[0] && !broken[2], "seed {seed}: links of other threads must not break");
        for ((agent, _), numbers) in got {
            let whole = numbers.len() == REPORTS as usize;
            // The data sent before the thread ended arrives without a gap, but may be incomplete.
            assert!(numbers.iter().copied().eq(0..numbers.len() as u32), "seed {seed}, agent {agent}");
            assert!(whole || (agent == 1 && broken[1]), "seed {seed}, agent {agent}");
            cut += usize::from(!whole);
        }
    }
    assert!(cut > 20, "the thread must end during the transfer, but only {cut} subscriptions are incomplete");
}

/// A stream that accepts no data, or panics when it is read.
#[derive(Debug)]
struct Odd {
    panics: bool,
}

impl Connection for Odd {
    fn poll_readable(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.panics { Poll::Ready(Ok(())) } else { Poll::Pending }
    }
    fn poll_writable(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }
    fn try_read(&self, _: &mut BytesMut) -> io::Result<usize> {
        panic!("bug of a third-party transport")
    }
    fn try_write_vectored(&self, _: &[IoSlice<'_>]) -> io::Result<usize> {
        assert!(!self.panics, "the panicking stream must not be used in the other direction");
        Err(io::ErrorKind::WouldBlock.into())
    }
    fn framer(&self) -> &'static dyn Framer {
        &MessageBoundaries
    }
}

/// Returns the machine's end of a base station's link on the first worker.
fn cross(threads: &Threads, stream: Stream) -> Stream {
    threads.crew().cross(stream, Place::Worker(0), STATIONS)
}

fn odd(panics: bool) -> Stream {
    Stream::Other(Box::new(Odd { panics }))
}

#[tokio::test]
async fn panic_ends_one_link_and_stalled_socket_is_released() {
    let threads = Threads::start("test", 1, MAX_PDU_BYTES, 0.0).unwrap();
    let worker = &threads.hall.workers[0];
    let near = cross(&threads, odd(true));
    let why = receive(&near, &mut FrameReader::default()).await.unwrap_err();
    assert!(why.to_string().contains("panicked"), "{why}");
    assert_eq!(threads.report()[1].panics, 1);
    assert!(threads.report()[1].alive, "the thread must still serve its other links");

    let near = cross(&threads, odd(false));
    // Messages are accepted until the queue is full. The next message is rejected as a whole.
    let message = Bytes::from(vec![7; 20_000]);
    let mut taken = 0;
    while near.try_write_vectored(&[IoSlice::new(&message)]).is_ok() {
        taken += 1;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!((4..=9).contains(&taken), "{taken} messages of 20 kB were accepted");
    assert_eq!(threads.report()[1].outward_full, 1);
    assert_eq!(worker.counts.pumps.load(Ordering::Relaxed), 1);
    drop(near);
    let gone = async {
        while worker.counts.pumps.load(Ordering::Relaxed) > 0 {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone)
        .await
        .expect("the task must end when its link is dropped");
}

#[tokio::test]
async fn ended_thread_gets_no_new_links() {
    tokio::task::LocalSet::new().run_until(gets_no_newcomers()).await;
}

async fn gets_no_newcomers() {
    let threads = Threads::start("test", 1, MAX_PDU_BYTES, 0.0).unwrap();
    let options = SocketOptions::default();
    let listener = threads.listener(0, &"mem://a thread that ends".parse().unwrap(), &options).await.unwrap();
    let first = crate::transport::connect(listener.address(), &options).await.unwrap();
    let (near, _) = listener.accept().await.unwrap();
    assert_eq!(threads.report()[1].links, 1);
    threads.stop[0].notify_one();
    let why = receive(&near, &mut FrameReader::default()).await.unwrap_err();
    assert_eq!(why.kind(), io::ErrorKind::ConnectionAborted, "{why}");
    drop((near, first));
    let second = crate::transport::connect(listener.address(), &options).await.unwrap();
    let (near, _) = listener.accept().await.unwrap();
    let report = threads.report();
    assert_eq!((report[0].links, report[1].links, report[1].alive), (1, 0, false));
    assert!(send(&second, &mut FrameWriter::default(), &Bytes::from_static(b"served")).await);
    assert_eq!(receive(&near, &mut FrameReader::default()).await.unwrap().unwrap(), "served");
}

/// While links move between three threads, over TCP and Unix sockets, all messages arrive in both directions, once
/// and in order.
#[test]
fn moving_links_neither_lose_nor_repeat_messages() {
    crate::run(async {
        let threads = Threads::start("test", 2, MAX_PDU_BYTES, 0.0).unwrap();
        let options = SocketOptions::default();
        let folder = std::env::temp_dir().join(format!("ranlab-moves-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let unix = format!("unix://{}/e2", folder.display());
        let mut all = Vec::new();
        for address in ["tcp://127.0.0.1:0", "tcp://127.0.0.1:0", &unix] {
            let listener = threads.listener(STATIONS, &address.parse().unwrap(), &options).await.unwrap();
            let peer = crate::transport::connect(listener.address(), &options).await.unwrap();
            let (near, _) = listener.accept().await.unwrap();
            all.push((Rc::new(peer), Rc::new(near), listener));
        }
        let mut tasks = Vec::new();
        for (peer, near, _) in &all {
            for (from, to) in [(peer, near), (near, peer)] {
                let from = from.clone();
                let to = to.clone();
                tasks.push(tokio::task::spawn_local(async move {
                    let mut writer = FrameWriter::default();
                    for number in 0..MOVED {
                        let pdu = vec![number as u8; 1 + number as usize % 900];
                        assert!(send(&from, &mut writer, &pdu.into()).await);
                        if number % 16 == 0 {
                            tokio::task::yield_now().await;
                        }
                    }
                }));
                tasks.push(tokio::task::spawn_local(async move {
                    let mut reader = FrameReader::default();
                    for number in 0..MOVED {
                        let pdu = receive(&to, &mut reader).await.unwrap().unwrap();
                        assert_eq!(
                            (pdu.len(), pdu[0]),
                            (1 + number as usize % 900, number as u8),
                            "{number}"
                        );
                    }
                }));
            }
        }
        let stirs = threads.hall.clone();
        let stir = tokio::task::spawn_local(async move {
            for active in (1..=3).cycle() {
                stirs.set_active(active);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        for task in tasks {
            tokio::time::timeout(Duration::from_secs(60), task)
                .await
                .expect("each link must make progress")
                .unwrap();
        }
        stir.abort();
        let report = threads.report();
        let moves: u64 = report.iter().map(|it| it.moves).sum();
        assert!(moves > 10, "{report:?}");
        assert_eq!(report.iter().map(|it| it.links).sum::<usize>(), 3);
        drop(all);
        let gone = async {
            while threads.report().iter().any(|it| it.links > 0) {
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), gone)
            .await
            .expect("links must not be counted after they have ended");
        std::fs::remove_dir_all(&folder).unwrap();
    });
}
