/**
 * Checks the options of the methods of sessions, clients and agents.
 */
import {
  aBoolean,
  aFunction,
  anObject,
  anyValue,
  aSignal,
  aString,
  checkOptions,
  integerFrom,
  numberFrom,
  type OptionTable,
  oneOf,
} from "../../check-options.js";
import { PawlError } from "../../errors.js";
import type { AbortOptions, AnswerOptions } from "../agent/answer-types.js";
import type { ReplayOptions } from "../agent/replay-types.js";
import type { EventsOptions, OneSessionOptions } from "../agent/stream-types.js";

const code = "bad_input";

/** Selects a model call. */
export type ModelRequestOptions = {
  readonly runId: string;
  readonly modelCallIndex: number;
  /** Default: the last attempt. */
  readonly attempt?: number;
};

type ForkOptions = { readonly at?: number; readonly sessionId?: string };
type GraceOptions = { readonly graceMs?: number };
type ResultOptions = { readonly isError?: boolean };

const abortRules: OptionTable<AbortOptions> = { runId: aString, note: anyValue, by: anyValue };
const answerRules: OptionTable<AnswerOptions> = {
  by: anyValue,
  inputHash: aString,
  questionId: aString,
  requestId: aString,
};
const eventRules: OptionTable<EventsOptions> = {
  after: anyValue,
  follow: aBoolean,
  limit: integerFrom(1),
  live: { accepts: (value) => typeof value === "boolean" || value === "only", expected: 'true, false or "only"' },
  runId: aString,
  until: { accepts: (value) => value === "run", expected: '"run"' },
  children: aBoolean,
  joinDeltas: aBoolean,
  itemsOf: aFunction,
  seen: {
    accepts: (value) =>
      anObject.accepts(value) && Object.hasOwn(Object(value), "info") && integerFrom(0).accepts(Object(value).seq),
    expected: "a summary of the session: { seq, info }",
  },
  signal: aSignal,
};
const { children: _, itemsOf: _itemsOf, ...clientEventRules } = eventRules;
const eventSettings = { code, otherNames: { since: "after", lastEventId: "after" } } as const;
const forkRules: OptionTable<ForkOptions> = { at: anyValue, sessionId: anyValue };
const graceRules: OptionTable<GraceOptions> = { graceMs: numberFrom(0) };
const replayRules: OptionTable<ReplayOptions> = {
  policy: oneOf("present", "recorded"),
  prompt: oneOf("present", "recorded"),
  durable: oneOf("present", "recorded"),
  model: anyValue,
};
const requestRules: OptionTable<{ readonly after?: number }> = { after: integerFrom(0) };
const oneRequestRules: OptionTable<ModelRequestOptions> = {
  runId: aString,
  modelCallIndex: integerFrom(1),
  attempt: integerFrom(1),
};
const resultRules: OptionTable<ResultOptions> = { isError: aBoolean };

/** Checks of the options of each method. Each check throws a PawlError `bad_input`. */
export const checkCall = {
  abort: (options: AbortOptions) =>
    checkOptions("abort()", abortRules, options, { code, otherNames: { reason: "note" } }),
  answer: (options: AnswerOptions) =>
    checkOptions("answer()", answerRules, options, { code, otherNames: { user: "by", hash: "inputHash" } }),
  events: checkEvents,
  clientEvents: (options: OneSessionOptions) => checkOptions("events()", clientEventRules, options, eventSettings),
  fork: (options: ForkOptions) =>
    checkOptions("fork()", forkRules, options, { code, otherNames: { id: "sessionId", seq: "at" } }),
  leave: (options: GraceOptions) =>
    checkOptions("leave()", graceRules, options, { code, otherNames: { timeout: "graceMs", timeoutMs: "graceMs" } }),
  replay: (options: ReplayOptions) => checkOptions("replay()", replayRules, options, { code }),
  modelRequests: (options: { readonly after?: number }) =>
    checkOptions("modelRequests()", requestRules, options, { code }),
  modelRequest: (options: ModelRequestOptions) =>
    checkOptions("modelRequest()", oneRequestRules, options, { code, otherNames: { index: "modelCallIndex" } }),
  provideResult: (options: ResultOptions) =>
    checkOptions("provideResult()", resultRules, options, { code, otherNames: { error: "isError" } }),
  shutdown: (options: GraceOptions) =>
    checkOptions("shutdown()", graceRules, options, { code, otherNames: { timeout: "graceMs", timeoutMs: "graceMs" } }),
} as const;

function checkEvents(options: EventsOptions): void {
  checkOptions("events()", eventRules, options, eventSettings);
  if (options.children !== true) {
    if (options.itemsOf === undefined) return;
    throw new PawlError("bad_input", "events() accepts itemsOf only with children. Omit it, or set children to true.");
  }
  const other = (["limit", "live", "runId", "until", "joinDeltas"] as const).find(
    (name) => options[name] !== undefined,
  );
  if (other !== undefined)
    throw new PawlError("bad_input", `events() accepts ${other} only without children. Omit one of them.`);
}
