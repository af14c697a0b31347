// Position of a value between two edges: linear, logarithmic, by name or by time; and the marks of the axis.
import { clock, show, ticks, timeTicks } from "./figure.js";

/** @typedef {"linear" | "log" | "names" | "time"} Kind */

/** Marks within a decade, if there is room. */
const WITHIN = [[1, 2, 5], [1, 3], [1]];

/** @param {number} low @param {number} high @param {number} count */
function decades(low, high, count) {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const step = Math.max(1, Math.ceil((last - first) / count));
  const steps = WITHIN.find((all) => (last - first) * all.length <= count + 1) ?? [1];
  const all = [];
  for (let power = first; power <= last; power += step) for (const n of steps) all.push(n * 10 ** power);
  const inside = all.filter((it) => it >= low * 0.999 && it <= high * 1.001);
  // A range within a decade has linear marks.
  return inside.length > 1 ? inside : ticks(low, high, count).filter((it) => it > 0);
}

export class Scale {
  /** @param {Kind} kind @param {number} low @param {number} high @param {number} from pixel of `low` @param {number} to pixel of `high` */
  constructor(kind, low, high, from, to) {
    this.kind = kind;
    this.low = low;
    this.high = high > low ? high : low + 1;
    this.from = from;
    this.to = to;
  }

  /** @param {number} value */
  share(value) {
    if (this.kind === "log") return Math.log(value / this.low) / Math.log(this.high / this.low);
    return (value - this.low) / (this.high - this.low);
  }

  /** The pixel of a value. @param {number} value */
  at(value) {
    return this.from + this.share(value) * (this.to - this.from);
  }

  /** The value at a pixel. @param {number} pixel */
  value(pixel) {
    const share = (pixel - this.from) / (this.to - this.from);
    if (this.kind === "log") return this.low * (this.high / this.low) ** share;
    return this.low + share * (this.high - this.low);
  }

  /** Marks, about `count` of them. @param {number} count @returns {number[]} */
  marks(count) {
    if (this.kind === "log") return decades(this.low, this.high, count);
    if (this.kind === "time") return timeTicks(this.low, this.high, count);
    if (this.kind === "linear") return ticks(this.low, this.high, count);
    const all = [];
    for (let n = Math.ceil(this.low); n <= this.high; n += 1) all.push(n);
    return all;
  }

  /** @param {number} value @param {string} unit */
  name(value, unit) {
    return this.kind === "time" ? clock(value) : show(value, unit);
  }

  /** The range between the outermost marks. @param {number} count */
  rounded(count) {
    const marks = this.marks(count);
    if (this.kind !== "linear" || marks.length === 0) return { scale: this, marks };
    const step = marks.length > 1 ? marks[1] - marks[0] : 0;
    const last = marks[marks.length - 1];
    if (step && last < this.high - step * 1e-6) marks.push(last + step);
    const [low, high] = [Math.min(this.low, marks[0]), Math.max(this.high, marks[marks.length - 1])];
    return { scale: new Scale(this.kind, low, high, this.from, this.to), marks };
  }
}

/**
 * Range of the vertical values, before rounding.
 * @param {number} low @param {number} high @param {boolean} log @param {boolean} zero
 * @returns {[number, number]}
 */
export function edges(low, high, log, zero) {
  if (low > high) return log ? [1, 10] : [0, 1];
  if (log) return high / low > 1.05 ? [low / 1.08, high * 1.08] : [low / 2, high * 2];
  if (zero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
  if (high - low >= 1e-9 * Math.max(1e-3, Math.abs(high))) return [low, high];
  if (zero) return high === 0 ? [0, 1] : [low, high * 1.1];
  return [low - Math.abs(low) * 0.1 - 0.5, high * 1.1 + 0.5];
}
