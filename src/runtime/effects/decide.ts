/**
 * Decides whether and how a call runs: parse, `beforeToolCall`, validate, permission, approval (LOOP-13).
 *
 * 1. The strictest decision wins: block and deny beat ask, and ask beats allow. An author's checks fail closed (author-checks.ts).
 * 2. If all checks are synchronous, the decision joins the commit of the message that requested the call.
 * 3. The input after hooks is validated, permitted and approved. If a hook changes a person's edit, the person is asked again.
 */

import type { Json } from "../../core/data/message.js";
import { nearestName } from "../../core/data/nearest-name.js";
import type { EventBody, HookRecord, PolicyDecision } from "../../core/machine/event.js";
import { type Call, type CallPolicy, callOf, type Recover } from "../../core/machine/state.js";
import type { CallRecord } from "../../core/transcript/results.js";
import type { AnyTool } from "../../ports/tool.js";
import { findAgentOfTool } from "../agent/agent-tool.js";
import { listMissingRunTools } from "../agent/agent-with-run-tools.js";
import { findHandoff } from "../agent/handoffs.js";
import { pickHookRecords } from "../hooks/step-hooks.js";
import { type BeforeToolCall, callBeforeToolCall, noHooks } from "../hooks/tool-hooks.js";
import type { Cancellation } from "../lib/cancellation.js";
import { type Coroutine, wait } from "../lib/coroutine.js";
import { formatError } from "../lib/error-text.js";
import { hashInput } from "../lib/hash.js";
import { retryDefaults } from "../lib/retry-delay.js";
import type { CompiledTool } from "../tools/compile-tools.js";
import { type EffectContext, type EffectOf, isInteractive } from "../work/effect-context.js";
import { validateInput } from "../work/tool-input.js";
import {
  type ApprovalNeed,
  checkPermission,
  checkWithAuthor,
  createFailureRecord,
  noRecords,
  type PlainPermission,
} from "./author-checks.js";
import { missingTool, nobodyCanApprove, unknownToolWithNames, whyNobodyApproves } from "./prompts.js";
import { type RepairedCall, repairCall } from "./repair-call.js";
import { decideRepeated, repeatedCallQuestion } from "./repeated-call.js";

export function* decide(
  { runId, callKey }: EffectOf<"decide">,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<EventBody | undefined> {
  const requested = context.transcript.calls.get(callKey);
  const call = callOf(context.state, callKey);
  if (requested === undefined || call?.status !== "deciding") return undefined;
  const settle = (decision: PolicyDecision, { records } = noHooks): EventBody => ({
    type: "tool_decided",
    runId,
    callKey,
    decision,
    ...pickHookRecords(records),
  });
  const repeated = call.edited === undefined ? decideRepeated(requested, context) : undefined;
  if (typeof repeated === "object") return settle(repeated);
  if (requested.part.approvalId !== undefined) {
    const { decision, records } = yield* decideForProvider(requested, context, cancellation);
    return settle(decision, { records });
  }
  const findOffered = (name: string) => (isActive(name, context) ? context.agent.tools.get(name) : undefined);
  const repaired =
    call.edited === undefined ? yield* repairCall(requested, findOffered, context, cancellation) : undefined;
  const { record = requested, name = call.name } = repaired ?? {};
  const compiled = findOffered(name);
  if (compiled === undefined) return settle({ verdict: "reject", message: formatNotOffered(name, context) }, repaired);
  // An edit was sent with its hash, which identifies what the person approved.
  if (call.edited !== undefined && hashInput(record.input) !== call.inputHash)
    return settle(askAgain(record, compiled.tool, "its hash is that of another input", context));
  const before = hasParsedInput(compiled, record)
    ? yield* callBeforeToolCall(record, compiled.tool, context, cancellation)
    : noHooks;
  const { decision, records } = yield* decideInput(call, record, compiled, before, context, cancellation);
  if (repaired?.repair === undefined && records.length === 0 && (repaired?.records.length ?? 0) === 0)
    return settle(decision, before);
  const all = [...(repaired?.records ?? []), ...before.records, ...records];
  return settle(repaired?.repair === undefined ? decision : attachRepair(decision, repaired), { records: all });
}

/** Adds the repair to a decision. The log stores the repaired input, unless a hook has changed it further. */
function attachRepair(decision: PolicyDecision, { record, repair }: RepairedCall): PolicyDecision {
  if (repair === undefined) return decision;
  if (decision.verdict === "reject" && repair.changes !== undefined)
    return { ...decision, message: `${decision.message}\nAlso: ${repair.changes.join(", ")}.`, repair };
  const willRun = decision.verdict === "allow" || decision.verdict === "ask";
  if (!willRun || decision.input !== undefined || !record.changed) return { ...decision, repair };
  return { ...decision, input: record.input, repair };
}

/**
 * Decides a call that the provider will run, but asks about first. The policy may deny the call. Otherwise a person decides, as for a tool
 * that needs approval. Hooks are not called, because nothing runs here.
 */
function* decideForProvider(
  record: CallRecord,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<DecisionResult> {
  const { permission, records } = yield* checkPermission(record, record.part, context, cancellation);
  if (permission.verdict === "deny") return { decision: permission, records };
  if (!isInteractive(context)) return { decision: { verdict: "deny", reason: nobodyCanApprove }, records };
  const policy: CallPolicy = { recover: "fail", provider: true };
  const asked = { verdict: "ask", policy, inputHash: hashInput(record.input) } as const;
  const question = pickQuestion(permission, { isNeeded: true }, false, record);
  const byRule = permission.verdict === "ask" ? pickRule(permission) : {};
  return { decision: { ...asked, ...question, ...pickExpiry(permission, context), ...byRule }, records };
}

type DecidingCall = Extract<Call, { status: "deciding" }>;

function isActive(name: string, { transcript }: EffectContext): boolean {
  const { run } = transcript;
  return (run?.choices.activeTools ?? run?.options.activeTools)?.includes(name) ?? true;
}

function formatNotOffered(name: string, context: EffectContext): string {
  const isMissing =
    isActive(name, context) && listMissingRunTools(context.agent, context.transcript.run).includes(name);
  return isMissing ? `${missingTool(name)}.` : unknownToolWithNames(name, listKnownNames(name, context));
}

/** The names to suggest for an unknown tool. There are too many deferred tools to list, so only the nearest of them is included. */
function listKnownNames(unknown: string, context: EffectContext): readonly string[] {
  const { tools, specifications, hasDeferredTools } = context.agent;
  const active = [...tools.keys()].filter((name) => isActive(name, context));
  if (!hasDeferredTools) return active;
  const offeredNames = new Set(specifications.map(({ name }) => name));
  const nearest = nearestName(unknown, active);
  return active.filter((name) => offeredNames.has(name) || name === nearest);
}

/** Hooks do not see unparsed arguments, unless the tool accepts them. */
function hasParsedInput({ tool }: CompiledTool, { part, changed }: CallRecord): boolean {
  return part.invalid === undefined || changed || tool.executeRaw !== undefined;
}

function* decideInput(
  call: DecidingCall,
  original: CallRecord,
  compiled: CompiledTool,
  { input, block, stopRun }: BeforeToolCall,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<DecisionResult> {
  if (block !== undefined) {
    const reason = formatError(block);
    const decision: PolicyDecision = { verdict: "block", reason, ...(stopRun === true ? { stopRun } : {}) };
    return { decision, records: noRecords };
  }
  const record = input === undefined ? original : { ...original, input, changed: true };
  const changed = input === undefined ? {} : { input };
  const { tool } = compiled;
  const checked = validateInput(compiled, record, context, cancellation);
  const startedAt = checked instanceof Promise ? context.agent.clock.elapsed() : 0;
  const validated = yield* wait(checked);
  if (!validated.ok) {
    const decision = rejectInvalidInput(call, record, tool, validated.message, context);
    if (validated.failure === undefined) return { decision, records: noRecords };
    const ms = context.agent.clock.elapsed() - startedAt;
    return { decision, records: [createFailureRecord(`input schema of ${tool.name}`, validated.failure, ms)] };
  }
  context.memory.validated = (context.memory.validated ?? new Map()).set(record.callKey, validated.value);
  const asked = { record, tool, validated: validated.value, isEdited: call.edited !== undefined };
  const { permission, need, records } = yield* checkWithAuthor(asked, context, cancellation);
  return { decision: chooseStrictest({ call, record, tool, changed }, permission, need, context), records };
}

/** A decision, and the records of the author's checks that failed. */
type DecisionResult = { readonly decision: PolicyDecision; readonly records: readonly HookRecord[] };

/** The input, if a hook changed it. */
type InputChange = { readonly input?: Json };

/** An invalid edit goes back to the person who made it; invalid input from the model goes back to the model. */
function rejectInvalidInput(
  call: DecidingCall,
  record: CallRecord,
  tool: AnyTool,
  message: string,
  context: EffectContext,
): PolicyDecision {
  return call.edited === undefined
    ? { verdict: "reject", message: formatError(message) }
    : askAgain(record, tool, message, context);
}

/** Asks again, showing the input before the edit. */
function askAgain(
  record: CallRecord,
  tool: AnyTool,
  message: string,
  context: EffectContext,
): Extract<PolicyDecision, { verdict: "ask" }> {
  const input = record.beforeEdit?.input;
  return {
    verdict: "ask",
    policy: toCallPolicy(tool, context),
    inputHash: hashInput(input ?? record.input),
    ...(input === undefined ? {} : { input }),
    question: `The edited input cannot be used: ${formatError(message)}`,
  };
}

/** A call whose input matches its tool's schema. */
type ValidCall = {
  readonly call: DecidingCall;
  readonly record: CallRecord;
  readonly tool: AnyTool;
  readonly changed: InputChange;
};

function chooseStrictest(
  { call, record, tool, changed }: ValidCall,
  permission: PlainPermission,
  need: ApprovalNeed,
  context: EffectContext,
): PolicyDecision {
  if (permission.verdict === "deny") return permission;
  const policy = toCallPolicy(tool, context);
  const isChangedEdit = call.edited !== undefined && changed.input !== undefined;
  const isRepeated = call.edited === undefined && decideRepeated(record, context) === "ask";
  // A person who edits the input also approves it, so only hooks and deny rules check it again (HITL-3).
  const isApproved =
    call.edited === undefined ? permission.verdict === "allow" && !need.isNeeded && !isRepeated : !isChangedEdit;
  // A person has approved an edit, so no rule is recorded for it.
  if (isApproved)
    return { verdict: "allow", policy, ...changed, ...(call.edited === undefined ? pickRule(permission) : {}) };
  if (!isInteractive(context)) {
    const { question } = pickQuestion(permission, need, isRepeated, record);
    return { verdict: "deny", reason: question === undefined ? nobodyCanApprove : whyNobodyApproves(question) };
  }
  return {
    verdict: "ask",
    policy,
    inputHash: hashInput(record.input as Json),
    ...changed,
    ...(isChangedEdit
      ? { question: "A hook changed the edited input. Run it with this one?" }
      : pickQuestion(permission, need, isRepeated, record)),
    ...pickExpiry(permission, context),
    ...(permission.verdict === "ask" ? pickRule(permission) : {}),
  };
}

function pickRule({ rule }: PlainPermission): Pick<PlainPermission, "rule"> {
  return rule === undefined ? {} : { rule };
}

function pickExpiry(permission: PlainPermission, { now }: EffectContext): { readonly expiresAt?: number } {
  const expiresInMs = permission.verdict === "ask" ? permission.expiresInMs : undefined;
  return expiresInMs === undefined ? {} : { expiresAt: now() + expiresInMs };
}

function pickQuestion(
  permission: PlainPermission,
  need: ApprovalNeed,
  isRepeated: boolean,
  record: CallRecord,
): { readonly question?: string } {
  const asked = permission.verdict === "ask" ? permission.question : undefined;
  const question = asked ?? need.question ?? (isRepeated ? repeatedCallQuestion(record) : undefined);
  return question === undefined ? {} : { question };
}

/** How the call runs and recovers. It is recorded on the event that decides to run the call. */
function toCallPolicy(tool: AnyTool, context: EffectContext): CallPolicy {
  const { graceMs } = tool;
  const recover = toRecover(tool);
  const handoff = findHandoff(tool)?.to;
  if (handoff !== undefined) return { recover, handoff };
  return {
    recover: recover === "ask" && !isInteractive(context) ? "fail" : recover,
    ...(tool.durable === true ? { durable: true } : {}),
    ...(tool.sequential === true ? { sequential: true } : {}),
    ...toRetryPolicy(tool),
    ...(graceMs === undefined ? {} : { graceMs }),
    ...(isExternal(tool) ? { external: true } : {}),
  };
}

function toRetryPolicy({ retry }: AnyTool): Pick<CallPolicy, "retry"> {
  if (retry === undefined) return {};
  const { attempts = retryDefaults.attempts, backoff } = retry;
  const { baseMs = retryDefaults.baseMs, maxMs = retryDefaults.maxMs } = backoff ?? {};
  return { retry: { attempts, baseMs, maxMs } };
}

function toRecover({ recover, readOnly, durable }: AnyTool): Recover {
  if (durable === true) return "rerun";
  if (recover === undefined) return readOnly === true ? "rerun" : "fail";
  return typeof recover === "string" ? recover : "reconcile";
}

function isExternal(tool: AnyTool): boolean {
  return tool.execute === undefined && tool.executeRaw === undefined && findAgentOfTool(tool) === undefined;
}
