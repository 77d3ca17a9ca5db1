/**
 * What a person chose for the runs of a session, beside its model: the most that a run may cost, and how much the model
 * thinks.
 *
 * 1. A choice is kept in the session's data, so it holds in every process that shows the session.
 * 2. A run that had begun before its budget was set is stopped from here, after a model call.
 */
import type { Json, StartOptions } from "../../index.js";
import { createStoredValue, type StoredValue, type ValueSession } from "./stored-value.js";

/** The words that all providers know. */
export const effortLevels = ["low", "medium", "high"] as const;
export type Effort = (typeof effortLevels)[number];

/** Absent: what the agent has. */
export type RunSettings = {
  /** US dollars that a run may cost. */
  readonly budget?: number;
  readonly effort?: Effort;
};

/** The key of the session's data. */
const choiceKey = "choices";

export type RunSettingsStore = StoredValue<RunSettings> & {
  /** The options of the next run. */
  readonly options: () => Pick<StartOptions, "limits" | "providerOptions">;
  /** The run under way goes by the budget, too, although it had begun before. */
  readonly watch: (runId: string) => void;
  /** The budget that the run has spent; null if it goes on. */
  readonly findSpentBudget: (runId: string, costUsd: number | undefined) => number | null;
};

export function createRunSettingsStore(session: ValueSession, by: string): RunSettingsStore {
  const storedSettings = createStoredValue<RunSettings>(session, by, {
    read: (data) => readRunSettings(data[choiceKey]),
    patch: (choice) => (Object.keys(choice).length === 0 ? { unset: [choiceKey] } : { set: { [choiceKey]: choice } }),
  });
  let watchedRunId: string | null = null;

  return {
    ...storedSettings,
    options() {
      const { budget, effort } = storedSettings.current();
      return {
        ...(budget === undefined ? {} : { limits: { maxCostUsd: budget } }),
        ...(effort === undefined ? {} : { providerOptions: toProviderOptions(effort) }),
      };
    },
    watch(runId) {
      watchedRunId = runId;
    },
    findSpentBudget(runId, costUsd) {
      const { budget } = storedSettings.current();
      if (watchedRunId !== runId || budget === undefined || costUsd === undefined || costUsd < budget) return null;
      watchedRunId = null;
      return budget;
    },
  };
}

/** Anybody may change the session's data: what is no choice is left out. */
function readRunSettings(value: Json | undefined): RunSettings {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  const { budget, effort: named } = value as { readonly [key: string]: Json | undefined };
  const effort = effortLevels.find((one) => one === named);
  return {
    ...(typeof budget === "number" && budget > 0 ? { budget } : {}),
    ...(effort === undefined ? {} : { effort }),
  };
}

/** Each provider has a name of its own for it, and reads only what is under its own name. */
function toProviderOptions(effort: Effort): NonNullable<StartOptions["providerOptions"]> {
  return {
    anthropic: { effort },
    google: { thinkingConfig: { thinkingLevel: effort } },
    openai: { reasoningEffort: effort },
    openaiCompatible: { reasoningEffort: effort },
  };
}
