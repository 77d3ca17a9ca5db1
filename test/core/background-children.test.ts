import { expect, test } from "vitest";
import { type EventBody, initialState, type State, transition } from "../../src/core/index.js";

const limits = {
  maxSteps: 9,
  maxErrors: 9,
  onMaxSteps: "stop",
  toolConcurrency: 8,
  abortGraceMs: 0,
  maxContinuations: 0,
  maxStopPreventions: 0,
  maxCompactions: 0,
  maxChildren: 3,
} as const;
const usage = { inputTokens: 7, outputTokens: 1 };

function fold(events: readonly EventBody[], from: State = initialState): State {
  return events.reduce<State>((state, body) => transition(state, { ...body, at: 1 }), from);
}

const running: readonly EventBody[] = [
  { type: "session_created", v: 2, agent: "a", model: "m" },
  { type: "run_started", runId: "r", limits, input: [] },
  { type: "prepared", runId: "r", modelCallIndex: 1, contextSeq: 2, purpose: "step" },
  {
    type: "model_finished",
    runId: "r",
    modelCallIndex: 1,
    attempt: 1,
    model: "m",
    message: { role: "assistant", parts: [{ type: "tool_call", toolCallId: "c", name: "scout", input: {} }] },
    finishReason: { unified: "tool-calls" },
    usage: {},
    timing: { startedAt: 1, durationMs: 0 },
  },
  { type: "tool_decided", runId: "r", callKey: "r/1/1", decision: { verdict: "allow", policy: { recover: "rerun" } } },
];
const started: EventBody = {
  type: "tool_finished",
  runId: "r",
  callKey: "r/1/1",
  outcome: "ok",
  startedChild: { childId: "c1", reservedTokens: 5 },
};
const finishedChild = { callKey: "r/1/1", childId: "c1", usage };

test("a started child is in the state, in the format that knows it, until its end is reported", () => {
  const state = fold([...running, started]);
  expect(state).toMatchObject({
    v: 3,
    status: "preparing",
    background: [{ callKey: "r/1/1", name: "scout", childId: "c1", reservedTokens: 5 }],
    counters: { children: 1 },
  });
  const after = fold([{ type: "steered", input: [], source: "user", finishedChild }], state);
  expect(after).toMatchObject({ usage });
  expect(after.background).toBeUndefined();
});

test("the report may come before the entry of the start", () => {
  const early = fold([...running, { type: "steered", input: [], source: "user", finishedChild }]);
  expect(early.background).toEqual([{ callKey: "r/1/1", name: "scout", childId: "c1", ended: true }]);
  const state = fold([started], early);
  expect(state.background).toBeUndefined();
  expect(state).toMatchObject({ usage, counters: { children: 1 } });
});

test("a child outlives the run, and its usage counts for the run that is told", () => {
  const rest = fold([
    ...running,
    started,
    { type: "abort_requested", runId: "r" },
    { type: "run_finished", runId: "r", reason: "aborted" },
  ]);
  expect(rest).toMatchObject({ status: "aborted", background: [{ childId: "c1" }] });
  const told = fold([{ type: "run_started", runId: "t", limits, input: [], finishedChild }], rest);
  expect(told).toMatchObject({ status: "preparing", usage });
  expect(told.background).toBeUndefined();
});

test("so it does for a run that was queued", () => {
  const queued = fold([
    ...running,
    started,
    { type: "run_queued", runId: "t", limits, input: [], finishedChild },
    { type: "abort_requested", runId: "r" },
    { type: "run_finished", runId: "r", reason: "aborted" },
  ]);
  expect(queued.background).toBeUndefined();
  const [{ seq: queuedSeq } = { seq: 0 }] = queued.queue;
  expect(fold([{ type: "run_started", runId: "t", limits, queuedSeq }], queued)).toMatchObject({ runId: "t", usage });
});

test("a run that the end of a child begins counts on, and a run that is requested counts anew", () => {
  const rest = fold([
    ...running,
    started,
    { type: "abort_requested", runId: "r" },
    { type: "run_finished", runId: "r", reason: "aborted" },
  ]);
  const next = { type: "run_started", runId: "t", limits, input: [] } as const;
  expect(fold([{ ...next, finishedChild }], rest)).toMatchObject({ counters: { totalSteps: 0, children: 1 } });
  expect(fold([next], rest)).not.toHaveProperty("counters.children");
});
