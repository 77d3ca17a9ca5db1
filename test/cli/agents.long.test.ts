import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openPawl } from "../terminal/pseudo-terminal.js";
import { verifies } from "../verifies.js";
import { createGate, createWorld, parseJsonLines, type World } from "./pawl.js";

/** Starts a task in the background, and ends its process with the test. */
async function startInBackground({ pawl }: World, ...args: readonly string[]) {
  const { code, stdout, stderr } = await pawl(["run", "--background", "--json", ...args], { input: "" });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const [started] = parseJsonLines(stdout);
  onTestFinished(() => kill(started.pid));
  return started as { readonly sessionId: string; readonly pid: number; readonly log: string };
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

const listAgents = async ({ pawl }: World, ...args: readonly string[]) =>
  parseJsonLines((await pawl(["agents", "--json", ...args])).stdout);

describe("pawl run --background", verifies("AGENT-5"), () => {
  test("works in a process that another one can see, follow and stop", async () => {
    const world = createWorld();
    const gate = createGate(world.root);
    const { sessionId, pid, log } = await startInBackground(
      world,
      ...["--yes", "--allow-shell", `run: ${gate.command}; exit 3`],
    );
    const follower = world.start(["agents", "attach", sessionId, "--allow-shell"]);
    await gate.begun(follower);
    expect(await listAgents(world)).toMatchObject([{ sessionId, pid, progress: "running", doing: "shell", depth: 0 }]);
    const { stdout, stderr } = await world.pawl(["agents"]);
    expect(stdout).toMatch(new RegExp(`^${sessionId.slice(0, 8)} {2}shell {2}now .* run: echo x`));
    expect(stderr).toBe("To follow: pawl agents attach ID. To stop: pawl agents stop ID.\n");
    await follower.said(`Following the run in process ${pid}`);
    expect(statSync(log).mode & 0o777).toBe(0o600);
    expect(readFileSync(log, "utf8")).toContain("call_start");
    const person = openPawl(world, ["--model", "demo"], { columns: 80 });
    await person.sees("ready");
    person.type("/agents\r");
    await person.sees(new RegExp(`${sessionId.slice(0, 8)} {2}shell {2}\\S+ +\\$0`));
    person.type(`/agents stop ${sessionId.slice(0, 8)}\r`);
    expect(await follower.ended).toMatchObject({ code: 130 });
    person.kill("SIGKILL");
    await person.ended;
    expect(await world.pawl(["agents", "stop", sessionId])).toMatchObject({
      code: 0,
      stdout: `Session ${sessionId.slice(0, 8)} has no run in progress (aborted).\n`,
    });
    expect(await listAgents(world)).toEqual([]);
  });

  test("a question waits, also from another folder, and `--continue` goes on in the background", async () => {
    const world = createWorld({ "a/b.txt": "", "src/c.txt": "" });
    const src = join(world.root, "src");
    const { sessionId, pid } = await startInBackground(world, "--root", "a", "Write a summary to d.md");
    await expect
      .poll(() => listAgents(world, "--all"), { timeout: 30_000 })
      .toMatchObject([{ sessionId, progress: "waits_for_person", doing: "write_file", pid: null }]);
    expect(pid).toBeGreaterThan(0);
    const elsewhere = await world.pawl(["agents"], { cwd: src });
    expect(elsewhere).toMatchObject({
      stdout: "",
      stderr: "No agents are running here. 1 session in other folders: pawl agents --all.\n",
    });
    expect((await world.pawl(["agents", "--all"], { cwd: src })).stdout).toMatch(
      /waits for you: write_file .* a +Write a/,
    );
    expect(await world.pawl(["approve", sessionId, "--resume"])).toMatchObject({ code: 0 });
    expect(readFileSync(join(world.root, "a/d.md"), "utf8")).toContain("# Report");
    const next = await startInBackground(world, "--root", "a", "--continue", "List the files");
    expect(next.sessionId).toBe(sessionId);
    await expect.poll(() => listAgents(world, "--all")).toEqual([]);
  });

  test("after a kill, its session is one that was interrupted", async () => {
    const world = createWorld();
    const gate = createGate(world.root);
    const { sessionId, pid } = await startInBackground(world, "--yes", "--allow-shell", `run: ${gate.command}`);
    const follower = world.start(["agents", "attach", sessionId, "--allow-shell"]);
    await gate.begun(follower);
    follower.kill("SIGKILL");
    kill(pid);
    await expect
      .poll(() => listAgents(world), { timeout: 30_000 })
      .toMatchObject([{ sessionId, progress: "interrupted", pid: null }]);
    expect((await world.pawl(["agents"])).stderr).toBe("To continue: pawl resume ID, or pawl worker.\n");
    expect(await world.pawl(["resume"])).toMatchObject({ code: 0 });
  });

  test("says why nothing was started", async () => {
    const world = createWorld();
    const refused = await world.pawl(["run", "--background", "--model", "nobody/nothing", "Hello"], { input: "" });
    expect(refused).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("nobody") });
    expect(await world.pawl(["run", "--background"], { input: "" })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("There is no task"),
    });
  });
});
