/**
 * The context of a tool. Members that most tools never use are created lazily.
 *
 * Every member is an own property: a tool that wraps another one can pass on `{ ...context, deps }` and loses nothing.
 */
import { pickPrincipal } from "../../core/machine/session-info.js";
import type { ToolData } from "../../ports/session-data.js";
import type { ToolContext } from "../../ports/tool.js";
import { resolveDeps } from "../agent/local-run-options.js";
import { createCallTraceparent } from "../lib/trace-ids.js";
import { publishProgress } from "../subscribers/broadcast.js";
import type { ResolvedList } from "../work/message-lists.js";
import { getParams } from "../work/run-params.js";
import { listSeenMessages } from "../work/seen-messages.js";
import type { StepCall } from "./step-host.js";
import { createToolData } from "./tool-data.js";
import { createToolSteps, type ToolSteps } from "./tool-steps.js";

/** The work that a tool has started while it runs. */
export type ToolWork = {
  steps: ToolSteps | null;
  data: ToolData | null;
  /** The list that the model was sent instead of the conversation; null if it was sent the conversation. */
  readonly sent: ResolvedList | null;
  /** Ends the wait for the tool. Null until the tool is awaited. */
  fail: ((error: unknown) => void) | null;
  /** For how many milliseconds questions were open while the tool ran, and since when one is open. */
  askedMs: number;
  asking: { readonly since: number; questions: number } | null;
};

/** The tool's time limit is paused while a question is open. */
function pauseTimeLimit(work: ToolWork, now: () => number): () => void {
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

type ContextCall = Omit<StepCall, "fail" | "pauseTimeLimit">;

export function createToolContext(call: ContextCall, work: ToolWork): ToolContext {
  const { effect, record, context, idempotencyKey, signal } = call;
  const { sessionId, agent, subscribers, transcript, state } = context;
  const { callKey, runId, attempt } = effect;
  // The getters come last, and nothing is spread after them: V8 adds all members after a getter one by one, as to a dictionary.
  const made: ToolContext = {
    toolCallId: record.part.toolCallId,
    callKey,
    idempotencyKey,
    attempt,
    sessionId,
    runId,
    deps: resolveDeps(agent, sessionId, runId),
    params: getParams(context),
    services: agent.services,
    progress: (note) => publishProgress(subscribers, callKey, note),
    step: ((...step) => getToolSteps(call, work).step(...step)) as ToolSteps["step"] as ToolContext["step"],
    ask: ((question) => getToolSteps(call, work).ask(question)) as ToolSteps["ask"] as ToolContext["ask"],
    sleep: (name, options) => getToolSteps(call, work).sleep(name, options),
    waitFor: ((name, options) => getToolSteps(call, work).waitFor(name, options)) as ToolContext["waitFor"],
    get signal() {
      return signal();
    },
    get traceparent() {
      return createCallTraceparent({ sessionId, runId, callKey }, transcript.run?.traceparent);
    },
    get messages() {
      return listSeenMessages(transcript, work.sent);
    },
    get data() {
      work.data ??= createToolData(effect, context);
      return work.data;
    },
  };
  return Object.assign(made, pickPrincipal(state));
}

function getToolSteps(call: ContextCall, work: ToolWork): ToolSteps {
  work.steps ??= createToolSteps({
    ...call,
    fail: (error) => work.fail?.(error),
    pauseTimeLimit: () => pauseTimeLimit(work, call.context.now),
  });
  return work.steps;
}
