/**
 * What a person chose for the runs of a session, beside its model: the most that a run may cost, and how much the model
 * thinks.
 *
 * 1. A choice is kept in the session's data, so it holds in every process that shows the session. Before the first
 *    message there is no session: then it is kept when that message was taken.
 * 2. A run that had begun before its budget was set is stopped from here, after a model call.
 */
import type { Json, Session, StartOptions } from "../../index.js";
import { dataOf } from "../permissions/keep.js";

/** The words that all providers know. */
export const efforts = ["low", "medium", "high"] as const;
export type Effort = (typeof efforts)[number];

/** Absent: what the agent has. */
export type RunChoice = {
  /** US dollars that a run may cost. */
  readonly budget?: number;
  readonly effort?: Effort;
};

/** The key of the session's data. */
const choiceKey = "choices";

export type RunChoices = {
  readonly present: () => RunChoice;
  /** Durable when it resolves, if there is a session. */
  readonly change: (next: RunChoice) => Promise<void>;
  /** Reads what the session keeps. */
  readonly load: () => Promise<void>;
  /** Keeps what was chosen before there was a session. */
  readonly keep: () => Promise<void>;
  /** The options of the next run. */
  readonly options: () => Pick<StartOptions, "limits" | "providerOptions">;
  /** The run under way goes by the budget, too, although it had begun before. */
  readonly watch: (runId: string) => void;
  /** The budget that the run has spent; null if it goes on. */
  readonly spent: (runId: string, costUsd: number | undefined) => number | null;
};

export function createRunChoices(session: Pick<Session, "id" | "data" | "setData">, by: string): RunChoices {
  let choice: RunChoice = {};
  let isKept = true;
  let watched: string | null = null;

  async function keep(): Promise<void> {
    if (isKept || (await dataOf(session)) === null) return;
    isKept = true;
    const isNothing = Object.keys(choice).length === 0;
    await session.setData(isNothing ? { unset: [choiceKey] } : { set: { [choiceKey]: choice } }, { by });
  }

  return {
    present: () => choice,
    async change(next) {
      [choice, isKept] = [next, false];
      await keep();
    },
    async load() {
      choice = choiceIn((await dataOf(session))?.[choiceKey]);
    },
    keep,
    options: () => ({
      ...(choice.budget === undefined ? {} : { limits: { maxCostUsd: choice.budget } }),
      ...(choice.effort === undefined ? {} : { providerOptions: effortOptions(choice.effort) }),
    }),
    watch(runId) {
      watched = runId;
    },
    spent(runId, costUsd) {
      const { budget } = choice;
      if (watched !== runId || budget === undefined || costUsd === undefined || costUsd < budget) return null;
      watched = null;
      return budget;
    },
  };
}

/** Anybody may change the session's data: what is no choice is left out. */
function choiceIn(value: Json | undefined): RunChoice {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  const { budget, effort: named } = value as { readonly [key: string]: Json | undefined };
  const effort = efforts.find((one) => one === named);
  return {
    ...(typeof budget === "number" && budget > 0 ? { budget } : {}),
    ...(effort === undefined ? {} : { effort }),
  };
}

/** Each provider has a name of its own for it, and reads only what is under its own name. */
function effortOptions(effort: Effort): NonNullable<StartOptions["providerOptions"]> {
  return {
    anthropic: { effort },
    google: { thinkingConfig: { thinkingLevel: effort } },
    openai: { reasoningEffort: effort },
    openaiCompatible: { reasoningEffort: effort },
  };
}
