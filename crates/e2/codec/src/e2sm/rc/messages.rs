//! Messages of RRC that a base station of this project copies (report style 1), numbered as the field numbers them: from 1,
//! in the order of the CHOICE `c1` of their channel (TS 38.331 and TS 36.331, clause 6.2.1).
use super::interface::{LteClass, NrClass, RrcClass, RrcMessage};
use super::subscription::Direction;

/// A message of RRC. Its octets have the least that the text allows: no optional part, transaction 0, the first network,
/// and of NAS nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Said {
    /// A UE has connected: `RRCSetupComplete`, of LTE `RRCConnectionSetupComplete`.
    SetupComplete,
    /// A UE has come from another cell: `RRCReconfigurationComplete`, of LTE `RRCConnectionReconfigurationComplete`.
    ReconfigurationComplete,
    /// A UE is let go: `RRCRelease`, of LTE `RRCConnectionRelease`.
    Release,
}

impl Said {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::SetupComplete, Self::ReconfigurationComplete, Self::Release];

    /// Which message it is, of NR or of LTE.
    pub const fn id(self, nr: bool) -> RrcMessage {
        let (class, message) = match (self, nr) {
            (Self::SetupComplete, true) => (RrcClass::Nr(NrClass::UlDcch), 3),
            (Self::ReconfigurationComplete, true) => (RrcClass::Nr(NrClass::UlDcch), 2),
            (Self::Release, true) => (RrcClass::Nr(NrClass::DlDcch), 3),
            (Self::SetupComplete, false) => (RrcClass::Lte(LteClass::UlDcch), 5),
            (Self::ReconfigurationComplete, false) => (RrcClass::Lte(LteClass::UlDcch), 3),
            (Self::Release, false) => (RrcClass::Lte(LteClass::DlDcch), 6),
        };
        RrcMessage { class, message }
    }

    /// The message of NR or of LTE that a trigger names; `None` for any other.
    pub fn of(message: RrcMessage, nr: bool) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.id(nr) == message)
    }

    /// Which way it goes.
    pub const fn direction(self) -> Direction {
        match self {
            Self::SetupComplete | Self::ReconfigurationComplete => Direction::Incoming,
            Self::Release => Direction::Outgoing,
        }
    }

    /// Its octets, in unaligned PER.
    pub const fn octets(self, nr: bool) -> &'static [u8] {
        match (self, nr) {
            (Self::SetupComplete, true) => &[0x10, 0, 0, 0],
            (Self::ReconfigurationComplete, true) => &[0x08, 0],
            (Self::Release, true) => &[0x10, 0],
            (Self::SetupComplete, false) => &[0x20, 0, 0],
            (Self::ReconfigurationComplete, false) => &[0x10, 0],
            (Self::Release, false) => &[0x28, 0x02],
        }
    }
}
