/**
 * The values of tool steps: small ones are stored in the log, larger ones in blobs of the session.
 */
import { getErrorMessage } from "../../core/data/error-message.js";
import { copyJson, parseJson } from "../../core/data/json.js";
import type { Fault, Json } from "../../core/data/message.js";
import { decodeText, encodeText } from "../../core/data/text-bytes.js";
import type { ValueBlob } from "../../core/machine/tool-step-events.js";
import type { CallRecord } from "../../core/transcript/results.js";
import type { StepRecord } from "../../core/transcript/tool-steps.js";
import type { FinishedToolStep } from "../../ports/tool.js";
import type { MaybePromise } from "../lib/coroutine.js";
import type { EffectContext } from "../work/effect-context.js";
import { failedStep, type StepBody } from "./step-body.js";

/** The maximum number of tool steps and questions of one call. */
export const maxStepsOfCall = 1_000;
/** In bytes of JSON. */
const maxInEntry = 64 * 1024;
const maxOfStep = 4 * 1024 * 1024;
const maxOfCall = 32 * 1024 * 1024;

export type StoredValue = {
  readonly recorded:
    | { readonly outcome: "ok"; readonly value?: Json; readonly valueBlob?: ValueBlob }
    | { readonly outcome: "error"; readonly fault: Fault };
  /** The copy of the value that the tool gets. */
  readonly value?: Json;
  readonly bytes: number;
};

/** Writes a large value to the store, before the entry that refers to it. @param usedBytes the total of the earlier steps */
export async function storeValue(
  body: StepBody,
  usedBytes: number,
  { sessionId, agent }: EffectContext,
): Promise<StoredValue> {
  if (body.outcome === "error") return { recorded: { outcome: "error", fault: body.fault }, bytes: 0 };
  const { value } = body;
  if (value === undefined) return { recorded: { outcome: "ok" }, bytes: 0 };
  const json = encodeText(JSON.stringify(value));
  const bytes = json.length;
  if (bytes > maxOfStep) return tooLargeValue(`it returned ${bytes} bytes of JSON; the maximum is ${maxOfStep}`);
  if (usedBytes + bytes > maxOfCall)
    return tooLargeValue(`the steps of this call would take more than ${maxOfCall} bytes`);
  if (bytes <= maxInEntry) return { recorded: { outcome: "ok", value }, value: copyJson(value), bytes };
  try {
    const blob = await agent.store.putBlob(sessionId, json);
    return { recorded: { outcome: "ok", valueBlob: { blob, bytes } }, value, bytes };
  } catch (error) {
    const why = getErrorMessage(error);
    return { recorded: failedStep("step_failed", `its value could not be stored (${why})`, "store_failed"), bytes: 0 };
  }
}

function tooLargeValue(message: string): StoredValue {
  return { recorded: failedStep("step_too_large", message), bytes: 0 };
}

type LoadedValue = { readonly found: true; readonly value: Json } | { readonly found: false };

export async function loadValue({ blob }: ValueBlob, { sessionId, agent }: EffectContext): Promise<LoadedValue> {
  const bytes = await agent.store.getBlob(sessionId, blob);
  const parsed = bytes === null ? undefined : parseJson(decodeText(bytes), { maxBytes: maxOfStep });
  return parsed?.ok === true ? { found: true, value: parsed.value } : { found: false };
}

/** The finished tool steps of a call, with their values. A missing value is omitted. */
export function loadFinishedSteps(
  { steps }: CallRecord,
  context: EffectContext,
): MaybePromise<readonly FinishedToolStep[]> {
  const done = steps?.done ?? [];
  if (done.some((record) => record.outcome === "ok" && record.valueBlob !== undefined))
    return Promise.all(done.map((record) => loadFinishedStep(record, context)));
  return done.map((record) => toFinishedStep(record));
}

async function loadFinishedStep(record: StepRecord, context: EffectContext): Promise<FinishedToolStep> {
  if (record.outcome !== "ok" || record.valueBlob === undefined) return toFinishedStep(record);
  const loaded = await loadValue(record.valueBlob, context);
  return loaded.found
    ? { step: record.step, outcome: "ok", value: loaded.value }
    : { step: record.step, outcome: "ok" };
}

function toFinishedStep(record: StepRecord): FinishedToolStep {
  const { step, outcome } = record;
  switch (record.outcome) {
    case "ok":
      return record.value === undefined ? { step, outcome } : { step, outcome, value: copyJson(record.value) };
    case "error":
      return { step, outcome, message: record.fault.message };
    case "answered":
      return { step, outcome, value: copyJson(record.answer as Json) };
  }
}
