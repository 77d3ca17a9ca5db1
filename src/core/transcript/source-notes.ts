/**
 * The context source texts in a transcript, and the messages that report changes to them.
 *
 * 1. The system prompt keeps its texts until a compaction, so that a provider can read it from its cache. Until then, messages report
 *    changes.
 * 2. A message about texts is not an addition of the context manager, although the log stores both in one list.
 */
import type { EventOf } from "../machine/event.js";
import type { SourcesOfRun } from "../machine/sources.js";
import type { Transcript } from "./transcript-record.js";

/** Records the additions of a model call's entry to the conversation, and the texts that apply from there on. */
export function noteAdditions(transcript: Transcript, seq: number, event: EventOf<"prepared">): void {
  const { append = [], sources, sourcesTold, changedSources } = event;
  const note = sourcesTold === undefined ? undefined : append.at(-1);
  const messages = note === undefined ? append : append.slice(0, -1);
  if (messages.length > 0) transcript.appended = { seq, messages };
  if (sources === undefined) return;
  // Either this run has the same texts, or a message has reported the changes.
  const isKept = sourcesTold === "changes" || (sourcesTold === undefined && changedSources === undefined);
  const prompt = (isKept ? transcript.sources?.prompt : undefined) ?? sources;
  transcript.sources = { runId: event.runId, list: sources, prompt };
  if (sourcesTold === "prompt") transcript.sourceNotes = null;
  if (sourcesTold === "changes" && note !== undefined)
    transcript.sourceNotes = { messages: [...(transcript.sourceNotes?.messages ?? []), note], list: sources };
}

/** Forgets the messages that the model no longer sees. */
export function forgetNotes(transcript: Transcript): void {
  const { sourceNotes: notes, messages: shown } = transcript;
  if (notes === null) return;
  const messages = notes.messages.filter((message) => shown.includes(message));
  transcript.sourceNotes = messages.length === 0 ? null : { ...notes, messages };
}

/** A compaction rebuilds the system prompt, so it contains the current texts. */
export function sourcesAfterCompaction(sources: SourcesOfRun | undefined): Transcript["sources"] {
  return sources === undefined ? null : { runId: sources.runId, list: sources.list, prompt: sources.list };
}
