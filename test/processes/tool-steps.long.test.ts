/**
 * A durable tool in a process that is killed before and after every commit, on SQLite.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { killTest } from "pawl/testing";
import { expect, test } from "vitest";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { verifies } from "../verifies.js";

const script = fileURLToPath(new URL("../fixtures/durable-agent.mjs", import.meta.url));

test("no recorded step of a killed process runs again", verifies("TOOL-12", "TOOL-13#ask", "REC-3"), async () => {
  const report = await killTest({
    script,
    openStore: (folder) => openSqliteStore({ path: join(folder, "sessions.db") }),
    check({ folder, logs, at, stdout }) {
      const deaths = at.join(", ");
      expect(stdout, deaths).toBe("completed Ordered.\n");
      const events = (logs.get("order") ?? []).map(({ event }) => event);
      const recorded = new Map(
        events.flatMap((event) => (event.type === "tool_step_finished" ? [[event.step, event.attempt] as const] : [])),
      );
      expect([...recorded.keys()].sort(), deaths).toEqual(["a", "b", "charge", "price", "send"]);
      const ran = readFileSync(join(folder, "steps"), "utf8").trimEnd().split("\n");
      for (const line of ran) {
        const [step = "", attempt] = line.split(" ");
        expect(Number(attempt), `${step}, ${deaths}`).toBeLessThanOrEqual(recorded.get(step) ?? 0);
      }
      expect(ran.filter((line) => line.startsWith("charge")).length, deaths).toBeLessThanOrEqual(1);
      const finished = events.find((event) => event.type === "tool_finished");
      expect(JSON.stringify(finished?.output), deaths).toMatch(/10 (charged|step_in_doubt) true sent/);
    },
  });
  expect(report.kills).toBeGreaterThanOrEqual(16);
});
