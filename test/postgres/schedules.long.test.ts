/**
 * Schedules on a PostgreSQL server, whose clock has the last word.
 */
import { describe, expect, test } from "vitest";
import { createSchedules, createWorker } from "../../src/index.js";
import { openPostgresStore } from "../../src/stores/postgres/index.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createDatabase, hasPostgres, usePostgres } from "../support/postgres.js";
import { asked, describeSchedules } from "../time/schedule-cases.js";
import { verifies } from "../verifies.js";

describe.runIf(hasPostgres)("on PostgreSQL", () => {
  const server = usePostgres(["fsync=off"]);
  const open = async () => {
    const store = await openPostgresStore({ url: await createDatabase(server()), connections: 3, pollMs: 10 });
    return { store, close: () => store.close() };
  };

  describeSchedules("PostgreSQL", open);

  test(
    "a worker whose clock is an hour ahead fires nothing early, and an edit loses no slot",
    verifies("TIME-4#schedules"),
    async () => {
      const { store, close } = await open();
      const clock = createTestClock(Date.now() + 3_600_000);
      const schedules = createSchedules({ store, clock });
      await schedules.put({ id: "each", cron: "* * * * *", ...asked });
      clock.jump(120_000);
      await createWorker({ store, agents: [], clock }).runUntilIdle();
      expect(await schedules.slots("each")).toEqual([]);
      // An edit keeps the slot that the server's clock has not reached.
      const { nextAt } = (await schedules.get("each")) ?? {};
      const edited = await schedules.put({ id: "each", cron: "* * * * *", ...asked, input: "What else?" });
      expect(edited).toMatchObject({ rev: 2, nextAt });
      await close();
    },
  );

  test(
    "a worker whose clock is an hour ahead runs and counts no slots early",
    verifies("TIME-4#schedules"),
    async () => {
      const { store, close } = await open();
      const from = Date.now() - 65_000;
      const given = { id: "each", everyMs: 60_000, startAt: from, ...asked };
      await createSchedules({ store, clock: createTestClock(from - 1) }).put(given);
      const clock = createTestClock(from + 3_600_000);
      await createWorker({ store, agents: [], clock }).runUntilIdle();
      expect(await createSchedules({ store, clock }).slots("each")).toMatchObject([
        { slot: from + 60_000, outcome: "posted" },
        { slot: from, outcome: "missed" },
      ]);
      await close();
    },
  );
});
