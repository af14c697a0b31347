// Selection of KPM measurements before a subscription.
import { h, put, tell } from "./dom.js";
import { ask } from "./net.js";

/** @typedef {{kind: string, number: string, name: string, items: string[]}} Offer */

export class KpmChoice {
  /** @param {string} node */
  constructor(node) {
    this.node = node;
    this.asked = false;
    /** @type {Offer[]} */
    this.styles = [];
    this.style = h("select", { change: () => this.list() });
    this.names = h("select", { multiple: true, size: 6 });
    this.slice = h("input", { maxlength: 12, placeholder: "all slices" });
    this.note = h("p", { class: "soft", role: "status" });
    /** @type {(name: string, of: HTMLElement) => HTMLElement} */
    const field = (name, of) => h("label", { class: "field" }, name, of);
    this.element = h("details", { class: "behind", toggle: () => this.look() }, h("summary", {}, "Choose measurements of KPM"),
      h("div", { class: "tools" }, field("Report style", this.style), field("S-NSSAI", this.slice), field("Measurements", this.names)), this.note);
  }

  async look() {
    if (this.asked || !this.element.open) return;
    this.asked = true;
    try {
      /** @type {{functions: {sm: string, offers?: Offer[]}[]}} */
      const { functions } = await ask("GET", `/v1/offers/${encodeURIComponent(this.node)}`);
      const kpm = functions.find((it) => it.sm === "kpm");
      this.styles = (kpm?.offers ?? []).filter((it) => it.kind === "report");
      /** @type {(it: Offer) => HTMLElement} */
      const option = (it) => h("option", { value: it.number }, `${it.number} ${it.name}`);
      put(this.style, h("option", { value: "" }, "any"), ...this.styles.map(option));
      this.list();
    } catch (error) {
      this.asked = false;
      tell(this.note, String(error));
    }
  }

  list() {
    const { value } = this.style;
    const items = this.styles.flatMap((it) => (value === "" || it.number === value ? it.items : []));
    put(this.names, ...[...new Set(items)].sort().map((name) => h("option", { value: name }, name)));
    tell(this.note, "Nothing chosen: all measurements are reported.");
  }

  /** Parameters of a subscription in addition to its period. @returns {object} */
  wanted() {
    const measurements = [...this.names.selectedOptions].map((option) => option.value);
    const snssai = this.slice.value.trim();
    const kpm = {
      ...(measurements.length > 0 && { measurements }),
      ...(snssai !== "" && { snssai }),
      ...(this.style.value !== "" && { style: Number(this.style.value) }),
    };
    return Object.keys(kpm).length > 0 ? { kpm } : {};
  }
}
