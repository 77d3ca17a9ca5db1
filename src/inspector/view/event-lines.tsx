/**
 * Events as they are, one line each, which opens to its JSON.
 */

import type { PublicEvent } from "../../index.js";
import { formatCursor } from "../../stream/cursor.js";
import { toOneLine } from "../state/format.js";
import { Clock } from "./common.js";

export function EventLines({ events }: { readonly events: readonly PublicEvent[] }) {
  if (events.length === 0) return <p class="loading">No events are here yet.</p>;
  return (
    <div class="event-lines">
      {events.map((event) => (
        <EventLine event={event} key={formatCursor(event)} />
      ))}
    </div>
  );
}

/** An event on one line: its place, its time, its type, and what tells it from others of its type. */
export function EventCells({ event }: { readonly event: PublicEvent }) {
  const { seq, index, at, type } = event;
  return (
    <>
      <span class="num dim place">
        {seq}.{index}
      </span>
      <span class="dim when">
        <Clock at={at} isInList />
      </span>
      <span class="mono">{type}</span>
      <span class="cut dim mono">{summarizeEvent(event)}</span>
    </>
  );
}

function EventLine({ event }: { readonly event: PublicEvent }) {
  return (
    <details class="event">
      <summary>
        <EventCells event={event} />
      </summary>
      <div class="plain mono">{JSON.stringify(event, null, 2)}</div>
    </details>
  );
}

/** What stands in every event, or says no more than the line before. */
const commonFields = [
  "type",
  "sessionId",
  "seq",
  "index",
  "at",
  "runId",
  "callKey",
  "toolCallId",
  "modelCallIndex",
  "attempt",
];

/** The fields that tell an event from others of its type, on one line. */
function summarizeEvent(event: PublicEvent): string {
  const ownFields = Object.entries(event).filter(([name]) => !commonFields.includes(name));
  const texts = ownFields.map(
    ([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return toOneLine(texts.join("  "), 300);
}
