//! Quotas of slices, by S-NSSAI, at base stations without SLICE. They are sent as policies of CCC, or as controls of RC
//! (style 2, action 6).
//!
//! CCC is preferred, because its policies apply to a cell. A control of RC must name a UE, and OCUDU refuses unknown
//! UEs. RC is also used if CCC refuses quotas with a dedicated ratio of 0, as OCUDU does.
use super::{Slicing, Waiting};
use crate::northbound::{Call, Completion, Fault, FaultReply as _, NO_DEDICATED, NO_SUCH_UE};
use bytes::Bytes;
use ranlab_e2::ric::{IAppOutbox, NodeInfo};
use ranlab_e2_codec::e2ap::{GlobalE2NodeId, Plmn, RanFunctionId, RanFunctionItem};
use ranlab_e2_codec::e2sm::ccc::{
    self, Attributes, CELL_STYLE, Ccc, CellControlled, CellId, ControlFormat, ControlHeader, ControlMessage,
    PolicyMember, RRM_POLICY_RATIO, ResourceType, RrmPolicyRatio, Write,
};
use ranlab_e2_codec::e2sm::common::{Snssai, UeNumbers};
use ranlab_e2_codec::e2sm::rc::commands::{Order, SliceQuota};
use ranlab_e2_codec::e2sm::rc::{self, OrderError, OrderRequest, Recipient};
use ranlab_e2_codec::e2sm::{Encoding, Model, Octets, by_oid};
use serde::Deserialize;
use serde_json::{Value as Json, json};

/// Control style and action of quotas in RC.
const QUOTAS: (i64, u16) = (2, 6);

/// A base station without SLICE.
#[derive(Debug)]
pub(super) struct Other {
    connected: bool,
    /// RAN functions RC and CCC of the base station.
    functions: Vec<RanFunctionItem>,
}

/// A control that sets quotas.
#[derive(Debug)]
pub(super) struct Control {
    node: GlobalE2NodeId,
    function: RanFunctionId,
    header: Bytes,
    message: Bytes,
}

/// Service model that carries quotas to a base station.
enum Means {
    Ccc(RanFunctionId, Vec<CellId>),
    Rc,
}

/// A quota of a request, in percent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuotaResource {
    snssai: String,
    /// Network of the slice; default: the network of the base station.
    plmn: Option<String>,
    #[serde(default)]
    min: u8,
    #[serde(default = "all")]
    max: u8,
    #[serde(default)]
    dedicated: u8,
}

const fn all() -> u8 {
    100
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuotasResource {
    quotas: Vec<QuotaResource>,
    /// UE in the header of an RC order, as in `ue_ids` of reports.
    ue: Option<String>,
}

impl QuotaResource {
    fn quota(&self, own: Plmn) -> Result<SliceQuota, Fault> {
        let plmn = self.plmn.as_deref().map(str::parse::<Plmn>).transpose();
        let plmn = plmn.map_err(|fault| Fault::new(422, format!("plmn: {fault}")))?;
        let slice = self.snssai.parse::<Snssai>();
        let slice = slice.map_err(|fault| Fault::new(422, format!("snssai: {fault}")))?;
        let Self { min, max, dedicated, .. } = *self;
        Ok(SliceQuota { plmn: plmn.unwrap_or(own), slice, min, max, dedicated })
    }
}

impl Other {
    /// Returns a base station without SLICE, or `None` if it has SLICE.
    pub(super) fn new(node: &NodeInfo) -> Option<Self> {
        let is_of = |it: &RanFunctionItem, model: &dyn Model| {
            it.oid.as_deref().and_then(by_oid).is_some_and(|known| known.oid() == model.oid())
        };
        if node.functions.iter().any(|it| is_of(it, &super::SliceModel)) {
            return None;
        }
        let takes_quotas = |it: &&RanFunctionItem| is_of(it, &Ccc) || is_of(it, &rc::Rc);
        let functions = node.functions.iter().filter(takes_quotas).cloned().collect();
        Some(Self { connected: node.connected, functions })
    }

    fn means(&self, id: &GlobalE2NodeId) -> Option<Means> {
        let model = |it: &RanFunctionItem| it.oid.as_deref().and_then(by_oid);
        for function in &self.functions {
            if model(function).is_none_or(|it| it.oid() != ccc::OID) {
                continue;
            }
            let definition = ccc::FunctionDefinition::decode_as(Encoding::Json, &function.definition);
            let cells = definition.map(|it| it.cells_with(RRM_POLICY_RATIO)).unwrap_or_default();
            if !cells.is_empty() {
                return Some(Means::Ccc(function.id, cells));
            }
        }
        let recipient = Recipient { node: id, functions: &self.functions };
        recipient.check(QUOTAS).is_ok().then_some(Means::Rc)
    }

    /// Returns the entry for `nodes`, with the reason why it has no slices, and the model that carries its quotas.
    pub(super) fn overview(&self, id: &GlobalE2NodeId) -> Json {
        let (by, reason) = match self.means(id) {
            Some(Means::Ccc(..)) => (Some("ccc"), "no SLICE function; quotas can be set, which uses CCC"),
            Some(Means::Rc) => {
                (Some("rc"), "no SLICE function; quotas can be set, which uses RC style 2 action 6")
            }
            None => (None, "no SLICE function, no RC style 2 action 6 and no O-RRMPolicyRatio in CCC"),
        };
        json!({
            "node": id.to_string(), "connected": self.connected, "slicing": null, "ues": [],
            "quotas_by": by, "reason": reason,
        })
    }

    /// Returns the reason for which base stations are known to refuse these quotas.
    fn refusal(&self, id: &GlobalE2NodeId, quotas: &[SliceQuota]) -> Option<&'static str> {
        match self.means(id)? {
            Means::Ccc(..) => quotas.iter().any(|it| it.dedicated == 0).then_some(NO_DEDICATED),
            Means::Rc => Some(NO_SUCH_UE),
        }
    }

    /// Returns the control that sets quotas, and the control that is sent instead after a refusal.
    fn controls(
        &self,
        id: &GlobalE2NodeId,
        quotas: Vec<SliceQuota>,
        ue: &UeNumbers,
    ) -> Result<(Control, Option<Control>), Fault> {
        let wrong = |fault: String| Fault::new(409, fault);
        let order = Order::SliceQuotas(quotas.clone());
        order.check().map_err(|fault| wrong(fault.to_string()))?;
        let by_rc = || {
            let recipient = Recipient { node: id, functions: &self.functions };
            let OrderRequest { function, header, message } = order.request_to(recipient, ue)?;
            Ok(Control { node: *id, function, header, message })
        };
        match self.means(id) {
            Some(Means::Ccc(function, cells)) => {
                let (header, message) = policies(&cells, &quotas).map_err(wrong)?;
                let instead = quotas.iter().any(|it| it.dedicated == 0).then(by_rc).and_then(Result::ok);
                Ok((Control { node: *id, function, header, message }, instead))
            }
            Some(Means::Rc) => {
                by_rc().map(|it| (it, None)).map_err(|fault: OrderError| wrong(fault.to_string()))
            }
            None => Err(wrong(format!(
                "{id} does not support quotas: it has neither RC style 2 action 6 nor O-RRMPolicyRatio"
            ))),
        }
    }
}

/// Returns header and message of a CCC control with policies of both directions for each quota in each cell.
fn policies(cells: &[CellId], quotas: &[SliceQuota]) -> Result<(Bytes, Bytes), String> {
    let write = |quota: &SliceQuota, resource| {
        let policy = RrmPolicyRatio {
            resource,
            members: vec![PolicyMember { plmn_id: quota.plmn.into(), snssai: quota.slice.into() }],
            max: quota.max,
            min: quota.min,
            dedicated: quota.dedicated,
        };
        let new = Attributes::from_structure(&policy);
        Write { name: RRM_POLICY_RATIO.to_owned(), old: Attributes::default().into(), new: new.into() }
    };
    let directions = [ResourceType::PrbDl, ResourceType::PrbUl];
    let structures: Vec<Write> =
        directions.iter().flat_map(|resource| quotas.iter().map(|it| write(it, *resource))).collect();
    let cell = |cell: &CellId| CellControlled { cell: cell.clone(), structures: structures.clone() };
    let format = ControlFormat::Cells { cells: cells.iter().map(cell).collect() };
    let header = ControlHeader::of_style(CELL_STYLE).to_octets(Encoding::Json);
    let message = ControlMessage { format }.to_octets(Encoding::Json);
    Ok((header.map_err(|it| it.to_string())?, message.map_err(|it| it.to_string())?))
}

impl Slicing {
    /// Sets the quotas of a base station without SLICE.
    pub(super) fn quotas(&mut self, id: GlobalE2NodeId, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let body: QuotasResource = call.body()?;
        let quotas: Vec<_> = body.quotas.iter().map(|it| it.quota(id.plmn())).collect::<Result<_, _>>()?;
        let ue = body.ue.as_deref().map_or_else(|| Ok(UeNumbers::from_number(0)), str::parse::<UeNumbers>);
        let ue = ue.map_err(|fault| Fault::new(422, format!("ue: {fault}")))?;
        let has_slices =
            || Fault::new(409, format!("{id} has the SLICE function: set its slices instead of quotas"));
        let other = self.others.get(&id).ok_or_else(has_slices)?;
        if !other.connected {
            return Err(Fault::new(503, format!("{id} is not connected")));
        }
        let refusal = other.refusal(&id, &quotas);
        let (control, instead) = other.controls(&id, quotas, &ue)?;
        let Control { node, function, header, message } = control;
        let waiting = Waiting::Quotas { token: call.request.token, refusal, instead: instead.map(Box::new) };
        self.commands.send_control(node, function, header, message, waiting, call.out)?;
        Ok(Completion::Later)
    }

    /// Sends quotas by RC after CCC has refused them.
    pub(super) fn send_quotas(&mut self, control: Control, token: u64, out: &mut IAppOutbox) {
        let Control { node, function, header, message } = control;
        let waiting = Waiting::Quotas { token, refusal: Some(NO_SUCH_UE), instead: None };
        if let Err(fault) = self.commands.send_control(node, function, header, message, waiting, out) {
            out.reply(fault.reply(token));
        }
    }
}
