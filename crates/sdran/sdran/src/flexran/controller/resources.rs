//! Northbound requests. Their paths are those of FlexRAN and, where the two generations differ, those of Mosaic5G.
//!
//! | path | body | effect |
//! |---|---|---|
//! | `POST /dl_sched/1`, `/dl_sched/0` | | this controller or the base stations schedule the downlink |
//! | `POST /rrm_config` | a policy in YAML | changes the base stations' own scheduler: behaviour, slices |
//! | `POST /delegate/NAME` | code | pushes a scheduler that policies may name |
//! | `POST /slice` | `{"dl": {"algorithm": "Static", "slices": [{"id": 1, "static": {"posLow": 0, "posHigh": 5}}]}}` | slices, in resource block groups |
//! | `POST /ue_slice_assignment` | `{"ue": [{"rnti": 1, "dlSliceId": 1}]}` | associates UEs with slices |
//! | `POST /rrc/ho/senb/ID/ue/RNTI/tenb/ID` | | hands a UE over from one base station to another |
//! | `GET /dl_sched` | | number of base stations scheduled here |
//!
//! All paths except that of the handover may end with `/enb/ID`, which selects one base station. Otherwise the order applies to all base
//! stations.
use super::orders::Command;
use crate::flexran::protocol::{
    Policy, Slice, SliceAlgorithm, SliceDlUlConfig, SliceParameters, SliceStatic,
};
use ranlab_machine::routes::HttpProblem;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// HTTP error of an invalid request.
pub type RequestError = HttpProblem;

/// Parses the side that schedules: `1` is this controller, `0` the base stations.
///
/// # Errors
/// The text is neither `0` nor `1`.
pub fn schedule(text: &str) -> Result<Command, RequestError> {
    match text {
        "0" => Ok(Command::Schedule(false)),
        "1" => Ok(Command::Schedule(true)),
        _ => Err(wrong(
            404,
            "only /dl_sched/0 (base stations schedule) and /dl_sched/1 (this controller schedules) exist",
        )),
    }
}

/// Returns the order to hand a UE over to another base station.
///
/// # Errors
/// A text is not a number of the right size.
pub fn hand_over(rnti: &str, target: &str) -> Result<Command, RequestError> {
    let read = || Some(Command::HandOver(rnti.parse().ok()?, target.parse().ok()?));
    read().ok_or_else(|| wrong(404, "base station and C-RNTI must be numbers"))
}

/// Parses the number of a base station.
///
/// # Errors
/// The text is not a number.
pub fn station(text: &str) -> Result<u64, RequestError> {
    text.parse().map_err(|_| wrong(404, "the base station must be a number"))
}

fn wrong(status: u16, what: impl Into<String>) -> RequestError {
    HttpProblem::new(status, what)
}

/// Parses a policy. Only its syntax is checked here; the base station reports unsupported content.
///
/// # Errors
/// The text is not a policy, or is empty.
pub fn policy(body: &str) -> Result<Command, RequestError> {
    match body.parse::<Policy>() {
        Ok(policy) if policy == Policy::default() => Err(wrong(422, "the policy is empty")),
        Ok(_) => Ok(Command::Policy(body.to_owned())),
        Err(error) => Err(wrong(422, error.to_string())),
    }
}

fn json<T: DeserializeOwned>(body: &str) -> Result<T, RequestError> {
    serde_json::from_str(body).map_err(|error| {
        wrong(if error.is_data() { 422 } else { 400 }, format!("the body is invalid: {error}"))
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sliced {
    dl: Downlink,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Downlink {
    algorithm: AlgorithmName,
    #[serde(default)]
    slices: Vec<SliceResource>,
    scheduler: Option<String>,
}

#[derive(Deserialize, Clone, Copy)]
enum AlgorithmName {
    None,
    Static,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SliceResource {
    id: u32,
    label: Option<String>,
    scheduler: Option<String>,
    r#static: Groups,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Groups {
    pos_low: u32,
    pos_high: u32,
}

/// Parses a slice configuration of the downlink.
///
/// # Errors
/// The text is not JSON of this form.
pub fn slices(body: &str) -> Result<Command, RequestError> {
    let Downlink { algorithm, slices, scheduler } = json::<Sliced>(body)?.dl;
    let of = |slice: SliceResource| {
        let Groups { pos_low, pos_high } = slice.r#static;
        let groups = SliceStatic { pos_low: Some(pos_low), pos_high: Some(pos_high) };
        let params = Some(SliceParameters::Fixed(groups));
        Slice { id: Some(slice.id), label: slice.label, scheduler: slice.scheduler, params }
    };
    let algorithm = match algorithm {
        AlgorithmName::None => SliceAlgorithm::Unsliced,
        AlgorithmName::Static => SliceAlgorithm::Static,
    };
    let slices = slices.into_iter().map(of).collect();
    Ok(Command::Slice(SliceDlUlConfig { algorithm: Some(algorithm.into()), slices, scheduler }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Assignment {
    ue: Vec<Assigned>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Assigned {
    rnti: u16,
    dl_slice_id: u32,
}

/// Parses the slices of UEs.
///
/// # Errors
/// The text is not JSON of this form, or names no UE.
pub fn assignment(body: &str) -> Result<Command, RequestError> {
    let ues = json::<Assignment>(body)?.ue;
    if ues.is_empty() {
        return Err(wrong(422, "the request names no UE"));
    }
    Ok(Command::Associate(ues.into_iter().map(|ue| (ue.rnti, ue.dl_slice_id)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_bodies_are_parsed_as_orders() {
        assert_eq!(schedule("1"), Ok(Command::Schedule(true)));
        assert_eq!(schedule("0"), Ok(Command::Schedule(false)));
        assert_eq!((station("7"), hand_over("5", "2")), (Ok(7), Ok(Command::HandOver(5, 2))));
        let body = r#"{"ue": [{"rnti": 5, "dlSliceId": 2}]}"#;
        assert_eq!(assignment(body), Ok(Command::Associate(vec![(5, 2)])));
        let body = r#"{"dl": {"algorithm": "Static", "slices": [{"id": 1, "static": {"posLow": 0, "posHigh": 5}}]}}"#;
        assert!(matches!(slices(body), Ok(Command::Slice(dl)) if dl.slices.len() == 1));
        for (result, status) in [
            (schedule("2"), 404),
            (station("x").map(|_| Command::Schedule(true)), 404),
            (hand_over("70000", "2"), 404),
            (policy(""), 422),
            (policy("mac:\n - ul_scheduler:\n"), 422),
            (slices("{"), 400),
            (slices(r#"{"dl": {"algorithm": "NVS"}}"#), 422),
            (slices(r#"{"dl": {"algorithm": "Static", "slices": [{"id": 1}]}}"#), 422),
            (assignment(r#"{"ue": []}"#), 422),
            (assignment(r#"{"ue": [{"rnti": -1, "dlSliceId": 2}]}"#), 422),
        ] {
            assert_eq!(result.map_err(|fault| fault.status()), Err(status));
        }
    }
}
