/**
 * The input of a call, as its tool takes it.
 */
import { copyJson } from "../../core/data/json.js";
import type { CallRecord } from "../../core/transcript/results.js";
import type { CompiledTool } from "../tools/compile-tools.js";
import type { InputResult } from "../tools/schema.js";
import type { EffectContext } from "./effect-context.js";

/** Arguments that are not JSON reach a tool only through `executeRaw`. */
export type ValidatedInput =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string };

/** Parses and validates once in a process: the decision and the execution share the outcome. */
export function validatedInput(
  compiled: CompiledTool,
  record: CallRecord,
  work: EffectContext,
): ValidatedInput | Promise<ValidatedInput> {
  const { validated } = work.memory;
  if (validated?.has(record.callKey) === true && !record.edited)
    return { ok: true, value: validated.get(record.callKey) };
  const { invalid } = record.part;
  if (invalid !== undefined && !record.changed)
    return compiled.tool.executeRaw === undefined || rawTextOf(record.part.input) === undefined
      ? { ok: false, message: `The arguments are not valid JSON: ${invalid}` }
      : { ok: true, value: undefined };
  if (compiled.tool.execute === undefined && compiled.tool.executeRaw !== undefined)
    return { ok: true, value: record.input };
  // A tool may change what it is given; the log may not.
  const result = compiled.validate(copyJson(record.input));
  return result instanceof Promise ? result.then(described) : described(result);
}

export function forgetInput({ memory }: EffectContext, callKey: string): void {
  memory.validated?.delete(callKey);
  if (memory.validated?.size === 0) memory.validated = null;
}

/** Arguments as the model wrote them, where they are no JSON and were kept. */
export function rawTextOf(input: CallRecord["input"]): string | undefined {
  return typeof input === "object" && input !== null && "_raw" in input && typeof input._raw === "string"
    ? input._raw
    : undefined;
}

function described(result: InputResult): ValidatedInput {
  if (result.ok) return result;
  const issues = result.issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  return { ok: false, message: `The arguments do not fit the tool's schema:\n- ${issues.join("\n- ")}` };
}
