/**
 * The session's data, updated entry by entry.
 */
import { applyPatch, type DataPatch, emptyData } from "../data/session-data.js";
import type { Event } from "../machine/event.js";
import type { Transcript } from "./transcript-record.js";

export { emptyData as noData };

export function applyDataChange(transcript: Transcript, event: Event): void {
  const patch = findPatch(event);
  if (patch !== undefined) transcript.data = applyPatch(transcript.data, patch);
}

function findPatch(event: Event): DataPatch | undefined {
  switch (event.type) {
    case "data_changed":
      return event.patch;
    case "tool_finished":
    case "tool_step_finished":
    case "tool_asked":
      return event.data;
    default:
      return undefined;
  }
}
