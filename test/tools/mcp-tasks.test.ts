/**
 * Calls that an MCP server answers with a task.
 */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type Agent,
  createAgent,
  createClient,
  createMemoryStore,
  type Store,
  type StreamItem,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { connectMcpServer } from "../../src/tools/mcp/index.js";
import { readEvents } from "../support/durable-tool.js";
import { verifies } from "../verifies.js";
import { asks, completed, newTask, protocolError, startTaskServer, type TaskScript, working } from "./task-server.js";

const proven = verifies("PROT-6#tasks");

/** The tools with other settings. */
type Settings = { readonly answerTimeoutMs?: number; readonly timeoutMs?: number };

/** A server, and processes that use it one after the other. */
async function bench(script: Partial<TaskScript>, { timeoutMs, ...settings }: Settings = {}) {
  const server = await startTaskServer(script);
  const store = createMemoryStore();
  const clock = createTestClock();
  const start = async (options: { readonly store?: Store } = {}): Promise<Agent> => {
    const { tools, close } = await connectMcpServer({
      name: "s",
      transport: { type: "http", url: server.url },
      trust: "all",
      ...settings,
    });
    onTestFinished(close);
    const limited = tools.map((tool) => (timeoutMs === undefined ? tool : { ...tool, timeoutMs }));
    const model = createScriptedModel(({ messages }) =>
      messages.some(({ role }) => role === "tool") ? { text: "Done." } : { calls: [{ name: "s_pack" }] },
    );
    return createAgent({ name: "packer", model, tools: limited, store, clock, ...options });
  };
  const run = async (agent?: Agent) => (agent ?? (await start())).run("Go", { sessionId: "s" });
  const readOutput = async () => {
    const finished = (await readEvents(store)).findLast((event) => event.type === "tool_finished");
    return finished?.output?.type === "text" ? finished.output.text : undefined;
  };
  const readSteps = async () =>
    (await readEvents(store)).flatMap((event) => (event.type === "tool_step_finished" ? [event.step] : []));
  return { server, store, clock, start, run, readOutput, readSteps };
}

describe("a task", () => {
  test("that is short is polled in the process that called the tool, and all polls are one step", proven, async () => {
    const { server, start, run, readOutput, readSteps } = await bench({
      get: (poll) => (poll < 3 ? working({ statusMessage: `Box ${poll}` }) : completed("Packed.")),
    });
    const agent = await start();
    const notes: string[] = [];
    const follow = async (items: AsyncIterable<StreamItem>) => {
      for await (const item of items) {
        if (item.type === "progress") notes.push(item.note);
        if (item.type === "final") return;
      }
    };
    const following = follow(agent.session("s").events({ after: 0 }));
    expect(await run(agent)).toMatchObject({ status: "completed" });
    await following;
    expect(await readOutput()).toBe("Packed.");
    expect(server.requests).toEqual(["call", "get", "get", "get"]);
    expect(await readSteps()).toEqual(["call", "poll-1"]);
    expect(notes).toEqual(["Box 1", "Box 2"]);
  });

  test("with a long interval is held by no process, and any process takes it up", proven, async () => {
    const { server, store, clock, start, run, readOutput } = await bench({
      call: () => newTask({ pollIntervalMs: 60_000 }),
      get: (poll) => (poll < 2 ? working({ pollIntervalMs: 120_000 }) : completed("Packed.")),
    });
    const first = await start();
    const until = clock.now() + 60_000;
    expect(await run(first)).toMatchObject({ status: "waiting", waits: [{ on: "time", until }] });
    expect(await store.describe("s")).toMatchObject({ holder: null, activity: "waiting" });
    // The server wants no poll before its interval is over.
    expect(server.requests).toEqual(["call"]);
    await first.shutdown();
    clock.jump(60_000);
    const second = await start();
    expect(await second.session("s").resume()).toMatchObject({
      status: "waiting",
      waits: [{ until: clock.now() + 120_000 }],
    });
    await second.shutdown();
    clock.jump(120_000);
    expect(await (await start()).session("s").resume()).toMatchObject({ status: "completed" });
    expect(server.requests).toEqual(["call", "get", "get"]);
    expect(await readOutput()).toBe("Packed.");
  });

  test("that its server creates only after minutes is not polled before the call sleeps", proven, async () => {
    const now = performance.now.bind(performance);
    let passedMs = 0;
    vi.spyOn(performance, "now").mockImplementation(() => now() + passedMs);
    onTestFinished(() => void vi.restoreAllMocks());
    const { server, run } = await bench({
      call() {
        passedMs = 301_000;
        return newTask();
      },
    });
    expect(await run()).toMatchObject({ status: "waiting", waits: [{ on: "time" }] });
    expect(server.requests).toEqual(["call"]);
  });

  test("asks a person in one process, and gets the answer once from another one", proven, async () => {
    const { server, store, start, run, readOutput, readSteps } = await bench({
      get: (poll, answers) => {
        if (poll === 1) return asks(["boxes", "tapes"]);
        // The server repeats questions that were answered for a while.
        return poll === 2 ? asks(["boxes", "tapes"]) : completed(JSON.stringify(answers));
      },
    });
    const first = await start();
    const asking = await run(first);
    const approvals = asking.status === "awaiting_human" ? asking.approvals : [];
    expect(approvals).toMatchObject([
      { why: "tool", question: 'The MCP server "s" asks: boxes?', schema: { required: ["count"] } },
      { why: "tool", question: 'The MCP server "s" asks: tapes?' },
    ]);
    await first.shutdown();
    const session = createClient({ store }).session("s");
    for (const [index, { callKey, questionId = "" }] of approvals.entries())
      await session.answer(callKey, { type: "reply", value: { count: index + 1 } }, { questionId });
    expect(await (await start()).session("s").resume()).toMatchObject({ status: "completed" });
    const answers = {
      boxes: { action: "accept", content: { count: 1 } },
      tapes: { action: "accept", content: { count: 2 } },
    };
    expect(await readOutput()).toBe(JSON.stringify(answers));
    expect(server.requests).toEqual(["call", "get", `update ${JSON.stringify(answers)}`, "get", "get"]);
    expect(await readSteps()).toEqual(["call", "poll-1", "answer-1", "poll-2"]);
  });

  test("may have a long id with any characters", proven, async () => {
    const taskId = ' ü/\u0000\r\n"💥'.padEnd(4_000, "x");
    const ids: string[] = [];
    const { run, readOutput } = await bench({
      call: () => newTask({ taskId }),
      get(_, __, id) {
        ids.push(id);
        return completed("Packed.");
      },
    });
    expect(await run()).toMatchObject({ status: "completed" });
    expect(await readOutput()).toBe("Packed.");
    expect(ids).toEqual([taskId]);
  });

  test("gets an answer once its server can be reached again, and no process waits for that", proven, async () => {
    const { server, clock, start, run, readOutput, readSteps } = await bench({
      get: (_, answers) => ("boxes" in answers ? completed("Packed.") : asks(["boxes"])),
      update(update) {
        if (update <= 5) throw protocolError(-32_603, "Out of order.");
      },
    });
    const agent = await start();
    const asking = await run(agent);
    const [{ callKey, questionId = "" } = { callKey: "" }] = asking.status === "awaiting_human" ? asking.approvals : [];
    const session = agent.session("s");
    await session.answer(callKey, { type: "reply", value: { count: 1 } }, { questionId });
    const resumed = session.resume();
    const countUpdates = () => server.requests.filter((request) => request.startsWith("update")).length;
    await vi.waitFor(
      async () => {
        await clock.advance(1_000);
        expect(countUpdates()).toBe(5);
      },
      { timeout: 10_000 },
    );
    expect(await resumed).toMatchObject({ status: "waiting", waits: [{ on: "time" }] });
    clock.jump(60_000);
    expect(await session.resume()).toMatchObject({ status: "completed" });
    expect(countUpdates()).toBe(6);
    expect(server.requests).not.toContain("cancel");
    expect(await readSteps()).toEqual(["call", "poll-1", "answer-1", "answer-2", "poll-3"]);
    expect(await readOutput()).toBe("Packed.");
  });

  test("is cancelled when the run is aborted", proven, async () => {
    const { server, start, run } = await bench({});
    const agent = await start();
    const running = run(agent);
    await vi.waitFor(() => expect(server.requests).toContain("get"));
    await agent.session("s").abort();
    expect(await running).toMatchObject({ status: "aborted" });
    await vi.waitFor(() => expect(server.requests.filter((request) => request === "cancel")).toHaveLength(1));
  });

  test("goes on when its process shuts down, and the next process polls the same task", proven, async () => {
    const { server, clock, start, run, readOutput } = await bench({});
    const first = await start();
    const running = run(first);
    await vi.waitFor(() => expect(server.requests).toContain("get"));
    const shutDown = first.shutdown({ graceMs: 0 });
    await clock.advance(0);
    await shutDown;
    expect(await running).toMatchObject({ status: "interrupted" });
    server.answerBy({ get: () => completed("Packed.") });
    expect(await (await start()).session("s").resume()).toMatchObject({ status: "completed" });
    expect(await readOutput()).toBe("Packed.");
    expect(server.requests.filter((request) => request !== "get")).toEqual(["call"]);
  });

  test("is cancelled at the time limit of its tool", proven, async () => {
    const { server, clock, start, run, readOutput } = await bench({}, { timeoutMs: 5_000 });
    const running = run(await start());
    await vi.waitFor(() => expect(server.requests).toContain("get"));
    await clock.advance(5_000);
    expect(await running).toMatchObject({ status: "completed" });
    expect(await readOutput()).toContain("Timed out after 5000 ms");
    await vi.waitFor(() => expect(server.requests.filter((request) => request === "cancel")).toHaveLength(1));
  });

  test("lets a process shut down at once between two polls", proven, async () => {
    const { server, start, run, readSteps } = await bench({ call: () => newTask({ pollIntervalMs: 25_000 }) });
    const first = await start();
    const running = run(first);
    await vi.waitFor(() => expect(server.requests).toEqual(["call"]));
    await vi.waitFor(async () => expect(await readSteps()).toEqual(["call"]));
    // Nothing advances the clock, so the grace does not end.
    await first.shutdown({ graceMs: 60_000 });
    expect(await running).toMatchObject({ status: "interrupted" });
    expect(server.requests).toEqual(["call"]);
  });

  test("is given up if its server waits for an answer that expired", proven, async () => {
    const { server, clock, start, run, readOutput } = await bench(
      { get: () => asks(["boxes"]) },
      { answerTimeoutMs: 60_000 },
    );
    const agent = await start();
    expect(await run(agent)).toMatchObject({ status: "awaiting_human" });
    clock.jump(60_000);
    const resumed = agent.session("s").resume();
    await vi.waitFor(
      async () => {
        await clock.advance(1);
        expect(server.requests).toContain("cancel");
      },
      { timeout: 10_000 },
    );
    expect(await resumed).toMatchObject({ status: "completed" });
    expect(await readOutput()).toContain("waits for an answer to a question that has expired");
    expect(server.requests[2]).toBe('update {"boxes":{"action":"cancel"}}');
    expect(server.requests.at(-1)).toBe("cancel");
    expect(server.requests.length).toBeLessThan(20);
  });

  test("stores of a question only what was checked", proven, async () => {
    const question = { ...asks(["boxes"]) };
    const { boxes } = question.inputRequests as { readonly boxes: { readonly params: object } };
    const noise = { noise: "x".repeat(50_000) };
    const { store, run } = await bench({
      get: () => ({
        ...question,
        inputRequests: { boxes: { ...boxes, ...noise, params: { ...boxes.params, ...noise } } },
      }),
    });
    expect(await run()).toMatchObject({
      status: "awaiting_human",
      approvals: [{ question: 'The MCP server "s" asks: boxes?' }],
    });
    expect(JSON.stringify(await readEvents(store))).not.toContain("xxxx");
  });

  test("is polled again if a poll fails", proven, async () => {
    const { server, run, readOutput } = await bench({
      get: (poll) => {
        if (poll < 3) throw protocolError(-32_603, "Out of order.");
        return completed("Packed.");
      },
    });
    expect(await run()).toMatchObject({ status: "completed" });
    expect(await readOutput()).toBe("Packed.");
    expect(server.requests).toEqual(["call", "get", "get", "get"]);
  });

  test("that has a large result keeps it only as the result of the call", proven, async () => {
    const { store, run } = await bench({ get: () => completed("x".repeat(100_000)) });
    await run();
    const polled = (await readEvents(store)).find(
      (event) => event.type === "tool_step_finished" && event.step === "poll-1",
    );
    expect(polled).toMatchObject({ value: { type: "large" } });
  });

  test("is asked for a large result again if the process that had it died", proven, async () => {
    const { server, store, clock, start, run, readOutput } = await bench({
      // No process waits for so long between two polls. But the task is over when its result is read again.
      call: () => newTask({ pollIntervalMs: 60_000 }),
      get: () => completed("x".repeat(40_000).concat("y".repeat(40_000))),
    });
    let isLost = false;
    const lost: Store = {
      ...store,
      async commit(lease, commit) {
        if (isLost) throw new Error("The process has died.");
        isLost = commit.events.some((event) => event.type === "tool_step_finished" && event.step === "poll-2");
        return store.commit(lease, commit);
      },
    };
    expect(await run()).toMatchObject({ status: "waiting" });
    clock.jump(60_000);
    await (await start({ store: lost })).session("s").resume();
    expect(await readOutput()).toBeUndefined();
    expect(server.requests).toEqual(["call", "get"]);
    expect(await (await start()).session("s").resume()).toMatchObject({ status: "completed" });
    expect(await readOutput()).toContain("xxx");
    expect(server.requests).toEqual(["call", "get", "get"]);
  });
});

describe("a server that is not to be trusted", () => {
  test.for([
    ["forgets the task", () => protocolError(-32_602, "There is no such task."), /There is no such task/, false],
    [
      "fails",
      () => ({ status: "failed", error: { code: -1, message: "No boxes." } }),
      /the task failed: No boxes/,
      false,
    ],
    ["cancels", () => ({ status: "cancelled", statusMessage: "Too late." }), /was cancelled: Too late/, false],
    ["has no result", () => ({ status: "completed", result: { content: "Packed." } }), /not that of a tool/, false],
    ["has another status", () => ({ status: "paused" }), /unknown status/, false],
    [
      "asks for what Pawl does not give",
      () => ({ ...asks([]), inputRequests: { model: { method: "sampling/createMessage", params: {} } } }),
      /cannot go on: it asks for "sampling\/createMessage"/,
      true,
    ],
    [
      "asks too much",
      () => asks(Array.from({ length: 65 }, (_, index) => `q${index}`)),
      /asks more than 64 questions/,
      true,
    ],
  ] as const)("%s: the call has an error", proven, async ([, reply, error, isCancelled]) => {
    const { server, run, readOutput } = await bench({
      get: () => {
        const fields = reply();
        if (fields instanceof Error) throw fields;
        return fields;
      },
    });
    expect(await run()).toMatchObject({ status: "completed" });
    expect(await readOutput()).toMatch(error);
    // Nobody waits for a task whose questions cannot be asked.
    expect(server.requests).toEqual(["call", "get", ...(isCancelled ? ["cancel"] : [])]);
  });

  test.for([
    ["no id", { taskId: 7 }],
    ["an empty id", { taskId: "" }],
    ["a huge id", { taskId: "x".repeat(10_000) }],
    ["an id with half of a character", { taskId: "\ud800" }],
  ] as const)("%s: the call has an error", proven, async ([, fields]) => {
    const { server, run, readOutput } = await bench({ call: () => newTask(fields) });
    expect(await run()).toMatchObject({ status: "completed" });
    expect(await readOutput()).toMatch(/a task that has no valid id/);
    expect(server.requests).toEqual(["call"]);
  });

  test("refuses the answers that it asked for: the call has an error", proven, async () => {
    const { server, start, run, readOutput } = await bench({
      get: () => asks(["boxes"]),
      update() {
        throw protocolError(-32_602, "There is no such question.");
      },
    });
    const agent = await start();
    const asking = await run(agent);
    const [{ callKey, questionId = "" } = { callKey: "" }] = asking.status === "awaiting_human" ? asking.approvals : [];
    await agent.session("s").answer(callKey, { type: "reply", value: { count: 1 } }, { questionId });
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
    expect(await readOutput()).toMatch(/refused the answers to its questions \(.*There is no such question/);
    expect(server.requests.at(-1)).toBe("cancel");
  });

  test("is polled within an hour, however long its interval is", proven, async () => {
    const { clock, run } = await bench({ call: () => newTask({ pollIntervalMs: 1e15 }) });
    expect(await run()).toMatchObject({ status: "waiting", waits: [{ until: clock.now() + 3_600_000 }] });
  });

  test("is given up if it cannot be asked again and again", proven, async () => {
    const { server, clock, start, run, readOutput } = await bench({
      call: () => newTask({ pollIntervalMs: 60_000 }),
      get: () => {
        throw protocolError(-32_603, "Out of order.");
      },
    });
    const agent = await start();
    let result = await run(agent);
    for (let pauses = 0; result.status === "waiting" && pauses < 20; pauses += 1) {
      clock.jump(3_600_000);
      result = await agent.session("s").resume();
    }
    expect(result).toMatchObject({ status: "completed" });
    expect(await readOutput()).toMatch(/could not be polled for a task \(.*Out of order/);
    expect(server.requests).toEqual(["call", ...Array.from({ length: 10 }, () => "get"), "cancel"]);
  });
});
