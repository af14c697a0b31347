// Any metric over any axis, with a series per value of another axis, at fixed values of the rest.
import { h, put } from "./dom.js";
import { explored, varied } from "./document.js";
import { Plot } from "./plot.js";
import { tooled } from "./tools.js";

/** @typedef {import("./document.js").Document} Document */

const NONE = "(nothing)";

export class Explore {
  constructor() {
    this.plot = tooled(new Plot({ height: 340, labels: true }), "explored");
    this.choices = h("div", { class: "tools", role: "group", "aria-label": "Figure settings" });
    this.element = h("section", { class: "panel", id: "explore" },
      h("div", { class: "bar" }, h("h2", {}, "Draw your own figure")), this.choices, this.plot.element);
    this.plot.element.classList.add("bare");
    /** @type {import("./document.js").Asked} */
    this.asked = { x: "", y: "", by: null };
    /** @type {Map<string, string>} */
    this.pins = new Map();
    /** @type {Document | null} */
    this.doc = null;
    /** @type {import("./document.js").Overlay[]} */
    this.overlays = [];
    this.key = "";
  }

  /** @param {Document} doc @param {import("./document.js").Overlay[]} overlays */
  show(doc, overlays) {
    [this.doc, this.overlays] = [doc, overlays];
    const axes = varied(doc);
    this.element.hidden = axes.length === 0 || doc.metrics.length === 0;
    if (this.element.hidden) return;
    if (!axes.some(({ path }) => path === this.asked.x)) this.ask({ x: axes[0].path, y: doc.metrics[0].name, by: axes[1]?.path ?? null });
    if (!doc.metrics.some(({ name }) => name === this.asked.y)) this.asked.y = doc.metrics[0].name;
    const key = JSON.stringify([axes, doc.metrics.length]);
    if (key !== this.key) this.choose();
    this.key = key;
    this.draw();
  }

  /** Shows a selection and its choices. @param {import("./document.js").Asked} asked */
  ask(asked) {
    this.asked = { ...asked };
    if (!this.doc) return;
    for (const { path, values } of varied(this.doc)) {
      const first = this.pins.get(path) ?? values[0][0];
      this.pins.set(path, first);
    }
    this.plot.part = null;
    this.choose();
    this.draw();
  }

  draw() {
    if (this.doc) this.plot.draw(explored(this.doc, this.asked, this.pins, this.overlays));
  }

  /** A choice. @param {string} name @param {[string, string][]} options value and words @param {string} value @param {(value: string) => void} chosen */
  choice(name, options, value, chosen) {
    const id = `choose ${name}`;
    const select = h("select", { id, change: () => {
      chosen(select.value);
      this.ask(this.asked);
      document.getElementById(id)?.focus();
    } }, ...options.map(([it, words]) => h("option", { value: it, selected: it === value }, words)));
    return h("label", { class: "field" }, name, select);
  }

  choose() {
    const doc = /** @type {Document} */ (this.doc);
    const axes = varied(doc);
    const named = /** @type {[string, string][]} */ (axes.map(({ path, label }) => [path, label]));
    const rest = axes.filter(({ path }) => path !== this.asked.x);
    const others = named.filter(([path]) => path !== this.asked.x);
    if (!rest.some(({ path }) => path === this.asked.by)) this.asked.by = null;
    const pinned = rest.filter(({ path }) => path !== this.asked.by).map(({ path, name, values }) =>
      this.choice(name, values.map(([value]) => [value, value]), this.pins.get(path) ?? "", (value) => this.pins.set(path, value)));
    const metrics = /** @type {[string, string][]} */ (doc.metrics.map(({ name, unit }) => [name, unit ? `${name} (${unit})` : name]));
    put(this.choices,
      this.choice("Upwards", metrics, this.asked.y, (value) => (this.asked.y = value)),
      this.choice("Across", named, this.asked.x, (value) => (this.asked.x = value)),
      others.length > 0 && this.choice("Split by", [["", NONE], ...others], this.asked.by ?? "", (value) => (this.asked.by = value || null)),
      ...pinned);
  }
}
