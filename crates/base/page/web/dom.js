// Elements out of text: nothing that a peer has sent is ever read as markup.

/** Text whose every sign is seen: a name that turns the direction of writing would look like another's. @param {string} text */
export function seen(text) {
  return text.replace(/[\u0000-\u0009\u000b-\u001f\u007f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, "\ufffd");
}

/** @typedef {string | number | Node | null | undefined | false} Child */

/**
 * An element. Attributes that are `false` or `undefined` are left out; functions listen to the event of that name.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, string | number | boolean | undefined | ((event: any) => void)>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  set(element, attributes);
  put(element, ...children);
  return element;
}

/**
 * An element of SVG.
 * @param {string} tag
 * @param {Record<string, string | number | boolean | undefined | ((event: any) => void)>} [attributes]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(element, attributes);
  put(element, ...children);
  return element;
}

/**
 * @param {Element} element
 * @param {Record<string, string | number | boolean | undefined | ((event: any) => void)>} attributes
 */
export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === false || value === undefined) element.removeAttribute(name);
    else {
      const wanted = value === true ? "" : String(value);
      if (element.getAttribute(name) !== wanted) element.setAttribute(name, wanted);
    }
  }
}

/**
 * Puts children in the place of those that are there.
 * @param {Element} element
 * @param {...Child} children
 */
export function put(element, ...children) {
  const kept = children.filter((child) => child !== null && child !== undefined && child !== false);
  element.replaceChildren(...kept.map((child) => (child instanceof Node ? child : seen(String(child)))));
}

/** Puts elements in the place of those that are there, unless they are the same. @param {Element} element @param {Element[]} wanted */
export function keep(element, wanted) {
  const same = element.children.length === wanted.length && wanted.every((it, n) => it.isEqualNode(element.children[n]));
  if (!same) put(element, ...wanted);
}

/**
 * Text in an element, written only if it is another: screen readers repeat what is written.
 * @param {Element} element
 * @param {string} text
 */
export function tell(element, text) {
  const wanted = seen(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}
