/**
 * Finding sessions: lists, descriptions, and sessions that are due.
 */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { SessionInfo, State } from "../../core/machine/state.js";
import type { ListOptions, SessionSummary, Store } from "../../ports/store.js";
import { alice, cases, claim, commit, everyStatus, leaseMs, message, restingSession, stateAt, t0 } from "./bench.js";

async function listed(store: Store, options: ListOptions = {}): Promise<readonly string[]> {
  return (await store.list(options)).map((summary) => summary.sessionId);
}

export const listing = cases(["STOR-1"], {
  "an empty store lists nothing": async ({ store }) => {
    deepStrictEqual(await store.list(), []);
  },
  "a summary tells what there is to know": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, { events: 3, state: stateAt(3, "awaiting_human"), at: t0 + 50, activity: "waiting" });
    await store.post("s", message("m"));
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
    await store.post("s", message("m", t0 + 7));
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
  "who released it does not hold it": async ({ store }) => {
    await restingSession(store, "s");
    strictEqual((await store.list())[0]?.holder, null);
  },
  "the newest comes first": async ({ store }) => {
    for (const [id, at] of [
      ["old", 1],
      ["new", 3],
      ["middle", 2],
    ] as const)
      await restingSession(store, id, { at: t0 + at });
    deepStrictEqual(await listed(store), ["new", "middle", "old"]);
  },
  "a commit makes a session the newest": async ({ store }) => {
    const lease = await claim(store, "a");
    await commit(store, lease, 0, { at: t0 + 1 });
    await restingSession(store, "b", { at: t0 + 2 });
    await commit(store, lease, 1, { at: t0 + 3 });
    deepStrictEqual(await listed(store), ["a", "b"]);
  },
  "sessions of one time are in the order of their ids": async ({ store }) => {
    for (const id of ["b", "é", "a", "B", "😀", "\ufb01"]) await restingSession(store, id, { at: t0 });
    deepStrictEqual(await listed(store), ["B", "a", "b", "é", "\ufb01", "😀"]);
  },
  "a limit gives the newest": async ({ store }) => {
    for (const at of [1, 2, 3, 4]) await restingSession(store, `s${at}`, { at: t0 + at });
    deepStrictEqual(await listed(store, { limit: 2 }), ["s4", "s3"]);
  },
  "a limit may be infinite": async ({ store }) => {
    await restingSession(store, "s", { dueAt: t0 });
    deepStrictEqual(await listed(store, { limit: Number.POSITIVE_INFINITY }), ["s"]);
    deepStrictEqual(await store.due(t0, Number.POSITIVE_INFINITY), ["s"]);
    strictEqual((await store.read("s", 0, Number.POSITIVE_INFINITY)).length, 1);
  },
  "pages of a list are the list": async ({ store }) => {
    for (let index = 0; index < 17; index++)
      await restingSession(store, `s${index}`, { at: t0 + Math.floor(index / 4) });
    const pages: { readonly sessionId: string; readonly updatedAt: number }[] = [];
    for (;;) {
      const after = pages.at(-1);
      const page = await store.list({ limit: 5, ...(after === undefined ? {} : { after }) });
      if (page.length === 0) break;
      pages.push(...page);
    }
    deepStrictEqual(
      pages.map((summary) => summary.sessionId),
      await listed(store),
    );
    strictEqual(pages.length, 17);
  },
  "a list is filtered by status": async ({ store }) => {
    for (const status of everyStatus) await restingSession(store, status, { state: stateAt(1, status) });
    for (const status of everyStatus) deepStrictEqual(await listed(store, { status: [status] }), [status]);
    deepStrictEqual(await listed(store, { status: ["failed", "aborted"] }), ["aborted", "failed"]);
    deepStrictEqual(await listed(store, { status: [] }), []);
  },
  "a session without a log is idle for the filter too": async ({ store }) => {
    await store.post("s", message("m"));
    deepStrictEqual(await listed(store, { status: ["idle"] }), ["s"]);
    deepStrictEqual(await listed(store, { status: ["completed"] }), []);
  },
  "a limit counts what passes the filter": async ({ store }) => {
    for (let index = 0; index < 9; index++) {
      const state = stateAt(1, index % 3 === 0 ? "failed" : "completed");
      await restingSession(store, `s${index}`, { state, at: t0 + index });
    }
    deepStrictEqual(await listed(store, { status: ["failed"], limit: 2 }), ["s6", "s3"]);
    const after = { updatedAt: t0 + 3, sessionId: "s3" };
    deepStrictEqual(await listed(store, { status: ["failed"], limit: 2, after }), ["s0"]);
  },
});

/** The state of a commit of a session with this info. */
function boundTo(info: Partial<SessionInfo>, seq = 1): { readonly state: State } {
  return { state: { ...stateAt(seq, "completed"), session: { agent: "coder", model: "scripted", ...info } } };
}

/** What the list says of one session. */
async function listedOne(store: Store, sessionId: string): Promise<SessionSummary | null> {
  return (await store.list()).find((summary) => summary.sessionId === sessionId) ?? null;
}

export const filtering = cases(["STOR-1"], {
  "a list is filtered by agent": async ({ store }) => {
    await restingSession(store, "a", boundTo({ agent: "writer" }));
    await restingSession(store, "b", boundTo({ agent: "coder" }));
    await store.post("c", message("m"));
    deepStrictEqual(await listed(store, { agent: "writer" }), ["a"]);
    deepStrictEqual(await listed(store, { agent: "coder" }), ["b"]);
    deepStrictEqual(await listed(store, { agent: "" }), []);
  },
  "a list is filtered by folder": async ({ store }) => {
    await restingSession(store, "a", boundTo({ root: "/work/a" }));
    await restingSession(store, "b", boundTo({ root: "/work/b" }));
    await restingSession(store, "c", boundTo({}));
    deepStrictEqual(await listed(store, { root: "/work/b" }), ["b"]);
    deepStrictEqual(await listed(store, { root: "/work" }), []);
  },
  "a list is filtered by parent": async ({ store }) => {
    await restingSession(store, "top", boundTo({}));
    for (const id of ["a", "b"])
      await restingSession(store, id, boundTo({ parent: { sessionId: "top", callKey: "run 1/1/1" } }));
    await restingSession(store, "c", boundTo({ parent: { sessionId: "other", callKey: "run 1/1/1" } }));
    deepStrictEqual(await listed(store, { parent: "top" }), ["a", "b"]);
    deepStrictEqual(await listed(store, { parent: "none" }), []);
    deepStrictEqual(await listed(store, { parent: "top", limit: 1 }), ["a"]);
    deepStrictEqual(await listed(store, { parent: "top", after: { updatedAt: t0, sessionId: "a" } }), ["b"]);
  },
  "a list can leave out sessions with a parent": async ({ store }) => {
    await restingSession(store, "top", boundTo({}));
    await restingSession(store, "child", boundTo({ parent: { sessionId: "top", callKey: "run 1/1/1" } }));
    await store.post("new", message("m"));
    deepStrictEqual(await listed(store, { parent: null }), ["new", "top"]);
  },
  "filters apply to sessions that are held too": async ({ store }) => {
    const lease = await claim(store, "held");
    await commit(store, lease, 0, { ...boundTo({ agent: "writer" }), at: t0 + 5 });
    await restingSession(store, "resting", boundTo({ agent: "writer" }));
    deepStrictEqual(await listed(store, { agent: "writer", status: ["completed"] }), ["held", "resting"]);
    deepStrictEqual(await listed(store, { agent: "writer", limit: 1 }), ["held"]);
    deepStrictEqual(await listed(store, { agent: "coder" }), []);
  },
  "several filters apply together": async ({ store }) => {
    await restingSession(store, "a", boundTo({ agent: "writer", root: "/work" }));
    await restingSession(store, "b", boundTo({ agent: "writer" }));
    await restingSession(store, "c", boundTo({ root: "/work" }));
    deepStrictEqual(await listed(store, { agent: "writer", root: "/work" }), ["a"]);
    deepStrictEqual(await listed(store, { agent: "writer", status: ["failed"] }), []);
  },
  "what a session is bound to may change": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, boundTo({ title: "first" }));
    await commit(store, lease, 1, { ...boundTo({ title: "second", agent: "writer" }, 2), release: true });
    deepStrictEqual(await listed(store, { agent: "writer" }), ["s"]);
    deepStrictEqual((await store.list())[0]?.info, { agent: "writer", model: "scripted", title: "second" });
  },
  "everything that a session is bound to comes back": async ({ store, reopened }) => {
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
    await restingSession(store, "s", boundTo(info));
    deepStrictEqual((await store.describe("s"))?.info, info);
    deepStrictEqual(await store.verify(), []);
    deepStrictEqual((await (await reopened()).list())[0]?.info, info);
  },
});

export const describing = cases(["STOR-1"], {
  "there is nothing to say of a session that is not there": async ({ store }) => {
    strictEqual(await store.describe("none"), null);
    strictEqual(await store.describe(""), null);
    strictEqual(await store.describe("a\0b"), null);
  },
  "a session is described as it is listed": async ({ store }) => {
    await restingSession(store, "resting");
    await store.post("posted", message("m"));
    await claim(store, "claimed");
    const lease = await claim(store, "held");
    await commit(store, lease, 0, { events: 3, state: stateAt(3, "awaiting_human"), at: t0 + 50, activity: "waiting" });
    await store.post("held", message("m"));
    for (const id of ["resting", "posted", "claimed", "held"])
      deepStrictEqual(await store.describe(id), await listedOne(store, id));
    strictEqual((await store.describe("held"))?.seq, 3);
  },
  "each commit is seen, while the session is held and afterwards": async ({ store, second }) => {
    const other = await second();
    const lease = await claim(store);
    for (let seq = 0; seq < 3; seq++) {
      await commit(store, lease, seq, { at: t0 + 10 * seq });
      const summary = await other.describe("s");
      deepStrictEqual([summary?.seq, summary?.updatedAt, summary?.status], [seq + 1, t0 + 10 * seq, "model_running"]);
    }
    await commit(store, lease, 3, { state: stateAt(4, "failed"), at: t0 + 40, release: true });
    const summary = await other.describe("s");
    deepStrictEqual([summary?.seq, summary?.updatedAt, summary?.status], [4, t0 + 40, "failed"]);
    strictEqual(summary?.holder, null);
  },
  "a release without a commit leaves the last commit to be seen": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, { state: stateAt(1, "failed"), at: t0 + 9 });
    await store.release(lease);
    const summary = await store.describe("s");
    deepStrictEqual([summary?.seq, summary?.updatedAt, summary?.status], [1, t0 + 9, "failed"]);
    deepStrictEqual(await store.list(), [summary]);
    deepStrictEqual(await store.verify(), []);
  },
  "a commit without events leaves the last entry and its time": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, { at: t0 + 3 });
    await commit(store, lease, 1, { events: 0, at: t0 + 50, release: true });
    const summary = await store.describe("s");
    deepStrictEqual([summary?.seq, summary?.updatedAt], [1, t0 + 3]);
  },
  "a claim that was given back leaves a session without a log": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, { events: 0, release: true });
    await store.release(await claim(store));
    const summary = await store.describe("s");
    deepStrictEqual([summary?.seq, summary?.updatedAt, summary?.status, summary?.info], [0, t0, "idle", null]);
    deepStrictEqual(await store.verify(), []);
  },
  "the holder's address and boot are told": async ({ store, second }) => {
    const holder = { ...alice, address: "http://one:8080", bootId: "boot 1" };
    const lease = await claim(store, "s", { holder });
    deepStrictEqual((await (await second()).describe("s"))?.holder, holder);
    deepStrictEqual(lease.holder, holder);
  },
  "a session that was deleted is described no more": async ({ store }) => {
    await restingSession(store, "s");
    await store.delete("s", { now: t0 });
    strictEqual(await store.describe("s"), null);
  },
});

export const dueSessions = cases(["STOR-1", "STOR-2"], {
  "nothing is due in an empty store": async ({ store }) => {
    deepStrictEqual(await store.due(t0, 10), []);
  },
  "a session at rest is not due": async ({ store }) => {
    await restingSession(store, "s");
    deepStrictEqual(await store.due(t0 + 1e9, 10), []);
  },
  "a message makes a session due": async ({ store }) => {
    await restingSession(store, "s");
    await store.post("s", message("m"));
    deepStrictEqual(await store.due(t0, 10), ["s"]);
  },
  "a message makes a session due though its sender's clock is ahead": async ({ store }) => {
    await store.post("s", message("m", t0 + 1e9));
    deepStrictEqual(await store.due(t0, 10), ["s"]);
  },
  "a message that was consumed does not": async ({ store }) => {
    await store.post("s", message("m"));
    await commit(store, await claim(store), 0, { consume: ["m"], release: true });
    deepStrictEqual(await store.due(t0, 10), []);
  },
  "a session is due when its time has come": async ({ store }) => {
    await restingSession(store, "s", { dueAt: t0 + 1000 });
    deepStrictEqual(await store.due(t0 + 999, 10), []);
    deepStrictEqual(await store.due(t0 + 1000, 10), ["s"]);
  },
  "a commit takes the due time away": async ({ store }) => {
    await restingSession(store, "s", { dueAt: t0 });
    const lease = await claim(store);
    await commit(store, lease, 1, { dueAt: null, release: true });
    deepStrictEqual(await store.due(t0 + 1e9, 10), []);
  },
  "what somebody holds is not due": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, { dueAt: t0 });
    await store.post("s", message("m"));
    deepStrictEqual(await store.due(t0 + 1, 10), []);
  },
  "what was held until now is due": async ({ store }) => {
    await commit(store, await claim(store), 0, { dueAt: t0 });
    deepStrictEqual(await store.due(t0 + leaseMs, 10), ["s"]);
  },
  "what a dead holder held is due": async ({ store }) => {
    await commit(store, await claim(store), 0, { dueAt: t0 });
    deepStrictEqual(await store.due(t0 + 1, 10, (holder) => holder.pid === alice.pid), ["s"]);
    deepStrictEqual(await store.due(t0 + 1, 10, () => false), []);
  },
  "what is held by a void lease is due": async ({ store }) => {
    await commit(store, await claim(store), 0, { dueAt: t0 - 60_000 });
    deepStrictEqual(await store.due(t0 - 50_000, 10), ["s"]);
  },
  "the longest due comes first": async ({ store }) => {
    await restingSession(store, "b", { dueAt: t0 + 2 });
    await restingSession(store, "c", { dueAt: t0 + 3 });
    await store.post("a", message("m", t0 + 1));
    await store.post("c", message("m", t0));
    deepStrictEqual(await store.due(t0 + 10, 10), ["c", "a", "b"]);
  },
  "a limit gives the longest due": async ({ store }) => {
    for (const at of [3, 1, 2]) await restingSession(store, `s${at}`, { dueAt: t0 + at });
    deepStrictEqual(await store.due(t0 + 10, 2), ["s1", "s2"]);
  },
  "what is held does not use up the limit": async ({ store }) => {
    await commit(store, await claim(store, "held"), 0, { dueAt: t0 });
    await restingSession(store, "free", { dueAt: t0 + 1 });
    deepStrictEqual(await store.due(t0 + 10, 1), ["free"]);
  },
  "a message of another process makes a session due": async ({ store, second }) => {
    await (await second()).post("s", message("m"));
    deepStrictEqual(await store.due(t0, 10), ["s"]);
  },
});
