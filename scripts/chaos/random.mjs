/**
 * Random decisions that a seed fixes. Each actor of the chaos test has a sequence of its own, so that what one decides does
 * not depend on when another does.
 */
import { createHash } from "node:crypto";

/** @param {readonly unknown[]} names what the sequence is for: the seed first */
export function createRandom(...names) {
  let drawn = 0;
  /** From 0 up to, not including, 1. */
  function next() {
    drawn += 1;
    return (
      createHash("sha256")
        .update(JSON.stringify([names, drawn]))
        .digest()
        .readUInt32LE() /
      2 ** 32
    );
  }
  const whole = (least, most) => least + Math.floor(next() * (most - least + 1));
  return { next, whole, isTrue: (chance) => next() < chance, one: (list) => list[whole(0, list.length - 1)] };
}
