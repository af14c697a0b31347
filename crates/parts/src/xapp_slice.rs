//! The slicing controller's sample xApp: asks for slices and puts UEs into them, over REST alone.

use std::cell::RefCell;
use std::rc::Rc;
use std::str::FromStr;
use std::time::Duration;

use ranlab_campaign::schema::Kind;
use ranlab_campaign::value::parse_span;
use serde::Serialize;
use serde_json::json;

use crate::rest_client::{RestError, escaped};
use crate::worker::{Numbers, Trouble};
use crate::{
    RestUrl, Running, SLICING_PORT, Spell, Spelled, Task, config, environment, numbers, rig, setting_by_text,
    sut,
};

/// How long the first base station may take to appear.
const NODE_WAIT: Duration = Duration::from_secs(30);
/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(200);

setting_by_text!(Spelled<Step>);

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
        /// what it asks for later: AT:SLICE=SHARE+…[:RNTI=SLICE+…], e.g. 10s:1=0.66+2=0.34; repeatable
        step: Vec<Spelled<Step>> = Vec::new(), wiring();
        /// whether what a slice does not use goes to the others, or is wasted
        sharing: bool = true, kind(Kind::Bool), wiring();
    }
}

/// What is asked for after a while.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    at: Duration,
    slices: Vec<(u16, f64)>,
    ues: Vec<(u16, u16)>,
}

impl Spell for Step {
    const ALLOWED: &'static str = "AT:SLICE=SHARE+…[:RNTI=SLICE+…], e.g. 10s:1=0.66+2=0.34:17921=1";

    fn spell(text: &str) -> Option<Self> {
        fn pairs<A: FromStr, B: FromStr>(text: &str) -> Option<Vec<(A, B)>> {
            let pairs = text.split('+').filter(|pair| !pair.is_empty());
            pairs.map(|text| pair(text, "").ok()).collect()
        }
        let (at, rest) = text.split_once(':')?;
        let (slices, ues) = rest.split_once(':').unwrap_or((rest, ""));
        Some(Self { at: parse_span(at)?, slices: pairs(slices)?, ues: pairs(ues)? })
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
    /// Asks for the slices, then puts the UEs into them; then each step at its time, counted from now. Where nothing can
    /// be changed so, nothing is changed.
    ///
    /// # Errors
    /// The controller is away, has no base station, or refuses.
    pub async fn run(&self) -> Result<SliceXappReport, Trouble> {
        let begin = tokio::time::Instant::now();
        let slices = self.slice.iter().map(|text| pair(text, "ID=SHARE, e.g. 1=0.66"));
        let ues = self.ue.iter().map(|text| pair(text, "RNTI=ID, e.g. 17921=1"));
        let (slices, ues) = (slices.collect::<Result<_, _>>()?, ues.collect::<Result<_, _>>()?);
        let mut report = self.ask(&Step { at: Duration::ZERO, slices, ues }).await?;
        let mut steps: Vec<_> = self.step.iter().map(|step| &step.value).collect();
        steps.sort_by_key(|step| step.at);
        for step in steps {
            tokio::time::sleep_until(begin + step.at).await;
            report = self.ask(step).await?;
        }
        Ok(report)
    }

    async fn ask(&self, Step { slices, ues, .. }: &Step) -> Result<SliceXappReport, Trouble> {
        let slices = slices.iter().map(|(id, capacity)| json!({ "id": id, "capacity": capacity }));
        let slices: Vec<_> = slices.collect();
        let mut report = SliceXappReport::default();
        for node in self.nodes().await? {
            let node = format!("/v1/nodes/{}", escaped(&node));
            if !slices.is_empty() {
                let set = json!({ "algorithm": "nvs", "sharing": self.sharing, "slices": slices });
                self.rest.ask("PUT", &format!("{node}/slices"), Some(&set)).await.map_err(trouble)?;
            }
            for (rnti, slice) in ues {
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

/// An xApp that has done its work, or goes on with its steps.
pub(crate) struct SliceXapp {
    done: Rc<RefCell<Option<Result<SliceXappReport, Trouble>>>>,
    _task: Option<Task>,
}

impl SliceXapp {
    /// Asks for the slices, and for later steps beside what else happens.
    ///
    /// # Errors
    /// See [`SliceXappPart::run`]; of steps it is told when it is looked.
    pub(crate) async fn start(part: SliceXappPart) -> Result<Self, Trouble> {
        if part.step.is_empty() {
            return Ok(Self { done: Rc::new(RefCell::new(Some(Ok(part.run().await?)))), _task: None });
        }
        let done = Rc::new(RefCell::new(None));
        let end = Rc::clone(&done);
        let task = Task::spawn(async move {
            let ended = part.run().await;
            end.replace(Some(ended));
        });
        Ok(Self { done, _task: Some(task) })
    }
}

impl Running for SliceXapp {
    fn check(&mut self) -> Result<(), Trouble> {
        match &*self.done.borrow() {
            Some(Err(trouble)) => Err(trouble.clone()),
            _ => Ok(()),
        }
    }

    fn look(&mut self) -> Numbers {
        self.done.borrow().iter().flatten().map(numbers).next().unwrap_or_default()
    }
}
