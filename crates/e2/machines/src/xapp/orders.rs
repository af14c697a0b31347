//! RC orders as typed values. Before an order is sent, it is checked for contradictions, and against the node's RAN function definition.
use super::{ControlError, ControlHandle, Xapp};
use crate::Time;
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use ranlab_e2_codec::e2sm::common::UeNumbers;
use ranlab_e2_codec::e2sm::rc::commands::Order;
use ranlab_e2_codec::e2sm::rc::{OrderRequest, Recipient};

impl Xapp {
    /// Returns the control request of an order for a UE at a node.
    ///
    /// # Errors
    /// Fails if the node is unknown. Fails with [`ControlError::Order`] if the order contradicts itself or the node does not offer it.
    pub fn order_request(
        &self,
        node: &GlobalE2NodeId,
        order: &Order,
        ue: &UeNumbers,
    ) -> Result<OrderRequest, ControlError> {
        let known = self.nodes.get(node).filter(|it| !it.stale).ok_or(ControlError::UnknownNode)?;
        Ok(order.request_to(Recipient { node, functions: &known.info.functions }, ue)?)
    }

    /// Sends an order for a UE to a node at `now`. The events of [`control`](Self::control) follow.
    ///
    /// # Errors
    /// Fails like [`order_request`](Self::order_request) and [`control`](Self::control).
    pub fn order(
        &mut self,
        now: Time,
        node: GlobalE2NodeId,
        order: &Order,
        ue: &UeNumbers,
        ack: bool,
    ) -> Result<ControlHandle, ControlError> {
        let OrderRequest { function, header, message } = self.order_request(&node, order, ue)?;
        self.control(now, node, function, header, message, ack)
    }
}
