// Tools of a figure: axes, range, and export as SVG, PNG or CSV.
import { h, s, seen, set } from "./dom.js";
import { samples } from "./figure.js";

/** Properties that an exported picture takes from the style sheet. */
const LOOKS = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight", "paint-order", "visibility"];
/** Pixels of an exported picture per pixel of the screen. */
const DENSE = 2;
const HEAD = 30, ROW = 20, SIGN = 7;

/** Downloads a file. @param {string} name @param {Blob} blob */
export function give(name, blob) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** @param {(string | number)[][]} rows */
export function csv(rows) {
  const cell = (/** @type {string | number} */ it) => (/[",\n\r]/.test(String(it)) ? `"${String(it).replaceAll('"', '""')}"` : String(it));
  return new Blob(rows.map((row) => `${row.map(cell).join(",")}\n`), { type: "text/csv" });
}

/** A figure's picture as a separate file, with its styles, title and legend. @param {import("./plot.js").Plot} plot */
function picture(plot) {
  const { svg, width, height, legend } = plot;
  const of = (/** @type {Element} */ element, /** @type {string} */ name) => getComputedStyle(element).getPropertyValue(name);
  const copy = /** @type {SVGElement} */ (svg.cloneNode(true));
  const originals = svg.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((it, n) => {
    LOOKS.forEach((look) => it.setAttribute(look, of(originals[n], look)));
    it.removeAttribute("class");
  });
  const words = { "font-family": of(svg, "font-family"), fill: of(plot.title, "color") };
  let [x, y] = [10, HEAD + height + 14];
  const items = legend.hidden ? [] : [...legend.children].flatMap((li) => {
    const [text, sign] = [li.textContent ?? "", li.querySelector("i")];
    const wide = text.length * SIGN + 34;
    if (x + wide > width && x > 10) [x, y] = [10, y + ROW];
    const box = sign && s("rect", { x, y: y - 7, width: 14, height: 5, fill: of(sign, "background-color") });
    const label = s("text", { ...words, x: sign ? x + 20 : x, y, "font-size": 12 }, text);
    x += wide;
    return box ? [box, label] : [label];
  });
  const whole = y + (items.length > 0 ? ROW / 2 : -ROW / 2);
  set(copy, { x: 0, y: HEAD, width, height, tabindex: undefined, class: undefined, style: undefined });
  const title = s("text", { ...words, x: 10, y: 20, "font-size": 14, "font-weight": 600 }, plot.title.textContent);
  const ground = s("rect", { width, height: whole, fill: of(plot.element, "background-color") });
  const root = s("svg", { width, height: whole, viewBox: `0 0 ${width} ${whole}` }, ground, title, copy, ...items);
  return { text: new XMLSerializer().serializeToString(root), width, height: whole };
}

/** @param {import("./plot.js").Plot} plot @param {(blob: Blob) => void} done */
function png(plot, done) {
  const { text, width, height } = picture(plot);
  const image = new Image();
  const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  image.onload = () => {
    const canvas = h("canvas", { width: width * DENSE, height: height * DENSE });
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(url);
    canvas.toBlob((blob) => blob && done(blob), "image/png");
  };
  image.src = url;
}

/** Buttons above a figure. @param {import("./plot.js").Plot} plot @param {string} name of its files, until it gets another */
export function tooled(plot, name) {
  plot.name = name;
  const button = (/** @type {string} */ text, /** @type {string} */ what, /** @type {() => void} */ click) => h("button", { type: "button", "aria-label": what, title: what, click }, text);
  const log = (/** @type {"x" | "y"} */ axis) => button(`log ${axis}`, `log ${axis}: logarithmic axis`, () => {
    const { figure } = plot;
    if (!figure) return;
    plot.part = null;
    plot.log[axis] = !figure[`log_${axis}`];
    plot.draw(figure);
  });
  const [x, y, all] = [log("x"), log("y"), button("All", "All of it", () => plot.zoom(0))];
  const [closer, wider] = [button("+", "+ zoom in", () => plot.zoom(0.5)), button("−", "− zoom out", () => plot.zoom(2))];
  const text = () => new Blob([picture(plot).text], { type: "image/svg+xml" });
  const saves = [
    button("SVG", "SVG: save", () => give(`${plot.name}.svg`, text())), button("PNG", "PNG: save", () => png(plot, (blob) => give(`${plot.name}.png`, blob))),
    button("CSV", "CSV: save the values", () => plot.figure && give(`${plot.name}.csv`, csv(samples(plot.figure)))),
  ];
  const bar = h("div", { class: "tools small", role: "group", "aria-label": "This figure" }, x, y, closer, wider, all, ...saves);
  plot.title.after(bar);
  plot.changed = () => {
    const figure = plot.figure;
    if (!figure) return;
    const stands = figure.rows.length > 0 || figure.series.some(({ form }) => form === "area");
    x.hidden = figure.x !== "numbers" || !plot.positive("x");
    y.hidden = stands || !plot.positive("y");
    closer.hidden = wider.hidden = all.hidden = figure.x === "names";
    all.disabled = plot.part === null;
    set(x, { "aria-pressed": figure.log_x ? "true" : "false" });
    set(y, { "aria-pressed": figure.log_y ? "true" : "false" });
  };
  return plot;
}

/** Converts a title to a file name. @param {string} title */
export function fileName(title) {
  return seen(title).toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 60).replace(/^-|-$/g, "") || "figure";
}
