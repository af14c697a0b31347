//! Draws a user-defined network as an SVG picture: nodes, links with their rates and loads, paths of redundant flows, and cut links.

mod labels;

use std::f64::consts::PI;
use std::fmt::Write as _;

use ranlab_xhaul::{Network, Role, Stage, Topology};

use labels::Area;

/// Size of the picture, in user units.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 720.0;
/// Width of a character in a node's name.
const NAME_SIGN: f64 = 6.8;

struct Placed<'t> {
    name: &'t str,
    switch: bool,
    x: f64,
    y: f64,
}

/// Link in the picture, with the loads of both directions.
struct Cable {
    ends: [(f64, f64); 2],
    percent: f64,
    cut: bool,
    label: String,
}

/// Draws a network. `network` is the routed network, whose first stages are the topology's lines.
pub(in crate::rig) fn svg(topology: &Topology, network: &Network) -> String {
    let placed = place(topology);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let cables = cables(topology, network, &placed);
    cables.iter().for_each(|cable| line(&mut out, cable));
    let nodes: Vec<Area> = placed.iter().map(Placed::area).collect();
    let lines: Vec<[(f64, f64); 2]> = cables.iter().map(|cable| cable.ends).collect();
    for (cable, (x, y)) in cables.iter().zip(labels::places(&cables, &nodes, &lines)) {
        let _ = writeln!(
            out,
            "<text x=\"{x:.0}\" y=\"{:.0}\" text-anchor=\"middle\" fill=\"#404040\" font-size=\"10\" \
             stroke=\"white\" stroke-width=\"3\" paint-order=\"stroke\">{}</text>",
            y + 3.5,
            escape(&cable.label)
        );
    }
    placed.iter().for_each(|node| node.draw(&mut out));
    let ports = network.stages.iter().filter(|stage| matches!(stage, Stage::Port(_))).count();
    let caption = format!(
        "{} nodes, {ports} ports, {} flows; label of a link: rate, load in each direction",
        topology.nodes.len(),
        network.flows.len()
    );
    let _ = writeln!(
        out,
        "<text x=\"12\" y=\"{}\" fill=\"#404040\">{}</text>\n</svg>",
        HEIGHT - 10.0,
        escape(&caption)
    );
    out
}

/// Returns the links. Both directions of a link are one entry.
fn cables(topology: &Topology, network: &Network, placed: &[Placed<'_>]) -> Vec<Cable> {
    let loads = network.port_loads();
    let load = |line: usize| {
        let found = loads.iter().find(|(stage, ..)| usize::from(*stage) == line);
        found.map_or(0.0, |(_, offered, rate)| *offered as f64 * 100.0 / (*rate).max(1) as f64)
    };
    let at = |name: &str| placed.iter().find(|node| node.name == name).map(|node| (node.x, node.y));
    let mut cables = Vec::new();
    for (index, line) in topology.lines.iter().enumerate() {
        let back = topology.lines.iter().position(|other| other.from == line.to && other.to == line.from);
        if back.is_some_and(|back| back < index) {
            continue;
        }
        let (Some(from), Some(to)) = (at(&line.from), at(&line.to)) else { continue };
        let loads = match back {
            Some(back) => format!("{:.0} / {:.0} %", load(index), load(back)),
            None => format!("{:.0} %", load(index)),
        };
        let cut = line.cut_ps.is_some();
        let label = format!("{} {loads}{}", rate(line.rate_bps), if cut { ", cut" } else { "" });
        let percent = load(index).max(back.map_or(0.0, load));
        cables.push(Cable { ends: [from, to], percent, cut, label });
    }
    cables
}

fn line(out: &mut String, cable: &Cable) {
    let [from, to] = cable.ends;
    let colour = match cable.percent {
        _ if cable.cut => "#c00000",
        busy if busy >= 80.0 => "#d07000",
        busy if busy > 0.0 => "#2060a0",
        _ => "#a0a0a0",
    };
    let dash = if cable.cut { " stroke-dasharray=\"6 5\"" } else { "" };
    let _ = writeln!(
        out,
        "<line x1=\"{:.0}\" y1=\"{:.0}\" x2=\"{:.0}\" y2=\"{:.0}\" stroke=\"{colour}\" stroke-width=\"{:.1}\"{dash}/>",
        from.0,
        from.1,
        to.0,
        to.1,
        1.5 + cable.percent / 25.0
    );
}

impl Placed<'_> {
    /// Returns the area of a node, whose shape is as wide as its name.
    fn area(&self) -> Area {
        let least = if self.switch { 44.0 } else { 30.0 };
        let width = (self.name.chars().count() as f64 * NAME_SIGN + 12.0).max(least);
        Area { x: self.x, y: self.y, width, height: if self.switch { 26.0 } else { 28.0 } }
    }

    fn draw(&self, out: &mut String) {
        let Area { x, y, width, height } = self.area();
        let (corner, fill, edge) = match self.switch {
            true => (4.0, "#dbe8f5", "#2060a0"),
            false => (height / 2.0, "#eef5e4", "#508030"),
        };
        let _ = writeln!(
            out,
            "<rect x=\"{:.0}\" y=\"{:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"{corner:.0}\" fill=\"{fill}\" stroke=\"{edge}\"/>",
            x - width / 2.0,
            y - height / 2.0
        );
        let _ = writeln!(
            out,
            "<text x=\"{x:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
            y + 4.0,
            escape(self.name)
        );
    }
}

fn rate(bps: u64) -> String {
    match bps {
        bps if bps >= 1_000_000_000 => format!("{}G", bps as f64 / 1e9),
        bps => format!("{}M", bps as f64 / 1e6),
    }
}

/// Places the switches on a circle, or up to two switches in a row. The other nodes of each switch are placed outside of it.
fn place(topology: &Topology) -> Vec<Placed<'_>> {
    let is_switch = |name: &str| {
        topology.nodes.iter().any(|node| node.name == name && matches!(node.role, Role::Switch { .. }))
    };
    let switches: Vec<&str> =
        topology.nodes.iter().map(|node| node.name.as_str()).filter(|name| is_switch(name)).collect();
    let mut placed: Vec<Placed<'_>> = Vec::new();
    let cx = WIDTH / 2.0;
    let cy = HEIGHT / 2.0 - 10.0;
    for (index, name) in switches.iter().enumerate() {
        let angle = 2.0 * PI * index as f64 / switches.len() as f64 - PI / 2.0;
        let flat = switches.len() < 3;
        let x = if flat {
            WIDTH * (index as f64 + 1.0) / (switches.len() as f64 + 1.0)
        } else {
            cx + 210.0 * angle.cos()
        };
        let y = if flat { cy } else { cy + 170.0 * angle.sin() };
        placed.push(Placed { name, switch: true, x, y });
    }
    let others: Vec<&str> =
        topology.nodes.iter().map(|node| node.name.as_str()).filter(|name| !is_switch(name)).collect();
    let home = |name: &str| {
        let line = topology.lines.iter().find(|line| line.from == name || line.to == name)?;
        let far = if line.from == name { &line.to } else { &line.from };
        switches.iter().position(|switch| switch == far)
    };
    for (index, name) in others.iter().enumerate() {
        let Some(switch) = home(name) else {
            let x = WIDTH * (index as f64 + 1.0) / (others.len() as f64 + 1.0);
            placed.push(Placed { name, switch: false, x, y: HEIGHT - 60.0 });
            continue;
        };
        let same: Vec<&&str> = others.iter().filter(|other| home(other) == Some(switch)).collect();
        let nth = same.iter().position(|other| **other == *name).unwrap_or(0) as f64;
        let spread = nth - (same.len() as f64 - 1.0) / 2.0;
        let middle = match switches.len() {
            1 => 2.0 * PI * nth / same.len() as f64,
            2 => {
                if switch == 0 {
                    PI
                } else {
                    0.0
                }
            }
            count => 2.0 * PI * switch as f64 / count as f64 - PI / 2.0,
        };
        let step = if switches.len() == 1 { 0.0 } else { (1.0 / same.len() as f64).min(0.34) };
        let angle = middle + spread * step;
        let reach = 135.0 + 24.0 * ((nth as i64 % 2) as f64);
        let x = placed[switch].x + 1.25 * reach * angle.cos();
        let y = placed[switch].y + reach * angle.sin();
        placed.push(Placed {
            name,
            switch: false,
            x: x.clamp(30.0, WIDTH - 30.0),
            y: y.clamp(24.0, HEIGHT - 44.0),
        });
    }
    placed
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
