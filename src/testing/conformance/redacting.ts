/**
 * Redaction: how a store removes content from a session.
 */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { State } from "../../core/machine/state.js";
import type { Redaction, Store } from "../../ports/store.js";
import {
  claim,
  commit,
  createCases,
  createCommit,
  createHeldSession,
  createState,
  createTextEvent,
  expectLog,
  expectResultType,
  t0,
  textsOf,
  watchChanges,
} from "./bench.js";

const mark = "[redacted]";

/** In these cases, the titles of states repeat the text of their entry. */
function redactTitle(state: State): State {
  return state.session === null || state.session.title !== "entry 2"
    ? state
    : { ...state, session: { ...state.session, title: mark } };
}

/** Removes the text of entry 2 from a session with `last` entries. */
function createRedaction(last: number, overrides: Partial<Redaction> = {}): Redaction {
  const events = [{ type: "content_redacted", entries: [2], by: "Ada", at: t0 }] as const;
  const state = createState(last + 1, "completed");
  return {
    commit: createCommit(last, { events, state, activity: "resting" }),
    entries: [{ seq: 2, event: createTextEvent(mark) }],
    state: redactTitle,
    removes: () => false,
    ...overrides,
  };
}

async function readStates(store: Store, last: number): Promise<string> {
  const states = [];
  for (let seq = 1; seq <= last; seq++) states.push(await store.loadAt("s", seq));
  return JSON.stringify(states);
}

export const redactCases = createCases(["STOR-1"], {
  "content is replaced, and the last entry records the redaction": async ({ store, second, reopened }) => {
    const lease = await createHeldSession(store, 4);
    deepStrictEqual(await store.redact(lease, createRedaction(4)), { type: "ok", seq: 5 });
    const expectedTexts = ["entry 1", mark, "entry 3", "entry 4", "content_redacted"];
    deepStrictEqual(textsOf(await store.read("s")), expectedTexts);
    deepStrictEqual(textsOf(await (await second()).read("s")), expectedTexts);
    deepStrictEqual(textsOf(await store.read("s", 1, 1)), [mark]);
    await expectLog(store, 5);
    deepStrictEqual(await store.verify(), []);
    deepStrictEqual(textsOf(await (await reopened()).read("s")), expectedTexts);
  },
  "an entry in the middle of a row is replaced": async ({ store }) => {
    const lease = await claim(store);
    await commit(store, lease, 0, { events: 3 });
    await commit(store, lease, 3, { events: 2 });
    expectResultType(await store.redact(lease, createRedaction(5)), "ok");
    deepStrictEqual(textsOf(await store.read("s")), [
      "entry 1",
      mark,
      ...["entry 3", "entry 4", "entry 5"],
      "content_redacted",
    ]);
    deepStrictEqual(await store.verify(), []);
  },
  "the content is also removed from states": async ({ store }) => {
    const lease = await createHeldSession(store, 3);
    await store.redact(lease, createRedaction(3));
    strictEqual((await readStates(store, 4)).includes("entry 2"), false);
    deepStrictEqual((await store.load("s"))?.state, createState(4, "completed"));
  },
  "lists show the data of the last state": async ({ store }) => {
    const lease = await createHeldSession(store, 2);
    const state = redactTitle({
      ...createState(3, "completed"),
      session: { agent: "coder", model: "m", title: "entry 2" },
    });
    const redaction = createRedaction(2);
    await store.redact(lease, { ...redaction, commit: { ...redaction.commit, state } });
    await store.release(lease);
    strictEqual((await store.describe("s"))?.info?.title, mark);
    strictEqual(JSON.stringify(await store.list()).includes("entry 2"), false);
  },
  "the selected blobs are removed, and others stay": async ({ store, second }) => {
    const lease = await createHeldSession(store, 2);
    const [removedBytes, keptBytes] = [new TextEncoder().encode("a key"), new TextEncoder().encode("a prompt")];
    const hashes = [await store.putBlob("s", removedBytes), await store.putBlob("s", keptBytes)] as const;
    const seen = new Set<string>();
    const removes = (hash: string, bytes: Uint8Array): boolean => {
      seen.add(hash);
      return new TextDecoder().decode(bytes) === "a key";
    };
    expectResultType(await store.redact(lease, createRedaction(2, { removes })), "ok");
    deepStrictEqual(seen, new Set(hashes));
    strictEqual(await store.getBlob("s", hashes[0]), null);
    strictEqual(await (await second()).getBlob("s", hashes[0]), null);
    deepStrictEqual(await store.getBlob("s", hashes[1]), keptBytes);
  },
  "a blob of another session with the same bytes stays": async ({ store }) => {
    const lease = await createHeldSession(store, 2);
    await createHeldSession(store, 1, "other");
    const bytes = new TextEncoder().encode("shared");
    const hash = await store.putBlob("s", bytes);
    await store.putBlob("other", bytes);
    await store.redact(lease, createRedaction(2, { removes: () => true }));
    strictEqual(await store.getBlob("s", hash), null);
    deepStrictEqual(await store.getBlob("other", hash), bytes);
    deepStrictEqual(textsOf(await store.read("other")), ["entry 1"]);
  },
  "nothing changes if the lease is lost": async ({ store }) => {
    const lease = await createHeldSession(store, 2);
    const hash = await store.putBlob("s", new Uint8Array([1]));
    await store.release(lease);
    const next = await claim(store);
    expectResultType(await store.redact(lease, createRedaction(2, { removes: () => true })), "fenced");
    deepStrictEqual(textsOf(await store.read("s")), ["entry 1", "entry 2"]);
    strictEqual((await store.getBlob("s", hash))?.length, 1);
    expectResultType(await store.redact(next, createRedaction(2)), "ok");
  },
  "nothing changes if the log is longer than expected": async ({ store }) => {
    const lease = await createHeldSession(store, 3);
    deepStrictEqual(await store.redact(lease, createRedaction(2)), { type: "conflict", seq: 3 });
    deepStrictEqual(textsOf(await store.read("s")), ["entry 1", "entry 2", "entry 3"]);
  },
  "commits continue after a redaction, which can be repeated": async ({ store }) => {
    const lease = await createHeldSession(store, 2);
    await store.redact(lease, createRedaction(2));
    await commit(store, lease, 3);
    deepStrictEqual(await store.redact(lease, createRedaction(4)), { type: "ok", seq: 5 });
    deepStrictEqual(textsOf(await store.read("s")), [
      "entry 1",
      mark,
      "content_redacted",
      "entry 4",
      "content_redacted",
    ]);
  },
  "other processes are notified of a redaction": async ({ store, second }) => {
    const lease = await createHeldSession(store, 2);
    const { seen } = watchChanges(await second(), "s");
    await store.redact(lease, createRedaction(2));
    await seen;
  },
  "a long log is redacted as a whole": async ({ store }) => {
    const lease = await claim(store);
    for (let seq = 0; seq < 600; seq += 2) await commit(store, lease, seq, { events: 2 });
    const entries = [2, 299, 300, 599].map((seq) => ({ seq, event: createTextEvent(mark) }));
    expectResultType(await store.redact(lease, createRedaction(600, { entries })), "ok");
    const texts = textsOf(await store.read("s"));
    deepStrictEqual(
      texts.flatMap((text, index) => (text === mark ? [index + 1] : [])),
      [2, 299, 300, 599],
    );
    strictEqual(texts.length, 601);
    deepStrictEqual(await store.verify(), []);
  },
});
