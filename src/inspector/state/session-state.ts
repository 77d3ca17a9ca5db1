/**
 * The page's state of one session: its steps, their details, and the message that is being streamed.
 *
 * 1. Steps are loaded first, up to an entry. The stream continues from there, so each event is applied once.
 * 2. Events are kept for the most recently viewed steps. Those of other steps are loaded again when they are needed.
 * 3. If the store was restored (`reset`), everything is discarded.
 */

import type { PendingApproval, PublicEvent, PublicEventOf, RunResult, RunWait, UserMessage } from "../../index.js";
import type { TraceRecord } from "../../inspect.js";
import type { CacheLoss } from "../../models/index.js";
import type { ListedSession, LiveSource, PartialMessage } from "../../server/client/index.js";
import { compareCursors, formatCursor } from "../../stream/cursor.js";
import { type Mark, withMarks } from "./marks.js";
import { toStepKey } from "./route.js";
import {
  addStep,
  applyEvent,
  type LoadedStep,
  locateStep,
  type PreviousEvent,
  type StepFilter,
  type StepRow,
  toStepRow,
} from "./step-rows.js";

/** The response of `GET /v1/sessions/ID`. */
export type SessionNow = Omit<ListedSession, "lastRun" | "questions" | "hasChildren"> & {
  readonly run: {
    readonly runId: string;
    readonly result: RunResult | null;
    readonly usage: RunResult["usage"];
  } | null;
  readonly waiting: readonly PendingApproval[];
  /** The sleeps and waits for signals of the run, as reported by the stream. Absent: they are in the result of the run. */
  readonly waits?: readonly RunWait[];
};

/** What the run of a session waits for, other than people. */
export function listWaits({ waits, run }: SessionNow): readonly RunWait[] {
  return waits ?? (run?.result?.status === "waiting" ? run.result.waits : []);
}

export type Loaded<Value> =
  | { readonly status: "loading" }
  | { readonly status: "ready"; readonly value: Value }
  | { readonly status: "failed"; readonly message: string };

/** The heading of a run. */
export type RunHeading = {
  readonly runId: string;
  readonly text: string;
  readonly by: string | null;
  readonly at: number;
  /** When the request arrived, if it had to wait for the previous run. */
  readonly queuedAt: number | null;
  readonly result: RunResult | null;
};

export type StepEvents = {
  readonly events: readonly PublicEvent[];
  /** Whether all events of the step so far are loaded: they were fetched, or the step began while the page was watching. */
  readonly isWhole: boolean;
};

export type SentRequest = {
  readonly request: {
    readonly attempt: number;
    readonly model?: string;
    readonly systemPrompt?: string;
    readonly tools: readonly { readonly name: string; readonly description?: string; readonly inputSchema?: unknown }[];
    readonly messages: readonly { readonly role: string; readonly parts: readonly unknown[] }[];
    readonly settings?: unknown;
  };
  readonly tokens: {
    readonly tools: number;
    readonly systemPrompt: number;
    readonly messages: readonly number[];
    readonly total: number;
  };
  readonly difference: {
    readonly part: "tools" | "systemPrompt" | "message";
    readonly index: number | null;
    readonly tokensLost: number;
  } | null;
};

/** The server adds the cost of a break of the provider's prompt cache. */
export type StepTrace = Extract<TraceRecord, { readonly type: "step" }> & { readonly cacheLoss?: CacheLoss };

export type SessionState = {
  readonly id: string;
  readonly now: Loaded<SessionNow>;
  /** Whether the newest steps are loaded. Earlier steps are loaded after them: so far, they are the first `early` rows. */
  readonly hasNewest: boolean;
  readonly early: number;
  /** Whether all steps are loaded. */
  readonly isIndexed: boolean;
  readonly rows: readonly StepRow[];
  /** The events between the steps, in the order of the log. */
  readonly marks: readonly Mark[];
  readonly runs: ReadonlyMap<string, RunHeading>;
  readonly details: ReadonlyMap<string, StepEvents>;
  /** Keyed by `requestKey`. */
  readonly requests: ReadonlyMap<string, Loaded<SentRequest>>;
  readonly traces: ReadonlyMap<string, StepTrace>;
  /** Whole events that were viewed, keyed by cursor. Lists have only the beginnings of their texts. */
  readonly whole: ReadonlyMap<string, PublicEvent>;
  readonly partial: PartialMessage | null;
  readonly live: LiveSource | null;
  /** The last event of the log that was applied. */
  readonly last: PreviousEvent;
  readonly filter: StepFilter;
};

export type SessionAction =
  | { readonly type: "described"; readonly now: Loaded<SessionNow> }
  | ({ readonly type: "newest_loaded"; readonly isAll: boolean } & LoadedSteps)
  | ({ readonly type: "earlier_loaded"; readonly isLast: boolean } & LoadedSteps)
  /** An event, and the message that is being streamed after it. */
  | { readonly type: "event"; readonly event: PublicEvent; readonly partial: PartialMessage | null }
  | { readonly type: "partial"; readonly partial: PartialMessage | null }
  | { readonly type: "live"; readonly live: LiveSource }
  | { readonly type: "reset" }
  | { readonly type: "details_loaded"; readonly step: string; readonly events: readonly PublicEvent[] }
  | { readonly type: "request_loaded"; readonly key: string; readonly request: Loaded<SentRequest> }
  | { readonly type: "traces_loaded"; readonly traces: readonly StepTrace[] }
  | { readonly type: "event_loaded"; readonly event: PublicEvent }
  | { readonly type: "filtered"; readonly filter: StepFilter }
  | { readonly type: "listed"; readonly session: ListedSession };

/** Steps, and the events between them. */
export type LoadedSteps = { readonly steps: readonly LoadedStep[]; readonly events: readonly PublicEvent[] };

/** The maximum number of steps whose events, requests and traces are kept. */
const maxDetails = 300;

export function emptySession(id: string): SessionState {
  return {
    id,
    now: { status: "loading" },
    isIndexed: false,
    hasNewest: false,
    early: 0,
    rows: [],
    marks: [],
    runs: new Map(),
    details: new Map(),
    requests: new Map(),
    traces: new Map(),
    whole: new Map(),
    partial: null,
    live: null,
    last: { seq: 0, at: 0 },
    filter: "all",
  };
}

export function reduceSession(state: SessionState, action: SessionAction): SessionState {
  switch (action.type) {
    case "described": {
      if (action.now.status !== "ready") return { ...state, now: action.now };
      const { seq, updatedAt } = action.now.value;
      return { ...state, now: action.now, last: seq > state.last.seq ? { seq, at: updatedAt } : state.last };
    }
    case "newest_loaded":
      return addBetweenSteps(
        { ...state, hasNewest: true, isIndexed: action.isAll, rows: action.steps.map(toStepRow) },
        action.events,
      );
    case "earlier_loaded":
      return addBetweenSteps(insertEarlier(state, action.steps.map(toStepRow), action.isLast), action.events);
    case "event":
      return setPartial(reduceEvent(state, action.event), action.partial);
    case "partial":
      return setPartial(state, action.partial);
    case "live":
      return { ...state, live: action.live };
    case "reset":
      return { ...emptySession(state.id), filter: state.filter };
    case "details_loaded":
      return {
        ...state,
        details: putRecent(state.details, action.step, {
          events: mergeEvents(action.events, state.details.get(action.step)),
          isWhole: true,
        }),
      };
    case "request_loaded":
      return { ...state, requests: putRecent(state.requests, action.key, action.request) };
    case "traces_loaded": {
      const add = (all: SessionState["traces"], one: StepTrace) =>
        putRecent(all, toStepKey(one.runId, one.modelCallIndex), one);
      return { ...state, traces: action.traces.reduce(add, state.traces) };
    }
    case "event_loaded":
      return { ...state, whole: putRecent(state.whole, formatCursor(action.event), action.event) };
    case "filtered":
      return { ...state, filter: action.filter };
    case "listed":
      return applyListed(state, action.session);
  }
}

/** Records the events between the steps. */
function addBetweenSteps(state: SessionState, events: readonly PublicEvent[]): SessionState {
  return { ...state, marks: withMarks(state.marks, events), runs: events.reduce(updateHeadings, state.runs) };
}

/** The key of a loaded request. The key of the last attempt is the step's key. */
export function requestKey(step: string, attempt?: number): string {
  return attempt === undefined ? step : `${step} ${attempt}`;
}

/** Inserts earlier steps before the newest ones. */
function insertEarlier(state: SessionState, rows: readonly StepRow[], isLast: boolean): SessionState {
  const { early } = state;
  const oldest = state.rows[early];
  const newRows = oldest === undefined ? rows : rows.filter(({ seq }) => seq < oldest.seq);
  return {
    ...state,
    isIndexed: isLast || newRows.length < rows.length,
    early: early + newRows.length,
    rows: [...state.rows.slice(0, early), ...newRows, ...state.rows.slice(early)],
  };
}

function reduceEvent(state: SessionState, event: PublicEvent): SessionState {
  const { rows, last } = state;
  const next = applyEvent(rows, event, last);
  const step = findStepKey(event, next);
  const isNew = next.length > rows.length;
  return {
    ...state,
    rows: next,
    marks: withMarks(state.marks, [event]),
    runs: updateHeadings(state.runs, event),
    details: step === null ? state.details : addDetail(state.details, step, event, isNew),
    last: { seq: event.seq, at: event.at },
    now: updateNow(state.now, event),
  };
}

/** The step that shows an event. Events that belong to no step are shown in the last step. */
function findStepKey(event: PublicEvent, rows: readonly StepRow[]): string | null {
  const at = locateStep(event);
  return at === null ? (rows.at(-1)?.key ?? null) : toStepKey(at.runId, at.index);
}

function addDetail(
  details: SessionState["details"],
  step: string,
  event: PublicEvent,
  isNew: boolean,
): SessionState["details"] {
  const known = details.get(step);
  if (known === undefined) return isNew ? putRecent(details, step, { events: [event], isWhole: true }) : details;
  return putRecent(details, step, { ...known, events: mergeEvents([event], known) });
}

/** Events in the order of the log, each once. */
function mergeEvents(events: readonly PublicEvent[], known: StepEvents | undefined): readonly PublicEvent[] {
  const all = new Map([...(known?.events ?? []), ...events].map((event) => [formatCursor(event), event]));
  return [...all.values()].sort(compareCursors);
}

function putRecent<Value>(map: ReadonlyMap<string, Value>, key: string, value: Value): ReadonlyMap<string, Value> {
  const next = new Map(map);
  next.delete(key);
  next.set(key, value);
  for (const oldest of next.keys()) {
    if (next.size <= maxDetails) break;
    next.delete(oldest);
  }
  return next;
}

function setPartial(state: SessionState, partial: PartialMessage | null): SessionState {
  if (partial === null) return { ...state, partial };
  const rows = addStep(state.rows, partial.runId, partial.modelCallIndex, state.last);
  return { ...state, rows, partial };
}

function updateHeadings(runs: SessionState["runs"], event: PublicEvent): SessionState["runs"] {
  if (event.type === "run_started" || event.type === "run_queued") {
    const known = runs.get(event.runId);
    const by = event.by ?? known?.by ?? null;
    const heading = {
      runId: event.runId,
      text: textOfInput(event.input),
      by,
      at: event.at,
      queuedAt: event.type === "run_queued" ? event.at : (known?.queuedAt ?? null),
      result: known?.result ?? null,
    };
    return new Map(runs).set(event.runId, heading);
  }
  if (event.type !== "final") return runs;
  const known = runs.get(event.runId) ?? { runId: event.runId, text: "", by: null, at: event.at, queuedAt: null };
  return new Map(runs).set(event.runId, { ...known, result: event.result });
}

export function textOfInput(input: readonly UserMessage[]): string {
  const parts = input.flatMap((message) => message.parts);
  return parts.map((part) => (part.type === "text" ? part.text : `[${part.filename ?? part.mediaType}]`)).join("\n");
}

function updateNow(now: SessionState["now"], event: PublicEvent): SessionState["now"] {
  if (now.status !== "ready") return now;
  const { value } = now;
  if (event.type === "run_started")
    return toReady({ ...value, run: { runId: event.runId, result: null, usage: {} }, waiting: [], waits: [] });
  if (event.type === "suspended") return toReady({ ...value, waiting: event.approvals, waits: event.waits ?? [] });
  if (event.type === "wait_over" || event.type === "tool_result")
    return toReady({ ...value, waits: listWaits(value).filter((wait) => !isEndedBy(wait, event)) });
  if (event.type === "approval_answered")
    return toReady({ ...value, waiting: value.waiting.filter(({ callKey }) => callKey !== event.callKey) });
  if (event.type !== "final") return now;
  const { runId, result } = event;
  return toReady({ ...value, waiting: [], waits: [], run: { runId, result, usage: result.usage } });
}

/** A call that has its result no longer waits for anything. */
function isEndedBy(wait: RunWait, event: PublicEventOf<"wait_over" | "tool_result">): boolean {
  if (wait.callKey !== event.callKey) return false;
  return event.type === "tool_result" || (wait.on !== "child" && wait.step === event.step);
}

function applyListed(state: SessionState, session: ListedSession): SessionState {
  const { now } = state;
  if (now.status !== "ready" || session.sessionId !== state.id || session.seq < now.value.seq) return state;
  const { lastRun, hasChildren: _, ...listed } = session;
  const run = lastRun === null || now.value.run === null ? now.value.run : { ...now.value.run, usage: lastRun.usage };
  return { ...state, now: toReady({ ...now.value, ...listed, run }) };
}

function toReady<Value>(value: Value): Loaded<Value> {
  return { status: "ready", value };
}
