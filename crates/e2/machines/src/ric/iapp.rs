//! iApps: controller logic inside the RIC. An iApp is only called for inputs that concern it.
use super::states::Keeps;
use super::{NodeInfo, RanInfo, SubscriptionChange, SubscriptionChanged, XappInfo};
use crate::Time;
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{
    ActionFailed, Cause, GlobalE2NodeId, RanFunctionId, RicActionId, RicControlAckRequest, RicRequestId,
    RicSubscriptionDetails, fast,
};
use ranlab_e2_codec::e2sm::common::UeNumbers;
use ranlab_e2_codec::e2sm::rc::commands::Order;
use ranlab_e2_codec::e2sm::rc::{OrderError, OrderRequest, Recipient};

pub use ranlab_machine::routes::Method;

/// Identifier of an iApp of one RIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IAppId(pub(super) usize);

/// Identifier of a subscription that an iApp owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubscriptionHandle(pub u32);

/// Identifier of a control or query that an iApp sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestHandle(pub u32);

macro_rules! handle_as_request_id {
    ($t:ty) => {
        impl $t {
            pub(super) fn from_request_id(id: RicRequestId) -> Self {
                Self(u32::from(id.requestor) << 16 | u32::from(id.instance))
            }
            pub(super) fn request_id(self) -> RicRequestId {
                RicRequestId { requestor: (self.0 >> 16) as u16, instance: self.0 as u16 }
            }
        }
    };
}
handle_as_request_id!(SubscriptionHandle);
handle_as_request_id!(RequestHandle);

/// External request to an iApp (REST, command line). The RIC does not interpret it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NorthboundRequest {
    /// Identifier that the reply repeats.
    pub token: u64,
    /// Method.
    pub method: Method,
    /// Path of the resource, without a leading slash; empty for the iApp itself.
    pub path: String,
    /// Body; empty for a read request.
    pub body: Bytes,
    /// Client, in the format of [`XappPolicy::party`](super::XappPolicy::party). `None` is the operator or an unknown
    /// client.
    pub party: Option<Party>,
}

/// Reply of an iApp to a [`NorthboundRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NorthboundReply {
    /// Identifier of the request.
    pub token: u64,
    /// Status code, as in HTTP.
    pub status: u16,
    /// Body.
    pub body: Bytes,
}

impl NorthboundRequest {
    /// Creates a reply with a status code as in HTTP.
    pub fn reply(&self, status: u16, body: impl Into<Bytes>) -> NorthboundReply {
        NorthboundReply { token: self.token, status, body: body.into() }
    }
}

/// Client that is not an E42 xApp: `http://10.0.0.7`, `rmr://10.0.0.7`, `xapp://NAME`, `iapp://NAME`.
pub type Party = std::sync::Arc<str>;

/// Result of a control or query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Executed, with the node's outcome if it sent one.
    Done(Option<Bytes>),
    /// Not executed; the cause is `control-timer-expired` if the node did not respond in time.
    Failed {
        /// Cause.
        cause: Cause,
        /// Outcome from the node, if it sent one.
        outcome: Option<Bytes>,
    },
}

/// Input of an iApp.
#[derive(Debug)]
#[non_exhaustive]
pub enum IAppInput<'a> {
    /// A node was added. It stays known, with its subscriptions, while it is disconnected for a short time.
    NodeAdded(&'a NodeInfo),
    /// The functions, components or connection state of a node changed.
    NodeChanged(&'a NodeInfo),
    /// A node was removed; its subscriptions have ended.
    NodeRemoved(&'a NodeInfo),
    /// All nodes of a base station are connected now.
    RanComplete(&'a RanInfo),
    /// A base station lacks a node that was connected before.
    RanIncomplete(&'a RanInfo),
    /// An xApp completed its setup.
    XappAdded(&'a XappInfo),
    /// An xApp disconnected.
    XappRemoved(&'a XappInfo),
    /// A node admitted a subscription.
    Subscribed {
        /// Subscription.
        subscription: SubscriptionHandle,
        /// Admitted actions.
        admitted: &'a [RicActionId],
        /// Actions that were not admitted.
        not_admitted: &'a [ActionFailed],
    },
    /// The RIC or the node refused a subscription.
    SubscriptionFailed {
        /// Subscription.
        subscription: SubscriptionHandle,
        /// Cause.
        cause: Cause,
    },
    /// An admitted subscription ended, although the iApp did not request it.
    SubscriptionEnded {
        /// Subscription.
        subscription: SubscriptionHandle,
        /// Cause.
        cause: Cause,
    },
    /// A modification of a subscription succeeded, at least in part, or failed. After a failure the subscription is
    /// unchanged.
    SubscriptionModified {
        /// Subscription.
        subscription: SubscriptionHandle,
        /// Result, or the cause of the failure.
        outcome: Result<&'a SubscriptionChanged, Cause>,
    },
    /// A report or an insert was received.
    Indication {
        /// Subscription.
        subscription: SubscriptionHandle,
        /// Node.
        node: &'a NodeInfo,
        /// PDU, which allows keeping a payload without a copy (`pdu.slice_ref(indication.message)`). Absent if the
        /// indication was re-encoded.
        pdu: Option<&'a Bytes>,
        /// Contents.
        indication: fast::Indication<'a>,
    },
    /// A control completed.
    ControlDone {
        /// Control.
        request: RequestHandle,
        /// Result.
        outcome: &'a Outcome,
    },
    /// A query completed.
    QueryDone {
        /// Query.
        request: RequestHandle,
        /// Result.
        outcome: &'a Outcome,
    },
    /// An external request. The iApp must reply to each.
    Northbound(&'a NorthboundRequest),
    /// A deadline that the iApp set has passed.
    Timer(u64),
    /// An external event has occurred. The iApp and its owner share the contents of the event.
    Roused,
}

/// Controller logic without clock, sockets or threads.
pub trait IApp: Send {
    /// Returns the name, for logs and northbound requests.
    fn name(&self) -> &str;
    /// Processes an input; requests are added to `out`.
    fn handle(&mut self, now: Time, input: IAppInput<'_>, out: &mut IAppOutbox);

    /// Returns the version and size limit of snapshots if the iApp shares its state with other RICs; `None` if it does not. An iApp that
    /// shares its state must have a name of at most 32 characters of a-z, A-Z, 0-9, - and _.
    fn keeps(&self) -> Option<Keeps> {
        None
    }

    /// Returns the state about a node, or the state that concerns no node. Called some time after
    /// [`IAppOutbox::save`]. Empty means no state.
    fn snapshot(&self, _about: Option<&GlobalE2NodeId>) -> Bytes {
        Bytes::new()
    }

    /// Restores the state about a node, or the state that concerns no node, from another RIC or an earlier run of
    /// this one. It replaces the current state; empty means no state. The node may be disconnected, and was reported
    /// by [`IAppInput::NodeAdded`].
    ///
    /// # Errors
    /// Returns a reason if the snapshot is invalid. The method is then called again with an empty snapshot.
    fn restore(
        &mut self,
        _now: Time,
        _about: Option<&GlobalE2NodeId>,
        _snapshot: &Bytes,
        _out: &mut IAppOutbox,
    ) -> Result<(), String> {
        Ok(())
    }
}

/// A control to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlDetails {
    /// Call process id of the insert to which this control responds.
    pub call_process_id: Option<Bytes>,
    /// Header, defined by the service model.
    pub header: Bytes,
    /// Message, defined by the service model.
    pub message: Bytes,
    /// Type of response to request from the node.
    pub ack_request: Option<RicControlAckRequest>,
}

#[derive(Debug)]
pub(super) enum IAppRequest {
    Subscribe(SubscriptionHandle, GlobalE2NodeId, RanFunctionId, RicSubscriptionDetails),
    Unsubscribe(SubscriptionHandle),
    Modify(SubscriptionHandle, SubscriptionChange),
    Control(RequestHandle, GlobalE2NodeId, RanFunctionId, ControlDetails, Option<Party>),
    Query(RequestHandle, GlobalE2NodeId, RanFunctionId, Bytes, Bytes),
    WakeAt(Time, u64),
    Reply(NorthboundReply),
    Save(Option<GlobalE2NodeId>),
}

/// Requests of an iApp. They are executed after the iApp returns.
#[derive(Debug, Default)]
pub struct IAppOutbox {
    pub(super) current: usize,
    pub(super) requests: Vec<(usize, IAppRequest)>,
    last_handle: u32,
}

impl IAppOutbox {
    fn push(&mut self, request: IAppRequest) {
        self.requests.push((self.current, request));
    }

    fn next_handle(&mut self) -> u32 {
        self.last_handle = self.last_handle.wrapping_add(1);
        self.last_handle
    }

    /// Subscribes. `Subscribed` or `SubscriptionFailed` follows.
    pub fn subscribe(
        &mut self,
        node: GlobalE2NodeId,
        function: RanFunctionId,
        details: RicSubscriptionDetails,
    ) -> SubscriptionHandle {
        let handle = SubscriptionHandle(self.next_handle());
        self.push(IAppRequest::Subscribe(handle, node, function, details));
        handle
    }

    /// Ends a subscription. No input follows.
    pub fn unsubscribe(&mut self, subscription: SubscriptionHandle) {
        self.push(IAppRequest::Unsubscribe(subscription));
    }

    /// Modifies a subscription at a v3.01 node; `SubscriptionModified` follows. Fails if the subscription is not
    /// active, is being modified, is shared with xApps, or if its node is disconnected.
    pub fn modify(&mut self, subscription: SubscriptionHandle, change: SubscriptionChange) {
        self.push(IAppRequest::Modify(subscription, change));
    }

    /// Sends a control on behalf of the iApp. `ControlDone` follows if a response was requested or the control
    /// failed.
    pub fn control(
        &mut self,
        node: GlobalE2NodeId,
        function: RanFunctionId,
        details: ControlDetails,
    ) -> RequestHandle {
        self.control_for(None, node, function, details)
    }

    /// Sends a control like [`control`](Self::control) on behalf of a client. The client's permissions apply, and the
    /// client holds the parameters.
    pub fn control_for(
        &mut self,
        party: Option<Party>,
        node: GlobalE2NodeId,
        function: RanFunctionId,
        details: ControlDetails,
    ) -> RequestHandle {
        let handle = RequestHandle(self.next_handle());
        self.push(IAppRequest::Control(handle, node, function, details, party));
        handle
    }

    /// Encodes an RC order for a UE and sends it as a control. `ControlDone` follows if `ack` is set or the control failed.
    ///
    /// # Errors
    /// Fails if the order contradicts itself, or if the node's RAN function definition does not list it. Nothing is sent then.
    pub fn order(
        &mut self,
        node: &NodeInfo,
        order: &Order,
        ue: &UeNumbers,
        ack: bool,
    ) -> Result<RequestHandle, OrderError> {
        let to = Recipient { node: &node.id, functions: &node.functions };
        let OrderRequest { function, header, message } = order.request_to(to, ue)?;
        let ack_request = Some(if ack { RicControlAckRequest::Ack } else { RicControlAckRequest::NoAck });
        let details = ControlDetails { call_process_id: None, header, message, ack_request };
        Ok(self.control(node.id, function, details))
    }

    /// Sends a query (v3.01). `QueryDone` follows.
    pub fn query(
        &mut self,
        node: GlobalE2NodeId,
        function: RanFunctionId,
        header: Bytes,
        definition: Bytes,
    ) -> RequestHandle {
        let handle = RequestHandle(self.next_handle());
        self.push(IAppRequest::Query(handle, node, function, header, definition));
        handle
    }

    /// Requests `Timer(token)` at a time. Several timers may be pending.
    pub fn wake_at(&mut self, at: Time, token: u64) {
        self.push(IAppRequest::WakeAt(at, token));
    }

    /// Reports that the state about a node, or the state that concerns no node, has changed. If there are several
    /// RICs, [`IApp::snapshot`] is called soon.
    pub fn save(&mut self, about: Option<GlobalE2NodeId>) {
        self.push(IAppRequest::Save(about));
    }

    /// Replies to a northbound request.
    pub fn reply(&mut self, reply: NorthboundReply) {
        self.push(IAppRequest::Reply(reply));
    }
}

/// A queued [`IAppInput`].
#[derive(Debug)]
pub(super) enum Notice {
    NodeAdded(std::sync::Arc<NodeInfo>),
    NodeChanged(std::sync::Arc<NodeInfo>),
    NodeRemoved(std::sync::Arc<NodeInfo>),
    Ran(RanInfo),
    XappAdded(XappInfo),
    XappRemoved(XappInfo),
    Subscribed(RicRequestId, Vec<RicActionId>, Vec<ActionFailed>),
    SubscriptionFailed(RicRequestId, Cause),
    SubscriptionEnded(RicRequestId, Cause),
    Modified(RicRequestId, Result<SubscriptionChanged, Cause>),
    ControlDone(RicRequestId, Outcome),
    QueryDone(RicRequestId, Outcome),
    Northbound(NorthboundRequest),
    Timer(u64),
    Roused,
    /// The snapshot of another RIC under this key.
    Restored(String),
}

impl Notice {
    /// Returns the input, or `None` if the notice is not an input.
    pub(super) fn as_input(&self) -> Option<IAppInput<'_>> {
        Some(match self {
            Self::NodeAdded(node) => IAppInput::NodeAdded(node),
            Self::NodeChanged(node) => IAppInput::NodeChanged(node),
            Self::NodeRemoved(node) => IAppInput::NodeRemoved(node),
            Self::Ran(ran) if ran.complete => IAppInput::RanComplete(ran),
            Self::Ran(ran) => IAppInput::RanIncomplete(ran),
            Self::XappAdded(xapp) => IAppInput::XappAdded(xapp),
            Self::XappRemoved(xapp) => IAppInput::XappRemoved(xapp),
            Self::Subscribed(id, admitted, not_admitted) => IAppInput::Subscribed {
                subscription: SubscriptionHandle::from_request_id(*id),
                admitted,
                not_admitted,
            },
            Self::SubscriptionFailed(id, cause) => IAppInput::SubscriptionFailed {
                subscription: SubscriptionHandle::from_request_id(*id),
                cause: *cause,
            },
            Self::SubscriptionEnded(id, cause) => IAppInput::SubscriptionEnded {
                subscription: SubscriptionHandle::from_request_id(*id),
                cause: *cause,
            },
            Self::Modified(id, outcome) => IAppInput::SubscriptionModified {
                subscription: SubscriptionHandle::from_request_id(*id),
                outcome: outcome.as_ref().map_err(|cause| *cause),
            },
            Self::ControlDone(id, outcome) => {
                IAppInput::ControlDone { request: RequestHandle::from_request_id(*id), outcome }
            }
            Self::QueryDone(id, outcome) => {
                IAppInput::QueryDone { request: RequestHandle::from_request_id(*id), outcome }
            }
            Self::Northbound(request) => IAppInput::Northbound(request),
            Self::Timer(token) => IAppInput::Timer(*token),
            Self::Roused => IAppInput::Roused,
            Self::Restored(_) => return None,
        })
    }
}
