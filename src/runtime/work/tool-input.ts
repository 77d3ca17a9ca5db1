/**
 * Validates the input of a call for its tool.
 */
import { copyJson } from "../../core/data/json.js";
import type { CallRecord } from "../../core/transcript/results.js";
import { defaultHookTimeoutMs } from "../agent/compile-hooks.js";
import type { Cancellation } from "../lib/cancellation.js";
import type { MaybePromise } from "../lib/coroutine.js";
import { awaitInTime } from "../lib/time-limit.js";
import type { CompiledTool } from "../tools/compile-tools.js";
import type { InputResult } from "../tools/schema.js";
import type { EffectContext } from "./effect-context.js";

/** Arguments that are not JSON reach a tool only through `executeRaw`. */
export type ValidatedInput =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false;
      readonly message: string;
      /** Present if the validation timed out. */
      readonly failure?: { readonly outcome: "timed_out"; readonly message: string };
    };

/** Validates once per process: the decision and the execution share the result. */
export function validateInput(
  compiled: CompiledTool,
  record: CallRecord,
  context: EffectContext,
  cancellation: Cancellation,
): MaybePromise<ValidatedInput> {
  const { validated } = context.memory;
  if (validated?.has(record.callKey) === true && !record.edited)
    return { ok: true, value: validated.get(record.callKey) };
  const { invalid } = record.part;
  if (invalid !== undefined && !record.changed)
    return compiled.tool.executeRaw === undefined || rawTextOf(record.part.input) === undefined
      ? { ok: false, message: `The arguments are not valid JSON: ${invalid}` }
      : { ok: true, value: undefined };
  if (compiled.tool.execute === undefined && compiled.tool.executeRaw !== undefined)
    return { ok: true, value: record.input };
  // A copy: a tool may change its input, and the log must not change.
  const result = compiled.validate(copyJson(record.input));
  if (!(result instanceof Promise)) return toValidatedInput(result);
  const { clock } = context.agent;
  return awaitInTime(result, { timeoutMs: defaultHookTimeoutMs, clock, cancellation }).then((call) =>
    call.type === "returned" ? toValidatedInput(call.value) : toUncheckedInput(call.message),
  );
}

export function forgetValidatedInput({ memory }: EffectContext, callKey: string): void {
  memory.validated?.delete(callKey);
  if (memory.validated?.size === 0) memory.validated = null;
}

/** The arguments as the model wrote them, if they are not JSON and the log has them. */
export function rawTextOf(input: CallRecord["input"]): string | undefined {
  return typeof input === "object" && input !== null && "_raw" in input && typeof input._raw === "string"
    ? input._raw
    : undefined;
}

function toUncheckedInput(why: string): ValidatedInput {
  const message = `The arguments could not be checked by the tool's schema: ${why}`;
  return { ok: false, message, failure: { outcome: "timed_out", message: why } };
}

function toValidatedInput(result: InputResult): ValidatedInput {
  if (result.ok) return result;
  const issues = result.issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  return { ok: false, message: `The arguments do not fit the tool's schema:\n- ${issues.join("\n- ")}` };
}
