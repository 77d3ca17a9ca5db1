/**
 * The stop conditions of an agent or a run: the functions that create them, and their checks.
 */
import { deepFreeze } from "../../core/data/freeze.js";
import { nearestName } from "../../core/data/nearest-name.js";
import type { CallOutcome } from "../../core/machine/state.js";
import { nameOfCondition, type RecordedCondition } from "../../core/machine/stop-condition.js";
import { type ErrorCode, PawlError } from "../../errors.js";
import type { PlainStopCondition, StopCondition, StopFunction } from "../../ports/stop-condition.js";

/** Holds after `steps` or more model calls of the run. */
export function stepCount(steps: number): PlainStopCondition {
  return checkCondition({ steps }, "stepCount()");
}

/**
 * Holds if the last step called this tool: stops at the tool's result. With `outcome`, only if a call had that outcome. Default: any
 * outcome.
 */
export function toolCalled(
  name: string,
  options: {
    /** Only calls with this outcome count. Default: any. */
    readonly outcome?: CallOutcome;
  } = {},
): PlainStopCondition {
  const { outcome, ...others } = options;
  const unknown = Object.keys(others)[0];
  if (unknown !== undefined)
    throw createConditionError("toolCalled()", `has no option ${JSON.stringify(unknown)}. It has outcome.`);
  return checkCondition(outcome === undefined ? { tool: name } : { tool: name, outcome }, "toolCalled()");
}

/**
 * Holds if the text of the last step matches. A match that takes longer than 250 ms counts as no match, and is reported in events and
 * traces. The flags `g` and `y` have no effect.
 */
export function textMatches(pattern: RegExp): PlainStopCondition {
  if (!(pattern instanceof RegExp))
    throw createConditionError("textMatches()", "takes a regular expression, for example /DONE/i.");
  const { source, flags } = pattern;
  const kept = flags.replace(/[gy]/g, "");
  return checkCondition(kept === "" ? { text: source } : { text: source, flags: kept }, "textMatches()");
}

/** A checked condition with its name in events and traces. */
export type CompiledCondition = { readonly name: string; readonly recorded: RecordedCondition } & (
  | { readonly type: "plain"; readonly plain: PlainStopCondition; readonly pattern?: RegExp }
  | { readonly type: "function"; readonly call: StopFunction }
);

export type CompiledConditions = readonly CompiledCondition[];

const maxConditions = 20;

/** @param what names the option in error messages. @throws PawlError `bad_configuration`, or the given code */
export function compileStopWhen(
  given: StopCondition | readonly StopCondition[],
  what: string,
  code: ErrorCode = "bad_configuration",
): CompiledConditions {
  const list: readonly StopCondition[] = Array.isArray(given) ? given : [given];
  if (list.length > maxConditions)
    throw createConditionError(what, `has ${list.length} conditions; the maximum is ${maxConditions}.`, code);
  return list.map((condition, index) =>
    typeof condition === "function" ? compileFunction(condition, index) : compilePlain(condition, what, code),
  );
}

/** Rejects a condition on a tool that the agent does not have, because it would never hold. @throws PawlError */
export function checkConditionTools(
  conditions: CompiledConditions,
  tools: ReadonlyMap<string, unknown>,
  code: ErrorCode = "bad_configuration",
): void {
  for (const { recorded } of conditions) {
    if (!("tool" in recorded) || tools.has(recorded.tool)) continue;
    const near = nearestName(recorded.tool, tools.keys());
    const hint = near === undefined ? "" : ` Do you mean ${JSON.stringify(near)}?`;
    const name = JSON.stringify(recorded.tool.slice(0, 100));
    throw createConditionError("stopWhen", `names the tool ${name}, which the agent does not have.${hint}`, code);
  }
}

const compiledByRecorded = new WeakMap<readonly RecordedCondition[], CompiledConditions>();

/** Compiles the recorded conditions that need no function. A transcript has one list per run, so each list is compiled once. */
export function compileRecorded(recorded: readonly RecordedCondition[]): CompiledConditions {
  let found = compiledByRecorded.get(recorded);
  if (found === undefined) {
    found = recorded.flatMap((one) => ("function" in one ? [] : [compilePlain(one, "stopWhen", "store_corrupt")]));
    compiledByRecorded.set(recorded, found);
  }
  return found;
}

function compileFunction(call: StopFunction, index: number): CompiledCondition {
  const own = typeof call.name === "string" ? call.name.slice(0, 100).replace(/\p{Cc}|\p{Surrogate}/gu, "") : "";
  // An inline function in the options has the name of the option.
  const recorded = { function: own === "" || own === "stopWhen" ? String(index + 1) : own };
  return { type: "function", name: nameOfCondition(recorded), recorded, call };
}

function compilePlain(condition: PlainStopCondition, what: string, code: ErrorCode): CompiledCondition {
  const plain = checkCondition(condition, what, code);
  const named = { type: "plain", name: nameOfCondition(plain), recorded: plain, plain } as const;
  return "text" in plain ? { ...named, pattern: compilePattern(plain, what, code) } : named;
}

function compilePattern(
  { text, flags = "" }: Extract<PlainStopCondition, { readonly text: string }>,
  what: string,
  code: ErrorCode,
): RegExp {
  try {
    return new RegExp(text, flags);
  } catch (cause) {
    throw new PawlError(code, `${what} has a regular expression that cannot be used: ${String(cause)}`, { cause });
  }
}

const outcomes: { readonly [Outcome in CallOutcome]: true } = {
  ok: true,
  error: true,
  denied: true,
  blocked: true,
  skipped: true,
  not_run: true,
  aborted: true,
  interrupted: true,
};
const maxPattern = 2_000;

/** Returns a frozen copy of the known fields. */
function checkCondition(condition: PlainStopCondition, what: string, code?: ErrorCode): PlainStopCondition {
  const { steps, tool, outcome, text, flags, ...others } = Object(condition) as { readonly [key: string]: unknown };
  const unknown = Object.keys(others)[0];
  if (unknown !== undefined)
    throw createConditionError(what, `has a condition with ${JSON.stringify(unknown)}. ${conditionForms}`, code);
  const kinds = [steps, tool, text].filter((value) => value !== undefined).length;
  if (kinds !== 1) throw createConditionError(what, `has a value that is not a condition. ${conditionForms}`, code);
  if (steps !== undefined) {
    if (!Number.isSafeInteger(steps) || (steps as number) < 1)
      throw createConditionError(what, `has ${String(steps)} steps; it must be a whole number, 1 or more.`, code);
    return deepFreeze({ steps: steps as number });
  }
  if (tool !== undefined) {
    if (typeof tool !== "string" || tool === "" || tool.length > 200)
      throw createConditionError(what, "needs the name of a tool: a string of 1 to 200 characters.", code);
    if (outcome === undefined) return deepFreeze({ tool });
    if (typeof outcome !== "string" || !Object.hasOwn(outcomes, outcome))
      throw createConditionError(what, `has an unknown outcome. It may be ${Object.keys(outcomes).join(", ")}.`, code);
    return deepFreeze({ tool, outcome: outcome as CallOutcome });
  }
  if (typeof text !== "string" || text.length > maxPattern)
    throw createConditionError(what, `has a pattern that is too long; the maximum is ${maxPattern} characters.`, code);
  if (flags !== undefined && typeof flags !== "string")
    throw createConditionError(what, "has flags that are not a string.", code);
  return deepFreeze(flags === undefined ? { text } : { text, flags });
}

const conditionForms =
  "Create a condition with stepCount(n), toolCalled(name) or textMatches(pattern), or pass a function that returns true or false.";

function createConditionError(what: string, why: string, code: ErrorCode = "bad_configuration"): PawlError {
  return new PawlError(code, `${what} ${why}`);
}
