//! The slicing controller's sample xApp: asks for slices and puts UEs into them, over REST alone.

use std::str::FromStr;
use std::time::Duration;

use ranlab_campaign::schema::Kind;
use serde::Serialize;
use serde_json::json;

use crate::rest_client::{RestError, escaped};
use crate::worker::{Numbers, Trouble};
use crate::{RestUrl, Running, SLICING_PORT, config, environment, numbers, rig, sut};

/// How long the first base station may take to appear.
const NODE_WAIT: Duration = Duration::from_secs(30);
/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(200);

config! {
    /// An xApp that asks the slicing controller for slices.
    pub struct SliceXappPart {
        /// the slicing controller
        rest: RestUrl = RestUrl::loopback(SLICING_PORT), wiring();
        /// of which base station, as /v1/nodes names it [default: all of them]
        node: Option<String> = None, wiring();
        /// slices: ID=SHARE of the carrier, e.g. 1=0.66,2=0.34
        slice: Vec<String> = Vec::new(), wiring();
        /// UEs: RNTI=ID of their slice; repeatable
        ue: Vec<String> = Vec::new(), wiring();
        /// whether what a slice does not use goes to the others, or is wasted
        sharing: bool = true, kind(Kind::Bool), wiring();
    }
}

/// What the xApp asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SliceXappReport {
    /// Base stations that share their carriers so now.
    pub nodes: usize,
    /// UEs that are in their slices now.
    pub ues: usize,
}

/// `LEFT=RIGHT`.
fn pair<A: FromStr, B: FromStr>(text: &str, form: &str) -> Result<(A, B), Trouble> {
    let pair = text.split_once('=').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    pair.ok_or_else(|| rig(format!("\"{text}\" is not {form}")))
}

fn trouble(error: RestError) -> Trouble {
    match error {
        RestError::Refused { .. } => sut(error),
        error => environment(error),
    }
}

impl SliceXappPart {
    /// Asks for the slices, then puts the UEs into them. Where nothing can be changed so, nothing is changed.
    ///
    /// # Errors
    /// The controller is away, has no base station, or refuses.
    pub async fn run(&self) -> Result<SliceXappReport, Trouble> {
        let slices = self.slice.iter().map(|text| pair::<u16, f64>(text, "ID=SHARE, e.g. 1=0.66"));
        let slices =
            slices.map(|slice| slice.map(|(id, capacity)| json!({ "id": id, "capacity": capacity })));
        let slices = slices.collect::<Result<Vec<_>, _>>()?;
        let ues = self.ue.iter().map(|text| pair::<u16, u16>(text, "RNTI=ID, e.g. 17921=1"));
        let ues = ues.collect::<Result<Vec<_>, _>>()?;
        let mut report = SliceXappReport::default();
        for node in self.nodes().await? {
            let node = format!("/v1/nodes/{}", escaped(&node));
            if !slices.is_empty() {
                let set = json!({ "algorithm": "nvs", "sharing": self.sharing, "slices": slices });
                self.rest.ask("PUT", &format!("{node}/slices"), Some(&set)).await.map_err(trouble)?;
            }
            for (rnti, slice) in &ues {
                let body = json!({ "slice": slice });
                self.rest.ask("PUT", &format!("{node}/ues/{rnti}"), Some(&body)).await.map_err(trouble)?;
                report.ues += 1;
            }
            report.nodes += 1;
        }
        Ok(report)
    }

    /// The base stations that are meant, as soon as there is one whose slices are known.
    async fn nodes(&self) -> Result<Vec<String>, Trouble> {
        let until = tokio::time::Instant::now() + NODE_WAIT;
        loop {
            let answer = self.rest.ask("GET", "/v1/nodes", None).await.map_err(trouble)?;
            let nodes = answer["nodes"].as_array().into_iter().flatten();
            let known = nodes.filter(|node| node["slicing"].is_object());
            let names = known.filter_map(|node| node["node"].as_str());
            let meant = names.filter(|name| self.node.as_ref().is_none_or(|node| node == name));
            let meant: Vec<String> = meant.map(str::to_owned).collect();
            if !meant.is_empty() {
                return Ok(meant);
            }
            if tokio::time::Instant::now() >= until {
                let which = self.node.as_deref().unwrap_or("with slices");
                return Err(sut(format!("no base station {which} within {} s", NODE_WAIT.as_secs())));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// An xApp that has done its work.
pub(crate) struct SliceXapp(pub(crate) SliceXappReport);

impl Running for SliceXapp {
    fn look(&mut self) -> Numbers {
        numbers(&self.0)
    }
}
