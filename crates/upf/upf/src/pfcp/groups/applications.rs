//! Grouped elements for applications and their packet flow descriptions (§7.4.3).
use crate::pfcp::ie::table;
use crate::pfcp::*;

table! {
    /// Application ID's PFDs (IE 58): all packet flow descriptions of an application. Without a description, the stored ones are
    /// deleted.
    ApplicationPfds {
        24 => application_id: M Opaque, "Id of the application.";
        59 => pfd_contexts: List PfdContext, "Packet flow descriptions of the application.";
    }
    /// PFD Context (IE 59).
    PfdContext {
        61 => contents: List1 PfdContents, "Packet flow descriptions.";
    }
}
