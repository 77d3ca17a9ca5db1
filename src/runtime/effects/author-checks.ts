/**
 * The checks of a call by the agent's author: the permission check, and whether the tool needs an approval.
 *
 * 1. A check that throws, takes too long or returns nothing fails closed: the call is denied, or a person is asked.
 * 2. The returned value is read once, within a `try`: a getter may throw, or return something else the next time.
 * 3. A failed check is recorded like a failed hook, so that events and traces name it.
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

/** A copy of what a permission check returned. */
export type PlainPermission = (
  | { readonly verdict: "allow" }
  | { readonly verdict: "ask"; readonly question?: string; readonly expiresInMs?: number }
  | { readonly verdict: "deny"; readonly reason: string; readonly stopRun?: true }
) & { readonly rule?: PermissionRule };

/** Whether a call needs an approval. If the tool's check failed, `question` says why. */
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
  /** Whether a person has edited the input, which then needs no further approval. */
  readonly isEdited: boolean;
};

export function checkWithAuthor(
  call: CheckedCall,
  context: EffectContext,
  cancellation: Cancellation,
): Awaitable<AuthorVerdict> {
  const { needsApproval } = call.tool;
  if (context.agent.canExecuteTool !== undefined || typeof needsApproval === "function")
    return runAuthorChecks(call, context, cancellation);
  // The fast path for almost every call: there is no author's code to run.
  return wait(call.isEdited || !needsApproval ? allowedVerdict : approvalVerdict);
}

function* runAuthorChecks(
  { record, tool, validated, isEdited }: CheckedCall,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<AuthorVerdict> {
  const { clock } = context.agent;
  const startedAt = clock.elapsed();
  const records: HookRecord[] = [];
  const recordFailure = (name: string, failure: CheckFailure | undefined) => {
    if (failure !== undefined) records.push(createFailureRecord(name, failure, clock.elapsed() - startedAt));
  };
  const sent = yield* resolveSentMessages(context);
  // Both checks start before either is awaited.
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

/** Runs only the permission check: for a call that the provider runs, or one that a person has approved. */
export function* checkPermission(
  record: CallRecord,
  tool: Pick<AnyTool, "name" | "readOnly">,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<Pick<AuthorVerdict, "permission" | "records">> {
  const { clock, canExecuteTool } = context.agent;
  if (canExecuteTool === undefined) return { permission: allowPermission, records: noRecords };
  const startedAt = clock.elapsed();
  const sent = yield* resolveSentMessages(context);
  const permissionCall = callCanExecuteTool(record, tool, context, cancellation, sent);
  const { permission, failure } = readPermission(yield* wait(permissionCall));
  if (failure === undefined) return { permission, records: [] };
  return { permission, records: [createFailureRecord("canExecuteTool", failure, clock.elapsed() - startedAt)] };
}

export type CheckFailure = { readonly outcome: "threw" | "timed_out" | "refused"; readonly message: string };

/** Creates the record of a failed check. */
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
  const { canExecuteTool, hasDeferredTools } = context.agent;
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

/** Copies a returned permission; undefined if it has an unknown shape. Throws what its getters throw. */
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

/** Copies a rule. Throws if it is invalid: a decision whose reason cannot be stored is rejected. */
function copyRule(rule: unknown): PermissionRule {
  const members: { readonly [name: string]: unknown } = typeof rule === "object" && rule !== null ? { ...rule } : {};
  const word = <Name extends keyof typeof ruleWords>(name: Name): (typeof ruleWords)[Name][number] => {
    const found = ruleWords[name].find((one) => one === members[name]);
    if (found === undefined) throw new TypeError(`the rule's ${name} must be ${ruleWords[name].join(", ")}`);
    return found;
  };
  const { pattern } = members;
  if (typeof pattern !== "string" || pattern.length > maxPattern)
    throw new TypeError(`the rule's pattern must be a string of at most ${maxPattern} characters`);
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

/** If the check fails, the call needs an approval. */
function readApprovalNeed(call: SettledCall): ApprovalNeed & { readonly failure?: CheckFailure } {
  if (call.type === "returned") return { isNeeded: Boolean(call.value) };
  const { type: outcome, message } = call;
  return { isNeeded: true, question: approvalCheckFailed(message), failure: { outcome, message } };
}
