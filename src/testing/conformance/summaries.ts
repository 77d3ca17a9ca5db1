/**
 * The info that a session is bound to: the filters of lists, and the description of a single session.
 */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Event } from "../../core/machine/event.js";
import type { SessionInfo, State } from "../../core/machine/state.js";
import type { ListOptions, SessionSummary, Store } from "../../ports/store.js";
import { alice, claim, commit, createCases, createMessage, createRestingSession, createState, t0 } from "./bench.js";
import { listIds } from "./lists.js";

/** The state of a commit that binds the session to this info. */
export function bindTo(info: Partial<SessionInfo>, seq = 1): { readonly state: State } {
  return { state: { ...createState(seq, "completed"), session: { agent: "coder", model: "scripted", ...info } } };
}

/** Finds the summary of one session in the list. */
async function findListed(store: Store, sessionId: string): Promise<SessionSummary | null> {
  return (await store.list()).find((summary) => summary.sessionId === sessionId) ?? null;
}

export const filterCases = createCases(["STOR-1"], {
  "a list is filtered by agent": async ({ store }) => {
    await createRestingSession(store, "a", bindTo({ agent: "writer" }));
    await createRestingSession(store, "b", bindTo({ agent: "coder" }));
    await store.post("c", createMessage("m"));
    deepStrictEqual(await listIds(store, { agent: "writer" }), ["a"]);
    deepStrictEqual(await listIds(store, { agent: "coder" }), ["b"]);
    deepStrictEqual(await listIds(store, { agent: "" }), []);
  },
  "a list is filtered by folder": async ({ store }) => {
    await createRestingSession(store, "a", bindTo({ root: "/work/a" }));
    await createRestingSession(store, "b", bindTo({ root: "/work/b" }));
    await createRestingSession(store, "c", bindTo({}));
    deepStrictEqual(await listIds(store, { root: "/work/b" }), ["b"]);
    deepStrictEqual(await listIds(store, { root: "/work" }), []);
  },
  "a list is filtered by parent": async ({ store }) => {
    await createRestingSession(store, "top", bindTo({}));
    for (const id of ["a", "b"])
      await createRestingSession(store, id, bindTo({ parent: { sessionId: "top", callKey: "run 1/1/1" } }));
    await createRestingSession(store, "c", bindTo({ parent: { sessionId: "other", callKey: "run 1/1/1" } }));
    deepStrictEqual(await listIds(store, { parent: "top" }), ["a", "b"]);
    deepStrictEqual(await listIds(store, { parent: "none" }), []);
    deepStrictEqual(await listIds(store, { parent: "top", limit: 1 }), ["a"]);
    deepStrictEqual(await listIds(store, { parent: "top", after: { updatedAt: t0, sessionId: "a" } }), ["b"]);
  },
  "a list can omit sessions with a parent": async ({ store }) => {
    await createRestingSession(store, "top", bindTo({}));
    await createRestingSession(store, "child", bindTo({ parent: { sessionId: "top", callKey: "run 1/1/1" } }));
    await store.post("new", createMessage("m"));
    deepStrictEqual(await listIds(store, { parent: null }), ["new", "top"]);
  },
  "filters also apply to held sessions": async ({ store }) => {
    const lease = await claim(store, "held");
    await commit(store, lease, 0, { ...bindTo({ agent: "writer" }), at: t0 + 5 });
    await createRestingSession(store, "resting", bindTo({ agent: "writer" }));
    deepStrictEqual(await listIds(store, { agent: "writer", status: ["completed"] }), ["held", "resting"]);
    deepStrictEqual(await listIds(store, { agent: "writer", limit: 1 }), ["held"]);
    deepStrictEqual(await listIds(store, { agent: "coder" }), []);
  },
  "a list can be searched by title and id, ignoring case": async ({ store, reopened }) => {
    await createRestingSession(store, "a", bindTo({ title: "Fix the ÜBER build" }));
    await createRestingSession(store, "Ticket-7", bindTo({ title: "Release notes" }));
    await createRestingSession(store, "c", bindTo({ parent: { sessionId: "a", callKey: "run 1/1/1" } }));
    const lease = await claim(store, "held");
    await commit(store, lease, 0, { ...bindTo({ title: "fix 100 % of it" }), at: t0 + 5 });
    await store.post("fix-later", createMessage("m"));
    const reopenedStore = await reopened();
    const search = (text: string, options: ListOptions = {}) => listIds(reopenedStore, { text, ...options });
    deepStrictEqual(await search("FIX"), ["held", "a", "fix-later"]);
    deepStrictEqual(await search("über B"), ["a"]);
    deepStrictEqual(await search("ticket-7"), ["Ticket-7"]);
    deepStrictEqual(await search("0 %"), ["held"]);
    deepStrictEqual(await search("_"), []);
    deepStrictEqual(await search("fix", { limit: 1, after: { updatedAt: t0 + 5, sessionId: "held" } }), ["a"]);
    deepStrictEqual(await search("c", { parent: "a" }), ["c"]);
    deepStrictEqual(await search("fix", { agent: "writer" }), []);
  },
  "a search finds the current title of a session": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, bindTo({ title: "first" }));
    await commit(store, lease, 1, { ...bindTo({ title: "second" }, 2), release: true });
    deepStrictEqual(await listIds(store, { text: "First" }), []);
    deepStrictEqual(await listIds(store, { text: "Second" }), ["s"]);
  },
  "several filters apply together": async ({ store }) => {
    await createRestingSession(store, "a", bindTo({ agent: "writer", root: "/work" }));
    await createRestingSession(store, "b", bindTo({ agent: "writer" }));
    await createRestingSession(store, "c", bindTo({ root: "/work" }));
    deepStrictEqual(await listIds(store, { agent: "writer", root: "/work" }), ["a"]);
    deepStrictEqual(await listIds(store, { agent: "writer", status: ["failed"] }), []);
  },
  "the info of a session may change": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, bindTo({ title: "first" }));
    await commit(store, lease, 1, { ...bindTo({ title: "second", agent: "writer" }, 2), release: true });
    deepStrictEqual(await listIds(store, { agent: "writer" }), ["s"]);
    deepStrictEqual((await store.list())[0]?.info, { agent: "writer", model: "scripted", title: "second" });
  },
  "a new title appears in lists when its event is committed, not when its message is posted": async ({
    store,
    reopened,
  }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, bindTo({ title: "first", root: "/work" }));
    const body = { type: "session_change", title: "second", by: "Ada" } as const;
    const posted = { id: "rename", at: t0, body };
    strictEqual((await store.post("s", posted)).type, "posted");
    deepStrictEqual(await store.inbox("s"), [posted]);
    deepStrictEqual((await store.describe("s"))?.info?.title, "first");
    const { type: _, ...change } = body;
    const events: readonly Event[] = [{ type: "session_changed", ...change, at: t0 }];
    await commit(store, lease, 1, { ...bindTo({ title: "second", root: "/work" }, 2), events, consume: ["rename"] });
    const info = { agent: "coder", model: "scripted", root: "/work", title: "second" };
    const reopenedStore = await reopened();
    deepStrictEqual((await reopenedStore.describe("s"))?.info, info);
    deepStrictEqual((await reopenedStore.list())[0]?.info, info);
    deepStrictEqual((await reopenedStore.read("s")).at(-1)?.event, events[0]);
    deepStrictEqual(await reopenedStore.verify(), []);
  },
  "the complete info of a session is returned": async ({ store, reopened }) => {
    const info: SessionInfo = {
      agent: "coder",
      model: "scripted",
      root: "/work",
      title: "nul \0, half a pair \ud83d, é",
      parent: { sessionId: "top", callKey: "run 1/1/1" },
      top: "top",
      principal: "ada@example.org",
      forkedFrom: { sessionId: "elsewhere", seq: 7 },
    };
    await createRestingSession(store, "s", bindTo(info));
    deepStrictEqual((await store.describe("s"))?.info, info);
    deepStrictEqual(await store.verify(), []);
    deepStrictEqual((await (await reopened()).list())[0]?.info, info);
  },
});

export const describeCases = createCases(["STOR-1"], {
  "a missing session has no description": async ({ store }) => {
    strictEqual(await store.describe("none"), null);
    strictEqual(await store.describe(""), null);
    strictEqual(await store.describe("a\0b"), null);
  },
  "a session is described in the same way as it is listed": async ({ store }) => {
    await createRestingSession(store, "resting");
    await store.post("posted", createMessage("m"));
    await claim(store, "claimed");
    const lease = await claim(store, "held");
    await commit(store, lease, 0, {
      events: 3,
      state: createState(3, "awaiting_human"),
      at: t0 + 50,
      activity: "waiting",
    });
    await store.post("held", createMessage("m"));
    for (const id of ["resting", "posted", "claimed", "held"])
      deepStrictEqual(await store.describe(id), await findListed(store, id));
    strictEqual((await store.describe("held"))?.seq, 3);
  },
  "each commit is visible, while the session is held and afterwards": async ({ store, second }) => {
    const otherStore = await second();
    const lease = await claim(store);
    for (let seq = 0; seq < 3; seq++) {
      await commit(store, lease, seq, { at: t0 + 10 * seq });
      const summary = await otherStore.describe("s");
      deepStrictEqual([summary?.seq, summary?.updatedAt, summary?.status], [seq + 1, t0 + 10 * seq, "model_running"]);
    }
    await commit(store, lease, 3, { state: createState(4, "failed"), at: t0 + 40, release: true });
    const summary = await otherStore.describe("s");
    deepStrictEqual([summary?.seq, summary?.updatedAt, summary?.status], [4, t0 + 40, "failed"]);
    strictEqual(summary?.holder, null);
  },
  "after a release without a commit, the last commit is visible": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, { state: createState(1, "failed"), at: t0 + 9 });
    await store.release(lease);
    const summary = await store.describe("s");
    deepStrictEqual([summary?.seq, summary?.updatedAt, summary?.status], [1, t0 + 9, "failed"]);
    deepStrictEqual(await store.list(), [summary]);
    deepStrictEqual(await store.verify(), []);
  },
  "a commit without events keeps the last entry and its time": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, { at: t0 + 3 });
    await commit(store, lease, 1, { events: 0, at: t0 + 50, release: true });
    const summary = await store.describe("s");
    deepStrictEqual([summary?.seq, summary?.updatedAt], [1, t0 + 3]);
  },
  "a released claim leaves a session without a log": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, { events: 0, release: true });
    await store.release(await claim(store));
    const summary = await store.describe("s");
    deepStrictEqual([summary?.seq, summary?.updatedAt, summary?.status, summary?.info], [0, t0, "idle", null]);
    deepStrictEqual(await store.verify(), []);
  },
  "the holder's address and boot are reported": async ({ store, second }) => {
    const holder = { ...alice, address: "http://one:8080", bootId: "boot 1" };
    const lease = await claim(store, "s", { holder });
    deepStrictEqual((await (await second()).describe("s"))?.holder, holder);
    deepStrictEqual(lease.holder, holder);
  },
  "a deleted session has no description": async ({ store }) => {
    await createRestingSession(store, "s");
    await store.delete("s", { now: t0 });
    strictEqual(await store.describe("s"), null);
  },
});
