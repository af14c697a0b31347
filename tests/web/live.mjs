// Pages of long-running verbs in a browser: a campaign that is stopped, resumed and ends by itself, a load, base stations and a
// capture; operated by keyboard, without errors. `live.mjs PROGRAM PICTURES AXE CAPTURE`.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { start } from "./browser.mjs";
import { front } from "./front.mjs";
import { judging } from "./judge.mjs";

const [given, pictures, axe, capture] = process.argv.slice(2);
const program = resolve(given);
const judge = judging(axe);
const sleep = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
const folder = mkdtempSync(join(tmpdir(), "ranlab-live-"));
const started = [];
const fronts = [];
const isButton = (text) => `(it) => it.tagName === "BUTTON" && it.textContent === ${JSON.stringify(text)}`;

/** Starts a verb with a page; returns its address and a promise of its end. */
async function shown(...words) {
  const child = spawn(program, words, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  started.push(child);
  let [out, said] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text) => { out += text; });
  child.stderr.setEncoding("utf8").on("data", (text) => { said += text; });
  const ended = new Promise((done) => child.on("exit", (code) => done(code)));
  for (let n = 0; n < 600; n += 1) {
    const found = /the page: (http:\S+)\//.exec(said);
    if (found) return { http: await fronted(found[1]), direct: found[1], child, ended, out: () => out, said: () => said };
    if (child.exitCode !== null) break;
    await sleep(0.1);
  }
  throw new Error(`${words.join(" ")} has no page: ${said}`);
}

/** Returns the address of a server that reads the page's files from the folder WEB, or `upstream` if WEB is not set. */
async function fronted(upstream) {
  if (!process.env.WEB) return upstream;
  const frame = readFileSync(join(process.env.WEB, "index.html"), "utf8").replace("/web/app.js", "/web/live.js").replace("ranlab <span>RIC</span>", "ranlab").replaceAll("ranlab RIC", "ranlab");
  const before = await front(upstream, (path, response) => {
    if (path !== "/") return false;
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
    response.end(frame);
    return true;
  });
  fronts.push(before);
  return before.url;
}

async function opened(browser, http, options = {}) {
  const page = await browser.page(options);
  await page.go(`${http}/`);
  await page.until(() => document.querySelector("h1")?.textContent, "the title");
  return page;
}

const HOSTILE = "<img src=x onerror=window.hit=1> \u202egnilaer";
// The rate is low enough for a busy machine.
const CAMPAIGN = (more) => `title = ${JSON.stringify(HOSTILE)}
rig = "controller"
[load]
ues = 2
period = "250ms"
[host]
when_noisy = "warn"
${more}`;

/** A campaign is watched, stopped and resumed from the page by keyboard. After it has ended, the page shows the saved report. */
async function campaign(browser) {
  writeFileSync(join(folder, "curve.toml"), CAMPAIGN(`[sweep.axes]
"load.nodes" = [1, 2, 4]
[measure]
duration = "1s"
warm_up = "100ms"
repeats = 2
[[plot]]
x = "load.nodes"
y = "indications_per_s"
[[expect]]
metric = "indications_per_s"
along = "load.nodes"
shape = "increasing"
source = "each base station reports"
`));
  const verb = await shown("bench", "run", "curve.toml", "--web", "--out", "curve", "--format", "json");
  // A request from another origin, a request that is not JSON, and an unknown action cannot stop the campaign.
  const json = { "content-type": "application/json" };
  const post = (action, headers) => fetch(`${verb.direct}/v1/actions/${action}`, { method: "POST", headers, body: "{}" }).then((it) => it.status);
  assert.equal(await post("stop", { ...json, origin: "http://evil.example" }), 403);
  assert.equal(await post("stop", {}), 415);
  assert.equal(await post("resume", json), 409);
  const page = await opened(browser, verb.http);
  await page.until(() => document.querySelectorAll(".strip .s2").length >= 1, "a point that is done");
  await page.until(() => [...document.querySelectorAll("figure .title")].some((it) => it.textContent.startsWith("Throughput so far")), "the curve so far");
  await page.press("Tab");
  await page.tabTo(isButton("Stop after this repeat"), "the button that stops it");
  await page.press("Enter");
  await page.until(() => [...document.querySelectorAll("button")].some((it) => it.textContent === "Resume"), "the pause");
  await judge(page, verb.http, "paused campaign");
  await page.picture(join(pictures, "campaign-paused.png"));
  assert.equal(verb.child.exitCode, null, "it waits to be resumed");
  // Completed repeats are kept.
  const kept = await page.until(() => Number(/(\d+)/.exec(document.querySelector(".tiles dd").textContent)[1]), "repeats that are kept");
  await page.tabTo(isButton("Resume"), "the button that resumes it");
  await page.press("Enter");
  await page.until(() => [...document.querySelectorAll("button")].some((it) => it.textContent === "Stop after this repeat"), "the campaign to go on");
  await page.run(() => { document.querySelector("details").open = true; });
  await page.until(() => document.querySelectorAll("details[open] tbody tr").length === 3, "the table of points");
  assert.equal(await verb.ended, 0, verb.said());
  await page.until(() => document.querySelector("#health").textContent === "ended" && document.querySelector("#expected"), "the end");
  const [result, live] = [JSON.parse(verb.out()), await page.run(() => document.querySelector(".pill").textContent)];
  assert.equal(live, "ended");
  assert.equal(result.points.length, 3);
  assert.ok(result.points.every((point) => point.metrics.indications_per_s.n === 2), "nothing is measured twice or left out");
  assert.ok(kept < 6, `${kept} of 6 were kept at the pause`);
  page.faults = page.faults.filter((fault) => !fault.includes("ERR_CONNECTION") && !fault.includes("ERR_INCOMPLETE"));
  await judge(page, verb.http, "campaign that has ended");
  assert.equal(await page.run(() => window.hit), undefined, "nothing of a title has run");
  assert.equal(await page.run(() => document.querySelectorAll("main img").length), 0);
  assert.ok(await page.run(() => document.body.textContent.includes("<img src=x onerror=")), "the title is text");
  await page.picture(join(pictures, "campaign.png"));
  // The page shows the saved report: the same figures, verdicts and points.
  const parts = (root) => ["h2", "figure.chart .title", ".verdict", "#points ~ table, table"].map((what) => [...root.querySelectorAll(what)].filter((it) => !it.closest(".many")).map((it) => it.textContent));
  const seen = await page.run(`(${parts})(document.querySelector("main > .views > .views:last-child"))`);
  const saved = await browser.page();
  await saved.go(`file://${join(folder, "curve", "report.html")}`);
  await saved.until(() => document.querySelector("#points"), "the saved report");
  assert.deepEqual(seen, await saved.run(`(${parts})(document.querySelector("main"))`), "live and saved say the same");
  await saved.close();
  await page.close();
}

/** A search is watched on a narrow dark page. The page is closed meanwhile, without effect on the campaign. */
async function search(browser) {
  writeFileSync(join(folder, "knee.toml"), CAMPAIGN(`[search]
type = "knee"
axis = "load.nodes"
metric = "indications_per_s"
at_most = 28
min = 1
max = 16
[measure]
duration = "1s"
warm_up = "100ms"
repeats = 1
`));
  const verb = await shown("bench", "run", "knee.toml", "--web", "--out", "knee", "--format", "json");
  const page = await opened(browser, verb.http, { width: 390, height: 844, phone: true, dark: true });
  await page.until(() => [...document.querySelectorAll("figure .title")].some((it) => it.textContent.includes("the search under way")), "the trials");
  await page.until(() => document.querySelectorAll("svg.plot .trial").length >= 2, "two trials");
  await judge(page, verb.http, "search");
  await page.picture(join(pictures, "search-phone-dark.png"));
  await page.close();
  assert.equal(await verb.ended, 0, verb.said());
}

/** Starts a RIC; returns its address for base stations. */
async function ric() {
  const child = spawn(program, ["ric", "--e2", "tcp://127.0.0.1:0", "--e42", "tcp://127.0.0.1:0", "--duration", "120s", "--format", "ndjson"], { stdio: ["ignore", "pipe", "inherit"] });
  started.push(child);
  return listening(child, "e2");
}

/** Returns the address that a verb prints. */
async function listening(child, name) {
  let told = "";
  child.stdout.setEncoding("utf8").on("data", (text) => { told += text; });
  for (let n = 0; n < 300; n += 1) {
    const found = told.split("\n").filter((line) => line.includes(`"${name}"`)).map((line) => /"address":"([^"]+)"/.exec(line)?.[1])[0];
    if (found) return found.includes("://") ? found : `tcp://${found}`;
    await sleep(0.1);
  }
  throw new Error(`nobody listens for ${name}: ${told}`);
}

/** A page at an address other than loopback requires a token. */
async function token(browser) {
  const secret = "0123456789abcdef-secret";
  writeFileSync(join(folder, "token"), secret);
  const open = spawn(program, ["emulate", "--web", "0.0.0.0:0"], { stdio: ["ignore", "ignore", "pipe"] });
  started.push(open);
  let said = "";
  open.stderr.setEncoding("utf8").on("data", (text) => { said += text; });
  // `close` is used instead of `exit`, because the output has been read completely by then.
  assert.equal(await new Promise((done) => open.on("close", done)), 2, said);
  assert.match(said, /--web-token-file/);
  const verb = await shown("emulate", "--connect", await ric(), "--duration", "60s", "--web", "0.0.0.0:0", "--web-token-file", join(folder, "token"));
  const http = verb.direct.replace("0.0.0.0", "127.0.0.1");
  for (const path of ["stream", "document"]) assert.equal((await fetch(`${http}/v1/${path}`)).status, 401);
  const page = await browser.page();
  await page.go(`${http}/`);
  await page.until(() => document.querySelector("#token"), "the question for the token");
  page.faults = page.faults.filter((fault) => !fault.includes("401"));
  await judge(page, http, "token of a verb");
  await page.type(secret);
  await page.press("Enter");
  await page.until(() => document.querySelector(".pill.live"), "the page behind the token");
  await page.close();
  verb.child.kill();
}

/** Base stations at a RIC, and a load on a UPF. */
async function loads(browser) {
  const e2 = await ric();
  const fleet = await shown("emulate", "--connect", e2, "--nodes", "5", "--duration", "60s", "--web");
  const upf = spawn(program, ["upf", "--n4", "127.77.8.8:8805", "--n3", "127.77.8.8:2152", "--duration", "60s"], { stdio: "ignore" });
  started.push(upf);
  await sleep(1);
  const load = await shown("load", "upf", "--n4", "127.77.8.8:8805", "--n3", "127.77.8.8:2152", "--smf", "127.77.8.1:8805", "--gnb", "127.77.8.2:2152",
    "--mode", "sessions", "--sessions", "50", "--uplink", "500", "--reflect-every", "1", "--duration", "25s", "--web");
  for (const [name, verb, title, least] of [["emulate", fleet, "Indications per second", 4], ["load", load, "Packets per second", 5]]) {
    const page = await opened(browser, verb.http);
    await page.until((title, least) => [...document.querySelectorAll("figure")].some((it) => it.textContent.includes(title) && it.querySelectorAll("polyline").length > 0)
      && document.querySelectorAll("figure").length >= least, `figures of ${name}`, title, least);
    await sleep(3);
    await page.press("Tab");
    await page.tabTo(`(it) => it.classList.contains("plot")`, `a figure of ${name}`);
    await page.press("ArrowLeft");
    assert.match(await page.run(() => document.querySelector(".readout.on")?.textContent ?? ""), /: /, "arrows read a figure");
    await judge(page, verb.http, name);
    await page.picture(join(pictures, `${name}.png`));
    await page.close();
  }
  assert.match(load.said() + load.out(), /the page/);
  assert.equal(await load.ended, 0, load.said() + load.out());
  assert.match(load.out(), /uplink: \d+ offered/);
  fleet.child.kill();
}

/** Base stations of FlexRAN and 5G-EmPOWER, at the reference controllers. */
async function southern(browser) {
  for (const protocol of ["flexran", "empower"]) {
    const child = spawn(program, ["controller", protocol, "--listen", "127.0.0.1:0", "--duration", "90s", "--format", "ndjson"], { stdio: ["ignore", "pipe", "inherit"] });
    started.push(child);
    const fleet = await shown("emulate", "--protocol", protocol, "--connect", await listening(child, "southbound"), "--nodes", "3", "--ues", "4", "--duration", "60s", "--web");
    const page = await opened(browser, fleet.http, protocol === "empower" ? { width: 390, height: 844, phone: true, dark: true } : {});
    await page.until(() => [...document.querySelectorAll(".tiles div")].some((it) => it.textContent.startsWith("Alive") && it.textContent.includes("3")), `base stations of ${protocol} that are asked for reports`);
    for (const title of ["UEs", "Messages per second", "Lost messages per second"]) {
      await page.until((title) => [...document.querySelectorAll("figure")].some((it) => it.querySelector(".title").textContent === title && it.querySelectorAll("polyline").length >= 2), title, title);
    }
    await page.press("Tab");
    await page.tabTo(`(it) => it.classList.contains("plot")`, `a figure of ${protocol}`);
    await judge(page, fleet.http, protocol);
    await page.picture(join(pictures, `${protocol}.png`));
    await page.close();
    fleet.child.kill();
    child.kill();
  }
}

/** A capture grows while the page is open. The page shows the new messages, and the last ones after the capture has ended. */
async function followed(browser) {
  const octets = readFileSync(capture);
  const name = join(folder, "growing.pcap");
  const half = Math.floor(octets.length / 2);
  writeFileSync(name, octets.subarray(0, half));
  const html = join(folder, "followed.html");
  const verb = await shown("pcap", "decode", "--follow", "--html", html, "--web", "--", name);
  const page = await opened(browser, verb.http);
  const count = () => page.run(() => Number(/(\d+)/.exec(document.querySelector(".tiles dd")?.textContent ?? "0")[1]));
  await page.until(() => document.querySelectorAll("svg.sequence .said").length > 5, "the messages of the first half");
  const before = await count();
  assert.ok(before > 0, "messages are counted");
  appendFileSync(name, octets.subarray(half));
  await page.until((before) => Number(/(\d+)/.exec(document.querySelector(".tiles dd").textContent)[1]) > before, "the messages of the second half", before);
  await judge(page, verb.http, "followed capture");
  await page.picture(join(pictures, "followed.png"));
  verb.child.kill("SIGTERM");
  await page.until(() => document.querySelector("#health").textContent === "ended", "the end");
  await page.close();
  assert.equal(await verb.ended, 0, verb.said());
  assert.match(verb.out(), /660 PDUs|660 /);
  assert.match(readFileSync(html, "utf8"), /ranlab-sequence/);
}

/** A capture with malicious names is read by keyboard, on a page and in a saved file. */
async function sequence(browser) {
  const name = join(folder, "<img src=x onerror=window.hit=1>.pcap");
  writeFileSync(name, readFileSync(capture));
  const html = join(folder, "session.html");
  const verb = await shown("pcap", "decode", "--html", html, "--web", "--", name);
  for (const [look, url, options] of [["live", verb.http, {}], ["file", `file://${html}`, { dark: true }], ["phone", `file://${html}`, { width: 390, height: 844, phone: true }]]) {
    const page = await browser.page(options);
    await page.go(look === "live" ? `${url}/` : url);
    await page.until(() => document.querySelectorAll("svg.sequence .said").length > 5 && document.querySelector(".tree li"), "the messages");
    await page.press("Tab");
    await page.tabTo(`(it) => it.classList.contains("sequence")`, "the messages");
    const before = await page.run(() => document.querySelector("[aria-label='Selected message'] h2").textContent);
    await page.press("End");
    const last = await page.run(() => document.querySelector("[aria-label='Selected message'] h2").textContent);
    assert.notEqual(last, before, "keys choose a message");
    await page.press("Home");
    // axe is slow with hundreds of rows.
    await page.run(() => {
      document.getElementById("find").value = "setup";
      document.getElementById("find").dispatchEvent(new Event("input"));
    });
    await page.tabTo(`(it) => it.tagName === "SUMMARY" && it.textContent === "Messages as a table"`, "the table");
    await page.press("Enter");
    await page.until(() => document.querySelectorAll("table tbody tr").length >= 8, "its rows");
    const judged = look === "live" ? url : url;
    page.asked = page.asked.filter((it) => it !== url);
    await judge(page, judged, `sequence, ${look}`);
    assert.ok(await page.run(() => document.body.textContent.includes("<img src=x onerror=")), "the file's name is text");
    assert.equal(await page.run(() => document.querySelectorAll("main img").length + (window.hit ?? 0)), 0);
    await page.run(() => { document.querySelector("details.behind").open = false; });
    await page.picture(join(pictures, `sequence-${look}.png`));
    await page.close();
  }
  verb.child.kill("SIGTERM");
  await verb.ended;
}

let browser;
let status = 0;
try {
  mkdirSync(pictures, { recursive: true });
  browser = await start(process.env.CHROMIUM ?? "chromium");
  const only = process.env.ONLY?.split(",");
  for (const [name, test] of Object.entries({ sequence, followed, southern, loads, token, search, campaign })) {
    if (only && !only.includes(name)) continue;
    const begun = Date.now();
    await test(browser);
    console.log(`ok  ${name}  ${((Date.now() - begun) / 1000).toFixed(1)} s`);
  }
} catch (error) {
  console.error(error);
  status = 1;
} finally {
  await browser?.close();
  fronts.forEach((it) => it.close());
  started.forEach((child) => child.kill());
  rmSync(folder, { recursive: true, force: true });
}
process.exit(status);
