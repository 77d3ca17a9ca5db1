/**
 * Guards: hooks beside a model call, which may end it while the model streams.
 */
import { describe, expect, test } from "vitest";
import {
  type Agent,
  createAgent,
  createMemoryStore,
  defineTool,
  type GuardOptions,
  guard,
  type Hook,
  type Model,
  type Session,
  type Store,
  type StreamItem,
} from "../../src/index.js";
import type { ModelDelta } from "../../src/ports/model.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createDeferred } from "../support/agents.js";
import { verifies } from "../verifies.js";

type Given = {
  readonly hooks: readonly Hook[];
  readonly model?: Model;
  readonly steps?: readonly ScriptedStep[];
  readonly store?: Store;
  readonly ran?: () => void;
  /** Called with each item of the stream. */
  readonly onItem?: (item: StreamItem) => void;
};

function agentOf({ hooks, model, steps = [{ text: "The code is heron." }], store, ran = () => {} }: Given) {
  const work = defineTool({
    name: "work",
    description: "Works.",
    input: { type: "object" },
    execute: () => {
      ran();
      return "done";
    },
  });
  return createAgent({
    model: model ?? createScriptedModel(steps),
    tools: [work],
    hooks,
    store: store ?? createMemoryStore(),
  });
}

async function play(given: Given) {
  const agent = agentOf(given);
  const items: StreamItem[] = [];
  const stream = agent.runStream("Tell me.", { sessionId: "s" });
  for await (const item of stream) {
    given.onItem?.(item);
    items.push(item);
  }
  const result = await stream.result;
  const entries = await agent.options.store?.read("s", 0, 100);
  return { agent, items, result, entries: entries ?? [] };
}

const noCode: GuardOptions = {
  name: "no code",
  output: ({ text }) => (text.includes("heron") ? { trip: "It tells the code." } : undefined),
};

describe("an output guard", verifies("FIN-11"), () => {
  test("refuses an answer: nobody gets it, and the deltas are withdrawn", async () => {
    const { result, items, entries, agent } = await play({ hooks: [guard(noCode)] });
    expect(result).toMatchObject({
      status: "failed",
      reason: "output_refused",
      text: "The answer was refused.",
      error: { code: "guard_tripped", message: 'the guard "no code" tripped: It tells the code.' },
      steps: 0,
    });
    const events = items.filter(({ type }) => type !== "delta" && type !== "snapshot");
    expect(JSON.stringify(events)).not.toContain("heron");
    expect(events.map(({ type }) => type)).toEqual([
      "session_created",
      "run_started",
      "attempt_failed",
      "attempt_withdrawn",
      "final",
    ]);
    expect(JSON.stringify(entries)).not.toContain("heron");
    expect(JSON.stringify(await agent.session("s").messages())).not.toContain("heron");
    const failed = entries.find(({ event }) => event.type === "model_failed")?.event;
    expect(failed).toMatchObject({
      failure: { kind: "cancelled", code: "guard_tripped" },
      next: { type: "give_up", reason: "output_refused" },
      usage: { inputTokens: 10, outputTokens: 5 },
      hooks: [{ name: "no code", hook: "besideLLMCall", outcome: "tripped", message: "It tells the code." }],
    });
    expect(result.usage).toMatchObject({ inputTokens: 10, outputTokens: 5 });
  });

  test("lets other answers pass, and is recorded", async () => {
    const { result, entries } = await play({ hooks: [guard(noCode)], steps: [{ text: "No." }] });
    expect(result).toMatchObject({ status: "completed", text: "No." });
    const finished = entries.find(({ event }) => event.type === "model_finished")?.event;
    expect(finished?.hooks).toMatchObject([{ name: "no code", hook: "besideLLMCall", outcome: "ok" }]);
  });

  test("is not asked about a step with calls, unless about every step", async () => {
    const seen: string[] = [];
    const output: GuardOptions["output"] = ({ text }) => void seen.push(text);
    const steps: readonly ScriptedStep[] = [{ text: "First.", calls: [{ name: "work" }] }, { text: "Then." }];
    await play({ hooks: [guard({ name: "g", output })], steps });
    expect(seen).toEqual(["Then."]);
    seen.length = 0;
    await play({ hooks: [guard({ name: "g", output, every: "step" })], steps });
    expect(seen).toEqual(["First.", "Then."]);
  });

  test("ends the stream in its middle, with what it has used so far unknown", async () => {
    const seen: number[] = [];
    let wasAborted = false;
    const model: Model = {
      id: "endless",
      async *stream(_request, signal): AsyncGenerator<ModelDelta> {
        signal.addEventListener("abort", () => {
          wasAborted = true;
        });
        yield { kind: "start" };
        yield { kind: "text-start", id: "t" };
        for (let n = 0; n < 1_000 && !signal.aborted; n += 1) {
          yield { kind: "text-delta", id: "t", text: `${n % 10}`.repeat(50) };
          await new Promise((resolve) => setImmediate(resolve));
        }
      },
    };
    const output: GuardOptions["output"] = ({ text, isComplete }) => {
      seen.push(text.length);
      return !isComplete && text.length > 1_200 ? { trip: "It goes on and on." } : undefined;
    };
    const { result, entries } = await play({ hooks: [guard({ name: "g", output, every: "step" })], model });
    expect(result).toMatchObject({ reason: "output_refused", usage: { partial: true } });
    expect(seen).toEqual([500, 1_000, 1_500]);
    expect(wasAborted).toBe(true);
    expect(entries.find(({ event }) => event.type === "model_failed")?.event).not.toHaveProperty("partial");
  });

  test("looks at the whole of an answer that was continued, and refuses the whole", async () => {
    const steps: readonly ScriptedStep[] = [{ text: "The code is he", finish: "length" }, { text: "ron." }];
    const { result, items, agent } = await play({ hooks: [guard(noCode)], steps });
    expect(result).toMatchObject({ reason: "output_refused", text: "The answer was refused." });
    expect(JSON.stringify(await agent.session("s").messages())).not.toContain("The code");
    const withdrawn = items.filter(({ type }) => type === "attempt_withdrawn");
    expect(withdrawn).toMatchObject([{ modelCallIndex: 2 }, { modelCallIndex: 1 }]);
  });

  test("holds the deltas back until it has spoken", async () => {
    const { items } = await play({ hooks: [guard({ ...noCode, hold: true })] });
    expect(JSON.stringify(items)).not.toContain("heron");
    const { items: passed } = await play({
      hooks: [guard({ ...noCode, hold: true })],
      steps: [{ text: "All is well." }],
    });
    const texts = passed.flatMap((item) =>
      item.type === "delta" && item.delta.kind === "text-delta" ? item.delta.text : [],
    );
    expect(texts.join("")).toBe("All is well.");
    const kinds = passed.flatMap((item) => (item.type === "delta" ? item.delta.kind : []));
    expect([kinds.at(0), kinds.at(-1)]).toEqual(["start", "done"]);
  });
});

describe("an answer within which the provider pauses", verifies("FIN-11"), () => {
  const paused = (text: string): ScriptedStep => ({
    deltas: [
      { kind: "text-delta", id: "t", text },
      { kind: "done", finishReason: { unified: "stop", raw: "pause_turn" }, usage: {} },
    ],
  });

  test.for([
    ["over the pause", [paused("The code is he"), { text: "ron." }]],
    ["before the pause", [paused("The code is heron."), { text: " And so on." }]],
  ] as const)("is looked at as a whole: a secret %s is refused, and shown to nobody", async ([, steps]) => {
    const open = await play({ hooks: [], steps });
    expect(open.result.text).toContain("The code is heron.");
    const { result, items, agent } = await play({ hooks: [guard({ ...noCode, hold: true })], steps });
    expect(result).toMatchObject({ status: "failed", reason: "output_refused" });
    expect(JSON.stringify(items)).not.toContain("heron");
    expect(JSON.stringify(await agent.session("s").messages())).not.toContain("The code");
  });
});

describe("an input guard", verifies("FIN-11"), () => {
  const input: GuardOptions["input"] = async ({ messages }) =>
    JSON.stringify(messages).includes("Tell me") ? { trip: "Nobody may ask that." } : undefined;

  test("refuses the request: no tool runs", async () => {
    let calls = 0;
    const { result } = await play({
      hooks: [guard({ name: "g", input })],
      steps: [{ calls: [{ name: "work" }] }, { text: "Done." }],
      ran: () => {
        calls += 1;
      },
    });
    expect(result).toMatchObject({ status: "failed", reason: "refused", error: { code: "guard_tripped" } });
    expect(calls).toBe(0);
  });

  test("is waited for: no tool runs before it has answered", async () => {
    let answer = () => {};
    const asked = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const ran: string[] = [];
    const doing = play({
      hooks: [guard({ name: "g", input: () => asked.then(() => void ran.push("guard")) })],
      steps: [{ calls: [{ name: "work" }] }, { text: "Done." }],
      ran: () => ran.push("tool"),
    });
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(ran).toEqual([]);
    answer();
    expect((await doing).result).toMatchObject({ status: "completed" });
    expect(ran).toEqual(["guard", "tool"]);
  });

  test("is asked in the first step, or in each", async () => {
    const steps: readonly ScriptedStep[] = [{ calls: [{ name: "work" }] }, { text: "Done." }];
    const seen: number[] = [];
    const look: GuardOptions["input"] = ({ modelCallIndex }) => void seen.push(modelCallIndex);
    await play({ hooks: [guard({ name: "g", input: look })], steps });
    await play({ hooks: [guard({ name: "g", input: look, every: "step" })], steps });
    expect(seen).toEqual([1, 1, 2]);
  });
});

describe("a guard that trips", verifies("FIN-11"), () => {
  const tripping: GuardOptions["input"] = () => new Promise((resolve) => setImmediate(resolve, { trip: "No." }));

  test("by the input takes back what was shown of the answer", async () => {
    const shown = createDeferred();
    const input: GuardOptions["input"] = () => shown.promise.then(() => ({ trip: "No." }));
    const { items, result, entries } = await play({
      hooks: [guard({ name: "g", input })],
      onItem(item) {
        if (item.type === "delta" && item.delta.kind === "text-delta") shown.resolve();
      },
    });
    expect(result).toMatchObject({ status: "failed", reason: "refused" });
    const types = items.map(({ type }) => type);
    expect(types.lastIndexOf("delta")).toBeLessThan(types.indexOf("attempt_withdrawn"));
    expect(JSON.stringify(entries)).not.toContain("heron");
  });

  test("ends the run: no other attempt is made, and no fallback is asked", async () => {
    const model = createScriptedModel([{ text: "Hello." }, { text: "Hello." }]);
    const fallback = createScriptedModel([{ text: "Hello." }]);
    const retry = { decide: () => ({ retryInMs: 0 }) };
    const hooks = [guard({ name: "g", input: tripping })];
    const agent = createAgent({ model, fallbacks: [fallback], retry, hooks });
    expect(await agent.run("Go.")).toMatchObject({ reason: "refused", error: { code: "guard_tripped" } });
    expect([model.requests.length, fallback.requests.length]).toEqual([1, 0]);
  });

  test("leaves nothing to see of what another guard holds back, thoughts included", async () => {
    const hooks = [
      guard({ name: "holds", output: () => undefined, hold: true }),
      guard({ name: "trips", output: async () => ({ trip: "No." }) }),
    ];
    const { items, result } = await play({ hooks, steps: [{ reasoning: "A heron.", text: "The code is heron." }] });
    expect(result).toMatchObject({ reason: "output_refused" });
    expect(items.filter(({ type }) => type === "delta")).toEqual([]);
    expect(JSON.stringify(items)).not.toContain("heron");
  });
});

describe("a guard that fails", verifies("FIN-11"), () => {
  const broken = () => {
    throw new Error("it broke");
  };

  test.for([
    ["throws", broken],
    ["returns rubbish", () => ({ tripp: "x" }) as never],
    ["cannot be read", () => new Proxy({}, { ownKeys: broken }) as never],
  ] as const)("trips if it %s, unless it is open", async ([, output]) => {
    const { result, items } = await play({ hooks: [guard({ name: "g", output })], steps: [{ text: "Hello." }] });
    expect(result).toMatchObject({ reason: "output_refused", error: { code: "guard_tripped" } });
    expect(items).toContainEqual(expect.objectContaining({ type: "hook_failed", name: "g", hook: "besideLLMCall" }));
    const open = await play({ hooks: [guard({ name: "g", output, onFailure: "open" })], steps: [{ text: "Hello." }] });
    expect(open.result).toMatchObject({ status: "completed", text: "Hello." });
  });

  test("trips if it takes too long", async () => {
    const clock = createTestClock();
    const never = () => new Promise<never>(() => {});
    const agent = createAgent({
      model: createScriptedModel([{ text: "Hello." }]),
      hooks: [guard({ name: "g", input: never, timeoutMs: 2_000 })],
      clock,
    });
    const doing = agent.run("Go.");
    await clock.runUntilIdle();
    expect(await doing).toMatchObject({ reason: "refused", error: { message: expect.stringContaining("2000 ms") } });
  });

  test("has 10 seconds unless it says otherwise", async () => {
    const clock = createTestClock();
    const asked = createDeferred();
    const input = () => {
      asked.resolve();
      return new Promise<never>(() => {});
    };
    const agent = createAgent({
      model: createScriptedModel([{ text: "Hello." }]),
      hooks: [guard({ name: "g", input })],
      clock,
    });
    const doing = agent.run("Go.", { sessionId: "s" });
    await asked.promise;
    await clock.advance(9_999);
    expect((await agent.session("s").state()).status).toBe("model_running");
    await clock.advance(1);
    expect(await doing).toMatchObject({ reason: "refused", error: { message: expect.stringContaining("10000 ms") } });
  });

  test("is refused without a look, or with an unknown option", () => {
    expect(() => guard({ name: "g" })).toThrow(expect.objectContaining({ code: "bad_configuration" }));
    expect(() => guard({ name: "g", ouput: () => {} } as never)).toThrow(/output/);
    const named = (name: string) => () => agentOf({ hooks: [guard({ name, output: () => undefined })] });
    for (const name of ["", "g".repeat(101)]) expect(named(name)).toThrow(/a name of 1 to 100 characters/);
  });
});

test("a process that takes a run over asks the guard again, and a replay does not", verifies("FIN-11"), async () => {
  const store = createMemoryStore();
  let asked = 0;
  const watching = (answer: () => Promise<{ trip: string } | undefined>) =>
    guard({
      name: "g",
      input: () => {
        asked += 1;
        return answer() as Promise<{ trip: string }>;
      },
    });
  const first = agentOf({ hooks: [watching(() => new Promise(() => {}))], store });
  void first.run("Go.", { sessionId: "s" });
  while (asked === 0) await new Promise((resolve) => setImmediate(resolve));
  await first.shutdown({ graceMs: 0 });
  const second = agentOf({ hooks: [watching(async () => ({ trip: "No." }))], store });
  expect(await second.session("s").resume()).toMatchObject({ reason: "refused" });
  expect(asked).toBe(2);
  expect((await second.session("s").replay()).difference).toBeNull();
  expect(asked).toBe(2);
});

test("an abort does not wait for a guard, and keeps no text that was held back", verifies("FIN-11"), async () => {
  const hooks = [guard({ name: "g", input: () => new Promise<never>(() => {}), hold: true })];
  const agent = agentOf({ hooks });
  const controller = new AbortController();
  const stream = agent.runStream("Go.", { sessionId: "s", signal: controller.signal });
  setImmediate(() => controller.abort());
  const result = await stream.result;
  expect(result).toMatchObject({ status: "aborted" });
  expect(result.partial).toBeUndefined();
});

describe("an answer that is held back", () => {
  const secret = "The code is heron.";
  async function told(agent: Agent, act: (session: Session) => Promise<void>) {
    const stream = agent.runStream("Go.", { sessionId: "s", runId: "r" });
    const items: unknown[] = [];
    const reading = (async () => {
      for await (const item of stream) items.push(item);
    })();
    await act(agent.session("s"));
    await reading;
    const log = await agent.options.store?.read("s");
    return { result: await stream.result, shown: JSON.stringify(items), log: JSON.stringify(log) };
  }

  test("is not shown if the run is aborted before the guard has looked at it", verifies("FIN-11"), async () => {
    const looking = createDeferred();
    const hook = guard({
      name: "slow",
      hold: true,
      output: async (_, { signal }) => {
        looking.resolve();
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      },
    });
    const model = createScriptedModel([{ text: secret }]);
    const agent = createAgent({ model, hooks: [hook], store: createMemoryStore() });
    const { result, shown, log } = await told(agent, async (session) => {
      await looking.promise;
      await session.abort();
    });
    expect(result).toMatchObject({ status: "aborted" });
    expect(shown).not.toContain("heron");
    expect(log).not.toContain("heron");
  });

  test("is not shown if its attempt fails", verifies("FIN-11"), async () => {
    const hook = guard({ name: "quick", hold: true, output: () => undefined });
    const failure = { kind: "auth", message: "The key is wrong.", statusCode: 401 } as const;
    const model = createScriptedModel([{ text: secret, error: failure }]);
    const agent = createAgent({ model, hooks: [hook], store: createMemoryStore() });
    const { result, shown } = await told(agent, async () => {});
    expect(result).toMatchObject({ status: "failed" });
    expect(shown).not.toContain("heron");
  });
});
