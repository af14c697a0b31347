//! Actions that a machine requests, common to all kinds of machines.
use ranlab_e2::ric::NorthboundReply;
use ranlab_e2::ric::directory::StoreRequest;
use ranlab_e2::xapp::XappEvent;

/// Action that a machine requests.
#[derive(Debug)]
pub(crate) enum Action {
    Transmit(u64),
    Close(u64, String),
    Connect(u64, String),
    /// Event of an xApp for its application.
    Xapp(XappEvent),
    /// Reply of a RIC to a northbound request.
    Reply(NorthboundReply),
    /// Request of a RIC to the shared store.
    Bus(StoreRequest),
    /// Text of another event, for the trace.
    Note(String),
}
