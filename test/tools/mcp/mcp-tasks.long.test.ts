/**
 * A task of an MCP server, and a client that is killed before and after every commit.
 */
import { basename, join, resolve } from "node:path";
import { killTest } from "pawl/testing";
import { expect, test } from "vitest";
import { openSqliteStore } from "../../../src/stores/sqlite/index.js";
import { verifies } from "../../verifies.js";
import { asks, completed, newTask, startTaskServer, working } from "../task-server.js";

test("a killed client polls the task that it had begun, and calls the tool once", {
  timeout: 180_000,
  ...verifies("PROT-6#tasks", "REC-3"),
}, async () => {
  const calls: string[] = [];
  const server = await startTaskServer({
    call: ({ play }) => {
      calls.push(String(play));
      return newTask({ taskId: `task of ${play}` });
    },
    get: (poll, answers) => {
      if (poll === 1) return working();
      return "boxes" in answers ? completed(`Packed: ${JSON.stringify(answers.boxes)}`) : asks(["boxes"]);
    },
  });
  const report = await killTest({
    script: resolve("test/fixtures/mcp-task-agent.mjs"),
    args: [server.url],
    openStore: (folder) => openSqliteStore({ path: join(folder, "sessions.db") }),
    check({ folder, logs, at, stdout }) {
      const deaths = at.join(", ");
      expect(stdout, deaths).toBe("completed Sent.\n");
      // A kill between the server's reply and the commit leaves the outcome unknown: nothing is called again.
      expect(calls.filter((play) => play === basename(folder)).length, deaths).toBeLessThanOrEqual(1);
      const finished = (logs.get("pack") ?? []).filter(({ event }) => event.type === "tool_finished");
      expect(finished, deaths).toHaveLength(1);
      expect(JSON.stringify(finished), deaths).toMatch(/Packed: .*count.*3|it had begun in a process that died/);
    },
  });
  expect(report.kills).toBeGreaterThanOrEqual(10);
});
