/**
 * The bench of the server runs, in its short form.
 */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

test("the bench of the server gives each of its figures", { timeout: 120_000 }, () => {
  const program = fileURLToPath(new URL("../../bench/main.mjs", import.meta.url));
  const printed = execFileSync(process.execPath, [program, "server", "--quick", "--json"], { encoding: "utf8" });
  const { places, fanOut, idle, watched, latency } = JSON.parse(printed);
  expect(places).toHaveLength(10);
  for (const { ms } of places) expect(ms).toBeGreaterThan(0);
  for (const figure of [fanOut.us, idle.bytes, watched.direct, watched.watched, latency.p50])
    expect(figure).toBeGreaterThan(0);
});
