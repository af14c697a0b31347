//! Port ranges for switches without port masks. OpenFlow defines no mask for ports (match fields OXM_OF_TCP_SRC to
//! OXM_OF_UDP_DST), but Open vSwitch supports masks as an extension. A masked flow is expanded to one flow per port.

/// Maximum number of flows after expansion. The range from port 1024 on already needs 64,512 flows.
pub(super) const FLOWS_MAX: usize = 1 << 16;

const FIELDS: [&str; 2] = [",tp_src=", ",tp_dst="];

/// Expands all masked ports.
///
/// # Errors
///
/// More than [`FLOWS_MAX`] flows would be needed. The error contains the needed number.
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
            let with_port = |line: &String, port| line.replace(&of.text, &format!("{field}{port}"));
            lines = lines
                .iter()
                .flat_map(|line| (of.first..=of.last).map(move |port| with_port(line, port)))
                .collect();
        }
        lines.iter().for_each(|line| out.extend([line, "\n"]));
    }
    Ok(out)
}

/// A masked field of a flow.
struct Masked {
    /// The field as written in the flow.
    text: String,
    first: u16,
    last: u16,
}

impl Masked {
    fn len(&self) -> u64 {
        u64::from(self.last - self.first) + 1
    }
}

/// Parses a field such as `,tp_dst=0xb358/0xfff8`. Masks in ranlab's flows clear only trailing bits.
fn ports(line: &str, field: &str) -> Option<Masked> {
    let rest = line.split_once(field)?.1;
    let masked = rest.split([',', ' ']).next()?;
    let (value, mask) = masked.split_once('/')?;
    let hex = |text: &str| u16::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let value = hex(value)?;
    let mask = hex(mask)?;
    Some(Masked { text: format!("{field}{masked}"), first: value & mask, last: value | !mask })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masked_port_expands_to_all_its_ports() {
        let rule = "flow add table=2,ip,nw_proto=6,tp_src=0x0010/0xfffe,tp_dst=0xb35c/0xfffc,actions=drop\n";
        let rules = exact(rule).unwrap();
        let each: Vec<&str> = rules.lines().collect();
        assert_eq!(each.len(), 8);
        assert_eq!(each[0], "flow add table=2,ip,nw_proto=6,tp_src=16,tp_dst=45916,actions=drop");
        assert_eq!(each[7], "flow add table=2,ip,nw_proto=6,tp_src=17,tp_dst=45919,actions=drop");
        let others = "group add group_id=1,actions=output:2\nflow add table=1,metadata=0x1/0xff,tp_dst=80,actions=drop\n";
        assert_eq!(exact(others).unwrap(), others);
        // A deletion uses the same matches as an addition.
        assert_eq!(
            exact("flow delete_strict table=2,priority=9,udp,tp_dst=0x0008/0xfff8\n")
                .unwrap()
                .lines()
                .count(),
            8
        );
    }

    #[test]
    fn expansion_beyond_limit_is_rejected() {
        let wide = "flow add table=2,udp,tp_src=0x8000/0x8000,tp_dst=0x8000/0x8000,actions=drop\n";
        assert_eq!(exact(wide), Err(1 << 30));
        assert_eq!(exact("x,tp_dst=0x0000/0x8000\n").unwrap().lines().count(), 1 << 15);
    }
}
