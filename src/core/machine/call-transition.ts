/**
 * The next state of one tool call after an event, an answer or a restart.
 */
import { defined } from "../data/defined.js";
import { applyChildReport, pickChildReport } from "./child-reports.js";
import type { Answer, EventOf, Repair } from "./event.js";
import { isSignalMessage } from "./signal-waits.js";
import {
  type Call,
  type CallOutcome,
  type CallPolicy,
  maxOpenQuestions,
  type OpenQuestion,
  questionOf,
} from "./state.js";

export type CallEvent =
  | EventOf<"tool_decided" | "tool_waiting" | "child_waiting" | "tool_failed" | "tool_finished" | "answered">
  | EventOf<"timer_fired" | "tool_asked">;

/** Applies an event to the call that it names. Returns the same object if the event does not apply. */
export function applyToCall(call: Call, event: CallEvent, seq: number): Call {
  switch (event.type) {
    case "tool_decided":
      return applyDecision(call, event, seq);
    case "tool_waiting":
      return call.status === "running" ? applyWaiting(call, event) : call;
    case "child_waiting":
      return applyChildReport(call, event);
    case "tool_failed":
      return call.status === "running" ? applyFailure(call, event) : call;
    case "tool_finished":
      return applyFinish(call, event);
    case "answered":
      if (call.status === "running") return applyToolAnswer(call, event);
      if (call.status !== "asking") return call;
      return call.why === "tool" ? applyToolAnswer(call, event) : applyAnswer(call, event, seq);
    case "tool_asked":
      return applyQuestion(call, event);
    case "timer_fired":
      if (event.questionId !== undefined) return expireQuestion(call, event.questionId, event.at);
      if (event.timer === "tool_retry") return call.status === "retrying" ? applyRetryTimer(call, event) : call;
      return call.status === "asking" && call.expiresAt !== undefined && event.at >= call.expiresAt
        ? settleCall(call, "denied", seq)
        : call;
  }
}

type AskingCall = Extract<Call, { status: "asking" }>;

/** Suspends the tool and frees its slot. Questions that were asked in parallel are in one commit. */
function applyQuestion(call: Call, event: EventOf<"tool_asked">): Call {
  const { attempt, step, expiresAt, held, at } = event;
  if (held === true) return applyQuestionWhileRunning(call, event);
  const isAsking = call.status === "asking" && call.why === "tool";
  if (!(call.status === "running" || isAsking) || call.attempt !== attempt) return call;
  const earlier = isAsking ? (call.open ?? []) : [];
  if (earlier.length >= maxOpenQuestions || earlier.some((one) => one.step === step)) return call;
  const question: OpenQuestion = { step, ...defined({ expiresAt, for: event.for, key: event.key }) };
  const askedAt = isAsking ? call.askedAt : at;
  const { policy } = call;
  return {
    status: "asking",
    why: "tool",
    policy,
    attempt,
    askedAt,
    open: [...earlier, question],
    ...pickFailures(call),
    ...pickIdentity(call),
  };
}

/** The tool keeps running with its question. No other process can continue it, so a crash also ends the question. */
function applyQuestionWhileRunning(call: Call, { attempt, step, expiresAt, at }: EventOf<"tool_asked">): Call {
  if (call.status !== "running" || call.attempt !== attempt) return call;
  const { held = [] } = call;
  if (held.length >= maxOpenQuestions || held.some((one) => one.step === step)) return call;
  return { ...call, held: [...held, { step, askedAt: at, ...(expiresAt === undefined ? {} : { expiresAt }) }] };
}

type CallWithQuestions = AskingCall | Extract<Call, { status: "running" }>;

function applyToolAnswer(call: CallWithQuestions, { answer, answerId, questionId }: EventOf<"answered">): Call {
  const isAnswer = answer.type === "reply" || answer.type === "decline";
  const question = questionId === undefined ? undefined : questionOf(call, questionId);
  if (!isAnswer || questionId === undefined || question === undefined) return call;
  // People answer questions, and signals end the waits for signals. A sleep ends only by its time.
  const isBySignal = isSignalMessage(answerId);
  if (question.for === undefined ? isBySignal : question.for === "time" || !isBySignal) return call;
  return removeQuestion(call, questionId);
}

function expireQuestion(call: Call, questionId: string, at: number): Call {
  const question = questionOf(call, questionId);
  if (question?.expiresAt === undefined || at < question.expiresAt) return call;
  return call.status === "asking" || call.status === "running" ? removeQuestion(call, questionId) : call;
}

/** The tool runs again only when its last question is answered. */
function removeQuestion(call: CallWithQuestions, questionId: string): Call {
  if (call.status === "running") {
    const { held = [], ...rest } = call;
    const remaining = held.filter(({ step }) => step !== questionId);
    return remaining.length > 0 ? { ...rest, held: remaining } : rest;
  }
  const open = (call.open ?? []).filter(({ step }) => step !== questionId);
  if (open.length > 0) return { ...call, open };
  return { status: "ready", policy: call.policy, attempt: call.attempt, ...pickFailures(call), ...pickIdentity(call) };
}

/** The policy says how often a call may be tried. The effect that created the event follows the same rule. */
function applyFailure(call: Extract<Call, { status: "running" }>, event: EventOf<"tool_failed">): Call {
  const { policy, attempt } = call;
  if (event.attempt !== attempt || !canRetryCall(call)) return call;
  const { retryInMs: ms, at } = event;
  const failures = (call.failures ?? 0) + 1;
  return { status: "retrying", policy, attempt, failures, until: at + ms, ms, ...pickIdentity(call) };
}

/** Whether the policy of a running call allows another attempt after the current one. */
export function canRetryCall({ policy, failures = 0 }: Extract<Call, { status: "running" }>): boolean {
  return policy.retry !== undefined && failures + 1 < policy.retry.attempts;
}

function applyRetryTimer(call: Extract<Call, { status: "retrying" }>, event: EventOf<"timer_fired">): Call {
  const { policy, attempt, failures } = call;
  if (event.attempt !== attempt) return call;
  return { status: "ready", policy, attempt, failures, lastFailed: true, ...pickIdentity(call) };
}

export function pickFailures({ failures }: { readonly failures?: number }): { readonly failures?: number } {
  return failures === undefined ? {} : { failures };
}

function applyWaiting(call: Extract<Call, { status: "running" }>, event: EventOf<"tool_waiting">): Call {
  const { policy } = call;
  if (event.on === "external") return awaitExternalResult(call, policy, event.at);
  const { childId, reservedTokens, reservedCostUsd } = event;
  return {
    status: "waiting",
    on: "child",
    policy,
    ...pickChildReport(call),
    ...(childId === undefined ? {} : { childId }),
    ...(reservedTokens === undefined ? {} : { reservedTokens }),
    ...(reservedCostUsd === undefined ? {} : { reservedCostUsd }),
    ...pickIdentity(call),
  };
}

/** The call waits for a result from outside; this process does not execute it. */
export function awaitExternalResult(call: Call, policy: CallPolicy, askedAt: number): Call {
  return { status: "waiting", on: "external", policy, askedAt, ...pickIdentity(call) };
}

function applyDecision(call: Call, { decision, at }: EventOf<"tool_decided">, seq: number): Call {
  if (call.status !== "deciding" && call.status !== "reconciling") return call;
  const attempt = call.status === "reconciling" ? call.attempt : 0;
  const refuse = (outcome: CallOutcome) => settleCall(call, attempt === 0 ? outcome : "interrupted", seq);
  switch (decision.verdict) {
    case "allow":
      if (decision.policy.provider === true) return settleCall(call, "ok", seq);
      return { status: "ready", policy: decision.policy, attempt, ...identityAfterDecision(call, decision, seq) };
    case "ask":
      return {
        ...identityAfterDecision(call, decision, seq),
        status: "asking",
        why: askReason(call, decision.policy),
        policy: decision.policy,
        attempt,
        askedAt: at,
        ...pickExpiry(call, decision),
      };
    case "deny":
      return refuse("denied");
    case "block":
      return refuse("blocked");
    case "reject":
      return refuse("error");
  }
}

function askReason(call: Call, policy: CallPolicy): Extract<Call, { status: "asking" }>["why"] {
  if (call.status === "reconciling") return "recovery";
  return policy.provider === true ? "provider" : "policy";
}

/** An edited call that asks again keeps the expiry of its first question, unless the decision sets a new one. */
function pickExpiry(call: Call, { expiresAt }: { readonly expiresAt?: number }): { readonly expiresAt?: number } {
  const until = expiresAt ?? (call.status === "deciding" ? call.edited?.expiresAt : undefined);
  return until === undefined ? {} : { expiresAt: until };
}

function identityAfterDecision(
  call: Call,
  decision: { readonly input?: unknown; readonly inputHash?: string; readonly repair?: Repair },
  seq: number,
): Pick<Call, "callKey" | "name" | "inputSeq" | "inputHash"> {
  const inputHash = decision.inputHash ?? call.inputHash;
  return {
    callKey: call.callKey,
    name: decision.repair?.name ?? call.name,
    inputSeq: decision.input === undefined ? call.inputSeq : seq,
    ...(inputHash === undefined ? {} : { inputHash }),
  };
}

function applyFinish(call: Call, event: EventOf<"tool_finished">): Call {
  switch (call.status) {
    case "settling":
      return event.outcome === call.outcome && event.causeSeq === call.causeSeq
        ? finishCall(call, event.outcome)
        : call;
    case "running":
      return event.attempt === undefined || event.attempt === call.attempt ? finishCall(call, event.outcome) : call;
    case "reconciling":
    case "waiting":
      return finishCall(call, event.outcome);
    case "deciding":
    case "asking":
    case "ready":
    case "retrying":
    case "done":
      return call;
  }
}

function applyAnswer(call: Extract<Call, { status: "asking" }>, event: EventOf<"answered">, seq: number): Call {
  if (event.inputHash !== undefined && event.inputHash !== call.inputHash) return call;
  const { answer } = event;
  const { policy, attempt, expiresAt } = call;
  if (call.why === "provider") return applyProviderAnswer(call, answer, seq);
  if (answer.type === "approve") return { status: "ready", policy, attempt, ...pickIdentity(call) };
  if (answer.type === "deny") return settleCall(call, call.why === "recovery" ? "interrupted" : "denied", seq);
  if (call.why === "policy") {
    if (answer.type !== "modify") return call;
    const edited = expiresAt === undefined ? { policy } : { policy, expiresAt };
    return { ...pickIdentity(call), inputSeq: seq, inputHash: answer.inputHash, status: "deciding", edited };
  }
  switch (answer.type) {
    case "rerun":
      return { status: "ready", policy, attempt, ...pickIdentity(call) };
    case "result":
      return settleCall(call, answer.isError === true ? "error" : "ok", seq);
    case "fail":
      return settleCall(call, "interrupted", seq);
    case "modify":
    case "reply":
    case "decline":
      return call;
  }
}

/** The call ends here, and the provider is sent the decision. The input cannot be changed, because the provider already has it. */
function applyProviderAnswer(call: Call, { type }: Answer, seq: number): Call {
  if (type === "approve") return settleCall(call, "ok", seq);
  return type === "deny" ? settleCall(call, "denied", seq) : call;
}

/** The state of a call after a restart. Only a call that was running is in doubt. */
export function recoverCall(call: Call, causeSeq: number, at: number): Call {
  if (call.status !== "running") return call;
  const { policy, attempt } = call;
  switch (policy.recover) {
    case "rerun":
      return {
        status: "running",
        policy,
        attempt: attempt + 1,
        ...pickFailures(call),
        ...pickChildReport(call),
        ...pickIdentity(call),
      };
    case "fail":
      return settleCall(call, "interrupted", causeSeq);
    case "ask":
      return { status: "asking", why: "recovery", policy, attempt, askedAt: at, ...pickIdentity(call) };
    case "reconcile":
      return { status: "reconciling", policy, attempt, ...pickIdentity(call) };
  }
}

export function pickIdentity({
  callKey,
  name,
  inputSeq,
  inputHash,
}: Call): Pick<Call, "callKey" | "name" | "inputSeq" | "inputHash"> {
  return inputHash === undefined ? { callKey, name, inputSeq } : { callKey, name, inputSeq, inputHash };
}

export function settleCall(call: Call, outcome: CallOutcome, causeSeq: number): Call {
  return { status: "settling", outcome, causeSeq, ...pickIdentity(call) };
}

function finishCall(call: Call, outcome: CallOutcome): Call {
  return { status: "done", outcome, ...pickIdentity(call) };
}
