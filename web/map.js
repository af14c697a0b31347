// The map: a cell for each node, coloured by what it does; however many there are.
import { h, put, tell } from "./dom.js";
import { key } from "./forms.js";
import { color, scale, sized } from "./heat.js";
import { show } from "./figure.js";
import { STATES } from "./store.js";

/** @typedef {import("./store.js").NodeRow} NodeRow */

/**
 * What a cell's colour may mean: the value, its unit, and the least value of each step.
 * @type {Record<string, {name: string, unit: string, steps: number[], of: (node: NodeRow) => number | null}>}
 */
const MEASURES = {
  rate: { name: "Reports a second", unit: "", steps: [0, 1, 10, 50, 100, 500, 1000], of: (node) => node.rate },
  delay: { name: "Delay of reports", unit: "us", steps: [0, 200, 500, 1e3, 5e3, 2e4, 1e5], of: (node) => node.delay },
  queued: { name: "Octets that wait", unit: "B", steps: [0, 1, 1e3, 1e4, 1e5, 1e6, 1e7], of: (node) => node.queued },
  requests: { name: "Requests under way", unit: "", steps: [0, 1, 2, 4, 8, 16, 32], of: (node) => node.requests },
};

const CELL_MAX = 26, CELL_MIN = 4, HEIGHT = 300;

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
    new ResizeObserver(() => this.draw(this.nodes)).observe(this.box);
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
    this.nodes = nodes;
    const width = this.box.clientWidth;
    if (width === 0) return;
    let size = CELL_MAX;
    while (size > CELL_MIN && Math.ceil(nodes.length / Math.floor(width / size)) * size > HEIGHT) size -= 1;
    this.size = size;
    this.columns = Math.max(1, Math.floor(width / size));
    const height = Math.max(1, Math.ceil(nodes.length / this.columns)) * size;
    const pen = sized(this.canvas, width, height);
    const it = MEASURES[this.measure];
    const colors = it ? scale() : ["--line", "--idle", "--c2", "--bad"].map(color);
    const none = color("--line");
    const gap = size > 8 ? 2 : 1;
    nodes.forEach((node, n) => {
      pen.fillStyle = it ? hue(it.of(node), it.steps, colors, none) : colors[node.state];
      pen.fillRect((n % this.columns) * size, Math.floor(n / this.columns) * size, size - gap, size - gap);
    });
    const what = it ? it.name.toLowerCase() : "state";
    this.canvas.setAttribute("aria-label", `${nodes.length} base stations by ${what}. The list below has the same.`);
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

/** @param {number | null} value @param {number[]} steps @param {string[]} colors @param {string} none */
function hue(value, steps, colors, none) {
  if (value === null) return none;
  let step = 0;
  while (step + 1 < steps.length && value >= steps[step + 1]) step += 1;
  return colors[step];
}
