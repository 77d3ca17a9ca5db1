/**
 * Runs for the lines of Pawl in docs/comparison.md about time, control and what is around an agent; the others are in
 * comparison-lines.ts.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAnthropic } from "@ai-sdk/anthropic";
import { expect, onTestFinished } from "vitest";
import { startBillingServer } from "../../bench/economy/billing-server.mjs";
import { createCase, evaluate, sameCalls, sameEnd } from "../../src/evals/index.js";
import {
  createAgent,
  createClient,
  createMemoryStore,
  createRedaction,
  createSchedules,
  createWorker,
  defineTool,
  redactOutput,
} from "../../src/index.js";
import { createScriptedModel, createTestClock } from "../../src/testing/index.js";
import { createShellTool } from "../../src/tools/index.js";
import { connectMcpServer, fileCredentials } from "../../src/tools/mcp/index.js";
import { bills } from "../models/bills.js";
import { createDurableAgent, readEvents } from "../support/durable-tool.js";
import { startLoginServer } from "../tools/login-server.js";
import type { Line } from "./comparison-lines.js";

const input = { type: "object" } as const;

const calling = (name: string, given = {}) =>
  createScriptedModel([{ calls: [{ name, input: given }] }, { text: "Done." }]);

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "pawl-comparison-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Each line is run in here, by the heading of its section. */
export const moreRuns: { readonly [heading: string]: (line: Line) => Promise<void> } = {
  async "Sleep and signals"(line) {
    const store = createMemoryStore();
    const clock = createTestClock();
    const start = () => createDurableAgent((ctx) => line.run({ ctx }), {}, { store, clock });
    expect(await start().run("Go", { sessionId: "s" })).toMatchObject({ status: "waiting", waits: [{ on: "signal" }] });
    await createClient({ store, clock }).signal("order-1041-paid", { cents: 9_900 });
    expect(await start().session("s").resume()).toMatchObject({ status: "completed" });
    const finished = (await readEvents(store)).filter(({ type }) => type === "tool_finished");
    expect(finished).toMatchObject([{ output: { value: { type: "signalled", value: { cents: 9_900 } } } }]);
  },

  async Schedules(line) {
    const store = createMemoryStore();
    const clock = createTestClock(Date.UTC(2026, 10, 29, 12));
    const schedules = createSchedules({ store, clock });
    await line.run({ schedules });
    clock.jump(3 * 86_400_000);
    const model = createScriptedModel(() => ({ text: "Nothing." }));
    const start = () => createWorker({ store, agents: [createAgent({ name: "press", model, store, clock })], clock });
    await Promise.all([start().runUntilIdle(), start().runUntilIdle()]);
    expect((await store.list()).map(({ sessionId }) => sessionId)).toEqual(["news@2026-12-02T07:00:00.000Z"]);
    const slots = await schedules.slots("news");
    expect(slots.map(({ outcome, count = 1 }) => `${outcome} ${count}`)).toEqual(["posted 1", "missed 2"]);
  },

  async Hooks(line) {
    const store = createMemoryStore();
    const read = defineTool({
      name: "read",
      description: "Reads.",
      input,
      readOnly: true,
      execute: () => ({ password: "hunter2" }),
    });
    const model = calling("read");
    const redact = createRedaction({ values: ["hunter2"] });
    const agent = line.run({ createAgent, model, tools: [read], redactOutput, redact }).with({ store });
    expect(await agent.run("Read it.", { sessionId: "s" })).toMatchObject({ status: "completed" });
    expect(JSON.stringify([await store.read("s"), model.requests])).not.toContain("hunter2");
    expect(JSON.stringify(await store.read("s"))).toContain("password");
  },

  async "A budget for an agent and its children"(line) {
    const look = defineTool({ name: "look", description: "Looks.", input, readOnly: true, execute: () => "seen" });
    const usage = { inputTokens: 400, outputTokens: 0 };
    const thirsty = createScriptedModel(({ modelCallIndex }) => ({
      text: `Page ${String(modelCallIndex)}.`,
      calls: [{ name: "look" }],
      usage,
    }));
    const researcher = createAgent({ name: "researcher", model: thirsty, tools: [look] });
    const model = calling("researcher", { task: "Read all pages." });
    const agent = line.run({ createAgent, model, researcher });
    expect(await agent.run("Write.")).toMatchObject({ status: "completed" });
    expect(JSON.stringify(model.requests[1]?.messages)).toContain("[Cut short: max_tokens.]");
    expect(thirsty.requests).toHaveLength(2);
  },

  async "A sandbox for commands"(line) {
    const folder = createFolder();
    const root = join(folder, "project");
    mkdirSync(root);
    writeFileSync(join(root, "notes.txt"), "in the folder");
    writeFileSync(join(folder, "key.txt"), "sk-secret");
    const create = () => line.run({ createShellTool, root });
    // Without bubblewrap, "required" refuses rather than running commands in the open.
    if (createShellTool({ root, sandbox: "auto" }).description.includes("not sandboxed")) {
      expect(create).toThrow(expect.objectContaining({ code: "sandbox_missing" }));
      return;
    }
    const model = calling("shell", { command: "cat notes.txt ../key.txt" });
    await createAgent({ model, tools: [{ ...create(), needsApproval: false }] }).run("Look.");
    const shown = JSON.stringify(model.requests[1]?.messages);
    expect(shown).toContain("in the folder");
    expect(shown).not.toContain("sk-secret");
  },

  async "MCP servers: login and long calls"(line) {
    const { url } = await startLoginServer();
    const credentials = fileCredentials(join(createFolder(), "logins.json"));
    const client = { id: "program", secret: "secret" };
    const server = await line.run({ connectMcpServer, url, credentials, client });
    onTestFinished(server.close);
    expect(server.tools).toMatchObject([{ name: "docs_who" }]);
  },

  async "Prompt caching"(line) {
    const server = await startBillingServer({ reply: () => ({ text: "Noted." }) });
    onTestFinished(server.close);
    const model = createAnthropic({ baseURL: server.baseURL, apiKey: "sk-test" })("claude-sonnet-5");
    const store = createMemoryStore();
    const systemPrompt = "You keep the minutes of a meeting. ".repeat(200);
    // Each message is handled by another process.
    const start = () => line.run({ createAgent, model, systemPrompt }).with({ store });
    await start().run("Begin.", { sessionId: "s" });
    await start().run("Go on.", { sessionId: "s" });
    const [first, second] = bills(server);
    expect(first?.written5m).toBeGreaterThan(0);
    expect(second?.read).toBeGreaterThan(0);
  },

  async Evals(line) {
    const store = createMemoryStore();
    let calls = 0;
    const look = defineTool({
      name: "look",
      description: "Looks.",
      input,
      readOnly: true,
      execute() {
        calls += 1;
        return "seen";
      },
    });
    const create = (asks: boolean) =>
      createAgent({
        name: "desk",
        model: createScriptedModel(({ messages }) =>
          asks && !messages.some(({ role }) => role === "tool") ? { calls: [{ name: "look" }] } : { text: "Done." },
        ),
        tools: [look],
        store,
      });
    await create(true).run("Look.", { sessionId: "s" });
    const cases = [await createCase(store, "s")];
    const names = { evaluate, cases, sameEnd, sameCalls };
    expect(await line.run({ ...names, agent: create(true) })).toMatchObject({ variants: { agent: { passed: 1 } } });
    expect(await line.run({ ...names, agent: create(false) })).toMatchObject({ variants: { agent: { passed: 0 } } });
    expect(calls).toBe(1);
  },
};
