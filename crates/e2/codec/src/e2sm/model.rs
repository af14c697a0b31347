//! Service models: [`ServiceModel`] for code that uses a specific model, [`Model`] for code that works with any.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;

use crate::e2ap::{GlobalE2NodeId, RanFunctionItem, RicSubscriptionDetails};
use crate::per::Form;

use super::{Column, Context, Encoding, Octets, Offer, SmError, Stamp, Table, by_oid, models, names};

/// A service model: a type without values that defines the octet strings of a RAN function.
///
/// Octet strings that a model does not have are [`Infallible`](std::convert::Infallible) (an action definition, a
/// control) or `()` (an empty header). The same trait serves out-of-tree models; those of this crate are in
/// [`MODELS`](super::MODELS).
pub trait ServiceModel: Sync + 'static {
    /// Name: short, lower case.
    const NAME: &'static str;
    /// Object identifier.
    const OID: &'static str;
    /// Other object identifiers that some nodes use.
    const OTHER_OIDS: &'static [&'static str] = &[];
    /// Usual RAN function id. Functions are selected by OID.
    const DEFAULT_FUNCTION_ID: u16;
    /// RAN function definition.
    const DEFINITION: &'static [u8];
    /// RAN function revision.
    const REVISION: u16;
    /// Whether the model is offered and monitored by default, because known controllers support it. Some controllers
    /// abort on a function that they do not know.
    const CUSTOMARY: bool;
    /// Whether functions of the model echo controls. ranlab measures delays with echoes and recognises its own programs by them.
    const ECHOES: bool = false;

    /// Event trigger definition.
    type Trigger: Octets;
    /// Action definition, if actions have one.
    type Action: Octets;
    /// Indication header.
    type Header: Octets;
    /// Indication message, whose encodings are those of the model.
    type Message: Octets;
    /// Control header.
    type ControlHeader: Octets;
    /// Control message.
    type Control: Octets;
    /// Control outcome.
    type Outcome: Octets;

    /// Returns the trigger for a report every `period`. Fails with [`SmError::Period`] if the period is out of range,
    /// and with [`SmError::Absent`] if the model has no periodic reports. A model that reports events returns a
    /// trigger for a choice of events, independently of the period.
    fn periodic(period: Duration) -> Result<Self::Trigger, SmError>;

    /// Returns the triggers that together request all data of a node every `period`. By default, this is the trigger of
    /// [`periodic`](Self::periodic); models that need several triggers override it. [`at`](Self::at) adapts them to a
    /// node.
    fn triggers(period: Duration) -> Result<Vec<Self::Trigger>, SmError> {
        Ok(vec![Self::periodic(period)?])
    }

    /// Adapts a trigger of [`triggers`](Self::triggers) to a RAN function of `node` with this definition, if the model's triggers name a
    /// node. Returns `None` if the function does not support the trigger. Any other trigger is returned unchanged.
    fn at(
        encoding: Encoding,
        trigger: &Bytes,
        node: &GlobalE2NodeId,
        definition: &Bytes,
    ) -> Result<Option<Bytes>, SmError> {
        let _ = (encoding, node, definition);
        Ok(Some(trigger.clone()))
    }

    /// Returns the report period of a trigger, or `None` if it is not periodic.
    fn period(trigger: &Self::Trigger) -> Option<Duration>;

    /// Returns the action definition that requests all data of a RAN function with this definition every `period`, or
    /// `None` if actions need no definition.
    fn action(definition: &Bytes, period: Duration) -> Result<Option<Self::Action>, SmError> {
        let _ = (definition, period);
        Ok(None)
    }

    /// Returns an action definition like [`action`](Self::action) for a subscription with this trigger. A model that
    /// reports events has a different action for each type of event.
    fn action_at(
        trigger: &Self::Trigger,
        definition: &Bytes,
        period: Duration,
    ) -> Result<Option<Self::Action>, SmError> {
        let _ = trigger;
        Self::action(definition, period)
    }

    /// Returns the capabilities in a RAN function definition: report styles with measurements, control actions,
    /// structures. Empty for a model whose functions all have the same capabilities.
    ///
    /// # Errors
    /// Fails if the bytes are not a definition of the model.
    fn offers(definition: &Bytes) -> Result<Vec<Offer>, SmError> {
        let _ = definition;
        Ok(Vec::new())
    }

    /// Returns the columns of the model's tables.
    fn columns() -> Vec<Column>;

    /// Appends the rows of an indication to `table`, and its timestamp if there is one.
    fn tabulate(header: &Self::Header, message: &Self::Message, table: &mut Table);

    /// Appends rows like [`tabulate`](Self::tabulate), for an indication of a known subscription.
    fn tabulate_in(context: &Context, header: &Self::Header, message: &Self::Message, table: &mut Table) {
        let _ = context;
        Self::tabulate(header, message, table);
    }

    /// Checks like [`check`](Self::check), for an indication of a known subscription.
    ///
    /// # Errors
    /// Fails like [`check`](Self::check).
    fn check_in(
        encoding: Encoding,
        context: &mut Context,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), SmError> {
        let _ = context;
        Self::check(encoding, header, message)
    }

    /// Checks whether bytes are an indication of the model that can be converted to rows completely. A model that can
    /// check this without decoding does so.
    ///
    /// # Errors
    /// Fails with [`SmError::LeftOut`] if only a part of it can be converted.
    fn check(encoding: Encoding, header: &[u8], message: &[u8]) -> Result<(), SmError> {
        Self::Header::decode_as(encoding, &Bytes::copy_from_slice(header))?;
        Self::Message::decode_as(encoding, &Bytes::copy_from_slice(message)).map(drop)
    }

    /// Checks whether the values of a control can be executed by base stations; controls that the model cannot check
    /// pass. Applied to controls built from named values, not to raw bytes.
    ///
    /// # Errors
    /// Fails with [`SmError::Order`], with the value and what is allowed.
    fn check_control(header: &Self::ControlHeader, control: &Self::Control) -> Result<(), SmError> {
        let _ = (header, control);
        Ok(())
    }

    /// Checks whether a RAN function with this definition offers the contents of a control. A definition that cannot be decoded, or that
    /// lists nothing, passes.
    ///
    /// # Errors
    /// Fails with [`SmError::NotOffered`], which lists the items that the function offers.
    fn check_offered(
        definition: &Bytes,
        header: &Self::ControlHeader,
        control: &Self::Control,
    ) -> Result<(), SmError> {
        let _ = (definition, header, control);
        Ok(())
    }

    /// Returns the parameters that a control sets, in a canonical notation. Two controls conflict if they share a parameter. The list is
    /// empty for a model whose controls never conflict. Returns `None` for a control that cannot be decoded; all such controls are treated
    /// as conflicting with each other.
    fn control_targets(encoding: Encoding, header: &Bytes, message: &Bytes) -> Option<Vec<String>> {
        let _ = (encoding, header, message);
        Some(Vec::new())
    }

    /// Returns the sender's timestamp of an indication without decoding all of it, in microseconds since the Unix
    /// epoch. Returns `None` if the model has no timestamp or the bytes do not belong to it.
    fn tstamp_us(encoding: Encoding, header: &[u8], message: &[u8]) -> Option<i64> {
        let _ = (encoding, header, message);
        None
    }

    /// Returns the timestamp of an indication and its meaning. Returns `None` like [`tstamp_us`](Self::tstamp_us).
    fn stamp(encoding: Encoding, context: &mut Context, header: &[u8], message: &[u8]) -> Option<Stamp> {
        let _ = context;
        Self::tstamp_us(encoding, header, message).map(Stamp::sent)
    }

    /// Returns a random valid indication; the same seed yields the same one. For tests, fuzzing, and load without a
    /// cell model.
    fn sample(seed: u64) -> (Self::Header, Self::Message);
}

/// A [`ServiceModel`] chosen at run time: it can be listed, named, displayed and recorded without its types. Operations that only test
/// equipment needs are in [`Inspect`](super::Inspect).
pub trait Model: Sync {
    /// [`ServiceModel::NAME`].
    fn name(&self) -> &'static str;
    /// [`ServiceModel::OID`].
    fn oid(&self) -> &'static str;
    /// [`ServiceModel::OTHER_OIDS`].
    fn other_oids(&self) -> &'static [&'static str];
    /// Returns whether nodes offer the model under this OID.
    fn is_called(&self, oid: &str) -> bool {
        self.oid() == oid || self.other_oids().contains(&oid)
    }
    /// [`ServiceModel::DEFAULT_FUNCTION_ID`].
    fn default_function_id(&self) -> u16;
    /// [`ServiceModel::DEFINITION`].
    fn definition(&self) -> &'static [u8];
    /// [`ServiceModel::REVISION`].
    fn revision(&self) -> u16;
    /// [`ServiceModel::CUSTOMARY`].
    fn customary(&self) -> bool;
    /// [`ServiceModel::ECHOES`].
    fn echoes(&self) -> bool;
    /// Returns the encodings of the model's messages, the default first.
    fn encodings(&self) -> &'static [Encoding];
    /// Returns the default encoding.
    fn encoding(&self) -> Encoding {
        self.encodings().first().copied().unwrap_or(Encoding::Plain)
    }
    /// Returns the requested encoding if the model has it, otherwise the default one.
    fn encoding_or(&self, requested: Option<Encoding>) -> Encoding {
        requested.filter(|requested| self.encodings().contains(requested)).unwrap_or_else(|| self.encoding())
    }
    /// [`ServiceModel::offers`].
    fn offers(&self, definition: &Bytes) -> Result<Vec<Offer>, SmError>;
    /// [`ServiceModel::columns`].
    fn columns(&self) -> Vec<Column>;
    /// Returns an encoded trigger for a report every `period`; see [`ServiceModel::periodic`].
    fn periodic(&self, encoding: Encoding, period: Duration) -> Result<Bytes, SmError>;
    /// Returns the encoded triggers of [`ServiceModel::triggers`].
    fn triggers(&self, encoding: Encoding, period: Duration) -> Result<Vec<Bytes>, SmError>;
    /// [`ServiceModel::at`].
    fn at(
        &self,
        encoding: Encoding,
        trigger: &Bytes,
        node: &GlobalE2NodeId,
        definition: &Bytes,
    ) -> Result<Option<Bytes>, SmError>;
    /// Returns an encoded action definition; see [`ServiceModel::action`].
    fn action(
        &self,
        encoding: Encoding,
        definition: &Bytes,
        period: Duration,
    ) -> Result<Option<Bytes>, SmError>;
    /// Returns an encoded action definition for a subscription with this trigger; see [`ServiceModel::action_at`].
    fn action_at(
        &self,
        encoding: Encoding,
        trigger: &Bytes,
        definition: &Bytes,
    ) -> Result<Option<Bytes>, SmError>;
    /// Returns the report period of an encoded trigger; see [`ServiceModel::period`].
    fn period(&self, encoding: Encoding, trigger: &Bytes) -> Result<Option<Duration>, SmError>;
    /// Converts an indication to a table.
    fn table(&self, encoding: Encoding, header: &Bytes, message: &Bytes) -> Result<Table, SmError>;
    /// Converts an indication of a known subscription to a table. Names that the indication omits are taken from the
    /// subscription.
    fn table_in(
        &self,
        encoding: Encoding,
        context: &mut Context,
        header: &Bytes,
        message: &Bytes,
    ) -> Result<Table, SmError>;
    /// [`ServiceModel::check_in`].
    fn check_in(
        &self,
        encoding: Encoding,
        context: &mut Context,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), SmError>;
    /// [`ServiceModel::check`].
    fn check(&self, encoding: Encoding, header: &[u8], message: &[u8]) -> Result<(), SmError>;
    /// [`ServiceModel::tstamp_us`].
    fn tstamp_us(&self, encoding: Encoding, header: &[u8], message: &[u8]) -> Option<i64>;
    /// [`ServiceModel::stamp`].
    fn stamp(
        &self,
        encoding: Encoding,
        context: &mut Context,
        header: &[u8],
        message: &[u8],
    ) -> Option<Stamp>;
    /// Encodes header and message of a control from named values. Fails with [`SmError::Absent`] if the model has no
    /// control, or no names for it.
    fn control(&self, encoding: Encoding, header: Form, message: Form) -> Result<(Bytes, Bytes), SmError>;
    /// Encodes a control like [`control`](Self::control), for a RAN function with this definition. Fails with [`SmError::NotOffered`] if
    /// the function does not offer the control.
    fn control_at(
        &self,
        encoding: Encoding,
        definition: &Bytes,
        header: Form,
        message: Form,
    ) -> Result<(Bytes, Bytes), SmError>;
    /// [`ServiceModel::control_targets`].
    fn control_targets(&self, encoding: Encoding, header: &Bytes, message: &Bytes) -> Option<Vec<String>>;
    /// Decodes a control outcome to named values. Fails like [`control`](Self::control).
    fn outcome(&self, encoding: Encoding, octets: &Bytes) -> Result<Form, SmError>;
}

impl<M: ServiceModel> Model for M {
    fn name(&self) -> &'static str {
        M::NAME
    }

    fn oid(&self) -> &'static str {
        M::OID
    }

    fn other_oids(&self) -> &'static [&'static str] {
        M::OTHER_OIDS
    }

    fn default_function_id(&self) -> u16 {
        M::DEFAULT_FUNCTION_ID
    }

    fn definition(&self) -> &'static [u8] {
        M::DEFINITION
    }

    fn revision(&self) -> u16 {
        M::REVISION
    }

    fn customary(&self) -> bool {
        M::CUSTOMARY
    }

    fn echoes(&self) -> bool {
        M::ECHOES
    }

    fn encodings(&self) -> &'static [Encoding] {
        M::Message::ENCODINGS
    }

    fn offers(&self, definition: &Bytes) -> Result<Vec<Offer>, SmError> {
        M::offers(definition)
    }

    fn columns(&self) -> Vec<Column> {
        M::columns()
    }

    fn periodic(&self, encoding: Encoding, period: Duration) -> Result<Bytes, SmError> {
        M::periodic(period)?.to_octets(encoding)
    }

    fn triggers(&self, encoding: Encoding, period: Duration) -> Result<Vec<Bytes>, SmError> {
        M::triggers(period)?.iter().map(|trigger| trigger.to_octets(encoding)).collect()
    }

    fn at(
        &self,
        encoding: Encoding,
        trigger: &Bytes,
        node: &GlobalE2NodeId,
        definition: &Bytes,
    ) -> Result<Option<Bytes>, SmError> {
        M::at(encoding, trigger, node, definition)
    }

    fn action(
        &self,
        encoding: Encoding,
        definition: &Bytes,
        period: Duration,
    ) -> Result<Option<Bytes>, SmError> {
        M::action(definition, period)?.map(|action| action.to_octets(encoding)).transpose()
    }

    fn action_at(
        &self,
        encoding: Encoding,
        trigger: &Bytes,
        definition: &Bytes,
    ) -> Result<Option<Bytes>, SmError> {
        let trigger = M::Trigger::decode_as(encoding, trigger)?;
        // Triggers for events have no period.
        let period = M::period(&trigger).unwrap_or_default();
        M::action_at(&trigger, definition, period)?.map(|action| action.to_octets(encoding)).transpose()
    }

    fn period(&self, encoding: Encoding, trigger: &Bytes) -> Result<Option<Duration>, SmError> {
        Ok(M::period(&M::Trigger::decode_as(encoding, trigger)?))
    }

    fn table(&self, encoding: Encoding, header: &Bytes, message: &Bytes) -> Result<Table, SmError> {
        let header = M::Header::decode_as(encoding, header)?;
        let message = M::Message::decode_as(encoding, message)?;
        let mut table = Table::default();
        M::tabulate(&header, &message, &mut table);
        Ok(table)
    }

    fn table_in(
        &self,
        encoding: Encoding,
        context: &mut Context,
        header: &Bytes,
        message: &Bytes,
    ) -> Result<Table, SmError> {
        let header = M::Header::decode_in(encoding, header, &mut context.text)?;
        let message = M::Message::decode_in(encoding, message, &mut context.text)?;
        let mut table = Table::default();
        M::tabulate_in(context, &header, &message, &mut table);
        Ok(table)
    }

    fn check_in(
        &self,
        encoding: Encoding,
        context: &mut Context,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), SmError> {
        M::check_in(encoding, context, header, message)
    }

    fn check(&self, encoding: Encoding, header: &[u8], message: &[u8]) -> Result<(), SmError> {
        M::check(encoding, header, message)
    }

    fn tstamp_us(&self, encoding: Encoding, header: &[u8], message: &[u8]) -> Option<i64> {
        M::tstamp_us(encoding, header, message)
    }

    fn stamp(
        &self,
        encoding: Encoding,
        context: &mut Context,
        header: &[u8],
        message: &[u8],
    ) -> Option<Stamp> {
        M::stamp(encoding, context, header, message)
    }

    fn control(&self, encoding: Encoding, header: Form, message: Form) -> Result<(Bytes, Bytes), SmError> {
        let header = M::ControlHeader::from_form(header)?;
        let message = M::Control::from_form(message)?;
        M::check_control(&header, &message)?;
        Ok((header.to_octets(encoding)?, message.to_octets(encoding)?))
    }

    fn control_at(
        &self,
        encoding: Encoding,
        definition: &Bytes,
        header: Form,
        message: Form,
    ) -> Result<(Bytes, Bytes), SmError> {
        let header = M::ControlHeader::from_form(header)?;
        let message = M::Control::from_form(message)?;
        M::check_control(&header, &message)?;
        M::check_offered(definition, &header, &message)?;
        Ok((header.to_octets(encoding)?, message.to_octets(encoding)?))
    }

    fn control_targets(&self, encoding: Encoding, header: &Bytes, message: &Bytes) -> Option<Vec<String>> {
        M::control_targets(encoding, header, message)
    }

    fn outcome(&self, encoding: Encoding, octets: &Bytes) -> Result<Form, SmError> {
        M::Outcome::decode_as(encoding, octets)?.to_form()
    }
}

/// Completes a subscription for a RAN function of `node`. Its trigger is adapted by [`ServiceModel::at`], and actions without a definition
/// get the definition of [`ServiceModel::action_at`], if the model needs one. Unknown contents are left unchanged. Returns false if the
/// function does not support the trigger; such a subscription must not be sent.
pub fn complete(
    node: &GlobalE2NodeId,
    function: &RanFunctionItem,
    details: &mut RicSubscriptionDetails,
) -> bool {
    let Some(model) = function.oid.as_deref().and_then(by_oid) else { return true };
    let encoding = model.encoding();
    match model.at(encoding, &details.event_trigger, node, &function.definition) {
        Ok(None) => return false,
        Ok(Some(trigger)) => details.event_trigger = trigger,
        Err(_) => {}
    }
    let trigger = &details.event_trigger;
    for action in details.actions.iter_mut().filter(|action| action.definition.is_none()) {
        action.definition = model.action_at(encoding, trigger, &function.definition).ok().flatten();
    }
    true
}

/// Returns a name for a model of FlexRIC that ranlab does not implement under this OID, with the ranlab model that it must not be confused
/// with.
pub fn third_party(oid: &str) -> Option<&'static str> {
    match oid {
        "0.0.0.0.0.0.0.0.1.145.0" => Some("FlexRIC's SLICE (not ranlab's slice)"),
        "0.0.0.0.0.0.0.0.1.146.0" => Some("FlexRIC's TC (not ranlab's traffic)"),
        _ => None,
    }
}

/// The text is not the name of one of [`models`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a known service model; allowed are {list}", list = names(models()))]
pub struct UnknownModel(pub String);

impl FromStr for &'static dyn Model {
    type Err = UnknownModel;

    /// Parses a name, case-insensitively.
    fn from_str(text: &str) -> Result<Self, UnknownModel> {
        let found = models().find(|model| model.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| UnknownModel(text.to_owned()))
    }
}

impl fmt::Display for dyn Model + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for dyn Model + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Models are equal if their OIDs are.
impl PartialEq for dyn Model + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.oid() == other.oid()
    }
}

impl Eq for dyn Model + '_ {}

impl Ord for dyn Model + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.default_function_id(), self.oid()).cmp(&(other.default_function_id(), other.oid()))
    }
}

impl PartialOrd for dyn Model + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
