/**
 * Sessions that a real Restate server drives, with services in processes of their own.
 */
import { describe, expect, test } from "vitest";
import { deriveChildId } from "../../src/runtime/effects/children.js";
import { filterEvents, type Process, waitUntil } from "../processes/rig.js";
import { hasRestate, useRestate } from "../support/restate.js";
import { verifies } from "../verifies.js";
import { askingScript, createFleet, expectAllAtRest, expectInvocations, type RestateFleet, script } from "./rig.js";

const completed = { status: "completed", result: { status: "completed", text: "Done." }, approvals: [] };

describe.runIf(hasRestate)("sessions that Restate drives", verifies("DIST-3"), () => {
  const server = useRestate();

  test("run to their end, and a repeated request is one run", async () => {
    const fleet = await createFleet({}, server());
    await fleet.serve();
    const request = { input: "Go", options: { agent: "agent", runId: "r" } };
    expect(await fleet.restate.call("/Pawl/s/send", request)).toEqual({
      status: 200,
      json: { runId: "r", isNew: true },
    });
    expect(await fleet.restate.call("/Pawl/s/send", request)).toEqual({
      status: 200,
      json: { runId: "r", isNew: false },
    });
    expect(await fleet.waitForStatus("s", "completed")).toMatchObject(completed);
    await expectAllAtRest(fleet);
  });

  test("wait for a person without an invocation, also while all processes are down", async () => {
    const fleet = await createFleet({ script: askingScript }, server());
    const first = await fleet.serve();
    await fleet.send("s");
    const { approvals } = await fleet.waitForStatus("s", "awaiting_human");
    expect(approvals).toMatchObject([{ callKey: "r/1/1", name: "risky" }]);
    await expectInvocations(fleet);
    await Promise.all([first.kill(), fleet.restate.kill()]);
    await fleet.restate.restart();
    // Days later by the clock of its process.
    await fleet.serve({ clockOffsetMs: 3 * 24 * 3_600_000 });
    const answer = { callKey: "r/1/1", decision: { type: "approve" }, options: { by: "anna" } };
    expect(await fleet.restate.call("/Pawl/s/answer", answer)).toEqual({ status: 200, json: "first" });
    expect(await fleet.waitForStatus("s", "completed")).toMatchObject(completed);
    expect(filterEvents(await fleet.world.log("s"), "answered")).toMatchObject([{ by: "anna" }]);
    await expectAllAtRest(fleet);
  });

  test("end when they are aborted, also while a tool runs", async () => {
    const fleet = await createFleet({}, server());
    const service = await fleet.serve();
    await service.call("hold", "s tool");
    await fleet.send("s");
    await service.reached("s tool");
    expect(await fleet.restate.call("/Pawl/s/abort", { by: "anna", note: "Enough." })).toMatchObject({ json: "asked" });
    expect(await fleet.waitForStatus("s", "aborted")).toMatchObject({
      result: { status: "aborted", reason: "aborted" },
    });
    expect(await fleet.restate.call("/Pawl/s/abort")).toMatchObject({ json: "nothing" });
    await expectAllAtRest(fleet);
  });

  test("go on at the time that they wait for, once, however often they were driven before", async () => {
    const fleet = await createFleet({ script: askingScript, expiresInMs: 2_000 }, server());
    await fleet.serve();
    await fleet.send("s");
    await fleet.waitForStatus("s", "awaiting_human");
    for (let turn = 0; turn < 5; turn += 1)
      expect(await fleet.restate.call("/Pawl/s/drive")).toMatchObject({ status: 200 });
    await expectInvocations(fleet, "drive scheduled");
    expect(await fleet.waitForStatus("s", "completed")).toMatchObject(completed);
    expect(filterEvents(await fleet.world.log("s"), "timer_fired")).toMatchObject([{ timer: "approval" }]);
    await expectAllAtRest(fleet);
  });

  test("are left to another process that holds them, and looked at again", async () => {
    const fleet = await createFleet({}, server());
    const service = await fleet.serve();
    const other = await fleet.world.start({ script });
    await other.call("hold", "s tool");
    void other.call("run", "Go", { sessionId: "s", runId: "r" });
    await other.reached("s tool");
    expect(await fleet.restate.call("/Pawl/s/drive")).toMatchObject({ status: 200 });
    await expectInvocations(fleet, "drive scheduled");
    await other.kill();
    expect(await fleet.waitForStatus("s", "completed")).toMatchObject(completed);
    expect(service.asked).toMatchObject([{ index: 2 }]);
    await expectAllAtRest(fleet);
  });
});

const delegating = [{ calls: [{ name: "helper", input: { task: "Help." } }] }, { text: "Done." }];

describe.runIf(hasRestate)("families of sessions", verifies("DIST-3"), () => {
  const server = useRestate();

  test("are driven together, and a question of a child is answered at its parent", async () => {
    const fleet = await createFleet({ script: delegating, childScript: [...askingScript] }, server());
    const first = await fleet.serve();
    await fleet.send("s");
    await waitUntil(async () => (await fleet.status("s")).approvals.length > 0, "the child does not ask");
    const [approval] = (await fleet.status("s")).approvals;
    await expectInvocations(fleet);
    await first.kill();
    await fleet.serve();
    const answer = { callKey: approval?.callKey, decision: { type: "approve" } };
    expect(await fleet.restate.call("/Pawl/s/answer", answer)).toMatchObject({ json: "first" });
    expect(await fleet.waitForStatus("s", "completed")).toMatchObject(completed);
    await expectAllAtRest(fleet, 2);
  });

  const child = deriveChildId("s", "r/1/1");

  // The child's fifth commit says that it has told its parent the result. The parent may have ended before.
  test.each([
    { place: `${child} tool`, where: "in a tool of the child" },
    { place: `${child} before 5`, where: "after the child has told its parent, and before it has committed that" },
  ])("go on after kill -9 of the service $where", async ({ place }) => {
    const fleet = await createFleet({ script: delegating, childScript: [...script] }, server());
    const first = await fleet.serve();
    await first.call("hold", place);
    await fleet.send("s");
    await first.reached(place);
    await first.kill();
    await fleet.serve();
    expect(await fleet.waitForStatus("s", "completed")).toMatchObject(completed);
    await expectAllAtRest(fleet, 2);
  });
});

describe.runIf(hasRestate)("after kill -9", verifies("DIST-3"), () => {
  const places = ["s model 1", "s tool", "s model 2"];
  const victims = ["of Restate", "of the service", "of both"] as const;

  /** Kills, and starts again what was killed. Gives the service that is there then. */
  async function strike(fleet: RestateFleet, victim: (typeof victims)[number], service: Process): Promise<Process> {
    if (victim !== "of the service") await fleet.restate.kill();
    if (victim !== "of Restate") await service.kill();
    if (victim !== "of the service") await fleet.restate.restart();
    return victim === "of Restate" ? service : await fleet.serve();
  }

  test.each(victims.flatMap((victim) => places.map((place) => ({ victim, place }))))(
    "$victim at $place nothing is lost, and nothing happens twice",
    async ({ victim, place }) => {
      const fleet = await createFleet();
      const service = await fleet.serve();
      await service.call("hold", place);
      await fleet.send("s");
      await service.reached(place);
      const heir = await strike(fleet, victim, service);
      if (heir === service) await service.call("open", place);
      expect(await fleet.waitForStatus("s", "completed")).toMatchObject(completed);
      // What was running when only Restate died has ended as if nothing had happened.
      if (victim === "of Restate") expect(filterEvents(await fleet.world.log("s"), "tool_finished")).toHaveLength(1);
      await expectAllAtRest(fleet);
    },
  );

  test.each(victims)("%s after an answer, the answer counts once", async (victim) => {
    const fleet = await createFleet({ script: askingScript });
    const service = await fleet.serve();
    await fleet.send("s");
    await fleet.waitForStatus("s", "awaiting_human");
    await service.call("hold", "s before 3");
    const answer = { callKey: "r/1/1", decision: { type: "approve" }, options: { by: "anna" } };
    expect(await fleet.restate.call("/Pawl/s/answer", answer)).toMatchObject({ status: 200 });
    await service.reached("s before 3");
    const heir = await strike(fleet, victim, service);
    if (heir === service) await service.call("open", "s before 3");
    expect(await fleet.waitForStatus("s", "completed")).toMatchObject(completed);
    expect(filterEvents(await fleet.world.log("s"), "answered")).toMatchObject([{ by: "anna", callKey: "r/1/1" }]);
    await expectAllAtRest(fleet);
  });

  test.each(victims)("%s while it waits, the question stays and can be answered", async (victim) => {
    const fleet = await createFleet({ script: askingScript });
    const service = await fleet.serve();
    await fleet.send("s");
    await fleet.waitForStatus("s", "awaiting_human");
    await strike(fleet, victim, service);
    const answer = { callKey: "r/1/1", decision: { type: "deny", note: "No." } };
    expect(await fleet.restate.call("/Pawl/s/answer", answer)).toMatchObject({ json: "first" });
    expect(await fleet.waitForStatus("s", "completed")).toMatchObject(completed);
    await expectAllAtRest(fleet);
  });
});

describe.runIf(hasRestate)("requests", verifies("DIST-3"), () => {
  const server = useRestate();

  test("that nobody can carry out are refused at once, and are not repeated", async () => {
    const fleet = await createFleet({}, server());
    await fleet.serve();
    const { call } = fleet.restate;
    const refused = async (path: string, body: unknown, status: number, code: string) =>
      expect(await call(path, body), JSON.stringify(body)).toMatchObject({
        status,
        json: { message: expect.stringContaining(code) },
      });
    for (const body of [null, 1, "Go", [], { input: "Go", options: null }, { input: "Go", agent: "agent" }])
      await refused("/Pawl/s/send", body, 400, "bad_input");
    for (const input of [null, 5, {}, [], [null], [{ role: "model" }], [{ type: "text" }]])
      await refused("/Pawl/s/send", { input, options: { agent: "agent" } }, 400, "bad_input");
    for (const options of [{ unknwn: 1 }, { agent: 1 }, { agent: "agent", runId: 5 }, { agent: "agent", limits: {} }])
      await refused("/Pawl/s/send", { input: "Go", options }, 400, "bad_input");
    await refused("/Pawl/s/send", { input: "Go" }, 404, "no_session");
    await refused("/Pawl/s/status", undefined, 404, "no_session");
    await refused("/Pawl/s/abort", undefined, 404, "no_session");
    await refused("/Pawl/s/drive", { at: "now" }, 400, "bad_input");
    expect(await call("/Pawl/unknown/drive")).toMatchObject({ status: 200 });
    await refused(`/Pawl/${"x".repeat(600)}/status`, undefined, 400, "bad_input");
    await fleet.send("s");
    await fleet.waitForStatus("s", "completed");
    for (const decision of [null, "approve", {}, { type: "unknwn" }, { type: "modify" }])
      for (const callKey of [null, 5, "", "r/9/9", "r/1/1"])
        expect((await call("/Pawl/s/answer", { callKey, decision })).status).toBeLessThan(500);
    await refused("/Pawl/s/answer", { callKey: "r/9/9", decision: { type: "approve" } }, 404, "no_such_call");
    await refused("/Pawl/s/provideResult", { callKey: "r/9/9", output: 1 }, 404, "no_such_call");
    await refused("/Pawl/s/abort", { reason: "No." }, 400, "bad_input");
    await expectAllAtRest(fleet);
  });

  test("with mode reject are refused while a run goes on", async () => {
    const fleet = await createFleet({}, server());
    const service = await fleet.serve();
    await service.call("hold", "s tool");
    await fleet.send("s");
    await service.reached("s tool");
    const request = { input: "Go", options: { runId: "other", mode: "reject" } };
    expect(await fleet.restate.call("/Pawl/s/send", request)).toMatchObject({ status: 409 });
    const again = { input: "Go", options: { runId: "r", mode: "reject" } };
    expect(await fleet.restate.call("/Pawl/s/send", again)).toMatchObject({ status: 200, json: { isNew: false } });
    await service.call("open", "s tool");
    await fleet.waitForStatus("s", "completed");
    await expectAllAtRest(fleet);
  });
});
