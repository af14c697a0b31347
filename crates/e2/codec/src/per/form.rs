//! Values with named components, as in JSON. The conversions are generated from the same declarations as the encoding and the notation.
use super::{DecodeError, DecodeFault, Source};
use crate::e2ap::Version;
use bytes::Bytes;
use std::collections::VecDeque;

type Result<T = ()> = std::result::Result<T, DecodeError>;

/// Maximum nesting depth of lists and components.
const DEPTH_MAX: usize = 64;

/// A value. Sequences have named components; a choice has the name and value of one alternative; enumerated values
/// are their names. Octet strings are hexadecimal digits, and bit strings are digits 0 and 1.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// Null.
    Null,
    /// BOOLEAN.
    Bool(bool),
    /// Integer.
    Integer(i128),
    /// REAL.
    Real(f64),
    /// Character string, name, octet string or bit string.
    Text(String),
    /// SEQUENCE OF.
    List(Vec<Self>),
    /// SEQUENCE, or CHOICE with one component.
    Fields(Vec<(String, Self)>),
}

/// Numbers that are not 64-bit integers become real numbers.
impl From<serde_json::Value> for Form {
    fn from(json: serde_json::Value) -> Self {
        use serde_json::Value as Json;
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(value),
            Json::Number(number) => {
                let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
                whole.map_or_else(|| Self::Real(number.as_f64().unwrap_or_default()), Self::Integer)
            }
            Json::String(text) => Self::Text(text),
            Json::Array(list) => Self::List(list.into_iter().map(Self::from).collect()),
            Json::Object(members) => {
                Self::Fields(members.into_iter().map(|(name, value)| (name, value.into())).collect())
            }
        }
    }
}

/// A real number that is not finite (NaN, infinity) becomes null.
impl From<Form> for serde_json::Value {
    fn from(form: Form) -> Self {
        match form {
            Form::Null => Self::Null,
            Form::Bool(value) => value.into(),
            Form::Integer(value) => i64::try_from(value).map_or_else(|_| (value as u64).into(), Self::from),
            Form::Real(value) => value.into(),
            Form::Text(text) => text.into(),
            Form::List(list) => list.into_iter().map(Self::from).collect(),
            Form::Fields(fields) => {
                Self::Object(fields.into_iter().map(|(name, value)| (name, value.into())).collect())
            }
        }
    }
}

/// Enclosing structure of the next value.
#[derive(Debug)]
enum Open {
    Fields(Vec<(String, Form)>),
    List(VecDeque<Form>),
}

/// Decodes values from a [`Form`]. Components may be absent only if they are optional; an unknown component is an
/// error.
///
/// The functions of this source are marked as cold. Every type has a decoder for this source, but only requests with named values use it.
/// The attribute keeps these decoders small.
#[derive(Debug)]
pub struct FormSource {
    /// Value for the next primitive.
    next: Option<Form>,
    open: Vec<Open>,
    /// Nesting depth of recursive types.
    depth: usize,
}

impl FormSource {
    /// Creates a source of this one value.
    pub fn new(form: Form) -> Self {
        Self { next: Some(form), open: Vec::new(), depth: 0 }
    }

    #[cold]
    fn wrong(&self, expected: &'static str) -> DecodeError {
        self.fault(DecodeFault::NotA(expected))
    }

    #[cold]
    fn take(&mut self, expected: &'static str) -> Result<Form> {
        self.next.take().ok_or_else(|| self.fault(DecodeFault::Missing(expected)))
    }

    #[cold]
    fn text(&mut self, expected: &'static str) -> Result<String> {
        match self.take(expected)? {
            Form::Text(text) => Ok(text),
            _ => Err(self.wrong(expected)),
        }
    }

    #[cold]
    fn integer(&mut self) -> Result<i128> {
        const WHAT: &str = "a whole number";
        match self.take(WHAT)? {
            Form::Integer(value) => Ok(value),
            Form::Real(value) if value.fract() == 0.0 && value.abs() < 9e15 => Ok(value as i128),
            _ => Err(self.wrong(WHAT)),
        }
    }

    #[cold]
    fn fields(&mut self) -> Result<Vec<(String, Form)>> {
        const WHAT: &str = "an object";
        match self.take(WHAT)? {
            Form::Fields(fields) if self.open.len() < DEPTH_MAX => Ok(fields),
            Form::Fields(_) => Err(self.fault(DecodeFault::TooDeep(DEPTH_MAX))),
            _ => Err(self.wrong(WHAT)),
        }
    }

    #[cold]
    fn position(&self, name: &str, root: &[&'static str], additions: &[&'static str]) -> Result<(bool, u64)> {
        let at = |names: &[&str]| names.iter().position(|known| *known == name).map(|at| at as u64);
        let found = at(root).map(|at| (false, at)).or_else(|| at(additions).map(|at| (true, at)));
        found.ok_or_else(|| self.fault(DecodeFault::UnknownName(name.to_owned())))
    }

    #[cold]
    fn pull(&mut self, name: &str) -> Option<Form> {
        let Some(Open::Fields(fields)) = self.open.last_mut() else { return None };
        let at = fields.iter().position(|(known, _)| known == name)?;
        Some(fields.remove(at).1)
    }

    /// Returns the number of digits of the next primitive.
    #[cold]
    fn digits(&self, what: &'static str, low: u64, high: u64) -> Result<u64> {
        let count = match &self.next {
            Some(Form::Text(digits)) => digits.len() as u64,
            _ => return Err(self.wrong(what)),
        };
        if (low..=high).contains(&count) {
            Ok(count)
        } else {
            Err(self.fault(DecodeFault::OutOfRange { value: count, low, high }))
        }
    }

    #[cold]
    fn hexadecimal(&mut self) -> Result<Bytes> {
        const WHAT: &str = "hexadecimal digits, two for each byte";
        let text = self.text(WHAT)?;
        let digit = |octet: u8| char::from(octet).to_digit(16);
        let pairs = text.as_bytes().chunks(2);
        let octets: Option<Vec<u8>> =
            pairs.map(|pair| Some((digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?) as u8)).collect();
        octets.map(Bytes::from).ok_or_else(|| self.wrong(WHAT))
    }
}

impl Source for FormSource {
    fn version(&self) -> Version {
        Version::V2_03
    }

    #[cold]
    fn flag(&mut self) -> Result<bool> {
        match self.take("true or false")? {
            Form::Bool(value) => Ok(value),
            _ => Err(self.wrong("true or false")),
        }
    }

    fn extended(&mut self) -> Result<bool> {
        Ok(false)
    }

    #[cold]
    fn constrained(&mut self, low: u64, high: u64) -> Result<u64> {
        let value = self.integer()?;
        let number = u64::try_from(value).ok().filter(|number| (low..=high).contains(number));
        let shown = u64::try_from(value).unwrap_or(if value < 0 { 0 } else { u64::MAX });
        number.ok_or_else(|| match value {
            ..0 => self.wrong("a whole number, zero or above"),
            _ => self.fault(DecodeFault::OutOfRange { value: shown, low, high }),
        })
    }

    #[cold]
    fn unconstrained(&mut self) -> Result<i64> {
        let value = self.integer()?;
        i64::try_from(value).map_err(|_| self.wrong("a whole number of 64 bits"))
    }

    #[cold]
    fn index(&mut self, root: u64, additions: u64, _extensible: bool) -> Result<(bool, u64)> {
        let at = self.constrained(0, (root + additions).saturating_sub(1))?;
        Ok(if at < root { (false, at) } else { (true, at - root) })
    }

    #[cold]
    fn octets(&mut self) -> Result<Bytes> {
        self.hexadecimal()
    }

    #[cold]
    fn octets_fixed(&mut self, n: usize) -> Result<Bytes> {
        let octets = self.hexadecimal()?;
        let value = octets.len() as u64;
        let n = n as u64;
        if value == n {
            Ok(octets)
        } else {
            Err(self.fault(DecodeFault::OutOfRange { value, low: n, high: n }))
        }
    }

    #[cold]
    fn octet_count(&mut self, low: u64, high: u64) -> Result<u64> {
        const DIGITS: u64 = 2;
        Ok(self.digits("hexadecimal digits", low.saturating_mul(DIGITS), high.saturating_mul(DIGITS))?
            / DIGITS)
    }

    #[cold]
    fn bit_count(&mut self, low: u64, high: u64) -> Result<u64> {
        self.digits("digits 0 and 1", low, high)
    }

    #[cold]
    fn bits_len(&mut self) -> Result<(usize, bool)> {
        Ok((self.bit_count(0, u64::MAX)? as usize, false))
    }

    #[cold]
    fn bits(&mut self, n: u32, _aligned: bool) -> Result<u64> {
        const WHAT: &str = "digits 0 and 1";
        let text = self.text(WHAT)?;
        let (digits, rest) = text.split_at_checked(n as usize).ok_or_else(|| self.wrong(WHAT))?;
        if !rest.is_empty() {
            self.next = Some(Form::Text(rest.to_owned()));
        }
        if digits.is_empty() { Ok(0) } else { u64::from_str_radix(digits, 2).map_err(|_| self.wrong(WHAT)) }
    }

    #[cold]
    fn string(&mut self, low: u64, high: u64, _extensible: bool) -> Result<String> {
        let text = self.text("a text")?;
        let value = text.len() as u64;
        if !text.bytes().all(|octet| (b' '..=b'~').contains(&octet)) {
            return Err(self.fault(DecodeFault::InvalidString));
        }
        if (low..=high).contains(&value) {
            Ok(text)
        } else {
            Err(self.fault(DecodeFault::OutOfRange { value, low, high }))
        }
    }

    #[cold]
    fn real(&mut self) -> Result<f64> {
        match self.take("a number")? {
            Form::Real(value) => Ok(value),
            Form::Integer(value) => Ok(value as f64),
            _ => Err(self.wrong("a number")),
        }
    }

    #[cold]
    fn list_len(&mut self, low: u64, high: u64) -> Result<(usize, bool)> {
        let list = match self.take("a list")? {
            Form::List(list) if self.open.len() < DEPTH_MAX => list,
            Form::List(_) => return Err(self.fault(DecodeFault::TooDeep(DEPTH_MAX))),
            _ => return Err(self.wrong("a list")),
        };
        let value = list.len() as u64;
        if !(low..=high).contains(&value) {
            return Err(self.fault(DecodeFault::OutOfRange { value, low, high }));
        }
        let len = list.len();
        if len > 0 {
            self.open.push(Open::List(list.into()));
        }
        Ok((len, false))
    }

    #[cold]
    fn element(&mut self) {
        let Some(Open::List(list)) = self.open.last_mut() else { return };
        self.next = list.pop_front();
        if list.is_empty() {
            self.open.pop();
        }
    }

    fn open<T>(&mut self, contents: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        contents(self)
    }

    fn nested<T>(&mut self, contents: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH_MAX {
            return Err(self.fault(DecodeFault::TooDeep(DEPTH_MAX)));
        }
        self.depth += 1;
        let value = contents(self);
        self.depth -= 1;
        value
    }

    fn additions(&mut self, _known: usize, _each: impl FnMut(usize, &mut Self) -> Result) -> Result {
        Ok(())
    }

    #[cold]
    fn begin(&mut self) -> Result<bool> {
        let fields = self.fields()?;
        self.open.push(Open::Fields(fields));
        Ok(true)
    }

    #[cold]
    fn begin_closed(&mut self) -> Result {
        self.begin().map(drop)
    }

    #[cold]
    fn presence(&mut self, name: &'static str) -> Result<bool> {
        let Some(Open::Fields(fields)) = self.open.last() else { return Ok(false) };
        Ok(fields.iter().any(|(known, _)| known == name))
    }

    #[cold]
    fn component(&mut self, name: &'static str) {
        self.next = self.pull(name);
    }

    #[cold]
    fn named_additions(
        &mut self,
        names: &[&'static str],
        mut each: impl FnMut(usize, &mut Self) -> Result,
    ) -> Result {
        for (at, name) in names.iter().enumerate() {
            if let Some(value) = self.pull(name) {
                self.next = Some(value);
                each(at, self)?;
            }
        }
        Ok(())
    }

    #[cold]
    fn finish(&mut self) -> Result {
        self.next = None;
        match self.open.pop() {
            Some(Open::Fields(fields)) => match fields.into_iter().next() {
                Some((name, _)) => Err(self.fault(DecodeFault::UnknownName(name))),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    #[cold]
    fn choose(&mut self, root: &[&'static str], additions: &[&'static str]) -> Result<(bool, u64)> {
        let mut fields = self.fields()?.into_iter();
        let (Some((name, value)), None) = (fields.next(), fields.next()) else {
            return Err(self.wrong("an object of one member, which names the alternative"));
        };
        self.next = Some(value);
        self.position(&name, root, additions)
    }

    #[cold]
    fn enumerated_closed(&mut self, root: &[&'static str]) -> Result<u64> {
        self.enumerated(root, &[]).map(|(_, at)| at)
    }

    #[cold]
    fn enumerated(&mut self, root: &[&'static str], additions: &[&'static str]) -> Result<(bool, u64)> {
        let name = self.text("a name")?;
        self.position(&name, root, additions)
    }

    fn ie_header(&mut self) -> Result<(u16, u8)> {
        Err(self.wrong("a value without information elements"))
    }

    #[cold]
    fn fault(&self, fault: DecodeFault) -> DecodeError {
        DecodeError { fault, octet: 0, field: "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::e2sm::rrc::RrcIndication;
    use crate::e2sm::slice::{SliceCommand, SliceIndication};
    use crate::e2sm::traffic::TrafficCommand;
    use crate::e2sm::{Octets, kpm, ni, per, rc};

    fn round<T: crate::per::Per + Octets + PartialEq + std::fmt::Debug>() {
        for seed in 0..2_000 {
            let value: T = per::sample(seed).unwrap();
            let form = value.to_form().unwrap();
            assert_eq!(T::from_form(form.clone()).as_ref(), Ok(&value), "{seed}: {form:?}");
        }
    }

    #[test]
    fn values_round_trip_through_named_form() {
        round::<SliceCommand>();
        round::<SliceIndication>();
        round::<TrafficCommand>();
        round::<RrcIndication>();
        round::<kpm::EventTrigger>();
        round::<kpm::ActionDefinition>();
        round::<rc::ControlHeader>();
        round::<rc::ControlMessage>();
        round::<rc::ControlOutcome>();
        round::<ni::EventTrigger>();
        round::<ni::ActionDefinition>();
        round::<ni::ControlHeader>();
    }

    fn fields<const N: usize>(fields: [(&str, Form); N]) -> Form {
        Form::Fields(fields.map(|(name, form)| (name.to_owned(), form)).into())
    }

    #[test]
    fn form_errors_name_fault_and_field() {
        let share = |ppm| fields([("capacity", Form::Integer(ppm))]);
        let slice = |parameters| {
            fields([
                ("id", Form::Integer(1)),
                ("label", Form::Text("white".into())),
                ("scheduler", Form::Text("rr".into())),
                ("parameters", parameters),
            ])
        };
        let add = |slice| SliceCommand::from_form(fields([("add", slice)]));
        assert!(add(slice(share(500_000))).is_ok());
        let Form::Fields(whole) = slice(share(1)) else { unreachable!() };
        let changed = |name: &str, value: Option<Form>| {
            let mut some: Vec<_> = whole.iter().filter(|(known, _)| known != name).cloned().collect();
            some.extend(value.map(|value| (name.to_owned(), value)));
            Form::Fields(some)
        };
        for (wrong, words) in [
            (slice(share(2_000_000)), "2000000 is outside 0..1000000 in capacity"),
            (slice(share(-1)), "zero or above"),
            (slice(fields([("speed", Form::Integer(1))])), "unknown name \"speed\" in SliceParameters"),
            (changed("scheduler", Some(Form::Text("best".into()))), "unknown name \"best\""),
            (changed("label", None), "missing in label"),
            (changed("colour", Some(Form::Null)), "unknown name \"colour\" in Slice"),
            (changed("id", Some(Form::Text("1".into()))), "it must be a whole number in id"),
            (Form::Null, "an object"),
        ] {
            let error = add(wrong).unwrap_err().to_string();
            assert!(error.contains(words), "{error} / {words}");
        }
    }
}
