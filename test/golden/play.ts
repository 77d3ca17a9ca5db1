/**
 * Records the sessions, and carries on those that were cut off.
 */
import { isResting, type State } from "../../src/core/index.js";
import type { Session, Store } from "../../src/index.js";
import { createBench } from "./bench.js";
import { createRecordingStore, lastState, type RecordedSession, type Recording } from "./recording.js";
import type { RecordedScenario } from "./sessions.js";

/** 2026-01-01, in epoch milliseconds. */
const startAt = 1_767_225_600_000;

export async function record(scenario: RecordedScenario): Promise<Recording> {
  const { store, sessions } = createRecordingStore();
  const bench = createBench(store, startAt);
  const begin = () => {
    const process = bench.start(scenario.parts(bench));
    const session = process.agent.session("s");
    const ask = async (text: string, runId: string) => {
      // As if Pawl had made it: a session whose runs have chosen ids is of format 3.
      bench.setNextId(runId);
      process.agent.run(text, { sessionId: "s" }).catch(() => {});
      await bench.settle();
    };
    return { agent: process.agent, session, ask, kill: process.kill };
  };
  let present = begin();
  await scenario.play({
    bench,
    ...present,
    restart() {
      present.kill();
      present = begin();
      return present;
    },
  });
  await bench.settle();
  return { about: scenario.about, sessions: await sessions() };
}

/** Carries the sessions of a store on until all of them rest; gives their last states. */
export async function carryOn(
  store: Store,
  scenario: RecordedScenario,
  recorded: readonly RecordedSession[],
): Promise<ReadonlyMap<string, State>> {
  const last = Math.max(...recorded.map(({ rows }) => rows.at(-1)?.at ?? 0));
  const bench = createBench(store, last + 3_600_000);
  const { agent } = bench.start(scenario.parts(bench));
  const tops = recorded.filter((one) => lastState(one).session?.parent === undefined);
  for (const { sessionId } of tops) {
    const session = agent.session(sessionId);
    const toItsEnd = async (goOn: () => Promise<unknown>) => {
      for (let turn = 0; turn < mostTurns && (turn === 0 || (await isOpen(store, sessionId))); turn += 1) {
        // What it comes to is read from the store.
        goOn().catch(() => {});
        await bench.settle();
        await answerAll(session);
        await bench.settle();
        // Nothing has a timer for a sleep: time goes on by itself.
        await bench.clock.advance(30_000);
      }
    };
    if (await isOpen(store, sessionId)) await toItsEnd(session.resume);
    await toItsEnd(() => agent.run("And now?", { sessionId, runId: "now" }));
  }
  const states = recorded.map(async ({ sessionId }) => [sessionId, (await store.load(sessionId))?.state] as const);
  return new Map((await Promise.all(states)).flatMap(([id, state]) => (state === undefined ? [] : [[id, state]])));
}

const mostTurns = 20;

async function isOpen(store: Store, sessionId: string): Promise<boolean> {
  const state = (await store.load(sessionId))?.state;
  const queued = state?.queue.some(({ kind }) => kind === "run") === true;
  return state !== undefined && (!isResting(state) || queued || (await store.inbox(sessionId)).length > 0);
}

async function answerAll(session: Session): Promise<void> {
  for (const { callKey, why, questionId } of await session.pendingApprovals()) {
    if (why === "external") await session.provideResult(callKey, "given later");
    else if (why === "tool" && questionId !== undefined)
      await session.answer(callKey, { type: "reply", value: "DE02" }, { questionId });
    else await session.answer(callKey, { type: why === "policy" || why === "provider" ? "approve" : "rerun" });
  }
}
