/**
 * Whether and how a call runs: parse, `beforeToolCall`, validate, permission, approval (LOOP-13).
 *
 * 1. The strictest answer wins: block and deny beat ask beats allow. A policy that throws, or takes too long, denies.
 * 2. Where every part answers at once, the decision joins the commit of the message that asked for the call.
 * 3. What is validated, permitted and approved is the input after hooks; what a hook makes of a person's edit is asked about again.
 */

import type { Json } from "../../core/data/message.js";
import type { EventBody, PolicyDecision } from "../../core/machine/event.js";
import { type Call, type CallPolicy, hasCalls, type Recover } from "../../core/machine/state.js";
import type { CallRecord } from "../../core/transcript/results.js";
import type { AnyTool, Permission, PermissionRequest } from "../../ports/tool.js";
import { agentBehind } from "../agent/agent-tool.js";
import { defaultHookTimeoutMs } from "../agent/compile-hooks.js";
import { depsOf } from "../agent/local-run-options.js";
import { type SettledCall, settleInTime } from "../hooks/call-hooks.js";
import { hookRecords } from "../hooks/step-hooks.js";
import { type BeforeToolCall, callBeforeToolCall } from "../hooks/tool-hooks.js";
import { abort, type Cancellation, createCancellation, signalOf } from "../lib/cancellation.js";
import { textOfError } from "../lib/error-text.js";
import { freeze } from "../lib/freeze.js";
import { hashInput } from "../lib/hash.js";
import { andThen } from "../lib/maybe-promise.js";
import type { CompiledTool } from "../tools/compile-tools.js";
import { type EffectContext, type EffectOf, isInteractive, type Perform } from "../work/effect-context.js";
import { validatedInput } from "../work/tool-input.js";
import { decideRepeated, questionOfRepeat } from "./repeated-call.js";

export const decide: Perform<EffectOf<"decide">> = (effect, work, cancellation) => {
  const record = work.transcript.calls.get(effect.callKey);
  const call = hasCalls(work.state) ? work.state.calls.find((one) => one.callKey === effect.callKey) : undefined;
  if (record === undefined || call?.status !== "deciding") return undefined;
  const { runId, callKey } = effect;
  const settle = (decision: PolicyDecision, { records }: BeforeToolCall): EventBody => ({
    type: "tool_decided",
    runId,
    callKey,
    decision,
    ...hookRecords(records),
  });
  const repeated = call.edited === undefined ? decideRepeated(record, work) : undefined;
  if (typeof repeated === "object") return settle(repeated, { records: [] });
  const compiled = work.parts.tools.get(call.name);
  if (compiled === undefined || !isActive(call.name, work))
    return settle({ verdict: "reject", message: `Unknown tool '${call.name}'` }, { records: [] });
  // Who gave the edit gave the hash as well; it is what they approved.
  if (call.edited !== undefined && hashInput(record.input) !== call.inputHash)
    return settle(askAgain(record, compiled.tool, "its hash is that of another input", work), { records: [] });
  const asked = isParsed(compiled, record)
    ? callBeforeToolCall(record, compiled.tool, work, cancellation)
    : { records: [] };
  return andThen(asked, (before) =>
    andThen(decisionOf(call, record, compiled, before, { work, cancellation }), (decision) => settle(decision, before)),
  );
};

type Deciding = Extract<Call, { status: "deciding" }>;
type DecidingEffect = { readonly work: EffectContext; readonly cancellation: Cancellation };

/** Arguments that no tool will see are no hook's business either. */
function isParsed({ tool }: CompiledTool, { part, changed }: CallRecord): boolean {
  return part.invalid === undefined || changed || tool.executeRaw !== undefined;
}

function decisionOf(
  call: Deciding,
  asked: CallRecord,
  compiled: CompiledTool,
  { input, block, stopRun }: BeforeToolCall,
  means: DecidingEffect,
): PolicyDecision | Promise<PolicyDecision> {
  if (block !== undefined)
    return { verdict: "block", reason: inShort(block), ...(stopRun === true ? { stopRun } : {}) };
  const record = input === undefined ? asked : { ...asked, input, changed: true };
  const { work } = means;
  return andThen(validatedInput(compiled, record, work), (found) => {
    const changed = input === undefined ? {} : { input };
    if (!found.ok) return invalid(call, record, compiled.tool, found.message, work, changed);
    work.memory.validated = (work.memory.validated ?? new Map()).set(record.callKey, found.value);
    return permit({ call, record, tool: compiled.tool, changed }, found.value, means);
  });
}

function isActive(name: string, { transcript }: EffectContext): boolean {
  const { run } = transcript;
  return (run?.choices.activeTools ?? run?.options.activeTools)?.includes(name) ?? true;
}

/** The input that a hook gave, where one did. */
type Changed = { readonly input?: Json };

/** A person's edit that does not fit goes back to the person; the model's goes back to the model. */
function invalid(
  call: Deciding,
  record: CallRecord,
  tool: AnyTool,
  message: string,
  work: EffectContext,
  changed: Changed,
): PolicyDecision {
  return call.edited === undefined
    ? { verdict: "reject", message: inShort(message) }
    : { ...askAgain(record, tool, message, work), ...changed };
}

function askAgain(
  record: CallRecord,
  tool: AnyTool,
  message: string,
  work: EffectContext,
): Extract<PolicyDecision, { verdict: "ask" }> {
  return {
    verdict: "ask",
    policy: policyOf(tool, work),
    inputHash: hashInput(record.input),
    question: `The edited input cannot be used: ${inShort(message)}`,
  };
}

/** A call that fits its tool's schema. */
type Fitting = {
  readonly call: Deciding;
  readonly record: CallRecord;
  readonly tool: AnyTool;
  readonly changed: Changed;
};

function permit(fitting: Fitting, input: unknown, means: DecidingEffect): PolicyDecision | Promise<PolicyDecision> {
  const { call, record, tool } = fitting;
  const asked = permissionOf(record, tool, means);
  const needed = call.edited === undefined ? needsApproval(tool, input) : false;
  if (asked instanceof Promise || needed instanceof Promise)
    return Promise.all([asked, needed]).then(([permission, need]) => strictest(fitting, permission, need, means.work));
  return strictest(fitting, asked, needed, means.work);
}

function permissionOf(record: CallRecord, tool: AnyTool, means: DecidingEffect): Permission | Promise<Permission> {
  const { work, cancellation } = means;
  const { parts, transcript, sessionId } = work;
  const { canExecuteTool, clock } = parts;
  const runId = transcript.run?.runId ?? "";
  if (canExecuteTool === undefined) return "allow";
  const request: PermissionRequest = {
    callKey: record.callKey,
    toolCall: freeze(record.part),
    tool: { name: tool.name, readOnly: tool.readOnly === true },
    input: freeze(record.input),
  };
  const own = createCancellation();
  const context = {
    sessionId,
    runId,
    deps: depsOf(parts, runId),
    get signal() {
      return signalOf(own);
    },
  };
  const inTime = { timeoutMs: defaultHookTimeoutMs, clock, cancellation, onOver: () => abort(own) };
  return andThen(
    settleInTime(() => canExecuteTool(request, context), inTime),
    permissionIn,
  );
}

/** A policy may be anybody's code: what is no answer denies. */
function permissionIn(answer: SettledCall): Permission {
  if (answer.type === "returned" && isPermission(answer.value)) return answer.value;
  const why = answer.type === "returned" ? "it gave no answer: allow, ask or deny" : answer.message;
  return { verdict: "deny", reason: `the permission check failed (${why})` };
}

const verdicts: ReadonlySet<unknown> = new Set(["allow", "ask", "deny"]);

function isPermission(given: unknown): given is Permission {
  if (typeof given !== "object" || given === null) return verdicts.has(given);
  return "verdict" in given && verdicts.has(given.verdict);
}

/** What throws asks: a tool that cannot tell whether it is dangerous is. */
function needsApproval({ needsApproval: need }: AnyTool, input: unknown): boolean | Promise<boolean> {
  if (typeof need !== "function") return need === true;
  try {
    const needed: boolean | Promise<boolean> = need(input);
    return needed instanceof Promise ? needed.catch(() => true) : needed;
  } catch {
    return true;
  }
}

function strictest(
  { call, record, tool, changed }: Fitting,
  permission: Permission,
  needed: boolean,
  work: EffectContext,
): PolicyDecision {
  const given = typeof permission === "string" ? { verdict: permission } : permission;
  if (given.verdict === "deny") {
    const reason = "reason" in given ? inShort(given.reason) : "this tool may not be used";
    return "stopRun" in given && given.stopRun === true
      ? { verdict: "deny", reason, stopRun: true }
      : { verdict: "deny", reason };
  }
  const policy = policyOf(tool, work);
  const isChangedEdit = call.edited !== undefined && changed.input !== undefined;
  const isRepeated = call.edited === undefined && decideRepeated(record, work) === "ask";
  // The edit is the editor's approval of that input: only hooks and deny rules see it again (HITL-3).
  const isApproved = call.edited === undefined ? given.verdict === "allow" && !needed && !isRepeated : !isChangedEdit;
  if (isApproved) return { verdict: "allow", policy, ...changed };
  if (!isInteractive(work)) return { verdict: "deny", reason: "it needs an approval, and nobody can be asked" };
  const inputHash = hashInput(record.input as Json);
  return {
    verdict: "ask",
    policy,
    inputHash,
    ...changed,
    ...(isChangedEdit
      ? { question: "A hook changed the edited input. Run it with this one?" }
      : questionOf(given, isRepeated, record)),
    ...("expiresInMs" in given && isTime(given.expiresInMs) ? { expiresAt: work.now() + given.expiresInMs } : {}),
  };
}

function questionOf(given: object, isRepeated: boolean, record: CallRecord): { readonly question?: string } {
  if ("question" in given && given.question !== undefined) return { question: inShort(given.question) };
  return isRepeated ? { question: questionOfRepeat(record) } : {};
}

function isTime(ms: number | undefined): ms is number {
  return ms !== undefined && Number.isFinite(ms) && ms >= 0;
}

/** What a policy or a schema says is kept in the log, which has bounds. */
function inShort(text: unknown): string {
  const said = textOfError(text);
  return said.length > longestReason ? `${said.slice(0, longestReason)}…` : said;
}

const longestReason = 10_000;

/** How the call is run and recovers, written on the event that decides to run it. */
function policyOf(tool: AnyTool, work: EffectContext): CallPolicy {
  const { graceMs } = tool;
  const recover = recoverOf(tool);
  return {
    recover: recover === "ask" && !isInteractive(work) ? "fail" : recover,
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
