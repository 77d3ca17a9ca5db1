/**
 * Calls an agent as a tool: one run, from its request to its end or until it waits for a person.
 *
 * 1. The run is in the log before it has any effect. A cancelled call aborts the run; a client that disconnects does not.
 * 2. The calls that a run waits for are sent to the client as forms. The state that the client sends back with the answers is signed.
 */

import type { CallToolResult, InputRequiredResult, ServerContext } from "@modelcontextprotocol/server";
import { questionKey } from "../../core/data/call-key.js";
import { PawlError, type PendingApproval, type RunResult } from "../../index.js";
import type { ViewChange } from "../../view/view-change.js";
import { createForm, type Form, type FormResponse, toDecision } from "../approval-forms.js";
import { createProgressText } from "../describe-progress.js";
import { describeWaits } from "../describe-waits.js";
import { formatInterruptId } from "../interrupt-id.js";
import { redactSession } from "../redact-session.js";
import { startRun } from "../run-cursors.js";
import { streamRun } from "../run-flow.js";
import type { CalledSession, McpHost } from "./host.js";
import { createNewTask, type TaskView } from "./tasks.js";

/** The state that the client sends back with its answers. */
export type CallState = {
  readonly agent: string;
  readonly sessionId: string;
  readonly runId: string;
  readonly seq: number;
};

export type AgentCall = {
  readonly agent: string;
  /** The request of a new run. Not used if the client continues a call. */
  readonly prompt: string;
  /** The client's span that the call belongs to. */
  readonly traceparent?: string;
  readonly session: CalledSession;
  readonly host: McpHost;
  readonly context: ServerContext;
  readonly canAsk: boolean;
  readonly inputRequired: (forms: { readonly [id: string]: Form }, state: CallState) => Promise<InputRequiredResult>;
};

export async function callAgent(
  call: AgentCall,
  state: CallState | undefined,
): Promise<CallToolResult | InputRequiredResult> {
  const { session, host, context } = call;
  const by = host.by === undefined ? {} : { by: host.by };
  const answered = new Set<string>();
  const cursor =
    state === undefined
      ? await startRun(session, call.prompt, host.makeId(), pickTraceparent(call))
      : { runId: state.runId, after: state.seq };
  if (state !== undefined) {
    const responses = context.mcpReq.inputResponses ?? {};
    const dismissed = await sendDecisions(
      call,
      await session.pendingApprovals(),
      responses,
      formatInterruptId,
      answered,
    );
    // The client closed every form without an answer.
    if (answered.size === 0 && dismissed > 0) return createWaitingResult(call, cursor.runId);
  }
  const onCancel = () => {
    if (host.leaving?.signal.aborted === true) return;
    void session.abort({ runId: cursor.runId, note: "cancelled by the MCP client", ...by }).catch(host.report);
  };
  context.mcpReq.signal.addEventListener("abort", onCancel, { once: true });
  if (context.mcpReq.signal.aborted) onCancel();
  try {
    return await followCall(call, cursor, answered);
  } finally {
    context.mcpReq.signal.removeEventListener("abort", onCancel);
  }
}

/** Posts the run without driving it: any process may drive the session. When this resolves, the run is in the store. */
export async function beginTask(call: AgentCall): Promise<TaskView> {
  const { session, host, prompt } = call;
  const createdAt = Date.now();
  const { runId } = await startRun(session, prompt, host.makeId(), pickTraceparent(call));
  return createNewTask({ sessionId: session.id, runId, createdAt });
}

function pickTraceparent({ traceparent }: AgentCall): Pick<AgentCall, "traceparent"> {
  return traceparent === undefined ? {} : { traceparent };
}

type RunStart = { readonly runId: string; readonly after: number | string };

async function followCall(
  call: AgentCall,
  cursor: RunStart,
  answered: ReadonlySet<string>,
): Promise<CallToolResult | InputRequiredResult> {
  const { session, host, context } = call;
  const progress = createProgress(context);
  const stop = new AbortController();
  const stopFollowing = () => stop.abort();
  host.leaving?.signal.addEventListener("abort", stopFollowing, { once: true });
  if (host.leaving?.signal.aborted === true) stopFollowing();
  if (host.endsWithRequest === true) context.mcpReq.signal.addEventListener("abort", stopFollowing, { once: true });
  const failure = host.carryOn(session).then((why) => {
    if (why !== null) stop.abort();
    return why;
  });
  const redacted = redactSession(session, host.redaction?.stream ?? (() => (item) => [item]));
  try {
    for await (const item of streamRun(redacted, { ...cursor, answered, signal: stop.signal })) {
      if (item.type === "waiting")
        return item.approvals.length > 0
          ? await requestInput(call, cursor.runId, item.approvals)
          : createTextResult(call, cursor.runId, describeWaits(item.waits), false, "waiting");
      await progress(item);
      if (item.type === "run_ended") return toToolResult(item.by.result, call);
    }
  } finally {
    host.leaving?.signal.removeEventListener("abort", stopFollowing);
  }
  if (host.leaving?.signal.aborted === true) return createDetachedResult(call, cursor.runId, host.leaving.whereToRead);
  return createTextResult(call, cursor.runId, (await failure) ?? "The run stopped without a result.", true);
}

async function requestInput(
  call: AgentCall,
  runId: string,
  approvals: readonly PendingApproval[],
): Promise<CallToolResult | InputRequiredResult> {
  const forms: { [id: string]: Form } = {};
  for (const approval of approvals) {
    const form = createForm(approval);
    if (form !== null) forms[formatInterruptId(approval)] = form;
  }
  if (!call.canAsk || Object.keys(forms).length === 0) return createWaitingResult(call, runId);
  const { seq } = await call.session.state();
  return call.inputRequired(forms, { agent: call.agent, sessionId: call.session.id, runId, seq });
}

/**
 * Answers the waiting calls that have a response. Other responses are ignored.
 * @param answered receives the keys of the questions that were answered
 * @returns the number of forms that the client closed without an answer
 */
export async function sendDecisions(
  { session, host }: Pick<AgentCall, "session" | "host">,
  waiting: readonly PendingApproval[],
  responses: { readonly [key: string]: unknown },
  formatKey: (approval: PendingApproval) => string,
  answered: Set<string>,
): Promise<number> {
  const by = host.by === undefined ? {} : { by: host.by };
  let dismissed = 0;
  for (const approval of waiting) {
    const key = formatKey(approval);
    const response = Object.hasOwn(responses, key) ? responses[key] : undefined;
    if (response === undefined) continue;
    const decision = toDecision(Object(response) as FormResponse, approval);
    if (decision === null) {
      dismissed += 1;
      continue;
    }
    const { callKey, inputHash, questionId } = approval;
    const options = {
      ...by,
      ...(inputHash === undefined ? {} : { inputHash }),
      ...(questionId === undefined ? {} : { questionId }),
    };
    try {
      await session.answer(callKey, decision, options);
    } catch (error) {
      if (!(error instanceof PawlError && error.code === "bad_input")) throw error;
      // Without this answer, the run would wait forever for a valid one.
      await session.answer(callKey, decision.type === "reply" ? { type: "decline" } : { type: "deny" }, options);
    }
    answered.add(questionKey(approval));
  }
  return dismissed;
}

export function toToolResult(result: RunResult, call: Pick<AgentCall, "session" | "host">): CallToolResult {
  const message = result.status === "failed" ? (result.error?.message ?? result.text) : result.text;
  return createTextResult(
    call,
    result.runId,
    message,
    result.status !== "completed",
    "reason" in result ? result.reason : undefined,
  );
}

function createDetachedResult(
  call: AgentCall,
  runId: string,
  whereToRead: NonNullable<McpHost["leaving"]>["whereToRead"],
): CallToolResult {
  const text = `This call has ended without a result, but the run continues. ${whereToRead(call.session.id, runId)}`;
  return createTextResult(call, runId, text, true, "connection_ended");
}

function createWaitingResult(call: AgentCall, runId: string): CallToolResult {
  const text = `The run is waiting for a person. ${call.host.whereToAnswer(call.session.id)}`;
  return createTextResult(call, runId, text, true, "awaiting_human");
}

function createTextResult(
  { session, host }: Pick<AgentCall, "session" | "host">,
  runId: string,
  text: string,
  isError: boolean,
  reason?: string,
): CallToolResult {
  return {
    content: [{ type: "text", text: host.redaction?.text(text) ?? text }],
    isError,
    _meta: {
      "pawl/sessionId": session.id,
      "pawl/runId": runId,
      ...(reason === undefined ? {} : { "pawl/reason": reason }),
    },
  };
}

/** Reports the progress of a run to an MCP client, if the client asked for it. */
function createProgress({ mcpReq }: ServerContext): (change: ViewChange) => Promise<void> {
  const { progressToken } = mcpReq._meta ?? {};
  if (progressToken === undefined) return async () => {};
  const describe = createProgressText();
  let progress = 0;
  return async (change) => {
    const message = describe(change);
    if (message === null) return;
    progress += 1;
    await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, message } });
  };
}
