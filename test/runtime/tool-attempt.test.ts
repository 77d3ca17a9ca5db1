/**
 * The state machine of a tool that takes steps: each state with each event.
 */
import { describe, expect, test } from "vitest";
import {
  advanceAttempt,
  findFailure,
  initialAttempt,
  isDetached,
  mayBeginStep,
  type ToolAttempt,
  type ToolAttemptEvent,
} from "../../src/runtime/effects/tool-attempt.js";

const failure = { type: "error", message: "its code has changed" } as const;
const base = { steps: 0, isCancelled: false };

const states = {
  idle: initialAttempt,
  "in a step": { ...base, status: "running", steps: 1 },
  "in two steps": { ...base, status: "running", steps: 2 },
  cancelled: { ...base, status: "running", isCancelled: true },
  asking: { ...base, status: "asking" },
  "suspended by a question": { ...base, status: "suspended", why: "asked" },
  "suspended without a lease, in a step": { ...base, status: "suspended", why: "lease_lost", steps: 1 },
  "suspended by a shutdown": { ...base, status: "suspended", why: "drained" },
  "suspended by a shutdown, in a step": { ...base, status: "suspended", why: "drained", steps: 1 },
  "ended by its return": { ...base, status: "ended", why: "returned" },
  "ended by its return, in a step": { ...base, status: "ended", why: "returned", steps: 1 },
  "ended by its time limit": { ...base, status: "ended", why: "timeout" },
  "ended by a failure": { ...base, status: "ended", why: failure },
} as const satisfies { readonly [name: string]: ToolAttempt };

const events = {
  step_began: { type: "step_began" },
  step_ended: { type: "step_ended" },
  asking: { type: "asking" },
  asked: { type: "asked" },
  refused: { type: "refused" },
  timeout: { type: "timeout" },
  cancelled: { type: "cancelled" },
  lease_lost: { type: "lease_lost" },
  drained: { type: "drained" },
  tool_returned: { type: "tool_returned" },
  failed: { type: "failed", why: failure },
} as const satisfies { readonly [Type in ToolAttemptEvent["type"]]: ToolAttemptEvent };

type Expected = { readonly [event in keyof typeof events]: string };

/** `=`: the attempt stays as it is. */
const closed: Omit<Expected, "step_began" | "step_ended" | "cancelled"> = {
  ...{ asking: "=", asked: "=", refused: "=", timeout: "=", lease_lost: "=", drained: "=", tool_returned: "=" },
  failed: "=",
};

const table: { readonly [state in keyof typeof states]: Expected } = {
  idle: {
    step_began: "running 1",
    step_ended: "running -1 try_asking",
    asking: "asking 0 commit_questions",
    asked: "=",
    refused: "=",
    timeout: "ended by timeout 0 stop_order",
    cancelled: "running 0 cancelled",
    lease_lost: "suspended by lease_lost 0 stop_order",
    drained: "suspended by drained 0 stop_order detach",
    tool_returned: "ended by returned 0 stop_order",
    failed: "ended by error 0 stop_order stop_waiting",
  },
  "in a step": {
    step_began: "running 2",
    step_ended: "running 0 try_asking",
    asking: "=",
    asked: "=",
    refused: "=",
    timeout: "ended by timeout 1 stop_order",
    cancelled: "running 1 cancelled",
    lease_lost: "suspended by lease_lost 1 stop_order",
    drained: "suspended by drained 1 stop_order",
    tool_returned: "ended by returned 1 stop_order",
    failed: "ended by error 1 stop_order stop_waiting",
  },
  "in two steps": {
    step_began: "running 3",
    step_ended: "running 1",
    asking: "=",
    asked: "=",
    refused: "=",
    timeout: "ended by timeout 2 stop_order",
    cancelled: "running 2 cancelled",
    lease_lost: "suspended by lease_lost 2 stop_order",
    drained: "suspended by drained 2 stop_order",
    tool_returned: "ended by returned 2 stop_order",
    failed: "ended by error 2 stop_order stop_waiting",
  },
  cancelled: {
    step_began: "running 1 cancelled",
    step_ended: "running -1 cancelled try_asking",
    asking: "asking 0 cancelled commit_questions",
    asked: "=",
    refused: "=",
    timeout: "ended by timeout 0 cancelled stop_order",
    cancelled: "=",
    lease_lost: "suspended by lease_lost 0 cancelled stop_order",
    drained: "suspended by drained 0 cancelled stop_order detach",
    tool_returned: "ended by returned 0 cancelled stop_order",
    failed: "ended by error 0 cancelled stop_order stop_waiting",
  },
  asking: {
    step_began: "asking 1",
    step_ended: "asking -1 try_asking",
    asking: "=",
    asked: "suspended by asked 0 stop_order",
    refused: "running 0",
    // The questions count, and not the end of the tool.
    timeout: "=",
    cancelled: "asking 0 cancelled",
    lease_lost: "suspended by lease_lost 0 stop_order",
    drained: "=",
    tool_returned: "=",
    failed: "ended by error 0 stop_order stop_waiting",
  },
  "suspended by a question": {
    ...closed,
    step_began: "suspended by asked 1",
    step_ended: "suspended by asked -1",
    cancelled: "suspended by asked 0 cancelled",
  },
  "suspended without a lease, in a step": {
    ...closed,
    step_began: "suspended by lease_lost 2",
    step_ended: "suspended by lease_lost 0",
    cancelled: "suspended by lease_lost 1 cancelled",
  },
  "suspended by a shutdown": {
    ...closed,
    step_began: "suspended by drained 1",
    step_ended: "suspended by drained -1 detach",
    cancelled: "suspended by drained 0 cancelled",
  },
  "suspended by a shutdown, in a step": {
    ...closed,
    step_began: "suspended by drained 2",
    step_ended: "suspended by drained 0 detach",
    cancelled: "suspended by drained 1 cancelled",
  },
  "ended by its return": {
    ...closed,
    step_began: "ended by returned 1",
    step_ended: "ended by returned -1 try_asking",
    cancelled: "ended by returned 0 cancelled",
  },
  "ended by its return, in a step": {
    ...closed,
    step_began: "ended by returned 2",
    // Questions that wait for this step are refused.
    step_ended: "ended by returned 0 try_asking",
    cancelled: "ended by returned 1 cancelled",
  },
  "ended by its time limit": {
    ...closed,
    step_began: "ended by timeout 1",
    step_ended: "ended by timeout -1 try_asking",
    cancelled: "ended by timeout 0 cancelled",
  },
  "ended by a failure": {
    ...closed,
    // It failed while its questions were being committed.
    asked: "suspended by asked 0 stop_order",
    step_began: "ended by error 1",
    step_ended: "ended by error -1 try_asking",
    cancelled: "ended by error 0 cancelled",
  },
};

function describeAttempt(attempt: ToolAttempt): string {
  const why = "why" in attempt ? ` by ${findFailure(attempt)?.type ?? String(attempt.why)}` : "";
  return `${attempt.status}${why} ${attempt.steps}${attempt.isCancelled ? " cancelled" : ""}`;
}

describe.each(Object.entries(table))("an attempt that is %s", (name, expected) => {
  test.each(Object.entries(expected))("after %s: %s", (type, after) => {
    const before: ToolAttempt = states[name as keyof typeof states];
    const { attempt, acts } = advanceAttempt(before, events[type as keyof typeof events]);
    const described = [describeAttempt(attempt), ...acts].join(" ");
    expect(described).toBe(after === "=" ? describeAttempt(before) : after);
  });
});

test("a step begins while the attempt is not over, and after an abort only to clean up within the grace", () => {
  for (const [name, attempt] of Object.entries<ToolAttempt>(states)) {
    const isOver = attempt.status === "ended";
    expect(mayBeginStep(attempt, false, true), name).toBe(!isOver && !attempt.isCancelled);
    expect(mayBeginStep(attempt, true, true), name).toBe(!isOver);
    expect(mayBeginStep(attempt, true, false), name).toBe(!isOver && !attempt.isCancelled);
  }
});

test("the tool gets nothing from an attempt that is suspended or has failed", () => {
  const without = Object.entries<ToolAttempt>(states).filter(([, attempt]) => isDetached(attempt));
  expect(without.map(([name]) => name)).toEqual([
    ...Object.keys(states).filter((name) => name.startsWith("suspended")),
    "ended by a failure",
  ]);
});
