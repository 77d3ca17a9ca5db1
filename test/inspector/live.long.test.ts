/**
 * The inspector while sessions run: text as it streams, answers from a page as wide as a phone, and a server that goes away.
 */
import { createServer as createHttpServer } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { createAgent, createMemoryStore } from "../../src/index.js";
import { createServer, createToken, type ServerOptions } from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { startTestServer } from "../server/rig.js";
import { createDeferred } from "../support/agents.js";
import { verifies } from "../verifies.js";
import { expectReadable, openBrowser, openInspector, pressUntil } from "./browser.js";
import { createMender, shell, writeWaitingSession } from "./desk.js";

const phone = { width: 390, height: 844 };

/** A model that stops in the middle of its answer until it may go on. */
function halting() {
  const gate = createDeferred();
  const model = createScriptedModel(({ messages }) => ({
    deltas: (async function* () {
      yield { kind: "text-start", id: "t" } as const;
      yield { kind: "text-delta", id: "t", text: "The first half, " } as const;
      await gate.promise;
      yield { kind: "text-delta", id: "t", text: `and the second of ${messages.length}.` } as const;
      yield { kind: "text-end", id: "t" } as const;
      yield { kind: "done", finishReason: { unified: "stop" }, usage: { inputTokens: 9, outputTokens: 9 } } as const;
    })(),
  }));
  return { model, goOn: () => gate.resolve() };
}

describe("the inspector", () => {
  test("shows a session as it begins, and its text while it streams", verifies("UI-1#screens"), async () => {
    const { model, goOn } = halting();
    const store = createMemoryStore();
    const agent = createAgent({ name: "writer", store, model });
    const rig = await startTestServer({ store, agents: [agent], ui: true });
    const { page, problems } = await openInspector(await openBrowser(), rig);
    await page.getByText("No sessions yet").waitFor();
    await rig.ask("POST", "/v1/sessions", { agent: "writer", input: "Write two halves" });
    await page.getByText("Write two halves").click();
    await page.getByText("The first half,").waitFor();
    await expectReadable(page, "live");
    goOn();
    await page.getByText("and the second of 1.").first().waitFor();
    await page.locator("article.final").waitFor();
    expect(await page.locator("article.final").textContent()).toContain("The first half, and the second of 1.");
    expect(problems).toEqual([]);
  });

  test("answers from a phone, and the run goes on", verifies("UI-1#screens"), async () => {
    const store = createMemoryStore();
    await writeWaitingSession(store);
    const goingOn = createScriptedModel(() => ({ text: "The queue drains in order now." }), { id: "some/llm-large" });
    const rig = await startTestServer({ store, agents: [createMender(store).with({ model: goingOn })], ui: true });
    const { page, problems } = await openInspector(await openBrowser(), rig, { viewport: phone });
    await page.getByRole("link", { name: /2 calls wait/ }).click();
    await page.getByRole("option", { name: /edit_file/ }).click();
    await page.locator(".approval-detail").getByText("while (queue.length > 0)").first().waitFor();
    await page.getByRole("button", { name: /^Approve/ }).click();
    await page.getByRole("option", { name: /shell/ }).click();
    await page.getByRole("button", { name: /^Deny/ }).click();
    await page.getByRole("textbox").fill("Not on this machine.");
    await expectReadable(page, "deny");
    await page.setViewportSize(phone);
    await page.getByRole("button", { name: /^Deny/ }).click();
    await page.getByText("Nothing is waiting.").waitFor();
    await page.getByText("Approved by token").waitFor();
    await page.getByRole("option", { name: /shell/ }).click();
    await page.locator(".approval-detail").getByText("Not on this machine.").waitFor();
    await page.getByRole("link", { name: /Fix the flaky test/ }).click();
    await page.getByText("Denied by token: Not on this machine.").waitFor();
    await page.getByText("Replaced one occurrence in src/drain.ts.").waitFor();
    expect(problems).toEqual([]);
  });

  test(
    "approves an edit that fits the schema, by keys alone, and says who was first",
    verifies("UI-1#screens"),
    async () => {
      const store = createMemoryStore();
      const sessionId = await writeWaitingSession(store);
      const rig = await startTestServer({ store, agents: [], ui: true });
      const { page, problems } = await openInspector(await openBrowser(), rig);
      await page.keyboard.press("a");
      await page.getByText("What will run").waitFor();
      await page.keyboard.press("j");
      await page.getByText("rm -rf build && npm ci").nth(1).waitFor();
      const field = page.getByRole("textbox", { name: /command/ });
      await pressUntil(page, "e", field);
      await field.fill("");
      await page.getByText("it must not be empty").waitFor();
      await field.fill("npm ci");
      await page.keyboard.press("Control+Enter");
      await page.getByText("approved with changes").waitFor();
      expect((await rig.ask("GET", "/v1/approvals")).json.approvals).toHaveLength(1);
      // Somebody else answers what this page still shows: it does not hear of it.
      const [first] = (await rig.ask("GET", "/v1/approvals")).json.approvals;
      await page.getByRole("option", { name: /Approved with changes by token/ }).click();
      await page.getByText("command: rm -rf build && npm ci").waitFor();
      await page.getByText("command: npm ci", { exact: true }).waitFor();
      await expectReadable(page, "answered");
      await page.getByRole("option", { name: /edit_file/ }).click();
      await page.getByText("src/drain.ts").first().waitFor();
      await page.route("**/v1/approvals*", () => new Promise(() => {}));
      const decision = { type: "deny", note: "Too late in the day." };
      const { callKey, inputHash } = first;
      await rig.ask("POST", `/v1/sessions/${sessionId}/answers`, { callKey, inputHash, decision });
      const refused = page.getByText(/Someone else answered first: denied by token: Too late in the day\./);
      await pressUntil(page, "y", refused);
      expect(problems).toEqual([]);
    },
  );

  test("goes on by itself when a server with a secret of its own comes back", verifies("UI-1#screens"), async () => {
    const { page, stop, startAgain, agent } = await openRestartable({ secret: createToken() });
    await stop();
    await page.getByText("The connection to the server was lost.").waitFor();
    await startAgain();
    await agent.run("After the restart", { sessionId: "s" });
    await page.getByText("The connection to the server was lost.").waitFor({ state: "hidden" });
    await page.getByText("After the restart").first().waitFor();
    expect(await page.getByRole("option").count()).toBe(2);
  });

  test("asks for another link when a server without one comes back", verifies("UI-1#screens"), async () => {
    const { page, stop, startAgain } = await openRestartable({});
    await stop();
    await page.getByText("The connection to the server was lost.").waitFor();
    await startAgain();
    await page.getByText("Your access has expired").waitFor({ timeout: 40_000 });
    await expectReadable(page, "expired");
  });
});

/** A session's page of a server that can be stopped and started again on its port, with the same token and store. */
async function openRestartable(options: Pick<ServerOptions, "secret">) {
  const store = createMemoryStore();
  const token = createToken();
  const agent = createAgent({
    name: "writer",
    store,
    model: createScriptedModel(() => ({ text: "Back again." })),
    tools: [shell],
  });
  const start = async (port: number) => {
    const server = createServer({ store, agents: [agent], token, ui: true, ...options });
    const http = createHttpServer(server.listener);
    await new Promise<void>((resolve) => http.listen(port, "127.0.0.1", resolve));
    const address = http.address();
    const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
    const stop = async () => {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
      await server.close({ graceMs: 0 });
    };
    return { server, url, stop };
  };
  const first = await start(0);
  await agent.run("Before the restart", { sessionId: "s" });
  const { page } = await openInspector(await openBrowser(), first);
  await page.getByText("Before the restart").click();
  await page.locator("article.final").waitFor();
  const startAgain = async () => {
    const again = await start(Number(new URL(first.url).port));
    onTestFinished(again.stop);
  };
  return { page, agent, stop: first.stop, startAgain };
}
