// A control of a base station and its effect: means of some columns before and after it.
import { h, put, tell } from "./dom.js";
import { show } from "./figure.js";
import { ask, Refused } from "./net.js";
import { plain } from "./table.js";

/** @typedef {import("./watch.js").Model} Model */

/** Maximum number of columns of an effect; the server's limit. */
const COLUMNS_MAX = 16;
/** Number of results that are kept. */
const RESULTS_MAX = 20;

/** @param {number} id @param {string} label @param {number} share parts per million */
const slice = (id, label, share) => ({ id, label, scheduler: "pf", parameters: { capacity: share } });

/** Initial messages, by model. @type {Record<string, [string, any][]>} */
const EXAMPLES = {
  slice: [
    ["Two slices, 70 % and 30 %, idle resources shared", { configure: { algorithm: "nvs", sharing: true, slices: [slice(1, "gold", 700_000), slice(2, "silver", 300_000)] } }],
    ["One slice of 50 %, the rest of the carrier unused", { configure: { algorithm: "nvs", sharing: false, slices: [slice(1, "half", 500_000)] } }],
    ["Slice 1 deleted", { delete: 1 }],
  ],
  traffic: [["Queue 1 of bearer 4 deleted", { bearer: { rnti: 1, rbid: 4 }, action: { deleteQueue: 1 } }]],
};

export class Control {
  /** @param {string} node @param {Model[]} models @param {(mark: {x: number, name: string}) => void} mark */
  constructor(node, models, mark) {
    this.node = node;
    this.models = models;
    this.mark = mark;
    /** @type {string[]} */
    this.offered = [];
    this.count = 0;
    this.model = h("select", { change: () => this.chosen() });
    this.example = h("select", { change: () => this.write() });
    this.message = h("textarea", { spellcheck: "false", "aria-label": "Control message, as JSON with the names of the service model" });
    this.effect = h("select", { change: () => this.columns() });
    this.list = h("div", { class: "row" });
    this.button = h("button", { type: "submit", class: "main" }, "Send control");
    this.status = h("p", { role: "status", class: "soft" });
    this.results = h("div", { class: "views" });
    this.none = h("p", { class: "soft" }, "This base station offers no service model whose controls can be written here.");
    this.form = h("form", { submit: (/** @type {Event} */ event) => { event.preventDefault(); void this.send(); } },
      h("div", { class: "row" }, h("label", { class: "field" }, "Model", this.model), h("label", { class: "field" }, "Example", this.example)),
      this.message,
      h("div", { class: "row" }, h("label", { class: "field" }, "Measure the effect with", this.effect)),
      h("fieldset", {}, h("legend", {}, "Columns to compare"), this.list),
      h("div", { class: "row" }, this.button, this.status));
    this.element = h("section", { class: "panel", "aria-label": "Control" },
      h("div", { class: "bar" }, h("h2", {}, "Send a control and measure its effect")), this.none, this.form, this.results);
    this.form.hidden = true;
  }

  /** @param {string[]} names models that the node has */
  offer(names) {
    this.offered = names;
    const takes = this.models.filter((model) => model.control && names.includes(model.name) && model.name !== "hw");
    this.form.hidden = takes.length === 0;
    this.none.hidden = takes.length > 0;
    put(this.model, ...takes.map((model) => h("option", { value: model.name }, model.name)));
    if (takes.some((model) => model.name === "slice")) this.model.value = "slice";
    const reports = this.models.filter((model) => model.periodic && names.includes(model.name) && model.columns.some(measurable));
    put(this.effect, h("option", { value: "" }, "nothing"), ...reports.map((model) => h("option", { value: model.name }, model.name)));
    if (takes.length > 0) this.chosen();
  }

  chosen() {
    const examples = EXAMPLES[this.model.value] ?? [];
    put(this.example, ...examples.map(([name], n) => h("option", { value: n }, name)), h("option", { value: "" }, "nothing"));
    if ([...this.effect.options].some((option) => option.value === this.model.value)) this.effect.value = this.model.value;
    this.write();
    this.columns();
  }

  write() {
    const example = EXAMPLES[this.model.value]?.[Number(this.example.value)];
    this.message.value = this.example.value !== "" && example ? JSON.stringify(example[1], null, 2) : "{}";
  }

  columns() {
    const model = this.models.find((it) => it.name === this.effect.value);
    const columns = model?.columns.filter(measurable) ?? [];
    const box = (/** @type {{name: string, headline: boolean}} */ column) =>
      h("label", { class: "check" }, h("input", { type: "checkbox", value: column.name, checked: column.headline }), column.name);
    put(this.list, ...(columns.length > 0 ? columns.map(box) : [h("p", { class: "soft" }, "Without a model, only the base station's response is shown.")]));
  }

  async send() {
    let message;
    try {
      message = JSON.parse(this.message.value);
    } catch (error) {
      tell(this.status, `The message is not valid JSON: ${error instanceof Error ? error.message : error}`);
      return;
    }
    /** @type {any} */
    const body = { node: this.node, sm: this.model.value, message };
    const boxes = /** @type {HTMLInputElement[]} */ ([...this.list.querySelectorAll("input:checked")]);
    const columns = boxes.map((box) => box.value).slice(0, COLUMNS_MAX);
    if (this.effect.value && columns.length > 0) body.effect = { sm: this.effect.value, columns, periods: 10, period_ms: 100 };
    this.button.disabled = true;
    tell(this.status, "Waiting for the base station.");
    this.count += 1;
    const name = `command ${this.count}`;
    try {
      const answer = await ask("POST", "/v1/control", body);
      // The control was sent within the observed interval.
      const ago = body.effect ? (body.effect.periods * body.effect.period_ms) / 1000 : 0;
      this.mark({ x: Date.now() / 1000 - ago, name });
      this.told(name, body, answer, null);
    } catch (error) {
      this.told(name, body, null, error);
    }
    this.button.disabled = false;
    tell(this.status, "");
  }

  /** @param {string} name @param {any} body @param {any} answer @param {any} error */
  told(name, body, answer, error) {
    const words = error instanceof Refused ? `${error.status}: ${error.message}` : String(error);
    const said = error ? (error.body?.outcome ? ` ${JSON.stringify(error.body.outcome)}` : "") : "";
    const head = h("h3", {}, `${name[0].toUpperCase()}${name.slice(1)} to ${body.sm}`);
    const verdict = error ? h("p", { class: "note bad" }, `Refused, ${words}.${said}`) : h("p", { class: "note good" }, "Acknowledged by the base station.");
    const columns = Object.entries(answer?.effect?.columns ?? {});
    const effect = columns.length > 0 && h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Effect of ${name}` }, this.effectTable(name, body.effect, columns));
    this.results.prepend(h("article", {}, head, verdict, effect));
    while (this.results.children.length > RESULTS_MAX) this.results.lastElementChild?.remove();
  }

  /** @param {string} name @param {any} asked @param {[string, any][]} columns */
  effectTable(name, asked, columns) {
    const rows = columns.flatMap(([id, kpi]) => {
      const groups = [[`all (${kpi.total})`, kpi], ...named("slice", kpi.slices), ...named("UE", kpi.ues)];
      const more = groups.length - GROUPS_SHOWN + kpi.left_out;
      const shown = groups.slice(0, GROUPS_SHOWN).map(([group, it]) => effectRow(id, group, kpi.unit, it));
      return more > 0 ? [...shown, [id, `${more} more`, "", "", ""]] : shown;
    });
    return plain(`Effect of ${name}: means over ${asked.periods} periods of ${asked.period_ms} ms before and after it`, ["KPI", "Of", "Before", "After", "Change"], rows);
  }
}

/** Maximum number of rows of a KPI. */
const GROUPS_SHOWN = 64;

/** @param {string} kind @param {Record<string, any>} groups @returns {[string, any][]} */
function named(kind, groups) {
  return Object.entries(groups ?? {}).map(([name, it]) => [`${kind} ${name}`, it]);
}

/** @param {string} id @param {string} group @param {string} unit @param {{before: number | null, after: number | null}} it */
function effectRow(id, group, unit, { before, after }) {
  const change = before && after !== null ? (after - before) / before : null;
  const sign = change === null ? "–" : `${change >= 0 ? "+" : "−"}${show(Math.abs(change) * 100, "%")}`;
  const kind = change === null || Math.abs(change) < 0.005 ? "" : change > 0 ? "up" : "down";
  return [id, group, show(before, unit), show(after, unit), h("span", { class: kind }, sign)];
}

/** @param {{kind: string}} column */
function measurable(column) {
  return column.kind !== "label";
}
