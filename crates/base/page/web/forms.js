// Draws each form of a series as SVG; the forms are those of the report.
import { h, s } from "./dom.js";
import { exact } from "./figure.js";

/** @typedef {import("./figure.js").Series} Series */
/** @typedef {import("./scale.js").Scale} Scale */
/** @typedef {{x: number, y: number, low: number, high: number, least: number, most: number}} Place */
/** @typedef {{name: string, form: import("./figure.js").Form, color: number, sign: string, over: boolean, nth: number, points: Place[]}} Drawn */
/** `one`, `wide`: distance between adjacent series and width of each, in pixels. @typedef {{x: Scale, y: Scale, time: boolean, range: [number, number], one: number, wide: number}} Field */

/** Colours of the palette in page.css. */
export const COLORS = 8;
/** Colours of the heat scale in page.css. */
export const STEPS = 7;
/** A line over time is interrupted where the gap exceeds this multiple of the usual distance. */
const GAP = 3.5;

/** Series as they are drawn: areas are stacked. @param {import("./figure.js").Figure} figure @returns {Drawn[]} */
export function laid(figure) {
  /** @type {Map<number, number>} */
  const ground = new Map();
  let count = 0;
  const all = figure.series.map((series) => {
    const points = series.samples.map(({ x, y, low, high, least = low, most = high }) => {
      if (series.form !== "area") return { x, y, low, high, least, most };
      const below = ground.get(x) ?? 0;
      ground.set(x, below + y);
      return { x, y, low: below, high: below + y, least: below, most: below + y };
    });
    return { name: series.name, form: series.form, color: series.color % COLORS, sign: series.sign ?? "", over: series.over === true, nth: standing(series) ? count++ : 0, points };
  });
  // Adjacent series are centred at their position.
  all.forEach((series) => (series.nth -= (count - 1) / 2));
  return all;
}

/** Whether series of a form are drawn side by side. @param {{form: import("./figure.js").Form}} series */
export function standing({ form }) {
  return form === "bars" || form === "falls" || form === "boxes" || form === "whiskers";
}

/** Points without gaps between them. @param {Place[]} points @param {boolean} time */
function runs(points, time) {
  if (!time) return points.length > 0 ? [points] : [];
  const gaps = points.slice(1).map((point, n) => point.x - points[n].x).sort((a, b) => a - b);
  const most = (gaps[Math.floor(gaps.length / 2)] ?? 1) * GAP;
  /** @type {Place[][]} */
  const all = [];
  points.forEach((point, n) => {
    if (n === 0 || point.x - points[n - 1].x > most) all.push([]);
    all[all.length - 1].push(point);
  });
  return all;
}

/** @param {Field} field @param {Drawn} series */
function lines({ x, y, time }, series) {
  const look = `c${series.color}${series.over ? " over" : ""}`;
  const point = (/** @type {number} */ across, /** @type {number} */ up) => `${x.at(across).toFixed(1)},${y.at(up).toFixed(1)}`;
  const parts = [];
  for (const run of runs(series.points, time)) {
    const top = run.map((p) => point(p.x, p.high)).join(" ");
    const bottom = run.map((p) => point(p.x, p.low)).reverse().join(" ");
    if (series.form === "band" || series.form === "area") parts.push(s("polygon", { class: `${series.form} ${look}`, points: `${top} ${bottom}` }));
    const line = series.form === "area" ? top : run.map((p) => point(p.x, p.y)).join(" ");
    parts.push(s("polyline", { class: `line ${look}${series.form === "guide" ? " guide" : ""}`, points: line }));
    const dots = series.form === "band" && !time ? run : run.length === 1 ? run : [];
    for (const p of dots) parts.push(s("circle", { class: `dot ${look}`, cx: x.at(p.x), cy: y.at(series.form === "area" ? p.high : p.y), r: 2.5 }));
  }
  return parts;
}

/** @param {Field} field @param {Drawn} series */
function steps({ x, y }, series) {
  let path = "";
  series.points.forEach((p, n) => {
    const [across, up] = [x.at(p.x).toFixed(1), y.at(p.y).toFixed(1)];
    path += n === 0 ? `M${across} ${y.from}V${up}` : `H${across}V${up}`;
  });
  return [s("path", { class: `line c${series.color}${series.over ? " over" : ""}`, d: path })];
}

/** A vertical line between two values, with caps. @param {Field} field @param {number} at @param {number} low @param {number} high @param {string} look */
function whisker({ y }, at, low, high, look) {
  const [a, b] = [y.at(low).toFixed(1), y.at(high).toFixed(1)];
  const [left, right] = [(at - 4).toFixed(1), (at + 4).toFixed(1)];
  return s("path", { class: `whisker ${look}`, d: `M${left} ${a}H${right}M${left} ${b}H${right}M${at.toFixed(1)} ${a}V${b}` });
}

/** @param {Field} field @param {Drawn} series */
function upright(field, series) {
  const { x, y, wide } = field;
  const look = `c${series.color}${series.over ? " over" : ""}`;
  return series.points.flatMap((p) => {
    const at = x.at(p.x) + series.nth * field.one;
    const bar = (/** @type {number} */ a, /** @type {number} */ b) =>
      s("rect", { class: `bar ${look}`, x: (at - wide / 2).toFixed(1), width: wide.toFixed(1), y: Math.min(a, b).toFixed(1), height: Math.max(Math.abs(a - b), 0.5).toFixed(1) });
    if (series.form === "bars") {
      const ground = y.kind === "log" ? y.from : y.at(Math.min(Math.max(0, y.low), y.high));
      return [bar(y.at(p.y), ground), p.high > p.low && whisker(field, at, p.low, p.high, "ink")];
    }
    if (series.form === "falls") return [bar(y.at(p.low), y.at(p.high))];
    if (series.form === "boxes") {
      const middle = s("line", { class: "middle", x1: at - wide / 2, x2: at + wide / 2, y1: y.at(p.y), y2: y.at(p.y) });
      return [whisker(field, at, p.least, p.most, look), bar(y.at(p.low), y.at(p.high)), middle];
    }
    const dot = s("circle", { class: `dot ${look}`, cx: at.toFixed(1), cy: y.at(p.y).toFixed(1), r: 3.2 });
    return [p.high > p.low && whisker(field, at, p.low, p.high, look), dot];
  }).filter((it) => it !== false);
}

/** @param {Field} field @param {Drawn} series */
function trials({ x, y }, series) {
  const look = `trial c${series.color}${series.sign.includes("full") ? " full" : ""}`;
  return series.points.map((p) => {
    const [a, b] = [x.at(p.x), y.at(p.y)];
    if (series.sign.startsWith("pass")) return s("circle", { class: look, cx: a.toFixed(1), cy: b.toFixed(1), r: 4 });
    const d = series.sign.startsWith("fail") ? `M${a - 4} ${b - 4}l8 8M${a - 4} ${b + 4}l8 -8` : `M${a} ${b - 5}l5 9h-10z`;
    return s("path", { class: look, d });
  });
}

/** @param {Field} field @param {Drawn} series */
function cells({ x, y, range: [least, most] }, series) {
  const [wide, high] = [Math.abs(x.at(1) - x.at(0)), Math.abs(y.at(1) - y.at(0))];
  return series.points.flatMap((p) => {
    const step = most > least ? Math.min(STEPS - 1, Math.floor(((p.y - least) / (most - least)) * STEPS)) : 3;
    const [a, b] = [x.at(p.x), y.at(p.low)];
    const box = s("rect", { class: `cell heat${step}`, x: (a - wide / 2 + 1).toFixed(1), y: (b - high / 2 + 1).toFixed(1), width: Math.max(wide - 2, 1).toFixed(1), height: Math.max(high - 2, 1).toFixed(1) });
    const text = exact(p.y);
    const fits = text.length * 7 + 6 < wide && high > 15;
    return fits ? [box, s("text", { class: "tick value", x: a.toFixed(1), y: b.toFixed(1), dy: "0.32em", "text-anchor": "middle" }, text)] : [box];
  });
}

/** A series in its plot area. @param {Field} field @param {Drawn} series @returns {SVGElement[]} */
export function shapes(field, series) {
  switch (series.form) {
    case "cells": return cells(field, series);
    case "trials": return trials(field, series);
    case "steps": return steps(field, series);
    case "bars": case "falls": case "boxes": case "whiskers": return upright(field, series);
    case "dots": return series.points.map((p) => s("circle", { class: "faint", cx: field.x.at(p.x).toFixed(1), cy: field.y.at(p.y).toFixed(1), r: 2.2 }));
    default: return lines(field, series);
  }
}

/** The steps of a scale as text. @param {(step: number) => string} name least value of a step */
export function key(name) {
  const steps = Array.from({ length: STEPS }, (_, n) => h("li", { class: `heat${n}` }, h("i"), name(n)));
  return h("ul", { class: "legend scale", "aria-hidden": "true" }, ...steps);
}
