//! Routing tables as routers print them: each line has a prefix and its next hop, in IPv4 or IPv6.
use super::addresses::AnyPrefix;
use super::fault::{OwnError, OwnFault};
use super::read::Lines;
use crate::declare::{NextHop, NextHopId, Port};
use ranlab_packet::Mac;
use std::collections::HashMap;
use std::net::IpAddr;

/// Maximum length of a line of a routing table or of its updates, in bytes.
pub(crate) const LINE_MAX: usize = 256;

/// Next hops of a routing table, by the words that denote them in a file.
#[derive(Debug, Clone)]
pub(super) struct Hops {
    by_word: HashMap<String, u32>,
    /// Next hops that were added for addresses in the file.
    added: Vec<NextHop>,
    first: u32,
    most: usize,
    port: Port,
    src: Option<Mac>,
}

impl Hops {
    /// Creates the list from the declared next hops. Next hops added later use the egress port `port`. `first` is the
    /// number of the first added next hop.
    pub(super) fn new(
        declared: impl Iterator<Item = (String, u32)>,
        (first, most): (u32, usize),
        port: Port,
        src: Option<Mac>,
    ) -> Self {
        Self { by_word: declared.collect(), added: Vec::new(), first, most, port, src }
    }

    /// Returns the next hop for a word: a declared next hop for its name, or one next hop for each address.
    ///
    /// # Errors
    ///
    /// The word is neither a name nor an address, or there are too many addresses.
    pub(super) fn find(&mut self, word: &str) -> Result<NextHopId, String> {
        if let Some(index) = self.by_word.get(word) {
            return Ok(NextHopId(*index));
        }
        let address: IpAddr = word.parse().map_err(|_| {
            format!("next hop \"{word}\" is not an IP address and not the name of a [next-hop]")
        })?;
        let number = self.first + self.added.len() as u32;
        if number as usize >= self.most {
            return Err(format!("the file has more than {} next hops", self.most));
        }
        let dst = Some(mac_of(address, number));
        self.added.push(NextHop { dst, src: self.src, port: self.port });
        self.by_word.insert(word.to_owned(), number);
        Ok(NextHopId(number))
    }

    /// Returns the next hops added so far. Next hops added later are numbered after them.
    pub(super) fn take_added(&mut self) -> Vec<NextHop> {
        self.first += self.added.len() as u32;
        std::mem::take(&mut self.added)
    }

    /// Continues the numbering of next hops at `first`.
    pub(super) fn continue_from(&mut self, first: u32) {
        self.first = first;
    }
}

/// Returns the MAC address of a next hop: `02:00` and its IPv4 address, or `02:06` and the number of an IPv6 next hop.
fn mac_of(address: IpAddr, number: u32) -> Mac {
    let (second, [a, b, c, d]) = match address {
        IpAddr::V4(address) => (0, address.octets()),
        IpAddr::V6(_) => (6, number.to_be_bytes()),
    };
    Mac([2, second, a, b, c, d])
}

/// Returns the lines of a text that are neither empty nor comments, with their numbers and their words.
///
/// # Errors
/// A line is too long.
pub(crate) fn lines<'a>(
    file: &'a str,
    text: &'a str,
) -> impl Iterator<Item = Result<(u32, Vec<&'a str>), OwnError>> {
    (1_u32..).zip(text.lines()).filter_map(move |(number, line)| {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        if line.len() > LINE_MAX {
            let what = format!("the line has {} bytes, at most {LINE_MAX} are read", line.len());
            return Some(Err(Lines::new(file, "").error(number, OwnFault::Route(what))));
        }
        Some(Ok((number, line.split_whitespace().collect())))
    })
}

/// Parses a table whose lines are `PREFIX NEXTHOP` or `PREFIX via NEXTHOP`. If a prefix occurs several times, the last
/// line is used.
///
/// # Errors
///
/// The first invalid line, or more than `most` routes.
pub(super) fn routes(
    (file, text): (&str, &str),
    hops: &mut Hops,
    most: usize,
) -> Result<Vec<(AnyPrefix, NextHopId)>, OwnError> {
    let faults = Lines::new(file, "");
    let mut routes = Vec::new();
    for line in lines(file, text) {
        let (number, words) = line?;
        let wrong = |what: String| faults.error(number, OwnFault::Route(what));
        let ([prefix, hop] | [prefix, "via", hop, ..]) = words[..] else {
            return Err(wrong("a prefix and its next hop are required".to_owned()));
        };
        let prefix = prefix_of(prefix).map_err(wrong)?;
        if routes.len() == most {
            let what = "routes of a file".to_owned();
            let fault = OwnFault::Range { what, value: most as u64 + 1, least: 1, most: most as u64 };
            return Err(faults.error(number, fault));
        }
        routes.push((prefix, hops.find(hop).map_err(wrong)?));
    }
    if routes.is_empty() {
        return Err(faults.error(0, OwnFault::Route("the file has no route".to_owned())));
    }
    Ok(routes)
}

/// Parses a prefix. `default` stands for 0.0.0.0/0.
pub(super) fn prefix_of(word: &str) -> Result<AnyPrefix, String> {
    let word = if word == "default" { "0.0.0.0/0" } else { word };
    word.parse().map_err(|()| format!("\"{word}\" is not a prefix such as 10.0.0.0/8 or 2001:db8::/32"))
}
