/**
 * A server that is lost for good, and a standby that takes its place: with what was committed, and without the last of it.
 */
import { describe, expect, onTestFinished, test } from "vitest";
import { createAgent, createClient } from "../../src/index.js";
import { openPostgresStore } from "../../src/stores/postgres/index.js";
import { bob, claim, createCommit } from "../../src/testing/conformance/bench.js";
import { checkSession, createScriptedModel } from "../../src/testing/index.js";
import { filterEvents, waitUntil } from "../processes/rig.js";
import { createGateTool } from "../support/agents.js";
import { startCuttingProxy } from "../support/cutting-proxy.js";
import { hasPostgres, startPostgres, startReplica } from "../support/postgres.js";
import { verifies } from "../verifies.js";

/** Longer than any test: leases go by the server's clock, which is the real one here. */
const leaseMs = 3_600_000;

/** A server and its standby. Programs reach whichever is the first now by one address. */
async function pair() {
  const primary = await startPostgres();
  const standby = await startReplica(primary.url);
  const proxy = await startCuttingProxy(Number(new URL(primary.url).port));
  const url = primary.url.replace(/:\d+\//, `:${proxy.port}/`);
  const store = await openPostgresStore({ url, busyMs: 30_000 });
  onTestFinished(async () => {
    await store.close();
    await proxy.close();
    await standby.close();
    await primary.close();
  });
  return {
    primary,
    standby,
    store,
    url,
    /** The first server dies with its machine, and the standby is the first from now on. */
    async failOver() {
      await primary.kill();
      await standby.promote();
      proxy.retarget(Number(new URL(standby.url).port));
    },
  };
}

describe.runIf(hasPostgres)("a standby that is promoted", () => {
  test("has all that was committed, if it is a synchronous one, and runs go on", verifies("DIST-1#kills"), async () => {
    const { primary, store, failOver } = await pair();
    await primary.run("ALTER SYSTEM SET synchronous_standby_names = 'replica'");
    await primary.run("SELECT pg_reload_conf()");
    const isSynchronous = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
    await waitUntil(async () => (await primary.run(isSynchronous)).length === 1, "there is no synchronous standby");
    const gate = createGateTool();
    const model = createScriptedModel(({ sessionId, messages }) =>
      sessionId === "s" && messages.length === 1 ? { calls: [{ name: "gate" }] } : { text: "Done." },
    );
    const agent = createAgent({ model, tools: [gate.tool], store });
    const result = agent.run("Go", { sessionId: "s" });
    await gate.started;
    const posted = await createClient({ store }).session("other").send("Later", { agent: "agent" });
    const before = await store.read("s");
    await failOver();
    gate.open("worked");
    expect(await result).toMatchObject({ status: "completed", text: "Done." });
    expect((await store.read("s")).slice(0, before.length)).toEqual(before);
    expect(await agent.session("other").resume()).toMatchObject({ runId: posted.runId, status: "completed" });
    expect(gate.runs()).toBe(1);
    await checkSession(store, "s");
    expect(await store.verify()).toEqual([]);
  });

  test(
    "without the last commits goes on from an earlier step, and a call whose result is lost has the same key",
    verifies("DIST-1#kills"),
    async () => {
      const { primary, standby, store, failOver } = await pair();
      const keys: string[] = [];
      const first = createGateTool("first");
      const last = createGateTool("last");
      const look = {
        ...first.tool,
        name: "look",
        recover: "rerun" as const,
        execute: (_: unknown, { idempotencyKey }: { readonly idempotencyKey: string }) => {
          keys.push(idempotencyKey);
          return "seen";
        },
      };
      const script = [
        { calls: [{ name: "first" }] },
        { calls: [{ name: "look" }] },
        { calls: [{ name: "last" }] },
        { text: "Done." },
      ];
      const model = createScriptedModel(
        ({ messages }) => script[messages.filter(({ role }) => role === "assistant").length] ?? { text: "Beyond." },
      );
      const newAgent = () => createAgent({ model, tools: [first.tool, look, last.tool], store });
      const lost = newAgent().run("Go", { sessionId: "s", runId: "2026-03" });
      await first.started;
      await caughtUp(primary, standby);
      await cutOff(standby);
      first.open("worked");
      await last.started;
      expect(keys).toHaveLength(1);
      const seqBefore = (await store.describe("s"))?.seq ?? 0;
      await failOver();
      const seqAfter = (await store.describe("s"))?.seq ?? 0;
      expect(seqAfter).toBeLessThan(seqBefore);
      last.open("too late");
      expect(await lost).toMatchObject({ status: "interrupted", reason: "lease_lost", resumable: true });
      const result = await newAgent().session("s").resume();
      expect(result).toMatchObject({ status: "completed", text: "Done." });
      expect(new Set(keys)).toEqual(new Set(["s/2026-03/2/1"]));
      expect(filterEvents(await store.read("s"), "restarted")).toHaveLength(1);
      await checkSession(store, "s");
      expect(await store.verify()).toEqual([]);
    },
  );

  test("gives an epoch again, and still lets one holder write", verifies("DIST-2#clocks"), async () => {
    const { primary, standby, store, failOver } = await pair();
    await claim(store, "before", { leaseMs });
    await caughtUp(primary, standby);
    await cutOff(standby);
    // PostgreSQL logs a sequence 32 numbers ahead: more claims than that are lost, and their epochs given again.
    for (let number = 0; number < 40; number += 1) await claim(store, `lost ${number}`, { leaseMs });
    const lease = await claim(store, "s", { leaseMs });
    expect(await store.commit(lease, createCommit(0))).toEqual({ type: "ok", seq: 1 });
    await failOver();
    let other = await claim(store, "s", { holder: bob, leaseMs });
    for (; other.epoch < lease.epoch; other = await claim(store, "s", { holder: bob, leaseMs }))
      await store.release(other);
    expect(other.epoch).toBe(lease.epoch);
    expect(await store.commit(lease, createCommit(0))).toEqual({ type: "fenced" });
    expect(await store.renew([lease], Date.now(), leaseMs)).toEqual(["s"]);
    expect(await store.commit(other, createCommit(0))).toEqual({ type: "ok", seq: 1 });
  });
});

type Server = Awaited<ReturnType<typeof startPostgres>>;

/** The standby has everything that was committed until now. */
async function caughtUp(primary: Server, standby: Server): Promise<void> {
  const [row] = await primary.run("SELECT pg_current_wal_lsn()::text AS lsn");
  const reached = `SELECT 1 WHERE pg_last_wal_replay_lsn() >= '${row?.lsn}'`;
  await waitUntil(async () => (await standby.run(reached)).length === 1, "the standby does not follow");
}

/** It hears nothing of the first server from now on. */
async function cutOff(standby: Server): Promise<void> {
  await standby.run("ALTER SYSTEM SET primary_conninfo = ''");
  await standby.run("SELECT pg_reload_conf()");
  const receiver = "SELECT 1 FROM pg_stat_wal_receiver";
  await waitUntil(async () => (await standby.run(receiver)).length === 0, "the standby still follows");
}
