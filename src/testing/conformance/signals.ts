/**
 * Signals, and the sessions that wait for them.
 */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { SignalWait } from "../../core/machine/signal-waits.js";
import type { Call, State } from "../../core/machine/state.js";
import type { Signal, SignalStore } from "../../ports/signal.js";
import type { CommitResult, CommittedWait, Lease, Store } from "../../ports/store.js";
import { claim, createCases, createCommit, createMessage, createState, leaseMs, type StoreCase, t0 } from "./bench.js";

/** A store may lack signals. In that case, there is nothing to check. */
function signalCases(checks: {
  readonly [name: string]: (store: Store, signals: SignalStore, second: () => Promise<Store>) => Promise<void>;
}): readonly StoreCase[] {
  return createCases(
    ["TIME-2"],
    Object.fromEntries(
      Object.entries(checks).map(([name, check]): [string, StoreCase["check"]] => [
        name,
        async ({ store, second }) => {
          if (store.signals !== undefined) await check(store, store.signals, second);
        },
      ]),
    ),
  );
}

const at = t0;
const aDay = 86_400_000;

/** The wait `step` of a call for the key `paid`. */
function wait(step: string, more: Partial<SignalWait> = {}): SignalWait {
  return { callKey: "run 1/1/1", step, key: "paid", ...more };
}

/** The state of a session whose calls wait for these signals. */
function waitingState(seq: number, waits: readonly SignalWait[]): State {
  const state = createState(seq, "tool_running");
  if (state.status !== "tool_running") throw new Error("The state has no calls.");
  const calls = [...new Set(waits.map(({ callKey }) => callKey))].map(
    (callKey): Call => ({
      callKey,
      name: "pay",
      inputSeq: 1,
      status: "asking",
      why: "tool",
      policy: { recover: "ask", durable: true },
      attempt: 1,
      askedAt: t0,
      open: waits
        .filter((one) => one.callKey === callKey)
        .map(({ step, key, expiresAt }) => ({
          step,
          for: "signal",
          key,
          ...(expiresAt === undefined ? {} : { expiresAt }),
        })),
    }),
  );
  return calls.length === 0 ? state : { ...state, v: 3, calls, parkedSince: t0 };
}

/** A session that commits its waits, entry by entry. */
async function waitingSession(store: Store, sessionId = "s") {
  const lease: Lease = await claim(store, sessionId);
  let seq = 0;
  const tryWaits = async (waits: readonly CommittedWait[], more: object = {}): Promise<CommitResult["type"]> => {
    const parts = { state: waitingState(seq + 1, waits), activity: "waiting", at, waits, ...more } as const;
    const { type } = await store.commit(lease, createCommit(seq, parts));
    if (type === "ok") seq += 1;
    return type;
  };
  return {
    tryWaits,
    async waits(waits: readonly CommittedWait[], more: object = {}) {
      strictEqual(await tryWaits(waits, more), "ok");
    },
    /** The contents of the inbox: the call, its wait, and the signal that it is given. */
    async given() {
      return (await store.inbox(sessionId)).map(({ body }) => {
        if (body.type !== "answer" || body.answer.type !== "reply") return body.type;
        const { id } = body.answer.value as { readonly id: string };
        return `${body.callKey} ${body.questionId}: ${id}`;
      });
    },
  };
}

function signal(id: string, more: Partial<Signal> = {}): Signal {
  return { id, key: "paid", at, keptUntil: at + aDay, value: { cents: 9_900 }, ...more };
}

const nothing = { type: "ok", isNew: true, sessions: [] };

export const signalling = signalCases({
  "a signal becomes an answer in the inbox of each session that waits for its key, with the sender's value": async (
    store,
    signals,
  ) => {
    for (const sessionId of ["s", "t", "u"]) {
      const session = await waitingSession(store, sessionId);
      await session.waits([wait("pay", sessionId === "u" ? { key: "paid late" } : {})]);
    }
    const sent = await signals.send(signal("1", { by: "stripe" }));
    deepStrictEqual(
      { ...sent, sessions: sent.type === "ok" ? [...sent.sessions].sort() : [] },
      { ...nothing, sessions: ["s", "t"] },
    );
    const [message, ...more] = await store.inbox("s");
    deepStrictEqual(more, []);
    deepStrictEqual(message?.at, at);
    deepStrictEqual(message?.body, {
      type: "answer",
      callKey: "run 1/1/1",
      answer: { type: "reply", value: { id: "1", at, value: { cents: 9_900 } } },
      questionId: "pay",
      by: "stripe",
    });
    deepStrictEqual(await store.inbox("u"), []);
    deepStrictEqual(await store.due(at, 10), []);
    deepStrictEqual(await store.verify(), []);
  },

  "a signal that was sent before a wait is delivered in the commit that begins the wait": async (store, signals) => {
    deepStrictEqual(await signals.send(signal("1")), nothing);
    const session = await waitingSession(store);
    await session.waits([wait("pay")], { at: at + aDay - 1 });
    deepStrictEqual(await session.given(), ["run 1/1/1 pay: 1"]);
  },

  "a wait gets the oldest signal; each call gets each signal once, in order": async (store, signals) => {
    for (const id of ["2", "1", "3"]) await signals.send(signal(id));
    const session = await waitingSession(store);
    await session.waits([wait("a"), wait("a", { callKey: "run 1/1/2" })]);
    deepStrictEqual(await session.given(), ["run 1/1/1 a: 2", "run 1/1/2 a: 2"]);
    for (const [step, id] of [
      ["b", "1"],
      ["c", "3"],
    ] as const) {
      const consume = (await store.inbox("s")).map((one) => one.id);
      await session.waits([wait(step)], { consume });
      deepStrictEqual(await session.given(), [`run 1/1/1 ${step}: ${id}`]);
    }
    const consume = (await store.inbox("s")).map((one) => one.id);
    await session.waits([wait("d")], { consume });
    deepStrictEqual(await session.given(), []);
    await signals.send(signal("4"));
    deepStrictEqual(await session.given(), ["run 1/1/1 d: 4"]);
  },

  "two waits of one call get two signals, and one that has its signal takes no other": async (store, signals) => {
    const session = await waitingSession(store);
    await session.waits([wait("a"), wait("b")]);
    for (const id of ["1", "2", "3"]) await signals.send(signal(id));
    deepStrictEqual((await session.given()).sort(), ["run 1/1/1 a: 1", "run 1/1/1 b: 2"]);
  },

  "two waits of one call that begin together get two signals that were sent before": async (store, signals) => {
    for (const id of ["1", "2"]) {
      await signals.send(signal(id));
      const session = await waitingSession(store, `s${id}`);
      await session.waits([wait("a"), wait("b")]);
      deepStrictEqual((await session.given()).sort(), ["run 1/1/1 a: 1", "run 1/1/1 b: 2"].slice(0, Number(id)));
    }
  },

  "a repeated id counts once per key while the signal is kept": async (store, signals) => {
    const session = await waitingSession(store);
    await session.waits([wait("a"), wait("b")]);
    await signals.send(signal("1"));
    deepStrictEqual(await signals.send(signal("1", { at: at + 1 })), { ...nothing, isNew: false });
    deepStrictEqual(await session.given(), ["run 1/1/1 a: 1"]);
    deepStrictEqual(await signals.send(signal("1", { key: "another" })), nothing);
    deepStrictEqual((await signals.send(signal("1", { at: at + aDay }))).type, "ok");
    deepStrictEqual(await session.given(), ["run 1/1/1 a: 1"]);
  },

  "a signal that is not kept reaches only the waits that are open": async (store, signals) => {
    const session = await waitingSession(store);
    await session.waits([wait("a")]);
    await signals.send(signal("1", { keptUntil: at }));
    deepStrictEqual(await session.given(), ["run 1/1/1 a: 1"]);
    const later = await waitingSession(store, "t");
    await later.waits([wait("a")]);
    deepStrictEqual(await later.given(), []);
  },

  "a wait takes signals that were sent before it ends, whenever it begins": async (store, signals) => {
    await signals.send(signal("late"));
    const session = await waitingSession(store);
    await session.waits([wait("a", { expiresAt: at })]);
    deepStrictEqual(await session.given(), []);
    await session.waits([wait("b", { expiresAt: at + 1 })]);
    deepStrictEqual(await session.given(), ["run 1/1/1 b: late"]);
    await session.waits([wait("c", { expiresAt: at + 1 })]);
    await signals.send(signal("later", { at: at + 1 }));
    deepStrictEqual(await session.given(), ["run 1/1/1 c: late"]);
  },

  "a signal that was given to a wait that has ended is taken back, and the next wait of the call gets it": async (
    store,
    signals,
  ) => {
    const session = await waitingSession(store);
    await session.waits([wait("a"), wait("a", { callKey: "run 1/1/2" })]);
    await signals.send(signal("1"));
    await session.waits([wait("a", { callKey: "run 1/1/2" })]);
    deepStrictEqual(await session.given(), ["run 1/1/2 a: 1"]);
    await session.waits([wait("b"), wait("a", { callKey: "run 1/1/2" })]);
    deepStrictEqual((await session.given()).sort(), ["run 1/1/1 b: 1", "run 1/1/2 a: 1"]);
    deepStrictEqual(await store.verify(), []);
  },

  "the lease is not released while a new wait would get a signal at once": async (store, signals) => {
    await signals.send(signal("1"));
    const session = await waitingSession(store);
    strictEqual(await session.tryWaits([wait("a")], { release: true }), "inbox_not_empty");
    deepStrictEqual(await session.given(), []);
    strictEqual(await session.tryWaits([wait("a", { expiresAt: at })], { release: true }), "ok");
  },

  "a released session that waits is due when its signal comes": async (store, signals) => {
    const session = await waitingSession(store);
    await session.waits([wait("a")], { release: true });
    deepStrictEqual(await store.due(at, 10), []);
    await signals.send(signal("1"));
    deepStrictEqual(await store.due(at, 10), ["s"]);
  },

  "a store keeps 1,000 signals per key, and refuses more until some have expired": async (_, signals) => {
    const all = Array.from({ length: 1_000 }, (_, n) => signal(`${n + 1}`, { keptUntil: at + n + 1 }));
    await Promise.all(all.map((one) => signals.send(one)));
    deepStrictEqual(await signals.send(signal("more")), { type: "full" });
    deepStrictEqual(await signals.send(signal("1", { key: "another" })), nothing);
    deepStrictEqual(await signals.send(signal("more", { at: at + 1 })), nothing);
  },

  "signals are listed by key, in order and page by page, and dropped when they have expired": async (_, signals) => {
    const all = ["b", "a"].flatMap((key) => [2, 1, 3].map((n) => signal(`${n}`, { key, keptUntil: at + n })));
    for (const one of all) await signals.send(one);
    const listed = await signals.list(at, { limit: 10 });
    deepStrictEqual(listed, [...all.slice(3), ...all.slice(0, 3)]);
    const first = await signals.list(at, { limit: 4 });
    deepStrictEqual(first, listed.slice(0, 4));
    const { key = "", id = "" } = first[3] ?? {};
    deepStrictEqual(await signals.list(at, { after: { key, id }, limit: 10 }), listed.slice(4));
    strictEqual(await signals.drop(at + 2, 3), 3);
    strictEqual(await signals.drop(at + 2, 3), 1);
    strictEqual(await signals.drop(at + 2, 3), 0);
    deepStrictEqual(
      (await signals.list(at, { limit: 10 })).map((one) => `${one.key} ${one.id}`),
      ["a 3", "b 3"],
    );
  },

  "a wait that is committed with its signal, as in an import, gets no other signal": async (store, signals) => {
    await signals.send(signal("kept"));
    const session = await waitingSession(store);
    await store.post("s", createMessage("signal/1"));
    await session.waits([{ ...wait("a"), given: "signal/1" }]);
    deepStrictEqual(await signals.send(signal("later")), nothing);
    deepStrictEqual(
      (await store.inbox("s")).map(({ id }) => id),
      ["signal/1"],
    );
    deepStrictEqual(await store.verify(), []);
  },

  "a deleted session no longer waits for signals": async (store, signals) => {
    const session = await waitingSession(store);
    await session.waits([wait("a")]);
    await store.delete("s", { now: at + 3 * leaseMs, force: true });
    deepStrictEqual(await signals.send(signal("1")), nothing);
    deepStrictEqual(await store.inbox("s"), []);
    deepStrictEqual(await store.verify(), []);
  },

  "a signal and a wait that begin at the same time do not miss each other": async (store, signals, second) => {
    const other = (await second()).signals ?? signals;
    const session = await waitingSession(store);
    for (let n = 1; n <= 30; n += 1) {
      const key = `key ${n}`;
      await Promise.all([session.waits([wait(`${n}`, { key })]), other.send(signal(`${n}`, { key }))]);
      deepStrictEqual(await session.given(), [`run 1/1/1 ${n}: ${n}`]);
    }
  },
});
