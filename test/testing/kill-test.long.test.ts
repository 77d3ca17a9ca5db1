/**
 * The built kill test, on a program that keeps its promises and on some that do not.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type KillPlay, type KillTestOptions, killTest } from "pawl/testing";
import { expect, test } from "vitest";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { verifies } from "../verifies.js";

const script = fileURLToPath(new URL("../fixtures/paying-agent.mjs", import.meta.url));
const openStore = (folder: string) => openSqliteStore({ path: join(folder, "sessions.db") });

function linesOf(folder: string, file: string): readonly string[] {
  const path = join(folder, file);
  return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : [];
}

/** A charge is made at most once, and exactly once if its call reports it. A booking with a key is made once. */
function checkWorld({ folder, logs, at, stdout }: KillPlay): void {
  const charges = linesOf(folder, "charges");
  const deaths = at.join(", ");
  expect(stdout, deaths).toBe("completed Paid.\n");
  expect(new Set(charges).size, deaths).toBe(charges.length);
  for (const { event } of logs.get("pay") ?? [])
    if (event.type === "tool_finished" && event.outcome === "ok" && !event.callKey.endsWith("1/1"))
      expect([...charges, ...readdirSync(folder)], deaths).toEqual(
        expect.arrayContaining([
          expect.stringContaining(event.callKey.endsWith("/2") ? event.callKey : "book-pay-run"),
        ]),
      );
}

test("a program that is killed before and after every commit", verifies("REC-7", "REC-3"), async () => {
  const report = await killTest({ script, openStore, check: checkWorld });
  expect(report.kills).toBeGreaterThanOrEqual(12);
  // The first play without a death ends the sweep. Other plays may be under way then.
  expect(report.plays).toBeGreaterThan(report.kills);
  expect(report.repeated).toMatchObject({ charge: 0 });
  expect(report.unknown).toMatchObject({ look: 0, book: 0, trace: 0 });
  expect(report.unknown.charge).toBeGreaterThan(0);
  expect(report.repeated.book).toBeGreaterThan(0);
});

test("a program that is killed at random", verifies("REC-7"), async () => {
  const report = await killTest({ script, openStore, check: checkWorld, kills: { random: 4 } });
  expect(report.kills).toBe(4);
});

const broken: { readonly [what: string]: readonly [program: string, message: RegExp, at?: readonly string[]] } = {
  "does not end with 0": ["process.exit(3)", /^Killed never: the program ended with exit code 3/],
  "leaves its run behind": [
    `import { createAgent } from "pawl";
     import { openSqliteStore } from "pawl/sqlite";
     const store = await openSqliteStore({ path: "sessions.db" });
     const tools = [{ name: "go", description: "goes", input: { type: "object" }, execute: () => process.exit(0) }];
     const { createScriptedModel } = await import("pawl/testing");
     const model = createScriptedModel([{ calls: [{ name: "go" }] }]);
     await createAgent({ store, tools, model }).run("go", { sessionId: "s", runId: "r" });`,
    /is left 'tool_running'/,
  ],
  "starts from nothing each time": [
    `import { rmSync } from "node:fs";
     rmSync("sessions.db", { force: true });
     rmSync("sessions.db-journal", { force: true });
     await import(${JSON.stringify(script)});`,
    /^Killed after 6: invariant 1 .*: pay has lost entries/,
    ["after 6"],
  ],
};

test("a relative path is that of a program that was prepared in the new folder, or else of one here", async () => {
  const run = { openStore, check: checkWorld, kills: { at: ["after 4"] } };
  expect(await killTest({ ...run, script: relative(process.cwd(), script) })).toMatchObject({ plays: 1, kills: 1 });
  // There is a file with this name here too, which is not the program.
  const name = ".dependency-cruiser.cjs";
  const prepare = (folder: string) => writeFileSync(join(folder, name), `import(${JSON.stringify(script)});`);
  expect(await killTest({ ...run, prepare, script: name })).toMatchObject({ plays: 1, kills: 1 });
});

test.each(Object.keys(broken))("a program that %s is found out", verifies("REC-7"), async (what) => {
  const [program, message, at = []] = broken[what] ?? ["", /never/];
  const path = join(import.meta.dirname, "../../temp", `kill-test-${Object.keys(broken).indexOf(what)}.mjs`);
  writeFileSync(path, program);
  const options: KillTestOptions = { script: path, openStore, kills: { at } };
  await expect(killTest(options)).rejects.toMatchObject({
    name: "KillFailure",
    message: expect.stringMatching(message),
  });
});
