/**
 * Loads a session: its state, its steps, the headings of its runs, and details of the steps that are viewed.
 */

import type { PublicEvent } from "../index.js";
import type { TraceRecord } from "../inspect.js";
import { cursorBefore, formatCursor, parseCursor } from "../stream/cursor.js";
import { type Api, formatErrorMessage } from "./api.js";
import type { Action } from "./state/app-state.js";
import { parseStepKey } from "./state/route.js";
import {
  type LoadedSteps,
  requestKey,
  type SentRequest,
  type SessionAction,
  type SessionNow,
  type SessionState,
} from "./state/session-state.js";
import type { LoadedStep, StepRow } from "./state/step-rows.js";

export type SessionLoader = {
  /** Loads a session and its newest steps, then the others. Resolves to the number of the last loaded entry; null on failure. */
  readonly open: (id: string) => Promise<number | null>;
  readonly step: (key: string) => void;
  /** @param attempt an attempt of the step. Default: the last */
  readonly request: (key: string, attempt?: number) => void;
  /** Loads the missing traces of consecutive steps. */
  readonly traces: (rows: readonly StepRow[]) => void;
  /** Loads the whole event if the list has a shortened form of it. */
  readonly event: (cursorText: string) => void;
};

const pageSize = 500;
/** The number of entries at the end of the log whose steps are loaded first: more steps than a screen shows. */
const newestEntries = 400;
/** The maximum number of pages with events of one step. */
const maxEventPages = 20;

export function createSessionLoader(
  api: Api,
  session: () => SessionState | null,
  dispatch: (action: Action) => void,
): SessionLoader {
  const requested = new Set<string>();

  async function open(id: string): Promise<number | null> {
    for (const one of requested) if (one.startsWith(`${id}\n`)) requested.delete(one);
    const dispatchAction = (action: SessionAction) => dispatch({ type: "session", id, action });
    const path = `/v1/sessions/${encodeURIComponent(id)}`;
    try {
      const now = await api.get<SessionNow>(path);
      dispatchAction({ type: "described", now: { status: "ready", value: now } });
      await loadNewest(now.seq, path, dispatchAction);
      void loadEarlier(id, path, dispatchAction).catch((error: unknown) =>
        dispatchAction({ type: "described", now: { status: "failed", message: formatErrorMessage(error) } }),
      );
      return now.seq;
    } catch (error) {
      dispatchAction({ type: "described", now: { status: "failed", message: formatErrorMessage(error) } });
      return null;
    }
  }

  /** The newest steps are loaded first, because a person who opens a session looks at them first. */
  async function loadNewest(seq: number, path: string, dispatchAction: (action: SessionAction) => void): Promise<void> {
    const fromSeq = Math.max(0, seq - newestEntries);
    const steps: LoadedStep[] = [];
    const events: PublicEvent[] = [];
    for (let after: number | null = fromSeq; after !== null; ) {
      const loaded: StepPage = await api.get(`${path}/steps`, { after, limit: pageSize });
      steps.push(...loaded.steps);
      events.push(...loaded.events);
      after = loaded.next;
    }
    dispatchAction({ type: "newest_loaded", steps, events, isAll: fromSeq === 0 });
  }

  async function loadEarlier(id: string, path: string, dispatchAction: (action: SessionAction) => void): Promise<void> {
    for (let after: number | null = 0; after !== null; ) {
      const state = session();
      if (state === null || state.id !== id || state.isIndexed) return;
      const loaded: StepPage = await api.get(`${path}/steps`, { after, limit: pageSize });
      after = loaded.next;
      const { steps, events } = loaded;
      dispatchAction({ type: "earlier_loaded", steps, events, isLast: after === null });
    }
  }

  /** The events of a step are between its first entry and the first entry of the next step. */
  async function loadEvents(id: string, path: string, key: string): Promise<readonly PublicEvent[]> {
    const { rows = [] } = session() ?? {};
    const rowIndex = rows.findIndex((row) => row.key === key);
    const [row, previousRow, next] = [rows[rowIndex], rows[rowIndex - 1], rows[rowIndex + 1]];
    if (row === undefined || session()?.id !== id) return [];
    const isFirst = previousRow?.runId !== row.runId;
    // The event that began the run is before its first step.
    const fromSeq = isFirst ? (previousRow?.seq ?? 0) : row.seq - 1;
    const events: PublicEvent[] = [];
    let after: string | null = String(fromSeq);
    for (let count = 0; after !== null && count < maxEventPages; count += 1) {
      const loaded: EventPage = await api.get(`${path}/events`, { after, limit: pageSize });
      events.push(...loaded.events.filter((event) => next === undefined || event.seq < next.seq));
      const last = loaded.events.at(-1);
      after = next !== undefined && last !== undefined && last.seq >= next.seq ? null : loaded.next;
    }
    return events.filter((event) => isEventOfRun(event, row.runId));
  }

  /** Loads the records of ended steps, from one step on. */
  async function loadTraces(id: string, path: string, fromSeq: number, count: number): Promise<void> {
    const { records } = await api.get<{ readonly records: readonly TraceRecord[] }>(`${path}/trace`, {
      after: fromSeq,
      limit: count,
      type: "step",
    });
    const steps = records.filter((record) => record.type === "step");
    dispatch({ type: "session", id, action: { type: "traces_loaded", traces: steps.slice(0, count) } });
  }

  /** Loads once, or again after a failure. */
  function loadOnce(id: string, label: string, load: () => Promise<void>): void {
    const requestId = `${id}\n${label}`;
    if (requested.has(requestId)) return;
    requested.add(requestId);
    load().catch(() => requested.delete(requestId));
  }

  function step(key: string): void {
    const state = session();
    // The neighbours of a step are needed, because its events begin and end where theirs do.
    if (state === null || !(state.isIndexed || (state.hasNewest && state.rows[state.early]?.key !== key))) return;
    const { id } = state;
    const path = `/v1/sessions/${encodeURIComponent(id)}`;
    const row = state.rows.find((one) => one.key === key);
    if (row === undefined) return;
    if (state.details.get(key)?.isWhole !== true)
      loadOnce(id, `events ${key}`, async () => {
        const events = await loadEvents(id, path, key);
        dispatch({ type: "session", id, action: { type: "details_loaded", step: key, events } });
        requested.delete(`${id}\nevents ${key}`);
      });
    if (!state.traces.has(key) && !row.flags.includes("under_way"))
      loadOnce(id, `trace ${key}`, () => loadTraces(id, path, row.seq, 1));
  }

  function traces(rows: readonly StepRow[]): void {
    const state = session();
    const missingRows = rows.filter(
      ({ key, flags }) => state?.traces.has(key) !== true && !flags.includes("under_way"),
    );
    const [first, last] = [missingRows[0], missingRows.at(-1)];
    if (state === null || first === undefined || last === undefined) return;
    const count = rows.indexOf(last) - rows.indexOf(first) + 1;
    const path = `/v1/sessions/${encodeURIComponent(state.id)}`;
    loadOnce(state.id, `traces ${first.key} ${count}`, () => loadTraces(state.id, path, first.seq, count));
  }

  function event(cursorText: string): void {
    const state = session();
    const cursor = parseCursor(cursorText);
    if (state === null || cursor === null || state.whole.has(cursorText)) return;
    const { id } = state;
    loadOnce(id, `event ${cursorText}`, async () => {
      const path = `/v1/sessions/${encodeURIComponent(id)}/events`;
      const after = formatCursor(cursorBefore(cursor));
      const { events } = await api.get<EventPage>(path, { after, limit: 1 });
      const [loadedEvent] = events;
      if (loadedEvent !== undefined)
        dispatch({ type: "session", id, action: { type: "event_loaded", event: loadedEvent } });
    });
  }

  function request(step: string, attempt?: number): void {
    const state = session();
    const key = requestKey(step, attempt);
    const knownRequest = state?.requests.get(key);
    if (state === null || (knownRequest !== undefined && knownRequest.status !== "failed")) return;
    const { id } = state;
    const { runId, index } = parseStepKey(step);
    const dispatchAction = (loaded: Extract<SessionAction, { readonly type: "request_loaded" }>["request"]) =>
      dispatch({ type: "session", id, action: { type: "request_loaded", key, request: loaded } });
    loadOnce(id, `request ${key}`, async () => {
      dispatchAction({ status: "loading" });
      const path = `/v1/sessions/${encodeURIComponent(id)}/requests/${encodeURIComponent(runId)}/${index}`;
      try {
        dispatchAction({ status: "ready", value: await api.get<SentRequest>(path, { attempt }) });
      } catch (error) {
        dispatchAction({ status: "failed", message: formatErrorMessage(error) });
      }
      requested.delete(`${id}\nrequest ${key}`);
    });
  }

  return { open, step, request, traces, event };
}

type StepPage = LoadedSteps & { readonly next: number | null };

type EventPage = { readonly events: readonly PublicEvent[]; readonly next: string | null };

function isEventOfRun(event: PublicEvent, runId: string): boolean {
  return !("runId" in event) || event.runId === undefined || event.runId === runId;
}
