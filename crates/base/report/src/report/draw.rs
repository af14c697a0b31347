//! Drawing of a figure, with one implementation for SVG and pixels.

use std::sync::OnceLock;

use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{
    Color, FontStyle, FontTransform, IntoFont, RGBAColor, RGBColor, ShapeStyle, TextStyle, WHITE,
    register_font,
};

use super::axis::Axis;
use super::figure::{Across, Answer, Bound, Figure, Form, Mark, Sample, Series};
use ranlab_campaign::expect::short;
use ranlab_campaign::search::TrialOutcome;

/// Size of a figure in pixels.
pub(super) const SIZE: (u32, u32) = (860, 480);
/// Pixels of the PNG for each pixel of the SVG.
const SCALE: u32 = 2;
/// Maximum number of measured values that are used as the ticks of an axis.
const TICKS_MEASURED_MAX: usize = 16;
const FONT: &str = "sans-serif";
/// Colour of lines, text and frames, on white.
pub(super) const INK: RGBColor = RGBColor(0x1a, 0x1b, 0x1c);
/// Colours that are distinguishable with colour blindness (Okabe and Ito). Two are replaced, because yellow is too
/// faint and black is the text colour. The marks differ as well.
pub(super) const PALETTE: [RGBColor; 8] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x7a, 0x52, 0x95),
    RGBColor(0x8c, 0x8c, 0x8c),
];

/// The error that a figure could not be drawn, which is a defect of this program.
#[derive(Debug, thiserror::Error)]
#[error("a figure cannot be drawn: {0}")]
pub struct DrawError(String);

/// Draws a figure as SVG on a white background.
///
/// # Errors
/// Returns an error if the figure cannot be drawn, which is a defect of this program.
pub fn svg(figure: &Figure) -> Result<String, DrawError> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        paint(figure, &area, 1)?;
        area.present().map_err(wrong)?;
    }
    let open = format!("<svg width=\"{}\" height=\"{}\"", SIZE.0, SIZE.1);
    // The SVG scales with its page instead of being cut.
    Ok(text.replacen(&open, "<svg role=\"img\"", 1))
}

/// Background and font of a standalone file.
const STYLE: &str = "svg{background:#fff}text{font-family:Inter,system-ui,sans-serif}";

/// Returns the SVG with a background and an embedded font, for a file.
pub(super) fn standalone(svg: &str) -> String {
    let Some(end) = svg.find("<svg").and_then(|from| Some(from + svg[from..].find('>')? + 1)) else {
        return svg.to_owned();
    };
    let (head, body) = svg.split_at(end);
    format!("{head}<style>{}{STYLE}</style>{body}", ranlab_page::font::face())
}

/// Draws a figure as PNG on a white background, with twice the resolution.
///
/// # Errors
/// Returns an error if the figure cannot be drawn, which is a defect of this program.
pub fn png(figure: &Figure) -> Result<Vec<u8>, DrawError> {
    let width = SIZE.0 * SCALE;
    let height = SIZE.1 * SCALE;
    let mut pixels = vec![255_u8; (width * height * 3) as usize];
    {
        let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
        paint(figure, &area, SCALE as i32)?;
        area.present().map_err(wrong)?;
    }
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(|error| DrawError(error.to_string()))?;
    writer.write_image_data(&pixels).map_err(|error| DrawError(error.to_string()))?;
    writer.finish().map_err(|error| DrawError(error.to_string()))?;
    Ok(bytes)
}

pub(super) fn wrong<E: std::error::Error + Send + Sync>(error: DrawingAreaErrorKind<E>) -> DrawError {
    DrawError(error.to_string())
}

fn paint<DB: DrawingBackend>(
    figure: &Figure,
    area: &DrawingArea<DB, Shift>,
    scale: i32,
) -> Result<(), DrawError> {
    static FONTS: OnceLock<bool> = OnceLock::new();
    if !FONTS.get_or_init(|| register_font(FONT, FontStyle::Normal, ranlab_page::font::INTER).is_ok()) {
        return Err(DrawError("the embedded font is unreadable".to_owned()));
    }
    let canvas = Canvas::new(figure, area, scale);
    canvas.axes()?;
    figure.answer.iter().try_for_each(|answer| canvas.answer(answer))?;
    for (index, series) in figure.series.iter().enumerate() {
        canvas.series(series, index)?;
    }
    canvas.bounds()?;
    figure.marks.iter().try_for_each(|mark| canvas.mark(mark))?;
    canvas.legend()
}

pub(super) struct Canvas<'a, DB: DrawingBackend> {
    pub(super) figure: &'a Figure,
    pub(super) area: &'a DrawingArea<DB, Shift>,
    scale: i32,
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// Names of a heat map's rows.
    rows: Vec<String>,
    /// Names at the ends of lines instead of a legend: height, colour, text.
    pub(super) direct: Vec<(i32, usize, String)>,
}

impl<'a, DB: DrawingBackend> Canvas<'a, DB> {
    fn new(figure: &'a Figure, area: &'a DrawingArea<DB, Shift>, scale: i32) -> Self {
        let cells = figure.series.iter().find(|series| series.form == Form::Cells);
        let rows: Vec<String> =
            cells.iter().flat_map(|series| series.name.lines().skip(1).map(str::to_owned)).collect();
        let samples = || figure.series.iter().flat_map(|series| &series.samples);
        let x = match &figure.x {
            Across::Names(names) => Axis::names(names.len()),
            Across::Numbers { log } => {
                let found = figure.answer.iter().flat_map(|found| [found.interval.0, found.interval.1]);
                let xs = samples().map(|s| s.x).chain(figure.marks.iter().map(|mark| mark.x)).chain(found);
                Axis::holding(&xs.collect::<Vec<_>>(), *log, figure.zero.0)
            }
        };
        let y = if cells.is_some() {
            Axis::names(rows.len())
        } else {
            let ys = samples().flat_map(|s| [s.y, s.low, s.high, s.ends.0, s.ends.1]);
            let expected =
                figure.marks.iter().map(|mark| mark.y).chain(figure.bounds.iter().map(|bound| bound.y));
            Axis::holding(&ys.chain(expected).collect::<Vec<_>>(), figure.log_y, figure.zero.1)
        };
        let mut canvas = Self { figure, area, scale, x, y, rows, direct: Vec::new() };
        // Reserves room for the widest tick label, for the legend below, and for names at the ends of lines.
        let widest = canvas.y_ticks().iter().map(|(_, text)| canvas.width(text, 13)).max().unwrap_or(0);
        canvas.x.pixels = (canvas.px(46) + widest, canvas.px(SIZE.0 as i32 - 34));
        canvas.y.pixels = (canvas.px(SIZE.1 as i32 - 62), canvas.px(48));
        canvas.direct = canvas.ends();
        let names = canvas.direct.iter().map(|(_, _, text)| canvas.width(text, 13)).max().unwrap_or(0);
        let room = if names > 0 { names + canvas.px(24) - canvas.px(28) } else { 0 };
        canvas.x.pixels.1 -= room.max(0);
        canvas.y.pixels.0 -= canvas.legend_rows().len() as i32 * canvas.px(22);
        canvas.direct = canvas.ends();
        canvas
    }

    pub(super) fn px(&self, pixels: i32) -> i32 {
        pixels * self.scale
    }

    fn at(&self, x: f64, y: f64) -> (i32, i32) {
        (self.x.at(x), self.y.at(y))
    }

    fn y_ticks(&self) -> Vec<(f64, String)> {
        if self.rows.is_empty() {
            return self.y.labels(self.y.ticks(6.0));
        }
        self.rows.iter().enumerate().map(|(index, name)| (index as f64, cut(name, 18))).collect()
    }

    fn x_ticks(&self) -> Vec<(f64, String)> {
        match &self.figure.x {
            Across::Numbers { .. } => {
                let measured = self.measured_at();
                self.x.labels(if measured.is_empty() { self.x.ticks(8.0) } else { measured })
            }
            Across::Names(names) => {
                let room = (self.x.pixels.1 - self.x.pixels.0) / names.len().max(1) as i32;
                // If names would overlap, some are omitted, and long names are cut.
                let longest = (room / self.px(7)).clamp(3, 24) as usize;
                let skip = (self.px(24) / room.max(1) + 1) as usize;
                let names = names.iter().enumerate().filter(|(index, _)| index % skip == 0);
                names.map(|(index, name)| (index as f64, cut(name, longest * skip))).collect()
            }
        }
    }

    /// Returns the measured values of x, if they are few. They are better marks on the axis than round numbers between
    /// them.
    fn measured_at(&self) -> Vec<f64> {
        let discrete = |form| matches!(form, Form::Band | Form::Whiskers | Form::Dots);
        let series = self.figure.series.iter().filter(|series| discrete(series.form));
        let mut values: Vec<f64> = series.flat_map(|series| series.samples.iter().map(|s| s.x)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        if values.len() < 2 || values.len() > TICKS_MEASURED_MAX {
            return Vec::new();
        }
        if self.figure.zero.0 && !self.x.log && values.first().is_some_and(|least| *least > 0.0) {
            values.insert(0, 0.0);
        }
        let mut kept: Vec<f64> = Vec::new();
        for (value, text) in self.x.labels(values) {
            let room = self.width(&text, 13) + self.px(10);
            if kept.last().is_none_or(|last| self.x.at(value) - self.x.at(*last) >= room) {
                kept.push(value);
            }
        }
        kept
    }

    fn axes(&self) -> Result<(), DrawError> {
        let left = self.x.pixels.0;
        let right = self.x.pixels.1;
        let bottom = self.y.pixels.0;
        let top = self.y.pixels.1;
        let faint = INK.mix(0.14).stroke_width(self.scale as u32);
        let line = INK.stroke_width(self.scale as u32);
        let title = self.fitted(&self.figure.title, 17, right - self.px(14));
        self.text(&title, (self.px(14), self.px(12)), 17, HPos::Left, VPos::Top)?;
        for (tick, text) in self.y_ticks() {
            let y = self.y.at(tick);
            if self.rows.is_empty() {
                self.path(vec![(left, y), (right, y)], faint)?;
            }
            self.text(&text, (left - self.px(8), y), 13, HPos::Right, VPos::Center)?;
        }
        for (tick, text) in self.x_ticks() {
            let x = self.x.at(tick);
            self.path(vec![(x, bottom), (x, bottom + self.px(5))], line)?;
            self.text(&text, (x, bottom + self.px(9)), 13, HPos::Center, VPos::Top)?;
        }
        self.path(vec![(left, top), (left, bottom), (right, bottom)], line)?;
        let below = bottom + self.px(30);
        self.text(&self.figure.x_label, ((left + right) / 2, below), 14, HPos::Center, VPos::Top)?;
        let font = (FONT, self.px(14)).into_font().transform(FontTransform::Rotate270);
        let style = TextStyle::from(font).color(&INK).pos(Pos::new(HPos::Center, VPos::Top));
        let label = Text::new(self.figure.y_label.clone(), (self.px(10), (top + bottom) / 2), style);
        self.area.draw(&label).map_err(wrong)
    }

    fn series(&self, series: &Series, index: usize) -> Result<(), DrawError> {
        let color = PALETTE[series.color % PALETTE.len()];
        let stroke = color.stroke_width(self.px(2) as u32);
        let line = |y: fn(&Sample) -> f64| series.samples.iter().map(move |s| self.at(s.x, y(s)));
        match series.form {
            Form::Line | Form::Contour => self.path(line(|s| s.y).collect(), stroke),
            Form::Guide => self.path(line(|s| s.y).collect(), INK.mix(0.3).stroke_width(self.scale as u32)),
            Form::Trials { gave, full } => line(|s| s.y).try_for_each(|at| self.trial(at, color, gave, full)),
            Form::Dots => line(|s| s.y).try_for_each(|at| {
                self.area.draw(&Circle::new(at, self.px(2), INK.mix(0.45).filled())).map_err(wrong)
            }),
            Form::Steps => {
                let points: Vec<(i32, i32)> = line(|s| s.y).collect();
                let mut steps = Vec::with_capacity(points.len() * 2);
                for (x, y) in points {
                    let before = steps.last().map_or(self.y.pixels.0, |(_, y): &(i32, i32)| *y);
                    steps.extend([(x, before), (x, y)]);
                }
                self.path(steps, stroke)
            }
            Form::Band => {
                let band: Vec<_> = line(|s| s.high).chain(line(|s| s.low).rev()).collect();
                self.area.draw(&Polygon::new(band, color.mix(0.2).filled())).map_err(wrong)?;
                self.path(line(|s| s.y).collect(), stroke)?;
                line(|s| s.y).try_for_each(|at| self.dot(at, series.color))
            }
            Form::Area => {
                let area: Vec<_> = line(|s| s.high).chain(line(|s| s.low).rev()).collect();
                self.area.draw(&Polygon::new(area, color.mix(0.45).filled())).map_err(wrong)?;
                self.path(line(|s| s.high).collect(), stroke)
            }
            Form::Whiskers => series.samples.iter().try_for_each(|s| {
                let x = self.x.at(s.x) + self.aside(series.color);
                self.whisker(x, (s.low, s.high), stroke)?;
                self.dot((x, self.y.at(s.y)), series.color)
            }),
            Form::Bars | Form::Falls | Form::Boxes => {
                let look = (series.form, series.color);
                series.samples.iter().try_for_each(|s| self.block(look, s, index))
            }
            Form::Cells => self.cells(&series.samples),
        }
    }

    /// Whiskers of several series at one position are drawn side by side, unless they belong to a line.
    fn aside(&self, color: usize) -> i32 {
        if self.figure.series.iter().any(|series| series.form == Form::Line) {
            return 0;
        }
        let series = self.figure.series.iter().filter(|series| series.form == Form::Whiskers).count() as i32;
        self.px(7) * (2 * color as i32 - (series - 1)) / 2
    }

    /// Draws a bar or a box, next to the bars or boxes of the other series at the same name.
    fn block(&self, (form, color): (Form, usize), s: &Sample, index: usize) -> Result<(), DrawError> {
        let color = PALETTE[color % PALETTE.len()];
        let count = self.figure.series.len().max(1) as f64;
        let width = 0.76 / count;
        let middle = s.x + (index as f64 - (count - 1.0) / 2.0) * width;
        let from = self.x.at(middle - width * 0.45);
        let to = self.x.at(middle + width * 0.45);
        let middle = (from + to) / 2;
        let stroke = color.stroke_width(self.px(2) as u32);
        let zero = if self.figure.log_y { self.y.low } else { 0.0 };
        let (low, high) = if form == Form::Bars { (zero, s.y) } else { (s.low, s.high) };
        let area = [(from, self.y.at(low.max(high))), (to, self.y.at(low.min(high)))];
        self.area.draw(&Rectangle::new(area, color.mix(0.45).filled())).map_err(wrong)?;
        if form == Form::Falls {
            return self.path(vec![(from, self.y.at(high)), (to, self.y.at(high))], stroke);
        }
        self.path(vec![(from, self.y.at(s.y)), (to, self.y.at(s.y))], stroke)?;
        let ends = if form == Form::Bars { (s.low, s.high) } else { s.ends };
        if form == Form::Bars {
            return self.whisker(middle, ends, INK.stroke_width(self.scale as u32));
        }
        let half = self.px(4);
        for (end, edge) in [(ends.0, s.low), (ends.1, s.high)] {
            let end = self.y.at(end);
            let edge = self.y.at(edge);
            self.path(vec![(middle, end), (middle, edge)], stroke)?;
            self.path(vec![(middle - half, end), (middle + half, end)], stroke)?;
        }
        Ok(())
    }

    fn cells(&self, samples: &[Sample]) -> Result<(), DrawError> {
        let values = samples.iter().map(|s| s.ends.0);
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(f64::NEG_INFINITY, f64::max);
        let half = |axis: &Axis| (axis.at(1.0) - axis.at(0.0)).abs() / 2 - self.scale;
        let dx = half(&self.x);
        let dy = half(&self.y);
        for s in samples {
            let (x, y) = self.at(s.x, s.y);
            let share = if high > low { (s.ends.0 - low) / (high - low) } else { 0.5 };
            // Colours start at an eighth of the full saturation, so that the lowest value differs from a missing value.
            let color: RGBAColor = PALETTE[0].mix(0.12 + 0.88 * share);
            let area = [(x - dx, y - dy), (x + dx, y + dy)];
            self.area.draw(&Rectangle::new(area, color.filled())).map_err(wrong)?;
            let text = short(s.ends.0);
            if self.width(&text, 12) < 2 * dx && dy > self.px(8) {
                let ink = if share > 0.72 { RGBColor(255, 255, 255) } else { INK };
                self.colored(&text, (x, y), 12, HPos::Center, VPos::Center, ink)?;
            }
        }
        Ok(())
    }

    /// Draws an expected value as a cross in the colour of its series. A dark outline makes it visible on the line of
    /// the series. A published value has a diagonal cross, a value of the user an upright cross.
    fn mark(&self, mark: &Mark) -> Result<(), DrawError> {
        let color = mark.color.map_or(INK, |color| PALETTE[color % PALETTE.len()]);
        self.cross(self.at(mark.x, mark.y), color, mark.published)
    }

    pub(super) fn cross(&self, (x, y): (i32, i32), color: RGBColor, lying: bool) -> Result<(), DrawError> {
        for (r, width, color) in [(self.px(7), self.px(4), INK), (self.px(6), self.px(2), color)] {
            let ends = if lying {
                [((x - r, y - r), (x + r, y + r)), ((x - r, y + r), (x + r, y - r))]
            } else {
                [((x - r, y), (x + r, y)), ((x, y - r), (x, y + r))]
            };
            for (a, b) in ends {
                self.path(vec![a, b], color.stroke_width(width as u32))?;
            }
        }
        Ok(())
    }

    /// Draws a trial of a search: a ring, a cross or a triangle. After the full time, a ring is filled, and the others
    /// are bold.
    pub(super) fn trial(
        &self,
        (x, y): (i32, i32),
        color: RGBColor,
        gave: TrialOutcome,
        full: bool,
    ) -> Result<(), DrawError> {
        let r = self.px(if full { 5 } else { 4 });
        let stroke = color.stroke_width(self.px(if full { 3 } else { 1 }) as u32);
        match gave {
            TrialOutcome::Pass => {
                let style = if full { color.filled() } else { stroke };
                self.area.draw(&Circle::new((x, y), r, style)).map_err(wrong)
            }
            TrialOutcome::Fail => {
                self.path(vec![(x - r, y - r), (x + r, y + r)], stroke)?;
                self.path(vec![(x - r, y + r), (x + r, y - r)], stroke)
            }
            TrialOutcome::Unsent => {
                self.path(vec![(x, y - r), (x + r, y + r), (x - r, y + r), (x, y - r)], stroke)
            }
        }
    }

    /// Draws dashed lines across the figure, each with its name.
    fn bounds(&self) -> Result<(), DrawError> {
        let (left, right) = self.x.pixels;
        for bound in &self.figure.bounds {
            let y = self.y.at(bound.y);
            let color = bound.color.map_or(INK, |of| PALETTE[of % PALETTE.len()]);
            let dash = self.px(6);
            let stroke = color.stroke_width(self.scale as u32);
            for from in (left..right).step_by(2 * dash.max(1) as usize) {
                self.path(vec![(from, y), ((from + dash).min(right), y)], stroke)?;
            }
        }
        let mut taken = Vec::new();
        self.figure.bounds.iter().try_for_each(|bound| self.bound_name(bound, &mut taken))
    }

    /// Draws the name of a bound above or below its line. The name overlaps no other name and, if possible, no line of
    /// another bound and no value.
    fn bound_name(&self, bound: &Bound, taken: &mut Vec<[(i32, i32); 2]>) -> Result<(), DrawError> {
        let (left, right) = self.x.pixels;
        let (bottom, top) = self.y.pixels;
        let y = self.y.at(bound.y);
        let gap = self.px(2);
        let width = self.width(&bound.name, 13) + self.px(8);
        let height = self.px(17);
        let others = self.figure.bounds.iter().filter(|other| other.y != bound.y);
        let lines: Vec<i32> = others.map(|other| self.y.at(other.y)).collect();
        let above = y - gap - height;
        let below = y + gap;
        let middle = (left + right - width) / 2;
        let places: Vec<(i32, i32)> =
            [right - width, left + gap, middle].into_iter().flat_map(|x| [(x, above), (x, below)]).collect();
        let of_names = |&(x, from): &(i32, i32)| {
            let clear = |[(left, top), (right, bottom)]: &[(i32, i32); 2]| {
                x >= *right || x + width <= *left || from >= *bottom || from + height <= *top
            };
            from >= top && from + height <= bottom && taken.iter().all(clear)
        };
        let samples = self.figure.series.iter().flat_map(|own| &own.samples).map(|it| (it.x, it.y));
        let marks = self.figure.marks.iter().map(|it| (it.x, it.y));
        let drawn: Vec<(i32, i32)> = samples.chain(marks).map(|(x, y)| self.at(x, y)).collect();
        let of_values = |&(left, top): &(i32, i32)| {
            !drawn.iter().any(|&(x, y)| {
                (left..=left + width).contains(&x) && (top - gap..=top + height + gap).contains(&y)
            })
        };
        let of_lines = |from: i32| lines.iter().all(|line| *line < from || *line > from + height);
        let free = || places.iter().filter(|place| of_names(place));
        let best = free().find(|place| of_lines(place.1) && of_values(place));
        let best = best.or_else(|| free().find(|place| of_lines(place.1))).or_else(|| free().next());
        let (x, from) = *best.unwrap_or(&places[0]);
        let place = [(x, from), (x + width, from + height)];
        taken.push(place);
        // Draws a background for readability.
        self.area.draw(&Rectangle::new(place, WHITE.mix(0.75).filled())).map_err(wrong)?;
        self.text(&bound.name, (x + self.px(4), from + height / 2), 13, HPos::Left, VPos::Center)
    }

    /// Draws a vertical line in the band of its interval, with its name above.
    fn answer(&self, answer: &Answer) -> Result<(), DrawError> {
        let (bottom, top) = self.y.pixels;
        let x = self.x.at(answer.x);
        let stripe = [(self.x.at(answer.interval.0), top), (self.x.at(answer.interval.1), bottom)];
        self.area.draw(&Rectangle::new(stripe, PALETTE[2].mix(0.22).filled())).map_err(wrong)?;
        self.path(vec![(x, bottom), (x, top)], PALETTE[2].stroke_width(self.px(2) as u32))?;
        let half = self.width(&answer.name, 13) / 2;
        let middle = x.clamp(self.x.pixels.0 + half, (self.x.pixels.1 - half).max(self.x.pixels.0 + half));
        self.text(&answer.name, (middle, top - self.px(3)), 13, HPos::Center, VPos::Bottom)
    }

    fn whisker(&self, x: i32, (low, high): (f64, f64), stroke: ShapeStyle) -> Result<(), DrawError> {
        let low = self.y.at(low);
        let high = self.y.at(high);
        let half = self.px(4);
        self.path(vec![(x, low), (x, high)], stroke)?;
        self.path(vec![(x - half, low), (x + half, low)], stroke)?;
        self.path(vec![(x - half, high), (x + half, high)], stroke)
    }

    pub(super) fn width(&self, text: &str, size: i32) -> i32 {
        let fallback = text.chars().count() as i32 * self.px(size) * 6 / 10;
        (FONT, self.px(size)).into_font().box_size(text).map_or(fallback, |(width, _)| width as i32)
    }

    pub(super) fn text(
        &self,
        text: &str,
        at: (i32, i32),
        size: i32,
        h: HPos,
        v: VPos,
    ) -> Result<(), DrawError> {
        self.colored(text, at, size, h, v, INK)
    }

    fn colored(
        &self,
        text: &str,
        at: (i32, i32),
        size: i32,
        h: HPos,
        v: VPos,
        color: RGBColor,
    ) -> Result<(), DrawError> {
        let style = TextStyle::from((FONT, self.px(size)).into_font()).color(&color).pos(Pos::new(h, v));
        self.area.draw(&Text::new(text.to_owned(), at, style)).map_err(wrong)
    }

    /// Returns the beginning of a text that fits into this number of pixels.
    fn fitted(&self, text: &str, size: i32, room: i32) -> String {
        let all = text.chars().count();
        (1..=all)
            .rev()
            .map(|most| cut(text, most))
            .find(|cut| self.width(cut, size) <= room)
            .unwrap_or_default()
    }

    pub(super) fn path(
        &self,
        points: Vec<(i32, i32)>,
        style: impl Into<ShapeStyle>,
    ) -> Result<(), DrawError> {
        if points.len() < 2 {
            return Ok(());
        }
        self.area.draw(&PathElement::new(points, style)).map_err(wrong)
    }

    /// Draws a mark whose shape and colour depend on the series.
    pub(super) fn dot(&self, (x, y): (i32, i32), series: usize) -> Result<(), DrawError> {
        let fill = PALETTE[series % PALETTE.len()].filled();
        let r = self.px(4);
        let shape = match series % 4 {
            0 => return self.area.draw(&Circle::new((x, y), self.px(3), fill)).map_err(wrong),
            1 => vec![
                (x - r + 1, y - r + 1),
                (x + r - 1, y - r + 1),
                (x + r - 1, y + r - 1),
                (x - r + 1, y + r - 1),
            ],
            2 => vec![(x, y - r), (x + r, y + r), (x - r, y + r)],
            _ => vec![(x, y - r - 1), (x + r + 1, y), (x, y + r + 1), (x - r - 1, y)],
        };
        self.area.draw(&Polygon::new(shape, fill)).map_err(wrong)
    }
}

pub(super) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(std::iter::once('…')).collect()
}
