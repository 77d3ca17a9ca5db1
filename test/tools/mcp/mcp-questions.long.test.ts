/**
 * Questions of MCP servers, which run as real child processes.
 */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { killTest } from "pawl/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type ApprovalDecision,
  createAgent,
  createClient,
  createMemoryStore,
  type Json,
  pendingApprovals,
  type Store,
} from "../../../src/index.js";
import { openSqliteStore } from "../../../src/stores/sqlite/index.js";
import { createScriptedModel } from "../../../src/testing/scripted-model.js";
import { connectMcpServer, type McpServerOptions } from "../../../src/tools/mcp/index.js";
import { resolveCheckTool } from "../../support/check-tools.js";
import { isInShare } from "../../support/share.js";
import { verifies } from "../../verifies.js";
import { createTempFolder } from "../folder.js";

const script = resolve("test/fixtures/mcp-asking-server.mjs");

async function connect(options: Partial<McpServerOptions> = {}, ...args: readonly string[]) {
  const ledger = join(createTempFolder(), "ledger");
  const transport = {
    type: "stdio",
    command: process.execPath,
    args: [script, ...args],
    env: { MCP_LEDGER: ledger },
  } as const;
  const server = await connectMcpServer({ name: "shop", transport, trust: "all", protocol: "auto", ...options });
  onTestFinished(server.close);
  const calls = () => readFileSync(ledger, "utf8").trim().split("\n");
  return { server, calls };
}

type Connected = Awaited<ReturnType<typeof connect>>["server"];

function agentOf(server: Connected, tool: string, store: Store = createMemoryStore()) {
  const model = createScriptedModel([{ calls: [{ name: `shop_${tool}` }] }, { text: "Done." }]);
  const agent = createAgent({ name: "buyer", model, tools: [...server.tools], store });
  const shown = () =>
    (model.requests.at(-1)?.messages ?? []).flatMap((message) =>
      message.role === "tool" ? message.parts.map(({ output }) => (output.type === "text" ? output.text : output)) : [],
    );
  return { agent, shown, session: agent.session("s"), run: () => agent.run("Go", { sessionId: "s", runId: "r" }) };
}

/** Answers all questions of a run until it ends. */
async function answerAll(
  { run, session }: ReturnType<typeof agentOf>,
  decide: (questionId: string) => ApprovalDecision,
) {
  let result = await run();
  const asked: (string | undefined)[] = [];
  while (result.status === "awaiting_human") {
    for (const { callKey, question, questionId = "" } of result.approvals) {
      asked.push(question);
      await session.answer(callKey, decide(questionId), { questionId });
    }
    result = await session.resume();
  }
  return { result, asked };
}

const reply = (value: Json): ApprovalDecision => ({ type: "reply", value });

describe("a server of 2026-07-28", () => {
  test("asks a person, and gets an answer that fits its schema", verifies("TOOL-13#mcp"), async () => {
    const { server, calls } = await connect();
    const { run, session, shown } = agentOf(server, "order");
    const asking = await run();
    const [question] = asking.status === "awaiting_human" ? asking.approvals : [];
    expect(question).toMatchObject({
      why: "tool",
      question: 'The MCP server "shop" asks: How many?',
      questionId: "question-1",
      schema: { type: "object", required: ["count"] },
    });
    const callKey = question?.callKey ?? "";
    await expect(session.answer(callKey, reply({ count: 0 }))).rejects.toMatchObject({ code: "bad_input" });
    expect(await session.answer(callKey, reply({ count: 3 }))).toBe("first");
    expect(await session.resume()).toMatchObject({ status: "completed" });
    expect(shown()).toEqual(['amount: {"count":3}, state of order']);
    expect(calls()).toEqual(["order", "order"]);
  });

  test("asks several questions at once, a page among them, and then more", async () => {
    const { server, calls } = await connect();
    const world = agentOf(server, "twice");
    const { result, asked } = await answerAll(world, (id) => reply(id === "question-2" ? true : { count: 1 }));
    expect(result).toMatchObject({ status: "completed" });
    expect(asked).toEqual([
      'The MCP server "shop" asks: First?',
      'The MCP server "shop" asks: Sign in. (A page is to be opened.)',
      'The MCP server "shop" asks: Third?',
    ]);
    expect(world.shown()).toEqual(['a: {"count":1}, b: "done", c: {"count":1}']);
    expect(calls()).toHaveLength(3);
  });

  test("is told that a person declined", async () => {
    const { server } = await connect();
    const world = agentOf(server, "order");
    await answerAll(world, () => ({ type: "decline", note: "No." }));
    expect(world.shown()).toEqual(["amount: decline, state of order"]);
  });

  test("is told the same in a run that asks nobody", async () => {
    const { server } = await connect();
    const { agent, shown } = agentOf(server, "order");
    expect(await agent.run("Go", { interactive: false })).toMatchObject({ status: "completed" });
    expect(shown()).toEqual(["amount: decline, state of order"]);
  });

  test("that asks nothing costs two steps of the log, and that is busy is called again", async () => {
    const { server, calls } = await connect();
    const store = createMemoryStore();
    const plain = agentOf(server, "plain", store);
    await plain.run();
    expect(plain.shown()).toEqual(["plain"]);
    const steps = (await store.read("s")).filter(({ event }) => event.type.startsWith("tool_step"));
    expect(steps.map(({ event }) => event.type)).toEqual(["tool_step_started", "tool_step_finished"]);
    const busy = agentOf(server, "busy");
    await busy.run();
    expect(busy.shown()).toEqual(["after wait"]);
    expect(calls()).toEqual(["plain", "busy", "busy"]);
  });

  test("gives a large result, which is not kept twice", async () => {
    const { server } = await connect();
    const store = createMemoryStore();
    const { run, shown } = agentOf(server, "large", store);
    await run();
    expect(shown()[0]).toMatch(/^x+\n?.*kept as output/s);
    const kept = (await store.read("s")).find(({ event }) => event.type === "tool_step_finished");
    expect(kept?.event).toMatchObject({ value: { type: "large" } });
  });

  test.for([
    ["endless", /gave no result after 10 rounds of questions/],
    ["sampling", /cannot go on: it asks for "sampling\/createMessage", which Pawl does not give/],
    ["unfit", /cannot go on: the schema of its question is not that of an object/],
    ["dies", /gave no result .*The server ended during the call, whose outcome is unknown/s],
  ] as const)("%s: the call has an error", async ([tool, error]) => {
    const { server } = await connect();
    const world = agentOf(server, tool);
    const { result } = await answerAll(world, () => reply({ count: 1 }));
    expect(result).toMatchObject({ status: "completed" });
    expect(world.shown()[0]).toMatch(error);
  });

  test("that changes a tool is noticed", verifies("SEC-10"), async () => {
    const { server } = await connect();
    const { run } = agentOf(server, "change");
    expect(server.changed()).toEqual([]);
    await run();
    await vi.waitFor(() => expect(server.changed()).toEqual(["order"]));
  });

  test("is asked for its protocol once, and is started without that unless this is wanted", async () => {
    const { server } = await connect({ protocol: "2025-11-25" }, "older");
    const older = agentOf(server, "plain");
    await older.run();
    expect(older.shown()).toEqual(["plain"]);
    await expect(connect({ protocol: "2026-07-28" }, "older")).rejects.toThrow(/cannot be reached.*2026-07-28/s);
    const { server: told } = await connect({}, "older");
    expect(told.tools.every(({ durable }) => durable === undefined)).toBe(true);
  });
});

async function allOf<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe("a server of 2025-11-25, which asks within its request", () => {
  const older = (options: Partial<McpServerOptions> = {}) => connect({ protocol: "2025-11-25", ...options }, "older");

  /** Starts a run, and waits until its tool has asked so many questions. */
  async function asking(server: Connected, tools: readonly string[], options: { readonly asked?: number } = {}) {
    const store = createMemoryStore();
    const model = createScriptedModel([{ calls: tools.map((tool) => ({ name: `shop_${tool}` })) }, { text: "Done." }]);
    const agent = createAgent({ name: "buyer", model, tools: [...server.tools], store });
    const run = agent.run("Go", { sessionId: "s", runId: "r" });
    const client = createClient({ store });
    const questions = await vi.waitFor(async () => {
      const pending = await client.session("s").pendingApprovals();
      expect(pending).toHaveLength(options.asked ?? 1);
      return pending;
    });
    const shown = () =>
      (model.requests.at(-1)?.messages ?? []).flatMap((message) =>
        message.role === "tool" ? message.parts.map(({ output }) => (output.type === "text" ? output.text : "")) : [],
      );
    return { store, agent, run, client: client.session("s"), questions, shown };
  }

  test("the answer comes from anywhere, and the run goes on", verifies("TOOL-13#mcp"), async () => {
    const { server, calls } = await older();
    const { store, run, client, questions, shown } = await asking(server, ["order"]);
    expect(questions).toMatchObject([
      { why: "tool", question: 'The MCP server "shop" asks: How many?', questionId: "question-1" },
    ]);
    const [listed] = await allOf(pendingApprovals(store));
    expect(listed).toMatchObject({ sessionId: "s", questionId: "question-1" });
    await expect(client.answer("r/1/1", reply({ count: 0 }))).rejects.toMatchObject({ code: "bad_input" });
    expect(await client.answer("r/1/1", reply({ count: 3 }))).toBe("first");
    expect(await client.answer("r/1/1", reply({ count: 4 }))).toBe("second");
    expect(await run).toMatchObject({ status: "completed" });
    expect(shown()).toEqual(['amount: {"count":3}']);
    expect(calls()).toEqual(["order", 'answered {"action":"accept","content":{"count":3}}']);
    expect(await allOf(pendingApprovals(store))).toEqual([]);
  });

  test("is told that a person declined, that nobody answered in time, and that nobody can be asked", async () => {
    const { server } = await older();
    const declined = await asking(server, ["order"]);
    await declined.client.answer("r/1/1", { type: "decline" });
    await declined.run;
    expect(declined.shown()).toEqual(["amount: decline"]);
    const { server: hasty } = await older({ answerTimeoutMs: 50 });
    const late = agentOf(hasty, "order");
    expect(await late.run()).toMatchObject({ status: "completed" });
    expect(late.shown()).toEqual(["amount: cancel"]);
    const { agent, shown } = agentOf(server, "order");
    await agent.run("Go", { interactive: false });
    expect(shown()).toEqual(["amount: decline"]);
  });

  test("a server that waits for a person is not silent", async () => {
    const { server } = await older({ timeoutMs: 200 });
    const { agent, run, client, shown } = await asking(server, ["order", "hangs"]);
    // The call beside it ends when the server has been silent for too long.
    for await (const event of agent.session("s").events({ after: 0 })) if (event.type === "tool_result") break;
    await client.answer("r/1/1", reply({ count: 3 }));
    await run;
    expect(shown()).toEqual(['amount: {"count":3}', expect.stringMatching(/gave no result .*said nothing for 200 ms/)]);
  });

  test("a question that outlives the call under which it was asked is asked again under the next", async () => {
    const { server } = await older();
    const { agent, run, client, shown, store } = await asking(server, ["order", "order"], { asked: 2 });
    // The server does not say which call asks, so both stand under the first. Its end leaves one for the second.
    expect((await client.pendingApprovals()).map(({ callKey }) => callKey)).toEqual(["r/1/1", "r/1/1"]);
    await client.answer("r/1/1", reply({ count: 1 }), { questionId: "question-1" });
    const moved = await vi.waitFor(async () => {
      const [question] = await client.pendingApprovals();
      expect(question?.callKey).toBe("r/1/2");
      return question;
    });
    await client.answer("r/1/2", reply({ count: 2 }), { questionId: moved?.questionId ?? "" });
    expect(await run).toMatchObject({ status: "completed" });
    expect(shown()).toEqual(['amount: {"count":1}', 'amount: {"count":2}']);
    expect(await agent.session("s").pendingApprovals()).toEqual([]);
    expect((await store.read("s")).at(-1)?.event.type).toBe("run_finished");
  });

  test("an abort ends the question and the request", async () => {
    const { server, calls } = await older();
    const { run, client } = await asking(server, ["order"]);
    await client.abort();
    expect(await run).toMatchObject({ status: "aborted" });
    expect(await client.pendingApprovals()).toEqual([]);
    await vi.waitFor(() => expect(calls()).toContain("cancelled"));
  });

  test("the published server of the MCP project asks", verifies("TOOL-13#mcp"), async () => {
    const script = resolveCheckTool("@modelcontextprotocol/server-everything/dist/index.js");
    const server = await connectMcpServer({
      name: "shop",
      trust: "all",
      transport: { type: "stdio", command: process.execPath, args: [script] },
    });
    onTestFinished(server.close);
    const { run, client, questions, shown } = await asking(server, ["trigger-elicitation-request"]);
    expect(questions[0]?.schema).toMatchObject({ type: "object", required: ["name"] });
    await client.answer("r/1/1", reply({ name: "Ada" }));
    await run;
    expect(shown()[0]).toContain("Ada");
  });
});

describe("in a process that is killed before and after every commit", () => {
  test.for([
    ["2026-07-28", /"amount: .*count|it had begun in a process that died/, isInShare(0)],
    ["2025-11-25", /"amount: .*count|interrupted/, isInShare(1)],
  ] as const)(
    "%s: no request is repeated",
    { timeout: 300_000, ...verifies("TOOL-13#mcp", "REC-3") },
    async ([protocol, ends, isWhole]) => {
      const report = await killTest({
        script: resolve("test/fixtures/mcp-agent.mjs"),
        args: [protocol],
        openStore: (folder) => openSqliteStore({ path: join(folder, "sessions.db") }),
        // Continuous integration kills it at every commit in one commit of three, and now and then in the others.
        kills: isWhole ? "commits" : { random: 3 },
        check({ folder, logs, at, stdout }) {
          const deaths = at.join(", ");
          expect(stdout, deaths).toBe("completed Ordered.\n");
          const events = (logs.get("order") ?? []).map(({ event }) => event);
          const ledger = join(folder, "ledger");
          const requests = existsSync(ledger) ? readFileSync(ledger, "utf8").match(/^order$/gm) : [];
          const rounds =
            protocol === "2025-11-25" ? 1 : events.filter(({ type }) => type === "tool_step_started").length;
          expect(requests?.length ?? 0, deaths).toBeLessThanOrEqual(rounds);
          const finished = events.filter((event) => event.type === "tool_finished");
          expect(finished, deaths).toHaveLength(1);
          expect(JSON.stringify(finished), deaths).toMatch(ends);
        },
      });
      expect(report.kills).toBeGreaterThanOrEqual(isWhole ? 10 : 3);
    },
  );
});
