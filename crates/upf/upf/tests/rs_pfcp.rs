//! Uses rs-pfcp as an oracle, with random messages of every type. rs-pfcp must decode the messages of this crate, and this crate must
//! decode the messages of rs-pfcp.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use ranlab_upf::pfcp::{self, Header, Message, Pdu, Random};
use std::collections::BTreeMap;

const SEEDS: u64 = 60;

/// Compares both directions for one message. Returns the difference as an error.
fn compare(message_type: u8, seed: u64) -> Result<(), String> {
    let mut random = Random::new(seed);
    let message = Message::random(message_type, &mut random).unwrap();
    let seid = Header::needs_seid(message_type).then(|| random.draw());
    let pdu = Pdu::new(message, seid, random.draw() as u32 & pfcp::MAX_SEQUENCE);
    let mut octets = Vec::new();
    pdu.encode(&mut octets).unwrap();
    let theirs = rs_pfcp::message::parse(&octets)
        .map_err(|error| format!("rs-pfcp cannot decode our message: {error}"))?;
    if *theirs.sequence() != pdu.header.sequence || theirs.seid().map(|seid| seid.0) != pdu.header.seid {
        return Err(format!(
            "rs-pfcp decodes sequence number {:?} and SEID {:?}",
            theirs.sequence(),
            theirs.seid()
        ));
    }
    let again = theirs.marshal();
    let (read, _) =
        pfcp::decode(&again).map_err(|error| format!("we cannot decode the message of rs-pfcp: {error}"))?;
    if read != pdu {
        return Err(format!("rs-pfcp encodes another message:\n{read:?}\n{pdu:?}"));
    }
    Ok(())
}

/// Returns whether a difference is known. rs-pfcp 0.5 is stricter than the standard in two cases. A refused establishment needs no F-SEID
/// (§7.5.3, table 7.5.3-1), and an application whose descriptions are deleted has no PFD Context (table 7.4.3.1-2). rs-pfcp also writes
/// some PFD Management requests with a length beyond their end.
fn known(message_type: u8, fault: &str) -> bool {
    match message_type {
        pfcp::message_type::SESSION_ESTABLISHMENT_RESPONSE => fault.contains("Missing mandatory Fseid IE"),
        pfcp::message_type::PFD_MANAGEMENT_REQUEST => {
            fault.contains("Missing mandatory PfdContext IE")
                || fault.contains("we cannot decode the message of rs-pfcp: the header announces")
        }
        _ => false,
    }
}

#[test]
fn random_messages_agree_in_both_directions() {
    let mut faults: BTreeMap<&str, (u32, String)> = BTreeMap::new();
    let mut agreed = 0;
    for &(message_type, name) in Message::TYPES {
        for seed in 0..SEEDS {
            match compare(message_type, seed) {
                Ok(()) => agreed += 1,
                Err(fault) if known(message_type, &fault) => {}
                Err(fault) => faults.entry(name).or_insert((0, fault)).0 += 1,
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(agreed > Message::TYPES.len() as u64 * SEEDS * 9 / 10, "{agreed} agreed");
}
