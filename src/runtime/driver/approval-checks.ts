/**
 * Calls the permission check (`canExecuteTool`) again when an approval is consumed.
 *
 * Days may pass between a question and its answer, and the rules may have become stricter in between. A denial then overrules the approval.
 *
 * 1. The approval stays in the inbox until it is committed. If the process dies meanwhile, the next holder calls the check again.
 * 2. The log gets either the approval or a denial that names it (`overruled`). So the machine has no state in between, and
 *    0.1 reads an overruled approval as a denial.
 * 3. A driver with a check in progress keeps its session, and the expiry of the question waits for the check.
 */
import { defined } from "../../core/data/defined.js";
import type { EventBody, EventOf, HookRecord, Overruled } from "../../core/machine/event.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import { type Call, callOf, type State } from "../../core/machine/state.js";
import { toolNameOf } from "../../core/transcript/results.js";
import { checkPermission, type PlainPermission } from "../effects/author-checks.js";
import { abort, type Cancellation } from "../lib/cancellation.js";
import type { Coroutine } from "../lib/coroutine.js";
import type { EffectContext } from "../work/effect-context.js";
import type { MessageChange, MessageCheck } from "./driver-types.js";

/** The denial that overrules an approval. */
type Denial = {
  readonly permission: Extract<PlainPermission, { readonly verdict: "deny" }>;
  /** The failure of the check itself, if that caused the denial. */
  readonly records: readonly HookRecord[];
};

/** The call that this message approves; undefined if it is not an approval. */
export function findApprovedCall({ body }: InboxMessage): string | undefined {
  if (body.type !== "answer") return undefined;
  return body.answer.type === "approve" || body.answer.type === "rerun" ? body.callKey : undefined;
}

/** Checks the approved input. Undefined if the approval stands. */
export function* checkApproval(
  callKey: string,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<MessageChange | undefined> {
  const denial = yield* findDenial(callKey, context, cancellation);
  return denial && { events: (given, state) => overruleApproval(given, denial, state) };
}

function* findDenial(
  callKey: string,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<Denial | undefined> {
  const record = context.transcript.calls.get(callKey);
  if (record === undefined || findAskingCall(context.state, callKey) === undefined) return undefined;
  const tool = context.agent.tools.get(toolNameOf(record))?.tool ?? { name: toolNameOf(record) };
  const { permission, records } = yield* checkPermission(record, tool, context, cancellation);
  return permission.verdict === "deny" ? { permission, records } : undefined;
}

type AskingCall = Extract<Call, { readonly status: "asking" }>;

function findAskingCall(state: State, callKey: string): AskingCall | undefined {
  const call = callOf(state, callKey);
  return call?.status === "asking" ? call : undefined;
}

/** Replaces the approval by the denial. */
function overruleApproval(events: readonly EventBody[], denial: Denial, state: State): readonly EventBody[] {
  return events.flatMap((event) => (event.type === "answered" ? toDenialEvents(event, denial, state) : [event]));
}

function toDenialEvents(
  { answer, by, ...event }: Omit<EventOf<"answered">, "at">,
  { permission, records }: Denial,
  state: State,
): readonly EventBody[] {
  const { reason: note, rule, stopRun } = permission;
  const isInDoubt = findAskingCall(state, event.callKey)?.why === "recovery";
  const overruled: Overruled = { answer: answer.type, ...defined({ by, rule }) };
  const denial: EventBody = {
    ...event,
    answer: { type: isInDoubt ? "fail" : "deny", note },
    overruled,
    ...(records.length === 0 ? {} : { hooks: records }),
  };
  return stopRun === true ? [denial, { type: "abort_requested", runId: event.runId, note }] : [denial];
}

/** Cancels the checks of calls that no longer wait for an answer. */
export function cancelChecks(checks: readonly MessageCheck[], state: State): void {
  for (const { callKey, cancellation } of checks)
    if (findAskingCall(state, callKey) === undefined) abort(cancellation, noLongerAskedReason);
}

const noLongerAskedReason = () => new DOMException("The call no longer waits for an answer.", "AbortError");
