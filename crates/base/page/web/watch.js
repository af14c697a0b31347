// A subscribed service model of a node: values of its reports per second, of all rows together and of each.
import { figure } from "./figure.js";
import { SPAN_S, Track } from "./history.js";
import { leases } from "./net.js";

/**
 * @typedef {{name: string, unit: string, kind: "counter" | "gauge" | "label", headline: boolean}} Column
 * @typedef {{name: string, oid: string, periodic: boolean, control: boolean, columns: Column[]}} Model
 * @typedef {import("./figure.js").Figure} Figure
 */

/** Maximum number of rows with a history of their own; further rows are part of the mean only. */
const ROWS_MAX = 256;
/** Number of figures of a model, unless the user requests all. */
const FIGURES = 6;
/** Limits of the delay classes, in microseconds. */
const DELAYS = [0, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5];

/** @typedef {{name: string, scope: string, cells: Record<string, any>, rates: Map<string, number>, before: Map<string, [number, number]>, tracks: Map<string, Track>, at: number}} Row */

/** The UE or slice of a row, and its text. @param {Record<string, any>} row */
function named(row) {
  const part = (/** @type {string} */ word, /** @type {any} */ id) => (id === undefined ? [] : [`${word} ${id}`]);
  const scope = row.rnti !== undefined ? `UE ${row.rnti}` : row.slice_id !== undefined ? `slice ${row.slice_id}` : typeof row.of === "string" ? row.of : "node";
  const parts = [scope, ...part("bearer", row.rbid), ...part("queue", row.queue_id), ...part("tunnel", row.teid)];
  if (typeof row.measurement === "string") parts.push(row.measurement, row.label ?? "");
  return { scope, name: parts.filter((it) => it !== "").join(", ") };
}

export class Watch {
  /** @param {string} node @param {Model} model @param {number} period_ms @param {object} [more] */
  constructor(node, model, period_ms, more = {}) {
    this.node = node;
    this.model = model;
    this.period_ms = period_ms;
    this.more = more;
    /** @type {number | null} */
    this.id = null;
    this.over = false;
    this.error = "";
    this.reports = 0;
    this.missed = 0;
    this.malformed = "";
    /** @type {number | null} */
    this.sn = null;
    /** @type {Map<string, Row>} */
    this.rows = new Map();
    /** Of all rows. @type {Map<string, Track>} */
    this.tracks = new Map();
    this.delay = new Track();
    /** Reports per second. @type {Map<number, number>} */
    this.heard = new Map();
    /** Reports per delay class and second. @type {Map<number, number[]>} */
    this.delays = new Map();
    /** KPM has a row per measurement: its columns are the measurements. */
    this.tall = model.columns.some((column) => column.name === "measurement");
    this.measurements = /** @type {Set<string>} */ (new Set());
  }

  async begin() {
    try {
      const id = await leases.begin({ node: this.node, sm: this.model.name, period_ms: this.period_ms, ...this.more });
      if (this.over) leases.end(id);
      else this.id = id;
    } catch (error) {
      this.error = error instanceof Error ? error.message : String(error);
    }
  }

  end() {
    this.over = true;
    if (this.id !== null) leases.end(this.id);
    this.id = null;
  }

  /** Handles a report. @param {any} line @param {number} now seconds */
  hear(line, now) {
    this.reports += 1;
    if (line.sn !== null) {
      // Sequence numbers have 16 bits.
      if (this.sn !== null) this.missed += (line.sn - this.sn - 1 + 65_536) % 65_536;
      this.sn = line.sn;
    }
    this.malformed = line.malformed ?? "";
    const second = Math.floor(now);
    this.heard.set(second, (this.heard.get(second) ?? 0) + 1);
    for (const old of this.heard.keys()) if (old < second - SPAN_S) this.heard.delete(old);
    if (typeof line.delay_us === "number") this.delayed(line.delay_us, now);
    const time = typeof line.tstamp_us === "number" ? line.tstamp_us / 1e6 : now;
    /** @type {Map<string, number[]>} */
    const all = new Map();
    for (const cells of line.rows ?? []) {
      for (const [name, value] of this.values(cells, time, now)) {
        const list = all.get(name);
        if (list) list.push(value);
        else all.set(name, [value]);
      }
    }
    for (const [name, values] of all) {
      const sum = values.reduce((total, value) => total + value, 0);
      track(this.tracks, name).add(now, sum / values.length, Math.min(...values), Math.max(...values));
    }
    for (const [key, row] of this.rows) if (row.at < now - SPAN_S) this.rows.delete(key);
  }

  /** @param {number} delay @param {number} now */
  delayed(delay, now) {
    this.delay.add(now, delay);
    const second = Math.floor(now);
    const counts = this.delays.get(second) ?? DELAYS.map(() => 0);
    let at = 0;
    while (at + 1 < DELAYS.length && delay >= DELAYS[at + 1]) at += 1;
    counts[at] += 1;
    this.delays.set(second, counts);
    for (const old of this.delays.keys()) if (old < second - SPAN_S) this.delays.delete(old);
  }

  /**
   * The numbers of a row: gauges themselves, of counters what they grew by in a second.
   * @param {Record<string, any>} cells @param {number} time @param {number} now
   * @returns {[string, number][]}
   */
  values(cells, time, now) {
    const { name, scope } = named(cells);
    let row = this.rows.get(name);
    if (!row && this.rows.size < ROWS_MAX) {
      row = { name, scope, cells, rates: new Map(), before: new Map(), tracks: new Map(), at: now };
      this.rows.set(name, row);
    }
    if (!row) return [];
    row.cells = cells;
    row.at = now;
    /** @type {[string, number][]} */
    const found = [];
    for (const column of this.model.columns) {
      const raw = cells[column.name];
      if (typeof raw !== "number" || column.kind === "label") continue;
      const id = this.tall ? [cells.measurement, cells.label].filter(Boolean).join(" ") : column.name;
      if (this.tall && column.name !== "value") continue;
      if (this.tall) this.measurements.add(id);
      let value = raw;
      if (column.kind === "counter") {
        const before = row.before.get(id);
        row.before.set(id, [time, raw]);
        // The first report, and the first after a restart, has no difference.
        if (!before || time <= before[0] || raw < before[1]) continue;
        value = (raw - before[1]) / (time - before[0]);
      }
      row.rates.set(id, value);
      track(row.tracks, id).add(now, value);
      found.push([id, value]);
    }
    return found;
  }

  /** UEs, slices and other subjects of rows. */
  scopes() {
    return [...new Set([...this.rows.values()].map((row) => row.scope))].sort(new Intl.Collator("en", { numeric: true }).compare);
  }

  /** Quantities that can be drawn: id, title, unit. @param {boolean} every @returns {{id: string, title: string, unit: string}[]} */
  columns(every) {
    if (this.tall) {
      const names = [...this.measurements].sort();
      return (every ? names : names.slice(0, FIGURES)).map((id) => ({ id, title: id, unit: "" }));
    }
    const numbers = this.model.columns.filter((column) => column.kind !== "label");
    const head = numbers.filter((column) => column.headline);
    const chosen = every ? numbers : (head.length > 0 ? head : numbers).slice(0, FIGURES);
    return chosen.map(({ name, kind, unit }) => {
      const per = kind === "counter";
      return { id: name, title: per ? `${name} per second` : name, unit: per && unit ? `${unit}/s` : unit };
    });
  }

  /**
   * A column's figure: the mean of all rows from the lowest to the highest, or each row of a UE or slice.
   * @param {{id: string, title: string, unit: string}} column @param {string} scope empty for all
   * @param {Figure["marks"]} marks @returns {Figure}
   */
  figure(column, scope, marks) {
    const { id, title, unit } = column;
    const of = [...this.rows.values()].filter((row) => row.scope === scope && row.tracks.has(id)).slice(0, 8);
    /** @type {Figure["series"]} */
    const series = scope
      ? of.map((row, color) => ({ name: row.name, form: "line", color, samples: track(row.tracks, id).samples }))
      : [{ name: "mean, lowest to highest", form: "band", color: 0, samples: this.tracks.get(id)?.samples ?? [] }];
    return figure({ title, unit, series, marks });
  }

  /** Slices as stacked areas over time. @param {string} id @param {string} title @param {string} unit @param {Figure["marks"]} marks @returns {Figure} */
  areas(id, title, unit, marks) {
    const rows = [...this.rows.values()].sort((a, b) => Number(a.cells.slice_id) - Number(b.cells.slice_id));
    const series = rows.map((row, color) => ({ name: row.name, form: /** @type {const} */ ("area"), color, samples: track(row.tracks, id).samples.map((sample) => this.share(sample)) }));
    return figure({ title, unit, series, marks, caption: "Stacked: the upper edge is the sum of all slices." });
  }

  /**
   * What a row had of a whole second: one that came or went within it was not there in all of its reports.
   * @param {import("./history.js").Sample} sample
   */
  share(sample) {
    const part = Math.min(1, (sample.n ?? 1) / (this.heard.get(sample.x) ?? 1));
    return { ...sample, y: sample.y * part, low: sample.low * part, high: sample.high * part };
  }

  /** Delays of reports as a heat map. @returns {Figure} */
  heat() {
    const from = DELAYS.map((edge, at) => ({ at, name: at === 0 ? "below 100 µs" : `${edge >= 1e3 ? `${edge / 1e3} ms` : `${edge} µs`} and more` }));
    const seconds = [...this.delays].sort(([a], [b]) => a - b);
    const rows = from.reverse().map(({ at, name }) => ({
      name, form: /** @type {const} */ ("cells"), color: 0,
      samples: seconds.filter(([, counts]) => counts[at] > 0).map(([x, counts]) => ({ x, y: counts[at], low: counts[at], high: counts[at] })),
    }));
    const any = rows.some((row) => row.samples.length > 0);
    return figure({
      title: "Reports by their delay, base station to RIC", series: any ? rows : [], missing: any ? "" : "These reports have no time stamp.",
      caption: "From the report's time stamp (clock of the base station) to its arrival (clock of the RIC).",
    });
  }
}

/** @param {Map<string, Track>} tracks @param {string} name @returns {Track} */
function track(tracks, name) {
  let found = tracks.get(name);
  if (!found) tracks.set(name, (found = new Track()));
  return found;
}
