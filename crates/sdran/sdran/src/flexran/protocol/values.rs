//! Enumerations and bit flags of the protocol.

/// Defines an enumeration with explicit values and names.
macro_rules! values {
    ($($(#[$meta:meta])* $name:ident { $($variant:ident = $value:literal $doc:literal),* $(,)? })*) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $(#[doc = $doc] $variant = $value),* }

        impl $name {
            /// Returns the value with this number, if there is one.
            pub fn from_number(number: impl TryInto<u8>) -> Option<Self> {
                match number.try_into().ok()? { $($value => Some(Self::$variant),)* _ => None }
            }
        }

        impl From<$name> for i32 {
            fn from(value: $name) -> Self { Self::from(value as u8) }
        }

        impl From<$name> for u32 {
            fn from(value: $name) -> Self { Self::from(value as u8) }
        }
    )* };
}

values! {
    /// Direction of a message, and its result.
    Direction {
        NotSet = 0 "Unspecified.",
        Initiating = 1 "A request or an event.",
        Successful = 2 "A successful outcome.",
        Unsuccessful = 3 "An unsuccessful outcome.",
    }
    /// Message types in the header. Controllers ignore them.
    Kind {
        Hello = 0 "Hello.", EchoRequest = 1 "Echo request.", EchoReply = 2 "Echo reply.",
        StatsRequest = 3 "Statistics request.", StatsReply = 4 "Statistics reply.", SfTrigger = 5 "Subframe trigger.",
        UlSrInfo = 6 "Scheduling requests.", EnbConfigRequest = 7 "Base station configuration request.",
        EnbConfigReply = 8 "Base station configuration reply.", UeConfigRequest = 9 "UE configuration request.",
        UeConfigReply = 10 "UE configuration reply.", LcConfigRequest = 11 "Logical channel configuration request.",
        LcConfigReply = 12 "Logical channel configuration reply.", DlMacConfig = 13 "Downlink scheduling decision.",
        UeStateChange = 14 "UE state change.", DelegateControl = 15 "Control delegation.",
        ReconfigureAgent = 16 "Agent reconfiguration.", RrcTriggering = 17 "RRC triggering.",
        UlMacConfig = 18 "Uplink scheduling decision.", Disconnect = 20 "Disconnect.", HoCommand = 21 "Handover command.",
    }
    /// Report frequency.
    ReportFrequency {
        Once = 0 "Once.", Periodical = 1 "Periodically, every given number of subframes.", Continuous = 2 "On every change.", Off = 3 "Off.",
    }
    /// Change of a UE.
    UeChange {
        Updated = 0 "The configuration changed.", Activated = 1 "The UE connected.", Deactivated = 2 "The UE disconnected.",
        Moved = 3 "The UE was handed over.",
    }
    /// Direction of a logical channel.
    LcDirection { Uplink = 0 "Uplink.", Downlink = 1 "Downlink.", Both = 2 "Both." }
    /// Signal of an uplink measurement.
    UlCqiType {
        Srs = 0 "On SRS.", Pusch = 1 "On PUSCH.", Pucch1 = 2 "On PUCCH format 1.", Pucch2 = 3 "On PUCCH format 2.",
        Prach = 4 "On PRACH.",
    }
    /// Type of the code for an agent.
    DelegationType { DlScheduler = 1 "A downlink scheduler.", AgentControlApp = 2 "An application (Mosaic5G 2.x)." }
    /// Algorithm by which slices share a cell (Mosaic5G 2.x).
    SliceAlgorithm { Unsliced = 0 "No slices.", Static = 1 "Fixed resource blocks.", Nvs = 2 "NVS." }
    /// State of an MME (Mosaic5G 2.x).
    MmeState { Disconnected = 0 "Not connected.", Waiting = 1 "Waiting.", Connected = 2 "Connected.", Overload = 3 "Overloaded." }
    /// Layers that an agent runs (Mosaic5G 2.x).
    BsCapability {
        LoPhy = 0 "Lower PHY.", HiPhy = 1 "Upper PHY.", LoMac = 2 "Lower MAC.", HiMac = 3 "Upper MAC.", Rlc = 4 "RLC.",
        Pdcp = 5 "PDCP.", Sdap = 6 "SDAP.", Rrc = 7 "RRC.", S1ap = 8 "S1AP.",
    }
    /// Functional splits (Mosaic5G 2.x).
    BsSplit { F1 = 0 "F1.", Nfapi = 1 "nFAPI.", If4 = 2 "IF4.", If4p5 = 3 "IF4p5.", If5 = 4 "IF5." }
}

/// Parts of a UE's statistics, as bits of `ue_report_flags`.
pub struct UeFlags;

impl UeFlags {
    ranlab_machine::codes! { u32:
        BSR = 1 "Buffer status.";
        PHR = 2 "Power headroom.";
        RLC = 4 "RLC queues.";
        MAC_CE = 8 "MAC control elements.";
        DL_CQI = 16 "Downlink channel state.";
        PAGING = 32 "Paging buffers.";
        UL_CQI = 64 "Uplink channel state.";
        MAC_STATS = 128 "MAC counters (Mosaic5G 2.x).";
        PDCP_STATS = 1024 "PDCP counters (Mosaic5G 2.x).";
        GTP_STATS = 2048 "Tunnels (Mosaic5G 2.x).";
        S1AP_STATS = 4096 "S1 association (Mosaic5G 2.x).";
        RRC_MEASUREMENTS = 65_536 "UE measurements (Mosaic5G 2.x).";
    }
    /// Flags that FlexRAN's statistics application requests. They are all flags of 0.x except for paging.
    pub const PUBLISHED: u32 = Self::BSR | Self::PHR | Self::RLC | Self::MAC_CE | Self::DL_CQI | Self::UL_CQI;
    /// All flags of FlexRAN 0.x. Only Mosaic5G 2.x requests other flags.
    pub const OF_0_X: u32 = Self::PUBLISHED | Self::PAGING;
}

/// Parts of a cell's statistics, as bits of `cell_report_flags`.
pub struct CellFlags;

impl CellFlags {
    /// Noise and interference of the cell.
    pub const NOISE: u32 = 1;
}
