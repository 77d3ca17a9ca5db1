/**
 * Run in a folder where the package is installed and nothing else: every entry point loads, and what needs an optional peer says
 * which, and how to get it. Prints a line for each.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createRequire, isBuiltin } from "node:module";
import { createMemoryStore, PawlError } from "pawl";
import { resolveModel } from "pawl/models";
import { openPostgresStore } from "pawl/postgres";
import { createOpenTelemetryObserver } from "pawl/protocols/opentelemetry";
import { pawlObject } from "pawl/restate";
import { createServer, createToken } from "pawl/server";
import { openSqliteStore } from "pawl/sqlite";
import { connectMcpServer } from "pawl/tools/mcp";

const { exports, peerDependencies } = createRequire(import.meta.url)("pawl/package.json");

const entries = Object.keys(exports).filter((path) => !path.endsWith(".json"));
for (const entry of entries) await import(`pawl${entry.slice(1)}`);
console.log(`${entries.length} entry points load.`);

const openStore = () => openSqliteStore({ path: "sessions.db" });
const hasSqlite = isBuiltin("node:sqlite");

/** What needs each peer, by the peer's name: a function, or a command. */
const uses = {
  "@a2a-js/sdk": postA2a,
  "@agentclientprotocol/sdk": ["acp"],
  "@modelcontextprotocol/client": () =>
    connectMcpServer({ name: "files", transport: { type: "stdio", command: "no-such-server" } }),
  "@modelcontextprotocol/server": ["mcp"],
  "@opentelemetry/api": () => createOpenTelemetryObserver(),
  "@restatedev/restate-sdk": () => pawlObject({ store: createMemoryStore(), agents: [] }),
  libsql: openStore,
  pg: () => openPostgresStore({ url: "postgres://localhost/pawl" }),
};
assert.deepEqual(Object.keys(uses), Object.keys(peerDependencies));

for (const [peer, use] of Object.entries(uses))
  if (Array.isArray(use)) isMissingFor(peer, use);
  else if (peer !== "libsql" || !hasSqlite) await isMissing(peer, use);
await isMissing("@ai-sdk/anthropic", () =>
  resolveModel("anthropic/claude-sonnet-5-5", { env: { ANTHROPIC_API_KEY: "no key" } }),
);

if (hasSqlite) {
  const store = await openStore();
  await store.close();
  console.log("A store opens.");
} else {
  const watched = spawnSync(process.execPath, ["--import", "pawl/testing/kill-at-commit", "--eval", ""], {
    env: { ...process.env, PAWL_KILL_AT: "count" },
    encoding: "utf8",
  });
  assert.match(watched.stderr, /PawlError: .*npm install libsql/);
}

/** The server logs why it cannot answer. */
async function postA2a() {
  const [token, lines] = [createToken(), []];
  const a2a = { agent: "any", description: "Does nothing." };
  const server = createServer({ store: createMemoryStore(), agents: [], token, a2a, log: (line) => lines.push(line) });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  await server.fetch(new Request("http://localhost/a2a", { method: "POST", headers, body: "{}" }));
  await server.close();
  for (const { error } of lines) if (error !== undefined) throw error;
}

function isMissingFor(name, command) {
  const { status, stderr } = spawnSync(process.execPath, ["node_modules/pawl/dist/cli/main.js", ...command], {
    encoding: "utf8",
    input: "",
  });
  assert.notEqual(status, 0);
  assert.match(stderr, new RegExp(`npm install .*${name}`));
  console.log(stderr.trim());
}

async function isMissing(name, use) {
  const error = await Promise.resolve()
    .then(use)
    .then(
      () => assert.fail(`What needs ${name} works without it.`),
      (error) => error,
    );
  assert.ok(error instanceof PawlError, `Without ${name}: ${error.stack}`);
  assert.equal(error.code, "missing_package");
  assert.ok(error.message.includes(`npm install ${name}`), error.message);
  console.log(error.message);
}
