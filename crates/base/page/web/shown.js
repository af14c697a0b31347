// The view of a document, which is saved in the page or requested.
import { parse, parsed } from "./document.js";
import { Report } from "./report.js";
import { Sequence } from "./sequence.js";

/** @typedef {{element: HTMLElement, show: (doc: any) => void}} View */

/** Shows documents in the order in which they arrive, in a view of their kind. */
export class Shown {
  /** @param {(view: View) => void} made hears of a view that is to be put somewhere */
  constructor(made) {
    this.made = made;
    /** @type {View | null} */
    this.view = null;
  }

  /** @param {string} text of the document, or of a page that has it */
  show(text) {
    const found = parsed(text);
    const sequence = found?.format === "ranlab-sequence/1";
    const doc = sequence ? found : parse(text);
    if (!this.view) {
      this.view = sequence ? new Sequence() : new Report();
      this.made(this.view);
    }
    this.view.show(doc);
  }
}
