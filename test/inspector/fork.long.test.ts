/**
 * Going back in the inspector: a fork that asks in other words, a fork that goes on, and a replay with other code.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { startTestServer } from "../server/rig.js";
import { verifies } from "../verifies.js";
import { expectReadable, openBrowser, openInspector } from "./browser.js";
import { readFile, shell } from "./desk.js";

/** An agent that looks before it answers, and says what it was asked. */
function looker(store: Store, more: Partial<Parameters<typeof createAgent>[0]> = {}) {
  const model = createScriptedModel(({ messages }) => {
    const last = messages.at(-1);
    if (last?.role === "tool") return { text: "The file has four lines." };
    const asked = messages.filter(({ role }) => role === "user").length;
    const text = last?.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
    return text?.startsWith("Read") === true
      ? { text: "I look at it.", calls: [{ name: "read_file", input: { path: "src/queue.ts" } }] }
      : { text: `Request ${asked}: ${text}` };
  });
  return createAgent({ name: "looker", store, model, tools: [readFile, shell], ...more });
}

describe("the inspector", () => {
  test("forks a session before a request, and after a step", verifies("UI-1#more"), async () => {
    const store = createMemoryStore();
    const agent = looker(store);
    await agent.run("Read the queue", { sessionId: "source" });
    await agent.run("And how many lines?", { sessionId: "source" });
    const { seq } = await agent.session("source").state();
    const rig = await startTestServer({ store, agents: [agent], ui: true });
    const { page, problems } = await openInspector(await openBrowser(), rig);
    await page.getByText("Read the queue").click();
    await page.getByText("Request 2: And how many lines?").waitFor();
    await page.keyboard.press("f");
    const dialog = page.getByRole("dialog", { name: "Fork this session" });
    const field = dialog.getByRole("textbox");
    await dialog.getByText("asks again").waitFor();
    expect(await field.inputValue()).toBe("And how many lines?");
    await expectReadable(page, "fork");
    await field.fill("And how many words?");
    await page.keyboard.press("Control+Enter");
    await page.getByText("Request 2: And how many words?").waitFor();
    expect(page.url()).not.toContain("/source");
    // What the copy was asked before, it still has.
    await page.getByRole("option", { name: /read_file/ }).click();
    await page.getByText("I look at it.").waitFor();
    await page.keyboard.press("f");
    await dialog.getByText("continues after step 1").click();
    await field.fill("Stop reading");
    await dialog.getByRole("button", { name: /Fork and send/ }).click();
    await page.getByText("Request 2: Stop reading").waitFor();
    expect((await agent.session("source").state()).seq).toBe(seq);
    expect((await rig.ask("GET", "/v1/sessions")).json.sessions).toHaveLength(3);
    expect(problems).toEqual([]);
  });

  test("copies up to an entry of the log, and says why a copy could not be made", verifies("UI-1#more"), async () => {
    const store = createMemoryStore();
    const agent = looker(store);
    await agent.run("Read the queue", { sessionId: "source" });
    const rig = await startTestServer({ store, agents: [agent], ui: true });
    const { page, problems } = await openInspector(await openBrowser(), rig);
    await page.goto(`${rig.url}/#/sessions/source/log/tool_result`);
    await page.locator(".line.event").click();
    await page.getByRole("button", { name: "Fork" }).click();
    await page.getByRole("button", { name: "Copy only" }).click();
    await page.locator(".line.step").waitFor();
    expect(page.url()).not.toContain("/source");
    const copies = (await rig.ask("GET", "/v1/sessions")).json.sessions;
    expect(copies).toHaveLength(2);
    await page.keyboard.press("f");
    const dialog = page.getByRole("dialog", { name: "Fork this session" });
    await dialog.getByRole("textbox").fill("x");
    await store.delete(page.url().split("/sessions/")[1] ?? "", { now: Date.now() });
    await dialog.getByRole("button", { name: "Copy only" }).click();
    await dialog.getByRole("alert").waitFor();
    expect(await dialog.getByRole("alert").textContent()).toContain("no session");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    expect(problems.filter((text) => !text.includes("404"))).toEqual([]);
  });

  test("shows the first difference of a replay, recorded and now", verifies("UI-1#more"), async () => {
    const store = createMemoryStore();
    await looker(store).run("Read the queue", { sessionId: "s" });
    const stricter = looker(store, { systemPrompt: "Be brief.", canExecuteTool: () => "ask" });
    const rig = await startTestServer({ store, agents: [stricter], work: false, ui: true });
    const { page, problems } = await openInspector(await openBrowser(), rig);
    await page.goto(`${rig.url}/#/sessions/s/replay`);
    await page.getByText("promptHash").waitFor();
    await page.getByText("Ignore changes of prompts and tools").click();
    await page.getByText("decision.verdict").waitFor();
    const cells = page.getByRole("cell");
    expect([await cells.nth(0).textContent(), await cells.nth(1).textContent()]).toEqual(["allow", "ask"]);
    await expectReadable(page, "replay");
    await page.getByRole("link", { name: "Step 1" }).waitFor();
    await page.getByText("Use the recorded permission decisions").click();
    await page.getByText("The current code does the same").waitFor();
    expect(problems).toEqual([]);
  });

  test("says where a replay can be run if the agent is elsewhere", verifies("UI-1#more"), async () => {
    const store = createMemoryStore();
    await looker(store).run("Read the queue", { sessionId: "s" });
    const rig = await startTestServer({ store, agents: [], ui: true });
    const { page } = await openInspector(await openBrowser(), rig);
    await page.goto(`${rig.url}/#/sessions/s/replay`);
    await page.getByText("This session's agent is not in this process").waitFor();
    await expectReadable(page, "elsewhere");
  });
});
