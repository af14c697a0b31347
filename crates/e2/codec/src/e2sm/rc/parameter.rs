//! RAN parameters: values, what is known of them, and tests of them (E2SM-RC clause 8.3).
use bytes::Bytes;

use super::LIST_MAX;
use crate::e2sm::common::{Name, sole_component};
use crate::per::{
    BitString, Codec, DecodeError, EncodeError, Free, IntExt, List, Notation, Opt, Own, Per, Source, Writer,
};
use crate::{choice, enumerated, sequence};

/// Codec of a parameter's number.
pub(super) type ParameterId = IntExt<1, 4_294_967_295>;
/// Codec of conditions', actions', break points' and like numbers.
pub(super) type Number = IntExt<1, 65_535>;

choice! {
    /// What an element is.
    Value "RANParameter-Value" {
        Bool(bool) [Free] "valueBoolean", "A Boolean.",
        Int(i64) [Free] "valueInt", "A number.",
        Real(f64) [Free] "valueReal", "A number with a fraction.",
        Bits(BitString) [Free] "valueBitS", "Bits.",
        Octets(Bytes) [Free] "valueOctS", "Bytes.",
        Text(String) [Free] "valuePrintableString", "Text.",
    }
    /// What a parameter is.
    ParameterValue "RANParameter-ValueType" {
        Key(Value) [KeyElement] "ranP-Choice-ElementTrue", "An element that is a key of its structure.",
        Element(OptionalValue) [Own] "ranP-Choice-ElementFalse", "An element that is not a key.",
        Structure(Structure) [StructureChoice] "ranP-Choice-Structure", "Parameters of its own.",
        List(Vec<Structure>) [ListChoice] "ranP-Choice-List", "Structures of the same parameters.",
    }
}
sequence! {
    /// An element's value, which may be left out where a report is wanted.
    OptionalValue "RANParameter-ValueType-Choice-ElementFalse" {
        value: Option<Value> [Opt] "ranParameter-value", "Value.",
    }
    /// Parameters that belong together.
    #[derive(Default)]
    Structure "RANParameter-STRUCTURE" {
        parameters: Option<Vec<Parameter>> [Opt<List<1, LIST_MAX>>] "sequence-of-ranParameters", "Elements.",
    }
    /// A parameter.
    Parameter "RANParameter-STRUCTURE-Item" {
        id: u32 [ParameterId] "ranParameter-ID", "Parameter id.",
        value: ParameterValue [Nested] "ranParameter-valueType", "Value.",
    }
}
sole_component! {
    KeyElement "ranParameter-value" Value [Own];
    StructureChoice "ranParameter-Structure" Structure [Own];
    ListChoice "ranParameter-List" Vec<Structure> [Structures];
    Structures "list-of-ranParameter" Vec<Structure> [List<1, LIST_MAX>];
}

/// Codec of what may contain itself.
#[derive(Debug)]
pub(super) struct Nested;

macro_rules! nested {
    ($($t:ty, $r:ident => $end:expr;)+) => { $(
        impl Codec<$t> for Nested {
            fn encode(value: &$t, w: &mut Writer) -> Result<(), EncodeError> {
                value.encode(w)
            }
            fn decode<S: Source>($r: &mut S) -> Result<$t, DecodeError> {
                if $r.is_deep() { $end } else { $r.nested(<$t>::decode) }
            }
            fn show(value: &$t, n: &mut Notation) {
                value.show(n);
            }
        }
    )+ };
}
nested! {
    ParameterValue, r => Value::decode(r).map(ParameterValue::Key);
    TestedAs, r => Value::decode(r).map(TestedAs::Key);
    Definition, r => Ok(Definition { parts: Parts::List(vec![Part { id: 1, name: <Name as Codec<String>>::decode(r)?, definition: None }]) });
}

impl Parameter {
    /// A key element.
    pub const fn key(id: u32, value: Value) -> Self {
        Self { id, value: ParameterValue::Key(value) }
    }

    /// An element that is no key.
    pub const fn element(id: u32, value: Value) -> Self {
        Self { id, value: ParameterValue::Element(OptionalValue { value: Some(value) }) }
    }

    /// A structure.
    pub const fn structure(id: u32, parameters: Vec<Self>) -> Self {
        Self { id, value: ParameterValue::Structure(Structure { parameters: Some(parameters) }) }
    }

    /// A list of structures.
    pub fn list(id: u32, structures: impl IntoIterator<Item = Vec<Self>>) -> Self {
        let one = |parameters| Structure { parameters: Some(parameters) };
        Self { id, value: ParameterValue::List(structures.into_iter().map(one).collect()) }
    }

    /// The value of an element.
    pub const fn scalar(&self) -> Option<&Value> {
        match &self.value {
            ParameterValue::Key(value) => Some(value),
            ParameterValue::Element(element) => element.value.as_ref(),
            _ => None,
        }
    }

    /// The parameters of a structure; nothing for anything else.
    pub fn parts(&self) -> &[Self] {
        if let ParameterValue::Structure(structure) = &self.value { structure.parts() } else { &[] }
    }
}

impl Structure {
    /// Its parameters.
    pub fn parts(&self) -> &[Parameter] {
        self.parameters.as_deref().unwrap_or_default()
    }
}

sequence! {
    /// What a parameter is made of.
    Definition "RANParameter-Definition" {
        parts: Parts [Own] "ranParameter-Definition-Choice", "Elements.",
    }
    /// A part of a parameter.
    Part "RANParameter-Definition-Choice-LIST-Item" {
        id: u32 [ParameterId] "ranParameter-ID", "Id of the element.",
        name: String [Name] "ranParameter-name", "Name.",
        definition: Option<Definition> [Opt<Nested>] "ranParameter-Definition", "What it is made of itself.",
    }
    /// A parameter that a function knows, or that is wanted.
    KnownParameter "ControlAction-RANParameter-Item" {
        id: u32 [ParameterId] "ranParameter-ID", "Parameter id.",
        name: String [Name] "ranParameter-name", "Name.";
        definition: Definition [Nested] "ranParameter-Definition", "What it is made of.",
    }
    /// A parameter that is to be reported.
    WantedParameter "E2SM-RC-ActionDefinition-Format1-Item" {
        id: u32 [ParameterId] "ranParameter-ID", "Parameter id.";
        definition: Definition [Nested] "ranParameter-Definition", "Requested elements.",
    }
}
choice! {
    /// The parts of a parameter.
    Parts "RANParameter-Definition-Choice" {
        List(Vec<Part>) [ListParts] "choiceLIST", "Elements of a list.",
        Structure(Vec<Part>) [StructureParts] "choiceSTRUCTURE", "Elements of a structure.",
    }
}
sole_component! {
    ListParts "ranParameter-List" Vec<Part> [List<1, LIST_MAX>];
    StructureParts "ranParameter-STRUCTURE" Vec<Part> [List<1, LIST_MAX>];
}

/// Codec of tests that are joined.
pub(super) type Tests = List<1, 255>;

enumerated! {
    /// How the next condition is joined to this one. Unlike KPM's it can say no.
    LogicalOr "LogicalOR" {
        True "true", "Combined with the next one by or.",
        False "false", "Combined with the next one by and.",
    }
    /// How an element is compared.
    Comparison "ranP-Choice-comparison" {
        Equal "equal", "Equal to the value.",
        Difference "difference", "Changed by the value.",
        GreaterThan "greaterthan", "Greater than the value.",
        LessThan "lessthan", "Less than the value.",
        Contains "contains", "Contains the value.",
        StartsWith "starts-with", "Starts with the value.",
    }
    /// What is looked for in an element.
    Presence "ranP-Choice-presence" {
        Present "present", "Is present.",
        Configured "configured", "Is configured.",
        Rollover "rollover", "Was restarted.",
        NonZero "non-zero", "Is not zero.",
    }
}
choice! {
    /// What an element is tested for.
    #[derive(Copy, Eq, Hash)]
    TestCondition "RANParameter-TestingCondition" {
        Comparison(Comparison) [Own] "ranP-Choice-comparison", "Comparison.",
        Presence(Presence) [Own] "ranP-Choice-presence", "Presence.",
    }
    /// What a parameter is tested as.
    TestedAs "ranParameter-Type" {
        List(Vec<ParameterTest>) [ListTests] "ranP-Choice-List", "A list.",
        Structure(Vec<ParameterTest>) [StructureTests] "ranP-Choice-Structure", "A structure.",
        Key(Value) [KeyTest] "ranP-Choice-ElementTrue", "A key element of this value.",
        Element(ElementTest) [Own] "ranP-Choice-ElementFalse", "An element.",
    }
}
sequence! {
    /// A test of a parameter.
    ParameterTest "RANParameter-Testing-Item" {
        id: u32 [ParameterId] "ranParameter-ID", "Id of the parameter.",
        tested: TestedAs [Nested] "ranParameter-Type", "Test.",
    }
    /// A test of an element.
    ElementTest "RANParameter-Testing-Item-Choice-ElementFalse" {
        condition: TestCondition [Own] "ranParameter-TestCondition", "Presence test.",
        value: Option<Value> [Opt] "ranParameter-Value", "Value to compare with.",
        or: Option<LogicalOr> [Opt] "logicalOR", "Combination with the next test.",
    }
}
sole_component! {
    ListTests "ranParameter-List" Vec<ParameterTest> [List<1, LIST_MAX>];
    StructureTests "ranParameter-Structure" Vec<ParameterTest> [List<1, LIST_MAX>];
    KeyTest "ranParameter-value" Value [Own];
}
