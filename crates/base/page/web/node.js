// The view of a base station. Models are subscribed while they are open.
import { Control } from "./control.js";
import { h, put, set, tell } from "./dom.js";
import { show } from "./figure.js";
import { Heat } from "./heat.js";
import { KpmChoice } from "./kpm.js";
import { ask, Stream } from "./net.js";
import { Plot } from "./plot.js";
import { STATES } from "./store.js";
import { plain } from "./table.js";
import { whole } from "./turns.js";
import { Watch } from "./watch.js";

/** @typedef {import("./watch.js").Model} Model */

/** Number of rows in the table of latest values. */
const LATEST_MAX = 100;
/** Interval of requests for the RIC's data about the node, in milliseconds. */
const LOOK = 5_000;
const PERIODS = [100, 200, 500, 1000, 5000];

export class NodeView {
  /** @param {import("./store.js").Store} store @param {string} id @param {Model[]} models */
  constructor(store, id, models) {
    this.store = store;
    this.id = id;
    this.name = id;
    this.models = models;
    /** @type {Map<string, Panel>} */
    this.open = new Map();
    /** @type {{x: number, name: string}[]} */
    this.marks = [];
    this.state = h("span", { class: "state" });
    this.facts = h("ul", { class: "facts" });
    this.hints = h("div");
    this.functions = h("div", { class: "models", role: "group", "aria-label": "Service models" });
    this.unknown = h("p", { class: "soft" });
    this.kpm = new KpmChoice(id);
    this.period = h("select", {}, ...PERIODS.map((ms) => h("option", { value: ms, selected: ms === 200 }, ms < 1000 ? `${ms} ms` : `${ms / 1000} s`)));
    this.panels = h("div", { class: "views" });
    this.control = new Control(id, models, (mark) => this.marks.push(mark));
    this.element = h("div", { class: "views" });
    this.parts = [
      h("section", { class: "panel", "aria-label": "Base station" },
        h("div", { class: "bar" }, h("h1", {}, id), this.state), this.facts, this.hints),
      h("section", { class: "panel", "aria-label": "Service models" },
        h("div", { class: "bar" }, h("h2", {}, "Service models"), h("label", { class: "field" }, "Every", this.period)),
        h("p", { class: "soft" }, "Opening a model subscribes to its reports at this base station. Closing it, or this page, ends the subscription."),
        this.functions, this.kpm.element, this.unknown),
      this.panels,
      this.control.element,
    ];
    this.stream = new Stream(`/v1/indications?node=${encodeURIComponent(id)}`, (event, data) => this.hear(event, data));
    this.asked = -Infinity;
    this.offered = "";
  }

  /** @param {string} event @param {any} data */
  hear(event, data) {
    const panel = [...this.open.values()].find(({ watch }) => watch.id !== null && watch.id === data.subscription);
    if (event === "indication") panel?.watch.hear(data, Date.now() / 1000);
    if (event === "ended" && panel) {
      panel.watch.error = `the subscription has ended: ${data.ended}`;
      panel.watch.id = null;
    }
  }

  async look() {
    this.asked = performance.now();
    try {
      this.tell(await ask("GET", `/v1/ric/nodes/${encodeURIComponent(this.id)}`));
    } catch (error) {
      put(this.hints, h("p", { class: "note bad" }, error instanceof Error ? error.message : String(error)));
    }
  }

  /** @param {any} node */
  tell(node) {
    const { peer, e2ap, kind, since_s, subscriptions, counters } = node;
    const facts = [kind, `E2AP ${e2ap}`, `from ${peer}`, `${node.connected ? "connected" : "away"} for ${show(since_s)} s`,
      `${subscriptions} subscriptions`, `${show(counters.indications)} indications`, `${counters.requests} pending requests`];
    put(this.facts, ...facts.map((fact) => h("li", {}, fact)));
    put(this.hints, ...node.hints.map((/** @type {any} */ hint) => h("p", { class: "note" }, hint.hint)));
    const text = JSON.stringify(node.functions);
    if (text === this.offered) return;
    this.offered = text;
    const names = node.functions.flatMap((/** @type {any} */ f) => (f.sm ? [f.sm] : []));
    const shown = this.models.filter((model) => names.includes(model.name) && model.periodic);
    put(this.functions, ...shown.map((model) => this.button(model)));
    const others = node.functions.filter((/** @type {any} */ f) => !shown.some((model) => model.name === f.sm));
    const words = others.map((/** @type {any} */ f) => `${f.id} ${f.name ?? f.oid ?? "without a name"}`);
    tell(this.unknown, words.length > 0 ? `Offered, but without periodic reports that can be shown: ${words.join("; ")}.` : "");
    this.control.offer(names);
    this.kpm.element.hidden = !names.includes("kpm");
  }

  /** @param {Model} model */
  button(model) {
    const button = h("button", { type: "button", "aria-expanded": this.open.has(model.name), click: () => this.toggle(model, button) }, model.name);
    return button;
  }

  /** @param {Model} model @param {HTMLElement} button */
  toggle(model, button) {
    const there = this.open.get(model.name);
    set(button, { "aria-expanded": String(!there) });
    if (there) return this.shut(model.name);
    const more = model.name === "kpm" ? this.kpm.wanted() : {};
    const watch = new Watch(this.id, model, Number(this.period.value), more);
    const panel = new Panel(watch, () => {
      this.shut(model.name);
      set(button, { "aria-expanded": "false" });
      button.focus();
    });
    this.open.set(model.name, panel);
    this.panels.append(panel.element);
    watch.begin().then(() => panel.show(this.marks));
  }

  /** @param {string} name */
  shut(name) {
    const panel = this.open.get(name);
    panel?.watch.end();
    panel?.element.remove();
    this.open.delete(name);
  }

  /** Runs in slices (see `Turns`). @returns {Generator<void>} */
  *show() {
    const node = this.store.byId(this.id);
    this.state.className = `state s${node?.state ?? 0}`;
    tell(this.state, node ? `${STATES[node.state]}${node.state === 2 ? `, ${show(node.rate)} reports/s` : ""}` : "unknown");
    if (performance.now() - this.asked > LOOK) void this.look();
    for (const panel of [...this.open.values()]) yield* panel.drawing(this.marks);
  }

  /** The page is hidden: nothing is subscribed. */
  rest() {
    this.stream.rest();
    for (const { watch } of this.open.values()) watch.end();
  }

  again() {
    this.stream.again();
    for (const { watch } of this.open.values()) {
      watch.over = false;
      void watch.begin();
    }
  }

  close() {
    [...this.open.keys()].forEach((name) => this.shut(name));
    this.stream.close();
  }
}

/** One service model. */
class Panel {
  /** @param {Watch} watch @param {() => void} close */
  constructor(watch, close) {
    this.watch = watch;
    const { name } = watch.model;
    this.status = h("p", { class: "soft", role: "status" }, "asking the base station");
    this.scope = h("select", { change: () => this.show(this.marks) }, h("option", { value: "" }, "all (mean)"));
    this.every = h("input", { type: "checkbox", change: () => this.show(this.marks) });
    this.areas = [new Plot({ height: 230 }), new Plot({ height: 230 })];
    this.wide = h("div", { class: "two" }, ...this.areas.map((plot) => plot.element));
    this.grid = h("div", { class: "many" });
    this.heat = new Heat({ steps: [0, 1, 2, 5, 10, 50, 200] });
    this.latest = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Latest values of ${name}` });
    this.values = h("details", { class: "behind", toggle: () => this.show(this.marks) }, h("summary", {}, "Latest values, row by row"), this.latest);
    /** @type {Map<string, Plot>} */
    this.plots = new Map();
    /** @type {{x: number, name: string}[]} */
    this.marks = [];
    this.heat.element.classList.add("small");
    const late = h("details", { class: "behind", toggle: () => this.show(this.marks) }, h("summary", {}, "Delay of these reports"), this.heat.element);
    this.late = late;
    this.element = h("section", { class: "panel", "aria-label": `Model ${name}` },
      h("div", { class: "bar" }, h("h2", {}, `${name.toUpperCase()} every ${watch.period_ms} ms`), h("div", { class: "tools" },
        h("label", { class: "field" }, "Of", this.scope), h("label", { class: "check" }, this.every, "every column"),
        h("button", { type: "button", click: close, "aria-label": `Close ${name}` }, "Close"))),
      this.status, this.wide, this.grid, late, this.values);
  }

  /** @param {{x: number, name: string}[]} marks */
  show(marks) {
    whole(this.drawing(marks));
  }

  /** @param {{x: number, name: string}[]} marks @returns {Generator<void>} */
  *drawing(marks) {
    this.marks = marks;
    const { watch } = this;
    const lost = watch.missed > 0 ? `, ${watch.missed} lost` : "";
    const late = watch.delay.latest === undefined ? "" : `, delay ${show(watch.delay.latest, "us")}`;
    tell(this.status, watch.error || (watch.reports === 0 ? "subscribed; waiting for the first report" : `${show(watch.rows.size)} rows${lost}${late}`));
    this.status.className = watch.error ? "note bad" : "soft";
    if (watch.malformed) tell(this.status, watch.malformed);
    this.scopes();
    const slices = watch.model.name === "slice" && watch.rows.size > 0;
    this.wide.hidden = !slices;
    if (slices) {
      this.areas[0].draw(watch.areas("dl_prbs", "Resource blocks per second by slice", "", marks));
      yield;
      this.areas[1].draw(watch.areas("dl_bytes", "Bytes per second by slice", "B/s", marks));
    }
    const columns = watch.columns(this.every.checked);
    for (const [id, plot] of this.plots) {
      if (columns.some((column) => column.id === id)) continue;
      plot.element.remove();
      this.plots.delete(id);
    }
    for (const column of watch.rows.size > 0 ? columns : []) {
      let plot = this.plots.get(column.id);
      if (!plot) {
        plot = new Plot({ height: 150, small: true, span: 30 });
        this.plots.set(column.id, plot);
        this.grid.append(plot.element);
      }
      plot.draw(watch.figure(column, this.scope.value, marks));
      yield;
    }
    if (this.late.open) this.heat.draw(watch.heat());
    if (this.values.open) this.table();
  }

  scopes() {
    const scopes = this.watch.scopes();
    const options = [...this.scope.options].slice(1).map((option) => option.value);
    if (scopes.join("\n") === options.join("\n")) return;
    const chosen = this.scope.value;
    put(this.scope, h("option", { value: "" }, "all (mean)"), ...scopes.map((scope) => h("option", { value: scope }, scope)));
    this.scope.value = scopes.includes(chosen) ? chosen : "";
  }

  table() {
    const { watch } = this;
    const chosen = [...watch.rows.values()].filter((row) => !this.scope.value || row.scope === this.scope.value);
    const columns = watch.tall ? [{ id: "value", title: "value", unit: "" }] : watch.columns(this.every.checked);
    const cell = (/** @type {import("./watch.js").Row} */ row, /** @type {{id: string, unit: string}} */ column) =>
      show(watch.tall ? row.cells.value : row.rates.get(column.id), column.unit);
    const rows = chosen.slice(0, LATEST_MAX).map((row) => [row.name, ...columns.map((column) => cell(row, column))]);
    const more = chosen.length > LATEST_MAX ? `; the first ${LATEST_MAX} of ${chosen.length} rows` : "";
    put(this.latest, plain(`Latest values of ${watch.model.name}${more}`, ["Row", ...columns.map((column) => column.title)], rows));
  }
}
