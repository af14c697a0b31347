//! A running process as a component. It is metered and not touched.

use ranlab_host::{Subject, SubjectMeter, process_tree};

use crate::watch::Watch;
use crate::worker::{Report, Trouble};
use crate::{Running, config, environment};

config! {
    /// Selection of the running process; the first configured field counts. Without any, nothing is metered, because
    /// the system runs on another machine.
    pub struct AttachPart {
        /// process id of the system under test on sut.at; without this, sut.command and sut.cgroup its resource usage
        /// is not measured
        pid: Option<u32> = None, range(1, 1 << 22), local();
        /// name of the processes of the system under test on sut.at, instead of sut.pid
        command: Option<String> = None, local();
        /// control group of the processes of the system under test on sut.at, e.g. that of a container, instead of
        /// sut.pid
        cgroup: Option<String> = None, local();
    }
}

/// The subject of the meters.
pub struct Attached {
    subject: Option<Subject>,
    watch: Watch,
}

impl Attached {
    pub fn new(part: AttachPart) -> Result<Self, Trouble> {
        let (subject, name) = match part {
            AttachPart { pid: Some(pid), .. } => {
                (Some(Subject::Process { pid }), format!("{}, process {pid},", process_tree::name_of(pid)))
            }
            AttachPart { command: Some(name), .. } => (Some(Subject::Command { name: name.clone() }), name),
            AttachPart { cgroup: Some(path), .. } => {
                (Some(Subject::Cgroup { path: path.clone().into() }), path)
            }
            _ => (None, String::new()),
        };
        if let Some(subject) = &subject {
            SubjectMeter::new(subject.clone()).map_err(environment)?;
        }
        Ok(Self { watch: Watch::start(&name, subject.clone(), None, false), subject })
    }
}

impl Running for Attached {
    fn subject(&self) -> Option<Subject> {
        self.subject.clone()
    }

    fn check(&mut self) -> Result<(), Trouble> {
        self.watch.check()
    }

    fn begin(&mut self) {
        self.watch.begin();
    }

    fn end(&mut self, report: &mut Report) {
        report.stops = self.subject.is_some().then(|| self.watch.stops());
    }
}
