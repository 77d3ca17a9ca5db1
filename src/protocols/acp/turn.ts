/**
 * A prompt: one run of the session, from its request to its end, including permission requests.
 *
 * 1. A prompt is in the log before it has any effect. A run that was interrupted, or that still waits, continues first.
 * 2. The editor receives each event once. The next prompt begins where the last one ended.
 * 3. The editor asks about a waiting call until it is answered, here or elsewhere.
 */

import type { AgentContext, PromptResponse, SessionUpdate } from "@agentclientprotocol/sdk";
import { questionKey } from "../../core/data/call-key.js";
import { PawlError, type PublicEvent, type RunResult } from "../../index.js";
import { formatCursor } from "../../stream/cursor.js";
import { findLogEvent } from "../../view/view-change.js";
import { redactSession } from "../redact-session.js";
import { resumeHere } from "../resume-here.js";
import { findCurrentRun } from "../run-cursors.js";
import { streamRun } from "../run-flow.js";
import { type AskContext, askApprovals } from "./ask-approvals.js";
import { cancelTurns, type OpenSession, sendUpdate, type Turn } from "./open-session.js";
import { toTurnEnd } from "./stop-reason.js";
import { toUpdates } from "./updates.js";

type SendInput = Parameters<OpenSession["session"]["send"]>[0];

/** @throws PawlError as `send` does; an Error with the reason if the run failed */
export async function runTurn(
  open: OpenSession,
  input: SendInput,
  client: AgentContext,
  signal: AbortSignal,
): Promise<PromptResponse> {
  const runId = open.makeId();
  const turn: Turn = { runIds: [runId], isCancelled: false };
  // Other open prompts follow their own runs.
  const isFirst = open.turns.size === 0;
  open.turns.add(turn);
  const onCancel = () => void cancelTurns(open, [turn]).catch(open.report);
  signal.addEventListener("abort", onCancel, { once: true });
  try {
    const earlier = isFirst ? await findUnfinishedRun(open) : null;
    if (turn.isCancelled) return { stopReason: "cancelled" };
    if (earlier !== null) turn.runIds.unshift(earlier);
    await open.session.send(input, { runId, ...(open.by === undefined ? {} : { by: open.by }) });
    // A cancellation that arrived before the run was in the log had no effect.
    if (turn.isCancelled) await cancelTurns(open, [turn]);
    const followed = open.lastTurn.then(async () => {
      if (earlier !== null) await followTurn(earlier, { open, client });
      return followTurn(runId, { open, client });
    });
    open.lastTurn = followed.catch(() => {});
    return await createResponse(await followed, runId, open, client);
  } finally {
    signal.removeEventListener("abort", onCancel);
    open.turns.delete(turn);
  }
}

async function findUnfinishedRun({ session }: OpenSession): Promise<string | null> {
  try {
    return (await findCurrentRun(session))?.runId ?? null;
  } catch (error) {
    if (error instanceof PawlError && error.code === "no_session") return null;
    throw error;
  }
}

async function createResponse(
  result: RunResult,
  runId: string,
  open: OpenSession,
  client: AgentContext,
): Promise<PromptResponse> {
  const end = toTurnEnd(result);
  if (end.type === "failed") throw new Error(open.redactText(end.message));
  if (end.note !== undefined) await sendUpdate(open, client, createNoteUpdate(open.redactText(end.note)));
  return { stopReason: end.stopReason, _meta: { pawl: { runId, reason: reasonOf(result), usage: result.usage } } };
}

function reasonOf(result: RunResult): string | undefined {
  return "reason" in result ? result.reason : undefined;
}

function createNoteUpdate(text: string): SessionUpdate {
  return { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
}

/** Sends the rest of a run to the editor. @returns the result of the run */
async function followTurn(runId: string, context: AskContext): Promise<RunResult> {
  const { open, client } = context;
  const answered = new Set<string>();
  for (;;) {
    const stop = new AbortController();
    const failure = resumeHere(open.session).then((why) => {
      if (why !== null) stop.abort();
      return why;
    });
    let hasAsked = false;
    for await (const item of streamRun(redactSession(open.session, open.redactStream), {
      runId,
      after: open.shownCursor,
      answered,
      signal: stop.signal,
    })) {
      if (item.type === "waiting") {
        if (item.approvals.length === 0) return await readWaitingResult(open);
        hasAsked = true;
        await askApprovals(item.approvals, answered, context);
        continue;
      }
      const event = findLogEvent(item);
      if (event !== null) {
        open.shownCursor = formatCursor(event);
        removeAnswered(event, answered);
      }
      for (const update of toUpdates(item, open.updates)) await sendUpdate(open, client, update);
      if (item.type === "run_ended") return item.by.result;
    }
    if (!hasAsked) throw new Error((await failure) ?? "The run stopped without a result. Load the session again.");
  }
}

/** For a run that sleeps or waits for a signal. If it has continued meanwhile, the next prompt shows the rest. */
async function readWaitingResult({ session }: OpenSession): Promise<RunResult> {
  const result = await session.result();
  if (result === null) throw new Error("The run continues. Send another prompt to see the rest.");
  return result;
}

/** Once the answer is in the log, the call is no longer waiting. A call that is asked about again has no answer yet. */
function removeAnswered(item: PublicEvent, answered: Set<string>): void {
  if (item.type === "approval_answered" || item.type === "approval_requested") answered.delete(questionKey(item));
}
