//! Positions of the links' labels: next to their line, clear of nodes, other labels and other lines where there is room.

use super::{Cable, HEIGHT, WIDTH};

/// Width of a character in a label, and the label's height.
const SIGN: f64 = 5.6;
const LABEL_HEIGHT: f64 = 12.0;
/// Distance of a label from its line.
const GAP: f64 = 2.0;
/// Candidate positions of a label along its line, in order of preference.
const ALONG: [f64; 9] = [0.5, 0.58, 0.42, 0.66, 0.34, 0.74, 0.26, 0.8, 0.2];
/// Maximum number of links for which label positions are searched. With more links, labels stay in the middle of their lines, because the
/// search takes too long and finds no free space.
const SEARCHED_MAX: usize = 300;

/// Rectangle, defined by its centre and size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Area {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Returns the centre of each label.
pub(super) fn places(cables: &[Cable], nodes: &[Area], lines: &[[(f64, f64); 2]]) -> Vec<(f64, f64)> {
    let mut placed: Vec<Area> = Vec::new();
    for (index, cable) in cables.iter().enumerate() {
        let width = cable.label.chars().count() as f64 * SIGN;
        let mut best: Option<(f64, Area)> = None;
        for (rank, area) in candidates(cable.ends, width).into_iter().enumerate() {
            let mut cost = rank as f64;
            if cables.len() <= SEARCHED_MAX {
                let hit = |all: &[Area]| all.iter().filter(|other| area.overlaps(other)).count() as f64;
                let others = lines.iter().enumerate().filter(|(other, _)| *other != index);
                let crossed = others.filter(|(_, line)| area.is_crossed_by(**line)).count() as f64;
                cost += 1000.0 * hit(&placed) + 500.0 * hit(nodes) + 100.0 * crossed;
            }
            if area.is_outside() {
                cost += 300.0;
            }
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, area));
            }
        }
        if let Some((_, area)) = best {
            placed.push(area);
        }
    }
    placed.iter().map(|area| (area.x, area.y)).collect()
}

/// Returns candidate positions on both sides of a line.
fn candidates([from, to]: [(f64, f64); 2], width: f64) -> Vec<Area> {
    let dx = to.0 - from.0;
    let dy = to.1 - from.1;
    let length = dx.hypot(dy).max(1.0);
    let across = (-dy / length, dx / length);
    // Distance at which the corner of the label does not touch the line.
    let apart = (width / 2.0) * across.0.abs() + (LABEL_HEIGHT / 2.0) * across.1.abs() + GAP;
    let place = |along: f64, side: f64| Area {
        x: from.0 + dx * along + across.0 * apart * side,
        y: from.1 + dy * along + across.1 * apart * side,
        width,
        height: LABEL_HEIGHT,
    };
    // Tries positions above a flat line first.
    let above = if across.1 < 0.0 { 1.0 } else { -1.0 };
    ALONG.iter().flat_map(|&along| [place(along, above), place(along, -above)]).collect()
}

impl Area {
    fn overlaps(&self, other: &Self) -> bool {
        (self.x - other.x).abs() * 2.0 < self.width + other.width
            && (self.y - other.y).abs() * 2.0 < self.height + other.height
    }

    fn is_outside(&self) -> bool {
        let half_width = self.width / 2.0;
        let half_height = self.height / 2.0;
        self.x < half_width
            || self.x > WIDTH - half_width
            || self.y < half_height
            || self.y > HEIGHT - half_height
    }

    /// Returns whether a line crosses the area. Clips the line at each pair of opposite sides.
    fn is_crossed_by(&self, [from, to]: [(f64, f64); 2]) -> bool {
        let within = |start: f64, end: f64, middle: f64, size: f64| {
            let change = end - start;
            let low = middle - size / 2.0 - start;
            let high = middle + size / 2.0 - start;
            if change.abs() < 1e-9 {
                return if low <= 0.0 && high >= 0.0 { (0.0, 1.0) } else { (1.0, 0.0) };
            }
            ((low / change).min(high / change), (low / change).max(high / change))
        };
        let across = within(from.0, to.0, self.x, self.width);
        let down = within(from.1, to.1, self.y, self.height);
        across.0.max(down.0).max(0.0) <= across.1.min(down.1).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_close_links_do_not_overlap() {
        // Three links of a switch that are close to one another, as at the bottom of a ring.
        let ends = [(440.0, 640.0), (500.0, 665.0), (560.0, 640.0)];
        let cable = |end| Cable {
            ends: [(500.0, 520.0), end],
            percent: 0.0,
            cut: false,
            label: "25G 3 / 10 %".to_owned(),
        };
        let cables = ends.map(cable);
        let nodes = ends.map(|(x, y)| Area { x, y, width: 50.0, height: 28.0 });
        let lines = cables.each_ref().map(|cable| cable.ends);
        let width = 12.0 * SIGN;
        let areas: Vec<Area> = places(&cables, &nodes, &lines)
            .into_iter()
            .map(|(x, y)| Area { x, y, width, height: LABEL_HEIGHT })
            .collect();
        for (index, area) in areas.iter().enumerate() {
            assert!(!areas[..index].iter().any(|other| area.overlaps(other)), "{areas:?}");
            assert!(!nodes.iter().any(|node| area.overlaps(node)), "{areas:?}");
            assert!(!area.is_crossed_by(lines[index]) && !area.is_outside(), "{areas:?}");
        }
    }

    #[test]
    fn line_through_area_is_detected() {
        let area = Area { x: 10.0, y: 10.0, width: 4.0, height: 4.0 };
        for (line, crosses) in [
            ([(0.0, 0.0), (20.0, 20.0)], true),
            ([(0.0, 10.0), (20.0, 10.0)], true),
            ([(0.0, 13.0), (20.0, 13.0)], false),
            ([(0.0, 0.0), (5.0, 5.0)], false),
            ([(10.0, 0.0), (10.0, 20.0)], true),
        ] {
            assert_eq!(area.is_crossed_by(line), crosses, "{line:?}");
        }
    }
}
