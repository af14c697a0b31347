//! Configuration of a directory: name, timers and limits.
use std::time::Duration;

/// Maximum length of a RIC's name, in characters.
pub const NAME_LEN_MAX: usize = 32;

/// The text is not a valid RIC name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a name of a RIC: 1 to {NAME_LEN_MAX} characters of a-z, A-Z, 0-9, - and _ are allowed")]
pub struct NoName(pub String);

/// Configuration of a RIC that is one of several.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirectoryConfig {
    /// Name of the RIC, unique in the group.
    pub name: String,
    /// Number of this incarnation; must differ at each start of a RIC with this name.
    pub life: u64,
    /// Address for base stations; empty if base stations cannot be redirected to this RIC.
    pub e2: String,
    /// Address for other RICs; empty if it has no such address.
    pub e42: String,
    /// Timers.
    pub timers: DirectoryTimers,
    /// Limits of outstanding claims.
    pub claims: ClaimLimits,
}

/// Range for the number of outstanding claims of a RIC. Within the range, the number adapts to the store: heartbeats,
/// which share a queue with claims, should return within a quarter of the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimLimits {
    /// Lower limit.
    pub least: usize,
    /// Upper limit.
    pub most: usize,
}

impl Default for ClaimLimits {
    /// Returns 4 to 256.
    fn default() -> Self {
        Self { least: 4, most: 256 }
    }
}

impl DirectoryConfig {
    /// Returns the configuration of a RIC with this name and default timers.
    ///
    /// # Errors
    /// Returns an error if the name is invalid.
    pub fn new(name: &str, life: u64) -> Result<Self, NoName> {
        let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if name.is_empty() || name.len() > NAME_LEN_MAX || !name.bytes().all(fits) {
            return Err(NoName(name.to_owned()));
        }
        let e2 = String::new();
        let e42 = String::new();
        let timers = DirectoryTimers::default();
        Ok(Self { name: name.to_owned(), life, e2, e42, timers, claims: ClaimLimits::default() })
    }
}

/// Timers of a RIC that is one of several. All RICs of a group should use the same timers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirectoryTimers {
    /// Interval of heartbeats.
    pub renew: Duration,
    /// Time for which the RIC may control its nodes, from the start of the last heartbeat that was seen.
    pub lease: Duration,
    /// Time without heartbeats after which the nodes of another RIC may be taken over. Exceeds `lease` by the maximum
    /// clock drift.
    pub wait: Duration,
    /// Maximum delay before a RIC acknowledges the claim of another RIC.
    pub haste: Duration,
    /// Time after which a RIC closes its nodes, from the start of the last heartbeat that was seen. Should exceed the
    /// duration of a leader election.
    pub close_after: Duration,
    /// Maximum time for which a setup waits for the directory while no claim returns; it is then refused with a time
    /// to wait. While claims do return, the setup keeps waiting, because a node that is refused has to be claimed
    /// once more by another RIC.
    pub patience: Duration,
    /// Maximum time for which a setup waits while the RIC is fenced; it replaces [`patience`](Self::patience). Another RIC may then be able
    /// to accept the node.
    pub patience_fenced: Duration,
    /// Delay after a failed write.
    pub retry: Duration,
    /// Time after which the result of a write is considered unknown.
    pub write: Duration,
    /// Time after which the watch is restarted if it does not show the RIC's own heartbeats. The time doubles with
    /// each restart.
    pub watch: Duration,
    /// While draining: time for another RIC to claim a node that was sent away, before the next node is sent.
    pub handover: Duration,
}

changed_by!(DirectoryConfig, DirectoryTimers);

impl Default for DirectoryTimers {
    /// Returns a lease of 1.2 s, renewed every 0.25 s, and a takeover after 1.4 s (clocks may drift by one sixth).
    /// Nodes are closed after 12 s, because elections of JetStream take 4 to 8 s.
    fn default() -> Self {
        let ms = Duration::from_millis;
        Self {
            renew: ms(250),
            lease: ms(1_200),
            wait: ms(1_400),
            haste: ms(10),
            close_after: ms(12_000),
            patience: ms(2_500),
            patience_fenced: ms(500),
            retry: ms(100),
            write: ms(2_000),
            watch: ms(600),
            handover: ms(2_000),
        }
    }
}
