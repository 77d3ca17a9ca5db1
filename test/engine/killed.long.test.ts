/**
 * An engine whose process is killed with SIGKILL before and after every commit: what its plugins promise holds all the same.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type KillPlay, killTest } from "pawl/testing";
import ts from "typescript";
import { expect, onTestFinished, test } from "vitest";
import { createAuditLog } from "../../examples/plugins/audit-log.js";
import { createSecretMasking } from "../../examples/plugins/secret-masking.js";
import { createEngine } from "../../src/index.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { verifies } from "../verifies.js";

const secret = "correct-horse-battery-staple";
const script = fileURLToPath(new URL("../fixtures/audited-engine.mjs", import.meta.url));

/** The plugins of the examples, for a process that knows JavaScript alone; within the package, whose name they import. */
function compilePlugins(): string {
  mkdirSync("temp", { recursive: true });
  const folder = mkdtempSync(resolve("temp", "plugins-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023, verbatimModuleSyntax: true };
  for (const name of readdirSync("examples/plugins")) {
    const { outputText } = ts.transpileModule(readFileSync(join("examples/plugins", name), "utf8"), {
      compilerOptions,
    });
    writeFileSync(join(folder, name.replace(/\.ts$/, ".js")), outputText);
  }
  return folder;
}

/** The audit log has what one has that is written of the whole store at once, and the secret is nowhere. */
async function checkPlay({ folder, store, at, stdout }: KillPlay): Promise<void> {
  const where = at.join(", ");
  expect(stdout, where).toBe("completed Done.\n");
  const anew = join(folder, "anew.jsonl");
  const plugins = [createAuditLog({ path: anew }), createSecretMasking({ TOKEN: secret })];
  await (await createEngine({ store, plugins, agents: [] })).shutdown();
  const audit = readFileSync(join(folder, "audit.jsonl"), "utf8");
  expect(audit, where).toBe(readFileSync(anew, "utf8"));
  expect(audit, where).toContain('"decision":"deny","by":"rules"');
  for (const file of readdirSync(folder)) expect(readFileSync(join(folder, file)).includes(secret), where).toBe(false);
}

test("an engine that is killed before and after every commit recovers, and its audit log is whole", {
  ...verifies("PLUG-1", "REC-3", "SEC-14"),
  timeout: 240_000,
}, async () => {
  const report = await killTest({
    script,
    args: [compilePlugins()],
    env: { TOKEN: secret },
    openStore: (folder) => openSqliteStore({ path: join(folder, "sessions.db") }),
    check: checkPlay,
  });
  expect(report.kills).toBeGreaterThanOrEqual(8);
  expect(report.unknown).toMatchObject({ look: 0 });
});
