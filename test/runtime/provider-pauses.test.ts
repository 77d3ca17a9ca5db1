/**
 * A provider that interrupts its turn (Anthropic's `pause_turn`), or gives the result of its own tool in a later answer: the
 * real Anthropic packages against a server that speaks the Messages API.
 */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createAnthropic as createAnthropicV4 } from "anthropic-v4";
import { describe, expect, test } from "vitest";
import { findOpenProviderCalls } from "../../src/core/data/message.js";
import {
  type AgentOptions,
  createAgent,
  createMemoryStore,
  type Message,
  type Model,
  type ModelRequest,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { type Body, readList, startWireServer, type WireReply } from "../models/wire-server.js";
import { anthropicMessage, type Block } from "../models/wires.js";
import { createEchoTool, createGateTool } from "../support/agents.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const search: Block = {
  type: "server_tool_use",
  id: "srvtoolu_1",
  name: "web_search",
  input: { query: "pawl" },
};
const found: Block = {
  type: "web_search_tool_result",
  tool_use_id: "srvtoolu_1",
  content: [
    {
      type: "web_search_result",
      url: "https://example.com",
      title: "A catch",
      encrypted_content: "abc",
      page_age: null,
    },
  ],
};
const text = (words: string): Block => ({ type: "text", text: words });
const pauses = anthropicMessage("pause_turn", [text("I search. "), search]);
const goesOn = anthropicMessage("end_turn", [found, text("A pawl is a catch.")]);
const thanks = anthropicMessage("end_turn", [text("You're welcome.")]);

const packages = [
  ["v3", createAnthropic],
  ["v4", createAnthropicV4],
] as const;

async function start(replies: readonly WireReply[], options: Partial<AgentOptions> = {}, create = createAnthropic) {
  const server = await startWireServer(replies);
  const provider = create({ baseURL: `${server.origin}/v1`, apiKey: "sk-test" });
  const tools = { web_search: provider.tools.webSearch_20250305({ maxUses: 3 }) };
  return { agent: createAgent({ model: provider("claude-sonnet-4-5"), tools, ...options }), server };
}

type Said = { readonly role: string; readonly types: readonly string[] };

/** Who says what in a request, in order. */
function saidIn(body: Body | undefined): readonly Said[] {
  return readList(body, "messages").map((message) => ({
    role: String(message.role),
    types: readList(message, "content").map(({ type }) => String(type)),
  }));
}

const paused = { role: "assistant", types: ["text", "server_tool_use"] };
const asked = { role: "user", types: ["text"] };

describe.each(packages)("with the Anthropic package of specification %s", (_specification, create) => {
  test.each(localStores)("a paused turn goes on with the same conversation, on $name", verifies("FIN-9"), ({ open }) =>
    withStore(open, async (store) => {
      const { agent, server } = await start([pauses, goesOn, thanks], { store }, create as typeof createAnthropic);
      const result = await agent.run("What is a pawl?", { sessionId: "s" });
      expect(result).toMatchObject({
        status: "completed",
        reason: "stop",
        text: "I search. A pawl is a catch.",
        steps: 2,
      });
      expect(saidIn(server.bodies[1])).toEqual([asked, paused]);
      expect((await agent.session("s").replay()).difference).toBeNull();
      // The provider is sent its turn as one: the call and its result, which came in two answers.
      expect(await agent.run("Thanks.", { sessionId: "s" })).toMatchObject({ text: "You're welcome." });
      expect(saidIn(server.bodies[2])).toEqual([
        asked,
        { role: "assistant", types: ["text", "server_tool_use", "web_search_tool_result", "text"] },
        asked,
      ]);
    }),
  );
});

describe("a provider's pause", () => {
  test(
    "is no end by whatever finish reason, while a result of the provider is missing",
    verifies("FIN-9"),
    async () => {
      const { agent, server } = await start([anthropicMessage("end_turn", [search]), goesOn]);
      expect(await agent.run("What is a pawl?")).toMatchObject({ text: "A pawl is a catch.", steps: 2 });
      expect(server.bodies).toHaveLength(2);
    },
  );

  test.each(localStores)(
    "is no part of a complete answer: text and a finish reason end the run, on $name",
    ({ open }) =>
      withStore(open, async (store) => {
        const answer = anthropicMessage("end_turn", [search, text("A pawl is a catch.")]);
        const { agent, server } = await start([answer, thanks], { store });
        expect(await agent.run("What is a pawl?", { sessionId: "s" })).toMatchObject({
          status: "completed",
          reason: "stop",
          text: "A pawl is a catch.",
          steps: 1,
        });
        expect((await agent.session("s").replay()).difference).toBeNull();
        expect(await agent.run("Thanks.", { sessionId: "s" })).toMatchObject({ text: "You're welcome." });
        // No provider accepts a call of its own without a result.
        expect(JSON.stringify(saidIn(server.bodies[1]))).not.toContain("server_tool_use");
      }),
  );

  test.each([
    ["pause_turn", pauses],
    ["a call without a result", anthropicMessage("end_turn", [search])],
  ])("that never ends fails the run after 21 requests: %s", verifies("FIN-9"), async (_, reply) => {
    const { agent, server } = await start(Array.from({ length: 30 }, () => reply));
    const result = await agent.run("What is a pawl?");
    expect(result).toMatchObject({ status: "failed", reason: "model_error", error: { code: "provider" } });
    expect(result).toHaveProperty("error.message", expect.stringContaining("paused its turn 21 times in a row"));
    expect(server.bodies).toHaveLength(21);
  });

  test("without any open call is one, too", verifies("FIN-9"), async () => {
    const { agent } = await start([anthropicMessage("pause_turn", [search, found]), goesOn]);
    expect(await agent.run("What is a pawl?")).toMatchObject({ status: "completed", steps: 2 });
  });

  test(
    "counts as steps: a limit ends it, and later requests hold no call without its result",
    verifies("FIN-9"),
    async () => {
      const store = createMemoryStore();
      const limits = { maxSteps: 3, onMaxSteps: "stop" } as const;
      const { agent, server } = await start([pauses, pauses, pauses, thanks], { store, limits });
      const result = await agent.run("What is a pawl?", { sessionId: "s" });
      expect(result).toMatchObject({ status: "failed", reason: "max_steps", steps: 3 });
      expect(await agent.run("Never mind.", { sessionId: "s" })).toMatchObject({ text: "You're welcome." });
      expect(JSON.stringify(saidIn(server.bodies[3]))).not.toContain("server_tool_use");
    },
  );

  test("lets nothing come between: a message of the user waits until the turn is over", verifies("FIN-9"), async () => {
    const store = createMemoryStore();
    const { agent, server } = await start([pauses, goesOn, thanks], {
      store,
      context: { hints: [{ name: "time", text: ({ startedAt }) => `Since ${startedAt}.` }] },
    });
    const stream = agent.runStream("What is a pawl?", { sessionId: "s", runId: "r" });
    for await (const item of stream)
      if (item.type === "step_finished" && item.modelCallIndex === 1)
        await agent.session("s").send("In one word.", { mode: "steer" });
    expect(await stream.result).toMatchObject({ status: "completed", text: "You're welcome.", steps: 3 });
    expect(saidIn(server.bodies[1]).at(-1)).toEqual(paused);
    expect(JSON.stringify(server.bodies[1])).not.toContain("In one word.");
    expect(saidIn(server.bodies[2]).at(-1)?.role).toBe("user");
    expect(JSON.stringify(server.bodies[2])).toContain("In one word.");
  });

  test("for results of tools that run here is one: nothing comes with those results", verifies("FIN-9"), async () => {
    const code: Block = {
      type: "server_tool_use",
      id: "srvtoolu_1",
      name: "code_execution",
      input: { code: "look()" },
    };
    const caller = { type: "code_execution_20250825", tool_id: "srvtoolu_1" };
    const look: Block = { type: "tool_use", id: "toolu_1", name: "look", input: {}, caller };
    const executed: Block = {
      type: "code_execution_tool_result",
      tool_use_id: "srvtoolu_1",
      content: { type: "code_execution_result", stdout: "seen", stderr: "", return_code: 0, content: [] },
    };
    const server = await startWireServer([
      anthropicMessage("tool_use", [text("I look."), code, look]),
      anthropicMessage("end_turn", [executed, text("Seen.")]),
      thanks,
    ]);
    const provider = createAnthropic({ baseURL: `${server.origin}/v1`, apiKey: "sk-test" });
    const gate = createGateTool("look");
    const agent = createAgent({
      model: provider("claude-sonnet-4-5"),
      tools: { code_execution: provider.tools.codeExecution_20250825(), look: gate.tool },
      context: { hints: [{ name: "time", text: ({ startedAt }) => `Since ${startedAt}.` }] },
    });
    const running = agent.run("What is there?", { sessionId: "s" });
    await gate.started;
    await agent.session("s").send("In one word.", { mode: "steer" });
    gate.open("a chair");
    expect(await running).toMatchObject({ status: "completed", text: "You're welcome.", steps: 3 });
    expect(saidIn(server.bodies[1]).at(-1)).toEqual({ role: "user", types: ["tool_result"] });
    expect(JSON.stringify(server.bodies[2])).toContain("In one word.");
  });

  test("survives the process: another one goes on with the turn", verifies("FIN-9", "REC-1"), async () => {
    const store = createMemoryStore();
    const first = await start([pauses, { body: ": nothing yet\n\n", hang: true }], { store });
    const running = first.agent.run("What is a pawl?", { sessionId: "s", runId: "r" });
    await first.server.whenRequested(2);
    await first.agent.shutdown({ graceMs: 0 });
    expect(await running).toMatchObject({ status: "interrupted" });
    const second = await start([goesOn], { store });
    expect(await second.agent.session("s").resume()).toMatchObject({ status: "completed" });
    expect(saidIn(second.server.bodies[0])).toEqual([asked, paused]);
  });

  test("that failed leaves no call without its result to later requests", verifies("FIN-9"), async () => {
    const store = createMemoryStore();
    const refusal = { status: 401, contentType: "application/json", body: "{}" };
    const { agent, server } = await start([pauses, refusal, thanks], { store });
    expect(await agent.run("What is a pawl?", { sessionId: "s" })).toMatchObject({ status: "failed" });
    expect(await agent.run("Go on.", { sessionId: "s" })).toMatchObject({ text: "You're welcome." });
    expect(JSON.stringify(saidIn(server.bodies[2]))).not.toContain("server_tool_use");
  });

  test(
    "is not cut by a compaction: a call of the provider stays with its result",
    verifies("FIN-9", "CTX-3"),
    async () => {
      let compactions = 0;
      let kept = 0;
      for (let words = 60; words < 160; words += 5) {
        const requests = await requestsOfLongTalk(words);
        compactions += requests.filter(({ messages }) => isSummary(messages[0])).length;
        for (const { messages } of requests) {
          const open = messages.flatMap((message) =>
            message.role === "assistant" ? findOpenProviderCalls(message) : [],
          );
          const results = messages.flatMap(({ parts }) =>
            parts.flatMap((part) => (part.type === "tool_result" && part.providerExecuted === true ? [part] : [])),
          );
          for (const { toolCallId } of results) expect(open).toContain(toolCallId);
          if (isSummary(messages[0]) && results.length > 0) kept += 1;
        }
      }
      expect(compactions).toBeGreaterThan(10);
      expect(kept).toBeGreaterThan(0);
    },
  );
});

function isSummary(message: Message | undefined): boolean {
  const [part] = message?.parts ?? [];
  return part?.type === "text" && part.text.startsWith("[The conversation so far");
}

/** What a model is sent whose provider pauses in every other step, until its window is full several times. */
async function requestsOfLongTalk(words: number): Promise<readonly ModelRequest[]> {
  const requests: ModelRequest[] = [];
  const model: Model = {
    id: "pausing",
    async *stream(request) {
      const { modelCallIndex: step } = request;
      requests.push({ ...request, messages: [...request.messages] });
      const call = (index: number) => `search_${index - (index % 4)}`;
      const said = `${step}: ${"several words ".repeat(step % 4 === 0 ? 6 * words : words)}`;
      yield { kind: "text-delta", id: "1", text: said };
      if (step % 4 === 0)
        yield { kind: "tool-call", id: call(step), name: "search", input: "{}", providerExecuted: true };
      if (step % 4 === 1 && step > 4)
        yield { kind: "tool-result", id: call(step), name: "search", output: { type: "text", text: said } };
      if (step % 4 !== 0 && step < 24)
        yield { kind: "tool-call", id: `echo_${step}`, name: "echo", input: JSON.stringify({ step }) };
      const finishReason = { unified: "stop", ...(step % 4 === 0 && { raw: "pause_turn" }) } as const;
      yield { kind: "done", finishReason, usage: {} };
    },
  };
  const summarizer = createScriptedModel(() => ({ text: "Much was said." }), { id: "summarizer" });
  const compaction = { contextWindow: 16_000, model: summarizer };
  await createAgent({ model, tools: [createEchoTool().tool], compaction }).run("Talk.");
  return requests;
}
