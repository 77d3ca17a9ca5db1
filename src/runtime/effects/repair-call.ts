/**
 * Repairs a call that cannot be used as the model wrote it (TOOL-16).
 *
 * 1. The built-in repairs come first: near names; JSON with fences, comments or trailing commas; and, for a tool with lenient input,
 *    arguments that nearly match its schema. The author's function handles the rest.
 * 2. A call is repaired once. The result is checked like any other call.
 * 3. A misspelt name never selects a tool that may change something, unless it differs only in case and separators. Nor can the author's
 *    function replace a read-only tool with one that is not read-only.
 */
import { parseJson } from "../../core/data/json.js";
import type { Json } from "../../core/data/message.js";
import { findNearNames, normalizeName } from "../../core/data/nearest-name.js";
import { repairJson } from "../../core/data/repair-json.js";
import { callToolName } from "../../core/data/tool-search-names.js";
import type { HookRecord, Repair } from "../../core/machine/event.js";
import type { CallRecord } from "../../core/transcript/results.js";
import type { HookContext } from "../../ports/hook.js";
import type { RepairRequest, RepairToolCall } from "../../ports/repair.js";
import { defaultHookTimeoutMs } from "../agent/compile-hooks.js";
import { callWithContext } from "../hooks/call-hooks.js";
import { toCheckedJson } from "../hooks/check-return.js";
import { maxInputBytes } from "../hooks/tool-hooks.js";
import type { Cancellation } from "../lib/cancellation.js";
import { type Awaitable, type Coroutine, wait } from "../lib/coroutine.js";
import { formatError } from "../lib/error-text.js";
import { parseInnerCall, unwrapCall } from "../tools/call-tool.js";
import type { CompiledTool } from "../tools/compile-tools.js";
import { fitInput } from "../tools/fit-input.js";
import type { EffectContext } from "../work/effect-context.js";
import { rawTextOf, validateInput } from "../work/tool-input.js";
import { createFailureRecord, noRecords } from "./author-checks.js";
import { createPermissionContext, resolveSentMessages } from "./permission-context.js";
import { unknownTool } from "./prompts.js";

/** A call after its repair, perhaps with another name or another input. */
export type RepairedCall = {
  readonly name: string;
  readonly record: CallRecord;
  readonly repair?: Repair;
  readonly records: readonly HookRecord[];
};

type FindTool = (name: string) => CompiledTool | undefined;

/** @param findTool the tools that this run may use, by name */
export function repairCall(
  record: CallRecord,
  findTool: FindTool,
  context: EffectContext,
  cancellation: Cancellation,
): Awaitable<RepairedCall> {
  const repairToolCall = findAuthorRepair(context);
  const initial = unwrapCallTool({ name: record.part.name, record, records: noRecords }, context);
  if (repairToolCall === null || record.part.approvalId !== undefined) return wait(initial);
  const compiled = findTool(initial.name);
  if (compiled !== undefined && !isUnparsed(compiled, record) && repairToolCall === undefined)
    return wait(fitCallInput(initial, findTool));
  return repairWithAuthor(initial, repairToolCall, findTool, context, cancellation);
}

/** Replaces a call of `call_tool` with its inner call, even if repairs are disabled: such a call is not a mistake. */
function unwrapCallTool(call: RepairedCall, { agent }: EffectContext): RepairedCall {
  if (call.name !== callToolName || !agent.hasDeferredTools) return call;
  const { input, invalid } = call.record.part;
  const text = invalid === undefined ? undefined : repairJson(rawTextOf(input) ?? "");
  const repaired = text === undefined ? undefined : parseJson(text);
  const inner = parseInnerCall(repaired?.ok === true ? repaired.value : (input as Json));
  if (inner === null) return call;
  const { name } = inner;
  const repair: Repair = { by: "call_tool", problem: invalid ?? "Called through call_tool", name };
  return { ...call, name, record: { ...replaceInput(call.record, inner.input), tool: name }, repair };
}

function* repairWithAuthor(
  initial: RepairedCall,
  repairToolCall: RepairToolCall | undefined,
  findTool: FindTool,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<RepairedCall> {
  const { tools } = context.agent;
  const known = [...tools.keys()].filter((name) => findTool(name) !== undefined);
  const repaired = fitCallInput(repairJsonInput(repairName(initial, known, findTool), findTool), findTool);
  if (repairToolCall === undefined) return repaired;
  const problem = yield* findProblem(repaired, findTool, context, cancellation);
  return problem === undefined
    ? repaired
    : yield* askRepairFunction(repaired, problem, findTool, context, cancellation);
}

/** Undefined in a replay, which reads the result of the author's function from the log. Null if repairs are disabled. */
function findAuthorRepair({ agent: { repairToolCall, isReplay } }: EffectContext): RepairToolCall | null | undefined {
  return isReplay === true && repairToolCall !== null ? undefined : repairToolCall;
}

function isUnparsed({ tool }: CompiledTool, { part, changed }: CallRecord): boolean {
  return part.invalid !== undefined && !changed && tool.executeRaw === undefined;
}

function repairName(call: RepairedCall, known: readonly string[], findTool: FindTool): RepairedCall {
  if (findTool(call.name) !== undefined) return call;
  const name = findSameName(call.name, known) ?? findNearReadOnlyName(call.name, known, findTool);
  if (name === undefined) return call;
  const repair = { by: "near_name", problem: unknownTool(call.name), name } as const;
  return { ...call, name, record: { ...call.record, tool: name }, repair };
}

/** `Read-File` and `functions.read_file` are `read_file`. */
function findSameName(name: string, known: readonly string[]): string | undefined {
  const names = new Set([normalizeName(name), normalizeName(name.slice(name.search(/[^.:/]*$/)))]);
  return single(known.filter((one) => names.has(normalizeName(one))));
}

function findNearReadOnlyName(name: string, known: readonly string[], findTool: FindTool): string | undefined {
  const near = single(findNearNames(name, known));
  return near !== undefined && findTool(near)?.tool.readOnly === true ? near : undefined;
}

function single(names: readonly string[]): string | undefined {
  return names.length === 1 ? names[0] : undefined;
}

function repairJsonInput(call: RepairedCall, findTool: FindTool): RepairedCall {
  const compiled = findTool(call.name);
  const { invalid, input } = call.record.part;
  if (compiled === undefined || invalid === undefined || !isUnparsed(compiled, call.record)) return call;
  const text = repairJson(rawTextOf(input) ?? "");
  const parsed = text === undefined ? undefined : parseJson(text);
  if (parsed?.ok !== true) return call;
  const problem = call.repair === undefined ? invalid : `${call.repair.problem}; ${invalid}`;
  const repair: Repair = call.repair === undefined ? { by: "json", problem } : { ...call.repair, problem };
  return { ...call, record: replaceInput(call.record, parsed.value), repair };
}

function fitCallInput(call: RepairedCall, findTool: FindTool): RepairedCall {
  const compiled = findTool(call.name);
  if (compiled?.tool.lenientInput !== true || isUnparsed(compiled, call.record)) return call;
  const fitted = fitInput(compiled.specification.inputSchema, call.record.input as Json);
  if (fitted === null) return call;
  const { input, changes } = fitted;
  const problem = "The arguments did not fit the tool's schema";
  const repair: Repair =
    call.repair === undefined || call.repair.by === "call_tool"
      ? { ...call.repair, by: "input", problem, changes }
      : { ...call.repair, problem: `${call.repair.problem}; ${problem}`, changes };
  return { ...call, record: replaceInput(call.record, input), repair };
}

function replaceInput(record: CallRecord, input: Json): CallRecord {
  return { ...record, input, changed: true };
}

function* findProblem(
  { name, record }: RepairedCall,
  findTool: FindTool,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<RepairRequest["problem"] | undefined> {
  const compiled = findTool(name);
  if (compiled === undefined) return { kind: "unknown_tool", message: unknownTool(name) };
  const validated = yield* wait(validateInput(compiled, record, context, cancellation));
  if (validated.ok) return undefined;
  return { kind: isUnparsed(compiled, record) ? "invalid_json" : "invalid_input", message: validated.message };
}

function* askRepairFunction(
  call: RepairedCall,
  problem: RepairRequest["problem"],
  findTool: FindTool,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<RepairedCall> {
  const { repairToolCall, clock, hasDeferredTools } = context.agent;
  if (repairToolCall === undefined || repairToolCall === null) return call;
  const specification = findTool(call.name)?.specification;
  const request: RepairRequest = {
    call: unwrapCall(call.record.part, hasDeferredTools),
    problem,
    ...(specification === undefined ? {} : { specification }),
  };
  const sent = yield* resolveSentMessages(context);
  const startedAt = clock.elapsed();
  const ask = (own: HookContext) =>
    repairToolCall(request, createPermissionContext(own, call.record.part.toolCallId, context, sent));
  const settled = yield* wait(callWithContext(ask, defaultHookTimeoutMs, context, cancellation));
  try {
    if (settled.type !== "returned")
      return attachFailure(call, settled.type, settled.message, clock.elapsed() - startedAt);
    return applyRepairAnswer(call, settled.value, problem.message, findTool);
  } catch (error) {
    return attachFailure(
      call,
      "refused",
      `its answer cannot be used: ${formatError(error, 500)}`,
      clock.elapsed() - startedAt,
    );
  }
}

function attachFailure(
  call: RepairedCall,
  outcome: "threw" | "timed_out" | "refused",
  message: string,
  ms: number,
): RepairedCall {
  return { ...call, records: [createFailureRecord("repairToolCall", { outcome, message }, ms)] };
}

/** Throws if the answer cannot be used. */
function applyRepairAnswer(call: RepairedCall, answer: unknown, problem: string, findTool: FindTool): RepairedCall {
  if (answer === null || answer === undefined) return call;
  if (typeof answer !== "object") throw new Error("it may return { name }, { input }, both, or null");
  const unknown = Object.keys(answer).filter((key) => key !== "name" && key !== "input");
  if (unknown.length > 0) throw new Error(`it has ${unknown.join(", ")}; it may have name and input`);
  const { name = call.name, input } = answer as { readonly name?: unknown; readonly input?: unknown };
  if (typeof name !== "string" || findTool(name) === undefined)
    throw new Error("its name is not the name of a tool of this run");
  if (findTool(call.name)?.tool.readOnly === true && findTool(name)?.tool.readOnly !== true)
    throw new Error(`${call.name} is read-only, and ${name} is not`);
  const renamed = name === call.record.part.name ? call.record : { ...call.record, tool: name };
  const record = input === undefined ? renamed : replaceInput(renamed, toCheckedJson(input, maxInputBytes));
  const own = name === call.record.part.name ? {} : { name };
  return { name, record, repair: { by: "custom", problem, ...own }, records: [] };
}
