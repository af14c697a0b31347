// Tables: that of a figure, created when it is opened; and one of any length, of which only visible rows exist.
import { h, put, set, tell } from "./dom.js";
import { table } from "./figure.js";

/** Maximum number of rows of a figure. */
const BEHIND_MAX = 200;
/** Height of a row of a long table, in pixels; see page.css. */
const ROW = 36;
/** Number of rows beyond the edge that exist in advance. */
const BEYOND = 4;

/**
 * A table as an element.
 * @param {string} caption
 * @param {string[]} head
 * @param {(import("./dom.js").Child)[][]} rows the first cell of each is its heading
 */
export function plain(caption, head, rows) {
  const cells = (/** @type {import("./dom.js").Child[]} */ row) => row.map((cell, n) => (n === 0 ? h("th", { scope: "row" }, cell) : h("td", {}, cell)));
  return h("table", {},
    h("caption", { class: "hidden" }, caption),
    h("thead", {}, h("tr", {}, ...head.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...rows.map((row) => h("tr", {}, ...cells(row)))));
}

/**
 * The table of a figure, closed until the user opens it.
 * @param {() => import("./figure.js").Figure | null} get
 */
export function behind(get) {
  const body = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Values of the figure" });
  const details = h("details", { class: "behind" }, h("summary", {}, "Values as a table"), body);
  let at = 0;
  const refresh = () => {
    const figure = get();
    // A table that changes once a second would be hard to read.
    if (!details.open || !figure || performance.now() - at < 5_000) return;
    at = performance.now();
    const { head, rows } = table(figure);
    put(body, plain(figure.title, head, rows.slice(0, BEHIND_MAX)));
  };
  details.addEventListener("toggle", () => { at = -Infinity; refresh(); });
  return Object.assign(details, { refresh });
}

/**
 * @template R
 * @typedef {object} Column
 * @property {string} name
 * @property {(row: R) => string | number} sort what it is sorted by: `natural` for names
 * @property {(row: R) => import("./dom.js").Child} cell
 * @property {boolean} [number]
 * @property {boolean} [fixed] of a row it never changes: the order by it lasts as long as the rows
 * @property {boolean} [wide] left out where the window is narrow
 */

/**
 * A table of any length, sorted by its columns, of which only visible rows exist.
 * @template R
 */
export class Long {
  /** @param {string} label @param {Column<R>[]} columns @param {(row: R) => string | number} key */
  constructor(label, columns, key) {
    this.columns = columns;
    this.key = key;
    this.by = 0;
    this.down = false;
    /** @type {R[]} */
    this.rows = [];
    /** The rows and their order. */
    this.version = "";
    /** @type {Map<string | number, {row: HTMLElement, cells: HTMLElement[]}>} */
    this.shown = new Map();
    this.head = h("div", { class: "tr head", role: "row", "aria-rowindex": 1 }, ...columns.map((column, n) => this.heading(column, n)));
    this.space = h("div", { class: "space", role: "rowgroup" });
    this.view = h("div", { class: "long", role: "table", "aria-label": label, tabindex: 0 },
      h("div", { role: "rowgroup", class: "top" }, this.head), this.space);
    // Kept here, because reading them while writing would force a layout.
    this.top = this.tall = 0;
    this.view.addEventListener("scroll", () => {
      this.top = this.view.scrollTop;
      this.show();
    }, { passive: true });
    new ResizeObserver(() => {
      [this.top, this.tall] = [this.view.scrollTop, this.view.clientHeight];
      this.show();
    }).observe(this.view);
    this.element = this.view;
  }

  /** @param {Column<R>} column @param {number} n */
  heading(column, n) {
    const button = h("button", { type: "button", click: () => this.order(n) }, column.name);
    return h("div", { role: "columnheader", class: kind(column) }, button);
  }

  /** @param {number} n */
  order(n) {
    this.down = this.by === n ? !this.down : this.columns[n].number === true;
    this.by = n;
    this.version = "";
    this.fill(this.rows);
  }

  /** @param {R[]} rows @param {string} [version] the same for the same rows */
  fill(rows, version = "") {
    const { sort, fixed } = this.columns[this.by];
    if (fixed && version !== "" && version === this.version) return this.show();
    this.version = version;
    const sign = this.down ? -1 : 1;
    const keyed = rows.map((row) => ({ row, by: sort(row) }));
    keyed.sort((a, b) => (a.by === b.by ? 0 : a.by < b.by ? -sign : sign));
    this.rows = keyed.map(({ row }) => row);
    [...this.head.children].forEach((cell, n) => {
      set(cell, { "aria-sort": n === this.by ? (this.down ? "descending" : "ascending") : undefined });
    });
    set(this.view, { "aria-rowcount": this.rows.length + 1 });
    this.space.style.height = `${this.rows.length * ROW}px`;
    this.show();
  }

  /** Creates the visible rows. */
  show() {
    const first = Math.max(0, Math.floor(this.top / ROW) - BEYOND);
    const last = Math.min(this.rows.length, Math.ceil((this.top + this.tall) / ROW) + BEYOND);
    const wanted = this.rows.slice(first, last);
    const keys = new Set(wanted.map(this.key));
    for (const [key, { row }] of this.shown) {
      if (keys.has(key)) continue;
      row.remove();
      this.shown.delete(key);
    }
    wanted.forEach((of, n) => {
      const key = this.key(of);
      let made = this.shown.get(key);
      if (!made) {
        const cells = this.columns.map((column, at) => h("div", { role: at === 0 ? "rowheader" : "cell", class: kind(column) }));
        made = { row: h("div", { class: "tr", role: "row" }, ...cells), cells };
        this.shown.set(key, made);
      }
      this.columns.forEach((column, at) => fillCell(made.cells[at], column.cell(of)));
      set(made.row, { "aria-rowindex": first + n + 2 });
      made.row.style.transform = `translateY(${(first + n) * ROW}px)`;
      // In reading order, without moving the focus from rows that stay.
      const place = this.space.children[n];
      if (place !== made.row) this.space.insertBefore(made.row, place ?? null);
    });
  }
}

/** Sort key for natural order: `gnb 9` before `gnb 10`. A number is preceded by its length. @param {string} text */
export function natural(text) {
  return text.toLowerCase().replace(/0*(\d+)/g, (_, digits) => String.fromCharCode(0x2f + digits.length) + digits);
}

/** @param {Column<any>} column */
function kind(column) {
  return `td${column.number ? " n" : ""}${column.wide ? " wide" : ""}`;
}

/** @param {HTMLElement} cell @param {import("./dom.js").Child} content */
function fillCell(cell, content) {
  if (!(content instanceof Node)) return tell(cell, String(content ?? ""));
  const there = cell.firstChild;
  if (there instanceof Element && content instanceof Element && there.isEqualNode(content)) return;
  put(cell, content);
}
