// Message sequence chart: a lane per endpoint, an arrow per message, and the content and bytes of the selected one.
import { h, put, s, tell } from "./dom.js";
import { show } from "./figure.js";
import { plain } from "./table.js";
import { themed } from "./theme.js";

/**
 * @typedef {{n: number, at_us: number | null, from: number, to: number, side: string, name: string, fields: [string, string][], octets: number, hex: string, words: string, fault: string | null, answers: number | null, took_us: number | null}} Message
 * @typedef {{title: string, facts: string[], notes: string[], lanes: string[], messages: Message[], left_out: number}} Document
 */

/** Pixels: height of a message, height of the lane names, width of the times on the left, minimum width of a lane, size of an arrowhead. */
const ROW = 30, HEAD = 40, LEFT = 84, LANE = 170, POINT = 6;
/** Pixels per character of a lane's name and of an arrow's label. */
const SIGN = 6.4;
/** Number of bytes per line. */
const LINE = 16;

/** @param {string} text @param {number} wide */
const fit = (text, wide) => (text.length * SIGN > wide ? `${text.slice(0, Math.max(3, Math.floor(wide / SIGN) - 1))}…` : text);
/** @param {number | null} us */
const after = (us) => (us === null ? "" : `${(us / 1e6).toFixed(6)} s`);

/** Text that is indented as a tree: an indented line belongs to the line before. @param {string} text @returns {HTMLElement} */
function tree(text) {
  const root = h("ul", { class: "tree" });
  /** @type {{depth: number, list: HTMLElement}[]} */
  const open = [{ depth: -1, list: root }];
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const depth = (/** @type {string | undefined} */ line) => (line === undefined ? -1 : line.length - line.trimStart().length);
  lines.forEach((line, n) => {
    const words = line.trim();
    if (/^[{}],?$/.test(words)) return;
    const own = depth(line);
    while (open[open.length - 1].depth >= own) open.pop();
    const { list } = open[open.length - 1];
    let next = n + 1;
    while (/^\s*[{}],?$/.test(lines[next] ?? "")) next += 1;
    const said = words.replace(/\s*\{?,?$/, "");
    if (depth(lines[next]) <= own) return list.append(h("li", {}, said));
    const below = h("ul");
    list.append(h("li", {}, h("details", { open: open.length < 4 }, h("summary", {}, said || "…"), below)));
    open.push({ depth: own, list: below });
  });
  return root;
}

/** Bytes with their offsets, and as characters. @param {Message} message */
function dump({ hex, octets }) {
  const all = hex.match(/../g) ?? [];
  const lines = [];
  for (let at = 0; at < all.length; at += LINE) {
    const line = all.slice(at, at + LINE);
    const signs = line.map((it) => String.fromCharCode(parseInt(it, 16)).replace(/[^ -~]/, "·")).join("");
    lines.push(`${at.toString(16).padStart(4, "0")}  ${line.join(" ").padEnd(LINE * 3)} ${signs}`);
  }
  if (octets > all.length) lines.push(`… ${octets - all.length} more bytes`);
  return lines.join("\n");
}

export class Sequence {
  constructor() {
    this.theme = h("button", { type: "button", class: "theme" });
    this.head = h("div");
    this.find = h("input", { type: "search", id: "find", placeholder: "name, field or end", input: () => this.filter() });
    this.faults = h("input", { type: "checkbox", change: () => this.filter() });
    this.count = h("p", { class: "soft", role: "status" });
    this.svg = s("svg", { class: "sequence", role: "img", tabindex: 0, "aria-label": "Messages by lane and time. Arrow keys choose a message, Home and End the first and the last; its content is shown below, and the table lists all messages." });
    this.view = h("div", { class: "lanes" }, this.svg);
    this.chosen = h("section", { class: "panel", "aria-label": "Selected message" });
    this.said = h("p", { class: "hidden", role: "status" });
    this.table = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Messages" });
    this.details = h("details", { class: "behind", toggle: () => this.rows() }, h("summary", {}, "Messages as a table"), this.table);
    this.element = h("div", { class: "views" }, h("div", { class: "top" }, this.head, h("div", { class: "tools" }, this.theme)),
      h("section", { class: "panel", "aria-label": "Sequence" }, h("div", { class: "bar" }, h("label", { class: "field", for: "find" }, "Find", this.find),
        h("label", { class: "check" }, this.faults, "Only faults"), this.count), this.view, this.said, this.details), this.chosen);
    /** @type {Document | null} */
    this.doc = null;
    /** Indices of the shown messages. @type {number[]} */
    this.shown = [];
    this.at = -1;
    this.width = 0;
    this.svg.addEventListener("keydown", (event) => this.step(/** @type {KeyboardEvent} */ (event)));
    this.svg.addEventListener("click", (event) => {
      const row = /** @type {Element} */ (event.target).closest("[data-at]");
      if (row) this.choose(Number(row.getAttribute("data-at")));
    });
    themed(this.theme);
    new ResizeObserver(() => this.draw()).observe(this.view);
  }

  /** @param {Document} doc */
  show(doc) {
    this.doc = doc;
    document.title = doc.title;
    put(this.head, h("h1", {}, doc.title), ...doc.facts.filter(Boolean).map((it) => h("p", { class: "soft" }, it)), ...doc.notes.map((it) => h("p", { class: "note" }, it)));
    this.filter();
    if (this.at < 0 && doc.messages.length > 0) this.choose(Math.max(0, doc.messages.findIndex(({ fault }) => fault)));
  }

  filter() {
    const { messages, lanes } = /** @type {Document} */ (this.doc);
    const wanted = this.find.value.trim().toLowerCase();
    const text = (/** @type {Message} */ it) => `${it.name} ${it.fields.map((field) => field.join("=")).join(" ")} ${lanes[it.from]} ${lanes[it.to]} ${it.fault ?? ""}`.toLowerCase();
    this.shown = messages.flatMap((it, n) => ((it.fault || !this.faults.checked) && text(it).includes(wanted) ? [n] : []));
    const faults = messages.filter(({ fault }) => fault).length;
    tell(this.count, `${this.shown.length} of ${messages.length} messages, ${faults} with a fault`);
    this.width = 0;
    this.draw();
    this.rows();
  }

  draw() {
    const { doc } = this;
    if (!doc || this.view.clientWidth === 0 || this.view.clientWidth === this.width) return;
    this.width = this.view.clientWidth;
    const lane = Math.max(LANE, (this.width - LEFT - 10) / Math.max(doc.lanes.length, 1));
    const [wide, high] = [LEFT + lane * doc.lanes.length, HEAD + this.shown.length * ROW + 10];
    const x = (/** @type {number} */ at) => LEFT + lane * (at + 0.5);
    const lanes = doc.lanes.flatMap((name, n) => [
      s("line", { class: "grid", x1: x(n), x2: x(n), y1: HEAD - 8, y2: high }),
      s("text", { class: "tick label", x: x(n), y: 18, "text-anchor": "middle" }, s("title", {}, name), fit(name, lane - 8)),
    ]);
    const rows = this.shown.map((n, row) => this.arrow(doc.messages[n], n, HEAD + row * ROW, x, wide));
    put(this.svg, ...lanes, ...rows);
    for (const [name, value] of Object.entries({ width: wide, height: high, viewBox: `0 0 ${wide} ${high}` })) this.svg.setAttribute(name, String(value));
    this.mark();
  }

  /** @param {Message} it @param {number} n @param {number} top @param {(lane: number) => number} x @param {number} wide */
  arrow(it, n, top, x, wide) {
    const y = top + ROW - 9;
    const [a, b] = [x(it.from), x(it.to)];
    const to = Math.sign(b - a) || 1;
    const took = it.took_us === null ? "" : `  ${show(it.took_us, "us")}`;
    const room = (a === b ? wide - a : Math.abs(b - a)) - 8;
    const way = a === b ? `M${a} ${y}h18` : `M${a} ${y}H${b - to * POINT}`;
    const tip = a === b ? a + 18 + POINT : b;
    return s("g", { class: `said${it.fault ? " fault" : ""}${it.answers === null ? "" : " answer"}`, "data-at": n },
      s("rect", { x: 0, y: top, width: wide, height: ROW }),
      s("text", { class: "tick", x: LEFT - 8, y: y + 4, "text-anchor": "end" }, it.at_us === null ? "" : (it.at_us / 1e6).toFixed(4)),
      s("path", { class: "way", d: way }), s("path", { class: "tip", d: `M${tip} ${y}l${-to * POINT} -4v8z` }),
      s("text", { class: "tick words", x: a === b ? a + 30 : (a + b) / 2, y: y - 5, "text-anchor": a === b ? "start" : "middle" },
        s("title", {}, `${it.name}${it.fault ? `: ${it.fault}` : ""}`), fit(`${it.fault ? "✕ " : ""}${it.name}${took}`, room)));
  }

  /** @param {KeyboardEvent} event */
  step(event) {
    const place = this.shown.indexOf(this.at);
    const wanted = { ArrowDown: place + 1, ArrowRight: place + 1, ArrowUp: place - 1, ArrowLeft: place - 1, Home: 0, End: this.shown.length - 1 }[event.key];
    if (wanted === undefined || this.shown.length === 0) return;
    event.preventDefault();
    this.choose(this.shown[Math.min(Math.max(wanted, 0), this.shown.length - 1)]);
  }

  mark() {
    for (const row of this.svg.querySelectorAll(".said")) row.classList.toggle("on", row.getAttribute("data-at") === String(this.at));
  }

  /** @param {number} n */
  choose(n) {
    const { messages, lanes } = /** @type {Document} */ (this.doc);
    const it = messages[n];
    this.at = n;
    this.mark();
    const row = this.shown.indexOf(n);
    const top = HEAD + row * ROW;
    if (row >= 0 && (top < this.view.scrollTop + HEAD || top + ROW > this.view.scrollTop + this.view.clientHeight)) this.view.scrollTop = top - this.view.clientHeight / 2;
    const way = `${lanes[it.from]} to ${lanes[it.to]}`;
    tell(this.said, `${it.n}: ${it.name}, ${way}${it.fault ? `, fault: ${it.fault}` : ""}`);
    const link = (/** @type {number} */ to, /** @type {string} */ words) => h("button", { type: "button", class: "small", click: () => this.choose(to) }, words);
    const answer = messages.findIndex(({ answers }) => answers === n);
    put(this.chosen, h("div", { class: "bar" }, h("h2", {}, `${it.n}. ${it.name}`), h("div", { class: "tools" },
      it.answers !== null && link(it.answers, `Its request, ${show(it.took_us, "us")} before`), answer >= 0 && link(answer, `Its response, ${show(messages[answer].took_us, "us")} later`))),
    h("p", { class: "soft" }, [after(it.at_us), it.side, way, `${it.octets} bytes`].filter(Boolean).join(" · ")), it.fault && h("p", { class: "note bad" }, it.fault),
    h("ul", { class: "facts" }, ...it.fields.map(([name, value]) => h("li", {}, h("b", {}, name), ` ${value}`))),
    h("div", { class: "two" }, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Content" }, it.words ? tree(it.words) : h("p", { class: "soft" }, "It cannot be decoded.")),
      h("pre", { tabindex: 0, "aria-label": "Bytes" }, dump(it))));
  }

  rows() {
    const { doc } = this;
    if (!this.details.open || !doc) return;
    const row = (/** @type {Message} */ it, /** @type {number} */ n) => [h("button", { type: "button", class: "small", click: () => this.choose(n) }, `${it.n}`), after(it.at_us), doc.lanes[it.from], doc.lanes[it.to], it.name, it.took_us === null ? "" : show(it.took_us, "us"), it.fault ?? ""];
    put(this.table, plain("Messages", ["message", "time", "from", "to", "name", "answered after", "fault"], this.shown.map((n) => row(doc.messages[n], n))));
  }
}
