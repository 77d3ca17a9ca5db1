/**
 * Calls that wait for a person.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type AgentOptions, createAgent, defineTool, type Permission, type RunResult } from "../../src/index.js";
import { createScriptedModel, type ScriptedCall } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { collect, createEchoTool, createGateTool, filterEventsOfType } from "../support/agents.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const code = (code: string) => expect.objectContaining({ name: "PawlError", code });

/** A run that has asked for these calls, and waits. */
async function waiting(calls: readonly ScriptedCall[], options: Partial<AgentOptions> = {}) {
  const echo = createEchoTool();
  const model = createScriptedModel([{ calls }, { text: "Done." }]);
  const agent = createAgent({ model, tools: [echo.tool], canExecuteTool: () => "ask", ...options });
  const result = await agent.run("Go", { sessionId: "s", runId: "r" });
  const again = () => agent.run("Go", { sessionId: "s", runId: "r" });
  return { agent, session: agent.session("s"), echo, model, result, again };
}

const call = (n: number): ScriptedCall => ({ name: "echo", input: { n } });
const asked = (result: RunResult) => (result.status === "awaiting_human" ? result.approvals : []);

describe.each(localStores)("on $name", ({ open }) => {
  test("are asked for side by side, answered in any order, by any process", async () => {
    await withStore(open, async (store) => {
      const { result, echo, agent } = await waiting([call(1), call(2), call(3)], { store });
      expect(asked(result).map((approval) => approval.callKey)).toEqual(["r/1/1", "r/1/2", "r/1/3"]);
      expect(echo.inputs).toEqual([]);

      const elsewhere = createEchoTool();
      // Approves nothing by itself, and denies what is dear.
      const stricter = ({ input }: { readonly input: unknown }) =>
        (input as { readonly n: number }).n < 10 ? "ask" : "deny";
      const model = createScriptedModel([{ text: "Done elsewhere." }]);
      const other = createAgent({ model, tools: [elsewhere.tool], canExecuteTool: stricter, store });
      const session = other.session("s");
      expect(await session.pendingApprovals()).toEqual(asked(result));
      expect(await session.answer("r/1/3", { type: "approve" }, { by: "Ada" })).toBe("first");
      expect(await session.answer("r/1/3", { type: "deny" })).toBe("second");
      expect(await session.answer("r/1/1", { type: "deny", note: "too dear" })).toBe("first");
      const before = await session.resume();
      expect(asked(before).map((approval) => approval.callKey)).toEqual(["r/1/2"]);
      // What was approved has run while the other waits.
      expect(elsewhere.inputs).toEqual([{ n: 3 }]);
      await session.answer("r/1/2", { type: "modify", input: { n: 20 } }, { by: "Ada" });
      const ended = await other.run("Go", { sessionId: "s", runId: "r" });
      expect(ended.status).toBe("completed");
      // An edit is approved as it is, and seen again by what denies.
      expect(elsewhere.inputs).toEqual([{ n: 3 }]);
      const events = await collect(agent.session("s").events({ follow: false }));
      expect(
        filterEventsOfType(events, "approval_answered").map(({ callKey, answer, by }) => [callKey, answer, by]),
      ).toEqual([
        ["r/1/3", "approve", "Ada"],
        ["r/1/1", "deny", undefined],
        ["r/1/2", "modify", "Ada"],
      ]);
      const shown = model.requests[0]?.messages.at(-1);
      expect(shown?.role === "tool" && shown.parts.map((part) => part.output)).toMatchObject([
        { text: "Error: Denied: too dear. The call was not run." },
        { text: expect.stringContaining("Denied") },
        { text: 'echo {"n":3}' },
      ]);
    });
  });

  test("that are edited run the edit, and the model is shown both", async () => {
    await withStore(open, async (store) => {
      const { session, echo, model, again } = await waiting([call(1)], { store });
      await session.answer("r/1/1", { type: "modify", input: { n: 2 } });
      expect(await again()).toMatchObject({ status: "completed", text: "Done." });
      expect(echo.inputs).toEqual([{ n: 2 }]);
      const messages = JSON.stringify(model.requests[1]?.messages);
      expect(messages).toContain('"input":{"n":1}');
      expect(messages).toContain("A person changed the input");
    });
  });

  test("expire, where the policy says so", async () => {
    await withStore(open, async (store) => {
      const clock = createTestClock();
      const policy = (): Permission => ({ verdict: "ask", expiresInMs: 60_000 });
      const { session, echo, model, result } = await waiting([call(1)], { store, clock, canExecuteTool: policy });
      expect(asked(result)[0]?.expiresAt).toBe(clock.now() + 60_000);
      await clock.advance(59_999);
      expect((await session.state()).status).toBe("awaiting_human");
      await clock.advance(1);
      const resumed = session.resume();
      let isOver = false;
      void resumed.finally(() => {
        isOver = true;
      });
      while (!isOver) await clock.advance(1);
      expect(await resumed).toMatchObject({ status: "completed", text: "Done." });
      expect(echo.inputs).toEqual([]);
      expect(JSON.stringify(model.requests[1]?.messages)).toContain("nobody answered");
    });
  });

  test("end with the run that is aborted", verifies("REC-8"), async () => {
    await withStore(open, async (store) => {
      const { session, echo, agent } = await waiting([call(1), call(2)], { store });
      expect(await session.answer("r/1/2", { type: "abort", note: "enough" }, { by: "Ada" })).toBe("first");
      expect(await session.result()).toMatchObject({ status: "aborted", text: "Request aborted." });
      expect(await session.answer("r/1/1", { type: "approve" })).toBe("second");
      expect(echo.inputs).toEqual([]);
      expect(await agent.run("On", { sessionId: "s" })).toMatchObject({ text: "Done." });
    });
  });
});

test(
  "an edit that the tool refuses goes back to the person, who is asked about the call as it was",
  verifies("HITL-3#answers"),
  async () => {
    const strict = defineTool({
      name: "strict",
      description: "Counts.",
      // The JSON Schema of this cannot say that 13 is none.
      input: z.object({ n: z.number().refine((n) => n !== 13, "not thirteen") }),
      execute: (input) => `counted ${String(input.n)}`,
    });
    const { session, result, again } = await waiting([{ name: "strict", input: { n: 1 } }], { tools: [strict] });
    expect(asked(result)).toHaveLength(1);
    await session.answer("r/1/1", { type: "modify", input: { n: 13 } });
    const [refused] = asked(await again());
    expect(refused).toMatchObject({
      callKey: "r/1/1",
      input: { n: 1 },
      inputHash: asked(result)[0]?.inputHash,
      question: expect.stringMatching(/cannot be used.*not thirteen/s),
    });
    await session.answer("r/1/1", { type: "modify", input: { n: 7 } });
    expect(await again()).toMatchObject({ status: "completed" });
    expect(JSON.stringify(await session.messages())).toContain("counted 7");
  },
);

test("an answer to another input does not count", async () => {
  const { session, result, echo } = await waiting([call(1)]);
  const [approval] = asked(result);
  await expect(session.answer("r/1/1", { type: "approve" }, { inputHash: "0".repeat(64) })).rejects.toThrow(
    code("bad_input"),
  );
  await expect(session.answer("r/9/9", { type: "approve" })).rejects.toThrow(code("no_such_call"));
  expect(echo.inputs).toEqual([]);
  const inputHash = approval?.inputHash ?? "";
  expect(await session.answer("r/1/1", { type: "approve" }, { inputHash })).toBe("first");
});

test("where nobody can be asked, ask means deny", async () => {
  const { tool, inputs } = createEchoTool();
  const model = createScriptedModel([{ calls: [call(1)] }, { text: "Then not." }]);
  const agent = createAgent({ model, tools: [tool], canExecuteTool: () => "ask" });
  expect(await agent.run("Go", { interactive: false })).toMatchObject({ status: "completed", text: "Then not." });
  expect(inputs).toEqual([]);
  expect(JSON.stringify(model.requests[1]?.messages)).toContain("nobody can be asked");
});

test("an asked call waits while its siblings run", async () => {
  const gate = createGateTool();
  const { tool, inputs } = createEchoTool();
  const model = createScriptedModel([{ calls: [{ name: "echo" }, { name: "gate" }] }, { text: "Done." }]);
  const agent = createAgent({
    model,
    tools: [tool, gate.tool],
    canExecuteTool: ({ tool: { name } }) => (name === "echo" ? "ask" : "allow"),
  });
  const result = agent.run("Go", { sessionId: "s", runId: "r" });
  await gate.started;
  const session = agent.session("s");
  expect((await session.state()).status).toBe("tool_running");
  // It may be answered before the run has come to wait.
  expect(await session.answer("r/1/1", { type: "approve" })).toBe("first");
  gate.open("ok");
  expect(await result).toMatchObject({ status: "completed", text: "Done." });
  expect(inputs).toHaveLength(1);
});

test("the strictest of policy and tool wins; what throws denies, or asks", async () => {
  const boom = () => {
    throw new Error("boom");
  };
  const cases: readonly (readonly [AgentOptions["canExecuteTool"], boolean | (() => boolean), string])[] = [
    [() => "allow", false, "ok"],
    [() => "allow", true, "asked"],
    [() => "allow", boom, "asked"],
    [() => "ask", false, "asked"],
    [() => "deny", true, "denied"],
    [() => ({ verdict: "deny", reason: "no" }), false, "denied"],
    [boom, false, "denied"],
    [async () => boom(), true, "denied"],
    [() => undefined as never, false, "denied"],
    [() => "yes" as never, false, "denied"],
    [() => ({ verdict: "maybe" }) as never, false, "denied"],
    [undefined, false, "ok"],
    [undefined, true, "asked"],
  ];
  for (const [canExecuteTool, needsApproval, outcome] of cases) {
    const tool = { ...createEchoTool().tool, needsApproval };
    const model = createScriptedModel([{ calls: [call(1)] }, { text: "Done." }]);
    const agent = createAgent({ model, tools: [tool], ...(canExecuteTool === undefined ? {} : { canExecuteTool }) });
    const result = await agent.run("Go", { sessionId: "s" });
    const results = filterEventsOfType(await collect(agent.session("s").events({ follow: false })), "tool_result");
    expect(result.status === "awaiting_human" ? "asked" : results[0]?.outcome).toBe(outcome);
  }
});

test("a policy sees the call as it would run, and cannot change it", async () => {
  const seen: unknown[] = [];
  const { tool, inputs } = createEchoTool();
  const model = createScriptedModel([{ calls: [{ ...call(1), id: "given" }] }, { text: "Done." }]);
  const agent = createAgent({
    model,
    tools: [tool],
    deps: { who: "me" },
    canExecuteTool(request, { signal: _, ...context }) {
      seen.push(structuredClone({ ...request, ...context }));
      Object.assign(request.input as object, { n: 2 });
      return "allow";
    },
  });
  await agent.run("Go", { sessionId: "s", runId: "r" });
  expect(seen).toMatchObject([
    {
      callKey: "r/1/1",
      toolCall: { toolCallId: "given", name: "echo", input: { n: 1 } },
      tool: { name: "echo", readOnly: true },
      input: { n: 1 },
      sessionId: "s",
      runId: "r",
      deps: { who: "me" },
    },
  ]);
  // Trying to throws, and what throws denies.
  expect(inputs).toEqual([]);
});

test("what a policy says at length is cut, and what it says of time must be one", async () => {
  const long = "why? ".repeat(500_000);
  for (const { open } of localStores)
    await withStore(open, async (store) => {
      const { result } = await waiting([call(1)], {
        store,
        canExecuteTool: () => ({ verdict: "ask", question: long, expiresInMs: Number.NaN }),
      });
      const [approval] = asked(result);
      expect(approval?.question?.length).toBeLessThan(11_000);
      expect(approval?.expiresAt).toBeUndefined();
      const { result: denied } = await waiting([call(1)], {
        canExecuteTool: () => ({ verdict: "deny", reason: long }),
      });
      expect(denied).toMatchObject({ status: "completed" });
    });
});

test(
  "what is said meanwhile waits too: a steer for the next step, a request for its turn",
  verifies("LOOP-8#one-process", "LOOP-7"),
  async () => {
    const { agent, session, model, again } = await waiting([call(1)]);
    await session.steer("And be quick.");
    expect(await agent.run("Next", { sessionId: "s", runId: "next" })).toMatchObject({
      status: "interrupted",
      reason: "held_back",
      runId: "next",
    });
    await session.answer("r/1/1", { type: "approve" });
    expect(await again()).toMatchObject({ status: "completed", text: "Done." });
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: "user", parts: [{ text: "And be quick." }] });
    expect(await agent.run("Next", { sessionId: "s", runId: "next" })).toMatchObject({
      status: "failed",
      runId: "next",
    });
  },
);
