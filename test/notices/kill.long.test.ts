/**
 * A notice outlives the worker that is killed while it delivers it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { createAgent, createWorker } from "../../src/index.js";
import { createNotices, createOutbox } from "../../src/notices/index.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createDeferred } from "../support/agents.js";
import { verifies } from "../verifies.js";
import { local, secret, startReceiver } from "./receiver.js";

const script = fileURLToPath(new URL("../fixtures/notice-worker.mjs", import.meta.url));

test(
  "a worker that is killed before it is answered leaves the notice to another",
  verifies("TIME-6#kill"),
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "pawl-notices-"));
    const path = join(folder, "sessions.db");
    const reached = createDeferred();
    const { received, url } = await startReceiver((count) => {
      if (count > 1) return 204;
      reached.resolve();
      return new Promise<number>(() => {});
    });
    const child: ChildProcess = spawn(process.execPath, [script, path, url, secret], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    onTestFinished(async () => {
      child.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    });
    const store = await openSqliteStore({ path });
    const outbox = createOutbox({ store });
    await expect.poll(() => outbox.destinations()).toEqual(["desk"]);
    const agent = createAgent({
      name: "press",
      model: createScriptedModel(() => ({ text: "Nothing is new." })),
      store,
    });
    await agent.session("s").send("What is new?");
    await reached.promise;
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    const [left] = await outbox.list();
    expect(left).toMatchObject({ destination: "desk", sessionId: "s", tries: 1, notice: { type: "run.ended" } });

    const clock = createTestClock(left?.dueAt ?? 0);
    clock.jump(-1);
    const notices = createNotices([{ id: "desk", url, secret }], local);
    const worker = createWorker({ store, agents: [agent], clock, notices });
    // The killed worker may still be at it.
    await worker.runUntilIdle();
    expect(received).toHaveLength(1);
    clock.jump(1);
    await worker.runUntilIdle();
    expect(received.map(({ headers }) => headers["webhook-id"])).toEqual([
      received[0]?.headers["webhook-id"],
      received[0]?.headers["webhook-id"],
    ]);
    expect(await outbox.list()).toEqual([]);
    expect(await store.verify()).toEqual([]);
    await agent.shutdown();
    await store.close();
  },
);
