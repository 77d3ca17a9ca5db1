/**
 * Notes about events, each on its own line.
 */
import type { PublicEvent } from "../../index.js";
import { sanitize } from "../terminal/text.js";
import { formatRedaction } from "./format-redaction.js";

type NotedEvent = Extract<
  PublicEvent,
  { readonly type: keyof typeof notes | "handed_off" | "hook_failed" | "content_redacted" }
>;

export function formatEventNote(event: NotedEvent): string {
  if (event.type === "content_redacted") return sanitize(formatRedaction(event));
  if (event.type === "hook_failed") return sanitize(`The hook “${event.name}” failed: ${event.message}`);
  return event.type === "handed_off" ? `Handed over to ${sanitize(event.to)}.` : notes[event.type];
}

const notes = {
  restarted: "Continuing after an interruption.",
  late_result: "A call that was given up has finished after all. The model gets its result.",
} as const;
