/**
 * Processes with agents on one PostgreSQL database: killed at every place, with clocks that differ, and while the server itself is killed.
 */
import { describe, expect, onTestFinished, test } from "vitest";
import { createAgent, createClient, createWorker, type Store, type WorkerReport } from "../../src/index.js";
import { migrate, openPostgresStore } from "../../src/stores/postgres/index.js";
import { claim, createCommit, createMessage } from "../../src/testing/conformance/bench.js";
import { checkSession, createScriptedModel } from "../../src/testing/index.js";
import { createWorld, filterEvents, type ProcessOptions, type World, waitUntil } from "../processes/rig.js";
import { createEchoTool } from "../support/agents.js";
import { createDatabase, hasPostgres, lockSessions, usePostgres } from "../support/postgres.js";
import { verifies } from "../verifies.js";

const script = [{ calls: [{ name: "work" }] }, { text: "Done." }];
const completed = { status: "completed", text: "Done." };

/** The same store, which counts what is asked of it. */
function counted<Name extends "claim" | "load" | "inbox">(store: Store, counts: { [Each in Name]: number }): Store {
  return new Proxy(store, {
    get(_, name) {
      const member: unknown = Reflect.get(store, name);
      if (typeof name !== "string" || !Object.hasOwn(counts, name)) return member;
      return (...given: readonly unknown[]) => {
        counts[name as Name] += 1;
        return (member as (...all: readonly unknown[]) => unknown)(...given);
      };
    },
  });
}

/** Nothing is lost, nothing is left over, and no effect with a key happened twice. */
async function checkAll(world: World, sessions: number): Promise<void> {
  const all = await world.store.list();
  expect(all).toHaveLength(sessions);
  for (const { sessionId, status, activity, inbox } of all) {
    expect({ sessionId, status, activity, inbox }).toEqual({
      sessionId,
      status: "completed",
      activity: "resting",
      inbox: 0,
    });
    await checkSession(world.store, sessionId);
  }
  const keys = world.effects().map((line) => line.split(" ").slice(0, -1).join(" "));
  expect(keys).toHaveLength(new Set(keys).size);
  expect(await world.store.verify()).toEqual([]);
  expect(await world.store.due(Date.now() + 3_600_000, 100)).toEqual([]);
}

describe.runIf(hasPostgres)("processes on one PostgreSQL database", () => {
  const server = usePostgres(["fsync=off"]);
  const newWorld = async () => createWorld(await createDatabase(server()));

  /** Starts a run, and kills its process where it has reached a point. */
  async function killedAt(point: string, options: Partial<ProcessOptions> = {}): Promise<World> {
    const world = await newWorld();
    const killed = await world.start({ script, ...options });
    await killed.call("hold", point);
    killed.call("run", "Go", { sessionId: "s", runId: "r" }).catch(() => {});
    await killed.reached(point);
    await killed.kill();
    return world;
  }

  describe("after kill -9 of a process", verifies("DIST-1#kills", "DIST-2#death"), () => {
    test.each(["s model 1", "s tool", "s model 2"])("at %s, another carries the run on at once", async (point) => {
      const world = await killedAt(point);
      const heir = await world.start({ script });
      expect(await heir.call("due")).toEqual(["s"]);
      await heir.call("work");
      expect(await heir.call("result", "s")).toMatchObject(completed);
      await checkAll(world, 1);
    });

    test.each([1, 2, 3, 4].flatMap((commit) => [`s before ${commit}`, `s after ${commit}`]))(
      "%s, another carries the run on",
      async (point) => {
        const world = await killedAt(point);
        const heir = await world.start({ script });
        expect(await heir.call("run", "Go", { sessionId: "s", runId: "r" })).toMatchObject(completed);
        await checkAll(world, 1);
      },
    );

    const asking = [{ calls: [{ name: "risky" }] }, { text: "Done." }];

    test("while it waited for a person, and after the answer, the answer counts", async () => {
      const world = await newWorld();
      const asker = await world.start({ script: asking });
      expect(await asker.call("run", "Go", { sessionId: "s", runId: "r" })).toMatchObject({ status: "awaiting_human" });
      await asker.kill();
      const person = await world.start({ script: asking });
      await person.call("hold", "s before 1");
      const answered = person.call("answer", "s", "r/1/1", { type: "approve" }, { by: "anna" });
      await Promise.race([answered, person.reached("s before 1")]);
      await person.kill();
      expect((await world.store.describe("s"))?.inbox).toBe(1);
      const heir = await world.start({ script: asking });
      await heir.call("work");
      expect(await heir.call("result", "s")).toMatchObject(completed);
      expect(filterEvents(await world.log("s"), "answered")).toMatchObject([{ by: "anna", callKey: "r/1/1" }]);
      await checkAll(world, 1);
    });

    test("of another host, the run is taken over when its lease ends", async () => {
      const world = await newWorld();
      const holder = { id: "far", host: "far away", pid: 1, startedAt: 1 };
      const client = createClient({ store: world.store });
      await client.session("s").send("Go", { agent: "agent" });
      // Started first: a process may take longer to start than the lease lasts.
      const heir = await world.start({ script });
      const lease = await claim(world.store, "s", { holder, leaseMs: 1_500 });
      expect(await heir.call("due")).toEqual([]);
      await waitUntil(async () => (await world.store.due(Date.now(), 1)).length === 1, "its lease does not end");
      await heir.call("work");
      expect(await heir.call("result", "s")).toMatchObject(completed);
      expect(await world.store.commit(lease, createCommit(0))).toEqual({ type: "fenced" });
      await checkAll(world, 1);
    });
  });

  test.each([
    { holder: -16_000, other: 0 },
    { holder: 16_000, other: 0 },
    { holder: -16_000, other: 16_000 },
    { holder: 16_000, other: -16_000 },
  ])(
    "clocks that differ take no session over: holder $holder ms, other $other ms",
    verifies("DIST-2#clocks"),
    async (clocks) => {
      const world = await newWorld();
      // A lease of the usual length, which is shorter than the clocks differ.
      const leaseMs = 15_000;
      const holder = await world.start({ script, leaseMs, clockOffsetMs: clocks.holder });
      await holder.call("hold", "s tool");
      const result = holder.call("run", "Go", { sessionId: "s", runId: "r" });
      await holder.reached("s tool");
      const other = await world.start({ script, leaseMs, clockOffsetMs: clocks.other });
      expect(await other.call("due")).toEqual([]);
      const followed = other.call("resume", "s");
      await other.reached("s held");
      await holder.call("open", "s tool");
      expect(await result).toMatchObject(completed);
      expect(await followed).toMatchObject(completed);
      expect(filterEvents(await world.log("s"), "restarted")).toEqual([]);
      await checkAll(world, 1);
    },
  );

  test(
    "one that is stopped past its lease and woken writes nothing and starts nothing",
    verifies("DIST-2#clocks"),
    async () => {
      const world = await newWorld();
      const options = { script, leaseMs: 1_500 };
      const [sleeper, other] = [await world.start(options), await world.start(options)];
      for (const point of ["tool", "model 2", "before 3", "after 3"]) {
        const run = { sessionId: `at ${point}`, runId: `r ${point}` };
        await sleeper.call("hold", `${run.sessionId} ${point}`);
        const result = sleeper.call("run", "Go", run);
        await sleeper.reached(`${run.sessionId} ${point}`);
        await sleeper.stop();
        // The other waits for the lease to pass.
        expect(await other.call("run", "Go", run), point).toMatchObject(completed);
        const log = await world.log(run.sessionId);
        const before = { effects: world.effects(), asked: [...sleeper.asked] };
        sleeper.wake();
        await sleeper.call("open", `${run.sessionId} ${point}`);
        expect(await result, point).toMatchObject({ status: "interrupted", reason: "lease_lost" });
        expect(await world.log(run.sessionId), point).toEqual(log);
        expect({ effects: world.effects(), asked: sleeper.asked }, point).toEqual(before);
      }
      expect(await world.store.verify()).toEqual([]);
    },
  );

  test("a message that comes while its session is released is never left lying", verifies("STOR-2"), async () => {
    const url = await createDatabase(server());
    const [holder, sender] = [await openPostgresStore({ url }), await openPostgresStore({ url })];
    onTestFinished(async () => {
      await holder.close();
      await sender.close();
    });
    const outcomes = new Set<string>();
    for (let round = 0; round < 150; round += 1) {
      const sessionId = `s${round}`;
      const lease = await claim(holder, sessionId, { leaseMs: 3_600_000 });
      const releasing = holder.commit(lease, createCommit(0, { activity: "resting", release: true }));
      const [result] = await Promise.all([releasing, sender.post(sessionId, createMessage("m"))]);
      outcomes.add(result.type);
      const isDue = (await sender.due(Date.now(), 1_000)).includes(sessionId);
      // Either the holder is told that there is something left, or somebody else is.
      expect({ round, type: result.type, isDue }).toEqual({ round, type: result.type, isDue: result.type === "ok" });
      expect((await sender.inbox(sessionId)).length).toBe(1);
    }
    expect([...outcomes].every((type) => type === "ok" || type === "inbox_not_empty")).toBe(true);
  });

  test(
    "four workers claim each session about once, read it as often, and refuse none",
    verifies("DIST-2#death"),
    async () => {
      const url = await createDatabase(server());
      const reports: WorkerReport[] = [];
      const counts = { claim: 0, load: 0, inbox: 0 };
      const stores = await Promise.all(
        Array.from({ length: 4 }, async () => counted(await openPostgresStore({ url }), counts)),
      );
      const workers = stores.map((store) => {
        const model = createScriptedModel(({ messages }) =>
          messages.at(-1)?.role === "user" ? { calls: [{ name: "echo", input: {} }] } : { text: "Done." },
        );
        const agents = [createAgent({ name: "agent", model, tools: [createEchoTool().tool], store })];
        return createWorker({ store, agents, concurrency: 10, onReport: (report) => reports.push(report) });
      });
      const sender = await openPostgresStore({ url });
      const client = createClient({ store: sender });
      const ids = Array.from({ length: 60 }, (_, index) => `s${index}`);
      const working = workers.map((worker) => worker.run());
      await Promise.all(ids.map((id) => client.session(id).send("Go", { agent: "agent" })));
      await waitUntil(
        async () => (await sender.list({ status: ["completed"] })).length === ids.length,
        "some are not done",
      );
      await Promise.all(workers.map((worker) => worker.stop()));
      await Promise.all(working);
      const idsOf = (type: WorkerReport["type"]) =>
        reports
          .flatMap((report) => (report.type === type && "sessionId" in report ? [report.sessionId] : []))
          .toSorted();
      expect(idsOf("refused")).toEqual([]);
      expect(idsOf("taken")).toEqual(ids.toSorted());
      // If each of them claims all that it sees, it is 4 claims. An inbox is also read after the claim, before a run ends and at a hint.
      expect(counts.claim / ids.length).toBeLessThan(2.5);
      expect(counts.load / ids.length).toBeLessThan(2.5);
      expect(counts.inbox / ids.length).toBeLessThan(6);
      for (const id of ids) await checkSession(sender, id);
      await Promise.all([...stores, sender].map((one) => one.close()));
    },
  );

  test(
    "four workers, two of them killed again and again, share the sessions",
    verifies("DIST-1#kills", "DIST-2#death"),
    async () => {
      const world = await newWorld();
      const client = createClient({ store: world.store });
      const sessions = 40;
      for (let number = 0; number < sessions; number += 1)
        await client.session(`s${number}`).send("Go", { agent: "agent", runId: `r${number}` });
      const steady = [await world.start({ script }), await world.start({ script })];
      const work = steady.map((one) => one.call("work"));
      for (let life = 0; life < 6; life += 1) {
        const doomed = await world.start({ script });
        const point = `s${life * 5 + 3} ${life % 2 === 0 ? "tool" : "model 2"}`;
        await doomed.call("hold", point);
        void doomed.call("work").catch(() => {});
        // Whether it gets as far depends on the others.
        await Promise.race([doomed.reached(point).catch(() => {}), doomed.call("due"), ...work]);
        await doomed.kill();
      }
      await Promise.all(work);
      await steady[0]?.call("work");
      await checkAll(world, sessions);
    },
  );
});

describe.runIf(hasPostgres)("a server that is killed", verifies("DIST-1#kills"), () => {
  const server = usePostgres();

  test.each(["whole", "postmaster"] as const)(
    "and started again in the middle of runs is waited for, and nothing is lost: %s",
    async (what) => {
      const world = await createWorld(await createDatabase(server()));
      const worker = await world.start({ script, busyMs: 30_000 });
      const results: Promise<unknown>[] = [];
      for (const [index, point] of ["tool", "model 1", "model 2"].entries()) {
        await worker.call("hold", `s${index} ${point}`);
        results.push(worker.call("run", "Go", { sessionId: `s${index}` }));
        await worker.reached(`s${index} ${point}`);
      }
      await server().kill(what);
      for (const [index, point] of ["tool", "model 1", "model 2"].entries())
        await worker.call("open", `s${index} ${point}`);
      await server().restart();
      for (const result of results) expect(await result).toMatchObject(completed);
      await checkAll(world, 3);
    },
  );

  test("for longer than the lease: the holder goes on with what it held, if nobody was quicker", async () => {
    const url = await createDatabase(server());
    const world = await createWorld(url);
    const database = url.split("/").at(-1) ?? "";
    const worker = await world.start({ script, busyMs: 60_000, leaseMs: 1_000 });
    await worker.call("hold", "s tool");
    const result = worker.call("run", "Go", { sessionId: "s" });
    await worker.reached("s tool");
    const [held] = await server().run("SELECT lease_until AS until FROM pawl.sessions", database);
    const { until: end } = held as { readonly until: number };
    await server().kill();
    // The server's clock is that of this machine. A renewal that was under way may have moved the end by a lease.
    await waitUntil(async () => Date.now() > end + 1_000, "the lease has not run out");
    await worker.call("open", "s tool");
    await server().restart();
    expect(await result).toMatchObject(completed);
    const heir = await world.start({ script });
    await heir.call("work");
    await checkAll(world, 1);
  });

  test("for longer than the patience interrupts runs, which are due then", async () => {
    const world = await createWorld(await createDatabase(server()));
    const worker = await world.start({ script, busyMs: 100, leaseMs: 2_000 });
    await worker.call("hold", "s tool");
    const result = worker.call("run", "Go", { sessionId: "s" });
    await worker.reached("s tool");
    await server().kill();
    await worker.call("open", "s tool");
    expect(await result).toMatchObject({ status: "interrupted", resumable: true });
    await server().restart();
    const heir = await world.start({ script });
    await waitUntil(async () => (await world.store.due(Date.now(), 1)).length === 1, "the session is not due");
    await heir.call("work");
    expect(await heir.call("result", "s")).toMatchObject({ status: "completed" });
    await checkAll(world, 1);
  });

  test("a statement that takes too long is sent again, and gives busy when the patience ends", async () => {
    const url = await createDatabase(server());
    const database = url.split("/").at(-1) ?? "";
    await server().run(`ALTER DATABASE ${database} SET statement_timeout = '1s'`);
    await migrate({ url });
    const patient = await openPostgresStore({ url, busyMs: 60_000 });
    const hasty = await openPostgresStore({ url, busyMs: 50 });
    onTestFinished(async () => {
      await patient.close();
      await hasty.close();
    });
    const lease = await claim(patient, "s", { leaseMs: 3_600_000 });
    const release = await lockSessions(server(), database);
    expect(await hasty.commit(lease, createCommit(0))).toEqual({ type: "busy" });
    const committing = patient.commit(lease, createCommit(0));
    const starts = new Set<unknown>();
    await waitUntil(async () => {
      const waiting = "SELECT query_start::text AS at FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
      for (const { at } of await server().run(waiting, database)) starts.add(at);
      return starts.size > 1;
    }, "the statement is not sent again");
    await release();
    expect(await committing).toEqual({ type: "ok", seq: 1 });
    expect(await patient.read("s")).toHaveLength(1);
  });
});
