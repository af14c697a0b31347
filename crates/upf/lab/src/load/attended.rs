//! Phases of a run in which no user packets are sent. Base stations still send and answer the messages of the N3 paths.
use super::LoadError;
use super::carrier::PacketIo;
use super::cycles::{CyclePlan, Cycles};
use super::data::{GnbThread, Shared};
use super::load_run::LoadRun;
use super::report::ControlSummary;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

impl LoadRun<'_> {
    /// Carries out the plans of all SMFs.
    pub(super) fn drive(
        &mut self,
        plans: &[CyclePlan],
        stop: &AtomicBool,
    ) -> Result<ControlSummary, LoadError> {
        self.answering(|bench| bench.drive_all(plans, stop))
    }

    /// Runs `during` while the base stations send and answer the messages of the N3 paths. No user packets are sent.
    pub(super) fn answering<T>(
        &mut self,
        during: impl FnOnce(&mut Self) -> Result<T, LoadError>,
    ) -> Result<T, LoadError> {
        if !self.carriers.iter().any(PacketIo::has_sockets) {
            return during(self);
        }
        let shared = self.shared(false, 0);
        let Some(shared) = Arc::into_inner(shared).map(|shared| Arc::new(Shared { quiet: true, ..shared }))
        else {
            return during(self);
        };
        let gnbs = self.gnb_threads(&shared, None)?;
        let (result, threads) = std::thread::scope(|scope| {
            let threads: Vec<_> =
                gnbs.into_iter().map(|gnb: GnbThread| scope.spawn(move || gnb.run())).collect();
            let result = during(self);
            shared.stop.store(true, Relaxed);
            let ended = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
            (result, ended.collect::<Vec<_>>())
        });
        for ended in threads {
            let (report, carrier) = ended.map_err(|_| LoadError::Panicked)??;
            self.n3.add(&report.paths);
            self.carriers.push(carrier);
        }
        result
    }

    /// Returns three counts since the start: requests, requests that the kernel did not accept, and requests with a response.
    pub(super) fn made(&self) -> [u64; 3] {
        let each = self.cycles.iter().map(Cycles::requests);
        each.fold([0; 3], |sum, one| std::array::from_fn(|n| sum[n] + one[n]))
    }

    /// Excludes earlier requests from the measurement.
    pub(super) fn measure_from_here(&mut self) {
        self.cycles.iter_mut().for_each(Cycles::restart_report);
        self.before = self.made();
    }
}
