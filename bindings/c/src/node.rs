//! Which node an agent is of, and which components it tells of.
use crate::error::*;
use crate::types::*;
use ranlab_e2::agent::AgentConfig;
use ranlab_wire::e2ap::{
    ComponentConfigItem, ComponentConfiguration, ComponentId, ComponentInterfaceType, E2NodeEnb, E2NodeGnb,
    E2NodeNgEnb, EnbId, GlobalE2NodeId, GlobalEnbId, GlobalGnbId, GlobalNgEnbId, InterfaceE1, InterfaceF1,
    InterfaceNg, InterfaceS1, MAX_PART_ID, NgEnbId, Plmn, Version,
};
use ranlab_wire::per::ShortBits;

/// Indications are put together and wait here, so that sending one allocates nothing.
const POOL_BYTES: usize = 64 << 10;
/// Bits of the identity of an eNB or ng-eNB that is a macro cell's.
const MACRO_BITS: u8 = 20;

/// # Safety
/// The strings of `config` are null or valid.
pub(crate) unsafe fn agent_config(config: &ranlab_agent_config) -> Result<AgentConfig, i32> {
    let limit = if config.mnc_digits == 3 { 999 } else { 99 };
    let is_enb = matches!(config.node, RANLAB_NODE_NG_ENB | RANLAB_NODE_ENB);
    let bits = if is_enb { MACRO_BITS..=MACRO_BITS } else { 22..=32 };
    let plausible = config.mcc <= 999
        && matches!(config.mnc_digits, 2 | 3)
        && config.mnc <= limit
        && bits.contains(&config.gnb_id_bits)
        && u64::from(config.gnb_id) < 1 << config.gnb_id_bits
        && config.part_id <= MAX_PART_ID;
    if !plausible {
        return Err(RANLAB_ERR_INVALID);
    }
    let version = match config.e2ap {
        RANLAB_E2AP_2_03 => Version::V2_03,
        RANLAB_E2AP_1_01 => Version::V1_01,
        RANLAB_E2AP_3_01 => Version::V3_01,
        _ => return Err(RANLAB_ERR_INVALID),
    };
    let core_name = match config.amf_name.is_null() {
        true => "amf",
        // SAFETY: the caller's promise.
        false => unsafe { string(config.amf_name)? },
    };
    // Names are PrintableStrings of 1 to 150 characters: what cannot be sent is refused here, not at the setup.
    let printable = core_name.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    if !(1..=150).contains(&core_name.len()) || !printable {
        return Err(RANLAB_ERR_INVALID);
    }
    let (node_id, components) = identity(config, core_name).ok_or(RANLAB_ERR_INVALID)?;
    Ok(AgentConfig::new(node_id, components).with(|it| {
        it.version = version;
        it.seed = config.seed;
        it.pool_bytes = POOL_BYTES;
    }))
}

fn identity(
    config: &ranlab_agent_config,
    core_name: &str,
) -> Option<(GlobalE2NodeId, Vec<ComponentConfigItem>)> {
    let plmn = Plmn::new(config.mcc, config.mnc, config.mnc_digits);
    let id = ShortBits::new(u64::from(config.gnb_id), config.gnb_id_bits);
    let part = config.part_id;
    let gnb = |cu_up_id, du_id| {
        let gnb = GlobalGnbId { plmn, gnb_id: id };
        GlobalE2NodeId::Gnb(E2NodeGnb { gnb, en_gnb: None, cu_up_id, du_id })
    };
    let component = |interface, id| {
        let configuration = ComponentConfiguration::default();
        ComponentConfigItem { interface, id, configuration }
    };
    let amf_name = core_name.to_owned();
    let ng = || component(ComponentInterfaceType::Ng, ComponentId::Ng(InterfaceNg { amf_name }));
    let f1 = || component(ComponentInterfaceType::F1, ComponentId::F1(InterfaceF1 { du_id: part }));
    let e1 = || component(ComponentInterfaceType::E1, ComponentId::E1(InterfaceE1 { cu_up_id: part }));
    Some(match config.node {
        RANLAB_NODE_GNB => (gnb(None, None), vec![ng()]),
        RANLAB_NODE_GNB_CU => (gnb(None, None), vec![ng(), f1()]),
        RANLAB_NODE_GNB_CU_CP => (gnb(None, None), vec![ng(), f1(), e1()]),
        RANLAB_NODE_GNB_CU_UP => (gnb(Some(part), None), vec![e1()]),
        RANLAB_NODE_GNB_DU => (gnb(None, Some(part)), vec![f1()]),
        RANLAB_NODE_NG_ENB => {
            let ng_enb = GlobalNgEnbId { plmn, enb_id: NgEnbId::Macro(id) };
            (GlobalE2NodeId::NgEnb(E2NodeNgEnb { ng_enb, enb: None, du_id: None }), vec![ng()])
        }
        RANLAB_NODE_ENB => {
            let mme_name = core_name.to_owned();
            let s1 = component(ComponentInterfaceType::S1, ComponentId::S1(InterfaceS1 { mme_name }));
            let enb = GlobalEnbId { plmn, enb_id: EnbId::Macro(id) };
            (GlobalE2NodeId::Enb(E2NodeEnb { enb }), vec![s1])
        }
        _ => return None,
    })
}
