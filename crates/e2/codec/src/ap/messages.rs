//! Messages about a UE that ranlab's base stations send and receive. Their mandatory elements follow from the radio model and the UE's
//! identities. Each message is complete; optional elements are omitted.

use super::{ANY_VERSION, Ie, Interface, Message};
use crate::e2ap::{Criticality, Plmn, TriggeringMessage};
use crate::e2sm::common::NrCgi;
use crate::per::{EncodeError, Writer};

use Criticality::{Ignore, Reject};
use TriggeringMessage::{Initiating, Successful};

/// `user-inactivity` of NGAP's radio network causes (TS 38.413 §9.3.1.2).
const USER_INACTIVITY: u64 = 20;
/// `normal-release` of F1AP's radio network causes (TS 38.473 §9.3.1.2).
const NORMAL_RELEASE: u64 = 10;
/// `mo-Signalling` of RRC's establishment causes (TS 38.413 §9.3.1.111).
const MO_SIGNALLING: u64 = 3;
/// Bytes of a subscriber's number within its network, two digits per byte (TS 23.003 §2.2).
const MSIN_OCTETS: usize = 5;

type Result<T = Message> = std::result::Result<T, EncodeError>;
type Put<'a> = &'a dyn Fn(&mut Writer) -> Result<()>;

fn message(
    interface: Interface,
    procedure: u8,
    kind: TriggeringMessage,
    criticality: Criticality,
    ies: &[(u16, Criticality, Put<'_>)],
) -> Result {
    let ie = |&(id, criticality, put): &(u16, Criticality, Put<'_>)| {
        let mut w = Writer::new(Vec::new(), ANY_VERSION);
        put(&mut w)?;
        Ok(Ie { id, criticality, value: w.into_vec().into() })
    };
    let ies = ies.iter().map(ie).collect::<Result<_>>()?;
    Ok(Message { interface, kind, procedure, criticality, ies })
}

/// Identifiers of a UE between AMF and NG-RAN node: 40 and 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NgIds {
    /// AMF-UE-NGAP-ID.
    pub amf: u64,
    /// RAN-UE-NGAP-ID.
    pub ran: u32,
}

/// Identifiers of a UE between CU and DU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct F1Ids {
    /// gNB-CU-UE-F1AP-ID.
    pub cu: u32,
    /// gNB-DU-UE-F1AP-ID.
    pub du: u32,
}

fn id_32(w: &mut Writer, id: u32) -> Result<()> {
    w.constrained("UE's identifier", id.into(), 0, u32::MAX.into())
}

fn id_40(w: &mut Writer, id: u64) -> Result<()> {
    w.constrained("AMF-UE-NGAP-ID", id, 0, 0xff_ffff_ffff)
}

/// Writes the preamble of an extensible SEQUENCE: no additions, and none of the `optional` optional components.
fn plain(w: &mut Writer, optional: u32) {
    w.bits(0, 1 + optional);
}

fn plmn(w: &mut Writer, plmn: Plmn) {
    w.align();
    w.octets_raw(&plmn.0);
}

fn nr_cell(w: &mut Writer, cell: &NrCgi) {
    plain(w, 1);
    plmn(w, cell.plmn);
    w.align();
    w.bits(cell.cell, 36);
}

/// Writes a cause: the first alternative of a CHOICE without an extension mark, then a value of an extensible ENUMERATED of `bits` bits.
fn radio_cause(w: &mut Writer, value: u64, bits: u32) {
    w.bits(0, 3);
    w.bit(false);
    w.bits(value, bits);
}

/// Returns the registration request of a UE without a security context (TS 24.501 §8.2.6): an initial registration
/// with its concealed identity under the null scheme.
fn registration_request(network: Plmn, subscriber: u32) -> Vec<u8> {
    const PLAIN_MM: [u8; 3] = [0x7e, 0x00, 0x41];
    // No key set, follow-on request pending, initial registration.
    const INITIAL: u8 = 0x79;
    // Routing indicator 0, null scheme, key 0 of the home network.
    const NULL_SCHEME: [u8; 4] = [0xf0, 0xff, 0x00, 0x00];
    const SUCI: u8 = 0x01;
    let digits = format!("{subscriber:010}");
    let number = |digit: &u8| digit - b'0';
    let pair = |pair: &[u8]| pair.last().map_or(0xf0, number) << 4 | pair.first().map_or(0x0f, number);
    let identity: Vec<u8> = [SUCI]
        .into_iter()
        .chain(network.nas_octets())
        .chain(NULL_SCHEME)
        .chain(digits.as_bytes().chunks(2).map(pair).take(MSIN_OCTETS))
        .collect();
    let mut octets = PLAIN_MM.to_vec();
    octets.push(INITIAL);
    octets.extend((identity.len() as u16).to_be_bytes());
    octets.extend(identity);
    octets
}

/// Returns NGAP INITIAL UE MESSAGE (TS 38.413 §9.2.5.1): a UE without a context requests its registration. `subscriber` is the UE's number
/// within its home network. `area` is the tracking area code (24 bits).
///
/// # Errors
/// Never fails for identities within their ranges.
pub fn initial_ue_message(ran: u32, home: Plmn, subscriber: u32, cell: &NrCgi, area: u32) -> Result {
    const USER_LOCATION_NR: u64 = 1;
    let nas = registration_request(home, subscriber);
    let location = |w: &mut Writer| {
        w.bits(USER_LOCATION_NR, 2);
        plain(w, 2);
        nr_cell(w, cell);
        plain(w, 1);
        plmn(w, cell.plmn);
        w.octets_raw(&area.to_be_bytes()[1..]);
        Ok(())
    };
    let cause = |w: &mut Writer| {
        w.bit(false);
        w.bits(MO_SIGNALLING, 4);
        Ok(())
    };
    let nas_pdu = |w: &mut Writer| {
        w.octets(&nas);
        Ok(())
    };
    message(
        Interface::Ng,
        15,
        Initiating,
        Ignore,
        &[
            (85, Reject, &|w| id_32(w, ran)),
            (38, Reject, &nas_pdu),
            (121, Reject, &location),
            (90, Ignore, &cause),
        ],
    )
}

/// Returns NGAP UE CONTEXT RELEASE REQUEST (TS 38.413 §9.2.2.4): the node requests the release of an inactive UE.
///
/// # Errors
/// Fails for an identifier of more than 40 bits.
pub fn ng_release_request(ue: NgIds) -> Result {
    message(
        Interface::Ng,
        42,
        Initiating,
        Ignore,
        &[(10, Reject, &|w| id_40(w, ue.amf)), (85, Reject, &|w| id_32(w, ue.ran)), (15, Ignore, &inactive)],
    )
}

fn inactive(w: &mut Writer) -> Result<()> {
    radio_cause(w, USER_INACTIVITY, 6);
    Ok(())
}

/// Returns NGAP UE CONTEXT RELEASE COMMAND (TS 38.413 §9.2.2.5), sent by the AMF.
///
/// # Errors
/// Fails for an identifier of more than 40 bits.
pub fn ng_release_command(ue: NgIds) -> Result {
    let pair = |w: &mut Writer| {
        w.bits(0, 2);
        plain(w, 1);
        id_40(w, ue.amf)?;
        id_32(w, ue.ran)
    };
    message(Interface::Ng, 41, Initiating, Reject, &[(114, Reject, &pair), (15, Ignore, &inactive)])
}

/// Returns NGAP UE CONTEXT RELEASE COMPLETE (TS 38.413 §9.2.2.6).
///
/// # Errors
/// Fails for an identifier of more than 40 bits.
pub fn ng_release_complete(ue: NgIds) -> Result {
    message(
        Interface::Ng,
        41,
        Successful,
        Reject,
        &[(10, Ignore, &|w| id_40(w, ue.amf)), (85, Ignore, &|w| id_32(w, ue.ran))],
    )
}

/// Returns XnAP UE CONTEXT RELEASE (TS 38.423 §9.1.1.5): after a handover, the target allows the source to release
/// the UE.
///
/// # Errors
/// Never fails.
pub fn xn_release(source: u32, target: u32) -> Result {
    message(
        Interface::Xn,
        6,
        Initiating,
        Reject,
        &[(73, Reject, &|w| id_32(w, source)), (79, Reject, &|w| id_32(w, target))],
    )
}

/// Returns F1AP UE CONTEXT SETUP REQUEST (TS 38.473 §9.2.2.1) for a UE in its primary cell, without RRC contents.
///
/// # Errors
/// Never fails.
pub fn f1_setup_request(cu: u32, cell: &NrCgi) -> Result {
    let primary = |w: &mut Writer| {
        nr_cell(w, cell);
        Ok(())
    };
    // Each of the four components of the RRC information is optional, and all are absent here.
    // ServCellIndex 0: one extension bit and five bits for the values 0 to 31.
    let first = |w: &mut Writer| {
        w.bits(0, 6);
        Ok(())
    };
    let nothing = |w: &mut Writer| {
        plain(w, 4);
        Ok(())
    };
    message(
        Interface::F1,
        5,
        Initiating,
        Reject,
        &[
            (40, Reject, &|w| id_32(w, cu)),
            (63, Reject, &primary),
            (107, Reject, &first),
            (9, Reject, &nothing),
        ],
    )
}

/// Returns F1AP UE CONTEXT SETUP RESPONSE (TS 38.473 §9.2.2.2): cell group 0 without configuration (TS 38.331
/// `CellGroupConfig`), and the C-RNTI.
///
/// # Errors
/// Never fails.
pub fn f1_setup_response(ue: F1Ids, rnti: u16) -> Result {
    // RRC CellGroupConfig in unaligned PER: seven absent parts, group 0.
    const EMPTY_GROUP: [u8; 2] = [0, 0];
    let group = |w: &mut Writer| {
        plain(w, 3);
        w.octets(&EMPTY_GROUP);
        Ok(())
    };
    let c_rnti = |w: &mut Writer| {
        w.bit(false);
        w.constrained("C-RNTI", rnti.into(), 0, 65_535)
    };
    message(
        Interface::F1,
        5,
        Successful,
        Reject,
        &[
            (40, Reject, &|w| id_32(w, ue.cu)),
            (41, Reject, &|w| id_32(w, ue.du)),
            (39, Reject, &group),
            (95, Ignore, &c_rnti),
        ],
    )
}

/// Returns F1AP UE CONTEXT RELEASE COMMAND (TS 38.473 §9.2.2.4).
///
/// # Errors
/// Never fails.
pub fn f1_release_command(ue: F1Ids) -> Result {
    let cause = |w: &mut Writer| {
        radio_cause(w, NORMAL_RELEASE, 4);
        Ok(())
    };
    message(
        Interface::F1,
        6,
        Initiating,
        Reject,
        &[(40, Reject, &|w| id_32(w, ue.cu)), (41, Reject, &|w| id_32(w, ue.du)), (0, Ignore, &cause)],
    )
}

/// Returns F1AP UE CONTEXT RELEASE COMPLETE (TS 38.473 §9.2.2.5).
///
/// # Errors
/// Never fails.
pub fn f1_release_complete(ue: F1Ids) -> Result {
    message(
        Interface::F1,
        6,
        Successful,
        Reject,
        &[(40, Reject, &|w| id_32(w, ue.cu)), (41, Reject, &|w| id_32(w, ue.du))],
    )
}

/// Returns one message of each type, with identities derived from a number, for tests and samples.
///
/// # Errors
/// Never fails.
pub fn samples(seed: u64) -> Result<Vec<Message>> {
    let number = seed as u32;
    let ng = NgIds { amf: seed & 0xff_ffff_ffff, ran: number };
    let f1 = F1Ids { cu: number, du: number / 2 };
    let home = Plmn::new(1, 1, 2);
    let cell = NrCgi { plmn: home, cell: seed & 0xf_ffff_ffff };
    Ok(vec![
        initial_ue_message(number, home, number, &cell, number & 0xff_ffff)?,
        ng_release_request(ng)?,
        ng_release_command(ng)?,
        ng_release_complete(ng)?,
        xn_release(number, number / 2)?,
        f1_setup_request(number, &cell)?,
        f1_setup_response(f1, seed as u16)?,
        f1_release_command(f1)?,
        f1_release_complete(f1)?,
    ])
}
