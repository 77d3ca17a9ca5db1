/**
 * Hooks: where they are called, what they may change, and what follows where they fail.
 */
import { describe, expect, test } from "vitest";
import type { HookPoint } from "../../src/core/index.js";
import {
  type AgentOptions,
  createAgent,
  createMemoryStore,
  defineTool,
  type Hook,
  type PublicEvent,
  type RunResult,
  type Store,
} from "../../src/index.js";
import { hookPoints } from "../../src/runtime/agent/compile-hooks.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { collect, createEchoTool, filterEvents, filterEventsOfType } from "../support/agents.js";
import { createWatchedClock } from "../support/clock.js";
import { createLoggedModel, createLoggedStore, createLoggedTool } from "../support/logged.js";
import { verifies } from "../verifies.js";

const calling: readonly ScriptedStep[] = [{ calls: [{ name: "echo", input: { n: 1 } }] }, { text: "Done." }];

type Seen = {
  readonly result: RunResult;
  readonly events: readonly PublicEvent[];
  readonly model: ReturnType<typeof createScriptedModel>;
  readonly inputs: readonly unknown[];
  readonly store: Store;
};

/** A run with these hooks: of a model that calls `echo` once and then says "Done.", unless another script is given. */
async function runWith(
  hooks: readonly Hook[],
  script: readonly ScriptedStep[] = calling,
  more: Partial<AgentOptions> = {},
): Promise<Seen> {
  const echo = createEchoTool();
  const model = createScriptedModel(script);
  const store = createMemoryStore();
  const agent = createAgent({ model, tools: [echo.tool], hooks, store, ...more });
  const run = agent.runStream("Go", { sessionId: "s" });
  const events = filterEvents(await collect(run));
  return { result: await run.result, events, model, inputs: echo.inputs, store };
}

/** A hook at every point, which says where it was called. */
function noting(name: string, log: string[], answer?: (point: string) => unknown): Hook {
  const at = (point: HookPoint) => () => {
    log.push(`${name} ${point}`);
    return answer?.(point) as undefined;
  };
  return { name, ...Object.fromEntries(hookPoints.map((point) => [point, at(point)])) };
}

const order = [
  "beforeRun",
  "beforeStep",
  "beforeLLMCall",
  // At the start of the answer, and at its end.
  "besideLLMCall",
  "besideLLMCall",
  "afterLLMCall",
  "beforeToolCall",
  "afterToolCall",
  "afterStep",
  "beforeStep",
  "beforeLLMCall",
  "besideLLMCall",
  "besideLLMCall",
  "afterLLMCall",
  "afterStep",
  "beforeStop",
  "afterRun",
];

describe("the order of hooks", () => {
  const answers = {
    "at once": undefined,
    later: () => Promise.resolve(),
  } as const;
  test.each(Object.entries(answers))(
    "in which they are called, where they answer %s",
    verifies("HOOK-1"),
    async (_, answer) => {
      const log: string[] = [];
      const { result } = await runWith([noting("a", log, answer), noting("b", log, answer)]);
      expect(result).toMatchObject({ status: "completed", text: "Done." });
      expect(log).toEqual(order.flatMap((point) => [`a ${point}`, `b ${point}`]));
    },
  );

  test("hooks that answer at once cost no commit", async () => {
    const commits = async (hooks: readonly Hook[]) => {
      const inner = createMemoryStore();
      let count = 0;
      const store: Store = {
        ...inner,
        commit(lease, commit) {
          count += 1;
          return inner.commit(lease, commit);
        },
      };
      await runWith(hooks, calling, { store });
      return count;
    };
    expect(await commits([noting("a", [])])).toBe(await commits([]));
  });

  test("a step and a call are in the order that the requirement names", verifies("LOOP-13", "HOOK-1"), async () => {
    const log: string[] = [];
    const model = createScriptedModel([{ calls: [{ name: "work", raw: '{"n": 1}' }] }, { text: "Done." }]);
    const agent = createAgent({
      model: createLoggedModel(log, model, () => "model"),
      tools: [createLoggedTool(log)],
      canExecuteTool() {
        log.push("may it?");
        return "allow";
      },
      hooks: [
        {
          name: "h",
          beforeLLMCall: () => void log.push("beforeLLMCall"),
          afterLLMCall: () => void log.push("afterLLMCall"),
          beforeToolCall({ input }) {
            log.push(`beforeToolCall ${JSON.stringify(input)}`);
            return { input: { n: 2 } };
          },
          afterToolCall: () => void log.push("afterToolCall"),
        },
      ],
      store: createLoggedStore(log),
    });
    await agent.run("Go");
    expect(log).toEqual([
      "beforeLLMCall",
      "commit session_created run_started prepared",
      "model",
      "afterLLMCall",
      'beforeToolCall {"n":1}',
      'validate {"n":2}',
      "may it?",
      "commit model_finished tool_decided",
      "run",
      "afterToolCall",
      "beforeLLMCall",
      "commit tool_finished prepared",
      "model",
      "afterLLMCall",
      "commit model_finished run_finished",
    ]);
  });
});

describe("what a hook may change", () => {
  test("the input of a run, each seeing what the one before made of it", verifies("HOOK-1"), async () => {
    const adding = (text: string): Hook => ({
      name: text,
      beforeRun: async ({ input }) => ({
        input: input.map((message) => ({ ...message, parts: [...message.parts, { type: "text", text }] as const })),
      }),
    });
    const { model, result } = await runWith([adding("one"), adding("two")]);
    expect(result.status).toBe("completed");
    for (const { messages } of model.requests)
      expect(messages[0]).toEqual({
        role: "user",
        parts: ["Go", "one", "two"].map((text) => ({ type: "text", text })),
      });
  });

  test("whether a run is refused", verifies("HOOK-1"), async () => {
    const log: string[] = [];
    const refusing: Hook = { name: "office hours", beforeRun: () => ({ refuse: "come back tomorrow" }) };
    const { result, model } = await runWith([refusing, noting("after", log)]);
    expect(result).toMatchObject({ status: "failed", reason: "refused", error: { message: "come back tomorrow" } });
    expect(model.requests).toHaveLength(0);
    expect(log).toEqual(["after afterRun"]);
  });

  test("what one model call is told: prompt, tools by name, tool choice, options", verifies("HOOK-1"), async () => {
    const seen: unknown[] = [];
    const changing: Hook = {
      name: "change",
      beforeLLMCall: ({ modelCallIndex }) =>
        modelCallIndex === 1
          ? {
              systemPrompt: "Be brief.",
              activeTools: ["echo"],
              toolChoice: "required",
              providerOptions: { p: { speed: 2 } },
            }
          : undefined,
    };
    const looking: Hook = {
      name: "look",
      beforeLLMCall({ systemPrompt, activeTools, toolChoice, providerOptions }) {
        seen.push({ systemPrompt, activeTools, toolChoice, providerOptions });
      },
    };
    const other = createEchoTool("other").tool;
    const tools = [createEchoTool().tool, other];
    const { model } = await runWith([changing, looking], calling, { tools, systemPrompt: "Be kind." });
    const [first, second] = model.requests;
    expect(first).toMatchObject({
      systemPrompt: "Be brief.",
      toolChoice: "required",
      providerOptions: { p: { speed: 2 } },
    });
    expect(first?.tools.map(({ name }) => name)).toEqual(["echo"]);
    expect(second?.systemPrompt).toBe("Be kind.");
    expect(second?.tools.map(({ name }) => name)).toEqual(["echo", "other"]);
    expect(second).not.toHaveProperty("toolChoice");
    expect(seen).toEqual([
      {
        systemPrompt: "Be brief.",
        activeTools: ["echo"],
        toolChoice: "required",
        providerOptions: { p: { speed: 2 } },
      },
      { systemPrompt: "Be kind.", activeTools: ["echo", "other"] },
    ]);
  });

  test("tools that are named again and again are named once", verifies("HOOK-2"), async () => {
    const activeTools = Array.from({ length: 500_000 }, () => "echo");
    const { result, model, store } = await runWith([{ name: "h", beforeLLMCall: () => ({ activeTools }) }]);
    expect(result.status).toBe("completed");
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(["echo"]);
    expect(JSON.stringify(await store.read("s")).length).toBeLessThan(20_000);
  });

  test("a tool that a hook did not choose is not there for the model", verifies("HOOK-1"), async () => {
    const { model, inputs } = await runWith([{ name: "none", beforeLLMCall: () => ({ activeTools: [] }) }]);
    expect(inputs).toEqual([]);
    expect(JSON.stringify(model.requests[1]?.messages)).toContain("Unknown tool 'echo'");
  });

  test("the input of a call, which is what is shown, asked about and run", verifies("HOOK-1"), async () => {
    const add: Hook = {
      name: "add",
      beforeToolCall: ({ input }) => ({ input: { ...(input as object), more: true } }),
    };
    const again: Hook = { name: "again", beforeToolCall: async ({ input }) => ({ input: [input] }) };
    const { events, inputs } = await runWith([add]);
    expect(inputs).toEqual([{ n: 1, more: true }]);
    expect(filterEventsOfType(events, "tool_call")[0]?.input).toEqual({ n: 1, more: true });
    const invalid = await runWith([add, again]);
    expect(invalid.inputs).toEqual([]);
    expect(filterEventsOfType(invalid.events, "tool_result")[0]).toMatchObject({ outcome: "error" });
  });

  test("whether a call is blocked, or the run is stopped, with a reason", verifies("HOOK-1"), async () => {
    const blocked = await runWith([{ name: "h", beforeToolCall: () => ({ block: "not on Sundays" }) }]);
    expect(blocked.inputs).toEqual([]);
    expect(blocked.result).toMatchObject({ status: "completed", text: "Done." });
    expect(JSON.stringify(blocked.model.requests[1]?.messages)).toContain("Blocked: not on Sundays");
    const stopped = await runWith([{ name: "h", beforeToolCall: () => ({ stop: "enough" }) }]);
    expect(stopped.inputs).toEqual([]);
    expect(stopped.result).toMatchObject({ status: "aborted", reason: "hook_stopped" });
    expect(filterEventsOfType(stopped.events, "tool_result")[0]).toMatchObject({ outcome: "blocked" });
  });

  test("the output of a call: only what the hook gives is kept", verifies("HOOK-1"), async () => {
    const secret = "sk-123456";
    const leaking = defineTool({
      name: "echo",
      description: "Tells.",
      input: { type: "object" },
      execute: () => `${secret} ${"x".repeat(60_000)}`,
    });
    const mask: Hook = {
      name: "mask",
      afterToolCall: ({ output }) =>
        output.type === "text" ? { output: output.text.replaceAll(secret, "***") } : undefined,
    };
    const { store, model, events } = await runWith([mask], calling, { tools: [leaking] });
    const entries = await store.read("s", 0, 1_000);
    for (const seen of [entries, model.requests, events]) expect(JSON.stringify(seen)).not.toContain(secret);
    const cited = /"blob":"([0-9a-f]{64})"/.exec(JSON.stringify(entries))?.[1] ?? "";
    const whole = Buffer.from((await store.getBlob("s", cited)) ?? []).toString();
    expect(whole).toContain("*** xxx");
    expect(whole).not.toContain(secret);
  });

  test("the output of a call that failed, and `undefined` in its place", verifies("HOOK-1"), async () => {
    const broken = defineTool({
      name: "echo",
      description: "Breaks.",
      input: { type: "object" },
      execute() {
        throw new Error("password is hunter2");
      },
    });
    const seen: unknown[] = [];
    const hook: Hook = {
      name: "hide",
      afterToolCall({ isError, output }) {
        seen.push(isError, output);
        return { output: undefined };
      },
    };
    const { events } = await runWith([hook], calling, { tools: [broken] });
    expect(seen).toEqual([true, { type: "text", text: "Error: password is hunter2" }]);
    expect(filterEventsOfType(events, "tool_result")[0]).toMatchObject({
      outcome: "error",
      output: { type: "text", text: "(no output)" },
    });
  });

  test("whether a failed attempt is tried again or given up", verifies("HOOK-1"), async () => {
    const auth = { error: { kind: "auth", message: "bad key" } } as const;
    const overloaded = { error: { kind: "overloaded", message: "busy" } } as const;
    const clock = createWatchedClock();
    const retrying = runWith([{ name: "h", onError: () => "retry" }], [auth, { text: "Better." }], { clock });
    await clock.waitFor(1_000);
    await clock.advance(1_000);
    expect((await retrying).result).toMatchObject({ status: "completed", text: "Better." });
    const given = await runWith([{ name: "h", onError: () => "giveUp" }], [overloaded, { text: "Never said." }]);
    expect(given.result).toMatchObject({ status: "failed", reason: "model_error" });
  });

  test("what is seen after a model call: its message, or how it failed", verifies("HOOK-1"), async () => {
    const seen: unknown[] = [];
    const look: Hook = {
      name: "look",
      afterLLMCall(answer) {
        seen.push("failure" in answer ? answer.failure.kind : answer.message.parts);
      },
    };
    await runWith([look], [{ error: { kind: "auth", message: "bad key" } }]);
    await runWith([look], [{ text: "Hi." }]);
    expect(seen).toEqual(["auth", [{ type: "text", text: "Hi." }]]);
  });
});

describe("before a run stops", () => {
  const keepGoing: Hook = { name: "more", beforeStop: () => ({ message: "There is more to do." }) };

  test("a message keeps it going, three times unless told otherwise", verifies("FIN-8", "HOOK-1"), async () => {
    const script = ["One.", "Two.", "Three.", "Four."].map((text) => ({ text }));
    const { result, events, model } = await runWith([keepGoing], script);
    expect(result).toMatchObject({ status: "completed", reason: "stop", text: "Four.", steps: 4 });
    expect(filterEventsOfType(events, "steered").map(({ source }) => source)).toEqual([
      "before_stop",
      "before_stop",
      "before_stop",
    ]);
    expect(model.requests[1]?.messages.at(-1)).toEqual({
      role: "user",
      parts: [{ type: "text", text: "There is more to do." }],
    });
    const once = await runWith([keepGoing], script, { limits: { maxStopPreventions: 1 } });
    expect(once.result).toMatchObject({ text: "Two.", steps: 2 });
    const never = await runWith([keepGoing], script, { limits: { maxStopPreventions: 0 } });
    expect(never.result).toMatchObject({ text: "One.", steps: 1 });
  });

  test("the done tool is kept from stopping too", verifies("FIN-8"), async () => {
    const finish = defineTool({
      name: "echo",
      description: "Finishes.",
      input: { type: "object" },
      execute: async () => (await import("../../src/index.js")).done("finished"),
    });
    const reasons: string[] = [];
    const once: Hook = {
      name: "once",
      beforeStop({ reason, text, stopPreventions }) {
        reasons.push(`${reason} ${text} ${stopPreventions}`);
        return stopPreventions === 0 ? { message: "Look again." } : undefined;
      },
    };
    const script = [{ calls: [{ name: "echo" }] }, { calls: [{ name: "echo" }] }];
    const { result } = await runWith([once], script, { tools: [finish] });
    expect(result).toMatchObject({ status: "completed", reason: "done", text: "finished", steps: 2 });
    expect(reasons).toEqual(["done finished 0", "done finished 1"]);
  });

  test("never past a limit, and not where the run ends otherwise", verifies("FIN-8"), async () => {
    const log: string[] = [];
    const counting: Hook = {
      name: "more",
      beforeStop({ mayGoOn }) {
        log.push(mayGoOn ? "may go on" : "must end");
        return { message: "More." };
      },
    };
    const limited = await runWith([counting], [{ text: "One." }, { text: "Two." }], { limits: { maxSteps: 1 } });
    expect(limited.result).toMatchObject({ status: "completed", text: "One.", steps: 1 });
    expect(log.splice(0)).toEqual(["must end"]);
    const failed = await runWith([counting], [{ error: { kind: "auth", message: "bad key" } }]);
    expect(failed.result).toMatchObject({ status: "failed", reason: "model_error" });
    expect(log).toEqual([]);
  });
});
