/**
 * `/approve`: the calls that wait for a person in all sessions, answered here.
 *
 * 1. The whole call is shown before it is answered, and the answer counts only for what was shown (SEC-6).
 * 2. The first choice answers nothing, because a key that was meant for something else must not answer.
 */
import { type ApprovalDecision, createClient, PawlError } from "../../../index.js";
import { answers, listAnswerChoices } from "../../../view/question-choices.js";
import { type Continuation, findWhoContinues } from "../../decisions/find-who-continues.js";
import {
  findMatchingCalls,
  formatCall,
  formatListed,
  listPendingCalls,
  type PendingCall,
  requireOneMatch,
} from "../../decisions/pending-calls.js";
import { listReplyChoices, parseToolReply } from "../../decisions/reply-choices.js";
import { confirmationTexts, sendDecision } from "../../decisions/send-decision.js";
import { resolveUserName } from "../../decisions/user-name.js";
import { shortId } from "../../files/session-store.js";
import { lineOf } from "../../screen/line.js";
import type { Choice } from "../../screen/picker.js";
import { sanitize, toOneLine } from "../../terminal/text.js";
import { plainText } from "../../terminal/text-style.js";
import { wrapNote } from "../lines/view-lines.js";
import type { CommandContext } from "./command-context.js";

type MenuChoice = Choice & { readonly decision: ApprovalDecision };

/** @param words the id of a call, optionally followed by text: a reason, an answer or a result */
export async function runApproveCommand(context: CommandContext, words: string): Promise<void> {
  const { store, redaction, choose, say, columns } = context;
  const waiting = await listPendingCalls(store, redaction);
  if (waiting.length === 0) return say([lineOf("No call waits for an answer, in any session.", "dim")]);
  const [, named = "", text = ""] = /^(\S*)\s*([\s\S]*)$/.exec(words) ?? [];
  const call =
    named === ""
      ? await chooseCall(waiting, context)
      : requireOneMatch(findMatchingCalls(waiting, named), named, plainText);
  if (call === null) return say([lineOf("Nothing was answered.", "dim")]);
  if (call === undefined)
    throw new PawlError(
      "no_such_call",
      `No call ${JSON.stringify(named)} waits for an answer. /approve lists the calls that do.`,
    );
  say(
    formatCall(call, Date.now(), plainText)
      .trimEnd()
      .split("\n")
      .map((line) => lineOf(line)),
  );
  const answerChoices = listChoices(call, text.trim());
  if (text === "" && needsText(call))
    say(wrapNote(`To answer with text: /approve ${sanitize(call.id)} TEXT`, columns(), "dim"));
  const chosenId = await choose("answer", [{ id: "none", text: "leave it waiting" }, ...answerChoices]);
  const decision = answerChoices.find(({ id }) => id === chosenId)?.decision;
  if (decision === undefined) return say([lineOf("Nothing was answered.", "dim")]);
  const session = createClient({ store }).session(call.sessionId);
  const status = await sendDecision(session, call, decision, resolveUserName());
  if (status === "second")
    return say([lineOf(`Another answer to ${sanitize(call.id)} came first, so this one has no effect.`, "yellow")]);
  say([
    lineOf(`${confirmationTexts[decision.type]} ${sanitize(call.id)} (${toOneLine(call.name)}).`),
    ...wrapNote(await describeContinuation(context, call), columns(), "dim"),
  ]);
}

async function chooseCall(waiting: readonly PendingCall[], { choose }: CommandContext): Promise<PendingCall | null> {
  const now = Date.now();
  const listed = waiting.map((call, at) => ({
    id: String(at),
    text: `${formatListed(call, now, plainText)}  ${toOneLine(call.session.title ?? "")}`,
  }));
  const chosen = await choose("approve", listed);
  return chosen === null ? null : (waiting[Number(chosen)] ?? null);
}

function needsText({ why }: PendingCall): boolean {
  return why === "tool" || why === "external";
}

/** The answers for a call of this kind. If there is text, answers that take none are not offered. */
function listChoices({ why, schema }: PendingCall, text: string): readonly MenuChoice[] {
  return listAnswerChoices(why).flatMap((choice): readonly MenuChoice[] => {
    const { name, label } = choice;
    if (choice.name === "reply") return listReplies(schema, text);
    if (choice.takes === "nothing") return text === "" ? [{ id: name, text: label, decision: choice.decide() }] : [];
    if (choice.takes === "text") {
      const added = text === "" ? "" : `${name === "done" ? ": " : ", because: "}${toOneLine(text)}`;
      return [{ id: name, text: `${label}${added}`, decision: choice.decide(text) }];
    }
    return choice.name === "result" && text !== ""
      ? [{ id: name, text: `its result is: ${toOneLine(text)}`, decision: choice.decide(text) }]
      : [];
  });
}

function listReplies(schema: PendingCall["schema"], text: string): readonly MenuChoice[] {
  const replies = text === "" ? listReplyChoices(schema) : [{ label: text, value: parseToolReply(text, schema) }];
  return replies.map(({ label, value }, at) => ({
    id: `reply ${at + 1}`,
    text: `answer: ${toOneLine(label)}`,
    decision: answers.reply.decide(value),
  }));
}

/** This conversation continues its own session. */
async function describeContinuation({ store, sessionId: ownId }: CommandContext, call: PendingCall): Promise<string> {
  if (call.sessionId === ownId || call.session.top === ownId) return "This session continues.";
  return formatContinuation(await findWhoContinues(store, call));
}

function formatContinuation(next: Continuation): string {
  switch (next.by) {
    case "process":
      return `Process ${next.pid} continues that session.`;
    case "program":
      return `The program of the agent "${sanitize(next.agent)}", or one of its workers, continues that session.`;
    case "pawl":
      return `The session continues where it is open, in a running pawl worker, or here: /resume ${sanitize(shortId(next.top))}`;
  }
}
