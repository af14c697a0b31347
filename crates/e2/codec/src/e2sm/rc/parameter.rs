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
        Bool(bool) [Free] "valueBoolean", "Yes or no.",
        Int(i64) [Free] "valueInt", "A number.",
        Real(f64) [Free] "valueReal", "A number with a fraction.",
        Bits(BitString) [Free] "valueBitS", "Bits.",
        Octets(Bytes) [Free] "valueOctS", "Octets.",
        Text(String) [Free] "valuePrintableString", "Text.",
    }
    /// What a parameter is.
    ParameterValue "RANParameter-ValueType" {
        Key(Value) [KeyElement] "ranP-Choice-ElementTrue", "An element that is a key of its structure.",
        Element(OptionalValue) [Own] "ranP-Choice-ElementFalse", "An element that is none.",
        Structure(Structure) [StructureChoice] "ranP-Choice-Structure", "Parameters of its own.",
        List(Vec<Structure>) [ListChoice] "ranP-Choice-List", "Structures of the same parameters.",
    }
}
sequence! {
    /// An element's value, which may be left out where a report is wanted.
    OptionalValue "RANParameter-ValueType-Choice-ElementFalse" {
        value: Option<Value> [Opt] "ranParameter-value", "The value.",
    }
    /// Parameters that belong together.
    #[derive(Default)]
    Structure "RANParameter-STRUCTURE" {
        parameters: Option<Vec<Parameter>> [Opt<List<1, LIST_MAX>>] "sequence-of-ranParameters", "They.",
    }
    /// A parameter.
    Parameter "RANParameter-STRUCTURE-Item" {
        id: u32 [ParameterId] "ranParameter-ID", "Its number in the table of its style and action.",
        value: ParameterValue [Nested] "ranParameter-valueType", "What it is.",
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
        parts: Parts [Own] "ranParameter-Definition-Choice", "Its parts.",
    }
    /// A part of a parameter.
    Part "RANParameter-Definition-Choice-LIST-Item" {
        id: u32 [ParameterId] "ranParameter-ID", "Its number.",
        name: String [Name] "ranParameter-name", "Its name.",
        definition: Option<Definition> [Opt<Nested>] "ranParameter-Definition", "What it is made of itself.",
    }
    /// A parameter that a function knows, or that is wanted.
    KnownParameter "ControlAction-RANParameter-Item" {
        id: u32 [ParameterId] "ranParameter-ID", "Its number.",
        name: String [Name] "ranParameter-name", "Its name.";
        definition: Definition [Nested] "ranParameter-Definition", "What it is made of.",
    }
    /// A parameter that is to be reported.
    WantedParameter "E2SM-RC-ActionDefinition-Format1-Item" {
        id: u32 [ParameterId] "ranParameter-ID", "Its number.";
        definition: Definition [Nested] "ranParameter-Definition", "Which parts of it.",
    }
}
choice! {
    /// The parts of a parameter.
    Parts "RANParameter-Definition-Choice" {
        List(Vec<Part>) [ListParts] "choiceLIST", "Of each element of a list.",
        Structure(Vec<Part>) [StructureParts] "choiceSTRUCTURE", "Of a structure.",
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
        True "true", "This one or the next is enough.",
        False "false", "Both are needed.",
    }
    /// How an element is compared.
    Comparison "ranP-Choice-comparison" {
        Equal "equal", "It is the value.",
        Difference "difference", "It differs from what it was by the value.",
        GreaterThan "greaterthan", "It is above the value.",
        LessThan "lessthan", "It is below the value.",
        Contains "contains", "It has the value in it.",
        StartsWith "starts-with", "It begins with the value.",
    }
    /// What is looked for in an element.
    Presence "ranP-Choice-presence" {
        Present "present", "It is there.",
        Configured "configured", "It is configured.",
        Rollover "rollover", "It began anew.",
        NonZero "non-zero", "It is not zero.",
    }
}
choice! {
    /// What an element is tested for.
    #[derive(Copy, Eq, Hash)]
    TestCondition "RANParameter-TestingCondition" {
        Comparison(Comparison) [Own] "ranP-Choice-comparison", "How it compares.",
        Presence(Presence) [Own] "ranP-Choice-presence", "What is there.",
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
        id: u32 [ParameterId] "ranParameter-ID", "Which.",
        tested: TestedAs [Nested] "ranParameter-Type", "How.",
    }
    /// A test of an element.
    ElementTest "RANParameter-Testing-Item-Choice-ElementFalse" {
        condition: TestCondition [Own] "ranParameter-TestCondition", "For what.",
        value: Option<Value> [Opt] "ranParameter-Value", "Against what.",
        or: Option<LogicalOr> [Opt] "logicalOR", "How the next test is joined.",
    }
}
sole_component! {
    ListTests "ranParameter-List" Vec<ParameterTest> [List<1, LIST_MAX>];
    StructureTests "ranParameter-Structure" Vec<ParameterTest> [List<1, LIST_MAX>];
    KeyTest "ranParameter-value" Value [Own];
}
