/**
 * Kills of MCP's tasks and questions: an agent calls `pawl` over MCP, with a question to a person, while client and server are killed
 * (SIGKILL) at moments drawn at random. The call must end with its result, and nothing may happen twice.
 *
 *     npm run mcp-kills                                          25 trials of each kind
 *     npm run mcp-kills -- --trials 100 --transport http         `pawl serve`; or stdio: `pawl mcp`
 *     npm run mcp-kills -- --store postgres                      or sqlite
 *     npm run mcp-kills -- --from 17 --trials 1                  seed 17 alone
 *     npm run mcp-kills -- --at-once 8                           as many trials at the same time; 4 if not given
 *
 * A seed fixes after how many entries of the logs the processes die. What they are doing then is up to the machine. PostgreSQL is that of this
 * machine, with files of its own. Pawl runs from dist: build after a change.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { runTrial } from "./mcp-kills/trial.mjs";
import { postgresPrograms, startPostgres } from "./postgres/server.mjs";

const { values } = parseArgs({
  options: {
    trials: { type: "string", default: "25" },
    from: { type: "string", default: "1" },
    "at-once": { type: "string", default: "4" },
    transport: { type: "string" },
    store: { type: "string" },
  },
});
const [trials, from, atOnce] = ["trials", "from", "at-once"].map((name) => Number(values[name]));
const transports = values.transport === undefined ? ["http", "stdio"] : [values.transport];
const storeKinds = values.store === undefined ? ["sqlite", "postgres"] : [values.store];
const isKnown =
  transports.every((name) => ["http", "stdio"].includes(name)) &&
  storeKinds.every((name) => ["sqlite", "postgres"].includes(name));
if (!isKnown || ![trials, from, atOnce].every(Number.isSafeInteger) || trials < 1 || atOnce < 1) {
  console.error(
    "Usage: npm run mcp-kills -- [--trials N] [--from N] [--at-once N] [--transport http|stdio] [--store sqlite|postgres]",
  );
  process.exit(2);
}
if (storeKinds.includes("postgres") && postgresPrograms() === null) {
  console.error("The trials over PostgreSQL need its programs. On Debian: apt-get install postgresql");
  process.exit(1);
}

let failed = 0;
for (const store of storeKinds) {
  const postgres = store === "postgres" ? await startPostgres() : null;
  for (const transport of transports) await tryKind({ transport, store, postgres });
  await postgres?.close();
}
process.exitCode = failed > 0 ? 1 : 0;

async function tryKind({ transport, store, postgres }) {
  const startedAt = performance.now();
  const total = { result: 0, unknown: 0, server: 0, client: 0, failed: 0 };
  let next = from;
  async function tryNext() {
    while (next < from + trials) {
      const seed = next;
      next += 1;
      const places = postgres === null ? null : await createPlaces(postgres, `${transport}_${seed}`);
      const { outcome, kills, problems } = await runTrial({ seed, transport, places });
      for (const problem of problems) console.error(`${transport}, ${store}, seed ${seed}: ${problem}`);
      total[outcome] += 1;
      total.server += kills.server;
      total.client += kills.client;
      total.failed += problems.length > 0 ? 1 : 0;
    }
  }
  await Promise.all(Array.from({ length: atOnce }, tryNext));
  // A fault that ends every call before its task would otherwise look like an early kill.
  if (trials >= 8 && total.result === 0) {
    console.error(`${transport}, ${store}: no call of ${trials} got its result`);
    total.failed += 1;
  }
  failed += total.failed;
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  console.log(
    `${transport}, ${store}: ${trials} trials in ${seconds} s, ${total.server} kills of servers, ${total.client} of clients; ` +
      `${total.result} calls with their result, ${total.unknown} cut off before they had a task; ${total.failed} failed`,
  );
}

/** Two databases of the server, one for each side. */
async function createPlaces(postgres, name) {
  const create = async (side) => {
    await postgres.run(`CREATE DATABASE ${name}_${side}`);
    const url = postgres.url.replace(/postgres$/, `${name}_${side}`);
    return { url, listenUrl: url };
  };
  return { server: await create("server"), client: await create("client") };
}
