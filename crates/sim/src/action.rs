//! What a machine wants done, whichever it is.
use ranlab_e2::ric::NorthboundReply;
use ranlab_e2::ric::directory::BusAsk;
use ranlab_e2::xapp::XappEvent;

/// What a machine wants done.
#[derive(Debug)]
pub(crate) enum Action {
    Transmit(u64),
    Close(u64, String),
    Connect(u64, String),
    /// An xApp's event.
    Xapp(XappEvent),
    /// A RIC's answer to who asked from outside.
    Reply(NorthboundReply),
    /// What a RIC wants of the store that it shares with others.
    Bus(BusAsk),
    /// Another's event, for the trace.
    Note(String),
}
