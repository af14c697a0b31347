//! O-RAN SC's shared data layer (SDL) on a Redis server: the list of base stations, where O-RAN SC's xApps
//! look for it.
//!
//! | key | content |
//! |---|---|
//! | `{e2Manager},GNB` | set of `NbIdentity` of gNBs and their CUs and DUs |
//! | `{e2Manager},ENB` | set of `NbIdentity` of eNBs and ng-eNBs |
//! | `{e2Manager},RAN:NAME`, `{e2Manager},GNB:PLMN:ID[:PART]`, `{e2Manager},ENB:PLMN:ID` | `NodebInfo` |
//!
//! The list is always written as a whole, so it is soon complete again on a server that was unreachable or has lost its
//! data.
#![allow(
    clippy::disallowed_methods,
    reason = "an adapter to a server, in real time, with a thread of its own"
)]

use crate::nodeb;
use crate::redis::{PATIENCE, RETRY, RedisBusError, open};
use prost::Message;
use ranlab_e2::Time;
use ranlab_e2::ric::{IApp, IAppInput, IAppOutbox, NodeInfo};
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use ranlab_e2_codec::rnib::{NAMESPACE, NbIdentity};
use ranlab_ric::console::nodes::{inventory_name, is_enb};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Time within which changes are combined into one write.
const TOGETHER: Duration = Duration::from_millis(100);

/// Node in the SDL: member of the set, and value of the node's key.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    /// Key of the set that contains the node.
    set: &'static str,
    /// Second key of the node, which contains its identity.
    key: String,
    member: Vec<u8>,
    info: Vec<u8>,
}

#[derive(Debug, Default)]
struct State {
    nodes: BTreeMap<String, Entry>,
    changed: bool,
    over: bool,
}

type Shared = Arc<(Mutex<State>, Condvar)>;

/// iApp that maintains the list of base stations.
#[derive(Debug)]
pub struct Sdl {
    names: BTreeMap<GlobalE2NodeId, String>,
    /// RMR address of the RIC; O-RAN SC's E2 manager calls it the address of the E2 termination.
    termination: Option<String>,
    shared: Shared,
}

impl Sdl {
    /// Connects to the server and clears its list. Base stations that were listed before are listed again when they
    /// connect. `termination` is the RIC's address for RMR messages, if it has one.
    ///
    /// # Errors
    /// Fails if the server is not reachable.
    pub fn connect(url: &str, termination: Option<String>) -> Result<Self, RedisBusError> {
        let (client, connection) = open(url)?;
        let shared = Shared::default();
        let writer = Arc::clone(&shared);
        // The thread ends with the iApp.
        thread::spawn(move || write_all(&client, connection, &writer));
        let sdl = Self { names: BTreeMap::new(), termination, shared };
        sdl.change(|_| {});
        Ok(sdl)
    }

    fn change(&self, what: impl FnOnce(&mut State)) {
        let (state, condition) = &*self.shared;
        let mut state = ranlab_machine::lock(state);
        what(&mut state);
        state.changed = true;
        condition.notify_one();
    }
}

impl Drop for Sdl {
    fn drop(&mut self) {
        self.change(|state| state.over = true);
    }
}

impl IApp for Sdl {
    fn name(&self) -> &str {
        "sdl"
    }

    fn handle(&mut self, now: Time, input: IAppInput<'_>, _: &mut IAppOutbox) {
        match input {
            IAppInput::NodeAdded(node) | IAppInput::NodeChanged(node) => {
                let name = inventory_name(&node.id);
                self.names.insert(node.id, name.clone());
                let entry = entry(node, self.termination.as_deref(), nodeb::unix_ns(now, node.since));
                self.change(|state| drop(state.nodes.insert(name, entry)));
            }
            IAppInput::NodeRemoved(node) => {
                let Some(name) = self.names.remove(&node.id) else { return };
                self.change(|state| drop(state.nodes.remove(&name)));
            }
            _ => {}
        }
    }
}

fn entry(node: &NodeInfo, termination: Option<&str>, changed_ns: u64) -> Entry {
    let info = nodeb::info(node, termination, changed_ns);
    let identity = NbIdentity {
        inventory_name: info.ran_name.clone(),
        global_nb_id: info.global_nb_id.clone(),
        connection_status: info.connection_status,
    };
    Entry {
        set: if is_enb(&node.id) { "ENB" } else { "GNB" },
        key: nodeb::identity_key(&info),
        member: identity.encode_to_vec(),
        info: info.encode_to_vec(),
    }
}

/// Writes the list whenever it has changed.
fn write_all(client: &redis::Client, connection: redis::Connection, shared: &Shared) {
    let (state, condition) = &**shared;
    let mut connection = Some(connection);
    let mut written = BTreeMap::new();
    loop {
        let guard = ranlab_machine::lock(state);
        let waited = condition.wait_while(guard, |state| !state.changed && !state.over);
        let over = waited.unwrap_or_else(PoisonError::into_inner).over;
        if over {
            return;
        }
        thread::sleep(TOGETHER);
        let nodes = {
            let mut state = ranlab_machine::lock(state);
            state.changed = false;
            state.nodes.clone()
        };
        let done = connection.as_mut().map(|connection| write(connection, &nodes, &written));
        if matches!(done, Some(Ok(()))) {
            written = nodes;
            continue;
        }
        // The content of the server is unknown after a reconnect, so everything is written again.
        ranlab_machine::lock(state).changed = true;
        written.clear();
        thread::sleep(RETRY);
        connection = client.get_connection_with_timeout(PATIENCE).ok();
    }
}

fn write(
    connection: &mut redis::Connection,
    nodes: &BTreeMap<String, Entry>,
    written: &BTreeMap<String, Entry>,
) -> redis::RedisResult<()> {
    // Key format of O-RAN SC's Go and Python libraries; the braces keep a namespace on one server of a
    // cluster.
    let key = |name: &str| format!("{{{NAMESPACE}}},{name}");
    let mut pipe = redis::pipe();
    pipe.atomic().cmd("DEL").arg(key("GNB")).arg(key("ENB")).ignore();
    for (name, entry) in nodes {
        pipe.cmd("SADD").arg(key(entry.set)).arg(&entry.member).ignore();
        if written.get(name) != Some(entry) {
            pipe.cmd("SET").arg(key(&format!("RAN:{name}"))).arg(&entry.info).ignore();
            pipe.cmd("SET").arg(key(&entry.key)).arg(&entry.info).ignore();
        }
    }
    for (gone, entry) in written.iter().filter(|(name, _)| !nodes.contains_key(*name)) {
        pipe.cmd("DEL").arg(key(&format!("RAN:{gone}"))).arg(key(&entry.key)).ignore();
    }
    pipe.query(connection)
}
