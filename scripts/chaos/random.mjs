/**
 * Random decisions that a seed fixes. Each actor of the chaos test has a sequence of its own, so that what one decides does
 * not depend on when another does.
 */
import { createHash } from "node:crypto";

/** @param {readonly unknown[]} names what the sequence is for: the seed first */
export function createRandom(...names) {
  let state = createHash("sha256").update(names.join("\u0000")).digest().readUInt32LE();
  /** From 0 up to 1. */
  function next() {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const whole = (least, most) => least + Math.floor(next() * (most - least + 1));
  return { next, whole, isTrue: (chance) => next() < chance, one: (list) => list[whole(0, list.length - 1)] };
}
