//! Checks that `include/ranlab*.h` match the library: functions, types, offsets and constants.
#![allow(clippy::unwrap_used)] // in a test a panic is the report
mod build;

use ranlab_c::*;
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::fmt::Write as _;
use std::mem::{align_of, offset_of, size_of};

/// Name of a type in C.
trait CType {
    fn c() -> String;
}

macro_rules! c_types {
    ($( $rust:ty => $c:literal ),+ $(,)?) => { $( impl CType for $rust { fn c() -> String { $c.to_owned() } } )+ };
}

c_types! {
    f32 => "float", f64 => "double", i64 => "int64_t", u8 => "uint8_t", u16 => "uint16_t", u32 => "uint32_t", u64 => "uint64_t", usize => "size_t", i32 => "int32_t",
    // `c_char` must be signed here. On other platforms, this test could not distinguish it from `u8`.
    i8 => "char", c_void => "void",
    ranlab_agent => "ranlab_agent", ranlab_agent_config => "ranlab_agent_config",
    ranlab_context => "ranlab_context", ranlab_event => "ranlab_event", ranlab_function => "ranlab_function",
    ranlab_kpm => "ranlab_kpm", ranlab_insert => "ranlab_insert",
    ranlab_mac => "ranlab_mac", ranlab_rlc => "ranlab_rlc", ranlab_pdcp => "ranlab_pdcp",
    ranlab_mac_ue => "ranlab_mac_ue", ranlab_rlc_bearer => "ranlab_rlc_bearer",
    ranlab_pdcp_bearer => "ranlab_pdcp_bearer",
    ranlab_wanted => "ranlab_wanted", ranlab_command => "ranlab_command",
    ranlab_quota => "ranlab_quota", ranlab_order => "ranlab_order", ranlab_values => "ranlab_values",
    ranlab_kpm_choice => "ranlab_kpm_choice",
    ranlab_ric => "ranlab_ric", ranlab_ric_config => "ranlab_ric_config", ranlab_ric_event => "ranlab_ric_event",
    ranlab_iapp => "ranlab_iapp", ranlab_iapp_context => "ranlab_iapp_context",
    ranlab_xapp => "ranlab_xapp", ranlab_xapp_config => "ranlab_xapp_config",
    ranlab_xapp_event => "ranlab_xapp_event",
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
        let size = size_of::<$t>();
        let align = align_of::<$t>();
        writeln!($source, "_Static_assert(sizeof({name}) == {size} && _Alignof({name}) == {align}, \"{name}\");").unwrap();
        // A field that is missing in the C struct changes its size. A field that is missing in this list causes a warning.
        $( let field = stringify!($f);
        let offset = offset_of!($t, $f);
        writeln!($source, "_Static_assert(offsetof({name}, {field}) == {offset}, \"{name}.{field}\");").unwrap(); )+
    )+ };
}

macro_rules! numbers {
    ($source:ident: $( $name:ident )+) => { $(
        writeln!($source, "_Static_assert({0} == {1}u, \"{0}\");", stringify!($name), u64::from($name)).unwrap();
    )+ };
}

/// All headers, in the order in which they include each other.
const HEADERS: [&str; 5] = ["ranlab.h", "ranlab_stats.h", "ranlab_nodes.h", "ranlab_ric.h", "ranlab_xapp.h"];

fn headers() -> String {
    let read =
        |name: &&str| std::fs::read_to_string(build::manifest_dir().join("include").join(name)).unwrap();
    HEADERS.iter().map(read).collect()
}

fn declared_functions() -> BTreeSet<String> {
    let headers = headers();
    let prototypes =
        headers.lines().filter(|l| l.starts_with("int32_t ranlab_") || l.starts_with("const char *ranlab_"));
    prototypes.map(|l| l[l.find("ranlab_").unwrap()..l.find('(').unwrap()].to_owned()).collect()
}

#[test]
fn oids_in_header_match_models() {
    use ranlab_sdk::wire::e2sm::{kpm, mac, pdcp, rlc};
    let headers = headers();
    for (name, oid) in [("MAC", mac::OID), ("RLC", rlc::OID), ("PDCP", pdcp::OID), ("KPM", kpm::OID)] {
        assert!(headers.contains(&format!("#define RANLAB_OID_{name} \"{oid}\"\n")), "{name}");
    }
}

/// Each header compiles without any other include, also as C++.
#[test]
fn headers_compile_separately_and_as_cpp() {
    for name in HEADERS {
        let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("alone_{name}.cpp"));
        std::fs::write(&file, format!("#include \"{name}\"\n#include \"{name}\"\nint main() {{}}\n"))
            .unwrap();
        for compiler in ["cc", "c++"] {
            let mut command = std::process::Command::new(compiler);
            let language =
                if compiler == "cc" { ["-x", "c", "-std=c11"] } else { ["-x", "c++", "-std=c++17"] };
            command.args(["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]);
            command.arg(build::manifest_dir().join("include")).args(language).arg(&file);
            match command.status() {
                Ok(status) => assert!(status.success(), "{name} with {compiler}"),
                Err(e) => eprintln!("{compiler} cannot be started ({e}), so {name} is not compiled with it"),
            }
        }
    }
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "char is not i8 here")]
fn header_matches_library() {
    let mut source: String = HEADERS.iter().map(|name| format!("#include \"{name}\"\n")).collect();
    let functions = functions! {
        ranlab_agent_new(_, _) ranlab_agent_free(_) ranlab_agent_register_function(_, _, _, _)
        ranlab_agent_register_kpm(_, _, _)
        ranlab_agent_add_controller(_, _, _, _) ranlab_agent_remove_controller(_, _, _)
        ranlab_agent_connected(_, _, _) ranlab_agent_disconnected(_, _, _) ranlab_agent_receive(_, _, _, _, _)
        ranlab_agent_wake(_, _) ranlab_agent_wake_at(_, _) ranlab_agent_poll(_, _) ranlab_agent_rouse(_, _, _)
        ranlab_agent_transmit(_, _, _, _, _, _) ranlab_context_now(_, _)
        ranlab_context_indicate(_, _, _, _, _, _, _) ranlab_context_wake_at(_, _) ranlab_error_text(_)
        ranlab_context_insert(_, _) ranlab_agent_ue_arrived(_, _) ranlab_agent_ue_left(_, _)
        ranlab_agent_associate_ue(_, _, _) ranlab_agent_dissociate_ue(_, _, _)
        ranlab_context_outcome(_, _, _) ranlab_context_answer_later(_, _) ranlab_context_answer(_, _, _)
        ranlab_context_shows_ue(_, _, _, _)
        ranlab_agent_register_mac(_, _, _) ranlab_agent_register_rlc(_, _, _) ranlab_agent_register_pdcp(_, _, _)
        ranlab_mac_read(_, _, _, _, _, _) ranlab_rlc_read(_, _, _, _, _, _) ranlab_pdcp_read(_, _, _, _, _, _)
        ranlab_model_trigger(_, _, _, _, _) ranlab_model_action(_, _, _, _, _, _, _)
        ranlab_model_control(_, _, _, _, _, _, _) ranlab_xapp_order(_, _, _, _) ranlab_iapp_order(_, _, _)
        ranlab_xapp_kpm_action(_, _, _, _, _) ranlab_iapp_kpm_action(_, _, _, _, _)
        ranlab_ric_new(_, _) ranlab_ric_free(_) ranlab_ric_add_iapp(_, _, _, _) ranlab_ric_rouse(_, _, _)
        ranlab_ric_connected(_, _, _, _, _) ranlab_ric_disconnected(_, _, _) ranlab_ric_receive(_, _, _, _, _)
        ranlab_ric_wake(_, _) ranlab_ric_wake_at(_, _) ranlab_ric_poll(_, _) ranlab_ric_transmit(_, _, _, _, _, _)
        ranlab_iapp_now(_, _) ranlab_iapp_subscribe(_, _, _) ranlab_iapp_unsubscribe(_, _)
        ranlab_iapp_control(_, _, _) ranlab_iapp_query(_, _, _) ranlab_iapp_wake_at(_, _)
        ranlab_xapp_new(_, _) ranlab_xapp_free(_) ranlab_xapp_connected(_, _) ranlab_xapp_disconnected(_, _)
        ranlab_xapp_receive(_, _, _, _) ranlab_xapp_wake(_, _) ranlab_xapp_wake_at(_, _) ranlab_xapp_poll(_, _)
        ranlab_xapp_transmit(_, _, _, _, _) ranlab_xapp_subscribe(_, _, _, _) ranlab_xapp_unsubscribe(_, _, _)
        ranlab_xapp_unsubscribe_all(_, _, _) ranlab_xapp_control(_, _, _, _) ranlab_xapp_lost(_, _, _)
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
            on_query
        }
        ranlab_query { controller header header_len definition definition_len }
        ranlab_mac { time_us read }
        ranlab_rlc { time_us read }
        ranlab_pdcp { time_us read }
        ranlab_mac_ue {
            dl_aggr_tbs ul_aggr_tbs dl_aggr_bytes_sdus ul_aggr_bytes_sdus dl_curr_tbs ul_curr_tbs dl_sched_rb
            ul_sched_rb pusch_snr pucch_snr dl_bler ul_bler dl_harq ul_harq dl_num_harq ul_num_harq rnti
            dl_aggr_prb ul_aggr_prb dl_aggr_sdus ul_aggr_sdus dl_aggr_retx_prb ul_aggr_retx_prb bsr frame slot
            wb_cqi dl_mcs1 ul_mcs1 dl_mcs2 ul_mcs2 phr
        }
        ranlab_rlc_bearer {
            txpdu_pkts txpdu_bytes txpdu_wt_ms txpdu_dd_pkts txpdu_dd_bytes txpdu_retx_pkts txpdu_retx_bytes
            txpdu_segmented txpdu_status_pkts txpdu_status_bytes txbuf_occ_bytes txbuf_occ_pkts rxpdu_pkts
            rxpdu_bytes rxpdu_dup_pkts rxpdu_dup_bytes rxpdu_dd_pkts rxpdu_dd_bytes rxpdu_ow_pkts rxpdu_ow_bytes
            rxpdu_status_pkts rxpdu_status_bytes rxbuf_occ_bytes rxbuf_occ_pkts txsdu_pkts txsdu_bytes
            txsdu_avg_time_to_tx_us txsdu_wt_us rxsdu_pkts rxsdu_bytes rxsdu_dd_pkts rxsdu_dd_bytes rnti mode rbid
        }
        ranlab_pdcp_bearer {
            txpdu_pkts txpdu_bytes txpdu_sn rxpdu_pkts rxpdu_bytes rxpdu_sn rxpdu_oo_pkts rxpdu_oo_bytes
            rxpdu_dd_pkts rxpdu_dd_bytes rxpdu_ro_count txsdu_pkts txsdu_bytes rxsdu_pkts rxsdu_bytes rnti mode
            rbid
        }
        ranlab_node_function { id revision oid definition definition_len }
        ranlab_node {
            node mcc mnc mnc_digits kind id_bits e2ap connected id part_id name functions functions_len
        }
        ranlab_indication {
            subscription node sn function action kind header header_len message message_len call_process_id
            call_process_id_len
        }
        ranlab_wanted { node function oid event_trigger event_trigger_len actions actions_len }
        ranlab_command {
            node function acknowledge oid header header_len message message_len call_process_id
            call_process_id_len
        }
        ranlab_quota { mcc mnc mnc_digits sst min max dedicated sd }
        ranlab_order {
            node kind acknowledge mnc_digits mcc mnc cell ue quotas quotas_len why why_max
        }
        ranlab_values { oid definition definition_len header message why why_max }
        ranlab_kpm_choice {
            node part style period_ms granularity_ms measurements ues snssai cell why why_max
        }
        ranlab_outcome { request done outcome outcome_len why }
        ranlab_ric_config { mcc mnc mnc_digits e2ap first_instance ric_id nodes_max }
        ranlab_ric_event { kind connection text }
        ranlab_subscription_news { subscription state admitted admitted_len why }
        ranlab_iapp { name on_node on_subscription on_indication on_outcome on_wake }
        ranlab_xapp_config { address seed e2ap dialect }
        ranlab_xapp_event {
            kind change subscription standing node indication outcome not_admitted not_admitted_len text
        }
    }
    numbers! { source:
        RANLAB_EVENT_NONE RANLAB_EVENT_CONNECT RANLAB_EVENT_TRANSMIT RANLAB_EVENT_CLOSE RANLAB_EVENT_SETUP
        RANLAB_EVENT_DISCONNECTED RANLAB_EVENT_SUBSCRIBED RANLAB_EVENT_UNSUBSCRIBED RANLAB_EVENT_OTHER
        RANLAB_ACTION_REPORT RANLAB_ACTION_INSERT RANLAB_ACTION_POLICY
        RANLAB_NODE_GNB RANLAB_NODE_GNB_CU RANLAB_NODE_GNB_CU_CP RANLAB_NODE_GNB_CU_UP RANLAB_NODE_GNB_DU
        RANLAB_NODE_NG_ENB RANLAB_NODE_ENB RANLAB_E2AP_2_03 RANLAB_E2AP_1_01 RANLAB_E2AP_3_01 RANLAB_NO_SD
        RANLAB_CONTROL_DONE RANLAB_CONTROL_INVALID RANLAB_CONTROL_FAILED RANLAB_NEVER
        RANLAB_NODE_EN_GNB RANLAB_NODE_EN_GNB_CU_UP RANLAB_NODE_EN_GNB_DU RANLAB_NODE_NG_ENB_DU
        RANLAB_NODE_ADDED RANLAB_NODE_CHANGED RANLAB_NODE_REMOVED RANLAB_E2AP_UNKNOWN RANLAB_NO_SN
        RANLAB_ORDER_QUOTAS RANLAB_ORDER_HANDOVER RANLAB_SIDE_E2 RANLAB_SIDE_E42 RANLAB_RIC_NONE RANLAB_RIC_TRANSMIT RANLAB_RIC_CLOSE RANLAB_RIC_LOG
        RANLAB_SUBSCRIBED RANLAB_SUBSCRIPTION_FAILED RANLAB_SUBSCRIPTION_ENDED
        RANLAB_E42_RANLAB RANLAB_E42_FLEXRIC RANLAB_E42_AUTO
        RANLAB_XAPP_NONE RANLAB_XAPP_CONNECT RANLAB_XAPP_TRANSMIT RANLAB_XAPP_CLOSE RANLAB_XAPP_READY
        RANLAB_XAPP_DISCONNECTED RANLAB_XAPP_NODE RANLAB_XAPP_SUBSCRIBED RANLAB_XAPP_SUBSCRIPTION_FAILED
        RANLAB_XAPP_UNSUBSCRIBED RANLAB_XAPP_INDICATION RANLAB_XAPP_OUTCOME RANLAB_XAPP_OTHER
    }
    for (name, number) in ERRORS {
        writeln!(source, "_Static_assert({name} == {number}, \"{name}\");").unwrap();
    }
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("header.c");
    std::fs::write(&file, source).unwrap();
    assert!(build::cc().arg("-fsyntax-only").arg(file).status().unwrap().success());
}
