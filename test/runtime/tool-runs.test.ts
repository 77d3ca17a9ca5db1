/**
 * Tool calls in a run: what a tool is given, how it may fail, in what order results are shown.
 */
import { tool as aiTool } from "ai";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  type AgentOptions,
  type AnyTool,
  createAgent,
  defineTool,
  type Message,
  type StreamItem,
  type ToolContext,
  type ToolResultPart,
} from "../../src/index.js";
import { createScriptedModel, type ScriptedCall } from "../../src/testing/scripted-model.js";
import { createTestClock, settled } from "../../src/testing/test-clock.js";
import {
  collect,
  createDeferred,
  createEchoTool,
  createGateTool,
  filterEventsOfType,
  isEvent,
} from "../support/agents.js";
import { actTool, createFatedCall, type Fate, fatedPermission } from "../support/fates.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const anyInput = { type: "object" } as const;
const code = (code: string) => expect.objectContaining({ name: "PawlError", code });

/** The results that the model is shown, in order. */
function resultsIn(messages: readonly Message[] = []): readonly ToolResultPart[] {
  return messages.flatMap((message) => (message.role === "tool" ? message.parts : []));
}

/** Runs one step of calls and an answer; gives what the model is shown then. */
async function shownAfter(calls: readonly ScriptedCall[], options: Partial<AgentOptions>) {
  const model = createScriptedModel([{ calls }, { text: "Done." }]);
  const agent = createAgent({ model, ...options });
  const result = await agent.run("Go", { sessionId: "s", runId: "r" });
  return { result, shown: resultsIn(model.requests[1]?.messages), agent };
}

describe("a tool", () => {
  test("is given its input and where it runs", verifies("TOOL-1#context"), async () => {
    const seen: { readonly input: unknown; readonly context: ToolContext }[] = [];
    const deps = { database: "here" };
    const look = defineTool({
      name: "look",
      description: "Looks.",
      input: z.object({ path: z.string(), depth: z.number().default(2) }),
      execute(input, context) {
        seen.push({ input, context });
        context.progress("half way");
        return "seen";
      },
    });
    const model = createScriptedModel([
      { calls: [{ name: "look", input: { path: "a" }, id: "given" }] },
      { text: "Done." },
    ]);
    const agent = createAgent({ model, tools: [look], deps });
    const items = await collect(agent.runStream("Go", { sessionId: "s", runId: "r" }));
    expect(seen).toHaveLength(1);
    const [{ input, context } = { input: null, context: null }] = seen;
    expect(input).toEqual({ path: "a", depth: 2 });
    expect(context).toMatchObject({
      toolCallId: "given",
      callKey: "r/1/1",
      idempotencyKey: "s/r/1/1",
      attempt: 1,
      sessionId: "s",
      runId: "r",
    });
    expect(context?.deps).toBe(deps);
    expect(context?.signal.aborted).toBe(false);
    expect(items).toContainEqual({ type: "progress", callKey: "r/1/1", note: "half way" });
  });

  test("may change its input as it likes: the log keeps what the model wrote", async () => {
    const greedy = defineTool({
      name: "greedy",
      description: "Takes all.",
      input: anyInput,
      execute(input) {
        Object.assign(input, { taken: true });
        return "taken";
      },
    });
    const { agent, shown } = await shownAfter([{ name: "greedy", input: { a: 1 } }], { tools: [greedy] });
    expect(shown).toHaveLength(1);
    const [, asked] = await agent.session("s").messages();
    expect(asked?.parts).toMatchObject([{ type: "tool_call", input: { a: 1 } }]);
    expect(JSON.stringify(asked)).not.toContain("taken");
  });

  test("that is not there gives an error, and the loop goes on", verifies("TOOL-2#loop"), async () => {
    const { result, shown } = await shownAfter([{ name: "nope" }], {});
    expect(shown).toMatchObject([
      { isError: true, output: { type: "text", text: "Error: Unknown tool 'nope'. There are no tools in this run." } },
    ]);
    expect(result).toMatchObject({ status: "completed", text: "Done." });
  });

  test("of the AI SDK runs unchanged in a run", verifies("TOOL-1#ai-sdk"), async () => {
    const add = aiTool({
      description: "Adds.",
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      execute: async ({ a, b }) => ({ sum: a + b }),
    });
    const { shown } = await shownAfter([{ name: "add", input: { a: 1, b: 2 } }], { tools: { add } });
    expect(shown).toMatchObject([{ output: { type: "json", value: { sum: 3 } } }]);
  });

  test("without execute waits for its result", verifies("TOOL-1#external"), async () => {
    const ask = defineTool({ name: "ask", description: "Asks elsewhere.", input: anyInput });
    const pick = aiTool({ description: "Picks.", inputSchema: z.object({}) });
    for (const [tools, name] of [
      [[ask], "ask"],
      [{ pick }, "pick"],
    ] as const) {
      const model = createScriptedModel([{ calls: [{ name }, { name, input: { n: 2 } }] }, { text: "Heard." }]);
      const agent = createAgent({ model, tools });
      const waiting = await agent.run("Go", { sessionId: "s", runId: "r" });
      expect(waiting).toMatchObject({
        status: "awaiting_human",
        approvals: [
          { callKey: "r/1/1", why: "external" },
          { callKey: "r/1/2", why: "external", input: { n: 2 } },
        ],
      });
      const session = agent.session("s");
      expect(await session.provideResult("r/1/2", { second: true })).toBe("first");
      expect(await session.provideResult("r/1/2", "again")).toBe("second");
      expect((await session.pendingApprovals()).map((one) => one.callKey)).toEqual(["r/1/1"]);
      const result = agent.run("Go", { sessionId: "s", runId: "r" });
      await session.provideResult("r/1/1", "no such thing", { isError: true });
      // The one who asked again while the call was waited for was told so.
      expect(["awaiting_human", "completed"]).toContain((await result).status);
      expect(await agent.run("Go", { sessionId: "s", runId: "r" })).toMatchObject({
        status: "completed",
        text: "Heard.",
      });
      expect(resultsIn(model.requests[1]?.messages)).toMatchObject([
        { isError: true, output: { text: "no such thing" } },
        { output: { value: { second: true } } },
      ]);
      await expect(session.provideResult("other/9/9", "never")).rejects.toThrow(code("no_such_call"));
      expect(await session.provideResult("r/1/1", "late")).toBe("second");
    }
  });
});

describe("arguments that are not JSON", () => {
  const raw = '{"path": "unfinished';

  test("reach only a tool that takes them as they are", verifies("TOOL-3#raw"), async () => {
    const texts: string[] = [];
    const inputs: unknown[] = [];
    const patch = defineTool({
      name: "patch",
      description: "Takes text.",
      input: anyInput,
      executeRaw: (text) => {
        texts.push(text);
        return "patched";
      },
      execute: (input) => {
        inputs.push(input);
        return "parsed";
      },
    });
    const { tool: echo, inputs: echoed } = createEchoTool();
    const { shown, agent } = await shownAfter(
      [
        { name: "patch", raw },
        { name: "patch", input: { ok: 1 } },
        { name: "echo", raw },
      ],
      { tools: [patch, echo] },
    );
    expect(texts).toEqual([raw]);
    expect(inputs).toEqual([{ ok: 1 }]);
    expect(echoed).toEqual([]);
    expect(shown.map((part) => part.output)).toMatchObject([
      { text: "patched" },
      { text: "parsed" },
      { text: expect.stringMatching(/^Error: The arguments are not valid JSON: .* position \d+/) },
    ]);
    const calls = filterEventsOfType(await collect(agent.session("s").events({ follow: false })), "tool_call");
    expect(calls.map((call) => call.input)).toEqual([{ _raw: raw }, { ok: 1 }, { _raw: raw }]);
  });

  test("go to a tool that takes nothing else as text", verifies("TOOL-3#raw"), async () => {
    const texts: string[] = [];
    const script: AnyTool = {
      name: "script",
      description: "Takes text.",
      input: anyInput,
      executeRaw: (text) => texts.push(text),
    };
    await shownAfter(
      [
        { name: "script", raw: "print(1)" },
        { name: "script", input: { a: 1 } },
      ],
      { tools: [script] },
    );
    expect(texts).toEqual(["print(1)", '{"a":1}']);
  });
});

describe("a tool that fails", () => {
  test("gives an error; its siblings are kept", verifies("TOOL-4#thrown"), async () => {
    const { tool: echo } = createEchoTool();
    const broken = defineTool({
      name: "broken",
      description: "Fails.",
      input: anyInput,
      execute: async () => {
        throw new RangeError("out of paper");
      },
    });
    const { shown, result } = await shownAfter([{ name: "echo" }, { name: "broken" }, { name: "echo" }], {
      tools: [echo, broken],
    });
    expect(shown.map((part) => [part.isError ?? false, part.output])).toEqual([
      [false, { type: "text", text: "echo {}" }],
      [true, { type: "text", text: "Error: out of paper" }],
      [false, { type: "text", text: "echo {}" }],
    ]);
    expect(result).toMatchObject({ status: "completed" });
  });

  test("tells what caused it, as far as the message does not say so", verifies("TOOL-4#thrown"), async () => {
    const refused = new AggregateError([new Error("connect ECONNREFUSED 127.0.0.1:1")]);
    const loop = new Error("round");
    loop.cause = new Error("and round", { cause: loop });
    const thrown = [
      [new TypeError("fetch failed", { cause: refused }), "fetch failed: connect ECONNREFUSED 127.0.0.1:1"],
      [new Error("Not sent: no route", { cause: new Error("no route") }), "Not sent: no route"],
      [new Error("outer", { cause: "a text" }), "outer"],
      [loop, "round: and round: round: and round"],
    ] as const;
    const tools = thrown.map(([error], index) =>
      defineTool({
        name: `broken_${index}`,
        description: "Fails.",
        input: anyInput,
        execute: async () => {
          throw error;
        },
      }),
    );
    const { shown } = await shownAfter(
      tools.map(({ name }) => ({ name })),
      { tools },
    );
    expect(shown.map(({ output }) => output)).toEqual(
      thrown.map(([, text]) => ({ type: "text", text: `Error: ${text}` })),
    );
  });

  test("to end in its time is left behind, told so by its signal", verifies("TOOL-4#timeout"), async () => {
    const clock = createTestClock();
    const slow = createGateTool("slow", { heedsSignal: false });
    const slowest = createGateTool("slowest", { heedsSignal: false });
    const model = createScriptedModel([{ calls: [{ name: "slow" }, { name: "slowest" }] }, { text: "Done." }]);
    const tools = [{ ...slow.tool, timeoutMs: 1_000 }, slowest.tool];
    const result = createAgent({ model, tools, clock }).run("Go");
    const [inSlow, inSlowest] = await Promise.all([slow.started, slowest.started]);
    await clock.advance(999);
    expect(inSlow.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(inSlow.signal.aborted).toBe(true);
    expect(inSlowest.signal.aborted).toBe(false);
    // Ten minutes unless a tool says otherwise.
    await clock.advance(598_999);
    expect(inSlowest.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(inSlowest.signal.aborted).toBe(true);
    expect(await result).toMatchObject({ status: "completed", text: "Done." });
    expect(resultsIn(model.requests[1]?.messages).map((part) => part.output)).toMatchObject([
      { text: expect.stringContaining("Error: Timed out after 1000 ms") },
      { text: expect.stringContaining("Error: Timed out after 600000 ms") },
    ]);
  });

  test("a signal that is looked at only after the time was up says so too", verifies("TOOL-4#timeout"), async () => {
    const clock = createTestClock();
    const looked = createDeferred<boolean>();
    const timeIsUp = createDeferred();
    const lazy = defineTool({
      name: "lazy",
      description: "Looks late.",
      input: anyInput,
      timeoutMs: 1_000,
      async execute(_, context) {
        await timeIsUp.promise;
        looked.resolve(context.signal.aborted);
      },
    });
    const model = createScriptedModel([{ calls: [{ name: "lazy" }] }, { text: "Done." }]);
    const result = createAgent({ model, tools: [lazy], clock }).run("Go");
    await clock.advance(1_000);
    await result;
    timeIsUp.resolve();
    expect(await looked.promise).toBe(true);
  });
});

describe("every call has one result", () => {
  const fates: readonly Fate[] = [
    "ok",
    "throw",
    "missing",
    "bad arguments",
    "deny",
    "policy throws",
    "done",
    "policy says nothing",
  ];

  test(
    "whatever becomes of it, in call order, under ids of its own",
    verifies("TOOL-5", "TOOL-7", "STRM-4"),
    async () => {
      const plan = fc.record({
        steps: fc.array(
          fc.array(fc.record({ fate: fc.constantFrom(...fates), id: fc.constantFrom("", "a", "b", "c") }), {
            minLength: 1,
            maxLength: 5,
          }),
          { minLength: 1, maxLength: 3 },
        ),
        toolConcurrency: fc.integer({ min: 1, max: 3 }),
        abortAt: fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined }),
      });
      await fc.assert(
        fc.asyncProperty(plan, async ({ steps, toolConcurrency, abortAt }) => {
          const model = createScriptedModel([
            ...steps.map((calls, step) => ({
              text: "On.",
              calls: calls.map((call, position) => createFatedCall(call, { step, position })),
            })),
            { text: "Done." },
          ]);
          const agent = createAgent({
            model,
            tools: [actTool],
            limits: { toolConcurrency },
            canExecuteTool: fatedPermission,
          });
          const controller = new AbortController();
          const stream = agent.runStream("Go", { sessionId: "s", signal: controller.signal });
          const items: StreamItem[] = [];
          for await (const item of stream) {
            if (isEvent(item) && items.push(item) === abortAt) controller.abort();
          }
          const result = await stream.result;
          expect(["completed", "aborted"]).toContain(result.status);
          const keys = (type: "call_start" | "tool_call" | "tool_result" | "call_complete") =>
            filterEventsOfType(items, type)
              .map((event) => event.callKey)
              .sort();
          expect(keys("tool_call")).toEqual(keys("call_start"));
          expect(keys("tool_result")).toEqual(keys("call_start"));
          expect(keys("call_complete")).toEqual(keys("call_start"));
          for (const sent of [
            ...model.requests.map((request) => request.messages),
            await agent.session("s").messages(),
          ]) {
            const ids = sent.flatMap((message) =>
              message.parts.flatMap((part) => (part.type === "tool_call" ? [part.toolCallId] : [])),
            );
            expect(new Set(ids).size).toBe(ids.length);
            expect(ids).not.toContain("");
            expect(resultsIn(sent).map((part) => part.toolCallId)).toEqual(ids);
          }
        }),
        { numRuns: 150 },
      );
    },
  );

  test("a result that is recorded is never executed again", verifies("TOOL-6"), async () => {
    for (const { open } of localStores)
      await withStore(open, async (store) => {
        const echo = createEchoTool();
        const stuck = createGateTool("stuck", { heedsSignal: false });
        const calls = [{ name: "echo" }, { name: "stuck" }];
        const dying = createAgent({
          model: createScriptedModel([{ calls }]),
          tools: [echo.tool, stuck.tool],
          store,
          clock: createTestClock(0),
        });
        void dying.run("Go", { sessionId: "s" });
        await stuck.started;
        await settled();
        const again = createEchoTool();
        const stuckAgain = createGateTool("stuck");
        const model = createScriptedModel([{ text: "Done." }]);
        const tools = [again.tool, stuckAgain.tool];
        const next = createAgent({ model, tools, store, clock: createTestClock(60_000) });
        expect(await next.session("s").resume()).toMatchObject({ status: "completed" });
        expect(echo.inputs).toHaveLength(1);
        expect(again.inputs).toHaveLength(0);
        expect(stuckAgain.runs()).toBe(0);
        expect(resultsIn(model.requests[0]?.messages).map((part) => part.output)).toMatchObject([
          { text: "echo {}" },
          { text: expect.stringContaining("Interrupted") },
        ]);
      });
  });
});

describe("calls side by side", () => {
  const many = (count: number, name: string) => Array.from({ length: count }, (_, n) => ({ name, input: { n } }));

  /** A tool that notes when each call starts and ends, and how many run at once. */
  function noting(options: Partial<AnyTool> & { readonly name: string }) {
    const log: string[] = [];
    let running = 0;
    let most = 0;
    const tool: AnyTool = {
      description: "Notes.",
      input: anyInput,
      async execute(input: { readonly n: number }) {
        running += 1;
        most = Math.max(most, running);
        log.push(`${options.name} ${input.n} begins`);
        // Later calls are faster.
        for (let turn = 0; turn < 10 - input.n; turn += 1) await settled();
        log.push(`${options.name} ${input.n} ends`);
        running -= 1;
        return input.n;
      },
      ...options,
    };
    return { tool, log, most: () => most };
  }

  test(
    "are at most toolConcurrency, 8 unless said, and results are shown in call order",
    verifies("TOOL-7"),
    async () => {
      for (const [limits, expected] of [
        [{}, 8],
        [{ toolConcurrency: 3 }, 3],
      ] as const) {
        const { tool, most } = noting({ name: "note" });
        const { shown } = await shownAfter(many(10, "note"), { tools: [tool], limits });
        expect(most()).toBe(expected);
        expect(shown.map((part) => part.output)).toEqual(
          many(10, "note").map(({ input }) => ({ type: "json", value: input.n })),
        );
      }
    },
  );

  test("are in order where there is one slot", verifies("TOOL-7"), async () => {
    const { tool, log } = noting({ name: "note" });
    await shownAfter(many(3, "note"), { tools: [tool], limits: { toolConcurrency: 1 } });
    expect(log).toEqual(many(3, "note").flatMap(({ input }) => [`note ${input.n} begins`, `note ${input.n} ends`]));
  });

  test("leave a sequential one alone", verifies("TOOL-7"), async () => {
    const log: string[] = [];
    const named = (name: string, options: Partial<AnyTool> = {}) => {
      const { tool, log: own } = noting({ name, ...options });
      own.push = (...entries) => log.push(...entries);
      return tool;
    };
    const tools = [named("free"), named("alone", { sequential: true })];
    const calls = [
      { name: "free", input: { n: 0 } },
      { name: "free", input: { n: 1 } },
      { name: "alone", input: { n: 2 } },
      { name: "free", input: { n: 3 } },
      { name: "alone", input: { n: 4 } },
    ];
    await shownAfter(calls, { tools });
    expect(log).toEqual([
      "free 0 begins",
      "free 1 begins",
      "free 1 ends",
      "free 0 ends",
      "alone 2 begins",
      "alone 2 ends",
      "free 3 begins",
      "free 3 ends",
      "alone 4 begins",
      "alone 4 ends",
    ]);
  });
});
