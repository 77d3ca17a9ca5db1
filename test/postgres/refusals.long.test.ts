/**
 * What a server refuses for a while: locks that others have, and a disk that is full.
 */
import { renameSync, symlinkSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../src/index.js";
import { openPostgresStore } from "../../src/stores/postgres/index.js";
import { claim, createCommit, createMessage } from "../../src/testing/conformance/bench.js";
import { checkSession, createScriptedModel } from "../../src/testing/index.js";
import { createDatabase, hasPostgres, lockSessions, usePostgres } from "../support/postgres.js";
import { verifies } from "../verifies.js";

const leaseMs = 3_600_000;

describe.runIf(hasPostgres)("a row that somebody else has locked", () => {
  const server = usePostgres(["fsync=off"]);

  test(
    "is waited for no longer than the lock's time limit, and asked for again",
    verifies("DIST-2#outcome"),
    async () => {
      const url = await createDatabase(server());
      const database = url.split("/").at(-1) ?? "";
      const [patient, hasty] = [
        await openPostgresStore({ url, busyMs: 60_000 }),
        await openPostgresStore({ url, busyMs: 50 }),
      ];
      onTestFinished(async () => {
        await patient.close();
        await hasty.close();
      });
      const lease = await claim(patient, "s", { leaseMs });
      expect(await server().run("SHOW statement_timeout", database)).toEqual([{ statement_timeout: "0" }]);
      const release = await lockSessions(server(), database);
      const waiting = Promise.all([patient.commit(lease, createCommit(0)), patient.post("s", createMessage("m"))]);
      // The patient began first, so its statements have met the same limit by then.
      const [refused] = await Promise.all([
        hasty.commit(lease, createCommit(0)),
        expect(hasty.post("s", createMessage("n"))).rejects.toMatchObject({
          code: "store_failed",
          message: expect.stringMatching(/busy.*lock timeout/),
        }),
      ]);
      await release();
      expect(refused).toEqual({ type: "busy" });
      expect(await waiting).toEqual([{ type: "ok", seq: 1 }, { type: "posted" }]);
      expect(await patient.read("s")).toHaveLength(1);
      expect((await patient.inbox("s")).map(({ id }) => id)).toEqual(["m"]);
    },
  );
});

describe.runIf(hasPostgres)("a full disk", () => {
  const server = usePostgres(["fsync=off"]);

  /**
   * The file of a table that has no rows yet becomes `/dev/full`, so that the system refuses to make it longer: as at the end of a disk.
   * @returns what makes room again
   */
  async function fill(database: string, table: string): Promise<() => Promise<void>> {
    const [place] = await server().run(`SELECT pg_relation_filepath('${table}') AS path`, database);
    const [data] = await server().run("SHOW data_directory", database);
    const file = join(String(data?.data_directory), String(place?.path));
    await server().run("CHECKPOINT", database);
    await server().kill();
    renameSync(file, `${file}.kept`);
    symlinkSync("/dev/full", file);
    await server().restart();
    return async () => {
      await server().kill();
      unlinkSync(file);
      renameSync(`${file}.kept`, file);
      await server().restart();
    };
  }

  test(
    "fails commits with a word of it, and what was interrupted goes on when there is room",
    verifies("STOR-4"),
    async () => {
      const url = await createDatabase(server());
      const database = url.split("/").at(-1) ?? "";
      const store = await openPostgresStore({ url });
      onTestFinished(() => store.close());
      const free = await fill(database, "pawl.commits");
      const model = createScriptedModel(() => ({ text: "Done." }));
      const agent = createAgent({ model, store });
      const interrupted = await agent.run("Go", { sessionId: "s", runId: "r" });
      expect(interrupted).toMatchObject({
        status: "interrupted",
        reason: "store_failed",
        resumable: true,
        error: { message: expect.stringMatching(/disk.*is full/) },
      });
      const lease = await claim(store, "t", { leaseMs });
      await expect(store.commit(lease, createCommit(0))).rejects.toMatchObject({
        code: "store_failed",
        message: expect.stringMatching(/disk.*is full.*Free some space/),
      });
      expect(await store.read("t")).toEqual([]);
      await free();
      expect(await store.commit(lease, createCommit(0))).toEqual({ type: "ok", seq: 1 });
      expect(await agent.run("Go", { sessionId: "s", runId: "r" })).toMatchObject({ status: "completed" });
      await checkSession(store, "s");
    },
  );
});
