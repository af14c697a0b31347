//! Applications with their packet flow descriptions (PFDs, TS 29.244 §6.2.5): PFD Management provisions them, and
//! rules of sessions refer to them.
use super::plane::DataPlane;
use super::{Reply, Upf, UpfEvent, UpfOutput};
use crate::n4::rules::{RuleFault, Session};
use crate::pfcp::*;
use bytes::Bytes;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// Maximum number of applications with flow descriptions.
const MAX_APPLICATIONS: usize = 1 << 10;
/// Maximum number of flow descriptions of an application.
const MAX_FLOWS: usize = 64;
/// IE type of PFD Contents, for the Offending IE of a rejection.
const PFD_CONTENTS: OffendingIe = OffendingIe(61);

/// Applications by identifier.
pub(super) type Applications = HashMap<Bytes, Arc<ApplicationPfds>>;

impl Upf {
    /// Replaces the flow descriptions of the given applications. If no application is given, deletes all flow descriptions (§7.4.3.1).
    pub(super) fn manage_pfds(
        &mut self,
        from: SocketAddr,
        request: PfdManagementRequest,
        plane: &mut dyn DataPlane,
    ) -> Reply {
        let refusal = self.check_pfds(from, &request, plane).err();
        if refusal.is_none() {
            self.provision(request.applications);
        } else {
            self.counters.refused += 1;
        }
        let (cause, offending_ie) = refusal.unwrap_or((Cause::ACCEPTED, None));
        Reply::Message(PfdManagementResponse { cause, offending_ie, ..Default::default() }.into(), None)
    }

    fn check_pfds(
        &self,
        from: SocketAddr,
        request: &PfdManagementRequest,
        plane: &mut dyn DataPlane,
    ) -> Result<(), (Cause, Option<OffendingIe>)> {
        if !self.associations.values().any(|association| association.address == from.ip()) {
            return Err((Cause::NO_ASSOCIATION, None));
        }
        for application in &request.applications {
            let contents = || application.pfd_contexts.iter().flat_map(|context| &context.contents);
            if !contents().all(PfdContents::is_of_flows) {
                return Err((Cause::SERVICE_NOT_SUPPORTED, Some(PFD_CONTENTS)));
            }
            if contents().flat_map(PfdContents::flows).count() > MAX_FLOWS {
                return Err((Cause::NO_RESOURCES, None));
            }
            plane.check_application(application).map_err(|cause| (cause, Some(PFD_CONTENTS)))?;
        }
        let is_new =
            |application: &&ApplicationPfds| !self.applications.contains_key(&application.application_id.0);
        let added = request.applications.iter().filter(is_new).count();
        if self.applications.len() + added > MAX_APPLICATIONS {
            return Err((Cause::NO_RESOURCES, None));
        }
        Ok(())
    }

    fn provision(&mut self, provisioned: Vec<ApplicationPfds>) {
        let mut changed: Vec<Arc<ApplicationPfds>> = Vec::new();
        if provisioned.is_empty() {
            let gone = self.applications.drain().map(|(id, _)| without_pfds(id));
            changed.extend(gone);
        }
        for application in provisioned {
            let id = application.application_id.0.clone();
            if application.pfd_contexts.is_empty() {
                self.applications.remove(&id);
                changed.push(without_pfds(id));
            } else {
                let application = Arc::new(application);
                self.applications.insert(id, Arc::clone(&application));
                changed.push(application);
            }
        }
        let mut seids: Vec<u64> = Vec::new();
        for (seid, session) in &mut self.sessions {
            let mut is_affected = false;
            for own in &mut session.applications {
                let same = changed.iter().find(|other| other.application_id == own.application_id);
                if let Some(application) = same {
                    *own = Arc::clone(application);
                    is_affected = true;
                }
            }
            seids.extend(is_affected.then_some(*seid));
        }
        seids.sort_unstable();
        for seid in seids {
            let event = UpfEvent::Modified {
                seid,
                end_markers: Vec::new(),
                drop_buffered: false,
                granted: Vec::new(),
            };
            self.outputs.push_back(UpfOutput::Event(event));
        }
    }

    /// Stores in the session the flow descriptions of all applications that its rules name. An application that the session already has
    /// remains valid, even if its descriptions have been deleted.
    ///
    /// # Errors
    /// The first rule that names an unknown application.
    pub(super) fn resolve_applications(&self, session: &mut Session) -> Result<(), RuleFault> {
        let before = std::mem::take(&mut session.applications);
        for pdr in &session.pdrs {
            let Some(id) = &pdr.pdi.application_id else { continue };
            if session.applications.iter().any(|own| own.application_id == *id) {
                continue;
            }
            let known = || before.iter().find(|own| own.application_id == *id);
            let Some(application) = self.applications.get(&id.0).or_else(known) else {
                let failed = Some(FailedRuleId::Pdr(pdr.pdr_id));
                return Err(RuleFault { cause: Cause::UNKNOWN_APPLICATION_ID, failed });
            };
            session.applications.push(Arc::clone(application));
        }
        Ok(())
    }
}

/// Returns an application without flow descriptions, which no packet matches.
fn without_pfds(id: Bytes) -> Arc<ApplicationPfds> {
    Arc::new(ApplicationPfds { application_id: Opaque(id), ..Default::default() })
}
