/**
 * The context of a tool. What most tools never read is made when it is first read.
 */
import type { ToolContext } from "../../ports/tool.js";
import { depsOf } from "../agent/local-run-options.js";
import { publishProgress } from "../subscribers/broadcast.js";
import type { SteppingCall } from "./step-host.js";
import { createToolSteps, type ToolSteps } from "./tool-steps.js";

/** What a tool has begun while it runs. */
export type ToolWork = {
  steps: ToolSteps | null;
  /** Ends the wait for the tool. Null until there is a wait. */
  fail: ((error: unknown) => void) | null;
  /** The milliseconds that questions were open while the tool ran, and since when one is open. */
  askedMs: number;
  asking: { readonly since: number; questions: number } | null;
};

/** The time limit of the tool stands still while a question is open. */
function whileAsking(work: ToolWork, now: () => number): () => void {
  work.asking ??= { since: now(), questions: 0 };
  const { asking } = work;
  asking.questions += 1;
  return () => {
    asking.questions -= 1;
    if (asking.questions > 0) return;
    work.askedMs += Math.max(0, now() - asking.since);
    work.asking = null;
  };
}

export function toolContextOf(call: Omit<SteppingCall, "fail" | "whileAsking">, work: ToolWork): ToolContext {
  const { effect, record, context, signal } = call;
  const { sessionId, parts, hearers } = context;
  const stepsOf = (): ToolSteps => {
    work.steps ??= createToolSteps({
      ...call,
      fail: (error) => work.fail?.(error),
      whileAsking: () => whileAsking(work, context.now),
    });
    return work.steps;
  };
  return {
    get signal() {
      return signal();
    },
    toolCallId: record.part.toolCallId,
    idempotencyKey: effect.callKey,
    attempt: effect.attempt,
    sessionId,
    runId: effect.runId,
    deps: depsOf(parts, effect.runId),
    services: parts.services,
    progress: (note) => publishProgress(hearers, effect.callKey, note),
    get step() {
      return stepsOf().step as ToolContext["step"];
    },
    get ask() {
      return stepsOf().ask as ToolContext["ask"];
    },
  };
}
