// Work in turns: what would hold the browser for long leaves it room between its parts.

/** Milliseconds of work between two pauses: half of what a frame has. */
const TURN = 8;

/** A moment in which the browser does what waits for it. @returns {Promise<void>} */
export function pause() {
  return new Promise((done) => setTimeout(done));
}

/** A turn begins; whether it is over. @returns {() => boolean} */
export function turn() {
  const end = performance.now() + TURN;
  return () => performance.now() >= end;
}

/** All of some work at once. @param {Iterable<void>} work */
export function whole(work) {
  for (const _ of work);
}

/** Work that yields between its parts, done in turns; what is wanted while it is under way is left out. */
export class Turns {
  constructor() {
    /** @type {Iterator<void> | null} */
    this.work = null;
    /** @type {number | undefined} */
    this.timer = undefined;
  }

  /** @param {Iterator<void>} work */
  run(work) {
    if (this.work) return;
    this.work = work;
    this.go();
  }

  go() {
    const over = turn();
    let done = true;
    try {
      do done = this.work?.next().done !== false; while (!done && !over());
    } finally {
      // What has failed is not tried again.
      if (done) this.work = null;
    }
    if (!done) this.timer = setTimeout(() => this.go());
  }

  /** What is left of it is not done. */
  stop() {
    clearTimeout(this.timer);
    this.work = null;
  }
}
