// A report: question, result, qualifications, figures, every point; from a saved or live document.
import { h, put } from "./dom.js";
import { overlaid, pointRows, unpack } from "./document.js";
import { Explore } from "./explore.js";
import { exact } from "./figure.js";
import { overlaying } from "./overlay.js";
import { Plot } from "./plot.js";
import { plain } from "./table.js";
import { themed } from "./theme.js";
import { csv, fileName, give, tooled } from "./tools.js";

/** @typedef {import("./document.js").Document} Document */
/** @typedef {import("./dom.js").Child} Child */

/** Number of points in the table until the user requests all. */
const POINTS_MAX = 500;

/** Text in which `names` are in back quotes. @param {string} text @returns {Child[]} */
function prose(text) {
  return text.split("`").map((part, n) => (n % 2 === 0 ? part : h("code", {}, part)));
}

/** @param {string[]} sentences @param {string} look */
function list(sentences, look) {
  return sentences.length > 0 && h("ul", { class: `found ${look}` }, ...sentences.map((it) => h("li", {}, ...prose(it))));
}

/** @param {string} title @param {Child[]} content */
const details = (title, ...content) => h("details", {}, h("summary", {}, title), ...content);

/** A table that scrolls horizontally if it is wider than the window. @param {string} name @param {HTMLElement} table */
const scrolled = (name, table) => h("div", { class: "scroll open", tabindex: 0, role: "region", "aria-label": name }, table);

export class Report {
  /** @param {Child[]} more what stands beside the title: what a live page does with a campaign */
  constructor(...more) {
    this.theme = h("button", { type: "button", class: "theme" });
    /** @type {import("./document.js").Overlay[]} */
    this.overlays = [];
    /** @type {Document | null} */
    this.doc = null;
    /** @type {{plot: Plot, words: HTMLElement}[]} */
    this.figures = [];
    this.explore = new Explore();
    this.all = false;
    const part = () => h("div", { class: "views" });
    this.parts = { head: part(), main: part(), below: part(), figures: part(), expected: part(), points: part(), how: part() };
    const { head, main, below, figures, expected, points, how } = this.parts;
    points.classList.add("beyond");
    this.overlay = overlaying((overlays) => {
      this.overlays = overlays;
      if (this.doc) this.show(this.doc);
    });
    this.element = h("div", { class: "views" }, h("div", { class: "top" }, head, h("div", { class: "tools" }, ...more, this.theme)), main, below, figures, this.explore.element, this.overlay, expected, points, how);
    themed(this.theme, () => this.doc && this.draw());
  }

  /** @param {Document} doc */
  show(doc) {
    this.doc = doc;
    this.head(doc);
    this.draw();
    this.below(doc);
    this.explore.show(doc, this.overlays);
    this.expected(doc);
    this.points(doc);
    put(this.parts.how, h("h2", { id: "how" }, "How this was measured"), h("section", { class: "panel" },
      ...[["Machine", doc.machine], ["Versions", doc.versions], ["Resolved scenario", doc.scenario]].filter(([, it]) => it !== null)
        .map(([title, it]) => details(title, h("pre", { tabindex: 0 }, JSON.stringify(it, null, 2)))),
      details("What the metrics mean", h("ul", {}, ...doc.meanings.map(([name, unit, text]) => h("li", {}, h("b", {}, name), unit && ` [${unit}]`, `: ${text}`))))));
  }

  /** @param {Document} doc */
  head(doc) {
    document.title = doc.title;
    const quick = doc.quick && h("p", { class: "note bad" }, "QUICK RUN: a smoke test of the setup. Its numbers are not results.");
    put(this.parts.head, h("h1", {}, doc.title), h("p", { class: "soft" }, doc.meta.join(" · ")),
      doc.command && h("p", { class: "soft" }, "Measure again: ", h("code", {}, doc.command)), quick,
      list(doc.answers, "answer"), ...doc.warnings.map((it) => h("p", { class: "note" }, ...prose(it))));
  }

  /** The figures: the first one is above everything else. */
  draw() {
    const doc = /** @type {Document} */ (this.doc);
    const drawn = doc.figures.map((told, n) => ({ told, n })).filter(({ told }) => !told.missing);
    drawn.forEach(({ told, n }, place) => {
      if (!this.figures[place]) {
        const plot = new Plot({ height: place === 0 ? 380 : 320, labels: true });
        const words = h("div", { class: "beside" });
        plot.note.after(words);
        this.figures[place] = { plot: tooled(plot, ""), words };
      }
      const { plot, words } = this.figures[place];
      const figure = unpack(told);
      plot.name = `figure-${n + 1}-${fileName(told.title)}`;
      const caption = `Figure ${n + 1}. ${figure.caption.trim()}`;
      this.beside(words, doc, told);
      plot.next = overlaid({ ...figure, caption }, this.overlays);
    });
    this.figures.length = drawn.length;
    const [first, ...others] = this.figures.map(({ plot }) => plot.element);
    const pictures = (doc.pictures ?? []).map((svg) => h("img", { class: "picture", alt: "The system", src: `data:image/svg+xml,${encodeURIComponent(svg)}` }));
    put(this.parts.main, ...pictures, first);
    put(this.parts.figures, others.length > 0 && h("h2", { id: "figures" }, "More figures"), ...others);
    for (const { plot } of this.figures) if (plot.next) plot.draw(plot.next);
  }

  /** The details of a figure: its numbers and expectations. @param {HTMLElement} words @param {Document} doc @param {any} told */
  beside(words, doc, told) {
    const { table, plot, expected } = told;
    put(words, table && scrolled("Numbers of the figure", plain(`Numbers of: ${told.title}`, table.head, table.rows)),
      expected.length > 0 && h("ul", { class: "lines" }, ...expected.map((/** @type {number} */ n) => {
        const it = doc.expected[n];
        return h("li", {}, h("b", { class: `verdict ${it.verdict}` }, it.verdict), ` ${it.metric} at ${it.where}: ${it.published ? "published" : "expected"} ${it.paper}, measured ${it.ours}`);
      })),
      plot && doc.axes.some(({ path }) => path === plot.x) && h("button", { type: "button", class: "small", click: () => {
        this.explore.ask(plot);
        this.explore.element.scrollIntoView({ block: "start" });
        this.explore.choices.querySelector("select")?.focus();
      } }, "Draw your own figure"));
  }

  /** @param {Document} doc */
  below(doc) {
    /** @type {Map<string, string[]>} */
    const missing = new Map();
    for (const { title, missing: why } of doc.figures) if (why) missing.set(why, [...(missing.get(why) ?? []), `“${title}”`]);
    const link = (/** @type {string} */ to, /** @type {string} */ name) => h("a", { href: `#${to}` }, name);
    put(this.parts.below,
      ...[...missing].map(([why, titles]) => h("p", { class: "note" }, `Not drawn: ${titles.join(", ")}: `, ...prose(why), ".")),
      h("dl", { class: "tiles" }, ...doc.cards.map((it) => h("div", {}, h("dt", {}, it.words), h("dd", { class: `verdict ${it.class}` }, it.count)))),
      list(doc.findings, ""), ...doc.remarks.map((it) => h("p", { class: "note" }, ...prose(it))), ...doc.about.map((it) => h("p", {}, it)),
      h("nav", { "aria-label": "Parts of the report", class: "facts" }, doc.expected.length > 0 && link("expected", "Expected and measured"), link("points", "Points"), link("how", "How this was measured")));
  }

  /** @param {Document} doc */
  expected(doc) {
    const whose = doc.expected.every(({ published }) => published) ? "Published" : "Expected";
    const rows = doc.expected.map((it) => [it.metric + (it.unit && ` [${it.unit}]`), it.where, it.paper, it.ours,
      h("span", {}, h("b", { class: `verdict ${it.verdict}` }, it.verdict), it.reason && `: ${it.reason}`), it.source || "one's own"]);
    put(this.parts.expected, ...(rows.length > 0 ? [h("h2", { id: "expected" }, `${whose} and measured`), h("section", { class: "panel words" },
      scrolled("Verdicts", plain(`${whose} and measured`, ["metric", "where", whose.toLowerCase(), "measured", "verdict", "source"], rows)))] : []));
  }

  /** @param {Document} doc */
  points(doc) {
    const metrics = this.all ? doc.metrics : doc.metrics.slice(0, doc.shown);
    const shown = this.all ? doc.points : doc.points.slice(0, POINTS_MAX);
    const rows = shown.map((point) => [
      ...point.at.map((at, n) => doc.axes[n].values[at ?? -1]?.[0] ?? "–"), h("span", {}, point.outcome, point.reason && ": ", ...prose(point.reason)), point.repeats,
      ...metrics.map((_, n) => {
        const value = point.values[n] ?? null;
        return Array.isArray(value) ? value[3] ?? `${exact(value[0])}${value[1] === null ? "" : ` ± ${exact(value[1])}`}` : exact(value);
      })]);
    const head = [...doc.axes.map(({ path }) => path), "outcome", "repeats", ...metrics.map(({ name, unit }) => (unit ? `${name} [${unit}]` : name))];
    const less = shown.length < doc.points.length || metrics.length < doc.metrics.length;
    const more = h("button", { type: "button", click: () => {
      this.all = true;
      this.points(doc);
    } }, `All ${doc.points.length} points, all ${doc.metrics.length} metrics`);
    const save = h("button", { type: "button", click: () => give("points.csv", csv(pointRows(doc))) }, "Save as CSV");
    const left = doc.left_out > 0 ? ` ${doc.left_out} more metrics are in points.csv.` : "";
    const first = shown.length < doc.points.length ? `The first ${shown.length} of ${doc.points.length}. ` : "";
    put(this.parts.points, h("div", { class: "bar" }, h("h2", { id: "points" }, "Points"), h("div", { class: "tools" }, less && more, save)),
      h("p", { class: "soft" }, `${first}Mean ± half width of its ${Math.round(doc.confidence * 100)} % interval over repeats.${left}`),
      h("section", { class: "panel words" }, scrolled("Points", plain("Points", head, rows))));
  }
}
