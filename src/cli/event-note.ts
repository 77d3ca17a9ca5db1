/**
 * What is said of events that are a line of their own.
 */
import type { PublicEvent } from "../index.js";
import { redactionNote } from "./redaction-note.js";
import { visible } from "./text.js";

type Noted = Extract<PublicEvent, { readonly type: keyof typeof notes | "handed_off" | "content_redacted" }>;

export function eventNote(event: Noted): string {
  if (event.type === "content_redacted") return visible(redactionNote(event));
  return event.type === "handed_off" ? `Handed over to ${visible(event.to)}.` : notes[event.type];
}

const notes = {
  abort_requested: "Aborting…",
  restarted: "Continuing after an interruption.",
  late_result: "A call that was given up has finished after all. The model gets its result.",
} as const;
