// Recent values, one per second, in rings of limited length.

/** Number of seconds that are kept. */
export const SPAN_S = 180;

/** `n`: number of values in the mean. @typedef {{x: number, y: number, low: number, high: number, n?: number}} Sample */

/** Values of one quantity, one sample per second: mean, minimum and maximum of the values in that second. */
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
    // A clock that was set back starts a new history.
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
