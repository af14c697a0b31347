//! Capture files: the traces that switches replay, and the packets that switches sent.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

use ranlab_packet::pcap::{self, Event, LinkType, PcapWriter};
use ranlab_pipeline::backends::{Equivalence, Outcomes, input, normalise};
use ranlab_pipeline::declare::Port;
use ranlab_pipeline::trace::Trace;

use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, sut};

/// Writes the packets of a trace that enter by `port`, normalised by `equivalences`. Returns the number of packets.
pub(crate) fn write(
    path: &Path,
    (trace, port): (&Trace, Port),
    equivalences: &[Equivalence],
) -> Result<u64, ComponentError> {
    let failed = |error: std::io::Error| environment(format!("{}: {error}", path.display()));
    let file = BufWriter::new(File::create(path).map_err(failed)?);
    let mut writer = PcapWriter::new(file, LinkType::ETHERNET).map_err(failed)?;
    let mut count = 0;
    for (_, frame) in trace.iter().filter(|(at, _)| *at == port) {
        let mut frame = frame.to_vec();
        normalise(&mut frame, input(equivalences));
        writer.packet(count * 1_000, &frame).map_err(failed)?;
        count += 1;
    }
    writer.flush().map_err(failed)?;
    Ok(count)
}

/// Reads the packets that left by a port.
pub(crate) fn read(
    path: &Path,
    port: Port,
    equivalences: &[Equivalence],
    outcomes: &mut Outcomes,
) -> Result<(), ComponentError> {
    let failed = |error: std::io::Error| environment(format!("{}: {error}", path.display()));
    let file = BufReader::new(File::open(path).map_err(failed)?);
    let mut cut = false;
    pcap::read(file, |event| {
        if let Event::Packet(packet) = event {
            cut |= packet.cut;
            outcomes.sent(port, packet.data.to_vec(), equivalences);
        }
    })
    .map_err(failed)?;
    if cut {
        return Err(sut(format!("{}: packets are cut, so that they cannot be compared", path.display())));
    }
    Ok(())
}
