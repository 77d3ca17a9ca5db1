/**
 * Repairs a call that cannot be used as the model wrote it (TOOL-16).
 *
 * 1. The built-in repairs come first: names that are near; JSON with fences, comments or trailing commas; and, for a tool
 *    that takes lenient input, arguments that nearly fit its schema. The author's function is asked about what is left.
 * 2. A call is repaired once. What comes out is checked like any other call.
 * 3. A mistake in a name never leads to a tool that may change something: only a name that is the same except for case and
 *    separators does. Nor does the author's function lead from a read-only tool to another kind.
 */
import { parseJson } from "../../core/data/json.js";
import { mendJson } from "../../core/data/mend-json.js";
import type { Json } from "../../core/data/message.js";
import { foldedName, nearNames } from "../../core/data/nearest-name.js";
import { callToolName } from "../../core/data/tool-search-names.js";
import type { HookRecord, Repair } from "../../core/machine/event.js";
import type { CallRecord } from "../../core/transcript/results.js";
import type { HookContext } from "../../ports/hook.js";
import type { RepairRequest, RepairToolCall } from "../../ports/repair.js";
import { defaultHookTimeoutMs } from "../agent/compile-hooks.js";
import { callWithContext } from "../hooks/call-hooks.js";
import { jsonIn } from "../hooks/check-return.js";
import { mostInputBytes } from "../hooks/tool-hooks.js";
import type { Cancellation } from "../lib/cancellation.js";
import { type Coroutine, type Waiting, wait } from "../lib/coroutine.js";
import { textOfError } from "../lib/error-text.js";
import { innerCallOf, realCall } from "../tools/call-tool.js";
import type { CompiledTool } from "../tools/compile-tools.js";
import { fitInput } from "../tools/fit-input.js";
import type { EffectContext } from "../work/effect-context.js";
import { rawTextOf, validatedInput } from "../work/tool-input.js";
import { failureRecord, noRecords } from "./author-checks.js";
import { permissionContext, sentMessages } from "./permission-context.js";
import { unknownTool } from "./prompts.js";

/** A call as it is now: with another name or another input. */
export type Mended = {
  readonly name: string;
  readonly record: CallRecord;
  readonly repair?: Repair;
  readonly records: readonly HookRecord[];
};

type Offered = (name: string) => CompiledTool | undefined;

/** @param offered the tools that this run may use, by name */
export function repairCall(
  record: CallRecord,
  offered: Offered,
  context: EffectContext,
  cancellation: Cancellation,
): Waiting<Mended> {
  const repairToolCall = authorsRepair(context);
  const plain = unwrapped({ name: record.part.name, record, records: noRecords }, context);
  if (repairToolCall === null || record.part.approvalId !== undefined) return wait(plain);
  const first = offered(plain.name);
  if (first !== undefined && !isUnparsed(first, record) && repairToolCall === undefined)
    return wait(withFittedInput(plain, offered));
  return mend(plain, repairToolCall, offered, context, cancellation);
}

/** A call of `call_tool` becomes the call that it stands for, also where calls are not repaired: nothing is wrong with it. */
function unwrapped(call: Mended, { parts }: EffectContext): Mended {
  if (call.name !== callToolName || !parts.hasDeferredTools) return call;
  const { input, invalid } = call.record.part;
  const text = invalid === undefined ? undefined : mendJson(rawTextOf(input) ?? "");
  const mended = text === undefined ? undefined : parseJson(text);
  const inner = innerCallOf(mended?.ok === true ? mended.value : (input as Json));
  if (inner === null) return call;
  const { name } = inner;
  const repair: Repair = { by: "call_tool", problem: invalid ?? "Called through call_tool", name };
  return { ...call, name, record: { ...withInput(call.record, inner.input), tool: name }, repair };
}

function* mend(
  plain: Mended,
  repairToolCall: RepairToolCall | undefined,
  offered: Offered,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<Mended> {
  const { tools } = context.parts;
  const known = [...tools.keys()].filter((name) => offered(name) !== undefined);
  const mended = withFittedInput(withJson(withName(plain, known, offered), offered), offered);
  if (repairToolCall === undefined) return mended;
  const problem = yield* problemOf(mended, offered, context, cancellation);
  return problem === undefined ? mended : yield* askAuthor(mended, problem, offered, context, cancellation);
}

/** A replay takes what the author's function made of a call from the log. */
function authorsRepair({ parts: { repairToolCall, isReplay } }: EffectContext): RepairToolCall | null | undefined {
  return isReplay === true && repairToolCall !== null ? undefined : repairToolCall;
}

function isUnparsed({ tool }: CompiledTool, { part, changed }: CallRecord): boolean {
  return part.invalid !== undefined && !changed && tool.executeRaw === undefined;
}

function withName(call: Mended, known: readonly string[], offered: Offered): Mended {
  if (offered(call.name) !== undefined) return call;
  const name = sameName(call.name, known) ?? slipOf(call.name, known, offered);
  if (name === undefined) return call;
  const repair = { by: "near_name", problem: unknownTool(call.name), name } as const;
  return { ...call, name, record: { ...call.record, tool: name }, repair };
}

/** `Read-File` and `functions.read_file` are `read_file`. */
function sameName(name: string, known: readonly string[]): string | undefined {
  const names = new Set([foldedName(name), foldedName(name.slice(name.search(/[^.:/]*$/)))]);
  return onlyOne(known.filter((one) => names.has(foldedName(one))));
}

function slipOf(name: string, known: readonly string[], offered: Offered): string | undefined {
  const near = onlyOne(nearNames(name, known));
  return near !== undefined && offered(near)?.tool.readOnly === true ? near : undefined;
}

function onlyOne(names: readonly string[]): string | undefined {
  return names.length === 1 ? names[0] : undefined;
}

function withJson(call: Mended, offered: Offered): Mended {
  const compiled = offered(call.name);
  const { invalid, input } = call.record.part;
  if (compiled === undefined || invalid === undefined || !isUnparsed(compiled, call.record)) return call;
  const text = mendJson(rawTextOf(input) ?? "");
  const parsed = text === undefined ? undefined : parseJson(text);
  if (parsed?.ok !== true) return call;
  const problem = call.repair === undefined ? invalid : `${call.repair.problem}; ${invalid}`;
  const repair: Repair = call.repair === undefined ? { by: "json", problem } : { ...call.repair, problem };
  return { ...call, record: withInput(call.record, parsed.value), repair };
}

function withFittedInput(call: Mended, offered: Offered): Mended {
  const compiled = offered(call.name);
  if (compiled?.tool.lenientInput !== true || isUnparsed(compiled, call.record)) return call;
  const fitted = fitInput(compiled.specification.inputSchema, call.record.input as Json);
  if (fitted === null) return call;
  const { input, changes } = fitted;
  const problem = "The arguments did not fit the tool's schema";
  const repair: Repair =
    call.repair === undefined || call.repair.by === "call_tool"
      ? { ...call.repair, by: "input", problem, changes }
      : { ...call.repair, problem: `${call.repair.problem}; ${problem}`, changes };
  return { ...call, record: withInput(call.record, input), repair };
}

function withInput(record: CallRecord, input: Json): CallRecord {
  return { ...record, input, changed: true };
}

function* problemOf(
  { name, record }: Mended,
  offered: Offered,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<RepairRequest["problem"] | undefined> {
  const compiled = offered(name);
  if (compiled === undefined) return { kind: "unknown_tool", message: unknownTool(name) };
  const validated = yield* wait(validatedInput(compiled, record, context, cancellation));
  if (validated.ok) return undefined;
  return { kind: isUnparsed(compiled, record) ? "invalid_json" : "invalid_input", message: validated.message };
}

function* askAuthor(
  call: Mended,
  problem: RepairRequest["problem"],
  offered: Offered,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<Mended> {
  const { repairToolCall, clock, hasDeferredTools } = context.parts;
  if (repairToolCall === undefined || repairToolCall === null) return call;
  const specification = offered(call.name)?.specification;
  const request: RepairRequest = {
    call: realCall(call.record.part, hasDeferredTools),
    problem,
    ...(specification === undefined ? {} : { specification }),
  };
  const sent = yield* sentMessages(context);
  const startedAt = clock.elapsed();
  const ask = (own: HookContext) =>
    repairToolCall(request, permissionContext(own, call.record.part.toolCallId, context, sent));
  const settled = yield* wait(callWithContext(ask, defaultHookTimeoutMs, context, cancellation));
  try {
    if (settled.type !== "returned") return failed(call, settled.type, settled.message, clock.elapsed() - startedAt);
    return taken(call, settled.value, problem.message, offered);
  } catch (error) {
    return failed(
      call,
      "refused",
      `its answer cannot be used: ${textOfError(error, 500)}`,
      clock.elapsed() - startedAt,
    );
  }
}

function failed(call: Mended, outcome: "threw" | "timed_out" | "refused", message: string, ms: number): Mended {
  return { ...call, records: [failureRecord("repairToolCall", { outcome, message }, ms)] };
}

/** Throws if the answer cannot be used. */
function taken(call: Mended, answer: unknown, problem: string, offered: Offered): Mended {
  if (answer === null || answer === undefined) return call;
  if (typeof answer !== "object") throw new Error("it may return { name }, { input }, both, or null");
  const unknown = Object.keys(answer).filter((key) => key !== "name" && key !== "input");
  if (unknown.length > 0) throw new Error(`it has ${unknown.join(", ")}; it may have name and input`);
  const { name = call.name, input } = answer as { readonly name?: unknown; readonly input?: unknown };
  if (typeof name !== "string" || offered(name) === undefined)
    throw new Error("its name is that of no tool of this run");
  if (offered(call.name)?.tool.readOnly === true && offered(name)?.tool.readOnly !== true)
    throw new Error(`${call.name} is read-only, and ${name} is not`);
  const renamed = name === call.record.part.name ? call.record : { ...call.record, tool: name };
  const record = input === undefined ? renamed : withInput(renamed, jsonIn(input, mostInputBytes));
  const own = name === call.record.part.name ? {} : { name };
  return { name, record, repair: { by: "custom", problem, ...own }, records: [] };
}
