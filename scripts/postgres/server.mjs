/**
 * PostgreSQL and PgBouncer for tests and benches: servers of their own, in folders that are removed afterwards.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { freePort } from "../free-port.mjs";

const path = (process.env.PATH ?? "").split(delimiter);

/** The folder of the server's programs; null if they are not installed. */
export function postgresPrograms() {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian).map((version) => join(debian, version, "bin")) : [];
  const folders = [...path, ...versions.sort().reverse()];
  const found = folders.find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")));
  // It may be linked from elsewhere, and its neighbours not.
  return found === undefined ? null : dirname(realpathSync(join(found, "initdb")));
}

/** The program; null if it is not installed. */
export function pgBouncerProgram() {
  return [...path, "/usr/sbin"].map((folder) => join(folder, "pgbouncer")).find((file) => existsSync(file)) ?? null;
}

/** A server refuses to run as root. */
export function serverUser() {
  if (process.getuid?.() !== 0) return {};
  const idOf = (flag) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }).trim());
  return { uid: idOf("-u"), gid: idOf("-g") };
}

/** A server on new files. */
export async function startPostgres(settings = []) {
  const folder = newFolder();
  const data = join(folder, "data");
  runProgram("initdb", ["-D", data, "-E", "UTF8", "--locale=C", "-U", "pawl", "--auth=trust"], folder);
  return await serve({ folder, data, settings });
}

/** A server that follows another one, on a copy of its files, until it is promoted. */
export async function startReplica(primary, settings = []) {
  const folder = newFolder();
  const data = join(folder, "data");
  runProgram("pg_basebackup", ["-d", `${primary}?application_name=replica`, "-D", data, "-R", "-c", "fast"], folder);
  const server = await serve({ folder, data, settings });
  return { ...server, promote: async () => void (await server.run("SELECT pg_promote()")) };
}

function newFolder() {
  const folder = mkdtempSync(join(tmpdir(), "pawl-postgres-"));
  const { uid, gid } = serverUser();
  if (uid !== undefined) chownSync(folder, uid, gid);
  return folder;
}

function runProgram(name, parameters, cwd) {
  const bin = postgresPrograms();
  if (bin === null) throw new Error("PostgreSQL is not installed. On Debian: apt-get install postgresql");
  execFileSync(join(bin, name), parameters, { ...serverUser(), cwd, stdio: "pipe" });
}

async function serve({ folder, data, settings }) {
  const port = await freePort();
  const flags = ["listen_addresses=127.0.0.1", `unix_socket_directories=${folder}`, ...settings];
  const parameters = ["-D", data, "-p", String(port), ...flags.flatMap((flag) => ["-c", flag])];
  const start = () => startProgram(join(postgresPrograms(), "postgres"), parameters, folder, "ready to accept");
  let server = await start();
  const address = (database) => `postgres://pawl@127.0.0.1:${port}/${database}`;
  return {
    url: address("postgres"),
    async run(text, database = "postgres") {
      const client = new pg.Client({ connectionString: address(database) });
      // Its server may end while it is at work: then the statement fails.
      client.on("error", () => {});
      await client.connect();
      try {
        return (await client.query(text)).rows;
      } finally {
        await client.end();
      }
    },
    // SIGQUIT ends the server and all its processes at once, without a checkpoint.
    kill: (what = "whole") => endProgram(server, what === "whole" ? "SIGQUIT" : "SIGKILL"),
    async restart() {
      // Processes that have lost their postmaster keep a new one out until they have noticed.
      for (let attempt = 1; ; attempt += 1)
        try {
          server = await start();
          return;
        } catch (error) {
          if (attempt === 100) throw error;
          await pause(50);
        }
    },
    async close() {
      await endProgram(server, "SIGINT");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** PgBouncer before a server, in transaction mode. */
export async function startPgBouncer(server, { poolSize = 2 } = {}) {
  const bin = pgBouncerProgram();
  if (bin === null) throw new Error("PgBouncer is not installed. On Debian: apt-get install pgbouncer");
  const folder = mkdtempSync(join(tmpdir(), "pawl-pgbouncer-"));
  const port = await freePort();
  const settings = [
    "[databases]",
    `* = host=127.0.0.1 port=${new URL(server).port}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = trust",
    `auth_file = ${join(folder, "users")}`,
    "pool_mode = transaction",
    `default_pool_size = ${poolSize}`,
    // After a server that was away, it is asked again each second.
    "server_login_retry = 1",
  ];
  writeFileSync(join(folder, "settings.ini"), `${settings.join("\n")}\n`);
  writeFileSync(join(folder, "users"), '"pawl" ""\n');
  chmodSync(folder, 0o755);
  const start = () => startProgram(bin, [join(folder, "settings.ini")], folder, "process up");
  let pooler = await start();
  return {
    port,
    url: server.replace(/:\d+\//, `:${port}/`),
    kill: () => endProgram(pooler, "SIGKILL"),
    async restart() {
      pooler = await start();
    },
    async close() {
      await endProgram(pooler, "SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Resolves to the process when it has said that it is ready. */
async function startProgram(file, parameters, cwd, ready) {
  const child = spawn(file, parameters, { ...serverUser(), cwd, stdio: ["ignore", "ignore", "pipe"] });
  // A process that ends without closing its servers leaves neither them nor their files behind.
  const end = () => {
    child.kill("SIGKILL");
    rmSync(cwd, { recursive: true, force: true, maxRetries: 10 });
  };
  process.once("exit", end);
  child.once("exit", () => process.off("exit", end));
  await new Promise((resolve, reject) => {
    let said = "";
    child.stderr.on("data", (chunk) => {
      said = (said + chunk.toString()).slice(-10_000);
      if (said.includes(ready)) resolve();
    });
    child.once("exit", () => reject(new Error(`${file} did not start: ${said}`)));
  });
  return child;
}

async function endProgram(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}
