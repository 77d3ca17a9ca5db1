/**
 * The evals of the folder agent: sessions that it recorded with the demo model, played with its present prompt, tools and
 * permissions. A change of these shows here as what the agent does, before anybody meets it.
 *
 * If a difference is intended, record the cases again, and review them like code:
 *
 *     RECORD_CASES=1 npx vitest run test/evals/folder-agent.test.ts
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { createFolderAgent } from "../../src/cli/agent/folder-agent.js";
import { createPermissions } from "../../src/cli/permissions/permissions.js";
import {
  costs,
  createCase,
  evaluate,
  formatReport,
  inRecord,
  readCases,
  sameAnswer,
  sameCalls,
  sameEnd,
  toExitCode,
} from "../../src/evals/index.js";
import { createMemoryStore, type Store } from "../../src/index.js";
import { createDemoModel } from "../../src/models/index.js";
import { verifies } from "../verifies.js";

const casesFolder = "test/evals/folder-agent";
const base = mkdtempSync(join(tmpdir(), "pawl-folder-agent-"));
afterAll(() => rmSync(base, { recursive: true, force: true }));

/** A folder with some files in it. */
function createRoot(name: string): string {
  const root = join(base, name);
  const files = {
    "src/a.ts": "// TODO: one\nexport const colour = 1;\n",
    "notes.txt": "colour\n",
    "README.md": "# Notes\n",
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

function createAgentIn(root: string, store: Store, allowAll: boolean) {
  const home = join(base, "home");
  const permissions = createPermissions({ allowAll, root, home });
  return createFolderAgent({
    store,
    home,
    root,
    model: createDemoModel(),
    allowShell: false,
    permissions,
    contextFiles: false,
  });
}

const tasks = {
  list: ["List the files"],
  todos: ["Find the TODO comments under src, then write a summary of them to TODO-REPORT.md"],
  replace: ['Replace "colour" with "color" in notes.txt'],
  read: ["Read notes.txt", "Read README.md"],
};

async function recordCases(): Promise<void> {
  mkdirSync(casesFolder, { recursive: true });
  for (const [name, turns] of Object.entries(tasks)) {
    const store = createMemoryStore();
    const agent = createAgentIn(createRoot(name), store, false);
    for (const turn of turns) {
      let result = await agent.run(turn, { sessionId: name });
      while (result.status === "awaiting_human") {
        for (const { callKey } of result.approvals) await agent.session(name).answer(callKey, { type: "approve" });
        result = await agent.session(name).resume();
      }
    }
    const made = await createCase(store, name);
    writeFileSync(join(casesFolder, `${name}.json`), `${JSON.stringify(made, null, 2)}\n`);
  }
}

describe("The folder agent", verifies("EVAL-1#play"), () => {
  test("does what it did in its recorded sessions, asks about the same calls, and its requests do not grow by a tenth", async () => {
    if (process.env.RECORD_CASES !== undefined) await recordCases();
    const root = createRoot("trial");
    const report = await evaluate({
      name: "folder agent",
      agent: createAgentIn(root, createMemoryStore(), false),
      cases: readCases(casesFolder),
      judges: [sameEnd(), inRecord(), sameCalls(), sameAnswer(), costs({ atMost: 1.1 })],
    });
    expect(toExitCode(report), formatReport(report)).toBe(0);
    expect(report.trials.map((trial) => trial.case)).toEqual(Object.keys(tasks).sort());
    expect(readFileSync(join(root, "notes.txt"), "utf8"), "no tool has run").toBe("colour\n");
  });

  test("that asks about nothing any more is found", async () => {
    const agent = createAgentIn(createRoot("all"), createMemoryStore(), true);
    const report = await evaluate({
      name: "folder agent",
      agent,
      cases: readCases(casesFolder),
      judges: [sameCalls()],
    });
    expect(report.trials.filter(({ passed }) => !passed).map((trial) => trial.case)).toEqual(["replace", "todos"]);
  });
});
