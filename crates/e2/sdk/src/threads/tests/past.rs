//! Tests of the fast path: order, limits, and isolation between peers.
use super::*;
use crate::threads::queue::End;
use crate::threads::remote_link::{BypassRoutes, SendPath};
use crate::threads::xapp_outbox::{Batch, ToOutbox, XappOutbox};
use ranlab_e2::ric::{Bypass, BypassCounters, ConnId, ExternalOutbox, Route, RouteSink};
use ranlab_e2::{FlowId, Frame as Out, OutboxLimits, Time};
use ranlab_e2_codec::e2ap::{RicIndicationType, RicRequestId, fast};
use std::sync::Weak;
use std::sync::atomic::AtomicU32;

const FUNCTION: u16 = 142;

/// Returns an encoded report of an agent's subscription.
fn report(agent: usize, subscription: u8, number: u32, length: usize) -> Bytes {
    let mut message = vec![subscription; 4 + length];
    message[..4].copy_from_slice(&number.to_be_bytes());
    let indication = fast::Indication {
        request_id: request_id(agent, subscription),
        function_id: FUNCTION,
        action_id: 0,
        sn: None,
        kind: RicIndicationType::Report,
        header: &[0; 4],
        message: &message,
        call_process_id: None,
    };
    let mut pdu = Vec::new();
    indication.encode(&mut pdu).unwrap();
    pdu.into()
}

fn request_id(agent: usize, subscription: u8) -> RicRequestId {
    RicRequestId { requestor: 1_021 + u16::from(subscription), instance: agent as u16 }
}

/// Returns agent, subscription and number of a report.
fn parse_report(pdu: &Bytes) -> ((usize, u8), u32) {
    let indication = fast::Indication::decode(pdu).unwrap();
    let id = indication.request_id;
    let number = u32::from_be_bytes(indication.message[..4].try_into().unwrap());
    ((usize::from(id.instance), (id.requestor - 1_021) as u8), number)
}

fn flow(agent: usize, subscription: u8) -> FlowId {
    FlowId(agent as u64 * 100 + u64::from(subscription))
}

fn limits(octets: usize) -> OutboxLimits {
    OutboxLimits::default().with(|it| {
        it.indication_bytes = octets;
        it.indication_age = Duration::from_secs(3_600);
    })
}

/// Creates an xApp's link. Returns the xApp's end, the outbox, and the task.
fn mouth(capacity: usize, octets: usize, counts: &Arc<Counts>) -> (Stream, Arc<XappOutbox>, LinkTask) {
    let (peer, socket) = duplex(capacity);
    let mouth = Arc::new(XappOutbox::new(Stream::Memory(socket), MAX_PDU_BYTES, counts.clone()));
    mouth.bound(limits(octets));
    let pump = LinkTask::of_xapp(Shared::of_xapp(mouth.clone(), counts.clone()));
    (Stream::Memory(peer), mouth, pump)
}

fn bypass(near: &Stream, mouth: &Arc<XappOutbox>) -> BypassRoutes {
    let far = RemoteLink::from_stream(near).expect("the link is served by another thread");
    let mouths = XappOutboxes::default();
    lock(&mouths).insert(ConnId(1), Arc::downgrade(mouth));
    BypassRoutes { shared: far.shared.clone(), mouths }
}

/// Acts as the machine for one agent's link: forwards all its messages. It enables or disables the fast path of a
/// subscription at random, also between two messages that arrived together.
async fn decide(near: Stream, mouth: Arc<XappOutbox>, agent: usize, dice: Rc<RefCell<Random>>) {
    let mut pass = bypass(&near, &mouth);
    let mut outlet = ToOutbox(mouth.clone());
    let mut reader = FrameReader::default();
    let passed = Arc::<BypassCounters>::default();
    while let Some(pdu) = receive(&near, &mut reader).await.unwrap() {
        let subscription = (parse_report(&pdu).0).1;
        outlet.push_indication(Time::ZERO, flow(agent, subscription), Out::whole(pdu));
        let (chance, which) = {
            let mut dice = dice.borrow_mut();
            (dice.index(6), dice.index(SUBSCRIPTIONS.into()) as u8)
        };
        let id = request_id(agent, which);
        match chance {
            0 | 1 => pass.set(&Route {
                request_id: id,
                function: FUNCTION,
                sinks: vec![RouteSink {
                    conn: ConnId(1),
                    flow: flow(agent, which),
                    patch: fast::request_id_octets(id),
                }],
                passed: passed.clone(),
            }),
            2 => pass.clear(id),
            _ => {}
        }
        if reader.unfinished_bytes() == 0 {
            mouth.flush(Time::ZERO);
        }
    }
    mouth.flush(Time::ZERO);
}

#[test]
fn subscription_keeps_order_on_both_paths() {
    let mut past = 0;
    let mut through = 0;
    for seed in 1..=60 {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let _entered = runtime.enter();
        let mut world = Executor::new(seed);
        let dice = Rc::new(RefCell::new(Random::stream(seed, 1)));
        let counts = Arc::<Counts>::default();
        let agents = 1 + seed as usize % 4;
        let (xapp, mouth, pump) = mouth(1 + world.dice.index(9_000) as usize, usize::MAX, &counts);
        world.spawn(pump);
        for agent in 0..agents {
            let (peer, near, pump) = link(1 + world.dice.index(60_000) as usize, &counts);
            world.spawn(pump);
            let length = world.dice.index(3_000) as usize;
            world.spawn(async move {
                let mut writer = FrameWriter::default();
                for number in 0..REPORTS {
                    for subscription in 0..SUBSCRIPTIONS {
                        let pdu = report(agent, subscription, number, length);
                        assert!(send(&peer, &mut writer, &pdu).await);
                    }
                }
            });
            world.spawn(decide(near, mouth.clone(), agent, dice.clone()));
        }
        let got = Rc::new(RefCell::new(Arrived::new()));
        let taken = got.clone();
        world.spawn(async move {
            let mut reader = FrameReader::default();
            let all = agents * usize::from(SUBSCRIPTIONS) * REPORTS as usize;
            for _ in 0..all {
                let (of, number) = parse_report(&receive(&xapp, &mut reader).await.unwrap().unwrap());
                taken.borrow_mut().entry(of).or_default().push(number);
            }
        });
        assert!(!world.run(10_000_000), "seed {seed}: the tasks must end within the maximum number of steps");
        assert_eq!(got.borrow().len(), agents * usize::from(SUBSCRIPTIONS), "seed {seed}");
        for (of, numbers) in got.take() {
            assert!(numbers.iter().copied().eq(0..REPORTS), "seed {seed}, {of:?}: {numbers:?}");
        }
        let passed = counts.passed.load(Ordering::Relaxed);
        past += passed;
        through += (agents * usize::from(SUBSCRIPTIONS)) as u64 * u64::from(REPORTS) - passed;
    }
    assert!(
        past > 1_000 && through > 1_000,
        "both paths must be used: {past} indications used the fast path, {through} the machine"
    );
}

#[test]
fn stalled_xapp_drops_oldest_without_delaying_others() {
    let counts = Arc::<Counts>::default();
    let (deaf, deaf_mouth, _task) = mouth(1_000, 20_000, &counts);
    let (xapp, mouth, _other) = mouth(10 << 20, 20_000, &counts);
    let mut batch = Batch::default();
    for number in 0..100 {
        for to in [&deaf_mouth, &mouth] {
            batch.add(to, flow(0, 1), Out::whole(report(0, 1, number, 900)));
        }
        batch.push(Time::ZERO);
        batch.flush(Time::ZERO);
    }
    let counters = ToOutbox(deaf_mouth.clone()).counters();
    let waits = ToOutbox(deaf_mouth.clone()).queued_bytes();
    assert!(waits <= 20_000 && counters.dropped_full > 60, "{waits} bytes are queued, {counters:?}");
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut reader = FrameReader::default();
        for number in 0..100 {
            assert_eq!(parse_report(&receive(&xapp, &mut reader).await.unwrap().unwrap()).1, number);
        }
        assert_eq!(ToOutbox(mouth.clone()).counters().dropped_full, 0);
        // Indications of a deleted subscription are removed from the outbox, so a slow reader does not get them.
        ToOutbox(deaf_mouth.clone()).forget(flow(0, 1));
        assert_eq!(ToOutbox(deaf_mouth).queued_bytes(), 0);
        drop(deaf);
    });
}

#[test]
fn several_threads_write_to_same_xapp() {
    const THREADS: usize = 4;
    const EACH: u32 = 400;
    let counts = Arc::<Counts>::default();
    let (xapp, mouth, pump) = mouth(3_000, usize::MAX, &counts);
    let turns = Arc::new(AtomicU32::new(0));
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let mouth = mouth.clone();
            let turns = turns.clone();
            thread::spawn(move || {
                let mut batch = Batch::default();
                for number in 0..EACH {
                    batch.add(&mouth, flow(thread, 0), Out::whole(report(thread, 0, number, 700)));
                    if number % 7 == 6 || number + 1 == EACH {
                        batch.push(Time::ZERO);
                        batch.flush(Time::ZERO);
                        turns.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        })
        .collect();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let got = runtime.block_on(async {
        let task = runtime.spawn(pump);
        let mut got = BTreeMap::<_, Vec<u32>>::new();
        let mut reader = FrameReader::default();
        for _ in 0..THREADS as u32 * EACH {
            let next = tokio::time::timeout(Duration::from_secs(20), receive(&xapp, &mut reader));
            let pdu = next.await.expect("each queued indication must be sent").unwrap().unwrap();
            let (of, number) = parse_report(&pdu);
            got.entry(of).or_default().push(number);
        }
        mouth.finish(End::Closed);
        tokio::time::timeout(Duration::from_secs(20), task)
            .await
            .expect("the task must end when the outbox is finished")
            .unwrap();
        got
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(got.len(), THREADS);
    for (of, numbers) in got {
        assert!(numbers.iter().copied().eq(0..EACH), "{of:?}: {numbers:?}");
    }
}

#[test]
fn panicking_transport_of_xapp_ends_only_its_link() {
    let counts = Arc::<Counts>::default();
    let bad = Arc::new(XappOutbox::new(odd(true), MAX_PDU_BYTES, counts.clone()));
    let (xapp, good, _task) = mouth(1 << 20, usize::MAX, &counts);
    let mut batch = Batch::default();
    for number in 0..3 {
        batch.add(&bad, flow(0, 1), Out::whole(report(0, 1, number, 9)));
        batch.add(&good, flow(0, 1), Out::whole(report(0, 1, number, 9)));
        batch.push(Time::ZERO);
        batch.flush(Time::ZERO);
    }
    assert_eq!(
        counts.panics.load(Ordering::Relaxed),
        1,
        "a transport that panicked must not be written to again"
    );
    assert!(bad.is_over() && !good.is_over());
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let got = runtime.block_on(receive(&xapp, &mut FrameReader::default())).unwrap().unwrap();
    assert_eq!(parse_report(&got).1, 0);
}

#[test]
fn route_to_disconnected_xapp_is_ignored() {
    let counts = Arc::<Counts>::default();
    let (_peer, near, _pump) = link(1_000, &counts);
    let (_xapp, gone, task) = mouth(1_000, usize::MAX, &counts);
    let mut pass = bypass(&near, &gone);
    drop((task, gone));
    let id = request_id(0, 1);
    let sink = RouteSink { conn: ConnId(1), flow: flow(0, 1), patch: fast::request_id_octets(id) };
    pass.set(&Route { request_id: id, function: FUNCTION, sinks: vec![sink], passed: Arc::default() });
    assert!(lock(&pass.shared.routes).is_empty());
    assert!(matches!(pass.shared.outward, SendPath::Queue(_)));
    assert!(lock(&pass.mouths).values().all(|of| Weak::strong_count(of) == 0));
}
