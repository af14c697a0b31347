//! RRC messages that ranlab's base stations copy (report style 1). They are numbered as in existing implementations:
//! from 1, in the order of the CHOICE `c1` of their channel (TS 38.331 and TS 36.331, clause 6.2.1).
use super::interface::{LteClass, NrClass, RrcClass, RrcMessage};
use super::subscription::Direction;

/// An RRC message. Its encoding is minimal: no optional parts, transaction 0, the first PLMN, and no NAS message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CopiedMessage {
    /// A UE has connected: `RRCSetupComplete`, in LTE `RRCConnectionSetupComplete`.
    SetupComplete,
    /// A UE has arrived from another cell: `RRCReconfigurationComplete`, in LTE
    /// `RRCConnectionReconfigurationComplete`.
    ReconfigurationComplete,
    /// A UE is released: `RRCRelease`, in LTE `RRCConnectionRelease`.
    Release,
}

impl CopiedMessage {
    /// All messages.
    pub const ALL: [Self; 3] = [Self::SetupComplete, Self::ReconfigurationComplete, Self::Release];

    /// Returns the identity of the message in NR or in LTE.
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

    /// Returns the message that a trigger names, in NR or in LTE; `None` for any other.
    pub fn from_trigger(message: RrcMessage, nr: bool) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.id(nr) == message)
    }

    /// Returns the direction of the message.
    pub const fn direction(self) -> Direction {
        match self {
            Self::SetupComplete | Self::ReconfigurationComplete => Direction::Incoming,
            Self::Release => Direction::Outgoing,
        }
    }

    /// Returns the message in unaligned PER.
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
