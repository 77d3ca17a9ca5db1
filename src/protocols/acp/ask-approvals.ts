/**
 * Asks the person in the editor about the calls that wait for a decision.
 */

import type { AgentContext } from "@agentclientprotocol/sdk";
import { questionKey } from "../../core/data/call-key.js";
import { type ApprovalDecision, PawlError, type PendingApproval } from "../../index.js";
import { type Alarm, createAlarm } from "../../platform/alarm.js";
import { resumeHere } from "../resume-here.js";
import { cancelTurns, type OpenSession } from "./open-session.js";
import {
  type Choice,
  createChoiceRequest,
  createForm,
  createPermissionRequest,
  toChoice,
  toDecision,
} from "./permission.js";

export type AskContext = { readonly open: OpenSession; readonly client: AgentContext };

/**
 * Asks about the calls one by one, until all are answered or one is answered elsewhere.
 * @param answered the keys of the questions that this editor has handled; the function adds to it
 */
export async function askApprovals(
  approvals: readonly PendingApproval[],
  answered: Set<string>,
  context: AskContext,
): Promise<void> {
  const { open } = context;
  const controller = new AbortController();
  const watcher = watchOtherAnswers(approvals, answered, open, controller);
  const expiryAlarm = startExpiryAlarm(approvals, open);
  try {
    for (const approval of approvals) {
      if (controller.signal.aborted) return;
      const choice = await askChoice(approval, context, controller.signal);
      if (controller.signal.aborted) return;
      if (choice === null) {
        await cancelTurns(open, open.turns);
        return;
      }
      answered.add(questionKey(approval));
      if (choice !== "nothing") await sendDecision(approval, choice, open);
    }
  } finally {
    expiryAlarm.clear();
    controller.abort();
    await watcher;
  }
}

/** Stops asking if one of the questions is answered elsewhere, or if the run ends. */
async function watchOtherAnswers(
  approvals: readonly PendingApproval[],
  answered: ReadonlySet<string>,
  { session, shownCursor: after, report }: OpenSession,
  controller: AbortController,
): Promise<void> {
  const askedKeys = new Set(approvals.map(questionKey));
  const isUnanswered = (key: string) => askedKeys.has(key) && !answered.has(key);
  try {
    for await (const item of session.events({ after, live: false, signal: controller.signal })) {
      const isAnswer = item.type === "approval_answered" && isUnanswered(questionKey(item));
      if (isAnswer || item.type === "abort_requested" || item.type === "final") controller.abort();
    }
  } catch (error) {
    report(error);
  }
}

/** Resumes the session when the first question expires: the loop answers an expired question only while a process drives the session. */
function startExpiryAlarm(approvals: readonly PendingApproval[], open: OpenSession): Alarm {
  const alarm = createAlarm(() => void resumeHere(open.session));
  const times = approvals.flatMap(({ expiresAt }) => expiresAt ?? []);
  if (times.length > 0) alarm.set(Math.min(...times));
  return alarm;
}

/** Asks for the person's choice. Returns `nothing` if this editor cannot answer such a call. */
async function askChoice(
  approval: PendingApproval,
  { open, client }: AskContext,
  cancellationSignal: AbortSignal,
): Promise<Choice | "nothing"> {
  const requestOptions = { cancellationSignal, stopWaitingOnCancel: true };
  const { why } = approval;
  if (why === "external") return "nothing";
  if (why === "tool") return askForm(approval, { open, client }, requestOptions);
  if (why !== "recovery" && (await open.agent.isAllowed?.(approval)) === true) return { decision: { type: "approve" } };
  const rules = why === "policy" ? await open.agent.rulesFor?.(approval, open.id) : undefined;
  const request = createPermissionRequest(open.id, approval, open.updates.root, rules);
  try {
    return toChoice((await client.request("session/request_permission", request, requestOptions)).outcome, why, rules);
  } catch (error) {
    if (cancellationSignal.aborted) return "nothing";
    throw error;
  }
}

type RequestOptions = { readonly cancellationSignal: AbortSignal; readonly stopWaitingOnCancel: boolean };

async function askForm(
  approval: PendingApproval,
  { open, client }: AskContext,
  requestOptions: RequestOptions,
): Promise<Choice | "nothing"> {
  const form = open.updates.client.elicitation?.form == null ? null : createForm(open.id, approval);
  const choice = createChoiceRequest(open.id, approval, open.updates.root);
  const ask = async (): Promise<ApprovalDecision | null> => {
    if (form !== null) return toDecision(await client.request("elicitation/create", form, requestOptions), approval);
    if (choice === null) return { type: "decline", note: "The editor cannot show a form for this question." };
    const { outcome } = await client.request("session/request_permission", choice.request, requestOptions);
    return choice.toDecision(outcome);
  };
  try {
    const decision = await ask();
    return decision === null ? null : { decision };
  } catch (error) {
    if (requestOptions.cancellationSignal.aborted) return "nothing";
    throw error;
  }
}

async function sendDecision(approval: PendingApproval, choice: NonNullable<Choice>, open: OpenSession): Promise<void> {
  const { callKey, inputHash, questionId } = approval;
  // The person has decided about this call, whether or not the rule can be saved.
  await choice.rule?.keep().catch(open.report);
  const options = {
    ...(open.by === undefined ? {} : { by: open.by }),
    ...(inputHash === undefined ? {} : { inputHash }),
    ...(questionId === undefined ? {} : { questionId }),
  };
  const send = (decision: ApprovalDecision) => open.session.answer(callKey, decision, options);
  try {
    await send(choice.decision);
  } catch (error) {
    const code = error instanceof PawlError ? error.code : null;
    // Another client answered the call, or the run has ended.
    if (code === "no_such_call") return;
    if (code !== "bad_input" || choice.decision.type !== "reply") throw error;
    await send({ type: "decline", note: `The answer did not fit the question: ${(error as PawlError).message}` });
  }
}
