/**
 * Processes that are stopped past their lease and woken, machines that sleep, and clocks that are wrong.
 */
import { describe, expect, test } from "vitest";
import type { RunResult } from "../../src/index.js";
import { verifies } from "../verifies.js";
import { createWorld, filterEvents, type Process, type World, waitUntil } from "./rig.js";

const script = [{ calls: [{ name: "work" }] }, { text: "Done." }];
/** For a process whose lease is to pass. Where others may keep theirs, they do, however busy the machine is. */
const short = { script, leaseMs: 800 };
const yearMs = 365 * 24 * 3_600_000;

/** Starts a run, and holds it at a point. The result comes when the point is opened. */
async function runUpTo(process: Process, sessionId: string, point: string): Promise<{ result: Promise<RunResult> }> {
  await process.call("hold", `${sessionId} ${point}`);
  const result = process.call("run", "Go", { sessionId, runId: `run ${sessionId}` });
  await process.reached(`${sessionId} ${point}`);
  return { result };
}

/** What must hold of a log, whoever wrote it. @param maxSteps a message that comes after the last answer makes another step */
function checkLog(log: Awaited<ReturnType<World["log"]>>, maxSteps = 2): void {
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_, at) => at + 1));
  expect(filterEvents(log, "run_finished")).toHaveLength(1);
  expect(filterEvents(log, "tool_finished")).toHaveLength(1);
  const steps = filterEvents(log, "model_finished").map(({ modelCallIndex }) => modelCallIndex);
  expect(steps).toEqual([1, 2, 3].slice(0, Math.min(Math.max(2, steps.length), maxSteps)));
}

const commits = [1, 2, 3, 4];
const points = ["model 1", "tool", "model 2", ...commits.flatMap((at) => [`before ${at}`, `after ${at}`])];

describe("of three processes on one file, one is stopped past its lease and woken", () => {
  test(`at ${points.length} points: it writes nothing, and starts nothing`, verifies("REC-1"), async () => {
    const world = await createWorld();
    const [sleeper, ...others] = await Promise.all([
      world.start(short),
      world.start({ script }),
      world.start({ script }),
    ]);
    for (const point of points) {
      const sessionId = `stopped ${point}`;
      const { result } = await runUpTo(sleeper, sessionId, point);
      await sleeper.stop();
      // They wait for the lease to pass: the session shows who took it.
      const taken = others.map((other) => other.call("run", "Go", { sessionId, runId: `run ${sessionId}` }));
      for (const one of await Promise.all(taken))
        expect(one, point).toMatchObject({ status: "completed", text: "Done." });
      const log = await world.log(sessionId);
      const before = { effects: world.effects(), asked: [...sleeper.asked] };
      sleeper.wake();
      await sleeper.call("open", `${sessionId} ${point}`);
      const lost = { status: "interrupted", reason: "lease_lost" };
      expect(await result, point).toMatchObject(point === "after 4" ? { status: "completed" } : lost);
      expect(await world.log(sessionId), point).toEqual(log);
      expect({ effects: world.effects(), asked: sleeper.asked }, point).toEqual(before);
      checkLog(log);
      // Where the call was to run and had not begun, nobody can know that: it counts as interrupted.
      const done = world.effects().filter((line) => line.includes(`/run ${sessionId}/`)).length;
      expect(done, point).toBe(point === "after 2" ? 0 : 1);
    }
    expect(await world.store.verify()).toEqual([]);
  });

  test("what it is told meanwhile is not lost", verifies("REC-1", "STOR-2"), async () => {
    const world = await createWorld();
    const [sleeper, other] = await Promise.all([
      world.start(short),
      world.start({ script: [...script, { text: "Done." }] }),
    ]);
    const { result } = await runUpTo(sleeper, "s", "tool");
    await sleeper.stop();
    // On a busy machine the lease may have passed by now: then this takes the session over, and the message may come after the answer.
    await other.call("steer", "s", "Be quick.");
    const attached = { sessionId: "s", runId: "run s" };
    expect(await other.call("run", "Go", attached)).toMatchObject({ status: "completed", text: "Done." });
    sleeper.wake();
    expect(await result).toMatchObject({ status: "interrupted", reason: "lease_lost" });
    const log = await world.log("s");
    checkLog(log, 3);
    expect(filterEvents(log, "steered")).toHaveLength(1);
    // It can attach to what the other did, and talk to the session again.
    expect(await sleeper.call("run", "Go", attached)).toMatchObject({ status: "completed" });
    expect(await sleeper.call("run", "More", { sessionId: "s" })).toMatchObject({ status: "completed" });
  });
});

describe("a machine that sleeps", () => {
  /** The store says that the session is due: its lease has passed. */
  const untilDue = (world: World) =>
    waitUntil(async () => (await world.store.due(Date.now(), 10)).includes("s"), "the lease did not pass");

  test("carries on with what it held when it wakes", verifies("REC-1", "REC-9"), async () => {
    const world = await createWorld();
    const process = await world.start(short);
    const { result } = await runUpTo(process, "s", "tool");
    await process.stop();
    await untilDue(world);
    process.wake();
    await process.call("open", "s tool");
    expect(await result).toMatchObject({ status: "completed", text: "Done." });
    const log = await world.log("s");
    checkLog(log);
    expect(filterEvents(log, "restarted")).toEqual([]);
    expect(world.effects()).toEqual(["s/run s/1/1 1"]);
  });

  test.each([
    { how: "all processes stopped", jumpMs: 0 },
    { how: "the clock set forward by a night", jumpMs: 8 * 3_600_000 },
    { how: "the clock set back by a night", jumpMs: -8 * 3_600_000 },
  ])(
    "with several processes: one of them finishes the run, once ($how)",
    verifies("REC-1", "REC-9"),
    async ({ jumpMs }) => {
      const world = await createWorld();
      const all = await Promise.all([1, 2, 3].map(() => world.start(short)));
      const [holder, ...others] = all;
      if (holder === undefined) throw new Error("There is no process.");
      const { result } = await runUpTo(holder, "s", "tool");
      const waiting = others.map((other) => other.call("run", "Go", { sessionId: "s", runId: "run s" }));
      if (jumpMs === 0) {
        for (const one of all) await one.stop();
        await untilDue(world);
        for (const one of all) one.wake();
      } else await Promise.all(all.map((one) => one.call("jump", jumpMs)));
      await holder.call("open", "s tool");
      const heard = await Promise.all(waiting);
      expect(heard).toContainEqual(expect.objectContaining({ status: "completed", text: "Done." }));
      // One that took over may have slept past its lease as well, on a machine that is busy.
      for (const one of heard) if (one.status !== "completed") expect(one).toMatchObject({ reason: "lease_lost" });
      // Who woke first went on with it: the holder, or another, and then the holder wrote nothing more.
      const log = await world.log("s");
      const own = await result;
      const isTaken = filterEvents(log, "restarted").length > 0;
      expect(own.status).toBe(isTaken ? "interrupted" : "completed");
      checkLog(log);
      expect(world.effects()).toEqual(["s/run s/1/1 1"]);
      expect(await world.store.verify()).toEqual([]);
    },
  );
});

describe("a clock that is a year off", () => {
  const ways = [
    { how: "ahead", clockOffsetMs: yearMs },
    { how: "behind", clockOffsetMs: -yearMs },
  ];

  test.each(ways)(
    "$how, of a process that died: the session is carried on at once",
    verifies("REC-3", "REC-9"),
    async ({ clockOffsetMs }) => {
      const world = await createWorld();
      const wrong = await world.start({ script, clockOffsetMs });
      await runUpTo(wrong, "s", "tool");
      await wrong.kill();
      const right = await world.start({ script });
      expect(await right.call("due")).toEqual(["s"]);
      expect(await right.call("resume", "s")).toMatchObject({ status: "completed", text: "Done." });
      checkLog(await world.log("s"));
    },
  );

  test.each(ways)(
    "$how, of one that takes a session over: it carries on as any other",
    verifies("REC-3", "REC-9"),
    async ({ clockOffsetMs }) => {
      const world = await createWorld();
      const right = await world.start({ script });
      await runUpTo(right, "s", "tool");
      await right.kill();
      const wrong = await world.start({ script, clockOffsetMs });
      expect(await wrong.call("due")).toEqual(["s"]);
      expect(await wrong.call("resume", "s")).toMatchObject({ status: "completed", text: "Done." });
      checkLog(await world.log("s"));
    },
  );

  test.each(ways)(
    "$how, beside one that is right: one of them writes, and the other is told",
    verifies("REC-1", "REC-9"),
    async ({ clockOffsetMs }) => {
      const world = await createWorld();
      const wrong = await world.start({ script, clockOffsetMs });
      const right = await world.start({ script });
      const { result } = await runUpTo(wrong, "s", "tool");
      // By the right clock no lease runs: it ended long ago, or ends in a year.
      expect(await right.call("resume", "s")).toMatchObject({ status: "completed", text: "Done." });
      const log = await world.log("s");
      await wrong.call("open", "s tool");
      expect(await result).toMatchObject({ status: "interrupted", reason: "lease_lost" });
      expect(await world.log("s")).toEqual(log);
      checkLog(log);
      expect(world.effects()).toEqual(["s/run s/1/1 1"]);
    },
  );
});
