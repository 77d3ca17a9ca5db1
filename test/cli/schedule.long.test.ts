/**
 * `pawl schedule`, and a worker of the command line that fires what is due.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { verifies } from "../verifies.js";
import { createWorld, parseJsonLines } from "./pawl.js";

const proven = verifies("TIME-4#schedules");

test("a schedule is added, listed, shown, paused, run by a worker, and removed", proven, async () => {
  const world = createWorld({ "notes.txt": "colour\n" });
  const { pawl } = world;
  const task = 'Replace "colour" with "color" in notes.txt';
  expect(await pawl(["schedule"])).toMatchObject({ code: 0, stderr: "There are no schedules.\n" });
  const added = await pawl(["schedule", "add", "morning", "0 8 * * 1-5", task, "--zone", "Europe/Berlin"]);
  expect(added).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^morning: next .* Europe\/Berlin \(.*T0[67]:00:00Z\)\.$/m),
  });
  expect(added.stderr).not.toContain("past");
  const past = await pawl(["schedule", "add", "skipped", "2026-01-01T08:00Z", task, "--missed", "skip"]);
  expect(past.stderr).toContain("This time is in the past: the run never starts.");
  expect((await pawl(["schedule", "add", "skipped", "1d", task])).stdout).toMatch(/^skipped, replaced: next /);
  await pawl(["schedule", "remove", "skipped"]);
  const once = await pawl(["schedule", "add", "once", "2026-01-01T08:00Z", task]);
  expect(once.stdout).toBe("once: next 2026-01-01T08:00:00Z.\n");
  expect(once.stderr).toContain("This time is in the past: a worker runs it at once.");
  expect((await pawl(["schedule", "list"])).stdout).toMatch(
    /^morning {2}0 8 \* \* 1-5 Europe\/Berlin {2}pawl\n {2}next .*\n {2}Replace "colour" with .*\nonce {2}once {2}pawl\n {2}next 2026-01-01T08:00:00Z\n {2}Replace "colour" with .*\n$/,
  );
  expect((await pawl(["schedule", "pause", "morning"])).stdout).toContain("morning is paused.");

  const worker = await pawl(["worker", "--once", "--yes"]);
  const sessionId = "once@2026-01-01T08:00:00.000Z";
  expect(worker.stdout).toContain("posted by the schedule once for 2026-01-01T08:00:00.000Z");
  expect(readFileSync(join(world.root, "notes.txt"), "utf8")).toBe("color\n");
  const shown = (await pawl(["schedule", "show", "once"])).stdout;
  expect(shown).toContain(`last 2026-01-01T08:00:00Z: completed (session ${sessionId})`);
  expect(shown).toContain(`2026-01-01T08:00:00Z  run  ${sessionId}`);
  expect(await pawl(["worker", "--once", "--yes"])).toMatchObject({ code: 0, stdout: "" });

  const [posted] = parseJsonLines((await pawl(["schedule", "run-now", "morning", "--json"])).stdout);
  expect(posted).toMatchObject({ sessionId: expect.stringMatching(/^morning@.*-manual-\w+$/) });
  expect((await pawl(["schedule", "show", "morning"])).stdout).toContain("has not started. Is a worker running?");
  expect((await pawl(["sessions"])).stdout).toMatch(/^morning@ +queued .* {2}Replace "colour" with/m);
  const elsewhere = await pawl(["sessions"], { cwd: world.base });
  expect(elsewhere).toMatchObject({ stdout: "", stderr: "2 sessions of other folders: pawl sessions --all\n" });

  const key = `sk-ant-${"k".repeat(40)}`;
  await pawl(["schedule", "add", "secret", "1d", `Use ${key}.`]);
  for (const args of [
    ["show", "secret"],
    ["show", "secret", "--json"],
    ["list", "--json"],
  ]) {
    const { stdout } = await pawl(["schedule", ...args]);
    expect(stdout).toContain("Use sk-ant-[redacted].");
    expect(stdout).not.toContain(key);
  }
  expect(await pawl(["schedule", "remove", "morning"])).toMatchObject({ code: 0 });
  expect(await pawl(["schedule", "show", "morning"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("no schedule"),
  });
});

test("the next slots are printed in the zone and in UTC, and what is not a schedule is refused", proven, async () => {
  const { pawl } = createWorld();
  const args = ["schedule", "next", "30 2 * * *", "--zone", "Europe/Berlin", "--count", "3", "--json"];
  const slots = parseJsonLines((await pawl(args)).stdout);
  expect(slots.map(({ at }) => at)).toEqual(
    Array.from({ length: 3 }, () => expect.stringMatching(/T0[01]:30:00\.000Z$/)),
  );
  expect(await pawl(["schedule", "add", "x", "61 * * * *", "Go"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Invalid cron expression "61 * * * *"'),
  });
  expect(await pawl(["schedule", "add", "x", "every day", "Go"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Invalid time "every day": expected an interval (10m), a time'),
  });
  expect(await pawl(["schedule", "add", "x", "2030-12-01T08:00", "Go"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("The time 2030-12-01T08:00 has no time zone. Add Z for UTC, or an offset"),
  });
  expect(await pawl(["schedule", "pause", "x"])).toMatchObject({ code: 2 });
});
