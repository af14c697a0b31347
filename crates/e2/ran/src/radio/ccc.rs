//! The base station side of CCC. It reports the attributes of a radio, and switches its cell off and on. RRM policies,
//! which divide the resource blocks among slices, are implemented with RC's quotas.
use super::power::Admin;
use super::rc::RcSource;
use ranlab_e2::Time;
use ranlab_e2::functions::ccc::{CccStation, Structures, Written};
use ranlab_e2::functions::rc::CarrierQuotas;
use ranlab_e2_codec::e2ap::{E2NodeGnb, Plmn};
use ranlab_e2_codec::e2sm::ServiceModel;
use ranlab_e2_codec::e2sm::ccc::{
    Attributes, BWP, Bwp, CELL_STYLE, CES, Cause, Ccc, CellId, CesManagement, DescribedCell,
    FunctionDefinition, FunctionName, GNB_DU, GnbDu, NODE_STYLE, NR_CELL_DU, NrCellDu, PlmnInfo,
    PolicyMember, RRM_POLICY_RATIO, ResourceType, RrmPolicyRatio, SupportedAttribute, SupportedStructure,
    Write, is_structure,
};
use ranlab_e2_codec::e2sm::rc::commands::SliceQuota;
use serde_json::{Value as Json, json};

/// Maximum number of policies per cell. One slice is reserved for UEs without a policy.
const POLICIES_MAX: usize = 15;

/// A gNB's cell in the form that CCC uses.
pub(crate) struct CccSource {
    pub(crate) steered: RcSource,
    pub(crate) node: E2NodeGnb,
    pub(crate) epoch_us: i64,
}

fn policy(resource: ResourceType, quota: &SliceQuota) -> RrmPolicyRatio {
    RrmPolicyRatio {
        resource,
        members: vec![PolicyMember { plmn_id: quota.plmn.into(), snssai: quota.slice.into() }],
        max: quota.max,
        min: quota.min,
        dedicated: quota.dedicated,
    }
}

/// A valid policy of a control request.
struct Policy {
    resource: ResourceType,
    quotas: Vec<SliceQuota>,
    /// Previous and new values.
    values: Written,
}

/// Returns the quota of each member of a policy. Each member gets the policy's ratios.
fn quotas(policy: &RrmPolicyRatio) -> Result<Vec<SliceQuota>, Cause> {
    let &RrmPolicyRatio { max, min, dedicated, .. } = policy;
    if !matches!(policy.resource, ResourceType::PrbDl | ResourceType::PrbUl) {
        return Err(Cause::NotSupported);
    }
    if policy.members.is_empty() || [max, min, dedicated].iter().any(|percent| *percent > 100) {
        return Err(Cause::SemanticError);
    }
    let one = |member: &PolicyMember| {
        let plmn = member.plmn_id.plmn()?;
        let slice = member.snssai.slice()?;
        Some(SliceQuota { plmn, slice, min, max, dedicated })
    };
    policy.members.iter().map(|it| one(it).ok_or(Cause::JsonError)).collect()
}

/// Returns a structure's attributes with the services that the base station supports for them.
fn supported(name: &str, attributes: &[&str], style: i64, written: bool) -> SupportedStructure {
    let level = if style == NODE_STYLE { "Node" } else { "Cell" };
    let report = json!({ "listOfSupportedReportStyles": [{
        "reportServiceStyleType": style,
        "reportServiceStyleName": format!("{level}-Level Configuration"),
        "listOfSupportedEventTriggerStylesForReportStyle":
            [{ "eventTriggerStyleType": style }, { "eventTriggerStyleType": 3 }],
        "reportServiceActionDefinitionFormatType": style,
        "reportServiceIndicationHeaderFormatType": 1,
        "reportServiceIndicationMessageFormatType": style,
    }] });
    let control = json!({ "listOfSupportedControlStyles": [{
        "controlServiceStyleType": style,
        "controlServiceStyleName": format!("{level} Configuration and Control"),
        "controlServiceHeaderFormatType": 1,
        "controlServiceMessageFormatType": style,
        "controlServiceControlOutcomeFormatType": style,
    }] });
    let attribute = |name: &&str| {
        let mut services = Attributes::from_list([("reportService", report.clone())]);
        if written {
            services.0.insert("controlService".to_owned(), control.clone());
        }
        SupportedAttribute { name: (*name).to_owned(), services }
    };
    SupportedStructure { name: name.to_owned(), attributes: attributes.iter().map(attribute).collect() }
}

/// Returns a cell structure's attributes with the supported services. Only the attribute `written` is writable.
fn supported_in_part(name: &str, attributes: &[&str], written: &str) -> SupportedStructure {
    let mut structure = supported(name, attributes, CELL_STYLE, false);
    let all = supported(name, attributes, CELL_STYLE, true).attributes;
    for (attribute, with_control) in structure.attributes.iter_mut().zip(all) {
        if attribute.name == written {
            *attribute = with_control;
        }
    }
    structure
}

impl CccSource {
    fn cell_id(&self) -> CellId {
        self.steered.cell.into()
    }

    fn cell(&self) -> NrCellDu {
        let radio = self.steered.locked();
        let networks: &[Plmn] = if radio.plmns.is_empty() { &[radio.plmn] } else { &radio.plmns };
        let of = |plmn: Plmn| {
            let info = move |snssai| PlmnInfo { plmn_id: plmn.into(), snssai };
            let none = radio.snssais.is_empty().then(|| info(None));
            none.into_iter().chain(radio.snssais.iter().map(move |it| info(Some((*it).into()))))
        };
        NrCellDu {
            cell_local_id: radio.cell_id,
            // The model has no cell failures, so the state is always ENABLED.
            operational_state: "ENABLED".to_owned(),
            administrative_state: radio.power.admin.name().to_owned(),
            cell_state: radio.cell_state().to_owned(),
            plmn_info_list: networks.iter().copied().flat_map(of).collect(),
        }
    }

    fn energy_saving(&self) -> CesManagement {
        let saves_energy = self.steered.locked().power.saves_energy;
        let (state, control) = if saves_energy {
            ("isEnergySaving", "toBeEnergySaving")
        } else {
            ("isNotEnergySaving", "toBeNotEnergySaving")
        };
        CesManagement {
            ces_switch: true,
            energy_saving_state: state.to_owned(),
            energy_saving_control: control.to_owned(),
        }
    }

    /// Sets the writable attribute of a structure. Other attributes are accepted only with their present values.
    fn switch(
        &self,
        write: &Write,
        before: Attributes,
        attribute: &str,
        set: impl FnOnce(&str) -> Result<(), Cause>,
    ) -> Result<Attributes, Cause> {
        let differs = |(name, value): (&String, &Json)| before.0.get(name) != Some(value);
        if write.old.attributes.0.iter().any(differs) {
            return Err(Cause::SemanticError);
        }
        let new = &write.new.attributes.0;
        if new.iter().any(|(name, value)| name != attribute && differs((name, value))) {
            return Err(Cause::NotSupported);
        }
        let new_value = new.get(attribute).ok_or(Cause::NotSupported)?;
        set(new_value.as_str().ok_or(Cause::JsonError)?)?;
        Ok(before)
    }

    /// Locks, shuts down or unlocks the cell.
    fn set_state(&self, write: &Write) -> Result<(Attributes, Attributes), Cause> {
        let before = Attributes::from_structure(&self.cell());
        let before = self.switch(write, before, "administrativeState", |state| {
            let admin = Admin::from_name(state).ok_or(Cause::SemanticError)?;
            self.steered.set_admin(admin);
            Ok(())
        })?;
        Ok((before, Attributes::from_structure(&self.cell())))
    }

    /// Starts or ends energy saving.
    fn save_energy(&self, write: &Write) -> Result<(Attributes, Attributes), Cause> {
        let before = Attributes::from_structure(&self.energy_saving());
        let before = self.switch(write, before, "energySavingControl", |control| {
            // E2SM-CCC and TS 28.541 spell the value differently, so both spellings are accepted.
            let saves_energy = match control {
                "toBeEnergySaving" | "TO_BE_ENERGY_SAVING" => true,
                "toBeNotEnergySaving" | "TO_BE_NOT_ENERGY_SAVING" => false,
                _ => return Err(Cause::SemanticError),
            };
            self.steered.set_energy_saving(saves_energy);
            Ok(())
        })?;
        Ok((before, Attributes::from_structure(&self.energy_saving())))
    }

    fn bwp(&self) -> Bwp {
        let radio = self.steered.locked();
        let carrier = &radio.cell().config().carrier;
        Bwp {
            bwp_context: "DL".to_owned(),
            is_initial_bwp: "INITIAL".to_owned(),
            // A slot of 14 symbols lasts 1 ms at 15 kHz. Twice the spacing halves the duration.
            sub_carrier_spacing: 15_000 / u32::try_from(carrier.slot_us()).unwrap_or(1_000).max(1),
            start_rb: 0,
            number_of_rbs: carrier.prbs,
        }
    }

    /// Checks a single written policy. Returns its quotas, and its previous and new values.
    fn read_policy(&self, write: &Write) -> Result<Policy, Cause> {
        let written: RrmPolicyRatio = write.new.attributes.meaning().map_err(|_| Cause::JsonError)?;
        let new = quotas(&written)?;
        let now = self.steered.quotas_now();
        let now = if written.resource == ResourceType::PrbUl { now.up } else { now.down };
        let before = now.iter().find(|quota| new.iter().any(|it| it.is_of_same_slice(quota)));
        let before = before.map(|quota| Attributes::from_structure(&policy(written.resource, quota)));
        let before = before.unwrap_or_default();
        let differs = |(name, value): (&String, _)| before.0.get(name) != Some(value);
        if write.old.attributes.0.iter().any(differs) {
            return Err(Cause::SemanticError);
        }
        let alone = CarrierQuotas { down: new.clone(), up: Vec::new() };
        self.steered.could_divide(&alone).map_err(|_| Cause::SemanticError)?;
        let values = (before, Attributes::from_structure(&written));
        Ok(Policy { resource: written.resource, quotas: new, values })
    }

    /// Applies all policies of a control together. Their quotas must be valid together with the quotas of the policies in force.
    fn share(&self, policies: &[&Policy]) -> Result<(), Cause> {
        let of = |resource| {
            let of = policies.iter().filter(move |it| it.resource == resource);
            of.flat_map(|it| &it.quotas).copied().collect::<Vec<_>>()
        };
        let [down, up] = [ResourceType::PrbDl, ResourceType::PrbUl].map(of);
        // A slice has at most one policy per direction.
        [&down, &up]
            .into_iter()
            .try_for_each(|it| SliceQuota::check_sums(it))
            .map_err(|_| Cause::SemanticError)?;
        let now = self.steered.quotas_now();
        let all =
            CarrierQuotas { down: SliceQuota::merge(&now.down, &down), up: SliceQuota::merge(&now.up, &up) };
        if all.down.len().max(all.up.len()) > POLICIES_MAX {
            return Err(Cause::NotAvailable);
        }
        self.steered.divide(&all).map_err(|_| Cause::SemanticError)
    }

    /// Writes a structure that is not a policy.
    fn write_one(&self, write: &Write) -> Result<Written, Cause> {
        if is_structure(&write.name, NR_CELL_DU) {
            self.set_state(write)
        } else if is_structure(&write.name, CES) {
            self.save_energy(write)
        } else {
            Err(Cause::NotSupported)
        }
    }
}

impl CccStation for CccSource {
    fn definition(&self) -> FunctionDefinition {
        let ratio = [
            "resourceType",
            "rRMPolicyMemberList",
            "rRMPolicyMaxRatio",
            "rRMPolicyMinRatio",
            "rRMPolicyDedicatedRatio",
        ];
        let cell = ["cellLocalId", "operationalState", "administrativeState", "cellState", "plmnInfoList"];
        let bwp = ["bwpContext", "isInitialBwp", "subCarrierSpacing", "startRB", "numberOfRBs"];
        let structures = vec![
            supported(RRM_POLICY_RATIO, &ratio, CELL_STYLE, true),
            supported_in_part(NR_CELL_DU, &cell, "administrativeState"),
            supported(BWP, &bwp, CELL_STYLE, false),
            supported_in_part(
                CES,
                &["cesSwitch", "energySavingState", "energySavingControl"],
                "energySavingControl",
            ),
        ];
        FunctionDefinition {
            name: FunctionName {
                short_name: "ORAN-E2SM-CCC".to_owned(),
                oid: Ccc::OID.to_owned(),
                description: "Cell Configuration and Control".to_owned(),
                instance: None,
            },
            node: vec![supported(GNB_DU, &["gnbDuId", "gnbId", "gnbIdLength"], NODE_STYLE, false)],
            cells: vec![DescribedCell { cell: self.cell_id(), structures }],
        }
    }

    fn node(&mut self) -> Structures {
        let id = self.node.gnb.gnb_id;
        let du = GnbDu { gnb_du_id: self.node.du_id, gnb_id: id.value, gnb_id_length: id.len_bits };
        vec![(GNB_DU.to_owned(), Attributes::from_structure(&du))]
    }

    fn cells(&mut self) -> Vec<(CellId, Structures)> {
        let cell = (NR_CELL_DU.to_owned(), Attributes::from_structure(&self.cell()));
        let bwp = (BWP.to_owned(), Attributes::from_structure(&self.bwp()));
        let ces = (CES.to_owned(), Attributes::from_structure(&self.energy_saving()));
        let ratio = |(resource, quota): (ResourceType, &SliceQuota)| {
            (RRM_POLICY_RATIO.to_owned(), Attributes::from_structure(&policy(resource, quota)))
        };
        let CarrierQuotas { down, up } = self.steered.quotas_now();
        let down = down.iter().map(|quota| (ResourceType::PrbDl, quota));
        let policies = down.chain(up.iter().map(|quota| (ResourceType::PrbUl, quota)));
        let structures = [cell, bwp, ces].into_iter().chain(policies.map(ratio)).collect();
        vec![(self.cell_id(), structures)]
    }

    fn write(&mut self, _: Time, cell: Option<&CellId>, writes: &[Write]) -> Vec<Result<Written, Cause>> {
        let refuse = |cause| writes.iter().map(|_| Err(cause)).collect();
        match cell {
            None => return refuse(Cause::NotSupported),
            Some(cell) if cell.cell() != Some(self.steered.cell) => return refuse(Cause::NotAvailable),
            Some(_) => {}
        }
        // All policies are checked before any structure is written. Switching the cell does not affect them.
        let read =
            |write: &Write| is_structure(&write.name, RRM_POLICY_RATIO).then(|| self.read_policy(write));
        let read: Vec<_> = writes.iter().map(read).collect();
        let valid: Vec<_> = read.iter().flatten().flatten().collect();
        let shared = if valid.is_empty() { Ok(()) } else { self.share(&valid) };
        let written = |(write, policy): (&Write, Option<Result<Policy, Cause>>)| match policy {
            Some(policy) => policy.and_then(|policy| shared.map(|()| policy.values)),
            None => self.write_one(write),
        };
        writes.iter().zip(read).map(written).collect()
    }

    fn tstamp_us(&self, now: Time) -> i64 {
        self.epoch_us.saturating_add(i64::try_from(now.as_nanos() / 1_000).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Neighbours, Radio, RadioConfig, cell_of};
    use super::*;
    use crate::stats::UeIdType;
    use ranlab_e2_codec::e2ap::GlobalGnbId;
    use ranlab_e2_codec::e2sm::ccc::{ActionFormat, WantedCell, WantedStructure};
    use ranlab_e2_codec::e2sm::common::{Cgi, Snssai};
    use ranlab_e2_codec::e2sm::slice::{SliceAlgorithm, SliceCommand};
    use ranlab_e2_codec::per::ShortBits;
    use ranlab_radio::user_plane::Carrier;
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    const PLMN: Plmn = Plmn([0x00, 0xf1, 0x10]);

    fn station() -> CccSource {
        let snssais = vec![Snssai { sst: 1, sd: None }, Snssai { sst: 2, sd: Some(7) }];
        let config = RadioConfig { snssais, ..RadioConfig::new(Carrier::n78(106), 2) };
        let radio = Arc::new(Mutex::new(Radio::new(&config, (3, 1), PLMN, 0, 0).unwrap()));
        radio.lock().unwrap().pass(Time::from_nanos(1_000_000));
        let cell = Cgi::Nr(cell_of(PLMN, 5));
        let names = UeIdType::Gnb;
        let steered = RcSource { radio, neighbours: Neighbours::default(), cell, names, plmn: PLMN };
        let gnb = GlobalGnbId { plmn: PLMN, gnb_id: ShortBits::new(5, 32) };
        CccSource { steered, node: E2NodeGnb { gnb, en_gnb: None, cu_up_id: None, du_id: None }, epoch_us: 0 }
    }

    fn write(name: &str, old: Attributes, new: Attributes) -> Write {
        Write { name: name.to_owned(), old: old.into(), new: new.into() }
    }

    fn one(station: &mut CccSource, cell: Option<&CellId>, it: &Write) -> Result<Written, Cause> {
        station.write(Time::ZERO, cell, std::slice::from_ref(it)).remove(0)
    }

    fn ratio(sst: u8, sd: Option<&str>, min: u8, max: u8) -> Attributes {
        let snssai = sd.map_or_else(|| json!({ "sst": sst }), |sd| json!({ "sst": sst, "sd": sd }));
        let member = json!([{ "plmnId": { "mcc": "001", "mnc": "01" }, "snssai": snssai }]);
        Attributes::from_list([
            ("resourceType", json!("PRB_DL")),
            ("rRMPolicyMemberList", member),
            ("rRMPolicyMaxRatio", json!(max)),
            ("rRMPolicyMinRatio", json!(min)),
            ("rRMPolicyDedicatedRatio", json!(0)),
        ])
    }

    fn of_resource(resource: &str, mut ratio: Attributes) -> Attributes {
        ratio.0.insert("resourceType".to_owned(), json!(resource));
        ratio
    }

    #[test]
    fn ccc_attributes_match_radio() {
        let mut station = station();
        let [(id, structures)] = &station.cells()[..] else { panic!() };
        assert_eq!(id.cell(), Some(station.steered.cell));
        let [(_, cell), (_, bwp), (_, ces)] = &structures[..] else { panic!("{structures:?}") };
        let bwp: Bwp = bwp.meaning().unwrap();
        assert_eq!((bwp.sub_carrier_spacing, bwp.number_of_rbs), (30, 106));
        assert_eq!(ces.0["energySavingState"], json!("isNotEnergySaving"));
        let cell: NrCellDu = cell.meaning().unwrap();
        assert_eq!((cell.cell_local_id, cell.plmn_info_list.len()), (3, 2));
        assert_eq!(station.node()[0].1.0["gnbId"], json!(5));
        let names = |name: &str| {
            let structure =
                WantedStructure { report: Default::default(), name: name.to_owned(), attributes: vec![] };
            ActionFormat::Cells { cells: vec![WantedCell { cell: None, structures: vec![structure] }] }
        };
        let definition = station.definition();
        assert!(definition.offers(&names("O-NrCellDu")) && definition.offers(&names("O-Bwp")));
        assert!(!definition.offers(&names("O-RUInfo")));
    }

    #[test]
    fn policies_divide_carrier_and_invalid_ones_change_nothing() {
        let mut station = station();
        let id = station.cell_id();
        let policies = |station: &mut CccSource| station.cells()[0].1.split_off(3);
        let first = write(RRM_POLICY_RATIO, Attributes::default(), ratio(1, None, 60, 100));
        let (old, now) = one(&mut station, Some(&id), &first).unwrap();
        assert_eq!((old, now), (Attributes::default(), ratio(1, None, 60, 100)));
        let second = write(RRM_POLICY_RATIO, Attributes::default(), ratio(2, Some("000007"), 20, 100));
        one(&mut station, Some(&id), &second).unwrap();
        let set = station.steered.locked().set.clone();
        assert_eq!(
            (set.algorithm, set.slices.len()),
            (SliceAlgorithm::Nvs, 3),
            "there must be one slice more than policies, for UEs without a policy"
        );
        let before = policies(&mut station);
        assert_eq!(before.len(), 2);
        let elsewhere = Cgi::Nr(cell_of(PLMN, 6)).into();
        let stale = ratio(1, None, 50, 100);
        let bearers = of_resource("DRB", ratio(1, None, 1, 1));
        let unknown = Attributes::from_list([("rRMPolicyLuck", json!(1))]);
        let unknown = Attributes([ratio(1, None, 1, 1).0, unknown.0].into_iter().flatten().collect());
        for (cell, write, cause) in [
            (Some(&elsewhere), write(RRM_POLICY_RATIO, stale.clone(), stale.clone()), Cause::NotAvailable),
            (None, write(GNB_DU, Attributes::default(), Attributes::default()), Cause::NotSupported),
            (Some(&id), write(BWP, Attributes::default(), Attributes::default()), Cause::NotSupported),
            (Some(&id), write(RRM_POLICY_RATIO, stale, ratio(1, None, 10, 100)), Cause::SemanticError),
            (
                Some(&id),
                write(RRM_POLICY_RATIO, Attributes::default(), ratio(1, None, 90, 100)),
                Cause::SemanticError,
            ),
            (
                Some(&id),
                write(RRM_POLICY_RATIO, Attributes::default(), ratio(1, None, 50, 40)),
                Cause::SemanticError,
            ),
            (
                Some(&id),
                write(RRM_POLICY_RATIO, Attributes::default(), ratio(1, None, 0, 101)),
                Cause::SemanticError,
            ),
            (
                Some(&id),
                write(RRM_POLICY_RATIO, Attributes::default(), ratio(1, Some("7"), 0, 9)),
                Cause::JsonError,
            ),
            (Some(&id), write(RRM_POLICY_RATIO, Attributes::default(), bearers), Cause::NotSupported),
            (Some(&id), write(RRM_POLICY_RATIO, Attributes::default(), unknown), Cause::JsonError),
        ] {
            assert_eq!(one(&mut station, cell, &write).map(|_| ()), Err(cause), "{write:?}");
            assert_eq!(policies(&mut station), before);
        }
        // The old value matches the current one, so the write is applied.
        let changed = write(RRM_POLICY_RATIO, ratio(1, None, 60, 100), ratio(1, None, 30, 100));
        one(&mut station, Some(&id), &changed).unwrap();
        assert_eq!(policies(&mut station).len(), 2);
        // SLICE takes over the division of the carrier, and the policies are removed.
        let mut by_slice = super::super::control::RadioTarget(Arc::clone(&station.steered.radio));
        let none = ranlab_e2_codec::e2sm::slice::SliceSet::default();
        let command = SliceCommand::Configure(none);
        by_slice.command(&command).unwrap();
        assert_eq!(policies(&mut station), []);
    }

    #[test]
    fn policies_of_a_control_are_checked_together_per_direction() {
        let mut station = station();
        let id = station.cell_id();
        let new = |ratio| write(RRM_POLICY_RATIO, Attributes::default(), ratio);
        let minima = |station: &CccSource| {
            let CarrierQuotas { down, up } = station.steered.quotas_now();
            [down, up]
                .map(|quotas| quotas.iter().map(|it| (it.slice.sst, it.min)).collect::<BTreeMap<_, _>>())
        };
        let both =
            |first, second| [new(ratio(1, None, first, 100)), new(ratio(2, Some("000007"), second, 100))];
        assert!(station.write(Time::ZERO, Some(&id), &both(60, 40)).iter().all(Result::is_ok));
        // If the policies of a control were applied one after the other, the carrier would be exceeded at first.
        for order in [both(40, 60), both(70, 30)] {
            let results = station.write(Time::ZERO, Some(&id), &order);
            assert!(results.iter().all(Result::is_ok), "{results:?}");
        }
        let uplink = new(of_resource("PRB_UL", ratio(1, None, 90, 100)));
        assert!(
            one(&mut station, Some(&id), &uplink).is_ok(),
            "the sum of the uplink must not count the policies of the downlink"
        );
        let now = [BTreeMap::from([(1, 70), (2, 30)]), BTreeMap::from([(1, 90)])];
        assert_eq!(minima(&station), now);
        let unknown = new(ratio(3, None, 1, 100));
        for (order, expected) in [
            // Two invalid controls: policies that exceed the carrier in sum, and two policies for one slice.
            (both(70, 31).to_vec(), [Err(Cause::SemanticError), Err(Cause::SemanticError)]),
            (vec![new(ratio(1, None, 1, 100)), new(ratio(1, None, 2, 100))], [Err(Cause::SemanticError); 2]),
            // A policy that is invalid by itself does not affect the others.
            (vec![unknown, new(ratio(1, None, 70, 100))], [Err(Cause::SemanticError), Ok(())]),
        ] {
            let results = station.write(Time::ZERO, Some(&id), &order);
            let results: Vec<_> = results.into_iter().map(|it| it.map(drop)).collect();
            assert_eq!(results, expected, "{order:?}");
            assert_eq!(minima(&station), now);
        }
    }

    #[test]
    fn ccc_switches_cell_off_and_on() {
        let mut station = station();
        let id = station.cell_id();
        let state = |value: &str| Attributes::from_list([("administrativeState", json!(value))]);
        let lock = write(NR_CELL_DU, state("UNLOCKED"), state("LOCKED"));
        let (old, now) = one(&mut station, Some(&id), &lock).unwrap();
        assert_eq!((&old.0["cellState"], &now.0["cellState"]), (&json!("ACTIVE"), &json!("IDLE")));
        assert_eq!(now.0["administrativeState"], json!("LOCKED"));
        assert!(station.steered.locked().rntis().is_empty());
        // Invalid writes: a read-only attribute, unknown values, and no attribute.
        for (new, cause) in [
            (Attributes::from_list([("cellLocalId", json!(4))]), Cause::NotSupported),
            (state("locked"), Cause::SemanticError),
            (Attributes::from_list([("administrativeState", json!(1))]), Cause::JsonError),
            (Attributes::default(), Cause::NotSupported),
        ] {
            let wrong = write(NR_CELL_DU, Attributes::default(), new);
            assert_eq!(one(&mut station, Some(&id), &wrong), Err(cause), "{wrong:?}");
        }
        assert_eq!(one(&mut station, Some(&id), &lock), Err(Cause::SemanticError));
        let unlock = write(NR_CELL_DU, Attributes::default(), state("UNLOCKED"));
        one(&mut station, Some(&id), &unlock).unwrap();
        station.steered.locked().pass(Time::from_nanos(2_000_000));
        assert_eq!(station.steered.locked().rntis().len(), 2);
        let saving = |value: &str| Attributes::from_list([("energySavingControl", json!(value))]);
        let save = write(CES, Attributes::default(), saving("toBeEnergySaving"));
        let (_, now) = one(&mut station, Some(&id), &save).unwrap();
        assert_eq!(now.0["energySavingState"], json!("isEnergySaving"));
        assert!(station.steered.locked().rntis().is_empty());
    }
}
