/**
 * The page Schedules in the inspector.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, createSchedules, createWorker } from "../../src/index.js";
import { createScriptedModel, createTestClock } from "../../src/testing/index.js";
import { startTestServer } from "../server/rig.js";
import { verifies } from "../verifies.js";
import { expectReadable, openBrowser, openInspector } from "./browser.js";

const aDay = 86_400_000;

test(
  "The inspector shows schedules with their slots, runs one now, and pauses it",
  verifies("TIME-4#schedules"),
  async () => {
    const store = createMemoryStore();
    let hasFailed = false;
    const model = createScriptedModel(() => {
      if (hasFailed) return { text: "Nothing is new." };
      hasFailed = true;
      return { error: { kind: "invalid_request", message: "not today" } };
    });
    const agent = createAgent({ name: "press", model, store });
    // Ten days ago: three slots run, and four are missed.
    const clock = createTestClock(Date.now() - 10 * aDay);
    const schedules = createSchedules({ store, clock });
    const press = { agent: "press", input: "What is new in the issues?" };
    await schedules.put({ id: "morning", everyMs: aDay, timezone: "Europe/Berlin", ...press });
    await schedules.put({ id: "friday", cron: "0 17 * * 5", timezone: "Europe/Berlin", paused: true, ...press });
    for (const days of [1, 1, 5]) {
      clock.jump(days * aDay);
      await createWorker({ store, agents: [agent], clock }).runUntilIdle();
    }
    const rig = await startTestServer({ store, agents: [agent], ui: true, work: false });
    const { page, problems } = await openInspector(await openBrowser(), rig);
    await page.getByRole("link", { name: "Schedules" }).click();
    await page.getByText("0 17 * * 5 Europe/Berlin").waitFor();
    await page.getByRole("img", { name: /: missed × 4$/ }).waitFor();
    await page.getByRole("img", { name: /: failed$/ }).waitFor();
    expect(await page.getByRole("img", { name: /: completed$/ }).count()).toBe(2);
    await expectReadable(page, "schedules");

    const morning = page.getByRole("row", { name: /morning/ });
    await morning.getByRole("button", { name: "Run now" }).click();
    await page.getByRole("img", { name: /: has not begun, on request$/ }).waitFor();
    await morning.getByRole("button", { name: "Pause" }).click();
    await expect.poll(async () => (await schedules.get("morning"))?.paused).toBe(true);
    await morning.getByRole("button", { name: "Resume" }).waitFor();
    await page.getByRole("img", { name: /: failed$/ }).click();
    await page.getByText("not today").first().waitFor();
    expect(problems).toEqual([]);
  },
);
