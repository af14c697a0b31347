//! Computes lines of equal value over two numeric axes, by marching squares.

use ranlab_campaign::expect::short;
use ranlab_campaign::results::{PointResult, Results};
use ranlab_campaign::scenario::Plot;
use ranlab_campaign::stats::summarise;

use super::figure::{Across, Figure, Form, Sample, Series};
use super::pooled::{number, together};
use super::words::quantity;

/// Number of lines if the scenario gives no levels.
const LEVELS_WANTED: f64 = 6.0;
/// Maximum number of lines in a figure; more are not distinguishable.
const LEVELS_MAX: usize = 8;

/// A straight segment of a line.
type Piece = ((f64, f64), (f64, f64));

/// Values at the grid points of two ascending axes; `None` if not measured.
struct Grid {
    x: Vec<f64>,
    y: Vec<f64>,
    /// Values, indexed by row of `y`, then by column of `x`.
    values: Vec<Vec<Option<f64>>>,
}

pub(super) fn iso(results: &Results, plot: &Plot, figure: &mut Figure) {
    let Some(z) = &plot.z else { return };
    figure.x = Across::Numbers { log: plot.log.contains('x') };
    let grid = Grid::from_results(results, plot, z);
    let measured: Vec<Sample> = grid.measured().map(|(x, y, _)| Sample::at(x, y)).collect();
    let values: Vec<f64> = grid.measured().map(|(.., value)| value).collect();
    let levels = if plot.levels.is_empty() { round_levels(&values) } else { plot.levels.clone() };
    let log_x = plot.log.contains('x');
    let log_y = plot.log.contains('y');
    let unit = results.unit(z);
    let mut missed = Vec::new();
    for (color, level) in levels.iter().take(LEVELS_MAX).enumerate() {
        let name = format!("{} {unit}", short(*level)).trim_end().to_owned();
        let lines = grid.lines(*level, log_x, log_y);
        if lines.is_empty() {
            missed.push(name);
            continue;
        }
        for line in lines {
            let samples = line.into_iter().map(|(x, y)| Sample::at(x, y)).collect();
            figure.series.push(Series { name: name.clone(), color, form: Form::Contour, samples });
        }
    }
    if grid.x.len() < 2 || grid.y.len() < 2 {
        figure.caption.push_str("Lines of equal value need two numeric axes with two values or more each. ");
    }
    if !missed.is_empty() {
        figure.caption.push_str(&format!("No point reaches or crosses {}. ", missed.join(", ")));
    }
    figure.series.push(Series { name: "measured".to_owned(), color: 0, form: Form::Dots, samples: measured });
    figure.caption.push_str(&format!(
        "Along each line, {} is constant. Dots: measured settings.",
        quantity(results, z)
    ));
}

impl Grid {
    fn from_results(results: &Results, plot: &Plot, z: &str) -> Self {
        let points = results.matching(&plot.filter).filter_map(|point| {
            point.summary(z, 0.95)?;
            Some((number(point, &plot.x)?, number(point, &plot.y)?, point))
        });
        let points: Vec<(f64, f64, &PointResult)> = points.collect();
        let axis = |of: fn(&(f64, f64, &PointResult)) -> f64| {
            let mut axis: Vec<f64> = points.iter().map(of).collect();
            axis.sort_by(f64::total_cmp);
            axis.dedup();
            axis
        };
        let x = axis(|point| point.0);
        let y = axis(|point| point.1);
        // Pools points at the same position.
        let at = |column: f64, row: f64| {
            let here = points.iter().filter(|point| point.0 == column && point.1 == row);
            let here: Vec<&PointResult> = here.map(|point| point.2).collect();
            summarise(&together(results, &here, z), 0.95).map(|summary| summary.mean)
        };
        let values = y.iter().map(|row| x.iter().map(|column| at(*column, *row)).collect()).collect();
        Self { x, y, values }
    }

    fn measured(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let row = |(row, values): (&f64, &Vec<Option<f64>>)| {
            let row = *row;
            let cells: Vec<(f64, f64, f64)> =
                self.x.iter().zip(values).filter_map(|(x, value)| Some((*x, row, (*value)?))).collect();
            cells
        };
        self.y.iter().zip(&self.values).flat_map(row)
    }

    /// Returns the lines of one value. The value is interpolated linearly between neighbours; on logarithmic axes,
    /// along their logarithm.
    fn lines(&self, level: f64, log_x: bool, log_y: bool) -> Vec<Vec<(f64, f64)>> {
        let mut pieces = Vec::new();
        for row in 1..self.y.len() {
            for column in 1..self.x.len() {
                self.cell(row, column, level, log_x, log_y, &mut pieces);
            }
        }
        joined(pieces)
    }

    fn cell(&self, row: usize, column: usize, level: f64, log_x: bool, log_y: bool, pieces: &mut Vec<Piece>) {
        let corner =
            |row: usize, column: usize| Some((self.x[column], self.y[row], self.values[row][column]?));
        // The corners in order around the cell, so that neighbouring corners share a side.
        let corners = [(row - 1, column - 1), (row - 1, column), (row, column), (row, column - 1)]
            .map(|(r, c)| corner(r, c));
        let [Some(a), Some(b), Some(c), Some(d)] = corners else { return };
        let sides = [(a, b), (b, c), (d, c), (a, d)];
        let crossing = |((x1, y1, v1), (x2, y2, v2)): ((f64, f64, f64), (f64, f64, f64))| {
            if (v1 < level) == (v2 < level) {
                return None;
            }
            let share = (level - v1) / (v2 - v1);
            let between = |from: f64, to: f64, log: bool| {
                if log && from > 0.0 && to > 0.0 {
                    return (from.ln() + share * (to.ln() - from.ln())).exp();
                }
                from + share * (to - from)
            };
            Some((between(x1, x2, log_x), between(y1, y2, log_y)))
        };
        match sides.map(crossing) {
            // A saddle: the centre decides which corners are connected.
            [Some(south), Some(east), Some(north), Some(west)] => {
                let middle = (a.2 + b.2 + c.2 + d.2) / 4.0;
                if (middle < level) == (a.2 < level) {
                    pieces.extend([(south, east), (north, west)]);
                } else {
                    pieces.extend([(south, west), (north, east)]);
                }
            }
            crossings => {
                let found: Vec<(f64, f64)> = crossings.into_iter().flatten().collect();
                if let [from, to] = found[..] {
                    pieces.push((from, to));
                }
            }
        }
    }
}

/// Joins segments with a common end into one line.
fn joined(mut pieces: Vec<Piece>) -> Vec<Vec<(f64, f64)>> {
    let mut lines = Vec::new();
    while let Some((from, to)) = pieces.pop() {
        let mut line = std::collections::VecDeque::from([from, to]);
        loop {
            let first = line[0];
            let last = line[line.len() - 1];
            let next =
                pieces.iter().position(|(a, b)| [*a, *b].iter().any(|end| *end == first || *end == last));
            let Some(next) = next else { break };
            let (a, b) = pieces.swap_remove(next);
            if a == last {
                line.push_back(b);
            } else if b == last {
                line.push_back(a);
            } else if a == first {
                line.push_front(b);
            } else {
                line.push_front(a);
            }
        }
        lines.push(line.into());
    }
    lines
}

/// Returns round values between the smallest and the largest value.
fn round_levels(values: &[f64]) -> Vec<f64> {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low >= high {
        return Vec::new();
    }
    let step = super::axis::step((high - low) / LEVELS_WANTED);
    let first = (low / step).floor() as i64 + 1;
    let levels = (first..).map(|index| index as f64 * step);
    levels.take_while(|level| *level < high).take(LEVELS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plane(of: fn(f64, f64) -> f64) -> Grid {
        let x = vec![0.0, 1.0, 2.0, 4.0];
        let y = vec![0.0, 1.0, 3.0];
        let values = y.iter().map(|y| x.iter().map(|x| Some(of(*x, *y))).collect()).collect();
        Grid { x, y, values }
    }

    #[test]
    fn contours_of_a_plane_are_straight() {
        let lines = plane(|x, y| x + y).lines(2.5, false, false);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].len() >= 4);
        for (x, y) in &lines[0] {
            assert!((x + y - 2.5).abs() < 1e-12, "({x}, {y}) is not on the line");
        }
    }

    #[test]
    fn contour_closes_around_hill_but_not_data_hole() {
        let hill = |x: f64, y: f64| -(x - 1.5).powi(2) - (y - 1.2).powi(2);
        let lines = plane(hill).lines(-1.5, false, false);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].first(), lines[0].last(), "closed");
        let mut torn = plane(|x, y| x + y);
        torn.values[1][1] = None;
        let all: usize = torn.lines(2.5, false, false).iter().map(Vec::len).sum();
        assert!(all < plane(|x, y| x + y).lines(2.5, false, false)[0].len());
    }

    #[test]
    fn default_levels_are_round_and_within_values() {
        assert_eq!(round_levels(&[980.0, 9045.0]), [2000.0, 4000.0, 6000.0, 8000.0]);
        assert!(round_levels(&[1.0, 1.0]).is_empty() && round_levels(&[]).is_empty());
    }
}
