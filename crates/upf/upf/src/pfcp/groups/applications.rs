//! Applications and how they are recognised (§7.4.3).
use crate::pfcp::ie::table;
use crate::pfcp::*;

table! {
    /// Application ID's PFDs (IE 58): every packet flow description of an application. Without any, they are deleted.
    ApplicationPfds {
        24 => application_id: M Opaque, "Which application.";
        59 => pfd_contexts: List PfdContext, "Its packet flow descriptions.";
    }
    /// PFD Context (IE 59).
    PfdContext {
        61 => contents: List1 PfdContents, "Packet flow descriptions.";
    }
}
