/**
 * A trial: one run through a case, as judges and reports read it.
 */
import type { Json } from "../core/data/message.js";
import type { JsonSchema } from "../ports/model.js";
import type { Store } from "../ports/store.js";
import type { HandoffAgent } from "../runtime/agent/handoffs.js";
import type { Ending, EvalCase } from "./case.js";

/** A trial: a case played once with one variant of the agent. */
export type Trial = Ending & {
  /** The case that was played. */
  readonly case: EvalCase;
  /** The name of the agent's variant. */
  readonly variant: string;
  /** The repetition, from 1. */
  readonly repetition: number;
  /** The text of the first request. */
  readonly input: string;
  /** The first call or question that is not in the record; null if there is none. */
  readonly departure: Departure | null;
  /** True if the trial reached its time limit. */
  readonly isTimedOut: boolean;
  /** The sources of the calls' results. */
  readonly results: ResultCounts;
  /** True if a model simulated results of calls. */
  readonly isSimulated: boolean;
  /** With `play: "steps"`: each recorded step, with the model's current answer. */
  readonly comparedSteps: readonly ComparedStep[];
  /** How the model calls were answered. */
  readonly modelCalls: Readonly<CallCounts>;
  readonly durationMs: number;
  /** The log of the trial. */
  readonly store: Store;
  /** The session of the trial in `store`. */
  readonly sessionId: string;
};

/** The first call or question of a trial that is not in the record. */
export type Departure = {
  /** The agent that made the call. */
  readonly agent: string;
  /** The name of the tool. */
  readonly tool: string;
  readonly input: Json;
  /** Whether a call's result or a person's answer is missing. */
  readonly missing: "result" | "answer";
  /** The input of the nearest recorded call: the first one that the trial did not make. */
  readonly nearest?: Json;
};

/** The sources of the results of a trial's calls. */
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

/** A model's answer: its calls and its text. */
export type ModelAnswer = {
  /** The tool calls, in order. */
  readonly calls: readonly {
    /** The name of the tool. */
    readonly tool: string;
    readonly input: Json;
  }[];
  /** The text; empty if there is none. */
  readonly text: string;
};

/** A recorded step, with the model's current answer. */
export type ComparedStep = {
  readonly agent: string;
  /** The number of the model call in its session, from 1. */
  readonly step: number;
  /** The answer in the record. */
  readonly recorded: ModelAnswer;
  /** The current answer. */
  readonly now: ModelAnswer;
};

/** How the model calls of a trial were answered. */
export type CallCounts = {
  /** Calls that a model answered now. */
  asked: number;
  /** Calls that were answered from kept answers. */
  kept: number;
  /** Whether the budget refused a call. */
  isRefused: boolean;
};

/**
 * Asks an agent. The agent's answer is kept and counts toward the budget, like the answers of the trial.
 *
 * @throws Error if the agent gives no answer, or an answer that does not match the schema
 */
export type AskModel = (agent: HandoffAgent, input: string, schema?: JsonSchema) => Promise<Json>;
