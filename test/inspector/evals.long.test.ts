/**
 * Labels and the page Evals in the inspector.
 */
import { describe, expect, test } from "vitest";
import { createCase, evaluate, inRecord, sameCalls, sameEnd } from "../../src/evals/index.js";
import { createAgent, createMemoryStore, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { startTestServer } from "../server/rig.js";
import { verifies } from "../verifies.js";
import { expectReadable, openBrowser, openInspector, takePictures } from "./browser.js";
import { readFile, shell } from "./desk.js";

/** Reads a file and then lists the folder, unless it is quick. */
function createReader(store: Store, isQuick = false) {
  const model = createScriptedModel(
    ({ messages }) => {
      const answers = messages.filter(({ role }) => role === "assistant").length;
      if (answers === 0) return { calls: [{ name: "read_file", input: { path: "src/queue.ts" } }] };
      if (answers === 1 && !isQuick) return { calls: [{ name: "read_file", input: { path: "src/other.ts" } }] };
      return { text: "It has four lines." };
    },
    { record: false },
  );
  return createAgent({ name: "reader", store, model, tools: [readFile, shell] });
}

describe("The inspector", verifies("EVAL-2#page"), () => {
  test("labels a session, with a note, and removes the label", async () => {
    const store = createMemoryStore();
    const agent = createReader(store);
    await agent.run("How long is the queue?", { sessionId: "source" });
    const rig = await startTestServer({ store, agents: [agent], ui: true });
    const { page, problems } = await openInspector(await openBrowser(), rig);
    await page.getByText("How long is the queue?").click();
    await page.getByRole("button", { name: "Bad" }).click();
    await page.getByRole("textbox", { name: "Why" }).fill("wrong file");
    await expectReadable(page, "label");
    await page.keyboard.press("Enter");
    await expect
      .poll(async () => (await createCase(store, "source")).label)
      .toMatchObject({ good: false, note: "wrong file" });
    // The other verdict does not keep the reason, and a label can be taken back.
    await page.getByRole("button", { name: "Good" }).click();
    await expect(page.getByRole("textbox", { name: "Why" }).inputValue()).resolves.toBe("");
    await expect.poll(async () => (await createCase(store, "source")).label).toMatchObject({ good: true });
    await page.getByRole("button", { name: "Remove label" }).click();
    await expect.poll(async () => (await createCase(store, "source")).label).toBeUndefined();
    expect(problems).toEqual([]);
  });

  test("shows an eval by cases and variants, and a trial next to its recorded session", async () => {
    const store = createMemoryStore();
    const agent = createReader(store);
    await agent.run("How long is the queue?", { sessionId: "source" });
    const report = await evaluate({
      name: "readers",
      agent: { now: createReader(createMemoryStore()), quick: createReader(createMemoryStore(), true) },
      cases: [await createCase(store, "source", { name: "queue" })],
      judges: [sameEnd(), inRecord(), sameCalls()],
      store,
    });
    const rig = await startTestServer({ store, agents: [agent], ui: true, evalReports: async () => [report] });
    const { page, problems } = await openInspector(await openBrowser(), rig);
    await page.getByRole("link", { name: "Evals" }).click();
    await page.getByText("readers").first().waitFor();
    await takePictures(page, "eval-list");
    await page.getByText("readers").first().click();
    await page.getByText("quick: 0 of 1").waitFor();
    await page.getByRole("link", { name: "failed" }).click();
    await page.getByText('{"path":"src/other.ts"}').first().waitFor();
    await expectReadable(page, "evals");
    await page.getByRole("link", { name: "open" }).first().click();
    await page.getByText("It has four lines.").first().waitFor();
    expect(page.url()).toContain("/sessions/source");
    expect(problems).toEqual([]);
  });
});
