/**
 * Several processes talk to one session, while one of them holds it, or after that one died.
 */
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.js";
import { createWorld, filterEvents, type Process, type World, waitUntil } from "./rig.js";

const script = [{ calls: [{ name: "work" }] }, { text: "First." }, { text: "Second." }, { text: "Third." }];

/** One process holds the session in a tool call, another is there. */
async function held(options: Partial<Parameters<World["start"]>[0]> = {}) {
  const world = await createWorld();
  const [holder, other] = await Promise.all([world.start({ script, ...options }), world.start({ script, ...options })]);
  await holder.call("hold", "s tool");
  const result = holder.call("run", "One", { sessionId: "s", runId: "one" });
  await holder.reached("s tool");
  return { world, holder, other, result };
}

async function runsOf(world: World): Promise<readonly string[]> {
  return (await world.log("s")).flatMap(({ event }) =>
    event.type === "run_started" || event.type === "run_finished" ? [`${event.type} ${event.runId}`] : [],
  );
}

const asksOf = (...processes: readonly Process[]) => processes.flatMap((one) => one.asked.map(({ asked }) => asked));

describe("a session that another process holds", verifies("LOOP-8#between-processes"), () => {
  test("takes a request as its next run, which the holder carries out", async () => {
    const { world, holder, other, result } = await held();
    const sent = await other.call<{ runId: string; isNew: boolean }>("send", "s", "Two", { runId: "two" });
    expect(sent).toEqual({ runId: "two", isNew: true });
    expect(await other.call("send", "s", "Two", { runId: "two" })).toEqual({ runId: "two", isNew: false });
    const second = other.call("run", "Two", { sessionId: "s", runId: "two" });
    await holder.call("open", "s tool");
    expect(await result).toMatchObject({ status: "completed", text: "First.", runId: "one" });
    expect(await second).toMatchObject({ status: "completed", text: "Second.", runId: "two" });
    expect(await runsOf(world)).toEqual(["run_started one", "run_finished one", "run_started two", "run_finished two"]);
    expect(other.asked).toEqual([]);
  });

  test("takes a steer before its next model call, and drops no call for it", async () => {
    const { world, holder, other, result } = await held();
    await other.call("steer", "s", "Be quick.");
    await waitUntil(async () => filterEvents(await world.log("s"), "steered").length > 0, "the holder did not hear it");
    await holder.call("open", "s tool");
    expect(await result).toMatchObject({ status: "completed" });
    expect(holder.asked.map(({ asked }) => asked)).toEqual(["One", "Be quick."]);
    expect(filterEvents(await world.log("s"), "tool_finished")).toMatchObject([{ outcome: "ok" }]);
  });

  test("is kept from ending by a steer that comes in its last model call", async () => {
    const world = await createWorld();
    const [holder, other] = await Promise.all([world.start({ script }), world.start({ script })]);
    await holder.call("hold", "s model 2");
    const result = holder.call("run", "One", { sessionId: "s" });
    await holder.reached("s model 2");
    await other.call("steer", "s", "One more thing.");
    await holder.call("open", "s model 2");
    expect(await result).toMatchObject({ status: "completed", text: "Second.", steps: 3 });
    expect(holder.asked.at(-1)?.asked).toBe("One more thing.");
  });

  test("is refused to a request that does not want to wait", async () => {
    const { world, holder, other, result } = await held();
    await expect(other.call("send", "s", "Two", { mode: "reject" })).rejects.toMatchObject({ code: "session_busy" });
    await holder.call("open", "s tool");
    expect(await result).toMatchObject({ status: "completed" });
    expect(await runsOf(world)).toEqual(["run_started one", "run_finished one"]);
  });

  test("keeps what is queued after an abort, and starts it with the next request", async () => {
    const { world, holder, other, result } = await held();
    await other.call("send", "s", "Two", { runId: "two" });
    await other.call("abort", "s", { by: "a person elsewhere" });
    expect(await result).toMatchObject({ status: "aborted" });
    expect(await runsOf(world)).toEqual(["run_started one", "run_finished one"]);
    expect(await holder.call("run", "Three", { sessionId: "s", runId: "three" })).toMatchObject({ runId: "three" });
    expect(await other.call("run", "Two", { sessionId: "s", runId: "two" })).toMatchObject({ runId: "two" });
    expect((await runsOf(world)).slice(2)).toEqual([
      "run_started three",
      "run_finished three",
      "run_started two",
      "run_finished two",
    ]);
  });
});

test(
  "six processes that all want runs of one session: no two interleave",
  verifies("LOOP-8#between-processes", "STOR-2"),
  async () => {
    const world = await createWorld();
    const all = await Promise.all(
      Array.from({ length: 6 }, () => world.start({ script: [{ calls: [{ name: "work" }] }] })),
    );
    const results = await Promise.all(
      all.flatMap((one, at) =>
        [1, 2].map((turn) => one.call("run", `${at}`, { sessionId: "s", runId: `run-${at}-${turn}` })),
      ),
    );
    expect(results.filter(({ status }) => status !== "completed")).toEqual([]);
    const runs = await runsOf(world);
    expect(runs).toHaveLength(24);
    for (let at = 0; at < runs.length; at += 2)
      expect(runs[at + 1]).toBe(runs[at]?.replace("run_started", "run_finished"));
    const log = await world.log("s");
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, at) => at + 1));
    expect(asksOf(...all)).toHaveLength(13);
    expect(await world.store.verify()).toEqual([]);
  },
);

describe("what is said to a session that another process holds", verifies("STOR-2"), () => {
  test("arrives once, however often it is sent, and wakes the holder: a message, an answer, an abort", async () => {
    const world = await createWorld();
    const risky = [{ calls: [{ name: "work" }, { name: "risky" }] }, { text: "Done." }];
    const [holder, ...others] = await Promise.all([1, 2, 3].map(() => world.start({ script: risky })));
    if (holder === undefined) throw new Error("There is no process.");
    await holder.call("hold", "s tool");
    const result = holder.call("run", "One", { sessionId: "s", runId: "one" });
    await holder.reached("s tool");
    const sent = await Promise.all(
      others.flatMap((one) => [1, 2].map(() => one.call<{ isNew: boolean }>("send", "s", "Two", { runId: "two" }))),
    );
    expect(sent.filter(({ isNew }) => isNew)).toHaveLength(1);
    const answers = await Promise.all(
      others.map((one) => one.call<string>("answer", "s", "one/1/2", { type: "approve" })),
    );
    expect([...answers].sort()).toEqual(["first", "second"]);
    // The holder hears it while its other call still runs.
    await others[0]?.call("abort", "s");
    expect(await result).toMatchObject({ status: "aborted" });
    const log = await world.log("s");
    expect(filterEvents(log, "run_queued")).toHaveLength(1);
    expect(filterEvents(log, "answered")).toHaveLength(1);
    expect(filterEvents(log, "abort_requested")).toHaveLength(1);
    expect(await world.store.inbox("s")).toEqual([]);
  });

  test("makes it due where the holder dies before it hears it", async () => {
    const { world, holder, other } = await held({ recover: "rerun" });
    await holder.stop();
    await other.call("send", "s", "Two", { runId: "two" });
    await other.call("steer", "s", "Be quick.");
    expect(await world.store.inbox("s")).toHaveLength(2);
    await Promise.all([holder.kill(), other.kill()]);
    const worker = await world.start({ script, recover: "rerun" });
    expect(await worker.call("due")).toEqual(["s"]);
    await worker.call("work");
    expect(await worker.call("due")).toEqual([]);
    expect(await world.store.inbox("s")).toEqual([]);
    expect(await runsOf(world)).toEqual(["run_started one", "run_finished one", "run_started two", "run_finished two"]);
    expect(filterEvents(await world.log("s"), "steered")).toHaveLength(1);
  });

  test("makes a session due that waits for a person, days after its process ended", async () => {
    const world = await createWorld();
    const risky = [{ calls: [{ name: "risky", input: { far: true } }] }, { text: "Done." }];
    const first = await world.start({ script: risky });
    expect(await first.call("run", "Go", { sessionId: "s", runId: "one" })).toMatchObject({ status: "awaiting_human" });
    await first.kill();
    const later = await world.start({ script: risky, clockOffsetMs: 9 * 24 * 3_600_000 });
    const [waiting] = await later.call<{ callKey: string; input: unknown }[]>("approvals", "s");
    expect(waiting).toMatchObject({ callKey: "one/1/1", input: { far: true } });
    await later.call("answer", "s", "one/1/1", { type: "approve" });
    const worker = await world.start({ script: risky, clockOffsetMs: 9 * 24 * 3_600_000 });
    await worker.call("work");
    expect(await worker.call("result", "s")).toMatchObject({ status: "completed", text: "Done." });
    expect(await later.call("answer", "s", "one/1/1", { type: "deny" })).toBe("second");
  });
});
