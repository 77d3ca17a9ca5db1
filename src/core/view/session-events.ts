/**
 * The public events of changes to the session itself: its data (the keys, not the values), its title, its agent, and redacted content.
 */
import { defined } from "../data/defined.js";
import { type DataPatch, patchedKeys } from "../data/session-data.js";
import type { EventOf } from "../machine/event.js";
import type { PublicEventBody } from "./public-event.js";

export function toSessionEvent(
  event: EventOf<"data_changed" | "session_changed" | "content_redacted" | "handed_off">,
): PublicEventBody {
  switch (event.type) {
    case "data_changed":
      return { type: event.type, keys: patchedKeys(event.patch), ...defined({ by: event.by }) };
    case "session_changed":
      return { type: event.type, ...defined({ title: event.title, by: event.by }) };
    case "content_redacted":
      return { type: event.type, entries: event.entries, ...defined({ by: event.by, note: event.note }) };
    case "handed_off": {
      const { type, runId, callKey, from, to } = event;
      return { type, runId, callKey, from, to };
    }
  }
}

/** The data that a call changed with this entry, if any. */
export function dataChangedEvents({
  callKey,
  data,
}: {
  readonly callKey: string;
  readonly data?: DataPatch;
}): readonly PublicEventBody[] {
  return data === undefined ? none : [{ type: "data_changed", keys: patchedKeys(data), callKey }];
}

const none: readonly PublicEventBody[] = [];
