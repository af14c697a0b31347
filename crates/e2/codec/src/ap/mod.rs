//! Application protocols of the 3GPP interfaces between nodes: S1AP, X2AP, NGAP, XnAP, F1AP, E1AP.
//!
//! All of them have the same envelope: a CHOICE of three message types, a procedure code, a criticality, and a list
//! of information elements. Each element has an identifier, a criticality, and its value as an open type. [`Message`]
//! is that envelope; values are decoded for a few elements only ([`Known`]). [`messages`] creates the messages that
//! ranlab's base stations send, complete with all mandatory elements.

pub mod messages;
mod names;

use crate::e2ap::{Criticality, TriggeringMessage, Version};
use crate::enumerated;
use crate::per::{Codec, DecodeError, DecodeFault, EncodeError, Int, Reader, Source, Unconstrained, Writer};
use bytes::Bytes;

/// Version passed to the PER engine, which requires one. The application protocols do not depend on it.
const ANY_VERSION: Version = Version::V2_03;

enumerated! {
    /// An interface between nodes, which determines the protocol (`NI-Type` of E2SM-NI).
    Interface "NI-Type" {
        S1 "s1", "Between eNB and MME: S1AP, TS 36.413.",
        X2 "x2", "Between eNBs and en-gNBs: X2AP, TS 36.423.",
        Ng "ng", "Between NG-RAN node and AMF: NGAP, TS 38.413.",
        Xn "xn", "Between NG-RAN nodes: XnAP, TS 38.423.",
        F1 "f1", "Between CU and DU: F1AP, TS 38.473.",
        E1 "e1", "Between CU-CP and CU-UP: E1AP, TS 37.483.",
    }
}

/// Type of an information element whose value is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// A number from 0 to this maximum.
    Number(u64),
    /// Bytes of another protocol.
    Octets,
}

/// A decoded value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A value of [`Known::Number`].
    Number(u64),
    /// A value of [`Known::Octets`].
    Octets(Bytes),
}

const ID_12: Known = Known::Number(4_095);
const ID_24: Known = Known::Number(0xff_ffff);
const ID_32: Known = Known::Number(0xffff_ffff);
const ID_40: Known = Known::Number(0xff_ffff_ffff);

/// Identifier, short name and type of an element.
type Element = (u16, &'static str, Known);

impl Interface {
    /// All interfaces.
    pub const ALL: [Self; 6] = [Self::S1, Self::X2, Self::Ng, Self::Xn, Self::F1, Self::E1];

    /// Returns the elementary procedure of a code, or `None` for a code that release 18 does not use.
    pub fn procedure(self, code: u8) -> Option<&'static str> {
        let names = match self {
            Self::S1 => names::S1AP,
            Self::X2 => names::X2AP,
            Self::Ng => names::NGAP,
            Self::Xn => names::XNAP,
            Self::F1 => names::F1AP,
            Self::E1 => names::E1AP,
        };
        names.get(usize::from(code)).copied().filter(|name| !name.is_empty())
    }

    /// Returns the elements that identify a UE, starting with that of the RAN node (or the CU).
    pub const fn ue_ids(self) -> &'static [Element] {
        match self {
            Self::S1 => &[(8, "enb", ID_24), (0, "mme", ID_32)],
            Self::X2 => &[
                (10, "old", ID_12),
                (9, "new", ID_12),
                (111, "menb", ID_12),
                (112, "senb", ID_12),
                (207, "sgnb", ID_32),
            ],
            Self::Ng => &[(85, "ran", ID_32), (10, "amf", ID_40)],
            Self::Xn => {
                &[(73, "source", ID_32), (79, "target", ID_32), (29, "old", ID_32), (27, "new", ID_32)]
            }
            Self::F1 => &[(40, "cu", ID_32), (41, "du", ID_32)],
            Self::E1 => &[(2, "cu-cp", ID_32), (3, "cu-up", ID_32)],
        }
    }

    /// Returns the type of an element's value, or `None` if it is unknown. Of an unknown value, only the presence can
    /// be tested.
    pub fn known(self, id: u16) -> Option<Known> {
        let nas = match self {
            Self::S1 => id == 26,
            Self::Ng => id == 38,
            _ => false,
        };
        let of_ue = || self.ue_ids().iter().find(|it| it.0 == id).map(|it| it.2);
        if nas { Some(Known::Octets) } else { of_ue() }
    }

    /// Returns whether the CHOICE of message types has an alternative for extensions instead of an extension mark.
    const fn is_closed(self) -> bool {
        matches!(self, Self::F1)
    }
}

/// An information element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ie {
    /// ProtocolIE-ID.
    pub id: u16,
    /// Handling if the element is not comprehended.
    pub criticality: Criticality,
    /// Encoded value.
    pub value: Bytes,
}

/// A message of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Interface.
    pub interface: Interface,
    /// Message type within its procedure.
    pub kind: TriggeringMessage,
    /// Procedure code.
    pub procedure: u8,
    /// Handling if the procedure is not comprehended.
    pub criticality: Criticality,
    /// Elements in the order of the encoding.
    pub ies: Vec<Ie>,
}

impl Message {
    /// Encodes the PDU.
    ///
    /// # Errors
    /// Fails if there are more elements than a message may have (an error of the caller).
    pub fn to_octets(&self) -> Result<Bytes, EncodeError> {
        let mut w = Writer::new(Vec::with_capacity(64), ANY_VERSION);
        if !self.interface.is_closed() {
            w.bit(false);
        }
        w.bits(self.kind as u64, 2);
        w.constrained("procedureCode", self.procedure.into(), 0, 255)?;
        w.bits(self.criticality as u64, 2);
        w.open(|w| {
            w.bit(false);
            w.constrained("number of information elements", self.ies.len() as u64, 0, 65_535)?;
            for ie in &self.ies {
                w.constrained("ProtocolIE-ID", ie.id.into(), 0, 65_535)?;
                w.bits(ie.criticality as u64, 2);
                w.octets(&ie.value);
            }
            Ok(())
        })?;
        Ok(w.into_vec().into())
    }

    /// Decodes a PDU. The values of elements are slices of it.
    ///
    /// # Errors
    /// Fails if the PDU does not belong to this interface (an error of the sender).
    pub fn read(interface: Interface, pdu: &Bytes) -> Result<Self, DecodeError> {
        let mut r = Reader::new(pdu.clone(), ANY_VERSION);
        let (_, kind) = match interface.is_closed() {
            true => r.index(4, 0, false)?,
            false => r.index(3, 0, true)?,
        };
        let kind = match kind {
            0 => TriggeringMessage::Initiating,
            1 => TriggeringMessage::Successful,
            2 => TriggeringMessage::Unsuccessful,
            other => return Err(r.fault(DecodeFault::UnknownAlternative(other))),
        };
        let procedure = Int::<0, 255>::decode(&mut r).map_err(|e| e.within("procedureCode"))?;
        let (_, criticality) = r.index(3, 0, false).map_err(|e| e.within("criticality"))?;
        let criticality = criticality_of(criticality);
        let ies = r.open(elements).map_err(|e| e.within("protocolIEs"))?;
        if r.remaining() > 0 {
            return Err(r.fault(DecodeFault::InvalidLength));
        }
        Ok(Self { interface, kind, procedure, criticality, ies })
    }

    /// Returns the name of the elementary procedure, or its code if it has no name.
    pub fn procedure_name(&self) -> String {
        let name = self.interface.procedure(self.procedure);
        name.map_or_else(|| format!("#{}", self.procedure), str::to_owned)
    }

    /// Returns the first element with this identifier.
    pub fn ie(&self, id: u16) -> Option<&Ie> {
        self.ies.iter().find(|ie| ie.id == id)
    }

    /// Returns the value of an element, or `None` if it is missing, not known, or invalid.
    pub fn value(&self, id: u16) -> Option<Value> {
        let ie = self.ie(id)?;
        let known = self.interface.known(id)?;
        let mut r = Reader::new(ie.value.clone(), ANY_VERSION);
        match known {
            Known::Number(most) => r.constrained(0, most).ok().map(Value::Number),
            Known::Octets => <Unconstrained as Codec<Bytes>>::decode(&mut r).ok().map(Value::Octets),
        }
    }

    /// Returns the identifiers of a UE in the message: short names and numbers.
    pub fn ue_ids(&self) -> Vec<(&'static str, u64)> {
        let one = |(id, name, _): &Element| match self.value(*id)? {
            Value::Number(number) => Some((*name, number)),
            Value::Octets(_) => None,
        };
        let named: Vec<_> = self.interface.ue_ids().iter().filter_map(one).collect();
        if named.is_empty() { self.pair().unwrap_or_default() } else { named }
    }

    /// Returns the two UE identifiers in the element "UE NGAP IDs" of an NGAP release command.
    fn pair(&self) -> Option<Vec<(&'static str, u64)>> {
        const UE_NGAP_IDS: u16 = 114;
        let ie = self.ie(UE_NGAP_IDS).filter(|_| self.interface == Interface::Ng)?;
        let mut r = Reader::new(ie.value.clone(), ANY_VERSION);
        let read = |r: &mut Reader, most| r.constrained(0, most).ok();
        match r.index(3, 0, false).ok()? {
            (_, 0) => {
                // Additions and extensions follow at the end and are not read.
                let _ = (r.extended().ok()?, r.flag().ok()?);
                let amf = read(&mut r, 0xff_ffff_ffff)?;
                let ran = read(&mut r, 0xffff_ffff)?;
                Some(vec![("ran", ran), ("amf", amf)])
            }
            (_, 1) => Some(vec![("amf", read(&mut r, 0xff_ffff_ffff)?)]),
            _ => None,
        }
    }
}

const fn criticality_of(index: u64) -> Criticality {
    match index {
        0 => Criticality::Reject,
        1 => Criticality::Ignore,
        _ => Criticality::Notify,
    }
}

fn elements(r: &mut Reader) -> Result<Vec<Ie>, DecodeError> {
    let extended = r.extended()?;
    // Each element takes at least four bytes, so the count is bounded by the length.
    let count = r.constrained(0, 65_535)?;
    let mut ies = Vec::new();
    for _ in 0..count {
        let (id, criticality) = r.ie_header()?;
        let value = r.open(|r| Ok(r.rest()))?;
        ies.push(Ie { id, criticality: criticality_of(criticality.into()), value });
    }
    if extended {
        r.additions(0, |_, _| Ok(()))?;
    }
    Ok(ies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn procedure_names_match_codes() {
        for (interface, code, name) in [
            (Interface::S1, 23, "UEContextRelease"),
            (Interface::X2, 5, "UEContextRelease"),
            (Interface::Ng, 80, "BroadcastSessionTransport"),
            (Interface::Ng, 15, "InitialUEMessage"),
            (Interface::Xn, 6, "UEContextRelease"),
            (Interface::F1, 5, "UEContextSetup"),
            (Interface::E1, 8, "BearerContextSetup"),
        ] {
            assert_eq!(interface.procedure(code), Some(name));
        }
        assert_eq!((Interface::F1.procedure(9), Interface::E1.procedure(40)), (None, None));
    }
}
