/**
 * A real process that is killed while it waits for another attempt.
 */
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { createWorld } from "../cli/pawl.js";
import { startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";

test("a process that is killed while it waits loses nothing", verifies("RTRY-3", "REC-3"), async () => {
  const server = await startProviderServer("openai-chat", [
    { type: "answer", text: "First.", calls: [{ name: "shell", input: { command: "echo a >> effects" } }] },
    { type: "failure", failure: "overloaded", headers: { "retry-after": "5" } },
    { type: "answer", text: "All done." },
  ]);
  onTestFinished(() => server.close());
  const world = createWorld();
  const env = { OPENAI_BASE_URL: server.baseURL };
  const flags = ["--model", "openai-compatible/test", "--yes", "--allow-shell"];
  const running = world.start(["run", "work", "--session", "s", ...flags], { env, input: "" });
  await running.said("Trying again in 5");
  running.kill("SIGKILL");
  await running.ended;

  const store = await openSqliteStore({ path: join(world.home, "sessions.db") });
  onTestFinished(() => store.close());
  const [failed] = (await store.read("s")).flatMap(({ event }) => (event.type === "model_failed" ? [event] : []));
  const until = (failed?.at ?? 0) + 5_000;
  expect((await store.load("s"))?.state).toMatchObject({ backoff: { until, ms: 5_000 } });
  // Its holder is dead, and so nobody holds it; it is due when the wait is over.
  expect(await store.due(until - 1, 10, () => true)).toEqual([]);
  expect(await store.due(until, 10, () => true)).toEqual(["s"]);

  const resumed = await world.pawl(["resume", "s", ...flags], { env });
  expect(resumed).toMatchObject({ code: 0, stdout: expect.stringContaining("All done.") });
  const log = await store.read("s");
  const [woke] = log.flatMap(({ event }) => (event.type === "timer_fired" ? [event] : []));
  expect(woke?.at).toBeGreaterThanOrEqual(until);
  const ended = log.flatMap(({ event }) => (event.type === "model_finished" ? [event] : []));
  expect(ended.map(({ modelCallIndex, attempt }) => [modelCallIndex, attempt])).toEqual([
    [1, 1],
    [2, 2],
  ]);
  expect(server.requests).toHaveLength(3);
});
