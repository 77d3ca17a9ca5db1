/**
 * Sessions that wait for an answer from outside.
 */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { AskingOptions, AskingSession, Store } from "../../ports/store.js";
import { askingAt, askingSession, cases, claim, commit, message, restingSession, t0 } from "./bench.js";

async function askers(store: Store, options: AskingOptions = {}): Promise<readonly string[]> {
  return (await store.asking(options)).map(({ sessionId }) => sessionId);
}

export const askingSessions = cases(["STOR-1", "HITL-2"], {
  "an empty store has none that ask": async ({ store }) => {
    deepStrictEqual(await store.asking(), []);
  },
  "who asks is listed with its state, since when, and what is in its inbox": async ({ store }) => {
    await askingSession(store, "s", t0 - 5);
    await store.post("s", message("m"));
    const { state } = askingAt(1, t0 - 5);
    deepStrictEqual(await store.asking(), [{ sessionId: "s", askedAt: t0 - 5, state, inbox: 1 }]);
  },
  "who asks nobody is not listed": async ({ store }) => {
    await restingSession(store, "resting");
    await store.post("posted", message("m"));
    await commit(store, await claim(store, "active"), 0);
    deepStrictEqual(await store.asking(), []);
  },
  "who asks while it is held and goes on is listed too": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, { ...askingAt(1, t0), activity: "active" });
    deepStrictEqual(await askers(store), ["s"]);
    await commit(store, lease, 1, { ...askingAt(2, t0), activity: "active" });
    const [only, ...others] = await store.asking();
    deepStrictEqual(others, []);
    strictEqual(only?.state?.seq, 2);
  },
  "who was answered is listed no more": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, askingAt(1, t0));
    await commit(store, lease, 1);
    deepStrictEqual(await store.asking(), []);
  },
  "who asks again is listed since then": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, askingAt(1, t0));
    await askingSession(store, "between", t0 + 1);
    deepStrictEqual(await askers(store), ["s", "between"]);
    await commit(store, lease, 1, askingAt(2, t0 + 2));
    deepStrictEqual(await askers(store), ["between", "s"]);
  },
  "a session that was deleted asks no more": async ({ store }) => {
    await askingSession(store, "s", t0);
    await askingSession(store, "t", t0);
    deepStrictEqual(await askers(store), ["s", "t"]);
    await store.delete("s", { now: t0, force: true });
    deepStrictEqual(await askers(store), ["t"]);
  },
  "the longest asking comes first": async ({ store }) => {
    for (const [id, at] of [
      ["new", 3],
      ["old", 1],
      ["middle", 2],
    ] as const)
      await askingSession(store, id, t0 + at);
    deepStrictEqual(await askers(store), ["old", "middle", "new"]);
    deepStrictEqual(await askers(store, { limit: 2 }), ["old", "middle"]);
    deepStrictEqual(await askers(store, { limit: Number.POSITIVE_INFINITY }), ["old", "middle", "new"]);
  },
  "those that ask since one time are in the order of their ids": async ({ store }) => {
    for (const id of ["b", "é", "a", "B", "😀", "\ufb01"]) await askingSession(store, id, t0);
    deepStrictEqual(await askers(store), ["B", "a", "b", "é", "\ufb01", "😀"]);
  },
  "pages of those that ask are all of them": async ({ store }) => {
    for (let index = 0; index < 17; index++) await askingSession(store, `s${index}`, t0 + Math.floor(index / 4));
    const pages: AskingSession[] = [];
    for (let count = 0; count < 10; count++) {
      const after = pages.at(-1);
      const page = await store.asking({ limit: 5, ...(after === undefined ? {} : { after }) });
      if (page.length === 0) break;
      pages.push(...page);
    }
    deepStrictEqual(
      pages.map(({ sessionId }) => sessionId),
      await askers(store),
    );
    strictEqual(pages.length, 17);
  },
  "a page goes on after a place that is there no more": async ({ store }) => {
    for (const id of ["a", "b", "c"]) await askingSession(store, id, t0);
    await store.delete("b", { now: t0, force: true });
    deepStrictEqual(await askers(store, { after: { askedAt: t0, sessionId: "b" } }), ["c"]);
    deepStrictEqual(await askers(store, { after: { askedAt: t0 + 1, sessionId: "" } }), []);
  },
  "what another process asks is listed, and still after the store was opened again": async ({
    store,
    second,
    reopened,
  }) => {
    await askingSession(await second(), "s", t0);
    deepStrictEqual(await askers(store), ["s"]);
    deepStrictEqual(await askers(await reopened()), ["s"]);
  },
  "nothing is wrong with who asks": async ({ store }) => {
    await askingSession(store, "s", t0);
    deepStrictEqual(await store.verify(), []);
  },
});
