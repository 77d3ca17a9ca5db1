/**
 * Runs as tasks of an MCP server over HTTP, for a client written by hand and for Pawl's own.
 */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createAgent, createMemoryStore, defineTool } from "../../src/index.js";
import type { Principal } from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { connectMcpServer } from "../../src/tools/mcp/index.js";
import { createGateTool } from "../support/agents.js";
import { createPayTool } from "../support/pay-tool.js";
import { verifies } from "../verifies.js";
import { createTaskCaller } from "./mcp-task-caller.js";
import { startServer, startTestServer } from "./rig.js";

const proven = verifies("PROT-7#tasks");

const call = { name: "payer", arguments: { prompt: "Pay." } };

function createPayer(paid: unknown[]) {
  const store = createMemoryStore();
  const model = createScriptedModel(({ messages }) =>
    messages.at(-1)?.role === "user" ? { calls: [{ name: "pay", input: { cents: 5 } }] } : { text: "It is paid." },
  );
  return { store, agents: [createAgent({ name: "payer", store, model, tools: [createPayTool(paid)] })] };
}

const waitOptions = { timeout: 10_000 };

/** Polls until the task has another status than `working`. */
async function settled(request: ReturnType<typeof createTaskCaller>, taskId: string) {
  return await vi.waitFor(async () => {
    const { result } = await request("tasks/get", { taskId });
    expect(result.status).not.toBe("working");
    return result;
  }, waitOptions);
}

describe("a run", () => {
  test("is a task whose question is answered, and which ends with the result of the call", proven, async () => {
    const paid: unknown[] = [];
    const { url, token } = await startTestServer(createPayer(paid));
    const request = createTaskCaller(url, token);
    const { result: task } = await request("tools/call", call);
    expect(task).toMatchObject({ resultType: "task", status: "working", ttlMs: null, pollIntervalMs: 1_000 });
    const { taskId } = task;
    const asking = await settled(request, taskId);
    expect(asking).toMatchObject({ resultType: "complete", status: "input_required", createdAt: task.createdAt });
    const [[key, form] = ["", null]] = Object.entries(asking.inputRequests);
    expect(form).toMatchObject({
      method: "elicitation/create",
      params: { mode: "form", message: expect.stringContaining('pay {"cents":5}') },
    });
    const inputResponses = { [key]: { action: "accept", content: { decision: "allow" } }, other: { action: "accept" } };
    expect(await request("tasks/update", { taskId, inputResponses })).toMatchObject({
      result: { resultType: "complete" },
    });
    await vi.waitFor(
      async () =>
        expect((await request("tasks/get", { taskId })).result).toMatchObject({
          status: "completed",
          result: { isError: false, content: [{ type: "text", text: "It is paid." }] },
        }),
      waitOptions,
    );
    expect(paid).toEqual([{ cents: 5 }]);
    // An answer that comes again changes nothing.
    expect(await request("tasks/update", { taskId, inputResponses })).toHaveProperty("result");
    expect(paid).toHaveLength(1);
  });

  test("goes on in another process, which answers for the same task", proven, async () => {
    const { store } = createPayer([]);
    const gate = createGateTool();
    const serve = (text: string) =>
      startServer({
        store,
        authenticate: () => ({ id: "ada", scopes: ["read", "run", "approve"] }),
        agents: [
          createAgent({
            name: "payer",
            store,
            model: createScriptedModel(({ messages }) =>
              messages.at(-1)?.role === "user" ? { calls: [{ name: "gate" }] } : { text },
            ),
            tools: [{ ...gate.tool, recover: "rerun" as const }],
          }),
        ],
      });
    const first = await serve("First.");
    const { result: task } = await createTaskCaller(first.url, "any")("tools/call", call);
    await gate.started;
    await first.close();
    gate.open("opened");
    const second = await serve("Second.");
    onTestFinished(second.close);
    expect(await settled(createTaskCaller(second.url, "any"), task.taskId)).toMatchObject({
      status: "completed",
      result: { content: [{ text: "Second." }] },
    });
  });

  test("that its client cancels is aborted", proven, async () => {
    const store = createMemoryStore();
    const gate = createGateTool();
    const model = createScriptedModel([{ calls: [{ name: "gate" }] }]);
    const agent = createAgent({ name: "payer", store, model, tools: [gate.tool] });
    const { url, token } = await startTestServer({ store, agents: [agent] });
    const request = createTaskCaller(url, token);
    const { result: task } = await request("tools/call", call);
    await gate.started;
    expect((await request("tasks/get", { taskId: task.taskId })).result).toMatchObject({ status: "working" });
    expect(await request("tasks/cancel", { taskId: task.taskId })).toHaveProperty("result");
    expect(await settled(request, task.taskId)).toMatchObject({ status: "cancelled" });
  });

  test("that fails is a completed task with an error", proven, async () => {
    const store = createMemoryStore();
    const model = createScriptedModel([{ error: { kind: "invalid_request", message: "No." } }]);
    const { url, token } = await startTestServer({ store, agents: [createAgent({ name: "payer", store, model })] });
    const request = createTaskCaller(url, token);
    const { result: task } = await request("tools/call", call);
    expect(await settled(request, task.taskId)).toMatchObject({ status: "completed", result: { isError: true } });
  });

  test("that waits for a signal is a working task, and its message is redacted", proven, async () => {
    const store = createMemoryStore();
    const model = createScriptedModel([{ calls: [{ name: "wait" }] }]);
    const wait = defineTool({
      name: "wait",
      description: "Waits.",
      input: { type: "object" },
      durable: true,
      execute: async (_, context) => {
        await context.waitFor("call", { key: "from s3cret" });
        return "It came.";
      },
    });
    const agents = [createAgent({ name: "payer", store, model, tools: [wait] })];
    const { url, token } = await startTestServer({ store, agents, redact: (text) => text.replaceAll("s3cret", "***") });
    const request = createTaskCaller(url, token);
    const { result: task } = await request("tools/call", call);
    await vi.waitFor(
      async () =>
        expect((await request("tasks/get", { taskId: task.taskId })).result).toMatchObject({
          status: "working",
          pollIntervalMs: 30_000,
          statusMessage: expect.stringContaining("the signal from ***"),
        }),
      waitOptions,
    );
  });

  test("is answered at once, without a task, for a client that does not declare the extension", proven, async () => {
    const { url, token } = await startTestServer(createPayer([]));
    const { result } = await createTaskCaller(url, token, { elicitation: { form: {} } })("tools/call", call);
    expect(result).toMatchObject({ resultType: "input_required" });
  });
});

test("polls of a task are neither logged nor counted as changes of their principal", proven, async () => {
  const { url, token, lines } = await startTestServer({ ...createPayer([]), limits: { changesPerMinute: 2 } });
  const request = createTaskCaller(url, token);
  const { taskId } = (await request("tools/call", call)).result;
  await settled(request, taskId);
  for (let polls = 0; polls < 3; polls += 1)
    expect((await request("tasks/get", { taskId })).result).toMatchObject({ status: "input_required" });
  expect(await request("tasks/cancel", { taskId })).toHaveProperty("result");
  expect(await request("tasks/cancel", { taskId })).toMatchObject({ error: { code: "too_many" } });
  expect(lines.filter(({ action }) => action === "mcp")).toHaveLength(2);
});

describe("a request about a task", () => {
  const people: { readonly [token: string]: Principal } = {
    ada: { id: "ada", scopes: ["read", "run", "approve"] },
    eve: { id: "eve", scopes: ["read", "run", "approve"] },
    bob: { id: "bob", scopes: ["read", "run"] },
  };
  const authenticate = (request: Request) => people[request.headers.get("authorization")?.slice(7) ?? ""] ?? null;

  test("of somebody else is answered like one about an unknown task", proven, async () => {
    const paid: unknown[] = [];
    const { url } = await startTestServer({ ...createPayer(paid), authenticate });
    const ada = createTaskCaller(url, "ada");
    const { result: task } = await ada("tools/call", call);
    const asking = await settled(ada, task.taskId);
    const inputResponses = Object.fromEntries(
      Object.keys(asking.inputRequests).map((key) => [key, { action: "accept", content: { decision: "allow" } }]),
    );
    const eve = createTaskCaller(url, "eve");
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      const unknown = await eve(method, { taskId: "nothing/at/all", inputResponses });
      expect(unknown.error).toMatchObject({ code: -32_602 });
      expect(await eve(method, { taskId: task.taskId, inputResponses })).toEqual(unknown);
    }
    expect((await ada("tasks/get", { taskId: task.taskId })).result).toMatchObject({ status: "input_required" });
    expect(paid).toEqual([]);
  });

  test("with a malformed id, or an unknown run, is refused", proven, async () => {
    const { url } = await startTestServer({ ...createPayer([]), authenticate });
    const request = createTaskCaller(url, "ada");
    const { result: task } = await request("tools/call", call);
    const [sessionId] = task.taskId.split("/");
    for (const taskId of [
      "/",
      "a/b",
      "%/%/%",
      `${sessionId}/other/1`,
      `${task.taskId}/1`,
      `${task.taskId}!`,
      `${sessionId}x/run/1`,
      `${encodeURIComponent("a\u0000".repeat(1_000))}/run/1`,
      `${sessionId}//1`,
      `${task.taskId}zzzzzzzzzzzz`,
      "x".repeat(10_000),
    ])
      for (const method of ["tasks/get", "tasks/update", "tasks/cancel"])
        expect((await request(method, { taskId })).error, `${method} ${taskId.slice(0, 40)}`).toMatchObject({
          code: -32_602,
        });
  });

  test("that cancels it needs the right to abort", proven, async () => {
    const { url } = await startTestServer({ ...createPayer([]), authenticate, may: (_, action) => action !== "abort" });
    const request = createTaskCaller(url, "ada");
    const { result: task } = await request("tools/call", call);
    expect(await request("tasks/cancel", { taskId: task.taskId })).toHaveProperty("error");
    expect(await settled(request, task.taskId)).toMatchObject({ status: "input_required" });
  });

  test("needs the extension", proven, async () => {
    const { url } = await startTestServer({ ...createPayer([]), authenticate });
    const { result: task } = await createTaskCaller(url, "ada")("tools/call", call);
    const { error } = await createTaskCaller(url, "ada", {})("tasks/get", { taskId: task.taskId });
    expect(error).toMatchObject({
      code: -32_021,
      data: { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } },
    });
  });

  test("of those who may not approve says where to answer, and answers nothing", proven, async () => {
    const paid: unknown[] = [];
    const { url } = await startTestServer({ ...createPayer(paid), authenticate });
    const bob = createTaskCaller(url, "bob");
    const { result: task } = await bob("tools/call", call);
    const waiting = await vi.waitFor(async () => {
      const { result } = await bob("tasks/get", { taskId: task.taskId });
      expect(result.statusMessage).toMatch(/is waiting for a person.*\/answers/);
      return result;
    }, waitOptions);
    expect(waiting).toMatchObject({ status: "working", pollIntervalMs: 30_000 });
    expect(waiting).not.toHaveProperty("inputRequests");
  });
});

test(
  "an agent that calls an agent over MCP gets its question and its result through a task",
  verifies("PROT-6#tasks", "PROT-7#tasks"),
  async () => {
    const paid: unknown[] = [];
    const { url, token } = await startTestServer(createPayer(paid));
    const { tools, close } = await connectMcpServer({
      name: "s",
      transport: { type: "http", url: new URL("/mcp", url).href, headers: { authorization: `Bearer ${token}` } },
      trust: "all",
    });
    onTestFinished(close);
    const model = createScriptedModel([{ calls: [{ name: "s_payer", input: { prompt: "Pay." } }] }, { text: "Done." }]);
    const store = createMemoryStore();
    const caller = createAgent({ name: "caller", model, tools: [...tools], store });
    const asking = await caller.run("Go", { sessionId: "c" });
    const [approval] = asking.status === "awaiting_human" ? asking.approvals : [];
    expect(approval?.question).toContain('pay {"cents":5}');
    const { callKey = "", questionId = "" } = approval ?? {};
    await caller.session("c").answer(callKey, { type: "reply", value: { decision: "allow" } }, { questionId });
    expect(await caller.session("c").resume()).toMatchObject({ status: "completed" });
    expect(paid).toEqual([{ cents: 5 }]);
    const finished = (await store.read("c")).map(({ event }) => event).find(({ type }) => type === "tool_finished");
    expect(finished).toMatchObject({ output: { text: "It is paid." } });
  },
);
