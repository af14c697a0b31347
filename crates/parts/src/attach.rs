//! Something that runs already, as a part: it is metered and not touched.

use ranlab_host::{Subject, SubjectMeter};

use crate::worker::Trouble;
use crate::{Running, config, environment, sut};

config! {
    /// What runs already, by the first of these that is said; without any, nothing of it can be metered: it runs elsewhere.
    pub struct AttachPart {
        /// its process on sut.at; without this, sut.command and sut.cgroup nothing of it is metered
        pid: Option<u32> = None, range(1, 1 << 22), local();
        /// or every process of that name there
        command: Option<String> = None, local();
        /// or every process of that control group, such as a container's
        cgroup: Option<String> = None, local();
    }
}

/// What runs already, as its meters know it.
pub(crate) struct Attached {
    subject: Option<Subject>,
}

impl Attached {
    pub(crate) fn new(part: AttachPart) -> Result<Self, Trouble> {
        let subject = match part {
            AttachPart { pid: Some(pid), .. } => Some(Subject::Process { pid }),
            AttachPart { command: Some(name), .. } => Some(Subject::Command { name }),
            AttachPart { cgroup: Some(path), .. } => Some(Subject::Cgroup { path: path.into() }),
            _ => None,
        };
        if let Some(subject) = &subject {
            SubjectMeter::new(subject.clone()).map_err(environment)?;
        }
        Ok(Self { subject })
    }
}

impl Running for Attached {
    fn subject(&self) -> Option<Subject> {
        self.subject.clone()
    }

    fn check(&mut self) -> Result<(), Trouble> {
        match &self.subject {
            Some(subject) => SubjectMeter::new(subject.clone()).map(|_| ()).map_err(sut),
            None => Ok(()),
        }
    }
}
