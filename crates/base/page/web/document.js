// A report's document, written by campaign::report::document: its figures, and further figures of its points that a user selects.
import { figure } from "./figure.js";

/**
 * @typedef {import("./figure.js").Figure} Figure
 * @typedef {{path: string, label: string, name: string, values: [string, number | null][]}} Axis
 * @typedef {{name: string, label: string, unit: string}} Metric
 * @typedef {{at: (number | null)[], outcome: string, reason: string, repeats: number, values: (null | number | Measured)[]}} Point
 * Mean, half width, repeats; for an asymmetric interval also its text and its ends (null: open).
 * @typedef {[number, number | null, number, string?, (number | null)?, (number | null)?]} Measured
 * @typedef {{metric: string, unit: string, where: string, paper: string, ours: string, verdict: string, reason: string, source: string, published: boolean}} Expected
 * @typedef {{x: string, y: string, by: string | null}} Asked
 * @typedef {object} Document
 * @property {string} title
 * @property {boolean} quick
 * @property {string[]} meta
 * @property {string} command
 * @property {string[]} answers
 * @property {string[]} warnings
 * @property {string[]} [pictures] drawings of the system, SVG
 * @property {any[]} figures
 * @property {{count: number, words: string, class: string}[]} cards
 * @property {string[]} findings
 * @property {string[]} remarks
 * @property {string[]} about
 * @property {Expected[]} expected
 * @property {Axis[]} axes
 * @property {Metric[]} metrics
 * @property {number} left_out
 * @property {number} shown
 * @property {number} confidence
 * @property {Point[]} points
 * @property {[string, string, string][]} meanings
 * @property {any} machine
 * @property {any} versions
 * @property {any} scenario
 */

const FORMAT = "ranlab-report/1";
/** Maximum number of series of a figure; more are not distinguishable. */
const SERIES_MAX = 8;

/** The data of a saved page, or of a text that is only the data. @param {string} text @returns {any} */
export function parsed(text) {
  const begin = '<script type="application/json" id="data">';
  const at = text.indexOf(begin);
  return JSON.parse(at < 0 ? text : text.slice(at + begin.length, text.indexOf("</" + "script>", at)));
}

/** The report in a text. @param {string} text @returns {Document} */
export function parse(text) {
  const found = parsed(text);
  const lists = ["points", "axes", "metrics", "figures", "expected"];
  if (found?.format !== FORMAT || lists.some((name) => !Array.isArray(found[name]))) throw new Error(`it is not a ${FORMAT}`);
  return found;
}

/** A figure in the form that is drawn. @param {any} told @returns {Figure} */
export function unpack(told) {
  let rows = /** @type {string[]} */ ([]);
  const series = told.series.map((/** @type {any} */ it) => {
    const cells = it.form.name === "cells";
    const [name, ...names] = it.name.split("\n");
    if (cells) rows = names;
    const samples = it.samples.map((/** @type {number[]} */ [x, y, low = y, high = y, least = low, most = high]) => (cells ? { x, y: least, low: y, high: y } : { x, y, low, high, least, most }));
    const sign = it.form.gave && `${it.form.gave}${it.form.full ? " full" : ""}`;
    return { name, form: it.form.name, color: it.color, sign, samples };
  });
  const numbers = told.x.numbers;
  const [zero_x, zero] = told.zero;
  return figure({ ...told, x: numbers ? "numbers" : "names", names: told.x.names ?? [], rows, log_x: numbers?.log === true, zero_x, zero, series, marks: [], expected: told.marks });
}

/** Axes that have more than one value. @param {Document} doc */
export function varied(doc) {
  return doc.axes.filter((axis) => axis.values.length > 1);
}

/** Samples of a metric along an axis, by the value of another axis, at fixed values of all others. @param {Document} doc @param {Asked} asked @param {Map<string, string>} pins by path */
function groups(doc, asked, pins) {
  const index = (/** @type {string | null} */ path) => doc.axes.findIndex((axis) => axis.path === path);
  const [x, by, y] = [index(asked.x), index(asked.by), doc.metrics.findIndex((metric) => metric.name === asked.y)];
  /** @type {Map<string, {at: number, sample: import("./figure.js").Sample}[]>} */
  const all = new Map();
  if (x < 0 || y < 0) return all;
  for (const point of doc.points) {
    const elsewhere = doc.axes.some((axis, n) => n !== x && n !== by && pins.has(axis.path) && axis.values[point.at[n] ?? -1]?.[0] !== pins.get(axis.path));
    const [at, value] = [point.at[x], point.values[y]];
    if (elsewhere || at === null || value === null || value === undefined) continue;
    const [mean, half, , , below, above] = typeof value === "number" ? /** @type {Measured} */ ([value, 0, 1]) : value;
    const name = by < 0 ? doc.metrics[y].label : `${doc.axes[by].name} = ${doc.axes[by].values[point.at[by] ?? -1]?.[0] ?? "–"}`;
    const list = all.get(name) ?? [];
    list.push({ at, sample: { x: at, y: mean, low: below ?? mean - (half ?? 0), high: above ?? mean + (half ?? 0) } });
    all.set(name, list);
  }
  return all;
}

/** A figure that a user selects. Points are never combined: each axis is the horizontal one, distinguishes series, or is fixed. @param {Document} doc @param {Asked} asked @param {Map<string, string>} pins @param {Overlay[]} overlays @returns {Figure} */
export function explored(doc, asked, pins, overlays) {
  const axis = doc.axes.find(({ path }) => path === asked.x);
  const metric = doc.metrics.find(({ name }) => name === asked.y);
  const by = doc.axes.find(({ path }) => path === asked.by);
  if (!axis || !metric) return figure({ title: "Any metric over any axis", missing: "There is nothing to draw." });
  const numeric = axis.values.every(([, number]) => number !== null);
  const form = /** @type {import("./figure.js").Form} */ (numeric ? "band" : "whiskers");
  const named = [...groups(doc, asked, pins)];
  const series = named.slice(0, SERIES_MAX).map(([name, list], color) => {
    const samples = list.map(({ at, sample }) => ({ ...sample, x: numeric ? axis.values[at][1] ?? 0 : at })).sort((a, b) => a.x - b.x);
    return /** @type {import("./figure.js").Series} */ ({ name, form, color, samples });
  });
  for (const overlay of overlays) {
    const other = overlay.doc.axes.find(({ path }) => path === axis.path);
    for (const [name, list] of groups(overlay.doc, asked, pins)) {
      const place = (/** @type {number} */ at) => (numeric ? other?.values[at]?.[1] ?? NaN : axis.values.findIndex(([value]) => value === other?.values[at]?.[0]));
      const samples = list.map(({ at, sample }) => ({ ...sample, x: place(at) })).filter(({ x }) => x >= 0).sort((a, b) => a.x - b.x);
      const color = Math.max(0, series.findIndex((own) => own.name === name && !own.over));
      series.push({ name: `${name} (${overlay.name})`, form, color, samples, over: true });
    }
  }
  const at = [...pins].filter(([path]) => path !== asked.x && path !== asked.by).map(([path, value]) => `${doc.axes.find((it) => it.path === path)?.name} = ${value}`);
  const more = named.length > SERIES_MAX ? `Only ${SERIES_MAX} of ${named.length} series are shown. ` : "";
  return figure({
    title: `${metric.label} against ${axis.label}${by ? `, by ${by.name}` : ""}${at.length > 0 ? `, at ${at.join(", ")}` : ""}`,
    caption: `${more}Mean over repeats with its ${Math.round(doc.confidence * 100)} % interval. Each point is shown separately.`,
    x: numeric ? "numbers" : "names", names: numeric ? [] : axis.values.map(([value]) => value), x_label: axis.label,
    y_label: `${metric.name}${metric.unit ? ` (${metric.unit})` : ""}`, zero_x: true, series,
  });
}

/** @typedef {{name: string, doc: Document}} Overlay */

/** A figure overlaid with the same figure of other campaigns. @param {Figure} own @param {Overlay[]} overlays @returns {Figure} */
export function overlaid(own, overlays) {
  const others = overlays.flatMap(({ name, doc }) => doc.figures.filter((it) => it.title === own.title && it.x_label === own.x_label && it.y_label === own.y_label).map(unpack).flatMap((other) => {
    const place = (/** @type {number} */ x) => (own.x === "names" ? own.names.indexOf(other.names[x]) : x);
    return other.series.filter(({ form }) => form !== "cells" && form !== "area").map((series) => ({
      ...series, name: `${series.name} (${name})`, over: true, samples: series.samples.map((it) => ({ ...it, x: place(it.x) })).filter(({ x }) => own.x !== "names" || x >= 0),
    }));
  }));
  return others.length > 0 ? { ...own, series: [...own.series, ...others] } : own;
}

/** Every point with every metric, in full precision. @param {Document} doc @returns {(string | number)[][]} */
export function pointRows(doc) {
  const head = [...doc.axes.map(({ path }) => path), "outcome", "reason", "repeats", ...doc.metrics.flatMap(({ name }) => [name, `${name}_half_width`])];
  return [head, ...doc.points.map((point) => [
    ...point.at.map((at, n) => doc.axes[n].values[at ?? -1]?.[0] ?? ""), point.outcome, point.reason, point.repeats,
    ...point.values.flatMap((value) => (Array.isArray(value) ? [value[0], value[1] ?? ""] : [value ?? "", ""])),
  ])];
}
