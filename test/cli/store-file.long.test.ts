/**
 * `--store` names a SQLite file in every command, and `pawl worker` carries on the sessions of a module's agents.
 */
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { createProgram } from "../../src/cli/program/create-program.js";
import { createAgent, defineTool } from "../../src/index.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { startProviderServer } from "../models/provider-server.js";
import { createWorld, parseJsonLines } from "./pawl.js";

const files = { "notes.txt": "colour\n" };

/** Commands that need sessions, and the rest of their line. */
const reading: { readonly [command: string]: readonly string[] } = {
  sessions: [],
  "sessions show": ["s"],
  "sessions rename": ["s", "Another title"],
  "sessions redact": ["s", "--seq", "1"],
  "sessions export": ["s"],
  "sessions delete": ["s"],
  approvals: [],
  approve: ["s"],
  deny: ["s"],
  abort: ["s"],
  steer: ["s", "Go on"],
  fork: ["s"],
  trace: ["s"],
  replay: ["s"],
  resume: ["s"],
  doctor: [],
  worker: ["--once"],
  "eval add": ["s"],
  "schedule list": [],
  "schedule show": ["s"],
  "schedule next": ["s"],
  "schedule pause": ["s"],
  "schedule resume": ["s"],
  "schedule run-now": ["s"],
  "schedule remove": ["s"],
  agents: [],
  "agents stop": ["s"],
  "agents attach": ["s"],
  "notices list": [],
  "notices retry": ["7"],
  "notices remove": ["7"],
};
/** Commands that may begin sessions. Those of PostgreSQL take no file. */
const beginning = ["", "run", "serve", "ui", "acp", "mcp", "sessions import", "eval", "schedule add"];
const ofPostgres = ["postgres", "postgres migrate", "postgres grants"];
/** A group of commands, and commands that only show or change settings of MCP servers. */
const isAbove = (name: string) =>
  name === "schedule" || name === "notices" || name === "mcp" || name.startsWith("mcp ");

function storeCommands(): readonly string[] {
  const program = createProgram({ out() {}, err() {} } as never, () => {});
  const walk = (command: Command, name: string): readonly string[] => [
    ...(command.options.some(({ long }) => long === "--store") ? [name] : []),
    ...command.commands.flatMap((inner) => walk(inner, `${name} ${inner.name()}`.trim())),
  ];
  return walk(program, "");
}

describe("--store with a file", () => {
  test("is tried here with every command that has the option", () => {
    const known = new Set([...Object.keys(reading), ...beginning, ...ofPostgres]);
    expect(storeCommands().filter((name) => !known.has(name) && !isAbove(name))).toEqual([]);
  });

  test.each(Object.entries(reading))("pawl %s says that a file does not exist, and makes none", async (name, rest) => {
    const world = createWorld(files);
    const { code, stdout, stderr } = await world.pawl([...name.split(" "), ...rest, "--store", "./jbos.db"]);
    expect(code).toBe(5);
    expect(stdout + stderr).toContain(`There is no file ${join(world.root, "jbos.db")}.`);
    expect(existsSync(join(world.root, "jbos.db"))).toBe(false);
  });

  test("a session is begun, waits, is answered, resumed, traced, exported and deleted there alone", async () => {
    const world = createWorld(files);
    const at = ["--store", "./jobs.db"];
    const parked = await world.pawl([
      "run",
      'Replace "colour" with "color" in notes.txt',
      "--session",
      "s",
      "--park",
      ...at,
    ]);
    expect(parked.code).toBe(3);
    expect(statSync(join(world.root, "jobs.db")).mode & 0o777).toBe(0o600);
    expect((await world.pawl(["sessions"])).stdout).toBe("");
    const env = { PAWL_STORE: "jobs.db" };
    expect(parseJsonLines((await world.pawl(["approvals", "--json"], { env })).stdout)).toMatchObject([
      { sessionId: "s" },
    ]);
    expect((await world.pawl(["approve", "s", ...at])).code).toBe(0);
    expect((await world.pawl(["resume", "s", ...at])).code).toBe(0);
    expect(readFileSync(join(world.root, "notes.txt"), "utf8")).toBe("color\n");
    expect((await world.pawl(["trace", "s", ...at])).stdout).toContain("edit_file");
    expect((await world.pawl(["replay", "s", ...at])).code).toBe(0);
    expect((await world.pawl(["fork", "s", ...at])).code).toBe(0);
    const copy = await world.pawl(["sessions", "export", "--raw", "--all", ...at]);
    writeFileSync(join(world.root, "copy.jsonl"), copy.stdout);
    expect((await world.pawl(["sessions", "import", "copy.jsonl", "--store", "other.db"])).code).toBe(0);
    expect((await world.pawl(["sessions", "delete", "s", ...at])).code).toBe(0);
    const left = parseJsonLines((await world.pawl(["sessions", "--json", "--store", "other.db"])).stdout);
    expect(left).toHaveLength(2);
    const doctor = parseJsonLines((await world.pawl(["doctor", "--json", ...at])).stdout)[0];
    expect(doctor).toMatchObject({ ok: true });
    expect(JSON.stringify(doctor)).toContain(`1 session in ${join(world.root, "jobs.db")}`);
  });

  test("the agent's tools do not write to the file, though it is in their folder", async () => {
    const world = createWorld(files);
    const write = (path: string) => ({ name: "write_file", input: { path, content: "no store" } });
    const server = await startProviderServer("openai-chat", [
      { type: "answer", calls: [write("jobs.db"), write("jobs.db-wal"), write("other.txt")] },
      { type: "answer", text: "Done." },
    ]);
    const args = ["--model", "openai-compatible/test", "--session", "s", "--yes", "--store", "jobs.db"];
    await world.pawl(["run", "Write.", ...args], { env: { OPENAI_BASE_URL: server.baseURL } });
    const shown = await world.pawl(["sessions", "export", "s", "--store", "jobs.db"]);
    expect(shown.stdout).toContain("jobs.db is protected");
    expect(shown.stdout).toContain("jobs.db-wal is protected");
    expect(readFileSync(join(world.root, "other.txt"), "utf8")).toBe("no store");
  });

  test("tools never write the files of a store that was named by a link", async () => {
    const world = createWorld(files);
    symlinkSync("real.db", join(world.root, "link.db"));
    const written = ["real.db", "real.db-wal", "real.db-journal", "real.db-shm", "real.db-redacting", "link.db"];
    const server = await startProviderServer("openai-chat", [
      { type: "answer", calls: written.map((path) => ({ name: "write_file", input: { path, content: "no store" } })) },
      { type: "answer", text: "Done." },
    ]);
    const args = ["--model", "openai-compatible/test", "--session", "s", "--yes", "--store", "link.db"];
    await world.pawl(["run", "Write.", ...args], { env: { OPENAI_BASE_URL: server.baseURL } });
    const shown = await world.pawl(["sessions", "export", "s", "--store", "link.db"]);
    for (const path of written) expect(shown.stdout).toContain(`${path} is protected`);
    expect(statSync(join(world.root, "real.db")).mode & 0o777).toBe(0o600);
  });

  test("the address of another kind of database is refused, and named as a file it is taken", async () => {
    const world = createWorld(files);
    for (const address of ["mysql://me@host/db", "postgres:me@host", "sqlite:jobs.db", "file:///jobs.db"]) {
      const { code, stderr } = await world.pawl(["run", "List the files", "--store", address]);
      expect({ address, code }).toEqual({ address, code: 2 });
      expect(stderr).toContain("take a file, for example ./jobs.db, or the address of a PostgreSQL database");
    }
    expect((await world.pawl(["run", "List the files", "--store", "./sqlite:jobs.db"])).code).toBe(0);
    expect(existsSync(join(world.root, "sqlite:jobs.db"))).toBe(true);
  });
});

describe("pawl worker with a module", () => {
  /** A file with a session of the agent `notes` that was answered, and a module with that agent. */
  async function answered() {
    const world = createWorld();
    const dist = new URL("../../dist/", import.meta.url).href;
    const path = join(world.root, "jobs.db");
    const note = defineTool({
      name: "note",
      description: "Writes a note.",
      input: { type: "object" },
      needsApproval: true,
      execute: () => "written",
    });
    const store = await openSqliteStore({ path });
    const model = createScriptedModel(() => ({ calls: [{ name: "note", input: {} }] }));
    const agent = createAgent({ name: "notes", store, model, tools: [note] });
    expect(await agent.run("Write a note.", { sessionId: "s" })).toMatchObject({ status: "awaiting_human" });
    await agent.shutdown();
    await store.close();
    writeFileSync(
      join(world.root, "agents.mjs"),
      `import { createAgent, defineTool } from "${dist}index.js";
       import { openSqliteStore } from "${dist}stores/sqlite/index.js";
       const store = await openSqliteStore({ path: ${JSON.stringify(path)} });
       const note = defineTool({
         name: "note", description: "Writes a note.", input: { type: "object" }, needsApproval: true, execute: () => "written",
       });
       const model = { id: "fixed", async *stream() {
         yield { kind: "text-delta", id: "t", text: "It is written." };
         yield { kind: "done", finishReason: { unified: "stop" }, usage: {} };
       } };
       export default createAgent({ name: "notes", store, model, tools: [note] });`,
    );
    expect((await world.pawl(["approve", "s", "--store", "jobs.db"])).code).toBe(0);
    return world;
  }

  test("carries on the sessions of its agents", async () => {
    const world = await answered();
    const { code, stdout, stderr } = await world.pawl(["worker", "agents.mjs", "--once"]);
    expect(code).toBe(0);
    expect(stderr).toContain("Continuing sessions that are due, of notes.");
    expect(stdout).toMatch(/^s {2}taken up$/m);
    expect(stdout).toMatch(/^s {2}.*It is written\.$/m);
    const [session] = parseJsonLines((await world.pawl(["sessions", "--json", "--store", "jobs.db"])).stdout);
    expect(session).toMatchObject({ sessionId: "s", status: "completed" });
  });

  test("is what a worker without the agent advises", async () => {
    const world = await answered();
    const { code, stdout } = await world.pawl(["worker", "--once", "--store", "jobs.db"]);
    expect(code).toBe(0);
    expect(stdout).toContain('belongs to the agent "notes", which this worker does not have.');
    expect(stdout).toContain("for `pawl worker MODULE`, export it from the module");
  });

  test("refuses options that are the module's own", async () => {
    const world = await answered();
    for (const command of ["worker", "serve"]) {
      const { code, stderr } = await world.pawl([command, "agents.mjs", "--yes", "--store", "jobs.db"]);
      expect(code).toBe(2);
      expect(stderr).toContain("--yes, --store cannot be used with a module");
    }
  });
});
