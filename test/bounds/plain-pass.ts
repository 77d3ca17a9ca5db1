/**
 * Tells whether a piece of work keeps the event loop for too long, without asserting the clock: the work is compared
 * with a plain pass over the same input, measured in the same run.
 *
 * The plain pass adds up the character codes of a mebibyte of the input (a shorter input is repeated). It takes about
 * 1 ms on a quiet machine of 2024. The work may keep the loop for 50 times as long, which means about 50 ms there. A
 * person does not notice a pause of 50 ms, and a bound is far from what it has to catch: an algorithm that is quadratic
 * in a mebibyte takes more than 100,000 passes. A slow or busy machine slows both sides.
 *
 * Three things keep other work on the machine out of the measure. Both sides count with their time or with the
 * processor time of this process, whichever is less, so that a process that had to wait for a processor is not blamed.
 * The pass is a median. Work that seems too long is measured again, and its best round counts.
 */
import { expect } from "vitest";

/** How many plain passes a turn of the event loop may take. See above for the choice. */
export const maxPasses = 50;

const passCharacters = 1024 * 1024;
const passRounds = 9;
const rounds = 4;

export type Block = {
  /** The longest turn of the event loop while the work ran, in milliseconds. */
  readonly blockMs: number;
  /** A plain pass over the input, in milliseconds. */
  readonly passMs: number;
};

/**
 * Expects that the work never keeps the event loop for more than `maxPasses` plain passes over the input.
 *
 * @param what names the work in the message of a failure
 * @param input the text that the work gets; for other inputs, their JSON
 * @param work is run up to four times, so it must be repeatable; what it rejects with is ignored, because an error is
 *   a good answer to a bad input
 */
export async function expectShortBlocks(what: string, input: string, work: () => unknown): Promise<Block> {
  const passMs = measurePlainPass(input);
  const allowedMs = passMs * maxPasses;
  let blockMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds && blockMs > allowedMs; round += 1) {
    blockMs = Math.min(blockMs, await measureLongestBlock(work));
    // A round that is far too long shows no chance disturbance, and three more would only take time.
    if (blockMs > allowedMs * 20) break;
  }
  const passes = Math.round(blockMs / passMs);
  expect(passes, `${what} keeps the event loop for ${passes} plain passes over its input`).toBeLessThanOrEqual(
    maxPasses,
  );
  return { blockMs, passMs };
}

/** The milliseconds of a plain pass: the median of nine. */
export function measurePlainPass(input: string): number {
  const text = (input === "" ? " " : input).repeat(Math.ceil(passCharacters / Math.max(1, input.length)));
  const times: number[] = [];
  let sum = 0;
  for (let round = 0; round < passRounds; round += 1) {
    const before = now();
    for (let index = 0; index < passCharacters; index += 1) sum += text.charCodeAt(index);
    times.push(timeSince(before));
  }
  // The sum is used, so that the loop cannot be left out.
  if (sum < 0) throw new Error("character codes are not negative");
  return times.sort((a, b) => a - b)[Math.floor(passRounds / 2)] ?? 0;
}

/** The longest turn of the event loop while the work runs, in milliseconds. */
export async function measureLongestBlock(work: () => unknown): Promise<number> {
  await new Promise((resolve) => setImmediate(resolve));
  let longestMs = 0;
  let isDone = false;
  let before = now();
  const endTurn = () => {
    longestMs = Math.max(longestMs, timeSince(before));
    before = now();
  };
  const turns = new Promise<void>((resolve) => {
    const turn = () => {
      endTurn();
      if (isDone) resolve();
      else setImmediate(turn);
    };
    setImmediate(turn);
  });
  try {
    await work();
  } catch {
    // Whether the input is refused is not asked here.
  }
  isDone = true;
  await turns;
  return longestMs;
}

/** The milliseconds of synchronous work. The time in which other processes had the processor does not count. */
export function measureTime(work: () => unknown): number {
  const before = now();
  work();
  return timeSince(before);
}

type Instant = { readonly wall: number; readonly processor: number };

/** Milliseconds of time or of processor time, whichever is less. */
function timeSince(before: Instant): number {
  const after = now();
  return Math.min(after.wall - before.wall, after.processor - before.processor);
}

/** In milliseconds. */
function now(): Instant {
  const { user, system } = process.cpuUsage();
  return { wall: performance.now(), processor: (user + system) / 1000 };
}
