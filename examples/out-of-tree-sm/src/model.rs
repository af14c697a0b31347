//! Declaration of the service model, used by xApps, monitors and recorders.
use crate::{Cell, Policy, Report, Trigger};
use ranlab_sdk::wire::e2sm::{
    Column, Kind, Row, RowKey, ServiceModel, SmError, Table, Type, Value, per::sample,
};
use ranlab_sdk::wire::per_octets;
use std::convert::Infallible;
use std::time::Duration;

per_octets!(Trigger, Report, Policy);

/// Service model of cell temperatures. Usage: `xapp.subscribe_all(Temperature::every(period))`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Temperature;

/// Maximum reporting period.
const PERIOD_MAX: Duration = Duration::from_secs(3_600);

impl ServiceModel for Temperature {
    const NAME: &'static str = "temperature";
    /// 32473 is the enterprise number for examples (RFC 5612).
    const OID: &'static str = "1.3.6.1.4.1.32473.1.2";
    const DEFAULT_FUNCTION_ID: u16 = 200;
    const DEFINITION: &'static [u8] = b"temperature";
    const REVISION: u16 = 1;
    const CUSTOMARY: bool = false;

    type Trigger = Trigger;
    type Action = Policy;
    type Header = ();
    type Message = Report;
    type ControlHeader = ();
    type Control = Infallible;
    type Outcome = Infallible;

    fn periodic(period: Duration) -> Result<Trigger, SmError> {
        let min = Duration::from_millis(1);
        let max = PERIOD_MAX;
        match u32::try_from(period.as_millis()) {
            Ok(period_ms) if (min..=max).contains(&period) => Ok(Trigger { period_ms }),
            _ => Err(SmError::Period { period, min, max }),
        }
    }

    fn period(trigger: &Trigger) -> Option<Duration> {
        Some(Duration::from_millis(trigger.period_ms.into()))
    }

    fn columns() -> Vec<Column> {
        <Cell as Row>::columns()
    }

    fn tabulate((): &(), report: &Report, table: &mut Table) {
        report.cells.iter().for_each(|cell| table.push(cell));
    }

    fn sample(seed: u64) -> ((), Report) {
        // Every constraint of a report can be satisfied, so `sample` always returns a report.
        ((), sample(seed).unwrap_or(Report { cells: Vec::new() }))
    }
}

impl Row for Cell {
    fn columns() -> Vec<Column> {
        let column = |name: &'static str, unit, kind| Column {
            name: name.into(),
            unit,
            kind,
            of: Type::Unsigned,
            headline: true,
        };
        vec![column("temperature_dk", "dK", Kind::Gauge), column("throttled", "", Kind::Gauge)]
    }

    fn key(&self) -> RowKey {
        RowKey::Other { kind: "cell", number: self.id.into(), rnti: None }
    }

    fn values(&self, out: &mut Vec<Value>) {
        out.extend([self.temperature_dk.into(), self.throttled.into()].map(Value::Unsigned));
    }
}
