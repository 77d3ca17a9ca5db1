/**
 * A store behind PgBouncer in transaction mode, which hands each statement to another connection.
 */
import { describe, expect, onTestFinished, test } from "vitest";
import { createAgent, defineTool } from "../../src/index.js";
import { openPostgresStore } from "../../src/stores/postgres/index.js";
import { claim, createCommit, createMessage } from "../../src/testing/conformance/bench.js";
import { checkSession, createScriptedModel } from "../../src/testing/index.js";
import { waitUntil } from "../processes/rig.js";
import { createDatabase, hasPgBouncer, hasPostgres, startPgBouncer, usePostgres } from "../support/postgres.js";
import { verifies } from "../verifies.js";

describe.runIf(hasPostgres && hasPgBouncer)("a store behind PgBouncer", () => {
  const server = usePostgres(["fsync=off"]);

  test(
    "runs many sessions on two connections, and hears others by an address of its own",
    verifies("DIST-1#conformance"),
    async () => {
      const url = await createDatabase(server());
      const pooler = await startPgBouncer(url);
      const direct = await openPostgresStore({ url });
      const store = await openPostgresStore({ url: pooler.url, listenUrl: url, pollMs: 3_600_000 });
      onTestFinished(async () => {
        await store.close();
        await direct.close();
        await pooler.close();
      });
      const tool = defineTool({
        name: "work",
        description: "Works.",
        input: { type: "object" },
        execute: () => "worked",
      });
      const model = createScriptedModel(({ messages }) =>
        messages.at(-1)?.role === "user" ? { calls: [{ name: "work" }] } : { text: "Done." },
      );
      const agent = createAgent({ model, tools: [tool], store });
      const ids = Array.from({ length: 20 }, (_, number) => `s${number}`);
      const results = await Promise.all(ids.map((sessionId) => agent.run("Go", { sessionId })));
      expect(results.map(({ status }) => status)).toEqual(ids.map(() => "completed"));
      for (const id of ids) await checkSession(direct, id);
      const heard = new Promise<void>((resolve) => {
        store.watch(({ sessionId }) => (sessionId === "other" ? resolve() : undefined));
      });
      await direct.post("other", { id: "m", at: 1, body: { type: "abort" } });
      await heard;
    },
  );

  test(
    "finds out what became of a commit when the server behind the pooler is killed",
    verifies("DIST-2#outcome"),
    async () => {
      const url = await createDatabase(server());
      const pooler = await startPgBouncer(url);
      const store = await openPostgresStore({ url: pooler.url, listenUrl: url, busyMs: 30_000 });
      onTestFinished(async () => {
        await store.close();
        await pooler.close();
      });
      const lease = await claim(store, "s", { leaseMs: 3_600_000 });
      const database = url.split("/").at(-1) ?? "";
      const blocked = server().run("BEGIN; SELECT 1 FROM pawl.sessions FOR UPDATE; SELECT pg_sleep(60)", database);
      blocked.catch(() => {});
      const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%append%'";
      const locked = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
      await waitUntil(async () => (await server().run(locked, database)).length === 1, "the row is not locked");
      const committing = store.commit(lease, createCommit(0));
      const posting = store.post("s", createMessage("m"));
      await waitUntil(async () => (await server().run(waiting, database)).length === 1, "the commit does not wait");
      await server().kill();
      await server().restart();
      expect(await committing).toEqual({ type: "ok", seq: 1 });
      expect(await posting).toEqual({ type: "posted" });
      expect(await store.read("s")).toHaveLength(1);
    },
  );

  // A pooler keeps statements for minutes while its server is away. With the time limit of this test, that is too long.
  test("gives up what the pooler keeps while its server is away, and works again when it is back", {
    ...verifies("DIST-1#kills"),
    timeout: 28_000,
  }, async () => {
    const url = await createDatabase(server());
    const pooler = await startPgBouncer(url);
    const store = await openPostgresStore({ url: pooler.url, listenUrl: url, busyMs: 100 });
    onTestFinished(async () => {
      await store.close();
      await pooler.close();
    });
    await claim(store, "s", { leaseMs: 3_600_000 });
    await server().kill();
    const failing = [store.describe("s"), store.list(), store.asking(), store.post("s", createMessage("m"))];
    for (const one of await Promise.allSettled(failing))
      expect(one).toMatchObject({ status: "rejected", reason: { code: "store_failed" } });
    await server().restart();
    await waitUntil(
      () =>
        store.describe("s").then(
          (found) => found?.sessionId === "s",
          () => false,
        ),
      "it does not answer",
    );
  });
});
