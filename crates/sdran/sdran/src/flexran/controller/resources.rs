//! Northbound requests: FlexRAN's paths and, where the two generations differ, Mosaic5G's.
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
//! All paths except the handover may end with `/enb/ID`, which selects one base station; otherwise the order
//! is for all.
use super::orders::Command;
use crate::flexran::protocol::{
    Policy, Slice, SliceAlgorithm, SliceDlUlConfig, SliceParameters, SliceStatic,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Order, and its base station unless it is for all.
pub type StationOrder = (Option<u64>, Command);

/// HTTP status and message of an invalid request.
pub type RequestError = (u16, String);

/// Parses a request; `None` if there is no such resource.
pub fn read(path: &str, body: &str) -> Option<Result<StationOrder, RequestError>> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    if let ["rrc", "ho", "senb", source, "ue", rnti, "tenb", target] = parts[..] {
        let read = || {
            Some((Some(source.parse().ok()?), Command::HandOver(rnti.parse().ok()?, target.parse().ok()?)))
        };
        return Some(read().ok_or_else(|| wrong(404, "base stations and C-RNTIs are numbers")));
    }
    let (parts, station) = match parts[..] {
        [.., "enb", station] => match station.parse() {
            Ok(station) => (&parts[..parts.len() - 2], Some(station)),
            Err(_) => return Some(Err(wrong(404, "base stations are numbers"))),
        },
        _ => (&parts[..], None),
    };
    let order = match *parts {
        ["dl_sched", "0"] => Ok(Command::Schedule(false)),
        ["dl_sched", "1"] => Ok(Command::Schedule(true)),
        ["dl_sched", _] => Err(wrong(404, "there are /dl_sched/0 (base stations schedule) and /dl_sched/1")),
        ["rrm_config"] => policy(body),
        ["delegate", name] => Ok(Command::Delegate(name.to_owned(), body.to_owned().into())),
        ["slice"] => slices(body),
        ["ue_slice_assignment"] => assignment(body),
        _ => return None,
    };
    Some(order.map(|order| (station, order)))
}

fn wrong(status: u16, what: impl Into<String>) -> RequestError {
    (status, what.into())
}

/// Parses a policy. Only its syntax is checked here; the base station reports unsupported content.
fn policy(body: &str) -> Result<Command, RequestError> {
    match body.parse::<Policy>() {
        Ok(policy) if policy == Policy::default() => Err(wrong(422, "the policy asks for nothing")),
        Ok(_) => Ok(Command::Policy(body.to_owned())),
        Err(error) => Err(wrong(422, error.to_string())),
    }
}

fn json<T: DeserializeOwned>(body: &str) -> Result<T, RequestError> {
    serde_json::from_str(body)
        .map_err(|error| wrong(if error.is_data() { 422 } else { 400 }, format!("the body: {error}")))
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

fn slices(body: &str) -> Result<Command, RequestError> {
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

fn assignment(body: &str) -> Result<Command, RequestError> {
    let ues = json::<Assignment>(body)?.ue;
    if ues.is_empty() {
        return Err(wrong(422, "no UE is named"));
    }
    Ok(Command::Associate(ues.into_iter().map(|ue| (ue.rnti, ue.dl_slice_id)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_bodies_are_parsed_as_orders() {
        assert_eq!(read("/dl_sched/1", ""), Some(Ok((None, Command::Schedule(true)))));
        assert_eq!(read("/dl_sched/0/enb/7", ""), Some(Ok((Some(7), Command::Schedule(false)))));
        assert_eq!(read("/rrc/ho/senb/1/ue/5/tenb/2", ""), Some(Ok((Some(1), Command::HandOver(5, 2)))));
        let body = r#"{"ue": [{"rnti": 5, "dlSliceId": 2}]}"#;
        assert_eq!(
            read("/ue_slice_assignment/enb/1", body),
            Some(Ok((Some(1), Command::Associate(vec![(5, 2)]))))
        );
        let body = r#"{"dl": {"algorithm": "Static", "slices": [{"id": 1, "static": {"posLow": 0, "posHigh": 5}}]}}"#;
        assert!(matches!(read("/slice", body), Some(Ok((None, Command::Slice(dl)))) if dl.slices.len() == 1));
        for (path, body, status) in [
            ("/dl_sched/2", "", 404),
            ("/dl_sched/1/enb/x", "", 404),
            ("/rrc/ho/senb/1/ue/70000/tenb/2", "", 404),
            ("/rrm_config", "", 422),
            ("/rrm_config", "mac:\n - ul_scheduler:\n", 422),
            ("/slice", "{", 400),
            ("/slice", r#"{"dl": {"algorithm": "NVS"}}"#, 422),
            ("/slice", r#"{"dl": {"algorithm": "Static", "slices": [{"id": 1}]}}"#, 422),
            ("/ue_slice_assignment", r#"{"ue": []}"#, 422),
            ("/ue_slice_assignment", r#"{"ue": [{"rnti": -1, "dlSliceId": 2}]}"#, 422),
        ] {
            let got = read(path, body).map(|read| read.map_err(|(status, _)| status).unwrap_err());
            assert_eq!(got, Some(status), "{path} {body}");
        }
        assert_eq!(read("/stats", ""), None);
    }
}
