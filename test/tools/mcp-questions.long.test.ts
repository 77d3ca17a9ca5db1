/**
 * Questions of MCP servers, which run as real child processes.
 */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { killTest } from "pawl/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type ApprovalDecision, createAgent, createMemoryStore, type Json, type Store } from "../../src/index.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { connectMcpServer, type McpServerOptions } from "../../src/tools/mcp/index.js";
import { verifies } from "../verifies.js";
import { createFolder } from "./folder.js";

const script = resolve("test/fixtures/mcp-asking-server.mjs");

async function connect(options: Partial<McpServerOptions> = {}, ...args: readonly string[]) {
  const ledger = join(createFolder(), "ledger");
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

test("in a process that is killed before and after every commit", verifies("TOOL-13#mcp", "REC-3"), async () => {
  const report = await killTest({
    script: resolve("test/fixtures/mcp-agent.mjs"),
    openStore: (folder) => openSqliteStore({ path: join(folder, "sessions.db") }),
    check({ folder, logs, at, stdout }) {
      const deaths = at.join(", ");
      expect(stdout, deaths).toBe("completed Ordered.\n");
      const events = (logs.get("order") ?? []).map(({ event }) => event);
      // No request is repeated: three rounds, or fewer if the process died within one.
      const ledger = join(folder, "ledger");
      const requests = existsSync(ledger) ? readFileSync(ledger, "utf8").trim().split("\n") : [];
      const begun = events.filter(({ type }) => type === "tool_step_started").length;
      expect(requests.length, deaths).toBeLessThanOrEqual(begun);
      const finished = events.find((event) => event.type === "tool_finished");
      expect(JSON.stringify(finished?.output), deaths).toMatch(
        /a: .*count.*c: .*count|it had begun in a process that died/,
      );
    },
  });
  expect(report.kills).toBeGreaterThanOrEqual(20);
});
