/**
 * Redaction in PostgreSQL, by a role that has no more rights than a store needs.
 */
import { Pool } from "pg";
import { expect, test } from "vitest";
import { createAgent } from "../../src/index.js";
import { grantsFor, migrate, openPostgresStore } from "../../src/stores/postgres/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createDatabase, hasPostgres, usePostgres } from "../support/postgres.js";
import { exportToText } from "../transfer/transfer.js";
import { verifies } from "../verifies.js";

const server = usePostgres();
const secret = "hunter2-in-a-row";

test.runIf(hasPostgres)(
  "no row has the text any more, for a role that may neither update nor vacuum the tables of the log",
  verifies("SEC-14", "SEC-19"),
  async () => {
    const url = await createDatabase(server());
    await migrate({ url });
    const owner = new Pool({ connectionString: url });
    // end() does not wait until the connections are closed, so the server may stop before that and say so to one of them.
    owner.on("error", () => {});
    await owner.query("CREATE ROLE redactor LOGIN");
    for (const sql of grantsFor({ role: "redactor" })) await owner.query(sql);
    const store = await openPostgresStore({ url: url.replace(/\/\/[^@/]*@?/, (_) => "//redactor@") });
    const agent = createAgent({
      model: createScriptedModel([{ text: `I know ${secret}.` }, { text: "Yes." }]),
      systemPrompt: `Mind ${secret}.`,
      store,
    });
    await agent.run(`My key is ${secret}.`, { sessionId: "s" });
    const session = agent.session("s");
    const { seq } = await session.state();
    expect(await session.redact({ text: secret, by: "Ada" })).toMatchObject({ seq: seq + 1 });
    expect(await exportToText(store)).not.toContain("hunter2");
    for (const table of ["sessions", "commits", "messages"]) {
      const { rows } = await owner.query(`SELECT t::text AS row FROM pawl.${table} t`);
      expect(JSON.stringify(rows)).not.toContain("hunter2");
    }
    const { rows } = await owner.query(
      "SELECT count(*)::int AS count FROM pawl.blobs WHERE position($1::bytea IN bytes) > 0",
      [Buffer.from(secret)],
    );
    expect(rows).toEqual([{ count: 0 }]);
    expect(await store.verify()).toEqual([]);
    expect(await session.replay()).toMatchObject({ difference: null });
    expect(await agent.run("Go on.", { sessionId: "s" })).toMatchObject({ text: "Yes." });
    await agent.shutdown();
    await store.close();
    await owner.end();
  },
);
