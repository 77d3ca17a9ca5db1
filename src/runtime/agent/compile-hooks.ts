/**
 * The hooks of an agent: checked once, and grouped by the point at which they are called.
 */
import { aBoolean, anyValue, checkPlainOptions, type OptionTable } from "../../check-options.js";
import type { HookPoint } from "../../core/machine/event.js";
import { PawlError } from "../../errors.js";
import type { Hook, HookContext } from "../../ports/hook.js";

export type CompiledHook = {
  readonly name: string;
  readonly timeoutMs: number;
  /** Whether a failure of the hook refuses the guarded action. */
  readonly isClosed: boolean;
  /** Whether deltas are buffered until the hook accepts the answer. */
  readonly holds: boolean;
  readonly call: (subject: unknown, context: HookContext) => unknown;
};

export type Hooks = { readonly [Point in HookPoint]: readonly CompiledHook[] };

/** The time limit of a hook or a permission check. */
export const defaultHookTimeoutMs = 10_000;

/** Whether a hook without `onFailure` fails closed at a point. */
const failsClosedByDefault: { readonly [Point in HookPoint]: boolean } = {
  beforeRun: false,
  beforeStep: false,
  beforeLLMCall: false,
  besideLLMCall: true,
  afterLLMCall: false,
  beforeToolCall: true,
  afterToolCall: true,
  afterStep: false,
  beforeStop: false,
  onError: false,
  beforeCompaction: false,
  onCompacted: false,
  afterRun: false,
};

/** Every point, in the order of a run. */
export const hookPoints = Object.keys(failsClosedByDefault) as readonly HookPoint[];

/** @throws PawlError `bad_configuration` */
export function compileHooks(hooks: readonly Hook[]): Hooks {
  if (!Array.isArray(hooks)) throw new PawlError("bad_configuration", "hooks must be an array of hooks.");
  hooks.forEach(checkHook);
  const compiled: { [Point in HookPoint]?: readonly CompiledHook[] } = {};
  for (const point of hookPoints) compiled[point] = hooks.flatMap((hook) => compilePoint(point, hook));
  return compiled as Hooks;
}

function compilePoint(point: HookPoint, hook: Hook): readonly CompiledHook[] {
  if (hook[point] === undefined) return [];
  const { name, timeoutMs = defaultHookTimeoutMs, onFailure, hold = false } = hook;
  const isClosed = onFailure === undefined ? failsClosedByDefault[point] : onFailure === "closed";
  const call = hook[point] as CompiledHook["call"];
  return [{ name, timeoutMs, isClosed, holds: hold, call: (subject, context) => call.call(hook, subject, context) }];
}

const pointRules = Object.fromEntries(hookPoints.map((point) => [point, anyValue])) as OptionTable<
  Pick<Hook, HookPoint>
>;
const hookRules: OptionTable<Hook> = {
  name: anyValue,
  timeoutMs: anyValue,
  onFailure: anyValue,
  hold: aBoolean,
  ...pointRules,
};

/** Names that other libraries, and an agent's own callbacks, use for these points. */
const otherNames = {
  beforeModel: "beforeLLMCall",
  afterModel: "afterLLMCall",
  before_model: "beforeLLMCall",
  after_model: "afterLLMCall",
  wrapToolCall: "beforeToolCall and afterToolCall",
  beforeTool: "beforeToolCall",
  afterTool: "afterToolCall",
  beforeAgent: "beforeRun",
  afterAgent: "afterRun",
  onToolCall: "beforeToolCall",
  onToolResult: "afterToolCall",
  onStepFinish: "afterStep",
  onCompaction: "beforeCompaction",
  timeout: "timeoutMs",
};

function checkHook(hook: Hook, index: number): void {
  if (typeof hook !== "object" || hook === null)
    throw new PawlError(
      "bad_configuration",
      `Hook ${index + 1} is not an object. Give it a name, and functions at points of a run.`,
    );
  const { name, timeoutMs, onFailure } = hook;
  if (typeof name !== "string" || name === "" || name.length > 100)
    throw new PawlError(
      "bad_configuration",
      `Hook ${index + 1} has no name. Give it a name of 1 to 100 characters: events refer to the hook by it.`,
    );
  if (timeoutMs !== undefined && !(Number.isFinite(timeoutMs) && timeoutMs > 0))
    throw new PawlError(
      "bad_configuration",
      `The hook "${name}" has timeoutMs ${String(timeoutMs)}; it must be more than 0. Omit it for ${defaultHookTimeoutMs}.`,
    );
  if (onFailure !== undefined && onFailure !== "open" && onFailure !== "closed")
    throw new PawlError(
      "bad_configuration",
      `The hook "${name}" has onFailure ${JSON.stringify(onFailure)}; it must be "open" or "closed".`,
    );
  checkPlainOptions(`The hook "${name}"`, hookRules, hook, { otherNames });
  for (const [key, value] of Object.entries(hook)) {
    const isPoint = (hookPoints as readonly string[]).includes(key);
    // A hook with a misspelt point would never be called, and would guard nothing.
    if (isPoint ? value !== undefined && typeof value !== "function" : typeof value === "function")
      throw new PawlError(
        "bad_configuration",
        `The hook "${name}" has ${key}, which is ${isPoint ? "not a function" : "not a point of a run"}. Hooks are called at ${hookPoints.join(", ")}.`,
      );
  }
}
