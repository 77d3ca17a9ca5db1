/**
 * A task of an MCP server, and a client that dies while it follows the task.
 */
import { join, resolve } from "node:path";
import { crashTest, killTest } from "pawl/testing";
import { expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../../src/index.js";
import { openSqliteStore } from "../../../src/stores/sqlite/index.js";
import { createScriptedModel } from "../../../src/testing/scripted-model.js";
import { connectMcpServer } from "../../../src/tools/mcp/index.js";
import { verifies } from "../../verifies.js";
import { asks, completed, newTask, startTaskServer, working } from "../task-server.js";

const proven = { timeout: 120_000, ...verifies("PROT-6#tasks", "REC-3") };

/** Works, asks once, and is completed with the answer. Each call gets a new task. */
async function startPacker() {
  const calls: string[] = [];
  let taskCount = 0;
  const server = await startTaskServer({
    call: () => {
      taskCount += 1;
      const taskId = `task ${taskCount}`;
      calls.push(taskId);
      return newTask({ taskId });
    },
    get: (poll, answers) => {
      if (poll === 1) return working();
      return "boxes" in answers ? completed(`Packed: ${JSON.stringify(answers.boxes)}`) : asks(["boxes"]);
    },
  });
  return { url: server.url, calls };
}

test(
  "a client that crashes at any commit polls the task that it had begun, and calls the tool once",
  proven,
  async () => {
    const { url, calls } = await startPacker();
    const { tools, close } = await connectMcpServer({ name: "s", trust: "all", transport: { type: "http", url } });
    onTestFinished(close);
    const model = () =>
      createScriptedModel(({ messages }) =>
        messages.some(({ role }) => role === "tool") ? { text: "Sent." } : { calls: [{ name: "s_pack" }] },
      );
    const report = await crashTest({
      agent: () => createAgent({ name: "packer", model: model(), tools: [...tools] }),
      input: "Pack.",
      reset: () => void calls.splice(0),
      respond: () => ({ type: "reply", value: { count: 3 } }),
      check({ result, log, at }) {
        const crashes = at.join(", ");
        expect(result, crashes).toMatchObject({ status: "completed", text: "Sent." });
        // A crash between the server's reply and the commit leaves the outcome unknown: the tool is not called again.
        expect(calls.length, crashes).toBeLessThanOrEqual(1);
        const finished = log.filter(({ event }) => event.type === "tool_finished");
        expect(finished, crashes).toHaveLength(1);
        expect(JSON.stringify(finished), crashes).toMatch(/Packed: .*count.*3|it had begun in a process that died/);
      },
    });
    expect(report.points).toBeGreaterThanOrEqual(16);
  },
);

test(
  "a client that is killed while it polls, asks and answers is followed by others, up to the result",
  proven,
  async () => {
    const { url, calls } = await startPacker();
    let output = "";
    const report = await killTest({
      script: resolve("test/fixtures/mcp-task-agent.mjs"),
      args: [url],
      openStore: (folder) => openSqliteStore({ path: join(folder, "sessions.db") }),
      // After the call, before and after the series of polls that ends with the question, and with the answer.
      kills: { at: ["after 5", "before 2", "after 2", "after 2"] },
      check({ logs, stdout }) {
        expect(stdout).toBe("completed Sent.\n");
        const events = (logs.get("pack") ?? []).map(({ event }) => event);
        const finished = events.find((event) => event.type === "tool_finished");
        output = finished?.output?.type === "text" ? finished.output.text : "";
      },
    });
    expect(report.kills).toBe(4);
    expect(output).toMatch(/Packed: .*count.*3/);
    expect(calls).toHaveLength(1);
  },
);
