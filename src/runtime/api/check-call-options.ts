/**
 * Checks the options of the methods of sessions, clients and agents.
 */
import {
  anyText,
  anything,
  checkOptions,
  numberFrom,
  type OptionTable,
  oneOf,
  trueOrFalse,
  wholeNumber,
} from "../../check-options.js";
import type { AnswerOptions } from "../agent/answer-types.js";
import { aSignal } from "../agent/check-run-options.js";
import type { ReplayOptions } from "../agent/replay-types.js";
import type { EventsOptions } from "../agent/stream-types.js";

const code = "bad_input";

type AbortOptions = { readonly note?: string; readonly by?: string };
type ForkOptions = { readonly at?: number; readonly sessionId?: string };
type GraceOptions = { readonly graceMs?: number };
type ResultOptions = { readonly isError?: boolean };

const abortRules: OptionTable<AbortOptions> = { note: anything, by: anything };
const answerRules: OptionTable<AnswerOptions> = { by: anything, inputHash: anyText, questionId: anyText };
const eventRules: OptionTable<EventsOptions> = {
  after: anything,
  follow: trueOrFalse,
  children: trueOrFalse,
  signal: aSignal,
};
const forkRules: OptionTable<ForkOptions> = { at: anything, sessionId: anything };
const graceRules: OptionTable<GraceOptions> = { graceMs: numberFrom(0) };
const replayRules: OptionTable<ReplayOptions> = {
  policy: oneOf("present", "recorded"),
  prompt: oneOf("present", "recorded"),
  durable: oneOf("present", "recorded"),
  model: anything,
};
const requestRules: OptionTable<{ readonly after?: number }> = { after: wholeNumber(0) };
const resultRules: OptionTable<ResultOptions> = { isError: trueOrFalse };

/** Each throws a PawlError `bad_input`. */
export const checkCall = {
  abort: (options: AbortOptions) =>
    checkOptions("abort()", abortRules, options, { code, otherNames: { reason: "note" } }),
  answer: (options: AnswerOptions) =>
    checkOptions("answer()", answerRules, options, { code, otherNames: { user: "by", hash: "inputHash" } }),
  events: (options: EventsOptions) =>
    checkOptions("events()", eventRules, options, { code, otherNames: { since: "after", lastEventId: "after" } }),
  fork: (options: ForkOptions) =>
    checkOptions("fork()", forkRules, options, { code, otherNames: { id: "sessionId", seq: "at" } }),
  replay: (options: ReplayOptions) => checkOptions("replay()", replayRules, options, { code }),
  modelRequests: (options: { readonly after?: number }) =>
    checkOptions("modelRequests()", requestRules, options, { code }),
  provideResult: (options: ResultOptions) =>
    checkOptions("provideResult()", resultRules, options, { code, otherNames: { error: "isError" } }),
  shutdown: (options: GraceOptions) =>
    checkOptions("shutdown()", graceRules, options, { code, otherNames: { timeout: "graceMs", timeoutMs: "graceMs" } }),
} as const;
