// Measures the cost of pages: a page with 5,000 base stations (page), a RIC that serves this page (many), and a stopped tab (stopped).
// `cost.mjs PROGRAM [page|many|stopped]` prints the numbers with the load of the machine. On a busy machine, the violation of a limit is
// reported with the other processes.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { family, signal, start } from "./browser.mjs";
import { front } from "./front.mjs";
import { crowd } from "./hostile.mjs";

const [program, what = "all"] = process.argv.slice(2);
const sleep = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
const started = [];
/** Nodes, seconds per window, pairs of windows; limits. */
const NODES = Number(process.env.NODES ?? 5_000), WINDOW = Number(process.env.WINDOW ?? 10), PAIRS = Math.max(7, Number(process.env.PAIRS ?? 7));
const CORE_MOST = 0.05, LONG_MS = 50;
const TICKS = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));
/** Student's distribution at 97.5 %, by degrees of freedom from 6 on; then the normal distribution. */
const T = [2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145];

function ranlab(...words) {
  const child = spawn(program, words, { stdio: ["ignore", "pipe", "inherit"] });
  started.push(child);
  child.lines = [];
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop();
    // Only the first lines are kept, because a verb may print output every second.
    if (child.lines.length < 100) child.lines.push(...parts);
  });
  return child;
}

/** Returns the CPU seconds of a process. */
function cpu(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

async function metric(http, name) {
  const text = await (await fetch(`${http}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)[1]);
}

async function until(find, words, seconds) {
  for (let n = 0; n < seconds * 10; n += 1) {
    if (await find().catch(() => false)) return;
    await sleep(0.1);
  }
  throw new Error(`waited for ${words} in vain`);
}

/** Starts a RIC with base stations and an xApp that subscribes to each of them. */
async function network(nodes, period) {
  const ric = ranlab("ric", "--e2", "tcp://127.0.0.1:0", "--e42", "tcp://127.0.0.1:0", "--http", "127.0.0.1:0", "--format", "ndjson", "--max-nodes", String(nodes + 10));
  await until(async () => ric.lines.length >= 3, "the RIC", 60);
  const address = (name) => ric.lines.map((line) => JSON.parse(line)).find((it) => it.listening === name).address;
  const [e2, e42, http] = ["e2", "e42", "http"].map(address);
  ranlab("emulate", "--connect", e2, "--nodes", String(nodes), "--ues", "1", "--sm", "mac", "--format", "json");
  await until(async () => (await (await fetch(`${http}/healthz`)).json()).nodes === nodes, `${nodes} base stations`, 300);
  ranlab("xapp", "monitor", "--connect", e42, "--sm", "mac", "--period", period, "--totals", "--format", "json");
  await until(async () => (await metric(http, "ranlab_ric_indications_forwarded_total")) > nodes, "indications", 120);
  return { ric, http };
}

async function window(ric, http) {
  const name = "ranlab_ric_indications_forwarded_total";
  const [cpu0, seen0, at] = [cpu(ric.pid), await metric(http, name), performance.now()];
  await sleep(WINDOW);
  const seconds = (performance.now() - at) / 1000;
  const [used, seen] = [cpu(ric.pid) - cpu0, (await metric(http, name)) - seen0];
  return { cores: used / seconds, us_each: (used * 1e6) / seen, per_s: seen / seconds };
}

const mean = (all) => all.reduce((sum, it) => sum + it, 0) / all.length;
function interval(all) {
  const own = mean(all);
  const deviation = Math.sqrt(all.reduce((sum, it) => sum + (it - own) ** 2, 0) / (all.length - 1));
  const half = ((T[all.length - 7] ?? 1.96) * deviation) / Math.sqrt(all.length);
  return [own - half, own + half];
}
const told = ([low, high]) => `${((low + high) / 2).toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;

/** Measures the RIC's CPU usage for many nodes with one report per second, alternately with and without a page. */
async function many(browser) {
  const { ric, http } = await network(NODES, "1s");
  // With WEB, the page's files are read from a folder instead of the program.
  const before = process.env.WEB ? await front(http) : null;
  const shown = before?.url ?? http;
  const [without, looked] = [[], []];
  let long = [];
  for (let n = 0; n < 3; n += 1) {
    without.push((await window(ric, http)).cores);
    const page = await browser.page();
    await page.go(`${shown}/`);
    await page.until((count) => document.querySelector(".long[aria-label='Base stations']")?.getAttribute("aria-rowcount") === String(count + 1), `${NODES} rows`, NODES);
    await sleep(2);
    await page.run(() => {
      window.long = [];
      new PerformanceObserver((list) => window.long.push(...list.getEntries().map((it) => Math.round(it.duration)))).observe({ type: "longtask" });
    });
    looked.push((await window(ric, http)).cores);
    long = [...long, ...(await page.run(() => window.long))];
    await page.close();
    await sleep(1);
  }
  before?.close();
  const cost = mean(looked) - mean(without);
  const longest = Math.max(0, ...long);
  console.log(`${NODES} base stations, each heard once a second: the RIC uses ${mean(without).toFixed(3)} cores, with a page ${mean(looked).toFixed(3)}: `
    + `the page costs ${(cost * 100).toFixed(1)} % of a core (at most ${CORE_MOST * 100}); long tasks of the page: ${long.length}, the longest ${longest} ms (at most ${LONG_MS}); load ${loadavg().map((it) => it.toFixed(1))}`);
  return cost <= CORE_MOST && longest <= LONG_MS;
}

/** Measures a page with many nodes that all change every second, while further nodes arrive. Several folders (`WEBS`) are compared by alternating. */
async function page_alone(browser) {
  const ric = ranlab("ric", "--e2", "tcp://127.0.0.1:0", "--http", "127.0.0.1:0", "--format", "ndjson");
  await until(async () => ric.lines.length >= 2, "the RIC", 60);
  const http = ric.lines.map((line) => JSON.parse(line)).find((it) => it.listening === "http").address;
  const webs = (process.env.WEBS ?? "").split(",");
  const longest = new Map(webs.map((web) => [web, []]));
  for (let n = 0; n < 3; n += 1) {
    for (const web of webs) {
      if (web) process.env.WEB = web;
      const before = await front(http, crowd(NODES, { one_in: 1, comes: true }));
      const page = await browser.page();
      await page.go(`${before.url}/`);
      await page.until((least) => Number(document.querySelector(".long[aria-label='Base stations']")?.getAttribute("aria-rowcount")) > least, `${NODES} rows`, NODES);
      await sleep(2);
      longest.get(web).push((await page.tasks(WINDOW))[0]);
      await page.close();
      before.close();
    }
  }
  for (const [web, all] of longest) {
    console.log(`${web || "the page"}, ${NODES} base stations that all change each second, windows of ${WINDOW} s: the longest task ${all.map((it) => `${it.ms.toFixed(0)} ms (${it.cpu_ms.toFixed(0)} of CPU)`).join(", ")}`
      + ` (at most ${LONG_MS}); load ${loadavg().map((it) => it.toFixed(1))}`);
  }
  return Math.max(...longest.get(webs[webs.length - 1]).map((it) => it.ms)) <= LONG_MS;
}

/** Measures the CPU time per forwarded indication with and without a stopped tab, in varying order. */
async function stopped() {
  const { ric, http } = await network(50, "20ms");
  const alone = [], beside = [];
  const measure = {
    alone: async () => alone.push((await window(ric, http)).us_each),
    beside: async () => {
      const browser = await start(process.env.CHROMIUM ?? "chromium");
      const page = await browser.page();
      await page.go(`${http}/`);
      await page.until(() => document.querySelector(".long a"), "the list");
      await sleep(2);
      const all = family(browser.child.pid);
      signal(all, "SIGSTOP");
      beside.push((await window(ric, http)).us_each);
      signal(all, "SIGCONT");
      await browser.close();
      await sleep(1);
    },
  };
  for (let n = 0; n < PAIRS; n += 1) for (const turn of n % 2 === 0 ? ["alone", "beside"] : ["beside", "alone"]) await measure[turn]();
  const [a, b] = [interval(alone), interval(beside)];
  const overlap = a[0] <= b[1] && b[0] <= a[1];
  console.log(`µs of CPU for an indication that the RIC forwards, mean and 95 % interval over ${PAIRS} interleaved pairs of ${WINDOW} s: ${told(a)} without a tab, `
    + `${told(b)} with one that is stopped: the intervals ${overlap ? "overlap" : "DO NOT OVERLAP"}; load ${loadavg().map((it) => it.toFixed(1))}`);
  return overlap;
}

let status = 0;
let browser;
try {
  assert.ok(["all", "page", "many", "stopped"].includes(what), `${what} is none of all, page, many, stopped`);
  for (const [name, test] of Object.entries({ page: page_alone, many })) {
    if (what !== "all" && what !== name) continue;
    browser = await start(process.env.CHROMIUM ?? "chromium");
    if (!(await test(browser))) status = 1;
    await browser.close();
    browser = undefined;
    started.splice(0).forEach((child) => child.kill());
  }
  if (["all", "stopped"].includes(what) && !(await stopped())) status = 1;
} catch (error) {
  console.error(error);
  status = 1;
} finally {
  await browser?.close();
  started.forEach((child) => child.kill());
}
process.exit(status);
