/**
 * What the inspector holds of a session that goes on and on. A run of a few seconds here; `npm run inspector:hour` watches a
 * session for an hour, whose model takes its time as models do, and prints once a minute what the page holds.
 */
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { createAgent, createMemoryStore } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { startTestServer } from "../server/rig.js";
import { openBrowser, openInspector, type Page } from "./browser.js";
import { readFile } from "./desk.js";

const minutes = Number(process.env.PAWL_STREAM_MINUTES ?? 0);
/** Steps before the page is opened, and those that it watches before it is measured: more than it keeps details of. */
const stepsAtFirst = 100;
const stepsWatched = 500;
/** Milliseconds that a model call takes in an hour's session. */
const callMs = 50;

/** The bytes that the page holds, after its garbage was collected. */
const held = (page: Page) => page.evaluate<number>("gc(), performance.memory.usedJSHeapSize");

test("holds no more of a session after six times as many steps", {
  timeout: 120_000 + minutes * 90_000,
}, async () => {
  const store = createMemoryStore();
  let steps = 0;
  let isLast = () => false;
  const model = createScriptedModel(
    () => {
      steps += 1;
      const text = `Step ${steps}. ${"The queue drains one item at a time. ".repeat(40)}`;
      const pace = minutes > 0 ? { wait: pause(callMs) } : {};
      if (isLast()) return { text, ...pace };
      return { text, calls: [{ name: "read_file", input: { path: `src/${steps}.ts` } }], ...pace };
    },
    { record: false },
  );
  const limits = { maxSteps: 1_000_000, onRepeatedCall: "ignore" } as const;
  const agent = createAgent({ name: "walker", store, model, tools: [readFile], limits });
  const rig = await startTestServer({ store, agents: [], ui: true });
  const browser = await openBrowser(["--js-flags=--expose-gc", "--enable-precise-memory-info"]);
  const { page, problems } = await openInspector(browser, rig);
  const watch = async (until: () => boolean) => {
    isLast = until;
    await agent.run("Walk on", { sessionId: "walk" });
    await page.goto(`${rig.url}/#/sessions/walk`);
    await page.locator(".said, .final").getByText(`Step ${steps}.`).first().waitFor({ timeout: 60_000 });
    return held(page);
  };
  await page.getByText("No sessions yet").waitFor();
  await watch(() => steps >= stepsAtFirst);
  const first = await watch(() => steps >= stepsWatched);
  const end = Date.now() + minutes * 60_000;
  const tell = async () => console.log(`${steps} steps: ${((await held(page)) / 1e6).toFixed(1)} MB`);
  const telling = minutes > 0 ? setInterval(() => void tell().catch(console.error), 60_000) : undefined;
  await watch(() => steps >= 6 * stepsWatched && Date.now() >= end).finally(() => clearInterval(telling));
  // A row of the list is a few hundred bytes, and stays. Texts, calls and events of steps go.
  const rows = (steps - stepsWatched) * 1_000;
  // The page may still be busy with the last steps when it shows the end: what it keeps is what it holds when it has caught up.
  const kept = async () => (await held(page)) - rows;
  await expect.poll(kept, { timeout: 30_000, interval: 500 }).toBeLessThan(first * 2);
  expect(problems).toEqual([]);
});
