/**
 * Facts from the log about the current run, apart from its messages and calls.
 */

import { type AssistantMessage, type Json, onlyCallsCode, type Usage, type UserMessage } from "../data/message.js";
import type { EventOf, HookRecord, RunOptions } from "../machine/event.js";
import type { RunPrompt } from "../machine/model-events.js";
import type { RunLimits } from "../machine/run-limits.js";
import type { Purpose } from "../machine/state.js";
import type { LastCall } from "./call-records.js";

/** Facts about the current run, or the last run. */
export type RunRecord = {
  readonly runId: string;
  readonly startedAt: number;
  /** The entry that started the run. */
  readonly startSeq: number;
  /** The request. */
  input: readonly UserMessage[];
  /** The run's overrides, as far as they still apply. */
  options: RunOptions;
  readonly limits: RunLimits;
  /** The person or account that sent the request. */
  readonly by?: string;
  /** The span in which the request was made, as a W3C `traceparent`. */
  readonly traceparent?: string;
  /** The idempotency keys of its calls begin with the session's id. */
  readonly sessionInKeys?: true;
  /** The validated params of the run, if the agent's schema changed those in the options. */
  params: { readonly [name: string]: Json } | null;
  /** The system prompt that the agent's function returned for this run; null if unknown. */
  prompt: RunPrompt | null;
  /** The hooks' choices for the current step, in place of the run's options. */
  choices: HookChoices;
  /** The last step after which the `afterStep` hooks were called. */
  leftSteps: number;
  /** A compaction whose `onCompacted` hooks have not been called yet. */
  compacted: EventOf<"compacted"> | null;
  purpose: Purpose;
  /** How the current model call requests a final summary, if it does. */
  summary: {
    /** Whether the request has the tools of the previous steps. */
    readonly keepsTools: boolean;
    /** Whether an attempt contained only tool calls, so that the next attempt must not contain any. */
    readonly forbidsCalls: boolean;
  };
  /** The entry that prepared the current model call. */
  preparedSeq: number;
  /** The first of the consecutive steps that only continue a turn that the provider paused. */
  pausedSince: number | null;
  /** The last prompt to continue an answer or to call the done tool, with its step and entry. */
  lastPrompt: { readonly modelCallIndex: number; readonly seq: number } | null;
  /** The entry with the first part of the current answer: a model's message, or the start of the run. */
  answerSeq: number;
  /** The untrimmed text of the current answer, including the answers that it continues. */
  answer: string;
  /** The model's last message; null if there is none, or if it was refused. */
  last: LastMessage | null;
  /** The answer that was refused at the end. */
  refused: AnswerAttempt | null;
  /** The text of the current attempt, if it was cut off. It becomes the last message when the run ends. */
  cutOff: CutOff | null;
  /** The failed attempts of the last model call that had any. A compaction forgets them. */
  failedAttempts: {
    readonly modelCallIndex: number;
    /** The attempts that failed. */
    readonly attempts: readonly FailedAttempt[];
  } | null;
  /** The part of the answer that arrived, if it was cut off at the end of the run. */
  partial?: string;
  /** The message of the done tool in the current step. */
  doneMessage: string | undefined;
  /** The usage of the current step so far, including its failed attempts. */
  stepUsage: { readonly modelCallIndex: number; readonly usage: Usage };
  /** Model calls that were committed. */
  steps: number;
  /** The last call that the model requested, and how many times in a row. */
  lastCall: LastCall | null;
  /** The step in which the model was warned about repeating a call. */
  repeatWarningStep: number | null;
  /** The answer as data, if the run requested a schema. */
  output?: Json;
  /** The stop condition that ended the run. */
  condition?: string;
};

/** Who sent a request, from where, and under what kind of id. */
export type SentFrom = Pick<EventOf<"run_queued">, "by" | "traceparent" | "sessionInKeys">;

/** Creates the record of a run that starts. */
export function createRunRecord(
  { runId, at, limits }: EventOf<"run_started">,
  {
    seq,
    input,
    options,
    sent,
  }: Pick<RunRecord, "input" | "options"> & { readonly seq: number; readonly sent: SentFrom },
): RunRecord {
  return {
    runId,
    startedAt: at,
    startSeq: seq,
    answerSeq: seq,
    input,
    options,
    limits,
    ...(sent.by === undefined ? {} : { by: sent.by }),
    ...(sent.traceparent === undefined ? {} : { traceparent: sent.traceparent }),
    ...(sent.sessionInKeys === undefined ? {} : { sessionInKeys: sent.sessionInKeys }),
    choices: noChoices,
    leftSteps: 0,
    compacted: null,
    purpose: "step",
    summary: plainSummary,
    preparedSeq: seq,
    params: null,
    prompt: null,
    pausedSince: null,
    lastPrompt: null,
    answer: "",
    last: null,
    refused: null,
    cutOff: null,
    failedAttempts: null,
    doneMessage: undefined,
    stepUsage: { modelCallIndex: 1, usage: {} },
    steps: 0,
    lastCall: null,
    repeatWarningStep: null,
  };
}

/** A summary without tools, as version 0.1 requested it. */
export const plainSummary: RunRecord["summary"] = { keepsTools: false, forbidsCalls: false };
const summaryWithTools: RunRecord["summary"] = { keepsTools: true, forbidsCalls: false };

/** Records the next model call. */
export function recordPrepared(run: RunRecord, seq: number, event: EventOf<"prepared">): void {
  run.purpose = event.purpose;
  run.summary = event.summaryKeepsTools === true ? summaryWithTools : plainSummary;
  run.preparedSeq = seq;
  run.cutOff = null;
  run.choices = pickChoices(event);
}

/** The attempt that produced an answer, and the attempt whose cut or paused answer it continues. */
export type AnswerAttempt = {
  readonly modelCallIndex: number;
  readonly attempt: number;
  /** The attempt whose message this one continues. */
  readonly continues?: AnswerAttempt;
};

/** A model's message. `cut`: a stop cut it off. */
export type LastMessage = AnswerAttempt & {
  /** The message. */
  readonly message: AssistantMessage;
  /** Set if the message was cut off. */
  readonly cut?: true;
};

/** A failed attempt of a model call. */
export type FailedAttempt = {
  readonly attempt: number;
  /** The error message. */
  readonly message: string;
  readonly durationMs: number;
  readonly retryInMs?: number;
};

/** The text of an attempt that was cut off, and the entry that holds it. */
export type CutOff = {
  readonly seq: number;
  readonly modelCallIndex: number;
  readonly attempt: number;
  /** The text that arrived. */
  readonly text: string;
};

/**
 * Whether the current model call continues the previous answer: that answer was cut at the output limit, or its provider paused without
 * waiting for results from this process.
 */
export function continuesAnswer({ run, calls }: AnswerState): boolean {
  return run?.purpose === "continue" || (run?.purpose === "unpause" && calls.size === 0);
}

type AnswerState = { readonly run: RunRecord | null; readonly calls: ReadonlyMap<string, unknown> };

/** The text of the answer that the current model call continues. */
export function continuedText(transcript: AnswerState): string {
  return continuesAnswer(transcript) ? (transcript.run?.answer ?? "") : "";
}

export type HookChoices = Pick<EventOf<"prepared">, "activeTools" | "toolChoice" | "providerOptions">;

export function recordHooks(run: RunRecord, hooks: readonly HookRecord[]): void {
  if (hooks.some(({ hook }) => hook === "afterStep")) run.leftSteps = run.steps;
  if (hooks.some(({ hook }) => hook === "onCompacted")) run.compacted = null;
}

/** Forgets the attempts, because a process that reads the log from a compaction on does not know the earlier ones. */
export function forgetAttempts(run: RunRecord): void {
  run.cutOff = null;
  run.pausedSince = null;
  run.failedAttempts = null;
  run.stepUsage = { modelCallIndex: 0, usage: {} };
}

export function recordRepeatWarning(run: RunRecord, { decision }: EventOf<"tool_decided">): void {
  if (decision.verdict === "block" && decision.repeated === true)
    run.repeatWarningStep ??= run.stepUsage.modelCallIndex;
}

/** The maximum number of failed attempts kept per model call. The last ones are kept. */
const maxFailedAttempts = 20;

export function recordFailedAttempt(run: RunRecord, event: EventOf<"model_failed">): void {
  const { modelCallIndex, attempt, failure, next, timing } = event;
  if (failure.code === onlyCallsCode) run.summary = { ...run.summary, forbidsCalls: true };
  const earlierAttempts = run.failedAttempts?.modelCallIndex === modelCallIndex ? run.failedAttempts.attempts : [];
  const retry = next.type === "retry" ? { retryInMs: next.inMs } : {};
  const failed = { attempt, message: failure.message, durationMs: timing.durationMs, ...retry };
  run.failedAttempts = { modelCallIndex, attempts: [...earlierAttempts, failed].slice(-maxFailedAttempts) };
}

/** The hooks' choices for a call. Most calls share one object. */
function pickChoices({ activeTools, toolChoice, providerOptions }: EventOf<"prepared">): HookChoices {
  if (activeTools === undefined && toolChoice === undefined && providerOptions === undefined) return noChoices;
  return {
    ...(activeTools === undefined ? {} : { activeTools }),
    ...(toolChoice === undefined ? {} : { toolChoice }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
  };
}

const noChoices: HookChoices = {};
