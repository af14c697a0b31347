//! Drawing a figure, once for SVG and pixels alike.

use std::sync::OnceLock;

use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{
    Color, FontStyle, FontTransform, IntoFont, RGBAColor, RGBColor, ShapeStyle, TextStyle, register_font,
};

use super::figure::{Across, Figure, Form, Mark, Sample, Series};
use crate::expect::short;

/// Size of a figure in pixels.
const SIZE: (u32, u32) = (860, 480);
/// Pixels of the PNG for each of the SVG.
const SCALE: u32 = 2;
/// Up to so many measured values are the marks of the axis themselves.
const TICKS_MEASURED_MAX: usize = 16;
const FONT: &str = "sans-serif";
pub(super) const INTER: &[u8] = include_bytes!("../../font/inter-subset.otf");
/// The page's text colour stands for it in SVG.
const INK: RGBColor = RGBColor(0x1a, 0x1b, 0x1c);
/// Legible on white and on black.
const PALETTE: [RGBColor; 8] = [
    RGBColor(0x3b, 0x7d, 0xd8),
    RGBColor(0xe0, 0x7b, 0x39),
    RGBColor(0x2e, 0x9e, 0x6b),
    RGBColor(0xc2, 0x47, 0x8e),
    RGBColor(0x8c, 0x6b, 0xd1),
    RGBColor(0xb8, 0x91, 0x2a),
    RGBColor(0x3f, 0xa3, 0xb5),
    RGBColor(0xd1, 0x4b, 0x4b),
];

/// A figure could not be drawn: our own fault.
#[derive(Debug, thiserror::Error)]
#[error("a figure cannot be drawn: {0}")]
pub struct DrawError(String);

/// As SVG with transparent ground; ink is the page's text colour.
///
/// # Errors
/// Our own fault.
pub fn svg(figure: &Figure) -> Result<String, DrawError> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        paint(figure, &area, 1)?;
        area.present().map_err(wrong)?;
    }
    let open = format!("<svg width=\"{}\" height=\"{}\"", SIZE.0, SIZE.1);
    // Scales with its page instead of being cut.
    Ok(text.replacen(&open, "<svg role=\"img\"", 1).replace("#1A1B1C", "currentColor"))
}

/// Ground and ink of a file by itself, where its reader likes the dark too.
const COLOURS: &str = "svg{color:#1a1b1c;background:#fff}text{font-family:Inter,system-ui,sans-serif}\
    @media (prefers-color-scheme:dark){svg{color:#e6e8ea;background:#15181b}}";

/// The same with a ground and a font of its own, for a file.
pub(super) fn standalone(svg: &str) -> String {
    let Some(end) = svg.find("<svg").and_then(|from| Some(from + svg[from..].find('>')? + 1)) else {
        return svg.to_owned();
    };
    let (head, body) = svg.split_at(end);
    format!("{head}<style>{}{COLOURS}</style>{body}", super::font::face())
}

/// As PNG on white, twice as fine.
///
/// # Errors
/// Our own fault.
pub fn png(figure: &Figure) -> Result<Vec<u8>, DrawError> {
    let (width, height) = (SIZE.0 * SCALE, SIZE.1 * SCALE);
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

fn wrong<E: std::error::Error + Send + Sync>(error: DrawingAreaErrorKind<E>) -> DrawError {
    DrawError(error.to_string())
}

fn paint<DB: DrawingBackend>(
    figure: &Figure,
    area: &DrawingArea<DB, Shift>,
    scale: i32,
) -> Result<(), DrawError> {
    static FONTS: OnceLock<bool> = OnceLock::new();
    if !FONTS.get_or_init(|| register_font(FONT, FontStyle::Normal, INTER).is_ok()) {
        return Err(DrawError("the embedded font is unreadable".to_owned()));
    }
    let canvas = Canvas::new(figure, area, scale);
    canvas.axes()?;
    for (index, series) in figure.series.iter().enumerate() {
        canvas.series(series, index)?;
    }
    for mark in &figure.marks {
        canvas.mark(mark)?;
    }
    canvas.legend()
}

/// A linear or logarithmic range on pixels.
#[derive(Debug, Clone)]
struct Axis {
    low: f64,
    high: f64,
    log: bool,
    pixels: (i32, i32),
}

impl Axis {
    fn at(&self, value: f64) -> i32 {
        let f = |value: f64| if self.log { value.max(self.low * 1e-3).log10() } else { value };
        let share = (f(value) - f(self.low)) / (f(self.high) - f(self.low));
        self.pixels.0 + (share.clamp(0.0, 1.0) * f64::from(self.pixels.1 - self.pixels.0)).round() as i32
    }

    /// Round numbers, about `wanted` of them.
    fn ticks(&self, wanted: f64) -> Vec<f64> {
        if self.log {
            let decades = (self.high / self.low).log10();
            let steps: &[f64] = if decades <= 1.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let skip = (decades / wanted).ceil().max(1.0) as i32;
            let from = self.low.log10().floor() as i32;
            let exponents = (0..).map(|step| from + step * skip).take_while(|e| 10f64.powi(*e) <= self.high);
            let all = exponents.flat_map(|e| steps.iter().map(move |step| step * 10f64.powi(e)));
            let margin = 1e-9;
            return all
                .filter(|t| *t >= self.low * (1.0 - margin) && *t <= self.high * (1.0 + margin))
                .collect();
        }
        let step = step((self.high - self.low) / wanted);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|index| index as f64 * step).collect()
    }
}

pub(super) fn step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= rough)
        .unwrap_or(power * 10.0)
}

struct Canvas<'a, DB: DrawingBackend> {
    figure: &'a Figure,
    area: &'a DrawingArea<DB, Shift>,
    scale: i32,
    x: Axis,
    y: Axis,
    /// Names of a heat map's rows.
    rows: Vec<String>,
}

impl<'a, DB: DrawingBackend> Canvas<'a, DB> {
    fn new(figure: &'a Figure, area: &'a DrawingArea<DB, Shift>, scale: i32) -> Self {
        let cells = figure.series.iter().find(|series| series.form == Form::Cells);
        let rows: Vec<String> =
            cells.iter().flat_map(|series| series.name.lines().skip(1).map(str::to_owned)).collect();
        let mut canvas =
            Self { figure, area, scale, x: axis(&[], false, false), y: axis(&[], false, false), rows };
        let xs: Vec<f64> =
            figure.series.iter().flat_map(|series| series.samples.iter().map(|s| s.x)).collect();
        let xs: Vec<f64> = xs.into_iter().chain(figure.marks.iter().map(|mark| mark.x)).collect();
        canvas.x = match &figure.x {
            Across::Names(names) => {
                Axis { low: -0.5, high: names.len().max(1) as f64 - 0.5, log: false, pixels: (0, 0) }
            }
            Across::Numbers { log } => axis(&xs, *log, false),
        };
        canvas.y = if cells.is_some() {
            Axis { low: -0.5, high: canvas.rows.len().max(1) as f64 - 0.5, log: false, pixels: (0, 0) }
        } else {
            let samples = figure.series.iter().flat_map(|series| &series.samples);
            let ys = samples.flat_map(|s| [s.y, s.low, s.high, s.ends.0, s.ends.1]);
            let ys: Vec<f64> = ys.chain(figure.marks.iter().map(|mark| mark.y)).collect();
            // Lines of equal value fill their plane.
            let plane = figure.series.iter().any(|series| series.form == Form::Contour);
            axis(&ys, figure.log_y, !plane)
        };
        // Room for the widest tick label, for the legend below, and for half a label at the right end.
        let widest = canvas.y_ticks().iter().map(|(_, text)| canvas.width(text, 13)).max().unwrap_or(0);
        let left = canvas.px(46) + widest;
        let legend = canvas.legend_rows().len() as i32 * 22;
        canvas.x.pixels = (left, canvas.px(SIZE.0 as i32 - 34));
        canvas.y.pixels = (canvas.px(SIZE.1 as i32 - 62 - legend), canvas.px(44));
        canvas
    }

    fn px(&self, pixels: i32) -> i32 {
        pixels * self.scale
    }

    fn at(&self, x: f64, y: f64) -> (i32, i32) {
        (self.x.at(x), self.y.at(y))
    }

    fn y_ticks(&self) -> Vec<(f64, String)> {
        if self.rows.is_empty() {
            return self.y.ticks(6.0).into_iter().map(|tick| (tick, tick_text(tick))).collect();
        }
        self.rows.iter().enumerate().map(|(index, name)| (index as f64, cut(name, 18))).collect()
    }

    fn x_ticks(&self) -> Vec<(f64, String)> {
        match &self.figure.x {
            Across::Numbers { .. } => {
                let measured = self.measured_at();
                let ticks = if measured.is_empty() { self.x.ticks(8.0) } else { measured };
                ticks.into_iter().map(|tick| (tick, tick_text(tick))).collect()
            }
            Across::Names(names) => {
                let room = (self.x.pixels.1 - self.x.pixels.0) / names.len().max(1) as i32;
                // Names that would touch are thinned, long ones cut.
                let longest = (room / self.px(7)).clamp(3, 24) as usize;
                let skip = (self.px(24) / room.max(1) + 1) as usize;
                let names = names.iter().enumerate().filter(|(index, _)| index % skip == 0);
                names.map(|(index, name)| (index as f64, cut(name, longest * skip))).collect()
            }
        }
    }

    /// The values of x that were measured, if they are few: better marks on the axis than round numbers between them.
    fn measured_at(&self) -> Vec<f64> {
        let discrete = |form| matches!(form, Form::Band | Form::Whiskers | Form::Dots);
        let series = self.figure.series.iter().filter(|series| discrete(series.form));
        let mut values: Vec<f64> = series.flat_map(|series| series.samples.iter().map(|s| s.x)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        if values.len() < 2 || values.len() > TICKS_MEASURED_MAX {
            return Vec::new();
        }
        let mut kept: Vec<f64> = Vec::new();
        for value in values {
            let room = self.width(&tick_text(value), 13) + self.px(10);
            if kept.last().is_none_or(|last| self.x.at(value) - self.x.at(*last) >= room) {
                kept.push(value);
            }
        }
        kept
    }

    fn axes(&self) -> Result<(), DrawError> {
        let (left, right, bottom, top) = (self.x.pixels.0, self.x.pixels.1, self.y.pixels.0, self.y.pixels.1);
        let (faint, line) =
            (INK.mix(0.14).stroke_width(self.scale as u32), INK.stroke_width(self.scale as u32));
        self.text(&cut(&self.figure.title, 90), (left, self.px(14)), 17, HPos::Left, VPos::Top)?;
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
                line(|s| s.y).try_for_each(|at| self.dot(at, color))
            }
            Form::Whiskers => series.samples.iter().try_for_each(|s| {
                let x = self.x.at(s.x) + self.aside(series.color);
                self.whisker(x, (s.low, s.high), stroke)?;
                self.dot((x, self.y.at(s.y)), color)
            }),
            Form::Bars | Form::Boxes => {
                series.samples.iter().try_for_each(|s| self.block(series.form, s, index))
            }
            Form::Cells => self.cells(&series.samples),
        }
    }

    /// Whiskers of several series at one place stand side by side.
    fn aside(&self, color: usize) -> i32 {
        let series = self.figure.series.iter().filter(|series| series.form == Form::Whiskers).count() as i32;
        self.px(7) * (2 * color as i32 - (series - 1)) / 2
    }

    /// A bar or a box, beside those of the other series at the same name.
    fn block(&self, form: Form, s: &Sample, index: usize) -> Result<(), DrawError> {
        let color = PALETTE[index % PALETTE.len()];
        let count = self.figure.series.len().max(1) as f64;
        let width = 0.76 / count;
        let middle = s.x + (index as f64 - (count - 1.0) / 2.0) * width;
        let (from, to) = (self.x.at(middle - width * 0.45), self.x.at(middle + width * 0.45));
        let middle = (from + to) / 2;
        let stroke = color.stroke_width(self.px(2) as u32);
        let zero = if self.figure.log_y { self.y.low } else { 0.0 };
        let (low, high) = if form == Form::Bars { (zero, s.y) } else { (s.low, s.high) };
        let area = [(from, self.y.at(low.max(high))), (to, self.y.at(low.min(high)))];
        self.area.draw(&Rectangle::new(area, color.mix(0.45).filled())).map_err(wrong)?;
        self.path(vec![(from, self.y.at(s.y)), (to, self.y.at(s.y))], stroke)?;
        let ends = if form == Form::Bars { (s.low, s.high) } else { s.ends };
        if form == Form::Bars {
            return self.whisker(middle, ends, INK.stroke_width(self.scale as u32));
        }
        let half = self.px(4);
        for (end, edge) in [(ends.0, s.low), (ends.1, s.high)] {
            let (end, edge) = (self.y.at(end), self.y.at(edge));
            self.path(vec![(middle, end), (middle, edge)], stroke)?;
            self.path(vec![(middle - half, end), (middle + half, end)], stroke)?;
        }
        Ok(())
    }

    fn cells(&self, samples: &[Sample]) -> Result<(), DrawError> {
        let values = samples.iter().map(|s| s.ends.0);
        let (low, high) =
            (values.clone().fold(f64::INFINITY, f64::min), values.fold(f64::NEG_INFINITY, f64::max));
        let half = |axis: &Axis| (axis.at(1.0) - axis.at(0.0)).abs() / 2 - self.scale;
        let (dx, dy) = (half(&self.x), half(&self.y));
        for s in samples {
            let (x, y) = self.at(s.x, s.y);
            let share = if high > low { (s.ends.0 - low) / (high - low) } else { 0.5 };
            // From a quarter to full, so that the lowest is not taken for a missing one.
            let color: RGBAColor = PALETTE[0].mix(0.12 + 0.88 * share);
            let area = [(x - dx, y - dy), (x + dx, y + dy)];
            self.area.draw(&Rectangle::new(area, color.filled())).map_err(wrong)?;
            let text = short(s.ends.0);
            if self.width(&text, 12) < 2 * dx && dy > self.px(8) {
                self.text(&text, (x, y), 12, HPos::Center, VPos::Center)?;
            }
        }
        Ok(())
    }

    /// A paper's value: a cross in the colour of its series, on ink so that it shows on its own line.
    fn mark(&self, mark: &Mark) -> Result<(), DrawError> {
        let (x, y) = self.at(mark.x, mark.y);
        let color = mark.color.map_or(INK, |color| PALETTE[color % PALETTE.len()]);
        for (r, width, color) in [(self.px(7), self.px(4), INK), (self.px(6), self.px(2), color)] {
            for (a, b) in [((x - r, y - r), (x + r, y + r)), ((x - r, y + r), (x + r, y - r))] {
                self.path(vec![a, b], color.stroke_width(width as u32))?;
            }
        }
        Ok(())
    }

    fn whisker(&self, x: i32, (low, high): (f64, f64), stroke: ShapeStyle) -> Result<(), DrawError> {
        let (low, high, half) = (self.y.at(low), self.y.at(high), self.px(4));
        self.path(vec![(x, low), (x, high)], stroke)?;
        self.path(vec![(x - half, low), (x + half, low)], stroke)?;
        self.path(vec![(x - half, high), (x + half, high)], stroke)
    }

    /// Entries in rows that fit: text, and the series' colour or `None` for the paper.
    fn legend_rows(&self) -> Vec<Vec<(String, Option<usize>)>> {
        let earlier =
            |index: usize, color| self.figure.series[..index].iter().any(|series| series.color == color);
        let series = self.figure.series.iter().enumerate().filter(|(index, series)| {
            !matches!(series.form, Form::Cells | Form::Dots) && !earlier(*index, series.color)
        });
        let mut entries: Vec<(String, Option<usize>)> =
            series.map(|(_, series)| (cut(&series.name, 44), Some(series.color))).collect();
        if !self.figure.marks.is_empty() {
            entries.push(("paper".to_owned(), None));
        } else if entries.len() < 2 {
            return Vec::new();
        }
        let mut rows: Vec<Vec<(String, Option<usize>)>> = Vec::new();
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

    fn legend(&self) -> Result<(), DrawError> {
        let mut y = self.y.pixels.0 + self.px(64);
        for row in self.legend_rows() {
            let mut x = self.x.pixels.0;
            for (text, index) in row {
                let middle = y - self.px(1);
                match index {
                    Some(index) => {
                        let area = [(x, middle - self.px(5)), (x + self.px(18), middle + self.px(5))];
                        let fill = PALETTE[index % PALETTE.len()].filled();
                        self.area.draw(&Rectangle::new(area, fill)).map_err(wrong)?;
                    }
                    None => self.text("×", (x + self.px(9), middle), 18, HPos::Center, VPos::Center)?,
                }
                self.text(&text, (x + self.px(24), middle), 13, HPos::Left, VPos::Center)?;
                x += self.entry_width(&text);
            }
            y += self.px(22);
        }
        Ok(())
    }

    fn width(&self, text: &str, size: i32) -> i32 {
        let fallback = text.chars().count() as i32 * self.px(size) * 6 / 10;
        (FONT, self.px(size)).into_font().box_size(text).map_or(fallback, |(width, _)| width as i32)
    }

    fn text(&self, text: &str, at: (i32, i32), size: i32, h: HPos, v: VPos) -> Result<(), DrawError> {
        let style = TextStyle::from((FONT, self.px(size)).into_font()).color(&INK).pos(Pos::new(h, v));
        self.area.draw(&Text::new(text.to_owned(), at, style)).map_err(wrong)
    }

    fn path(&self, points: Vec<(i32, i32)>, style: impl Into<ShapeStyle>) -> Result<(), DrawError> {
        if points.len() < 2 {
            return Ok(());
        }
        self.area.draw(&PathElement::new(points, style)).map_err(wrong)
    }

    fn dot(&self, at: (i32, i32), color: RGBColor) -> Result<(), DrawError> {
        self.area.draw(&Circle::new(at, self.px(3), color.filled())).map_err(wrong)
    }
}

/// A range that holds every value, with some air; upwards from 0 if that wastes little.
fn axis(values: &[f64], log: bool, upwards: bool) -> Axis {
    let fit = |value: &&f64| value.is_finite() && (!log || **value > 0.0);
    let mut low = values.iter().filter(fit).copied().fold(f64::INFINITY, f64::min);
    let mut high = values.iter().filter(fit).copied().fold(f64::NEG_INFINITY, f64::max);
    if low > high {
        (low, high) = if log { (1.0, 10.0) } else { (0.0, 1.0) };
    }
    if log {
        let air = (high / low).powf(0.05).max(1.1);
        return Axis { low: low / air, high: high * air, log, pixels: (0, 0) };
    }
    if upwards && low > 0.0 && low < 0.7 * high {
        low = 0.0;
    }
    let air = if high > low { (high - low) * 0.04 } else { high.abs().max(1.0) * 0.5 };
    let below = if upwards && low >= 0.0 { low.min(air) } else { air };
    Axis { low: low - below, high: high + air, log, pixels: (0, 0) }
}

/// `12 k`, `3.5 M`: short enough for an axis.
fn tick_text(tick: f64) -> String {
    let tick = if tick.abs() < 1e-12 { 0.0 } else { tick };
    for (unit, sign) in [(1e9, " G"), (1e6, " M"), (1e4, " k")] {
        if tick.abs() >= unit {
            let unit = if unit == 1e4 { 1e3 } else { unit };
            return format!("{}{sign}", short(tick / unit));
        }
    }
    short(tick)
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(std::iter::once('…')).collect()
}
