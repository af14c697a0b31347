//! Component for a process that already runs. The process is only metered.

use ranlab_host::{Subject, SubjectMeter, process_tree};

use crate::watch::ProcessWatch;
use crate::worker::{ComponentError, Report};
use crate::{RunningComponent, config, environment};

config! {
    /// Selection of a running process, by the first field that is set. If no field is set, nothing is metered, because
    /// the system runs on another machine.
    pub struct AttachComponent {
        /// process id of the system under test on sut.at; its resource usage is measured only if this, sut.command or
        /// sut.cgroup is set
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
    watch: ProcessWatch,
}

impl Attached {
    pub fn new(part: AttachComponent) -> Result<Self, ComponentError> {
        let (subject, name) = match part {
            AttachComponent { pid: Some(pid), .. } => {
                (Some(Subject::Process { pid }), format!("{}, process {pid},", process_tree::name_of(pid)))
            }
            AttachComponent { command: Some(name), .. } => {
                (Some(Subject::Command { name: name.clone() }), name)
            }
            AttachComponent { cgroup: Some(path), .. } => {
                (Some(Subject::Cgroup { path: path.clone().into() }), path)
            }
            _ => (None, String::new()),
        };
        if let Some(subject) = &subject {
            SubjectMeter::new(subject.clone()).map_err(environment)?;
        }
        Ok(Self { watch: ProcessWatch::start(&name, subject.clone(), None, false), subject })
    }
}

impl RunningComponent for Attached {
    fn subject(&self) -> Option<Subject> {
        self.subject.clone()
    }

    fn check(&mut self) -> Result<(), ComponentError> {
        self.watch.check()
    }

    fn begin(&mut self) {
        self.watch.begin();
    }

    fn end(&mut self, report: &mut Report) {
        report.stops = self.subject.is_some().then(|| self.watch.stops());
    }
}
