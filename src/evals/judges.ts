/**
 * Judges: functions that score a trial from 0 to 1. The judges in this file only read the trial; the judges in `model-judges.ts`
 * ask a model.
 */

import {
  aBoolean,
  anArray,
  anyValue,
  checkOptions,
  nonEmptyString,
  numberAbove,
  type OptionTable,
  required,
} from "../check-options.js";
import { isObject } from "../core/data/is-object.js";
import type { Json } from "../core/data/message.js";
import { PawlError } from "../errors.js";
import type { AskedCall } from "./case.js";
import { toKey } from "./read-record.js";
import type { AskModel, Trial } from "./trial.js";

/**
 * The result of a judge: a score from 0 to 1, or true for 1 and false for 0; null if the judge does not apply to the case. A judge
 * that applies but cannot decide throws an error. Results of autoevals scorers are also verdicts.
 */
export type Verdict =
  | boolean
  | number
  | null
  | {
      /** From 0 to 1; null if the judge has no opinion. */
      readonly score: number | null;
      /** Why the score is not 1, in one sentence. */
      readonly why?: string;
      /** The object in which autoevals scorers put the reason. */
      readonly metadata?: {
        /** The reason, if it is a string. */
        readonly rationale?: unknown;
      };
    };

/** A trial as a judge reads it. Scorers of other libraries read the same `input`, `output` and `expected`. */
export type JudgedTrial = Omit<Trial, "output"> & {
  /** The answer as data, if the request had an output schema; otherwise its text. */
  readonly output: Json;
  /** The expected answer, in the same form. */
  readonly expected: Json | undefined;
};

/** Judges one trial. It may ask an agent. */
export type JudgeFunction = (
  trial: JudgedTrial,
  tools: {
    /** Asks an agent. Throws if the agent gives no answer; unless the judge catches the error, it then has no verdict. */
    readonly ask: AskModel;
    /** Aborted when the eval or the worker stops, or when the judge reaches its time limit. */
    readonly signal: AbortSignal;
  },
) => Verdict | Promise<Verdict>;

/** A judge, with its name and how its scores count. */
export type Judge = {
  readonly name: string;
  /** Scores a trial. */
  readonly judge: JudgeFunction;
  /** The lowest score that passes. With null, the score is only reported. Default: 1. */
  readonly atLeast?: number | null;
  /** Whether the judge is a rule: a single trial that breaks it fails the eval, whatever the baseline. Default: false. */
  readonly must?: boolean;
  /**
   * Whether to also judge the recorded answers that people labelled, and report how often the judge agrees with them. Default:
   * false.
   */
  readonly isCompared?: boolean;
};

/** The recorded ending, unless a person labelled it as bad. */
function findExpected({ case: { expected, label } }: JudgedTrial): JudgedTrial["case"]["expected"] {
  return label?.good === false ? undefined : expected;
}

/** Passes if the run ended with the recorded status and reason. */
export function sameEnd(): Judge {
  return {
    name: "sameEnd",
    judge({ case: { expected }, status, reason, error }) {
      if (expected?.status === undefined) return null;
      if (expected.status === status && expected.reason === reason) return true;
      const now = formatEnd(status, error === undefined ? reason : `${reason}: ${error}`);
      return { score: 0, why: `${formatEnd(expected.status, expected.reason)}, now ${now}` };
    },
  };
}

function formatEnd(status: string, reason: string | undefined): string {
  return reason === undefined ? status : `${status} (${reason})`;
}

/** Options of `sameCalls`. */
export type SameCallsOptions = {
  /** The names of the tools whose calls are compared. Default: all. */
  readonly only?: readonly string[];
  /** Whether the order of the calls matters. Default: true. */
  readonly order?: boolean;
};

const sameCallsRules: OptionTable<SameCallsOptions> = { only: anArray, order: aBoolean };

/** Passes if the recorded calls were made with the same inputs and outcomes, and approval was requested for the same calls. */
export function sameCalls(options: SameCallsOptions = {}): Judge {
  checkOptions("sameCalls()", sameCallsRules, options);
  const { only, order = true } = options;
  const choose = (calls: readonly AskedCall[]) => {
    const chosen = calls
      .filter(({ tool }) => only?.includes(tool) ?? true)
      .map((call) => ({ request: formatRequest(call), outcome: formatOutcome(call), error: call.error }));
    return order ? chosen : chosen.sort((one, other) => (toLine(one) < toLine(other) ? -1 : 1));
  };
  return {
    name: "sameCalls",
    judge(trial) {
      const expected = findExpected(trial)?.calls;
      if (expected === undefined) return null;
      const [then, now] = [choose(expected), choose(trial.calls)];
      const index = Array.from({ length: Math.max(then.length, now.length) }, (_, at) => at).find(
        (at) => toLine(then[at]) !== toLine(now[at]),
      );
      if (index === undefined) return true;
      const [before, after] = [then[index], now[index]];
      // A request that is the same is not repeated: a long request would hide why its outcome differs.
      const changed = after !== undefined && before?.request === after.request ? after.outcome : toLine(after);
      const why = after?.error === undefined ? "" : `: ${after.error}`;
      return { score: 0, why: `call ${index + 1}: ${toLine(before)}, now ${changed}${why}` };
    },
  };
}

function toLine(call: { readonly request: string; readonly outcome: string } | undefined): string {
  return call === undefined ? "none" : `${call.request} ${call.outcome}`;
}

function formatRequest({ agent, tool, input, filled }: AskedCall): string {
  return `${agent}/${tool} ${toKey(filled ?? input)}`;
}

function formatOutcome({ outcome, asked }: AskedCall): string {
  return `${outcome}${asked === true ? " (asked)" : ""}`;
}

/** Passes if every call has a recorded result, and every question a recorded answer. */
export function inRecord(): Judge {
  return {
    name: "inRecord",
    judge({ departure }) {
      if (departure === null) return true;
      const { agent, tool, input, missing } = departure;
      const call = `${agent === "" ? "" : `${agent}/`}${tool} ${toKey(input)}`;
      return {
        score: 0,
        why: missing === "result" ? `${call} is not in the record` : `the record has no answer to ${call}`,
      };
    },
  };
}

/** A rule: the tool never runs. It does not apply to trials in which a model simulated results. */
export function never(tool: string): Judge {
  checkToolName("never()", tool);
  return {
    name: `never ${tool}`,
    must: true,
    judge: ({ calls, isSimulated }) =>
      isSimulated ? null : !calls.some((call) => call.tool === tool && call.outcome === "ok"),
  };
}

/** Passes if the tool ran and, with `input`, if its input had these members, including defaults. */
export function calls(tool: string, input?: { readonly [member: string]: Json }): Judge {
  checkToolName("calls()", tool);
  return {
    name: `calls ${tool}`,
    judge({ calls: made }) {
      const own = made.filter((call) => call.tool === tool && call.outcome === "ok");
      if (own.some((call) => hasMembers(call.filled ?? call.input, input ?? {}))) return true;
      const [first] = own;
      return { score: 0, why: first === undefined ? `${tool} did not run` : `${tool} ran with ${toKey(first.input)}` };
    },
  };
}

function hasMembers(given: Json, wanted: { readonly [member: string]: Json }): boolean {
  if (!isObject(given)) return Object.keys(wanted).length === 0;
  return Object.entries(wanted).every(
    ([key, value]) => Object.hasOwn(given, key) && toKey(given[key]) === toKey(value),
  );
}

function checkToolName(what: string, tool: unknown): void {
  if (typeof tool === "string" && tool !== "") return;
  throw new PawlError("bad_configuration", `${what} needs the name of a tool: a non-empty string.`);
}

/** Passes if the answer is the expected one: data by value, text word for word. */
export function sameAnswer(): Judge {
  return {
    name: "sameAnswer",
    judge(trial) {
      const expected = findExpected(trial);
      const then = expected?.output ?? expected?.text;
      if (then === undefined) return null;
      const now = trial.output;
      return toKey(then) === toKey(now) || { score: 0, why: `${formatAnswer(then)}, now ${formatAnswer(now)}` };
    },
  };
}

function formatAnswer(answer: Json): string {
  return typeof answer === "string" ? JSON.stringify(answer) : toKey(answer);
}

/** Passes if every hook that took part in the record still does. */
export function sameHooks(): Judge {
  return {
    name: "sameHooks",
    judge({ case: { expected }, hooks, departure, status }) {
      if (expected?.hooks === undefined || departure !== null || status !== "completed") return null;
      const missing = expected.hooks.filter((hook) => !hooks.includes(hook));
      return missing.length === 0 ? true : { score: 0, why: `no longer called: ${missing.join(", ")}` };
    },
  };
}

/** Options of `costs`. */
export type CostsOptions = {
  /** The allowed ratio to the recorded cost: 1.2 allows a fifth more. */
  readonly atMost: number;
};

const costsRules: OptionTable<CostsOptions> = { atMost: required(numberAbove(0, "times the recorded cost")) };

/** An output token costs about five times as much as an input token. */
const outputWeight = 5;

/** Passes if the trial costs at most `atMost` times the recorded cost: by price if known, otherwise by tokens. */
export function costs(options: CostsOptions): Judge {
  checkOptions("costs()", costsRules, options);
  const { atMost } = options;
  return {
    name: "costs",
    judge({ case: { expected }, departure, isSimulated, costUsd, inputTokens, outputTokens }) {
      if (expected?.inputTokens === undefined || departure !== null || isSimulated) return null;
      const then = expected.costUsd ?? 0;
      const isPriced = costUsd !== undefined && then > 0;
      const ratio = isPriced
        ? costUsd / then
        : (inputTokens + outputWeight * outputTokens) /
          Math.max(1, expected.inputTokens + outputWeight * (expected.outputTokens ?? 0));
      return ratio <= atMost ? true : { score: 0, why: `${ratio.toFixed(2)} times the recorded cost` };
    },
  };
}

/** With `play: "steps"`: the share of steps at which the model makes the recorded calls. */
export function sameSteps(): Judge {
  return {
    name: "sameSteps",
    judge({ comparedSteps }) {
      if (comparedSteps.length === 0) return null;
      const others = comparedSteps.filter(({ recorded, now }) => toKey(recorded.calls) !== toKey(now.calls));
      const [first] = others;
      if (first === undefined) return true;
      const { agent, step, recorded, now } = first;
      const why = `step ${step} of ${agent}: ${toKey(recorded.calls)}, now ${toKey(now.calls)}`;
      return { score: 1 - others.length / comparedSteps.length, why };
    },
  };
}

const judgeRules: OptionTable<Judge> = {
  name: nonEmptyString,
  judge: anyValue,
  atLeast: anyValue,
  must: aBoolean,
  isCompared: aBoolean,
};

/** Fills in the defaults. @throws PawlError `bad_configuration` */
export function normalizeJudge(given: Judge | JudgeFunction, index: number): Required<Judge> {
  const judge: Judge = typeof given === "function" ? { name: given.name || `judge ${index + 1}`, judge: given } : given;
  checkOptions(`judges[${index}]`, judgeRules, judge);
  const { atLeast = 1, must = false, isCompared = false } = judge;
  if (typeof judge.judge !== "function")
    throw new PawlError("bad_configuration", `judges[${index}].judge must be a function that returns a score.`);
  if (atLeast !== null && !(typeof atLeast === "number" && atLeast >= 0 && atLeast <= 1))
    throw new PawlError(
      "bad_configuration",
      `atLeast of the judge "${judge.name}" must be null or a number from 0 to 1.`,
    );
  return { ...judge, atLeast, must, isCompared };
}

/** @throws Error for anything but a verdict */
export function readVerdict(verdict: unknown): { readonly score: number | null; readonly why?: string } {
  if (verdict === null || typeof verdict === "number") return { score: checkScore(verdict) };
  if (typeof verdict === "boolean") return { score: verdict ? 1 : 0 };
  if (typeof verdict !== "object" || !("score" in verdict))
    throw new Error("it must return a score, true, false or null");
  const { score, why, metadata } = verdict as { score: unknown; why?: unknown; metadata?: { rationale?: unknown } };
  const reason = why ?? metadata?.rationale;
  return { score: checkScore(score), ...(typeof reason === "string" ? { why: reason } : {}) };
}

function checkScore(score: unknown): number | null {
  if (score === null || (typeof score === "number" && score >= 0 && score <= 1)) return score;
  throw new Error(`its score is ${String(score)}, but must be a number from 0 to 1`);
}

/** Verdicts are keyed by the names of their judges. @throws PawlError `bad_configuration` */
export function checkJudgeNames(names: readonly string[]): void {
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined)
    throw new PawlError("bad_configuration", `Two judges are named "${duplicate}". Rename one of them.`);
}
