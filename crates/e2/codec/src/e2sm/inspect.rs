//! Operations of service models that only test equipment needs: dissection, other encodings, random indications.
//!
//! [`INSPECTED`](super::INSPECTED) lists them, separately from [`MODELS`](super::MODELS). A program that uses only
//! [`MODELS`](super::MODELS), such as a RIC, then does not contain their code.

use std::fmt;

use bytes::Bytes;

use super::{Encoding, Form, Model, Octets, ServiceModel, SmError, Table, inspected};

/// Type of an octet string of a service model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Payload {
    /// Event trigger definition.
    Trigger,
    /// Action definition.
    Action,
    /// Indication header.
    Header,
    /// Indication message.
    Message,
    /// Control header.
    ControlHeader,
    /// Control message.
    Control,
    /// Control outcome.
    Outcome,
}

/// A [`Model`] whose octet strings can be dissected, converted and generated. Every [`ServiceModel`] is one.
pub trait Inspect: Model {
    /// Decodes an octet string to named values. Fails with [`SmError::Absent`] if the model has no names for it.
    fn payload(&self, payload: Payload, encoding: Encoding, octets: &Bytes) -> Result<Form, SmError>;
    /// Converts an indication message to another encoding.
    fn transcode(&self, from: Encoding, to: Encoding, message: &Bytes) -> Result<Bytes, SmError>;
    /// Returns header and message of [`ServiceModel::sample`], and the corresponding table.
    fn sample(&self, encoding: Encoding, seed: u64) -> Result<(Bytes, Bytes, Table), SmError>;
}

impl<M: ServiceModel> Inspect for M {
    fn payload(&self, payload: Payload, encoding: Encoding, octets: &Bytes) -> Result<Form, SmError> {
        fn form<T: Octets>(encoding: Encoding, octets: &Bytes) -> Result<Form, SmError> {
            T::decode_as(encoding, octets)?.to_form()
        }
        match payload {
            Payload::Trigger => form::<M::Trigger>(encoding, octets),
            Payload::Action => form::<M::Action>(encoding, octets),
            Payload::Header => form::<M::Header>(encoding, octets),
            Payload::Message => form::<M::Message>(encoding, octets),
            Payload::ControlHeader => form::<M::ControlHeader>(encoding, octets),
            Payload::Control => form::<M::Control>(encoding, octets),
            Payload::Outcome => form::<M::Outcome>(encoding, octets),
        }
    }

    fn transcode(&self, from: Encoding, to: Encoding, message: &Bytes) -> Result<Bytes, SmError> {
        M::Message::decode_as(from, message)?.to_octets(to)
    }

    fn sample(&self, encoding: Encoding, seed: u64) -> Result<(Bytes, Bytes, Table), SmError> {
        let (header, message) = M::sample(seed);
        let mut table = Table::default();
        M::tabulate(&header, &message, &mut table);
        Ok((header.to_octets(encoding)?, message.to_octets(encoding)?, table))
    }
}

/// Returns the model of [`inspected`] with this model's OID.
pub fn inspect(model: &dyn Model) -> Option<&'static dyn Inspect> {
    inspected().find(|it| it.oid() == model.oid())
}

impl fmt::Display for dyn Inspect + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
