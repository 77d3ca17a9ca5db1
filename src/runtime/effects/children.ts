/**
 * Child sessions: how a parent starts and aborts them, and how they send their results.
 *
 * 1. A child's id is a keyed hash of the parent's id and the call: a restart finds the child, and a stranger cannot guess its id.
 * 2. The parent posts to the child's inbox before it commits that it waits. Both can be repeated, and neither counts twice.
 * 3. A child posts its result to the parent's inbox, and also whether it waits for a person. Its state keeps wanting that effect until it
 *    has settled.
 */
import { defined } from "../../core/data/defined.js";
import type { ToolOutput, Usage } from "../../core/data/message.js";
import { isLimitReason, type Reason } from "../../core/data/reasons.js";
import { parseTraceparent, traceparentOf } from "../../core/data/traceparent.js";
import { createParentReport } from "../../core/machine/child-reports.js";
import type { EventBody } from "../../core/machine/event.js";
import type { InboxBody, InboxMessage } from "../../core/machine/inbox.js";
import { pickPrincipal, type SessionInfo } from "../../core/machine/session-info.js";
import { callOf, isSuspended } from "../../core/machine/state.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import { collectFindings, type RunResult, resultOf } from "../../core/view/outcome.js";
import { hmacSha256 } from "../../platform/hash.js";
import type { Store } from "../../ports/store.js";
import { type ChildAgent, findChildAgent, takeUpParent } from "../agent/agent-family.js";
import type { RunParams } from "../agent/params.js";
import { loadRunResult } from "../log/present-result.js";
import { readTranscript } from "../log/read-log.js";
import { normaliseJson } from "../tools/to-json.js";
import { capOrKeepWhole } from "../work/cap-output.js";
import { type EffectContext, type EffectOf, isInteractive } from "../work/effect-context.js";
import { getParams } from "../work/run-params.js";
import { findReachedChildLimit, limitToReserved, reserveBudget } from "./child-budget.js";
import {
  budgetUsedUp,
  childLost,
  childNotFinished,
  endedInBackground,
  errorOutput,
  lostInBackground,
  startedInBackground,
} from "./prompts.js";

export function deriveChildId(sessionId: string, callKey: string): string {
  return hmacSha256(sessionId, callKey).slice(0, 32);
}

/** Posts the request to the child. Repeating a call asks the same child, and only once. */
export async function startChild(
  { runId, callKey, attempt }: EffectOf<"run_tool">,
  child: ChildAgent,
  input: unknown,
  context: EffectContext,
): Promise<EventBody> {
  const { sessionId, state, agent, transcript, now } = context;
  const span = parseTraceparent(transcript.run?.traceparent);
  const childId = deriveChildId(sessionId, callKey);
  // A child session waits for its own children. After its end, their answers would be lost and their usage would not be counted.
  const wantsBackground = state.session?.parent === undefined && child.background(input);
  const refused = findReachedChildLimit(callKey, wantsBackground, state, agent.family);
  if (refused !== undefined)
    return { type: "tool_finished", runId, callKey, outcome: "blocked", output: errorOutput(refused) };
  const reserved = reserveBudget(callKey, state, agent.family);
  if (reserved === "nothing")
    return { type: "tool_finished", runId, callKey, outcome: "error", output: errorOutput(budgetUsedUp) };
  const text = child.request(input);
  const params = child.params?.(input, { params: getParams(context) });
  const body: InboxBody = {
    type: "input",
    mode: "queue",
    runId: deriveChildId(childId, callKey),
    input: [{ role: "user", parts: [{ type: "text", text }] }],
    limits: limitToReserved(reserved, child.limits),
    ...(span === undefined ? {} : { traceparent: traceparentOf(span) }),
    ...childOptions(child, params, isInteractive(context)),
    session: {
      ...child.sessionInfo(text),
      parent: {
        sessionId,
        callKey,
        ...(span === undefined ? {} : { traceId: span.traceId }),
        ...(wantsBackground ? { background: true } : {}),
      },
      top: state.session?.top ?? sessionId,
      ...pickPrincipal(state),
    },
  };
  const message = { id: `run/${body.runId}`, at: now(), body };
  const earlier = attempt === 1 ? null : await findReport(childId, callKey, context);
  const isBackground =
    earlier === null
      ? await postRequest({ callKey, name: child.name, childId, isBackground: wantsBackground }, message, context)
      : earlier === "background";
  if (!isBackground) return { type: "tool_waiting", runId, callKey, on: "child", childId, ...reserved };
  const output = { type: "text", text: startedInBackground(child.name, childId) } as const;
  return { type: "tool_finished", runId, callKey, outcome: "ok", output, startedChild: { childId, ...reserved } };
}

/**
 * Finds how the child of an earlier attempt of the call reports its end, if it has already done so. The child's session may have been
 * deleted since, and another request would begin it again.
 */
async function findReport(
  childId: string,
  callKey: string,
  { sessionId, state, agent }: EffectContext,
): Promise<"waiting" | "background" | null> {
  if (state.background?.some((child) => child.callKey === callKey) === true) return "background";
  const ids = (await agent.store.inbox(sessionId)).map(({ id }) => id);
  if (ids.includes(resultMessageId(childId, deriveChildId(childId, callKey)))) return "waiting";
  return ids.includes(`run/${deriveEndRunId(childId, callKey)}`) ? "background" : null;
}

/** Returns whether the child works in the background. */
async function postRequest(
  { isBackground: wantsBackground, ...child }: ChildOfCall,
  message: InboxMessage,
  context: EffectContext,
): Promise<boolean> {
  const { store } = context.agent;
  if ((await store.post(child.childId, message)).type === "posted") return wantsBackground;
  const isBackground = await wasStartedInBackground(child.childId, message.id, store);
  await repeatReport({ ...child, isBackground }, context);
  return isBackground;
}

/**
 * Repeats what the child has reported: its result, or that it waits for a person or sleeps. A child reports each of these only once. It may
 * have reported to an earlier session with the id of this one, which was deleted without its children, and no other message would end this
 * session's wait. A session that has got a report already refuses it.
 */
async function repeatReport(child: ChildOfCall, { sessionId, state, agent, now }: EffectContext): Promise<void> {
  const { callKey, name, childId, isBackground } = child;
  const { store } = agent;
  const childState = (await store.load(childId))?.state;
  const ownName = state.session?.agent;
  if (childState === undefined || ownName === undefined) return;
  const [runId, at] = [deriveChildId(childId, callKey), now()];
  const result = await loadRunResult(store, childId, childState, runId);
  if (result === null || !("reason" in result)) {
    if (isBackground || !isSuspended(childState)) return;
    const wait = createWaitMessage({ childId, seq: childState.seq, at }, callKey, createParentReport(childState));
    return void (await store.post(sessionId, wait));
  }
  if (isBackground) {
    const text = endedInBackground(name, childId, describeEnd(result));
    return void (await store.post(
      sessionId,
      createEndMessage(child, { agent: ownName, text, usage: result.usage, at }),
    ));
  }
  const outcome = toChildOutput(result, await readTranscript(store, childId, childState), name);
  const body = await createResultBody(outcome, result.usage, sessionId, agent);
  await store.post(sessionId, createResultMessage({ childId, runId, at }, callKey, body));
}

/**
 * Whether the child that an earlier attempt of the call started works in the background. That attempt's version of the agent may have
 * decided otherwise than this one, and a parent that waits for a child in the background would wait for ever.
 */
async function wasStartedInBackground(childId: string, messageId: string, store: Store): Promise<boolean> {
  // In this order: a message that is taken from the inbox meanwhile has become the state.
  const message = (await store.inbox(childId)).find(({ id }) => id === messageId);
  const session = message?.body.type === "input" ? message.body.session : (await store.load(childId))?.state.session;
  return session?.parent?.background === true;
}

/** @param canAsk whether a person can be asked in the parent's run. If not, the child's run cannot ask either. */
function childOptions(
  { output }: ChildAgent,
  params: RunParams | undefined,
  canAsk: boolean,
): Pick<ChildInput, "options"> {
  const options = {
    ...(canAsk ? {} : { interactive: false }),
    ...(output === undefined ? {} : { output: output.jsonSchema }),
    // A copy, checked in the same way as a caller's params.
    ...(params === undefined ? {} : { params: normaliseJson(params) as RunParams }),
  };
  return Object.keys(options).length === 0 ? {} : { options };
}

type ChildInput = Extract<InboxBody, { readonly type: "input" }>;

/** Returns whether there is such a child. It may not have been started, or was deleted. */
export async function postAbort(
  { childId, callKey }: Pick<EffectOf<"cancel_child">, "childId" | "callKey">,
  store: Store,
  at: number,
): Promise<boolean> {
  if ((await store.describe(childId)) === null) return false;
  await store.post(childId, { id: `abort/${callKey}`, at, body: { type: "abort", note: "the parent was aborted" } });
  return true;
}

/** Aborts a child. Its result arrives like that of any child. */
export async function cancelChild(effect: EffectOf<"cancel_child">, { agent, now }: EffectContext): Promise<undefined> {
  if (await postAbort(effect, agent.store, now()))
    await findChildAgent(effect.name, agent.family)?.takeUp(effect.childId);
  return undefined;
}

/** Posts the result of the call that started this session to the parent. */
export async function notifyParent(
  { parent, runId }: EffectOf<"notify_parent">,
  { sessionId, state, transcript, agent, now }: EffectContext,
): Promise<EventBody> {
  const result = resultOf(sessionId, state, transcript);
  if (parent.background === true) {
    if (runId === deriveChildId(sessionId, parent.callKey)) await reportEnd(parent, result, { sessionId, agent, now });
    return { type: "parent_notified", runId };
  }
  const outcome = toChildOutput(result, transcript, agent.name);
  const body = await createResultBody(outcome, result?.usage ?? {}, parent.sessionId, agent);
  const message = createResultMessage({ childId: sessionId, runId, at: now() }, parent.callKey, body);
  // A message to a parent that was deleted would begin a session that no agent can continue.
  if ((await agent.store.describe(parent.sessionId)) !== null) await agent.store.post(parent.sessionId, message);
  await takeUpParent(parent.sessionId, agent.family);
  return { type: "parent_notified", runId };
}

type ResultBody = Omit<Extract<InboxBody, { readonly type: "result" }>, "type" | "callKey">;

async function createResultBody(
  { output, isError, cut }: ChildOutput,
  usage: Usage,
  parentId: string,
  agent: EffectContext["agent"],
): Promise<ResultBody> {
  return {
    output: await capOrKeepWhole(output, parentId, agent),
    ...(isError ? { isError } : {}),
    child: { usage, ...defined({ cut }) },
  };
}

/** The result of a child's run, for its parent. The parent's inbox accepts one for each run. */
function createResultMessage(
  { childId, runId, at }: { readonly childId: string; readonly runId: string; readonly at: number },
  callKey: string,
  result: ResultBody,
): InboxMessage {
  return { id: resultMessageId(childId, runId), at, body: { type: "result", callKey, ...result } };
}

function resultMessageId(childId: string, runId: string): string {
  return `child/${childId}/${runId}`;
}

/** The id of the run that the message about the end of a child in the background may begin. */
function deriveEndRunId(childId: string, callKey: string): string {
  return deriveChildId(childId, `${callKey}/ended`);
}

/**
 * Sends the parent the message that a child in the background has ended. It holds nothing that the child wrote: the model reads the
 * answer with `read_agent`, whose result passes the hooks and permissions of the parent.
 */
async function reportEnd(
  parent: NonNullable<SessionInfo["parent"]>,
  result: RunResult | null,
  { sessionId, agent, now }: Pick<EffectContext, "sessionId" | "agent" | "now">,
): Promise<void> {
  const parentAgent = (await agent.store.load(parent.sessionId))?.state.session?.agent;
  if (parentAgent === undefined) return;
  const text = endedInBackground(agent.name, sessionId, describeEnd(result));
  const child = { callKey: parent.callKey, name: agent.name, childId: sessionId };
  const message = createEndMessage(child, {
    agent: parentAgent,
    text,
    usage: result?.usage ?? {},
    ...(result !== null && "reason" in result && result.status !== "interrupted" ? { reason: result.reason } : {}),
    at: now(),
  });
  await agent.store.post(parent.sessionId, message);
  await takeUpParent(parent.sessionId, agent.family);
}

/** The message that a child in the background has ended. The parent's inbox accepts one. */
function createEndMessage(
  { callKey, name, childId }: Pick<ChildOfCall, "callKey" | "name" | "childId">,
  {
    agent,
    text,
    usage,
    reason,
    at,
  }: {
    readonly agent: string;
    readonly text: string;
    readonly usage: Usage;
    readonly reason?: Reason;
    readonly at: number;
  },
): InboxMessage {
  const runId = deriveEndRunId(childId, callKey);
  const body: InboxBody = {
    type: "input",
    mode: "steer",
    runId,
    input: [{ role: "user", parts: [{ type: "text", text }] }],
    session: { agent },
    by: `agent ${name}`,
    finishedChild: { callKey, childId, usage, ...defined({ reason }) },
  };
  return { id: `run/${runId}`, at, body };
}

/** A child session, and the call of its parent that started it. */
export type ChildOfCall = {
  readonly callKey: string;
  /** The name of the agent, as the parent's model knows it. */
  readonly name: string;
  readonly childId: string;
  readonly isBackground: boolean;
};

/**
 * The message to the parent of a child session that was deleted. It has the id of the message that the child itself would send, so that the
 * parent gets only one of them.
 * @param agent the agent of the parent
 * @param usage the usage of the child, as far as it is known
 */
export function createLossMessage(child: ChildOfCall, agent: string, usage: Usage, at: number): InboxMessage {
  const { callKey, name, childId, isBackground } = child;
  if (isBackground) return createEndMessage(child, { agent, text: lostInBackground(name, childId), usage, at });
  const runId = deriveChildId(childId, callKey);
  const output = errorOutput(childLost(name));
  return createResultMessage({ childId, runId, at }, callKey, { output, isError: true, child: { usage } });
}

/** How a child's run has ended, for models. */
export function describeEnd(result: RunResult | null): string {
  if (result === null) return "it did not end";
  return "reason" in result && result.status !== "completed" ? `${result.status}, ${result.reason}` : result.status;
}

/**
 * Reports to the parent whether this child waits for a person, or sleeps. The parent is resumed after `parent_told` is committed; by then,
 * this child has usually released its lease.
 */
export async function reportToParent(
  { parent, runId, askedAt, asleep, seq }: EffectOf<"tell_parent">,
  { sessionId, agent, now }: EffectContext,
): Promise<EventBody> {
  // Whoever lists the questions of the family reads those of a child in the background from its own state.
  if (parent.background === true) return { type: "parent_told", runId, askedAt, toldSeq: seq };
  if ((askedAt !== null || asleep !== undefined) && !(await isCallOpen(parent, agent.store)))
    return { type: "abort_requested", runId, note: "the parent waits for it no more" };
  const message = createWaitMessage({ childId: sessionId, seq, at: now() }, parent.callKey, {
    askedAt,
    ...defined({ asleep }),
  });
  if ((await agent.store.describe(parent.sessionId)) !== null) await agent.store.post(parent.sessionId, message);
  return { type: "parent_told", runId, askedAt, toldSeq: seq };
}

/** The report that a child waits for a person or sleeps, or no longer does. The parent's inbox accepts one for each entry of the child. */
function createWaitMessage(
  { childId, seq, at }: { readonly childId: string; readonly seq: number; readonly at: number },
  callKey: string,
  { askedAt, asleep }: Pick<EffectOf<"tell_parent">, "askedAt" | "asleep">,
): InboxMessage {
  const body: InboxBody = { type: "child", callKey, childId, askedAt, ...defined({ asleep }), seq };
  return { id: `asks/${childId}/${seq}`, at, body };
}

/**
 * Whether the call that started a child is open. It is not if the parent was aborted, and the process that should have aborted the child
 * died. The child's question would then never be shown.
 */
async function isCallOpen({ sessionId, callKey }: EffectOf<"tell_parent">["parent"], store: Store): Promise<boolean> {
  const parent = await store.load(sessionId);
  if (parent === null) return true;
  const status = callOf(parent.state, callKey)?.status;
  return status === "running" || status === "waiting";
}

type ChildOutput = { readonly output: ToolOutput; readonly isError: boolean; readonly cut?: Reason };

/** The result of the parent's call. A child that hit a limit returns what it has, and is an error only if it has nothing. */
export function toChildOutput(result: RunResult | null, transcript: Transcript, name: string): ChildOutput {
  if (result?.status === "completed") {
    const { output, text } = result;
    return { output: output === undefined ? { type: "text", text } : { type: "json", value: output }, isError: false };
  }
  const reason = result !== null && "reason" in result ? result.reason : undefined;
  if (reason !== undefined && result?.status === "failed" && isLimitReason(result.reason)) {
    const text = collectFindings(result.reason, transcript);
    if (text !== "") return { output: { type: "text", text }, isError: false, cut: result.reason };
  }
  const why = reason === undefined ? "it did not end" : `${result?.status}, ${reason}`;
  return { output: errorOutput(childNotFinished(name, why, result?.text ?? "")), isError: true };
}
