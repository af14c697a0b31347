//! Capture files, pcap and pcapng: packets read from them and written to them.
mod link_type;
mod packets;
mod writer;

pub use link_type::LinkType;
pub use packets::{Event, Fault, Packet, is_capture, is_gzip, read};
pub use writer::{PcapWriter, PcapngWriter};
