//! Actions that a machine requests, independent of its kind.
use ranlab_e2::ric::NorthboundReply;
use ranlab_e2::ric::directory::StoreRequest;
use ranlab_e2::xapp::XappEvent;

/// Action that a machine requests.
#[derive(Debug)]
pub(crate) enum Action {
    Transmit(u64),
    Close(u64, String),
    Connect(u64, String),
    /// An xApp's event.
    Xapp(XappEvent),
    /// A RIC's reply to a request from outside.
    Reply(NorthboundReply),
    /// Request of a RIC to the shared store.
    Bus(StoreRequest),
    /// An event of another machine, for the trace.
    Note(String),
}
