//! Names that a message omits because the subscription or the RAN function definition contains them.
use bytes::Bytes;

use super::action::{ActionDefinition, ActionFormat};
use super::function::FunctionDescription;
use super::measure::{Label, Measurement, MeasurementInfo};
use super::message::{IndicationMessage, MessageFormat, Report};
use crate::e2sm::common::UeId;
use crate::e2sm::per::decode_in;
use crate::e2sm::{Context, Encoding, Octets};

/// Displayed measurement and label of a value.
pub(super) type ValueName = (String, String);

/// Names of values that a message omits.
#[derive(Debug, Default)]
pub(super) struct Naming {
    /// Measurements of the subscription.
    subscribed: Option<Vec<MeasurementInfo>>,
    /// UE of the subscription, if it has exactly one.
    pub(super) ue: Option<UeId>,
    /// Identifiers of measurements in the definition.
    numbered: Vec<(u32, String)>,
}

impl Naming {
    /// Reads from `context` the names that `message` omits.
    pub(super) fn new(message: &IndicationMessage, context: &Context) -> Self {
        let mut naming = Self::default();
        let needs_action = match &message.format {
            MessageFormat::Node(_) => true,
            MessageFormat::Ues(ues) => ues.iter().any(|ue| ue.report.infos.is_none()),
            MessageFormat::Conditional(_) => false,
        };
        if needs_action {
            naming.read_action(context);
        }
        if naming.has_numbers(message) {
            naming.numbered = numbered(&context.definition);
        }
        naming
    }

    fn read_action(&mut self, context: &Context) {
        let Some(action) = action(context) else { return };
        let measurements = match action.format {
            ActionFormat::Node(it) => it,
            ActionFormat::Ue(it) => {
                self.ue = Some(it.ue);
                it.measurements
            }
            ActionFormat::MatchingUes(it) => it.measurements,
            ActionFormat::Ues(it) => it.measurements,
            ActionFormat::Conditional(_) => return,
        };
        self.subscribed = Some(measurements.infos);
    }

    fn has_numbers(&self, message: &IndicationMessage) -> bool {
        let is_number = |it: &Measurement| matches!(it, Measurement::Id(_));
        let has = |infos: &[MeasurementInfo]| infos.iter().any(|it| is_number(&it.measurement));
        let of_report = |report: &Report| report.infos.as_deref().is_some_and(has);
        self.subscribed.as_deref().is_some_and(has)
            || match &message.format {
                MessageFormat::Node(report) => of_report(report),
                MessageFormat::Ues(ues) => ues.iter().any(|ue| of_report(&ue.report)),
                MessageFormat::Conditional(report) => {
                    report.measurements.iter().any(|it| is_number(&it.measurement))
                }
            }
    }

    /// Returns measurement and label of each value of a record, or the position of a value without a name.
    pub(super) fn names(&self, infos: Option<&[MeasurementInfo]>, values: usize) -> Vec<ValueName> {
        match infos.or(self.subscribed.as_deref()) {
            Some(infos) => infos.iter().flat_map(|info| self.labelled(info)).collect(),
            None => (1..=values).map(|position| (format!("value {position}"), String::new())).collect(),
        }
    }

    fn labelled(&self, info: &MeasurementInfo) -> impl Iterator<Item = ValueName> {
        info.labels.iter().map(|label: &Label| (self.name(&info.measurement), label.to_string()))
    }

    /// Returns the name of a measurement, or `#` and its identifier if the definition does not contain it.
    pub(super) fn name(&self, measurement: &Measurement) -> String {
        let Measurement::Id(id) = measurement else { return measurement.to_string() };
        let found = self.numbered.iter().find(|(number, _)| number == id);
        found.map_or_else(|| measurement.to_string(), |(_, name)| name.clone())
    }
}

/// Returns the number of values per record of this subscription, if its messages do not name them.
pub(super) fn subscribed_values(context: &Context) -> Option<usize> {
    let naming = {
        let mut naming = Naming::default();
        naming.read_action(context);
        naming
    };
    naming.subscribed.map(|infos| infos.iter().map(|info| info.labels.len()).sum())
}

/// Returns the granularity period of the subscription.
pub(super) fn granularity_ms(context: &Context) -> Option<u32> {
    Some(match action(context)?.format {
        ActionFormat::Node(it) => it.granularity_ms,
        ActionFormat::Ue(it) => it.measurements.granularity_ms,
        ActionFormat::Conditional(it) => it.granularity_ms,
        ActionFormat::MatchingUes(it) => it.measurements.granularity_ms,
        ActionFormat::Ues(it) => it.measurements.granularity_ms,
    })
}

/// Decodes the action definition, which is encoded in the ASN.1 text that the node uses.
fn action(context: &Context) -> Option<ActionDefinition> {
    if context.action.is_empty() {
        return None;
    }
    decode_in(&context.action, &mut context.text.clone()).ok()
}

fn numbered(definition: &Bytes) -> Vec<(u32, String)> {
    let Ok(description) = FunctionDescription::decode_as(Encoding::Per, definition) else {
        return Vec::new();
    };
    let offered = description.reports.into_iter().flatten().flat_map(|style| style.measurements);
    offered.filter_map(|it| Some((it.id?, it.name))).collect()
}
