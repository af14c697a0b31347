// A saved report: its data is in it.
import { h, put } from "./dom.js";
import { parse } from "./document.js";
import { Report } from "./report.js";

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
try {
  const doc = parse(document.getElementById("data")?.textContent ?? "");
  const report = new Report();
  put(main, report.element);
  report.show(doc);
} catch (error) {
  put(main, h("p", { class: "note bad" }, `This report cannot be shown: ${/** @type {Error} */ (error).message}`));
}
