import { expect, test } from "vitest";
import * as evals from "../../src/evals/index.js";
import * as pawl from "../../src/index.js";
import * as notices from "../../src/notices/index.js";
import * as postgres from "../../src/stores/postgres/index.js";
import * as testing from "../../src/testing/index.js";
import * as tools from "../../src/tools/index.js";
import * as mcp from "../../src/tools/mcp/index.js";

const store = pawl.createMemoryStore();
const agent = pawl.createAgent({ model: testing.createScriptedModel([]), store });
// As a program in JavaScript passes them, or one whose variable is not set.
const none = {} as never;

const calls: readonly (readonly [call: string, option: string, make: () => unknown])[] = [
  ["createWorker()", "store", () => pawl.createWorker({ agents: [agent] } as never)],
  ["createWorker()", "agents", () => pawl.createWorker({ store } as never)],
  ["createEngine()", "agents", () => pawl.createEngine(none)],
  ["createClient()", "store", () => pawl.createClient(none)],
  ["createSchedules()", "store", () => pawl.createSchedules(none)],
  ["pruneSessions()", "before", () => pawl.pruneSessions(store, { now: 1 } as never)],
  ["pruneSessions()", "now", () => pawl.pruneSessions(store, { before: 1 } as never)],
  ["deleteSession()", "now", () => pawl.deleteSession(store, "s", none)],
  ["createOutbox()", "store", () => notices.createOutbox(none)],
  ["grantsFor()", "role", () => postgres.grantsFor(none)],
  ["remindMe()", "client", () => tools.remindMe(none)],
  ["An MCP server", "transport", () => mcp.connectMcpServer({ name: "m" } as never)],
  ["costs()", "atMost", () => evals.costs(none)],
  ["rubric()", "agent", () => evals.rubric({ rubric: "r" } as never)],
  ["rubric()", "rubric", () => evals.rubric({ agent } as never)],
  ["crashTest()", "agent", () => testing.crashTest({ input: "Go" } as never)],
  ["crashTest()", "input", () => testing.crashTest({ agent: () => agent } as never)],
  ["killTest()", "script", () => testing.killTest({ openStore: async () => store } as never)],
];

test.each(calls)("%s without its option %s says so", async (call, option, make) => {
  await expect((async () => make())()).rejects.toMatchObject({
    name: "PawlError",
    code: "bad_configuration",
    message: expect.stringMatching(
      new RegExp(`^${call.replace("()", "\\(\\)")} needs the option ${option}(?:: (?!a value)|\\.$)`),
    ),
  });
});

test("pruneSessions() without a time deletes nothing, and says what a time is", async () => {
  await agent.run("Go", { sessionId: "kept" });
  for (const before of [undefined, Number.NaN, new Date()])
    await expect(pawl.pruneSessions(store, { before: before as never, now: Date.now() })).rejects.toMatchObject({
      code: "bad_configuration",
      message: expect.stringMatching(/epoch milliseconds, such as Date\.now\(\)\.$/),
    });
  expect(await store.describe("kept")).not.toBeNull();
});

test("an engine that is given an agent says that it takes the agent's options", async () => {
  await expect(pawl.createEngine({ agents: [agent] as never })).rejects.toMatchObject({
    code: "bad_configuration",
    message: expect.stringContaining("Pass the options of each agent"),
  });
});
