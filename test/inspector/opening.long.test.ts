/**
 * How long a session takes until it is on screen: 10,000 steps beside 10, in turn on one machine.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, defineTool, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { startTestServer } from "../server/rig.js";
import { verifies } from "../verifies.js";
import { openBrowser, openInspector, type Page } from "./browser.js";

const look = defineTool({
  name: "look",
  description: "Looks.",
  input: { type: "object" },
  readOnly: true,
  execute: ({ at }) => `looked at ${String(at)}`,
});

async function write(store: Store, sessionId: string, steps: number): Promise<void> {
  let at = 0;
  const model = createScriptedModel(
    () => {
      at += 1;
      return at === steps ? { text: `The end of ${sessionId}.` } : { calls: [{ name: "look", input: { at } }] };
    },
    { record: false },
  );
  const limits = { maxSteps: steps + 1, onRepeatedCall: "ignore" as const };
  const result = await createAgent({ name: "looker", store, model, tools: [look], limits }).run("Look.", { sessionId });
  expect(result).toMatchObject({ status: "completed", steps });
}

/** Milliseconds from the choice of a session to the last step's answer. */
async function openingOf(page: Page, url: string, sessionId: string): Promise<number> {
  await page.goto(`${url}/#/`);
  await page.locator(".row", { hasText: sessionId }).first().waitFor();
  const before = performance.now();
  await page.goto(`${url}/#/sessions/${sessionId}`);
  await page.getByText(`The end of ${sessionId}.`).waitFor({ timeout: 60_000 });
  return performance.now() - before;
}

const median = (times: readonly number[]) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;

test("10,000 steps are on screen about as soon as 10", { ...verifies("UI-2"), timeout: 240_000 }, async () => {
  const store = createMemoryStore();
  await write(store, "few", 10);
  await write(store, "many", 10_000);
  const rig = await startTestServer({ store, agents: [], work: false, ui: true });
  const { page, problems } = await openInspector(await openBrowser(), rig);
  // Whatever is compiled and read once: both have been opened.
  const first = await openingOf(page, rig.url, "many");
  await openingOf(page, rig.url, "few");
  const [few, many]: [number[], number[]] = [[], []];
  for (let round = 0; round < 5; round += 1) {
    few.push(await openingOf(page, rig.url, "few"));
    many.push(await openingOf(page, rig.url, "many"));
  }
  expect(median(many)).toBeLessThan(12 * median(few));
  // The first time, the conversation before them is read: once.
  expect(first).toBeLessThan(40 * median(few));
  expect(problems).toEqual([]);
});
