/**
 * Every golden log moves between all stores, byte for byte, and is carried on there; and imports that are cut short.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { openPostgresStore } from "../../src/stores/postgres/index.js";
import { carryOn } from "../golden/play.js";
import { loadInto } from "../golden/recording.js";
import { scenarios } from "../golden/sessions.js";
import { createDatabase, hasPostgres, usePostgres } from "../support/postgres.js";
import { isInShare } from "../support/share.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";
import { createSourceStore, exportToText, farFuture, goldenRecordings, importText } from "./transfer.js";

test.each(localStores)(
  "an import into $name that is cut short at any place goes on, and nobody has seen half of it",
  async ({ name, open }) => {
    const text = await exportToText(await createSourceStore());
    const writes = ["claim", "commit", "putBlob", "post", "release"] as const;
    for (let place = 1, isOver = false; !isOver; place += name === "memory" ? 1 : 5)
      await withStore(open, async (target) => {
        let left = place;
        const cut = { ...target };
        for (const name of writes)
          cut[name] = async (...values: readonly unknown[]) => {
            left -= 1;
            // Every other time, what failed was written.
            if (left === 0 && place % 2 === 0) await Reflect.apply(target[name], target, values);
            if (left <= 0) throw new Error("the process was killed");
            return Reflect.apply(target[name], target, values) as never;
          };
        isOver = await importText(cut, text).then(
          () => true,
          () => false,
        );
        if (!isOver && (await target.list()).some(({ holder }) => holder?.id.startsWith("import ")))
          expect(await target.due(farFuture, 100)).toEqual([]);
        // When the last lease was given back, all is there, whoever was told so.
        const [last] = text.split("\n", 2).slice(1);
        const { sessionId } = JSON.parse(last ?? "") as { readonly sessionId: string };
        const found = await target.describe(sessionId);
        const isThere = found !== null && found.holder === null;
        if (!isThere) await importText(target, text);
        expect(await exportToText(target)).toBe(text);
      });
  },
);

describe.runIf(hasPostgres)("between stores", () => {
  const server = usePostgres(["fsync=off"]);
  let url = "";
  beforeAll(async () => {
    url = await createDatabase(server());
  });
  /** With empty tables. */
  const openPostgres = async () => {
    const store = await openPostgresStore({ url, connections: 2 });
    for (const { sessionId } of await store.list()) await store.delete(sessionId, { now: farFuture, force: true });
    return { store, close: () => store.close() };
  };
  const postgres = { name: "PostgreSQL", open: openPostgres };
  const routes = [
    ...localStores.flatMap((from) => localStores.map((to) => ({ from, to }))),
    ...localStores.flatMap((other) => [
      { from: other, to: postgres },
      { from: postgres, to: other },
    ]),
  ].map((route) => ({ ...route, name: `${route.from.name} to ${route.to.name}` }));

  describe.each(routes)("from $name", ({ from, to }) => {
    test.each(goldenRecordings.filter((_, at) => isInShare(at)))(
      "$name arrives as it was, and is carried on",
      verifies("STOR-5"),
      async ({ name, recording }) => {
        const scenario = scenarios.find((one) => one.name === name);
        if (scenario === undefined) throw new Error(`There is no agent for ${name}.`);
        await withStore(from.open, async (source) => {
          await loadInto(source, recording);
          const text = await exportToText(source);
          const [sessions, asking] = [await source.list(), await source.asking()];
          await withStore(to.open, async (target) => {
            await importText(target, text);
            expect(await exportToText(target)).toBe(text);
            expect(await target.list()).toEqual(sessions);
            expect(await target.asking()).toEqual(asking);
            expect(await target.verify()).toEqual([]);
            // The recorded agents live in virtual time, in which a server gives no answer.
            if (to === postgres) return;
            for (const [sessionId, state] of await carryOn(target, scenario, recording.sessions))
              expect(state.status, sessionId).toMatch(/completed|failed|aborted/);
          });
        });
      },
    );
  });

  test("an import into PostgreSQL that is cut short goes on", async () => {
    const text = await exportToText(await createSourceStore());
    await withStore(openPostgres, async (target) => {
      let left = 5;
      const cut = {
        ...target,
        commit: (...values: Parameters<typeof target.commit>) => {
          left -= 1;
          return left > 0 ? target.commit(...values) : Promise.reject(new Error("the process was killed"));
        },
      };
      await expect(importText(cut, text)).rejects.toThrow("killed");
      expect(await target.due(farFuture, 100)).toEqual([]);
      await importText(target, text);
      expect(await exportToText(target)).toBe(text);
    });
  });
});
