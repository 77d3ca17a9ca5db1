/**
 * `/approve`: the calls that wait for a person in all sessions, answered here.
 *
 * 1. The whole call is shown before it is answered, and the answer counts only for what was shown (SEC-6).
 * 2. The first choice answers nothing, because a key that was meant for something else must not answer.
 */
import { type ApprovalDecision, createClient, isHolderDead, PawlError } from "../../index.js";
import { agentName } from "../folder-agent.js";
import { shortId } from "../home.js";
import { describe, listedOf, listPending, matching, onlyMatch, type PendingCall } from "../pending-calls.js";
import { recoveryAnswers } from "../recovery-answers.js";
import { replyOf } from "../reply.js";
import { lineOf } from "../screen/line.js";
import type { Choice } from "../screen/picker.js";
import { confirmations, sendAnswer } from "../send-answer.js";
import { oneLine, visible } from "../text.js";
import { plainText } from "../text-style.js";
import { userName } from "../user-name.js";
import type { CommandContext } from "./session-commands.js";
import { wrappedNote } from "./view-lines.js";

type Way = Choice & { readonly decision: ApprovalDecision };

/** @param words the id of a call, and perhaps a text: a reason, an answer or a result */
export async function approve(context: CommandContext, words: string): Promise<void> {
  const { store, redaction, choose, say, columns } = context;
  const waiting = await listPending(store, redaction);
  if (waiting.length === 0) return say([lineOf("No call waits for an answer, in any session.", "dim")]);
  const [, named = "", text = ""] = /^(\S*)\s*([\s\S]*)$/.exec(words) ?? [];
  const call = named === "" ? await chosenOf(waiting, context) : onlyMatch(matching(waiting, named), named, plainText);
  if (call === null) return say([lineOf("Nothing was answered.", "dim")]);
  if (call === undefined)
    throw new PawlError("no_such_call", `No call ${JSON.stringify(named)} waits. /approve lists the calls that do.`);
  say(
    describe(call, Date.now(), plainText)
      .trimEnd()
      .split("\n")
      .map((line) => lineOf(line)),
  );
  const ways = waysToAnswer(call, text.trim());
  if (text === "" && needsText(call))
    say(wrappedNote(`To answer it with a text: /approve ${visible(call.id)} TEXT`, columns(), "dim"));
  const way = await choose("answer", [{ id: "none", text: "leave it waiting" }, ...ways]);
  const decision = ways.find(({ id }) => id === way)?.decision;
  if (decision === undefined) return say([lineOf("Nothing was answered.", "dim")]);
  const session = createClient({ store }).session(call.sessionId);
  const status = await sendAnswer(session, call, decision, userName());
  if (status === "second")
    return say([lineOf(`Another answer to ${visible(call.id)} came first, so this one changes nothing.`, "yellow")]);
  say([
    lineOf(`${confirmations[decision.type]} ${visible(call.id)} (${oneLine(call.name)}).`),
    ...wrappedNote(await whatFollows(context, call), columns(), "dim"),
  ]);
}

async function chosenOf(waiting: readonly PendingCall[], { choose }: CommandContext): Promise<PendingCall | null> {
  const now = Date.now();
  const listed = waiting.map((call, at) => ({
    id: String(at),
    text: `${listedOf(call, now, plainText)}  ${oneLine(call.session.title ?? "")}`,
  }));
  const chosen = await choose("approve", listed);
  return chosen === null ? null : (waiting[Number(chosen)] ?? null);
}

function needsText({ why }: PendingCall): boolean {
  return why === "tool" || why === "external";
}

/** The answers that settle such a call. */
function waysToAnswer({ why, schema }: PendingCall, text: string): readonly Way[] {
  const note = text === "" ? {} : { note: text };
  const because = text === "" ? "" : `, because: ${oneLine(text)}`;
  switch (why) {
    case "policy":
    case "provider":
      return [
        ...(text === "" ? [{ id: "yes", text: "yes, run it", decision: { type: "approve" } } as const] : []),
        { id: "no", text: `no${because}`, decision: { type: "deny", ...note } },
      ];
    case "recovery":
      return recoveryAnswers.map(({ word, says, decisionOf }) => ({
        id: word,
        text: `${says}${word === "failed" ? because : ""}`,
        decision: decisionOf(text),
      }));
    case "external":
      return [
        ...(text === "" ? [] : [{ id: "result", text: `its result is: ${oneLine(text)}`, decision: result(text) }]),
        { id: "declined", text: "it was declined", decision: { ...result("It was declined."), isError: true } },
      ];
    case "tool":
      return [
        ...(text === ""
          ? []
          : [
              {
                id: "reply",
                text: `answer: ${oneLine(text)}`,
                decision: { type: "reply", value: replyOf(text, schema) },
              } as const,
            ]),
        { id: "decline", text: "no answer", decision: { type: "decline" } },
      ];
  }
}

function result(output: string): Extract<ApprovalDecision, { readonly type: "result" }> {
  return { type: "result", output };
}

/** Who goes on with the session. This conversation carries on its own. */
async function whatFollows({ store, sessionId: present }: CommandContext, call: PendingCall): Promise<string> {
  const { sessionId, session } = call;
  if (sessionId === present || session.top === present) return "This session goes on.";
  const holder = (await store.describe(sessionId))?.holder ?? null;
  if (holder !== null && !isHolderDead(holder)) return `Process ${holder.pid} goes on with that session.`;
  if (session.agent !== agentName)
    return `The program of the agent "${visible(session.agent)}", or a worker of it, goes on with that session.`;
  return `It goes on where it is shown, in a running pawl worker, or here: /resume ${visible(shortId(session.top ?? sessionId))}`;
}
