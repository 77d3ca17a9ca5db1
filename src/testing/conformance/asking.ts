/**
 * Sessions that wait for an answer from outside.
 */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { AskingOptions, AskingSession, Store } from "../../ports/store.js";
import {
  claim,
  commit,
  createAskingFields,
  createAskingSession,
  createCases,
  createMessage,
  createRestingSession,
  t0,
} from "./bench.js";

async function listAskers(store: Store, options: AskingOptions = {}): Promise<readonly string[]> {
  return (await store.asking(options)).map(({ sessionId }) => sessionId);
}

export const askingCases = createCases(["STOR-1", "HITL-2"], {
  "an empty store has no asking sessions": async ({ store }) => {
    deepStrictEqual(await store.asking(), []);
  },
  "an asking session is listed with its state, the time at which it began to ask, and the size of its inbox": async ({
    store,
  }) => {
    await createAskingSession(store, "s", t0 - 5);
    await store.post("s", createMessage("m"));
    const { state } = createAskingFields(1, t0 - 5);
    deepStrictEqual(await store.asking(), [{ sessionId: "s", askedAt: t0 - 5, state, inbox: 1 }]);
  },
  "a session without a question is not listed": async ({ store }) => {
    await createRestingSession(store, "resting");
    await store.post("posted", createMessage("m"));
    await commit(store, await claim(store, "active"), 0);
    deepStrictEqual(await store.asking(), []);
  },
  "a session that asks while it is held and running is also listed": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, { ...createAskingFields(1, t0), activity: "active" });
    deepStrictEqual(await listAskers(store), ["s"]);
    await commit(store, lease, 1, { ...createAskingFields(2, t0), activity: "active" });
    const [only, ...others] = await store.asking();
    deepStrictEqual(others, []);
    strictEqual(only?.state?.seq, 2);
  },
  "an answered session is no longer listed": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, createAskingFields(1, t0));
    await commit(store, lease, 1);
    deepStrictEqual(await store.asking(), []);
  },
  "a session that asks again is listed with the new time": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, createAskingFields(1, t0));
    await createAskingSession(store, "between", t0 + 1);
    deepStrictEqual(await listAskers(store), ["s", "between"]);
    await commit(store, lease, 1, createAskingFields(2, t0 + 2));
    deepStrictEqual(await listAskers(store), ["between", "s"]);
  },
  "a deleted session is no longer listed": async ({ store }) => {
    await createAskingSession(store, "s", t0);
    await createAskingSession(store, "t", t0);
    deepStrictEqual(await listAskers(store), ["s", "t"]);
    await store.delete("s", { now: t0, force: true });
    deepStrictEqual(await listAskers(store), ["t"]);
  },
  "the session that has been asking longest comes first": async ({ store }) => {
    for (const [id, at] of [
      ["new", 3],
      ["old", 1],
      ["middle", 2],
    ] as const)
      await createAskingSession(store, id, t0 + at);
    deepStrictEqual(await listAskers(store), ["old", "middle", "new"]);
    deepStrictEqual(await listAskers(store, { limit: 2 }), ["old", "middle"]);
    deepStrictEqual(await listAskers(store, { limit: Number.POSITIVE_INFINITY }), ["old", "middle", "new"]);
  },
  "sessions that have been asking since the same time are ordered by id": async ({ store }) => {
    for (const id of ["b", "é", "a", "B", "😀", "\ufb01"]) await createAskingSession(store, id, t0);
    deepStrictEqual(await listAskers(store), ["B", "a", "b", "é", "\ufb01", "😀"]);
  },
  "the pages together contain all asking sessions": async ({ store }) => {
    for (let index = 0; index < 17; index++) await createAskingSession(store, `s${index}`, t0 + Math.floor(index / 4));
    const pages: AskingSession[] = [];
    for (let count = 0; count < 10; count++) {
      const after = pages.at(-1);
      const page = await store.asking({ limit: 5, ...(after === undefined ? {} : { after }) });
      if (page.length === 0) break;
      pages.push(...page);
    }
    deepStrictEqual(
      pages.map(({ sessionId }) => sessionId),
      await listAskers(store),
    );
    strictEqual(pages.length, 17);
  },
  "a page continues after a position that is gone": async ({ store }) => {
    for (const id of ["a", "b", "c"]) await createAskingSession(store, id, t0);
    await store.delete("b", { now: t0, force: true });
    deepStrictEqual(await listAskers(store, { after: { askedAt: t0, sessionId: "b" } }), ["c"]);
    deepStrictEqual(await listAskers(store, { after: { askedAt: t0 + 1, sessionId: "" } }), []);
  },
  "a session that asks in another process is listed, also after the store is reopened": async ({
    store,
    second,
    reopened,
  }) => {
    await createAskingSession(await second(), "s", t0);
    deepStrictEqual(await listAskers(store), ["s"]);
    deepStrictEqual(await listAskers(await reopened()), ["s"]);
  },
  "an asking session has no problems": async ({ store }) => {
    await createAskingSession(store, "s", t0);
    deepStrictEqual(await store.verify(), []);
  },
});
