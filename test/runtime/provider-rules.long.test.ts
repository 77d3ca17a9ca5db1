/**
 * The history that a model sees is always valid: whatever happened to a session, each request that reached the model keeps the
 * general rules, and, written by the providers' own packages, their documented ones.
 */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAgent, createMemoryStore, type ModelRequest, type RunResult, type Store } from "../../src/index.js";
import { fromAiSdk } from "../../src/models/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { type ProviderServer, startProviderServer } from "../models/provider-server.js";
import { realProviders } from "../models/real-providers.js";
import { isEvent } from "../support/agents.js";
import { actTool, createFatedCall, type Fate, type FatedCall, fatedPermission, manyWords } from "../support/fates.js";
import { verifies } from "../verifies.js";
import { holdRules } from "./provider-rules.js";

const fates: readonly Fate[] = ["ok", "throw", "long", "deny", "missing", "bad arguments"];
type PlannedStep = {
  readonly calls: readonly FatedCall[];
  readonly says: string;
  readonly fails: boolean;
  readonly cut: boolean;
};
type PlannedRun = {
  readonly steps: readonly PlannedStep[];
  readonly steerAt: number | undefined;
  readonly abortAt: number | undefined;
  readonly diesAt: number | undefined;
};

const moment = fc.option(fc.integer({ min: 1, max: 14 }), { nil: undefined });
const plannedRun: fc.Arbitrary<PlannedRun> = fc.record({
  steps: fc.array(
    fc.record({
      calls: fc.array(
        fc.record({ fate: fc.constantFrom(...fates), id: fc.constantFrom("a", "b") }, { requiredKeys: ["fate"] }),
        {
          minLength: 1,
          maxLength: 4,
        },
      ),
      says: fc.constantFrom("", "On.", manyWords),
      fails: fc.boolean(),
      cut: fc.nat(8).map((n) => n === 0),
    }),
    { maxLength: 4 },
  ),
  steerAt: moment,
  abortAt: moment,
  diesAt: moment,
});

/** What the model says: it follows from the place of the request, so that another process is told the same. */
function say(plan: readonly PlannedRun[], { runId, modelCallIndex, attempt }: ModelRequest): ScriptedStep {
  const step = plan[Number(runId)]?.steps[modelCallIndex - 1];
  if (step === undefined) return { text: "Done.", usage: {} };
  if (step.fails && attempt === 1)
    return { text: "Half of", error: { kind: "overloaded", message: "overloaded", statusCode: 500 } };
  return {
    ...(step.says === "" ? {} : { text: step.says }),
    calls: step.calls.map((call, position) => createFatedCall(call, { runId, modelCallIndex, position })),
    ...(step.cut ? { finish: "length" as const } : {}),
    usage: {},
  };
}

/** A store that gives out after so many commits, the last of which is written all the same. */
function failingAfter(inner: Store, commits: number | undefined): Store {
  let left = commits ?? Number.POSITIVE_INFINITY;
  return {
    ...inner,
    async commit(lease, commit) {
      left -= 1;
      if (left < 0) throw new Error("The disk is gone.");
      const result = await inner.commit(lease, commit);
      if (left === 0) throw new Error("The disk is gone.");
      return result;
    },
  };
}

/** Every request that the model was sent, and how often the conversation was summed up. */
async function play(plan: readonly PlannedRun[]) {
  const inner = createMemoryStore();
  const model = createScriptedModel((request) => say(plan, request));
  const summarizer = createScriptedModel(() => ({ text: "It was talked about." }));
  const agentOver = (store: Store) =>
    createAgent({
      model,
      tools: [actTool],
      systemPrompt: "Act.",
      store,
      retry: { decide: () => ({ retryInMs: 0 }) },
      compaction: { contextWindow: 1_300, model: summarizer },
      canExecuteTool: fatedPermission,
    });
  for (const [index, { steerAt, abortAt, diesAt }] of plan.entries()) {
    const agent = agentOver(failingAfter(inner, diesAt));
    const session = agent.session("s");
    const stream = agent.runStream(`Run ${index}`, { sessionId: "s", runId: String(index) });
    let seen = 0;
    for await (const item of stream) {
      if (!isEvent(item)) continue;
      seen += 1;
      if (seen === steerAt) await session.steer("By the way.").catch(expectInterrupted);
      if (seen === abortAt) await session.abort().catch(expectInterrupted);
    }
    let result: RunResult = await stream.result;
    await agent.shutdown({ graceMs: 0 });
    if (result.status === "interrupted") {
      const heir = agentOver(inner);
      result = await heir.run(`Run ${index}`, { sessionId: "s", runId: String(index) });
      await heir.shutdown({ graceMs: 0 });
    }
    expect(["completed", "aborted", "failed"]).toContain(result.status);
  }
  return { requests: model.requests, summaries: summarizer.requests.length };
}

/** Nobody can be told anything where the store has given out. */
function expectInterrupted(error: unknown): void {
  expect(error).toMatchObject({ code: expect.stringMatching(/^store_/) });
}

function holdGeneralRules({ messages }: ModelRequest): void {
  expect(["user", "tool"]).toContain(messages.at(-1)?.role);
  const ids: string[] = [];
  for (const [index, message] of messages.entries()) {
    const called = message.parts.flatMap((part) => (part.type === "tool_call" ? [part.toolCallId] : []));
    ids.push(...called);
    const next = messages[index + 1];
    if (called.length > 0) expect(next?.role).toBe("tool");
    if (next?.role === "tool") expect(next.parts.map((part) => part.toolCallId)).toEqual(called);
  }
  expect(new Set(ids).size).toBe(ids.length);
}

const servers = new Map<string, ProviderServer>();
beforeAll(async () => {
  for (const { name, format } of realProviders)
    servers.set(name, await startProviderServer(format, () => ({ type: "answer", text: "Done." })));
});
afterAll(async () => {
  for (const server of servers.values()) await server.close();
});

test("whatever happens to a session, the providers' packages write what their providers take", {
  ...verifies("CTX-2", "CTX-4"),
  timeout: 300_000,
}, async () => {
  let summaries = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(plannedRun, { minLength: 1, maxLength: 3 }), async (plan) => {
      const { requests, summaries: asked } = await play(plan);
      summaries += asked;
      for (const request of requests) {
        holdGeneralRules(request);
        for (const provider of realProviders) {
          const server = servers.get(provider.name);
          if (server === undefined) throw new Error(`There is no server for ${provider.name}.`);
          const model = fromAiSdk(provider.create({ baseURL: server.baseURL, apiKey: "sk-test" }));
          for await (const delta of model.stream(request, new AbortController().signal))
            if (delta.kind === "error") throw new Error(delta.failure.message);
          holdRules(provider.format, server.requests.at(-1)?.body ?? {});
        }
      }
    }),
    { numRuns: 25 },
  );
  expect(summaries).toBeGreaterThan(0);
});
