//! A RIC that shares its nodes with other RICs: executes the outputs of its directory, and passes events to it.
use super::directory::{
    Directory, DirectoryConfig, DirectoryInput, DirectoryOutput, NotAdmitted, StoreEvent,
};
use super::relay::{self, Relays};
use super::states::States;
use super::timers::Timer;
use super::{ConnId, NodeLoss, Ric, RicEvent, Role};
use crate::Time;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::per::{BitString, ShortBits};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// State of a RIC that is one of several.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) directory: Directory,
    /// Setup requests that wait for the directory's decision.
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
    /// Returns the directory of several RICs, or `None` for a single RIC.
    pub fn directory(&self) -> Option<&Directory> {
        self.cluster.as_ref().map(|cluster| &cluster.directory)
    }

    /// Sets the addresses that other RICs publish for this one: for base stations and for other RICs. Call this
    /// before the first [`bus`](Self::bus).
    pub fn advertise(&mut self, e2: String, e42: String) {
        if let Some(cluster) = &mut self.cluster {
            cluster.directory.advertise(e2, e42);
        }
    }

    /// Processes a notification from the shared store.
    pub fn bus(&mut self, now: Time, news: StoreEvent) {
        self.bus_all(now, [news]);
    }

    /// Processes several notifications in order. All are recorded before any of them takes effect, so a heartbeat
    /// behind a thousand claims renews the lease before a thousand nodes have been moved. The next heartbeat, which
    /// acknowledges the claims, is written after that.
    pub fn bus_all(&mut self, now: Time, news: impl IntoIterator<Item = StoreEvent>) {
        for news in news {
            if States::are_of(&news) {
                self.hear_states(now, news);
            } else {
                self.tell_directory(now, DirectoryInput::Bus(news));
            }
        }
        self.process_consequences(now);
    }

    /// Hands all nodes over to other RICs, one at a time, and accepts no new nodes. [`RicEvent::Drained`] follows.
    /// Without other RICs this has no effect.
    pub fn drain(&mut self, now: Time) {
        self.hurry_states(now);
        self.tell_directory(now, DirectoryInput::Drain);
        self.process_consequences(now);
    }

    /// Leaves the group of RICs. All nodes are closed, and the other RICs need not wait for this RIC's lease to
    /// expire.
    pub fn leave(&mut self, now: Time) {
        self.hurry_states(now);
        self.tell_directory(now, DirectoryInput::End);
        self.process_consequences(now);
    }

    pub(super) fn tell_directory(&mut self, now: Time, input: DirectoryInput) {
        self.links.set_now(now);
        if let Some(cluster) = &mut self.cluster {
            cluster.directory.handle(now, input);
        }
    }

    /// Returns whether this RIC's lease has expired, so that it must not control its nodes.
    pub(super) fn is_fenced(&self, now: Time) -> bool {
        self.cluster.as_ref().is_some_and(|cluster| !cluster.directory.is_lawful(now))
    }

    /// Asks the directory, if there is one, whether to accept a setup request that is otherwise valid. Returns the
    /// request if there is no directory.
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
        // The setup request has arrived. From now on the directory's timeout applies instead of the handshake
        // timeout.
        if let Some(at) = self.links.conn_mut(id).and_then(|conn| conn.handshake.take()) {
            self.timers.cancel(at, Timer::Handshake(id));
        }
        None
    }

    /// Reports a closed connection to the directory.
    pub(super) fn leave_directory(&mut self, now: Time, conn: ConnId) {
        let Some(cluster) = &mut self.cluster else { return };
        if relay::is_virtual(conn) {
            return self.drop_proxy(conn);
        }
        cluster.asked.remove(&conn);
        let held = cluster.directory.held_on(conn);
        cluster.directory.handle(now, DirectoryInput::Left { conn });
        if let Some(node) = held {
            let why = "its connection has ended".to_owned();
            self.links.event(RicEvent::Disowned { node, why, at: now });
        }
    }

    /// Expires the lease before any other processing, so that a fenced RIC sends no further commands.
    pub(super) fn expire_lease(&mut self, now: Time) {
        if let Some(cluster) = &mut self.cluster
            && cluster.directory.wake_at().is_some_and(|at| at <= now)
        {
            cluster.directory.handle(now, DirectoryInput::Wake);
        }
    }

    /// Executes the outputs of the directory. Returns whether there were any.
    pub(super) fn attend_directory(&mut self, now: Time) -> bool {
        self.expire_lease(now);
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
            let why = "the node was set up on another connection".to_owned();
            self.links.close(rival, why.clone());
            self.on_disconnect(now, rival, NodeLoss::Closed(why));
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
        let what = format!("the setup of {} was refused: {why}", request.node_id);
        self.refuse_setup(conn, version, request.transaction_id, cause, Some(TimeToWait::V1s), elsewhere);
        self.links.tell_fault(conn, what, &self.config.limits, &mut self.counters);
        if self.links.conn(conn).is_some_and(|it| matches!(it.role, Role::Node(_))) {
            // The node was set up before and has sent another setup request. It has no owner until a RIC accepts it.
            self.links.close(conn, "the repeated setup of the node was refused".to_owned());
        } else if let Some(link) = self.links.conn_mut(conn) {
            let at = now + self.config.timers.handshake;
            link.handshake = Some(at);
            self.timers.set(at, Timer::Handshake(conn));
        }
    }
}

/// Converts an address for a connection update or setup failure. Returns `None` unless it is an IP address.
fn transport(address: &str) -> Option<TnlInformation> {
    let socket: SocketAddr = address.split_once("://").map_or(address, |(_, rest)| rest).parse().ok()?;
    let address = match socket.ip() {
        IpAddr::V4(ip) => BitString::from_octets(&ip.octets()),
        IpAddr::V6(ip) => BitString::from_octets(&ip.octets()),
    };
    Some(TnlInformation { address, port: Some(ShortBits::new(socket.port().into(), 16)) })
}
