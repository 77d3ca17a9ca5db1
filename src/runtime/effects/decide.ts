/**
 * Whether and how a call runs: parse, `beforeToolCall`, validate, permission, approval (LOOP-13).
 *
 * 1. The strictest answer wins: block and deny beat ask beats allow. A policy that throws, or takes too long, denies.
 * 2. If all answer at once, the decision joins the commit of the message that asked for the call.
 * 3. The input after hooks is what is validated, permitted and approved. If a hook changes a person's edit, the person is asked again.
 */

import { freeze } from "../../core/data/freeze.js";
import type { Json } from "../../core/data/message.js";
import type { EventBody, PolicyDecision } from "../../core/machine/event.js";
import { type Call, type CallPolicy, callOf, type Recover } from "../../core/machine/state.js";
import type { CallRecord } from "../../core/transcript/results.js";
import type { AnyTool, Permission, PermissionRequest } from "../../ports/tool.js";
import { agentBehind } from "../agent/agent-tool.js";
import { defaultHookTimeoutMs } from "../agent/compile-hooks.js";
import { callWithContext } from "../hooks/call-hooks.js";
import { hookRecords } from "../hooks/step-hooks.js";
import { type BeforeToolCall, callBeforeToolCall, noHooks } from "../hooks/tool-hooks.js";
import type { Cancellation } from "../lib/cancellation.js";
import { type Coroutine, type MaybePromise, wait } from "../lib/coroutine.js";
import { textOfError } from "../lib/error-text.js";
import { hashInput } from "../lib/hash.js";
import type { SettledCall } from "../lib/time-limit.js";
import type { CompiledTool } from "../tools/compile-tools.js";
import { type EffectContext, type EffectOf, isInteractive } from "../work/effect-context.js";
import { validatedInput } from "../work/tool-input.js";
import { nobodyCanApprove, permissionCheckFailed, toolNotAllowed, unknownTool } from "./prompts.js";
import { decideRepeated, repeatedCallQuestion } from "./repeated-call.js";

export function* decide(
  { runId, callKey }: EffectOf<"decide">,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<EventBody | undefined> {
  const record = context.transcript.calls.get(callKey);
  const call = callOf(context.state, callKey);
  if (record === undefined || call?.status !== "deciding") return undefined;
  const settle = (decision: PolicyDecision, { records } = noHooks): EventBody => ({
    type: "tool_decided",
    runId,
    callKey,
    decision,
    ...hookRecords(records),
  });
  const repeated = call.edited === undefined ? decideRepeated(record, context) : undefined;
  if (typeof repeated === "object") return settle(repeated);
  const compiled = context.parts.tools.get(call.name);
  if (compiled === undefined || !isActive(call.name, context))
    return settle({ verdict: "reject", message: unknownTool(call.name) });
  // The person who sent the edit sent its hash as well: the hash says what they approved.
  if (call.edited !== undefined && hashInput(record.input) !== call.inputHash)
    return settle(askAgain(record, compiled.tool, "its hash is that of another input", context));
  const before = isParsed(compiled, record)
    ? yield* callBeforeToolCall(record, compiled.tool, context, cancellation)
    : noHooks;
  return settle(yield* decideInput(call, record, compiled, before, context, cancellation), before);
}

type Deciding = Extract<Call, { status: "deciding" }>;

function isActive(name: string, { transcript }: EffectContext): boolean {
  const { run } = transcript;
  return (run?.choices.activeTools ?? run?.options.activeTools)?.includes(name) ?? true;
}

/** Hooks do not see arguments that no tool will see. */
function isParsed({ tool }: CompiledTool, { part, changed }: CallRecord): boolean {
  return part.invalid === undefined || changed || tool.executeRaw !== undefined;
}

function* decideInput(
  call: Deciding,
  original: CallRecord,
  compiled: CompiledTool,
  { input, block, stopRun }: BeforeToolCall,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<PolicyDecision> {
  if (block !== undefined)
    return { verdict: "block", reason: textOfError(block), ...(stopRun === true ? { stopRun } : {}) };
  const record = input === undefined ? original : { ...original, input, changed: true };
  const changed = input === undefined ? {} : { input };
  const { tool } = compiled;
  const validated = yield* wait(validatedInput(compiled, record, context));
  if (!validated.ok) return invalid(call, record, tool, validated.message, context);
  context.memory.validated = (context.memory.validated ?? new Map()).set(record.callKey, validated.value);
  // Both are asked before either is waited for.
  const asked = permissionOf(record, tool, context, cancellation);
  const need = call.edited === undefined ? needsApproval(tool, validated.value) : false;
  const permission = permissionIn(yield* wait(asked));
  return strictest({ call, record, tool, changed }, permission, yield* wait(need), context);
}

/** The input, if a hook changed it. */
type Changed = { readonly input?: Json };

/** An invalid edit goes back to the person who made it; an invalid input of the model goes back to the model. */
function invalid(
  call: Deciding,
  record: CallRecord,
  tool: AnyTool,
  message: string,
  context: EffectContext,
): PolicyDecision {
  return call.edited === undefined
    ? { verdict: "reject", message: textOfError(message) }
    : askAgain(record, tool, message, context);
}

/** Asks about the input from before the edit: the edit has changed nothing. */
function askAgain(
  record: CallRecord,
  tool: AnyTool,
  message: string,
  context: EffectContext,
): Extract<PolicyDecision, { verdict: "ask" }> {
  const input = record.beforeEdit?.input;
  return {
    verdict: "ask",
    policy: policyOf(tool, context),
    inputHash: hashInput(input ?? record.input),
    ...(input === undefined ? {} : { input }),
    question: `The edited input cannot be used: ${textOfError(message)}`,
  };
}

const allowed: SettledCall = { type: "returned", value: "allow" };

function permissionOf(
  record: CallRecord,
  tool: AnyTool,
  context: EffectContext,
  cancellation: Cancellation,
): MaybePromise<SettledCall> {
  const { canExecuteTool } = context.parts;
  if (canExecuteTool === undefined) return allowed;
  const request: PermissionRequest = {
    callKey: record.callKey,
    toolCall: freeze(record.part),
    tool: { name: tool.name, readOnly: tool.readOnly === true },
    input: freeze(record.input),
  };
  return callWithContext((own) => canExecuteTool(request, own), defaultHookTimeoutMs, context, cancellation);
}

/** A policy may be anybody's code: an answer of an unknown shape denies. */
function permissionIn(call: SettledCall): Permission {
  if (call.type === "returned" && isPermission(call.value)) return call.value;
  const why = call.type === "returned" ? "it gave no answer: allow, ask or deny" : call.message;
  return { verdict: "deny", reason: permissionCheckFailed(why) };
}

const verdicts: ReadonlySet<unknown> = new Set(["allow", "ask", "deny"]);

function isPermission(answer: unknown): answer is Permission {
  if (typeof answer !== "object" || answer === null) return verdicts.has(answer);
  return "verdict" in answer && verdicts.has(answer.verdict);
}

/** A check that throws asks: a tool that cannot tell whether it is dangerous counts as dangerous. */
function needsApproval({ needsApproval: need }: AnyTool, input: unknown): MaybePromise<boolean> {
  if (typeof need !== "function") return need === true;
  try {
    const needed: MaybePromise<boolean> = need(input);
    return needed instanceof Promise ? needed.catch(() => true) : needed;
  } catch {
    return true;
  }
}

/** A call whose input fits its tool's schema. */
type ValidCall = {
  readonly call: Deciding;
  readonly record: CallRecord;
  readonly tool: AnyTool;
  readonly changed: Changed;
};

function strictest(
  { call, record, tool, changed }: ValidCall,
  permission: Permission,
  isApprovalNeeded: boolean,
  context: EffectContext,
): PolicyDecision {
  const answer = typeof permission === "string" ? { verdict: permission } : permission;
  if (answer.verdict === "deny") {
    const reason = "reason" in answer ? textOfError(answer.reason) : toolNotAllowed;
    return "stopRun" in answer && answer.stopRun === true
      ? { verdict: "deny", reason, stopRun: true }
      : { verdict: "deny", reason };
  }
  const policy = policyOf(tool, context);
  const isChangedEdit = call.edited !== undefined && changed.input !== undefined;
  const isRepeated = call.edited === undefined && decideRepeated(record, context) === "ask";
  // The edit is the editor's approval of that input: only hooks and deny rules see it again (HITL-3).
  const isApproved =
    call.edited === undefined ? answer.verdict === "allow" && !isApprovalNeeded && !isRepeated : !isChangedEdit;
  if (isApproved) return { verdict: "allow", policy, ...changed };
  if (!isInteractive(context)) return { verdict: "deny", reason: nobodyCanApprove };
  return {
    verdict: "ask",
    policy,
    inputHash: hashInput(record.input as Json),
    ...changed,
    ...(isChangedEdit
      ? { question: "A hook changed the edited input. Run it with this one?" }
      : questionOf(answer, isRepeated, record)),
    ...("expiresInMs" in answer && isTime(answer.expiresInMs) ? { expiresAt: context.now() + answer.expiresInMs } : {}),
  };
}

function questionOf(answer: object, isRepeated: boolean, record: CallRecord): { readonly question?: string } {
  if ("question" in answer && answer.question !== undefined) return { question: textOfError(answer.question) };
  return isRepeated ? { question: repeatedCallQuestion(record) } : {};
}

function isTime(ms: number | undefined): ms is number {
  return ms !== undefined && Number.isFinite(ms) && ms >= 0;
}

/** How the call is run and recovers, written on the event that decides to run it. */
function policyOf(tool: AnyTool, context: EffectContext): CallPolicy {
  const { graceMs } = tool;
  const recover = recoverOf(tool);
  return {
    recover: recover === "ask" && !isInteractive(context) ? "fail" : recover,
    ...(tool.sequential === true ? { sequential: true } : {}),
    ...(graceMs === undefined ? {} : { graceMs }),
    ...(isExternal(tool) ? { external: true } : {}),
  };
}

function recoverOf({ recover, readOnly }: AnyTool): Recover {
  if (recover === undefined) return readOnly === true ? "rerun" : "fail";
  return typeof recover === "string" ? recover : "reconcile";
}

function isExternal(tool: AnyTool): boolean {
  return tool.execute === undefined && tool.executeRaw === undefined && agentBehind(tool) === undefined;
}
