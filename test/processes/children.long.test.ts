/**
 * An agent as a tool, with real processes: parent and child are sessions of their own, and die in any order.
 */
import { describe, expect, test } from "vitest";
import { deriveChildId } from "../../src/runtime/effects/children.js";
import { isInShare } from "../support/share.js";
import { verifies } from "../verifies.js";
import {
  createWorld,
  filterEvents,
  forEachConcurrently,
  type Process,
  type ProcessOptions,
  type World,
  waitUntil,
} from "./rig.js";

const family: ProcessOptions = {
  script: [{ calls: [{ name: "helper", input: { task: "Help." } }] }, { text: "Done." }],
  childScript: [{ calls: [{ name: "work" }] }, { text: "Helped." }],
  recover: "rerun",
};
const child = deriveChildId("p", "r/1/1");
const completed = { status: "completed", text: "Done.", runId: "r" };

async function begin(options: ProcessOptions, point: string): Promise<{ world: World; first: Process }> {
  const world = await createWorld();
  const first = await world.start(options);
  await first.call("hold", point);
  void first.call("run", "Go", { sessionId: "p", runId: "r" });
  await first.reached(point);
  return { world, first };
}

async function checkFamily(world: World): Promise<void> {
  for (const sessionId of ["p", child]) {
    const log = await world.log(sessionId);
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, at) => at + 1));
    expect(filterEvents(log, "run_finished")).toHaveLength(1);
    expect(filterEvents(log, "tool_finished")).toHaveLength(1);
  }
  expect(filterEvents(await world.log("p"), "tool_finished")).toMatchObject([
    { callKey: "r/1/1", outcome: "ok", output: { text: "Helped." } },
  ]);
  expect((await world.store.list()).map(({ sessionId }) => sessionId).sort()).toEqual(["p", child].sort());
  expect(await world.store.verify()).toEqual([]);
}

describe("parent and child", verifies("TOOL-11"), () => {
  /** Every commit of the parent and of the child, and the two model calls and the tool of the child. */
  const points = [
    ...["before 2", "after 2", "before 3", "after 3", "before 4", "after 4", "model 1", "model 2"].map(
      (at) => `p ${at}`,
    ),
    ...["before 1", "after 1", "before 2", "after 2", "before 3", "after 3", "before 4", "after 4", "before 5"].map(
      (at) => `${child} ${at}`,
    ),
    `${child} tool`,
    `${child} model 2`,
  ];

  test("their process is killed at every point: a worker that has the parent's agent carries both on", {
    ...verifies("TOOL-11"),
    timeout: 300_000,
  }, async () => {
    const played = points.filter((_, at) => isInShare(at));
    const reached: string[] = [];
    await forEachConcurrently(played, 2, async (point) => {
      const { world, first } = await begin(family, point);
      await first.kill();
      const worker = await world.start(family);
      await worker.call("work");
      expect(await worker.call("result", "p"), point).toMatchObject(completed);
      await checkFamily(world);
      // The same call asks the same child: nothing was asked twice.
      expect(filterEvents(await world.log(child), "run_started"), point).toHaveLength(1);
      expect(new Set(world.effects().map((line) => line.split(" ")[0])).size, point).toBe(1);
      reached.push(point);
    });
    expect(reached).toHaveLength(played.length);
  });

  test("the child asks a person, and their process is killed at every point: whoever resumes the parent is told", {
    ...verifies("AGENT-2"),
    timeout: 300_000,
  }, async () => {
    const asking: ProcessOptions = {
      script: family.script,
      childScript: [{ calls: [{ name: "risky", input: { deep: 1 } }] }, { text: "Helped." }],
    };
    const commits = [
      ...[1, 2, 3].map((number) => `${child} @ ${number}`),
      ...[2, 3, 4].map((number) => `p @ ${number}`),
    ];
    const moments = commits.flatMap((commit) => [commit.replace("@", "before"), commit.replace("@", "after")]);
    const played = moments.filter((_, at) => isInShare(at));
    await forEachConcurrently(played, 2, async (point) => {
      const { world, first } = await begin(asking, point);
      await first.kill();
      const second = await world.start(asking);
      const waiting = await second.call("resume", "p");
      expect(waiting, point).toMatchObject({
        status: "awaiting_human",
        approvals: [{ sessionId: child, name: "risky" }],
      });
      await second.kill();

      const third = await world.start(asking);
      const [approval] = await third.call<{ callKey: string }[]>("approvals", "p");
      expect(await third.call("answer", "p", approval?.callKey, { type: "approve" }), point).toBe("first");
      expect(await third.call("run", "Go", { sessionId: "p", runId: "r" }), point).toMatchObject(completed);
      await checkFamily(world);
      const told = filterEvents(await world.log("p"), "child_waiting");
      expect(told[0], point).toMatchObject({ childId: child, askedAt: expect.any(Number) });
      await third.kill();
    });
  });

  test("the child's process dies first, then the parent's, each while another waits for it", async () => {
    const { world, first } = await begin(family, `${child} tool`);
    const second = await world.start(family);
    await second.call("hold", `${child} tool`);
    const waiting = second.call("run", "Go", { sessionId: "p", runId: "r" });
    await first.kill();
    // Whoever waits for the parent takes the child up too.
    await second.reached(`${child} tool`);
    const third = await world.start(family);
    const also = third.call("run", "Go", { sessionId: "p", runId: "r" });
    await second.kill();
    waiting.catch(() => {});
    expect(await also).toMatchObject(completed);
    await checkFamily(world);
    expect(world.effects().map((line) => line.split(" ")[1])).toEqual(["1", "2", "3"]);
  });

  test("nothing is held while the child waits for a person, who answers at the top, with the inner tool and input", async () => {
    const world = await createWorld();
    const asking: ProcessOptions = {
      script: family.script,
      childScript: [{ calls: [{ name: "risky", input: { deep: 1 } }] }, { text: "Helped." }],
    };
    const first = await world.start(asking);
    const waiting = await first.call("run", "Go", { sessionId: "p", runId: "r" });
    expect(waiting).toMatchObject({ status: "awaiting_human", approvals: [{ name: "risky", input: { deep: 1 } }] });
    // The child gives its lease back when its parent knows.
    await expect.poll(async () => (await world.store.list()).map(({ holder }) => holder)).toEqual([null, null]);
    await first.kill();
    const person = await world.start(asking);
    const [approval] = await person.call<{ callKey: string; name: string; input: unknown; sessionId: string }[]>(
      "approvals",
      "p",
    );
    expect(approval).toMatchObject({ name: "risky", input: { deep: 1 }, sessionId: child });
    expect(await person.call("answer", "p", approval?.callKey, { type: "approve" })).toBe("first");
    expect(await person.call("run", "Go", { sessionId: "p", runId: "r" })).toMatchObject(completed);
    await checkFamily(world);
    // The child is over: who answers now comes second, at the top too.
    expect(await person.call("answer", "p", approval?.callKey, { type: "deny" })).toBe("second");
  });

  test("an abort from another process reaches the child, which a third one holds", async () => {
    const { world, first } = await begin(family, `${child} tool`);
    const other = await world.start(family);
    await other.call("abort", "p", { by: "a person elsewhere" });
    expect(await first.call("run", "Go", { sessionId: "p", runId: "r" })).toMatchObject({ status: "aborted" });
    await waitUntil(
      async () => (await world.store.load(child))?.state.status === "aborted",
      "the child was not aborted",
    );
    expect(filterEvents(await world.log(child), "tool_finished")).toMatchObject([
      { callKey: expect.stringMatching(/.1.1$/) },
    ]);
  });

  test("the child has a share of the budget, which a kill does not change, and what it used counts", async () => {
    const budget = 1_000;
    const { world, first } = await begin({ ...family, budget }, `${child} tool`);
    await first.kill();
    const heir = await world.start({ ...family, budget });
    await heir.call("work");
    const result = await heir.call("result", "p");
    // Each model call counts 15 tokens: half of what was left after the first one is kept for the child, which makes two.
    expect((await world.store.load(child))?.state).toMatchObject({
      limits: { maxTokens: Math.floor((budget - 15) / 2) },
    });
    expect(result).toMatchObject({ status: "completed", usage: { inputTokens: 40, outputTokens: 20 } });
  });

  test("the child's id is a hash with the parent's as its key", async () => {
    expect(deriveChildId("p", "r/1/1")).toMatch(/^[0-9a-f]{32}$/);
    expect(new Set([child, deriveChildId("q", "r/1/1"), deriveChildId("p", "r/1/2")]).size).toBe(3);
  });
});
