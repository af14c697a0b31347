// The map: a cell per node, coloured by its state, for any number of nodes.
import { h, put, set, tell } from "./dom.js";
import { key } from "./forms.js";
import { color, scale, sized } from "./heat.js";
import { show } from "./figure.js";
import { STATES } from "./store.js";
import { whole } from "./turns.js";

/** @typedef {import("./store.js").NodeRow} NodeRow */

/**
 * Meanings of the colour of a cell: value, unit, and smallest value of each step.
 * @type {Record<string, {name: string, unit: string, steps: number[], of: (node: NodeRow) => number | null}>}
 */
const MEASURES = {
  rate: { name: "Reports per second", unit: "", steps: [0, 1, 10, 50, 100, 500, 1000], of: (node) => node.rate },
  delay: { name: "Delay of reports", unit: "us", steps: [0, 200, 500, 1e3, 5e3, 2e4, 1e5], of: (node) => node.delay },
  queued: { name: "Queued bytes", unit: "B", steps: [0, 1, 1e3, 1e4, 1e5, 1e6, 1e7], of: (node) => node.queued },
  requests: { name: "Pending requests", unit: "", steps: [0, 1, 2, 4, 8, 16, 32], of: (node) => node.requests },
};

const CELL_MAX = 26, CELL_MIN = 4, HEIGHT = 300;
/** Number of cells between two checks of the clock; value of a cell that is not drawn. */
const ABREAST = 256, UNDRAWN = 255;

export class NodeMap {
  /** @param {(node: NodeRow) => void} open */
  constructor(open) {
    /** @type {NodeRow[]} */
    this.nodes = [];
    this.measure = "state";
    this.size = CELL_MAX;
    this.columns = 1;
    const options = [["state", "State"], ...Object.entries(MEASURES).map(([id, it]) => [id, it.name])];
    this.select = h("select", { change: () => this.choose(this.select.value) }, ...options.map(([id, name]) => h("option", { value: id }, name)));
    this.tools = h("label", { class: "field" }, "Colour", this.select);
    this.canvas = h("canvas", { class: "map", role: "img" });
    this.readout = h("p", { class: "readout" });
    this.legend = h("div");
    this.box = h("div", { class: "canvas" }, this.canvas, this.readout);
    this.element = h("div", {}, this.legend, this.box);
    this.canvas.addEventListener("pointermove", (event) => this.look(event));
    this.canvas.addEventListener("pointerleave", () => this.readout.classList.remove("on"));
    this.canvas.addEventListener("click", (event) => {
      const node = this.under(event);
      if (node) open(node);
    });
    this.width = 0;
    /** Content of the canvas: the colour step of each cell, and the layout for which it is valid. */
    this.drawn = new Uint8Array();
    this.shown = "";
    new ResizeObserver(() => {
      this.width = this.box.clientWidth;
      this.draw(this.nodes);
    }).observe(this.box);
    this.choose("state");
  }

  /** @param {string} measure */
  choose(measure) {
    this.measure = measure;
    const it = MEASURES[measure];
    const name = (/** @type {number} */ n) => (n === 0 ? `< ${show(it.steps[1], it.unit)}` : `≥ ${show(it.steps[n], it.unit)}`);
    put(this.legend, it ? key(name) : h("ul", { class: "legend scale", "aria-hidden": "true" }, ...STATES.map((state, n) => h("li", { class: `s${n}` }, h("i"), state))));
    this.draw(this.nodes);
  }

  /** @param {NodeRow[]} nodes */
  draw(nodes) {
    whole(this.drawing(nodes));
  }

  /** Runs in slices (see `Turns`), and draws only cells whose colour has changed. @param {NodeRow[]} nodes @returns {Generator<void>} */
  *drawing(nodes) {
    this.nodes = nodes;
    this.width ||= this.box.clientWidth;
    const { width } = this;
    if (width === 0) return;
    let size = CELL_MAX;
    while (size > CELL_MIN && Math.ceil(nodes.length / Math.floor(width / size)) * size > HEIGHT) size -= 1;
    this.size = size;
    this.columns = Math.max(1, Math.floor(width / size));
    const height = Math.max(1, Math.ceil(nodes.length / this.columns)) * size;
    const pen = sized(this.canvas, width, height);
    const it = MEASURES[this.measure];
    const what = it ? it.name.toLowerCase() : "state";
    set(this.canvas, { "aria-label": `${nodes.length} base stations by ${what}. The list below has the same values.` });
    const colors = it ? [...scale(), color("--line")] : ["--line", "--idle", "--c2", "--bad"].map(color);
    const look = [width, size, nodes.length, devicePixelRatio, ...colors].join();
    if (look !== this.shown) {
      this.shown = look;
      this.drawn = new Uint8Array(nodes.length).fill(UNDRAWN);
      pen.clearRect(0, 0, width, height);
    }
    const { drawn, columns } = this;
    const gap = size > 8 ? 2 : 1;
    for (const [n, node] of nodes.entries()) {
      if (n % ABREAST === ABREAST - 1) yield;
      // The user has selected another colour meanwhile.
      if (drawn !== this.drawn) return;
      const step = it ? stepped(it.of(node), it.steps) : node.state;
      if (step === drawn[n]) continue;
      drawn[n] = step;
      pen.fillStyle = colors[step];
      pen.fillRect((n % columns) * size, Math.floor(n / columns) * size, size - gap, size - gap);
    }
  }

  /** @param {any} event */
  under(event) {
    const column = Math.floor(event.offsetX / this.size);
    if (column >= this.columns) return undefined;
    return this.nodes[Math.floor(event.offsetY / this.size) * this.columns + column];
  }

  /** @param {any} event */
  look(event) {
    const node = this.under(event);
    this.readout.classList.toggle("on", !!node);
    if (!node) return;
    const delay = node.delay === null ? "" : `\ndelay ${show(node.delay, "us")}`;
    tell(this.readout, `${node.id}\n${STATES[node.state]}, ${show(node.rate)} reports/s${delay}`);
    const width = this.box.clientWidth;
    const right = event.offsetX > width / 2;
    this.readout.style.left = right ? "auto" : `${event.offsetX + 14}px`;
    this.readout.style.right = right ? `${width - event.offsetX + 14}px` : "auto";
  }
}

/** The step of a value; the last one is for a missing value. @param {number | null} value @param {number[]} steps */
function stepped(value, steps) {
  if (value === null) return steps.length;
  let step = 0;
  while (step + 1 < steps.length && value >= steps[step + 1]) step += 1;
  return step;
}
