/**
 * The screens of the inspector in Chromium, on sessions that real runs made. With PAWL_PICTURES=FOLDER it takes pictures of
 * each, in three sizes, light and dark.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { startTestServer } from "../server/rig.js";
import { verifies } from "../verifies.js";
import { expectReadable, openBrowser, openInspector, pressUntil } from "./browser.js";
import { createMender, createOrderTool, orderInput, writeOtherSessions, writeWaitingSession } from "./desk.js";

test("shows sessions, steps, a request, the log and what waits", async () => {
  const store = createMemoryStore();
  await writeOtherSessions(store);
  const sessionId = await writeWaitingSession(store);
  const rig = await startTestServer({ store, agents: [createMender(store)], work: false, ui: true });
  const { page, problems } = await openInspector(await openBrowser(), rig);
  await page.getByText("Fix the flaky test").waitFor();
  await expectReadable(page, "sessions");
  await page.getByText("Fix the flaky test").click();
  await page.getByText("I change the loop").waitFor();
  await expectReadable(page, "session");
  await page.goto(`${rig.url}/#/sessions/${sessionId}/steps`);
  await page.getByRole("option", { name: /read_file ×3/ }).click();
  await page.getByText("I look at the queue").waitFor();
  await expectReadable(page, "step");
  await page.keyboard.press("r");
  await page.getByText("estimated by Pawl").waitFor();
  await expectReadable(page, "request");
  await page.keyboard.press("l");
  await page.getByText("run_started").nth(1).waitFor();
  await expectReadable(page, "log");
  await page.keyboard.press("a");
  await page.getByText("What will run").waitFor();
  await page.getByText("Before", { exact: true }).waitFor();
  await expectReadable(page, "approvals");
  await page.getByRole("option", { name: /edit_file/ }).click();
  await pressUntil(page, "e", page.getByRole("button", { name: /Approve the edit/ }));
  await expectReadable(page, "edit");
  await page.keyboard.press("Escape");
  await page.goto(`${rig.url}/#/approvals`);
  await page.getByRole("option", { name: /edit_file/ }).click();
  await page.locator(".approval-detail").getByText("What will run").waitFor();
  await page.getByRole("button", { name: /^Approve/ }).waitFor();
  await expectReadable(page, "approval");
  expect(problems).toEqual([]);
});

test("edits an input with objects and lists in a form", verifies("UI-1#screens"), async () => {
  const store = createMemoryStore();
  const taken: unknown[] = [];
  const order = createOrderTool(taken);
  const model = createScriptedModel([
    { text: "I order what is missing.", calls: [{ name: "order", input: orderInput }] },
    { text: "Ordered." },
  ]);
  const agent = createAgent({ name: "buyer", store, model, tools: [order] });
  await agent.run("Order screws", { sessionId: "order" });
  const rig = await startTestServer({ store, agents: [agent], ui: true });
  const { page, problems } = await openInspector(await openBrowser(), rig);
  await page.keyboard.press("a");
  await page.getByText("What will run").waitFor();
  await page.getByRole("option", { name: /order/ }).click();
  const city = page.getByRole("textbox", { name: "City" });
  await pressUntil(page, "e", city);
  await city.fill("Ulm");
  await page.getByRole("button", { name: "Remove Line 1" }).click();
  await page.getByRole("button", { name: "+ Line" }).click();
  const added = page.getByRole("group", { name: "Line 2" });
  await added.getByRole("textbox", { name: "Part" }).fill("M4");
  await page.getByText("the field count is missing").waitFor();
  await added.getByRole("textbox", { name: "Count" }).fill("12");
  await expectReadable(page, "form");
  await page.getByRole("button", { name: /Approve the edit/ }).click();
  await page.getByText("Nothing is waiting").first().waitFor();
  await expect
    .poll(() => taken)
    .toEqual([
      {
        to: { city: "Ulm", floor: 3 },
        lines: [
          { part: "M6", count: 2, urgent: false },
          { part: "M4", count: 12 },
        ],
      },
    ]);
  expect(problems).toEqual([]);
});

test("a key acts on what the key before it opened, however soon it comes, but answers no call that has just appeared", async () => {
  const store = createMemoryStore();
  await writeWaitingSession(store);
  const rig = await startTestServer({ store, agents: [createMender(store)], work: false, ui: true });
  const { page, requestedUrls } = await openInspector(await openBrowser(), rig);
  await page.keyboard.press("a");
  await page.getByText("What will run").waitFor();
  const editor = page.locator(".editor");
  const approve = page.getByRole("button", { name: /^Approve y/ });
  await pressUntil(page, "e", editor);
  await page.keyboard.press("Escape");
  await approve.waitFor();
  // Both keys within one task, so that the browser draws nothing between them. The page renders in a microtask.
  const pressed = (first: string, second: string) =>
    page.evaluate(`(async () => {
      const press = (key) =>
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
      press("${first}");
      for (let turn = 0; turn < 20; turn += 1) await null;
      press("${second}");
    })()`);
  const hash = () => new URL(page.url()).hash;
  const route = hash();
  await pressed("e", "Escape");
  await approve.waitFor();
  await pressed("n", "Escape");
  await approve.waitFor();
  expect(hash()).toBe(route);
  // The key was meant for the call that was there before.
  await pressed("j", "y");
  await page.getByRole("region", { name: "shell waits" }).waitFor();
  await pressUntil(page, "e", editor);
  expect(requestedUrls.filter((address) => address.endsWith("/answers"))).toEqual([]);
  expect((await rig.ask("GET", "/v1/approvals")).json.approvals).toHaveLength(2);
});
