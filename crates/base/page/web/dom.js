// Creates elements. Text of a peer is never parsed as markup.

/** Text with visible control characters, because a name that changes the writing direction could imitate another name. @param {string} text */
export function seen(text) {
  return text.replace(/[\u0000-\u0009\u000b-\u001f\u007f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, "\ufffd");
}

/** @typedef {string | number | Node | null | undefined | false} Child */

/**
 * An element. Attributes that are `false` or `undefined` are omitted; functions are event listeners.
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
 * An SVG element.
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
 * Replaces the children of an element.
 * @param {Element} element
 * @param {...Child} children
 */
export function put(element, ...children) {
  const kept = children.filter((child) => child !== null && child !== undefined && child !== false);
  element.replaceChildren(...kept.map((child) => (child instanceof Node ? child : seen(String(child)))));
}

/** Replaces the children of an element, unless they are the same. @param {Element} element @param {Element[]} wanted */
export function keep(element, wanted) {
  const same = element.children.length === wanted.length && wanted.every((it, n) => it.isEqualNode(element.children[n]));
  if (!same) put(element, ...wanted);
}

/**
 * Sets the text of an element if it differs, because screen readers repeat text that is set.
 * @param {Element} element
 * @param {string} text
 */
export function tell(element, text) {
  const wanted = seen(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}
