/**
 * `kill -9` of the conversation at each commit, and of `/undo` at each change of a file: on a pseudo-terminal, with real
 * processes. The model is a local server.
 */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import {
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
} from "../cli/killed.js";
import { createWorld, pawlProgram, type World } from "../cli/pawl.js";
import { isInShare, isWholeSweep } from "../support/share.js";
import { verifies } from "../verifies.js";
import { openPawl, openProgram } from "./pseudo-terminal.js";

const args = ["--model", "openai-compatible/test", "--yes", "--allow-shell"];

/** Opens a conversation with a module that kills it. */
function openMortal(world: World, module: string, more: readonly string[], env: Readonly<Record<string, string>>) {
  return openProgram(world, process.execPath, ["--no-warnings", "--import", module, pawlProgram, ...args, ...more], {
    env,
    rows: 40,
  });
}

/** The only session; undefined if nothing was stored. */
async function sessionOf({ home }: World): Promise<string | undefined> {
  if (!existsSync(join(home, "sessions.db"))) return undefined;
  const store = await openSqliteStore({ path: join(home, "sessions.db") });
  try {
    return (await store.list())[0]?.sessionId;
  } finally {
    await store.close();
  }
}

test("the conversation killed at each commit goes on, and nothing runs twice", {
  ...verifies("CHAT-1#kill", "REC-3"),
  timeout: 180_000,
}, async () => {
  const server = await startModelServer(workSteps);
  const env = { OPENAI_BASE_URL: server.baseURL };
  const counted = openMortal(createWorld(workFiles), killAtCommit, [], { ...env, PAWL_KILL_AT: "count" });
  await counted.sees("ready");
  counted.type("work\r");
  await counted.sees(/All done\.[\s\S]*ready/);
  counted.type("/quit\r");
  await counted.ended;
  const commits = Number(/commits: (\d+)/.exec(counted.bytes())?.[1]);
  expect(commits).toBeGreaterThanOrEqual(8);

  async function killAndGoOn(point: string): Promise<string> {
    const world = createWorld(workFiles);
    const killed = openMortal(world, killAtCommit, ["work now"], { ...env, PAWL_KILL_AT: point });
    // Results that come at the same moment share a commit. So there may be fewer commits than in the run that counted them.
    const end = await Promise.race([killed.ended, killed.sees(/All done\.[\s\S]*ready/)]);
    if (typeof end === "string") killed.type("/quit\r");
    await killed.ended;
    const sessionId = await sessionOf(world);
    const before = sessionId === undefined ? [] : await readLog(world, sessionId);
    if (sessionId === undefined || filterEvents(before, "run_started").length === 0) {
      expect(readLines(world, "effects"), point).toEqual([]);
      return "nothing had begun";
    }
    const next = openPawl(world, [...args, "--continue"], { env, rows: 40 });
    await next.sees(/All done\.[\s\S]*ready/);
    // What was shown before is shown again, and only once.
    const lines = (await next.history()).join("\n");
    expect(lines.split("> work now").length, point).toBe(2);
    expect(lines.split("All done.").length, point).toBe(2);
    next.type("/quit\r");
    expect(await next.ended, point).toMatchObject({ code: 0 });
    const log = await readLog(world, sessionId);
    expectValidLog(log);
    expect(log.slice(0, before.length), point).toEqual(before);
    expectValidEffects(world, log, point);
    return filterEvents(before, "run_finished").length > 0 ? "had ended" : `went on from ${before.at(-1)?.event.type}`;
  }

  // A process that is killed after a commit has done the same as one killed before the next one; but for effects.
  const points = Array.from({ length: commits }, (_, at) => [`before ${at + 1}`, `after ${at + 1}`]).flat();
  const played = points.filter((_, at) => isInShare(at));
  const outcomes = new Set(await mapConcurrently(played, 3, killAndGoOn));
  if (!isWholeSweep) return;
  for (const expected of ["nothing had begun", "went on from tool_decided", "went on from tool_finished", "had ended"])
    expect(outcomes).toContain(expected);
});

const killAtWrite = fileURLToPath(new URL("../fixtures/kill-at-write.mjs", import.meta.url));

test("/undo killed at each change of a file leaves files as before or as after, and is carried on", {
  ...verifies("CHAT-3#undo"),
  timeout: 180_000,
}, async () => {
  const old = { "a.txt": "one\n".repeat(2_000), "b.txt": "bee\n", "mine.txt": "mine\n" };
  const written = { "a.txt": "1\n".repeat(1_000), "b.txt": "B\n", "new.txt": "created\n" };
  const calls = Object.entries(written).map(([path, content]) => ({ name: "write_file", input: { path, content } }));
  const server = await startModelServer([
    { type: "answer", calls },
    { type: "answer", text: "All changed." },
  ]);
  const env = { OPENAI_BASE_URL: server.baseURL };
  const text = ({ root }: World, path: string) =>
    existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : null;

  /** A world in which the files are written, and a way back to this state. */
  async function createLane() {
    const world = createWorld(old);
    expect(await world.pawl(["run", "change them", ...args, "--session", "s"], { env })).toMatchObject({ code: 0 });
    const kept = `${world.home}-kept`;
    for (const folder of ["root", "home"] as const) cpSync(world[folder], join(kept, folder), { recursive: true });
    const armed = `${world.home}-armed`;
    return {
      world,
      armed,
      reset() {
        rmSync(armed, { force: true });
        for (const folder of ["root", "home"] as const) {
          rmSync(world[folder], { recursive: true });
          cpSync(join(kept, folder), world[folder], { recursive: true });
        }
      },
    };
  }
  type Lane = Awaited<ReturnType<typeof createLane>>;

  async function undo({ world, armed }: Lane, setting: string) {
    const person = openMortal(world, killAtWrite, ["--session", "s"], {
      ...env,
      PAWL_KILL_AT_WRITE: setting,
      PAWL_KILL_ARMED: armed,
    });
    await person.sees("ready");
    person.type("/undo\r");
    await person.sees("undo ›");
    writeFileSync(armed, "");
    person.type("3 files\r");
    return person;
  }

  /** The files of the folder, without those that a killed write has left beside them. */
  const filesOf = ({ root }: World) => readdirSync(root).filter((name) => !name.startsWith("."));

  async function killAndGoOn(lane: Lane, setting: string): Promise<void> {
    lane.reset();
    const { world } = lane;
    const killed = await undo(lane, setting);
    await killed.ended;
    for (const [path, after] of Object.entries(written)) {
      const present = text(world, path);
      const before = path in old ? old[path as keyof typeof old] : null;
      expect([before, after].includes(present), `${path} at ${setting}`).toBe(true);
    }
    expect(text(world, "mine.txt")).toBe(old["mine.txt"]);
    const next = openPawl(world, [...args, "--session", "s"], { env, rows: 40 });
    await next.sees("ready");
    next.type("/undo\r");
    await next.sees("undo ›");
    next.type("file\r");
    const said = await next.sees(/Undid changes to \d files?|There is nothing to undo|No file was changed/);
    expect(said, setting).toMatch(/Undid changes to \d files?/);
    for (const [path, before] of Object.entries(old)) expect(text(world, path), `${path} at ${setting}`).toBe(before);
    expect(filesOf(world).sort(), setting).toEqual(Object.keys(old).sort());
    next.kill("SIGKILL");
    await next.ended;
  }

  const lanes = [await createLane(), await createLane()] as const;
  lanes[0].reset();
  const counting = await undo(lanes[0], "count");
  await counting.sees("Undid changes to 3 files");
  counting.type("/quit\r");
  await counting.ended;
  const writes = Number(/writes: (\d+)/.exec(counting.bytes())?.[1]);
  expect(writes).toBeGreaterThanOrEqual(10);
  const settings = Array.from({ length: writes }, (_, at) => String(at + 1)).filter((_, at) => isInShare(at));
  const busy = new Set<Lane>();
  await mapConcurrently(settings, lanes.length, async (setting) => {
    const lane = lanes.find((one) => !busy.has(one));
    if (lane === undefined) throw new Error("every lane is taken");
    busy.add(lane);
    await killAndGoOn(lane, setting);
    busy.delete(lane);
  });
});
