// A saved page, which contains its data.
import { h, put } from "./dom.js";
import { Shown } from "./shown.js";

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
try {
  new Shown((view) => put(main, view.element)).show(document.getElementById("data")?.textContent ?? "");
} catch (error) {
  put(main, h("p", { class: "note bad" }, `This report cannot be shown: ${/** @type {Error} */ (error).message}`));
}
