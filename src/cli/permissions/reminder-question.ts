/**
 * When `remind_me` asks. A reminder or a schedule starts a run without a person. If such a run could set the next reminder unasked, text
 * that the model read could keep an open terminal busy forever.
 */
import { isObject } from "../../core/data/is-object.js";
import type { Json, Store } from "../../index.js";
import { reminderQuestion, reminderTool } from "./rule.js";

/** Returns the question about a call that sets a reminder in a run to which no person has written; undefined for other calls. */
export async function findReminderQuestion(
  { tool, input }: { readonly tool: string; readonly input: Json },
  { sessionId, runId }: { readonly sessionId: string; readonly runId: string },
  store: Store,
): Promise<string | undefined> {
  if (tool !== reminderTool || !setsReminder(input)) return undefined;
  return (await hasPersonWritten(store, sessionId, runId)) ? undefined : reminderQuestion;
}

function setsReminder(input: Json): boolean {
  return !isObject(input) || input.action === undefined || input.action === "set";
}

/** How many of the newest entries of a run are searched for a message from a person. An earlier message no longer counts. */
const maxEntries = 1_000;
const entriesPerPage = 100;

async function hasPersonWritten(store: Store, sessionId: string, runId: string): Promise<boolean> {
  const state = (await store.load(sessionId))?.state;
  if (state === undefined || state.status === "idle" || state.runId !== runId) return false;
  const { startSeq, seq } = state;
  const readEvent = async (number: number) => (await store.read(sessionId, number - 1, 1))[0]?.event;
  const started = await readEvent(startSeq);
  if (started?.type !== "run_started") return false;
  // The start of a queued run does not say who sent it.
  const request = started.queuedSeq === undefined ? started : await readEvent(started.queuedSeq);
  if (request !== undefined && isFromPerson(request)) return true;
  const first = Math.max(startSeq, seq - maxEntries);
  for (let last = seq; last > first; last -= entriesPerPage) {
    const after = Math.max(first, last - entriesPerPage);
    const page = await store.read(sessionId, after, last - after);
    if (page.some(({ event }) => event.type === "steered" && isFromPerson(event))) return true;
  }
  return false;
}

type StoredEvent = Awaited<ReturnType<Store["read"]>>[number]["event"];

/** Whether a person sent this input. The sender of a schedule's runs is `schedule:ID`. */
function isFromPerson(event: StoredEvent): boolean {
  if (event.type === "steered" && event.source !== "user") return false;
  if (event.type !== "run_started" && event.type !== "run_queued" && event.type !== "steered") return false;
  const { by, finishedChild } = event;
  return by !== reminderTool && by?.startsWith("schedule:") !== true && finishedChild === undefined;
}
