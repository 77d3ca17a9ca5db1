/**
 * The context of a tool. What most tools never read is made when it is first read.
 *
 * The getters stand on a prototype, because each getter of an object of its own costs 0.4 µs a call. They find their
 * call through `this`, so they also work in an object that has a tool context as its prototype.
 */
import type { Message } from "../../core/data/message.js";
import type { ToolData } from "../../ports/session-data.js";
import type { ToolContext } from "../../ports/tool.js";
import { depsOf } from "../agent/local-run-options.js";
import { publishProgress } from "../subscribers/broadcast.js";
import type { FoundList } from "../work/message-lists.js";
import { seenMessages } from "../work/seen-messages.js";
import type { SteppingCall } from "./step-host.js";
import { createToolData } from "./tool-data.js";
import { createToolSteps, type ToolSteps } from "./tool-steps.js";

/** What a tool has begun while it runs. */
export type ToolWork = {
  steps: ToolSteps | null;
  data: ToolData | null;
  /** What the model was sent instead of the conversation; null if it was sent the conversation. */
  readonly sent: FoundList | null;
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

type ContextedCall = Omit<SteppingCall, "fail" | "whileAsking">;

export function toolContextOf(call: ContextedCall, work: ToolWork): ToolContext {
  return new ContextOfCall(call, work) as ToolContext;
}

const source = Symbol("call");

class ContextOfCall {
  readonly [source]: { readonly call: ContextedCall; readonly work: ToolWork };
  readonly toolCallId: string;
  readonly idempotencyKey: string;
  readonly attempt: number;
  readonly sessionId: string;
  readonly runId: string;
  readonly deps: unknown;
  readonly services: ToolContext["services"];
  readonly progress: ToolContext["progress"];

  constructor(call: ContextedCall, work: ToolWork) {
    const { effect, record, context } = call;
    const { sessionId, parts, hearers } = context;
    this[source] = { call, work };
    this.toolCallId = record.part.toolCallId;
    this.idempotencyKey = effect.callKey;
    this.attempt = effect.attempt;
    this.sessionId = sessionId;
    this.runId = effect.runId;
    this.deps = depsOf(parts, effect.runId);
    this.services = parts.services;
    this.progress = (note) => publishProgress(hearers, effect.callKey, note);
  }

  get signal(): AbortSignal {
    return this[source].call.signal();
  }

  get messages(): readonly Message[] {
    const { call, work } = this[source];
    return seenMessages(call.context.transcript, work.sent);
  }

  get data(): ToolData {
    const { call, work } = this[source];
    work.data ??= createToolData(call.effect, call.context);
    return work.data;
  }

  get step(): ToolContext["step"] {
    return stepsOf(this[source]).step as ToolContext["step"];
  }

  get ask(): ToolContext["ask"] {
    return stepsOf(this[source]).ask as ToolContext["ask"];
  }
}

function stepsOf({ call, work }: ContextOfCall[typeof source]): ToolSteps {
  work.steps ??= createToolSteps({
    ...call,
    fail: (error) => work.fail?.(error),
    whileAsking: () => whileAsking(work, call.context.now),
  });
  return work.steps;
}
