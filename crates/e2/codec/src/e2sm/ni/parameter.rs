//! RAN parameters and tests of them (E2SM-NI §8.3.6 to 8.3.10, 8.3.14 to 8.3.16 and 8.3.26 to 8.3.28).
use bytes::Bytes;

use crate::e2sm::common::{Name, sole_optional};
use crate::per::{BitString, Int, List, SelfCoded, Unconstrained};
use crate::{choice, enumerated, sequence};

/// Maximum number of parameters in most lists.
pub const PARAMETERS_MAX: u64 = 65_535;

/// Codec of the ids of parameters and of information elements.
pub(super) type Number = Int<0, 65_535>;
/// Codec of a non-empty list of parameters.
pub(super) type Parameters = List<1, PARAMETERS_MAX>;

choice! {
    /// Value of a parameter or an information element.
    #[derive(Eq)]
    Value "RANparameter-Value" {
        Int(i64) [Unconstrained] "valueInt", "A number.",
        Enum(i64) [Unconstrained] "valueEnum", "An enumeration value.",
        Bool(bool) [Unconstrained] "valueBool", "A Boolean.",
        Bits(BitString) [Unconstrained] "valueBitS", "Bits.",
        Octets(Bytes) [Unconstrained] "valueOctS", "Bytes.",
        Text(String) [Unconstrained] "valuePrtS", "Text.",
    }
}
enumerated! {
    /// Type of a parameter's values.
    ParameterType "RANparameter-Type" {
        Integer "integer", "Numbers.",
        Enumerated "enumerated", "An enumeration.",
        Boolean "boolean", "A Boolean.",
        Bits "bit-string", "Bits.",
        Octets "octet-string", "Bytes.",
        Text "printable-string", "Text.",
    }
    /// Comparison of a received value with the value of a test.
    Test "NI-ProtocolIE-Test" {
        Equal "equal", "Equal.",
        Greater "greaterthan", "Greater.",
        Less "lessthan", "Less.",
        Contains "contains", "Contains the value of the test.",
        Present "present", "Is present.",
    }
}
sequence! {
    /// A parameter and its value.
    #[derive(Eq)]
    Parameter "RANparameter-Item" {
        id: u16 [Number] "ranParameter-ID", "Parameter id.",
        value: Value [SelfCoded] "ranParameter-Value", "Value.",
    }
    /// Definition of a parameter.
    #[derive(Eq, Hash)]
    KnownParameter "RANparameterDef-Item" {
        id: u16 [Number] "ranParameter-ID", "Parameter id.",
        name: String [Name] "ranParameter-Name", "Name.",
        of: ParameterType [SelfCoded] "ranParameter-Type", "Type of the values.",
    }
    /// A test of a parameter.
    #[derive(Eq)]
    ParameterTest "RANueGroupDef-Item" {
        id: u16 [Number] "ranParameter-ID", "Id of the parameter.",
        test: Test [SelfCoded] "ranParameter-Test", "Comparison.",
        value: Value [SelfCoded] "ranParameter-Value", "Value to compare with.",
    }
    /// A test of an information element of a message.
    #[derive(Eq)]
    ElementTest "NI-ProtocolIE-Item" {
        id: u16 [Number] "interfaceProtocolIE-ID", "Element: ProtocolIE-ID of the interface's protocol.",
        test: Test [SelfCoded] "interfaceProtocolIE-Test", "Comparison.",
        value: Value [SelfCoded] "interfaceProtocolIE-Value", "Value to compare with.",
    }
    /// A group of UEs and its policy.
    #[derive(Eq)]
    UeGroup "RANueGroup-Item" {
        id: u8 [Int<0, 255>] "ranUEgroupID", "Group id; group 0 contains the UEs of no other group.",
        tests: Option<Vec<ParameterTest>> [GroupTests] "ranUEgroupDefinition", "Tests that must all hold for the UEs of the group.",
        policy: Option<Vec<Parameter>> [Policy] "ranPolicy", "Policy of the group.",
    }
}
sole_optional! {
    GroupTests "ranUEgroupDef-List" Vec<ParameterTest> [Parameters];
    Policy "ranImperativePolicy-List" Vec<Parameter> [Parameters];
}
