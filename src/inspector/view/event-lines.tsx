/**
 * Raw events, one line each, which expands to the JSON.
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

/** An event on one line: its cursor, its time, its type, and its distinguishing fields. */
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

/** Fields that every event has, or that only repeat the previous line. */
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

/** The distinguishing fields of an event, on one line. */
function summarizeEvent(event: PublicEvent): string {
  const ownFields = Object.entries(event).filter(([name]) => !commonFields.includes(name));
  const texts = ownFields.map(
    ([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return toOneLine(texts.join("  "), 300);
}
