//! Identity and components of an agent's node.
use crate::error::*;
use crate::guard::POOL_BYTES;
use crate::types::*;
use ranlab_e2::agent::AgentConfig;
use ranlab_e2_codec::e2ap::{
    ComponentConfigItem, ComponentConfiguration, ComponentId, ComponentInterfaceType, E2NodeEnGnb, E2NodeEnb,
    E2NodeGnb, E2NodeNgEnb, EnbId, GlobalE2NodeId, GlobalEnGnbId, GlobalEnbId, GlobalGnbId, GlobalNgEnbId,
    InterfaceE1, InterfaceF1, InterfaceNg, InterfaceS1, InterfaceW1, InterfaceX2, MAX_PART_ID, NgEnbId, Plmn,
    Version,
};
use ranlab_e2_codec::per::ShortBits;

/// # Safety
/// The strings of `config` are null or valid.
pub(crate) unsafe fn agent_config(config: &ranlab_agent_config) -> Result<AgentConfig, i32> {
    let plausible = is_network(config.mcc, config.mnc, config.mnc_digits)
        && (18..=32).contains(&config.gnb_id_bits)
        && u64::from(config.gnb_id) < 1 << config.gnb_id_bits
        && config.part_id <= MAX_PART_ID;
    if !plausible {
        return Err(RANLAB_ERR_INVALID);
    }
    let version = version(config.e2ap)?;
    let core_name = match config.amf_name.is_null() {
        true => "amf",
        // SAFETY: the caller guarantees the requirements under `# Safety`.
        false => unsafe { string(config.amf_name)? },
    };
    // Names are PrintableStrings of 1 to 150 characters. An invalid one is refused here rather than at the setup.
    let printable = core_name.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    if !(1..=150).contains(&core_name.len()) || !printable {
        return Err(RANLAB_ERR_INVALID);
    }
    let node_id = node_id(config).ok_or(RANLAB_ERR_INVALID)?;
    Ok(AgentConfig::new(node_id, components(config, core_name)).with(|it| {
        it.version = version;
        it.seed = config.seed;
        it.pool_bytes = POOL_BYTES;
    }))
}

/// Returns whether these numbers form a valid PLMN.
pub(crate) fn is_network(mcc: u16, mnc: u16, mnc_digits: u8) -> bool {
    let limit = if mnc_digits == 3 { 999 } else { 99 };
    mcc <= 999 && matches!(mnc_digits, 2 | 3) && mnc <= limit
}

pub(crate) fn version(e2ap: u8) -> Result<Version, i32> {
    match e2ap {
        RANLAB_E2AP_2_03 => Ok(Version::V2_03),
        RANLAB_E2AP_1_01 => Ok(Version::V1_01),
        RANLAB_E2AP_3_01 => Ok(Version::V3_01),
        _ => Err(RANLAB_ERR_INVALID),
    }
}

fn ng_enb_id(id: ShortBits) -> Option<NgEnbId> {
    Some(match id.len_bits {
        18 => NgEnbId::ShortMacro(id),
        20 => NgEnbId::Macro(id),
        21 => NgEnbId::LongMacro(id),
        _ => return None,
    })
}

fn enb_id(id: ShortBits) -> Option<EnbId> {
    Some(match id.len_bits {
        18 => EnbId::ShortMacro(id),
        20 => EnbId::Macro(id),
        21 => EnbId::LongMacro(id),
        28 => EnbId::Home(id),
        _ => return None,
    })
}

/// Returns the identity, if it is valid. The length of an eNB's id determines its type.
fn node_id(config: &ranlab_agent_config) -> Option<GlobalE2NodeId> {
    let plmn = Plmn::new(config.mcc, config.mnc, config.mnc_digits);
    let id = ShortBits::new(u64::from(config.gnb_id), config.gnb_id_bits);
    let part = Some(config.part_id);
    let is_gnb_id = (22..=32).contains(&id.len_bits);
    let gnb = |cu_up_id, du_id| {
        let gnb = GlobalGnbId { plmn, gnb_id: id };
        is_gnb_id.then_some(GlobalE2NodeId::Gnb(E2NodeGnb { gnb, en_gnb: None, cu_up_id, du_id }))
    };
    let en_gnb = |cu_up_id, du_id| {
        let en_gnb = GlobalEnGnbId { plmn, gnb_id: id };
        is_gnb_id.then_some(GlobalE2NodeId::EnGnb(E2NodeEnGnb { en_gnb, cu_up_id, du_id }))
    };
    let ng_enb = |du_id| {
        let ng_enb = GlobalNgEnbId { plmn, enb_id: ng_enb_id(id)? };
        Some(GlobalE2NodeId::NgEnb(E2NodeNgEnb { ng_enb, enb: None, du_id }))
    };
    match config.node {
        RANLAB_NODE_GNB | RANLAB_NODE_GNB_CU | RANLAB_NODE_GNB_CU_CP => gnb(None, None),
        RANLAB_NODE_GNB_CU_UP => gnb(part, None),
        RANLAB_NODE_GNB_DU => gnb(None, part),
        RANLAB_NODE_NG_ENB => ng_enb(None),
        RANLAB_NODE_ENB => {
            let enb = GlobalEnbId { plmn, enb_id: enb_id(id)? };
            Some(GlobalE2NodeId::Enb(E2NodeEnb { enb }))
        }
        RANLAB_NODE_EN_GNB => en_gnb(None, None),
        // v1.01 does not define the split nodes of an en-gNB or an ng-eNB.
        _ if config.e2ap == RANLAB_E2AP_1_01 => None,
        RANLAB_NODE_EN_GNB_CU_UP => en_gnb(part, None),
        RANLAB_NODE_EN_GNB_DU => en_gnb(None, part),
        RANLAB_NODE_NG_ENB_DU => ng_enb(part),
        _ => None,
    }
}

/// Returns the interfaces by which a controller recognizes the node's role in its base station.
fn components(config: &ranlab_agent_config, core_name: &str) -> Vec<ComponentConfigItem> {
    let part = config.part_id;
    let component = |interface, id| {
        let configuration = ComponentConfiguration::default();
        ComponentConfigItem { interface, id, configuration }
    };
    let amf_name = core_name.to_owned();
    let mme_name = core_name.to_owned();
    let ng = || component(ComponentInterfaceType::Ng, ComponentId::Ng(InterfaceNg { amf_name }));
    let s1 = || component(ComponentInterfaceType::S1, ComponentId::S1(InterfaceS1 { mme_name }));
    let f1 = || component(ComponentInterfaceType::F1, ComponentId::F1(InterfaceF1 { du_id: part }));
    let e1 = || component(ComponentInterfaceType::E1, ComponentId::E1(InterfaceE1 { cu_up_id: part }));
    let w1 = || component(ComponentInterfaceType::W1, ComponentId::W1(InterfaceW1 { du_id: part }));
    // The identity of the eNB to which an en-gNB belongs is not relevant here.
    let x2 =
        || component(ComponentInterfaceType::X2, ComponentId::X2(InterfaceX2 { enb: None, en_gnb: None }));
    match config.node {
        RANLAB_NODE_GNB_CU => vec![ng(), f1()],
        RANLAB_NODE_GNB_CU_CP => vec![ng(), f1(), e1()],
        RANLAB_NODE_GNB_CU_UP | RANLAB_NODE_EN_GNB_CU_UP => vec![e1()],
        RANLAB_NODE_GNB_DU | RANLAB_NODE_EN_GNB_DU => vec![f1()],
        RANLAB_NODE_ENB => vec![s1()],
        RANLAB_NODE_EN_GNB => vec![x2()],
        RANLAB_NODE_NG_ENB_DU => vec![w1()],
        _ => vec![ng()],
    }
}
