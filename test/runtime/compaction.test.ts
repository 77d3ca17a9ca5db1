/**
 * Conversations that grow too long, and what becomes of them.
 */
import { describe, expect, test } from "vitest";
import {
  type AgentOptions,
  type CompactionService,
  createAgent,
  createMemoryStore,
  defineTool,
  type Message,
  type Model,
  type ModelRequest,
  type PublicEvent,
  type RunResult,
  type Store,
} from "../../src/index.js";
import { modelRequests } from "../../src/inspect.js";
import { createScriptedModel, type Script, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { collect, createDeferred, createEchoTool, filterEvents, filterEventsOfType } from "../support/agents.js";
import { createWatchedClock } from "../support/clock.js";
import { verifies } from "../verifies.js";

const words = "A sentence of some length that fills the window. ".repeat(12);
const look = { name: "echo", input: { n: 1 } } as const;

/** Says a lot and calls a tool, so many times, then ends. */
const talking =
  (steps: number): Script =>
  ({ modelCallIndex }) =>
    modelCallIndex <= steps
      ? { text: `${modelCallIndex}: ${words}`, calls: [{ ...look, input: { n: modelCallIndex } }], usage: {} }
      : { text: "Done.", usage: {} };

type Ran = {
  readonly result: RunResult;
  readonly events: readonly PublicEvent[];
  readonly requests: readonly ModelRequest[];
  readonly asked: readonly ModelRequest[];
  readonly store: Store;
};

const short: ScriptedStep = { text: "It was talked about." };

async function run(
  script: Script,
  summaries: Script = () => short,
  more: Partial<AgentOptions> = {},
  compaction: AgentOptions["compaction"] = {},
): Promise<Ran> {
  const model = createScriptedModel(script);
  const summarizer = createScriptedModel(summaries, { id: "summarizer" });
  const store = createMemoryStore();
  const settings = compaction === null ? null : { contextWindow: 2_000, model: summarizer, ...compaction };
  const agent = createAgent({ model, tools: [createEchoTool().tool], store, compaction: settings, ...more });
  const stream = agent.runStream("Talk.", { sessionId: "s" });
  const events = filterEvents(await collect(stream));
  return { result: await stream.result, events, requests: model.requests, asked: summarizer.requests, store };
}

const overflow: ScriptedStep = { error: { kind: "context_overflow", message: "too long", statusCode: 400 } };

/** What is wrong with a conversation; undefined where nothing is. */
function faultIn(messages: readonly Message[]): string | undefined {
  if (messages.at(-1)?.role === "assistant") return "it ends with the model";
  for (const [index, message] of messages.entries()) {
    const asked =
      message.role === "assistant"
        ? message.parts.flatMap((part) => (part.type === "tool_call" ? [part.toolCallId] : []))
        : [];
    const next = messages[index + 1];
    const given = next?.role === "tool" ? next.parts.map((part) => part.toolCallId) : [];
    if (message.role !== "tool" && asked.join() !== given.join())
      return `calls ${asked.join()} have results ${given.join()}`;
  }
  return undefined;
}

describe("a conversation that grows too long", () => {
  test("is summed up before the next call, and goes on", verifies("CTX-3", "CTX-4"), async () => {
    const { result, events, requests, asked } = await run(talking(12));
    expect(result).toMatchObject({ status: "completed", text: "Done.", steps: 13 });
    const compacted = filterEventsOfType(events, "compacted");
    expect(compacted.length).toBeGreaterThan(1);
    for (const { tokensBefore = 0, tokensAfter = 0, replaced } of compacted) {
      expect(tokensBefore).toBeGreaterThanOrEqual(0.75 * 1_500);
      expect(tokensAfter).toBeLessThan(0.5 * 1_500);
      expect(replaced?.messages).toBeGreaterThan(1);
    }
    for (const { messages } of requests) expect(faultIn(messages)).toBeUndefined();
    for (const { tools, messages } of asked) {
      expect(tools).toEqual([]);
      expect(messages).toHaveLength(1);
    }
  });

  test("is summed up for the window that its model learns after its first call", verifies("CTX-3"), async () => {
    const scripted = createScriptedModel(talking(12));
    // As of a local server, which may know the window only once it has loaded the model.
    const model: Model = {
      ...scripted,
      stream(request, signal) {
        if (request.modelCallIndex === 2) Object.assign(model, { contextWindow: 2_000 });
        return scripted.stream(request, signal);
      },
    };
    const summarizer = createScriptedModel(() => short, { id: "summarizer" });
    const agent = createAgent({ model, tools: [createEchoTool().tool], compaction: { model: summarizer } });
    const events = filterEvents(await collect(agent.runStream("Talk.", { sessionId: "s" })));
    expect(filterEventsOfType(events, "compacted").length).toBeGreaterThan(1);
  });

  test(
    "is summed up where the provider says that it is too long, and the step is repeated",
    verifies("CTX-3", "FIN-3#context-limit"),
    async () => {
      let refused = false;
      const script: Script = (request) => {
        if (request.modelCallIndex !== 3 || refused)
          return (talking(3) as (one: ModelRequest) => ScriptedStep)(request);
        refused = true;
        return overflow;
      };
      const { result, events } = await run(script, undefined, {}, { contextWindow: 100_000 });
      expect(result).toMatchObject({ status: "completed", steps: 4 });
      expect(filterEventsOfType(events, "attempt_failed")).toMatchObject([{ modelCallIndex: 3, next: "compact" }]);
      expect(filterEventsOfType(events, "compacted")).toMatchObject([{ summary: "It was talked about." }]);
    },
  );

  test("where a cut answer came of it, drops that and asks again", verifies("FIN-3#context-limit"), async () => {
    let cut = false;
    const script: Script = (request) => {
      if (request.modelCallIndex !== 3 || cut) return (talking(3) as (one: ModelRequest) => ScriptedStep)(request);
      cut = true;
      return { text: "Half of", finish: "length", usage: { inputTokens: 1_300, outputTokens: 200 } };
    };
    const { result, events, requests } = await run(script, undefined, {}, { triggerRatio: 1 });
    expect(result).toMatchObject({ status: "completed", steps: 4 });
    expect(filterEventsOfType(events, "attempt_failed")).toMatchObject([
      { next: "compact", failure: { code: "context_full" } },
    ]);
    expect(JSON.stringify(requests.at(-1)?.messages)).not.toContain("Half of");
  });

  test(
    "ends the run with what was said so far where nothing is to be done",
    verifies("FIN-3#context-limit", "CTX-6"),
    async () => {
      const script = [{ text: "Half of", finish: "length", usage: { inputTokens: 1_300, outputTokens: 200 } }] as const;
      const { result, asked } = await run(script, undefined, {}, { auto: false });
      expect(result).toMatchObject({ status: "failed", reason: "context_limit", text: "Half of" });
      expect(asked).toEqual([]);
    },
  );

  test.each([{ auto: false }, null])(
    "is left as it is, on overflow too, with compaction: %o",
    verifies("CTX-6", "LOOP-12#compaction"),
    async (compaction) => {
      const script: Script = (request) =>
        request.modelCallIndex < 9 ? (talking(9) as (one: ModelRequest) => ScriptedStep)(request) : overflow;
      const { result, events } = await run(script, undefined, {}, compaction);
      expect(result).toMatchObject({ status: "failed", reason: "context_limit", steps: 8 });
      expect(filterEventsOfType(events, "compacted")).toEqual([]);
    },
  );
});

describe("what was replaced", () => {
  test("stays in the log, and a fork from before it sees the old messages", verifies("CTX-5"), async () => {
    const { store, events, requests } = await run(talking(12));
    const [first] = filterEventsOfType(events, "compacted");
    const entries = await store.read("s", 0, 1_000);
    expect(entries.filter(({ event }) => event.type === "model_finished")).toHaveLength(13);
    const model = createScriptedModel([{ text: "Here." }]);
    const agent = createAgent({ model, tools: [createEchoTool().tool], store, compaction: null });
    const fork = await agent.session("s").fork({ sessionId: "fork", at: (first?.seq ?? 0) - 1 });
    await agent.run("And now?", { sessionId: fork.id });
    const before = requests.findLast(({ modelCallIndex }) => modelCallIndex < 6)?.messages ?? [];
    expect(model.requests[0]?.messages.slice(0, before.length)).toEqual(before);
    expect(JSON.stringify(model.requests[0]?.messages)).not.toContain("It was talked about.");
  });

  test("is told to the callback and the hook, once each", verifies("CTX-3", "STRM-5"), async () => {
    const told: string[] = [];
    const onCompacted = ({ summary }: { readonly summary?: string }) => void told.push(`callback ${summary}`);
    const hooks = [
      { name: "h", onCompacted: ({ summary }: { readonly summary: string }) => void told.push(`hook ${summary}`) },
    ];
    const { events } = await run(talking(8), undefined, { onCompacted, hooks });
    const count = filterEventsOfType(events, "compacted").length;
    expect(told.filter((one) => one === "callback It was talked about.")).toHaveLength(count);
    expect(told.filter((one) => one === "hook It was talked about.")).toHaveLength(count);
  });

  test("is summed up by the agent's policy of retries, and what that took counts", verifies("CTX-4"), async () => {
    let asked = 0;
    const busy: Script = () => {
      asked += 1;
      return asked === 1 ? { error: { kind: "overloaded", message: "busy", statusCode: 529 } } : short;
    };
    const retry = { decide: () => ({ retryInMs: 0 }) };
    const { events, result } = await run(talking(12), busy, { retry });
    expect(filterEventsOfType(events, "compacted")[0]).toMatchObject({
      summary: "It was talked about.",
      model: "summarizer",
    });
    expect(asked).toBeGreaterThan(1);
    expect(result.usage.inputTokens).toBeGreaterThan(0);
  });

  test("options that cannot be meant are refused", verifies("LOOP-12#compaction"), () => {
    const model = createScriptedModel([]);
    for (const compaction of [{ triggerRatio: 2 }, { targetRatio: 0.9 }, { keepTurns: 0 }, { window: 1 } as object])
      expect(() => createAgent({ model, compaction })).toThrow("compaction");
  });
});

test("a service that took too long asks the summarizer nothing any more", verifies("CTX-4"), async () => {
  const clock = createWatchedClock();
  let goOn = () => {};
  const late = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let isDue = true;
  let tell = (_: unknown) => {};
  const told = new Promise<unknown>((resolve) => {
    tell = resolve;
  });
  const service: CompactionService = {
    isDue: () => isDue,
    cutOf: ({ cuts }) => cuts[0] ?? null,
    async sumUp({ ask }) {
      isDue = false;
      await late;
      ask({ systemPrompt: "Sum up.", text: "All of it." }).then(tell, tell);
      return { summary: "Late.", retained: [] };
    },
  };
  const summarizer = createScriptedModel([short]);
  const agent = createAgent({
    model: createScriptedModel(talking(2)),
    tools: [createEchoTool().tool],
    clock,
    compaction: { contextWindow: 2_000, model: summarizer },
    services: { compaction: service },
  });
  const result = agent.run("Talk.");
  await clock.waitFor(1_800_000);
  await clock.advance(1_800_000);
  expect(await result).toMatchObject({ status: "completed" });
  goOn();
  expect(await told).toMatchObject({ message: "The compaction is no longer wanted." });
  expect(summarizer.requests).toEqual([]);
});

describe("with a model whose provider caches prompts", () => {
  const cached = (script: Script, options: Partial<AgentOptions> = {}) => {
    const scripted = createScriptedModel(script);
    const store = createMemoryStore();
    const agent = createAgent({
      model: { ...scripted, cachesPrompts: true },
      tools: [createEchoTool().tool],
      systemPrompt: "Be brief.",
      compaction: { contextWindow: 2_000 },
      store,
      ...options,
    });
    return { agent, store, requests: scripted.requests };
  };
  const isSummary = ({ purpose }: ModelRequest) => purpose === "compaction";
  const answering =
    (summary: (request: ModelRequest) => ScriptedStep): Script =>
    (request) =>
      isSummary(request) ? summary(request) : (talking(6) as (one: ModelRequest) => ScriptedStep)(request);
  const settings = { maxOutputTokens: 300, temperature: 0.5 };

  test("the model is asked after the conversation itself, with everything that its provider has in its cache", async () => {
    const { agent, store, requests } = cached(
      answering(() => short),
      { settings },
    );
    expect(await agent.run("Talk.", { sessionId: "s" })).toMatchObject({ status: "completed" });
    const at = requests.findIndex(isSummary);
    const [before, summary] = [requests[at - 1], requests[at]];
    expect(summary).toMatchObject({ systemPrompt: "Be brief.", tools: before?.tools, temperature: 0.5 });
    expect(summary).not.toHaveProperty("maxOutputTokens");
    expect(summary?.messages.slice(0, before?.messages.length)).toEqual(before?.messages);
    expect(JSON.stringify(summary?.messages.at(-1))).toContain("about to be shortened");
    expect(JSON.stringify(requests[at + 1]?.messages[0])).toContain("It was talked about.");
    expect(await collect(modelRequests(store, "s"))).toEqual(requests);
  });

  test.each<[string, ScriptedStep]>([
    ["calls a tool", { calls: [look] }],
    ["says nothing", { text: " " }],
    ["is refused the request because it is too long", { error: { kind: "context_overflow", message: "too long" } }],
    ["is refused the request", { error: { kind: "invalid_request", message: "no" } }],
  ])("a model that %s gets the conversation as a text", async (_name, step) => {
    const { agent, store, requests } = cached(answering(({ tools }) => (tools.length > 0 ? step : short)));
    const stream = agent.runStream("Talk.", { sessionId: "s" });
    const [first] = filterEventsOfType(filterEvents(await collect(stream)), "compacted");
    expect(first).toMatchObject({ summary: "It was talked about." });
    const asked = requests.filter(isSummary);
    expect(asked[0]?.tools).not.toEqual([]);
    expect(asked[1]).toMatchObject({ tools: [], toolChoice: "none", messages: { length: 1 } });
    expect(await collect(modelRequests(store, "s"))).toEqual(requests);
  });

  test("a failure that another request would share ends the compaction", async () => {
    const { agent, requests } = cached(answering(() => ({ error: { kind: "auth", message: "no" } })));
    const stream = agent.runStream("Talk.", { sessionId: "s" });
    const [first] = filterEventsOfType(filterEvents(await collect(stream)), "compacted");
    expect(first).toMatchObject({ fault: { code: "summariser_failed" } });
    const at = requests.findIndex(isSummary);
    expect(requests[at + 1]?.purpose).toBeUndefined();
  });

  test("the conversation is sent as a text once the cache has expired, without a cache, and to another model", async () => {
    const clock = createTestClock();
    const slow = defineTool({
      name: "echo",
      description: "Waits.",
      input: { type: "object" },
      execute: async () => {
        await clock.advance(6 * 60_000);
        return "Waited.";
      },
      timeoutMs: 60 * 60_000,
    });
    const script = answering(() => short);
    const other = createScriptedModel(() => short);
    const texts = [
      cached(script, { tools: [slow], clock, promptCache: "5m" }),
      cached(script, { promptCache: "off" }),
      cached(script, { compaction: { contextWindow: 2_000, model: other } }),
    ];
    for (const { agent, requests } of texts) {
      expect(await agent.run("Talk.")).toMatchObject({ status: "completed" });
      const tools = [...requests, ...other.requests].filter(isSummary).map((request) => request.tools.length);
      expect(new Set(tools)).toEqual(new Set([0]));
    }
  });

  test("another process asks again where the first one died while it asked", async () => {
    const asked = createDeferred();
    const store = createMemoryStore();
    const dying = cached(
      answering(() => {
        asked.resolve();
        return { wait: new Promise(() => {}) };
      }),
      { store },
    );
    const lost = dying.agent.run("Talk.", { sessionId: "s" });
    await asked.promise;
    await dying.agent.shutdown({ graceMs: 0 });
    await lost;
    const { agent, requests } = cached(
      answering(() => short),
      { store },
    );
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
    const [again] = requests.filter(isSummary);
    const [first] = dying.requests.filter(isSummary);
    expect({ ...again, messages: again?.messages }).toEqual({ ...first, messages: first?.messages });
    const rebuilt = await collect(modelRequests(store, "s"));
    expect(rebuilt.filter(isSummary)).toEqual(requests.filter(isSummary));
  });
});
