// Long work in slices, with pauses for the browser.

/** Duration of a slice in milliseconds: half of a frame. */
const TURN = 8;

/** A pause in which the browser handles pending events. @returns {Promise<void>} */
export function pause() {
  return new Promise((done) => setTimeout(done));
}

/** Starts a slice; returns whether it is over. @returns {() => boolean} */
export function turn() {
  const end = performance.now() + TURN;
  return () => performance.now() >= end;
}

/** Runs all of the work at once. @param {Iterable<void>} work */
export function whole(work) {
  for (const _ of work);
}

/** Runs work in slices; requests during a run are dropped. */
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
      // Failed work is not repeated.
      if (done) this.work = null;
    }
    if (!done) this.timer = setTimeout(() => this.go());
  }

  /** The rest of the work is cancelled. */
  stop() {
    clearTimeout(this.timer);
    this.work = null;
  }
}
