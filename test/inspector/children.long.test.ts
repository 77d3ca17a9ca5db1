/**
 * Child sessions in the inspector: inside the call that started them, folded under their parent, and in its cost.
 */
import { expect, test } from "vitest";
import { createMemoryStore } from "../../src/index.js";
import { startTestServer } from "../server/rig.js";
import { verifies } from "../verifies.js";
import { expectReadable, openBrowser, openInspector } from "./browser.js";
import { nested } from "./family.js";

test("shows a child five deep inside its calls, under its parent and in the cost", verifies("UI-1#more"), async () => {
  const store = createMemoryStore();
  const lead = nested(store, 5);
  const result = await lead.run("How does the queue drain?", { sessionId: "lead" });
  expect(result).toMatchObject({ status: "completed", text: "The lead knows: one item at a time." });
  const rig = await startTestServer({ store, agents: [], ui: true });
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
  await expectReadable(page, "children");
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
  await expectReadable(page, "child");
  // Its cost: the child's is part of the run's, and what nobody knows is no 0.
  await page.getByRole("link", { name: "Cost" }).click();
  await page.getByText("By child session").waitFor();
  await page.getByRole("link", { name: /^planner/ }).waitFor();
  expect(await page.locator(".totals").textContent()).toMatch(/≥ \$0\.04/);
  await expectReadable(page, "cost");
  await page.goto(`${rig.url}/#/sessions`);
  await page.locator("#session-0").waitFor();
  const { sessions } = (await rig.ask("GET", "/v1/sessions?limit=100")).json;
  expect(sessions.map(({ hasChildren }: { hasChildren: boolean }) => hasChildren)).toEqual([true]);
  expect(problems).toEqual([]);
});
