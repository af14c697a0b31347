// A figure as SVG: values at the pointer or arrow keys as text, zoom, and a table of its data.
import { h, keep, put, s, set, tell } from "./dom.js";
import { exact, place, ranged, say, told } from "./figure.js";
import { key, laid, shapes, standing, STEPS } from "./forms.js";
import { edges, Scale } from "./scale.js";
import { behind } from "./table.js";

/** @typedef {import("./figure.js").Figure} Figure */
/** @typedef {import("./forms.js").Drawn} Drawn */

const LEFT = 62, RIGHT = 14, TOP = 10, BOTTOM = 26, LABEL = 18, NAME_MAX = 20, BAR_MAX = 46;
/** Width of a character of a name, in pixels. */
const SIGN = 6.6;
/** Distance after which a pointer selects a range, in pixels. */
const DRAG = 8;

/** @param {string} name */
function cut(name) {
  const signs = [...name];
  return signs.length > NAME_MAX ? `${signs.slice(0, NAME_MAX - 1).join("")}…` : name;
}

export class Plot {
  /**
   * @param {{height?: number, small?: boolean, span?: number, labels?: boolean}} [options] `span`: seconds that a time axis shows at
   *   least; `labels`: axes are named, and pointer and keys may choose a part
   */
  constructor({ height = 220, small = false, span = 60, labels = false } = {}) {
    this.height = height;
    this.span = span;
    this.labels = labels;
    this.title = h("figcaption", { class: "title" });
    this.svg = s("svg", { class: labels ? "plot report" : "plot", role: "img", tabindex: 0 });
    this.legend = h("ul", { class: "legend", "aria-hidden": "true" });
    this.readout = h("p", { class: "readout", "aria-live": "polite" });
    this.note = h("p", { class: "soft caption" });
    this.details = behind(() => this.figure);
    this.box = h("div", { class: "canvas" }, this.svg, this.readout);
    this.element = h("figure", { class: small ? "chart small" : "chart" }, this.title, this.legend, this.box, this.note, this.details);
    /** @type {Figure | null} */
    this.figure = null;
    /** @type {Drawn[]} */
    this.drawn = [];
    /** @type {number | null} */
    this.at = null;
    this.width = 0;
    /** The shown horizontal range; `null`: all. @type {[number, number] | null} */
    this.part = null;
    /** Axes selected by the user instead of the figure's own. @type {{x?: boolean, y?: boolean}} */
    this.log = {};
    this.x = new Scale("linear", 0, 1, 0, 1);
    this.y = new Scale("linear", 0, 1, 0, 1);
    /** @type {number[]} */
    this.yMarks = [];
    this.slanted = false;
    this.field = { left: LEFT, right: 0, top: TOP, bottom: 0 };
    /** @type {SVGElement | null} */
    this.cross = null;
    /** @type {SVGElement | null} */
    this.chosen = null;
    /** Position at which the pointer was pressed. @type {number | null} */
    this.down = null;
    /** Name of saved files. */
    this.name = "figure";
    /** Elements that are drawn once the layout is known. @type {Figure | null} */
    this.next = null;
    /** Called when the shown range has changed. */
    this.changed = () => {};
    this.svg.addEventListener("pointerdown", (event) => this.press(event));
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerup", (event) => this.release(event));
    this.svg.addEventListener("pointerleave", () => this.look(null));
    this.svg.addEventListener("blur", () => this.look(null));
    this.svg.addEventListener("keydown", (event) => this.step(event));
    new ResizeObserver(() => this.resized()).observe(this.box);
  }

  resized() {
    const width = this.box.clientWidth;
    if (width !== this.width && this.figure) {
      this.width = width;
      this.draw(this.figure);
    }
  }

  /** @param {Figure} figure */
  draw(figure) {
    figure = { ...figure, log_x: this.log.x ?? figure.log_x, log_y: this.log.y ?? figure.log_y };
    this.figure = figure;
    // Later widths are reported by an observer: reading the width while writing would force a layout.
    this.width ||= this.box.clientWidth;
    tell(this.title, figure.title);
    tell(this.note, figure.missing || figure.caption);
    const keys = this.labels ? "Arrow keys read values, plus and minus zoom, 0 shows all" : "Arrow keys read values";
    set(this.svg, { "aria-label": `${figure.title}. ${figure.caption} ${keys}; the table below has all values.` });
    this.details.refresh();
    this.drawn = laid(figure);
    const empty = figure.missing !== "" || this.drawn.every((series) => series.points.length === 0);
    this.svg.toggleAttribute("hidden", empty);
    if (empty) {
      this.legend.hidden = true;
      if (!figure.missing) tell(this.note, "No data yet.");
      return;
    }
    if (this.width === 0) return;
    this.tellLegend(figure);
    this.scale();
    this.paint();
    this.changed();
  }

  /** @param {Figure} figure */
  tellLegend(figure) {
    const named = this.drawn.filter(({ form }) => form !== "dots" && form !== "guide" && form !== "cells");
    const met = new Set();
    const first = named.filter((it) => {
      const sign = `${it.color} ${it.form === "trials" ? it.sign : ""} ${it.over}`;
      return !this.labels || (!met.has(sign) && met.add(sign));
    });
    const signs = first.map((it) => h("li", { class: `c${it.color}${it.over ? " over" : ""}` }, it.form === "trials" ? h("b", {}, TRIALS[it.sign.split(" ")[0]]) : h("i"), it.name));
    const expected = [true, false].filter((published) => figure.expected.some((it) => it.published === published))
      .map((published) => h("li", {}, h("b", {}, published ? "✕" : "◇"), published ? "published" : "expected"));
    const all = signs.length + expected.length > 1 || expected.length > 0 ? [...signs, ...expected] : [];
    this.legend.hidden = all.length === 0 && figure.rows.length === 0;
    if (figure.rows.length === 0) keep(this.legend, all);
    if (figure.rows.length > 0) {
      const [least, most] = this.heat();
      put(this.legend, h("li", {}, figure.series[0].name), ...key((n) => exact(least + ((most - least) * n) / STEPS)).children);
    }
    this.legend.classList.toggle("scale", figure.rows.length > 0);
  }

  /** Smallest and largest value of the cells. @returns {[number, number]} */
  heat() {
    const values = this.drawn.flatMap((series) => series.points.map((point) => point.y));
    return [Math.min(...values), Math.max(...values)];
  }

  /** Horizontal positions as numbers, if possible. @param {"x" | "y"} axis */
  positive(axis) {
    return this.drawn.every((series) => series.points.every((point) => point[axis] > 0));
  }

  /** The layout of the plot area. */
  scale() {
    const figure = /** @type {Figure} */ (this.figure);
    const names = figure.x === "names";
    const room = names ? this.naming(figure) : 0;
    const label = this.labels ? LABEL : 0;
    const longest = Math.max(0, ...figure.rows.map((row) => cut(row).length * SIGN + 16));
    this.field = { left: Math.max(LEFT, Math.min(longest, this.width / 3)), right: this.width - RIGHT, top: TOP + label, bottom: this.height - BOTTOM - label - room };
    const { left, right, top, bottom } = this.field;
    const points = this.drawn.flatMap((series) => series.points);
    let [from, to] = [Infinity, -Infinity];
    for (const { x } of points) [from, to] = [Math.min(from, x), Math.max(to, x)];
    if (names) [from, to] = [-0.5, figure.names.length - 0.5];
    if (figure.x === "time") from = Math.min(from, to - this.span);
    const log = figure.log_x && figure.x === "numbers" && this.positive("x");
    if (figure.x === "numbers" && figure.zero_x && !log && !this.part) [from, to] = [Math.min(from, 0), Math.max(to, 0)];
    if (figure.answer && !this.part) [from, to] = [Math.min(from, figure.answer.interval[0]), Math.max(to, figure.answer.interval[1])];
    if (log && from === to) [from, to] = [from / 2, to * 2];
    if (this.part) [from, to] = this.part;
    this.x = new Scale(names ? "names" : figure.x === "time" ? "time" : log ? "log" : "linear", from, to, left, right);
    if (figure.rows.length > 0) {
      this.y = new Scale("names", figure.rows.length - 0.5, -0.5, bottom, top);
      this.y.high = -0.5;
      this.yMarks = figure.rows.map((_, n) => n);
      return;
    }
    this.upwards(figure);
  }

  /** @param {Figure} figure */
  upwards(figure) {
    const log = figure.log_y && this.drawn.some((series) => series.points.some((point) => point.y > 0));
    let [low, high] = [Infinity, -Infinity];
    const reach = (/** @type {number} */ value) => {
      if (!Number.isFinite(value) || (log && value <= 0)) return;
      [low, high] = [Math.min(low, value), Math.max(high, value)];
    };
    for (const series of this.drawn) {
      series.points.forEach((point, n) => {
        // Neighbours of the visible points, for lines that leave the range.
        const near = [series.points[n - 1], point, series.points[n + 1]].some((it) => it && it.x >= this.x.low && it.x <= this.x.high);
        if (!near) return;
        reach(point.y);
        if (ranged(series) || series.form === "area") [point.low, point.high].forEach(reach);
        if (series.form === "boxes") [point.least, point.most].forEach(reach);
      });
    }
    for (const it of figure.expected) if (it.x >= this.x.low && it.x <= this.x.high) reach(it.y);
    for (const it of figure.bounds) reach(it.y);
    [low, high] = edges(low, high, log, figure.zero);
    const { top, bottom } = this.field;
    const count = Math.max(2, Math.round((bottom - top) / 42));
    ({ scale: this.y, marks: this.yMarks } = new Scale(log ? "log" : "linear", low, high, bottom, top).rounded(count));
  }

  /** Additional pixels at the bottom, if names do not fit side by side. @param {Figure} figure */
  naming(figure) {
    const slot = (this.width - LEFT - RIGHT) / Math.max(1, figure.names.length);
    const longest = Math.max(...figure.names.map((name) => cut(name).length), 1) * SIGN;
    this.slanted = longest + 6 > slot;
    return this.slanted ? Math.min(longest * 0.6, 84) : 0;
  }

  /** Distance between adjacent series and width of each, in pixels. */
  slots() {
    const slot = this.x.kind === "names" ? Math.abs(this.x.at(1) - this.x.at(0)) * 0.76 : 0;
    const one = slot / Math.max(1, this.drawn.filter(standing).length);
    return { one, wide: slot > 0 ? Math.min(one * 0.9, BAR_MAX) : 14 };
  }

  paint() {
    const figure = /** @type {Figure} */ (this.figure);
    const { left, right, top, bottom } = this.field;
    const range = figure.rows.length > 0 ? this.heat() : /** @type {[number, number]} */ ([0, 0]);
    const field = { x: this.x, y: this.y, time: figure.x === "time", range, ...this.slots() };
    const [log, across, least] = [this.y.kind === "log", this.x.kind === "log", this.y.low];
    const drawn = this.drawn.map((series) => {
      const seen = series.points.filter((p) => (!log || p.y > 0) && (!across || p.x > 0));
      return { ...series, points: log ? seen.map((p) => ({ ...p, low: Math.max(p.low, least), least: Math.max(p.least, least) })) : seen };
    });
    // Elements beyond the edges are clipped, except symbols on the edge.
    const pad = 6;
    const box = { x: left - pad, y: top - pad, width: right - left + 2 * pad, height: bottom - top + 2 * pad };
    const inside = s("svg", { ...box, viewBox: `${box.x} ${box.y} ${box.width} ${box.height}` }, ...drawn.flatMap((series) => shapes(field, series)), ...this.expectations(figure));
    this.cross = s("line", { class: "cross", y1: top, y2: bottom });
    this.chosen = s("rect", { class: "chosen", y: top, height: bottom - top, x: left, width: 0 });
    put(this.svg, ...this.frame(figure), inside, ...this.lines(figure), this.cross, this.chosen);
    set(this.svg, { viewBox: `0 0 ${this.width} ${this.height}`, width: this.width, height: this.height });
    this.look(this.at);
  }

  /** Marks of the axes and their labels. @param {Figure} figure */
  frame(figure) {
    const { left, right, bottom } = this.field;
    const parts = [];
    const text = (/** @type {Record<string, string | number>} */ where, /** @type {string} */ words) => s("text", { class: "tick", ...where }, words);
    for (const y of this.yMarks) {
      const at = this.y.at(y).toFixed(1);
      const name = figure.rows.length > 0 ? cut(figure.rows[y]) : this.y.name(y, figure.unit);
      if (figure.rows.length === 0) parts.push(s("line", { class: "grid", x1: left, x2: right, y1: at, y2: at }));
      parts.push(text({ x: left - 8, y: at, dy: "0.32em", "text-anchor": "end" }, name));
    }
    const count = Math.max(2, Math.floor((right - left) / 90));
    const names = figure.x === "names";
    const every = names ? Math.ceil((figure.names.length * 13) / Math.max(right - left, 1)) : 1;
    this.x.marks(count).forEach((x, n) => {
      const at = this.x.at(x);
      if (n % every !== 0 || at > right + 1 || at < left - 1) return;
      if (!this.labels && (at > right - 20 || at < left + 14)) return;
      const words = names ? cut(figure.names[x]) : this.x.name(x, "");
      if (names && this.slanted) parts.push(text({ "text-anchor": "end", transform: `translate(${at.toFixed(1)} ${bottom + 14}) rotate(-35)` }, words));
      else parts.push(text({ x: at.toFixed(1), y: bottom + 18, "text-anchor": "middle" }, words));
    });
    if (this.labels) {
      parts.push(text({ class: "tick label", x: Math.min(left, 8), y: 12 }, figure.y_label));
      parts.push(text({ class: "tick label", x: (left + right) / 2, y: this.height - 6, "text-anchor": "middle" }, figure.x_label));
    }
    return parts;
  }

  /** Expected single values. @param {Figure} figure */
  expectations(figure) {
    return figure.expected.filter((it) => this.y.kind !== "log" || it.y > 0).map((it) => {
      const [a, b] = [this.x.at(it.x), this.y.at(it.y)];
      const d = it.published ? `M${a - 5} ${b - 5}l10 10M${a - 5} ${b + 5}l10 -10` : `M${a} ${b - 6}l6 6l-6 6l-6 -6z`;
      return s("path", { class: `expected ${it.color === null ? "ink" : `c${it.color % 8}`}`, d });
    });
  }

  /** Lines across the plot: bounds, events, results of a search. @param {Figure} figure */
  lines(figure) {
    const { left, right, top, bottom } = this.field;
    const parts = [];
    /** @type {{x: number, y: number}[]} */
    const taken = [];
    for (const it of figure.bounds) {
      if (this.y.kind === "log" && it.y <= 0) continue;
      const at = this.y.at(it.y);
      if (at < top - 1 || at > bottom + 1) continue;
      parts.push(s("line", { class: `mark ${it.color === null ? "" : `c${it.color % 8}`}`, x1: left, x2: right, y1: at, y2: at }));
      // A position without another name.
      const all = [at - 5, at + 14].flatMap((y) => [{ x: right - 4, y, "text-anchor": "end" }, { x: left + 4, y, "text-anchor": "start" }]);
      const free = all.find((own) => own.y > top + 8 && taken.every((other) => other.x !== own.x || Math.abs(other.y - own.y) > 13)) ?? all[0];
      taken.push(free);
      parts.push(s("text", { class: "tick", ...free }, it.name));
    }
    const upwards = figure.answer ? [...figure.marks, figure.answer] : figure.marks;
    if (figure.answer) {
      const [a, b] = figure.answer.interval.map((it) => Math.min(right, Math.max(left, this.x.at(it))));
      parts.push(s("rect", { class: "found", x: a, width: Math.max(b - a, 0.5), y: top, height: bottom - top }));
    }
    for (const mark of upwards) {
      if (mark.x < this.x.low || mark.x > this.x.high) continue;
      const at = this.x.at(mark.x);
      const after = at > left + (right - left) * 0.6;
      parts.push(s("line", { class: "mark", x1: at, x2: at, y1: top, y2: bottom }));
      parts.push(s("text", { class: "tick", x: after ? at - 4 : at + 4, y: top + 10, "text-anchor": after ? "end" : "start" }, mark.name));
    }
    return parts;
  }

  /** All horizontal positions with values. */
  places() {
    const all = new Set(this.drawn.flatMap((series) => series.points.map((point) => point.x)));
    return [...all].filter((x) => x >= this.x.low && x <= this.x.high).sort((a, b) => a - b);
  }

  /** @param {any} event */
  pixel(event) {
    return event.clientX - this.svg.getBoundingClientRect().left;
  }

  /** @param {any} event */
  press(event) {
    if (this.labels && this.figure?.x !== "names" && event.button === 0 && event.pointerType !== "touch") this.down = this.pixel(event);
  }

  /** @param {any} event */
  point(event) {
    const at = this.pixel(event);
    const near = this.places().reduce((best, it) => (Math.abs(this.x.at(it) - at) < Math.abs(this.x.at(best) - at) ? it : best), Infinity);
    this.look(Number.isFinite(near) ? near : null);
    if (this.down === null) return;
    const [a, b] = [Math.min(this.down, at), Math.max(this.down, at)].map((it) => Math.min(Math.max(it, this.field.left), this.field.right));
    this.chosen?.setAttribute("x", String(a));
    this.chosen?.setAttribute("width", String(b - a > DRAG ? b - a : 0));
  }

  /** @param {any} event */
  release(event) {
    const [from, to] = [this.down, this.pixel(event)];
    this.down = null;
    if (from === null || Math.abs(to - from) <= DRAG) return;
    this.show(this.x.value(Math.min(from, to)), this.x.value(Math.max(from, to)));
  }

  /** Shows a horizontal range. @param {number} from @param {number} to */
  show(from, to) {
    if (!this.figure || this.figure.x === "names" || !(to > from)) return;
    this.part = [from, to];
    this.draw(this.figure);
  }

  /** Zooms in by a factor around the selected position; `0` shows all. @param {number} times */
  zoom(times) {
    if (!this.figure || this.figure.x === "names") return;
    const { left, right } = this.field;
    const middle = this.at === null ? (left + right) / 2 : this.x.at(this.at);
    const half = ((right - left) * times) / 2;
    this.part = times === 0 ? null : [this.x.value(Math.max(middle - half, times > 1 ? -Infinity : left)), this.x.value(Math.min(middle + half, times > 1 ? Infinity : right))];
    this.draw(this.figure);
  }

  /** @param {any} event */
  step(event) {
    const places = this.places();
    const here = this.at === null ? places.length : places.findIndex((it) => it >= /** @type {number} */ (this.at));
    const next = /** @type {Record<string, number>} */ ({ ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: places.length - 1 })[event.key];
    const times = /** @type {Record<string, number>} */ ({ "+": 0.5, "=": 0.5, "-": 2, 0: 0 })[event.key];
    if (event.key === "Escape") this.look(null);
    if (this.labels && times !== undefined && !event.ctrlKey && !event.metaKey) this.zoom(times);
    if (next === undefined || places.length === 0) return;
    event.preventDefault();
    this.look(places[Math.min(Math.max(next, 0), places.length - 1)]);
  }

  /** Shows the values at a position. @param {number | null} x */
  look(x) {
    this.at = x;
    const figure = this.figure;
    const visible = x !== null && figure && x >= this.x.low && x <= this.x.high;
    this.cross?.classList.toggle("on", !!visible);
    this.readout.classList.toggle("on", !!visible);
    if (!visible || x === null || !figure) return tell(this.readout, "");
    const at = this.x.at(x);
    this.cross?.setAttribute("x1", String(at));
    this.cross?.setAttribute("x2", String(at));
    const values = figure.series.flatMap((series) => series.samples.filter((it) => it.x === x).map((it) => {
      const name = figure.rows.length > 0 ? figure.rows[it.low] : series.name;
      return `${figure.series.length > 1 || figure.rows.length > 0 ? `${name}: ` : ""}${told(figure, series, it)}`;
    }));
    const expected = figure.expected.filter((it) => it.x === x).map((it) => `${it.published ? "published" : "expected"}: ${say(figure, it.y)}`);
    tell(this.readout, [place(figure, x), ...values, ...expected].slice(0, READ_MAX).join("\n"));
    this.readout.style.left = at > this.width / 2 ? "auto" : `${at + 10}px`;
    this.readout.style.right = at > this.width / 2 ? `${this.width - at + 10}px` : "auto";
  }
}

/** Maximum number of lines of values at a position. */
const READ_MAX = 14;
/** Symbols of a search's trials. @type {Record<string, string>} */
const TRIALS = { pass: "○", fail: "✕", unsent: "△" };
