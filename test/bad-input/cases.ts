/**
 * Cases of bad input: each is a run, on both stores, of which is told what the user and the model see.
 */
import { expect } from "vitest";
import {
  type Agent,
  type AgentOptions,
  type AnyTool,
  createAgent,
  createMemoryStore,
  type Message,
  type Model,
  type ModelRequest,
  type RunResult,
  type Store,
  type StreamItem,
} from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { openFileStore } from "../stores/open.js";
import { collect, filterEvents } from "../support/agents.js";
import { createWatchedClock, type WatchedClock } from "../support/clock.js";
import { formatShown, type Row } from "./page.js";

export type Scene = {
  readonly clock: WatchedClock;
  readonly abort: () => void;
};

export type Case = {
  readonly input: string;
  /** Made anew for each run: what a model says and tools count is used up. */
  readonly make: (agent: () => Agent) => {
    readonly script: readonly ScriptedStep[] | Model;
    readonly tools?: readonly AnyTool[];
    readonly options?: Partial<AgentOptions>;
    /** Writes the log of a run `r` that is under way: it is carried on, in the place of a new one. */
    readonly writeLog?: (store: Store) => Promise<void>;
    /** What happens while the run is under way. */
    readonly meanwhile?: (scene: Scene) => Promise<void>;
  };
  readonly check?: (outcome: CaseOutcome) => void;
};

export type CaseOutcome = {
  readonly result: RunResult;
  readonly items: readonly StreamItem[];
  readonly requests: readonly ModelRequest[];
  readonly messages: readonly Message[];
};

/** Runs a case on a store in memory and on one in a file, and gives what both show. */
export async function runCase(testCase: Case): Promise<Row> {
  const inMemory = await play(testCase, createMemoryStore());
  const file = await openFileStore({ synchronous: "normal" });
  try {
    const inFile = await play(testCase, file.store);
    expect(inFile).toEqual(inMemory);
  } finally {
    await file.close();
  }
  return inMemory;
}

async function play({ input, make, check }: Case, store: Store): Promise<Row> {
  const { script, tools = [], options = {}, writeLog, meanwhile } = make(() => agent);
  const clock = createWatchedClock();
  const { model, requests } = recordRequests("stream" in script ? script : createScriptedModel(script));
  const agent: Agent = createAgent({ model, tools, store, clock, ...options });
  const controller = new AbortController();
  await writeLog?.(store);
  const run = writeLog === undefined ? startRun(agent, controller.signal) : continueRun(agent);
  const [result] = await Promise.all([run.result, meanwhile?.({ clock, abort: () => controller.abort() })]);
  const items = await run.items;
  await clock.advance(0);
  const session = agent.session("s");
  const outcome: CaseOutcome = { result, items, requests: [...requests], messages: await session.messages() };
  expectConsistent(outcome);
  check?.(outcome);

  // What is in the store folds to the same, and the session goes on.
  expect(await store.verify()).toEqual([]);
  const loggedEvents = (await collect(session.events({ follow: false }))).filter((event) => isOfRun(event));
  expect(JSON.stringify(loggedEvents)).toBe(JSON.stringify(filterEvents(items)));
  const laterAgent = createAgent({
    ...options,
    hooks: [],
    model: createScriptedModel([{ text: "Still here." }]),
    tools,
    store,
    clock,
  });
  expect(await laterAgent.run("And now?", { sessionId: "s" })).toMatchObject({
    status: "completed",
    text: "Still here.",
  });
  return { input, user: formatUserView(outcome), model: formatModelView(outcome) };
}

type RunningCase = { readonly result: Promise<RunResult>; readonly items: Promise<readonly StreamItem[]> };

function startRun(agent: Agent, signal: AbortSignal): RunningCase {
  const stream = agent.runStream("Go", { sessionId: "s", runId: "r", signal });
  return { result: stream.result, items: collect(stream) };
}

function continueRun(agent: Agent): RunningCase {
  const session = agent.session("s");
  const watch = async () => {
    const items: StreamItem[] = [];
    for await (const item of session.events()) {
      if (!isOfRun(item)) continue;
      items.push(item);
      if (item.type === "final") break;
    }
    return items;
  };
  return { items: watch(), result: session.resume() };
}

/** Hooks may start runs of their own. */
function isOfRun(event: StreamItem): boolean {
  return !("runId" in event) || event.runId === "r";
}

function recordRequests(inner: Model): { readonly model: Model; readonly requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  const stream: Model["stream"] = (request, signal) => {
    requests.push({ ...request, messages: structuredClone(request.messages) });
    return inner.stream(request, signal);
  };
  return { model: { ...inner, stream }, requests };
}

/** Whatever comes in: one end, one result for each call, in order, under ids that are unique, in all that a model is sent. */
function expectConsistent({ items, requests, messages }: CaseOutcome): void {
  const events = filterEvents(items);
  expect(events.filter((event) => event.type === "final")).toHaveLength(1);
  expect(events.at(-1)?.type).toBe("final");
  for (const sent of [...requests.map((request) => request.messages), messages]) expectPairedCalls(sent);
  const results = events.filter((event) => event.type === "tool_result").map((event) => event.callKey);
  const calls = events.filter((event) => event.type === "call_start").map((event) => event.callKey);
  expect([...results].sort()).toEqual([...calls].sort());
}

function expectPairedCalls(messages: readonly Message[]): void {
  const ids = new Set<string>();
  messages.forEach((message, index) => {
    if (message.role !== "assistant") return;
    const asked = message.parts.filter((part) => part.type === "tool_call");
    for (const { toolCallId } of asked) {
      expect(toolCallId).not.toBe("");
      expect(ids.has(toolCallId)).toBe(false);
      ids.add(toolCallId);
    }
    const calls = asked.filter((part) => part.providerExecuted !== true).map((part) => part.toolCallId);
    const next = messages[index + 1];
    const answeredIds = next?.role === "tool" ? next.parts.map((part) => part.toolCallId) : [];
    expect(answeredIds).toEqual(calls);
  });
}

function formatUserView({ result, items }: CaseOutcome): string {
  const lines = filterEvents(items).flatMap((event): readonly string[] => {
    if (event.type === "tool_result") return [`\`tool_result\` (${event.outcome})`];
    if (event.type === "attempt_failed")
      return [`\`attempt_failed\` (${event.failure.kind}): ${formatShown(event.failure.message)}`];
    if (event.type === "hook_failed") return [`\`hook_failed\` (${event.outcome}): ${formatShown(event.message)}`];
    return [];
  });
  return [...lines, formatEnding(result)].join("\n");
}

function formatEnding(result: RunResult): string {
  const reason = "reason" in result ? ` (${result.reason})` : "";
  return `**${result.status}**${reason}: ${formatShown(result.text, 60)}`;
}

function formatModelView({ requests, messages }: CaseOutcome): string {
  const last = requests.at(-1)?.messages ?? [];
  const results = [...last, ...messages.slice(last.length)].flatMap((message) =>
    message.role === "tool" ? message.parts.map((part) => formatShown(textOf(part.output))) : [],
  );
  const asked = requests.length === 1 ? "is called once" : `is called ${requests.length} times`;
  if (results.length > 0) return results.join("\n");
  return asked;
}

function textOf(output: Extract<Message, { role: "tool" }>["parts"][number]["output"]): string {
  switch (output.type) {
    case "text":
      return output.text;
    case "json":
      return JSON.stringify(output.value);
    case "content":
      return output.parts.map((part) => (part.type === "text" ? part.text : `[${part.mediaType}]`)).join("\n");
  }
}
