/**
 * The bench of the server runs, in its short form.
 */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

test("the bench of the server gives each of its figures", { timeout: 120_000 }, () => {
  const program = fileURLToPath(new URL("../../bench/main.mjs", import.meta.url));
  const printed = execFileSync(process.execPath, [program, "server", "--quick", "--json"], { encoding: "utf8" });
  const { places, fanOut, idle, watched, latency, latencySlow, latencyPeer } = JSON.parse(printed);
  expect(places).toHaveLength(10);
  for (const { ms } of places) expect(ms).toBeGreaterThan(0);
  for (const { p50 } of [latency, latencySlow, latencyPeer]) expect(p50).toBeGreaterThan(0);
  for (const { direct, watched: overHttp } of [watched.short, watched.long]) {
    expect(direct).toBeGreaterThan(0);
    expect(overHttp).toBeGreaterThan(0);
  }
  for (const figure of [fanOut.us, idle.share]) expect(figure).toBeGreaterThan(0);
  // So few watchers hold less than what a collection of garbage leaves by chance.
  expect(idle.bytes).toEqual(expect.any(Number));
});
