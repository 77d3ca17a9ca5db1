/**
 * Child sessions in the inspector: inside the call that started them, folded under their parent, and in its cost.
 */
import { expect, test } from "vitest";
import { type Agent, createAgent, createMemoryStore, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { serverOfTest } from "../server/rig.js";
import { verifies } from "../verifies.js";
import { look, openBrowser, openInspector } from "./browser.js";
import { readFile } from "./desk.js";

const usage = { inputTokens: 1_200, outputTokens: 80, costUsd: 0.0048 };

/** An agent whose agent has an agent, and so on. The last one reads a file, and its price is not known. */
function nested(store: Store, depth: number): Agent {
  const names = ["lead", "planner", "researcher", "reader", "clerk"];
  const name = names[names.length - depth] ?? "clerk";
  const below = depth === 1 ? null : nested(store, depth - 1);
  const call =
    below === null
      ? { name: "read_file", input: { path: "src/queue.ts" } }
      : { name: below.options.name ?? "", input: { task: `Find out how the queue drains (${depth - 1})` } };
  const steps =
    below === null
      ? [{ text: "I read it.", calls: [call] }, { text: "It takes one item at a time." }]
      : [
          { text: `The ${name} asks the next one.`, calls: [call], usage },
          { text: `The ${name} knows: one item at a time.`, usage },
        ];
  return createAgent({
    name,
    store,
    model: createScriptedModel(steps, { id: below === null ? "some/unpriced" : "some/llm-large" }),
    tools: below === null ? [readFile] : [below.asTool({ description: "Finds something out." })],
  });
}

test("shows a child five deep inside its calls, under its parent and in the cost", verifies("UI-1#more"), async () => {
  const store = createMemoryStore();
  const lead = nested(store, 5);
  const result = await lead.run("How does the queue drain?", { sessionId: "lead" });
  expect(result).toMatchObject({ status: "completed", text: "The lead knows: one item at a time." });
  const rig = await serverOfTest({ store, agents: [], ui: true });
  const { page, problems } = await openInspector(await openBrowser(), rig);
  // In the list, each under its parent, by keys.
  await page.locator("#session-0").waitFor();
  expect(await page.locator(".row:not(.head)").count()).toBe(1);
  await page.getByText("▸ children").waitFor();
  for (let depth = 1; depth <= 4; depth += 1) {
    await page.keyboard.press("ArrowRight");
    await page.locator(`#session-${depth}`).waitFor();
    await page.keyboard.press("j");
  }
  await look(page, "children");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("k");
  await page.keyboard.press("ArrowLeft");
  await page.locator("#session-4").waitFor({ state: "hidden" });
  // In place: each inside the call that started it.
  await page.goto(`${rig.url}/#/sessions/lead`);
  await page.getByRole("option", { name: /planner/ }).click();
  for (const name of ["planner", "researcher", "reader", "clerk"])
    await page.locator(".child > summary", { hasText: name }).click();
  await page.getByText("I read it.").waitFor();
  await page.getByText("src/queue.ts").first().waitFor();
  await look(page, "child");
  // Its cost: the child's is part of the run's, and what nobody knows is no 0.
  await page.getByRole("link", { name: "Cost" }).click();
  await page.getByText("By child session").waitFor();
  await page.getByRole("link", { name: /^planner/ }).waitFor();
  expect(await page.locator(".totals").textContent()).toMatch(/≥ \$0\.04/);
  await look(page, "cost");
  await page.goto(`${rig.url}/#/sessions`);
  await page.locator("#session-0").waitFor();
  const { sessions } = (await rig.ask("GET", "/v1/sessions?limit=100")).json;
  expect(sessions.map(({ hasChildren }: { hasChildren: boolean }) => hasChildren)).toEqual([true]);
  expect(problems).toEqual([]);
});
