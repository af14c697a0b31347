// The state of all nodes and xApps, as sent by the server.
import { SPAN_S, Track } from "./history.js";
import { natural } from "./table.js";

export const STATES = ["away", "idle", "reporting", "silent"];
/** Maximum number of log lines. */
const LOG_MAX = 60;

/**
 * `order`: sort key.
 * @typedef {{key: number, id: string, order: string, kind: string, models: string[], peer: string, state: number, rate: number,
 *   subscriptions: number, requests: number, queued: number, delay: number | null}} NodeRow
 * @typedef {{id: string, peer: string, tenant: string, subscriptions: number, requests: number, taken_per_s: number | null,
 *   dropped_per_s: number | null, dropped: number, queued_bytes: number}} XappRow
 * @typedef {{node: string | null, peer: string, hint: string, times: number}} HintRow
 * @typedef {{at: number, text: string}} LogLine
 */

export class Store {
  constructor() {
    /** @type {Map<number, NodeRow>} */
    this.nodes = new Map();
    /** @type {XappRow[]} */
    this.xapps = [];
    /** @type {HintRow[]} */
    this.hints = [];
    /** @type {Record<string, number> | null} */
    this.totals = null;
    /** Delays of each node, by second. @type {Map<number, Track>} */
    this.delays = new Map();
    /** @type {LogLine[]} */
    this.log = [];
    /** Rates of all nodes together, by name. @type {Map<string, Track>} */
    this.tracks = new Map();
    /** Increased when a node is added or removed. */
    this.shape = 0;
  }

  clear() {
    this.nodes.clear();
    this.delays.clear();
    this.xapps = [];
    this.hints = [];
    this.totals = null;
  }

  /**
   * @param {any} line
   * @param {number} now seconds
   */
  hear(line, now) {
    const known = new Set();
    if (line.begin) {
      for (const node of this.nodes.values()) known.add(node.id);
      this.clear();
    }
    for (const [key, id, kind, models, peer] of line.new) {
      const list = models ? models.split(",") : [];
      const before = this.nodes.get(key);
      const row = before ?? { state: 0, rate: 0, subscriptions: 0, requests: 0, queued: 0, delay: null };
      this.nodes.set(key, { ...row, key, id, order: natural(id), kind, models: list, peer });
      if (this.totals && !before && !known.has(id)) this.note(now, `${id} came`);
    }
    for (const [key, state, rate, subscriptions, requests, queued, delay] of line.set) {
      const node = this.nodes.get(key);
      if (!node) continue;
      if (node.state !== state && this.totals && (state === 0 || state === 3)) this.note(now, `${node.id} is ${STATES[state]}`);
      Object.assign(node, { state, rate, subscriptions, requests, queued, delay });
    }
    for (const key of line.gone) {
      const node = this.nodes.get(key);
      if (node) this.note(now, `${node.id} is forgotten`);
      this.nodes.delete(key);
      this.delays.delete(key);
    }
    if (line.totals) this.total(line, now);
    if (line.begin || line.new.length > 0 || line.gone.length > 0) this.shape += 1;
  }

  /** @param {any} line @param {number} now */
  total(line, now) {
    this.totals = line.totals;
    this.xapps = line.xapps;
    this.hints = line.hints;
    for (const [name, value] of Object.entries(line.totals)) {
      if (typeof value !== "number") continue;
      let track = this.tracks.get(name);
      if (!track) this.tracks.set(name, (track = new Track()));
      track.add(now, value);
    }
    for (const node of this.nodes.values()) {
      if (node.delay === null) continue;
      let track = this.delays.get(node.key);
      if (!track) this.delays.set(node.key, (track = new Track()));
      track.add(now, Math.max(node.delay, 0));
    }
    for (const [key, track] of this.delays) {
      const last = track.samples[track.samples.length - 1];
      if (!last || last.x < now - SPAN_S) this.delays.delete(key);
    }
  }

  /** @param {number} now @param {string} text */
  note(now, text) {
    this.log.unshift({ at: now, text });
    this.log.length = Math.min(this.log.length, LOG_MAX);
  }

  /** @param {string} id @returns {NodeRow | undefined} */
  byId(id) {
    for (const node of this.nodes.values()) if (node.id === id) return node;
    return undefined;
  }
}
