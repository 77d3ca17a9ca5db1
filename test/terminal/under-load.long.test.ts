/**
 * A key under load, beside the same key at rest in the same run; and the most memory of the process. The figures of a quiet machine are in
 * docs/performance.md: there the largest share is 62, because a key at rest takes less than a millisecond.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { verifies } from "../verifies.js";

type Row = { readonly what: string; readonly keys: number; readonly p50: number; readonly megabytes: number };

/** Wide enough for a busy machine: a program that is blocked answers after seconds, which is thousands of times a key at rest. */
const mostTimesAtRest = 400;
const mostMegabytes = 250;

test("keys answer and memory stays bounded while much output, long answers, four agents and a long history are shown", {
  ...verifies("CHAT-1#view"),
  timeout: 300_000,
}, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["bench/main.mjs", "terminal", "--json"]);
  const rows = JSON.parse(stdout) as readonly Row[];
  const [atRest, ...underLoad] = rows;
  expect(underLoad).toHaveLength(5);
  for (const { what, keys, p50, megabytes } of rows) {
    expect(keys, what).toBeGreaterThan(0);
    expect(p50 / (atRest?.p50 ?? 0), what).toBeLessThan(mostTimesAtRest);
    expect(megabytes, what).toBeLessThan(mostMegabytes);
  }
});
