import { expect, test } from "vitest";
import { expectShortBlocks, maxPasses, measureLongestBlock, measurePlainPass } from "./plain-pass.js";

const input = "some text ".repeat(100_000);

/** Takes as much processor time as so many plain passes, without giving the event loop back. */
function keepLoopFor(passes: number): void {
  const microseconds = measurePlainPass(input) * passes * 1000;
  const before = process.cpuUsage();
  for (let used = 0; used < microseconds; ) {
    const { user, system } = process.cpuUsage(before);
    used = user + system;
  }
}

test("work that gives the loop back in between may take as long as it needs", async () => {
  await expectShortBlocks("many short turns", input, async () => {
    for (let turn = 0; turn < 20; turn += 1) {
      keepLoopFor(maxPasses / 10);
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
});

test("work that keeps the loop is found, before its first wait and after it", async () => {
  const atOnce = () => keepLoopFor(maxPasses * 3);
  await expect(expectShortBlocks("at once", input, atOnce)).rejects.toThrow("at once keeps the event loop");
  const later = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    keepLoopFor(maxPasses * 3);
  };
  await expect(expectShortBlocks("later", input, later)).rejects.toThrow("later keeps the event loop");
});

test("an error of the work is no failure", async () => {
  expect(await measureLongestBlock(() => Promise.reject(new Error("refused")))).toBeGreaterThanOrEqual(0);
});
