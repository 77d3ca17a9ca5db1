/**
 * A run with tools of its own, whose process is killed: another process carries it on, with its tools or without them.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { createAgent, createWorker, defineTool, type Store } from "../../src/index.js";
import { traceSession } from "../../src/inspect.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { collect } from "../support/agents.js";

const program = fileURLToPath(new URL("../fixtures/run-tools.mjs", import.meta.url));

/** The store of a process that was killed in a call of the run's tool, and the file with the calls. */
async function killed(): Promise<{ readonly store: Store; readonly calls: string }> {
  const folder = mkdtempSync(join(tmpdir(), "pawl-run-tools-"));
  const child = fork(program, { cwd: folder });
  await once(child, "message");
  child.kill("SIGKILL");
  await once(child, "exit");
  const store = await openSqliteStore({ path: join(folder, "sessions.db") });
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });
  return { store, calls: join(folder, "calls") };
}

const heirOf = (store: Store) =>
  createAgent({ name: "desk", store, model: createScriptedModel([{ text: "It is on its way." }]) });

test("a run whose process was killed goes on with its tool, if that is given again, and in its trace", async () => {
  const { store, calls } = await killed();
  const track = defineTool({
    name: "track",
    description: "Tracks.",
    input: { type: "object" },
    execute: () => appendFileSync(calls, "again\n"),
  });
  const heir = heirOf(store);
  const result = await heir.session("s").resume({ tools: [track] });
  expect(result).toMatchObject({ status: "completed", text: "It is on its way." });
  expect(readFileSync(calls, "utf8")).toBe("killed\nagain\n");
  const records = await traceSession(store, "s");
  expect(new Set(records.map(({ traceId }) => traceId))).toEqual(new Set(["4bf92f3577b34da6a3ce929d0e0e4736"]));
  await heir.shutdown();
});

test("a worker without the tool goes on without it: the model and the log say so", async () => {
  const { store, calls } = await killed();
  const heir = heirOf(store);
  await createWorker({ store, agents: [heir] }).runUntilIdle();
  expect(await heir.session("s").result("r")).toMatchObject({ status: "completed" });
  expect(readFileSync(calls, "utf8")).toBe("killed\n");
  const events = await collect(heir.session("s").events({ follow: false }));
  const [result] = events.filter((event) => event.type === "tool_result");
  expect(JSON.stringify(result)).toContain("'track' was given to this run alone");
  expect(events.filter((event) => event.type === "hook_failed")).toMatchObject([{ name: "tool track" }]);
  await heir.shutdown();
});
