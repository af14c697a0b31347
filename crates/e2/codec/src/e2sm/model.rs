//! A service model, entered once: [`ServiceModel`] for those who know it, [`Model`] for those who do not.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;

use crate::e2ap::{GlobalE2NodeId, RanFunctionItem, RicSubscriptionDetails};
use crate::per::Form;

use super::{Column, Context, Encoding, MODELS, Octets, Offer, SmError, Stamp, Table};

/// A service model: a type without values that says what the octet strings of a RAN function are.
///
/// What a model does not have is [`Infallible`](std::convert::Infallible) (an action definition, a control) or `()` (a
/// header of no octets). The same trait serves models out of tree; those of this crate are in [`MODELS`].
pub trait ServiceModel: Sync + 'static {
    /// As people write it: short, lower case.
    const NAME: &'static str;
    /// The object identifier by which a node offers it.
    const OID: &'static str;
    /// Other object identifiers by which some nodes do.
    const OTHER_OIDS: &'static [&'static str] = &[];
    /// The RAN function id that it customarily has. Functions are found by OID.
    const DEFAULT_FUNCTION_ID: u16;
    /// The RAN function definition.
    const DEFINITION: &'static [u8];
    /// The RAN function revision.
    const REVISION: u16;
    /// Whether it is offered and watched unless other models are named: the controllers that were met know it. Some
    /// end at a function that they do not know.
    const CUSTOMARY: bool;

    /// Event trigger definition.
    type Trigger: Octets;
    /// Action definition, where an action has one.
    type Action: Octets;
    /// Indication header.
    type Header: Octets;
    /// Indication message. Its encodings are the model's.
    type Message: Octets;
    /// Control header.
    type ControlHeader: Octets;
    /// Control message.
    type Control: Octets;
    /// Control outcome.
    type Outcome: Octets;

    /// The trigger of a report each `period`. Fails with [`SmError::Period`] if it is out of the model's range, and
    /// with [`SmError::Absent`] if the model reports nothing at intervals. A model that reports as things happen says
    /// which of them are told, whatever the period.
    fn periodic(period: Duration) -> Result<Self::Trigger, SmError>;

    /// The triggers that together ask for all that nodes tell each `period`: [`periodic`](Self::periodic), but where one
    /// trigger cannot ask for all. What of them goes to which node, [`at`](Self::at) says.
    fn triggers(period: Duration) -> Result<Vec<Self::Trigger>, SmError> {
        Ok(vec![Self::periodic(period)?])
    }

    /// The octets of one of these triggers for a RAN function of `node` with this definition, where a trigger names the
    /// node; `None` if the function tells nothing of the kind. A trigger that somebody made himself stays as it is.
    fn at(
        encoding: Encoding,
        trigger: &Bytes,
        node: &GlobalE2NodeId,
        definition: &Bytes,
    ) -> Result<Option<Bytes>, SmError> {
        let _ = (encoding, node, definition);
        Ok(Some(trigger.clone()))
    }

    /// How often a trigger asks for a report; `None` if it does not ask for one at intervals.
    fn period(trigger: &Self::Trigger) -> Option<Duration>;

    /// The action definition of a subscription for all that a RAN function with this definition tells each `period`;
    /// `None` if actions of the model need none.
    fn action(definition: &Bytes, period: Duration) -> Result<Option<Self::Action>, SmError> {
        let _ = (definition, period);
        Ok(None)
    }

    /// As [`action`](Self::action), for a subscription with this trigger: a model that reports as things happen has another
    /// action for each kind of thing.
    fn action_at(
        trigger: &Self::Trigger,
        definition: &Bytes,
        period: Duration,
    ) -> Result<Option<Self::Action>, SmError> {
        let _ = trigger;
        Self::action(definition, period)
    }

    /// What a RAN function with this definition offers: report styles with measurements, control actions, structures.
    /// Empty for a model whose functions all offer the same.
    ///
    /// # Errors
    /// The bytes are not a definition of the model.
    fn offers(definition: &Bytes) -> Result<Vec<Offer>, SmError> {
        let _ = definition;
        Ok(Vec::new())
    }

    /// The columns of its tables.
    fn columns() -> Vec<Column>;

    /// Appends the rows of an indication to `table`, and its time if it has one.
    fn tabulate(header: &Self::Header, message: &Self::Message, table: &mut Table);

    /// As [`tabulate`](Self::tabulate), for an indication of a known subscription.
    fn tabulate_in(context: &Context, header: &Self::Header, message: &Self::Message, table: &mut Table) {
        let _ = context;
        Self::tabulate(header, message, table);
    }

    /// As [`check`](Self::check), for an indication of a known subscription.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    fn check_in(
        encoding: Encoding,
        context: &mut Context,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), SmError> {
        let _ = context;
        Self::check(encoding, header, message)
    }

    /// Whether bytes are an indication of the model, all of it in rows. A model that can tell without decoding does so.
    ///
    /// # Errors
    /// [`SmError::LeftOut`] if only some of it is in rows.
    fn check(encoding: Encoding, header: &[u8], message: &[u8]) -> Result<(), SmError> {
        Self::Header::decode_as(encoding, &Bytes::copy_from_slice(header))?;
        Self::Message::decode_as(encoding, &Bytes::copy_from_slice(message)).map(drop)
    }

    /// Whether a control is one that base stations can carry out, as far as its values say; controls that the model cannot judge
    /// pass. Applied to controls that are built from values by names, not to raw bytes.
    ///
    /// # Errors
    /// [`SmError::Order`] with the value and what is allowed.
    fn check_control(header: &Self::ControlHeader, control: &Self::Control) -> Result<(), SmError> {
        let _ = (header, control);
        Ok(())
    }

    /// When the sender took what an indication says, microseconds since the Unix epoch; at the cost of a look at the
    /// octets. `None` if the model does not say, or if the octets are none of its own.
    fn tstamp_us(encoding: Encoding, header: &[u8], message: &[u8]) -> Option<i64> {
        let _ = (encoding, header, message);
        None
    }

    /// The time stamp of an indication, and what it is of. `None` as [`tstamp_us`](Self::tstamp_us).
    fn stamp(encoding: Encoding, context: &mut Context, header: &[u8], message: &[u8]) -> Option<Stamp> {
        let _ = context;
        Self::tstamp_us(encoding, header, message).map(Stamp::sent)
    }

    /// A random valid indication; the same for the same seed. For tests, fuzzing and loads without a model of a cell.
    fn sample(seed: u64) -> (Self::Header, Self::Message);
}

/// A byte string of a service model.
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

/// A [`ServiceModel`] for those who know it at run time alone: listed, named, shown and recorded without its types.
pub trait Model: Sync {
    /// [`ServiceModel::NAME`].
    fn name(&self) -> &'static str;
    /// [`ServiceModel::OID`].
    fn oid(&self) -> &'static str;
    /// [`ServiceModel::OTHER_OIDS`].
    fn other_oids(&self) -> &'static [&'static str];
    /// Whether nodes offer it by this object identifier.
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
    /// The encodings of its messages, the customary one first.
    fn encodings(&self) -> &'static [Encoding];
    /// The encoding that is used where nothing else is agreed.
    fn encoding(&self) -> Encoding {
        self.encodings().first().copied().unwrap_or(Encoding::Plain)
    }
    /// The encoding that was asked for if the model has it, else its own.
    fn encoding_or(&self, asked: Option<Encoding>) -> Encoding {
        asked.filter(|asked| self.encodings().contains(asked)).unwrap_or_else(|| self.encoding())
    }
    /// [`ServiceModel::offers`].
    fn offers(&self, definition: &Bytes) -> Result<Vec<Offer>, SmError>;
    /// [`ServiceModel::columns`].
    fn columns(&self) -> Vec<Column>;
    /// The octets of a trigger that asks for a report each `period`; see [`ServiceModel::periodic`].
    fn periodic(&self, encoding: Encoding, period: Duration) -> Result<Bytes, SmError>;
    /// The octets of [`ServiceModel::triggers`].
    fn triggers(&self, encoding: Encoding, period: Duration) -> Result<Vec<Bytes>, SmError>;
    /// [`ServiceModel::at`].
    fn at(
        &self,
        encoding: Encoding,
        trigger: &Bytes,
        node: &GlobalE2NodeId,
        definition: &Bytes,
    ) -> Result<Option<Bytes>, SmError>;
    /// The octets of an action definition; see [`ServiceModel::action`].
    fn action(
        &self,
        encoding: Encoding,
        definition: &Bytes,
        period: Duration,
    ) -> Result<Option<Bytes>, SmError>;
    /// The octets of an action definition for a subscription with this trigger; see [`ServiceModel::action_at`].
    fn action_at(
        &self,
        encoding: Encoding,
        trigger: &Bytes,
        definition: &Bytes,
    ) -> Result<Option<Bytes>, SmError>;
    /// How often the octets of a trigger ask for a report; see [`ServiceModel::period`].
    fn period(&self, encoding: Encoding, trigger: &Bytes) -> Result<Option<Duration>, SmError>;
    /// What an indication says.
    fn table(&self, encoding: Encoding, header: &Bytes, message: &Bytes) -> Result<Table, SmError>;
    /// As [`table`](Self::table), of an indication of a known subscription: names that the indication leaves out come from there.
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
    /// Header and message of a control, from their values by names. Fails with [`SmError::Absent`] if the model has no
    /// control, or no names for one.
    fn control(&self, encoding: Encoding, header: Form, message: Form) -> Result<(Bytes, Bytes), SmError>;
    /// What a control's outcome says, by names; fails as [`control`](Self::control).
    fn outcome(&self, encoding: Encoding, octets: &Bytes) -> Result<Form, SmError>;
    /// The content of a byte string, by names. Fails with [`SmError::Absent`] where the model has no names for it.
    fn payload(&self, payload: Payload, encoding: Encoding, octets: &Bytes) -> Result<Form, SmError>;
    /// An indication message decoded and encoded again.
    fn transcode(&self, from: Encoding, to: Encoding, message: &Bytes) -> Result<Bytes, SmError>;
    /// Header and message of [`ServiceModel::sample`], and what they say.
    fn sample(&self, encoding: Encoding, seed: u64) -> Result<(Bytes, Bytes, Table), SmError>;
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
        // What is told as it happens has no period.
        let period = M::period(&trigger).unwrap_or_default();
        M::action_at(&trigger, definition, period)?.map(|action| action.to_octets(encoding)).transpose()
    }

    fn period(&self, encoding: Encoding, trigger: &Bytes) -> Result<Option<Duration>, SmError> {
        Ok(M::period(&M::Trigger::decode_as(encoding, trigger)?))
    }

    fn table(&self, encoding: Encoding, header: &Bytes, message: &Bytes) -> Result<Table, SmError> {
        let (header, message) =
            (M::Header::decode_as(encoding, header)?, M::Message::decode_as(encoding, message)?);
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
        let (header, message) = (M::ControlHeader::from_form(header)?, M::Control::from_form(message)?);
        M::check_control(&header, &message)?;
        Ok((header.to_octets(encoding)?, message.to_octets(encoding)?))
    }

    fn outcome(&self, encoding: Encoding, octets: &Bytes) -> Result<Form, SmError> {
        M::Outcome::decode_as(encoding, octets)?.to_form()
    }

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

/// Makes a subscription one for a RAN function of `node`: its trigger as [`ServiceModel::at`] has it, and for its actions
/// that have no definition the one that their model needs for all that the function tells, if it needs one:
/// [`ServiceModel::action`]. What the model cannot make anything of stays as it is. Whether the function tells anything
/// of the kind; if not, there is nothing to subscribe.
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

/// The model that nodes offer by this object identifier.
pub fn by_oid(oid: &str) -> Option<&'static dyn Model> {
    MODELS.iter().copied().find(|model| model.is_called(oid))
}

/// The models that are offered and watched unless others are named.
pub fn customary() -> impl Iterator<Item = &'static dyn Model> {
    MODELS.iter().copied().filter(|model| model.customary())
}

/// A name that none of [`MODELS`] has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no service model of ours; allowed are {list}", list = names(MODELS))]
pub struct UnknownModel(pub String);

/// Names in a row, e.g. `mac, rlc`.
pub fn names(models: &[&dyn Model]) -> String {
    models.iter().map(|model| model.name()).collect::<Vec<_>>().join(", ")
}

impl FromStr for &'static dyn Model {
    type Err = UnknownModel;

    /// By name, in whatever case.
    fn from_str(text: &str) -> Result<Self, UnknownModel> {
        let found = MODELS.iter().copied().find(|model| model.name().eq_ignore_ascii_case(text));
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

/// A model is the one that its object identifier says.
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
