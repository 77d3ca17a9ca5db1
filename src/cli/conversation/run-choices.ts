/**
 * What a person chose for the runs of a session, beside its model: the most that a run may cost, and how much the model
 * thinks.
 *
 * 1. A choice is kept in the session's data, so it holds in every process that shows the session.
 * 2. A run that had begun before its budget was set is stopped from here, after a model call.
 */
import type { Json, StartOptions } from "../../index.js";
import { createKeptValue, type KeptSession, type KeptValue } from "./kept-value.js";

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

export type RunChoices = KeptValue<RunChoice> & {
  /** The options of the next run. */
  readonly options: () => Pick<StartOptions, "limits" | "providerOptions">;
  /** The run under way goes by the budget, too, although it had begun before. */
  readonly watch: (runId: string) => void;
  /** The budget that the run has spent; null if it goes on. */
  readonly spent: (runId: string, costUsd: number | undefined) => number | null;
};

export function createRunChoices(session: KeptSession, by: string): RunChoices {
  const kept = createKeptValue<RunChoice>(session, by, {
    read: (data) => choiceIn(data[choiceKey]),
    patch: (choice) => (Object.keys(choice).length === 0 ? { unset: [choiceKey] } : { set: { [choiceKey]: choice } }),
  });
  let watched: string | null = null;

  return {
    ...kept,
    options() {
      const { budget, effort } = kept.present();
      return {
        ...(budget === undefined ? {} : { limits: { maxCostUsd: budget } }),
        ...(effort === undefined ? {} : { providerOptions: effortOptions(effort) }),
      };
    },
    watch(runId) {
      watched = runId;
    },
    spent(runId, costUsd) {
      const { budget } = kept.present();
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
