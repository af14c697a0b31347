// Light or dark: the system's setting until the user selects one; light in print.
import { set, tell } from "./dom.js";

const KEPT = "ranlab theme";

/** The saved choice; a page opened from a file may have no storage. */
function chosen() {
  try {
    return localStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

/** Makes a button switch the theme. @param {HTMLElement} button @param {() => void} [changed] */
export function themed(button, changed = () => {}) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let wanted = chosen();
  const paint = (print = false) => {
    const dark = !print && (wanted ? wanted === "dark" : system.matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    tell(button, dark ? "Light" : "Dark");
    set(button, { "aria-label": `Use ${dark ? "light" : "dark"} colours` });
    changed();
  };
  button.addEventListener("click", () => {
    wanted = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem(KEPT, wanted);
    } catch {
      // The choice lasts as long as the page.
    }
    paint();
  });
  system.addEventListener("change", () => paint());
  addEventListener("beforeprint", () => paint(true));
  addEventListener("afterprint", () => paint());
  paint();
}
