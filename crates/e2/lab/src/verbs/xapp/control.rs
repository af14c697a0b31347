//! `ranlab xapp control`: sends RC controls to base stations.
use std::str::FromStr;
use std::time::{Duration, Instant};

use crate::joined;
use ranlab_sdk::e2::xapp::{NodeInfo, XappConfig};
use ranlab_sdk::wire::e2ap::{GlobalE2NodeId, Plmn, Version};
use ranlab_sdk::wire::e2sm::common::{NrCgi, Snssai, UeNumbers};
use ranlab_sdk::wire::e2sm::control::Refusal;
use ranlab_sdk::wire::e2sm::rc::commands::{Order, SliceQuota};
use ranlab_sdk::wire::e2sm::rc::{ControlOutcome, OrderRequest, Recipient};
use ranlab_sdk::wire::e2sm::{Encoding, Model, Octets};
use ranlab_sdk::{ControlFailure, EffectFailure, EffectQuery, XappHandle};
use ranlab_transport::{Address, SocketOptions};
use serde::Serialize;

use super::effect;
use ranlab_command::args;
use ranlab_command::exit::Failure;
use ranlab_command::output::{Format, Output};

/// Time limit until a base station with RC is connected.
const NODE_WAIT: Duration = Duration::from_secs(10);
/// Interval between two checks for a base station.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Arguments of `xapp control`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab xapp control --rc-quota 1=30:100,2-000001=20:100\n  ranlab xapp control --rc-quota 1=0:30 --plmn 505.01 --effect 10 --kpi DRB.UEThpDl,RRU.PrbTotDl\n  ranlab xapp control --rc-handover 17=000000020 --node 001.01\n  ranlab xapp control --rc-handover 000000020 --ue amf=5,guami=001.01/1/2/3"
)]
pub struct Arguments {
    /// Address of the RIC's listener for xApps
    #[arg(long, default_value_t = ranlab_lab::loopback(crate::E42_PORT))]
    connect: Address,
    /// Addresses of further RICs of the same cluster (ric --bus), tried when a RIC is unreachable or rejects the
    /// xApp; repeatable
    #[arg(long, value_name = "ADDRESS")]
    or_at: Vec<Address>,
    /// Base station by its complete identity ("gnb 505.01 7/du 1", with or without "gnb"), or all base stations of a
    /// network ("505.01") [default: all that support the control]
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
    /// Set slice quotas (RC style 2, action 6) in %: SST[-SD]=MIN:MAX[:DEDICATED]
    #[arg(long, value_delimiter = ',', value_name = "QUOTA", required_unless_present = "rc_handover")]
    rc_quota: Vec<Quota>,
    /// Hand over a UE (RC style 3, action 1): its number at the base station (or --ue), and the 36-bit identity of
    /// the target cell in hexadecimal
    #[arg(long, value_name = "[UE=]CELL", conflicts_with = "rc_quota")]
    rc_handover: Option<Handover>,
    /// UE of the control, as in ue_ids of reports: amf, f1ap, e1ap, w1ap, mme or ran=NUMBER and
    /// guami=MCC.MNC/REGION/SET/POINTER, separated by commas
    #[arg(long, value_name = "IDS")]
    ue: Option<UeNumbers>,
    /// Network (PLMN) of the slices or of the cell [default: the base station's]
    #[arg(long)]
    plmn: Option<Plmn>,
    /// Also print the effect of the control: KPIs over N reports before and after it, in total, per slice and per UE
    #[arg(long, value_name = "PERIODS", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    effect: Option<u32>,
    /// With --effect: KPIs, columns of --sm or measurements of KPM; repeatable
    #[arg(long, value_delimiter = ',', default_value = "DRB.UEThpDl", requires = "effect")]
    kpi: Vec<String>,
    /// With --effect: service model of the reports
    #[arg(long, default_value = "kpm", requires = "effect")]
    sm: &'static dyn Model,
    /// With --effect: time between two reports
    #[arg(long, value_name = "TIME", value_parser = args::duration, default_value = "100ms", requires = "effect")]
    period: Duration,
    /// E2AP version of the RIC, which determines the numbering of messages
    #[arg(long, default_value_t = Version::V2_03)]
    e2ap: Version,
}

#[derive(Debug, Clone, Copy)]
struct Quota {
    slice: Snssai,
    percent: [u8; 3],
}

impl FromStr for Quota {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("\"{text}\" is not SST[-SD]=MIN:MAX[:DEDICATED], e.g. 1-000001=30:100");
        let (slice, percent) = text.split_once('=').ok_or_else(wrong)?;
        let slice = slice.parse::<Snssai>().map_err(|e| e.to_string())?;
        let percent: Vec<u8> =
            percent.split(':').map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
        match percent[..] {
            [min, max] => Ok(Self { slice, percent: [min, max, 0] }),
            [min, max, dedicated] => Ok(Self { slice, percent: [min, max, dedicated] }),
            _ => Err(wrong()),
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Handover {
    ue: Option<u32>,
    cell: u64,
}

impl FromStr for Handover {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (ue, cell) = text.split_once('=').map_or((None, text), |(ue, cell)| (Some(ue), cell));
            let ue = match ue {
                Some(ue) => Some(ue.parse().ok()?),
                None => None,
            };
            let cell = u64::from_str_radix(cell, 16).ok().filter(|cell| *cell < 1 << 36)?;
            Some(Self { ue, cell })
        };
        read().ok_or_else(|| format!("\"{text}\" is not [UE=]CELL, e.g. 17=000000020"))
    }
}

impl Arguments {
    fn watch(&self) -> Option<EffectQuery> {
        let Self { effect, sm, kpi, period, .. } = self;
        let slices: Vec<_> = self.rc_quota.iter().map(|it| it.slice).collect();
        effect.map(|periods| EffectQuery { model: *sm, kpis: kpi.clone(), periods, period: *period, slices })
    }

    /// Returns the control for base stations of this PLMN.
    fn order(&self, plmn: Plmn) -> Order {
        let plmn = self.plmn.unwrap_or(plmn);
        if let Some(Handover { cell, .. }) = self.rc_handover {
            return Order::Handover(NrCgi { plmn, cell });
        }
        let quota = |it: &Quota| {
            let [min, max, dedicated] = it.percent;
            SliceQuota { plmn, slice: it.slice, min, max, dedicated }
        };
        Order::SliceQuotas(self.rc_quota.iter().map(quota).collect())
    }

    /// Returns the UE for the control header. A quota does not concern a UE, but the header requires one.
    fn ue(&self) -> Result<UeNumbers, Failure> {
        let number = self.rc_handover.and_then(|it| it.ue);
        match (&self.ue, number, self.rc_handover) {
            (Some(_), Some(_), _) => {
                Err(Failure::Usage("the UE is specified twice: by --ue and by UE=CELL".to_owned()))
            }
            (Some(ue), None, _) => Ok(ue.clone()),
            (None, Some(number), _) => Ok(UeNumbers::from_number(number)),
            (None, None, None) => Ok(UeNumbers::from_number(0)),
            (None, None, Some(_)) => {
                Err(Failure::Usage("a handover needs a UE: --rc-handover UE=CELL, or --ue".to_owned()))
            }
        }
    }

    /// Adds a hint to the reason of a refusal if the control named UE 0 by default.
    fn explained(&self, why: String) -> String {
        let is_default = self.ue.is_none() && self.rc_handover.is_none();
        if is_default {
            format!("{why}; the control names UE 0, because --ue is not given, and OCUDU refuses unknown UEs")
        } else {
            why
        }
    }

    /// Returns the control request that executes the order at a base station.
    fn request(&self, xapp: &XappHandle, node: &GlobalE2NodeId) -> Result<OrderRequest, Failure> {
        let order = self.order(node.plmn());
        let ue = self.ue()?;
        let request = xapp.read(|xapp| xapp.order_request(node, &order, &ue));
        request.map_err(|fault| Failure::Usage(fault.to_string()))
    }
}

#[derive(Debug, Serialize)]
struct Answer {
    node: String,
    refused: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<effect::Effect>,
}

#[derive(Debug, Serialize)]
struct Summary {
    accepted: usize,
    refused: usize,
}

/// Waits for base stations that offer the order, and returns them.
async fn nodes(
    xapp: &XappHandle,
    requested: Option<&str>,
    action: (i64, u16),
) -> Result<Vec<GlobalE2NodeId>, Failure> {
    let begin = Instant::now();
    loop {
        let (found, others) = xapp.read(|xapp| {
            let named = |(id, _): &(&GlobalE2NodeId, _)| requested.is_none_or(|name| id.is_named(name));
            let offered = |(id, info): (&GlobalE2NodeId, &NodeInfo)| {
                let recipient = Recipient { node: id, functions: &info.functions };
                recipient.check(action).is_ok().then_some(*id)
            };
            let found: Vec<_> = xapp.nodes().filter(named).filter_map(offered).collect();
            (found, xapp.nodes().map(|(id, _)| id.to_string()).collect::<Vec<_>>())
        });
        if !found.is_empty() {
            return Ok(found);
        }
        if begin.elapsed() > NODE_WAIT {
            let (style, number) = action;
            let others = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
            return Err(Failure::Environment(format!(
                "no base station{} offers RC style {style} action {number}; connected: {others}",
                requested.map_or_else(String::new, |name| format!(" {name}"))
            )));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Sends the control. Returns its effect if requested, or the reason why it was not executed.
async fn give(
    xapp: &XappHandle,
    node: GlobalE2NodeId,
    request: OrderRequest,
    watch: Option<EffectQuery>,
) -> Result<Option<effect::Effect>, String> {
    let OrderRequest { function, header, message } = request;
    let Some(watch) = watch else {
        let given = xapp.control(node, function, header, message).await;
        return given.map(|_| None).map_err(|why| failure_text(&why));
    };
    let given = xapp.control_with_effect(node, function, header, message, &watch).await;
    given.map(|it| Some(effect::effect(it.changes))).map_err(|failure| match failure {
        EffectFailure::Control(failure) => failure_text(&failure),
        other => other.to_string(),
    })
}

/// Returns the reason of a failed control: the text of the RIC (refusal) or of the base station (RC outcome).
fn failure_text(why: &ControlFailure) -> String {
    let ControlFailure::Failed { outcome: Some(octets), .. } = why else { return why.to_string() };
    let of_ric = || Refusal::decode_as(Encoding::Per, octets).ok().map(|refusal| refusal.detail);
    let of_station = || ControlOutcome::decode_as(Encoding::Per, octets).ok().and_then(|it| it.sentence());
    let words = of_station().or_else(of_ric);
    words.map_or_else(|| why.to_string(), |words| format!("{why}: {words}"))
}

pub(super) async fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    // A missing UE is an input error, whether or not base stations are connected.
    arguments.ue()?;
    let order = arguments.order(arguments.plmn.unwrap_or_default());
    order.check().map_err(|fault| Failure::Usage(fault.to_string()))?;
    let config = XappConfig::new(arguments.connect.to_string()).with(|it| {
        it.version = arguments.e2ap;
        it.or_at = arguments.or_at.iter().map(ToString::to_string).collect();
    });
    let xapp = XappHandle::start(config, SocketOptions::default());
    joined(&xapp).await.map_err(Failure::Environment)?;
    let mut output = Output::new(format);
    let mut summary = Summary { accepted: 0, refused: 0 };
    for node in nodes(&xapp, arguments.node.as_deref(), order.action()).await? {
        let request = arguments.request(&xapp, &node)?;
        let answer = give(&xapp, node, request, arguments.watch()).await;
        let (effect, refused) = match answer {
            Ok(effect) => (effect, None),
            Err(why) => (None, Some(arguments.explained(why))),
        };
        let answer = Answer { node: node.to_string(), refused, effect };
        match &answer.refused {
            None => summary.accepted += 1,
            Some(_) => summary.refused += 1,
        }
        let outcome = answer.refused.as_deref().unwrap_or("accepted");
        output.text(format_args!("{}: {outcome}", answer.node))?;
        for line in answer.effect.as_ref().map(effect::lines).unwrap_or_default() {
            output.text(line)?;
        }
        output.item(&answer)?;
    }
    output.finish(&summary)?;
    if summary.refused > 0 {
        Err(Failure::Check("a base station or the RIC refused a control".to_owned()))
    } else {
        Ok(())
    }
}
