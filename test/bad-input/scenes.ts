/**
 * Cases of what people do to a run, on both stores: what they are told, how the run ends, and what the model sees.
 */
import { expect } from "vitest";
import {
  type AgentOptions,
  type AnyTool,
  createAgent,
  createClient,
  createMemoryStore,
  type Message,
  type Status,
  type Store,
} from "../../src/index.js";
import { createScriptedModel, type Script } from "../../src/testing/scripted-model.js";
import { openFileStore } from "../stores/open.js";
import { collect, filterEventsOfType } from "../support/agents.js";
import { createWatchedClock, type WatchedClock } from "../support/clock.js";
import { formatShown, type Row } from "./page.js";

export type Scene = {
  readonly store: Store;
  readonly clock: WatchedClock;
  readonly agent: ReturnType<typeof createAgent>;
  readonly session: ReturnType<ReturnType<typeof createAgent>["session"]>;
  /** Somebody who carries nothing on. */
  readonly client: ReturnType<ReturnType<typeof createClient>["session"]>;
  /** The same agent by later code. */
  readonly createLaterAgent: (tools: readonly AnyTool[]) => ReturnType<typeof createAgent>;
  /** Carries the run on until it ends or waits, whatever time that takes. */
  readonly runToRest: () => Promise<void>;
};

export type SceneCase = {
  readonly input: string;
  readonly make: () => {
    readonly script: Script;
    readonly tools: readonly AnyTool[];
    readonly options?: Partial<AgentOptions>;
    /** Where the store is to behave in its own way. */
    readonly storeOf?: (inner: Store) => Store;
    readonly signal?: AbortSignal;
    /** The state in which it happens. */
    readonly expectedStatus: Status;
    /** What happens once the run has begun; gives what those who act are told. */
    readonly act: (scene: Scene) => Promise<readonly string[]>;
  };
};

/** Plays a case on both stores, which must agree. */
export async function runScene(one: SceneCase): Promise<Row> {
  const inMemory = await play(one, createMemoryStore());
  const file = await openFileStore({ synchronous: "normal" });
  try {
    expect(await play(one, file.store)).toEqual(inMemory);
  } finally {
    await file.close();
  }
  return inMemory;
}

async function play({ input, make }: SceneCase, inner: Store): Promise<Row> {
  const { script, tools, options = {}, storeOf = (one) => one, signal, expectedStatus, act } = make();
  const clock = createWatchedClock();
  const store = storeOf(inner);
  const agent = createAgent({ model: createScriptedModel(script), tools, store, clock, ...options });
  const session = agent.session("s");
  const clientOptions = { store: inner, clock };
  const scene: Scene = {
    ...clientOptions,
    agent,
    session,
    client: createClient(clientOptions).session("s"),
    createLaterAgent: (laterTools) =>
      createAgent({ ...options, model: createScriptedModel(script), tools: laterTools, ...clientOptions }),
    async runToRest() {
      const result = session.resume().catch(() => null);
      let isOver = false;
      void result.finally(() => {
        isOver = true;
      });
      while (!isOver) await clock.advance(1);
    },
  };
  void agent.run("Go", { sessionId: "s", runId: "r", ...(signal === undefined ? {} : { signal }) });
  const status = async () => (await inner.load("s"))?.state.status ?? "idle";
  await expect.poll(status).toBe(expectedStatus);
  const told = await act(scene);
  await expect.poll(status).toMatch(/^(awaiting_human|completed|failed|aborted)$/);
  const result = await session.result();
  const messages = await session.messages();
  expectPairedCalls(messages);
  const events = await collect(session.events({ follow: false }));
  expect(filterEventsOfType(events, "final").length).toBeLessThan(2);
  expect(await inner.verify()).toEqual([]);
  await expect.poll(() => inner.inbox("s")).toEqual([]);
  const laterAgent = createAgent({
    ...options,
    model: createScriptedModel([{ text: "Still here." }]),
    tools,
    ...clientOptions,
  });
  if (result?.status === "awaiting_human") await laterAgent.session("s").abort();
  expect(await laterAgent.run("And now?", { sessionId: "s" })).toMatchObject({
    status: "completed",
    text: "Still here.",
  });
  const endingLine =
    result === null ? "nothing has begun" : `**${result.status}**${"reason" in result ? ` (${result.reason})` : ""}`;
  const results = messages.flatMap((message) =>
    message.role === "tool"
      ? message.parts.map(({ output }) => formatShown(output.type === "text" ? output.text : "…"))
      : [],
  );
  return {
    input,
    user: [...told, endingLine].join("\n"),
    model: results.length === 0 ? "no result" : results.join("\n"),
  };
}

function expectPairedCalls(messages: readonly Message[]): void {
  messages.forEach((message, index) => {
    if (message.role !== "assistant") return;
    const calls = message.parts.flatMap((part) => (part.type === "tool_call" ? [part.toolCallId] : []));
    const next = messages[index + 1];
    const answeredIds = next?.role === "tool" ? next.parts.map((part) => part.toolCallId) : [];
    if (answeredIds.length > 0) expect(answeredIds).toEqual(calls);
  });
}

/** What somebody is told: the answer, or the error. */
export async function told(doing: Promise<unknown>): Promise<string> {
  try {
    const said = await doing;
    return said === undefined ? "done" : `\`${String(said)}\``;
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    return `\`${code}\`: ${formatShown(message)}`;
  }
}
