//! Capture files, pcap and pcapng: packets read from them and written to them.
mod datagrams;
mod link_type;
mod packets;
mod writer;

pub use datagrams::{Datagram, Skipped, read_datagrams};
pub use link_type::LinkType;
pub use packets::{Event, Fault, Packet, is_capture, is_gzip, read};
pub use writer::{PcapWriter, PcapngWriter};
