// Requests, streams and leases. The token is kept for this tab and sent in a header, never in a URL, which could be logged.
import { pause, turn } from "./turns.js";

const KEY = "ranlab token";
/** Lease of a subscription after the last renewal of its tab, in seconds. */
export const LEASE_S = 30;
/** Interval of renewals, in milliseconds. */
const RENEWAL = 10_000;
/** First and maximum delay before a stream is reconnected, in milliseconds. */
const PATIENCE = [500, 8_000];

/** A response with an unexpected status: the status and the server's message. */
export class Refused extends Error {
  /** @param {number} status @param {string} detail @param {any} [body] */
  constructor(status, detail, body) {
    super(detail);
    this.status = status;
    this.body = body;
  }
}

/** Removes a token from the URL (`#token=…`), so that it does not stay there. */
export function takeToken() {
  const found = /^#token=(.+)$/.exec(location.hash);
  if (!found) return;
  keepToken(decodeURIComponent(found[1]));
  history.replaceState(null, "", "#/");
}

/** @param {string} token */
export function keepToken(token) {
  sessionStorage.setItem(KEY, token.trim());
}

/** @returns {Record<string, string>} */
function bearer() {
  const token = sessionStorage.getItem(KEY);
  return token ? { authorization: `Bearer ${token}` } : {};
}

/** @param {Response} response */
async function refused(response) {
  const body = await response.json().catch(() => ({}));
  return new Refused(response.status, body.detail ?? response.statusText, body);
}

/**
 * Requests JSON.
 * @param {string} method
 * @param {string} path
 * @param {any} [body]
 * @returns {Promise<any>}
 */
export async function ask(method, path, body) {
  /** @type {Record<string, string>} */
  const headers = { ...bearer() };
  if (body !== undefined) headers["content-type"] = "application/json";
  const text = body === undefined ? undefined : JSON.stringify(body);
  const response = await fetch(path, { method, headers, body: text, keepalive: method === "DELETE" });
  if (!response.ok) throw await refused(response);
  return response.status === 204 ? null : response.json();
}

/** Requests text. @param {string} path @returns {Promise<string>} */
export async function read(path) {
  const response = await fetch(path, { headers: bearer() });
  if (!response.ok) throw await refused(response);
  return response.text();
}

/**
 * Reads server-sent events until the signal or the server ends the stream.
 * @param {string} path
 * @param {AbortSignal} signal
 * @param {() => void} opened
 * @param {(event: string, data: any) => void} hear
 */
async function follow(path, signal, opened, hear) {
  const response = await fetch(path, { headers: { accept: "text/event-stream", ...bearer() }, signal });
  if (!response.ok || !response.body) throw await refused(response);
  opened();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop() ?? "";
    let over = turn();
    for (const event of events) {
      const line = /^event: (.*)\ndata: (.*)$/.exec(event);
      if (line) hear(line[1], JSON.parse(line[2]));
      if (!over()) continue;
      await pause();
      if (signal.aborted) return;
      over = turn();
    }
  }
}

/** @typedef {"connecting" | "live" | "lost" | "locked" | "resting"} Health */

/** A stream that reconnects when it ends, and pauses while the page is hidden. */
export class Stream {
  /**
   * @param {string} path
   * @param {(event: string, data: any) => void} hear
   * @param {(health: Health, why: string) => void} [tell]
   */
  constructor(path, hear, tell = () => {}) {
    this.path = path;
    this.hear = hear;
    this.tell = tell;
    this.closed = false;
    this.tries = 0;
    /** @type {AbortController | null} */
    this.abort = null;
    /** @type {number | undefined} */
    this.timer = undefined;
    this.open();
  }

  open() {
    clearTimeout(this.timer);
    if (this.closed || this.abort) return;
    const abort = new AbortController();
    this.abort = abort;
    this.tell("connecting", "");
    const opened = () => {
      this.tries = 0;
      this.tell("live", "");
    };
    const hear = (/** @type {string} */ event, /** @type {any} */ data) => {
      // Missed events cannot be requested: the whole state is requested again.
      if (event === "let_go") abort.abort();
      else this.hear(event, data);
    };
    follow(this.path, abort.signal, opened, hear).then(
      () => this.ended(abort, "the server ended the stream"),
      (error) => this.ended(abort, error),
    );
  }

  /** @param {AbortController} abort @param {any} why */
  ended(abort, why) {
    if (this.abort !== abort) return;
    this.abort = null;
    if (this.closed) return;
    if (why instanceof Refused && why.status === 401) {
      this.tell("locked", why.message);
      return;
    }
    const wait = Math.min(PATIENCE[0] * 2 ** this.tries, PATIENCE[1]);
    this.tries += 1;
    this.tell("lost", why instanceof Refused ? why.message : "the server does not respond");
    this.timer = setTimeout(() => this.open(), wait);
  }

  /** Starts again: the whole state is sent. */
  again() {
    this.rest();
    this.open();
  }

  /** Receives nothing until it is opened. */
  rest() {
    clearTimeout(this.timer);
    const abort = this.abort;
    this.abort = null;
    abort?.abort();
  }

  close() {
    this.closed = true;
    this.rest();
  }
}

/** Subscriptions that last as long as the page needs them. */
class Leases {
  constructor() {
    /** @type {Set<number>} */
    this.held = new Set();
    setInterval(() => this.renew(), RENEWAL);
    addEventListener("pagehide", () => this.held.forEach((id) => this.end(id)));
  }

  /** @param {{node: string, sm: string, period_ms: number}} wanted @returns {Promise<number>} */
  async begin(wanted) {
    const made = await ask("POST", "/v1/subscriptions", { ...wanted, lease_s: LEASE_S });
    this.held.add(made.id);
    return made.id;
  }

  /** @param {number} id */
  end(id) {
    if (!this.held.delete(id)) return;
    // A subscription that no longer exists need not be deleted.
    ask("DELETE", `/v1/subscriptions/${id}`).catch(() => {});
  }

  renew() {
    const subscriptions = [...this.held];
    if (subscriptions.length === 0) return;
    const renewed = ask("POST", "/v1/leases", { subscriptions, lease_s: LEASE_S });
    renewed.then(
      (answer) => answer.unknown.forEach((/** @type {number} */ id) => this.held.delete(id)),
      () => {},
    );
  }
}

export const leases = new Leases();
