//! Sample xApp of the slicing controller. It configures slices and assigns UEs to them, over REST only.

use ranlab_machine::routes::encode;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::rc::Rc;
use std::str::FromStr;
use std::time::Duration;

use ranlab_campaign::schema::Kind;
use ranlab_campaign::value::parse_span;
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::rest_client::RestError;
use crate::rest_xapp::{Ask, Messages, RestXapp, Want, drive};
use crate::{RestUrl, SLICING_PORT};
use ranlab_lab::field::{Each, Text};
use ranlab_lab::worker::{ComponentError, Counters};
use ranlab_lab::{RunningComponent, Task, config, environment, numbers, rig, sut};
use ranlab_ran::{Spell, Spelled};

/// Time limit for the first base station to appear.
const NODE_WAIT: Duration = Duration::from_secs(30);
/// Time limit while base stations are connected but none of them can be configured.
const REASON_WAIT: Duration = Duration::from_secs(3);
/// Interval between two checks for a base station.
const LOOK_EVERY: Duration = Duration::from_millis(200);

config! {
    /// An xApp that configures slices through the slicing controller.
    pub struct SliceXappComponent {
        /// URL of the slicing controller
        rest: RestUrl = RestUrl::loopback(SLICING_PORT), wiring();
        /// file with the token of that controller; read for each request
        rest_token_file: Option<PathBuf> = None, local();
        /// base station to configure, named as in /v1/nodes [default: all]
        node: Option<String> = None, wiring();
        /// slices, as ID=SHARE of the carrier, e.g. 1=0.66,2=0.34
        slice: Vec<String> = Vec::new(), wiring();
        /// quotas in % for base stations without SLICE, as SST[-SD]=MIN:MAX[:DEDICATED]; repeatable
        quota: Vec<String> = Vec::new(), wiring();
        /// slice of a UE, as RNTI=ID; repeatable
        ue: Vec<String> = Vec::new(), wiring();
        /// later change, as TIME:SLICE=SHARE+...[:RNTI=SLICE+...], e.g. 10s:1=0.66+2=0.34; repeatable
        step: Vec<Spelled<Step>> as Each<Text> = Vec::new(), wiring();
        /// whether other slices may use the unused share of a slice
        sharing: bool = true, kind(Kind::Bool), wiring();
    }
}

/// A change of slices at a later time.
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

/// Results of the xApp.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SliceXappReport {
    /// Number of base stations that have the requested slices.
    pub nodes: usize,
    /// Number of UEs that are in the requested slices.
    pub ues: usize,
}

/// Parses `LEFT=RIGHT`.
fn pair<A: FromStr, B: FromStr>(text: &str, form: &str) -> Result<(A, B), ComponentError> {
    let pair = text.split_once('=').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    pair.ok_or_else(|| rig(format!("\"{text}\" is not {form}")))
}

/// Maximum number of base stations whose reasons are listed.
const REASONS_MAX: usize = 8;

/// Parses `SST[-SD]=MIN:MAX[:DEDICATED]` into a quota of the controller's REST API.
fn quota(text: &str) -> Result<Json, ComponentError> {
    let read = || {
        let (slice, percent) = text.split_once('=')?;
        let percent: Vec<u8> = percent.split(':').map(|it| it.parse().ok()).collect::<Option<_>>()?;
        let (min, max, dedicated) = match percent[..] {
            [min, max] => (min, max, 0),
            [min, max, dedicated] => (min, max, dedicated),
            _ => return None,
        };
        Some(json!({ "snssai": slice, "min": min, "max": max, "dedicated": dedicated }))
    };
    read().ok_or_else(|| rig(format!("\"{text}\" is not SST[-SD]=MIN:MAX[:DEDICATED], e.g. 1-010203=20:60")))
}

fn trouble(error: RestError) -> ComponentError {
    match error {
        RestError::Refused { .. } => sut(error),
        error => environment(error),
    }
}

impl SliceXappComponent {
    /// Configures the slices, then assigns the UEs. Afterwards applies each step at its time, counted from now. If a
    /// base station rejects a request, its configuration does not change.
    ///
    /// # Errors
    ///
    /// Returns an error if the controller is unreachable, has no base station, or rejects a request.
    pub async fn run(&self) -> Result<SliceXappReport, ComponentError> {
        let slicer = RefCell::new(SliceXappMachine::new(self)?);
        let rest = self.rest.clone().with_token(self.rest_token_file.clone());
        drive(&slicer, &rest, Messages::None).await?;
        Ok(slicer.into_inner().report)
    }
}

/// Current activity of the xApp.
#[derive(Debug)]
enum SliceXappState {
    /// Waits for the next step.
    Nothing,
    /// Polls for base stations; the values are the time of the next poll and the deadline.
    Looking(Duration, Duration),
    /// Sends these requests one after the other, and then has this result.
    Asking(VecDeque<Ask>, SliceXappReport),
}

/// The xApp as a state machine.
#[derive(Debug)]
pub(crate) struct SliceXappMachine {
    node: Option<String>,
    sharing: bool,
    /// Quotas for base stations without SLICE.
    quotas: Vec<Json>,
    /// Remaining steps, beginning with the current one.
    steps: VecDeque<Step>,
    doing: SliceXappState,
    report: SliceXappReport,
}

impl SliceXappMachine {
    /// Creates the state machine.
    ///
    /// # Errors
    ///
    /// Returns an error if a slice or a UE has an invalid text form.
    pub(crate) fn new(part: &SliceXappComponent) -> Result<Self, ComponentError> {
        let slices = part.slice.iter().map(|text| pair(text, "ID=SHARE, e.g. 1=0.66"));
        let ues = part.ue.iter().map(|text| pair(text, "RNTI=ID, e.g. 17921=1"));
        let slices = slices.collect::<Result<_, _>>()?;
        let ues = ues.collect::<Result<_, _>>()?;
        let mut steps = vec![Step { at: Duration::ZERO, slices, ues }];
        steps.extend(part.step.iter().map(|step| step.value.clone()));
        steps.sort_by_key(|step| step.at);
        let quotas = part.quota.iter().map(|text| quota(text)).collect::<Result<_, _>>()?;
        let node = part.node.clone();
        let sharing = part.sharing;
        let report = SliceXappReport::default();
        Ok(Self { node, sharing, quotas, steps: steps.into(), doing: SliceXappState::Nothing, report })
    }

    /// Returns the selected base stations with their names.
    fn named<'a>(&self, nodes: &'a Json) -> impl Iterator<Item = (&'a str, &'a Json)> {
        let nodes = nodes["nodes"].as_array().into_iter().flatten();
        let names = nodes.filter_map(|node| Some((node["node"].as_str()?, node)));
        names.filter(|(name, _)| self.node.as_ref().is_none_or(|node| node == name))
    }

    /// Returns the selected base stations that support slices, and the base stations that get quotas instead.
    fn meant(&self, nodes: &Json) -> (Vec<String>, Vec<String>) {
        let names = |is_meant: &dyn Fn(&Json) -> bool| {
            let meant = self.named(nodes).filter(|(_, node)| is_meant(node));
            meant.map(|(name, _)| name.to_owned()).collect()
        };
        let takes_quotas = |node: &Json| !self.quotas.is_empty() && node["quotas_by"].is_string();
        (names(&|node| node["slicing"].is_object()), names(&takes_quotas))
    }

    /// Returns the reasons why no base station can be configured.
    fn reasons(&self, nodes: &Json) -> String {
        let reason =
            |(name, node): (&str, &Json)| node["reason"].as_str().map(|reason| format!("; {name}: {reason}"));
        self.named(nodes).filter_map(reason).take(REASONS_MAX).collect()
    }

    /// Returns the requests of the current step for these base stations.
    fn asks(&self, (nodes, others): &(Vec<String>, Vec<String>)) -> SliceXappState {
        let Some(Step { slices, ues, .. }) = self.steps.front() else { return SliceXappState::Nothing };
        let slices = slices.iter().map(|(id, capacity)| json!({ "id": id, "capacity": capacity }));
        let slices: Vec<_> = slices.collect();
        let mut asks = VecDeque::new();
        for node in nodes {
            let node = format!("/v1/nodes/{}", encode(node));
            if !slices.is_empty() {
                let set = json!({ "algorithm": "nvs", "sharing": self.sharing, "slices": slices });
                asks.push_back(Ask::put(format!("{node}/slices"), set));
            }
            let ue = |(rnti, slice): &(u16, u16)| {
                Ask::put(format!("{node}/ues/{rnti}"), json!({ "slice": slice }))
            };
            asks.extend(ues.iter().map(ue));
        }
        for node in others {
            let quotas = json!({ "quotas": self.quotas });
            asks.push_back(Ask::put(format!("/v1/nodes/{}/quotas", encode(node)), quotas));
        }
        let report = SliceXappReport { nodes: nodes.len() + others.len(), ues: nodes.len() * ues.len() };
        SliceXappState::Asking(asks, report)
    }
}

impl RestXapp for SliceXappMachine {
    fn want(&mut self, age: Duration) -> Want {
        loop {
            match &mut self.doing {
                SliceXappState::Nothing => match self.steps.front() {
                    None => return Want::Done,
                    Some(step) if step.at > age => return Want::Wait(Some(step.at)),
                    Some(_) => self.doing = SliceXappState::Looking(age, age + NODE_WAIT),
                },
                SliceXappState::Looking(from, _) if *from > age => return Want::Wait(Some(*from)),
                SliceXappState::Looking(..) => return Want::Ask(Ask::get("/v1/nodes")),
                SliceXappState::Asking(asks, report) => match asks.front() {
                    Some(ask) => return Want::Ask(ask.clone()),
                    None => {
                        self.report = report.clone();
                        self.steps.pop_front();
                        self.doing = SliceXappState::Nothing;
                    }
                },
            }
        }
    }

    fn answered(
        &mut self,
        age: Duration,
        answer: Result<Json, RestError>,
    ) -> Result<Option<String>, ComponentError> {
        let answer = answer.map_err(trouble)?;
        match &mut self.doing {
            SliceXappState::Nothing => {}
            SliceXappState::Asking(asks, _) => drop(asks.pop_front()),
            &mut SliceXappState::Looking(_, until) => match self.meant(&answer) {
                meant if !meant.0.is_empty() || !meant.1.is_empty() => self.doing = self.asks(&meant),
                _ => {
                    let reasons = self.reasons(&answer);
                    let wait = if reasons.is_empty() { NODE_WAIT } else { REASON_WAIT };
                    if age + NODE_WAIT >= until + wait {
                        let which = self.node.as_deref().unwrap_or("with slices");
                        let seconds = wait.as_secs();
                        return Err(sut(format!(
                            "no base station {which} was found within {seconds} s{reasons}"
                        )));
                    }
                    self.doing = SliceXappState::Looking(age + LOOK_EVERY, until);
                }
            },
        }
        Ok(None)
    }
}

/// A slicing xApp that has finished, or still has steps to apply.
pub(crate) struct SliceXapp {
    done: Rc<RefCell<Option<Result<SliceXappReport, ComponentError>>>>,
    _task: Option<Task>,
}

impl SliceXapp {
    /// Configures the slices. Later steps run in a background task.
    ///
    /// # Errors
    ///
    /// Returns an error like [`SliceXappComponent::run`]. The next check returns errors of later steps.
    pub(crate) async fn start(part: SliceXappComponent) -> Result<Self, ComponentError> {
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

impl RunningComponent for SliceXapp {
    fn check(&mut self) -> Result<(), ComponentError> {
        match &*self.done.borrow() {
            Some(Err(trouble)) => Err(trouble.clone()),
            _ => Ok(()),
        }
    }

    fn counters(&mut self) -> Counters {
        self.done.borrow().iter().flatten().map(numbers).next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn slicer(steps: &[&str]) -> SliceXappMachine {
        let own = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let step = steps.iter().map(|text| text.parse().unwrap()).collect();
        let part = SliceXappComponent {
            slice: own(&["1=0.5"]),
            ue: own(&["7=1"]),
            step,
            ..SliceXappComponent::default()
        };
        SliceXappMachine::new(&part).unwrap()
    }

    fn nodes(names: &[&str]) -> Json {
        let node = |name: &&str| json!({ "node": name, "slicing": {} });
        json!({ "nodes": names.iter().map(node).collect::<Vec<_>>() })
    }

    /// Simulates successful responses until the xApp waits or ends. Returns the requested paths.
    fn run_until_wait(slicer: &mut SliceXappMachine, age: Duration, answer: &Json) -> (Vec<String>, Want) {
        let mut paths = Vec::new();
        loop {
            match slicer.want(age) {
                Want::Ask(ask) => {
                    paths.push(format!("{} {}", ask.method, ask.path));
                    slicer.answered(age, Ok(answer.clone())).unwrap();
                }
                want => return (paths, want),
            }
        }
    }

    #[test]
    fn slices_are_set_before_ues_and_steps_run_on_time() {
        let mut slicer = slicer(&["5s:1=0.6"]);
        let there = nodes(&["gnb 1/du 1", "enb 2"]);
        let (paths, want) = run_until_wait(&mut slicer, SECOND, &there);
        let first = [
            "GET /v1/nodes",
            "PUT /v1/nodes/gnb%201%2Fdu%201/slices",
            "PUT /v1/nodes/gnb%201%2Fdu%201/ues/7",
            "PUT /v1/nodes/enb%202/slices",
            "PUT /v1/nodes/enb%202/ues/7",
        ];
        assert_eq!((paths, want), (first.map(str::to_owned).to_vec(), Want::Wait(Some(5 * SECOND))));
        assert_eq!(slicer.report, SliceXappReport { nodes: 2, ues: 2 });
        let (paths, want) = run_until_wait(&mut slicer, 5 * SECOND, &nodes(&["enb 2"]));
        assert_eq!((paths.len(), want), (2, Want::Done));
    }

    #[test]
    fn search_for_base_stations_times_out() {
        let mut slicer = slicer(&[]);
        let nobody = nodes(&[]);
        let (paths, want) = run_until_wait(&mut slicer, Duration::ZERO, &nobody);
        assert_eq!((paths.len(), want), (1, Want::Wait(Some(LOOK_EVERY))));
        assert!(matches!(slicer.want(NODE_WAIT), Want::Ask(_)));
        let why = slicer.answered(NODE_WAIT, Ok(nobody)).unwrap_err();
        assert!(
            why.what.contains("no base station") && why.fault == ranlab_lab::worker::FaultOwner::Sut,
            "{why:?}"
        );
    }

    #[test]
    fn search_ends_early_if_no_base_station_can_be_configured() {
        let other = json!({ "nodes": [{ "node": "gnb 1", "slicing": null, "reason": "no SLICE" }] });
        let mut slicer = slicer(&[]);
        let (_, want) = run_until_wait(&mut slicer, Duration::ZERO, &other);
        assert_eq!(want, Want::Wait(Some(LOOK_EVERY)));
        assert!(matches!(slicer.want(REASON_WAIT), Want::Ask(_)));
        assert!(slicer.answered(REASON_WAIT, Ok(other)).unwrap_err().what.contains("no SLICE"));
    }

    #[test]
    fn base_stations_without_slice_get_quotas_or_a_reason() {
        let other = json!({ "nodes": [{ "node": "gnb 1", "slicing": null, "quotas_by": "ccc", "reason": "no SLICE" }] });
        let part =
            SliceXappComponent { quota: vec!["1-010203=20:60".to_owned()], ..SliceXappComponent::default() };
        let mut with_quotas = SliceXappMachine::new(&part).unwrap();
        let (paths, want) = run_until_wait(&mut with_quotas, SECOND, &other);
        assert_eq!(
            (paths, want),
            (vec!["GET /v1/nodes".into(), "PUT /v1/nodes/gnb%201/quotas".into()], Want::Done)
        );
        assert_eq!(with_quotas.report.nodes, 1);
        let mut without = slicer(&[]);
        let (paths, _) = run_until_wait(&mut without, Duration::ZERO, &other);
        assert_eq!(paths.len(), 1);
        assert!(matches!(without.want(NODE_WAIT), Want::Ask(_)));
        let why = without.answered(NODE_WAIT, Ok(other)).unwrap_err();
        assert!(why.what.ends_with("; gnb 1: no SLICE"), "{why:?}");
        for wrong in ["1", "1=60", "1=1:2:3:4", "1=x:2"] {
            let part = SliceXappComponent { quota: vec![wrong.to_owned()], ..SliceXappComponent::default() };
            assert!(SliceXappMachine::new(&part).unwrap_err().what.contains(wrong));
        }
    }

    #[test]
    fn rejection_and_unreachable_controller_have_different_fault_owners() {
        let refused = RestError::Refused { status: 409, detail: "150 % of 100 %".to_owned() };
        let away = RestError::Away(RestUrl::loopback(1), std::io::ErrorKind::ConnectionRefused.into());
        for (error, fault, words) in [
            (refused, ranlab_lab::worker::FaultOwner::Sut, "150 %"),
            (away, ranlab_lab::worker::FaultOwner::Environment, "does not answer"),
        ] {
            let why = slicer(&[]).answered(SECOND, Err(error)).unwrap_err();
            assert!(why.fault == fault && why.what.contains(words), "{why:?}");
        }
        for wrong in ["1", "1=x", "x=1"] {
            let part = SliceXappComponent { slice: vec![wrong.to_owned()], ..SliceXappComponent::default() };
            assert!(SliceXappMachine::new(&part).unwrap_err().what.contains(wrong));
        }
    }
}
