// The page: receives the state from the server and shows the view that the URL names.
import { h, put } from "./dom.js";
import { lock, tellPill } from "./lock.js";
import { ask, Stream, takeToken } from "./net.js";
import { NodeView } from "./node.js";
import { nodeLink, Overview } from "./overview.js";
import { Store } from "./store.js";
import { themed } from "./theme.js";
import { Turns, whole } from "./turns.js";

/** Interval of drawing, in milliseconds. */
const DRAW = 1_000;
/** Time for which a hidden page stays connected, in milliseconds. */
const HIDDEN = 20_000;

const element = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const main = element("main"), nav = element("nav"), health = element("health"), theme = element("theme");
const store = new Store();
const turns = new Turns();
/** @type {Overview | NodeView | null} */
let view = null;
/** @type {import("./watch.js").Model[]} */
let models = [];
/** @type {Stream | null} */
let stream = null;

/** @param {import("./net.js").Health} now @param {string} why */
function tellHealth(now, why) {
  tellPill(health, now, why);
  if (now !== "locked") return;
  view?.close();
  view = null;
  const { form, field } = lock("This RIC", "--http-token-file", why, () => void start());
  put(main, form);
  put(nav);
  field.focus();
}

/** Shows the view of the URL. */
function route() {
  turns.stop();
  view?.close();
  const found = location.hash.match(/^#\/node\/(.+)$/);
  let id = "";
  try {
    id = found ? decodeURIComponent(found[1]) : "";
  } catch {
    // A URL that this page did not create has no view.
  }
  view = id ? new NodeView(store, id, models) : new Overview(store);
  put(view.element, ...view.parts);
  put(main, view.element);
  const link = (/** @type {string} */ href, /** @type {string} */ name, /** @type {boolean} */ here) => h("a", { href, "aria-current": here && "page" }, name);
  put(nav, link("#/", "Overview", !id), id !== "" && link(nodeLink(id), id, true));
  document.title = `${id || "ranlab RIC"}${id ? " – ranlab RIC" : ""}`;
  draw();
}

function draw() {
  if (view && !document.hidden) turns.run(view.show());
}

async function start() {
  stream?.close();
  try {
    models = (await ask("GET", "/v1/models")).models;
  } catch (error) {
    const refused = /** @type {{status?: number, message: string}} */ (error);
    if (refused.status === 401) return tellHealth("locked", "This server requires a token");
    tellHealth("lost", refused.message);
    setTimeout(start, 2_000);
    return;
  }
  stream = new Stream("/v1/overview", (event, data) => {
    if (event === "overview") store.hear(data, Date.now() / 1000);
    // Missed changes are sent again.
    if (event === "dropped") stream?.again();
  }, tellHealth);
  route();
}

/** A hidden page uses no CPU time. */
function visible() {
  clearTimeout(hidden);
  if (document.hidden) {
    hidden = setTimeout(() => {
      rests = true;
      stream?.rest();
      tellHealth("resting", "nobody looks");
      if (view instanceof NodeView) view.rest();
      else view?.close();
    }, HIDDEN);
    return;
  }
  if (rests) {
    rests = false;
    stream?.open();
    if (view instanceof NodeView) view.again();
  }
  draw();
}
/** @type {number | undefined} */
let hidden;
let rests = false;

// Printing uses the light theme immediately.
themed(theme, () => view && whole(view.show()));
takeToken();
addEventListener("hashchange", () => {
  const token = location.hash.startsWith("#token=");
  takeToken();
  if (token) void start();
  else if (stream) {
    route();
    main.focus();
    scrollTo(0, 0);
  }
});
document.addEventListener("visibilitychange", visible);
setInterval(draw, DRAW);
void start();
