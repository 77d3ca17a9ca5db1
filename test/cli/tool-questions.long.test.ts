/**
 * Questions of a tool on the command line: each answer comes from a process of its own.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createAgent, defineTool } from "pawl";
import { openSqliteStore } from "pawl/sqlite";
import { createScriptedModel } from "pawl/testing";
import { expect, test } from "vitest";
import { verifies } from "../verifies.js";
import { createWorld, parseJsonLines } from "./pawl.js";

const pay = defineTool({
  name: "pay",
  description: "Pays.",
  input: { type: "object" },
  durable: true,
  async execute(_input, { ask }) {
    const [account, note] = await Promise.all([
      ask({ name: "account", message: "From which account?", schema: { type: "string", enum: ["DE01", "DE02"] } }),
      ask({ name: "note", message: "Which note?" }),
    ]);
    return `${JSON.stringify(account)} ${JSON.stringify(note)}`;
  },
});

/** Does something with the agent in a process that ends with it. */
async function withAgent<Result>(home: string, work: (agent: ReturnType<typeof createAgent>) => Promise<Result>) {
  const store = await openSqliteStore({ path: join(home, "sessions.db") });
  const model = createScriptedModel(({ messages }) =>
    messages.some(({ role }) => role === "tool") ? { text: "Paid." } : { calls: [{ name: "pay" }] },
  );
  try {
    return {
      result: await work(createAgent({ name: "payer", model, tools: [pay], store })),
      log: await store.read("s"),
    };
  } finally {
    await store.close();
  }
}

test(
  "are listed, answered one by one, and refused if they do not fit",
  verifies("TOOL-13#ask", "CLI-4#part-2"),
  async () => {
    const { pawl, home } = createWorld();
    mkdirSync(home, { recursive: true });
    const asked = await withAgent(home, (agent) => agent.run("Pay.", { sessionId: "s", runId: "r" }));
    expect(asked.result.status).toBe("awaiting_human");

    const listed = parseJsonLines((await pawl(["approvals", "--json"])).stdout);
    expect(listed).toMatchObject([
      { questionId: "account", question: "From which account?", schema: { enum: ["DE01", "DE02"] } },
      { questionId: "note", question: "Which note?" },
    ]);
    const several = await pawl(["approve", "s/1/1", "--reply", "DE02"]);
    expect(several.code).not.toBe(0);
    expect(several.stderr).toMatch(/--question/);
    const unfit = await pawl(["approve", "s/1/1", "--question", "account", "--reply", "DE03"]);
    expect(unfit.code).toBe(2);
    expect(unfit.stderr).toContain('must be one of "DE01" or "DE02"; got "DE03"');
    expect(await pawl(["approve", "s/1/1", "--question", "account", "--reply", "DE02", "--by", "ada"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Answered s\/1\/1/),
    });
    expect(await pawl(["deny", "s/1/1", "--question", "note", "--note", "none needed"])).toMatchObject({ code: 0 });
    expect(parseJsonLines((await pawl(["approvals", "--json"])).stdout)).toEqual([]);

    const paid = await withAgent(home, (agent) => agent.session("s").resume());
    expect(paid.result).toMatchObject({ status: "completed", text: "Paid." });
    const finished = paid.log.find(({ event }) => event.type === "tool_finished");
    const output = JSON.stringify(finished?.event).replaceAll("\\", "");
    expect(output).toContain('{"type":"answered","value":"DE02","by":"ada"}');
    expect(output).toContain('{"type":"declined","note":"none needed"}');
  },
);
