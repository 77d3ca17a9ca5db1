/**
 * What the author of an agent says of a call: the permission check, and whether the tool needs an approval.
 *
 * 1. A check that throws, takes too long or gives no answer fails closed: the call is denied, or a person is asked.
 * 2. An answer is read once, within the guard: a getter may throw, or answer differently the next time.
 * 3. A check that failed is recorded as a hook that failed is, so that events and traces name it.
 */

import { deepFreeze } from "../../core/data/freeze.js";
import type { HookRecord } from "../../core/machine/event.js";
import type { PermissionRule } from "../../core/machine/reserved-events.js";
import type { CallRecord } from "../../core/transcript/results.js";
import type { HookContext } from "../../ports/hook.js";
import type { PermissionRequest } from "../../ports/permission.js";
import type { AnyTool } from "../../ports/tool.js";
import { defaultHookTimeoutMs } from "../agent/compile-hooks.js";
import { callWithContext } from "../hooks/call-hooks.js";
import type { Cancellation } from "../lib/cancellation.js";
import { type Awaitable, type Coroutine, type MaybePromise, wait } from "../lib/coroutine.js";
import { formatError } from "../lib/error-text.js";
import type { SettledCall } from "../lib/time-limit.js";
import { unwrapCall } from "../tools/call-tool.js";
import type { EffectContext } from "../work/effect-context.js";
import type { ResolvedList } from "../work/message-lists.js";
import { createPermissionContext, resolveSentMessages } from "./permission-context.js";
import { approvalCheckFailed, permissionCheckFailed, toolNotAllowed } from "./prompts.js";

/** An answer of a permission check, copied. */
export type PlainPermission = (
  | { readonly verdict: "allow" }
  | { readonly verdict: "ask"; readonly question?: string; readonly expiresInMs?: number }
  | { readonly verdict: "deny"; readonly reason: string; readonly stopRun?: true }
) & { readonly rule?: PermissionRule };

/** Whether a call needs an approval; `question` says why, if the tool could not tell. */
export type ApprovalNeed = { readonly isNeeded: boolean; readonly question?: string };

export type AuthorVerdict = {
  readonly permission: PlainPermission;
  readonly need: ApprovalNeed;
  /** The checks that failed. */
  readonly records: readonly HookRecord[];
};

export type CheckedCall = {
  readonly record: CallRecord;
  readonly tool: AnyTool;
  /** The input as the tool gets it. */
  readonly validated: unknown;
  /** A person's edit needs no other approval. */
  readonly isEdited: boolean;
};

export function checkWithAuthor(
  call: CheckedCall,
  context: EffectContext,
  cancellation: Cancellation,
): Awaitable<AuthorVerdict> {
  const { needsApproval } = call.tool;
  if (context.parts.canExecuteTool !== undefined || typeof needsApproval === "function")
    return runAuthorChecks(call, context, cancellation);
  // Almost every call: there is nothing to ask.
  return wait(call.isEdited || !needsApproval ? allowedVerdict : approvalVerdict);
}

function* runAuthorChecks(
  { record, tool, validated, isEdited }: CheckedCall,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<AuthorVerdict> {
  const { clock } = context.parts;
  const startedAt = clock.elapsed();
  const records: HookRecord[] = [];
  const recordFailure = (name: string, failure: CheckFailure | undefined) => {
    if (failure !== undefined) records.push(createFailureRecord(name, failure, clock.elapsed() - startedAt));
  };
  const sent = yield* resolveSentMessages(context);
  // Both are asked before either is waited for.
  const permissionCall = callCanExecuteTool(record, tool, context, cancellation, sent);
  const needCall = isEdited ? notNeededCall : callNeedsApproval(tool, validated, record, context, cancellation, sent);
  const { failure, ...permission } = readPermission(yield* wait(permissionCall));
  recordFailure("canExecuteTool", failure);
  const { failure: needFailure, ...need } = readApprovalNeed(yield* wait(needCall));
  recordFailure(`needsApproval of ${tool.name}`, needFailure);
  return { ...permission, need, records };
}

export const noRecords: readonly HookRecord[] = [];
const allowPermission: PlainPermission = { verdict: "allow" };
const allowedVerdict: AuthorVerdict = { permission: allowPermission, need: { isNeeded: false }, records: noRecords };
const approvalVerdict: AuthorVerdict = { permission: allowPermission, need: { isNeeded: true }, records: noRecords };

/** Asks the permission check alone: about a call that the provider runs, or one that a person has approved. */
export function* checkPermission(
  record: CallRecord,
  tool: Pick<AnyTool, "name" | "readOnly">,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<Pick<AuthorVerdict, "permission" | "records">> {
  const { clock, canExecuteTool } = context.parts;
  if (canExecuteTool === undefined) return { permission: allowPermission, records: noRecords };
  const startedAt = clock.elapsed();
  const sent = yield* resolveSentMessages(context);
  const permissionCall = callCanExecuteTool(record, tool, context, cancellation, sent);
  const { permission, failure } = readPermission(yield* wait(permissionCall));
  if (failure === undefined) return { permission, records: [] };
  return { permission, records: [createFailureRecord("canExecuteTool", failure, clock.elapsed() - startedAt)] };
}

export type CheckFailure = { readonly outcome: "threw" | "timed_out" | "refused"; readonly message: string };

/** The record of a check by the author's code that failed. */
export function createFailureRecord(name: string, { outcome, message }: CheckFailure, ms: number): HookRecord {
  return { name, hook: "beforeToolCall", ms: Math.max(0, Math.round(ms * 1_000) / 1_000), outcome, message };
}

const allowedCall: SettledCall = { type: "returned", value: "allow" };
const notNeededCall: SettledCall = { type: "returned", value: false };

function callCanExecuteTool(
  record: CallRecord,
  tool: Pick<AnyTool, "name" | "readOnly">,
  context: EffectContext,
  cancellation: Cancellation,
  sent: ResolvedList | null,
): MaybePromise<SettledCall> {
  const { canExecuteTool, hasDeferredTools } = context.parts;
  if (canExecuteTool === undefined) return allowedCall;
  const request: PermissionRequest = {
    callKey: record.callKey,
    toolCall: deepFreeze(unwrapCall(record.part, hasDeferredTools)),
    tool: { name: tool.name, readOnly: tool.readOnly === true },
    input: deepFreeze(record.input),
  };
  const ask = (own: HookContext) =>
    canExecuteTool(request, createPermissionContext(own, record.part.toolCallId, context, sent));
  return callWithContext(ask, defaultHookTimeoutMs, context, cancellation);
}

type ReadPermission = { readonly permission: PlainPermission; readonly failure?: CheckFailure };

function readPermission(call: SettledCall): ReadPermission {
  if (call.type !== "returned") return denyForFailure({ outcome: call.type, message: call.message });
  try {
    const permission = copyPermission(call.value);
    return permission === undefined ? denyForFailure(noAnswerFailure) : { permission };
  } catch (error) {
    return denyForFailure({ outcome: "refused", message: `its answer cannot be read: ${formatError(error, 500)}` });
  }
}

const noAnswerFailure: CheckFailure = { outcome: "refused", message: "it gave no answer: allow, ask or deny" };

function denyForFailure(failure: CheckFailure): ReadPermission {
  return { permission: { verdict: "deny", reason: permissionCheckFailed(failure.message) }, failure };
}

/** A copy of an answer; undefined if it has an unknown shape. Throws what its getters throw. */
function copyPermission(answer: unknown): PlainPermission | undefined {
  const members: object = typeof answer === "object" && answer !== null ? answer : { verdict: answer };
  const { verdict, question, expiresInMs, reason, stopRun, rule } = members as { readonly [name: string]: unknown };
  const byRule = rule === undefined ? {} : { rule: copyRule(rule) };
  switch (verdict) {
    case "allow":
      return { verdict, ...byRule };
    case "ask":
      return {
        verdict,
        ...(question === undefined ? {} : { question: formatError(question) }),
        ...(isDuration(expiresInMs) ? { expiresInMs } : {}),
        ...byRule,
      };
    case "deny": {
      const why = "reason" in members ? formatError(reason) : toolNotAllowed;
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
const maxPattern = 1_000;

/** A copy of a rule. Throws if it is none: a decision whose reason cannot be kept is refused. */
function copyRule(rule: unknown): PermissionRule {
  const members: { readonly [name: string]: unknown } = typeof rule === "object" && rule !== null ? { ...rule } : {};
  const word = <Name extends keyof typeof ruleWords>(name: Name): (typeof ruleWords)[Name][number] => {
    const found = ruleWords[name].find((one) => one === members[name]);
    if (found === undefined) throw new TypeError(`the rule's ${name} must be ${ruleWords[name].join(", ")}`);
    return found;
  };
  const { pattern } = members;
  if (typeof pattern !== "string" || pattern.length > maxPattern)
    throw new TypeError(`the rule's pattern must be a text of at most ${maxPattern} characters`);
  return { verdict: word("verdict"), kind: word("kind"), pattern, scope: word("scope") };
}

function isDuration(ms: unknown): ms is number {
  return typeof ms === "number" && Number.isFinite(ms) && ms >= 0;
}

function callNeedsApproval(
  { needsApproval }: AnyTool,
  validated: unknown,
  { part }: CallRecord,
  context: EffectContext,
  cancellation: Cancellation,
  sent: ResolvedList | null,
): MaybePromise<SettledCall> {
  if (typeof needsApproval !== "function") return { type: "returned", value: needsApproval };
  const ask = (own: HookContext) =>
    needsApproval(validated, createPermissionContext(own, part.toolCallId, context, sent));
  return callWithContext(ask, defaultHookTimeoutMs, context, cancellation);
}

/** A tool that cannot tell whether it is dangerous counts as dangerous. */
function readApprovalNeed(call: SettledCall): ApprovalNeed & { readonly failure?: CheckFailure } {
  if (call.type === "returned") return { isNeeded: Boolean(call.value) };
  const { type: outcome, message } = call;
  return { isNeeded: true, question: approvalCheckFailed(message), failure: { outcome, message } };
}
