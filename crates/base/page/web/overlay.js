// Another campaign's report, opened from a file and drawn over this one.
import { h, tell } from "./dom.js";
import { parse } from "./document.js";

/** Maximum size of a file in bytes, and maximum number of files. */
const BYTES_MAX = 64 << 20, FILES_MAX = 4;

/** The file chooser. @param {(overlays: import("./document.js").Overlay[]) => void} changed */
export function overlaying(changed) {
  /** @type {import("./document.js").Overlay[]} */
  let all = [];
  const told = h("span", { class: "soft", role: "status" });
  const clear = h("button", { type: "button", hidden: true, click: () => show([], "") }, "Remove");
  const show = (/** @type {typeof all} */ overlays, /** @type {string} */ why) => {
    all = overlays;
    clear.hidden = all.length === 0;
    tell(told, why || all.map(({ name }) => `over it: ${name}`).join(", "));
    changed(all);
  };
  const take = async (/** @type {File} */ file) => {
    try {
      if (file.size > BYTES_MAX) throw new Error(`it has more than ${BYTES_MAX >> 20} MB`);
      const doc = parse(await file.text());
      if (all.length >= FILES_MAX) throw new Error(`at most ${FILES_MAX} reports can be compared`);
      const when = doc.meta[0] ?? file.name;
      show([...all, { name: all.some(({ name }) => name === when) ? file.name : when, doc }], "");
    } catch (error) {
      tell(told, `${file.name} cannot be added: ${/** @type {Error} */ (error).message}. Choose a report.html of ranlab.`);
    }
  };
  const field = h("input", { type: "file", id: "overlay", accept: ".html,.json", multiple: true, change: async () => {
    for (const file of field.files ?? []) await take(file);
    field.value = "";
  } });
  return h("div", { class: "overlays tools" }, h("label", { class: "field", for: "overlay" }, "Compare with another report"), field, clear, told);
}
