//! A RIC among others: what its directory wants done, and what that hears.
use super::directory::{BusNews, Directory, DirectoryConfig, DirectoryInput, DirectoryOutput, NotAdmitted};
use super::relay::{self, Relays};
use super::states::States;
use super::timers::Timer;
use super::{ConnId, NodeLoss, Ric, RicEvent, Role};
use crate::Time;
use ranlab_wire::e2ap::*;
use ranlab_wire::per::{BitString, ShortBits};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// What a RIC among others has besides.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) directory: Directory,
    /// Setups that wait for it.
    asked: BTreeMap<ConnId, (Version, E2SetupRequest)>,
    pub(super) relays: Relays,
    pub(super) states: States,
}

impl Cluster {
    pub(super) fn new(config: DirectoryConfig) -> Self {
        let states = States::new(config.name.as_str().into(), config.life);
        let directory = Directory::new(config);
        Self { directory, asked: BTreeMap::new(), relays: Relays::default(), states }
    }

    pub(super) fn wake_at(&self) -> Option<Time> {
        let own = [self.directory.wake_at(), self.relays.wake_at(), self.states.wake_at()];
        own.into_iter().flatten().min()
    }
}

impl Ric {
    /// The directory of the RICs of which this is one.
    pub fn directory(&self) -> Option<&Directory> {
        self.cluster.as_ref().map(|cluster| &cluster.directory)
    }

    /// Where base stations and other RICs find this one, as it tells the others. To be said before the store's first news.
    pub fn advertise(&mut self, e2: String, e42: String) {
        if let Some(cluster) = &mut self.cluster {
            cluster.directory.advertise(e2, e42);
        }
    }

    /// News of the store that the directory is kept in.
    pub fn bus(&mut self, now: Time, news: BusNews) {
        self.bus_all(now, [news]);
    }

    /// Several of them, in their order. All are known before anything follows from one: a sign of life behind a thousand claims renews
    /// the lease before a thousand nodes have been moved. The next sign, which says that the claims were seen, is written after that.
    pub fn bus_all(&mut self, now: Time, news: impl IntoIterator<Item = BusNews>) {
        for news in news {
            if States::are_of(&news) {
                self.hear_states(now, news);
            } else {
                self.tell_directory(now, DirectoryInput::Bus(news));
            }
        }
        self.settle(now);
    }

    /// Hands all nodes over to other RICs, one by one, and takes no more; [`RicEvent::Drained`] follows. Without other RICs
    /// nothing happens.
    pub fn drain(&mut self, now: Time) {
        self.hurry_states(now);
        self.tell_directory(now, DirectoryInput::Drain);
        self.settle(now);
    }

    /// Ends among others: all nodes are closed, and the others need not wait for this RIC's lease to run out.
    pub fn leave(&mut self, now: Time) {
        self.hurry_states(now);
        self.tell_directory(now, DirectoryInput::End);
        self.settle(now);
    }

    pub(super) fn tell_directory(&mut self, now: Time, input: DirectoryInput) {
        self.links.set_now(now);
        if let Some(cluster) = &mut self.cluster {
            cluster.directory.handle(now, input);
        }
    }

    /// Whether this RIC may not command what it holds.
    pub(super) fn is_fenced(&self, now: Time) -> bool {
        self.cluster.as_ref().is_some_and(|cluster| !cluster.directory.is_lawful(now))
    }

    /// A setup that nothing here speaks against: it is for the directory to say, if there is one.
    pub(super) fn ask_directory(
        &mut self,
        now: Time,
        id: ConnId,
        version: Version,
        request: E2SetupRequest,
    ) -> Option<E2SetupRequest> {
        let Some(cluster) = self.cluster.as_mut().filter(|_| !relay::is_virtual(id)) else {
            return Some(request);
        };
        let node = request.node_id;
        cluster.asked.insert(id, (version, request));
        cluster.directory.handle(now, DirectoryInput::Asked { conn: id, node });
        // It has set up: how long it waits now is the directory's affair.
        if let Some(at) = self.links.conn_mut(id).and_then(|conn| conn.handshake.take()) {
            self.timers.cancel(at, Timer::Handshake(id));
        }
        None
    }

    /// A connection is gone.
    pub(super) fn leave_directory(&mut self, now: Time, conn: ConnId) {
        let Some(cluster) = &mut self.cluster else { return };
        if relay::is_virtual(conn) {
            return self.drop_proxy(conn);
        }
        cluster.asked.remove(&conn);
        let held = cluster.directory.held_on(conn);
        cluster.directory.handle(now, DirectoryInput::Left { conn });
        if let Some(node) = held {
            let why = "its connection is gone".to_owned();
            self.links.event(RicEvent::Disowned { node, why, at: now });
        }
    }

    /// What time alone has brought about, before anything else is looked at: whoever is fenced by now commands nothing more.
    pub(super) fn lapse(&mut self, now: Time) {
        if let Some(cluster) = &mut self.cluster
            && cluster.directory.wake_at().is_some_and(|at| at <= now)
        {
            cluster.directory.handle(now, DirectoryInput::Wake);
        }
    }

    /// Does what the directory wants; whether there was something.
    pub(super) fn attend_directory(&mut self, now: Time) -> bool {
        self.lapse(now);
        let Some(cluster) = &mut self.cluster else { return false };
        let Some(output) = cluster.directory.poll() else { return false };
        match output {
            DirectoryOutput::Bus(ask) => self.links.event(RicEvent::Bus(ask)),
            DirectoryOutput::Admit { conn, node, epoch } => self.admit(now, conn, node, epoch),
            DirectoryOutput::Refuse { conn, why } => self.turn_away(now, conn, &why),
            DirectoryOutput::Close { conn, node, why } => {
                self.links.event(RicEvent::Disowned { node, why: why.clone(), at: now });
                self.shut(now, conn, why);
            }
            DirectoryOutput::Lawful { lawful, at } => self.links.event(RicEvent::Lawful { lawful, at }),
            DirectoryOutput::Drained => self.links.event(RicEvent::Drained),
            DirectoryOutput::Reach(reach) => self.links.event(RicEvent::Reach(reach)),
            DirectoryOutput::Moved { key } => self.node_moved(now, &key),
            DirectoryOutput::Rics => self.sync_relays(now),
        }
        true
    }

    fn admit(&mut self, now: Time, conn: ConnId, node: GlobalE2NodeId, epoch: u64) {
        let asked = self.cluster.as_mut().and_then(|cluster| cluster.asked.remove(&conn));
        let Some((version, request)) = asked.filter(|_| self.links.open_conn(conn).is_some()) else {
            return self.leave_directory(now, conn);
        };
        self.yield_proxy(now, &node);
        let rival = self.nodes.find(&node).and_then(|place| self.nodes.at(place)?.conn);
        if let Some(rival) = rival.filter(|rival| *rival != conn) {
            self.links.close(rival, "the node is set up anew".to_owned());
            self.part(now, rival, NodeLoss::Closed("the node is set up anew".to_owned()));
        }
        self.links.event(RicEvent::Owned { node, epoch, at: now });
        self.accept_setup(now, conn, version, request);
    }

    fn turn_away(&mut self, now: Time, conn: ConnId, why: &NotAdmitted) {
        let Some((version, request)) = self.cluster.as_mut().and_then(|it| it.asked.remove(&conn)) else {
            return;
        };
        let elsewhere = match why {
            NotAdmitted::Drained { elsewhere } => elsewhere.as_deref().and_then(transport),
            _ => None,
        };
        let cause = Cause::Misc(CauseMisc::ControlProcessingOverload);
        let what = format!("{} is not set up: {why}", request.node_id);
        self.refuse_setup(conn, version, request.transaction_id, cause, Some(TimeToWait::V1s), elsewhere);
        self.links.tell_fault(conn, what, &self.config.limits, &mut self.counters);
        if self.links.conn(conn).is_some_and(|it| matches!(it.role, Role::Node(_))) {
            // It was set up before, and asked again: it is nobody's until it is.
            self.links.close(conn, "its setup is refused".to_owned());
        } else if let Some(link) = self.links.conn_mut(conn) {
            let at = now + self.config.timers.handshake;
            link.handshake = Some(at);
            self.timers.set(at, Timer::Handshake(conn));
        }
    }
}

/// An address as a base station is told it; only IP addresses can be.
fn transport(address: &str) -> Option<TnlInformation> {
    let socket: SocketAddr = address.split_once("://").map_or(address, |(_, rest)| rest).parse().ok()?;
    let address = match socket.ip() {
        IpAddr::V4(ip) => BitString::from_octets(&ip.octets()),
        IpAddr::V6(ip) => BitString::from_octets(&ip.octets()),
    };
    Some(TnlInformation { address, port: Some(ShortBits::new(socket.port().into(), 16)) })
}
