/**
 * A prompt: a run of the session from its request to its end, with the permissions that it asks for on the way.
 *
 * 1. A prompt is in the log before anything follows from it. A run that was interrupted, or that still waits, goes on first.
 * 2. The editor is told each event once. A prompt that follows another begins where that one ended.
 * 3. A call that waits is asked in the editor until somebody answers it, here or elsewhere.
 */

import type { AgentContext, PromptResponse, SessionUpdate } from "@agentclientprotocol/sdk";
import { PawlError, type PublicEvent, type RunResult } from "../../index.js";
import { formatCursor } from "../../stream/cursor.js";
import { eventOf, questionKey } from "../../view/view-change.js";
import { carryOn } from "../carry-on.js";
import { redactedSession } from "../redacted-session.js";
import { runFlow } from "../run-flow.js";
import { presentRun } from "../run-places.js";
import { type AskContext, askAll } from "./ask.js";
import { cancelTurns, type OpenSession, type Turn, tell } from "./open-session.js";
import { turnEnd } from "./stop-reason.js";
import { updatesOf } from "./updates.js";

type Input = Parameters<OpenSession["session"]["send"]>[0];

/** @throws PawlError as `send` does; an Error with the reason for which the run failed */
export async function runTurn(
  open: OpenSession,
  input: Input,
  client: AgentContext,
  signal: AbortSignal,
): Promise<PromptResponse> {
  const runId = open.makeId();
  const turn: Turn = { runIds: [runId], isCancelled: false };
  // The runs of other prompts are followed by those prompts.
  const isFirst = open.turns.size === 0;
  open.turns.add(turn);
  const onCancel = () => void cancelTurns(open, [turn]).catch(open.report);
  signal.addEventListener("abort", onCancel, { once: true });
  try {
    const earlier = isFirst ? await unfinishedRun(open) : null;
    if (turn.isCancelled) return { stopReason: "cancelled" };
    if (earlier !== null) turn.runIds.unshift(earlier);
    await open.session.send(input, { runId, ...(open.by === undefined ? {} : { by: open.by }) });
    // A cancel that came before the run was in the log has found nothing.
    if (turn.isCancelled) await cancelTurns(open, [turn]);
    const ended = open.tail.then(async () => {
      if (earlier !== null) await follow(earlier, { open, client });
      return follow(runId, { open, client });
    });
    open.tail = ended.catch(() => {});
    return await responseOf(await ended, runId, open, client);
  } finally {
    signal.removeEventListener("abort", onCancel);
    open.turns.delete(turn);
  }
}

async function unfinishedRun({ session }: OpenSession): Promise<string | null> {
  try {
    return (await presentRun(session))?.runId ?? null;
  } catch (error) {
    if (error instanceof PawlError && error.code === "no_session") return null;
    throw error;
  }
}

async function responseOf(
  result: RunResult,
  runId: string,
  open: OpenSession,
  client: AgentContext,
): Promise<PromptResponse> {
  const end = turnEnd(result);
  if (end.type === "failed") throw new Error(open.redactText(end.message));
  if (end.note !== undefined) await tell(open, client, noteUpdate(open.redactText(end.note)));
  return { stopReason: end.stopReason, _meta: { pawl: { runId, reason: reasonOf(result), usage: result.usage } } };
}

function reasonOf(result: RunResult): string | undefined {
  return "reason" in result ? result.reason : undefined;
}

function noteUpdate(text: string): SessionUpdate {
  return { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
}

/** Tells the editor the rest of a run. @returns how it ended */
async function follow(runId: string, context: AskContext): Promise<RunResult> {
  const { open, client } = context;
  const answered = new Set<string>();
  for (;;) {
    const stop = new AbortController();
    const failure = carryOn(open.session).then((why) => {
      if (why !== null) stop.abort();
      return why;
    });
    let asks = false;
    for await (const item of runFlow(redactedSession(open.session, open.redactStream), {
      runId,
      after: open.shown,
      answered,
      signal: stop.signal,
    })) {
      if (item.type === "waiting") {
        asks = true;
        await askAll(item.approvals, answered, context);
        continue;
      }
      const event = eventOf(item);
      if (event !== null) {
        open.shown = formatCursor(event);
        forgetAnswer(event, answered);
      }
      for (const update of updatesOf(item, open.updates)) await tell(open, client, update);
      if (item.type === "run_ended") return item.by.result;
    }
    if (!asks) throw new Error((await failure) ?? "The run ended without a result. Load the session again.");
  }
}

/** An answer that was taken is no longer on its way, and what is asked again was not answered. */
function forgetAnswer(item: PublicEvent, answered: Set<string>): void {
  if (item.type === "approval_answered" || item.type === "approval_requested") answered.delete(questionKey(item));
}
