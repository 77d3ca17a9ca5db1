/**
 * The values of tool steps: small ones stand in the log, larger ones in blobs of the session.
 */
import { copyJson, parseJson } from "../../core/data/json.js";
import type { Fault, Json } from "../../core/data/message.js";
import { bytesOfText, textOfBytes } from "../../core/data/text-bytes.js";
import type { ValueBlob } from "../../core/machine/tool-step-events.js";
import type { CallRecord } from "../../core/transcript/results.js";
import type { StepRecord } from "../../core/transcript/tool-steps.js";
import type { FinishedToolStep } from "../../ports/tool.js";
import type { MaybePromise } from "../lib/coroutine.js";
import type { EffectContext } from "../work/effect-context.js";
import { failed, type StepBody } from "./step-body.js";

/** Tool steps and questions of one call. */
export const mostStepsOfCall = 1_000;
/** Bytes of JSON. */
const mostInEntry = 64 * 1024;
const mostOfStep = 4 * 1024 * 1024;
const mostOfCall = 32 * 1024 * 1024;

export type KeptValue = {
  readonly recorded:
    | { readonly outcome: "ok"; readonly value?: Json; readonly valueBlob?: ValueBlob }
    | { readonly outcome: "error"; readonly fault: Fault };
  /** What the tool is given: a copy. */
  readonly value?: Json;
  readonly bytes: number;
};

/** Writes a large value to the store, before the entry that names it. @param before what the steps before it take */
export async function keepValue(
  body: StepBody,
  before: number,
  { sessionId, parts }: EffectContext,
): Promise<KeptValue> {
  if (body.outcome === "error") return { recorded: { outcome: "error", fault: body.fault }, bytes: 0 };
  const { value } = body;
  if (value === undefined) return { recorded: { outcome: "ok" }, bytes: 0 };
  const json = bytesOfText(JSON.stringify(value));
  const bytes = json.length;
  if (bytes > mostOfStep) return tooLarge(`it gave ${bytes} bytes of JSON, and may give ${mostOfStep}`);
  if (before + bytes > mostOfCall) return tooLarge(`the steps of this call would take more than ${mostOfCall} bytes`);
  if (bytes <= mostInEntry) return { recorded: { outcome: "ok", value }, value: copyJson(value), bytes };
  try {
    const blob = await parts.store.putBlob(sessionId, json);
    return { recorded: { outcome: "ok", valueBlob: { blob, bytes } }, value, bytes };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { recorded: failed("step_failed", `its value could not be kept (${why})`, "store_failed"), bytes: 0 };
  }
}

function tooLarge(message: string): KeptValue {
  return { recorded: failed("step_too_large", message), bytes: 0 };
}

type Loaded = { readonly found: true; readonly value: Json } | { readonly found: false };

export async function loadValue({ blob }: ValueBlob, { sessionId, parts }: EffectContext): Promise<Loaded> {
  const bytes = await parts.store.getBlob(sessionId, blob);
  const parsed = bytes === null ? undefined : parseJson(textOfBytes(bytes), { maxBytes: mostOfStep });
  return parsed?.ok === true ? { found: true, value: parsed.value } : { found: false };
}

/** The tool steps of a call that are over, with their values. A value that is gone is left out. */
export function finishedToolSteps(
  { steps }: CallRecord,
  context: EffectContext,
): MaybePromise<readonly FinishedToolStep[]> {
  const done = steps?.done ?? [];
  if (done.some((one) => one.outcome === "ok" && one.valueBlob !== undefined))
    return Promise.all(done.map((one) => withValue(one, context)));
  return done.map((one) => finishedStep(one));
}

async function withValue(one: StepRecord, context: EffectContext): Promise<FinishedToolStep> {
  if (one.outcome !== "ok" || one.valueBlob === undefined) return finishedStep(one);
  const loaded = await loadValue(one.valueBlob, context);
  return loaded.found ? { step: one.step, outcome: "ok", value: loaded.value } : { step: one.step, outcome: "ok" };
}

function finishedStep(one: StepRecord): FinishedToolStep {
  const { step, outcome } = one;
  switch (one.outcome) {
    case "ok":
      return one.value === undefined ? { step, outcome } : { step, outcome, value: copyJson(one.value) };
    case "error":
      return { step, outcome, message: one.fault.message };
    case "answered":
      return { step, outcome, value: copyJson(one.answer as Json) };
  }
}
