/**
 * Finding sessions: lists, and due sessions.
 */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { ListOptions, Store } from "../../ports/store.js";
import {
  alice,
  claim,
  commit,
  createCases,
  createMessage,
  createRestingSession,
  createState,
  everyStatus,
  leaseMs,
  t0,
} from "./bench.js";

/** The ids in a list, in order. */
export async function listIds(store: Store, options: ListOptions = {}): Promise<readonly string[]> {
  return (await store.list(options)).map((summary) => summary.sessionId);
}

export const listCases = createCases(["STOR-1"], {
  "an empty store lists nothing": async ({ store }) => {
    deepStrictEqual(await store.list(), []);
  },
  "a summary has all fields": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, {
      events: 3,
      state: createState(3, "awaiting_human"),
      at: t0 + 50,
      activity: "waiting",
    });
    await store.post("s", createMessage("m"));
    deepStrictEqual(await store.list(), [
      {
        sessionId: "s",
        info: { agent: "coder", model: "scripted", title: "entry 3" },
        status: "awaiting_human",
        activity: "waiting",
        seq: 3,
        createdAt: t0,
        updatedAt: t0 + 50,
        inbox: 1,
        holder: alice,
      },
    ]);
  },
  "a session that was only posted to is idle": async ({ store }) => {
    await store.post("s", createMessage("m", t0 + 7));
    deepStrictEqual(await store.list(), [
      {
        sessionId: "s",
        info: null,
        status: "idle",
        activity: "resting",
        seq: 0,
        createdAt: t0 + 7,
        updatedAt: t0 + 7,
        inbox: 1,
        holder: null,
      },
    ]);
  },
  "a released session has no holder": async ({ store }) => {
    await createRestingSession(store, "s");
    strictEqual((await store.list())[0]?.holder, null);
  },
  "the newest comes first": async ({ store }) => {
    for (const [id, at] of [
      ["old", 1],
      ["new", 3],
      ["middle", 2],
    ] as const)
      await createRestingSession(store, id, { at: t0 + at });
    deepStrictEqual(await listIds(store), ["new", "middle", "old"]);
  },
  "a commit makes a session the newest": async ({ store }) => {
    const lease = await claim(store, "a");
    await commit(store, lease, 0, { at: t0 + 1 });
    await createRestingSession(store, "b", { at: t0 + 2 });
    await commit(store, lease, 1, { at: t0 + 3 });
    deepStrictEqual(await listIds(store), ["a", "b"]);
  },
  "sessions with the same time are ordered by id": async ({ store }) => {
    for (const id of ["b", "é", "a", "B", "😀", "\ufb01"]) await createRestingSession(store, id, { at: t0 });
    deepStrictEqual(await listIds(store), ["B", "a", "b", "é", "\ufb01", "😀"]);
  },
  "a limit returns the newest": async ({ store }) => {
    for (const at of [1, 2, 3, 4]) await createRestingSession(store, `s${at}`, { at: t0 + at });
    deepStrictEqual(await listIds(store, { limit: 2 }), ["s4", "s3"]);
  },
  "a limit may be infinite": async ({ store }) => {
    await createRestingSession(store, "s", { dueAt: t0 });
    deepStrictEqual(await listIds(store, { limit: Number.POSITIVE_INFINITY }), ["s"]);
    deepStrictEqual(await store.due(t0, Number.POSITIVE_INFINITY), ["s"]);
    strictEqual((await store.read("s", 0, Number.POSITIVE_INFINITY)).length, 1);
  },
  "the pages of a list together make up the list": async ({ store }) => {
    for (let index = 0; index < 17; index++)
      await createRestingSession(store, `s${index}`, { at: t0 + Math.floor(index / 4) });
    const pages: { readonly sessionId: string; readonly updatedAt: number }[] = [];
    for (;;) {
      const after = pages.at(-1);
      const page = await store.list({ limit: 5, ...(after === undefined ? {} : { after }) });
      if (page.length === 0) break;
      pages.push(...page);
    }
    deepStrictEqual(
      pages.map((summary) => summary.sessionId),
      await listIds(store),
    );
    strictEqual(pages.length, 17);
  },
  "a list is filtered by status": async ({ store }) => {
    for (const status of everyStatus) await createRestingSession(store, status, { state: createState(1, status) });
    for (const status of everyStatus) deepStrictEqual(await listIds(store, { status: [status] }), [status]);
    deepStrictEqual(await listIds(store, { status: ["failed", "aborted"] }), ["aborted", "failed"]);
    deepStrictEqual(await listIds(store, { status: [] }), []);
  },
  "the filter also counts a session without a log as idle": async ({ store }) => {
    await store.post("s", createMessage("m"));
    deepStrictEqual(await listIds(store, { status: ["idle"] }), ["s"]);
    deepStrictEqual(await listIds(store, { status: ["completed"] }), []);
  },
  "a limit counts only sessions that pass the filter": async ({ store }) => {
    for (let index = 0; index < 9; index++) {
      const state = createState(1, index % 3 === 0 ? "failed" : "completed");
      await createRestingSession(store, `s${index}`, { state, at: t0 + index });
    }
    deepStrictEqual(await listIds(store, { status: ["failed"], limit: 2 }), ["s6", "s3"]);
    const after = { updatedAt: t0 + 3, sessionId: "s3" };
    deepStrictEqual(await listIds(store, { status: ["failed"], limit: 2, after }), ["s0"]);
  },
});

export const dueCases = createCases(["STOR-1", "STOR-2"], {
  "nothing is due in an empty store": async ({ store }) => {
    deepStrictEqual(await store.due(t0, 10), []);
  },
  "a session at rest is not due": async ({ store }) => {
    await createRestingSession(store, "s");
    deepStrictEqual(await store.due(t0 + 1e9, 10), []);
  },
  "a message makes a session due": async ({ store }) => {
    await createRestingSession(store, "s");
    await store.post("s", createMessage("m"));
    deepStrictEqual(await store.due(t0, 10), ["s"]);
  },
  "a message makes a session due even if its sender's clock is ahead": async ({ store }) => {
    await store.post("s", createMessage("m", t0 + 1e9));
    deepStrictEqual(await store.due(t0, 10), ["s"]);
  },
  "a consumed message does not make a session due": async ({ store }) => {
    await store.post("s", createMessage("m"));
    await commit(store, await claim(store), 0, { consume: ["m"], release: true });
    deepStrictEqual(await store.due(t0, 10), []);
  },
  "a session is due once its due time has come": async ({ store }) => {
    await createRestingSession(store, "s", { dueAt: t0 + 1000 });
    deepStrictEqual(await store.due(t0 + 999, 10), []);
    deepStrictEqual(await store.due(t0 + 1000, 10), ["s"]);
  },
  "a commit can remove the due time": async ({ store }) => {
    await createRestingSession(store, "s", { dueAt: t0 });
    const lease = await claim(store);
    await commit(store, lease, 1, { dueAt: null, release: true });
    deepStrictEqual(await store.due(t0 + 1e9, 10), []);
  },
  "a held session is not due": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, { dueAt: t0 });
    await store.post("s", createMessage("m"));
    deepStrictEqual(await store.due(t0 + 1, 10), []);
  },
  "a session whose lease has just expired is due": async ({ store }) => {
    await commit(store, await claim(store), 0, { dueAt: t0 });
    deepStrictEqual(await store.due(t0 + leaseMs, 10), ["s"]);
  },
  "a session of a dead holder is due": async ({ store }) => {
    await commit(store, await claim(store), 0, { dueAt: t0 });
    deepStrictEqual(await store.due(t0 + 1, 10, (holder) => holder.pid === alice.pid), ["s"]);
    deepStrictEqual(await store.due(t0 + 1, 10, () => false), []);
  },
  "a session with a void lease is due": async ({ store }) => {
    await commit(store, await claim(store), 0, { dueAt: t0 - 60_000 });
    deepStrictEqual(await store.due(t0 - 50_000, 10), ["s"]);
  },
  "the session that has been due longest comes first": async ({ store }) => {
    await createRestingSession(store, "b", { dueAt: t0 + 2 });
    await createRestingSession(store, "c", { dueAt: t0 + 3 });
    await store.post("a", createMessage("m", t0 + 1));
    await store.post("c", createMessage("m", t0));
    deepStrictEqual(await store.due(t0 + 10, 10), ["c", "a", "b"]);
  },
  "a limit returns the sessions that have been due longest": async ({ store }) => {
    for (const at of [3, 1, 2]) await createRestingSession(store, `s${at}`, { dueAt: t0 + at });
    deepStrictEqual(await store.due(t0 + 10, 2), ["s1", "s2"]);
  },
  "held sessions do not use up the limit": async ({ store }) => {
    await commit(store, await claim(store, "held"), 0, { dueAt: t0 });
    await createRestingSession(store, "free", { dueAt: t0 + 1 });
    deepStrictEqual(await store.due(t0 + 10, 1), ["free"]);
  },
  "a message of another process makes a session due": async ({ store, second }) => {
    await (await second()).post("s", createMessage("m"));
    deepStrictEqual(await store.due(t0, 10), ["s"]);
  },
});
