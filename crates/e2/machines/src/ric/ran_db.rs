//! The RAN database: base stations and the nodes that they consist of.
use super::NodeInfo;
use ranlab_e2_codec::e2ap::{ComponentConfigItem, ComponentId, GlobalE2NodeId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Role of a node within its base station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeKind {
    /// Complete base station.
    Whole,
    /// Central unit, with control and user plane.
    Cu,
    /// Control plane of a central unit.
    CuCp,
    /// User plane of a central unit.
    CuUp,
    /// Distributed unit.
    Du,
}

impl NodeKind {
    /// Derives the role. A CU-UP or DU has a separate id. The others differ in their components: E1 means CU-CP,
    /// F1 (W1 for an ng-eNB) without E1 means CU, and neither means a complete base station.
    pub fn from_node(id: &GlobalE2NodeId, components: &[ComponentConfigItem]) -> Self {
        let has = |f: fn(&ComponentId) -> bool| components.iter().any(|c| f(&c.id));
        match id.part_ids() {
            (Some(_), _) => Self::CuUp,
            (None, Some(_)) => Self::Du,
            _ if has(|c| matches!(c, ComponentId::E1(_))) => Self::CuCp,
            _ if has(|c| matches!(c, ComponentId::F1(_) | ComponentId::W1(_))) => Self::Cu,
            _ => Self::Whole,
        }
    }

    /// Returns the displayed name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Cu => "cu",
            Self::CuCp => "cu-cp",
            Self::CuUp => "cu-up",
            Self::Du => "du",
        }
    }
}

/// A base station and its connected nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RanInfo {
    /// Base station.
    pub id: GlobalE2NodeId,
    /// Connected nodes, in the order of ids.
    pub parts: Vec<(GlobalE2NodeId, NodeKind)>,
    /// Whether all nodes are connected. This holds for a single complete base station. Otherwise it requires a CU or
    /// CU-CP, at least one DU, every DU in its F1 (W1) components, and every CU-UP in its E1 components.
    pub complete: bool,
}

#[derive(Debug, Default)]
struct Ran {
    parts: BTreeMap<GlobalE2NodeId, Arc<NodeInfo>>,
    complete: bool,
}

/// All base stations with a connected node.
#[derive(Debug, Default)]
pub(super) struct RanDb(BTreeMap<GlobalE2NodeId, Ran>);

impl RanDb {
    /// Adds or updates a node. Returns its base station if that made it complete or incomplete.
    pub(super) fn put(&mut self, node: Arc<NodeInfo>) -> Option<RanInfo> {
        let id = node.id.base_station();
        let ran = self.0.entry(id).or_default();
        ran.parts.insert(node.id, node);
        self.judge(id)
    }

    /// Removes a node. Returns its base station if that made it incomplete.
    pub(super) fn remove(&mut self, node: &GlobalE2NodeId) -> Option<RanInfo> {
        let id = node.base_station();
        self.0.get_mut(&id)?.parts.remove(node);
        let changed = self.judge(id);
        if self.0.get(&id).is_some_and(|ran| ran.parts.is_empty()) {
            self.0.remove(&id);
        }
        changed
    }

    fn judge(&mut self, id: GlobalE2NodeId) -> Option<RanInfo> {
        let ran = self.0.get_mut(&id)?;
        let complete = ran.is_complete();
        if complete == ran.complete {
            return None;
        }
        ran.complete = complete;
        Some(ran.info(id))
    }

    pub(super) fn snapshot(&self) -> Vec<RanInfo> {
        self.0.iter().map(|(id, ran)| ran.info(*id)).collect()
    }
}

impl Ran {
    fn info(&self, id: GlobalE2NodeId) -> RanInfo {
        let parts = self.parts.values().map(|n| (n.id, n.kind)).collect();
        RanInfo { id, parts, complete: self.complete }
    }

    fn is_complete(&self) -> bool {
        let has_du = |du| self.parts.keys().any(|id| id.part_ids() == (None, Some(du)));
        let has_cu_up = |up| self.parts.keys().any(|id| id.part_ids().0 == Some(up));
        let all_there = |node: &NodeInfo| {
            node.components.iter().all(|c| match &c.id {
                ComponentId::F1(f1) => has_du(f1.du_id),
                ComponentId::W1(w1) => has_du(w1.du_id),
                ComponentId::E1(e1) => has_cu_up(e1.cu_up_id),
                _ => true,
            })
        };
        let any_du = self.parts.values().any(|n| n.kind == NodeKind::Du);
        self.parts.values().any(|n| match n.kind {
            NodeKind::Whole => true,
            NodeKind::Cu | NodeKind::CuCp => any_du && all_there(n),
            NodeKind::CuUp | NodeKind::Du => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Time;
    use ranlab_e2_codec::e2ap::{
        ComponentConfiguration, ComponentInterfaceType, E2NodeGnb, GlobalGnbId, InterfaceE1, InterfaceF1,
        InterfaceNg, Plmn, Version,
    };
    use ranlab_e2_codec::per::ShortBits;

    fn component(id: ComponentId) -> ComponentConfigItem {
        let interface = match id {
            ComponentId::E1(_) => ComponentInterfaceType::E1,
            ComponentId::F1(_) => ComponentInterfaceType::F1,
            _ => ComponentInterfaceType::Ng,
        };
        ComponentConfigItem { interface, id, configuration: ComponentConfiguration::default() }
    }

    fn node_info(
        cu_up_id: Option<u64>,
        du_id: Option<u64>,
        components: Vec<ComponentConfigItem>,
    ) -> Arc<NodeInfo> {
        let gnb = GlobalGnbId { plmn: Plmn::new(505, 1, 2), gnb_id: ShortBits::new(5, 32) };
        let id = GlobalE2NodeId::Gnb(E2NodeGnb { gnb, en_gnb: None, cu_up_id, du_id });
        Arc::new(NodeInfo {
            id,
            kind: NodeKind::from_node(&id, &components),
            peer: "".into(),
            relayed: false,
            version: Version::V2_03,
            functions: Vec::new(),
            components,
            connected: true,
            since: Time::ZERO,
        })
    }

    fn ng() -> ComponentConfigItem {
        component(ComponentId::Ng(InterfaceNg { amf_name: "amf".into() }))
    }

    #[test]
    fn split_base_station_is_complete_with_all_announced_nodes() {
        let cu_cp = node_info(
            None,
            None,
            vec![
                ng(),
                component(ComponentId::F1(InterfaceF1 { du_id: 1 })),
                component(ComponentId::F1(InterfaceF1 { du_id: 2 })),
                component(ComponentId::E1(InterfaceE1 { cu_up_id: 9 })),
            ],
        );
        assert_eq!(cu_cp.kind, NodeKind::CuCp);
        let mut db = RanDb::default();
        assert_eq!(db.put(node_info(None, Some(1), vec![])), None);
        assert_eq!(db.put(cu_cp), None);
        assert_eq!(db.put(node_info(Some(9), None, vec![])), None);
        let du2 = node_info(None, Some(2), vec![]);
        let complete = db.put(du2.clone()).unwrap();
        assert!(complete.complete && complete.parts.len() == 4);
        assert_eq!(db.put(du2.clone()), None);
        assert!(!db.remove(&du2.id).unwrap().complete);
        assert_eq!(db.snapshot().len(), 1);
    }

    #[test]
    fn roles_follow_from_ids_and_components() {
        let f1 = component(ComponentId::F1(InterfaceF1 { du_id: 1 }));
        assert_eq!(node_info(None, None, vec![ng(), f1]).kind, NodeKind::Cu);
        assert_eq!(node_info(None, None, vec![ng()]).kind, NodeKind::Whole);
        assert_eq!(node_info(Some(1), None, vec![]).kind, NodeKind::CuUp);
        let mut db = RanDb::default();
        let whole = node_info(None, None, vec![ng()]);
        assert!(db.put(whole.clone()).unwrap().complete);
        assert!(!db.remove(&whole.id).unwrap().complete);
        assert!(db.snapshot().is_empty());
    }
}
