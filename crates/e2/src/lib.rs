//! E2 behaviour as pure machines: time and bytes in, bytes, events and the next deadline out.
