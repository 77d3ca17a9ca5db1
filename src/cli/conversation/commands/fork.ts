/**
 * `/fork`: a new session that continues from before an earlier message, whose text becomes the draft.
 */
import { randomUUID } from "node:crypto";
import { type Agent, PawlError } from "../../../index.js";
import { type FileRecord, readDoneRecords } from "../../agent/file-records.js";
import { shortId } from "../../files/session-store.js";
import { lineOf } from "../../screen/line.js";
import { formatCount, toOneLine } from "../../terminal/text.js";
import { joinInput } from "../view/sent-text.js";
import type { CommandContext } from "./command-context.js";

/** A message of the person: the number of its entry, and its text. */
type SentMessage = { readonly seq: number; readonly text: string };

/** @param words the number of a message, from 1; empty: the person chooses */
export async function runForkCommand(context: CommandContext, words: string): Promise<void> {
  const { agent, store, sessionId, redaction, choose, go, say } = context;
  const sent = (await store.describe(sessionId)) === null ? [] : await listSentMessages(agent, sessionId);
  if (sent.length === 0) return say([lineOf("There is no message to go back to yet.", "dim")]);
  const chosen = words === "" ? await choose("fork before", toChoices(sent, redaction.text)) : words;
  if (chosen === null) return say([lineOf("Stayed with this session.", "dim")]);
  const message = /^\d{1,6}$/.test(chosen) ? sent[Number(chosen) - 1] : undefined;
  if (message === undefined)
    throw new PawlError(
      "bad_input",
      `This session has ${formatCount(sent.length, "message")}: /fork takes a number, counted from 1.`,
    );
  const forkId = randomUUID();
  await forkBefore(context, message, forkId);
  say([
    lineOf(
      `Forked before message ${chosen}. ${shortId(sessionId)} stays as it is: /resume goes back to it. Files stay as they are now.`,
      "dim",
    ),
  ]);
  go({ type: "session", sessionId: forkId, draft: message.text });
}

function toChoices(sent: readonly SentMessage[], redact: (text: string) => string) {
  return sent
    .map(({ text }, at) => ({ id: String(at + 1), text: `${String(at + 1).padStart(3)}  ${toOneLine(redact(text))}` }))
    .toReversed();
}

async function listSentMessages(agent: Agent, sessionId: string): Promise<readonly SentMessage[]> {
  const sent: SentMessage[] = [];
  for await (const event of agent.session(sessionId).events({ follow: false, live: false })) {
    const isMessage = event.type === "run_started" || (event.type === "steered" && event.source === "user");
    if (isMessage) sent.push({ seq: event.seq, text: joinInput(event.input) });
  }
  return sent;
}

async function forkBefore(
  { agent, store, sessionId }: CommandContext,
  { seq }: SentMessage,
  forkId: string,
): Promise<void> {
  const forkedSession = await agent.session(sessionId).fork({ at: seq - 1, sessionId: forkId });
  // These blobs are named only in the session's data, and a fork copies only the blobs that its log names.
  for (const hash of collectHashes(readDoneRecords(await forkedSession.data()))) {
    const bytes = await store.getBlob(sessionId, hash);
    if (bytes !== null) await store.putBlob(forkId, bytes);
  }
}

function collectHashes(records: readonly FileRecord[]): ReadonlySet<string> {
  return new Set(records.flatMap(({ before, after }) => [before, after]).filter((hash) => hash !== null));
}
