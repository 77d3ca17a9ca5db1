/**
 * The sessions that are recorded: all that the log can hold, ended and cut off at every kind of place.
 */
import type { Hook, Json, Message, Model, ModelDelta, Session } from "../../src/index.js";
import { stepCount, textMatches, toolCalled } from "../../src/runtime/agent/stop-conditions.js";
import type { Agent } from "../../src/runtime/api/build-agent.js";
import { createClient } from "../../src/runtime/api/client.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { agentOf, call, family, steps, tool, tools } from "./agents.js";
import { authorScenarios } from "./author-sessions.js";
import type { Bench, Parts } from "./bench.js";
import { providerScenarios } from "./provider-sessions.js";

export type RecordedScenario = {
  readonly name: string;
  readonly about: string;
  readonly parts: (bench: Bench) => Parts;
  /** What happens to the session "s", up to where the recording ends. */
  readonly play: (stage: Stage) => Promise<void>;
};

type Stage = {
  readonly bench: Bench;
  readonly agent: Agent<Model>;
  readonly session: Session;
  /** Asks for a run, which is not waited for; gives what has happened without time going on. */
  readonly ask: (text: string, runId: string) => Promise<void>;
  /** Kills the process, and starts another one. */
  readonly restart: () => Pick<Stage, "agent" | "session" | "ask">;
  readonly kill: () => void;
};

const approve = { type: "approve" } as const;
const overloaded = {
  text: "Half of",
  error: { kind: "overloaded", message: "too many", statusCode: 529 },
  usage: { inputTokens: 3 },
} as const;

/** A text whose end never comes. */
async function* endless(text: string): AsyncGenerator<ModelDelta> {
  yield { kind: "text-delta", id: "1", text };
  await new Promise(() => {});
}

function failing(isFailing: boolean): string {
  if (isFailing) throw new Error("not now");
  return "done";
}

/** A list with a message in a blob, one in its entry and the conversation; then nothing; then settings of the call. */
const chooseForCall: NonNullable<Hook["beforeLLMCall"]> = ({ modelCallIndex, messages }) => {
  if (modelCallIndex === 2) return undefined;
  if (modelCallIndex === 3) return { settings: { seed: 3, stopSequences: ["END"], reasoning: "low" } };
  const said = (text: string): Message => ({ role: "user", parts: [{ type: "text", text }] });
  const list = [said("The rules. ".repeat(120)), ...messages, said("In short.")];
  return { messages: list, model: "fast", activeTools: ["look"] };
};

/** A tool that keeps what it has done. */
const order = tool("order", {
  durable: true,
  async execute(_input, { step, ask }) {
    const price = await step("price", () => 7);
    await step("check", () => Promise.reject(new Error("not now"))).catch(() => {});
    await step("charge", () => ({ charged: price }), { once: true });
    await Promise.all([step("mail", () => {}), step("note", () => "noted")]);
    const said = await ask({ message: "From which account?", schema: { type: "string" }, expiresInMs: 60_000 });
    return said.type === "answered" ? `paid from ${said.value}` : "not paid";
  },
});

/** A tool that sleeps and waits for signals. */
const deliver = tool("deliver", {
  durable: true,
  async execute(_input, { sleep, waitFor }) {
    await sleep("a moment", { ms: 3_000 });
    const schema = { type: "object", required: ["cents"] } as const;
    const paid = await waitFor("payment", { key: "order-7-paid", schema, timeoutMs: 1_800_000 });
    const [signed] = await Promise.all([
      waitFor("signature", { key: "order-7-signed", timeoutMs: 1_800_000 }),
      sleep("until delivery", { ms: 3_600_000 }),
    ]);
    return `${paid.type} ${signed.type}`;
  },
});

/** Tools that keep something with the session. */
const plan = tool("plan", {
  execute: (input, { data }) => {
    data.set("plan", [input as Json]);
    data.set("draft", { text: "soon" });
    data.update("made", (times) => Number(times ?? 0) + 1);
    return "A plan is made. ".repeat(40);
  },
});
const settle = tool("order", {
  durable: true,
  async execute(_input, { data, step, ask }) {
    data.set("price", await step("price", () => 7));
    await step("charge", () => "charged");
    data.delete("draft");
    const said = await ask({ message: "From which account?" });
    data.set("said", said.type);
    return "ordered";
  },
});

export const scenarios: readonly RecordedScenario[] = [
  {
    name: "tools",
    about:
      "calls side by side and alone, results of every kind, refusals, arguments that do not fit, a signal that all is done",
    parts: () =>
      agentOf(
        steps(
          {
            reasoning: "Look first.",
            text: "Looking.",
            calls: [call("look"), call("data"), call("picture"), call("broken"), call("alone"), call("forbidden")],
            usage: {
              inputTokens: 100,
              outputTokens: 20,
              reasoningTokens: 5,
              cacheReadTokens: 50,
              cacheWriteTokens: 10,
            },
          },
          { calls: [call("none"), call("look", {}), { name: "look", raw: '{"n": ' }] },
          {
            deltas: [
              { kind: "start" },
              { kind: "reasoning-start", id: "r", providerMetadata: { provider: { signature: "abc" } } },
              { kind: "reasoning-delta", id: "r", text: "Hm." },
              { kind: "reasoning-end", id: "r" },
              { kind: "tool-call", id: "p1", name: "search", input: '{"q":"pawl"}', providerExecuted: true },
              { kind: "tool-result", id: "p1", name: "search", output: { type: "json", value: ["a catch"] } },
              { kind: "source", id: "1", url: "https://example.com", title: "Example" },
              { kind: "file", mediaType: "image/png", data: "iVBORw0KGgo=" },
              { kind: "tool-call", id: "f1", name: "finish", input: '{"n":1}' },
              { kind: "tool-call", id: "f2", name: "alone", input: '{"n":1}' },
              {
                kind: "done",
                finishReason: { unified: "tool-calls", raw: "tool_use" },
                usage: { inputTokens: 10, outputTokens: 5 },
                providerMetadata: { provider: { id: "m1" } },
              },
            ],
          },
        ),
        { root: "/folder" },
      ),
    play: async ({ ask }) => ask("Do what can be done.", "r"),
  },
  {
    name: "approvals",
    about: "calls that asked: approved, changed, denied, expired; one whose result came from outside",
    parts: () =>
      agentOf(
        steps(
          { calls: [call("guarded"), call("questioned"), call("guarded"), call("expiring"), call("outside")] },
          { text: "Done." },
        ),
      ),
    async play({ bench, session, ask }) {
      await ask("Do it if you may.", "r");
      await session.answer("r/1/3", { type: "deny", note: "too dear" }, { by: "Ada" });
      await session.answer("r/1/1", { type: "modify", input: { n: 2 } }, { by: "Ada" });
      await session.answer("r/1/2", approve, { by: "Bob" });
      await session.resume();
      await session.provideResult("r/1/5", "given", { isError: true });
      await bench.clock.advance(60_000);
      void session.resume();
      await bench.settle();
      await bench.clock.advance(1);
    },
  },
  {
    name: "awaiting-human",
    about: "cut off while it waits for a person, and for a result from outside",
    parts: () => agentOf(steps({ calls: [call("guarded"), call("questioned"), call("outside")] }, { text: "Done." })),
    async play({ bench, session, ask }) {
      await ask("Do it if you may.", "r");
      await session.answer("r/1/1", approve);
      await bench.settle();
    },
  },
  {
    name: "tool-steps",
    about: "a tool with steps: one that failed, one that may run once, two side by side; and a question to a person",
    parts: () => agentOf(steps({ calls: [call("order")] }, { text: "Ordered." }), { tools: [order] }),
    async play({ bench, session, ask }) {
      await ask("Order it.", "r");
      for (let turn = 0; turn < 10; turn += 1) await bench.settle();
      await session.answer("r/1/1", { type: "reply", value: "DE02" }, { by: "Ada" });
      for (let turn = 0; turn < 10; turn += 1) await bench.settle();
    },
  },
  {
    name: "sleeps",
    about: "a tool that sleeps, and waits for signals: one that it passes over, one in time, none in time",
    parts: () =>
      agentOf(
        ({ runId, modelCallIndex }) =>
          runId === "r" && modelCallIndex === 1 ? { calls: [call("deliver")] } : { text: "Delivered." },
        { tools: [deliver] },
      ),
    async play({ bench, session, ask }) {
      const { signal } = createClient({ store: bench.store, clock: bench.clock });
      const settle = async (turns = 20) => {
        for (let turn = 0; turn < turns; turn += 1) await bench.settle();
      };
      await ask("Deliver it.", "r");
      await settle();
      await bench.clock.advance(3_000);
      await settle();
      await signal("order-7-paid", "nonsense", { id: "1" });
      await signal("order-7-paid", { cents: 9_900 }, { id: "2", by: "stripe" });
      session.resume().catch(() => {});
      await settle();
      for (const ms of [1_800_000, 1_800_000]) {
        bench.clock.jump(ms);
        session.resume().catch(() => {});
        await settle();
      }
    },
  },
  {
    name: "asleep",
    about: "a child that sleeps, under a parent that waits for it; the recording ends there",
    parts: (bench) => family(bench, "nap"),
    async play({ bench, ask }) {
      await ask("Explain.", "r");
      for (let turn = 0; turn < 20; turn += 1) await bench.settle();
    },
  },
  {
    name: "steering",
    about: "a steer, and runs that were queued behind another",
    parts: () =>
      agentOf(({ runId, modelCallIndex }) =>
        runId === "r" && modelCallIndex === 1 ? { calls: [call("guarded")] } : { text: `Done with ${runId}.` },
      ),
    async play({ bench, session, ask }) {
      await ask("First.", "r");
      await session.send("Then this.", { runId: "next" });
      await session.send("And this.", { runId: "last" });
      await session.send("Mind that.", { mode: "steer" });
      await session.answer("r/1/1", approve);
      await bench.settle();
    },
  },
  {
    name: "abort",
    about: "an abort while tools run: what settles in the grace, what is given up, what comes in late",
    parts: (bench) => {
      const after = (ms: number) => new Promise<string>((resolve) => bench.clock.after(ms, () => resolve("late")));
      const slow = [tool("slow", { execute: () => after(300) }), tool("slower", { execute: () => after(9_000) })];
      return agentOf(
        ({ runId, modelCallIndex }) =>
          runId === "r" && modelCallIndex === 1
            ? { calls: [call("slow"), call("slower"), call("guarded")] }
            : { text: "Sorry." },
        { tools: [...tools, ...slow] },
      );
    },
    async play({ bench, session, ask }) {
      await ask("Take your time.", "r");
      await session.abort({ note: "enough", by: "Ada" });
      await bench.clock.advance(6_000);
      await ask("What now?", "next");
      await bench.clock.advance(10_000);
      await ask("And now?", "last");
    },
  },
  {
    name: "cut-off",
    about: "answers that were cut off while the model spoke: by an abort, and by the clock in a continuation",
    parts: () =>
      agentOf(({ runId, modelCallIndex }) => {
        if (runId === "r") return { deltas: endless("I will look at") };
        if (runId !== "clock") return { text: "Go on, then." };
        return modelCallIndex === 1 ? { text: "The first half,", finish: "length" } : { deltas: endless(" and a bit") };
      }),
    async play({ bench, session, ask }) {
      await ask("Say it.", "r");
      await session.abort({ note: "enough", by: "Ada" });
      await bench.settle();
      await ask("Go on.", "next");
      await session.send("In time.", { runId: "clock", limits: { maxWallClockMs: 2_000 } });
      await bench.settle();
      await bench.clock.advance(10_000);
    },
  },
  {
    name: "refused",
    about: "answers that a hook refused: one in two parts, and one by the done tool",
    parts: () =>
      agentOf(
        ({ runId, modelCallIndex }) => {
          if (runId === "done") return { text: "So be it.", calls: [call("finish")] };
          return modelCallIndex === 1 ? { text: "The secret", finish: "length" } : { text: " is 42." };
        },
        { hooks: [{ name: "guard", beforeStop: () => ({ refuse: "It tells a secret." }) }] },
      ),
    async play({ ask }) {
      await ask("Tell me.", "r");
      await ask("Finish.", "done");
    },
  },
  {
    name: "skipped",
    about: "a steer that skips the calls that have not started",
    parts: () =>
      agentOf(({ runId, modelCallIndex }) =>
        runId === "r" && modelCallIndex === 1
          ? { calls: [call("guarded"), call("outside"), call("questioned")] }
          : { text: "As you wish." },
      ),
    async play({ bench, session, ask }) {
      await ask("Do it if you may.", "r");
      await session.steer("Leave it.", { skip: "unstarted" });
      await bench.settle();
      await session.provideResult("r/1/2", "given");
      await bench.settle();
    },
  },
  {
    name: "tool-retries",
    about: "calls whose attempts failed and were tried again, one in vain, and one that a model had named badly",
    parts: () =>
      agentOf(steps({ calls: [call("FLAKY"), call("hopeless")] }, { text: "Done." }), {
        tools: [
          tool("flaky", { recover: "rerun", retry: {}, execute: (_, { attempt }) => failing(attempt < 3) }),
          tool("hopeless", { readOnly: true, retry: { attempts: 2 }, execute: () => failing(true) }),
        ],
      }),
    async play({ bench, ask }) {
      await ask("Do it.", "r");
      await bench.clock.runUntilIdle({ maxMs: 20_000 });
    },
  },
  {
    name: "retries",
    about: "attempts that failed and were tried again, by the model and by the one that it falls back on",
    parts: () =>
      agentOf(
        ({ modelCallIndex, attempt }) =>
          modelCallIndex === 2 || attempt < 3 ? overloaded : { calls: [call("look")], text: "Whole." },
        {
          retry: {
            decide: ({ kind }, attempt) =>
              kind === "overloaded" && attempt < 3 ? { retryInMs: attempt * 500 } : { giveUp: "enough" },
          },
          fallbacks: [createScriptedModel(() => ({ text: "Done by another." }), { id: "other" })],
        },
      ),
    async play({ bench, ask }) {
      await ask("Try.", "r");
      await bench.clock.runUntilIdle({ maxMs: 20_000 });
    },
  },
  {
    name: "backoff",
    about: "cut off in the wait before another attempt",
    parts: () => agentOf(({ attempt }) => (attempt < 3 ? overloaded : { text: "At last." })),
    async play({ bench, ask, kill }) {
      await ask("Try.", "r");
      await bench.clock.advance(700);
      kill();
    },
  },
  {
    name: "children",
    about: "an agent as a tool: its session, its share of the budget, its result",
    parts: (bench) => family(bench, "look"),
    play: async ({ ask }) => ask("Explain.", "r"),
  },
  {
    name: "child-waiting",
    about: "cut off while a child waits for a person",
    parts: (bench) => family(bench, "guarded"),
    play: async ({ ask }) => ask("Explain.", "r"),
  },
  {
    name: "child-asked",
    about: "a child that waited for a person, and went on with the answer",
    parts: (bench) => family(bench, "guarded"),
    async play({ bench, session, ask }) {
      await ask("Explain.", "r");
      const [question] = await session.pendingApprovals();
      if (question === undefined) throw new Error("the child asks nothing");
      await session.answer(question.callKey, approve, { by: "Ada" });
      await bench.settle();
      await bench.clock.advance(1_000);
    },
  },
  {
    name: "crashes",
    about:
      "killed in tools of every kind of recovery; what was asked about them was answered; then a run that crashes again and again",
    parts: () =>
      agentOf(({ runId, modelCallIndex }) => {
        if (runId === "loop") return { wait: new Promise(() => {}), text: "Never said." };
        if (runId !== "r") return undefined;
        return [
          {
            calls: [
              call("again"),
              call("once"),
              call("unsure"),
              call("traced"),
              call("untraced"),
              call("unsure"),
              call("unsure"),
            ],
          },
          { text: "Recovered." },
        ][modelCallIndex - 1];
      }),
    async play({ bench, ask, restart }) {
      await ask("Do all.", "r");
      const { session, ask: askAgain } = restart();
      void session.resume();
      await bench.settle();
      await session.answer("r/1/3", { type: "rerun" });
      await session.answer("r/1/5", { type: "result", output: "it had worked" }, { by: "Ada" });
      await session.answer("r/1/6", { type: "fail", note: "it had not" });
      await session.answer("r/1/7", { type: "deny", note: "leave it" });
      await bench.settle();
      await askAgain("Crash.", "loop");
      for (let life = 0; life < 5; life += 1) {
        void restart().session.resume();
        await bench.settle();
      }
    },
  },
  {
    name: "interrupted-in-tool",
    about: "cut off in tools, with a steer, an answer and a queued run in its inbox",
    parts: () =>
      agentOf(({ runId, modelCallIndex }) =>
        runId === "r" && modelCallIndex === 1
          ? { calls: [call("again"), call("unsure"), call("once"), call("guarded")] }
          : { text: "Done." },
      ),
    async play({ bench, ask, kill, session }) {
      await ask("Do all.", "r");
      const message = { at: bench.clock.now() };
      const input = [{ role: "user", parts: [{ type: "text", text: "Mind that." }] }] as const;
      const { state } = (await bench.store.load("s")) ?? {};
      const { inputHash } = (await session.pendingApprovals())[0] ?? {};
      if (state === undefined || state.status === "idle" || state.session === null || inputHash === undefined)
        throw new Error("no run is under way");
      kill();
      const said = { input, limits: state.limits, session: state.session } as const;
      await bench.store.post("s", {
        ...message,
        id: "m1",
        body: { type: "input", mode: "steer", runId: "m1", ...said },
      });
      await bench.store.post("s", {
        ...message,
        id: "m2",
        body: { type: "input", mode: "queue", runId: "next", sessionInKeys: true, ...said },
      });
      await bench.store.post("s", {
        ...message,
        id: "m3",
        body: { type: "answer", callKey: "r/1/4", answer: { type: "approve" }, by: "Ada", inputHash },
      });
    },
  },
  {
    name: "model-running",
    about: "cut off while the model speaks, an abort in its inbox for the run that is queued behind",
    parts: () =>
      agentOf(({ runId, attempt }) =>
        runId === "r" && attempt === 1 ? { wait: new Promise(() => {}) } : { text: "Said again." },
      ),
    async play({ bench, session, ask, kill }) {
      await ask("Say it.", "r");
      await session.send("And that.", { runId: "next" });
      kill();
      const body = { type: "abort", runId: "next", note: "not that", by: "Ada" } as const;
      await bench.store.post("s", { id: "m1", at: bench.clock.now(), body });
      await bench.store.post("s", {
        id: "m2",
        at: bench.clock.now(),
        body: {
          type: "result",
          callKey: "none",
          output: { type: "text", text: "nobody waits" },
          isError: true,
          child: { usage: {} },
        },
      });
    },
  },
  {
    name: "limits",
    about:
      "answers that were cut and gone on with, reminders, a last summary, the end by steps, by tokens and by the clock",
    parts: () =>
      agentOf(({ runId, modelCallIndex }) => {
        if (runId === "cut" && modelCallIndex < 3) return { text: `Part ${modelCallIndex},`, finish: "length" };
        if (runId === "remind" && modelCallIndex === 2) return { calls: [call("finish")] };
        if (runId === "steps") return { calls: [call("look")] };
        if (runId === "clock") return { wait: new Promise(() => {}) };
        if (runId === "filtered") return { text: "I will", calls: [call("look")], finish: "content-filter" };
        return runId === "tokens" ? { calls: [call("look")], usage: { inputTokens: 90, outputTokens: 20 } } : undefined;
      }, {}),
    async play({ bench, session, ask }) {
      await ask("Go on and on.", "cut");
      await session.send("Say when.", { runId: "remind", limits: { requireDoneTool: true } });
      await bench.settle();
      await session.send("Step by step.", { runId: "steps", limits: { maxSteps: 2 } });
      await bench.settle();
      await session.send("At length.", { runId: "tokens", limits: { maxTokens: 100 } });
      await bench.settle();
      await session.send("At a price.", { runId: "cost", limits: { maxCostUsd: 0.001 } });
      await bench.settle();
      await session.send("Again and again.", { runId: "repeated" });
      await bench.settle();
      await session.send("All at once.", { runId: "many", limits: { maxToolCallsPerStep: 1 } });
      await bench.settle();
      await session.send("Say it.", { runId: "filtered" });
      await bench.settle();
      await session.send("In time.", { runId: "clock", limits: { maxWallClockMs: 2_000 } });
      await bench.clock.advance(10_000);
    },
  },
  {
    name: "options",
    about: "a run that was asked otherwise than its agent, with a file, where nobody can be asked",
    parts: () => agentOf(steps({ calls: [call("guarded"), call("look")] }, { text: "Done." })),
    async play({ bench, session }) {
      await session.send(
        [
          { type: "text", text: "What is it?" },
          { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=", filename: "dot.png" },
        ],
        {
          runId: "r",
          systemPrompt: "Be brief.",
          activeTools: ["guarded"],
          toolChoice: { tool: "guarded", everyStep: true },
          interactive: false,
          providerOptions: { provider: { effort: "low" } },
        },
      );
      await bench.settle();
      await session.send("And this?", { runId: "required", toolChoice: { required: true, everyStep: true } });
      await bench.settle();
      await session.send("And that?", { runId: "once", toolChoice: { tool: "look" } });
      await bench.settle();
    },
  },
  {
    name: "compaction",
    about: "conversations that grew too long: summed up before a call, after an overflow, and not at all",
    parts: () =>
      agentOf(
        steps(
          {
            text: "First, at length. ".repeat(20),
            calls: [call("look")],
            usage: { inputTokens: 20, outputTokens: 90 },
          },
          {
            text: "Then, at length. ".repeat(20),
            calls: [call("data")],
            usage: { inputTokens: 700, outputTokens: 90 },
          },
          { calls: [call("look", { n: 2 })] },
          { error: { kind: "context_overflow", message: "too long", statusCode: 400 } },
        ),
        {
          compaction: {
            contextWindow: 1_000,
            model: createScriptedModel([{ text: "## Keep\n- Do it.\n\n## Summary\nIt was looked at." }], {
              id: "short",
            }),
          },
        },
      ),
    play: async ({ ask }) => ask("Do it.", "r"),
  },
  {
    name: "compaction-behind",
    about:
      "a conversation that its own model sums up, after the conversation itself, because the provider caches prompts",
    parts: () => {
      const parts = agentOf(({ purpose, modelCallIndex }) => {
        if (purpose === "compaction") return { text: "## Keep\n- Do it.\n\n## Summary\nIt was looked at." };
        if (modelCallIndex > 2) return undefined;
        const usage = { inputTokens: modelCallIndex === 1 ? 20 : 5_700, outputTokens: 90 };
        return { text: "At length. ".repeat(700), calls: [call("look", { n: modelCallIndex })], usage };
      });
      return { ...parts, model: { ...parts.model, cachesPrompts: true }, compaction: { contextWindow: 10_000 } };
    },
    play: async ({ ask }) => ask("Do it.", "r"),
  },
  {
    name: "asked-compactions",
    about: "compactions that a person asked for: in a run, at rest, and one under way",
    parts: () =>
      agentOf(
        ({ runId, modelCallIndex }) =>
          runId === "r" && modelCallIndex === 1
            ? { calls: [call("guarded")], usage: {} }
            : { text: `${runId}, at length. `.repeat(20), usage: {} },
        {
          compaction: {
            contextWindow: 100_000,
            model: createScriptedModel(
              [
                { text: "It was looked at." },
                { text: "It was done." },
                { deltas: endless("Nobody will know") },
                { text: "It was done again." },
              ],
              { id: "short" },
            ),
          },
        },
      ),
    async play({ bench, session, ask }) {
      await ask("Look first.", "earlier");
      await ask("Do it.", "r");
      await session.compact({ keep: "the file names", by: "Ada" });
      await session.answer("r/1/1", approve, { by: "Ada" });
      await bench.settle();
      session.compact().catch(() => {});
      await bench.settle();
      await ask("And more.", "r2");
      session.compact().catch(() => {});
      await bench.settle();
    },
  },
  {
    name: "model-calls",
    about: "calls with messages, a model, settings and tools of their own, and a compaction between them",
    parts: () =>
      agentOf(
        steps(
          {},
          {
            text: "Then, at length. ".repeat(20),
            calls: [call("data")],
            usage: { inputTokens: 700, outputTokens: 90 },
          },
          { text: "Done.", warnings: ["topK: not supported"] },
        ),
        {
          models: {
            fast: createScriptedModel([{ text: "First, at length. ".repeat(20), calls: [call("look")] }], {
              id: "fast",
            }),
          },
          settings: { temperature: 0, topK: 4 },
          hooks: [{ name: "choose", beforeLLMCall: chooseForCall }],
          compaction: {
            contextWindow: 1_000,
            model: createScriptedModel([{ text: "It was looked at." }], { id: "short" }),
          },
        },
      ),
    play: async ({ ask }) => ask("Do it.", "r"),
  },
  {
    name: "hooks",
    about: "hooks that had a part in what happened, and one that comes after the run",
    parts: () =>
      agentOf(steps({ calls: [call("look")] }, { text: "Done." }), {
        hooks: [{ name: "watch", beforeStep: () => undefined, afterRun() {} }],
      }),
    play: async ({ ask }) => ask("Do it.", "r"),
  },
  {
    name: "handoffs",
    about:
      "a run that was handed over to another agent, with what it had overridden; and one that began with that agent",
    parts(bench) {
      const expert = bench.start(
        agentOf(steps({ text: "Straight away." }, { calls: [call("data")] }, { text: "The expert is done." }), {
          name: "expert",
          hooks: [{ name: "watch", afterRun() {} }],
        }),
      ).agent;
      const transfer = { name: "transfer_to_expert", input: { message: "This one is hard." } };
      return agentOf(steps({ calls: [transfer, call("guarded"), transfer] }), {
        handoffs: [{ name: "expert", description: "Knows more.", agent: () => expert }],
        hooks: [{ name: "watch", afterStep() {} }],
        systemPrompt: "Ask the expert.",
      });
    },
    async play({ bench, session, ask }) {
      await session.send("Do it.", { runId: "r", systemPrompt: "Ask quickly.", interactive: true });
      await bench.settle();
      await session.answer("r/1/2", approve);
      await bench.settle();
      await session.send("More.", { runId: "next", agent: "expert", limits: { maxHandoffs: 2 } });
      await bench.settle();
      await ask("And more.", "last");
    },
  },
  {
    name: "data",
    about: "the session's data: changed by tools, at a step and a question, from outside, and kept by a compaction",
    parts: () =>
      agentOf(
        steps(
          { calls: [call("plan"), call("look")] },
          { calls: [call("plan", { n: 2 })], usage: { inputTokens: 900, outputTokens: 5 } },
          { calls: [call("order")] },
          { text: "Done." },
        ),
        {
          tools: [...tools, plan, settle],
          compaction: {
            contextWindow: 1_000,
            model: createScriptedModel([{ text: "It was looked at." }, { text: "It was looked at again." }], {
              id: "short",
            }),
          },
        },
      ),
    async play({ bench, session, ask }) {
      await ask("Do it.", "r");
      await session.setData({ set: { account: "main", note: "x" } }, { by: "Ada" });
      await session.setData({ unset: ["note"] });
      await bench.settle();
    },
  },
  {
    name: "fork",
    about: "a fork of a session from the middle of a run, which went its own way",
    parts: () => agentOf(steps({ calls: [call("look"), call("guarded")] }, { text: "Done." })),
    async play({ bench, agent, session, ask }) {
      await ask("Do it if you may.", "r");
      const fork = await session.fork({ sessionId: "fork" });
      await session.answer("r/1/2", approve);
      void agent.session(fork.id).send("Something else.", { runId: "other" });
      await bench.settle();
    },
  },
  {
    name: "seeded",
    about: "a conversation from elsewhere, with a file in a blob; a run that a stop condition ended, and one under way",
    parts: () =>
      agentOf(steps({ text: "Looking.", calls: [call("look")] }, { text: "Looking again.", calls: [call("slow")] })),
    async play({ bench, agent, ask }) {
      const text = Buffer.from("A pawl. ".repeat(9_000)).toString("base64");
      const file = { type: "file", mediaType: "text/plain", data: text } as const;
      const history = [
        { role: "user", parts: [{ type: "text", text: "What is this?" }, file] },
        { role: "assistant", parts: [{ type: "tool_call", toolCallId: "c1", name: "look", input: { n: 1 } }] },
        {
          role: "tool",
          parts: [{ type: "tool_result", toolCallId: "c1", name: "look", output: { type: "text", text: "a pawl" } }],
        },
        { role: "assistant", parts: [{ type: "text", text: "A pawl." }] },
      ] as const;
      const stopWhen = [
        stepCount(1),
        toolCalled("alone"),
        textMatches(/never/i),
        function isNeverMet() {
          return false;
        },
      ];
      agent.run("And that?", { sessionId: "s", runId: "r", history, stopWhen }).catch(() => {});
      await bench.settle();
      await ask("Look again.", "r2");
    },
  },
  ...authorScenarios,
  ...providerScenarios,
];
