// What a figure shows, apart from where it comes from and how it is drawn; the same words as the report's figures.

/**
 * @typedef {import("./history.js").Sample} Sample
 *
 * @typedef {object} Series
 * @property {string} name in the legend
 * @property {"line" | "band" | "area" | "cells"} form `band` has a range around its line, an `area` stands on those before
 *   it, `cells` are coloured by `y`, row by row
 * @property {number} color which of the palette
 * @property {Sample[]} samples in the order of x
 *
 * @typedef {object} Figure
 * @property {string} title a sentence with units
 * @property {string} caption what a reader must know
 * @property {string} missing why it is not drawn; empty if it is
 * @property {"time" | "numbers"} x what lies across: seconds since the epoch, or numbers
 * @property {string} x_label
 * @property {string} y_label
 * @property {string} unit of what lies upwards, or of the colour of cells
 * @property {boolean} log_y
 * @property {boolean} zero whether upwards begins at 0
 * @property {Series[]} series
 * @property {{x: number, name: string}[]} marks what happened when: lines upwards
 */

/**
 * A figure of which only what differs is said.
 * @param {Partial<Figure> & {title: string}} wanted
 * @returns {Figure}
 */
export function figure(wanted) {
  return {
    caption: "", missing: "", x: "time", x_label: "time", y_label: "", unit: "", log_y: false, zero: true, series: [],
    marks: [], ...wanted,
  };
}

/** Steps between marks of a time axis, seconds. */
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
 * A number as people read it, with its unit.
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

/**
 * What is drawn, as a table: a row for each x, a column for each series.
 * @param {Figure} figure
 * @returns {{head: string[], rows: string[][]}}
 */
export function table(figure) {
  /** @type {Map<number, string[]>} */
  const rows = new Map();
  figure.series.forEach((series, column) => {
    for (const { x, y, low, high } of series.samples) {
      let row = rows.get(x);
      if (!row) rows.set(x, (row = figure.series.map(() => "")));
      const range = series.form === "band" && high > low ? ` (${show(low, figure.unit)} to ${show(high, figure.unit)})` : "";
      row[column] = show(y, figure.unit) + range;
    }
  });
  const across = (/** @type {number} */ x) => (figure.x === "time" ? clock(x) : show(x));
  const all = [...rows].sort(([a], [b]) => b - a).map(([x, row]) => [across(x), ...row]);
  return { head: [figure.x_label, ...figure.series.map((series) => series.name)], rows: all };
}
