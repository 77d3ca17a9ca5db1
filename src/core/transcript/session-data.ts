/** The session's data, kept up to date entry by entry. */
import { type DataPatch, noData, patched } from "../data/session-data.js";
import type { Event } from "../machine/event.js";
import type { Transcript } from "./transcript-record.js";

export { noData };

export function changeData(transcript: Transcript, event: Event): void {
  const patch = patchIn(event);
  if (patch !== undefined) transcript.data = patched(transcript.data, patch);
}

function patchIn(event: Event): DataPatch | undefined {
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
