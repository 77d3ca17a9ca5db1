/**
 * Asks the person in the editor about the calls that wait.
 */
import type { AgentContext } from "@agentclientprotocol/sdk";
import { type ApprovalDecision, PawlError, type PendingApproval } from "../../index.js";
import { questionKey } from "../../view/view-change.js";
import { carryOn } from "../carry-on.js";
import { cancelTurns, type OpenSession } from "./open-session.js";
import { type Choice, choiceOf, formOf, permissionRequest, replyOf } from "./permission.js";

export type AskContext = { readonly open: OpenSession; readonly client: AgentContext };

/**
 * Asks about one call after the other, until all are answered or somebody answers elsewhere.
 * @param answered takes the questions for which this editor has nothing more to answer
 */
export async function askAll(
  approvals: readonly PendingApproval[],
  answered: Set<string>,
  context: AskContext,
): Promise<void> {
  const { open } = context;
  const over = new AbortController();
  const watching = watchAnswers(approvals, answered, open, over);
  const expiry = expiryTimer(approvals, open);
  try {
    for (const approval of approvals) {
      if (over.signal.aborted) return;
      const choice = await choose(approval, context, over.signal);
      if (over.signal.aborted) return;
      if (choice === null) {
        await cancelTurns(open, open.turns);
        return;
      }
      answered.add(questionKey(approval));
      if (choice !== "nothing") await give(approval, choice, open);
    }
  } finally {
    clearTimeout(expiry);
    over.abort();
    await watching;
  }
}

/** Ends the questions if somebody else answers one of them, or if the run ends. */
async function watchAnswers(
  approvals: readonly PendingApproval[],
  answered: ReadonlySet<string>,
  { session, shown: after, report }: OpenSession,
  over: AbortController,
): Promise<void> {
  const asked = new Set(approvals.map(questionKey));
  const isOpen = (key: string) => asked.has(key) && !answered.has(key);
  try {
    for await (const item of session.events({ after, live: false, signal: over.signal })) {
      const isAnswer = item.type === "approval_answered" && isOpen(questionKey(item));
      if (isAnswer || item.type === "abort_requested" || item.type === "final") over.abort();
    }
  } catch (error) {
    report(error);
  }
}

const longestTimer = 2 ** 31 - 1;

/** A question that expires is answered by the loop, if a process has the session by then. */
function expiryTimer(approvals: readonly PendingApproval[], open: OpenSession): NodeJS.Timeout | undefined {
  const times = approvals.flatMap(({ expiresAt }) => (expiresAt === undefined ? [] : [expiresAt]));
  if (times.length === 0) return undefined;
  const delay = Math.min(Math.max(Math.min(...times) - Date.now(), 0), longestTimer);
  return setTimeout(() => void carryOn(open.session), delay);
}

/** What the person chooses; `nothing` if this editor cannot answer such a call. */
async function choose(
  approval: PendingApproval,
  { open, client }: AskContext,
  cancellationSignal: AbortSignal,
): Promise<Choice | "nothing"> {
  const wait = { cancellationSignal, stopWaitingOnCancel: true };
  const { why } = approval;
  if (why === "external") return "nothing";
  if (why === "tool") return askForm(approval, { open, client }, wait);
  if (why !== "recovery" && (await open.agent.isAllowed?.(approval)) === true) return { decision: { type: "approve" } };
  const rules = why === "policy" ? await open.agent.rulesFor?.(approval, open.id) : undefined;
  const request = permissionRequest(open.id, approval, open.updates.root, rules);
  try {
    return choiceOf((await client.request("session/request_permission", request, wait)).outcome, rules);
  } catch (error) {
    if (cancellationSignal.aborted) return "nothing";
    throw error;
  }
}

type Wait = { readonly cancellationSignal: AbortSignal; readonly stopWaitingOnCancel: boolean };

async function askForm(
  approval: PendingApproval,
  { open, client }: AskContext,
  wait: Wait,
): Promise<Choice | "nothing"> {
  const form = open.updates.client.elicitation?.form == null ? null : formOf(open.id, approval);
  if (form === null) {
    const note = "The editor has no form for this question.";
    return { decision: { type: "decline", note } };
  }
  try {
    const decision = replyOf(await client.request("elicitation/create", form, wait), approval);
    return decision === null ? null : { decision };
  } catch (error) {
    if (wait.cancellationSignal.aborted) return "nothing";
    throw error;
  }
}

async function give(approval: PendingApproval, choice: NonNullable<Choice>, open: OpenSession): Promise<void> {
  const { callKey, inputHash, questionId } = approval;
  // The person has allowed this call in any case.
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
    // Somebody else has answered, or has ended the run.
    if (code === "no_such_call") return;
    if (code !== "bad_input" || choice.decision.type !== "reply") throw error;
    await send({ type: "decline", note: `The answer did not fit the question: ${(error as PawlError).message}` });
  }
}
