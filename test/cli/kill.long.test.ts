import { describe, expect, onTestFinished, test } from "vitest";
import { type ProviderServer, startProviderServer } from "../models/provider-server.js";
import { isInShare, isWholeSweep } from "../support/share.js";
import { verifies } from "../verifies.js";
import {
  createShellCall,
  expectValidEffects,
  expectValidLog,
  filterEvents,
  killAtCommit,
  mapConcurrently,
  readLines,
  readLog,
  startModelServer,
  workFiles,
  workSteps,
} from "./killed.js";
import { createGate, createWorld, type ExitResult } from "./pawl.js";

const args = (model: string) => [model, "--model", "openai-compatible/test", "--yes", "--allow-shell"];
const run = ["run", ...args("work"), "--session", "s"];
const resume = ["resume", ...args("s")];

/** Where a kill can leave a run. */
const stages: ReadonlySet<string> = new Set([
  "nothing had begun",
  // The first step waits for the texts of the folder, so the run is committed before it.
  "resumed in run_started",
  "resumed in prepared",
  // The rules are read from their files before a call is decided.
  "resumed in model_finished",
  "resumed in tool_decided",
  "resumed in tool_finished",
  "had ended",
]);

describe("kill -9 of pawl run", () => {
  /** Kills a run at one point, resumes it at once, and checks the outcome. */
  async function killAndResume(point: string, server: ProviderServer): Promise<string> {
    const world = createWorld(workFiles);
    const env = { OPENAI_BASE_URL: server.baseURL, PAWL_KILL_AT: point };
    const killed = await world.pawl(run, { env, node: ["--import", killAtCommit] });
    expect(killed.signal, `${point}: ${killed.stderr}`).toBe("SIGKILL");
    const before = await readLog(world);
    const wasDone = filterEvents(before, "tool_finished").filter(({ outcome }) => outcome === "ok");
    const ended = filterEvents(before, "run_finished").length > 0;
    if (filterEvents(before, "run_started").length === 0) {
      expect(readLines(world, "effects"), point).toEqual([]);
      return "nothing had begun";
    }
    const resumed = await world.pawl(resume, { env: { OPENAI_BASE_URL: server.baseURL } });
    if (ended) expect(resumed, point).toMatchObject({ code: 2, stderr: expect.stringContaining("nothing to resume") });
    else expect(resumed, point).toMatchObject({ code: 0, stdout: expect.stringMatching(/All done\.\n$/) });
    const log = await readLog(world);
    expectValidLog(log);
    expect(log.slice(0, before.length), point).toEqual(before);
    expectValidEffects(world, log, point);
    for (const { callKey } of wasDone)
      expect(filterEvents(log.slice(before.length), "tool_finished").map((event) => event.callKey)).not.toContain(
        callKey,
      );
    return ended ? "had ended" : `resumed in ${before.at(-1)?.event.type}`;
  }

  test("before and after every commit: resumed at once, it finishes, and no completed call runs twice", {
    ...verifies("REC-1", "REC-3", "TOOL-6"),
    timeout: 300_000,
  }, async () => {
    const server = await startModelServer(workSteps);
    const counted = await createWorld(workFiles).pawl(run, {
      env: { OPENAI_BASE_URL: server.baseURL, PAWL_KILL_AT: "count" },
      node: ["--import", killAtCommit],
    });
    expect(counted).toMatchObject({ code: 0, stdout: "All done.\n" });
    const commits = Number(/commits: (\d+)\n/.exec(counted.stderr)?.[1]);
    expect(commits).toBeGreaterThanOrEqual(8);
    const points = Array.from({ length: commits }, (_, at) => [`before ${at + 1}`, `after ${at + 1}`]).flat();
    const played = points.filter((_, at) => isInShare(at));
    const outcomes = [...(await mapConcurrently(played, 3, (point) => killAndResume(point, server)))];
    // On a busy machine fewer events meet in one commit than in the run that was counted.
    for (let last = commits; isWholeSweep && !outcomes.includes("had ended") && last < commits + 5; )
      outcomes.push(await killAndResume(`after ${++last}`, server));
    // The kills must have hit every stage of a run, and no other.
    const met = new Set(outcomes);
    expect([...stages].filter((stage) => isWholeSweep && !met.has(stage))).toEqual([]);
    expect([...met].filter((stage) => !stages.has(stage))).toEqual([]);
  });

  test("in the middle of a model call: the same step is asked again", verifies("REC-3", "CLI-1"), async () => {
    const server = await startProviderServer("openai-chat", [
      { type: "answer", text: "One two three four five six.", ending: "hang" },
      { type: "answer", text: "One two three." },
    ]);
    onTestFinished(() => server.close());
    const world = createWorld();
    const env = { OPENAI_BASE_URL: server.baseURL };
    // As JSON, a delta is printed as soon as it comes.
    const running = world.start([...run, "--json"], { env, input: "" });
    await running.said("One");
    running.kill("SIGKILL");
    expect((await running.ended).signal).toBe("SIGKILL");
    const resumed = await world.pawl(resume, { env });
    expectAtOnce(resumed);
    expect(resumed).toMatchObject({ code: 0, stdout: "One two three.\n" });
    const log = await readLog(world);
    expectValidLog(log);
    expect(filterEvents(log, "model_finished")).toMatchObject([{ modelCallIndex: 1, attempt: 2 }]);
    expect(server.requests[1]?.body).toEqual(server.requests[0]?.body);
  });

  test(
    "in the middle of a tool: what was done stays done, what was interrupted is not run again",
    verifies("REC-3", "TOOL-6"),
    async () => {
      const world = createWorld();
      const gate = createGate(world.root);
      const server = await startModelServer([
        {
          type: "answer",
          calls: [createShellCall("echo done >> effects"), createShellCall(`echo started >> effects; ${gate.command}`)],
        },
        { type: "answer", text: "I do not know whether the second one did anything." },
      ]);
      const env = { OPENAI_BASE_URL: server.baseURL };
      const running = world.start(run, { env, input: "" });
      await gate.begun(running);
      // A result is shown only after its commit.
      await running.said(/✓ shell command="echo done/);
      running.kill("SIGKILL");
      await running.ended;
      const resumed = await world.pawl(resume, { env });
      expectAtOnce(resumed);
      expect(resumed).toMatchObject({ code: 0, stdout: expect.stringContaining("I do not know whether") });
      expect(resumed.stderr).toContain("✗ shell: Interrupted. It had started and its outcome is unknown.");
      expect([...readLines(world, "effects")].sort()).toEqual(["done", "started"]);
      const log = await readLog(world);
      expectValidLog(log);
      expect(filterEvents(log, "tool_finished").map(({ outcome }) => outcome)).toEqual(["ok", "interrupted"]);
    },
  );

  test("again and again: each resume goes on from where the last one was killed", verifies("REC-3"), async () => {
    const world = createWorld(workFiles);
    const server = await startModelServer(workSteps);
    const env = { OPENAI_BASE_URL: server.baseURL };
    const node = ["--import", killAtCommit];
    let ended = await world.pawl(run, { env: { ...env, PAWL_KILL_AT: "after 6" }, node });
    let kills = 0;
    for (; ended.signal === "SIGKILL"; kills++)
      ended = await world.pawl(resume, { env: { ...env, PAWL_KILL_AT: "after 6" }, node });
    expect(kills).toBeGreaterThanOrEqual(2);
    expect(ended.code === 0 || ended.stderr.includes("nothing to resume")).toBe(true);
    const log = await readLog(world);
    expectValidLog(log);
    expectValidEffects(world, log, `${kills} kills`);
  });

  test(
    "a store that gives out interrupts the run, and it is resumed when there is room again",
    verifies("REC-2", "CLI-3"),
    async () => {
      const server = await startModelServer(workSteps);
      for (const number of [6, 7, 9]) {
        const world = createWorld(workFiles);
        const env = { OPENAI_BASE_URL: server.baseURL };
        const node = ["--import", killAtCommit];
        const failed = await world.pawl(run, { env: { ...env, PAWL_KILL_AT: `full ${number}` }, node });
        expect(failed.code, failed.stderr).toBe(75);
        expect(failed.stderr).toMatch(/interrupted \(store_failed\): .*The disk of the store .* is full\./);
        expect(failed.stderr).toContain("To continue: pawl resume s");
        const resumed = await world.pawl(resume, { env });
        expect(resumed).toMatchObject({ code: 0, stdout: expect.stringMatching(/All done\.\n$/) });
        const log = await readLog(world);
        expectValidLog(log);
        expectValidEffects(world, log, `full at ${number}`);
      }
    },
  );

  test("with the demo model in its shell command", verifies("REC-3", "SEC-7"), async () => {
    const world = createWorld();
    const gate = createGate(world.root);
    const running = world.start(
      ["run", `run: echo ran >> effects; ${gate.command}`, "--session", "s", "--yes", "--allow-shell"],
      { input: "" },
    );
    await gate.begun(running);
    running.kill("SIGKILL");
    await running.ended;
    const resumed = await world.pawl(["resume", "s", "--yes", "--allow-shell"]);
    expectAtOnce(resumed);
    expect(resumed).toMatchObject({ code: 0, stdout: expect.stringContaining("Interrupted") });
    expect(readLines(world, "effects")).toEqual(["ran"]);
  });
});

/** The process took the session over at once: it did not follow the dead process, nor wait for the end of its lease. */
function expectAtOnce({ stderr }: ExitResult): void {
  expect(stderr).toContain("Continuing after an interruption.");
  expect(stderr).not.toContain("following");
}
