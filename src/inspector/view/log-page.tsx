/**
 * The log of a session: its public events in order, optionally of one type, each with its JSON and a link to its step.
 */

import { useEffect, useRef, useState } from "preact/hooks";
import type { PublicEvent } from "../../index.js";
import { formatCursor } from "../../stream/cursor.js";
import { formatErrorMessage } from "../api.js";
import { formatExactTime } from "../state/format.js";
import { type Route, toStepKey } from "../state/route.js";
import type { SessionState } from "../state/session-state.js";
import { locateStep } from "../state/step-rows.js";
import { EmptyState, LoadFailure, RouteLink } from "./common.js";
import { EventCells } from "./event-lines.js";
import { ForkButton } from "./fork-button.js";
import { useInspector, useKeys } from "./hooks.js";
import { SaveButton } from "./save-button.js";
import { SessionHeader } from "./session-page.js";
import { WindowedList } from "./windowed-list.js";

/** The same value as in the style sheet. */
const rowHeight = 26;
const pageSize = 500;

const eventTypes = [
  ...["session_created", "run_started", "run_queued", "steered", "message", "text", "reasoning", "tool_call"],
  ...["approval_requested", "approval_answered", "wait_started", "wait_over", "tool_result", "tool_failed"],
  ...["call_complete", "step_finished"],
  ...["attempt_failed", "compacted", "handed_off", "hook_failed", "restarted", "abort_requested", "suspended", "final"],
];

type LogRoute = Extract<Route, { readonly screen: "log" }>;

type Pages = { readonly events: readonly PublicEvent[]; readonly next: string | null; readonly problem: string | null };

export function LogPage({ session, route }: { readonly session: SessionState; readonly route: LogRoute }) {
  const inspector = useInspector();
  const { pages, isLoading, load } = useLogPages(session.id, route.type, session.last.seq);
  const [selectedIndex, setSelectedIndex] = useState(0);
  const { events } = pages;
  const selected = Math.min(selectedIndex, events.length - 1);
  const event = events[selected];
  const filterByType = (type: string) =>
    inspector.navigate(
      { screen: "log", sessionId: session.id, ...(type === "" ? {} : { type }) },
      { isReplacing: true },
    );
  useKeys({
    j: () => setSelectedIndex(Math.min(events.length - 1, selected + 1)),
    ArrowDown: () => setSelectedIndex(Math.min(events.length - 1, selected + 1)),
    k: () => setSelectedIndex(Math.max(0, selected - 1)),
    ArrowUp: () => setSelectedIndex(Math.max(0, selected - 1)),
    Home: () => setSelectedIndex(0),
    End: () => setSelectedIndex(events.length - 1),
    l: () => inspector.navigate({ screen: "session", sessionId: session.id, tab: "step" }),
    a: () => inspector.navigate({ screen: "approvals" }),
    f: () => event !== undefined && inspector.dispatch({ type: "fork", point: { seq: event.seq } }),
    "/": () => document.getElementById("find")?.focus(),
    Escape: () => inspector.navigate({ screen: "session", sessionId: session.id, tab: "step" }),
  });
  return (
    <main class="session log">
      <SessionHeader session={session} screen="log" />
      <div class="filters">
        <select
          id="find"
          aria-label="Type"
          value={route.type ?? ""}
          onChange={(change) => filterByType(change.currentTarget.value)}
        >
          <option value="">Every type</option>
          {eventTypes.map((type) => (
            <option value={type} key={type}>
              {type}
            </option>
          ))}
        </select>
        <span class="dim num">
          {events.length === 0 ? "" : `${events.length}${pages.next === null ? "" : "+"} events`}
        </span>
        {pages.next !== null && (
          <button type="button" class="quiet" disabled={isLoading} onClick={load}>
            {isLoading ? "Loading…" : "Load more"}
          </button>
        )}
        {events.length > 0 && <SaveButton sessionId={session.id} type={route.type} />}
      </div>
      {pages.problem !== null && <LoadFailure message={pages.problem} retry={load} />}
      {events.length === 0 && !isLoading && pages.problem === null && (
        <EmptyState title="No events of this type">
          <button type="button" onClick={() => filterByType("")}>
            Show all types
          </button>
        </EmptyState>
      )}
      <div class="panes">
        <WindowedList items={events} rowHeight={rowHeight} label="Events" selected={selected} toId={toRowId}>
          {(one, index) => (
            <div
              key={toRowId(one)}
              id={toRowId(one)}
              role="option"
              tabIndex={-1}
              aria-selected={index === selected}
              class={index === selected ? "line event selected" : "line event"}
              onClick={() => setSelectedIndex(index)}
            >
              <EventCells event={one} />
            </div>
          )}
        </WindowedList>
        {event !== undefined && <EventDetail event={event} sessionId={session.id} />}
      </div>
    </main>
  );
}

function toRowId(event: PublicEvent): string {
  return `event-${formatCursor(event)}`;
}

function EventDetail({ event, sessionId }: { readonly event: PublicEvent; readonly sessionId: string }) {
  const step = locateStep(event);
  return (
    <section class="event-detail" aria-label="The event">
      <p>
        <b class="mono">{event.type}</b> <span class="dim">{formatExactTime(event.at)}</span>{" "}
        {step !== null && (
          <RouteLink to={{ screen: "session", sessionId, step: toStepKey(step.runId, step.index), tab: "step" }}>
            Step {step.index}
          </RouteLink>
        )}
        <ForkButton point={{ seq: event.seq }} />
      </p>
      <div class="plain mono">{JSON.stringify(event, null, 2)}</div>
    </section>
  );
}

/** Loads the log page by page, and new events at its end. */
function useLogPages(sessionId: string, type: string | undefined, lastSeq: number) {
  const inspector = useInspector();
  const [pages, setPages] = useState<Pages>({ events: [], next: "0", problem: null });
  const [isLoading, setIsLoading] = useState(false);
  const currentKey = useRef("");
  const logKey = `${sessionId} ${type ?? ""}`;

  const loadFrom = async (previous: readonly PublicEvent[], after: string) => {
    setIsLoading(true);
    try {
      const loaded = await inspector.api.get<{ readonly events: readonly PublicEvent[]; readonly next: string | null }>(
        `/v1/sessions/${encodeURIComponent(sessionId)}/events`,
        { after, type, limit: pageSize },
      );
      if (currentKey.current === logKey)
        setPages({ events: [...previous, ...loaded.events], next: loaded.next, problem: null });
    } catch (error) {
      if (currentKey.current === logKey)
        setPages({ events: previous, next: after, problem: formatErrorMessage(error) });
    }
    setIsLoading(false);
  };

  useEffect(() => {
    currentKey.current = logKey;
    void loadFrom([], "0");
  }, [logKey]);
  useEffect(() => {
    const last = pages.events.at(-1);
    if (pages.next !== null || isLoading || last === undefined || lastSeq <= last.seq) return;
    // Delayed, so that a busy session does not cause a request for each entry.
    const timer = setTimeout(() => void loadFrom(pages.events, formatCursor(last)), 500);
    return () => clearTimeout(timer);
  }, [lastSeq, isLoading, pages]);
  return { pages, isLoading, load: () => void loadFrom(pages.events, pages.next ?? "0") };
}
