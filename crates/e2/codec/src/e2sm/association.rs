//! Association control: a controller adds further controllers to an agent and assigns UEs to them. It is not a
//! service model, because nothing is reported.
//!
//! Function id [`DEFAULT_FUNCTION_ID`], OID [`OID`], definition [`DEFINITION`]; no subscriptions. The control header
//! is empty. The control message is one byte with the command, followed by:
//!
//! | command | contents | outcome |
//! |---|---|---|
//! | 0 add a controller | its address | its number: u32, big-endian |
//! | 1 remove a controller | its address | |
//! | 2 associate a UE | UE id: u64, big-endian; the controller's address | |
//! | 3 dissociate a UE | UE id: u64, big-endian; the controller's address | |
//!
//! An address has 1 to 256 bytes of UTF-8 up to the end of the message, in the notation of the agent's configuration,
//! for example `tcp://192.0.2.1:36421`. Adding an existing controller returns its number. The outcome of a refused
//! command is a [`Refusal`](super::control::Refusal) in aligned PER; bytes that are not a command have no outcome.

/// OID of the function.
pub const OID: &str = "0.0.0.0.0.0.0.0.1.139.0";
/// RAN function id used by ranlab's agents.
pub const DEFAULT_FUNCTION_ID: u16 = 139;
/// RAN function definition: ASCII without structure.
pub const DEFINITION: &[u8] = b"ASSOCIATION_V0";
/// RAN function revision.
pub const REVISION: u16 = 1;
/// Maximum length of a controller's address, in bytes.
pub const ADDRESS_LEN_MAX: usize = 256;

const ADD: u8 = 0;
const REMOVE: u8 = 1;
const ASSOCIATE: u8 = 2;
const DISSOCIATE: u8 = 3;

/// A control message of the function. UE ids are assigned by the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssociationCommand {
    /// Adds a controller.
    AddController {
        /// Address.
        address: String,
    },
    /// Removes a controller.
    RemoveController {
        /// Address.
        address: String,
    },
    /// Exposes a UE to a controller.
    Associate {
        /// The UE.
        ue: u64,
        /// Address of the controller.
        address: String,
    },
    /// Hides a UE from a controller.
    Dissociate {
        /// The UE.
        ue: u64,
        /// Address of the controller.
        address: String,
    },
}

impl AssociationCommand {
    /// Encodes the control message.
    pub fn encode(&self) -> Vec<u8> {
        let (command, ue, address) = match self {
            Self::AddController { address } => (ADD, None, address),
            Self::RemoveController { address } => (REMOVE, None, address),
            Self::Associate { ue, address } => (ASSOCIATE, Some(ue), address),
            Self::Dissociate { ue, address } => (DISSOCIATE, Some(ue), address),
        };
        let mut out = vec![command];
        out.extend(ue.into_iter().flat_map(|ue| ue.to_be_bytes()));
        out.extend(address.as_bytes());
        out
    }

    /// Decodes a control message. Returns `None` if it is invalid.
    pub fn decode(message: &[u8]) -> Option<Self> {
        let (&command, rest) = message.split_first()?;
        let (ue, rest) = match command {
            ASSOCIATE | DISSOCIATE => {
                let (ue, rest) = rest.split_first_chunk()?;
                (u64::from_be_bytes(*ue), rest)
            }
            _ => (0, rest),
        };
        let address = std::str::from_utf8(rest).ok().filter(|a| (1..=ADDRESS_LEN_MAX).contains(&a.len()))?;
        let address = address.to_owned();
        match command {
            ADD => Some(Self::AddController { address }),
            REMOVE => Some(Self::RemoveController { address }),
            ASSOCIATE => Some(Self::Associate { ue, address }),
            DISSOCIATE => Some(Self::Dissociate { ue, address }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_round_trip_and_invalid_ones_are_refused() {
        let address = || "tcp://192.0.2.1:36421".to_owned();
        let ue = 0x0102_0304_0506_0708;
        let commands = [
            AssociationCommand::AddController { address: address() },
            AssociationCommand::RemoveController { address: address() },
            AssociationCommand::Associate { ue, address: address() },
            AssociationCommand::Dissociate { ue, address: address() },
        ];
        for command in commands {
            assert_eq!(AssociationCommand::decode(&command.encode()), Some(command));
        }
        let long = [&[ADD][..], &[b'a'; ADDRESS_LEN_MAX + 1]].concat();
        let broken = [
            &[][..],
            &[ADD],
            &[4, b'a'],
            &[ADD, 0xff],
            &[ASSOCIATE, 1, 2],
            &[ASSOCIATE, 0, 0, 0, 0, 0, 0, 0, 1],
        ];
        for bytes in broken.into_iter().chain([&long[..]]) {
            assert_eq!(AssociationCommand::decode(bytes), None, "{bytes:?}");
        }
    }
}
