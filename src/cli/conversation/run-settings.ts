/**
 * The person's settings for the runs of a session, other than the model: the maximum cost of a run, and how much the model
 * thinks.
 *
 * 1. A setting is stored in the session's data, so it applies in every process that shows the session.
 * 2. If a run began before its budget was set, this process stops it after a model call. It does the same for every run if a
 *    model's price is unknown: the library refuses such limits, but the calls of the other models still count.
 */
import { isObject } from "../../core/data/is-object.js";
import type { Json, StartOptions } from "../../index.js";
import { createStoredValue, type StoredValue, type ValueSession } from "./stored-value.js";

/** The effort levels that all providers accept. */
export const effortLevels = ["low", "medium", "high"] as const;
export type Effort = (typeof effortLevels)[number];

/** If a setting is absent, the agent's own applies. */
export type RunSettings = {
  /** The maximum cost of a run; US dollars. */
  readonly budget?: number;
  readonly effort?: Effort;
};

/** The key in the session's data. */
const choiceKey = "choices";

export type RunSettingsStore = StoredValue<RunSettings> & {
  /** The models that a run may call and whose price is not known. */
  readonly unpriced: readonly string[];
  /** The options of the next run. */
  readonly options: () => Pick<StartOptions, "limits" | "providerOptions">;
  /** Applies the budget to a run that began before the budget was set. */
  readonly watch: (runId: string) => void;
  /** The budget, if the run has spent it; null if the run continues. */
  readonly findSpentBudget: (runId: string, costUsd: number | undefined) => number | null;
};

/** @param unpriced the models that a run may call and whose price is not known */
export function createRunSettingsStore(
  session: ValueSession,
  by: string,
  unpriced: readonly string[] = [],
): RunSettingsStore {
  const storedSettings = createStoredValue<RunSettings>(session, by, {
    read: (data) => readRunSettings(data[choiceKey]),
    patch: (choice) => (Object.keys(choice).length === 0 ? { unset: [choiceKey] } : { set: { [choiceKey]: choice } }),
  });
  let watchedRunId: string | null = null;
  let stoppedRunId: string | null = null;

  return {
    ...storedSettings,
    unpriced,
    options() {
      const { budget, effort } = storedSettings.current();
      return {
        ...(budget === undefined || unpriced.length > 0 ? {} : { limits: { maxCostUsd: budget } }),
        ...(effort === undefined ? {} : { providerOptions: toProviderOptions(effort) }),
      };
    },
    watch(runId) {
      watchedRunId = runId;
    },
    findSpentBudget(runId, costUsd) {
      const { budget } = storedSettings.current();
      const isWatched = (watchedRunId === runId || unpriced.length > 0) && stoppedRunId !== runId;
      if (!isWatched || budget === undefined || costUsd === undefined || costUsd < budget) return null;
      stoppedRunId = runId;
      return budget;
    },
  };
}

/** Any client can write the session's data, so invalid values are ignored. */
function readRunSettings(value: Json | undefined): RunSettings {
  if (!isObject(value)) return {};
  const { budget, effort: named } = value;
  const effort = effortLevels.find((level) => level === named);
  return {
    ...(typeof budget === "number" && budget > 0 ? { budget } : {}),
    ...(effort === undefined ? {} : { effort }),
  };
}

/** Each provider has its own name for the setting, and reads only the options under its name. */
function toProviderOptions(effort: Effort): NonNullable<StartOptions["providerOptions"]> {
  return {
    anthropic: { effort },
    google: { thinkingConfig: { thinkingLevel: effort } },
    openai: { reasoningEffort: effort },
    openaiCompatible: { reasoningEffort: effort },
  };
}
