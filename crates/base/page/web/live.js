// The page of a running command: its state and its document, as sent by its server.
import { h, keep, put, tell } from "./dom.js";
import { unpack } from "./document.js";
import { figure } from "./figure.js";
import { lock, tellPill } from "./lock.js";
import { ask, read, Refused, Stream, takeToken } from "./net.js";
import { Plot } from "./plot.js";
import { Shown } from "./shown.js";
import { plain } from "./table.js";
import { themed } from "./theme.js";
import { tooled } from "./tools.js";
import { Turns } from "./turns.js";

/**
 * @typedef {{title: string, y_label: string, unit: string, caption: string, lines: [string, string][]}} OverTime
 * @typedef {{title: string, kind: string, facts: string[], time: OverTime[], list: string}} About
 * @typedef {{phase: string, words: string, done: number, total: number, tiles: [string, string, string, boolean][], notes: [string, string][], actions: [string, string][]}} Now
 * @typedef {[string, string, string]} Entry state, name, words
 */

/** Intervals of drawing and of documents, in milliseconds; number of seconds in a row. */
const DRAW = 1_000, DOCUMENT = 4_000, ROW_MAX = 900;
/** Maximum number of requests for a last document. */
const TRIES = 30;
/** Maximum number of entries of a list in its table. */
const ROWS_MAX = 500;
/** Class of an entry, by its state. @type {Record<string, string>} */
const LOOKS = { "to come": "s0", now: "s1", done: "s2", trouble: "s3" };

const element = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const main = element("main"), nav = element("nav"), health = element("health");

class Live {
  constructor() {
    this.title = h("h1");
    this.facts = h("div");
    this.words = h("p", { role: "status" });
    this.bar = h("progress", { max: 1, value: 0, "aria-label": "Done" });
    this.actions = h("div", { class: "tools" });
    this.notes = h("div");
    this.tiles = h("dl", { class: "tiles" });
    this.strip = h("div", { class: "strip", "aria-hidden": "true" });
    this.counted = h("p", { class: "soft" });
    this.table = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "List" });
    this.details = h("details", { toggle: () => this.list() }, h("summary", {}, "As a table"), this.table);
    this.listed = h("section", { class: "panel", hidden: true }, h("h2"), this.counted, this.strip, this.details);
    this.figures = h("div", { class: "views" });
    this.meters = h("div", { class: "many" });
    this.below = h("div", { class: "views" });
    this.element = h("div", { class: "views" },
      h("div", { class: "top" }, h("div", {}, this.title, this.facts), this.actions),
      h("section", { class: "panel", "aria-label": "Progress" }, this.words, this.bar), this.notes, this.tiles, this.figures, this.meters, this.listed, this.below);
    /** @type {About | null} */
    this.about = null;
    /** The list whose title is shown. @type {About | null} */
    this.titled = null;
    /** @type {Now | null} */
    this.now = null;
    /** @type {Entry[]} */
    this.entries = [];
    /** @type {Record<string, number>[]} */
    this.samples = [];
    /** @type {any[]} */
    this.told = [];
    /** @type {Plot[]} */
    this.drawn = [];
    /** @type {Plot[]} */
    this.overTime = [];
    this.fresh = true;
    this.turns = new Turns();
    /** Documents: the newest announced one, the shown one, and the time of the last request. */
    this.version = 0;
    this.has = 0;
    this.asked = -Infinity;
    this.busy = false;
    this.shown = new Shown((view) => put(this.below, view.element));
  }

  /** @param {string} event @param {any} data */
  hear(event, data) {
    if (event === "about") this.about = data;
    else if (event === "now") this.now = data;
    else if (event === "figures") this.told = data;
    else if (event === "document") this.version = data.version;
    else if (event === "points") for (const [at, entry] of data) this.entries[at] = entry;
    else if (event === "samples") this.samples = [...this.samples, ...data].slice(-ROW_MAX);
    this.fresh = true;
    if (event === "now" && data.phase === "paused") void this.read(true);
    if (event === "now" && data.phase === "done") void this.finish();
  }

  /** The whole state is sent again. */
  again() {
    this.samples = [];
    this.entries = [];
    // Another run of the command counts from zero.
    [this.version, this.has] = [0, -1];
  }

  /** The command waits shortly for its pages: missing data is read, and then no further request is sent. */
  async finish() {
    for (let n = 0; n < TRIES && this.version !== 0 && this.version !== this.has; n += 1) {
      await this.read(true);
      if (this.busy) await new Promise((done) => setTimeout(done, 100));
    }
    ended();
  }

  /** Requests the document at intervals. @param {boolean} [atOnce] */
  async read(atOnce = false) {
    if (this.busy || this.version === 0 || this.version === this.has) return;
    // Not while the focus is in the document, because redrawing would move it.
    if (!atOnce && (performance.now() - this.asked < DOCUMENT || this.below.contains(document.activeElement))) return;
    this.busy = true;
    this.asked = performance.now();
    const version = this.version;
    try {
      const text = await read("/v1/document");
      this.shown.show(text);
      this.has = version;
    } catch (error) {
      // A command that ends during the request has sent everything.
      if (!(error instanceof Refused) && !(error instanceof TypeError)) throw error;
    } finally {
      this.busy = false;
    }
    if (atOnce && this.version !== this.has) void this.read(true);
  }

  draw() {
    if (document.hidden || !this.fresh) return;
    this.turns.run(this.drawing());
  }

  /** Runs in slices (see `Turns`). @returns {Generator<void>} */
  *drawing() {
    this.fresh = false;
    const { about, now } = this;
    if (about && about !== this.titled) {
      this.titled = about;
      document.title = `${about.title} – ranlab`;
      tell(this.title, about.title);
      put(this.facts, ...about.facts.map((it) => h("p", { class: "soft" }, it)));
      put(nav, h("a", { href: "#main", "aria-current": "page" }, about.kind));
    }
    if (now) this.state(now);
    if (about) yield* this.meter(about.time);
    for (const [n, told] of this.told.entries()) {
      this.drawn[n] ??= tooled(new Plot({ height: 280, labels: true }), `live-${n + 1}`);
      if (!this.drawn[n].element.isConnected) this.figures.append(this.drawn[n].element);
      this.drawn[n].draw(unpack(told));
      yield;
    }
    this.drawn.splice(this.told.length).forEach((plot) => plot.element.remove());
    this.list();
    void this.read();
  }

  /** @param {Now} now */
  state(now) {
    tell(this.words, now.words);
    this.bar.hidden = now.total === 0;
    this.bar.max = Math.max(now.total, 1);
    this.bar.value = now.done;
    keep(this.notes, now.notes.map(([text, look]) => h("p", { class: `note ${look}` }, text)));
    keep(this.tiles, now.tiles.map(([name, value, note, bad]) => h("div", {}, h("dt", {}, name), h("dd", { class: bad && "bad" }, value, " ", h("small", {}, note)))));
    const key = now.actions.join();
    if (this.actions.dataset.key === key) return;
    this.actions.dataset.key = key;
    put(this.actions, ...now.actions.map(([name, label]) => h("button", { type: "button", click: (/** @type {Event} */ event) => {
      /** @type {HTMLButtonElement} */ (event.currentTarget).disabled = true;
      ask("POST", `/v1/actions/${name}`, {}).catch((error) => tell(this.words, error.message));
    } }, label)));
  }

  /** @param {OverTime[]} all @returns {Generator<void>} */
  *meter(all) {
    for (const [n, it] of all.entries()) {
      this.overTime[n] ??= new Plot({ height: 200, small: true });
      if (!this.overTime[n].element.isConnected) this.meters.append(this.overTime[n].element);
      const series = it.lines.map(([key, name], color) => ({ name, color, form: /** @type {const} */ ("line"), samples: this.samples
        .filter((sample) => typeof sample[key] === "number").map((sample) => ({ x: sample.t, y: sample[key], low: sample[key], high: sample[key] })) }));
      this.overTime[n].draw(figure({ ...it, series }));
      yield;
    }
  }

  list() {
    const { entries } = this;
    this.listed.hidden = entries.length === 0;
    if (this.listed.hidden) return;
    tell(/** @type {HTMLElement} */ (this.listed.querySelector("h2")), this.about?.list ?? "");
    const counts = Object.keys(LOOKS).map((state) => [state, entries.filter((it) => it?.[0] === state).length]);
    tell(this.counted, counts.filter(([, count]) => count).map(([state, count]) => `${count} ${state}`).join(", "));
    while (this.strip.children.length < entries.length) this.strip.append(h("i"));
    entries.forEach((it, n) => {
      const cell = /** @type {HTMLElement} */ (this.strip.children[n]);
      const look = LOOKS[it?.[0]] ?? "s0";
      if (cell.className !== look) cell.className = look;
      cell.title = it ? `${it[1]}: ${it[2] || it[0]}` : "";
    });
    if (!this.details.open) return;
    const rows = entries.slice(0, ROWS_MAX).map((it) => [it?.[1], it?.[0], it?.[2]]);
    put(this.table, plain(this.about?.list ?? "", ["point", "state", "result"], rows));
  }
}

const live = new Live();
/** @type {Stream | null} */
let stream = null;

/** It has ended as announced; the user may open it again. */
function ended() {
  stream?.close();
  tellPill(health, "ended", live.now?.words ?? "");
  live.draw();
}

/** @param {import("./net.js").Health} now @param {string} why */
function connected(now, why) {
  if (now === "lost" && live.now?.phase === "done") return ended();
  tellPill(health, now, why);
  if (now === "connecting") live.again();
  if (now !== "locked") return;
  const { form, field } = lock("This program", "--web-token-file", why, start);
  put(main, form);
  field.focus();
}

function start() {
  put(main, live.element);
  stream?.close();
  stream = new Stream("/v1/stream", (event, data) => {
    if (event === "dropped") stream?.again();
    else live.hear(event, data);
  }, connected);
}

themed(element("theme"), () => { live.fresh = true; });
takeToken();
document.addEventListener("visibilitychange", () => live.draw());
setInterval(() => live.draw(), DRAW);
start();
