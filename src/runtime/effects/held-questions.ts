/**
 * Questions that a tool asks while it keeps running: an MCP server of version 2025-11-25 asks within a request, which would be lost if the
 * tool were suspended.
 *
 * 1. The question is in the log before anyone sees it, and its answer is in the log before the tool gets it.
 * 2. The question ends with its process: the call recovers as its tool specifies, and asks again if it runs again.
 * 3. The tool's time limit is paused while a question is open.
 */
import { questionKey } from "../../core/data/call-key.js";
import type { EventBody } from "../../core/machine/event.js";
import type { State } from "../../core/machine/state.js";
import type { QuestionAnswer } from "../../core/transcript/tool-steps.js";
import { isInteractive, type ProcessMemory } from "../work/effect-context.js";
import type { PreparedQuestion } from "./check-question.js";
import { nobodyCanAnswer } from "./prompts.js";
import type { StepHost } from "./step-host.js";
import type { detached } from "./tool-attempt.js";

/** Creates the event of a question. */
export function createQuestionEvent(
  { call }: StepHost,
  step: string,
  { expiresInMs, ...shown }: PreparedQuestion,
): Extract<EventBody, { readonly type: "tool_asked" }> {
  const { runId, callKey, attempt } = call.effect;
  const expiry = expiresInMs === undefined ? {} : { expiresAt: call.context.now() + expiresInMs };
  return { type: "tool_asked", runId, callKey, attempt, step, ...shown, ...expiry };
}

/** A run may begin to stop before a question is committed. The question is then not asked. */
export function isStopping(state: State): boolean {
  return "stopping" in state && state.stopping !== null;
}

/**
 * Resolves to `detached` if another process has the call.
 * @throws the reason of the call's signal, if the call ends before the answer comes
 */
export async function askWhileRunning(
  host: StepHost,
  step: string,
  question: PreparedQuestion,
): Promise<QuestionAnswer | typeof detached> {
  const { effect, context, signal, pauseTimeLimit } = host.call;
  if (!isInteractive(context)) return { type: "declined", note: nobodyCanAnswer };
  if (context.recorder.isReplay === true) return host.failUnrecorded(step);
  host.mayBegin(step, false);
  const key = questionKey({ callKey: effect.callKey, questionId: step });
  const { memory } = context;
  const stop = signal();
  const resumeTimer = pauseTimeLimit();
  let rejectWait = () => {};
  try {
    const answered = new Promise<QuestionAnswer>((resolve, reject) => {
      memory.answerWaiters ??= new Map();
      memory.answerWaiters.set(key, resolve);
      rejectWait = () => reject(stop.reason ?? new DOMException("The call has ended.", "AbortError"));
      host.onOver(rejectWait);
      stop.addEventListener("abort", rejectWait, { once: true });
    });
    answered.catch(() => {});
    const asked = { ...createQuestionEvent(host, step, question), held: true };
    const outcome = await host.record((state) => (isStopping(state) || host.hasToolEnded() ? [] : [asked]));
    if (outcome === "closed") return host.report("lease_lost");
    if (outcome === "stale" || stop.aborted) rejectWait();
    return await answered;
  } finally {
    stop.removeEventListener("abort", rejectWait);
    removeWaiter(memory, key);
    resumeTimer();
  }
}

function removeWaiter(memory: ProcessMemory, key: string): void {
  memory.answerWaiters?.delete(key);
  if (memory.answerWaiters?.size === 0) memory.answerWaiters = null;
}
