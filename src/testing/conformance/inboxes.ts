/**
 * The inbox: any process may post, each message counts once, and the holder consumes messages in a commit.
 */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { InboxMessage } from "../../core/machine/inbox.js";
import {
  claim,
  commit,
  createCases,
  createCommit,
  createHeldSession,
  createMessage,
  createRestingSession,
  expectError,
  expectLog,
  expectResultType,
  readInboxIds,
  t0,
} from "./bench.js";

export const messageIdCases = createCases(["STOR-1", "STOR-2"], {
  "all ids are listed, including those of consumed and recorded messages": async ({ store, second }) => {
    const lease = await claim(store);
    for (const id of ["consumed", "left"]) await store.post("s", createMessage(id));
    await commit(store, lease, 0, { consume: ["consumed"], record: ["recorded"] });
    await store.post("other", createMessage("of another"));
    const otherStore = await second();
    deepStrictEqual(await otherStore.messageIds("s", { limit: 10 }), ["consumed", "left", "recorded"]);
    deepStrictEqual(await otherStore.messageIds("none", { limit: 10 }), []);
  },
  "ids come in pages, in the order of their bytes": async ({ store }) => {
    // In UTF-16, the emoji comes before the last id.
    const ids = ["a", "a ", "b", "é", "😀"];
    const last = "\uffee";
    for (const id of [last, ...ids.toReversed()]) await store.post("s", createMessage(id));
    const sorted = ["a", "a ", "b", "é", last, "😀"];
    deepStrictEqual(await store.messageIds("s", { limit: 100 }), sorted);
    deepStrictEqual(await store.messageIds("s", { limit: 4 }), sorted.slice(0, 4));
    deepStrictEqual(await store.messageIds("s", { limit: 4, after: "é" }), sorted.slice(4));
    deepStrictEqual(await store.messageIds("s", { limit: 4, after: "😀" }), []);
  },
});

export const postCases = createCases(["STOR-1", "STOR-2"], {
  "posting a message creates the session": async ({ store }) => {
    deepStrictEqual(await store.post("s", createMessage("m")), { type: "posted" });
    strictEqual((await store.list())[0]?.sessionId, "s");
    strictEqual(await store.load("s"), null);
  },
  "a missing session has no messages": async ({ store }) => {
    deepStrictEqual(await store.inbox("none"), []);
  },
  "messages are returned in the order in which they were posted": async ({ store }) => {
    for (const id of ["z", "a", "m"]) await store.post("s", createMessage(id, t0 - id.charCodeAt(0)));
    deepStrictEqual(await readInboxIds(store), ["z", "a", "m"]);
  },
  "a message of any kind is returned completely": async ({ store }) => {
    const output = { type: "json", value: { ok: true } } as const;
    const messages: readonly InboxMessage[] = [
      createMessage("input"),
      { id: "approve", at: t0, body: { type: "answer", callKey: "r/1/1", answer: { type: "approve" }, by: "ann" } },
      { id: "deny", at: t0, body: { type: "answer", callKey: "r/1/2", answer: { type: "deny", note: "no" } } },
      {
        id: "result",
        at: t0 + 1,
        body: { type: "result", callKey: "r/1/3", output, returned: output, isError: false },
      },
      { id: "abort", at: t0 + 2, body: { type: "abort", runId: "r", note: "stop", by: "ann" } },
    ];
    for (const each of messages) await store.post("s", each);
    deepStrictEqual(await store.inbox("s"), messages);
  },
  "a message that is sent twice counts once": async ({ store }) => {
    await store.post("s", createMessage("m", t0, "first"));
    deepStrictEqual(await store.post("s", createMessage("m", t0, "second")), { type: "duplicate" });
    deepStrictEqual(await store.inbox("s"), [createMessage("m", t0, "first")]);
  },
  "a consumed message is not accepted again": async ({ store }) => {
    const lease = await claim(store);
    await store.post("s", createMessage("m"));
    await commit(store, lease, 0, { consume: ["m"] });
    deepStrictEqual(await store.post("s", createMessage("m")), { type: "duplicate" });
    deepStrictEqual(await store.inbox("s"), []);
  },
  "the same message sent twice concurrently counts once": async ({ store }) => {
    const results = await Promise.all([store.post("s", createMessage("m")), store.post("s", createMessage("m"))]);
    deepStrictEqual(results.map((result) => result.type).sort(), ["duplicate", "posted"]);
  },
  "the same message sent by two processes concurrently counts once": async ({ store, second }) => {
    const otherStore = await second();
    const results = await Promise.all([store.post("s", createMessage("m")), otherStore.post("s", createMessage("m"))]);
    deepStrictEqual(results.map((result) => result.type).sort(), ["duplicate", "posted"]);
    strictEqual((await store.inbox("s")).length, 1);
  },
  "two sessions may have messages with the same id": async ({ store }) => {
    await store.post("a", createMessage("m"));
    deepStrictEqual(await store.post("b", createMessage("m")), { type: "posted" });
  },
  "any process can post to a session that another holds": async ({ store, second }) => {
    const otherStore = await second();
    const lease = await createHeldSession(store, 1);
    deepStrictEqual(await otherStore.post("s", createMessage("m")), { type: "posted" });
    deepStrictEqual(await readInboxIds(store), ["m"]);
    strictEqual(await commit(store, lease, 1), 2);
  },
  "messages sent concurrently all arrive": async ({ store, second }) => {
    const otherStore = await second();
    const ids = Array.from({ length: 30 }, (_, index) => `m${index}`);
    await Promise.all(ids.map((id, index) => (index % 2 === 0 ? store : otherStore).post("s", createMessage(id))));
    deepStrictEqual([...(await readInboxIds(store))].sort(), [...ids].sort());
  },
  "deleting a session also deletes the ids of its messages": async ({ store }) => {
    await store.post("s", createMessage("m"));
    await store.delete("s", { now: t0 });
    deepStrictEqual(await store.post("s", createMessage("m")), { type: "posted" });
  },
  "a message with an invalid id is refused": async ({ store }) => {
    for (const id of ["", "a\0b", "\udfff", "x".repeat(513)])
      await expectError(() => store.post("s", createMessage(id)), "bad_input");
    await expectError(() => store.post("", createMessage("m")), "bad_input");
    deepStrictEqual(await store.list(), []);
  },
});

export const consumeCases = createCases(["STOR-1", "STOR-2"], {
  "messages that a commit consumes leave the inbox": async ({ store }) => {
    const lease = await claim(store);
    for (const id of ["a", "b", "c"]) await store.post("s", createMessage(id));
    await commit(store, lease, 0, { consume: ["b"] });
    deepStrictEqual(await readInboxIds(store), ["a", "c"]);
  },
  "a commit that conflicts consumes nothing": async ({ store }) => {
    const lease = await createHeldSession(store, 1);
    await store.post("s", createMessage("m"));
    expectResultType(await store.commit(lease, createCommit(0, { consume: ["m"] })), "conflict");
    deepStrictEqual(await readInboxIds(store), ["m"]);
  },
  "consuming a missing message changes nothing": async ({ store }) => {
    const lease = await claim(store);
    await store.post("s", createMessage("m"));
    strictEqual(await commit(store, lease, 0, { consume: ["other"] }), 1);
    deepStrictEqual(await readInboxIds(store), ["m"]);
    deepStrictEqual(await store.post("s", createMessage("other")), { type: "posted" });
  },
  "a message that arrives between read and commit stays": async ({ store }) => {
    const lease = await claim(store);
    await store.post("s", createMessage("seen"));
    const seen = await readInboxIds(store);
    await store.post("s", createMessage("unseen"));
    await commit(store, lease, 0, { consume: seen });
    deepStrictEqual(await readInboxIds(store), ["unseen"]);
  },
});

export const recordCases = createCases(["STOR-1", "STOR-2"], {
  "an id that a commit records is taken": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, { record: ["m"] });
    deepStrictEqual(await store.post("s", createMessage("m")), { type: "duplicate" });
    deepStrictEqual(await store.inbox("s"), []);
  },
  "recording an id that was posted is a duplicate, and writes nothing": async ({ store }) => {
    const lease = await claim(store);
    await store.post("s", createMessage("m"));
    const result = await store.commit(lease, createCommit(0, { record: ["other", "m"] }));
    deepStrictEqual(result, { type: "duplicate", id: "m" });
    await expectLog(store, 0);
    deepStrictEqual(await store.post("s", createMessage("other")), { type: "posted" });
  },
  "recording an id that was consumed is a duplicate": async ({ store }) => {
    const lease = await claim(store);
    await store.post("s", createMessage("m"));
    await commit(store, lease, 0, { consume: ["m"] });
    deepStrictEqual(await store.commit(lease, createCommit(1, { record: ["m"] })), { type: "duplicate", id: "m" });
  },
  "recording an id again is a duplicate": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, { record: ["m"] });
    deepStrictEqual(await store.commit(lease, createCommit(1, { record: ["m"] })), { type: "duplicate", id: "m" });
  },
  "recording an id twice in one commit is a duplicate": async ({ store }) => {
    const lease = await claim(store);
    deepStrictEqual(await store.commit(lease, createCommit(0, { record: ["m", "m"] })), { type: "duplicate", id: "m" });
    strictEqual(await commit(store, lease, 0, { record: ["m"] }), 1);
  },
  "the sequence number is checked before recorded ids": async ({ store }) => {
    const lease = await createHeldSession(store, 1);
    await store.post("s", createMessage("m"));
    expectResultType(await store.commit(lease, createCommit(0, { record: ["m"] })), "conflict");
  },
  "recorded ids do not prevent a release": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, { record: ["m"], release: true });
    deepStrictEqual(await store.inbox("s"), []);
  },
  "a commit that is refused records nothing": async ({ store }) => {
    const lease = await createHeldSession(store, 1);
    expectResultType(await store.commit(lease, createCommit(0, { record: ["m"] })), "conflict");
    deepStrictEqual(await store.post("s", createMessage("m")), { type: "posted" });
  },
  "recording an invalid id is refused": async ({ store }) => {
    const lease = await claim(store);
    await expectError(() => store.commit(lease, createCommit(0, { record: [""] })), "bad_input");
    await expectLog(store, 0);
  },
  "posting and recording the same id concurrently accepts it once": async ({ store, second }) => {
    const otherStore = await second();
    const lease = await claim(store);
    const [committed, posted] = await Promise.all([
      store.commit(lease, createCommit(0, { record: ["m"] })),
      otherStore.post("s", createMessage("m")),
    ]);
    strictEqual(Number(committed.type === "ok") + Number(posted.type === "posted"), 1);
  },
  "a session at rest accepts messages": async ({ store }) => {
    await createRestingSession(store, "s");
    await store.post("s", createMessage("m"));
    deepStrictEqual(await readInboxIds(store), ["m"]);
  },
});
