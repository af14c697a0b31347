//! The elements of both directions, and the check of their order in a path.
use super::fault::{OwnError, OwnFault};
use super::read::{Fields, Item, list};
use super::tables::{Keys, Named, To, kind, place};
use super::{IPV4, MAC, PORTS, bounded};
use crate::declare::{AclId, Element, Encapsulation, ExactId, NatId, Path, RouteId};
use std::collections::BTreeMap;

/// Maximum number of elements per direction.
pub const ELEMENTS_MAX: usize = 64;

type Result<T> = std::result::Result<T, OwnError>;

/// Names of elements in files. The name `block` is replaced by the elements of that block.
const NAMES: [&str; 17] = [
    "admit",
    "bridge",
    "user-by-mac",
    "decap",
    "user-by-tunnel-key",
    "user-by-source",
    "user-by-destination",
    "meter",
    "acl",
    "nat-source",
    "nat-destination",
    "route",
    "forward",
    "deliver",
    "encap",
    "emit",
    "block",
];

/// Reads the paths of both directions.
pub(super) fn read(root: &mut Fields<'_>, named: &Named) -> Result<[Path; 2]> {
    let mut blocks = BTreeMap::new();
    if let Some(all) = root.fields("block")? {
        for (name, item) in all.entries() {
            let mut fields = item.fields(format!("block.{name}"))?;
            blocks.insert(name, fields.list("elements")?);
            fields.done()?;
        }
    }
    let mut path = |direction: &'static str| {
        let Some(mut fields) = root.fields(direction)? else {
            let of = "the file".to_owned();
            let allowed = "a table with `elements = [ ... ]`";
            return Err(root.fault(OwnFault::Missing { field: direction, of, allowed }));
        };
        let items = fields.list("elements")?;
        let mut walk = Walk {
            named,
            blocks: &blocks,
            open: Vec::new(),
            state: State::default(),
            count: 0,
            path: Vec::new(),
        };
        walk.block(&items, &fields)?;
        if walk.state.sent.is_none() {
            return Err(fields.fault(OwnFault::Endless { direction }));
        }
        let path = walk.path;
        fields.done()?;
        Ok(Path { blocks: path })
    };
    Ok([path("uplink")?, path("downlink")?])
}

/// Results of the elements read so far, on which the next element may depend.
#[derive(Default)]
struct State {
    admitted: bool,
    decapsulated: bool,
    user: bool,
    hop: bool,
    sent: Option<&'static str>,
}

struct Walk<'a, 'b> {
    named: &'a Named,
    blocks: &'a BTreeMap<&'b str, Vec<Item<'b>>>,
    /// Names of the blocks that are being read, to detect a block that contains itself.
    open: Vec<&'b str>,
    state: State,
    count: usize,
    path: Vec<Vec<Element>>,
}

impl<'b> Walk<'_, 'b> {
    /// Reads the elements of a list. Consecutive elements form one block; named blocks stay separate.
    fn block(&mut self, items: &[Item<'b>], of: &Fields<'_>) -> Result<()> {
        let mut own = Vec::new();
        for item in items {
            let mut fields = item.fields("an element")?;
            let Some(name) = fields.text("element")? else {
                let of = "an element".to_owned();
                let allowed = "a name, as in { element = \"admit\" }";
                return Err(fields.fault(OwnFault::Missing { field: "element", of, allowed }));
            };
            if name == "block" {
                let block = fields.need("name", "the name of a [block.NAME]")?;
                let name = block.text("name")?;
                fields.done()?;
                if !own.is_empty() {
                    self.path.push(std::mem::take(&mut own));
                }
                self.enter(name, &block, of)?;
                continue;
            }
            self.count += 1;
            bounded(of, "elements of a direction", self.count, ELEMENTS_MAX)?;
            own.push(self.element(name, item, &mut fields)?);
            fields.done()?;
        }
        if !own.is_empty() {
            self.path.push(own);
        }
        Ok(())
    }

    fn enter(&mut self, name: &'b str, item: &Item<'_>, of: &Fields<'_>) -> Result<()> {
        let blocks = self.blocks;
        let Some(items) = blocks.get(name) else {
            let allowed = list(blocks.keys().copied());
            return Err(item.fault(OwnFault::Unknown { what: "block", name: name.to_owned(), allowed }));
        };
        if self.open.contains(&name) {
            return Err(item.fault(OwnFault::Circle(name.to_owned())));
        }
        // The block counts as an element, so that the limit also applies to blocks that contain only blocks.
        self.count += 1;
        bounded(of, "elements of a direction", self.count, ELEMENTS_MAX)?;
        self.open.push(name);
        self.block(items, of)?;
        self.open.pop();
        Ok(())
    }

    fn element(&mut self, name: &str, item: &Item<'_>, fields: &mut Fields<'_>) -> Result<Element> {
        let Some(name) = NAMES.iter().copied().find(|one| *one == name) else {
            let allowed = list(NAMES.into_iter());
            return Err(item.fault(OwnFault::Unknown { what: "element", name: name.to_owned(), allowed }));
        };
        let element = self.named_element(name, fields)?;
        if let Some(last) = self.state.sent {
            return Err(item.fault(OwnFault::Unreached { element: name, last }));
        }
        if let Some(needs) = self.needs(&element) {
            return Err(item.fault(OwnFault::Order { element: name, needs }));
        }
        let state = &mut self.state;
        match &element {
            Element::Admit { .. } => state.admitted = true,
            Element::Decap { .. } => state.decapsulated = true,
            Element::FindUserByMac(_)
            | Element::FindUserByTunnelKey(_)
            | Element::FindUserBySource(_)
            | Element::FindUserByDestination(_) => state.user = true,
            Element::Bridge(_) | Element::Route(_) => state.hop = true,
            Element::Forward | Element::Deliver | Element::Encap | Element::Emit { .. } => {
                state.sent = Some(name)
            }
            Element::Meter | Element::Acl(_) | Element::NatSource(_) | Element::NatDestination(_) => {}
        }
        Ok(element)
    }

    /// Returns the requirement on the elements before an element if it is not met.
    fn needs(&self, element: &Element) -> Option<&'static str> {
        const ADMIT: &str = "`admit` must check IP headers";
        const USER: &str = "an element must find the user";
        const HOP: &str = "`route` or `bridge` is required";
        let State { admitted, decapsulated, user, hop, .. } = self.state;
        let vxlan = self.named.tables.tunnels.iter().all(|tunnel| tunnel.kind == Encapsulation::Vxlan);
        let lacks = |there: bool, what| (!there).then_some(what);
        match element {
            Element::Admit { .. } | Element::Bridge(_) | Element::FindUserByMac(_) | Element::Emit { .. } => {
                None
            }
            Element::Decap { .. } if decapsulated => Some("no other `decap` is allowed"),
            Element::FindUserByTunnelKey(_) => lacks(decapsulated, "`decap` is required"),
            Element::Decap { .. }
            | Element::FindUserBySource(_)
            | Element::FindUserByDestination(_)
            | Element::Acl(_)
            | Element::NatSource(_)
            | Element::NatDestination(_)
            | Element::Route(_) => lacks(admitted, ADMIT),
            Element::Meter => lacks(user, USER).or_else(|| lacks(admitted, ADMIT)),
            Element::Forward => lacks(hop, HOP).or_else(|| lacks(admitted, ADMIT)),
            Element::Deliver => lacks(hop, HOP),
            Element::Encap => lacks(user, USER)
                .or_else(|| lacks(admitted || vxlan, ADMIT))
                .or_else(|| lacks(self.named.all_tunnelled, "all users must have a `tunnel`")),
        }
    }

    fn named_element(&self, name: &'static str, fields: &mut Fields<'_>) -> Result<Element> {
        let named = self.named;
        Ok(match name {
            "admit" => Element::Admit {
                mac: fields.parsed("mac", MAC)?,
                ipv6: fields.bool("ipv6")?.unwrap_or(false),
            },
            "decap" => Element::Decap {
                kind: kind(fields, "decap")?,
                local: fields.need_parsed("local", IPV4)?,
                ipv6: fields.bool("ipv6")?.unwrap_or(false),
            },
            "bridge" => Element::Bridge(self.exact(name, fields, Keys::Mac, To::NextHops)?),
            "user-by-mac" => Element::FindUserByMac(self.exact(name, fields, Keys::Mac, To::Users)?),
            "user-by-tunnel-key" => {
                Element::FindUserByTunnelKey(self.exact(name, fields, Keys::Tunnel, To::Users)?)
            }
            "user-by-source" => {
                Element::FindUserBySource(self.exact(name, fields, Keys::Address, To::Users)?)
            }
            "user-by-destination" => {
                Element::FindUserByDestination(self.exact(name, fields, Keys::Address, To::Users)?)
            }
            "meter" => Element::Meter,
            "acl" => Element::Acl(AclId(table("ACL", fields, &named.acls)?)),
            "nat-source" => Element::NatSource(NatId(table("NAT", fields, &named.nats)?)),
            "nat-destination" => Element::NatDestination(NatId(table("NAT", fields, &named.nats)?)),
            "route" => Element::Route(RouteId(table("route table", fields, &named.routes)?)),
            "forward" => Element::Forward,
            "deliver" => Element::Deliver,
            "encap" => Element::Encap,
            // The only remaining element is `emit`.
            _ => {
                let port = fields.choice("port", &PORTS)?;
                let missing =
                    OwnFault::Missing { field: "port", of: "emit".to_owned(), allowed: "access or core" };
                let port = port.ok_or_else(|| fields.fault(missing))?;
                Element::Emit { port, source: fields.parsed("source", MAC)? }
            }
        })
    }

    /// Returns the exact table that an element names, after a check of the kinds of its keys and values.
    fn exact(&self, element: &'static str, fields: &mut Fields<'_>, keys: Keys, to: To) -> Result<ExactId> {
        let item = fields.need("table", "the name of an [exact.NAME]")?;
        let name = item.text("table")?;
        let index =
            place("exact table", self.named.exact.iter().map(|(name, ..)| name.as_str()), &item, name)?;
        let (_, has, leads) = &self.named.exact[index];
        let why = match (*has == keys, *leads == to, keys) {
            (true, true, _) => return Ok(ExactId(index as u32)),
            (false, _, Keys::Mac) => "its `keys` must be \"mac\"",
            (false, _, Keys::Address) => "its `keys` must be \"address\"",
            (false, _, Keys::Tunnel) => "its `keys` must be \"tunnel-key\"",
            (true, false, _) if to == To::Users => "it must lead `to` \"users\"",
            (true, false, _) => "it must lead `to` \"next-hops\"",
        };
        Err(item.fault(OwnFault::Table { element, table: name.to_owned(), why }))
    }
}

fn table(what: &'static str, fields: &mut Fields<'_>, names: &[String]) -> Result<u32> {
    let item = fields.need("table", "the name of a table")?;
    let index = place(what, names.iter().map(String::as_str), &item, item.text("table")?)?;
    Ok(index as u32)
}
