/**
 * The process of a tool call is killed, and another carries the run on: each way of recovery, with real processes.
 */
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.js";
import { createWorld, filterEvents, type Process, type ProcessOptions, type World } from "./rig.js";

const script = [{ calls: [{ name: "work" }] }, { text: "Done." }];

/** Kills a process in its tool call; gives another that opens the same file. */
async function killInTool(options: Omit<ProcessOptions, "script">): Promise<{ world: World; heir: Process }> {
  const world = await createWorld();
  const killed = await world.start({ script, ...options });
  await killed.call("hold", "s tool");
  const result = killed.call("run", "Go", { sessionId: "s", runId: "r" });
  await killed.reached("s tool");
  await killed.kill();
  result.catch(() => {});
  expect(world.effects()).toEqual(["s/r/1/1 1"]);
  return { world, heir: await world.start({ script, ...options }) };
}

async function resultsOf(world: World) {
  return filterEvents(await world.log("s"), "tool_finished").map(({ outcome, output }) => ({
    outcome,
    text: output?.type === "text" ? output.text : undefined,
  }));
}

const completed = { status: "completed", text: "Done.", runId: "r" };

describe("after kill -9 in a tool call", verifies("REC-4"), () => {
  test("rerun: it runs again, with the same key", async () => {
    const { world, heir } = await killInTool({ recover: "rerun" });
    expect(await heir.call("resume", "s")).toMatchObject(completed);
    expect(world.effects()).toEqual(["s/r/1/1 1", "s/r/1/1 2"]);
    expect(await resultsOf(world)).toEqual([{ outcome: "ok", text: "worked in attempt 2" }]);
  });

  test("fail, the default: the model is told that the outcome is unknown", async () => {
    for (const options of [{}, { recover: "fail" }] as const) {
      const { world, heir } = await killInTool(options);
      expect(await heir.call("resume", "s")).toMatchObject(completed);
      expect(world.effects()).toEqual(["s/r/1/1 1"]);
      expect(await resultsOf(world)).toMatchObject([{ outcome: "interrupted" }]);
    }
  });

  test("reconcile: the outside world says what became of it", async () => {
    for (const [found, results, effects] of [
      [{ status: "finished", output: "it is booked" }, [{ outcome: "ok", text: "it is booked" }], ["s/r/1/1 1"]],
      [
        { status: "finished", output: "refused", isError: true },
        [{ outcome: "error", text: "refused" }],
        ["s/r/1/1 1"],
      ],
      [{ status: "not_started" }, [{ outcome: "ok", text: "worked in attempt 2" }], ["s/r/1/1 1", "s/r/1/1 2"]],
    ] as const) {
      const { world, heir } = await killInTool({ recover: "reconcile" });
      world.writeReconciled(found);
      expect(await heir.call("resume", "s")).toMatchObject(completed);
      expect(heir.reconciled).toEqual(["s/r/1/1"]);
      expect(await resultsOf(world)).toEqual(results);
      expect(world.effects()).toEqual(effects);
    }
  });

  test("reconcile that is killed itself is asked again", async () => {
    const { world, heir } = await killInTool({ recover: "reconcile" });
    world.writeReconciled({ status: "finished", output: "it is booked" });
    // Its third commit would hold what was found.
    await heir.call("hold", "s before 2");
    void heir.call("resume", "s");
    await heir.reached("s before 2");
    await heir.kill();
    expect(heir.reconciled).toEqual(["s/r/1/1"]);
    const next = await world.start({ script, recover: "reconcile" });
    expect(await next.call("resume", "s")).toMatchObject(completed);
    expect(next.reconciled).toEqual(["s/r/1/1"]);
    expect(world.effects()).toEqual(["s/r/1/1 1"]);
  });

  const answers = [
    { decision: { type: "rerun" }, results: [{ outcome: "ok", text: "worked in attempt 2" }], effects: 2 },
    {
      decision: { type: "result", output: "it is booked" },
      results: [{ outcome: "ok" }],
      effects: 1,
    },
    { decision: { type: "fail" }, results: [{ outcome: "interrupted" }], effects: 1 },
  ] as const;

  test.each(answers)(
    "ask: a person says $decision.type, in a third process",
    async ({ decision, results, effects }) => {
      const { world, heir } = await killInTool({ recover: "ask" });
      const waiting = await heir.call("resume", "s");
      expect(waiting).toMatchObject({ status: "awaiting_human", approvals: [{ callKey: "r/1/1", why: "recovery" }] });
      await heir.kill();
      const person = await world.start({ script, recover: "ask" });
      expect(await person.call("approvals", "s")).toMatchObject([{ callKey: "r/1/1", name: "work", why: "recovery" }]);
      await expect(person.call("answer", "s", "r/1/1", { type: "modify", input: {} })).rejects.toMatchObject({
        code: "bad_input",
      });
      expect(await person.call("answer", "s", "r/1/1", decision, { by: "anna" })).toBe("first");
      expect(await person.call("run", "Go", { sessionId: "s", runId: "r" })).toMatchObject(completed);
      expect(await resultsOf(world)).toMatchObject(results);
      expect(world.effects()).toHaveLength(effects);
      expect(filterEvents(await world.log("s"), "answered")).toMatchObject([{ by: "anna", callKey: "r/1/1" }]);
    },
  );

  test("reconcile that does not know asks a person", async () => {
    const { world, heir } = await killInTool({ recover: "reconcile" });
    world.writeReconciled({ status: "unknown" });
    expect(await heir.call("resume", "s")).toMatchObject({
      status: "awaiting_human",
      approvals: [{ why: "recovery" }],
    });
    expect(await heir.call("answer", "s", "r/1/1", { type: "result", output: "found it" })).toBe("first");
    expect(await heir.call("run", "Go", { sessionId: "s", runId: "r" })).toMatchObject(completed);
    expect(world.effects()).toHaveLength(1);
  });
});

describe("a session of another process", verifies("REC-5"), () => {
  test("is refused to another agent, model or folder as its own says, and left as it was", async () => {
    const world = await createWorld();
    const holder = await world.start({ script, name: "holder", root: "/project" });
    await holder.call("hold", "s tool");
    const result = holder.call("run", "Go", { sessionId: "s", runId: "r" });
    await holder.reached("s tool");
    const log = await world.log("s");
    for (const [options, code] of [
      [{ name: "stranger", root: "/project" }, "agent_mismatch"],
      [{ name: "holder", root: "/elsewhere" }, "root_mismatch"],
    ] as const) {
      const other = await world.start({ script, ...options });
      for (const [command, ...args] of [
        ["resume", "s"],
        ["run", "Go", { sessionId: "s" }],
        ["send", "s", "Go"],
        ["steer", "s", "Go"],
        ["abort", "s"],
      ] as const)
        await expect(other.call(command, ...args), command).rejects.toMatchObject({ code });
      expect(other.asked).toEqual([]);
    }
    expect(await world.log("s")).toEqual(log);
    expect(await world.store.inbox("s")).toEqual([]);
    await holder.call("open", "s tool");
    expect(await result).toMatchObject(completed);
  });

  test("that is held is attached to; one that has ended is refused", async () => {
    const world = await createWorld();
    const [holder, other] = await Promise.all([world.start({ script }), world.start({ script })]);
    await holder.call("hold", "s tool");
    const result = holder.call("run", "Go", { sessionId: "s", runId: "r" });
    await holder.reached("s tool");
    const attached = other.call("resume", "s");
    await other.reached("s held");
    await holder.call("open", "s tool");
    expect(await attached).toEqual(await result);
    expect(other.asked).toEqual([]);
    await expect(other.call("resume", "s")).rejects.toMatchObject({ code: "run_finished" });
  });
});
