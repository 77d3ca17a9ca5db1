/**
 * What is looked for often costs what is found, not what is stored: the plans that PostgreSQL makes beside many sessions that have ended.
 */
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { openPostgresStore } from "../../src/stores/postgres/index.js";
import { createStatements } from "../../src/stores/postgres/statements.js";
import { createDatabase, hasPostgres, usePostgres } from "../support/postgres.js";
import { verifies } from "../verifies.js";

const ended = 20_000;

type Plan = {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly Plan[];
};

const nodesOf = (plan: Plan): readonly Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

describe.runIf(hasPostgres)("beside many sessions that have ended", () => {
  const server = usePostgres(["fsync=off"]);

  /** The steps of a statement's plan, as it was executed. */
  async function explainer(): Promise<(sql: string, values: readonly unknown[]) => Promise<readonly Plan[]>> {
    const url = await createDatabase(server());
    await (await openPostgresStore({ url })).close();
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query(`INSERT INTO pawl.sessions (name, created_at, updated_at, status, seq, v)
      SELECT 's-' || n, n, n, 'completed', 1, 2 FROM generate_series(1, ${ended}) AS n`);
    await client.query(`INSERT INTO pawl.commits (session, seq, v, status, at, epoch, events, events_sum, state, state_sum)
      SELECT id, 1, 2, 'completed', 1, 1, '[]', 0, '{}', 0 FROM pawl.sessions`);
    await client.query("ANALYZE");
    return async (sql, values) => {
      const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`, [...values]);
      return nodesOf(rows[0]["QUERY PLAN"][0].Plan);
    };
  }

  test("a list of what is under way reads none of them", verifies("STOR-3"), async () => {
    const explain = await explainer();
    const underWay = ["preparing", "model_running", "tool_running"];
    const nodes = await explain(createStatements("pawl").list, [
      underWay,
      null,
      null,
      null,
      false,
      null,
      null,
      50,
      null,
    ]);
    expect(nodes.map((node) => node["Rows Removed by Filter"] ?? 0).filter((rows) => rows > 0)).toEqual([]);
    expect(nodes.filter((node) => node["Node Type"] === "Seq Scan" && node["Relation Name"] === "sessions")).toEqual(
      [],
    );
  });

  test("a look for changes reads no session that has not changed", verifies("STOR-3"), async () => {
    const explain = await explainer();
    const nodes = await explain(createStatements("pawl").changes, ["0", 1_001]);
    expect(nodes.filter((node) => node["Node Type"] === "Seq Scan" && node["Relation Name"] === "sessions")).toEqual(
      [],
    );
  });
});
