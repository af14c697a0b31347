//! Application protocols of 3GPP's interfaces between nodes: S1AP, X2AP, NGAP, XnAP, F1AP, E1AP.
//!
//! All of them have one envelope: a CHOICE of three kinds of message, a procedure code, a criticality, and a list of
//! information elements, each with a number, a criticality and its value as an open type. [`Message`] is that envelope;
//! what an element's value says is known of few ([`Known`]). [`messages`] makes those messages that this project's base
//! stations send, whole, with all their mandatory elements.

pub mod messages;
mod names;

use crate::e2ap::{Criticality, TriggeringMessage, Version};
use crate::enumerated;
use crate::per::{Codec, DecodeError, DecodeFault, EncodeError, Free, Int, Reader, Source, Writer};
use bytes::Bytes;

/// The application protocols do not depend on E2AP's version; the engine asks for one all the same.
const ANY_VERSION: Version = Version::V2_03;

enumerated! {
    /// An interface between nodes, and with it the protocol on it (`NI-Type` of E2SM-NI).
    Interface "NI-Type" {
        S1 "s1", "Between eNB and MME: S1AP, TS 36.413.",
        X2 "x2", "Between eNBs and en-gNBs: X2AP, TS 36.423.",
        Ng "ng", "Between NG-RAN node and AMF: NGAP, TS 38.413.",
        Xn "xn", "Between NG-RAN nodes: XnAP, TS 38.423.",
        F1 "f1", "Between CU and DU: F1AP, TS 38.473.",
        E1 "e1", "Between CU-CP and CU-UP: E1AP, TS 37.483.",
    }
}

/// What is known of an information element's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// A number from 0 to this.
    Number(u64),
    /// Octets of another protocol.
    Octets,
}

/// A value that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Of [`Known::Number`].
    Number(u64),
    /// Of [`Known::Octets`].
    Octets(Bytes),
}

const ID_12: Known = Known::Number(4_095);
const ID_24: Known = Known::Number(0xff_ffff);
const ID_32: Known = Known::Number(0xffff_ffff);
const ID_40: Known = Known::Number(0xff_ffff_ffff);

/// Number, short name and value of an element.
type Element = (u16, &'static str, Known);

impl Interface {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::S1, Self::X2, Self::Ng, Self::Xn, Self::F1, Self::E1];

    /// The elementary procedure of a code; `None` for a code that release 18 does not use.
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

    /// The elements that name a UE, that of the RAN node (or of the CU) first.
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

    /// What is known of an element's value; `None`: nothing, it can only be there or not.
    pub fn known(self, id: u16) -> Option<Known> {
        let nas = match self {
            Self::S1 => id == 26,
            Self::Ng => id == 38,
            _ => false,
        };
        let of_ue = || self.ue_ids().iter().find(|it| it.0 == id).map(|it| it.2);
        if nas { Some(Known::Octets) } else { of_ue() }
    }

    /// Whether the CHOICE of the kinds of message has an alternative instead of an extension mark.
    const fn is_closed(self) -> bool {
        matches!(self, Self::F1)
    }
}

/// An information element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ie {
    /// ProtocolIE-ID.
    pub id: u16,
    /// What to do where it is not comprehended.
    pub criticality: Criticality,
    /// Its value, encoded.
    pub value: Bytes,
}

/// A message of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Of which.
    pub interface: Interface,
    /// What it is to its procedure.
    pub kind: TriggeringMessage,
    /// Procedure code.
    pub procedure: u8,
    /// What to do where the procedure is not comprehended.
    pub criticality: Criticality,
    /// Its elements, in the order of the wire.
    pub ies: Vec<Ie>,
}

impl Message {
    /// The PDU.
    ///
    /// # Errors
    /// More elements than a message can have (the caller's fault).
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

    /// The message in a PDU; elements' values are slices of it.
    ///
    /// # Errors
    /// No PDU of that interface (the sender's fault).
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

    /// The elementary procedure, or its code where it has no name.
    pub fn procedure_name(&self) -> String {
        let name = self.interface.procedure(self.procedure);
        name.map_or_else(|| format!("#{}", self.procedure), str::to_owned)
    }

    /// The first element of this number.
    pub fn ie(&self, id: u16) -> Option<&Ie> {
        self.ies.iter().find(|ie| ie.id == id)
    }

    /// An element's value; `None` if it is not there, not known or no such value.
    pub fn value(&self, id: u16) -> Option<Value> {
        let (ie, known) = (self.ie(id)?, self.interface.known(id)?);
        let mut r = Reader::new(ie.value.clone(), ANY_VERSION);
        match known {
            Known::Number(most) => r.constrained(0, most).ok().map(Value::Number),
            Known::Octets => <Free as Codec<Bytes>>::decode(&mut r).ok().map(Value::Octets),
        }
    }

    /// What names a UE in it: short names and numbers.
    pub fn ue_ids(&self) -> Vec<(&'static str, u64)> {
        let one = |(id, name, _): &Element| match self.value(*id)? {
            Value::Number(number) => Some((*name, number)),
            Value::Octets(_) => None,
        };
        let named: Vec<_> = self.interface.ue_ids().iter().filter_map(one).collect();
        if named.is_empty() { self.pair().unwrap_or_default() } else { named }
    }

    /// The identities of a UE in one element: NGAP's UE NGAP IDs of a release command.
    fn pair(&self) -> Option<Vec<(&'static str, u64)>> {
        const UE_NGAP_IDS: u16 = 114;
        let ie = self.ie(UE_NGAP_IDS).filter(|_| self.interface == Interface::Ng)?;
        let mut r = Reader::new(ie.value.clone(), ANY_VERSION);
        let read = |r: &mut Reader, most| r.constrained(0, most).ok();
        match r.index(3, 0, false).ok()? {
            (_, 0) => {
                // Neither additions nor extensions are looked at: they come behind.
                let _ = (r.extended().ok()?, r.flag().ok()?);
                let (amf, ran) = (read(&mut r, 0xff_ffff_ffff)?, read(&mut r, 0xffff_ffff)?);
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
    // Each costs four octets at least: there are no more of them than there are octets.
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
    fn names_are_where_the_codes_are() {
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
