/**
 * The end of a simulation: without further trouble, everything that was asked for is answered and every run of every session
 * ends. Invariant 12 is broken where it does not.
 */
import { dueAt, effects } from "../../../src/core/machine/effects.js";
import {
  asksOutside,
  type Call,
  hasCalls,
  isAsleep,
  isParked,
  isResting,
  type State,
} from "../../../src/core/machine/state.js";
import { InvariantBroken } from "../../../src/testing/world/invariants.js";
import { listReadyTurns, type Process, take, type World } from "../../../src/testing/world/world.js";
import type { Clients, Question } from "./clients.js";

const everythingEnds = { number: 12, name: "no run and nobody who waits for one waits for ever" };

/** Turns since the last session began: families may have more than a hundred. */
const maxTurnsToEnd = 40_000;
/** How long those who follow a session may take to see its end, and the hooks of a call that was given up to give out. */
const quietForMs = 1_300;
/** How long somebody waits before asking for a driver again. */
const retryAfterMs = 300;

/** One step: a turn for something that waits for one, or the next timer. False where there is neither. */
export function advanceOnce(world: World, hurry: number): boolean {
  const { chance, clock } = world;
  const waiting = listReadyTurns(world).filter((turn) => turn.operation !== "slow tool");
  if (waiting.length === 0 || chance.happens(hurry)) {
    if (clock.fireNext()) return true;
    const slow = listReadyTurns(world);
    if (slow.length > 0) take(world, chance.pick(slow));
    return slow.length > 0;
  }
  take(world, chance.pick(waiting));
  return true;
}

/** @returns how many turns it took */
export async function runToEnd(world: World, clients: Clients, start: () => Process): Promise<number> {
  const last = start();
  let since: { readonly need: Need | null; readonly at: number } = { need: null, at: 0 };
  let asked: Question | undefined;
  let askedAt = Number.NEGATIVE_INFINITY;
  let seenSessions = { sessions: 0, since: 0 };
  for (let turn = 0; turn < seenSessions.since + maxTurnsToEnd; turn += 1) {
    await world.settle();
    if (listReadyTurns(world).some((one) => one.operation !== "slow tool")) {
      advanceOnce(world, 0);
      continue;
    }
    const open = clients.questions.filter((one) => one.answer === null && one.process.status === "running");
    // They would go on for ever. Somebody may still be changing one.
    if (!open.some(({ what }) => what === "pause all") && (await hasSchedule(world))) {
      clients.pauseSchedules(last);
      continue;
    }
    const sessions = [...(await listSessionNeeds(world)), ...(await listDelayed(world))];
    if (sessions.length > seenSessions.sessions) seenSessions = { sessions: sessions.length, since: turn };
    const need = findOverallNeed(sessions);
    const now = world.clock.elapsed();
    if (since.need !== need) since = { need, at: now };
    const isLong = now > since.at + quietForMs;
    if (need === "nothing" && open.length === 0) {
      if (isLong || !advanceOnce(world, 0)) return turn;
    } else if (need === "an answer" && !open.some(isAnswer)) {
      if (!isLong && advanceOnce(world, 0)) continue;
      expectEveryoneNotified(sessions, open, asked);
      const isTop = sessions.some((one) => one.sessionId === world.sessionId && one.need === "an answer");
      if (isTop) clients.answer(last);
      else clients.answerBelow(last);
      asked = clients.questions.at(-1);
      since = { need: null, at: now };
    } else if (need === "a driver" && !open.some(requestsDriver)) {
      const pauseMs = Math.max(retryAfterMs, msUntilDue(sessions, world.clock.now()));
      if (now < askedAt + pauseMs && advanceOnce(world, 0)) continue;
      askedAt = now;
      // Time goes on, though nothing here waits for it: leases of the dead end, and so do sleeps.
      world.clock.after(pauseMs, () => {});
      const drivable = sessions.filter((one) => one.need === "a driver");
      // A session that waits for a time is due by the wall clock. If that was set back, it is due when somebody sets it right.
      if (drivable.every((one) => isFarAhead(one, world.clock.now()))) {
        world.clock.jump(yearMs);
        world.record({ type: "jumped", ms: yearMs });
      }
      // While it sleeps, others may have something to do.
      const isTop = drivable.some((one) => one.sessionId === world.sessionId && !sleepsOn(one, world.clock.now()));
      // Whoever resumes a session posts nothing that was sent for later.
      const isLater = drivable.some(({ state, due }) => state === null && due !== null && due <= world.clock.now());
      if (isTop && !isLater) clients.resume(last);
      else clients.work(last);
    } else if (!advanceOnce(world, 0)) throw new InvariantBroken(everythingEnds, formatStuck(open));
  }
  throw new InvariantBroken(
    everythingEnds,
    `after ${maxTurnsToEnd} turns without trouble ${await describeUnfinished(world)}`,
  );
}

function isFarAhead({ due }: SessionNeed, now: number): boolean {
  return due !== null && due > now + yearMs / 2;
}

function sleepsOn({ state, posted, due }: SessionNeed, now: number): boolean {
  return state !== null && isAsleep(state) && !posted && (due === null || due > now);
}

/** How long all that is left sleeps. What is due only when somebody sets the clock right does not count. */
function msUntilDue(sessions: readonly SessionNeed[], now: number): number {
  const drivable = sessions.filter(({ need }) => need === "a driver");
  const waits = drivable.map(({ state, posted, due }) => {
    if (posted || (state !== null && !isAsleep(state))) return 0;
    return due === null ? Number.POSITIVE_INFINITY : due - now;
  });
  const soonest = Math.min(...waits.filter((ms) => ms < yearMs / 2));
  return soonest > 0 && soonest < yearMs / 2 ? soonest : 0;
}

function isAnswer({ what }: Question): boolean {
  return what === "answer" || what === "answer below";
}

function requestsDriver({ what }: Question): boolean {
  return what === "resume" || what === "work";
}

function formatStuck(open: readonly Question[]): string {
  const asked = open.map((one) => `${one.what} on ${one.process.name}`).join(", ");
  return `nothing goes on any more: ${asked} has no answer`;
}

async function describeUnfinished(world: World): Promise<string> {
  const left = (await listSessionNeeds(world)).filter(({ need }) => need !== "nothing");
  return left.map(({ sessionId, state, need }) => `${sessionId} is '${state?.status}' and needs ${need}`).join(", ");
}

/**
 * Whoever waits for a run is told that it waits for a person, however far below the question is asked. Each session above it
 * waits for that person, too, and lists the question.
 */
function expectEveryoneNotified(
  sessions: readonly SessionNeed[],
  open: readonly Question[],
  asked: Question | undefined,
): void {
  const asking = sessions.filter(({ state }) => state !== null && hasCalls(state) && state.calls.some(asksOutside));
  const [first] = asking;
  const left = sessions.find(({ need }) => need === "an answer");
  if (first === undefined)
    throw new InvariantBroken(everythingEnds, `${left?.sessionId} waits, and nothing below it goes on or asks`);
  const unnotified = open.find(({ what }) => what !== "shutdown");
  if (unnotified !== undefined)
    throw new InvariantBroken(
      everythingEnds,
      `${first.sessionId} waits for a person, and '${unnotified.what}' on ${unnotified.process.name} is not told`,
    );
  for (const { sessionId, state } of asking)
    for (let above = findParent(state, sessions); above !== undefined; above = findParent(above.state, sessions))
      if (above.state?.status !== "awaiting_human")
        throw new InvariantBroken(
          everythingEnds,
          `${sessionId} waits for a person, and ${above.sessionId} above it is '${above.state?.status}'`,
        );
  if (asked?.answer?.type === "done" && asked.answer.said === "nothing waits")
    throw new InvariantBroken(everythingEnds, `${first.sessionId} waits for a person, and its question is not listed`);
}

function findParent(state: State | null, sessions: readonly SessionNeed[]): SessionNeed | undefined {
  const parent = state?.session?.parent;
  return parent === undefined ? undefined : sessions.find(({ sessionId }) => sessionId === parent.sessionId);
}

const yearMs = 31_536_000_000;

/** Whatever was left of a run, somebody can find it: once every lease has run out, a session that wants a driver is due. */
export async function expectDueOrHeld(world: World): Promise<void> {
  const due = await world.include(world.store.due(world.clock.now() + 10 * yearMs, 1_000));
  for (const { sessionId, state, need, posted } of await listSessionNeeds(world)) {
    const isHeldBack = state !== null && isResting(state) && effects(state).length === 0 && !posted;
    if (need === "a driver" && !isHeldBack && !due.includes(sessionId))
      throw new InvariantBroken(everythingEnds, `session ${sessionId} is active, and never due`);
  }
}

/** What a session needs of those outside. */
type Need = "nothing" | "an answer" | "a driver";

type SessionNeed = {
  readonly sessionId: string;
  readonly state: State | null;
  readonly posted: boolean;
  readonly need: Need;
  /** When a driver has something to do, in epoch milliseconds; null if it has already, or never. */
  readonly due: number | null;
};

async function hasSchedule({ store, include }: World): Promise<boolean> {
  if (store.schedules === undefined) return false;
  return (await include(store.schedules.list({ limit: 100 }))).some(({ dueAt: due }) => due !== null);
}

/** Messages that were sent for later need somebody who posts them. */
async function listDelayed({ store, include }: World): Promise<readonly SessionNeed[]> {
  const rows = await include(store.schedules?.list({ isDelayed: true, limit: 1_000 }) ?? Promise.resolve([]));
  return rows.map(({ id, dueAt: due }) => ({ sessionId: id, state: null, posted: false, need: "a driver", due }));
}

/** The session that all is about, and those of the agents below it. */
async function listSessionNeeds({ store, include, clock, sessionId: first }: World): Promise<readonly SessionNeed[]> {
  const all = await include(store.list());
  return include(
    Promise.all(
      all.map(async ({ sessionId }): Promise<SessionNeed> => {
        const state = (await store.load(sessionId))?.state ?? null;
        const posted = (await store.inbox(sessionId)).length > 0;
        const due = state === null || posted ? null : dueAt(state);
        // Runs that an abort holds back begin when somebody asks for them, which people do in the first session alone.
        const isLeft = sessionId !== first && state !== null && isResting(state) && effects(state).length === 0;
        const need = posted ? "a driver" : isLeft ? "nothing" : findNeed(state, clock.now());
        return { sessionId, state, posted, need, due };
      }),
    ),
  );
}

function findOverallNeed(sessions: readonly SessionNeed[]): Need {
  const needs = new Set(sessions.map(({ need }) => need));
  return needs.has("a driver") ? "a driver" : needs.has("an answer") ? "an answer" : "nothing";
}

function findNeed(state: State | null, now: number): Need {
  if (state === null) return "nothing";
  if (effects(state).some(({ type }) => type !== "sleep")) return "a driver";
  if (state.status === "idle" || isResting(state))
    return state.queue.some((one) => one.kind === "run") ? "a driver" : "nothing";
  if (isAsleep(state) || isParkedBeside(state)) return "a driver";
  return awaitsPeople(state, now) ? "an answer" : "a driver";
}

/** Calls sleep or wait for signals, and no person is asked. */
function isParkedBeside(state: State): boolean {
  return hasCalls(state) && state.stopping === null && !state.calls.some(asksOutside) && state.calls.some(isParked);
}

function awaitsPeople(state: State, now: number): boolean {
  return (
    hasCalls(state) &&
    state.stopping === null &&
    state.calls.every(
      (call) =>
        (call.status === "asking" && isOpen(call, now)) ||
        call.status === "waiting" ||
        call.status === "done" ||
        call.status === "ready",
    )
  );
}

/** A question whose time is over is answered by that: whoever drives the session says so. */
function isOpen({ expiresAt, open = [] }: Extract<Call, { status: "asking" }>, now: number): boolean {
  return [{ expiresAt }, ...open].every((one) => one.expiresAt === undefined || one.expiresAt > now);
}
