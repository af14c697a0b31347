// The first view: all nodes and xApps.
import { h, keep, put, tell } from "./dom.js";
import { clock, figure, show } from "./figure.js";
import { Heat } from "./heat.js";
import { NodeMap } from "./map.js";
import { leases } from "./net.js";
import { Plot } from "./plot.js";
import { STATES } from "./store.js";
import { Long } from "./table.js";

/** @typedef {import("./store.js").NodeRow} NodeRow */
/** @typedef {import("./store.js").XappRow} XappRow */

/** Maximum number of nodes whose delays are measured and shown. */
const MEASURED_MAX = 64;
/** Number of subscriptions requested in parallel. */
const ABREAST = 8;
/** Models that measure delays, because their reports have timestamps; the smallest reports first. */
const BEARING = ["mac", "cell", "gtp", "rlc", "pdcp", "slice", "traffic", "kpm"];

/** @param {string} id */
export const nodeLink = (id) => `#/node/${encodeURIComponent(id)}`;

export class Overview {
  /** @param {import("./store.js").Store} store */
  constructor(store) {
    this.store = store;
    this.name = "Overview";
    this.tiles = new Tiles();
    this.rates = new Plot({ height: 240 });
    this.drops = new Plot({ height: 240 });
    this.map = new NodeMap((node) => { location.hash = nodeLink(node.id); });
    this.delays = new Delays(store);
    this.filter = h("input", { type: "search", id: "filter", placeholder: "name, address or model", input: () => this.list() });
    this.found = h("p", { class: "soft", role: "status" });
    this.nodes = new Long("Base stations", NODE_COLUMNS, (node) => node.key);
    this.xapps = new Long("xApps", XAPP_COLUMNS, (xapp) => `${xapp.id} ${xapp.peer}`);
    this.xapps.element.classList.add("xapps", "short");
    this.noXapps = h("p", { class: "soft" }, "No xApp is connected.");
    this.hints = h("ul", { class: "lines" });
    this.log = h("ul", { class: "lines" });
    this.empty = h("p", { class: "note" }, "No base station has connected yet. ", h("code", {}, "ranlab emulate --nodes 20"), " starts emulated ones; ",
      h("code", {}, "ranlab ric --hint oai"), " prints the configuration that connects a real one.");
    this.element = h("div", { class: "views beyond" });
    this.parts = this.build();
  }

  build() {
    const panel = (/** @type {string} */ title, /** @type {any} */ tools, /** @type {any[]} */ ...rest) =>
      h("section", { class: "panel", "aria-label": title }, h("div", { class: "bar" }, h("h2", {}, title), tools && h("div", { class: "tools" }, tools)), ...rest);
    return [
      h("h1", { class: "hidden" }, "Near-RT RIC"),
      this.tiles.element,
      h("div", { class: "two" }, this.rates.element, this.drops.element),
      panel("Base stations", this.map.tools, this.empty, this.map.element),
      this.delays.element,
      panel("xApps", null, this.noXapps, this.xapps.element),
      panel("List of base stations", h("label", { class: "field", for: "filter" }, "Find", this.filter), this.found, this.nodes.element),
      h("div", { class: "two" }, panel("Likely problems", null, this.hints), panel("Recent events", null, this.log)),
    ];
  }

  /** Runs in slices (see `Turns`). @returns {Generator<void>} */
  *show() {
    const { store } = this;
    if (!store.totals) return;
    this.tiles.show(store.totals);
    yield;
    this.rates.draw(rates(store));
    yield;
    this.drops.draw(drops(store));
    yield;
    const all = [...store.nodes.values()];
    this.empty.hidden = all.length > 0;
    this.map.element.hidden = all.length === 0;
    yield* this.map.drawing(all);
    yield* this.delays.show();
    this.noXapps.hidden = store.xapps.length > 0;
    this.xapps.element.hidden = store.xapps.length === 0;
    if (store.xapps.length > 0) this.xapps.fill(store.xapps);
    yield;
    this.list();
    yield;
    const hints = store.hints.map((hint) => h("li", {}, h("b", {}, hint.node ?? hint.peer), `: ${hint.hint}`, hint.times > 1 && ` (${hint.times} times)`));
    lines(this.hints, hints, "None known to the RIC.");
    lines(this.log, store.log.slice(0, 12).map(({ at, text }) => h("li", {}, h("time", {}, clock(at)), text)), "None since this page was opened.");
  }

  list() {
    const wanted = this.filter.value.trim().toLowerCase();
    const all = [...this.store.nodes.values()];
    const fits = (/** @type {NodeRow} */ node) => `${node.id} ${node.peer} ${node.models.join(" ")} ${STATES[node.state]}`.toLowerCase().includes(wanted);
    const found = wanted ? all.filter(fits) : all;
    const hidden = (this.store.totals?.nodes ?? all.length) - all.length;
    tell(this.found, `${found.length} of ${all.length}${hidden > 0 ? `; ${hidden} more are only counted` : ""}`);
    this.nodes.element.classList.toggle("short", found.length < 14);
    this.nodes.element.style.height = found.length < 14 ? `${found.length * 36 + 40}px` : "";
    this.nodes.fill(found, wanted ? "" : String(this.store.shape));
  }

  close() {
    this.delays.stop();
  }
}

/** @param {HTMLElement} list @param {HTMLElement[]} items @param {string} none */
function lines(list, items, none) {
  keep(list, items.length > 0 ? items : [h("li", { class: "soft" }, none)]);
}

class Tiles {
  constructor() {
    /** @type {[string, (totals: Record<string, number>) => [string, string, boolean?]][]} */
    const all = [
      ["Base stations", (t) => [show(t.connected), t.nodes > t.connected ? `of ${show(t.nodes)}` : "connected"]],
      ["Silent", (t) => [show(t.silent), "do not report", t.silent > 0]],
      ["xApps", (t) => [show(t.xapps), "connected"]],
      ["Indications in", (t) => [show(t.indications_per_s), "/s"]],
      ["Forwarded", (t) => [show(t.forwarded_per_s), "/s"]],
      ["Dropped", (t) => [show(t.dropped_per_s), `/s, ${show(t.dropped)} in all`, t.dropped_per_s > 0]],
      ["Waiting in queues", (t) => [show(t.queued_bytes, "B"), ""]],
    ];
    this.all = all.map(([name, of]) => ({ name, of, value: h("span"), unit: h("small"), box: h("dd") }));
    this.element = h("dl", { class: "tiles" }, ...this.all.map(({ name, value, unit, box }) => {
      put(box, value, " ", unit);
      return h("div", {}, h("dt", {}, name), box);
    }));
  }

  /** @param {Record<string, number>} totals */
  show(totals) {
    for (const { of, value, unit, box } of this.all) {
      const [number, words, bad] = of(totals);
      tell(value, number);
      tell(unit, words);
      box.classList.toggle("bad", bad === true);
    }
  }
}

/** @param {import("./store.js").Store} store */
function rates(store) {
  const line = (/** @type {string} */ name, /** @type {string} */ of, /** @type {number} */ color) =>
    ({ name, form: /** @type {const} */ ("line"), color, samples: store.tracks.get(of)?.samples ?? [] });
  return figure({
    title: "Indications per second",
    caption: "Received from base stations, and forwarded to xApps. An indication for several xApps counts once per xApp.",
    series: [line("received", "indications_per_s", 0), line("forwarded to xApps", "forwarded_per_s", 2)],
  });
}

/** @param {import("./store.js").Store} store */
function drops(store) {
  const samples = (/** @type {string} */ of) => store.tracks.get(of)?.samples ?? [];
  return figure({
    title: "Dropped indications per second",
    caption: "If an xApp does not read in time, its oldest indications are dropped. It sees a gap in the sequence numbers.",
    series: [{ name: "dropped", form: "line", color: 1, samples: samples("dropped_per_s") }],
  });
}

/** Delays of reports by node and time, from subscriptions made for this purpose. */
class Delays {
  /** @param {import("./store.js").Store} store */
  constructor(store) {
    this.store = store;
    /** @type {number[] | null} */
    this.held = null;
    this.heat = new Heat({ steps: [0, 200, 500, 1e3, 5e3, 2e4, 1e5] });
    this.button = h("button", { type: "button", "aria-pressed": "false", click: () => (this.held ? this.stop() : this.start()) }, "Measure delays");
    this.status = h("p", { class: "soft", role: "status" }, "Requests one report per second from each of the first ",
      `${MEASURED_MAX} base stations, while this button is on and this view is open.`);
    this.element = h("section", { class: "panel", "aria-label": "Delay of reports" },
      h("div", { class: "bar" }, h("h2", {}, "Delay of reports"), h("div", { class: "tools" }, this.button)), this.status, this.heat.element);
    this.heat.element.classList.remove("chart");
    this.heat.element.classList.add("bare");
  }

  async start() {
    const held = /** @type {number[]} */ ([]);
    this.held = held;
    this.button.setAttribute("aria-pressed", "true");
    const model = (/** @type {NodeRow} */ node) => BEARING.find((name) => node.models.includes(name));
    const asked = [...this.store.nodes.values()].filter((node) => node.state > 0 && model(node)).slice(0, MEASURED_MAX);
    if (asked.length === 0) tell(this.status, "No base station offers reports with a time stamp.");
    let refused = 0, last = "";
    const next = async () => {
      for (let node = asked.shift(); node && this.held === held; node = asked.shift()) {
        try {
          const id = await leases.begin({ node: node.id, sm: model(node) ?? "", period_ms: 1000 });
          if (this.held === held) held.push(id);
          else leases.end(id);
        } catch (error) {
          refused += 1;
          last = error instanceof Error ? error.message : String(error);
        }
      }
    };
    await Promise.all(Array.from({ length: ABREAST }, next));
    if (this.held !== held || held.length + refused === 0) return;
    tell(this.status, `${held.length} base stations report once a second.${refused ? ` ${refused} refused: ${last}` : ""}`);
  }

  stop() {
    this.held?.forEach((id) => leases.end(id));
    this.held = null;
    this.button.setAttribute("aria-pressed", "false");
  }

  /** @returns {Generator<void>} */
  *show() {
    const rows = [...this.store.delays].slice(0, MEASURED_MAX).flatMap(([key, track]) => {
      const node = this.store.nodes.get(key);
      return node ? [{ name: node.id, form: /** @type {const} */ ("cells"), color: 0, samples: track.samples }] : [];
    });
    this.heat.element.hidden = rows.length === 0;
    if (rows.length === 0) return;
    yield* this.heat.drawing(figure({
      title: "Longest delay in each second, base station to RIC",
      caption: "From the report's time stamp (clock of the base station) to its arrival (clock of the RIC), for subscriptions over HTTP.",
      unit: "us", series: rows,
    }));
  }
}

/** @type {import("./table.js").Column<NodeRow>[]} */
const NODE_COLUMNS = [
  { name: "Base station", fixed: true, sort: (node) => node.order, cell: (node) => h("a", { href: nodeLink(node.id) }, node.id) },
  { name: "State", sort: (node) => STATES[node.state], cell: (node) => h("span", { class: `state s${node.state}` }, STATES[node.state]) },
  { name: "Reports/s", number: true, sort: (node) => node.rate, cell: (node) => show(node.rate) },
  { name: "Delay", number: true, wide: true, sort: (node) => node.delay ?? -1, cell: (node) => show(node.delay, "us") },
  { name: "Subscr.", number: true, wide: true, sort: (node) => node.subscriptions, cell: (node) => show(node.subscriptions) },
  { name: "Requests", number: true, wide: true, sort: (node) => node.requests, cell: (node) => show(node.requests) },
  { name: "Queued", number: true, wide: true, sort: (node) => node.queued, cell: (node) => show(node.queued, "B") },
  { name: "Models", wide: true, fixed: true, sort: (node) => node.models.join(), cell: (node) => node.models.join(", ") },
];

/** @type {import("./table.js").Column<XappRow>[]} */
const XAPP_COLUMNS = [
  { name: "xApp", sort: (xapp) => Number(xapp.id), cell: (xapp) => xapp.id + (xapp.tenant && ` of ${xapp.tenant}`) },
  { name: "Taken/s", number: true, sort: (xapp) => xapp.taken_per_s ?? 0, cell: (xapp) => show(xapp.taken_per_s) },
  { name: "Dropped/s", number: true, sort: (xapp) => xapp.dropped_per_s ?? 0, cell: (xapp) => show(xapp.dropped_per_s) },
  { name: "Dropped", number: true, wide: true, sort: (xapp) => xapp.dropped, cell: (xapp) => show(xapp.dropped) },
  { name: "Queued", number: true, wide: true, sort: (xapp) => xapp.queued_bytes, cell: (xapp) => show(xapp.queued_bytes, "B") },
  { name: "Subscr.", number: true, wide: true, sort: (xapp) => xapp.subscriptions, cell: (xapp) => show(xapp.subscriptions) },
  { name: "Requests", number: true, wide: true, sort: (xapp) => xapp.requests, cell: (xapp) => show(xapp.requests) },
  { name: "From", wide: true, sort: (xapp) => xapp.peer, cell: (xapp) => xapp.peer },
];
