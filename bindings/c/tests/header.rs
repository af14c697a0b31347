//! `include/ranlab.h` says what the library does: the same functions, types, offsets and numbers.
#![allow(clippy::unwrap_used)] // in a test a panic is the report
mod build;

use ranlab_c::*;
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::fmt::Write as _;
use std::mem::{align_of, offset_of, size_of};

/// How a type is written in C.
trait CType {
    fn c() -> String;
}

macro_rules! c_types {
    ($( $rust:ty => $c:literal ),+ $(,)?) => { $( impl CType for $rust { fn c() -> String { $c.to_owned() } } )+ };
}

c_types! {
    f64 => "double", i64 => "int64_t", u8 => "uint8_t", u16 => "uint16_t", u32 => "uint32_t", u64 => "uint64_t", usize => "size_t", i32 => "int32_t",
    // `c_char` where it is signed; elsewhere this test could not tell it from `u8`.
    i8 => "char", c_void => "void",
    ranlab_agent => "ranlab_agent", ranlab_agent_config => "ranlab_agent_config",
    ranlab_context => "ranlab_context", ranlab_event => "ranlab_event", ranlab_function => "ranlab_function",
    ranlab_kpm => "ranlab_kpm", ranlab_insert => "ranlab_insert",
}

impl<T: CType> CType for *const T {
    fn c() -> String {
        format!("const {} *", T::c())
    }
}

impl<T: CType> CType for *mut T {
    fn c() -> String {
        format!("{} *", T::c())
    }
}

macro_rules! function_types {
    ($( ($($p:ident)+) )+) => { $(
        impl<R: CType, $($p: CType),+> CType for unsafe extern "C" fn($($p),+) -> R {
            fn c() -> String {
                format!("{} (*)({})", R::c(), [$( $p::c() ),+].join(", "))
            }
        }
    )+ };
}

function_types! { (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) }

fn function<T: CType>(_: T, name: &str) -> String {
    format!("_Static_assert(_Generic(&{name}, {}: 1, default: 0), \"{name}\");\n", T::c())
}

macro_rules! functions {
    ($( $name:ident($($p:tt)+) )+) => {
        [$( (stringify!($name), function($name as unsafe extern "C" fn($($p)+) -> _, stringify!($name))) ),+]
    };
}

macro_rules! layout {
    ($source:ident: $( $t:ident { $($f:ident)+ } )+) => { $(
        let name = stringify!($t);
        let (size, align) = (size_of::<$t>(), align_of::<$t>());
        writeln!($source, "_Static_assert(sizeof({name}) == {size} && _Alignof({name}) == {align}, \"{name}\");").unwrap();
        // A field more or less in the header changes the sum of the sizes, or a warning says that it is not set.
        $( let (field, offset) = (stringify!($f), offset_of!($t, $f));
        writeln!($source, "_Static_assert(offsetof({name}, {field}) == {offset}, \"{name}.{field}\");").unwrap(); )+
    )+ };
}

macro_rules! numbers {
    ($source:ident: $( $name:ident )+) => { $(
        writeln!($source, "_Static_assert({0} == {1}u, \"{0}\");", stringify!($name), u64::from($name)).unwrap();
    )+ };
}

fn declared_functions() -> BTreeSet<String> {
    let header = std::fs::read_to_string(build::manifest_dir().join("include/ranlab.h")).unwrap();
    let prototypes =
        header.lines().filter(|l| l.starts_with("int32_t ranlab_") || l.starts_with("const char *ranlab_"));
    prototypes.map(|l| l[l.find("ranlab_").unwrap()..l.find('(').unwrap()].to_owned()).collect()
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "char is not i8 here")]
fn the_header_agrees_with_the_library() {
    let mut source = String::from("#include \"ranlab.h\"\n");
    let functions = functions! {
        ranlab_agent_new(_, _) ranlab_agent_free(_) ranlab_agent_register_function(_, _, _, _)
        ranlab_agent_register_kpm(_, _, _)
        ranlab_agent_add_controller(_, _, _, _) ranlab_agent_remove_controller(_, _, _)
        ranlab_agent_connected(_, _, _) ranlab_agent_disconnected(_, _, _) ranlab_agent_receive(_, _, _, _, _)
        ranlab_agent_wake(_, _) ranlab_agent_wake_at(_, _) ranlab_agent_poll(_, _)
        ranlab_agent_transmit(_, _, _, _, _, _) ranlab_context_now(_, _)
        ranlab_context_indicate(_, _, _, _, _, _, _) ranlab_context_wake_at(_, _) ranlab_error_text(_)
        ranlab_context_insert(_, _) ranlab_agent_ue_arrived(_, _) ranlab_agent_ue_left(_, _)
        ranlab_agent_associate_ue(_, _, _) ranlab_agent_dissociate_ue(_, _, _)
    };
    let checked: BTreeSet<_> = functions.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(checked, declared_functions());
    source.extend(functions.into_iter().map(|(_, check)| check));
    layout! { source:
        ranlab_agent_config { mcc mnc mnc_digits gnb_id_bits gnb_id seed amf_name node e2ap part_id }
        ranlab_ue { number sst sd delivered_bytes pdcp_sdu_bytes prbs rlc_delay_us }
        ranlab_kpm { prbs time_us read }
        ranlab_event { kind controller subscription text }
        ranlab_action { id kind definition definition_len }
        ranlab_subscription { id controller event_trigger event_trigger_len actions actions_len }
        ranlab_control { controller header header_len message message_len call_process_id call_process_id_len }
        ranlab_insert {
            subscription action header header_len message message_len call_process_id call_process_id_len
        }
        ranlab_function {
            oid definition definition_len revision on_subscription on_subscription_delete on_control on_wake
        }
    }
    numbers! { source:
        RANLAB_EVENT_NONE RANLAB_EVENT_CONNECT RANLAB_EVENT_TRANSMIT RANLAB_EVENT_CLOSE RANLAB_EVENT_SETUP
        RANLAB_EVENT_DISCONNECTED RANLAB_EVENT_SUBSCRIBED RANLAB_EVENT_UNSUBSCRIBED RANLAB_EVENT_OTHER
        RANLAB_ACTION_REPORT RANLAB_ACTION_INSERT RANLAB_ACTION_POLICY
        RANLAB_NODE_GNB RANLAB_NODE_GNB_CU RANLAB_NODE_GNB_CU_CP RANLAB_NODE_GNB_CU_UP RANLAB_NODE_GNB_DU
        RANLAB_NODE_NG_ENB RANLAB_NODE_ENB RANLAB_E2AP_2_03 RANLAB_E2AP_1_01 RANLAB_E2AP_3_01 RANLAB_NO_SD
        RANLAB_CONTROL_DONE RANLAB_CONTROL_INVALID RANLAB_CONTROL_FAILED RANLAB_NEVER
    }
    for (name, number) in ERRORS {
        writeln!(source, "_Static_assert({name} == {number}, \"{name}\");").unwrap();
    }
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("header.c");
    std::fs::write(&file, source).unwrap();
    assert!(build::cc().arg("-fsyntax-only").arg(file).status().unwrap().success());
}
