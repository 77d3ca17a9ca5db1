/**
 * Model settings: checked, merged, and recorded if they differ from the settings of the previous call.
 */
import { aBoolean, checkOptions, integerFrom, numberFrom, type OptionTable, oneOf } from "../../check-options.js";
import { deepFreeze } from "../../core/data/freeze.js";
import { isSameJson } from "../../core/data/json.js";
import type { ModelSettings, ReasoningEffort } from "../../core/data/model-settings.js";
import type { EventOf } from "../../core/machine/event.js";
import type { ErrorCode } from "../../errors.js";

const maxStopSequences = 64;
const maxStopSequence = 1_000;

const penaltyRule = { accepts: Number.isFinite, expected: "a number" };

const efforts = Object.keys({
  "provider-default": true,
  none: true,
  minimal: true,
  low: true,
  medium: true,
  high: true,
  xhigh: true,
  max: true,
} satisfies Record<ReasoningEffort, true>);

const settingRules: OptionTable<ModelSettings> = {
  temperature: numberFrom(0),
  topP: {
    accepts: (value) => Number.isFinite(value) && Number(value) >= 0 && Number(value) <= 1,
    expected: "from 0 to 1",
  },
  topK: integerFrom(1),
  maxOutputTokens: integerFrom(1, "tokens"),
  stopSequences: { accepts: areStopSequences, expected: `a list of at most ${maxStopSequences} strings` },
  seed: { accepts: Number.isSafeInteger, expected: "a whole number" },
  presencePenalty: penaltyRule,
  frequencyPenalty: penaltyRule,
  parallelToolCalls: aBoolean,
  reasoning: oneOf(...efforts),
};

function areStopSequences(value: unknown): boolean {
  if (!Array.isArray(value) || value.length > maxStopSequences) return false;
  return value.every((text) => typeof text === "string" && text !== "" && text.length <= maxStopSequence);
}

/** The names of other libraries for these settings. */
const otherNames = {
  maxTokens: "maxOutputTokens",
  max_tokens: "maxOutputTokens",
  maxCompletionTokens: "maxOutputTokens",
  top_p: "topP",
  top_k: "topK",
  stop: "stopSequences",
  reasoningEffort: "reasoning",
  reasoning_effort: "reasoning",
  thinking: "reasoning",
  parallel_tool_calls: "parallelToolCalls",
};

/**
 * Returns a frozen copy without undefined settings.
 * @throws PawlError for an unknown setting or an invalid value
 */
export function compileSettings(settings: ModelSettings, code: ErrorCode = "bad_configuration"): ModelSettings {
  checkOptions("settings", settingRules, settings, { code, otherNames });
  const set = Object.entries(settings).filter(([, value]) => value !== undefined);
  return deepFreeze(structuredClone(Object.fromEntries(set)));
}

/** The settings of a call. A hook's settings override the run's, which override the agent's. Null if there are none. */
export function mergeSettings(
  agent: ModelSettings | undefined,
  run: ModelSettings | undefined,
  hook: ModelSettings | undefined,
): ModelSettings | null {
  const merged = run === undefined && hook === undefined ? agent : { ...agent, ...run, ...hook };
  return merged === undefined || Object.keys(merged).length === 0 ? null : merged;
}

/** The `settings` field for the entry of a call: absent if the settings are those of the previous call. */
export function pickChangedSettings(
  expected: ModelSettings | null,
  before: ModelSettings | null,
): Pick<EventOf<"prepared">, "settings"> {
  const isSame = expected === before || (expected !== null && before !== null && isSameJson(expected, before));
  return isSame ? {} : { settings: expected };
}
