//! Values of packet flow descriptions.
use crate::pfcp::ie::{IeValue, Reader, Writer};
use crate::pfcp::{Fault, FaultKind, Random};
use bytes::Bytes;

/// PFD Contents (IE 61, §8.2.39), which describe the packets of an application.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PfdContents {
    /// Flow description, an IPFilterRule such as `permit out ip from 198.51.100.0/24 to assigned`.
    pub flow_description: Option<Bytes>,
    /// URL or its significant parts.
    pub url: Option<Bytes>,
    /// Domain name, or a pattern of it.
    pub domain_name: Option<Bytes>,
    /// Content on which operator and vendor have agreed.
    pub custom: Option<Bytes>,
    /// Protocol in which the domain name is searched for.
    pub domain_name_protocol: Option<Bytes>,
    /// Further flow descriptions.
    pub additional_flows: Vec<Bytes>,
    /// Further URLs.
    pub additional_urls: Vec<Bytes>,
    /// Further domain names, each followed by its protocol.
    pub additional_names: Vec<Bytes>,
}

impl PfdContents {
    /// Creates contents with one flow description.
    pub fn flow(description: &str) -> Self {
        let flow_description = Some(Bytes::copy_from_slice(description.as_bytes()));
        Self { flow_description, ..Self::default() }
    }

    /// Returns all flow descriptions.
    pub fn flows(&self) -> impl Iterator<Item = &Bytes> {
        self.flow_description.iter().chain(&self.additional_flows)
    }

    /// Returns whether the contents have only flow descriptions.
    pub fn is_of_flows(&self) -> bool {
        let others = [&self.url, &self.domain_name, &self.custom, &self.domain_name_protocol];
        others.iter().all(|part| part.is_none())
            && self.additional_urls.is_empty()
            && self.additional_names.is_empty()
    }

    fn parts(&self) -> [&Option<Bytes>; 5] {
        [&self.flow_description, &self.url, &self.domain_name, &self.custom, &self.domain_name_protocol]
    }

    fn lists(&self) -> [&Vec<Bytes>; 3] {
        [&self.additional_flows, &self.additional_urls, &self.additional_names]
    }
}

fn put_text(writer: &mut Writer, text: &[u8]) {
    // A text that exceeds its length field also makes the element too long. The element writer detects this.
    writer.put(&(text.len() as u16).to_be_bytes());
    writer.put(text);
}

fn take_text<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Fault> {
    let len = u16::from_be_bytes(reader.take()?).into();
    reader.slice(len)
}

impl IeValue for PfdContents {
    fn put(&self, writer: &mut Writer) {
        let mut flags = 0;
        for (bit, part) in self.parts().iter().enumerate() {
            flags |= u8::from(part.is_some()) << bit;
        }
        for (bit, list) in self.lists().iter().enumerate() {
            flags |= u8::from(!list.is_empty()) << (5 + bit);
        }
        writer.put(&[flags, 0]);
        self.parts().into_iter().flatten().for_each(|text| put_text(writer, text));
        for list in self.lists().into_iter().filter(|list| !list.is_empty()) {
            let len: usize = list.iter().map(|text| 2 + text.len()).sum();
            writer.put(&(len as u16).to_be_bytes());
            list.iter().for_each(|text| put_text(writer, text));
        }
    }

    fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        let [flags, _] = reader.take()?;
        if flags == 0 {
            return Err(FaultKind::Value.on_element(0));
        }
        let mut part = |bit: u8| -> Result<Option<Bytes>, Fault> {
            let is_set = flags >> bit & 1 == 1;
            is_set.then(|| take_text(reader).map(Bytes::copy_from_slice)).transpose()
        };
        let mut contents = Self {
            flow_description: part(0)?,
            url: part(1)?,
            domain_name: part(2)?,
            custom: part(3)?,
            domain_name_protocol: part(4)?,
            ..Self::default()
        };
        let mut list = |bit: u8| -> Result<Vec<Bytes>, Fault> {
            let mut all = Vec::new();
            if flags >> bit & 1 == 1 {
                let mut texts = Reader::new(take_text(reader)?);
                while !texts.is_empty() {
                    all.push(Bytes::copy_from_slice(take_text(&mut texts)?));
                }
            }
            Ok(all)
        };
        contents.additional_flows = list(5)?;
        contents.additional_urls = list(6)?;
        contents.additional_names = list(7)?;
        Ok(contents)
    }

    fn random(random: &mut Random) -> Self {
        let some = |text: &'static str| Bytes::from_static(text.as_bytes());
        let flow = some("permit out ip from 198.51.100.0/24 to assigned");
        Self {
            flow_description: Some(flow.clone()),
            url: random.maybe(|_| some("^http://example.com/.*")),
            domain_name: random.maybe(|_| some("example.com")),
            custom: random.maybe(|_| some("x")),
            domain_name_protocol: random.maybe(|_| some("1")),
            additional_flows: if random.flag() { vec![flow.clone(), flow] } else { Vec::new() },
            additional_urls: if random.flag() { vec![some("^http://example.org/")] } else { Vec::new() },
            additional_names: if random.flag() { vec![some("example.org"), some("1")] } else { Vec::new() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::ie::take_value;

    #[test]
    fn pfd_contents_round_trip() {
        let contents = PfdContents {
            additional_flows: vec![Bytes::from_static(b"a"), Bytes::from_static(b"bc")],
            url: Some(Bytes::from_static(b"u")),
            ..PfdContents::flow("f")
        };
        let mut writer = Writer::default();
        contents.put(&mut writer);
        assert_eq!(writer.out, b"\x23\0\0\x01f\0\x01u\0\x07\0\x01a\0\x02bc");
        assert_eq!(take_value::<PfdContents>(61, &writer.out), Ok(contents));
        for len in 0..writer.out.len() {
            let cut = take_value::<PfdContents>(61, &writer.out[..len]);
            assert_eq!(cut, Err(FaultKind::Length.on_element(61)), "{len}");
        }
        assert_eq!(take_value::<PfdContents>(61, &[0, 0]), Err(FaultKind::Value.on_element(61)));
    }

    #[test]
    fn contents_with_only_flows_are_recognised() {
        assert!(PfdContents::flow("f").is_of_flows());
        let url = PfdContents { url: Some(Bytes::new()), ..PfdContents::flow("f") };
        let names = PfdContents { additional_names: vec![Bytes::new()], ..PfdContents::flow("f") };
        assert!(!url.is_of_flows() && !names.is_of_flows());
    }
}
