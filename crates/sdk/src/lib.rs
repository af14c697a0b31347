//! Sockets and tasks around the E2 machines; no decisions. The one door for users.
