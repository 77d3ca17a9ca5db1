/**
 * What is loaded of a session: what it is, its steps, the headings of its runs, and details of the steps that are looked at.
 */

import type { PublicEvent, TraceRecord } from "../index.js";
import { cursorBefore, formatCursor, parseCursor } from "../stream/cursor.js";
import { type Api, messageOf } from "./api.js";
import type { Action } from "./state/app-state.js";
import { stepOfKey } from "./state/route.js";
import {
  type LoadedSteps,
  requestKey,
  type SentRequest,
  type SessionAction,
  type SessionNow,
  type SessionState,
} from "./state/session-state.js";
import type { LoadedStep, StepRow } from "./state/steps.js";

export type SessionLoads = {
  /** Loads a session and its newest steps up to an entry, whose number it gives; null if that failed. The others follow. */
  readonly open: (id: string) => Promise<number | null>;
  readonly step: (key: string) => void;
  /** @param attempt which attempt of the step; without one, the last */
  readonly request: (key: string, attempt?: number) => void;
  /** Loads the traces of steps that follow each other, those that are not there. */
  readonly traces: (rows: readonly StepRow[]) => void;
  /** Loads an event of which the list has the beginning only. */
  readonly event: (place: string) => void;
};

const page = 500;
/** Entries at the end of the log whose steps are loaded first: more steps than a screen shows. */
const newestEntries = 400;
/** Pages of the events of one step. */
const mostEventPages = 20;

export function createSessionLoads(
  api: Api,
  session: () => SessionState | null,
  dispatch: (action: Action) => void,
): SessionLoads {
  const asked = new Set<string>();

  async function open(id: string): Promise<number | null> {
    for (const one of asked) if (one.startsWith(`${id}\n`)) asked.delete(one);
    const tell = (action: SessionAction) => dispatch({ type: "session", id, action });
    const path = `/v1/sessions/${encodeURIComponent(id)}`;
    try {
      const now = await api.get<SessionNow>(path);
      tell({ type: "described", now: { status: "ready", value: now } });
      await loadNewest(now.seq, path, tell);
      void loadEarlier(id, path, tell).catch((error: unknown) =>
        tell({ type: "described", now: { status: "failed", message: messageOf(error) } }),
      );
      return now.seq;
    } catch (error) {
      tell({ type: "described", now: { status: "failed", message: messageOf(error) } });
      return null;
    }
  }

  /** The newest steps come first: they are what somebody who opens a session looks at. */
  async function loadNewest(seq: number, path: string, tell: (action: SessionAction) => void): Promise<void> {
    const from = Math.max(0, seq - newestEntries);
    const steps: LoadedStep[] = [];
    const events: PublicEvent[] = [];
    for (let after: number | null = from; after !== null; ) {
      const loaded: StepPage = await api.get(`${path}/steps`, { after, limit: page });
      steps.push(...loaded.steps);
      events.push(...loaded.events);
      after = loaded.next;
    }
    tell({ type: "newest_loaded", steps, events, isAll: from === 0 });
  }

  async function loadEarlier(id: string, path: string, tell: (action: SessionAction) => void): Promise<void> {
    for (let after: number | null = 0; after !== null; ) {
      const state = session();
      if (state === null || state.id !== id || state.isIndexed) return;
      const loaded: StepPage = await api.get(`${path}/steps`, { after, limit: page });
      after = loaded.next;
      const { steps, events } = loaded;
      tell({ type: "earlier_loaded", steps, events, isLast: after === null });
    }
  }

  /** The events of a step stand between its first entry and the next step's. */
  async function loadEvents(id: string, path: string, key: string): Promise<readonly PublicEvent[]> {
    const { rows = [] } = session() ?? {};
    const at = rows.findIndex((row) => row.key === key);
    const [row, before, next] = [rows[at], rows[at - 1], rows[at + 1]];
    if (row === undefined || session()?.id !== id) return [];
    const isFirst = before?.runId !== row.runId;
    // What began the run stands before its first step.
    const from = isFirst ? (before?.seq ?? 0) : row.seq - 1;
    const events: PublicEvent[] = [];
    let after: string | null = String(from);
    for (let count = 0; after !== null && count < mostEventPages; count += 1) {
      const loaded: EventPage = await api.get(`${path}/events`, { after, limit: page });
      events.push(...loaded.events.filter((event) => next === undefined || event.seq < next.seq));
      const last = loaded.events.at(-1);
      after = next !== undefined && last !== undefined && last.seq >= next.seq ? null : loaded.next;
    }
    return events.filter((event) => isOfRun(event, row.runId));
  }

  /** The records of steps that have ended, from one step on. */
  async function loadTraces(id: string, path: string, from: number, count: number): Promise<void> {
    const { records } = await api.get<{ readonly records: readonly TraceRecord[] }>(`${path}/trace`, {
      ...{ after: from, limit: count, type: "step" },
    });
    const steps = records.filter((record) => record.type === "step");
    dispatch({ type: "session", id, action: { type: "traces_loaded", traces: steps.slice(0, count) } });
  }

  /** Asks once, and again after a failure. */
  function once(id: string, what: string, load: () => Promise<void>): void {
    const mark = `${id}\n${what}`;
    if (asked.has(mark)) return;
    asked.add(mark);
    load().catch(() => asked.delete(mark));
  }

  function step(key: string): void {
    const state = session();
    // The events of a step begin and end where its neighbours do.
    if (state === null || !(state.isIndexed || (state.hasNewest && state.rows[state.early]?.key !== key))) return;
    const { id } = state;
    const path = `/v1/sessions/${encodeURIComponent(id)}`;
    const row = state.rows.find((one) => one.key === key);
    if (row === undefined) return;
    if (state.details.get(key)?.isWhole !== true)
      once(id, `events ${key}`, async () => {
        const events = await loadEvents(id, path, key);
        dispatch({ type: "session", id, action: { type: "details_loaded", step: key, events } });
        asked.delete(`${id}\nevents ${key}`);
      });
    if (!state.traces.has(key) && !row.flags.includes("under_way"))
      once(id, `trace ${key}`, () => loadTraces(id, path, row.seq, 1));
  }

  function traces(rows: readonly StepRow[]): void {
    const state = session();
    const wanted = rows.filter(({ key, flags }) => state?.traces.has(key) !== true && !flags.includes("under_way"));
    const [first, last] = [wanted[0], wanted.at(-1)];
    if (state === null || first === undefined || last === undefined) return;
    const count = rows.indexOf(last) - rows.indexOf(first) + 1;
    const path = `/v1/sessions/${encodeURIComponent(state.id)}`;
    once(state.id, `traces ${first.key} ${count}`, () => loadTraces(state.id, path, first.seq, count));
  }

  function event(place: string): void {
    const state = session();
    const cursor = parseCursor(place);
    if (state === null || cursor === null || state.whole.has(place)) return;
    const { id } = state;
    once(id, `event ${place}`, async () => {
      const path = `/v1/sessions/${encodeURIComponent(id)}/events`;
      const after = formatCursor(cursorBefore(cursor));
      const { events } = await api.get<EventPage>(path, { after, limit: 1 });
      const [found] = events;
      if (found !== undefined) dispatch({ type: "session", id, action: { type: "event_loaded", event: found } });
    });
  }

  function request(step: string, attempt?: number): void {
    const state = session();
    const key = requestKey(step, attempt);
    const known = state?.requests.get(key);
    if (state === null || (known !== undefined && known.status !== "failed")) return;
    const { id } = state;
    const { runId, index } = stepOfKey(step);
    const tell = (loaded: Extract<SessionAction, { readonly type: "request_loaded" }>["request"]) =>
      dispatch({ type: "session", id, action: { type: "request_loaded", key, request: loaded } });
    once(id, `request ${key}`, async () => {
      tell({ status: "loading" });
      const path = `/v1/sessions/${encodeURIComponent(id)}/requests/${encodeURIComponent(runId)}/${index}`;
      try {
        tell({ status: "ready", value: await api.get<SentRequest>(path, { attempt }) });
      } catch (error) {
        tell({ status: "failed", message: messageOf(error) });
      }
      asked.delete(`${id}\nrequest ${key}`);
    });
  }

  return { open, step, request, traces, event };
}

type StepPage = LoadedSteps & { readonly next: number | null };

type EventPage = { readonly events: readonly PublicEvent[]; readonly next: string | null };

function isOfRun(event: PublicEvent, runId: string): boolean {
  return !("runId" in event) || event.runId === undefined || event.runId === runId;
}
