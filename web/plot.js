// A figure as SVG: lines, bands and areas; what lies under the pointer or the arrow keys in words; its table behind it.
import { h, put, s, tell } from "./dom.js";
import { clock, show, ticks, timeTicks } from "./figure.js";
import { behind } from "./table.js";

/** @typedef {import("./figure.js").Figure} Figure */
/** @typedef {import("./figure.js").Series} Series */
/** @typedef {{name: string, form: string, color: number, points: {x: number, y: number, low: number, high: number}[]}} Drawn */

const LEFT = 62, RIGHT = 14, TOP = 10, BOTTOM = 26;
/** Colours of the palette, page.css. */
export const COLORS = 8;
/** A line is interrupted where nothing came for so many times the usual. */
const GAP = 3.5;

/** Series as they lie: areas stand on each other. @param {Figure} figure @returns {Drawn[]} */
function laid(figure) {
  /** @type {Map<number, number>} */
  const ground = new Map();
  return figure.series.map((series) => {
    const points = series.samples.map(({ x, y, low, high }) => {
      if (series.form !== "area") return { x, y, low, high };
      const below = ground.get(x) ?? 0;
      ground.set(x, below + y);
      return { x, y, low: below, high: below + y };
    });
    return { name: series.name, form: series.form, color: series.color % COLORS, points };
  });
}

/** Points without holes between them. @param {Drawn["points"]} points @returns {Drawn["points"][]} */
function runs(points) {
  const gaps = points.slice(1).map((point, n) => point.x - points[n].x).sort((a, b) => a - b);
  const most = (gaps[Math.floor(gaps.length / 2)] ?? 1) * GAP;
  /** @type {Drawn["points"][]} */
  const all = [];
  points.forEach((point, n) => {
    if (n === 0 || point.x - points[n - 1].x > most) all.push([]);
    all[all.length - 1].push(point);
  });
  return all;
}

export class Plot {
  /**
   * @param {{height?: number, small?: boolean, span?: number}} [options] `span`: seconds that a time axis shows at least
   */
  constructor({ height = 220, small = false, span = 60 } = {}) {
    this.height = height;
    this.span = span;
    this.title = h("figcaption", { class: "title" });
    this.svg = s("svg", { class: "plot", role: "img", tabindex: 0, height });
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
    /** @type {number[]} */
    this.yTicks = [];
    this.low = 0;
    this.high = 1;
    this.from = 0;
    this.to = 1;
    /** @type {SVGElement | null} */
    this.cross = null;
    this.svg.addEventListener("pointermove", (event) => this.point(event));
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
    this.figure = figure;
    this.width = this.box.clientWidth;
    tell(this.title, figure.title);
    tell(this.note, figure.missing || figure.caption);
    this.svg.setAttribute("aria-label", `${figure.title}. ${figure.caption} Arrow keys read values; the table below has all.`);
    this.details.refresh();
    this.drawn = laid(figure);
    const empty = figure.missing !== "" || this.drawn.every((series) => series.points.length === 0);
    this.box.hidden = empty;
    this.legend.hidden = empty || this.drawn.length < 2;
    if (empty || this.width === 0) {
      if (!figure.missing && empty) tell(this.note, "Nothing has come yet.");
      return;
    }
    this.scale();
    put(this.legend, ...this.drawn.map((series) => h("li", { class: `c${series.color}` }, h("i"), series.name)));
    this.paint();
  }

  scale() {
    const figure = /** @type {Figure} */ (this.figure);
    const points = this.drawn.flatMap((series) => series.points);
    let [low, high] = [Infinity, -Infinity];
    let [from, to] = [Infinity, -Infinity];
    for (const point of points) {
      low = Math.min(low, point.low, point.y);
      high = Math.max(high, point.high);
      from = Math.min(from, point.x);
      to = Math.max(to, point.x);
    }
    if (figure.x === "time") from = Math.min(from, to - this.span);
    if (figure.zero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
    if (high - low < 1e-9) [low, high] = figure.zero && high === 0 ? [0, 1] : [low - Math.abs(low) * 0.1 - (figure.zero ? 0 : 0.5), high * 1.1 + (figure.zero ? 0 : 0.5)];
    if (figure.zero && low > 0) low = 0;
    this.yTicks = ticks(low, high, Math.max(2, Math.round((this.height - TOP - BOTTOM) / 42)));
    const step = this.yTicks.length > 1 ? this.yTicks[1] - this.yTicks[0] : 0;
    const last = this.yTicks[this.yTicks.length - 1];
    // The axis ends at a mark.
    if (step && last < high - step * 1e-6) this.yTicks.push(last + step);
    this.low = Math.min(low, this.yTicks[0]);
    this.high = Math.max(high, this.yTicks[this.yTicks.length - 1]);
    this.from = from;
    this.to = to > from ? to : from + 1;
  }

  /** @param {number} x */
  across(x) {
    return LEFT + ((x - this.from) / (this.to - this.from)) * (this.width - LEFT - RIGHT);
  }

  /** @param {number} y */
  up(y) {
    return TOP + (1 - (y - this.low) / (this.high - this.low)) * (this.height - TOP - BOTTOM);
  }

  paint() {
    const figure = /** @type {Figure} */ (this.figure);
    const { width, height } = this;
    const parts = [];
    for (const y of this.yTicks) {
      const at = this.up(y).toFixed(1);
      parts.push(s("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: at, y2: at }));
      parts.push(s("text", { class: "tick", x: LEFT - 8, y: at, dy: "0.32em", "text-anchor": "end" }, show(y, figure.unit)));
    }
    const count = Math.max(2, Math.floor((width - LEFT) / 90));
    for (const x of figure.x === "time" ? timeTicks(this.from, this.to, count) : ticks(this.from, this.to, count)) {
      const at = this.across(x);
      if (at > width - RIGHT - 20 || at < LEFT + 14) continue;
      parts.push(s("text", { class: "tick", x: at.toFixed(1), y: height - 7, "text-anchor": "middle" }, figure.x === "time" ? clock(x) : show(x)));
    }
    const point = (/** @type {number} */ x, /** @type {number} */ y) => `${this.across(x).toFixed(1)},${this.up(y).toFixed(1)}`;
    for (const series of this.drawn) {
      for (const run of runs(series.points)) {
        const top = run.map((p) => point(p.x, p.high)).join(" ");
        const bottom = run.map((p) => point(p.x, p.low)).reverse().join(" ");
        if (series.form === "band") parts.push(s("polygon", { class: `band c${series.color}`, points: `${top} ${bottom}` }));
        if (series.form === "area") parts.push(s("polygon", { class: `area c${series.color}`, points: `${top} ${bottom}` }));
        const line = series.form === "area" ? top : run.map((p) => point(p.x, p.y)).join(" ");
        parts.push(s("polyline", { class: `line c${series.color}`, points: line }));
        if (run.length === 1) parts.push(s("circle", { class: `dot c${series.color}`, cx: this.across(run[0].x), cy: this.up(series.form === "area" ? run[0].high : run[0].y), r: 2.5 }));
      }
    }
    for (const mark of figure.marks) {
      if (mark.x < this.from || mark.x > this.to) continue;
      const at = this.across(mark.x);
      const right = at > width - 120;
      parts.push(s("line", { class: "mark", x1: at, x2: at, y1: TOP, y2: height - BOTTOM }));
      parts.push(s("text", { class: "tick", x: right ? at - 4 : at + 4, y: TOP + 10, "text-anchor": right ? "end" : "start" }, mark.name));
    }
    this.cross = s("line", { class: "cross", y1: TOP, y2: height - BOTTOM });
    put(this.svg, ...parts, this.cross);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("width", String(width));
    this.look(this.at);
  }

  /** All places across at which there is something. */
  places() {
    const all = new Set(this.drawn.flatMap((series) => series.points.map((point) => point.x)));
    return [...all].sort((a, b) => a - b);
  }

  /** @param {any} event */
  point(event) {
    const box = this.svg.getBoundingClientRect();
    const x = this.from + ((event.clientX - box.left - LEFT) / (this.width - LEFT - RIGHT)) * (this.to - this.from);
    const near = this.places().reduce((best, place) => (Math.abs(place - x) < Math.abs(best - x) ? place : best), Infinity);
    this.look(Number.isFinite(near) ? near : null);
  }

  /** @param {any} event */
  step(event) {
    const places = this.places();
    const here = this.at === null ? places.length : places.findIndex((place) => place >= /** @type {number} */ (this.at));
    const next = /** @type {Record<string, number>} */ ({ ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: places.length - 1 })[event.key];
    if (event.key === "Escape") this.look(null);
    if (next === undefined || places.length === 0) return;
    event.preventDefault();
    this.look(places[Math.min(Math.max(next, 0), places.length - 1)]);
  }

  /** Says what is at a place. @param {number | null} x */
  look(x) {
    this.at = x;
    const figure = this.figure;
    const visible = x !== null && figure && x >= this.from && x <= this.to;
    this.cross?.classList.toggle("on", !!visible);
    this.readout.classList.toggle("on", !!visible);
    if (!visible || x === null || !figure) return tell(this.readout, "");
    const at = this.across(x);
    this.cross?.setAttribute("x1", String(at));
    this.cross?.setAttribute("x2", String(at));
    const values = this.drawn.flatMap((series) => {
      const point = series.points.find((p) => p.x === x);
      if (!point) return [];
      const range = series.form === "band" && point.high > point.low ? ` (${show(point.low, figure.unit)} to ${show(point.high, figure.unit)})` : "";
      return [`${this.drawn.length > 1 ? `${series.name}: ` : ""}${show(point.y, figure.unit)}${range}`];
    });
    tell(this.readout, [figure.x === "time" ? clock(x) : show(x), ...values].join("\n"));
    this.readout.style.left = at > this.width / 2 ? "auto" : `${at + 10}px`;
    this.readout.style.right = at > this.width / 2 ? `${this.width - at + 10}px` : "auto";
  }
}
