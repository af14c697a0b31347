//! RAN parameters: values, definitions, and tests (E2SM-RC clause 8.3).
use bytes::Bytes;

use super::LIST_MAX;
use crate::e2sm::common::{Name, sole_component};
use crate::per::{
    BitString, Codec, DecodeError, EncodeError, IntExt, List, Notation, Opt, Per, SelfCoded, Source,
    Unconstrained, Writer,
};
use crate::{choice, enumerated, sequence};

/// Codec of a parameter id.
pub(super) type ParameterId = IntExt<1, 4_294_967_295>;
/// Codec of the ids of conditions, actions, breakpoints and similar.
pub(super) type Number = IntExt<1, 65_535>;

choice! {
    /// Value of an element.
    Value "RANParameter-Value" {
        Bool(bool) [Unconstrained] "valueBoolean", "A Boolean.",
        Int(i64) [Unconstrained] "valueInt", "A number.",
        Real(f64) [Unconstrained] "valueReal", "A number with a fraction.",
        Bits(BitString) [Unconstrained] "valueBitS", "Bits.",
        Octets(Bytes) [Unconstrained] "valueOctS", "Bytes.",
        Text(String) [Unconstrained] "valuePrintableString", "Text.",
    }
    /// Value of a parameter.
    ParameterValue "RANParameter-ValueType" {
        Key(Value) [KeyElement] "ranP-Choice-ElementTrue", "An element that is a key of the structure.",
        Element(OptionalValue) [SelfCoded] "ranP-Choice-ElementFalse", "An element that is not a key.",
        Structure(Structure) [StructureChoice] "ranP-Choice-Structure", "A structure of parameters.",
        List(Vec<Structure>) [ListChoice] "ranP-Choice-List", "A list of structures with the same parameters.",
    }
}
sequence! {
    /// Value of an element, which may be omitted when a report is requested.
    OptionalValue "RANParameter-ValueType-Choice-ElementFalse" {
        value: Option<Value> [Opt] "ranParameter-value", "Value.",
    }
    /// A structure of parameters.
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
    KeyElement "ranParameter-value" Value [SelfCoded];
    StructureChoice "ranParameter-Structure" Structure [SelfCoded];
    ListChoice "ranParameter-List" Vec<Structure> [Structures];
    Structures "list-of-ranParameter" Vec<Structure> [List<1, LIST_MAX>];
}

/// Codec of a recursive type.
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
    /// Returns a key element.
    pub const fn key(id: u32, value: Value) -> Self {
        Self { id, value: ParameterValue::Key(value) }
    }

    /// Returns an element that is not a key.
    pub const fn element(id: u32, value: Value) -> Self {
        Self { id, value: ParameterValue::Element(OptionalValue { value: Some(value) }) }
    }

    /// Returns a structure.
    pub const fn structure(id: u32, parameters: Vec<Self>) -> Self {
        Self { id, value: ParameterValue::Structure(Structure { parameters: Some(parameters) }) }
    }

    /// Returns a list of structures.
    pub fn list(id: u32, structures: impl IntoIterator<Item = Vec<Self>>) -> Self {
        let one = |parameters| Structure { parameters: Some(parameters) };
        Self { id, value: ParameterValue::List(structures.into_iter().map(one).collect()) }
    }

    /// Returns the value of an element.
    pub const fn scalar(&self) -> Option<&Value> {
        match &self.value {
            ParameterValue::Key(value) => Some(value),
            ParameterValue::Element(element) => element.value.as_ref(),
            _ => None,
        }
    }

    /// Returns the parameters of a structure; empty for anything else.
    pub fn parts(&self) -> &[Self] {
        if let ParameterValue::Structure(structure) = &self.value { structure.parts() } else { &[] }
    }
}

impl Structure {
    /// Returns the parameters.
    pub fn parts(&self) -> &[Parameter] {
        self.parameters.as_deref().unwrap_or_default()
    }
}

sequence! {
    /// Definition of a parameter's elements.
    Definition "RANParameter-Definition" {
        parts: Parts [SelfCoded] "ranParameter-Definition-Choice", "Elements.",
    }
    /// An element of a parameter.
    Part "RANParameter-Definition-Choice-LIST-Item" {
        id: u32 [ParameterId] "ranParameter-ID", "Id of the element.",
        name: String [Name] "ranParameter-name", "Name.",
        definition: Option<Definition> [Opt<Nested>] "ranParameter-Definition", "Definition of the nested structure.",
    }
    /// A parameter that a function supports or that is requested.
    KnownParameter "ControlAction-RANParameter-Item" {
        id: u32 [ParameterId] "ranParameter-ID", "Parameter id.",
        name: String [Name] "ranParameter-name", "Name.";
        definition: Definition [Nested] "ranParameter-Definition", "Definition of the elements.",
    }
    /// A parameter to report.
    WantedParameter "E2SM-RC-ActionDefinition-Format1-Item" {
        id: u32 [ParameterId] "ranParameter-ID", "Parameter id.";
        definition: Definition [Nested] "ranParameter-Definition", "Requested elements.",
    }
}
choice! {
    /// Elements of a parameter.
    Parts "RANParameter-Definition-Choice" {
        List(Vec<Part>) [ListParts] "choiceLIST", "Elements of a list.",
        Structure(Vec<Part>) [StructureParts] "choiceSTRUCTURE", "Elements of a structure.",
    }
}
sole_component! {
    ListParts "ranParameter-List" Vec<Part> [List<1, LIST_MAX>];
    StructureParts "ranParameter-STRUCTURE" Vec<Part> [List<1, LIST_MAX>];
}

/// Codec of combined tests.
pub(super) type Tests = List<1, 255>;

enumerated! {
    /// Combination with the next condition. Unlike in KPM, it can explicitly be false.
    LogicalOr "LogicalOR" {
        True "true", "The condition is combined with the next one by OR.",
        False "false", "The condition is combined with the next one by AND.",
    }
    /// Comparison of an element.
    Comparison "ranP-Choice-comparison" {
        Equal "equal", "Equal to the value.",
        Difference "difference", "Changed by the value.",
        GreaterThan "greaterthan", "Greater than the value.",
        LessThan "lessthan", "Less than the value.",
        Contains "contains", "Contains the value.",
        StartsWith "starts-with", "Starts with the value.",
    }
    /// Presence test of an element.
    Presence "ranP-Choice-presence" {
        Present "present", "Is present.",
        Configured "configured", "Is configured.",
        Rollover "rollover", "Was restarted.",
        NonZero "non-zero", "Is not zero.",
    }
}
choice! {
    /// Test of an element's value or presence.
    #[derive(Copy, Eq, Hash)]
    TestCondition "RANParameter-TestingCondition" {
        Comparison(Comparison) [SelfCoded] "ranP-Choice-comparison", "Comparison.",
        Presence(Presence) [SelfCoded] "ranP-Choice-presence", "Presence.",
    }
    /// Type of a parameter's test.
    TestedAs "ranParameter-Type" {
        List(Vec<ParameterTest>) [ListTests] "ranP-Choice-List", "A list.",
        Structure(Vec<ParameterTest>) [StructureTests] "ranP-Choice-Structure", "A structure.",
        Key(Value) [KeyTest] "ranP-Choice-ElementTrue", "A key element of this value.",
        Element(ElementTest) [SelfCoded] "ranP-Choice-ElementFalse", "An element.",
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
        condition: TestCondition [SelfCoded] "ranParameter-TestCondition", "Presence test.",
        value: Option<Value> [Opt] "ranParameter-Value", "Value to compare with.",
        or: Option<LogicalOr> [Opt] "logicalOR", "Combination with the next test.",
    }
}
sole_component! {
    ListTests "ranParameter-List" Vec<ParameterTest> [List<1, LIST_MAX>];
    StructureTests "ranParameter-Structure" Vec<ParameterTest> [List<1, LIST_MAX>];
    KeyTest "ranParameter-value" Value [SelfCoded];
}
