//! What a RIC is called among others, how long it waits, and how much it keeps.
use std::time::Duration;

/// Characters of a RIC's name.
pub const NAME_LEN_MAX: usize = 32;

/// The text names no RIC.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no name of a RIC: 1 to {NAME_LEN_MAX} of a-z, A-Z, 0-9, - and _ are")]
pub struct NoName(pub String);

/// How a RIC takes part among others.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirectoryConfig {
    /// Its name, its own among all of them.
    pub name: String,
    /// Another number for each life of a RIC of that name.
    pub life: u64,
    /// Where base stations reach it, as text; empty: nowhere that others may be sent to.
    pub e2: String,
    /// Where other RICs reach it, likewise.
    pub e42: String,
    /// How long it waits.
    pub timers: DirectoryTimers,
    /// How many claims are under way at once.
    pub claims: ClaimLimits,
}

/// How many claims a RIC has under way at once: signs of life stand in one queue with them. Between the two it is as many as the store
/// serves while signs come back within a quarter of the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimLimits {
    /// So many at any store.
    pub least: usize,
    /// No more at any.
    pub most: usize,
}

impl Default for ClaimLimits {
    /// 4 to 256.
    fn default() -> Self {
        Self { least: 4, most: 256 }
    }
}

impl DirectoryConfig {
    /// A RIC of that name with default timers.
    ///
    /// # Errors
    /// The name is none.
    pub fn new(name: &str, life: u64) -> Result<Self, NoName> {
        let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if name.is_empty() || name.len() > NAME_LEN_MAX || !name.bytes().all(fits) {
            return Err(NoName(name.to_owned()));
        }
        let (e2, e42, timers) = (String::new(), String::new(), DirectoryTimers::default());
        Ok(Self { name: name.to_owned(), life, e2, e42, timers, claims: ClaimLimits::default() })
    }
}

/// How long a RIC among others waits. All of them should have the same.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirectoryTimers {
    /// Between two signs of life.
    pub renew: Duration,
    /// From the beginning of a sign of life that was seen: how long the RIC may command what it holds.
    pub lease: Duration,
    /// How long another RIC must have been silent before what it may hold is served. Longer than `lease` by as much as clocks may
    /// run apart.
    pub wait: Duration,
    /// At most so long after another's claim a RIC says that it has seen it.
    pub haste: Duration,
    /// From the beginning of the last sign of life that was seen: when a RIC closes its nodes. Longer than an election.
    pub close_after: Duration,
    /// How long a setup waits for the directory while no claim comes back; then it is refused with a time to wait. While some do, its
    /// own will: whoever is sent away then has to be claimed once more, by another RIC.
    pub patience: Duration,
    /// The same while the RIC is fenced: another may be better off.
    pub patience_fenced: Duration,
    /// After a write that failed.
    pub retry: Duration,
    /// How long a write may have no outcome; then it is unknown.
    pub write: Duration,
    /// How long the watch may not show the RIC's own signs of life; then it is begun anew, less and less often.
    pub watch: Duration,
    /// While draining: how long a node that was sent away may take to be another's before the next one is.
    pub handover: Duration,
}

changed_by!(DirectoryConfig, DirectoryTimers);

impl Default for DirectoryTimers {
    /// A lease of 1.2 s renewed every 0.25 s, others wait 1.4 s (clocks may differ by a sixth); 12 s until nodes are closed, for
    /// elections of JetStream take 4 to 8.
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
