//! Our RIC with the monitoring iApp inside: statistics end in memory, without an xApp.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ranlab_controllers::monitor::{Monitor, MonitorConfig, MonitorHandle, Totals};
use ranlab_sdk::RicHandle;
use ranlab_sdk::e2::ric::{Limits, Ric, RicConfig, Side};
use ranlab_sdk::transport::{Address, SocketOptions};
use serde::{Deserialize, Serialize};

use super::process::folder_for;
use super::{Running, environment, parse, rig};
use crate::worker::{Numbers, Report, Trouble};

/// A RIC that keeps the latest statistics of all base stations.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MonitorRicPart {
    /// Listener for base stations; port 0: the system's choice, `unix`: a socket in a folder of the worker's.
    pub e2: String,
    /// Version of E2AP.
    pub e2ap: String,
    /// Statistics by name.
    pub sm: Vec<String>,
    /// Report period, ms.
    pub period_ms: u32,
    /// Base stations that it must have room for; the RIC's own bound if that is higher.
    #[serde(default)]
    pub nodes: u32,
}

/// A RIC that runs.
pub(crate) struct MonitoringRic {
    ric: RicHandle,
    address: Address,
    folder: Option<PathBuf>,
    monitor: MonitorHandle,
    at_begin: Totals,
}

impl MonitoringRic {
    pub(crate) async fn start(part: &MonitorRicPart) -> Result<Self, Trouble> {
        let folder = folder_for([&part.e2])?;
        let listen = match &folder {
            Some(folder) => Address::Unix(folder.join("e2")),
            None => parse(&part.e2)?,
        };
        let models = part.sm.iter().map(|name| parse(name)).collect::<Result<_, _>>()?;
        let config = MonitorConfig { models, period_ms: part.period_ms };
        let nodes = usize::try_from(part.nodes).unwrap_or(usize::MAX);
        let limits = Limits::for_nodes(nodes.max(Limits::default().nodes));
        if let Err(error) = ranlab_net::raise_open_files() {
            // Few base stations need no more than there is; many will be refused, and that is told.
            eprintln!("ranlab worker: the limit of open files stays as it is: {error}");
        }
        let config_of_ric = RicConfig { version: parse(&part.e2ap)?, limits, ..RicConfig::default() };
        let ric = RicHandle::start(config_of_ric, SocketOptions::default());
        let address = ric.listen(Side::E2, &listen, |_| true).await.map_err(environment)?;
        let (iapp, monitor) = Monitor::new(config).map_err(rig)?;
        ric.add_iapp(Box::new(iapp));
        Ok(Self { ric, address, folder, monitor, at_begin: Totals::default() })
    }
}

impl Running for MonitoringRic {
    fn addresses(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("southbound".to_owned(), self.address.to_string())])
    }

    fn look(&mut self) -> Numbers {
        let nodes = self.ric.read(Ric::nodes_connected);
        Numbers::from([
            ("agents".to_owned(), nodes as f64),
            ("processed".to_owned(), self.monitor.totals().reports as f64),
        ])
    }

    fn begin(&mut self) {
        self.at_begin = self.monitor.totals();
    }

    fn end(&mut self, report: &mut Report) {
        let (then, now) = (self.at_begin, self.monitor.totals());
        // Only now: reading every report costs, and the window is over.
        let ues: usize = self.monitor.snapshot().iter().map(|node| node.ues().len()).sum();
        report.numbers.extend(self.look());
        report.numbers.insert("processed".to_owned(), (now.reports - then.reports) as f64);
        report.numbers.insert("dropped".to_owned(), (now.lost - then.lost) as f64);
        report.numbers.insert("ues".to_owned(), ues as f64);
    }
}

impl Drop for MonitoringRic {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            // What is left is a folder without anything in it.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
