//! Ranges of ports at a switch that matches ports only as they are: OpenFlow has no mask for them (the table of its match fields,
//! OXM_OF_TCP_SRC to OXM_OF_UDP_DST), Open vSwitch has. What a masked flow says is then said by one flow for each port.

/// Flows that one list may become; a range from 1024 on alone is 64,512.
pub(super) const FLOWS_MAX: usize = 1 << 16;

const FIELDS: [&str; 2] = [",tp_src=", ",tp_dst="];

/// The same flows without masks of ports.
///
/// # Errors
/// As how many they would be, beyond [`FLOWS_MAX`].
pub(super) fn exact(text: &str) -> Result<String, u64> {
    let many =
        |line: &str| FIELDS.iter().map(|field| ports(line, field).map_or(1, |it| it.len())).product::<u64>();
    let all = text.lines().map(many).fold(0, u64::saturating_add);
    if all > FLOWS_MAX as u64 {
        return Err(all);
    }
    let mut out = String::new();
    for line in text.lines() {
        let mut lines = vec![line.to_owned()];
        for field in FIELDS {
            let Some(of) = ports(line, field) else { continue };
            let said = |line: &String, port| line.replace(&of.text, &format!("{field}{port}"));
            lines = lines
                .iter()
                .flat_map(|line| (of.first..=of.last).map(move |port| said(line, port)))
                .collect();
        }
        lines.iter().for_each(|line| out.extend([line, "\n"]));
    }
    Ok(out)
}

/// A masked field of a flow.
struct Masked {
    /// As it stands there.
    text: String,
    first: u16,
    last: u16,
}

impl Masked {
    fn len(&self) -> u64 {
        u64::from(self.last - self.first) + 1
    }
}

/// Of `,tp_dst=0xb358/0xfff8`: masks of ours leave out the last bits alone.
fn ports(line: &str, field: &str) -> Option<Masked> {
    let rest = line.split_once(field)?.1;
    let said = rest.split([',', ' ']).next()?;
    let (value, mask) = said.split_once('/')?;
    let hex = |text: &str| u16::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let (value, mask) = (hex(value)?, hex(mask)?);
    Some(Masked { text: format!("{field}{said}"), first: value & mask, last: value | !mask })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_masked_port_becomes_each_of_its_ports() {
        let rule = "flow add table=2,ip,nw_proto=6,tp_src=0x0010/0xfffe,tp_dst=0xb35c/0xfffc,actions=drop\n";
        let told = exact(rule).unwrap();
        let each: Vec<&str> = told.lines().collect();
        assert_eq!(each.len(), 8);
        assert_eq!(each[0], "flow add table=2,ip,nw_proto=6,tp_src=16,tp_dst=45916,actions=drop");
        assert_eq!(each[7], "flow add table=2,ip,nw_proto=6,tp_src=17,tp_dst=45919,actions=drop");
        let others = "group add group_id=1,actions=output:2\nflow add table=1,metadata=0x1/0xff,tp_dst=80,actions=drop\n";
        assert_eq!(exact(others).unwrap(), others);
        // What is taken away is found by the same matches.
        assert_eq!(
            exact("flow delete_strict table=2,priority=9,udp,tp_dst=0x0008/0xfff8\n")
                .unwrap()
                .lines()
                .count(),
            8
        );
    }

    #[test]
    fn too_many_are_told_before_they_are_made() {
        let wide = "flow add table=2,udp,tp_src=0x8000/0x8000,tp_dst=0x8000/0x8000,actions=drop\n";
        assert_eq!(exact(wide), Err(1 << 30));
        assert_eq!(exact("x,tp_dst=0x0000/0x8000\n").unwrap().lines().count(), 1 << 15);
    }
}
