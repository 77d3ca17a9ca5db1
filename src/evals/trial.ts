/**
 * A trial: one play of a case, as judges and reports read it.
 */
import type { Json } from "../core/data/message.js";
import type { JsonSchema } from "../ports/model.js";
import type { Store } from "../ports/store.js";
import type { HandoffAgent } from "../runtime/agent/handoffs.js";
import type { Ending, EvalCase } from "./case.js";

/** One play of a case. */
export type Trial = Ending & {
  readonly case: EvalCase;
  /** The name of the variant of the agent. */
  readonly variant: string;
  /** The repetition, from 1. */
  readonly repetition: number;
  /** The text of the first request. */
  readonly input: string;
  /** The answer as data, if a shape was asked for; else its text. */
  readonly answer: Json;
  /** The first call or question that is not in the record; null if there is none. */
  readonly departure: Departure | null;
  /** True if the trial took longer than it may. */
  readonly isTimedOut: boolean;
  /** Where the results of calls came from. */
  readonly results: ResultCounts;
  /** True if a model made up results of calls. */
  readonly isSimulated: boolean;
  /** With `play: "steps"`: each recorded step, and what the model answers there now. */
  readonly comparedSteps: readonly ComparedStep[];
  /** How the model calls were answered. */
  readonly modelCalls: Readonly<CallCounts>;
  readonly durationMs: number;
  /** The log of the trial. */
  readonly store: Store;
  /** The session of the trial in that store. */
  readonly sessionId: string;
};

/** The first call or question of a trial that is not in the record. */
export type Departure = {
  /** The agent that called. */
  readonly agent: string;
  readonly tool: string;
  readonly input: Json;
  /** What is missing: the result of a call, or a person's answer. */
  readonly missing: "result" | "answer";
  /** The input of the recorded call that comes nearest: the first one that the trial did not make. */
  readonly nearest?: Json;
};

/** Where the results of a trial's calls came from. */
export type ResultCounts = {
  /** From the record. */
  readonly recorded: number;
  /** From a function of the eval. */
  readonly simulated: number;
  /** From the tool itself. */
  readonly real: number;
  /** Not in the record. */
  readonly unrecorded: number;
};

/** An answer of a model: its calls and its text. */
export type ModelAnswer = {
  readonly calls: readonly {
    readonly tool: string;
    readonly input: Json;
  }[];
  readonly text: string;
};

/** A recorded step, and what the model answers there now. */
export type ComparedStep = {
  readonly agent: string;
  /** The number of the model call in its session, from 1. */
  readonly step: number;
  /** The answer in the record. */
  readonly recorded: ModelAnswer;
  /** The answer of today. */
  readonly now: ModelAnswer;
};

/** How the model calls of a trial were answered. */
export type CallCounts = {
  /** Calls that a model answered now. */
  asked: number;
  /** Calls that were answered from kept answers. */
  kept: number;
  /** The budget refused a call. */
  isRefused: boolean;
};

/** Asks an agent something. The answer is kept and counts to the budget, as those of the trial do. */
export type Ask = (agent: HandoffAgent, input: string, schema?: JsonSchema) => Promise<Json | null>;
