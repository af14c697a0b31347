// Saved reports in a browser, from disk: 1,000 points open immediately and without requests, their texts are never markup, and
// their numbers equal the campaign's. `report.mjs PROGRAM PICTURES AXE FOLDER`: the folder has `report.html` and `large.db` of 1,000 points
// (`cargo run -p ranlab-campaign --example large`), and `gallery/` every form of figure (`--example gallery`).
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { start } from "./browser.mjs";
import { judging } from "./judge.mjs";

const [program, pictures, axe, folder] = process.argv.slice(2);
const judge = judging(axe);
const file = (...parts) => `file://${resolve(folder, ...parts)}`;
/** Time from the call to the last figure, in milliseconds. The minimum of several attempts is used because of other load on the machine. */
const OPEN_MS = 1_000, TRIES = 6;

/** Opens a report without a network; returns the milliseconds until it is drawn. */
async function open(browser, url, options = {}) {
  const page = await browser.page(options);
  await page.send("Network.emulateNetworkConditions", { offline: true, latency: 0, downloadThroughput: 0, uploadThroughput: 0 });
  await page.send("Page.addScriptToEvaluateOnNewDocument", { source: "new PerformanceObserver((all) => { window.long = Math.max(window.long ?? 0, ...all.getEntries().map((it) => it.duration)); }).observe({ entryTypes: ['longtask'] });" });
  await page.go(url);
  await page.until(() => document.querySelector("#points") && [...document.querySelectorAll("svg.plot:not([hidden])")].every((it) => it.closest("[hidden]") || it.querySelector(".tick")), "the report");
  const ms = await page.run(() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now())))));
  return { page, ms };
}

/** Returns the content of a file that the page saves, without saving it. @param {string} button */
async function saved(page, button) {
  await page.run(() => {
    window.given = [];
    URL.createObjectURL = (blob) => { window.given.push(blob); return "about:blank#saved"; };
    HTMLAnchorElement.prototype.click = () => {};
  });
  await page.run(`[...document.querySelectorAll("button")].find((it) => (it.getAttribute("aria-label") ?? it.textContent) === ${JSON.stringify(button)}).click()`);
  return page.until(async () => (window.given.length > 0 ? (await window.given[0].text()) : ""), `what ${button} gives`);
}

/** Parses a line of CSV. @param {string} line */
const cells = (line) => [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted ?? plain);

/** A report of 1,000 points is shown immediately, with the numbers that SQL returns. */
async function thousand(browser) {
  const times = [];
  while (times.length < TRIES && Math.min(...times) >= OPEN_MS) {
    const { page, ms } = await open(browser, file("report.html"));
    if (times.length === 0) await numbers(page);
    times.push(ms);
    await page.close();
  }
  const best = Math.min(...times);
  console.log(`1,000 points are open after ${times.map((ms) => Math.round(ms)).join(", ")} ms`);
  assert.ok(best < OPEN_MS, `1,000 points are open after ${best} ms`);
}

async function numbers(page) {
  await judge(page, file("report.html"), "1,000 points");
  assert.match(await page.run(() => document.querySelector("h1").textContent), /<script>window\.hit=1<\/script>/, "a hostile title is text");
  const [head, ...rows] = (await saved(page, "Save as CSV")).trim().split("\n").map(cells);
  assert.equal(rows.length, 1000);
  const sql = "SELECT label, metric, avg(value), count(*) FROM results WHERE metric IN ('throughput', 'sut.cpu_cores') GROUP BY point, metric ORDER BY point";
  const asked = JSON.parse(execFileSync(program, ["bench", "query", resolve(folder, "large.db"), sql, "--format", "json"], { encoding: "utf8", maxBuffer: 1 << 26 }));
  assert.ok(asked.rows.length >= 2000 || asked.more, "SQL tells of every point");
  const place = (name) => head.indexOf(name);
  const own = new Map(rows.map((row) => [`load.workers=${row[place("load.workers")]} load.requests=${row[place("load.requests")]}`, row]));
  let compared = 0;
  for (const [label, metric, mean, count] of asked.rows) {
    const row = own.get(label);
    assert.ok(row, `no point ${label}`);
    const told = Number(row[place(metric)]);
    assert.ok(Math.abs(told - mean) <= Math.abs(mean) * 1e-12, `${label} ${metric}: ${told} is not ${mean}`);
    assert.equal(Number(row[place("repeats")]), count);
    compared += 1;
  }
  console.log(`${compared} means equal those of SQL`);
  assert.ok(compared >= 1000);
}

/** A figure is read, zoomed, set to logarithmic, saved, split differently and overlaid by keyboard. */
async function by_keys(browser) {
  const url = file("gallery", "report.html");
  const { page } = await open(browser, url);
  await page.press("Tab");
  assert.equal(await page.run(() => document.activeElement.className), "skip");
  const button = (name) => `(it) => it.tagName === "BUTTON" && it.getAttribute("aria-label") === ${JSON.stringify(name)}`;
  await page.tabTo(button("log y: logarithmic axis"), "log y");
  await page.press("Enter");
  assert.equal(await page.run(() => document.activeElement.getAttribute("aria-pressed")), "true");
  await page.tabTo(`(it) => it.classList.contains("plot")`, "a figure");
  await page.press("ArrowLeft");
  assert.match(await page.run(() => document.querySelector(".readout.on").textContent), /contention = [\d.]+: [\d,.]+ \([\d,.]+ to /, "arrows read values with intervals");
  const marks = () => page.run(() => [...document.querySelector("svg.plot").querySelectorAll(".tick")].map((it) => it.textContent).join());
  const before = await marks();
  await page.press("+");
  assert.notEqual(await marks(), before, "plus shows a part");
  await page.press("0");
  assert.equal(await marks(), before, "0 shows all");
  await page.tabTo(`(it) => it.tagName === "BUTTON" && it.textContent === "Draw your own figure"`, "the explorer");
  await page.press("Enter");
  assert.equal(await page.run(() => document.activeElement.tagName), "SELECT");
  const split = await page.run(() => {
    const select = document.getElementById("choose Split by");
    select.value = "sut.build";
    select.dispatchEvent(new Event("change"));
    return document.querySelector("#explore .title").textContent;
  });
  assert.match(split, /, by sut\.build|, by /, "any axis splits");
  await overlay(page);
  const svg = await saved(page, "SVG: save");
  assert.ok(svg.startsWith("<svg") && svg.includes("<polyline") && !svg.includes("class=\"") && svg.includes("Requests done in a second"), svg.slice(0, 200));
  const png = await saved(page, "PNG: save").catch((error) => String(error));
  assert.ok(png.length > 0);
  assert.match(await saved(page, "CSV: save the values"), /^series,/);
  await page.close();
}

/** The report of another campaign is compared, and an invalid file is refused. */
async function overlay(page) {
  const { root } = await page.send("DOM.getDocument");
  const { nodeId } = await page.send("DOM.querySelector", { nodeId: root.nodeId, selector: "#overlay" });
  const status = () => document.querySelector(".overlays [role=status]").textContent;
  await page.send("DOM.setFileInputFiles", { nodeId, files: [resolve(folder, "large.db")] });
  await page.until(`(${status})().includes("cannot be added")`, "the refusal of a file that is no report");
  await page.send("DOM.setFileInputFiles", { nodeId, files: [resolve(folder, "gallery", "report.html")] });
  await page.until(() => document.querySelectorAll("svg.plot .over").length > 10, "another campaign over this one");
}

/** The report is shown light, dark and at the width of a phone, and printed. */
async function looks(browser) {
  const phone = { width: 390, height: 844, phone: true };
  for (const [look, options] of [["light", {}], ["dark", { dark: true }], ["phone", phone], ["phone-dark", { ...phone, dark: true }]]) {
    for (const name of ["gallery", "gallery/search", "gallery/invalid"]) {
      const url = file(name, "report.html");
      const { page } = await open(browser, url, options).catch((error) => { throw new Error(`${name}, ${look}: ${error.message}`); });
      await judge(page, url, `${name}, ${look}`);
      await page.picture(join(pictures, `report-${name.replace("/", "-")}-${look}.png`));
      if (look === "dark" && name === "gallery") {
        const { data } = await page.send("Page.printToPDF", { printBackground: false });
        assert.ok(data.length > 50_000, "it prints");
      }
      await page.close();
    }
  }
}

mkdirSync(pictures, { recursive: true });
const browser = await start(process.env.CHROMIUM ?? "chromium");
try {
  await thousand(browser);
  await by_keys(browser);
  await looks(browser);
  console.log("reports: whole");
} finally {
  await browser.close();
}
