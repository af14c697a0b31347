//! Comparison of O-RAN's service models with pycrate, an independent codec, in both directions for random values.
//!
//! Runs if `RANLAB_PYTHON` names a Python with pycrate, with the types of `oracle/e2sm_types.txt`; or with the ASN.1
//! texts of E2SM common, KPM 3.00 or 4.00, RC and NI, one module per file `*.asn` in the folder `RANLAB_E2SM_TEXTS`.
//! We may not distribute these texts.
#![allow(clippy::unwrap_used)] // clippy does not recognise test helpers

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use bytes::Bytes;
use ranlab_e2_codec::e2sm::common::UeId;
use ranlab_e2_codec::e2sm::kpm::{ActionDefinition, EventTrigger, FunctionDescription, IndicationMessage};
use ranlab_e2_codec::e2sm::rc::interface::{LteClass, NrClass, RrcClass, RrcMessage};
use ranlab_e2_codec::e2sm::rc::messages::CopiedMessage;
use ranlab_e2_codec::e2sm::{ni, per, rc};
use ranlab_e2_codec::per::{DecodeFault, Notation, Per};

/// Number of random values of each type.
const SEEDS: u64 = 200;

/// Nesting levels of a recursive type: the maximum of our decoder, and the number that `oracle/notation.py` unrolls.
const LEVELS: usize = 16;

/// Value notation and bytes of a value.
type Shown = (String, Vec<u8>);

/// A type with its names in the texts.
struct Kind {
    module: &'static str,
    name: &'static str,
    /// Returns bytes and value notation of a random value.
    random: fn(u64) -> (Vec<u8>, String),
    /// Returns the value notation of bytes and the encoded bytes of that value; `None` if a number exceeds the type.
    read: fn(Bytes) -> Result<Option<Shown>, String>,
}

impl Kind {
    const fn new<T: Per>(module: &'static str, name: &'static str) -> Self {
        Self {
            module,
            name,
            random: |seed| {
                let value: T = per::sample(seed).unwrap();
                (octets(&value).unwrap(), notation(&value))
            },
            read: |octets_read| {
                let value: T = match per::decode(octets_read) {
                    // An extensible integer beyond the range of the type is refused with this error.
                    Err(e) if matches!(e.fault, DecodeFault::OutOfRange { low: 0, .. }) => return Ok(None),
                    read => read.map_err(|e| e.to_string())?,
                };
                Ok(Some((notation(&value), octets(&value)?)))
            },
        }
    }
}

const KPM: &str = "E2SM-KPM-IEs";
const RC: &str = "E2SM-RC-IEs";
const NI: &str = "E2SM-NI-IEs";
const KINDS: &[Kind] = &[
    Kind::new::<EventTrigger>(KPM, "E2SM-KPM-EventTriggerDefinition"),
    Kind::new::<ActionDefinition>(KPM, "E2SM-KPM-ActionDefinition"),
    Kind::new::<IndicationMessage>(KPM, "E2SM-KPM-IndicationMessage"),
    Kind::new::<FunctionDescription>(KPM, "E2SM-KPM-RANfunction-Description"),
    Kind::new::<rc::EventTrigger>(RC, "E2SM-RC-EventTrigger"),
    Kind::new::<rc::ActionDefinition>(RC, "E2SM-RC-ActionDefinition"),
    Kind::new::<rc::IndicationHeader>(RC, "E2SM-RC-IndicationHeader"),
    Kind::new::<rc::IndicationMessage>(RC, "E2SM-RC-IndicationMessage"),
    Kind::new::<rc::CallProcessId>(RC, "E2SM-RC-CallProcessID"),
    Kind::new::<rc::ControlHeader>(RC, "E2SM-RC-ControlHeader"),
    Kind::new::<rc::ControlMessage>(RC, "E2SM-RC-ControlMessage"),
    Kind::new::<rc::ControlOutcome>(RC, "E2SM-RC-ControlOutcome"),
    Kind::new::<rc::FunctionDefinition>(RC, "E2SM-RC-RANFunctionDefinition"),
    Kind::new::<UeId>(RC, "UEID"),
    Kind::new::<ni::EventTrigger>(NI, "E2SM-NI-EventTriggerDefinition"),
    Kind::new::<ni::ActionDefinition>(NI, "E2SM-NI-ActionDefinition"),
    Kind::new::<ni::IndicationHeader>(NI, "E2SM-NI-IndicationHeader"),
    Kind::new::<ni::IndicationMessage>(NI, "E2SM-NI-IndicationMessage"),
    Kind::new::<ni::CallProcessId>(NI, "E2SM-NI-CallProcessID"),
    Kind::new::<ni::ControlHeader>(NI, "E2SM-NI-ControlHeader"),
    Kind::new::<ni::ControlMessage>(NI, "E2SM-NI-ControlMessage"),
    Kind::new::<ni::ControlOutcome>(NI, "E2SM-NI-ControlOutcome"),
    Kind::new::<ni::FunctionDescription>(NI, "E2SM-NI-RANfunction-Description"),
];

fn octets<T: Per>(value: &T) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    per::encode(value, &mut out).map_err(|e| e.to_string())?;
    Ok(out)
}

fn notation<T: Per>(value: &T) -> String {
    let shown = Notation::collect(|n| value.show(n)).split_whitespace().collect::<Vec<_>>().join(" ");
    // Both notations of an empty bit string are equal.
    shown.replace(" ,", ",").replace("''B", "''H")
}

/// Returns a control whose parameter has `levels` levels, alternating structures and lists, with an element at the
/// end.
fn deep(levels: usize) -> rc::ControlMessage {
    let leaf = rc::Parameter::key(1, rc::Value::Real(-0.375));
    let around = |inner, level| match level % 2 {
        0 => rc::Parameter::structure(7, vec![inner]),
        _ => rc::Parameter::list(8, [vec![inner]]),
    };
    vec![(1..levels).fold(leaf, around)].into()
}

fn corpus() -> String {
    let mut lines = String::new();
    let mut line = |module: &str, name: &str, (octets, notation): (Vec<u8>, String)| {
        let hex: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
        writeln!(lines, "{module}\t{name}\t{hex}\t{notation}").unwrap();
    };
    for kind in KINDS {
        (0..SEEDS).for_each(|seed| line(kind.module, kind.name, (kind.random)(seed)));
    }
    for levels in 1..=LEVELS {
        let value = deep(levels);
        line(RC, "E2SM-RC-ControlMessage", (octets(&value).unwrap(), notation(&value)));
    }
    lines
}

/// Decodes a line of pycrate and checks values and bytes. Fails with the difference.
fn read_back(line: &str) -> Result<(), String> {
    let [_, name, hex, notation] = line.split('\t').collect::<Vec<_>>()[..] else {
        return Err(format!("not four fields: {line}"));
    };
    let kind = KINDS.iter().find(|kind| kind.name == name).unwrap();
    let octet = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let octets: Bytes = (0..hex.len()).step_by(2).map(octet).collect();
    let what = |fault: String| format!("{name}: {fault}\n{hex}\n{notation}");
    let Some((values, again)) = (kind.read)(octets.clone()).map_err(what)? else { return Ok(()) };
    if values != notation {
        return Err(what(format!("read as {values}")));
    }
    if again == octets { Ok(()) } else { Err(what(format!("encoded as {again:02x?}"))) }
}

#[test]
fn pycrate_agrees_on_random_values_of_service_models() {
    let Some(python) = std::env::var_os("RANLAB_PYTHON") else {
        ranlab_host::doctor::skipped(
            "pycrate: RANLAB_PYTHON names no Python that has it (make test installs it)",
        );
        return;
    };
    let oracle = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle");
    let types = std::env::var_os("RANLAB_E2SM_TEXTS").map(PathBuf::from);
    let types = types.unwrap_or_else(|| oracle.join("e2sm_types.txt"));
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let ours = dir.join("e2sm_ours.tsv");
    let theirs = dir.join("e2sm_theirs.tsv");
    std::fs::write(&ours, corpus()).unwrap();
    let script = oracle.join("pycrate_e2sm.py");
    let output = Command::new(python).arg(script).arg(types).args([&ours, &theirs]).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let objections = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}{objections}");
    print!("{stdout}");
    let made = std::fs::read_to_string(&theirs).unwrap();
    let faults: Vec<_> = made.lines().filter_map(|line| read_back(line).err()).collect();
    assert!(
        faults.is_empty(),
        "{} of {}: {:#?}",
        faults.len(),
        made.lines().count(),
        &faults[..faults.len().min(5)]
    );
    assert!(made.lines().count() > KINDS.len() * SEEDS as usize / 2, "made {}", made.lines().count());
}

#[test]
fn pycrate_agrees_on_copied_rrc_messages() {
    let Some(python) = std::env::var_os("RANLAB_PYTHON") else {
        ranlab_host::doctor::skipped(
            "pycrate: RANLAB_PYTHON names no Python that has it (make test installs it)",
        );
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/pycrate_rrc.py");
    let output = Command::new(python).arg(script).output().unwrap();
    let objections = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{objections}");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let mut seen = Vec::new();
    for line in stdout.lines() {
        let [generation, direction, number, name, hex] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("not five fields: {line}")
        };
        let nr = generation == "nr";
        let class = match (nr, direction) {
            (true, "UL") => RrcClass::Nr(NrClass::UlDcch),
            (true, _) => RrcClass::Nr(NrClass::DlDcch),
            (false, "UL") => RrcClass::Lte(LteClass::UlDcch),
            (false, _) => RrcClass::Lte(LteClass::DlDcch),
        };
        let id = RrcMessage { class, message: number.parse().unwrap() };
        let message = CopiedMessage::from_trigger(id, nr).unwrap_or_else(|| panic!("{name}"));
        let octets: String = message.octets(nr).iter().map(|octet| format!("{octet:02x}")).collect();
        assert_eq!(octets, hex, "{name}");
        let expected = if direction == "UL" { rc::Direction::Incoming } else { rc::Direction::Outgoing };
        assert_eq!(message.direction(), expected, "{name}");
        seen.push((message, nr));
    }
    let all = [true, false].into_iter().flat_map(|nr| CopiedMessage::ALL.map(|it| (it, nr)));
    assert!(all.clone().all(|it| seen.contains(&it)) && seen.len() == all.count(), "{seen:?}");
}
