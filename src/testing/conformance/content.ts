/**
 * Unusual content: it is returned unchanged, or it is refused.
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { Json } from "../../core/data/message.js";
import type { Event } from "../../core/machine/event.js";
import { PawlError } from "../../errors.js";
import type { Store } from "../../ports/store.js";
import {
  claim,
  commit,
  createCases,
  createCommit,
  createMessage,
  createState,
  createTextEvent,
  expectLog,
  readInboxIds,
  type StoreCase,
  t0,
  textsOf,
} from "./bench.js";

const oddTexts: { readonly [name: string]: string } = {
  "no text": "",
  "a NUL": "before\0after\0",
  "every control character": String.fromCharCode(...Array.from({ length: 32 }, (_, code) => code), 127),
  "a lone high surrogate": "before\ud83dafter",
  "a lone low surrogate": "before\udc00after",
  "surrogates the wrong way round": "\udc00\ud83d",
  "emoji and their joiners": "👩‍👩‍👧‍👦 🏳️‍🌈 é ﬁ",
  "text that runs right to left": "שלום \u202eabc\u202c العربية",
  "separators that JavaScript once refused": "a\u2028b\u2029c\ufeffd",
  "text that looks like SQL": "'); DROP TABLE sessions; -- \" ? $1 :name %s",
  "text that looks like JSON": '{"__proto__":[1,"\\u0000"]}\\',
  "all kinds of line endings": "a\r\nb\nc\rd\te",
  "900,000 bytes": "0123456789".repeat(90_000),
};

const oddValues: { readonly [name: string]: Json } = {
  "numbers at the edges": [0, -1, 0.1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 1.7e308, 5e-324],
  "keys that every object inherits": { toString: 1, hasOwnProperty: 2, valueOf: 3, "": 4, "a.b": 5, $ref: 6, "\0": 7 },
  "objects and arrays, 100 levels deep": nest(100),
  "empty values": [{}, [], "", null, false, { a: {}, b: [] }],
  "10,000 items": Array.from({ length: 10_000 }, (_, index) => index),
};

/** Text in an event, a state and a message at the same time. */
const textCases: readonly StoreCase[] = Object.entries(oddTexts).map(([name, text]) => ({
  name: `text is returned unchanged: ${name}`,
  verifies: ["STOR-1", "STOR-4"],
  check: async ({ store, second }) => {
    const lease = await claim(store);
    const state = { ...createState(1, "idle"), session: { agent: "coder", model: "scripted", title: text } };
    await commit(store, lease, 0, { events: [createTextEvent(text)], state });
    await store.post("s", createMessage("m", t0, text));
    const otherStore = await second();
    deepStrictEqual(textsOf(await otherStore.read("s")), [text]);
    strictEqual((await otherStore.load("s"))?.state.session?.title, text);
    deepStrictEqual(await otherStore.inbox("s"), [createMessage("m", t0, text)]);
    deepStrictEqual(await otherStore.verify(), []);
  },
}));

const valueCases: readonly StoreCase[] = Object.entries(oddValues).map(([name, value]) => ({
  name: `a value is returned unchanged: ${name}`,
  verifies: ["STOR-1", "STOR-4"],
  check: async ({ store, second }) => {
    const event = createResultEvent(value);
    await commit(store, await claim(store), 0, { events: [event] });
    const otherStore = await second();
    deepStrictEqual(await otherStore.read("s"), [{ seq: 1, event }]);
    deepStrictEqual(await otherStore.verify(), []);
  },
}));

const oddEvents: { readonly [name: string]: () => Event } = {
  "an entry of 2 MiB": () => createTextEvent("x".repeat(2 * 1024 * 1024)),
  "a value 5,000 levels deep": () => createResultEvent(nest(5000)),
  "numbers that are not finite": () => createResultEvent([Number.NaN, Number.POSITIVE_INFINITY]),
  "the key __proto__": () => createResultEvent(JSON.parse('{"__proto__": {"polluted": true}}') as Json),
  "the key constructor": () => createResultEvent({ constructor: "x" }),
};

const refusalCases: readonly StoreCase[] = Object.entries(oddEvents).map(([name, make]) => ({
  name: `it is returned unchanged or refused: ${name}`,
  verifies: ["STOR-1", "SEC-12", "SEC-13"],
  check: async ({ store }) => await expectRoundTripOrError(store, make()),
}));

async function expectRoundTripOrError(store: Store, event: Event): Promise<void> {
  const lease = await claim(store);
  const error = await store.commit(lease, createCommit(0, { events: [event] })).then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error === null) {
    const [entry] = await store.read("s");
    // deepStrictEqual recurses, and would overflow the stack on values this deep. So their JSON is compared.
    ok(entry?.event === event || JSON.stringify(entry?.event) === JSON.stringify(event));
  } else {
    ok(error instanceof PawlError && error.code === "not_storable", String(error));
    await expectLog(store, 0);
  }
  strictEqual(Object.hasOwn(Object.prototype, "polluted"), false);
  strictEqual(await commit(store, lease, error === null ? 1 : 0), error === null ? 2 : 1);
}

const oddIds = [
  " ",
  "a b",
  "a/b\\c",
  "../../etc/passwd",
  "ünïcödé",
  "uนี้",
  "👩‍👧",
  "%00",
  "'; DROP TABLE sessions; --",
  "__proto__",
  "constructor",
  "null",
  "0",
  "1e3",
  "\n\t",
  "x".repeat(512),
];

const idCases = createCases(["STOR-1"], {
  "a session may have any id of 1 to 512 characters": async ({ store, second }) => {
    for (const id of oddIds) await commit(store, await claim(store, id), 0, { events: [createTextEvent(id)] });
    const otherStore = await second();
    for (const id of oddIds) deepStrictEqual(textsOf(await otherStore.read(id)), [id]);
    deepStrictEqual((await otherStore.list()).map((summary) => summary.sessionId).sort(), [...oddIds].sort());
  },
  "a message may have any id of 1 to 512 characters": async ({ store }) => {
    for (const id of oddIds) deepStrictEqual(await store.post("s", createMessage(id)), { type: "posted" });
    for (const id of oddIds) deepStrictEqual(await store.post("s", createMessage(id)), { type: "duplicate" });
    deepStrictEqual(await readInboxIds(store), oddIds);
    await commit(store, await claim(store), 0, { consume: oddIds });
    deepStrictEqual(await readInboxIds(store), []);
  },
  "ids that look alike are different": async ({ store }) => {
    const alike = ["id", "ID", "id ", " id", "\u00e9", "e\u0301", "ﬁ", "fi", "1", "01", "1.0"];
    for (const id of alike) await commit(store, await claim(store, id), 0, { events: [createTextEvent(id)] });
    for (const id of alike) deepStrictEqual(textsOf(await store.read(id)), [id]);
  },
  "an invalid id is not found": async ({ store }) => {
    // In UTF-8, both ids become the replacement character.
    await claim(store, "\ufffd");
    strictEqual(await store.load("\ud800"), null);
    deepStrictEqual(await store.inbox("\ud800"), []);
    strictEqual(await store.delete("\ud800", { now: t0, force: true }), false);
    strictEqual((await store.list()).length, 1);
  },
  "times may have fractions": async ({ store }) => {
    const lease = await claim(store, "s", { now: t0 + 0.5 });
    await commit(store, lease, 0, { at: t0 + 0.25, dueAt: t0 + 0.75 });
    strictEqual((await store.list())[0]?.updatedAt, t0 + 0.25);
  },
});

function createResultEvent(value: Json): Event {
  return { type: "late_result", callKey: "r/1/1", outcome: "ok", output: { type: "json", value }, at: t0 };
}

function nest(levels: number): Json {
  let value: Json = "bottom";
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { down: value };
  return value;
}

export const contentCases: readonly StoreCase[] = [...textCases, ...valueCases, ...refusalCases, ...idCases];
