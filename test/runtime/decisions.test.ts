/**
 * Who may run what, and who said so: policies, answers and their hashes, restarts, expiry, answers by later code.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  type AgentOptions,
  type AnyTool,
  type ApprovalDecision,
  createAgent,
  createClient,
  createMemoryStore,
  defineTool,
  type Permission,
  type Store,
} from "../../src/index.js";
import { createScriptedModel, type ScriptedCall } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import {
  collect,
  createDeferred,
  createEchoTool,
  createGateTool,
  filterEventsOfType,
  listEventTypes,
} from "../support/agents.js";
import { createWatchedClock } from "../support/clock.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const code = (code: string) => expect.objectContaining({ name: "PawlError", code });
const call = (n: number): ScriptedCall => ({ name: "echo", input: { n } });
const ids = { sessionId: "s", runId: "r" } as const;
const day = 24 * 60 * 60 * 1_000;

/** An agent that asks for these calls and then is done; and what ran. */
function asker(calls: readonly ScriptedCall[], options: Partial<AgentOptions> = {}) {
  const echo = createEchoTool();
  const model = createScriptedModel([{ calls }, { text: "Done." }]);
  const agent = createAgent({ model, tools: [echo.tool], canExecuteTool: () => "ask", ...options });
  return { agent, session: agent.session("s"), echo, model };
}

async function eventsIn(agent: ReturnType<typeof createAgent>) {
  return await collect(agent.session("s").events({ follow: false }));
}

describe("permission", () => {
  test("is a function of the call and of where it is asked for", verifies("HITL-1", "SEC-5#library"), async () => {
    const seen: unknown[] = [];
    const { agent, echo } = asker([call(1), call(20)], {
      deps: { most: 10 },
      canExecuteTool({ input, tool }, { sessionId, runId, deps, signal }) {
        seen.push({ tool: tool.name, sessionId, runId, aborted: signal.aborted });
        const { n } = input as { readonly n: number };
        return n > (deps as { readonly most: number }).most ? { verdict: "deny", reason: "too much" } : "allow";
      },
    });
    expect(await agent.run("Go", ids)).toMatchObject({ status: "completed" });
    expect(echo.inputs).toEqual([{ n: 1 }]);
    const where = { tool: "echo", sessionId: "s", runId: "r", aborted: false };
    expect(seen).toEqual([where, where]);
    const results = filterEventsOfType(await eventsIn(agent), "tool_result");
    expect(results.map(({ outcome, output }) => [outcome, output])).toEqual([
      ["denied", { type: "text", text: "Error: Denied: too much. The call was not run." }],
      ["ok", { type: "text", text: 'echo {"n":1}' }],
    ]);
  });

  test("that is denied may stop the run: what runs is signalled, nothing else starts", verifies("HITL-1"), async () => {
    const gate = createGateTool();
    const held = createDeferred<Permission>();
    const { agent, echo } = asker([{ name: "gate" }, call(1), call(2)], {
      tools: [gate.tool, createEchoTool().tool],
      canExecuteTool: ({ tool, callKey }) =>
        tool.name === "gate" ? "allow" : callKey === "r/1/2" ? held.promise : "ask",
    });
    const result = agent.run("Go", ids);
    const { signal } = await gate.started;
    held.resolve({ verdict: "deny", reason: "stop it all", stopRun: true });
    expect(await result).toMatchObject({ status: "aborted", reason: "denied_stop" });
    expect(signal.aborted).toBe(true);
    expect(echo.inputs).toEqual([]);
    const results = filterEventsOfType(await eventsIn(agent), "tool_result");
    expect(new Map(results.map(({ callKey, outcome }) => [callKey, outcome]))).toEqual(
      new Map([
        ["r/1/1", "error"],
        ["r/1/2", "denied"],
        ["r/1/3", "aborted"],
      ]),
    );
  });

  test("is needed for the inputs that the tool says", verifies("HITL-1"), async () => {
    const tool = { ...createEchoTool().tool, needsApproval: ({ n }: { n: number }) => n > 10 } as AnyTool;
    const { agent } = asker([call(1), call(20)], { tools: [tool], canExecuteTool: () => "allow" });
    const result = await agent.run("Go", ids);
    expect(result.status === "awaiting_human" && result.approvals.map(({ input }) => input)).toEqual([{ n: 20 }]);
  });

  test("is not asked for what is not there: an unknown tool is an error", verifies("SEC-5#library"), async () => {
    let asked = 0;
    const { agent, model } = asker([{ name: "rm" }], {
      canExecuteTool: () => {
        asked += 1;
        return "allow";
      },
    });
    expect(await agent.run("Go", ids)).toMatchObject({ status: "completed" });
    expect(asked).toBe(0);
    expect(JSON.stringify(model.requests[1]?.messages)).toContain("Unknown tool 'rm'");
  });

  test("of a run in which nobody can be asked: denied, with the reason", verifies("HITL-6"), async () => {
    const tool = { ...createEchoTool().tool, needsApproval: true };
    for (const options of [{ canExecuteTool: () => "ask" }, { tools: [tool], canExecuteTool: undefined }] as const) {
      const { agent, echo, model } = asker([call(1)], options as Partial<AgentOptions>);
      expect(await agent.run("Go", { ...ids, interactive: false })).toMatchObject({ status: "completed" });
      expect(echo.inputs).toEqual([]);
      expect(JSON.stringify(model.requests[1]?.messages)).toContain("it needs an approval, and nobody can be asked");
    }
  });

  test("to run again is not asked for either, where nobody can be asked", verifies("HITL-6"), async () => {
    const store = createMemoryStore();
    const started = createDeferred();
    let running = 0;
    const unsure = (recover: NonNullable<AnyTool["recover"]>) =>
      defineTool({
        name: "unsure",
        description: "?",
        input: { type: "object" },
        recover,
        execute() {
          running += 1;
          if (running === 2) started.resolve();
          return new Promise(() => {});
        },
      });
    const tools = [unsure("ask"), { ...unsure({ reconcile: async () => ({ status: "unknown" }) }), name: "traced" }];
    const script = [{ calls: [{ name: "unsure" }, { name: "traced" }] }];
    const first = createAgent({ model: createScriptedModel(script), tools, store });
    void first.run("Go", { ...ids, interactive: false });
    await started.promise;
    await first.shutdown({ graceMs: 0 });
    const model = createScriptedModel([{ text: "Then not." }]);
    const second = createAgent({ model, tools, store });
    expect(await second.session("s").resume()).toMatchObject({ status: "completed", text: "Then not." });
    const results = filterEventsOfType(await eventsIn(second), "tool_result");
    expect(results.map(({ outcome }) => outcome)).toEqual(["interrupted", "interrupted"]);
  });
});

describe.each(localStores)("an answer, on $name", ({ open }) => {
  test(
    "waits for no process: the stream is suspended, and any agent of the name goes on",
    verifies("HITL-2", "HITL-5"),
    async () => {
      await withStore(open, async (store) => {
        const clock = createWatchedClock();
        const { agent, echo } = asker([call(1), { name: "free" }], {
          store,
          clock,
          tools: [createEchoTool().tool, createEchoTool("free").tool],
          canExecuteTool: ({ tool }) => (tool.name === "free" ? "allow" : { verdict: "ask", expiresInMs: 40 * day }),
        });
        const stream = agent.runStream("Go", ids);
        const items = await collect(stream);
        expect(listEventTypes(items).at(-1)).toBe("suspended");
        expect(await stream.result).toMatchObject({ status: "awaiting_human", approvals: [{ callKey: "r/1/1" }] });
        await clock.advance(0);
        expect(clock.pending()).toBe(0);
        expect((await store.list())[0]?.holder).toBeNull();

        await clock.advance(30 * day);
        const other = asker([], {
          store,
          clock,
          model: createScriptedModel([{ text: "Later." }]),
          canExecuteTool: () => "ask",
        });
        const [open] = await other.session.pendingApprovals();
        expect(open).toMatchObject({ callKey: "r/1/1", input: { n: 1 }, askedAt: clock.now() - 30 * day });
        expect(
          await other.session.answer("r/1/1", { type: "approve" }, { by: "Ada", inputHash: open?.inputHash ?? "" }),
        ).toBe("first");
        expect(await other.agent.run("Go", ids)).toMatchObject({ status: "completed", text: "Later." });
        expect(other.echo.inputs).toEqual([{ n: 1 }]);
        expect(echo.inputs).toEqual([]);
      });
    },
  );

  test("is not asked for again for a call that was decided before the process ended", verifies("HITL-5"), async () => {
    await withStore(open, async (store) => {
      const never = new Promise<Permission>(() => {});
      const asked: string[] = [];
      const first = asker([call(1), call(2), call(3)], {
        store,
        limits: { toolConcurrency: 1 },
        canExecuteTool: ({ callKey }) => {
          asked.push(callKey);
          return callKey === "r/1/1"
            ? Promise.resolve<Permission>("ask")
            : callKey === "r/1/2"
              ? Promise.resolve<Permission>("allow")
              : never;
        },
      });
      void first.agent.run("Go", ids);
      const decided = async () => JSON.stringify((await store.load("s"))?.state);
      await expect.poll(decided).toContain('"outcome":"ok"');
      await expect.poll(decided).toContain('"asking"');
      await first.agent.shutdown({ graceMs: 0 });
      const again: string[] = [];
      const second = asker([], {
        store,
        limits: { toolConcurrency: 1 },
        canExecuteTool: ({ callKey }) => {
          again.push(callKey);
          return "allow";
        },
      });
      const result = await second.session.resume();
      expect(result).toMatchObject({ status: "awaiting_human", approvals: [{ callKey: "r/1/1" }] });
      expect([asked.sort(), again]).toEqual([["r/1/1", "r/1/2", "r/1/3"], ["r/1/3"]]);
      expect([first.echo.inputs, second.echo.inputs]).toEqual([[{ n: 2 }], [{ n: 3 }]]);
    });
  });

  test(
    "that edits is validated and seen by what denies; both inputs are kept, with who said so, and shown",
    verifies("HITL-3#answers", "SEC-6#bound"),
    async () => {
      await withStore(open, async (store) => {
        const tool = defineTool({
          name: "echo",
          description: "Counts.",
          input: z.strictObject({ n: z.number().refine((n) => n !== 13, "not thirteen") }),
          execute: ({ n }) => `counted ${String(n)}`,
        });
        const seen: unknown[] = [];
        const { agent, session, model } = asker([call(1), call(2), call(3)], {
          store,
          tools: [tool],
          canExecuteTool: ({ input }) => {
            seen.push(input);
            return (input as { readonly n: number }).n > 100 ? { verdict: "deny", reason: "over 100" } : "ask";
          },
        });
        const first = await agent.run("Go", ids);
        const shown = first.status === "awaiting_human" ? first.approvals : [];
        expect(await session.answer("r/1/1", { type: "modify", input: { n: 10 } }, { by: "Ada" })).toBe("first");
        expect(await session.answer("r/1/2", { type: "modify", input: { n: 200 } }, { by: "Bob" })).toBe("first");
        await expect(session.answer("r/1/3", { type: "modify", input: { m: 3 } })).rejects.toThrow(code("bad_input"));
        expect(await session.answer("r/1/3", { type: "modify", input: { n: 13 } })).toBe("first");
        const again = await session.resume();
        expect(again).toMatchObject({
          status: "awaiting_human",
          approvals: [{ callKey: "r/1/3", input: { n: 3 }, question: expect.stringContaining("cannot be used") }],
        });
        // What was shown before is what is asked again.
        const inputHash = shown[2]?.inputHash ?? "";
        expect(await session.answer("r/1/3", { type: "deny", note: "never mind" }, { inputHash })).toBe("first");
        expect(await agent.run("Go", ids)).toMatchObject({ status: "completed" });

        expect(seen).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }, { n: 10 }, { n: 200 }]);
        const events = await eventsIn(agent);
        expect(filterEventsOfType(events, "tool_call").map(({ input }) => input)).toEqual([
          { n: 1 },
          { n: 2 },
          { n: 3 },
        ]);
        expect(
          filterEventsOfType(events, "approval_answered").map(({ callKey, answer, input, by }) => [
            callKey,
            answer,
            input,
            by,
          ]),
        ).toEqual([
          ["r/1/1", "modify", { n: 10 }, "Ada"],
          ["r/1/2", "modify", { n: 200 }, "Bob"],
          ["r/1/3", "modify", { n: 13 }, undefined],
          ["r/1/3", "deny", undefined, undefined],
        ]);
        const sent = model.requests[1]?.messages ?? [];
        expect(JSON.stringify(sent.at(-2))).toContain('"input":{"n":1}');
        const told = sent.at(-1);
        expect(told?.role === "tool" && told.parts.map(({ output }) => output)).toEqual([
          { type: "text", text: '(A person changed the input to {"n":10}.)\ncounted 10' },
          {
            type: "text",
            text: '(A person changed the input to {"n":200}.)\nError: Denied: over 100. The call was not run.',
          },
          {
            type: "text",
            text: "Error: Denied: never mind. The call was not run.",
          },
        ]);
      });
    },
  );

  test(
    "counts once, and who comes second is told so, also when the run has gone on or ended",
    verifies("HITL-4"),
    async () => {
      await withStore(open, async (store) => {
        const model = createScriptedModel([
          { calls: [call(1)] },
          { calls: [call(2)] },
          { text: "Done." },
          { text: "Next." },
        ]);
        const { agent, session, echo } = asker([], { store, model });
        await agent.run("Go", ids);
        const client = createClient({ store }).session("s");
        const answers = await Promise.all([
          session.answer("r/1/1", { type: "approve" }),
          client.answer("r/1/1", { type: "deny" }),
        ]);
        expect([...answers].sort()).toEqual(["first", "second"]);
        const next = await agent.run("Go", ids);
        expect(next).toMatchObject({ status: "awaiting_human", approvals: [{ callKey: "r/2/1" }] });
        expect(echo.inputs).toHaveLength(answers[0] === "first" ? 1 : 0);
        expect(await session.answer("r/1/1", { type: "approve" })).toBe("second");
        expect(await session.answer("r/2/1", { type: "approve" })).toBe("first");
        expect(await agent.run("Go", ids)).toMatchObject({ status: "completed" });
        await agent.run("On", { sessionId: "s", runId: "r2" });
        for (const one of [session, client]) {
          expect(await one.answer("r/2/1", { type: "deny" })).toBe("second");
          await expect(one.answer("r/7/1", { type: "approve" })).rejects.toThrow(code("no_such_call"));
        }
      });
    },
  );

  test("comes too late once the time is over, whether anybody was there or not", verifies("HITL-4"), async () => {
    await withStore(open, async (store) => {
      const clock = createTestClock();
      const ask = (): Permission => ({ verdict: "ask", expiresInMs: 60_000 });
      const { agent, session, echo } = asker([call(1), call(2)], { store, clock, canExecuteTool: ask });
      await agent.run("Go", ids);
      await clock.advance(59_999);
      expect(await createClient({ store, clock }).session("s").answer("r/1/1", { type: "approve" })).toBe("first");
      await clock.advance(1);
      expect(await session.answer("r/1/2", { type: "approve" })).toBe("second");
      // Posted by a program that does not look at the time.
      const body = { type: "answer", callKey: "r/1/2", answer: { type: "approve" } } as const;
      await store.post("s", { id: "late", at: clock.now(), body });
      const resumed = session.resume();
      let isOver = false;
      void resumed.finally(() => {
        isOver = true;
      });
      while (!isOver) await clock.advance(1);
      expect(await resumed).toMatchObject({ status: "completed" });
      // Said in time, it counts, though nobody took it before the time was over.
      expect(echo.inputs).toEqual([{ n: 1 }]);
    });
  });

  test("that edits what expires gives it no more time", async () => {
    await withStore(open, async (store) => {
      const clock = createTestClock();
      const strict = { ...createEchoTool().tool, input: z.object({ n: z.number().refine((n) => n !== 13) }) };
      const canExecuteTool = (): Permission => ({ verdict: "ask", expiresInMs: 60_000 });
      const { agent, session } = asker([call(1)], { store, clock, tools: [strict], canExecuteTool });
      const first = await agent.run("Go", ids);
      const expiresAt = first.status === "awaiting_human" ? first.approvals[0]?.expiresAt : undefined;
      await clock.advance(30_000);
      await session.answer("r/1/1", { type: "modify", input: { n: 13 } });
      expect(await session.resume()).toMatchObject({ approvals: [{ askedAt: clock.now(), expiresAt }] });
    });
  });

  test("is taken by later code: another schema, another tool, none at all", verifies("HITL-2"), async () => {
    const answered = async (store: Store, tools: readonly AnyTool[]) => {
      const first = asker([call(1)], { store });
      await first.agent.run("Go", ids);
      const model = createScriptedModel([{ text: "I see." }]);
      const later = createAgent({ model, tools, store });
      expect(await later.session("s").answer("r/1/1", { type: "approve" })).toBe("first");
      expect(await later.run("Go", ids)).toMatchObject({ status: "completed", text: "I see." });
      return JSON.stringify(model.requests[0]?.messages.at(-1));
    };
    const stricter = { ...createEchoTool().tool, input: { type: "object", required: ["m"] } };
    await withStore(open, async (store) =>
      expect(await answered(store, [stricter])).toContain("do not fit the tool's schema"),
    );
    await withStore(open, async (store) => expect(await answered(store, [])).toContain("Unknown tool 'echo'"));
  });

  test("of another agent, of nobody, or of no kind is refused, and changes nothing", async () => {
    await withStore(open, async (store) => {
      const { agent, session, echo } = asker([call(1)], { store });
      await agent.run("Go", ids);
      const stranger = createAgent({ name: "stranger", model: createScriptedModel([]), store });
      await expect(stranger.session("s").answer("r/1/1", { type: "approve" })).rejects.toThrow(code("agent_mismatch"));
      const circular: { self?: unknown } = {};
      circular.self = circular;
      const bad: readonly (readonly [unknown, { readonly by?: unknown }?])[] = [
        [null],
        ["approve"],
        [{ type: "yes" }],
        [{ type: "rerun" }],
        [{ type: "modify" }],
        [{ type: "modify", input: circular }],
        [{ type: "modify", input: { n: 1n } }],
        [{ type: "modify", input: JSON.parse('{"__proto__": {}}') }],
        [{ type: "modify", input: { text: "x".repeat(600_000) } }],
        [{ type: "deny", note: "x".repeat(10_001) }],
        [{ type: "deny", note: { text: "no" } }],
        [{ type: "abort", note: "x".repeat(10_001) }],
        [{ type: "approve" }, { by: "x".repeat(501) }],
        [{ type: "approve" }, { by: { name: "Ada" } }],
      ];
      for (const [decision, options] of bad)
        await expect(session.answer("r/1/1", decision as ApprovalDecision, options as { by?: string })).rejects.toThrow(
          code("bad_input"),
        );
      await expect(session.abort({ note: "x".repeat(10_001) })).rejects.toThrow(code("bad_input"));
      expect(await store.inbox("s")).toEqual([]);
      expect(echo.inputs).toEqual([]);
      expect(await session.answer("r/1/1", { type: "approve" })).toBe("first");
      expect(await agent.run("Go", ids)).toMatchObject({ status: "completed" });
    });
  });

  test("is bound to its session, run and call, and to the input by its hash", verifies("SEC-6#bound"), async () => {
    await withStore(open, async (store) => {
      const model = createScriptedModel(({ messages }) =>
        messages.at(-1)?.role === "tool" ? { text: "Done." } : { calls: [call(1), call(1)] },
      );
      const { agent, session, echo } = asker([], { store, model });
      const [first] = await agent
        .run("Go", ids)
        .then((result) => (result.status === "awaiting_human" ? result.approvals : []));
      await agent.run("Go", { sessionId: "other", runId: "r" });
      expect(await session.answer("r/1/1", { type: "approve" }, { by: "Ada", inputHash: first?.inputHash ?? "" })).toBe(
        "first",
      );
      // Single use: the same words again, to this call or its twin under a made-up id, start nothing more.
      await store.post("s", {
        id: "again",
        at: 1,
        body: { type: "answer", callKey: "r/1/1", answer: { type: "approve" } },
      });
      expect(await session.resume()).toMatchObject({ status: "awaiting_human", approvals: [{ callKey: "r/1/2" }] });
      expect(echo.inputs).toHaveLength(1);
      expect(await agent.session("other").pendingApprovals()).toHaveLength(2);
      // A hash that is not that of the input approves nothing.
      const lie = { type: "modify", input: { n: 99 }, inputHash: first?.inputHash ?? "" } as const;
      await store.post("s", { id: "lie", at: 1, body: { type: "answer", callKey: "r/1/2", answer: lie } });
      expect(await session.resume()).toMatchObject({ approvals: [{ callKey: "r/1/2", input: { n: 1 } }] });
      expect(echo.inputs).toHaveLength(1);
    });
  });
});

test("what was approved is what runs: a log that says something else is not run", verifies("SEC-6#bound"), async () => {
  const inner = createMemoryStore();
  const { agent } = asker([call(1)], { store: inner });
  await agent.run("Go", ids);
  const store: Store = {
    ...inner,
    read: async (...place) =>
      JSON.parse(JSON.stringify(await inner.read(...place)).replaceAll('"input":{"n":1}', '"input":{"n":1000}')),
  };
  const model = createScriptedModel([{ text: "I see." }]);
  const later = asker([], { store, model });
  await later.session.answer("r/1/1", { type: "approve" });
  expect(await later.agent.run("Go", ids)).toMatchObject({ status: "completed" });
  expect(later.echo.inputs).toEqual([]);
  expect(JSON.stringify(model.requests[0]?.messages)).toContain("is not the one that was approved");
});
