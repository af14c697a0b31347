// What was, by the second and for a while: rings of bounded length.

/** Seconds that are remembered. */
export const SPAN_S = 180;

/** `n`: how many values it is the mean of. @typedef {{x: number, y: number, low: number, high: number, n?: number}} Sample */

/** Values of one thing, one sample a second: the mean of what came in it, from the lowest to the highest. */
export class Track {
  constructor() {
    /** @type {Sample[]} */
    this.samples = [];
    this.count = 0;
  }

  /**
   * @param {number} time seconds
   * @param {number} y
   * @param {number} [low]
   * @param {number} [high]
   */
  add(time, y, low = y, high = y) {
    if (!Number.isFinite(y)) return;
    const x = Math.floor(time);
    const last = this.samples[this.samples.length - 1];
    if (last && last.x === x) {
      this.count += 1;
      last.n = this.count;
      last.y += (y - last.y) / this.count;
      last.low = Math.min(last.low, low);
      last.high = Math.max(last.high, high);
      return;
    }
    // Clocks that were set back begin anew.
    if (last && last.x > x) this.samples = [];
    this.count = 1;
    this.samples.push({ x, y, low, high, n: 1 });
    if (this.samples.length > SPAN_S) this.samples.shift();
  }

  /** @returns {number | undefined} */
  get latest() {
    return this.samples[this.samples.length - 1]?.y;
  }
}
