/**
 * Unknown options and names are refused, with the option named, and the one that is meant if it is near.
 */
import { describe, expect, test } from "vitest";
import * as evals from "../../src/evals/index.js";
import * as pawl from "../../src/index.js";
import {
  createAgent,
  createClient,
  createEngine,
  createMemoryStore,
  createSchedules,
  createWorker,
  defineTool,
} from "../../src/index.js";
import * as inspect from "../../src/inspect.js";
import * as models from "../../src/models/index.js";
import * as notices from "../../src/notices/index.js";
import * as opentelemetry from "../../src/protocols/opentelemetry.js";
import * as restate from "../../src/restate/index.js";
import { createServer } from "../../src/server/index.js";
import * as postgres from "../../src/stores/postgres/index.js";
import * as sqlite from "../../src/stores/sqlite/index.js";
import * as testing from "../../src/testing/index.js";
import * as a2a from "../../src/tools/a2a/index.js";
import * as tools from "../../src/tools/index.js";
import * as mcp from "../../src/tools/mcp/index.js";
import { createEchoTool } from "../support/agents.js";
import { verifies } from "../verifies.js";

const { createScriptedModel } = testing;

// The misspelt option: the compiler would refuse it.
const wrong = { unknwn: 1 } as never;
const model = createScriptedModel(() => ({ text: "Done." }));
const store = createMemoryStore();
const noServer = { query: () => Promise.reject(new Error("There is no server.")) };

const anEval = { name: "e", agent: createAgent({ model }), cases: [], judges: [] };
const noReport = { variants: {}, trials: [] } as never;

/** How each exported function is given an unknown option. */
const calls: { readonly [name: string]: () => unknown } = {
  createAgent: () => createAgent({ model, ...(wrong as object) }),
  createClient: () => createClient({ store, ...(wrong as object) }),
  createClientCheck: () => pawl.createClientCheck(["unknwn"] as never),
  createEngine: () => createEngine({ agents: [], ...(wrong as object) }),
  createWorker: () => createWorker({ store, agents: [], ...(wrong as object) }),
  createSchedules: () => createSchedules({ store, ...(wrong as object) }),
  createPluginManager: () => pawl.createPluginManager([{ name: "p", version: "1", setup() {}, ...(wrong as object) }]),
  createRedaction: () => pawl.createRedaction(wrong),
  createStreamRedaction: () => pawl.createStreamRedaction((text) => text, wrong),
  guard: () => pawl.guard(wrong),
  deleteSession: () => pawl.deleteSession(store, "s", { now: 0, ...(wrong as object) }),
  defineTool: () => defineTool({ ...createEchoTool().tool, ...(wrong as object) }),
  defineToolFor: () => pawl.defineToolFor()({ ...createEchoTool().tool, ...(wrong as object) } as never),
  modelRequest: () => inspect.modelRequest(store, "s", wrong),
  modelRequests: () => inspect.modelRequests(store, "s", wrong).next(),
  pendingApprovals: () => pawl.pendingApprovals(store, wrong).next(),
  exportSessions: () => pawl.exportSessions(store, wrong).next(),
  importSessions: () => pawl.importSessions(store, { read: async function* () {}, ...(wrong as object) }),
  pruneSessions: () => pawl.pruneSessions(store, { before: 0, now: 0, ...(wrong as object) }),
  toolCalled: () => pawl.toolCalled("echo", wrong),
  sessionSteps: () => inspect.sessionSteps(store, "s", wrong),
  sessionTracePage: () => inspect.sessionTracePage(store, "s", wrong),
  traceSession: () => inspect.traceSession(store, "s", wrong),
  chooseModel: () => models.chooseModel(wrong),
  usableModels: () => models.usableModels(wrong),
  createModelRegistry: () => models.createModelRegistry(wrong),
  createReplayModel: () => models.createReplayModel([], wrong),
  fromAiSdk: () =>
    models.fromAiSdk({ specificationVersion: "v3", provider: "p", modelId: "m", doStream() {} } as never, wrong),
  recordModel: () => models.recordModel(model, { path: "/nowhere/at/all", ...(wrong as object) }),
  openSqliteStore: () => sqlite.openSqliteStore({ path: ":memory:", ...(wrong as object) }),
  openPostgresStore: () => postgres.openPostgresStore({ pool: noServer, ...(wrong as object) }),
  migrate: () => postgres.migrate({ pool: noServer, ...(wrong as object) }),
  describePostgres: () => postgres.describePostgres({ pool: noServer, ...(wrong as object) }),
  grantsFor: () => postgres.grantsFor({ role: "worker", ...(wrong as object) }),
  agentsFile: () => tools.agentsFile({ root: ".", ...(wrong as object) }),
  skills: () => tools.skills({ folders: [], ...(wrong as object) }),
  createFileTools: () => tools.createFileTools({ root: ".", ...(wrong as object) }),
  findFiles: () => tools.findFiles({ root: ".", ...(wrong as object) }),
  createFetchTool: () => tools.createFetchTool(wrong),
  createBackgroundProcesses: () => tools.createBackgroundProcesses(wrong),
  remindMe: () => tools.remindMe({ client: createClient({ store }), ...(wrong as object) }),
  createShellTool: () => tools.createShellTool({ root: ".", ...(wrong as object) }),
  createSandbox: () => tools.createSandbox({ root: ".", ...(wrong as object) }),
  connectMcpServer: () =>
    mcp.connectMcpServer({ name: "m", transport: { type: "stdio", command: "false" }, ...(wrong as object) }),
  connectA2aAgent: () => a2a.connectA2aAgent({ name: "r", url: "http://localhost:1", ...(wrong as object) }),
  finishMcpLogin: () => mcp.finishMcpLogin({ login: {} as never, callback: "/", ...(wrong as object) }),
  logInToMcpServer: () =>
    mcp.logInToMcpServer({ url: "https://mcp.example.org", login: {} as never, ...(wrong as object) }),
  createMcpPlugin: () => mcp.createMcpPlugin({ servers: [], ...(wrong as object) }),
  createOpenTelemetryObserver: () => opentelemetry.createOpenTelemetryObserver(wrong),
  exportTrace: () => opentelemetry.exportTrace([], wrong),
  pawlObject: () => restate.pawlObject({ store, agents: [], ...(wrong as object) }),
  createCase: () => evals.createCase(store, "s", wrong),
  createScores: () => evals.createScores([], wrong),
  costs: () => evals.costs({ atMost: 1, ...(wrong as object) }),
  defineEval: () => evals.defineEval({ ...anEval, ...(wrong as object) }),
  evaluate: () => evals.evaluate({ ...anEval, ...(wrong as object) }),
  formatJunit: () => evals.formatJunit(noReport, wrong),
  formatReport: () => evals.formatReport(noReport, wrong),
  prefers: () => evals.prefers({ agent: createAgent({ model }), rubric: "r", ...(wrong as object) }),
  rubric: () => evals.rubric({ agent: createAgent({ model }), rubric: "r", ...(wrong as object) }),
  sameCalls: () => evals.sameCalls(wrong),
  simulated: () => evals.simulated(createAgent({ model }), wrong),
  toExitCode: () => evals.toExitCode(noReport, wrong),
  createNotices: () => notices.createNotices([], wrong),
  createOutbox: () => notices.createOutbox({ store, ...(wrong as object) }),
  createScriptedModel: () => createScriptedModel([], wrong),
  crashTest: () => testing.crashTest({ agent: () => createAgent({ model }), input: "Go", ...(wrong as object) }),
  killTest: () => testing.killTest({ script: "", openStore: async () => store, ...(wrong as object) }),
};

/** The exported functions without options: each takes values, ids or data alone. */
const withoutOptions: readonly string[] = [
  "activeTraceparent",
  ...["CrashFailure", "InvariantBroken", "KillFailure", "PawlError", "StepError", "TaskComplete"],
  ...[
    "addUsage",
    "asModel",
    "askPerson",
    "todo",
    "checkSession",
    "createDemoModel",
    "createMemoryStore",
    "createTestClock",
    "describeSqlite",
    "importInstalledPackage",
  ],
  ...[
    "detectSandbox",
    "done",
    "estimateTokens",
    "fileCredentials",
    "findBeginning",
    "findLocalModel",
    "findOpenRun",
    "fromAiSdkTool",
    "isAiSdkModel",
    "isCallOf",
    "isDrivenBy",
    "isHeldHere",
    "readSessionLook",
    "isHolderDead",
  ],
  ...[
    "readAgentTool",
    "readRecording",
    "recordedAttempts",
    "redactJson",
    "redactOutput",
    "resolveModel",
    "settled",
    "stepCount",
    "storeConformance",
  ],
  ...["calls", "inRecord", "never", "openAnswers", "readCases", "toScoreSessionId"],
  ...["sameAnswer", "sameEnd", "sameHooks", "sameSteps"],
  ...["cacheLoss", "costOfCall", "savedByCache"],
  ...["textMatches", "textOf", "toModelFailure", "toolCallsOf", "variablesOf"],
];

const entryPoints = [
  ...[pawl, inspect, evals, models, sqlite, postgres],
  ...[notices, tools, a2a, mcp, opentelemetry, restate, testing],
];

test("every exported function is in the walk", verifies("LOOP-15"), () => {
  const exported = new Set(
    entryPoints.flatMap((entry) =>
      Object.entries(entry).flatMap(([name, value]) => (typeof value === "function" ? [name] : [])),
    ),
  );
  expect([...exported].toSorted()).toEqual([...new Set([...Object.keys(calls), ...withoutOptions])].toSorted());
});

async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  return undefined;
}

const refusal = expect.objectContaining({
  name: "PawlError",
  code: expect.stringMatching(/^bad_(configuration|input)$/),
  message: expect.stringContaining("unknwn"),
});

test.each(Object.keys(calls))("%s refuses an unknown option", verifies("LOOP-15"), async (name) => {
  expect(await errorOf(() => calls[name]?.())).toEqual(refusal);
});

/** How each method is given an unknown option; null for a method without options. */
function methods() {
  const agent = createAgent({ name: "a", model, store });
  const session = agent.session("s");
  const client = createClient({ store }).session("s");
  const worker = createWorker({ store, agents: [] });
  const schedules = createSchedules({ store });
  const first = (items: AsyncIterable<unknown>) => items[Symbol.asyncIterator]().next();
  return {
    agent: [
      agent,
      {
        asTool: () => agent.asTool({ description: "d", ...(wrong as object) }),
        iterate: () => first(agent.iterate("Go", wrong)),
        options: null,
        run: () => agent.run("Go", wrong),
        runStream: () => agent.runStream("Go", wrong),
        session: null,
        shutdown: () => agent.shutdown(wrong),
        specifications: null,
        with: () => agent.with(wrong),
      },
    ],
    session: [
      session,
      {
        abort: () => session.abort(wrong),
        compact: () => session.compact(wrong),
        answer: () => session.answer("r/1/1", { type: "approve" }, wrong),
        data: null,
        events: () => first(session.events(wrong)),
        fork: () => session.fork(wrong),
        id: null,
        leave: () => session.leave(wrong),
        messages: null,
        pendingApprovals: null,
        provideResult: () => session.provideResult("r/1/1", "x", wrong),
        scheduled: () => session.scheduled(wrong),
        unsend: null,
        rename: () => session.rename("Title", wrong),
        redact: () => session.redact(wrong),
        replay: () => session.replay(wrong),
        result: null,
        resume: () => session.resume(wrong),
        seed: () => session.seed([], wrong),
        send: () => session.send("Go", wrong),
        setData: () => session.setData(wrong),
        state: null,
        steer: () => session.steer("Go", wrong),
      },
    ],
    client: [
      client,
      {
        abort: () => client.abort(wrong),
        answer: () => client.answer("r/1/1", { type: "approve" }, wrong),
        answerTo: null,
        hasAnswerFrom: null,
        data: null,
        events: () => first(client.events(wrong)),
        fork: () => client.fork(wrong),
        id: null,
        messages: null,
        pendingApprovals: null,
        provideResult: () => client.provideResult("r/1/1", "x", wrong),
        scheduled: () => client.scheduled(wrong),
        unsend: null,
        rename: () => client.rename("Title", wrong),
        redact: () => client.redact(wrong),
        setData: () => client.setData(wrong),
        result: null,
        send: () => client.send("Go", wrong),
        state: null,
        steer: () => client.steer("Go", wrong),
        tools: null,
      },
    ],
    schedules: [
      schedules,
      {
        get: null,
        list: () => schedules.list(wrong),
        next: () => schedules.next("x", wrong),
        pause: null,
        put: () => schedules.put({ id: "x", cron: "* * * * *", agent: "a", input: "Go" }, wrong),
        remove: null,
        resume: null,
        runNow: null,
        slots: () => schedules.slots("x", wrong),
      },
    ],
    worker: [worker, { run: null, runUntilIdle: null, status: null, stop: () => worker.stop(wrong) }],
  } as const;
}

test.each(["agent", "session", "client", "schedules", "worker"] as const)(
  "each method of %s refuses an unknown option",
  verifies("LOOP-15"),
  async (part) => {
    const [object, ways] = methods()[part];
    expect(Object.keys(object).toSorted()).toEqual(Object.keys(ways).toSorted());
    for (const [name, call] of Object.entries(ways))
      if (call !== null) expect(await errorOf(call), name).toEqual(refusal);
    expect(await store.list()).toEqual([]);
  },
);

test("an engine's shutdown refuses one, too", verifies("LOOP-15"), async () => {
  const engine = await createEngine({ agents: [{ name: "e", model }] });
  expect(await errorOf(() => engine.shutdown(wrong))).toEqual(refusal);
  await engine.shutdown();
});

const groups = ["limits", "compaction", "retry", "timeouts", "toolOutput", "usage", "context"] as const;

test.each(groups)("the option %s refuses an unknown name", verifies("LOOP-15"), async (group) => {
  expect(await errorOf(() => createAgent({ model, [group]: wrong }))).toEqual(refusal);
});

test("so do hooks, observers, fallbacks, answers and the engine's worker", verifies("LOOP-15"), async () => {
  const other = wrong as object;
  const session = createAgent({ model, tools: [{ ...createEchoTool().tool, needsApproval: true }] }).session("s");
  const attempts = [
    () => createAgent({ model, hooks: [{ name: "h", ...other }] }),
    () => createAgent({ model, observers: [other] }),
    () => createAgent({ model, fallbacks: [{ model, ...other }] }),
    () => createEngine({ agents: [], worker: wrong }),
    () => createAgent({ model, tools: [{ ...createEchoTool().tool, ...other }] }),
  ];
  for (const attempt of attempts) expect(await errorOf(attempt)).toEqual(refusal);
  expect(session.id).toBe("s");
});

describe("the option that is meant is named", () => {
  test.each([
    [() => createAgent({ model, instructions: "x" } as never), "systemPrompt"],
    [() => createAgent({ model, maxSteps: 3 } as never), "limits.maxSteps"],
    [() => createAgent({ model, sytemPrompt: "x" } as never), "systemPrompt"],
    [() => createAgent({ model, limits: { max_steps: 3 } as never }), "maxSteps"],
    [() => createAgent({ model, limits: { maxCost: 3 } as never }), "maxCostUsd"],
    [() => defineTool({ ...createEchoTool().tool, inputSchema: {} } as never), "input"],
    [() => defineTool({ ...createEchoTool().tool, needApproval: true } as never), "needsApproval"],
    [() => createAgent({ model }).run("Go", { threadId: "t" } as never), "sessionId"],
    [() => createAgent({ model }).run("Go", { abortSignal: AbortSignal.abort() } as never), "signal"],
    [() => createAgent({ model, hooks: [{ name: "h", beforeToolCal() {} } as never] }), "beforeToolCall"],
    [() => createAgent({ model, hooks: [{ name: "h", onToolCall() {} } as never] }), "beforeToolCall"],
    [() => sqlite.openSqliteStore({ file: "x" } as never), "path"],
    [() => postgres.openPostgresStore({ connectionString: "x" } as never), "url"],
    [() => createServer({ store, agents: [], prefix: "/pawl" } as never), "basePath"],
    [() => createServer({ store, agents: [], tokens: "x" } as never), "token"],
  ] as const)("%s: %s", verifies("LOOP-15"), async (call, meant) => {
    expect(await errorOf(call)).toMatchObject({ message: expect.stringContaining(`Do you mean ${meant}?`) });
  });
});

test("options that are not an object: the message names the options", verifies("LOOP-15"), async () => {
  expect(await errorOf(() => sqlite.openSqliteStore("sessions.db" as never))).toMatchObject({
    message: expect.stringMatching(/^The options of openSqliteStore\(\) are "sessions.db"; .* an object with path,/),
  });
});

describe("names of tools, and the mode of send", () => {
  const { tool } = createEchoTool("lookup");
  const agent = createAgent({ model, tools: [tool] });
  const badInput = (message: string) => ({
    name: "PawlError",
    code: "bad_input",
    message: expect.stringContaining(message),
  });

  test.each([
    [{ activeTools: ["lokup"] }, 'Do you mean "lookup"?'],
    [{ activeTools: "lookup" }, "activeTools"],
    [{ toolChoice: { tool: "loookup" } }, 'Do you mean "lookup"?'],
    [{ toolChoice: "always" }, "toolChoice"],
    [{ stopWhen: pawl.toolCalled("lokup") }, 'Do you mean "lookup"?'],
    [{ toolChoice: { name: "lookup" } }, "toolChoice"],
    [{ mode: "steeer" }, "mode"],
    [{ interactive: "no" }, "interactive"],
  ])("%j is refused", verifies("LOOP-15"), async (options, message) => {
    const session = agent.session("s");
    expect(await errorOf(() => session.send("Go", options as never))).toMatchObject(badInput(message));
    if (!("mode" in options))
      expect(await errorOf(() => agent.run("Go", options as never))).toMatchObject(badInput(message));
  });

  test("known ones are taken", verifies("LOOP-15"), async () => {
    const options = { activeTools: ["lookup"], toolChoice: { tool: "lookup" }, systemPrompt: "" } as const;
    expect(await agent.run("Go", options)).toMatchObject({ status: "completed" });
  });
});

test.each([
  [
    () => defineTool({ ...createEchoTool().tool, recover: "retry" as never }),
    '"rerun", "fail", "ask" or { reconcile }',
  ],
  [() => defineTool({ ...createEchoTool().tool, recover: { reconsile() {} } as never }), "or { reconcile }"],
  [() => createAgent({ model, tools: [createAgent({ name: "helper", model })] as never }), "agent.asTool("],
  [() => createAgent({ model, tools: { helper: createAgent({ name: "helper", model }) } as never }), "agent.asTool("],
  [() => createAgent({ model, observers: [(() => {}) as never] }), "An observer is not an object."],
] as const)("%s: a value of the wrong kind is refused", verifies("LOOP-15"), async (call, message) => {
  expect(await errorOf(call)).toMatchObject({ code: "bad_configuration", message: expect.stringContaining(message) });
});

test("the schema in the address of a PostgreSQL store counts, unless the option names another", async () => {
  const url = "postgres://127.0.0.1:1/desk?schema=claims";
  const open = (options: Partial<postgres.PostgresOptions>) =>
    errorOf(() => postgres.openPostgresStore({ url, busyMs: 0, ...options } as postgres.PostgresOptions));
  // Nothing listens at this address, so the error names the store that would have been opened.
  expect(await open({})).toMatchObject({ message: expect.stringContaining("127.0.0.1:1/desk (schema claims)") });
  expect(await open({ schema: "other" })).toMatchObject({
    message: expect.stringContaining("127.0.0.1:1/desk (schema other)"),
  });
  expect(await open({ url: "postgres://127.0.0.1:1/desk?schema=a;b" })).toMatchObject({ code: "bad_configuration" });
});

test("a store that was not awaited is refused, and what to write is said", verifies("LOOP-15"), async () => {
  const store = Promise.resolve(createMemoryStore()) as never;
  for (const create of [
    () => createAgent({ model, store }),
    () => createClient({ store }),
    () => pawl.createEngine({ store, agents: [] }),
    () => pawl.createWorker({ store, agents: [] }),
  ])
    expect(await errorOf(create)).toMatchObject({
      code: "bad_configuration",
      message: expect.stringContaining(
        "is a promise; it must be a store, such as the result of `await openSqliteStore(…)`.",
      ),
    });
});

test(
  "an AI SDK tool may hold more than Pawl knows, and is called as a method",
  verifies("TOOL-1#ai-sdk", "LOOP-15"),
  async () => {
    class Counter {
      readonly description = "Counts.";
      readonly inputSchema = { type: "object", properties: {} };
      readonly title = "A counter";
      #count = 41;
      needsApproval() {
        return this.#count > 100;
      }
      execute() {
        this.#count += 1;
        return `counted ${this.#count}`;
      }
      toModelOutput({ output }: { readonly output: unknown }) {
        return { type: "text", value: `${String(output)} of ${this.title}` };
      }
    }
    const calling = createScriptedModel([{ calls: [{ name: "counter", input: {} }] }, { text: "Done." }]);
    const agent = createAgent({ model: calling, tools: { counter: new Counter() } });
    expect(await agent.run("Go")).toMatchObject({ status: "completed" });
    expect(JSON.stringify(calling.requests[1]?.messages)).toContain("counted 42 of A counter");
  },
);
