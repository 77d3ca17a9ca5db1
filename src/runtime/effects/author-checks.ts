/**
 * What the author of an agent says of a call: the permission check, and whether the tool needs an approval.
 *
 * 1. A check that throws, takes too long or gives no answer fails closed: the call is denied, or a person is asked.
 * 2. An answer is read once, within the guard: a getter may throw, or answer differently the next time.
 * 3. A check that failed is recorded as a hook that failed is, so that events and traces name it.
 */

import { freeze } from "../../core/data/freeze.js";
import type { HookRecord } from "../../core/machine/event.js";
import type { PermissionRule } from "../../core/machine/reserved-events.js";
import type { CallRecord } from "../../core/transcript/results.js";
import type { HookContext } from "../../ports/hook.js";
import type { PermissionRequest } from "../../ports/permission.js";
import type { AnyTool } from "../../ports/tool.js";
import { defaultHookTimeoutMs } from "../agent/compile-hooks.js";
import { callWithContext } from "../hooks/call-hooks.js";
import type { Cancellation } from "../lib/cancellation.js";
import { type Coroutine, type MaybePromise, type Waiting, wait } from "../lib/coroutine.js";
import { textOfError } from "../lib/error-text.js";
import type { SettledCall } from "../lib/time-limit.js";
import { realCall } from "../tools/call-tool.js";
import type { EffectContext } from "../work/effect-context.js";
import type { FoundList } from "../work/message-lists.js";
import { permissionContext, sentMessages } from "./permission-context.js";
import { approvalCheckFailed, permissionCheckFailed, toolNotAllowed } from "./prompts.js";

/** An answer of a permission check, copied. */
export type PlainPermission = (
  | { readonly verdict: "allow" }
  | { readonly verdict: "ask"; readonly question?: string; readonly expiresInMs?: number }
  | { readonly verdict: "deny"; readonly reason: string; readonly stopRun?: true }
) & { readonly rule?: PermissionRule };

/** Whether a call needs an approval; `question` says why, if the tool could not tell. */
export type ApprovalNeed = { readonly isNeeded: boolean; readonly question?: string };

export type AuthorAnswer = {
  readonly permission: PlainPermission;
  readonly need: ApprovalNeed;
  /** The checks that failed. */
  readonly records: readonly HookRecord[];
};

export type AskedCall = {
  readonly record: CallRecord;
  readonly tool: AnyTool;
  /** The input as the tool gets it. */
  readonly validated: unknown;
  /** A person's edit needs no other approval. */
  readonly isEdited: boolean;
};

export function askAuthor(call: AskedCall, context: EffectContext, cancellation: Cancellation): Waiting<AuthorAnswer> {
  const { needsApproval } = call.tool;
  if (context.parts.canExecuteTool !== undefined || typeof needsApproval === "function")
    return askChecks(call, context, cancellation);
  // Almost every call: there is nothing to ask.
  return wait(call.isEdited || !needsApproval ? notAsked : plainlyNeeded);
}

function* askChecks(
  { record, tool, validated, isEdited }: AskedCall,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<AuthorAnswer> {
  const { clock } = context.parts;
  const startedAt = clock.elapsed();
  const records: HookRecord[] = [];
  const note = (name: string, failure: CheckFailure | undefined) => {
    if (failure !== undefined) records.push(failureRecord(name, failure, clock.elapsed() - startedAt));
  };
  const sent = yield* sentMessages(context);
  // Both are asked before either is waited for.
  const asked = permissionOf(record, tool, context, cancellation, sent);
  const needed = isEdited ? notNeeded : needOf(tool, validated, record, context, cancellation, sent);
  const { failure, ...permission } = permissionIn(yield* wait(asked));
  note("canExecuteTool", failure);
  const { failure: needFailure, ...need } = needIn(yield* wait(needed));
  note(`needsApproval of ${tool.name}`, needFailure);
  return { ...permission, need, records };
}

export const noRecords: readonly HookRecord[] = [];
const plainlyAllowed: PlainPermission = { verdict: "allow" };
const notAsked: AuthorAnswer = { permission: plainlyAllowed, need: { isNeeded: false }, records: noRecords };
const plainlyNeeded: AuthorAnswer = { permission: plainlyAllowed, need: { isNeeded: true }, records: noRecords };

/** Asks the permission check alone: about a call that the provider runs, or one that a person has approved. */
export function* askPermission(
  record: CallRecord,
  tool: Pick<AnyTool, "name" | "readOnly">,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<Pick<AuthorAnswer, "permission" | "records">> {
  const { clock, canExecuteTool } = context.parts;
  if (canExecuteTool === undefined) return { permission: plainlyAllowed, records: noRecords };
  const startedAt = clock.elapsed();
  const sent = yield* sentMessages(context);
  const asked = permissionOf(record, tool, context, cancellation, sent);
  const { permission, failure } = permissionIn(yield* wait(asked));
  if (failure === undefined) return { permission, records: [] };
  return { permission, records: [failureRecord("canExecuteTool", failure, clock.elapsed() - startedAt)] };
}

export type CheckFailure = { readonly outcome: "threw" | "timed_out" | "refused"; readonly message: string };

/** The record of a check by the author's code that failed. */
export function failureRecord(name: string, { outcome, message }: CheckFailure, ms: number): HookRecord {
  return { name, hook: "beforeToolCall", ms: Math.max(0, Math.round(ms * 1_000) / 1_000), outcome, message };
}

const allowed: SettledCall = { type: "returned", value: "allow" };
const notNeeded: SettledCall = { type: "returned", value: false };

function permissionOf(
  record: CallRecord,
  tool: Pick<AnyTool, "name" | "readOnly">,
  context: EffectContext,
  cancellation: Cancellation,
  sent: FoundList | null,
): MaybePromise<SettledCall> {
  const { canExecuteTool, hasDeferredTools } = context.parts;
  if (canExecuteTool === undefined) return allowed;
  const request: PermissionRequest = {
    callKey: record.callKey,
    toolCall: freeze(realCall(record.part, hasDeferredTools)),
    tool: { name: tool.name, readOnly: tool.readOnly === true },
    input: freeze(record.input),
  };
  const ask = (own: HookContext) =>
    canExecuteTool(request, permissionContext(own, record.part.toolCallId, context, sent));
  return callWithContext(ask, defaultHookTimeoutMs, context, cancellation);
}

type ReadPermission = { readonly permission: PlainPermission; readonly failure?: CheckFailure };

function permissionIn(call: SettledCall): ReadPermission {
  if (call.type !== "returned") return deniedBy({ outcome: call.type, message: call.message });
  try {
    const permission = plainPermission(call.value);
    return permission === undefined ? deniedBy(noAnswer) : { permission };
  } catch (error) {
    return deniedBy({ outcome: "refused", message: `its answer cannot be read: ${textOfError(error, 500)}` });
  }
}

const noAnswer: CheckFailure = { outcome: "refused", message: "it gave no answer: allow, ask or deny" };

function deniedBy(failure: CheckFailure): ReadPermission {
  return { permission: { verdict: "deny", reason: permissionCheckFailed(failure.message) }, failure };
}

/** A copy of an answer; undefined if it has an unknown shape. Throws what its getters throw. */
function plainPermission(answer: unknown): PlainPermission | undefined {
  const members: object = typeof answer === "object" && answer !== null ? answer : { verdict: answer };
  const { verdict, question, expiresInMs, reason, stopRun, rule } = members as { readonly [name: string]: unknown };
  const byRule = rule === undefined ? {} : { rule: plainRule(rule) };
  switch (verdict) {
    case "allow":
      return { verdict, ...byRule };
    case "ask":
      return {
        verdict,
        ...(question === undefined ? {} : { question: textOfError(question) }),
        ...(isTime(expiresInMs) ? { expiresInMs } : {}),
        ...byRule,
      };
    case "deny": {
      const why = "reason" in members ? textOfError(reason) : toolNotAllowed;
      return { verdict, reason: why, ...(stopRun === true ? { stopRun } : {}), ...byRule };
    }
    default:
      return undefined;
  }
}

const ruleWords = {
  verdict: ["allow", "ask", "deny"],
  kind: ["tool", "command", "path", "domain"],
  scope: ["session", "project", "user", "folder", "option"],
} as const;
const longestPattern = 1_000;

/** A copy of a rule. Throws if it is none: a decision whose reason cannot be kept is refused. */
function plainRule(rule: unknown): PermissionRule {
  const members: { readonly [name: string]: unknown } = typeof rule === "object" && rule !== null ? { ...rule } : {};
  const word = <Name extends keyof typeof ruleWords>(name: Name): (typeof ruleWords)[Name][number] => {
    const found = ruleWords[name].find((one) => one === members[name]);
    if (found === undefined) throw new TypeError(`the rule's ${name} must be ${ruleWords[name].join(", ")}`);
    return found;
  };
  const { pattern } = members;
  if (typeof pattern !== "string" || pattern.length > longestPattern)
    throw new TypeError(`the rule's pattern must be a text of at most ${longestPattern} characters`);
  return { verdict: word("verdict"), kind: word("kind"), pattern, scope: word("scope") };
}

function isTime(ms: unknown): ms is number {
  return typeof ms === "number" && Number.isFinite(ms) && ms >= 0;
}

function needOf(
  { needsApproval }: AnyTool,
  validated: unknown,
  { part }: CallRecord,
  context: EffectContext,
  cancellation: Cancellation,
  sent: FoundList | null,
): MaybePromise<SettledCall> {
  if (typeof needsApproval !== "function") return { type: "returned", value: needsApproval };
  const ask = (own: HookContext) => needsApproval(validated, permissionContext(own, part.toolCallId, context, sent));
  return callWithContext(ask, defaultHookTimeoutMs, context, cancellation);
}

/** A tool that cannot tell whether it is dangerous counts as dangerous. */
function needIn(call: SettledCall): ApprovalNeed & { readonly failure?: CheckFailure } {
  if (call.type === "returned") return { isNeeded: Boolean(call.value) };
  const { type: outcome, message } = call;
  return { isNeeded: true, question: approvalCheckFailed(message), failure: { outcome, message } };
}
