/**
 * Whatever happens in a session, kills and forks among it, a request begins with the request before it, or the session says what broke that; a strict server
 * takes every request; and each request can be made again from the log as it was sent.
 */
import { isDeepStrictEqual } from "node:util";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createAnthropic as createAnthropicV4 } from "anthropic-v4";
import { expect, test } from "vitest";
import { type Bill, beginsWith, type ScriptedReply, startBillingServer } from "../../bench/economy/billing-server.mjs";
import { finalSummaryWithTools } from "../../src/core/transcript/loop-prompts.js";
import {
  createAgent,
  createMemoryStore,
  defineTool,
  type Hook,
  type Model,
  type ModelCallChange,
  type ModelRequest,
  pendingApprovals,
  type Store,
} from "../../src/index.js";
import { modelRequests, traceSession } from "../../src/inspect.js";
import type { LanguageModel } from "../../src/models/ai-sdk/language-model.js";
import { fromAiSdk } from "../../src/models/index.js";
import { type Chance, createChance } from "../core/chance.js";
import { collect } from "../support/agents.js";
import { pickSampleCount } from "../support/sample-count.js";
import { createFailingStore } from "../support/stores.js";
import { verifies } from "../verifies.js";
import { bills } from "./bills.js";

const apiKey = "sk-test";
const systemPrompt = "You keep the minutes of a meeting. ".repeat(200);
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

type Create = (options: { readonly baseURL: string; readonly fetch: typeof fetch }) => LanguageModel;
const creators: readonly [Create, ...Create[]] = [
  (options) => createAnthropic({ ...options, apiKey })("claude-sonnet-5"),
  (options) => createAnthropicV4({ ...options, apiKey })("claude-sonnet-5"),
];

/** Parallel calls, unknown tools, malformed input, calls that wait for a person, are denied, fail, and give pictures or outputs that are cut. */
function answers(chance: Chance): (index: number, body: Bill["body"]) => ScriptedReply {
  const names = ["note", "note", "fail", "denied", "picture", "huge", "unknown", "ask"] as const;
  return (index, { messages }) => {
    const last = JSON.stringify((messages as readonly unknown[]).at(-1));
    if (last.includes("about to be shortened"))
      return chance.oneIn(3) ? { calls: [{ name: "note", input: {} }] } : { text: "## Summary\nLines were written." };
    if (chance.oneIn(5)) return { text: `All of it, at ${index}.` };
    const calls = Array.from({ length: 1 + chance.below(3) }, () => ({
      name: chance.pick(names),
      input: chance.oneIn(6) ? "no object" : { line: `${index} ${chance.below(100)}` },
    }));
    return { text: chance.oneIn(2) ? "" : "One more.", calls };
  };
}

function toolsOf() {
  const tool = (name: string, execute: (line: string) => unknown) =>
    defineTool({
      name,
      description: "Writes a line down.",
      input: { type: "object", properties: { line: { type: "string" } }, required: ["line"] },
      execute: ({ line }) => execute(String(line)),
    });
  return [
    tool("note", (line) => `Noted: ${line} ${"… ".repeat(200)}`),
    tool("denied", (line) => line),
    { ...tool("ask", (line) => line), needsApproval: true },
    tool("fail", () => {
      throw new Error("The pen is dry.");
    }),
    tool("picture", () => ({ type: "content", parts: [{ type: "file", mediaType: "image/png", data: pixel }] })),
    tool("huge", (line) => `${line} `.repeat(30_000)),
  ];
}

function changes(chance: Chance): Hook {
  const options: readonly [ModelCallChange, ...ModelCallChange[]] = [
    { systemPrompt: `${systemPrompt} Be brief.` },
    { activeTools: ["note", "huge"] },
    { toolChoice: "required" },
    { settings: { temperature: 1 } },
  ];
  return { name: "change", beforeLLMCall: () => (chance.oneIn(6) ? chance.pick(options) : undefined) };
}

/** The model, and every request that it was sent. */
function watched(model: Model, sent: ModelRequest[]): Model {
  return {
    ...model,
    stream(request, signal) {
      sent.push({ ...request, messages: [...request.messages] });
      return model.stream(request, signal);
    },
  };
}

const expectStoreFailed = (error: unknown) => expect(error).toMatchObject({ code: "store_failed" });
const expectRunFinished = (error: unknown) => expect(error).toMatchObject({ code: "run_finished" });

async function breaksIn(store: Store, sessionId: string): Promise<ReadonlyMap<string, string | undefined>> {
  const steps = (await traceSession(store, sessionId)).flatMap((record) => (record.type === "step" ? [record] : []));
  return new Map(steps.map(({ runId, modelCallIndex, reused }) => [`${runId}/${modelCallIndex}`, reused.broke]));
}

type Total = { requests: number; broken: number; behind: number; approvals: number; kills: number; forks: number };

async function play(seed: number, total: Total): Promise<void> {
  const chance = createChance(seed);
  const server = await startBillingServer({
    reply: answers(chance),
    positions: chance.pick(["runs", "blocks"]),
  });
  const failing = createFailingStore(createMemoryStore());
  const { store } = failing;
  const sent: ModelRequest[] = [];
  const bodies: string[] = [];
  const recordingFetch: typeof fetch = (url, init) => {
    bodies[sent.length - 1] = String(init?.body);
    return fetch(url, init);
  };
  const create = chance.pick(creators);
  const hooks = chance.oneIn(2) ? [changes(chance)] : [];
  const promptCache = chance.pick(["auto", "1h"] as const);
  const compaction = chance.oneIn(2) ? { contextWindow: 6_000 } : {};
  // A chance of its own: the sessions that a seed draws stay as they are.
  const edits = createChance(seed + 1_000);
  const load = () => {
    const path = `/project/${edits.pick(["AGENTS.md", "docs/AGENTS.md"])}`;
    return [{ name: "AGENTS.md", path, text: `Use style ${edits.below(3)}.`, trust: "project" as const }];
  };
  const sources = edits.oneIn(2) ? [{ name: "AGENTS.md", load }] : [];
  const start = () =>
    createAgent({
      model: watched(fromAiSdk(create({ baseURL: server.baseURL, fetch: recordingFetch })), sent),
      systemPrompt,
      tools: toolsOf(),
      canExecuteTool: ({ tool: { name } }) => (name === "denied" ? { verdict: "deny", reason: "no" } : "allow"),
      context: { ...(chance.oneIn(2) ? { hints: [{ name: "now", text: () => "It is late." }] } : {}), sources },
      limits: { maxSteps: 8, onRepeatedCall: "ignore" },
      retry: { maxRetries: 0 },
      hooks,
      promptCache,
      compaction,
      store,
    });
  // Kills and forks have chances of their own, too.
  const kills = createChance(seed + 2_000);
  const forks = createChance(seed + 3_000);
  let agent = start();
  const answerAll = async (sessionId: string) => {
    for (;;) {
      const waiting = await collect(pendingApprovals(store, { sessionId }));
      if (waiting.length === 0) return;
      total.approvals += waiting.length;
      const session = agent.session(sessionId);
      for (const { callKey } of waiting)
        await session.answer(callKey, chance.oneIn(3) ? { type: "deny", note: "no" } : { type: "approve" });
      await session.resume({ follow: true });
    }
  };
  let killed = 0;
  for (let run = 0; run < 3; run += 1) {
    const isKilled = kills.oneIn(2);
    if (isKilled) failing.failCommits(2 + kills.below(12), { afterWriting: kills.oneIn(2) });
    const stream = agent.runStream(`Run ${run}.`, { sessionId: "s" });
    for await (const item of stream)
      if (item.type === "tool_call" && chance.oneIn(8)) {
        const steered = agent.session("s").steer(`Steer ${chance.below(9)}.`);
        await (isKilled ? steered.catch(expectStoreFailed) : steered);
      }
    const { status } = await stream.result;
    failing.repair();
    // Another agent continues what was killed, answers what waits for a person, and has the next run.
    await agent.shutdown();
    agent = start();
    if (status === "interrupted") {
      killed += 1;
      await agent.session("s").resume({ follow: true }).catch(expectRunFinished);
    }
    await answerAll("s");
  }
  total.kills += killed;
  const sentInSession = sent.length;
  if (forks.oneIn(2)) {
    total.forks += 1;
    await agent.session("s").fork({ sessionId: "fork" });
    await agent.run("Once more.", { sessionId: "fork" });
    await answerAll("fork");
  }
  await server.close();
  const all = bills(server);
  for (const { marks } of all) expect(marks).toBeLessThanOrEqual(4);
  expect(all.length).toBeGreaterThanOrEqual(sent.length - killed);
  expectRebuilt(await collect(modelRequests(store, "s")), sent.slice(0, sentInSession), killed);
  const broke = new Map([...(await breaksIn(store, "s")), ...(await breaksIn(store, "fork"))]);
  let before: Bill | null = null;
  let index = -1;
  for (const bill of all) {
    // A killed process may have dropped its last request before the server had it.
    const body = JSON.stringify(bill.body);
    index = bodies.indexOf(body, index + 1);
    expect(index, "a request that no model sent").toBeGreaterThanOrEqual(0);
    const { purpose, runId, modelCallIndex, attempt, tools } = sent[index] as ModelRequest;
    total.requests += 1;
    if (purpose === "compaction") {
      total.behind += tools.length > 0 ? 1 : 0;
      continue;
    }
    const call = `${runId}/${modelCallIndex}`;
    const reason = broke.get(call);
    if (before !== null && !beginsWith(bill, before) && attempt === 1) {
      total.broken += 1;
      expect(reason, `seed ${seed}, ${call}`).toBeDefined();
    }
    // A last summary that called a tool is asked for again, and may call none then: the choice of tools is before the messages.
    if (before !== null && reason === undefined && attempt === 1)
      expect(bill.read, `seed ${seed}, request ${index}`).toBe(before.total);
    // What asks for a last summary is not part of the conversation. If it comes after a compaction, what was sent before is gone.
    if (!body.includes(finalSummaryWithTools)) before = bill;
    else if (reason !== undefined) before = null;
  }
}

/**
 * The log has each request as it was sent. After a kill it also has an attempt that the process had no time to send, and lacks the
 * requests of a compaction that was cut short.
 */
function expectRebuilt(rebuilt: readonly ModelRequest[], sent: readonly ModelRequest[], kills: number): void {
  if (kills === 0) expect(rebuilt).toEqual(sent);
  const unsent = rebuilt.filter((request) => !sent.some((other) => isDeepStrictEqual(request, other)));
  const unlogged = sent.filter((request) => !rebuilt.some((other) => isDeepStrictEqual(request, other)));
  for (const { purpose, runId, modelCallIndex, attempt } of unsent) {
    expect(purpose).toBe(undefined);
    const sameCall = (request: ModelRequest) => request.runId === runId && request.modelCallIndex === modelCallIndex;
    expect(sent.filter(sameCall).map((request) => request.attempt)).not.toContain(attempt);
  }
  for (const { purpose } of unlogged) expect(purpose).toBe("compaction");
}

test("each request begins with the request before, or the trace names what broke that", {
  timeout: 120_000,
  ...verifies("COST-1", "COST-2", "COST-3"),
}, async () => {
  const total = { requests: 0, broken: 0, behind: 0, approvals: 0, kills: 0, forks: 0 };
  for (let seed = 1; seed <= pickSampleCount({ quick: 12, long: 40 }); seed += 1) await play(seed, total);
  expect(total.requests).toBeGreaterThan(pickSampleCount({ quick: 100, long: 500 }));
  expect(total.broken).toBeGreaterThan(0);
  expect(total.behind).toBeGreaterThan(0);
  expect(total.approvals).toBeGreaterThan(0);
  expect(total.kills).toBeGreaterThan(0);
  expect(total.forks).toBeGreaterThan(0);
});
