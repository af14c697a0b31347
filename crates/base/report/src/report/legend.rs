//! Labels of series: names at the ends of a few lines, otherwise a legend below the figure.

use plotters::backend::DrawingBackend;
use plotters::element::Rectangle;
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use super::draw::{Canvas, DrawError, INK, PALETTE, SIZE, cut, wrong};
use super::figure::{Across, Form, Series, whose};

/// Maximum number of characters of a name.
const NAME_MAX: usize = 44;
/// Minimum distance between two names at the ends of lines, in pixels. `END_MOVED_MAX` is the maximum distance by which
/// a name is moved.
const END_GAP: i32 = 16;
const END_MOVED_MAX: i32 = 24;

/// Sign in front of a name.
#[derive(Clone, Copy)]
pub(super) enum Sign {
    /// A series by its form.
    Series(Form, usize),
    /// An expected value, published or not.
    Mark(bool),
}

impl<DB: DrawingBackend> Canvas<'_, DB> {
    /// Returns height, colour and name for the right end of each line. The result is empty for a single line, for other
    /// forms than lines, or if the ends are too close.
    pub(super) fn ends(&self) -> Vec<(i32, usize, String)> {
        let named = |series: &&Series| !matches!(series.form, Form::Dots | Form::Guide);
        let series: Vec<&Series> = self.figure.series.iter().filter(named).collect();
        let line = |form| matches!(form, Form::Band | Form::Line | Form::Contour);
        let mut ends: Vec<(i32, usize, String)> = Vec::new();
        for color in 0..PALETTE.len() {
            let own = || series.iter().filter(move |series| series.color == color);
            let last = |series: &&Series| series.samples.last().map(|s| (s.x, s.y));
            let end = own().filter(|series| line(series.form)).filter_map(last);
            let end = end.max_by(|a, b| a.0.total_cmp(&b.0));
            match (own().next(), end) {
                (Some(first), Some((_, y))) => ends.push((self.y.at(y), color, cut(&first.name, NAME_MAX))),
                (Some(_), None) => return Vec::new(),
                (None, _) => {}
            }
        }
        if ends.len() < 2 || matches!(self.figure.x, Across::Names(_)) {
            return Vec::new();
        }
        // Iso lines can end anywhere.
        if series.iter().any(|series| series.form == Form::Contour) {
            return Vec::new();
        }
        ends.sort_by_key(|(y, ..)| *y);
        let heights: Vec<i32> = ends.iter().map(|(y, ..)| *y).collect();
        for index in 1..ends.len() {
            ends[index].0 = ends[index].0.max(ends[index - 1].0 + self.px(END_GAP));
        }
        // All labels move up by half of the largest distance by which a label was pushed down.
        let moved = ends.iter().zip(&heights).map(|(end, height)| end.0 - height).max().unwrap_or(0);
        ends.iter_mut().for_each(|end| end.0 -= moved / 2);
        let far =
            ends.iter().zip(&heights).any(|(end, height)| (end.0 - height).abs() > self.px(END_MOVED_MAX));
        if far { Vec::new() } else { ends }
    }

    /// Returns the entries in rows that fit the width.
    pub(super) fn legend_rows(&self) -> Vec<Vec<(String, Sign)>> {
        let mut entries: Vec<(String, Sign)> = Vec::new();
        let mut seen: Vec<(usize, bool)> = Vec::new();
        for series in self.figure.series.iter().filter(|_| self.direct.is_empty()) {
            let trials = matches!(series.form, Form::Trials { .. });
            let shown = !matches!(series.form, Form::Cells | Form::Dots | Form::Guide);
            if shown && (trials || !seen.contains(&(series.color, trials))) {
                seen.push((series.color, trials));
                entries.push((cut(&series.name, NAME_MAX), Sign::Series(series.form, series.color)));
            }
        }
        let trials = self.figure.series.iter().any(|series| matches!(series.form, Form::Trials { .. }));
        if entries.len() < 2 && !trials {
            entries.clear();
        }
        for published in [true, false] {
            if self.figure.marks.iter().any(|mark| mark.published == published) {
                entries.push((whose(published).to_owned(), Sign::Mark(published)));
            }
        }
        let mut rows: Vec<Vec<(String, Sign)>> = Vec::new();
        let mut used = i32::MAX;
        for entry in entries {
            let width = self.entry_width(&entry.0);
            if used.saturating_add(width) > self.px(SIZE.0 as i32 - 90) {
                rows.push(Vec::new());
                used = 0;
            }
            used += width;
            if let Some(row) = rows.last_mut() {
                row.push(entry);
            }
        }
        rows
    }

    fn entry_width(&self, text: &str) -> i32 {
        self.width(text, 13) + self.px(44)
    }

    /// Draws the legend below, and the names at the ends of lines.
    pub(super) fn legend(&self) -> Result<(), DrawError> {
        let right = self.x.pixels.1 + self.px(6);
        for (y, color, text) in &self.direct {
            let stroke = PALETTE[color % PALETTE.len()].stroke_width(self.px(3) as u32);
            self.path(vec![(right, *y), (right + self.px(10), *y)], stroke)?;
            self.text(text, (right + self.px(15), *y), 13, HPos::Left, VPos::Center)?;
        }
        let mut y = self.y.pixels.0 + self.px(64);
        for row in self.legend_rows() {
            let mut x = self.x.pixels.0;
            for (text, sign) in row {
                let middle = y - self.px(1);
                self.sign(sign, x, middle)?;
                self.text(&text, (x + self.px(24), middle), 13, HPos::Left, VPos::Center)?;
                x += self.entry_width(&text);
            }
            y += self.px(22);
        }
        Ok(())
    }

    fn sign(&self, sign: Sign, x: i32, y: i32) -> Result<(), DrawError> {
        let middle = (x + self.px(9), y);
        match sign {
            Sign::Mark(published) => self.cross(middle, INK, published),
            Sign::Series(Form::Trials { gave, full }, color) => {
                self.trial(middle, PALETTE[color % PALETTE.len()], gave, full)
            }
            Sign::Series(
                form @ (Form::Band | Form::Whiskers | Form::Line | Form::Steps | Form::Contour),
                color,
            ) => {
                let stroke = PALETTE[color % PALETTE.len()].stroke_width(self.px(2) as u32);
                self.path(vec![(x, y), (x + self.px(18), y)], stroke)?;
                if matches!(form, Form::Band | Form::Whiskers) { self.dot(middle, color) } else { Ok(()) }
            }
            Sign::Series(_, color) => {
                let area = [(x, y - self.px(5)), (x + self.px(18), y + self.px(5))];
                let fill = PALETTE[color % PALETTE.len()].filled();
                self.area.draw(&Rectangle::new(area, fill)).map_err(wrong)
            }
        }
    }
}
