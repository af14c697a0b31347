// Heat maps on a canvas: values by time and row, and a map with a cell per node.
import { h, put, seen, set, tell } from "./dom.js";
import { clock, show } from "./figure.js";
import { key, STEPS } from "./forms.js";
import { behind } from "./table.js";
import { whole } from "./turns.js";

/** @typedef {import("./figure.js").Figure} Figure */

/** Resolved colours, by theme and name. @type {Map<string, string>} */
const known = new Map();

/** The current value of a colour of page.css. @param {string} name @returns {string} */
export function color(name) {
  const key = `${document.documentElement.dataset.theme} ${name}`;
  const found = known.get(key) || getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  known.set(key, found);
  return found;
}

/** The scale, from the smallest value. @returns {string[]} */
export function scale() {
  return Array.from({ length: STEPS }, (_, n) => color(`--heat${n}`));
}

/** A canvas with the resolution of the screen. @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
export function sized(canvas, width, height) {
  const dense = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * dense) || canvas.height !== Math.round(height * dense)) {
    canvas.width = Math.round(width * dense);
    canvas.height = Math.round(height * dense);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pen.setTransform(dense, 0, 0, dense, 0, 0);
  return pen;
}

const LEFT = 132, BOTTOM = 22, ROW_MIN = 6, ROW_MAX = 18, HEIGHT_MAX = 420, NAME_MAX = 21;
/** Number of rows drawn between two checks of the clock. */
const ABREAST = 8;

/** A name shortened to the space next to its row. @param {string} name */
function short(name) {
  const signs = [...seen(name)];
  return signs.length > NAME_MAX ? `${signs.slice(0, NAME_MAX - 1).join("")}…` : signs.join("");
}

/** Values by time and row: the figure's `series` are the rows, their `y` selects the colour. */
export class Heat {
  /** @param {{steps: number[], span?: number}} options the least value of each step, and the seconds shown at least */
  constructor({ steps, span = 60 }) {
    this.steps = steps;
    this.span = span;
    /** Height of a row, width of a second, and the first second. */
    this.row = 1;
    this.cell = 1;
    this.from = 0;
    /** @type {Figure | null} */
    this.figure = null;
    this.title = h("figcaption", { class: "title" });
    this.canvas = h("canvas", { role: "img" });
    /** Drawn in slices, and shown when complete. */
    this.next = h("canvas");
    this.width = 0;
    this.readout = h("p", { class: "readout", "aria-live": "polite" });
    this.note = h("p", { class: "soft caption" });
    this.details = behind(() => this.figure);
    this.legend = h("div");
    this.box = h("div", { class: "canvas" }, this.canvas, this.readout);
    this.element = h("figure", { class: "chart" }, this.title, this.legend, this.box, this.note, this.details);
    this.canvas.addEventListener("pointermove", (event) => this.look(event));
    this.canvas.addEventListener("pointerleave", () => this.readout.classList.remove("on"));
    new ResizeObserver(() => {
      this.width = this.box.clientWidth;
      if (this.figure) this.draw(this.figure);
    }).observe(this.box);
  }

  /** @param {number} value */
  step(value) {
    let step = 0;
    while (step + 1 < this.steps.length && value >= this.steps[step + 1]) step += 1;
    return step;
  }

  /** @param {Figure} figure */
  draw(figure) {
    whole(this.drawing(figure));
  }

  /** Runs in slices (see `Turns`). @param {Figure} figure @returns {Generator<void>} */
  *drawing(figure) {
    this.figure = figure;
    tell(this.title, figure.title);
    tell(this.note, figure.missing || figure.caption);
    set(this.canvas, { "aria-label": `${figure.title}. ${figure.caption} The table below has the values.` });
    this.details.refresh();
    this.box.hidden = this.legend.hidden = figure.missing !== "" || figure.series.length === 0;
    this.width ||= this.box.clientWidth;
    const { width } = this;
    if (this.box.hidden || width === 0) return;
    if (!this.legend.firstChild) {
      put(this.legend, key((n) => (n === 0 ? `< ${show(this.steps[1], figure.unit)}` : `≥ ${show(this.steps[n], figure.unit)}`)));
    }
    const rows = figure.series;
    this.row = Math.max(ROW_MIN, Math.min(ROW_MAX, HEIGHT_MAX / rows.length));
    const height = rows.length * this.row + BOTTOM;
    const pen = sized(this.next, width, height);
    pen.clearRect(0, 0, width, height);
    let to = 0, from = Infinity;
    for (const row of rows) {
      from = Math.min(from, row.samples[0]?.x ?? Infinity);
      to = Math.max(to, row.samples[row.samples.length - 1]?.x ?? 0);
    }
    this.from = Math.min(from, to - this.span);
    this.cell = (width - LEFT) / (to - this.from + 1);
    const colors = scale();
    for (const [n, row] of rows.entries()) {
      if (n % ABREAST === 0) yield;
      for (const { x, y } of row.samples) {
        pen.fillStyle = colors[this.step(y)];
        pen.fillRect(LEFT + (x - this.from) * this.cell, n * this.row, Math.max(this.cell - 0.5, 1), Math.max(this.row - 1, 1));
      }
    }
    yield;
    this.words(pen, rows, to, width, height);
    const front = sized(this.canvas, width, height);
    front.clearRect(0, 0, width, height);
    front.drawImage(this.next, 0, 0, width, height);
  }

  /** @param {CanvasRenderingContext2D} pen @param {Figure["series"]} rows @param {number} to @param {number} width @param {number} height */
  words(pen, rows, to, width, height) {
    pen.fillStyle = color("--soft");
    pen.font = `11px ${color("--font")}`;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    const every = Math.ceil(15 / this.row);
    rows.forEach((row, n) => n % every === 0 && pen.fillText(short(row.name), LEFT - 8, Math.max((n + 0.5) * this.row, 6), LEFT - 12));
    pen.textAlign = "center";
    const step = Math.max(10, Math.ceil((to - this.from) / Math.max(1, (width - LEFT) / 90) / 10) * 10);
    for (let t = Math.ceil(this.from / step) * step; t <= to; t += step) {
      const at = LEFT + (t - this.from + 0.5) * this.cell;
      if (at > LEFT + 20 && at < width - 26) pen.fillText(clock(t), at, height - 9);
    }
  }

  /** @param {any} event */
  look(event) {
    if (!this.figure) return;
    const row = this.figure.series[Math.floor(event.offsetY / this.row)];
    const x = this.from + Math.floor((event.offsetX - LEFT) / this.cell);
    const sample = row?.samples.find((it) => it.x === x);
    this.readout.classList.toggle("on", !!sample);
    if (!sample) return;
    tell(this.readout, `${row.name}\n${clock(x)}\n${show(sample.y, this.figure.unit)}`);
    const width = this.box.clientWidth;
    const right = event.offsetX > width / 2;
    this.readout.style.left = right ? "auto" : `${event.offsetX + 12}px`;
    this.readout.style.right = right ? `${width - event.offsetX + 12}px` : "auto";
  }
}
