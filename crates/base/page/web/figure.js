// The content of a figure, independent of its source and drawing; with the terms of the report's figures.

/**
 * @typedef {import("./history.js").Sample & {least?: number, most?: number}} Sample `least` and `most`: whiskers of a box
 *
 * @typedef {"line" | "band" | "area" | "cells" | "whiskers" | "steps" | "bars" | "falls" | "boxes" | "contour" | "dots" | "guide" | "trials"} Form
 *
 * @typedef {object} Series
 * @property {string} name in the legend
 * @property {Form} form `band` has a range around its line, an `area` stands on those before it, `falls` are bars from `low` to `high`, `cells` are coloured by `y`, row by row
 * @property {number} color which of the palette
 * @property {Sample[]} samples in the order of x; of cells, `low` is the row
 * @property {string} [sign] of trials: what they gave, and `full` if they took the full time
 * @property {boolean} [over] it is another campaign's, laid over this one
 *
 * @typedef {object} Figure
 * @property {string} title a sentence with units
 * @property {string} caption what a reader must know
 * @property {string} missing why it is not drawn; empty if it is
 * @property {"time" | "numbers" | "names"} x what lies across: seconds since the epoch, numbers, or names at their index
 * @property {string[]} names that lie across
 * @property {string[]} rows names of the rows of cells
 * @property {string} x_label
 * @property {string} y_label
 * @property {string} unit of what lies upwards, or of the colour of cells; empty where the label has it
 * @property {boolean} log_x
 * @property {boolean} log_y
 * @property {boolean} zero_x whether across begins at 0
 * @property {boolean} zero whether upwards begins at 0
 * @property {Series[]} series
 * @property {{x: number, name: string}[]} marks what happened when: lines upwards
 * @property {{x: number, y: number, color: number | null, published: boolean}[]} expected single values
 * @property {{y: number, color: number | null, name: string}[]} bounds what is expected everywhere: lines across
 * @property {{x: number, interval: [number, number], name: string} | null} answer what a search found
 */

/**
 * A figure with defaults for absent properties.
 * @param {Partial<Figure> & {title: string}} wanted
 * @returns {Figure}
 */
export function figure(wanted) {
  return {
    caption: "", missing: "", x: "time", names: [], rows: [], x_label: "time", y_label: "", unit: "", log_x: false, log_y: false,
    zero_x: false, zero: true, series: [], marks: [], expected: [], bounds: [], answer: null, ...wanted,
  };
}

/** Distances between marks of a time axis, in seconds. */
const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600];

/**
 * Marks of a linear axis: round numbers, about `count` of them.
 * @param {number} low @param {number} high @param {number} count
 * @returns {number[]}
 */
export function ticks(low, high, count) {
  const rough = (high - low) / Math.max(count, 1);
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? rough;
  const all = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n += 1) all.push(n * step);
  return all;
}

/**
 * @param {number} low @param {number} high @param {number} count
 * @returns {number[]}
 */
export function timeTicks(low, high, count) {
  const step = TIME_STEPS.find((n) => n >= (high - low) / Math.max(count, 1)) ?? 7200;
  const all = [];
  for (let t = Math.ceil(low / step) * step; t <= high; t += step) all.push(t);
  return all;
}

/** @param {number} seconds */
export function clock(seconds) {
  const at = new Date(seconds * 1000);
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** @param {number} value */
function digits(value) {
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1).replace(/\.0$/, "");
  if (size >= 0.01) return value.toFixed(2).replace(/0+$/, "").replace(/\.$/, "");
  return size === 0 ? "0" : value.toPrecision(2);
}

const PREFIXES = /** @type {const} */ ([[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]);

/**
 * A number with its unit, as text.
 * @param {number | null | undefined} value
 * @param {string} [unit]
 * @returns {string}
 */
export function show(value, unit = "") {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (unit === "us") {
    if (size >= 1e6) return `${digits(value / 1e6)} s`;
    return size >= 1e3 ? `${digits(value / 1e3)} ms` : `${digits(value)} µs`;
  }
  if (unit === "%" || unit === "dB" || unit === "dBm") return `${digits(value)} ${unit}`;
  const prefix = PREFIXES.find(([least]) => size >= least);
  const fine = size >= 1e4 || (unit !== "" && size >= 1e3);
  if (prefix && fine) return `${digits(value / prefix[0])} ${prefix[1]}${unit}`;
  return unit ? `${digits(value)} ${unit}` : digits(value);
}

/** Created once, because creation takes longer than formatting. */
const EXACT = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 5 });

/** A number with up to five significant digits. @param {number | null | undefined} value */
export function exact(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-4 || size >= 1e12) ? value.toExponential(3) : EXACT.format(value);
}

/** A value of a figure as text: measured values in full, live values with a unit prefix. @param {Figure} figure @param {number | undefined} value */
export function say(figure, value) {
  return figure.unit !== "" || figure.x === "time" ? show(value, figure.unit) : exact(value);
}

/** A horizontal position as text. @param {Figure} figure @param {number} x */
export function place(figure, x) {
  return figure.x === "time" ? clock(x) : figure.x === "names" ? figure.names[x] ?? "" : exact(x);
}

/** Forms whose samples have a range. @param {{form: Form}} series */
export function ranged({ form }) {
  return form === "band" || form === "whiskers" || form === "bars" || form === "falls" || form === "boxes";
}

/** A value and its range. @param {Figure} figure @param {Series} series @param {Sample} sample */
export function told(figure, series, { y, low, high }) {
  return say(figure, y) + (ranged(series) && high > low ? ` (${say(figure, low)} to ${say(figure, high)})` : "");
}

/**
 * The drawn data in full precision, with a row per sample.
 * @param {Figure} figure
 * @returns {(string | number)[][]} the first row names the columns
 */
export function samples(figure) {
  const across = (/** @type {number} */ x) => (figure.x === "names" ? figure.names[x] : x);
  const rows = figure.series.flatMap((series) => series.samples.map((it) => {
    const name = series.form === "cells" ? `${series.name} at ${figure.rows[it.low] ?? ""}` : series.name;
    return [name, across(it.x), it.y, ...(ranged(series) ? [it.low, it.high] : ["", ""])];
  }));
  const expected = figure.expected.map((it) => [it.published ? "published" : "expected", across(it.x), it.y, "", ""]);
  const bounds = figure.bounds.map((it) => [it.name, "", it.y, "", ""]);
  const answer = figure.answer ? [[figure.answer.name, figure.answer.x, "", ...figure.answer.interval]] : [];
  return [["series", figure.x_label, figure.y_label, "low", "high"], ...rows, ...expected, ...bounds, ...answer];
}

/**
 * The drawn data as a table: a row per x, a column per series.
 * @param {Figure} figure
 * @returns {{head: string[], rows: string[][]}}
 */
export function table(figure) {
  if (figure.rows.length > 0 || figure.series.some(({ form }) => form === "trials")) {
    const [head, ...rows] = samples(figure);
    return { head: head.map(String), rows: rows.map((row) => row.map((it) => (typeof it === "number" ? exact(it) : it))) };
  }
  /** @type {Map<number, string[]>} */
  const rows = new Map();
  figure.series.forEach((series, column) => {
    for (const sample of series.samples) {
      let row = rows.get(sample.x);
      if (!row) rows.set(sample.x, (row = figure.series.map(() => "")));
      row[column] = told(figure, series, sample);
    }
  });
  // Live data is read from its end.
  const sign = figure.x === "time" ? -1 : 1;
  const all = [...rows].sort(([a], [b]) => sign * (a - b)).map(([x, row]) => [place(figure, x), ...row]);
  return { head: [figure.x_label, ...figure.series.map((series) => series.name)], rows: all };
}
