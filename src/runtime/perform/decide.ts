/**
 * Whether and how a call runs: parse, validate, permission, approval (LOOP-13).
 *
 * 1. The strictest answer wins: deny beats ask beats allow. A policy that throws denies.
 * 2. Where every part answers at once, the decision joins the commit of the message that asked for the call.
 */
import type { Decision, EventBody } from "../../core/event.js";
import type { Json } from "../../core/message.js";
import type { CallRecord } from "../../core/results.js";
import { type Call, type CallPolicy, hasCalls, type Recover } from "../../core/state.js";
import type { AnyTool, Permission, PermissionRequest } from "../../ports/tool.js";
import { agentBehind } from "../agent-tool.js";
import type { Cancellation } from "../cancellation.js";
import { textOfError } from "../error-text.js";
import { freeze } from "../freeze.js";
import { hashInput } from "../hash.js";
import { inputAsFound } from "../input.js";
import { depsOf } from "../run-locals.js";
import type { CompiledTool } from "../tools.js";
import { type EffectOf, isInteractive, type Perform, type Work } from "../work.js";
import { decideRepeated, questionOfRepeat } from "./repeated-call.js";

export const decide: Perform<EffectOf<"decide">> = (effect, work, cancellation) => {
  const record = work.transcript.calls.get(effect.callKey);
  const call = hasCalls(work.state) ? work.state.calls.find((one) => one.callKey === effect.callKey) : undefined;
  if (record === undefined || call?.at !== "deciding") return undefined;
  const decision = decisionOf(call, record, work, cancellation);
  const event = (settled: Decision): EventBody => ({
    type: "tool_decided",
    runId: effect.runId,
    callKey: effect.callKey,
    decision: settled,
  });
  return decision instanceof Promise ? decision.then(event) : event(decision);
};

type Deciding = Extract<Call, { at: "deciding" }>;

function decisionOf(
  call: Deciding,
  record: CallRecord,
  work: Work,
  cancellation: Cancellation,
): Decision | Promise<Decision> {
  const repeated = call.edited === undefined ? decideRepeated(record, work) : undefined;
  if (typeof repeated === "object") return repeated;
  const compiled = work.parts.tools.get(call.name);
  if (compiled === undefined || !isActive(call.name, work))
    return { verdict: "reject", message: `Unknown tool '${call.name}'` };
  // Who gave the edit gave the hash as well; it is what they approved.
  if (call.edited !== undefined && hashInput(record.input) !== call.inputHash)
    return askAgain(record, compiled.tool, "its hash is that of another input", work);
  const found = inputAsFound(compiled, record, work);
  const checked = (result: Awaited<typeof found>) => {
    if (!result.ok) return invalid(call, record, compiled.tool, result.message, work);
    work.memory.validated.set(record.callKey, result.value);
    return permit(call, record, compiled, result.value, work, cancellation);
  };
  return found instanceof Promise ? found.then(checked) : checked(found);
}

function isActive(name: string, { transcript }: Work): boolean {
  return transcript.run?.options.activeTools?.includes(name) ?? true;
}

/** A person's edit that does not fit goes back to the person; the model's goes back to the model. */
function invalid(call: Deciding, record: CallRecord, tool: AnyTool, message: string, work: Work): Decision {
  return call.edited === undefined
    ? { verdict: "reject", message: inShort(message) }
    : askAgain(record, tool, message, work);
}

function askAgain(record: CallRecord, tool: AnyTool, message: string, work: Work): Decision {
  return {
    verdict: "ask",
    policy: policyOf(tool, work),
    inputHash: hashInput(record.input),
    question: `The edited input cannot be used: ${inShort(message)}`,
  };
}

function permit(
  call: Deciding,
  record: CallRecord,
  { tool }: CompiledTool,
  input: unknown,
  work: Work,
  cancellation: Cancellation,
): Decision | Promise<Decision> {
  const asked = permissionOf(record, tool, work, cancellation);
  const needed = call.edited === undefined ? needsApproval(tool, input) : false;
  if (asked instanceof Promise || needed instanceof Promise)
    return Promise.all([asked, needed]).then(([permission, need]) =>
      strictest(call, record, tool, permission, need, work),
    );
  return strictest(call, record, tool, asked, needed, work);
}

function permissionOf(
  record: CallRecord,
  tool: AnyTool,
  work: Work,
  cancellation: Cancellation,
): Permission | Promise<Permission> {
  const { parts, transcript, sessionId } = work;
  if (parts.canExecuteTool === undefined) return "allow";
  try {
    const call: PermissionRequest = {
      callKey: record.callKey,
      toolCall: freeze(record.part),
      tool: { name: tool.name, readOnly: tool.readOnly === true },
      input: freeze(record.input),
    };
    const permission = parts.canExecuteTool(call, {
      sessionId,
      runId: transcript.run?.runId ?? "",
      deps: depsOf(parts, transcript.run?.runId ?? ""),
      get signal() {
        return cancellation.signal;
      },
    });
    return isPermission(permission) ? permission : Promise.resolve(permission).then(checked).catch(failed);
  } catch (error) {
    return failed(error);
  }
}

function failed(error: unknown): Permission {
  return { verdict: "deny", reason: `the permission check failed (${textOfError(error)})` };
}

/** A policy may be anybody's code: what is no answer denies. */
function checked(given: Permission): Permission {
  return isPermission(given) ? given : failed(new Error("it gave no answer: allow, ask or deny"));
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
  call: Deciding,
  record: CallRecord,
  tool: AnyTool,
  permission: Permission,
  needed: boolean,
  work: Work,
): Decision {
  const given = typeof permission === "string" ? { verdict: permission } : permission;
  if (given.verdict === "deny") {
    const reason = "reason" in given ? inShort(given.reason) : "this tool may not be used";
    return "stopRun" in given && given.stopRun === true
      ? { verdict: "deny", reason, stopRun: true }
      : { verdict: "deny", reason };
  }
  const policy = policyOf(tool, work);
  // The edit is the editor's approval: only deny rules see it again (HITL-3).
  const isRepeated = call.edited === undefined && decideRepeated(record, work) === "ask";
  if (call.edited !== undefined || (given.verdict === "allow" && !needed && !isRepeated))
    return { verdict: "allow", policy };
  if (!isInteractive(work)) return { verdict: "deny", reason: "it needs an approval, and nobody can be asked" };
  const inputHash = hashInput(record.input as Json);
  return {
    verdict: "ask",
    policy,
    inputHash,
    ...questionOf(given, isRepeated, record),
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
function policyOf(tool: AnyTool, work: Work): CallPolicy {
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
