/**
 * `afterToolCall` hooks for results that no tool of the process gave: those of the provider and of agents behind tools.
 */
import { createOpenAI } from "@ai-sdk/openai";
import { describe, expect, test } from "vitest";
import {
  type AgentOptions,
  createAgent,
  createMemoryStore,
  type Hook,
  type HookSubject,
  redactOutput,
  type Store,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { startWireServer } from "../models/wire-server.js";
import { createOutputText, responses } from "../models/wires.js";
import { collect, createDeferred, filterEventsOfType } from "../support/agents.js";
import { localStores, withStore } from "../support/stores.js";

const secret = "sk-live-1234";
const mask = (text: string) => text.replaceAll(secret, "***");

/** Masks the secret in every result, and notes what it was shown. */
function masking(): { readonly hook: Hook; readonly seen: HookSubject<"afterToolCall">[] } {
  const seen: HookSubject<"afterToolCall">[] = [];
  const hook: Hook = {
    name: "mask",
    afterToolCall(result) {
      seen.push(result);
      return { output: redactOutput(result.output, mask) };
    },
  };
  return { hook, seen };
}

async function everything(store: Store): Promise<string> {
  const all: unknown[] = [];
  for (const { sessionId } of await store.list()) all.push(await store.read(sessionId, 0, 1_000));
  return JSON.stringify(all);
}

/** A parent whose tool is an agent that answers with `answer`. */
function family(store: Store, answer: string, options: Partial<AgentOptions> = {}) {
  const child = createAgent({
    name: "researcher",
    model: createScriptedModel([{ text: answer }], { record: false }),
  });
  const model = createScriptedModel([
    { calls: [{ name: "researcher", input: { task: "Find it" } }] },
    { text: "I know." },
  ]);
  const tools = [child.asTool({ description: "Researches." })];
  return { agent: createAgent({ name: "editor", model, tools, store, ...options }), model };
}

describe.each(localStores)("on $name", ({ open }) => {
  test("a hook masks what an agent behind a tool answers, before the parent's log and model have it", async () => {
    await withStore(open, async (store) => {
      const { hook, seen } = masking();
      const { agent, model } = family(store, `The key is ${secret}.`, { hooks: [hook] });
      expect(await agent.run("Go", { sessionId: "p", runId: "r" })).toMatchObject({ status: "completed" });
      expect(seen).toMatchObject([
        {
          callKey: "r/1/1",
          name: "researcher",
          input: { task: "Find it" },
          output: { type: "text", text: `The key is ${secret}.` },
          isError: false,
          source: "agent",
        },
      ]);
      expect(model.requests[1]?.messages.at(-1)).toMatchObject({ parts: [{ output: { text: "The key is ***." } }] });
      expect(JSON.stringify(await store.read("p", 0, 1_000))).not.toContain(secret);
      const finished = (await store.read("p", 0, 1_000)).find(({ event }) => event.type === "tool_finished");
      expect(finished?.event.hooks).toMatchObject([{ name: "mask", hook: "afterToolCall", outcome: "changed" }]);
    });
  });

  test("a hook sees all of a long answer, and what the model may read of the rest is masked as well", async () => {
    await withStore(open, async (store) => {
      const { hook, seen } = masking();
      const filler = "line\n".repeat(40_000);
      const { agent } = family(store, `${filler}${secret}\n${filler}`, { hooks: [hook] });
      await agent.run("Go", { sessionId: "p", runId: "r" });
      expect(JSON.stringify(seen[0]?.output)).toContain(secret);
      const finished = (await store.read("p", 0, 1_000)).find(({ event }) => event.type === "tool_finished")?.event;
      const output = finished?.type === "tool_finished" ? finished.output : undefined;
      const blob = output?.type === "text" ? output.full?.blob : undefined;
      const whole = new TextDecoder().decode((await store.getBlob("p", blob ?? "")) ?? undefined);
      expect(whole).toContain("***");
      expect(whole).not.toContain(secret);
    });
  });
});

test("a hook that fails withholds an agent's answer", async () => {
  const hook: Hook = {
    name: "broken",
    afterToolCall() {
      throw new Error("no mask");
    },
  };
  const { agent, model } = family(createMemoryStore(), secret, { hooks: [hook] });
  await agent.run("Go", { sessionId: "p", runId: "r" });
  const [shown] = model.requests[1]?.messages.at(-1)?.parts ?? [];
  expect(shown).toMatchObject({ isError: true, output: { text: expect.stringContaining("The output is withheld") } });
});

test("a hook that takes its time is waited for, and the answer is in the inbox until then", async () => {
  const store = createMemoryStore();
  const begun = createDeferred();
  const goOn = createDeferred();
  const hook: Hook = {
    name: "slow",
    async afterToolCall({ output }) {
      begun.resolve();
      await goOn.promise;
      return { output: redactOutput(output, mask) };
    },
  };
  const { agent, model } = family(store, secret, { hooks: [hook] });
  const ended = agent.run("Go", { sessionId: "p", runId: "r" });
  await begun.promise;
  expect(await store.inbox("p")).toMatchObject([{ body: { type: "result", callKey: "r/1/1" } }]);
  goOn.resolve();
  expect(await ended).toMatchObject({ status: "completed" });
  expect(model.requests[1]?.messages.at(-1)).toMatchObject({ parts: [{ output: { text: "***" } }] });
});

test("a hook masks the result of a call that the provider ran, before the log has it", async () => {
  const search = {
    type: "mcp_call",
    id: "mcp_1",
    server_label: "shop",
    name: "look_up",
    arguments: '{"order":42}',
    output: `the token is ${secret}`,
    status: "completed",
  };
  const server = await startWireServer([responses("resp_1", [search, createOutputText("msg_1", "Found it.")])]);
  const provider = createOpenAI({ baseURL: `${server.origin}/v1`, apiKey: "sk-test" });
  const shop = provider.tools.mcp({ serverLabel: "shop", serverUrl: "https://mcp.example.com" });
  const store = createMemoryStore();
  const { hook, seen } = masking();
  const agent = createAgent({ model: provider("gpt-5"), tools: { shop }, store, hooks: [hook] });
  expect(await agent.run("Look", { sessionId: "s" })).toMatchObject({ status: "completed", text: "Found it." });
  expect(seen).toMatchObject([{ name: "mcp.look_up", input: { order: 42 }, source: "provider", isError: false }]);
  expect(JSON.stringify(seen)).toContain(secret);
  const log = await everything(store);
  expect(log).not.toContain(secret);
  expect(log).toContain("the token is ***");
  const [message] = filterEventsOfType(await collect(agent.session("s").events({ follow: false })), "message");
  expect(JSON.stringify(message)).toContain("the token is ***");
});
