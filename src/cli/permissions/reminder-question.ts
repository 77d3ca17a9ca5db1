/**
 * When `remind_me` asks. A reminder starts a run without a person. If such a run could set the next reminder unasked, text that the model
 * read could keep an open terminal at work without end.
 */
import { isObject } from "../../core/data/is-object.js";
import { createClient, type Json, type PublicEvent, type Store } from "../../index.js";
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

async function hasPersonWritten(store: Store, sessionId: string, runId: string): Promise<boolean> {
  let wasQueued = false;
  let isInRun = false;
  for await (const event of createClient({ store }).session(sessionId).events({ live: false, follow: false })) {
    const isOfRun = (event.type === "run_queued" || event.type === "run_started") && event.runId === runId;
    if (!isOfRun && !(isInRun && event.type === "steered" && event.source === "user")) continue;
    // The start of a queued run does not say who sent it.
    if (!(event.type === "run_started" && wasQueued) && isFromPerson(event)) return true;
    wasQueued ||= event.type === "run_queued";
    isInRun ||= event.type === "run_started";
  }
  return false;
}

function isFromPerson({
  by,
  finishedChild,
}: Pick<Extract<PublicEvent, { readonly type: "run_started" | "run_queued" | "steered" }>, "by" | "finishedChild">) {
  return by !== reminderTool && finishedChild === undefined;
}
