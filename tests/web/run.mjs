// The page in a browser, with a RIC and base stations: operated by keyboard, without errors or external requests; names of
// peers are never markup. `run.mjs PROGRAM PICTURES AXE`; the program is ranlab.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { family, signal, start } from "./browser.mjs";
import { front } from "./front.mjs";
import { crowd, hostile } from "./hostile.mjs";
import { judging } from "./judge.mjs";

const [program, pictures, axe] = process.argv.slice(2);
const browser_program = process.env.CHROMIUM ?? "chromium";
const judge = judging(axe);
const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
const NODE = "gnb 505.01 1";
const started = [];
const folder = mkdtempSync(join(tmpdir(), "ranlab-page-"));

/** Starts ranlab; returns its output line by line. */
function ranlab(...words) {
  const child = spawn(program, words, { stdio: ["ignore", "pipe", "inherit"] });
  const lines = [];
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop();
    lines.push(...parts);
  });
  started.push(child);
  return { child, lines };
}

async function until(find, words, seconds = 60) {
  for (let n = 0; n < seconds * 10; n += 1) {
    const found = await find();
    if (found) return found;
    await sleep(0.1);
  }
  throw new Error(`waited for ${words} in vain`);
}

async function ric(...words) {
  const { lines, child } = ranlab("ric", "--e2", "tcp://127.0.0.1:0", "--e42", "tcp://127.0.0.1:0", "--duration", "600s", "--format", "ndjson", ...words);
  const address = (name) => until(() => lines.map((line) => JSON.parse(line)).find((it) => it.listening === name)?.address, `the address of ${name}`);
  return { e2: await address("e2"), e42: await address("e42"), http: await address("http"), child };
}

async function get(url, headers = {}) {
  const response = await fetch(url, { headers });
  assert.equal(response.status, 200, `${url}: ${response.status}`);
  return response.json();
}

const isLink = (text) => `(it) => it.tagName === "A" && it.textContent === ${JSON.stringify(text)}`;
const isButton = (text) => `(it) => it.tagName === "BUTTON" && it.textContent === ${JSON.stringify(text)}`;
const subscriptions = async (http) => (await get(`${http}/v1/subscriptions`)).subscriptions;

/** Every view is used by keyboard only. The page subscribes to opened views and unsubscribes from closed ones. */
async function by_keys(browser, http) {
  const page = await browser.page();
  await page.go(`${http}/`);
  await page.until(() => document.querySelector(".long a"), "the list of base stations");
  await page.press("Tab");
  assert.equal(await page.run(() => document.activeElement.className), "skip", "the first key leads past the navigation");
  await page.tabTo(isButton("Measure delays"), "Measure delays");
  await page.press("Enter");
  await until(async () => (await subscriptions(http)).length > 5, "subscriptions for delays");
  await page.until(() => document.querySelector("figure.bare canvas")?.width > 300, "the heat of delays");
  await judge(page, http, "overview");
  await page.picture(join(pictures, "overview.png"));
  await page.run(() => document.querySelector(".skip").focus());
  await page.tabTo(`(it) => it.classList.contains("plot")`, "a figure");
  await page.press("ArrowLeft");
  assert.match(await page.run(() => document.querySelector(".readout.on").textContent), /received: \d/, "arrows read a figure");
  await page.tabTo(`(it) => it.tagName === "SUMMARY"`, "the table behind a figure");
  await page.press("Enter");
  assert.ok(await page.until(() => document.querySelectorAll(".behind[open] tbody tr").length > 3, "its rows"));
  await page.tabTo(isLink(NODE), NODE);
  await page.press("Enter");
  await page.until(() => document.querySelector(".models button"), "the node's models");
  await until(async () => (await subscriptions(http)).length === 0, "the end of the subscriptions for delays");
  for (const model of ["mac", "slice"]) {
    await page.tabTo(isButton(model), model);
    await page.press("Enter");
  }
  await until(async () => (await subscriptions(http)).filter((it) => it.state === "active").length === 2, "two subscriptions");
  await page.until(() => document.querySelectorAll(".many svg.plot polyline").length >= 6, "figures of MAC");
  await page.tabTo(`(it) => it.type === "submit"`, "the command's button");
  await page.press("Enter");
  await page.until(() => document.querySelector(".note.good"), "the command's answer");
  await sleep(3);
  assert.ok(await page.run(() => document.querySelectorAll("article tbody tr").length) >= 3, "its effect, column by column");
  assert.ok(await page.run(() => document.querySelectorAll(".area").length) >= 2, "slices as areas");
  await judge(page, http, "node");
  await page.picture(join(pictures, "node.png"));
  await page.run(() => document.querySelector(".skip").focus());
  await page.tabTo(`(it) => it.getAttribute("aria-label") === "Close mac"`, "Close mac");
  await page.press("Enter");
  await until(async () => (await subscriptions(http)).length === 1, "the end of one subscription");
  await page.close();
  await until(async () => (await subscriptions(http)).length === 0, "the end of the others, with the page");
}

/** Measurements of KPM are chosen by name, and no other measurement is reported. */
async function kpm_by_name(browser, http) {
  const page = await browser.page();
  await page.go(`${http}/#/node/${encodeURIComponent(NODE)}`);
  await page.until(() => document.querySelector(".models button"), "the node's models");
  await page.run(() => [...document.querySelectorAll("summary")].find((it) => it.textContent === "Choose measurements of KPM").click());
  await page.until(() => document.querySelectorAll("select[multiple] option").length > 3, "the measurements on offer");
  await page.run(() => document.querySelectorAll("select[multiple] option").forEach((it) => (it.selected = it.value === "DRB.UEThpDl")));
  await page.run(() => document.querySelectorAll(".models button").forEach((it) => it.textContent === "kpm" && it.click()));
  await page.until(() => document.querySelector("[aria-label='Model kpm'] svg.plot polyline"), "a figure of KPM");
  const shown = await page.run(() => document.querySelector("[aria-label='Model kpm']").textContent);
  assert.match(shown, /DRB\.UEThpDl/);
  assert.doesNotMatch(shown, /RRU\.PrbTotDl/, "not chosen");
  await page.close();
  await until(async () => (await subscriptions(http)).length === 0, "the end of the subscription, with the page");
}

/** The page is shown dark and at the width of a phone. */
async function looks(browser, http) {
  const views = [["overview", "#/"], ["node", `#/node/${encodeURIComponent(NODE)}`]];
  const windows = [["dark", { dark: true }], ["phone", { width: 390, height: 844, phone: true }], ["phone-dark", { width: 390, height: 844, phone: true, dark: true }]];
  for (const [look, options] of windows) {
    for (const [view, address] of views) {
      const page = await browser.page(options);
      await page.go(`${http}/${address}`);
      await page.until(() => document.querySelector(".long a, .models button"), "content");
      await page.run(() => document.querySelectorAll(".models button").forEach((it) => ["slice", "kpm"].includes(it.textContent) && it.click()));
      await sleep(6);
      await judge(page, http, `${view}, ${look}`);
      await page.picture(join(pictures, `${view}-${look}.png`));
      await page.close();
    }
  }
}

/** The page asks for a required token, also reads it from the address, and never shows it. */
async function token(browser) {
  const secret = "0123456789abcdef-secret";
  writeFileSync(join(folder, "token"), secret);
  const { http, child } = await ric("--http", "127.0.0.1:0", "--http-token-file", join(folder, "token"));
  const page = await browser.page();
  await page.go(`${http}/`);
  await page.until(() => document.querySelector("#token"), "the question for the token");
  // The first request is refused as expected, so its error is allowed.
  assert.ok(page.faults.every((fault) => fault.includes("401")), page.faults.join("\n"));
  page.faults = [];
  await judge(page, http, "token");
  await page.picture(join(pictures, "token.png"), { whole: false });
  await page.type(secret);
  await page.press("Enter");
  await page.until(() => document.querySelector(".tiles"), "the page behind the token");
  await page.close();
  const other = await browser.page();
  await other.go(`${http}/#token=${secret}`);
  await other.until(() => document.querySelector(".tiles"), "the page by the token in its address");
  assert.equal(await other.run(() => location.hash), "#/");
  assert.ok([...page.asked, ...other.asked].every((url) => !url.split("#")[0].includes("secret")), "no address bears the token");
  assert.deepEqual(other.faults, []);
  await other.close();
  child.kill();
}

/** Names with markup are shown as text, and a list of 10,000 nodes is shown like a short one. */
async function names_and_crowds(browser, http) {
  const before = await front(http, hostile);
  const page = await browser.page();
  await page.go(`${before.url}/`);
  await page.until(() => document.querySelector(".long a"), "the list");
  await sleep(1.5);
  await judge(page, before.url, "hostile overview");
  assert.ok(await page.run(() => document.body.textContent.includes("<img src=x onerror=")), "the name is there as text");
  await page.picture(join(pictures, "hostile.png"));
  await page.run(() => document.querySelector(".long a").click());
  await page.until(() => document.querySelector(".models"), "the node");
  await sleep(1.5);
  await page.run(() => document.querySelectorAll(".models button").forEach((it) => it.click()));
  await sleep(2);
  await page.picture(join(pictures, "hostile-node.png"));
  await judge(page, before.url, "hostile node");
  assert.equal(await page.run(() => document.querySelectorAll("main img, main script, iframe").length), 0, "no element is made of a name");
  assert.equal(await page.run(() => window.hit), undefined, "nothing of a name has run");
  await page.close();
  before.close();

  const many = await front(http, crowd(10_000));
  const wide = await browser.page();
  await wide.go(`${many.url}/`);
  await wide.until(() => document.querySelector(".long[aria-label='Base stations']")?.getAttribute("aria-rowcount") === "10001", "10,000 rows");
  const made = await wide.run(() => document.querySelectorAll(".long .tr").length);
  assert.ok(made < 60, `${made} rows exist`);
  await wide.run(() => {
    window.long = [];
    new PerformanceObserver((list) => window.long.push(...list.getEntries().map((it) => Math.round(it.duration)))).observe({ type: "longtask" });
    document.querySelector(".long[aria-label='Base stations']").scrollTop = 200_000;
  });
  await sleep(8);
  console.log(`10,000 nodes: long tasks of the page in 8 s, ms: ${JSON.stringify(await wide.run(() => window.long))}`);
  await judge(wide, many.url, "10,000 nodes");
  await wide.picture(join(pictures, "crowd.png"));
  await wide.close();
  many.close();
}

/** A stopped tab does not affect the RIC: it serves other clients, and its queue is bounded. */
async function stopped(http) {
  const browser = await start(browser_program);
  const page = await browser.page();
  await page.go(`${http}/#/node/${encodeURIComponent(NODE)}`);
  await page.until(() => document.querySelector(".models button"), "models");
  await page.run(() => document.querySelectorAll(".models button").forEach((it) => it.textContent === "mac" && it.click()));
  await until(async () => (await subscriptions(http)).length === 1, "its subscription");
  const all = family(browser.child.pid);
  signal(all, "SIGSTOP");
  // Its lease expires even if its sockets still accept data.
  await until(async () => (await subscriptions(http)).length === 0, "the end of what a stopped tab had", 60);
  assert.equal((await get(`${http}/healthz`)).status, "ok");
  signal(all, "SIGCONT");
  await browser.close();
}

let browser;
let status = 0;
try {
  mkdirSync(pictures, { recursive: true });
  const { e2, e42, http: served } = await ric("--http", "127.0.0.1:0");
  // With WEB, the page's files are read from a folder instead of the program.
  const http = process.env.WEB ? (await front(served)).url : served;
  ranlab("emulate", "--connect", e2, "--radio", "nr:106", "--ues", "6", "--flows", "udp:5", "--sm", "mac,rlc,kpm", "--duration", "600s");
  ranlab("emulate", "--connect", e2, "--first", "100", "--nodes", "20", "--ues", "4", "--duration", "600s");
  await until(async () => (await get(`${http}/healthz`)).nodes === 21, "base stations");
  ranlab("xapp", "monitor", "--connect", e42, "--period", "100ms", "--duration", "600s");
  browser = await start(browser_program);
  for (const [name, test] of Object.entries({
    "by keys": () => by_keys(browser, http),
    "KPM by name": () => kpm_by_name(browser, http),
    "dark and narrow": () => looks(browser, http),
    token: () => token(browser),
    "hostile names, crowds": () => names_and_crowds(browser, http),
    "a stopped tab": () => stopped(http),
  })) {
    const begun = Date.now();
    await test();
    console.log(`ok  ${name}  ${((Date.now() - begun) / 1000).toFixed(1)} s`);
  }
} catch (error) {
  console.error(error);
  status = 1;
} finally {
  await browser?.close();
  started.forEach((child) => child.kill());
  rmSync(folder, { recursive: true, force: true });
}
process.exit(status);
