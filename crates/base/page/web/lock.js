// The prompt for a server's token, if it needs one.
import { h } from "./dom.js";
import { keepToken } from "./net.js";

/** @param {string} whose @param {string} flag that names the file @param {string} why @param {() => void} entered */
export function lock(whose, flag, why, entered) {
  const field = h("input", { type: "password", id: "token", autocomplete: "current-password", required: true });
  const form = h("form", { class: "panel lock", submit: (/** @type {Event} */ event) => {
    event.preventDefault();
    keepToken(field.value);
    entered();
  } }, h("h1", {}, `${whose} requires a token`), h("p", { class: "soft" }, `${why}: the content of the file given with ${flag}. It is kept in this tab only.`),
  h("label", { for: "token" }, "Token"), field, h("button", { type: "submit", class: "main" }, "Enter"));
  return { form, field };
}

/** State of the connection as text. @param {HTMLElement} pill @param {import("./net.js").Health | "ended"} now @param {string} why */
export function tellPill(pill, now, why) {
  pill.className = `pill ${now}`;
  const words = { connecting: "connecting", live: "live", lost: "not connected", locked: "locked", resting: "resting", ended: "ended" }[now];
  if (pill.textContent !== words) pill.textContent = words;
  pill.title = why;
}
