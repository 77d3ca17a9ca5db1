/**
 * A session of 10,000 steps in the inspector, by keys alone.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, defineTool } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { startTestServer } from "../server/rig.js";
import { verifies } from "../verifies.js";
import { expectReadable as lookAt, openBrowser, openInspector } from "./browser.js";

const steps = 10_000;

const look = defineTool({
  name: "look",
  description: "Looks.",
  input: { type: "object" },
  readOnly: true,
  execute({ at }) {
    if (at === 9_000) throw new Error("there is nothing to see");
    return `looked at ${String(at)}`;
  },
});

test("shows 10,000 steps with few rows in the document, and goes anywhere by keys", {
  ...verifies("UI-2"),
  timeout: 240_000,
}, async () => {
  const store = createMemoryStore();
  let at = 0;
  const model = createScriptedModel(
    () => {
      at += 1;
      return at === steps ? { text: "Nothing more to see." } : { calls: [{ name: "look", input: { at } }] };
    },
    { record: false },
  );
  const limits = { maxSteps: steps + 1, onRepeatedCall: "ignore" as const };
  const agent = createAgent({ name: "looker", store, model, tools: [look], limits });
  const result = await agent.run("Look at everything", { sessionId: "long" });
  expect(result).toMatchObject({ status: "completed", steps });
  const rig = await startTestServer({ store, agents: [], ui: true });
  const { page, problems } = await openInspector(await openBrowser(), rig);
  await page.locator("#session-0").waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("Nothing more to see.").waitFor({ timeout: 40_000 });
  const rows = () => page.evaluate<number>('document.querySelectorAll(".line").length');
  expect(await rows()).toBeLessThan(100);
  const selected = () => page.evaluate<string>('document.querySelector(".line.selected .index")?.textContent ?? ""');
  expect(await selected()).toBe(String(steps));
  await page.getByText("Loading steps…").waitFor({ state: "hidden", timeout: 60_000 });
  // The end that is followed stays in view when the window gets smaller.
  await page.setViewportSize({ width: 1024, height: 500 });
  const isInView = () =>
    page.evaluate<boolean>(`(() => {
      const [row, list] = [".line.selected", ".windowed"].map((one) => document.querySelector(one)?.getBoundingClientRect());
      return row !== undefined && row.bottom <= list.bottom + 1;
    })()`);
  await expect.poll(isInView).toBe(true);
  await page.setViewportSize({ width: 1440, height: 900 });
  await lookAt(page, "many-steps");
  await page.keyboard.press("Home");
  await page.getByRole("heading", { name: "Step 1", exact: true }).waitFor();
  // A problem far below the rows in view.
  await page.keyboard.press("n");
  await page.getByText("there is nothing to see").first().waitFor();
  expect(await selected()).toBe("9000");
  expect(page.url()).toMatch(/#\/sessions\/long\/steps\/[^/]+\/9000$/);
  for (let count = 0; count < 30; count += 1) await page.keyboard.press("j");
  await page.getByRole("heading", { name: "Step 9030" }).waitFor();
  expect(await rows()).toBeLessThan(100);
  // The URL leads back to the step, in a new page as well.
  await page.reload();
  await page.getByRole("heading", { name: "Step 9030" }).waitFor({ timeout: 40_000 });
  await page.getByText("looked at 9030").waitFor();
  await page.keyboard.press("End");
  await page.locator("article.final").waitFor();
  expect(problems).toEqual([]);
});
