//! Description of a component's configuration. One list of fields produces the CLI flags, the scenario keys, the JSON
//! schema and the messages to workers.
//!
//! ```
//! # use std::time::Duration;
//! # use ranlab_lab::{config, Config};
//! config! {
//!     /// Something that ticks.
//!     pub struct Ticker {
//!         /// ticks before it ends
//!         count: u32 = 10, range(1, 1_000);
//!         /// between two ticks
//!         period: Duration = Duration::from_millis(50);
//!         /// where it reports to
//!         connect: String = String::new(), wiring();
//!         /// file that it writes
//!         record: Option<String> = None, local();
//!     }
//! }
//! let mut ticker = Ticker::default();
//! ticker.set("period", &"20ms".into()).unwrap();
//! assert_eq!(ticker.period, Duration::from_millis(20));
//! assert!(ticker.set("count", &0.into()).unwrap_err().to_string().contains("1 to 1000"));
//! ```

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ranlab_campaign::rig::{RigError, Run};
use ranlab_campaign::schema::{Key, Kind, Presence, nearest};
use ranlab_campaign::value::Value;

mod adapter;
mod section;
pub mod testing;

pub use adapter::{As, Each, Maybe, Same, Text};
pub use section::Section;

/// The source of a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Set by the user: a CLI flag and a scenario key.
    Setting,
    /// Set by the code that connects components, such as a peer's address or a clock offset. A CLI flag, but no
    /// scenario key.
    Wiring,
    /// Set by the user like [`Role::Setting`], but the value names a resource of the machine on which the component
    /// runs (a file, program, interface or namespace). Workers that are reached over TCP reject such fields.
    Local,
    /// Set by the code that starts the component. Neither a flag nor a key.
    Inner,
}

/// A field of a component's configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Name of the Rust field. In a scenario it follows the section name.
    pub name: &'static str,
    /// Name of the CLI flag without dashes, if it differs from the field's name.
    pub flag: Option<&'static str>,
    /// Source of the value.
    pub role: Role,
    /// Kind, unit, default and description. The key's path is the field's name.
    pub key: Key,
}

impl Field {
    /// Returns a setting of type `T` in the notation `A`, with a default value.
    pub fn new<A: As<T>, T>(name: &'static str, comment: &str, default: &T) -> Self {
        let key = Key::new(name, A::kind(), comment);
        let key = match A::to_value(default) {
            Some(value) => key.or(value),
            None => key.optional(),
        };
        Self { name, flag: None, role: Role::Setting, key }
    }

    /// Marks the field as set by the code that connects components ([`Role::Wiring`]).
    pub fn wiring(self) -> Self {
        Self { role: Role::Wiring, ..self }
    }

    /// Marks the field as a resource of the component's machine ([`Role::Local`]).
    pub fn local(self) -> Self {
        Self { role: Role::Local, ..self }
    }

    /// Marks the field as set by the code that starts the component ([`Role::Inner`]).
    pub fn inner(self) -> Self {
        Self { role: Role::Inner, ..self }
    }

    /// Marks the field as required.
    pub fn required(mut self) -> Self {
        self.key.presence = Presence::Required;
        self
    }

    /// Restricts the field to whole numbers from `min` to `max`, inclusive.
    pub fn range(mut self, min: i64, max: i64) -> Self {
        self.key.kind = Kind::Int { min, max };
        self
    }

    /// Replaces the kind that the field's type implies.
    pub fn kind(mut self, kind: Kind) -> Self {
        self.key.kind = kind;
        self
    }

    /// Sets the unit.
    pub fn unit(mut self, unit: &str) -> Self {
        self.key.unit = unit.to_owned();
        self
    }

    /// Declares an earlier name, which scenarios, stored results and the command line may still use.
    pub fn formerly(mut self, earlier: &str) -> Self {
        self.key = self.key.formerly(earlier);
        self
    }

    /// Sets a flag name that differs from the field's name.
    pub fn flag(self, flag: &'static str) -> Self {
        Self { flag: Some(flag), ..self }
    }

    /// Restricts the field to configurations in which field `other` has one of `values`.
    pub fn when(mut self, other: &str, values: &[&str]) -> Self {
        self.key = self.key.when(other, values);
        self
    }
}

/// The configuration of a component: plain data with described fields. Implemented by [`config!`](crate::config).
pub trait Config: ConfigFields + Default + Clone {
    /// Returns all fields in display order.
    fn fields() -> Vec<Field>;

    /// Validates the value against the field's kind, then sets the field.
    ///
    /// # Errors
    /// The field is unknown, or the value is not allowed.
    fn set(&mut self, name: &str, value: &Value) -> Result<(), FieldError>;

    /// Reads a configuration from one section (such as `load`) of a scenario point. Fields that the section does not
    /// set keep their defaults.
    ///
    /// # Errors
    /// A value is not allowed, or a required field is not set.
    fn read(run: &Run<'_>, section: &str) -> Result<Self, RigError> {
        Self::read_but(run, section, &[])
    }

    /// Like [`read`](Self::read), but skips the fields in `without`, whose keys have another meaning in this rig.
    fn read_but(run: &Run<'_>, section: &str, without: &[&str]) -> Result<Self, RigError> {
        let mut config = Self::default();
        for field in Self::fields().iter().filter(|field| {
            matches!(field.role, Role::Setting | Role::Local) && !without.contains(&field.name)
        }) {
            let path = format!("{section}.{}", field.name);
            match run.value(&path) {
                Some(value) => config
                    .set(field.name, value)
                    .map_err(|error| RigError::Rig(format!("in section `{section}`: {error}")))?,
                None if field.key.presence == Presence::Required => {
                    return Err(RigError::Rig(format!("`{path}` is not set")));
                }
                None => {}
            }
        }
        Ok(config)
    }

    /// Returns the settings as keys of a section. Fields that a rig sets are left out.
    fn keys(section: &str) -> Section {
        let fields =
            Self::fields().into_iter().filter(|field| matches!(field.role, Role::Setting | Role::Local));
        let keys = fields.map(|field| {
            let mut key = field.key;
            key.path = format!("{section}.{}", key.path);
            key.formerly = key.formerly.map(|earlier| format!("{section}.{earlier}"));
            if let Some((other, _)) = &mut key.when {
                *other = format!("{section}.{other}");
            }
            key
        });
        Section::new(section, keys.collect())
    }
}

/// The part of a configuration's interface that does not need its type.
pub trait ConfigFields {
    /// Returns all fields.
    fn described(&self) -> Vec<Field>;
    /// Returns the value of a field, or `None` if it is absent or the field is unknown.
    fn get(&self, name: &str) -> Option<Value>;

    /// Returns the names of [`Role::Local`] fields whose value differs from the default.
    fn locals(&self) -> Vec<&'static str> {
        let local = |field: &Field| field.role == Role::Local && self.get(field.name) != default_of(field);
        self.described().iter().filter(|field| local(field)).map(|field| field.name).collect()
    }
}

fn default_of(field: &Field) -> Option<Value> {
    match &field.key.presence {
        Presence::Default(value) => Some(value.clone()),
        Presence::Required | Presence::Optional => None,
    }
}

/// The reason why a field was not set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldError {
    /// The field is unknown.
    #[error("there is no `{name}`{}", .nearest.as_ref().map_or_else(String::new, |near| format!("; the nearest name is `{near}`")))]
    Unknown {
        /// The name that was given.
        name: String,
        /// The most similar known name.
        nearest: Option<String>,
    },
    /// The value is not allowed.
    #[error("`{name}` must be {allowed}; it is {given}")]
    Value {
        /// Name of the field.
        name: String,
        /// Description of the allowed values.
        allowed: String,
        /// The value that was given; a text is in quotes.
        given: String,
    },
    /// The text cannot be read.
    #[error("`{name}`: {reason}")]
    Text {
        /// Name of the field.
        name: String,
        /// Sentence that quotes the text and names what is expected.
        reason: String,
    },
}

impl FieldError {
    /// Returns the error for an unknown field, with the most similar name of `fields`.
    pub fn unknown(name: &str, fields: &[Field]) -> Self {
        let nearest = nearest(name, fields.iter().map(|field| field.name)).map(str::to_owned);
        Self::Unknown { name: name.to_owned(), nearest }
    }
}

/// Converts a value to the type `T` of a field. Used by [`config!`](crate::config).
#[doc(hidden)]
pub fn checked<A: As<T>, T>(name: &str, fields: &[Field], value: &Value) -> Result<T, FieldError> {
    let field = fields.iter().find(|field| field.name == name);
    let kind = &field.ok_or_else(|| FieldError::unknown(name, fields))?.key.kind;
    // A search may propose a fractional value for an integer field. The value is rounded.
    let rounded = match (kind, value) {
        (Kind::Int { .. }, Value::Float(float)) => Value::Int(float.round() as i64),
        _ => value.clone(),
    };
    let wrong = |allowed: String| {
        let given = match &rounded {
            Value::Text(text) => format!("\"{text}\""),
            other => other.to_string(),
        };
        FieldError::Value { name: name.to_owned(), allowed, given }
    };
    let accepted = A::accept(kind, &rounded).map_err(wrong)?;
    let unread = |reason: String| match A::EXPLAINS {
        true => FieldError::Text { name: name.to_owned(), reason },
        false => wrong(reason),
    };
    A::from_value(&accepted).map_err(unread)
}

/// A type that a field can have.
pub trait FieldType: Sized {
    /// Whether an error of [`from_value`](Self::from_value) is a complete sentence.
    const EXPLAINS: bool = false;
    /// Returns the allowed values, unless the field restricts them further.
    fn kind() -> Kind;
    /// Validates a value and converts it to the form that [`from_value`](Self::from_value) reads. The error text
    /// continues the phrase "must be". Types that accept more than their kind describes override this method. For
    /// example, a rate is text on the command line and may be a number in a scenario.
    fn accept(kind: &Kind, value: &Value) -> Result<Value, String> {
        kind.accept(value)
    }
    /// Converts an accepted value. The error text continues the phrase "must be", or is a complete sentence
    /// ([`EXPLAINS`](Self::EXPLAINS)).
    fn from_value(value: &Value) -> Result<Self, String>;
    /// Returns the value in its written form, or `None` if it is absent.
    fn to_value(&self) -> Option<Value>;
}

macro_rules! whole {
    ($($type:ty),*) => {$(
        impl FieldType for $type {
            fn kind() -> Kind {
                Kind::Int {
                    min: i64::try_from(<$type>::MIN).unwrap_or(i64::MIN),
                    max: i64::try_from(<$type>::MAX).unwrap_or(i64::MAX),
                }
            }
            fn from_value(value: &Value) -> Result<Self, String> {
                match value {
                    Value::Int(int) => Self::try_from(*int).map_err(|_| Self::kind().allowed()),
                    _ => Err(Self::kind().allowed()),
                }
            }
            fn to_value(&self) -> Option<Value> {
                Some(Value::Int(i64::try_from(*self).unwrap_or(i64::MAX)))
            }
        }
    )*};
}
whole!(u8, u16, u32, u64, usize, i64);

/// Seed of the random number generators: all 64 bits, written as a signed number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seed(pub u64);

impl FieldType for Seed {
    fn kind() -> Kind {
        Kind::Int { min: i64::MIN, max: i64::MAX }
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        i64::from_value(value).map(|int| Self(int as u64))
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Int(self.0 as i64))
    }
}

impl FieldType for bool {
    fn kind() -> Kind {
        Kind::Bool
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        if let Value::Bool(bool) = value { Ok(*bool) } else { Err(Kind::Bool.allowed()) }
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Bool(*self))
    }
}

impl FieldType for f64 {
    fn kind() -> Kind {
        Kind::any_number()
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        value.number().ok_or_else(|| Self::kind().allowed())
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Float(*self))
    }
}

impl FieldType for Duration {
    fn kind() -> Kind {
        Kind::Span
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        value.span().ok_or_else(|| Kind::Span.allowed())
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Span(*self))
    }
}

impl<T: FieldType> FieldType for Option<T> {
    const EXPLAINS: bool = T::EXPLAINS;
    fn kind() -> Kind {
        T::kind()
    }
    fn accept(kind: &Kind, value: &Value) -> Result<Value, String> {
        T::accept(kind, value)
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        T::from_value(value).map(Some)
    }
    fn to_value(&self) -> Option<Value> {
        self.as_ref().and_then(T::to_value)
    }
}

impl<T: FieldType> FieldType for Vec<T> {
    const EXPLAINS: bool = T::EXPLAINS;
    fn kind() -> Kind {
        Kind::List(Box::new(T::kind()))
    }
    fn accept(kind: &Kind, value: &Value) -> Result<Value, String> {
        <Each<Same> as As<Self>>::accept(kind, value)
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        <Each<Same> as As<Self>>::from_value(value)
    }
    fn to_value(&self) -> Option<Value> {
        <Each<Same> as As<Self>>::to_value(self)
    }
}

/// Implements [`FieldType`] for types with a text form: [`FromStr`](std::str::FromStr), whose error is a sentence, and
/// [`Display`](fmt::Display).
#[macro_export]
macro_rules! setting_by_text {
    ($($type:ty),* $(,)?) => {$(
        impl $crate::FieldType for $type {
            const EXPLAINS: bool = true;
            fn kind() -> $crate::field::KindOf {
                $crate::field::KindOf::Text
            }
            fn from_value(value: &$crate::field::ValueOf) -> Result<Self, String> {
                let text = value.to_string();
                text.parse().map_err(|error| $crate::field::quoted(&text, error))
            }
            fn to_value(&self) -> Option<$crate::field::ValueOf> {
                Some($crate::field::ValueOf::Text(self.to_string()))
            }
        }
    )*};
}

/// Returns a parser's error as a sentence that quotes the text.
#[doc(hidden)]
pub fn quoted(text: &str, error: impl fmt::Display) -> String {
    let error = error.to_string();
    if error.contains(text) { error } else { format!("\"{text}\": {error}") }
}

impl FieldType for PathBuf {
    fn kind() -> Kind {
        Kind::Text
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        Ok(value.to_string().into())
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(self.display().to_string()))
    }
}

/// A structured value, such as a list of flows, written as JSON text. It is used for wiring only, which users do not
/// write.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JsonField<T>(pub T);

impl<T: serde::Serialize + serde::de::DeserializeOwned> FieldType for JsonField<T> {
    fn kind() -> Kind {
        Kind::Text
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        let read = serde_json::from_str(value.text().unwrap_or_default());
        read.map(Self).map_err(|error| format!("plain data as JSON ({error})"))
    }
    fn to_value(&self) -> Option<Value> {
        serde_json::to_string(&self.0).ok().map(Value::Text)
    }
}

setting_by_text!(String, std::net::IpAddr);

impl FieldType for SocketAddr {
    const EXPLAINS: bool = true;
    fn kind() -> Kind {
        Kind::Text
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        let text = value.to_string();
        crate::text::socket_address(&text).map_err(|error| quoted(&text, error))
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(self.to_string()))
    }
}

/// Serializes a configuration as an object with the fields that are present.
#[doc(hidden)]
pub fn write<S: serde::Serializer>(config: &dyn ConfigFields, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(
        config.described().iter().filter_map(|field| Some((field.name, config.get(field.name)?))),
    )
}

/// Deserializes the object that [`write`] produces. Absent fields keep their defaults; unknown fields and invalid
/// values are errors.
#[doc(hidden)]
pub struct Reader<C>(pub std::marker::PhantomData<C>);

impl<'de, C: Config> serde::de::Visitor<'de> for Reader<C> {
    type Value = C;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a part's settings")
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<C, A::Error> {
        let mut config = C::default();
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            config.set(&name, &value).map_err(serde::de::Error::custom)?;
        }
        Ok(config)
    }
}

#[doc(hidden)]
pub use ranlab_campaign::{schema::Kind as KindOf, value::Value as ValueOf};
#[doc(hidden)]
pub use serde;

/// Returns a field's notation; by default that of its type.
#[doc(hidden)]
#[macro_export]
macro_rules! adapter {
    () => {
        $crate::field::Same
    };
    ($adapter:ty) => {
        $adapter
    };
}

/// Declares the configuration of a component. Each field has a description (used for flags, keys and rustdoc), a type
/// that implements [`FieldType`], a default, and optional calls of [`Field`]'s methods. For a type of another crate,
/// `field: Type as Adapter` names how it is written ([`As`]).
#[macro_export]
macro_rules! config {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[doc = $doc:literal])+ $field:ident : $type:ty $(as $adapter:ty)? = $default:expr $(, $method:ident ( $($argument:tt)* ))* ; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        // Test configurations are private to their module, and the comments are also help texts.
        #[allow(unreachable_pub, rustdoc::broken_intra_doc_links)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $type, )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $default, )* }
            }
        }

        impl $crate::ConfigFields for $name {
            fn described(&self) -> Vec<$crate::Field> {
                <Self as $crate::Config>::fields()
            }
            fn get(&self, name: &str) -> Option<$crate::field::ValueOf> {
                match name {
                    $( stringify!($field) => <$crate::adapter!($($adapter)?) as $crate::field::As<$type>>::to_value(&self.$field), )*
                    _ => None,
                }
            }
        }

        impl $crate::Config for $name {
            fn fields() -> Vec<$crate::Field> {
                let default = Self::default();
                vec![$(
                    $crate::Field::new::<$crate::adapter!($($adapter)?), $type>(stringify!($field), concat!($($doc),+).trim(), &default.$field)
                        $( .$method($($argument)*) )*,
                )*]
            }
            fn set(&mut self, name: &str, value: &$crate::field::ValueOf) -> Result<(), $crate::FieldError> {
                let fields = <Self as $crate::Config>::fields();
                match name {
                    $( stringify!($field) => self.$field = $crate::field::checked::<$crate::adapter!($($adapter)?), $type>(name, &fields, value)?, )*
                    _ => return Err($crate::FieldError::unknown(name, &fields)),
                }
                Ok(())
            }
        }

        impl $crate::field::serde::Serialize for $name {
            fn serialize<S: $crate::field::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::field::write(self, serializer)
            }
        }

        impl<'de> $crate::field::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::field::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_map($crate::field::Reader::<Self>(std::marker::PhantomData))
            }
        }
    };
}

#[cfg(test)]
mod tests;
