/**
 * Opening a PostgreSQL store: making its tables, checking them, the rights of its role, and who the server is.
 */
import { chmodSync, chownSync, copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { createAgent, type Store } from "../../src/index.js";
import {
  describePostgres,
  grantsFor,
  migrate,
  openPostgresStore,
  type PostgresOptions,
} from "../../src/stores/postgres/index.js";
import { claim, commit, createAskingFields, t0 } from "../../src/testing/conformance/bench.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createDatabase, hasPostgres, serverUser, startPostgres, usePostgres } from "../support/postgres.js";
import { verifies } from "../verifies.js";

async function open(options: PostgresOptions): Promise<Store> {
  const store = await openPostgresStore(options);
  onTestFinished(() => store.close());
  return store;
}

const model = () => createScriptedModel(() => ({ text: "Done." }));

describe.runIf(hasPostgres)("opening a PostgreSQL store", () => {
  const server = usePostgres(["fsync=off"]);

  test("the first makes the tables, and another finds them", verifies("DIST-1#conformance"), async () => {
    const url = await createDatabase(server());
    expect(await describePostgres({ url })).toMatchObject({ tables: null, format: null });
    const agent = createAgent({ model: model(), store: await open({ url }) });
    expect(await agent.run("Go", { sessionId: "s" })).toMatchObject({ status: "completed" });
    expect(await (await open({ url })).list()).toMatchObject([{ sessionId: "s", status: "completed" }]);
    const about = await describePostgres({ url });
    expect(about).toMatchObject({ tables: 5, format: 2, isEncrypted: false, version: expect.stringMatching(/^\d+\./) });
    expect(Math.abs(about.clockAheadMs)).toBeLessThan(60_000);
  });

  test("many that migrate at once make the tables once", verifies("DIST-1#conformance"), async () => {
    const url = await createDatabase(server());
    const made = await Promise.all(Array.from({ length: 6 }, () => migrate({ url })));
    expect(made.map(({ to }) => to)).toEqual([5, 5, 5, 5, 5, 5]);
    expect(await migrate({ url })).toEqual({ from: 5, to: 5 });
    expect(await (await open({ url })).list()).toEqual([]);
  });

  test("stores of several schemas know nothing of each other", async () => {
    const url = await createDatabase(server());
    const [one, other] = [await open({ url, schema: "one" }), await open({ url, schema: "Other_2" })];
    await one.post("s", { id: "m", at: 1, body: { type: "abort" } });
    expect(await one.list()).toHaveLength(1);
    expect(await other.list()).toEqual([]);
    for (const schema of ["", "2nd", 'a"b', "x".repeat(49), "public; DROP SCHEMA one"])
      await expect(openPostgresStore({ url, schema }), schema).rejects.toMatchObject({ code: "bad_configuration" });
  });

  test("tables of version 1 are brought up to date, and a run in them goes on", verifies("STOR-5"), async () => {
    const url = await createDatabase(server());
    const database = url.split("/").at(-1);
    await server().run(readFileSync(new URL("tables-of-version-1.sql", import.meta.url), "utf8"), database);
    await expect(openPostgresStore({ url })).rejects.toMatchObject({ code: "older_format" });
    expect(await migrate({ url })).toEqual({ from: 1, to: 5 });
    const store = await open({ url });
    const pay = { name: "pay", description: "Pays.", input: {}, needsApproval: true, execute: () => "paid" };
    const agent = createAgent({ model: createScriptedModel(() => ({ text: "Done." })), tools: [pay], store });
    const session = agent.session("waits");
    const [approval] = await session.pendingApprovals();
    await session.answer(approval?.callKey ?? "", { type: "approve" });
    const again = await agent.run("Pay 5.", { sessionId: "waits", runId: "first" });
    expect(again).toMatchObject({ status: "completed", text: "Done." });
    expect(await store.verify()).toEqual([]);
  });

  test(
    "a process of 0.1 that goes on leaves no overview, and lists read it from its commit",
    verifies("STOR-5"),
    async () => {
      const url = await createDatabase(server());
      const store = await open({ url });
      const runIn = (of: Store) => createAgent({ model: model(), store: of }).run("Go", { sessionId: "s" });
      await runIn(store);
      const pool = new pg.Pool({ connectionString: url });
      onTestFinished(() => pool.end());
      // It calls the functions that it knows, whose last parameter is the principal.
      const old = await open({
        pool: {
          query: (text, values) =>
            text.includes(".append($1::text")
              ? pool.query(text.replace(/, \$(25|26|27|28|29)::\w+/g, ""), values?.slice(0, 24))
              : pool.query(text, values === undefined ? [] : [...values]),
        },
      });
      const { runId } = await runIn(old);
      expect(await server().run("SELECT overview FROM pawl.sessions", url.split("/").at(-1))).toEqual([
        { overview: null },
      ]);
      expect(await store.list({ overview: true, text: "S" })).toMatchObject([{ overview: { lastRun: { runId } } }]);
      expect(await store.verify()).toEqual([]);
    },
  );

  test("a session that begins to ask while it is verified is not reported as damaged", verifies("STOR-4"), async () => {
    const url = await createDatabase(server());
    const driver = await open({ url });
    const lease = await claim(driver);
    await commit(driver, lease, 0);
    const pool = new pg.Pool({ connectionString: url });
    onTestFinished(() => pool.end());
    let reads = 0;
    const store = await open({
      pool: {
        async query(text, values) {
          const result = await pool.query(text, values === undefined ? [] : [...values]);
          if (/sessions s WHERE s\.id > /.test(text) && result.rows.length > 0 && ++reads === 1)
            await commit(driver, lease, 1, createAskingFields(2, t0));
          return result;
        },
      },
    });
    expect(await store.verify()).toEqual([]);
    expect(reads).toBe(2);
    await server().run("UPDATE pawl.sessions SET asked_at = NULL", url.split("/").at(-1));
    expect(await store.verify()).toMatchObject([
      { sessionId: "s", what: expect.stringContaining("asking since null") },
    ]);
  });

  test("tables of another version are refused, and say what to do", verifies("STOR-5"), async () => {
    const url = await createDatabase(server());
    const database = url.split("/").at(-1);
    await migrate({ url });
    await server().run("INSERT INTO pawl.migrations (version) VALUES (99)", database);
    for (const attempt of [() => openPostgresStore({ url }), () => migrate({ url })])
      await expect(attempt()).rejects.toMatchObject({ code: "newer_format", message: expect.stringContaining("99") });
    await server().run("DELETE FROM pawl.migrations", database);
    await server().run("INSERT INTO pawl.migrations (version) VALUES (0)", database);
    await expect(openPostgresStore({ url })).rejects.toMatchObject({
      code: "older_format",
      message: expect.stringContaining("pawl postgres migrate"),
    });
  });

  test("a database in another encoding is refused, and nothing is made in it", verifies("STOR-1"), async () => {
    await server().run("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
    const url = server().url.replace(/postgres$/, "latin");
    for (const attempt of [() => openPostgresStore({ url }), () => migrate({ url })])
      await expect(attempt()).rejects.toMatchObject({
        code: "store_open",
        message: expect.stringMatching(/latin.*encoding LATIN1.*UTF8/),
      });
    expect(await server().run("SELECT 1 FROM pg_namespace WHERE nspname = 'pawl'", "latin")).toEqual([]);
  });

  test("a database whose transactions read what was there before is refused", verifies("STOR-1"), async () => {
    const url = await createDatabase(server());
    await server().run(`ALTER DATABASE ${url.split("/").at(-1)} SET default_transaction_isolation = 'repeatable read'`);
    for (const attempt of [() => openPostgresStore({ url }), () => migrate({ url })])
      await expect(attempt()).rejects.toMatchObject({
        code: "store_open",
        message: expect.stringMatching(/repeatable read.*read committed/),
      });
  });

  test(
    "a role with the printed grants can do everything, and without them nothing",
    verifies("SEC-19#database"),
    async () => {
      const url = await createDatabase(server());
      const database = url.split("/").at(-1);
      await server().run("CREATE ROLE worker LOGIN; CREATE ROLE stranger LOGIN");
      const as = (role: string) => url.replace("pawl@", `${role}@`);
      await expect(openPostgresStore({ url: as("worker") })).rejects.toMatchObject({
        code: "store_open",
        message: expect.stringMatching(/may not create them.*pawl postgres migrate.*pawl postgres grants/),
      });
      await migrate({ url });
      await expect(openPostgresStore({ url: as("worker") })).rejects.toMatchObject({
        code: "store_open",
        message: expect.stringContaining("pawl postgres grants"),
      });
      await server().run(grantsFor({ role: "worker" }).join("\n"), database);
      const store = await open({ url: as("worker") });
      const agent = createAgent({ model: model(), store });
      expect(await agent.run("Go", { sessionId: "s" })).toMatchObject({ status: "completed" });
      expect(await store.verify()).toEqual([]);
      expect(await store.delete("s", { now: Date.now() })).toBe(true);
      await expect(migrate({ url: as("stranger") })).rejects.toMatchObject({ code: "store_open" });
      // What is not needed is not granted.
      for (const statement of [
        "UPDATE pawl.commits SET events = ''",
        "DROP TABLE pawl.blobs",
        "CREATE TABLE pawl.own ()",
      ])
        await expect(server().run(`SET ROLE worker; ${statement}`, database), statement).rejects.toThrow(
          /permission|owner/,
        );
    },
  );

  test("a server that cannot be reached says so, without the password", verifies("STOR-4"), async () => {
    for (const url of ["postgres://me:hunter2secret@127.0.0.1:1/db", server().url.replace(/\/postgres$/, "/nowhere")])
      await expect(openPostgresStore({ url })).rejects.toMatchObject({
        code: "store_open",
        message: expect.not.stringContaining("hunter2secret"),
      });
    for (const url of ["mysql://me:hunter2secret@host/db", "no address, hunter2secret"])
      await expect(openPostgresStore({ url })).rejects.toMatchObject({
        code: "bad_configuration",
        message: expect.not.stringContaining("hunter2secret"),
      });
  });
});

describe.runIf(hasPostgres)("an encrypted connection", () => {
  const certificate = resolve("test/fixtures/tls/certificate.pem");

  async function startEncrypted() {
    const folder = mkdtempSync(join(tmpdir(), "pawl-tls-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const { uid, gid } = serverUser();
    for (const name of ["certificate.pem", "key.pem"]) {
      copyFileSync(resolve("test/fixtures/tls", name), join(folder, name));
      chmodSync(join(folder, name), 0o600);
      if (uid !== undefined && gid !== undefined) chownSync(join(folder, name), uid, gid);
    }
    chmodSync(folder, 0o755);
    const files = [`ssl_cert_file=${join(folder, "certificate.pem")}`, `ssl_key_file=${join(folder, "key.pem")}`];
    const server = await startPostgres(["fsync=off", "ssl=on", ...files]);
    onTestFinished(() => server.close());
    return server;
  }

  test("checks the server's certificate, unless told otherwise", verifies("SEC-19#database"), async () => {
    const { url } = await startEncrypted();
    for (const mode of ["require", "prefer", "verify-ca", "verify-full"])
      await expect(openPostgresStore({ url: `${url}?sslmode=${mode}` }), mode).rejects.toMatchObject({
        code: "store_open",
        message: expect.stringMatching(/certificate/),
      });
    const trusting = `${url.replace("127.0.0.1", "localhost")}?sslmode=require&sslrootcert=${certificate}`;
    expect(await describePostgres({ url: trusting })).toMatchObject({ isEncrypted: true });
    expect(await describePostgres({ url: `${url}?sslmode=no-verify` })).toMatchObject({ isEncrypted: true });
    expect(await describePostgres({ url: `${url}?sslmode=disable` })).toMatchObject({ isEncrypted: false });
  });
});
