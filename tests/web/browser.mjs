// Headless browser, controlled through a pipe with the DevTools protocol; needs only Node.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Time limit of any step, in milliseconds. */
const PATIENCE = 30_000;

/** Starts a browser; `close` ends it. @param {string} program */
export async function start(program) {
  const profile = mkdtempSync(join(tmpdir(), "ranlab-web-"));
  const child = spawn(program, ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-color-profile=srgb",
    "--remote-debugging-pipe", `--user-data-dir=${profile}`, "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const browser = new Browser(child, profile);
  await browser.send("Browser.getVersion");
  return browser;
}

/** Lists a process and its descendants. */
export function family(pid) {
  const lines = execFileSync("ps", ["-eo", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n").map((line) => line.trim().split(/\s+/).map(Number));
  const found = [pid];
  for (const parent of found) found.push(...lines.filter(([, of]) => of === parent).map(([child]) => child));
  return found;
}

/** Sends a signal to processes, some of which may have exited. @param {number[]} all @param {NodeJS.Signals} name */
export function signal(all, name) {
  for (const pid of all) {
    try {
      process.kill(pid, name);
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
  }
}

class Browser {
  constructor(child, profile) {
    this.child = child;
    this.profile = profile;
    this.count = 0;
    this.waiting = new Map();
    this.pages = new Map();
    let rest = "";
    child.stdio[4].setEncoding("utf8");
    child.stdio[4].on("data", (text) => {
      const messages = (rest + text).split("\0");
      rest = messages.pop();
      messages.forEach((message) => this.hear(JSON.parse(message)));
    });
    child.on("exit", () => this.waiting.forEach(({ reject }) => reject(new Error("the browser has ended"))));
  }

  hear(message) {
    const asked = this.waiting.get(message.id);
    if (asked) {
      this.waiting.delete(message.id);
      clearTimeout(asked.timer);
      if (message.error) asked.reject(new Error(`${asked.method}: ${message.error.message}`));
      else asked.resolve(message.result);
    } else this.pages.get(message.sessionId)?.hear(message.method, message.params);
  }

  send(method, params = {}, sessionId = undefined) {
    this.count += 1;
    const id = this.count;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(id);
        reject(new Error(`${method} is not answered`));
      }, PATIENCE);
      this.waiting.set(id, { resolve, reject, method, timer });
      this.child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  /** Opens a page with its own storage. */
  async page({ width = 1280, height = 900, dark = false, phone = false } = {}) {
    const { browserContextId } = await this.send("Target.createBrowserContext");
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank", browserContextId });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId);
    this.pages.set(sessionId, page);
    for (const domain of ["Page", "Runtime", "Network", "Log"]) await page.send(`${domain}.enable`);
    await page.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: phone });
    await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
    return page;
  }

  async close() {
    const gone = new Promise((resolve) => this.child.once("exit", resolve));
    await this.send("Browser.close").catch(() => this.child.kill());
    await Promise.race([gone, new Promise((resolve) => setTimeout(resolve, 5_000))]);
    this.child.kill("SIGKILL");
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

const KEYS = {
  Tab: 9, Enter: 13, Escape: 27, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, End: 35, Home: 36, " ": 32,
};

class Page {
  constructor(browser, session, target) {
    this.browser = browser;
    this.session = session;
    this.target = target;
    /** Errors that occurred in the page. */
    this.faults = [];
    /** Addresses that the page requested. */
    this.asked = [];
  }

  send(method, params) {
    return this.browser.send(method, params, this.session);
  }

  hear(method, params) {
    if (method === "Runtime.exceptionThrown") this.faults.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === "Runtime.consoleAPICalled" && ["error", "warning", "assert"].includes(params.type)) {
      this.faults.push(params.args.map((it) => it.value ?? it.description).join(" "));
    }
    if (method === "Log.entryAdded" && ["error", "warning"].includes(params.entry.level)) this.faults.push(`${params.entry.text} ${params.entry.url ?? ""}`);
    if (method === "Network.requestWillBeSent") this.asked.push(params.request.url);
    if (method === "Tracing.dataCollected") this.traced.push(...params.value);
    if (method === "Tracing.tracingComplete") this.complete();
  }

  /** Returns the tasks of the page's main thread during a number of seconds, longest first, with wall-clock and CPU time in milliseconds. @param {number} seconds */
  async tasks(seconds) {
    this.traced = [];
    await this.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories: ["toplevel", "devtools.timeline"] } });
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    const complete = new Promise((resolve) => { this.complete = resolve; });
    await this.send("Tracing.end");
    await complete;
    const own = this.traced.find((it) => it.name === "FunctionCall" && (it.args.data?.url ?? "").includes("/web/"));
    if (!own) throw new Error("nothing of the page has run");
    return this.traced.filter((it) => it.pid === own.pid && it.tid === own.tid && it.ph === "X" && it.name.endsWith("RunTask"))
      .map((it) => ({ ms: it.dur / 1000, cpu_ms: (it.tdur ?? 0) / 1000 })).sort((a, b) => b.ms - a.ms);
  }

  async go(url) {
    await this.send("Page.navigate", { url });
    await this.until(() => document.readyState === "complete", "the page to load");
  }

  /** Returns the value of a function evaluated in the page. */
  async run(what, ...parameters) {
    const expression = typeof what === "string" ? what : `(${what})(${parameters.map((it) => JSON.stringify(it)).join(",")})`;
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Waits until a function in the page returns a value. */
  async until(what, words, ...parameters) {
    const end = Date.now() + PATIENCE;
    for (;;) {
      const found = await this.run(what, ...parameters).catch(() => undefined);
      if (found) return found;
      if (Date.now() > end) throw new Error(`waited for ${words} in vain`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async press(key, { shift = false } = {}) {
    const code = KEYS[key] ?? key.toUpperCase().charCodeAt(0);
    const event = { key, code: key === " " ? "Space" : key, windowsVirtualKeyCode: code, modifiers: shift ? 8 : 0 };
    const text = key === "Enter" ? "\r" : key.length === 1 ? key : undefined;
    await this.send("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", text, ...event });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
  }

  async type(text) {
    await this.send("Input.insertText", { text });
  }

  /** Presses Tab until the focused element satisfies a condition; returns its text. */
  async tabTo(is, words, most = 120) {
    const met = [];
    for (let n = 0; n < most; n += 1) {
      await this.press("Tab");
      if (await this.run(`(${is})(document.activeElement)`)) return;
      met.push(await this.run(() => document.activeElement.tagName + " " + document.activeElement.textContent.slice(0, 20)));
    }
    throw new Error(`no key leads to ${words}; met: ${met.join(", ")}`);
  }

  /** Takes a picture of the whole page. */
  async picture(file, { whole = true } = {}) {
    if (whole) {
      // Elements fixed to the window's edge are drawn once, at the top.
      // Content beyond the window is laid out only when it becomes visible.
      await this.run(async () => {
        document.querySelectorAll(".beyond > section, .beyond > .two").forEach((it) => { it.style.contentVisibility = "visible"; });
        scrollTo(0, 0);
        await new Promise((done) => setTimeout(done, 300));
      });
      const { cssContentSize } = await this.send("Page.getLayoutMetrics");
      const clip = { x: 0, y: 0, width: cssContentSize.width, height: Math.min(cssContentSize.height, 6000), scale: 1 };
      const { data } = await this.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: true, clip });
      writeFileSync(file, Buffer.from(data, "base64"));
    } else {
      const { data } = await this.send("Page.captureScreenshot", { format: "png" });
      writeFileSync(file, Buffer.from(data, "base64"));
    }
  }

  async close() {
    this.browser.pages.delete(this.session);
    await this.browser.send("Target.closeTarget", { targetId: this.target });
  }
}
