//! Values for usage reporting: volumes, thresholds and quotas.
use crate::pfcp::ie::{IeValue, Reader, Writer};
use crate::pfcp::{Fault, Random};

/// Volume Threshold or Volume Quota (IE 31, 73), in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Volume {
    /// Volume of both directions together.
    pub total: Option<u64>,
    /// Volume of the uplink.
    pub uplink: Option<u64>,
    /// Volume of the downlink.
    pub downlink: Option<u64>,
}

impl Volume {
    fn flags(&self) -> u8 {
        u8::from(self.total.is_some())
            | u8::from(self.uplink.is_some()) << 1
            | u8::from(self.downlink.is_some()) << 2
    }

    fn put_numbers(&self, writer: &mut Writer) {
        for number in [self.total, self.uplink, self.downlink].iter().flatten() {
            writer.put(&number.to_be_bytes());
        }
    }

    fn take_numbers(flags: u8, reader: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(Self {
            total: reader.when(flags & 1 != 0)?.map(u64::from_be_bytes),
            uplink: reader.when(flags & 2 != 0)?.map(u64::from_be_bytes),
            downlink: reader.when(flags & 4 != 0)?.map(u64::from_be_bytes),
        })
    }
}

impl IeValue for Volume {
    fn put(&self, writer: &mut Writer) {
        writer.put(&[self.flags()]);
        self.put_numbers(writer);
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        let flags = reader.octet()?;
        Self::take_numbers(flags, reader)
    }
    fn random(random: &mut Random) -> Self {
        let total = Some(random.draw());
        Self { total, uplink: random.maybe(Random::draw), downlink: random.maybe(Random::draw) }
    }
}

/// Volume Measurement (IE 66).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct VolumeMeasurement {
    /// Measured volume, in bytes.
    pub octets: Volume,
    /// Measured number of packets, if the feature MNOP is used.
    pub packets: Volume,
}

impl IeValue for VolumeMeasurement {
    fn put(&self, writer: &mut Writer) {
        writer.put(&[self.octets.flags() | self.packets.flags() << 3]);
        self.octets.put_numbers(writer);
        self.packets.put_numbers(writer);
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        let flags = reader.octet()?;
        let octets = Volume::take_numbers(flags, reader)?;
        Ok(Self { octets, packets: Volume::take_numbers(flags >> 3, reader)? })
    }
    fn random(random: &mut Random) -> Self {
        Self { octets: Volume::random(random), packets: random.option().unwrap_or_default() }
    }
}
