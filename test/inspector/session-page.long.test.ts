/**
 * The page of a session in Chromium, on a session that real runs made: its timeline, its waterfall, its steps.
 */
import { expect, test } from "vitest";
import { createMemoryStore } from "../../src/index.js";
import { startTestServer } from "../server/rig.js";
import { verifies } from "../verifies.js";
import { expectReadable, openBrowser, openInspector } from "./browser.js";
import { journeyId, writeJourneySession } from "./journey.js";

async function openJourney() {
  const store = createMemoryStore();
  await writeJourneySession(store);
  const rig = await startTestServer({ store, agents: [], work: false, ui: true });
  const opened = await openInspector(await openBrowser(), rig);
  await opened.page.goto(`${rig.url}/#/sessions/${journeyId}`);
  await opened.page.getByText("Nothing else drains the queue.").waitFor();
  return { ...opened, rig };
}

test("shows what happened between the steps, and the time that each took", async () => {
  const { page, problems } = await openJourney();
  await page.getByRole("option", { name: /Steered by grace/ }).waitFor();
  await page
    .getByRole("option", { name: /Compacted \d+ messages/ })
    .first()
    .click();
  await page.getByText("The summary that replaces them").waitFor();
  expect(page.url()).toMatch(/#\/sessions\/[^/]+\/at\/\d+\.\d+$/);
  await expectReadable(page, "compaction");
  await page.locator(".line.step", { hasText: "search ×2" }).click();
  await page.getByText("I look for the queue").waitFor();
  await page.keyboard.press("w");
  await page
    .getByRole("button", { name: /^Step 1: some\/llm-large/ })
    .first()
    .waitFor();
  await expectReadable(page, "waterfall");
  await page
    .getByRole("button", { name: /^Step 2: / })
    .first()
    .click();
  await page.getByRole("heading", { name: "Step 2", exact: true }).waitFor();
  await page.getByText("The log tells more.").waitFor();
  await expectReadable(page, "attempts");
  await page.goto(`${page.url().replace(/\/steps\/.*$/, "")}`);
  await page.locator(".line.step", { hasText: "answer" }).first().click();
  await page.getByText("What was wrong").waitFor();
  await expectReadable(page, "markdown");
  expect(problems).toEqual([]);
});

test("shows what an attempt took and why it failed, hooks, and a kept output by the page", async () => {
  const { page, problems } = await openJourney();
  await page.locator(".line.step", { hasText: "read_file" }).nth(1).click();
  await page.getByText("The log tells more.").waitFor();
  const picker = page.getByRole("group", { name: "Attempt" });
  await picker.getByRole("button", { name: /Attempt 1/ }).click();
  await page.getByText("The model is overloaded. It was tried again after").waitFor();
  await picker.getByRole("button", { name: /Attempt 3/ }).click();
  await page.locator(".attempts").getByText("into cache").waitFor();
  expect(await page.locator(".attempts").textContent()).toContain("480");
  await page.locator("summary", { hasText: /hook/ }).first().click();
  await page.locator(".hook-line", { hasText: "house-rules" }).first().waitFor();
  await page.getByRole("button", { name: /Show the whole output/ }).click();
  await page.getByText("Lines 1 to 400 of 20,000").waitFor();
  await page.getByRole("button", { name: "Last" }).click();
  await page.getByText("20000 ok: a line of a log").waitFor();
  await expectReadable(page, "kept");
  await page.getByRole("tab", { name: "Raw" }).click();
  await page.getByText("model_failed").first().waitFor();
  await expectReadable(page, "raw");
  expect(problems).toEqual([]);
});

test("shows the request of each attempt", verifies("UI-1#screens"), async () => {
  const { page, problems, requestedUrls } = await openJourney();
  await page.locator(".line.step", { hasText: "read_file" }).nth(1).click();
  await page.getByText("The log tells more.").waitFor();
  await page.keyboard.press("r");
  const picker = page.getByRole("group", { name: "Attempt" });
  await picker.getByRole("button", { name: /Attempt 3/ }).waitFor();
  await page.getByText("estimated by Pawl").waitFor();
  await picker.getByRole("button", { name: /Attempt 1/ }).click();
  await page.locator('[aria-pressed="true"]', { hasText: "Attempt 1" }).waitFor();
  await page.getByText("estimated by Pawl").waitFor();
  await expectReadable(page, "request-attempts");
  expect(requestedUrls.filter((url) => url.endsWith("?attempt=1"))).toHaveLength(1);
  expect(problems).toEqual([]);
});

test("finds a text in the session, and a session by its title", async () => {
  const { page, problems } = await openJourney();
  await page.keyboard.press("/");
  await page.getByRole("searchbox", { name: "Find in this session" }).fill("DRAINED");
  await page.getByText(/^\d+ matches$/).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await page.locator(".line.match.selected mark").waitFor();
  await expectReadable(page, "find");
  expect(page.url()).toMatch(/\/(?:steps|at)\//);
  await page.keyboard.press("Escape");
  await page.locator(".line.step").first().waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: /Title or id/ }).fill("mend the");
  await page.locator(".open-line", { hasText: "Mend the queue" }).waitFor();
  await expectReadable(page, "open");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: /Mend the queue/ }).waitFor();
  expect(problems).toEqual([]);
});
