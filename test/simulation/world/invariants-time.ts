/**
 * Invariants of sleeps and of signals.
 *
 * Who is to get which signal is worked out here from what was sent and what was committed, in the order of the store.
 */
import type { Event } from "../../../src/core/machine/event.js";
import { isSuspended, shortWaitMs } from "../../../src/core/machine/state.js";
import type { CommittedWait } from "../../../src/ports/store.js";
import type { FactOf } from "../../../src/testing/world/facts.js";
import { type Breach, createBreach, type History, type Invariant } from "../../../src/testing/world/history.js";
import { leaseMs } from "../../../src/testing/world/processes.js";

export const timeInvariants: readonly Invariant[] = [
  { number: 17, name: "a sleep does not end before its time, and nothing else ends it", check: nothingEndsEarly },
  { number: 18, name: "each signal is given once to those who wait for it", check: signalsAreGivenOnce },
  { number: 19, name: "a session that only sleeps has no lease, and asks nobody", check: sleepersAreFree },
];

type Asked = { readonly kind: "time" | "signal"; readonly expiresAt: number; isOver: boolean };

function nothingEndsEarly({ log, rows }: History): Breach | undefined {
  const waits = new Map<string, Asked>();
  for (const { seq, event } of log) {
    if (event.type === "tool_asked" && event.for !== undefined) {
      const { callKey, step, expiresAt = Number.POSITIVE_INFINITY } = event;
      waits.set(`${callKey} ${step}`, { kind: event.for, expiresAt, isOver: false });
    }
    if (event.type !== "timer_fired" && event.type !== "answered") continue;
    const wait = waits.get(`${event.callKey} ${event.questionId}`);
    if (wait === undefined) continue;
    const breach = (what: string) => createBreach(seq, `entry ${seq} ${what}`, rows);
    if (wait.isOver) return breach(`ends ${event.questionId} again`);
    wait.isOver = true;
    if (event.type === "timer_fired") {
      if (event.at < wait.expiresAt) return breach(`ends ${event.questionId} ${wait.expiresAt - event.at} ms early`);
    } else if (wait.kind === "time" || !event.answerId.startsWith("signal/"))
      return breach(`is an answer of somebody to ${event.questionId}`);
  }
  return undefined;
}

/** A wait in the store, and the signal that it got. Unknown: the one that it was to get may have been removed. */
type StoredWait = CommittedWait & { readonly sessionId: string; got: Given | "unknown" | null };

/** `isKept`: the signal was there when the wait began. */
type Given = { readonly id: string; readonly isKept: boolean };

type KeptSignal = Pick<FactOf<"signalled">, "key" | "id" | "sentAt" | "keptUntil"> & { readonly isSure: boolean };

/** By more than the clocks of two processes differ. */
const clocksDifferMs = 1_000;

function signalsAreGivenOnce({ facts }: History): Breach | undefined {
  let kept: readonly KeptSignal[] = [];
  /** What calls have had. */
  const had = new Set<string>();
  let open: readonly StoredWait[] = [];
  const canHave = (wait: StoredWait, { key, id, sentAt }: KeptSignal) =>
    wait.key === key && sentAt < (wait.expiresAt ?? Number.POSITIVE_INFINITY) && !had.has(nameGift(wait, id));
  const give = (wait: StoredWait, { id }: KeptSignal, isKept: boolean) => {
    had.add(nameGift(wait, id));
    wait.got = { id, isKept };
  };
  for (const fact of facts) {
    if (fact.type === "signals_dropped") {
      const { until, isAll } = fact;
      kept = isAll ? kept.filter(({ keptUntil }) => keptUntil > until) : doubt(kept, (one) => one.keptUntil <= until);
    }
    if (fact.type === "signalled" && fact.isNew) {
      const { key, sentAt } = fact;
      // Some stores remove what need not be kept any longer when a signal with the same key comes.
      kept = doubt(kept, (signal) => signal.key === key && signal.keptUntil <= sentAt);
      kept = [...kept, { ...fact, isSure: true }];
      const served = new Set<string>();
      for (const wait of open) {
        const call = `${wait.sessionId} ${wait.callKey}`;
        const signal = { ...fact, isSure: true };
        if (wait.got !== null || served.has(call) || !canHave(wait, signal)) continue;
        served.add(call);
        give(wait, signal, false);
      }
    }
    if (fact.type !== "written" || fact.commit.waits === undefined) continue;
    const { sessionId, commit } = fact;
    const { waits = [] } = commit;
    const before = open.filter((wait) => wait.sessionId === sessionId);
    const isSame = (a: CommittedWait) => (b: CommittedWait) => a.callKey === b.callKey && a.step === b.step;
    for (const wait of before.filter((one) => !waits.some(isSame(one)))) {
      const what = findWrongEnd(wait, commit.events);
      if (what !== undefined) return { what: `${wait.callKey} '${wait.step}' ${what}`, fact };
      const givenId = findGivenId(wait, commit.events);
      if (givenId !== undefined) had.add(nameGift(wait, givenId));
      // It was told that nothing came: the next wait of the call gets the signal.
      else if (wait.got !== null && wait.got !== "unknown") had.delete(nameGift(wait, wait.got.id));
    }
    const after = waits.map((wait): StoredWait => before.find(isSame(wait)) ?? { ...wait, sessionId, got: null });
    for (const wait of after.filter((one) => !before.includes(one))) {
      const first = kept.find((one) => one.keptUntil > commit.at - clocksDifferMs && canHave(wait, one));
      if (first === undefined) continue;
      if (first.isSure && first.keptUntil > commit.at + clocksDifferMs) give(wait, first, true);
      else wait.got = "unknown";
    }
    open = [...open.filter((wait) => wait.sessionId !== sessionId), ...after];
  }
  return undefined;
}

/** Marks those signals as perhaps removed. */
function doubt(kept: readonly KeptSignal[], isDoubtful: (signal: KeptSignal) => boolean): readonly KeptSignal[] {
  return kept.map((signal) => (isDoubtful(signal) ? { ...signal, isSure: false } : signal));
}

function nameGift({ sessionId, callKey, key }: StoredWait, id: string): string {
  return `${sessionId} ${callKey} ${key} ${id}`;
}

function isEndOf({ callKey, step }: StoredWait, event: Event, type: "answered" | "timer_fired"): boolean {
  return event.type === type && event.callKey === callKey && event.questionId === step;
}

function findGivenId(wait: StoredWait, events: readonly Event[]): string | undefined {
  const answer = events.find((event) => isEndOf(wait, event, "answered"));
  if (answer?.type !== "answered" || answer.answer.type !== "reply") return undefined;
  return (answer.answer.value as { readonly id: string }).id;
}

/** What is wrong with the end of a wait in these events. */
function findWrongEnd(wait: StoredWait, events: readonly Event[]): string | undefined {
  const { got } = wait;
  if (got === "unknown") return undefined;
  const id = findGivenId(wait, events);
  if (id !== undefined) return got?.id === id ? undefined : `is given ${id}, and was to get ${got?.id ?? "nothing"}`;
  const hasExpired = events.some((event) => isEndOf(wait, event, "timer_fired"));
  return hasExpired && got?.isKept === true ? `expires, and ${got.id} was kept for it` : undefined;
}

/** The lease is given back with the commit that begins the sleep, or soon after it. */
function sleepersAreFree({ facts }: History): Breach | undefined {
  let sleep: Sleep | null = null;
  for (const fact of facts) {
    if (fact.type === "holding" && sleep !== null) sleep = { since: fact.at, until: sleep.until };
    if (fact.type === "written") {
      const { state, askedAt, dueAt } = fact.commit;
      const isAsleep = state.status === "tool_running" && isSuspended(state);
      if (isAsleep && askedAt !== null) return { what: `entry ${state.seq} sleeps, and somebody is asked`, fact };
      sleep = isAsleep ? { since: fact.at, until: dueAt ?? Number.POSITIVE_INFINITY } : null;
    }
    if (fact.type !== "renewed" || sleep === null) continue;
    const now = fact.askedAt + fact.setting;
    if (fact.askedAt > sleep.since + graceMs && sleep.until > now + shortWaitMs)
      return { what: `${fact.process} keeps the lease of a session that sleeps`, fact };
  }
  return undefined;
}

/** Since when a session sleeps in the process that has it, and until when: by the clock of the wall. */
type Sleep = { readonly since: number; readonly until: number };

const graceMs = 2 * leaseMs;
