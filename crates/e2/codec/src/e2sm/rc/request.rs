//! Orders for one node. An order is checked before it is sent: against its own values, and against the node's RAN function definition.
use bytes::Bytes;

use super::commands::{Order, OrderFault};
use super::{ControlHeader, FunctionDefinition, OID};
use crate::e2ap::{GlobalE2NodeId, RanFunctionId, RanFunctionItem};
use crate::e2sm::common::{UeId, UeNumbers};
use crate::e2sm::{Encoding, Octets, SmError, mac};

/// Node to which an order is sent.
#[derive(Debug, Clone, Copy)]
pub struct Recipient<'a> {
    /// Identity of the node.
    pub node: &'a GlobalE2NodeId,
    /// All RAN functions of the node.
    pub functions: &'a [RanFunctionItem],
}

/// Content of a RIC control request with an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderRequest {
    /// Id of the node's RAN function RC.
    pub function: RanFunctionId,
    /// Control header.
    pub header: Bytes,
    /// Control message.
    pub message: Bytes,
}

/// Reason why an order is not sent to a node.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OrderError {
    /// No base station can execute the order.
    #[error(transparent)]
    Fault(#[from] OrderFault),
    /// The node has no function RC.
    #[error("{0} has no RAN function RC ({OID})")]
    NoFunction(Box<GlobalE2NodeId>),
    /// The node's function definition does not list the style and action.
    #[error("{node} does not offer RC style {style} action {action}; it offers {offered}")]
    NotOffered {
        /// The node.
        node: Box<GlobalE2NodeId>,
        /// Control style.
        style: i64,
        /// Control action.
        action: u16,
        /// Controls that the node offers, as `STYLE/ACTION`.
        offered: String,
    },
    /// The UE lacks an identifier of the kind that the node uses.
    #[error("the order lacks the UE identifier that {node} uses: {needed}")]
    Ue {
        /// The node.
        node: Box<GlobalE2NodeId>,
        /// Names of the identifiers that the node uses.
        needed: &'static str,
    },
    /// The order has no encoding.
    #[error(transparent)]
    Encode(#[from] SmError),
}

/// Encoding of the NR CGI in a handover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CellForm {
    /// 9 bytes: aligned PER of E2SM's `NR-CGI`, as the standard requires.
    #[default]
    Per,
    /// 8 bytes: 3 bytes of PLMN, then the 36 bits of the cell identity, left-aligned in 5 bytes. Agents of OpenAirInterface use this form.
    Plain,
}

impl CellForm {
    /// Returns the form that a node reads. Agents of OpenAirInterface are recognized by the statistics models of FlexRIC, which they offer
    /// next to RC. ranlab's nodes offer these models as well, but read both forms.
    pub fn for_functions(functions: &[RanFunctionItem]) -> Self {
        let is_flexric = functions.iter().any(|it| it.oid.as_deref() == Some(mac::OID));
        if is_flexric { Self::Plain } else { Self::Per }
    }
}

impl FunctionDefinition {
    /// Returns whether the definition lists a control style with this action.
    pub fn lists_control(&self, style: i64, action: u16) -> bool {
        self.control_actions().any(|it| it == (style, action))
    }

    /// Returns the control styles and their actions.
    fn control_actions(&self) -> impl Iterator<Item = (i64, u16)> + '_ {
        let styles = self.controls.iter().flatten();
        styles.flat_map(|style| style.actions.iter().flatten().map(|it| (style.style, it.id)))
    }

    /// Returns the control styles and actions as text: `2/6, 3/1`, or `no controls`.
    pub(super) fn controls_text(&self) -> String {
        let all: Vec<_> = self.control_actions().map(|(style, action)| format!("{style}/{action}")).collect();
        if all.is_empty() { "no controls".to_owned() } else { all.join(", ") }
    }
}

impl Recipient<'_> {
    /// Returns the node's RAN function RC, if it has one.
    fn rc(&self) -> Option<&RanFunctionItem> {
        self.functions.iter().find(|it| it.oid.as_deref() == Some(OID))
    }

    /// Checks that the node's RAN function RC lists a control style and action. A definition that cannot be decoded passes. Returns the RAN
    /// function.
    ///
    /// # Errors
    /// Fails if the node has no RAN function RC, or if the definition does not list the control.
    pub fn check(&self, (style, action): (i64, u16)) -> Result<&RanFunctionItem, OrderError> {
        let node = *self.node;
        let function = self.rc().ok_or_else(|| OrderError::NoFunction(Box::new(node)))?;
        match FunctionDefinition::decode_as(Encoding::Per, &function.definition) {
            Ok(definition) if !definition.lists_control(style, action) => Err(OrderError::NotOffered {
                node: Box::new(node),
                style,
                action,
                offered: definition.controls_text(),
            }),
            _ => Ok(function),
        }
    }
}

/// Returns the names of the identifiers that this kind of node uses for UEs.
fn needed_number(node: &GlobalE2NodeId) -> &'static str {
    match node {
        GlobalE2NodeId::Gnb(gnb) if gnb.du_id.is_some() => "f1ap",
        GlobalE2NodeId::Gnb(gnb) if gnb.cu_up_id.is_some() => "e1ap",
        GlobalE2NodeId::Gnb(_) | GlobalE2NodeId::EnGnb(_) => "amf or f1ap",
        GlobalE2NodeId::NgEnb(ng_enb) if ng_enb.du_id.is_some() => "w1ap",
        GlobalE2NodeId::NgEnb(_) => "amf or w1ap",
        GlobalE2NodeId::Enb(_) => "mme",
    }
}

impl Order {
    /// Returns the control request of this order for a UE at a node. An order that concerns no UE needs a UE identifier as well, because
    /// base stations expect one.
    ///
    /// # Errors
    /// Fails if the order contradicts itself, if the node's RAN function definition does not list the action, or if the UE lacks the
    /// identifier that the node uses.
    pub fn request_to(&self, to: Recipient<'_>, ue: &UeNumbers) -> Result<OrderRequest, OrderError> {
        let missing = || OrderError::Ue { node: Box::new(*to.node), needed: needed_number(to.node) };
        self.request_as(to, ue.name_at(to.node).ok_or_else(missing)?)
    }

    /// Returns the control request like [`request_to`](Self::request_to), for a UE with its identity in a report of the node.
    ///
    /// # Errors
    /// Fails like [`request_to`](Self::request_to).
    pub fn request_as(&self, to: Recipient<'_>, ue: UeId) -> Result<OrderRequest, OrderError> {
        self.check()?;
        let (style, action) = self.action();
        let function = to.check((style, action))?.id;
        let header = ControlHeader::action(ue, style, action).to_octets(Encoding::Per)?;
        let message = self.message_in(CellForm::for_functions(to.functions)).to_octets(Encoding::Per)?;
        Ok(OrderRequest { function, header, message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::e2ap::{E2NodeGnb, Plmn};
    use crate::e2sm::common::{NrCgi, Snssai};
    use crate::e2sm::rc::commands::{NotAnOrder, SliceQuota};
    use crate::e2sm::rc::{ControlFormat, ControlMessage};

    const PLMN: Plmn = Plmn([0x05, 0xf5, 0x10]);

    fn function(oid: &str, definition: Bytes) -> RanFunctionItem {
        RanFunctionItem { id: 3, definition, revision: 1, oid: Some(oid.to_owned()) }
    }

    /// Returns a RAN function RC that offers these controls.
    fn rc(controls: &[super::super::Offered<'_>]) -> RanFunctionItem {
        let definition = FunctionDefinition::of_controls(controls);
        function(OID, definition.to_octets(Encoding::Per).unwrap())
    }

    const QUOTAS: super::super::Offered<'static> = (2, "a", 6, "b", &[]);
    const HANDOVER: super::super::Offered<'static> = (3, "a", 1, "b", &[]);

    fn quota(min: u8, max: u8, dedicated: u8) -> Order {
        let slice = Snssai::new(1, None);
        Order::SliceQuotas(vec![SliceQuota { plmn: PLMN, slice, min, max, dedicated }])
    }

    fn send(order: &Order, functions: &[RanFunctionItem]) -> Result<OrderRequest, OrderError> {
        let node = GlobalE2NodeId::gnb(PLMN, 7, 22);
        order.request_to(Recipient { node: &node, functions }, &UeNumbers::from_number(9))
    }

    #[test]
    fn order_is_sent_only_to_node_that_offers_it() {
        let order = quota(10, 50, 0);
        assert!(send(&order, &[rc(&[HANDOVER, QUOTAS])]).is_ok());
        let refused = send(&order, &[rc(&[HANDOVER])]);
        assert!(matches!(
            refused,
            Err(OrderError::NotOffered { style: 2, action: 6, offered, .. }) if offered == "3/1"
        ));
        assert!(matches!(send(&order, &[]), Err(OrderError::NoFunction(_))));
        // An undecodable definition (another dialect) does not prevent the control.
        assert!(send(&order, &[function(OID, Bytes::from_static(b"\xff\xff\xff"))]).is_ok());
    }

    #[test]
    fn contradictory_order_is_refused_before_node_check() {
        for order in [quota(60, 30, 0), quota(10, 50, 20), quota(0, 101, 0)] {
            assert!(matches!(send(&order, &[]), Err(OrderError::Fault(_))), "{order:?}");
        }
    }

    #[test]
    fn ue_without_identifier_of_node_is_refused() {
        let order = quota(10, 50, 0);
        let du = match GlobalE2NodeId::gnb(PLMN, 7, 22) {
            GlobalE2NodeId::Gnb(gnb) => GlobalE2NodeId::Gnb(E2NodeGnb { du_id: Some(1), ..gnb }),
            other => other,
        };
        let functions = [rc(&[QUOTAS])];
        let to = Recipient { node: &du, functions: &functions };
        let ue = UeNumbers { amf: Some(5), ..UeNumbers::default() };
        assert!(matches!(order.request_to(to, &ue), Err(OrderError::Ue { needed: "f1ap", .. })));
    }

    #[test]
    fn target_cell_uses_encoding_of_the_node() {
        let cell = NrCgi { plmn: PLMN, cell: 0x1_2345_6789 };
        let order = Order::Handover(cell);
        let bytes = |functions: &[RanFunctionItem]| {
            let request = send(&order, functions).unwrap();
            let message = ControlMessage::decode_as(Encoding::Per, &request.message).unwrap();
            let ControlFormat::Action(parameters) = &message.format else { panic!("{message:?}") };
            // Both forms mean the same cell.
            let read = Order::from_parameters(3, 1, parameters);
            assert_eq!(read, Ok::<_, NotAnOrder>(order.clone()));
            request.message
        };
        let standard = bytes(&[rc(&[HANDOVER])]);
        let plain = bytes(&[rc(&[HANDOVER]), function(mac::OID, Bytes::new())]);
        let eight = [0x05, 0xf5, 0x10, 0x12, 0x34, 0x56, 0x78, 0x90];
        let has = |bytes: &Bytes, part: &[u8]| bytes.windows(part.len()).any(|it| it == part);
        assert!(has(&plain, &[&[8][..], &eight].concat()), "{plain:?}");
        assert!(has(&standard, &[9]) && !has(&standard, &[&[8][..], &eight].concat()), "{standard:?}");
    }
}
