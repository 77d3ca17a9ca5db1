/**
 * Adds entries to a transcript whose messages are frozen: models, hooks and callers get these objects, not copies.
 *
 * Only new messages are frozen, so that a step does not visit the whole conversation.
 */
import { deepFreeze } from "../../core/data/freeze.js";
import type { Entry, Event } from "../../core/machine/event.js";
import { appendEntry, type Transcript } from "../../core/transcript/transcript.js";

export function appendFrozen(transcript: Transcript, entry: Entry): void {
  const firstNew = mayReplaceMessages(entry.event) ? 0 : transcript.messages.length;
  appendEntry(transcript, entry);
  const { messages } = transcript;
  for (let index = firstNew; index < messages.length; index += 1) deepFreeze(messages[index]);
}

/**
 * A compaction replaces the oldest messages, the filter of a handoff may replace any, and a hook may replace the input of
 * a run.
 */
function mayReplaceMessages(event: Event): boolean {
  if (event.type === "prepared") return event.input !== undefined;
  return event.type === "compacted" || (event.type === "handed_off" && event.messages !== undefined);
}
