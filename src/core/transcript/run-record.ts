/**
 * Facts about the run under way, from the log, that are neither messages nor calls.
 */

import { type AssistantMessage, type Json, onlyCallsCode, type Usage, type UserMessage } from "../data/message.js";
import type { EventOf, HookRecord, RunOptions } from "../machine/event.js";
import type { RunPrompt } from "../machine/model-events.js";
import type { RunLimits } from "../machine/run-limits.js";
import type { Purpose } from "../machine/state.js";
import type { LastCall } from "./call-records.js";

/** Facts about the run under way, or the last run. */
export type RunRecord = {
  readonly runId: string;
  readonly startedAt: number;
  /** The entry that started the run. */
  readonly startSeq: number;
  /** The request. */
  input: readonly UserMessage[];
  /** What the run overrides, as far as it still holds. */
  options: RunOptions;
  readonly limits: RunLimits;
  /** The person or account that sent the request. */
  readonly by?: string;
  /** The span that the request was made in, as W3C's `traceparent`. */
  readonly traceparent?: string;
  /** The run's params after validation, if the agent's schema changed those in the options. */
  params: { readonly [name: string]: Json } | null;
  /** The system prompt that the agent's function returned for this run; null if none is known. */
  prompt: RunPrompt | null;
  /** What hooks chose for the present step instead of the run's options. */
  choices: HookChoices;
  /** The last step after which the `afterStep` hooks were called. */
  leftSteps: number;
  /** A compaction for which the `onCompacted` hooks have not been called yet. */
  compacted: EventOf<"compacted"> | null;
  purpose: Purpose;
  /** How the present model call asks for a last summary, if it does. */
  summary: {
    /** Whether it has the tools of the steps before. */
    readonly keepsTools: boolean;
    /** Whether an attempt has called tools and said nothing, so that the next one must not call any. */
    readonly forbidsCalls: boolean;
  };
  /** The entry that prepared the present model call. */
  preparedSeq: number;
  /** The first of the steps in a row that only continue a turn that the provider paused. */
  pausedSince: number | null;
  /** The last prompt to continue an answer or to call the done tool: its step and its entry. */
  lastPrompt: { readonly modelCallIndex: number; readonly seq: number } | null;
  /** The entry with the first part of the present answer: a model's message, or the start of the run. */
  answerSeq: number;
  /** The text of the present answer, untrimmed: of the present step, and of the answers that it continues. */
  answer: string;
  /** The model's last message; null if there is none, or if it was refused. */
  last: LastMessage | null;
  /** The answer that was refused at the end. */
  refused: AnswerAttempt | null;
  /** The text of the present attempt, if it was cut off; it becomes the last message when the run ends. */
  cutOff: CutOff | null;
  /** The failed attempts of the last model call that had one. A compaction forgets them. */
  failedAttempts: {
    readonly modelCallIndex: number;
    /** The attempts that failed. */
    readonly attempts: readonly FailedAttempt[];
  } | null;
  /** The answer as far as it came, if it was cut off at the end of the run. */
  partial?: string;
  /** The message of the done tool in the present step. */
  doneMessage: string | undefined;
  /** The usage of the present step so far, with its failed attempts. */
  stepUsage: { readonly modelCallIndex: number; readonly usage: Usage };
  /** Model calls that were committed. */
  steps: number;
  /** The last call that the model asked for, and how often in a row it did so. */
  lastCall: LastCall | null;
  /** The step in which the model was warned that it repeats itself. */
  repeatWarningStep: number | null;
  /** The answer as data, if the run asked for a shape. */
  output?: Json;
  /** The stop condition that ended the run. */
  condition?: string;
};

/** Who sent a request, and from where. */
export type SentFrom = Pick<EventOf<"run_queued">, "by" | "traceparent">;

/** The record of a run that begins. */
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

/** A summary without tools, as 0.1 asked for it. */
export const plainSummary: RunRecord["summary"] = { keepsTools: false, forbidsCalls: false };
const summaryWithTools: RunRecord["summary"] = { keepsTools: true, forbidsCalls: false };

/** Notes which model call comes next. */
export function recordPrepared(run: RunRecord, seq: number, event: EventOf<"prepared">): void {
  run.purpose = event.purpose;
  run.summary = event.summaryKeepsTools === true ? summaryWithTools : plainSummary;
  run.preparedSeq = seq;
  run.cutOff = null;
  run.choices = pickChoices(event);
}

/** The attempt that gave an answer, and the one whose answer it continued, because that was cut or paused. */
export type AnswerAttempt = {
  readonly modelCallIndex: number;
  readonly attempt: number;
  /** The attempt whose message this one continues. */
  readonly continues?: AnswerAttempt;
};

/** A message of a model. `cut`: a stop cut it off. */
export type LastMessage = AnswerAttempt & {
  /** The message. */
  readonly message: AssistantMessage;
  /** The message was cut off. */
  readonly cut?: true;
};

/** A failed attempt of a model call. */
export type FailedAttempt = {
  readonly attempt: number;
  /** What happened. */
  readonly message: string;
  readonly durationMs: number;
  readonly retryInMs?: number;
};

/** The text of an attempt that was cut off, and the entry that holds it. */
export type CutOff = {
  readonly seq: number;
  readonly modelCallIndex: number;
  readonly attempt: number;
  /** The text as far as it came. */
  readonly text: string;
};

/**
 * Whether the present model call goes on with the answer before it: that was cut at the output limit, or its provider
 * paused, and did not wait for results from here.
 */
export function continuesAnswer({ run, calls }: AnswerState): boolean {
  return run?.purpose === "continue" || (run?.purpose === "unpause" && calls.size === 0);
}

type AnswerState = { readonly run: RunRecord | null; readonly calls: ReadonlyMap<string, unknown> };

/** The text of the answer that the present model call goes on with. */
export function continuedText(transcript: AnswerState): string {
  return continuesAnswer(transcript) ? (transcript.run?.answer ?? "") : "";
}

export type HookChoices = Pick<EventOf<"prepared">, "activeTools" | "toolChoice" | "providerOptions">;

export function recordHooks(run: RunRecord, hooks: readonly HookRecord[]): void {
  if (hooks.some(({ hook }) => hook === "afterStep")) run.leftSteps = run.steps;
  if (hooks.some(({ hook }) => hook === "onCompacted")) run.compacted = null;
}

/** A process that reads the log from a compaction on does not know of the attempts before. */
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

/** Failed attempts that are kept of one model call, the last ones. */
const maxFailedAttempts = 20;

export function recordFailedAttempt(run: RunRecord, event: EventOf<"model_failed">): void {
  const { modelCallIndex, attempt, failure, next, timing } = event;
  if (failure.code === onlyCallsCode) run.summary = { ...run.summary, forbidsCalls: true };
  const earlierAttempts = run.failedAttempts?.modelCallIndex === modelCallIndex ? run.failedAttempts.attempts : [];
  const retry = next.type === "retry" ? { retryInMs: next.inMs } : {};
  const failed = { attempt, message: failure.message, durationMs: timing.durationMs, ...retry };
  run.failedAttempts = { modelCallIndex, attempts: [...earlierAttempts, failed].slice(-maxFailedAttempts) };
}

/** What hooks chose for a call. Most calls share one object. */
function pickChoices({ activeTools, toolChoice, providerOptions }: EventOf<"prepared">): HookChoices {
  if (activeTools === undefined && toolChoice === undefined && providerOptions === undefined) return noChoices;
  return {
    ...(activeTools === undefined ? {} : { activeTools }),
    ...(toolChoice === undefined ? {} : { toolChoice }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
  };
}

const noChoices: HookChoices = {};
