//! RAN parameters and tests of them (E2SM-NI §8.3.6 to 8.3.10, 8.3.14 to 8.3.16 and 8.3.26 to 8.3.28).
use bytes::Bytes;

use crate::e2sm::common::{Name, sole_optional};
use crate::per::{BitString, Free, Int, List, Own};
use crate::{choice, enumerated, sequence};

/// Parameters of most lists, at most.
pub const PARAMETERS_MAX: u64 = 65_535;

/// Codec of the numbers of parameters, and of protocols' information elements.
pub(super) type Number = Int<0, 65_535>;
/// Codec of parameters in a list that is at least there.
pub(super) type Parameters = List<1, PARAMETERS_MAX>;

choice! {
    /// What a parameter or an information element is.
    #[derive(Eq)]
    Value "RANparameter-Value" {
        Int(i64) [Free] "valueInt", "A number.",
        Enum(i64) [Free] "valueEnum", "One of several, by its number.",
        Bool(bool) [Free] "valueBool", "Yes or no.",
        Bits(BitString) [Free] "valueBitS", "Bits.",
        Octets(Bytes) [Free] "valueOctS", "Octets.",
        Text(String) [Free] "valuePrtS", "Text.",
    }
}
enumerated! {
    /// What a parameter's values are.
    ParameterType "RANparameter-Type" {
        Integer "integer", "Numbers.",
        Enumerated "enumerated", "Of several one, by its number.",
        Boolean "boolean", "Yes or no.",
        Bits "bit-string", "Bits.",
        Octets "octet-string", "Octets.",
        Text "printable-string", "Text.",
    }
    /// How a value is compared with that of a test.
    Test "NI-ProtocolIE-Test" {
        Equal "equal", "It is the same.",
        Greater "greaterthan", "It is greater.",
        Less "lessthan", "It is less.",
        Contains "contains", "The test's is part of it.",
        Present "present", "It is there, whatever it is.",
    }
}
sequence! {
    /// A parameter and its value.
    #[derive(Eq)]
    Parameter "RANparameter-Item" {
        id: u16 [Number] "ranParameter-ID", "Its number.",
        value: Value [Own] "ranParameter-Value", "What it is.",
    }
    /// What is known of a parameter.
    #[derive(Eq, Hash)]
    KnownParameter "RANparameterDef-Item" {
        id: u16 [Number] "ranParameter-ID", "Its number.",
        name: String [Name] "ranParameter-Name", "For people.",
        of: ParameterType [Own] "ranParameter-Type", "What its values are.",
    }
    /// A test of a parameter.
    #[derive(Eq)]
    ParameterTest "RANueGroupDef-Item" {
        id: u16 [Number] "ranParameter-ID", "Of which.",
        test: Test [Own] "ranParameter-Test", "How.",
        value: Value [Own] "ranParameter-Value", "With what.",
    }
    /// A test of an information element of a message.
    #[derive(Eq)]
    ElementTest "NI-ProtocolIE-Item" {
        id: u16 [Number] "interfaceProtocolIE-ID", "Of which: ProtocolIE-ID of the interface's protocol.",
        test: Test [Own] "interfaceProtocolIE-Test", "How.",
        value: Value [Own] "interfaceProtocolIE-Value", "With what.",
    }
    /// A group of UEs, and what applies to it.
    #[derive(Eq)]
    UeGroup "RANueGroup-Item" {
        id: u8 [Int<0, 255>] "ranUEgroupID", "Its number; 0 has the UEs of no other.",
        tests: Option<Vec<ParameterTest>> [GroupTests] "ranUEgroupDefinition", "All of these hold of its UEs.",
        policy: Option<Vec<Parameter>> [Policy] "ranPolicy", "What applies.",
    }
}
sole_optional! {
    GroupTests "ranUEgroupDef-List" Vec<ParameterTest> [Parameters];
    Policy "ranImperativePolicy-List" Vec<Parameter> [Parameters];
}
