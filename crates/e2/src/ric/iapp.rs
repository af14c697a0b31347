//! iApps: controller logic inside the RIC, called only when something happened for it.
use super::states::Keeps;
use super::{NodeInfo, RanInfo, SubscriptionChange, SubscriptionChanged, XappInfo};
use crate::Time;
use bytes::Bytes;
use ranlab_wire::e2ap::{
    ActionFailed, Cause, GlobalE2NodeId, RanFunctionId, RicActionId, RicControlAckRequest, RicRequestId,
    RicSubscriptionDetails, fast,
};

/// An iApp of one RIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IAppId(pub(super) usize);

/// A subscription of an iApp's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubscriptionHandle(pub u32);

/// A control or query of an iApp's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestHandle(pub u32);

macro_rules! handle_as_request_id {
    ($t:ty) => {
        impl $t {
            pub(super) fn of(id: RicRequestId) -> Self {
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

/// What a northbound request wants of its resource, as in HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// To read it.
    #[default]
    Get,
    /// To make it, or to make it another.
    Put,
    /// Something else.
    Post,
    /// To end it.
    Delete,
}

/// A request from outside (REST, command line) to an iApp; what it means is between the two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NorthboundRequest {
    /// To be repeated in the reply.
    pub token: u64,
    /// What is wanted.
    pub method: Method,
    /// Names the resource, without a slash in front; empty for the iApp itself.
    pub path: String,
    /// The request; empty for who only reads.
    pub body: Bytes,
    /// Who asks, in the words of [`XappPolicy::party`](super::XappPolicy::party); `None`: the operator, or nobody knows.
    pub party: Option<Party>,
}

/// An iApp's reply to a [`NorthboundRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NorthboundReply {
    /// Of the request.
    pub token: u64,
    /// As in HTTP.
    pub status: u16,
    /// The reply.
    pub body: Bytes,
}

impl NorthboundRequest {
    /// A reply of a status as in HTTP.
    pub fn reply(&self, status: u16, body: impl Into<Bytes>) -> NorthboundReply {
        NorthboundReply { token: self.token, status, body: body.into() }
    }
}

/// Who asks or acts and is no xApp of E42: `http://10.0.0.7`, `rmr://10.0.0.7`, `xapp://NAME`, `iapp://NAME`.
pub type Party = std::sync::Arc<str>;

/// How a control or query ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Done; the node's words, if it had any.
    Done(Option<Bytes>),
    /// Not done; `control-timer-expired` if the node did not answer in time.
    Failed {
        /// Why.
        cause: Cause,
        /// The node's words, if it had any.
        outcome: Option<Bytes>,
    },
}

/// What happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum IAppInput<'a> {
    /// A node became known. It stays known, with its subscriptions, while it is lost for a while.
    NodeAdded(&'a NodeInfo),
    /// A node's functions, components or connection changed.
    NodeChanged(&'a NodeInfo),
    /// A node is forgotten; its subscriptions have ended.
    NodeRemoved(&'a NodeInfo),
    /// A base station became complete.
    RanComplete(&'a RanInfo),
    /// A base station is complete no more.
    RanIncomplete(&'a RanInfo),
    /// An xApp was set up.
    XappAdded(&'a XappInfo),
    /// An xApp is gone.
    XappRemoved(&'a XappInfo),
    /// A node took a subscription.
    Subscribed {
        /// Which.
        subscription: SubscriptionHandle,
        /// Admitted actions.
        admitted: &'a [RicActionId],
        /// Other actions.
        not_admitted: &'a [ActionFailed],
    },
    /// A subscription was refused, by the RIC or by the node.
    SubscriptionFailed {
        /// Which.
        subscription: SubscriptionHandle,
        /// Why.
        cause: Cause,
    },
    /// A subscription that was taken has ended without the iApp's doing.
    SubscriptionEnded {
        /// Which.
        subscription: SubscriptionHandle,
        /// Why.
        cause: Cause,
    },
    /// A change of a subscription was carried out, as far as said, or failed: then the subscription is as it was.
    SubscriptionModified {
        /// Which.
        subscription: SubscriptionHandle,
        /// What was changed, or why nothing was.
        outcome: Result<&'a SubscriptionChanged, Cause>,
    },
    /// A report or an insert.
    Indication {
        /// Of which subscription.
        subscription: SubscriptionHandle,
        /// From which node.
        node: &'a NodeInfo,
        /// The PDU, for who wants to keep a payload without a copy (`pdu.slice_ref(indication.message)`); absent for
        /// one that had to be put together anew.
        pdu: Option<&'a Bytes>,
        /// Its contents.
        indication: fast::Indication<'a>,
    },
    /// A control ended.
    ControlDone {
        /// Which.
        request: RequestHandle,
        /// How.
        outcome: &'a Outcome,
    },
    /// A query ended.
    QueryDone {
        /// Which.
        request: RequestHandle,
        /// How.
        outcome: &'a Outcome,
    },
    /// A request from outside; every one deserves a reply.
    Northbound(&'a NorthboundRequest),
    /// A deadline that the iApp has set.
    Timer(u64),
    /// Something waits for the iApp outside, where it and its owner know.
    Roused,
}

/// Controller logic: no clock, no sockets, no threads.
pub trait IApp: Send {
    /// For people.
    fn name(&self) -> &str;
    /// Something happened; `out` takes what shall follow.
    fn handle(&mut self, now: Time, input: IAppInput<'_>, out: &mut IAppOutbox);

    /// Whether what it knows of nodes, or of none, is handed over among several RICs, and how. Its name is then at most 32 of a-z, A-Z,
    /// 0-9, - and _.
    fn keeps(&self) -> Option<Keeps> {
        None
    }

    /// What it knows of a node, or of none: asked for some time after [`IAppOutbox::save`]. Empty: nothing.
    fn snapshot(&self, _about: Option<&GlobalE2NodeId>) -> Bytes {
        Bytes::new()
    }

    /// The iApp of this name at another RIC, or at this one before it began anew, knows this of a node, or of none; whatever is known here of
    /// it no longer holds. Empty: nothing. The node may be lost, and has been told with [`IAppInput::NodeAdded`].
    ///
    /// # Errors
    /// It is no snapshot, and why. It is called again with an empty one then.
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
    /// The insert that this answers.
    pub call_process_id: Option<Bytes>,
    /// Defined by the service model.
    pub header: Bytes,
    /// Defined by the service model.
    pub message: Bytes,
    /// Which answer is wanted.
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

/// What an iApp wants; carried out after it returns.
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

    /// Subscribes; `Subscribed` or `SubscriptionFailed` follows.
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

    /// Ends a subscription; nothing follows.
    pub fn unsubscribe(&mut self, subscription: SubscriptionHandle) {
        self.push(IAppRequest::Unsubscribe(subscription));
    }

    /// Changes a subscription at a node of v3.01; `SubscriptionModified` follows. Refused while it is not yet taken, away
    /// with its node or under another change, and if xApps share it.
    pub fn modify(&mut self, subscription: SubscriptionHandle, change: SubscriptionChange) {
        self.push(IAppRequest::Modify(subscription, change));
    }

    /// Sends a control as the iApp itself; `ControlDone` follows if an answer was asked for or it failed.
    pub fn control(
        &mut self,
        node: GlobalE2NodeId,
        function: RanFunctionId,
        details: ControlDetails,
    ) -> RequestHandle {
        self.control_for(None, node, function, details)
    }

    /// As [`control`](Self::control), for somebody: what he may, and what he holds, is his.
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

    /// Sends a query (v3.01); `QueryDone` follows.
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

    /// Asks for `Timer(token)` at a time; several may be outstanding.
    pub fn wake_at(&mut self, at: Time, token: u64) {
        self.push(IAppRequest::WakeAt(at, token));
    }

    /// What it knows of a node, or of none, has changed, and is handed over among several RICs: [`IApp::snapshot`] is asked for it soon.
    pub fn save(&mut self, about: Option<GlobalE2NodeId>) {
        self.push(IAppRequest::Save(about));
    }

    /// Replies to a northbound request.
    pub fn reply(&mut self, reply: NorthboundReply) {
        self.push(IAppRequest::Reply(reply));
    }
}

/// An [`IAppInput`] that waits for its turn.
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
    /// What another RIC's knows, under this key.
    Restored(String),
}

impl Notice {
    /// `None`: it is no input.
    pub(super) fn as_input(&self) -> Option<IAppInput<'_>> {
        Some(match self {
            Self::NodeAdded(node) => IAppInput::NodeAdded(node),
            Self::NodeChanged(node) => IAppInput::NodeChanged(node),
            Self::NodeRemoved(node) => IAppInput::NodeRemoved(node),
            Self::Ran(ran) if ran.complete => IAppInput::RanComplete(ran),
            Self::Ran(ran) => IAppInput::RanIncomplete(ran),
            Self::XappAdded(xapp) => IAppInput::XappAdded(xapp),
            Self::XappRemoved(xapp) => IAppInput::XappRemoved(xapp),
            Self::Subscribed(id, admitted, not_admitted) => {
                IAppInput::Subscribed { subscription: SubscriptionHandle::of(*id), admitted, not_admitted }
            }
            Self::SubscriptionFailed(id, cause) => {
                IAppInput::SubscriptionFailed { subscription: SubscriptionHandle::of(*id), cause: *cause }
            }
            Self::SubscriptionEnded(id, cause) => {
                IAppInput::SubscriptionEnded { subscription: SubscriptionHandle::of(*id), cause: *cause }
            }
            Self::Modified(id, outcome) => IAppInput::SubscriptionModified {
                subscription: SubscriptionHandle::of(*id),
                outcome: outcome.as_ref().map_err(|cause| *cause),
            },
            Self::ControlDone(id, outcome) => {
                IAppInput::ControlDone { request: RequestHandle::of(*id), outcome }
            }
            Self::QueryDone(id, outcome) => IAppInput::QueryDone { request: RequestHandle::of(*id), outcome },
            Self::Northbound(request) => IAppInput::Northbound(request),
            Self::Timer(token) => IAppInput::Timer(*token),
            Self::Roused => IAppInput::Roused,
            Self::Restored(_) => return None,
        })
    }
}
